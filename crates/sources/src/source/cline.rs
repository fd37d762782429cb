//! Cline, Roo Code and Kilo Code: a folder for each task; the newer Cline program: a file of messages for each session. The first
//! are extensions of VS Code; the program has a file for each sub-agent, too.
//!
//! - [`Tasks`]: finds the tasks of one of them, and divides each into a header and its messages
//! - `TaskReader`: messages to turns
//!
//! A task has two records of its messages: `ui_messages.json`, shown to the person, complete and with times,
//! and `api_conversation_history.json`, sent to the model, which shrinks with its context. The first is read
//! if it exists.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, Outcome, Role, TitleRank, ToolUse};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::shapes::{self, Message, append, drop_payloads, flatten, id_of, short, text_of};
use super::speaker::{self, Divided, Marks, Sender, divide, sender, whole_element};
use super::{
    Computer, EpisodeReader, Known, LineOwner, NO_CONVERSATION, ReaderOptions, Reading, Source, SourceLine, Unit, files_below,
    problem,
};

/// Messages shown to the person.
const SHOWN: &str = "ui_messages.json";
/// Messages sent to the model.
const SENT: &str = "api_conversation_history.json";
/// Suffix of the newer program's files.
const MESSAGES: &str = ".messages.json";
/// Maximum size of a file in bytes. A larger file is not a task.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Shown messages without text useful for recall, or with text that occurs elsewhere too.
const WORDLESS: [&str; 25] = [
    "api_req_started",
    "api_req_finished",
    "api_req_retried",
    "api_req_retry_delayed",
    "api_req_deleted",
    "reasoning",
    "shell_integration_warning",
    "checkpoint_created",
    "checkpoint_saved",
    "load_mcp_documentation",
    "mcp_server_request_started",
    "mcp_notification",
    "browser_action_launch",
    "browser_action",
    "browser_action_result",
    "browser_session_status",
    "deleted_api_reqs",
    "task_progress",
    "info",
    "resume_task",
    "error_retry",
    "resume_completed_task",
    "condense_context",
    "hook_status",
    "hook_output_stream",
];

/// One of these programs.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    kind: &'static str,
    name: &'static str,
    /// Id of the extension.
    extension: &'static str,
}

/// Cline.
pub const CLINE: Tasks = Tasks { kind: "cline", name: "Cline", extension: "saoudrizwan.claude-dev" };
/// Roo Code.
pub const ROO: Tasks = Tasks { kind: "roo", name: "Roo Code", extension: "rooveterinaryinc.roo-cline" };
/// Kilo Code.
pub const KILO: Tasks = Tasks { kind: "kilo", name: "Kilo Code", extension: "kilocode.kilo-code" };

impl Source for Tasks {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn display_name(&self) -> &'static str {
        self.name
    }

    fn is_verified(&self) -> bool {
        self.kind != KILO.kind
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = shapes::vs_code_users(computer)
            .into_iter()
            .map(|user| user.join("globalStorage").join(self.extension).join("tasks"))
            .collect();
        if self.kind == CLINE.kind {
            let data = computer.named("CLINE_DATA_DIR").unwrap_or_else(|| computer.directory("CLINE_DIR", ".cline").join("data"));
            // Tasks of the extension for JetBrains, and of the program before version 3.
            places.extend(["sessions", "tasks"].map(|name| data.join(name)));
        }
        places
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let mut files = if root.is_file() { vec![root.to_path_buf()] } else { files_below(root, "json", 10) };
        let name = |file: &Path| file.file_name().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        files.retain(|file| {
            let name = name(file);
            name == SHOWN || name == SENT || name.ends_with(MESSAGES)
        });
        let shown: HashSet<PathBuf> =
            files.iter().filter(|file| name(file) == SHOWN).filter_map(|file| file.parent().map(Path::to_path_buf)).collect();
        files.retain(|file| name(file) != SENT || file.parent().is_none_or(|task| !shown.contains(task)));
        files.into_iter().filter_map(Unit::records).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let (value, damage) = shapes::read_document(&unit.path, MAX_FILE_BYTES)?;
        let name = unit.path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if let Some(stem) = name.strip_suffix(MESSAGES) {
            session_records(&unit.path, stem, value, take);
        } else {
            task_records(&unit.path, value, name == SHOWN, take);
        }
        damage.map(take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(TaskReader { kind: self.kind, options: options.clone(), task: None })
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

/// Outputs the records of a task of an extension.
fn task_records(file: &Path, value: Value, is_shown: bool, take: &mut dyn FnMut(Value) -> bool) {
    let Value::Array(messages) = value else {
        take(problem(NO_CONVERSATION, ""));
        return;
    };
    let Some(task) = file.parent() else { return };
    let Some(id) = task.file_name().and_then(|name| name.to_str()) else { return };
    if messages.is_empty() {
        return;
    }
    let known = known_of_task(task, id);
    let mut header = json!({"type": "session", "session": id});
    let directory =
        ["cwdOnTaskInitialization", "workspace", "cwd"].iter().find_map(|key| text_of(&known, key).map(str::to_owned));
    for (key, value) in [
        ("directory", directory.or_else(|| directory_of_task(task)).map(Value::from)),
        ("title", text_of(&known, "task").map(Value::from)),
        ("parent", text_of(&known, "parentTaskId").map(Value::from)),
        ("model", text_of(&known, "modelId").map(Value::from)),
    ] {
        if let Some(value) = value {
            header[key] = value;
        }
    }
    // The id of most tasks is their start time.
    let created = Some(&known["ts"]).filter(|ts| ts.is_number()).cloned().or_else(|| id.parse::<i64>().ok().map(Value::from));
    if let Some(created) = created {
        header["created"] = created;
    }
    if !take(header) {
        return;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (at, mut message) in messages.into_iter().enumerate() {
        drop_payloads(&mut message);
        let stamp = id_of(&message["ts"]).filter(|_| is_shown);
        let id_of_message = match stamp {
            Some(stamp) => {
                let times = seen.entry(stamp.clone()).or_default();
                *times += 1;
                if *times == 1 { stamp } else { format!("{stamp}.{times}") }
            }
            None => format!("#{at}"),
        };
        let mut record = Map::new();
        record.insert("type".to_owned(), if is_shown { "shown" } else { "sent" }.into());
        record.insert("session".to_owned(), id.into());
        record.insert("id".to_owned(), id_of_message.into());
        let keys: &[&str] =
            if is_shown { &["ts", "type", "say", "ask", "text", "partial", "files"] } else { &["ts", "role", "content"] };
        if let Some(model) = text_of(&message["modelInfo"], "modelId") {
            record.insert("model".to_owned(), model.into());
        }
        for key in keys {
            if let Some(value) = message.get_mut(*key).map(Value::take).filter(|value| !value.is_null()) {
                let name = if *key == "type" { "by" } else { key };
                record.insert(name.to_owned(), value);
            }
        }
        if !take(Value::Object(record)) {
            return;
        }
    }
}

/// Returns the entry of a task in the program's lists.
fn known_of_task(task: &Path, id: &str) -> Value {
    if let Ok(item) = shapes::read_json(&task.join("history_item.json"), 16 << 20) {
        return item;
    }
    let storage = task.parent().and_then(Path::parent);
    let lists = storage.map(|storage| [storage.join("state/taskHistory.json"), storage.join("tasks/_index.json")]);
    for list in lists.into_iter().flatten() {
        let Ok(items) = shapes::read_json(&list, MAX_FILE_BYTES) else { continue };
        let items = items.as_array().or_else(|| items["entries"].as_array()).cloned().unwrap_or_default();
        if let Some(item) = items.into_iter().find(|item| id_of(&item["id"]).as_deref() == Some(id)) {
            return item;
        }
    }
    Value::Null
}

/// Returns the directory that the model was given, for tasks whose directory no list names.
fn directory_of_task(task: &Path) -> Option<String> {
    let sent = shapes::read_json(&task.join(SENT), MAX_FILE_BYTES).ok()?;
    let first = flatten(&sent.as_array()?.first()?["content"]);
    ["# Current Workspace Directory (", "# Current Working Directory ("].iter().find_map(|mark| {
        let rest = first.split_once(mark)?.1;
        let path = rest.split(')').next()?;
        (!path.is_empty() && path.len() < 4096).then(|| path.to_owned())
    })
}

/// Outputs the records of a session of the newer program.
fn session_records(file: &Path, stem: &str, mut value: Value, take: &mut dyn FnMut(Value) -> bool) {
    let Some(Value::Array(messages)) = value.get_mut("messages").map(Value::take) else {
        take(problem(NO_CONVERSATION, ""));
        return;
    };
    // A sub-agent's messages are beside those of the session that started it. Only that session has a
    // manifest.
    let parent = text_of(&value["origin"], "parentThreadId").map(str::to_owned);
    let manifest = file.with_file_name(format!("{}.json", parent.as_deref().unwrap_or(stem)));
    let manifest = shapes::read_json(&manifest, 16 << 20).unwrap_or_default();
    let id = text_of(&value, "sessionId")
        .or_else(|| text_of(&manifest, "session_id").filter(|_| parent.is_none()))
        .unwrap_or(stem)
        .to_owned();
    if messages.is_empty() {
        return;
    }
    let mut header = json!({"type": "session", "session": id});
    for (key, value) in [
        ("directory", text_of(&manifest, "cwd").or_else(|| text_of(&manifest, "workspace_root"))),
        ("parent", parent.as_deref()),
        ("branch", text_of(&manifest["metadata"]["git"], "branch")),
        ("title", text_of(&manifest["metadata"], "title").filter(|_| parent.is_none())),
        ("created", text_of(&manifest, "started_at")),
        ("model", text_of(&manifest, "model")),
        ("forked_from", text_of(&manifest["metadata"]["fork"], "forkedFromSessionId")),
    ] {
        if let Some(value) = value {
            header[key] = value.into();
        }
    }
    if let Some(is_interactive) = manifest["interactive"].as_bool() {
        header["interactive"] = is_interactive.into();
    }
    if !take(header) {
        return;
    }
    for (at, mut message) in messages.into_iter().enumerate() {
        drop_payloads(&mut message);
        let id_of_message = id_of(&message["id"]).unwrap_or_else(|| format!("#{at}"));
        let mut record = json!({"type": "message", "session": id, "id": id_of_message});
        for key in ["role", "ts", "content"] {
            if let Some(value) = message.get_mut(key).map(Value::take).filter(|value| !value.is_null()) {
                record[key] = value;
            }
        }
        for (key, value) in [("model", &message["modelInfo"]["id"]), ("kind", &message["metadata"]["kind"])] {
            if let Some(value) = value.as_str() {
                record[key] = value.into();
            }
        }
        if !take(record) {
            return;
        }
    }
}

struct TaskReader {
    kind: &'static str,
    options: ReaderOptions,
    task: Option<Task>,
}

/// State shared by the messages of a task.
struct Task {
    episode: Arc<Episode>,
    title: Option<String>,
    /// Start time, used for messages without a time.
    began: RecordedTime,
    model: Option<String>,
    branch: Option<String>,
    /// Who sends the prompts, if the header says so.
    by: Option<Sender>,
    /// Names of the calls so far, by call id.
    calls: HashMap<String, String>,
    /// True if the person's task was already output.
    has_begun: bool,
}

impl EpisodeReader for TaskReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let (Some(kind), Some(session)) = (text_of(value, "type"), text_of(value, "session")) else {
                out.push(Reading::Skip("wrong-shape", String::new()));
                continue;
            };
            if kind == "session" || self.task.as_ref().is_none_or(|task| task.episode.native_id != session) {
                self.task = Some(self.begin(session, value));
            }
            let Some(task) = &mut self.task else { continue };
            let before = out.len();
            match kind {
                "session" => {}
                "shown" => task.shown(self.kind, value, self.options.tool_bytes, line.mark.line, out),
                "sent" | "message" => task.sent(self.kind, value, self.options.tool_bytes, line.mark.line, out),
                unknown => out.push(Reading::Skip("unknown-type", short(unknown))),
            }
            if out[before..].iter().any(|reading| matches!(reading, Reading::Turn(_)))
                && let Some(title) = task.title.take()
            {
                let title = shapes::title(&title, TitleRank::Summary, task.began.utc, line.mark.line);
                out.push(Reading::Title(Arc::clone(&task.episode), title));
            }
        }
    }
}

impl TaskReader {
    fn begin(&self, session: &str, header: &Value) -> Task {
        let parent = text_of(header, "parent").map(str::to_owned);
        let mut episode = Episode { cwd: text_of(header, "directory").map(str::to_owned), ..shapes::episode(self.kind, session) };
        if parent.is_some() {
            episode.kind = yore_core::episode::EpisodeKind::Subagent;
            episode.parent_native_id = parent;
        }
        Task {
            episode: Arc::new(episode),
            title: text_of(header, "title").map(str::to_owned),
            began: shapes::time_of(&header["created"], TimeQuality::Session).unwrap_or(RecordedTime::UNKNOWN),
            model: text_of(header, "model").map(str::to_owned),
            branch: text_of(header, "branch").map(str::to_owned),
            by: sender(speaker::CLINE, header).map(|by| by.with(self.options.headless)),
            calls: HashMap::new(),
            has_begun: false,
        }
    }
}

impl Task {
    fn message(&self, value: &Value, role: Role) -> Message {
        let time = shapes::time_of(&value["ts"], TimeQuality::Exact).unwrap_or_else(|| self.began.clone());
        let mut message = Message::new(text_of(value, "id").unwrap_or("").to_owned(), role, time);
        message.branch.clone_from(&self.branch);
        message.model = match role {
            Role::Assistant => text_of(value, "model").map(str::to_owned).or_else(|| self.model.clone()),
            _ => None,
        };
        message
    }

    /// Reads a message shown to the person.
    fn shown(&mut self, kind: &'static str, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        // The complete message comes later under the same time.
        if value["partial"].as_bool() == Some(true) {
            return;
        }
        let text = text_of(value, "text").unwrap_or("");
        let what = text_of(value, "say").or_else(|| text_of(value, "ask")).unwrap_or("");
        let is_ask = text_of(value, "by") == Some("ask");
        let role = match what {
            "text" if !self.has_begun && !is_ask => Role::Human,
            "task" | "user_feedback" | "user_feedback_diff" => Role::Human,
            "text" | "completion_result" | "followup" | "plan_mode_respond" | "condense" | "new_task" | "report_bug" => {
                Role::Assistant
            }
            "tool" | "command" | "use_mcp_server" | "subtask_result" => Role::ToolCall,
            "command_output" | "mcp_server_response" => Role::ToolResult,
            "error" | "api_req_failed" | "mistake_limit_reached" | "diff_error" | "clineignore_error" | "rooignore_error" => {
                Role::System
            }
            what if WORDLESS.contains(&what) => return,
            unknown => {
                out.push(Reading::Skip("unknown-type", short(unknown)));
                return;
            }
        };
        if text.is_empty() {
            return;
        }
        self.has_begun |= role == Role::Human;
        let mut message = self.message(value, role);
        match role {
            Role::ToolCall => {
                let input = shapes::arguments(&Value::from(text)).into_owned();
                let name = first_name(&input).unwrap_or(what).to_owned();
                message.role = Role::Assistant;
                message.call(None, &name, &input, tool_bytes);
                // Later messages show whether the call was approved. A call that the person saw was made.
            }
            Role::ToolResult => {
                message.tool_text = excerpt(&super::own::without_own_output(text), tool_bytes).into_owned();
                message.tools = vec![ToolUse { call_id: None, name: what.to_owned(), outcome: None }];
            }
            Role::Assistant => message.say(&words_of(text)),
            _ => message.say(text),
        }
        message.turns(kind, &self.episode, tool_bytes, line, out);
    }

    /// Reads a message sent to the model, or a message of the newer program.
    fn sent(&mut self, kind: &'static str, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let is_assistant = match text_of(value, "role") {
            Some("assistant") => true,
            Some("user") => false,
            Some("system") => return,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let mut words = String::new();
        let mut notices = String::new();
        let mut beside = String::new();
        // The tool whose answer the blocks of text since belong to.
        let mut answering: Option<String> = None;
        let is_text_only = !is_assistant && text_of(value, "type") == Some("sent");
        let mut message = self.message(value, if is_assistant { Role::Assistant } else { Role::Human });
        let blocks = match &value["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            Value::Array(blocks) => blocks.clone(),
            _ => Vec::new(),
        };
        for block in &blocks {
            match text_of(block, "type") {
                Some("text") if is_text_only => {
                    let text = text_of(block, "text").unwrap_or("").trim();
                    match sent_block(text, answering.as_deref()) {
                        Sent::Answer(name, text) => {
                            message.answers.push(text_answer(name, text));
                            answering = Some(name.to_owned());
                        }
                        Sent::Said(found) => {
                            append(&mut words, &found.said);
                            append(&mut beside, &found.beside);
                        }
                        Sent::Notice(notice) => append(&mut notices, notice),
                        Sent::More(text) => match message.answers.last_mut() {
                            Some(answer) if answer.text.is_empty() => *answer = text_answer(&answer.name, text),
                            // The person may have said this to the answer, or it is part of it.
                            _ if said_in(text).is_some() => append(&mut beside, text),
                            Some(answer) => append(&mut answer.text, text),
                            None => {}
                        },
                    }
                }
                Some("text") => {
                    let found = said(text_of(block, "text").unwrap_or(""));
                    append(&mut words, &found.said);
                    append(&mut beside, &found.beside);
                }
                Some("tool_use") => {
                    let (call_id, name) = (id_of(&block["id"]), text_of(block, "name").unwrap_or("tool"));
                    if let Some(call_id) = &call_id {
                        self.calls.insert(call_id.clone(), name.to_owned());
                    }
                    message.call(call_id, name, &block["input"], tool_bytes);
                }
                Some("tool_result") => {
                    let call_id = id_of(&block["tool_use_id"]);
                    let name = call_id.as_ref().and_then(|id| self.calls.get(id)).cloned();
                    let name = name.or_else(|| text_of(block, "name").map(str::to_owned)).unwrap_or_default();
                    let has_failed =
                        |item: &Value| item["success"].as_bool() == Some(false) || item["isError"].as_bool() == Some(true);
                    let content = &block["content"];
                    let is_error = block["is_error"].as_bool() == Some(true)
                        || has_failed(content)
                        || content.as_array().is_some_and(|items| items.iter().any(has_failed));
                    message.answers.push(shapes::Answer {
                        call_id,
                        name,
                        text: words_of_answer(content),
                        outcome: Some(if is_error { Outcome::Failed } else { Outcome::Done }),
                        files: Vec::new(),
                    });
                }
                Some("file") => {
                    if let Some(path) = text_of(block, "path") {
                        shapes::add_file(&mut message.files, path.to_owned(), yore_core::episode::FileAction::Read);
                    }
                }
                Some("image" | "document" | "thinking" | "redacted_thinking" | "reasoning") => {}
                other => out.push(Reading::Skip("unknown-block", short(other.unwrap_or("")))),
            }
        }
        if words.trim().is_empty() && !notices.is_empty() {
            message.role = Role::Injected;
            words = notices;
        } else if words.trim().is_empty() && !beside.trim().is_empty() && !is_assistant {
            let unknown = Divided { said: String::new(), beside: std::mem::take(&mut beside) };
            (words, _, message.caveat) = unknown.settled();
        } else if text_of(value, "kind") == Some("compaction") {
            message.role = Role::Summary;
        } else if !is_assistant
            && (words.trim_start().starts_with("<SYSTEM_NOTICE>")
                || self.episode.kind == yore_core::episode::EpisodeKind::Subagent)
        {
            message.role = Role::Injected;
        }
        message.sent_by(self.by);
        message.say(&words);
        append(&mut message.tool_text, &excerpt(beside.trim(), tool_bytes));
        message.turns(kind, &self.episode, tool_bytes, line, out);
    }
}

/// Returns the name of a shown tool call.
fn first_name(input: &Value) -> Option<&str> {
    text_of(input, "tool").or_else(|| text_of(input, "toolName"))
}

/// Returns the text of a message. A question or a plan is shown as an object with its options.
fn words_of(text: &str) -> String {
    let value = text.starts_with('{').then(|| serde_json::from_str::<Value>(text).ok()).flatten().unwrap_or_default();
    let Some(words) = shapes::first_text(&value, &["question", "response", "text"]) else { return text.to_owned() };
    let options = value["options"].as_array().or_else(|| value["suggest"].as_array()).into_iter().flatten();
    let options = options.filter_map(|option| option.as_str().or_else(|| shapes::first_text(option, &["answer", "text"])));
    options.fold(words.to_owned(), |words, option| words + "\n- " + option)
}

/// A block of text sent to the model as the person's, in formats where tools have no messages of their own.
enum Sent<'t> {
    /// The beginning of a tool's answer: its name, and the rest of the block.
    Answer(&'t str, &'t str),
    /// Text by the person, without what surrounds it.
    Said(Divided),
    /// Text by the program.
    Notice(&'t str),
    /// More of a tool's answer.
    More(&'t str),
}

/// Elements that contain text by the person.
const SAID: [&str; 4] = ["task", "feedback", "user_message", "answer"];
/// Tools that a person answers.
const ANSWERED_BY_PERSON: [&str; 6] =
    ["ask_followup_question", "attempt_completion", "plan_mode_respond", "condense", "new_task", "report_bug"];
/// What the program puts into a prompt, and the contents of what it mentions, which follow it.
const PUT_IN: Marks = Marks {
    elements: &["environment_details", "system-reminder", "mode_notice", "hook_context"],
    tails: &["<file_content ", "<folder_content ", "<url_content ", "<workspace_diagnostics>", "<git_", "<terminal_output>"],
};
/// Beginnings of blocks that the program writes.
const NOTICES: [&str; 9] = [
    "[TASK RESUMPTION]",
    "[ERROR]",
    "[WARNING]",
    "[NOTE]",
    "# task_progress",
    "# TODO LIST",
    "# Todo List",
    "[Response interrupted",
    "The user has removed",
];

/// Tells what a block of text is. The person's marks count only in blocks that are no answer of a tool, or that answer a tool
/// which asks the person.
fn sent_block<'t>(text: &'t str, answering: Option<&str>) -> Sent<'t> {
    if let Some((head, rest)) = text.strip_prefix('[').and_then(|inner| inner.split_once("] Result:"))
        && !head.contains('\n')
    {
        let name = head.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        return match said_in(rest).filter(|_| ANSWERED_BY_PERSON.contains(&name)) {
            Some(words) => Sent::Said(said(words)),
            None => Sent::Answer(name, without_additions(rest)),
        };
    }
    if answering.is_some_and(|name| !ANSWERED_BY_PERSON.contains(&name)) {
        return Sent::More(without_additions(text));
    }
    if let Some(words) = said_in(text) {
        return Sent::Said(said(words));
    }
    if NOTICES.iter().any(|beginning| text.starts_with(beginning)) {
        return Sent::Notice(text);
    }
    if answering.is_some() { Sent::More(without_additions(text)) } else { Sent::Said(said(text)) }
}

/// Returns the words within the first of the person's elements in a block, up to the last closing mark.
fn said_in(text: &str) -> Option<&str> {
    let at = SAID.iter().filter_map(|tag| Some((text.find(&format!("<{tag}>"))?, *tag))).min()?;
    whole_element(&text[at.0..], at.1)
}

/// Returns the answer of a tool. A command's answer contains the command and states twice how it ended.
fn words_of_answer(content: &Value) -> String {
    let Some(items) = content.as_array() else { return flatten(content) };
    let words = items.iter().map(|item| match text_of(item, "result") {
        Some(result) if item.get("query").is_some() => result.to_owned(),
        _ => flatten(item),
    });
    words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the answer of a tool in a block of text.
fn text_answer(name: &str, text: &str) -> shapes::Answer {
    let has_failed = text.starts_with("The tool execution failed") || text.starts_with("<error>");
    shapes::Answer {
        call_id: None,
        name: name.to_owned(),
        text: text.to_owned(),
        outcome: has_failed.then_some(Outcome::Failed),
        files: Vec::new(),
    }
}

/// Returns the person's part of a text sent to the model, without wrappers and without additions by the program.
fn said(text: &str) -> Divided {
    const DETAILS: &str = "<environment_details>";
    let text = text.trim();
    // Details that were cut off reach to the end.
    let is_cut = text.contains(DETAILS) && !text.contains("</environment_details>");
    let text = if is_cut { text.split(DETAILS).next().unwrap_or(text) } else { text };
    let found = divide(text, &PUT_IN);
    let unwrapped = |text: &str| {
        let wrapped = SAID.iter().chain(&["user_input"]).find_map(|tag| whole_element(text, tag));
        wrapped.unwrap_or(text).trim().to_owned()
    };
    Divided { said: unwrapped(&found.said), ..found }
}

/// Returns a tool's answer without additions by the program.
fn without_additions(text: &str) -> &str {
    let text = text.trim();
    text.rfind("<environment_details>").map_or(text, |at| text[..at].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::LineMark;
    use super::*;

    #[test]
    fn wrappers_and_what_the_program_adds_are_no_words_of_the_person() {
        for (text, expected) in [
            ("<task>\nmend the tide table\n</task>\n<environment_details>\n# x\n</environment_details>", "mend the tide table"),
            ("go on<environment_details>cut off", "go on"),
            ("<user_input mode=\"act\">mend the <b>gauge</b></user_input>", "mend the <b>gauge</b>"),
            ("<hook_context source=\"yore\">\nas before\n</hook_context>\nmend it", "mend it"),
            ("mend 'a'\n<file_content path=\"a\">\n<feedback>always b</feedback>\n</file_content>", "mend 'a'"),
        ] {
            assert_eq!(said(text).said, expected);
        }
        assert_eq!(words_of(r#"{"question": "which pier?", "options": ["a", "b"]}"#), "which pier?\n- a\n- b");
        assert_eq!(words_of("{not json"), "{not json");
    }

    proptest! {
        #[test]
        fn any_record_is_survived(kind in "shown|sent|message|session|x", text in "\\PC{0,40}", number in any::<i64>()) {
            let value = json!({"type": kind, "session": "s", "id": "1", "ts": number, "say": text, "text": text, "role": "user",
                "content": [{"type": "text", "text": text}, {"type": "tool_result", "content": [number]}, number]});
            let mut reader = CLINE.reader(Path::new("x"), "", &ReaderOptions::default());
            let mut out = Vec::new();
            reader.read(&SourceLine { values: &[value, json!(number)], mark: LineMark::default() }, &mut out);
            reader.finish(&mut out);
        }
    }
}
