//! Stores the batches of a unit, and counts what was stored.

use std::collections::HashSet;
use std::fs::File;

use yore_core::id::TurnId;

use super::archive::Archive;
use super::batch::Batch;
use super::entries::EntryMaker;
use super::file_error::FileError;
use super::fingerprint::fingerprint;
use super::key::Keys;
use super::report::IngestReport;
use crate::store::{Advance, Checkpoint, Commit, FileRow, Store};
use yore_sources::redact::RULES_VERSION;
use yore_sources::source::Reading;

/// Stores batches.
pub(super) struct Writer<'a> {
    pub(super) store: &'a Store,
    pub(super) holder: &'a str,
    pub(super) keys: &'a Keys,
    pub(super) entries: EntryMaker<'a>,
    /// Turns that this reading of a unit has given so far, if it reads the whole unit. The reading replaces
    /// the counts, turns and lines of earlier ones.
    pub(super) replaces: Option<HashSet<TurnId>>,
    /// For such a reading: hashes of what its lines are about.
    pub(super) owners: HashSet<u64>,
}

impl Writer<'_> {
    /// Stores a batch in one transaction: lines, turns, counts and the checkpoint, all or nothing.
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
            // The file must not look finished before its end is reached.
            at.size = at.archived_bytes;
            at.mtime_ns = 0;
        }
        if let Some(given) = &mut self.replaces {
            self.owners.extend(&batch.owners);
            given.extend(batch.readings.iter().filter_map(|reading| match reading {
                Reading::Turn(read) => Some(read.turn.id),
                _ => None,
            }));
        }
        let names = self.entries.project_names(&batch.readings);
        let entries = self.entries.entries(&batch.readings, &names);
        let stored = loop {
            let plan = if batch.lines.len() > 0 { Some(archive.plan(row.id, at.generation, &batch.lines)?) } else { None };
            let commit = Commit {
                file: row,
                to: at,
                advance: Advance { owner: self.holder, now: entries.now, release: batch.is_last },
                lines: plan.as_ref(),
                entries: &entries,
                skips: &batch.skips,
                redactions: batch.redactions.iter().collect(),
                buried: batch.own_sessions.iter().copied().collect(),
                begins_anew: self.replaces.is_some() && is_first,
                keeps_only: self.replaces.as_ref().filter(|_| batch.is_last && entries.is_document),
            };
            if let Some(stored) = self.store.commit(&commit)? {
                break stored;
            }
        };
        report.turns_added += stored.added;
        report.turns_updated += stored.updated;
        report.turns_shared += stored.shared;
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
}
