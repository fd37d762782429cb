//! Requests for suggestions, and suggestions as data.

use serde::{Deserialize, Serialize};
use yore_core::handoff::Recollection;
use yore_core::id::TurnId;
use yore_core::query::{Filter, ItemId, SearchMode};
use yore_core::relevance::SkipReason;
use yore_core::time::UtcMillis;

use crate::{Hit, Packing, Said};
use yore_sources::project_names::ProjectNames;

/// Event that may lead to suggestions.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A person's prompt.
    Prompt(String),
    /// A file is about to be changed.
    Edit(String),
    /// A tool reports an error; the text is its output.
    Failure(String),
}

/// A request for suggestions.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SuggestRequest {
    /// Event that led to the request.
    pub trigger: Trigger,
    /// The project that is worked in.
    pub here: Option<ProjectNames>,
    /// Filter of the memories. Its scope is the project of `here`, unless it names projects.
    pub filter: Filter,
    /// The session that asks, by its native id; its own turns are not suggested.
    pub session: Option<String>,
    /// Turns and memories that were suggested to it before.
    pub given: Vec<ItemId>,
    /// True if an earlier prompt of the session brought something: a prompt is then answered only if it is about something else.
    #[serde(default)]
    pub is_later: bool,
    /// True if the session was compacted: before a file is touched, it is told what the summary left out.
    #[serde(default)]
    pub is_compacted: bool,
    /// Maximum number of suggestions.
    pub limit: usize,
    /// Maximum characters of a quote about a file or an error.
    pub quote_chars: usize,
    /// Room for the passages about a prompt.
    pub packing: Packing,
    /// Least confidence, 0 to 1.
    pub floor: f32,
    /// Lists to search.
    pub mode: SearchMode,
}

/// A suggestion.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Suggestion {
    /// The hit.
    pub hit: Hit,
    /// Its outcome: the agent's last text about it.
    pub outcome: Option<Said>,
}

/// Result of a request for suggestions.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Suggestions {
    /// Suggested memories, best first.
    pub memories: Vec<Suggestion>,
    /// Files that agents opened in the exchanges of the memories, best first; for a prompt only.
    #[serde(default)]
    pub files: Vec<String>,
    /// For a file: its last edits, if they were taken back.
    #[serde(default)]
    pub taken_back: Option<TakenBack>,
    /// For a file of a session that was compacted: what the session knew and the summary does not say.
    #[serde(default)]
    pub recollected: Vec<Recollection>,
    /// Confidence that they concern the trigger, 0 to 1; set also if nothing is suggested.
    pub confidence: f32,
    /// Reason why nothing is suggested.
    pub skipped: Option<SkipReason>,
}

/// The last edits of a file, which were taken back.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TakenBack {
    /// The turn that took them back.
    pub turn: TurnId,
    /// Time of that turn.
    pub at: Option<UtcMillis>,
    /// True if a person refused them; else a command took them back.
    pub is_refused: bool,
    /// The command, or what the person said; may be empty.
    pub by: String,
}

impl Suggestions {
    /// Makes an empty result with its reason.
    pub(super) fn silent(reason: SkipReason, confidence: f32) -> Self {
        Self {
            memories: Vec::new(),
            files: Vec::new(),
            taken_back: None,
            recollected: Vec::new(),
            confidence,
            skipped: Some(reason),
        }
    }
}
