//! What is said over the socket: one JSON object on a line, each way.
//!
//! - [`Request`]: what can be asked
//! - [`Reply`]: an answer, an error, or "still working"
//! - [`Lines`]: lines with a limit and a deadline, whatever the other side sends
//!
//! `hello` and `stop` are the same in every version; everything else is spoken only between
//! programs of one version.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_engine::ingest::ProjectNames;
use yore_engine::{
    BriefRequest, ForgetRequest, Job, JobCounts, NotesRequest, ProjectQuery, RecallRequest, RememberRequest, SessionsRequest,
    ShowRequest, SuggestRequest, WhichVersion,
};

use super::socket::Stream;
use crate::error::{CliError, Exit};
use crate::spool::Event;

/// Version of what is said.
pub const PROTOCOL: u32 = 5;
/// A request is shorter.
pub const LONGEST_REQUEST: usize = 1 << 20;
/// An answer is shorter: one that would not be is given in process.
pub const LONGEST_REPLY: usize = 64 << 20;

/// What can be asked.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Who is there? In every version.
    Hello,
    /// End, after what is being done. In every version.
    Stop,
    /// How does it go?
    Status,
    /// An agent's session moved on.
    Event {
        /// What the hook was told.
        event: Event,
    },
    /// A question.
    Recall(Box<Question>),
    /// A turn or a session.
    Show {
        /// Which.
        request: ShowRequest,
    },
    /// Sessions.
    Sessions {
        /// Which.
        request: SessionsRequest,
    },
    /// Projects.
    Projects,
    /// One project.
    Project {
        /// Its directory or name.
        query: ProjectQuery,
    },
    /// The directory by which a note gets its project.
    DirectoryOfNote {
        /// The directory that the note comes from.
        here: ProjectNames,
    },
    /// Counts.
    Stats,
    /// Notes.
    Notes {
        /// Which.
        request: NotesRequest,
    },
    /// A note by its id.
    Note {
        /// The id.
        id: String,
    },
    /// The whole note in one of its versions, which is counted.
    LoadNote {
        /// Its id.
        id: String,
        /// Which version.
        which: WhichVersion,
    },
    /// A note to remember.
    Remember {
        /// What.
        request: RememberRequest,
    },
    /// A session or note to forget.
    Forget {
        /// Which.
        request: ForgetRequest,
    },
    /// Where things stand.
    Brief {
        /// For whom.
        request: BriefRequest,
    },
    /// What is worth giving unasked.
    Suggest {
        /// For what.
        request: Box<SuggestRequest>,
    },
    /// Read all that is new now, and say what was read.
    Ingest {
        /// The asker's settings; with others it reads in its own process.
        settings: String,
    },
    /// Try again what was given up.
    Retry {
        /// One target, or all.
        target: Option<String>,
    },
}

/// A question with the asker's settings.
#[derive(Debug, Deserialize, Serialize)]
pub struct Question {
    /// The question.
    pub request: RecallRequest,
    /// Whether the index takes what waits for it before.
    pub is_synced: bool,
    /// Whether the local model answers too where it can.
    pub may_be_full: bool,
    /// The folder of the asker's local model; of another it asks in its own process.
    pub model: Option<PathBuf>,
}

/// What comes back.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What was asked for.
    Answer(Value),
    /// What went wrong.
    Error(Fault),
    /// It takes longer; something else will follow.
    Working(bool),
}

/// An error as it is told to people.
#[derive(Debug, Deserialize, Serialize)]
pub struct Fault {
    /// The exit code.
    pub exit: u8,
    /// Stable; one that begins with `daemon/` is not about what was asked.
    pub code: String,
    /// What and where.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Fault {
    /// One of the conversation itself.
    pub fn of_daemon(code: &str, message: impl Into<String>) -> Self {
        Self { exit: Exit::Busy as u8, code: format!("daemon/{code}"), message: message.into(), hint: None }
    }
}

impl From<CliError> for Fault {
    fn from(error: CliError) -> Self {
        Self { exit: error.exit as u8, code: error.code, message: error.message, hint: error.hint }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> Self {
        let exit = match fault.exit {
            1 => Exit::Nothing,
            2 => Exit::Usage,
            4 => Exit::Busy,
            _ => Exit::Data,
        };
        Self { exit, code: fault.code, message: fault.message, hint: fault.hint }
    }
}

/// Who is there.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Hello {
    /// Its process.
    pub pid: u32,
    /// Its program's version.
    pub version: String,
    /// What it speaks.
    pub protocol: u32,
}

/// How it goes.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its program's version.
    pub version: String,
    /// When it started, milliseconds since 1970.
    pub started_ms: i64,
    /// Where it listens.
    pub socket: String,
    /// Places that tell of changes.
    pub watched: Vec<String>,
    /// Places that are looked at from time to time.
    pub polled: Vec<String>,
    /// The queue.
    pub jobs: JobCounts,
    /// What was given up.
    pub dead: Vec<Job>,
    /// Readings since the start, and turns that they brought.
    pub batches: u64,
    /// Turns that were read since the start.
    pub turns: u64,
    /// When the last reading ended, milliseconds since 1970.
    pub last_batch_ms: Option<i64>,
    /// Turns that lack vectors of the local model.
    pub unembedded: u64,
    /// Whether the local model is in memory.
    pub has_model: bool,
    /// Whether vectors are being made.
    pub is_embedding: bool,
    /// Who is connected.
    pub clients: usize,
    /// Where MCP is served over HTTP, if it is.
    #[serde(default)]
    pub url: Option<String>,
    /// Bytes of its own memory that are in use, where the system tells.
    pub memory_bytes: Option<u64>,
    /// The last error, if any.
    pub last_error: Option<String>,
    /// Its settings as they were at its start, section by section; null where it does not tell.
    #[serde(default)]
    pub settings: Value,
}

/// What reading everything brought, for whoever asked.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Ingested {
    /// As `--json` prints it.
    pub json: Value,
    /// As people read it.
    pub lines: Vec<String>,
    /// Files that could not be read, and why.
    pub failures: Vec<(String, String)>,
}

/// Lines from and to the other side.
pub struct Lines {
    stream: Stream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no line end.
    searched: usize,
}

impl Lines {
    /// Speaks over this stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), searched: 0 }
    }

    /// The next line without its end; `None` when the other side has ended between two lines.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] when no whole line came in time, [`io::ErrorKind::InvalidData`]
    /// when it is longer than `longest`, [`io::ErrorKind::UnexpectedEof`] when it was cut off.
    pub fn read(&mut self, longest: usize, patience: Duration) -> io::Result<Option<Vec<u8>>> {
        let deadline = Instant::now() + patience;
        let mut chunk = [0u8; 64 * 1024];
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let end = self.searched + at;
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > longest {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut chunk) {
                Ok(0) if self.buffer.is_empty() => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.buffer.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Says one line.
    ///
    /// # Errors
    /// What the system says, a time-out included: nobody listens.
    pub fn write(&mut self, value: &impl Serialize, patience: Duration) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.stream.set_write_timeout(Some(patience))?;
        self.stream.write_all(&line)
    }
}
