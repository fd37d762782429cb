//! Runs an ingestion: discovers units under the roots, orders them, and reads the changed ones.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::time::UtcMillis;

use super::error::IngestError;
use super::first_commits::note_first_commits;
use super::found::{Content, FoundUnit, KnownUnits};
use super::key::Keys;
use super::lease::{self, Holder};
use super::policy::CapturePolicy;
use super::report::{IngestReport, LearnedUnit, Observer, Silent};
use super::request::{GivenDocument, IngestRequest};
use crate::platform::FileLock;
use crate::store::{Episodes, FileNote, FileRow, Files, Store};
use yore_sources::disk::{is_there, readable};
use yore_sources::peek::first_string;
use yore_sources::project_names::ProjectResolver;
use yore_sources::redact::{RedactionCounts, RedactionPatternError, Redactor};
use yore_sources::source::{self, Framing, Source, Unit};

/// Reads histories into a store.
pub struct Ingest<'a> {
    pub(super) store: &'a Store,
    pub(super) keys: Keys,
    pub(super) redactor: Arc<Redactor>,
    pub(super) holder: Holder,
    pub(super) now: fn() -> UtcMillis,
    pub(super) tombstones: HashSet<[u8; 16]>,
    pub(super) resolver: ProjectResolver,
}

impl<'a> Ingest<'a> {
    /// Prepares this process to read into `store`, whose data directory is `directory`.
    ///
    /// `redactor` returns the rules for a key. Compiling them takes milliseconds, so callers that read often
    /// share them.
    ///
    /// # Errors
    /// When the directory's key or locks cannot be read or written, or a pattern cannot be used.
    pub(crate) fn new(
        store: &'a Store,
        directory: &Path,
        redactor: impl FnOnce(&[u8; 32]) -> Result<Arc<Redactor>, RedactionPatternError>,
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
        let redactor = redactor(&keys.redaction)?;
        let tombstones = store.tombstones()?;
        let is_new = !store.is_keyed()?;
        let ingest = Self { store, keys, redactor, holder, now, tombstones, resolver: ProjectResolver::default() };
        if is_new && !ingest.is_scanned()? {
            // Nothing is stored yet: everything that will be is redacted with these rules.
            ingest.note_scanned()?;
        }
        Ok(ingest)
    }

    /// Finds the files under the roots and reads what is new in each. A file that fails is reported and the
    /// others are still read. Only a failure of the store ends the work.
    pub(crate) fn run(&mut self, request: &IngestRequest, observer: &mut dyn Observer) -> Result<IngestReport, IngestError> {
        let mut report = IngestReport::default();
        let _lock = if request.is_dry_run { None } else { Some(self.lock_ingestion(observer)?) };
        // Something may have been forgotten while other processes held the lock.
        self.tombstones = self.store.tombstones()?;
        let mut found = self.discover(request, &mut report)?;
        report.files_left = request.newest_bytes.map_or(0, |bytes| leave_older(&mut found, bytes));
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
            if self.is_copy(unit)? {
                report.files_unchanged += 1;
                observer.advanced(unit.unit.stamp.size);
                continue;
            }
            let before = (report.turns_added, report.turns_updated);
            if !self.read_unit(unit, request, observer, &mut report)? {
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
            note_first_commits(self.store, (self.now)())?;
        }
        if !request.is_dry_run && !report.is_cancelled && request.only.is_none() && report.files_left == 0 {
            self.note_gone(request, &found, &mut report)?;
        }
        Ok(report)
    }

    /// Returns whether a unit that was never read copies a session that another agent's own files gave, or that
    /// was forgotten.
    fn is_copy(&self, found: &FoundUnit) -> Result<bool, IngestError> {
        let copied = if found.row.is_none() { found.source.copy_of(&found.unit) } else { None };
        let Some(session) = copied else { return Ok(false) };
        let is_buried =
            |source: &&dyn Source| self.tombstones.contains(&self.keys.tombstone_hash(source.kind(), "session", &session));
        Ok(source::SOURCES.iter().any(is_buried)
            || self.store.episodes(&Episodes::Native(None, &session))?.iter().any(|known| known.agent != found.source.kind()))
    }

    /// Stores documents that a caller gives, such as a note or a page. For a unit of the same name the new
    /// content replaces the old. `state` is kept for [`Store::files`].
    pub(crate) fn put(
        &mut self,
        source: &'static dyn Source,
        documents: Vec<GivenDocument>,
        request: &IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let lock = self.begin()?;
        self.put_locked(&lock, source, documents, request)
    }

    /// Waits until no other process stores or forgets, and blocks others as long as the returned lock is
    /// kept. So what is known now is still true when something is put.
    pub(crate) fn begin(&mut self) -> Result<IngestLock, IngestError> {
        let lock = IngestLock { _lock: self.lock_ingestion(&Silent)? };
        self.tombstones = self.store.tombstones()?;
        Ok(lock)
    }

    /// Like [`Self::begin`], without waiting; `None` while another process stores or forgets.
    pub(crate) fn try_begin(&mut self) -> Result<Option<IngestLock>, IngestError> {
        let directory = self.holder.directory();
        match lease::lock_ingestion(directory, &|| true) {
            Ok(lock) => {
                self.tombstones = self.store.tombstones()?;
                Ok(Some(IngestLock { _lock: lock }))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(IngestError::DataDirectory { path: directory.to_path_buf(), error }),
        }
    }

    /// Like [`Self::put`], for a caller that already holds the lock.
    pub(crate) fn put_locked(
        &mut self,
        _lock: &IngestLock,
        source: &'static dyn Source,
        documents: Vec<GivenDocument>,
        request: &IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let mut report = IngestReport::default();
        for document in documents {
            self.put_one(source, document, request, &mut report)?;
        }
        note_first_commits(self.store, (self.now)())?;
        self.store.settle_titles()?;
        Ok(report)
    }

    fn put_one(
        &mut self,
        source: &'static dyn Source,
        GivenDocument { name, stamp, state, records }: GivenDocument,
        request: &IngestRequest,
        report: &mut IngestReport,
    ) -> Result<(), IngestError> {
        let stored = self.redacted_name(&name);
        let row = self.store.files(Files::At(source.kind(), &stored))?.pop();
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
        report.files += 1;
        self.read_unit(&found, request, &mut Silent, report)?;
        Ok(())
    }

    /// Returns a name (of a file, a title) as it is stored. The same name always gives the same result.
    fn redacted_name(&self, name: &str) -> String {
        self.redactor.text(name, &mut RedactionCounts::default()).unwrap_or_else(|| name.to_owned())
    }

    /// Returns a record as it is stored, and the number of secrets redacted from it.
    pub(crate) fn redacted(&self, mut record: Value) -> (Value, u64) {
        let mut counts = RedactionCounts::default();
        self.redactor.json(&mut record, &mut counts);
        (record, counts.total())
    }

    pub(super) fn lock_ingestion(&self, observer: &dyn Observer) -> Result<FileLock, IngestError> {
        let directory = self.holder.directory();
        lease::lock_ingestion(directory, &|| observer.is_cancelled())
            .map_err(|error| IngestError::DataDirectory { path: directory.to_path_buf(), error })
    }

    /// Returns all units, each once, in an order that does not depend on the file system. Earlier messages
    /// are read first, so that the session that began a conversation owns it.
    fn discover(&self, request: &IngestRequest, report: &mut IngestReport) -> Result<Vec<FoundUnit>, IngestError> {
        let mut found: Vec<FoundUnit> = Vec::new();
        let mut seen = HashSet::new();
        let mut parents = HashMap::new();
        let rows = self.store.files(Files::All)?;
        let rows: HashMap<(&str, &str), &FileRow> =
            rows.iter().map(|row| ((row.source.as_str(), row.path.as_str()), row)).collect();
        for root in &request.roots {
            let source = source::source_named(&root.source).ok_or_else(|| IngestError::UnknownSource(root.source.clone()))?;
            // Paths are made canonical, so that one file is one unit whatever path leads to it.
            let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            if let Err(error) = readable(&path) {
                report.not_read(path, &error);
                continue;
            }
            let known = KnownUnits { source: source.kind(), rows: &rows, now: (self.now)(), store: self.store };
            let before = report.unread().count();
            let units = report.discovered(source, &path, &known);
            if units.is_empty() && report.unread().count() == before {
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
            let order = |found: &FoundUnit| (found.unit.closes_file, found.row.is_none(), found.row.as_ref().map(|row| row.id));
            (order(a), &a.began, &a.name).cmp(&(order(b), &b.began, &b.name))
        });
        Ok(found)
    }

    /// Marks known files under the roots that no longer exist.
    fn note_gone(&self, request: &IngestRequest, found: &[FoundUnit], report: &mut IngestReport) -> Result<(), IngestError> {
        let present: HashSet<&str> = found.iter().map(|file| file.stored.as_str()).collect();
        let roots: Vec<(String, PathBuf)> = request
            .roots
            .iter()
            .map(|root| (root.source.clone(), root.path.canonicalize().unwrap_or_else(|_| root.path.clone())))
            .collect();
        let mut gone = Vec::new();
        for row in self.store.files(Files::All)? {
            let path = Path::new(&row.path);
            let is_ours = roots.iter().any(|(source, root)| *source == row.source && path.starts_with(root));
            if is_ours && row.gone_ms.is_none() && !present.contains(row.path.as_str()) && !is_there(path) {
                gone.push(row.id);
            }
        }
        report.files_gone = gone.len() as u64;
        self.store.note_files(&gone, FileNote::Gone((self.now)()))?;
        Ok(())
    }
}

/// Exclusive right to store and to forget: see [`Ingest::begin`].
#[derive(Debug)]
pub(crate) struct IngestLock {
    _lock: FileLock,
}

/// Returns whether the content of this file may be kept. A document is recorded under the given root
/// directory, but the file may be in a project below it that is excluded.
fn allows_parent(policy: &CapturePolicy, path: &Path, known: &mut HashMap<PathBuf, bool>) -> bool {
    let Some(parent) = path.parent().filter(|_| policy.looks_at_directories()) else { return true };
    if let Some(is_allowed) = known.get(parent) {
        return *is_allowed;
    }
    let is_allowed = parent.to_str().map_or_else(|| policy.allows_unknown(), |parent| policy.allows_directory(parent));
    known.insert(parent.to_path_buf(), is_allowed);
    is_allowed
}

/// Removes units that were never read, up to the newest ones of so many bytes; returns the number of removed units.
///
/// Copies of a conversation begin at one time and stay together: the first unit with a message owns it.
fn leave_older(found: &mut Vec<FoundUnit>, bytes: u64) -> u64 {
    let mut taken = 0;
    let mut oldest = None;
    for new in found.iter().rev().filter(|found| found.row.is_none() && !found.unit.closes_file) {
        taken += new.unit.stamp.size;
        if oldest.is_some() && taken > bytes {
            let (oldest, before) = (oldest.unwrap_or_default(), found.len());
            found.retain(|found| found.row.is_some() || !found.unit.closes_file && found.began >= oldest);
            return (before - found.len()) as u64;
        }
        oldest = Some(new.began.clone());
    }
    0
}
