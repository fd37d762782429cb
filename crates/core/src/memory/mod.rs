//! A memory: one statement that matters, typed, evidenced and dated.
//!
//! - [`Memory`]: the record; `kind`: kinds of statements, `fields`: what a kind has besides the statement
//! - [`check`]: what makes a record valid
//! - [`is_of_rules`] (`rules`): whether a file is one that agents read by themselves
//!
//! A memory is derived: its evidence is turns, which hold the words. Every change of it is an operation
//! ([`crate::operation`]).

mod fields;
mod kind;
mod record;
mod rules;

pub use self::fields::{CodeChange, Fields};
pub use self::kind::{Design, MemoryKind, MemoryType, Outdated};
pub use self::record::{
    Anchor, AnchorKind, AnchorVerdict, Confidence, Evidence, FORGOTTEN, Invalid, Lane, MAX_STATEMENT_CHARS, Memory, REPLACED,
    Reach, Source, SourceKind, Status, Use, Verdict, asserted, check,
};
pub use self::rules::{RULE_FILES, RULE_FOLDERS, is_of_rules};
