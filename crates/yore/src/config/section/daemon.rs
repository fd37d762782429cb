//! `[daemon]`: the process in the background.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The process in the background, which reads what agents write while they write it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Daemon {
    /// Lets a running daemon answer for every other command. Off means that each command does
    /// its own work.
    #[serde(rename = "use")]
    pub is_used: bool,
    /// Starts the daemon when a command would use it and none runs.
    pub autostart: bool,
    /// How many seconds what is written may wait for more, so that it is read at once.
    pub batch_seconds: u32,
    /// After how many minutes a place is looked at again that tells of no changes, such as a
    /// network file system.
    pub poll_minutes: u32,
    /// After how many minutes without a question the local model's memory is given back.
    pub model_idle_minutes: u32,
    /// After how many minutes without anything to do the daemon ends. 0 means never.
    pub idle_exit_minutes: u32,
}

impl Default for Daemon {
    fn default() -> Self {
        Self { is_used: true, autostart: true, batch_seconds: 5, poll_minutes: 30, model_idle_minutes: 10, idle_exit_minutes: 0 }
    }
}

/// The keys of `[daemon]`. It works for all projects, so none may say how.
pub(super) const KEYS: &[Key] = &[
    Key::new("daemon.use", Shape::Switch, ProjectMay::Nothing),
    Key::new("daemon.autostart", Shape::Switch, ProjectMay::Nothing),
    Key::new("daemon.batch_seconds", Shape::Count { min: 0, max: 5 }, ProjectMay::Nothing),
    Key::new("daemon.poll_minutes", Shape::Count { min: 1, max: 1440 }, ProjectMay::Nothing),
    Key::new("daemon.model_idle_minutes", Shape::Count { min: 1, max: 1440 }, ProjectMay::Nothing),
    Key::new("daemon.idle_exit_minutes", Shape::Count { min: 0, max: 10_080 }, ProjectMay::Nothing),
];
