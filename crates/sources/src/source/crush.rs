//! Crush: a database `.crush/crush.db` in every project. No real one has been read by this program yet.
//!
//! - [`Crush`]: finds the databases: in the projects that Crush lists, and in directories where other agents
//!   worked
//! - `Session`: records to turns

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_core::episode::{Episode, EpisodeKind, FileAction, Outcome, Role, TitleRank};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::conversation::{Conversation, ConversationReader, Shared};
use super::rows::{self, Layout};
use super::shapes::{self, Answer, Message, add_file, append, arguments, short, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, Platform, ReaderOptions, Reading, Source, Unit};

const KIND: &str = "crush";
/// Path of the database in a project.
const DATABASE: &str = ".crush/crush.db";
/// Maximum size of the list of projects in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// The columns that are read.
pub(super) const LAYOUT: Layout = Layout {
    session: &["parent_session_id", "title", "created_at"],
    required: &["role", "parts"],
    texts: &["id", "role", "parts", "model"],
    numbers: &["created_at", "updated_at", "is_summary_message"],
    json: &["parts"],
    time: "created_at",
    id: Some("id"),
};

/// Types of parts without words.
const WORDLESS: [&str; 2] = ["reasoning", "image_url"];

/// The source for Crush; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Crush;

impl Source for Crush {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Crush"
    }

    fn is_verified(&self) -> bool {
        false
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let data = computer.named("CRUSH_GLOBAL_DATA").unwrap_or_else(|| match computer.platform {
            Platform::Windows => computer.data().join("crush"),
            // macOS too.
            _ => computer.directory("XDG_DATA_HOME", ".local/share").join("crush"),
        });
        let listed = shapes::read_json(&data.join("projects.json"), MAX_LIST_BYTES).unwrap_or_default();
        let projects = listed["projects"].as_array().into_iter().flatten();
        projects.filter_map(|project| text_of(project, "data_dir")).map(PathBuf::from).filter(|path| path.is_absolute()).collect()
    }

    fn file_in_project(&self) -> Option<&'static str> {
        Some(DATABASE)
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let databases = match root.is_file() {
            true => vec![root.to_path_buf()],
            false => vec![root.join("crush.db"), root.join(DATABASE)],
        };
        databases.iter().filter(|path| path.is_file()).flat_map(|path| LAYOUT.units(path, known)).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        LAYOUT.records(unit, |_| project_of(&unit.path), take)
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        rows::owner(value)
    }
}

/// Returns the directory of a database's project. The rows do not name it.
fn project_of(database: &Path) -> Option<String> {
    let folder = database.parent()?;
    let project = if folder.file_name().is_some_and(|name| name == ".crush") { folder.parent()? } else { folder };
    let project = std::path::absolute(project).ok()?;
    project.to_str().map(str::to_owned)
}

/// State shared by the messages of a session.
struct Session(Shared);

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let row = &header["row"];
        let parent = text_of(row, "parent_session_id").map(str::to_owned);
        let is_side = parent.is_some();
        let mut shared = Shared::new(
            kind,
            Episode {
                kind: if is_side { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: parent,
                cwd: text_of(header, "directory").map(str::to_owned),
                ..shapes::episode(kind, id)
            },
        );
        if is_side {
            // The "user" of a side conversation is the agent that started it.
            shared.prompt = Role::Injected;
        }
        let title = text_of(row, "title").filter(|title| !matches!(*title, "New Session" | "Untitled Session"));
        shared.title = title.map(|title| (title.to_owned(), TitleRank::Ai));
        Self(shared)
    }

    fn id(&self) -> &str {
        &self.0.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let (row, id) = (&value["row"], text_of(value, "id").unwrap_or(""));
        let Some(parts) = row["parts"].as_array() else {
            out.push(Reading::Skip("wrong-shape", "parts".to_owned()));
            return;
        };
        let role = match text_of(row, "role") {
            _ if row["is_summary_message"].as_i64() == Some(1) => Role::Summary,
            Some("user") => self.0.prompt,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("tool") => Role::ToolResult,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let time = shapes::time_of_seconds(&row["created_at"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        let mut message = Message::new(id.to_owned(), role, time);
        message.model = text_of(row, "model").filter(|_| role == Role::Assistant).map(str::to_owned);
        message.parts = (parts.len() as u32).max(1);
        let (mut hidden, mut failure) = (String::new(), None);
        for part in parts {
            let data = &part["data"];
            match text_of(part, "type") {
                Some("text") if data["hidden"] == true => append(&mut hidden, text_of(data, "text").unwrap_or("")),
                Some("text") => message.say(text_of(data, "text").unwrap_or("")),
                Some("binary") => {
                    if let Some(path) = shapes::first_text(data, &["Path", "path"]) {
                        add_file(&mut message.files, path.to_owned(), FileAction::Read);
                    }
                }
                Some("tool_call") => {
                    let name = text_of(data, "name").unwrap_or("tool");
                    let call_id = text_of(data, "id").map(str::to_owned);
                    self.0.call(&mut message, call_id, name, &arguments(&data["input"]), tool_bytes);
                }
                Some("tool_result") => message.answers.push(answer(data)),
                Some("shell_command") => read_shell(data, tool_bytes, &mut message),
                Some("finish") => failure = failure_of(data).or(failure),
                Some(kind) if WORDLESS.contains(&kind) => {}
                other => out.push(Reading::Skip("unknown-part", short(other.unwrap_or("")))),
            }
        }
        if let Some(why) = failure.filter(|_| message.text.is_empty() && message.tool_text.is_empty()) {
            message.role = Role::System;
            message.is_error = true;
            message.say(&why);
        }
        let mut put_in = Message::new(format!("{id}/hidden"), Role::Injected, message.time.clone());
        put_in.say(&hidden);
        self.0.tell(message, None, tool_bytes, line, out);
        self.0.tell(put_in, None, tool_bytes, line, out);
    }
}

fn answer(data: &Value) -> Answer {
    let text = text_of(data, "content").unwrap_or("");
    let is_failed = data["is_error"] == true || shapes::exit_code(text).is_some_and(|code| code != 0);
    Answer {
        call_id: text_of(data, "tool_call_id").map(str::to_owned),
        name: text_of(data, "name").unwrap_or("").to_owned(),
        text: text.to_owned(),
        outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
        files: Vec::new(),
    }
}

/// Reads a command that the person ran from the prompt. Alone, it is no prompt.
fn read_shell(data: &Value, tool_bytes: usize, message: &mut Message) {
    let command = format!("$ {}\n{}", text_of(data, "command").unwrap_or(""), text_of(data, "output").unwrap_or(""));
    append(&mut message.tool_text, &excerpt(command.trim_end(), tool_bytes));
    if message.text.is_empty() {
        message.role = Role::System;
    }
}

/// Returns why a message ended early, if the provider failed.
fn failure_of(finish: &Value) -> Option<String> {
    if !matches!(text_of(finish, "reason"), Some("error" | "content_filter")) {
        return None;
    }
    let mut why = text_of(finish, "message").unwrap_or("error").to_owned();
    append(&mut why, text_of(finish, "details").unwrap_or(""));
    Some(why)
}
