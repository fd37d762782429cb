//! Programs that take a prompt on standard input and answer on standard output: the agents that a person already has, or any
//! other.
//!
//! Such a program runs in a directory of its own, so that what it records of the call can be told from the person's work, with
//! a variable that keeps yore's hooks silent in it.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use super::ask::{Accounts, Prompt, Reply, Usage};
use super::error::LlmError;
use crate::platform;

/// Variable that keeps yore's hooks silent in a program that yore runs.
pub const SILENT: &str = "YORE_SILENT";
/// Most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// Most bytes of what a program reports on standard error that are kept.
const MOST_REPORT: u64 = 4_000;
const POLL: Duration = Duration::from_millis(50);
/// Longest time for which the output of a program that has ended is read.
const FAREWELL: Duration = Duration::from_secs(5);

/// A program that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name in the configuration.
    pub name: &'static str,
    /// The command; `{model}` stands for the model. A part with it is left out, with the option before it, where no model is
    /// configured.
    pub command: &'static [&'static str],
}

/// Programs that answer a prompt on standard input. The first reads no settings of the person or project, and so runs no hooks.
pub const PROGRAMS: &[Program] = &[
    Program { name: "claude", command: &["claude", "-p", "--setting-sources", "", "--strict-mcp-config", "--model", "{model}"] },
    Program {
        name: "codex",
        command: &["codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--model", "{model}", "-"],
    },
    Program { name: "gemini-cli", command: &["gemini", "--model", "{model}"] },
    Program { name: "opencode", command: &["opencode", "run", "--model", "{model}"] },
    Program { name: "ollama-run", command: &["ollama", "run", "{model}"] },
    Program { name: "llm", command: &["llm", "--model", "{model}"] },
];

/// A program as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSettings {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The directory in which it runs; created if it is not there.
    pub directory: PathBuf,
    /// Longest time for an answer.
    pub timeout: Duration,
}

impl Program {
    /// Returns the command with a model, or without one.
    pub fn with_model(&self, model: &str) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for part in self.command {
            if *part != "{model}" {
                parts.push((*part).to_owned());
            } else if !model.is_empty() {
                parts.push(model.to_owned());
            } else if parts.last().is_some_and(|last| last.starts_with("--")) {
                parts.pop();
            }
        }
        parts
    }
}

impl CommandSettings {
    /// Runs the program with a prompt.
    ///
    /// # Errors
    /// [`LlmError::Program`]; [`LlmError::Budget`] if models are switched off while it runs.
    pub(super) fn complete(&self, prompt: &Prompt, accounts: &dyn Accounts) -> Result<Reply, LlmError> {
        let failed = |reason: String, may_pass| LlmError::Program {
            program: self.command.first().cloned().unwrap_or_default(),
            reason,
            may_pass,
        };
        let (program, arguments) = self.command.split_first().ok_or_else(|| failed("there is no command".to_owned(), false))?;
        platform::create_private_directory(&self.directory).map_err(|error| failed(error.to_string(), false))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.directory).env(SILENT, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().map_err(|error| failed(error.to_string(), false))?);
        let text = match prompt.system.is_empty() {
            true => prompt.user.clone(),
            false => format!("{}\n\n{}", prompt.system, prompt.user),
        };
        let stdin = running.0.stdin.take();
        let (stdout, stderr) = (running.0.stdout.take(), running.0.stderr.take());
        // Threads, since a program may write before it has read everything.
        let writing = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(text.as_bytes())));
        let (reading, reporting) = (reader(stdout, MOST_BYTES), reader(stderr, MOST_REPORT));
        let began = Instant::now();
        let status = loop {
            if let Some(status) = running.0.try_wait().map_err(|error| failed(error.to_string(), true))? {
                break status;
            }
            if began.elapsed() > self.timeout {
                return Err(failed(format!("no answer within {} s", self.timeout.as_secs()), true));
            }
            if let Some(reason) = accounts.is_off() {
                return Err(LlmError::Budget(reason));
            }
            std::thread::sleep(POLL);
        };
        drop(writing);
        // Children that it left may hold the pipes open.
        let answer = reading.recv_timeout(FAREWELL).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let report = reporting.recv_timeout(FAREWELL).ok().and_then(Result::ok).unwrap_or_default();
        if !status.success() {
            let report = String::from_utf8_lossy(&report);
            let report = report.trim().lines().last().unwrap_or_default().chars().take(300).collect::<String>();
            let reason = if report.is_empty() { status.to_string() } else { format!("{status}: {report}") };
            return Err(failed(reason, true));
        }
        let answer = answer.map_err(|error| failed(error.to_string(), true))?;
        if answer.len() as u64 > MOST_BYTES {
            return Err(failed(format!("the answer has more than {MOST_BYTES} bytes"), false));
        }
        let text = String::from_utf8_lossy(&answer).trim().to_owned();
        if text.is_empty() {
            return Err(failed("the answer is empty".to_owned(), true));
        }
        Ok(Reply { usage: Usage::estimated(prompt, &text), text, is_cut: false })
    }
}

/// A child that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

/// Reads in a thread that is not joined.
fn reader(from: Option<impl Read + Send + 'static>, limit: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel();
    // After a timeout nothing receives what was read.
    std::thread::spawn(move || drop(send.send(read_all(from, limit))));
    receive
}

/// Reads everything, but keeps one byte more than the limit at most; the rest is read and dropped, so that the writer goes on.
fn read_all(from: Option<impl Read>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        from.by_ref().take(limit + 1).read_to_end(&mut bytes)?;
        io::copy(&mut from, &mut io::sink())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_a_model_goes_with_it() {
        let claude = PROGRAMS[0].with_model("haiku");
        assert_eq!(claude.last().map(String::as_str), Some("haiku"));
        assert_eq!(PROGRAMS[0].with_model("").last().map(String::as_str), Some("--strict-mcp-config"));
        assert_eq!(PROGRAMS[4].with_model("qwen"), ["ollama", "run", "qwen"]);
        assert!(PROGRAMS.iter().all(|program| program.with_model("m").iter().all(|part| part != "{model}")));
    }
}
