//! `[inject]`: what agents are given unasked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// What agents are given unasked.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inject {
    /// Gives agents memories through their hooks. Without it hooks only capture.
    pub enabled: bool,
    /// Tokens of the brief with which a session begins; 0: none.
    pub brief_tokens: usize,
    /// Tokens that a prompt, an error or a file may bring; 0: none.
    pub prompt_tokens: usize,
    /// How sure it must be that memories concern a prompt, 0 to 1: at 0 every prompt brings some, at
    /// 1 none does.
    pub floor: f64,
    /// Tells what was said about a file when an agent reads or changes it.
    pub on_edit: bool,
    /// Tells where an error was met before, and what came of it, when a tool reports it.
    pub on_error: bool,
}

impl Default for Inject {
    fn default() -> Self {
        Self { enabled: true, brief_tokens: 600, prompt_tokens: 800, floor: 0.7, on_edit: true, on_error: true }
    }
}

/// The keys of `[inject]`. A project's file may make it less, never more.
pub(super) const KEYS: &[Key] = &[
    Key::new("inject.enabled", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.brief_tokens", Shape::Count { min: 0, max: 2_000 }, ProjectMay::Nothing),
    Key::new("inject.prompt_tokens", Shape::Count { min: 0, max: 2_000 }, ProjectMay::Nothing),
    Key::new("inject.floor", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("inject.on_edit", Shape::Switch, ProjectMay::Turn(false)),
    Key::new("inject.on_error", Shape::Switch, ProjectMay::Turn(false)),
];
