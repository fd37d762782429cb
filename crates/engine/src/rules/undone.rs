//! Drops proposals that later commands undid: reverted commits, restored files. A fix that did not survive is no solution.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use yore_core::episode::{FileAction, Outcome};
use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;

use super::passed_commands::{Run, steps};
use super::proposal::Proposal;

/// Drops the proposals that a later command of the conversation undid.
pub fn drop_undone(turns: &[TurnShape<'_>], runs: &BTreeMap<usize, Run<'_>>, proposals: &mut Vec<Proposal>) {
    let is_commit = |run: &&Run<'_>| run.outcome == Some(Outcome::Done) && run.command.contains("git commit");
    let commits: BTreeSet<usize> = runs.values().filter(is_commit).map(|run| run.call).collect();
    let places: HashMap<TurnId, usize> = turns.iter().enumerate().map(|(at, turn)| (turn.id, at)).collect();
    for (result, Run { call, command, outcome }) in runs.iter().map(|(at, run)| (*at, *run)) {
        if outcome != Some(Outcome::Done) {
            continue;
        }
        for step in steps(command) {
            let subject = reverted(step, turns[result].tool_text);
            let restored = restored(step);
            if subject.is_none() && restored.is_empty() {
                continue;
            }
            proposals.retain(|proposal| {
                let is_before = proposal.evidence.first().and_then(|(id, _)| places.get(id)).is_some_and(|at| *at < call);
                // A commit since then keeps the change.
                let is_committed = || {
                    let from = proposal.evidence.first().and_then(|(id, _)| places.get(id)).copied().unwrap_or(call);
                    commits.range(from..call).next().is_some()
                };
                let is_reverted =
                    subject.is_some_and(|subject| proposal.rule.starts_with("commit ") && is_about(&proposal.statement, subject));
                let is_restored = !proposal.files.is_empty()
                    && proposal.files.iter().all(|path| restored.iter().any(|named| is_path(path, named)))
                    && !written_after(turns, call, &proposal.files)
                    && !is_committed();
                !(is_before && (is_reverted || is_restored))
            });
        }
    }
}

/// Returns the subject of the commit that a command reverted.
fn reverted<'o>(step: &str, output: &'o str) -> Option<&'o str> {
    let rest = step.starts_with("git revert").then(|| output.split_once("Revert \"")).flatten()?.1;
    rest.split_once('"').map(|(subject, _)| subject)
}

/// Returns the files whose changes a command takes back.
pub fn restored(step: &str) -> Vec<&str> {
    let named = match step.strip_prefix("git checkout -- ") {
        Some(named) => named,
        None => match step.strip_prefix("git restore ") {
            Some(named) if !named.contains("--staged") => named,
            _ => return Vec::new(),
        },
    };
    named.split_whitespace().filter(|word| !word.starts_with('-') && word.len() > 2).collect()
}

/// Returns whether the statement of a commit has this subject.
fn is_about(statement: &str, subject: &str) -> bool {
    statement.strip_prefix(subject.trim_end_matches('.')).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns whether a path ends with another in whole parts.
pub(super) fn is_path(path: &str, named: &str) -> bool {
    let named = named.trim_start_matches("./");
    path.strip_suffix(named).is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

pub(super) fn written_after(turns: &[TurnShape<'_>], call: usize, files: &[String]) -> bool {
    let written: HashSet<&str> = turns[call..]
        .iter()
        .flat_map(|turn| turn.files)
        .filter(|file| file.action == FileAction::Written)
        .map(|file| file.path.as_str())
        .collect();
    files.iter().any(|file| written.contains(file.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_restored_are_named_by_the_command() {
        assert_eq!(restored("git checkout -- src/a.rs src/b.rs"), ["src/a.rs", "src/b.rs"]);
        assert_eq!(restored("git restore src/a.rs"), ["src/a.rs"]);
        for none in ["git checkout main", "git restore --staged src/a.rs", "git checkout -b tide", "git status"] {
            assert!(restored(none).is_empty(), "{none}");
        }
    }
}
