//! Candidates for an answer: what lists propose, whatever it is.

use yore_core::query::{List, Part};
use yore_core::time::UtcMillis;

use crate::index::{Address, TurnHit};
use crate::store::{EpisodeKey, TurnKey};

/// What can be found, by its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    /// A turn of a conversation, or a passage of a document.
    Turn(TurnKey),
}

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Standing {
    /// Row of its episode.
    pub episode: EpisodeKey,
    /// Place in the episode.
    pub position: i64,
    /// When it was said; the least value where that is not known.
    pub at: UtcMillis,
    /// Whether it is a passage of a document.
    pub is_document: bool,
}

/// What one list says of one candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub key: Key,
    pub standing: Standing,
    /// The list's own score; higher is better.
    pub score: f32,
    /// Where the full-text index has it.
    pub address: Option<Address>,
}

impl From<TurnHit> for Proposal {
    fn from(hit: TurnHit) -> Self {
        let TurnHit { row, episode, at, position, is_document, score, address } = hit;
        Self { key: Key::Turn(row), standing: Standing { episode, position, at, is_document }, score, address }
    }
}

/// What a list contributes to a candidate's score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contribution {
    pub list: List,
    /// The part of the score that it belongs to.
    pub part: Part,
    /// From 1.
    pub rank: usize,
    /// The list's own score.
    pub own_score: f32,
    /// What it adds to the candidate's score.
    pub value: f32,
    /// Where the full-text index has the candidate.
    pub address: Option<Address>,
}

/// Something that at least one list proposed.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub key: Key,
    pub standing: Standing,
    /// One for each list that proposed it, in the order of the plan.
    pub contributions: Vec<Contribution>,
}

impl Candidate {
    /// The sum of what the lists contribute.
    pub(super) fn score(&self) -> f32 {
        self.contributions.iter().map(|contribution| contribution.value).sum()
    }

    /// What a list says of it.
    pub(super) fn by(&self, list: List) -> Option<&Contribution> {
        self.contributions.iter().find(|contribution| contribution.list == list)
    }
}
