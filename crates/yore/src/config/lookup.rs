//! Keys by name.

use super::key::Key;
use super::section::TABLE;

impl Key {
    /// Returns every key, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = &'static Key> {
        TABLE.iter().copied().flatten()
    }

    /// Returns the key of this name.
    pub fn find(name: &str) -> Option<&'static Key> {
        Self::all().find(|key| key.name == name)
    }
}

/// Tells whether a dotted path names a section or a part of one's name.
pub(super) fn is_section(path: &str) -> bool {
    Key::all().any(|key| key.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}
