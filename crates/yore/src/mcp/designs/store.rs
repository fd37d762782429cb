//! `store_chunk`, `lock_context` and `note`: store a memory, a context or a note.
//!
//! `note` requires the person's agreement; what it is given is a memory if it is one short line. `lock_context` and `store_chunk` have no such parameter in their
//! designs, and are only served if the person switched the names on. So what they keep is marked as an agent's
//! (a memory as extracted, never as curated), is never a standing instruction, replaces nothing but a context of
//! the same project, applies only in the project that the agent works in, and is not injected.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use yore_core::memory::{Confidence, Lane, MAX_STATEMENT_CHARS, MemoryKind, Source, SourceKind};
use yore_core::note::{NoteKind, Priority};
use yore_core::operation::{Actor, Cause};
use yore_core::scope::ScopeChoice;
use yore_core::text;
use yore_engine::{Context, NewMemory, NoteSummary, NotesRequest, OpenConflict, RELATED_TAG, STANDING};
use yore_sources::project_names::names_of;

use crate::engine_handle::Outcome;
use crate::error::CliResult;
use crate::fence::name;
use crate::mcp::access::Access;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, needed, one_of, parse, usage};
use crate::mcp::tools::remember::{MAX_CHARS, Note, Place, bare, confirmed_by_person, is_tag, store, store_memory};
use crate::mcp::tools::{Call, Effect, described, notes};
use crate::results::{ConflictRecord, LockedContext, StoredChunk};

const CHUNK_TYPES: [&str; 6] = ["research", "insight", "decision", "resource", "attempt", "user_input"];
const CONFIDENCES: [&str; 3] = ["verified", "inferred", "speculative"];
const SOURCES: [&str; 4] = ["research", "user", "deduction", "experiment"];
/// Maximum number of characters of the statement of a text that is too long for one, and of a preview.
const LONG_CHARS: usize = 500;
/// Names of priorities, highest first.
pub(super) const PRIORITIES: [&str; 3] =
    [Priority::AlwaysCheck.as_str(), Priority::Important.as_str(), Priority::Reference.as_str()];
/// Labels that are shown with tags but are not tags.
const RESERVED: [&str; 2] = [NoteKind::Context.as_str(), "unconfirmed"];

/// Returns the tags that may be chosen: without those that change the kind of a note. The person was not
/// asked, so no tag may make it a standing instruction.
fn chosen(tags: Vec<String>) -> Vec<String> {
    let is_reserved = |tag: &String| {
        let bare = bare(tag);
        is_tag(tag, STANDING)
            || RESERVED.contains(&bare.as_str())
            || bare.starts_with("priority:")
            || bare.starts_with(RELATED_TAG)
    };
    tags.into_iter().filter(|tag| !is_reserved(tag)).collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteArguments {
    /// Text to note, word for word
    content: String,
    /// The person saw these words and agreed
    confirmed: bool,
}

pub(super) fn note_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Note something for all later sessions, only when the person asked for it or agreed to the words.";
    described::<NoteArguments>(name, "Note", description, Effect::Adds)
}

pub(super) async fn note(call: Call) -> CliResult<Answer> {
    let mut arguments = call.arguments;
    // An agent that leaves it out has not asked.
    arguments.entry("confirmed").or_insert(json!(false));
    let NoteArguments { content, confirmed } = parse(arguments)?;
    let text = needed("content", &content)?;
    confirmed_by_person(confirmed)?;
    if let Some(kind) = MemoryKind::of_short_text(&text) {
        let mut new = NewMemory::new(kind, text);
        new.memory.source.session = call.access.asking();
        new.here = call.access.here.clone();
        return store_memory(&call.access, new, "note").await;
    }
    let note = Note {
        text,
        title: None,
        tags: Vec::new(),
        kind: None,
        priority: None,
        is_unconfirmed: false,
        replaces: None,
        related: None,
        place: Place::Here,
    };
    store(&call.access, note).await.map(|stored| stored.told())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Lock {
    /// The context, whole
    content: String,
    /// Its name; the context of this project that has this name already is replaced
    topic: String,
    /// Comma-separated words to find it by
    tags: Option<String>,
    /// How much it matters; as before, or reference, unless given
    #[schemars(extend("enum" = PRIORITIES))]
    priority: Option<String>,
    /// Comma-separated topics that it is related to
    related: Option<String>,
}

pub(super) fn lock_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Keep a context under a topic, in this project (outside of one, wherever it is asked for). Kept at once, as an agent's words: nobody asks the person. \
                       Only what the person wants kept. Preview and key concepts are made from it.";
    described::<Lock>(name, "Lock a context", description, Effect::Replaces)
}

pub(super) async fn lock(call: Call) -> CliResult<Answer> {
    let Lock { content, topic, tags, priority, related } = parse(call.arguments)?;
    let (words, topic) = (needed("content", &content)?, needed("topic", &topic)?);
    let priority = one_of("priority", priority, &PRIORITIES, Priority::parse)?;
    let known = locked_here(&call.access, &topic).await?;
    // Arguments that are not given keep their former values.
    let mut own: Vec<String> = match given(tags) {
        Some(tags) => chosen(listed(Some(tags))),
        None => known.iter().flat_map(|(known, _)| known.tags.clone()).collect(),
    };
    let related = match (given(related), &known) {
        (Some(related), _) => Some(listed(Some(related))),
        // A new context has none; tags of an older yore become relations.
        (None, None) => Some(Vec::new()),
        (None, Some((known, has_related_tags))) => has_related_tags.then(|| known.related.clone()),
    };
    let key_concepts = text::key_concepts(&words, &own);
    let replaces = known.map(|(known, _)| known.id.to_string());
    let is_new = replaces.is_none();
    let short = text::preview(&words, LONG_CHARS);
    // An empty tag stands for no tags; an empty list would keep the former ones.
    own.extend(own.is_empty().then(String::new));
    let note = Note {
        text: words,
        title: Some(topic.clone()),
        tags: own,
        kind: Some(NoteKind::Context),
        priority,
        is_unconfirmed: true,
        replaces,
        related,
        place: Place::OnlyHere(None),
    };
    let stored = store(&call.access, note).await?;
    let what = match (stored.was_known(), is_new) {
        (true, _) => "was locked already, with these words",
        (_, true) => "is locked",
        _ => "is locked, in the place of its earlier words",
    };
    let told =
        format!("The context {} {what}. recall_context loads it, get_context_preview shows what it is about.", name(&topic));
    let replaced = !is_new && !stored.was_known();
    Ok(Answer::new(told, LockedContext { topic, id: stored.id(), preview: short, key_concepts, replaced }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Chunk {
    /// The project's name or id
    project_id: String,
    /// Text to store
    content: String,
    /// Kind of knowledge
    #[serde(rename = "type")]
    #[schemars(extend("enum" = CHUNK_TYPES))]
    kind: Option<String>,
    /// Words to find it by
    tags: Option<Vec<String>>,
    /// Confidence
    #[schemars(extend("enum" = CONFIDENCES))]
    confidence: Option<String>,
    /// Origin
    #[schemars(extend("enum" = SOURCES))]
    source: Option<String>,
    /// Ids of related chunks or contexts
    related_to: Option<Vec<String>>,
}

pub(super) fn chunk_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Store a piece of knowledge in a project. Kept at once, as an agent's words: nobody asks the person. Only what the \
         person wants kept. A conflict with what holds is told: show it to the person, who settles it.";
    described::<Chunk>(name, "Store a chunk", description, Effect::Adds)
}

pub(super) async fn chunk(call: Call) -> CliResult<Answer> {
    let Chunk { project_id, content, kind, tags, confidence, source, related_to } = parse(call.arguments)?;
    let (project, text) = (needed("project_id", &project_id)?, needed("content", &content)?);
    if text.chars().count() > MAX_CHARS {
        return Err(usage(format!("a chunk has at most {MAX_CHARS} characters; save a longer text as a file")));
    }
    let kind = one_of("type", kind, &CHUNK_TYPES, MemoryKind::parse)?;
    let mut new = NewMemory::new(kind.unwrap_or(MemoryKind::Insight), text.clone());
    if text.chars().nth(MAX_STATEMENT_CHARS).is_some() {
        // A long text is kept whole, as the details of a statement that is its beginning.
        new.memory.statement = text::preview(&text, LONG_CHARS);
        new.memory.details = Some(text);
    }
    new.memory.tags = chosen(tags.unwrap_or_default());
    new.memory.lane = Lane::Extracted;
    new.memory.confidence = one_of("confidence", confidence, &CONFIDENCES, Confidence::parse)?.unwrap_or_default();
    new.memory.source = Source {
        kind: one_of("source", source, &SOURCES, SourceKind::parse)?.unwrap_or(SourceKind::Agent),
        session: call.access.asking(),
        ..Source::default()
    };
    new.related = related_to.unwrap_or_default().into_iter().filter_map(|id| given(Some(id))).collect();
    let cause = Cause { actor: Actor::Agent, by: "store_chunk".to_owned(), input: new.memory.source.session.clone() };
    let (access, handle) = (Arc::clone(&call.access), call.access.handle.clone());
    let (done, outcome) = handle
        .storing(move |memory| {
            new.here = access.own_directory(memory, Some(project))?.map(|directory| names_of(&directory));
            let done = memory.add_memory(new, cause)?;
            Ok((done, memory.outcome_of(done.memory)?))
        })
        .await?;
    let Outcome { replaced, conflicts, .. } = outcome;
    let suggested = conflicts.iter().map(OpenConflict::resolution).max();
    let answer = StoredChunk {
        status: if conflicts.is_empty() { "stored" } else { "conflict_detected" }.to_owned(),
        id: done.memory.to_string(),
        was_known: done.operation.is_none(),
        operation: done.operation,
        conflicts_checked: true,
        conflicts: conflicts.iter().map(ConflictRecord::from).collect(),
        suggested_resolution: suggested.map(|resolution| resolution.as_str().to_owned()),
        replaced: replaced.iter().map(|stored| stored.memory.id.to_string()).collect(),
    };
    let answer = Answer::new("", answer);
    // The design answers with JSON as text.
    Ok(Answer { text: answer.data.to_string(), ..answer })
}

/// Returns the context with this topic in the place where a new one would belong: in this project, or in no
/// project outside of one, and whether an older yore named its related topics by tags. Other contexts that can be recalled here do
/// not count.
async fn locked_here(access: &Arc<Access>, topic: &str) -> CliResult<Option<(Context, bool)>> {
    let request = NotesRequest {
        scope: ScopeChoice::CurrentOnly,
        kind: Some(NoteKind::Context),
        title: Some(topic.to_owned()),
        ..notes::everything_here(access)
    };
    let (access, handle) = (Arc::clone(access), access.handle.clone());
    let known = handle
        .storing(move |memory| {
            let is_of_project = access.directory_of_note(memory, None)?.is_some();
            let mut known = memory.notes(request)?;
            known.retain(|note| note.project.is_some() == is_of_project);
            Ok(known)
        })
        .await?;
    let has_related_tags = |note: &NoteSummary| note.facts.tags.iter().any(|tag| tag.starts_with(RELATED_TAG));
    Ok(known
        .into_iter()
        .next()
        .map(|note| (has_related_tags(&note), note))
        .map(|(has_tags, note)| (Context::from(note), has_tags)))
}

/// Splits text at commas, without blanks and empty parts.
fn listed(words: Option<String>) -> Vec<String> {
    words.iter().flat_map(|words| words.split(',')).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
