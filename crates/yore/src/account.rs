//! The account of the memory: what sessions took that hooks gave something, and those that were held out by chance, and what it cost.
//!
//! Both groups are sessions for which there was something to give; chance alone decided which got it. So a difference is the memory's.

use std::collections::HashMap;

use yore_core::account::compare;
use yore_core::relevance::{SkipReason, TriggerKind};
use yore_core::time::UtcMillis;
use yore_engine::{OutcomesRequest, SessionOutcome, SessionsRequest, Spent};

use crate::engine_handle::{MemoryClient, now};
use crate::error::CliResult;
use crate::inject::ledger::{self, Entry};
use crate::inject::receipts;
use crate::llm::offset_minutes;
use crate::results::{Account, Quantity, Taken};

/// Days that are counted unless a caller says otherwise.
pub const DAYS: i64 = 90;
const DAY_MS: i64 = 86_400_000;
/// Most sessions that are looked at, the last used ones.
const MOST_SESSIONS: usize = 2_000;

/// A quantity of a session; `None`: it has none.
type Value = fn(&SessionOutcome) -> Option<f64>;

/// The quantities that are compared: name, name for people, value.
const QUANTITIES: [(&str, &str, Value); 7] = [
    ("calls_before_change", "calls of tools before the first lasting change", |one| whole(one.outcome.calls_before_change)),
    ("tokens_before_change", "tokens before it", |one| whole(one.outcome.tokens_before_change)),
    ("minutes_before_change", "minutes before it", |one| one.outcome.minutes_before_change),
    ("files_before_change", "files opened before it", |one| whole(one.outcome.files_before_change)),
    ("tool_calls", "calls of tools in all", |one| whole(Some(one.outcome.tool_calls))),
    ("errors", "failed calls of tools", |one| whole(Some(one.outcome.errors))),
    ("known_errors", "errors that an earlier session had met", |one| whole(Some(one.known_errors))),
];

fn whole(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}

/// The two groups of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    With,
    Without,
}

/// Returns what hooks gave a session of memory: not the answers of tools, nor the question whether it has something to record.
fn of_hooks(entries: &[Entry]) -> impl Iterator<Item = &Entry> + Clone {
    entries.iter().filter(|entry| entry.kind.is_some_and(|kind| kind != TriggerKind::Distil))
}

/// Returns the group of a session by its ledger; `None`: there was nothing to give, or some occasions were held out alone.
fn group(entries: &[Entry]) -> Option<Group> {
    let mut of_hooks = of_hooks(entries);
    let is_given = of_hooks.clone().any(|entry| entry.tokens > 0);
    let is_held_out = of_hooks.any(|entry| entry.skipped == Some(SkipReason::HeldOut));
    match (is_given, is_held_out) {
        (true, false) => Some(Group::With),
        (false, true) => Some(Group::Without),
        _ => None,
    }
}

/// Makes the account of sessions since a time, of projects, or of all.
pub fn account(memory: &mut MemoryClient, projects: Vec<String>, since: Option<UtcMillis>) -> CliResult<Account> {
    let since = since.unwrap_or_else(|| now() - DAYS * DAY_MS);
    let directory = memory.directory().to_path_buf();
    let mut groups: HashMap<String, (Group, u64)> = HashMap::new();
    for (name, _) in receipts::known(&directory) {
        let entries = ledger::read(&directory, &name);
        if let Some(group) = group(&entries) {
            groups.insert(name, (group, of_hooks(&entries).map(|entry| entry.tokens as u64).sum()));
        }
    }
    let mut account = Account { holdout_sessions: memory.config().inject.holdout_sessions, ..Account::default() };
    let mut outcomes = Vec::new();
    if !groups.is_empty() {
        // A ledger's name is made of the session's id.
        let group_of = |session: &str| groups.get(ledger::path(&directory, session).file_stem()?.to_str()?);
        let listed = SessionsRequest {
            projects: projects.clone(),
            since: Some(since),
            without_documents: true,
            limit: MOST_SESSIONS,
            ..SessionsRequest::default()
        };
        let ids = memory.sessions(listed)?.into_iter().map(|session| session.native_id);
        let sessions: Vec<String> = ids.filter(|session| group_of(session).is_some()).collect();
        for outcome in memory.outcomes(OutcomesRequest { projects, since: Some(since), sessions })? {
            if let Some((group, tokens)) = group_of(&outcome.session) {
                account.with += u64::from(*group == Group::With);
                account.without += u64::from(*group == Group::Without);
                account.given_tokens += tokens;
                outcomes.push((*group, outcome));
            }
        }
    }
    for (name, title, value) in QUANTITIES {
        let of = |wanted: Group| -> Vec<f64> {
            outcomes.iter().filter(|(group, _)| *group == wanted).filter_map(|(_, outcome)| value(outcome)).collect()
        };
        account.quantities.push(Quantity::of(name, title, &compare(&of(Group::With), &of(Group::Without))));
    }
    let today = memory.day(offset_minutes())?;
    let first = today - (now() - since).max(0) / DAY_MS;
    let mut spent = Spent::default();
    for row in memory.ledger(first)? {
        spent.add(&row.spent);
    }
    account.models = Taken::from(spent);
    Ok(account)
}

#[cfg(test)]
mod tests {
    use super::*;
    use yore_core::account::Outcome;

    #[test]
    fn sessions_are_grouped_by_what_hooks_gave_them_and_mixed_ones_are_left_out() {
        let entry = |tokens, skipped| Entry { kind: Some(TriggerKind::Prompt), tokens, skipped, ..Entry::default() };
        let (given, held, silent) = (entry(9, None), entry(0, Some(SkipReason::HeldOut)), entry(0, Some(SkipReason::Floor)));
        let of_tool = Entry { tokens: 50, ..Entry::default() };
        assert_eq!(group(&[silent.clone(), given.clone()]), Some(Group::With));
        assert_eq!(group(&[silent.clone(), held.clone()]), Some(Group::Without));
        // The answers that an agent asked for decide nothing.
        assert_eq!(group(&[held.clone(), of_tool.clone()]), Some(Group::Without));
        assert_eq!(group(&[of_tool]), None);
        let asked = Entry { kind: Some(TriggerKind::Distil), ..given.clone() };
        assert_eq!(group(&[held.clone(), asked.clone()]), Some(Group::Without), "the question gives nothing");
        assert_eq!(group(&[asked]), None);
        assert_eq!(group(&[given, held]), None);
        assert_eq!(group(&[silent]), None);
    }

    #[test]
    fn each_quantity_has_a_name_of_its_own() {
        let mut names: Vec<&str> = QUANTITIES.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), QUANTITIES.len());
        let outcome = Outcome { tool_calls: 3, ..Outcome::default() };
        let one = SessionOutcome {
            session: String::new(),
            agent: String::new(),
            project: None,
            started: None,
            outcome,
            known_errors: 2,
        };
        let values: Vec<Option<f64>> = QUANTITIES.iter().map(|(.., value)| value(&one)).collect();
        assert_eq!(values, [None, None, None, None, Some(3.0), Some(0.0), Some(2.0)]);
    }
}
