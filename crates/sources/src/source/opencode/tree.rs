//! Reads sessions in OpenCode's older files: one file for each session, message and part.
//!
//! Two layouts: `session/<project>/<session>.json` with `message/<session>/` and `part/<message>/` beside
//! `session`; before that `session/info/<session>.json` with `message/<session>/` and
//! `part/<session>/<message>/` beside `info`.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_core::time::format_utc;

use super::super::shapes::{hash_of, id_of, read_json, text_of};
use super::super::{Stamp, Unit, files_below, folders_in};
use super::session::Session;

/// Maximum size of a file of a session, message or part, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Returns the sessions below one of OpenCode's directories: its data directory, or `storage` in it.
pub(super) fn units(root: &Path) -> Vec<Unit> {
    let mut roots = vec![root.join("storage/session"), root.join("session")];
    roots.extend(folders_in(&root.join("project")).into_iter().map(|project| project.join("storage/session")));
    let mut units = Vec::new();
    for root in roots {
        for directory in folders_in(&root) {
            // The older layout keeps messages and parts beside `info`.
            if !matches!(name_of(&directory), "message" | "part" | "share") {
                units.extend(files_below(&directory, "json", 0).iter().filter_map(|file| unit(file)));
            }
        }
    }
    units
}

/// Returns the session of one file. Its stamp covers its messages too.
pub(super) fn unit(file: &Path) -> Option<Unit> {
    let mut unit = Unit::records(file.to_path_buf())?;
    let mut facts = vec![unit.stamp.version.to_le_bytes().to_vec()];
    for message in files_of(&Layout::of(file).messages) {
        let Ok(stamp) = Stamp::of_file(&message) else { continue };
        unit.stamp.size += stamp.size;
        facts.push(name_of(&message).as_bytes().to_vec());
        facts.push(stamp.size.to_le_bytes().to_vec());
        facts.push(stamp.version.to_le_bytes().to_vec());
    }
    unit.stamp.version = hash_of(facts.iter().map(Vec::as_slice));
    unit.began = read(file).ok().and_then(|session| session["time"]["created"].as_i64()).map(format_utc);
    Some(unit)
}

/// Outputs the records of the session of one file.
pub(super) fn records(file: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let told = read(file)?;
    let layout = Layout::of(file);
    let mut messages: Vec<(String, Value)> = Vec::new();
    for path in files_of(&layout.messages) {
        // One damaged file must not hide the others.
        let Ok(message) = read(&path) else { continue };
        messages.push((id_of(&message["id"]).unwrap_or_else(|| stem_of(&path)), message));
    }
    let directory = text_of(&told, "directory")
        .or_else(|| messages.iter().find_map(|(_, message)| text_of(&message["path"], "cwd").or_else(|| old_directory(message))));
    let session = Session {
        id: id_of(&told["id"]).unwrap_or_else(|| stem_of(file)),
        directory: directory.map(str::to_owned),
        title: text_of(&told, "title").map(str::to_owned),
        parent: text_of(&told, "parentID").map(str::to_owned),
        version: text_of(&told, "version").map(str::to_owned),
        created: told["time"]["created"].as_i64(),
        revert: told["revert"].clone(),
    };
    if messages.is_empty() || !take(session.header()) {
        return Ok(());
    }
    for (id, mut message) in messages {
        let mut parts = Vec::new();
        for path in files_of(&layout.parts_of(&id)) {
            let Ok(part) = read(&path) else { continue };
            parts.push((id_of(&part["id"]).unwrap_or_else(|| stem_of(&path)), part));
        }
        // The first versions kept parts and facts in the message.
        if let Some(Value::Array(inside)) = message.get_mut("parts").map(Value::take)
            && parts.is_empty()
        {
            parts = inside.into_iter().enumerate().map(|(at, part)| (format!("{id}/{at:04}"), part)).collect();
        }
        let metadata = message.get_mut("metadata").map(Value::take).unwrap_or_default();
        for (key, value) in [
            ("time", &metadata["time"]),
            ("path", &metadata["assistant"]["path"]),
            ("modelID", &metadata["assistant"]["modelID"]),
            ("summary", &metadata["assistant"]["summary"]),
            ("error", &metadata["error"]),
        ] {
            if let Some(message) = message.as_object_mut()
                && !message.contains_key(key)
                && !value.is_null()
            {
                message.insert(key.to_owned(), value.clone());
            }
        }
        if !take(session.record(&id, message, parts)) {
            break;
        }
    }
    Ok(())
}

fn old_directory(message: &Value) -> Option<&str> {
    text_of(&message["metadata"]["assistant"]["path"], "cwd")
}

/// Directories of the messages of a session, and of their parts.
struct Layout {
    messages: PathBuf,
    parts: PathBuf,
}

impl Layout {
    fn of(file: &Path) -> Self {
        let session = stem_of(file);
        let directory = file.parent().unwrap_or(file);
        let above = directory.parent().unwrap_or(directory);
        if name_of(directory) == "info" {
            return Self { messages: above.join("message").join(&session), parts: above.join("part").join(&session) };
        }
        let storage = above.parent().unwrap_or(above);
        Self { messages: storage.join("message").join(&session), parts: storage.join("part") }
    }

    fn parts_of(&self, message: &str) -> PathBuf {
        // An id is a single file name; anything else would lead to another directory.
        let is_name = !message.contains(['/', '\\']) && !message.starts_with('.');
        if is_name { self.parts.join(message) } else { PathBuf::new() }
    }
}

fn read(path: &Path) -> io::Result<Value> {
    read_json(path, MAX_FILE_BYTES)
}

/// Returns the JSON files of a directory sorted by name, which is also by time.
fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut files = files_below(directory, "json", 0);
    files.sort();
    files
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

fn stem_of(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("").to_owned()
}
