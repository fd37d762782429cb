//! The words of a text by which sentences and evidence are compared.

use yore_core::text::{Tokenizer, Tokens, is_stop_word};

/// Returns whether a text has one of these words.
pub(super) fn has_one_of(text: &str, terms: &[String]) -> bool {
    let words = content_words(text, &mut Tokenizer::default());
    terms.iter().any(|term| words.binary_search(term).is_ok())
}

/// Returns the words of a text that say something, in the form of the index, sorted.
pub(super) fn content_words(text: &str, tokenizer: &mut Tokenizer) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokenizer.tokenize(text, &mut tokens);
    let mut words: Vec<String> = tokens.iter().map(|token| token.text.to_owned()).filter(|word| !is_stop_word(word)).collect();
    words.sort();
    words.dedup();
    words
}
