//! Reads what was done in a session up to a point: the commands that ran, each with how it ended.

use yore_core::episode::Outcome;
use yore_core::event::Purpose;
use yore_core::exchange::TurnShape;
use yore_core::text::error_line;

use crate::rules::{Call, calls, command_in, steps};

/// Most commands of a script.
const MOST_IN_SCRIPT: usize = 20;
/// Longest step of a command that is told, in bytes.
const LONGEST_STEP: usize = 160;
/// First words of steps that only move, wait or say something.
const ASIDE: [&str; 7] = ["cd", "echo", "export", "sleep", "source", "set", "true"];

/// Beginnings of commands that only run another one, and of the answer to a call that did not run.
const SHELLS: [&str; 3] = ["bash -lc ", "/bin/bash -lc ", "/bin/zsh -lc "];
const NOT_RUN: &str = "<tool_use_error>";
/// Words of a shell's own language, with which no command begins.
const KEYWORDS: [&str; 9] = ["for", "do", "done", "if", "then", "else", "fi", "while", "case"];

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// Nothing says how it ended.
    Unknown,
}

/// A command that was run.
#[derive(Clone, Debug)]
pub struct Ran<'t> {
    /// Its steps, without the change of directory before them and without what is done with their output.
    pub steps: Vec<String>,
    /// The first line of the whole command.
    pub whole: String,
    /// Index of the turn that calls it.
    pub at: usize,
    /// How it ended.
    pub ended: Ended,
    /// Its output.
    pub output: &'t str,
}

/// The turns of a session up to a point, with what was done in them.
pub struct Trace<'t> {
    /// The turns.
    pub turns: &'t [TurnShape<'t>],
    /// The calls of tools.
    pub calls: Vec<Call<'t>>,
    /// The commands that were run.
    pub ran: Vec<Ran<'t>>,
    /// The directory in which the session began.
    pub directory: Option<&'t str>,
}

impl<'t> Trace<'t> {
    /// Reads the turns of a session that began in a directory.
    pub fn of(turns: &'t [TurnShape<'t>], directory: Option<&'t str>) -> Self {
        let calls = calls(turns);
        let of_call = |call: &Call<'t>| {
            commands(call.input).into_iter().filter_map(|command| ran(turns, call, &command)).collect::<Vec<_>>()
        };
        let ran = calls.iter().flat_map(of_call).collect();
        Self { turns, calls, ran, directory }
    }

    /// Returns how much something at this turn counts, for how late it is: 1 at the end, half of it for each fourth of the session.
    pub fn lateness(&self, at: usize) -> f32 {
        const LEAST_HALF: usize = 40;
        let half = (self.turns.len() / 4).max(LEAST_HALF) as f32;
        0.5_f32.powf(self.turns.len().saturating_sub(at) as f32 / half)
    }

    /// Returns the short id of a turn.
    pub fn id(&self, at: usize) -> String {
        self.turns[at].id.short()
    }
}

impl Ran<'_> {
    /// Returns the purposes of its steps that have one, each with its step.
    pub fn purposes(&self) -> impl Iterator<Item = (&str, Purpose)> {
        self.steps.iter().filter_map(|step| Some((step.as_str(), Purpose::of(step)?)))
    }

    /// Returns whether it tells whether the code is sound, and how much it tells: a test more than a build.
    pub fn check(&self) -> Option<Purpose> {
        let is_check = |purpose: &Purpose| matches!(purpose, Purpose::Test | Purpose::Check | Purpose::Build | Purpose::Lint);
        self.purposes().map(|(_, purpose)| purpose).filter(is_check).min()
    }
}

/// Returns whether a step can be run again as it is told: it begins with a program, is not long, closes its quotes and does not go on below.
pub fn is_runnable(step: &str) -> bool {
    let first = step.split_whitespace().next().unwrap_or_default();
    let is_program = !KEYWORDS.contains(&first)
        && first
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | '=' | '~' | '@' | '+'));
    let is_whole = !step.contains("<<") && ["\"", "'", "`"].iter().all(|quote| step.matches(quote).count() % 2 == 0);
    is_program && is_whole && step.len() <= LONGEST_STEP
}

/// Returns the commands of a call: the one among its inputs, or those of a script that runs other tools.
fn commands(input: &str) -> Vec<String> {
    if let Some(command) = command_in(input) {
        return vec![command];
    }
    let mut found = Vec::new();
    for (at, name) in input.match_indices("cmd").take(MOST_IN_SCRIPT) {
        let value = input[at + name.len()..].trim_start_matches(['"', ':', ' ']);
        // The quote before the value was taken off with those around the name.
        let value = &input[input.len() - value.len() - 1..];
        let parsed = serde_json::Deserializer::from_str(value).into_iter::<String>().next();
        found.extend(parsed.and_then(Result::ok).filter(|command| !command.trim().is_empty()));
    }
    found
}

/// Returns a command of a call, if the call has an answer and was not refused.
fn ran<'t>(turns: &[TurnShape<'t>], call: &Call<'t>, command: &str) -> Option<Ran<'t>> {
    let (result, output) = call.answer?;
    let whole = command.lines().next().unwrap_or_default().trim();
    // Some agents wrap each command in a shell.
    let whole = SHELLS.iter().find_map(|shell| whole.strip_prefix(shell)).unwrap_or(whole).to_owned();
    // The person refused it, or it did not run because another one failed.
    if call.outcome == Some(Outcome::Cancelled) || output.trim_start().starts_with(NOT_RUN) {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for step in steps(&whole) {
        let step = step.split(" | ").next().unwrap_or(step).split(" >").next().unwrap_or(step).trim();
        let step = step.strip_suffix("2>&1").unwrap_or(step).trim();
        let is_aside = step.split_whitespace().next().is_none_or(|first| ASIDE.contains(&first));
        if !is_aside {
            parts.push(step.to_owned());
        }
    }
    let has_failed = call.outcome == Some(Outcome::Failed) || turns[result].is_error;
    let mut ran = Ran { steps: parts, whole, at: call.at, ended: Ended::Unknown, output };
    // A pipe or a list ends as its last command does: of a check the output tells.
    let is_unsure = ran.whole.contains([';', '|']);
    ran.ended = match (has_failed, call.outcome) {
        (true, _) => Ended::Failed,
        _ if is_unsure && ran.check().is_some() && error_line(output).is_some() => Ended::Failed,
        (false, Some(Outcome::Done)) => Ended::Passed,
        _ => Ended::Unknown,
    };
    Some(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_inputs_and_from_scripts() {
        assert_eq!(commands("Bash\ncommand: make test\ndescription: cmd"), ["make test"]);
        let script = "exec\nconst r = await Promise.all([tools.exec_command({\"cmd\":\"go test ./...\",\"workdir\":\"/x\"}), \
                      tools.exec_command({cmd: \"rg \\\"a b\\\" src\"})]);";
        assert_eq!(commands(script), ["go test ./...", "rg \"a b\" src"]);
        for none in ["", "cmd", "é cmd", "Read\nfile_path: a.rs", "exec\ncmd: ", "x cmd:\"open"] {
            assert!(commands(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn steps_that_can_be_run_again_are_told_from_pieces_of_a_script() {
        for step in ["cargo test -p tide", "FOO=1 make test", "./scripts/run.sh", "go test -run 'TestA|TestB' ./..."] {
            assert!(is_runnable(step), "{step}");
        }
        for piece in ["git commit -m \"$(cat <<'EOF'", "python3 - <<'EOF'", "done", "core: add the crane", "echo 'a"] {
            assert!(!is_runnable(piece), "{piece}");
        }
    }
}
