//! The protocol of the daemon's socket: requests and replies, one JSON object on a line.
//!
//! - [`Request`]: a request to the daemon
//! - [`Reply`]: an answer, an error, or "still working"
//! - [`Lines`]: lines with a limit and a deadline, whatever the other side sends
//!
//! `hello` and `stop` are the same in every version; all other requests need programs of the same version.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::operation::Cause;
use yore_engine::{
    BriefRequest, Distilled, ForgetRequest, MaterialRequest, MemoryList, NewMemory, NotesRequest, ProjectQuery, RecallRequest,
    RememberRequest, SessionsRequest, ShowRequest, SuggestRequest, WhichVersion,
};
use yore_sources::project_names::ProjectNames;

use super::socket::Stream;
use crate::error::{CliError, Exit};
use crate::results::Ingestion;
use crate::spool::Event;

/// Version of the protocol.
pub const PROTOCOL: u32 = 9;
/// Longest request, in bytes.
pub const LONGEST_REQUEST: usize = 1 << 20;
/// Longest answer, in bytes; the client computes a longer one in its own process.
pub const LONGEST_REPLY: usize = 64 << 20;

/// A request to the daemon.
#[derive(Debug, Deserialize, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Asks for the daemon's identity. The same in every version.
    Hello,
    /// Asks the daemon to stop after the current work. The same in every version.
    Stop,
    /// Asks for the daemon's status.
    Status,
    /// Reports that an agent's session moved on.
    Event {
        /// The event that the hook received.
        event: Event,
    },
    /// Asks a question.
    Recall(Box<Question>),
    /// Shows a turn or a session.
    Show {
        /// The turn or session to show.
        request: ShowRequest,
    },
    /// Lists sessions.
    Sessions {
        /// Filter of the sessions.
        request: SessionsRequest,
    },
    /// Lists projects.
    Projects,
    /// Lists the projects that may be one.
    MergeOffers,
    /// Finds one project.
    Project {
        /// Its directory or name.
        query: ProjectQuery,
    },
    /// Finds the directory by which a note gets its project.
    DirectoryOfNote {
        /// The directory that the note comes from.
        here: ProjectNames,
    },
    /// Counts everything.
    Stats,
    /// Lists notes.
    Notes {
        /// Filter of the notes.
        request: NotesRequest,
    },
    /// Shows a note.
    Note {
        /// Id of the note.
        id: String,
    },
    /// Loads a whole note in one of its versions; the use is counted.
    LoadNote {
        /// Id of the note.
        id: String,
        /// Version to load.
        which: WhichVersion,
    },
    /// Stores a note.
    Remember {
        /// The note.
        request: RememberRequest,
    },
    /// Lists the contexts that were loaded together.
    ContextsUsedTogether,
    /// Records a memory.
    AddMemory {
        /// The memory.
        new: Box<NewMemory>,
        /// Who records it.
        cause: Cause,
    },
    /// Lists the conflicts that are not settled.
    Conflicts {
        /// Names of projects; none: of all.
        projects: Vec<String>,
        /// Maximum number.
        limit: usize,
    },
    /// The conflicts of a memory that are not settled.
    ConflictsOf {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Lists memories.
    Memories {
        /// The memories that are wanted.
        list: MemoryList,
    },
    /// Counts the memories of a list, without its limit.
    CountMemories {
        /// The memories that are wanted.
        list: MemoryList,
    },
    /// Opens an entity.
    OpenEntity {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Opens a memory; the use is counted.
    OpenMemory {
        /// Its id, or the beginning of it.
        id: String,
        /// The agent's own id of the session that opens it.
        session: Option<String>,
    },
    /// Returns the lines of a conversation that wait to be distilled.
    Material {
        /// The conversation.
        request: MaterialRequest,
    },
    /// Records what an agent found in a conversation.
    RecordDistilled {
        /// Its findings.
        distilled: Box<Distilled>,
    },
    /// Deletes a session or note.
    Forget {
        /// The session or note.
        request: ForgetRequest,
    },
    /// Makes a brief on the state of a project.
    Brief {
        /// The project and session that the brief is for.
        request: BriefRequest,
    },
    /// Finds memories to inject.
    Suggest {
        /// The event that triggers it.
        request: Box<SuggestRequest>,
    },
    /// Reads everything new, and reports what was read.
    Ingest {
        /// Identity of the client's settings. If the daemon's differ, the client reads in its own process.
        settings: String,
    },
    /// Retries failed jobs.
    Retry {
        /// One target, or all if absent.
        target: Option<String>,
    },
}

/// A question with the client's settings.
#[derive(Debug, Deserialize, Serialize)]
pub struct Question {
    /// The question.
    pub request: RecallRequest,
    /// True if the index takes the waiting turns before it answers.
    pub is_synced: bool,
    /// True if the local model also answers if it can.
    pub may_be_full: bool,
    /// Folder of the client's local model. If the daemon's differs, the client asks in its own process.
    pub model: Option<PathBuf>,
}

/// A reply of the daemon.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Answer to the request.
    Answer(Value),
    /// Error that prevented an answer.
    Error(Fault),
    /// The answer takes longer; another reply will follow.
    Working(bool),
}

/// An error as users see it.
#[derive(Debug, Deserialize, Serialize)]
pub struct Fault {
    /// Exit code of the command.
    pub exit: u8,
    /// Code that does not change between versions; the prefix `daemon/` marks errors that do not concern the
    /// request.
    pub code: String,
    /// Message: the failed operation, and on which file or setting.
    pub message: String,
    /// Remedy for the user.
    pub hint: Option<String>,
}

impl Fault {
    /// Creates an error of the protocol itself.
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

/// The identity of a daemon.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Hello {
    /// Id of its process.
    pub pid: u32,
    /// Version of its program.
    pub version: String,
    /// Version of its protocol.
    pub protocol: u32,
}

/// The result of reading everything, for the caller.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Ingested {
    /// The output of `--json`.
    pub json: Ingestion,
    /// The output for people.
    pub lines: Vec<String>,
    /// Files that could not be read, each with the reason.
    pub failures: Vec<(String, String)>,
}

/// Lines from and to the other side.
pub struct Lines {
    stream: Stream,
    buffer: Vec<u8>,
    /// Number of leading bytes in the buffer that are known to hold no line end.
    searched: usize,
}

impl Lines {
    /// Creates the lines over a stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), searched: 0 }
    }

    /// Reads the next line without its end; `None` if the other side closed the stream between two lines.
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

    /// Writes one line.
    ///
    /// # Errors
    /// The error of the operating system; a timeout means that the other side does not read.
    pub fn write(&mut self, value: &impl Serialize, patience: Duration) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.stream.set_write_timeout(Some(patience))?;
        self.stream.write_all(&line)
    }
}
