//! The open proxy: the daemon's memory behind a port, and its state.

use std::sync::Arc;

use yore_engine::Engine;
use yore_engine::ingest::settings_key;
use yore_proxy::Proxy;

use super::ProxyError;
use super::memory::ProxyMemory;
use crate::config::Config;
use crate::http::listener::Listener;
use crate::results::{ProxyCounts, ProxyState};
use crate::settings::Settings;

/// The open proxy; dropping it ends the port.
pub struct OpenProxy {
    proxy: Proxy,
    memory: Arc<ProxyMemory>,
    /// Its address, without the token.
    address: String,
}

impl OpenProxy {
    /// Begins to serve. `config`: the settings that hold for every project.
    ///
    /// # Errors
    /// A setting cannot be used, or the system gives no thread.
    pub fn begin(listener: Listener, engine: Arc<Engine>, settings: Settings, config: Config) -> Result<Self, ProxyError> {
        let address = listener.url("");
        let of_proxy = super::settings(engine.directory(), &config)?;
        let key = settings_key(engine.directory()).map_err(ProxyError::Token)?;
        let memory = Arc::new(ProxyMemory::new(engine, settings, config, key));
        let known: Arc<dyn yore_proxy::Memory> = Arc::<ProxyMemory>::clone(&memory);
        let proxy = yore_proxy::serve(listener.into_socket(), of_proxy, known).map_err(ProxyError::Port)?;
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
                late: counts.late + self.memory.account().late(),
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
