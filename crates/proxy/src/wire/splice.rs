//! Adds texts to the body of a request: only inserts bytes, so that all others stay as they were.

use std::collections::BTreeMap;

use serde_json::json;

use super::digest::MARKS;
use super::raw::{self, Object, Twice};
use super::{gemini, openai_responses, role};
use crate::{Addition, Place, Protocol, Role};

/// Separates an added text from the one before it.
const SEPARATOR: &str = "\n\n";

/// Returns the body with these texts added. Texts of white space alone are left out: Anthropic refuses blocks of them.
///
/// `None` if a place is missing, is not the user's or the system's, or if a field on the way to it occurs twice, because servers
/// disagree on which of both counts.
pub(super) fn add(protocol: Protocol, body: &[u8], additions: &[Addition]) -> Option<Vec<u8>> {
    let document = raw::document(body)?;
    // The byte order mark before the document, if there is one.
    let start = body.len() - document.len();
    let request = Request::read(protocol, document)?;
    let mut insertions = Vec::new();
    for (place, texts) in by_place(additions) {
        let slot = match place {
            Place::System => request.system()?,
            Place::Message(index) => request.message(index)?,
        };
        if !texts.is_empty() {
            for (at, inserted) in slot.insertions(&texts)? {
                insertions.push((start + offset_in(document, at)?, inserted));
            }
        }
    }
    insertions.sort_by_key(|(offset, _)| *offset);
    inserted(body, &insertions)
}

/// Returns the texts of each place in their order.
fn by_place(additions: &[Addition]) -> Vec<(Place, Vec<&str>)> {
    let mut places: BTreeMap<Option<usize>, Vec<&str>> = BTreeMap::new();
    for addition in additions {
        let key = match addition.place {
            Place::System => None,
            Place::Message(index) => Some(index),
        };
        let texts = places.entry(key).or_default();
        if !addition.text.trim().is_empty() {
            texts.push(&addition.text);
        }
    }
    places.into_iter().map(|(key, texts)| (key.map_or(Place::System, Place::Message), texts)).collect()
}

fn inserted(body: &[u8], insertions: &[(usize, String)]) -> Option<Vec<u8>> {
    let added: usize = insertions.iter().map(|(_, text)| text.len()).sum();
    let mut result = Vec::with_capacity(body.len() + added);
    let mut copied = 0;
    for (offset, text) in insertions {
        result.extend_from_slice(body.get(copied..*offset)?);
        result.extend_from_slice(text.as_bytes());
        copied = *offset;
    }
    result.extend_from_slice(body.get(copied..)?);
    Some(result)
}

/// Returns the offset at which `rest`, a slice of `text`, begins.
fn offset_in(text: &str, rest: &str) -> Option<usize> {
    let offset = (rest.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (offset + rest.len() <= text.len()).then_some(offset)
}

/// A request whose messages are known by their spans.
struct Request<'a> {
    protocol: Protocol,
    /// The object that holds the messages, and its span.
    object: Object<'a>,
    span: &'a str,
    /// The value that holds the messages: a list, or a single message.
    messages: &'a str,
    items: Vec<&'a str>,
    /// True if the client marks blocks for the provider's cache.
    is_marked: bool,
}

/// A place at the end of which text can be added.
enum Slot<'a> {
    /// A string.
    Text(&'a str),
    /// A string that becomes a list of blocks.
    TextOrBlocks { string: &'a str, kind: &'static str },
    /// A list of blocks.
    Blocks { list: &'a str, kind: Option<&'static str> },
    /// A list of messages; the new one comes first.
    NewMessage { list: &'a str },
    /// An object; the new field comes first.
    NewField { object: &'a str, name: &'static str, protocol: Protocol },
}

impl<'a> Request<'a> {
    fn read(protocol: Protocol, document: &'a str) -> Option<Self> {
        let mut object = Object::parse(document)?;
        let mut span = document.trim_start_matches(raw::is_space);
        if protocol == Protocol::Gemini
            && let Some(inner) = gemini::unwrapped(&object)
        {
            span = sole(object.only("request"))?;
            object = inner;
        }
        let name = match protocol {
            Protocol::Anthropic | Protocol::OpenAiChat | Protocol::Ollama => "messages",
            Protocol::OpenAiResponses => "input",
            Protocol::Gemini => "contents",
        };
        let messages = sole(object.only(name))?;
        let items = match protocol {
            // A single message without a list: a string, or an object.
            Protocol::OpenAiResponses if messages.starts_with('"') => vec![messages],
            Protocol::Gemini if messages.starts_with('{') => vec![messages],
            _ => raw::list(messages).filter(|items| items.iter().all(|item| item.starts_with('{')))?,
        };
        // Quotes within strings are escaped, so that only a key or a whole string looks like this.
        let is_marked = MARKS.iter().any(|mark| document.contains(&format!("\"{mark}\"")));
        Some(Self { protocol, object, span, messages, items, is_marked })
    }

    fn message(&self, index: usize) -> Option<Slot<'a>> {
        let item = *self.items.get(index)?;
        if item.starts_with('"') {
            return Some(Slot::Text(item));
        }
        let message = Object::parse(item)?;
        for name in ["role", "type"] {
            message.only(name).ok()?;
        }
        let role = match self.protocol {
            Protocol::OpenAiResponses => openai_responses::role_of_item(&message),
            Protocol::Gemini => gemini::role_of_content(&message),
            _ => role(&message)?,
        };
        if role == Role::User { self.content(&message) } else { None }
    }

    fn content(&self, message: &Object<'a>) -> Option<Slot<'a>> {
        match self.protocol {
            Protocol::Anthropic | Protocol::OpenAiChat => self.text_or_blocks(sole(message.only("content"))?, "text"),
            Protocol::OpenAiResponses => self.text_or_blocks(sole(message.only("content"))?, "input_text"),
            Protocol::Gemini => gemini_content(message),
            Protocol::Ollama => string(sole(message.only("content"))?),
        }
    }

    /// Returns the slot of a content that may be a string.
    ///
    /// A client writes one text as a list while it marks it for the cache and as a string later (Claude Code, aider). What is added
    /// must then make the same blocks of both, or the provider's prefix ends there. Anthropic takes lists everywhere; some servers
    /// of the other protocols take none, but clients send those no marks.
    fn text_or_blocks(&self, content: &'a str, kind: &'static str) -> Option<Slot<'a>> {
        match string_or_blocks(content, kind)? {
            Slot::Text(string) if !is_empty(string) && (self.is_marked || self.protocol == Protocol::Anthropic) => {
                Some(Slot::TextOrBlocks { string, kind })
            }
            slot => Some(slot),
        }
    }

    fn system(&self) -> Option<Slot<'a>> {
        match self.protocol {
            Protocol::Anthropic => self.field(&["system"], |system| string_or_blocks(system, "text")),
            Protocol::OpenAiResponses => self.field(&["instructions"], string),
            Protocol::Gemini => self.field(&gemini::SYSTEM, |system| match Object::parse(system) {
                Some(content) => gemini_content(&content),
                None => string(system),
            }),
            Protocol::OpenAiChat | Protocol::Ollama => self.system_message(),
        }
    }

    /// Returns the slot of the system text in a field of the request, or of a new field if there is none.
    fn field(&self, names: &[&'static str], slot: impl Fn(&'a str) -> Option<Slot<'a>>) -> Option<Slot<'a>> {
        let mut found = None;
        for name in names {
            let value = self.object.only(name).ok()?;
            if found.is_some() && value.is_some() {
                return None;
            }
            found = found.or(value);
        }
        match found {
            Some(value) => slot(value),
            None => Some(Slot::NewField { object: self.span, name: names.first()?, protocol: self.protocol }),
        }
    }

    /// Returns the slot of the last system message before all others: later ones change from request to request.
    fn system_message(&self) -> Option<Slot<'a>> {
        // Ollama loads a model if it is sent no message, and must not be made to answer.
        self.items.first()?;
        let messages = self.items.iter().map_while(|item| Object::parse(item));
        match messages.take_while(|message| role(message) == Some(Role::System)).last() {
            Some(message) => {
                message.only("role").ok()?;
                self.content(&message)
            }
            None => Some(Slot::NewMessage { list: self.messages }),
        }
    }
}

/// Returns the value of a field that is there once.
fn sole(value: Result<Option<&str>, Twice>) -> Option<&str> {
    value.ok().flatten()
}

fn string(value: &str) -> Option<Slot<'_>> {
    value.starts_with('"').then_some(Slot::Text(value))
}

fn blocks<'a>(value: &'a str, kind: Option<&'static str>) -> Option<Slot<'a>> {
    value.starts_with('[').then_some(Slot::Blocks { list: value, kind })
}

fn string_or_blocks<'a>(value: &'a str, kind: &'static str) -> Option<Slot<'a>> {
    string(value).or_else(|| blocks(value, Some(kind)))
}

/// Returns the slot of a content, whose single part may stand without a list.
fn gemini_content<'a>(content: &Object<'a>) -> Option<Slot<'a>> {
    let parts = sole(content.only("parts"))?;
    match Object::parse(parts) {
        Some(part) => sole(part.only("text")).and_then(string),
        None => blocks(parts, None),
    }
}

impl<'a> Slot<'a> {
    /// Returns bytes to insert, each with the slice of the document before which they go.
    fn insertions(&self, texts: &[&str]) -> Option<Vec<(&'a str, String)>> {
        let joined = texts.join(SEPARATOR);
        let blocks = |kind: Option<&str>| texts.iter().map(|text| block(kind, text)).collect::<Vec<_>>().join(",");
        Some(match self {
            Slot::Text(string) => {
                let text = if is_empty(string) { joined } else { format!("{SEPARATOR}{joined}") };
                let escaped = json!(text).to_string();
                let inner = escaped.strip_prefix('"')?.strip_suffix('"')?.to_owned();
                vec![(string.get(string.len().checked_sub(1)?..)?, inner)]
            }
            Slot::TextOrBlocks { string, kind } => {
                let before = format!(r#"[{{"type":"{kind}","text":"#);
                let after = format!("}},{}]", blocks(Some(kind)));
                vec![(string, before), (string.get(string.len()..)?, after)]
            }
            Slot::Blocks { list, kind } => match raw::list(list)?.last() {
                Some(last) => vec![(list.get(offset_in(list, last)? + last.len()..)?, format!(",{}", blocks(*kind)))],
                None => vec![(list.get(1..)?, blocks(*kind))],
            },
            Slot::NewMessage { list } => {
                let message = format!(r#"{{"role":"system","content":{}}},"#, json!(joined));
                vec![(list.get(1..)?, message)]
            }
            Slot::NewField { object, name, protocol } => {
                let value = match protocol {
                    Protocol::Gemini => format!(r#"{{"parts":[{}]}}"#, block(None, &joined)),
                    _ => json!(joined).to_string(),
                };
                // The object has another field, that of the messages.
                vec![(object.get(1..)?, format!(r#""{name}":{value},"#))]
            }
        })
    }
}

fn is_empty(string: &str) -> bool {
    string == r#""""#
}

/// Returns a block of text, with its type if the protocol has one.
fn block(kind: Option<&str>, text: &str) -> String {
    match kind {
        Some(kind) => format!(r#"{{"type":"{kind}","text":{}}}"#, json!(text)),
        None => format!(r#"{{"text":{}}}"#, json!(text)),
    }
}
