//! Runs a program as a language model: prompt on standard input, answer on standard output.
//!
//! Such a program runs in a directory of its own, so that what it records of the call can be told from the person's work, with
//! a variable that keeps yore's hooks silent in it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::ask::{Accounts, Prompt, Reply, Usage};
use super::error::{Denial, LlmError};
use crate::platform;
use yore_sources::child::{self, ChildError, Ended, Input, Limits};

/// Variable that keeps yore's hooks silent in a program that yore runs.
pub const SILENT: &str = "YORE_SILENT";
/// Most bytes of an answer.
const MOST_BYTES: usize = 64 << 20;
/// Most bytes of what a program reports on standard error that are kept.
const MOST_REPORT: usize = 4_000;

/// A program that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name in the configuration.
    pub name: &'static str,
    /// The command; `{model}` stands for the model. A part with it is left out, with the option before it, where no model is
    /// configured.
    pub command: &'static [&'static str],
}

/// Programs that answer a prompt on standard input, and can do nothing else: recalled words reach them, and words may ask for deeds.
/// Claude Code runs without tools, settings (and so hooks), servers and a record of the session. Agents that cannot be held so are no
/// rows; `command` runs them at the person's own risk.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "claude",
        command: &[
            "claude",
            "-p",
            "--tools",
            "",
            "--setting-sources",
            "",
            "--strict-mcp-config",
            "--no-session-persistence",
            "--model",
            "{model}",
        ],
    },
    Program { name: "ollama-run", command: &["ollama", "run", "{model}"] },
    Program { name: "llm", command: &["llm", "--no-log", "--model", "{model}"] },
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
        let program = self.command.first().cloned().unwrap_or_default();
        let not_started =
            |reason: String| LlmError::Program { program: program.clone(), reason, may_pass: false, has_run: false };
        let failed = |reason: String, may_pass| LlmError::Program { program: program.clone(), reason, may_pass, has_run: true };
        let (name, arguments) = self.command.split_first().ok_or_else(|| not_started("there is no command".to_owned()))?;
        platform::create_private_directory(&self.directory).map_err(|error| not_started(error.to_string()))?;
        let text = match prompt.system.is_empty() {
            true => prompt.user.clone(),
            false => format!("{}\n\n{}", prompt.system, prompt.user),
        };
        let mut command = Command::new(name);
        command.args(arguments).current_dir(&self.directory).env(SILENT, "1");
        let limits = Limits { time: self.timeout, output: MOST_BYTES, report: MOST_REPORT };
        let mut off = None;
        let ended = child::run(&mut command, Input::Bytes(text.into_bytes()), &limits, &mut || {
            off = accounts.is_off();
            off.is_some()
        });
        let Ended { status, output: answer, report } = match ended {
            Ok(ended) => ended,
            Err(ChildError::Stopped) => return Err(off.unwrap_or(Denial::Stopped).into()),
            Err(error @ ChildError::NotStarted(_)) => return Err(not_started(error.to_string())),
            Err(error) => {
                let may_pass = !matches!(error, ChildError::TooMuch(_));
                return Err(failed(error.to_string(), may_pass));
            }
        };
        if !status.success() {
            // Some tell on standard output why they fail.
            let last = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                text.trim().lines().last().unwrap_or_default().chars().take(300).collect::<String>()
            };
            let report = [last(&report), last(&answer)].into_iter().find(|line| !line.is_empty()).unwrap_or_default();
            let reason = if report.is_empty() { status.to_string() } else { format!("{status}: {report}") };
            // It will say the same again: nobody is logged in, there is no such model.
            return Err(failed(reason, false));
        }
        let text = String::from_utf8_lossy(&answer).trim().to_owned();
        if text.is_empty() {
            return Err(failed("the answer is empty".to_owned(), true));
        }
        Ok(Reply { usage: Usage::estimated(prompt, &text), text, is_cut: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_a_model_goes_with_it() {
        let claude = PROGRAMS[0].with_model("haiku");
        assert_eq!(claude.last().map(String::as_str), Some("haiku"));
        assert_eq!(PROGRAMS[0].with_model("").last().map(String::as_str), Some("--no-session-persistence"));
        assert_eq!(PROGRAMS[1].with_model("qwen"), ["ollama", "run", "qwen"]);
        assert!(PROGRAMS.iter().all(|program| program.with_model("m").iter().all(|part| part != "{model}")));
    }
}
