//! Guards the HTTP port: checks host, origin, token or cookie and size of each request, and limits their number.
//!
//! The order matters: a host name that was made to point here (DNS rebinding) and a page of another origin
//! are refused before anything else is examined, a client without the token before a byte of the body is
//! read, a body before it is stored. Programs send the token. A browser that opened a link of `yore page` sends its cookie, with
//! every change a token of its own; it gets the paths below [`Browsers::base`] and nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::browser::{Browsers, CSRF, ENTER};
use super::problem::{PROBLEM_JSON, Problem};
use super::token::is_same;

/// Names of this computer.
pub const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
/// Longest head of a request, and the most that is read ahead.
pub const LONGEST_HEAD: usize = 32 << 10;
/// Longest request, as on the daemon's socket.
pub const LONGEST_REQUEST: usize = 1 << 20;
/// Most calls that run or wait to run, even if their client has gone.
const MOST_CALLS: usize = 64;
/// Most request data held at once, in blocks; parsed as JSON it takes several times as much.
const MOST_BLOCKS: usize = 8 << 10;
const BLOCK: usize = 1 << 10;
/// Requests a second, on average and at most at once. A person and a few programs need a small part of it.
const RATE: f64 = 500.0;
const BURST: f64 = 1_000.0;
/// Paths of the API; errors there are data.
const API: &str = "/api/";
/// Time in which a request must arrive.
const SLOWNESS: Duration = Duration::from_secs(20);

/// Header by which a browser tells which page made it ask.
const FETCH_SITE: &str = "sec-fetch-site";

/// True once the other side of a connection has sent the token.
pub type IsAuthorized = Arc<AtomicBool>;

/// Lets requests pass to the router behind a port.
pub struct Guard {
    port: u16,
    token: Option<String>,
    browsers: Option<Arc<Browsers>>,
    calls: Arc<Semaphore>,
    blocks: Arc<Semaphore>,
    /// Requests that may be made now, and when that was counted.
    allowance: Mutex<(f64, Instant)>,
}

/// The share of the limits that a request uses; released when its answer is made.
#[derive(Clone)]
struct Permit {
    _call: Arc<OwnedSemaphorePermit>,
    _blocks: Arc<OwnedSemaphorePermit>,
}

impl Guard {
    /// Creates a guard for a port of this computer; with a token, only for clients that send it.
    pub fn new(port: u16, token: Option<String>) -> Self {
        let (calls, blocks) = (Arc::new(Semaphore::new(MOST_CALLS)), Arc::new(Semaphore::new(MOST_BLOCKS)));
        Self { port, token, browsers: None, calls, blocks, allowance: Mutex::new((BURST, Instant::now())) }
    }

    /// Admits browsers as well, to the paths below theirs.
    pub fn with_browsers(self, browsers: Arc<Browsers>) -> Self {
        Self { browsers: Some(browsers), ..self }
    }

    /// Puts this guard before everything that a router serves.
    pub fn protect(self, router: Router) -> Router {
        router.layer(from_fn_with_state(Arc::new(self), admit))
    }

    /// Returns the request with its body, if it may be answered and there is room for it.
    async fn check(&self, request: Request) -> Result<Request, Refusal> {
        is_from_here(self.port, request.uri(), request.headers())?;
        // A connection's read buffer is bounded, but may hold more than that.
        let head: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum();
        if head + request.uri().path().len() + request.uri().query().map_or(0, str::len) > LONGEST_HEAD {
            let words = format!("the request's head is longer than {LONGEST_HEAD} bytes");
            return Err(Refusal::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, words));
        }
        let (mut parts, body) = request.into_parts();
        if !self.admits(&mut parts)? {
            return Ok(Request::from_parts(parts, Body::empty()));
        }
        if let Some(is_authorized) = parts.extensions.get::<IsAuthorized>() {
            is_authorized.store(true, Ordering::Relaxed);
        }
        self.count(Instant::now())?;
        if is_read(&parts.method) {
            return Ok(Request::from_parts(parts, Body::empty()));
        }
        let (body, permit) = self.read(&parts, body).await?;
        parts.extensions.insert(permit);
        Ok(Request::from_parts(parts, Body::from(body)))
    }

    /// Returns whether a request comes from a client that is known; false: it only asks for what is told to everybody.
    fn admits(&self, parts: &mut Parts) -> Result<bool, Refusal> {
        let Some(browsers) = &self.browsers else { return self.knows(&parts.headers).map(|()| true) };
        let path = parts.uri.path();
        if matches!(path, "/" | ENTER) && parts.method == Method::GET {
            return Ok(false);
        }
        if !is_below(path, browsers.base()) {
            return self.knows(&parts.headers).map(|()| true);
        }
        let cookies = parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
        let Some(known) = browsers.know(cookies, Instant::now()) else {
            return Err(Refusal::new(StatusCode::UNAUTHORIZED, "this page has ended: `yore page` opens it again"));
        };
        // A browser tells from where it was made to ask. Strict cookies cover other sites, but not other ports.
        let site = parts.headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, "requests from other pages are not allowed"));
        }
        let said = parts.headers.get(CSRF).map(HeaderValue::as_bytes);
        if !is_read(&parts.method) && !said.is_some_and(|said| is_same(said, known.csrf.as_bytes())) {
            return Err(Refusal::new(StatusCode::FORBIDDEN, format!("a change needs the page's token in the header {CSRF}")));
        }
        parts.extensions.insert(known);
        Ok(true)
    }

    /// Counts a request; refuses it if there were too many.
    fn count(&self, now: Instant) -> Result<(), Refusal> {
        let mut allowance = self.allowance.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(allowance.1).as_secs_f64();
        let left = BURST.min(allowance.0 + since * RATE);
        *allowance = (left.max(1.0) - 1.0, now);
        if left < 1.0 {
            let words = format!("more than {RATE} requests a second; try again in a moment");
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, words).with(RETRY_AFTER, "1"));
        }
        Ok(())
    }

    /// Refuses a request without the token, if one is required.
    fn knows(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let words = "a token is required: `yore mcp url` shows it";
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

    /// Reads the body of a request up to the limit, if there is room for it.
    async fn read(&self, parts: &Parts, body: Body) -> Result<(Bytes, Permit), Refusal> {
        let too_long = || {
            let words = format!("the request is longer than {LONGEST_REQUEST} bytes");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, words)
        };
        let declared = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > LONGEST_REQUEST as u64) {
            return Err(too_long());
        }
        let is_full = || {
            let words = format!("yore is already handling {MOST_CALLS} requests; try again in a moment");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, words).with(RETRY_AFTER, "1")
        };
        let call = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| is_full())?;
        let blocks = declared.map_or(LONGEST_REQUEST, |length| length as usize).div_ceil(BLOCK);
        let mut blocks = Arc::clone(&self.blocks).try_acquire_many_owned(blocks as u32).map_err(|_| is_full())?;
        let read = tokio::time::timeout(SLOWNESS, axum::body::to_bytes(body, LONGEST_REQUEST)).await;
        let bytes = match read {
            Ok(Ok(bytes)) => bytes,
            // A declared length is never exceeded, so either the length is wrong or the client stopped early.
            Ok(Err(_)) if declared.is_none() => return Err(too_long()),
            Ok(Err(_)) => return Err(Refusal::new(StatusCode::BAD_REQUEST, "the request ended too early")),
            Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long")),
        };
        // A body of undeclared length reserved more than it needs.
        drop(blocks.split(blocks.num_permits().saturating_sub(bytes.len().div_ceil(BLOCK))));
        Ok((bytes, Permit { _call: Arc::new(call), _blocks: Arc::new(blocks) }))
    }
}

async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let below = guard.browsers.as_ref().and_then(|browsers| path.strip_prefix(browsers.base())).unwrap_or(path);
    let is_api = below.starts_with(API);
    match guard.check(request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) if is_api => refusal.into_problem(),
        Err(refusal) => refusal.into_response(),
    }
}

/// Returns whether a method reads.
fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns whether a path is this one or below it.
fn is_below(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Refuses a request that is not addressed to this port or, if a browser sends an origin, comes from another
/// origin.
fn is_from_here(port: u16, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let is_ours = |name: &[u8]| LOOPBACK.iter().any(|ours| name.eq_ignore_ascii_case(format!("{ours}:{port}").as_bytes()));
    let mut hosts = headers.get_all(HOST).iter();
    let is_host_ours = hosts.next().is_some_and(|host| is_ours(host.as_bytes())) && hosts.next().is_none();
    // An address in the request line takes precedence over the header.
    if !is_host_ours || uri.authority().is_some_and(|authority| !is_ours(authority.as_str().as_bytes())) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "the Host header does not name this computer"));
    }
    let is_origin_ours = |origin: &HeaderValue| origin.as_bytes().strip_prefix(b"http://").is_some_and(is_ours);
    if !headers.get_all(ORIGIN).iter().all(is_origin_ours) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "requests from this Origin are not allowed"));
    }
    Ok(())
}

/// The reason why a request is refused.
#[derive(Debug)]
pub struct Refusal {
    /// Status code of the response.
    pub status: StatusCode,
    /// Text of the response.
    pub words: String,
    header: Option<(HeaderName, &'static str)>,
}

impl Refusal {
    /// Creates a refusal with a text for the client.
    pub fn new(status: StatusCode, words: impl Into<String>) -> Self {
        Self { status, words: words.into(), header: None }
    }

    /// Adds a header.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Makes the response of the API, which closes the connection as well.
    fn into_problem(self) -> Response {
        let code = format!("http/{}", self.status.as_u16());
        let problem = Problem::new(self.status.as_u16(), code, self.words, None);
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (self.status, [(CONNECTION, "close"), (CONTENT_TYPE, PROBLEM_JSON)], body).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Makes the response, which closes the connection so that the rest of the request is not waited for.
    pub fn into_response(self) -> Response {
        let mut response = (self.status, [(CONNECTION, "close")], format!("{}\n", self.words)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
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
    fn requests_beyond_the_rate_are_refused_and_later_ones_are_not() {
        let (guard, now) = (Guard::new(4711, None), Instant::now());
        let admitted = |at: Instant| (0..5_000).filter(|_| guard.count(at).is_ok()).count();
        assert_eq!(admitted(now + Duration::from_millis(10)), BURST as usize);
        assert_eq!(guard.count(now + Duration::from_millis(10)).unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(admitted(now + Duration::from_millis(1_010)), RATE as usize);
        assert_eq!(admitted(now + Duration::from_secs(60)), BURST as usize);
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
}
