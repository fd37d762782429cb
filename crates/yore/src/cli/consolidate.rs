use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_core::consolidation::Decision;
use yore_engine::{ConsolidateReport, ConsolidateRequest, Judged};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::llm;
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::{ConsolidationDone, words};

/// Compare memories with those near them, by the language model
///
/// The configured model finds those that are known twice, no longer so, or contradict each other.
/// Rules compare each memory when it is recorded, and settle what is certain. A model understands more: it is asked once about each memory of
/// all projects, several at a time, for the purpose `judge` (see `yore learn`). What it decides is checked: it is about a pair that it was
/// given, and of two statements the later one holds. What you noted yourself is never retired or closed: what speaks against it becomes a
/// conflict (`yore conflicts`); nor is what is pinned or what happened. `yore undo N` takes back what was done about a group; it is not
/// compared again then, unless by --again.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only memories of this project: name, id or directory; may be repeated
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// Also those that were compared before; a model is paid again for them, but an answer in a folder is taken again
    #[arg(long)]
    again: bool,
    /// Let the model first write what the memory may have known before, and search with that too: finds more of what has changed, for one
    /// more request a group
    #[arg(long)]
    suppose: bool,
}

/// Most decisions that are told.
const MOST_TOLD: usize = 20;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let settings = context.settings.clone();
    let engine = context.settings.engine(false)?;
    let mut chooser = llm::ModelChooser::new(&settings, "judge")?;
    let request =
        ConsolidateRequest { projects: arguments.projects.clone(), again: arguments.again, is_supposing: arguments.suppose };
    let bar = Progress::counting("comparing", 0, context.printer.shows_progress());
    let mut proceed = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        true
    };
    let report = chooser.choosing(&AtomicBool::new(false), |by| engine.consolidate_by_model(by, &request, &mut proceed));
    bar.finish_and_clear();
    let report = report?;
    if context.printer.is_json() {
        context.printer.json(&ConsolidationDone::from(&report))?;
    } else {
        for line in told(&report) {
            context.printer.line(line)?;
        }
        if report.waiting > 0 {
            let folder = llm::folder(&settings)?;
            context.printer.line(format!(
                "{} for an answer, ID.answer.json beside each ID.request.json in {}; run it again when they are there",
                if report.waiting == 1 {
                    "1 memory waits".to_owned()
                } else {
                    format!("{} wait", text::counted(report.waiting, "memory"))
                },
                folder.display()
            ))?;
        }
    }
    let is_whole = report.failed.is_empty() && report.stopped.is_none();
    Ok(if is_whole { Exit::Success } else { Exit::Nothing })
}

fn told(report: &ConsolidateReport) -> Vec<String> {
    let mut lines: Vec<String> =
        report.failed.iter().map(|reason| format!("failed: {}", text::harmless(&words::failed(reason)))).collect();
    // Decisions that retire something come first.
    let mut done: Vec<&Judged> = report.done.iter().collect();
    done.sort_by_key(|judged| matches!(judged.decision, Decision::Add));
    lines.extend(done.iter().take(MOST_TOLD).map(|judged| decision(judged)));
    if done.len() > MOST_TOLD {
        lines.push(format!("and {} more: `yore log`", done.len() - MOST_TOLD));
    }
    let count = |wanted: &[Decision]| report.done.iter().filter(|judged| wanted.contains(&judged.decision)).count() as u64;
    lines.push(format!(
        "{} compared with {}: {} replaced or closed, {} known twice, {} added to, {} contradicted",
        text::counted(report.compared, "memory"),
        text::counted(report.statistics.calls, "call"),
        text::count(count(&[Decision::Update, Decision::Invalidate])),
        text::count(count(&[Decision::Skip])),
        text::count(count(&[Decision::Add])),
        text::count(count(&[Decision::Contest])),
    ));
    if !report.operations.is_empty() {
        let numbers: Vec<String> = report.operations.iter().take(MOST_TOLD).map(u64::to_string).collect();
        lines.push(format!("done by operation {}: `yore undo N` takes one back", numbers.join(", ")));
    }
    lines.extend(report.refused.iter().take(MOST_TOLD).map(|reason| format!("not done: {}", text::harmless(reason))));
    if report.refused.len() > MOST_TOLD {
        lines.push(format!("{} more not done", report.refused.len() - MOST_TOLD));
    }
    if report.left_out > 0 {
        lines.push(format!("{} left out: nobody reads their projects (llm.uses)", text::counted(report.left_out, "memory")));
    }
    lines.extend(
        report
            .stopped
            .as_ref()
            .map(|reason| format!("stopped: {}; run it again to go on from there", text::harmless(&words::stopped(reason)))),
    );
    lines
}

fn decision(judged: &Judged) -> String {
    let (memory, other, reason) = (judged.memory.short(), judged.other.short(), text::harmless(&judged.reason));
    match judged.decision {
        Decision::Skip => format!("{memory} says what {other} says: {reason}"),
        Decision::Add => format!("{memory} adds to {other}: {reason}"),
        Decision::Contest => format!("{memory} contradicts {other}: {reason} (yore conflicts)"),
        _ => format!("{memory} takes the place of {other}, or closes it: {reason}"),
    }
}
