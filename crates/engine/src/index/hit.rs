//! A hit of an index: the item, its score and its address in the index.

use tantivy::{DocId, SegmentOrdinal};
use yore_core::time::UtcMillis;

use super::filter::NO_TIME;
use crate::store::{EpisodeKey, ItemHead, ItemKey};

/// A turn or memory that an index found, with its location.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ItemHit {
    pub key: ItemKey,
    /// Row 0 for a memory.
    pub episode: EpisodeKey,
    /// Time when it was said or recorded, or [`NO_TIME`].
    pub at: UtcMillis,
    /// Position in its episode.
    pub position: i64,
    /// True if it is a passage of a file or page.
    pub is_document: bool,
    /// Score of the index: BM25, or the cosine.
    pub score: f32,
    /// Its address in the full-text index; `None` for an item that is still queued, and for hits of other
    /// indexes.
    pub address: Option<Address>,
}

impl ItemHit {
    /// Makes a hit outside the full-text index.
    pub(crate) fn of(head: &ItemHead, score: f32) -> Self {
        let ItemHead { key, episode, position, is_document, .. } = *head;
        Self { key, episode, at: head.at.unwrap_or(NO_TIME), position, is_document, score, address: None }
    }
}

/// An address in the full-text index, valid until the index is refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(super) segment: SegmentOrdinal,
    pub(super) doc: DocId,
}
