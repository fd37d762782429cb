//! The routes of a team's server, as a router that any number of connections share.
//!
//! - `routes`: one handler per route
//! - `input`: the caller, the path, the query and the body of a request, checked before a handler sees them
//! - `gate`: how much is in work at once, for how long, and how often the store is asked about tokens after wrong ones
//! - `metrics`: counters
//! - `refusal`: errors as answers
//!
//! A stranger is refused before a byte of a body is read, a body before it is parsed, and everything before the database sees it.

mod gate;
mod input;
mod metrics;
mod refusal;
mod routes;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION, X_CONTENT_TYPE_OPTIONS};
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use uuid::Uuid;
use yore_core::time::UtcMillis;

use crate::postgres::Postgres;
use crate::secret::Secret;
use crate::store::{Store, StoreError, StoredInvite};
use crate::wire::{Invite, MOST_NAME, Role};

pub(crate) use gate::Holding;
use gate::{Failures, Gate};
pub use gate::{LONGEST_HEAD, Limits};
use metrics::Metrics;
use refusal::Refusal;

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;
/// Hours that an invitation may be valid.
const HOURS: std::ops::RangeInclusive<u32> = 1..=720;

/// Settings of a [`router`].
#[derive(Clone, Copy, Debug)]
pub struct ServerSettings {
    /// Serves `/metrics` to everybody who can connect.
    pub metrics: bool,
    /// The clock.
    pub now: fn() -> UtcMillis,
    /// Takes one line for each failure that an operator should know of. Lines contain no secret and no text of a memory.
    pub log: fn(&str),
    /// Limits.
    pub limits: Limits,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { metrics: false, now: system_clock, log: |_| (), limits: Limits::default() }
    }
}

/// Returns the time of this computer's clock.
pub fn system_clock() -> UtcMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UtcMillis::try_from(since.as_millis()).unwrap_or(UtcMillis::MAX)
}

/// The other side of a request's connection. Whoever serves a [`router`] adds it to the extensions of each request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Address, by which failures are counted.
    pub address: IpAddr,
    /// Becomes true once the connection has sent a valid token.
    pub is_known: Arc<AtomicBool>,
    /// True once the server is about to end, which `/ready` tells.
    pub is_stopping: Arc<AtomicBool>,
}

impl Default for Peer {
    fn default() -> Self {
        Self { address: Ipv4Addr::UNSPECIFIED.into(), is_known: Arc::default(), is_stopping: Arc::default() }
    }
}

/// Everything that the handlers share.
struct App<S> {
    store: Arc<S>,
    settings: ServerSettings,
    gate: Gate,
    failures: Failures,
    metrics: Metrics,
}

/// Returns a router that serves a store by the table in [`crate::wire`], and `/health`, `/ready` and `/metrics`.
pub fn router<S: Store>(store: Arc<S>, settings: ServerSettings) -> Router {
    let mut patterns = Vec::new();
    let mut router = Router::new();
    for (pattern, method) in table::<S>() {
        if pattern != METRICS || settings.metrics {
            patterns.push(pattern);
            let mark = map_response(async move |mut response: Response| {
                response.extensions_mut().insert(Pattern(pattern));
                response
            });
            router = router.route(pattern, method.fallback(async || wrong_method()).layer(mark));
        }
    }
    let app = Arc::new(App {
        store,
        settings,
        gate: Gate::new(settings.limits),
        failures: Failures::new(settings.limits.failures),
        metrics: Metrics::new(patterns),
    });
    router
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "team/route", "there is no such route"))
        .layer(from_fn_with_state(Arc::clone(&app), observe))
        .with_state(app)
}

const METRICS: &str = "/metrics";

/// The route that answered, for the counters.
#[derive(Clone, Copy)]
struct Pattern(&'static str);

fn wrong_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "team/method", "the route has another method")
}

/// Returns all routes.
fn table<S: Store>() -> [(&'static str, MethodRouter<Arc<App<S>>>); 19] {
    [
        ("/health", get(async || "ok")),
        ("/ready", get(routes::ready::<S>)),
        (METRICS, get(routes::metrics::<S>)),
        ("/v1/join", post(routes::join::<S>)),
        ("/v1/me", get(routes::me::<S>)),
        ("/v1/members", get(routes::members::<S>)),
        ("/v1/invites", post(routes::invite::<S>)),
        ("/v1/members/{id}/remove", post(routes::remove::<S>)),
        ("/v1/members/{id}/withdraw", post(routes::withdraw::<S>)),
        ("/v1/members/{id}/restore", post(routes::restore::<S>)),
        ("/v1/leave", post(routes::leave::<S>)),
        ("/v1/projects", get(routes::projects::<S>)),
        ("/v1/projects/{name}/push", post(routes::push::<S>)),
        ("/v1/projects/{name}/pull", get(routes::pull::<S>)),
        ("/v1/projects/{name}/sessions", get(routes::own_sessions::<S>).post(routes::share_sessions::<S>)),
        ("/v1/projects/{name}/sessions/remove", post(routes::remove_sessions::<S>)),
        ("/v1/projects/{name}/sessions/read", post(routes::read_session::<S>)),
        ("/v1/projects/{name}/search", post(routes::search::<S>)),
        ("/v1/audit", get(routes::audit::<S>)),
    ]
}

/// Counts a request, and gives its answer the headers that all have.
async fn observe<S: Store>(State(app): State<Arc<App<S>>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let has_body = !request.body().is_end_stream();
    let mut response = match input::check_head(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if has_body && !status.is_success() {
        // The body may not have been read: the connection cannot be used again.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let pattern = response.extensions().get::<Pattern>().map(|Pattern(pattern)| *pattern);
    app.metrics.count(pattern, status, start.elapsed());
    response
}

impl<S> App<S> {
    /// Returns the time of the server's clock.
    fn now(&self) -> UtcMillis {
        (self.settings.now)()
    }

    /// Logs a failure in one line.
    fn log(&self, line: &str) {
        (self.settings.log)(&line.replace(char::is_control, " "));
    }
}

/// Returns the other side of a request's connection.
fn peer(extensions: &Extensions) -> Peer {
    extensions.get::<Peer>().cloned().unwrap_or_default()
}

/// A team, or the operator's invitation of an owner, could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The name is not one.
    #[error("a team's name has 1 to {MOST_NAME} characters, and no control or invisible characters")]
    Name,
    /// The address is not one.
    #[error("an address has one @, no spaces or invisible characters, and at most {MOST_NAME} characters")]
    Address,
    /// The hours are out of range.
    #[error("an invitation is valid for {} to {} hours", HOURS.start(), HOURS.end())]
    Hours,
    /// No team has the name.
    #[error("no team has this name")]
    NoTeam,
    /// Several teams have the name.
    #[error("{0} teams have this name")]
    SeveralTeams(usize),
    /// The operating system gave no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Creates a team, and returns its id and the invitation of its first owner. Only the operator of the server can.
///
/// # Errors
/// Fails if the name or the hours are not allowed, if a team has the name, or if the store fails.
pub async fn create_team<S: Store>(store: &S, name: &str, hours: u32, now: UtcMillis) -> Result<(Uuid, Invite), CreateError> {
    if !input::is_plain_name(name) {
        return Err(CreateError::Name);
    }
    let team = random_uuid()?;
    let (stored, invite) = owner_invite(team, None, hours, now)?;
    store.create_team(team, name, &stored, now).await?;
    Ok((team, invite))
}

/// Invites an owner to a team with a name, and returns its id and the invitation: for a team whose owners lost their access. Only
/// the operator of the server can. With an address, it is for that one alone; a member who has it gets a further computer, and
/// keeps their role.
///
/// # Errors
/// Fails if the address or the hours are not allowed, if no team or several have the name, or if the store fails.
pub async fn invite_owner(
    store: &Postgres,
    team_name: &str,
    email: Option<String>,
    hours: u32,
    now: UtcMillis,
) -> Result<(Uuid, Invite), CreateError> {
    let email = email.map(|email| input::plain_address(&email).ok_or(CreateError::Address)).transpose()?;
    let team = match store.team_named(team_name).await?[..] {
        [team] => team,
        [] => return Err(CreateError::NoTeam),
        ref teams => return Err(CreateError::SeveralTeams(teams.len())),
    };
    let (stored, invite) = owner_invite(team, email, hours, now)?;
    store.add_owner_invite(team, &stored, now).await?;
    Ok((team, invite))
}

/// Makes an invitation of an owner, as it is stored and as it is shown.
fn owner_invite(team: Uuid, email: Option<String>, hours: u32, now: UtcMillis) -> Result<(StoredInvite, Invite), CreateError> {
    if !HOURS.contains(&hours) {
        return Err(CreateError::Hours);
    }
    let secret = Secret::new(team, random()?);
    let expires = now.saturating_add(i64::from(hours) * HOUR_MS);
    let stored = StoredInvite { hash: secret.hash(), role: Role::Owner, email, expires };
    Ok((stored, Invite { invite: secret.text(), expires }))
}

/// Returns random bytes.
fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Returns a random id.
fn random_uuid() -> Result<Uuid, getrandom::Error> {
    Ok(uuid::Builder::from_random_bytes(random()?).into_uuid())
}
