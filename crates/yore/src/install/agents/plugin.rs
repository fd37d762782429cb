//! Plugins: program texts that an agent loads and that run yore's hooks. Each is a head that all share,
//! with the program's name filled in, and what the agent's own interface needs.

use std::path::PathBuf;

use serde_json::Value;

use super::whole;
use crate::install::edit::whole::Role;
use crate::install::{FileEdit, Part, Wanted};

const HEAD: &str = include_str!("../assets/plugin-head.js");
/// For OpenCode and Kilo, which came from it.
pub(super) const OPENCODE: &str = include_str!("../assets/plugin-opencode.js");
/// For Cline's newer programs.
pub(super) const CLINE: &str = include_str!("../assets/plugin-cline.js");
const PROGRAM: &str = "const YORE = ";
const MORE: &str = "const MORE = ";

/// Whose plugin it is.
pub(super) struct Plugin {
    /// The agent's name among people.
    pub title: &'static str,
    /// As `yore install` takes it.
    pub install: &'static str,
    /// As hooks call it.
    pub agent: &'static str,
    /// What follows the head.
    pub body: &'static str,
}

impl Plugin {
    /// The plugin as a file.
    pub(super) fn file(&self, path: PathBuf, wanted: &Wanted<'_>) -> FileEdit {
        whole(path, Part::Hooks, self.text(wanted), Role::Plugin(PROGRAM, MORE))
    }

    fn text(&self, wanted: &Wanted<'_>) -> String {
        let more: Vec<String> = wanted.program.mcp().split_off(1);
        let head = HEAD
            .replace("@TITLE@", self.title)
            .replace("@INSTALL@", self.install)
            .replace("\"@AGENT@\"", &Value::from(self.agent).to_string())
            .replace("\"@YORE@\"", &Value::from(wanted.program.path.clone()).to_string())
            .replace("const MORE = []", &format!("{MORE}{}", Value::from(more)));
        format!("{head}{}", self.body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_has_the_places_that_are_filled_in() {
        for place in ["\"@AGENT@\"", "\"@YORE@\"", "const MORE = []", "@TITLE@"] {
            assert_eq!(HEAD.matches(place).count(), 1, "{place}");
        }
        assert!(HEAD.contains("ritten by `yore install"));
    }
}
