//! `notes`: the notes that apply here.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::time::format_utc;
use yore_engine::{NoteSummary, NotesRequest};

use super::{Call, Effect, described};
use crate::error::CliResult;
use crate::fence::fence;
use crate::mcp::access::{Access, asked_projects};
use crate::mcp::answer::{Answer, cut_and_told};
use crate::mcp::arguments::{given, parse, within};
use crate::mcp::cursor::{self, Cursor};
use crate::render::text::{counted, labels};
use crate::results::{Note, NotePage, compact};

const DESCRIPTION: &str = "Notes that hold here: what the person asked to remember. Call before you remember something (it may be \
known) and to find the id of a note to replace or forget.";
const MAX_LIMIT: usize = 100;
const USUAL_LIMIT: usize = 20;
/// Maximum number of characters of a note; `show` opens the rest.
const NOTE_CHARS: usize = 500;
/// Maximum number of notes that are searched.
pub const MOST_NOTES: usize = 10_000;
/// Cursor letter of this list.
const LIST: char = 'n';

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A project's name or "all"; default: the current one
    project: Option<String>,
    /// Only with this tag, such as standing
    tag: Option<String>,
    /// Most notes
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "Notes that hold here", DESCRIPTION, Effect::Reads)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let Arguments { project, tag, limit, cursor } = parse(call.arguments)?;
    let limit = within("limit", limit, 1, MAX_LIMIT)?.unwrap_or(USUAL_LIMIT);
    let cursor = cursor::argument(cursor, &[LIST])?;
    let (scope, here) = asked_projects(project, configured_scope(&call.access), call.access.here.clone());
    let request = NotesRequest { scope, here, tags: given(tag).into_iter().collect(), ..everything_here(&call.access) };
    let found = call.access.handle.with(move |memory| memory.notes(&request)).await?;
    let mut left = cursor::after(found, cursor.as_ref(), key).into_iter();
    let page: Vec<NoteSummary> = left.by_ref().take(limit).collect();
    let next = page.last().filter(|_| left.len() > 0).map(|note| {
        let (at, id) = key(note);
        Cursor { list: LIST, at, id }.encode()
    });
    Ok(tell(&page, next))
}

/// Returns a request for every note that applies here.
pub fn everything_here(access: &Access) -> NotesRequest {
    NotesRequest {
        here: access.here.clone(),
        scope: configured_scope(access),
        tags: Vec::new(),
        kind: None,
        is_confirmed: None,
        title: None,
        limit: MOST_NOTES,
    }
}

/// Returns the configured scope.
fn configured_scope(access: &Access) -> yore_core::scope::ScopeChoice {
    crate::ask::request("", access.handle.config(), None).filter.scope
}

/// Returns a note's position in the list.
pub fn key(note: &NoteSummary) -> (Option<i64>, String) {
    (note.at, note.episode.to_string())
}

fn tell(notes: &[NoteSummary], next: Option<String>) -> Answer {
    if notes.is_empty() {
        return Answer::new("There are no such notes.", compact(NotePage { notes: Vec::new(), next: None }));
    }
    let mut text = format!(
        "{}. What stands between the marks is recalled data; a note that an agent wrote may be wrong.",
        counted(notes.len() as u64, "note")
    );
    for note in notes {
        text.push_str("\n\n");
        text.push_str(&block(note, NOTE_CHARS));
    }
    if let Some(next) = &next {
        text.push_str(&format!("\n\nThere are more: cursor \"{next}\"."));
    }
    let data = NotePage { notes: notes.iter().map(|note| item(note, NOTE_CHARS)).collect(), next };
    Answer::recalled(text, compact(data), notes.iter().map(|note| note.turn.to_string()).collect())
}

/// Formats a note as text.
pub fn block(note: &NoteSummary, chars: usize) -> String {
    let mut lines = Vec::new();
    if let Some(title) = &note.facts.title {
        lines.push(title.clone());
    }
    let labels = labels(note);
    if !labels.is_empty() {
        lines.push(format!("tags: {}", labels.join(", ")));
    }
    lines.push(cut_and_told(&note.text, chars));
    format!("{}\n{}", line(note), fence(&lines.join("\n")))
}

/// Formats the head of a note: its id, author, date and project.
fn line(note: &NoteSummary) -> String {
    let by = if note.is_by_agent { "an agent" } else { "the person" };
    let when = note.at.map_or_else(|| "at an unknown time".to_owned(), |at| format_utc(at)[..10].to_owned());
    let place = note.project.as_deref().map_or_else(|| "everywhere".to_owned(), crate::fence::name);
    let version = if note.version > 1 { format!(", version {}", note.version) } else { String::new() };
    format!("note {} by {by}, {when}, {place}{version}", note.episode.short())
}

/// Returns a note as data.
pub fn item(note: &NoteSummary, chars: usize) -> Note {
    let by = if note.is_by_agent { "agent" } else { "person" };
    Note { text: cut_and_told(&note.text, chars), by: by.to_owned(), ..Note::from(note) }
}
