//! A row of the installer's table: how an agent is detected, and the edits that it needs.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::{FileEdit, Wanted};

/// How an agent is detected on a computer, and the content wanted in its files.
pub struct Agent {
    /// Name on the command line.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Name for people.
    pub title: &'static str,
    /// Returns the paths of which at least one exists if the agent is installed.
    pub traces: fn(&Machine<'_>) -> Vec<PathBuf>,
    /// Returns the edits of its files.
    pub edits: fn(&Wanted<'_>) -> Vec<FileEdit>,
    /// Returns advice: steps that the user must still take, or should know.
    pub advice: fn(&Wanted<'_>) -> Vec<&'static str>,
    /// Returns the reason if nothing needs to be done.
    pub needless: fn(&Machine<'_>) -> Option<String>,
    /// Returns the hooks in one of its files that its present settings keep it from running.
    pub idle_hooks: fn(&Machine<'_>, &Path) -> Vec<IdleHook>,
}

/// A hook that is in an agent's file and that the agent does not run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IdleHook {
    /// Name of the event.
    pub event: String,
    /// The reason, as the rest of "Codex does not run Stop: ".
    pub why: &'static str,
    /// The step that makes the agent run it, for the user.
    pub remedy: &'static str,
}

impl Agent {
    /// Returns whether the agent is installed on this computer.
    pub fn is_here(&self, machine: &Machine<'_>) -> bool {
        (self.traces)(machine).iter().any(|trace| trace.exists())
    }
}
