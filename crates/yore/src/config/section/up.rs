//! `[up]`: the output of `yore up`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The output at the end of `yore up`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Up {
    /// Answers one question from your own conversations and shows the source of the answer.
    pub ask_question: bool,
    /// Shows an example if there are no conversations yet.
    pub example_when_empty: bool,
}

impl Default for Up {
    fn default() -> Self {
        Self { ask_question: true, example_when_empty: true }
    }
}

/// The keys of `[up]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("up.ask_question", Shape::Switch, ProjectMay::Set),
    Key::new("up.example_when_empty", Shape::Switch, ProjectMay::Set),
];
