//! DeepSeek Harness (`dsh`): a log of events for each session, JSON lines in frames of zstd, or plain. No real
//! one has been seen yet.
//!
//! - [`DeepSeek`]: finds the logs, and reduces each to the events with words
//! - `Session`: events to turns
//!
//! A new version of the format writes a session's log anew beside the old one: the newest is read. A session
//! that was begun from another one repeats its events, up to a mark; these are left out.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Episode, EpisodeKind, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::conversation::{Conversation, ConversationReader, Shared};
use super::shapes::{self, Answer, Message, arguments, drop_payloads, flatten, id_of, short, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, Unit, files_below, rows};

const KIND: &str = "deepseek";
/// Types of events that are read.
const READ: [&str; 6] = ["user/message", "assistant/message", "tool/call", "tool/result", "session/title", "turn/end"];
/// Types of blocks without words.
const WORDLESS: [&str; 3] = ["reasoning", "image", "file"];

/// The source for DeepSeek Harness; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct DeepSeek;

impl Source for DeepSeek {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "DeepSeek Harness"
    }

    fn is_verified(&self) -> bool {
        false
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        vec![computer.directory("DSH_HOME", ".dsh").join("sessions")]
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::records(root.to_path_buf()).into_iter().collect();
        }
        let mut newest: HashMap<PathBuf, (u64, PathBuf)> = HashMap::new();
        for file in ["zstd", "jsonl"].iter().flat_map(|ending| files_below(root, ending, 4)) {
            let (Some(version), Some(folder)) = (version_of(&file), file.parent()) else { continue };
            let folder = folder.to_path_buf();
            if newest.get(&folder).is_none_or(|(known, _)| version > *known) {
                newest.insert(folder, (version, file));
            }
        }
        newest.into_values().filter_map(|(_, file)| Unit::records(file)).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let (mut header, mut events) = (Value::Null, Vec::new());
        let problems = shapes::each_object(&unit.path, |value| {
            if header.is_null() && text_of(&value, "type") == Some("session") {
                header = value;
            } else {
                events.push(value);
            }
            true
        })?;
        records_of(header, events, take);
        let _ = problems.into_iter().all(take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        rows::owner(value)
    }
}

/// Returns the version of a log by its name: `session.jsonl`, `session.v3.jsonl.zstd`.
fn version_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let middle = name.strip_suffix(".zstd").unwrap_or(name).strip_suffix(".jsonl")?.strip_prefix("session")?;
    if middle.is_empty() { Some(0) } else { middle.strip_prefix(".v")?.parse().ok() }
}

/// Passes the header and the events with words to `take`.
fn records_of(mut header: Value, events: Vec<Value>, take: &mut dyn FnMut(Value) -> bool) {
    let Some(id) = text_of(&header, "id").map(str::to_owned) else {
        take(super::problem(super::NO_CONVERSATION, "a log without the line that names its session"));
        return;
    };
    let mut record = json!({"type": "session", "session": id});
    if let Some(directory) = text_of(&header, "cwd") {
        record["directory"] = directory.into();
    }
    let seeded = match header["seedLength"].as_u64() {
        Some(length) => events.iter().take_while(|event| event["seq"].as_u64().is_none_or(|seq| seq < length)).count(),
        None if header["isSeeded"] == true => {
            events.iter().position(|event| text_of(event, "type") == Some("session/end-seed")).unwrap_or(0)
        }
        None => 0,
    };
    record["row"] = header.take();
    if !take(record) {
        return;
    }
    let mut started = Started::default();
    for mut event in events.into_iter().skip(seeded) {
        if let Some(interrupted) = started.step(&event)
            && !take(json!({"type": "message", "session": id, "id": interrupted["id"], "event": interrupted}))
        {
            return;
        }
        let kind = text_of(&event, "type").unwrap_or("");
        // An older result that is shortened to save context is a copy.
        let is_shortened = kind == "tool/result" && event["surfaceOp"].is_object();
        if !READ.contains(&kind) || is_shortened {
            continue;
        }
        let data = &event["data"];
        let message = if data["message"].is_object() { &data["message"] } else { data };
        let native = id_of(&message["id"]).unwrap_or_else(|| format!("#{}", event["seq"]));
        if let Some(data) = event["data"].as_object_mut() {
            // The frames in which the answer arrived, and what it cost.
            data.retain(|key, _| !matches!(key.as_str(), "stream" | "usage" | "meta"));
        }
        drop_payloads(&mut event);
        if !take(json!({"type": "message", "session": id, "id": native, "event": event})) {
            return;
        }
    }
}

/// An answer that began to arrive. It is given only if it never became whole.
#[derive(Default)]
struct Started {
    text: String,
    time: Value,
    seq: Value,
}

impl Started {
    /// Reads an event. Returns the answer if the event shows that it was interrupted.
    fn step(&mut self, event: &Value) -> Option<Value> {
        match text_of(event, "type")? {
            "assistant/chunk" if text_of(&event["data"]["chunk"], "type") == Some("text-delta") => {
                self.add(&event["data"]["chunk"]["text"], &event["time"], &event["seq"]);
            }
            // Several such events, packed.
            "text-chunks" => {
                for text in event["data"]["texts"].as_array().into_iter().flatten() {
                    self.add(text, &event["time0"], &event["seq0"]);
                }
            }
            "assistant/message" | "llm/retry" | "llm/retry-started" => *self = Self::default(),
            "turn/end" | "turn/start" if !self.text.is_empty() => {
                let Self { text, time, seq } = std::mem::take(self);
                return Some(json!({
                    "type": "assistant/message",
                    "id": format!("#{seq}"),
                    "time": time,
                    "data": {"message": {"content": [{"type": "text", "text": text}]}},
                }));
            }
            _ => {}
        }
        None
    }

    fn add(&mut self, text: &Value, time: &Value, seq: &Value) {
        if self.text.is_empty() {
            (self.time, self.seq) = (time.clone(), seq.clone());
        }
        self.text.push_str(text.as_str().unwrap_or(""));
    }
}

/// State shared by the events of a session.
struct Session {
    shared: Shared,
    created: Option<RecordedTime>,
}

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let row = &header["row"];
        let is_side =
            text_of(row, "origin") == Some("subagent") || row["delegationDepth"].as_u64().is_some_and(|depth| depth > 0);
        let mut shared = Shared::new(
            kind,
            Episode {
                kind: if is_side { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: text_of(row, "parentSession").filter(|_| is_side).map(str::to_owned),
                cwd: text_of(header, "directory").map(str::to_owned),
                ..shapes::episode(kind, id)
            },
        );
        if is_side {
            // The "user" of a side conversation is the agent that started it.
            shared.prompt = Role::Injected;
        }
        Self { shared, created: shapes::time_of(&row["createdAt"], TimeQuality::Session) }
    }

    fn id(&self) -> &str {
        &self.shared.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let (event, id) = (&value["event"], text_of(value, "id").unwrap_or(""));
        let data = &event["data"];
        let message = if data["message"].is_object() { &data["message"] } else { data };
        let time = shapes::time_of(&event["time"], TimeQuality::Exact).or_else(|| self.created.clone());
        let mut told = Message::new(id.to_owned(), Role::Assistant, time.unwrap_or(RecordedTime::UNKNOWN));
        let mut caveat = None;
        match text_of(event, "type") {
            Some("user/message") => {
                told.role = match text_of(&message["source"], "kind") {
                    Some("user") => self.shared.prompt,
                    // It takes the place of earlier messages.
                    Some(_) if event["surfaceOp"].is_object() => Role::Summary,
                    Some(_) => Role::Injected,
                    None => {
                        caveat = Some(Caveat::UnknownAuthor);
                        self.shared.prompt
                    }
                };
                self.read_blocks(message, tool_bytes, &mut told, out);
            }
            Some("assistant/message") => {
                told.model = text_of(&message["source"], "model").map(str::to_owned);
                self.read_blocks(message, tool_bytes, &mut told, out);
            }
            Some("tool/call") => {
                let call = text_of(data, "callId").unwrap_or("");
                // The answer that called the tool may have told it.
                if self.shared.has_call(call) {
                    return;
                }
                let name = text_of(data, "name").unwrap_or("tool");
                self.shared.call(&mut told, Some(call.to_owned()), name, &arguments(&data["arguments"]), tool_bytes);
            }
            Some("tool/result") => told.answers.push(answer(data, message)),
            Some("session/title") => {
                let source = text_of(&data["source"], "kind");
                let rank = if source == Some("user") { TitleRank::Custom } else { TitleRank::Ai };
                // Without a model's title, it is the first prompt.
                if let Some(title) = text_of(data, "title").filter(|_| source != Some("fallback")) {
                    self.shared.entitle(title, rank, line, out);
                }
                return;
            }
            Some("turn/end") => {
                let reason = &data["reason"];
                if text_of(reason, "kind") != Some("error") {
                    return;
                }
                told.role = Role::System;
                told.is_error = true;
                told.say(text_of(&reason["error"], "message").unwrap_or("error"));
            }
            other => {
                out.push(Reading::Skip("unknown-type", short(other.unwrap_or(""))));
                return;
            }
        }
        self.shared.tell(told, caveat, tool_bytes, line, out);
    }
}

impl Session {
    fn read_blocks(&mut self, message: &Value, tool_bytes: usize, told: &mut Message, out: &mut Vec<Reading>) {
        if let Some(text) = message["content"].as_str() {
            told.say(text);
        }
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        told.parts = (blocks.len() as u32).max(1);
        for block in blocks {
            match text_of(block, "type") {
                Some("text") => told.say(text_of(block, "text").unwrap_or("")),
                Some("tool-call") => {
                    let call_id = shapes::first_text(block, &["id", "toolCallId", "callId"]).map(str::to_owned);
                    let name = shapes::first_text(block, &["name", "toolName"]).unwrap_or("tool");
                    let input = if block["arguments"].is_null() { &block["input"] } else { &block["arguments"] };
                    self.shared.call(told, call_id, name, &arguments(input), tool_bytes);
                }
                Some(kind) if WORDLESS.contains(&kind) => {}
                other => out.push(Reading::Skip("unknown-block", short(other.unwrap_or("")))),
            }
        }
    }
}

/// Returns a tool's answer: a message of its own, or a block in a message.
fn answer(data: &Value, message: &Value) -> Answer {
    let block = message["content"].as_array().and_then(|blocks| blocks.iter().find(|block| block["type"] == "tool-result"));
    let result = block.unwrap_or(message);
    let call_id = text_of(&message["source"], "callId").or_else(|| text_of(result, "toolCallId"));
    let texts = |content: &Value| match content.as_array() {
        Some(parts) => parts.iter().filter_map(|part| text_of(part, "text")).collect::<Vec<_>>().join("\n\n"),
        None => content.as_str().unwrap_or("").to_owned(),
    };
    let error = &data["error"];
    let mut text = texts(&result["content"]);
    if text.trim().is_empty() && !error.is_null() {
        text = flatten(error);
    }
    let is_failed = result["isError"] == true || error.is_object();
    Answer {
        call_id: call_id.map(str::to_owned),
        text,
        outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
        ..Answer::default()
    }
}
