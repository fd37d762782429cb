//! `[forget]`: whether tombstones of forgotten items are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The marks that remain after forgetting.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Forget {
    /// Keeps a mark without content for each forgotten item, so that it is not read again from a source that
    /// still has it.
    pub keep_tombstones: bool,
}

impl Default for Forget {
    fn default() -> Self {
        Self { keep_tombstones: true }
    }
}

/// The keys of `[forget]`.
pub(super) const KEYS: &[Key] = &[Key::new("forget.keep_tombstones", Shape::Switch, ProjectMay::Nothing)];
