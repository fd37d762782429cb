//! The set of tools that an MCP server lists (`mcp.tools`).

use std::fmt;
use std::str::FromStr;

use super::every_name;
use crate::config::Config;
use crate::error::{CliError, CliResult, Exit};

/// Names of sets, alone or among names of tools.
const CORE: &str = "core";
const NAMES: &str = "names";

/// The tools that are served: only listed tools can be called.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Toolset {
    /// yore's own, which every agent gets.
    #[default]
    Core,
    /// The names of the designs that yore grew from, for prompts that were written for these.
    Names,
    /// Every tool.
    All,
    /// The named tools and sets of tools.
    Chosen(Vec<String>),
}

/// The error for text that is not a toolset.
#[derive(Debug, thiserror::Error)]
pub enum ToolsetError {
    /// There is no such tool.
    #[error("unknown tool {name:?}; the tools are {}", .known.join(", "))]
    Unknown {
        /// Name that was given.
        name: String,
        /// Names of the known tools.
        known: Vec<&'static str>,
    },
    /// No tool is named.
    #[error("no tools given; expected \"core\", \"names\", \"all\" or names of tools with commas between them")]
    Empty,
}

impl Toolset {
    /// Returns whether a tool is served, given whether it is one of yore's own and one of the names.
    pub fn has(&self, name: &str, is_core: bool, is_name: bool) -> bool {
        match self {
            Self::Core => is_core,
            Self::Names => is_name,
            Self::All => true,
            Self::Chosen(chosen) => chosen.iter().any(|chosen| match chosen.as_str() {
                CORE => is_core,
                NAMES => is_name,
                chosen => chosen == name,
            }),
        }
    }
}

impl Toolset {
    /// Returns the configured toolset.
    pub fn configured(config: &Config) -> CliResult<Self> {
        config.mcp.tools.parse().map_err(|error: ToolsetError| CliError {
            exit: Exit::Usage,
            code: "config/bad-value".to_owned(),
            message: format!("mcp.tools is {:?}: {error}", config.mcp.tools),
            hint: Some("correct it with `yore config set mcp.tools core`".to_owned()),
        })
    }
}

impl FromStr for Toolset {
    type Err = ToolsetError;

    fn from_str(words: &str) -> Result<Self, Self::Err> {
        match words.trim() {
            CORE => return Ok(Self::Core),
            NAMES => return Ok(Self::Names),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let mut chosen: Vec<String> = Vec::new();
        for name in words.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known: Vec<&'static str> = every_name().collect();
            if ![CORE, NAMES].contains(&name) && !known.contains(&name) {
                return Err(ToolsetError::Unknown { name: name.to_owned(), known });
            }
            if !chosen.iter().any(|before| before == name) {
                chosen.push(name.to_owned());
            }
        }
        if chosen.is_empty() { Err(ToolsetError::Empty) } else { Ok(Self::Chosen(chosen)) }
    }
}

impl fmt::Display for Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str(CORE),
            Self::Names => f.write_str(NAMES),
            Self::All => f.write_str("all"),
            Self::Chosen(chosen) => f.write_str(&chosen.join(",")),
        }
    }
}
