//! Rules about messages of the person: standing orders, corrections, preferences, decisions, facts, and what is left for later.

use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};

use super::context::{Context, alone};
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, plain};
use super::sentence::{Sentence, sentences};
use super::words::Words;

/// A longer message holds pasted text: then only sentences that speak of persons count.
const PASTED_FROM: usize = 700;
/// A longer message is no message.
const LONGEST: usize = 6_000;
/// Fewest words of a sentence, and fewest that say something.
const FEWEST_WORDS: usize = 4;
const FEWEST_CONTENT: usize = 3;
/// A longer correction holds pasted text, in bytes.
const LONGEST_CORRECTION: usize = 260;
/// Room for the words that a sentence refers to, in characters, without which it is not understandable.
const LEAST_CONTEXT: usize = 40;

/// The act of a sentence of the person, with the weight of its rule.
#[derive(Clone, Copy, Debug)]
struct Act {
    rule: &'static str,
    kind: MemoryKind,
    certainty: f32,
    importance: f32,
}

/// Proposes memories from a message of the person.
pub fn propose(turn: &TurnShape<'_>, context: &Context<'_>, found: &mut Vec<Proposal>) {
    if !is_typed(turn.text) {
        return;
    }
    let words = Words::of(turn.text);
    let is_pasted = turn.text.len() > PASTED_FROM;
    let said = sentences(turn.text, words);
    let with_reason = said.iter().any(|sentence| words.has("reason", &sentence.normal));
    for (at, sentence) in said.iter().enumerate() {
        if sentence.is_question || sentence.count() < FEWEST_WORDS || is_pasted && !words.has("person", &sentence.normal) {
            continue;
        }
        let Some(act) = act_of(sentence, words, with_reason, at) else { continue };
        found.extend(proposal(turn, sentence, act, context, words));
    }
}

/// Returns whether a message was typed: no command of the client, no marked-up text of a program.
pub fn is_typed(text: &str) -> bool {
    let text = text.trim();
    !(text.is_empty() || text.len() > LONGEST || text.starts_with(['<', '/', '!', '{', '[']) || text.starts_with("Q: "))
}

/// Returns whether a message doubts what the agent reported before it.
pub fn doubts(text: &str) -> bool {
    let words = Words::of(text);
    let said = sentences(text, words);
    said.iter().take(2).any(|sentence| words.has("doubt", &sentence.normal))
}

fn act_of(sentence: &Sentence<'_>, words: &Words, with_reason: bool, at: usize) -> Option<Act> {
    let normal = sentence.normal.as_str();
    let has = |section: &str| words.has(section, normal);
    let is_once = has("once");
    if has("standing") && has("order") && !is_once {
        return Some(Act { rule: "standing order", kind: MemoryKind::Standard, certainty: 0.75, importance: 0.8 });
    }
    if has("prefer") && !is_once {
        return Some(Act { rule: "preference", kind: MemoryKind::Preference, certainty: 0.65, importance: 0.7 });
    }
    let says_how = has("instead") || normal.contains(" should ") || normal.contains(" not correct");
    if at < 2
        && has("wrong")
        && says_how
        && sentence.content() > FEWEST_CONTENT
        && sentence.names() > 0
        && sentence.text.len() < LONGEST_CORRECTION
    {
        return Some(Act { rule: "correction", kind: MemoryKind::UserInput, certainty: 0.5, importance: 0.6 });
    }
    if has("later") && !is_once && has("plan") && sentence.names() > 0 && sentence.content() > FEWEST_CONTENT {
        return Some(Act { rule: "for later", kind: MemoryKind::Todo, certainty: 0.6, importance: 0.5 });
    }
    if let Some(end) = words.found("decide", normal) {
        let rest = &normal[end..];
        let next: String = rest.split_whitespace().next().map(|word| format!(" {word} ")).unwrap_or_default();
        let has_ground = words.has("reason", normal) || has("instead");
        let is_routine = words.is("routine", &next) || is_once && !has_ground;
        let names = sentence.names();
        return match (is_routine, has_ground, with_reason && names > 0) {
            (true, ..) => None,
            (false, false, _) if !words.is("choose", &next) => None,
            // Without a name it is seldom understandable alone.
            (false, true, _) if names == 0 && !words.has("reason", normal) => None,
            (false, true, _) => {
                Some(Act { rule: "decision with a reason", kind: MemoryKind::Decision, certainty: 0.7, importance: 0.7 })
            }
            (false, false, true) => Some(Act { rule: "decision", kind: MemoryKind::Decision, certainty: 0.6, importance: 0.6 }),
            _ if names > 0 => Some(Act { rule: "decision", kind: MemoryKind::Decision, certainty: 0.52, importance: 0.55 }),
            _ => None,
        };
    }
    if has("fact")
        && !is_once
        && !has("hedge")
        && !has("asking")
        && (sentence.content() > FEWEST_CONTENT && sentence.names() > 0 || normal.starts_with(" my "))
    {
        return Some(Act { rule: "fact told", kind: MemoryKind::Fact, certainty: 0.55, importance: 0.55 });
    }
    None
}

fn proposal(turn: &TurnShape<'_>, sentence: &Sentence<'_>, act: Act, context: &Context<'_>, words: &Words) -> Option<Proposal> {
    let own = plain(sentence.text.trim_start_matches('('));
    if sentence.content() < FEWEST_CONTENT && sentence.names() == 0 {
        return None;
    }
    let is_alone = alone(sentence, words);
    let before = if is_alone { None } else { context.before(sentence, words) };
    if !is_alone && before.is_none() {
        return None;
    }
    let room = MOST_STATEMENT_CHARS.saturating_sub(own.chars().count() + 8).min(140);
    let statement = match &before {
        Some(_) if room < LEAST_CONTEXT => return None,
        Some(before) => format!("On “{}”: {own}", cut(before, room)),
        None => own.clone(),
    };
    let mut certainty = act.certainty;
    certainty += if sentence.names() > 0 { 0.1 } else { 0.0 };
    certainty -= if words.has("hedge", &sentence.normal) { 0.12 } else { 0.0 };
    certainty -= if before.is_some() { 0.05 } else { 0.0 };
    let fields = match act.kind {
        MemoryKind::Preference | MemoryKind::UserInput => Fields::Preference { aspect: None, corrected: before.clone() },
        MemoryKind::Todo => Fields::Open { is_closed: false },
        _ => Fields::None,
    };
    let made = Proposal::new(act.rule, act.kind, &statement, turn, sentence.text, SourceKind::User, words);
    Some(Proposal { fields, ..made.weighing(certainty.clamp(0.0, 1.0), act.importance) })
}
