//! OpenCode and Kilo CLI (derived from it): a database since version 1.2, before that trees of JSON files. The files stay on
//! disk.
//!
//! - [`OPENCODE`], [`KILO_CLI`]: the programs
//! - [`OpenCode`]: finds both forms; a session in the database is read only from there
//! - `database`, `tree`: a session as records, the same ones from either; `newer`: the messages of versions 2.x
//! - `export`: files of `opencode export`
//! - `Current`: records to turns

mod database;
mod export;
mod newer;
mod session;
mod tree;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, EpisodeKind, FileAction, Outcome, Role, TitleRank};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::address::path_of_address;
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Answer, Message, add_file, append, arguments, flatten, short, text_of};
use super::speaker::{self, Sender, sender};
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, Unit, files_below};

/// Types of parts without text of their own.
const WORDLESS: [&str; 8] = ["reasoning", "step-start", "step-finish", "snapshot", "agent", "retry", "compaction", "source-url"];

/// Folder of the outputs that were too large for a session.
const OUTPUTS: &str = "tool-output";

/// OpenCode itself.
pub const OPENCODE: OpenCode = OpenCode { kind: "opencode", title: "OpenCode", name: "opencode" };
/// Kilo Code's program for the command line.
pub const KILO_CLI: OpenCode = OpenCode { kind: "kilo-cli", title: "Kilo CLI", name: "kilo" };

/// A program with these histories.
#[derive(Clone, Copy, Debug)]
pub struct OpenCode {
    kind: &'static str,
    title: &'static str,
    /// Name of its folder, and prefix of the names of its databases.
    name: &'static str,
}

impl Source for OpenCode {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn display_name(&self) -> &'static str {
        self.title
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        // The directory is the same below every home directory, on all platforms.
        vec![computer.directory("XDG_DATA_HOME", ".local/share").join(self.name)]
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return match root.extension().and_then(|ending| ending.to_str()) {
                Some("json") if export::is_export(root) => Unit::records(root.to_path_buf()).into_iter().collect(),
                Some("json") => tree::unit(root).into_iter().collect(),
                _ => database::units(root, known),
            };
        }
        let mut units = Vec::new();
        let mut databases = Vec::new();
        for entry in std::fs::read_dir(root).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_str().unwrap_or("");
            // Preview channels have their own databases.
            if name.starts_with(self.name) && name.ends_with(".db") && entry.path().is_file() {
                units.extend(database::units(&entry.path(), known));
                databases.push(entry.path());
            }
        }
        let in_database: HashSet<String> = units.iter().filter_map(|unit| unit.part.clone()).collect();
        let was_in_database = |session: &str| {
            databases.iter().any(|path| path.to_str().is_some_and(|path| known.stamp(&format!("{path}#{session}")).is_some()))
        };
        // Files of sessions that were moved into the database stay on disk unchanged.
        units.extend(tree::units(root).into_iter().filter(|unit| {
            let session = unit.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
            !in_database.contains(session) && !was_in_database(session)
        }));
        if units.is_empty() {
            // This may be a user's own folder, with files of `export`.
            units.extend(
                files_below(root, "json", 0).into_iter().filter(|file| export::is_export(file)).filter_map(Unit::records),
            );
        }
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let outputs = unit.path.ancestors().map(|folder| folder.join(OUTPUTS)).find(|folder| folder.is_dir());
        let take = &mut |mut record: Value| {
            if let Some(folder) = &outputs {
                complete_outputs(&mut record, folder);
            }
            take(record)
        };
        match &unit.part {
            _ if unit.closes_file => database::check(&unit.path),
            Some(session) => database::records(&unit.path, session, take),
            None => match export::read(&unit.path)? {
                Some((exported, damage)) => {
                    export::records(exported, take);
                    damage.map(take);
                    Ok(())
                }
                None => tree::records(&unit.path, take),
            },
        }
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Current>::new(self.kind, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(value, "message"),
            about: None,
            directory: text_of(value, "directory"),
        }
    }
}

/// State shared by the messages of a session.
struct Current {
    kind: &'static str,
    episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<String>,
    created: Option<RecordedTime>,
    revert: Option<(String, Option<String>)>,
    /// True after the first undone message.
    is_behind_undone: bool,
}

impl Current {
    /// True for a message that was undone: the first one, unless only some of its parts were, and all that follow.
    fn is_undone(&mut self, message: &str) -> bool {
        let was_undone = self.is_behind_undone;
        let Some((first, part)) = &self.revert else { return false };
        self.is_behind_undone |= message == first;
        was_undone || message == first && part.is_none()
    }

    fn is_part_undone(&self, message: &str, part: &str) -> bool {
        self.revert.as_ref().is_some_and(|(first, from)| message == first && from.as_deref().is_some_and(|from| part >= from))
    }
}

impl Conversation for Current {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let parent = text_of(header, "parent").map(str::to_owned);
        Self {
            kind,
            episode: Arc::new(Episode {
                kind: if parent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: parent,
                cwd: text_of(header, "directory").map(str::to_owned),
                client_version: text_of(header, "version").map(str::to_owned),
                ..shapes::episode(kind, id)
            }),
            // Until the model has found a title, it contains the time.
            title: text_of(header, "title")
                .filter(|title| !title.starts_with("New session - ") && !title.starts_with("Child session - "))
                .map(str::to_owned),
            created: shapes::time_of(&header["created"], TimeQuality::Session),
            revert: text_of(&header["revert"], "messageID")
                .map(|message| (message.to_owned(), text_of(&header["revert"], "partID").map(str::to_owned))),
            is_behind_undone: false,
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        read_message(self, value, tool_bytes, line, out);
    }
}

fn read_message(session: &mut Current, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
    let Some(id) = text_of(value, "message") else {
        out.push(Reading::Skip("wrong-shape", "message".to_owned()));
        return;
    };
    let mut is_taken_back = session.is_undone(id);
    let data = &value["data"];
    let parts: Vec<&Value> = value["parts"].as_array().into_iter().flatten().collect();
    let is_side = session.episode.kind == EpisodeKind::Subagent;
    let role = match text_of(data, "role") {
        // The "user" of a side conversation is the agent that started it.
        Some("user") if is_side || parts.iter().any(|part| text_of(part, "type") == Some("compaction")) => Role::Injected,
        Some("user") => Role::Human,
        Some("assistant") if data["summary"].as_bool() == Some(true) => Role::Summary,
        Some("assistant") => Role::Assistant,
        other => {
            out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
            return;
        }
    };
    let time = shapes::time_of(&data["time"]["created"], TimeQuality::Exact).or_else(|| session.created.clone());
    let mut message = Message::new(id.to_owned(), role, time.unwrap_or(RecordedTime::UNKNOWN));
    message.cwd = text_of(&data["path"], "cwd").map(str::to_owned);
    message.model = shapes::first_text(data, &["modelID"]).or_else(|| text_of(&data["model"], "modelID")).map(str::to_owned);
    let mut injected = String::new();
    let mut count = 0;
    for part in parts {
        if text_of(part, "id").is_some_and(|part| session.is_part_undone(id, part)) {
            is_taken_back = true;
        }
        count += 1;
        match text_of(part, "type") {
            Some("text") => {
                let text = text_of(part, "text").unwrap_or("");
                if sender(speaker::OPENCODE, part) == Some(Sender::Client) {
                    append(&mut injected, text);
                } else {
                    message.say(if role == Role::Human { unquoted(text) } else { text });
                }
            }
            Some("tool") => read_tool(part, tool_bytes, &mut message),
            Some("tool-invocation") => read_old_tool(&part["toolInvocation"], tool_bytes, &mut message),
            Some("file") => {
                let path = text_of(&part["source"], "path")
                    .map(str::to_owned)
                    .or_else(|| text_of(part, "url").filter(|url| !url.starts_with('[')).and_then(path_of_address))
                    .or_else(|| text_of(part, "filename").map(str::to_owned));
                if let Some(path) = path.filter(|path| !path.starts_with("data:")) {
                    add_file(&mut message.files, path, FileAction::Read);
                }
            }
            Some("patch") => {
                for path in part["files"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    add_file(&mut message.files, path.to_owned(), FileAction::Written);
                }
            }
            // A command by a person that is given to a sub-agent.
            Some("subtask") => append(&mut message.tool_text, &excerpt(&flatten(part), tool_bytes)),
            Some(kind) if WORDLESS.contains(&kind) => {}
            other => out.push(Reading::Skip("unknown-part", short(other.unwrap_or("")))),
        }
    }
    message.parts = count.max(1);
    if message.text.is_empty()
        && message.tool_text.is_empty()
        && let Some(why) = text_of(&data["error"], "message")
    {
        message.role = Role::System;
        message.is_error = true;
        message.say(why);
    }
    let before = out.len();
    let at = message.time.utc;
    if !injected.is_empty() {
        let mut put_in = Message::new(format!("{id}/synthetic"), Role::Injected, message.time.clone());
        put_in.say(&injected);
        message.turns(session.kind, &session.episode, tool_bytes, line, out);
        put_in.turns(session.kind, &session.episode, tool_bytes, line, out);
    } else {
        message.turns(session.kind, &session.episode, tool_bytes, line, out);
    }
    if is_taken_back {
        shapes::take_back(&mut out[before..]);
    }
    let has_turn = out[before..].iter().any(|reading| matches!(reading, Reading::Turn(_)));
    if has_turn && let Some(words) = session.title.take() {
        out.push(Reading::Title(Arc::clone(&session.episode), shapes::title(&words, TitleRank::Ai, at, line)));
    }
}

/// Gives each result that refers to a file of the program's own folder the text of that file.
fn complete_outputs(record: &mut Value, folder: &Path) {
    for part in record.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(output) = part.pointer_mut("/state/output") else { continue };
        if let Some(whole) = shapes::output_referred_to(output, folder).filter(|whole| whole.len() > flatten(output).len()) {
            *output = whole.into();
        }
    }
}

/// Returns a prompt without the quotation marks that `run` puts around an argument with spaces.
fn unquoted(prompt: &str) -> &str {
    let inner = prompt.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| inner.contains(' ') && !inner.contains('"')).unwrap_or(prompt)
}

/// Reads a tool's call and, if it ended, its answer.
fn read_tool(part: &Value, tool_bytes: usize, message: &mut Message) {
    let state = &part["state"];
    let name = text_of(part, "tool").unwrap_or("tool");
    let call_id = text_of(part, "callID").map(str::to_owned);
    message.call(call_id.clone(), name, &state["input"], tool_bytes);
    let error = text_of(state, "error").unwrap_or("");
    let outcome = match text_of(state, "status") {
        Some("completed") if state["metadata"]["exit"].as_i64().is_some_and(|code| code != 0) => Outcome::Failed,
        Some("completed") => Outcome::Done,
        Some("error") if error.contains("rejected") || error.contains("aborted") => Outcome::Cancelled,
        Some("error") => Outcome::Failed,
        // The call is pending or running: it will be read again.
        _ => return,
    };
    let text = if error.is_empty() { flatten(&state["output"]) } else { error.to_owned() };
    message.answers.push(Answer { call_id, name: name.to_owned(), text, outcome: Some(outcome), files: Vec::new() });
}

/// Reads a tool call as the first versions wrote it.
fn read_old_tool(tool: &Value, tool_bytes: usize, message: &mut Message) {
    let name = text_of(tool, "toolName").unwrap_or("tool");
    let call_id = text_of(tool, "toolCallId").map(str::to_owned);
    message.call(call_id.clone(), name, &arguments(&tool["args"]), tool_bytes);
    if text_of(tool, "state") == Some("result") {
        let text = flatten(&tool["result"]);
        message.answers.push(Answer { call_id, name: name.to_owned(), text, outcome: Some(Outcome::Done), files: Vec::new() });
    }
}
