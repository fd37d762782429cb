//! Tells how well a sentence says the cause of something, or what mended it.

use super::{Sentence, Words};

/// Least worth of a sentence that says a cause or a repair by itself.
pub const FINDING: f32 = 2.0;

/// Returns how well a sentence tells a cause, or what mended it; 0 for one that does not.
pub fn finding_worth(sentence: &Sentence<'_>, words: &Words) -> f32 {
    let has = |section: &str| words.has(section, &sentence.normal);
    let is_below = |section: &str| words.is(section, &sentence.heading);
    let is_labelled = ["label problem", "label cause", "label fix"].into_iter().any(is_below);
    match () {
        () if sentence.is_question || has("announce") || sentence.normal.contains(" let me ") => 0.0,
        () if has("strong cause") => 3.0,
        () if has("mending") => 2.5,
        () if has("cause") || is_labelled => FINDING,
        () if has("outcome") => 1.0,
        () => 0.0,
    }
}
