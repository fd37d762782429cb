//! `[index]`: which text is indexed. The index serves every project, so a project's file may not change what goes into it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The text that can be found.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Index {
    /// Makes tool calls and their results findable, with a lower weight than what was said.
    pub tool_output: bool,
    /// Number of bytes of one tool result that are findable: half of them from its beginning, half from its
    /// end. Lines that report an error are always findable.
    pub tool_result_bytes: usize,
    /// Brings the full-text index up to date before each recall. Text that is not indexed yet is found either
    /// way, by a slower search in memory.
    pub sync_on_recall: bool,
}

impl Default for Index {
    fn default() -> Self {
        Self { tool_output: true, tool_result_bytes: 16 * 1024, sync_on_recall: true }
    }
}

/// The keys of `[index]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("index.tool_output", Shape::Switch, ProjectMay::Nothing),
    Key::new("index.tool_result_bytes", Shape::Count { min: 1024, max: 1024 * 1024 }, ProjectMay::Nothing),
    Key::new("index.sync_on_recall", Shape::Switch, ProjectMay::Turn(false)),
];
