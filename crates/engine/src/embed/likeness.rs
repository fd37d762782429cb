//! Likeness in meaning of short texts by the built-in table, each text embedded once.

use std::cell::RefCell;
use std::collections::HashMap;

use super::StaticTable;

type Vector = [f32; StaticTable::DIMENSIONS];

/// Vectors of the texts that were compared so far.
#[derive(Debug, Default)]
pub(crate) struct TextLikeness(RefCell<HashMap<String, Option<Vector>>>);

impl TextLikeness {
    /// Returns the cosine of the vectors of two texts; 0 if the table has no word of one.
    pub(crate) fn of(&self, first: &str, second: &str) -> f32 {
        let mut known = self.0.borrow_mut();
        for text in [first, second] {
            if !known.contains_key(text) {
                known.insert(text.to_owned(), StaticTable::vector_of(text));
            }
        }
        match (known.get(first), known.get(second)) {
            (Some(Some(a)), Some(Some(b))) => a.iter().zip(b).map(|(x, y)| x * y).sum(),
            _ => 0.0,
        }
    }
}
