//! Installs yore into agents' settings, and removes it. A file is touched only if the user names its agent.
//!
//! - [`Machine`]: the computer, as values
//! - [`Agent`]: how an agent is detected, and the content wanted in its files; the table of all is in `agents`
//! - [`Scope`], [`Part`], [`Purpose`]; [`Wanted`], [`FileEdit`]: the request, and the edit it means for one
//!   file
//! - `what`: yore's entries in a file, as the agent reads them
//! - `edit`: the changes, as functions of text
//! - [`installed`]: yore's entries in the agents' files as they are now
//! - [`missing()`]: entries that were installed and are gone
//! - `file`: reads and replaces one file
//! - `record`: the changed files, with their original bytes
//! - [`Installer`]: installs and uninstalls, file by file
//! - `command`: how agents call yore
//!
//! A file is replaced only after its new text was parsed and found to differ in yore's entries alone; the old
//! bytes are kept in the data directory. Uninstalling restores these bytes if nothing changed the file since,
//! and otherwise removes only yore's entries. Without the record, it recognizes the entries by the program
//! that they run.

mod agent;
pub mod command;
pub mod edit;
pub mod file;
pub mod found;
mod installer;
pub mod machine;
mod missing;
mod part;
mod record;
mod sealed;
#[cfg(test)]
mod tests;
mod wanted;
pub mod what;

pub use self::agent::{Agent, IdleHook};
pub use self::command::Program;
pub use self::found::{installed, is_as_written};
pub use self::installer::{Done, Installer, Outcome};
pub use self::machine::Machine;
pub use self::missing::{Lack, Missing, missing};
pub use self::part::{Part, Purpose, Scope};
pub use self::wanted::{FileEdit, Wanted};
