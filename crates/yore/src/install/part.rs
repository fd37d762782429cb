//! For whom, what, and which way.

use serde::{Deserialize, Serialize};

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
