//! Measures speed and memory from workloads.
//!
//! - [`measure`]: CPU time, memory, disk and percentiles, as the kernel counts them
//! - [`vocabulary`]: words with a distribution like that of real work
//! - [`workload`]: documents to store and questions about them
//! - [`transcript`]: a document as the transcript file that a coding agent would have left
//! - [`floor`]: the baseline: the same texts in plain SQLite FTS5
//!
//! The programs are `speed` (yore beside the baseline) and `lexical_trial` (the choice of engine).

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use yore_core::memory::dynamics::Dynamics;
use yore_core::time::UtcMillis;
use yore_engine::ingest::SourceRoot;
use yore_engine::{Engine, EngineError, EngineOptions, ModelServers, StoreOptions};

pub mod floor;
pub mod measure;
pub mod transcript;
pub mod vocabulary;
pub mod workload;

pub use measure::cpu_time;

/// Opens the engine of a data directory, which is created, without a model.
///
/// # Errors
/// The directory cannot be used.
pub fn open_engine(data: &Path) -> Result<Engine, EngineError> {
    Engine::open(EngineOptions {
        directory: data.to_path_buf(),
        create: true,
        store: StoreOptions {
            busy_timeout: Duration::from_secs(5),
            backup_before_upgrade: false,
            compression_level: 3,
            is_passive: false,
        },
        redaction_patterns: Vec::new(),
        model: None,
        reranker: None,
        servers: ModelServers::default(),
        model_threads: 1,
        now,
        dynamics: Dynamics::default(),
    })
}

/// The arguments of a replay: a file of what is asked, a data directory, and histories that are read into it first.
pub struct Replay {
    /// The file of what is asked.
    pub asked: PathBuf,
    /// The data directory.
    pub work: PathBuf,
    /// The histories.
    pub roots: Vec<SourceRoot>,
}

impl Replay {
    /// Reads `NAME FILE --work DIRECTORY SOURCE=FOLDER...` from the command line; `name`: the option that names the file.
    ///
    /// # Errors
    /// An option without a value, or an unknown argument.
    pub fn of_arguments(name: &str) -> Result<Self, String> {
        let mut replay = Self { asked: PathBuf::new(), work: PathBuf::new(), roots: Vec::new() };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().map(PathBuf::from).ok_or_else(|| format!("{argument} needs a value"));
            if argument == name {
                replay.asked = value()?;
            } else if argument == "--work" {
                replay.work = value()?;
            } else {
                let (source, path) = argument.split_once('=').ok_or_else(|| format!("unknown argument {argument}"))?;
                replay.roots.push(SourceRoot { source: source.to_owned(), path: path.into() });
            }
        }
        Ok(replay)
    }
}

/// Returns the present time.
pub fn now() -> UtcMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UtcMillis)
}
