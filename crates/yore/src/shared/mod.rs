//! Memories that a team shares, as files in its repository (`.yore/memories`) or over its server.
//!
//! - [`file`](mod@file): the content of a file: a memory or a retirement, written and read
//! - [`machine`]: what of this computer must not be in a file
//! - [`folder`]: the files of a project
//! - [`publish`]: which memories may leave this computer, and how
//! - [`authors`]: who added which file, as git or the team's server tells
//! - [`mirror`]: the copy of what a team shares over its server
//! - [`state`]: what all files together say
//! - [`stored`]: files of the data directory
//! - [`refresh`](mod@refresh): brings the memory to what they say
//!
//! Review is a pull request, and merging is a union: files are added and removed, never changed.

pub mod authors;
pub mod file;
pub mod folder;
pub mod machine;
pub mod mirror;
pub mod publish;
pub mod refresh;
pub mod state;
pub mod stored;

#[cfg(test)]
mod merging_test;
