//! Archives what went through the proxy: the new messages of each exchange, as a part of its session.
//!
//! A request repeats its conversation, so the messages after the last exchange that is known are new. An exchange is known by what was
//! said before an answer and by the answer, as far as clients send both back: words without their white space, and ids of calls.

use serde_json::Value;
use yore_core::time::UtcMillis;
use yore_engine::ingest::GivenDocument;
use yore_proxy::{Answer, Asked, Conversation, Message, Part, Role};
use yore_sources::source::Stamp;
use yore_sources::source::proxy::{self, ProxiedMessage, ProxiedSession, is_by_client};

use super::client::Client;
use super::ledger::{Belonging, Digests, Key, Ledger};

/// Time in which the same request is a repetition, and not the beginning of another session, in milliseconds.
const AGAIN_MS: UtcMillis = 10 * 60_000;
/// Fewest bytes of an answer that is recognized by itself.
const LONG: usize = 64;

/// The place of a request in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// The session.
    pub session: String,
    /// Number of the first message that is not known from an earlier exchange.
    pub first_new: usize,
    /// Digest of the request: the same if it is sent again.
    pub request: Key,
}

/// Returns the place of a request: in the session that it continues, repeats or names, or else in a new one.
pub fn place_of(
    asked: &Asked,
    conversation: &Conversation,
    client: &Client,
    ledger: &Ledger,
    digests: &Digests,
    now: UtcMillis,
) -> SessionPlace {
    let messages = &conversation.messages;
    let known = answers(messages).into_iter().rev().find_map(|answer| {
        let keys = answer.keys(messages, digests);
        let session = keys.iter().find_map(|key| ledger.session(key));
        session.map(|(session, _)| (session, answer.end))
    });
    let text = |text: &Option<String>| text.clone().unwrap_or_default().into_bytes();
    // The same messages to another model, with another system text or of another program are another request.
    let mut said: Vec<Vec<u8>> =
        [&client.directory, &client.name, &conversation.model, &conversation.system, &conversation.previous]
            .into_iter()
            .map(text)
            .collect();
    said.push(asked.route.upstream.clone().into_bytes());
    said.extend(messages.iter().map(|message| message.digest.to_vec()));
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
    SessionPlace { session, first_new, request }
}

/// An answer in a conversation that a client sends back: it may be several messages.
struct SentBack<'m> {
    /// Number of its first message.
    start: usize,
    /// Number of the message after it.
    end: usize,
    parts: Vec<&'m Part>,
}

/// Returns the answers of a conversation, in order.
fn answers(messages: &[Message]) -> Vec<SentBack<'_>> {
    let mut found: Vec<SentBack<'_>> = Vec::new();
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant) {
        match found.last_mut().filter(|last| last.end == at) {
            Some(last) => {
                last.end += 1;
                last.parts.extend(&message.parts);
            }
            None => found.push(SentBack { start: at, end: at + 1, parts: message.parts.iter().collect() }),
        }
    }
    found
}

impl SentBack<'_> {
    fn keys(&self, messages: &[Message], digests: &Digests) -> Vec<Key> {
        exchange(digests, &messages[..self.start], &self.parts)
    }
}

/// The new part of a session.
#[derive(Debug, Default)]
pub struct NewPart {
    /// The unit with its messages; `None` if there are none.
    pub unit: Option<GivenDocument>,
    /// Rows of the ledger that hold if the unit is archived.
    pub noted: Vec<Belonging>,
}

/// Returns what is new in an exchange. The ledger knows its rows from now on, so that the next part does not hold it again: if the
/// archive fails, the caller takes them back.
pub fn new_part(exchanged: &Exchanged<'_>, place: &SessionPlace, ledger: &Ledger, digests: &Digests) -> NewPart {
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
        let may_be_repeated = at < last_answer || is_by_client(&words(&message.parts));
        if may_be_repeated && ledger.session(&seen).is_some() {
            continue;
        }
        keys.push(seen);
        let id = format!("{}-{at}", place.request);
        let mut said = said(id, role_of(message), &message.parts, None, began);
        for (call, name, ..) in said.iter_mut().flat_map(|said| &mut said.results) {
            // Only the call tells the name of the tool, and it may be in a part that was archived before.
            let called = || {
                messages.iter().flat_map(|message| &message.parts).find_map(|part| match part {
                    Part::Call { id, name, .. } if id.is_some() && *id == *call => Some(name.clone()),
                    _ => None,
                })
            };
            *name = name.take().or_else(called);
        }
        records.extend(said.map(|said| proxy::message(session, &said)));
    }
    // An answer that is given anew does not take the place of the one before.
    let parts: Vec<&Part> = answer.parts.iter().collect();
    let version_of_answer = &digests.of(&[b"version", recognized(&parts).as_bytes()])[..8];
    let id = format!("{}-answer-{version_of_answer}", place.request);
    records.extend(said(id, "assistant", &answer.parts, answer.model.clone(), ended).map(|said| proxy::message(session, &said)));
    // A client asks again for an answer that broke off, or sends back what it has of it.
    let before = messages.iter().rposition(|message| message.role != Role::Assistant).map_or(0, |at| at + 1);
    keys.extend(exchange(digests, &messages[..before], &parts));
    keys.extend(answer.id.as_deref().map(|id| answered(digests, id)));
    let noted = ledger.note(keys, &place.session, ended);
    if records.len() < 2 {
        return NewPart { unit: None, noted };
    }
    let bytes: Vec<Vec<u8>> = records.iter().map(|record| record.to_string().into_bytes()).collect();
    let parts: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let content = digests.of(&parts);
    let version = i64::from_str_radix(&content[..15], 16).unwrap_or_default();
    let size = bytes.iter().map(|record| record.len() as u64).sum();
    let name = format!("{}:{}/{}-{version_of_answer}", proxy::KIND, place.session, place.request);
    let unit = GivenDocument { name, stamp: Stamp { size, version }, state: String::new(), records };
    NewPart { unit: Some(unit), noted }
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

/// Returns the keys of an exchange: what was said before an answer, with the answer; of a long one also the answer alone, because clients
/// change what they send back of prompts. A short one may be said often, so that what was said before it counts as well.
fn exchange(digests: &Digests, before: &[Message], answer: &[&Part]) -> Vec<Key> {
    let of = |message: Option<&Message>| {
        message.map(|message| recognized(&message.parts.iter().collect::<Vec<_>>())).unwrap_or_default()
    };
    // An id of a call is given once; its name and arguments are not.
    let has_id = answer.iter().any(|part| matches!(part, Part::Call { id: Some(_), .. }));
    let has_words = |part: &&&Part| matches!(part, Part::Text(text) if text.len() >= LONG);
    let is_long = has_id || answer.iter().any(|part| has_words(&part));
    let (answer, last) = (recognized(answer), of(before.last()));
    let earlier =
        if is_long { String::new() } else { before.len().checked_sub(2).map_or_else(String::new, |at| of(before.get(at))) };
    let mut keys = vec![digests.of(&[b"exchange", earlier.as_bytes(), last.as_bytes(), answer.as_bytes()])];
    if is_long {
        keys.push(digests.of(&[b"answer alone", answer.as_bytes()]));
    }
    keys
}

/// Returns the key of an answer by the id that the server gave it.
fn answered(digests: &Digests, id: &str) -> Key {
    digests.of(&[b"answer", id.as_bytes()])
}

/// Returns what is the same of a message when a client sends it back: its words without white space and thoughts, and the ids of calls,
/// or else their names and arguments, each on a line of its own.
fn recognized(parts: &[&Part]) -> String {
    let mut known = String::new();
    for part in parts {
        match part {
            Part::Text(text) => {
                let text = text
                    .trim_start()
                    .strip_prefix("<think>")
                    .and_then(|rest| rest.split_once("</think>"))
                    .map_or(text.as_str(), |(_, rest)| rest);
                known.extend(text.chars().filter(|letter| !letter.is_whitespace()));
            }
            Part::Call { id: Some(id), .. } | Part::Outcome { id: Some(id), .. } => known.extend(["\n", id.as_str()]),
            Part::Call { name, input, .. } => known.extend(["\n", name.as_str(), &input.to_string()]),
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
