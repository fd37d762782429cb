//! Listens on a loopback port, and limits connections before a request is parsed.
//!
//! Any program on this computer can connect, so a connection has limits before a request is parsed: the
//! number of connections, and the time and length of a request's head. [`super::guard`] checks the requests.

use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::guard::{IsAuthorized, LONGEST_HEAD};

/// Ports tried first if none is configured: below those that operating systems assign.
const PORTS: std::ops::Range<u16> = 20_000..30_000;
/// Most connections at once.
const MOST_CONNECTIONS: usize = 128;
/// Most of these that have not sent a valid token. The oldest gives way to the next.
const MOST_STRANGERS: usize = 64;
/// Time that a connection has to send its token before it gives way. Connections that are opened again and again
/// wait for it, and cannot push a client out that is about to send one.
const GRACE: Duration = Duration::from_millis(100);
/// Time after which a connection without a valid token is closed.
const STRANGER: Duration = Duration::from_secs(5);
/// Longest wait for the place of a connection that was ended.
const GIVING_WAY: Duration = Duration::from_millis(100);
/// Time in which the head of a request must arrive; a connection without one is closed.
const HEAD: Duration = Duration::from_secs(20);
/// Most header lines of a request.
const MOST_HEADERS: usize = 64;
/// Longest time that running responses may delay the end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most blocking calls at once; the rest wait.
const MOST_THREADS: usize = 8;

/// A listening port on the loopback address.
pub struct Listener {
    inner: TcpListener,
    port: u16,
}

impl Listener {
    /// Opens a port; 0 means any free port.
    pub fn open(port: u16) -> io::Result<Self> {
        let inner = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        inner.set_nonblocking(true)?;
        let port = inner.local_addr()?.port();
        Ok(Self { inner, port })
    }

    /// Opens the configured port of a data directory; for 0 the one that the directory always tries first, or any. `number` tells its
    /// ports apart.
    pub fn open_of(directory: &Path, port: u16, number: u32) -> io::Result<Self> {
        if port > 0 { Self::open(port) } else { Self::open(usual_port(directory, number)).or_else(|_| Self::open(0)) }
    }

    /// Returns the port's number.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of a path on this port.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{}{path}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Gives the socket to another server.
    pub fn into_socket(self) -> TcpListener {
        self.inner
    }

    /// Serves until `shutdown`, in a runtime on this thread; `end` then ends open streams.
    pub fn serve(self, router: Router, shutdown: ShutdownSignal, end: impl FnOnce()) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MOST_THREADS)
            .thread_name("http")
            .build()?;
        let outcome = runtime.block_on(async {
            let mut connections = JoinSet::new();
            let outcome = self.accept(router, &mut connections, shutdown.received()).await;
            end();
            // Streams end by themselves now; idle connections are closed after the timeout.
            let _ = tokio::time::timeout(PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
            outcome
        });
        runtime.shutdown_timeout(PATIENCE);
        outcome
    }

    async fn accept(self, router: Router, connections: &mut JoinSet<()>, ended: impl Future<Output = ()>) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.inner)?;
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut ended = pin!(ended);
        let (_open, ending) = watch::channel(());
        let mut connected: Vec<Connected> = Vec::new();
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut ended => return Ok(()),
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Usually too many open files, which passes.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            // Any program on this computer can connect: one that holds places without a token must not keep
            // others out.
            while let Some(at) = stranger_in_the_way(&mut connected, places.available_permits() == 0) {
                let grace = GRACE.saturating_sub(connected[at].since.elapsed());
                if grace.is_zero() {
                    connected.remove(at).task.abort();
                    break;
                }
                tokio::select! {
                    biased;
                    () = &mut ended => return Ok(()),
                    () = tokio::time::sleep(grace) => {}
                }
            }
            let Ok(Ok(place)) = tokio::time::timeout(GIVING_WAY, Arc::clone(&places).acquire_owned()).await else {
                refuse(stream);
                continue;
            };
            let is_authorized = IsAuthorized::default();
            let router = router.clone().layer(axum::Extension(Arc::clone(&is_authorized)));
            let (ending, known) = (ending.clone(), Arc::clone(&is_authorized));
            let task = connections.spawn(async move {
                let _place = place;
                serve_connection(stream, router, ending, &known).await;
            });
            connected.push(Connected { task, is_authorized, since: Instant::now() });
        }
    }
}

/// An open connection.
struct Connected {
    task: AbortHandle,
    is_authorized: IsAuthorized,
    since: Instant,
}

/// Returns the oldest connection without a token if another one has no place beside it, because all places or those
/// of strangers are taken. Connections that have ended are removed.
fn stranger_in_the_way(connected: &mut Vec<Connected>, is_full: bool) -> Option<usize> {
    connected.retain(|connection| !connection.task.is_finished());
    let mut strangers = connected
        .iter()
        .enumerate()
        .filter(|(_, connection)| !connection.is_authorized.load(Ordering::Relaxed))
        .map(|(at, _)| at);
    let oldest = strangers.next();
    oldest.filter(|_| is_full || 1 + strangers.count() >= MOST_STRANGERS)
}

/// Answers one connection until it is silent, sends something invalid, has sent no token for too long, or `ending`
/// fires.
async fn serve_connection(stream: TcpStream, router: Router, mut ending: watch::Receiver<()>, is_authorized: &AtomicBool) {
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // An error here concerns the client only.
    let sent_no_token = async {
        tokio::time::sleep(STRANGER).await;
        if is_authorized.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = connection.as_mut() => return,
        () = sent_no_token => return,
        _ = ending.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Replies that there is no room, if that can be written at once.
fn refuse(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let words = "yore has too many connections\n";
        let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: text/plain";
        let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{words}", words.len());
    }
}

/// Keeps a [`Listener`] serving; dropping it shuts the listener down.
pub struct Shutdown {
    _sender: oneshot::Sender<()>,
}

/// Waits for a [`Shutdown`] to be dropped.
pub struct ShutdownSignal(oneshot::Receiver<()>);

/// Makes a shutdown and the signal for the listener.
pub fn shutdown() -> (Shutdown, ShutdownSignal) {
    let (sender, receiver) = oneshot::channel();
    (Shutdown { _sender: sender }, ShutdownSignal(receiver))
}

impl ShutdownSignal {
    async fn received(self) {
        let _ = self.0.await;
    }
}

/// Returns the port that a data directory always tries first, so that an address written into an agent's settings stays valid.
/// `number` tells its ports apart.
fn usual_port(directory: &Path, number: u32) -> u16 {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    // FNV-1a: gives the same hash in every version.
    let hash = directory
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    PORTS.start + (hash.wrapping_add(number) % u32::from(PORTS.end - PORTS.start)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_of_this_computer_only() {
        let listener = Listener::open(0).unwrap();
        assert_eq!(listener.url("/mcp"), format!("http://127.0.0.1:{}/mcp", listener.port()));
        assert!(listener.inner.local_addr().unwrap().ip().is_loopback());
        assert!(Listener::open(listener.port()).is_err(), "a port is one program's");
    }

    #[test]
    fn a_data_directory_keeps_its_port() {
        let (one, other) = (Path::new("/nowhere/one"), Path::new("/nowhere/other"));
        assert_eq!(usual_port(one, 0), usual_port(one, 0));
        assert_ne!(usual_port(one, 0), usual_port(other, 0));
        assert!(PORTS.contains(&usual_port(one, 0)));
        assert_ne!(usual_port(one, 0), usual_port(one, 1), "each port of a directory has its own");
    }
}
