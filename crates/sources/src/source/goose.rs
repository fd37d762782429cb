//! goose: a database since version 1.10, before that a file of JSON lines for each session. No real history
//! with messages has been seen yet.
//!
//! - [`Goose`]: finds both; a session in the database is read only from there
//! - `Session`: records to turns, the same ones from either
//!
//! The upgrade copies the files into the database, but in most versions without the ids of messages. So these
//! are identified by time, role and number.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Episode, EpisodeKind, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::conversation::{Conversation, ConversationReader, Shared};
use super::rows::{self, Keys, Layout};
use super::shapes::{self, Answer, Message, append, drop_payloads, flatten, short, text_of};
use super::{Computer, EpisodeReader, Known, LineOwner, Platform, ReaderOptions, Reading, Source, Unit, files_below};

const KIND: &str = "goose";
/// File name of the database.
const DATABASE: &str = "sessions.db";

/// The columns that are read.
pub(super) const LAYOUT: Layout = Layout {
    session: &[
        "name",
        "description",
        "user_set_name",
        "session_type",
        "working_dir",
        "created_at",
        "schedule_id",
        "parent_session_id",
        "model_config_json",
    ],
    required: &["role", "content_json"],
    texts: &["role", "content_json", "metadata_json"],
    numbers: &["created_timestamp"],
    json: &["content_json", "metadata_json", "model_config_json"],
    time: "created_timestamp",
    id: None,
};

/// Types of sessions in which a person writes.
const WRITTEN: [&str; 4] = ["user", "terminal", "gateway", "acp"];
/// Types of sessions that a program starts.
const STARTED: [&str; 3] = ["scheduled", "sub_agent", "hidden"];
/// Beginnings of the names that sessions have until the model has found one.
const NAMELESS: [&str; 4] = ["CLI Session", "New Chat", "New session", "Untitled"];
/// Types of blocks without words of a conversation.
const WORDLESS: [&str; 11] = [
    "thinking",
    "redactedThinking",
    "reasoning",
    "image",
    "document",
    "toolConfirmationRequest",
    "actionRequired",
    "systemNotification",
    "conversationCompacted",
    "contextLengthExceeded",
    "summarizationRequested",
];

/// The source for goose; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Goose;

impl Source for Goose {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "goose"
    }

    fn is_verified(&self) -> bool {
        false
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        vec![match (computer.named("GOOSE_PATH_ROOT"), computer.platform) {
            (Some(root), _) => root.join("data/sessions"),
            (None, Platform::Windows) => computer.configuration().join("Block/goose/data/sessions"),
            // macOS too.
            (None, _) => computer.directory("XDG_DATA_HOME", ".local/share").join("goose/sessions"),
        }]
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return match root.extension() {
                Some(ending) if ending == "jsonl" => Unit::records(root.to_path_buf()).into_iter().collect(),
                _ => LAYOUT.units(root, known),
            };
        }
        let mut units = Vec::new();
        for folder in [root.to_path_buf(), root.join("sessions")] {
            let database = folder.join(DATABASE);
            let mut stored = HashSet::new();
            if database.is_file() {
                let found = LAYOUT.units(&database, known);
                stored.extend(found.iter().filter_map(|unit| unit.part.clone()));
                units.extend(found);
            }
            let was_stored =
                |session: &str| database.to_str().is_some_and(|path| known.stamp(&format!("{path}#{session}")).is_some());
            units.extend(
                files_below(&folder, "jsonl", 0)
                    .into_iter()
                    .filter(|file| !stored.contains(session_of(file)) && !was_stored(session_of(file)))
                    .filter_map(Unit::records),
            );
        }
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        if unit.part.is_some() || unit.closes_file {
            return LAYOUT.records(unit, |row| text_of(row, "working_dir").map(str::to_owned), take);
        }
        records_of_lines(&unit.path, take)
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Session>::new(KIND, options))
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        rows::owner(value)
    }
}

/// Returns the id of a file's session: its name.
fn session_of(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("")
}

/// Passes the lines of a file to `take`, as the rows of a database.
fn records_of_lines(path: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let id = session_of(path);
    let (mut keys, mut is_first) = (Keys::default(), true);
    let problems = shapes::each_object(path, |mut value| {
        drop_payloads(&mut value);
        if value.get("role").is_none() {
            // The first line holds facts; in some files it is missing, in others it is written again.
            if !std::mem::take(&mut is_first) {
                return true;
            }
            let mut record = json!({"type": "session", "session": id});
            if let Some(directory) = text_of(&value, "working_dir") {
                record["directory"] = directory.into();
            }
            record["row"] = value;
            return take(record);
        }
        is_first = false;
        let native = keys.next(&value["created"], &value["role"]);
        let mut row = json!({"role": value["role"], "created_timestamp": value["created"], "content_json": value["content"]});
        if !value["metadata"].is_null() {
            row["metadata_json"] = value["metadata"].take();
        }
        take(json!({"type": "message", "session": id, "id": native, "row": row}))
    })?;
    let _ = problems.into_iter().all(take);
    Ok(())
}

/// State shared by the messages of a session.
struct Session {
    shared: Shared,
    created: Option<RecordedTime>,
}

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let row = &header["row"];
        let parent = text_of(row, "parent_session_id").map(str::to_owned);
        let session_type = text_of(row, "session_type");
        let is_side = parent.is_some() || session_type == Some("sub_agent");
        let mut shared = Shared::new(
            kind,
            Episode {
                kind: if is_side { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: parent,
                cwd: text_of(row, "working_dir").map(str::to_owned),
                ..shapes::episode(kind, id)
            },
        );
        let is_started = text_of(row, "schedule_id").is_some() || session_type.is_some_and(|name| STARTED.contains(&name));
        if is_side || is_started {
            shared.prompt = Role::Injected;
        } else if session_type.is_some_and(|name| !WRITTEN.contains(&name)) {
            shared.caveat = Some(Caveat::UnknownAuthor);
        }
        let is_custom = matches!(text_of(row, "user_set_name"), Some("1" | "true")) || row["user_set_name"] == true;
        shared.title = ["name", "description"]
            .iter()
            .filter_map(|key| text_of(row, key))
            .find(|name| *name != id && !NAMELESS.iter().any(|nameless| name.starts_with(nameless)))
            .map(|name| (name.to_owned(), if is_custom { TitleRank::Custom } else { TitleRank::Ai }));
        shared.model = shapes::first_text(&row["model_config_json"], &["model_name", "modelName", "model"]).map(str::to_owned);
        Self { shared, created: shapes::time_of_seconds(&row["created_at"], TimeQuality::Session) }
    }

    fn id(&self) -> &str {
        &self.shared.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let (row, id) = (&value["row"], text_of(value, "id").unwrap_or(""));
        let Some(blocks) = row["content_json"].as_array() else {
            out.push(Reading::Skip("wrong-shape", "content_json".to_owned()));
            return;
        };
        // What the person does not see was put in by the program: a summary, or a request to go on.
        let is_hidden = row["metadata_json"]["userVisible"] == false;
        let role = match text_of(row, "role") {
            Some("user" | "assistant") if is_hidden => Role::Injected,
            Some("user") => self.shared.prompt,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let time = shapes::time_of_seconds(&row["created_timestamp"], TimeQuality::Exact).or_else(|| self.created.clone());
        let mut message = Message::new(id.to_owned(), role, time.unwrap_or(RecordedTime::UNKNOWN));
        message.parts = (blocks.len() as u32).max(1);
        for block in blocks {
            match text_of(block, "type") {
                Some("text") => message.say(text_of(block, "text").unwrap_or("")),
                Some("toolRequest" | "frontendToolRequest") => self.read_call(block, tool_bytes, &mut message),
                Some("toolResponse") => message.answers.push(answer(block)),
                Some(kind) if WORDLESS.contains(&kind) => {}
                other => out.push(Reading::Skip("unknown-block", short(other.unwrap_or("")))),
            }
        }
        self.shared.tell(message, None, tool_bytes, line, out);
    }
}

impl Session {
    fn read_call(&mut self, block: &Value, tool_bytes: usize, message: &mut Message) {
        let (call, id) = (&block["toolCall"], text_of(block, "id").map(str::to_owned));
        let value = &call["value"];
        match text_of(value, "name") {
            Some(name) => self.shared.call(message, id, name, &value["arguments"], tool_bytes),
            // A call that the model wrote wrongly.
            None => message.answers.push(Answer {
                call_id: id,
                text: flatten(&call["error"]),
                outcome: Some(Outcome::Failed),
                ..Answer::default()
            }),
        }
    }
}

fn answer(block: &Value) -> Answer {
    let result = &block["toolResult"];
    // Before version 1.13 the list of contents itself.
    let value = &result["value"];
    let contents = if value.is_array() { value } else { &value["content"] };
    let contents: Vec<&Value> = contents.as_array().into_iter().flatten().collect();
    // Some tools write everything twice, once for the model and once for the person.
    let audience = |content: &Value| {
        let audience = content["annotations"]["audience"].as_array().or_else(|| content["audience"].as_array())?;
        Some(audience.iter().any(|name| name == "assistant"))
    };
    let has_own = contents.iter().any(|content| audience(content) == Some(true));
    let mut text = String::new();
    for content in contents {
        if has_own && audience(content) == Some(false) {
            continue;
        }
        match text_of(content, "type") {
            Some("text") => append(&mut text, text_of(content, "text").unwrap_or("")),
            Some("resource") => append(&mut text, text_of(&content["resource"], "text").unwrap_or("")),
            _ => {}
        }
    }
    append(&mut text, text_of(result, "error").unwrap_or(""));
    let structured = &value["structuredContent"];
    let is_failed = text_of(result, "status") == Some("error")
        || value["isError"] == true
        || structured["exit_code"].as_i64().is_some_and(|code| code != 0)
        || structured["timed_out"] == true;
    Answer {
        call_id: text_of(block, "id").map(str::to_owned),
        text,
        outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
        ..Answer::default()
    }
}
