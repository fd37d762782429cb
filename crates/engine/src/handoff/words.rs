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
/// Characters of the steps of a plan.
const STEPS_CHARS: usize = 500;
/// Characters of what was pasted below an order, or of a plan that it hands over.
const PASTED_CHARS: usize = 700;
const BELOW_CHARS: usize = 120;
/// Characters of the report that the last order answers, of an earlier one, and of a statement since.
const REPORT_CHARS: usize = 1_100;
const EARLIER_CHARS: usize = 280;
const SINCE_CHARS: usize = 220;
/// Fewest words of a report, and most reports and statements.
const REPORT_WORDS: usize = 8;
const MOST_REPORTS: usize = 8;
const MOST_SINCE: usize = 5;
/// Characters of the last words of the agent, and of a step that it announced.
const LAST_CHARS: usize = 420;
const STEP_CHARS: usize = 200;
/// Bytes of a reason that a statement has too: then it adds little.
const SAME_BYTES: usize = 40;
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
    /// What was pasted below it.
    pasted: String,
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
            orders.push(Order { at, text, pasted: pasted(turn.text) });
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

/// Returns what stands below the person's own words in a message, condensed: the aim may be there, though somebody else may have written it.
fn pasted(text: &str) -> String {
    let own = own_words(text);
    condensed(text.trim_start().get(own.len()..).unwrap_or_default(), PASTED_CHARS)
}

/// Returns the aim: the first order, the last one, and what was ordered between them, the latest first.
pub fn aim(trace: &Trace<'_>) -> Vec<Draft> {
    let orders = orders(trace);
    let answered = trace.turns.iter().rposition(|turn| turn.role == Role::Assistant && !turn.text.trim().is_empty());
    let draft = |order: &Order, label: &str, chars: usize| {
        let below = match chars < ORDER_CHARS {
            _ if order.pasted.is_empty() => String::new(),
            false => format!(" Below it: “{}”", order.pasted),
            true if order.text.ends_with(':') => format!(" Below it: “{}”", cut(&order.pasted, BELOW_CHARS)),
            true => String::new(),
        };
        Draft::new(format!("{label}“{}”{below}", cut_sentence(&order.text, chars)), order.at, Some(trace.id(order.at)))
    };
    let Some((last, before)) = orders.split_last() else { return Vec::new() };
    let label = if answered.is_none_or(|answered| answered < last.at) { "last, not carried out yet: " } else { "last: " };
    let Some((first, between)) = before.split_first() else { return vec![draft(last, "", ORDER_CHARS)] };
    let mut drafts = vec![draft(last, label, ORDER_CHARS), draft(first, "first: ", ORDER_CHARS)];
    // A question changes the aim less than an order.
    let mut between: Vec<&Order> = between.iter().rev().collect();
    between.sort_by_key(|order| order.text.trim_end().ends_with('?'));
    drafts.extend(between.into_iter().take(MOST_BETWEEN).map(|order| draft(order, "", BETWEEN_CHARS)));
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
            (EventKind::Refusal, _) => ("refused", false),
            _ => continue,
        };
        let said =
            if event.text.is_empty() { String::new() } else { format!(": “{}”", cut_sentence(&event.text, REASON_CHARS)) };
        // A question stops a call and decides nothing.
        let is_question = event.text.trim_end().ends_with('?') || event.text.starts_with("Q: ");
        if is_plan || !said.is_empty() && !is_question {
            let name = trace.directory.map_or(event.name.clone(), |own| event.name.replace(&format!("{own}/"), ""));
            let statement = format!("{what} “{}”{said}", cut(&name, BETWEEN_CHARS));
            let (text, worth) = (statement.clone(), if is_plan { 1.2 } else { 1.0 });
            found.push(Decision { at: event.turn, text, statement, is_persons: true, worth, opens: trace.id(event.turn) });
        }
    }
    let orders = orders(trace);
    let inner = orders.len().saturating_sub(1);
    // The first order and the last are told as the aim.
    for order in orders.into_iter().take(inner).skip(1) {
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
        Fields::Decision { reason: Some(reason), .. }
            if !statement.contains(&reason[..reason.floor_char_boundary(SAME_BYTES)]) =>
        {
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
        let asked: Vec<String> =
            said.iter().filter(|sentence| sentence.is_question).map(|sentence| plain(sentence.text)).collect();
        if let Some(question) = asked.last() {
            drafts.push(Draft::new(
                format!("asked the person, no answer yet: “{}”", cut(question, BETWEEN_CHARS)),
                at,
                Some(trace.id(at)),
            ));
        }
    }
    let mut steps: Vec<&Event<usize>> = events
        .iter()
        .filter(|event| event.kind == EventKind::Todo && event.state != EventState::Done && event.state != EventState::Closed)
        .collect();
    steps.sort_by_key(|event| event.state != EventState::InProgress);
    drafts.extend(steps.into_iter().map(|event| {
        let state = if event.state == EventState::InProgress { "in progress" } else { "to do" };
        Draft::new(format!("{state}: {}", cut(&event.name, BETWEEN_CHARS)), event.turn, None)
    }));
    let opened = events
        .iter()
        .rev()
        .filter(|event| matches!(event.kind, EventKind::PullRequest | EventKind::Issue) && event.state == EventState::Opened);
    drafts.extend(opened.take(3).map(|event| {
        let kind = event.kind.as_str().replace('_', " ");
        Draft::new(
            format!("{kind} {} is open: {}", event.name, cut(&event.text, BETWEEN_CHARS)),
            event.turn,
            Some(trace.id(event.turn)),
        )
    }));
    drafts.truncate(MOST_OPEN);
    drafts
}

/// Returns what the agent reported: the report that the last order answers, what it stated since, and the reports before.
pub fn reported(trace: &Trace<'_>) -> Vec<Draft> {
    let tells = |turn: &TurnShape<'_>| {
        let text = turn.text;
        turn.role == Role::Assistant
            && turn.caveat.is_none()
            && text.split_whitespace().count() >= REPORT_WORDS
            && !is_announcement(text)
            && !only_announces(text)
    };
    let (mut reports, mut since): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (at, turn) in trace.turns.iter().enumerate() {
        if turn.role == Role::Human {
            reports.extend(since.last());
            since.clear();
        } else if tells(turn) {
            since.push(at);
        }
    }
    // The last words are told with the next step.
    since.pop();
    let draft = |at: usize, label: &str, chars: usize| {
        Draft::new(format!("{label}“{}”", condensed(trace.turns[at].text, chars)), at, Some(trace.id(at)))
    };
    let answered = reports.pop().map(|at| draft(at, "before the last order: ", REPORT_CHARS));
    let since = since.into_iter().rev().take(MOST_SINCE).map(|at| draft(at, "since then: ", SINCE_CHARS));
    let earlier = reports.into_iter().rev().take(MOST_REPORTS).map(|at| draft(at, "", EARLIER_CHARS));
    answered.into_iter().chain(since).chain(earlier).collect()
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
    let step = steps
        .iter()
        .rev()
        .find(|sentence| !sentence.is_question && STEPS.iter().any(|section| words.has(section, &sentence.normal)));
    let whole = both_ends(last.text);
    if let Some(step) = step.map(|step| plain(step.text)).filter(|step| !whole.contains(step.as_str())) {
        drafts.push(Draft::new(format!("next: “{}”", cut(&step, STEP_CHARS)), at + 1, None));
    }
    drafts.insert(0, Draft::new(format!("the agent's last words: “{whole}”"), at, Some(trace.id(at))));
    drafts
}

/// Returns a text on one line; of a longer one with many parts the beginning of each.
fn condensed(text: &str, chars: usize) -> String {
    const FEW: usize = 4;
    const LEAST: usize = 60;
    let parts: Vec<String> =
        fragments(text).into_iter().map(|range| plain(&text[range])).filter(|part| !part.is_empty()).collect();
    let whole = parts.join(" ");
    if whole.chars().count() <= chars || parts.len() < FEW {
        return cut_sentence(&whole, chars);
    }
    let each = (chars / parts.len()).max(LEAST);
    cut(&parts.iter().map(|part| cut(part, each)).collect::<Vec<_>>().join(" "), chars)
}

/// Returns a text on one line; of a long one the sentences at its beginning and the words at its end.
fn both_ends(text: &str) -> String {
    let parts: Vec<String> =
        fragments(text).into_iter().map(|range| plain(&text[range])).filter(|part| !part.is_empty()).collect();
    let whole = parts.join(" ");
    let count = whole.chars().count();
    if count <= LAST_CHARS {
        return whole;
    }
    let start = whole.char_indices().nth(count - LAST_CHARS / 2).map_or(whole.len(), |(at, _)| at);
    let word = whole[start..].find(' ').map_or(start, |space| start + space + 1);
    format!("{} … {}", cut_sentence(&whole, LAST_CHARS / 2), &whole[word..])
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

    #[test]
    fn orders_are_words_that_say_something() {
        assert_eq!(order_of("Paint the **old** crane."), Some("Paint the old crane.".to_owned()));
        let plan = "Implement the following plan:\n\n# Blue lamps for the pier\n\nPaint them.";
        assert_eq!(order_of(plan), Some("carry out the plan “Blue lamps for the pier”".to_owned()));
        for nothing in ["yes", "continue", "go ahead", "/compact", "<command-name>x</command-name>", ""] {
            assert_eq!(order_of(nothing), None, "{nothing}");
        }
        assert!(pasted(plan).contains("Paint them."));
    }

    #[test]
    fn long_report_is_condensed_to_the_beginnings_of_its_parts() {
        let report =
            (1..=6).map(|at| format!("- Finding {at}: {}", "the lamp is dim ".repeat(20))).collect::<Vec<_>>().join("\n");
        let told = condensed(&report, 900);
        assert!((1..=6).all(|at| told.contains(&format!("Finding {at}:"))), "{told}");
        assert!(told.chars().count() <= 901);
        assert_eq!(condensed("Two words.", 900), "Two words.");
    }
}
