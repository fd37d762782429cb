//! The client of the daemon's socket: connects, sends requests, starts the daemon. It is for every command that asks a running
//! daemon instead of doing the work itself.
//!
//! No call here waits for long. A daemon that is missing, does not answer in time, or has another version
//! counts as unavailable, and the caller does the work in its own process.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::card::{Card, is_running};
use super::socket::{self, Stream};
use super::wire::{Hello, LONGEST_REPLY, Lines, PROTOCOL, Reply, Request};
use crate::error::CliError;
use crate::spool::Event;

/// Longest time for connecting and sending a message.
const HANDSHAKE: Duration = Duration::from_millis(500);
/// Longest time for an answer.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time for a started daemon to answer.
const START: Duration = Duration::from_secs(15);
/// Shortest time between two attempts to start a daemon.
const BETWEEN_STARTS: Duration = Duration::from_secs(20);

/// The reason for a missing answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The daemon is unavailable: the caller does the work itself, unless the daemon may have done it.
    Unavailable {
        /// True if the request was sent, so that the daemon may have done it.
        is_sent: bool,
    },
    /// The daemon answered that this cannot be done; the caller could not do it either.
    Refused(CliError),
}

/// A connection to a running daemon of this version.
pub struct Client {
    lines: Lines,
    card: Card,
}

/// Connects to the daemon of a data directory, if one of this version runs there. Asks an older one to stop.
pub fn connect(directory: &Path) -> Option<Client> {
    let card = Card::read(directory)?;
    if card.protocol != PROTOCOL || card.version != env!("CARGO_PKG_VERSION") {
        if is_older(&card.version, env!("CARGO_PKG_VERSION")) && is_running(directory) {
            let _ = ask_to_stop(&card);
        }
        return None;
    }
    Some(Client { lines: Lines::new(open(&card)?), card })
}

/// Connects to the daemon of a data directory, of any version.
pub fn connect_any(directory: &Path) -> Option<Client> {
    let card = Card::read(directory)?;
    Some(Client { lines: Lines::new(open(&card)?), card })
}

/// Connects in a thread of its own, because a listener that hangs would block the caller.
fn open(card: &Card) -> Option<Stream> {
    let address = card.address();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || drop(send.send(socket::connect(&address))));
    receive.recv_timeout(HANDSHAKE).ok()?.ok()
}

/// Returns whether a version is older than another, by its numbers.
pub fn is_older(version: &str, than: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> { version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect() };
    numbers(version) < numbers(than)
}

fn ask_to_stop(card: &Card) -> Option<()> {
    let mut client = Client { lines: Lines::new(open(card)?), card: card.clone() };
    client.ask::<Value>(&Request::Stop, HANDSHAKE).ok().map(drop)
}

impl Client {
    /// Asks the daemon for its identity.
    pub fn hello(&mut self) -> Result<Hello, NoAnswer> {
        self.ask(&Request::Hello, HANDSHAKE)
    }

    /// Sends an event; returns false if it was not taken.
    pub fn tell(&mut self, event: &Event) -> bool {
        self.ask::<Value>(&Request::Event { event: event.clone() }, HANDSHAKE).is_ok()
    }

    /// Sends a request and waits for `patience` at most, longer only while the daemon reports that it works.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &impl Serialize, patience: Duration) -> Result<T, NoAnswer> {
        const UNSENT: NoAnswer = NoAnswer::Unavailable { is_sent: false };
        const LOST: NoAnswer = NoAnswer::Unavailable { is_sent: true };
        let mut envelope = serde_json::to_value(request).map_err(|_| UNSENT)?;
        envelope["protocol"] = json!(self.card.protocol);
        if let Some(token) = &self.card.token {
            envelope["token"] = json!(token);
        }
        self.lines.write(&envelope, HANDSHAKE).map_err(|_| UNSENT)?;
        loop {
            let line = self.lines.read(LONGEST_REPLY, patience).ok().flatten().ok_or(LOST)?;
            match serde_json::from_slice::<Reply<T>>(&line).map_err(|_| LOST)? {
                Reply::Working(_) => {}
                Reply::Answer(answer) => return Ok(answer),
                // These concern the daemon and not the request, which it did not carry out.
                Reply::Error(fault) if fault.code.starts_with("daemon/") => return Err(UNSENT),
                Reply::Error(fault) => return Err(NoAnswer::Refused(fault.into())),
            }
        }
    }
}

/// The outcome of a start.
#[derive(Debug)]
pub enum Started {
    /// The new daemon runs and answers.
    Now(Hello),
    /// Another daemon ran already.
    Already(Hello),
    /// The daemon does not answer; its log may say why.
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
    // A daemon that was killed may hold its lock for a moment; then the new one exits, and the next one does
    // not.
    let mut tries = 0;
    loop {
        if let Some(hello) = connect_any(directory).and_then(|mut client| client.hello().ok()) {
            let is_ours = hello.pid == child.id();
            return Ok(if is_ours { Started::Now(hello) } else { Started::Already(hello) });
        }
        // If another process started a daemon first, its card appears soon.
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

/// Most restarts of a daemon that exited at once.
const MOST_STARTS: u32 = 3;

/// Starts a daemon for later callers, unless that was tried a moment ago. Does not wait.
pub fn ensure_started(directory: &Path) {
    if is_running(directory) || !directory.join("locks").is_dir() {
        return;
    }
    let mark = directory.join("locks").join("daemon.started");
    let age = mark.metadata().and_then(|meta| meta.modified()).ok().map(|time| SystemTime::now().duration_since(time));
    if matches!(age, Some(Ok(age)) if age < BETWEEN_STARTS) {
        return;
    }
    // A failure here does not concern the caller, which asked for something else.
    let _ = std::fs::remove_file(&mark);
    let _ = yore_engine::platform::create_private_file(&mark);
    let _ = spawn(directory, &[]);
}

/// Starts a daemon that this process has stopped, however soon after its last start.
pub fn start_again(directory: &Path) {
    let _ = std::fs::remove_file(directory.join("locks").join("daemon.started"));
    ensure_started(directory);
}

/// Creates a data directory, and starts the daemon that creates a memory in it and reads what the agents of
/// this computer have written.
pub fn begin(directory: &Path) {
    if yore_engine::platform::create_private_directory(&directory.join("locks")).is_ok() {
        ensure_started(directory);
    }
}

/// Starts this program as a daemon, detached from this process and its terminal.
fn spawn(directory: &Path, arguments: &[String]) -> io::Result<std::process::Child> {
    let directory = std::path::absolute(directory)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["daemon", "start", "--foreground", "--detached", "--data-dir"]).arg(&directory).args(arguments);
    // The data directory as working directory: no project's settings apply, and no other directory is blocked
    // from removal.
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
    // Descriptors that this process inherited (an agent's pipes, another process's lock) must not stay open
    // for the daemon's lifetime.
    #[cfg(unix)]
    close_fds::set_fds_cloexec(3, &[]);
    command.spawn()
}

/// Settings of glibc for the memory of a long-lived process: few arenas, and large blocks are returned to the
/// system when they are freed.
const MEMORY: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "131072")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(is_older("0.0.9", "0.1.0") && is_older("0.9.0", "0.10.0"));
        assert!(!is_older("0.1.0", "0.1.0"));
        assert!(!is_older("99.0.0", "0.1.0"));
        assert!(is_older("nonsense", "0.1.0"));
    }
}
