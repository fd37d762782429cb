//! The web page: what the memory holds, for people. Server-rendered HTML over the calls of the API.
//!
//! - [`router`]: the page below a secret path, the link that opens it, and its assets
//! - `view`: a view, and its arguments; `layout`: what every view has around it; `parts`: pieces that views share
//! - one file for each group of views; `memories`, `memory`, `timeline`, `inbox`, `entities`, `operations`, `forgetting`: memories; `search`: search, and a thing at a level; `sessions`: lists; `reader`: a session
//! - `markdown`: Markdown of recorded text as markup; `marker`: marks words in it
//! - `assets`: style sheet and modules, which the page needs for changes, not for reading
//!
//! Everything that was recorded is text: nothing of it is inserted as markup, and a strict content policy lets nothing else run.

mod assets;
mod categories;
mod cost;
mod entities;
mod forgetting;
mod forms;
mod graph;
mod health;
mod inbox;
mod insights;
mod layout;
mod markdown;
mod marker;
mod memories;
mod memory;
mod operations;
mod parts;
mod projects;
mod reader;
mod receipts;
mod search;
mod sessions;
mod settings;
mod team;
mod timeline;
mod view;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use yore_engine::platform;

use self::layout::Around;
use self::view::{Input, Row};
use crate::api::{Api, status_of, tagged};
use crate::error::CliError;
use crate::http::browser::{Browsers, ENTER, Known};

/// Header with which a script asks for the content of a view alone.
const PART: HeaderName = HeaderName::from_static("yore-part");
const HTML: &str = "text/html; charset=utf-8";

/// Headers of every answer, beside the content policy.
const HEADERS: [(&str, &str); 7] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
];

/// All views.
fn views() -> Vec<Row> {
    [
        search::views(),
        sessions::views(),
        reader::views(),
        memories::views(),
        receipts::views(),
        categories::views(),
        insights::views(),
        projects::views(),
        cost::views(),
        health::views(),
        settings::views(),
        team::views(),
        memory::views(),
        timeline::views(),
        inbox::views(),
        entities::views(),
        operations::views(),
        forgetting::views(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the router of the page: `/`, the link, and everything below the browsers' path.
pub fn router(api: &Arc<Api>, browsers: &Arc<Browsers>) -> Router {
    let page = Arc::new(Page { api: Arc::clone(api), browsers: Arc::clone(browsers) });
    let base = browsers.base().to_owned();
    let mut below: Router<Arc<Page>> = Router::new();
    for row in views() {
        below = below.route(
            row.path,
            get(
                move |State(page): State<Arc<Page>>,
                      Extension(known): Extension<Known>,
                      Path(path): Path<HashMap<String, String>>,
                      uri: Uri,
                      headers: HeaderMap| async move {
                    let query = uri.query().map(str::to_owned);
                    page.show(row, &known, &uri, Input { path, query }, &headers).await
                },
            ),
        );
    }
    below =
        below.route("/assets/{name}", get(|Path(name): Path<String>, headers: HeaderMap| async move { asset(&name, &headers) }));
    let (moved, of_page) = (base.clone(), base.clone());
    Router::new()
        .route("/", get(landing))
        .route(ENTER, get(enter))
        .route(
            &base,
            get(move |RawQuery(query): RawQuery| async move {
                let query = query.map(|query| format!("?{query}")).unwrap_or_default();
                (StatusCode::PERMANENT_REDIRECT, [(LOCATION, format!("{moved}/{query}"))])
            }),
        )
        .nest(&format!("{base}/"), below.with_state(Arc::clone(&page)))
        .with_state(page)
        .nest(&base, api.router())
        .fallback(move |uri: Uri| async move { nothing(&uri, &of_page) })
}

/// Answers for a path at which there is nothing: within the page as a document, else as data.
fn nothing(uri: &Uri, base: &str) -> Response {
    let is_page = uri.path().strip_prefix(base).is_some_and(|rest| rest.starts_with('/') && !rest.starts_with("/api/"));
    if is_page {
        html(StatusCode::NOT_FOUND, layout::nothing(base).into_string(), layout::NO_SCRIPTS)
    } else {
        crate::api::problem(&crate::api::unknown_path())
    }
}

/// The page over a memory.
struct Page {
    api: Arc<Api>,
    browsers: Arc<Browsers>,
}

impl Page {
    /// Shows a view, whole or only its content.
    async fn show(self: Arc<Self>, row: Row, known: &Known, uri: &Uri, input: Input, headers: &HeaderMap) -> Response {
        let query = input.query.clone().unwrap_or_default();
        let outcome = self.api.call(move |caller| (row.view)(caller, &input)).await;
        let (status, content) = match outcome {
            Ok(content) => (StatusCode::OK, content),
            Err(error) => (status_of(&error), layout::error(&error)),
        };
        if headers.contains_key(PART) {
            return html(status, content.body.into_string(), layout::NO_SCRIPTS);
        }
        let path = format!("{}{}", self.browsers.base(), uri.path());
        let Ok(nonce) = platform::random_token() else { return failed() };
        let around =
            Around { base: self.browsers.base(), csrf: &known.csrf, nonce: &nonce, view: row.path, path: &path, query: &query };
        html(status, layout::whole(&around, &content).into_string(), &layout::policy(&nonce))
    }
}

/// Shows to whoever has no link how to get one.
async fn landing() -> Response {
    html(StatusCode::OK, layout::landing(None).into_string(), layout::NO_SCRIPTS)
}

/// Opens a link: sets the cookie, and goes on to the page. A redirection would count as one from the program that opened the link,
/// and strict cookies would not be sent with it, so the page itself goes on.
async fn enter(State(page): State<Arc<Page>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let given = |wanted: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
    };
    match page.browsers.enter(&given("code").unwrap_or_default(), Instant::now()) {
        Ok(Some(cookie)) => {
            // A path below the page: nothing that leads elsewhere.
            let to = given("to").filter(|to| !to.starts_with(['/', '\\']) && !to.contains([':', '\r', '\n'])).unwrap_or_default();
            let target = format!("{}/{to}", page.browsers.base());
            let mut response = html(StatusCode::OK, layout::entering(&target).into_string(), layout::NO_SCRIPTS);
            if let Ok(cookie) = HeaderValue::from_str(&cookie) {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        Ok(None) => {
            let why = "This link was used already, or is older than a minute.";
            html(StatusCode::FORBIDDEN, layout::landing(Some(why)).into_string(), layout::NO_SCRIPTS)
        }
        Err(_) => failed(),
    }
}

fn asset(name: &str, headers: &HeaderMap) -> Response {
    match assets::find(name) {
        Some((kind, body)) => with_headers(tagged(kind, body.as_bytes().to_vec(), headers)),
        None => crate::api::problem(&CliError {
            exit: crate::error::Exit::Nothing,
            code: "unknown-path".to_owned(),
            message: "there is no such file".to_owned(),
            hint: None,
        }),
    }
}

fn html(status: StatusCode, body: String, policy: &str) -> Response {
    let mut response = with_headers((status, [(CONTENT_TYPE, HTML)], body).into_response());
    if let Ok(policy) = HeaderValue::from_str(policy) {
        response.headers_mut().insert("content-security-policy", policy);
    }
    response
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let is_set = name == CACHE_CONTROL && response.headers().contains_key(CACHE_CONTROL);
        if !is_set {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    response
}

/// Answers if the system gives no random numbers.
fn failed() -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random numbers\n").into_response()
}
