//! The parts of a request, checked: the caller, the path, the query and the body.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};
use uuid::Uuid;

use super::gate::{Held, is_long_head, slow_down};
use super::refusal::Refusal;
use super::{App, HOURS, Peer, peer, random, random_uuid};
use crate::secret::Secret;
use crate::store::{Caller, Store};
use crate::wire::{
    Change, MOST_FOUND, MOST_NAME, MOST_OPERATIONS, MOST_SESSION_TURNS, MOST_TEXT, MOST_TITLE, MOST_TURNS, MOST_VECTORS,
    MOST_WORD, MOST_WORDS, Operation, Search, SharedSession, VECTOR, is_name,
};

/// Refuses a request by its head alone: its length, and a path whose percent-encoding is wrong.
pub(super) fn check_head(request: &Request) -> Result<(), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    if is_long_head(uri, headers) {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Refusal::new(status, "team/too-long", "the head of the request is too long"));
    }
    let is_digits = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if uri.path().split('%').skip(1).all(is_digits) { Ok(()) } else { Err(wrong_path()) }
}

fn wrong_path() -> Refusal {
    Refusal::wrong("team/path", "the path is not percent-encoded UTF-8")
}

/// Whoever asks, before the secret is checked.
pub(super) struct Stranger {
    address: IpAddr,
}

impl<S: Store> FromRequestParts<Arc<App<S>>> for Stranger {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App<S>>) -> Result<Self, Refusal> {
        let Peer { address, .. } = peer(&parts.extensions);
        Ok(Self { address })
    }
}

impl Stranger {
    /// Returns the secret that the store is to be asked about: for no secret, one that nobody has, so that the same work is done
    /// for both. Of an address that failed too often, only some are asked about.
    pub fn secret<S>(&self, app: &App<S>, text: Option<&str>) -> Result<Secret, Refusal> {
        let now = Instant::now();
        let slowed = app.failures.slowed(self.address, now);
        match (text.and_then(|text| text.parse::<Secret>().ok()), slowed) {
            (Some(secret), Some(_)) if !app.failures.may_try(self.address, &secret.hash(), now) => Err(slow_down(Duration::ZERO)),
            (Some(secret), _) => Ok(secret),
            (None, Some(left)) => Err(slow_down(left)),
            (None, None) => {
                let made = || Ok(Secret::new(random_uuid()?, random()?));
                made().map_err(|error| app.no_random(error))
            }
        }
    }

    /// Counts a failure, and refuses it.
    pub fn fail<S>(&self, app: &App<S>, code: &str, message: &str) -> Refusal {
        let now = Instant::now();
        let slowed = app.failures.slowed(self.address, now);
        app.failures.add(self.address, now);
        app.metrics.failures.fetch_add(1, Relaxed);
        slowed.map_or_else(|| Refusal::new(StatusCode::UNAUTHORIZED, code, message), slow_down)
    }
}

/// The member who asks, by their token.
pub(super) struct Known {
    pub caller: Caller,
    /// Time that the request's work has left.
    pub left: Duration,
}

impl<S: Store> FromRequestParts<Arc<App<S>>> for Known {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App<S>>) -> Result<Self, Refusal> {
        let stranger = Stranger::from_request_parts(parts, app).await?;
        let secret = stranger.secret(app, bearer(&parts.headers))?;
        let hash = secret.hash();
        let (start, deadline) = (Instant::now(), app.settings.limits.deadline);
        let caller = app.work(deadline, app.store.authenticate(secret.team, hash)).await?;
        app.failures.note(hash, caller.is_some());
        match caller {
            Some(caller) => {
                peer(&parts.extensions).is_known.store(true, Relaxed);
                Ok(Self { caller, left: deadline.saturating_sub(start.elapsed()) })
            }
            None => Err(stranger.fail(app, "team/token", "a valid token of a team is required")),
        }
    }
}

/// Returns the token of a request, if there is exactly one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut said = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (said.next(), said.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// A variable segment of a path, decoded.
async fn segment(parts: &mut Parts) -> Result<String, Refusal> {
    let params = RawPathParams::from_request_parts(parts, &()).await.map_err(|_| wrong_path())?;
    params.iter().next().map(|(_, value)| value.to_owned()).ok_or_else(wrong_path)
}

/// The id in a path.
pub(super) struct Id(pub Uuid);

impl<S: Store> FromRequestParts<Arc<App<S>>> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App<S>>) -> Result<Self, Refusal> {
        let id = Uuid::try_parse(&segment(parts).await?);
        Ok(Self(id.map_err(|_| Refusal::wrong("team/id", "the path has no id of a member"))?))
    }
}

/// The name of a project in a path.
pub(super) struct Named(pub String);

impl<S: Store> FromRequestParts<Arc<App<S>>> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App<S>>) -> Result<Self, Refusal> {
        Ok(Self(name("the project", segment(parts).await?)?))
    }
}

/// The query.
pub(super) struct Params<T>(pub T);

impl<S: Store, T: DeserializeOwned> FromRequestParts<Arc<App<S>>> for Params<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App<S>>) -> Result<Self, Refusal> {
        let query = Query::try_from_uri(&parts.uri);
        let Query(params) =
            query.map_err(|_| Refusal::wrong("team/query", "a value of the query is not a number, or doubled"))?;
        Ok(Self(params))
    }
}

/// A body of at most `MOST` bytes, as JSON.
pub(super) struct Json<T, const MOST: usize> {
    pub value: T,
    /// Its share of the memory, for as long as the value is used.
    pub _held: Held,
}

impl<S: Store, T: DeserializeOwned, const MOST: usize> FromRequest<Arc<App<S>>> for Json<T, MOST> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App<S>>) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let (bytes, held) = app.gate.read(&parts.headers, body, MOST).await?;
        let value = serde_json::from_slice(&bytes).map_err(|error| Refusal::wrong("team/json", fault(&error)))?;
        Ok(Self { value, _held: held })
    }
}

/// Tells what is wrong with a body, without the part of the message that repeats it.
fn fault(error: &serde_json::Error) -> String {
    let at = format!("at line {} column {}", error.line(), error.column());
    if !error.is_data() {
        return format!("the body is not JSON {at}");
    }
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    match (message.starts_with("missing field `"), message.rsplit_once(", expected ")) {
        // Names of fields and types are the program's own.
        (true, _) => format!("the body has not the right form: {message} {at}"),
        (false, Some((_, expected))) => format!("the body has not the right form: expected {expected} {at}"),
        (false, None) => format!("the body has not the right form {at}"),
    }
}

/// Returns whether a character shows nothing and may change how others are shown: with it, two names look alike.
fn is_hidden(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    let is_of = matches!(c.general_category(), Control | Format | LineSeparator | ParagraphSeparator);
    is_of || matches!(c, '\u{2060}'..='\u{206f}')
}

/// Returns whether a text can be a name: of 1 to [`MOST_NAME`] characters, none of them hidden.
pub(super) fn is_plain_name(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= MOST_NAME && !text.contains(is_hidden)
}

/// Returns a name, if it is one.
pub(super) fn name(whose: &str, text: String) -> Result<String, Refusal> {
    if is_plain_name(&text) {
        return Ok(text);
    }
    let message = format!("the name of {whose} must have 1 to {MOST_NAME} characters, and no control or invisible characters");
    Err(Refusal::wrong("team/name", message))
}

/// Returns an address in lower case, if it is one.
pub(super) fn plain_address(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let is_part = |part: &str| !part.is_empty() && !part.contains(|c: char| c == '@' || c.is_whitespace() || is_hidden(c));
    let is_address = text.split_once('@').is_some_and(|(local, domain)| is_part(local) && is_part(domain));
    (is_address && text.chars().count() <= MOST_NAME).then_some(text)
}

/// Returns an address in lower case, or refuses it.
pub(super) fn address(text: &str) -> Result<String, Refusal> {
    let message = || format!("an address has one @, no spaces or invisible characters, and at most {MOST_NAME} characters");
    plain_address(text).ok_or_else(|| Refusal::wrong("team/address", message()))
}

/// Refuses hours that an invitation cannot have.
pub(super) fn check_hours(hours: u32) -> Result<(), Refusal> {
    if HOURS.contains(&hours) {
        return Ok(());
    }
    Err(Refusal::wrong("team/hours", format!("an invitation is valid for {} to {} hours", HOURS.start(), HOURS.end())))
}

/// Refuses operations that no client makes. Those that a client may well make, the store refuses one by one.
pub(super) fn check_operations(operations: &[Operation]) -> Result<(), Refusal> {
    if operations.len() > MOST_OPERATIONS {
        return Err(Refusal::too_long(format!("a push has at most {MOST_OPERATIONS} operations")));
    }
    let named = |operation: &Operation| match &operation.change {
        Change::Add { name, .. } | Change::TakeBack { name, .. } | Change::Forget { name } => is_name(name),
    };
    if operations.iter().all(named) {
        return Ok(());
    }
    Err(Refusal::wrong("team/operation", "the name of a text has 32 hexadecimal digits"))
}

/// Refuses a session whose id is none.
pub(super) fn wrong_session() -> Refusal {
    Refusal::wrong("team/session", "the id of a session has 32 hexadecimal digits; 8 and more of them name one")
}

/// Refuses sessions that no client shares.
pub(super) fn check_sessions(sessions: &[SharedSession]) -> Result<(), Refusal> {
    let turns: usize = sessions.iter().map(|session| session.turns.len()).sum();
    if turns > MOST_TURNS || sessions.len() > MOST_TURNS {
        return Err(Refusal::too_long(format!("a request shares at most {MOST_TURNS} turns, of as many sessions")));
    }
    let mut ids = HashSet::new();
    for SharedSession { head, from, turns } in sessions {
        if !is_name(&head.id) || !is_name(&head.digest) {
            return Err(wrong_session());
        }
        if !ids.insert(&head.id) {
            return Err(Refusal::wrong("team/session", "a session is there twice"));
        }
        let is_plain = |text: &str| !text.contains('\0');
        let is_named = head.title.chars().count() <= MOST_TITLE && head.agent.chars().count() <= MOST_NAME;
        if !is_named || !is_plain(&head.title) || !is_plain(&head.agent) {
            return Err(Refusal::wrong(
                "team/session",
                "the title or the agent of a session is too long, or has a NUL character",
            ));
        }
        if turns.is_empty() {
            return Err(Refusal::wrong("team/session", "a session is shared without a turn"));
        }
        let end = from.checked_add(u32::try_from(turns.len()).unwrap_or(u32::MAX));
        if end.is_none_or(|end| end > head.turns) || head.turns > MOST_SESSION_TURNS {
            return Err(Refusal::wrong("team/session", "a session has more turns than it may, or than it has"));
        }
        for turn in turns {
            let name = turn.speaker.as_deref().unwrap_or_default();
            let is_named = name.chars().count() <= MOST_NAME && is_plain(name);
            if turn.text.len() > MOST_TEXT || !is_plain(&turn.text) || !is_named {
                return Err(Refusal::wrong(
                    "team/turn",
                    format!("a turn is longer than {MOST_TEXT} bytes, has a NUL character, or a speaker with a long name"),
                ));
            }
            if turn.vectors.len() > MOST_VECTORS || turn.vectors.iter().any(|vector| vector.len() != VECTOR) {
                return Err(Refusal::wrong(
                    "team/turn",
                    format!("a turn has at most {MOST_VECTORS} vectors of {VECTOR} numbers"),
                ));
            }
        }
    }
    Ok(())
}

/// Refuses a search that no client makes.
pub(super) fn check_search(search: &Search) -> Result<(), Refusal> {
    let is_word = |word: &String| word.len() <= MOST_WORD && !word.contains('\0');
    if search.words.len() > MOST_WORDS || !search.words.iter().all(is_word) {
        return Err(Refusal::wrong("team/search", format!("a search has at most {MOST_WORDS} words of {MOST_WORD} bytes")));
    }
    if search.vector.as_ref().is_some_and(|vector| vector.len() != VECTOR) {
        return Err(Refusal::wrong("team/search", format!("a vector has {VECTOR} numbers")));
    }
    if search.limit == 0 || search.limit as usize > MOST_FOUND {
        return Err(Refusal::wrong("team/search", format!("a search finds 1 to {MOST_FOUND} turns")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{NewInvite, Push};

    #[test]
    fn faults_of_a_body_do_not_repeat_it() {
        let fault = |body: &str| fault(&serde_json::from_str::<NewInvite>(body).unwrap_err());
        assert_eq!(fault("{"), "the body is not JSON at line 1 column 1");
        assert_eq!(fault("{}"), "the body has not the right form: missing field `role` at line 1 column 2");
        for body in [
            r#"{"role":"SECRET"}"#,
            r#"{"role":"SECRET, expected x"}"#,
            r#"{"role":"owner","hours":"SECRET at line 3"}"#,
            r#""missing field `SECRET""#,
            r#"["SECRET"]"#,
            r#"{"SECRET"}"#,
        ] {
            assert!(!fault(body).contains("SECRET"), "{}", fault(body));
        }
        let push = r#"{"operations":[{"id":"SECRET","change":{"kind":"add"}}]}"#;
        let error = serde_json::from_str::<Push>(push).unwrap_err();
        assert!(!super::fault(&error).contains("SECRET"), "{error}");
    }

    #[test]
    fn addresses_are_told_apart_in_lower_case() {
        assert_eq!(address("Ana@Example.ORG").unwrap(), "ana@example.org");
        for wrong in ["", "@", "a@", "@b", "a@b@c", "a b@c", "a@b\0", "a@b\u{2028}c", &format!("a@{}", "b".repeat(MOST_NAME))] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        assert!(is_plain_name(&"ü".repeat(MOST_NAME)) && !is_plain_name(&"ü".repeat(MOST_NAME + 1)));
        assert!(["", " ", "a\nb", "a\u{85}b"].iter().all(|wrong| !is_plain_name(wrong)));
        let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}'];
        let single = ['\u{ad}', '\u{61c}', '\u{180e}', '\u{feff}', '\u{fff9}', '\u{e0001}', '\u{e0041}'];
        for hidden in ranges.into_iter().flatten().chain(single) {
            let text = format!("a{hidden}b");
            assert!(!is_plain_name(&text) && address(&format!("{text}@c")).is_err() && address(&format!("c@{text}")).is_err());
        }
        assert!(["Zoë", "e\u{301}", "山田 太郎", "🦀", "a/b", "עברית"].iter().all(|name| is_plain_name(name)));
    }
}
