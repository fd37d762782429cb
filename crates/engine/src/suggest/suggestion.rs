//! What may be suggested, and why.

use serde::{Deserialize, Serialize};
use yore_core::id::TurnId;
use yore_core::query::{Filter, SearchMode};
use yore_core::relevance::SkipReason;

use crate::Hit;
use crate::ingest::ProjectNames;

/// Words of a turn.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The turn.
    pub turn: TurnId,
    /// Its words.
    pub text: String,
}

/// Why something may be suggested.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A person's prompt.
    Prompt(String),
    /// A file is about to be changed.
    Edit(String),
    /// A tool reports an error: its output.
    Failure(String),
}

/// What is there to suggestions?
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SuggestRequest {
    /// Why.
    pub trigger: Trigger,
    /// The project that is worked in.
    pub here: Option<ProjectNames>,
    /// What may be suggested. Its scope is the project of `here`, unless it names projects.
    pub filter: Filter,
    /// The session that asks, by its native id: what it holds itself is not suggested.
    pub session: Option<String>,
    /// What it was given before.
    pub given: Vec<TurnId>,
    /// At most so many.
    pub limit: usize,
    /// Characters of a quote.
    pub quote_chars: usize,
    /// Least confidence, 0 to 1.
    pub floor: f32,
    /// Which lists may answer.
    pub mode: SearchMode,
}

/// A memory that is suggested.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Suggestion {
    /// The turn.
    pub hit: Hit,
    /// What came of it: the agent's last words about it.
    pub outcome: Option<Said>,
}

/// What is suggested.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Suggestions {
    /// Best first.
    pub memories: Vec<Suggestion>,
    /// How sure it is that they concern the trigger, 0 to 1; also where nothing is suggested.
    pub confidence: f32,
    /// Why nothing is suggested.
    pub skipped: Option<SkipReason>,
}

impl Suggestions {
    /// Nothing, and why.
    pub(super) fn silent(reason: SkipReason, confidence: f32) -> Self {
        Self { memories: Vec::new(), confidence, skipped: Some(reason) }
    }
}
