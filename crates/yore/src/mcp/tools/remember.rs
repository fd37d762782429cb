//! `remember`: records a statement that the person wants to keep as a memory, and stores a longer text as a note.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use yore_core::conflict::{Aspect, StatedValue, Touch};
use yore_core::id::EpisodeId;
use yore_core::memory::MemoryKind;
use yore_core::note::{NoteKind, Priority};
use yore_core::operation::{Actor, Cause};
use yore_engine::{GivenEvidence, NewMemory, RememberRequest, STANDING};

use super::{Call, Effect, MEMORY_KINDS, described};
use crate::error::{CliError, CliResult, Exit};
use crate::fence::{clean, fence};
use crate::mcp::access::Access;
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, needed, one_of, parse, time, usage};
use crate::render::{self, text::counted};
use crate::results;

const DESCRIPTION: &str = "Keep one thing for later sessions, understandable without this one: a line is a memory, which names what it \
touches, a longer or titled text a note. Only if the person agrees to the words.";
/// Names of aspects.
const ASPECTS: [&str; 7] = ["value", "version", "place", "owner", "choice", "status", "rule"];
/// Asks for a decision on what the memory touches.
const DECIDE: &str = "\nIf it changes one of these, or says the same, call again with the same text and `replaces` or `same`; if both hold, with `beside`.";
/// Maximum number of characters: a longer text is a document.
pub const MAX_CHARS: usize = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Its words
    text: String,
    /// The person agreed to these words
    confirmed: bool,
    /// Title
    title: Option<String>,
    /// Tags
    tags: Option<Vec<String>>,
    /// Given to every session here
    standing: Option<bool>,
    /// In every project
    global: Option<bool>,
    /// Its project, by name or directory
    project: Option<String>,
    /// Id of what it replaces
    replaces: Option<String>,
    /// Kind of memory
    #[schemars(extend("enum" = MEMORY_KINDS))]
    kind: Option<String>,
    /// Names in it
    entities: Option<Vec<String>>,
    /// Ids of turns that say so
    evidence: Option<Vec<String>>,
    /// Ids of memories that hold too
    beside: Option<Vec<String>>,
    /// Id of one that says the same
    same: Option<String>,
    /// A thing with one value
    subject: Option<String>,
    /// value, version, place, owner, choice, status or rule
    aspect: Option<String>,
    /// The subject's value
    value: Option<String>,
    /// True from
    valid_from: Option<String>,
    /// True until
    valid_until: Option<String>,
}

impl Arguments {
    /// Returns whether the text is a note by what is given with it.
    fn is_note(&self) -> bool {
        let is_tagged = self.tags.iter().flatten().any(|tag| is_tag(tag, STANDING));
        self.standing.is_some() || is_tagged || given(self.title.clone()).is_some() && !self.says_more_of_statement()
    }

    /// Returns whether anything is given that only a memory has.
    fn says_more_of_statement(&self) -> bool {
        let lists = [&self.entities, &self.evidence, &self.beside];
        let texts = [&self.same, &self.value, &self.valid_from, &self.valid_until];
        lists.into_iter().flatten().any(|list| !list.is_empty()) || texts.into_iter().any(Option::is_some)
    }
}

pub fn tool(name: &'static str) -> Result<Tool, String> {
    described::<Arguments>(name, "Remember", DESCRIPTION, Effect::Replaces)
}

pub async fn call(call: Call) -> CliResult<Answer> {
    let mut arguments = call.arguments;
    // An agent that leaves it out has not asked.
    arguments.entry("confirmed").or_insert(json!(false));
    let arguments: Arguments = parse(arguments)?;
    confirmed_by_person(arguments.confirmed)?;
    if let Some(kind) = one_of("kind", arguments.kind.clone(), &MEMORY_KINDS, MemoryKind::parse)? {
        return record(&call.access, kind, arguments).await;
    }
    let text = needed("text", &arguments.text)?;
    if !arguments.is_note() {
        let (words, replaces) = (text.clone(), given(arguments.replaces.clone()));
        let kind = call.access.handle.storing(move |memory| memory.kind_of_text(&words, replaces.as_deref())).await?;
        if let Some(kind) = kind.or_else(|| arguments.says_more_of_statement().then(|| MemoryKind::of_statement(&text))) {
            return record(&call.access, kind, arguments).await;
        }
    }
    let Arguments { title, tags, standing, global, project, replaces, .. } = arguments;
    let mut tags = tags.unwrap_or_default();
    let is_tagged = tags.iter().any(|tag| is_tag(tag, STANDING));
    tags.retain(|tag| !is_tag(tag, STANDING) && !is_tag(tag, NoteKind::Context.as_str()));
    let note = Note {
        text,
        title: given(title),
        tags,
        // Only `lock_context` creates contexts, which may be replaced without asking.
        kind: match standing {
            Some(true) => Some(NoteKind::Standing),
            None if is_tagged => Some(NoteKind::Standing),
            Some(false) => Some(NoteKind::Note),
            None => None,
        },
        priority: None,
        is_unconfirmed: false,
        replaces: given(replaces),
        related: None,
        place: match given(project) {
            _ if global == Some(true) => Place::Everywhere,
            Some(project) => Place::Project(project),
            None => Place::Here,
        },
    };
    store(&call.access, note).await.map(|stored| stored.told())
}

/// Records a memory.
async fn record(access: &Access, kind: MemoryKind, arguments: Arguments) -> CliResult<Answer> {
    let mut new = NewMemory::new(kind, needed("text", &arguments.text)?);
    new.memory.title = given(arguments.title);
    new.memory.tags = arguments.tags.unwrap_or_default();
    new.memory.valid_from = time("valid_from", arguments.valid_from)?;
    new.memory.valid_until = time("valid_until", arguments.valid_until)?;
    new.memory.source.session = access.asking();
    new.entities = arguments.entities.unwrap_or_default();
    new.evidence = arguments.evidence.unwrap_or_default().into_iter().map(|turn| GivenEvidence { turn, quote: None }).collect();
    new.replaces = given(arguments.replaces);
    new.beside = arguments.beside.unwrap_or_default();
    new.same = given(arguments.same);
    let aspect = one_of("aspect", arguments.aspect, &ASPECTS, Aspect::parse)?;
    new.memory.asserts = given(arguments.subject).zip(given(arguments.value)).map(|(subject, value)| StatedValue {
        subject,
        aspect: aspect.unwrap_or_default(),
        value,
    });
    if arguments.global != Some(true) {
        (new.project, new.here) = (given(arguments.project), access.here.clone());
    }
    store_memory(access, new, "remember").await
}

/// Records a memory whose words a person saw and agreed to.
pub async fn store_memory(access: &Access, new: NewMemory, tool: &str) -> CliResult<Answer> {
    let kind = new.memory.kind;
    // The agent writes it down.
    let cause = Cause { actor: Actor::Agent, by: tool.to_owned(), input: new.memory.source.session.clone() };
    let (done, outcome, redacted) = access
        .handle
        .storing(move |memory| {
            let words = new.memory.statement.clone();
            let done = memory.add_memory(new, cause)?;
            let stored = memory.memory(done.memory.to_string())?.memory.statement;
            Ok((done, memory.outcome_of(done.memory)?, render::memories::redacted(&words, &stored)))
        })
        .await?;
    let short = done.memory.short();
    let mut text = match done.operation {
        None => format!("This was known already: memory {short}."),
        Some(number) => format!("Remembered as {} {short}. `yore undo {number}` takes it back.", kind.as_str()),
    };
    if let Some(line) = redacted.filter(|_| done.operation.is_some()) {
        text.push_str(&format!(" {line}."));
    }
    if done.operation.is_some() {
        let lines: Vec<String> = render::memories::outcome(&outcome.replaced, &outcome.conflicts, &outcome.touches)
            .iter()
            .map(|line| clean(line))
            .collect();
        if !lines.is_empty() {
            text = format!("{text}\n{}", fence(&lines.join("\n")));
        }
        if outcome.touches.iter().any(|touched| touched.touch != Touch::Replaced) {
            text.push_str(DECIDE);
        }
    }
    Ok(Answer::new(text, results::Changed::with(done, &outcome.replaced, &outcome.conflicts, &outcome.touches)))
}

/// Refuses a note unless a person wants to keep it.
pub fn confirmed_by_person(confirmed: bool) -> CliResult<()> {
    if confirmed {
        return Ok(());
    }
    Err(CliError {
        exit: Exit::Usage,
        code: "not-confirmed".to_owned(),
        message: "nothing was stored: the person has not agreed".to_owned(),
        hint: Some("show the person the exact words and ask; if they agree, call again with confirmed true".to_owned()),
    })
}

/// Returns whether a tag equals this one after storage: without leading hashes, ignoring case.
pub fn is_tag(given: &str, tag: &str) -> bool {
    bare(given) == tag
}

/// Returns a tag in its stored form, in lower case.
pub fn bare(tag: &str) -> String {
    let tag = tag.trim_start_matches(|letter: char| letter == '#' || letter.is_whitespace());
    tag.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A note to store.
pub struct Note {
    /// Text of the note.
    pub text: String,
    /// Title of the note.
    pub title: Option<String>,
    /// Tags of the note.
    pub tags: Vec<String>,
    /// Kind of the note.
    pub kind: Option<NoteKind>,
    /// Priority of the note.
    pub priority: Option<Priority>,
    /// True if no person was asked.
    pub is_unconfirmed: bool,
    /// The note that it replaces.
    pub replaces: Option<String>,
    /// Topics that a context is related to; `None` leaves them as they are.
    pub related: Option<Vec<String>>,
    /// Where the note applies.
    pub place: Place,
}

/// The place where a note applies.
pub enum Place {
    /// In the current project, or everywhere if there is none.
    Here,
    /// In the current project only, because no person agreed to the note. If a project is named, it must be
    /// this one.
    OnlyHere(Option<String>),
    /// In the project with this name.
    Project(String),
    /// Everywhere.
    Everywhere,
}

/// The outcome of storing a note.
pub struct Stored {
    id: EpisodeId,
    turn: String,
    was_known: bool,
    redactions: u64,
    holds_everywhere: bool,
}

/// Stores a note.
pub async fn store(access: &Arc<Access>, note: Note) -> CliResult<Stored> {
    let Note { text, title, tags, kind, priority, is_unconfirmed, replaces, related, place } = note;
    if text.chars().count() > MAX_CHARS {
        return Err(usage(format!("a note has at most {MAX_CHARS} characters; save a longer text as a file")));
    }
    let access = Arc::clone(access);
    let handle = access.handle.clone();
    let session = access.asking();
    handle
        .storing(move |memory| {
            let directory = match place {
                Place::Everywhere => None,
                Place::Here => access.directory_of_note(memory, None)?,
                Place::OnlyHere(named) => access.own_directory(memory, named)?,
                Place::Project(name) => access.directory_of_note(memory, Some(name))?,
            };
            let holds_everywhere = directory.is_none() && replaces.is_none();
            let remembered = memory.remember(RememberRequest {
                replaces,
                text,
                title,
                tags,
                kind,
                priority,
                is_unconfirmed,
                session,
                metadata: None,
                directory,
                // Later readers must see that no person typed it.
                is_by_agent: true,
                related,
            })?;
            Ok(Stored {
                id: remembered.episode,
                turn: remembered.turn.to_string(),
                was_known: remembered.was_known,
                redactions: remembered.redactions,
                holds_everywhere,
            })
        })
        .await
}

impl Stored {
    /// Returns the id of the note.
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// Returns whether the note already existed.
    pub fn was_known(&self) -> bool {
        self.was_known
    }

    /// Returns the answer for the agent.
    pub fn told(&self) -> Answer {
        let Self { id, turn, was_known, redactions, holds_everywhere } = self;
        let short = id.short();
        let mut text = if *was_known {
            format!("This was a note already: {short}.")
        } else {
            let place = if *holds_everywhere { ", it holds everywhere" } else { "" };
            format!("Remembered as note {short}{place}. `forget` with this id takes it back.")
        };
        if *redactions > 0 {
            text.push_str(&format!(" {} redacted before storing.", counted(*redactions, "secret")));
        }
        let data = results::Remembered {
            id: self.id(),
            turn: turn.clone(),
            kind: None,
            facts: None,
            was_known: *was_known,
            redactions: *redactions,
        };
        Answer::new(text, data)
    }
}
