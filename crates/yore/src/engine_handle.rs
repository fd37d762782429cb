//! Opens the engine for a voice, and carries calls from async voices to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use yore_core::time::UtcMillis;
use yore_engine::{Engine, EngineError, EngineOptions, StoreOptions};

use crate::config::Config;

/// Milliseconds since 1970 by the system's clock.
pub fn now() -> UtcMillis {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as UtcMillis)
}

/// Opens the engine on a data directory, as configured; `model` is the folder of the local
/// embedding model, which is read when a question or a text needs it.
pub fn open(directory: &Path, create: bool, config: &Config, model: Option<PathBuf>) -> Result<Engine, EngineError> {
    Engine::open(EngineOptions {
        directory: directory.to_path_buf(),
        create,
        store: StoreOptions {
            busy_timeout: Duration::from_millis(u64::from(config.store.busy_timeout_ms)),
            backup_before_upgrade: config.store.backup_before_upgrade,
        },
        redaction_patterns: config.redaction.extra_patterns.clone(),
        model,
        model_threads: config.models.threads,
        now,
    })
}

/// The engine for async voices: opened by the first call that needs it, called off the runtime.
#[derive(Clone)]
pub struct EngineHandle {
    directory: PathBuf,
    config: Arc<Config>,
    model: Option<PathBuf>,
    opened: Arc<std::sync::Mutex<Option<Arc<Engine>>>>,
}

impl EngineHandle {
    /// Remembers what to open.
    pub fn new(directory: PathBuf, config: Config, model: Option<PathBuf>) -> Self {
        Self { directory, config: Arc::new(config), model, opened: Arc::default() }
    }

    /// The configuration that the engine was given.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Runs `work` on the engine in a thread that may block. The one crossing. A panic in `work`
    /// goes on in the caller.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let handle = self.clone();
        let joined = tokio::task::spawn_blocking(move || work(&*handle.engine()?)).await;
        match joined.map_err(tokio::task::JoinError::try_into_panic) {
            Ok(outcome) => outcome,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // Cancelled: the runtime ends, and so does whoever waits here.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    fn engine(&self) -> Result<Arc<Engine>, EngineError> {
        let mut opened = self.opened.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(engine) = &*opened {
            return Ok(Arc::clone(engine));
        }
        let engine = Arc::new(open(&self.directory, false, &self.config, self.model.clone())?);
        *opened = Some(Arc::clone(&engine));
        Ok(engine)
    }
}
