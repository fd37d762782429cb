//! The archive read again, by the readers of today: everything derived from it is rebuilt while
//! ids stay, because they derive from native ids alone. Nothing needs the source files.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::archive::Archive;
use super::batch::Skips;
use super::parse::{NotJson, parse_line};
use super::source::{LineMark, Nature, Reading, SourceLine, TEXT_CUT, cap_texts, drop_own_words, problem_of, source_named};
use super::{Ingest, IngestError, Observer, ReaderOptions, Writer};
use crate::store::{FileRow, StoreError, StoreResult};

/// Turns in one transaction.
const MAX_TURNS: usize = 200;

/// What reading the archive again did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReindexReport {
    /// Files, gone ones included.
    pub files: u64,
    /// Lines of their archives.
    pub lines: u64,
    /// Turns that the readers of today find in addition.
    pub turns_added: u64,
    /// Turns that they read differently.
    pub turns_updated: u64,
    /// Turns that they do not find any more.
    pub turns_removed: u64,
}

impl Ingest<'_> {
    /// Reads every generation of every file from the archive.
    pub(crate) fn reindex(&mut self, options: &ReaderOptions, observer: &mut dyn Observer) -> Result<ReindexReport, IngestError> {
        let _turn = self.take_turn(observer)?;
        let reading = self.store.last_reading()? + 1;
        let newest = self.store.newest_turn()?;
        let files = self.store.files()?;
        observer.found(files.len(), files.iter().map(|file| file.checkpoint.archived_bytes).sum());
        let mut report = ReindexReport::default();
        let generations = self.store.generations()?;
        for row in &files {
            self.store.write(|tx| self.store.reset_skips(tx, row.id))?;
            // Of a document only the newest text is read; conversations were said as often as they changed.
            let is_document = source_named(&row.source).is_some_and(|source| source.nature() == Nature::Document);
            for (_, generation) in generations
                .iter()
                .filter(|(file, generation)| *file == row.id && (!is_document || *generation == row.checkpoint.generation))
            {
                self.read_generation(row, *generation, reading, options, &mut report)?;
            }
            report.files += 1;
            observer.advanced(row.checkpoint.archived_bytes);
        }
        self.store.settle_titles()?;
        report.turns_removed = self.store.sweep_turns(reading, newest)?;
        Ok(report)
    }

    fn read_generation(
        &mut self,
        row: &FileRow,
        generation: i64,
        reading: i64,
        options: &ReaderOptions,
        report: &mut ReindexReport,
    ) -> Result<(), IngestError> {
        let source = source_named(&row.source).ok_or_else(|| IngestError::UnknownSource(row.source.clone()))?;
        let mut reader = source.reader(Path::new(&row.path), "", options);
        let mut archive = Archive::new(self.store, self.keys.line, 1);
        let mut writer = Writer {
            store: self.store,
            holder: self.holder.name(),
            keys: &self.keys,
            redactor: &self.redactor,
            now: self.now,
            resolver: &mut self.resolver,
            source: source.kind(),
            reading,
            is_document: source.nature() == Nature::Document,
            replaces: None,
            owners: HashSet::new(),
        };
        let mut values: Vec<Value> = Vec::new();
        let mut pending: Vec<Reading> = Vec::new();
        let mut skips = Skips::new();
        let mut mark = LineMark::default();
        let store = |writer: &mut Writer<'_>,
                     pending: &mut Vec<Reading>,
                     skips: &mut Skips,
                     report: &mut ReindexReport|
         -> StoreResult<()> {
            let names = writer.project_names(pending);
            let now = (writer.now)();
            let outcomes = writer.store.write(|tx| {
                writer.store.count_skips(tx, row.id, skips)?;
                writer.store_readings(tx, row.id, pending, &names, now)
            })?;
            report.turns_added += outcomes[0];
            report.turns_updated += outcomes[1];
            pending.clear();
            skips.clear();
            Ok(())
        };
        archive.read_file(row.id, generation, |line| {
            mark.line += 1;
            report.lines += 1;
            if parse_line(line, &mut values) == Err(NotJson::Invalid) {
                skips.entry(("invalid-json".to_owned(), String::new())).or_insert((0, mark.line, 0)).0 += 1;
            }
            if let Some((reason, detail)) = problem_of(&values) {
                skips.entry((reason.to_owned(), detail.to_owned())).or_insert((0, mark.line, 0)).0 += 1;
                return Ok(());
            }
            let before = pending.len();
            reader.read(&SourceLine { values: &values, mark }, &mut pending);
            count_cut(&mut pending, before, &mut skips);
            drop_own_words(&mut pending, before);
            pending.retain(|reading| match reading {
                Reading::Skip(reason, detail) => {
                    skips.entry(((*reason).to_owned(), detail.clone())).or_insert((0, mark.line, 0)).0 += 1;
                    false
                }
                _ => true,
            });
            if pending.len() >= MAX_TURNS { store(&mut writer, &mut pending, &mut skips, report) } else { Ok(()) }
        })?;
        let before = pending.len();
        reader.finish(&mut pending);
        count_cut(&mut pending, before, &mut skips);
        drop_own_words(&mut pending, before);
        store(&mut writer, &mut pending, &mut skips, report)?;
        Ok(())
    }

    /// Blobs that do not hold what their hash says.
    pub(crate) fn damaged_blobs(&self) -> Result<Vec<i64>, IngestError> {
        let mut archive = Archive::new(self.store, self.keys.line, 1);
        let mut damaged = Vec::new();
        for (blob, hash) in self.store.blob_hashes()? {
            if !archive.is_sound(blob, &hash)? {
                damaged.push(blob);
            }
        }
        Ok(damaged)
    }

    /// Writes a file as it is archived (redacted) to `out`, the last generation; lines that were
    /// forgotten or kept out are left out.
    pub(crate) fn write_archived(&self, file: &FileRow, out: &mut dyn io::Write) -> Result<(), IngestError> {
        let mut archive = Archive::new(self.store, self.keys.line, 1);
        let path = || file.path.clone().into();
        archive.read_file(file.id, file.checkpoint.generation, |line| {
            if line.is_empty() {
                return Ok(());
            }
            out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(|error| StoreError::Io { path: path(), error })
        })?;
        Ok(())
    }
}

/// Cuts long texts of the readings from `from` on, and counts them.
fn count_cut(readings: &mut [Reading], from: usize, skips: &mut Skips) {
    for line in cap_texts(readings, from) {
        skips.entry((TEXT_CUT.0.to_owned(), TEXT_CUT.1.to_owned())).or_insert((0, line, 0)).0 += 1;
    }
}
