//! The full-text index on tantivy: opens, syncs, rebuilds and purges it. Scores are BM25 (Robertson and Zaragoza 2009; k1 1.2, b
//! 0.75); block-max WAND finds the best turns without scoring every turn that has a common word.
//!
//! The index is a cache beside the database. The store queues every turn whose text changed;
//! [`LexicalIndex::sync`] processes the queue in order and empties it only after the index has committed, so
//! a crash in between only makes some turns be indexed twice, with the same result. A query searches turns
//! that are still queued in memory. A token ties index and database together: an index is rebuilt if it is
//! damaged, or belongs to another database or tokenizer.

mod best;
mod error;
mod schema;
mod state;
mod waiting;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, META_LOCK, MmapDirectory};
use tantivy::indexer::{IndexWriterOptions, NoMergePolicy};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyError, Term};
use yore_core::text::{Question, TOKENIZER_VERSION};

pub use self::error::IndexError;
use self::error::failure;
pub(super) use self::error::io_failure;
use self::schema::{Fields, SCHEMA_NUMBER, schema};
pub use self::state::CollectionCounts;
use self::state::{KnownGraph, count_filled};
pub(crate) use self::state::{LexicalState, SearchOptions};
use self::waiting::Waiting;
use super::tantivy_tokenizer::{NAME, YoreTokenizer};
use crate::index::filter::CompiledFilter;
use crate::store::{Again, ItemKey, MemoryKey, ProjectKey, Queue, QueuePlace, Queued, RowKey, Store, StoreError};

/// Fact of the store: text was deleted of which the index must not keep a byte.
const PURGE: &str = "purge";
/// Memory that indexing may use before it writes a segment.
const WRITER_BYTES: usize = 48 * 1024 * 1024;
/// Turns between two commits; after a crash, at most these are indexed again.
const COMMIT_TURNS: usize = 50_000;
/// Turns read from the store at once.
const READ_TURNS: usize = 500;
/// File of the index that names the files of its last commit.
const META_FILE: &str = "meta.json";
/// Number and length of the pauses in which a rebuild waits for a writer of the index that it replaces.
const WRITER_TRIES: u32 = 100;
const WRITER_PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of retries when removing the files.
const REMOVE_TRIES: u32 = 10;
/// Maximum number of retries when checking the files.
const CHECK_TRIES: u32 = 3;

/// Result of an index update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Turns indexed.
    pub indexed: u64,
    /// Turns removed.
    pub removed: u64,
    /// True if the index was built from nothing.
    pub is_rebuilt: bool,
    /// True if another process is writing the index; that process will process the queue.
    pub is_busy: bool,
    /// True if a reader still holds files with removed text, which the system does not delete before it ends.
    pub holds_removed: bool,
}

/// A commit of the index, identified by time and size of its file, with its counts.
#[derive(Clone, Copy)]
struct SeenCommit {
    stamp: (SystemTime, u64),
    filled: [u64; 2],
}

/// The full-text index of one store.
pub(crate) struct LexicalIndex {
    directory: PathBuf,
    /// Ties the index to its database; `None` for one in memory.
    token: Option<String>,
    index: Index,
    reader: IndexReader,
    fields: Fields,
    is_new: bool,
    /// The commit that was read last.
    seen: Mutex<Option<SeenCommit>>,
    graph: KnownGraph,
    waiting: Mutex<Waiting>,
    counts: Option<CollectionCounts>,
}

impl LexicalIndex {
    /// Opens the index that belongs to the store's token, or creates an empty one. `parent` is the data
    /// directory.
    pub(crate) fn open(parent: &Path, store: &Store) -> Result<Self, IndexError> {
        let directory = parent.join("index").join(format!("lexical-{SCHEMA_NUMBER}-{TOKENIZER_VERSION}"));
        let (schema, fields) = schema();
        let token = store.index_state("lexical")?;
        let fail = |error: TantivyError| failure(&directory, error);
        let existing = match &token {
            Some(token) => Index::open_in_dir(&directory).ok().filter(|index| {
                index.schema() == schema && index.load_metas().is_ok_and(|metas| metas.payload.as_deref() == Some(token))
            }),
            None => None,
        };
        if let Some(index) = existing
            && let Ok(opened) = Self::with_index(directory.clone(), token.clone(), index, fields, false)
        {
            return Ok(opened);
        }
        if store.is_passive() {
            return Err(IndexError::Missing(directory));
        }
        let io = |error: std::io::Error| io_failure(&directory, &error);
        // No usable index: delete it, older formats included, and create a new one, one process at a time; a
        // second process finds the index of the first.
        let turnstile = parent.join("index.lock");
        crate::platform::create_private_file(&turnstile).map_err(io)?;
        let turnstile = std::fs::OpenOptions::new().write(true).open(&turnstile).map_err(io)?;
        turnstile.lock().map_err(io)?;
        if store.index_state("lexical")? != token {
            drop(turnstile);
            return Self::open(parent, store);
        }
        if store.is_replaced() {
            return Err(StoreError::Replaced(store.path().to_path_buf()).into());
        }
        wait_for_writer(&directory);
        let parent = parent.join("index");
        let mut tries = 0;
        while let Err(error) = std::fs::remove_dir_all(&parent) {
            match error.kind() {
                std::io::ErrorKind::NotFound => break,
                // A writer has come since, and added a file.
                std::io::ErrorKind::DirectoryNotEmpty if tries < REMOVE_TRIES => tries += 1,
                _ => return Err(io(error)),
            }
        }
        crate::platform::create_private_directory(&directory).map_err(io)?;
        let index = Index::create_in_dir(&directory, schema).map_err(fail)?;
        let token = uuid::Uuid::now_v7().simple().to_string();
        {
            let mut writer = first_writer(&index).map_err(fail)?;
            let mut commit = writer.prepare_commit().map_err(fail)?;
            commit.set_payload(&token);
            commit.commit().map_err(fail)?;
        }
        store.queue_again(Again::Text)?;
        store.set_index_state("lexical", &token)?;
        Self::with_index(directory, Some(token), index, fields, true)
    }

    /// Makes an index in memory of everything in the store, for places without write access: a full disk, a
    /// read-only medium. It is lost when the process ends.
    pub(crate) fn in_memory(parent: &Path, store: &Store) -> Result<Self, IndexError> {
        let directory = parent.join("index");
        let fail = |error: TantivyError| failure(&directory, error);
        let (schema, fields) = schema();
        let made = Self::with_index(directory.clone(), None, Index::create_in_ram(schema), fields, false)?;
        let mut writer: IndexWriter = made.index.writer_with_num_threads(1, WRITER_BYTES).map_err(fail)?;
        let mut after = ItemKey::new(0);
        loop {
            let items = store.indexable_after(after, READ_TURNS)?;
            let Some((last, _)) = items.last() else { break };
            after = *last;
            for item in items.iter().filter_map(|(_, item)| item.as_ref()) {
                writer.add_document(made.fields.document(item)).map_err(fail)?;
            }
        }
        writer.commit().map_err(fail)?;
        writer.wait_merging_threads().map_err(fail)?;
        made.reader.reload().map_err(fail)?;
        Ok(made)
    }

    /// Has scores computed with the counts of a collection of which the store holds a sample.
    pub(crate) fn sample_of(self, counts: Option<CollectionCounts>) -> Self {
        Self { counts, ..self }
    }

    fn with_index(
        directory: PathBuf,
        token: Option<String>,
        index: Index,
        fields: Fields,
        is_new: bool,
    ) -> Result<Self, IndexError> {
        index.tokenizers().register(NAME, YoreTokenizer::default());
        let reader =
            index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(|error| failure(&directory, error))?;
        Ok(Self {
            directory,
            token,
            index,
            reader,
            fields,
            is_new,
            seen: Mutex::default(),
            graph: Mutex::default(),
            waiting: Mutex::default(),
            counts: None,
        })
    }

    /// Returns whether no part of it is on disk.
    fn is_in_memory(&self) -> bool {
        self.token.is_none()
    }

    /// Returns whether another process has replaced the index since it was opened, or is about to.
    pub(crate) fn is_replaced(&self, store: &Store) -> Result<bool, IndexError> {
        Ok(!self.is_in_memory() && (store.index_state("lexical")? != self.token || !self.directory.join(META_FILE).exists()))
    }

    fn replaced(&self) -> IndexError {
        IndexError::Replaced(self.directory.clone())
    }

    /// Processes the store's queue. With `purge`, no byte of removed text stays in the index.
    pub(crate) fn sync(&self, store: &Store, purge: bool, advanced: &mut dyn FnMut(u64)) -> Result<SyncReport, IndexError> {
        let mut report = SyncReport { is_rebuilt: self.is_new, ..SyncReport::default() };
        if self.is_in_memory() {
            return Ok(report);
        }
        // A killed process may not have finished its purge.
        let purge = purge || store.index_state(PURGE)?.is_some();
        if !purge && store.waiting(Queue::Text, 1)? == 0 {
            return Ok(report);
        }
        let fail = |error: TantivyError| failure(&self.directory, error);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .memory_budget_per_thread(WRITER_BYTES)
            .num_merge_threads(1)
            .build();
        let mut writer: IndexWriter = match self.index.writer_with_options(options) {
            Ok(writer) => writer,
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Ok(SyncReport { is_busy: true, ..report }),
            Err(error) => return Err(fail(error)),
        };
        if purge {
            // No merge may be writing a segment while the dead ones are searched for.
            writer.set_merge_policy(Box::new(NoMergePolicy));
        }
        let Some(token) = store.index_state("lexical")?.filter(|token| self.token.as_ref() == Some(token)) else {
            return Err(self.replaced());
        };
        // Files left by a killed process would conflict with new files of the same name.
        self.remove_unnamed_files()?;
        // Another process may have committed since, and so may an attempt that failed after all.
        self.reader.reload().map_err(fail)?;
        let mut is_empty = self.reader.searcher().num_docs() == 0;
        let mut seen: HashSet<ItemKey> = HashSet::new();
        let (mut after, mut uncommitted) = (QueuePlace::default(), 0);
        loop {
            let queued = store.queued(Queue::Text, after, READ_TURNS)?;
            let count = queued.len();
            for Queued { place, key, item, .. } in queued {
                after = place;
                // An empty index has nothing to replace when a turn occurs for the first time.
                if !is_empty || !seen.insert(key) {
                    writer.delete_term(Term::from_field_u64(self.fields.row, key.get() as u64));
                }
                match item {
                    Some(item) => {
                        writer.add_document(self.fields.document(&item)).map_err(fail)?;
                        report.indexed += 1;
                    }
                    None => report.removed += 1,
                }
            }
            uncommitted += count;
            advanced(count as u64);
            if count < READ_TURNS || uncommitted >= COMMIT_TURNS {
                let mut commit = writer.prepare_commit().map_err(fail)?;
                commit.set_payload(&token);
                commit.commit().map_err(fail)?;
                store.drop_queued(Queue::Text, after)?;
                uncommitted = 0;
            }
            if count < READ_TURNS {
                break;
            }
            if seen.len() > 2_000_000 {
                is_empty = false;
                seen = HashSet::new();
            }
        }
        if purge {
            report.holds_removed = !self.purge(&mut writer)?;
            if !report.holds_removed {
                store.clear_index_state(PURGE)?;
            }
        }
        writer.wait_merging_threads().map_err(fail)?;
        self.reader.reload().map_err(fail)?;
        // Merges leave segments that another process wrote; a writer that came meanwhile removes them.
        self.dead_files(true)?;
        self.make_files_private()?;
        // Words that were removed are kept nowhere.
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Waiting::default();
        Ok(report)
    }

    /// Rewrites every segment that still holds removed turns, and deletes the old files. Returns whether none is left:
    /// some systems do not delete a file that a reader has mapped.
    fn purge(&self, writer: &mut IndexWriter) -> Result<bool, IndexError> {
        let fail = |error: TantivyError| failure(&self.directory, error);
        for meta in self.index.searchable_segment_metas().map_err(fail)? {
            if meta.has_deletes() {
                writer.merge(&[meta.id()]).wait().map_err(fail)?;
            }
        }
        self.reader.reload().map_err(fail)?;
        self.remove_unnamed_files()?;
        Ok(self.unnamed_files()?.is_empty())
    }

    /// Removes every file of a segment that the commit does not name; returns their number. The library deletes only
    /// what is on a list that each process keeps in memory, so it never deletes the segments of another process.
    /// The caller holds the writer's lock, and no merge is running.
    fn remove_unnamed_files(&self) -> Result<usize, IndexError> {
        // A reader holds this lock until it has opened all files of a commit.
        let _opening = self
            .index
            .directory()
            .acquire_lock(&META_LOCK)
            .map_err(|error| failure(&self.directory, TantivyError::LockFailure(error, None)))?;
        let unnamed = self.unnamed_files()?;
        for path in &unnamed {
            // A system that does not delete mapped files leaves them to a later writer.
            let _ = std::fs::remove_file(path);
        }
        if !unnamed.is_empty() {
            // Where a directory cannot be flushed, a computer that fails brings back a file, and the next writer removes it.
            let _ = crate::platform::sync_directory(&self.directory);
        }
        Ok(unnamed.len())
    }

    /// Returns the files of segments that the commit does not name.
    fn unnamed_files(&self) -> Result<Vec<PathBuf>, IndexError> {
        let named = self.index.load_metas().map_err(|error| failure(&self.directory, error))?.list_segment_files();
        let is_of_segment = |name: &str| name.len() > 32 && name.as_bytes()[..32].iter().all(u8::is_ascii_hexdigit);
        let mut unnamed = Vec::new();
        for entry in std::fs::read_dir(&self.directory).map_err(|error| io_failure(&self.directory, &error))?.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(is_of_segment) && !named.contains(Path::new(&name)) {
                unnamed.push(entry.path());
            }
        }
        Ok(unnamed)
    }

    /// Returns the files that no commit names: of writers that were killed. With `removes`, deletes them. While another
    /// process writes, none is taken for dead.
    pub(crate) fn dead_files(&self, removes: bool) -> Result<usize, IndexError> {
        if self.is_in_memory() {
            return Ok(0);
        }
        let _writing = match self.index.directory().acquire_lock(&INDEX_WRITER_LOCK) {
            Ok(lock) => lock,
            Err(LockError::LockBusy) => return Ok(0),
            // A medium that cannot be written has no locks.
            Err(_) if !removes => return Ok(self.unnamed_files()?.len()),
            Err(error) => return Err(failure(&self.directory, TantivyError::LockFailure(error, None))),
        };
        if removes { self.remove_unnamed_files() } else { Ok(self.unnamed_files()?.len()) }
    }

    /// Removes other users' permissions from the files: the library makes them as the umask says.
    fn make_files_private(&self) -> Result<(), IndexError> {
        let fail = |error: std::io::Error| io_failure(&self.directory, &error);
        for entry in std::fs::read_dir(&self.directory).map_err(fail)?.flatten() {
            match crate::platform::make_private(&entry.path()) {
                // A writer that came later removed it.
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fail(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the directory of the index.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the files whose checksums do not match, of all that the commit names, whichever process wrote them.
    pub(crate) fn damaged_files(&self) -> Result<Vec<PathBuf>, IndexError> {
        let check = || -> Result<Vec<PathBuf>, TantivyError> {
            let mut damaged = Vec::new();
            for file in self.index.load_metas()?.list_segment_files() {
                // Only a segment with deleted rows has a file of them.
                if self.directory.join(&file).exists() && !self.index.directory().validate_checksum(&file)? {
                    damaged.push(file);
                }
            }
            Ok(damaged)
        };
        let mut tries = 0;
        loop {
            match check() {
                Ok(damaged) => return Ok(damaged),
                // Another process merged segments meanwhile, and deleted their files.
                Err(_) if tries < CHECK_TRIES => tries += 1,
                Err(error) => return Err(failure(&self.directory, error)),
            }
        }
    }

    /// Returns the index as it is now, with the commits of other processes.
    pub(crate) fn state(&self) -> Result<LexicalState<'_>, IndexError> {
        let filled = self.refresh()?;
        Ok(LexicalState {
            directory: &self.directory,
            schema: self.index.schema(),
            fields: self.fields,
            searcher: self.reader.searcher(),
            filled,
            is_in_memory: self.is_in_memory(),
            graph: &self.graph,
            counts: self.counts.as_ref(),
        })
    }

    /// Returns memories of a project (`None`: of none) that share words with a text, of any status: the best of the index, then the best
    /// of those that wait for it; of either at most `limit`. Unlike a query it builds no index in memory of what waits, so that every
    /// memory that is recorded can ask.
    pub(crate) fn nearest_memories(
        &self,
        store: &Store,
        question: &Question,
        project: Option<ProjectKey>,
        limit: usize,
    ) -> Result<Vec<MemoryKey>, IndexError> {
        let filter = CompiledFilter::of_memories(project);
        // The index in memory is complete. The queue is read first: what another process takes from it meanwhile is in its index.
        let waiting = if self.is_in_memory() {
            Vec::new()
        } else {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.follow(store)?;
            waiting.nearest(&question.terms, project, limit)
        };
        let mut near = self.state()?.nearest_memories(question, &filter, limit)?;
        near.extend(waiting);
        let mut seen = HashSet::new();
        near.retain(|key| seen.insert(*key));
        Ok(near)
    }

    /// Returns the number of turns in the index.
    pub(crate) fn len(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Loads commits of other processes, and returns the numbers of turns with spoken text and with tool
    /// text.
    fn refresh(&self) -> Result<[u64; 2], IndexError> {
        if self.is_in_memory() {
            return count_filled(&self.reader.searcher(), self.fields).map_err(|error| failure(&self.directory, error));
        }
        let stamp = std::fs::metadata(self.directory.join(META_FILE))
            .and_then(|meta| Ok((meta.modified()?, meta.len())))
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => self.replaced(),
                _ => io_failure(&self.directory, &error),
            })?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match *seen {
            Some(SeenCommit { stamp: known, filled }) if known == stamp => Ok(filled),
            _ => {
                let fail = |error: TantivyError| failure(&self.directory, error);
                if self.index.load_metas().map_err(fail)?.payload != self.token {
                    return Err(self.replaced());
                }
                self.reader.reload().map_err(fail)?;
                let filled = count_filled(&self.reader.searcher(), self.fields).map_err(fail)?;
                *seen = Some(SeenCommit { stamp, filled });
                Ok(filled)
            }
        }
    }
}

/// Waits until no process writes the index in a directory, which would fail if its files went; not for ever: the writer
/// then opens the new index.
fn wait_for_writer(directory: &Path) {
    let Ok(replaced) = MmapDirectory::open(directory) else { return };
    for _ in 0..WRITER_TRIES {
        if !matches!(replaced.acquire_lock(&INDEX_WRITER_LOCK), Err(LockError::LockBusy)) {
            return;
        }
        std::thread::sleep(WRITER_PAUSE);
    }
}

/// Returns the writer of an index that was just created. A process that had the replaced index open may hold its lock
/// for a moment, until it sees that this is another one.
fn first_writer(index: &Index) -> Result<IndexWriter, TantivyError> {
    for _ in 0..WRITER_TRIES {
        match index.writer_with_num_threads(1, 15_000_000) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => std::thread::sleep(WRITER_PAUSE),
            made => return made,
        }
    }
    index.writer_with_num_threads(1, 15_000_000)
}
