use std::sync::atomic::AtomicBool;

use clap::Args;
use yore_core::query::AskDepth;
use yore_engine::{AskAnswer, AskRequest, ModelAccess};

use super::Context;
use super::recall::{self, FilterArguments};
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
    /// Use the memory's own words, and no language model
    #[arg(long)]
    no_model: bool,
    #[command(flatten)]
    filter: FilterArguments,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let question = recall::question(&arguments.question)?;
    arguments.filter.check()?;
    let mut request = AskRequest { recall: recall::request(&question, context), depth: arguments.depth };
    request.recall.answer_kind = None;
    request.recall.filter = arguments.filter.filter(request.recall.filter.scope);
    let answer = answer(&request, arguments.no_model, context)?;
    if context.printer.is_json() {
        context.printer.json(&Spoken::of(&question, &answer))?;
    } else {
        context.printer.line(spoken::text(&answer))?;
        if let Some(note) = spoken::note(&answer) {
            context.printer.note(note)?;
        }
    }
    Ok(if answer.sentences.is_empty() { Exit::Nothing } else { Exit::Success })
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
