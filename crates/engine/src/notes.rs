//! Notes: what a person asks to remember, or an agent on their behalf. Curated words, kept as they
//! are, in the project they were given for or, without one, everywhere.
//!
//! - [`RememberRequest`], [`Remembered`]: a note that is given, or given anew in the place of another
//! - [`NotesRequest`], [`NoteSummary`]: the notes that hold where somebody asks
//!
//! A note is forgotten like a session ([`Engine::forget`]). It is a document of one message: a note
//! that is given anew keeps its id and its project. Its old words answer no more, except to a question
//! about what was known then; every version can be loaded ([`Engine::load_note`]). Whether words are known is asked, and what is new is stored, while nobody else may store or
//! forget; so two who give the same words at once, or one who tries again, leave one note.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::episode::Role;
use yore_core::id::{EpisodeId, TurnId};
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::EngineError;
use crate::ingest::source::note::{
    KIND, MAX_BYTES, Note, draw_note_id, note_episode, note_facts, note_records, note_turn, note_unit,
};
use crate::ingest::source::{Notes, Stamp};
use crate::ingest::{GivenDocument, IngestReport, IngestRequest, ProjectNames, names_of};
use crate::retrieve::{project_around, project_here, projects_named};
use crate::store::{StoreError, StoredNote};

/// The tag that makes a note a standing instruction, and finds those that are: another word for [`NoteKind::Standing`].
pub const STANDING: &str = "standing";
/// How long remembering waits for another process that writes the index; what is queued is searched
/// in memory.
const INDEX_PATIENCE_MS: u64 = 500;
/// Ids that fit an ambiguous beginning, as far as they are told.
const TOLD: usize = 9;

/// A note to remember.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RememberRequest {
    /// The note whose place it takes, by any id that [`Engine::note`] takes; `None`: a new one.
    pub replaces: Option<String>,
    /// The words.
    pub text: String,
    /// A title; lock_context calls it topic (S3-036). A note that is replaced keeps its own unless
    /// one is given, and loses it by an empty one.
    pub title: Option<String>,
    /// Words to find it by; [`STANDING`] makes it a standing instruction. A note that is replaced
    /// keeps its own unless some are given, and loses them by an empty one.
    pub tags: Vec<String>,
    /// What it is for; `None`: a note, or what the note that is replaced was for. Only an agent's words under a title are
    /// a context.
    pub kind: Option<NoteKind>,
    /// How much it matters. A note that is replaced keeps its own unless one is given.
    pub priority: Option<Priority>,
    /// Whether an agent keeps it without asking the person.
    pub is_unconfirmed: bool,
    /// The agent's own id of the session in which it is given.
    pub session: Option<String>,
    /// A JSON object of whatever else is kept with it. A note that is replaced keeps its own unless one is given.
    pub metadata: Option<String>,
    /// The directory whose project it belongs to; `None`: it holds everywhere. A note that is
    /// replaced stays where it belongs.
    pub directory: Option<String>,
    /// Whether an agent wrote it, not the person.
    pub is_by_agent: bool,
}

/// What became of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Remembered {
    /// Yore's id of the note.
    pub episode: EpisodeId,
    /// Of its words.
    pub turn: TurnId,
    /// Secrets that were redacted.
    pub redactions: u64,
    /// The same words were a note of this project already: nothing was stored. (If the words are
    /// known, but a tag is new, or the title of one that had none, or a person now says what an agent
    /// noted, the note that is known is given anew with both. Under another title they are another
    /// note.)
    pub was_known: bool,
}

/// Which notes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NotesRequest {
    /// The project that is asked from.
    pub here: Option<ProjectNames>,
    /// `Current` and `CurrentOnly`: this project's notes and those that hold everywhere;
    /// `Projects`: theirs only; `All`: all.
    pub scope: ScopeChoice,
    /// Only those with one of these tags; empty: any. [`STANDING`] means those of that kind too.
    pub tags: Vec<String>,
    /// Only of this kind.
    pub kind: Option<NoteKind>,
    /// Only those that a person gave or agreed to, or only others.
    pub is_confirmed: Option<bool>,
    /// Only those with this title, whatever the case of letters.
    pub title: Option<String>,
    /// At most so many, latest first.
    pub limit: usize,
}

/// A note.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NoteSummary {
    /// Yore's id of the note.
    pub episode: EpisodeId,
    /// Of its words.
    pub turn: TurnId,
    /// What is known of it beside the words, its title among it.
    #[serde(flatten)]
    pub facts: NoteFacts,
    /// Name of its project; `None`: it holds everywhere.
    pub project: Option<String>,
    /// When it was given, or last given anew.
    pub at: Option<UtcMillis>,
    /// Whether an agent wrote it.
    pub is_by_agent: bool,
    /// Which version this is, from 1. The newest, unless another one was asked for.
    pub version: u64,
    /// When the next version took its place; `None` for the newest.
    pub until: Option<UtcMillis>,
    /// When the whole note was loaded last.
    pub accessed: Option<UtcMillis>,
    /// How often it was.
    pub access_count: u64,
    /// The words.
    pub text: String,
}

/// Which version of a note.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum WhichVersion {
    /// The one that holds.
    #[default]
    Newest,
    /// By its number, from 1.
    Number(u64),
    /// The one that held just before this instant.
    AsOf(UtcMillis),
}

impl Engine {
    /// Stores a note, searchable at once.
    ///
    /// # Errors
    /// [`EngineError::BadNote`]; as [`Self::put_document`]; as [`Self::note`] for the note to replace.
    pub fn remember(&self, request: &RememberRequest) -> Result<Remembered, EngineError> {
        if request.text.trim().is_empty() {
            return Err(EngineError::BadNote("the note is empty"));
        }
        if request.text.len() > MAX_BYTES {
            return Err(EngineError::BadNote("the note is longer than 1 MiB"));
        }
        let mut reader = self.reader()?;
        // From here on nobody else stores or forgets.
        let turn = reader.begin()?;
        let now = self.now();
        let (wanted, known) = self.wanted(request, now, &|record| reader.redacted(record))?;
        // Versions are told apart by when they were given.
        let at = known.as_ref().and_then(|known| known.at).map_or(now, |before| now.max(before.saturating_add(1)));
        let (stored, redactions) = wanted.as_stored(at, &|record| reader.redacted(record));
        let remembered =
            |was_known| Remembered { episode: note_episode(&wanted.id), turn: note_turn(&wanted.id), redactions, was_known };
        if known.is_some_and(|known| stored.is(&known)) {
            return Ok(remembered(true));
        }
        let name = note_unit(&wanted.id);
        // Two edits in one millisecond are two.
        let before = self.known_unit(KIND, &name)?.map_or(i64::MIN, |(stamp, _)| stamp.version);
        let document = GivenDocument {
            name,
            stamp: Stamp { size: wanted.text.len() as u64, version: at.max(before.saturating_add(1)) },
            state: String::new(),
            records: note_records(&wanted.note(at)),
        };
        // What somebody gives is kept, whatever may be captured from agents.
        let report = reader.put_in_turn(&turn, &Notes, document, &IngestRequest::new(Vec::new()))?;
        drop(turn);
        self.is_stored(&report)?;
        // It is kept by now, and found in the queue if the index cannot take it.
        let _ = self.sync_index(INDEX_PATIENCE_MS, &mut |_| {});
        Ok(remembered(false))
    }

    /// The notes that hold where somebody asks, latest first.
    pub fn notes(&self, request: &NotesRequest) -> Result<Vec<NoteSummary>, EngineError> {
        let NotesRequest { here, scope, tags, kind, is_confirmed, title, limit } = request;
        let projects = match scope {
            ScopeChoice::All => None,
            ScopeChoice::Projects(names) => Some((projects_named(self.store(), names)?, false)),
            ScopeChoice::Current | ScopeChoice::CurrentOnly => {
                let here = here.as_ref().map(|here| project_here(self.store(), here)).transpose()?.flatten();
                Some((Vec::from_iter(here), true))
            }
        };
        let tags: Vec<String> = tags_of(tags).iter().map(|tag| tag.to_lowercase()).collect();
        let title = title.as_deref().map(|title| one_line(title).to_lowercase());
        let found = self.store().notes(*limit, |note| {
            let facts = &note.facts;
            let is_in_scope = projects.as_ref().is_none_or(|(projects, with_global)| match &note.project {
                Some((project, _)) => projects.contains(project),
                None => *with_global,
            });
            let is_tagged = || {
                tags.is_empty()
                    || facts.kind == NoteKind::Standing && tags.iter().any(|tag| tag == STANDING)
                    || facts.tags.iter().any(|tag| tags.contains(&tag.to_lowercase()))
            };
            let is_titled = || title.is_none() || facts.title.as_ref().map(|title| title.to_lowercase()) == title;
            let is_of_kind = kind.is_none_or(|kind| facts.kind == kind);
            let is_sure = is_confirmed.is_none_or(|is_confirmed| facts.is_confirmed == is_confirmed);
            !note.is_forgotten && is_in_scope && is_of_kind && is_sure && is_tagged() && is_titled()
        })?;
        Ok(found.into_iter().map(NoteSummary::from).collect())
    }

    /// The note with this id, short id, or unambiguous beginning of one: the episode's or the turn's.
    ///
    /// # Errors
    /// [`EngineError::UnknownId`], [`EngineError::AmbiguousId`].
    pub fn note(&self, id: &str) -> Result<NoteSummary, EngineError> {
        self.stored_note(id).map(NoteSummary::from)
    }

    /// The whole note with this id, in one of its versions, and counts that it was loaded.
    ///
    /// # Errors
    /// As [`Self::note`]; [`EngineError::UnknownVersion`] where there is no such version, or none was given yet then.
    pub fn load_note(&self, id: &str, which: WhichVersion) -> Result<NoteSummary, EngineError> {
        if !self.store().is_passive() {
            self.restore_note_versions()?;
        }
        let note = self.stored_note(id)?;
        let mut versions = self.store().note_versions(note.row)?;
        let count = versions.len() as u64;
        let wanted = match which {
            WhichVersion::Newest => versions.pop(),
            WhichVersion::Number(number) => versions.into_iter().find(|version| version.version == number),
            WhichVersion::AsOf(as_of) => versions.into_iter().rfind(|version| version.at.is_none_or(|at| at < as_of)),
        };
        let found = wanted.ok_or_else(|| EngineError::UnknownVersion { note: note.episode.to_string(), count })?;
        if !self.store().is_passive() {
            // The answer is worth more than its count, which a full disk or a busy database may prevent.
            let _ = self.store().count_access(note.row, self.now());
        }
        Ok(NoteSummary::from(found))
    }

    fn stored_note(&self, id: &str) -> Result<StoredNote, EngineError> {
        let id = id.trim();
        let mut found = self.store().notes(TOLD, |note| !note.is_forgotten && note.is_known_as(id))?;
        if found.is_empty() {
            // The id of an older version's turn.
            let versions = self.store().notes_of_turns(&self.store().turns_by_prefix(id, TOLD)?)?;
            found = self.store().notes(TOLD, |note| !note.is_forgotten && versions.contains(&note.row))?;
        }
        match (found.pop(), found.as_slice()) {
            (None, _) => Err(EngineError::UnknownId(id.to_owned())),
            (Some(only), []) => Ok(only),
            (Some(last), others) => Err(EngineError::AmbiguousId {
                id: id.to_owned(),
                candidates: others.iter().chain([&last]).map(|note| format!("note {}", note.episode)).collect(),
            }),
        }
    }

    /// The note as it is to be, and the one whose place it takes.
    fn wanted(
        &self,
        request: &RememberRequest,
        at: UtcMillis,
        redacted: &dyn Fn(Value) -> (Value, u64),
    ) -> Result<(Wanted, Option<StoredNote>), EngineError> {
        if let Some(id) = &request.replaces {
            let known = self.stored_note(id)?;
            return Ok((Wanted::in_place_of(&known, request)?, Some(known)));
        }
        let fresh = self.new_note(request, at)?;
        let (stored, _) = fresh.as_stored(at, redacted);
        Ok(match self.note_of(&fresh, &stored)? {
            Some(known) => (Wanted::said_again(&known, request)?, Some(known)),
            None => (fresh, None),
        })
    }

    /// A note that was never given before, in the project that its directory belongs to.
    fn new_note(&self, request: &RememberRequest, at: UtcMillis) -> Result<Wanted, EngineError> {
        let directory = match &request.directory {
            // Below a known project it is that project's.
            Some(directory) => {
                let around = project_around(self.store(), &names_of(directory))?;
                Some(around.and_then(|(_, above)| above).unwrap_or_else(|| directory.clone()))
            }
            None => None,
        };
        let id = draw_note_id(at).map_err(|error| StoreError::Io { path: self.directory().to_path_buf(), error })?;
        Ok(Wanted {
            id,
            text: request.text.clone(),
            facts: NoteFacts { title: given_title(request), session: request.session.clone(), ..facts_of(request, None)? },
            directory,
            is_by_agent: request.is_by_agent,
        })
    }

    /// The note that has these words already, where the wanted one belongs.
    fn note_of(&self, wanted: &Wanted, stored: &Stored) -> Result<Option<StoredNote>, EngineError> {
        let project = match &wanted.directory {
            // A project that nobody knows has no notes.
            Some(directory) => match project_here(self.store(), &names_of(directory))? {
                Some(project) => Some(project),
                None => return Ok(None),
            },
            None => None,
        };
        let is_there = |note: &StoredNote| !note.is_forgotten && note.project.as_ref().map(|(row, _)| *row) == project;
        let found = self.store().notes(usize::MAX, is_there)?;
        let title = stored.facts.title.as_deref();
        let mut same: Vec<StoredNote> =
            found.into_iter().filter(|note| note.text == stored.text && stored.may_be(note)).collect();
        // One of the same title before one without.
        let first = same.iter().position(|note| is_same_title(note.facts.title.as_deref(), title)).unwrap_or(0);
        Ok((first < same.len()).then(|| same.swap_remove(first)))
    }

    /// Whether the one document that was put is there.
    fn is_stored(&self, report: &IngestReport) -> Result<(), EngineError> {
        if let Some((path, error)) = report.unread().next() {
            return Err(StoreError::Io { path: path.clone(), error: io::Error::other(error.clone()) }.into());
        }
        if report.files_busy > 0 { Err(StoreError::Busy(self.directory().to_path_buf()).into()) } else { Ok(()) }
    }
}

/// The title that a request gives, if it gives one.
fn given_title(request: &RememberRequest) -> Option<String> {
    request.title.as_deref().map(one_line).filter(|title| !title.is_empty())
}

/// What a request says of a note beside its words; what it does not say is as it was, its title apart.
fn facts_of(request: &RememberRequest, known: Option<&NoteFacts>) -> Result<NoteFacts, EngineError> {
    let known = known.cloned().unwrap_or_default();
    let mut tags = tags_of(&request.tags);
    let is_standing = tags.iter().any(|tag| tag == STANDING);
    tags.retain(|tag| tag != STANDING);
    let metadata = match &request.metadata {
        Some(metadata) => match serde_json::from_str::<serde_json::Map<String, Value>>(metadata) {
            Ok(object) => Value::Object(object).to_string(),
            Err(_) => return Err(EngineError::BadNote("the metadata is no JSON object")),
        },
        None => known.metadata.clone(),
    };
    let has_title = match &request.title {
        Some(_) => given_title(request).is_some(),
        None => known.title.is_some(),
    };
    let wanted = if is_standing { NoteKind::Standing } else { request.kind.unwrap_or(known.kind) };
    // What a person says is the person's own, and a context is known by its title.
    let may_be_context = request.is_by_agent && has_title;
    let kind = if wanted == NoteKind::Context && !may_be_context { NoteKind::Note } else { wanted };
    Ok(NoteFacts {
        kind,
        title: None,
        tags: if request.tags.is_empty() { known.tags } else { tags },
        priority: request.priority.or(known.priority),
        is_confirmed: !request.is_unconfirmed,
        session: request.session.clone().or(known.session),
        metadata,
    })
}

impl From<StoredNote> for NoteSummary {
    fn from(note: StoredNote) -> Self {
        let StoredNote { episode, turn, facts, project, role, at, version, until, accessed, access_count, text, .. } = note;
        let project = project.map(|(_, name)| name);
        let is_by_agent = role == Role::Assistant;
        Self { episode, turn, facts, project, at, is_by_agent, version, until, accessed, access_count, text }
    }
}

/// A note as it is to be.
struct Wanted {
    id: String,
    text: String,
    facts: NoteFacts,
    directory: Option<String>,
    is_by_agent: bool,
}

impl Wanted {
    /// Other words for a note: it stays where it belongs, and what is not said stays as it was.
    fn in_place_of(known: &StoredNote, request: &RememberRequest) -> Result<Self, EngineError> {
        let title = match &request.title {
            Some(_) => given_title(request),
            None => known.facts.title.clone(),
        };
        Ok(Self {
            id: known.native_id.clone(),
            text: request.text.clone(),
            facts: NoteFacts { title, ..facts_of(request, Some(&known.facts))? },
            directory: known.directory.clone(),
            is_by_agent: request.is_by_agent,
        })
    }

    /// The same words again: what is new about them is added. What a person gave, an agent does not
    /// change by saying it as well.
    fn said_again(known: &StoredNote, request: &RememberRequest) -> Result<Self, EngineError> {
        let was_by_agent = known.role == Role::Assistant;
        let may_add = was_by_agent || !request.is_by_agent;
        let before = &known.facts;
        let mut facts = before.clone();
        if may_add {
            let said = facts_of(request, Some(before))?;
            let mut tags = before.tags.clone();
            tags.extend(said.tags.iter().cloned());
            facts = NoteFacts {
                kind: if before.kind == NoteKind::Standing { before.kind } else { said.kind },
                title: given_title(request).or_else(|| before.title.clone()),
                tags: tags_of(&tags),
                // Where it was first said.
                session: before.session.clone().or(said.session),
                // Who is asked about it once has agreed.
                is_confirmed: before.is_confirmed || said.is_confirmed,
                ..said
            };
        }
        Ok(Self {
            id: known.native_id.clone(),
            text: request.text.clone(),
            facts,
            directory: known.directory.clone(),
            is_by_agent: was_by_agent && request.is_by_agent,
        })
    }

    fn note(&self, at: UtcMillis) -> Note<'_> {
        let Self { id, text, facts, directory, is_by_agent } = self;
        Note { id, text, facts, directory: directory.as_deref(), is_by_agent: *is_by_agent, at }
    }

    /// What will be stored of it, and how many secrets will not.
    fn as_stored(&self, at: UtcMillis, redacted: &dyn Fn(Value) -> (Value, u64)) -> (Stored, u64) {
        let mut stored = Stored { text: String::new(), facts: NoteFacts::default(), is_by_agent: self.is_by_agent };
        let mut redactions = 0;
        for record in note_records(&self.note(at)) {
            let (record, count) = redacted(record);
            let note = &record["note"];
            stored.text = note["text"].as_str().unwrap_or_default().to_owned();
            stored.facts = note_facts(note);
            redactions += count;
        }
        stored.facts.tags.sort();
        stored.facts.tags.dedup();
        (stored, redactions)
    }
}

/// What is stored of a note, redacted.
struct Stored {
    text: String,
    facts: NoteFacts,
    is_by_agent: bool,
}

impl Stored {
    /// Whether a note is all that already. In which session it was said does not make it another.
    fn is(&self, known: &StoredNote) -> bool {
        let facts = NoteFacts { session: known.facts.session.clone(), ..self.facts.clone() };
        known.text == self.text && known.facts == facts && (known.role == Role::Assistant) == self.is_by_agent
    }

    /// Whether a note with the same words may be this one: neither has a title that the other has
    /// not, and a context is known by its title.
    fn may_be(&self, known: &StoredNote) -> bool {
        let (title, known_title) = (self.facts.title.as_deref(), known.facts.title.as_deref());
        let is_context = self.facts.kind == NoteKind::Context;
        is_context == (known.facts.kind == NoteKind::Context)
            && (is_same_title(title, known_title) || !is_context && (title.is_none() || known_title.is_none()))
    }
}

/// Tags as they are kept: one line each, without a hash before them, each once whatever the case of
/// letters, in order.
fn tags_of(given: &[String]) -> Vec<String> {
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = one_line(tag.trim_start().trim_start_matches('#'));
        let tag = if tag.eq_ignore_ascii_case(STANDING) { STANDING.to_owned() } else { tag };
        if !tag.is_empty() && tags.iter().all(|known| known.to_lowercase() != tag.to_lowercase()) {
            tags.push(tag);
        }
    }
    tags.sort();
    tags
}

/// Whether two titles are one, whatever the case of letters.
fn is_same_title(one: Option<&str>, other: Option<&str>) -> bool {
    one.map(str::to_lowercase) == other.map(str::to_lowercase)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_kept_once_and_in_order() {
        let given = ["#orchard", " two\nwords ", "Orchard", "STANDING", "", "#"].map(str::to_owned);
        assert_eq!(tags_of(&given), ["orchard", "standing", "two words"]);
    }
}
