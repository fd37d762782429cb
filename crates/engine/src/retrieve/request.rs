//! The request of recall: question, filters, limits, options.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use yore_core::query::{AnswerKind, Filter, Fusion, NewerFirst, Rerank, SearchMode};
use yore_core::text::{NamedPeriod, is_error_message, joined, named_periods_at};
use yore_core::time::UtcMillis;

use yore_sources::project_names::ProjectNames;

/// Room for the passages of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packing {
    /// Most tokens of the passages and the lines above them.
    pub budget: usize,
    /// Cost of the line above an exchange, in quarters of a token.
    pub group_cost: usize,
    /// Cost of the line above a further hit of an exchange, in quarters of a token.
    pub hit_cost: usize,
    /// Number of hits, the best ones, of which each gets a passage before any gets more.
    pub broad: usize,
    /// Least gain of a passage ([`yore_core::pack::Wanted::least_gain`]): with less the answer ends, whatever the budget.
    #[serde(default)]
    pub least_gain: f32,
}

/// A query.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallRequest {
    /// The query text.
    pub question: String,
    /// Alternative wordings of the answer; if there are any, quotation marks make no phrases.
    #[serde(default)]
    pub wordings: Vec<String>,
    /// Kind of answer; `None`: the question decides.
    #[serde(default)]
    pub answer_kind: Option<AnswerKind>,
    /// Filter for the hits.
    pub filter: Filter,
    /// The project of the caller's directory, if known.
    pub here: Option<ProjectNames>,
    /// The session of the agent that asks, by its native id: what it is shown is logged with it.
    #[serde(default)]
    pub asking: Option<String>,
    /// Mode, that is the lists to search. The answer reports the mode that was used.
    pub mode: SearchMode,
    /// True if words count; otherwise only similarity of meaning does.
    pub is_worded: bool,
    /// Maximum number of hits.
    pub limit: usize,
    /// Budget that the passages of all hits share; without one, each hit has a quote of `quote_chars`.
    #[serde(default)]
    pub packing: Option<Packing>,
    /// Least confidence of the answer and of each hit, 0 to 1. `None`: in a memory of 1,000 turns or more an
    /// answer is refused below [`yore_core::strength::refused_below`], and no hit is left out.
    #[serde(default)]
    pub min_confidence: Option<f32>,
    /// True to leave out all that only a reader of the answer needs: confidences, refusal, words never met, files.
    #[serde(default)]
    pub is_bare: bool,
    /// True to rank the files that agents opened in the exchanges of the hits, whatever is asked for.
    #[serde(default)]
    pub with_files: bool,
    /// True to add what was done in the exchanges of the hits: files, the command that worked, the outcome.
    #[serde(default)]
    pub with_work: bool,
    /// True to tell the topics in which the hits lie, and those that are most similar to the question.
    #[serde(default)]
    pub with_topics: bool,
    /// True to tell the titles of the sessions of the hits.
    #[serde(default)]
    pub with_titles: bool,
    /// Time in which the answer is wanted; what there is no time for is left out and named in
    /// [`super::RecallAnswer::missing`]. `None`: nothing is left out.
    #[serde(default)]
    pub deadline: Option<Duration>,
    /// Length of a quote in characters.
    pub quote_chars: usize,
    /// Weight of tool inputs and outputs relative to the spoken text, 0 to 1.
    pub tool_weight: f32,
    /// Minutes by which the asker's clock is ahead of UTC, for days that the question names.
    #[serde(default)]
    pub offset_minutes: i32,
    /// True if what was said in a period that the question names comes before the rest.
    pub is_period_searched: bool,
    /// When a cross-encoder reads the best candidates, in the full mode.
    #[serde(default)]
    pub rerank: Rerank,
    /// True if near duplicates of a better turn, and memories that say what a better one says, are listed with it instead of as hits.
    pub is_folded: bool,
    /// Parts of the ranking that measurements vary. It stays in this process.
    #[serde(skip)]
    pub tuning: Tuning,
}

/// Weights and steps of the ranking, for measurements and for questions that have no time for all steps.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Weight of similarity of meaning relative to the words, in place of the tuned one.
    pub meaning_weight: Option<f32>,
    /// Weight of the best nearby turn of the same conversation relative to the turn's own score, 0 to 1.
    pub neighbour_weight: f32,
    /// Weight of the session's best turns relative to the turn's own score, 0 to 1.
    pub session_weight: f32,
    /// True if relations are followed from the entities of the question.
    pub is_graph_followed: bool,
    /// True if people's talk is ranked by its own signs.
    pub is_talk_ranked: bool,
    /// True if titled passages are ranked by the links between them.
    pub are_links_ranked: bool,
    /// True if a random walk over names is one of those links.
    pub has_walk: bool,
    /// The way in which the lists' scores become one.
    pub fusion: Fusion,
    /// True if hits that say something else come before those that say the same again.
    pub is_diverse: bool,
    /// True if turns that conclude an exchange come before those on the way to it.
    pub is_conclusive_first: bool,
    /// Conversations in which a newer turn about the same subject comes before the older.
    pub newer_first: NewerFirst,
    /// Rows of turns, if nothing else is to be found; the other conditions of the filter on turns do not count then.
    pub(crate) among: Option<Arc<HashSet<i64>>>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            meaning_weight: None,
            neighbour_weight: 0.1,
            session_weight: 0.5,
            is_graph_followed: true,
            is_talk_ranked: true,
            are_links_ranked: true,
            has_walk: false,
            fusion: Fusion::Heights,
            is_diverse: false,
            is_conclusive_first: true,
            newer_first: NewerFirst::Agents,
            among: None,
        }
    }
}

impl RecallRequest {
    /// Makes a request that searches everything with the usual settings.
    pub fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            wordings: Vec::new(),
            answer_kind: Some(AnswerKind::Passages),
            filter: Filter::default(),
            here: None,
            asking: None,
            mode: SearchMode::Static,
            is_worded: true,
            limit: 10,
            packing: None,
            min_confidence: None,
            is_bare: false,
            with_files: false,
            with_work: false,
            with_topics: false,
            with_titles: false,
            deadline: None,
            quote_chars: 240,
            tool_weight: 0.15,
            offset_minutes: 0,
            is_period_searched: true,
            rerank: Rerank::Never,
            is_folded: true,
            tuning: Tuning::default(),
        }
    }

    /// Returns the periods that the question names, seen from the time and zone of whoever asks.
    pub(crate) fn periods(&self, now: UtcMillis) -> Vec<NamedPeriod> {
        // A pasted log has many dates, and asks for none of them.
        if !self.is_period_searched || is_error_message(&self.question) {
            return Vec::new();
        }
        named_periods_at(&self.question, self.filter.as_of.unwrap_or(now), self.offset_minutes)
    }

    /// Returns the question without the words of periods that depend on the day: a text that says "last week" was
    /// said in another week.
    pub(crate) fn without_periods(&self, periods: &[NamedPeriod]) -> Cow<'_, str> {
        let mut question = Cow::Borrowed(self.question.as_str());
        for period in periods.iter().rev().filter(|period| period.is_relative) {
            question.to_mut().replace_range(period.place.clone(), "");
        }
        question
    }

    /// Returns the text to search for: the question without such words, and its wordings below it as one text.
    pub(crate) fn text(&self, periods: &[NamedPeriod]) -> Cow<'_, str> {
        match self.without_periods(periods) {
            Cow::Borrowed(question) => joined(question, &self.wordings),
            Cow::Owned(question) => Cow::Owned(joined(&question, &self.wordings).into_owned()),
        }
    }
}
