//! `[sources.*]`: where conversations are read from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Where conversations are read from.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sources {
    /// Claude Code's own transcripts.
    #[serde(rename = "claude-code")]
    pub claude_code: ClaudeCode,
    /// Conversations in JSON Lines, as other programs export them.
    pub jsonl: Jsonl,
}

/// Claude Code's own transcripts.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaudeCode {
    /// Reads Claude Code's transcripts.
    pub enabled: bool,
    /// The directories that hold Claude Code's transcripts. Empty means where Claude Code puts
    /// them on this computer.
    pub roots: Vec<PathBuf>,
}

/// Conversations in JSON Lines, as other programs export them.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Jsonl {
    /// Reads conversations in JSON Lines.
    pub enabled: bool,
}

impl Default for ClaudeCode {
    fn default() -> Self {
        Self { enabled: true, roots: Vec::new() }
    }
}

impl Default for Jsonl {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// The keys of `[sources.claude-code]` and `[sources.jsonl]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("sources.claude-code.enabled", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("sources.claude-code.roots", Shape::List { longest: 4096 }, ProjectMay::Nothing),
    Key::new("sources.jsonl.enabled", Shape::Switch, ProjectMay::Turn(false)),
];
