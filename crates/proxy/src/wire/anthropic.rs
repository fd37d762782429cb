//! Reads requests and answers of Anthropic's Messages API. Reference: <https://docs.anthropic.com/en/api/messages>.

use super::digest::{Draft, ResultText};
use super::raw::{self, Object};
use super::{joined, role};
use crate::{Conversation, Message, Role};

/// The mark before the id of the session in a user id of Claude Code, versions of 2025.
const SESSION: &str = "_session_";

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let messages = body.list("messages")?.into_iter().map(message).collect::<Option<Vec<_>>>()?;
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
        None => raw::list(system).unwrap_or_default().into_iter().filter_map(|block| Object::parse(block)?.text("text")).collect(),
    }
}

fn message(json: &str) -> Option<Message> {
    let message = Object::parse(json)?;
    let mut draft = Draft::new(role(&message).unwrap_or(Role::Tool));
    let content = message.get("content").unwrap_or("null");
    match raw::text(content) {
        Some(text) => draft.text(text),
        None => raw::list(content).unwrap_or_default().into_iter().for_each(|block| read_block(&mut draft, block)),
    }
    Some(draft.finish())
}

fn read_block(draft: &mut Draft, json: &str) {
    let Some(block) = Object::parse(json) else { return draft.other(String::new(), json) };
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
        _ => draft.other(kind, json),
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
