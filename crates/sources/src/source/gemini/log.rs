//! Converts either form of a Gemini conversation to one list of messages.
//!
//! The file holds the context of the client: a compression replaces its messages, results of tools are masked later, and
//! rewinding removes messages. What was said stays said, so a replay only adds: a message that the context lacks is kept, a
//! shorter copy of a text does not replace it, and messages that were taken back are marked. A file therefore gives the same
//! messages whenever it is read.

use std::collections::HashMap;
use std::io;

use serde_json::{Map, Value};

use super::super::shapes::{document_of, flatten, short, text_of};
use crate::parse::parse_line;

/// Member of a call that holds an output that was too large for the conversation.
pub(super) const OUTPUT: &str = "yore_output";
/// Member that marks a message that was taken back.
pub(super) const TAKEN_BACK: &str = "yore_taken_back";
/// Members of a message or of a call that hold words.
const WORDS: [&str; 5] = ["content", "displayContent", "args", "result", "resultDisplay"];

/// Everything that was said in a conversation, and its facts at the end of its file.
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
            conversation.add_all(messages);
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
                ("messages", Value::Array(messages)) => self.add_all(messages),
                ("messages", _) => {}
                (_, value) => self.facts[key] = value,
            }
        }
    }

    /// Adds the messages of a checkpoint.
    fn add_all(&mut self, messages: Vec<Value>) {
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
                // A message that is sent again counts again.
                Some(place) => add_words(&mut self.messages[*place], message),
                None => {
                    self.places.insert(id.to_owned(), self.messages.len());
                    self.messages.push(message);
                }
            },
            // A checkpoint repeats it.
            None if self.messages.contains(&message) => {}
            None => self.messages.push(message),
        }
    }

    /// Marks a message and all later ones as taken back; all messages if this one is unknown.
    fn rewind(&mut self, id: &str) {
        let first = self.places.get(id).copied().unwrap_or(0);
        for message in self.messages.iter_mut().skip(first) {
            message[TAKEN_BACK] = true.into();
        }
    }

    fn skip(&mut self, reason: &str, detail: &str) {
        if self.skipped.len() < 1000 {
            self.skipped.push([reason.to_owned(), detail.to_owned()]);
        }
    }
}

/// Brings a message or call to its later state, in which no text is shorter than before and no call is missing.
fn add_words(known: &mut Value, later: Value) {
    let (Value::Object(known), Value::Object(later)) = (known, later) else { return };
    known.shift_remove(TAKEN_BACK);
    for (key, value) in later {
        match known.get_mut(&key) {
            Some(Value::Array(calls)) if key == "toolCalls" => add_calls(calls, value),
            Some(stored) if WORDS.contains(&key.as_str()) && flatten(stored).len() > flatten(&value).len() => {}
            _ => {
                known.insert(key, value);
            }
        }
    }
}

/// Adds the calls of a message's later state.
fn add_calls(calls: &mut Vec<Value>, later: Value) {
    let Value::Array(later) = later else { return };
    for call in later {
        let same = |known: &&mut Value| match text_of(&call, "id") {
            Some(id) => text_of(known, "id") == Some(id),
            None => **known == call,
        };
        match calls.iter_mut().find(same) {
            Some(known) => add_words(known, call),
            None => calls.push(call),
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
            .map(|message| {
                let taken_back = if message[TAKEN_BACK].is_null() { "" } else { "!" };
                format!("{}{}{taken_back}", message["id"].as_str().unwrap_or("-"), message["content"].as_str().unwrap_or(""))
            })
            .collect()
    }

    #[test]
    fn replay_keeps_what_a_checkpoint_lacks_and_marks_what_was_taken_back() {
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
        assert_eq!(ids(&conversation), ["a1", "b3", "c4!", "d5", "e6"]);
        assert_eq!(conversation.facts["summary"], "tides");
        assert_eq!(conversation.facts["sessionId"], "s");
        assert_eq!(conversation.skipped.len(), 2);
        let rewound = Conversation::of_log(format!("{log}{{\"$rewindTo\":\"nobody\"}}").as_bytes());
        assert_eq!(ids(&rewound), ["a1!", "b3!", "c4!", "d5!", "e6!"]);
    }

    #[test]
    fn masked_result_and_shortened_text_replace_nothing_and_new_ones_are_added() {
        let log = r#"{"sessionId":"s"}
{"id":"a","type":"gemini","content":"The hinge is rusty.","toolCalls":[{"id":"r","name":"read","status":"executing"}]}
{"id":"a","type":"gemini","content":"The hinge is rusty.","toolCalls":[{"id":"r","name":"read","status":"success","result":["rust on the upper pin"]}]}
{"type":"info","content":"no id"}
{"$set":{"messages":[{"id":"a","type":"gemini","content":"[cut]","model":"m","toolCalls":[{"id":"r","name":"read","status":"success","result":["[masked]"]},{"id":"q","name":"run"}]},{"type":"info","content":"no id"}]}}
"#;
        let conversation = Conversation::of_log(log.as_bytes());
        assert_eq!(ids(&conversation), ["aThe hinge is rusty.", "-no id"]);
        let message = &conversation.messages[0];
        assert_eq!((&message["model"], &message["toolCalls"][0]["status"]), (&"m".into(), &"success".into()));
        assert_eq!(message["toolCalls"][0]["result"][0], "rust on the upper pin");
        assert_eq!(message["toolCalls"][1]["id"], "q");
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
