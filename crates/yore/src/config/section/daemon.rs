//! `[daemon]`: whether the background process starts, and how long it gathers changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The background process, which reads what agents write while they write it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Daemon {
    /// Lets a running daemon answer for every other command. Off means that each command does its own work.
    #[serde(rename = "use")]
    pub is_used: bool,
    /// Starts the daemon when a command would use it and none runs.
    pub autostart: bool,
    /// Seconds for which a write may wait for further ones, so that all are read together.
    pub batch_seconds: u32,
    /// Minutes after which a place that reports no changes, such as a network file system, is read again.
    pub poll_minutes: u32,
    /// Minutes without a question after which the local model's memory is released.
    pub model_idle_minutes: u32,
    /// Minutes without work after which the daemon ends. 0 means never.
    pub idle_exit_minutes: u32,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { is_used: true, autostart: true, batch_seconds: 5, poll_minutes: 30, model_idle_minutes: 10, idle_exit_minutes: 0 }
    }
}

/// The keys of `[daemon]`. The daemon works for all projects, so no project may set them.
pub(super) const KEYS: &[Key] = &[
    Key::new("daemon.use", Shape::Switch, ProjectMay::Nothing),
    Key::new("daemon.autostart", Shape::Switch, ProjectMay::Nothing),
    Key::new("daemon.batch_seconds", Shape::Count { min: 0, max: 5 }, ProjectMay::Nothing),
    Key::new("daemon.poll_minutes", Shape::Count { min: 1, max: 1440 }, ProjectMay::Nothing),
    Key::new("daemon.model_idle_minutes", Shape::Count { min: 1, max: 1440 }, ProjectMay::Nothing),
    Key::new("daemon.idle_exit_minutes", Shape::Count { min: 0, max: 10_080 }, ProjectMay::Nothing),
];
