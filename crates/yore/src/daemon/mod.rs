//! The daemon: starts its threads, holds the lock of the data directory, and ends on a signal. It reads what agents write while
//! they write it, and answers every other `yore` process over [`crate::ipc`]. Without a daemon those processes do the work
//! themselves.
//!
//! - [`run`]: the daemon, one for each data directory
//! - `server`: a thread for each client
//! - `watch`: notices changes, drains the hooks' spool, runs periodic tasks
//! - `worker`: takes due jobs from the queue and reads their files; `upkeep`: backups and checks
//! - `learn`: has a language model read sessions that are quiet, with the person's consent
//! - `team`: synchronizes with the servers of teams
//! - `embedder`: has the local model's vectors made in a child process
//! - `http`: a port for the page, the API and MCP; `proxy`: the one before language models
//! - `shared`: state that these threads share
//! - [`log`]: a log of what it did, without any text it read
//!
//! It may be killed at any time: rows and checkpoints are committed together, the queue is in the database,
//! and the full scan at the start finds again whatever was only in memory.

mod embedder;
mod http;
mod learn;
pub mod log;
mod process;
mod proxy;
mod server;
mod shared;
mod team;
mod upkeep;
mod watch;
mod worker;

use std::time::Duration;

use crate::engine_handle::now;
use crate::error::{CliError, CliResult, Exit};
use crate::http::listener::Listener;
use crate::ipc::card::{self, Card};
use crate::ipc::{socket, wire};
use crate::mcp;
use crate::settings::Settings;

use self::log::Log;
use self::shared::Shared;
#[cfg(test)]
pub use self::{
    watch::HEARTBEAT,
    worker::{LOOK, PAUSES},
};

/// Number of attempts to open a database that another process keeps locked.
const OPEN_TRIES: u32 = 30;

/// Runs until it is asked to stop.
///
/// # Errors
/// When another daemon runs here, or the memory cannot be opened.
pub fn run(settings: &Settings) -> CliResult<()> {
    let directory = &settings.directory;
    if !directory.is_dir() {
        return Err(yore_engine::EngineError::from(yore_engine::StoreError::Missing(directory.clone())).into());
    }
    let io = |error: std::io::Error| CliError::io(directory, &error);
    let Some(lock) = card::take_lock(directory).map_err(io)? else {
        let who = Card::read(directory).map(|card| format!(" (process {})", card.pid)).unwrap_or_default();
        return Err(CliError {
            exit: Exit::Busy,
            code: "daemon/running".to_owned(),
            message: format!("a daemon is already running{who}"),
            hint: Some("`yore status` shows it, `yore daemon stop` stops it".to_owned()),
        });
    };
    let log = Log::open(directory);
    let engine = open(settings, &log).inspect_err(|error| log.error(format!("{} [{}]", error.message, error.code)))?;
    let config = settings.own_config()?;
    let (listener, address) = socket::listen(directory).map_err(io)?;
    let port = if config.http.enabled { http::open(directory, &config, &log).ok() } else { None };
    let proxy_port = config.proxy.enabled.then(|| Listener::open_of(directory, config.proxy.port, 1));
    let proxy_port = proxy_port.and_then(|port| port.inspect_err(|error| log.error(format!("proxy: {error}"))).ok());
    let mut card = Card {
        pid: std::process::id(),
        socket: address.place,
        token: address.token,
        url: port.as_ref().map(|port| port.url(mcp::http::PATH)),
        proxy: proxy_port.as_ref().map(|port| port.url("")),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: wire::PROTOCOL,
        started: now(),
        directory: None,
    };
    card.write(directory).map_err(io)?;
    let (shared, notices) = Shared::new(settings, config, engine, log, card);
    shared.log.info(format!("started, version {} process {}", shared.card.version, shared.card.pid));
    #[cfg(unix)]
    let signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT]).map_err(io)?;
    #[cfg(unix)]
    let no_more_signals = signals.handle();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (end_learning, learning_ended) = std::sync::mpsc::channel::<()>();
    let (end_team, team_ended) = std::sync::mpsc::channel::<()>();
    let shared = &shared;
    std::thread::scope(|scope| {
        #[cfg(unix)]
        scope.spawn(|| end_on_signal(signals, shared));
        scope.spawn(|| worker::run(shared));
        scope.spawn(|| embedder::run(shared));
        scope.spawn(move || upkeep::run(shared, &ended));
        scope.spawn(move || learn::run(shared, &learning_ended));
        scope.spawn(move || team::run(shared, &team_ended));
        if let Some(port) = port {
            http::serve(shared, port, scope);
        }
        if let Some(port) = proxy_port {
            proxy::serve(shared, port);
        }
        // After the ports have made their tokens, which a client may read as soon as the daemon answers.
        scope.spawn(|| server::run(shared, &listener, scope));
        watch::run(shared, &notices);
        proxy::close(shared);
        drop((end, end_learning, end_team));
        // A connection wakes the thread that waits for a client.
        drop(socket::connect(&shared.card.address()));
        http::close(shared);
        #[cfg(unix)]
        no_more_signals.close();
    });
    shared.log.info("ended");
    shared.card.remove(directory);
    drop(listener);
    drop(lock);
    Ok(())
}

/// Ends the daemon on a signal from the system or a terminal, after the current work is finished. A second
/// signal ends it at once.
#[cfg(unix)]
fn end_on_signal(mut signals: signal_hook::iterator::Signals, shared: &Shared<'_>) {
    for signal in signals.forever() {
        if shared.is_stopping() {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        shared.log.info(format!("stopping on signal {signal}"));
        shared.stop();
    }
}

/// Opens the memory; tries again while another process keeps it locked.
fn open(settings: &Settings, log: &Log) -> CliResult<yore_engine::Engine> {
    let mut tries = 0;
    loop {
        match settings.engine(true) {
            Err(error) if error.exit == Exit::Busy && tries < OPEN_TRIES => {
                log.error(format!("{} [{}]", error.message, error.code));
                tries += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            outcome => return outcome,
        }
    }
}
