//! [`EngineHandle`]: opens the engine or connects to the daemon, and carries calls from async code to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use yore_core::id::MemoryId;
use yore_core::memory::{MemoryKind, Status};
use yore_core::query::SearchMode;
use yore_core::relation::Node;
use yore_core::time::UtcMillis;
use yore_engine::{
    Engine, EngineError, EngineOptions, MemoryFilter, MemoryList, OpenConflict, OpenedMemory, RecallAnswer, RecallRequest,
    SharedTaken, ShowRequest, StoreError, StoreOptions, StoredMemory, Surroundings, Touched,
};

use crate::config::Config;
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::client::{self, Client, NoAnswer, PATIENCE};
use crate::ipc::wire::{Ingested, Question, Request};
use crate::llm::ModelsAt;
use crate::results::DaemonStatus;
use crate::settings::Settings;
use crate::shared::folder::Folder;
use crate::shared::{mirror, refresh};

/// Most memories that are told as replaced.
const MOST_REPLACED: usize = 100;

/// Others whose standing changed when a memory was recorded.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Those whose place it took.
    pub replaced: Vec<StoredMemory>,
    /// Those that it contradicts, as far as nobody settled that.
    pub conflicts: Vec<OpenConflict>,
    /// The at most three that it touches: what it changed first.
    pub touches: Vec<Touched>,
}

/// Returns the system time in milliseconds since 1970.
pub fn now() -> UtcMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UtcMillis)
}

/// Opens the engine on a data directory, as configured. A model is loaded, or its server connected to, when a question or a text
/// needs it.
pub fn open(directory: &Path, create: bool, config: &Config, models: ModelsAt) -> Result<Engine, EngineError> {
    Engine::open(options(directory, create, config, models))
}

/// Returns the options with which the engine is opened, as configured.
pub fn options(directory: &Path, create: bool, config: &Config, models: ModelsAt) -> EngineOptions {
    EngineOptions {
        directory: directory.to_path_buf(),
        create,
        store: StoreOptions {
            busy_timeout: Duration::from_millis(u64::from(config.store.busy_timeout_ms)),
            backup_before_upgrade: config.store.backup_before_upgrade,
            compression_level: config.archive.compression_level,
            is_passive: false,
        },
        redaction_patterns: config.redaction.extra_patterns.clone(),
        reranker: models.reranker,
        model: models.folder,
        servers: models.servers,
        model_threads: config.models.threads,
        now,
        dynamics: config.dynamics.constants(),
    }
}

impl Settings {
    /// Opens the existing memory; with `create`, makes it if it does not exist.
    pub fn engine(&self, create: bool) -> CliResult<Engine> {
        Ok(open(&self.directory, create, self.config(), self.models())?)
    }

    /// Returns whether the repository here, or a team, shares memories with the person.
    fn shares_here(&self) -> bool {
        let here = self.here.as_deref().filter(|_| self.config().share.read);
        here.and_then(Folder::of).is_some_and(|folder| folder.exists())
            || mirror::memberships(&self.directory).is_ok_and(|memberships| !memberships.is_empty())
    }

    /// Returns the options with which the memory is opened.
    pub fn engine_options(&self, create: bool) -> EngineOptions {
        options(&self.directory, create, self.config(), self.models())
    }

    /// Returns the memory, through the daemon if one runs, with what the repository here shares.
    pub fn memory(&self) -> CliResult<MemoryClient> {
        let open = || MemoryClient::open(&self.directory, &Arc::new(self.config().clone()), self.models());
        let mut memory = match open() {
            // Shared memories are something to begin with.
            Err(EngineError::Store(StoreError::Missing(_))) if self.shares_here() => {
                self.engine(true)?;
                open()?
            }
            opened => opened?,
        };
        if let Some(here) = &self.here {
            // No command fails because of what others share.
            let _ = memory.refresh_shared(here);
        }
        Ok(memory)
    }

    /// Starts the daemon if it should run and does not; waits for nothing.
    pub fn wake_daemon(&self) {
        drop(daemon_of(&self.directory, self.config()));
    }
}

/// Times of the last uses of the daemon's memory and of its model, by any client.
pub struct Uses {
    active: Mutex<Instant>,
    model: Mutex<Option<Instant>>,
}

impl Uses {
    /// Starts as if it was just used.
    pub fn new() -> Self {
        Self { active: Mutex::new(Instant::now()), model: Mutex::default() }
    }

    /// Notes a use.
    pub fn touch(&self) {
        *lock(&self.active) = Instant::now();
    }

    /// Returns the time since the last use.
    pub fn idle(&self) -> Duration {
        lock(&self.active).elapsed()
    }

    /// Returns whether the local model is in memory, as far as is known.
    pub fn has_model(&self) -> bool {
        lock(&self.model).is_some()
    }

    /// Frees the local model's memory if it was idle for that long; returns whether it did.
    pub fn drop_idle_model(&self, engine: &Engine, idle: Duration) -> bool {
        let mut used = lock(&self.model);
        if used.is_none_or(|used| used.elapsed() < idle) {
            return false;
        }
        *used = None;
        engine.drop_model()
    }

    /// Answers a question inside the daemon, after the index took the turns that wait for it.
    pub fn recall(
        &self,
        engine: &Engine,
        request: RecallRequest,
        is_synced: bool,
        may_be_full: bool,
    ) -> Result<RecallAnswer, EngineError> {
        self.touch();
        let request = settled(engine, request, may_be_full);
        if request.mode == SearchMode::Full {
            *lock(&self.model) = Some(Instant::now());
        }
        engine.answer(&request, is_synced)
    }
}

/// Settles the lists that a question searches: those of the local model if the caller leaves that open and the model is ready. It is
/// the same in every process, so that one question has one answer.
fn settled(engine: &Engine, mut request: RecallRequest, may_be_full: bool) -> RecallRequest {
    if may_be_full && request.mode == SearchMode::Static && engine.can_answer_in_full().unwrap_or(false) {
        request.mode = SearchMode::Full;
    }
    request
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of digits from which an id names one thing.
const SURE_DIGITS: usize = 8;

/// The memory for a blocking front end: through the daemon if one runs, else in this process.
pub struct MemoryClient {
    directory: PathBuf,
    config: Arc<Config>,
    models: ModelsAt,
    way: Way,
}

/// Where requests to the memory go.
enum Way {
    Daemon(Client),
    Local(Arc<Engine>),
    /// This process is the daemon.
    Within(Arc<Engine>, Arc<Uses>),
}

impl MemoryClient {
    /// Connects to the daemon, or opens the engine. If a daemon should run and does not, one is started for
    /// later callers, unless nothing was ever read into this memory: a question does not begin that.
    pub fn open(directory: &Path, config: &Arc<Config>, models: ModelsAt) -> Result<Self, EngineError> {
        let way = match running(directory, config) {
            Some(client) => Way::Daemon(client),
            None => {
                let engine = open(directory, false, config, models.clone())?;
                start_for_later(&engine, config);
                Way::Local(Arc::new(engine))
            }
        };
        Ok(Self { directory: directory.to_path_buf(), config: Arc::clone(config), models, way })
    }

    /// Returns the memory inside the daemon.
    pub fn within(directory: &Path, config: &Arc<Config>, models: ModelsAt, engine: &Arc<Engine>, uses: &Arc<Uses>) -> Self {
        let way = Way::Within(Arc::clone(engine), Arc::clone(uses));
        Self { directory: directory.to_path_buf(), config: Arc::clone(config), models, way }
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The settings with which it was opened.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Answers a question; by the local model if the caller leaves that open and the model is ready.
    pub fn recall(&mut self, request: &RecallRequest, may_be_full: bool) -> CliResult<RecallAnswer> {
        let question = Question {
            request: request.clone(),
            is_synced: self.config.index.sync_on_recall,
            may_be_full,
            model: self.models.folder.clone(),
        };
        if let Way::Within(engine, uses) = &self.way {
            return Ok(uses.recall(engine, question.request, question.is_synced, may_be_full)?);
        }
        let is_synced = question.is_synced;
        self.ask(&Request::Recall(Box::new(question)), true, |engine| {
            engine.answer(&settled(engine, request.clone(), may_be_full), is_synced)
        })
    }

    /// Takes what the repository of a directory shares; `None` if nothing changed.
    ///
    /// # Errors
    /// The files, the history or the memory could not be read. It is tried again the next time.
    pub fn refresh_shared(&mut self, directory: &Path) -> CliResult<Option<SharedTaken>> {
        let data = self.directory.clone();
        let due = self.config.share.read.then(|| refresh::due(&data, directory)).flatten();
        let until = Instant::now() + refresh::PATIENCE;
        due.map(|due| refresh::take(due, &data, until, |request| self.take_shared(request))).transpose()
    }

    /// Returns what became of others when a memory was recorded.
    pub fn outcome_of(&mut self, memory: MemoryId) -> CliResult<Outcome> {
        let filter = MemoryFilter {
            related_to: vec![Node::Memory(memory)],
            statuses: vec![Status::Superseded],
            ..MemoryFilter::default()
        };
        let replaced = self.memories(MemoryList { filter, limit: MOST_REPLACED, ..MemoryList::default() })?;
        let mut conflicts = self.conflicts_of(memory.to_string())?;
        conflicts.retain(|open| open.change.is_none());
        Ok(Outcome { replaced, conflicts, touches: self.touches(memory)? })
    }

    /// Returns the kind of memory that a text becomes for which nobody gave a kind; `None` if it is kept as a note: because it is
    /// long, or because it takes the place of one.
    pub fn kind_of_text(&mut self, text: &str, replaces: Option<&str>) -> CliResult<Option<MemoryKind>> {
        let Some(replaces) = replaces else {
            return Ok(MemoryKind::of_short_text(text));
        };
        match self.note(replaces.to_owned()) {
            Err(error) if error.code == "unknown-id" => {}
            found => return found.map(|_| None),
        }
        match self.memory(replaces.to_owned()) {
            Ok(replaced) => Ok(Some(replaced.memory.kind)),
            // The note is told as unknown.
            Err(error) if error.code == "memory/unknown" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a memory as [`Self::open_memory`] does; `None` if it is not the id of one, but perhaps of a turn.
    pub fn memory_if_known(&mut self, id: &str, session: Option<&str>) -> CliResult<Option<OpenedMemory>> {
        // A few digits may be the beginning of several things; a turn or a session goes before a memory.
        let is_short = id.len() < SURE_DIGITS;
        if is_short && self.show(ShowRequest::new(id, Surroundings::Turns(0))).is_ok() {
            return Ok(None);
        }
        match self.open_memory(id.to_owned(), session.map(str::to_owned)) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.code == "memory/unknown" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the daemon's status, if one answers.
    pub fn daemon(&mut self) -> Option<DaemonStatus> {
        match &mut self.way {
            Way::Daemon(client) => client.ask(&Request::Status, PATIENCE).ok(),
            Way::Within(..) => {
                let version = env!("CARGO_PKG_VERSION").to_owned();
                Some(DaemonStatus { pid: std::process::id(), version, ..DaemonStatus::default() })
            }
            Way::Local(_) => None,
        }
    }

    /// Sends a request to the daemon. If the daemon is unavailable, uses the engine for this and all later requests, unless the daemon
    /// may have carried out one that may not be repeated.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        may_be_repeated: bool,
        local: impl FnOnce(&Engine) -> Result<T, EngineError>,
    ) -> CliResult<T> {
        if let Way::Daemon(client) = &mut self.way {
            match client.ask(request, PATIENCE) {
                Ok(answer) => return Ok(answer),
                Err(NoAnswer::Refused(error)) => return Err(error),
                Err(NoAnswer::Unavailable { is_sent: true }) if !may_be_repeated => return Err(unknown_outcome()),
                Err(NoAnswer::Unavailable { .. }) => {
                    self.way = Way::Local(Arc::new(open(&self.directory, false, &self.config, self.models.clone())?));
                }
            }
        }
        match &self.way {
            Way::Local(engine) => Ok(local(engine)?),
            Way::Within(engine, uses) => {
                uses.touch();
                Ok(local(engine)?)
            }
            // The line above has just replaced it.
            Way::Daemon(_) => Err(EngineError::from(StoreError::Busy(self.directory.clone())).into()),
        }
    }
}

/// Has the daemon read everything new; `None` if it cannot or has other settings, so that the caller reads in
/// its own process.
pub fn ingest_by_daemon(directory: &Path, config: &Config) -> Option<CliResult<Ingested>> {
    match daemon_of(directory, config)?.ask(&Request::Ingest { settings: config.reading_identity() }, PATIENCE) {
        Ok(ingested) => Some(Ok(ingested)),
        Err(NoAnswer::Refused(error)) => Some(Err(error)),
        Err(NoAnswer::Unavailable { .. }) => None,
    }
}

/// Returns the error for a change that the daemon may have made before it ended.
fn unknown_outcome() -> CliError {
    CliError {
        exit: Exit::Busy,
        code: "interrupted".to_owned(),
        message: "the daemon ended before it answered; it may have made the change".to_owned(),
        hint: Some("`yore log` lists the changes of memories; run the command again if this one is missing".to_owned()),
    }
}

/// Connects to the daemon of a data directory, as configured. If one should run and does not, it is started
/// for later callers.
pub fn daemon_of(directory: &Path, config: &Config) -> Option<Client> {
    let client = running(directory, config);
    if client.is_none() && may_begin(config) {
        client::ensure_started(directory);
    }
    client
}

/// Connects to the daemon of a data directory, if one runs and may be used.
fn running(directory: &Path, config: &Config) -> Option<Client> {
    config.daemon.is_used.then(|| client::connect(directory)).flatten()
}

/// Starts the daemon of a memory for later callers, if histories were ever read into it. One into which only
/// notes or an export were imported stays as it is until `up`, `ingest`, an agent or `daemon start` begins.
fn start_for_later(engine: &Engine, config: &Config) {
    if may_begin(config) && engine.has_read_histories().unwrap_or(false) {
        client::ensure_started(engine.directory());
    }
}

/// Returns whether a daemon may run without being asked for, and a memory be created without `yore up`.
pub fn may_begin(config: &Config) -> bool {
    config.daemon.is_used && config.daemon.autostart && config.capture.enabled
}

/// The memory for async front ends: opened by the first call that needs it; calls run off the runtime.
#[derive(Clone)]
pub struct EngineHandle {
    directory: PathBuf,
    config: Arc<Config>,
    models: ModelsAt,
    may_be_full: bool,
    opened: Arc<Mutex<Option<Arc<Engine>>>>,
    /// True if a call has created the memory and no caller was told yet.
    has_begun: Arc<AtomicBool>,
    /// Records every use, if this process is the daemon.
    uses: Option<Arc<Uses>>,
    /// True if a missing memory is made.
    makes_memory: bool,
}

impl EngineHandle {
    /// Stores what to open. `may_be_full`: the user did not choose a search mode.
    pub fn new(directory: PathBuf, config: Config, models: ModelsAt, may_be_full: bool) -> Self {
        Self {
            directory,
            config: Arc::new(config),
            models,
            may_be_full,
            opened: Arc::default(),
            has_begun: Arc::default(),
            uses: None,
            makes_memory: false,
        }
    }

    /// Uses the engine that this process, the daemon, has open.
    pub fn within(self, engine: Arc<Engine>, uses: Arc<Uses>) -> Self {
        Self { opened: Arc::new(Mutex::new(Some(engine))), uses: Some(uses), ..self }
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the configuration that the engine was given.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns whether a call has created the memory; true only once.
    pub fn take_begun(&self) -> bool {
        self.has_begun.swap(false, Ordering::Relaxed)
    }

    /// Answers a question.
    pub async fn recall(&self, request: RecallRequest) -> CliResult<RecallAnswer> {
        self.call(move |memory, may_be_full| memory.recall(&request, may_be_full)).await
    }

    /// Runs any other request on the memory, off the runtime.
    pub async fn with<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut MemoryClient) -> CliResult<T> + Send + 'static,
    ) -> CliResult<T> {
        self.call(move |memory, _| ask(memory)).await
    }

    /// Runs a request that stores something, as [`Self::with`] does; the memory is made if there is none.
    pub async fn storing<T: Send + 'static>(
        &self,
        store: impl FnOnce(&mut MemoryClient) -> CliResult<T> + Send + 'static,
    ) -> CliResult<T> {
        let maker = Self { makes_memory: true, ..self.clone() };
        maker.with(store).await
    }

    /// Runs `work` on the memory in a thread that may block; the only crossing from async to sync. A panic in
    /// `work` continues in the caller.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut MemoryClient, bool) -> CliResult<T> + Send + 'static,
    ) -> CliResult<T> {
        let handle = self.clone();
        let joined = tokio::task::spawn_blocking(move || work(&mut handle.memory()?, handle.may_be_full)).await;
        match joined.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(outcome) => outcome,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // Cancelled: the runtime ends, and the caller with it.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Chooses the daemon or the engine for each call: the daemon may start or stop between two calls; an
    /// opened engine stays open.
    fn memory(&self) -> CliResult<MemoryClient> {
        let way = match &self.uses {
            Some(uses) => Way::Within(self.engine()?, Arc::clone(uses)),
            None => match running(&self.directory, &self.config) {
                Some(client) => Way::Daemon(client),
                None => {
                    let engine = self.engine()?;
                    start_for_later(&engine, &self.config);
                    Way::Local(engine)
                }
            },
        };
        let (directory, config, models) = (self.directory.clone(), Arc::clone(&self.config), self.models.clone());
        Ok(MemoryClient { directory, config, models, way })
    }

    fn engine(&self) -> Result<Arc<Engine>, EngineError> {
        let mut opened = lock(&self.opened);
        if let Some(engine) = &*opened {
            return Ok(Arc::clone(engine));
        }
        let open = |create| open(&self.directory, create, &self.config, self.models.clone());
        let engine = match open(false) {
            // The daemon reads what agents have left. If none may start, the user must create the memory.
            Err(EngineError::Store(StoreError::Missing(_))) if may_begin(&self.config) => {
                let engine = open(true)?;
                client::begin(&self.directory);
                self.has_begun.store(true, Ordering::Relaxed);
                engine
            }
            // What a person wants to keep may be the first thing that is kept.
            Err(EngineError::Store(StoreError::Missing(_))) if self.makes_memory => open(true)?,
            opened => opened?,
        };
        let engine = Arc::new(engine);
        *opened = Some(Arc::clone(&engine));
        Ok(engine)
    }
}
