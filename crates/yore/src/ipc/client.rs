//! The other side of the socket: every command that would rather ask a running daemon than do the
//! work itself.
//!
//! Nothing here waits for long. A daemon that is not there, does not answer in time, or is of
//! another version is none: whoever asks does the work in its own process.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::card::{Card, is_running};
use super::socket::{self, Stream};
use super::wire::{Hello, LONGEST_REPLY, Lines, PROTOCOL, Reply, Request};
use crate::error::CliError;
use crate::spool::Event;

/// How long connecting and saying something may take.
const HANDSHAKE: Duration = Duration::from_millis(500);
/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long a started daemon may take to answer.
const START: Duration = Duration::from_secs(15);
/// A start is not tried again before this.
const BETWEEN_STARTS: Duration = Duration::from_secs(20);

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The daemon is of no help: do the work here.
    Unavailable,
    /// It answered that this cannot be done; nor can it be here.
    Refused(CliError),
}

/// A connection to a running daemon of this version.
pub struct Client {
    lines: Lines,
    card: Card,
}

/// Connects to the daemon of a data directory, if one of this version runs there. An older one
/// is asked to end.
pub fn connect(directory: &Path) -> Option<Client> {
    let card = Card::read(directory)?;
    if card.protocol != PROTOCOL || card.version != env!("CARGO_PKG_VERSION") {
        if is_older(&card.version) && is_running(directory) {
            let _ = ask_to_stop(&card);
        }
        return None;
    }
    Some(Client { lines: Lines::new(open(&card)?), card })
}

/// Connects to whoever runs there, of any version.
pub fn connect_any(directory: &Path) -> Option<Client> {
    let card = Card::read(directory)?;
    Some(Client { lines: Lines::new(open(&card)?), card })
}

/// Connects in a thread of its own: a listener that is alive but stuck would keep us waiting.
fn open(card: &Card) -> Option<Stream> {
    let address = card.address();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || drop(send.send(socket::connect(&address))));
    receive.recv_timeout(HANDSHAKE).ok()?.ok()
}

fn is_older(version: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    numbers(version) < numbers(env!("CARGO_PKG_VERSION"))
}

fn ask_to_stop(card: &Card) -> Option<()> {
    let mut client = Client { lines: Lines::new(open(card)?), card: card.clone() };
    client.ask::<Value>(&Request::Stop, HANDSHAKE).ok().map(drop)
}

impl Client {
    /// Says who it is.
    pub fn hello(&mut self) -> Result<Hello, NoAnswer> {
        self.ask(&Request::Hello, HANDSHAKE)
    }

    /// Tells of an event; false when it was not taken.
    pub fn tell(&mut self, event: &Event) -> bool {
        self.ask::<Value>(&Request::Event { event: event.clone() }, HANDSHAKE).is_ok()
    }

    /// Asks, and waits for `patience` at most, longer only while the daemon says that it works.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &Request, patience: Duration) -> Result<T, NoAnswer> {
        let mut envelope = serde_json::to_value(request).map_err(|_| NoAnswer::Unavailable)?;
        envelope["protocol"] = json!(self.card.protocol);
        if let Some(token) = &self.card.token {
            envelope["token"] = json!(token);
        }
        self.lines.write(&envelope, HANDSHAKE).map_err(|_| NoAnswer::Unavailable)?;
        loop {
            let line = self.lines.read(LONGEST_REPLY, patience).ok().flatten().ok_or(NoAnswer::Unavailable)?;
            match serde_json::from_slice::<Reply>(&line).map_err(|_| NoAnswer::Unavailable)? {
                Reply::Working(_) => {}
                Reply::Answer(value) => return serde_json::from_value(value).map_err(|_| NoAnswer::Unavailable),
                Reply::Error(fault) if fault.code.starts_with("daemon/") => return Err(NoAnswer::Unavailable),
                Reply::Error(fault) => return Err(NoAnswer::Refused(fault.into())),
            }
        }
    }
}

/// How a start ended.
#[derive(Debug)]
pub enum Started {
    /// It runs and answers.
    Now(Hello),
    /// One ran already.
    Already(Hello),
    /// It does not answer; the log may say why.
    NoAnswer,
}

/// Starts a daemon for a data directory and waits until it answers.
///
/// # Errors
/// When the program cannot be started.
pub fn start(directory: &Path, arguments: &[String]) -> io::Result<Started> {
    if let Some(hello) = connect_any(directory).and_then(|mut client| client.hello().ok()) {
        return Ok(Started::Already(hello));
    }
    let mut child = spawn(directory, arguments)?;
    let deadline = Instant::now() + START;
    // One that was killed may hold its lock for a moment still: the new one ends then, and the next does not.
    let mut tries = 0;
    loop {
        if let Some(hello) = connect_any(directory).and_then(|mut client| client.hello().ok()) {
            let is_ours = hello.pid == child.id();
            return Ok(if is_ours { Started::Now(hello) } else { Started::Already(hello) });
        }
        // Where another was faster, its card comes soon.
        let has_ended = child.try_wait()?.is_some();
        if has_ended && !is_running(directory) && tries < MOST_STARTS {
            tries += 1;
            std::thread::sleep(Duration::from_millis(100) * tries);
            child = spawn(directory, arguments)?;
            continue;
        }
        if Instant::now() > deadline || has_ended && !is_running(directory) {
            return Ok(Started::NoAnswer);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How often one that ended at once is started again.
const MOST_STARTS: u32 = 3;

/// Starts a daemon for whoever comes next, unless that was tried a moment ago. Waits for nothing.
pub fn ensure_started(directory: &Path) {
    if is_running(directory) || !directory.join("locks").is_dir() {
        return;
    }
    let mark = directory.join("locks").join("daemon.started");
    let age = mark.metadata().and_then(|meta| meta.modified()).ok().map(|time| SystemTime::now().duration_since(time));
    if matches!(age, Some(Ok(age)) if age < BETWEEN_STARTS) {
        return;
    }
    // Whether it can be marked or started is no matter of whoever asks something else.
    let _ = std::fs::remove_file(&mark);
    let _ = yore_engine::platform::create_private_file(&mark);
    let _ = spawn(directory, &[]);
}

/// Makes a data directory, and starts the daemon that makes a memory in it and reads what the agents of this
/// computer have left.
pub fn begin(directory: &Path) {
    if yore_engine::platform::create_private_directory(&directory.join("locks")).is_ok() {
        ensure_started(directory);
    }
}

/// Starts the program that runs here as a daemon, apart from this process and its terminal.
fn spawn(directory: &Path, arguments: &[String]) -> io::Result<std::process::Child> {
    let directory = std::path::absolute(directory)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["daemon", "start", "--foreground", "--detached", "--data-dir"]).arg(&directory).args(arguments);
    // Its own directory: no project's settings, and no directory that could not be removed.
    command.current_dir(&directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (name, value) in MEMORY {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt;
        // DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP.
        command.creation_flags(0x8 | 0x200);
    }
    // What this process was handed by whoever started it (an agent's pipes, somebody's lock) must
    // not stay open as long as the daemon lives.
    #[cfg(unix)]
    close_fds::set_fds_cloexec(3, &[]);
    command.spawn()
}

/// How glibc handles the memory of a process that lives long: few arenas, and what is large is
/// given back when it is freed.
const MEMORY: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_older("0.0.9"));
        assert!(!is_older(env!("CARGO_PKG_VERSION")));
        assert!(!is_older("99.0.0"));
        assert!(is_older("nonsense"));
    }
}
