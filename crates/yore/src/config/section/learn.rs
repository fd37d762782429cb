//! `[learn]`: consent to a language model that reads sessions in the background.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::output::{WHEN, When};
use crate::config::key::{Key, ProjectMay, Shape};

/// Learning by a language model, which `yore learn` sets up.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Learn {
    /// Lets the background process have the model of `llm.provider` read sessions, and at night compare memories and summarise their
    /// categories, within the limits of a day.
    pub auto: bool,
    /// Asks the agent itself, once a session and as its turn ends, to record what it learned, with the MCP tool `distil`.
    pub in_session: bool,
    /// Prompts of a session after which the agent is asked.
    pub in_session_prompts: u32,
    /// Minutes since its last message after which a session is read.
    pub quiet_minutes: u32,
    /// Whether the background process sends its requests as batches, which cost half and are answered within a day: "auto" does where the
    /// server is the provider's own and takes them (anthropic, openai, gemini).
    pub batches: When,
}

impl Default for Learn {
    fn default() -> Self {
        Self { auto: false, in_session: false, in_session_prompts: 3, quiet_minutes: 15, batches: When::Auto }
    }
}

/// The keys of `[learn]`. A cloned repository must not consent in the place of the person.
pub(super) const KEYS: &[Key] = &[
    Key::new("learn.auto", Shape::Switch, ProjectMay::Nothing),
    Key::new("learn.in_session", Shape::Switch, ProjectMay::Nothing),
    Key::new("learn.in_session_prompts", Shape::Count { min: 1, max: 1_000 }, ProjectMay::Nothing),
    Key::new("learn.quiet_minutes", Shape::Count { min: 0, max: 1_440 }, ProjectMay::Nothing),
    Key::new("learn.batches", WHEN, ProjectMay::Nothing),
];
