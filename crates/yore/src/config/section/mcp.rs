//! `[mcp]`: the MCP server: tools, structured results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The server for agents.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcp {
    /// The tools that agents get: "core", yore's own; "names", those of the designs that yore grew from, for
    /// prompts that were written for them; "all"; or names of tools, separated by commas.
    pub tools: String,
    /// Adds the answers as data beside the text, for programs that read them: agents pay for both.
    pub structured: bool,
}

impl Default for Mcp {
    fn default() -> Self {
        Self { tools: "core".to_owned(), structured: false }
    }
}

/// The keys of `[mcp]`. A cloned repository may not give an agent more tools.
pub(super) const KEYS: &[Key] = &[
    Key::new("mcp.tools", Shape::Text { longest: 1_000 }, ProjectMay::Nothing),
    Key::new("mcp.structured", Shape::Switch, ProjectMay::Nothing),
];
