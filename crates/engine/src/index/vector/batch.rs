//! A batch of changes to a vector index: turns with new vectors, and removed turns. Vectors are quantised when they are added, so
//! a batch of 65,536 rows of 384 dimensions takes some 30 MB.

use std::collections::BTreeMap;

use super::error::VectorError;
use super::metadata::TurnMetadata;
use super::quantise::{quantise, stride};
use super::segment::{Columns, Run};

/// One vector of a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorChunk<'v> {
    /// Number of the part of the turn that it belongs to.
    pub ordinal: u16,
    /// The caller's id of the vector, returned for exact scoring; 0 if there is none.
    pub vector_id: i64,
    /// The vector, of any length but zero: only the direction counts. A vector without direction is stored
    /// but never found.
    pub vector: &'v [f32],
}

/// Changes to turns; of several changes to one turn the last counts.
#[derive(Clone, Debug)]
pub struct VectorBatch {
    dimensions: usize,
    /// Position of each turn's newest state in the columns; `None` for a removed turn.
    entries: BTreeMap<i64, Option<usize>>,
    turns: Vec<i64>,
    metadata: Vec<TurnMetadata>,
    starts: Vec<u32>,
    vector_ids: Vec<i64>,
    scales: Vec<f32>,
    ordinals: Vec<u16>,
    codes: Vec<i8>,
}

/// A batch as columns, in the order in which turns were added.
pub(super) struct BatchColumns<'b> {
    batch: &'b VectorBatch,
    episodes: Vec<i64>,
    times: Vec<i64>,
    positions: Vec<i64>,
    projects: Vec<u32>,
    branches: Vec<u32>,
    roles: Vec<u8>,
    documents: Vec<u8>,
}

impl VectorBatch {
    /// Makes a batch without changes, for vectors of this many dimensions.
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            entries: BTreeMap::new(),
            turns: Vec::new(),
            metadata: Vec::new(),
            starts: vec![0],
            vector_ids: Vec::new(),
            scales: Vec::new(),
            ordinals: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Replaces all vectors of a turn by these; without any, removes the turn.
    pub fn replace<'v>(
        &mut self,
        turn: i64,
        metadata: TurnMetadata,
        chunks: impl IntoIterator<Item = VectorChunk<'v>>,
    ) -> Result<(), VectorError> {
        let (rows, stride) = (self.scales.len(), stride(self.dimensions));
        for VectorChunk { ordinal, vector_id, vector } in chunks {
            if vector.len() != self.dimensions {
                self.cut(rows);
                return Err(VectorError::Dimensions { expected: self.dimensions, found: vector.len() });
            }
            let from = self.codes.len();
            self.codes.resize(from + stride, 0);
            self.scales.push(quantise(vector, &mut self.codes[from..]));
            self.vector_ids.push(vector_id);
            self.ordinals.push(ordinal);
        }
        if self.scales.len() == rows {
            self.remove(turn);
            return Ok(());
        }
        let Ok(end) = u32::try_from(self.scales.len()) else {
            self.cut(rows);
            return Err(VectorError::BatchFull);
        };
        self.entries.insert(turn, Some(self.turns.len()));
        self.turns.push(turn);
        self.metadata.push(metadata);
        self.starts.push(end);
        Ok(())
    }

    /// Removes a turn from the index.
    pub fn remove(&mut self, turn: i64) {
        self.entries.insert(turn, None);
    }

    /// Returns the number of vectors that the batch holds in memory.
    pub fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Returns the number of changed turns.
    pub fn turns(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the changed turns in order, each with true if it has vectors.
    pub(super) fn changed(&self) -> impl Iterator<Item = (i64, bool)> + '_ {
        self.entries.iter().map(|(turn, place)| (*turn, place.is_some()))
    }

    pub(super) fn columns(&self) -> BatchColumns<'_> {
        BatchColumns {
            batch: self,
            episodes: self.metadata.iter().map(|metadata| metadata.episode).collect(),
            times: self.metadata.iter().map(|metadata| metadata.at).collect(),
            positions: self.metadata.iter().map(|metadata| metadata.position).collect(),
            projects: self.metadata.iter().map(|metadata| metadata.project).collect(),
            branches: self.metadata.iter().map(|metadata| metadata.branch).collect(),
            roles: self.metadata.iter().map(|metadata| metadata.role).collect(),
            documents: self.metadata.iter().map(|metadata| u8::from(metadata.is_document)).collect(),
        }
    }

    /// Returns the turns with vectors, in order, as runs of [`VectorBatch::columns`].
    pub(super) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for place in self.entries.values().filter_map(|place| *place) {
            match runs.last_mut() {
                Some(run) if run.turns.end == place => run.turns.end += 1,
                _ => runs.push(Run { input: 0, turns: place..place + 1 }),
            }
        }
        runs
    }

    fn cut(&mut self, rows: usize) {
        self.scales.truncate(rows);
        self.vector_ids.truncate(rows);
        self.ordinals.truncate(rows);
        self.codes.truncate(rows * stride(self.dimensions));
    }
}

impl BatchColumns<'_> {
    pub(super) fn view(&self) -> Columns<'_> {
        Columns {
            turns: &self.batch.turns,
            episodes: &self.episodes,
            times: &self.times,
            positions: &self.positions,
            projects: &self.projects,
            branches: &self.branches,
            roles: &self.roles,
            documents: &self.documents,
            starts: &self.batch.starts,
            // The owners of a new segment are computed when it is written.
            owners: &[],
            vector_ids: &self.batch.vector_ids,
            scales: &self.batch.scales,
            ordinals: &self.batch.ordinals,
            codes: &self.batch.codes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(vector: &[f32]) -> VectorChunk<'_> {
        VectorChunk { ordinal: 0, vector_id: 1, vector }
    }

    #[test]
    fn last_change_of_a_turn_counts() {
        let mut batch = VectorBatch::new(2);
        let metadata = TurnMetadata::default();
        batch.replace(7, metadata, [chunk(&[1.0, 0.0])]).unwrap();
        batch.replace(5, metadata, [chunk(&[1.0, 0.0]), chunk(&[0.0, 1.0])]).unwrap();
        batch.remove(7);
        batch.replace(6, metadata, [chunk(&[0.0, 1.0])]).unwrap();
        batch.replace(5, metadata, [chunk(&[0.0, 1.0])]).unwrap();
        batch.replace(8, metadata, []).unwrap();
        assert_eq!(batch.changed().collect::<Vec<_>>(), [(5, true), (6, true), (7, false), (8, false)]);
        let columns = batch.columns();
        let turns: Vec<i64> = batch.runs().iter().flat_map(|run| columns.view().turns[run.turns.clone()].to_vec()).collect();
        assert_eq!(turns, [5, 6]);
        assert_eq!(batch.runs()[0], Run { input: 0, turns: 3..4 });
        assert_eq!((batch.rows(), batch.turns()), (5, 4));
    }

    #[test]
    fn vector_of_another_length_leaves_the_batch_as_it_was() {
        let mut batch = VectorBatch::new(2);
        batch.replace(1, TurnMetadata::default(), [chunk(&[1.0, 0.0])]).unwrap();
        let refused = batch.replace(2, TurnMetadata::default(), [chunk(&[1.0, 0.0]), chunk(&[1.0])]);
        assert!(matches!(refused, Err(VectorError::Dimensions { expected: 2, found: 1 })));
        assert_eq!((batch.rows(), batch.turns(), batch.columns().view().codes.len()), (1, 1, 16));
    }
}
