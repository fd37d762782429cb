//! A folder as a language model: requests and answers are files that a person or another program exchanges. An answer is used
//! again whenever its request is made again.
//!
//! A request is `ID.request.json`, its answer `ID.answer.json` (or `.txt`, or `.recorded` if a model gave it), where ID is a digest of what is asked
//! ([`Prompt::key`]): the same question is asked once.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::ask::{Prompt, Reply, Usage};
use super::error::LlmError;
use super::wire::Wanted;
use crate::platform;

/// Most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// A file that was changed later may still be written.
const STILL_WRITTEN: Duration = Duration::from_secs(2);
/// Ending of an answer that a model gave, which is whole.
const RECORDED: &str = "recorded";
/// Folder in the data directory for the provider `folder`.
pub const FOLDER: &str = "llm";
/// Folder in the data directory for batches and their answers.
pub const BATCHES: &str = "llm-batches";
/// Folder in the data directory for the records of runs, and the ending of their names.
pub const RUNS: &str = "runs";
pub(crate) const RUN_ENDING: &str = ".run.jsonl";
/// Digits of an id.
const ID_DIGITS: usize = 16;

/// Takes the answer to a prompt from a folder; writes the request if there is none.
///
/// # Errors
/// [`LlmError::Unanswered`], [`LlmError::Folder`].
pub(super) fn complete(folder: &Path, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Result<Reply, LlmError> {
    if let Some(reply) = answered(folder, prompt)? {
        return Ok(reply);
    }
    let request = request_of(prompt, wanted);
    let id = id_of(prompt);
    let path = folder.join(format!("{id}.request.json"));
    if !path.exists() {
        platform::create_private_directory(folder).map_err(|error| failed(folder, error))?;
        // Whole, or not there: others watch the folder.
        let draft = folder.join(format!(".{id}.{}.tmp", std::process::id()));
        let text = serde_json::to_string_pretty(&request).unwrap_or_default();
        let _ = fs::remove_file(&draft);
        let written = platform::write_new_private_file(&draft, text.as_bytes());
        written.and_then(|()| fs::rename(&draft, &path)).map_err(|error| failed(&path, error))?;
    }
    Err(LlmError::Unanswered(path.display().to_string()))
}

/// Returns the answer to a prompt, if there is one.
pub(super) fn answered(folder: &Path, prompt: &Prompt) -> Result<Option<Reply>, LlmError> {
    let id = id_of(prompt);
    for path in answers(folder, &id) {
        if let Some(text) = read(&path).map_err(|error| failed(&path, error))? {
            // One that does not read and is new may still be written.
            let is_whole = path.extension().is_some_and(|kind| kind == RECORDED) || serde_json::from_str::<Value>(&text).is_ok();
            if !is_whole && is_new(&path) {
                break;
            }
            return Ok(Some(Reply { usage: Usage::estimated(prompt, &text), text, is_cut: false }));
        }
    }
    Ok(None)
}

/// Returns whether an answer to a request had not the form.
pub(super) fn is_rejected(folder: &Path, id: &str) -> bool {
    answers(folder, id).iter().any(|path| path.with_extension("rejected").exists())
}

/// Keeps the answer that a model gave to a request.
pub(super) fn keep(folder: &Path, id: &str, text: &str) -> Result<(), LlmError> {
    let path = folder.join(format!("{id}.answer.{RECORDED}"));
    let _ = fs::remove_file(&path);
    platform::write_new_private_file(&path, text.as_bytes()).map_err(|error| failed(&path, error))
}

/// Keeps a request and the answer that a model gave to it, so that they can be given again.
pub(super) fn record(folder: &Path, prompt: &Prompt, wanted: Option<Wanted<'_>>, reply: &Reply) -> Result<(), LlmError> {
    platform::create_private_directory(folder).map_err(|error| failed(folder, error))?;
    let id = id_of(prompt);
    let request = serde_json::to_string_pretty(&request_of(prompt, wanted)).unwrap_or_default();
    let path = folder.join(format!("{id}.request.json"));
    let _ = fs::remove_file(&path);
    platform::write_new_private_file(&path, request.as_bytes()).map_err(|error| failed(&path, error))?;
    keep(folder, &id, &reply.text)
}

/// Puts the answer to a prompt away, so that the request is answered anew; returns the file that holds it then.
pub(super) fn reject(folder: &Path, prompt: &Prompt) -> Option<PathBuf> {
    // The first that is there was read.
    let path = answers(folder, &id_of(prompt)).into_iter().find(|path| path.exists())?;
    let kept = path.with_extension("rejected");
    fs::rename(&path, &kept).ok().map(|()| kept)
}

/// Removes all requests, answers and records of runs of a folder: they repeat words of the memory.
///
/// # Errors
/// A file cannot be removed.
pub(crate) fn empty(folder: &Path) -> io::Result<()> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for file in files {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".request.json") || name.contains(".answer.") || name.ends_with(RUN_ENDING) || name.ends_with(".tmp") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn request_of(prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Value {
    let form = wanted
        .map(|wanted| json!({"name": wanted.form.name, "description": wanted.form.description, "schema": wanted.form.schema}));
    json!({"system": prompt.system, "user": prompt.conversation(), "form": form, "max_tokens": prompt.max_tokens})
}

/// Returns the name of a request.
pub(super) fn id_of(prompt: &Prompt) -> String {
    let asked = if prompt.key.is_empty() { format!("{}\n{}", prompt.system, prompt.conversation()) } else { prompt.key.clone() };
    blake3::hash(asked.as_bytes()).to_hex()[..ID_DIGITS].to_owned()
}

/// Returns the files in which the answer may stand.
fn answers(folder: &Path, id: &str) -> [PathBuf; 3] {
    [RECORDED, "json", "txt"].map(|kind| folder.join(format!("{id}.answer.{kind}")))
}

fn is_new(path: &Path) -> bool {
    let age = path.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_none_or(|age| age < STILL_WRITTEN)
}

fn failed(path: &Path, error: io::Error) -> LlmError {
    LlmError::Folder { path: PathBuf::from(path).display().to_string(), error }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}
