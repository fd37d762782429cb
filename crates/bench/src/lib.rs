//! Measures speed and memory from workloads.
//!
//! - [`measure`]: CPU time, memory, disk and percentiles, as the kernel counts them
//! - [`vocabulary`]: words with a distribution like that of real work
//! - [`workload`]: documents to store and questions about them
//! - [`transcript`]: a document as the transcript file that a coding agent would have left
//! - [`floor`]: the baseline: the same texts in plain SQLite FTS5
//!
//! The programs are `speed` (yore beside the baseline) and `lexical_trial` (the choice of engine).

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use yore_core::memory::dynamics::Dynamics;
use yore_core::time::UtcMillis;
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

/// Returns the present time.
pub fn now() -> UtcMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UtcMillis)
}
