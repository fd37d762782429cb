//! Text to vectors, and pairs of texts to scores: the models that run on this computer.
//!
//! - [`Embedder`]: the embedders there are
//! - [`StaticTable`]: a vector for each word piece, inside the program
//! - [`TextEmbedder`]: a transformer in a folder
//! - [`Reranker`]: reads question and passage together; beside the embedders
//! - [`ModelFolder`], [`KNOWN`]: what a model's folder holds, and what it should
//! - [`EmbedCache`]: vectors kept across runs of a measurement
//!
//! Nothing here fetches anything or knows where models lie: folders are arguments.

mod cache;
mod error;
mod folder;
mod manifest;
mod network;
mod reranker;
mod static_table;
mod transformer;

pub use cache::{CacheError, EmbedCache, TextHash};
pub use error::EmbedError;
pub use folder::{ModelFolder, file_sha256, verify_file};
pub use manifest::{KNOWN, Manifest, ManifestFile, Package, Pooling, Role};
pub use reranker::Reranker;
pub use static_table::{StaticTable, StaticTableError};
pub use transformer::TextEmbedder;

use std::sync::Arc;

/// How a model is loaded.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Threads that one text is computed with. More than one shortens the wait for a question and
    /// lengthens the work.
    pub threads: usize,
    /// Whether the caller knows that the files are the right ones (see [`ModelFolder::verify`]):
    /// then only their sizes are looked at.
    pub is_trusted: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self { threads: 1, is_trusted: false }
    }
}

/// An embedder, of the kinds there are. Vectors of two of them, or of two versions of one, cannot
/// be compared: [`Embedder::identity`] is kept with every vector.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// The table inside the program: microseconds a text.
    Static(&'static StaticTable),
    /// A transformer: milliseconds a text.
    Local(Arc<TextEmbedder>),
}

impl Embedder {
    /// Numbers in a vector.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Static(_) => StaticTable::DIMENSIONS,
            Self::Local(model) => model.dimensions(),
        }
    }

    /// Everything that decides what a text's vector is. Vectors are comparable if and only if this
    /// is equal.
    pub fn identity(&self) -> String {
        match self {
            Self::Static(_) => StaticTable::identity(),
            Self::Local(model) => model.identity(),
        }
    }

    /// The vector, of length 1, of a text that is to be found; none for a text of which the table
    /// knows no word.
    pub fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        match self {
            Self::Static(table) => Ok(by_table(table, text)),
            Self::Local(model) => model.embed(text).map(Some),
        }
    }

    /// The vector of a question.
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
