//! A folder in which somebody else is the model: requests are written as files, and answers are taken from files. A person or
//! another program answers; answers that were given are given again.
//!
//! A request is `ID.request.json`, its answer `ID.answer.json` (or `.txt`), where ID is a digest of what is asked
//! ([`Prompt::key`]): the same question is asked once.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::ask::{Prompt, Reply, Usage};
use super::error::LlmError;
use super::wire::Wanted;
use crate::platform;

/// Most bytes of an answer.
const MOST_BYTES: u64 = 64 << 20;
/// Digits of an id.
const ID_DIGITS: usize = 16;

/// Takes the answer to a prompt from a folder; writes the request if there is none.
///
/// # Errors
/// [`LlmError::Unanswered`], [`LlmError::Folder`].
pub(super) fn complete(folder: &Path, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Result<Reply, LlmError> {
    let form = wanted
        .map(|wanted| json!({"name": wanted.form.name, "description": wanted.form.description, "schema": wanted.form.schema}));
    let request = json!({"system": prompt.system, "user": prompt.user, "form": form, "max_tokens": prompt.max_tokens});
    let asked = if prompt.key.is_empty() { request.to_string() } else { prompt.key.clone() };
    let id = &blake3::hash(asked.as_bytes()).to_hex()[..ID_DIGITS];
    for kind in ["json", "txt"] {
        let path = folder.join(format!("{id}.answer.{kind}"));
        if let Some(text) = read(&path).map_err(|error| failed(&path, error))? {
            return Ok(Reply { usage: Usage::estimated(prompt, &text), text, is_cut: false });
        }
    }
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
