//! The outside world to episodes.
//!
//! - `source`: one file per agent, and the table of all
//! - `lines`, `parse`: bytes to JSON values, whatever state the file is in
//! - [`redact`]: secrets go before the first write
//! - `batch`: reads ahead of the store, in a thread of its own
//! - `archive`: every line, stored once
//! - `foreign`: other programs' databases, read in place
//! - `policy`: what may be kept at all
//! - `project`: recorded directory to project
//! - `lease`, `key`: who reads, and the secret that keys hashes
//! - `reindex`, `forget`: the archive read again, and cut
//!
//! `Ingest::run` is the whole way: find files, take each, read what is new, store it.

mod archive;
mod batch;
mod foreign;
mod forget;
mod key;
mod lease;
mod lines;
mod parse;
mod policy;
mod project;
pub mod redact;
mod reindex;
mod scan;
pub mod source;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use rusqlite::Transaction;
use serde_json::Value;
use yore_core::episode::Title;
use yore_core::id::{ProjectId, TurnId};
use yore_core::scope::{ProjectAlias, directory_name, is_within, normalize_directory};
use yore_core::time::UtcMillis;

use self::archive::Archive;
pub(crate) use self::archive::{damaged_blobs, decompressed, unpack, write_archived};
use self::batch::{Batch, Reader, Start};
pub(crate) use self::foreign::{changed_within, size_with_log};
pub(crate) use self::forget::ForgetTarget;
pub(crate) use self::key::Keys;
pub use self::key::{KeyProblem, ledger_key, name_redactor, settings_key};
pub(crate) use self::lease::{Holder, take_turn};
pub use self::policy::{CapturePolicy, PatternError};
use self::project::ProjectResolver;
pub use self::project::{ProjectNames, names_of};
use self::redact::{RULES_VERSION, RedactionCounts, Redactor};
pub use self::reindex::ReindexReport;
pub use self::scan::ScanReport;
use self::source::{Framing, Known, Nature, ReadTurn, ReaderOptions, Reading, Source, Stamp, Unit};
use crate::platform::FileLock;
use crate::store::{Advance, Checkpoint, FileRow, Store, StoreError, TurnFacts, UpsertOutcome, Upserter};

/// Bytes at each end of the archived part by which a rewritten file is recognised.
const FINGERPRINT_BYTES: u64 = 4096;

/// What can go wrong while histories are read.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The store failed: nothing more can be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data directory's own files failed.
    #[error("{path}: {error}")]
    DataDirectory {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The data directory's key is not the one that the memory was written with; nothing was written.
    #[error("{} {}", path.display(), match problem {
        KeyProblem::Missing => "is missing: this memory was written with it",
        KeyProblem::Foreign => "is the key of another memory",
    })]
    Key {
        /// The key file.
        path: PathBuf,
        /// What is wrong.
        problem: KeyProblem,
        /// Sessions and messages forgotten for good that would come back with another key.
        forgotten: u64,
    },
    /// No source has this name.
    #[error("there is no source {0:?}")]
    UnknownSource(String),
    /// A redaction pattern cannot be used; nothing was read.
    #[error(transparent)]
    RedactionPattern(#[from] redact::RedactionPatternError),
}

/// A place to look for histories of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRoot {
    /// Source kind, such as `claude-code`.
    pub source: String,
    /// A directory, or one file.
    pub path: PathBuf,
}

/// What to read and how.
#[derive(Clone, Debug)]
pub struct IngestRequest {
    /// Where to look.
    pub roots: Vec<SourceRoot>,
    /// Told to readers.
    pub reader: ReaderOptions,
    /// zstd level of the archive, 1 to 19.
    pub compression_level: i32,
    /// Longer lines are counted and skipped.
    pub max_line_bytes: usize,
    /// What may be kept at all.
    pub policy: Arc<CapturePolicy>,
    /// Only look: write nothing.
    pub is_dry_run: bool,
    /// Only units with these names (as [`source::Unit::name`] gives them), where that is said.
    pub only: Option<Arc<HashSet<String>>>,
}

impl IngestRequest {
    /// Reads these roots with the usual settings.
    pub fn new(roots: Vec<SourceRoot>) -> Self {
        Self {
            roots,
            reader: ReaderOptions::default(),
            compression_level: 9,
            max_line_bytes: lines::MAX_LINE_BYTES,
            policy: Arc::default(),
            is_dry_run: false,
            only: None,
        }
    }
}

/// A document that is given, not found.
#[derive(Clone, Debug, Default)]
pub struct GivenDocument {
    /// The name of its unit: `note:…`, a page's address.
    pub name: String,
    /// How it stands: nothing is done if this is the known one.
    pub stamp: Stamp,
    /// Whatever the giver wants to know the next time, kept beside the checkpoint.
    pub state: String,
    /// Its records, as [`Source::records`] would give them.
    pub records: Vec<Value>,
}

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

/// Reads histories into a store.
pub struct Ingest<'a> {
    store: &'a Store,
    keys: Keys,
    redactor: Redactor,
    holder: Holder,
    now: fn() -> UtcMillis,
    tombstones: HashSet<[u8; 16]>,
    resolver: ProjectResolver,
}

impl<'a> Ingest<'a> {
    /// Prepares this process to read into `store`, whose data directory is `directory`.
    ///
    /// # Errors
    /// When the directory's key or locks cannot be read or written, or a pattern cannot be used.
    pub(crate) fn new(
        store: &'a Store,
        directory: &Path,
        redaction_patterns: &[String],
        now: fn() -> UtcMillis,
    ) -> Result<Self, IngestError> {
        let fail = |name: &str| {
            let path = directory.join(name);
            move |error| IngestError::DataDirectory { path, error }
        };
        let keys = Keys::of(store, directory)?;
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| fail("key")(io::Error::other(error.to_string())))?;
        let holder = Holder::new(&directory.join("locks"), random).map_err(fail("locks"))?;
        let redactor = Redactor::with_patterns(&keys.redaction, redaction_patterns)?;
        let tombstones = store.tombstones()?;
        let is_new = !store.is_keyed()?;
        let ingest = Self { store, keys, redactor, holder, now, tombstones, resolver: ProjectResolver::default() };
        if is_new && !ingest.is_scanned()? {
            // Nothing is kept yet: all that will be is redacted with these rules.
            ingest.note_scanned()?;
        }
        Ok(ingest)
    }

    /// Finds the files under the roots and reads what is new in each. A file that fails is
    /// reported and the others are read; only a failing store ends the work.
    pub(crate) fn run(&mut self, request: &IngestRequest, observer: &mut dyn Observer) -> Result<IngestReport, IngestError> {
        let mut report = IngestReport::default();
        let _turn = if request.is_dry_run { None } else { Some(self.take_turn(observer)?) };
        // While others had their turn something may have been forgotten.
        self.tombstones = self.store.tombstones()?;
        let found = self.discover(request, &mut report)?;
        observer.found(found.len(), found.iter().map(|found| found.unit.stamp.size).sum());
        let mut unfinished: HashSet<&Path> = HashSet::new();
        for unit in &found {
            if observer.is_cancelled() {
                report.is_cancelled = true;
                break;
            }
            let path = unit.unit.path.as_path();
            if unit.unit.closes_file && unfinished.contains(path) {
                continue;
            }
            report.files += 1;
            let counts = report.by_source.entry(unit.source.kind().to_owned()).or_default();
            counts.0 += 1;
            counts.1 += unit.unit.stamp.size;
            if request.is_dry_run {
                continue;
            }
            let before = (report.turns_added, report.turns_updated);
            if !self.unit(unit, request, observer, &mut report)? {
                unfinished.insert(path);
            }
            let (turns_added, turns_updated) = (report.turns_added - before.0, report.turns_updated - before.1);
            if turns_added + turns_updated > 0 {
                let source = unit.source.display_name();
                observer.learned(&LearnedUnit { source, name: &unit.stored, turns_added, turns_updated });
            }
        }
        if !request.is_dry_run {
            self.store.settle_titles()?;
        }
        if !request.is_dry_run && !report.is_cancelled && request.only.is_none() {
            self.note_gone(request, &found, &mut report)?;
        }
        Ok(report)
    }

    /// Stores a document that somebody gives: a note, a page. A unit of the same name gets the new
    /// content in the place of the old one. `state` is kept for [`Store::find_file`].
    pub(crate) fn put(
        &mut self,
        source: &'static dyn Source,
        document: GivenDocument,
        request: &IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let turn = self.begin()?;
        self.put_in_turn(&turn, source, document, request)
    }

    /// Waits until nobody else stores or forgets, and keeps others waiting as long as the turn is
    /// kept: what is known now is known still when something is put.
    pub(crate) fn begin(&mut self) -> Result<HeldTurn, IngestError> {
        let turn = HeldTurn { _lock: self.take_turn(&Silent)? };
        self.tombstones = self.store.tombstones()?;
        Ok(turn)
    }

    /// As [`Self::put`], by whoever holds the turn.
    pub(crate) fn put_in_turn(
        &mut self,
        _turn: &HeldTurn,
        source: &'static dyn Source,
        document: GivenDocument,
        request: &IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let mut report = IngestReport::default();
        let GivenDocument { name, stamp, state, records } = document;
        let stored = self.redacted_name(&name);
        let row = self.store.find_file(source.kind(), &stored)?;
        let unit = Unit {
            path: PathBuf::from(&name),
            part: None,
            framing: Framing::Records,
            stamp,
            began: None,
            closes_file: false,
            root: None,
            worked_in: None,
        };
        let found =
            FoundUnit { source, unit, name, stored, row, began: String::new(), content: Content::Given { records, state } };
        report.files = 1;
        self.unit(&found, request, &mut Silent, &mut report)?;
        self.store.settle_titles()?;
        Ok(report)
    }

    /// A name (of a file, a title) as it is stored. The same name is always stored the same.
    fn redacted_name(&self, name: &str) -> String {
        self.redactor.text(name, &mut RedactionCounts::default()).unwrap_or_else(|| name.to_owned())
    }

    /// What is stored of a record, and how many secrets are redacted for that.
    pub(crate) fn redacted(&self, mut record: Value) -> (Value, u64) {
        let mut counts = RedactionCounts::default();
        self.redactor.json(&mut record, &mut counts);
        (record, counts.total())
    }

    fn take_turn(&self, observer: &dyn Observer) -> Result<FileLock, IngestError> {
        let directory = self.holder.directory();
        lease::take_turn(directory, &|| observer.is_cancelled())
            .map_err(|error| IngestError::DataDirectory { path: directory.to_path_buf(), error })
    }

    /// All units, each once, in an order that does not depend on the file system: what was said
    /// first is read first, so that the session that began a conversation owns it.
    fn discover(&self, request: &IngestRequest, report: &mut IngestReport) -> Result<Vec<FoundUnit>, IngestError> {
        let mut found: Vec<FoundUnit> = Vec::new();
        let mut seen = HashSet::new();
        let mut parents = HashMap::new();
        let rows = self.store.files()?;
        let rows: HashMap<(&str, &str), &FileRow> =
            rows.iter().map(|row| ((row.source.as_str(), row.path.as_str()), row)).collect();
        for root in &request.roots {
            let source = source::source_named(&root.source).ok_or_else(|| IngestError::UnknownSource(root.source.clone()))?;
            // Names are canonical, so that one file is one unit by whatever path it is reached.
            let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            if let Err(error) = readable(&path) {
                let unread = if is_passing(&error) { &mut report.passing } else { &mut report.failures };
                unread.push((path, error.to_string()));
                continue;
            }
            let known = KnownUnits { source: source.kind(), rows: &rows, now: (self.now)(), store: self.store };
            let units = report.discovered(source, &path, &known);
            if units.is_empty() {
                report.empty_roots.push(root.clone());
            }
            for mut unit in units {
                if let Ok(canonical) = unit.path.canonicalize() {
                    unit.path = canonical;
                }
                let lies_where_allowed = unit.root.is_none() || allows_parent(&request.policy, &unit.path, &mut parents);
                if !lies_where_allowed || unit.path.to_str().is_some_and(|path| !request.policy.allows_file(path)) {
                    report.files_excluded += 1;
                    continue;
                }
                let Some(name) = unit.name() else {
                    report.failures.push((unit.path, "its name is not UTF-8".to_owned()));
                    continue;
                };
                if request.only.as_ref().is_some_and(|only| !only.contains(&name)) || !seen.insert((source.kind(), name.clone()))
                {
                    continue;
                }
                let stored = self.redacted_name(&name);
                let row = rows.get(&(source.kind(), stored.as_str())).map(|row| (*row).clone());
                let began = match (&row, &unit.began, unit.framing) {
                    (None, Some(began), _) => began.clone(),
                    (None, None, Framing::Lines) => first_string(&unit.path, "timestamp").unwrap_or_default(),
                    _ => String::new(),
                };
                found.push(FoundUnit { source, name, stored, row, began, content: Content::OnDisk, unit });
            }
        }
        found.sort_by(|a, b| {
            let order = |found: &FoundUnit| (found.unit.closes_file, found.row.as_ref().map_or(i64::MAX, |row| row.id));
            (order(a), &a.began, &a.name).cmp(&(order(b), &b.began, &b.name))
        });
        Ok(found)
    }

    /// Reads what is new in one unit; whether it stands as it was found.
    fn unit(
        &mut self,
        found: &FoundUnit,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<bool, IngestError> {
        if let Some(row) = &found.row {
            let at = &row.checkpoint;
            let may_be_kept_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
            if !may_be_kept_now
                && row.gone_ms.is_none()
                && stamp_of(at) == found.unit.stamp
                && row.lease_owner.is_none()
                && at.generation > 0
            {
                report.files_unchanged += 1;
                observer.advanced(found.unit.stamp.size);
                return Ok(true);
            }
        }
        let holder = &self.holder;
        let Some(mut row) = self
            .store
            .lease_file(found.source.kind(), &found.stored, holder.name(), (self.now)(), |name| holder.is_alive(name))?
        else {
            report.files_busy += 1;
            return Ok(false);
        };
        let result = self.leased_unit(found, &mut row, request, observer, report);
        match result {
            Ok(()) => Ok(!report.is_cancelled),
            Err(FileError::Store(StoreError::LeaseLost(_))) => {
                report.files_busy += 1;
                Ok(false)
            }
            Err(FileError::Store(error)) => Err(error.into()),
            Err(FileError::Io(error)) => {
                self.store.release_file(row.id, self.holder.name())?;
                match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => report.files_busy += 1,
                    // It went away while others were read.
                    io::ErrorKind::NotFound => {}
                    _ if is_passing(&error) => report.passing.push((found.name.clone().into(), error.to_string())),
                    _ => report.failures.push((found.name.clone().into(), error.to_string())),
                }
                Ok(false)
            }
        }
    }

    fn leased_unit(
        &mut self,
        found: &FoundUnit,
        row: &mut FileRow,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<(), FileError> {
        let mut at = row.checkpoint.clone();
        let is_known = at.archived_lines > 0;
        // Lines that were kept out and may now be kept are read like those of a rewritten file.
        let is_allowed_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
        let (mut file, begin) = match found.unit.framing {
            Framing::Lines => {
                let mut file = File::open(&found.unit.path)?;
                let stamp = Stamp::of_metadata(&file.metadata()?);
                let is_rewritten = is_allowed_now
                    || is_known
                        && (stamp.size < at.archived_bytes
                            || self.fingerprint(&mut file, at.archived_bytes)? != at.fingerprint.clone().unwrap_or_default());
                if is_rewritten {
                    report.files_rewritten += 1;
                    at = Checkpoint { generation: at.generation + 1, ..Checkpoint::default() };
                }
                (at.size, at.mtime_ns) = (stamp.size, stamp.version);
                let begin = Begin::Lines {
                    // Opened again, not cloned: a clone would share its position with the fingerprints' reads.
                    file: File::open(&found.unit.path)?,
                    start: Start {
                        archived: (at.archived_bytes, at.archived_lines),
                        read: (at.read_bytes, at.read_lines),
                        size: stamp.size,
                        is_unterminated: at.archived_bytes > 0 && byte_at(&mut file, at.archived_bytes - 1)? != Some(b'\n'),
                    },
                };
                (Some(file), begin)
            }
            Framing::Records => {
                let generation = at.generation + i64::from(is_known);
                let reader_state = match &found.content {
                    // What the giver of records wants to know the next time.
                    Content::Given { state, .. } => state.clone(),
                    Content::OnDisk => String::new(),
                };
                at = Checkpoint { generation, reader_state, ..Checkpoint::default() };
                (at.size, at.mtime_ns) = (found.unit.stamp.size, found.unit.stamp.version);
                (None, Begin::Records)
            }
        };
        if at.size == 0 {
            report.files_empty += 1;
        } else {
            report.files_read += 1;
        }
        report.bytes_read += at.size.saturating_sub(at.archived_bytes);
        observer.advanced(at.archived_bytes.min(at.size));
        let unit_path = PathBuf::from(&found.name);
        let state = if file.is_some() { at.reader_state.as_str() } else { "" };
        let reader = Reader {
            source: found.source,
            episodes: found.source.reader(&unit_path, state, &request.reader),
            redactor: &self.redactor,
            keys: &self.keys,
            tombstones: &self.tombstones,
            max_line_bytes: request.max_line_bytes,
            is_allowed: match self.store.directory_of_file(row.id)?.or_else(|| match file {
                Some(_) => first_string(&found.unit.path, "cwd"),
                None => None,
            }) {
                Some(directory) => request.policy.allows_directory(&directory),
                None => request.policy.allows_unknown(),
            },
            policy: &request.policy,
            is_session_buried: !self.tombstones.is_empty()
                && file.is_some()
                && first_session(found.source, &found.unit.path).is_some_and(|session| {
                    self.tombstones.contains(&self.keys.tombstone_hash(found.source.kind(), "session", &session))
                }),
            known_lines: 0,
            own_sessions: HashSet::new(),
        };
        let mut archive = Archive::new(self.store, self.keys.line, request.compression_level);
        let mut writer = Writer {
            store: self.store,
            holder: self.holder.name(),
            keys: &self.keys,
            redactor: &self.redactor,
            now: self.now,
            resolver: &mut self.resolver,
            source: found.source.kind(),
            reading: 0,
            is_document: found.source.nature() == Nature::Document,
            replaces: matches!(begin, Begin::Records).then(HashSet::new),
            owners: HashSet::new(),
        };
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Batch>(1);
            let ahead = scope.spawn(move || {
                let deliver = |batch| send.send(batch).is_ok();
                match (begin, &found.content) {
                    (Begin::Lines { file, start }, _) => reader.run(file, &start, deliver),
                    (Begin::Records, Content::OnDisk) => {
                        reader.run_records(|take| found.source.records_with(&found.unit, &request.reader, take), deliver)
                    }
                    (Begin::Records, Content::Given { records, .. }) => reader.run_records(
                        |take| {
                            let _ = records.iter().all(|record| take(record.clone()));
                            Ok(())
                        },
                        deliver,
                    ),
                }
            });
            let mut failure = None;
            while let Ok(batch) = receive.recv() {
                let before = at.archived_bytes;
                let outcome = writer.commit(&mut archive, row, &mut at, &batch, file.as_mut(), report);
                observer.advanced(at.archived_bytes.saturating_sub(before).min(at.size));
                match outcome {
                    Ok(()) if observer.is_cancelled() && !batch.is_last => {
                        report.is_cancelled = true;
                        break;
                    }
                    Ok(()) => {}
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
            }
            drop(receive);
            let read =
                ahead.join().unwrap_or_else(|_| Err(io::Error::other("the reader failed; please report the file's format")));
            match failure {
                Some(error) => Err(error),
                None => read.map_err(FileError::Io),
            }
        })?;
        let is_whole = writer.replaces.is_some() && !report.is_cancelled;
        let owners = std::mem::take(&mut writer.owners);
        if report.is_cancelled {
            self.store.release_file(row.id, self.holder.name())?;
        }
        if is_whole {
            let is_document = found.source.nature() == Nature::Document;
            self.drop_repeated(&mut archive, row.id, at.generation, found.source, (!is_document).then_some(&owners))?;
        }
        Ok(())
    }

    /// Drops earlier generations of a unit that say nothing which the newest does not say: their
    /// lines stand in it, or, in a conversation, it has a newer copy of the same message
    /// (`owners`: hashes of what the newest lines are about). Of a document every text is kept.
    fn drop_repeated(
        &self,
        archive: &mut Archive<'_>,
        file: i64,
        newest: i64,
        source: &dyn Source,
        owners: Option<&HashSet<u64>>,
    ) -> Result<(), StoreError> {
        let (mut gone, mut frees_blobs) = (Vec::new(), false);
        let mut values = Vec::new();
        for (generation, runs) in self.store.older_generations(file, newest)? {
            let mut is_repeated = runs.iter().all(|(_, is_held)| *is_held);
            if let (false, Some(owners)) = (is_repeated, owners) {
                let held: Vec<bool> =
                    runs.iter().flat_map(|(run, is_held)| std::iter::repeat_n(*is_held, run.count as usize)).collect();
                let mut at = 0;
                is_repeated = true;
                let damaged = archive.read_what_is_whole(file, generation, |line| {
                    if is_repeated && !line.is_empty() && !held.get(at).copied().unwrap_or(false) {
                        let _ = parse::parse_line(line, &mut values);
                        // What names no message is told again only if it is the header; damage that is mended is not.
                        is_repeated = source::problem_of(&values).is_some()
                            || values.iter().all(|value| {
                                (at == 0 || source.owner(value).message.is_some()) && owners.contains(&owner_hash(source, value))
                            });
                    }
                    at += 1;
                    Ok(())
                })?;
                // Nobody knows what damaged lines said.
                is_repeated &= damaged.is_empty();
                frees_blobs |= is_repeated;
            }
            if is_repeated {
                gone.push(generation);
            }
        }
        self.store.drop_generations(file, &gone, frees_blobs)
    }

    /// Files under the roots that are known but no longer there.
    fn note_gone(&self, request: &IngestRequest, found: &[FoundUnit], report: &mut IngestReport) -> Result<(), IngestError> {
        let present: HashSet<&str> = found.iter().map(|file| file.stored.as_str()).collect();
        let roots: Vec<(String, PathBuf)> = request
            .roots
            .iter()
            .map(|root| (root.source.clone(), root.path.canonicalize().unwrap_or_else(|_| root.path.clone())))
            .collect();
        let mut gone = Vec::new();
        for row in self.store.files()? {
            let path = Path::new(&row.path);
            let is_ours = roots.iter().any(|(source, root)| *source == row.source && path.starts_with(root));
            if is_ours && row.gone_ms.is_none() && !present.contains(row.path.as_str()) && !is_there(path) {
                gone.push(row.id);
            }
        }
        report.files_gone = gone.len() as u64;
        self.store.mark_gone(&gone, (self.now)())?;
        Ok(())
    }

    /// Keyed hashes of the first bytes and of the last bytes before `end`.
    fn fingerprint(&self, file: &mut File, end: u64) -> io::Result<Vec<u8>> {
        fingerprint(&self.keys, file, end)
    }
}

/// The right to store and to forget, alone: see [`Ingest::begin`].
#[derive(Debug)]
pub(crate) struct HeldTurn {
    _lock: FileLock,
}

/// A unit that is to be read.
struct FoundUnit {
    source: &'static dyn Source,
    unit: Unit,
    name: String,
    /// The name as the store has it: without the secrets that somebody put into the name of a file.
    stored: String,
    row: Option<FileRow>,
    /// First recorded time, as text; orders units that are read for the first time.
    began: String,
    content: Content,
}

/// Where a unit's lines come from.
enum Content {
    /// From the source.
    OnDisk,
    /// From whoever asked: a note, a page. The state is what he wants to know the next time.
    Given { records: Vec<Value>, state: String },
}

/// How reading a unit begins.
enum Begin {
    Lines { file: File, start: Start },
    Records,
}

/// How the units of one source stood.
struct KnownUnits<'a> {
    source: &'static str,
    rows: &'a HashMap<(&'a str, &'a str), &'a FileRow>,
    now: UtcMillis,
    store: &'a Store,
}

impl Known for KnownUnits<'_> {
    fn stamp(&self, name: &str) -> Option<Stamp> {
        let row = self.rows.get(&(self.source, name))?;
        (row.lease_owner.is_none() && row.gone_ms.is_none()).then(|| stamp_of(&row.checkpoint))
    }

    fn now(&self) -> UtcMillis {
        self.now
    }

    fn names(&self) -> Vec<&str> {
        self.rows.keys().filter(|(source, _)| *source == self.source).map(|(_, name)| *name).collect()
    }

    fn directories(&self) -> Vec<String> {
        // Only better names come from it: a store that fails here fails where it matters, too.
        self.store.project_directories().unwrap_or_default()
    }
}

/// How a unit stood when it was last read.
fn stamp_of(at: &Checkpoint) -> Stamp {
    Stamp { size: at.size, version: at.mtime_ns }
}

/// A hash of whose words a line of a conversation holds: session and message, or that it is
/// about the session as a whole.
pub(crate) fn owner_hash(source: &dyn Source, value: &Value) -> u64 {
    let owner = source.owner(value);
    let mut hasher = blake3::Hasher::new();
    for part in [owner.session.as_deref(), owner.message, owner.about] {
        hasher.update(part.unwrap_or_default().as_bytes());
        hasher.update(&[u8::from(part.is_some()), 0]);
    }
    u64::from_le_bytes(hasher.finalize().as_bytes().first_chunk::<8>().copied().unwrap_or_default())
}

/// True for failures to read that may pass by themselves, so that trying again makes sense.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkDown, NetworkUnreachable, NotConnected,
        OutOfMemory, StaleNetworkFileHandle, TimedOut,
    };
    let is_known = matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | NotConnected
            | OutOfMemory
            | StaleNetworkFileHandle
            | TimedOut
    );
    // Errors without a kind of their own: input or output, too many open files, a server that is down; on Windows
    // a file that another program keeps to itself, or a part of it.
    let codes: &[i32] = if cfg!(windows) {
        &[32, 33, 1117]
    } else if cfg!(target_os = "macos") {
        &[5, 23, 24, 64]
    } else {
        &[5, 23, 24, 112, 121]
    };
    is_known || error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Whether a root can be looked at; one that is not there is none.
fn readable(root: &Path) -> io::Result<()> {
    let outcome = if root.is_dir() {
        root.read_dir().map(drop)
    } else if root.is_file() {
        File::open(root).map(drop)
    } else {
        Ok(())
    };
    outcome.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Whether a unit's file exists; a part's name is behind a `#`.
pub(crate) fn is_there(name: &Path) -> bool {
    name.exists() || name.to_str().and_then(|name| name.rsplit_once('#')).is_some_and(|(file, _)| Path::new(file).exists())
}

/// Whether words may be kept that lie in this file: a document is recorded under the directory
/// that was given, and may lie in a project below it that is to be left out.
fn allows_parent(policy: &CapturePolicy, path: &Path, known: &mut HashMap<PathBuf, bool>) -> bool {
    let Some(parent) = path.parent().filter(|_| policy.looks_at_directories()) else { return true };
    if let Some(is_allowed) = known.get(parent) {
        return *is_allowed;
    }
    let is_allowed = parent.to_str().map_or_else(|| policy.allows_unknown(), |parent| policy.allows_directory(parent));
    known.insert(parent.to_path_buf(), is_allowed);
    is_allowed
}

/// Why reading one file ended.
enum FileError {
    Store(StoreError),
    Io(io::Error),
}

impl From<StoreError> for FileError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Stores batches.
struct Writer<'a> {
    store: &'a Store,
    holder: &'a str,
    keys: &'a Keys,
    redactor: &'a Redactor,
    now: fn() -> UtcMillis,
    resolver: &'a mut ProjectResolver,
    source: &'static str,
    reading: i64,
    /// Whether a new reading takes the place of the old one.
    is_document: bool,
    /// What this whole reading of a unit has given so far, if it is whole: the counts, turns and
    /// lines of earlier ones are replaced by it.
    replaces: Option<HashSet<TurnId>>,
    /// Of such a reading: hashes of what its lines are about.
    owners: HashSet<u64>,
}

impl Writer<'_> {
    /// One transaction: lines, turns, counts and the checkpoint, all or nothing.
    fn commit(
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
    fn project_names(&mut self, readings: &[Reading]) -> HashMap<String, ProjectNames> {
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
    fn store_readings(
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

/// Whether lines of a recorded directory, or of an unrecorded one (empty), may be kept.
fn allows(policy: &CapturePolicy, directory: &str) -> bool {
    if directory.is_empty() { policy.allows_unknown() } else { policy.allows_directory(directory) }
}

fn fingerprint(keys: &Keys, file: &mut File, end: u64) -> io::Result<Vec<u8>> {
    let head = read_at(file, 0, FINGERPRINT_BYTES.min(end))?;
    let tail = read_at(file, end.saturating_sub(FINGERPRINT_BYTES), FINGERPRINT_BYTES.min(end))?;
    let mut both = blake3::keyed_hash(&keys.fingerprint, &head).as_bytes()[..16].to_vec();
    both.extend_from_slice(&blake3::keyed_hash(&keys.fingerprint, &tail).as_bytes()[..16]);
    Ok(both)
}

/// Fewer bytes than asked where the file has become shorter.
fn read_at(file: &mut File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn byte_at(file: &mut File, offset: u64) -> io::Result<Option<u8>> {
    Ok(read_at(file, offset, 1)?.first().copied())
}

/// The session that a file's first line names.
fn first_session(source: &dyn Source, path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    let value = serde_json::Deserializer::from_slice(&head).into_iter::<Value>().next()?.ok()?;
    source.owner(&value).session.map(std::borrow::Cow::into_owned)
}

/// The first value of a member `name` among a file's first bytes that is a string.
fn first_string(path: &Path, name: &str) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let head = read_at(&mut file, 0, 256 * 1024).ok()?;
    let key = format!("\"{name}\":\"");
    let at = memchr::memmem::find(&head, key.as_bytes())? + key.len() - 1;
    // From the opening quote on: as much as is one JSON string.
    serde_json::Deserializer::from_slice(&head[at..]).into_iter::<String>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_that_is_away_is_tried_again_and_a_forbidden_file_is_not() {
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::HostUnreachable, io::ErrorKind::StaleNetworkFileHandle] {
            assert!(is_passing(&kind.into()), "{kind}");
        }
        let code = if cfg!(windows) { 32 } else { 5 };
        assert!(is_passing(&io::Error::from_raw_os_error(code)));
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::InvalidData, io::ErrorKind::NotFound] {
            assert!(!is_passing(&kind.into()), "{kind}");
        }
    }
}
