//! Recognises JSON records of conversations with a model, whatever program wrote them. Such a file is no document: its words were
//! said by somebody.

use serde_json::{Map, Value};

/// Lines that are examined at the beginning of a file.
const MOST_LINES: usize = 60;
/// Depth at which a list of messages is searched in a value.
const DEEPEST: usize = 4;
/// Members that name the author of a message.
const AUTHORS: [&str; 6] = ["role", "type", "sender", "author", "from", "kind"];
/// Names of a person who talks with a model.
const PEOPLE: [&str; 5] = ["user", "human", "user_message", "usermessage", "prompt"];
/// Names of a model.
const MODELS: [&str; 9] = ["assistant", "ai", "bot", "model", "gpt", "agent", "assistant_message", "agent_message", "ai_message"];
/// Names of others in such a conversation.
const OTHERS: [&str; 9] = [
    "system",
    "developer",
    "tool",
    "toolresult",
    "tool_result",
    "tool_use",
    "tool_call",
    "function_call",
    "function_call_output",
];
/// Members that hold the words of a message.
const WORDS: [&str; 9] = ["content", "message", "text", "parts", "blocks", "value", "output", "tool_calls", "arguments"];

/// The messages found so far, and who spoke.
#[derive(Clone, Copy, Default)]
struct Seen {
    messages: usize,
    has_person: bool,
    has_model: bool,
    /// True if a message says who spoke as only such messages do: `role`, or `type` beside a whole message.
    is_sure: bool,
}

impl Seen {
    /// A log also has entries of the type "user" or "system", but not both sides of a conversation.
    fn is_conversation(self, least: usize) -> bool {
        self.messages >= least && (self.is_sure || self.has_person && self.has_model)
    }
}

/// Returns whether a file with this name and content records a conversation. `bytes` may be only its beginning.
pub fn is_conversation(file_name: &str, bytes: &[u8]) -> bool {
    let ending = file_name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match ending.as_str() {
        "jsonl" | "ndjson" => has_messages_in_lines(bytes),
        "json" => match serde_json::from_slice(bytes) {
            Ok(value) => has_messages(&value, 0),
            // Some programs write lines under this name; others are longer than what was read.
            Err(_) => has_messages_in_lines(bytes) || begins_with_messages(bytes),
        },
        _ => false,
    }
}

fn has_messages_in_lines(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let values = lines.take(MOST_LINES).filter_map(|line| serde_json::from_slice::<Value>(line).ok()).filter(Value::is_object);
    let (mut seen, mut objects) = (Seen::default(), 0);
    for value in values {
        objects += 1;
        if has_messages(&value, 0) {
            return true;
        }
        look_at(&value, &mut seen);
    }
    // Between the messages, agents write events of other kinds.
    seen.is_conversation(1) && seen.messages * 8 >= objects
}

/// Returns whether a value holds a list with two messages or more.
fn has_messages(value: &Value, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    match value {
        Value::Array(list) => {
            let mut seen = Seen::default();
            list.iter().take(MOST_LINES).for_each(|item| look_at(item, &mut seen));
            seen.is_conversation(2) || list.iter().take(MOST_LINES).any(|item| has_messages(item, depth + 1))
        }
        Value::Object(members) => members.values().any(|member| has_messages(member, depth + 1)),
        _ => false,
    }
}

/// Counts a value if it is a message: who spoke, and what.
fn look_at(value: &Value, seen: &mut Seen) {
    let Value::Object(members) = value else { return };
    let words = |members: &Map<String, Value>| WORDS.iter().any(|key| members.get(*key).is_some_and(|words| !words.is_null()));
    // An envelope: `{"type": "message", "message": {"role": …}}`.
    let inner = ["message", "payload", "data", "event"].iter().filter_map(|key| members.get(*key)?.as_object());
    for members in std::iter::once(members).chain(inner) {
        for key in AUTHORS {
            let Some(author) = members.get(key) else { continue };
            let Some(name) = author.as_str().or_else(|| author["role"].as_str()).map(str::to_ascii_lowercase) else { continue };
            let is = |names: &[&str]| names.contains(&name.as_str());
            if !words(members) || !(is(&PEOPLE) || is(&MODELS) || is(&OTHERS)) {
                continue;
            }
            seen.messages += 1;
            seen.has_person |= is(&PEOPLE);
            seen.has_model |= is(&MODELS);
            let has_whole_message =
                members.get("message").is_some_and(|message| message["content"].is_string() || message["content"].is_array());
            seen.is_sure |= key == "role" || author.is_object() || has_whole_message;
            return;
        }
    }
}

/// Returns whether the beginning of a JSON value has the speakers of a conversation as members.
fn begins_with_messages(bytes: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(bytes).chars().filter(|character| !character.is_whitespace()).collect();
    let says = |role: &str| text.contains(&format!("\"role\":\"{role}\""));
    says("user") && (says("assistant") || says("model")) && WORDS.iter().any(|key| text.contains(&format!("\"{key}\":")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_of_any_program_are_recognised() {
        for (name, content) in [
            ("a.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":[]}"),
            ("a.jsonl", "{\"v\":1}\n{\"type\":\"message\",\"id\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":[]}}"),
            ("a.jsonl", "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}\ntorn {"),
            ("a.jsonl", "{\"messages\":[{\"role\":\"system\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"y\"}]}"),
            ("a.jsonl", "{\"conversations\":[{\"from\":\"human\",\"value\":\"x\"},{\"from\":\"gpt\",\"value\":\"y\"}]}"),
            ("a.ndjson", "{\"type\":\"event\",\"payload\":{\"role\":\"user\",\"text\":\"x\"}}"),
            (
                "T-1.json",
                "{\"id\":\"T-1\",\"messages\":[{\"role\":\"user\",\"content\":[]},{\"role\":\"assistant\",\"content\":[]}]}",
            ),
            ("a.json", "[{\"sender\":\"Human\",\"text\":\"x\"},{\"sender\":\"AI\",\"text\":\"y\"}]"),
            ("a.json", "[{\"author\":{\"role\":\"user\"},\"content\":{}},{\"author\":{\"role\":\"tool\"},\"content\":{}}]"),
            ("long.json", "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}, {\"role\": \"assistant\", \"content\": \"y"),
        ] {
            assert!(is_conversation(name, content.as_bytes()), "{content}");
        }
    }

    #[test]
    fn other_json_and_other_files_are_documents() {
        for (name, content) in [
            ("package.json", "{\"name\":\"gates\",\"type\":\"module\",\"author\":\"ada\",\"description\":\"text\"}"),
            ("i18n.json", "{\"role\":\"user\",\"content\":\"Inhalt\",\"message\":\"Nachricht\"}"),
            ("policy.json", "{\"bindings\":[{\"role\":\"owner\",\"members\":[\"user\"]},{\"role\":\"viewer\",\"members\":[]}]}"),
            ("users.json", "[{\"name\":\"ada\",\"role\":\"user\"},{\"name\":\"bob\",\"role\":\"system\"}]"),
            ("fields.json", "[{\"type\":\"text\",\"value\":\"x\"},{\"type\":\"number\",\"value\":1}]"),
            ("audit.jsonl", "{\"type\":\"user\",\"message\":\"login\"}\n{\"type\":\"system\",\"message\":\"shut\"}"),
            ("log.jsonl", "{\"level\":\"info\",\"message\":\"open\"}\n{\"level\":\"warn\",\"message\":\"shut\"}"),
            ("tides.jsonl", "{\"port\":\"Ellen\",\"depth\":3}"),
            ("chat.md", "{\"role\":\"user\",\"content\":\"hi\"}"),
            ("empty.json", ""),
        ] {
            assert!(!is_conversation(name, content.as_bytes()), "{name}: {content}");
        }
    }
}
