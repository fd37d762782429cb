//! [`Engine`], the facade that the command line, the daemon and the servers call: opening, indexing, recall.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use yore_core::handoff::Dropped;
use yore_core::id::TurnId;
use yore_core::memory::dynamics::Dynamics;
use yore_core::query::{Filter, ItemId, Rerank, SearchMode};
use yore_core::text::{Question, Tokenizer, asked_for};
use yore_core::time::UtcMillis;

use crate::budget::{Ledger, Terms};
use crate::category_trees::KeptTrees;
use crate::embed::{EmbedCache, LoadOptions, ModelFolder, Reranker, TextEmbedder};
use crate::embedding::{self, EmbedReport, Running, TextModel};
use crate::error::EngineError;
use crate::index::{CollectionCounts, IndexError, LexicalIndex, SemanticIndex, SyncReport};
use crate::ingest::{
    GivenDocument, Ingest, IngestError, IngestReport, IngestRequest, Keys, Observer, PROXY_TEXTS, ReindexReport, directories_of,
};
use crate::llm::{self, ServerEmbedder, ServerReranker};
use crate::platform;
use crate::retrieve::{
    self, Asking, Deadline, Hit, Judge, Missing, Packing, QueryContext, RecallAnswer, RecallRequest, RecallTimes,
};
use crate::store::{Again, Files, MemoryKey, ProjectKey, Queue, SourceFileSummary, Store, StoreError, StoreOptions, Unused};
use yore_sources::redact::{RedactionCounts, RedactionPatternError, Redactor};
use yore_sources::source::{ReaderOptions, Source as _, Stamp, Web, note, source_named};

/// Number and length of the pauses in which a hard forgetting waits for the index: a minute in all.
const PURGE_TRIES: u32 = 1200;
const PURGE_PAUSE: Duration = Duration::from_millis(50);
/// Number and length of the pauses after which an index that another process replaced is opened again.
const REPLACED_TRIES: u32 = 5;
const REPLACED_PAUSE: Duration = Duration::from_millis(20);
/// Turns embedded between two updates of the vector index.
const EMBEDDED_PER_SYNC: u64 = 1_000;
/// Items that may lack vectors where the local model answers by itself: what was said in the last minutes is found by its words.
const FEW_UNEMBEDDED: usize = 300;
/// Maximum number of turns without vectors that an answer counts.
const COUNTED_UNEMBEDDED: usize = 1_000;
/// Compactions of which it is kept what they left out.
const KEPT_COMPACTIONS: usize = 8;
/// Stops no call of a model.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The data directory.
    pub directory: PathBuf,
    /// True to create the data directory and its files if they are missing.
    pub create: bool,
    /// The store's settings.
    pub store: StoreOptions,
    /// Regular expressions for secrets that no built-in rule matches.
    pub redaction_patterns: Vec<String>,
    /// The folder of the local embedding model, if there is one.
    pub model: Option<PathBuf>,
    /// The folder of the cross-encoder, if there is one.
    pub reranker: Option<PathBuf>,
    /// The models on servers that take the place of those in folders.
    pub servers: ModelServers,
    /// Threads that embed one text.
    pub model_threads: usize,
    /// The clock.
    pub now: fn() -> UtcMillis,
    /// The constants of the memories' dynamics.
    pub dynamics: Dynamics,
}

/// Models on servers. Nothing connects to them before they are needed.
#[derive(Clone, Debug, Default)]
pub struct ModelServers {
    /// Gives texts their vectors, and the terms on which it is called.
    pub embedder: Option<(Arc<ServerEmbedder>, Terms)>,
    /// Tells how relevant passages are, and the terms on which it is called.
    pub reranker: Option<(Arc<ServerReranker>, Terms)>,
}

/// Statistics of the full-text index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IndexHealth {
    /// Turns it holds.
    pub indexed: u64,
    /// Turns it should hold.
    pub expected: u64,
    /// Turns that wait for it.
    pub queued: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Statistics of the vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct VectorHealth {
    /// Turns in the static table's index.
    pub static_turns: u64,
    /// Model that made the other vectors, if any.
    pub model: Option<String>,
    /// Turns in that model's index.
    pub model_turns: u64,
    /// Turns that have its vectors.
    pub embedded_turns: u64,
    /// Number of its vectors.
    pub vectors: u64,
    /// Vectors of models used before.
    pub others: u64,
    /// Turns that have no vectors of the model yet.
    pub waiting: u64,
    /// Turns that wait for the vector indexes.
    pub queued: u64,
    /// Bytes of the indexes on disk.
    pub bytes: u64,
}

/// Stores and retrieves. Threads may share it freely.
#[derive(Debug)]
pub struct Engine {
    options: EngineOptions,
    store: Store,
    index: RwLock<Option<Arc<LexicalIndex>>>,
    semantic: OnceLock<SemanticIndex>,
    model: Mutex<Option<TextModel>>,
    reranker: Mutex<Option<Arc<Reranker>>>,
    /// Number of runs that use a model now.
    model_uses: AtomicUsize,
    redactor: Mutex<Option<Arc<Redactor>>>,
    tokenizer: Mutex<Tokenizer>,
    /// The things that the last compactions left out.
    dropped: Mutex<Vec<Arc<Dropped>>>,
    /// The times that recall took since they were last stored.
    recall_times: Mutex<RecallTimes>,
    kept_trees: Mutex<KeptTrees>,
    counts: Option<CollectionCounts>,
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LexicalIndex").field("directory", &self.directory()).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens a data directory.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when the data directory is empty and `create` is false; everything else that
    /// [`StoreError`] names.
    pub fn open(options: EngineOptions) -> Result<Self, EngineError> {
        let store = Store::open(&options.directory, options.create, options.store.clone())?;
        let engine = Self {
            options,
            store,
            index: RwLock::default(),
            semantic: OnceLock::new(),
            model: Mutex::default(),
            reranker: Mutex::default(),
            model_uses: AtomicUsize::new(0),
            redactor: Mutex::default(),
            tokenizer: Mutex::default(),
            dropped: Mutex::default(),
            recall_times: Mutex::default(),
            kept_trees: Mutex::default(),
            counts: None,
        };
        // What fails here is tried again, and reported, by the commands that write; `doctor` tells of it.
        let _ = engine.settle_forgetting();
        Ok(engine)
    }

    /// Has its answers ranked as if it held a whole collection with these counts, of which it holds what may answer a question.
    pub fn sample_of(self, counts: CollectionCounts) -> Self {
        Self { counts: Some(counts), ..self }
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.options.directory
    }

    /// Reads histories into the archive and the store. [`Self::sync_index`] adds them to the index; recall
    /// finds them before that.
    pub fn ingest(&self, request: &IngestRequest, observer: &mut dyn Observer) -> Result<IngestReport, EngineError> {
        self.settle_forgetting()?;
        Ok(self.ingester()?.run(request, observer)?)
    }

    /// Stores a document given by the caller, a note or a page, and replaces what was stored under its name.
    /// [`Self::sync_index`] adds it to the index.
    pub fn put_document(
        &self,
        source: &str,
        document: GivenDocument,
        request: &IngestRequest,
    ) -> Result<IngestReport, EngineError> {
        self.put_documents(source, vec![document], request)
    }

    /// Stores documents like [`Self::put_document`]. An error leaves those before it stored.
    pub fn put_documents(
        &self,
        source: &str,
        documents: Vec<GivenDocument>,
        request: &IngestRequest,
    ) -> Result<IngestReport, EngineError> {
        let source = source_named(source).ok_or_else(|| IngestError::UnknownSource(source.to_owned()))?;
        Ok(self.ingester()?.put(source, documents, request)?)
    }

    /// Returns the directories by which projects are recognised, as recorded.
    pub fn project_directories(&self) -> Result<Vec<String>, EngineError> {
        Ok(directories_of(&self.store.projects()?))
    }

    /// Returns the stamp of a unit when it was last read, and the reader state stored with it.
    pub fn known_unit(&self, source: &str, name: &str) -> Result<Option<(Stamp, String)>, EngineError> {
        Ok(self
            .store
            .files(Files::At(source, name))?
            .pop()
            .map(|row| (Stamp { size: row.checkpoint.size, version: row.checkpoint.mtime_ns }, row.checkpoint.reader_state)))
    }

    /// Returns whether a file was ever read into this memory: histories or documents, not only notes and pages.
    pub fn has_read_histories(&self) -> Result<bool, EngineError> {
        Ok(self.store.files(Files::All)?.iter().any(|file| file.source != note::KIND && file.source != Web.kind()))
    }

    /// Brings the indexes up to date: full text first, then vectors. If another process is doing so, waits as
    /// long as that makes progress, at most `patience_ms` without any.
    pub fn sync_index(&self, patience_ms: u64, advanced: &mut dyn FnMut(u64)) -> Result<SyncReport, EngineError> {
        // Turns stored by an older yore are processed once.
        while self.store.reshape()? {}
        self.restore_note_versions()?;
        let (mut waited, mut queued) = (0, usize::MAX);
        let report = loop {
            let report = self.on_index(|index| index.sync(&self.store, false, advanced))?;
            let left = self.store.waiting(Queue::Text, 1_000_000)?;
            if !report.is_busy || left == 0 {
                break report;
            }
            if left < queued {
                (queued, waited) = (left, 0);
            } else if waited >= patience_ms {
                break report;
            }
            std::thread::sleep(Duration::from_millis(20));
            waited += 20;
        };
        self.sync_vectors(patience_ms)?;
        Ok(report)
    }

    /// Stores the older versions of notes that an older yore left only in the archive, once. While another process
    /// stores or forgets, this is left to the next call.
    pub(crate) fn restore_note_versions(&self) -> Result<(), EngineError> {
        if !self.owes_note_versions()? {
            return Ok(());
        }
        let mut ingester = self.ingester()?;
        let Some(lock) = ingester.try_begin()? else { return Ok(()) };
        if self.owes_note_versions()? {
            ingester.restore_note_versions(&lock)?;
            self.store.clear_index_state("note-versions")?;
        }
        Ok(())
    }

    fn owes_note_versions(&self) -> Result<bool, EngineError> {
        Ok(self.store.index_state("note-versions")?.is_some())
    }

    /// Brings only the vector indexes up to date, with the same wait.
    fn sync_vectors(&self, patience_ms: u64) -> Result<(), EngineError> {
        let semantic = self.semantic()?;
        let mut waited = 0;
        while semantic.sync(&self.store)? && waited < patience_ms && self.store.waiting(Queue::Vectors, 1)? > 0 {
            std::thread::sleep(Duration::from_millis(20));
            waited += 20;
        }
        Ok(())
    }

    /// Returns whether turns wait for the indexes that a query in this mode uses. Opens these indexes first:
    /// opening queues the turns that a damaged index lacks.
    pub fn is_behind(&self, mode: SearchMode) -> Result<bool, EngineError> {
        // The query itself reports their errors.
        let _ = self.index();
        if mode != SearchMode::Lexical {
            let _ = self.semantic();
        }
        Ok(self.queued()? > 0)
    }

    /// Rebuilds the full-text index if its files are damaged; returns the damaged files.
    ///
    /// # Errors
    /// When the store fails, or the new index cannot be written.
    pub fn mend_index(&self) -> Result<Vec<PathBuf>, EngineError> {
        let damaged = self.on_index(LexicalIndex::damaged_files)?;
        if !damaged.is_empty() && !self.store.is_passive() {
            self.drop_index()?;
            self.sync_index(10_000, &mut |_| {})?;
        }
        Ok(damaged)
    }

    /// Removes the files of the full-text index that its commit does not name; returns their number.
    ///
    /// # Errors
    /// When the directory of the index cannot be read or locked.
    pub fn remove_dead_index_files(&self) -> Result<usize, EngineError> {
        self.on_index(|index| index.dead_files(true))
    }

    /// Returns the number of files of the full-text index that its commit does not name.
    pub(crate) fn dead_index_files(&self) -> Result<usize, EngineError> {
        self.on_index(|index| index.dead_files(false))
    }

    /// Discards the full-text index, sound or not; the next use rebuilds it.
    fn drop_index(&self) -> Result<(), EngineError> {
        self.store.clear_index_state("lexical")?;
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Returns the number of turns that wait for an index, counted up to 1,000,000.
    pub fn queued(&self) -> Result<usize, EngineError> {
        let queues = [
            self.store.waiting(Queue::Text, 1_000_000)?,
            self.store.waiting(Queue::Vectors, 1_000_000)?,
            self.store.waiting(Queue::Shapes, 1_000_000)?,
            usize::from(self.owes_note_versions()?),
        ];
        Ok(queues.into_iter().max().unwrap_or(0))
    }

    /// Embeds the turns that lack vectors of the local model, newest first. Calls `go_on` after each commit,
    /// and stops if that returns `false`; committed work is kept. A turn on which the model failed is tried
    /// again the next time; after five failures only if `is_asked`, that is on request.
    ///
    /// # Errors
    /// [`EngineError::NoModel`] when no folder was configured; every error of loading the model.
    pub fn embed(
        &self,
        cache: Option<&EmbedCache>,
        is_asked: bool,
        go_on: &mut dyn FnMut(&EmbedReport) -> bool,
    ) -> Result<EmbedReport, EngineError> {
        let _use = ModelUse::new(&self.model_uses);
        let model = self.model()?;
        let directory = &self.options.directory;
        let keys = Keys::of(&self.store, directory)?;
        let accounts = self.accounts_of_embedder();
        let running = Running { model: &model, cache, is_asked, accounts: &accounts };
        let mut since_sync = 0;
        let report = embedding::run(&self.store, directory, &keys.embedding, &running, &mut |report| {
            // New vectors are searchable soon after they are made, not only after the last one. If the update
            // fails here, the one at the end makes up for it.
            if report.turns >= since_sync + EMBEDDED_PER_SYNC {
                since_sync = report.turns;
                let _ = self.sync_vectors(0);
            }
            go_on(report)
        })?;
        self.sync_vectors(2_000)?;
        Ok(report)
    }

    /// Returns the number of turns that lack vectors of the local model.
    pub fn unembedded(&self) -> Result<u64, EngineError> {
        Ok(self.store.waiting(Queue::Embedding, 10_000_000)? as u64)
    }

    /// Loads the model and returns the identity and the dimensions of its vectors.
    pub fn model_identity(&self) -> Result<(String, usize), EngineError> {
        let model = self.model()?;
        let dimensions = model.dimensions(&self.store, &self.accounts_of_embedder())?;
        Ok((model.identity(), dimensions))
    }

    /// Answers a query. Parts that were unavailable are listed in [`RecallAnswer::missing`]; they are not
    /// errors.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer, EngineError> {
        match self.with_replacing(|| self.recall_as_it_is(request)) {
            // Its files may be damaged at a place that no query has read before.
            Err(error @ EngineError::Index(IndexError::Failed { .. })) => match self.mend_index() {
                Ok(damaged) if damaged.is_empty() => Err(error),
                Ok(_) => self.recall_as_it_is(request),
                Err(_) => Err(error),
            },
            answer => answer,
        }
    }

    fn recall_as_it_is(&self, request: &RecallRequest) -> Result<RecallAnswer, EngineError> {
        let mut missing = Vec::new();
        let _use = (request.mode == SearchMode::Full).then(|| ModelUse::new(&self.model_uses));
        let deadline = Deadline::after(request.deadline);
        let periods = request.periods(self.now());
        let semantic = match request.mode {
            SearchMode::Lexical => None,
            SearchMode::Static | SearchMode::Full => self.semantic().map_err(|error| missing.push(Missing::index(&error))).ok(),
        };
        let model_vector = match (request.mode, semantic) {
            (SearchMode::Full, Some(_)) if deadline.allows_model(self.has_loaded_model()) => {
                self.question_vector(&request.text(&periods), &deadline, &mut missing)?
            }
            _ => None,
        };
        let index = self.index()?;
        let no_reranker = RefCell::new(None);
        let reranker = || {
            self.reranker_for(request.rerank).unwrap_or_else(|error| {
                *no_reranker.borrow_mut() = Some(Missing::reranker(&error));
                None
            })
        };
        let context = QueryContext {
            now: self.now(),
            dynamics: &self.options.dynamics,
            store: &self.store,
            lexical: index.state()?,
            semantic,
            periods,
            model_vector,
            reranker: &reranker,
            no_reranker: &no_reranker,
            deadline: &deadline,
        };
        // The shared tokenizer caches its stems from query to query; a concurrent query uses its own.
        let mut answer = match self.tokenizer.try_lock() {
            Ok(mut tokenizer) => retrieve::recall(&context, &mut tokenizer, request),
            Err(_) => retrieve::recall(&context, &mut Tokenizer::default(), request),
        }?;
        answer.missing.extend(missing);
        answer.missing.extend(no_reranker.take());
        self.recall_times().add(self.now(), answer.micros);
        Ok(answer)
    }

    /// Embeds the query with the local model, if there are vectors to compare it with.
    fn question_vector(
        &self,
        question: &str,
        deadline: &Deadline,
        missing: &mut Vec<Missing>,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        let Some(chosen) = self.store.chosen_embedder()? else {
            missing.push(Missing::vectors("no turn has vectors of the local model yet".to_owned()));
            return Ok(None);
        };
        let model = match self.model() {
            Ok(model) => model,
            Err(error) => {
                missing.push(Missing::model(&error));
                return Ok(None);
            }
        };
        if chosen.identity != model.identity() {
            missing.push(Missing::vectors("the vectors were made by another model than the installed one".to_owned()));
            return Ok(None);
        }
        match self.store.waiting(Queue::Embedding, COUNTED_UNEMBEDDED)? {
            0 => {}
            COUNTED_UNEMBEDDED.. => {
                missing.push(Missing::vectors(format!("{COUNTED_UNEMBEDDED} turns or more lack vectors of the local model")));
            }
            1 => missing.push(Missing::vectors("1 turn lacks vectors of the local model".to_owned())),
            count => missing.push(Missing::vectors(format!("{count} turns lack vectors of the local model"))),
        }
        // A server that is slow must leave time for what is found without it.
        match model.embed_question(question, deadline.left().map(|left| left / 2), &self.accounts_of_embedder()) {
            Ok(vector) => Ok(Some(vector)),
            Err(error) => {
                missing.push(Missing::model(&error));
                Ok(None)
            }
        }
    }

    /// Chooses the passages of hits that nobody asked for, for a text within a budget. Turns of `given` are not put beside a hit.
    pub(crate) fn pack(&self, hits: &mut [Hit], text: &str, packing: &Packing, given: &[ItemId]) -> Result<(), EngineError> {
        let mut tokenizer = Tokenizer::default();
        let question = Question::parse(text, &mut tokenizer);
        let filter = Filter::default();
        let (asked, text, asked_for) = (text, Some(text), asked_for(text));
        let asking = Asking {
            asked,
            question: &question,
            text,
            asked_for,
            parts: &[],
            filter: &filter,
            given,
            among: None,
            is_unasked: true,
        };
        self.with_replacing(|| retrieve::pack(&self.store, &self.index()?.state()?, hits, &asking, packing, &mut tokenizer))
    }

    /// Returns the inverse document frequencies of terms in the full-text index.
    pub(crate) fn rarity(&self, terms: &[String]) -> Result<Vec<f32>, EngineError> {
        self.on_index(|index| index.state()?.rarity(terms))
    }

    /// Returns the number of turns that the full-text index holds.
    pub(crate) fn indexed(&self) -> Result<u64, EngineError> {
        Ok(self.index()?.len())
    }

    /// Returns the files that histories were read from.
    pub fn source_files(&self) -> Result<Vec<SourceFileSummary>, EngineError> {
        Ok(self.store.files(Files::All)?.into_iter().map(SourceFileSummary::from).collect())
    }

    /// Returns when the transcript named after a session, by the agent's own id, was last read.
    pub fn last_read_of(&self, session: &str) -> Result<Option<UtcMillis>, EngineError> {
        Ok(self.store.files(Files::NamedAfter(session))?.into_iter().filter_map(|file| file.last_read_ms).max())
    }

    /// Reads the archive again with the current readers, then rebuilds the index.
    pub fn reindex(
        &self,
        options: &ReaderOptions,
        observer: &mut dyn Observer,
    ) -> Result<(ReindexReport, SyncReport), EngineError> {
        self.settle_forgetting()?;
        let report = self.ingester()?.reindex(options, observer)?;
        self.store.release(Unused::Paths)?;
        self.drop_index()?;
        self.store.queue_again(Again::Text)?;
        self.store.set_index_state("purge-vectors", "owed")?;
        let index = self.sync_index(10_000, &mut |_| {})?;
        Ok((report, index))
    }

    /// Erases every byte of removed content from the backups, which it returns, the requests to models and their answers, the indexes,
    /// the database and its log.
    pub(crate) fn finish_removal(&self) -> Result<Vec<PathBuf>, EngineError> {
        let backups = self.store.purge_backups()?;
        for folder in [llm::FOLDER, llm::BATCHES, llm::RUNS] {
            let path = self.options.directory.join(folder);
            llm::empty(&path).and_then(|()| llm::disown(&path)).map_err(|error| StoreError::Io { path, error })?;
        }
        let path = self.directory().join(PROXY_TEXTS);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::Io { path, error }.into()),
            _ => {}
        }
        self.purge_index()?;
        self.semantic()?.purge(&self.store)?;
        self.sync_vectors(2_000)?;
        self.store.rewrite()?;
        self.store.checkpoint()?;
        Ok(backups)
    }

    /// Erases every byte of deleted text from the index. Reports success only when that is done: while
    /// another process writes the index, this waits, and fails if that takes too long. The purge then stays
    /// pending, and the next index update does it.
    fn purge_index(&self) -> Result<(), EngineError> {
        for _ in 0..PURGE_TRIES {
            let report = self.on_index(|index| index.sync(&self.store, true, &mut |_| {}))?;
            if !report.is_busy && !report.holds_removed {
                return Ok(());
            }
            std::thread::sleep(PURGE_PAUSE);
        }
        Err(StoreError::Busy(self.index()?.directory().to_path_buf()).into())
    }

    /// Returns the number of damaged files of the full-text index.
    pub(crate) fn damaged_index_files(&self) -> Result<usize, EngineError> {
        Ok(self.on_index(LexicalIndex::damaged_files)?.len())
    }

    /// Describes the damage to the vector indexes; empty if they cannot be opened.
    pub(crate) fn vector_damage(&self) -> Vec<String> {
        self.semantic().map(SemanticIndex::damage).unwrap_or_default()
    }

    /// Returns whether a model for vectors was configured.
    pub(crate) fn has_embedder(&self) -> bool {
        self.options.model.is_some() || self.options.servers.embedder.is_some()
    }

    /// Frees the memory of the local models if any is loaded; the next query or text that needs one loads it
    /// again.
    pub fn drop_model(&self) -> bool {
        let reranker = self.reranker.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.model.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() || reranker.is_some()
    }

    /// Returns what a compaction left out, if it is kept.
    pub(crate) fn kept_dropped(&self, compaction: TurnId) -> Option<Arc<Dropped>> {
        let kept = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|dropped| dropped.compaction == compaction).cloned()
    }

    /// Keeps what a compaction left out: every hook of its session asks for it.
    pub(crate) fn keep_dropped(&self, dropped: Arc<Dropped>) {
        let mut kept = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(dropped);
        let over = kept.len().saturating_sub(KEPT_COMPACTIONS);
        kept.drain(..over);
    }

    /// Returns whether the local model is ready to answer: it is there, and all but a few items have its vectors.
    pub fn can_answer_in_full(&self) -> Result<bool, EngineError> {
        let has_model = self.options.servers.embedder.is_some() || self.options.model.as_deref().is_some_and(Path::exists);
        let is_complete = || Ok::<_, EngineError>(self.store.waiting(Queue::Embedding, FEW_UNEMBEDDED + 1)? <= FEW_UNEMBEDDED);
        Ok(has_model && self.store.chosen_embedder()?.is_some() && is_complete()?)
    }

    /// Returns the store, for the other modules of this crate.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the times that recall took since they were last stored.
    pub(crate) fn recall_times(&self) -> MutexGuard<'_, RecallTimes> {
        self.recall_times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of the whole data directory.
    pub(crate) fn directory_bytes(&self) -> u64 {
        directory_bytes(&self.options.directory)
    }

    /// Returns the engine's clock.
    pub(crate) fn clock(&self) -> fn() -> UtcMillis {
        self.options.now
    }

    /// Returns the trees of categories that this process keeps.
    pub(crate) fn kept_trees(&self) -> &Mutex<KeptTrees> {
        &self.kept_trees
    }

    /// Returns the constants of the memories' dynamics.
    pub(crate) fn dynamics(&self) -> &Dynamics {
        &self.options.dynamics
    }

    /// Returns the time of the engine's clock.
    pub(crate) fn now(&self) -> UtcMillis {
        (self.options.now)()
    }

    /// Returns the ingester, which writes into the store.
    pub(crate) fn ingester(&self) -> Result<Ingest<'_>, EngineError> {
        Ok(Ingest::new(&self.store, &self.options.directory, |key| self.redactor(key), self.options.now)?)
    }

    /// Returns the redaction rules, compiled once for each key.
    fn redactor(&self, key: &[u8; 32]) -> Result<Arc<Redactor>, RedactionPatternError> {
        let mut shared = self.redactor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = shared.as_ref().filter(|known| known.is_of(key)) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(Redactor::with_patterns(key, &self.options.redaction_patterns)?);
        *shared = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Redacts texts that are about to be stored. Their markers are hashed with the key of this memory, which the first secret makes: hashed
    /// without one, a secret could be guessed and checked by anybody.
    pub(crate) fn redact<'t>(&self, texts: impl Iterator<Item = &'t mut String>) -> Result<(), EngineError> {
        let texts: Vec<&mut String> = texts.collect();
        let directory = &self.options.directory;
        if !directory.join("key").exists() {
            let mut tried: Vec<String> = texts.iter().map(|text| (**text).clone()).collect();
            self.redact_again(tried.iter_mut())?;
            if tried.iter().zip(&texts).all(|(tried, text)| tried == *text) {
                return Ok(());
            }
            Keys::of(&self.store, directory)?;
        }
        self.redact_again(texts.into_iter())
    }

    /// Redacts text again that is about to be injected unasked: a rule may be newer than the stored text.
    pub(crate) fn redact_again<'t>(&self, texts: impl Iterator<Item = &'t mut String>) -> Result<(), EngineError> {
        let mut texts = texts.peekable();
        if texts.peek().is_none() {
            // Compiling the rules takes longer than all else that a hook does.
            return Ok(());
        }
        let directory = &self.options.directory;
        let keys = Keys::for_reading(directory).map_err(|error| StoreError::Io { path: directory.join("key"), error })?;
        let redactor = self.redactor(&keys.redaction).map_err(IngestError::from)?;
        let mut counts = RedactionCounts::default();
        for text in texts {
            if let Some(redacted) = redactor.text(text, &mut counts) {
                *text = redacted;
            }
        }
        Ok(())
    }

    /// Does work on the full-text index, again on the new one if another process replaced it meanwhile.
    fn on_index<T>(&self, mut work: impl FnMut(&LexicalIndex) -> Result<T, IndexError>) -> Result<T, EngineError> {
        self.with_replacing(|| Ok(work(&*self.index()?)?))
    }

    /// Does work that uses the full-text index. `reindex`, `restore` and the mending of damage replace its files while
    /// other processes have them open: the work is then done again with the new index.
    fn with_replacing<T>(&self, mut work: impl FnMut() -> Result<T, EngineError>) -> Result<T, EngineError> {
        for _ in 0..REPLACED_TRIES {
            match work() {
                Err(EngineError::Index(IndexError::Failed { .. } | IndexError::Replaced(_))) if self.let_go_of_replaced()? => {
                    std::thread::sleep(REPLACED_PAUSE);
                }
                done => return done,
            }
        }
        work()
    }

    /// Lets go of the full-text index if another process has replaced it; returns whether that is so.
    fn let_go_of_replaced(&self) -> Result<bool, EngineError> {
        if self.store.is_replaced() {
            return Err(StoreError::Replaced(self.store.path().to_path_buf()).into());
        }
        let mut held = self.index.write().unwrap_or_else(PoisonError::into_inner);
        let is_replaced = match &*held {
            Some(index) => index.is_replaced(&self.store)?,
            // It was let go of meanwhile, or could not be opened while another process replaced it.
            None => true,
        };
        if is_replaced {
            *held = None;
        }
        Ok(is_replaced)
    }

    pub(crate) fn index(&self) -> Result<Arc<LexicalIndex>, EngineError> {
        if let Some(index) = &*self.index.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(index));
        }
        // One thread opens the index, the others wait.
        let mut held = self.index.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = &*held {
            return Ok(Arc::clone(index));
        }
        let directory = &self.options.directory;
        let index = match LexicalIndex::open(directory, &self.store) {
            // In a read-only directory, the index is built in memory.
            Err(_) if !self.store.is_passive() && !platform::is_writable(directory) => {
                LexicalIndex::in_memory(directory, &self.store)?
            }
            opened => opened?,
        };
        Ok(Arc::clone(held.insert(Arc::new(index.sample_of(self.counts.clone())))))
    }

    /// Returns memories of a project (`None`: of none) that are nearest to a text by the static table, of any status.
    pub(crate) fn nearest_by_meaning(
        &self,
        text: &str,
        project: Option<ProjectKey>,
        limit: usize,
    ) -> Result<Vec<MemoryKey>, EngineError> {
        Ok(self.semantic()?.nearest_memories(text, project, limit)?)
    }

    /// Returns memories of a project (`None`: of none) whose words are nearest to a text, of any status.
    pub(crate) fn nearest_memories(
        &self,
        text: &str,
        project: Option<ProjectKey>,
        limit: usize,
    ) -> Result<Vec<MemoryKey>, EngineError> {
        let question = match self.tokenizer.try_lock() {
            Ok(mut tokenizer) => Question::parse(text, &mut tokenizer),
            Err(_) => Question::parse(text, &mut Tokenizer::default()),
        };
        // A phrase in quotation marks asks for nothing here.
        let question = Question { terms: question.terms, ..Question::default() };
        let search = || self.on_index(|index| index.nearest_memories(&self.store, &question, project, limit));
        match search() {
            // Its files may be damaged at a place that no query has read before.
            Err(error @ EngineError::Index(IndexError::Failed { .. })) => match self.mend_index() {
                Ok(damaged) if damaged.is_empty() => Err(error),
                Ok(_) => search(),
                Err(_) => Err(error),
            },
            found => found,
        }
    }

    fn semantic(&self) -> Result<&SemanticIndex, EngineError> {
        if let Some(semantic) = self.semantic.get() {
            return Ok(semantic);
        }
        let semantic = SemanticIndex::open(&self.options.directory, &self.store)?;
        Ok(self.semantic.get_or_init(|| semantic))
    }

    /// Returns whether questions can be compared with vectors of a model beyond the static table.
    pub(crate) fn has_vectors(&self) -> Result<bool, EngineError> {
        let has_model = self.options.model.is_some() || self.options.servers.embedder.is_some();
        Ok(has_model && self.store.chosen_embedder()?.is_some())
    }

    /// Returns whether the model can be asked at once; waits for nobody who loads it.
    fn has_loaded_model(&self) -> bool {
        self.options.servers.embedder.is_some() || self.model.try_lock().is_ok_and(|model| model.is_some())
    }

    /// Returns the accounts of the model on a server that gives texts their vectors; of one on this computer, they are not asked.
    fn accounts_of_embedder(&self) -> Ledger<'_> {
        let terms = self.options.servers.embedder.as_ref().map(|(_, terms)| terms.clone()).unwrap_or_default();
        Ledger::new(&self.store, &self.options.directory, self.options.now, terms, &NEVER)
    }

    /// Returns the cross-encoder if a request wants it now.
    fn reranker_for(&self, when: Rerank) -> Result<Option<Judge<'_>>, EngineError> {
        let is_wanted = match when {
            Rerank::Never => false,
            Rerank::Idle => self.model_uses.load(Ordering::Relaxed) <= 1,
            Rerank::Always => true,
        };
        if !is_wanted {
            return Ok(None);
        }
        if let Some((reranker, terms)) = &self.options.servers.reranker {
            let accounts = Ledger::new(&self.store, &self.options.directory, self.options.now, terms.clone(), &NEVER);
            return Ok(Some(Judge::Server(Arc::clone(reranker), accounts)));
        }
        let mut reranker = self.reranker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reranker) = &*reranker {
            return Ok(Some(Judge::Local(Arc::clone(reranker))));
        }
        let folder = self.options.reranker.as_deref().ok_or(EngineError::NoModel)?;
        let options = LoadOptions { threads: self.options.model_threads, ..LoadOptions::default() };
        let opened = Arc::new(Reranker::open(&ModelFolder::recognise(folder)?, &options)?);
        Ok(Some(Judge::Local(Arc::clone(reranker.insert(opened)))))
    }

    fn model(&self) -> Result<TextModel, EngineError> {
        if let Some((embedder, _)) = &self.options.servers.embedder {
            return Ok(TextModel::Server(Arc::clone(embedder)));
        }
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*model {
            return Ok(model.clone());
        }
        let folder = self.options.model.as_deref().ok_or(EngineError::NoModel)?;
        let options = LoadOptions { threads: self.options.model_threads, ..LoadOptions::default() };
        let opened = Arc::new(TextEmbedder::open(&ModelFolder::recognise(folder)?, &options)?);
        Ok(model.insert(TextModel::Local(opened)).clone())
    }

    pub(crate) fn vector_health(&self) -> Result<VectorHealth, EngineError> {
        let semantic = self.semantic()?;
        let chosen = self.store.chosen_embedder()?;
        let counts = self.store.vector_counts(chosen.as_ref().map(|chosen| chosen.key))?;
        let model = chosen.map(|chosen| chosen.identity);
        let (static_turns, model_turns) = semantic.turns();
        Ok(VectorHealth {
            static_turns,
            model,
            model_turns,
            embedded_turns: counts.turns,
            vectors: counts.vectors,
            others: counts.others,
            waiting: counts.waiting,
            queued: self.store.waiting(Queue::Vectors, 1_000_000)? as u64,
            bytes: directory_bytes(semantic.directory()),
        })
    }

    /// Returns the health of the full-text index, which should hold so many turns and memories.
    pub(crate) fn index_health(&self, expected: u64) -> Result<IndexHealth, EngineError> {
        let index = self.index()?;
        Ok(IndexHealth {
            indexed: index.len(),
            expected,
            queued: self.store.waiting(Queue::Text, 1_000_000)? as u64,
            bytes: directory_bytes(index.directory()),
        })
    }
}

/// Counts a run that uses a model, as long as it lives.
struct ModelUse<'e>(&'e AtomicUsize);

impl<'e> ModelUse<'e> {
    fn new(uses: &'e AtomicUsize) -> Self {
        uses.fetch_add(1, Ordering::Relaxed);
        Self(uses)
    }
}

impl Drop for ModelUse<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn directory_bytes(directory: &Path) -> u64 {
    std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => directory_bytes(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}
