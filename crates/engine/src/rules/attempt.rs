//! Reads from a conversation which shell commands ran, which of them failed and why, and which form passed next.

use std::collections::HashMap;

use yore_core::command::{
    Attempt, Cause, CauseKind, Failed, Link, Step, cause, is_acting, named, normal, run_key, steps, subject,
};
use yore_core::episode::{FileAction, Outcome};
use yore_core::event::Purpose;
use yore_core::exchange::TurnShape;
use yore_core::text::{cut, error_lines, is_look};

use super::event::{Call, REFUSED, calls};

/// Names of inputs that may follow a command of several lines.
const OTHER_INPUTS: [&str; 14] = [
    "block_until_ms",
    "cwd",
    "dangerouslyDisableSandbox",
    "description",
    "directory",
    "dir_path",
    "is_background",
    "justification",
    "login",
    "max_output_tokens",
    "run_in_background",
    "timeout",
    "workdir",
    "yield_time_ms",
];
/// Beginnings of answers of a client that ran nothing, or broke off.
const NOT_RUN: [&str; 6] = [
    "This command requires approval",
    "Permission to use",
    "<tool_use_error>",
    "Command timed out",
    "Permission for this action",
    "Request interrupted",
];
/// Lines before the error in an answer of Codex's sandbox.
const SANDBOX: &str = "failed in sandbox";
/// Most calls after a failure among which the form that passed is looked for.
const MOST_CALLS: usize = 40;
/// Longest form, error and directory that are stored, in characters.
const MOST_FORM_CHARS: usize = 120;
const MOST_ERROR_CHARS: usize = 200;
const MOST_PATH_CHARS: usize = 200;
/// Most attempts of a conversation; the latest count.
const MOST_ATTEMPTS: usize = 5_000;

/// A call of a shell.
struct Run<'t> {
    call: Call<'t>,
    steps: Vec<Step>,
    /// The directory of each step.
    directories: Vec<String>,
    output: &'t str,
    has_failed: bool,
    /// The cause, and the step that failed, if one did.
    cause: Option<Cause>,
}

/// Returns the shell commands of a conversation that passed or failed, in order. Turns are named by their index; `directory` returns
/// the one in which a turn was written.
pub fn attempts<'t>(turns: &[TurnShape<'t>], directory: impl Fn(usize) -> Option<&'t str>) -> Vec<Attempt<usize>> {
    let root = (0..turns.len()).find_map(&directory).unwrap_or_default();
    let runs: Vec<Run<'t>> = calls(turns).into_iter().filter_map(|call| run(turns, call, root, &directory)).collect();
    let mut versions: HashMap<String, String> = HashMap::new();
    let mut found = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        for (program, version) in versions_in(run) {
            versions.insert(program, version);
        }
        let add = |step: Option<usize>, failed: Option<Failed>| {
            let first = run.steps.iter().find(|step| is_acting(step));
            let (command, program) = match step {
                Some(step) => (normal(&run.steps[step]), run.steps[step].program()),
                None => (run_key(&run.steps)?.split_off("run ".len()), first?.program()),
            };
            let directory = run.directories.get(step.unwrap_or(0)).cloned().unwrap_or_default();
            Some(Attempt {
                command: cut(&command, MOST_ERROR_CHARS),
                program: program.to_owned(),
                directory,
                version: versions.get(program).cloned(),
                exit: exit_code(run.output).or((!run.has_failed).then_some(0)),
                failed,
                turn: run.call.at,
            })
        };
        if let Some(cause) = &run.cause {
            let next = next_form(turns, &runs, at, cause);
            let error = cut(cause.line.trim(), MOST_ERROR_CHARS);
            found.extend(add(cause.step, Some(Failed { kind: cause.kind, cause: cause.key.clone(), error, next })));
        } else if !run.has_failed {
            found.extend(passed(run).filter_map(|step| add(Some(step), None)));
            if run.steps.iter().filter(|step| is_acting(step)).count() > 1 && !is_masked(run, usize::MAX) {
                found.extend(add(None, None));
            }
        }
    }
    found.split_off(found.len().saturating_sub(MOST_ATTEMPTS))
}

/// Reads a call of a shell that ran and ended.
fn run<'t>(
    turns: &[TurnShape<'t>],
    call: Call<'t>,
    root: &str,
    directory: &impl Fn(usize) -> Option<&'t str>,
) -> Option<Run<'t>> {
    let (result, output) = call.answer?;
    let command = whole_command(call.input)?;
    if command.contains("*** Begin Patch") {
        return None;
    }
    let begins = |marks: &[&str]| marks.iter().any(|mark| output.trim_start().starts_with(mark));
    if call.outcome == Some(Outcome::Cancelled) || begins(&REFUSED) || begins(&NOT_RUN) {
        return None;
    }
    let has_failed = call.outcome == Some(Outcome::Failed) || turns[result].is_error;
    let steps = steps(&command);
    let directories = directories(&steps, root, workdir(call.input).or(directory(call.at)).unwrap_or(root));
    // A sandbox says the same before each error.
    let told = match output.find(SANDBOX).filter(|at| *at < 40) {
        Some(at) => output[at..].split_once("stdout: ").map_or(output, |(_, told)| told),
        None => output,
    };
    // A command that only looks at something fails because that is not there, which may be so no longer.
    let is_lasting = |cause: &Cause| cause.kind == CauseKind::Named || cause.step.is_none_or(|at| !is_look(&steps[at].text));
    let cause = if has_failed {
        cause(&steps, told).filter(is_lasting)
    } else {
        // The outcome of a pipe or a list is that of its last command.
        named(&steps, told).filter(|cause| cause.step.is_some_and(|step| is_hidden(&steps, step)))
    };
    if call.outcome.is_none() && cause.is_none() && !has_failed {
        return None;
    }
    Some(Run { call, steps, directories, output, has_failed, cause })
}

/// Returns the whole command among the inputs of a call.
fn whole_command(input: &str) -> Option<String> {
    let mut lines = input.lines();
    let first = lines.by_ref().find_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("command: ").or(line.strip_prefix("cmd: "))
    })?;
    // A program that runs other tools writes their input as code.
    if let Ok(written) = serde_json::from_str::<String>(first.trim_end_matches(',')) {
        return Some(written).filter(|command| !command.trim().is_empty());
    }
    // A list of words is written as one text: `bash -lc make all`.
    let first = ["bash -lc ", "zsh -lc ", "/bin/bash -lc ", "/bin/zsh -lc "]
        .iter()
        .find_map(|shell| first.strip_prefix(shell))
        .unwrap_or(first);
    let rest = lines.take_while(|line| !is_input(line));
    let command = std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n");
    (!command.trim().is_empty()).then_some(command)
}

fn is_input(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(name, _)| OTHER_INPUTS.contains(&name))
}

/// Returns the directory among the inputs of a call.
fn workdir(input: &str) -> Option<&str> {
    input.lines().find_map(|line| {
        let line = line.trim_start();
        let value = ["workdir: ", "cwd: ", "dir_path: "].iter().find_map(|name| line.strip_prefix(name))?;
        Some(value.trim_end_matches(',').trim_matches('"')).filter(|value| value.starts_with('/'))
    })
}

/// Returns the directory of each step of a command that is run in `here`, within `root`.
pub fn directories(steps: &[Step], root: &str, here: &str) -> Vec<String> {
    let mut here = within(root, here);
    let mut found = Vec::with_capacity(steps.len());
    for step in steps {
        found.push(cut(&here, MOST_PATH_CHARS));
        if step.program() == "cd" && step.link != Link::Pipe {
            here = step.called().get(1).map_or_else(String::new, |to| joined(root, &here, &to.text));
        }
    }
    found
}

/// Returns a directory within another; the whole one if it is not.
fn within(root: &str, directory: &str) -> String {
    let (root, directory) = (root.trim_end_matches('/'), directory.trim_end_matches('/'));
    match directory.strip_prefix(root) {
        Some("") => String::new(),
        Some(rest) if rest.starts_with('/') => rest[1..].to_owned(),
        _ => directory.to_owned(),
    }
}

/// Returns the directory that `cd` changes to.
fn joined(root: &str, here: &str, to: &str) -> String {
    if to.starts_with(['/', '~', '$']) {
        return within(root, to);
    }
    let mut parts: Vec<&str> = here.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let slash = if here.starts_with('/') { "/" } else { "" };
    format!("{slash}{}", parts.join("/"))
}

/// Returns whether the outcome of the whole command does not tell of a step: it is piped on, or others run whatever became of it.
fn is_hidden(steps: &[Step], step: usize) -> bool {
    steps.iter().skip(step + 1).any(|later| later.link != Link::And)
}

/// Returns the steps that are sure to have passed in a command that did.
fn passed<'r>(run: &'r Run<'_>) -> impl Iterator<Item = usize> + 'r {
    let is_either = run.steps.iter().any(|step| step.link == Link::Or);
    (0..run.steps.len())
        .filter(move |at| !is_either && !is_masked(run, *at) && !matches!(run.steps[*at].program(), "" | "cd" | "echo"))
}

/// Returns whether a step may have failed although the command passed: its outcome is hidden, and the output reports an error.
fn is_masked(run: &Run<'_>, step: usize) -> bool {
    let is_hidden = if step == usize::MAX { is_hidden(&run.steps, 0) } else { is_hidden(&run.steps, step) };
    is_hidden && error_lines(run.output).next().is_some()
}

/// Returns the form of a failed command that passed next.
fn next_form(turns: &[TurnShape<'_>], runs: &[Run<'_>], at: usize, cause: &Cause) -> Option<String> {
    let failed = &runs[at];
    let step = &failed.steps[cause.step?];
    let (program, own) = (step.program(), subject(step));
    let name = cause.key.rsplit(' ').next().unwrap_or_default();
    let own_purpose = Purpose::of(&step.text);
    for later in runs[at + 1..].iter().take(MOST_CALLS).filter(|later| later.cause.is_none() && !later.has_failed) {
        // Whatever else failed is mended by a change of the code, if there was one.
        let between = &turns[failed.call.at..later.call.at];
        let is_changed = || between.iter().flat_map(|turn| turn.files).any(|file| file.action == FileAction::Written);
        if cause.kind == CauseKind::Other && is_changed() {
            return None;
        }
        for index in passed(later).filter(|index| is_acting(&later.steps[*index])) {
            let other = &later.steps[index];
            let words = || other.called().iter().skip(1).map(|word| word.text.as_str());
            let is_form = match cause.key.split(' ').next() {
                Some("program") => {
                    let has_name = words().any(|word| word.rsplit('/').next() == Some(program))
                        || other.called()[0].text != step.called()[0].text && other.program() == program;
                    has_name || other.program() != program && own_purpose.is_some() && Purpose::of(&other.text) == own_purpose
                }
                Some("option") => subject(other) == own && !words().any(|word| word.split('=').next() == Some(name)),
                Some("task") => other.program() == program && !words().any(|word| word == name),
                _ => subject(other) == own && normal(other) != normal(step),
            };
            if is_form {
                let first = (0..index).rev().take_while(|before| later.steps[*before].is_wrapper).last().unwrap_or(index);
                return Some(cut(&later.steps[first].text, MOST_FORM_CHARS));
            }
            if cause.key.starts_with("run ") && normal(other) == normal(step) {
                // It passed as it was.
                return None;
            }
        }
    }
    None
}

/// Returns the versions that programs printed when they were asked for them.
fn versions_in(run: &Run<'_>) -> Vec<(String, String)> {
    let version = |line: &str| {
        let word = line.split_whitespace().find(|word| word.contains('.') && word.bytes().any(|byte| byte.is_ascii_digit()))?;
        let number = word.trim_start_matches(|letter: char| !letter.is_ascii_digit()).trim_end_matches([',', ';', ')']);
        number.starts_with(|letter: char| letter.is_ascii_digit()).then(|| cut(number, 30))
    };
    let asked = run.steps.iter().filter(|step| match step.called() {
        [_, word] => matches!(word.text.as_str(), "--version" | "version" | "-V"),
        _ => false,
    });
    let asked: Vec<&Step> = asked.collect();
    let [step] = asked.as_slice() else { return Vec::new() };
    let found = run.output.lines().find_map(version).filter(|_| !run.has_failed && run.steps[0] == **step);
    found.map(|version| (step.program().to_owned(), version)).into_iter().collect()
}

/// Returns the exit code at the beginning of an answer.
fn exit_code(output: &str) -> Option<i64> {
    let line = output.lines().next()?.trim_start_matches("Error: ").to_ascii_lowercase();
    line.strip_prefix("exit code ")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use yore_core::episode::{FileUse, Role, ToolUse};
    use yore_core::id::TurnId;

    use super::*;

    /// A command with its output and whether it failed; an empty command is a change of a file.
    fn told(ran: &[(&str, &str, bool)]) -> Vec<Attempt<usize>> {
        let tool = |number: usize, outcome| vec![ToolUse { call_id: Some(number.to_string()), name: "Bash".to_owned(), outcome }];
        let parts: Vec<_> = ran
            .iter()
            .enumerate()
            .map(|(number, (command, _, has_failed))| {
                let outcome = if *has_failed { Outcome::Failed } else { Outcome::Done };
                let input = format!("Bash\ncommand: {command}\ndescription: try it");
                let files = if command.is_empty() {
                    vec![FileUse { path: "/w/a.go".to_owned(), action: FileAction::Written }]
                } else {
                    Vec::new()
                };
                (input, tool(number, None), tool(number, Some(outcome)), files)
            })
            .collect();
        let mut turns = Vec::new();
        for (number, ((input, call, answer, files), (_, output, has_failed))) in parts.iter().zip(ran).enumerate() {
            let turn = |ordinal: u32, role, tool_text| TurnShape {
                id: TurnId::derive("a", "s", &number.to_string(), ordinal),
                native_id: "",
                role,
                text: "",
                tool_text,
                caveat: None,
                is_error: role == Role::ToolResult && *has_failed,
                at: None,
                tools: if role == Role::ToolResult { answer } else { call },
                files: if role == Role::ToolCall { files } else { &[] },
            };
            turns.push(turn(0, Role::ToolCall, input.as_str()));
            turns.push(turn(1, Role::ToolResult, *output));
        }
        attempts(&turns, |_| Some("/w"))
    }

    fn failures(ran: &[(&str, &str, bool)]) -> Vec<(String, Option<String>)> {
        told(ran).into_iter().filter_map(|attempt| attempt.failed).map(|failed| (failed.cause, failed.next)).collect()
    }

    #[test]
    fn failure_is_stored_with_the_form_that_passed_next() {
        for (ran, cause, next) in [
            (
                vec![
                    ("gh pr diff 88 --stat", "Exit code 1\nunknown flag: --stat", true),
                    ("gh pr view 88", "x", false),
                    ("gh pr diff 88", "+x", false),
                ],
                "option gh pr diff --stat",
                Some("gh pr diff 88"),
            ),
            (
                vec![
                    ("golangci-lint run", "zsh: command not found: golangci-lint", true),
                    ("ls", "", false),
                    ("mise exec -- golangci-lint run", "ok", false),
                ],
                "program golangci-lint",
                Some("mise exec -- golangci-lint run"),
            ),
            (
                vec![
                    ("pytest -q", "E   ModuleNotFoundError: No module named 'tide'", true),
                    ("", "", false),
                    ("PYTHONPATH=. pytest -q", "1 passed", false),
                ],
                "run pytest -q",
                Some("PYTHONPATH=. pytest -q"),
            ),
            (vec![("make x", "error: no tide", true), ("", "", false), ("make y", "", false)], "run make x", None),
            (vec![("make x", "error: no tide", true), ("make x", "", false), ("make y", "", false)], "run make x", None),
        ] {
            assert_eq!(failures(&ran), [(cause.to_owned(), next.map(str::to_owned))], "{ran:?}");
        }
    }

    #[test]
    fn failure_behind_a_pipe_is_seen_by_what_the_output_names() {
        let found = failures(&[("staticcheck ./... 2>&1 | head", "zsh: command not found: staticcheck", false)]);
        assert_eq!(found, [("program staticcheck".to_owned(), None)]);
        assert_eq!(failures(&[("cat log | head", "zsh: command not found: staticcheck", false)]), []);
    }

    #[test]
    fn commands_that_passed_are_stored_one_by_one_with_their_directory_and_version() {
        let found = told(&[
            ("golangci-lint --version", "golangci-lint has version 2.5.0 built", false),
            ("cd web && golangci-lint run 2>&1 | tail -3", "fine", false),
            ("make | tail", "error: no tide", false),
        ]);
        let shown: Vec<String> = found
            .iter()
            .map(|attempt| {
                let version = attempt.version.as_deref().unwrap_or("-");
                format!("{}|{}|{version}|{:?}", attempt.command, attempt.directory, attempt.exit)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "golangci-lint --version||2.5.0|Some(0)",
                "golangci-lint run|web|2.5.0|Some(0)",
                "tail -3|web|-|Some(0)",
                "tail||-|Some(0)",
            ]
        );
    }

    #[test]
    fn what_did_not_run_is_no_failure() {
        assert_eq!(failures(&[("make", "The user doesn't want to proceed with this tool use.", true)]), []);
        assert_eq!(failures(&[("grep x y", "", true)]), []);
    }

    #[test]
    fn directories_are_named_within_the_one_of_the_conversation() {
        for (here, to, expected) in
            [("", "web", "web"), ("web", "..", ""), ("web/a", "../b/", "web/b"), ("web", "/w/x", "x"), ("", "/tmp/y", "/tmp/y")]
        {
            assert_eq!(joined("/w", here, to), expected, "{here} {to}");
        }
    }
}
