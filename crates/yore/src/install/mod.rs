//! Puts yore into the agents' own settings, and takes it out again. Nothing is touched unless the
//! person names the agent.
//!
//! - [`Machine`]: the computer, as values
//! - `agents`: one table of all agents: how each is known, and what is wanted in which file
//! - [`Scope`], [`Part`], [`Purpose`]; [`Wanted`], [`FileEdit`]: what is asked for, and what that means for one file
//! - `what`: things of yore's in a file, as the agent reads them
//! - `edit`: the changes, as functions of text
//! - [`installed`]: what stands in the agents' files now
//! - [`missing()`]: what was entered and stands there no longer
//! - `file`: reads and replaces one file
//! - `record`: what was changed, with the bytes as they were
//! - [`Installer`]: does it, file by file
//! - `command`: how agents call yore
//!
//! A file is replaced only after its new text was read again and found to differ in yore's entries
//! alone; the old bytes are kept in the data directory. Taking yore out puts these bytes back where
//! nobody changed the file since, and undoes the change alone where somebody did. Without the record
//! it goes by what the entries run.

pub mod agents;
pub mod command;
pub mod edit;
mod file;
pub mod found;
mod installer;
mod machine;
mod missing;
mod part;
mod record;
mod sealed;
#[cfg(test)]
mod tests;
mod wanted;
pub mod what;

pub use self::agents::{AGENTS, Agent};
pub use self::command::Program;
pub use self::found::{installed, is_as_written};
pub use self::installer::{Done, Installer, Outcome};
pub use self::machine::Machine;
pub use self::missing::{Lack, Missing, missing};
pub use self::part::{Part, Purpose, Scope};
pub use self::wanted::{FileEdit, Wanted};
