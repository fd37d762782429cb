//! Keys by name.

use toml::Value;

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

/// Returns the value of a key, as a file gives it, if it fits.
pub fn fitting(name: &str, value: Value) -> Option<Value> {
    Key::find(name)?.shape.fit(value).ok()
}

/// Returns the value of a key, as flags and the environment give it, if it fits.
pub fn fitting_text(name: &str, text: &str) -> Option<Value> {
    Key::find(name)?.shape.read(text).ok()
}

/// Tells whether a dotted path names a section or a part of one's name.
pub(super) fn is_section(path: &str) -> bool {
    Key::all().any(|key| key.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}
