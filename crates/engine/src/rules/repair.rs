//! Extracts fixes: a command that failed, edits, and the same command passing; or the command that worked in its place.

use std::collections::{BTreeMap, HashMap};

use yore_core::episode::{FileAction, Outcome, Role};
use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;
use yore_core::memory::{MemoryKind, SourceKind};
use yore_core::text::{error_line, steady};

use super::command::{Run, runs};
use super::proposal::{MOST_STATEMENT_CHARS, Proposal, cut, names_of, plain, solution};
use super::sentence::{Sentence, is_name, sentences};
use super::words::Words;

/// A command that failed and has not passed since.
struct Open {
    /// Turn of the failing result, and the line that reports the error.
    turn: TurnId,
    error: String,
    /// Files that were changed since.
    files: Vec<String>,
    /// The agent's words since.
    said: Vec<(TurnId, String)>,
}

/// Commands after a failing one among which one may have worked in its place.
const REPLACED_WITHIN: usize = 3;
/// Programs that only prepare a command here and now.
const ROUTINE: [&str; 9] = ["cd", "cp", "echo", "export", "git", "mkdir", "mv", "rm", "sleep"];
/// Longest command that is told, in characters.
const COMMAND_CHARS: usize = 90;

/// Proposes the commands that worked in the place of others that failed, where the error says why: a program that is not
/// on the path, a flag that there is not, something that must be done first.
fn replaced(turns: &[TurnShape<'_>], runs: &BTreeMap<usize, Run<'_>>, found: &mut Vec<Proposal>) {
    let in_order: Vec<(usize, Run<'_>)> = runs.iter().map(|(at, run)| (*at, *run)).collect();
    for (number, (at, failed)) in in_order.iter().enumerate() {
        if failed.outcome != Some(Outcome::Failed) {
            continue;
        }
        let is_change = |from: usize, to: usize| {
            turns[from..to].iter().flat_map(|turn| turn.files).any(|file| file.action == FileAction::Written)
        };
        for (later, worked) in in_order.iter().skip(number + 1).take(REPLACED_WITHIN) {
            if worked.command == failed.command || is_change(*at, *later) {
                break;
            }
            if worked.outcome != Some(Outcome::Done) || turns[*later].is_error {
                continue;
            }
            let output = turns[*at].tool_text;
            if let Some((statement, error)) = in_place_of(failed.command, worked.command, output) {
                let call = &turns[worked.call];
                let words = Words::of("");
                let made = Proposal::new(
                    "command in place of one that failed",
                    MemoryKind::Solution,
                    &statement,
                    call,
                    worked.command,
                    SourceKind::Agent,
                    words,
                );
                let fields = solution(cut(&plain(error), 200), Some(cut(error.trim(), 300)), Vec::new());
                let mut evidence = made.evidence.clone();
                evidence.push((turns[*at].id, error.to_owned()));
                found.push(Proposal { fields, evidence, is_proven: true, ..made.weighing(0.66, 0.55) });
                break;
            }
        }
    }
}

/// Returns what a command that worked in the place of another tells, and the line of the error.
fn in_place_of<'o>(failed: &str, worked: &str, output: &'o str) -> Option<(String, &'o str)> {
    let (failed, worked) = (bare(failed), bare(worked));
    let line = |mark: &str| output.lines().find(|line| line.to_lowercase().contains(mark)).map(str::trim);
    let program = failed.split_whitespace().next()?;
    let told = cut(worked, COMMAND_CHARS);
    let is_word = |line: &str, word: &str| {
        line.split(|letter: char| letter.is_whitespace() || ":,'\"`".contains(letter)).any(|part| part == word)
    };
    // The same command behind a program that finds it: not what installs or looks for it.
    let wrapper = worked.find(&format!(" {program}")).filter(|at| {
        let rest: Vec<&str> = failed.split_whitespace().skip(1).collect();
        let after: Vec<&str> = worked[at + 1..].split_whitespace().skip(1).collect();
        rest.iter().filter(|word| after.contains(word)).count() * 2 > rest.len()
    });
    let not_found = line("command not found").or_else(|| line("is not recognized as"));
    if let Some(error) = not_found.filter(|error| is_word(error, program) && wrapper.is_some()) {
        return Some((format!("`{program}` is not on the path; `{told}` runs it."), error));
    }
    if let Some(first) = worked.strip_suffix(failed).and_then(|first| first.trim_end().strip_suffix("&&")) {
        let first = first.trim();
        let is_routine = first.split_whitespace().next().is_none_or(|program| ROUTINE.contains(&program));
        // The output asks for the step.
        let asked = first.split_whitespace().skip(1).filter(|word| word.len() > 3).find_map(|word| line(&word.to_lowercase()));
        let error = asked.filter(|_| !is_routine)?;
        let statement = format!("`{}` needs `{first}` first: {}", cut(failed, COMMAND_CHARS), cut(&plain(error), 120));
        return Some((statement, error));
    }
    let flags = ["unknown flag", "unknown option", "unrecognized option", "unexpected argument", "no such option"];
    let error = flags.iter().find_map(|mark| line(mark))?;
    let flag = failed.split_whitespace().find(|word| word.len() > 2 && word.starts_with('-') && is_word(error, word))?;
    // The same command with other options.
    let main = |command: &str| -> Vec<String> {
        command.split_whitespace().take_while(|word| !word.starts_with(['-', '|', '>'])).map(str::to_owned).collect()
    };
    let is_same = main(failed) == main(worked) && !worked.split_whitespace().any(|word| word == flag);
    let name =
        main(failed).into_iter().filter(|word| !word.chars().all(|digit| digit.is_ascii_digit())).collect::<Vec<_>>().join(" ");
    is_same.then(|| (format!("`{name}` has no `{flag}`; `{told}` works."), error))
}

/// Returns a command without what is done with its output.
fn bare(command: &str) -> &str {
    let end = [" 2>", " | ", " > "].iter().filter_map(|mark| command.find(mark)).min().unwrap_or(command.len());
    command[..end].trim()
}

/// Proposes the errors that the turns of an exchange mended.
pub fn propose(turns: &[TurnShape<'_>], found: &mut Vec<Proposal>) {
    let runs = runs(turns);
    replaced(turns, &runs, found);
    let mut open: HashMap<&str, Open> = HashMap::new();
    for (at, turn) in turns.iter().enumerate() {
        let written: Vec<&str> =
            turn.files.iter().filter(|file| file.action == FileAction::Written).map(|file| file.path.as_str()).collect();
        for failed in open.values_mut() {
            failed.files.extend(
                written
                    .iter()
                    .filter(|path| !failed.files.iter().any(|known| known == *path))
                    .map(|path| (*path).to_owned())
                    .collect::<Vec<_>>(),
            );
            if turn.role == Role::Assistant && !turn.text.is_empty() {
                failed.said.push((turn.id, turn.text.to_owned()));
            }
        }
        let Some(Run { command, outcome, .. }) = runs.get(&at).copied() else { continue };
        match outcome {
            Some(Outcome::Failed) => {
                let Some(error) = error_line(turn.tool_text) else { continue };
                open.entry(command).or_insert(Open {
                    turn: turn.id,
                    error: error.to_owned(),
                    files: Vec::new(),
                    said: Vec::new(),
                });
            }
            Some(Outcome::Done) => {
                let Some(failed) = open.remove(command) else { continue };
                found.extend(mended(command, failed, turn));
            }
            _ => {}
        }
    }
}

fn mended(command: &str, failed: Open, passed: &TurnShape<'_>) -> Option<Proposal> {
    if failed.files.is_empty() {
        return None;
    }
    let error = steady(&failed.error);
    // The agent's words that give the reason.
    let reason = failed.said.iter().find_map(|(id, text)| {
        let words = Words::of(text);
        let said = sentences(text, words);
        let sentence = said.iter().find(|sentence| {
            !sentence.is_question
                && sentence.count() >= 6
                && sentence.names() > 0
                && words.has("strong cause", &sentence.normal)
                && !words.has("trivial", &sentence.normal)
                && !words.has("announce", &sentence.normal)
                && !words.has("unfinished", &sentence.normal)
                && !words.has("reversal", &sentence.normal)
                && names_the_same(sentence, &failed.error)
        })?;
        Some((*id, sentence.text.to_owned(), words))
    });
    let (id, reason, words) = reason?;
    let what =
        format!("(`{}` failed: {}; changed {})", cut(&plain(command), 40), cut(&plain(&error), 90), names_of(&failed.files));
    let statement = format!("{} {what}", cut(&plain(&reason), MOST_STATEMENT_CHARS.saturating_sub(what.chars().count() + 2)));
    let made =
        Proposal::new("error and what mended it", MemoryKind::Solution, &statement, passed, &reason, SourceKind::Agent, words);
    let error = Some(cut(failed.error.trim(), 300));
    Some(Proposal {
        fields: solution(cut(&plain(&failed.error), 200), error, failed.files.clone()),
        evidence: vec![(id, reason), (failed.turn, failed.error)],
        files: failed.files,
        is_proven: true,
        ..made.weighing(0.64, 0.65)
    })
}

/// Returns whether a sentence names something exactly that the error names too.
fn names_the_same(sentence: &Sentence<'_>, error: &str) -> bool {
    let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    let named: Vec<String> = sentence.text.split_whitespace().filter(|word| is_name(word)).map(bare).collect();
    let error = error.to_lowercase();
    named.iter().any(|name| name.len() > 3 && error.contains(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_place_of_another_tells_why_it_was_needed() {
        let told = |failed, worked, output| in_place_of(failed, worked, output).map(|(statement, _)| statement);
        let not_found = "Exit code 127\n(eval):1: command not found: golangci-lint";
        assert_eq!(
            told("golangci-lint run ./... 2>&1", "mise exec -- golangci-lint run ./... 2>&1", not_found).as_deref(),
            Some("`golangci-lint` is not on the path; `mise exec -- golangci-lint run ./...` runs it.")
        );
        assert_eq!(
            told("mise run fmt", "mise trust && mise run fmt", "Exit code 1\nmise ERROR parse\nmise.toml is not trusted.")
                .as_deref(),
            Some("`mise run fmt` needs `mise trust` first: mise.toml is not trusted.")
        );
        assert_eq!(
            told("gh pr diff 104 --stat", "gh pr diff 104 --name-only", "Exit code 1\nunknown flag: --stat").as_deref(),
            Some("`gh pr diff` has no `--stat`; `gh pr diff 104 --name-only` works.")
        );
        assert_eq!(told("gh pr diff 104 --stat", "gh pr list", "unknown flag: --stat"), None);
        assert_eq!(told("jq .a x.json", "brew install jq", "Exit code 127\nsh: jq: command not found"), None);
        assert_eq!(told("pnpm -- test", "pnpm test", "unknown option: --stat"), None);
        assert_eq!(told("make test", "make lint", "error: no header"), None);
        assert_eq!(told("make test", "cd /quay && make test", "error: no rule to make target"), None);
        assert_eq!(told("make lint", "git stash && make lint", "Exit code 1\nlint: 3 issues"), None);
    }
}
