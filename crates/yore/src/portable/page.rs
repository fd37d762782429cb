//! Writes and reads memories, notes and entities as Markdown pages with front matter. What a person changes there comes back by
//! operations.
//!
//! ```markdown
//! ---
//! yore: memory
//! id: 01a213197c...
//! kind: decision
//! tags: [storage]
//! ---
//! Leases live in SQLite.
//!
//! ## Details
//!
//! Redis lost heartbeats.
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::conflict::StatedValue;
use yore_core::entity::Entity;
use yore_core::memory::{Confidence, Fields, Lane, MemoryKind, SourceKind, Status};
use yore_core::note::{NoteKind, Priority};
use yore_core::relation::{Node, RelationType};
use yore_core::time::{UtcMillis, format_utc};
use yore_engine::{MemoryEdit, NewMemory, NoteSummary, OpenedMemory, StoredMemory};

use super::front;
use crate::recall_request;
use crate::results::node_id;

/// The line between a statement and its details.
const DETAILS: &str = "## Details";
/// Words and characters of a name of a file.
const NAME_WORDS: usize = 7;
const NAME_CHARS: usize = 60;

/// A page that was read.
#[derive(Debug, PartialEq)]
pub enum Page {
    /// A memory.
    Memory(Box<MemoryPage>),
    /// A note or a context.
    Note(NotePage),
    /// An entity.
    Entity(EntityPage),
}

/// Front matter of a memory. What comes after `fields` is for readers alone.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct MemoryFront {
    yore: String,
    /// Id; none: a new memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    /// Name of the project; none: it holds everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entities: Vec<String>,
    confidence: Option<String>,
    importance: Option<f32>,
    #[serde(skip_serializing_if = "is_false")]
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asserts: Option<StatedValue>,
    #[serde(skip_serializing_if = "Value::is_null")]
    fields: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
    /// When it was changed last before it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Quote>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relations: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Quote {
    turn: String,
    quote: String,
}

/// A memory as a page says it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPage {
    /// Front matter.
    pub front: MemoryFront,
    statement: String,
    details: Option<String>,
}

/// Front matter of a note.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct NoteFront {
    yore: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// False if no person agreed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// A note as a page says it.
#[derive(Clone, Debug, PartialEq)]
pub struct NotePage {
    /// Id; none: a new note.
    pub id: Option<String>,
    /// Name of its project.
    pub project: Option<String>,
    /// Its kind.
    pub kind: NoteKind,
    /// Title.
    pub title: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Priority.
    pub priority: Option<Priority>,
    /// True if an agent wrote it.
    pub is_by_agent: bool,
    /// True if no person agreed to it.
    pub is_unconfirmed: bool,
    /// Number of the version that was written.
    pub version: Option<u64>,
    /// Text.
    pub text: String,
}

impl NotePage {
    /// Returns whether the page says what a note says already.
    pub fn says(&self, known: &NoteSummary) -> bool {
        let facts = &known.facts;
        let is_same =
            facts.kind == self.kind && facts.title == self.title && facts.tags == self.tags && facts.priority == self.priority;
        let text = |text: &str| text.trim_start_matches(['\r', '\n']).trim_end().to_owned();
        is_same && text(&known.text) == text(&self.text)
    }
}

/// An entity as a page says it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EntityPage {
    yore: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relations: Vec<String>,
    /// Description: the text below the front matter.
    #[serde(skip)]
    pub description: Option<String>,
}

/// The changes that a page makes in a memory.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    /// Words and properties.
    pub edit: MemoryEdit,
    /// True to put it away, false to take it out.
    pub archived: Option<bool>,
    /// True if the page says that it was wrong.
    pub is_wrong: bool,
    /// True to pin it, false to unpin it.
    pub pinned: Option<bool>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Returns whether a text is a page of yore.
pub fn is_one(text: &str) -> bool {
    // Front matter that a slip broke is still that of a page.
    front::split(text).0.is_some_and(|front| front.lines().any(|line| line.starts_with("yore:")))
}

/// Returns the name of the file of a page: the first words of a text, and an id.
pub fn file_name(words: &str, id: &str) -> String {
    let slug = slug(words);
    if slug.is_empty() { format!("{id}.md") } else { format!("{slug}-{id}.md") }
}

/// Returns the first words of a text as the name of a file, in lower case with dashes; empty if it has none.
pub fn slug(words: &str) -> String {
    let parts = words.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty()).take(NAME_WORDS);
    let joined = parts.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    joined.chars().take(NAME_CHARS).collect::<String>().trim_end_matches('-').to_owned()
}

/// Returns the page of a memory.
pub fn of_memory(opened: &OpenedMemory) -> String {
    let memory = &opened.stored.memory;
    let about = opened.relations.iter().filter(|relation| relation.name == RelationType::About.as_str());
    let entities = about.clone().filter_map(|relation| relation.label.clone()).collect();
    let others = opened.relations.iter().filter(|relation| relation.name != RelationType::About.as_str());
    let front = MemoryFront {
        yore: "memory".to_owned(),
        id: Some(memory.id.to_string()),
        kind: Some(memory.kind.as_str().to_owned()),
        status: Some(memory.status.as_str().to_owned()),
        project: opened.stored.project.clone(),
        title: memory.title.clone(),
        tags: memory.tags.clone(),
        entities,
        confidence: Some(memory.confidence.as_str().to_owned()),
        importance: Some(memory.importance),
        pinned: memory.is_pinned,
        valid_from: memory.valid_from.map(format_utc),
        asserts: memory.asserts.clone(),
        valid_until: memory.valid_until.map(format_utc),
        fields: fields_of(&memory.fields),
        lane: Some(memory.lane.as_str().to_owned()),
        source: Some(memory.source.place.clone().unwrap_or_else(|| memory.source.kind.as_str().to_owned())),
        recorded: Some(format_utc(memory.recorded)),
        changed: Some(format_utc(memory.changed)),
        evidence: memory
            .evidence
            .iter()
            .map(|evidence| Quote { turn: evidence.turn.to_string(), quote: evidence.quote.clone() })
            .collect(),
        relations: others.map(|relation| told(&relation.name, &relation.node, relation.label.as_deref())).collect(),
    };
    page(&front, &body_of(&memory.statement, memory.details.as_deref()))
}

/// Returns the page of a note or a context.
pub fn of_note(note: &NoteSummary) -> String {
    let front = NoteFront {
        yore: note.facts.kind.as_str().to_owned(),
        id: Some(note.episode.to_string()),
        project: note.project.clone(),
        title: note.facts.title.clone(),
        tags: note.facts.tags.clone(),
        priority: note.facts.priority.map(|priority| priority.as_str().to_owned()),
        related: note.related.clone(),
        by: Some(if note.is_by_agent { "agent" } else { "person" }.to_owned()),
        confirmed: (!note.facts.is_confirmed).then_some(false),
        version: Some(note.version),
        at: note.at.map(format_utc),
    };
    page(&front, &note.text)
}

/// Returns the page of an entity. `relations`: what it is related to, as lines.
pub fn of_entity(entity: &Entity, relations: Vec<String>) -> String {
    let front = EntityPage {
        yore: "entity".to_owned(),
        id: Some(entity.id.to_string()),
        kind: entity.given_kind.clone().unwrap_or_else(|| entity.kind.as_str().to_owned()),
        name: entity.name.clone(),
        aliases: entity.aliases.clone(),
        relations,
        description: None,
    };
    page(&front, entity.description.as_deref().unwrap_or_default())
}

/// Returns a relation as a line: its name, the kind and id of the other end, and what that says.
pub fn told(name: &str, node: &Node, label: Option<&str>) -> String {
    let label = label.map(|label| format!(": {label}")).unwrap_or_default();
    format!("{} {} {}{label}", name, node.kind(), node_id(node))
}

/// Writes a page whose front matter is read back as it was given.
pub(crate) fn page<F: Serialize + DeserializeOwned + PartialEq>(front: &F, body: &str) -> String {
    let with = |written: &str| format!("---\n{}\n---\n{body}\n", written.trim_end_matches('\n'));
    let is_same = |page: &String| {
        let (written, rest) = front::split(page);
        rest.len() == body.len() + 1 && written.is_some_and(|written| front::read::<F>(written).is_ok_and(|read| read == *front))
    };
    let readable = serde_saphyr::to_string(front).ok().map(|written| with(&written)).filter(is_same);
    // Odd texts, such as those with control characters, do not survive the readable form.
    readable.unwrap_or_else(|| with(&quoted(front)))
}

/// Writes front matter with each value as JSON, which is YAML as well, and odd characters as escapes.
fn quoted<F: Serialize>(front: &F) -> String {
    let entries = serde_json::to_value(front).unwrap_or_default();
    let mut written = String::new();
    for (name, value) in entries.as_object().into_iter().flatten() {
        written.push_str(name);
        written.push_str(": ");
        for letter in value.to_string().chars() {
            match u32::from(letter) {
                code if letter == '\u{7f}' || !letter.is_ascii() && !letter.is_alphanumeric() => {
                    written.push_str(&if code > 0xffff { format!("\\U{code:08x}") } else { format!("\\u{code:04x}") });
                }
                _ => written.push(letter),
            }
        }
        written.push('\n');
    }
    written
}

/// Reads a page.
///
/// # Errors
/// A description of the fault, in one line.
pub fn read(text: &str) -> Result<Page, String> {
    let (front, body) = front::split(text);
    let front = front.ok_or("it has no front matter")?;
    let body = body.strip_prefix('\n').unwrap_or(body);
    let body = body.strip_suffix('\n').map_or(body, |body| body.strip_suffix('\r').unwrap_or(body));
    let which = front::read::<Value>(front)?["yore"].as_str().unwrap_or_default().to_owned();
    match which.as_str() {
        "memory" => {
            let front: MemoryFront = front::read(front)?;
            let (statement, details) = said_in(body);
            let page = MemoryPage { front, statement, details };
            page.checked().map(Box::new).map(Page::Memory)
        }
        "entity" => {
            let entity: EntityPage = front::read(front)?;
            let description = Some(body.trim().to_owned()).filter(|text| !text.is_empty());
            Ok(Page::Entity(EntityPage { description, ..entity }))
        }
        kind => {
            let kind =
                NoteKind::parse(kind).ok_or_else(|| format!("yore is {kind:?}, expected memory, note, context or entity"))?;
            let NoteFront { id, project, title, tags, priority, version, by, confirmed, .. } = front::read(front)?;
            let priority = match priority {
                Some(name) => Some(named("priority", &name, Priority::parse, Priority::ALL.iter().map(|known| known.as_str()))?),
                None => None,
            };
            let (is_by_agent, is_unconfirmed) = (by.as_deref() == Some("agent"), confirmed == Some(false));
            let text = body.to_owned();
            Ok(Page::Note(NotePage { id, project, kind, title, tags, priority, is_by_agent, is_unconfirmed, version, text }))
        }
    }
}

/// Returns the text below the front matter of a memory.
pub(crate) fn body_of(statement: &str, details: Option<&str>) -> String {
    let statement = escaped(statement.trim());
    match details {
        Some(details) => format!("{statement}\n\n{DETAILS}\n\n{details}"),
        None => statement,
    }
}

/// Returns the statement and the details of the text below the front matter of a memory.
pub(crate) fn said_in(body: &str) -> (String, Option<String>) {
    let (statement, details) = parts(body);
    (unescaped(statement.trim()), details)
}

/// Splits the text of a memory at the heading of its details.
fn parts(body: &str) -> (&str, Option<String>) {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.trim_end() == DETAILS {
            let details = body[at + line.len()..].trim().to_owned();
            return (&body[..at], Some(details).filter(|details| !details.is_empty()));
        }
        at += line.len();
    }
    (body, None)
}

/// Returns whether a line is the heading of details, perhaps after backslashes.
fn is_details_after(line: &str) -> bool {
    line.trim_start_matches('\\').trim_end() == DETAILS
}

/// A statement may have the line that separates details.
fn escaped(statement: &str) -> String {
    let lines = statement.split('\n').map(|line| if is_details_after(line) { format!("\\{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

fn unescaped(statement: &str) -> String {
    let lines = statement.split('\n').map(|line| match line.strip_prefix('\\') {
        Some(rest) if is_details_after(rest) => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads one of some names.
pub(crate) fn named<'n, T>(
    field: &str,
    name: &str,
    read: impl Fn(&str) -> Option<T>,
    names: impl Iterator<Item = &'n str>,
) -> Result<T, String> {
    read(name.trim()).ok_or_else(|| format!("{field} is {name:?}, expected one of {}", names.collect::<Vec<_>>().join(", ")))
}

/// Returns fields as front matter has them, without the name of their kind; null if there are none.
pub(crate) fn fields_of(fields: &Fields) -> Value {
    let mut fields = serde_json::to_value(fields).unwrap_or_default();
    fields.as_object_mut().and_then(|fields| fields.remove("of"));
    if fields.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { fields }
}

/// Reads the fields of a kind; `None` if none are given.
///
/// # Errors
/// The kind has no such field, or its value is of another type.
pub(crate) fn fields_in(kind: MemoryKind, given: &Value) -> Result<Option<Fields>, String> {
    let Value::Object(given) = given else { return Ok(None) };
    let mut given = given.clone();
    given.insert("of".to_owned(), Value::from(Fields::name_of(kind)));
    serde_json::from_value(Value::Object(given)).map(Some).map_err(|error| format!("fields: {error}"))
}

impl MemoryPage {
    /// Checks the names and times of the front matter.
    fn checked(self) -> Result<Self, String> {
        self.kind()?;
        self.status()?;
        self.confidence()?;
        self.time("valid_from", self.front.valid_from.as_deref())?;
        self.time("valid_until", self.front.valid_until.as_deref())?;
        fields_in(self.kind()?.unwrap_or_default(), &self.front.fields)?;
        if self.statement.is_empty() { Err("it has no statement".to_owned()) } else { Ok(self) }
    }

    fn kind(&self) -> Result<Option<MemoryKind>, String> {
        let names = || MemoryKind::ALL.iter().map(|known| known.as_str());
        self.front.kind.as_deref().map(|name| named("kind", name, MemoryKind::parse, names())).transpose()
    }

    fn status(&self) -> Result<Option<Status>, String> {
        let names = || Status::ALL.iter().map(|known| known.as_str());
        self.front.status.as_deref().map(|name| named("status", name, Status::parse, names())).transpose()
    }

    fn confidence(&self) -> Result<Option<Confidence>, String> {
        let names = || Confidence::ALL.iter().map(|known| known.as_str());
        self.front.confidence.as_deref().map(|name| named("confidence", name, Confidence::parse, names())).transpose()
    }

    fn time(&self, field: &str, words: Option<&str>) -> Result<Option<UtcMillis>, String> {
        words.map(|words| recall_request::time(words).map_err(|expected| format!("{field} is {words:?}, {expected}"))).transpose()
    }

    /// Returns the time of the last change before the page was written.
    pub fn changed(&self) -> Option<UtcMillis> {
        self.front.changed.as_deref().and_then(|words| recall_request::time(words).ok())
    }

    /// Returns the page as a new memory.
    pub fn as_new(&self) -> Result<NewMemory, String> {
        let kind = self.kind()?.unwrap_or_default();
        let mut new = NewMemory::new(kind, self.statement.clone());
        let memory = &mut new.memory;
        memory.title.clone_from(&self.front.title);
        memory.details.clone_from(&self.details);
        memory.tags.clone_from(&self.front.tags);
        memory.fields = fields_in(kind, &self.front.fields)?.unwrap_or_default();
        memory.confidence = self.confidence()?.unwrap_or(Confidence::Verified);
        memory.importance = self.front.importance.unwrap_or(memory.importance);
        memory.is_pinned = self.front.pinned;
        memory.asserts.clone_from(&self.front.asserts);
        memory.valid_from = self.time("valid_from", self.front.valid_from.as_deref())?;
        memory.valid_until = self.time("valid_until", self.front.valid_until.as_deref())?;
        memory.status = self.status()?.filter(|status| *status == Status::Archived).unwrap_or_default();
        // A page that no program wrote is a person's.
        if self.front.lane.as_deref() == Some(Lane::Extracted.as_str()) {
            memory.lane = Lane::Extracted;
        }
        memory.source.kind = SourceKind::Import;
        memory.source.place = self.front.source.clone().filter(|place| SourceKind::parse(place).is_none());
        if let Some(kind) = self.front.source.as_deref().and_then(SourceKind::parse) {
            memory.source.kind = kind;
        }
        new.entities.clone_from(&self.front.entities);
        Ok(new)
    }

    /// Returns what the page says differently from a memory. An entry that the page has not leaves that as it is,
    /// except title, details, tags and entities, which are then none.
    pub fn changes(&self, stored: &StoredMemory, entities: &[String]) -> Result<Changes, String> {
        let memory = &stored.memory;
        let kind = self.kind()?.filter(|kind| *kind != memory.kind);
        let text = |given: &Option<String>, known: &Option<String>| {
            let given = given.as_deref().map(str::trim).filter(|given| !given.is_empty());
            let known = known.as_deref().map(str::trim).filter(|known| !known.is_empty());
            (given != known).then(|| given.unwrap_or_default().to_owned())
        };
        let time = |field, words: &Option<String>, known: Option<UtcMillis>| {
            self.time(field, words.as_deref()).map(|given| given.filter(|given| known != Some(*given)))
        };
        let sorted = |names: &[String]| {
            let mut names: Vec<String> =
                names.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
            names.sort();
            names.dedup();
            names
        };
        let (tags, known_tags) = (sorted(&self.front.tags), sorted(&memory.tags));
        let fields = fields_in(kind.unwrap_or(memory.kind), &self.front.fields)?.filter(|fields| *fields != memory.fields);
        let edit = MemoryEdit {
            statement: (self.statement != memory.statement.trim()).then(|| self.statement.clone()),
            title: text(&self.front.title, &memory.title),
            details: text(&self.details, &memory.details),
            kind,
            fields,
            tags: (tags != known_tags).then_some(tags),
            importance: self.front.importance.filter(|given| (given - memory.importance).abs() > f32::EPSILON),
            confidence: self.confidence()?.filter(|given| *given != memory.confidence),
            valid_from: time("valid_from", &self.front.valid_from, memory.valid_from)?,
            valid_until: time("valid_until", &self.front.valid_until, memory.valid_until)?,
            entities: (sorted(&self.front.entities) != sorted(entities)).then(|| sorted(&self.front.entities)),
            asserts: None,
            is_global: false,
        };
        let status = self.status()?.filter(|status| *status != memory.status);
        let archived = match (memory.status, status) {
            (_, None) | (_, Some(Status::Invalidated)) => None,
            (Status::Holds | Status::Contested | Status::Proposed, Some(Status::Archived)) => Some(true),
            (Status::Archived, Some(Status::Holds)) => Some(false),
            (known, Some(given)) => {
                return Err(format!("status cannot become {} from {}", given.as_str(), known.as_str()));
            }
        };
        let is_wrong = status == Some(Status::Invalidated);
        let pinned = Some(self.front.pinned).filter(|pinned| *pinned != memory.is_pinned);
        Ok(Changes { edit, archived, is_wrong, pinned })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use yore_core::conflict::Aspect;
    use yore_core::entity::EntityKind;
    use yore_core::id::{EntityId, EpisodeId, MemoryId, TurnId};
    use yore_core::memory::{Evidence, Memory, Source};
    use yore_core::note::NoteFacts;
    use yore_engine::{MemoryUse, NamedRelation};

    use super::*;
    use crate::portable::fields_test::fields;

    /// Pieces of texts that YAML, Markdown or these pages could take for something else.
    const PIECES: [&str; 42] = [
        "Leases",
        "yes",
        "null",
        "~",
        "1.50",
        "0x1f",
        "2026-01-01",
        ": ",
        " #",
        "---",
        "...",
        "\n",
        "\r\n",
        "\t",
        "## Details",
        "\\",
        "\"",
        "'",
        "- ",
        "[x]",
        "{",
        "}",
        "|",
        ">",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{7f}",
        "\u{1b}",
        "\u{202e}",
        "ü",
        "🚢",
        " ",
        "%",
        "@",
        "&a",
        "*a",
        "!!str",
        "? ",
        ",",
        "`",
        "\n---\n",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..7).prop_map(|pieces| pieces.concat())
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec(text(), 0..3)
    }

    fn maybe() -> impl Strategy<Value = Option<String>> {
        prop::option::of(text())
    }

    fn time() -> impl Strategy<Value = UtcMillis> {
        0..253_402_300_799_999_i64
    }

    fn memory() -> impl Strategy<Value = Memory> {
        let kinds = prop::sample::select(MemoryKind::ALL.to_vec());
        let words = (text(), maybe(), maybe(), texts(), texts(), maybe());
        let numbers = (0.0_f32..=1.0, any::<bool>(), prop::option::of(time()), prop::option::of(time()), time());
        let states = (
            prop::sample::select(Status::ALL.to_vec()),
            prop::sample::select(Confidence::ALL.to_vec()),
            prop::sample::select(Lane::ALL.to_vec()),
            prop::sample::select(SourceKind::ALL.to_vec()),
        );
        let fields = kinds.prop_flat_map(|kind| (Just(kind), fields(kind, || text().boxed())));
        (fields, words, numbers, states).prop_map(|((kind, fields), words, numbers, states)| {
            let (statement, title, details, tags, quotes, place) = words;
            let (importance, is_pinned, valid_from, valid_until, recorded) = numbers;
            let (status, confidence, lane, source) = states;
            let evidence = quotes.into_iter().map(|quote| Evidence { turn: TurnId::from_bytes([3; 16]), quote });
            let asserts = title.clone().map(|subject| StatedValue { value: subject.clone(), subject, aspect: Aspect::default() });
            let new = Memory::new(MemoryId::new(1, [7; 10]), kind, format!("x{statement}"), recorded);
            Memory {
                fields,
                title,
                details,
                tags,
                importance,
                is_pinned,
                valid_from,
                valid_until,
                status,
                confidence,
                lane,
                source: Source { kind: source, place, ..Source::default() },
                evidence: evidence.collect(),
                asserts,
                ..new
            }
            .normalised()
        })
    }

    fn opened(memory: Memory, project: Option<String>, entities: &[String]) -> OpenedMemory {
        let about = |name: &String| NamedRelation {
            name: RelationType::About.as_str().to_owned(),
            node: Node::Entity(EntityId::new(1, [1; 10])),
            label: Some(name.clone()),
            weight: 1.0,
            reason: None,
        };
        OpenedMemory {
            stored: StoredMemory {
                memory,
                project,
                uses: MemoryUse::default(),
                standing: yore_core::memory::dynamics::Standing::default(),
                relations: Vec::new(),
            },
            relations: entities.iter().map(about).collect(),
            operations: Vec::new(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn page_of_a_memory_that_nobody_touched_changes_no_field_of_it(
            memory in memory(), project in maybe(), entities in texts()
        ) {
            let opened = opened(memory, project, &entities);
            let page = of_memory(&opened);
            let Page::Memory(read) = read(&page).map_err(|error| TestCaseError::fail(format!("{error}\n{page}")))? else {
                return Err(TestCaseError::fail(page));
            };
            let changes = read.changes(&opened.stored, &entities);
            prop_assert_eq!(changes, Ok(Changes::default()), "{}", page);
            let new = read.as_new().map_err(TestCaseError::fail)?.memory;
            let memory = &opened.stored.memory;
            let is_told = memory.fields != Fields::None && fields_of(&memory.fields) != Value::Null;
            prop_assert!(!is_told || new.fields == memory.fields, "{:?} {}", new.fields, page);
            prop_assert_eq!(
                (new.kind, new.is_pinned, new.valid_from, new.valid_until, &new.asserts, new.confidence, new.lane),
                (memory.kind, memory.is_pinned, memory.valid_from, memory.valid_until, &memory.asserts, memory.confidence, memory.lane)
            );
        }

        #[test]
        fn page_of_a_note_that_nobody_touched_says_what_the_note_says(
            title in maybe(), tags in texts(), text in text(), project in maybe(), is_confirmed in any::<bool>(),
            kind in prop::sample::select(NoteKind::ALL.to_vec()),
            priority in prop::option::of(prop::sample::select(Priority::ALL.to_vec()))
        ) {
            let facts = NoteFacts { kind, title, tags, priority, is_confirmed, ..NoteFacts::default() };
            let note = NoteSummary {
                episode: EpisodeId::from_bytes([1; 16]),
                turn: TurnId::from_bytes([2; 16]),
                facts,
                project,
                at: Some(5),
                is_by_agent: false,
                version: 2,
                until: None,
                accessed: None,
                access_count: 0,
                text,
                related: Vec::new(),
            };
            let page = of_note(&note);
            let Ok(Page::Note(read)) = read(&page) else { return Err(TestCaseError::fail(page)) };
            prop_assert!(read.says(&note), "{}", page);
            prop_assert_eq!((&read.project, read.is_unconfirmed), (&note.project, !is_confirmed));
        }

        #[test]
        fn page_of_an_entity_that_nobody_touched_says_what_the_entity_says(
            name in text(), aliases in texts(), description in maybe(), given_kind in maybe()
        ) {
            let new = Entity::new(EntityId::new(1, [1; 10]), EntityKind::Tool, name, 5);
            let entity = Entity { aliases, description, given_kind, ..new }.normalised();
            let page = of_entity(&entity, vec!["uses entity x: y".to_owned()]);
            let Ok(Page::Entity(read)) = read(&page) else { return Err(TestCaseError::fail(page)) };
            let described = entity.description.as_deref().map(str::trim).filter(|text| !text.is_empty());
            prop_assert_eq!(
                (&read.name, &read.aliases, read.description.as_deref()),
                (&entity.name, &entity.aliases, described)
            );
            prop_assert_eq!(&read.kind, entity.given_kind.as_deref().unwrap_or(entity.kind.as_str()));
        }
    }
}
