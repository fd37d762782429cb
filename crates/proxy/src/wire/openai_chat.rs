//! Reads requests and answers of OpenAI's chat completions. Reference: <https://platform.openai.com/docs/api-reference/chat>.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::digest::{Draft, ResultText};
use super::found::{Found, append, count};
use super::raw::{self, Object};
use super::sse::Frames;
use super::{joined, path_of, role, system_texts};
use crate::{Answer, Conversation, Message, Role};

pub(super) fn read(path: &str, body: &Object<'_>) -> Option<Conversation> {
    let messages: Vec<_> = raw::objects(body.get("messages")?)?.iter().map(message).collect();
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

fn message(message: &Object<'_>) -> Message {
    let role = role(message).unwrap_or(Role::Tool);
    let mut draft = Draft::new(role);
    if role == Role::Tool {
        draft.outcome(message.text("tool_call_id"), message.text("name"), ResultText::read(message.get("content")), false);
        return draft.finish();
    }
    let reasoning = message.text("reasoning_content").or_else(|| message.text("reasoning"));
    draft.reasoning(reasoning.unwrap_or_default());
    let content = message.get("content").unwrap_or("null");
    match raw::text(content) {
        Some(text) => draft.text(text),
        None => draft.each(content, read_part),
    }
    draft.text(message.text("refusal").unwrap_or_default());
    draft.each(message.get("tool_calls").unwrap_or("[]"), read_call);
    if let Some(function) = message.object("function_call") {
        draft.call(None, function.text("name").unwrap_or_default(), arguments(function.get("arguments")));
    }
    draft.finish()
}

fn read_part(draft: &mut Draft, part: &Object<'_>) {
    let kind = part.kind();
    match kind.as_str() {
        "text" => draft.text(part.text("text").unwrap_or_default()),
        "refusal" => draft.text(part.text("refusal").unwrap_or_default()),
        _ => draft.other(kind, part),
    }
}

/// Reads one of `tool_calls`, of OpenAI or of Ollama, whose arguments are an object.
pub(super) fn read_call(draft: &mut Draft, call: &Object<'_>) {
    let id = call.text("id");
    if let Some(function) = call.object("function") {
        draft.call(id, function.text("name").unwrap_or_default(), arguments(function.get("arguments")));
    } else if let Some(custom) = call.object("custom") {
        let input = Value::String(custom.text("input").unwrap_or_default());
        draft.call(id, custom.text("name").unwrap_or_default(), input);
    } else {
        draft.other(call.kind(), call);
    }
}

/// Reads arguments, which are JSON in a string; a string that holds no JSON stays one.
pub(super) fn arguments(json: Option<&str>) -> Value {
    match raw::value_or_raw(json.unwrap_or("null")) {
        Value::String(text) => parsed(text),
        value => value,
    }
}

/// Parses a string of JSON; one that holds none is returned as it is.
pub(super) fn parsed(text: String) -> Value {
    raw::value(&text).unwrap_or(Value::String(text))
}

pub(super) fn answer(frames: Frames) -> Option<Answer> {
    let mut found = Found::new();
    let mut said = Said::default();
    found.is_whole = frames.is_done;
    for frame in frames.values {
        let value = &frame.value;
        found.is_error |= frame.is_error();
        found.name(value, "model", "id");
        for usage in ["/x_groq/usage", "/usage"] {
            let Some(usage) = value.pointer(usage) else { continue };
            count(&mut found.usage.input, usage, "/prompt_tokens");
            count(&mut found.usage.cached, usage, "/prompt_tokens_details/cached_tokens");
            count(&mut found.usage.written, usage, "/prompt_tokens_details/cache_write_tokens");
            count(&mut found.usage.output, usage, "/completion_tokens");
        }
        let Some(choices) = value.get("choices").and_then(Value::as_array) else { continue };
        found.is_known = true;
        let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0;
        for choice in choices.iter().filter(is_first) {
            let reason = choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
            found.is_whole |= !reason.is_empty() || choice.get("message").is_some();
            if let Some(message) = choice.get("delta").or_else(|| choice.get("message")) {
                said.add(message);
            }
        }
    }
    said.finish(&mut found);
    found.finish()
}

/// The content of an answer, collected from its pieces or from its only message.
#[derive(Default)]
struct Said {
    reasoning: String,
    text: String,
    calls: Vec<SaidCall>,
    /// The position of the newest call of each index.
    newest: HashMap<u64, usize>,
}

#[derive(Default)]
struct SaidCall {
    id: String,
    name: String,
    arguments: String,
    /// True if the tool takes text in place of an object.
    is_custom: bool,
}

impl Said {
    fn add(&mut self, message: &Value) {
        let name =
            if message.get("reasoning_content").is_some_and(Value::is_string) { "/reasoning_content" } else { "/reasoning" };
        append(&mut self.reasoning, message, name);
        append(&mut self.text, message, "/content");
        for part in message.get("content").and_then(Value::as_array).into_iter().flatten() {
            append(&mut self.text, part, "/text");
        }
        append(&mut self.text, message, "/refusal");
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.add_call(call);
        }
        if let Some(function) = message.get("function_call").filter(|function| function.is_object()) {
            self.add_call(&json!({"index": 0, "function": function}));
        }
    }

    /// Adds a piece of a call. Some servers leave the index out, or give each call the index 0: then a new id begins a new call.
    fn add_call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let is_custom = piece.get("custom").is_some();
        let inner = piece.get("custom").or_else(|| piece.get("function")).unwrap_or(&Value::Null);
        let open = match index {
            Some(index) => self.newest.get(&index).and_then(|at| self.calls.get_mut(*at)),
            None => self.calls.last_mut().filter(|_| !id.is_empty() || inner.get("name").is_none()),
        };
        let call = match open.filter(|call| id.is_empty() || call.id.is_empty() || call.id == id) {
            Some(call) => call,
            None => {
                self.newest.extend(index.map(|index| (index, self.calls.len())));
                self.calls.push_mut(SaidCall { is_custom, ..SaidCall::default() })
            }
        };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            append(&mut call.name, inner, "/name");
        }
        append(&mut call.arguments, inner, if is_custom { "/input" } else { "/arguments" });
        if let Some(arguments) = inner.get("arguments").filter(|arguments| arguments.is_object()) {
            call.arguments = arguments.to_string();
        }
    }

    fn finish(self, found: &mut Found) {
        found.draft.reasoning(self.reasoning);
        found.draft.text(self.text);
        for call in self.calls {
            let input = if call.is_custom { Value::String(call.arguments) } else { parsed(call.arguments) };
            found.draft.call(Some(call.id).filter(|id| !id.is_empty()), call.name, input);
        }
    }
}
