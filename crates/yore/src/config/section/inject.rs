//! `[inject]`: text that agents get unasked: its budgets, and the least confidence (`floor`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Memories that agents get without asking.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inject {
    /// Gives agents memories through their hooks. Without it hooks only capture.
    pub enabled: bool,
    /// Maximum tokens of the brief at the beginning of a session; 0: no brief.
    pub brief_tokens: usize,
    /// Maximum tokens of memories for the first prompt; later ones, errors and files get less. 0: none.
    pub prompt_tokens: usize,
    /// Least confidence, 0 to 1, that memories concern a prompt: at 0 every prompt brings some, at 1 none
    /// does.
    pub floor: f64,
    /// Gives an agent what was said about a file when it reads or changes the file.
    pub on_edit: bool,
    /// When a tool reports an error, gives the agent earlier occurrences of it and their outcome.
    pub on_error: bool,
    /// When a command is about to run that failed before or that a rule forbids, says so in a line; the command runs all the same.
    pub on_command: bool,
    /// Share of occasions, 0 to 0.5, on which nothing is given though something could be, drawn by chance for each kind of occasion: what
    /// then happens is the measure of what memory is worth. 0: none.
    pub holdout: f64,
    /// Share of sessions, 0 to 0.5, to which hooks give nothing, drawn by chance: `yore account` compares them with the others. 0: none.
    pub holdout_sessions: f64,
}

impl Default for Inject {
    fn default() -> Self {
        Self {
            enabled: true,
            brief_tokens: 350,
            prompt_tokens: 250,
            floor: 0.7,
            on_edit: true,
            on_error: true,
            on_command: true,
            holdout: 0.0,
            holdout_sessions: 0.0,
        }
    }
}

/// The keys of `[inject]`. A project's file may reduce what is injected, never add to it.
pub(super) const KEYS: &[Key] = &[
    Key::new("inject.enabled", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.brief_tokens", Shape::Count { min: 0, max: 2_000 }, ProjectMay::Nothing),
    Key::new("inject.prompt_tokens", Shape::Count { min: 0, max: 2_000 }, ProjectMay::Nothing),
    Key::new("inject.floor", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("inject.on_edit", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.on_error", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.on_command", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.holdout", Shape::Number { min: 0.0, max: 0.5 }, ProjectMay::Nothing),
    Key::new("inject.holdout_sessions", Shape::Number { min: 0.0, max: 0.5 }, ProjectMay::Nothing),
];
