//! Reads the archive again with the current readers (`yore reindex`). Everything derived from it is rebuilt; ids stay the same,
//! because they derive from native ids alone. The source files are not needed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::Value;
use yore_core::id::TurnId;
use yore_core::time::UtcMillis;

use super::archive::Archive;
use super::entries::EntryMaker;
use super::error::IngestError;
use super::report::Observer;
use super::run::{Ingest, IngestLock};
use crate::store::{BlobKey, FileKey, FileNote, FileRow, Files, Pass, RowKey, Skips, StoreResult};
use yore_sources::parse::{NotJson, parse_line};
use yore_sources::source::{
    LineMark, Nature, Reading, SourceLine, TEXT_CUT, cap_texts, cover_ciphertext, drop_own_words, problem_of, source_named,
};
use yore_sources::source::{ReaderOptions, note};

/// Maximum number of turns in one transaction.
const MAX_TURNS: usize = 200;

/// Result of reading the archive again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReindexReport {
    /// Number of files, including deleted ones.
    pub files: u64,
    /// Number of lines in their archives.
    pub lines: u64,
    /// Number of additional turns that the current readers find.
    pub turns_added: u64,
    /// Number of turns that they read differently.
    pub turns_updated: u64,
    /// Number of turns that they no longer find.
    pub turns_removed: u64,
    /// Blobs of the archive whose content does not match their hash.
    pub damaged_blobs: BTreeSet<i64>,
    /// Number of lines in these blobs. The turns of their files are left unchanged.
    pub damaged_lines: u64,
}

impl Ingest<'_> {
    /// Reads every generation of every file from the archive.
    pub(crate) fn reindex(&mut self, options: &ReaderOptions, observer: &mut dyn Observer) -> Result<ReindexReport, IngestError> {
        let _lock = self.lock_ingestion(observer)?;
        let Pass { number, newest } = self.store.last_pass()?;
        let pass = number + 1;
        let files = self.store.files(Files::All)?;
        observer.found(files.len(), files.iter().map(|file| file.checkpoint.archived_bytes).sum());
        let mut report = ReindexReport::default();
        let generations = self.store.generations()?;
        for row in &files {
            self.store.note_files(&[row.id], FileNote::CountedAgain)?;
            let generations = generations_of(row, &generations);
            if row.source == note::KIND {
                self.read_note(row, &generations, pass, options, &mut report)?;
            } else {
                for generation in generations.into_iter().filter(|generation| is_read(row, *generation)) {
                    self.read_generation(row, generation, pass, options, Wanted::Everything, &mut report)?;
                }
            }
            report.files += 1;
            observer.advanced(row.checkpoint.archived_bytes);
        }
        self.store.settle_titles()?;
        report.turns_removed = self.store.sweep_turns(pass, newest)?;
        Ok(report)
    }

    /// Stores the readings of one generation of a file, or only the part of them that `wanted` names. Returns the time
    /// of the earliest turn.
    pub(super) fn read_generation(
        &mut self,
        row: &FileRow,
        generation: i64,
        pass: i64,
        options: &ReaderOptions,
        wanted: Wanted,
        report: &mut ReindexReport,
    ) -> Result<UtcMillis, IngestError> {
        let source = source_named(&row.source).ok_or_else(|| IngestError::UnknownSource(row.source.clone()))?;
        let mut reader = source.reader(Path::new(&row.path), "", options);
        let mut archive = Archive::new(self.store, self.keys.line);
        let store = self.store;
        let mut maker = EntryMaker { redactor: &self.redactor, resolver: &mut self.resolver, source, pass, now: self.now };
        let mut values: Vec<Value> = Vec::new();
        let mut pending: Vec<Reading> = Vec::new();
        let mut skips = Skips::new();
        let mut mark = LineMark::default();
        let mut earliest = UtcMillis::MAX;
        let mut commit = |pending: &mut Vec<Reading>, skips: &mut Skips, report: &mut ReindexReport| -> StoreResult<()> {
            match wanted {
                Wanted::Everything => {}
                Wanted::Titles => {
                    pending.retain(|reading| matches!(reading, Reading::Title(..) | Reading::TitleOfMessage(..)));
                    skips.clear();
                }
                Wanted::Version { before } => {
                    for reading in pending.iter_mut() {
                        if let Reading::Turn(read) = reading {
                            read.turn.time.utc = read.turn.time.utc.map(|at| at.min(before - 1));
                        }
                    }
                    let note = |reading: &Reading| if let Reading::Note(turn, _) = reading { Some(*turn) } else { None };
                    let notes: HashSet<TurnId> = pending.iter().filter_map(note).collect();
                    pending.retain(|reading| match reading {
                        Reading::Turn(read) => notes.contains(&read.turn.id),
                        reading => matches!(reading, Reading::Note(..)),
                    });
                    skips.clear();
                }
            }
            for reading in pending.iter() {
                if let Reading::Turn(read) = reading {
                    earliest = earliest.min(read.turn.time.utc.unwrap_or(UtcMillis::MAX));
                }
            }
            let names = maker.project_names(pending);
            let stored = store.store_again(row.id, &maker.entries(pending, &names), skips)?;
            report.turns_added += stored.added;
            report.turns_updated += stored.updated;
            pending.clear();
            skips.clear();
            Ok(())
        };
        let damaged = archive.read_what_is_whole(row.id, generation, |line| {
            mark.line += 1;
            report.lines += 1;
            if parse_line(line, &mut values) == Err(NotJson::Invalid) {
                skips.entry(("invalid-json".to_owned(), String::new())).or_insert((0, mark.line, 0)).0 += 1;
            }
            if let Some((reason, detail)) = problem_of(&values) {
                skips.entry((reason.to_owned(), detail.to_owned())).or_insert((0, mark.line, 0)).0 += 1;
                return Ok(());
            }
            cover_ciphertext(&mut values);
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
            if pending.len() >= MAX_TURNS { commit(&mut pending, &mut skips, report) } else { Ok(()) }
        })?;
        let before = pending.len();
        reader.finish(&mut pending);
        count_cut(&mut pending, before, &mut skips);
        drop_own_words(&mut pending, before);
        commit(&mut pending, &mut skips, report)?;
        if !damaged.is_empty() {
            // Turns that a reader cannot find because of damaged lines are not gone: they are kept.
            self.store.note_files(&[row.id], FileNote::Damaged(pass))?;
            report.damaged_lines += damaged.values().sum::<u64>();
            report.damaged_blobs.extend(damaged.into_keys().map(BlobKey::get));
        }
        Ok(earliest)
    }
}

/// The part of a generation to store when it is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Everything,
    /// Titles only.
    Titles,
    /// An older version of a note, given before this time; a later time is moved to just before it.
    Version {
        before: UtcMillis,
    },
}

/// Returns the generations of a file, oldest first.
fn generations_of(row: &FileRow, all: &[(FileKey, i64)]) -> Vec<i64> {
    let mut generations: Vec<i64> = all.iter().filter(|(file, _)| *file == row.id).map(|(_, generation)| *generation).collect();
    generations.sort_unstable();
    generations
}

/// Returns whether a file's generation is read. For a document only the newest text is; conversations are read in every
/// generation, because messages that were said stay said.
fn is_read(row: &FileRow, generation: i64) -> bool {
    let is_document = source_named(&row.source).is_some_and(|source| source.nature() == Nature::Document);
    !is_document || generation == row.checkpoint.generation
}

impl Ingest<'_> {
    /// Stores the versions of notes that an older yore left in the archive alone, while nothing else is stored or
    /// forgotten: the caller holds the lock.
    pub(crate) fn restore_note_versions(&mut self, _lock: &IngestLock) -> Result<(), IngestError> {
        let pass = self.store.last_pass()?.number;
        let generations = self.store.generations()?;
        let mut report = ReindexReport::default();
        for row in self.store.files(Files::All)?.iter().filter(|row| row.source == note::KIND) {
            self.read_note(row, &generations_of(row, &generations), pass, &ReaderOptions::default(), &mut report)?;
        }
        Ok(())
    }

    /// Stores the versions of a note, of which each is a generation of its file, newest first: a generation is older
    /// than the next one even where the clock says otherwise.
    fn read_note(
        &mut self,
        row: &FileRow,
        generations: &[i64],
        pass: i64,
        options: &ReaderOptions,
        report: &mut ReindexReport,
    ) -> Result<(), IngestError> {
        let mut before = UtcMillis::MAX;
        for generation in generations.iter().rev() {
            let is_newest = *generation == row.checkpoint.generation;
            let wanted = if is_newest { Wanted::Everything } else { Wanted::Version { before } };
            before = before.min(self.read_generation(row, *generation, pass, options, wanted, report)?);
        }
        Ok(())
    }
}

/// Differences between the stored turns and the archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Number of turns whose text is missing or cannot be read.
    pub missing: u64,
    /// Number of turns whose text differs from the archive.
    pub changed: u64,
}

impl Ingest<'_> {
    /// Reads the archive as [`Ingest::reindex`] does and compares it with the stored turns, without writing.
    /// Ignores turns that the archive does not contain, for example because it is damaged.
    pub(crate) fn compare(&self, options: &ReaderOptions) -> Result<Comparison, IngestError> {
        let mut said: HashMap<[u8; 16], Vec<u64>> = HashMap::new();
        let generations = self.store.generations()?;
        for row in self.store.files(Files::All)? {
            let Some(source) = source_named(&row.source) else { continue };
            let is_compared = |generation: i64| is_read(&row, generation);
            for (_, generation) in generations.iter().filter(|(file, generation)| *file == row.id && is_compared(*generation)) {
                let mut reader = source.reader(Path::new(&row.path), "", options);
                let mut archive = Archive::new(self.store, self.keys.line);
                let (mut values, mut readings, mut mark) = (Vec::new(), Vec::new(), LineMark::default());
                let mut take = |readings: &mut Vec<Reading>| {
                    cap_texts(readings, 0);
                    drop_own_words(readings, 0);
                    for reading in readings.drain(..) {
                        if let Reading::Turn(read) = reading {
                            let turn = &read.turn;
                            said.entry(*turn.id.as_bytes()).or_default().push(words_hash(&turn.text, &turn.tool_text));
                        }
                    }
                };
                archive.read_what_is_whole(row.id, *generation, |line| {
                    mark.line += 1;
                    let _ = parse_line(line, &mut values);
                    if problem_of(&values).is_none() {
                        reader.read(&SourceLine { values: &values, mark }, &mut readings);
                        take(&mut readings);
                    }
                    Ok(())
                })?;
                reader.finish(&mut readings);
                take(&mut readings);
            }
        }
        let mut comparison = Comparison::default();
        self.store.each_words(|turn, words| {
            let Some(known) = said.get(&turn) else { return };
            match words {
                None => comparison.missing += 1,
                Some((text, tool_text)) if !known.contains(&words_hash(text, tool_text)) => comparison.changed += 1,
                Some(_) => {}
            }
        })?;
        Ok(comparison)
    }
}

/// Returns a hash that is long enough to detect different texts.
fn words_hash(text: &str, tool_text: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes()).update(tool_text.as_bytes());
    u64::from_le_bytes(hasher.finalize().as_bytes().first_chunk::<8>().copied().unwrap_or_default())
}

/// Shortens long texts of the readings from `from` on, and counts them.
fn count_cut(readings: &mut [Reading], from: usize, skips: &mut Skips) {
    for line in cap_texts(readings, from) {
        skips.entry((TEXT_CUT.0.to_owned(), TEXT_CUT.1.to_owned())).or_insert((0, line, 0)).0 += 1;
    }
}
