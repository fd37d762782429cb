//! `[store]`: the database and the number of its backups.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The database.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// Number of daily backups that the daemon keeps in the data directory, each with its key; 0 makes none.
    /// Each takes as much space as the database.
    pub backups: u32,
    /// Copies the database before a new version of yore changes its schema.
    pub backup_before_upgrade: bool,
    /// Milliseconds for which a write waits for another process to finish its own; 0 does not wait.
    pub busy_timeout_ms: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self { backups: 2, backup_before_upgrade: true, busy_timeout_ms: 5000 }
    }
}

/// The keys of `[store]`.
pub(super) const KEYS: &[Key] = &[
    Key::new("store.backups", Shape::Count { min: 0, max: 100 }, ProjectMay::Nothing),
    Key::new("store.backup_before_upgrade", Shape::Switch, ProjectMay::Nothing),
    Key::new("store.busy_timeout_ms", Shape::Count { min: 0, max: 600_000 }, ProjectMay::Nothing),
];
