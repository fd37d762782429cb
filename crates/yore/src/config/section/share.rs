//! `[share]`: memories that colleagues share in repositories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Memories that colleagues share in the repository of a project.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Share {
    /// Takes the memories that the repository of the project worked in shares (`.yore/memories`).
    pub read: bool,
}

impl Default for Share {
    fn default() -> Self {
        Self { read: true }
    }
}

/// The keys of `[share]`.
pub(super) const KEYS: &[Key] = &[Key::new("share.read", Shape::Switch, ProjectMay::Turn(false))];
