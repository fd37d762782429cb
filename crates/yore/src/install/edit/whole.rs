//! Files that are yore's own: a rules file, a plugin, an executable hook.

use std::path::PathBuf;

use super::EditError;
use crate::install::Part;
use crate::install::what::{Call, What};

/// Every such file holds these words; one without them is somebody else's.
const MARK: &str = "ritten by `yore install";

/// A whole file.
#[derive(Clone, Debug)]
pub struct Whole {
    /// What it brings.
    pub part: Part,
    /// All that it says; holds the mark.
    pub text: String,
    /// What it is to the agent.
    pub role: Role,
}

/// What a file is to the agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// A text that it reads.
    Rules,
    /// A program text that it loads, which names yore as a quoted text behind the first of these, and
    /// further arguments of a hook as a list behind the second.
    Plugin(&'static str, &'static str),
    /// A program that it runs for this event.
    Hook(&'static str),
    /// A server in a file of its own: YAML with `command:` on a line.
    Server,
}

/// The JSON value behind a mark in a program text.
fn behind<T: serde::de::DeserializeOwned>(text: &str, mark: &str) -> Option<T> {
    let (_, rest) = text.split_once(mark)?;
    serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()
}

/// The program that a shell script keeps in the variable `yore`, quoted for a POSIX shell.
fn program_of_script(text: &str) -> Option<String> {
    let quoted = text.lines().find_map(|line| line.strip_prefix("yore="))?;
    Some(quoted.strip_prefix('\'')?.strip_suffix('\'')?.replace(r"'\''", "'"))
}

impl Whole {
    /// Whether the file is an executable program.
    pub fn is_executable(&self) -> bool {
        matches!(self.role, Role::Hook(_))
    }

    /// The file's text, if it is not somebody else's.
    pub fn put(&self, before: Option<&str>) -> Result<String, EditError> {
        match before {
            Some(before) if !before.trim().is_empty() && !self.is_in(before) => {
                Err(EditError::Foreign("there is a file of this name already that is not yore's; move it away first".to_owned()))
            }
            _ => Ok(self.text.clone()),
        }
    }

    /// Nothing, unless it is somebody else's.
    pub fn take(&self, before: &str) -> Option<String> {
        (!self.is_in(before)).then(|| before.to_owned())
    }

    /// Whether the file is yore's.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(MARK)
    }

    /// What an agent would find in it.
    pub fn found(&self, text: &str) -> Vec<What> {
        if !self.is_in(text) {
            return Vec::new();
        }
        match self.role {
            Role::Rules => vec![What::Rules],
            Role::Plugin(program, more) => {
                vec![What::Plugin {
                    program: behind(text, program).unwrap_or_default(),
                    args: behind(text, more).unwrap_or_default(),
                }]
            }
            Role::Hook(event) => vec![What::Hook {
                event: event.to_owned(),
                // The caller, who read the file, fills in its path.
                call: Call::File { file: PathBuf::new(), program: program_of_script(text).unwrap_or_default() },
                matcher: None,
                timeout: None,
            }],
            Role::Server => {
                let value = |key: &str| {
                    text.lines().find_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix(key)).map(str::trim)
                };
                let quoted = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
                let Some(program) = value("command:").map(quoted) else { return Vec::new() };
                let args = value("args:").and_then(|args| serde_json::from_str(args).ok()).unwrap_or_default();
                vec![What::Mcp { program, args, env: Vec::new() }]
            }
        }
    }
}
