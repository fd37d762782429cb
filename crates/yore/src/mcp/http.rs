//! MCP over HTTP: what is checked before a request reaches the server, and how much is served at
//! once. Where the port is and how it is guarded: `daemon/http.rs`.
//!
//! - [`Mcp`]: the router, and the end of what it serves
//! - `from_here`: is the request meant for this port, and from no page of another one?
//! - `mcp`: the one path; who asks, how long the request is, whether there is room, and then the SDK
//!
//! The order is the point: a name that leads here by deceit (DNS rebinding) and a page of another
//! origin are sent away before anything else is looked at, a stranger before a byte of the body is
//! read, a body before it is held. Sessions exist for the protocols up to 2025 only; they keep the
//! project that was named when they began and nothing else. Requests of 2026-07-28 have none.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where MCP is served.
pub const PATH: &str = "/mcp";
/// The project that is asked by default: a directory. Without it, every project.
const PROJECT: HeaderName = HeaderName::from_static("yore-project");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Sessions that are kept at once.
const MOST_SESSIONS: usize = 64;
/// A session that was silent for so long gives its place to a new one when all are taken.
const QUIET: Duration = Duration::from_secs(5 * 60);
/// One that was used for no longer than that, a single call mostly, does so when it was silent for as long.
const BURST: Duration = Duration::from_secs(30);
/// A session that was silent for so long is over. Agents wait for people, so it is long.
const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Calls that are worked on or wait for that, whether or not somebody still listens.
const MOST_CALLS: usize = 64;
/// A request is shorter, as on the daemon's socket.
const LONGEST_REQUEST: usize = 1 << 20;
/// All requests that are held at once, in blocks; read as JSON they take several times as much.
const MOST_BLOCKS: usize = 8 << 10;
const BLOCK: usize = 1 << 10;
/// A request arrives within this time.
const SLOWNESS: Duration = Duration::from_secs(20);
/// Projects whose servers are kept ready.
const MOST_PROJECTS: usize = 32;

/// The head of a request is shorter.
const LONGEST_HEAD: usize = 32 << 10;

/// Whether the other side of a connection has said the token.
pub type IsKnown = Arc<AtomicBool>;

/// Names that mean this computer.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

tokio::task_local! {
    /// The directory that the request at hand names.
    static HERE: Option<PathBuf>;
}

/// MCP, ready to be served on a port.
pub struct Mcp {
    /// Answers requests.
    pub router: Router,
    /// Sessions of the protocols up to 2025.
    pub sessions: Arc<LocalSessionManager>,
    config: StreamableHttpServerConfig,
}

impl Mcp {
    /// Serves what `server` makes for a project, or for all, on a port of this computer. With a
    /// token, to those who say it.
    pub fn new<S>(
        port: u16,
        token: Option<String>,
        server: impl Fn(Option<&Path>) -> Result<S, String> + Send + Sync + 'static,
    ) -> Self
    where
        S: ServerHandler + Clone,
    {
        // The SDK looks at both once more.
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
        let gate = Gate {
            token,
            service: StreamableHttpService::new(make, Arc::clone(&sessions), config.clone()),
            sessions: Arc::clone(&sessions),
            heard: Mutex::default(),
            beginning: tokio::sync::Mutex::new(()),
            calls: Arc::new(Semaphore::new(MOST_CALLS)),
            blocks: Arc::new(Semaphore::new(MOST_BLOCKS)),
        };
        let router =
            Router::new().route(PATH, any(mcp::<S>)).with_state(Arc::new(gate)).layer(from_fn_with_state(port, from_here));
        Self { router, sessions, config }
    }

    /// Ends every session and stream.
    pub fn end(&self) {
        self.config.cancellation_token.cancel();
    }
}

/// Who may ask, and how much is asked at once.
struct Gate<S> {
    token: Option<String>,
    service: StreamableHttpService<S, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// When each session was heard.
    heard: Mutex<HashMap<String, Heard>>,
    /// Held while a session begins, so that there never is one too many.
    beginning: tokio::sync::Mutex<()>,
    calls: Arc<Semaphore>,
    blocks: Arc<Semaphore>,
}

/// When a session was heard.
#[derive(Clone, Copy, Debug)]
struct Heard {
    first: Instant,
    last: Instant,
}

impl Heard {
    fn once(at: Instant) -> Self {
        Self { first: at, last: at }
    }

    /// Whether it has been silent for so long that it may give its place to another.
    fn is_quiet(self, now: Instant) -> bool {
        let silence = now.saturating_duration_since(self.last);
        silence >= QUIET || silence >= BURST && self.last.saturating_duration_since(self.first) <= BURST
    }
}

/// The room that a request takes; goes along with it until its answer is made.
#[derive(Clone)]
struct Room {
    _call: Arc<OwnedSemaphorePermit>,
    _blocks: Arc<OwnedSemaphorePermit>,
}

/// What a request is about, as far as it must be known here.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
}

/// Lets requests pass that name this port as where they go and, if a browser sends them, as where
/// they come from.
async fn from_here(State(port): State<u16>, request: Request, next: Next) -> Response {
    if let Err(refusal) = is_from_here(port, request.uri(), request.headers()) {
        return refusal.into_response();
    }
    // What is read of a connection at once is bounded, but may be more than that.
    let head: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
    if head + request.uri().path().len() + request.uri().query().map_or(0, str::len) > LONGEST_HEAD {
        let words = format!("the head of a request has at most {LONGEST_HEAD} bytes");
        return Refusal::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, words).into_response();
    }
    next.run(request).await
}

fn is_from_here(port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_ours = |name: &[u8]| LOOPBACK.iter().any(|ours| name.eq_ignore_ascii_case(format!("{ours}:{port}").as_bytes()));
    let mut hosts = headers.get_all(HOST).iter();
    let is_host_ours = hosts.next().is_some_and(|host| is_ours(host.as_bytes())) && hosts.next().is_none();
    // An address in the request line counts for more than the header.
    if !is_host_ours || uri.authority().is_some_and(|authority| !is_ours(authority.as_str().as_bytes())) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "this Host is not this computer"));
    }
    let is_origin_ours = |origin: &HeaderValue| origin.as_bytes().strip_prefix(b"http://").is_some_and(is_ours);
    if !headers.get_all(ORIGIN).iter().all(is_origin_ours) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "pages of this Origin may not ask"));
    }
    Ok(())
}

/// The one path: lets in who may, as much as there is room for.
async fn mcp<S: ServerHandler + Clone>(State(gate): State<Arc<Gate<S>>>, request: Request) -> Response {
    gate.answer(request).await.unwrap_or_else(Refusal::into_response)
}

impl<S: ServerHandler + Clone> Gate<S> {
    async fn answer(&self, request: Request) -> Result<Response, Refusal> {
        let (mut parts, body) = request.into_parts();
        self.knows(&parts.headers)?;
        if let Some(is_known) = parts.extensions.get::<IsKnown>() {
            is_known.store(true, Ordering::Relaxed);
        }
        let here = project(&parts.headers)?;
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if let Some(id) = &session {
            lock(&self.heard).entry(id.clone()).and_modify(|heard| heard.last = Instant::now());
        }
        if parts.method != Method::POST {
            return Ok(self.serve(here, Request::from_parts(parts, Body::empty())).await);
        }
        let (body, room) = self.read(&parts, body).await?;
        parts.extensions.insert(room);
        let begins = session.is_none() && may_begin(&body);
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

    /// Hands a request to the SDK.
    async fn serve(&self, here: Option<PathBuf>, request: Request) -> Response {
        HERE.scope(here, Box::pin(self.service.handle(request))).await.map(Body::new)
    }

    /// Whether the token was said, where one is asked for.
    fn knows(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let words = "this needs a token: `yore mcp url` shows it";
        let mut said = headers.get_all(AUTHORIZATION).iter();
        let (Some(first), None) = (said.next(), said.next()) else {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, words).with(WWW_AUTHENTICATE, "Bearer realm=\"yore\""));
        };
        let (scheme, rest) = first.as_bytes().split_at_checked("Bearer ".len()).unwrap_or_default();
        if scheme.eq_ignore_ascii_case(b"Bearer ") && is_same(rest, token.as_bytes()) {
            return Ok(());
        }
        let wrong = "Bearer realm=\"yore\", error=\"invalid_token\"";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, words).with(WWW_AUTHENTICATE, wrong))
    }

    /// Reads a request as far as it may go, if there is room for it.
    async fn read(&self, parts: &Parts, body: Body) -> Result<(Bytes, Room), Refusal> {
        let too_long = || {
            let words = format!("a request has at most {LONGEST_REQUEST} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, words)
        };
        let declared = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > LONGEST_REQUEST as u64) {
            return Err(too_long());
        }
        let is_full = || {
            let words = format!("yore works on {MOST_CALLS} requests already; ask again in a moment");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, words).with(RETRY_AFTER, "1")
        };
        let call = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| is_full())?;
        let blocks = declared.map_or(LONGEST_REQUEST, |length| length as usize).div_ceil(BLOCK);
        let mut blocks = Arc::clone(&self.blocks).try_acquire_many_owned(blocks as u32).map_err(|_| is_full())?;
        let read = tokio::time::timeout(SLOWNESS, axum::body::to_bytes(body, LONGEST_REQUEST)).await;
        let bytes = match read {
            Ok(Ok(bytes)) => bytes,
            // A declared length is never exceeded, so what is wrong is the length or the other side.
            Ok(Err(_)) if declared.is_none() => return Err(too_long()),
            Ok(Err(_)) => return Err(Refusal::new(StatusCode::BAD_REQUEST, "the request ended too early")),
            Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long")),
        };
        // Of an undeclared length more was taken than is needed.
        drop(blocks.split(blocks.num_permits().saturating_sub(bytes.len().div_ceil(BLOCK))));
        Ok((bytes, Room { _call: Arc::new(call), _blocks: Arc::new(blocks) }))
    }

    /// Makes a place for one more session: ends the one that was silent for longest of those that may be ended.
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
        let quietest = heard.iter().filter(|(_, heard)| heard.is_quiet(now)).min_by_key(|(_, heard)| heard.last);
        let Some(id) = quietest.map(|(id, _)| id.clone()) else {
            let words = format!("yore keeps {MOST_SESSIONS} sessions, and all are in use; end one, or wait a little");
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, words).with(RETRY_AFTER, "30"));
        };
        heard.remove(&id);
        // Its worker ends when nobody can reach it any more.
        sessions.remove(id.as_str());
        Ok(())
    }
}

/// Whether a request without a session may be one that asks for one: whatever is not clearly about
/// something else.
fn may_begin(body: &[u8]) -> bool {
    serde_json::from_slice::<Message<'_>>(body).map_or(true, |message| message.method.as_deref() == Some("initialize"))
}

/// The directory that is asked from, if the agent names one.
fn project(headers: &HeaderMap) -> Result<Option<PathBuf>, Refusal> {
    let Some(value) = headers.get(PROJECT) else { return Ok(None) };
    let path = std::str::from_utf8(value.as_bytes()).map(|path| PathBuf::from(path.trim())).ok();
    match path.filter(|path| path.is_absolute()) {
        Some(path) => Ok(Some(path)),
        None => Err(Refusal::new(StatusCode::BAD_REQUEST, "Yore-Project is no absolute path")),
    }
}

/// Compares in a time that tells nothing of where the difference is.
fn is_same(said: &[u8], token: &[u8]) -> bool {
    let difference =
        said.iter().zip(token).fold(0, |difference, (said, token)| std::hint::black_box(difference | (said ^ token)));
    said.len() == token.len() && difference == 0
}

/// An answer that is none.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    words: String,
    header: Option<(HeaderName, &'static str)>,
}

impl Refusal {
    fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self { status, words: words.into(), header: None }
    }

    fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    /// With the connection closed: what is still to come of the request is not waited for.
    fn into_response(self) -> Response {
        let mut response = (self.status, [(CONNECTION, "close")], format!("{}\n", self.words)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use rmcp::transport::streamable_http_server::session::local::{SessionConfig, create_local_session};

    use super::*;

    fn status(target: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = axum::http::Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        is_from_here(4711, &parts.uri, &parts.headers).map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_this_port_of_this_computer_is_meant() {
        for host in ["127.0.0.1:4711", "localhost:4711", "LocalHost:4711", "[::1]:4711"] {
            assert_eq!(status("/mcp", &[("host", host)]), 200, "{host}");
        }
        for host in ["", "localhost", "localhost:80", "127.0.0.1:47110", "127.0.0.2:4711", "evil.example:4711", "localhost.:4711"]
        {
            assert_eq!(status("/mcp", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status("/mcp", &[]), 403);
        assert_eq!(status("/mcp", &[("host", "localhost:4711"), ("host", "evil.example")]), 403);
        assert_eq!(status("http://evil.example/mcp", &[("host", "localhost:4711")]), 403);
        assert_eq!(status("http://localhost:4711/mcp", &[("host", "localhost:4711")]), 200);
    }

    #[test]
    fn only_pages_of_this_port_may_ask() {
        let with = |origins: &[&str]| {
            let mut headers = vec![("host", "localhost:4711")];
            headers.extend(origins.iter().map(|origin| ("origin", *origin)));
            status("/mcp", &headers)
        };
        assert_eq!(with(&["http://localhost:4711"]), 200);
        for origin in ["null", "", "http://localhost", "https://localhost:4711", "http://localhost:4711.evil.example", "file://"]
        {
            assert_eq!(with(&[origin]), 403, "{origin}");
        }
        assert_eq!(with(&["http://localhost:4711", "http://evil.example"]), 403);
    }

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(is_same(b"abc", b"abc"));
        for said in ["", "ab", "abd", "abcd", "ABC"] {
            assert!(!is_same(said.as_bytes(), b"abc"), "{said}");
        }
    }

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
        let gate = Gate {
            token: None,
            service: StreamableHttpService::new(|| Ok(Nothing), Arc::clone(&sessions), StreamableHttpServerConfig::default()),
            sessions: Arc::clone(&sessions),
            heard: Mutex::default(),
            beginning: tokio::sync::Mutex::new(()),
            calls: Arc::new(Semaphore::new(1)),
            blocks: Arc::new(Semaphore::new(1)),
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
        // Who begins a session for each call waits for seconds.
        let (handle, _) = create_local_session("9".to_owned(), SessionConfig::default());
        sessions.sessions.write().await.insert(handle.id().clone(), handle);
        let once = Heard::once(later - BURST + second);
        lock(&gate.heard).extend([("7".to_owned(), used(later)), ("9".to_owned(), once)]);
        assert!(gate.make_place(later).await.is_err());
        gate.make_place(later + second).await.unwrap();
        assert!(!sessions.sessions.read().await.contains_key("9"));
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
