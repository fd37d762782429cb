use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use yore_core::scope::ProjectAlias;
use yore_engine::Engine;
use yore_engine::ingest::source::Stamp;
use yore_engine::ingest::source::note::{KIND, Note, draw_note_id, note_episode, note_records, note_unit};
use yore_engine::ingest::{GivenDocument, IngestRequest, names_of};

use super::Context;
use crate::engine_handle::now;
use crate::error::{CliError, CliResult, Exit};
use crate::render::text;

/// A longer note is a file: `yore ingest --source file` reads those.
const MAX_BYTES: u64 = 1 << 20;

/// Remember a note
///
/// The words are kept as they are, as your own. Prints the note's id, with which `yore show` shows
/// it and `yore forget` forgets it.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The note; `-`, or nothing, reads it from standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// A title
    #[arg(long, value_name = "TITLE")]
    title: Option<String>,
    /// A word to find it by; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The directory whose project it belongs to [default: the repository around this directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let words = match arguments.text.as_deref() {
        Some(text) if text != "-" => text.to_owned(),
        given => read_input(given.is_some())?,
    };
    if words.trim().is_empty() {
        return Err(CliError::usage("the note is empty", None));
    }
    if words.len() as u64 > MAX_BYTES {
        return Err(CliError::usage(
            format!("a note has at most {}", text::bytes(MAX_BYTES)),
            Some("save it as a file and read that with `yore ingest --source file`"),
        ));
    }
    let engine = context.engine(true)?;
    let directory = match &arguments.project {
        Some(directory) if !directory.is_dir() => {
            return Err(CliError::usage(format!("{} is no directory", directory.display()), None));
        }
        Some(directory) => directory.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned)),
        None => repository_here(context).or_else(|| project_here(&engine, context)),
    };
    let at = now();
    let id = draw_note_id(at).map_err(|error| CliError::io(&context.directory, &error))?;
    let note = Note {
        id: &id,
        text: &words,
        title: arguments.title.as_deref(),
        tags: &arguments.tags,
        directory: directory.as_deref(),
        at,
    };
    let document = GivenDocument {
        name: note_unit(&id),
        stamp: Stamp { size: words.len() as u64, version: at },
        state: String::new(),
        records: note_records(&note),
    };
    // What somebody gives is kept, whatever may be captured from agents.
    let mut request = IngestRequest::new(Vec::new());
    request.compression_level = context.config().archive.compression_level;
    let report = engine.put_document(KIND, document, &request)?;
    engine.sync_index(2_000, &mut |_| {})?;
    let id = note_episode(&id);
    if context.printer.is_json() {
        context.printer.json(&json!({
            "id": id.to_string(),
            "title": arguments.title,
            "tags": arguments.tags,
            "directory": directory,
            "redactions": report.redactions.total(),
        }))?;
        return Ok(Exit::Success);
    }
    context.printer.line(id.to_string())?;
    if report.redactions.total() > 0 {
        context.printer.note(format!("{} redacted before storing", text::counted(report.redactions.total(), "secret")))?;
    }
    Ok(Exit::Success)
}

/// Everything on standard input, unless a person would have to type it unasked.
fn read_input(is_asked: bool) -> CliResult<String> {
    let input = std::io::stdin();
    if !is_asked && input.is_terminal() {
        return Err(CliError::usage("there is nothing to remember", Some("`yore note \"...\"`, or `yore note -` to type it")));
    }
    let mut bytes = Vec::new();
    input.lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| CliError {
        exit: Exit::Data,
        code: "input".to_owned(),
        message: format!("cannot read standard input: {error}"),
        hint: None,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The directory that is asked from, if it lies in one that is known as a project's.
fn project_here(engine: &Engine, context: &Context) -> Option<String> {
    let here = context.here.as_ref()?;
    let known = engine.project_directories().ok()?;
    known.iter().any(|directory| here.starts_with(directory)).then(|| here.to_str().map(str::to_owned))?
}

/// The directory that is asked from, if a repository is around it: notes from elsewhere belong to
/// no project.
pub(super) fn repository_here(context: &Context) -> Option<String> {
    let here = context.here.as_ref()?.to_str()?;
    let is_repository = names_of(here).aliases.iter().any(|(alias, _)| matches!(alias, ProjectAlias::GitDir(_)));
    is_repository.then(|| here.to_owned())
}
