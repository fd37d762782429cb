//! The socket server: accepts clients, and answers each in a thread of its own.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use yore_core::id::MemoryId;
use yore_core::memory::Use;
use yore_engine::{Engine, EngineError, Lane, SuggestRequest, Suggestions};

use super::shared::{Shared, lock};
use crate::error::CliResult;
use crate::ipc::socket::{Listener, Stream};
use crate::ipc::wire::{Fault, Hello, LONGEST_REPLY, LONGEST_REQUEST, Lines, PROTOCOL, Question, Reply, Request};
use crate::results::DaemonStatus;

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
pub fn run<'scope, 'env>(shared: &'env Shared<'env>, listener: &Listener, scope: &'scope std::thread::Scope<'scope, 'env>) {
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
            let _ = Lines::new(stream).write(&Reply::Error(fault), Duration::from_millis(100));
            continue;
        }
        let spawned = std::thread::Builder::new().name("client".to_owned()).spawn_scoped(scope, move || {
            serve(shared, stream);
            shared.clients.fetch_sub(1, Ordering::SeqCst);
        });
        if let Err(error) = spawned {
            shared.clients.fetch_sub(1, Ordering::SeqCst);
            shared.log.error(format!("client: {error}"));
        }
    }
}

/// Answers one client until it is silent for too long or sends something invalid.
fn serve(shared: &Shared<'_>, stream: Stream) {
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
                let _ = lines.write(&Reply::Error(Fault::of_daemon("too-long", "the request is too long")), SLOWNESS);
                return;
            }
            Ok(None) | Err(_) => return,
        };
        silent = Duration::ZERO;
        let request = match parse(shared, &line) {
            Ok(request) => request,
            Err(fault) => {
                let _ = lines.write(&Reply::Error(fault), SLOWNESS);
                return;
            }
        };
        let is_stop = matches!(request, Request::Stop);
        let reply = catch_unwind(AssertUnwindSafe(|| answer(shared, request, &mut lines)))
            .unwrap_or_else(|_| Reply::Error(Fault::of_daemon("internal", "internal error in the daemon, please report it")));
        let is_told = lines.write(&limited(reply), SLOWNESS).is_ok();
        if is_stop {
            shared.log.info("stopping on request");
            shared.stop();
        }
        if !is_told {
            return;
        }
    }
}

/// Parses a request, or says why it is refused.
fn parse(shared: &Shared<'_>, line: &[u8]) -> Result<Request, Fault> {
    let value: Value =
        serde_json::from_slice(line).map_err(|_| Fault::of_daemon("request", "the request is not a JSON object"))?;
    if shared.card.token.is_some() && value["token"].as_str() != shared.card.token.as_deref() {
        return Err(Fault::of_daemon("token", "the token is missing or wrong"));
    }
    let is_for_all = matches!(value["op"].as_str(), Some("hello" | "stop"));
    if !is_for_all && value["protocol"].as_u64() != Some(u64::from(PROTOCOL)) {
        return Err(Fault::of_daemon("protocol", format!("this daemon speaks protocol {PROTOCOL}")));
    }
    serde_json::from_value(value).map_err(|error| Fault::of_daemon("request", format!("unsupported request: {error}")))
}

/// Replaces an answer that is too long by an error.
fn limited(reply: Reply) -> Reply {
    match &reply {
        // Only texts can reach that length; counting them costs less than serializing twice.
        Reply::Answer(value) if length_of(value) > LONGEST_REPLY / 2 => {
            Reply::Error(Fault::of_daemon("too-long", "the answer is too long"))
        }
        _ => reply,
    }
}

fn length_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(length_of).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 4 + length_of(value)).sum::<usize>() + 2,
        _ => 8,
    }
}

fn answer(shared: &Shared<'_>, request: Request, lines: &mut Lines) -> Reply {
    let outcome = match request {
        Request::Hello => {
            told(&Hello { pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL })
        }
        Request::Stop => Ok(json!({"stopping": true})),
        Request::Status => status(shared).and_then(|status| told(&status)),
        Request::Event { event } => shared.take_event(&event).map(|jobs| json!({"jobs": jobs})),
        Request::Recall(question) => return recall(shared, *question),
        Request::Show { request } => asked(shared, |engine| engine.show(&request)),
        Request::Sessions { request } => asked(shared, |engine| engine.sessions(&request)),
        Request::Projects => asked(shared, Engine::projects),
        Request::MergeOffers => asked(shared, Engine::merge_offers),
        Request::Project { query } => asked(shared, |engine| engine.find_project(&query)),
        Request::DirectoryOfNote { here } => asked(shared, |engine| engine.directory_of_note(&here)),
        Request::Stats => asked(shared, Engine::statistics),
        Request::Notes { request } => asked(shared, |engine| engine.notes(&request)),
        Request::Note { id } => asked(shared, |engine| engine.note(&id)),
        Request::LoadNote { id, which } => asked(shared, |engine| engine.load_note(&id, which)),
        Request::Remember { request } => asked(shared, |engine| engine.remember(&request)),
        Request::ContextsUsedTogether => asked(shared, Engine::contexts_used_together),
        Request::AddMemory { new, cause } => asked(shared, |engine| engine.add_memory(&new, &cause)),
        Request::Conflicts { projects, limit } => asked(shared, |engine| engine.conflicts(&projects, limit)),
        Request::ConflictsOf { id } => asked(shared, |engine| engine.conflicts_of(&id)),
        Request::Memories { list } => asked(shared, |engine| engine.memories(&list)),
        Request::CountMemories { list } => asked(shared, |engine| engine.count_memories(&list)),
        Request::OpenEntity { id } => asked(shared, |engine| engine.open_entity(&id)),
        Request::OpenMemory { id, session } => asked(shared, |engine| engine.open_memory(&id, session.as_deref())),
        Request::Material { request } => asked(shared, |engine| engine.material(&request)),
        Request::RecordDistilled { distilled } => asked(shared, |engine| engine.record_distilled(&distilled)),
        Request::Forget { request } => asked(shared, |engine| engine.forget(&request)),
        Request::Brief { request } => {
            shared.settle();
            asked(shared, |engine| engine.brief(&request))
        }
        Request::Suggest { request } => asked(shared, |engine| suggest(engine, &request)),
        Request::Ingest { settings } => return ingest(shared, &settings, lines),
        Request::Retry { target } => shared.engine.revive_jobs(target.as_deref()).map_err(Into::into).map(|revived| {
            shared.wake();
            json!({"revived": revived})
        }),
    };
    match outcome {
        Ok(value) => Reply::Answer(value),
        Err(error) => Reply::Error(error.into()),
    }
}

/// Suggests memories, and counts that they are given.
fn suggest(engine: &Engine, request: &SuggestRequest) -> Result<Suggestions, EngineError> {
    let suggestions = engine.suggest(request)?;
    let given: Vec<MemoryId> = suggestions.memories.iter().filter_map(|memory| memory.hit.id().memory()).collect();
    if !given.is_empty() {
        // Counts are no reason to withhold an answer.
        let _ = engine.record_memory_uses(&given, Use::Given, request.session.as_deref(), None);
    }
    Ok(suggestions)
}

/// Answers a client with the engine.
fn asked<T: Serialize>(shared: &Shared<'_>, ask: impl FnOnce(&Engine) -> Result<T, EngineError>) -> CliResult<Value> {
    shared.touch();
    told(&ask(&shared.engine)?)
}

fn told(value: &impl Serialize) -> CliResult<Value> {
    serde_json::to_value(value).map_err(|error| crate::error::CliError::usage(format!("cannot encode the answer: {error}"), None))
}

fn recall(shared: &Shared<'_>, question: Question) -> Reply {
    let Question { request, is_synced, may_be_full, model } = question;
    if model != shared.settings.model_folder() {
        return Reply::Error(Fault::of_daemon("model", "this daemon has another local model"));
    }
    let answer = shared.uses.recall(&shared.engine, request, is_synced, may_be_full);
    match answer.map_err(Into::into).and_then(|answer| told(&answer)) {
        Ok(value) => Reply::Answer(value),
        Err(error) => Reply::Error(error.into()),
    }
}

/// Has everything read; the waiting client is told at intervals that work goes on.
fn ingest(shared: &Shared<'_>, settings: &str, lines: &mut Lines) -> Reply {
    if settings != shared.settings() {
        return Reply::Error(Fault::of_daemon("settings", "this daemon has other settings"));
    }
    let receiver = shared.want_everything();
    loop {
        match receiver.recv_timeout(STILL_WORKING) {
            Ok(Ok(ingested)) => {
                return match told(&ingested) {
                    Ok(value) => Reply::Answer(value),
                    Err(error) => Reply::Error(error.into()),
                };
            }
            Ok(Err(error)) => return Reply::Error(error.into()),
            Err(RecvTimeoutError::Disconnected) => return Reply::Error(Fault::of_daemon("ending", "the daemon is stopping")),
            Err(RecvTimeoutError::Timeout) if shared.is_stopping() => {
                return Reply::Error(Fault::of_daemon("ending", "the daemon is stopping"));
            }
            // If the client has gone, the reading goes on without it.
            Err(RecvTimeoutError::Timeout) if lines.write(&Reply::Working(true), SLOWNESS).is_err() => {
                return Reply::Working(false);
            }
            Err(RecvTimeoutError::Timeout) => {}
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
        memory_bytes: super::process::memory_bytes(),
        last_error: lock(&shared.last_error).clone(),
        settings: serde_json::to_value(&shared.config).unwrap_or_default(),
    })
}
