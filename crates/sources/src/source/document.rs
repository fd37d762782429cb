//! Records of a document and their reader: first the facts about the whole document, then a record for each section. All sources
//! of documents use them.
//!
//! ```json
//! {"document": {"id": "...", "title": "...", "path": "...", "url": "...", "directory": "...", "language": "...",
//!               "modified_ms": 0, "lines": [[1, 7], [8, 20]]}}
//! {"section": {"document": "...", "key": "...", "heading": ["..."], "text": "...", "language": "..."}}
//! ```
//!
//! The first record holds the position of each section, so that an edit leaves the records of all other
//! sections unchanged: they are archived once and their turns stay.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, EpisodeKind, FileAction, FileUse, Role, Title, TitleRank, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::{EpisodeReader, LineOwner, ReadTurn, Reading, SourceLine};
use crate::document::Document;

/// Separator between the displayed parts of a heading.
pub(super) const HEADING_SEPARATOR: &str = " › ";

/// Facts about a document besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentFacts {
    /// Its id in its source, which stays the same while the text changes.
    pub id: String,
    /// A title that is more reliable than the one in the text.
    pub title: Option<String>,
    /// Directory that decides which project it belongs to and whether it may be kept.
    pub directory: Option<String>,
    /// Path below the directory.
    pub path: Option<String>,
    /// Its URL.
    pub url: Option<String>,
    /// Time of its last change.
    pub modified_ms: Option<UtcMillis>,
}

impl DocumentFacts {
    fn header(&self) -> Map<String, Value> {
        let Self { id, title, directory, path, url, modified_ms } = self;
        let mut header = Map::new();
        header.insert("id".to_owned(), json!(id));
        for (key, value) in [("title", title), ("path", path), ("url", url), ("directory", directory)] {
            if let Some(value) = value {
                header.insert(key.to_owned(), json!(value));
            }
        }
        if let Some(modified) = modified_ms {
            header.insert("modified_ms".to_owned(), json!(modified));
        }
        header
    }
}

/// Returns the records of a document, in order.
pub fn document_records(facts: &DocumentFacts, document: &Document) -> Vec<Value> {
    let mut header = facts.header();
    if let (None, Some(title)) = (&facts.title, &document.title) {
        header.insert("title".to_owned(), json!(title));
    }
    if let Some(language) = &document.language {
        header.insert("language".to_owned(), json!(language));
    }
    let lines: Vec<[u64; 2]> = document.sections.iter().map(|section| [section.line, section.end_line]).collect();
    header.insert("lines".to_owned(), json!(lines));
    let mut records = vec![json!({"document": header})];
    for section in &document.sections {
        let mut record = Map::new();
        record.insert("document".to_owned(), json!(facts.id));
        record.insert("key".to_owned(), json!(section.key));
        if !section.heading.is_empty() {
            record.insert("heading".to_owned(), json!(section.heading));
        }
        record.insert("text".to_owned(), json!(section.text));
        if let Some(language) = &section.language {
            record.insert("language".to_owned(), json!(language));
        }
        records.push(json!({"section": record}));
    }
    records
}

/// Returns the single record of a document that has no text to keep: a stable reason, and a detail to count.
pub fn skipped_record(facts: &DocumentFacts, reason: &str, detail: &str) -> Value {
    let mut header = facts.header();
    header.insert("skipped".to_owned(), json!({"reason": reason, "detail": detail}));
    json!({"document": header})
}

/// Returns the document that a record belongs to. A section is not a message of its own: its key has no
/// meaning in another document.
pub(super) fn owner(value: &Value) -> LineOwner<'_> {
    let header = &value["document"];
    let session = header["id"].as_str().or_else(|| value["section"]["document"].as_str());
    LineOwner { session: session.map(Into::into), directory: header["directory"].as_str(), ..LineOwner::default() }
}

/// Reasons for skipping documents that [`skipped_record`] may be given.
const REASONS: [&str; 9] = [
    "unknown-agent",
    "binary-file",
    "file-too-large",
    "minified-file",
    "generated-file",
    "lock-file",
    "empty-file",
    "pdf-without-extractor",
    "pdf-not-readable",
];

/// Reads the records of one document.
pub(super) struct DocumentReader {
    kind: &'static str,
    open: Option<OpenDocument>,
}

struct OpenDocument {
    episode: Arc<Episode>,
    title: Option<String>,
    path: Option<String>,
    url: Option<String>,
    time: RecordedTime,
    /// First lines of the following sections.
    lines: VecDeque<u64>,
    is_titled: bool,
}

impl DocumentReader {
    /// Creates a reader for documents of the source `kind`.
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, open: None }
    }

    fn begin(&mut self, header: &Value, out: &mut Vec<Reading>) {
        self.open = None;
        if let Some(skipped) = header["skipped"].as_object() {
            let text = |key: &str| skipped.get(key).and_then(Value::as_str).unwrap_or_default();
            let reason = REASONS.into_iter().find(|reason| *reason == text("reason")).unwrap_or("document-skipped");
            out.push(Reading::Skip(reason, text("detail").to_owned()));
            return;
        }
        let Some(id) = header["id"].as_str().filter(|id| !id.is_empty()) else {
            out.push(Reading::Skip("document-without-id", String::new()));
            return;
        };
        let text = |key: &str| header[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let modified = header["modified_ms"].as_i64();
        let first_line = |pair: &Value| pair[0].as_u64().unwrap_or(1).max(1);
        self.open = Some(OpenDocument {
            episode: Arc::new(Episode {
                id: EpisodeId::derive(self.kind, id),
                agent: self.kind.to_owned(),
                native_id: id.to_owned(),
                kind: EpisodeKind::Document,
                parent_native_id: None,
                project: None,
                cwd: text("directory"),
                remote: None,
                client_version: None,
            }),
            title: text("title"),
            path: text("path"),
            url: text("url"),
            time: modified.map_or(RecordedTime::UNKNOWN, |at| RecordedTime::from_millis(at, TimeQuality::Derived)),
            lines: header["lines"].as_array().map(|lines| lines.iter().map(first_line).collect()).unwrap_or_default(),
            is_titled: false,
        });
    }

    fn section(&mut self, section: &Value, out: &mut Vec<Reading>) {
        let Some(open) = &mut self.open else {
            out.push(Reading::Skip("section-without-document", String::new()));
            return;
        };
        let line = open.lines.pop_front().unwrap_or(1);
        let (Some(key), Some(text)) = (section["key"].as_str(), section["text"].as_str()) else {
            out.push(Reading::Skip("section-without-text", String::new()));
            return;
        };
        let heading: Vec<&str> = section["heading"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        out.push(Reading::Turn(Box::new(ReadTurn {
            turn: Turn {
                id: TurnId::derive(self.kind, &open.episode.native_id, key, 0),
                native_id: key.to_owned(),
                role: Role::Assistant,
                speaker: None,
                caveat: None,
                text: words(open, &heading, text),
                tool_text: String::new(),
                is_error: false,
                time: open.time.clone(),
                cwd: None,
                branch: None,
                model: None,
                parts: 1,
                tools: Vec::new(),
                files: open.path.iter().map(|path| FileUse { path: path.clone(), action: FileAction::Mentioned }).collect(),
            },
            episode: Arc::clone(&open.episode),
            line,
        })));
        if !std::mem::replace(&mut open.is_titled, true) {
            let name = open.title.as_ref().or(open.path.as_ref()).or(open.url.as_ref());
            if let Some(name) = name {
                let text = name.split_whitespace().collect::<Vec<_>>().join(" ");
                let title = Title { text, rank: TitleRank::Custom, at: None, line: 1 };
                out.push(Reading::Title(Arc::clone(&open.episode), title));
            }
            if let Some(url) = &open.url {
                out.push(Reading::Link(Arc::clone(&open.episode), "url", url.clone()));
            }
        }
    }
}

/// Returns the text of a section, after the name of the document and the section's headings.
fn words(open: &OpenDocument, heading: &[&str], text: &str) -> String {
    // Files are named by their paths, pages by their titles.
    let name = open.path.as_deref().or(open.title.as_deref()).unwrap_or_default();
    let mut parts: Vec<&str> = vec![name];
    parts.extend(heading);
    parts.retain(|part| !part.trim().is_empty());
    parts.dedup();
    let mut words = parts.join(HEADING_SEPARATOR);
    if !words.is_empty() {
        words.push_str("\n\n");
    }
    words.push_str(text);
    words
}

impl EpisodeReader for DocumentReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            if value["document"].is_object() {
                self.begin(&value["document"], out);
            } else if value["section"].is_object() {
                self.section(&value["section"], out);
            } else {
                out.push(Reading::Skip("no-document", String::new()));
            }
        }
    }
}
