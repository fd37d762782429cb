//! Reads requests and answers of each protocol, and adds text to a request without touching its other bytes.
//!
//! - [`read_request`] and [`read_answer`]: one file for each protocol
//! - [`add`]: `splice`, for all protocols
//! - `raw`: JSON by spans; `digest`: a message and its digest; `sse`: the frames of a stream

mod anthropic;
mod digest;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod raw;

use raw::Object;

use crate::{Addition, Answer, Conversation, Message, Part, Protocol, Role};

/// Returns the protocol of a request by its method and the path below the upstream's address; `None` for anything else that
/// servers offer. A query may follow the path, and a prefix may stand before it.
pub fn protocol_of(method: &str, path: &str) -> Option<Protocol> {
    if method != "POST" {
        return None;
    }
    let mut segments = path_of(path).rsplit('/');
    let last = segments.next()?;
    let before = segments.next().unwrap_or_default();
    match (before, last) {
        ("v1", "messages") => Some(Protocol::Anthropic),
        ("chat", "completions") => Some(Protocol::OpenAiChat),
        (_, "responses") => Some(Protocol::OpenAiResponses),
        ("api", "chat") => Some(Protocol::Ollama),
        _ => {
            // Some clients escape the colon.
            let (_, action) = last.rsplit_once(':').or_else(|| last.rsplit_once("%3A")).or_else(|| last.rsplit_once("%3a"))?;
            matches!(action, "generateContent" | "streamGenerateContent").then_some(Protocol::Gemini)
        }
    }
}

/// Reads the request of a conversation; `None` if the body is not one. `path` is the path below the upstream's address.
///
/// A role that is not known counts as a tool's: nothing is added to it, and no person said it.
pub fn read_request(protocol: Protocol, path: &str, body: &[u8]) -> Option<Conversation> {
    let body = Object::parse(raw::document(body)?)?;
    match protocol {
        Protocol::Anthropic => anthropic::read(&body),
        Protocol::OpenAiChat => openai_chat::read(path, &body),
        Protocol::OpenAiResponses => openai_responses::read(&body),
        Protocol::Gemini => gemini::read(path, &body),
        Protocol::Ollama => ollama::read(&body),
    }
}

/// Returns the body with these texts added, and every other byte as it was; `None` if one of them has no place.
pub fn add(protocol: Protocol, body: &[u8], additions: &[Addition]) -> Option<Vec<u8>> {
    let _ = (protocol, body, additions);
    None
}

/// Reads an answer, whole or streamed, from its decoded body; `None` if it holds none, as an error does.
pub fn read_answer(protocol: Protocol, content_type: &str, body: &[u8]) -> Option<Answer> {
    let _ = (protocol, content_type, body);
    None
}

/// Returns a path without its query.
fn path_of(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or_default()
}

/// Returns the role of a message; `None` for a missing or an unknown one.
fn role(message: &Object<'_>) -> Option<Role> {
    match message.text("role")?.as_str() {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" | "model" => Some(Role::Assistant),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

/// Returns the texts of all messages of the system.
fn system_texts(messages: &[Message]) -> impl Iterator<Item = String> {
    let parts = messages.iter().filter(|message| message.role == Role::System).flat_map(|message| &message.parts);
    parts.filter_map(|part| if let Part::Text(text) = part { Some(text.clone()) } else { None })
}

/// Joins texts by empty lines; `None` if there are no words.
fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
