//! Reads a statement into the words by which it is compared: each with its stem, its kind and, for a number, its unit.

use super::lists::Lists;
use crate::text::{TokenKind, Tokenizer, Tokens, fragments};

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It carries no content.
    Empty,
    Plain,
    Number,
    Time,
    Day,
    /// A month, or a date.
    Date,
    Version,
    /// A path, or an address.
    Path,
    /// A name: an identifier, or a word with capitals inside.
    Name,
}

impl Kind {
    /// Returns whether two values may stand for one another: a time and a day are both times.
    pub(super) fn is_comparable(self, other: Self) -> bool {
        let is_when = |kind: Self| matches!(kind, Self::Time | Self::Day | Self::Date);
        let is_number = |kind: Self| matches!(kind, Self::Version | Self::Number);
        let is_value = is_when(self) || is_number(self) || self == Self::Path;
        is_value && (self == other || is_when(self) && is_when(other) || is_number(self) && is_number(other))
    }

    pub(super) fn is_value(self) -> bool {
        self.is_comparable(self)
    }
}

/// A word of a statement.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) stem: String,
    pub(super) kind: Kind,
    /// Unit of a number, or the noun after it; empty if there is none.
    pub(super) unit: String,
}

impl Word {
    /// Returns whether it is a word of a category.
    pub(super) fn is(&self, category: &str) -> bool {
        Lists::get().has(category, &self.text)
    }

    /// Returns whether it says how the statement relates to another one, and nothing of its subject.
    pub(super) fn is_cue(&self) -> bool {
        ["change", "additive", "hedge", "negation"].iter().any(|category| self.is(category))
    }

    pub(super) fn denies(&self) -> bool {
        self.is("negation") || self.text.ends_with("n't")
    }
}

/// A statement as it is compared with others.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(super) words: Vec<Word>,
    pub(super) lower: String,
}

/// Bytes at the beginning of a statement that are read.
const READ: usize = 2_000;
/// Marks that words are cut at or freed of.
const CUTS: [char; 9] = ['(', ')', '"', '`', '—', '–', '→', '’', '|'];
const MARKS: &str = "\"`'*()[],;:!?“”‘’„…";
/// Letters before a number.
const BEFORE_NUMBER: [char; 8] = ['$', '€', '~', 'v', '<', '>', '+', '-'];
/// Most letters of a unit that is written with its number: "50mb".
const UNIT_LETTERS: usize = 4;

/// Most words of a statement that is graded as a change: the longest that the weights were fitted on. A longer one makes several claims.
const MOST_WORDS: usize = 28;
/// Fewest words of a first sentence that makes a claim of its own.
const FEWEST_WORDS: usize = 4;

impl Statement {
    /// Reads the first sentence of a statement: it makes the claim, and others explain it. The whole of one that is long, or begins with a few
    /// words or a question.
    pub fn claim_of(text: &str, tokenizer: &mut Tokenizer) -> Self {
        let whole = Self::of(text, tokenizer);
        let first = fragments(text).into_iter().next().map(|range| &text[range]);
        match first.filter(|_| !whole.is_long()).map(|first| Self::of(first, tokenizer)) {
            Some(first) if first.words.len() >= FEWEST_WORDS && !first.is_question() => first,
            _ => whole,
        }
    }

    /// Returns whether it makes several claims, so that it is not graded.
    pub(super) fn is_long(&self) -> bool {
        self.words.len() > MOST_WORDS
    }

    /// Reads a statement.
    pub fn of(text: &str, tokenizer: &mut Tokenizer) -> Self {
        let read = &text[..text.floor_char_boundary(READ)];
        let spaced = read.replace("->", " ").replace(" / ", " ").replace(CUTS, " ");
        let mut words: Vec<Word> = spaced.split_whitespace().filter_map(|raw| word(raw, tokenizer)).collect();
        for at in 0..words.len() {
            if words[at].kind == Kind::Number && words[at].unit.is_empty() {
                let next = words.get(at + 1).filter(|next| matches!(next.kind, Kind::Plain | Kind::Name));
                words[at].unit = next.map_or_else(String::new, |next| next.stem.clone());
            }
        }
        Self { words, lower: read.to_lowercase() }
    }

    /// Returns whether it has a word of a category.
    pub(super) fn has(&self, category: &str) -> bool {
        self.words.iter().any(|word| word.is(category))
    }

    /// Returns whether it says what its speakers do: "we deploy with Helm".
    pub(super) fn is_of_us(&self) -> bool {
        self.words.first().is_some_and(|word| ["we", "i", "wir", "ich", "nous", "je"].contains(&word.text.as_str()))
    }

    pub(super) fn is_question(&self) -> bool {
        self.lower.trim_end().ends_with('?')
    }

    /// Returns its words in lower case.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }

    /// Returns the places of the words that carry content.
    pub(super) fn content(&self) -> Vec<usize> {
        (0..self.words.len()).filter(|at| self.words[*at].kind != Kind::Empty).collect()
    }
}

fn word(raw: &str, tokenizer: &mut Tokenizer) -> Option<Word> {
    let is_mark = |letter: char| MARKS.contains(letter);
    let bare = raw.trim_matches(is_mark).trim_end_matches('.').trim_matches(is_mark);
    let text = bare.to_lowercase();
    if text.is_empty() {
        return None;
    }
    let kind = kind_of(&text, bare);
    let unit = match kind {
        Kind::Number => text.chars().skip_while(|letter| !letter.is_alphabetic() && *letter != '%').collect(),
        _ => String::new(),
    };
    let mut tokens = Tokens::default();
    tokenizer.tokenize(&text, &mut tokens);
    let stems: Vec<&str> = tokens.iter().filter(|token| token.kind == TokenKind::Whole).map(|token| token.text).collect();
    let stem = if stems.is_empty() { text.clone() } else { stems.join(" ") };
    Some(Word { text, stem, kind, unit })
}

fn kind_of(word: &str, raw: &str) -> Kind {
    let lists = Lists::get();
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
    let number = word.trim_start_matches(BEFORE_NUMBER);
    let begins_with_digit = number.starts_with(|letter: char| letter.is_ascii_digit());
    if word.contains("://") || word.contains('/') && letters > 2 && !word.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Kind::Path;
    }
    if begins_with_digit {
        let unit = number.trim_start_matches(|letter: char| letter.is_ascii_digit() || ".,:-/".contains(letter));
        let parts = number.split(['-', '/', '.']).filter(|part| !part.is_empty()).count();
        match () {
            () if letters == 0 && parts == 3 && number.len() >= 8 => return Kind::Date,
            () if number.contains(':') && letters <= 3 || ["am", "pm", "uhr"].contains(&unit) => return Kind::Time,
            () if word.starts_with('v') || number.matches('.').count() >= 2 => return Kind::Version,
            () if letters <= UNIT_LETTERS => return Kind::Number,
            () => {}
        }
    }
    let listed =
        [("number", Kind::Number), ("day", Kind::Day), ("month", Kind::Date), ("time", Kind::Time), ("empty", Kind::Empty)];
    if let Some((_, kind)) = listed.iter().find(|(category, _)| lists.has(category, word)) {
        return *kind;
    }
    let inner = &word[word.chars().next().map_or(0, char::len_utf8)..];
    let is_name = word.contains(['_', '/', '@', '#', '='])
        || inner.contains(['-', '.', ':'])
        || letters > 0 && word.contains(|letter: char| letter.is_ascii_digit())
        || raw.chars().skip(1).any(char::is_uppercase);
    if is_name { Kind::Name } else { Kind::Plain }
}
