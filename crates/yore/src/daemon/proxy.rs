//! The daemon's proxy before language models: opened by the settings, with the daemon's memory.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use yore_engine::ingest::settings_key;
use yore_proxy::Proxy;

use super::http::usual_port;
use super::shared::{Shared, lock};
use crate::histories;
use crate::proxy::memory::ProxyMemory;
use crate::proxy::settings;
use crate::results::{ProxyCounts, ProxyState};

/// The open proxy; dropping it ends the port.
pub struct OpenProxy {
    proxy: Proxy,
    memory: Arc<ProxyMemory>,
    /// Its address, without the token.
    address: String,
}

impl OpenProxy {
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

/// Opens the port of the proxy; returns its address. `None`: it is not opened.
pub fn listen(directory: &Path, port: u16) -> std::io::Result<TcpListener> {
    let open = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    // Beside the port of the page.
    if port > 0 { open(port) } else { open(usual_port(directory, 1)).or_else(|_| open(0)) }
}

/// Serves the proxy until [`close`]. Everything else works without it, so an error is only reported.
pub fn serve(shared: &Shared<'_>, listener: TcpListener) {
    match begin(shared, listener) {
        Ok(open) => {
            shared.log.info(format!("the proxy at {}", open.address));
            *lock(&shared.proxy) = Some(open);
        }
        Err(error) => shared.log.error(format!("proxy: {error}")),
    }
}

/// Ends the proxy.
pub fn close(shared: &Shared<'_>) {
    drop(lock(&shared.proxy).take());
}

fn begin(shared: &Shared<'_>, listener: TcpListener) -> Result<OpenProxy, Box<dyn std::error::Error>> {
    let directory = &shared.settings.directory;
    let address = format!("http://{}", listener.local_addr()?);
    let key = settings_key(directory)?;
    let request = histories::request(Vec::new(), shared.settings).map_err(|error| error.message)?;
    let memory = Arc::new(ProxyMemory::new(Arc::clone(&shared.engine), shared.config.clone(), request, key));
    let known: Arc<dyn yore_proxy::Memory> = Arc::<ProxyMemory>::clone(&memory);
    let proxy = yore_proxy::serve(listener, settings(directory, &shared.config)?, known)?;
    Ok(OpenProxy { proxy, memory, address })
}
