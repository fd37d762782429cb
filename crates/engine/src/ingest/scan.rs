//! Applies the current redaction rules to the whole archive (`yore scan`). Secrets that older rules missed are removed from every
//! line, the same way [`forget`](super::forget) removes forgotten lines.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::archive::Archive;
use super::error::IngestError;
use super::report::Observer;
use super::run::Ingest;
use crate::store::{BlobKey, Files, StoreResult, Unused};
use yore_sources::parse::{NotJson, parse_line};
use yore_sources::redact::{RULES_VERSION, RedactionCounts};

/// Name of the fact in the database that records the rules with which all content was redacted.
const RULES: &str = "redaction-rules";

/// Result of a scan of the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Number of files, including deleted ones.
    pub files: u64,
    /// Number of lines in their archives.
    pub lines: u64,
    /// Number of lines in which the current rules find something.
    pub changed_lines: u64,
    /// Number of titles, directories and other names in which they find something.
    pub changed_names: u64,
    /// Number of texts of memories, entities, relations and the log of operations in which they find something.
    pub changed_memories: u64,
    /// Number of secrets found, by kind.
    pub redactions: RedactionCounts,
}

impl ScanReport {
    /// Returns whether there is nothing to remove.
    pub fn is_clean(&self) -> bool {
        self.changed_lines == 0 && self.changed_names == 0 && self.changed_memories == 0
    }
}

impl Ingest<'_> {
    /// Returns whether everything stored was scanned with the current rules, including the user's own.
    pub(crate) fn is_scanned(&self) -> StoreResult<bool> {
        Ok(self.store.fact(RULES)?.as_deref() == Some(self.rules_name().as_str()))
    }

    /// Records that everything was scanned with the current rules.
    pub(crate) fn note_scanned(&self) -> StoreResult<()> {
        self.store.set_fact(RULES, &self.rules_name())
    }

    fn rules_name(&self) -> String {
        format!("{RULES_VERSION} {}", self.redactor.fingerprint())
    }

    /// Scans the archive and the names and, unless `is_dry_run` is set, redacts them. The caller must rebuild
    /// the turns and indexes.
    pub(crate) fn scan(&mut self, is_dry_run: bool, observer: &mut dyn Observer) -> Result<ScanReport, IngestError> {
        // No process may read in new content during the scan.
        let _lock = self.lock_ingestion(observer)?;
        let mut report = ScanReport::default();
        let files = self.store.files(Files::All)?;
        let generations = self.store.generations()?;
        observer.found(files.len(), files.iter().map(|file| file.checkpoint.archived_bytes).sum());
        let mut archive = Archive::new(self.store, self.keys.line);
        let mut touched: HashSet<BlobKey> = HashSet::new();
        let mut values = Vec::new();
        for file in &files {
            for (_, generation) in generations.iter().filter(|(id, _)| *id == file.id) {
                let mut changed = Vec::new();
                archive.read_what_is_whole(file.id, *generation, |line| {
                    let is_changed = self.redacted_line(line, &mut values, &mut report.redactions).is_some();
                    report.lines += 1;
                    report.changed_lines += u64::from(is_changed);
                    changed.push(is_changed);
                    Ok(())
                })?;
                let mut at = 0;
                for segment in self.store.segments(file.id, *generation..=*generation)? {
                    let count = segment.run.count as usize;
                    if changed[at..at + count].contains(&true) {
                        touched.insert(segment.run.blob);
                    }
                    at += count;
                }
            }
            report.files += 1;
            observer.advanced(file.checkpoint.archived_bytes);
        }
        let redact = |text: &str, counts: &mut RedactionCounts| self.redactor.text(text, counts);
        report.changed_names = self.store.rename(is_dry_run, |name| redact(name, &mut report.redactions))?;
        report.changed_memories = self.store.redact_memories(
            is_dry_run,
            &mut report.redactions,
            &|text, counts| self.redactor.text(text, counts),
            &|value, counts| self.redactor.json(value, counts),
        )?;
        if is_dry_run {
            return Ok(report);
        }
        let mut uncounted = RedactionCounts::default();
        for (file, generation) in &generations {
            let segments = self.store.segments(*file, *generation..=*generation)?;
            if segments.iter().any(|segment| touched.contains(&segment.run.blob)) {
                self.rewrite(&mut archive, *file, *generation, &touched, |_, line| {
                    match self.redacted_line(line, &mut values, &mut uncounted) {
                        Some(redacted) => Cow::Owned(redacted),
                        None => Cow::Borrowed(line),
                    }
                })?;
            }
        }
        // Also those that a killed scan has left behind.
        self.store.release(Unused::Blobs)?;
        Ok(report)
    }

    /// Returns a line redacted with the current rules, or `None` if they find nothing.
    fn redacted_line(&self, line: &[u8], values: &mut Vec<Value>, counts: &mut RedactionCounts) -> Option<Vec<u8>> {
        match parse_line(line, values) {
            Ok(()) => {
                let mut is_changed = false;
                for value in values.iter_mut() {
                    is_changed |= self.redactor.json(value, counts);
                }
                is_changed.then(|| values.iter().flat_map(|value| serde_json::to_vec(value).unwrap_or_default()).collect())
            }
            Err(NotJson::Empty) => None,
            Err(NotJson::Invalid) => {
                let text = String::from_utf8_lossy(line);
                self.redactor.text(&text, counts).map(|redacted| redacted.replace('\n', " ").into_bytes())
            }
        }
    }
}
