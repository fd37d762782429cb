//! Puts yore into the agents' own settings, and takes it out again. Nothing is touched unless the
//! person names the agent.
//!
//! - [`Machine`]: the computer, as values
//! - `agents`: one table of all agents: how each is known, and what is wanted in which file
//! - [`Wanted`], [`FileEdit`]: what is asked for, and what that means for one file
//! - `edit`: the changes, as functions of text
//! - [`installed`]: what stands in the agents' files now
//! - [`missing()`]: what was entered and stands there no longer
//! - `file`: reads and replaces one file
//! - `record`: what was changed, with the bytes as they were
//! - [`Installer`]: does it, file by file
//! - `command`: how agents call yore
//!
//! A file is replaced only after its new text was read again and found to differ in yore's entries
//! alone; the old bytes are kept in the data directory. Taking yore out puts these bytes back where
//! nobody changed the file since, and undoes the change alone where somebody did. Without the record
//! it goes by what the entries run.

pub mod agents;
pub mod command;
pub mod edit;
mod file;
pub mod found;
mod installer;
mod machine;
mod missing;
mod record;
mod sealed;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::agents::{AGENTS, Agent};
pub use self::command::Program;
use self::edit::Content;
pub use self::found::{installed, is_as_written};
pub use self::installer::{Done, Installer, Outcome};
pub use self::machine::Machine;
pub use self::missing::{Lack, Missing, missing};

/// For whom yore is installed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scope {
    /// The person, in every project.
    User,
    /// One project, for whoever opens it on this computer.
    Project,
}

impl Scope {
    /// As it is named on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// What is brought to an agent.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The MCP server.
    Mcp,
    /// Hooks, or the plugin that stands for them.
    Hooks,
    /// A text that tells the agent what there is.
    Rules,
    /// The status line.
    StatusLine,
}

impl Part {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "MCP server",
            Self::Hooks => "hooks",
            Self::Rules => "rules",
            Self::StatusLine => "status line",
        }
    }
}

/// Which way it goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// In: the one best place for each thing.
    Put,
    /// Out, or only looked for: every place where it may be.
    Take,
}

/// What is asked for.
pub struct Wanted<'w> {
    /// Where.
    pub machine: &'w Machine<'w>,
    /// This program as agents shall call it.
    pub program: &'w Program,
    /// For whom.
    pub scope: Scope,
    /// Which way.
    pub purpose: Purpose,
}

/// What is wanted in one file.
#[derive(Clone, Debug)]
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// What is wanted in it.
    pub content: Content,
    /// Whether its name says that it is yore's: it goes when nothing else is in it.
    pub is_own: bool,
}
