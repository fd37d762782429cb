//! Formats answers of the recursive lane, its progress and its runs.

use yore_engine::llm::RunSpent;
use yore_engine::{DeepAnswer, Progress, ShownLine, Stop, Trajectory};

use super::plain::{counted, day, harmless, one_line};
use crate::results::{RunRecord, words};

/// Places that are listed with an answer; `--json` has all.
const LISTED: usize = 20;
/// Most characters of a call's answer that is shown.
const SHOWN: usize = 400;

/// Returns the answer, the places that it rests on, and how it was made.
pub fn text(answer: &DeepAnswer) -> String {
    let mut told = match (answer.answer.is_empty(), &answer.stop) {
        (false, _) => answer.answer.lines().map(harmless).collect::<Vec<_>>().join("\n"),
        (true, Some(Stop::Preview)) => format!("It would take at most {}, if no call is repeated", amounts(&bound(answer))),
        (true, None) => "What was read does not answer it.".to_owned(),
        (true, Some(_)) => "There is no answer.".to_owned(),
    };
    if let Some(stop) = answer.stop.as_ref().filter(|stop| **stop != Stop::Preview) {
        told.push_str(&format!("\n\nNot whole: {}", harmless(&words::stop_of_run(stop))));
    }
    if !answer.cited.is_empty() {
        told.push('\n');
    }
    for (number, cited) in (1..).zip(answer.cited.iter().take(LISTED)) {
        let place =
            if cited.session_name.is_empty() { String::new() } else { format!("session {}", harmless(&cited.session_name)) };
        let parts = [day(cited.at), place, harmless(&cited.opens), format!("“{}”", one_line(&cited.quote))];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        told.push_str(&format!("\n[{number}] {}", parts.join(" · ")));
    }
    if answer.cited.len() > LISTED {
        told.push_str(&format!("\n... and {} more (--json has all)", answer.cited.len() - LISTED));
    }
    told.push_str(&format!("\n\n{}", made(answer)));
    told
}

/// Returns how an answer was made: what was read, in which way, by whom, and what it took.
fn made(answer: &DeepAnswer) -> String {
    let mut parts = vec![format!(
        "read {} of {}{}",
        answer.read,
        counted(answer.pieces as u64, "piece"),
        if answer.sessions > 0 { format!(" of {}", counted(answer.sessions as u64, "session")) } else { String::new() }
    )];
    if answer.is_cut {
        parts.push("older sessions were left out".to_owned());
    }
    if answer.left_out > 0 {
        parts.push(format!("{} that no or another model may read", counted(answer.left_out as u64, "piece")));
    }
    if let Some(strategy) = answer.strategy {
        parts.push(format!("{}, because {}", strategy.as_str(), answer.why));
    }
    if answer.refused > 0 {
        parts.push(format!("{} that stand nowhere were dropped", counted(answer.refused as u64, "quote")));
    }
    if answer.spent.calls > 0 {
        parts.push(amounts(&answer.spent));
    }
    if let Some(model) = &answer.model {
        parts.push(harmless(model));
    }
    if let Some(run) = &answer.run {
        parts.push(format!("run {run}"));
    }
    parts.join("; ")
}

fn bound(answer: &DeepAnswer) -> RunSpent {
    let bound = answer.bound;
    RunSpent { calls: bound.calls, input: bound.input, output: bound.output, cost_micro: bound.cost_micro }
}

fn amounts(spent: &RunSpent) -> String {
    let tokens = counted(spent.input + spent.output, "token");
    let money = if spent.cost_micro > 0 { format!(", ${:.4}", spent.cost_micro as f64 / 1e6) } else { String::new() };
    format!("{}, {tokens}{money}", counted(spent.calls, "call"))
}

/// Returns a step of a run, with what it took so far.
pub fn progress(progress: &Progress) -> String {
    format!("{} ({} so far)", one_line(&progress.step), amounts(&progress.spent))
}

/// Returns the steps and calls of a run.
pub fn steps(run: &Trajectory) -> String {
    let mut told = format!("run {}: {}\n", run.id, one_line(run.question()));
    for line in run.shown() {
        let line = match line {
            ShownLine::Step(step, _) => one_line(&step),
            ShownLine::Call([input, output], outcome) => {
                let said = match &outcome {
                    Ok(reply) => one_line(reply),
                    Err(error) => format!("failed: {}", one_line(error)),
                };
                let said: String = said.chars().take(SHOWN).collect();
                format!("  call, {} + {}: {said}", counted(input, "token"), counted(output, "token"))
            }
        };
        told.push_str(&line);
        told.push('\n');
    }
    told
}

/// Returns a list of runs.
pub fn runs(runs: &[RunRecord]) -> String {
    let line = |run: &RunRecord| {
        let at: String = run.at.as_deref().unwrap_or("?").chars().take(10).collect();
        let outcome = match (&run.not_whole, run.answer.is_empty()) {
            (Some(reason), _) => harmless(reason),
            (None, true) => "no answer".to_owned(),
            (None, false) => one_line(run.answer.lines().next().unwrap_or_default()),
        };
        format!("{}  {at}  {}: {}", run.run, one_line(&run.question), outcome)
    };
    runs.iter().map(line).collect::<Vec<_>>().join("\n")
}
