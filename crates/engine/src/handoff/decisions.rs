//! Tells the decisions of a session that are in force, with their reasons.

use yore_core::conflict::{Repetition, Statement, conflict};
use yore_core::event::{Event, EventKind, EventState};
use yore_core::id::TurnId;
use yore_core::memory::{Fields, Memory, MemoryKind, SourceKind};
use yore_core::text::Tokenizer;

use super::fit::Draft;
use super::trace::Trace;
use super::words::orders;
use crate::rules::{Conversation, Proposal, Sentence, Words, cut, cut_sentence, plain, propose, sentences};

/// Characters of a decision, of its reason, of the steps of a plan, and of the person's words.
const DECISION_CHARS: usize = 240;
const REASON_CHARS: usize = 140;
const STEPS_CHARS: usize = 500;
const WORDS_CHARS: usize = 180;
/// Bytes of a reason that a statement has too: then it adds little.
const SAME_BYTES: usize = 40;
/// Most decisions that are looked at.
const MOST_DECIDED: usize = 24;
/// Sections of words by which a sentence of the person decides something for the rest of the session.
const DECIDING: [&str; 3] = ["instead", "prefer", "standing"];
/// Sections of words by which one decides a step; it is in force for a few orders.
const FOR_NOW: [&str; 2] = ["order", "decide"];
const FEW_ORDERS: usize = 4;

/// The word with which an edit or a plan that the person refused is told.
pub const REFUSED: &str = "refused";

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
        // A memory that rests on later turns was not known yet.
        let Some(at) = memory
            .evidence
            .iter()
            .map(|evidence| place(&evidence.turn))
            .collect::<Option<Vec<usize>>>()
            .and_then(|places| places.into_iter().min())
        else {
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
        let Proposal { statement, fields, said_by, certainty, importance, details, rule, .. } = proposal;
        let (mut text, opens) = (with_reason(&statement, &fields), trace.id(at));
        if let Some(steps) = details.filter(|_| rule == "approved plan") {
            text.push_str(&format!(" Steps: {}", cut(&steps, STEPS_CHARS)));
        }
        Some(Decision { at, text, statement, is_persons: said_by == SourceKind::User, worth: certainty + importance, opens })
    }));
    for event in events {
        let (what, is_plan) = match (event.kind, event.state) {
            // One whose proposal tells more is known already.
            (EventKind::Plan, EventState::Approved) if found.iter().any(|known| known.statement.contains(&event.name)) => {
                continue;
            }
            (EventKind::Plan, EventState::Approved) => ("approved plan", true),
            (EventKind::Plan, EventState::Refused) => ("refused plan", true),
            (EventKind::Refusal, _) => (REFUSED, false),
            _ => continue,
        };
        let said =
            if event.text.is_empty() { String::new() } else { format!(": “{}”", cut_sentence(&event.text, REASON_CHARS)) };
        // A question stops a call and decides nothing.
        let is_question = event.text.trim_end().ends_with('?') || event.text.starts_with("Q: ");
        if is_plan || !said.is_empty() && !is_question {
            let name = trace.directory.map_or(event.name.clone(), |own| event.name.replace(&format!("{own}/"), ""));
            let statement = format!("{what} “{}”{said}", cut(&name, WORDS_CHARS));
            let (text, worth) = (statement.clone(), if is_plan { 1.2 } else { 1.0 });
            found.push(Decision { at: event.turn, text, statement, is_persons: true, worth, opens: trace.id(event.turn) });
        }
    }
    let orders = orders(trace);
    let inner = orders.len().saturating_sub(1);
    // The first order and the last are told as the aim.
    for (number, order) in orders.into_iter().enumerate().take(inner).skip(1).filter(|(_, order)| order.is_own) {
        let is_recent = number + FEW_ORDERS >= inner;
        let text = &order.text;
        let words = Words::of(text);
        let decides = |sentence: &&Sentence<'_>| {
            let has = |section: &&str| words.has(section, &sentence.normal);
            let decides = DECIDING.iter().any(has) || is_recent && FOR_NOW.iter().any(has);
            !sentence.is_question && sentence.content() >= 2 && decides
        };
        for sentence in sentences(text, words).iter().filter(decides) {
            let statement = plain(sentence.text);
            let text = format!("the person: “{}”", cut_sentence(&statement, WORDS_CHARS));
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
        Fields::Decision { reason: Some(reason), .. }
            if !statement.contains(&reason[..reason.floor_char_boundary(SAME_BYTES)]) =>
        {
            format!("{told} Reason: {}", cut_sentence(reason, REASON_CHARS))
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(at: usize, text: &str, is_persons: bool) -> Decision {
        Decision { at, text: text.to_owned(), statement: text.to_owned(), is_persons, worth: 1.0, opens: String::new() }
    }

    #[test]
    fn later_word_of_the_person_takes_the_place_of_what_it_contradicts() {
        let kept = |is_persons| -> Vec<usize> {
            let found = vec![
                decision(1, "The berth leases live in Redis.", true),
                decision(2, "The lamps are painted blue.", false),
                decision(3, "The berth leases never live in Redis.", is_persons),
                decision(4, "The lamps are painted blue.", true),
            ];
            in_force(found).into_iter().map(|decision| decision.at).collect()
        };
        assert_eq!(kept(true), [2, 3]);
        assert_eq!(kept(false), [1, 2, 3], "an agent's word changes none of the person's");
    }
}
