//! A memory: one statement that matters, typed, evidenced and dated.
//!
//! - [`Memory`]: the record; `kind`: kinds of statements, `fields`: what a kind has besides the statement
//! - [`check`]: what makes a record valid
//!
//! A memory is derived: its evidence is turns, which hold the words. Every change of it is an operation
//! ([`crate::operation`]).

mod fields;
mod kind;
mod record;

pub use self::fields::{CodeChange, Fields};
pub use self::kind::{Design, MemoryKind, MemoryType, Outdated};
pub use self::record::{
    Anchor, AnchorKind, AnchorVerdict, Confidence, Evidence, FORGOTTEN, Invalid, Lane, MAX_STATEMENT_CHARS, Memory, REPLACED,
    Source, SourceKind, Status, Use, Verdict, asserted, check,
};
