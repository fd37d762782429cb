//! `[output]`: colours and progress on a terminal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// Output on a terminal.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    /// When colours are used; "auto" is on a terminal only.
    pub color: When,
    /// When progress is shown during long work; "auto" is on a terminal only.
    pub progress: When,
}

/// When something is done.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Never.
    Never,
    /// Where it fits: see the key.
    Auto,
    /// Always.
    Always,
}

impl Default for Output {
    fn default() -> Self {
        Self { color: When::Auto, progress: When::Auto }
    }
}

/// The words of [`When`].
pub(super) const WHEN: Shape = Shape::Choice(&["never", "auto", "always"]);

/// The keys of `[output]`. They depend on the person, not on the project.
pub(super) const KEYS: &[Key] =
    &[Key::new("output.color", WHEN, ProjectMay::Nothing), Key::new("output.progress", WHEN, ProjectMay::Nothing)];
