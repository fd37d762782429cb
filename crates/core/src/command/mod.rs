//! Shell commands of agents: their simple commands, their normal form, why they failed, and whether that will happen again.
//!
//! - [`Step`], [`steps`]: the simple commands of a command line, with wrappers such as `timeout` taken off
//! - [`keys`], [`run_key`]: the names under which a failure of a simple command is known again
//! - [`Cause`], [`cause`]: why a command failed, as its output tells
//! - [`Attempt`]: a command that was run, with what became of it
//! - [`Record`], [`chance`]: the chance that a command that failed before fails again
//! - [`Ban`], [`bans`]: the commands that a person's rule forbids

mod attempt;
mod cause;
mod chance;
mod rule;
mod split;

pub use self::attempt::{Attempt, Failed};
pub use self::cause::{Cause, CauseKind, cause, is_acting, keys, named, normal, run_key, subject};
pub use self::chance::{LEAST_CHANCE, Record, chance};
pub use self::rule::{Ban, bans};
pub use self::split::{Link, Step, Word, steps};
