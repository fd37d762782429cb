//! Parts of requests and answers that several model protocols share.

use serde_json::{Value, json};

use crate::llm::ask::{Form, Prompt, Tier};

/// A request, without the server's address and the key.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// Path after the address.
    pub path: String,
    /// Headers, without that of the key.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: Value,
}

/// A typed answer that is wanted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'f> {
    /// Its form.
    pub form: &'f Form,
    /// The tier.
    pub tier: Tier,
}

/// The parts of an answer.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    pub text: String,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub is_cut: bool,
    pub refusal: Option<String>,
}

/// Returns the messages of a conversation, as most protocols have them.
pub(super) fn messages_of(prompt: &Prompt) -> impl Iterator<Item = Value> {
    prompt.messages().map(|(is_user, text)| json!({"role": if is_user { "user" } else { "assistant" }, "content": text}))
}

/// Returns a number at a place of an answer.
pub(super) fn number(body: &Value, place: &str) -> Option<u64> {
    body.pointer(place)?.as_u64()
}
