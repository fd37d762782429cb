//! The port of a team's server: connections within limits, TLS, and the orderly end.
//!
//! - `socket`: how long a connection may take for the head of a request, between requests, and to take an answer
//! - `tls`: the certificate, which is read again when its files change
//!
//! Anybody can connect, so a connection has limits before a request is parsed: the number of connections, and the time and length
//! of a request's head. If all places are taken, the oldest connection without a request in work, or without a valid token, gives way.

mod socket;
mod tls;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
pub use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{HeaderMap, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::server::{Holding, LONGEST_HEAD, Peer};
use socket::{Activity, Socket};
use tls::Certificates;
pub use tls::{TlsError, TlsFiles};

/// Most header lines of a request.
const MOST_HEADERS: usize = 64;
/// Longest wait for the place of a connection that was ended.
const GIVING_WAY: Duration = Duration::from_millis(200);
/// Pause after a failure to accept, which usually is too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Where and how a server listens.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Addresses to listen on; port 0 is any free port.
    pub addresses: Vec<SocketAddr>,
    /// Certificate and key; `None`: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// True if only a reverse proxy can connect, which does TLS and appends the client's address to `X-Forwarded-For`.
    pub behind_proxy: bool,
    /// Most connections at once.
    pub most_connections: usize,
    /// Times.
    pub times: Times,
    /// Takes one line for each event that an operator should know of.
    pub log: fn(&str),
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            tls: None,
            behind_proxy: false,
            most_connections: 1024,
            times: Times::default(),
            log: |_| (),
        }
    }
}

/// Times that a server gives its connections.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// In which the head of a request must arrive, and TLS must be agreed on.
    pub head: Duration,
    /// Between two requests of a connection.
    pub idle: Duration,
    /// In which a client must take some part of an answer.
    pub stall: Duration,
    /// In which a client may send the rest of a request that was refused, so that it reads why.
    pub linger: Duration,
    /// From the signal to stop, while `/ready` says so, to the moment when no connection is accepted any more.
    pub drain: Duration,
    /// From that moment until open requests are broken off.
    pub grace: Duration,
    /// Between two looks at the files of the certificate.
    pub reload: Duration,
}

impl Default for Times {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            head: seconds(20),
            idle: seconds(120),
            stall: seconds(30),
            linger: seconds(30),
            drain: Duration::ZERO,
            grace: seconds(20),
            reload: seconds(60),
        }
    }
}

/// A server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No address was given.
    #[error("no address to listen on: give one, such as 127.0.0.1:8443")]
    NoAddress,
    /// Tokens would cross the network in clear text.
    #[error(
        "refusing to listen on {0} without TLS: give a certificate and its key, or listen on a loopback address, or set \
         `behind_proxy` if only a reverse proxy that does TLS can connect"
    )]
    Plain(SocketAddr),
    /// The operating system refused an address.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The certificate or the key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Listens and serves until `stop`.
///
/// # Errors
/// Fails if it cannot start; see [`Listening::open`].
pub async fn serve(serving: Serving, router: Router, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
    Listening::open(serving).await?.serve(router, stop).await;
    Ok(())
}

/// Open ports whose connections are not accepted yet.
pub struct Listening {
    serving: Serving,
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    certificates: Option<Arc<Certificates>>,
}

impl Listening {
    /// Reads the certificate and opens all addresses.
    ///
    /// # Errors
    /// Fails if an address is open to the network without TLS or a proxy that does it, is taken, or if the certificate does not fit.
    pub async fn open(serving: Serving) -> Result<Self, ServeError> {
        if serving.addresses.is_empty() {
            return Err(ServeError::NoAddress);
        }
        let is_exposed = |address: &&SocketAddr| !address.ip().to_canonical().is_loopback();
        if let Some(address) = serving.addresses.iter().find(is_exposed)
            && serving.tls.is_none()
            && !serving.behind_proxy
        {
            return Err(ServeError::Plain(*address));
        }
        let certificates = serving.tls.clone().map(Certificates::load).transpose()?.map(Arc::new);
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for &address in &serving.addresses {
            let failed = |source| ServeError::Bind { address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            addresses.push(listener.local_addr().map_err(failed)?);
            listeners.push(listener);
        }
        Ok(Self { serving, listeners, addresses, certificates })
    }

    /// Returns the addresses, with the ports that the operating system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves until `stop`; then open requests may end, and everything is closed.
    pub async fn serve(self, router: Router, stop: impl Future<Output = ()>) {
        let Self { serving, listeners, addresses: _, certificates } = self;
        let (Times { drain, grace, reload, .. }, log) = (serving.times, serving.log);
        // A semaphore counts no more.
        let most = serving.most_connections.clamp(1, u32::MAX as usize >> 4);
        let shared = Arc::new(Shared {
            places: Arc::new(Semaphore::new(most)),
            open: Mutex::default(),
            is_stopping: Arc::default(),
            router,
            certificates,
            serving,
        });
        let (phase, _) = watch::channel(Phase::Open);
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn(accept(listener, Arc::clone(&shared), phase.subscribe()));
        }
        if let Some(certificates) = shared.certificates.clone() {
            tasks.spawn(tls::watch(certificates, reload, log));
        }
        stop.await;
        shared.is_stopping.store(true, Ordering::Relaxed);
        sleep(drain).await;
        tasks.shutdown().await;
        phase.send_replace(Phase::Ending);
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        if timeout(grace, shared.places.acquire_many(all)).await.is_err() {
            log(&format!("{} connections did not end in time and were broken off", most - shared.places.available_permits()));
            phase.send_replace(Phase::Ended);
            // They end as soon as they are scheduled.
            let _ = timeout(GIVING_WAY, shared.places.acquire_many(all)).await;
        }
    }
}

/// What connections may do; connections also end if it cannot be known any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Everything.
    Open,
    /// End the request in work.
    Ending,
    /// Nothing.
    Ended,
}

/// Waits for a phase.
async fn reached(mut phase: watch::Receiver<Phase>, at_least: Phase) {
    let _ = phase.wait_for(|phase| *phase >= at_least).await;
}

/// Everything that connections share.
struct Shared {
    serving: Serving,
    router: Router,
    certificates: Option<Arc<Certificates>>,
    places: Arc<Semaphore>,
    /// Open connections, the oldest first.
    open: Mutex<BTreeMap<u64, Arc<Activity>>>,
    is_stopping: Arc<AtomicBool>,
}

impl Shared {
    /// Returns a place for a connection. If there is none, the oldest connection that may give way is ended.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let oldest = open.iter().find(|(_, activity)| activity.may_give_way()).map(|(number, _)| *number);
            if let Some(activity) = oldest.and_then(|number| open.remove(&number)) {
                activity.end();
            }
        }
        timeout(GIVING_WAY, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }
}

/// Takes a connection's place and its entry among the open ones, until it is dropped.
struct Place {
    number: u64,
    shared: Arc<Shared>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Accepts connections until it is aborted.
async fn accept(listener: TcpListener, shared: Arc<Shared>, phase: watch::Receiver<Phase>) {
    let mut is_failing = false;
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_failing {
                    (shared.serving.log)(&format!("cannot accept connections: {error}"));
                }
                is_failing = true;
                sleep(PAUSE).await;
                continue;
            }
        };
        is_failing = false;
        let Some(permit) = shared.place().await else {
            refuse(&stream, shared.certificates.is_some());
            continue;
        };
        let activity = Arc::<Activity>::default();
        let number = activity.number();
        shared.open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::clone(&activity));
        let place = Place { number, shared: Arc::clone(&shared), _permit: permit };
        tokio::spawn(connection(stream, address.ip(), place, activity, phase.clone()));
    }
}

/// Replies that there is no room, if that can be written at once and in plain text.
fn refuse(stream: &TcpStream, is_tls: bool) {
    if !is_tls {
        let head = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.try_write(head.as_bytes());
    }
}

/// Serves one connection until it ends, is to give way, or the server has ended.
async fn connection(stream: TcpStream, peer: IpAddr, place: Place, activity: Arc<Activity>, phase: watch::Receiver<Phase>) {
    // Without it, small answers may wait, no more.
    let _ = stream.set_nodelay(true);
    let shared = &place.shared;
    let ended = reached(phase.clone(), Phase::Ended);
    let talk = async {
        match &shared.certificates {
            None => talk(stream, peer, shared, &activity, phase).await,
            Some(certificates) => {
                let acceptor = TlsAcceptor::from(certificates.current());
                if let Ok(Ok(stream)) = timeout(shared.serving.times.head, acceptor.accept(stream)).await {
                    talk(stream, peer, shared, &activity, phase).await;
                }
            }
        }
    };
    tokio::select! {
        () = activity.ended() => {}
        () = ended => {}
        () = talk => {}
    }
}

/// Answers the requests of a connection, whose faults concern nobody else.
async fn talk<I>(stream: I, peer: IpAddr, shared: &Shared, activity: &Arc<Activity>, phase: watch::Receiver<Phase>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send,
{
    let Serving { behind_proxy, times, .. } = shared.serving;
    let inner = TowerToHyperService::new(shared.router.clone());
    let service = service_fn(|request: Request<Incoming>| {
        let mark = Activity::begin(activity);
        let forwarded = behind_proxy.then(|| forwarded_for(request.headers())).flatten();
        let mut request = request.map(Body::new);
        let (is_known, is_stopping) = (activity.is_known(), Arc::clone(&shared.is_stopping));
        request.extensions_mut().insert(Peer { address: forwarded.unwrap_or(peer), is_known, is_stopping });
        let answer = inner.call(request);
        async move {
            let answer = answer.await?;
            if answer.headers().get(CONNECTION).is_some_and(|value| value == "close") {
                mark.linger();
            }
            Ok::<_, std::convert::Infallible>(answer.map(|body| Body::new(Holding::new(body, mark))))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // The socket watches over it: hyper's closes idle connections as well.
        .header_read_timeout(None)
        .max_header_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(Socket::new(stream, Arc::clone(activity), times)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = reached(phase, Phase::Ending) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Returns the address that the nearest proxy appended.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let last = last.rsplit(',').next()?.trim();
    last.parse().or_else(|_| last.parse().map(|address: SocketAddr| address.ip())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_forwarded_address_counts() {
        let address = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("x-forwarded-for", value.parse().unwrap());
            }
            forwarded_for(&headers).map(|address| address.to_string())
        };
        assert_eq!(address(&["1.1.1.1, 2.2.2.2", "3.3.3.3, 2001:db8::1"]).as_deref(), Some("2001:db8::1"));
        assert_eq!(address(&["1.1.1.1,2.2.2.2:80"]).as_deref(), Some("2.2.2.2"));
        assert_eq!(address(&["1.1.1.1, unknown"]), None);
        assert_eq!(address(&[]), None);
    }
}
