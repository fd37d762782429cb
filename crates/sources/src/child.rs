//! Runs programs with limits of time and output, and ends them with everything that they started.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time between two looks whether the program has ended; the first are shorter.
const LOOK: Duration = Duration::from_millis(50);
/// Longest time for which the output of a program that has ended is read.
const FAREWELL: Duration = Duration::from_secs(5);

/// The standard input of a program.
#[derive(Debug)]
pub enum Input {
    /// Nothing.
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A file.
    File(File),
}

/// Limits of a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest time until it ends.
    pub time: Duration,
    /// Most bytes of its standard output: one that writes more is ended.
    pub output: usize,
    /// Most bytes of its standard error that are kept; the rest is read and dropped.
    pub report: usize,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error, cut.
    pub report: Vec<u8>,
}

/// The reason why a program did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started.
    #[error("it cannot be started: {0}")]
    NotStarted(io::Error),
    /// It took too long, and was ended.
    #[error("no answer within {} s", .0.as_secs())]
    TooSlow(Duration),
    /// It wrote too much, and was ended.
    #[error("the answer has more than {0} bytes")]
    TooMuch(usize),
    /// The caller had it ended.
    #[error("it was stopped")]
    Stopped,
    /// Its state cannot be found out.
    #[error(transparent)]
    Io(io::Error),
}

/// Runs a program to its end. `is_stopped` is asked at intervals whether to end it before.
///
/// # Errors
/// [`ChildError`]; the program has ended in every case, and with it what it started, unless it ended by itself.
pub fn run(
    command: &mut Command,
    input: Input,
    limits: &Limits,
    is_stopped: &mut dyn FnMut() -> bool,
) -> Result<Ended, ChildError> {
    let (stdin, bytes) = match input {
        Input::Empty => (Stdio::null(), Vec::new()),
        Input::File(file) => (Stdio::from(file), Vec::new()),
        Input::Bytes(bytes) => (Stdio::piped(), bytes),
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The programs that it starts are ended with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut running = Running(command.spawn().map_err(ChildError::NotStarted)?);
    let stdin = running.0.stdin.take();
    let (stdout, stderr) = (running.0.stdout.take(), running.0.stderr.take());
    // Threads, since a program may write before it has read everything.
    std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&bytes)));
    let (output, report) = (reader(stdout, limits.output), reader(stderr, limits.report));
    let began = Instant::now();
    let mut look = Duration::from_millis(1);
    let status = loop {
        let status = running.0.try_wait().map_err(ChildError::Io)?;
        if output.is_over(limits.output) {
            return Err(ChildError::TooMuch(limits.output));
        }
        if let Some(status) = status {
            break status;
        }
        if began.elapsed() > limits.time {
            return Err(ChildError::TooSlow(limits.time));
        }
        if is_stopped() {
            return Err(ChildError::Stopped);
        }
        std::thread::sleep(look);
        look = (look * 2).min(LOOK);
    };
    let output = output.taken();
    if output.len() > limits.output {
        return Err(ChildError::TooMuch(limits.output));
    }
    Ok(Ended { status, output, report: report.taken() })
}

/// A child that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            #[cfg(unix)]
            {
                let group = format!("kill -KILL -{}", self.0.id());
                let _ = Command::new("/bin/sh").args(["-c", &group]).stderr(Stdio::null()).status();
            }
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// The output that a thread reads; it is not joined: children that a program left may hold its pipe open.
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Reading {
    fn is_over(&self, limit: usize) -> bool {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).len() > limit
    }

    /// Returns what was read, after a while at most.
    fn taken(&self) -> Vec<u8> {
        let _ = self.ended.recv_timeout(FAREWELL);
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads everything, but keeps one byte more than the limit at most; the rest is read and dropped, so that the writer goes on.
fn reader(from: Option<impl Read + Send + 'static>, limit: usize) -> Reading {
    let (send, ended) = mpsc::channel();
    let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
    let kept = Arc::clone(&bytes);
    std::thread::spawn(move || {
        let (mut from, mut part) = (from, [0; 8_192]);
        while let Some(count) = from.as_mut().and_then(|from| from.read(&mut part).ok()).filter(|count| *count > 0) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let room = limit.saturating_add(1).saturating_sub(kept.len());
            kept.extend_from_slice(&part[..count.min(room)]);
        }
        let _ = send.send(());
    });
    Reading { bytes, ended }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, input: Input, time: Duration) -> Result<Ended, ChildError> {
        let limits = Limits { time, output: 8, report: 8 };
        run(Command::new("/bin/sh").args(["-c", script]), input, &limits, &mut || false)
    }

    #[test]
    fn output_is_taken_up_to_a_limit() {
        let ended = shell("echo tide; head -c 300000 /dev/zero >&2; exit 3", Input::Empty, LOOK * 200).unwrap();
        assert_eq!((ended.output.as_slice(), ended.report.len()), (&b"tide\n"[..], 9), "what it reports is cut");
        assert_eq!(ended.status.code(), Some(3));
        for flood in ["exec yes", "echo 123456789"] {
            assert!(matches!(shell(flood, Input::Empty, LOOK * 200), Err(ChildError::TooMuch(8))), "{flood}");
        }
        let echoed = shell("cat", Input::Bytes(b"tide".to_vec()), LOOK * 200).unwrap();
        assert_eq!(echoed.output, b"tide");
    }

    #[test]
    fn a_program_ends_with_what_it_started_when_time_is_over_or_the_caller_stops_it() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let script = format!("(sleep 1; touch '{}') & wait", mark.display());
        assert!(matches!(shell(&script, Input::Empty, LOOK), Err(ChildError::TooSlow(_))));
        let limits = Limits { time: LOOK * 200, output: 8, report: 8 };
        let stopped = run(Command::new("/bin/sh").args(["-c", &script]), Input::Empty, &limits, &mut || true);
        assert!(matches!(stopped, Err(ChildError::Stopped)));
        std::thread::sleep(Duration::from_millis(1_300));
        assert!(!mark.exists());
        assert!(matches!(shell("sleep 30 & echo left", Input::Empty, LOOK * 200), Ok(ended) if ended.output == b"left\n"));
    }

    #[test]
    fn a_program_that_is_not_there_is_not_started() {
        let limits = Limits { time: LOOK, output: 8, report: 8 };
        let missing = run(&mut Command::new("/nowhere/at/all"), Input::Empty, &limits, &mut || false);
        assert!(matches!(missing, Err(ChildError::NotStarted(_))));
    }
}
