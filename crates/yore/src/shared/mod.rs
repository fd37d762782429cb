//! Memories that a team shares as files in its repository (`.yore/memories`).
//!
//! - [`file`](mod@file): the content of a file: a memory or a retirement, written and read
//! - [`machine`]: what of this computer must not be in a file
//! - [`folder`]: the files of a project
//! - [`authors`]: who added which file, as git tells
//! - [`state`]: what all files together say
//! - [`refresh`](mod@refresh): brings the memory to what they say
//!
//! Review is a pull request, and merging is a union: files are added and removed, never changed.

pub mod authors;
pub mod file;
pub mod folder;
pub mod machine;
pub mod refresh;
pub mod state;

#[cfg(test)]
mod merging_test;
