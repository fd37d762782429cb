//! Reads files of `opencode export`: one session with all of its messages, as one value.

use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use super::super::open;
use super::super::shapes::{self, first_text, id_of, text_of};
use super::newer;
use super::session::Session;

/// Maximum size of a file in bytes. A larger file is not a session.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// Number of bytes that are checked to tell an export from one of the program's own files.
const HEAD_BYTES: u64 = 64 << 10;

/// Returns whether a file begins like an export. Files with credentials are not opened.
pub(super) fn is_export(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("auth");
    if name.contains("auth") || name.contains("credential") {
        return false;
    }
    let mut head = Vec::new();
    let is_read = open(path).is_some_and(|file| file.take(HEAD_BYTES).read_to_end(&mut head).is_ok());
    let has = |words: &[u8]| memchr::memmem::find(&head, words).is_some();
    // The facts of a session with long diffs may fill all the bytes that are checked.
    is_read && has(b"\"info\"") && has(b"\"ses_") && (has(b"\"messages\"") || head.len() as u64 == HEAD_BYTES)
}

/// Reads the exported session in a file, and the record that reports damage; `None` for another file.
///
/// # Errors
/// When it cannot be read, is larger than any session, or begins like an export and is not JSON.
pub(super) fn read(path: &Path) -> io::Result<Option<(Value, Option<Value>)>> {
    if !is_export(path) {
        return Ok(None);
    }
    let bytes = shapes::read_whole(path, MAX_FILE_BYTES)?;
    // Before version 1.2 the file begins with a progress message: `Exporting session: ses_1{`.
    let start = if bytes.starts_with(b"Exporting") { memchr::memchr(b'{', &bytes).unwrap_or(0) } else { 0 };
    let (value, damage) = shapes::document_of(&bytes[start..])?;
    Ok(value["info"].is_object().then_some((value, damage)))
}

/// Outputs the records of an exported session.
pub(super) fn records(mut exported: Value, take: &mut dyn FnMut(Value) -> bool) {
    let info = exported["info"].take();
    let Some(id) = id_of(&info["id"]) else { return };
    let Some(Value::Array(messages)) = exported.get_mut("messages").map(Value::take) else { return };
    let session = Session {
        id,
        directory: first_text(&info, &["directory"]).or_else(|| text_of(&info["location"], "directory")).map(str::to_owned),
        title: text_of(&info, "title").map(str::to_owned),
        parent: text_of(&info, "parentID").map(str::to_owned),
        version: text_of(&info, "version").map(str::to_owned),
        created: info["time"]["created"].as_i64(),
        revert: info["revert"].clone(),
    };
    if messages.is_empty() || !take(session.header()) {
        return;
    }
    let mut newer = newer::Messages::default();
    for (at, mut message) in messages.into_iter().enumerate() {
        let told = if message["info"].is_object() {
            let data = message["info"].take();
            let parts = message.get_mut("parts").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
            let id = id_of(&data["id"]).unwrap_or_else(|| format!("#{at}"));
            let named = |(at, part): (usize, Value)| (id_of(&part["id"]).unwrap_or_else(|| format!("{id}/{at:04}")), part);
            let parts = parts.into_iter().enumerate().map(named).collect();
            Some((id.clone(), data, parts))
        } else {
            let id = id_of(&message["id"]).unwrap_or_else(|| format!("#{at}"));
            let kind = text_of(&message, "type").unwrap_or("").to_owned();
            newer.message(&id, &kind, message).map(|(data, parts)| (id, data, parts))
        };
        if let Some((id, data, parts)) = told
            && !take(session.record(&id, data, parts))
        {
            return;
        }
    }
}
