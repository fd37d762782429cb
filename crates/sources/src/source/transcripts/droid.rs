//! Factory Droid: `sessions/<directory>/<session>.jsonl`, messages in the form of Anthropic's interface. The model is in
//! `<session>.settings.json`.

use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_core::episode::{Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::shapes::{Answer, Message, first_text, flatten, id_of, short, text_of};
use super::super::speaker::{Marks, divide};
use super::super::{Computer, Reading};
use super::form::{Facts, Line, Parsed, Said, facts_in, first_values, lines_below, name_of, read_content, time_of};

const START: &str = "session_start";
/// Elements that the program puts into a prompt.
const PUT_IN: Marks = Marks { elements: &["system-reminder"], tails: &[] };
/// Lines without words.
const WORDLESS: [&str; 4] = [START, "todo_state", "settings", "session_end"];

pub(super) fn places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![computer.home.join(".factory/sessions")]
}

pub(super) fn find(root: &Path) -> Vec<PathBuf> {
    lines_below(root, |file| first_values(file).iter().any(|value| text_of(value, "type") == Some(START)))
}

pub(super) fn beside(file: &Path) -> Vec<PathBuf> {
    vec![file.with_extension("settings.json")]
}

pub(super) fn parse(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    let is_of = |line: &Line, kind: &str| text_of(&line.value, "type") == Some(kind);
    let start = lines.iter().find(|line| is_of(line, START)).map(|line| line.value.clone());
    if start.is_none() && !lines.iter().any(|line| is_of(line, "message")) {
        return None;
    }
    let start = start.unwrap_or_default();
    let settings = facts_in(&path.with_extension("settings.json"));
    let fact = |key: &str| text_of(&start, key).map(str::to_owned);
    let name = name_of(Some(path)).trim_end_matches(".jsonl").to_owned();
    let facts = Facts {
        session: fact("id").unwrap_or(name),
        parent: fact("callingSessionId"),
        cwd: fact("cwd"),
        model: text_of(&settings, "model").map(str::to_owned),
        title: first_text(&start, &["sessionTitle", "title"]).map(|title| (title.to_owned(), TitleRank::Ai)),
        began: start["timestamp"].clone(),
        ..Facts::default()
    };
    let messages = lines.into_iter().filter(|line| !WORDLESS.contains(&text_of(&line.value, "type").unwrap_or("")));
    let messages = messages.map(|line| Said { line: line.number, message: line.value, ..Said::default() }).collect();
    Some(Parsed { facts, messages })
}

pub(super) fn read(line: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let time = time_of(&line["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(line, "id").unwrap_or("").to_owned(), Role::Assistant, time);
    match text_of(line, "type").unwrap_or("") {
        "message" => {}
        "compaction_state" | "compaction" | "summary" => {
            message.role = Role::Summary;
            message.say(first_text(line, &["summaryText", "summary"]).unwrap_or(""));
            return Some(message);
        }
        unknown => {
            out.push(Reading::Skip("unknown-type", short(unknown)));
            return None;
        }
    }
    let native = &line["message"];
    let role = text_of(native, "role").unwrap_or("");
    message.model = text_of(native, "model").map(str::to_owned);
    read_content(&native["content"], &mut message, out, |kind, block, message| {
        match kind {
            "tool_use" => {
                message.call(id_of(&block["id"]), text_of(block, "name").unwrap_or("tool"), &block["input"], tool_bytes);
            }
            "tool_result" => message.answers.push(Answer {
                call_id: id_of(&block["tool_use_id"]),
                text: flatten(&block["content"]),
                outcome: Some(if block["is_error"] == true { Outcome::Failed } else { Outcome::Done }),
                ..Answer::default()
            }),
            _ => return false,
        }
        true
    });
    message.role = match role {
        "user" if text_of(native, "visibility") == Some("llm_only") => Role::Injected,
        "user" => {
            let (said, beside, caveat) = divide(&message.text, &PUT_IN).settled();
            message.caveat = caveat;
            message.tool_text.push_str(&beside);
            if said.is_empty() {
                Role::Injected
            } else {
                message.text = said;
                Role::Human
            }
        }
        "assistant" => Role::Assistant,
        unknown => {
            out.push(Reading::Skip("unknown-role", short(unknown)));
            return None;
        }
    };
    Some(message)
}
