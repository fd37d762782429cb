//! Parts of requests and answers that several model protocols share.

use serde_json::Value;

use crate::llm::ask::{Form, Tier};

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

/// Appends a text to that at a name of an object, if there is one to append.
pub(super) fn append(object: &mut Value, name: &str, text: &Value) {
    if let (Some(object), Some(text)) = (object.as_object_mut(), text.as_str()) {
        match object.get_mut(name) {
            Some(Value::String(known)) => known.push_str(text),
            _ => drop(object.insert(name.to_owned(), text.into())),
        }
    }
}

/// Returns a number at a place of an answer.
pub(super) fn number(body: &Value, place: &str) -> Option<u64> {
    body.pointer(place)?.as_u64()
}
