//! Runs the `git` program in another person's repository. Its configuration may name programs to call, hosts
//! to contact and locks to take; none of that is allowed here.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Name of the program, searched in the system's path.
const PROGRAM: &str = "git";
/// Maximum time for one run of git. A longer run means that something is wrong, and is tried again the next
/// time.
const PATIENCE: Duration = Duration::from_secs(120);
/// Maximum number of bytes kept of an error message.
const MAX_ERROR_BYTES: u64 = 2048;
/// Number of bytes read at once, and number of such pieces that may wait.
const PIECE: usize = 64 * 1024;
const PIECES: usize = 16;

/// Settings that a repository cannot override.
const SETTINGS: [&str; 9] = [
    // No program that watches files, no hooks, no pager.
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    // A partial clone would fetch missing objects from its origin; that is forbidden here.
    "protocol.allow=never",
    "credential.helper=",
    "core.askPass=",
    "log.showSignature=false",
    // An invalid value is an error even where it is not used.
    "format.pretty=medium",
    // Detecting renames among more files takes minutes.
    "diff.renameLimit=400",
];

/// Environment variables that may point git elsewhere, or make it print more.
const UNSET: [&str; 30] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_PROXY_COMMAND",
    "GIT_TRACE",
    "GIT_TRACE2",
    "GIT_TRACE2_EVENT",
    "GIT_TRACE2_PERF",
    "GIT_LITERAL_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ATTR_SOURCE",
    "GIT_FLUSH",
];

const SET: [(&str, &str); 6] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    ("LC_ALL", "C"),
];

/// Reason why the output of git ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All output was read.
    Ended,
    /// The maximum amount of output was read, or the reader wants no more.
    Full,
}

/// The git program, run in one repository.
pub struct Git<'a> {
    program: &'a Path,
    directory: &'a Path,
    patience: Duration,
    /// When all runs end.
    until: Option<Instant>,
}

impl<'a> Git<'a> {
    /// Creates a runner for the repository in this directory.
    pub fn at(directory: &'a Path) -> Self {
        Self { program: Path::new(PROGRAM), directory, patience: PATIENCE, until: None }
    }

    /// Creates a runner for the repository in this directory, whose runs end by a time.
    pub fn until(directory: &'a Path, until: Instant) -> Self {
        Self { until: Some(until), ..Self::at(directory) }
    }

    #[cfg(test)]
    /// Creates a caller of a git program, in a directory, that waits at most `patience` for each call.
    pub fn with(program: &'a Path, directory: &'a Path, patience: Duration) -> Self {
        Self { program, directory, patience, until: None }
    }

    /// Runs git and appends its output to `out`, up to `limit` bytes.
    ///
    /// # Errors
    /// With git's own error message, or with a plain one when git is not installed or takes too long.
    pub fn run(&self, arguments: &[&str], limit: usize, out: &mut Vec<u8>) -> io::Result<Stop> {
        let limit = limit - out.len().min(limit);
        self.pass(arguments, limit, &mut |piece| {
            out.extend_from_slice(piece);
            ControlFlow::Continue(())
        })
    }

    /// Runs git and passes its output to `take` as it comes, up to `limit` bytes, until `take` wants no more.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn pass(&self, arguments: &[&str], limit: usize, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<Stop> {
        let mut command = Command::new(self.program);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(["--no-pager", "--literal-pathspecs"]).args(arguments).current_dir(self.directory);
        for name in UNSET {
            command.env_remove(name);
        }
        command.envs(SET).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            // Unchanged, this error would mean that the repository was deleted.
            io::ErrorKind::NotFound if self.directory.is_dir() => {
                io::Error::other("the git program is not installed, or not on the PATH")
            }
            _ => error,
        })?;
        let (send, pieces) = sync_channel::<io::Result<Vec<u8>>>(PIECES);
        let (said, complaint) = (child.stdout.take(), child.stderr.take());
        // Neither thread is joined: if git left a child process behind, it may hold the pipe open.
        std::thread::spawn(move || {
            let Some(mut said) = said else { return };
            loop {
                let mut piece = vec![0; PIECE];
                let read = said.read(&mut piece);
                let is_end = !matches!(read, Ok(1..));
                let piece = read.map(|length| {
                    piece.truncate(length);
                    piece
                });
                if send.send(piece).is_err() || is_end {
                    break;
                }
            }
        });
        let (complain, complaints) = sync_channel::<String>(1);
        std::thread::spawn(move || {
            let mut words = Vec::new();
            if let Some(complaint) = complaint {
                let mut complaint = complaint;
                let _ = complaint.by_ref().take(MAX_ERROR_BYTES).read_to_end(&mut words);
                // The rest must be read too, or git would block.
                let _ = io::copy(&mut complaint, &mut io::sink());
            }
            let _ = complain.send(String::from_utf8_lossy(&words).into_owned());
        });
        let until = self.until.into_iter().chain([Instant::now() + self.patience]).min().unwrap_or_else(Instant::now);
        let mut left = limit;
        let stop = loop {
            match pieces.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Ok(piece)) if piece.is_empty() => break Ok(Stop::Ended),
                Ok(Ok(piece)) => {
                    let wanted = &piece[..piece.len().min(left)];
                    if take(wanted).is_break() || piece.len() > left {
                        break Ok(Stop::Full);
                    }
                    left -= wanted.len();
                }
                Ok(Err(error)) => break Err(error),
                Err(RecvTimeoutError::Timeout) => break Err(io::Error::new(io::ErrorKind::TimedOut, "git took too long")),
                Err(RecvTimeoutError::Disconnected) => break Ok(Stop::Ended),
            }
        };
        if stop.as_ref().ok() != Some(&Stop::Ended) {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
        }
        let status = child.wait()?;
        if stop? == Stop::Full {
            return Ok(Stop::Full);
        }
        if status.success() {
            return Ok(Stop::Ended);
        }
        let words = complaints.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        let first = words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no error message");
        Err(io::Error::other(format!("git failed: {first}")))
    }
}
