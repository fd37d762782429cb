//! Converts either form of a conversation to one list of messages.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value};

use super::super::shapes::{document_of, short, text_of};
use crate::ingest::parse::parse_line;

/// A conversation in its state at the end of its file.
#[derive(Default)]
pub(super) struct Conversation {
    /// Facts of the session.
    pub facts: Value,
    /// Its messages, in order.
    pub messages: Vec<Value>,
    /// Elements that could not be interpreted, each with a reason and a detail.
    pub skipped: Vec<[String; 2]>,
    /// The record that reports damage to the file.
    pub damage: Option<Value>,
    /// Position of each message, by its id.
    places: HashMap<String, usize>,
}

impl Conversation {
    /// Reads the older form.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] for a file that is not JSON.
    pub(super) fn of_object(bytes: &[u8]) -> io::Result<Self> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let (mut value, damage) = document_of(bytes)?;
        let mut conversation = Self { damage, ..Self::default() };
        if let Some(Value::Array(messages)) = value.get_mut("messages").map(Value::take) {
            conversation.replace_all(messages);
        }
        conversation.facts = value;
        Ok(conversation)
    }

    /// Replays the newer form, line by line.
    pub(super) fn of_log(bytes: &[u8]) -> Self {
        let mut conversation = Self { facts: Value::Object(Map::new()), ..Self::default() };
        let mut values = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            let is_read = parse_line(line, &mut values).is_ok();
            if !is_read && !line.trim_ascii().is_empty() && values.is_empty() {
                conversation.skip("invalid-json", "");
            }
            for value in values.drain(..) {
                conversation.apply(value);
            }
        }
        conversation
    }

    /// Returns whether the file contained nothing at all.
    pub(super) fn is_blank(&self) -> bool {
        self.messages.is_empty() && self.skipped.is_empty() && self.facts.as_object().is_none_or(Map::is_empty)
    }

    fn apply(&mut self, mut value: Value) {
        if !value.is_object() {
            return self.skip("not-an-object", "");
        }
        if let Some(patch) = value.get_mut("$set") {
            let patch = patch.take();
            self.set(patch);
        } else if let Some(id) = value.get("$rewindTo") {
            let id = id.as_str().unwrap_or("").to_owned();
            self.rewind(&id);
        } else if value.get("type").is_some() && (value.get("id").is_some() || value.get("content").is_some()) {
            self.message(value);
        } else if value.get("sessionId").is_some() {
            self.set(value);
        } else {
            let name = value.as_object().and_then(|members| members.keys().next()).map_or("", String::as_str);
            let name = short(name);
            self.skip("unknown-record", &name);
        }
    }

    fn set(&mut self, patch: Value) {
        let Value::Object(members) = patch else { return };
        for (key, value) in members {
            match (key.as_str(), value) {
                ("messages", Value::Array(messages)) => self.replace_all(messages),
                ("messages", _) => {}
                (_, value) => self.facts[key] = value,
            }
        }
    }

    /// Replaces all messages by those of a checkpoint.
    fn replace_all(&mut self, messages: Vec<Value>) {
        self.messages.clear();
        self.places.clear();
        for message in messages {
            if message.is_object() {
                self.message(message);
            } else {
                self.skip("not-an-object", "message");
            }
        }
    }

    fn message(&mut self, message: Value) {
        match text_of(&message, "id") {
            Some(id) => match self.places.get(id) {
                Some(place) => self.messages[*place] = message,
                None => {
                    self.places.insert(id.to_owned(), self.messages.len());
                    self.messages.push(message);
                }
            },
            None => self.messages.push(message),
        }
    }

    /// Drops a message and all later ones; all messages if this one is unknown.
    fn rewind(&mut self, id: &str) {
        let kept = self.places.get(id).copied().unwrap_or(0);
        self.messages.truncate(kept);
        self.places.retain(|_, place| *place < kept);
    }

    fn skip(&mut self, reason: &str, detail: &str) {
        if self.skipped.len() < 1000 {
            self.skipped.push([reason.to_owned(), detail.to_owned()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(conversation: &Conversation) -> Vec<String> {
        conversation
            .messages
            .iter()
            .map(|message| format!("{}{}", message["id"].as_str().unwrap_or("-"), message["content"].as_str().unwrap_or("")))
            .collect()
    }

    #[test]
    fn log_is_replayed_with_replacements_checkpoints_and_rewinds() {
        let log = r#"{"sessionId":"s","projectHash":"h","startTime":"t"}
{"id":"a","type":"user","content":"1"}
{"id":"b","type":"gemini","content":"2"}
{"id":"b","type":"gemini","content":"3"}
{"$set":{"summary":"tides"}}
not json
{"id":"c","type":"user","content":"4"}
{"$rewindTo":"c"}
{"$set":{"messages":[{"id":"a","type":"user","content":"1"},{"id":"d","type":"gemini","content":"5"}]}}
{"id":"e","type":"user","content":"6"}
{"strange":1}
"#;
        let conversation = Conversation::of_log(log.as_bytes());
        assert_eq!(ids(&conversation), ["a1", "d5", "e6"]);
        assert_eq!(conversation.facts["summary"], "tides");
        assert_eq!(conversation.facts["sessionId"], "s");
        assert_eq!(conversation.skipped.len(), 2);
        let rewound = Conversation::of_log(format!("{log}{{\"$rewindTo\":\"nobody\"}}").as_bytes());
        assert!(rewound.messages.is_empty());
    }

    #[test]
    fn object_that_is_cut_off_gives_its_whole_messages() {
        let cut = r#"{"sessionId": "s", "messages": [{"id": "a", "type": "user", "content": "1"}, {"id": "b", "conte"#;
        let conversation = Conversation::of_object(cut.as_bytes()).unwrap();
        assert_eq!(ids(&conversation), ["a1"]);
        assert!(conversation.damage.is_some());
        let error = |text: &str| Conversation::of_object(text.as_bytes()).err().map(|error| error.kind());
        assert_eq!(error("nonsense"), Some(io::ErrorKind::InvalidData));
        assert_eq!(error(""), None);
        assert_eq!(error("[1]"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_replayed_without_panic(text in r#"[{}\[\]",:$setmagidry01 \n]{0,80}"#) {
            let _ = Conversation::of_log(text.as_bytes());
            let _ = Conversation::of_object(text.as_bytes());
        }
    }
}
