//! Files that belong to yore as a whole: rules, skills, plugins, executable hooks.

use std::path::PathBuf;

use super::EditError;
use crate::install::Part;
use crate::install::what::{Call, What};

/// Words that every such file contains; a file without them belongs to someone else.
const MARK: &str = "ritten by `yore install";

/// A file that yore writes as a whole.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The part of yore that it holds.
    pub part: Part,
    /// Text of the file; contains the mark.
    pub text: String,
    /// How the agent uses the file.
    pub role: Role,
}

/// How an agent uses a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// A text that it reads.
    Rules,
    /// A text that it reads when it is asked to distil.
    Skill,
    /// Program text that it loads. It holds the path of yore as a quoted text after the first of these marks,
    /// and further arguments of a hook as a list after the second.
    Plugin(&'static str, &'static str),
    /// A program that it runs for this event.
    Hook(&'static str),
    /// A server in a file of its own: YAML with `command:` on a line.
    Server,
}

/// Returns the JSON value after a mark in a program text.
fn behind<T: serde::de::DeserializeOwned>(text: &str, mark: &str) -> Option<T> {
    let (_, rest) = text.split_once(mark)?;
    serde_json::Deserializer::from_str(rest).into_iter().next()?.ok()
}

/// Returns the program that a shell script keeps in the variable `yore`, quoted for a POSIX shell.
fn program_of_script(text: &str) -> Option<String> {
    let quoted = text.lines().find_map(|line| line.strip_prefix("yore="))?;
    Some(quoted.strip_prefix('\'')?.strip_suffix('\'')?.replace(r"'\''", "'"))
}

impl Whole {
    /// Returns whether the file is an executable program.
    pub fn is_executable(&self) -> bool {
        matches!(self.role, Role::Hook(_))
    }

    /// Returns the file's text, unless the existing file belongs to someone else.
    pub fn put(&self, before: Option<&str>) -> Result<String, EditError> {
        match before {
            Some(before) if !before.trim().is_empty() && !self.is_in(before) => {
                Err(EditError::Foreign("a file of this name that is not yore's already exists; move it away first".to_owned()))
            }
            _ => Ok(self.text.clone()),
        }
    }

    /// Returns `None`, so that the file is deleted, unless it belongs to someone else.
    pub fn take(&self, before: &str) -> Option<String> {
        (!self.is_in(before)).then(|| before.to_owned())
    }

    /// Returns whether the file is yore's.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(MARK)
    }

    /// Returns the file's entries, as an agent finds them.
    pub fn found(&self, text: &str) -> Vec<What> {
        if !self.is_in(text) {
            return Vec::new();
        }
        match self.role {
            Role::Rules => vec![What::Rules],
            Role::Skill => vec![What::Skill],
            Role::Plugin(program, more) => {
                vec![What::Plugin {
                    program: behind(text, program).unwrap_or_default(),
                    args: behind(text, more).unwrap_or_default(),
                }]
            }
            Role::Hook(event) => vec![What::Hook {
                event: event.to_owned(),
                // The caller, which read the file, fills in its path.
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
