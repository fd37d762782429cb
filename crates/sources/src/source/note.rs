//! Notes that a person asks to remember, as a source. They are given by a caller, not found: there is no file except the archive.
//! A note is one message, word for word; a text in sections uses the records of [`document`].
//!
//! ```json
//! {"note": {"id": "...", "by": "agent", "kind": "context", "text": "...", "title": "...", "tags": ["..."],
//!           "priority": "important", "confirmed": false, "session": "...", "metadata": {}, "directory": "...", "at": 0}}
//! ```
//!
//! Each record is a version of the note; `at` distinguishes the versions. An older yore wrote no `kind`, and
//! kept kind, priority and the unconfirmed state as tags. Without `by` a person wrote the text. A note by an
//! agent is an assistant's turn, so that its readers see how far to trust it.

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
/// Name of the message in every note; a note has only one.
pub const MESSAGE: &str = "text";
/// Maximum size of a note in bytes. A longer text is a file, and is read as one.
pub const MAX_BYTES: usize = 1 << 20;
/// Maximum size of a stored text in bytes; longer texts are cut. Redaction may have made the text longer than
/// it was given.
const MAX_TEXT_BYTES: usize = 4 * MAX_BYTES;
/// Value of `by` if no person wrote the note.
const AGENT: &str = "agent";

/// The source for notes; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Notes;

/// A note to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'n> {
    /// Its id, drawn once. Giving it again replaces the note.
    pub id: &'n str,
    /// The text of the note.
    pub text: &'n str,
    /// Facts about the note besides its text.
    pub facts: &'n NoteFacts,
    /// Directory whose project it belongs to; `None` if it belongs to none.
    pub directory: Option<&'n str>,
    /// True if an agent wrote it.
    pub is_by_agent: bool,
    /// Time at which it was written.
    pub at: UtcMillis,
}

/// Returns a new id, made of a time in milliseconds since 1970 and random bytes.
///
/// # Errors
/// When the system provides no random bytes.
pub fn draw_note_id(at: UtcMillis) -> io::Result<String> {
    let mut random = [0u8; 10];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(uuid::Builder::from_unix_timestamp_millis(at.max(0) as u64, &random).into_uuid().to_string())
}

/// Returns the name of a note's unit.
pub fn note_unit(id: &str) -> String {
    format!("{KIND}:{id}")
}

/// Returns the id of a note's episode.
pub fn note_episode(id: &str) -> EpisodeId {
    EpisodeId::derive(KIND, id)
}

/// Returns the id of the turn with a note's text.
pub fn note_turn(id: &str) -> TurnId {
    TurnId::derive(KIND, id, MESSAGE, 0)
}

/// Returns the records of a note.
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

/// Returns the facts in a note's record besides its text.
pub fn note_facts(note: &Value) -> NoteFacts {
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
        remote: None,
        client_version: None,
    });
    let facts = note_facts(note);
    let is_by_agent = note["by"] == AGENT;
    // Title and tags make the note searchable, but are not part of its text.
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
            caveat: None,
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
