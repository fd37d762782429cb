//! Tells in the words of the session what it is about: the person's orders, reports, what is open, and the next step.

use yore_core::episode::Role;
use yore_core::event::{Event, EventKind, EventState};
use yore_core::exchange::TurnShape;
use yore_core::relevance::{is_announcement, only_announces};
use yore_core::text::fragments;

use super::commands::failing;
use super::files::changed_since;
use super::fit::Draft;
use super::trace::{Ended, Trace};
use crate::rules::{Words, cut, cut_sentence, is_title, is_typed, normal, own_title, own_words, plain, sentences, title};

/// Characters of the first and the last order, and of each between them.
const ORDER_CHARS: usize = 700;
const BETWEEN_CHARS: usize = 180;
/// Characters of what was pasted below an order, or of a plan that it hands over.
const PASTED_CHARS: usize = 1_100;
const BELOW_CHARS: usize = 120;
/// Characters of the report that the last order answers, of an earlier one, and of a statement since.
const REPORT_CHARS: usize = 2_000;
const EARLIER_CHARS: usize = 280;
const SINCE_CHARS: usize = 220;
/// Fewest words of a report, and most reports and statements.
const REPORT_WORDS: usize = 8;
const MOST_REPORTS: usize = 8;
const MOST_SINCE: usize = 5;
/// Characters of the last words of the agent, and of a step that it announced.
const LAST_CHARS: usize = 420;
const STEP_CHARS: usize = 200;
/// Most items of each list that are looked at.
const MOST_BETWEEN: usize = 16;
const MOST_OPEN: usize = 14;
/// An order of fewer words only consents.
const FEWEST_WORDS: usize = 3;
/// Bytes of a pasted message in which its title is looked for.
const HEAD_BYTES: usize = 2_000;
/// Most commands and files that are named of what was done since the last words.
const MOST_SINCE_DONE: usize = 4;
/// The next step where the last order has no answer.
const NOT_BEGUN: &str = "carry out the person's last order: nothing was done about it yet";
/// Sections of words by which a sentence of the agent names its next step.
const STEPS: [&str; 2] = ["announce", "unfinished"];

/// An order of the person.
pub struct Order {
    /// Index of its turn.
    pub at: usize,
    /// Its text, on one line.
    pub text: String,
    /// Text that was pasted below it.
    pasted: String,
    /// True if its text is certainly the person's.
    pub is_own: bool,
}

/// Returns the orders of the person that say something, in their own words.
pub fn orders(trace: &Trace<'_>) -> Vec<Order> {
    let is_order = |turn: &TurnShape<'_>| turn.role == Role::Human && turn.caveat.is_none();
    let said = trace.turns.iter().enumerate().filter(|(_, turn)| is_order(turn));
    let mut orders: Vec<Order> = Vec::new();
    for (at, turn) in said {
        let Some(text) = order_of(turn.text) else { continue };
        // A message that was sent again says nothing new.
        if orders.last().is_none_or(|last| last.text != text) {
            orders.push(Order { at, text, pasted: pasted(turn.text), is_own: !own_words(turn.text).is_empty() });
        }
    }
    orders
}

/// Returns what a message of the person orders, in their own words; `None` if it says nothing by itself.
pub fn order_of(text: &str) -> Option<String> {
    let own = own_words(text);
    // A plan that is handed over is ordered by its title.
    if let Some(title) = own_title(text).filter(|title| !own.contains(title.as_str())) {
        return Some(format!("carry out the plan “{title}”"));
    }
    if own.is_empty() {
        // The person sent it, whoever wrote it.
        let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
        return title(head).filter(|title| is_typed(head) && is_title(title)).map(|title| plain(&title));
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
    // The last words are told with the next step, unless they are the report that the last order answers.
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
    let waits = trace.turns[at..].iter().rposition(|turn| turn.role == Role::Human).map(|after| at + after);
    if let Some(waiting) = waits.filter(|waiting| order_of(trace.turns[*waiting].text).is_some()) {
        let calls = trace.calls.iter().filter(|call| call.at > waiting).count();
        let done = done_since(trace, waiting).or_else(|| (calls > 0).then(|| format!("{calls} tools were called since")));
        let text = done.map_or_else(|| NOT_BEGUN.to_owned(), |done| format!("go on with the person's last order; {done}"));
        return vec![Draft::new(text, waiting, Some(trace.id(waiting)))];
    }
    let mut drafts: Vec<Draft> = done_since(trace, at).map(|done| Draft::new(done, at + 2, None)).into_iter().collect();
    if is_announcement(last.text) || only_announces(last.text) {
        drafts.insert(0, Draft::new(format!("announced last: “{}”", cut(&plain(last.text), STEP_CHARS)), at, Some(trace.id(at))));
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

/// Returns what was done after a turn and reported by nobody; the words before it may be out of date.
fn done_since(trace: &Trace<'_>, at: usize) -> Option<String> {
    let named = |names: &[String]| {
        let more = if names.len() > MOST_SINCE_DONE { ", …" } else { "" };
        names.iter().take(MOST_SINCE_DONE).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ") + more
    };
    let ran = trace.ran.iter().filter(|ran| ran.at > at && ran.ended != Ended::Unknown);
    let ran = ran.filter_map(|ran| Some((ran.purposes().next()?.0.to_owned(), ran.ended))).next_back();
    let changed = changed_since(trace, at);
    let mut parts = Vec::new();
    if !changed.is_empty() {
        parts.push(format!("changed {}", named(&changed)));
    }
    parts.extend(ran.map(|(step, ended)| format!("ran `{step}` ({})", if ended == Ended::Passed { "passed" } else { "failed" })));
    (!parts.is_empty()).then(|| format!("since then the agent {}", parts.join(" and ")))
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
