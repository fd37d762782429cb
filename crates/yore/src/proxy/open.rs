//! The open proxy: the daemon's memory behind a port, and its state.

use std::sync::Arc;

use yore_engine::Engine;
use yore_engine::ingest::{IngestRequest, settings_key};
use yore_proxy::Proxy;

use super::memory::ProxyMemory;
use super::{ProxyError, settings};
use crate::config::Config;
use crate::http::listener::Listener;
use crate::results::{ProxyCounts, ProxyState};

/// The open proxy; dropping it ends the port.
pub struct OpenProxy {
    proxy: Proxy,
    memory: Arc<ProxyMemory>,
    /// Its address, without the token.
    address: String,
}

impl OpenProxy {
    /// Begins to serve. `request`: how what is given to the archive is read.
    ///
    /// # Errors
    /// A setting cannot be used, or the system gives no thread.
    pub fn begin(listener: Listener, engine: Arc<Engine>, config: Config, request: IngestRequest) -> Result<Self, ProxyError> {
        let address = listener.url("");
        let settings = settings(engine.directory(), &config)?;
        let key = settings_key(engine.directory()).map_err(ProxyError::Token)?;
        let memory = Arc::new(ProxyMemory::new(engine, config, request, key));
        let known: Arc<dyn yore_proxy::Memory> = Arc::<ProxyMemory>::clone(&memory);
        let proxy = yore_proxy::serve(listener.into_socket(), settings, known).map_err(ProxyError::Port)?;
        Ok(Self { proxy, memory, address })
    }

    /// Its address, without the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns its state.
    pub fn state(&self) -> ProxyState {
        let counts = self.proxy.counts();
        let (sessions, failure) = self.memory.account().told();
        ProxyState {
            address: self.address.clone(),
            counts: ProxyCounts {
                requests: counts.requests,
                added: counts.added,
                late: counts.late,
                failed: counts.failed,
                unreadable: counts.unreadable,
                dropped: counts.dropped,
                unreached: counts.upstream_errors,
                open: counts.open_streams,
            },
            sessions,
            failure,
        }
    }
}
