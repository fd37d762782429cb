//! Notes: what a person asks to remember. They are given, not found: there is no file but the
//! archive. A note is one message, word for word; whoever gives a text in sections uses the records
//! of [`document`].
//!
//! ```json
//! {"note": {"id": "...", "by": "agent", "text": "...", "title": "...", "tags": ["..."], "directory": "...", "at": 0}}
//! ```
//!
//! Without `by` the words are a person's. What an agent wrote is an assistant's turn, so that whoever
//! is given it sees how far to trust it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, EpisodeKind, Role, Title, TitleRank, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::document::{self, DocumentReader};
use super::{EpisodeReader, Known, LineMark, LineOwner, Nature, ReadTurn, ReaderOptions, Reading, Source, SourceLine, Unit};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note<'n> {
    /// Its id: drawn once, given again to replace it.
    pub id: &'n str,
    /// The words.
    pub text: &'n str,
    /// A title.
    pub title: Option<&'n str>,
    /// Words to find it by.
    pub tags: &'n [String],
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
    let Note { id, text, title, tags, directory, is_by_agent, at } = note;
    let mut record = Map::new();
    record.insert("id".to_owned(), json!(id));
    if *is_by_agent {
        record.insert("by".to_owned(), json!(AGENT));
    }
    for (key, value) in [("title", title), ("directory", directory)] {
        if let Some(value) = value {
            record.insert(key.to_owned(), json!(value));
        }
    }
    if !tags.is_empty() {
        record.insert("tags".to_owned(), json!(tags));
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

    fn finish(&mut self, _out: &mut Vec<Reading>) {}

    fn open_since(&self) -> Option<(LineMark, String)> {
        None
    }

    fn state(&self) -> String {
        String::new()
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
    let tags: Vec<&str> = note["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let end = text.floor_char_boundary(MAX_TEXT_BYTES.min(text.len()));
    out.push(Reading::Turn(Box::new(ReadTurn {
        turn: Turn {
            id: note_turn(id),
            native_id: MESSAGE.to_owned(),
            role: if note["by"] == AGENT { Role::Assistant } else { Role::Human },
            speaker: None,
            text: text[..end].to_owned(),
            // Found by them, but they are not what was said.
            tool_text: string("title").into_iter().chain(tags.iter().map(|tag| format!("#{tag}"))).collect::<Vec<_>>().join("\n"),
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
    if let Some(title) = string("title") {
        let text = title.split_whitespace().collect::<Vec<_>>().join(" ");
        out.push(Reading::Title(Arc::clone(&episode), Title { text, rank: TitleRank::Custom, at: None, line }));
    }
    for tag in tags {
        out.push(Reading::Link(Arc::clone(&episode), "tag", tag.to_owned()));
    }
}
