//! Collects the best hits of a full-text search that pass the filter (block-max WAND).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::query::Weight;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};
use yore_core::time::UtcMillis;

use crate::index::filter::{CompiledFilter, Evaluator, FilterValues, NO_TIME};
use crate::store::{EpisodeKey, ItemKey, RowKey};

/// A turn that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub segment: SegmentOrdinal,
    pub doc: DocId,
    pub key: ItemKey,
    pub episode: EpisodeKey,
    pub at: UtcMillis,
    pub position: i64,
    pub is_document: bool,
    pub score: Score,
}

/// Collects the best turns that pass the filter. The filter runs inside the pruned enumeration, before a turn
/// is kept, so the result is exactly the best of the allowed turns.
pub(super) struct BestTurns<'f> {
    pub filter: &'f CompiledFilter,
    pub limit: usize,
    /// Scores of the best turns of the segments collected so far, best first.
    pub kept: Mutex<Vec<Score>>,
}

/// The columns of one segment that filters read.
struct Columns {
    row: Column<u64>,
    episode: Column<u64>,
    project: Column<u64>,
    branch: Column<u64>,
    role: Column<u64>,
    at: Column<i64>,
    position: Column<i64>,
    document: Column<bool>,
}

impl Columns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let fast = reader.fast_fields();
        Ok(Self {
            row: fast.u64("row")?,
            episode: fast.u64("episode")?,
            project: fast.u64("project")?,
            branch: fast.u64("branch")?,
            role: fast.u64("role")?,
            at: fast.i64("at")?,
            position: fast.i64("position")?,
            document: fast.bool("document")?,
        })
    }
}

/// The values of one document.
struct DocumentValues<'c>(&'c Columns, DocId);

impl DocumentValues<'_> {
    fn row(&self, column: &Column<u64>) -> i64 {
        column.first(self.1).unwrap_or(0) as i64
    }
}

impl FilterValues for DocumentValues<'_> {
    fn key(&self) -> i64 {
        self.row(&self.0.row)
    }

    fn episode(&self) -> i64 {
        self.row(&self.0.episode)
    }

    fn project(&self) -> i64 {
        self.row(&self.0.project)
    }

    fn branch(&self) -> i64 {
        self.row(&self.0.branch)
    }

    fn class(&self) -> u8 {
        self.row(&self.0.role) as u8
    }

    fn at(&self) -> UtcMillis {
        self.0.at.first(self.1).unwrap_or(NO_TIME)
    }
}

impl Collector for BestTurns<'_> {
    type Fruit = Vec<Found>;
    type Child = NoChild;

    fn for_segment(&self, _segment: SegmentOrdinal, _reader: &SegmentReader) -> tantivy::Result<NoChild> {
        Ok(NoChild)
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, fruits: Vec<Vec<Found>>) -> tantivy::Result<Vec<Found>> {
        Ok(fruits.into_iter().flatten().collect())
    }

    fn collect_segment(
        &self,
        weight: &dyn Weight,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<Vec<Found>> {
        let columns = Columns::open(reader)?;
        let alive = reader.alive_bitset();
        let mut evaluator = Evaluator::new(self.filter);
        // A turn must reach the worst score kept from earlier segments; the threshold is just below it,
        // because among equals the newest wins.
        let begin = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get(self.limit.wrapping_sub(1)).map_or(Score::MIN, |worst| worst.next_down())
        };
        // A min-heap over score, then age: the worst is removed first.
        let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::with_capacity(self.limit + 1);
        weight.for_each_pruning(begin, reader, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc)) && evaluator.passes(&DocumentValues(&columns, doc)) {
                best.push(Reverse(Ranked(score, doc)));
                if best.len() > self.limit {
                    best.pop();
                }
            }
            match best.peek() {
                Some(Reverse(worst)) if best.len() >= self.limit => worst.0.next_down().max(begin),
                _ => begin,
            }
        })?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(best.iter().map(|Reverse(ranked)| ranked.0));
        kept.sort_by(|a, b| b.total_cmp(a));
        kept.truncate(self.limit);
        Ok(best
            .into_iter()
            .map(|Reverse(Ranked(score, doc))| Found {
                segment,
                doc,
                key: ItemKey::new(columns.row.first(doc).unwrap_or(0) as i64),
                episode: EpisodeKey::new(columns.episode.first(doc).unwrap_or(0) as i64),
                at: columns.at.first(doc).unwrap_or(NO_TIME),
                position: columns.position.first(doc).unwrap_or(0),
                is_document: columns.document.first(doc).unwrap_or(false),
                score,
            })
            .collect())
    }
}

#[derive(Clone, Copy, PartialEq)]
struct Ranked(Score, DocId);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// [`BestTurns`] collects a whole segment at once and needs no child.
pub(super) struct NoChild;

impl SegmentCollector for NoChild {
    type Fruit = Vec<Found>;

    fn collect(&mut self, _doc: DocId, _score: Score) {}

    fn harvest(self) -> Vec<Found> {
        Vec::new()
    }
}
