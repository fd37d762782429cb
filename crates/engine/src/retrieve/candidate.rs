//! Candidates and the contributions of the lists to their scores.

use yore_core::query::{List, Part};
use yore_core::time::UtcMillis;

use crate::index::{Address, ItemHit};
use crate::store::{EpisodeKey, ItemKey};

/// Location and time of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Position {
    /// Row of its episode; for a memory a number of its own, because no other candidate stands beside it.
    pub episode: EpisodeKey,
    /// Its index in the episode.
    pub index: i64,
    /// Time when it was said or recorded; the least value if that is not known.
    pub at: UtcMillis,
    /// True if it is a passage of a document.
    pub is_document: bool,
}

/// One list's proposal of a candidate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub key: ItemKey,
    pub position: Position,
    /// The list's own score; higher is better.
    pub score: f32,
    /// Its address in the full-text index.
    pub address: Option<Address>,
}

impl From<ItemHit> for Proposal {
    fn from(hit: ItemHit) -> Self {
        let ItemHit { key, episode, at, position, is_document, score, address } = hit;
        let episode = if key.memory().is_some() { EpisodeKey::of_its_own(key) } else { episode };
        Self { key, position: Position { episode, index: position, at, is_document }, score, address }
    }
}

/// The contribution of a list to a candidate's score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contribution {
    pub list: List,
    /// The part of the score that it counts towards.
    pub part: Part,
    /// From 1.
    pub rank: usize,
    /// The list's own score.
    pub own_score: f32,
    /// Amount added to the candidate's score.
    pub value: f32,
    /// The candidate's address in the full-text index.
    pub address: Option<Address>,
}

/// An item that at least one list proposed.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub key: ItemKey,
    pub position: Position,
    /// Contributions of the lists that proposed it, in the order of the plan.
    pub contributions: Vec<Contribution>,
}

impl Candidate {
    /// Returns the sum of the lists' contributions.
    pub(super) fn score(&self) -> f32 {
        self.contributions.iter().map(|contribution| contribution.value).sum()
    }

    /// Returns its address in the full-text index, if it is known.
    pub(super) fn address(&self) -> Option<Address> {
        self.contributions.iter().find_map(|contribution| contribution.address)
    }

    /// Returns the contribution of a list.
    pub(super) fn by(&self, list: List) -> Option<&Contribution> {
        self.contributions.iter().find(|contribution| contribution.list == list)
    }
}
