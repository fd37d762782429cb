//! The common form to which every copy of a Cursor conversation is converted. A conversation is one `conversation` record, then
//! its messages, then the problems found. Each record names the conversation, so that the archive can be cut.

use serde_json::{Map, Value, json};

use super::super::shapes::{drop_payloads, text_of};

/// Smallest number taken as a time in milliseconds. Smaller numbers count from the start of some process.
const FIRST_TIME_MS: f64 = 1e12;
/// Upper limit for times in milliseconds: the year 5138.
const LAST_TIME_MS: f64 = 1e14;

/// Facts about a conversation as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    pub session: String,
    /// The kind of Cursor's stores that it comes from.
    pub stack: &'static str,
    pub title: Option<String>,
    pub cwd: Option<String>,
    /// Name of the rule that found the directory.
    pub cwd_rule: &'static str,
    pub created_ms: Option<i64>,
    pub updated_ms: Option<i64>,
    /// Mode of the conversation: agent, chat or plan.
    pub mode: Option<String>,
    pub model: Option<String>,
    /// Version of the format.
    pub version: Option<i64>,
    pub is_archived: bool,
    pub is_subagent: bool,
    pub parent: Option<String>,
    /// Name of the folder that the transcript was found in, if the directory is unknown.
    pub slug: Option<String>,
}

impl Conversation {
    pub(super) fn record(&self) -> Value {
        let mut record = Map::new();
        record.insert("kind".to_owned(), "conversation".into());
        record.insert("session".to_owned(), self.session.as_str().into());
        record.insert("stack".to_owned(), self.stack.into());
        let texts = [
            ("title", self.title.as_deref()),
            ("cwd", self.cwd.as_deref()),
            ("cwd_rule", Some(self.cwd_rule)),
            ("mode", self.mode.as_deref()),
            ("model", self.model.as_deref()),
            ("parent", self.parent.as_deref()),
            ("slug", self.slug.as_deref()),
        ];
        for (key, text) in texts {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                record.insert(key.to_owned(), text.into());
            }
        }
        let numbers = [("created_ms", self.created_ms), ("updated_ms", self.updated_ms), ("version", self.version)];
        for (key, number) in numbers {
            if let Some(number) = number {
                record.insert(key.to_owned(), number.into());
            }
        }
        for (key, is_set) in [("archived", self.is_archived), ("subagent", self.is_subagent)] {
            if is_set {
                record.insert(key.to_owned(), true.into());
            }
        }
        finished(record)
    }
}

/// One message.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub id: String,
    /// `user`, `assistant`, `system`, `tool`, `summary`.
    pub role: &'static str,
    pub text: String,
    /// True for a prompt of which the format cannot tell who wrote it.
    pub is_by_anybody: bool,
    /// Thoughts of the model: stored, never searched.
    pub thinking: String,
    /// Recorded time: ISO 8601 or milliseconds.
    pub at: Option<Value>,
    /// Time at which a prompt with the same text was sent.
    pub typed_ms: Option<i64>,
    pub model: Option<String>,
    /// Tool calls with their answers, as far as the message contains them:
    /// `{name, call, status, input, output, error}`.
    pub tools: Vec<Value>,
    /// Paths, each with `read` or `written`.
    pub files: Vec<(String, &'static str)>,
}

impl Message {
    /// Returns whether the message has no content at all.
    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.thinking.is_empty() && self.tools.is_empty()
    }

    pub(super) fn add_file(&mut self, path: String, action: &'static str) {
        if self.files.len() < 200 && path.len() < 4096 && !self.files.iter().any(|known| known.0 == path && known.1 == action) {
            self.files.push((path, action));
        }
    }

    pub(super) fn record(self, session: &str) -> Value {
        let mut record = Map::new();
        record.insert("kind".to_owned(), "message".into());
        record.insert("session".to_owned(), session.into());
        record.insert("id".to_owned(), self.id.into());
        record.insert("role".to_owned(), self.role.into());
        for (key, text) in [("text", self.text), ("thinking", self.thinking)] {
            if !text.is_empty() {
                record.insert(key.to_owned(), text.into());
            }
        }
        if self.is_by_anybody {
            record.insert("by_anybody".to_owned(), true.into());
        }
        if let Some(at) = self.at {
            record.insert("at".to_owned(), at);
        }
        if let Some(typed) = self.typed_ms {
            record.insert("typed_ms".to_owned(), typed.into());
        }
        if let Some(model) = self.model {
            record.insert("model".to_owned(), model.into());
        }
        if !self.tools.is_empty() {
            record.insert("tools".to_owned(), self.tools.into());
        }
        if !self.files.is_empty() {
            let files: Vec<Value> =
                self.files.into_iter().map(|(path, action)| json!({"path": path, "action": action})).collect();
            record.insert("files".to_owned(), files.into());
        }
        finished(record)
    }
}

/// Returns a record about something in a conversation that could not be read, and how often.
pub(super) fn problem(session: &str, reason: &str, detail: &str, count: u64) -> Value {
    json!({"kind": "problem", "session": session, "reason": reason, "detail": detail, "count": count})
}

fn finished(record: Map<String, Value>) -> Value {
    let mut value = Value::Object(record);
    drop_payloads(&mut value);
    value
}

/// Parses a JSON value from a database, which may contain a byte order mark or raw control characters.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim_matches(['\0', ' ', '\n', '\r', '\t']);
    serde_json::from_str(text).ok().or_else(|| {
        let is_raw = |c: char| c < ' ';
        if !text.contains(is_raw) {
            return None;
        }
        serde_json::from_str(&text.replace(is_raw, " ")).ok()
    })
}

/// Returns the time that Cursor has put before a prompt since version 3, to the minute:
/// `<timestamp>Tuesday, Jul 7, 2026, 9:43 AM (UTC+5:30)</timestamp>`. In milliseconds since 1970.
pub(super) fn stamped(text: &str) -> Option<i64> {
    let stamp = text.trim_start().strip_prefix("<timestamp>")?.split("</timestamp>").next()?;
    yore_core::time::parse_in_words(stamp)
}

/// Returns milliseconds since 1970, if a member is a number in the valid range.
pub(super) fn millis(value: &Value, key: &str) -> Option<i64> {
    let number = value.get(key)?.as_f64()?;
    (FIRST_TIME_MS < number && number < LAST_TIME_MS).then_some(number as i64)
}

/// Returns a recorded time, if a member is one: a string, or milliseconds.
pub(super) fn time(value: &Value, key: &str) -> Option<Value> {
    text_of(value, key).map(Into::into).or_else(|| millis(value, key).map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_marks_and_raw_control_characters_are_read() {
        assert_eq!(parse("\u{feff}{\"a\":1}\0\0").unwrap()["a"], 1);
        assert_eq!(parse("{\"a\":\"b\nc\u{1}\"}").unwrap()["a"], "b c ");
        assert!(parse("{\"a\":").is_none());
        assert!(parse(&"[".repeat(5000)).is_none());
    }

    #[test]
    fn only_real_times_are_times() {
        let value = json!({"a": 1_731_784_818_255_i64, "b": 91234.5, "c": "soon", "d": 1e300, "e": null});
        assert_eq!(millis(&value, "a"), Some(1_731_784_818_255));
        assert!(["b", "c", "d", "e", "f"].iter().all(|key| millis(&value, key).is_none()));
    }
}
