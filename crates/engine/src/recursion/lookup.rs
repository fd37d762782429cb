//! Asks the memory for a run, beside the words of its pieces: recall, and what a piece is related to.

use serde::{Deserialize, Serialize};

/// The memory, as a run asks it beside the words of the pieces. Its answers are part of the log of a run, because the archive may change.
pub(super) trait Lookup {
    /// Returns the numbers of the pieces that are found for words, best first.
    fn recall(&self, words: &str) -> Vec<usize>;

    /// Returns what a piece is related to.
    #[cfg_attr(not(feature = "python"), allow(dead_code, reason = "only Python asks for it"))]
    fn related(&self, piece: usize) -> Vec<Related>;
}

/// A thing that a piece is related to.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Related {
    /// Name of the relation.
    pub relation: String,
    /// Kind or speaker, and status.
    pub what: String,
    /// Its first words.
    pub text: String,
    /// Number of the piece that it is, if it is one.
    pub piece: Option<usize>,
}
