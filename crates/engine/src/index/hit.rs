//! A turn that an index proposes.

use tantivy::{DocId, SegmentOrdinal};
use yore_core::time::UtcMillis;

use crate::store::{EpisodeKey, TurnKey};

/// A turn that an index proposes, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TurnHit {
    pub row: TurnKey,
    pub episode: EpisodeKey,
    /// When it was said, or [`super::filter::NO_TIME`].
    pub at: UtcMillis,
    /// Place in its episode.
    pub position: i64,
    /// Whether it is a passage of a file or page.
    pub is_document: bool,
    /// The index's own: BM25, or the cosine.
    pub score: f32,
    /// Where the full-text index holds the turn; `None` for one that is still queued, and of other indexes.
    pub address: Option<Address>,
}

/// A place in the full-text index, valid until it is refreshed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(super) segment: SegmentOrdinal,
    pub(super) doc: DocId,
}
