//! What reading does, while it does it and afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::redact::RedactionCounts;
use super::request::SourceRoot;
use super::source::{Known, Source, Unit};

/// Hears how the work goes; every method may do nothing.
pub trait Observer {
    /// These files and bytes will be looked at.
    fn found(&mut self, _files: usize, _bytes: u64) {}
    /// So many bytes more are done.
    fn advanced(&mut self, _bytes: u64) {}
    /// One conversation or file was read, and something in it was new.
    fn learned(&mut self, _unit: &LearnedUnit<'_>) {}
    /// Whether to stop at the next safe point; what was done stays done.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// What the reading of one conversation or file brought.
#[derive(Clone, Copy, Debug)]
pub struct LearnedUnit<'a> {
    /// What people call its source.
    pub source: &'static str,
    /// Its file as it is stored, and `#part` for a part.
    pub name: &'a str,
    /// New turns.
    pub turns_added: u64,
    /// Turns replaced by a fuller copy.
    pub turns_updated: u64,
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// What an ingestion did.
#[derive(Clone, Debug, Default)]
pub struct IngestReport {
    /// Files looked at.
    pub files: u64,
    /// Files with something new.
    pub files_read: u64,
    /// Files as they were.
    pub files_unchanged: u64,
    /// Files without a single line.
    pub files_empty: u64,
    /// Files that another process is reading at the moment.
    pub files_busy: u64,
    /// Files that shrank or were overwritten since the last time, read again from the beginning.
    pub files_rewritten: u64,
    /// Files that are not there any more; their content is.
    pub files_gone: u64,
    /// Files that the configuration keeps out.
    pub files_excluded: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Lines archived.
    pub lines: u64,
    /// Lines that the configuration keeps out.
    pub lines_excluded: u64,
    /// New turns.
    pub turns_added: u64,
    /// Turns replaced by a fuller copy.
    pub turns_updated: u64,
    /// Turns found to belong to another session.
    pub turns_shared: u64,
    /// Bytes of unfinished last lines, left for the next time.
    pub torn_bytes: u64,
    /// Redactions by kind.
    pub redactions: RedactionCounts,
    /// Skipped lines: (reason, detail) to count.
    pub skips: BTreeMap<(String, String), u64>,
    /// Files that could not be read, and why.
    pub failures: Vec<(PathBuf, String)>,
    /// Files that could not be read for a reason that may pass by itself, and the reason: a share that is
    /// away, a disk that did not answer.
    pub passing: Vec<(PathBuf, String)>,
    /// By source kind: files, bytes.
    pub by_source: BTreeMap<String, (u64, u64)>,
    /// Roots under which nothing of their source was found.
    pub empty_roots: Vec<SourceRoot>,
    /// Whether the observer stopped the work.
    pub is_cancelled: bool,
}

impl IngestReport {
    /// The units of a root that are read; where there are more, that is told.
    pub fn discovered(&mut self, source: &dyn Source, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let mut units = source.discover(root, known);
        if let Some(most) = source.most_units().filter(|most| units.len() > *most) {
            units.truncate(most);
            let detail = format!("only the first {most} below {} are read", root.display());
            *self.skips.entry(("too-many-files".to_owned(), detail)).or_default() += 1;
        }
        units
    }

    /// All files that could not be read, and why.
    pub fn unread(&self) -> impl Iterator<Item = &(PathBuf, String)> {
        self.failures.iter().chain(&self.passing)
    }

    /// Adds what another ingestion did.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.files_read += other.files_read;
        self.files_unchanged += other.files_unchanged;
        self.files_empty += other.files_empty;
        self.files_busy += other.files_busy;
        self.files_rewritten += other.files_rewritten;
        self.files_gone += other.files_gone;
        self.files_excluded += other.files_excluded;
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
