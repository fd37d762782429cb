//! The port of statements: memories, entities, relations, their operations, and what is derived from sessions.

pub(super) mod assertions;
pub(super) mod attempts;
pub(super) mod counts;
pub(super) mod entities;
pub(super) mod extraction;
pub(super) mod found_memories;
pub(super) mod judged;
pub(super) mod memories;
pub(super) mod operations;
pub(super) mod redact;
pub(super) mod revisions;
pub(super) mod spans;
pub(super) mod special_cases;
pub(super) mod summaries;
pub(super) mod vitals;
pub(super) mod witnesses;
