//! The outside world to episodes.
//!
//! - `source`: one file per agent, and the table of all
//! - `lines`, `parse`: bytes to JSON values, whatever state the file is in
//! - [`redact`]: secrets go before the first write
//! - `batch`: reads ahead of the store, in a thread of its own
//! - `archive`: every line, stored once
//! - `policy`: what may be kept at all
//! - `project`: recorded directory to project
//! - `lease`, `key`: who reads, and the secret that keys hashes
//! - `reindex`, `forget`: the archive read again, and cut
//!
//! `Ingest::run` is the whole way: find files, take each, read what is new, store it.

mod archive;
mod batch;
mod forget;
mod key;
mod lease;
mod lines;
mod parse;
mod policy;
mod project;
pub mod redact;
mod reindex;
pub mod source;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::UNIX_EPOCH;

use rusqlite::Transaction;
use yore_core::id::ProjectId;
use yore_core::scope::{ProjectAlias, directory_name, is_within, normalize_directory};
use yore_core::time::UtcMillis;

use self::archive::Archive;
use self::batch::{Batch, Reader, Start};
pub(crate) use self::forget::ForgetTarget;
pub(crate) use self::key::Keys;
use self::lease::Holder;
pub use self::policy::{CapturePolicy, PatternError};
use self::project::ProjectResolver;
pub use self::project::{ProjectNames, names_of};
use self::redact::{RULES_VERSION, RedactionCounts, Redactor};
pub use self::reindex::ReindexReport;
use self::source::{ReadTurn, ReaderOptions, Reading, Source};
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
        }
    }
}

/// Hears how the work goes; every method may do nothing.
pub trait Observer {
    /// These files and bytes will be looked at.
    fn found(&mut self, _files: usize, _bytes: u64) {}
    /// So many bytes more are done.
    fn advanced(&mut self, _bytes: u64) {}
    /// Whether to stop at the next safe point; what was done stays done.
    fn is_cancelled(&self) -> bool {
        false
    }
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
    /// By source kind: files, bytes.
    pub by_source: BTreeMap<String, (u64, u64)>,
    /// Whether the observer stopped the work.
    pub is_cancelled: bool,
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
        let keys = Keys::load_or_create(directory).map_err(fail("key"))?;
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| fail("key")(io::Error::other(error.to_string())))?;
        let holder = Holder::new(&directory.join("locks"), random).map_err(fail("locks"))?;
        let redactor = Redactor::with_patterns(&keys.redaction, redaction_patterns)?;
        let tombstones = store.tombstones()?;
        Ok(Self { store, keys, redactor, holder, now, tombstones, resolver: ProjectResolver::default() })
    }

    /// Finds the files under the roots and reads what is new in each. A file that fails is
    /// reported and the others are read; only a failing store ends the work.
    pub(crate) fn run(&mut self, request: &IngestRequest, observer: &mut dyn Observer) -> Result<IngestReport, IngestError> {
        let mut report = IngestReport::default();
        let _turn = if request.is_dry_run { None } else { Some(self.take_turn(observer)?) };
        // While others had their turn something may have been forgotten.
        self.tombstones = self.store.tombstones()?;
        let found = self.discover(request, &mut report)?;
        observer.found(found.len(), found.iter().map(|file| file.size).sum());
        for file in &found {
            if observer.is_cancelled() {
                report.is_cancelled = true;
                break;
            }
            report.files += 1;
            let counts = report.by_source.entry(file.source.kind().to_owned()).or_default();
            counts.0 += 1;
            counts.1 += file.size;
            if !request.is_dry_run {
                self.file(file, request, observer, &mut report)?;
            }
        }
        if !request.is_dry_run {
            self.store.settle_titles()?;
        }
        if !request.is_dry_run && !report.is_cancelled {
            self.note_gone(request, &found, &mut report)?;
        }
        Ok(report)
    }

    fn take_turn(&self, observer: &dyn Observer) -> Result<File, IngestError> {
        let directory = self.holder.directory();
        lease::take_turn(directory, &|| observer.is_cancelled())
            .map_err(|error| IngestError::DataDirectory { path: directory.to_path_buf(), error })
    }

    /// All transcript files, each once, in an order that does not depend on the file system: what
    /// was said first is read first, so that the session that began a conversation owns it.
    fn discover(&self, request: &IngestRequest, report: &mut IngestReport) -> Result<Vec<FoundFile>, IngestError> {
        let mut found: Vec<FoundFile> = Vec::new();
        let mut seen = HashSet::new();
        for root in &request.roots {
            let source = source::source_named(&root.source).ok_or_else(|| IngestError::UnknownSource(root.source.clone()))?;
            for path in source.discover(&root.path) {
                let path = path.canonicalize().unwrap_or(path);
                if !seen.insert((source.kind(), path.clone())) {
                    continue;
                }
                if !path.to_str().is_none_or(|path| request.policy.allows_file(path)) {
                    report.files_excluded += 1;
                    continue;
                }
                let Some(name) = path.to_str().map(str::to_owned) else {
                    report.failures.push((path, "its name is not UTF-8".to_owned()));
                    continue;
                };
                match path.metadata() {
                    Ok(meta) => {
                        let row = self.store.find_file(source.kind(), &name)?;
                        let began =
                            if row.is_some() { String::new() } else { first_string(&path, "timestamp").unwrap_or_default() };
                        found.push(FoundFile { source, name, size: meta.len(), mtime_ns: mtime_ns(&meta), row, began, path });
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => report.failures.push((path, error.to_string())),
                }
            }
        }
        found.sort_by(|a, b| {
            let order = |file: &FoundFile| file.row.as_ref().map_or(i64::MAX, |row| row.id);
            (order(a), &a.began, &a.name).cmp(&(order(b), &b.began, &b.name))
        });
        Ok(found)
    }

    /// Reads what is new in one file.
    fn file(
        &mut self,
        found: &FoundFile,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<(), IngestError> {
        if let Some(row) = &found.row {
            let at = &row.checkpoint;
            let may_be_kept_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
            if !may_be_kept_now
                && row.gone_ms.is_none()
                && at.size == found.size
                && at.mtime_ns == found.mtime_ns
                && row.lease_owner.is_none()
                && at.generation > 0
            {
                report.files_unchanged += 1;
                observer.advanced(found.size);
                return Ok(());
            }
        }
        let holder = &self.holder;
        let Some(mut row) =
            self.store.lease_file(found.source.kind(), &found.name, holder.name(), (self.now)(), |name| holder.is_alive(name))?
        else {
            report.files_busy += 1;
            return Ok(());
        };
        let result = self.leased_file(found, &mut row, request, observer, report);
        match result {
            Ok(()) => Ok(()),
            Err(FileError::Store(StoreError::LeaseLost(_))) => {
                report.files_busy += 1;
                Ok(())
            }
            Err(FileError::Store(error)) => Err(error.into()),
            Err(FileError::Io(error)) => {
                self.store.release_file(row.id, self.holder.name())?;
                report.failures.push((found.path.clone(), error.to_string()));
                Ok(())
            }
        }
    }

    fn leased_file(
        &mut self,
        found: &FoundFile,
        row: &mut FileRow,
        request: &IngestRequest,
        observer: &mut dyn Observer,
        report: &mut IngestReport,
    ) -> Result<(), FileError> {
        let mut file = File::open(&found.path)?;
        let meta = file.metadata()?;
        let size = meta.len();
        let mut at = row.checkpoint.clone();
        let is_known = at.archived_bytes > 0;
        // Lines that were kept out and may now be kept are read like those of a rewritten file.
        let is_allowed_now = at.kept_out.as_deref().is_some_and(|directory| allows(&request.policy, directory));
        let is_rewritten = is_allowed_now
            || is_known
                && (size < at.archived_bytes
                    || self.fingerprint(&mut file, at.archived_bytes)? != at.fingerprint.clone().unwrap_or_default());
        if is_rewritten {
            report.files_rewritten += 1;
            at = Checkpoint { generation: at.generation + 1, ..Checkpoint::default() };
        }
        if size == 0 {
            report.files_empty += 1;
        } else {
            report.files_read += 1;
        }
        at.size = size;
        at.mtime_ns = mtime_ns(&meta);
        let start = Start {
            archived: (at.archived_bytes, at.archived_lines),
            read: (at.read_bytes, at.read_lines),
            size,
            is_unterminated: at.archived_bytes > 0 && byte_at(&mut file, at.archived_bytes - 1)? != Some(b'\n'),
        };
        report.bytes_read += size.saturating_sub(start.archived.0);
        observer.advanced(start.archived.0.min(size));
        let reader = Reader {
            source: found.source,
            episodes: found.source.reader(&found.path, &at.reader_state, &request.reader),
            redactor: &self.redactor,
            keys: &self.keys,
            tombstones: &self.tombstones,
            max_line_bytes: request.max_line_bytes,
            is_allowed: match self.store.directory_of_file(row.id)?.or_else(|| first_string(&found.path, "cwd")) {
                Some(directory) => request.policy.allows_directory(&directory),
                None => request.policy.allows_unknown(),
            },
            policy: &request.policy,
        };
        let mut archive = Archive::new(self.store, self.keys.line, request.compression_level);
        let mut writer = Writer {
            store: self.store,
            holder: self.holder.name(),
            keys: &self.keys,
            now: self.now,
            resolver: &mut self.resolver,
            source: found.source.kind(),
            reading: 0,
        };
        // Opened again, not cloned: a clone would share its position with the fingerprints' reads.
        let own_handle = File::open(&found.path)?;
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel::<Batch>(1);
            let start = &start;
            let ahead = scope.spawn(move || reader.run(own_handle, start, |batch| send.send(batch).is_ok()));
            let mut failure = None;
            while let Ok(batch) = receive.recv() {
                let before = at.archived_bytes;
                let outcome = writer.commit(&mut archive, row, &mut at, &batch, &mut file, report);
                observer.advanced(at.archived_bytes.saturating_sub(before));
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
        if report.is_cancelled {
            self.store.release_file(row.id, self.holder.name())?;
        }
        Ok(())
    }

    /// Files under the roots that are known but no longer there.
    fn note_gone(&self, request: &IngestRequest, found: &[FoundFile], report: &mut IngestReport) -> Result<(), IngestError> {
        let present: HashSet<&str> = found.iter().map(|file| file.name.as_str()).collect();
        let roots: Vec<(String, PathBuf)> = request
            .roots
            .iter()
            .map(|root| (root.source.clone(), root.path.canonicalize().unwrap_or_else(|_| root.path.clone())))
            .collect();
        let mut gone = Vec::new();
        for row in self.store.files()? {
            let path = Path::new(&row.path);
            let is_ours = roots.iter().any(|(source, root)| *source == row.source && path.starts_with(root));
            if is_ours && row.gone_ms.is_none() && !present.contains(row.path.as_str()) && !path.exists() {
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

/// A file that a root holds.
struct FoundFile {
    source: &'static dyn Source,
    path: PathBuf,
    name: String,
    size: u64,
    mtime_ns: i64,
    row: Option<FileRow>,
    /// First recorded time, as text; orders files that are read for the first time.
    began: String,
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
    now: fn() -> UtcMillis,
    resolver: &'a mut ProjectResolver,
    source: &'static str,
    reading: i64,
}

impl Writer<'_> {
    /// One transaction: lines, turns, counts and the checkpoint, all or nothing.
    fn commit(
        &mut self,
        archive: &mut Archive<'_>,
        row: &mut FileRow,
        at: &mut Checkpoint,
        batch: &Batch,
        file: &mut File,
        report: &mut IngestReport,
    ) -> Result<(), FileError> {
        at.archived_bytes = batch.archived.0;
        at.archived_lines = batch.archived.1;
        at.read_bytes = batch.read.0;
        at.read_lines = batch.read.1;
        at.reader_state.clone_from(&batch.state);
        at.rules_version = RULES_VERSION;
        if let Some(directory) = &batch.kept_out {
            at.kept_out = Some(directory.clone());
        }
        at.fingerprint = (at.archived_bytes > 0).then(|| fingerprint(self.keys, file, at.archived_bytes)).transpose()?;
        let (size, mtime_ns) = (at.size, at.mtime_ns);
        if !batch.is_last {
            // Until the end is reached the file must not look finished.
            at.size = at.archived_bytes;
            at.mtime_ns = 0;
        }
        let names = self.project_names(&batch.readings);
        let now = (self.now)();
        loop {
            let plan = if batch.lines.len() > 0 { Some(archive.plan(row.id, at.generation, &batch.lines)?) } else { None };
            let mut outcomes = [0u64; 4];
            let is_done = self.store.write(|tx| {
                if let Some(plan) = &plan {
                    let Some(runs) = archive.apply(tx, plan)? else { return Ok(false) };
                    self.store.append_segments(tx, row.id, at.generation, &runs)?;
                }
                outcomes = self.store_readings(tx, row.id, &batch.readings, &names, now)?;
                self.store.count_skips(tx, row.id, &batch.skips)?;
                self.store.count_redactions(tx, row.id, &batch.redactions.iter().collect::<Vec<_>>())?;
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
        for reading in readings {
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
                        upserter.title(row.id, title)?;
                    }
                }
                Reading::TitleOfMessage(message, title) => match upserter.episode_of_message(self.source, message)? {
                    Some(episode) => upserter.title(episode, title)?,
                    None => upserter.title_later(self.source, message, title)?,
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
        upserter.turn(self.source, &row, &read.turn, TurnFacts { file, line: read.line, project, reading: self.reading })
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

fn mtime_ns(meta: &Metadata) -> i64 {
    meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos() as i64)
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
