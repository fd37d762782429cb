//! Reads the histories, documents and repositories of other programs, and removes secrets from what was read.
//!
//! Nothing here writes a file, a database or an index; what the engine stores has passed [`redact`].
//!
//! A module uses modules of lower levels only; `ARCHITECTURE.md` has the list, "Levels of the sources".

pub mod child;
pub mod disk;
pub mod document;
pub mod foreign;
pub mod git;
pub mod lines;
pub mod parse;
pub mod peek;
pub mod project_names;
pub mod redact;
pub mod source;
pub mod stamp;
