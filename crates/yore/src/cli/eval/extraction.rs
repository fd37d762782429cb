//! Runs extractors over given sessions, and measures what each proposes and takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yore_engine::ingest::{IngestRequest, Silent, SourceRoot};
use yore_engine::llm::{Backoff, Model, Way};
use yore_engine::{Engine, ExtractRequest, MemoryList, ModelAccess, Spent, Terms, dollars};

use super::lines;
use super::measure::cpu;
use crate::cli::Context;
use crate::config::replace_file;
use crate::error::{CliError, CliResult, Exit};
use crate::llm;
use crate::render::text;
use crate::results::{MeasuredExtraction, words};

/// Run extractors over given sessions, and write what each proposes, and what it took
///
/// Each extractor reads the sessions into a temporary memory of its own. What it proposes stands in DIR/EXTRACTOR.jsonl, the counts
/// in DIR/report.json. A model is asked as far as `yore budget` of your own memory allows, where its calls are booked.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Histories; SOURCE is claude-code unless it is named
    #[arg(value_name = "[SOURCE:]PATH", required = true)]
    histories: Vec<String>,
    /// An extractor; may be repeated, so that they stand side by side
    #[arg(long = "extractor", value_name = "NAME", default_values = ["rules"], value_parser = EXTRACTORS)]
    extractors: Vec<String>,
    /// Write the proposals and the report to DIR
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Keep each request to the model and its answer in DIR
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Take the model's answers from DIR, as --record kept them; no model is asked
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
}

const EXTRACTORS: [&str; 2] = ["rules", MODEL];
const MODEL: &str = "model";
/// File of a recording that says who answered.
const WHO: &str = "model.json";

/// Who answered what was recorded.
#[derive(Deserialize, Serialize)]
struct Recorded {
    model: String,
    is_small: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    std::fs::create_dir_all(&arguments.out).map_err(|error| CliError::io(&arguments.out, &error))?;
    let mut measured = Vec::new();
    for name in &arguments.extractors {
        measured.push(measure(name, arguments, context)?);
    }
    let report = arguments.out.join("report.json");
    let text = serde_json::to_string_pretty(&measured).unwrap_or_default();
    replace_file(&report, text).map_err(|error| CliError::io(&report, &error))?;
    if context.printer.is_json() {
        context.printer.json(&measured)?;
    } else {
        let head = ["extractor", "sessions", "proposals", "calls", "tokens read", "written", "dollars", "failed"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(measured.iter().map(row));
        for line in text::table(&rows) {
            context.printer.line(line)?;
        }
        for reason in measured.iter().filter_map(|one| one.stopped.as_ref()) {
            context.printer.note(format!("stopped: {}", text::harmless(reason)))?;
        }
    }
    let is_whole = measured.iter().all(|one| one.failed == 0 && one.waiting == 0 && one.stopped.is_none());
    Ok(if is_whole { Exit::Success } else { Exit::Nothing })
}

fn row(one: &MeasuredExtraction) -> Vec<String> {
    let about = if one.estimated { "about " } else { "" };
    let name = one.model.as_ref().map_or_else(|| one.extractor.clone(), |model| format!("{} ({model})", one.extractor));
    vec![
        text::harmless(&name),
        text::count(one.sessions),
        text::count(one.proposals),
        text::count(one.calls),
        format!("{about}{}", text::count(one.input_tokens)),
        format!("{about}{}", text::count(one.output_tokens)),
        one.dollars.clone(),
        text::count(one.failed + one.waiting),
    ]
}

fn measure(name: &str, arguments: &Arguments, context: &mut Context) -> CliResult<MeasuredExtraction> {
    let temporary = tempfile::tempdir().map_err(|error| CliError::io(&std::env::temp_dir(), &error))?;
    let directory = temporary.path().join("memory");
    let engine = crate::engine_handle::open(&directory, true, context.settings.config(), llm::ModelsAt::default())?;
    let root = |text: &String| {
        let (source, path) = match text.split_once(':') {
            Some((source, path)) if yore_sources::source::source_named(source).is_some() => (source, path),
            _ => ("claude-code", text.as_str()),
        };
        SourceRoot { source: source.to_owned(), path: path.into() }
    };
    let report = engine.ingest(&IngestRequest::new(arguments.histories.iter().map(root).collect()), &mut Silent)?;
    if let Some((path, reason)) = report.unread().next() {
        return Err(CliError::usage(format!("{}: {reason}", path.display()), None));
    }
    let before = cpu();
    let mut measured = match name {
        MODEL => by_model(&engine, arguments, context)?,
        _ => {
            let report =
                engine.extract(&ExtractRequest { continue_on_error: true, ..ExtractRequest::default() }, &mut |_, _| true)?;
            MeasuredExtraction { sessions: report.sessions, failed: report.failed.len() as u64, ..MeasuredExtraction::default() }
        }
    };
    measured.cpu_s = (cpu() - before).as_secs_f64();
    measured.extractor = name.to_owned();
    proposals(&engine, &arguments.out.join(format!("{name}.jsonl")), &mut measured)?;
    Ok(measured)
}

/// Lets the configured model extract, or what was recorded answer in its place.
fn by_model(engine: &Engine, arguments: &Arguments, context: &mut Context) -> CliResult<MeasuredExtraction> {
    let settings = context.settings.clone();
    let own = settings.engine(true)?;
    let is_stopped = AtomicBool::new(false);
    let (model, terms) = match &arguments.replay {
        Some(folder) => replayed(folder)?,
        None => {
            let chosen = llm::ModelChooser::new(&settings, "extract")?.for_project(None)?;
            chosen.ok_or_else(|| CliError::usage("nobody answers for extract", Some("name a model in llm.provider")))?
        }
    };
    let model = match &arguments.record {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(|error| CliError::io(folder, &error))?;
            let who = Recorded { model: model.name().to_owned(), is_small: model.is_small() };
            let path = folder.join(WHO);
            replace_file(&path, json!(who).to_string()).map_err(|error| CliError::io(&path, &error))?;
            let model = Arc::try_unwrap(model).map_err(|_| CliError::usage("the model is in use", None))?;
            Arc::new(model.recorded(folder.clone()))
        }
        None => model,
    };
    let name = model.name().to_owned();
    // Answers that were paid for before are booked in the temporary memory.
    let books = if arguments.replay.is_none() { &own } else { engine };
    let day = books.day(terms.offset_minutes);
    let before = spent(books, day, &terms.purpose)?;
    let mut choose = |_: Option<&str>| Ok(Some((Arc::clone(&model), terms.clone())));
    let by = ModelAccess { choose: &mut choose, books: Some(books), is_stopped: &is_stopped };
    let report = engine.extract_by_model(by, &ExtractRequest::default(), &mut |_, _| true)?;
    let after = spent(books, day, &terms.purpose)?;
    Ok(MeasuredExtraction {
        model: Some(name),
        sessions: report.sessions,
        calls: after.calls - before.calls,
        input_tokens: after.input - before.input,
        output_tokens: after.output - before.output,
        dollars: dollars(after.cost_micro - before.cost_micro),
        estimated: after.is_estimated,
        refused: report.refused.iter().map(words::refused).collect(),
        failed: report.failed.len() as u64,
        waiting: report.waiting,
        stopped: report.stopped.as_ref().map(words::stopped),
        ..MeasuredExtraction::default()
    })
}

fn replayed(folder: &Path) -> CliResult<(Arc<Model>, Terms)> {
    let path = folder.join(WHO);
    let text = std::fs::read(&path).map_err(|error| CliError::io(&path, &error))?;
    let who: Recorded =
        serde_json::from_slice(&text).map_err(|error| CliError::usage(format!("{}: {error}", path.display()), None))?;
    let model = Model::new(who.model, Way::Folder(folder.to_path_buf()), Backoff::ONCE).of_size(who.is_small);
    let limits = yore_engine::DailyLimits { tokens: u64::MAX >> 1, ..yore_engine::DailyLimits::default() };
    Ok((Arc::new(model), Terms { purpose: "extract".to_owned(), limits, ..Terms::default() }))
}

/// Returns what a purpose took on a day.
fn spent(engine: &Engine, day: i64, purpose: &str) -> CliResult<Spent> {
    let rows = engine.ledger(day)?;
    Ok(rows.iter().filter(|row| row.purpose == purpose).fold(Spent::default(), |sum, row| Spent {
        calls: sum.calls + row.spent.calls,
        failed: sum.failed + row.spent.failed,
        input: sum.input + row.spent.input,
        output: sum.output + row.spent.output,
        cost_micro: sum.cost_micro + row.spent.cost_micro,
        is_estimated: sum.is_estimated || row.spent.is_estimated,
    }))
}

/// Writes what an extractor proposed, and counts it.
fn proposals(engine: &Engine, path: &Path, measured: &mut MeasuredExtraction) -> CliResult<()> {
    let memories = engine.memories(&MemoryList { limit: usize::MAX >> 1, ..MemoryList::default() })?;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let mut written = Vec::with_capacity(memories.len());
    for stored in &memories {
        let memory = &stored.memory;
        *kinds.entry(memory.kind.as_str().to_owned()).or_default() += 1;
        let quotes: Vec<&str> = memory.evidence.iter().map(|evidence| evidence.quote.as_str()).collect();
        written.push(json!({
            "session": memory.source.session,
            "kind": memory.kind.as_str(),
            "statement": memory.statement,
            "confidence": memory.certainty,
            "quotes": quotes,
        }));
    }
    measured.proposals = memories.len() as u64;
    measured.kinds = kinds;
    lines::write(path, written.into_iter())
}
