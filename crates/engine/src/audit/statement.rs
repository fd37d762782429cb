//! A sentence that was said or written at a time, with which lines are compared.

use yore_core::time::UtcMillis;

/// Longest sentence that is compared, in bytes.
const LONGEST: usize = 600;

/// Something that was said or written at a time.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// One sentence.
    pub text: String,
    /// The title of the commit that it is from; else empty.
    pub title: String,
    pub at: UtcMillis,
    /// Where it is, with its words.
    pub proof: String,
}

/// Returns the sentences of a text, without code blocks.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("```").unwrap_or(text.len());
    text[..end]
        .split_inclusive(". ")
        .flat_map(|part| part.split_inclusive("; "))
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|sentence| sentence.split_whitespace().count() > 2 && sentence.len() <= LONGEST)
}
