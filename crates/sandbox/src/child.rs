//! The child process: threads that carry frames, so that nothing waits for ever, and the reason of its end.

use std::io::{self, Read};
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::{self, Reply, Request};

/// Time for a process that closed its output to exit by itself, so that its own reason is seen.
const EXIT: Duration = Duration::from_millis(500);

/// Most bytes of the child's messages that are read.
const MESSAGE_BYTES: u64 = 4_096;

/// Interval between two looks at the memory of the child.
const LOOK: Duration = Duration::from_millis(250);

/// Said of a child that reached the limit of memory.
const TOO_LARGE: &str = "it needed more memory than it may";

/// Reasons to end a child.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It did not answer in time; the sentence says what it should have done.
    Late(String),
    /// It sent what was not agreed.
    Garbage,
    /// It closed its output.
    Closed,
    /// It has more memory than it may.
    Memory,
}

/// Ends the child of a session from any thread: the call that waits for the child returns soon.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    process: process::Child,
    is_stopped: bool,
}

impl Stopper {
    /// Ends the child. Does nothing if it has ended.
    pub fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        // Refused only if the process has ended.
        let _ = state.process.kill();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running child. Dropping it ends the process and takes its exit status.
#[derive(Debug)]
pub(crate) struct Child {
    id: u32,
    process: Stopper,
    /// Missing once the child is ended.
    requests: Option<Sender<(Request, Vec<String>)>>,
    replies: Option<Receiver<io::Result<Option<Reply>>>>,
    messages: Receiver<String>,
}

impl Child {
    /// Starts a program without the parent's environment, with pipes for its input, output and messages.
    pub(crate) fn spawn(program: &Path, args: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(std::path::absolute(program)?);
        command.args(args).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.current_dir("/");
        // One arena, and large blocks that go back to the system when they are freed: a cell is charged with what is
        // in memory.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        command.envs([("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_TRIM_THRESHOLD_", "1048576")]);
        #[cfg(windows)]
        if let Some(root) = std::env::var_os("SystemRoot") {
            command.env("SystemRoot", root);
        }
        let mut process = command.spawn()?;
        let (Some(mut input), Some(mut output), Some(errors)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err(io::Error::other("a pipe is missing"));
        };
        let (requests, to_send) = channel::<(Request, Vec<String>)>();
        // Holds one frame, so that a child that floods its parent waits.
        let (received, replies) = sync_channel(1);
        let (told, messages) = sync_channel(1);
        let id = process.id();
        let process = Stopper(Arc::new(Mutex::new(State { process, is_stopped: false })));
        let mut child = Self { id, process, requests: Some(requests), replies: Some(replies), messages };
        // A thread that cannot be started drops its ends of the channels; the child is ended with `child` then.
        let threads = [
            spawn("sandbox-input", move || {
                while let Ok((request, body)) = to_send.recv() {
                    let parts: Vec<&str> = body.iter().map(String::as_str).collect();
                    if wire::write(&mut input, &request, &parts).is_err() {
                        break;
                    }
                }
            }),
            spawn("sandbox-output", move || forward(&mut output, &received)),
            spawn("sandbox-messages", move || {
                let mut text = Vec::new();
                let _ = errors.take(MESSAGE_BYTES).read_to_end(&mut text);
                let _ = told.send(String::from_utf8_lossy(&text).into_owned());
            }),
        ];
        for thread in threads {
            if let Err(error) = thread {
                child.stop();
                return Err(error);
            }
        }
        Ok(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.process.clone()
    }

    /// Sends a frame, without waiting for the child to take it.
    pub(crate) fn send(&mut self, request: Request, body: Vec<String>) {
        if let Some(requests) = &self.requests {
            // Fails only if the child is gone, which the next receive tells.
            let _ = requests.send((request, body));
        }
    }

    /// Waits for a frame. Where the system does not limit the memory of a process, looks at it meanwhile.
    pub(crate) fn receive(&mut self, within: Duration, memory_bytes: u64) -> Result<Reply, Fault> {
        let Some(replies) = &self.replies else { return Err(Fault::Closed) };
        let end = Instant::now() + within;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match replies.recv_timeout(left.min(LOOK)) {
                Ok(Ok(Some(reply))) => return Ok(reply),
                Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => return Err(Fault::Garbage),
                Ok(Ok(None) | Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(Fault::Closed),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => return Err(Fault::Late(String::new())),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let most = memory_bytes.saturating_add(IDLE_BYTES);
            if cfg!(not(target_os = "linux")) && resident(self.id).is_some_and(|bytes| bytes > most) {
                return Err(Fault::Memory);
            }
        }
    }

    /// Ends the child and returns a sentence that says why it ended.
    pub(crate) fn end(&mut self, fault: Fault) -> String {
        let by_itself = match fault {
            Fault::Closed => self.exited(),
            Fault::Late(_) | Fault::Garbage | Fault::Memory => None,
        };
        self.stop();
        let is_stopped = self.process.lock().is_stopped;
        let message = self.messages.recv_timeout(EXIT).unwrap_or_default();
        match (fault, by_itself) {
            (Fault::Late(sentence), _) => format!("{sentence}, so it was ended"),
            (Fault::Garbage, _) => "it sent what is no answer, so it was ended".to_owned(),
            (Fault::Memory, _) => TOO_LARGE.to_owned(),
            (Fault::Closed, None) => "it closed its output, so it was ended".to_owned(),
            (Fault::Closed, Some(_)) if is_stopped => "it was stopped".to_owned(),
            (Fault::Closed, Some(status)) => reason(status, &message),
        }
    }

    /// Waits a little for the process to exit by itself.
    fn exited(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let waited = self.process.lock().process.try_wait();
            match waited {
                Ok(None) if start.elapsed() < EXIT => thread::sleep(Duration::from_millis(2)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    /// Kills the process if it runs, and takes its exit status, so that no zombie stays.
    fn stop(&mut self) {
        self.requests = None;
        self.replies = None;
        let mut state = self.process.lock();
        let _ = state.process.kill();
        let _ = state.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(256 << 10).spawn(work).map(drop)
}

/// More than any idle child has in memory.
const IDLE_BYTES: u64 = 64 << 20;

/// Returns the bytes that a process has in memory, as the system's `ps` tells them.
#[cfg(unix)]
fn resident(process: u32) -> Option<u64> {
    let output = Command::new("ps").args(["-o", "rss=", "-p", &process.to_string()]).stdin(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns nothing: this system has no `ps`.
#[cfg(not(unix))]
fn resident(_process: u32) -> Option<u64> {
    None
}

/// Reads frames until the end, an error, or nobody listens.
fn forward(output: &mut impl Read, received: &SyncSender<io::Result<Option<Reply>>>) {
    loop {
        let frame = wire::read(&mut *output).map(|frame| frame.map(|(reply, _)| reply));
        let is_last = !matches!(frame, Ok(Some(_)));
        if received.send(frame).is_err() || is_last {
            return;
        }
    }
}

/// Returns why a process that nobody ended has ended.
fn reason(status: ExitStatus, message: &str) -> String {
    if message.contains("memory allocation of") {
        return TOO_LARGE.to_owned();
    }
    if message.contains("stack overflow") || message.contains("overflowed its stack") {
        return "too many calls inside of each other".to_owned();
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            return by_signal(signal);
        }
    }
    let first: String = message.lines().next().unwrap_or_default().chars().take(200).collect();
    let code = status.code().map_or_else(String::new, |code| format!(" with code {code}"));
    if first.is_empty() { format!("it exited{code}") } else { format!("it exited{code}: {first}") }
}

/// Returns what a signal means here.
#[cfg(unix)]
fn by_signal(signal: i32) -> String {
    use rustix::process::Signal;
    let is = |known: Signal| signal == known.as_raw();
    if is(Signal::XCPU) {
        "it used up its CPU time".to_owned()
    } else if is(Signal::KILL) {
        "it was killed from outside, by the system or by a user, or used up its CPU time".to_owned()
    } else if is(Signal::ABORT) {
        "it gave up, most likely because it needed more memory than it may".to_owned()
    } else {
        format!("signal {signal} ended it")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read_where_ps_is_there() {
        if Command::new("ps").arg("-p1").output().is_ok() {
            assert!(resident(process::id()).is_some_and(|bytes| bytes > 1 << 20));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reasons_are_told() {
        use std::os::unix::process::ExitStatusExt;
        for (status, message, text) in [
            (24, "", "CPU time"),
            (9, "", "killed from outside"),
            (6, "memory allocation of 8 bytes failed", "more memory"),
            (6, "thread 'x' has overflowed its stack", "inside of each other"),
            (11, "", "signal 11"),
            (3 << 8, "oh\nno", "with code 3: oh"),
        ] {
            let told = reason(ExitStatus::from_raw(status), message);
            assert!(told.contains(text), "{told}");
        }
    }
}
