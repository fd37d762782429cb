//! Memories: a memory is one statement with its kind, evidence, validity and status.
//!
//! - [`Memory`]: the record; `kind`: kinds of statements, `fields`: what a kind has besides the statement
//! - `lifecycle`: events, and the status that each leads to; `status`: the statuses, and their causes
//! - [`Memory::absorb`] (`absorb`): what a repeated statement changes
//! - [`citation`]: whether an agent repeated a memory that it was given
//! - [`dynamics`]: strength, retention and tier, and the weight of a memory among others in an answer
//! - [`check`]: what makes a record valid
//! - [`is_of_rules`] (`rules`): whether a file is one that agents read by themselves
//!
//! A memory is derived: its evidence is turns, which hold the words. Every change of it is an operation
//! ([`crate::operation`]).

mod absorb;
pub mod citation;
pub mod dynamics;
mod fields;
mod kind;
mod lifecycle;
mod record;
mod rules;
mod status;

pub use self::absorb::{Absorbed, Arrival, REPEATED};
pub use self::fields::{CodeChange, FIELD_NAMES, Fields};
pub use self::kind::{MemoryKind, MemoryType, Outdated};
pub use self::lifecycle::{Event, PutAway, Replacement, is_clear_denial, keeps_contested};
pub use self::record::{
    Anchor, AnchorKind, AnchorVerdict, Confidence, Evidence, Invalid, Lane, MAX_STATEMENT_CHARS, Memory, Reach, Source,
    SourceKind, Use, Verdict, asserted, check,
};
pub use self::rules::{RULE_FILES, RULE_FOLDERS, is_of_rules};
pub use self::status::{Status, StatusCause};
