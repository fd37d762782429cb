//! Reads lists of typed prompts (`history.jsonl`) that agents keep beside their transcripts. They outlive the transcripts, so the
//! prompts of sessions without a transcript are taken from them.
//!
//! - [`units`]: the sessions whose transcripts neither exist nor are known
//! - [`records`]: the prompts of one of them
//! - [`TypedReader`]: prompts to turns

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};
use yore_core::episode::{Episode, Role};
use yore_core::time::{DAY_MS, RecordedTime, TimeQuality, UtcMillis, format_day, format_utc};

use super::shapes::{self, Message, short, text_of};
use super::{EpisodeReader, Framing, Known, ReaderOptions, Reading, SourceLine, Stamp, Unit};
use crate::lines::{Line, Lines, MAX_LINE_BYTES};
use crate::parse::parse_line;

/// File name of the list, the same for all agents.
const LIST: &str = "history.jsonl";
/// Minimum age of a session's last prompt. A younger session may still get a transcript.
const SETTLED_MS: i64 = DAY_MS;

/// Returns whether a unit, given by its name in the store, belongs to a list of prompts.
pub(super) fn is_list(unit: &Path) -> bool {
    // The part after `#` may contain a directory.
    let is_part = |component: &std::ffi::OsStr| {
        component.to_str().is_some_and(|name| name.strip_prefix(LIST).is_some_and(|rest| rest.starts_with('#')))
    };
    unit.file_name().is_some_and(|name| name == LIST) || unit.iter().any(is_part)
}

/// A prompt in a list.
pub(super) struct Prompt {
    /// Native id of its session; `None` in lists of older versions.
    pub session: Option<String>,
    pub text: String,
    pub at: UtcMillis,
    /// Directory in which it was typed, if the list records it.
    pub directory: Option<String>,
}

/// An agent's list: how its lines are parsed, and which of its sessions have transcripts.
pub(super) struct List<'a> {
    pub prompt_of: fn(&Value) -> Option<Prompt>,
    /// Ids of the sessions with transcripts, on disk or known.
    pub told: &'a HashSet<String>,
    /// Returns the time from which the transcripts of a directory may hold a prompt that names no session.
    /// `None`: any time.
    pub told_since: &'a dyn Fn(&str) -> Option<UtcMillis>,
}

/// Returns the units of a list that does not exist or did not change. In that case transcripts need not be
/// searched.
pub(super) fn unchanged(path: &Path, known: &dyn Known) -> Option<Vec<Unit>> {
    let Some(closing) = closing(path) else { return Some(Vec::new()) };
    let is_known = closing.name().and_then(|name| known.stamp(&name)) == Some(closing.stamp);
    is_known.then(|| vec![closing])
}

/// Returns the unit that closes a list.
fn closing(path: &Path) -> Option<Unit> {
    Some(Unit { closes_file: true, ..Unit::records(path.to_path_buf())? })
}

/// Returns the sessions of a list that have no transcript, and the unit that closes the list.
pub(super) fn units(path: &Path, known: &dyn Known, list: &List<'_>) -> Vec<Unit> {
    let Some(closing) = closing(path) else { return Vec::new() };
    // The closing unit reports a list that cannot be read.
    let sessions = sessions(path, list.prompt_of).unwrap_or_default();
    let now = known.now();
    let is_untold = |(id, prompts): &(&String, &Vec<Prompt>)| {
        let last = prompts.last().map_or(now, |prompt| prompt.at);
        if last.saturating_add(SETTLED_MS) > now {
            return false;
        }
        match prompts.first() {
            Some(Prompt { session: None, directory, .. }) => {
                (list.told_since)(directory.as_deref().unwrap_or("")).is_some_and(|since| last < since)
            }
            _ => !list.told.contains(*id),
        }
    };
    let mut units: Vec<Unit> = sessions
        .iter()
        .filter(is_untold)
        .map(|(id, prompts)| {
            let parts = prompts.iter().flat_map(|prompt| [prompt.text.as_bytes().to_vec(), prompt.at.to_le_bytes().to_vec()]);
            let parts: Vec<Vec<u8>> = parts.collect();
            Unit {
                part: Some(id.clone()),
                framing: Framing::Records,
                stamp: Stamp {
                    size: prompts.iter().map(|prompt| prompt.text.len() as u64).sum(),
                    version: shapes::hash_of(parts.iter().map(Vec::as_slice)),
                },
                began: prompts.first().map(|prompt| format_utc(prompt.at)),
                closes_file: false,
                ..closing.clone()
            }
        })
        .collect();
    units.push(closing);
    units
}

/// Outputs the prompts of one session of a list. The line's members for session and directory get the given
/// names.
pub(super) fn records(
    unit: &Unit,
    prompt_of: fn(&Value) -> Option<Prompt>,
    names: (&str, &str),
    take: &mut dyn FnMut(Value) -> bool,
) -> io::Result<()> {
    let sessions = sessions(&unit.path, prompt_of)?;
    // The unit that closes the list has no records; it only had to be read.
    let Some(session) = &unit.part else { return Ok(()) };
    for (at, prompt) in sessions.get(session).into_iter().flatten().enumerate() {
        let mut record = Map::new();
        record.insert("type".to_owned(), "typed".into());
        record.insert(names.0.to_owned(), session.as_str().into());
        record.insert("session".to_owned(), session.as_str().into());
        if let Some(directory) = &prompt.directory {
            record.insert(names.1.to_owned(), directory.as_str().into());
            record.insert("directory".to_owned(), directory.as_str().into());
        }
        record.insert("id".to_owned(), format!("typed/{}/{at}", prompt.at).into());
        record.insert("at".to_owned(), prompt.at.into());
        record.insert("text".to_owned(), prompt.text.as_str().into());
        if !take(Value::Object(record)) {
            break;
        }
    }
    Ok(())
}

/// Returns the prompts of a list by session, in order of time.
fn sessions(path: &Path, prompt_of: fn(&Value) -> Option<Prompt>) -> io::Result<BTreeMap<String, Vec<Prompt>>> {
    let file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let mut lines = Lines::new(file, 0, size, MAX_LINE_BYTES)?;
    let mut sessions: BTreeMap<String, Vec<Prompt>> = BTreeMap::new();
    let mut values = Vec::new();
    while let Some(line) = lines.next_line()? {
        if matches!(line, Line::TooLong { .. }) || parse_line(lines.bytes(), &mut values).is_err() {
            continue;
        }
        for prompt in values.drain(..).filter_map(|value| prompt_of(&value)).filter(|prompt| is_words(&prompt.text)) {
            let id = prompt.session.clone().unwrap_or_else(|| {
                // One session per day and directory, if nothing else distinguishes sessions.
                let day = format_day(prompt.at);
                format!("typed/{}/{day}", prompt.directory.as_deref().unwrap_or(""))
            });
            sessions.entry(id).or_default().push(prompt);
        }
    }
    for prompts in sessions.values_mut() {
        prompts.sort_by_key(|prompt| prompt.at);
    }
    Ok(sessions)
}

/// Returns whether a prompt is more than a command to the program or to a shell.
fn is_words(text: &str) -> bool {
    let text = text.trim();
    let is_command = text.starts_with('!') || text.starts_with('/') && !text.contains(char::is_whitespace);
    !text.is_empty() && !is_command
}

/// Converts prompts to turns.
pub(super) struct TypedReader {
    pub kind: &'static str,
    pub options: ReaderOptions,
}

impl EpisodeReader for TypedReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let (Some("typed"), Some(session), Some(id)) =
                (text_of(value, "type"), text_of(value, "session"), text_of(value, "id"))
            else {
                out.push(Reading::Skip("unknown-type", short(text_of(value, "type").unwrap_or(""))));
                continue;
            };
            let directory = text_of(value, "directory").map(str::to_owned);
            let episode = Arc::new(Episode { cwd: directory, ..shapes::episode(self.kind, session) });
            let time = shapes::time_of(&value["at"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
            let mut message = Message::new(id.to_owned(), Role::Human, time);
            message.say(text_of(value, "text").unwrap_or(""));
            message.turns(self.kind, &episode, self.options.tool_bytes, line.mark.line, out);
        }
    }
}
