//! Extraction rules: propose memories from a conversation, without a model. The same conversation always gives the same
//! proposals.
//!
//! - [`Conversation`], [`propose`]: what the rules read, and what they propose
//! - [`Proposal`]: a memory that a rule proposes, with the reason and the words that it rests on
//! - a module for each kind of source: `person` (standing orders and preferences), `option` (what they chose from a list), `plan` (what
//!   they approved or refused), `report` (causes with their fix, and tickets), `commit` (messages of commits), `passed_commands` (commands that
//!   worked), `milestone` (pull requests)
//! - [`events`]: what tools report to have happened, such as commits and pull requests
//! - [`attempts`]: the commands that were run, with what became of them
//! - [`finding_worth`]: how well a sentence says a cause or a repair
//! - `undone`: drops what later commands took back
//! - `names`: the entities that a statement names, and the relations that it states between them
//! - `words`: the words that they recognise, as data for each language; `sentence` and `context`: sentences, and what
//!   makes one understandable alone
//!
//! Only what a person typed can become a standing order or a preference: results of tools, pages and inserted texts are
//! not looked at, except for a client's own notice that a tool call was refused. `own` tells where a message ceases to be the person's
//! words: what is said from there on is proposed for a review, and holds for nobody until then.

mod attempt;
mod commit;
mod context;
mod event;
mod finding;
mod lasting;
mod milestone;
mod names;
mod option;
mod own;
mod passed_commands;
mod person;
mod plan;
mod proposal;
mod report;
mod sentence;
#[cfg(test)]
mod tests;
mod undone;
mod words;

use std::collections::HashMap;

use yore_core::conflict::{Repetition, Statement};
use yore_core::episode::{Outcome, Role};
use yore_core::exchange::TurnShape;
use yore_core::memory::Memory;
use yore_core::text::Tokenizer;

pub use self::attempt::{attempts, directories};
pub use self::event::{Call, calls, command as command_in, events};
pub use self::finding::{FINDING, finding_worth};
pub use self::lasting::lasting_changes;
pub use self::names::{StatedRelation, aliases, entities, stated};
pub use self::own::{is_title, own_bytes, own_title, own_title_among, own_words, title, title_among};
pub use self::passed_commands::{form, steps};
pub use self::person::is_typed;
pub use self::proposal::Proposal;
pub use self::sentence::{Sentence, content_words, is_name, sentences};
pub use self::undone::restored;
pub use self::words::{Words, normal};
pub use yore_core::text::{cut, cut_sentence, plain};

/// Version of the rules. Another one extracts every conversation anew.
pub const VERSION: u32 = 4;
/// Their name as an extractor.
pub const NAME: &str = "rules";
/// Least certainty of a proposal.
pub const LEAST_CERTAINTY: f32 = 0.55;
/// Most proposals of one exchange, except answers to questions, of which each counts.
const MOST_OF_EXCHANGE: usize = 3;
/// Messages after a diagnosis that may say that it was wrong.
const LATER_MESSAGES: usize = 3;
/// The last proposals with which one is compared: a conversation may be endless.
const COMPARED: usize = 500;
/// Two proposals with more words in common say the same.
pub const SAME: f32 = 0.5;
/// Names of rules that were removed: nothing proposes what they found any more, and it is kept.
const REMOVED: [&str; 13] = [
    "cause",
    "command in place of one that failed",
    "commit reverted",
    "correction",
    "decision",
    "decision of the agent",
    "decision with a reason",
    "error and what mended it",
    "error in a summary",
    "fact told",
    "for later",
    "left open",
    "release",
];

/// Names of rules that record what was done once. What was done later changes nothing about it.
const DONE_ONCE: [&str; 3] = ["approved plan", "commit with a reason", "refused tool call"];

/// Returns whether a rule that was removed since had found what this extractor recorded.
pub fn is_removed(extractor: &str) -> bool {
    rule_of(extractor).is_some_and(|rule| REMOVED.contains(&rule))
}

/// Returns whether a rule recorded with a memory what was done once, and not what holds.
pub fn is_done_once(memory: &Memory) -> bool {
    let rule = memory.source.extractor.as_deref().and_then(rule_of);
    rule.is_some_and(|rule| DONE_ONCE.contains(&rule))
}

fn rule_of(extractor: &str) -> Option<&str> {
    let (_, rule) = extractor.strip_prefix(NAME)?.strip_prefix('/')?.split_once(": ")?;
    Some(rule)
}

/// A conversation as rules read it.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'t> {
    /// Its turns in order.
    pub turns: &'t [TurnShape<'t>],
}

/// Returns the memories that the rules propose, in the order of the conversation. What is said later changes nothing
/// about the proposals of exchanges that are complete, unless a command takes them back. Turns with a caveat are left out.
pub fn propose(conversation: &Conversation<'_>) -> Vec<Proposal> {
    let turns: Vec<TurnShape<'_>> = conversation.turns.iter().filter(|turn| turn.caveat.is_none()).copied().collect();
    let turns = turns.as_slice();
    let conversation = &Conversation { turns };
    let (mut kept, mut tokenizer): (Vec<(Proposal, Statement)>, _) = (Vec::new(), Tokenizer::default());
    let starts = (0..turns.len()).filter(|at| turns[*at].role == Role::Human);
    let starts: Vec<usize> = std::iter::once(0).chain(starts.filter(|at| *at > 0)).collect();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(turns.len());
        let mut found = of_exchange(conversation, *start, end);
        found.retain(|proposal| proposal.certainty >= LEAST_CERTAINTY);
        found.sort_by(|a, b| a.waits.cmp(&b.waits).then(b.certainty.total_cmp(&a.certainty)));
        let mut count = 0;
        for proposal in found {
            let statement = Statement::of(&proposal.statement, &mut tokenizer);
            // A proposal that waits for a review hides no word of the person, and one that adds or changes something is kept.
            let says_no_more =
                |known| matches!(Repetition::of(known, &statement), Some(Repetition::Same | Repetition::FirstSaysMore));
            let is_known = kept.iter().rev().take(COMPARED).any(|(other, known)| {
                (says_no_more(known) || other.evidence.first() == proposal.evidence.first()) && (proposal.waits || !other.waits)
            });
            let is_answer = proposal.rule == plan::ANSWER;
            if is_known || count >= MOST_OF_EXCHANGE && !is_answer {
                continue;
            }
            count += usize::from(!is_answer);
            kept.push((proposal, statement));
        }
    }
    let mut kept: Vec<Proposal> = kept.into_iter().map(|(proposal, _)| proposal).collect();
    let runs = passed_commands::runs(turns);
    passed_commands::propose(turns, &runs, &mut kept);
    undone::drop_undone(turns, &runs, &mut kept);
    milestone::propose(turns, &runs, &mut kept);
    kept
}

/// Returns whether a turn is prose of the agent.
fn is_said(turn: &TurnShape<'_>) -> bool {
    turn.role == Role::Assistant && !turn.text.is_empty()
}

/// Returns what the rules find in an exchange.
fn of_exchange(conversation: &Conversation<'_>, start: usize, end: usize) -> Vec<Proposal> {
    let turns = &conversation.turns[start..end];
    let mut found = Vec::new();
    let Some(first) = turns.first() else { return found };
    if first.role == Role::Human {
        plan::carried_out(first, &mut found);
        // Words that a client took from the result of a tool may be the tool's.
        let before = start.checked_sub(1).map(|at| &conversation.turns[at]);
        let is_refusal = before.is_some_and(|before| before.role == Role::ToolResult && before.tool_text.contains(first.text));
        if !is_refusal {
            if let Some(agent) = conversation.turns[..start].iter().rev().find(|turn| is_said(turn)) {
                option::propose(first, agent.text, &mut found);
            }
            person::propose(first, &mut found);
        }
    }
    let mut calls: HashMap<&str, &TurnShape<'_>> = HashMap::new();
    // Commits are proposed once it is known that they did not fail.
    let mut commits: Vec<(&TurnShape<'_>, Vec<Proposal>)> = Vec::new();
    for turn in turns {
        match turn.role {
            Role::ToolResult => {
                let ids = turn.tools.iter().filter_map(|tool| tool.call_id.as_deref());
                if let Some(call) = ids.filter_map(|id| calls.get(id)).next() {
                    if turn.is_error || turn.tools.iter().any(|tool| tool.outcome == Some(Outcome::Failed)) {
                        commits.retain(|(commit, _)| commit.id != call.id);
                    }
                    plan::decided(turn, call, &mut found);
                    plan::refused(turn, call, &mut found);
                }
            }
            _ if !turn.tools.is_empty() => {
                let mut of_commit = Vec::new();
                commit::propose(turn, &mut of_commit);
                if !of_commit.is_empty() {
                    commits.push((turn, of_commit));
                }
                calls.extend(turn.tools.iter().filter_map(|tool| Some((tool.call_id.as_deref()?, turn))));
            }
            _ => {}
        }
    }
    found.extend(commits.into_iter().flat_map(|(_, of_commit)| of_commit));
    // A report that the person doubts at once was not the last word.
    let next = conversation.turns.get(end).filter(|next| next.role == Role::Human);
    if !next.is_some_and(|next| person::doubts(next.text)) {
        reports(turns, &mut found);
    }
    found
}

/// Adds what the agent reports in an exchange, the last message first: an earlier diagnosis may have been wrong.
fn reports(turns: &[TurnShape<'_>], found: &mut Vec<Proposal>) {
    let wrote = report::written(turns);
    let (mut later, mut wrote_later): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    for turn in turns.iter().rev() {
        if is_said(turn) {
            let is_reversed = report::is_reversed(&later[later.len().saturating_sub(LATER_MESSAGES)..]);
            // A diagnosis counts if an edit followed it.
            match later.is_empty() {
                true => report::propose(turn, &wrote, true, found),
                false if !is_reversed && !wrote_later.is_empty() => report::propose(turn, &wrote_later, false, found),
                false => {}
            }
            report::tickets(turn, found);
            later.push(turn.text);
        }
        // The files that were changed first after it come first.
        let mut from_here = report::written(std::slice::from_ref(turn));
        for path in std::mem::take(&mut wrote_later) {
            report::add_path(&path, &mut from_here);
        }
        wrote_later = from_here;
    }
}
