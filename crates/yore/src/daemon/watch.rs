//! The watching thread: turns file events, polls and the spool into jobs, and runs periodic tasks.
//!
//! The operating system reports changes where it can. Where it cannot, and as a safety net everywhere, places
//! are polled. Changes become jobs in the queue at once: memory holds only what the next start finds again,
//! so a killed process loses nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use yore_core::time::UtcMillis;
use yore_engine::ingest::SourceRoot;
use yore_engine::{Lane, NewJob, Work};
use yore_sources::source::Stamp;

use super::shared::{Notice, Shared, lock};
use crate::error::CliResult;
use crate::inject::ledger;
use crate::ipc::card;
use crate::spool;

/// Interval between looks at the spool and the periodic tasks.
const TICK: Duration = Duration::from_secs(2);
/// Events within this time are handled together.
const GATHER: Duration = Duration::from_millis(100);
/// Delay before files that an agent reported as ended are read once more.
const AGAIN: Duration = Duration::from_secs(1);
/// Interval between looks for new places.
const LOOK_FOR_ROOTS: Duration = Duration::from_secs(5);
/// Interval between scans of everything, even if the system reports no changes.
const SAFETY: Duration = Duration::from_secs(300);
/// Interval between removals of the ledgers of sessions that ended long ago.
const CLEAR: Duration = Duration::from_secs(24 * 3600);
/// Interval between heartbeat lines in the log.
pub const HEARTBEAT: Duration = Duration::from_secs(60);
/// Longest delay for a file that turned out to be no history.
const LONGEST_DELAY_MS: UtcMillis = 60_000;
/// Most paths remembered.
const MOST_PATHS: usize = 20_000;
/// Most files of a new directory handled one by one.
const MOST_NEW_FILES: usize = 1_000;

/// Watches until the daemon ends.
pub fn run(shared: &Shared<'_>, notices: &Receiver<Notice>) {
    let mut watching = Watching::new(shared);
    let mut last = Clock::new();
    watching.look_for_roots();
    watching.drain_spool();
    ledger::clear_old(&shared.settings.directory, SystemTime::now());
    while !shared.is_stopping() {
        match notices.recv_timeout(TICK) {
            Ok(notice) => {
                watching.take(notice);
                let until = Instant::now() + GATHER;
                while let Ok(notice) = notices.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    watching.take(notice);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        watching.queue();
        watching.look_again();
        if last.spool.is_due(TICK) {
            watching.drain_spool();
        }
        if last.roots.is_due(LOOK_FOR_ROOTS) {
            watching.look_for_roots();
            shared.drop_idle_model();
            if !card::is_still_there(&shared.settings.directory) {
                // The data directory was removed: there is nothing left to do.
                shared.stop();
            }
        }
        if last.safety.is_due(SAFETY) {
            watching.look_at_everything(false);
        }
        if last.polled.is_due(Duration::from_secs(60 * u64::from(shared.config.daemon.poll_minutes))) {
            watching.look_at_everything(true);
        }
        if last.ledgers.is_due(CLEAR) {
            ledger::clear_old(&shared.settings.directory, SystemTime::now());
        }
        if last.heartbeat.is_due(HEARTBEAT) {
            heartbeat(shared);
        }
        let idle_exit = u64::from(shared.config.daemon.idle_exit_minutes);
        if idle_exit > 0
            && shared.uses.idle() >= Duration::from_secs(60 * idle_exit)
            && !shared.is_embedding.load(Ordering::Relaxed)
        {
            shared.log.info("stopping after being idle");
            shared.stop();
        }
    }
}

/// Times at which periodic tasks last ran.
struct Clock {
    spool: Since,
    roots: Since,
    safety: Since,
    polled: Since,
    ledgers: Since,
    heartbeat: Since,
}

impl Clock {
    fn new() -> Self {
        let now = || Since(Instant::now());
        Self { spool: now(), roots: now(), safety: now(), polled: now(), ledgers: now(), heartbeat: now() }
    }
}

/// Time at which a task last ran.
struct Since(Instant);

impl Since {
    fn is_due(&mut self, after: Duration) -> bool {
        let is_due = self.0.elapsed() >= after;
        if is_due {
            self.0 = Instant::now();
        }
        is_due
    }
}

/// Writes a log line that says the daemon is alive and how many jobs wait.
fn heartbeat(shared: &Shared<'_>) {
    let memory = super::process::memory_bytes().map_or_else(String::new, |bytes| format!(" memory {} kB", bytes / 1024));
    match shared.engine.job_counts(Lane::Capture) {
        Ok(jobs) => shared.log.info(format!(
            "alive: queued {} leased {} dead {} batches {} turns {}{memory}",
            jobs.queued,
            jobs.leased,
            jobs.dead,
            shared.batches.load(Ordering::Relaxed),
            shared.turns.load(Ordering::Relaxed)
        )),
        Err(error) => shared.failed("heartbeat", &error.into()),
    }
}

/// Identity of a root's file or directory, to notice that another took its name.
type Identity = Option<(u64, u64)>;

/// A place that is watched or polled.
struct Place {
    root: SourceRoot,
    /// Path under which the system reports its changes.
    canonical: PathBuf,
    is_watched: bool,
    identity: Identity,
}

/// The watched places, and the changes seen there.
struct Watching<'s, 'a> {
    shared: &'s Shared<'a>,
    watcher: Option<RecommendedWatcher>,
    places: Vec<Place>,
    /// Changed paths that are not in the queue yet.
    changed: HashSet<PathBuf>,
    /// Time until which a path need not be queued again because it already waits in the queue, and whether it
    /// changed since.
    waiting: HashMap<PathBuf, (Instant, bool)>,
    /// Work to be repeated once, and when.
    again: HashMap<Work, (Instant, NewJob)>,
    /// Next delay of a path that is no history.
    delays: HashMap<PathBuf, UtcMillis>,
    is_overflowed: bool,
}

impl<'s, 'a> Watching<'s, 'a> {
    fn new(shared: &'s Shared<'a>) -> Self {
        let notify = shared.notifier();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // A failed send means that the watching thread has ended.
            let _ = match event {
                Ok(event) if event.need_rescan() => notify.send(Notice::Overflow),
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => Ok(()),
                Ok(event) => notify.send(Notice::Changed(event.paths)),
                Err(_) => notify.send(Notice::Overflow),
            };
        });
        let watcher = match watcher {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                shared.log.error(format!("cannot watch for file changes: {error}"));
                None
            }
        };
        Self {
            shared,
            watcher,
            places: Vec::new(),
            changed: HashSet::new(),
            waiting: HashMap::new(),
            again: HashMap::new(),
            delays: HashMap::new(),
            is_overflowed: false,
        }
    }

    fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Changed(paths) => self.changed.extend(paths),
            Notice::Overflow => self.is_overflowed = true,
            Notice::Ended(jobs) => {
                let at = Instant::now() + AGAIN;
                for job in jobs {
                    let read = job.work.root().map(|root| root.path.as_path());
                    self.no_longer_waits(|path| read == Some(&database_of(path)));
                    self.again.insert(job.work.clone(), (at, job));
                }
            }
            Notice::Hurried => self.no_longer_waits(|_| true),
            Notice::Look => {}
        }
    }

    /// Handles paths that are read sooner than planned. If one changed in the meantime, that reading may have
    /// missed the change, so it counts as changed again.
    fn no_longer_waits(&mut self, is_meant: impl Fn(&Path) -> bool) {
        for (path, (_, is_changed)) in self.waiting.extract_if(|path, _| is_meant(path)) {
            if is_changed {
                self.changed.insert(path);
            }
        }
    }

    /// Queues another look at files that agents may have written to after they reported the end.
    fn look_again(&mut self) {
        let now = Instant::now();
        let due: Vec<NewJob> = self.again.extract_if(|_, (at, _)| *at <= now).map(|(_, (_, job))| job).collect();
        let later = |job: NewJob| {
            let stamp = match &job.work {
                Work::Ingest(file) => Stamp::of_file(&file.path).ok(),
                Work::Scan(_) | Work::Upkeep(_) | Work::Learn | Work::Unknown { .. } => None,
            };
            NewJob { delay_ms: self.shared.window_ms(), stamp, ..job }
        };
        let jobs: Vec<NewJob> = due.into_iter().map(later).collect();
        if let Err(error) = self.shared.queue(&jobs) {
            self.shared.failed("queue", &error);
            self.again.extend(jobs.into_iter().map(|job| (job.work.clone(), (now + AGAIN, job))));
        }
    }

    /// Finds places that appeared, disappeared or were replaced, and updates the watches.
    fn look_for_roots(&mut self) {
        let roots = match self.shared.roots() {
            Ok(roots) => roots,
            Err(error) => return self.shared.failed("settings", &error),
        };
        let mut is_changed = false;
        let mut kept = Vec::new();
        for place in std::mem::take(&mut self.places) {
            if roots.contains(&place.root) && identity(&place.canonical) == place.identity {
                kept.push(place);
            } else {
                is_changed = true;
                if let Some(watcher) = self.watcher.as_mut().filter(|_| place.is_watched) {
                    // The place may be gone, and its watch with it.
                    let _ = watcher.unwatch(&watched_path(&place.canonical));
                }
            }
        }
        self.places = kept;
        let mut new = Vec::new();
        for root in roots {
            if self.places.iter().any(|place| place.root == root) {
                continue;
            }
            is_changed = true;
            let canonical = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
            let is_watched = self.watch(&canonical);
            new.push(root.clone());
            self.places.push(Place { identity: identity(&canonical), root, canonical, is_watched });
        }
        if is_changed {
            let names = |is_watched: bool| -> Vec<String> {
                let of_kind = self.places.iter().filter(|place| place.is_watched == is_watched);
                of_kind.map(|place| place.root.path.display().to_string()).collect()
            };
            let (watched, polled) = (names(true), names(false));
            self.shared.log.info(format!("places: {} watched, {} polled", watched.len(), polled.len()));
            *lock(&self.shared.places) = (watched, polled);
        }
        if let Err(error) = self.shared.queue(&self.shared.scans(&new, 0)) {
            self.shared.failed("queue", &error);
        }
    }

    /// Returns whether the system will report changes below `path`.
    fn watch(&mut self, path: &Path) -> bool {
        if yore_engine::platform::network_file_system(path).is_some() {
            return false;
        }
        let Some(watcher) = self.watcher.as_mut() else { return false };
        let mode = if path.is_dir() { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        match watcher.watch(&watched_path(path), mode) {
            Ok(()) => true,
            Err(error) => {
                self.shared.log.error(format!("cannot watch {}, polling it: {error}", path.display()));
                false
            }
        }
    }

    /// Queues a scan of everything, or only of the places that must be polled.
    fn look_at_everything(&mut self, is_polled_only: bool) {
        let roots: Vec<SourceRoot> =
            self.places.iter().filter(|place| place.is_watched != is_polled_only).map(|place| place.root.clone()).collect();
        if let Err(error) = self.shared.queue(&self.shared.scans(&roots, 0)) {
            self.shared.failed("queue", &error);
        }
    }

    /// Puts changed paths into the queue.
    fn queue(&mut self) {
        if std::mem::take(&mut self.is_overflowed) {
            self.shared.log.info("the system dropped change notifications; scanning everything");
            self.look_at_everything(false);
        }
        if self.changed.is_empty() {
            return;
        }
        let now = Instant::now();
        if self.waiting.len() > MOST_PATHS {
            self.waiting.retain(|_, (until, _)| *until > now);
        }
        if self.delays.len() > MOST_PATHS {
            self.delays.clear();
        }
        let changed: Vec<PathBuf> = self.changed.drain().collect();
        let mut jobs: Vec<(PathBuf, NewJob)> = Vec::new();
        for path in changed {
            if path.is_dir() {
                for file in files_in(&path) {
                    self.add(file, now, &mut jobs);
                }
            } else {
                self.add(path, now, &mut jobs);
            }
        }
        let new: Vec<NewJob> = jobs.iter().map(|(_, job)| job.clone()).collect();
        match self.shared.queue(&new) {
            // Until just before the job is due, further changes of the same file need not be queued.
            Ok(is_new) => {
                let quiet = Duration::from_millis((self.shared.window_ms() - 500).max(0) as u64);
                for ((path, job), is_new) in jobs.into_iter().zip(is_new) {
                    if is_new && matches!(job.work, Work::Ingest(_)) {
                        self.waiting.insert(path, (now + quiet, false));
                    }
                }
            }
            Err(error) => {
                self.shared.failed("queue", &error);
                self.changed.extend(jobs.into_iter().map(|(path, _)| path));
                // Not retried at once: whatever caused the error gets a moment to pass.
                self.shared.sleep(Duration::from_millis(200));
                let _ = self.shared.notifier().send(Notice::Look);
            }
        }
    }

    /// Adds the job that a changed file becomes.
    fn add(&mut self, path: PathBuf, now: Instant, jobs: &mut Vec<(PathBuf, NewJob)>) {
        if let Some((_, is_changed)) = self.waiting.get_mut(&path).filter(|(until, _)| *until > now) {
            *is_changed = true;
            return;
        }
        let places = self.places.iter().filter(|place| path.starts_with(&place.canonical) || is_beside(&path, &place.canonical));
        let Some(place) = places.max_by_key(|place| place.canonical.as_os_str().len()) else { return };
        let database = database_of(&path);
        let Some(target) = database.to_str() else { return };
        let source = place.root.source.clone();
        // If the queue cannot be read, a scan is queued, which finds everything.
        if self.shared.engine.knows_file(&source, target).unwrap_or(false) {
            let stamp = Stamp::of_file(&database).ok();
            let work = Work::Ingest(SourceRoot { source, path: database });
            let job = NewJob { work, delay_ms: self.shared.window_ms(), stamp };
            self.delays.remove(&path);
            jobs.push((path, job));
            return;
        }
        // A new file or no history at all; a scan of its place finds out. A file that is not a history may
        // change often, so its delay doubles each time.
        let window = self.shared.window_ms();
        let delay = self.delays.entry(path.clone()).or_insert(window);
        let job = self.shared.scans(std::slice::from_ref(&place.root), *delay).pop();
        *delay = (*delay * 2).clamp(1_000, LONGEST_DELAY_MS);
        jobs.extend(job.map(|job| (path, job)));
    }

    /// Takes the events that hooks left.
    fn drain_spool(&mut self) {
        let shared = self.shared;
        let handle = |event: &spool::Event| -> bool {
            let taken: CliResult<usize> = shared.take_event(event);
            match taken {
                Ok(_) => true,
                Err(error) => {
                    shared.failed("spool", &error);
                    false
                }
            }
        };
        match spool::drain(&shared.settings.directory, handle) {
            Ok(drained) if drained.handled + drained.left + drained.unreadable > 0 => shared
                .log
                .info(format!("spool: {} handled, {} left, {} unreadable", drained.handled, drained.left, drained.unreadable)),
            Ok(_) => {}
            Err(error) => shared.log.error(format!("spool: {error}")),
        }
    }
}

/// Returns the path to watch for a root: the root itself, or the parent directory if the root is a file,
/// which may be replaced by another of the same name.
fn watched_path(path: &Path) -> PathBuf {
    if path.is_dir() { path.to_path_buf() } else { path.parent().unwrap_or(path).to_path_buf() }
}

/// Returns whether `path` is the log or journal of the database `root`.
fn is_beside(path: &Path, root: &Path) -> bool {
    database_of(path) == root
}

/// Returns the database of a log or journal; any other path unchanged.
fn database_of(path: &Path) -> PathBuf {
    let text = path.to_str().unwrap_or_default();
    match ["-wal", "-shm", "-journal"].iter().find_map(|end| text.strip_suffix(end)) {
        Some(database) if Path::new(database).is_file() => PathBuf::from(database),
        _ => path.to_path_buf(),
    }
}

/// Returns the files of a new directory; some may have been written before it was watched.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    let mut seen = HashSet::new();
    while let Some(directory) = pending.pop() {
        // A link may lead back.
        if !directory.canonicalize().is_ok_and(|real| seen.insert(real)) {
            continue;
        }
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.path().metadata() {
                Ok(meta) if meta.is_dir() => pending.push(entry.path()),
                Ok(meta) if meta.is_file() => found.push(entry.path()),
                _ => {}
            }
            if found.len() >= MOST_NEW_FILES || pending.len() >= MOST_NEW_FILES {
                return found;
            }
        }
    }
    found
}

fn identity(path: &Path) -> Identity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        path.metadata().ok().filter(std::fs::Metadata::is_dir).map(|meta| (meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        path.is_dir().then_some((0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_of_a_database_stands_for_the_database() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("state.vscdb");
        std::fs::write(&database, "").unwrap();
        assert_eq!(database_of(&directory.path().join("state.vscdb-wal")), database);
        assert!(is_beside(&directory.path().join("state.vscdb-shm"), &database));
        let alone = directory.path().join("notes-wal");
        assert_eq!(database_of(&alone), alone);
    }

    #[test]
    fn files_of_a_new_directory_are_found() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("a/b")).unwrap();
        std::fs::write(directory.path().join("a/b/c.jsonl"), "").unwrap();
        assert_eq!(files_in(directory.path()), [directory.path().join("a/b/c.jsonl")]);
    }
}
