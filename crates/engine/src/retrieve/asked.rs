//! What a question is asked of.

use crate::index::{LexicalIndex, SemanticIndex};
use crate::store::Store;

/// What a question is asked of.
pub(crate) struct Asked<'a> {
    /// The words.
    pub store: &'a Store,
    /// Full text.
    pub lexical: &'a LexicalIndex,
    /// Vectors; `None` where only full text is asked.
    pub semantic: Option<&'a SemanticIndex>,
    /// The question's vector by the local model, in the full program.
    pub model_vector: Option<Vec<f32>>,
}
