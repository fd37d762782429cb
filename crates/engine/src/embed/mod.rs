//! Converts texts to vectors, and pairs of texts to scores, with models that run on this computer.
//!
//! - [`Embedder`]: all kinds of embedders
//! - [`StaticTable`]: a built-in table with a vector for each word piece
//! - [`TextEmbedder`]: a transformer in a folder
//! - [`Reranker`]: reads question and passage together; not an embedder
//! - [`ModelFolder`], [`KNOWN`]: the actual and the expected content of a model's folder
//! - `TextLikeness`: cosines of short texts by the built-in table
//! - [`EmbedCache`]: vectors kept across runs of a measurement
//!
//! This module fetches nothing and has no paths of its own: folders are arguments.

mod cache;
mod error;
mod folder;
mod likeness;
mod manifest;
mod network;
mod reranker;
mod static_table;
mod transformer;

pub use cache::{CacheError, EmbedCache, TextHash};
pub use error::EmbedError;
pub use folder::{ModelFolder, file_sha256, verify_file};
pub(crate) use likeness::TextLikeness;
pub use manifest::{KNOWN, Manifest, ManifestFile, Package, Pooling, Role};
pub use reranker::Reranker;
pub use static_table::{StaticTable, StaticTableError};
pub use transformer::TextEmbedder;

use std::sync::Arc;

/// Options for loading a model.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Threads that compute one text. More than one shortens the wait for a question, but adds to the total
    /// work.
    pub threads: usize,
    /// True if the caller has verified the files (see [`ModelFolder::verify`]): then only their sizes are
    /// checked.
    pub is_trusted: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { threads: 1, is_trusted: false }
    }
}

/// An embedder of any kind. Vectors of two of them, or of two versions of one, cannot be compared:
/// [`Embedder::identity`] is stored with every vector.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// The built-in table: microseconds a text.
    Static(&'static StaticTable),
    /// A transformer: milliseconds a text.
    Local(Arc<TextEmbedder>),
}

impl Embedder {
    /// Returns the number of numbers in a vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Static(_) => StaticTable::DIMENSIONS,
            Self::Local(model) => model.dimensions(),
        }
    }

    /// Returns the identity of everything that decides a text's vector. Vectors are comparable if and only if
    /// this is equal.
    pub fn identity(&self) -> String {
        match self {
            Self::Static(_) => StaticTable::identity(),
            Self::Local(model) => model.identity(),
        }
    }

    /// Returns the vector, of length 1, of a text to be found; `None` if the table has no word of the text.
    pub fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        match self {
            Self::Static(table) => Ok(by_table(table, text)),
            Self::Local(model) => model.embed(text).map(Some),
        }
    }

    /// Returns the vector of a question.
    pub fn embed_question(&self, question: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        match self {
            Self::Static(table) => Ok(by_table(table, question)),
            Self::Local(model) => model.embed_question(question).map(Some),
        }
    }
}

fn by_table(table: &StaticTable, text: &str) -> Option<Vec<f32>> {
    let mut vector = [0.0; StaticTable::DIMENSIONS];
    table.embed(text, &mut vector).then(|| vector.to_vec())
}
