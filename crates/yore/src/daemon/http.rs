//! The daemon's port: MCP over HTTP, for agents that want an address in place of a command.
//!
//! - [`Door`]: a port of this computer's own address, and the loop that takes connections from it
//! - [`token`], [`known_token`], [`drop_open_token`]: what must be said there, in an owner-only file
//!   that stays
//! - [`open`], [`run`]: the daemon's thread
//! - [`Bell`]: how it is told to end
//!
//! Anybody on this computer can connect, so that a connection is held to limits before a word of
//! it is understood: there are so many, each sends a request's head within so long and of such a
//! length. What is said is looked at in `mcp/http.rs`.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use yore_engine::ingest::names_of;
use yore_engine::platform;

use super::log::Log;
use super::shared::Shared;
use crate::config::Config;
use crate::engine_handle::EngineHandle;
use crate::mcp::http::{IsKnown, Mcp, PATH};
use crate::mcp::{Server, Toolset, chat_reader};

/// The token's file in the data directory.
pub const TOKEN: &str = "mcp-token";
/// A token is as long as that, in hexadecimal digits.
const TOKEN_LENGTH: usize = 64;
/// Connections at once. When all are taken the oldest that has not said the token yet gives its place to the next.
const MOST_CONNECTIONS: usize = 128;
/// How long the place of a connection that was ended is waited for.
const GIVING_WAY: Duration = Duration::from_millis(100);
/// The head of a request arrives within this time, and a connection without one is closed.
const HEAD: Duration = Duration::from_secs(20);
/// The head of a request is shorter, and so is what is read ahead.
const LONGEST_HEAD: usize = 32 << 10;
/// And it has at most so many lines.
const MOST_HEADERS: usize = 64;
/// How long what is being said may keep everything from ending.
const PATIENCE: Duration = Duration::from_secs(2);
/// Calls that ask the memory at once; the rest wait.
const MOST_THREADS: usize = 8;
/// Ports that are tried first where none is configured: below those that systems give away.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// A port of this computer's own address, listened to.
pub struct Door {
    inner: TcpListener,
    port: u16,
}

impl Door {
    /// Opens a port; 0 means any that is free.
    pub fn open(port: u16) -> io::Result<Self> {
        let inner = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        inner.set_nonblocking(true)?;
        let port = inner.local_addr()?.port();
        Ok(Self { inner, port })
    }

    /// Its number.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where MCP is served on it.
    pub fn url(&self) -> String {
        format!("http://{}:{}{PATH}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Serves until `ended`, in a runtime of this thread's own.
    pub fn serve(self, mcp: &Mcp, ended: impl Future<Output = ()>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MOST_THREADS)
            .thread_name("mcp")
            .build()?;
        let outcome = runtime.block_on(async {
            let mut connections = JoinSet::new();
            let outcome = self.take(mcp.router.clone(), &mut connections, ended).await;
            mcp.end();
            // Streams end by themselves now, and who only waits is sent home.
            let _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
            outcome
        });
        runtime.shutdown_timeout(PATIENCE);
        outcome
    }

    async fn take(self, router: Router, connections: &mut JoinSet<()>, ended: impl Future<Output = ()>) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.inner)?;
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut ended = pin!(ended);
        let (_open, ending) = watch::channel(());
        let mut callers: Vec<(AbortHandle, IsKnown)> = Vec::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut ended => return Ok(()),
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Too many open files, mostly: it passes.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            callers.retain(|(connection, _)| !connection.is_finished());
            if places.available_permits() == 0 {
                // Anybody on this computer can connect: who holds places without a word keeps nobody out.
                let stranger = callers.iter().position(|(_, is_known)| !is_known.load(Ordering::Relaxed));
                if let Some(at) = stranger {
                    callers.remove(at).0.abort();
                }
            }
            let Ok(Ok(place)) = tokio::time::timeout(GIVING_WAY, Arc::clone(&places).acquire_owned()).await else {
                send_away(stream);
                continue;
            };
            let is_known = IsKnown::default();
            let router = router.clone().layer(axum::Extension(Arc::clone(&is_known)));
            let ending = ending.clone();
            let connection = connections.spawn(async move {
                let _place = place;
                talk(stream, router, ending).await;
            });
            callers.push((connection, is_known));
        }
    }
}

/// Answers one connection until it is silent, says nonsense, or everything is `ending`.
async fn talk(stream: TcpStream, router: Router, mut ending: watch::Receiver<()>) {
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // What went wrong there is for the other side to know.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Says that there is no room, as far as that can be said at once.
fn send_away(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let words = "yore has too many connections\n";
        let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: text/plain";
        let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{words}", words.len());
    }
}

/// Told by being dropped.
pub struct Bell {
    _string: oneshot::Sender<()>,
}

/// What waits for a [`Bell`].
pub struct Ring(oneshot::Receiver<()>);

/// A bell, and whoever hears it.
pub fn bell() -> (Bell, Ring) {
    let (sender, receiver) = oneshot::channel();
    (Bell { _string: sender }, Ring(receiver))
}

impl Ring {
    /// Waits until the bell is gone.
    pub async fn heard(self) {
        let _ = self.0.await;
    }
}

/// The port as configured, and what must be said there; `None` where it is switched off or cannot
/// be had: everything else works without it.
pub fn open(directory: &Path, config: &Config, log: &Log) -> Option<(Door, String)> {
    if !config.mcp.http {
        return None;
    }
    let port = config.mcp.http_port;
    let token = token(directory).inspect_err(|error| log.error(format!("{TOKEN}: {error}"))).ok()?;
    let door = match port {
        0 => Door::open(usual_port(directory)).or_else(|_| Door::open(0)),
        port => Door::open(port),
    };
    let door = door.inspect_err(|error| log.error(format!("port {port}: {error}"))).ok()?;
    log.info(format!("MCP at {}", door.url()));
    Some((door, token))
}

/// Serves the daemon's memory on its port until the bell rings.
pub fn run(shared: &Shared<'_>, door: Door, token: String, ring: Ring) {
    let settings = shared.settings;
    let handle =
        EngineHandle::new(settings.directory.clone(), shared.config.clone(), settings.model_folder(), settings.may_be_full())
            .within(Arc::clone(&shared.engine), Arc::clone(&shared.uses));
    let toolset = match Toolset::configured(&shared.config) {
        Ok(toolset) => toolset,
        Err(error) => return shared.failed("MCP", &error),
    };
    let reader = chat_reader(settings);
    let mcp = Mcp::new(door.port(), Some(token), move |here| {
        let here = here.and_then(Path::to_str).map(names_of);
        Ok(Server::new(handle.clone(), here, &toolset)?.reading_with(Arc::clone(&reader)))
    });
    if let Err(error) = door.serve(&mcp, ring.heard()) {
        shared.log.error(format!("MCP: {error}"));
    }
}

/// The same port for the same data directory, if it is free, so that what an agent was told stays
/// true.
fn usual_port(directory: &Path) -> u16 {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    // FNV-1a: the same in every version.
    let hash = directory
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    PORTS.start + (hash % u32::from(PORTS.end - PORTS.start)) as u16
}

/// What must be said at the port: made once, so that what an agent was told stays true. One that
/// others could read is replaced.
pub fn token(directory: &Path) -> io::Result<String> {
    if let Some(token) = known_token(directory) {
        return Ok(token);
    }
    let token = platform::random_token()?;
    let draft = directory.join(format!("{TOKEN}.{}.tmp", std::process::id()));
    let _ = std::fs::remove_file(&draft);
    platform::write_new_private_file(&draft, token.as_bytes())?;
    std::fs::rename(&draft, token_path(directory))?;
    Ok(token)
}

/// The token, if there is one and only its owner can know it.
pub fn known_token(directory: &Path) -> Option<String> {
    let path = token_path(directory);
    let mut token = String::new();
    File::open(&path).ok()?.take(TOKEN_LENGTH as u64 + 1).read_to_string(&mut token).ok()?;
    let is_token = token.len() == TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_token && !platform::is_open_to_others(&path).ok()?).then_some(token)
}

/// Takes a token away that others could read: mended permissions would not make it a secret again. Says
/// whether there was one.
pub fn drop_open_token(directory: &Path) -> io::Result<bool> {
    let path = token_path(directory);
    match platform::is_open_to_others(&path) {
        Ok(true) => std::fs::remove_file(&path).map(|()| true),
        Ok(false) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn token_path(directory: &Path) -> PathBuf {
    directory.join(TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_again_when_it_may_be_known() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(known_token(directory.path()), None);
        let first = token(directory.path()).unwrap();
        assert_eq!(first.len(), TOKEN_LENGTH);
        assert_eq!(token(directory.path()).unwrap(), first);
        let path = token_path(directory.path());
        assert!(!platform::is_open_to_others(&path).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
            let second = token(directory.path()).unwrap();
            assert_ne!(second, first);
            assert!(!platform::is_open_to_others(&path).unwrap());
            assert!(!drop_open_token(directory.path()).unwrap() && path.exists());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            assert!(drop_open_token(directory.path()).unwrap() && !path.exists());
            assert!(!drop_open_token(directory.path()).unwrap());
        }
        std::fs::write(&path, "short").unwrap();
        assert_eq!(token(directory.path()).unwrap().len(), TOKEN_LENGTH);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_data_directory_keeps_its_port() {
        let (one, other) = (Path::new("/nowhere/one"), Path::new("/nowhere/other"));
        assert_eq!(usual_port(one), usual_port(one));
        assert_ne!(usual_port(one), usual_port(other));
        assert!(PORTS.contains(&usual_port(one)));
    }

    #[test]
    fn a_door_is_of_this_computer_only() {
        let door = Door::open(0).unwrap();
        assert_eq!(door.url(), format!("http://127.0.0.1:{}/mcp", door.port()));
        assert!(door.inner.local_addr().unwrap().ip().is_loopback());
        assert!(Door::open(door.port()).is_err(), "a port is one program's");
    }
}
