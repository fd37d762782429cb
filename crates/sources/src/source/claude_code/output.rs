//! Reads outputs of Claude Code's tools that were too large for a transcript (`<session>/tool-results/<name>.txt`).
//!
//! Each is a unit with one record: its text, with the facts of the line in the session's transcripts that refers to it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::time::{TimeQuality, format_utc};

use super::super::shapes::{flatten, from_millis, read_output, text_of};
use super::super::{Unit, files_below, walk};

/// Folder of the outputs of a session.
const FOLDER: &str = "tool-results";
/// Type of the record.
pub(super) const RECORD: &str = "yore-tool-output";
/// Maximum number of bytes of a transcript's line that is searched.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Returns whether a file is an output.
pub(super) fn is_output(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| folder == FOLDER)
}

/// Returns the outputs below a folder. A link among them, or in the place of their folder, is not followed.
pub(super) fn outputs_below(root: &Path) -> Vec<Unit> {
    let is_real = |path: &Path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
    let is_wanted = |path: &Path| is_output(path) && is_real(path) && path.parent().is_some_and(is_real);
    let files = walk(root, &|_, depth| depth <= 8, &is_wanted);
    let unit = |path: PathBuf| {
        let unit = Unit::records(path)?;
        // Read after the transcript, which began before.
        let began = from_millis(unit.stamp.version as f64 / 1e6, TimeQuality::Derived).and_then(|time| time.utc);
        Some(Unit { began: Some(format_utc(began.unwrap_or_default())), ..unit })
    };
    files.into_iter().filter_map(unit).collect()
}

/// Returns the record of an output; `None` if it cannot be read.
pub(super) fn record(path: &Path) -> Option<Value> {
    let name = path.file_name()?.to_str()?;
    let session = path.parent()?.parent()?;
    let text = read_output(path)?;
    let mut record = json!({
        "type": RECORD,
        "sessionId": session.file_name()?.to_str()?,
        "name": name,
        "uuid": format!("output/{name}"),
        "call": path.file_stem()?.to_str()?,
        "text": text,
    });
    let mut transcripts = vec![session.with_extension("jsonl")];
    transcripts.extend(files_below(&session.join("subagents"), "jsonl", 2));
    if let Some((line, block)) = transcripts.iter().find_map(|transcript| line_about(transcript, name)) {
        for key in ["sessionId", "uuid", "timestamp", "cwd", "gitBranch", "isSidechain", "agentId", "version"] {
            if let Some(fact) = line.get(key).filter(|fact| !fact.is_null()) {
                record[key] = fact.clone();
            }
        }
        record["call"] = block.call.into();
        record["is_error"] = block.is_error.into();
        record["number"] = block.number.into();
    }
    Some(record)
}

/// A result that refers to an output.
struct Referring {
    call: String,
    is_error: bool,
    /// Number among the blocks of its line.
    number: usize,
}

/// Returns the line of a transcript with the result that refers to an output, and the result.
fn line_about(transcript: &Path, name: &str) -> Option<(Value, Referring)> {
    let mut reader = BufReader::new(File::open(transcript).ok()?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if line.len() > MAX_LINE_BYTES || memchr::memmem::find(&line, name.as_bytes()).is_none() {
            continue;
        }
        let Ok(value) = serde_json::from_slice::<Value>(&line) else { continue };
        let content = value["message"]["content"].as_array().into_iter().flatten();
        let found = content.enumerate().find_map(|(number, block)| {
            let refers = text_of(block, "type") == Some("tool_result") && flatten(&block["content"]).contains(name);
            let call = text_of(block, "tool_use_id").filter(|_| refers)?.to_owned();
            Some(Referring { call, is_error: block["is_error"].as_bool() == Some(true), number })
        });
        if let Some(referring) = found {
            return Some((value, referring));
        }
    }
}
