//! Kimi Code (`sessions/<directory>/<session>/agents/<agent>/wire.jsonl`) and the older Kimi CLI. Kimi Code keeps facts in the
//! session's `state.json`; Kimi CLI has `sessions/<directory>/<session>/wire.jsonl`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::episode::{Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::shapes::{Answer, Message, append, arguments, first_text, flatten, id_of, output_referred_to, short, text_of};
use super::super::{Computer, Reading};
use super::form::{Facts, Line, Parsed, Said, facts_in, lines_below, name_of, read_content, time_of};

const WIRE: &str = "wire.jsonl";
const STATE: &str = "state.json";
/// Folder of a session's agents.
const AGENTS: &str = "agents";
/// Folder of the outputs of an agent's tools that were too large for its file.
const OUTPUTS: &str = "tool-results";
/// The agent that a person talks to.
const MAIN: &str = "main";

/// Beginnings of the types of records without words.
const WORDLESS: [&str; 21] = [
    "metadata",
    "config.",
    "usage.",
    "llm.",
    "tools.",
    "mcp.",
    "turn.ended",
    "turn.cancel",
    "turn.end",
    "permission.",
    "approval.",
    "full_compaction.",
    "plan_mode.",
    "goal.",
    "micro_compaction.",
    "swarm_mode.",
    "cron.",
    "file_history.",
    "profile.",
    "background.",
    "forked",
];
/// Events of a step, and messages of the older program, without words.
const WORDLESS_EVENTS: [&str; 10] = [
    "step.end",
    "llm.request",
    "block.start",
    "block.end",
    "StatusUpdate",
    "TurnEnd",
    "StepInterrupted",
    "CompactionBegin",
    "CompactionEnd",
    "ApprovalRequest",
];

pub(super) fn places(computer: &Computer<'_>) -> Vec<PathBuf> {
    vec![
        computer.directory("KIMI_CODE_HOME", ".kimi-code").join("sessions"),
        computer.directory("KIMI_SHARE_DIR", ".kimi").join("sessions"),
    ]
}

pub(super) fn find(root: &Path) -> Vec<PathBuf> {
    lines_below(root, |file| name_of(Some(file)) == WIRE)
}

/// Returns the folder of a conversation's session, and the agent whose words it holds.
fn session_folder(file: &Path) -> Option<(&Path, &str)> {
    let folder = file.parent()?;
    let above = folder.parent()?;
    if name_of(Some(above)) == AGENTS { Some((above.parent()?, name_of(Some(folder)))) } else { Some((folder, MAIN)) }
}

pub(super) fn beside(file: &Path) -> Vec<PathBuf> {
    session_folder(file).map(|(folder, _)| folder.join(STATE)).into_iter().collect()
}

/// Returns the directory that the older program lists for a session.
fn listed_directory(folder: &Path) -> Option<String> {
    // `<home>/sessions/<directory>/<session>`
    let list = facts_in(&folder.ancestors().nth(3)?.join("kimi.json"));
    let is_last = |known: &&Value| text_of(known, "last_session_id") == Some(name_of(Some(folder)));
    list["work_dirs"].as_array()?.iter().find(is_last).and_then(|known| text_of(known, "path")).map(str::to_owned)
}

pub(super) fn parse(path: &Path, lines: Vec<Line>) -> Option<Parsed> {
    let (folder, agent) = session_folder(path)?;
    let state = facts_in(&folder.join(STATE));
    let name = name_of(Some(folder)).to_owned();
    let is_side = agent != MAIN;
    let title = first_text(&state, &["title", "custom_title"]).filter(|title| *title != "New Session");
    let rank = if state["isCustomTitle"] == true { TitleRank::Custom } else { TitleRank::Ai };
    let mut facts = Facts {
        session: if is_side { format!("{name}/{agent}") } else { name.clone() },
        parent: is_side.then_some(name),
        cwd: first_text(&state, &["workDir", "cwd"]).map(str::to_owned).or_else(|| listed_directory(folder)),
        title: title.filter(|_| !is_side).map(|title| (title.to_owned(), rank)),
        began: state["createdAt"].clone(),
        ..Facts::default()
    };
    let mut steps = Steps { outputs: path.with_file_name(OUTPUTS), ..Steps::default() };
    for Line { number, value } in lines {
        if facts.cwd.is_none() && text_of(&value, "type") == Some("config.update") {
            facts.cwd = text_of(&value, "cwd").map(str::to_owned);
        }
        steps.take(number, value);
    }
    steps.is_known.then_some(Parsed { facts, messages: steps.said })
}

/// Joins events to messages.
#[derive(Default)]
struct Steps {
    said: Vec<Said>,
    /// Position of the step that goes on.
    open: Option<usize>,
    /// Positions of the steps that made calls, by the id of the call.
    calls: HashMap<String, usize>,
    /// Prompts that were sent and not yet repeated as a message of the context.
    sent: Vec<String>,
    model: Option<String>,
    /// Folder of the outputs that were too large.
    outputs: PathBuf,
    /// Position from which on prompts can be taken back: compressing or clearing the context moves it.
    floor: usize,
    /// True if any record was understood.
    is_known: bool,
}

impl Steps {
    fn take(&mut self, line: u64, value: Value) {
        if let Some(model) = first_text(&value, &["modelAlias", "model"]) {
            self.model = Some(model.to_owned());
        }
        let time = if value["time"].is_null() { value["timestamp"].clone() } else { value["time"].clone() };
        let kind = text_of(&value, "type").unwrap_or("");
        // The older program encloses each event.
        if let Some(kind) = text_of(&value["message"], "type").filter(|_| kind.is_empty()) {
            let (kind, body) = (kind.to_owned(), value["message"]["payload"].clone());
            self.is_known = true;
            return self.take_older(line, &kind, body, &time);
        }
        match kind {
            "context.append_loop_event" if !value["event"].is_object() => return self.push(line, json!({"unknown": kind})),
            "turn.prompt" | "turn.steer" => {
                let input = ["input", "content"].into_iter().map(|key| &value[key]).find(|input| !input.is_null());
                let input = input.cloned().unwrap_or_default();
                self.prompt(line, input, &value["origin"], &time);
            }
            "context.append_message" => {
                let message = &value["message"];
                let words = plain(&message["content"]);
                let is_repeated = text_of(message, "role") == Some("user") && self.sent.contains(&words);
                if is_repeated {
                    self.sent.retain(|sent| *sent != words);
                } else {
                    self.push(line, json!({"message": message, "time": time}));
                }
            }
            "context.append_loop_event" => {
                let event = value["event"].clone();
                let kind = text_of(&event, "type").unwrap_or("").to_owned();
                self.event(line, &kind, event, &time);
            }
            "context.apply_compaction" => {
                self.push(line, json!({"summary": value["summary"], "time": time}));
                self.floor = self.said.len();
            }
            "context.clear" => self.floor = self.said.len(),
            "context.undo" => self.undo(value["count"].as_u64().unwrap_or(0)),
            _ if WORDLESS.iter().any(|beginning| kind.starts_with(beginning)) => {}
            _ => return self.push(line, json!({"unknown": kind})),
        }
        self.is_known = true;
    }

    fn take_older(&mut self, line: u64, kind: &str, body: Value, time: &Value) {
        match kind {
            "TurnBegin" | "SteerInput" => self.prompt(line, body["user_input"].clone(), &Value::Null, time),
            "StepBegin" => self.event(line, "step.begin", json!({}), time),
            "ContentPart" => self.event(line, "content.part", json!({"part": body}), time),
            "ToolCall" => {
                let function = &body["function"];
                let call = json!({"toolCallId": body["id"], "name": function["name"], "args": function["arguments"]});
                self.event(line, "tool.call", call, time);
            }
            "ToolResult" => {
                let value = &body["return_value"];
                let output =
                    if value["output"].is_null() || value["output"] == "" { &value["message"] } else { &value["output"] };
                let result = json!({"output": output, "isError": value["is_error"]});
                self.event(line, "tool.result", json!({"toolCallId": body["tool_call_id"], "result": result}), time);
            }
            // A part of the arguments of the last call.
            "ToolCallPart" => {
                let part = text_of(&body, "arguments_part").unwrap_or("");
                let call = self.open.and_then(|at| self.said[at].message["events"].as_array_mut()?.last_mut());
                if let Some(call) = call.filter(|call| call["type"] == "tool.call") {
                    call["args"] = format!("{}{part}", call["args"].as_str().unwrap_or("")).into();
                }
            }
            _ if WORDLESS_EVENTS.contains(&kind) => {}
            _ => self.push(line, json!({"unknown": kind})),
        }
    }

    fn push(&mut self, line: u64, message: Value) {
        self.open = None;
        self.said.push(Said { line, message, ..Said::default() });
    }

    fn prompt(&mut self, line: u64, input: Value, origin: &Value, time: &Value) {
        let words = plain(&input);
        if words.is_empty() {
            self.open = None;
            return;
        }
        self.push(line, json!({"message": {"role": "user", "content": input, "origin": origin}, "time": time}));
        self.sent.push(words);
    }

    /// Marks the last prompts and all that followed them as taken back. The program does nothing if there are not as many.
    fn undo(&mut self, count: u64) {
        let is_prompt = |said: &Said| {
            let message = &said.message["message"];
            let is_of_person = text_of(&message["origin"], "kind").is_none_or(|by| by == "user");
            text_of(message, "role") == Some("user") && is_of_person && !said.is_taken_back
        };
        let prompts: Vec<usize> = (self.floor..self.said.len()).filter(|at| is_prompt(&self.said[*at])).collect();
        let first = usize::try_from(count).ok().and_then(|count| prompts.len().checked_sub(count));
        if let Some(first) = first.and_then(|at| prompts.get(at)) {
            self.said[*first..].iter_mut().for_each(|said| said.is_taken_back = true);
        }
        self.open = None;
    }

    /// Adds an event to the step that goes on, and a result to the step that made its call.
    fn event(&mut self, line: u64, kind: &str, mut event: Value, time: &Value) {
        if kind == "step.begin" {
            let id = text_of(&event, "uuid").unwrap_or("").to_owned();
            self.push(line, json!({"id": id, "time": time, "events": []}));
            self.open = Some(self.said.len() - 1);
            return;
        }
        if WORDLESS_EVENTS.contains(&kind) {
            return;
        }
        let call = id_of(&event["toolCallId"]);
        let caller = call.as_ref().filter(|_| kind == "tool.result").and_then(|call| self.calls.get(call).copied());
        let at = match caller.or(self.open) {
            Some(at) => at,
            None => {
                self.push(line, json!({"time": time, "events": []}));
                self.said.len() - 1
            }
        };
        if caller.is_none() {
            self.open = Some(at);
        }
        if let Some(call) = call.filter(|_| kind == "tool.call") {
            self.calls.insert(call, at);
        }
        if let Some(model) = &self.model {
            self.said[at].message["model"] = json!(model);
        }
        if event["part"]["type"] == "think" {
            return;
        }
        event["type"] = kind.into();
        if kind == "tool.result"
            && let Some(output) = output_referred_to(&event["result"], &self.outputs)
            && output.len() > flatten(&event["result"]["output"]).len()
            && let Some(result) = event.get_mut("result").and_then(Value::as_object_mut)
        {
            result.insert("output".to_owned(), output.into());
        }
        if let Some(events) = self.said[at].message["events"].as_array_mut() {
            events.push(event);
        }
    }
}

/// Returns the words of a content.
fn plain(content: &Value) -> String {
    let mut words = String::new();
    match content {
        Value::String(text) => append(&mut words, text),
        Value::Array(parts) => parts.iter().for_each(|part| append(&mut words, text_of(part, "text").unwrap_or(""))),
        _ => {}
    }
    words.trim().to_owned()
}

pub(super) fn read(value: &Value, tool_bytes: usize, out: &mut Vec<Reading>) -> Option<Message> {
    let time = time_of(&value["time"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
    let mut message = Message::new(text_of(value, "id").unwrap_or("").to_owned(), Role::Assistant, time);
    if let Some(unknown) = text_of(value, "unknown") {
        out.push(Reading::Skip("unknown-type", short(unknown)));
        return None;
    }
    if !value["summary"].is_null() {
        message.role = Role::Summary;
        message.say(&flatten(&value["summary"]));
        return Some(message);
    }
    if let Some(events) = value["events"].as_array() {
        message.model = text_of(value, "model").map(str::to_owned);
        message.parts = events.len().max(1) as u32;
        read_events(events, tool_bytes, &mut message, out);
        return Some(message);
    }
    let native = &value["message"];
    let role = text_of(native, "role").unwrap_or("");
    message.role = match role {
        "user" if text_of(&native["origin"], "kind").is_none_or(|by| by == "user") => Role::Human,
        "user" => Role::Injected,
        "assistant" => Role::Assistant,
        "tool" => Role::ToolResult,
        "system" => return None,
        unknown => {
            out.push(Reading::Skip("unknown-role", short(unknown)));
            return None;
        }
    };
    if role == "tool" {
        message.answers.push(Answer {
            call_id: id_of(&native["toolCallId"]),
            text: flatten(&native["content"]),
            outcome: Some(if native["isError"] == true { Outcome::Failed } else { Outcome::Done }),
            ..Answer::default()
        });
        return Some(message);
    }
    read_content(&native["content"], &mut message, out, |_, _, _| false);
    for call in native["toolCalls"].as_array().into_iter().flatten() {
        let function = if call["function"].is_object() { &call["function"] } else { call };
        let name = text_of(function, "name").unwrap_or("tool");
        message.call(id_of(&call["id"]), name, &arguments(&function["arguments"]), tool_bytes);
    }
    Some(message)
}

fn read_events(events: &[Value], tool_bytes: usize, message: &mut Message, out: &mut Vec<Reading>) {
    // The pieces of an answer follow each other without a break.
    let mut text = String::new();
    for event in events {
        match text_of(event, "type").unwrap_or("") {
            "content.part" => match text_of(&event["part"], "type").unwrap_or("") {
                "text" => text.push_str(text_of(&event["part"], "text").unwrap_or("")),
                "image_url" | "audio_url" | "video_url" => {}
                unknown => out.push(Reading::Skip("unknown-block", short(unknown))),
            },
            "tool.call" => {
                let input = if event["args"].is_null() { &event["arguments"] } else { &event["args"] };
                message.call(
                    id_of(&event["toolCallId"]),
                    text_of(event, "name").unwrap_or("tool"),
                    &arguments(input),
                    tool_bytes,
                );
            }
            "tool.result" => {
                let result = &event["result"];
                let output = if result["output"].is_null() { &result["message"] } else { &result["output"] };
                message.answers.push(Answer {
                    call_id: id_of(&event["toolCallId"]),
                    text: flatten(output),
                    outcome: Some(if result["isError"] == true { Outcome::Failed } else { Outcome::Done }),
                    ..Answer::default()
                });
            }
            unknown => out.push(Reading::Skip("unknown-type", short(unknown))),
        }
    }
    message.say(&text);
}
