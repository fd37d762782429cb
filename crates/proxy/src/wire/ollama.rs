//! Reads requests and answers of Ollama's chat. Reference: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use serde_json::Value;

use super::digest::{Draft, ResultText};
use super::found::{Found, append, count};
use super::openai_chat::read_call;
use super::raw::{self, Object};
use super::sse::Frames;
use super::{joined, role, system_texts};
use crate::{Answer, Conversation, Message, Role};

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let messages: Vec<_> = raw::objects(body.get("messages")?)?.iter().map(message).collect();
    let system = joined(system_texts(&messages));
    Some(Conversation { model: body.text("model"), system, messages, previous: None, session: None })
}

fn message(message: &Object<'_>) -> Message {
    let role = role(message).unwrap_or(Role::Tool);
    let mut draft = Draft::new(role);
    if role == Role::Tool {
        let name = message.text("tool_name").or_else(|| message.text("name"));
        draft.outcome(message.text("tool_call_id"), name, ResultText::read(message.get("content")), false);
        return draft.finish();
    }
    draft.reasoning(message.text("thinking").unwrap_or_default());
    draft.text(message.text("content").unwrap_or_default());
    for image in message.list("images").unwrap_or_default() {
        draft.json("image", image);
    }
    draft.each(message.get("tool_calls").unwrap_or("[]"), read_call);
    draft.finish()
}

pub(super) fn answer(frames: Frames) -> Option<Answer> {
    let mut found = Found::new();
    let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), Vec::new());
    for frame in frames.values {
        let value = &frame.value;
        found.is_error |= frame.is_error();
        found.name(value, "model", "");
        count(&mut found.usage.input, value, "/prompt_eval_count");
        count(&mut found.usage.output, value, "/eval_count");
        found.is_whole |= value.get("done") == Some(&Value::Bool(true));
        let Some(message) = value.get("message") else { continue };
        found.is_known = true;
        append(&mut reasoning, message, "/thinking");
        append(&mut text, message, "/content");
        calls.extend(message.get("tool_calls").and_then(Value::as_array).into_iter().flatten().map(Value::to_string));
    }
    found.draft.reasoning(reasoning);
    found.draft.text(text);
    calls.iter().filter_map(|call| Object::parse(call)).for_each(|call| read_call(&mut found.draft, &call));
    found.finish()
}
