//! Reads requests and answers of OpenAI's chat completions. Reference: <https://platform.openai.com/docs/api-reference/chat>.

use serde_json::Value;

use super::digest::{Draft, ResultText};
use super::raw::{self, Object};
use super::{joined, path_of, role, system_texts};
use crate::{Conversation, Message, Role};

pub(super) fn read(path: &str, body: &Object<'_>) -> Option<Conversation> {
    let messages = body.list("messages")?.into_iter().map(message).collect::<Option<Vec<_>>>()?;
    Some(Conversation {
        model: body.text("model").or_else(|| deployment(path)),
        system: joined(system_texts(&messages)),
        messages,
        previous: None,
        session: session(body),
    })
}

/// Returns the session of a request to OpenAI. A cache key comes last: programs may share one among conversations.
pub(super) fn session(body: &Object<'_>) -> Option<String> {
    let named = body.object("metadata").and_then(|metadata| metadata.text("session_id"));
    named.or_else(|| body.text("prompt_cache_key")).filter(|session| !session.is_empty())
}

/// Azure names the model in the path.
fn deployment(path: &str) -> Option<String> {
    let mut segments = path_of(path).split('/');
    segments.find(|segment| *segment == "deployments")?;
    segments.next().map(str::to_owned)
}

fn message(json: &str) -> Option<Message> {
    let message = Object::parse(json)?;
    let role = role(&message).unwrap_or(Role::Tool);
    let mut draft = Draft::new(role);
    if role == Role::Tool {
        draft.outcome(message.text("tool_call_id"), message.text("name"), ResultText::read(message.get("content")), false);
        return Some(draft.finish());
    }
    let reasoning = message.text("reasoning_content").or_else(|| message.text("reasoning"));
    draft.reasoning(reasoning.unwrap_or_default());
    let content = message.get("content").unwrap_or("null");
    match raw::text(content) {
        Some(text) => draft.text(text),
        None => raw::list(content).unwrap_or_default().into_iter().for_each(|part| read_part(&mut draft, part)),
    }
    draft.text(message.text("refusal").unwrap_or_default());
    for call in message.list("tool_calls").unwrap_or_default() {
        read_call(&mut draft, call);
    }
    if let Some(function) = message.object("function_call") {
        draft.call(None, function.text("name").unwrap_or_default(), arguments(function.get("arguments")));
    }
    Some(draft.finish())
}

fn read_part(draft: &mut Draft, json: &str) {
    let Some(part) = Object::parse(json) else { return draft.other(String::new(), json) };
    let kind = part.kind();
    match kind.as_str() {
        "text" => draft.text(part.text("text").unwrap_or_default()),
        "refusal" => draft.text(part.text("refusal").unwrap_or_default()),
        _ => draft.other(kind, json),
    }
}

/// Reads one of `tool_calls`, of OpenAI or of Ollama, whose arguments are an object.
pub(super) fn read_call(draft: &mut Draft, json: &str) {
    let Some(call) = Object::parse(json) else { return draft.other(String::new(), json) };
    let id = call.text("id");
    if let Some(function) = call.object("function") {
        draft.call(id, function.text("name").unwrap_or_default(), arguments(function.get("arguments")));
    } else if let Some(custom) = call.object("custom") {
        let input = Value::String(custom.text("input").unwrap_or_default());
        draft.call(id, custom.text("name").unwrap_or_default(), input);
    } else {
        draft.other(call.kind(), json);
    }
}

/// Reads arguments, which are JSON in a string; a string that holds no JSON stays one.
pub(super) fn arguments(json: Option<&str>) -> Value {
    match raw::value_or_raw(json.unwrap_or("null")) {
        Value::String(text) => raw::value(&text).unwrap_or(Value::String(text)),
        value => value,
    }
}
