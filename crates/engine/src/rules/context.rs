//! Finds the words before a sentence that make it understandable alone.

use super::proposal::plain;
use super::sentence::{Sentence, is_content, sentences};
use super::words::{Words, normal};

/// Words that a sentence without an exact name needs to stand alone.
pub const CONTENT_ALONE: usize = 5;
/// Characters of the message before that are looked at, from its end.
const LOOKED_AT: usize = 6_000;
/// Words that a sentence of the agent shares with the one that refers to it.
const SHARED: usize = 3;
/// Words of the longest word or phrase that stands for something.
const LONGEST_PRONOUN: usize = 3;
/// Shortest context, in characters.
const SHORTEST: usize = 15;

/// The conversation before a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'t> {
    /// The agent's message before it.
    pub agent: Option<&'t str>,
}

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

impl Context<'_> {
    /// Returns the words before a sentence that it refers to: the sentence of the agent that shares most words with it,
    /// or its last question that names something.
    pub fn before(&self, sentence: &Sentence<'_>, words: &Words) -> Option<String> {
        let agent = self.agent.unwrap_or_default();
        let start = agent.ceil_char_boundary(agent.len().saturating_sub(LOOKED_AT));
        let said = sentences(&agent[start..], words);
        let own: Vec<&str> = sentence.normal.split_whitespace().filter(|word| is_content(word)).collect();
        let shared = |other: &Sentence<'_>| own.iter().filter(|word| other.normal.contains(&format!(" {word} "))).count();
        let best = said.iter().map(|other| (shared(other), other)).filter(|(count, _)| *count >= SHARED);
        let best = best.max_by_key(|(count, _)| *count).map(|(_, other)| other);
        let asked = said.iter().rev().find(|other| other.is_question && other.names() > 0 && other.content() >= 3);
        let chosen = best.or(asked).map(|other| plain(other.text));
        chosen.filter(|text| text.chars().count() >= SHORTEST && !text.ends_with(':'))
    }
}
