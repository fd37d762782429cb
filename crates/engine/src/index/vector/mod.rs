//! Nearest neighbours among the vectors of turns, by cosine.
//!
//! - [`VectorIndex`]: what readers hold; opens, refreshes, searches
//! - [`VectorWriter`] (`writer`): applies a [`VectorBatch`] (`batch`), merges, purges
//! - `select`: the turns that a filter lets through, decided before vectors are looked at
//! - `search`: sketches propose rows, codes decide, the caller's exact vectors order the best
//! - `state`: the segments of one moment and which of their turns live
//! - `segment`, `manifest`, `merge`: the files and how many there are
//! - `quantise`, `sketch`, `simd`: a vector in bytes, in bits, and the loops over both
//! - `mapped`, `bits`: bytes of files as numbers; sets
//!
//! The index is a directory of immutable segments and a manifest that lists them; it may be
//! deleted at any time, because its owner can make it again. A change is one new segment, which
//! also names the turns of older segments that it replaces or removes, and then a new manifest, so
//! a reader sees all of a change or nothing. Whatever does not fit together (another owner, another
//! format, a file that is missing or was exchanged) makes the index open empty and say so.
//!
//! The exact vectors are not here: a row has a byte a dimension, and the caller may score the best
//! rows by the vectors that it keeps.

mod batch;
mod bits;
mod manifest;
mod mapped;
mod merge;
mod quantise;
mod search;
mod segment;
mod select;
mod simd;
mod sketch;
mod state;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

pub use batch::{VectorBatch, VectorChunk};
pub use search::{Rescore, VectorHit, VectorSearch};
pub use writer::{VectorWriter, Written};

use manifest::Owner;
use quantise::Query;
use search::Searcher;
use simd::Kernel;
use state::{State, load};

/// Dimensions that a sum of products cannot overflow with, and then some.
const MAX_DIMENSIONS: usize = 16_384;

/// What can go wrong with the vector index. Its directory can always be deleted: it is made again
/// from the store.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// No space left where the index lies.
    #[error("no space left for the vector index {0}; make room, the index goes on where it stopped")]
    DiskFull(PathBuf),
    /// A file of the index could not be read or written.
    #[error("the vector index {path}: {source}; check the directory's permissions, or delete it to have it made again")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file of the index is not what was written; found by [`VectorIndex::verify`].
    #[error("the vector index {path} is damaged: {detail}; delete its directory to have it made again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        detail: String,
    },
    /// A vector or a question of another length than the index was opened for.
    #[error("a vector of {found} dimensions does not fit an index of {expected}")]
    Dimensions {
        /// What the index holds.
        expected: usize,
        /// What came.
        found: usize,
    },
    /// An index of no dimensions, or of too many.
    #[error("an index of {0} dimensions: from 1 to {MAX_DIMENSIONS} are possible")]
    BadDimensions(usize),
    /// More vectors in one batch than a segment can number.
    #[error("a batch of vectors is too large; write it in parts")]
    BatchFull,
}

impl VectorError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull(path.to_path_buf()),
            _ => Self::Io { path: path.to_path_buf(), source },
        }
    }
}

/// Why an index is empty although its owner may have filled one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// There is no index, or one that was never written.
    Missing,
    /// It was written by another version of the program.
    OtherFormat,
    /// Its vectors are of another model, or of another length.
    OtherVectors,
    /// It belongs to another store.
    OtherStore,
    /// Something is missing, cut short or exchanged.
    Damaged(String),
}

/// What is known of a turn besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnMetadata {
    /// Row of the project; 0 if there is none.
    pub project: u32,
    /// Row of the branch; 0 if there is none.
    pub branch: u32,
    /// Number of the role.
    pub role: u8,
    /// Row of the episode.
    pub episode: i64,
    /// When it was said; the least value when nothing is known.
    pub at: i64,
    /// Place in its episode.
    pub position: i64,
    /// Whether it is a passage of a document.
    pub is_document: bool,
}

impl Default for TurnMetadata {
    fn default() -> Self {
        Self { project: 0, branch: 0, role: 0, episode: 0, at: i64::MIN, position: 0, is_document: false }
    }
}

/// Which index to open.
#[derive(Clone, Debug)]
pub struct VectorOptions {
    /// Where it lies; nothing else may lie there.
    pub directory: PathBuf,
    /// What its vectors are: model, file, runtime, how texts were cut. Of another identity they
    /// are of no use.
    pub identity: String,
    /// Ties the index to one store.
    pub token: String,
    /// Of every vector.
    pub dimensions: usize,
}

/// What is chosen by measuring; other values are for tests.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    /// Rows below which segments are merged with whatever comes.
    merge_floor: u64,
    /// Rows from which a segment gets sketches.
    sketched_from: usize,
    /// Bytes of codes from which a search begins with sketches.
    sketches_used_from: usize,
    /// The least number of rows that sketches propose,
    least_candidates: usize,
    /// and the part of all rows, one in so many.
    candidate_share: usize,
}

impl Tuning {
    /// Measured on 45,811 chunks of real texts with 742 questions: the best 1,000 estimates hold
    /// every one of the ten true neighbours by the vectors of bge-small; by those of the static
    /// table they miss one in 2,500, and the best 2,000 one in 10,000. While the codes stay in the
    /// processor's cache, sketches would save no time.
    const DEFAULT: Self = Self {
        merge_floor: 256,
        sketched_from: 16_384,
        sketches_used_from: 12 << 20,
        least_candidates: 2_000,
        candidate_share: 50,
    };
}

/// The vectors of turns. Any number of threads and processes may read; see [`VectorIndex::writer`]
/// for writing.
#[derive(Debug)]
pub struct VectorIndex {
    directory: PathBuf,
    owner: Owner,
    kernel: Kernel,
    tuning: Tuning,
    state: RwLock<Arc<State>>,
}

impl VectorIndex {
    /// Opens the index of this owner, or an empty one: [`VectorIndex::reset_reason`] says whether
    /// and why. What a killed writer left is removed, unless another process is writing.
    pub fn open(options: &VectorOptions) -> Result<Self, VectorError> {
        Self::open_tuned(options, Tuning::DEFAULT)
    }

    fn open_tuned(options: &VectorOptions, tuning: Tuning) -> Result<Self, VectorError> {
        let VectorOptions { directory, identity, token, dimensions } = options.clone();
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(VectorError::BadDimensions(dimensions));
        }
        crate::platform::create_private_directory(&directory).map_err(|error| VectorError::io(&directory, error))?;
        let owner = Owner { identity, token, dimensions };
        let state = Arc::new(load(&directory, &owner, None)?.unwrap_or_else(|| State::empty(&owner, None)));
        let index = Self { directory, owner, kernel: Kernel::detect(), tuning, state: RwLock::new(state) };
        if writer::has_leftovers(&index.directory, &index.state()) {
            // Where that is not possible the next writer says why.
            let _ = index.writer();
        }
        Ok(index)
    }

    /// Whether what its owner may have filled is not there: everything has to come again.
    pub fn was_reset(&self) -> bool {
        self.reset_reason().is_some()
    }

    /// Why the index is empty; `None` as soon as something was written, or when it was opened as
    /// it was left.
    pub fn reset_reason(&self) -> Option<ResetReason> {
        self.state().reset.clone()
    }

    /// The caller's number that came with the last change; 0 before the first.
    pub fn position(&self) -> u64 {
        self.state().manifest.position
    }

    /// Dimensions of every vector.
    pub fn dimensions(&self) -> usize {
        self.owner.dimensions
    }

    /// Vectors of living turns.
    pub fn len(&self) -> u64 {
        self.state().members.iter().map(|member| member.live_rows as u64).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Living turns.
    pub fn turns(&self) -> u64 {
        self.state().members.iter().map(|member| member.live_turns as u64).sum()
    }

    /// Segments.
    pub fn segments(&self) -> usize {
        self.state().members.len()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let state = self.state();
        let segments: u64 = state.members.iter().map(|member| member.segment.record.bytes).sum();
        segments + state.seen.as_ref().map_or(0, |seen| seen.len() as u64)
    }

    /// Whether a turn has vectors here.
    pub fn contains(&self, turn: i64) -> bool {
        self.state().find(turn).is_some()
    }

    /// Takes notice of what other processes wrote; says whether there was anything.
    pub fn refresh(&self) -> Result<bool, VectorError> {
        match load(&self.directory, &self.owner, Some(&self.state()))? {
            Some(state) => {
                self.publish(state);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The right to write, which one writer of all processes has at a time; `None` while another
    /// has it. Begins with what was written last.
    pub fn writer(&self) -> Result<Option<VectorWriter<'_>>, VectorError> {
        VectorWriter::new(self)
    }

    /// The turns whose best vectors are nearest to the query, best first, by their codes: cosines
    /// are right to about 0.01. Among equals the turn with the greater number comes first.
    pub fn search(&self, search: &VectorSearch<'_>) -> Result<Vec<VectorHit>, VectorError> {
        let state = self.state();
        Ok(match self.searcher(&state, search.query)? {
            Some(searcher) => searcher.discounting(search.later_discount).search(search.filter, search.limit),
            None => Vec::new(),
        })
    }

    /// As [`VectorIndex::search`], but the best rows are scored by the vectors that `rescore` gives
    /// for their ids, in the same order; a row whose vector it does not have any more is dropped.
    /// A row with id 0 keeps the score of its codes.
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

    /// For each turn the cosine of its best vector, by the codes; `None` for a turn without.
    pub fn scores_of(&self, query: &[f32], turns: &[i64]) -> Result<Vec<Option<f32>>, VectorError> {
        let state = self.state();
        Ok(match self.searcher(&state, query)? {
            Some(searcher) => turns.iter().map(|turn| searcher.score_of(*turn)).collect(),
            None => vec![None; turns.len()],
        })
    }

    /// The vectors of a turn, of length 1, in the order of its chunks, as the codes have them.
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

    /// What a search works with; `None` for a query without direction, which is near to nothing.
    fn searcher<'s>(&self, state: &'s State, query: &[f32]) -> Result<Option<Searcher<'s>>, VectorError> {
        if query.len() != self.owner.dimensions {
            return Err(VectorError::Dimensions { expected: self.owner.dimensions, found: query.len() });
        }
        Ok(Query::new(query).map(|query| Searcher::new(state, self.kernel, self.tuning, query, self.owner.dimensions)))
    }

    /// The segments of this moment; a search keeps them whatever is written meanwhile.
    fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }
}
