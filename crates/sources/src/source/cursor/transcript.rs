//! Reads Cursor's plain transcripts in `agent-transcripts`: JSON lines, and older ones as text. They contain no times and no
//! message ids, and leave out the answers of tools.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value};

use super::super::Stamp;
use super::super::shapes::{append, first_text, short, text_of};
use super::place;
use super::record::{Conversation, Message, parse, problem, stamped};

/// Maximum size of a file in bytes. A larger one is not a transcript.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Types of message parts without text.
const WORDLESS_PARTS: [&str; 5] = ["image", "image_url", "file", "redacted-reasoning", "redacted_thinking"];

/// Outputs the records of a transcript.
pub(super) fn records(path: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too large for a transcript"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_text = path.extension().is_some_and(|extension| extension == "txt");
    let (messages, problems) = if is_text { plain(&text) } else { lines(&text) };
    if messages.is_empty() && problems.is_empty() {
        return Ok(());
    }
    let session = place::transcript_id(path).unwrap_or_else(|| "transcript".to_owned());
    let slug = place::slug_of_transcript(path);
    let cwd = slug.as_deref().and_then(|slug| place::folder_of_slug(slug, path));
    let parent = place::parent_of_transcript(path);
    let header = Conversation {
        stack: "transcript",
        cwd_rule: if cwd.is_some() { "slug" } else { "unknown" },
        slug: slug.filter(|_| cwd.is_none()),
        cwd,
        // The file's time is the only one: that of the last message written.
        updated_ms: Stamp::of_file(path).ok().map(|stamp| stamp.version / 1_000_000),
        is_subagent: parent.is_some(),
        parent,
        session: session.clone(),
        ..Conversation::default()
    };
    let messages = messages.into_iter().map(|message| message.record(&session));
    let problems = problems.into_iter().map(|(reason, detail)| problem(&session, reason, &detail, 1));
    let _ = std::iter::once(header.record()).chain(messages).chain(problems).all(take);
    Ok(())
}

type Parsed = (Vec<Message>, Vec<(&'static str, String)>);

/// Parses JSON lines. A last line that is still being written is left for later.
fn lines(text: &str) -> Parsed {
    let (mut messages, mut problems) = (Vec::new(), Vec::new());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_matches(['\0', ' ', '\n', '\r', '\t']).is_empty() {
            continue;
        }
        let Some(value) = parse(line).filter(Value::is_object) else {
            if line.ends_with('\n') {
                problems.push(("torn-json", "line".to_owned()));
            }
            continue;
        };
        if text_of(&value, "type") == Some("turn_ended") {
            continue;
        }
        let id = format!("#{at}");
        let mut message = Message { id, ..Message::default() };
        message.role = match (text_of(&value, "role"), text_of(&value, "type")) {
            (Some("user"), _) => "user",
            (Some("assistant"), _) => "assistant",
            (Some("system"), _) => "system",
            (None, Some("error")) => {
                message.text = text_of(&value, "error").map_or_else(|| value["error"].to_string(), str::to_owned);
                messages.push(Message { role: "system", ..message });
                continue;
            }
            (role, kind) => {
                problems.push(("unknown-role", short(role.or(kind).unwrap_or("none"))));
                continue;
            }
        };
        let content = if value["message"].is_object() { &value["message"]["content"] } else { &value["content"] };
        problems.extend(parts(content, &mut message).into_iter().map(|part| ("unknown-part", part)));
        if message.role == "user" {
            message.at = stamped(&message.text).map(Into::into);
        }
        if !message.is_empty() {
            messages.push(message);
        }
    }
    (messages, problems)
}

/// Reads the parts of a message. Returns the types of unknown parts.
pub(super) fn parts(content: &Value, message: &mut Message) -> Vec<String> {
    let mut unknown = Vec::new();
    let list = match content {
        Value::String(text) => {
            message.text.clone_from(text);
            return unknown;
        }
        Value::Array(list) => list,
        _ => return unknown,
    };
    for part in list {
        match (part, text_of(part, "type")) {
            (Value::String(text), _) => append(&mut message.text, text),
            (_, Some("text")) => append(&mut message.text, text_of(part, "text").unwrap_or("")),
            (_, Some("reasoning" | "thinking")) => {
                append(&mut message.thinking, first_text(part, &["text", "thinking", "reasoning"]).unwrap_or(""));
            }
            (_, Some("tool_use" | "tool-call")) => message.tools.push(tool(part, &[("input", "input"), ("input", "args")])),
            (_, Some("tool_result" | "tool-result")) => {
                let mut answer = tool(part, &[("output", "result"), ("output", "content"), ("output", "output")]);
                let is_error = ["isError", "is_error"].iter().any(|key| part[*key].as_bool() == Some(true));
                answer["status"] = if is_error { "error" } else { "completed" }.into();
                message.tools.push(answer);
            }
            (_, Some(kind)) if WORDLESS_PARTS.contains(&kind) => {}
            (_, kind) => unknown.push(short(kind.unwrap_or("none"))),
        }
    }
    unknown
}

/// Returns a tool call or answer from a part. `members` maps the names in the record to those in the part.
fn tool(part: &Value, members: &[(&str, &str)]) -> Value {
    let mut tool = Map::new();
    if let Some(name) = first_text(part, &["toolName", "name"]) {
        tool.insert("name".to_owned(), name.into());
    }
    if let Some(call) = first_text(part, &["toolCallId", "tool_use_id", "id"]) {
        tool.insert("call".to_owned(), call.into());
    }
    for (key, member) in members {
        if !part[*member].is_null() && !tool.contains_key(*key) {
            tool.insert((*key).to_owned(), part[*member].clone());
        }
    }
    Value::Object(tool)
}

/// Parses text with `user:` and `assistant:` on lines of their own. Thoughts, calls and answers are
/// paragraphs that begin with a mark in brackets.
fn plain(text: &str) -> Parsed {
    let mut messages: Vec<Message> = Vec::new();
    let mut section = Section::Words;
    for line in text.lines() {
        let role = match line.trim_end() {
            "user:" => Some("user"),
            "assistant:" => Some("assistant"),
            _ => None,
        };
        if let Some(role) = role {
            // Only the first mark is sure to be the client's; answers and outputs may hold such a line, too.
            let is_by_anybody = role == "user" && !messages.is_empty();
            messages.push(Message { id: format!("#{}", messages.len()), role, is_by_anybody, ..Message::default() });
            section = Section::Words;
            continue;
        }
        let Some(message) = messages.last_mut() else { continue };
        if message.role == "assistant" {
            if let Some(name) = line.strip_prefix("[Tool call]") {
                message.tools.push(serde_json::json!({"name": name.trim(), "input": ""}));
                section = Section::Call;
                continue;
            }
            if let Some(name) = line.strip_prefix("[Tool result]").map(str::trim) {
                // Usually this is the answer to the preceding call.
                let call = message.tools.last_mut().and_then(Value::as_object_mut);
                match call.filter(|call| !call.contains_key("output") && call.get("name").and_then(Value::as_str) == Some(name)) {
                    Some(call) => drop(call.insert("output".to_owned(), "".into())),
                    None => message.tools.push(serde_json::json!({"name": name, "output": ""})),
                }
                section = Section::Answer;
                continue;
            }
            if let Some(rest) = line.strip_prefix("[Thinking]") {
                append(&mut message.thinking, rest.trim_start());
                section = Section::Thought;
                continue;
            }
        }
        if section != Section::Answer && line.trim().is_empty() && message.role == "assistant" {
            section = Section::Words;
        }
        let to = match section {
            Section::Words => Some(&mut message.text),
            Section::Thought => Some(&mut message.thinking),
            Section::Call | Section::Answer => None,
        };
        match to {
            Some(to) => {
                to.push_str(line);
                to.push('\n');
            }
            None => {
                let key = if section == Section::Call { "input" } else { "output" };
                if let Some(Value::String(to)) = message.tools.last_mut().and_then(|tool| tool.get_mut(key)) {
                    to.push_str(line);
                    to.push('\n');
                }
            }
        }
    }
    let is_unknown = messages.is_empty() && !text.trim().is_empty();
    messages.retain(|message| !message.is_empty());
    for message in &mut messages {
        message.text = message.text.trim().to_owned();
        for member in message.tools.iter_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
            if let Value::String(text) = member {
                text.truncate(text.trim_end().len());
            }
        }
    }
    (messages, if is_unknown { vec![("no-roles", String::new())] } else { Vec::new() })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Words,
    Thought,
    Call,
    Answer,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(user:\n|assistant:\n|\\[Tool (call|result)\\] ?|[\\[\\]{}\":a-z\n]){0,60}") {
            lines(&text);
            plain(&text);
        }
    }
}
