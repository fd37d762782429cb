//! Parses a question into terms and quoted phrases for the full-text index. Any text is a valid question: there is no query
//! syntax but double quotes, and an unbalanced quote is an ordinary character.

use std::borrow::Cow;
use std::collections::HashSet;

use super::stop_words::is_stop_word;
use super::tokenizer::{TokenKind, Tokenizer, Tokens};

/// Most terms of a question. A pasted log can have thousands of words; past this many the index chooses the
/// rarest.
const MAX_TERMS: usize = 256;
/// Most words beside phrases that must occur.
const MOST_BESIDE: usize = 3;
/// Marks that open and close a quotation.
const QUOTES: [char; 3] = ['"', '“', '”'];

/// The terms to score by, and the phrases that an answer must or should contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Distinct terms in the order of the question, without stop words unless there is nothing else.
    pub terms: Vec<String>,
    /// The whole tokens of each quoted phrase, with their positions from 0.
    pub phrases: Vec<Vec<(usize, String)>>,
    /// True if an answer must contain the phrases, because there is little beside them. A sentence that asks something, or tells it, and
    /// also quotes a title or a name only prefers them.
    pub are_phrases_required: bool,
    /// True if the text reads like a pasted error message.
    pub is_error_message: bool,
}

impl Question {
    /// Parses a question.
    pub fn parse(text: &str, tokenizer: &mut Tokenizer) -> Self {
        let mut tokens = Tokens::default();
        let mut phrases = Vec::new();
        for quoted in quoted_phrases(text) {
            tokenizer.tokenize(quoted, &mut tokens);
            let whole: Vec<(usize, String)> = tokens
                .iter()
                .filter(|token| token.kind == TokenKind::Whole)
                .map(|token| (token.position, token.text.to_owned()))
                .collect();
            // A single quoted word asks for that word; a phrase needs two.
            if !whole.is_empty() {
                phrases.push(whole);
            }
        }
        tokenizer.tokenize(text, &mut tokens);
        let mut seen = HashSet::new();
        let mut terms: Vec<String> = Vec::new();
        let mut stop_words: Vec<String> = Vec::new();
        for token in tokens.iter() {
            if !seen.insert(token.text) {
                continue;
            }
            let original = text.get(token.start..token.end).unwrap_or_default();
            if is_stop_word(token.text) || is_stop_word(&original.to_lowercase()) {
                stop_words.push(token.text.to_owned());
            } else if terms.len() < MAX_TERMS {
                terms.push(token.text.to_owned());
            }
        }
        if terms.is_empty() {
            terms = stop_words;
            terms.truncate(MAX_TERMS);
        }
        Self {
            terms,
            phrases,
            are_phrases_required: !asks(text) && words_beside(text) <= MOST_BESIDE,
            is_error_message: is_error_message(text),
        }
    }

    /// Returns whether the text has nothing to look up.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// Joins a question and other wordings of it to one text to search for, without quotation marks: a caller
/// that gives several wordings does not mean an exact phrase.
pub fn joined<'q>(question: &'q str, wordings: &[String]) -> Cow<'q, str> {
    if wordings.is_empty() {
        return Cow::Borrowed(question);
    }
    let all: Vec<&str> = std::iter::once(question).chain(wordings.iter().map(String::as_str)).collect();
    Cow::Owned(all.join("\n").replace(QUOTES, " "))
}

/// Returns whether a text reads like a pasted error message rather than like a question about one: it names a
/// failure, has the punctuation of a program's output, and does not ask.
pub fn is_error_message(text: &str) -> bool {
    const FAILURES: [&str; 12] = [
        "error",
        "exception",
        "panicked",
        "traceback",
        "fatal",
        "failed",
        "failure",
        "cannot ",
        "denied",
        "undefined",
        "not found",
        "unresolved",
    ];
    let lower = text.to_lowercase();
    !asks(text)
        && text.contains([':', '`', '\'', '"', '(', '/', '_', '[', '='])
        && FAILURES.iter().any(|failure| lower.contains(failure))
}

/// Returns whether a text is a sentence that asks.
fn asks(text: &str) -> bool {
    let first = text.split(|letter: char| !letter.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("");
    text.trim_end().ends_with('?')
        || matches!(
            first.to_lowercase().as_str(),
            "how" | "why" | "what" | "when" | "where" | "which" | "who" | "did" | "do" | "does"
        )
}

/// Returns the number of words outside of pairs of double quotes.
fn words_beside(text: &str) -> usize {
    let words = |text: &str| text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    words(text).saturating_sub(quoted_phrases(text).into_iter().map(words).sum())
}

/// Returns the texts between pairs of double quotes.
fn quoted_phrases(text: &str) -> Vec<&str> {
    let marks: Vec<usize> = text.match_indices(QUOTES).map(|(at, _)| at).collect();
    marks
        .chunks_exact(2)
        .filter_map(|pair| text.get(pair[0]..pair[1]))
        .filter_map(|stretch| stretch.get(stretch.chars().next()?.len_utf8()..))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quoted_words_are_required_in_a_search_and_preferred_in_a_sentence_that_asks() {
        assert!(parse("\"act of war\" author").are_phrases_required);
        assert!(!parse("git rebase kept asking \"link this commit\" for each commit").are_phrases_required);
        assert!(!parse("Which genre is the author of \"Act of War\" known for?").are_phrases_required);
    }

    fn parse(text: &str) -> Question {
        Question::parse(text, &mut Tokenizer::default())
    }

    #[test]
    fn wordings_are_looked_for_as_one_text_without_phrases() {
        let wordings = ["the \"dirty\" work tree".to_owned(), "git “status”".to_owned()];
        let text = joined("why \"git status\"?", &wordings);
        assert_eq!(text, "why  git status ?\nthe  dirty  work tree\ngit  status ");
        assert_eq!(parse(&text).phrases, [[]; 0]);
        assert_eq!(joined("why \"git status\"?", &[]), "why \"git status\"?");
    }

    #[test]
    fn stop_words_go_unless_alone() {
        assert_eq!(parse("why did we use the WAL?").terms, ["use", "wal"]);
        assert_eq!(parse("what is this").terms, ["what", "is", "this"]);
    }

    #[test]
    fn pasted_errors_are_told_from_questions_about_them() {
        assert!(parse("TypeError: x is not a function").is_error_message);
        assert!(parse("error[E0308]: mismatched types").is_error_message);
        assert!(!parse("how did we fix the \"not found\" error?").is_error_message);
        assert!(!parse("the build failed again").is_error_message);
    }

    #[test]
    fn quoted_phrases_keep_stop_words_and_positions() {
        let question = parse("say \"is not a function\" please");
        assert_eq!(question.phrases, [[(0, "is".into()), (1, "not".into()), (2, "a".into()), (3, "function".into())]]);
    }

    #[test]
    fn syntax_characters_are_only_characters() {
        for text in ["what's C++?", "foo-bar", "a AND", "TypeError: x", "src/db.rs", "\"", "NEAR(", "col:*", "-", ""] {
            parse(text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_question(text in "\\PC{0,120}") {
            let question = parse(&text);
            prop_assert!(question.terms.len() <= MAX_TERMS);
            prop_assert!(question.terms.iter().all(|term| !term.is_empty()));
        }
    }
}
