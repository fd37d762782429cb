//! Kiro's command line: `sessions/cli/<session>.jsonl`, facts in `<session>.json`. Since version 3 it is
//! `sessions/<directory>/sess_<session>/messages.jsonl`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_core::episode::{Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::shapes::{Answer, Message, append, exit_code, first_text, flatten, id_of, short, text_of};
use super::super::{Computer, Reading};
use super::form::{Facts, Line, Parsed, Said, facts_in, first_values, lines_below, name_of, time_of};

/// Name of a conversation's file since version 3.
const MESSAGES: &str = "messages.jsonl";
/// Kinds of lines before version 3.
const KINDS: [&str; 4] = ["Prompt", "AssistantMessage", "ToolResults", "Compaction"];

pub(super) fn places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![computer.directory("KIRO_HOME", ".kiro").join("sessions")]
}

pub(super) fn find(root: &Path) -> Vec<PathBuf> {
    lines_below(root, |file| first_values(file).iter().any(is_line))
}

/// Returns whether a value is a line of a conversation of either form.
fn is_line(value: &Value) -> bool {
    text_of(value, "kind").is_some_and(|kind| KINDS.contains(&kind)) && value["data"].is_object()
        || text_of(&value["payload"], "type").is_some() && value.get("timestamp").is_some() && value.get("type").is_none()
}

pub(super) fn beside(file: &Path) -> Vec<PathBuf> {
    if name_of(Some(file)) != MESSAGES {
        return vec![file.with_extension("json")];
    }
    let folder = file.parent().unwrap_or(file);
    vec![folder.join("session.json"), folder.with_extension("json")]
}

pub(super) fn parse(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    if !lines.iter().any(|line| is_line(&line.value)) {
        return None;
    }
    let about = beside(path).iter().map(|file| facts_in(file)).find(Value::is_object).unwrap_or_default();
    let name =
        if name_of(Some(path)) == MESSAGES { name_of(path.parent()) } else { name_of(Some(path)).trim_end_matches(".jsonl") };
    let fact = |keys: &[&str]| first_text(&about, keys).map(str::to_owned);
    let folder = about["workspacePaths"].as_array().and_then(|paths| paths.first()).and_then(Value::as_str);
    let facts = Facts {
        session: fact(&["session_id", "sessionId"]).unwrap_or_else(|| name.trim_start_matches("sess_").to_owned()),
        parent: fact(&["parent_session_id"]),
        cwd: fact(&["cwd"]).or_else(|| folder.map(str::to_owned)),
        model: text_of(&about["session_state"]["rts_model_state"]["model_info"], "model_id").map(str::to_owned),
        title: fact(&["title"]).map(|title| (title, TitleRank::Ai)),
        began: ["created_at", "createdAt"]
            .into_iter()
            .map(|key| about[key].clone())
            .find(|time| !time.is_null())
            .unwrap_or_default(),
        ..Facts::default()
    };
    let messages = lines.into_iter().map(|line| Said { line: line.number, message: line.value, ..Said::default() }).collect();
    Some(Parsed { facts, messages })
}

pub(super) fn read(line: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    if line["payload"].is_object() {
        return read_newer(line, tool_bytes, out);
    }
    let data = &line["data"];
    let time = time_of(&data["meta"]["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(data, "message_id").unwrap_or("").to_owned(), Role::Human, time);
    message.role = match text_of(line, "kind").unwrap_or("") {
        "Prompt" => Role::Human,
        "AssistantMessage" => Role::Assistant,
        "ToolResults" => Role::ToolResult,
        "Compaction" => {
            message.role = Role::Summary;
            message.say(first_text(data, &["summary", "content"]).unwrap_or(""));
            return Some(message);
        }
        unknown => {
            out.push(Reading::Skip("unknown-type", short(unknown)));
            return None;
        }
    };
    for block in data["content"].as_array().into_iter().flatten() {
        let body = &block["data"];
        match text_of(block, "kind").unwrap_or("") {
            "text" => message.say(body.as_str().unwrap_or("")),
            "toolUse" => {
                message.call(id_of(&body["toolUseId"]), text_of(body, "name").unwrap_or("tool"), &body["input"], tool_bytes);
            }
            "toolResult" => message.answers.push(answer_of(body)),
            "thinking" | "image" => {}
            unknown => out.push(Reading::Skip("unknown-block", short(unknown))),
        }
    }
    Some(message)
}

/// Returns the answer of a tool, whose output is text, or the status and the streams of a command.
fn answer_of(body: &Value) -> Answer {
    let mut text = String::new();
    let mut has_failed = text_of(body, "status").is_some_and(|status| status != "success");
    for part in body["content"].as_array().into_iter().flatten() {
        let part = &part["data"];
        match text_of(part, "exit_status") {
            Some(status) => {
                has_failed |= status.rsplit(' ').next().and_then(|code| code.parse::<i64>().ok()).is_some_and(|code| code != 0);
                append(&mut text, text_of(part, "stdout").unwrap_or(""));
                append(&mut text, text_of(part, "stderr").unwrap_or(""));
            }
            None => append(&mut text, &flatten(part)),
        }
    }
    let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
    Answer { call_id: id_of(&body["toolUseId"]), text, outcome: Some(outcome), ..Answer::default() }
}

fn read_newer(line: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let body = &line["payload"];
    let time = time_of(&line["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(line, "id").unwrap_or("").to_owned(), Role::Assistant, time);
    match text_of(body, "type").unwrap_or("") {
        "user" => {
            message.role = Role::Human;
            message.say(text_of(body, "content").unwrap_or(""));
        }
        "assistant" => {
            message.model = text_of(body, "reasoningModelId").map(str::to_owned);
            message.say(text_of(body, "content").unwrap_or(""));
        }
        "tool_call" => {
            message.call(id_of(&body["toolCallId"]), text_of(body, "toolName").unwrap_or("tool"), &body["args"], tool_bytes);
        }
        "tool_result" => {
            let text = flatten(&body["content"]);
            let has_failed = body["isError"] == true || exit_code(&text).is_some_and(|code| code != 0);
            let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
            message.role = Role::ToolResult;
            message.answers.push(Answer {
                call_id: id_of(&body["toolCallId"]),
                text,
                outcome: Some(outcome),
                ..Answer::default()
            });
        }
        unknown => {
            out.push(Reading::Skip("unknown-type", short(unknown)));
            return None;
        }
    }
    Some(message)
}
