//! Rules about messages of the person: standing orders and preferences.

use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};
use yore_core::text::plain;

use super::context::alone;
use super::own::{LONG, own_bytes, without_quoted};
use super::proposal::Proposal;
use super::sentence::{Sentence, sentences, without_fillers};
use super::words::{Words, normal};

/// A longer message is no message.
const LONGEST: usize = 6_000;
/// Fewest words of a sentence, and fewest that say something: "Never push to main."
const FEWEST_WORDS: usize = 4;
const FEWEST_CONTENT: usize = 2;
/// Words before a clause that orders something: "Just to be clear, never ...".
const MOST_BEFORE_ORDER: usize = 4;
/// Words that name the place for which something is ordered: "in all of our repositories".
const WORDS_OF_SCOPE: usize = 6;

/// The act of a sentence of the person, with the weight of its rule.
#[derive(Clone, Copy, Debug)]
struct Act {
    rule: &'static str,
    kind: MemoryKind,
    certainty: f32,
    importance: f32,
}

/// Proposes memories from a message of the person.
pub fn propose(turn: &TurnShape<'_>, found: &mut Vec<Proposal>) {
    if !is_typed(turn.text) {
        return;
    }
    let words = Words::of(turn.text);
    let (own, pasted) = turn.text.split_at(own_bytes(turn.text, words));
    let (own, pasted) = (sentences(own, words), sentences(pasted, words));
    let is_long = turn.text.len() > LONG;
    let said = own.iter().map(|sentence| (sentence, false)).chain(pasted.iter().map(|sentence| (sentence, true)));
    for (sentence, waits) in said {
        let is_of_page = waits && is_long && !words.has("person", &sentence.normal);
        if sentence.is_question || sentence.count() < FEWEST_WORDS || is_of_page {
            continue;
        }
        let Some(act) = act_of(sentence, words) else { continue };
        let made = proposal(turn, sentence, act, words);
        found.extend(made.map(|made| match waits {
            // Whose words they are is not known.
            true => Proposal { waits, said_by: SourceKind::Research, ..made },
            false => made,
        }));
    }
}

/// Returns whether a sentence orders something for all work to come: it, or a clause of it, begins like an order, beside a word that says
/// so for all times.
fn is_order(sentence: &Sentence<'_>, words: &Words) -> bool {
    let own = without_quoted(sentence.text);
    if !words.has("standing", &normal(&own)) {
        return false;
    }
    let whole = without_fillers(&normal(&own), words);
    if words.has("order", &whole) {
        return asks(&whole, words);
    }
    if let Some(clause) = after_scope(&whole, words).filter(|clause| words.has("order", clause)) {
        return asks(clause, words);
    }
    let mut ends = own.match_indices([',', ':', ';', '–', '—']).map(|(at, mark)| at + mark.len());
    ends.any(|end| {
        let before = without_fillers(&normal(&own[..end]), words);
        let clause = without_fillers(&normal(&own[end..]), words);
        let leads = before.split_whitespace().count() <= MOST_BEFORE_ORDER || words.has("lead", &before);
        let orders = words.has("order", &clause) && words.has("standing", &clause) && asks(&clause, words);
        leads && orders && !words.has("source", &before)
    })
}

/// Returns what follows the place at the beginning of a sentence: "in this repo never use tabs" gives "never use tabs".
fn after_scope<'n>(normal: &'n str, words: &Words) -> Option<&'n str> {
    words.begins("scope", normal)?;
    let spaces: Vec<usize> = normal.match_indices(' ').map(|(at, _)| at).take(WORDS_OF_SCOPE + 1).collect();
    let end = spaces.windows(2).find(|pair| words.is("place", &normal[pair[0]..=pair[1]]))?[1];
    Some(&normal[end..])
}

/// Returns whether a clause that begins like an order asks for something, and does not tell what happens: "never seen before".
fn asks(clause: &str, words: &Words) -> bool {
    let Some(end) = words.found("standing", clause) else { return true };
    let next = clause[end..].split_whitespace().next().unwrap_or_default();
    let last = clause[..end].split_whitespace().next_back().unwrap_or_default();
    let is_of = |section: &str, word: &str| words.is(section, &format!(" {word} "));
    match () {
        () if is_of("ever", last) => !(is_of("no request", next) || words.language == "en" && is_told(next)),
        () if words.is("from now", &clause[..=end]) => !is_of("told", next),
        () => true,
    }
}

/// Returns whether an English verb has the ending of what somebody does or did: "returns", "failed", "missing".
fn is_told(verb: &str) -> bool {
    let is_third = verb.ends_with('s') && !verb.ends_with("ss") && !verb.ends_with("us");
    let is_past = verb.ends_with("ed") && !verb.ends_with("eed") && verb != "embed";
    let is_going_on = verb.len() > 4 && verb.ends_with("ing") && verb != "bring";
    verb.len() > 3 && (is_third || is_past) || is_going_on
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

/// Returns the act of a sentence of the person, if it holds for all work to come.
fn act_of(sentence: &Sentence<'_>, words: &Words) -> Option<Act> {
    if words.has("once", &sentence.normal) {
        return None;
    }
    if is_order(sentence, words) {
        return Some(Act { rule: "standing order", kind: MemoryKind::Standard, certainty: 0.75, importance: 0.8 });
    }
    let prefers = words.has("prefer", &normal(&without_quoted(sentence.text)));
    prefers.then_some(Act { rule: "preference", kind: MemoryKind::Preference, certainty: 0.65, importance: 0.7 })
}

fn proposal(turn: &TurnShape<'_>, sentence: &Sentence<'_>, act: Act, words: &Words) -> Option<Proposal> {
    let says_little = sentence.content() < FEWEST_CONTENT && sentence.names() == 0;
    if says_little || !alone(sentence, words, FEWEST_CONTENT) {
        return None;
    }
    let mut certainty = act.certainty;
    certainty += if sentence.names() > 0 { 0.1 } else { 0.0 };
    certainty -= if words.has("hedge", &sentence.normal) { 0.12 } else { 0.0 };
    let fields = match act.kind {
        MemoryKind::Preference => Fields::Preference { aspect: None, corrected: None },
        _ => Fields::None,
    };
    let own = plain(sentence.text.trim_start_matches('('));
    let made = Proposal::new(act.rule, act.kind, &own, turn, sentence.text, SourceKind::User, words);
    Some(Proposal { fields, ..made.weighing(certainty, act.importance) })
}
