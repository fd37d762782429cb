//! Starts agents: the documented command that resumes a session of each, and the one that begins a session with a prompt.

use std::path::Path;
use std::process::Command;

use crate::error::{CliError, CliResult, Exit};

/// The commands of one agent's program.
#[derive(Debug)]
pub struct Start {
    /// The agent's name in the store.
    pub source: &'static str,
    /// Other names of the agent on the command line.
    pub aliases: &'static [&'static str],
    /// Name for people.
    pub title: &'static str,
    /// The program.
    pub program: &'static str,
    /// Arguments before the id of a session that is resumed; `None`: the program resumes no session by its id.
    pub resume: Option<&'static [&'static str]>,
    /// Arguments before the prompt of a session that goes on interactively; `None`: the program takes no such prompt.
    pub prompt: Option<&'static [&'static str]>,
}

/// The agents with a program on the command line, by documentation, public code or `--help` of November 2026; none was run.
pub const STARTS: [Start; 22] = [
    Start::new("claude-code", &["claude"], "Claude Code", "claude", Some(&["--resume"]), Some(&[])),
    Start::new("codex", &[], "Codex", "codex", Some(&["resume"]), Some(&[])),
    Start::new("gemini", &["gemini-cli"], "Gemini CLI", "gemini", Some(&["--resume"]), Some(&["-i"])),
    Start::new("qwen", &["qwen-code"], "Qwen Code", "qwen", Some(&["--resume"]), Some(&["-i"])),
    Start::new("opencode", &[], "OpenCode", "opencode", Some(&["--session"]), Some(&["--prompt"])),
    Start::new("kilo-cli", &[], "Kilo CLI", "kilo", Some(&["--session"]), Some(&["--prompt"])),
    Start::new("copilot-cli", &["copilot"], "Copilot CLI", "copilot", Some(&["--resume"]), Some(&["-i"])),
    // Only chats of its command line; the editor's cannot be opened from outside.
    Start::new("cursor", &["cursor-agent"], "Cursor", "cursor-agent", Some(&["--resume"]), Some(&[])),
    Start::new("antigravity", &["agy"], "Antigravity", "agy", Some(&["--conversation"]), Some(&["-i"])),
    Start::new("droid", &["factory"], "Droid", "droid", Some(&["--resume"]), Some(&[])),
    Start::new(
        "goose",
        &[],
        "goose",
        "goose",
        Some(&["session", "--resume", "--session-id"]),
        Some(&["run", "--interactive", "--text"]),
    ),
    Start::new("crush", &[], "Crush", "crush", Some(&["--session"]), None),
    Start::new("cline", &[], "Cline", "cline", Some(&["--id"]), Some(&["-i"])),
    Start::new("continue", &["cn"], "Continue", "cn", None, Some(&[])),
    Start::new("kimi", &[], "Kimi", "kimi", Some(&["--session"]), None),
    Start::new("kiro", &[], "Kiro", "kiro-cli", Some(&["chat", "--resume-id"]), Some(&["chat"])),
    Start::new("pi", &[], "Pi", "pi", Some(&["--session"]), Some(&[])),
    Start::new("omp", &[], "Oh My Pi", "omp", Some(&["--resume"]), Some(&[])),
    Start::new("vibe", &[], "Mistral Vibe", "vibe", Some(&["--resume"]), Some(&[])),
    Start::new("grok", &[], "Grok Build", "grok", Some(&["--resume"]), None),
    Start::new("hermes", &[], "Hermes Agent", "hermes", Some(&["--resume"]), None),
    Start::new("aider", &[], "Aider", "aider", None, None),
];

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Start {
    const fn new(
        source: &'static str,
        aliases: &'static [&'static str],
        title: &'static str,
        program: &'static str,
        resume: Option<&'static [&'static str]>,
        prompt: Option<&'static [&'static str]>,
    ) -> Self {
        Self { source, aliases, title, program, resume, prompt }
    }

    /// Returns the agent with this name.
    ///
    /// # Errors
    /// A usage error that lists the agents that take a prompt.
    pub fn named(name: &str) -> CliResult<&'static Self> {
        let is_named = |start: &&Start| start.source == name || start.program == name || start.aliases.contains(&name);
        STARTS.iter().find(is_named).ok_or_else(|| {
            let known: Vec<&str> = STARTS.iter().filter(|start| start.prompt.is_some()).map(|start| start.source).collect();
            CliError::usage(format!("unknown agent {name:?}"), Some(&format!("agents that take a prompt: {}", known.join(", "))))
        })
    }

    /// Returns the agent of a source, if it has a program on the command line.
    pub fn of_source(source: &str) -> Option<&'static Self> {
        STARTS.iter().find(|start| start.source == source)
    }

    /// Returns the command that resumes a session.
    pub fn resuming(&self, session: &str) -> Option<CommandLine> {
        self.with(self.resume?, session)
    }

    /// Returns the command that begins a session with a prompt.
    pub fn prompting(&self, prompt: &str) -> Option<CommandLine> {
        self.with(self.prompt?, prompt)
    }

    /// A last argument that looks like an option would be taken for one.
    fn with(&self, before: &[&str], last: &str) -> Option<CommandLine> {
        let arguments = before.iter().copied().chain([last]).map(str::to_owned).collect();
        (!last.is_empty() && !last.starts_with('-')).then_some(CommandLine { program: self.program, arguments })
    }
}

impl CommandLine {
    /// Returns the command as it is typed in a shell of Unix, after a change to the directory.
    pub fn typed(&self, directory: Option<&Path>) -> String {
        let words = std::iter::once(self.program).chain(self.arguments.iter().map(String::as_str)).map(quoted);
        let command = words.collect::<Vec<_>>().join(" ");
        match directory {
            Some(directory) => format!("cd {} && {command}", quoted(&directory.to_string_lossy())),
            None => command,
        }
    }

    /// Runs the command in a directory, in the place of this process where that is possible.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn run(&self, directory: Option<&Path>) -> CliResult {
        let mut command = Command::new(self.program);
        command.args(&self.arguments);
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let failed = |error: &std::io::Error| {
            let (message, hint) = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    (format!("cannot start {}: no such program on the search path", self.program), "install it, or use --print")
                }
                _ => (format!("cannot start {}: {error}", self.program), "--print prints the command instead of running it"),
            };
            CliError { exit: Exit::Usage, code: "agent/start".to_owned(), message, hint: Some(hint.to_owned()) }
        };
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            Err(failed(&command.exec()))
        }
        #[cfg(not(unix))]
        {
            let status = command.status().map_err(|error| failed(&error))?;
            Ok(if status.success() { Exit::Success } else { Exit::Nothing })
        }
    }
}

/// Returns a word in quotes where a shell would read it otherwise.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b'=' | b'@');
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use yore_sources::source::is_agent;

    use super::*;

    #[test]
    fn each_row_is_an_agent_that_yore_reads_and_has_names_of_its_own() {
        let mut names: Vec<&str> = Vec::new();
        for start in &STARTS {
            assert!(is_agent(start.source), "{}", start.source);
            for name in [start.source].into_iter().chain(start.aliases.iter().copied()) {
                assert!(!names.contains(&name), "{name}");
                names.push(name);
            }
            assert_eq!(Start::named(start.program).unwrap().source, start.source);
        }
        assert!(Start::named("emacs").unwrap_err().hint.unwrap().contains("codex"));
    }

    #[test]
    fn documented_commands_resume_and_begin_sessions() {
        let typed = |name: &str| {
            let start = Start::named(name).unwrap();
            (start.resuming("7a5b").map(|line| line.typed(None)), start.prompting("go on").map(|line| line.typed(None)))
        };
        let both = |resume: &str, prompt: &str| (Some(resume.to_owned()), Some(prompt.to_owned()));
        assert_eq!(typed("claude"), both("claude --resume 7a5b", "claude 'go on'"));
        assert_eq!(typed("codex"), both("codex resume 7a5b", "codex 'go on'"));
        assert_eq!(typed("gemini"), both("gemini --resume 7a5b", "gemini -i 'go on'"));
        assert_eq!(typed("goose"), both("goose session --resume --session-id 7a5b", "goose run --interactive --text 'go on'"));
        assert_eq!(typed("aider"), (None, None));
    }

    #[test]
    fn ids_that_look_like_options_are_refused_and_words_are_quoted() {
        let codex = Start::named("codex").unwrap();
        assert_eq!(codex.resuming("--dangerous"), None);
        assert_eq!(codex.resuming(""), None);
        let line = codex.prompting("it's\nhere").unwrap();
        assert_eq!(line.typed(Some(Path::new("/home/dev/my quay"))), "cd '/home/dev/my quay' && codex 'it'\\''s\nhere'");
    }
}
