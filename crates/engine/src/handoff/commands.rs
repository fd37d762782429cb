//! Tells which commands of a session work, and what was tried and failed, with its error and what came next.

use std::collections::BTreeMap;

use yore_core::event::Purpose;
use yore_core::text::{error_line, error_reasons, is_look};

use super::fit::Draft;
use super::trace::{Ended, Ran, Trace, is_runnable};
use crate::rules::{cut, plain};

/// Most commands of each list that are looked at.
const MOST_WORKING: usize = 24;
const MOST_TRIED: usize = 12;
/// Longest error line and longest command, in characters.
const ERROR_CHARS: usize = 140;
const COMMAND_CHARS: usize = 140;
/// Commands after a failure among which the one that worked is looked for.
const NEXT_COMMANDS: usize = 12;
/// Weight of a purpose beside how often and how late a command passed; deduction for a longer command.
const WITH_PURPOSE: f32 = 1.0;
const LONG_COMMAND: f32 = 0.004;

#[derive(Default)]
struct Known {
    passed: u32,
    failed: u32,
    last: usize,
    worth: f32,
    has_purpose: bool,
}

/// A command that passed.
pub struct Passed {
    /// Times that it passed.
    pub times: u32,
    /// The turn that ran it last.
    pub last: usize,
    /// True if it tells whether the code is sound: a test, a check, a build, a lint or a formatter.
    pub is_check: bool,
    /// The line that tells it.
    pub draft: Draft,
}

/// Returns the commands that passed, the most useful first.
pub fn passed(trace: &Trace<'_>) -> Vec<Passed> {
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    for ran in &trace.ran {
        for step in &ran.steps {
            let purpose = Purpose::of(step);
            if purpose.is_none() && (is_look(step) || is_everywhere(step)) || !is_runnable(step) {
                continue;
            }
            let command = known.entry(step).or_default();
            match ran.ended {
                Ended::Failed => command.failed += 1,
                _ => {
                    command.passed += 1;
                    command.last = ran.at;
                    command.worth += trace.lateness(ran.at);
                }
            }
            command.has_purpose = purpose.is_some();
        }
    }
    let score = |step: &str, known: &Known| {
        let rate = known.passed as f32 / (known.passed + known.failed) as f32;
        known.worth * rate + if known.has_purpose { WITH_PURPOSE } else { 0.0 } - LONG_COMMAND * step.len() as f32
    };
    let mut ranked: Vec<(f32, &str, Known)> =
        known.into_iter().filter(|(_, known)| known.passed > 0).map(|(step, known)| (score(step, &known), step, known)).collect();
    // One that ran once and has no purpose tells nothing.
    ranked.retain(|(_, _, known)| known.has_purpose || known.passed > 1);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    ranked.truncate(MOST_WORKING);
    let mut passed = Vec::with_capacity(ranked.len());
    for (place, (_, step, known)) in ranked.into_iter().enumerate() {
        let times = if known.passed > 1 { format!(" {}×", known.passed) } else { String::new() };
        let failed = if known.failed > 0 { format!(", failed {}×", known.failed) } else { String::new() };
        passed.push(Passed {
            times: known.passed,
            last: known.last,
            is_check: matches!(
                Purpose::of(step),
                Some(Purpose::Test | Purpose::Check | Purpose::Build | Purpose::Lint | Purpose::Format)
            ),
            draft: Draft::new(format!("`{}`{times}{failed}", cut(step, COMMAND_CHARS)), place, None),
        });
    }
    passed
}

/// Returns what is told of the commands that passed, the most useful first.
pub fn working(trace: &Trace<'_>) -> Vec<Draft> {
    passed(trace).into_iter().map(|passed| passed.draft).collect()
}

/// Returns whether a command does the same in every project, so that nobody needs to be told it.
fn is_everywhere(step: &str) -> bool {
    let mut words = step.split_whitespace();
    matches!(
        words.next(),
        Some("apply_patch" | "chmod" | "cp" | "git" | "kill" | "mkdir" | "mv" | "nl" | "pkill" | "rm" | "touch")
    )
}

/// Returns what failed, each with its error and what came next: what still fails first, then the latest.
pub fn tried(trace: &Trace<'_>) -> Vec<Draft> {
    let mut found: Vec<(String, usize, u32, String, Option<String>)> = Vec::new();
    for (at, ran) in trace.ran.iter().enumerate().filter(|(_, ran)| ran.ended == Ended::Failed) {
        let Some(step) = failed_step(ran) else { continue };
        let Some(error) = error_of(ran) else { continue };
        let next = what_worked(&trace.ran[at + 1..], step);
        match found.iter_mut().find(|(known, _, _, same, _)| known == step || *same == error) {
            Some(known) => *known = (step.to_owned(), ran.at, known.2 + 1, error, next),
            None => found.push((step.to_owned(), ran.at, 1, error, next)),
        }
    }
    // A command that failed once and then passed as it was, after a change of code, teaches nothing.
    found.retain(|(step, _, count, _, next)| *count > 1 || next.as_ref() != Some(step));
    found.sort_by_key(|(_, at, _, _, next)| (next.is_some(), std::cmp::Reverse(*at)));
    let draft = |(step, at, count, error, next): (String, usize, u32, String, Option<String>)| {
        let times = if count > 1 { format!(" {count}×") } else { String::new() };
        let next = match next {
            Some(next) if next == step => "; it passed later".to_owned(),
            Some(next) => format!("; then `{}` passed", cut(&next, COMMAND_CHARS / 2)),
            None => "; nothing like it passed since".to_owned(),
        };
        let text = format!("`{}` failed{times}: {}{next}", cut(&step, COMMAND_CHARS), cut(&error, ERROR_CHARS));
        Draft::new(text, at, Some(trace.id(at)))
    };
    found.into_iter().take(MOST_TRIED).map(draft).collect()
}

/// Returns the step that failed, if it does more than look: one with a purpose, else the last.
fn failed_step<'r>(ran: &'r Ran<'_>) -> Option<&'r str> {
    let acts = |step: &&str| !is_look(step) && is_runnable(step);
    let with_purpose = ran.purposes().map(|(step, _)| step).filter(acts).last();
    with_purpose.or_else(|| ran.steps.iter().map(String::as_str).rfind(acts))
}

/// Returns the error of a failed command in one line.
fn error_of(ran: &Ran<'_>) -> Option<String> {
    let line = error_line(ran.output).or_else(|| error_reasons(ran.output, 1).first().copied())?;
    Some(plain(line)).filter(|line| !line.is_empty())
}

/// Returns the next command of the same program and purpose that passed.
fn what_worked(later: &[Ran<'_>], failed: &str) -> Option<String> {
    let program = |step: &str| step.split_whitespace().find(|word| !word.contains('=')).map(str::to_owned);
    let (wanted, purpose) = (program(failed), Purpose::of(failed));
    let is_alike = |step: &&String| {
        *step == failed || purpose.is_some() && Purpose::of(step) == purpose || purpose.is_none() && program(step) == wanted
    };
    let passed = later.iter().filter(|ran| ran.ended == Ended::Passed).take(NEXT_COMMANDS);
    passed.flat_map(|ran| &ran.steps).filter(|step| is_runnable(step)).find(is_alike).cloned()
}

/// Returns the checks that failed when they last ran, each with its error and its turn.
pub fn failing(trace: &Trace<'_>) -> Vec<Draft> {
    let mut last: BTreeMap<Purpose, &Ran<'_>> = BTreeMap::new();
    for ran in trace.ran.iter().filter(|ran| ran.ended != Ended::Unknown) {
        // All steps of a command that passed have passed; of one that failed the check that tells most is taken for what failed.
        let passed = ran.purposes().map(|(_, purpose)| purpose).filter(|_| ran.ended == Ended::Passed);
        for purpose in passed.chain(ran.check()) {
            last.insert(purpose, ran);
        }
    }
    let failed = last.into_iter().filter(|(_, ran)| ran.ended == Ended::Failed);
    let draft = |(purpose, ran): (Purpose, &Ran<'_>)| {
        let step = ran.purposes().find(|(_, own)| *own == purpose).map_or(ran.whole.as_str(), |(step, _)| step);
        let error = error_of(ran).map(|error| format!(": {}", cut(&error, ERROR_CHARS))).unwrap_or_default();
        Draft::new(format!("failing at the end: `{}`{error}", cut(step, COMMAND_CHARS)), ran.at, Some(trace.id(ran.at)))
    };
    failed.map(draft).collect()
}
