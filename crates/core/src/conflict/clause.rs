//! Splits statements into clauses and reads the words, values and negation by which clauses are compared.

use std::collections::BTreeSet;
use std::ops::Range;

use super::words::{
    BINDING, CONDITION_CUES, CONDITIONS, GIVING, JOINTS, LIGHT, MONTH_NAMES, MONTHS, NO_DENIALS, NUMBERED, PAST, STRONG,
    STRONG_PAIRS, UNITS, VERBS, WEAK,
};
use crate::text::{TokenKind, Tokenizer, Tokens, is_stop_word};

/// Words after a number among which the thing that it counts stands.
const HEADS: usize = 3;

/// The thing that a value is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Date,
    Time,
    Money,
    Measure(&'static str),
    /// A version of what is named before it.
    Version(String),
    /// A number of one of these.
    Count(Vec<String>),
}

impl Of {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Count(a), Self::Count(b)) => a.iter().any(|head| b.contains(head)),
            (a, b) => a == b,
        }
    }

    pub(super) fn is_date(&self) -> bool {
        matches!(self, Self::Date | Self::Time)
    }
}

/// A value that a clause gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) of: Of,
    pub(super) text: String,
    pub(super) is_about: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negation {
    None,
    Weak,
    Strong,
    /// It denies what was, or under a condition: nothing that is.
    Bound,
}

/// A clause, as it is compared.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) range: Range<usize>,
    pub(super) words: BTreeSet<String>,
    pub(super) values: Vec<Value>,
    pub(super) negation: Negation,
    /// Things that are told apart by a number or letter after their noun, which is no value: "shard 3", "worker B".
    pub(super) numbered: BTreeSet<(String, String)>,
    /// Words after the last value that do not bind it: where or when somebody looked, not of what it is the value.
    pub(super) loose: BTreeSet<String>,
    /// Words of the condition under which it holds.
    pub(super) conditional: BTreeSet<String>,
    /// True if it says that something is no longer so.
    pub(super) is_end: bool,
}

/// Cuts a text into clauses.
pub(super) fn clauses(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut cut = |start: &mut usize, end: usize, next: usize| {
        if !text[*start..end].trim().is_empty() {
            ranges.push(*start..end);
        }
        *start = next;
    };
    for (at, letter) in text.char_indices() {
        let next = at + letter.len_utf8();
        match letter {
            ';' | '!' | '?' | '\n' => cut(&mut start, at, next),
            '.' if !is_name_dot(bytes, at) => cut(&mut start, at, next),
            ',' if bytes.get(next).is_some_and(u8::is_ascii_whitespace) => cut(&mut start, at, next),
            ' ' if is_joint(&text[next..]) => cut(&mut start, at, next),
            _ => {}
        }
    }
    cut(&mut start, text.len(), text.len());
    ranges
}

/// Returns whether a dot is within a number or a name, such as that of a file.
fn is_name_dot(bytes: &[u8], at: usize) -> bool {
    at > 0 && !bytes[at - 1].is_ascii_whitespace() && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric)
}

fn is_joint(rest: &str) -> bool {
    let word = rest.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
    JOINTS.iter().any(|joint| joint.eq_ignore_ascii_case(word))
}

/// Reads a clause.
pub(super) fn clause(text: &str, range: Range<usize>, tokenizer: &mut Tokenizer) -> Clause {
    let own = &text[range.clone()];
    let raw: Vec<String> = own
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | '"' | '`' | '/' | '—' | '–'))
        .map(|word| {
            word.trim_matches(|letter: char| matches!(letter, ',' | ':' | '\'' | '*' | '[' | ']'))
                .replace('’', "'")
                .to_lowercase()
        })
        .filter(|word| !word.is_empty())
        .collect();
    let pairs = || raw.windows(2).any(|pair| STRONG_PAIRS.iter().any(|[a, b]| pair[0] == *a && pair[1] == *b));
    let has = |list: &[&str]| raw.iter().any(|word| list.contains(&word.as_str()));
    // "No longer than" is a bound.
    let is_bound = raw.iter().any(|word| word == "than" || word == "als");
    let is_end = pairs() && !is_bound;
    let negation = match () {
        () if (has(STRONG) || has(WEAK)) && (has(PAST) || has(CONDITIONS) || has(NO_DENIALS)) => Negation::Bound,
        () if has(STRONG) || is_end => Negation::Strong,
        () if has(WEAK) => Negation::Weak,
        () => Negation::None,
    };
    let stems = |word: &str, tokenizer: &mut Tokenizer| {
        let mut tokens = Tokens::default();
        tokenizer.tokenize(word, &mut tokens);
        // A word in an identifier says no more of what is spoken of.
        tokens.iter().filter(|token| token.kind == TokenKind::Whole).map(|token| token.text.to_owned()).collect::<Vec<_>>()
    };
    let mut words = BTreeSet::new();
    for word in raw.iter().filter(|word| is_content(word)) {
        words.extend(stems(word, tokenizer).into_iter().filter(|stem| stem.chars().count() > 2 && !is_number(stem)));
    }
    let (mut values, mut numbered, mut last) = (Vec::new(), BTreeSet::new(), raw.len());
    for (at, word) in raw.iter().enumerate() {
        let next = |step: usize| raw.get(at + step).map_or("", String::as_str);
        let heads = || {
            let after = raw[at + 1..].iter().take(HEADS + 1).filter(|word| is_content(word) && !is_number(word)).take(HEADS);
            after.cloned().collect::<Vec<String>>()
        };
        let before = at.checked_sub(1).map_or("", |before| raw[before].as_str());
        let is_about = ["about", "around", "some", "nearly", "almost", "roughly", "over", "etwa", "rund", "circa"]
            .contains(&before)
            || word.starts_with('~');
        if let Some(thing) = numbered_thing(before, word, next(1)) {
            numbered.extend(stems(thing, tokenizer).into_iter().map(|thing| (thing, word.clone())));
            continue;
        }
        if NUMBERED.contains(&before) {
            continue;
        }
        if let Some((of, value)) = value_of(word, next(1), before) {
            let of = match of {
                Found::Of(of) => of,
                Found::Count => {
                    let heads: Vec<String> = heads().iter().flat_map(|head| stems(head, tokenizer)).collect();
                    match (heads.is_empty(), named_before(&raw[..at]).filter(|_| raw.len() == at + 1)) {
                        (false, _) => Of::Count(heads),
                        // "Listens on port 8080": nothing follows.
                        (true, Some(name)) => Of::Count(stems(name, tokenizer)),
                        (true, None) => continue,
                    }
                }
                // "Bumped serde to v1.0.2": what it is a version of stands further before.
                Found::Version => match named_before(&raw[..at]) {
                    Some(name) => Of::Version(stems(name, tokenizer).into_iter().next().unwrap_or_default()),
                    None => continue,
                },
            };
            values.push(Value { of, text: value, is_about });
            last = at;
        }
    }
    // Conditions are compared by themselves.
    let condition = raw.iter().position(|word| CONDITION_CUES.contains(&word.as_str())).unwrap_or(raw.len());
    let conditional = raw[condition..].iter().flat_map(|word| stems(word, tokenizer)).collect();
    let after = raw.iter().skip(last + 1).take_while(|word| !BINDING.contains(&word.as_str()));
    let after: Vec<&String> = after.filter(|word| is_content(word)).collect();
    let loose = after.into_iter().flat_map(|word| stems(word, tokenizer)).collect();
    Clause { range, words, values, negation, numbered, loose, conditional, is_end }
}

/// Returns the noun that a number or a letter after it makes a name of: the thing then does something, or it is one of those that are always
/// counted so.
fn numbered_thing<'w>(before: &'w str, word: &str, next: &str) -> Option<&'w str> {
    let is_number = word.len() < 6 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = word.len() == 1 && word.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let has_unit = UNITS.iter().any(|(unit, _)| *unit == next);
    let is_verb = GIVING.contains(&next)
        || VERBS.contains(&next)
        || ["was", "were", "will", "can", "must", "should"].contains(&next)
        || next.len() > 3 && next.ends_with('s') && !next.ends_with("ss");
    let is_noun = is_content(before) && !before.ends_with('s') && !GIVING.contains(&before) && !MONTH_NAMES.contains(&before);
    let is_name = is_noun && is_verb && !has_unit && (is_number || is_letter) || is_number && NUMBERED.contains(&before);
    is_name.then_some(before)
}

/// Returns the last word that says something.
fn named_before(words: &[String]) -> Option<&str> {
    words.iter().rev().map(String::as_str).find(|word| is_content(word) && *word != "version" && *word != "bumped")
}

/// The thing that a value is of, as far as its word tells.
enum Found {
    Of(Of),
    Count,
    Version,
}

/// Reads a value from a word, the word after it and that before it.
fn value_of(word: &str, next: &str, before: &str) -> Option<(Found, String)> {
    let bare = word.trim_start_matches('~');
    if MONTH_NAMES.contains(&bare) {
        let day: String = next.chars().take_while(char::is_ascii_digit).collect();
        let month = MONTHS.iter().position(|names| names.iter().any(|name| bare.starts_with(name)))?;
        return (!day.is_empty() && day.len() < 3).then(|| (Found::Of(Of::Date), format!("{}-{day}", month + 1)));
    }
    let first = bare.trim_start_matches(['$', '€', 'v']);
    if !first.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let digits: String =
        first.chars().take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ',' | ':' | '-')).collect();
    let unit = first[digits.len()..].to_owned();
    let digits = digits.trim_end_matches(['.', ',', ':', '-']);
    let parts: Vec<&str> = digits.split('-').collect();
    if parts.len() == 3 && parts[0].len() == 4 {
        return Some((Found::Of(Of::Date), digits.to_owned()));
    }
    let clock = if ["am", "pm", "uhr"].contains(&unit.as_str()) { unit.as_str() } else { next };
    if ["am", "pm", "uhr"].contains(&clock) && unit.len() < 3 {
        let time = if digits.contains(':') { digits.to_owned() } else { format!("{digits}:00") };
        return Some((Found::Of(Of::Time), format!("{time}{clock}")));
    }
    // The day of a month was read with the month.
    if MONTH_NAMES.contains(&before) || digits.contains(':') || parts.len() > 1 {
        return None;
    }
    let dots = digits.matches('.').count();
    if (dots > 1 || bare.starts_with('v')) && unit.is_empty() {
        return Some((Found::Version, digits.to_owned()));
    }
    let value = digits.replace(',', "");
    if bare.starts_with(['$', '€']) {
        return Some((Found::Of(Of::Money), value));
    }
    let measure = |unit: &str| UNITS.iter().find(|(name, _)| *name == unit).map(|(_, of)| Found::Of(Of::Measure(of)));
    match unit.as_str() {
        "" => Some((measure(next).filter(|_| next != "s").unwrap_or(Found::Count), value)),
        unit => Some((measure(unit)?, value)),
    }
}

fn is_content(word: &str) -> bool {
    let is_unit = UNITS.iter().any(|(unit, _)| *unit == word);
    let is_common = is_stop_word(word) || LIGHT.contains(&word) || STRONG.contains(&word) || WEAK.contains(&word) || is_unit;
    !is_common && word.chars().count() > 2 && word.starts_with(char::is_alphabetic)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_digit())
}
