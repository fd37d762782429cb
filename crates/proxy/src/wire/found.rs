//! Collects the answer that the values of a body make.

use serde_json::Value;

use super::digest::Draft;
use crate::{Answer, Role, Usage};

/// An answer that is being read.
pub(super) struct Found {
    /// Its content.
    pub(super) draft: Draft,
    /// Tokens that it took.
    pub(super) usage: Usage,
    /// True if the protocol's end mark came.
    pub(super) is_whole: bool,
    /// True if the server sent an error.
    pub(super) is_error: bool,
    /// True if anything of the protocol came at all.
    pub(super) is_known: bool,
    model: Option<String>,
    id: Option<String>,
}

impl Found {
    pub(super) fn new() -> Self {
        let draft = Draft::new(Role::Assistant);
        Self { draft, usage: Usage::default(), is_whole: false, is_error: false, is_known: false, model: None, id: None }
    }

    /// Takes the model's name and the answer's id from these fields of a value; what came first stays.
    pub(super) fn name(&mut self, value: &Value, model: &str, id: &str) {
        let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        self.model = self.model.take().or_else(|| text(model));
        self.id = self.id.take().or_else(|| text(id));
    }

    /// Returns the answer; `None` if there is none, or an error came in its place.
    pub(super) fn finish(self) -> Option<Answer> {
        let is_whole = self.is_whole && !self.is_error;
        let parts = self.draft.into_parts();
        if !self.is_known || self.is_error && parts.is_empty() {
            return None;
        }
        Some(Answer { parts, model: self.model, id: self.id, usage: self.usage, is_whole })
    }
}

/// Sets a count of tokens from a field, found by its JSON pointer, if the field is there and not zero: servers that tell a count at
/// the end of a stream tell zero at its start, and the other way round.
pub(super) fn count(to: &mut u64, value: &Value, pointer: &str) {
    if let Some(number) = value.pointer(pointer).and_then(Value::as_u64).filter(|number| *number > 0) {
        *to = number;
    }
}

/// Appends a text of a value, found by its JSON pointer, if it is there.
pub(super) fn append(to: &mut String, value: &Value, pointer: &str) {
    if let Some(text) = value.pointer(pointer).and_then(Value::as_str) {
        to.push_str(text);
    }
}
