//! Checks a sentence that a model wrote against its evidence.

use yore_core::text::{Tokenizer, content_words};

/// Share of the words of a sentence that its evidence must have.
const SUPPORTED: f32 = 0.5;

/// Returns whether evidence supports a sentence: it has half of its words, and every number and name in it.
pub(crate) fn is_supported(sentence: &str, evidence: &str, tokenizer: &mut Tokenizer) -> bool {
    let has = content_words(evidence, tokenizer);
    let words = content_words(sentence, tokenizer);
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
        let mut is = |sentence: &str| is_supported(sentence, evidence, &mut tokenizer);
        assert!(is("The queue moved from Redis to SQLite since heartbeats were lost."));
        assert!(is("It is in src/queue.rs."));
        assert!(!is("Heartbeats were lost after 60 s."), "another number");
        assert!(!is("The queue moved to SQLite in src/store.rs."), "another file");
        assert!(!is("Postgres would need a server, backups and an operator."), "other words");
    }
}
