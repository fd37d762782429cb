//! The reading thread: parses, redacts and groups the next lines of a file while another thread stores. Runs in its own thread
//! and does not use the database.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use serde_json::Value;

use super::archive::LineBuffer;
use super::key::Keys;
use super::policy::CapturePolicy;
use crate::store::Skips;
use yore_sources::lines::{Line, Lines};
use yore_sources::parse::{NotJson, is_whole_object, parse_line};
use yore_sources::redact::{RedactionCounts, Redactor};
use yore_sources::source::{
    EpisodeReader, LineMark, Reading, Source, SourceLine, TEXT_CUT, cap_texts, cover_ciphertext, drop_own_words, problem_of,
};

/// Maximum number of turns in a transaction.
const MAX_TURNS: usize = 200;
/// Approximate maximum number of bytes of lines in a transaction.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// The part of a file that one transaction stores.
#[derive(Default)]
pub(crate) struct Batch {
    /// New lines, redacted.
    pub lines: LineBuffer,
    /// Readings of these lines.
    pub readings: Vec<Reading>,
    pub skips: Skips,
    /// Number of lines that the policy excludes.
    pub excluded: u64,
    /// Directory of one of the excluded lines; empty if it was not recorded.
    pub kept_out: Option<String>,
    pub redactions: RedactionCounts,
    /// Hashes of sessions that are yore's own calls to a model. They are never read again.
    pub own_sessions: HashSet<[u8; 16]>,
    /// For records: hashes of the session and message that each record is about.
    pub owners: HashSet<u64>,
    /// End of the archived part, in bytes and lines.
    pub archived: (u64, u64),
    /// Position where a later reading must start: bytes and lines before it.
    pub read: (u64, u64),
    pub state: String,
    /// True if the end of the file was reached.
    pub is_last: bool,
    /// Number of unfinished bytes at the end of the file, left for a later reading.
    pub torn_bytes: u64,
}

/// Position where reading a file continues.
pub(crate) struct Start {
    pub archived: (u64, u64),
    pub read: (u64, u64),
    pub size: u64,
    /// True if the archived part ends in a line that had no newline yet.
    pub is_unterminated: bool,
}

/// State and settings for reading a unit.
pub(crate) struct BatchReader<'a> {
    pub source: &'a dyn Source,
    pub episodes: Box<dyn EpisodeReader>,
    pub redactor: &'a Redactor,
    pub keys: &'a Keys,
    pub tombstones: &'a HashSet<[u8; 16]>,
    pub max_line_bytes: usize,
    pub policy: &'a CapturePolicy,
    /// True if lines that name no directory may be kept. Takes the value of the last line that named one.
    pub is_allowed: bool,
    /// The directory of which `is_allowed` was taken last.
    pub checked_directory: Option<String>,
    /// True if the session that was named last was forgotten for good. Before any session is named, this
    /// refers to the one that the file's first line names.
    pub is_session_buried: bool,
    /// Number of lines that were archived before.
    pub known_lines: u64,
    /// Hashes of sessions that turned out to be yore's own calls.
    pub own_sessions: HashSet<[u8; 16]>,
}

impl BatchReader<'_> {
    /// Reads to the end and passes one batch at a time to `deliver`, which returns false to stop.
    pub(crate) fn run(mut self, file: File, start: &Start, mut deliver: impl FnMut(Batch) -> bool) -> io::Result<()> {
        self.known_lines = start.archived.1;
        let mut lines = Lines::new(file, start.read.0, start.size, self.max_line_bytes)?;
        let mut batch = Batch { archived: start.archived, read: start.read, ..Batch::default() };
        let mut line_number = start.read.1;
        let mut values = Vec::new();
        while let Some(line) = lines.next_line()? {
            let (from, to) = match line {
                Line::Complete { start: from, end, is_terminated } => {
                    // This is the newline that an accepted last line still lacked.
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
                    // The file continued a last line that had been taken for complete.
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
        self.finish(&mut batch);
        batch.is_last = true;
        deliver(batch);
        Ok(())
    }

    /// Like [`Self::run`], for a unit whose lines come from `records`. Always reads from the beginning.
    pub(crate) fn run_records(
        mut self,
        records: impl FnOnce(&mut dyn FnMut(Value) -> bool) -> io::Result<()>,
        mut deliver: impl FnMut(Batch) -> bool,
    ) -> io::Result<()> {
        let mut batch = Batch::default();
        let mut values = Vec::with_capacity(1);
        let mut is_wanted = true;
        records(&mut |value| {
            let mark = LineMark { line: batch.archived.1 + 1, offset: batch.archived.0 };
            let Ok(raw) = serde_json::to_vec(&value) else { return true };
            if raw.len() > self.max_line_bytes {
                batch.skip("too-long", &format!("over {} MiB", self.max_line_bytes >> 20), mark, true);
                batch.lines.push(b"");
            } else {
                batch.owners.insert(owner_hash(self.source, &value));
                values.clear();
                values.push(value);
                self.take_values(&raw, Ok(()), mark, true, &mut values, &mut batch);
            }
            batch.archived = (mark.offset + raw.len() as u64 + 1, mark.line);
            if batch.readings.len() >= MAX_TURNS || batch.lines.byte_len() >= MAX_BYTES {
                let next = Batch { archived: batch.archived, ..Batch::default() };
                let end = batch.archived;
                self.mark_position(&mut batch, end);
                is_wanted = deliver(std::mem::replace(&mut batch, next));
            }
            is_wanted
        })?;
        if is_wanted {
            let end = batch.archived;
            self.mark_position(&mut batch, end);
            self.finish(&mut batch);
            batch.is_last = true;
            deliver(batch);
        }
        Ok(())
    }

    /// Collects the readings that the source's reader still held back.
    fn finish(&mut self, batch: &mut Batch) {
        let before = batch.readings.len();
        self.episodes.finish(&mut batch.readings);
        batch.cap_texts(before, self.known_lines);
        drop_own_words(&mut batch.readings, before);
    }

    /// Records where the next reading must start.
    fn mark_position(&self, batch: &mut Batch, next: (u64, u64)) {
        (batch.read, batch.state) = match self.episodes.open_since() {
            Some((mark, state)) => ((mark.offset, mark.line - 1), state),
            None => (next, self.episodes.state()),
        };
    }

    fn take(&mut self, bytes: &[u8], mark: LineMark, is_new: bool, values: &mut Vec<Value>, batch: &mut Batch) {
        let parsed = parse_line(bytes, values);
        self.take_values(bytes, parsed, mark, is_new, values, batch);
    }

    fn take_values(
        &mut self,
        bytes: &[u8],
        parsed: Result<(), NotJson>,
        mark: LineMark,
        is_new: bool,
        values: &mut [Value],
        batch: &mut Batch,
    ) {
        // A line that is not JSON also belongs to the session that was named last.
        let mut is_buried = parsed.is_err() && self.is_session_buried;
        if !self.tombstones.is_empty() || !self.own_sessions.is_empty() {
            // Every value is checked: each may name the session that later lines belong to.
            for value in values.iter() {
                is_buried |= self.is_buried(value);
            }
        }
        if is_buried {
            if is_new {
                batch.lines.push(b"");
            }
            return;
        }
        if self.policy.looks_at_directories() {
            let directory = values.iter().find_map(|value| self.source.owner(value).directory);
            // Most lines record the directory of the line before them.
            if let Some(directory) = directory.filter(|directory| self.checked_directory.as_deref() != Some(*directory)) {
                self.is_allowed = self.policy.allows_directory(directory);
                self.checked_directory = Some(directory.to_owned());
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
        if let Some((reason, detail)) = problem_of(values) {
            batch.skip(reason, detail, mark, is_new);
            return;
        }
        cover_ciphertext(values);
        let before = batch.readings.len();
        self.episodes.read(&SourceLine { values, mark }, &mut batch.readings);
        batch.cap_texts(before, self.known_lines);
        if drop_own_words(&mut batch.readings, before) {
            self.drop_own_call(values, before, batch);
        }
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

    /// Archives a line that is not JSON as text.
    fn archive_text(&self, bytes: &[u8], batch: &mut Batch) {
        let text = String::from_utf8_lossy(bytes);
        match self.redactor.text(&text, &mut batch.redactions) {
            Some(redacted) => batch.lines.push(redacted.replace('\n', " ").as_bytes()),
            None => batch.lines.push(bytes),
        }
    }

    /// Drops one of yore's own conversations with a model: neither this line nor the following ones are kept.
    fn drop_own_call(&mut self, values: &[Value], from: usize, batch: &mut Batch) {
        batch.readings.truncate(from);
        for session in values.iter().filter_map(|value| self.source.owner(value).session) {
            batch.own_sessions.insert(self.keys.tombstone_hash(self.source.kind(), "session", &session));
            self.own_sessions.insert(self.keys.tombstone_hash(self.source.kind(), "session", &session));
        }
    }

    fn is_buried(&mut self, value: &Value) -> bool {
        let owner = self.source.owner(value);
        let is_in = |what: &str, id: &str| {
            let hash = self.keys.tombstone_hash(self.source.kind(), what, id);
            self.tombstones.contains(&hash) || self.own_sessions.contains(&hash)
        };
        let is_message_buried = owner.message.into_iter().chain(owner.about).any(|message| is_in("message", message));
        // A line that names no session belongs to the session that was named last.
        if let Some(session) = &owner.session {
            self.is_session_buried = is_in("session", session);
        }
        self.is_session_buried || is_message_buried
    }
}

impl Batch {
    /// Shortens long texts of the readings from `from` on, and counts those of turns after line `known`.
    fn cap_texts(&mut self, from: usize, known: u64) {
        for line in cap_texts(&mut self.readings, from).into_iter().filter(|line| *line > known) {
            self.skip(TEXT_CUT.0, TEXT_CUT.1, LineMark { line, offset: 0 }, true);
        }
    }

    fn skip(&mut self, reason: &str, detail: &str, mark: LineMark, is_new: bool) {
        if is_new {
            self.skips.entry((reason.to_owned(), detail.to_owned())).or_insert((0, mark.line, mark.offset)).0 += 1;
        }
    }
}

/// Returns a hash of the session and message that a line of a conversation belongs to, or of the fact that it
/// is about the session as a whole.
pub(crate) fn owner_hash(source: &dyn Source, value: &Value) -> u64 {
    let owner = source.owner(value);
    let mut hasher = blake3::Hasher::new();
    for part in [owner.session.as_deref(), owner.message, owner.about] {
        hasher.update(part.unwrap_or_default().as_bytes());
        hasher.update(&[u8::from(part.is_some()), 0]);
    }
    u64::from_le_bytes(hasher.finalize().as_bytes().first_chunk::<8>().copied().unwrap_or_default())
}
