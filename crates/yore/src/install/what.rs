//! Kinds of yore's entries in an agent's file: server, hook, status line, rules, skill.

use std::path::PathBuf;
use std::time::Duration;

use super::part::Part;

/// An entry of yore's in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// A hook.
    Hook {
        /// The event that it runs for.
        event: String,
        /// The call that it runs.
        call: Call,
        /// The tools or sources that it runs for; all if absent.
        matcher: Option<String>,
        /// Time that the agent waits for it; the agent's default if absent.
        timeout: Option<Duration>,
    },
    /// The MCP server.
    Mcp {
        /// Path or name of the program.
        program: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables that are set for it.
        env: Vec<(String, String)>,
    },
    /// A text that the agent reads.
    Rules,
    /// A text that the agent reads when it is asked to distil.
    Skill,
    /// The status line.
    StatusLine {
        /// The call that it runs.
        call: Call,
    },
    /// A plugin: program text that the agent loads and that runs yore.
    Plugin {
        /// The program that it runs.
        program: String,
        /// The arguments after agent and event.
        args: Vec<String>,
    },
    /// Yore cannot read this file, for this reason; the agent may be able to.
    Unreadable(String),
}

impl What {
    /// Returns the part that it belongs to; `None` for a file that cannot be read.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::Hook { .. } | Self::Plugin { .. } => Some(Part::Hooks),
            Self::Mcp { .. } => Some(Part::Mcp),
            Self::Rules => Some(Part::Rules),
            Self::Skill => Some(Part::Skill),
            Self::StatusLine { .. } => Some(Part::StatusLine),
            Self::Unreadable(_) => None,
        }
    }
}

/// How an agent runs yore.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Call {
    /// A command line, for the shell.
    Line(String),
    /// A program and its arguments.
    Program {
        /// Path or name of the program.
        program: String,
        /// Arguments of the program.
        args: Vec<String>,
    },
    /// A file of yore's own that the agent starts and that calls yore.
    File {
        /// Path of the file.
        file: PathBuf,
        /// The program that it calls.
        program: String,
    },
}
