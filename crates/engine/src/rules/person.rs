//! Extracts from a person's messages: standing orders, corrections, preferences, decisions, facts, todos.

use yore_core::exchange::TurnShape;
use yore_core::memory::{Fields, MemoryKind, SourceKind};

use super::context::{CONTENT_ALONE, Context, alone};
use super::own::{LONG, own_bytes, without_quoted};
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, plain};
use super::sentence::{Sentence, sentences, without_fillers};
use super::words::{Words, normal};

/// A longer message is no message.
const LONGEST: usize = 6_000;
/// Fewest words of a sentence, and fewest that say something.
const FEWEST_WORDS: usize = 4;
const FEWEST_CONTENT: usize = 3;
/// The same of an order or a preference: "Never push to main."
const FEWEST_ORDERED: usize = 2;
/// Words before a clause that orders something: "Just to be clear, never ...".
const MOST_BEFORE_ORDER: usize = 4;
/// Words that name the place for which something is ordered: "in all of our repositories".
const WORDS_OF_SCOPE: usize = 6;
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
    let (own, pasted) = turn.text.split_at(own_bytes(turn.text, words));
    let (own, pasted) = (sentences(own, words), sentences(pasted, words));
    let is_long = turn.text.len() > LONG;
    let with_reason = own.iter().chain(&pasted).any(|sentence| words.has("reason", &sentence.normal));
    let said = own.iter().map(|sentence| (sentence, false)).chain(pasted.iter().map(|sentence| (sentence, true)));
    for (at, (sentence, waits)) in said.enumerate() {
        let is_of_page = waits && is_long && !words.has("person", &sentence.normal);
        if sentence.is_question || sentence.count() < FEWEST_WORDS || is_of_page {
            continue;
        }
        let Some(act) = act_of(sentence, words, with_reason, at) else { continue };
        let made = proposal(turn, sentence, act, context, words);
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

fn act_of(sentence: &Sentence<'_>, words: &Words, with_reason: bool, at: usize) -> Option<Act> {
    let prefers = words.has("prefer", &normal(&without_quoted(sentence.text)));
    let normal = sentence.normal.as_str();
    let has = |section: &str| words.has(section, normal);
    let is_once = has("once");
    if is_order(sentence, words) && !is_once {
        return Some(Act { rule: "standing order", kind: MemoryKind::Standard, certainty: 0.75, importance: 0.8 });
    }
    if prefers && !is_once {
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
    let is_order = matches!(act.kind, MemoryKind::Standard | MemoryKind::Preference);
    let (fewest, least) = if is_order { (FEWEST_ORDERED, FEWEST_ORDERED) } else { (FEWEST_CONTENT, CONTENT_ALONE) };
    if sentence.content() < fewest && sentence.names() == 0 {
        return None;
    }
    let is_alone = alone(sentence, words, least);
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
