//! State that the daemon's threads share: engine, settings, inbox, shutdown.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use yore_core::id::MemoryId;
use yore_core::memory::Use;
use yore_core::query::ItemId;
use yore_core::time::UtcMillis;
use yore_engine::ingest::{IngestRequest, SourceRoot};
use yore_engine::{Engine, Lane, NewJob, Work};

use super::log::Log;
use crate::agents::{self, EventKind};
use crate::api::events::Feed;
use crate::config::Config;
use crate::engine_handle::Uses;
use crate::error::{CliError, CliResult};
use crate::histories::{known_roots, request};
use crate::http::browser::Browsers;
use crate::http::listener::Shutdown;
use crate::ipc::card::Card;
use crate::ipc::wire::Ingested;
use crate::proxy::open::OpenProxy;
use crate::settings::Settings;
use crate::spool::Event;

/// Longest time a brief waits for queued files to be read.
const SETTLING: Duration = Duration::from_millis(400);
/// Interval between checks whether they are read.
const SETTLED: Duration = Duration::from_millis(10);

/// A message to the watching thread.
pub enum Notice {
    /// These paths changed.
    Changed(Vec<PathBuf>),
    /// Something changed, but the paths are not known.
    Overflow,
    /// These jobs run at once. Later changes of their files must be reported again, and the files are looked
    /// at once more, because an agent may write after its hook ran.
    Ended(Vec<NewJob>),
    /// Everything that waits is read at once.
    Hurried,
    /// Check whether it is time to stop.
    Look,
}

/// Requests to the working thread.
#[derive(Default)]
pub struct Inbox {
    /// Callers that wait for everything to be read.
    pub wanted: Vec<Sender<CliResult<Ingested>>>,
    /// True if jobs were put into the queue.
    pub is_woken: bool,
}

/// An open port; dropping it ends the port.
pub struct OpenPort {
    /// Its address, without a path.
    pub origin: String,
    /// Its browsers.
    pub browsers: Arc<Browsers>,
    /// Keeps it open.
    #[expect(dead_code, reason = "it is held, and never read")]
    pub shutdown: Shutdown,
}

/// State that the daemon's threads share.
pub struct Shared<'a> {
    /// Settings and paths.
    pub settings: &'a Settings,
    /// The settings that hold for every project, as they were at the start.
    pub config: Config,
    /// The memory.
    pub engine: Arc<Engine>,
    /// Time of the last use.
    pub uses: Arc<Uses>,
    /// The daemon's log.
    pub log: Log,
    /// The card that identifies this daemon.
    pub card: Card,
    /// Places that are watched for changes, and places that are polled.
    pub places: Mutex<(Vec<String>, Vec<String>)>,
    /// Batches read since the start.
    pub batches: AtomicU64,
    /// Turns read since the start.
    pub turns: AtomicU64,
    /// Time the last batch ended; 0: none yet.
    pub last_batch: AtomicI64,
    /// Number of connected clients.
    pub clients: AtomicUsize,
    /// True while vectors are being made.
    pub is_embedding: AtomicBool,
    /// The last error.
    pub last_error: Mutex<Option<String>>,
    /// True once the daemon is stopping.
    pub is_stopping: AtomicBool,
    /// The events of the daemon, for those who listen on the port.
    pub feed: Feed,
    /// The port, if it is open.
    pub port: Mutex<Option<OpenPort>>,
    /// The proxy, if it is open.
    pub proxy: Mutex<Option<OpenProxy>>,
    inbox: Mutex<Inbox>,
    woken: Condvar,
    notices: Mutex<Sender<Notice>>,
}

impl<'a> Shared<'a> {
    /// Creates the shared state and the receiver of the watching thread's messages.
    pub fn new(settings: &'a Settings, config: Config, engine: Engine, log: Log, card: Card) -> (Self, Receiver<Notice>) {
        let (send, receive) = channel();
        let shared = Self {
            settings,
            config,
            engine: Arc::new(engine),
            uses: Arc::new(Uses::new()),
            log,
            card,
            places: Mutex::default(),
            batches: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            last_batch: AtomicI64::new(0),
            clients: AtomicUsize::new(0),
            is_embedding: AtomicBool::new(false),
            last_error: Mutex::default(),
            is_stopping: AtomicBool::new(false),
            feed: Feed::default(),
            port: Mutex::default(),
            proxy: Mutex::default(),
            inbox: Mutex::default(),
            woken: Condvar::new(),
            notices: Mutex::new(send),
        };
        (shared, receive)
    }

    /// Returns a sender to the watching thread.
    pub fn notifier(&self) -> Sender<Notice> {
        lock(&self.notices).clone()
    }

    /// True once the daemon is stopping.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Stops the daemon after the current work.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        let _ = self.notifier().send(Notice::Look);
        self.wake();
    }

    /// Sleeps, but not past the daemon's end.
    pub fn sleep(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_stopping() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Wakes the working thread.
    pub fn wake(&self) {
        lock(&self.inbox).is_woken = true;
        self.woken.notify_all();
    }

    /// Asks the working thread to read everything; the receiver gets the result.
    pub fn want_everything(&self) -> Receiver<CliResult<Ingested>> {
        let (send, receive) = channel();
        lock(&self.inbox).wanted.push(send);
        self.wake();
        receive
    }

    /// Waits for requests for at most `time`, and returns them.
    pub fn wait(&self, time: Duration) -> Vec<Sender<CliResult<Ingested>>> {
        let inbox = lock(&self.inbox);
        let is_idle = |inbox: &mut Inbox| !inbox.is_woken && inbox.wanted.is_empty() && !self.is_stopping();
        let (mut inbox, _) = self.woken.wait_timeout_while(inbox, time, is_idle).unwrap_or_else(PoisonError::into_inner);
        inbox.is_woken = false;
        std::mem::take(&mut inbox.wanted)
    }

    /// Notes a use of the daemon.
    pub fn touch(&self) {
        self.uses.touch();
    }

    /// Frees the local model's memory after the configured idle time.
    pub fn drop_idle_model(&self) {
        let idle = Duration::from_secs(60 * u64::from(self.config.daemon.model_idle_minutes));
        if self.uses.drop_idle_model(&self.engine, idle) {
            self.log.info("model dropped after being idle");
        }
    }

    /// Reports an error in the log and in the status.
    pub fn failed(&self, what: &str, error: &CliError) {
        let text = format!("{what}: {} [{}]", error.message, error.code);
        self.log.error(&text);
        *lock(&self.last_error) = Some(text);
    }

    /// Returns the roots of the histories, by the current configuration.
    pub fn roots(&self) -> CliResult<Vec<SourceRoot>> {
        known_roots(&self.engine, self.settings)
    }

    /// Builds the request that reads these roots, by the current configuration.
    pub fn request(&self, roots: Vec<SourceRoot>) -> CliResult<IngestRequest> {
        request(roots, self.settings)
    }

    /// Returns how long new data waits for more, in milliseconds.
    pub fn window_ms(&self) -> UtcMillis {
        UtcMillis::from(self.config.daemon.batch_seconds) * 1000
    }

    /// Puts jobs into the queue and wakes the working thread. Returns for each job whether it is new. If the
    /// queue cannot be written now, nothing is lost: the next scan finds the work.
    pub fn queue(&self, jobs: &[NewJob]) -> CliResult<Vec<bool>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.touch();
        let new = self.engine.queue_jobs(jobs)?;
        self.wake();
        Ok(new)
    }

    /// Returns jobs that scan whole roots after a delay.
    pub fn scans(&self, roots: &[SourceRoot], delay_ms: UtcMillis) -> Vec<NewJob> {
        roots.iter().map(|root| NewJob { work: Work::Scan(root.clone()), delay_ms, stamp: None }).collect()
    }

    /// Reads what is known to be new before a brief is made; waits for it, but not for long.
    pub fn settle(&self) {
        let until = Instant::now() + SETTLING;
        match self.engine.hurry_ingestion() {
            Ok(0) => {}
            Ok(_) => {
                let _ = self.notifier().send(Notice::Hurried);
                self.wake();
            }
            // Jobs that cannot be hurried run when they are due.
            Err(error) => self.failed("queue", &error.into()),
        }
        let is_reading = || self.engine.pressing_jobs(Lane::Capture).is_ok_and(|jobs| jobs > 0);
        while !self.is_stopping() && Instant::now() < until && is_reading() {
            std::thread::sleep(SETTLED);
        }
    }

    /// Takes an event that an agent's hook reported; returns the number of jobs it became. A transcript is
    /// read if it is below a root of this agent or its source accepts it; without a transcript, all of the
    /// agent's roots are scanned. At the end of a session it is read at once: the next session may begin in
    /// the same second.
    pub fn take_event(&self, event: &Event) -> CliResult<usize> {
        if !event.given.is_empty() {
            let given: Vec<MemoryId> = event.given.iter().filter_map(|id| ItemId::parse(id)?.memory()).collect();
            // The hook's time, not that of this reading: what the agent did after it shows whether it was of use.
            self.engine.record_memory_uses_at(event.at_ms, &given, Use::Given, event.session_id.as_deref(), None)?;
            return Ok(0);
        }
        let roots = self.roots()?;
        let of_agent: Vec<SourceRoot> = roots.iter().filter(|root| root.source == event.agent).cloned().collect();
        let path = event.transcript_path.as_ref().map(PathBuf::from).filter(|path| path.is_absolute());
        let path = path.and_then(|path| path.canonicalize().ok());
        let kind = agents::kind_of(&event.agent, &event.event);
        let is_end = kind.is_some_and(EventKind::is_end);
        let mut jobs = Vec::new();
        if let Some(path) = path.filter(|path| path.is_file()) {
            let within = |root: &&SourceRoot| {
                path.starts_with(&root.path) || root.path.canonicalize().is_ok_and(|root| path.starts_with(root))
            };
            let root = of_agent.iter().find(within).or_else(|| roots.iter().find(within)).or(of_agent.first());
            let accepts = |source: &str| {
                yore_sources::source::source_named(source)
                    .is_some_and(|source| !source.discover(&path, &yore_sources::source::NothingKnown).is_empty())
            };
            if let Some(root) = root.filter(|root| accepts(&root.source) && path.to_str().is_some()) {
                let stamp = yore_sources::source::Stamp::of_file(&path).ok();
                let delay_ms = if kind.is_some_and(EventKind::is_read_at_once) { 0 } else { self.window_ms() };
                let work = Work::Ingest(SourceRoot { source: root.source.clone(), path });
                jobs.push(NewJob { work, delay_ms, stamp });
            }
        }
        if jobs.is_empty() {
            jobs = self.scans(&of_agent, if is_end { 0 } else { self.window_ms() });
        }
        self.queue(&jobs)?;
        let count = jobs.len();
        jobs.retain(|job| job.delay_ms == 0);
        if !jobs.is_empty() {
            let _ = self.notifier().send(Notice::Ended(jobs));
        }
        Ok(count)
    }

    /// Returns a text that identifies the settings that affect how histories are read.
    pub fn settings(&self) -> String {
        self.config.reading_identity()
    }
}

/// Locks a mutex even if another thread panicked while holding it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
