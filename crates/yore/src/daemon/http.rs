//! The daemon's HTTP port: opens it, and serves MCP and other routers behind guard and token.

use std::path::Path;
use std::sync::Arc;

use yore_sources::project_names::names_of;

use super::log::Log;
use super::shared::Shared;
use crate::config::Config;
use crate::engine_handle::EngineHandle;
use crate::http::guard::Guard;
use crate::http::listener::{Listener, ShutdownSignal};
use crate::http::token::{TOKEN, token};
use crate::mcp::http::{Mcp, PATH};
use crate::mcp::{Server, Toolset, chat_reader};

/// Ports tried first if none is configured: below those that operating systems assign.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// Opens the configured port and returns it with its access token; `None` if HTTP is off or the port is not
/// available. Everything else works without it.
pub fn open(directory: &Path, config: &Config, log: &Log) -> Option<(Listener, String)> {
    if !config.mcp.http {
        return None;
    }
    let port = config.mcp.http_port;
    let token = token(directory).inspect_err(|error| log.error(format!("{TOKEN}: {error}"))).ok()?;
    let listener = match port {
        0 => Listener::open(usual_port(directory)).or_else(|_| Listener::open(0)),
        port => Listener::open(port),
    };
    let listener = listener.inspect_err(|error| log.error(format!("port {port}: {error}"))).ok()?;
    log.info(format!("MCP at {}", listener.url(PATH)));
    Some((listener, token))
}

/// Serves the daemon's memory on its port until `shutdown`.
pub fn run(shared: &Shared<'_>, listener: Listener, token: String, shutdown: ShutdownSignal) {
    let settings = shared.settings;
    let handle = EngineHandle::new(settings.directory.clone(), shared.config.clone(), settings.models(), settings.may_be_full())
        .within(Arc::clone(&shared.engine), Arc::clone(&shared.uses));
    let toolset = match Toolset::configured(&shared.config) {
        Ok(toolset) => toolset,
        Err(error) => return shared.failed("MCP", &error),
    };
    let reader = chat_reader(settings);
    let mcp = Mcp::new(listener.port(), move |here| {
        let here = here.and_then(Path::to_str).map(names_of);
        Ok(Server::new(handle.clone(), here, &toolset)?.reading_with(Arc::clone(&reader)))
    });
    let router = Guard::new(listener.port(), Some(token)).protect(mcp.router.clone());
    if let Err(error) = listener.serve(router, shutdown, || mcp.end()) {
        shared.log.error(format!("MCP: {error}"));
    }
}

/// Returns the port that this data directory always tries first, so that an address written into an agent's
/// settings stays valid.
fn usual_port(directory: &Path) -> u16 {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    // FNV-1a: gives the same hash in every version.
    let hash = directory
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    PORTS.start + (hash % u32::from(PORTS.end - PORTS.start)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_keeps_its_port() {
        let (one, other) = (Path::new("/nowhere/one"), Path::new("/nowhere/other"));
        assert_eq!(usual_port(one), usual_port(one));
        assert_ne!(usual_port(one), usual_port(other));
        assert!(PORTS.contains(&usual_port(one)));
    }
}
