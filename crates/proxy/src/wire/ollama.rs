//! Reads requests and answers of Ollama's chat. Reference: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use super::digest::{Draft, ResultText};
use super::openai_chat::read_call;
use super::raw::Object;
use super::{joined, role, system_texts};
use crate::{Conversation, Message, Role};

pub(super) fn read(body: &Object<'_>) -> Option<Conversation> {
    let messages = body.list("messages")?.into_iter().map(message).collect::<Option<Vec<_>>>()?;
    let system = joined(system_texts(&messages));
    Some(Conversation { model: body.text("model"), system, messages, previous: None, session: None })
}

fn message(json: &str) -> Option<Message> {
    let message = Object::parse(json)?;
    let role = role(&message).unwrap_or(Role::Tool);
    let mut draft = Draft::new(role);
    if role == Role::Tool {
        let name = message.text("tool_name").or_else(|| message.text("name"));
        draft.outcome(message.text("tool_call_id"), name, ResultText::read(message.get("content")), false);
        return Some(draft.finish());
    }
    read_message(&mut draft, &message);
    Some(draft.finish())
}

/// Reads a message that is no result of a tool, of a request or of an answer.
fn read_message(draft: &mut Draft, message: &Object<'_>) {
    draft.reasoning(message.text("thinking").unwrap_or_default());
    draft.text(message.text("content").unwrap_or_default());
    for image in message.list("images").unwrap_or_default() {
        draft.other("image".to_owned(), image);
    }
    for call in message.list("tool_calls").unwrap_or_default() {
        read_call(draft, call);
    }
}
