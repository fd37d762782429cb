//! What is asked for, and what that means for one file.

use std::path::PathBuf;

use super::command::Program;
use super::edit::Content;
use super::machine::Machine;
use super::part::{Purpose, Scope};

/// What is asked for.
pub struct Wanted<'w> {
    /// Where.
    pub machine: &'w Machine<'w>,
    /// This program as agents shall call it.
    pub program: &'w Program,
    /// For whom.
    pub scope: Scope,
    /// Which way.
    pub purpose: Purpose,
}

/// What is wanted in one file.
#[derive(Clone, Debug)]
pub struct FileEdit {
    /// The file.
    pub path: PathBuf,
    /// What is wanted in it.
    pub content: Content,
    /// Whether its name says that it is yore's: it goes when nothing else is in it.
    pub is_own: bool,
}
