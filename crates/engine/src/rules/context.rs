//! Decides whether a sentence can be understood alone.

use super::sentence::{Sentence, is_content};
use super::words::{Words, normal};

/// Words that a sentence without an exact name needs to stand alone.
pub const CONTENT_ALONE: usize = 5;
/// Words of the longest word or phrase that stands for something.
const LONGEST_PRONOUN: usize = 3;

/// Returns whether a sentence can be understood alone: it names what it is about, or has at least this many words that say something, and
/// refers to nothing that was said before.
pub fn alone(sentence: &Sentence<'_>, words: &Words, least: usize) -> bool {
    let refers = refers(sentence, words);
    match sentence.names() {
        0 => !refers && sentence.content() >= least,
        1 => !refers || sentence.content() >= CONTENT_ALONE,
        _ => true,
    }
}

/// A word of a sentence in normal form, and whether a clause ends with it.
struct Spoken {
    word: String,
    ends_clause: bool,
}

/// Returns whether a sentence has a word that stands for something outside of it.
fn refers(sentence: &Sentence<'_>, words: &Words) -> bool {
    let mut spoken: Vec<Spoken> = Vec::new();
    for raw in sentence.text.split_whitespace() {
        spoken.extend(normal(raw).split_whitespace().map(|word| Spoken { word: word.to_owned(), ends_clause: false }));
        if let Some(last) = spoken.last_mut().filter(|_| raw.ends_with([',', ';', ':'])) {
            last.ends_clause = true;
        }
    }
    // Interjections at its beginning refer to nothing.
    let spoken = &spoken[spoken.len().saturating_sub(sentence.count())..];
    let named = |of: &Spoken| format!(" {} ", of.word.strip_suffix("'s").unwrap_or(&of.word));
    let is_of = |section: &str, at: usize| spoken.get(at).is_some_and(|of| words.is(section, &named(of)));
    (0..spoken.len()).any(|at| {
        let rest: Vec<&str> = spoken[at..].iter().take(LONGEST_PRONOUN).map(|of| of.word.as_str()).collect();
        if words.begins("pronoun", &format!(" {} ", rest.join(" "))).is_none() {
            return false;
        }
        // "This repository" is where it is said, and "make sure that" only joins.
        let is_place = is_of("place", at + 1) || is_of("place", at + 2);
        let joins = at > 0 && is_of("before that", at - 1);
        !is_place && !joins && !has_target(spoken, at, words)
    })
}

/// Returns whether what a word stands for is named in an earlier clause of its sentence: "when you add a function, write a test for it".
fn has_target(spoken: &[Spoken], at: usize, words: &Words) -> bool {
    let is_of = |section: &str, at: usize| words.is(section, &format!(" {} ", spoken[at].word));
    let is_named = |target: usize| {
        let is_clause_between = (target + 1..at).any(|between| spoken[between].ends_clause || is_of("joint", between));
        is_of("determiner", target) && is_content(&spoken[target + 1].word) && (is_clause_between || is_of("subject", at))
    };
    is_of("personal", at) && (0..at.saturating_sub(1)).any(is_named)
}
