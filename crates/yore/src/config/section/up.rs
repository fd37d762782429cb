//! `[up]`: the order in which `yore up` reads, and its output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The order in which `yore up` reads, and its output.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Up {
    /// Answers one question from your own conversations and shows the source of the answer.
    pub ask_question: bool,
    /// Shows an example if there are no conversations yet.
    pub example_when_empty: bool,
    /// Mebibytes of the newest conversations that can be searched before the rest is read, if there are more; 0: everything at once.
    pub newest_mib: u64,
}

impl Default for Up {
    fn default() -> Self {
        Self { ask_question: true, example_when_empty: true, newest_mib: 40 }
    }
}

/// The keys of `[up]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("up.ask_question", Shape::Switch, ProjectMay::Set),
    Key::new("up.example_when_empty", Shape::Switch, ProjectMay::Set),
    Key::new("up.newest_mib", Shape::Count { min: 0, max: 100_000 }, ProjectMay::Nothing),
];
