//! Environment variables, passed in as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

/// Environment variables by name.
///
/// Collect it from `std::env::vars_os()`. It keeps all variables, because `{env:NAME}` may refer to any of
/// them, and because a misspelt `YORE_SECTION__KEY` can then be reported.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// Returns the value of a variable. On Windows the case of the name does not matter.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(&fold(name)).map(OsString::as_os_str)
    }

    /// Returns the environment without the variables that set keys of the configuration.
    #[must_use]
    pub fn without_settings(&self) -> Self {
        let keys: Vec<&str> = self.keys().map(|(name, _)| name).collect();
        let others = self.0.iter().filter(|(name, _)| !keys.contains(&name.as_str()));
        Self(others.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Returns the variables that look like keys of the configuration: `YORE_SECTION__KEY`.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.0
            .iter()
            .filter(|(name, _)| name.strip_prefix("YORE_").is_some_and(|rest| rest.contains("__")))
            .map(|(name, value)| (name.as_str(), value.as_os_str()))
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        let named = variables.into_iter().filter_map(|(name, value)| {
            // A name that is not Unicode cannot be looked up.
            let name = name.into().into_string().ok()?;
            Some((fold(&name), value.into()))
        });
        Self(named.collect())
    }
}

/// Shows names only: the values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

fn fold(name: &str) -> String {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name.to_owned() }
}
