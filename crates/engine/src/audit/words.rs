//! Names and words of an instruction, and whether it denies them.

use std::collections::HashSet;

use yore_core::text::{Tokenizer, content_words};

/// The form in which a text names a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Between backticks.
    Code,
    /// A word that its letters mark as a name: inner capitals, digits, an underscore, or a capital within a sentence.
    Name,
    /// Any other word.
    Plain,
}

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    pub text: &'t str,
    /// Its place in the text, in bytes.
    pub at: usize,
    pub form: Form,
}

/// Words that deny what follows them in a sentence.
const DENIALS: [&str; 20] = [
    "no", "not", "never", "don't", "doesn't", "isn't", "aren't", "won't", "can't", "cannot", "without", "than", "instead",
    "avoid", "nor", "neither", "former", "formerly", "old", "nobody",
];
/// Verbs that say that a thing is a matter of the past.
const PAST: [&str; 16] = [
    "replaced",
    "replaces",
    "gone",
    "removed",
    "dropped",
    "retired",
    "deleted",
    "renamed",
    "deprecated",
    "anymore",
    "ported",
    "migrated",
    "used to",
    "no longer",
    "any more",
    "moved from",
];

/// Returns the words of a text: letters, digits, underscores, and points and hyphens between them.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found: Vec<Word<'_>> = Vec::new();
    let mut begin: Option<usize> = None;
    let mut is_code = false;
    let mut opens_sentence = true;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let joins = "-.@".contains(letter) && begin.is_some() && letters.peek().is_some_and(|(_, next)| is_part(*next));
        if is_part(letter) || joins {
            begin.get_or_insert(at);
            if letters.peek().is_some() {
                continue;
            }
        }
        let end = if is_part(letter) { text.len() } else { at };
        if let Some(start) = begin.take() {
            let word = &text[start..end];
            let form = if is_code {
                Form::Code
            } else if is_name(word, opens_sentence) {
                Form::Name
            } else {
                Form::Plain
            };
            found.push(Word { text: word, at: start, form });
            opens_sentence = false;
        }
        if letter == '`' {
            is_code = !is_code;
        }
        opens_sentence |= matches!(letter, '.' | ':' | '!' | '?' | ';' | '|');
    }
    found
}

/// Returns whether the letters of a word mark it as a name.
fn is_name(word: &str, opens_sentence: bool) -> bool {
    let capitals = word.chars().filter(|letter| letter.is_uppercase()).count();
    let begins = word.starts_with(char::is_uppercase);
    let has_letters = word.chars().any(char::is_alphabetic);
    has_letters && word.len() > 2 && (capitals > usize::from(begins) || word.contains('_') || begins && !opens_sentence)
}

/// Returns whether the sentence of a place denies what is named there, or calls it a matter of the past.
pub(super) fn is_denied(text: &str, at: usize) -> bool {
    let (begin, end) = sentence_of(text, at);
    let before = text[begin..at].to_lowercase();
    let whole = text[begin..end].to_lowercase();
    let has = |word: &str| before.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').any(|own| own == word);
    DENIALS.iter().any(|word| has(word)) || PAST.iter().any(|word| whole.contains(word))
}

/// Returns the bounds of the sentence around a place: to the next mark before a space.
pub(super) fn sentence_of(text: &str, at: usize) -> (usize, usize) {
    let ends = |place: usize, letter: char| {
        matches!(letter, '.' | ';' | '!' | '?' | '\u{2014}') && text[place + letter.len_utf8()..].starts_with([' ', '\n'])
    };
    let begin = text[..at].char_indices().rfind(|(place, letter)| ends(*place, *letter));
    let end =
        text[at..].char_indices().find(|(place, letter)| ends(at + place, *letter)).map_or(text.len(), |(place, _)| at + place);
    (begin.map_or(0, |(place, letter)| place + letter.len_utf8()), end)
}

/// Words that are known, in lower case and in the form of the index.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    plain: HashSet<String>,
    stems: HashSet<String>,
}

impl Vocabulary {
    /// Adds the words of a text, and the parts of names in it.
    pub fn add(&mut self, text: &str, tokenizer: &mut Tokenizer) {
        for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty()) {
            let lower = word.to_lowercase();
            if word.len() > LONGEST || self.plain.contains(&lower) {
                continue;
            }
            self.stems.extend(content_words(word, tokenizer));
            for part in lower.split('_').filter(|part| !part.is_empty()) {
                self.stems.extend(content_words(part, tokenizer));
            }
            self.plain.insert(lower);
        }
    }

    /// Adds a name as it is, with its points and hyphens.
    pub fn add_whole(&mut self, name: &str) {
        if name.len() <= LONGEST {
            self.plain.insert(name.to_lowercase());
        }
    }

    /// Adds the words of another.
    pub fn extend(&mut self, other: &Self) {
        self.plain.extend(other.plain.iter().cloned());
        self.stems.extend(other.stems.iter().cloned());
    }

    /// Returns whether a word is known, in any form.
    pub fn knows(&self, word: &str, tokenizer: &mut Tokenizer) -> bool {
        if self.plain.contains(&word.to_lowercase()) {
            return true;
        }
        // A name of known parts is not known by these.
        let stems = content_words(word, tokenizer);
        !stems.is_empty() && stems.iter().all(|stem| self.stems.contains(stem)) && !is_name(word, true)
    }

    /// Returns whether exactly this word, in lower case, is known.
    pub fn has(&self, word: &str) -> bool {
        self.plain.contains(word)
    }
}

/// Longest word that is kept, in bytes; a longer one is data.
const LONGEST: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_plain_words_by_their_letters() {
        let found = words("Use GraphQL on Fridays; run `pier_lamp --on` with v2.1. The lamp is foo-bar.");
        let of = |form: Form| found.iter().filter(|word| word.form == form).map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(of(Form::Code), ["pier_lamp", "on"]);
        assert_eq!(of(Form::Name), ["GraphQL", "Fridays"]);
        assert!(of(Form::Plain).contains(&"foo-bar") && of(Form::Plain).contains(&"v2.1"));
    }

    #[test]
    fn a_denial_reaches_to_the_end_of_its_sentence() {
        let denied = |text: &str| is_denied(text, text.find("brine").unwrap());
        assert!(denied("Don't use tar, pitch or brine."));
        assert!(denied("Use tar instead of brine"));
        assert!(denied("The brine is gone."));
        assert!(!denied("Never use tar. Use brine."));
        assert!(!denied("Use brine, not tar."));
    }

    #[test]
    fn a_vocabulary_knows_forms_and_parts_of_its_words() {
        let (mut known, mut tokenizer) = (Vocabulary::default(), Tokenizer::default());
        known.add("loadHarbour crane_lamp painted", &mut tokenizer);
        for word in ["harbour", "lamp", "paint", "LOADHARBOUR"] {
            assert!(known.knows(word, &mut tokenizer), "{word}");
        }
        assert!(!known.knows("satellite", &mut tokenizer));
    }
}
