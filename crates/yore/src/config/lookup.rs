//! Looks up configuration keys by name, variable or former name.

use super::key::{Key, variable_of};
use super::section::TABLE;

impl Key {
    /// Returns every key, in the order of display.
    pub fn all() -> impl Iterator<Item = &'static Key> {
        TABLE.iter().copied().flatten()
    }

    /// Returns the key with this name or former name.
    pub fn find(name: &str) -> Option<&'static Key> {
        Self::all().find(|key| key.name == name || key.former_name().is_some_and(|former| former == name))
    }

    /// Returns the key that this environment variable sets, under its name or its former name.
    pub fn of_variable(variable: &str) -> Option<&'static Key> {
        let is_former = |key: &Key| key.former_name().is_some_and(|former| variable_of(&former) == variable);
        Self::all().find(|key| key.variable() == variable || is_former(key))
    }

    /// Returns the name that the key had before it or its section was renamed.
    pub fn former_name(&self) -> Option<String> {
        if let Some((former, _)) = RENAMED_KEYS.iter().find(|(_, now)| *now == self.name) {
            return Some((*former).to_owned());
        }
        let (section, last) = self.split();
        RENAMED.iter().find(|(_, now)| *now == section).map(|(former, _)| format!("{former}.{last}"))
    }
}

/// Renamed sections: the former name, which still works, and the present name.
const RENAMED: [(&str, &str); 1] = [("give", "inject")];

/// Renamed keys: the former name, which still works, and the present name.
const RENAMED_KEYS: [(&str, &str); 2] = [("mcp.http", "http.enabled"), ("mcp.http_port", "http.port")];

/// Keys that were removed; a file that sets one is still read.
const REMOVED: [&str; 1] = ["llm.stream"];

/// Returns whether a name, or the name of a variable, is that of a key that was removed.
pub(super) fn is_removed(name: &str) -> bool {
    REMOVED.iter().any(|removed| name == *removed || name == variable_of(removed))
}

/// Returns whether a dotted path names a section or the beginning of a section's name, former names included.
pub(super) fn is_section(path: &str) -> bool {
    is_present_section(path) || RENAMED.iter().any(|(former, _)| *former == path)
}

/// Like `is_section`, without former names.
pub(super) fn is_present_section(path: &str) -> bool {
    Key::all().any(|key| key.name.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}
