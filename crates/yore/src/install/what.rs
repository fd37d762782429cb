//! Things of yore's in an agent's file, as the agent reads them.

use std::path::PathBuf;
use std::time::Duration;

use super::part::Part;

/// What stands in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// A hook.
    Hook {
        /// The event that it is run for.
        event: String,
        /// What is run.
        call: Call,
        /// Which tools or sources it is run for; all where it says nothing.
        matcher: Option<String>,
        /// How long the agent waits for it; nothing where the agent decides.
        timeout: Option<Duration>,
    },
    /// The MCP server.
    Mcp {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Environment variables that are set for it.
        env: Vec<(String, String)>,
    },
    /// A text that the agent reads.
    Rules,
    /// The status line.
    StatusLine {
        /// What is run.
        call: Call,
    },
    /// A program text that the agent runs, and that runs yore.
    Plugin {
        /// The program that it runs.
        program: String,
        /// The arguments behind agent and event.
        args: Vec<String>,
    },
    /// Yore cannot read this file, for this reason; the agent may.
    Unreadable(String),
}

impl What {
    /// The part that it belongs to; none of a file that cannot be read.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::Hook { .. } | Self::Plugin { .. } => Some(Part::Hooks),
            Self::Mcp { .. } => Some(Part::Mcp),
            Self::Rules => Some(Part::Rules),
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
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A file of yore's own that the agent starts, and that calls yore.
    File {
        /// The file.
        file: PathBuf,
        /// The program that it calls.
        program: String,
    },
}
