//! `[redaction]`: what is taken out before anything is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// What is taken out before anything is written.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// Replaces secrets by markers before the first write. Off keeps them, readable, in the
    /// archive.
    pub enabled: bool,
    /// Regular expressions, each of at most 500 characters, for secrets of your own; what they
    /// match is replaced too.
    pub extra_patterns: Vec<String>,
}

impl Default for Redaction {
    fn default() -> Self {
        Self { enabled: true, extra_patterns: Vec::new() }
    }
}

/// The keys of `[redaction]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("redaction.enabled", Shape::Switch, ProjectMay::Turn(true)),
    Key::new("redaction.extra_patterns", Shape::List { longest: 500 }, ProjectMay::Add),
];
