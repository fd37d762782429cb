//! Scope (user or project), parts and direction of an installation.

use serde::{Deserialize, Serialize};

/// Where yore is installed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Scope {
    /// For the user, in every project.
    User,
    /// For one project, for anyone who opens it on this computer.
    Project,
}

impl Scope {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A part of yore that an agent gets.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The MCP server.
    Mcp,
    /// Hooks, or the plugin that replaces them.
    Hooks,
    /// A text that tells the agent about yore.
    Rules,
    /// The skill by which the agent records what a session taught, when it is asked to.
    Skill,
    /// The status line.
    StatusLine,
}

impl Part {
    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "MCP server",
            Self::Hooks => "hooks",
            Self::Rules => "rules",
            Self::Skill => "skill",
            Self::StatusLine => "status line",
        }
    }
}

/// The direction of an installation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purpose {
    /// Install: the one best place for each part.
    Put,
    /// Uninstall, or only look: every place where a part may be.
    Take,
}
