//! A question to the memory.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use yore_core::query::{Filter, SearchMode};
use yore_core::text::joined;

use crate::ingest::ProjectNames;

/// A question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallRequest {
    /// Any text.
    pub question: String,
    /// Other ways in which the answer may have been said; with some, quotation marks make no phrases.
    #[serde(default)]
    pub wordings: Vec<String>,
    /// What may answer.
    pub filter: Filter,
    /// The project of the directory that is asked from, where one is known.
    pub here: Option<ProjectNames>,
    /// Which lists are asked. The answer says which were.
    pub mode: SearchMode,
    /// Whether the words count; without them only the nearness of meaning does.
    pub is_worded: bool,
    /// How many turns to give.
    pub limit: usize,
    /// Length of a quote in characters.
    pub quote_chars: usize,
    /// Weight of tool inputs and outputs beside what was said, 0 to 1.
    pub tool_weight: f32,
    /// Weight of the nearness of meaning beside the words, in place of the tuned one.
    pub meaning_weight: Option<f32>,
    /// Weight of the best turn nearby in the same conversation beside the turn's own score, 0 to 1.
    pub neighbour_weight: f32,
    /// Weight of the session's best turns beside the turn's own score, 0 to 1.
    pub session_weight: f32,
    /// Whether near duplicates of a better turn are given with it instead of as hits.
    pub is_folded: bool,
}

impl RecallRequest {
    /// Asks everything with the usual settings.
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            wordings: Vec::new(),
            filter: Filter::default(),
            here: None,
            mode: SearchMode::Static,
            is_worded: true,
            limit: 10,
            quote_chars: 240,
            tool_weight: 0.15,
            meaning_weight: None,
            neighbour_weight: 0.1,
            session_weight: 0.5,
            is_folded: true,
        }
    }

    /// What is looked for: the question, and its wordings below it as one text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        joined(&self.question, &self.wordings)
    }
}
