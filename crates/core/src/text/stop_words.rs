//! English words that are too common to distinguish turns. They are indexed, so that quoted phrases find
//! them, but a question drops them unless it consists of nothing else.

use super::tokenizer::{Tokenizer, Tokens};

/// Sorted, for binary search. Words of programming languages that mean something in a question
/// ("for loop", "if", "while", "not", "no") are left out on purpose where they are rare in prose.
const STOP_WORDS: &[&str] = &[
    "a", "about", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "being", "but",
    "by", "can", "could", "d", "did", "didn", "do", "does", "doesn", "doing", "don", "each", "ever", "for", "from", "had", "has",
    "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its",
    "just", "ll", "m", "may", "me", "might", "more", "most", "much", "must", "my", "of", "on", "or", "other", "our", "ours",
    "out", "over", "own", "re", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
    "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "up", "us", "ve", "very", "was",
    "wasn", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would",
    "you", "your", "yours",
];

/// Returns whether a lower-case word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Returns the words of a text that are no stop words, in the form of the index, sorted, each once.
pub fn content_words(text: &str, tokenizer: &mut Tokenizer) -> Vec<String> {
    let mut tokens = Tokens::default();
    tokenizer.tokenize(text, &mut tokens);
    let mut words: Vec<String> = tokens.iter().map(|token| token.text.to_owned()).filter(|word| !is_stop_word(word)).collect();
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_sorted_and_every_member_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("error"));
    }
}
