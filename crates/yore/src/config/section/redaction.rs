//! `[redaction]`: what is taken out before anything is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// What is taken out before anything is written. Secrets that yore knows by their form are always
/// replaced by markers; there is no key that turns this off.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// Regular expressions, each of at most 500 characters, for secrets of your own. What they
    /// match in a string or in the name of a field is replaced too, in what is read from now on.
    /// None may match the empty string.
    pub extra_patterns: Vec<String>,
}

/// The keys of `[redaction]`. Patterns hold for every project, so a cloned repository could blank
/// out all of them.
pub(super) const KEYS: &[Key] = &[Key::new("redaction.extra_patterns", Shape::Patterns { longest: 500 }, ProjectMay::Nothing)];
