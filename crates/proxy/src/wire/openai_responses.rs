//! Reads requests and answers of OpenAI's responses. Reference: <https://platform.openai.com/docs/api-reference/responses>.

use std::collections::BTreeMap;

use serde_json::Value;

use super::digest::{Draft, ResultText};
use super::found::{Found, append, count};
use super::openai_chat::{self, arguments, parsed};
use super::raw::{self, Object};
use super::sse::Frames;
use super::{joined, role, system_texts};
use crate::{Answer, Conversation, Message, Role};

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let input = body.get("input")?;
    let messages = match raw::text(input) {
        Some(text) => vec![message_of_text(text)],
        None => raw::objects(input)?.iter().map(item).collect(),
    };
    Some(Conversation {
        model: body.text("model"),
        system: joined(body.text("instructions").into_iter().chain(system_texts(&messages))),
        messages,
        previous: body.text("previous_response_id"),
        session: conversation(body).or_else(|| openai_chat::session(body)),
    })
}

fn conversation(body: &Object<'_>) -> Option<String> {
    body.text("conversation").or_else(|| body.object("conversation")?.text("id"))
}

fn message_of_text(text: String) -> Message {
    let mut draft = Draft::new(Role::User);
    draft.text(text);
    draft.finish()
}

fn item(item: &Object<'_>) -> Message {
    let mut draft = Draft::new(role_of_item(item));
    read_item(&mut draft, item);
    draft.finish()
}

/// Returns the role of an item; nothing is added to an item of an unknown type.
pub(super) fn role_of_item(item: &Object<'_>) -> Role {
    match item.kind().as_str() {
        "message" | "" => role(item).unwrap_or(Role::Tool),
        kind if kind.ends_with("_output") || kind == "agent_message" => Role::Tool,
        _ => Role::Assistant,
    }
}

/// Reads an item of a request's input or of an answer's output.
pub(super) fn read_item(draft: &mut Draft, item: &Object<'_>) {
    let kind = item.kind();
    let id = || item.text("call_id").or_else(|| item.text("id"));
    let name = || item.text("name").unwrap_or_default();
    match kind.as_str() {
        "message" | "" => read_content(draft, item),
        "function_call" => draft.call(id(), name(), arguments(item.get("arguments"))),
        "custom_tool_call" => draft.call(id(), name(), Value::String(item.text("input").unwrap_or_default())),
        "local_shell_call" | "shell_call" => {
            let action = item.get("action").map(raw::value_or_raw).unwrap_or_default();
            draft.call(id(), kind.trim_end_matches("_call").to_owned(), action);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "shell_call_output" => {
            draft.outcome(id(), item.text("name"), ResultText::read(item.get("output")), false);
        }
        "reasoning" => {
            for list in ["summary", "content"] {
                let parts = item.get(list).and_then(raw::objects).unwrap_or_default();
                parts.iter().filter_map(|part| part.text("text")).for_each(|text| draft.reasoning(text));
            }
            if draft.is_empty() {
                draft.other(kind, item);
            }
        }
        _ => draft.other(kind, item),
    }
}

fn read_content(draft: &mut Draft, item: &Object<'_>) {
    let content = item.get("content").unwrap_or("null");
    if let Some(text) = raw::text(content) {
        return draft.text(text);
    }
    draft.each(content, |draft, part| {
        let kind = part.kind();
        match kind.as_str() {
            "input_text" | "output_text" | "text" | "summary_text" => draft.text(part.text("text").unwrap_or_default()),
            "refusal" => draft.text(part.text("refusal").unwrap_or_default()),
            _ => draft.other(kind, part),
        }
    });
}

pub(super) fn answer(frames: Frames) -> Option<Answer> {
    let mut found = Found::new();
    let mut items: BTreeMap<u64, Item> = BTreeMap::new();
    for frame in frames.values {
        let value = &frame.value;
        let is_response = value.get("object").and_then(Value::as_str) == Some("response");
        if let Some(response) = value.get("response").or(is_response.then_some(value)) {
            found.is_known = true;
            read_response(&mut found, &mut items, response);
            continue;
        }
        let kind = frame.kind();
        found.is_error |= frame.is_error();
        found.is_known |= kind.starts_with("response.");
        let Some(index) = value.get("output_index").and_then(Value::as_u64) else { continue };
        let item = items.entry(index).or_default();
        match kind {
            "response.output_item.added" | "response.output_item.done" => {
                item.value = value.get("item").cloned().unwrap_or_default();
                item.is_done |= kind.ends_with("done");
            }
            "response.output_text.delta" | "response.refusal.delta" => append(&mut item.text, value, "/delta"),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                append(&mut item.reasoning, value, "/delta");
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                append(&mut item.input, value, "/delta");
            }
            _ => {}
        }
    }
    items.into_values().for_each(|item| item.finish(&mut found.draft));
    found.finish()
}

/// Reads a response, which the first and the last events hold. The last one's output counts more than the pieces, but some servers
/// leave it empty.
fn read_response(found: &mut Found, items: &mut BTreeMap<u64, Item>, response: &Value) {
    found.name(response, "model", "id");
    count(&mut found.usage.input, response, "/usage/input_tokens");
    count(&mut found.usage.cached, response, "/usage/input_tokens_details/cached_tokens");
    count(&mut found.usage.written, response, "/usage/input_tokens_details/cache_write_tokens");
    count(&mut found.usage.output, response, "/usage/output_tokens");
    match response.get("status").and_then(Value::as_str) {
        // An answer that reached its limit of tokens is incomplete, and came to its end.
        Some("completed" | "incomplete") => found.is_whole = true,
        Some("failed" | "cancelled") => found.is_error = true,
        _ => {}
    }
    let output = response.get("output").and_then(Value::as_array).filter(|output| !output.is_empty());
    if let Some(output) = output {
        let whole = output.iter().map(|value| Item { value: value.clone(), is_done: true, ..Item::default() });
        *items = (0..).zip(whole).collect();
    }
}

/// An item of an answer, with the pieces that came after its start.
#[derive(Default)]
struct Item {
    value: Value,
    text: String,
    reasoning: String,
    input: String,
    is_done: bool,
}

impl Item {
    fn finish(self, draft: &mut Draft) {
        let json = self.value.to_string();
        let item = Object::parse(&json);
        if self.is_done {
            return item.iter().for_each(|item| read_item(draft, item));
        }
        draft.reasoning(self.reasoning);
        draft.text(self.text);
        let text = |name: &str| item.as_ref().and_then(|item| item.text(name));
        if !self.input.is_empty() {
            let is_custom = text("type").is_some_and(|kind| kind == "custom_tool_call");
            let input = if is_custom { Value::String(self.input) } else { parsed(self.input) };
            draft.call(text("call_id"), text("name").unwrap_or_default(), input);
        }
    }
}
