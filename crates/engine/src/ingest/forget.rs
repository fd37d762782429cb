//! Permanently forgets a session: removes every line of it from the archive, in whatever file, then its
//! turns, its index entries, and the backups. Other lines keep their numbers, because each removed line is
//! replaced by an empty one.
//!
//! A line belongs to the session if it names the session, if it is a copy of one of the session's messages in
//! another session's file, or if it is about such a message (a summary line). Any other line that names no
//! session belongs to the session named last before it or, at the beginning of a file, to the first session
//! named.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use yore_core::entity::key_of;
use yore_core::id::MemoryId;
use yore_core::time::UtcMillis;

use super::archive::{Archive, LineBuffer, MAX_BLOB_BYTES};
use super::error::IngestError;
use super::parse::parse_line;
use super::reindex::{ReindexReport, Wanted};
use super::report::Silent;
use super::run::Ingest;
use super::source::ReaderOptions;
use super::source::{SOURCES, Source, source_named};
use crate::store::{BlobKey, EpisodeKey, FileKey, Forgetting, Forgotten, StoreResult};

/// The sessions of an agent to forget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ForgetTarget {
    pub agent: String,
    /// Native ids of the sessions, without their sub-agents.
    pub native_sessions: HashSet<String>,
    /// Rows of the sessions and their sub-agents.
    pub episodes: Vec<EpisodeKey>,
    /// Native ids of the sessions and their sub-agents.
    pub native_ids: Vec<String>,
    /// True to keep tombstones, so that the sessions do not come back from their source.
    pub keep_tombstones: bool,
}

impl Ingest<'_> {
    /// Removes sessions from the archive and the store. The caller removes them from the index.
    pub(crate) fn forget(&mut self, target: &ForgetTarget, now: UtcMillis) -> Result<Forgotten, IngestError> {
        let mut outcome = Forgotten {
            episodes: target.native_ids.clone(),
            turns: self.store.count_turns(&target.episodes)?,
            is_hard: true,
            ..Forgotten::default()
        };
        let source = source_named(&target.agent).ok_or_else(|| IngestError::UnknownSource(target.agent.clone()))?;
        // No process may read the sessions in again while they are being removed.
        let _turn = self.take_turn(&Silent)?;
        let generations: Vec<(FileKey, i64)> = self.generations_of(source)?;
        let mut archive = Archive::new(self.store, self.keys.line);
        // The first pass over the sessions' own lines collects the ids of all its messages. The second finds
        // copies of them, and lines about them, in any file.
        let mut messages = HashSet::new();
        let mut begins_ours = HashSet::new();
        for (file, generation) in &generations {
            let mut judge = Judge::new(source, &target.native_sessions, None);
            // Damaged lines cannot be judged; the rest is forgotten all the same.
            archive.read_what_is_whole(*file, *generation, |line| {
                judge.is_ours(line);
                messages.extend(judge.message.take());
                Ok(())
            })?;
            if judge.first_named == Some(true) {
                begins_ours.insert((*file, *generation));
            }
        }
        let mut cut: Vec<(FileKey, i64, Vec<bool>)> = Vec::new();
        let mut touched_blobs = HashSet::new();
        for (file, generation) in &generations {
            let mut judge = Judge::new(source, &target.native_sessions, Some(&messages));
            judge.was_ours = begins_ours.contains(&(*file, *generation));
            let mut gone = Vec::new();
            archive.read_what_is_whole(*file, *generation, |line| {
                gone.push(!line.is_empty() && judge.is_ours(line));
                Ok(())
            })?;
            let mut at = 0;
            for segment in self.store.segments(*file, *generation)? {
                let count = segment.run.count as usize;
                if gone[at..at + count].contains(&true) {
                    touched_blobs.insert(segment.run.blob);
                }
                at += count;
            }
            outcome.archive_lines += gone.iter().filter(|gone| **gone).count() as u64;
            cut.push((*file, *generation, gone));
        }
        for (file, generation, gone) in &cut {
            let uses_touched =
                self.store.segments(*file, *generation)?.iter().any(|segment| touched_blobs.contains(&segment.run.blob));
            if uses_touched {
                self.rewrite(&mut archive, *file, *generation, &touched_blobs, |at, line| {
                    if gone.get(at).copied().unwrap_or(false) { Cow::Borrowed(&[]) } else { Cow::Borrowed(line) }
                })?;
            }
        }
        // Sessions that repeat a forgotten message may have a title that was derived from it.
        let titled = self.store.episodes_with_messages(&target.agent, messages.iter())?;
        let touched: Vec<FileKey> = cut.iter().filter(|(.., gone)| gone.contains(&true)).map(|(file, ..)| *file).collect();
        let sessions = target.native_sessions.iter();
        let mut buried: Vec<[u8; 16]> =
            sessions.map(|session| self.keys.tombstone_hash(&target.agent, "session", session)).collect();
        buried.extend(messages.iter().map(|message| self.keys.tombstone_hash(&target.agent, "message", message)));
        if !target.keep_tombstones {
            buried.clear();
        }
        self.store.forget(&Forgetting {
            agent: &target.agent,
            messages: &messages,
            episodes: &target.episodes,
            tombstones: &buried,
            now,
        })?;
        self.tombstones.extend(&buried);
        self.derive_titles(&touched, &titled)?;
        Ok(outcome)
    }

    /// Returns whether a session with this native id was forgotten for good.
    pub(crate) fn is_buried(&self, native_session: &str) -> StoreResult<bool> {
        let known = self.store.tombstones()?;
        Ok(SOURCES.iter().any(|source| known.contains(&self.keys.tombstone_hash(source.kind(), "session", native_session))))
    }

    /// Remembers memories that were forgotten for good, and the names of what they were about: as keyed hashes.
    pub(crate) fn bury_memories(&self, memories: &[(MemoryId, String)], entities: &[String], now: UtcMillis) -> StoreResult<()> {
        let of_memory = memories
            .iter()
            .flat_map(|(id, statement)| [self.memory_hash("id", &id.to_string()), self.memory_hash("statement", statement)]);
        let hashes: Vec<[u8; 16]> =
            of_memory.chain(entities.iter().map(|name| self.memory_hash("entity", &key_of(name)))).collect();
        self.store.bury(&hashes, now)
    }

    /// Returns whether a memory with this id was forgotten for good.
    pub(crate) fn is_memory_buried(&self, id: MemoryId) -> bool {
        self.tombstones.contains(&self.memory_hash("id", &id.to_string()))
    }

    /// Returns whether a memory with this statement was forgotten for good.
    pub(crate) fn is_statement_buried(&self, statement: &str) -> bool {
        self.tombstones.contains(&self.memory_hash("statement", statement))
    }

    /// Returns whether a memory about something with this name was forgotten for good.
    pub(crate) fn is_entity_buried(&self, name: &str) -> bool {
        self.tombstones.contains(&self.memory_hash("entity", &key_of(name)))
    }

    fn memory_hash(&self, what: &str, value: &str) -> [u8; 16] {
        self.keys.tombstone_hash("memory", what, value)
    }

    /// Derives the titles of `episodes`, and of the sessions in `files`, again from the remaining lines.
    fn derive_titles(&mut self, files: &[FileKey], episodes: &[EpisodeKey]) -> Result<(), IngestError> {
        let pass = self.store.last_pass()?;
        let again = self.store.clear_titles(files, episodes)?;
        let generations = self.store.generations()?;
        let mut report = ReindexReport::default();
        for row in self.store.files()?.iter().filter(|row| again.contains(&row.id)) {
            for (_, generation) in generations.iter().filter(|(file, _)| *file == row.id) {
                self.read_generation(row, *generation, pass, &ReaderOptions::default(), Wanted::Titles, &mut report)?;
            }
        }
        self.store.settle_titles()?;
        Ok(())
    }

    fn generations_of(&self, source: &dyn Source) -> StoreResult<Vec<(FileKey, i64)>> {
        let files: HashSet<FileKey> =
            self.store.files()?.into_iter().filter(|file| file.source == source.kind()).map(|file| file.id).collect();
        Ok(self.store.generations()?.into_iter().filter(|(file, _)| files.contains(file)).collect())
    }

    /// Stores one generation of a file in new blobs. `becomes` returns the new content of each line, given
    /// its position.
    pub(super) fn rewrite(
        &self,
        archive: &mut Archive<'_>,
        file: FileKey,
        generation: i64,
        touched: &HashSet<BlobKey>,
        mut becomes: impl for<'l> FnMut(usize, &'l [u8]) -> Cow<'l, [u8]>,
    ) -> Result<(), IngestError> {
        let mut pieces: Vec<LineBuffer> = vec![LineBuffer::default()];
        let mut at = 0;
        archive.read_what_is_whole(file, generation, |line| {
            if pieces.last().is_none_or(|piece| piece.byte_len() >= MAX_BLOB_BYTES) {
                pieces.push(LineBuffer::default());
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push(&becomes(at, line));
            }
            at += 1;
            Ok(())
        })?;
        let mut plans = Vec::new();
        for piece in pieces.iter().filter(|piece| piece.len() > 0) {
            plans.push(archive.plan_without_last(piece, |blob| !touched.contains(&blob))?);
        }
        Ok(self.store.rewrite_generation(file, generation, &plans)?)
    }
}

/// Decides line by line, in file order, whether a line belongs to one of these sessions.
struct Judge<'a> {
    source: &'a dyn Source,
    sessions: &'a HashSet<String>,
    messages: Option<&'a HashSet<String>>,
    /// True if the last line that named a session named one of these. Before any does, true if the first line
    /// that will do so names one of these.
    was_ours: bool,
    /// True if the first line that named a session named one of these.
    first_named: Option<bool>,
    /// Message of the line that was judged last.
    message: Option<String>,
    values: Vec<Value>,
}

impl<'a> Judge<'a> {
    fn new(source: &'a dyn Source, sessions: &'a HashSet<String>, messages: Option<&'a HashSet<String>>) -> Self {
        Self { source, sessions, messages, was_ours: false, first_named: None, message: None, values: Vec::new() }
    }

    fn is_ours(&mut self, line: &[u8]) -> bool {
        self.message = None;
        let mut values = std::mem::take(&mut self.values);
        let _ = parse_line(line, &mut values);
        let mut ours = None;
        for value in &values {
            let owner = self.source.owner(value);
            let is_known = |id: Option<&str>| id.is_some_and(|id| self.messages.is_some_and(|messages| messages.contains(id)));
            let names_session = owner.session.as_deref().map(|session| self.sessions.contains(session));
            if names_session == Some(true) {
                self.message = owner.message.map(str::to_owned);
            }
            if names_session == Some(true) || is_known(owner.message) || is_known(owner.about) {
                ours = Some(true);
            } else if names_session == Some(false) {
                ours = ours.or(Some(false));
            }
            if let Some(named) = names_session {
                self.first_named.get_or_insert(named);
                self.was_ours = named;
            }
        }
        self.values = values;
        ours.unwrap_or(self.was_ours)
    }
}
