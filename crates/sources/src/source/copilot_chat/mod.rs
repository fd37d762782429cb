//! GitHub Copilot Chat in VS Code and its variants: a file for each session, `.json` or a log of changes (`.jsonl`). The log
//! exists since 1.109.
//!
//! - [`CopilotChat`]: finds the sessions; of two files of one session, the log is read
//! - `replay`: applies a log to get the value that it builds
//! - `Session`: requests to turns
//!
//! `GitHub.copilot-chat/transcripts` beside the sessions repeats the content and is not read.

mod replay;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, FileAction, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::address::path_of_address;
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Answer, Message, add_file, append, arguments, drop_payloads, flatten, id_of, short, text_of};
use super::{
    Computer, EpisodeReader, Known, LineOwner, NO_CONVERSATION, ReaderOptions, Reading, Source, Unit, entries, files_below,
    problem,
};

const KIND: &str = "copilot-chat";

/// Directories that hold sessions: those of a workspace, and those of windows without one.
const OF_WORKSPACE: &str = "chatSessions";
const OF_EMPTY_WINDOW: &str = "emptyWindowChatSessions";
/// Maximum size of a file in bytes. A larger file is not a session.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Parts of a response without text by the model.
const WORDLESS: [&str; 24] = [
    "thinking",
    "progressTask",
    "progressTaskSerialized",
    "progressTaskResult",
    "progressMessage",
    "undoStop",
    "prepareToolInvocation",
    "mcpServersStarting",
    "confirmation",
    "elicitation",
    "elicitationSerialized",
    "command",
    "warning",
    "references",
    "reference",
    "usedContext",
    "codeCitation",
    "treeData",
    "multiDiffData",
    "extensions",
    "pullRequest",
    "move",
    "clearToPreviousToolInvocation",
    "hook",
];

/// The source for GitHub Copilot Chat; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct CopilotChat;

impl Source for CopilotChat {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "GitHub Copilot Chat"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        shapes::vs_code_users(computer)
            .iter()
            .flat_map(|user| [user.join("workspaceStorage"), user.join("globalStorage").join(OF_EMPTY_WINDOW)])
            .collect()
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::records(root.to_path_buf()).into_iter().collect();
        }
        let mut directories =
            vec![root.join(OF_WORKSPACE), root.join(OF_EMPTY_WINDOW), root.join("globalStorage").join(OF_EMPTY_WINDOW)];
        for workspaces in [root.to_path_buf(), root.join("workspaceStorage")] {
            for entry in entries(&workspaces) {
                directories.push(entry.path().join(OF_WORKSPACE));
            }
        }
        if root.file_name().is_some_and(|name| name == OF_WORKSPACE || name == OF_EMPTY_WINDOW) {
            directories.push(root.to_path_buf());
        }
        let mut units = Vec::new();
        for directory in directories {
            let logs = files_below(&directory, "jsonl", 0);
            let has_log: HashSet<PathBuf> = logs.iter().map(|log| log.with_extension("json")).collect();
            let values = files_below(&directory, "json", 0).into_iter().filter(|file| !has_log.contains(file));
            units.extend(values.collect::<Vec<_>>().into_iter().chain(logs).filter_map(Unit::records));
        }
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let is_log = unit.path.extension().is_some_and(|ending| ending == "jsonl");
        let (session, lost) = match is_log {
            true => {
                let (session, lost) = replay::replay(&unit.path, MAX_FILE_BYTES)?;
                (session, (lost > 0).then(|| json!({"type": "lost", "changes": lost})))
            }
            false => shapes::read_document(&unit.path, MAX_FILE_BYTES)?,
        };
        if !session.is_object() && unit.stamp.size > 0 {
            take(problem(NO_CONVERSATION, ""));
            return Ok(());
        }
        let stem = unit.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
        if records_of(stem, directory_of(&unit.path), session, take) {
            lost.map(take);
        }
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(value, "directory"),
        }
    }
}

/// Returns the folder of the workspace that a session's file belongs to.
fn directory_of(file: &Path) -> Option<String> {
    let workspace = shapes::read_json(&file.parent()?.parent()?.join("workspace.json"), 1 << 20).ok()?;
    if let Some(folder) = text_of(&workspace, "folder") {
        return path_of_address(folder);
    }
    // For a workspace of several folders, returns the directory of the file that lists them.
    let list = path_of_address(shapes::first_text(&workspace, &["workspace", "configuration"])?)?;
    Some(list.rsplit_once(['/', '\\'])?.0.to_owned()).filter(|path| !path.is_empty())
}

/// Returns the path in a URL as VS Code writes it: a string, its parts, or a location in a file.
fn path_of_value(value: &Value) -> Option<String> {
    match value {
        Value::String(address) => path_of_address(address),
        Value::Object(_) => match text_of(value, "scheme") {
            Some("file" | "vscode-remote") | None => shapes::first_text(value, &["fsPath", "path"]).map(str::to_owned),
            Some(_) => None,
        }
        .or_else(|| ["uri", "location"].iter().find_map(|key| value.get(*key).and_then(path_of_value))),
        _ => None,
    }
}

/// Divides a session into records: a header and its requests. Returns false if no more is wanted, or if the
/// session has no requests.
fn records_of(stem: &str, directory: Option<String>, mut session: Value, take: &mut dyn FnMut(Value) -> bool) -> bool {
    let requests = match session.get_mut("requests").map(Value::take) {
        Some(Value::Array(requests)) if !requests.is_empty() => requests,
        _ => return true,
    };
    let id = text_of(&session, "sessionId").unwrap_or(stem).to_owned();
    let mut header = Map::new();
    header.insert("type".to_owned(), "session".into());
    header.insert("session".to_owned(), id.as_str().into());
    if let Some(directory) = directory {
        header.insert("directory".to_owned(), directory.into());
    }
    if let Some(remote) = text_of(&session["repoData"], "remoteUrl").map(str::to_owned) {
        header.insert("remote".to_owned(), remote.into());
    }
    for key in ["customTitle", "creationDate"] {
        if let Some(value) = session.get_mut(key).map(Value::take).filter(|value| value.is_string() || value.is_number()) {
            header.insert(key.to_owned(), value);
        }
    }
    take(Value::Object(header))
        && requests.into_iter().enumerate().all(|(at, request)| {
            let request_id = text_of(&request, "requestId").map_or_else(|| format!("#{at}"), str::to_owned);
            take(json!({"type": "request", "session": id, "id": request_id, "request": slim(request)}))
        })
}

/// Returns a request without the text rendered for the model and the data that the window needs to draw it.
fn slim(mut request: Value) -> Value {
    let mut slim = Map::new();
    for key in ["timestamp", "message", "modelId", "isCanceled", "isHidden", "response"] {
        if let Some(value) = request.get_mut(key).map(Value::take).filter(|value| !value.is_null()) {
            slim.insert(key.to_owned(), value);
        }
    }
    if let Some(message) = slim.get_mut("message").and_then(Value::as_object_mut) {
        let has_text = message.get("text").is_some_and(Value::is_string);
        message.retain(|key, _| key == "text" || key == "parts" && !has_text);
    }
    for part in slim.get_mut("response").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(part) = part.as_object_mut() else { continue };
        part.retain(|key, _| !matches!(key.as_str(), "baseUri" | "uris" | "presentation" | "edits" | "metadata" | "id"));
    }
    let files: Vec<Value> = request["variableData"]["variables"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|variable| path_of_value(&variable["value"]).map(Value::String))
        .collect();
    if !files.is_empty() {
        slim.insert("files".to_owned(), Value::Array(files));
    }
    let result = &request["result"];
    if let Some(why) = text_of(&result["errorDetails"], "message") {
        slim.insert("error".to_owned(), why.into());
    }
    let calls: Vec<Value> = result["metadata"]["toolCallRounds"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|round| round["toolCalls"].as_array().into_iter().flatten())
        .map(|call| {
            let output = id_of(&call["id"]).map(|id| words_of_result(&result["metadata"]["toolCallResults"][id]));
            json!({"id": call["id"], "name": call["name"], "arguments": call["arguments"], "output": output})
        })
        .collect();
    if !calls.is_empty() {
        slim.insert("calls".to_owned(), Value::Array(calls));
    }
    let mut slim = Value::Object(slim);
    drop_payloads(&mut slim);
    slim
}

/// Returns the text of a tool's result: strings, or a tree of pieces of a prompt.
fn words_of_result(result: &Value) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::Array(list) => list.iter().for_each(|item| walk(item, out)),
            Value::Object(map) => {
                for (key, item) in map {
                    match (key.as_str(), item) {
                        ("text" | "value", Value::String(text)) => out.push_str(text),
                        _ => walk(item, out),
                    }
                }
            }
            _ => {}
        }
    }
    let mut words = String::new();
    for part in result["content"].as_array().into_iter().flatten() {
        let mut piece = String::new();
        walk(part, &mut piece);
        append(&mut words, &piece);
    }
    words
}

/// State shared by the requests of a session.
struct Session {
    episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<String>,
    created: Option<RecordedTime>,
}

impl Conversation for Session {
    const MESSAGE: &'static str = "request";

    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        Self {
            episode: Arc::new(Episode {
                cwd: text_of(header, "directory").map(str::to_owned),
                remote: text_of(header, "remote").map(str::to_owned),
                ..shapes::episode(kind, id)
            }),
            title: text_of(header, "customTitle").map(str::to_owned),
            created: shapes::time_of(&header["creationDate"], TimeQuality::Session),
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        read_request(self, value, tool_bytes, line, out);
    }

    fn read_other(value: &Value, out: &mut Vec<Reading>) {
        match text_of(value, "type") {
            Some("lost") => {
                let changes = value["changes"].as_u64().unwrap_or(0).min(100_000);
                out.extend((0..changes).map(|_| Reading::Skip("lost-change", String::new())));
            }
            other => out.push(Reading::Skip("unknown-type", short(other.unwrap_or("")))),
        }
    }
}

fn read_request(session: &mut Session, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
    let Some(id) = text_of(value, "id") else {
        out.push(Reading::Skip("wrong-shape", "request".to_owned()));
        return;
    };
    let request = &value["request"];
    let own_time = shapes::time_of(&request["timestamp"], TimeQuality::Exact);
    let time = own_time.clone().or_else(|| session.created.clone()).unwrap_or(RecordedTime::UNKNOWN);
    let mut asked = Message::new(id.to_owned(), Role::Human, time.clone());
    match &request["message"] {
        Value::String(text) => asked.say(text),
        message => match text_of(message, "text") {
            Some(text) => asked.say(text),
            None => message["parts"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|part| text_of(part, "text"))
                .for_each(|text| asked.say(text)),
        },
    }
    for path in request["files"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        add_file(&mut asked.files, path.to_owned(), FileAction::Read);
    }
    // Only the request has a recorded time.
    let time = own_time.map_or(time, |time| RecordedTime { quality: TimeQuality::Derived, ..time });
    let mut answer = Message::new(format!("{id}/response"), Role::Assistant, time);
    answer.model = text_of(request, "modelId").map(str::to_owned);
    let invocations = read_response(&request["response"], &mut answer, out);
    read_calls(&request["calls"], &invocations, tool_bytes, &mut answer);
    if answer.text.trim().is_empty()
        && answer.tools.is_empty()
        && let Some(why) = text_of(request, "error")
    {
        answer.role = Role::System;
        answer.is_error = true;
        answer.text = why.to_owned();
    }
    let before = out.len();
    let at = asked.time.utc;
    asked.turns(KIND, &session.episode, tool_bytes, line, out);
    answer.turns(KIND, &session.episode, tool_bytes, line, out);
    if request["isHidden"].as_bool() == Some(true) {
        shapes::take_back(&mut out[before..]);
    }
    if out.len() > before
        && let Some(words) = session.title.take()
    {
        out.push(Reading::Title(Arc::clone(&session.episode), shapes::title(&words, TitleRank::Ai, at, line)));
    }
}

/// Reads the parts of a response. Returns those that describe tool calls.
fn read_response<'v>(response: &'v Value, answer: &mut Message, out: &mut Vec<Reading>) -> Vec<&'v Value> {
    let mut invocations = Vec::new();
    // The model's text comes in pieces that are joined unless another part is between them.
    let mut is_joined = true;
    let mut count: u32 = 0;
    for part in response.as_array().into_iter().flatten() {
        count = count.saturating_add(1);
        let mut say = |text: &str, is_joined: &mut bool| {
            if *is_joined || text.trim().is_empty() {
                answer.text.push_str(text);
            } else {
                append(&mut answer.text, text);
                *is_joined = true;
            }
        };
        match text_of(part, "kind") {
            None | Some("markdownContent" | "markdownVuln") => {
                let content = if part["content"].is_null() { part } else { &part["content"] };
                match content.as_str().or_else(|| content["value"].as_str()).or_else(|| text_of(&content["value"], "value")) {
                    Some(text) => say(text, &mut is_joined),
                    None => out.push(Reading::Skip("unknown-part", String::new())),
                }
            }
            Some("inlineReference") => {
                let reference = &part["inlineReference"];
                let path = path_of_value(reference);
                let name = text_of(part, "name").or_else(|| text_of(reference, "name"));
                if let Some(name) = name.or_else(|| path.as_deref().and_then(|path| path.rsplit(['/', '\\']).next())) {
                    say(&format!("`{name}`"), &mut is_joined);
                }
                if let Some(path) = path {
                    add_file(&mut answer.files, path, FileAction::Mentioned);
                }
            }
            Some("textEditGroup" | "notebookEditGroup" | "codeblockUri" | "workspaceEdit") => {
                if let Some(path) = path_of_value(&part["uri"]) {
                    add_file(&mut answer.files, path, FileAction::Written);
                }
            }
            Some("toolInvocationSerialized" | "toolInvocation") => {
                invocations.push(part);
                is_joined = false;
            }
            Some(kind) if WORDLESS.contains(&kind) => is_joined = false,
            Some(kind) => out.push(Reading::Skip("unknown-part", short(kind))),
        }
    }
    answer.parts = count.max(1);
    invocations
}

/// Reads tool calls as the model made them, if that is recorded; otherwise as the window showed them.
fn read_calls(calls: &Value, invocations: &[&Value], tool_bytes: usize, answer: &mut Message) {
    let mut outcomes: HashMap<&str, (Outcome, String)> = HashMap::new();
    for invocation in invocations {
        if let (Some(id), Some(outcome)) = (text_of(invocation, "toolCallId"), outcome_of(invocation)) {
            outcomes.insert(bare_id(id), (outcome, output_of(invocation)));
        }
    }
    let mut recorded = HashSet::new();
    for call in calls.as_array().into_iter().flatten() {
        let call_id = id_of(&call["id"]).map(|id| bare_id(&id).to_owned());
        let name = text_of(call, "name").unwrap_or("tool");
        answer.call(call_id.clone(), name, &arguments(&call["arguments"]), tool_bytes);
        let (outcome, shown) = call_id.as_deref().and_then(|id| outcomes.remove(id)).unzip();
        let text = text_of(call, "output").map(str::to_owned).or(shown).unwrap_or_default();
        let outcome = outcome.or_else(|| (!text.is_empty()).then_some(Outcome::Done));
        if outcome.is_some() {
            answer.answers.push(Answer { call_id: call_id.clone(), name: name.to_owned(), text, outcome, files: Vec::new() });
        }
        recorded.extend(call_id);
    }
    for invocation in invocations {
        let call_id = text_of(invocation, "toolCallId").map(|id| bare_id(id).to_owned());
        if call_id.as_ref().is_some_and(|id| recorded.contains(id)) {
            continue;
        }
        let name = text_of(invocation, "toolId").unwrap_or("tool");
        let shown = &invocation["toolSpecificData"];
        let mut input = Map::new();
        let message = &invocation["invocationMessage"];
        if let Some(text) = message.as_str().or_else(|| text_of(message, "value")) {
            input.insert("message".to_owned(), text.into());
        }
        let command = shapes::first_text(&shown["commandLine"], &["userEdited", "toolEdited", "original"]);
        if let Some(command) = command.or_else(|| text_of(shown, "command")) {
            input.insert("command".to_owned(), command.into());
        }
        for key in ["rawInput", "description", "prompt"] {
            if !shown[key].is_null() {
                input.insert(key.to_owned(), shown[key].clone());
            }
        }
        let details = &invocation["resultDetails"];
        if input.get("rawInput").is_none() && !details["input"].is_null() {
            input.insert("input".to_owned(), details["input"].clone());
        }
        answer.call(call_id.clone(), name, &Value::Object(input), tool_bytes);
        if let Some(outcome) = outcome_of(invocation) {
            let text = output_of(invocation);
            answer.answers.push(Answer { call_id, name: name.to_owned(), text, outcome: Some(outcome), files: Vec::new() });
        }
    }
}

/// Returns the answer of a tool as the window showed it: its parts, or the output of the terminal.
fn output_of(invocation: &Value) -> String {
    let parts = invocation["resultDetails"]["output"].as_array().into_iter().flatten();
    let text = parts.map(|part| flatten(&part["value"])).collect::<Vec<_>>().join("\n");
    if !text.is_empty() {
        return text;
    }
    text_of(&invocation["toolSpecificData"]["terminalCommandOutput"], "text").unwrap_or_default().to_owned()
}

/// Returns a call's id without the number that VS Code appends to the model's id.
fn bare_id(id: &str) -> &str {
    id.split("__vscode-").next().unwrap_or(id)
}

fn outcome_of(invocation: &Value) -> Option<Outcome> {
    // Since confirmations have kinds, this is a number: 0 is refused, 5 is skipped.
    let confirmed = &invocation["isConfirmed"];
    let is_refused = confirmed.as_bool() == Some(false) || matches!(confirmed["type"].as_i64(), Some(0 | 5));
    if is_refused {
        return Some(Outcome::Cancelled);
    }
    let exit = invocation["toolSpecificData"]["terminalCommandState"]["exitCode"].as_i64();
    if invocation["resultDetails"]["isError"].as_bool() == Some(true) || exit.is_some_and(|code| code != 0) {
        return Some(Outcome::Failed);
    }
    (invocation["isComplete"].as_bool() == Some(true)).then_some(Outcome::Done)
}
