//! Notes: what a person asks to remember. They are given, not found: there is no file but the
//! archive. A note is one message, word for word; whoever gives a text in sections uses the records
//! of [`document`].
//!
//! ```json
//! {"note": {"id": "...", "by": "agent", "kind": "context", "text": "...", "title": "...", "tags": ["..."],
//!           "priority": "important", "confirmed": false, "session": "...", "metadata": {}, "directory": "...", "at": 0}}
//! ```
//!
//! Each record is a version of the note; `at` tells versions apart. An older yore wrote no `kind`, and kept kind,
//! priority and what nobody confirmed as tags. Without `by` the words are a person's. What an agent wrote is an assistant's turn, so that whoever
//! is given it sees how far to trust it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, EpisodeKind, Role, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::note::{NO_METADATA, NoteFacts, NoteKind, Priority};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::document::{self, DocumentReader};
use super::{EpisodeReader, Known, LineOwner, Nature, ReadTurn, ReaderOptions, Reading, Source, SourceLine, Unit};

/// The kind of this source.
pub const KIND: &str = "note";
/// A note is one message, so this is its name in every note.
pub(crate) const MESSAGE: &str = "text";
/// Bytes of the longest note. A longer text is a file, and is read as one.
pub const MAX_BYTES: usize = 1 << 20;
/// Longer texts are cut: what is redacted may have become longer than it was given.
const MAX_TEXT_BYTES: usize = 4 * MAX_BYTES;
/// Who wrote it, if no person did.
const AGENT: &str = "agent";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Notes;

/// What somebody asks to remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'n> {
    /// Its id: drawn once, given again to replace it.
    pub id: &'n str,
    /// The words.
    pub text: &'n str,
    /// What is known of it beside the words.
    pub facts: &'n NoteFacts,
    /// The directory whose project it belongs to; `None`: to none.
    pub directory: Option<&'n str>,
    /// Whether an agent wrote it.
    pub is_by_agent: bool,
    /// When it was written.
    pub at: UtcMillis,
}

/// A new id: of a time in milliseconds since 1970, and random.
///
/// # Errors
/// When the system has no randomness.
pub fn draw_note_id(at: UtcMillis) -> io::Result<String> {
    let mut random = [0u8; 10];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(uuid::Builder::from_unix_timestamp_millis(at.max(0) as u64, &random).into_uuid().to_string())
}

/// The name of a note's unit.
pub fn note_unit(id: &str) -> String {
    format!("{KIND}:{id}")
}

/// The episode that a note becomes.
pub fn note_episode(id: &str) -> EpisodeId {
    EpisodeId::derive(KIND, id)
}

/// The turn of its words.
pub fn note_turn(id: &str) -> TurnId {
    TurnId::derive(KIND, id, MESSAGE, 0)
}

/// The records of a note.
pub fn note_records(note: &Note<'_>) -> Vec<Value> {
    let Note { id, text, facts, directory, is_by_agent, at } = note;
    let NoteFacts { kind, title, tags, priority, is_confirmed, session, metadata } = facts;
    let mut record = Map::new();
    record.insert("id".to_owned(), json!(id));
    if *is_by_agent {
        record.insert("by".to_owned(), json!(AGENT));
    }
    record.insert("kind".to_owned(), json!(kind));
    let directory = directory.map(str::to_owned);
    let priority = priority.map(|priority| priority.as_str().to_owned());
    for (key, value) in [("title", title), ("directory", &directory), ("priority", &priority), ("session", session)] {
        if let Some(value) = value {
            record.insert(key.to_owned(), json!(value));
        }
    }
    if !tags.is_empty() {
        record.insert("tags".to_owned(), json!(tags));
    }
    if !is_confirmed {
        record.insert("confirmed".to_owned(), json!(false));
    }
    if let Some(metadata) = serde_json::from_str::<Map<String, Value>>(metadata).ok().filter(|metadata| !metadata.is_empty()) {
        record.insert("metadata".to_owned(), Value::Object(metadata));
    }
    record.insert("at".to_owned(), json!(at));
    record.insert("text".to_owned(), json!(text));
    vec![json!({"note": record})]
}

impl Source for Notes {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Notes"
    }

    fn nature(&self) -> Nature {
        Nature::Document
    }

    fn discover(&self, _root: &Path, _known: &dyn Known) -> Vec<Unit> {
        Vec::new()
    }

    fn reader(&self, _unit: &Path, _state: &str, _options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(NoteReader { documents: DocumentReader::new(KIND) })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        let note = &value["note"];
        if !note.is_object() {
            return document::owner(value);
        }
        LineOwner { session: note["id"].as_str().map(Into::into), directory: note["directory"].as_str(), ..LineOwner::default() }
    }
}

struct NoteReader {
    documents: DocumentReader,
}

impl EpisodeReader for NoteReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        match line.values {
            [value] if value["note"].is_object() => read_note(&value["note"], line.mark.line, out),
            _ => self.documents.read(line, out),
        }
    }
}

/// What a record says of a note beside its words.
pub(crate) fn note_facts(note: &Value) -> NoteFacts {
    let string = |key: &str| note[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let tags: Vec<String> = note["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let title = string("title").map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
    match note["kind"].as_str().and_then(NoteKind::parse) {
        Some(kind) => NoteFacts {
            kind,
            title,
            tags,
            priority: string("priority").as_deref().and_then(Priority::parse),
            is_confirmed: note["confirmed"] != false,
            session: string("session"),
            metadata: note["metadata"].as_object().map_or_else(|| NO_METADATA.to_owned(), |_| note["metadata"].to_string()),
        },
        None => NoteFacts::of_tags(&tags, title.as_deref(), note["by"] == AGENT),
    }
}

fn read_note(note: &Value, line: u64, out: &mut Vec<Reading>) {
    let (Some(id), Some(text)) = (note["id"].as_str().filter(|id| !id.is_empty()), note["text"].as_str()) else {
        out.push(Reading::Skip("no-note", String::new()));
        return;
    };
    let string = |key: &str| note[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let episode = Arc::new(Episode {
        id: note_episode(id),
        agent: KIND.to_owned(),
        native_id: id.to_owned(),
        kind: EpisodeKind::Document,
        parent_native_id: None,
        project: None,
        cwd: string("directory"),
        client_version: None,
    });
    let facts = note_facts(note);
    let is_by_agent = note["by"] == AGENT;
    // Found by them, but they are not what was said.
    let tags = note["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).map(|tag| format!("#{tag}"));
    let mut found_by: Vec<String> = string("title").into_iter().chain(tags).collect();
    if note["kind"].is_string() {
        found_by.extend((facts.kind != NoteKind::Note).then(|| format!("#{}", facts.kind.as_str())));
        found_by.extend(facts.priority.map(|priority| format!("#priority:{}", priority.as_str())));
    }
    out.push(Reading::Note(note_turn(id), Box::new(facts)));
    let end = text.floor_char_boundary(MAX_TEXT_BYTES.min(text.len()));
    out.push(Reading::Turn(Box::new(ReadTurn {
        turn: Turn {
            id: note_turn(id),
            native_id: MESSAGE.to_owned(),
            role: if is_by_agent { Role::Assistant } else { Role::Human },
            speaker: None,
            text: text[..end].to_owned(),
            tool_text: found_by.join("\n"),
            is_error: false,
            time: note["at"].as_i64().map_or(RecordedTime::UNKNOWN, |at| RecordedTime::from_millis(at, TimeQuality::Exact)),
            cwd: None,
            branch: None,
            model: None,
            parts: 1,
            tools: Vec::new(),
            files: Vec::new(),
        },
        episode: Arc::clone(&episode),
        line,
    })));
}
