//! `[archive]`: compression of the archive. Everything else is rebuilt from the archive, so there is no key that turns it off.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// How conversations are kept.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Archive {
    /// Compression level of conversations: a higher number is smaller and slower. It applies to what is
    /// written from now on.
    pub compression_level: i32,
}

impl Default for Archive {
    fn default() -> Self {
        Self { compression_level: 9 }
    }
}

/// The keys of `[archive]`.
pub(super) const KEYS: &[Key] = &[Key::new("archive.compression_level", Shape::Count { min: 1, max: 19 }, ProjectMay::Nothing)];
