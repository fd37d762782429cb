//! An OpenCode session from the database or the older files, and its records.

use serde_json::{Map, Value, json};

use super::super::shapes::{drop_payloads, text_of};

/// Members of a message that the reader uses.
const MESSAGE_MEMBERS: [&str; 11] =
    ["role", "time", "modelID", "providerID", "model", "agent", "mode", "path", "parentID", "finish", "summary"];

/// A part of a message: its id and its content.
pub(super) type Part = (String, Value);
/// A message: its id, its facts, and its parts in order.
pub(super) type Told = (String, Value, Vec<Part>);

/// A session from the database or the older files.
#[derive(Default)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) directory: Option<String>,
    pub(super) title: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) version: Option<String>,
    pub(super) created: Option<i64>,
    /// The message, and the part of it, from which on the session was undone.
    pub(super) revert: Value,
}

impl Session {
    /// Returns the first record.
    pub(super) fn header(&self) -> Value {
        let mut header = Map::new();
        header.insert("type".to_owned(), "session".into());
        header.insert("session".to_owned(), self.id.as_str().into());
        for (key, text) in
            [("directory", &self.directory), ("title", &self.title), ("parent", &self.parent), ("version", &self.version)]
        {
            if let Some(text) = text {
                header.insert(key.to_owned(), text.as_str().into());
            }
        }
        if let Some(created) = self.created {
            header.insert("created".to_owned(), created.into());
        }
        let revert: Map<String, Value> = ["messageID", "partID"]
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), text_of(&self.revert, key)?.into())))
            .collect();
        if !revert.is_empty() {
            header.insert("revert".to_owned(), Value::Object(revert));
        }
        Value::Object(header)
    }

    /// Returns the record of a message and its parts, in order.
    pub(super) fn record(&self, id: &str, mut data: Value, parts: Vec<Part>) -> Value {
        let mut message = Map::new();
        for key in MESSAGE_MEMBERS {
            if let Some(value) = data.get_mut(key).map(Value::take).filter(|value| !value.is_null()) {
                message.insert(key.to_owned(), value);
            }
        }
        // A summary of changes contains whole files, before and after.
        if message.get("summary").is_some_and(|summary| !summary.is_boolean()) {
            message.shift_remove("summary");
        }
        if let Some(why) = text_of(&data["error"]["data"], "message").or_else(|| text_of(&data["error"], "name")) {
            message.insert("error".to_owned(), json!({"name": text_of(&data["error"], "name"), "message": why}));
        }
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|(id, mut part)| {
                if let Some(part) = part.as_object_mut() {
                    part.retain(|key, _| !matches!(key.as_str(), "sessionID" | "messageID" | "snapshot" | "id"));
                    part.insert("id".to_owned(), id.into());
                    if let Some(metadata) = part.get_mut("state").and_then(|state| state.get_mut("metadata")) {
                        let kept = json!({"exit": metadata["exit"], "sessionId": metadata["sessionId"]});
                        *metadata = kept;
                    }
                }
                drop_payloads(&mut part);
                part
            })
            .collect();
        json!({"type": "message", "session": self.id, "message": id, "data": message, "parts": parts})
    }
}
