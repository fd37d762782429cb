//! The request of an installation, and the edit that it means for one file.

use std::path::PathBuf;

use super::command::Program;
use super::edit::Content;
use super::machine::Machine;
use super::part::{Purpose, Scope};

/// A request to install or uninstall.
pub struct Wanted<'w> {
    /// The computer.
    pub machine: &'w Machine<'w>,
    /// The yore program, as agents will call it.
    pub program: &'w Program,
    /// User or project.
    pub scope: Scope,
    /// Install or uninstall.
    pub purpose: Purpose,
}

/// The content that yore wants in one file.
#[derive(Clone, Debug)]
pub struct FileEdit {
    /// Path of the file.
    pub path: PathBuf,
    /// Content to put in or take out.
    pub content: Content,
    /// True if the file's name is yore's own, so that it is deleted when nothing else is in it.
    pub is_own: bool,
}
