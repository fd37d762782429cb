//! Types and formulas of a memory, without files, database, clock or randomness.
//!
//! Pure: no files, database, network, clock, randomness or async. `now` and ids are arguments.
//! In reading order:
//!
//! - `named`: enums with stored names
//! - nouns: [`id`], [`time`], [`schedule`], [`scope`], [`episode`], [`event`], [`exchange`], [`note`], [`query`], [`level`]; [`memory`], [`entity`],
//!   [`relation`], and [`operation`], by which they change; [`handoff`] (what one session hands to another, or to itself),
//!   [`category`] (what is known of a subject, and its summary), [`insight`] (what happens again and again)
//! - numbers: [`text`] (tokens, word pieces, chunks), [`rank`] (one order from several lists),
//!   [`pack`] (the passages of an answer), [`metrics`] (how good is a ranking), [`relevance`] (whether a memory
//!   is worth telling unasked), [`context`] (whether a context bears on a question), [`files`] (files that mattered), [`graph`] (random
//!   walks), [`strength`] (how strong the evidence is), [`span`] (where a conversation changes its topic), [`conflict`] (whether two
//!   statements can both hold), [`vector`] (inner products), [`account`] (what memory is worth)

#![forbid(unsafe_code)]

#[macro_use]
mod named;

pub mod account;
pub mod category;
pub mod command;
pub mod conflict;
pub mod consolidation;
pub mod context;
pub mod division;
pub mod entity;
pub mod episode;
pub mod event;
pub mod exchange;
pub mod files;
pub mod graph;
pub mod handoff;
pub mod id;
pub mod insight;
pub mod level;
pub mod memory;
pub mod metrics;
pub mod note;
pub mod operation;
pub mod pack;
pub mod query;
pub mod rank;
pub mod relation;
pub mod relevance;
pub mod schedule;
pub mod scope;
pub mod span;
pub mod strength;
pub mod text;
pub mod time;
pub mod vector;
