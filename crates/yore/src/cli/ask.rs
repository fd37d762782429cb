use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_core::query::AskDepth;
use yore_core::scope::ScopeChoice;
use yore_engine::{AskAnswer, AskRequest, ModelAccess, PiecesRequest, is_aggregate};

use super::Context;
use super::recall::{self, FilterArguments};
use super::rlm::{self, LimitArguments};
use super::scope;
use crate::error::{CliError, CliResult, Exit};
use crate::llm::ModelChooser;
use crate::render::spoken;
use crate::results::Spoken;

/// Answer in sentences, each with what it rests on
///
/// The sentences are words of the memory; with a configured language model and a daily limit (`yore learn --limit`) they are its own, and each is
/// dropped that its evidence does not support. It searches deeper until the answer is sure, and says so where nothing is known.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The question; `-` reads it from standard input, `--` goes before one that begins with a dash
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// How much is read: preview, full or deep [default: deeper until the answer is sure]
    #[arg(long, value_name = "DEPTH", value_parser = depth)]
    depth: Option<AskDepth>,
    /// Where recall is not sure, or the question counts or compares, let a model read everything (`yore rlm run`), within limits
    #[arg(long, conflicts_with_all = ["depth", "no_model"])]
    deep: bool,
    /// Use the memory's own words, and no language model
    #[arg(long)]
    no_model: bool,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten, next_help_heading = "With --deep")]
    limits: LimitArguments,
}

/// Confidence from which an answer of recall is not read for again.
const SURE: f32 = 0.7;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let question = recall::question(&arguments.question)?;
    arguments.filter.check()?;
    let mut request = AskRequest { recall: recall::request(&question, context), depth: arguments.depth };
    request.recall.answer_kind = None;
    request.recall.filter = arguments.filter.filter(request.recall.filter.scope);
    if arguments.deep {
        return deep(arguments, &question, request, context);
    }
    let answer = answer(&request, arguments.no_model, context)?;
    tell(&question, &answer, context)
}

fn tell(question: &str, answer: &AskAnswer, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Spoken::of(question, answer))?;
    } else {
        context.printer.line(spoken::text(answer))?;
        if let Some(note) = spoken::note(answer) {
            context.printer.note(note)?;
        }
    }
    Ok(if answer.sentences.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Asks recall, and has a model read everything if that is not enough.
fn deep(arguments: &Arguments, question: &str, request: AskRequest, context: &mut Context) -> CliResult {
    let filter = request.recall.filter.clone();
    if !is_aggregate(question) {
        let answer = context.settings.memory()?.ask_in_sentences(request)?;
        if answer.confidence >= SURE && !answer.sentences.is_empty() {
            context.printer.note("recall is sure; `yore rlm run` has a model read all the same")?;
            return tell(question, &answer, context);
        }
    }
    let (named, is_all) = match &filter.scope {
        ScopeChoice::Projects(named) => (named.as_slice(), false),
        scope => (&[][..], *scope == ScopeChoice::All || !filter.sessions.is_empty()),
    };
    let pieces = PiecesRequest {
        projects: scope::projects(named, is_all, context)?,
        sessions: filter.sessions,
        since: filter.since,
        until: filter.until,
        ..PiecesRequest::default()
    };
    let answer = rlm::answer(arguments.limits.request(question, pieces), context)?;
    rlm::tell(question, &answer, context)
}

/// Asks in this process if a model is configured and wanted, else through the daemon.
fn answer(request: &AskRequest, no_model: bool, context: &mut Context) -> CliResult<AskAnswer> {
    let settings = context.settings.clone();
    let chooser = if no_model { None } else { ModelChooser::new(&settings, "ask").ok() };
    let Some(mut chooser) = chooser else { return context.settings.memory()?.ask_in_sentences(request.clone()) };
    let mut choose = |project: Option<&str>| chooser.for_project(project).map_err(|error: CliError| error.message);
    let is_stopped = AtomicBool::new(false);
    let by = ModelAccess { choose: &mut choose, books: None, is_stopped: &is_stopped };
    Ok(context.settings.engine(false)?.ask(request, Some(by))?)
}

fn depth(name: &str) -> Result<AskDepth, String> {
    let known = || AskDepth::ALL.iter().map(|depth| depth.as_str()).collect::<Vec<_>>().join(", ");
    AskDepth::parse(name).ok_or_else(|| format!("expected one of {}", known()))
}
