//! Checks a sentence that a model wrote against its evidence.

use yore_core::text::{Tokenizer, content_words};
use yore_core::time::{UtcMillis, format_day};

/// Share of the words of a sentence that its evidence must have.
const SUPPORTED: f32 = 0.5;

/// Returns whether evidence supports a sentence: it has half of its words, and every number and name in it. The days of the evidence,
/// given beside its words, may be named whole (2026-02-13).
pub(crate) fn is_supported(
    sentence: &str,
    evidence: &str,
    days: impl IntoIterator<Item = UtcMillis>,
    tokenizer: &mut Tokenizer,
) -> bool {
    let mut sentence = sentence.to_owned();
    for day in days {
        sentence = sentence.replace(&format_day(day), " ");
    }
    let has = content_words(evidence, tokenizer);
    let words = content_words(&sentence, tokenizer);
    let found = words.iter().filter(|word| has.binary_search(word).is_ok()).count();
    let lower = evidence.to_lowercase();
    let names = sentence.split_whitespace().map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()));
    let is_exact = |word: &&str| word.chars().any(|letter| letter.is_ascii_digit() || matches!(letter, '_' | '/'));
    let are_names_known = names.filter(is_exact).all(|word| lower.contains(&word.to_lowercase()));
    are_names_known && found as f32 >= SUPPORTED * words.len() as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_supported_by_its_words_and_by_every_number_and_name() {
        let evidence = "We moved the queue from Redis to SQLite because heartbeats were lost after 30 s (see src/queue.rs).";
        let mut tokenizer = Tokenizer::default();
        let mut is = |sentence: &str| is_supported(sentence, evidence, [1_770_940_800_000], &mut tokenizer);
        assert!(is("The queue moved from Redis to SQLite since heartbeats were lost."));
        assert!(is("It is in src/queue.rs."));
        assert!(is("Decision of 2026-02-13: the queue moved to SQLite."), "its day");
        assert!(!is("Decision of 2026-02-14: the queue moved to SQLite."), "another day");
        assert!(!is("The queue moved to SQLite after 13 heartbeats."), "a number of the day is none of the words");
        assert!(!is("Heartbeats were lost after 60 s."), "another number");
        assert!(!is("The queue moved to SQLite in src/store.rs."), "another file");
        assert!(!is("Postgres would need a server, backups and an operator."), "other words");
    }
}
