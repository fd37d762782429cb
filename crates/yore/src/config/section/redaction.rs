//! `[redaction]`: additional patterns of secrets that are removed before anything is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// The text that is removed before anything is written. Secrets in a form that yore recognises are always
/// replaced by markers; there is no key that turns this off.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// Regular expressions, each of at most 500 characters, for secrets of your own. Matches in a string or
    /// in the name of a field are replaced too, in what is read from now on. No pattern may match the empty
    /// string.
    pub extra_patterns: Vec<String>,
}

/// The keys of `[redaction]`. Patterns apply to every project, so a cloned repository could blank out all of
/// them.
pub(super) const KEYS: &[Key] = &[Key::new("redaction.extra_patterns", Shape::Patterns { longest: 500 }, ProjectMay::Nothing)];
