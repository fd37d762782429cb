//! Finds the changes of files that lasted: their call did not fail, and no later command took them back before they were committed.

use std::collections::HashSet;

use yore_core::account::failed_calls;
use yore_core::episode::{FileAction, Outcome};
use yore_core::exchange::TurnShape;

use super::passed_commands::{runs, steps};
use super::undone::is_path;

/// Words after `git stash` that put changes away.
const STASHING: [&str; 2] = ["push", "save"];

/// The effect of a command on changes that are not committed.
#[derive(Debug, PartialEq)]
enum Effect<'c> {
    /// Keeps them.
    Commit,
    /// Takes back those of these files and folders.
    TakeBack(Vec<&'c str>),
    /// Takes back all of them.
    TakeAllBack,
    /// Puts all of them away.
    Stash,
    /// Brings back what was put away last.
    Unstash,
}

/// Returns the indexes of the turns that made a change that lasted.
pub fn lasting_changes(turns: &[TurnShape<'_>]) -> HashSet<usize> {
    let failed = failed_calls(turns);
    let runs = runs(turns);
    // Each is the turn and the file.
    let mut lasting: Vec<(usize, &str)> = Vec::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    let mut stashed: Vec<Vec<(usize, &str)>> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        if !failed.contains(&at) {
            let written = turn.files.iter().filter(|file| file.action == FileAction::Written);
            open.extend(written.map(|file| (at, file.path.as_str())));
        }
        let Some(run) = runs.get(&at).filter(|run| run.outcome == Some(Outcome::Done) && !turn.is_error) else { continue };
        for step in steps(run.command) {
            match effect(step) {
                Some(Effect::Commit) => lasting.append(&mut open),
                Some(Effect::TakeBack(named)) => open.retain(|(_, path)| !named.iter().any(|named| is_in(path, named))),
                Some(Effect::TakeAllBack) => open.clear(),
                Some(Effect::Stash) => stashed.push(std::mem::take(&mut open)),
                Some(Effect::Unstash) => open.extend(stashed.pop().unwrap_or_default()),
                None => {}
            }
        }
    }
    lasting.append(&mut open);
    lasting.into_iter().map(|(turn, _)| turn).collect()
}

/// Returns whether a path is a file that a command names, or lies in a folder that it names.
fn is_in(path: &str, named: &str) -> bool {
    let named = named.trim_start_matches("./").trim_end_matches('/');
    is_path(path, named) || path.starts_with(&format!("{named}/")) || path.contains(&format!("/{named}/"))
}

fn effect(step: &str) -> Option<Effect<'_>> {
    let mut words = step.split_whitespace();
    let program = words.next()?;
    let rest: Vec<&str> = words.collect();
    let plain = |words: &[&'_ str]| words.iter().all(|word| !word.starts_with('-'));
    let (command, rest) = match (program, rest.split_first()) {
        ("rm", _) => return named(&rest),
        ("git", Some((command, rest))) => (*command, rest),
        _ => return None,
    };
    match command {
        "commit" => Some(Effect::Commit),
        "rm" => named(rest),
        "reset" if rest.contains(&"--hard") => Some(Effect::TakeAllBack),
        "restore" if !rest.contains(&"--staged") || rest.contains(&"--worktree") => named(rest),
        "stash" => match rest.iter().find(|word| !word.starts_with('-')) {
            None => Some(Effect::Stash),
            Some(word) if STASHING.contains(word) => Some(Effect::Stash),
            Some(&("pop" | "apply")) => Some(Effect::Unstash),
            Some(_) => None,
        },
        "checkout" => match rest.iter().position(|word| *word == "--") {
            Some(at) => named(&rest[at + 1..]),
            // Else it is a branch, and changes stay; one that has the name of a changed file is none.
            None if plain(rest) => named(rest),
            None => None,
        },
        _ => None,
    }
}

/// Returns the effect of a command that takes back the files among its words.
fn named<'c>(words: &[&'c str]) -> Option<Effect<'c>> {
    let files: Vec<&str> =
        words.iter().filter(|word| !word.starts_with('-')).map(|word| word.trim_matches(['"', '\''])).collect();
    match files.as_slice() {
        [] => None,
        files if files.iter().any(|file| matches!(*file, "." | "./" | "*" | ":/")) => Some(Effect::TakeAllBack),
        _ => Some(Effect::TakeBack(files)),
    }
}

#[cfg(test)]
mod tests {
    use yore_core::episode::{FileUse, Role, ToolUse};
    use yore_core::id::TurnId;

    use super::*;

    /// A call and its result: `edit FILE`, `fail FILE` (an edit that fails), or a command.
    struct Step {
        tools: [Vec<ToolUse>; 2],
        files: Vec<FileUse>,
        input: String,
        is_error: bool,
    }

    fn steps_of(script: &[&str]) -> Vec<Step> {
        let step = |(at, words): (usize, &&str)| {
            let (verb, file) = words.split_once(' ').unwrap_or((words, ""));
            let is_edit = matches!(verb, "edit" | "fail");
            let is_error = verb == "fail";
            let tool = |outcome| vec![ToolUse { call_id: Some(format!("c{at}")), name: "t".to_owned(), outcome }];
            let outcome = if is_error { Outcome::Failed } else { Outcome::Done };
            let path = format!("/home/dev/tide/{file}");
            Step {
                tools: [tool(None), tool(Some(outcome))],
                files: if is_edit { vec![FileUse { path, action: FileAction::Written }] } else { Vec::new() },
                input: if is_edit { format!("file_path: {file}") } else { format!("command: {words}") },
                is_error,
            }
        };
        script.iter().enumerate().map(step).collect()
    }

    /// Returns the steps of a script whose changes lasted.
    fn lasting(script: &[&str]) -> Vec<usize> {
        let steps = steps_of(script);
        let shape = |role, tool_text| TurnShape {
            id: TurnId::from_bytes([0; 16]),
            native_id: "",
            role,
            text: "",
            tool_text,
            caveat: None,
            is_error: false,
            at: None,
            tools: &[],
            files: &[],
        };
        let mut turns: Vec<TurnShape<'_>> = Vec::new();
        for step in &steps {
            turns.push(TurnShape { tools: &step.tools[0], files: &step.files, ..shape(Role::ToolCall, step.input.as_str()) });
            turns.push(TurnShape { tools: &step.tools[1], is_error: step.is_error, ..shape(Role::ToolResult, "") });
        }
        let mut lasting: Vec<usize> = lasting_changes(&turns).into_iter().map(|turn| turn / 2).collect();
        lasting.sort_unstable();
        lasting
    }

    #[test]
    fn a_change_lasts_unless_it_failed_or_a_later_command_took_it_back() {
        for undo in [
            "git checkout -- src/a.rs",
            "git checkout src/a.rs",
            "git checkout HEAD -- src/a.rs",
            "git checkout .",
            "git checkout -- .",
            "git restore src/a.rs",
            "git restore --worktree --staged .",
            "git restore src",
            "git stash",
            "git stash push -m later",
            "git reset --hard HEAD",
            "rm src/a.rs",
            "cd /home/dev/tide && rm -rf src/",
        ] {
            assert_eq!(lasting(&["edit src/a.rs", "edit b.rs", undo, "edit src/a.rs"]).last(), Some(&3), "{undo}");
            assert!(!lasting(&["edit src/a.rs", undo]).contains(&0), "{undo}");
            assert_eq!(lasting(&["edit src/a.rs", "git commit -m x", undo]), [0], "what is committed stays: {undo}");
        }
        for other in [
            "git checkout main",
            "git checkout -b a.rs",
            "git restore --staged src/a.rs",
            "git stash list",
            "git reset HEAD~1",
            "rm -rf target",
            "git restore src/aa.rs",
            "git status",
        ] {
            assert_eq!(lasting(&["edit src/a.rs", other]), [0], "{other}");
        }
        assert_eq!(lasting(&["fail src/a.rs", "edit src/a.rs"]), [1]);
        assert_eq!(lasting(&["edit src/a.rs", "git stash", "edit b.rs", "git stash pop"]), [0, 2]);
        assert_eq!(lasting(&[]), [0; 0]);
    }
}
