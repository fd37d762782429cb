//! Tells in the words of the session what it is about: the person's orders, decisions in force, what is open, and the next step.

use yore_core::conflict::{Repetition, Statement, conflict};
use yore_core::episode::Role;
use yore_core::event::{Event, EventKind, EventState};
use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;
use yore_core::memory::{Fields, Memory, MemoryKind, SourceKind};
use yore_core::relevance::{is_announcement, only_announces};
use yore_core::text::{Tokenizer, fragments};

use super::commands::failing;
use super::fit::Draft;
use super::trace::Trace;
use crate::rules::{
    Conversation, Proposal, Sentence, Words, cut, cut_sentence, is_typed, normal, own_title, own_words, plain, propose, sentences,
};

/// Characters of the first and the last order, of each between them, and of a decision with its reason.
const ORDER_CHARS: usize = 420;
const BETWEEN_CHARS: usize = 180;
const DECISION_CHARS: usize = 240;
const REASON_CHARS: usize = 140;
/// Characters of the last words of the agent, and of a step that it announced.
const LAST_CHARS: usize = 420;
const STEP_CHARS: usize = 200;
/// Most items of each list that are looked at.
const MOST_BETWEEN: usize = 16;
const MOST_DECIDED: usize = 24;
const MOST_OPEN: usize = 14;
/// An order of fewer words only consents.
const FEWEST_WORDS: usize = 3;
/// Sections of words by which a sentence of the person decides something.
const DECIDING: [&str; 5] = ["instead", "prefer", "standing", "order", "decide"];
/// Sections of words by which a sentence of the agent names its next step.
const STEPS: [&str; 2] = ["announce", "unfinished"];

/// An order of the person.
struct Order {
    at: usize,
    text: String,
}

/// Returns the orders of the person that say something, in their own words.
fn orders(trace: &Trace<'_>) -> Vec<Order> {
    let is_order = |turn: &TurnShape<'_>| turn.role == Role::Human && turn.caveat.is_none();
    let said = trace.turns.iter().enumerate().filter(|(_, turn)| is_order(turn));
    let mut orders: Vec<Order> = Vec::new();
    for (at, turn) in said {
        let Some(text) = order_of(turn.text) else { continue };
        // A message that was sent again says nothing new.
        if orders.last().is_none_or(|last| last.text != text) {
            orders.push(Order { at, text });
        }
    }
    orders
}

/// Returns what a message of the person orders, in their own words; `None` if it says nothing by itself.
pub fn order_of(text: &str) -> Option<String> {
    let own = own_words(text);
    // Of a plan that is handed over, its title is the order.
    if let Some(title) = own_title(text).filter(|title| !own.contains(title.as_str())) {
        return Some(format!("carry out the plan “{title}”"));
    }
    let says_something = own.split_whitespace().count() >= FEWEST_WORDS && !Words::any("no title", &normal(own));
    (is_typed(own) && says_something).then(|| plain(own))
}

/// Returns the aim: the first order, the last one, and what was ordered between them, the latest first.
pub fn aim(trace: &Trace<'_>) -> Vec<Draft> {
    let orders = orders(trace);
    let answered = trace.turns.iter().rposition(|turn| turn.role == Role::Assistant && !turn.text.trim().is_empty());
    let draft = |order: &Order, label: &str, chars: usize| {
        Draft::new(format!("{label}“{}”", cut_sentence(&order.text, chars)), order.at, Some(trace.id(order.at)))
    };
    let Some((last, before)) = orders.split_last() else { return Vec::new() };
    let label = if answered.is_none_or(|answered| answered < last.at) { "last, not carried out yet: " } else { "last: " };
    let Some((first, between)) = before.split_first() else { return vec![draft(last, "", ORDER_CHARS)] };
    let mut drafts = vec![draft(last, label, ORDER_CHARS), draft(first, "first: ", ORDER_CHARS)];
    drafts.extend(between.iter().rev().take(MOST_BETWEEN).map(|order| draft(order, "", BETWEEN_CHARS)));
    drafts
}

/// A decision, with the turn that it was made in and who made it.
struct Decision {
    at: usize,
    text: String,
    statement: String,
    is_persons: bool,
    worth: f32,
    opens: String,
}

/// Returns the decisions in force: what the rules propose for the session, memories that rest on it, plans and refusals, and sentences
/// of the person that decide something. A later word of the person takes the place of what contradicts it.
pub fn decided(trace: &Trace<'_>, events: &[Event<usize>], memories: &[Memory]) -> Vec<Draft> {
    let place = |id: &TurnId| trace.turns.iter().position(|turn| turn.id == *id);
    let mut found: Vec<Decision> = Vec::new();
    for memory in memories {
        // What rests on later turns was not known yet.
        let Some(at) = memory.evidence.iter().map(|evidence| place(&evidence.turn)).collect::<Option<Vec<usize>>>().and_then(|places| places.into_iter().min()) else {
            continue;
        };
        if is_told(memory.kind) {
            let is_persons = memory.source.kind == SourceKind::User;
            let text = with_reason(&memory.statement, &memory.fields);
            let worth = memory.importance + memory.certainty;
            found.push(Decision { at, text, statement: memory.statement.clone(), is_persons, worth, opens: memory.id.short() });
        }
    }
    let proposals = propose(&Conversation { turns: trace.turns });
    found.extend(proposals.into_iter().filter(|proposal| !proposal.waits && is_told(proposal.kind)).filter_map(|proposal| {
        let at = place(&proposal.evidence.first()?.0)?;
        let Proposal { statement, fields, said_by, certainty, importance, .. } = proposal;
        let (text, opens) = (with_reason(&statement, &fields), trace.id(at));
        Some(Decision { at, text, statement, is_persons: said_by == SourceKind::User, worth: certainty + importance, opens })
    }));
    for event in events {
        let (what, is_plan) = match (event.kind, event.state) {
            (EventKind::Plan, EventState::Approved) => ("approved plan", true),
            (EventKind::Plan, EventState::Refused) => ("refused plan", true),
            (EventKind::Refusal, _) => ("refused", false),
            _ => continue,
        };
        let said = if event.text.is_empty() { String::new() } else { format!(": “{}”", cut_sentence(&event.text, REASON_CHARS)) };
        if is_plan || !said.is_empty() {
            let statement = format!("{what} “{}”{said}", cut(&event.name, BETWEEN_CHARS));
            let (text, worth) = (statement.clone(), if is_plan { 1.2 } else { 1.0 });
            found.push(Decision { at: event.turn, text, statement, is_persons: true, worth, opens: trace.id(event.turn) });
        }
    }
    for order in orders(trace).into_iter().skip(1) {
        let text = &order.text;
        let words = Words::of(text);
        let decides = |sentence: &&Sentence<'_>| {
            let has = |section: &&str| words.has(section, &sentence.normal);
            !sentence.is_question && sentence.content() >= 2 && DECIDING.iter().any(|section| has(&section))
        };
        for sentence in sentences(text, words).iter().filter(decides) {
            let statement = plain(sentence.text);
            let text = format!("the person: “{}”", cut_sentence(&statement, BETWEEN_CHARS));
            found.push(Decision { at: order.at, text, statement, is_persons: true, worth: 0.9, opens: trace.id(order.at) });
        }
    }
    found.sort_by_key(|decision| decision.at);
    let kept = in_force(found);
    let mut ranked: Vec<(f32, Decision)> =
        kept.into_iter().map(|decision| (decision.worth + trace.lateness(decision.at), decision)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.truncate(MOST_DECIDED);
    ranked.into_iter().map(|(_, decision)| Draft::new(decision.text, decision.at, Some(decision.opens))).collect()
}

/// Drops repetitions, and what a later word of the person contradicts.
fn in_force(found: Vec<Decision>) -> Vec<Decision> {
    let mut tokenizer = Tokenizer::default();
    let mut kept: Vec<(Decision, Statement)> = Vec::new();
    for decision in found {
        let statement = Statement::of(&decision.statement, &mut tokenizer);
        let says_no_more = |(other, known): &(Decision, Statement)| {
            matches!(Repetition::of(known, &statement), Some(Repetition::Same | Repetition::FirstSaysMore))
                || other.statement.contains(&decision.statement)
        };
        if kept.iter().any(says_no_more) {
            continue;
        }
        kept.retain(|(other, _)| {
            let is_repeated = decision.statement.contains(&other.statement);
            !(is_repeated || decision.is_persons && conflict(&other.statement, &decision.statement).is_some())
        });
        kept.push((decision, statement));
    }
    kept.into_iter().map(|(decision, _)| decision).collect()
}

/// Returns whether a statement of this kind tells the next agent something.
fn is_told(kind: MemoryKind) -> bool {
    matches!(
        kind,
        MemoryKind::Decision | MemoryKind::Standard | MemoryKind::Preference | MemoryKind::UserInput | MemoryKind::Solution
    )
}

fn with_reason(statement: &str, fields: &Fields) -> String {
    let told = cut_sentence(statement, DECISION_CHARS);
    match fields {
        Fields::Decision { reason: Some(reason), .. } if !statement.contains(reason.as_str()) => {
            format!("{told} Reason: {}", cut_sentence(reason, REASON_CHARS))
        }
        _ => told,
    }
}

/// Returns what is open: checks that fail, the agent's question that has no answer, steps that are not done, pull requests.
pub fn open(trace: &Trace<'_>, events: &[Event<usize>]) -> Vec<Draft> {
    let mut drafts = failing(trace);
    let last_said = trace.turns.iter().rposition(|turn| turn.role == Role::Assistant && !turn.text.trim().is_empty());
    let is_answered = |at: usize| trace.turns[at..].iter().any(|turn| turn.role == Role::Human);
    if let Some(at) = last_said.filter(|at| !is_answered(*at)) {
        let text = trace.turns[at].text;
        let said = sentences(text, Words::of(text));
        let asked: Vec<String> = said.iter().filter(|sentence| sentence.is_question).map(|sentence| plain(sentence.text)).collect();
        if let Some(question) = asked.last() {
            drafts.push(Draft::new(format!("asked the person, no answer yet: “{}”", cut(question, BETWEEN_CHARS)), at, Some(trace.id(at))));
        }
    }
    let mut steps: Vec<&Event<usize>> =
        events.iter().filter(|event| event.kind == EventKind::Todo && event.state != EventState::Done && event.state != EventState::Closed).collect();
    steps.sort_by_key(|event| event.state != EventState::InProgress);
    drafts.extend(steps.into_iter().map(|event| {
        let state = if event.state == EventState::InProgress { "in progress" } else { "to do" };
        Draft::new(format!("{state}: {}", cut(&event.name, BETWEEN_CHARS)), event.turn, None)
    }));
    let opened = events.iter().rev().filter(|event| {
        matches!(event.kind, EventKind::PullRequest | EventKind::Issue) && event.state == EventState::Opened
    });
    drafts.extend(opened.take(3).map(|event| {
        let kind = event.kind.as_str().replace('_', " ");
        Draft::new(format!("{kind} {} is open: {}", event.name, cut(&event.text, BETWEEN_CHARS)), event.turn, Some(trace.id(event.turn)))
    }));
    drafts.truncate(MOST_OPEN);
    drafts
}

/// Returns the next step as the agent last named it, and its last words.
pub fn next(trace: &Trace<'_>) -> Vec<Draft> {
    let said = |turn: &TurnShape<'_>| turn.role == Role::Assistant && !turn.text.trim().is_empty();
    let mut spoken = trace.turns.iter().enumerate().rev().filter(|(_, turn)| said(turn));
    let Some((at, last)) = spoken.next() else { return Vec::new() };
    let mut drafts = Vec::new();
    if is_announcement(last.text) || only_announces(last.text) {
        drafts.push(Draft::new(format!("announced last: “{}”", cut(&plain(last.text), STEP_CHARS)), at, Some(trace.id(at))));
        // Before it, the last words that tell something.
        if let Some((at, told)) = spoken.find(|(_, turn)| !is_announcement(turn.text) && !only_announces(turn.text)) {
            drafts.push(Draft::new(format!("said before: “{}”", both_ends(told.text)), at, Some(trace.id(at))));
        }
        return drafts;
    }
    let words = Words::of(last.text);
    let steps = sentences(last.text, words);
    let step = steps.iter().rev().find(|sentence| !sentence.is_question && STEPS.iter().any(|section| words.has(section, &sentence.normal)));
    let whole = both_ends(last.text);
    if let Some(step) = step.map(|step| plain(step.text)).filter(|step| !whole.contains(step.as_str())) {
        drafts.push(Draft::new(format!("next: “{}”", cut(&step, STEP_CHARS)), at + 1, None));
    }
    drafts.insert(0, Draft::new(format!("the agent's last words: “{whole}”"), at, Some(trace.id(at))));
    drafts
}

/// Returns a text on one line; of a long one the sentences at its beginning and the words at its end.
fn both_ends(text: &str) -> String {
    let parts: Vec<String> = fragments(text).into_iter().map(|range| plain(&text[range])).filter(|part| !part.is_empty()).collect();
    let whole = parts.join(" ");
    let count = whole.chars().count();
    if count <= LAST_CHARS {
        return whole;
    }
    let start = whole.char_indices().nth(count - LAST_CHARS / 2).map_or(whole.len(), |(at, _)| at);
    let word = whole[start..].find(' ').map_or(start, |space| start + space + 1);
    format!("{} … {}", cut_sentence(&whole, LAST_CHARS / 2), &whole[word..])
}
