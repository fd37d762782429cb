//! Stores batches.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;

use rusqlite::Transaction;
use yore_core::episode::Title;
use yore_core::id::{ProjectId, TurnId};
use yore_core::scope::{ProjectAlias, directory_name, is_within, normalize_directory};
use yore_core::time::UtcMillis;

use super::archive::Archive;
use super::batch::Batch;
use super::file_error::FileError;
use super::key::Keys;
use super::peek::fingerprint;
use super::project::{ProjectNames, ProjectResolver};
use super::redact::{RULES_VERSION, RedactionCounts, Redactor};
use super::report::IngestReport;
use super::source::{ReadTurn, Reading};
use crate::store::{Advance, Checkpoint, FileRow, Store, StoreError, TurnFacts, UpsertOutcome, Upserter};

/// Stores batches.
pub(super) struct Writer<'a> {
    pub(super) store: &'a Store,
    pub(super) holder: &'a str,
    pub(super) keys: &'a Keys,
    pub(super) redactor: &'a Redactor,
    pub(super) now: fn() -> UtcMillis,
    pub(super) resolver: &'a mut ProjectResolver,
    pub(super) source: &'static str,
    pub(super) reading: i64,
    /// Whether a new reading takes the place of the old one.
    pub(super) is_document: bool,
    /// What this whole reading of a unit has given so far, if it is whole: the counts, turns and
    /// lines of earlier ones are replaced by it.
    pub(super) replaces: Option<HashSet<TurnId>>,
    /// Of such a reading: hashes of what its lines are about.
    pub(super) owners: HashSet<u64>,
}

impl Writer<'_> {
    /// One transaction: lines, turns, counts and the checkpoint, all or nothing.
    pub(super) fn commit(
        &mut self,
        archive: &mut Archive<'_>,
        row: &mut FileRow,
        at: &mut Checkpoint,
        batch: &Batch,
        file: Option<&mut File>,
        report: &mut IngestReport,
    ) -> Result<(), FileError> {
        let is_first = at.archived_lines == 0;
        at.archived_bytes = batch.archived.0;
        at.archived_lines = batch.archived.1;
        at.read_bytes = batch.read.0;
        at.read_lines = batch.read.1;
        if file.is_some() {
            at.reader_state.clone_from(&batch.state);
        }
        at.rules_version = RULES_VERSION;
        if let Some(directory) = &batch.kept_out {
            at.kept_out = Some(directory.clone());
        }
        at.fingerprint = match file {
            Some(file) if at.archived_bytes > 0 => Some(fingerprint(self.keys, file, at.archived_bytes)?),
            _ => None,
        };
        let (size, mtime_ns) = (at.size, at.mtime_ns);
        if !batch.is_last {
            // Until the end is reached the file must not look finished.
            at.size = at.archived_bytes;
            at.mtime_ns = 0;
        }
        let names = self.project_names(&batch.readings);
        let now = (self.now)();
        if let Some(given) = &mut self.replaces {
            self.owners.extend(&batch.owners);
            given.extend(batch.readings.iter().filter_map(|reading| match reading {
                Reading::Turn(read) => Some(read.turn.id),
                _ => None,
            }));
        }
        loop {
            let plan = if batch.lines.len() > 0 { Some(archive.plan(row.id, at.generation, &batch.lines)?) } else { None };
            let mut outcomes = [0u64; 4];
            let is_done = self.store.write(|tx| {
                if let Some(plan) = &plan {
                    let Some(runs) = archive.apply(tx, plan)? else { return Ok(false) };
                    self.store.append_segments(tx, row.id, at.generation, &runs)?;
                }
                if self.replaces.is_some() && is_first && self.is_document {
                    self.store.reset_document(tx, row.id)?;
                }
                outcomes = self.store_readings(tx, row.id, &batch.readings, &names, now)?;
                if !batch.own_sessions.is_empty() {
                    self.store.bury(tx, &batch.own_sessions.iter().copied().collect::<Vec<_>>(), now)?;
                }
                if self.replaces.is_some() && is_first {
                    self.store.reset_counts(tx, row.id)?;
                }
                self.store.count_skips(tx, row.id, &batch.skips)?;
                self.store.count_redactions(tx, row.id, &batch.redactions.iter().collect::<Vec<_>>())?;
                if let Some(given) = self.replaces.as_ref().filter(|_| batch.is_last && self.is_document) {
                    self.store.retire_turns(tx, row.id, given)?;
                }
                self.store.advance_file(tx, row, at, Advance { owner: self.holder, now, release: batch.is_last })?;
                Ok(true)
            })?;
            if is_done {
                report.turns_added += outcomes[0];
                report.turns_updated += outcomes[1];
                report.turns_shared += outcomes[2];
                break;
            }
        }
        row.checkpoint = at.clone();
        (at.size, at.mtime_ns) = (size, mtime_ns);
        report.lines += batch.lines.len() as u64;
        report.lines_excluded += batch.excluded;
        report.torn_bytes += batch.torn_bytes;
        report.redactions.merge(&batch.redactions);
        for (key, (count, ..)) in &batch.skips {
            *report.skips.entry(key.clone()).or_default() += count;
        }
        Ok(())
    }

    /// Looks every directory of a batch up, before the transaction.
    pub(super) fn project_names(&mut self, readings: &[Reading]) -> HashMap<String, ProjectNames> {
        let mut names = HashMap::new();
        for reading in readings {
            let Reading::Turn(read) = reading else { continue };
            for cwd in [&read.episode.cwd, &read.turn.cwd].into_iter().flatten() {
                if !names.contains_key(cwd) {
                    names.insert(cwd.clone(), self.resolver.resolve(cwd).clone());
                }
            }
        }
        names
    }

    /// A title as it is stored: one that comes from the name of a file has not been redacted with a record.
    fn redacted_title(&self, title: &Title) -> Title {
        let text = self.redactor.text(&title.text, &mut RedactionCounts::default());
        Title { text: text.unwrap_or_else(|| title.text.clone()), ..title.clone() }
    }

    /// Stores what was read; returns how many turns were added, updated, shared, unchanged.
    pub(super) fn store_readings(
        &self,
        tx: &Transaction<'_>,
        file: i64,
        readings: &[Reading],
        names: &HashMap<String, ProjectNames>,
        now: UtcMillis,
    ) -> Result<[u64; 4], StoreError> {
        let mut upserter = Upserter::new(self.store, tx);
        let mut outcomes = [0; 4];
        // Titles last: which session a message is of is known once its turn is stored.
        let is_about_message = |reading: &&Reading| matches!(reading, Reading::TitleOfMessage(..));
        let (about_messages, others): (Vec<&Reading>, Vec<&Reading>) = readings.iter().partition(is_about_message);
        for reading in others.into_iter().chain(about_messages) {
            match reading {
                Reading::Turn(read) => {
                    let outcome = self.store_turn(&mut upserter, file, read, names, now)?;
                    outcomes[match outcome {
                        UpsertOutcome::Added => 0,
                        UpsertOutcome::Updated => 1,
                        UpsertOutcome::Shared => 2,
                        UpsertOutcome::Unchanged => 3,
                    }] += 1;
                }
                Reading::Title(episode, title) => {
                    if let Some(row) = upserter.find_episode(&episode.id)? {
                        upserter.title(row.id, &self.redacted_title(title))?;
                    }
                }
                Reading::TitleOfMessage(message, title) => match upserter.episode_of_message(self.source, message, Some(file))? {
                    Some(episode) => upserter.title(episode, &self.redacted_title(title))?,
                    None => upserter.title_later(self.source, message, &self.redacted_title(title))?,
                },
                Reading::Link(episode, kind, value) => {
                    if let Some(row) = upserter.find_episode(&episode.id)? {
                        upserter.link(row.id, kind, value)?;
                    }
                }
                Reading::Skip(..) => {}
            }
        }
        upserter.finish()?;
        Ok(outcomes)
    }

    fn store_turn(
        &self,
        upserter: &mut Upserter<'_, '_>,
        file: i64,
        read: &ReadTurn,
        names: &HashMap<String, ProjectNames>,
        now: UtcMillis,
    ) -> Result<UpsertOutcome, StoreError> {
        let episode = &read.episode;
        let row = match upserter.find_episode(&episode.id)? {
            Some(row) if row.project.is_some() => row,
            _ => {
                let project = match (&episode.project, episode.cwd.as_ref().and_then(|cwd| names.get(cwd))) {
                    (Some(name), _) => {
                        Some(self.project(upserter, &[(ProjectAlias::Name(name.clone()), name.clone())], name, now)?)
                    }
                    (None, Some(known)) => Some(self.project(upserter, &known.aliases, &known.name, now)?),
                    (None, None) => None,
                };
                upserter.episode(episode, project)?
            }
        };
        // A directory below the session's first one is the same project; elsewhere it may be another.
        let project = match (&read.turn.cwd, &row.cwd) {
            (Some(cwd), Some(first)) if !is_within(&normalize_directory(cwd), &normalize_directory(first)) => {
                match names.get(cwd) {
                    Some(known) => Some(self.project(upserter, &known.aliases, &known.name, now)?),
                    None => row.project,
                }
            }
            _ => row.project,
        };
        upserter.turn(
            self.source,
            &row,
            &read.turn,
            TurnFacts { file, line: read.line, project, reading: self.reading, is_document: self.is_document },
        )
    }

    fn project(
        &self,
        upserter: &mut Upserter<'_, '_>,
        aliases: &[(ProjectAlias, String)],
        name: &str,
        now: UtcMillis,
    ) -> Result<i64, StoreError> {
        let mut random = [0u8; 10];
        getrandom::fill(&mut random).map_err(|error| StoreError::Io {
            path: self.store.path().to_path_buf(),
            error: io::Error::other(error.to_string()),
        })?;
        let name = if name.is_empty() { directory_name(aliases.first().map_or("", |(alias, _)| alias.value())) } else { name };
        upserter.project(aliases, name, ProjectId::new(now.max(0) as u64, random), now)
    }
}
