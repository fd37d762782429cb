//! Hermes Agent: a database `state.db`, one for each profile. No real one has been seen yet.
//!
//! - [`Hermes`]: finds the databases
//! - `Session`: records to turns
//!
//! The program writes some conversations anew, with other numbers of rows, so messages are identified by time,
//! role and number.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, EpisodeKind, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::conversation::{Conversation, ConversationReader, Shared};
use super::rows::{self, Layout};
use super::shapes::{self, Answer, Message, arguments, flatten, short, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, Platform, ReaderOptions, Reading, Source, Unit, entries};

const KIND: &str = "hermes";
/// File name of the database.
const DATABASE: &str = "state.db";

/// The columns that are read.
pub(super) const LAYOUT: Layout = Layout {
    session: &[
        "source",
        "model",
        "model_config",
        "parent_session_id",
        "started_at",
        "title",
        "title_source",
        "cwd",
        "git_branch",
    ],
    required: &["role", "content", "tool_calls", "tool_name", "timestamp"],
    texts: &["role", "content", "tool_call_id", "tool_calls", "tool_name", "display_kind"],
    numbers: &["timestamp", "observed", "_compressed_summary", "active", "compacted"],
    json: &["tool_calls", "model_config"],
    time: "timestamp",
    id: None,
};

/// Places where a person writes: programs, and services for messages.
const WRITTEN: [&str; 28] = [
    "cli",
    "tui",
    "desktop",
    "web",
    "dashboard",
    "acp",
    "local",
    "telegram",
    "discord",
    "slack",
    "whatsapp",
    "signal",
    "matrix",
    "mattermost",
    "email",
    "sms",
    "teams",
    "feishu",
    "dingtalk",
    "wecom",
    "weixin",
    "line",
    "homeassistant",
    "bluebubbles",
    "imessage",
    "qqbot",
    "yuanbao",
    "google_chat",
];
/// Sources of sessions that a program starts.
const STARTED: [&str; 6] = ["cron", "tool", "batch", "subagent", "delegate", "webhook"];
/// Beginnings of summaries at compaction, in versions that do not mark them otherwise.
const SUMMARIES: [&str; 2] = ["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]"];

/// The source for Hermes; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Hermes;

impl Source for Hermes {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Hermes"
    }

    fn is_verified(&self) -> bool {
        false
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let default = match computer.platform {
            Platform::Windows => computer.data().join("hermes"),
            _ => computer.home.join(".hermes"),
        };
        let home = computer.named("HERMES_HOME").unwrap_or(default);
        // The home directory itself also holds credentials.
        [DATABASE, "profiles"].iter().map(|name| home.join(name)).collect()
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return LAYOUT.units(root, known);
        }
        let mut databases = vec![root.join(DATABASE)];
        for folder in [root.to_path_buf(), root.join("profiles")] {
            databases.extend(entries(&folder).map(|entry| entry.path().join(DATABASE)));
        }
        databases.iter().filter(|path| path.is_file()).flat_map(|path| LAYOUT.units(path, known)).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        LAYOUT.records(unit, |row| text_of(row, "cwd").map(str::to_owned), take)
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        rows::owner(value)
    }
}

/// State shared by the messages of a session.
struct Session(Shared);

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let row = &header["row"];
        let source = text_of(row, "source");
        // A session that continues another one after a compaction names it as well.
        let is_side = matches!(source, Some("subagent" | "delegate" | "tool"))
            || text_of(&row["model_config"], "_delegate_from")
                .is_some_and(|from| Some(from) == text_of(row, "parent_session_id"));
        let mut shared = Shared::new(
            kind,
            Episode {
                kind: if is_side { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: text_of(row, "parent_session_id").filter(|_| is_side).map(str::to_owned),
                cwd: text_of(row, "cwd").map(str::to_owned),
                ..shapes::episode(kind, id)
            },
        );
        if is_side || source.is_some_and(|source| STARTED.contains(&source)) {
            shared.prompt = Role::Injected;
        } else if source.is_some_and(|source| !WRITTEN.contains(&source)) {
            shared.caveat = Some(Caveat::UnknownAuthor);
        }
        let rank = if text_of(row, "title_source") == Some("user") { TitleRank::Custom } else { TitleRank::Ai };
        shared.title = text_of(row, "title").map(|title| (title.to_owned(), rank));
        shared.model = text_of(row, "model").map(str::to_owned);
        shared.branch = text_of(row, "git_branch").map(str::to_owned);
        Self(shared)
    }

    fn id(&self) -> &str {
        &self.0.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let (row, id) = (&value["row"], text_of(value, "id").unwrap_or(""));
        let is_one = |key: &str| row[key].as_i64() == Some(1);
        let words = words_of(&row["content"]);
        let is_summary =
            is_one("_compressed_summary") || SUMMARIES.iter().any(|beginning| words.trim_start().starts_with(beginning));
        let role = match text_of(row, "role") {
            Some("user" | "assistant") if is_summary => Role::Summary,
            Some("user" | "assistant") if text_of(row, "display_kind") == Some("hidden") => Role::Injected,
            // In a group, other people's messages, which were not meant for the agent.
            Some("user") if is_one("observed") => Role::Injected,
            Some("user") => self.0.prompt,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some("tool") => Role::ToolResult,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let time = shapes::time_of_seconds(&row["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        let mut message = Message::new(id.to_owned(), role, time);
        if role == Role::ToolResult {
            message.answers.push(Answer {
                call_id: text_of(row, "tool_call_id").map(str::to_owned),
                name: text_of(row, "tool_name").unwrap_or("").to_owned(),
                ..answer(words)
            });
        } else {
            message.say(&words);
        }
        match &row["tool_calls"] {
            Value::Null => {}
            Value::Array(calls) => {
                for call in calls {
                    let told = if call["function"].is_object() { &call["function"] } else { call };
                    let call_id = text_of(call, "id").map(str::to_owned);
                    let name = text_of(told, "name").unwrap_or("tool");
                    self.0.call(&mut message, call_id, name, &arguments(&told["arguments"]), tool_bytes);
                }
            }
            _ => out.push(Reading::Skip("wrong-shape", "tool_calls".to_owned())),
        }
        // Messages that were compacted stay part of the conversation; others were taken back.
        let is_undone = row["active"].as_i64() == Some(0) && !is_one("compacted");
        self.0.tell(message, is_undone.then_some(Caveat::TakenBack), tool_bytes, line, out);
    }
}

/// Returns the text of a message, which is a string or a list of parts.
fn words_of(content: &Value) -> String {
    let Some(parts) = content.as_array() else { return content.as_str().unwrap_or("").to_owned() };
    let texts: Vec<&str> = parts.iter().filter_map(|part| text_of(part, "text")).collect();
    texts.join("\n\n")
}

/// Returns a tool's answer. Most tools answer with an object.
fn answer(words: String) -> Answer {
    let told = serde_json::from_str::<Value>(&words).ok().filter(Value::is_object).unwrap_or_default();
    let has_error = match &told["error"] {
        Value::Null | Value::Bool(false) => false,
        Value::String(error) => !error.is_empty(),
        _ => true,
    };
    let is_failed = has_error || told["success"] == false || told["exit_code"].as_i64().is_some_and(|code| code != 0);
    Answer {
        text: if told.is_object() { flatten(&told) } else { words },
        outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
        ..Answer::default()
    }
}
