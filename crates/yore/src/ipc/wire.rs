//! The protocol of the daemon's socket: requests and replies, one JSON object on a line.
//!
//! - [`Request`]: a request to the daemon itself; `crate::verbs` has the requests to its memory
//! - [`Reply`]: an answer, an error, or "still working"
//! - [`Lines`]: lines with a limit and a deadline, whatever the other side sends
//!
//! `hello` and `stop` are the same in every version; all other requests need programs of the same version.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use yore_engine::RecallRequest;

use super::socket::Stream;
use crate::error::{CliError, Exit};
use crate::results::Ingestion;
use crate::spool::Event;

/// Version of the protocol.
pub const PROTOCOL: u32 = 23;
/// Longest request, in bytes.
pub const LONGEST_REQUEST: usize = 1 << 20;
/// Longest answer, in bytes; the client computes a longer one in its own process.
pub const LONGEST_REPLY: usize = 64 << 20;

/// A request to the daemon that is no verb of its memory.
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
    /// Reads everything new, and reports what was read.
    Ingest {
        /// Identity of the client's settings. If the daemon's differ, the client reads in its own process.
        settings: String,
    },
    /// Opens the port if it is not open, and makes a link that a browser can open once.
    Page {
        /// Path of the page to open, without a slash before it.
        to: String,
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
pub enum Reply<T> {
    /// Answer to the request.
    Answer(T),
    /// Error that prevented an answer.
    Error(Fault),
    /// The answer takes longer; another reply will follow.
    Working(bool),
}

/// Returns a reply as a line; a too long one becomes an error.
pub fn reply_line<T: Serialize>(outcome: Result<T, impl Into<Fault>>) -> Vec<u8> {
    let reply = outcome.map_or_else(|error| Reply::Error(error.into()), Reply::Answer);
    let fault = match serde_json::to_vec(&reply) {
        Ok(line) if line.len() < LONGEST_REPLY => return ended(line),
        Ok(_) => Fault::of_daemon("too-long", "the answer is too long"),
        Err(error) => Fault::of_daemon("internal", format!("cannot encode the answer: {error}")),
    };
    ended(serde_json::to_vec(&Reply::<()>::Error(fault)).unwrap_or_default())
}

fn ended(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
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

/// A link that a browser can open once.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct PageLink {
    /// The address.
    pub url: String,
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

    /// Writes a value as one line.
    ///
    /// # Errors
    /// The error of the operating system; a timeout means that the other side does not read.
    pub fn write(&mut self, value: &impl Serialize, patience: Duration) -> io::Result<()> {
        self.write_line(&ended(serde_json::to_vec(value)?), patience)
    }

    /// Writes a line that has its end, as [`Self::write`] does.
    pub fn write_line(&mut self, line: &[u8], patience: Duration) -> io::Result<()> {
        self.stream.set_write_timeout(Some(patience))?;
        self.stream.write_all(line)
    }
}
