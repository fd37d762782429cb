//! Reads requests and answers of each protocol, and adds text to a request without touching its other bytes.
//!
//! - [`read_request`] and [`read_answer`]: one file for each protocol
//! - [`add`]: `splice`, for all protocols
//! - `raw`: JSON by spans; `digest`: a message and its digest; `sse`: the values of an answer; `found`: the answer that they make

mod anthropic;
mod digest;
mod found;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod raw;
mod splice;
mod sse;
#[cfg(test)]
mod tests;

use raw::Object;
use serde_json::json;

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
///
/// A text goes to the end of its place: a new last block into a list, an empty line and the text into a string. A message that is a
/// string becomes a list with two blocks where clients write one text in both forms, which Anthropic's do. A system text that is
/// missing is made. Texts of white space alone are left out. Only messages of [`Role::User`] can be added to.
pub fn add(protocol: Protocol, body: &[u8], additions: &[Addition]) -> Option<Vec<u8>> {
    splice::add(protocol, body, additions)
}

/// Reads an answer, whole or streamed, from its decoded body; `None` if it holds none, as an error does. The first byte tells a stream
/// from JSON; the content type only tells a web page.
///
/// An error in the middle of an answer makes it one that did not come to its end. The first of several alternatives is read.
pub fn read_answer(protocol: Protocol, content_type: &str, body: &[u8]) -> Option<Answer> {
    // The page of a gateway or of a network's login.
    if content_type.trim_start().starts_with("text/html") {
        return None;
    }
    let frames = sse::frames(body);
    match protocol {
        Protocol::Anthropic => anthropic::answer(frames),
        Protocol::OpenAiChat => openai_chat::answer(frames),
        Protocol::OpenAiResponses => openai_responses::answer(frames),
        Protocol::Gemini => gemini::answer(frames),
        Protocol::Ollama => ollama::answer(frames),
    }
}

/// Returns the body of the error by which the proxy says that it cannot reach the upstream, in the form that the protocol's clients
/// read. Its status is 502.
pub fn error_body(protocol: Option<Protocol>, message: &str) -> String {
    let body = match protocol {
        Some(Protocol::Anthropic) => json!({"type": "error", "error": {"type": "api_error", "message": message}}),
        Some(Protocol::Gemini) => json!({"error": {"code": 502, "message": message, "status": "UNAVAILABLE"}}),
        Some(Protocol::Ollama) => json!({"error": message}),
        Some(Protocol::OpenAiChat | Protocol::OpenAiResponses) | None => {
            json!({"error": {"message": message, "type": "server_error", "param": null, "code": null}})
        }
    };
    body.to_string()
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
