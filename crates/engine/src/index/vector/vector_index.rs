//! [`VectorIndex`], the reader's handle of a vector index.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use super::error::{ResetReason, VectorError};
use super::manifest::Owner;
use super::quantise::{self, Query};
use super::search::{Rescore, Searcher, VectorHit, VectorSearch};
use super::simd::Kernel;
use super::state::{State, load};
use super::tuning::Tuning;

/// Options for opening an index.
#[derive(Clone, Debug)]
pub struct VectorOptions {
    /// Directory of the index; it must contain nothing else.
    pub directory: PathBuf,
    /// Identity of its vectors: model, file, runtime, the way texts were cut. An index of another identity is
    /// not used.
    pub identity: String,
    /// Ties the index to one store.
    pub token: String,
    /// Dimensions of every vector.
    pub dimensions: usize,
}

/// An index of the vectors of turns. Any number of threads and processes may read; see
/// [`VectorIndex::writer`] for writing.
#[derive(Debug)]
pub struct VectorIndex {
    pub(super) directory: PathBuf,
    pub(super) owner: Owner,
    pub(super) kernel: Kernel,
    pub(super) tuning: Tuning,
    pub(super) state: RwLock<Arc<State>>,
}

impl VectorIndex {
    /// Returns whether content that the owner may have written is missing: everything has to be added again.
    pub fn was_reset(&self) -> bool {
        self.reset_reason().is_some()
    }

    /// Returns the reason why the index is empty; `None` as soon as something was written, or if it was
    /// opened intact.
    pub fn reset_reason(&self) -> Option<ResetReason> {
        self.state().reset.clone()
    }

    /// Returns the caller's number from the last change; 0 before the first.
    pub fn position(&self) -> u64 {
        self.state().manifest.position
    }

    /// Returns the dimensions of every vector.
    pub fn dimensions(&self) -> usize {
        self.owner.dimensions
    }

    /// Returns the number of vectors of live turns.
    pub fn len(&self) -> u64 {
        self.state().members.iter().map(|member| member.live_rows as u64).sum()
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of live turns.
    pub fn turns(&self) -> u64 {
        self.state().members.iter().map(|member| member.live_turns as u64).sum()
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        self.state().members.len()
    }

    /// Returns the bytes of all files.
    pub fn bytes(&self) -> u64 {
        let state = self.state();
        let segments: u64 = state.members.iter().map(|member| member.segment.record.bytes).sum();
        segments + state.seen.as_ref().map_or(0, |seen| seen.len() as u64)
    }

    /// Returns whether the index has vectors of a turn.
    pub fn contains(&self, turn: i64) -> bool {
        self.state().find(turn).is_some()
    }

    /// Loads changes of other processes; returns whether there were any.
    pub fn refresh(&self) -> Result<bool, VectorError> {
        match load(&self.directory, &self.owner, Some(&self.state()))? {
            Some(state) => {
                self.publish(state);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Returns the turns whose best vectors are nearest to the query, best first, by their codes: cosines are
    /// accurate to about 0.01. Among equals the turn with the greater number comes first.
    pub fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<VectorHit>, VectorError> {
        let state = self.state();
        Ok(match self.searcher(&state, search.query)? {
            Some(searcher) => searcher.discounting(search.later_discount).search(search.filter, search.limit),
            None => Vec::new(),
        })
    }

    /// Does [`VectorIndex::search`], but scores the best rows with the vectors that `rescore` returns for
    /// their ids, in the same order. Drops a row whose vector no longer exists. A row with id 0 keeps the
    /// score of its codes.
    pub fn search_rescored<E: From<VectorError>>(
        &self,
        search: &VectorSearch<'_>,
        rescore: &mut Rescore<'_, E>,
    ) -> Result<Vec<VectorHit>, E> {
        let state = self.state();
        match self.searcher(&state, search.query)? {
            Some(searcher) => searcher.discounting(search.later_discount).search_rescored(search.filter, search.limit, rescore),
            None => Ok(Vec::new()),
        }
    }

    /// Returns for each turn the cosine of its best vector, by the codes; `None` for a turn without vectors.
    #[cfg(test)]
    pub fn scores_of(&self, query: &[f32], turns: &[i64]) -> Result<Vec<Option<f32>>, VectorError> {
        let state = self.state();
        Ok(match self.searcher(&state, query)? {
            Some(searcher) => turns.iter().map(|turn| searcher.score_of(*turn)).collect(),
            None => vec![None; turns.len()],
        })
    }

    /// Returns the vectors of a turn as encoded in the codes, of length 1, in the order of its chunks.
    pub fn vectors_of_turn(&self, turn: i64) -> Option<Vec<Vec<f32>>> {
        let state = self.state();
        let (member, turn) = state.find(turn)?;
        let columns = state.members[member].segment.columns();
        let stride = quantise::stride(self.owner.dimensions);
        let vector = |row: usize| -> Vec<f32> {
            let codes = &columns.codes[row * stride..][..self.owner.dimensions];
            codes.iter().map(|code| f32::from(*code) * columns.scales[row]).collect()
        };
        Some(columns.rows(turn..turn + 1).map(vector).collect())
    }

    /// Reads every byte of every segment and compares it with what was written.
    pub fn verify(&self) -> Result<(), VectorError> {
        for member in &self.state().members {
            member.segment.verify().map_err(|detail| VectorError::Damaged {
                path: member.segment.path().to_path_buf(),
                detail: detail.to_owned(),
            })?;
        }
        Ok(())
    }

    /// Returns the searcher of a query; `None` for a query without direction, which is near to nothing.
    fn searcher<'s>(&self, state: &'s State, query: &[f32]) -> Result<Option<Searcher<'s>>, VectorError> {
        if query.len() != self.owner.dimensions {
            return Err(VectorError::Dimensions { expected: self.owner.dimensions, found: query.len() });
        }
        Ok(Query::new(query).map(|query| Searcher::new(state, self.kernel, self.tuning, query, self.owner.dimensions)))
    }

    /// Returns the segments of this moment; a search keeps them whatever is written meanwhile.
    pub(super) fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn publish(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}
