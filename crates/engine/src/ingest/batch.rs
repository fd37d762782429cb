//! Reading ahead: a file's next lines, parsed, redacted and understood, ready to be stored in one
//! transaction. Runs in a thread of its own and knows no database.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;

use serde_json::Value;

use super::archive::LineBuffer;
use super::key::Keys;
use super::lines::{Line, Lines};
use super::parse::{NotJson, is_whole_object, parse_line};
use super::policy::CapturePolicy;
use super::redact::{RedactionCounts, Redactor};
use super::source::{EpisodeReader, LineMark, Reading, Source, SourceLine};

/// At most this many turns in a transaction (decision 3).
const MAX_TURNS: usize = 200;
/// At most about this many bytes of lines in a transaction.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Skipped lines: (reason, detail) to (count, first line, first offset).
pub(crate) type Skips = BTreeMap<(String, String), (u64, u64, u64)>;

/// What one transaction stores of a file.
#[derive(Default)]
pub(crate) struct Batch {
    /// New lines, redacted.
    pub lines: LineBuffer,
    /// What they say.
    pub readings: Vec<Reading>,
    pub skips: Skips,
    /// Lines that the policy keeps out.
    pub excluded: u64,
    /// The directory of one of them, empty when it was not recorded.
    pub kept_out: Option<String>,
    pub redactions: RedactionCounts,
    /// End of the archived part, in bytes and lines.
    pub archived: (u64, u64),
    /// Where a later reading must start, in bytes and lines before it.
    pub read: (u64, u64),
    pub state: String,
    /// Whether the end of the file was reached.
    pub is_last: bool,
    /// Unfinished bytes at the end of the file that are left for later.
    pub torn_bytes: u64,
}

/// From where a file is read on.
pub(crate) struct Start {
    pub archived: (u64, u64),
    pub read: (u64, u64),
    pub size: u64,
    /// Whether the archived part ends in a line that had no newline yet.
    pub is_unterminated: bool,
}

/// What reading needs besides the file.
pub(crate) struct Reader<'a> {
    pub source: &'a dyn Source,
    pub episodes: Box<dyn EpisodeReader>,
    pub redactor: &'a Redactor,
    pub keys: &'a Keys,
    pub tombstones: &'a HashSet<[u8; 16]>,
    pub max_line_bytes: usize,
    pub policy: &'a CapturePolicy,
    /// Whether lines that name no directory may be kept: what held for the last one that did.
    pub is_allowed: bool,
}

impl Reader<'_> {
    /// Reads to the end, handing over a batch at a time; `deliver` returns false to stop.
    pub(crate) fn run(mut self, file: File, start: &Start, mut deliver: impl FnMut(Batch) -> bool) -> io::Result<()> {
        let mut lines = Lines::new(file, start.read.0, start.size, self.max_line_bytes)?;
        let mut batch = Batch { archived: start.archived, read: start.read, ..Batch::default() };
        let mut line_number = start.read.1;
        let mut values = Vec::new();
        while let Some(line) = lines.next_line()? {
            let (from, to) = match line {
                Line::Complete { start: from, end, is_terminated } => {
                    // The newline that an accepted last line still lacked.
                    if start.is_unterminated && from == start.archived.0 && is_terminated && lines.bytes().is_empty() {
                        batch.archived.0 = end;
                        batch.read.0 = end;
                        continue;
                    }
                    if !is_terminated && !is_whole_object(lines.bytes()) {
                        batch.torn_bytes = end - from;
                        break;
                    }
                    (from, end)
                }
                Line::TooLong { start: from, end } => (from, end),
            };
            line_number += 1;
            let mark = LineMark { line: line_number, offset: from };
            let is_new = from >= start.archived.0;
            if matches!(line, Line::TooLong { .. }) {
                batch.skip("too-long", &format!("over {} MiB", self.max_line_bytes >> 20), mark, is_new);
                if is_new {
                    batch.lines.push(b"");
                }
            } else {
                self.take(lines.bytes(), mark, is_new, &mut values, &mut batch);
            }
            if to > batch.archived.0 {
                if !is_new && to > start.archived.0 + 1 {
                    // More was glued to a last line that had been taken for complete.
                    let known = (start.archived.0 - from) as usize;
                    self.archive_text(lines.bytes().get(known..).unwrap_or_default(), &mut batch);
                }
                batch.archived = (to, line_number.max(batch.archived.1));
            }
            if batch.readings.len() >= MAX_TURNS || batch.lines.byte_len() >= MAX_BYTES {
                let next = Batch { archived: batch.archived, ..Batch::default() };
                self.mark_position(&mut batch, (to, line_number));
                let ready = std::mem::replace(&mut batch, next);
                if !deliver(ready) {
                    return Ok(());
                }
            }
        }
        let end = if line_number == start.read.1 { batch.read } else { (batch.archived.0, line_number) };
        self.mark_position(&mut batch, end);
        self.episodes.finish(&mut batch.readings);
        batch.is_last = true;
        deliver(batch);
        Ok(())
    }

    /// Notes from where the next reading must start.
    fn mark_position(&self, batch: &mut Batch, next: (u64, u64)) {
        (batch.read, batch.state) = match self.episodes.open_since() {
            Some((mark, state)) => ((mark.offset, mark.line - 1), state),
            None => (next, self.episodes.state()),
        };
    }

    fn take(&mut self, bytes: &[u8], mark: LineMark, is_new: bool, values: &mut Vec<Value>, batch: &mut Batch) {
        let parsed = parse_line(bytes, values);
        if !self.tombstones.is_empty() && values.iter().any(|value| self.is_buried(value)) {
            if is_new {
                batch.lines.push(b"");
            }
            return;
        }
        if self.policy.looks_at_directories() {
            let directory = values.iter().find_map(|value| self.source.owner(value).directory);
            if let Some(directory) = directory {
                self.is_allowed = self.policy.allows_directory(directory);
            }
            if !self.is_allowed {
                if is_new {
                    batch.lines.push(b"");
                    batch.excluded += 1;
                    batch.kept_out = directory.map(str::to_owned).or(batch.kept_out.take()).or(Some(String::new()));
                }
                return;
            }
        }
        let mut counts = RedactionCounts::default();
        let mut is_changed = false;
        for value in values.iter_mut() {
            is_changed |= self.redactor.json(value, &mut counts);
        }
        if is_new {
            match parsed {
                Ok(()) if !is_changed => batch.lines.push(bytes),
                Ok(()) => {
                    let mut line = Vec::with_capacity(bytes.len());
                    for value in values.iter() {
                        if let Ok(text) = serde_json::to_vec(value) {
                            line.extend_from_slice(&text);
                        }
                    }
                    batch.lines.push(&line);
                }
                Err(NotJson::Empty) => batch.lines.push(b""),
                Err(NotJson::Invalid) => {
                    self.archive_text(bytes, batch);
                    batch.skip("invalid-json", "", mark, true);
                }
            }
            batch.redactions.merge(&counts);
        }
        let before = batch.readings.len();
        self.episodes.read(&SourceLine { values, mark }, &mut batch.readings);
        // Skips are counted once, when the line is new.
        let mut at = before;
        while at < batch.readings.len() {
            if let Reading::Skip(reason, detail) = &batch.readings[at] {
                let (reason, detail) = (*reason, detail.clone());
                batch.readings.remove(at);
                batch.skip(reason, &detail, mark, is_new);
            } else {
                at += 1;
            }
        }
    }

    /// Archives what is no JSON, as text.
    fn archive_text(&self, bytes: &[u8], batch: &mut Batch) {
        let text = String::from_utf8_lossy(bytes);
        match self.redactor.text(&text, &mut batch.redactions) {
            Some(redacted) => batch.lines.push(redacted.replace('\n', " ").as_bytes()),
            None => batch.lines.push(bytes),
        }
    }

    fn is_buried(&self, value: &Value) -> bool {
        let owner = self.source.owner(value);
        let is_in = |what: &str, id: &str| self.tombstones.contains(&self.keys.tombstone_hash(self.source.kind(), what, id));
        owner.session.is_some_and(|session| is_in("session", &session))
            || owner.message.into_iter().chain(owner.about).any(|message| is_in("message", message))
    }
}

impl Batch {
    fn skip(&mut self, reason: &str, detail: &str, mark: LineMark, is_new: bool) {
        if is_new {
            self.skips.entry((reason.to_owned(), detail.to_owned())).or_insert((0, mark.line, mark.offset)).0 += 1;
        }
    }
}
