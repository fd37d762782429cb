//! Builds plugins: program texts that an agent loads and that run yore's hooks. Each consists of a head common to all, with the
//! program's path filled in, and a body for the agent's own interface.

use std::path::PathBuf;

use serde_json::Value;

use super::entry::whole;
use crate::install::edit::whole::Role;
use crate::install::{FileEdit, Part, Wanted};

const HEAD: &str = include_str!("assets/plugin-head.js");
/// Body for OpenCode and its fork Kilo.
pub(super) const OPENCODE: &str = include_str!("assets/plugin-opencode.js");
/// Body for Cline's newer programs.
pub(super) const CLINE: &str = include_str!("assets/plugin-cline.js");
const PROGRAM: &str = "const YORE = ";
const MORE: &str = "const MORE = ";

/// A plugin for one agent.
pub(super) struct Plugin {
    /// The agent's name for people.
    pub title: &'static str,
    /// The agent's name for `yore install`.
    pub install: &'static str,
    /// The agent's name in calls of hooks.
    pub agent: &'static str,
    /// Program text after the head.
    pub body: &'static str,
}

impl Plugin {
    /// Returns the plugin as a file.
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
