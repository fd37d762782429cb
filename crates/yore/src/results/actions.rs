//! Results of remembering, forgetting and injecting.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::note::NoteKind;

/// A note that was remembered.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Remembered {
    /// Id of the note.
    pub id: String,
    /// Id of the turn that holds its text.
    pub turn: String,
    /// Kind of the note.
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoteKind>,
    /// The rest of the note, for the person.
    #[serde(flatten)]
    pub facts: Option<RememberedFacts>,
    /// True if the same text was a note already.
    pub was_known: bool,
    /// Number of secrets that were redacted before storing.
    pub redactions: u64,
}

/// The facts of a note that was remembered.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct RememberedFacts {
    /// Title of the note.
    pub title: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its version, from 1.
    pub version: u64,
    /// Name of its project; none if it applies everywhere.
    pub project: Option<String>,
    /// Directory that it was given for.
    pub directory: Option<String>,
}

/// Sessions or notes that were forgotten or restored.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Forgotten {
    /// True if nothing was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// True if it was removed for good.
    pub hard: bool,
    /// True if it was restored.
    pub restored: bool,
    /// Native ids of the session or note, and of its sub-agents' sessions.
    pub episodes: Vec<String>,
    /// Number of their turns.
    pub turns: u64,
    /// Memories that go with it: those that rest on it alone, or the one that was named.
    #[serde(default, skip_serializing_if = "is_none")]
    pub memories: u64,
    /// Memories that rest on more, and lose their quotes of it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub memories_kept: u64,
    /// Number of archived lines that were removed.
    pub archive_lines: u64,
    /// Backups that were removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backups: Option<Vec<String>>,
    /// How many sessions, documents, notes and memories conditions have chosen; none where an id was given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selected: BTreeMap<String, u64>,
}

/// Returns whether a count is 0.
impl Forgotten {
    /// Makes it of an outcome; `restored`: a soft forgetting was undone.
    pub fn of(outcome: &yore_engine::Forgotten, is_dry_run: bool, restored: bool) -> Self {
        let mut selected = BTreeMap::new();
        for item in &outcome.selected {
            *selected.entry(item.kind.clone()).or_default() += 1;
        }
        Self {
            dry_run: Some(is_dry_run),
            hard: outcome.is_hard,
            restored,
            episodes: outcome.episodes.clone(),
            turns: outcome.turns,
            memories: outcome.memories,
            memories_kept: outcome.memories_kept,
            archive_lines: outcome.archive_lines,
            backups: Some(outcome.backups.iter().map(|path| super::path(path)).collect()),
            selected,
        }
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The brief that a session gets at its beginning.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Brief {
    /// Name of the project.
    pub project: Option<String>,
    /// The text.
    pub text: String,
    /// Its tokens, estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Ids of the turns that it quotes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<String>>,
}

/// Everything that a session was given, and its cost (`yore status --session`).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct SessionCost {
    /// The agent's own id.
    pub session: String,
    /// The agent.
    pub agent: Option<String>,
    /// The directory that the session works in.
    pub directory: Option<String>,
    /// Name of its project.
    pub project: Option<String>,
    /// Number of memories that it was given.
    pub memories: u64,
    /// Tokens of them, estimated.
    pub tokens: u64,
    /// Time that the answers took, in microseconds.
    pub micros: u64,
    /// How often nothing was given, by reason.
    pub silences: BTreeMap<String, u64>,
    /// Time when its transcript was last read, in milliseconds since 1970.
    pub last_capture_ms: Option<i64>,
    /// The answers, first one first.
    pub answers: Vec<GivenAnswer>,
}

/// One answer that a session was given.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct GivenAnswer {
    /// Time of the answer, in milliseconds since 1970.
    pub at_ms: i64,
    /// The agent.
    pub agent: String,
    /// The sub-agent that got the answer, by the agent's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The event, or the name of the tool.
    pub event: String,
    /// Kind of the trigger; none for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Ids of the turns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<String>,
    /// Tokens of the answer, estimated.
    pub tokens: u64,
    /// Time that the answer took, in microseconds.
    pub micros: u64,
    /// Reason why nothing was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
    /// Ids of the turns and memories that were held out (`inject.holdout`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<String>,
    /// The directory that the session works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Digest of the question's subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// True if the session lost the text it was given before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reset: bool,
}
