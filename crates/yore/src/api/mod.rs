//! The HTTP API: every verb of the memory as a route with typed arguments and results.
//!
//! - [`Api`]: the router below `/api/v1`, and the same calls for the page
//! - [`route`]: a route, and how its arguments are read; [`calls`]: the functions that answer
//! - [`openapi`]: the description of all routes; [`events`]: what happens, as it happens
//! - [`once`]: changes with an `Idempotency-Key` are made once
//!
//! Errors are `application/problem+json` with the codes and remedies of the command line. Every answer to GET has an `ETag`.

pub mod calls;
pub mod events;
pub mod once;
pub mod openapi;
pub mod route;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on};
use serde_json::{Map, Value, json};

use self::events::{Event, Feed};
use self::once::{Answered, Once, Turn};
use self::route::{Caller, Route, Types};
use crate::engine_handle::EngineHandle;
use crate::error::{CliError, CliResult, Exit};
use crate::http::guard::LONGEST_REQUEST;
use crate::http::problem::{PROBLEM_JSON, Problem};
use crate::settings::Settings;

/// Path of the routes.
pub const PATH: &str = "/api/v1";
/// Path of their description.
pub const DESCRIPTION: &str = "/api/openapi.json";
/// The name by which routes say that they recall, which is no verb of the table.
#[cfg(test)]
const RECALL: &str = "recall";
const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Interval at which a client that takes events is told that its answer is still being made.
const STILL_WORKING: Duration = Duration::from_secs(2);

/// All routes.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(calls::routes);

/// The API over a memory.
pub struct Api {
    handle: EngineHandle,
    settings: Settings,
    feed: Feed,
    once: Once,
}

impl Api {
    /// Serves a memory; `feed` tells what happens in it.
    pub fn new(handle: EngineHandle, settings: Settings, feed: Feed) -> Arc<Self> {
        Arc::new(Self { handle, settings, feed, once: Once::default() })
    }

    /// Returns the router of the API, with its paths from the root.
    pub fn router(self: &Arc<Self>) -> Router {
        let mut routes: Router<Arc<Self>> = Router::new();
        for route in ROUTES.iter() {
            let Ok(filter) = MethodFilter::try_from(route.method.clone()) else { continue };
            let types = Arc::new(route.types());
            routes = routes.route(
                &format!("{PATH}{}", route.path),
                on(
                    filter,
                    move |State(api): State<Arc<Self>>,
                          Path(path): Path<HashMap<String, String>>,
                          RawQuery(query),
                          headers,
                          body| { answer(api, route, types, Sent { path, query, headers, body }) },
                ),
            );
        }
        routes
            .route(&format!("{PATH}/events"), get(|State(api): State<Arc<Self>>| async move { api.feed.listen() }))
            .route(DESCRIPTION, get(|headers: HeaderMap| async move { described(&headers) }))
            .method_not_allowed_fallback(|| async {
                let error = CliError::usage("this path has no such method", Some("`/api/openapi.json` lists them"));
                problem_with(&error, StatusCode::METHOD_NOT_ALLOWED)
            })
            .with_state(Arc::clone(self))
    }

    /// Runs a call on the memory, off the runtime.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&mut Caller<'_>) -> CliResult<T> + Send + 'static,
    ) -> CliResult<T> {
        let api = Arc::clone(self);
        let may_be_full = self.settings.may_be_full();
        self.handle.storing(move |memory| call(&mut Caller { memory, may_be_full, settings: &api.settings })).await
    }
}

/// The parts of a request.
struct Sent {
    path: HashMap<String, String>,
    query: Option<String>,
    headers: HeaderMap,
    body: Body,
}

async fn answer(api: Arc<Api>, route: &'static Route, types: Arc<Types>, sent: Sent) -> Response {
    let headers = sent.headers.clone();
    // The guard has already read the body.
    let Ok(body) = axum::body::to_bytes(sent.body, LONGEST_REQUEST).await else {
        return problem(&CliError::usage("the request ended too early", None));
    };
    let arguments = match arguments(route, &types, sent.path, sent.query.as_deref(), &headers, &body) {
        Ok(arguments) => arguments,
        Err(error) => return problem(&error),
    };
    let key = headers.get(IDEMPOTENCY_KEY).filter(|_| route.is_write).map(|key| key.to_str().map(str::to_owned));
    let key = match key.transpose() {
        Ok(key) => key,
        Err(_) => return problem(&CliError::usage("the Idempotency-Key is not text", None)),
    };
    if let Some(key) = &key {
        match api.once.begin(key, fingerprint(route, &arguments), Instant::now()) {
            Ok(Turn::First) => {}
            Ok(Turn::Repeated(Answered { status, body })) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                return (status, [(CONTENT_TYPE, JSON)], body).into_response();
            }
            Err(error) => return problem(&error),
        }
    }
    let work = run(Arc::clone(&api), route, arguments, key);
    if wants_events(&headers) {
        return as_events(work);
    }
    match work.await {
        Ok(value) => json_response(&value, &route.method, &headers),
        Err(error) => problem(&error),
    }
}

/// Runs a route; a change is told to those who listen, and its answer kept under its key.
async fn run(api: Arc<Api>, route: &'static Route, arguments: Map<String, Value>, key: Option<String>) -> CliResult<Value> {
    // A change goes on if its client goes away: in a task of its own.
    let task = tokio::spawn(async move {
        let outcome = api.call(move |caller| (route.call)(caller, arguments)).await;
        if let Some(key) = &key {
            match &outcome {
                Ok(value) => api.once.done(key, Answered { status: 200, body: serde_json::to_vec(value).unwrap_or_default() }),
                Err(_) => api.once.failed(key),
            }
        }
        if route.is_write && outcome.is_ok() {
            api.feed.send(Event::Changed { verb: route.verbs.first().copied().unwrap_or_default().to_owned() });
        }
        outcome
    });
    task.await.unwrap_or_else(|_| {
        Err(CliError {
            exit: Exit::Data,
            code: "internal".to_owned(),
            message: "internal error in the daemon, please report it".to_owned(),
            hint: None,
        })
    })
}

/// Answers by events: `working` while the answer is made, then `answer` or `error`.
fn as_events(work: impl Future<Output = CliResult<Value>> + Send + 'static) -> Response {
    let (send, receive) = tokio::sync::mpsc::channel(4);
    tokio::spawn(async move {
        let mut work = std::pin::pin!(work);
        loop {
            match tokio::time::timeout(STILL_WORKING, work.as_mut()).await {
                Ok(outcome) => {
                    let event = match &outcome {
                        Ok(value) => events::told("answer", value),
                        Err(error) => events::told("error", &problem_of(error, status_of(error))),
                    };
                    let _ = send.send(Ok(event)).await;
                    return;
                }
                Err(_) => {
                    if send.send(Ok(events::told("working", &json!({})))).await.is_err() {
                        return;
                    }
                }
            }
        }
    });
    events::stream(receive).into_response()
}

fn wants_events(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| accept.starts_with(EVENT_STREAM))
}

/// Puts the arguments of path, query and body together.
fn arguments(
    route: &Route,
    types: &Types,
    path: HashMap<String, String>,
    query: Option<&str>,
    headers: &HeaderMap,
    body: &Bytes,
) -> CliResult<Map<String, Value>> {
    let mut arguments = Map::new();
    if !body.is_empty() {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON)) {
            return Err(CliError::usage("the body is not application/json", None));
        }
        let body: Value = serde_json::from_slice(body).map_err(|error| CliError::usage(format!("the body: {error}"), None))?;
        let Value::Object(body) = body else { return Err(CliError::usage("the body is not an object", None)) };
        arguments = body;
    }
    for (name, value) in path {
        // The path goes before the body.
        arguments.remove(&name);
        types.add(&mut arguments, &name, &value)?;
    }
    let query = query.unwrap_or_default();
    if !query.is_empty() && route.method != Method::GET {
        return Err(CliError::usage("arguments of this route belong into its body", None));
    }
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        types.add(&mut arguments, &name, &value)?;
    }
    Ok(arguments)
}

/// Hash of a change, by which a repetition is known.
fn fingerprint(route: &Route, arguments: &Map<String, Value>) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    hash.update(format!("{} {}\n", route.method, route.path).as_bytes());
    hash.update(&serde_json::to_vec(arguments).unwrap_or_default());
    *hash.finalize().as_bytes()
}

fn described(headers: &HeaderMap) -> Response {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::document(&ROUTES));
    json_response(&DOCUMENT, &Method::GET, headers)
}

/// Makes the response of an answer; what the client has already is not sent again.
fn json_response(value: &Value, method: &Method, headers: &HeaderMap) -> Response {
    let body = serde_json::to_vec(value).unwrap_or_default();
    if *method != Method::GET {
        return ([(CONTENT_TYPE, JSON), (CACHE_CONTROL, "no-store")], body).into_response();
    }
    tagged(JSON, body, headers)
}

/// Makes a response with an `ETag`; 304 if the client has that version.
pub fn tagged(kind: &'static str, body: Vec<u8>, headers: &HeaderMap) -> Response {
    let tag = format!("\"{}\"", &blake3::hash(&body).to_hex()[..32]);
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    let is_known = known.flat_map(|known| known.split(',')).map(str::trim).any(|known| known == tag || known == "*");
    let mut response = if is_known { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let sent = response.headers_mut();
    sent.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if !is_known {
        sent.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        sent.insert(ETAG, tag);
    }
    response
}

/// Returns the error for a path at which there is nothing.
pub fn unknown_path() -> CliError {
    CliError {
        exit: Exit::Nothing,
        code: "unknown-path".to_owned(),
        message: "there is nothing at this path".to_owned(),
        hint: Some("`/api/openapi.json` lists the paths".to_owned()),
    }
}

/// Returns the HTTP status of an error.
pub fn status_of(error: &CliError) -> StatusCode {
    match error.exit {
        // It is there, but something else stands in the way.
        Exit::Nothing | Exit::Usage if error.code.ends_with("/not-undone") => StatusCode::CONFLICT,
        Exit::Nothing => StatusCode::NOT_FOUND,
        Exit::Usage if error.code.ends_with("/unknown") => StatusCode::NOT_FOUND,
        Exit::Busy if error.code == "in-progress" => StatusCode::CONFLICT,
        Exit::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Exit::Success | Exit::Usage => StatusCode::BAD_REQUEST,
        Exit::Data => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn problem_of(error: &CliError, status: StatusCode) -> Problem {
    Problem::new(status.as_u16(), error.code.clone(), error.message.clone(), error.hint.clone())
}

/// Makes the response of an error.
pub fn problem(error: &CliError) -> Response {
    problem_with(error, status_of(error))
}

fn problem_with(error: &CliError, status: StatusCode) -> Response {
    let body = serde_json::to_vec(&problem_of(error, status)).unwrap_or_default();
    let mut response = (status, [(CONTENT_TYPE, PROBLEM_JSON), (CACHE_CONTROL, "no-store")], body).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::verbs::Verb;

    #[test]
    fn every_verb_has_a_route_and_every_route_names_verbs() {
        let known: BTreeSet<&str> = Verb::NAMES.iter().copied().collect();
        let served: BTreeSet<&str> = ROUTES.iter().flat_map(|route| route.verbs.iter().copied()).collect();
        let without: Vec<&&str> = known.difference(&served).collect();
        let unknown: Vec<&&str> = served.difference(&known).filter(|name| **name != RECALL).collect();
        assert!(without.is_empty() && unknown.is_empty(), "verbs without a route: {without:?}; routes of no verb: {unknown:?}");
    }

    #[test]
    fn a_route_that_changes_something_serves_a_verb_that_does() {
        let reads = [Method::GET, Method::POST];
        for route in ROUTES.iter().filter(|route| !route.is_write) {
            assert!(reads.contains(&route.method), "{} {}", route.method, route.path);
        }
        let paths: BTreeSet<(&str, &str)> = ROUTES.iter().map(|route| (route.method.as_str(), route.path)).collect();
        assert_eq!(paths.len(), ROUTES.len(), "each route stands once");
    }

    #[test]
    fn everything_is_described() {
        let document = openapi::document(&ROUTES);
        let mut faults = Vec::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let at = format!("{method} {path}");
                if operation["summary"].as_str().is_none_or(str::is_empty) {
                    faults.push(format!("{at}: no summary"));
                }
                for parameter in operation["parameters"].as_array().unwrap() {
                    if parameter["description"].as_str().is_none_or(str::is_empty) {
                        faults.push(format!("{at}: {} is not described", parameter["name"]));
                    }
                }
                for part in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                    let is_declared =
                        operation["parameters"].as_array().unwrap().iter().any(|one| one["name"] == part && one["in"] == "path");
                    if !is_declared {
                        faults.push(format!("{at}: {part} is no argument"));
                    }
                }
                let body = &operation["requestBody"]["content"]["application/json"]["schema"]["properties"];
                for (name, property) in body.as_object().into_iter().flatten() {
                    if property["description"].as_str().is_none_or(str::is_empty) {
                        faults.push(format!("{at}: {name} is not described"));
                    }
                }
            }
        }
        let text = document.to_string();
        let mut rest = text.as_str();
        while let Some(at) = rest.find("\"#/components/schemas/") {
            rest = &rest[at + "\"#/components/schemas/".len()..];
            let name = &rest[..rest.find('"').unwrap()];
            if document["components"]["schemas"].get(name).is_none() {
                faults.push(format!("no schema {name}"));
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }
}
