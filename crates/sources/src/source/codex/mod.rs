//! Codex CLI: rollouts in `sessions/<year>/<month>/<day>/rollout-<time>-<thread>.jsonl`, plain or compressed (`.jsonl.zst`).
//! Archived ones are beside them, compressed ones in place of the plain ones, titles in `session_index.jsonl`.
//!
//! - [`Codex`]: finds the files, unpacks the compressed ones
//! - `thread`: finds the thread of a file, and the lines copied from another thread
//! - `reader`: lines to turns
//! - `tool`: inputs and outputs of tools
//!
//! Lines have no ids. A message is identified by its thread and the number of its line, which appending and
//! compressing do not change.

mod reader;
mod thread;
mod tool;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::reader::{BAD, GLUED, IndexReader, KIND, RolloutReader};
use self::thread::{Step, Thread, is_header, thread_of_name};
use super::shapes::{drop_payloads, text_of};
use super::typed::{self, List, Prompt, TypedReader};
use super::{Computer, EpisodeReader, Framing, Known, LineOwner, ReaderOptions, Source, Stamp, Unit, files_below};
use crate::parse::parse_line;

/// File of thread names.
const INDEX: &str = "session_index.jsonl";
/// File of prompts without their answers.
const PROMPTS: &str = "history.jsonl";
/// Suffix of a compressed rollout's name.
const COMPRESSED: &str = ".jsonl.zst";
/// Maximum size of an unpacked line in bytes. Longer lines are skipped.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum size of an unpacked file in bytes. A larger one is not a rollout.
const MAX_UNPACKED_BYTES: u64 = 4 << 30;
/// Member that holds the thread of a line in a forked rollout.
const OWNER: &str = "_thread";

/// The source for Codex; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Codex;

impl Source for Codex {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Codex CLI"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let home = computer.directory("CODEX_HOME", ".codex");
        // The home directory itself also holds credentials and databases, which must not be read.
        ["sessions", "archived_sessions", INDEX, PROMPTS].iter().map(|name| home.join(name)).collect()
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        if typed::is_list(root) {
            return prompts_without_rollout(root, known);
        }
        if root.is_file() {
            let unit = if is_index(root) { index_unit(root) } else { rollout_unit(root.to_path_buf(), known) };
            return unit.into_iter().collect();
        }
        let (sessions, archived) = (root.join("sessions"), root.join("archived_sessions"));
        let mut files = Vec::new();
        if sessions.is_dir() || archived.is_dir() {
            files.extend(rollouts_below(&sessions));
            files.extend(rollouts_below(&archived));
        } else {
            files = rollouts_below(root);
        }
        let mut units: Vec<Unit> = files.into_iter().filter_map(|file| rollout_unit(file, known)).collect();
        units.extend(index_unit(&root.join(INDEX)));
        units.extend(prompts_without_rollout(&root.join(PROMPTS), known));
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        if typed::is_list(&unit.path) {
            return typed::records(unit, prompt_of, (OWNER, "cwd"), take);
        }
        let file = File::open(&unit.path)?;
        if is_compressed(&unit.path) {
            let unpacked = zstd::stream::read::Decoder::new(file)?.take(MAX_UNPACKED_BYTES);
            lines_as_records(BufReader::with_capacity(256 * 1024, unpacked), &unit.path, take)
        } else {
            lines_as_records(BufReader::with_capacity(256 * 1024, file), &unit.path, take)
        }
    }

    fn reader(&self, unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        if typed::is_list(unit) {
            return Box::new(TypedReader { kind: KIND, options: options.clone() });
        }
        if is_index(unit) { Box::new(IndexReader) } else { Box::new(RolloutReader::new(unit, state, options.clone())) }
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        let facts = if value["payload"].is_object() { &value["payload"] } else { value };
        let named = text_of(value, OWNER);
        let names_thread = is_header(value) || value.get("thread_name").is_some();
        LineOwner {
            session: named.or_else(|| if names_thread { text_of(facts, "id") } else { None }).map(Into::into),
            directory: if is_header(value) || text_of(value, "type") == Some("turn_context") {
                text_of(facts, "cwd")
            } else {
                None
            },
            ..LineOwner::default()
        }
    }
}

/// Returns the sessions in the list of prompts that have no rollout.
fn prompts_without_rollout(list: &Path, known: &dyn Known) -> Vec<Unit> {
    if let Some(units) = typed::unchanged(list, known) {
        return units;
    }
    let thread = |name: &str| {
        let stem = name.strip_suffix(COMPRESSED).or_else(|| name.strip_suffix(".jsonl"))?;
        stem.get(stem.len().checked_sub(36)?..).map(str::to_owned)
    };
    let here = ["sessions", "archived_sessions"].iter().flat_map(|name| rollouts_below(&list.with_file_name(name)));
    let mut told: HashSet<String> = here.filter_map(|file| thread(name_of(&file))).collect();
    told.extend(known.names().iter().filter_map(|name| thread(name_of(Path::new(name)))));
    // Every line names its session.
    typed::units(list, known, &List { prompt_of, told: &told, told_since: &|_| None })
}

/// Parses a line of the list of prompts.
fn prompt_of(value: &Value) -> Option<Prompt> {
    Some(Prompt {
        session: Some(text_of(value, "session_id")?.to_owned()),
        text: text_of(value, "text")?.to_owned(),
        at: value["ts"].as_i64().filter(|at| *at > 0)?.checked_mul(1000)?,
        directory: None,
    })
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

fn is_index(path: &Path) -> bool {
    name_of(path) == INDEX
}

fn is_compressed(path: &Path) -> bool {
    name_of(path).ends_with(COMPRESSED)
}

/// Returns the rollouts below a directory; a compressed one only if the plain one does not exist.
fn rollouts_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = files_below(directory, "jsonl", 8);
    files.retain(|file| !is_index(file) && name_of(file) != PROMPTS);
    let mut compressed = files_below(directory, "zst", 8);
    compressed.retain(|file| is_compressed(file) && !file.with_extension("").exists());
    files.append(&mut compressed);
    files
}

/// Returns the unit of a rollout. Plain rollouts grow at their end. One that was copied from another thread,
/// or is compressed, is read as records, because each copied line must name its thread.
fn rollout_unit(path: PathBuf, known: &dyn Known) -> Option<Unit> {
    let unit = Unit::lines(path)?;
    if !is_compressed(&unit.path) {
        let is_known = unit.name().and_then(|name| known.stamp(&name)) == Some(unit.stamp);
        if is_known || !is_fork(&unit.path) {
            return Some(unit);
        }
    }
    let began = time_of_name(&unit.path);
    Some(Unit { framing: Framing::Records, began, ..unit })
}

/// Returns whether a rollout began with another thread's lines.
fn is_fork(path: &Path) -> bool {
    if thread_of_name(path).is_some() {
        return true;
    }
    let mut head = Vec::new();
    let is_read = File::open(path).and_then(|file| file.take(16 * 1024).read_to_end(&mut head)).is_ok();
    is_read && memchr::memmem::find(&head, b"\"forked_from_id\":\"").is_some()
}

/// Returns the time in `rollout-2026-05-31T10-46-34-<thread>`. Its zone is the computer's.
fn time_of_name(path: &Path) -> Option<String> {
    let time = name_of(path).strip_prefix("rollout-")?.get(..19)?;
    let (day, clock) = time.split_at_checked(11)?;
    let is_time = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'T');
    is_time.then(|| format!("{day}{}", clock.replace('-', ":")))
}

/// Returns the unit of the file of names. It is read after all rollouts, and again when their number changes:
/// a name that comes before its thread has no episode to belong to.
fn index_unit(path: &Path) -> Option<Unit> {
    let unit = Unit::records(path.to_path_buf())?;
    let home = path.parent()?;
    let rollouts: usize = ["sessions", "archived_sessions"].iter().map(|name| rollouts_below(&home.join(name)).len()).sum();
    let stamp = Stamp { version: unit.stamp.version.wrapping_add(rollouts as i64), ..unit.stamp };
    Some(Unit { stamp, closes_file: true, ..unit })
}

/// Passes one record per line to `take`, so that line numbers are the same as in the plain file.
fn lines_as_records(mut lines: impl BufRead, path: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let mut thread = Thread::new(path);
    let mut is_fork = thread_of_name(path).is_some();
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    loop {
        bytes.clear();
        if (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        if bytes.len() as u64 == MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
            pass_over_line(&mut lines)?;
            bytes.clear();
        }
        let parsed = parse_line(&bytes, &mut values);
        values.iter_mut().for_each(drop_payloads);
        for value in &mut values {
            if is_header(value) && text_of(&value["payload"], "forked_from_id").is_some() {
                is_fork = true;
            }
            let owner = match thread.step(value) {
                Step::Copied => thread.copied_from.as_deref(),
                Step::Own | Step::Header => thread.id.as_deref(),
                Step::Nameless => None,
            };
            if let (true, Some(owner), Value::Object(line)) = (is_fork, owner, value) {
                line.insert(OWNER.to_owned(), owner.into());
            }
        }
        let record = match values.len() {
            1 => values.pop().unwrap_or_default(),
            0 if parsed.is_err() && !bytes.trim_ascii().is_empty() => json!({BAD: true}),
            0 => Value::Null,
            _ => {
                let owner = values.iter().find_map(|value| text_of(value, OWNER)).map(str::to_owned);
                let mut record = json!({GLUED: std::mem::take(&mut values)});
                if let Some(owner) = owner {
                    record[OWNER] = owner.into();
                }
                record
            }
        };
        if !take(record) {
            return Ok(());
        }
    }
}

fn pass_over_line(lines: &mut impl BufRead) -> io::Result<()> {
    loop {
        let available = lines.fill_buf()?;
        if available.is_empty() {
            return Ok(());
        }
        let newline = memchr::memchr(b'\n', available);
        let count = newline.map_or(available.len(), |at| at + 1);
        lines.consume(count);
        if newline.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records_of(text: &str) -> Vec<Value> {
        let mut records = Vec::new();
        lines_as_records(text.as_bytes(), Path::new("rollout-x.jsonl.zst"), &mut |record| {
            records.push(record);
            true
        })
        .unwrap();
        records
    }

    #[test]
    fn every_line_is_one_record_whatever_it_holds() {
        let records = records_of("{\"a\":1}\n\nnot json\n{\"b\":1}{\"c\":2}\n{\"d\":");
        assert_eq!(records.len(), 5);
        assert_eq!(records[0], json!({"a": 1}));
        assert_eq!(records[1], Value::Null);
        assert_eq!(records[2], json!({BAD: true}));
        assert_eq!(records[3], json!({GLUED: [{"b": 1}, {"c": 2}]}));
        assert_eq!(records[4], json!({BAD: true}));
    }

    #[test]
    fn name_tells_when_a_rollout_began() {
        let path = Path::new("rollout-2026-05-31T10-46-34-019e7da4-83bc-7dc1-93d3-a435cb5c9100.jsonl.zst");
        assert_eq!(time_of_name(path).as_deref(), Some("2026-05-31T10:46:34"));
        assert_eq!(time_of_name(Path::new("rollout-ü.jsonl")), None);
        assert_eq!(time_of_name(Path::new("019e7da4.jsonl")), None);
    }
}
