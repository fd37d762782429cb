//! Reads requests and answers of Google's Gemini. Reference: <https://ai.google.dev/api/generate-content>.

use serde_json::Value;

use super::digest::{Draft, ResultText};
use super::found::{Found, append, count};
use super::raw::{self, Object};
use super::sse::Frames;
use super::{joined, path_of, role, system_texts};
use crate::{Answer, Conversation, Message, Role};

/// Fields of a part that say something about its content and are not the content.
const ATTRIBUTES: [&str; 6] =
    ["thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution"];

/// Names of the system text, in the spelling of each kind of client.
pub(super) const SYSTEM: [&str; 2] = ["systemInstruction", "system_instruction"];

pub(super) fn read(path: &str, body: &Object<'_>) -> Option<Conversation> {
    let inner = unwrapped(body);
    let request = inner.as_ref().unwrap_or(body);
    let messages: Vec<_> = objects(request.get("contents")?)?.iter().map(message).collect();
    let system = SYSTEM.iter().find_map(|name| request.get(name)).map(texts).unwrap_or_default();
    Some(Conversation {
        model: model(path).or_else(|| body.text("model")),
        system: joined(system.into_iter().chain(system_texts(&messages))),
        messages,
        previous: None,
        session: request.text("session_id").or_else(|| request.text("sessionId")),
    })
}

/// Returns the request in the field `request`: Google's Code Assist, with which Gemini CLI logs in, puts it there.
pub(super) fn unwrapped<'a>(body: &Object<'a>) -> Option<Object<'a>> {
    if body.get("contents").is_some() { None } else { body.object("request") }
}

/// Returns the role of a content; one without is the user's.
pub(super) fn role_of_content(content: &Object<'_>) -> Role {
    match content.get("role") {
        None => Role::User,
        Some(_) => role(content).unwrap_or(Role::Tool),
    }
}

fn model(path: &str) -> Option<String> {
    let (before, last) = path_of(path).rsplit_once('/')?;
    let is_model = matches!(before.rsplit('/').next(), Some("models" | "tunedModels"));
    let end = last.find([':', '%']).unwrap_or(last.len());
    last.get(..end).filter(|_| is_model).map(str::to_owned)
}

/// Reads a list of objects; a single one may stand without a list.
fn objects(json: &str) -> Option<Vec<Object<'_>>> {
    raw::objects(json).or_else(|| Some(vec![Object::parse(json)?]))
}

fn texts(system: &str) -> Vec<String> {
    match Object::parse(system) {
        Some(system) => {
            let parts = system.get("parts").and_then(objects).unwrap_or_default();
            parts.iter().filter_map(|part| part.text("text")).collect()
        }
        None => raw::text(system).into_iter().collect(),
    }
}

fn message(content: &Object<'_>) -> Message {
    let mut draft = Draft::new(role_of_content(content));
    let parts = content.get("parts").unwrap_or("[]");
    match Object::parse(parts) {
        Some(part) => read_part(&mut draft, &part),
        None => draft.each(parts, read_part),
    }
    draft.finish()
}

/// Reads a part of a request or of an answer.
fn read_part(draft: &mut Draft, part: &Object<'_>) {
    if let Some(text) = part.text("text") {
        let is_thought = part.get("thought") == Some("true");
        return if is_thought { draft.reasoning(text) } else { draft.text(text) };
    }
    if let Some(call) = part.object("functionCall").or_else(|| part.object("function_call")) {
        let input = call.get("args").map(raw::value_or_raw).unwrap_or_default();
        return draft.call(call.text("id"), call.text("name").unwrap_or_default(), input);
    }
    if let Some(response) = part.object("functionResponse").or_else(|| part.object("function_response")) {
        let (result, is_error) = result(&response);
        return draft.outcome(response.text("id"), response.text("name"), result, is_error);
    }
    let kind = part.fields().map(|(name, _)| name).find(|name| !ATTRIBUTES.contains(name)).unwrap_or_default();
    draft.other(kind.to_owned(), part);
}

/// Reads the result of a function: clients put it into `output` or `result`, errors into `error`; anything else is kept as JSON.
fn result<'a>(response: &Object<'a>) -> (ResultText<'a>, bool) {
    let json = response.get("response");
    let fields = json.and_then(Object::parse);
    let named = |name: &str| fields.as_ref().and_then(|fields| fields.get(name)).filter(|json| raw::text(json).is_some());
    let error = named("error");
    let mut result = ResultText::read(error.or_else(|| named("output")).or_else(|| named("result")).or(json));
    // Images and files of a result.
    result.rest.extend(response.list("parts").unwrap_or_default());
    (result, error.is_some())
}

pub(super) fn answer(frames: Frames) -> Option<Answer> {
    let mut found = Found::new();
    // The text that grows, and whether it is a thought.
    let (mut text, mut is_thought) = (String::new(), false);
    for frame in frames.values {
        found.is_error |= frame.is_error();
        let value = frame.value.get("response").unwrap_or(&frame.value);
        found.name(value, "modelVersion", "responseId");
        read_usage(&mut found, value);
        let Some(candidate) = value.pointer("/candidates/0") else { continue };
        found.is_known = true;
        found.is_whole |= candidate.get("finishReason").is_some_and(Value::is_string);
        for part in candidate.pointer("/content/parts").and_then(Value::as_array).into_iter().flatten() {
            let is_text = part.get("text").is_some_and(Value::is_string);
            let thinks = part.get("thought").and_then(Value::as_bool).unwrap_or_default();
            if !is_text || thinks != is_thought {
                take_text(&mut found.draft, &mut text, is_thought);
                is_thought = thinks;
            }
            if is_text {
                append(&mut text, part, "/text");
            } else {
                Object::parse(&part.to_string()).iter().for_each(|part| read_part(&mut found.draft, part));
            }
        }
    }
    take_text(&mut found.draft, &mut text, is_thought);
    found.finish()
}

fn take_text(draft: &mut Draft, text: &mut String, is_thought: bool) {
    let text = std::mem::take(text);
    if is_thought { draft.reasoning(text) } else { draft.text(text) }
}

/// Reads the counts of tokens, which grow from frame to frame. Thoughts are counted apart from the answer.
fn read_usage(found: &mut Found, value: &Value) {
    let (mut said, mut thought) = (0, 0);
    count(&mut found.usage.input, value, "/usageMetadata/promptTokenCount");
    count(&mut found.usage.cached, value, "/usageMetadata/cachedContentTokenCount");
    count(&mut said, value, "/usageMetadata/candidatesTokenCount");
    count(&mut thought, value, "/usageMetadata/thoughtsTokenCount");
    found.usage.output = found.usage.output.max(said.saturating_add(thought));
}
