//! Stores, lists and loads notes that a person asks to remember, word for word and in versions. Their text is kept unchanged, in
//! the project that they were given for or, without one, for all projects.
//!
//! - [`RememberRequest`], [`Remembered`]: a note to store, new or in the place of another
//! - [`NotesRequest`], [`NoteSummary`]: the notes that apply to a place
//!
//! A note is forgotten like a session ([`Engine::forget`]). It is a document of one message: a replaced note
//! keeps its id and its project. Its old text is no longer found, except by a query about an earlier time;
//! every version can be loaded ([`Engine::load_note`]). The check for a known text and the storing happen
//! under one lock, during which no other process stores or forgets, so that concurrent or repeated requests
//! with the same text leave one note.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::episode::Role;
use yore_core::id::{EpisodeId, TurnId};
use yore_core::memory::Use;
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;

use crate::Engine;
use crate::error::EngineError;
use crate::ingest::{GivenDocument, IngestReport, IngestRequest};
use crate::retrieve::{project_around, project_here, projects_named};
use crate::store::{Contexts, EpisodeKey, Episodes, ProjectKey, StoreError, StoredNote, TurnChoice, Versions};
use yore_sources::project_names::{ProjectNames, names_of};
use yore_sources::source::note::{
    KIND, MAX_BYTES, Note, draw_note_id, note_episode, note_facts, note_records, note_turn, note_unit,
};
use yore_sources::source::{Notes, Stamp};

/// The tag that makes a note a standing instruction, and finds these: another name for
/// [`NoteKind::Standing`].
pub const STANDING: &str = "standing";
/// Maximum time that remembering waits for another process that writes the index; a queued note is searched
/// in memory.
const INDEX_PATIENCE_MS: u64 = 500;
/// Maximum number of ids that the error for an ambiguous id lists.
const TOLD: usize = 9;

/// A note to remember.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct RememberRequest {
    /// The note to replace, by any id that [`Engine::note`] takes; `None` for a new note.
    pub replaces: Option<String>,
    /// Text of the note.
    pub text: String,
    /// Title; lock_context calls it topic. A replaced note keeps its title unless one is given; an empty
    /// title removes it.
    pub title: Option<String>,
    /// Tags to find it by; [`STANDING`] makes it a standing instruction. A replaced note keeps its tags
    /// unless some are given; an empty tag removes them.
    pub tags: Vec<String>,
    /// Kind of the note; `None` for [`NoteKind::Note`], or for the kind of the replaced note. Only an agent's
    /// text with a title can be a context.
    pub kind: Option<NoteKind>,
    /// Priority. A replaced note keeps its priority unless one is given.
    pub priority: Option<Priority>,
    /// True if an agent stores it without asking the person.
    pub is_unconfirmed: bool,
    /// The agent's own id of the session that gives it.
    pub session: Option<String>,
    /// A JSON object with additional data. A replaced note keeps its own unless one is given.
    pub metadata: Option<String>,
    /// The directory whose project it belongs to; `None` for all projects. A replaced note keeps its project.
    pub directory: Option<String>,
    /// True if an agent wrote it, not the person.
    pub is_by_agent: bool,
    /// Topics that a context is related to, in the place of those before; `None` leaves them as they are.
    #[serde(default)]
    pub related: Option<Vec<String>>,
}

/// Result of remembering a note.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Remembered {
    /// Yore's id of the note.
    pub episode: EpisodeId,
    /// Id of the note's text.
    pub turn: TurnId,
    /// Number of secrets that were redacted.
    pub redactions: u64,
    /// True if the same text was a note of this project already: nothing was stored. (The known note is
    /// updated if the same text comes with a new tag, or with a title that it lacks, or from a person after
    /// an agent. With another title the text is another note.)
    pub was_known: bool,
}

/// Filter for listing notes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NotesRequest {
    /// The project that the caller is in.
    pub here: Option<ProjectNames>,
    /// `Current` and `CurrentOnly`: notes of this project and those for all projects; `Projects`: notes of
    /// these only; `All`: all notes.
    pub scope: ScopeChoice,
    /// Only notes with one of these tags; empty matches any. [`STANDING`] also matches notes of that kind.
    pub tags: Vec<String>,
    /// Only notes of this kind.
    pub kind: Option<NoteKind>,
    /// Only notes that a person gave or confirmed (`true`), or only others (`false`).
    pub is_confirmed: Option<bool>,
    /// Only notes with this title, ignoring case.
    pub title: Option<String>,
    /// Only notes after this place in the list: the time and the id of the last note of the page before.
    #[serde(default)]
    pub after: Option<(Option<UtcMillis>, EpisodeId)>,
    /// Maximum number of notes, latest first.
    pub limit: usize,
}

impl NotesRequest {
    /// Makes a request for all notes of all projects, at most `limit`.
    pub fn all(limit: usize) -> Self {
        Self {
            here: None,
            scope: ScopeChoice::All,
            tags: Vec::new(),
            kind: None,
            is_confirmed: None,
            title: None,
            after: None,
            limit,
        }
    }
}

/// One version of a note.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NoteSummary {
    /// Yore's id of the note.
    pub episode: EpisodeId,
    /// Id of the note's text.
    pub turn: TurnId,
    /// Title, tags and other properties of the note.
    #[serde(flatten)]
    pub facts: NoteFacts,
    /// Name of its project; `None` if it is for all projects.
    pub project: Option<String>,
    /// Time when it was given, or last replaced.
    pub at: Option<UtcMillis>,
    /// True if an agent wrote it.
    pub is_by_agent: bool,
    /// Number of this version, from 1. The newest version, unless another one was requested.
    pub version: u64,
    /// Time when the next version replaced it; `None` for the newest.
    pub until: Option<UtcMillis>,
    /// Time when the whole note was last loaded.
    pub accessed: Option<UtcMillis>,
    /// Number of times that the whole note was loaded.
    pub access_count: u64,
    /// Text of the note.
    pub text: String,
    /// Topics that a context is related to now.
    #[serde(default)]
    pub related: Vec<String>,
}

/// Selects a version of a note.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum WhichVersion {
    /// The current version.
    #[default]
    Newest,
    /// The version with this number, from 1.
    Number(u64),
    /// The version that was current just before this instant.
    AsOf(UtcMillis),
}

/// The projects whose notes are wanted, and whether those of no project are; `None`: all.
pub(super) struct NotesScope(Option<(Vec<ProjectKey>, bool)>);

impl NotesScope {
    /// Returns whether notes of a project are wanted.
    pub(super) fn holds(&self, project: Option<ProjectKey>) -> bool {
        self.0.as_ref().is_none_or(|(projects, with_global)| project.map_or(*with_global, |project| projects.contains(&project)))
    }
}

impl Engine {
    /// Stores a note, which is searchable at once.
    ///
    /// # Errors
    /// [`EngineError::BadNote`]; those of [`Self::put_document`]; those of [`Self::note`] for the note to
    /// replace.
    pub fn remember(&self, request: &RememberRequest) -> Result<Remembered, EngineError> {
        if request.text.trim().is_empty() {
            return Err(EngineError::BadNote("the note is empty"));
        }
        if request.text.len() > MAX_BYTES {
            return Err(EngineError::BadNote("the note is longer than 1 MiB"));
        }
        let mut ingester = self.ingester()?;
        // From here on no other process stores or forgets.
        let lock = ingester.begin()?;
        let now = self.now();
        let (wanted, known) = self.wanted(request, now, &|record| ingester.redacted(record))?;
        // Each version has its own time, by which versions are distinguished.
        let at = known.as_ref().and_then(|known| known.at).map_or(now, |before| now.max(before.saturating_add(1)));
        let (stored, redactions) = wanted.as_stored(at, &|record| ingester.redacted(record));
        let remembered =
            |was_known| Remembered { episode: note_episode(&wanted.id), turn: note_turn(&wanted.id), redactions, was_known };
        if known.is_some_and(|known| stored.is(&known)) {
            drop(lock);
            self.relate_as_asked(&wanted.id, request)?;
            return Ok(remembered(true));
        }
        let name = note_unit(&wanted.id);
        // Two edits in one millisecond get two versions.
        let before = self.known_unit(KIND, &name)?.map_or(i64::MIN, |(stamp, _)| stamp.version);
        let document = GivenDocument {
            name,
            stamp: Stamp { size: wanted.text.len() as u64, version: at.max(before.saturating_add(1)) },
            state: String::new(),
            records: note_records(&wanted.note(at)),
        };
        // A note is stored whatever the settings say about capturing from agents.
        let report = ingester.put_locked(&lock, &Notes, vec![document], &IngestRequest::new(Vec::new()))?;
        drop(lock);
        self.is_stored(&report)?;
        self.relate_as_asked(&wanted.id, request)?;
        // The note is stored by now; a search finds it in the queue if the index cannot be updated.
        let _ = self.sync_index(INDEX_PATIENCE_MS, &mut |_| {});
        Ok(remembered(false))
    }

    /// Relates a context to the topics that the request gives.
    fn relate_as_asked(&self, id: &str, request: &RememberRequest) -> Result<(), EngineError> {
        match &request.related {
            Some(topics) => self.relate_topics(&note_episode(id), topics, request.session.as_deref()),
            None => Ok(()),
        }
    }

    /// Adds to contexts the topics that they are related to.
    pub(super) fn fill_related(&self, notes: &mut [NoteSummary]) -> Result<(), EngineError> {
        let contexts: Vec<EpisodeId> =
            notes.iter().filter(|note| note.facts.kind == NoteKind::Context).map(|note| note.episode).collect();
        let mut related = self.related_topics(&contexts)?;
        for note in notes {
            note.related = related.remove(&note.episode).unwrap_or_default();
        }
        Ok(())
    }

    /// Returns the notes that match the request, latest first.
    pub fn notes(&self, request: &NotesRequest) -> Result<Vec<NoteSummary>, EngineError> {
        let NotesRequest { here, scope, tags, kind, is_confirmed, title, after, limit } = request;
        let projects = self.projects_of_notes(scope, here.as_ref())?;
        let tags: Vec<String> = tags_of(tags).iter().map(|tag| tag.to_lowercase()).collect();
        let title = title.as_deref().map(|title| one_line(title).to_lowercase());
        // Some notes with the time of the cursor may stand before it.
        let most = if after.is_some() { usize::MAX } else { *limit };
        // Contexts are found by their topics without reading all notes.
        let titled = match (kind, &title) {
            (Some(NoteKind::Context), Some(title)) => {
                let heads = self.store().context_heads(Contexts::All)?;
                Some(
                    heads.into_iter().filter(|head| head.topic.to_lowercase() == *title).map(|head| head.row).collect::<Vec<_>>(),
                )
            }
            _ => None,
        };
        let found = self.store().notes(titled.as_deref().map_or(Versions::Newest, Versions::NewestOf), most, |note| {
            let facts = &note.facts;
            let is_in_scope = projects.holds(note.project.as_ref().map(|(row, _)| *row));
            let is_tagged = || {
                tags.is_empty()
                    || facts.kind == NoteKind::Standing && tags.iter().any(|tag| tag == STANDING)
                    || facts.tags.iter().any(|tag| tags.contains(&tag.to_lowercase()))
            };
            let is_titled = || title.is_none() || facts.title.as_ref().map(|title| title.to_lowercase()) == title;
            let is_of_kind = kind.is_none_or(|kind| facts.kind == kind);
            let is_sure = is_confirmed.is_none_or(|is_confirmed| facts.is_confirmed == is_confirmed);
            let is_after = after.is_none_or(|(at, _)| note.at <= at);
            !note.is_forgotten && is_after && is_in_scope && is_of_kind && is_sure && is_tagged() && is_titled()
        })?;
        let mut notes: Vec<NoteSummary> = found.into_iter().map(NoteSummary::from).collect();
        if let Some((at, id)) = after {
            let place = notes.iter().take_while(|note| note.at == *at).position(|note| note.episode == *id);
            notes.drain(..place.map_or(0, |place| place + 1));
            notes.truncate(*limit);
        }
        self.fill_related(&mut notes)?;
        Ok(notes)
    }

    /// Returns the projects whose notes a scope has.
    pub(super) fn projects_of_notes(&self, scope: &ScopeChoice, here: Option<&ProjectNames>) -> Result<NotesScope, EngineError> {
        Ok(match scope {
            ScopeChoice::All => NotesScope(None),
            ScopeChoice::Projects(names) => NotesScope(Some((projects_named(self.store(), names)?, false))),
            ScopeChoice::Current | ScopeChoice::CurrentOnly => {
                let here = here.map(|here| project_here(self.store(), here)).transpose()?.flatten();
                NotesScope(Some((Vec::from_iter(here), true)))
            }
        })
    }

    /// Returns the note with this id, short id, or unambiguous beginning of one: that of the episode or of
    /// the turn.
    ///
    /// # Errors
    /// [`EngineError::UnknownId`], [`EngineError::AmbiguousId`].
    pub fn note(&self, id: &str) -> Result<NoteSummary, EngineError> {
        let mut note = NoteSummary::from(self.stored_note(id)?);
        self.fill_related(std::slice::from_mut(&mut note))?;
        Ok(note)
    }

    /// Returns the whole note with this id, in one of its versions, and counts the access.
    ///
    /// # Errors
    /// Those of [`Self::note`]; [`EngineError::UnknownVersion`] if the note has no such version, or none at
    /// that time.
    pub fn load_note(&self, id: &str, which: WhichVersion) -> Result<NoteSummary, EngineError> {
        let (row, note) = self.note_version(id, which)?;
        if !self.store().is_passive() {
            // The answer is worth more than its count, which a full disk or a busy database may prevent.
            let _ = self.store().log_reading(&[row], Use::Opened, self.now(), None);
        }
        Ok(note)
    }

    /// Returns a version of a note, and the row of the note.
    pub(super) fn note_version(&self, id: &str, which: WhichVersion) -> Result<(EpisodeKey, NoteSummary), EngineError> {
        if !self.store().is_passive() {
            self.restore_note_versions()?;
        }
        let note = self.stored_note(id)?;
        let mut versions = self.store().notes(Versions::Of(note.row), usize::MAX, |_| true)?;
        let count = versions.len() as u64;
        let wanted = match which {
            WhichVersion::Newest => versions.pop(),
            WhichVersion::Number(number) => versions.into_iter().find(|version| version.version == number),
            WhichVersion::AsOf(as_of) => versions.into_iter().rfind(|version| version.at.is_none_or(|at| at < as_of)),
        };
        let found = wanted.ok_or_else(|| EngineError::UnknownVersion { note: note.episode.to_string(), count })?;
        let mut found = NoteSummary::from(found);
        self.fill_related(std::slice::from_mut(&mut found))?;
        Ok((note.row, found))
    }

    /// Returns the note with this id, short id, or unambiguous beginning of one.
    pub(crate) fn stored_note(&self, id: &str) -> Result<StoredNote, EngineError> {
        let id = id.trim();
        let named = |wanted| self.store().notes(wanted, TOLD, |note| !note.is_forgotten && note.is_known_as(id));
        let whole = id.parse::<EpisodeId>().ok();
        let mut found = whole.as_ref().map_or(Ok(Vec::new()), |whole| named(Versions::Named(whole)))?;
        if found.is_empty() {
            found = named(Versions::Newest)?;
        }
        if found.is_empty() {
            // The id of an older version's turn.
            let turns = self.store().turn_keys(TurnChoice::Named(id, TOLD))?;
            let known = self.store().episodes(&Episodes::WithVersions(&turns))?;
            found = self
                .store()
                .notes(Versions::Newest, TOLD, |note| !note.is_forgotten && known.iter().any(|known| known.key == note.row))?;
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

    /// Returns the note to store, and the known note that it replaces.
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

    /// Makes a note with a new id, in the project of its directory.
    fn new_note(&self, request: &RememberRequest, at: UtcMillis) -> Result<Wanted, EngineError> {
        let directory = match &request.directory {
            // A directory below that of a known project belongs to that project.
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

    /// Returns the note with the same text in the same project, if there is one.
    fn note_of(&self, wanted: &Wanted, stored: &Stored) -> Result<Option<StoredNote>, EngineError> {
        let project = match &wanted.directory {
            // An unknown project has no notes.
            Some(directory) => match project_here(self.store(), &names_of(directory))? {
                Some(project) => Some(project),
                None => return Ok(None),
            },
            None => None,
        };
        let may_be = |note: &StoredNote| {
            !note.is_forgotten && note.project.as_ref().map(|(row, _)| *row) == project && stored.may_be(note)
        };
        let found = self.store().notes(Versions::Newest, usize::MAX, may_be)?;
        let title = stored.facts.title.as_deref();
        let mut same: Vec<StoredNote> = found.into_iter().filter(|note| note.text == stored.text).collect();
        // Prefers a note of the same title to one without.
        let first = same.iter().position(|note| is_same_title(note.facts.title.as_deref(), title)).unwrap_or(0);
        Ok((first < same.len()).then(|| same.swap_remove(first)))
    }

    /// Fails unless the one document that was put is stored.
    fn is_stored(&self, report: &IngestReport) -> Result<(), EngineError> {
        if let Some((path, error)) = report.unread().next() {
            return Err(StoreError::Io { path: path.clone(), error: io::Error::other(error.clone()) }.into());
        }
        if report.files_busy > 0 { Err(StoreError::Busy(self.directory().to_path_buf()).into()) } else { Ok(()) }
    }
}

/// Returns the title of a request, if it gives one.
fn given_title(request: &RememberRequest) -> Option<String> {
    request.title.as_deref().map(one_line).filter(|title| !title.is_empty())
}

/// Returns the facts of a request; those that it does not give are taken from `known`, except the title.
fn facts_of(request: &RememberRequest, known: Option<&NoteFacts>) -> Result<NoteFacts, EngineError> {
    let known = known.cloned().unwrap_or_default();
    let mut tags = tags_of(&request.tags);
    let is_standing = tags.iter().any(|tag| tag == STANDING);
    tags.retain(|tag| tag != STANDING);
    let metadata = match &request.metadata {
        Some(metadata) => match serde_json::from_str::<serde_json::Map<String, Value>>(metadata) {
            Ok(object) => Value::Object(object).to_string(),
            Err(_) => return Err(EngineError::BadNote("the metadata is not a JSON object")),
        },
        None => known.metadata.clone(),
    };
    let has_title = match &request.title {
        Some(_) => given_title(request).is_some(),
        None => known.title.is_some(),
    };
    let wanted = if is_standing { NoteKind::Standing } else { request.kind.unwrap_or(known.kind) };
    // Only an agent's text can be a context, and a context is identified by its title.
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
        let related = Vec::new();
        Self { episode, turn, facts, project, at, is_by_agent, version, until, accessed, access_count, text, related }
    }
}

/// A note to store.
struct Wanted {
    id: String,
    text: String,
    facts: NoteFacts,
    directory: Option<String>,
    is_by_agent: bool,
}

impl Wanted {
    /// Replaces the text of a note: the note keeps its project, and everything that the request does not
    /// give.
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

    /// Adds what is new to a note with the same text. An agent that repeats a person's note does not change
    /// it.
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
                // The session in which it was first given.
                session: before.session.clone().or(said.session),
                // A note that a person confirmed once stays confirmed.
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

    /// Returns the note as it will be stored, and the number of secrets that were redacted.
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

/// The stored form of a note, redacted.
struct Stored {
    text: String,
    facts: NoteFacts,
    is_by_agent: bool,
}

impl Stored {
    /// Returns whether a known note has the same content already. The session in which it was given is
    /// ignored.
    fn is(&self, known: &StoredNote) -> bool {
        let facts = NoteFacts { session: known.facts.session.clone(), ..self.facts.clone() };
        known.text == self.text && known.facts == facts && (known.role == Role::Assistant) == self.is_by_agent
    }

    /// Returns whether a known note with the same text may be this one: the titles are equal or one of them
    /// is missing, but a context needs the same title.
    fn may_be(&self, known: &StoredNote) -> bool {
        let (title, known_title) = (self.facts.title.as_deref(), known.facts.title.as_deref());
        let is_context = self.facts.kind == NoteKind::Context;
        is_context == (known.facts.kind == NoteKind::Context)
            && (is_same_title(title, known_title) || !is_context && (title.is_none() || known_title.is_none()))
    }
}

/// Normalises tags: one line each, without a leading hash, each once ignoring case, sorted.
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

/// Returns whether two titles are equal, ignoring case.
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
