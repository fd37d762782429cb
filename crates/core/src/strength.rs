//! Computes the confidence that an answer bears on the question, and when an answer is refused.
//!
//! No score can tell a near miss (the memory speaks of the matter, but does not say what is asked) from an
//! answer. What can be told is that a memory knows nothing of the matter.

use serde::{Deserialize, Serialize};

use crate::query::SearchMode;

/// Returns the confidence below which an answer is refused: of the development questions that have an answer,
/// 1 % are below it (`docs/measurements.md`, "Strength"). With the local model the line is higher: its cosines
/// of unrelated texts lie close together, and so do the confidences made of them.
pub fn refused_below(mode: SearchMode) -> f32 {
    match mode {
        SearchMode::Full => 0.15,
        SearchMode::Static | SearchMode::Lexical => 0.06,
    }
}

/// Turns below which a memory is small: in it nothing is refused, because the lines were drawn on memories of thousands of turns, among
/// which something is always near.
pub const SMALL_MEMORY: u64 = 1_000;

/// Signs that a memory, or a turn of it, bears on a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Cosine of the turn that is nearest in meaning, -1 to 1; `None` if meaning was not searched.
    pub nearness: Option<f32>,
    /// Share of the question, by rarity of its terms, that the turn with the most of it holds, 0 to 1.
    pub cover: f32,
    /// Number of the question's terms.
    pub terms: usize,
    /// The lists that were searched.
    pub mode: SearchMode,
}

/// Returns the probability that the memory bears on the question, 0 to 1: a logistic model, fitted on the
/// questions of eight development sets (six with the local model) against as many that were asked of a memory of
/// something else.
pub fn confidence(evidence: &Evidence) -> f32 {
    let Evidence { nearness, cover, terms, mode } = *evidence;
    let length = (1.0 + terms as f32).ln();
    let logit = match nearness {
        None => 15.1 * cover + 1.66 * length - 9.54,
        Some(nearness) if mode == SearchMode::Full => 19.6 * nearness + 9.05 * cover - 16.3,
        Some(nearness) => 12.2 * nearness + 9.94 * cover + 0.74 * length - 11.6,
    };
    1.0 / (1.0 + (-logit).exp())
}

open_named_enum! {
    /// Strength of evidence.
    Strength {
        /// Nine of ten such answers bear on the question.
        Strong = "strong",
        /// Half of them do.
        Fair = "fair",
        /// One of ten does.
        Weak = "weak",
    }
}

impl Strength {
    /// Returns the strength of a confidence.
    pub fn of(confidence: f32) -> Self {
        match confidence {
            sure if sure >= 0.75 => Self::Strong,
            sure if sure >= 0.3 => Self::Fair,
            _ => Self::Weak,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sure(nearness: Option<f32>, cover: f32, terms: usize) -> f32 {
        confidence(&Evidence { nearness, cover, terms, mode: SearchMode::Static })
    }

    #[test]
    fn all_words_in_one_turn_are_strong_and_a_common_word_alone_is_refused() {
        assert_eq!(Strength::of(sure(Some(0.55), 1.0, 4)), Strength::Strong);
        assert_eq!(Strength::of(sure(None, 1.0, 1)), Strength::Strong, "the only word, without meaning");
        let line = refused_below(SearchMode::Static);
        assert!(sure(Some(0.3), 0.1, 6) < line);
        assert!(sure(None, 0.1, 6) < line);
    }

    proptest! {
        #[test]
        fn more_evidence_is_surer(nearness in proptest::option::of(-1.0f32..1.0), cover in 0.0f32..1.0, terms in 0usize..500) {
            let least = sure(nearness, cover, terms);
            prop_assert!((0.0..=1.0).contains(&least));
            prop_assert!(sure(nearness, (cover + 0.1).min(1.0), terms) >= least);
            prop_assert!(sure(nearness.map(|nearness| nearness + 0.1), cover, terms) >= least);
        }
    }
}
