//! Extracts commands that worked: how tests, linter, build, formatter, release and deployment are run.

use std::collections::{BTreeMap, HashMap};

use yore_core::episode::{Outcome, Role};
use yore_core::event::Purpose;
use yore_core::exchange::TurnShape;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::command_of;

use super::proposal::Proposal;
use super::words::Words;

/// Successes after which a command is known to work.
const SUCCESSES: usize = 2;
/// Most words of a command for all of a project; a longer one is about a part of it.
const MOST_WORDS: usize = 5;
/// Words before the commands.
const WORKED: &str = "Commands that passed: ";
/// Longest command, in bytes.
const LONGEST: usize = 80;

/// Commands that do the same in every project of their language, and tell nothing of this one.
const EVERYWHERE: [&str; 14] = [
    "cargo build",
    "cargo clippy",
    "cargo fmt",
    "cargo test",
    "go build",
    "go build ./...",
    "go fmt ./...",
    "go test",
    "go test ./...",
    "npm run build",
    "npm run lint",
    "npm run test",
    "npm test",
    "pytest",
];

/// The purposes of which memories are made.
const PURPOSES: [Purpose; 6] = [Purpose::Test, Purpose::Lint, Purpose::Format, Purpose::Build, Purpose::Release, Purpose::Deploy];

/// A command that was run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'t> {
    /// Index of the turn that calls it.
    pub call: usize,
    /// The command.
    pub command: &'t str,
    /// Its outcome, if that was recorded.
    pub outcome: Option<Outcome>,
}

/// Returns the commands that were run, by the index of the turn with the result.
pub fn runs<'t>(turns: &[TurnShape<'t>]) -> BTreeMap<usize, Run<'t>> {
    let mut calls: HashMap<&str, (usize, &'t str)> = HashMap::new();
    let mut runs = BTreeMap::new();
    for (at, turn) in turns.iter().enumerate() {
        let [tool] = turn.tools else { continue };
        let Some(id) = tool.call_id.as_deref() else { continue };
        if turn.role != Role::ToolResult {
            calls.extend(command_of(turn.tool_text).map(|command| (id, (at, command))));
        } else if let Some((call, command)) = calls.get(id) {
            runs.insert(at, Run { call: *call, command, outcome: tool.outcome });
        }
    }
    runs
}

/// Proposes the commands of a conversation that passed twice, for each purpose the first, as one memory; one command alone tells
/// little.
pub fn propose(turns: &[TurnShape<'_>], runs: &BTreeMap<usize, Run<'_>>, found: &mut Vec<Proposal>) {
    let mut passed: HashMap<&str, usize> = HashMap::new();
    let mut of_purpose: [Option<(usize, &str)>; PURPOSES.len()] = [None; PURPOSES.len()];
    for (result, Run { call, command, outcome }) in runs.iter().map(|(at, run)| (*at, *run)) {
        let Some(command) = whole(command) else { continue };
        let Some(purpose) = purpose_of(command).filter(|purpose| of_purpose[*purpose].is_none()) else { continue };
        if outcome != Some(Outcome::Done) || turns[result].is_error {
            continue;
        }
        let count = passed.entry(command).or_default();
        *count += 1;
        if *count == SUCCESSES {
            of_purpose[purpose] = Some((call, command));
        }
    }
    let known: Vec<(Purpose, usize, &str)> = PURPOSES
        .into_iter()
        .zip(of_purpose)
        .filter_map(|(purpose, run)| run.map(|(call, command)| (purpose, call, command)))
        .collect();
    let [(_, call, command), _, ..] = known.as_slice() else { return };
    let told: Vec<String> = known.iter().map(|(purpose, _, command)| format!("`{command}` {}", purpose.said())).collect();
    let statement = format!("{WORKED}{}.", told.join(", "));
    let words = Words::of("");
    let rule = "commands that worked";
    let made = Proposal::new(rule, MemoryKind::Fact, &statement, &turns[*call], command, SourceKind::Agent, words);
    let evidence = known.iter().map(|(_, call, command)| (turns[*call].id, (*command).to_owned())).collect();
    found.push(Proposal { evidence, is_proven: true, ..made.weighing(0.62, 0.5) });
}

/// Returns the first program and the number of commands that a statement of this rule tells: of those with the same program,
/// one that tells more takes the place of the words of another. `None` for any other statement.
pub fn form(statement: &str) -> Option<(&str, usize)> {
    let told = statement.strip_prefix(WORKED)?;
    let program = told.strip_prefix('`')?.split([' ', '`']).next()?;
    Some((program, told.matches('`').count() / 2))
}

/// Returns the commands of a line, one after the other.
pub fn steps(command: &str) -> impl Iterator<Item = &str> {
    command.split("&&").flat_map(|part| part.split("; ")).map(|step| step.split(" 2>").next().unwrap_or(step).trim())
}

/// Returns a command without the change of directory before it and without what is done with its output; `None` if it is
/// several commands, or about a part of the project.
fn whole(command: &str) -> Option<&str> {
    let mut rest = command.trim();
    while let Some((first, after)) = rest.split_once("&&") {
        if !first.trim_start().starts_with("cd ") {
            return None;
        }
        rest = after.trim();
    }
    let end = rest.find(['|', '>', '\n']).unwrap_or(rest.len());
    let rest = rest[..end].trim().trim_end_matches("2").trim_end();
    let is_part = |word: &str| {
        let is_pattern = word.contains(['"', '\'', '$', '=', '*', ';', '(']) || word.contains("::");
        let is_option_of_part = matches!(word, "-run" | "-k" | "-t" | "--test" | "-p" | "--package" | "--lib");
        let is_path = word.contains('/') && word != "./...";
        is_pattern || is_option_of_part || is_path
    };
    let is_whole = rest.len() <= LONGEST && !rest.is_empty() && rest.split_whitespace().count() <= MOST_WORDS;
    (is_whole && !rest.split_whitespace().any(is_part)).then_some(rest)
}

/// Returns which of the purposes a command serves that is not the same in every project.
fn purpose_of(command: &str) -> Option<usize> {
    let is_own = !EVERYWHERE.contains(&command) && !command.starts_with("git ") && !command.starts_with("gh ");
    let purpose = Purpose::of(command).filter(|_| is_own)?;
    PURPOSES.iter().position(|known| *known == purpose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_for_the_whole_project_counts() {
        assert_eq!(whole("cd /home/dev/quay && mise run test 2>&1 | tail -5"), Some("mise run test"));
        assert_eq!(whole("go test ./..."), Some("go test ./..."));
        for part in [
            "go test -run TestTide ./...",
            "cargo test tide::gauge",
            "pytest tests/a.py",
            "make a && make b",
            "",
            "FOO=1 make test",
        ] {
            assert_eq!(whole(part), None, "{part}");
        }
    }

    #[test]
    fn commands_of_a_program_have_one_form() {
        let two = "Commands that passed: `make test` runs the tests, `make lint` runs the linter.";
        assert_eq!(form(two), Some(("make", 2)));
        assert_eq!(form("`make test` runs the tests of the tide gauge"), None);
    }

    #[test]
    fn purpose_of_a_command_is_told_by_its_words() {
        let said = |command| purpose_of(command).map(|purpose| PURPOSES[purpose].said());
        assert_eq!(said("mise run test:ci"), Some("runs the tests"));
        assert_eq!(said("cargo clippy --all-targets"), Some("runs the linter"));
        assert_eq!(said("pnpm run build"), Some("builds the project"));
        assert_eq!(said("git log test"), None);
        assert_eq!(said("make"), None);
        assert_eq!(said("go test ./..."), None, "it does the same everywhere");
    }
}
