//! Parses a statement of the form "subject has value" into its subject, aspect, value and, if named, the previous value.
//!
//! A statement may be retired by this, so only few forms are read. Two statements are of one subject only if all their words are
//! the same but the value: a qualifier ("in staging", "for tests") makes another subject. What is said under a condition, with a bound
//! ("at most"), of the past, as a denial or as a question says nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::aspect::Aspect;
use super::clause::{Of, Value, clause, clauses};
use super::words::{
    BRANCHES, CHANGED, CHANGING, FUNCTIONAL, GIVING, HEDGES, HELD, LIGHT, NO_VALUE, PAST, QUALIFIERS, STATUSES, STRONG, UNITS,
    VERBS, WEAK,
};
use crate::text::{Tokenizer, is_stop_word};

/// Version of the rules by which statements are read: whoever stores what they give reads all statements again under another one.
pub const ASSERTION_RULES: u32 = 2;

/// Subject, aspect and value of a statement about something that has one value at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The words of its subject, in lower case.
    pub subject: Vec<String>,
    /// The aspect of it that is told.
    pub aspect: Aspect,
    /// The value, as it is compared.
    pub value: String,
    /// The value before, if the statement names it.
    pub before: Option<String>,
    /// True if its form lets the subject have one value alone.
    is_single: bool,
    /// True if it tells a change from one to the other: its aspect is not known then.
    is_change: bool,
}

/// The same as somebody states it, in words.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct StatedValue {
    /// The thing of which it is the value, such as `port of the harbour server`.
    pub subject: String,
    /// The aspect of it that is told.
    #[serde(default)]
    pub aspect: Aspect,
    /// The value.
    pub value: String,
}

/// Most words that a statement has beside its stated subject and value, when another value takes its place.
const MOST_BESIDE: usize = 2;
/// Letters that the forms of a word share.
const STEM_CHARS: usize = 5;
/// Most words of a value that somebody states; more describe it.
const MOST_OF_STATED: usize = 8;
/// Words inside a value that say nothing alone.
const JOINING: &[&str] = &["of", "by", "and", "or", "in", "on", "for", "with", "to", "von", "und", "oder", "mit", "auf", "für"];
/// Words of a stated subject that only link others: "tournaments that he has won".
const LINKING: &[&str] = &["that", "which", "who", "whose", "currently", "now", "today", "welche", "welcher", "derzeit", "jetzt"];
/// Most words of a value that is no number.
const MOST_OF_VALUE: usize = 3;
/// Words of a subject: one alone is not certainly the same as another, nor are many.
const LEAST_OF_SUBJECT: usize = 2;
const MOST_OF_SUBJECT: usize = 9;
/// Words that say nothing.
const SMALL: &[&str] =
    &["a", "an", "the", "our", "now", "currently", "der", "die", "das", "den", "dem", "ein", "eine", "jetzt", "unser"];
/// Words that stand for a thing that was named elsewhere.
const PRONOUNS: &[&str] = &["it", "this", "that", "they", "these", "he", "she", "es", "er", "sie", "dies"];

impl Assertion {
    /// Reads what somebody states; `None` if subject or value say nothing. `beside`: the statement of which it was stated, if that
    /// is not to be retired for another value when it says more: the rest of it would be lost.
    pub(crate) fn stated(stated: &StatedValue, beside: Option<&str>) -> Option<Self> {
        let named: Vec<String> = words_of(&stated.subject).into_iter().filter(|word| !LINKING.contains(&word.as_str())).collect();
        let subject = subject_of(&named);
        // Somebody who states a value may name it in more words than a rule reads as one.
        let words = words_of(&stated.value);
        let in_words = || (1..=MOST_OF_STATED).contains(&words.len()).then(|| words.join(" "));
        let value = plain_value(&stated.value, &mut Tokenizer::default()).or_else(in_words)?;
        let is_said = !subject.is_empty();
        let told: BTreeSet<String> = named.iter().chain(&words).map(|word| stem(word)).collect();
        let says_more = |word: &String| !is_light(word) && !told.contains(&stem(word));
        let count = |statement: &str| words_of(statement).into_iter().filter(says_more).collect::<BTreeSet<_>>().len();
        let is_single = beside.is_none_or(|statement| count(statement) <= MOST_BESIDE);
        is_said.then_some(Self { subject, aspect: stated.aspect, value, before: None, is_single, is_change: false })
    }

    /// Returns whether it tells a change, so that its aspect is that of what it changes.
    pub fn is_change(&self) -> bool {
        self.is_change
    }

    /// Returns whether both say something of the same aspect of the same subject.
    pub fn is_of_same(&self, other: &Self) -> bool {
        self.aspect == other.aspect && self.subject == other.subject
    }

    /// Returns whether both are of one subject and cannot both hold at one time: it has one value alone, or one of them names the value
    /// of the other as the one before. Neither value may be only another form of the other, or more exact. Free-form
    /// statuses ("started", "doing well") may both be true; only listed opposites exclude each other.
    pub fn excludes(&self, other: &Self) -> bool {
        let is_named = self.before.as_ref() == Some(&other.value) || other.before.as_ref() == Some(&self.value);
        let is_same = match self.is_change || other.is_change {
            true => is_named && self.subject == other.subject,
            false => self.is_of_same(other) && self.aspect.is_functional() && (is_named || self.is_single && other.is_single),
        };
        let is_stage = self.aspect == Aspect::Status && !is_named && !are_states(&self.value, &other.value);
        is_same && !is_stage && are_apart(&self.value, &other.value)
    }
}

/// Reads the assertion in the words of a statement; `None` if it says nothing of this kind, or not certainly. This is the only way from
/// free text to an assertion.
///
/// ```
/// use yore_core::conflict::{Aspect, assertion_in};
/// let read = |text| assertion_in(text).map(|read| (read.aspect, read.value, read.before));
/// assert_eq!(read("The harbour server listens on port 8080."), Some((Aspect::Value, "8080".into(), None)));
/// assert_eq!(read("Berth leases live in SQLite instead of Redis."), Some((Aspect::Place, "sqlite".into(), Some("redis".into()))));
/// assert_eq!(read("The gauge polls the harbour."), None);
/// ```
pub fn assertion_in(statement: &str) -> Option<Assertion> {
    let statement = statement.trim();
    let words = words_of(statement);
    let is_hedge = |at: usize| {
        let is_rather = words[at] == "than" && at > 0 && words[at - 1] == "rather";
        HEDGES.contains(&words[at].as_str()) && !is_rather
    };
    if statement.ends_with('?')
        || (0..words.len()).any(is_hedge)
        || words.first().is_some_and(|first| PRONOUNS.contains(&first.as_str()))
    {
        return None;
    }
    // One statement, one thing: what follows may explain it.
    let mut clauses = clauses(statement).into_iter();
    let own = statement[clauses.next()?].trim();
    let later: Vec<&str> = clauses.map(|range| statement[range].trim()).collect();
    let denied = later.first().and_then(|next| next.strip_prefix("not ").or_else(|| next.strip_prefix("nicht ")));
    // ", in staging" and "which is the one of staging" bind it.
    let binds = |clause: &&str| {
        let words = words_of(clause);
        let is_of = |word: &String| {
            QUALIFIERS.contains(&word.as_str()) || ["which", "that", "die", "das", "der"].contains(&word.as_str())
        };
        words.iter().take(2).any(is_of)
    };
    if later.iter().any(binds) {
        return None;
    }
    let (own, before) = without_before(own);
    // "Budget: $5" is a label of something that was named elsewhere.
    let is_labelled = own.contains(": ") || own.ends_with(':');
    if is_labelled
        || own.contains('(')
        || words_of(own).iter().any(|word| STRONG.contains(&word.as_str()) || WEAK.contains(&word.as_str()))
    {
        return None;
    }
    let mut tokenizer = Tokenizer::default();
    let (said, of_change) = match by_change(own, &mut tokenizer) {
        Some((said, before)) => (said, Some(before)),
        None => (by_verb(own, &mut tokenizer).or_else(|| by_value(own, &mut tokenizer))?, None),
    };
    let is_change = of_change.is_some();
    let Said { subject, aspect, value, is_single } = said;
    let told = before.or(denied).and_then(|before| plain_value(before, &mut tokenizer));
    let before = of_change.or(told).filter(|before| *before != value);
    let is_certain = (LEAST_OF_SUBJECT..=MOST_OF_SUBJECT).contains(&subject.len());
    is_certain.then_some(Assertion { subject, aspect, value, before, is_single, is_change })
}

/// Returns the beginning of a word, which its forms share.
fn stem(word: &str) -> String {
    word.chars().take(STEM_CHARS).collect()
}

/// Returns whether a word of a statement says nothing beside subject and value.
fn is_light(word: &str) -> bool {
    let is_word = |list: &[&str]| list.contains(&word);
    is_stop_word(word) || is_word(SMALL) || is_word(LINKING) || is_word(JOINING) || is_word(LIGHT)
}

/// Returns the states of which something has one at a time, and of which a value is one.
fn state(value: &str) -> Option<&'static &'static [&'static str]> {
    STATUSES.iter().find(|group| group.contains(&value))
}

/// Returns whether both values are known states.
fn are_states(first: &str, second: &str) -> bool {
    state(first).is_some() && state(second).is_some()
}

/// Returns whether two values differ, and neither is only another form of the other or more exact.
fn are_apart(first: &str, second: &str) -> bool {
    if let (Some(a), Some(b)) = (state(first), state(second)) {
        return a == b && first != second;
    }
    let plain = |text: &str| text.trim_start_matches("./").trim_end_matches('/').replace([',', '_'], "");
    let (a, b) = (plain(first), plain(second));
    // "60 second" and "1 minute".
    let seconds = |text: &str| {
        let (number, unit) = text.split_once(' ')?;
        let factor = match unit {
            "ms" => 0.001,
            "second" => 1.0,
            "minute" => 60.0,
            "hour" => 3_600.0,
            "day" => 86_400.0,
            "week" => 604_800.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * factor)
    };
    if let (Some(a), Some(b)) = (seconds(&a), seconds(&b)) {
        return (a - b).abs() > f64::EPSILON;
    }
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let dotted = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    if is_number(&a) || is_number(&b) {
        // The number, and what it is a number of.
        let parts = |text: &str| {
            let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
            (text[..end].chars().filter(char::is_ascii_digit).collect::<String>(), text[end..].to_owned())
        };
        let (one, other) = (parts(&a), parts(&b));
        return one.1 == other.1 && one.0 != other.0 && !dotted(&a, &b) && !dotted(&b, &a);
    }
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<String>>();
    let is_part = |long: &str, short: &str| long.starts_with(short) || long.ends_with(&format!("/{short}"));
    let (first, second) = (words(&a), words(&b));
    // A value of many words describes; two that share a word may describe the same.
    let is_described = first.len().max(second.len()) > MOST_OF_VALUE;
    if is_described
        && first.intersection(&second).any(|word| !SMALL.contains(&word.as_str()) && !JOINING.contains(&word.as_str()))
    {
        return false;
    }
    !is_part(&a, &b) && !is_part(&b, &a) && !first.is_subset(&second) && !second.is_subset(&first)
}

/// Subject, aspect and value of a clause.
struct Said {
    subject: Vec<String>,
    aspect: Aspect,
    value: String,
    is_single: bool,
}

/// Returns the words of a text in lower case, without marks around them.
fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace().map(bare).map(|word| word.to_lowercase().replace('’', "'")).filter(|word| !word.is_empty()).collect()
}

/// Removes marks around a word.
fn bare(word: &str) -> &str {
    let is_mark = |letter: char| "\"`'*()[],;:!“”‘’".contains(letter);
    word.trim_matches(is_mark).trim_end_matches('.').trim_end_matches(is_mark)
}

/// Cuts off the value before: "instead of Redis", "(was 8080)", "rather than main".
fn without_before(clause: &str) -> (&str, Option<&str>) {
    // Letters keep their lengths.
    let lower = clause.to_ascii_lowercase();
    let found = CHANGED.iter().filter_map(|cue| lower.find(cue).map(|at| (at, at + cue.len()))).min();
    match found {
        Some((at, end)) => (clause[..at].trim(), Some(clause[end..].trim())),
        None => (clause, None),
    }
}

/// Returns a value as it is compared: a number with its unit, or a few words.
fn plain_value(text: &str, tokenizer: &mut Tokenizer) -> Option<String> {
    let words: Vec<String> = words_of(text);
    let start = words.iter().take_while(|word| SMALL.contains(&word.as_str())).count();
    let kept = &words[start..];
    if let [one] = kept {
        let number = one.strip_prefix('v').filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        return Some(number.unwrap_or(one).to_owned());
    }
    match clause(text, 0..text.len(), tokenizer).values.as_slice() {
        // The number and its unit, and nothing beside them.
        [one] if !matches!(one.of, Of::Count(_) | Of::Version(_)) => (kept.len() <= 2).then(|| with_unit(one)),
        _ => (1..=MOST_OF_VALUE).contains(&kept.len()).then(|| kept.join(" ")),
    }
}

fn with_unit(value: &Value) -> String {
    match &value.of {
        Of::Measure(unit) => format!("{} {unit}", value.text),
        Of::Money => format!("{} money", value.text),
        _ => value.text.clone(),
    }
}

/// Returns the words of a subject in their order: "port of the server" is "server port".
fn subject_of(words: &[String]) -> Vec<String> {
    let words: Vec<String> = words.iter().filter(|word| !SMALL.contains(&word.as_str())).cloned().collect();
    match words.iter().position(|word| ["of", "von", "vom", "des"].contains(&word.as_str())) {
        Some(at) => subject_of(&words[at + 1..]).into_iter().chain(words[..at].iter().cloned()).collect(),
        None => words,
    }
}

/// Reads a clause that tells a change: "move berth leases from Redis to SQLite".
fn by_change(own: &str, tokenizer: &mut Tokenizer) -> Option<(Said, String)> {
    let words = words_of(own);
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    let verb = match plain.as_slice() {
        ["we", "have", ..] => 2,
        ["we", ..] => 1,
        _ => 0,
    };
    words.get(verb).filter(|word| CHANGING.contains(&word.as_str()))?;
    let find = |words: &[String], wanted: &[&str]| words.iter().position(|word| wanted.contains(&word.as_str()));
    let from = verb + 1 + find(&words[verb + 1..], &["from", "von"])?;
    let to = from + 1 + find(&words[from + 1..], &["to", "zu", "nach", "auf"])?;
    let end = to + 1 + find(&words[to + 1..], QUALIFIERS).unwrap_or(words.len() - to - 1);
    let mut subject = subject_of(&words[verb + 1..from]);
    subject.extend(subject_of(&words[end..]));
    let before = plain_value(&words[from + 1..to].join(" "), tokenizer)?;
    let value = plain_value(&words[to + 1..end].join(" "), tokenizer)?;
    Some((Said { subject, aspect: Aspect::Value, value, is_single: false }, before))
}

/// Reads a clause by its verb: "leases live in SQLite", "the default branch is main", "we use Redis for leases".
fn by_verb(own: &str, tokenizer: &mut Tokenizer) -> Option<Said> {
    let words: Vec<String> = words_of(own).into_iter().filter(|word| !SMALL.contains(&word.as_str())).collect();
    if words.iter().any(|word| PAST.contains(&word.as_str())) {
        return None;
    }
    for (verb, aspect, is_single) in HELD {
        let verb: Vec<&str> = verb.split(' ').collect();
        if let Some(at) = words.windows(verb.len()).position(|window| window.iter().zip(&verb).all(|(a, b)| a == b)) {
            return said_of(&words[..at], &words[at + verb.len()..], *aspect, *is_single, tokenizer);
        }
    }
    // A name is written as one.
    let is_name = |word: &String| {
        let raw = own.split_whitespace().find(|raw| bare(raw).to_lowercase() == *word).unwrap_or_default();
        let is_code =
            raw.contains('`') || word.contains(['/', '_', '.', '-']) || word.chars().any(|letter| letter.is_ascii_digit());
        is_code || bare(raw).starts_with(char::is_uppercase)
    };
    // "Bob owns the billing service" is "the billing service is owned by Bob".
    if let Some(at) = words.iter().position(|word| word == "owns") {
        let is_owner = words[..at].iter().all(is_name);
        return is_owner.then(|| said_of(&words[at + 1..], &words[..at], Aspect::Owner, true, tokenizer)).flatten();
    }
    // "X is Y" of what has one value alone: the default, the owner, the port.
    let at = words.iter().position(|word| ["is", "are", "ist", "sind"].contains(&word.as_str()))?;
    let (subject, rest) = (&words[..at], &words[at + 1..]);
    if let [value] = rest {
        if STATUSES.iter().any(|group| group.contains(&value.as_str())) {
            return Some(Said { subject: subject_of(subject), aspect: Aspect::Status, value: value.clone(), is_single: true });
        }
        if value.starts_with(|letter: char| letter.is_ascii_digit()) {
            return said_of(subject, rest, Aspect::Value, true, tokenizer);
        }
    }
    // The thing of which it is said: the last word, or the one before "of".
    let head =
        subject.iter().position(|word| ["of", "von", "des", "for", "für"].contains(&word.as_str())).unwrap_or(subject.len());
    let head = subject[..head].last()?;
    let (_, aspect) = FUNCTIONAL.iter().find(|(noun, _)| head == noun)?;
    let end = rest.iter().position(|word| QUALIFIERS.contains(&word.as_str())).unwrap_or(rest.len());
    // "The path is slow": an adjective, and no value. The value is a name, or the thing has nothing but a name.
    let is_plain = head == "branch" && end == 1 && BRANCHES.contains(&rest[0].as_str());
    let is_value = is_plain || rest[..end].iter().all(is_name);
    is_value.then(|| said_of(subject, rest, *aspect, true, tokenizer)).flatten()
}

/// Makes what a clause says of its subject, and the words after its verb: the value, and what it is for or in.
fn said_of(subject: &[String], rest: &[String], aspect: Aspect, is_single: bool, tokenizer: &mut Tokenizer) -> Option<Said> {
    let end = rest.iter().position(|word| QUALIFIERS.contains(&word.as_str())).unwrap_or(rest.len());
    let value = &rest[..end];
    // "8080 or 9090" and "Redis and SQLite" are no single values; nor are adverbs.
    if value.iter().any(|word| NO_VALUE.contains(&word.as_str()) || word.ends_with("ly")) {
        return None;
    }
    let text = value.join(" ");
    let value = plain_value(&text, tokenizer)?;
    // "9090 staging": what is beside the number is no value.
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let words: Vec<&str> = value.split(' ').collect();
    let has_unit = words.get(1).is_some_and(|unit| *unit == "money" || UNITS.iter().any(|(_, known)| known == unit));
    if words.len() > 1 && words.iter().any(|word| is_number(word)) && !has_unit {
        return None;
    }
    let mut about = subject_of(subject);
    about.extend(subject_of(&rest[end..]));
    Some(Said { subject: about, aspect, value, is_single })
}

/// Reads a clause by the one value in it: "the cache expires after 30 minutes".
fn by_value(own: &str, tokenizer: &mut Tokenizer) -> Option<Said> {
    let read = clause(own, 0..own.len(), tokenizer);
    let words: Vec<String> = words_of(own).into_iter().filter(|word| !SMALL.contains(&word.as_str())).collect();
    let [value] = read.values.as_slice() else { return None };
    let is_number = |word: &String| word.chars().any(|letter| letter.is_ascii_digit());
    let mut numbers = (0..words.len()).filter(|at| is_number(&words[*at]));
    let (at, None) = (numbers.next()?, numbers.next()) else { return None };
    // "ADR 12" and "API v2" are names: a value stands after a word that gives one.
    let before = at.checked_sub(1).map(|before| words[before].as_str());
    let is_given = before.is_some_and(|before| GIVING.contains(&before));
    // "Expose port 8080" is an order: something that is so has a verb in the third person.
    let is_verb =
        |word: &String| word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") || VERBS.contains(&word.as_str());
    let has_verb = words.iter().skip(1).any(is_verb);
    let is_past = |word: &String| PAST.contains(&word.as_str()) || word.len() > 4 && word.ends_with("ed");
    if value.is_about || !is_given || !has_verb || words.iter().any(is_past) {
        return None;
    }
    let aspect = if matches!(value.of, Of::Version(_)) { Aspect::Version } else { Aspect::Value };
    // The value and its unit are no part of the subject.
    let has_unit =
        matches!(value.of, Of::Measure(_)) && words.get(at + 1).is_some_and(|unit| UNITS.iter().any(|(name, _)| name == unit));
    let rest = &words[(at + 1 + usize::from(has_unit)).min(words.len())..];
    let mut subject = subject_of(&words[..at]);
    subject.extend(subject_of(rest));
    Some(Said { subject, aspect, value: with_unit(value), is_single: true })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn excludes(first: &str, second: &str) -> bool {
        let (first, second) = (assertion_in(first), assertion_in(second));
        let excludes =
            |a: &Option<Assertion>, b: &Option<Assertion>| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.excludes(b));
        assert_eq!(excludes(&first, &second), excludes(&second, &first), "in either direction: {first:?} | {second:?}");
        excludes(&first, &second)
    }

    #[test]
    fn another_value_of_the_same_aspect_of_the_same_subject_excludes_the_first() {
        for (first, second) in [
            ("The harbour server listens on port 8080.", "The harbour server now listens on port 9090."),
            ("The default branch is main.", "The default branch is now `trunk`."),
            ("Berth leases are stored in Redis.", "Berth leases are stored in SQLite instead of Redis."),
            ("We use Redis for the berth leases.", "We use SQLite for the berth leases rather than Redis."),
            ("The owner of the tide gauge is Mara.", "The owner of the tide gauge is Jonas."),
            ("Mara owns the tide gauge.", "The tide gauge is owned by Jonas Berg."),
            ("The tide cache expires after 30 minutes.", "The tide cache expires after 45 minutes."),
            ("The session numbering is 0-based.", "Change the session numbering from 0-based to 1-based."),
            (
                "The harbour logs are written to `logs/<session>.log`.",
                "Move harbour logs from logs/<session>.log to logs/all.log.",
            ),
            ("The quay importer is supported.", "The quay importer is unsupported."),
            ("Die Liegeplätze im Hafen liegen in Redis.", "Die Liegeplätze im Hafen liegen in SQLite statt Redis."),
            ("The quay port is 8080.", "The quay port is 9090, not 8080."),
            ("The path of the quay log is `logs/a`.", "The path of the quay log is `var/b`."),
            ("The pro plan costs $20 per month.", "The pro plan costs $25 per month."),
        ] {
            assert!(excludes(first, second), "{first} | {second}: {:?} {:?}", assertion_in(first), assertion_in(second));
        }
    }

    #[test]
    fn nothing_is_excluded_where_subject_aspect_or_value_is_not_certain() {
        for (first, second) in [
            // Another subject.
            ("The harbour server listens on port 8080 in staging.", "The harbour server listens on port 9090 in production."),
            ("The harbour server listens on port 8080.", "The tide server listens on port 9090."),
            ("The port of harbour-server is 8080.", "The port of harbour-worker is 9090."),
            ("The owner of crates/core is Mara.", "The owner of crates/engine is Jonas."),
            ("Each worker owns the tide queue.", "The tide pool owns the tide queue."),
            ("The UI server listens on port 3000.", "The DB server listens on port 5432."),
            ("The EU cluster has 3 nodes.", "The US cluster has 5 nodes."),
            ("The build takes 12 minutes without the cache.", "The build takes 2 minutes with the cache."),
            ("Der Build dauert 12 Minuten ohne Cache.", "Der Build dauert 2 Minuten mit Cache."),
            ("The first build takes 12 minutes.", "The build takes 2 minutes."),
            ("The session numbering is 0-based.", "Change the berth numbering from 0-based to 1-based."),
            ("The cache timeout is 30 seconds.", "Raise the cache timeout from 30 seconds to 60 seconds in staging."),
            ("The quay port is 8080.", "The quay port is 9090 (staging)."),
            ("The harbour server listens on port 8080.", "The harbour server listens on port 9090, in staging."),
            ("Der Port des Servers ist 8080 im Staging.", "Der Port des Servers ist 9090."),
            ("It runs on port 8080.", "It runs on port 3000."),
            ("ADR 12 covers error handling.", "ADR 13 covers error handling."),
            ("The API v2 serves berths.", "The API v3 serves berths."),
            // Not one value alone.
            ("We use Redis.", "We use SQLite."),
            ("We use serde in the quay crate.", "We use tokio in the quay crate."),
            ("The tide frontend is built with React.", "The tide frontend is built with Vite."),
            ("Session logs are written to stdout.", "Session logs are written to logs/app.log."),
            ("The quay tests live in tests/unit.", "The quay tests live in tests/it."),
            ("The owner of the tide gauge is Mara.", "The owner of the tide gauge is Mara or Jonas."),
            ("The berth parser is slow.", "The berth parser is broken."),
            ("The release path is slow.", "The release path is untested."),
            ("The search endpoint is public.", "The search endpoint is paginated."),
            ("The tide parser is called lazily.", "The tide parser is called recursively."),
            ("The port flag is required.", "The port flag is deprecated."),
            ("The nightly build needs 8 GB.", "The nightly build needs 20 minutes."),
            ("The release binary is 12MB.", "The release binary is 64-bit."),
            ("The project linter is Ruff.", "The project linter is slow."),
            ("The default branch is main.", "The default branch is broken."),
            ("The default branch is main.", "The default branch is trunk upstream."),
            ("The poll interval is set to 30 seconds.", "The poll interval is set to 5 minutes overnight."),
            ("The quay port is 8080.", "The quay port is 9090, not 8080, in staging."),
            ("The harbour server listens on port 8080.", "The harbour server listens on port 9090 which is the staging port."),
            ("The API version of the client is 2.0.", "The client version of the API is 5.1."),
            ("The shadow branch is orphaned.", "The shadow branch is deleted."),
            ("Remaining budget: $5.", "Remaining budget: $10."),
            ("Cost: $0.01 message.", "Cost: $0.03 message."),
            ("Expose port 8080.", "Expose port 5000."),
            // Not so now, or not certainly.
            ("The harbour server listens on port 8080.", "If TLS is on, the harbour server listens on port 9090."),
            ("The harbour server listens on port 8080.", "The harbour server listened on port 9090."),
            ("The harbour server listens on port 9090.", "The harbour server does not listen on port 8080."),
            ("The default branch is main.", "Do not change the default branch from main to trunk."),
            ("The default branch is main.", "The default branch is never trunk."),
            ("Berth leases live in Redis.", "To move berth leases from Redis to SQLite, run the importer."),
            ("A search answers in less than 200 ms.", "A search answers in 140 ms."),
            ("Der Index hält mehr als 1000 Einträge.", "Der Index hält 1200 Einträge."),
            ("The quay build took 12 minutes.", "The quay build took 9 minutes."),
            ("Added 12 tests for the berth parser.", "Added 4 tests for the berth parser."),
            ("The tide cache expires after about 30 minutes.", "The tide cache expires after 45 minutes."),
            ("The tide cache holds 30 berths and 4 gauges.", "The tide cache holds 45 berths and 4 gauges."),
            ("Is the default branch main?", "The default branch is trunk."),
            ("The harbour might live in SQLite for tests.", "The harbour might live in Redis for tests."),
            // Another form of the same, or more exact.
            ("The service runs Flask 2.3.", "The service runs Flask 2.3.1."),
            ("The berth database is PostgreSQL.", "The berth database is Postgres."),
            ("The tide cache expires after 60 seconds.", "The tide cache expires after 1 minute."),
            ("The tide cache has 1,000 entries.", "The tide cache has 1000 entries."),
            ("The path of the quay log is `./src/x/`.", "The path of the quay log is `src/x`."),
        ] {
            assert!(!excludes(first, second), "{first} | {second}: {:?} {:?}", assertion_in(first), assertion_in(second));
        }
    }

    fn stated(subject: &str, aspect: Aspect, value: &str) -> Assertion {
        let statement = format!("{subject} is {value} now.");
        Assertion::stated(&StatedValue { subject: subject.to_owned(), aspect, value: value.to_owned() }, Some(&statement))
            .unwrap()
    }

    #[test]
    fn what_somebody_states_excludes_another_value_but_not_a_later_stage_or_other_words_for_it() {
        let excludes =
            |aspect, first, second| stated("the tide studio", aspect, first).excludes(&stated("the tide studio", aspect, second));
        assert!(excludes(Aspect::Choice, "The Lord of the Tides", "Harbour Wars"));
        assert!(excludes(Aspect::Status, "passing", "failing"));
        assert!(!excludes(Aspect::Status, "opened in March", "doing well"));
        assert!(!excludes(Aspect::Choice, "counseling or mental health work", "counseling and mental health jobs"));
        assert!(!excludes(Aspect::Value, "a fantasy book by Mara Quay", "The Name of the Tide by Mara Quay"));
        let won = |subject| stated(subject, Aspect::Value, "4");
        assert!(won("number of regattas that Jonas has won").is_of_same(&won("number of regattas Jonas has won")));
        let long = StatedValue { subject: "the quay".to_owned(), aspect: Aspect::Value, value: "one ".repeat(9) };
        assert_eq!(Assertion::stated(&long, None), None, "it describes");
    }

    #[test]
    fn a_statement_that_says_more_than_the_stated_value_is_not_replaced_for_it() {
        let of = |value: &str, statement: &str| {
            let stated =
                StatedValue { subject: "number of Mara's turtles".to_owned(), aspect: Aspect::Value, value: value.to_owned() };
            Assertion::stated(&stated, Some(statement)).unwrap()
        };
        let three = of("3", "Mara has 3 turtles.");
        assert!(of("2", "The number of Mara's turtles is 2.").excludes(&three));
        assert!(of("2", "Mara has 2 turtles in her flat.").excludes(&three), "two words beside");
        let rich = of("2", "Mara has two turtles with different personalities: one is adventurous, the other reserved.");
        assert!(!rich.excludes(&three));
    }

    #[test]
    fn the_value_before_is_read_where_a_statement_names_it() {
        for (text, expected) in [
            ("The quay port is 9090, not 8080.", "8080"),
            ("The quay port is 9090 (was 8080).", "8080"),
            ("Raise the quay timeout from 30 seconds to 60 seconds.", "30 second"),
            ("Berth leases live in SQLite rather than Redis.", "redis"),
        ] {
            assert_eq!(assertion_in(text).and_then(|read| read.before).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn letters_that_change_their_length_are_read() {
        assert_eq!(assertion_in("İ x instead of ẞ"), None);
        assert!(assertion_in("The default branch of ẞ is İx (was ẞİ).").is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not_and_excludes_itself_never(text in "([a-z ]|İ|ẞ| is |port|instead of |[0-9]|.){0,80}") {
            prop_assert!(assertion_in(&text).is_none_or(|read| !read.excludes(&read)));
        }
    }
}
