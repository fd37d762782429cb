//! `[extract]`: memories that are extracted from conversations unasked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::memory::MemoryKind;

use crate::config::key::{Key, ProjectMay, Shape};

/// Memories that are found in conversations.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extract {
    /// Lets the background process find memories in what was said, by rules. `yore learn` does it at any time.
    pub enabled: bool,
    /// Kinds of memories that are not recorded, such as "todo" or "event". Other words are ignored.
    pub skip_kinds: Vec<String>,
    /// Seconds from the first new message until conversations are read for memories.
    pub after_seconds: u32,
}

impl Default for Extract {
    fn default() -> Self {
        Self { enabled: true, skip_kinds: Vec::new(), after_seconds: 60 }
    }
}

impl Extract {
    /// Returns the kinds that are recorded; empty: all.
    pub fn kinds(&self) -> Vec<MemoryKind> {
        let skipped: Vec<MemoryKind> = self.skip_kinds.iter().filter_map(|name| MemoryKind::parse(name)).collect();
        if skipped.is_empty() {
            return Vec::new();
        }
        MemoryKind::ALL.iter().copied().filter(|kind| !skipped.contains(kind)).collect()
    }
}

/// The keys of `[extract]`. A cloned repository must not decide what is remembered of other projects.
pub(super) const KEYS: &[Key] = &[
    Key::new("extract.enabled", Shape::Switch, ProjectMay::Nothing),
    Key::new("extract.skip_kinds", Shape::List { longest: 40 }, ProjectMay::Nothing),
    Key::new("extract.after_seconds", Shape::Count { min: 0, max: 3_600 }, ProjectMay::Nothing),
];
