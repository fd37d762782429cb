//! Serves clients: accepts their connections on loopback, within limits, until the proxy is dropped.

use std::{
    fmt, io,
    net::TcpListener,
    sync::{Arc, PoisonError, RwLock, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{sleep, timeout},
};

use crate::{
    Memory, Settings, SettingsError, Snapshot,
    client_io::{Activity, ClientIo, Patience},
    connect::Clients,
    counts::{Counts, Open},
    forward::{self, Active, Shared},
    kept::Budget,
    observer::{Ended, Observer},
    tunnel::Connection,
};

const WORKERS: usize = 2;
/// Most connections of clients at one time; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1024;
/// Most requests that are read and asked about at one time.
const MOST_ASKED: usize = 8;
/// Threads that may block: those, and as many for looking up names.
const MOST_BLOCKING: usize = MOST_ASKED + 8;
/// Time that streams get to end when the proxy stops.
const GRACE: Duration = Duration::from_secs(2);

/// A proxy that is running. Dropping it stops it: streams that are passing get 2 s to end, and the drop waits for them.
pub struct Proxy {
    shared: Option<Arc<Shared>>,
    counts: Arc<Counts>,
    observer_ended: Ended,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

/// Starts a proxy on `listener`, which must listen on loopback. It runs on threads of its own.
///
/// # Errors
/// Settings that [`Settings::check`] refuses (of kind [`InvalidInput`](io::ErrorKind::InvalidInput)), and failures of the operating
/// system.
pub fn serve(listener: TcpListener, settings: Settings, memory: Arc<dyn Memory>) -> io::Result<Proxy> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    settings.check().map_err(invalid)?;
    let clients = Clients::new(&settings).map_err(invalid)?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{address} is not an address of loopback")));
    }
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(MOST_BLOCKING)
        .thread_name("proxy")
        .enable_all()
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let counts = Arc::<Counts>::default();
    let (observer, observer_ended) = Observer::start(memory.clone(), counts.clone())?;
    let shared = Arc::new(Shared {
        active: RwLock::new(Arc::new(Active { settings, clients })),
        port: address.port(),
        memory,
        permits: Arc::new(Semaphore::new(MOST_ASKED)),
        budget: Budget::default(),
        counts: counts.clone(),
        observer,
    });
    let (stop, stopped) = watch::channel(false);
    runtime.spawn(accept(listener, shared.clone(), stopped));
    Ok(Proxy { shared: Some(shared), counts, observer_ended, stop, runtime: Some(runtime) })
}

impl Proxy {
    /// Returns the counts since the start.
    pub fn counts(&self) -> Snapshot {
        self.counts.snapshot()
    }

    /// Takes new settings for the requests that arrive from now on.
    ///
    /// # Errors
    /// Settings that [`Settings::check`] refuses; the old ones stay.
    pub fn reload(&self, settings: Settings) -> Result<(), SettingsError> {
        settings.check()?;
        let Some(shared) = &self.shared else { return Ok(()) };
        let old = shared.active();
        let is_same = old.settings.via == settings.via && old.settings.authorities == settings.authorities;
        // The clients hold the open connections.
        let clients = if is_same { old.clients.clone() } else { Clients::new(&settings)? };
        *shared.active.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Active { settings, clients });
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Fails only if nobody listens any more.
        let _ = self.stop.send(true);
        let end = Instant::now() + GRACE;
        let is_open = || self.counts.open_connections.load(Relaxed) + self.counts.open_streams.load(Relaxed) > 0;
        while is_open() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        self.shared = None;
        // A memory that never returns is left behind.
        self.observer_ended.wait(GRACE);
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

async fn accept(listener: tokio::net::TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let limit = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(permit) = limit.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(serve_client(stream, permit, shared.clone(), stopped.clone()));
            }
            // Out of file handles, most likely: some will come free.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve_client(stream: TcpStream, permit: OwnedSemaphorePermit, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let open = Open::new(shared.counts.clone(), |counts| &counts.open_connections);
    let mark = Arc::new(Connection { _permit: permit, _open: open });
    // Without it small frames may wait, no more.
    let _ = stream.set_nodelay(true);
    let activity = Activity::default();
    let io = TokioIo::new(ClientIo::new(stream, activity.clone(), Patience::DEFAULT));
    let service = service_fn(|request| forward::answer(shared.clone(), mark.clone(), activity.begin(), request));
    let builder = http();
    let connection = builder.serve_connection_with_upgrades(io, service);
    tokio::pin!(connection);
    // A client's mistake ends its connection, and concerns nobody else.
    tokio::select! {
        _ = connection.as_mut() => {}
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(GRACE, connection).await;
        }
    }
}

fn http() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // The socket watches over it: hyper's would close idle connections too.
        .header_read_timeout(None)
        .preserve_header_case(true)
        .auto_date_header(false);
    builder.http2().timer(TokioTimer::new()).auto_date_header(false).adaptive_window(true);
    builder
}
