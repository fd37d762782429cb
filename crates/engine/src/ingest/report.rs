//! The report of an ingestion, and the observer of its progress.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::request::SourceRoot;
use yore_sources::disk::{is_passing, readable};
use yore_sources::redact::RedactionCounts;
use yore_sources::source::{Known, NothingKnown, Source, Unit, noticing};

/// Receives progress reports. Every method may do nothing.
pub trait Observer {
    /// Called with the number of files and bytes to be checked.
    fn found(&mut self, _files: usize, _bytes: u64) {}
    /// Called when this many more bytes are done.
    fn advanced(&mut self, _bytes: u64) {}
    /// Called when a conversation or file was read that contained something new.
    fn learned(&mut self, _unit: &LearnedUnit<'_>) {}
    /// Returns whether to stop at the next safe point. Finished work is kept.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// New content of one conversation or file that was read.
#[derive(Clone, Copy, Debug)]
pub struct LearnedUnit<'a> {
    /// Display name of its source.
    pub source: &'static str,
    /// Its file name as stored, with `#part` for a part.
    pub name: &'a str,
    /// Number of new turns.
    pub turns_added: u64,
    /// Number of turns replaced by a fuller copy.
    pub turns_updated: u64,
}

/// An observer that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Result of an ingestion.
#[derive(Clone, Debug, Default)]
pub struct IngestReport {
    /// Number of files checked.
    pub files: u64,
    /// Number of files with something new.
    pub files_read: u64,
    /// Number of unchanged files.
    pub files_unchanged: u64,
    /// Number of files without a single line.
    pub files_empty: u64,
    /// Number of files that another process is reading at the moment.
    pub files_busy: u64,
    /// Number of files that shrank or were overwritten since the last time, and were read again from the
    /// beginning.
    pub files_rewritten: u64,
    /// Number of files that no longer exist. Their content is kept.
    pub files_gone: u64,
    /// Number of files that the configuration excludes.
    pub files_excluded: u64,
    /// Number of files that were left for later, because only the newest were to be read.
    pub files_left: u64,
    /// Number of bytes read.
    pub bytes_read: u64,
    /// Number of lines archived.
    pub lines: u64,
    /// Number of lines that the configuration excludes.
    pub lines_excluded: u64,
    /// Number of new turns.
    pub turns_added: u64,
    /// Number of turns replaced by a fuller copy.
    pub turns_updated: u64,
    /// Number of turns found to belong to another session.
    pub turns_shared: u64,
    /// Number of bytes of unfinished last lines, left for the next time.
    pub torn_bytes: u64,
    /// Redactions by kind.
    pub redactions: RedactionCounts,
    /// Skipped lines: number by reason and detail.
    pub skips: BTreeMap<(String, String), u64>,
    /// Files and folders that could not be read, and why.
    pub failures: Vec<(PathBuf, String)>,
    /// Files that could not be read for a possibly temporary reason, and the reason: a share that is offline,
    /// a disk that did not respond.
    pub passing: Vec<(PathBuf, String)>,
    /// Number of files and bytes, by source kind.
    pub by_source: BTreeMap<String, (u64, u64)>,
    /// Roots under which nothing of their source was found.
    pub empty_roots: Vec<SourceRoot>,
    /// True if the observer stopped the work.
    pub is_cancelled: bool,
}

impl IngestReport {
    /// Returns the units of a root that are read. If the source has more than its limit, the report says so.
    pub fn discovered(&mut self, source: &dyn Source, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let (mut units, unread) = noticing(|| source.discover(root, known));
        unread.paths.into_iter().for_each(|(path, error)| self.not_read(path, &error));
        if unread.more > 0 {
            let more = format!("{} more files and folders below it cannot be read", unread.more);
            self.not_read(root.to_path_buf(), &io::Error::other(more));
        }
        if let Some(most) = source.most_units().filter(|most| units.len() > *most) {
            units.truncate(most);
            let detail = format!("only the first {most} below {} are read", root.display());
            *self.skips.entry(("too-many-files".to_owned(), detail)).or_default() += 1;
        }
        units
    }

    /// Adds a file or folder that could not be read. Roots may overlap: each is told once.
    pub(super) fn not_read(&mut self, path: PathBuf, error: &io::Error) {
        let unread = if is_passing(error) { &mut self.passing } else { &mut self.failures };
        if !unread.iter().any(|(known, _)| *known == path) {
            unread.push((path, error.to_string()));
        }
    }

    /// Returns all files and folders that could not be read, and why.
    pub fn unread(&self) -> impl Iterator<Item = &(PathBuf, String)> {
        self.failures.iter().chain(&self.passing)
    }

    /// Returns the result of this ingestion and of a second one of the same roots, which found unchanged what this one had read.
    #[must_use]
    pub fn followed_by(self, second: Self) -> Self {
        let first = Self {
            files: 0,
            files_unchanged: 0,
            files_empty: 0,
            files_busy: 0,
            files_excluded: 0,
            files_left: 0,
            failures: Vec::new(),
            passing: Vec::new(),
            by_source: BTreeMap::new(),
            empty_roots: Vec::new(),
            ..self
        };
        let mut both = Self { files_unchanged: second.files_unchanged.saturating_sub(first.files_read), ..second };
        both.merge(first);
        both
    }

    /// Adds the result of another ingestion.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.files_read += other.files_read;
        self.files_unchanged += other.files_unchanged;
        self.files_empty += other.files_empty;
        self.files_busy += other.files_busy;
        self.files_rewritten += other.files_rewritten;
        self.files_gone += other.files_gone;
        self.files_excluded += other.files_excluded;
        self.files_left += other.files_left;
        self.bytes_read += other.bytes_read;
        self.lines += other.lines;
        self.lines_excluded += other.lines_excluded;
        self.turns_added += other.turns_added;
        self.turns_updated += other.turns_updated;
        self.turns_shared += other.turns_shared;
        self.torn_bytes += other.torn_bytes;
        self.redactions.merge(&other.redactions);
        for (skip, count) in other.skips {
            *self.skips.entry(skip).or_default() += count;
        }
        self.failures.extend(other.failures);
        self.passing.extend(other.passing);
        for (source, (files, bytes)) in other.by_source {
            let counts = self.by_source.entry(source).or_default();
            *counts = (counts.0 + files, counts.1 + bytes);
        }
        self.empty_roots.extend(other.empty_roots);
        self.is_cancelled |= other.is_cancelled;
    }
}

/// Returns the files and folders below a root of a source that cannot be read now, and why.
pub fn unreadable(source: &dyn Source, root: &Path) -> Vec<(PathBuf, String)> {
    let mut report = IngestReport::default();
    if let Err(error) = readable(root) {
        report.not_read(root.to_path_buf(), &error);
    } else {
        let mut seen = HashSet::new();
        for Unit { path, .. } in report.discovered(source, root, &NothingKnown) {
            if seen.insert(path.clone())
                && let Err(error) = File::open(&path)
            {
                report.not_read(path, &error);
            }
        }
    }
    report.unread().cloned().collect()
}
