//! Names and summarises a topic without a model, by sentences of its own turns, and lists its outcome and files.

use yore_core::episode::{FileAction, Role};
use yore_core::exchange::{Exchange, TurnShape};
use yore_core::vector::dot;

use super::topic::Topic;
use crate::embed::StaticTable;
use crate::rules::{Sentence, Words, cut, normal, own_title, own_words, plain, sentences};
use crate::store::StoredSpan;

/// Sentences of a topic that are looked at for its name, and for its summary.
const MOST_SENTENCES: usize = 400;
/// Characters of a name, and of a sentence of a summary.
const NAME_CHARS: usize = 72;
const SENTENCE_CHARS: usize = 220;
/// A longer sentence names no topic, in bytes.
const LONGEST_NAMING: usize = 240;
/// Sentences of a summary.
const SUMMARY_SENTENCES: usize = 2;
/// Two sentences of a summary are less alike.
const ALIKE: f32 = 0.75;
/// Additions to the similarity of a sentence to its topic: of the first request, and of each exact name.
const FIRST_BONUS: f32 = 0.15;
const NAME_BONUS: f32 = 0.05;
const MOST_NAMES: usize = 3;
/// Files that a topic names.
const MOST_FILES: usize = 6;

type Vector = [f32; StaticTable::DIMENSIONS];

/// Returns a span as a topic; `turns` and `exchanges`: those of the span.
pub(super) fn topic_of(span: &StoredSpan, turns: &[TurnShape<'_>], exchanges: &[&Exchange]) -> Topic {
    let (first, last) = (&turns[0], &turns[turns.len() - 1]);
    let (summary, outcome) = summary_of(span, turns);
    let mut named: Vec<(bool, String)> = Vec::new();
    for file in exchanges.iter().flat_map(|exchange| &exchange.files) {
        let name = file.path.rsplit(['/', '\\']).next().unwrap_or(&file.path).to_owned();
        if name.is_empty() {
            continue;
        }
        let is_changed = file.action == FileAction::Written;
        match named.iter_mut().find(|(_, known)| *known == name) {
            Some(known) => known.0 |= is_changed,
            None => named.push((is_changed, name)),
        }
    }
    named.sort_by_key(|(is_changed, _)| !is_changed);
    named.truncate(MOST_FILES);
    Topic {
        turn: first.id,
        last: last.id,
        name: span.name.clone().unwrap_or_else(|| name_of(span, turns)),
        summary: span.summary.clone().map_or(summary, |summary| vec![summary]),
        outcome,
        files: named.into_iter().map(|(_, name)| name).collect(),
        exchanges: span.exchanges,
        started: first.at,
        sign: span.sign,
        parts: Vec::new(),
        similar: Vec::new(),
    }
}

/// Returns the request of the person that says most about a span.
fn name_of(span: &StoredSpan, turns: &[TurnShape<'_>]) -> String {
    let mut best: Option<(f32, String)> = None;
    let mut looked_at = 0;
    for (at, turn) in turns.iter().filter(|turn| turn.role == Role::Human && turn.caveat.is_none()).enumerate() {
        let words = Words::of(turn.text);
        for sentence in sentences(own_words(turn.text), words).into_iter().take(3) {
            looked_at += 1;
            if looked_at > MOST_SENTENCES {
                break;
            }
            // Long sentences, and those with braces, were pasted.
            if sentence.content() < 2 || sentence.text.len() > LONGEST_NAMING || sentence.text.contains('{') {
                continue;
            }
            let near = StaticTable::vector_of(sentence.text).map_or(0.0, |vector| dot(&vector, &span.vector));
            let names = NAME_BONUS * sentence.names().min(MOST_NAMES) as f32;
            let score = near + names + if at == 0 { FIRST_BONUS } else { 0.0 };
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                best = Some((score, short_name(&sentence, words)));
            }
        }
    }
    // Without a request in the person's own words, what the agent said first names the span.
    let mut said = turns.iter().map(|turn| name_of_turn(turn.role, turn.text)).filter(|name| !name.is_empty());
    best.map(|(_, name)| name).or_else(|| said.next()).unwrap_or_default()
}

/// Returns a name for what a turn says: of a person's message, only their own words count, or the plan that they hand over.
pub(super) fn name_of_turn(role: Role, text: &str) -> String {
    match role {
        Role::Human if sentences(own_words(text), Words::of(text)).is_empty() => own_title(text).unwrap_or_default(),
        Role::Human => name_of_request(own_words(text)),
        _ => name_of_request(text),
    }
}

/// Returns a name for a request: its first sentence, in short.
fn name_of_request(text: &str) -> String {
    let words = Words::of(text);
    let said = sentences(text, words);
    let sentence = said.iter().find(|sentence| sentence.content() >= 2).or(said.first());
    sentence.map_or_else(|| cut(&plain(text), NAME_CHARS), |sentence| short_name(sentence, words))
}

/// Returns a sentence as a name: without the words by which one asks.
fn short_name(sentence: &Sentence<'_>, words: &Words) -> String {
    let text = plain(sentence.text);
    let mut rest = text.as_str();
    loop {
        // The longest opening counts: "can we" and "can we please" are both some.
        let ends = rest.match_indices(' ').take(4).map(|(end, _)| end);
        let opening = ends.filter(|end| words.is("opener", &normal(&rest[..*end])) || words.is("filler", &normal(&rest[..*end])));
        match opening.max() {
            Some(end) => rest = rest[end..].trim_start(),
            None => break,
        }
    }
    let rest = rest.trim_end_matches(['?', '.', '!', ':', ' ']);
    cut(if rest.is_empty() { &text } else { rest }, NAME_CHARS)
}

/// Returns the sentences of the agent that say most about a span, and what came of it.
fn summary_of(span: &StoredSpan, turns: &[TurnShape<'_>]) -> (Vec<String>, Option<String>) {
    let spoken: Vec<&TurnShape<'_>> = turns.iter().filter(|turn| turn.role == Role::Assistant && !turn.text.is_empty()).collect();
    let mut scored: Vec<(f32, usize, String, Vector)> = Vec::new();
    for turn in &spoken {
        let words = Words::of(turn.text);
        for sentence in sentences(turn.text, words) {
            if scored.len() >= MOST_SENTENCES {
                break;
            }
            if let Some(vector) = StaticTable::vector_of(sentence.text).filter(|_| is_telling(&sentence, words)) {
                let names = NAME_BONUS * sentence.names().min(MOST_NAMES) as f32;
                scored.push((dot(&vector, &span.vector) + names, scored.len(), plain(sentence.text), vector));
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen: Vec<&(f32, usize, String, Vector)> = Vec::new();
    for candidate in &scored {
        if chosen.len() < SUMMARY_SENTENCES && chosen.iter().all(|known| dot(&known.3, &candidate.3) < ALIKE) {
            chosen.push(candidate);
        }
    }
    chosen.sort_by_key(|candidate| candidate.1);
    let summary: Vec<String> = chosen.iter().map(|candidate| cut(&candidate.2, SENTENCE_CHARS)).collect();
    let outcome = spoken.last().and_then(|turn| outcome_of(turn.text)).filter(|outcome| !summary.contains(outcome));
    (summary, outcome)
}

/// Returns the sentence of a last message that says what was done, or its first that tells something.
fn outcome_of(text: &str) -> Option<String> {
    let words = Words::of(text);
    let said = sentences(text, words);
    let telling: Vec<&Sentence<'_>> = said.iter().filter(|sentence| is_telling(sentence, words)).collect();
    let done = telling.iter().find(|sentence| words.has("outcome", &sentence.normal)).or(telling.first())?;
    Some(cut(&plain(done.text), SENTENCE_CHARS))
}

fn is_telling(sentence: &Sentence<'_>, words: &Words) -> bool {
    let is_out = ["announce", "unfinished"].into_iter().any(|section| words.has(section, &sentence.normal));
    !sentence.is_question && sentence.content() >= 4 && !is_out && !sentence.text.trim_end().ends_with(':')
}
