//! The socket server: accepts clients, and answers each in a thread of its own.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Scope;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use yore_engine::Lane;

use super::shared::{Shared, lock};
use crate::api::events::Event;
use crate::error::{CliError, CliResult};
use crate::ipc::socket::{Listener, Stream};
use crate::ipc::wire::{Fault, Hello, Ingested, LONGEST_REQUEST, Lines, PROTOCOL, Question, Reply, Request, reply_line};
use crate::proxy::open::OpenProxy;
use crate::results::DaemonStatus;
use crate::verbs::{Access, Verb};

/// Most clients served at once. Others are sent away and do their work themselves.
const MOST_CLIENTS: usize = 64;
/// Time after which a client that sends nothing is disconnected.
const SILENCE: Duration = Duration::from_secs(20);
/// Time in which a client must take its answer.
const SLOWNESS: Duration = Duration::from_secs(10);
/// Interval at which a waiting client gets a sign that work goes on.
const STILL_WORKING: Duration = Duration::from_secs(2);
/// Most failed jobs that the status lists.
const LISTED: usize = 50;

/// Accepts clients until the daemon ends; each has a thread in `scope`.
pub fn run<'scope, 'env>(shared: &'env Shared<'env>, listener: &Listener, scope: &'scope Scope<'scope, 'env>) {
    let mut failures = 0;
    while !shared.is_stopping() {
        let stream = match listener.accept() {
            Ok(stream) => stream,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                continue;
            }
            Err(error) => {
                // Usually too many open files, which passes.
                shared.log.error(format!("accept: {error}"));
                failures += 1;
                shared.sleep(Duration::from_millis(if failures < 10 { 100 } else { 2_000 }));
                continue;
            }
        };
        failures = 0;
        if shared.is_stopping() {
            break;
        }
        if shared.clients.fetch_add(1, Ordering::SeqCst) >= MOST_CLIENTS {
            shared.clients.fetch_sub(1, Ordering::SeqCst);
            let fault = Fault::of_daemon("busy", "too many clients");
            let _ = Lines::new(stream).write_line(&refusal(fault), Duration::from_millis(100));
            continue;
        }
        let spawned = std::thread::Builder::new().name("client".to_owned()).spawn_scoped(scope, move || {
            serve(shared, stream, scope);
            shared.clients.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(error) = spawned {
            shared.clients.fetch_sub(1, Ordering::SeqCst);
            shared.log.error(format!("client: {error}"));
        }
    }
}

/// Answers one client until it is silent for too long or sends something invalid.
fn serve<'scope, 'env>(shared: &'env Shared<'env>, stream: Stream, scope: &'scope Scope<'scope, 'env>) {
    let mut lines = Lines::new(stream);
    // Short steps, so that a silent client does not delay the daemon's end.
    let mut silent = Duration::ZERO;
    let step = Duration::from_millis(500);
    while !shared.is_stopping() {
        let line = match lines.read(LONGEST_REQUEST, step) {
            Ok(Some(line)) => line,
            Err(error) if error.kind() == ErrorKind::TimedOut && silent < SILENCE => {
                silent += step;
                continue;
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                let _ = lines.write_line(&refusal(Fault::of_daemon("too-long", "the request is too long")), SLOWNESS);
                return;
            }
            Ok(None) | Err(_) => return,
        };
        silent = Duration::ZERO;
        let request = match parse(shared, &line) {
            Ok(request) => request,
            Err(fault) => {
                let _ = lines.write_line(&refusal(fault), SLOWNESS);
                return;
            }
        };
        let is_stop = matches!(request, Asked::Daemon(Request::Stop));
        if let Asked::Daemon(Request::Page { to }) = &request {
            shared.touch();
            if lines.write_line(&reply_line(super::http::link(shared, to, scope)), SLOWNESS).is_err() {
                return;
            }
            continue;
        }
        let reply = catch_unwind(AssertUnwindSafe(|| answer(shared, request, &mut lines)))
            .unwrap_or_else(|_| Some(refusal(Fault::of_daemon("internal", "internal error in the daemon, please report it"))));
        let is_told = reply.is_some_and(|reply| lines.write_line(&reply, SLOWNESS).is_ok());
        if is_stop {
            shared.log.info("stopping on request");
            shared.stop();
        }
        if !is_told {
            return;
        }
    }
    // Requests that the client has sent meanwhile were not carried out.
    let _ = lines.write_line(&refusal(ending()), Duration::from_millis(100));
}

/// A request that was parsed.
#[expect(clippy::large_enum_variant, reason = "it is read, answered and dropped")]
enum Asked {
    Daemon(Request),
    Memory(Verb),
}

fn refusal(fault: Fault) -> Vec<u8> {
    reply_line(Err::<(), _>(fault))
}

fn ending() -> Fault {
    Fault::of_daemon("ending", "the daemon is stopping")
}

/// Parses a request, or says why it is refused.
fn parse(shared: &Shared<'_>, line: &[u8]) -> Result<Asked, Fault> {
    let value: Value =
        serde_json::from_slice(line).map_err(|_| Fault::of_daemon("request", "the request is not a JSON object"))?;
    if shared.card.token.is_some() && value["token"].as_str() != shared.card.token.as_deref() {
        return Err(Fault::of_daemon("token", "the token is missing or wrong"));
    }
    let is_for_all = matches!(value["op"].as_str(), Some("hello" | "stop"));
    if !is_for_all && value["protocol"].as_u64() != Some(u64::from(PROTOCOL)) {
        return Err(Fault::of_daemon("protocol", format!("this daemon speaks protocol {PROTOCOL}")));
    }
    let is_verb = value["op"].as_str().is_some_and(|op| Verb::NAMES.contains(&op));
    let parsed =
        if is_verb { Verb::deserialize(value).map(Asked::Memory) } else { Request::deserialize(value).map(Asked::Daemon) };
    parsed.map_err(|error| Fault::of_daemon("request", format!("unsupported request: {error}")))
}

/// Returns the line that answers a request; `None` if the client has gone.
fn answer(shared: &Shared<'_>, request: Asked, lines: &mut Lines) -> Option<Vec<u8>> {
    let verb = match request {
        Asked::Memory(verb) => verb,
        Asked::Daemon(Request::Recall(question)) => return working(lines, || recall(shared, *question)),
        Asked::Daemon(Request::Ingest { settings }) => return working(lines, || reply_line(ingest(shared, &settings))),
        Asked::Daemon(Request::Hello) => {
            let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION").to_owned());
            return Some(reply_line(CliResult::Ok(Hello { pid, version, protocol: PROTOCOL })));
        }
        Asked::Daemon(Request::Stop) => return Some(reply_line(CliResult::Ok(json!({"stopping": true})))),
        // It is answered where the port can be served.
        Asked::Daemon(Request::Page { .. }) => return Some(refusal(Fault::of_daemon("request", "unsupported request"))),
        Asked::Daemon(Request::Status) => return Some(reply_line(status(shared))),
        Asked::Daemon(Request::Event { event }) => {
            return Some(reply_line(shared.take_event(&event).map(|jobs| json!({"jobs": jobs}))));
        }
    };
    shared.touch();
    if matches!(verb, Verb::brief { .. }) {
        shared.settle();
    }
    let is_write = verb.access() == Access::Writes;
    let name = verb.name();
    let reply = working(lines, || verb.answer(&shared.engine));
    if is_write {
        shared.feed.send(Event::Changed { verb: name.to_owned() });
        // It may have put jobs into the queue.
        shared.wake();
    }
    reply
}

/// Does work in a thread and returns its reply. The waiting client is told at intervals that work goes on; if it has gone, the work is
/// finished without it.
fn working(lines: &mut Lines, work: impl FnOnce() -> Vec<u8> + Send) -> Option<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || send.send(work()));
        loop {
            match receive.recv_timeout(STILL_WORKING) {
                Ok(reply) => return Some(reply),
                // It panicked; the scope passes that on.
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => lines.write(&Reply::<()>::Working(true), SLOWNESS).ok()?,
            }
        }
    })
}

fn recall(shared: &Shared<'_>, question: Question) -> Vec<u8> {
    let Question { request, is_synced, may_be_full, model } = question;
    if model != shared.settings.model_folder() {
        return refusal(Fault::of_daemon("model", "this daemon has another local model"));
    }
    reply_line(shared.uses.recall(&shared.engine, request, is_synced, may_be_full).map_err(CliError::from))
}

/// Has everything read.
fn ingest(shared: &Shared<'_>, settings: &str) -> Result<Ingested, Fault> {
    if settings != shared.settings() {
        return Err(Fault::of_daemon("settings", "this daemon has other settings"));
    }
    let receiver = shared.want_everything();
    loop {
        match receiver.recv_timeout(STILL_WORKING) {
            Ok(ingested) => return ingested.map_err(Fault::from),
            Err(RecvTimeoutError::Timeout) if !shared.is_stopping() => {}
            Err(_) => return Err(ending()),
        }
    }
}

fn status(shared: &Shared<'_>) -> CliResult<DaemonStatus> {
    let (watched, polled) = lock(&shared.places).clone();
    let last_batch = shared.last_batch.load(Ordering::Relaxed);
    Ok(DaemonStatus {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_ms: shared.card.started,
        socket: shared.card.socket.clone(),
        watched,
        polled,
        jobs: shared.engine.job_counts(Lane::Capture)?,
        dead: shared.engine.dead_jobs(LISTED)?,
        upkeep: shared.engine.upkeep()?,
        batches: shared.batches.load(Ordering::Relaxed),
        turns: shared.turns.load(Ordering::Relaxed),
        last_batch_ms: (last_batch > 0).then_some(last_batch),
        unembedded: shared.engine.unembedded()?,
        has_model: shared.uses.has_model(),
        is_embedding: shared.is_embedding.load(Ordering::Relaxed),
        clients: shared.clients.load(Ordering::SeqCst),
        url: shared.card.url.clone(),
        proxy: lock(&shared.proxy).as_ref().map(OpenProxy::state),
        memory_bytes: super::process::memory_bytes(),
        last_error: lock(&shared.last_error).clone(),
        settings: serde_json::to_value(&shared.config).unwrap_or_default(),
    })
}
