//! Converts messages of OpenCode 2.x, which stores each as one value, to messages with parts as in the older
//! versions.

use serde_json::{Map, Value, json};

use super::super::shapes::{flatten, text_of};
use super::session::Part;

/// Rows about the progress of the session, without text.
const WORDLESS: [&str; 3] = ["agent-switched", "model-switched", "idle"];

/// Converter for the messages of a session, in order.
#[derive(Default)]
pub(super) struct Messages {
    /// Directory that the session moved to.
    directory: Option<String>,
}

impl Messages {
    /// Converts a message of this type. Returns its facts and its parts by id, or `None` if it has no
    /// content.
    pub(super) fn message(&mut self, id: &str, kind: &str, mut value: Value) -> Option<(Value, Vec<Part>)> {
        let mut data = Map::new();
        data.insert("time".to_owned(), value["time"].take());
        let mut parts = Vec::new();
        let role = match kind {
            "user" => {
                parts.push(text_part(&value, false));
                for file in value["files"].as_array().into_iter().flatten() {
                    parts.push(json!({"type": "file", "url": file["uri"], "filename": file["name"]}));
                }
                "user"
            }
            // Text that the program, a plugin or a skill gives to the model.
            "synthetic" | "system" | "skill" => {
                parts.push(text_part(&value, true));
                "user"
            }
            // A command that the person ran.
            "shell" => {
                parts.push(shell_part(id, &value));
                "assistant"
            }
            "assistant" => {
                data.insert("modelID".to_owned(), value["model"]["id"].take());
                data.insert("error".to_owned(), error_of(&value["error"]));
                let content = value["content"].as_array_mut().map(std::mem::take).unwrap_or_default();
                parts.extend(content.into_iter().map(part_of_content));
                if value["snapshot"]["files"].is_array() {
                    parts.push(json!({"type": "patch", "files": value["snapshot"]["files"].take()}));
                }
                "assistant"
            }
            // The summary that replaces earlier messages, once it is complete.
            "compaction" if value["status"].is_null() || text_of(&value, "status") == Some("completed") => {
                data.insert("summary".to_owned(), true.into());
                parts.push(json!({"type": "text", "text": value["summary"].take()}));
                "assistant"
            }
            "compaction" => return None,
            "location-switched" => {
                self.directory = text_of(&value["location"], "directory").map(str::to_owned);
                return None;
            }
            _ if WORDLESS.contains(&kind) => return None,
            // The reader counts it by its name.
            other => other,
        };
        data.insert("role".to_owned(), role.into());
        if let Some(directory) = &self.directory {
            data.insert("path".to_owned(), json!({"cwd": directory}));
        }
        let parts = parts.into_iter().enumerate().map(|(at, part)| (format!("{id}/{at:04}"), part)).collect();
        Some((Value::Object(data), parts))
    }
}

fn text_part(value: &Value, is_synthetic: bool) -> Value {
    let mut part = json!({"type": "text", "text": value["text"]});
    if is_synthetic {
        part["synthetic"] = true.into();
    }
    part
}

fn shell_part(id: &str, value: &Value) -> Value {
    let output = match &value["output"] {
        Value::Object(output) => output.get("output").or_else(|| output.get("text")).cloned().unwrap_or_default(),
        other => other.clone(),
    };
    let is_over = value["time"]["completed"].is_number() || value["exit"].is_number();
    json!({
        "type": "tool", "tool": "shell", "callID": text_of(value, "shellID").unwrap_or(id),
        "state": {
            "status": if is_over { "completed" } else { "running" },
            "input": {"command": value["command"]}, "output": output, "metadata": {"exit": value["exit"]},
        },
    })
}

/// Converts a part of the model's message.
fn part_of_content(mut part: Value) -> Value {
    if text_of(&part, "type") != Some("tool") {
        return part;
    }
    let state = &mut part["state"];
    let words: Vec<String> = state["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|content| text_of(content, "type") == Some("text"))
        .map(|content| flatten(&content["text"]))
        .collect();
    let output = if words.is_empty() { state["output"].take() } else { words.join("\n").into() };
    let error = match &state["error"] {
        Value::Object(error) => error.get("message").cloned().unwrap_or_else(|| "failed".into()),
        other => other.clone(),
    };
    let metadata = if state["metadata"].is_object() { state["metadata"].take() } else { state["structured"].take() };
    json!({
        "type": "tool", "tool": part["name"], "callID": part["id"],
        "state": {
            "status": part["state"]["status"], "input": part["state"]["input"], "output": output, "error": error,
            "metadata": metadata,
        },
    })
}

/// Converts an error to the form of the older versions.
fn error_of(error: &Value) -> Value {
    match error {
        Value::Object(_) => json!({"name": error["type"], "data": {"message": error["message"]}}),
        _ => Value::Null,
    }
}
