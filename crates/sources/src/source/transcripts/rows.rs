//! Mistral Vibe and Grok Build: messages in the form of OpenAI's interface, in a folder for each session. The folder has the
//! session's facts in a file of their own.
//!
//! - Vibe: `messages.jsonl`, facts in `meta.json`
//! - Grok: `updates.jsonl`, the stream of everything that was shown; `chat_history.jsonl`, the context of the model, which is
//!   read only without a stream, because it shrinks when it is compacted; facts in `summary.json`

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::episode::{Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::shapes::{Answer, Message, append, arguments, exit_code, first_text, flatten, id_of, short, text_of};
use super::super::{Computer, Reading};
use super::form::{Facts, Line, Parsed, Said, facts_in, lines_below, name_of, read_content, time_of};

const MESSAGES: &str = "messages.jsonl";
const META: &str = "meta.json";
const STREAM: &str = "updates.jsonl";
const CONTEXT: &str = "chat_history.jsonl";
const SUMMARY: &str = "summary.json";

/// Updates of a stream without words, or with words that come elsewhere too.
const WORDLESS: [&str; 6] =
    ["agent_thought_chunk", "plan", "available_commands_update", "current_mode_update", "usage_update", "session_info_update"];

pub(super) fn vibe_places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![computer.directory("VIBE_HOME", ".vibe").join("logs/session")]
}

pub(super) fn find_vibe(root: &Path) -> Vec<PathBuf> {
    lines_below(root, |file| name_of(Some(file)) == MESSAGES && file.with_file_name(META).is_file())
}

pub(super) fn vibe_facts(file: &Path) -> Vec<PathBuf> {
    vec![file.with_file_name(META)]
}

pub(super) fn parse_vibe(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    if !lines.iter().any(|line| text_of(&line.value, "role").is_some()) {
        return None;
    }
    let meta = facts_in(&path.with_file_name(META));
    let fact = |keys: &[&str]| first_text(&meta, keys).map(str::to_owned);
    let directory = || text_of(&meta["environment"], "working_directory").map(str::to_owned);
    let rank = if text_of(&meta, "title_source") == Some("auto") { TitleRank::Ai } else { TitleRank::Custom };
    let facts = Facts {
        session: fact(&["session_id"]).unwrap_or_else(|| name_of(path.parent()).to_owned()),
        cwd: fact(&["working_dir"]).or_else(directory),
        branch: fact(&["git_branch"]),
        model: fact(&["model"]).or_else(|| text_of(&meta["config"], "active_model").map(str::to_owned)),
        title: fact(&["title"]).map(|title| (title, rank)),
        began: meta["start_time"].clone(),
        ..Facts::default()
    };
    let messages = lines.into_iter().map(|line| Said { line: line.number, message: line.value, ..Said::default() }).collect();
    Some(Parsed { facts, messages })
}

pub(super) fn read_vibe(row: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let mut message = read_row(row, text_of(row, "role").unwrap_or(""), tool_bytes, out)?;
    message.native_id = text_of(row, "message_id").unwrap_or("").to_owned();
    if message.role == Role::Human && row["injected"] == true {
        message.role = Role::Injected;
    }
    Some(message)
}

/// Reads a row with a role, a content, calls, and for an answer the call that it answers.
fn read_row(row: &Value, role: &str, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let mut message = Message::new(String::new(), Role::Assistant, RecordedTime::UNKNOWN);
    message.role = match role {
        "user" => Role::Human,
        "assistant" => Role::Assistant,
        "tool" | "tool_result" => Role::ToolResult,
        // Instructions of the program.
        "system" => return None,
        unknown => {
            out.push(Reading::Skip("unknown-role", short(unknown)));
            return None;
        }
    };
    if message.role == Role::ToolResult {
        let text = flatten(&row["content"]);
        let has_failed = row["is_error"] == true || exit_code(&text).is_some_and(|code| code != 0);
        message.answers.push(Answer {
            call_id: id_of(&row["tool_call_id"]),
            name: text_of(row, "name").unwrap_or("").to_owned(),
            text,
            outcome: Some(if has_failed { Outcome::Failed } else { Outcome::Done }),
            files: Vec::new(),
        });
        return Some(message);
    }
    message.model = first_text(row, &["model", "model_id"]).map(str::to_owned);
    read_content(&row["content"], &mut message, out, |_, _, _| false);
    for call in row["tool_calls"].as_array().into_iter().flatten() {
        let function = if call["function"].is_object() { &call["function"] } else { call };
        let name = text_of(function, "name").unwrap_or("tool");
        message.call(id_of(&call["id"]), name, &arguments(&function["arguments"]), tool_bytes);
    }
    Some(message)
}

pub(super) fn grok_places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![computer.directory("GROK_HOME", ".grok").join("sessions")]
}

pub(super) fn find_grok(root: &Path) -> Vec<PathBuf> {
    lines_below(root, |file| match name_of(Some(file)) {
        STREAM => true,
        CONTEXT => !file.with_file_name(STREAM).is_file(),
        _ => false,
    })
}

pub(super) fn grok_facts(file: &Path) -> Vec<PathBuf> {
    vec![file.with_file_name(SUMMARY)]
}

pub(super) fn parse_grok(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    let summary = facts_in(&path.with_file_name(SUMMARY));
    let fact = |key: &str| text_of(&summary, key).map(str::to_owned);
    let is_side = text_of(&summary, "session_kind").is_some_and(|kind| kind.starts_with("subagent"));
    let folder = path.parent();
    let session = text_of(&summary["info"], "id").map_or_else(|| name_of(folder).to_owned(), str::to_owned);
    let recorded = || {
        let file = folder.and_then(Path::parent)?.join(".cwd");
        std::fs::read_to_string(file).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let facts = Facts {
        parent: is_side.then(|| fact("parent_session_id").unwrap_or_else(|| session.clone())),
        cwd: text_of(&summary["info"], "cwd").map(str::to_owned).or_else(recorded),
        branch: fact("head_branch"),
        model: fact("current_model_id"),
        title: first_text(&summary, &["generated_title", "session_summary"]).map(|title| (title.to_owned(), TitleRank::Ai)),
        began: summary["created_at"].clone(),
        session,
        ..Facts::default()
    };
    let is_stream = lines.iter().any(|line| update_of(&line.value).is_some());
    let is_context = lines.iter().any(|line| first_text(&line.value, &["type", "role"]).is_some());
    if !is_stream && !is_context {
        return None;
    }
    let messages = if is_stream { joined(lines) } else { rows(lines) };
    Some(Parsed { facts, messages })
}

/// Returns the rows of a context. They have no ids. When the context is compacted, rows vanish, so that a row is identified by
/// the number of the prompt that it follows.
fn rows(lines: Vec<Line>) -> Vec<Said> {
    let (mut prompt, mut count) = (String::new(), 0);
    let mut said = Vec::new();
    for Line { number, mut value } in lines {
        if let Some(index) = value["prompt_index"].as_u64() {
            (prompt, count) = (format!("p{index}."), 0);
        }
        count += 1;
        if value.is_object() {
            value["id"] = json!(format!("{prompt}{count}"));
        }
        said.push(Said { line: number, message: value, ..Said::default() });
    }
    said
}

fn update_of(value: &Value) -> Option<&Value> {
    let update = &value["params"]["update"];
    update["sessionUpdate"].is_string().then_some(update)
}

/// Joins the pieces of a stream: consecutive pieces of one speaker are a message, and the updates of a call belong to it.
fn joined(lines: Vec<Line>) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut calls: HashMap<String, usize> = HashMap::new();
    for Line { number, value } in lines {
        let Some(update) = update_of(&value) else {
            said.push(Said { line: number, message: value, ..Said::default() });
            continue;
        };
        let kind = text_of(update, "sessionUpdate").unwrap_or("").to_owned();
        let time = if value["timestamp"].is_null() { &update["_meta"]["agentTimestampMs"] } else { &value["timestamp"] };
        let time = time.clone();
        match kind.as_str() {
            "user_message_chunk" | "agent_message_chunk" => {
                let text = flatten_text(&update["content"]);
                if let Some(last) = said.last_mut()
                    && last.message["kind"] == kind.as_str()
                    && let Some(known) = last.message["text"].as_str()
                {
                    last.message["text"] = format!("{known}{text}").into();
                } else {
                    // A rewind shortens the stream, so that a line may come twice with different words.
                    let message = json!({"kind": kind, "id": format!("#{number}@{time}"), "text": text, "time": time});
                    said.push(Said { line: number, message, ..Said::default() });
                }
            }
            "tool_call" | "tool_call_update" => {
                let id = id_of(&update["toolCallId"]).unwrap_or_default();
                let at = *calls.entry(id.clone()).or_insert_with(|| {
                    said.push(Said {
                        line: number,
                        message: json!({"kind": "tool_call", "id": id, "time": time}),
                        ..Said::default()
                    });
                    said.len() - 1
                });
                // A later update repeats what it completes.
                for key in ["title", "kind", "status", "rawInput", "rawOutput", "content", "locations"] {
                    if !update[key].is_null() {
                        said[at].message["call"][key] = update[key].clone();
                    }
                }
            }
            _ if WORDLESS.contains(&kind.as_str()) => {}
            _ => said.push(Said { line: number, message: json!({"kind": kind}), ..Said::default() }),
        }
    }
    said
}

/// Returns the text of one piece or of several, without anything between them.
fn flatten_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(flatten_text).collect(),
        _ => text_of(content, "text").unwrap_or("").to_owned(),
    }
}

pub(super) fn read_grok(row: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    if let Some(kind) = text_of(row, "kind") {
        return read_update(kind, row, tool_bytes, out);
    }
    let id = text_of(row, "id").unwrap_or("").to_owned();
    let role = first_text(row, &["type", "role"]).unwrap_or("");
    let mut message = match role {
        "reasoning" => return None,
        "backend_tool_call" => {
            let call = &row["kind"];
            let mut message = Message::new(String::new(), Role::Assistant, RecordedTime::UNKNOWN);
            let name = text_of(call, "tool_type").unwrap_or("tool");
            message.call(id_of(&call["id"]), name, &call["action"], tool_bytes);
            message
        }
        _ => read_row(row, role, tool_bytes, out)?,
    };
    message.native_id = id;
    // A person may say something while the model works; everything else that says why it was made is the program's.
    let is_typed = text_of(row, "synthetic_reason").is_none_or(|reason| reason == "interjection");
    if message.role == Role::Human && !is_typed {
        message.role = Role::Injected;
    }
    Some(message)
}

fn read_update(kind: &str, row: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let time = time_of(&row["time"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(row, "id").unwrap_or("").to_owned(), Role::Assistant, time);
    match kind {
        "user_message_chunk" => {
            message.role = Role::Human;
            message.say(text_of(row, "text").unwrap_or(""));
        }
        "agent_message_chunk" => message.say(text_of(row, "text").unwrap_or("")),
        "tool_call" => {
            let call = &row["call"];
            let id = id_of(&row["id"]);
            let name = first_text(call, &["kind", "title"]).unwrap_or("tool");
            let input = if call["rawInput"].is_null() { &call["title"] } else { &call["rawInput"] };
            message.call(id.clone(), name, input, tool_bytes);
            let outcome = match text_of(call, "status") {
                Some("completed") => Some(Outcome::Done),
                Some("failed") => Some(Outcome::Failed),
                _ => None,
            };
            // An update that completes the call makes a fuller copy.
            message.parts = if outcome.is_some() { 2 } else { 1 };
            let mut text = String::new();
            for part in call["content"].as_array().into_iter().flatten() {
                let words = if part["content"].is_null() { part } else { &part["content"] };
                append(&mut text, &flatten(words));
            }
            if text.is_empty() {
                text = flatten(&call["rawOutput"]);
            }
            if outcome.is_some() || !text.is_empty() {
                message.answers.push(Answer { call_id: id, name: name.to_owned(), text, outcome, files: Vec::new() });
            }
        }
        unknown => {
            out.push(Reading::Skip("unknown-type", short(unknown)));
            return None;
        }
    }
    Some(message)
}
