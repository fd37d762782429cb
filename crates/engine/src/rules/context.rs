//! The words before a sentence that make it understandable alone.

use super::proposal::plain;
use super::sentence::{Sentence, is_content, sentences};
use super::words::Words;

/// Words that a sentence without an exact name needs to stand alone.
const CONTENT_ALONE: usize = 5;
/// Characters of the message before that are looked at, from its end.
const LOOKED_AT: usize = 6_000;
/// Words that a sentence of the agent shares with the one that refers to it.
const SHARED: usize = 3;
/// Shortest context, in characters.
const SHORTEST: usize = 15;

/// The conversation before a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'t> {
    /// The agent's message before it.
    pub agent: Option<&'t str>,
}

/// Returns whether a sentence can be understood alone: it names what it is about.
pub fn alone(sentence: &Sentence<'_>, words: &Words) -> bool {
    let refers = words.has("pronoun", &sentence.normal);
    match sentence.names() {
        0 => !refers && sentence.content() >= CONTENT_ALONE,
        1 => !refers || sentence.content() >= CONTENT_ALONE,
        _ => true,
    }
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
