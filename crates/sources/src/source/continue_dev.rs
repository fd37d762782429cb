//! Continue: one JSON file for each session, beside an index of all. No real session of the extension has
//! been seen yet.
//!
//! - [`Continue`]: finds the files, and divides each into a header and its messages
//! - `Session`: messages to turns

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, FileAction, Outcome, Role, TitleRank, ToolUse};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::address::path_of_address;
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Answer, Message, add_file, append, arguments, drop_payloads, id_of, short, text_of};
use super::{
    Computer, EpisodeReader, Known, LineOwner, NO_CONVERSATION, ReaderOptions, Reading, Source, Unit, files_below, problem,
};

const KIND: &str = "continue";

/// File name of the index of all sessions.
const INDEX: &str = "sessions.json";
/// Maximum size of a file in bytes. A larger file is not a session.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The source for Continue; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Continue;

impl Source for Continue {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Continue"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        vec![computer.directory("CONTINUE_GLOBAL_DIR", ".continue").join("sessions")]
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::records(root.to_path_buf()).into_iter().collect();
        }
        // Settings and keys are kept beside the sessions.
        let sessions = root.join("sessions");
        let root = if sessions.is_dir() { sessions } else { root.to_path_buf() };
        let mut files = files_below(&root, "json", 0);
        files.retain(|file| file.file_name().is_some_and(|name| name != INDEX));
        files.into_iter().filter_map(Unit::records).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let (session, damage) = shapes::read_document(&unit.path, MAX_FILE_BYTES)?;
        let stem = unit.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        let id = text_of(&session, "sessionId").unwrap_or(stem).to_owned();
        // Only the index records when a session began; without it the time is unknown.
        let index = shapes::read_json(&unit.path.with_file_name(INDEX), MAX_FILE_BYTES).unwrap_or_default();
        let listed = index.as_array().into_iter().flatten().find(|row| text_of(row, "sessionId") == Some(&id));
        records_of(&id, session, listed.unwrap_or(&Value::Null), take);
        damage.map(take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: None,
            about: None,
            directory: text_of(value, "directory"),
        }
    }
}

/// Divides a session into records: a header and its messages.
fn records_of(id: &str, mut session: Value, listed: &Value, take: &mut dyn FnMut(Value) -> bool) {
    let history = match session.get_mut("history").map(Value::take) {
        Some(Value::Array(history)) => history,
        _ => {
            take(problem(NO_CONVERSATION, ""));
            return;
        }
    };
    if history.is_empty() {
        return;
    }
    let directory =
        text_of(&session, "workspaceDirectory").or_else(|| text_of(listed, "workspaceDirectory")).and_then(path_of_address);
    let mut header = Map::new();
    header.insert("type".to_owned(), "session".into());
    header.insert("session".to_owned(), id.into());
    if let Some(directory) = directory {
        header.insert("directory".to_owned(), directory.into());
    }
    if let Some(title) = text_of(&session, "title").or_else(|| text_of(listed, "title")) {
        header.insert("title".to_owned(), title.into());
    }
    let created = if listed["dateCreated"].is_null() { &session["dateCreated"] } else { &listed["dateCreated"] };
    if !created.is_null() {
        header.insert("created".to_owned(), created.clone());
    }
    if !take(Value::Object(header)) {
        return;
    }
    // The extension also writes a tool's answer as a message. The command line stores it only with the call.
    let answered: HashSet<String> =
        history.iter().filter_map(|step| text_of(&step["message"], "toolCallId").map(str::to_owned)).collect();
    for (at, mut step) in history.into_iter().enumerate() {
        // The forms for display and for the model repeat the message.
        let mut record = json!({"type": "message", "session": id, "n": at});
        // Versions of 2024 have one call in a step.
        if step["toolCallStates"].is_null()
            && let Some(state) = step.get_mut("toolCallState").map(Value::take).filter(Value::is_object)
        {
            step["toolCallStates"] = json!([state]);
        }
        for key in ["message", "contextItems", "toolCallStates"] {
            let Some(mut value) = step.get_mut(key).map(Value::take).filter(|value| !value.is_null()) else { continue };
            if key == "toolCallStates" {
                let states: Vec<Value> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|state| {
                        let mut kept = json!({"toolCallId": state["toolCallId"], "status": state["status"]});
                        if text_of(state, "toolCallId").is_none_or(|id| !answered.contains(id)) {
                            kept["output"] = state["output"].clone();
                        }
                        kept
                    })
                    .collect();
                value = Value::Array(states);
            }
            drop_payloads(&mut value);
            if value.as_array().is_none_or(|list| !list.is_empty()) {
                record[key] = value;
            }
        }
        if !take(record) {
            return;
        }
    }
}

/// State shared by the messages of a session.
struct Session {
    episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<String>,
    /// The only recorded time.
    time: RecordedTime,
    /// Calls so far, by id: their names and how they ended.
    calls: HashMap<String, (String, Option<Outcome>)>,
}

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        Self {
            episode: Arc::new(Episode { cwd: text_of(header, "directory").map(str::to_owned), ..shapes::episode(kind, id) }),
            // These are placeholders for a missing title.
            title: text_of(header, "title")
                .filter(|title| !matches!(*title, "New Session" | "Untitled Session"))
                .map(str::to_owned),
            time: shapes::time_of(&header["created"], TimeQuality::Session).unwrap_or(RecordedTime::UNKNOWN),
            calls: HashMap::new(),
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        read_message(self, value, tool_bytes, line, out);
    }
}

fn read_message(session: &mut Session, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
    let said = &value["message"];
    let id = format!("#{}", value["n"].as_u64().unwrap_or(line));
    let role = match text_of(said, "role") {
        Some("user") => Role::Human,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::ToolResult,
        Some("system") => Role::System,
        Some("thinking") => return,
        other => {
            out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
            return;
        }
    };
    let mut message = Message::new(id, role, session.time.clone());
    if role == Role::Assistant {
        message.model = text_of(&said["usage"], "model").map(str::to_owned);
    }
    let mut words = String::new();
    match &said["content"] {
        Value::String(text) => words.push_str(text),
        Value::Array(parts) => {
            for part in parts {
                match text_of(part, "type") {
                    Some("text") => append(&mut words, text_of(part, "text").unwrap_or("")),
                    Some("imageUrl" | "image_url") => {}
                    other => out.push(Reading::Skip("unknown-part", short(other.unwrap_or("")))),
                }
            }
        }
        _ => {}
    }
    if role == Role::ToolResult {
        let call_id = id_of(&said["toolCallId"]);
        let (name, outcome) = call_id.as_ref().and_then(|id| session.calls.get(id)).cloned().unwrap_or_default();
        let outcome = outcome.unwrap_or(Outcome::Done);
        message.is_error = outcome == Outcome::Failed;
        message.tool_text = excerpt(&super::own::without_own_output(&words), tool_bytes).into_owned();
        message.tools = vec![ToolUse { call_id, name, outcome: Some(outcome) }];
    } else {
        message.say(&words);
    }
    let states: HashMap<&str, &Value> = value["toolCallStates"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|state| Some((text_of(state, "toolCallId")?, state)))
        .collect();
    for call in said["toolCalls"].as_array().into_iter().flatten() {
        let call_id = id_of(&call["id"]);
        let name = text_of(&call["function"], "name").unwrap_or("tool");
        let output = &call_id.as_deref().and_then(|id| states.get(id)).map_or(&Value::Null, |state| &state["output"]);
        let text: Vec<&str> = output.as_array().into_iter().flatten().filter_map(|item| text_of(item, "content")).collect();
        let text = text.join("\n");
        // Its tools are named without the server.
        if super::own::is_own_answer(name, &text) {
            session.calls.extend(call_id.map(|id| (id, (format!("mcp__yore__{name}"), Some(Outcome::Done)))));
            continue;
        }
        message.call(call_id.clone(), name, &arguments(&call["function"]["arguments"]), tool_bytes);
        if let Some(call_id) = call_id {
            let outcome = match states.get(call_id.as_str()).and_then(|state| text_of(state, "status")) {
                Some("done") => Some(Outcome::Done),
                Some("errored") => Some(Outcome::Failed),
                Some("canceled" | "cancelled") => Some(Outcome::Cancelled),
                _ => None,
            };
            // A call that was stopped gets no answer of its own.
            if outcome == Some(Outcome::Cancelled)
                && let Some(tool) = message.tools.last_mut()
            {
                tool.outcome = outcome;
            }
            if !text.is_empty() && outcome.is_some() {
                message.answers.push(Answer {
                    call_id: Some(call_id.clone()),
                    name: name.to_owned(),
                    text,
                    outcome,
                    files: Vec::new(),
                });
            }
            session.calls.insert(call_id, (name.to_owned(), outcome));
        }
    }
    for item in value["contextItems"].as_array().into_iter().flatten() {
        let address = &item["uri"];
        if let Some(path) =
            text_of(address, "value").filter(|_| text_of(address, "type") == Some("file")).and_then(path_of_address)
        {
            add_file(&mut message.files, path, FileAction::Read);
        }
        if let Some(content) = text_of(item, "content") {
            let name = text_of(item, "name").unwrap_or("context");
            append(&mut message.tool_text, &excerpt(&format!("{name}\n{content}"), tool_bytes));
        }
    }
    let before = out.len();
    message.turns(KIND, &session.episode, tool_bytes, line, out);
    if out.len() > before
        && let Some(words) = session.title.take()
    {
        let title = shapes::title(&words, TitleRank::Ai, session.time.utc, line);
        out.push(Reading::Title(Arc::clone(&session.episode), title));
    }
}
