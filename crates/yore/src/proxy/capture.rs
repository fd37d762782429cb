//! Archives what went through the proxy: the new messages of each exchange, as a part of its session.
//!
//! A request repeats its conversation, so the messages after the last exchange that is known are new. An exchange is known by what was
//! said before an answer and by the answer, as far as clients send both back: words without their white space, and ids of calls.

use serde_json::Value;
use yore_core::time::UtcMillis;
use yore_engine::ingest::GivenDocument;
use yore_proxy::{Answer, Conversation, Message, Part, Role};
use yore_sources::source::Stamp;
use yore_sources::source::proxy::{self, ProxiedMessage, ProxiedSession, is_by_client};

use super::client::Client;
use super::ledger::{Digests, Key, Ledger};

/// Time in which the same request is a repetition, and not the beginning of another session, in milliseconds.
const AGAIN_MS: UtcMillis = 10 * 60_000;
/// Fewest bytes of a message that is not archived twice in a session where a client repeats it.
const LONG: usize = 200;

/// The place of a request in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The session.
    pub session: String,
    /// Number of the first message that is not known from an earlier exchange.
    pub first_new: usize,
    /// Digest of the request: the same if it is sent again.
    pub request: Key,
}

/// Returns the place of a request: in the session that it continues, repeats or names, or else in a new one.
pub fn place_of(conversation: &Conversation, client: &Client, ledger: &Ledger, digests: &Digests, now: UtcMillis) -> Place {
    let messages = &conversation.messages;
    let known = (1..messages.len()).rev().filter(|at| messages[*at].role == Role::Assistant).find_map(|at| {
        let key = exchange(digests, messages.get(at - 1), &messages[at].parts);
        ledger.session(&key).map(|(session, _)| (session, at + 1))
    });
    let said: Vec<Vec<u8>> = messages.iter().map(|message| message.digest.to_vec()).collect();
    let mut parts: Vec<&[u8]> = vec![b"request"];
    parts.extend(said.iter().map(Vec::as_slice));
    let request = digests.of(&parts);
    // The server has the earlier messages of what it continues.
    let continued = conversation.previous.as_deref().and_then(|id| ledger.session(&answered(digests, id)));
    let repeated = || ledger.session(&request).filter(|(_, at)| now - at < AGAIN_MS);
    let (session, first_new) = match (&client.session, known) {
        (Some(session), known) => (session.clone(), known.map_or(0, |(_, first_new)| first_new)),
        (None, Some((session, first_new))) => (session, first_new),
        (None, None) => match continued.or_else(repeated) {
            Some((session, _)) => (session, 0),
            None => (digests.of(&[b"session", request.as_bytes(), &now.to_le_bytes()]), 0),
        },
    };
    Place { session, first_new, request }
}

/// The new part of a session.
#[derive(Debug, Default)]
pub struct NewPart {
    /// The unit with its messages; `None` if there are none.
    pub unit: Option<GivenDocument>,
    /// What is known to belong to the session once the unit is archived.
    pub keys: Vec<Key>,
}

/// Returns what is new in an exchange.
pub fn new_part(exchanged: &Exchanged<'_>, place: &Place, ledger: &Ledger, digests: &Digests) -> NewPart {
    let Exchanged { conversation, answer, client, began, ended } = *exchanged;
    let mut keys = vec![place.request.clone()];
    let session = ProxiedSession {
        id: &place.session,
        client: client.name.as_deref(),
        directory: client.directory.as_deref(),
        is_typed: client.agent.is_some(),
    };
    let messages = &conversation.messages;
    let last_answer = messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    let mut records = vec![proxy::header(session)];
    for (at, message) in messages.iter().enumerate().skip(place.first_new).filter(|(_, message)| message.role != Role::System) {
        let seen = digests.of(&[b"seen", place.session.as_bytes(), &message.digest]);
        // Clients repeat files and summaries of the repository where they were not before.
        let may_be_repeated = at < last_answer || words(&message.parts).len() >= LONG || is_by_client(&words(&message.parts));
        if may_be_repeated && ledger.session(&seen).is_some() {
            continue;
        }
        keys.push(seen);
        let id = format!("{}-{at}", place.request);
        records.extend(said(id, role_of(message), &message.parts, None, began).map(|said| proxy::message(session, &said)));
    }
    let id = format!("{}-answer", place.request);
    records.extend(said(id, "assistant", &answer.parts, answer.model.clone(), ended).map(|said| proxy::message(session, &said)));
    // A client asks again for an answer that broke off.
    if answer.is_whole {
        keys.push(exchange(digests, messages.last(), &answer.parts));
    }
    keys.extend(answer.id.as_deref().map(|id| answered(digests, id)));
    if records.len() < 2 {
        return NewPart { unit: None, keys };
    }
    let bytes: Vec<Vec<u8>> = records.iter().map(|record| record.to_string().into_bytes()).collect();
    let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let content = digests.of(&parts);
    let version = i64::from_str_radix(&content[..15], 16).unwrap_or_default();
    let size = bytes.iter().map(|record| record.len() as u64).sum();
    let name = format!("{}:{}/{}", proxy::KIND, place.session, place.request);
    let unit = GivenDocument { name, stamp: Stamp { size, version }, state: String::new(), records };
    NewPart { unit: Some(unit), keys }
}

/// An exchange that went through.
#[derive(Clone, Copy)]
pub struct Exchanged<'e> {
    /// The request.
    pub conversation: &'e Conversation,
    /// The answer.
    pub answer: &'e Answer,
    /// Who asked.
    pub client: &'e Client,
    /// When the request came.
    pub began: UtcMillis,
    /// When the answer ended.
    pub ended: UtcMillis,
}

/// Returns the key of an exchange: what was said last, and the answer.
fn exchange(digests: &Digests, before: Option<&Message>, answer: &[Part]) -> Key {
    let before = before.map(|message| recognized(&message.parts)).unwrap_or_default();
    digests.of(&[b"exchange", before.as_bytes(), recognized(answer).as_bytes()])
}

/// Returns the key of an answer by the id that the server gave it.
fn answered(digests: &Digests, id: &str) -> Key {
    digests.of(&[b"answer", id.as_bytes()])
}

/// Returns what is the same of a message when a client sends it back: its words without white space, and the ids of calls.
fn recognized(parts: &[Part]) -> String {
    let mut known = String::new();
    for part in parts {
        match part {
            Part::Text(text) => known.extend(text.chars().filter(|letter| !letter.is_whitespace())),
            Part::Call { id: Some(id), .. } | Part::Outcome { id: Some(id), .. } => known.extend(["\n", id.as_str()]),
            Part::Call { name, .. } => known.extend(["\n", name.as_str()]),
            Part::Outcome { text, .. } => known.push_str(text),
            Part::Reasoning(_) | Part::Other(_) => {}
        }
    }
    known
}

/// Returns the words of a message.
pub fn words(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn role_of(message: &Message) -> &'static str {
    match message.role {
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::User | Role::System => "user",
    }
}

/// Returns a message as it is archived; `None` if it holds nothing that can be read.
fn said(id: String, role: &'static str, parts: &[Part], model: Option<String>, at: UtcMillis) -> Option<ProxiedMessage> {
    let mut message = ProxiedMessage { id, role, text: words(parts), model, at, ..ProxiedMessage::default() };
    for part in parts {
        match part {
            Part::Call { id, name, input } => message.calls.push((id.clone(), name.clone(), without_payloads(input))),
            Part::Outcome { id, name, text, is_error } => {
                message.results.push((id.clone(), name.clone(), text.clone(), *is_error));
            }
            Part::Text(_) | Part::Reasoning(_) | Part::Other(_) => {}
        }
    }
    let is_empty = message.text.trim().is_empty() && message.calls.is_empty() && message.results.is_empty();
    (!is_empty).then_some(message)
}

fn without_payloads(input: &Value) -> Value {
    let mut input = input.clone();
    proxy::drop_payloads(&mut input);
    input
}
