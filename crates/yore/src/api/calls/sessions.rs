//! Sessions: lists, one of them, its turns in parts, its exchanges and topics, and its handoff to another agent.

use schemars::JsonSchema;
use serde::Deserialize;
use yore_engine::{
    EpisodeSummary, ForgottenSessions, HandoffRequest, SessionOrder, SessionsRequest, ShowAnswer, ShowRequest, Surroundings,
    TopicsRequest,
};

use super::{limit, none, place, time};
use crate::api::route::{Caller, Route};
use crate::cursor::{self, Cursor};
use crate::error::{CliError, CliResult};
use crate::handoff;
use crate::results::{Exchanges, Handoff, ListedSession, OpenedSession, Page, SessionTopics, Shown};

/// Letters of these lists in cursors: last used first, and oldest first.
const RECENT: char = 's';
const OLDEST: char = 'o';
/// Most turns of a part, and their usual number.
const MOST_TURNS: usize = 1_000;
const TURNS: usize = 100;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::get("/sessions", "Lists sessions, the last used first", &["sessions", "asked_last"], list),
        Route::get("/sessions/{id}", "Returns a session", &["session", "asked_last", "last_read_of"], open),
        Route::get("/sessions/{id}/turns", "Shows a part of a session, and where it has some words", &["show"], turns),
        Route::get("/sessions/{id}/exchanges", "Divides a session into exchanges", &["exchanges"], exchanges),
        Route::get("/sessions/{id}/topics", "Lists the topics of a session, with similar ones of others", &["topics"], topics_of),
        Route::get("/sessions/{id}/handoff", "Makes the handoff of a session to another agent", &["handoff"], hand_over),
        Route::get("/handoff", "Makes the handoff of the newest session", &["handoff"], hand_over_newest),
        Route::get("/turns/{id}", "Shows a turn with its exchange, or with the turns around it", &["show"], turn),
        Route::get("/topics", "Lists topics of sessions, those of the last used first", &["topics"], topics),
    ]
}

/// A filter of the list of sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct List {
    /// Only these projects: name, id or directory
    pub project: Vec<String>,
    /// Only these agents, such as claude-code
    pub agent: Vec<String>,
    /// Only sessions whose title or text contains this, ignoring case
    pub text: Option<String>,
    /// Last used at or after this time, or "last week"
    pub since: Option<String>,
    /// Begun before this time
    pub until: Option<String>,
    /// Only sessions with code blocks
    pub has_code: Option<bool>,
    /// Side conversations with sub-agents, too
    pub subagents: Option<bool>,
    /// Sessions that only programs held, too
    pub programs: Option<bool>,
    /// Documents and notes, too
    pub documents: Option<bool>,
    /// Forgotten sessions that can be restored, too
    pub forgotten: Option<bool>,
    /// The oldest first
    pub oldest: Option<bool>,
    /// Most sessions, 1 to 500
    pub limit: Option<usize>,
    /// The cursor at the end of the page before
    pub after: Option<String>,
}

/// Lists sessions.
pub fn list(caller: &mut Caller<'_>, list: List) -> CliResult<Page<ListedSession>> {
    let is_oldest = list.oldest.unwrap_or(false);
    let letter = if is_oldest { OLDEST } else { RECENT };
    let limit = limit(list.limit, 30)?;
    let after = place(letter, list.after.as_deref())?.as_ref().and_then(Cursor::episode);
    let mut found = caller.memory.sessions(SessionsRequest {
        projects: list.project,
        agents: list.agent,
        since: time("since", list.since.as_deref())?,
        until: time("until", list.until.as_deref())?,
        has_code: list.has_code.unwrap_or(false),
        text: list.text,
        with_subagents: list.subagents.unwrap_or(false),
        with_programs: list.programs.unwrap_or(false),
        forgotten: if list.forgotten.unwrap_or(false) { ForgottenSessions::Included } else { ForgottenSessions::LeftOut },
        without_documents: !list.documents.unwrap_or(false),
        order: if is_oldest { SessionOrder::Oldest } else { SessionOrder::Recent },
        after,
        // One more than fits shows whether there is a next page.
        limit: limit + 1,
    })?;
    let place =
        |session: &EpisodeSummary| Cursor::of(letter, if is_oldest { session.started } else { session.updated }, session.id);
    let next = cursor::page(&mut found, limit, place);
    let asked = caller.memory.asked_last(found.iter().map(|session| session.id).collect())?;
    let items = found.iter().zip(asked).map(|(session, asked)| ListedSession::of(session, asked)).collect();
    Ok(Page { items, next: next.map(|next| next.encode()) })
}

/// A session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Id {
    /// Its id, the agent's own id of it, or the beginning of one
    pub id: String,
}

/// Returns a session.
pub fn open(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<OpenedSession> {
    let found = caller.memory.session(id.clone())?;
    let session = found.ok_or_else(|| none("unknown-session", format!("there is no session {id:?}")))?;
    let asked = caller.memory.asked_last(vec![session.id])?.pop().flatten();
    let read = caller.memory.last_read_of(session.native_id.clone())?;
    Ok(OpenedSession::of(&session, asked, read))
}

/// A part of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Turns {
    /// Id of the session, or the beginning of it
    pub id: String,
    /// Place of the first turn, from 1
    pub from: Option<usize>,
    /// Most turns, 1 to 1000
    pub count: Option<usize>,
    /// Words to find in the whole session, ignoring case
    pub find: Option<String>,
}

/// Shows a part of a session.
pub fn turns(caller: &mut Caller<'_>, turns: Turns) -> CliResult<Shown> {
    let part = Surroundings::Part { from: turns.from.unwrap_or(1), count: counted(turns.count)? };
    let shown = show(caller, ShowRequest { find: turns.find, ..ShowRequest::new(turns.id.clone(), part) })?;
    if shown.focus.is_some() {
        return Err(none("unknown-session", format!("there is no session {:?}", turns.id)));
    }
    Ok(Shown::from(&shown))
}

fn counted(given: Option<usize>) -> CliResult<usize> {
    match given.unwrap_or(TURNS) {
        count if (1..=MOST_TURNS).contains(&count) => Ok(count),
        count => Err(CliError::usage(format!("count: expected 1 to {MOST_TURNS}, not {count}"), None)),
    }
}

fn show(caller: &mut Caller<'_>, request: ShowRequest) -> CliResult<ShowAnswer> {
    if request.id.trim().is_empty() {
        return Err(CliError::usage("id: expected an id", None));
    }
    caller.memory.show(request)
}

/// A turn, and what is shown with it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// Id of the turn, or the beginning of it
    pub id: String,
    /// So many turns before and after it, at most 1000, in place of its exchange
    pub around: Option<usize>,
    /// Words to find in the whole session, ignoring case
    pub find: Option<String>,
}

/// Shows a turn.
pub fn turn(caller: &mut Caller<'_>, turn: Turn) -> CliResult<Shown> {
    let surroundings = match turn.around {
        None => Surroundings::Exchange,
        Some(count) if count <= MOST_TURNS => Surroundings::Turns(count),
        Some(count) => return Err(CliError::usage(format!("around: expected at most {MOST_TURNS}, not {count}"), None)),
    };
    let shown = show(caller, ShowRequest { find: turn.find, ..ShowRequest::new(turn.id.clone(), surroundings) })?;
    if shown.focus.is_none() {
        return Err(none("unknown-id", format!("there is no turn {:?}", turn.id)));
    }
    Ok(Shown::from(&shown))
}

/// Divides a session into exchanges.
pub fn exchanges(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Exchanges> {
    Ok(Exchanges::from(&caller.memory.exchanges(id)?))
}

/// Lists the topics of a session.
pub fn topics_of(caller: &mut Caller<'_>, Id { id }: Id) -> CliResult<Vec<SessionTopics>> {
    let found = caller.memory.topics(TopicsRequest { sessions: vec![id], ..TopicsRequest::default() })?;
    Ok(found.iter().map(SessionTopics::from).collect())
}

/// A filter of the list of topics.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Topics {
    /// Only topics about this, the nearest first
    pub text: Option<String>,
    /// Only these projects: name, id or directory
    pub project: Vec<String>,
    /// Only sessions last used at or after this time, or "last week"
    pub since: Option<String>,
    /// Most topics, 1 to 500
    pub limit: Option<usize>,
}

/// Lists topics.
pub fn topics(caller: &mut Caller<'_>, topics: Topics) -> CliResult<Vec<SessionTopics>> {
    let found = caller.memory.topics(TopicsRequest {
        sessions: Vec::new(),
        projects: topics.project,
        since: time("since", topics.since.as_deref())?,
        text: topics.text.filter(|text| !text.trim().is_empty()),
        limit: limit(topics.limit, 20)?,
    })?;
    Ok(found.iter().map(SessionTopics::from).collect())
}

/// The handoff of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandOver {
    /// Id of the session, or the beginning of it
    pub id: String,
    /// The state as of a turn (id, or number from 1) or before a time
    pub at: Option<String>,
    /// Most tokens, 300 to 8000
    pub tokens: Option<usize>,
}

/// Makes the handoff of a session.
pub fn hand_over(caller: &mut Caller<'_>, HandOver { id, at, tokens }: HandOver) -> CliResult<Handoff> {
    handed(caller, HandoffRequest { session: Some(id), ..HandoffRequest::default() }, at.as_deref(), tokens)
}

/// The handoff of the newest session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandOverNewest {
    /// The newest of these agents, such as claude-code; without: of all
    pub agent: Vec<String>,
    /// Most tokens, 300 to 8000
    pub tokens: Option<usize>,
}

/// Makes the handoff of the newest session.
pub fn hand_over_newest(caller: &mut Caller<'_>, HandOverNewest { agent, tokens }: HandOverNewest) -> CliResult<Handoff> {
    handed(caller, HandoffRequest { agents: agent, ..HandoffRequest::default() }, None, tokens)
}

fn handed(caller: &mut Caller<'_>, request: HandoffRequest, at: Option<&str>, tokens: Option<usize>) -> CliResult<Handoff> {
    let tokens = tokens.unwrap_or(handoff::USUAL_TOKENS);
    if !(handoff::LEAST_TOKENS..=handoff::MOST_TOKENS).contains(&tokens) {
        let (least, most) = (handoff::LEAST_TOKENS, handoff::MOST_TOKENS);
        return Err(CliError::usage(format!("tokens: expected {least} to {most}, not {tokens}"), None));
    }
    let at = at.map(|words| handoff::point(words).map_err(|error| CliError::usage(format!("at: {error}"), None))).transpose()?;
    let made = caller.memory.handoff(HandoffRequest { at, tokens: handoff::room(tokens), ..request })?;
    let made = made.ok_or_else(|| none("nothing", "no session is known"))?;
    let text = handoff::markdown(&made);
    let cost = handoff::cost(&text);
    Ok(Handoff::of(&made, text, cost))
}
