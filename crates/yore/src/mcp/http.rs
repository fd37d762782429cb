//! MCP over HTTP: sessions, their limits, and the project that each request names.
//!
//! - [`Mcp`]: the router, and a way to end its sessions
//! - [`run_http`]: any handler on a port of its own, for tests
//!
//! Only protocols up to 2025 have sessions. A session keeps the project that was named when it began and
//! nothing else. Requests of 2026-07-28 have no session.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::Response;
use axum::routing::any;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;

use crate::http::guard::{Guard, LONGEST_REQUEST, LOOPBACK, Refusal};
use crate::http::listener::{Listener, shutdown};

/// Path of the MCP endpoint.
pub const PATH: &str = "/mcp";
/// Header with the directory of the default project. Without it, every project is searched.
const PROJECT: HeaderName = HeaderName::from_static("yore-project");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum number of sessions at once.
const MOST_SESSIONS: usize = 64;
/// Silence after which a session may be ended for a new one when the maximum is reached. One that was only begun may be
/// ended at any time: an agent goes on at once.
const QUIET: Duration = Duration::from_secs(5 * 60);
/// Same for a session that was used for no longer than this, usually for a single call.
const BURST: Duration = Duration::from_secs(30);
/// Silence after which a session ends. It is long because agents wait for people.
const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum number of projects whose servers are kept ready.
const MOST_PROJECTS: usize = 32;

tokio::task_local! {
    /// The directory that the current request names.
    static HERE: Option<PathBuf>;
}

/// MCP, ready to be served on a port.
pub struct Mcp {
    /// Router that answers requests.
    pub router: Router,
    /// Sessions of the protocols up to 2025.
    pub sessions: Arc<LocalSessionManager>,
    config: StreamableHttpServerConfig,
}

impl Mcp {
    /// Serves the server that `server` creates for a project, or for all, on a port of this computer.
    pub fn new<S>(port: u16, server: impl Fn(Option<&Path>) -> Result<S, String> + Send + Sync + 'static) -> Self
    where
        S: ServerHandler + Clone,
    {
        // The SDK checks host and origin again.
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(LOOPBACK.map(|name| format!("{name}:{port}")))
            .with_allowed_origins(LOOPBACK.map(|name| format!("http://{name}:{port}")))
            .with_max_request_body_bytes(LONGEST_REQUEST);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_LIFE);
        let sessions = Arc::new(sessions);
        let ready: Mutex<HashMap<Option<PathBuf>, S>> = Mutex::default();
        let make = move || {
            let here = HERE.try_with(Clone::clone).unwrap_or_default();
            let mut ready = lock(&ready);
            if let Some(server) = ready.get(&here) {
                return Ok(server.clone());
            }
            let made = server(here.as_deref()).map_err(std::io::Error::other)?;
            if ready.len() >= MOST_PROJECTS {
                ready.clear();
            }
            ready.insert(here, made.clone());
            Ok(made)
        };
        let gate = SessionGate {
            service: StreamableHttpService::new(make, Arc::clone(&sessions), config.clone()),
            sessions: Arc::clone(&sessions),
            heard: Mutex::default(),
            beginning: tokio::sync::Mutex::new(()),
        };
        let router = Router::new().route(PATH, any(mcp::<S>)).with_state(Arc::new(gate));
        Self { router, sessions, config }
    }

    /// Ends every session and stream.
    pub fn end(&self) {
        self.config.cancellation_token.cancel();
    }
}

/// Serves any MCP handler on a free port of this computer, without a token, until standard input closes. `ready` gets
/// the address and the sessions before the first request.
///
/// # Errors
/// If the server cannot start or stops serving; the message is for people.
pub fn run_http<S: ServerHandler + Clone>(server: S, ready: impl FnOnce(&str, Arc<LocalSessionManager>)) -> Result<(), String> {
    let listener = Listener::open(0).map_err(|error| format!("cannot listen: {error}"))?;
    let mcp = Mcp::new(listener.port(), move |_| Ok(server.clone()));
    let (shutdown, signal) = shutdown();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(shutdown);
    });
    ready(&listener.url(PATH), Arc::clone(&mcp.sessions));
    let router = Guard::new(listener.port(), None).protect(mcp.router.clone());
    listener.serve(router, signal, || mcp.end()).map_err(|error| format!("cannot serve: {error}"))
}

/// The SDK's service, and the sessions that it has.
struct SessionGate<S> {
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Times of the requests of each session.
    heard: Mutex<HashMap<String, Heard>>,
    /// Held while a session begins, so that there is never one too many.
    beginning: tokio::sync::Mutex<()>,
}

/// Times of the first and the last request of a session.
#[derive(Clone, Copy, Debug)]
struct Heard {
    first: Instant,
    last: Instant,
}

impl Heard {
    fn once(at: Instant) -> Self {
        Self { first: at, last: at }
    }

    /// Returns whether the session may be ended for another: it was begun and never used, or silent for long.
    fn may_end(self, now: Instant) -> bool {
        let silence = now.saturating_duration_since(self.last);
        self.last == self.first
            || silence >= QUIET
            || silence >= BURST && self.last.saturating_duration_since(self.first) <= BURST
    }
}

/// The part of a request that is needed here.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
}

/// Handles requests to the endpoint.
async fn mcp<S: ServerHandler + Clone>(State(gate): State<Arc<SessionGate<S>>>, request: Request) -> Response {
    gate.answer(request).await.unwrap_or_else(Refusal::into_response)
}

impl<S: ServerHandler + Clone> SessionGate<S> {
    async fn answer(&self, request: Request) -> Result<Response, Refusal> {
        let (parts, body) = request.into_parts();
        let here = project(&parts.headers)?;
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if let Some(id) = &session {
            lock(&self.heard).entry(id.clone()).and_modify(|heard| heard.last = Instant::now());
        }
        // The guard has already read the body.
        let Ok(body) = axum::body::to_bytes(body, LONGEST_REQUEST).await else {
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "the request ended too early"));
        };
        let begins = parts.method == Method::POST && session.is_none() && may_begin(&body);
        let request = Request::from_parts(parts, Body::from(body));
        if !begins {
            return Ok(self.serve(here, request).await);
        }
        let _one_at_a_time = self.beginning.lock().await;
        self.make_place(Instant::now()).await?;
        let response = self.serve(here, request).await;
        if let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
            lock(&self.heard).insert(id.to_owned(), Heard::once(Instant::now()));
        }
        Ok(response)
    }

    /// Passes a request to the SDK.
    async fn serve(&self, here: Option<PathBuf>, request: Request) -> Response {
        HERE.scope(here, Box::pin(self.service.handle(request))).await.map(Body::new)
    }

    /// Makes room for one more session: ends the session with the longest silence that may be ended.
    async fn make_place(&self, now: Instant) -> Result<(), Refusal> {
        let mut sessions = self.sessions.sessions.write().await;
        let mut heard = lock(&self.heard);
        heard.retain(|id, _| sessions.contains_key(id.as_str()));
        for id in sessions.keys() {
            heard.entry(id.to_string()).or_insert(Heard::once(now));
        }
        if sessions.len() < MOST_SESSIONS {
            return Ok(());
        }
        let quietest = heard.iter().filter(|(_, heard)| heard.may_end(now)).min_by_key(|(_, heard)| heard.last);
        let Some(id) = quietest.map(|(id, _)| id.clone()) else {
            let words = format!("yore has {MOST_SESSIONS} sessions, and all are in use; end one, or try again later");
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, words).with(RETRY_AFTER, "30"));
        };
        heard.remove(&id);
        // The worker of a session ends when the session is dropped from the map.
        sessions.remove(id.as_str());
        Ok(())
    }
}

/// Returns whether a request without a session may begin one: any that is not clearly for something else.
fn may_begin(body: &[u8]) -> bool {
    serde_json::from_slice::<Message<'_>>(body).map_or(true, |message| message.method.as_deref() == Some("initialize"))
}

/// Returns the directory of the project, if the agent names one.
fn project(headers: &HeaderMap) -> Result<Option<PathBuf>, Refusal> {
    let Some(value) = headers.get(PROJECT) else { return Ok(None) };
    let path = std::str::from_utf8(value.as_bytes()).map(|path| PathBuf::from(path.trim())).ok();
    match path.filter(|path| path.is_absolute()) {
        Some(path) => Ok(Some(path)),
        None => Err(Refusal::new(StatusCode::BAD_REQUEST, "Yore-Project is not an absolute path")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use rmcp::transport::streamable_http_server::session::local::{SessionConfig, create_local_session};

    use super::*;

    #[test]
    fn what_may_begin_a_session_is_counted() {
        let twice = r#"{"method":"tools/list","method":"initialize"}"#;
        for beginning in [r#"{"id":1,"method":"initi\u0061lize","params":{"x":[1]}}"#, twice, "[]", "", r#"{"method":1}"#] {
            assert!(may_begin(beginning.as_bytes()), "{beginning}");
        }
        for other in [r#"{"method":"tools/list"}"#, r#"{"params":{"method":"initialize"}}"#, r#"{"id":1,"result":{}}"#] {
            assert!(!may_begin(other.as_bytes()), "{other}");
        }
    }

    #[derive(Clone)]
    struct Nothing;

    impl ServerHandler for Nothing {}

    #[tokio::test]
    async fn a_session_that_is_silent_for_long_gives_its_place_away() {
        let sessions = Arc::new(LocalSessionManager::default());
        let gate = SessionGate {
            service: StreamableHttpService::new(|| Ok(Nothing), Arc::clone(&sessions), StreamableHttpServerConfig::default()),
            sessions: Arc::clone(&sessions),
            heard: Mutex::default(),
            beginning: tokio::sync::Mutex::new(()),
        };
        let began = Instant::now();
        for number in 0..MOST_SESSIONS {
            gate.make_place(began).await.unwrap_or_else(|refusal| panic!("{number}: {}", refusal.words));
            let (handle, _) = create_local_session(number.to_string(), SessionConfig::default());
            sessions.sessions.write().await.insert(handle.id().clone(), handle);
        }
        let second = Duration::from_secs(1);
        let used = |last: Instant| Heard { first: last - BURST - second, last };
        let later = began + QUIET;
        let ids: Vec<String> = sessions.sessions.read().await.keys().map(ToString::to_string).collect();
        lock(&gate.heard).extend(ids.into_iter().map(|id| (id, used(later))));
        assert_eq!(gate.make_place(later).await.unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        lock(&gate.heard).insert("7".to_owned(), used(later - QUIET + second));
        assert!(gate.make_place(later).await.is_err(), "an agent that works may think for some minutes");
        lock(&gate.heard).extend([("9".to_owned(), used(began)), ("gone".to_owned(), used(began))]);
        gate.make_place(later).await.unwrap();
        let left = sessions.sessions.read().await;
        assert_eq!((left.len(), left.contains_key("9"), left.contains_key("7")), (MOST_SESSIONS - 1, false, true));
        assert!(!lock(&gate.heard).contains_key("gone"));
        drop(left);
        // A session with a single call may be ended after seconds.
        let begin = async |id: &str| {
            let (handle, _) = create_local_session(id.to_owned(), SessionConfig::default());
            sessions.sessions.write().await.insert(handle.id().clone(), handle);
        };
        begin("9").await;
        let single = Heard { first: later - BURST, last: later - BURST + second };
        lock(&gate.heard).extend([("7".to_owned(), used(later)), ("9".to_owned(), single)]);
        assert!(gate.make_place(later).await.is_err());
        gate.make_place(later + second).await.unwrap();
        assert!(!sessions.sessions.read().await.contains_key("9"));
        // One that was only begun gives way at once, the oldest first.
        begin("9").await;
        lock(&gate.heard).extend([("8".to_owned(), Heard::once(later - second)), ("9".to_owned(), Heard::once(later))]);
        gate.make_place(later).await.unwrap();
        let left = sessions.sessions.read().await;
        assert_eq!((left.contains_key("8"), left.contains_key("9")), (false, true));
    }

    #[test]
    fn a_project_is_an_absolute_path() {
        let named = |path: &'static str| {
            let headers = HeaderMap::from_iter([(PROJECT, HeaderValue::from_static(path))]);
            project(&headers).map_err(|refusal| refusal.status.as_u16())
        };
        let path = if cfg!(windows) { "C:\\work" } else { "/work of mine" };
        assert_eq!(named(path), Ok(Some(path.into())));
        assert_eq!(named("work"), Err(400));
        assert_eq!(named(""), Err(400));
        assert_eq!(project(&HeaderMap::new()).map_err(|refusal| refusal.status.as_u16()), Ok(None));
    }
}
