//! Memories as files that people and other programs read and write.
//!
//! - [`page`]: a memory, a note or an entity as Markdown with front matter, both ways
//! - [`rules`]: `CLAUDE.md`, `AGENTS.md`, rules of editors, the memory files of agents
//! - [`server`]: the file of the MCP reference memory server
//! - [`basic`]: notes of basic-memory
//! - [`front`]: front matter
//! - [`Format`], [`files_below`], [`Found`] (`detect`): which of them a file is, and the files of a folder
//! - [`Home`] (`common`): the project of a file

pub mod basic;
mod common;
mod detect;
#[cfg(test)]
pub mod fields_test;
pub mod front;
pub mod page;
pub mod rules;
pub mod server;

pub use self::common::Home;
pub use self::detect::{Format, Found, files_below, join};
