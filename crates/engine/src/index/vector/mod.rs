//! The vector index: nearest neighbours among int8 vectors by cosine, in immutable memory-mapped segments.
//!
//! - [`VectorIndex`] (`vector_index`): the index for readers; refreshes, searches; `open`
//! - [`VectorWriter`] (`writer`): applies a [`VectorBatch`] (`batch`), merges, purges
//! - `select`: finds the turns that pass a filter, before vectors are read
//! - `search`: sketches propose rows, codes score them, the caller's exact vectors order the best
//! - `state`: the segments of one moment and their live turns
//! - `segment`, `manifest`, `merge`: the files, and the number of segments
//! - `quantise`, `sketch`, `simd`: a vector in bytes, in bits, and the loops over both
//! - `error`, `metadata`, `tuning`
//! - `mapped`, `bits`: bytes of files as numbers; sets
//!
//! The index is a directory of immutable segments and a manifest that lists them; it may be deleted at any
//! time, because its owner can rebuild it. A change is one new segment, which also names the turns of older
//! segments that it replaces or removes, and then a new manifest, so a reader sees all of a change or
//! nothing. An inconsistent directory (another owner, another format, a file that is missing or was
//! exchanged) makes the index open empty and report the reason.
//!
//! The exact vectors are not stored here: a row has one byte for each dimension, and the caller may score the
//! best rows with its own vectors.

mod batch;
mod bits;
mod error;
mod manifest;
mod mapped;
mod merge;
mod metadata;
mod open;
mod quantise;
mod search;
mod segment;
mod select;
mod simd;
mod sketch;
mod state;
#[cfg(test)]
mod tests;
mod tuning;
mod vector_index;
mod writer;

pub use batch::{VectorBatch, VectorChunk};
pub use error::{ResetReason, VectorError};
pub use metadata::TurnMetadata;
pub use search::{Rescore, VectorHit, VectorSearch};
pub use vector_index::{VectorIndex, VectorOptions};
pub use writer::{VectorWriter, Written};
