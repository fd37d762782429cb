//! One handler per route. All checks are made when a handler has its arguments, or in its first lines.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::gate::{Holding, SHORT};
use super::input::{
    Id, Json, Known, Named, Params, Stranger, address, check_hours, check_operations, check_search, check_sessions, name,
    wrong_session,
};
use super::refusal::Refusal;
use super::{App, HOUR_MS, peer, random};
use crate::secret::Secret;
use crate::store::{Newcomer, Store, StoredInvite};
use crate::wire::{
    Invite, Join, Joined, MOST_BODY, MOST_RECORDS, NewInvite, Outcome, Push, Pushed, ReadSession, RemoveSessions, Search,
    ShareSessions, is_beginning, is_name,
};

/// Most bytes of a search.
const MOST_SEARCH: usize = 64 * 1024;

type Of<S> = State<Arc<App<S>>>;
type Answer = Result<Response, Refusal>;

/// `GET /ready`.
pub(super) async fn ready<S: Store>(State(app): Of<S>, extensions: Extensions) -> Answer {
    if peer(&extensions).is_stopping.load(Relaxed) {
        return Err(Refusal::later("team/stopping", "the server is about to end"));
    }
    app.work(app.settings.limits.deadline, app.store.ping()).await?;
    Ok("ok".into_response())
}

/// `GET /metrics`.
pub(super) async fn metrics<S: Store>(State(app): Of<S>) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.text()).into_response()
}

/// `POST /v1/join`.
pub(super) async fn join<S: Store>(State(app): Of<S>, stranger: Stranger, Json { value, .. }: Json<Join, SHORT>) -> Answer {
    let Join { invite, name: person, email, computer } = value;
    let invite = stranger.secret(&app, Some(&invite))?;
    let token = Secret::new(invite.team, random().map_err(|error| app.no_random(error))?);
    let who = Newcomer {
        invite: invite.hash(),
        token: token.hash(),
        name: name("the person", person)?,
        email: address(&email)?,
        computer: name("the computer", computer)?,
    };
    match app.work(app.settings.limits.deadline, app.store.join(invite.team, &who, app.now())).await? {
        Some(me) => app.json(&Joined { token: token.text(), me }).await,
        None => Err(stranger.fail(&app, "team/invite", "the invitation is not valid, is used up, or is for another address")),
    }
}

/// `GET /v1/me`.
pub(super) async fn me<S: Store>(State(app): Of<S>, Known { caller, .. }: Known) -> Answer {
    app.json(&caller.me).await
}

/// `GET /v1/members`.
pub(super) async fn members<S: Store>(State(app): Of<S>, Known { caller, left }: Known) -> Answer {
    app.json(&app.work(left, app.store.members(&caller)).await?).await
}

/// `POST /v1/invites`.
pub(super) async fn invite<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Json { value, .. }: Json<NewInvite, SHORT>,
) -> Answer {
    let NewInvite { role, email, hours } = value;
    check_hours(hours)?;
    let email = email.as_deref().map(address).transpose()?;
    let secret = Secret::new(caller.me.team, random().map_err(|error| app.no_random(error))?);
    let now = app.now();
    let expires = now.saturating_add(i64::from(hours) * HOUR_MS);
    let stored = StoredInvite { hash: secret.hash(), role, email, expires };
    app.work(left, app.store.invite(&caller, &stored, now)).await?;
    app.json(&Invite { invite: secret.text(), expires }).await
}

/// `POST /v1/members/{id}/remove`.
pub(super) async fn remove<S: Store>(State(app): Of<S>, Known { caller, left }: Known, Id(member): Id) -> Answer {
    app.json(&app.work(left, app.store.remove(&caller, member, app.now())).await?).await
}

/// `POST /v1/members/{id}/withdraw`.
pub(super) async fn withdraw<S: Store>(State(app): Of<S>, Known { caller, left }: Known, Id(member): Id) -> Answer {
    app.json(&app.work(left, app.store.withdraw(&caller, member, true, app.now())).await?).await
}

/// `POST /v1/members/{id}/restore`.
pub(super) async fn restore<S: Store>(State(app): Of<S>, Known { caller, left }: Known, Id(member): Id) -> Answer {
    app.json(&app.work(left, app.store.withdraw(&caller, member, false, app.now())).await?).await
}

/// `POST /v1/leave`.
pub(super) async fn leave<S: Store>(State(app): Of<S>, Known { caller, left }: Known) -> Answer {
    app.work(left, app.store.leave(&caller, app.now())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /v1/projects`.
pub(super) async fn projects<S: Store>(State(app): Of<S>, Known { caller, left }: Known) -> Answer {
    app.json(&app.work(left, app.store.projects(&caller)).await?).await
}

/// `POST /v1/projects/{name}/push`.
pub(super) async fn push<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Json { value: Push { operations }, _held }: Json<Push, MOST_BODY>,
) -> Answer {
    check_operations(&operations)?;
    let outcomes = app.work(left, app.store.push(&caller, &project, &operations, app.now())).await?;
    let done = outcomes.iter().filter(|outcome| **outcome == Outcome::Done).count();
    app.metrics.done.fetch_add(done as u64, Relaxed);
    app.metrics.refused.fetch_add((outcomes.len() - done) as u64, Relaxed);
    app.json(&Pushed { outcomes }).await
}

/// Query of a pull.
#[derive(Deserialize)]
pub(super) struct Page {
    after: Option<u64>,
    limit: Option<u64>,
}

/// `GET /v1/projects/{name}/pull`.
pub(super) async fn pull<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Params(Page { after, limit }): Params<Page>,
) -> Answer {
    let pulled = app.store.pull(&caller, &project, number(after.unwrap_or(0)), clamp(limit));
    let pulled = app.work(left, pulled).await?;
    app.metrics.pulled.fetch_add(pulled.records.len() as u64, Relaxed);
    app.json(&pulled).await
}

/// `GET /v1/projects/{name}/sessions`.
pub(super) async fn own_sessions<S: Store>(State(app): Of<S>, Known { caller, left }: Known, Named(project): Named) -> Answer {
    app.json(&app.work(left, app.store.own_sessions(&caller, &project)).await?).await
}

/// `POST /v1/projects/{name}/sessions`.
pub(super) async fn share_sessions<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Json { value: ShareSessions { order, sessions }, _held }: Json<ShareSessions, MOST_BODY>,
) -> Answer {
    check_sessions(&sessions)?;
    app.work(left, app.store.share_sessions(&caller, &project, order, &sessions, app.now())).await?;
    let turns: usize = sessions.iter().map(|session| session.turns.len()).sum();
    app.metrics.turns.fetch_add(turns as u64, Relaxed);
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /v1/projects/{name}/sessions/remove`.
pub(super) async fn remove_sessions<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Json { value: RemoveSessions { order, ids }, .. }: Json<RemoveSessions, MOST_BODY>,
) -> Answer {
    if ids.iter().flatten().any(|id| !is_name(id)) {
        return Err(wrong_session());
    }
    app.work(left, app.store.remove_sessions(&caller, &project, order, ids.as_deref(), app.now())).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `POST /v1/projects/{name}/sessions/read`.
pub(super) async fn read_session<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Json { value: which, .. }: Json<ReadSession, SHORT>,
) -> Answer {
    if !is_beginning(&which.id) {
        return Err(wrong_session());
    }
    app.json(&app.work(left, app.store.read_session(&caller, &project, &which, app.now())).await?).await
}

/// `POST /v1/projects/{name}/search`.
pub(super) async fn search<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Named(project): Named,
    Json { value: search, .. }: Json<Search, MOST_SEARCH>,
) -> Answer {
    check_search(&search)?;
    let found = app.work(left, app.store.search(&caller, &project, &search, app.now())).await?;
    app.json(&found).await
}

/// Query of the audit.
#[derive(Deserialize)]
pub(super) struct Before {
    before: Option<u64>,
    limit: Option<u64>,
}

/// `GET /v1/audit`.
pub(super) async fn audit<S: Store>(
    State(app): Of<S>,
    Known { caller, left }: Known,
    Params(Before { before, limit }): Params<Before>,
) -> Answer {
    app.json(&app.work(left, app.store.audit(&caller, before.map(number), clamp(limit))).await?).await
}

/// Returns a number that a database can have, which has no larger ones.
fn number(number: u64) -> u64 {
    number.min(i64::MAX.cast_unsigned())
}

/// Returns how many records a page may have.
fn clamp(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MOST_RECORDS).clamp(1, MOST_RECORDS)
}

impl<S: Store> App<S> {
    /// Makes an answer of a value. A long one has its share of the memory until it is sent.
    async fn json(&self, value: &impl Serialize) -> Answer {
        let bytes =
            serde_json::to_vec(value).map_err(|error| self.refuse(crate::store::StoreError::Failed(error.to_string())))?;
        let held = self.gate.hold(bytes.len()).await?;
        Ok(([(CONTENT_TYPE, "application/json")], Body::new(Holding::new(Body::from(bytes), held))).into_response())
    }
}
