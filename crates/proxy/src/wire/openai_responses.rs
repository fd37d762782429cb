//! Reads requests and answers of OpenAI's responses. Reference: <https://platform.openai.com/docs/api-reference/responses>.

use serde_json::Value;

use super::digest::{Draft, ResultText};
use super::openai_chat::{self, arguments};
use super::raw::{self, Object};
use super::{joined, role, system_texts};
use crate::{Conversation, Message, Role};

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let input = body.get("input")?;
    let messages = match raw::text(input) {
        Some(text) => vec![message_of_text(text)],
        None => raw::list(input)?.into_iter().map(item).collect::<Option<Vec<_>>>()?,
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

fn item(json: &str) -> Option<Message> {
    let item = Object::parse(json)?;
    let mut draft = Draft::new(role_of_item(&item));
    read_item(&mut draft, &item);
    Some(draft.finish())
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
            let texts = [item.list("summary"), item.list("content")].into_iter().flatten().flatten();
            texts.filter_map(|part| Object::parse(part)?.text("text")).for_each(|text| draft.reasoning(text));
            if draft.is_empty() {
                draft.other(kind, item.raw);
            }
        }
        _ => draft.other(kind, item.raw),
    }
}

fn read_content(draft: &mut Draft, item: &Object<'_>) {
    let content = item.get("content").unwrap_or("null");
    if let Some(text) = raw::text(content) {
        return draft.text(text);
    }
    for json in raw::list(content).unwrap_or_default() {
        let Some(part) = Object::parse(json) else { return draft.other(String::new(), json) };
        let kind = part.kind();
        match kind.as_str() {
            "input_text" | "output_text" | "text" | "summary_text" => draft.text(part.text("text").unwrap_or_default()),
            "refusal" => draft.text(part.text("refusal").unwrap_or_default()),
            _ => draft.other(kind, json),
        }
    }
}
