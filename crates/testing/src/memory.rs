//! A temporary memory: a data directory, folders to read from, and an engine over both.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use yore_core::memory::dynamics::Dynamics;
use yore_core::scope::ScopeChoice;
use yore_core::time::UtcMillis;
use yore_engine::ingest::{IngestReport, IngestRequest, Silent, SourceRoot};
use yore_engine::{
    EmbedReport, Engine, EngineOptions, ForgetRequest, ForgottenSessions, Found, Hit, ModelServers, RecallAnswer, RecallRequest,
    SessionsRequest, ShowRequest, ShownTurn, Statistics, StatisticsRequest, StoreOptions, Surroundings, SyncReport,
};

use crate::state;

/// A temporary data directory with an opened engine. Its key is fixed, so that redaction markers, and
/// therefore the archives of two memories, can be compared.
pub struct Memory {
    directory: TempDir,
    engine: Option<Engine>,
    model: Option<PathBuf>,
    reranker: Option<PathBuf>,
    servers: ModelServers,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

/// The turn of a hit, in tests that look for turns.
pub trait TurnOf {
    /// Returns the turn that was found.
    fn turn(&self) -> &ShownTurn;
}

impl TurnOf for Hit {
    fn turn(&self) -> &ShownTurn {
        match &self.found {
            Found::Turn(turn) => turn,
            Found::Memory(memory) => panic!("a memory was found: {}", memory.memory.statement),
        }
    }
}

impl Memory {
    /// Creates an empty memory.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut memory = Self { directory, engine: None, model: None, reranker: None, servers: ModelServers::default() };
        fs::create_dir_all(memory.sources()).unwrap();
        yore_engine::platform::create_private_directory(&memory.data()).unwrap();
        yore_engine::platform::write_new_private_file(&memory.data().join("key"), &[7; 32]).unwrap();
        memory.open();
        memory
    }

    /// Returns 2026-07-01T00:00:00Z as the present time, always.
    pub fn now() -> UtcMillis {
        1_782_864_000_000
    }

    /// Returns the options with which the data directory is opened.
    pub fn options(directory: PathBuf) -> EngineOptions {
        EngineOptions {
            directory,
            create: true,
            store: StoreOptions::default(),
            redaction_patterns: Vec::new(),
            model: None,
            reranker: None,
            servers: ModelServers::default(),
            model_threads: 1,
            now: Self::now,
            dynamics: Dynamics::default(),
        }
    }

    /// Returns the data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("data")
    }

    /// Returns the directory of transcripts.
    pub fn sources(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("sources")
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    /// Returns the sizes and counts of the memory.
    pub fn statistics(&self) -> Statistics {
        self.engine().statistics(&StatisticsRequest::default()).unwrap()
    }

    /// Closes the engine; [`Self::open`] opens it again.
    pub fn close(&mut self) {
        self.engine = None;
    }

    /// Opens the engine, as another process would.
    pub fn open(&mut self) {
        self.engine = None;
        self.engine = Some(
            Engine::open(EngineOptions {
                model: self.model.clone(),
                reranker: self.reranker.clone(),
                servers: self.servers.clone(),
                ..Self::options(self.data())
            })
            .unwrap(),
        );
    }

    /// Opens the engine at another time.
    pub fn open_at(&mut self, now: fn() -> UtcMillis) {
        self.engine = None;
        self.engine = Some(Engine::open(EngineOptions { now, ..Self::options(self.data()) }).unwrap());
    }

    /// Opens the engine with another local model, or with none.
    pub fn open_with_model(&mut self, model: Option<PathBuf>) {
        self.model = model;
        self.open();
    }

    /// Opens the engine with models on servers.
    pub fn open_with_servers(&mut self, servers: ModelServers) {
        self.servers = servers;
        self.open();
    }

    /// Opens the engine with a cross-encoder, or with none.
    pub fn open_with_reranker(&mut self, reranker: Option<PathBuf>) {
        self.reranker = reranker;
        self.open();
    }

    /// Runs the local model until no turn waits for it.
    pub fn embed(&self) -> EmbedReport {
        self.engine().embed(None, false, &mut |_| true).unwrap()
    }

    /// Writes a file below the sources.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.sources().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Appends to a file below the sources.
    pub fn append(&self, name: &str, content: &[u8]) {
        let path = self.sources().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(content).unwrap();
    }

    /// Copies a directory to the sources.
    pub fn copy(&self, from: &Path) {
        copy_directory(from, &self.sources());
    }

    /// Reads the sources as Claude Code's, without bringing the index up to date.
    pub fn read(&self) -> IngestReport {
        self.read_as("claude-code", &self.sources())
    }

    /// Reads a directory or file of any source kind, without bringing the index up to date.
    pub fn read_as(&self, source: &str, path: &Path) -> IngestReport {
        let roots = vec![SourceRoot { source: source.to_owned(), path: path.to_path_buf() }];
        let report = self.engine().ingest(&IngestRequest::new(roots), &mut Silent).unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        report
    }

    /// Updates the index.
    pub fn index(&self) -> SyncReport {
        self.engine().sync_index(10_000, &mut |_| {}).unwrap()
    }

    /// Reads the sources and indexes them.
    pub fn learn(&self) -> IngestReport {
        let report = self.read();
        self.index();
        report
    }

    /// Recalls from all projects.
    pub fn ask(&self, question: &str) -> Vec<Hit> {
        self.ask_with(question, |_| {}).hits
    }

    /// Recalls from all projects, with changes to the request.
    pub fn ask_with(&self, question: &str, change: impl FnOnce(&mut RecallRequest)) -> RecallAnswer {
        let mut request = RecallRequest::new(question);
        request.filter.scope = ScopeChoice::All;
        change(&mut request);
        self.engine().recall(&request).unwrap()
    }

    /// Forgets a session for good.
    pub fn forget_hard(&self, session: &str) -> yore_engine::Forgotten {
        let request = ForgetRequest {
            session: session.to_owned(),
            is_hard: true,
            is_dry_run: false,
            restore: false,
            keep_tombstones: true,
        };
        self.engine().forget(&request).unwrap()
    }

    /// Returns all episodes, including sub-agents, those that programs held, and forgotten ones.
    pub fn episodes(&self) -> Vec<yore_engine::EpisodeSummary> {
        let request = SessionsRequest {
            with_subagents: true,
            with_programs: true,
            forgotten: ForgottenSessions::Included,
            limit: 1_000_000,
            ..SessionsRequest::default()
        };
        self.engine().sessions(&request).unwrap()
    }

    /// Returns the turns of the episode with this native id, including shared ones; empty if there is no such
    /// episode or it has nothing to show.
    pub fn turns(&self, native_id: &str) -> Vec<ShownTurn> {
        let Some(episode) = self.episodes().into_iter().find(|episode| episode.native_id == native_id) else {
            return Vec::new();
        };
        let request = ShowRequest::new(episode.id.to_string(), Surroundings::Turns(0));
        self.engine().show(&request).map(|answer| answer.turns).unwrap_or_default()
    }

    /// Returns the whole store as text: projects, episodes and turns with their places, skips and redactions,
    /// the archive. Row ids, random ids and the temporary path are left out, so two memories with equal
    /// content have equal state.
    pub fn state(&self) -> String {
        state::whole(self)
    }

    /// Returns the same text without places and archive: only the turns, independent of their files.
    pub fn words(&self) -> String {
        state::words(self)
    }

    /// Returns every generation of every archived file: path without the temporary part, generation, content.
    pub fn archive(&self) -> Vec<(String, i64, Vec<u8>)> {
        state::archive(self)
    }

    /// Returns the bytes of the database and its log.
    pub fn database_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let read = |name: &str| fs::read(self.data().join(name)).unwrap_or_default();
        (read("yore.db"), read("yore.db-wal"))
    }
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
