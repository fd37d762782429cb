//! Passes one request on to its upstream and the answer back, and lets the memory take part.

use std::{
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, RwLock, atomic::Ordering::Relaxed},
    time::{Instant, SystemTime},
};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri, Version,
    body::Incoming,
    header::{self, HeaderValue},
    http::request::Parts,
};
use hyper_util::client::legacy;
use tokio::sync::Semaphore;
use url::Url;

use crate::{
    Addition, Asked, Memory, Protocol, Route, Settings, Wants,
    client_io::Busy,
    connect::{Clients, authority},
    counts::{Counts, count},
    head::{self, Passed, Refusal},
    held::{Asking, Considered, Held, hold},
    kept::{Budget, Kept},
    observer::{Copied, Observer, Watch},
    route::{self, NoRoute},
    tee::{Outgoing, Passing, Trouble},
    tunnel::{self, Connection},
    wire,
};

pub(crate) type AnswerBody = Either<Passing, Full<Bytes>>;

/// Settings with the clients that were made from them.
#[derive(Debug)]
pub(crate) struct Active {
    pub settings: Settings,
    pub clients: Clients,
}

/// Everything that the requests share.
pub(crate) struct Shared {
    pub active: RwLock<Arc<Active>>,
    pub port: u16,
    pub memory: Arc<dyn Memory>,
    pub permits: Arc<Semaphore>,
    pub budget: Budget,
    pub counts: Arc<Counts>,
    pub observer: Arc<Observer>,
}

impl Shared {
    pub fn active(&self) -> Arc<Active> {
        self.active.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers one request.
pub(crate) async fn answer(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    busy: Busy,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Infallible> {
    count(&shared.counts.requests);
    let active = shared.active();
    let call = match Call::new(&shared, &active, &request) {
        Ok(call) => call,
        Err(refusal) => {
            count(&shared.counts.refused);
            drain(request, active.settings.longest_body);
            return Ok(own(None, &refusal));
        }
    };
    let protocol = call.protocol;
    let answered =
        if head::is_websocket(&request) { call.tunnel(connection, busy, request).await } else { call.pass(busy, request).await };
    Ok(answered.unwrap_or_else(|refusal| own(protocol, &refusal)))
}

/// A request whose upstream is known.
struct Call<'a> {
    shared: &'a Shared,
    active: &'a Active,
    route: Route,
    base: &'a Url,
    target: Uri,
    protocol: Option<Protocol>,
    began: SystemTime,
    clock: Instant,
}

impl<'a> Call<'a> {
    fn new(shared: &'a Shared, active: &'a Active, request: &Request<Incoming>) -> Result<Self, Refusal> {
        head::check(request, shared.port)?;
        let settings = &active.settings;
        let path = request.uri().path();
        let route = route::read(path, &settings.token, |name| settings.upstreams.contains_key(name)).map_err(|error| match error {
            NoRoute::Token => {
                Refusal::new(StatusCode::NOT_FOUND, "unknown address; `yore proxy env` prints the addresses that are served")
            }
            NoRoute::Unknown => Refusal::new(
                StatusCode::NOT_FOUND,
                format!(
                    "unknown upstream, or a directory that is not absolute; known upstreams: {}; `yore proxy env` prints their addresses",
                    settings.upstreams.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
                ),
            ),
        })?;
        let unusable = || Refusal::new(StatusCode::BAD_REQUEST, "this path cannot be appended to the upstream's address");
        let base = &settings.upstreams.get(&route.upstream).ok_or_else(unusable)?.base;
        let target = target(base, &route, request.uri().query()).ok_or_else(unusable)?;
        if head::content_length(request.headers()).is_some_and(|length| length > settings.longest_body as u64) {
            return Err(too_long(settings));
        }
        let protocol = wire::protocol_of(request.method().as_str(), &route.rest);
        Ok(Self { shared, active, route, base, target, protocol, began: SystemTime::now(), clock: Instant::now() })
    }

    async fn pass(self, busy: Busy, request: Request<Incoming>) -> Result<Response<AnswerBody>, Refusal> {
        let trouble = Arc::<Trouble>::default();
        let mut part = self.part(&request);
        let (mut parts, body) = request.into_parts();
        let is_chunked = parts.version == Version::HTTP_11 && parts.headers.contains_key(header::TRANSFER_ENCODING);
        let outgoing = match &mut part {
            Some(part) => self.take_part(part, &mut parts, body, &trouble).await?,
            None => Outgoing::passing(body, self.active.settings.longest_body, trouble.clone(), None),
        };
        self.aim(&mut parts, false, is_chunked);
        let answer = self.active.clients.any.request(Request::from_parts(parts, outgoing)).await;
        let answer = answer.map_err(|error| self.failed(&error, &trouble))?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.unreachable("it switched protocols without being asked"));
        }
        Ok(self.answered(answer, part, busy))
    }

    /// Passes on a request that wants to become a web socket.
    async fn tunnel(
        self,
        connection: Arc<Connection>,
        busy: Busy,
        mut request: Request<Incoming>,
    ) -> Result<Response<AnswerBody>, Refusal> {
        let trouble = Arc::<Trouble>::default();
        let client = hyper::upgrade::on(&mut request);
        let (mut parts, body) = request.into_parts();
        let is_chunked = parts.headers.contains_key(header::TRANSFER_ENCODING);
        self.aim(&mut parts, true, is_chunked);
        let outgoing = Outgoing::passing(body, self.active.settings.longest_body, trouble.clone(), None);
        let answer = self.active.clients.http1.request(Request::from_parts(parts, outgoing)).await;
        let mut answer = answer.map_err(|error| self.failed(&error, &trouble))?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(self.answered(answer, None, busy));
        }
        count(&self.shared.counts.passed);
        let upstream = hyper::upgrade::on(&mut answer);
        tunnel::start(client, upstream, connection, busy, self.shared.counts.clone());
        let (mut parts, _) = answer.into_parts();
        parts.headers = Passed { headers: &parts.headers, host: None, is_upgrade: true, keeps_transfer: false }.collect();
        Ok(Response::from_parts(parts, Either::Right(Full::default())))
    }

    /// Returns the memory's part in this request, if it wants any.
    fn part(&self, request: &Request<Incoming>) -> Option<Part> {
        let asked = head::asked(request, self.route.clone(), self.protocol?);
        let memory = &self.shared.memory;
        let Ok(mut wants) = catch_unwind(AssertUnwindSafe(|| memory.wants(&asked))) else {
            count(&self.shared.counts.failed);
            return None;
        };
        wants.additions &= head::is_json(request.headers()) && !head::is_signed(request.headers());
        let coding = head::text(request.headers(), header::CONTENT_ENCODING);
        (wants != Wants::default()).then(|| Part { asked, wants, coding, request: None, added: Vec::new() })
    }

    /// Asks for additions, or sets up the copy of the request.
    async fn take_part(
        &self,
        part: &mut Part,
        parts: &mut Parts,
        body: Incoming,
        trouble: &Arc<Trouble>,
    ) -> Result<Outgoing, Refusal> {
        let Settings { longest_body, deadline, .. } = self.active.settings;
        let shared = self.shared;
        if !part.wants.additions {
            let copy = Arc::new(Mutex::new(Kept::new(&shared.budget, longest_body)));
            part.request = Some(Copied::Teed { copy: copy.clone(), coding: part.coding.clone() });
            return Ok(Outgoing::passing(body, longest_body, trouble.clone(), Some(copy)));
        }
        let Some(Held { bytes, trailers, rest, share }) = hold(body, &shared.budget, longest_body, trouble).await else {
            return Err(broken());
        };
        if rest.is_some() {
            // Too long to hold: passed on, neither changed nor seen.
            if part.wants.exchange {
                count(&shared.counts.dropped);
            }
            let room = longest_body.saturating_sub(bytes.len());
            return Ok(Outgoing::held(bytes, trailers, rest, room, trouble.clone()));
        }
        let asking = Asking { memory: &shared.memory, permits: &shared.permits, deadline, counts: &shared.counts };
        let Considered { is_unreadable, conversation, body, added } = asking.ask(&part.asked, &part.coding, &bytes).await;
        part.added = added;
        part.request = match conversation {
            _ if is_unreadable => None,
            Some(conversation) => Some(Copied::Read { conversation, length: bytes.len(), _share: share }),
            None => Some(Copied::Held { bytes: bytes.clone(), coding: part.coding.clone(), _share: share }),
        };
        let Some(body) = body else { return Ok(Outgoing::held(bytes, trailers, None, 0, trouble.clone())) };
        parts.headers.remove(header::CONTENT_ENCODING);
        if let Some(length) = parts.headers.get_mut(header::CONTENT_LENGTH) {
            *length = HeaderValue::from(body.len());
        }
        Ok(Outgoing::held(body.into(), trailers, None, 0, trouble.clone()))
    }

    /// Turns the head of a request to the upstream.
    fn aim(&self, parts: &mut Parts, is_upgrade: bool, keeps_transfer: bool) {
        // HTTP/2 has no Host; where it may be spoken, the client adds the header itself if it is not.
        let is_http1 = is_upgrade || self.base.scheme() == "http";
        let host = authority(self.base).filter(|_| is_http1).and_then(|host| HeaderValue::try_from(host).ok());
        parts.headers = Passed { headers: &parts.headers, host, is_upgrade, keeps_transfer }.collect();
        if let Some(authorization) = self.active.clients.authorization_for(self.base) {
            parts.headers.insert(header::PROXY_AUTHORIZATION, authorization.clone());
        }
        parts.uri = self.target.clone();
        parts.version = Version::HTTP_11;
    }

    fn answered(&self, answer: Response<Incoming>, part: Option<Part>, busy: Busy) -> Response<AnswerBody> {
        let shared = self.shared;
        count(&shared.counts.passed);
        let (mut parts, body) = answer.into_parts();
        // The answer of an error is not read.
        let longest_kept = if parts.status.as_u16() < 400 { self.active.settings.longest_kept } else { 0 };
        let watch = part.filter(|part| part.wants.exchange).and_then(|part| {
            Some(Watch {
                observer: shared.observer.clone(),
                asked: part.asked,
                request: part.request?,
                added: part.added,
                answer: Kept::new(&shared.budget, longest_kept),
                status: parts.status.as_u16(),
                content_type: head::text(&parts.headers, header::CONTENT_TYPE),
                coding: head::text(&parts.headers, header::CONTENT_ENCODING),
                began: self.began,
                clock: self.clock,
                answered_after: self.clock.elapsed(),
            })
        });
        parts.headers = Passed { headers: &parts.headers, host: None, is_upgrade: false, keeps_transfer: false }.collect();
        parts.version = Version::HTTP_11;
        Response::from_parts(parts, Either::Left(Passing::new(body, shared.counts.clone(), watch, busy)))
    }

    fn failed(&self, error: &legacy::Error, trouble: &Trouble) -> Refusal {
        if trouble.too_long.load(Relaxed) {
            count(&self.shared.counts.refused);
            return too_long(&self.active.settings);
        }
        if trouble.broken.load(Relaxed) {
            return broken();
        }
        if error.is_connect() {
            return self.unreachable(&format!("no connection: {}", root_cause(error)));
        }
        self.unreachable(&format!("it broke off before it answered: {}", root_cause(error)))
    }

    fn unreachable(&self, reason: &str) -> Refusal {
        count(&self.shared.counts.upstream_errors);
        Refusal::new(
            StatusCode::BAD_GATEWAY,
            format!("yore's proxy got no answer from upstream {}: {reason}", self.route.upstream),
        )
    }
}

/// The memory's part in a request.
struct Part {
    asked: Asked,
    wants: Wants,
    coding: String,
    request: Option<Copied>,
    added: Vec<Addition>,
}

/// Appends the rest of the path and the query to the upstream's address, byte for byte.
fn target(base: &Url, route: &Route, query: Option<&str>) -> Option<Uri> {
    let mut path = format!("{}{}", base.path().trim_end_matches('/'), route.rest);
    if path.is_empty() {
        path.push('/');
    }
    if let Some(query) = query {
        path.push('?');
        path.push_str(query);
    }
    Uri::builder().scheme(base.scheme()).authority(authority(base)?).path_and_query(path).build().ok()
}

fn too_long(settings: &Settings) -> Refusal {
    let limit = settings.longest_body;
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the request is longer than {limit} bytes, the limit of yore's proxy"))
}

fn broken() -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "the request broke off")
}

/// Returns the innermost cause of an error, which says most.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Returns an answer of the proxy itself.
fn own(protocol: Option<Protocol>, Refusal { status, message }: &Refusal) -> Response<AnswerBody> {
    let mut answer = Response::new(Either::Right(Full::from(wire::error_body(protocol, message))));
    *answer.status_mut() = *status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Reads the body of a refused request for a while: a client that still sends when the connection closes may never see the answer.
fn drain(request: Request<Incoming>, longest: usize) {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
    let waits_for_leave = request.headers().contains_key(header::EXPECT) || request.method() == Method::CONNECT;
    if waits_for_leave || hyper::body::Body::is_end_stream(request.body()) {
        return;
    }
    let mut body = http_body_util::Limited::new(request.into_body(), longest.saturating_mul(2));
    tokio::spawn(tokio::time::timeout(PATIENCE, async move {
        while let Some(Ok(_)) = http_body_util::BodyExt::frame(&mut body).await {}
    }));
}
