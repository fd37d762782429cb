//! Permanently deletes sessions: removes their lines from the archive, then their turns, index entries and backups. Other lines
//! keep their numbers, because each removed line is replaced by an empty one.
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
use super::reindex::{ReindexReport, Wanted};
use super::report::Silent;
use super::run::Ingest;
use crate::store::{BlobKey, EpisodeKey, Episodes, FileKey, Files, ForgetPlan, Forgetting, StoreResult};
use yore_sources::parse::parse_line;
use yore_sources::source::ReaderOptions;
use yore_sources::source::{SOURCES, Source, source_named};

/// File of the data directory with the texts that the proxy adds to requests again. Forgetting for good removes it, for they repeat
/// words of the memory.
pub const PROXY_TEXTS: &str = "proxy/given.jsonl";

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

/// For each generation of a file, which of its lines go.
type Cut = Vec<(FileKey, i64, Vec<bool>)>;

impl Ingest<'_> {
    /// Removes sessions from the archive and the store; returns the number of lines removed. The caller removes them from
    /// the index. What is to be removed is stored before the first step; [`Self::finish_forgetting`] finishes what was cut
    /// short.
    pub(crate) fn forget(&mut self, targets: &[&ForgetTarget], now: UtcMillis) -> Result<u64, IngestError> {
        // No process may read the sessions in again while they are being removed.
        let _lock = self.lock_ingestion(&Silent)?;
        let mut planned: Vec<(ForgetPlan, Cut)> = Vec::new();
        let mut buried: Vec<[u8; 16]> = Vec::new();
        for target in targets {
            let (plan, cut) = self.plan(target)?;
            if target.keep_tombstones {
                let hash = |what, id: &String| self.keys.tombstone_hash(&target.agent, what, id);
                buried.extend(plan.sessions.iter().map(|session| hash("session", session)));
                buried.extend(plan.messages.iter().map(|message| hash("message", message)));
            }
            planned.push((plan, cut));
        }
        let numbers = self.store.begin_forgetting(&planned.iter().map(|(plan, _)| plan).collect::<Vec<_>>(), &buried, now)?;
        self.tombstones.extend(&buried);
        let mut lines = 0;
        for (number, (plan, cut)) in numbers.into_iter().zip(planned) {
            lines += cut.iter().flat_map(|(.., gone)| gone).filter(|gone| **gone).count() as u64;
            self.carry_out(number, plan, &cut, now)?;
        }
        Ok(lines)
    }

    /// Does the steps that are left of every stored plan.
    pub(crate) fn finish_forgetting(&mut self, now: UtcMillis) -> Result<(), IngestError> {
        let _lock = self.lock_ingestion(&Silent)?;
        for (number, plan) in self.store.forget_plans()? {
            let (cut, _) = self.cut(&plan.agent, &plan.sessions, &plan.messages)?;
            self.carry_out(number, plan, &cut, now)?;
        }
        Ok(())
    }

    /// Finds everything that belongs to sessions. The ids of their messages come from their turns and from their own lines; with
    /// them, copies of the messages, and lines about them, are found in any file.
    fn plan(&self, target: &ForgetTarget) -> Result<(ForgetPlan, Cut), IngestError> {
        let mut messages: HashSet<String> = self.store.messages_of(&target.episodes)?.into_iter().collect();
        let source = source_of(&target.agent)?;
        let mut archive = Archive::new(self.store, self.keys.line);
        for (file, generation) in self.generations_of(source)? {
            let mut judge = Judge::new(source, &target.native_sessions, None);
            // Damaged lines cannot be judged; the rest is forgotten all the same.
            archive.read_what_is_whole(file, generation, |line| {
                judge.is_ours(line);
                messages.extend(judge.message.take());
                Ok(())
            })?;
        }
        let (cut, blobs) = self.cut(&target.agent, &target.native_sessions, &messages)?;
        // Sessions that repeat a forgotten message may have a title that was derived from it.
        let titled =
            self.store.episodes(&Episodes::WithMessages(&target.agent, &messages))?.into_iter().map(|known| known.key).collect();
        let files = cut.iter().filter(|(.., gone)| gone.contains(&true)).map(|(file, ..)| *file).collect();
        let plan = ForgetPlan {
            agent: target.agent.clone(),
            sessions: target.native_sessions.clone(),
            episodes: target.episodes.clone(),
            messages,
            blobs,
            files,
            titled,
        };
        Ok((plan, cut))
    }

    /// Judges every line of an agent's archive; returns also the blobs with lines that go.
    fn cut(
        &self,
        agent: &str,
        sessions: &HashSet<String>,
        messages: &HashSet<String>,
    ) -> Result<(Cut, HashSet<BlobKey>), IngestError> {
        let source = source_of(agent)?;
        let mut archive = Archive::new(self.store, self.keys.line);
        let (mut cut, mut touched) = (Vec::new(), HashSet::new());
        for (file, generation) in self.generations_of(source)? {
            let mut judge = Judge::new(source, sessions, Some(messages));
            let (mut gone, mut nameless) = (Vec::new(), Vec::new());
            archive.read_what_is_whole(file, generation, |line| {
                let is_ours = judge.is_ours(line) && !line.is_empty();
                if judge.first_named.is_none() && !is_ours && !line.is_empty() {
                    nameless.push(gone.len());
                }
                gone.push(is_ours);
                Ok(())
            })?;
            // Lines before the first that names a session belong to that session.
            if judge.first_named == Some(true) {
                nameless.into_iter().for_each(|at| gone[at] = true);
            }
            let mut at = 0;
            for segment in self.store.segments(file, generation..=generation)? {
                let count = segment.run.count as usize;
                if gone[at..at + count].contains(&true) {
                    touched.insert(segment.run.blob);
                }
                at += count;
            }
            cut.push((file, generation, gone));
        }
        Ok((cut, touched))
    }

    /// Removes what a stored plan names. Every step can be done again, and a file is rewritten as a whole or not at all.
    fn carry_out(&mut self, number: i64, plan: ForgetPlan, cut: &Cut, now: UtcMillis) -> Result<(), IngestError> {
        let mut archive = Archive::new(self.store, self.keys.line);
        for (file, generation, gone) in cut {
            let uses_touched = self
                .store
                .segments(*file, *generation..=*generation)?
                .iter()
                .any(|segment| plan.blobs.contains(&segment.run.blob));
            if uses_touched {
                self.rewrite(&mut archive, *file, *generation, &plan.blobs, |at, line| {
                    if gone.get(at).copied().unwrap_or(false) { Cow::Borrowed(&[]) } else { Cow::Borrowed(line) }
                })?;
            }
        }
        // Rows of what is deleted may be used for something else afterwards: the plan keeps only what is left to do.
        let rest = ForgetPlan {
            agent: plan.agent.clone(),
            files: plan.files.clone(),
            titled: plan.titled.clone(),
            ..ForgetPlan::default()
        };
        self.store.forget(&Forgetting {
            agent: &plan.agent,
            messages: &plan.messages,
            episodes: &plan.episodes,
            now,
            plan: Some((number, &rest)),
        })?;
        self.derive_titles(&plan.files, &plan.titled)?;
        Ok(self.store.end_forgetting(number)?)
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
        self.store.begin_forgetting(&[], &hashes, now).map(drop)
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
        let pass = self.store.last_pass()?.number;
        let again = self.store.clear_titles(files, episodes)?;
        let generations = self.store.generations()?;
        let mut report = ReindexReport::default();
        for row in self.store.files(Files::All)?.iter().filter(|row| again.contains(&row.id)) {
            for (_, generation) in generations.iter().filter(|(file, _)| *file == row.id) {
                self.read_generation(row, *generation, pass, &ReaderOptions::default(), Wanted::Titles, &mut report)?;
            }
        }
        self.store.settle_titles()?;
        Ok(())
    }

    fn generations_of(&self, source: &dyn Source) -> StoreResult<Vec<(FileKey, i64)>> {
        let files: HashSet<FileKey> =
            self.store.files(Files::All)?.into_iter().filter(|file| file.source == source.kind()).map(|file| file.id).collect();
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
        Ok(self.store.rewrite_file(file, &[(generation, &plans)], false)?)
    }
}

fn source_of(agent: &str) -> Result<&'static dyn Source, IngestError> {
    source_named(agent).ok_or_else(|| IngestError::UnknownSource(agent.to_owned()))
}

/// Decides line by line, in file order, whether a line belongs to one of these sessions.
struct Judge<'a> {
    source: &'a dyn Source,
    sessions: &'a HashSet<String>,
    messages: Option<&'a HashSet<String>>,
    /// True if the last line that named a session named one of these.
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
