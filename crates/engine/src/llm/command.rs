//! Runs a program as a language model: prompt on standard input, answer on standard output.
//!
//! Such a program runs in a directory of its own, so that what it records of the call can be told from the person's work, with
//! a variable that keeps yore's hooks silent in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::ask::{Accounts, Prompt, Reply, Usage};
use super::error::{Denial, LlmError};
use super::printed::Printed;
use crate::platform;
use yore_sources::child::{self, ChildError, Ended, Input, Limits};
use yore_sources::source::own::OWN_CALL;

/// Variable that keeps yore's hooks silent in a program that yore runs.
pub const SILENT: &str = "YORE_SILENT";
/// Most bytes of an answer.
const MOST_BYTES: usize = 64 << 20;
/// Most bytes of what a program reports on standard error that are kept.
const MOST_REPORT: usize = 4_000;
/// Most characters of the reason of a failure.
const MOST_REASON: usize = 300;

/// Variables by which an agent's program would take itself for a part of the session that it was started from, and refuse to run.
const OF_A_SESSION: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
];

/// A program that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name in the configuration.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The command; `{model}` stands for the model. A part with it is left out, with the option before it, where no model is
    /// configured.
    pub command: &'static [&'static str],
    /// Its smallest model that is good enough for reading sessions; empty: its own default.
    pub small_model: &'static str,
    /// Variables for its run; `{run}` stands for a directory of that run alone, which is removed afterwards with what it recorded.
    pub variables: &'static [(&'static str, &'static str)],
    /// Files in the directory of all runs that it reads, such as settings that turn its tools off.
    pub files: &'static [(&'static str, &'static str)],
}

const fn program(name: &'static str, title: &'static str, command: &'static [&'static str]) -> Program {
    Program { name, title, command, small_model: "", variables: &[], files: &[] }
}

/// Programs that answer a prompt on standard input, and can do nothing else: recalled words reach them, and words may ask for deeds.
/// Agents run without tools, hooks, servers and, where they can, without a record of the session. Agents that cannot be held so are no
/// rows; `command` runs them at the person's own risk.
pub const PROGRAMS: &[Program] = &[
    Program {
        small_model: "haiku",
        ..program(
            "claude",
            "Claude Code",
            &[
                "claude",
                "-p",
                "--tools",
                "",
                "--setting-sources",
                "",
                "--strict-mcp-config",
                "--no-session-persistence",
                "--output-format",
                "json",
                "--model",
                "{model}",
            ],
        )
    },
    // Without an environment to run in, it has no shell, patches or files. Its own settings name servers, hooks and models.
    Program {
        variables: &[("CODEX_EXEC_SERVER_URL", "none")],
        ..program(
            "codex",
            "Codex",
            &[
                "codex",
                "exec",
                "--ephemeral",
                "--ignore-user-config",
                "--ignore-rules",
                "--skip-git-repo-check",
                "--sandbox",
                "read-only",
                "--json",
                "-c",
                "features.shell_tool=false",
                "-c",
                "features.unified_exec=false",
                "-c",
                "features.apps=false",
                "-c",
                "features.hooks=false",
                "-c",
                "web_search=\"disabled\"",
                "-c",
                "project_doc_max_bytes=0",
                "-c",
                "model_reasoning_effort=\"low\"",
                "--model",
                "{model}",
                "-",
            ],
        )
    },
    // An empty list of tools excludes those of servers, too. It keeps a record of the last run, which it lists in the directory of the
    // runs only.
    Program {
        small_model: "flash",
        variables: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        files: &[(
            ".gemini/settings.json",
            r#"{"tools":{"core":[]},"hooksConfig":{"enabled":false},"general":{"sessionRetention":{"enabled":true,"maxCount":1}}}"#,
        )],
        ..program(
            "gemini-cli",
            "Gemini CLI",
            &[
                "gemini",
                "--skip-trust",
                "--allowed-mcp-server-names",
                "none",
                "--extensions",
                "none",
                "--output-format",
                "json",
                "--model",
                "{model}",
            ],
        )
    },
    // Its first call of a tool ends the run.
    program(
        "qwen",
        "Qwen Code",
        &[
            "qwen",
            "--safe-mode",
            "--chat-recording=false",
            "--max-tool-calls",
            "0",
            "--output-format",
            "json",
            "--model",
            "{model}",
        ],
    ),
    // The session is in memory only; with a title it asks no model for one.
    Program {
        variables: &[
            ("OPENCODE_DB", ":memory:"),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_CONFIG_CONTENT", r#"{"share":"disabled","tools":{"*":false},"permission":{"*":"deny"}}"#),
        ],
        ..program("opencode", "OpenCode", &["opencode", "run", "--pure", "--title", "yore", "--model", "{model}"])
    },
    // Its sessions cannot be left out, so that it has a home of the run alone.
    Program {
        variables: &[("COPILOT_HOME", "{run}")],
        ..program(
            "copilot",
            "Copilot CLI",
            &[
                "copilot",
                "--silent",
                "--available-tools=none",
                "--disable-builtin-mcps",
                "--no-custom-instructions",
                "--no-ask-user",
                "--no-remote",
                "--no-auto-update",
                "--no-color",
                "--model",
                "{model}",
            ],
        )
    },
    program("ollama-run", "Ollama", &["ollama", "run", "{model}"]),
    program("llm", "llm", &["llm", "--no-log", "--model", "{model}"]),
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
    /// The program, if it is known.
    pub known: Option<&'static Program>,
}

impl Program {
    /// Returns the program of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

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
        // A record that the program keeps all the same is known by its first line.
        let said = prompt.conversation();
        let text = match prompt.system.is_empty() {
            true => format!("{OWN_CALL}\n{said}"),
            false => format!("{OWN_CALL}\n{}\n\n{said}", prompt.system),
        };
        let mut command = Command::new(name);
        command.args(arguments).current_dir(&self.directory).env(SILENT, "1");
        for variable in OF_A_SESSION {
            command.env_remove(variable);
        }
        let run = RunDirectory(self.directory.join(format!("run-{}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed))));
        if let Some(known) = self.known {
            let place = run.0.to_string_lossy();
            if known.variables.iter().any(|(_, value)| value.contains("{run}")) {
                platform::create_private_directory(&run.0).map_err(|error| not_started(error.to_string()))?;
            }
            command.envs(known.variables.iter().map(|(variable, value)| (variable, value.replace("{run}", &place))));
            for (file, content) in known.files {
                put(&self.directory.join(file), content).map_err(|error| not_started(error.to_string()))?;
            }
        }
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
        let printed = Printed::read(String::from_utf8_lossy(&answer).trim());
        if let Some(Printed { outcome: Err(reason), .. }) = &printed {
            let reason: String = reason.chars().take(MOST_REASON).collect();
            return Err(failed(reason, false));
        }
        if !status.success() {
            // Some tell on standard output why they fail.
            let last = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(bytes);
                text.trim().lines().last().unwrap_or_default().chars().take(MOST_REASON).collect::<String>()
            };
            let report = [last(&report), last(&answer)].into_iter().find(|line| !line.is_empty()).unwrap_or_default();
            let reason = if report.is_empty() { status.to_string() } else { format!("{status}: {report}") };
            // It will say the same again: nobody is logged in, there is no such model.
            return Err(failed(reason, false));
        }
        let (text, usage) = match printed {
            Some(Printed { outcome: Ok(text), usage }) => (text.trim().to_owned(), usage),
            _ => (String::from_utf8_lossy(&answer).trim().to_owned(), None),
        };
        if text.is_empty() {
            return Err(failed("the answer is empty".to_owned(), true));
        }
        let usage = match usage {
            Some((input, output)) => Usage::reported(prompt, &text, input, output),
            None => Usage::estimated(prompt, &text),
        };
        Ok(Reply { usage, text, is_cut: false })
    }
}

/// Number of runs of this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// The directory of one run, which need not exist. It is removed when this is dropped.
struct RunDirectory(PathBuf);

impl Drop for RunDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a file for a program, unless it is there as it must be.
fn put(path: &Path, content: &str) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|there| there == content.as_bytes()) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_of_a_model_goes_with_it() {
        let named = |name: &str| Program::named(name).unwrap();
        let claude = named("claude").with_model("haiku");
        assert_eq!(claude.last().map(String::as_str), Some("haiku"));
        assert_eq!(named("claude").with_model("").last().map(String::as_str), Some("json"));
        assert_eq!(named("codex").with_model("").last().map(String::as_str), Some("-"));
        assert_eq!(named("ollama-run").with_model("qwen"), ["ollama", "run", "qwen"]);
        assert!(PROGRAMS.iter().all(|program| program.with_model("m").iter().all(|part| part != "{model}")));
    }
}
