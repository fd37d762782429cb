//! Reads requests and answers of Anthropic's Messages API. Reference: <https://docs.anthropic.com/en/api/messages>.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::digest::{Draft, ResultText};
use super::found::{Found, append, count};
use super::openai_chat::parsed;
use super::raw::{self, Object};
use super::sse::Frames;
use super::{joined, role};
use crate::{Answer, Conversation, Message, Role, Usage};

/// The mark before the id of the session in a user id of Claude Code, versions of 2025.
const SESSION: &str = "_session_";

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let messages: Vec<_> = raw::objects(body.get("messages")?)?.iter().map(message).collect();
    let system = body.get("system").map(texts).unwrap_or_default();
    Some(Conversation {
        model: body.text("model"),
        system: joined(system.into_iter().chain(super::system_texts(&messages))),
        messages,
        previous: None,
        session: session(body),
    })
}

fn texts(system: &str) -> Vec<String> {
    match raw::text(system) {
        Some(text) => vec![text],
        None => raw::objects(system).unwrap_or_default().iter().filter_map(|block| block.text("text")).collect(),
    }
}

fn message(message: &Object<'_>) -> Message {
    let mut draft = Draft::new(role(message).unwrap_or(Role::Tool));
    let content = message.get("content").unwrap_or("null");
    match raw::text(content) {
        Some(text) => draft.text(text),
        None => draft.each(content, read_block),
    }
    draft.finish()
}

fn read_block(draft: &mut Draft, block: &Object<'_>) {
    let kind = block.kind();
    match kind.as_str() {
        "text" => draft.text(block.text("text").unwrap_or_default()),
        "thinking" => draft.reasoning(block.text("thinking").unwrap_or_default()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            let input = block.get("input").map(raw::value_or_raw).unwrap_or_default();
            draft.call(block.text("id"), block.text("name").unwrap_or_default(), input);
        }
        "tool_result" | "mcp_tool_result" => {
            let is_error = block.get("is_error") == Some("true");
            draft.outcome(block.text("tool_use_id"), None, ResultText::read(block.get("content")), is_error);
        }
        _ => draft.other(kind, block),
    }
}

/// Claude Code writes `user_HASH_account_UUID_session_UUID` into the user id, newer versions a JSON object with `session_id`.
fn session(body: &Object<'_>) -> Option<String> {
    let user = body.object("metadata")?.text("user_id")?;
    let session = match Object::parse(&user) {
        Some(user) => user.text("session_id")?,
        None => user.rsplit_once(SESSION)?.1.to_owned(),
    };
    Some(session).filter(|session| !session.is_empty())
}

pub(super) fn answer(frames: Frames) -> Option<Answer> {
    let mut found = Found::new();
    let mut tokens = Tokens::default();
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    for frame in frames.values {
        let value = &frame.value;
        let index = value.get("index").and_then(Value::as_u64).unwrap_or_default();
        match frame.kind() {
            "message" => {
                tokens.read(value);
                found.name(value, "model", "id");
                let content = value.get("content").and_then(Value::as_array).into_iter().flatten();
                blocks.extend((0..).zip(content.map(Block::new)));
                found.is_whole = true;
            }
            "message_start" => {
                let message = value.get("message").unwrap_or(&Value::Null);
                tokens.read(message);
                found.name(message, "model", "id");
            }
            "content_block_start" => {
                blocks.insert(index, Block::new(value.get("content_block").unwrap_or(&Value::Null)));
            }
            "content_block_delta" => {
                let delta = value.get("delta").unwrap_or(&Value::Null);
                blocks.entry(index).or_insert_with(|| Block::of_delta(delta)).add(delta);
            }
            "message_delta" => tokens.read(value),
            "message_stop" => found.is_whole = true,
            "content_block_stop" | "ping" => {}
            _ => {
                found.is_error |= frame.is_error();
                continue;
            }
        }
        found.is_known = true;
    }
    blocks.into_values().for_each(|block| block.finish(&mut found.draft));
    found.usage = tokens.usage();
    found.finish()
}

/// Tokens as Anthropic counts them: those of the cache are no part of the input.
#[derive(Default)]
struct Tokens {
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
}

impl Tokens {
    fn read(&mut self, value: &Value) {
        count(&mut self.input, value, "/usage/input_tokens");
        count(&mut self.cached, value, "/usage/cache_read_input_tokens");
        count(&mut self.written, value, "/usage/cache_creation_input_tokens");
        count(&mut self.output, value, "/usage/output_tokens");
    }

    fn usage(&self) -> Usage {
        let input = self.input.saturating_add(self.cached).saturating_add(self.written);
        Usage { input, cached: self.cached, written: self.written, output: self.output }
    }
}

/// A block of an answer, with the pieces that came after its start.
struct Block {
    start: Value,
    text: String,
    input: String,
}

impl Block {
    fn new(start: &Value) -> Self {
        Self { start: start.clone(), text: String::new(), input: String::new() }
    }

    /// Makes a block whose start did not come.
    fn of_delta(delta: &Value) -> Self {
        let kind = match delta.get("type").and_then(Value::as_str) {
            Some("thinking_delta" | "signature_delta") => "thinking",
            Some("input_json_delta") => "tool_use",
            _ => "text",
        };
        Self::new(&json!({"type": kind}))
    }

    fn add(&mut self, delta: &Value) {
        append(&mut self.text, delta, "/text");
        append(&mut self.text, delta, "/thinking");
        append(&mut self.input, delta, "/partial_json");
    }

    fn finish(mut self, draft: &mut Draft) {
        if let Some(start) = self.start.as_object_mut() {
            let kind = start.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            if kind == "text" || kind == "thinking" {
                let before = start.get(&kind).and_then(Value::as_str).unwrap_or_default();
                let text = format!("{before}{}", self.text);
                start.insert(kind, text.into());
            }
            if !self.input.is_empty() {
                start.insert("input".to_owned(), parsed(self.input));
            }
            Object::parse(&self.start.to_string()).iter().for_each(|block| read_block(draft, block));
        }
    }
}
