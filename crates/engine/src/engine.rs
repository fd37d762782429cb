//! The facade: what voices call, in plain data types.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use yore_core::id::{EpisodeId, TurnId};
use yore_core::text::Tokenizer;
use yore_core::time::UtcMillis;

use crate::index::{IndexError, LexicalIndex, SyncReport};
use crate::ingest::source::ReaderOptions;
use crate::ingest::{ForgetTarget, Ingest, IngestError, IngestReport, IngestRequest, Observer, ProjectNames, ReindexReport};
use crate::platform;
use crate::retrieve::{self, RecallAnswer, RecallRequest};
use crate::store::{
    EpisodeSummary, Forgotten, ProjectSummary, SessionOrder, ShownTurn, SourceFileSummary, Store, StoreError, StoreOptions,
    StoreStats,
};

/// How often and how long a hard forgetting waits for the index: a minute in all.
const PURGE_TRIES: u32 = 1200;
const PURGE_PAUSE: Duration = Duration::from_millis(50);

/// What can go wrong, by who can mend it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The full-text index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Reading histories.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// No project is known by this name.
    #[error("no project is known as {name:?}")]
    UnknownProject {
        /// What was asked for.
        name: String,
        /// Names of the known ones.
        known: Vec<String>,
    },
    /// No session is known by this id.
    #[error("no session is known as {0:?}")]
    UnknownSession(String),
    /// Neither session nor turn is known by this id.
    #[error("nothing is known as {0:?}")]
    UnknownId(String),
    /// The beginning of an id fits several.
    #[error("{id:?} is the beginning of several ids")]
    AmbiguousId {
        /// What was asked for.
        id: String,
        /// Some of what it fits.
        candidates: Vec<String>,
    },
    /// The id is a sub-agent's, which is forgotten with its session only.
    #[error("{id:?} is a side conversation of session {session}")]
    NotASession {
        /// What was asked for.
        id: String,
        /// The session it belongs to.
        session: String,
    },
}

impl EngineError {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) | Self::Index(IndexError::Store(error)) | Self::Ingest(IngestError::Store(error)) => error.code(),
            Self::Index(IndexError::DiskFull(_)) => "index/disk-full",
            Self::Index(IndexError::Failed { .. }) => "index/failed",
            Self::Ingest(IngestError::DataDirectory { .. }) => "data-directory",
            Self::Ingest(IngestError::UnknownSource(_)) => "unknown-source",
            Self::Ingest(IngestError::RedactionPattern(_)) => "redaction-pattern",
            Self::UnknownProject { .. } => "unknown-project",
            Self::UnknownSession(_) => "unknown-session",
            Self::UnknownId(_) => "unknown-id",
            Self::AmbiguousId { .. } => "ambiguous-id",
            Self::NotASession { .. } => "not-a-session",
        }
    }

    /// The store's own error, where that is what went wrong.
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::Index(IndexError::Store(error)) | Self::Ingest(IngestError::Store(error)) => Some(error),
            _ => None,
        }
    }
}

/// How the engine is opened.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The data directory.
    pub directory: PathBuf,
    /// Whether to create what is missing.
    pub create: bool,
    /// The store's settings.
    pub store: StoreOptions,
    /// Regular expressions for secrets that no rule knows.
    pub redaction_patterns: Vec<String>,
    /// The clock.
    pub now: fn() -> UtcMillis,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct SessionsRequest {
    /// Names, ids or directories of projects; empty means all.
    pub projects: Vec<String>,
    /// List side conversations too.
    pub with_subagents: bool,
    /// List soft-forgotten ones too.
    pub with_forgotten: bool,
    /// In which order.
    pub order: SessionOrder,
    /// At most how many.
    pub limit: usize,
}

/// What to show.
#[derive(Clone, Debug)]
pub struct ShowRequest {
    /// Id, short id or native id of a turn or session, or an unambiguous beginning of one.
    pub id: String,
    /// Of a turn: how many turns before and after it.
    pub surroundings: usize,
}

/// A turn with its surroundings, or a whole episode.
#[derive(Clone, Debug)]
pub struct ShowAnswer {
    /// The episode.
    pub episode: EpisodeId,
    /// Its turns, or those around the one asked for.
    pub turns: Vec<ShownTurn>,
    /// The turn asked for.
    pub focus: Option<TurnId>,
    /// Turns of the episode before the first one shown, and after the last.
    pub hidden: (usize, usize),
}

/// What to forget.
#[derive(Clone, Debug)]
pub struct ForgetRequest {
    /// The session: id, short id, native id or an unambiguous beginning.
    pub session: String,
    /// For good: from the archive, the index and the backups.
    pub is_hard: bool,
    /// Only say what would go.
    pub is_dry_run: bool,
    /// Undo a soft forgetting.
    pub restore: bool,
    /// Keep the session from coming back from its source (hard only).
    pub keep_tombstones: bool,
}

/// The full-text index in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// Everything that `stats` shows.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// What is stored.
    pub store: StoreStats,
    /// The index.
    pub index: IndexHealth,
    /// Bytes of the whole data directory.
    pub directory_bytes: u64,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// Something is not as it should be; nothing is lost.
    Warning,
    /// Something is broken.
    Broken,
}

/// One thing that `doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable code.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What was found.
    pub text: String,
    /// What to do, when something is to be done.
    pub remedy: Option<String>,
}

/// Remembers and retrieves. Shared freely between threads.
#[derive(Debug)]
pub struct Engine {
    options: EngineOptions,
    store: Store,
    index: OnceLock<LexicalIndex>,
    tokenizer: Mutex<Tokenizer>,
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
    /// [`StoreError::Missing`] when there is nothing and `create` is false; everything that
    /// [`StoreError`] names.
    pub fn open(options: EngineOptions) -> Result<Self, EngineError> {
        let store = Store::open(&options.directory, options.create, options.store.clone())?;
        Ok(Self { options, store, index: OnceLock::new(), tokenizer: Mutex::default() })
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.options.directory
    }

    /// Reads histories into the archive and the store. The index takes them with
    /// [`Self::sync_index`]; recall finds them before.
    pub fn ingest(&self, request: &IngestRequest, observer: &mut dyn Observer) -> Result<IngestReport, EngineError> {
        Ok(self.reader()?.run(request, observer)?)
    }

    /// Brings the full-text index up to date. When another process is doing so, waits for it as
    /// long as it makes progress, at most until `patience_ms` have passed without any.
    pub fn sync_index(&self, patience_ms: u64, advanced: &mut dyn FnMut(u64)) -> Result<SyncReport, EngineError> {
        let index = self.index()?;
        let (mut waited, mut queued) = (0, usize::MAX);
        loop {
            let report = index.sync(&self.store, false, advanced)?;
            let left = self.store.queue_length(1_000_000)?;
            if !report.is_busy || left == 0 {
                return Ok(report);
            }
            if left < queued {
                (queued, waited) = (left, 0);
            } else if waited >= patience_ms {
                return Ok(report);
            }
            std::thread::sleep(Duration::from_millis(20));
            waited += 20;
        }
    }

    /// Number of turns that wait for the index, counted up to 1,000,000.
    pub fn queued(&self) -> Result<usize, EngineError> {
        Ok(self.store.queue_length(1_000_000)?)
    }

    /// Answers a question from what is known.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer, EngineError> {
        // One tokenizer remembers its stems from question to question; a second voice brings its own.
        match self.tokenizer.try_lock() {
            Ok(mut tokenizer) => retrieve::recall(&self.store, self.index()?, &mut tokenizer, request),
            Err(_) => retrieve::recall(&self.store, self.index()?, &mut Tokenizer::default(), request),
        }
    }

    /// Shows a turn with its surroundings, or a whole episode.
    pub fn show(&self, request: &ShowRequest) -> Result<ShowAnswer, EngineError> {
        let id = request.id.trim();
        let turns = self.store.turns_by_prefix(id, 9)?;
        let episodes = self.store.episodes_by_prefix(id, false, 9)?;
        match (turns.as_slice(), episodes.as_slice()) {
            ([row], []) => {
                let Some(focus) = self.store.shown_turns(&[*row])?.pop() else {
                    return Err(EngineError::UnknownId(id.to_owned()));
                };
                let all = self.store.episode_turns(focus.episode_row)?;
                let at = all.iter().position(|turn| turn.row == *row).unwrap_or(0);
                let first = at.saturating_sub(request.surroundings);
                let end = (at + request.surroundings + 1).min(all.len());
                let hidden = (first, all.len() - end);
                let turns = all.into_iter().skip(first).take(end - first).collect();
                Ok(ShowAnswer { episode: focus.episode, turns, focus: Some(focus.id), hidden })
            }
            ([], [(row, ..)]) => {
                let turns = self.store.episode_turns(*row)?;
                let Some(first) = turns.first() else { return Err(EngineError::UnknownId(id.to_owned())) };
                let episode = turns.iter().find(|turn| turn.episode_row == *row).unwrap_or(first).episode;
                Ok(ShowAnswer { episode, turns, focus: None, hidden: (0, 0) })
            }
            ([], []) => Err(EngineError::UnknownId(id.to_owned())),
            _ => {
                let mut candidates: Vec<String> =
                    episodes.into_iter().map(|(_, agent, native)| format!("session {native} ({agent})")).collect();
                candidates.extend(self.store.shown_turns(&turns)?.into_iter().map(|turn| format!("turn {}", turn.id)));
                Err(EngineError::AmbiguousId { id: id.to_owned(), candidates })
            }
        }
    }

    /// Writes the transcripts that hold a session, as they are archived (redacted), to `out`.
    pub fn write_original(&self, id: &str, out: &mut dyn std::io::Write) -> Result<(), EngineError> {
        let shown = self.show(&ShowRequest { id: id.to_owned(), surroundings: 0 })?;
        let files = self.store.files_of_episode(&shown.episode)?;
        let reader = self.reader()?;
        for file in files {
            reader.write_archived(&file, out)?;
        }
        Ok(())
    }

    /// Lists sessions.
    pub fn sessions(&self, request: &SessionsRequest) -> Result<Vec<EpisodeSummary>, EngineError> {
        let projects = retrieve::projects_named(&self.store, &request.projects)?;
        Ok(self.store.episodes(&projects, request.with_subagents, request.with_forgotten, request.order, request.limit)?)
    }

    /// Lists projects, last used first.
    pub fn projects(&self) -> Result<Vec<ProjectSummary>, EngineError> {
        Ok(self.store.projects()?)
    }

    /// The known project of a directory.
    pub fn project_of(&self, here: &ProjectNames) -> Result<Option<ProjectSummary>, EngineError> {
        let Some(row) = retrieve::project_here(&self.store, here)? else { return Ok(None) };
        Ok(self.store.projects()?.into_iter().find(|project| project.row == row))
    }

    /// Makes one project of two: `from` is known as `into` afterwards.
    pub fn merge_projects(&self, from: &str, into: &str) -> Result<(), EngineError> {
        let only = |name: &str| -> Result<i64, EngineError> {
            match retrieve::projects_named(&self.store, &[name.to_owned()])?.as_slice() {
                [row] => Ok(*row),
                rows => Err(EngineError::AmbiguousId {
                    id: name.to_owned(),
                    candidates: self
                        .projects()?
                        .into_iter()
                        .filter(|project| rows.contains(&project.row))
                        .map(|project| project.id.to_string())
                        .collect(),
                }),
            }
        };
        let (from, into) = (only(from)?, only(into)?);
        if from != into {
            self.store.merge_projects(from, into)?;
            self.sync_index(2_000, &mut |_| {})?;
        }
        Ok(())
    }

    /// Counts everything.
    pub fn statistics(&self) -> Result<Statistics, EngineError> {
        Ok(Statistics {
            store: self.store.stats()?,
            index: self.index_health()?,
            directory_bytes: directory_bytes(&self.options.directory),
        })
    }

    /// The files that histories were read from.
    pub fn source_files(&self) -> Result<Vec<SourceFileSummary>, EngineError> {
        Ok(self.store.source_files()?)
    }

    /// Reads the archive again with the readers of today, then makes the index anew.
    pub fn reindex(
        &self,
        options: &ReaderOptions,
        observer: &mut dyn Observer,
    ) -> Result<(ReindexReport, SyncReport), EngineError> {
        let report = self.reader()?.reindex(options, observer)?;
        if self.index.get().is_none() {
            // Not opened yet: whatever lies there, sound or not, is made anew.
            self.store.clear_index_state("lexical")?;
        }
        self.store.queue_all()?;
        let index = self.sync_index(10_000, &mut |_| {})?;
        Ok((report, index))
    }

    /// Forgets a session with its side conversations.
    pub fn forget(&self, request: &ForgetRequest) -> Result<Forgotten, EngineError> {
        let found = self.store.episodes_by_prefix(request.session.trim(), true, 9)?;
        let sessions: Vec<&(i64, String, String)> = if found.len() > 1 {
            found.iter().filter(|(_, _, native)| !native.contains("/agent-") && !native.ends_with("/sidechain")).collect()
        } else {
            found.iter().collect()
        };
        let (row, agent, native) = match sessions.as_slice() {
            [] if request.is_hard && self.reader()?.is_buried(request.session.trim())? => {
                // It is gone; what a killed process may have left undone is done now.
                return self.finish_forgetting(Forgotten { is_hard: true, ..Forgotten::default() }, request.is_dry_run);
            }
            [] => return Err(EngineError::UnknownSession(request.session.clone())),
            [only] => (only.0, only.1.clone(), only.2.clone()),
            several => {
                return Err(EngineError::AmbiguousId {
                    id: request.session.clone(),
                    candidates: several.iter().map(|(_, _, native)| native.clone()).collect(),
                });
            }
        };
        if let Some((_, Some(parent))) = self.store.episode_kind(row)? {
            return Err(EngineError::NotASession { id: request.session.clone(), session: parent });
        }
        let mut episodes = vec![row];
        episodes.extend(self.store.descendants(row)?);
        let mut native_ids = vec![native.clone()];
        for summary in self.store.episodes(&[], true, true, SessionOrder::Oldest, usize::MAX >> 1)? {
            if summary.row != row && episodes.contains(&summary.row) {
                native_ids.push(summary.native_id);
            }
        }
        let outcome = Forgotten {
            episodes: native_ids.clone(),
            turns: self.store.count_turns(&episodes)?,
            backups: if request.is_hard { self.store.backups() } else { Vec::new() },
            is_hard: request.is_hard,
            ..Forgotten::default()
        };
        if request.is_dry_run {
            return Ok(outcome);
        }
        let now = (self.options.now)();
        if !request.is_hard {
            self.store.set_forgotten(&episodes, (!request.restore).then_some(now))?;
            self.sync_index(2_000, &mut |_| {})?;
            return Ok(outcome);
        }
        let target =
            ForgetTarget { agent, native_session: native, episodes, native_ids, keep_tombstones: request.keep_tombstones };
        let outcome = self.reader()?.forget(&target, 9, now)?;
        self.finish_forgetting(outcome, false)
    }

    /// The last steps of a hard forgetting: the index, the backups, the log.
    fn finish_forgetting(&self, mut outcome: Forgotten, is_dry_run: bool) -> Result<Forgotten, EngineError> {
        if !is_dry_run {
            outcome.backups.extend(self.store.purge_backups()?);
            self.purge_index()?;
            self.store.checkpoint()?;
        }
        Ok(outcome)
    }

    /// Leaves no byte of deleted words in the index. Forgotten is said only when it is so: while
    /// another process writes the index, this waits, and fails if that takes too long. The purge
    /// stays owed then, and the next to bring the index up to date does it.
    fn purge_index(&self) -> Result<(), EngineError> {
        for _ in 0..PURGE_TRIES {
            if !self.index()?.sync(&self.store, true, &mut |_| {})?.is_busy {
                return Ok(());
            }
            std::thread::sleep(PURGE_PAUSE);
        }
        Err(StoreError::Busy(self.index()?.directory().to_path_buf()).into())
    }

    /// Looks at everything that can be wrong; with `deep` every blob and index file is read.
    pub fn examine(&self, deep: bool) -> Result<Vec<Finding>, EngineError> {
        let mut findings = Vec::new();
        let mut report = |code, severity, text: String, remedy: Option<&str>| {
            findings.push(Finding { code, severity, text, remedy: remedy.map(str::to_owned) });
        };
        let problems = if deep { self.store.integrity_problems()? } else { Vec::new() };
        match problems.as_slice() {
            [] => report("store", Severity::Fine, format!("{} is sound", self.store.path().display()), None),
            problems => report(
                "store",
                Severity::Broken,
                format!("the database is damaged: {}", problems.join("; ")),
                Some("restore yore.db from a backup, or move the data directory away and run `yore up` again"),
            ),
        }
        if deep {
            let damaged = self.reader()?.damaged_blobs()?;
            match damaged.len() {
                0 => report("archive", Severity::Fine, "every blob of the archive holds what its hash says".to_owned(), None),
                count => report(
                    "archive",
                    Severity::Broken,
                    format!("{count} blobs of the archive are damaged"),
                    Some("restore yore.db from a backup; sources that still exist can be read again into a new data directory"),
                ),
            }
        }
        let mut behind = (0u64, 0u64, 0u64);
        for file in self.store.source_files()? {
            match std::fs::metadata(&file.path) {
                Ok(meta) if meta.len() > file.archived_bytes => {
                    behind.0 += 1;
                    behind.1 += meta.len() - file.archived_bytes;
                }
                Ok(_) => {}
                Err(_) => behind.2 += 1,
            }
        }
        match behind {
            (0, _, 0) => {
                report("archive-sources", Severity::Fine, "the archive holds all that its sources hold".to_owned(), None);
            }
            (0, _, gone) => {
                report("archive-sources", Severity::Note, format!("{gone} source files are gone; the archive has them"), None);
            }
            (files, bytes, gone) => report(
                "archive-sources",
                Severity::Warning,
                format!("{files} source files have {bytes} bytes that are not archived; {gone} are gone and archived"),
                Some("run `yore ingest`"),
            ),
        }
        let health = self.index_health()?;
        if health.queued > 0 {
            report(
                "index",
                Severity::Note,
                format!("{} turns wait for the full-text index and are searched in memory", health.queued),
                Some("run `yore ingest` or `yore reindex`"),
            );
        } else if health.indexed != health.expected {
            report(
                "index",
                Severity::Warning,
                format!("the full-text index holds {} turns instead of {}", health.indexed, health.expected),
                Some("run `yore reindex`"),
            );
        } else {
            report("index", Severity::Fine, format!("the full-text index holds all {} turns", health.indexed), None);
        }
        if deep {
            let damaged = self.index()?.damaged_files()?;
            if !damaged.is_empty() {
                report(
                    "index-files",
                    Severity::Warning,
                    format!("{} files of the full-text index are damaged", damaged.len()),
                    Some("run `yore reindex`"),
                );
            }
        }
        let open: Vec<String> = private_paths(&self.options.directory)
            .into_iter()
            .filter(|path| platform::is_open_to_others(path).unwrap_or(false))
            .map(|path| path.display().to_string())
            .collect();
        match open.as_slice() {
            [] => report("permissions", Severity::Fine, "only you can read the data directory".to_owned(), None),
            open => report(
                "permissions",
                Severity::Broken,
                format!("others can read {}", open.join(", ")),
                Some("run `yore doctor --fix`"),
            ),
        }
        let backups = self.store.backups();
        if !backups.is_empty() {
            report(
                "backups",
                Severity::Note,
                format!("{} backups from upgrades lie beside the database", backups.len()),
                Some("delete them when the upgrade has proved itself"),
            );
        }
        Ok(findings)
    }

    /// Takes all permissions on the data directory from others.
    pub fn make_private(&self) -> Result<(), EngineError> {
        for path in private_paths(&self.options.directory) {
            platform::make_private(&path).map_err(|error| StoreError::Io { path, error })?;
        }
        Ok(())
    }

    fn reader(&self) -> Result<Ingest<'_>, EngineError> {
        Ok(Ingest::new(&self.store, &self.options.directory, &self.options.redaction_patterns, self.options.now)?)
    }

    fn index(&self) -> Result<&LexicalIndex, EngineError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = LexicalIndex::open(&self.options.directory, &self.store)?;
        Ok(self.index.get_or_init(|| index))
    }

    fn index_health(&self) -> Result<IndexHealth, EngineError> {
        let index = self.index()?;
        Ok(IndexHealth {
            indexed: index.len(),
            expected: self.store.indexable_turns()?,
            queued: self.store.queue_length(1_000_000)? as u64,
            bytes: directory_bytes(index.directory()),
        })
    }
}

/// The data directory and everything in it that must be private.
fn private_paths(directory: &Path) -> Vec<PathBuf> {
    let mut paths = vec![directory.to_path_buf()];
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        paths.push(entry.path());
    }
    paths
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
