use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_core::memory::MemoryKind;
use yore_core::time::UtcMillis;
use yore_engine::llm::Collected;
use yore_engine::{Engine, ExtractReport, ExtractRequest, FailedSession, ModelAccess, ModelReport};

use super::{Context, memories};
use crate::error::{CliError, CliResult, Exit};
use crate::llm;
use crate::llm::batch_run::{self, BatchRun, Begun};
use crate::recall_request;
use crate::render::memories::kind_name;
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::{ExtractionDone, ModelExtraction, words};
use crate::settings::Settings;

/// Find decisions, orders, solutions and open ends in sessions
///
/// Rules read what was said, without a model and without a network, unless --extractor says otherwise. What they find is recorded as memories with their
/// evidence, marked as extracted: a person's own stand above them. A conversation that did not change is not read again;
/// what you reject is not proposed again. `yore undo N` takes back what was extracted from a session (`yore log`).
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true).args(["sessions", "projects", "since", "all"]))]
pub struct Arguments {
    /// This session; may be repeated
    #[arg(long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Sessions of this project: name, id or directory; may be repeated
    #[arg(short, long = "project", value_name = "PROJECT", value_parser = crate::cli::project)]
    projects: Vec<String>,
    /// Sessions last used at or after this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// All sessions
    #[arg(long, conflicts_with_all = ["sessions", "projects"])]
    all: bool,
    /// Only memories of these kinds, separated by commas [default: all but those of `extract.skip_kinds`]
    #[arg(short, long = "kind", alias = "kinds", value_name = "KINDS", value_parser = memories::kind, value_delimiter = ',')]
    kinds: Vec<MemoryKind>,
    /// By rules, or by the configured language model (see `yore learn`); what an agent finds is recorded with `yore distil`
    #[arg(long, value_name = "NAME", default_value = EXTRACTORS[0], value_parser = EXTRACTORS)]
    extractor: String,
    /// Read sessions again that did not change; a model is paid again for them, but an answer in a folder is taken again
    #[arg(long, conflicts_with = "batch")]
    again: bool,
    /// With a model: send what is new as a batch that is answered within a day at half the price, and take the answers that came;
    /// each run reads one piece of each session further. For anthropic, openai and gemini
    #[arg(long)]
    batch: bool,
    /// Record nothing: only list what would be recorded
    #[arg(long)]
    dry_run: bool,
    /// Go on with the next session when one fails; those that failed are listed, and the exit code is 1
    #[arg(long)]
    continue_on_error: bool,
}

/// The extractors that this command runs.
const EXTRACTORS: [&str; 2] = ["rules", MODEL];
const MODEL: &str = "model";

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    let request = ExtractRequest {
        sessions: arguments.sessions.clone(),
        projects: arguments.projects.clone(),
        since: arguments.since,
        kinds: if arguments.kinds.is_empty() { context.settings.config().extract.kinds() } else { arguments.kinds.clone() },
        again: arguments.again,
        is_dry_run: arguments.dry_run,
        continue_on_error: arguments.continue_on_error,
    };
    if arguments.extractor == MODEL {
        return by_model(&engine, &request, arguments, context);
    }
    if arguments.batch {
        return Err(CliError::usage("--batch is for --extractor model", None));
    }
    let report = with_progress(&engine, &request, context)?;
    if context.printer.is_json() {
        context.printer.json(&ExtractionDone::of(&report))?;
    } else {
        for line in told(&report, arguments.dry_run) {
            context.printer.line(line)?;
        }
    }
    Ok(if report.failed.is_empty() { Exit::Success } else { Exit::Nothing })
}

/// Lets the configured model extract memories, as far as the limits of the day allow.
fn by_model(engine: &Engine, request: &ExtractRequest, arguments: &Arguments, context: &mut Context) -> CliResult {
    if request.is_dry_run || !arguments.kinds.is_empty() {
        return Err(CliError::usage(
            "--dry-run and --kind are for rules: a model reads new lines once, for all kinds",
            Some("`extract.skip_kinds` leaves kinds out"),
        ));
    }
    let settings = context.settings.clone();
    let mut chooser = llm::ModelChooser::new(&settings, "extract")?;
    let is_stopped = AtomicBool::new(false);
    let batch = if arguments.batch { Some(begin_batch(engine, &mut chooser, &is_stopped, &settings)?) } else { None };
    let mut choose = |project: Option<&str>| {
        let chosen = chooser.for_project(project).map_err(|error| error.message)?;
        Ok(match &batch {
            Some(batch) => chosen.and_then(|(model, _)| batch.in_place_of(&model)),
            None => chosen,
        })
    };
    let bar = Progress::counting("extracting", 0, context.printer.shows_progress());
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &is_stopped };
    let report = engine.extract_by_model(by, request, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        true
    });
    bar.finish_and_clear();
    let report = report?;
    let sent = batch.as_ref().map(|batch| batch.send(engine, &is_stopped));
    if report.recorded + report.joined > 0 {
        engine.sync_index(INDEX_PATIENCE_MS, &mut |_| {})?;
    }
    if context.printer.is_json() {
        context.printer.json(&ModelExtraction::from(&report))?;
        for problem in batch.iter().flat_map(|batch| &batch.collected.problems) {
            context.printer.note(text::harmless(problem))?;
        }
    } else {
        for line in told_of_model(&report, batch.is_none().then_some(llm::folder(&settings)?.as_path())) {
            context.printer.line(line)?;
        }
        if let (Some(batch), Some((count, _))) = (&batch, &sent) {
            for problem in &batch.collected.problems {
                context.printer.line(text::harmless(problem))?;
            }
            context.printer.line(told_of_batch(&batch.collected, *count))?;
        }
    }
    if let Some((_, Err(error))) = sent {
        return Err(batch_run::failed(&error));
    }
    let has_problems = batch.as_ref().is_some_and(|batch| !batch.collected.problems.is_empty());
    let is_whole = report.failed.is_empty() && report.stopped.is_none() && !has_problems;
    Ok(if is_whole { Exit::Success } else { Exit::Nothing })
}

/// Takes the answers to the batches that earlier runs sent, and gathers the requests of this one.
fn begin_batch(
    engine: &Engine,
    chooser: &mut llm::ModelChooser<'_>,
    is_stopped: &AtomicBool,
    settings: &Settings,
) -> CliResult<BatchRun> {
    let Some((model, terms)) = chooser.for_project(None)? else {
        return Err(CliError::usage("nobody answers for extract", Some("name a model in llm.provider")));
    };
    let name = model.name().to_owned();
    match BatchRun::begin(engine, (model, terms), is_stopped, &settings.directory)? {
        Begun::Batch(batch) => Ok(batch),
        Begun::NoBatches => Err(CliError::usage(format!("{name} takes no batches"), Some("anthropic, openai and gemini do"))),
        Begun::Busy => Err(CliError::usage("another process sends a batch", None)),
    }
}

/// Tells the fate of earlier batches, and how many requests were sent now.
fn told_of_batch(collected: &Collected, sent: u64) -> String {
    let Collected { answered, failed, running, .. } = *collected;
    let lost = if failed > 0 { format!(", {} failed", text::count(failed)) } else { String::new() };
    let waiting = sent + running;
    let next =
        if waiting > 0 { format!("; {} wait, run it again tomorrow", text::counted(waiting, "request")) } else { String::new() };
    format!("{} taken{lost}, {} sent{next}", text::counted(answered, "answer"), text::counted(sent, "request"))
}

/// Most reasons that are told.
const MOST_REFUSED: usize = 10;
/// Longest time for indexing what was found.
const INDEX_PATIENCE_MS: u64 = 5_000;

pub(super) fn told_of_model(report: &ModelReport, folder: Option<&Path>) -> Vec<String> {
    let failed =
        |failed: &FailedSession| format!("{} failed: {}", failed.session, text::harmless(&words::failed(&failed.reason)));
    let mut lines: Vec<String> = report.failed.iter().map(failed).collect();
    let mut parts = vec![format!("{} new", text::counted(report.recorded, "memory"))];
    let more =
        [(report.joined, "known that got evidence"), (report.relations, "relations"), (report.dropped, "of rules put away")];
    parts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", text::count(*count))));
    lines.push(format!(
        "{} read with {}, {} unchanged: {}",
        text::counted(report.sessions, "session"),
        text::counted(report.answers, "call"),
        text::count(report.unchanged),
        parts.join(", ")
    ));
    let shown = report
        .refused
        .iter()
        .take(MOST_REFUSED)
        .map(|reason| format!("not recorded: {}", text::harmless(&words::refused(reason))));
    lines.extend(shown);
    if report.refused.len() > MOST_REFUSED {
        lines.push(format!("{} more not recorded", report.refused.len() - MOST_REFUSED));
    }
    if report.left_out > 0 {
        let what = text::counted(report.left_out, "session");
        lines.push(format!("{what} left out: nobody reads their projects, or another model does (llm.uses)"));
    }
    if let (true, Some(folder)) = (report.waiting > 0, folder) {
        lines.push(format!(
            "{} for an answer, ID.answer.json beside each ID.request.json in {}; run it again when they are there",
            if report.waiting == 1 { "1 session waits".to_owned() } else { format!("{} sessions wait", report.waiting) },
            folder.display()
        ));
    }
    lines.extend(
        report
            .stopped
            .as_ref()
            .map(|reason| format!("stopped: {}; run it again to go on from there", text::harmless(&words::stopped(reason)))),
    );
    lines
}

/// Extracts memories, with a progress bar.
pub fn with_progress(engine: &Engine, request: &ExtractRequest, context: &Context) -> CliResult<ExtractReport> {
    let bar = Progress::counting("extracting", 0, context.printer.shows_progress());
    let report = engine.extract(request, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        true
    });
    bar.finish_and_clear();
    Ok(report?)
}

pub(super) fn told(report: &ExtractReport, is_dry_run: bool) -> Vec<String> {
    let failed =
        |failed: &FailedSession| format!("{} failed: {}", failed.session, text::harmless(&words::failed(&failed.reason)));
    let mut lines: Vec<String> = report.failed.iter().map(failed).collect();
    if is_dry_run {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for session in &report.proposed {
            let title = session.title.as_deref().map(text::harmless).unwrap_or_default();
            lines.push(format!("{}  {}", session.session, title.lines().next().unwrap_or_default()));
            for memory in session.memories.iter().map(|new| &new.memory) {
                *kinds.entry(kind_name(memory.kind)).or_default() += 1;
                lines.push(format!("  {}  {}", kind_name(memory.kind), text::harmless(&memory.statement)));
            }
        }
        let counts: Vec<String> = kinds.iter().map(|(kind, count)| format!("{} {kind}", text::count(*count))).collect();
        lines.push(format!("would record from {}: {}", text::counted(report.sessions, "session"), counts.join(", ")));
        return lines;
    }
    let counts = &report.counts;
    let mut parts = vec![format!("{} new", text::counted(counts.recorded, "memory"))];
    let more = [
        (counts.joined, "known that got evidence"),
        (counts.refused, "not recorded, since they were rejected, replaced or forgotten"),
        (counts.put_away, "put away that are proposed no longer"),
    ];
    parts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", text::count(*count))));
    lines.push(format!(
        "{} read, {} unchanged: {}",
        text::counted(report.sessions, "session"),
        text::count(report.unchanged),
        parts.join(", ")
    ));
    lines
}
