//! Results as data: everything that `--json`, MCP's tools and an API return. The field names here are an interface: new names are
//! added, existing ones are not changed.
//!
//! - [`Recalled`], [`Hit`]: an answer of recall
//! - [`Spoken`]: an answer in sentences
//! - [`Shown`], [`Exchanges`]: a session; [`Opened`]: a page of one, for agents
//! - [`Session`], [`ListedSession`], [`OpenedSession`], [`SessionTopics`], [`Note`], [`Project`]: items of lists; [`SessionPage`], [`NotePage`]: pages of them
//! - [`Ingestion`], [`Begun`], [`Conversation`]: what was read
//! - [`Statistics`], [`SourceState`], [`MemoryState`], [`Repaired`] and others of `store`: the stored memory
//! - [`MemoryRecord`], [`EntityRecord`], [`OperationRecord`], [`Changed`]: memories and their changes
//! - [`Consolidation`], [`ConsolidationDone`]: how new memories met those that were known
//! - [`Remembered`], [`Forgotten`], [`Brief`], [`SessionCost`]: what was done, and given
//! - [`Finding`], [`Setting`], [`Installation`], [`Model`], [`Daemon`] and others of `program`: the program itself
//! - [`ContextIndex`], [`HybridAnswer`] and others of `compat`: what the compatibility tools return
//! - [`MemoryLife`]: growth, use, tokens and times of the memory; [`Account`]: what it was worth
//! - [`MemoryCategory`], [`CategorySummary`]: categories of memories; [`Insight`]: what happens again and again
//! - [`UpkeepJob`], [`UpkeepDone`], [`CleanedUp`]: recurring maintenance, and what was cleaned up
//! - [`LearnDone`], [`LearnState`]: learning by a language model
//! - [`HeldPage`], [`OpenedEntity`], [`ReachedNode`], [`ForgottenSelection`]: what the HTTP API returns besides
//! - [`Handoff`], [`Resumable`]: work that goes on in another session
//! - [`Audit`]: faults of instruction files
//! - [`TeamState`] and others of `team`: what is shared over servers
//! - [`Measured`]: the result of `yore eval`
//! - [`compact`]: the form for agents, for whom every word costs tokens
//!
//! `--json` writes every field. Agents get a selection: fields that are `None` are left out for them.

mod account;
mod actions;
mod answer;
mod audit;
mod budget;
mod categories;
mod conflict;
mod consolidation;
mod deep;
mod designs;
mod distil;
mod eval;
mod handoff;
mod held;
mod insights;
mod learn;
mod list;
mod memory;
mod program;
mod reading;
mod show;
mod spoken;
mod statistics;
mod store;
mod team;
mod topics;
mod upkeep;
pub mod words;

pub use self::account::*;
pub use self::actions::*;
pub use self::answer::*;
pub use self::audit::*;
pub use self::budget::*;
pub use self::categories::*;
pub use self::conflict::*;
pub use self::consolidation::*;
pub use self::deep::*;
pub use self::designs::*;
pub use self::distil::*;
pub use self::eval::*;
pub use self::handoff::*;
pub use self::held::*;
pub use self::insights::*;
pub use self::learn::*;
pub use self::list::*;
pub use self::memory::*;
pub use self::program::*;
pub use self::reading::*;
pub use self::show::*;
pub use self::spoken::*;
pub use self::statistics::*;
pub use self::store::*;
pub use self::team::*;
pub use self::topics::*;
pub use self::upkeep::*;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::episode::EpisodeKind;
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::ShownTurn;
use yore_sources::source::note;

/// Returns the role of a turn's speaker as it is shown. The words of a document are nobody's; a note is a person's
/// or an agent's.
pub fn role_of(turn: &ShownTurn) -> &'static str {
    if is_document(turn) { EpisodeKind::Document.as_str() } else { turn.role.as_str() }
}

/// Returns the role of a passage beside a result, as it is shown.
pub fn role_beside(hit: &yore_engine::Hit, said: &yore_engine::Said) -> &'static str {
    match hit.as_turn() {
        Some(turn) if is_document(turn) => EpisodeKind::Document.as_str(),
        _ => said.role.as_str(),
    }
}

/// Returns whether a turn is a section of a document.
pub fn is_document(turn: &ShownTurn) -> bool {
    turn.kind == EpisodeKind::Document && turn.agent != note::KIND
}

/// File and line of a text.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Source {
    /// Path of the file that was read.
    pub path: String,
    /// Line in that file, from 1.
    pub line: u64,
    /// True if the file no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_gone: Option<bool>,
}

/// A kind and a value: a link of a session, or a name of a project.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Named {
    /// Kind of link or name.
    pub kind: String,
    /// Value of the link or name.
    pub value: String,
}

impl Named {
    fn of(pairs: &[(String, String)]) -> Vec<Self> {
        pairs.iter().map(|(kind, value)| Self { kind: kind.clone(), value: value.clone() }).collect()
    }
}

/// Returns a path as text.
pub fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Returns counts by name.
fn named_counts<'n>(counts: impl Iterator<Item = (&'n str, u64)>) -> BTreeMap<String, u64> {
    counts.map(|(name, count)| (name.to_owned(), count)).collect()
}

/// Returns the data without empty fields: nulls everywhere, and empty lists and objects below the first
/// level.
pub fn compact(data: impl Serialize) -> Value {
    fn compacted(value: Value, level: usize) -> Value {
        let says = |value: &Value| match value {
            Value::Null => false,
            Value::Array(items) => level == 0 || !items.is_empty(),
            Value::Object(fields) => level == 0 || !fields.is_empty(),
            _ => true,
        };
        match value {
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, compacted(value, level + 1)));
                Value::Object(fields.filter(|(_, value)| says(value)).collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| compacted(item, level + 1)).collect()),
            other => other,
        }
    }
    compacted(serde_json::to_value(data).unwrap_or_default(), 0)
}

/// Formats a time as RFC 3339 in UTC.
fn time(utc: Option<UtcMillis>) -> Option<String> {
    utc.map(format_utc)
}

/// Rounds a score to four decimals: more would mean nothing.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests;
