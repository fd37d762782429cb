//! Runs another program with a deadline.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of bytes that are read of its output.
const LONGEST_OUTPUT: u64 = 1 << 20;
/// Interval at which the end of the process is checked.
const STEP: Duration = Duration::from_millis(2);
/// Time for the last output to arrive after the end. A process that the program started may keep the pipe
/// open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Environment variable of every program that is run here, so that a doctor among them stops.
pub(super) const GUARD: &str = "YORE_DOCTOR";

/// The outcome of a run.
pub(in crate::cli) struct Ran {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

/// The end of a run.
pub(in crate::cli) enum Ending {
    /// It ended by itself with this exit code, or by a signal without one.
    Ended(Option<i32>),
    /// It did not end in time.
    Late,
    /// It could not be started.
    NotStarted(io::Error),
}

/// Runs a program to its end, or kills it at the deadline.
pub(in crate::cli) fn run(mut command: Command, stdin: &[u8], deadline: Duration) -> Ran {
    let began = Instant::now();
    let mut child = match start(&mut command) {
        Ok(child) => child,
        Err(error) => {
            let (stdout, stderr) = Default::default();
            return Ran { ending: Ending::NotStarted(error), stdout, stderr, took: began.elapsed() };
        }
    };
    if let Some(mut pipe) = child.stdin.take() {
        let stdin = stdin.to_vec();
        // Not every program reads its input to the end.
        thread::spawn(move || drop(pipe.write_all(&stdin)));
    }
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let ending = wait(&mut child, began + deadline);
    let took = began.elapsed();
    let last_words = |from: &Receiver<String>| from.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ran { ending, stdout: last_words(&stdout), stderr: last_words(&stderr), took }
}

/// Starts a program in a process group of its own, with a pipe for each of its streams.
pub(super) fn start(command: &mut Command) -> io::Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env(GUARD, "1");
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.spawn()
}

/// Waits for a process until that instant, then kills it and everything that it started.
pub(super) fn wait(child: &mut Child, until: Instant) -> Ending {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ending::Ended(status.code()),
            Ok(None) if Instant::now() < until => thread::sleep(STEP),
            Ok(None) => break,
            Err(error) => return Ending::NotStarted(error),
        }
    }
    end_group(child);
    // It may already have ended.
    let _ = child.kill();
    let _ = child.wait();
    Ending::Late
}

/// Kills a process group. Its leader was not reaped yet, so the process id is still its own.
#[cfg(unix)]
fn end_group(leader: &Child) {
    let mut kill = Command::new("/bin/sh");
    kill.arg("-c").arg(format!("kill -9 -{}", leader.id()));
    // If this fails, only the leader is killed.
    let _ = kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

#[cfg(not(unix))]
fn end_group(_leader: &Child) {}

/// Reads a pipe in a separate thread: a pipe that stays open must not block the caller.
pub(super) fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut output = Vec::new();
            let _ = pipe.take(LONGEST_OUTPUT).read_to_end(&mut output);
            let _ = send.send(String::from_utf8_lossy(&output).into_owned());
        });
    }
    receive
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, deadline_ms: u64) -> Ran {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        run(command, b"words", Duration::from_millis(deadline_ms))
    }

    #[test]
    fn what_it_says_and_how_it_ends_is_told() {
        let ran = shell("cat; echo oh >&2; exit 3", 60_000);
        assert!(matches!(ran.ending, Ending::Ended(Some(3))));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("words", "oh\n"));
    }

    #[test]
    fn what_it_started_ends_with_it() {
        let ran = shell("echo words; sleep 600 & wait", 1_000);
        assert!(matches!(ran.ending, Ending::Late));
        assert_eq!(ran.stdout, "words\n", "nobody holds the pipe any more");
    }

    #[test]
    fn who_is_run_here_is_told_so() {
        assert_eq!(shell("echo $YORE_DOCTOR", 60_000).stdout, "1\n");
    }

    #[test]
    fn who_does_not_end_is_ended_and_who_is_not_there_is_told() {
        assert!(matches!(shell("exec sleep 60", 50).ending, Ending::Late));
        let ran = run(Command::new("/nowhere/at/all"), b"", Duration::from_secs(60));
        assert!(matches!(ran.ending, Ending::NotStarted(error) if error.kind() == io::ErrorKind::NotFound));
    }
}
