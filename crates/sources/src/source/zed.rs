//! Zed's own agent: threads in a database, each one compressed JSON. No real database has been seen yet.
//!
//! - [`Zed`]: finds the database, and divides each thread into a header and its messages
//! - `Thread`: messages to turns, of today's shape and of the one before
//!
//! Other agents that run inside Zed keep their own histories.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, EpisodeKind, FileAction, Outcome, Role, TitleRank};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::address::path_of_address;
use super::conversation::{Conversation, ConversationReader};
use super::shapes::{self, Answer, Message, ZSTD_MAGIC, add_file, append, drop_payloads, flatten, id_of, short, text_of};
use super::speaker::{self, role_by, sender};
use super::{Computer, EpisodeReader, Known, LineOwner, Platform, ReaderOptions, Reading, Source, Stamp, Unit};
use crate::foreign::ForeignDatabase;

const KIND: &str = "zed";

/// Maximum size of an unpacked thread in bytes. Anything longer is not a thread.
const MAX_THREAD_BYTES: u64 = 256 << 20;

/// Columns of a thread's row besides its id and data, in the order of the queries.
const COLUMNS: [&str; 6] = ["summary", "updated_at", "created_at", "parent_id", "folder_paths", "worktree_branch"];

/// Types of blocks without text of their own.
const WORDLESS: [&str; 6] = ["Thinking", "RedactedThinking", "Image", "thinking", "redacted_thinking", "image"];

/// The source for Zed; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Zed;

impl Source for Zed {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Zed"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let name = if computer.platform == Platform::Xdg { "zed" } else { "Zed" };
        let mut places = vec![computer.data().join(name).join("threads")];
        if computer.platform == Platform::Xdg {
            places.push(computer.home.join(".var/app/dev.zed.Zed/data/zed/threads"));
        }
        places
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        let places = if root.is_file() {
            vec![root.to_path_buf()]
        } else {
            vec![root.join("threads.db"), root.join("threads/threads.db")]
        };
        let databases = places.into_iter().filter(|path| path.is_file());
        databases.flat_map(|path| shapes::units_of_database(&path, known, |database| list(&path, database))).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let database = ForeignDatabase::open(&unit.path)?;
        let Some(id) = &unit.part else { return list(&unit.path, &database).map(drop) };
        let query = format!("SELECT data, {} FROM threads WHERE id = ?1", columns_of(&database)?);
        let mut found = None;
        database.each(&query, &[id], |row| {
            let facts: Vec<Option<String>> = (1..=COLUMNS.len()).map(|column| row.text(column)).collect();
            found = Some((row.bytes(0).map(<[u8]>::to_vec), facts));
            Ok(false)
        })?;
        drop(database);
        // The thread was deleted meanwhile.
        let Some((data, facts)) = found else { return Err(io::ErrorKind::NotFound.into()) };
        let data = data.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the thread has no data"))?;
        let thread: Value =
            serde_json::from_slice(&unpacked(data)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        records_of(id, &facts, thread, take);
        Ok(())
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ConversationReader::<Thread>::new(KIND, options))
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

/// Returns [`COLUMNS`] for a query. Columns that the database does not have are NULL.
fn columns_of(database: &ForeignDatabase) -> io::Result<String> {
    let known = database.columns("threads")?;
    let columns: Vec<&str> =
        COLUMNS.iter().map(|column| if known.iter().any(|name| name == column) { *column } else { "NULL" }).collect();
    Ok(columns.join(", "))
}

fn list(path: &Path, database: &ForeignDatabase) -> io::Result<Vec<Unit>> {
    let query = format!("SELECT id, octet_length(data), {} FROM threads", columns_of(database)?);
    let mut units = Vec::new();
    database.each(&query, &[], |row| {
        let Some(id) = row.text(0) else { return Ok(true) };
        let facts: Vec<String> = (2..2 + COLUMNS.len()).map(|column| row.text(column).unwrap_or_default()).collect();
        let stamp = Stamp {
            size: row.integer(1).unwrap_or(0).max(0) as u64,
            version: shapes::hash_of(facts.iter().map(String::as_bytes)),
        };
        let began = [&facts[2], &facts[1]].iter().find_map(|time| RecordedTime::parse(time).utc);
        units.push(shapes::unit_of_database(path, id, stamp, began));
        Ok(true)
    })?;
    Ok(units)
}

fn unpacked(data: Vec<u8>) -> io::Result<Vec<u8>> {
    if !data.starts_with(&ZSTD_MAGIC) {
        return Ok(data);
    }
    let mut unpacked = Vec::new();
    zstd::stream::read::Decoder::new(data.as_slice())?.take(MAX_THREAD_BYTES).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// Divides a thread into records: a header and its messages.
fn records_of(id: &str, facts: &[Option<String>], mut thread: Value, take: &mut dyn FnMut(Value) -> bool) {
    let fact = |at: usize| facts.get(at).and_then(Option::as_deref).filter(|text| !text.is_empty());
    let messages = match thread.get_mut("messages").map(Value::take) {
        Some(Value::Array(messages)) => messages,
        _ => Vec::new(),
    };
    if messages.is_empty() {
        return;
    }
    let snapshot = &thread["initial_project_snapshot"]["worktree_snapshots"][0];
    // The first of the folders that the window showed.
    let directory =
        fact(4).and_then(|paths| paths.lines().next()).or_else(|| shapes::first_text(snapshot, &["worktree_path", "abs_path"]));
    let mut header = Map::new();
    header.insert("type".to_owned(), "thread".into());
    header.insert("session".to_owned(), id.into());
    for (key, value) in [
        ("directory", directory),
        ("title", shapes::first_text(&thread, &["title", "summary"]).or_else(|| fact(0))),
        ("updated", fact(1).or_else(|| text_of(&thread, "updated_at"))),
        ("created", fact(2)),
        ("parent", fact(3)),
        ("branch", fact(5).or_else(|| text_of(&snapshot["git_state"], "current_branch"))),
        ("remote", text_of(&snapshot["git_state"], "remote_url")),
        ("model", text_of(&thread["model"], "model")),
    ] {
        if let Some(value) = value {
            header.insert(key.to_owned(), value.into());
        }
    }
    if !take(Value::Object(header)) {
        return;
    }
    for (at, mut message) in messages.into_iter().enumerate() {
        drop_payloads(&mut message);
        let native = id_of(&message["User"]["id"]).or_else(|| id_of(&message["id"])).unwrap_or_else(|| format!("#{at}"));
        if !take(json!({"type": "message", "session": id, "id": native, "message": message})) {
            return;
        }
    }
}

/// State shared by the messages of a thread.
struct Thread {
    episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<String>,
    /// The only recorded time.
    time: RecordedTime,
    model: Option<String>,
    branch: Option<String>,
}

impl Conversation for Thread {
    const HEADER: &'static str = "thread";

    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let parent = text_of(header, "parent").map(str::to_owned);
        let time = |key: &str| shapes::time_of(&header[key], TimeQuality::Session);
        Self {
            episode: Arc::new(Episode {
                kind: if parent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: parent,
                cwd: text_of(header, "directory").map(str::to_owned),
                remote: text_of(header, "remote").map(str::to_owned),
                ..shapes::episode(kind, id)
            }),
            title: text_of(header, "title").filter(|title| *title != "New Thread").map(str::to_owned),
            time: time("updated").or_else(|| time("created")).unwrap_or(RecordedTime::UNKNOWN),
            model: text_of(header, "model").map(str::to_owned),
            branch: text_of(header, "branch").map(str::to_owned),
        }
    }

    fn id(&self) -> &str {
        &self.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        read_message(self, value, tool_bytes, line, out);
    }
}

fn read_message(thread: &mut Thread, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
    let Some(id) = text_of(value, "id") else {
        out.push(Reading::Skip("wrong-shape", "message".to_owned()));
        return;
    };
    let native = &value["message"];
    let is_side = thread.episode.kind == EpisodeKind::Subagent;
    // The "user" of a side conversation is the agent that started it.
    let human = if is_side { Role::Injected } else { Role::Human };
    let mut message = Message::new(id.to_owned(), human, thread.time.clone());
    if let Some(body) = native.get("User") {
        read_blocks(&body["content"], &Value::Null, tool_bytes, &mut message, out);
    } else if let Some(body) = native.get("Agent") {
        message.role = Role::Assistant;
        message.model.clone_from(&thread.model);
        read_blocks(&body["content"], &body["tool_results"], tool_bytes, &mut message, out);
    } else if let Some(body) = native.get("Compaction") {
        message.role = Role::Summary;
        message.say(&flatten(body));
    } else if native == "Resume" || native.get("Resume").is_some() {
        return;
    } else if let Some(role) = text_of(native, "role") {
        message.role = match role {
            "user" => role_by(sender(speaker::ZED, native), human).0,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            other => {
                out.push(Reading::Skip("unknown-role", short(other)));
                return;
            }
        };
        if message.role == Role::Assistant {
            message.model.clone_from(&thread.model);
        }
        read_old_message(native, tool_bytes, &mut message, out);
    } else {
        let kind = native.as_object().and_then(|map| map.keys().next()).map_or("", String::as_str);
        out.push(Reading::Skip("unknown-message", short(kind)));
        return;
    }
    let before = out.len();
    message.turns(KIND, &thread.episode, tool_bytes, line, out);
    let mut has_turn = false;
    for reading in &mut out[before..] {
        if let Reading::Turn(read) = reading {
            has_turn = true;
            read.turn.branch.clone_from(&thread.branch);
        }
    }
    if has_turn && let Some(words) = thread.title.take() {
        let title = shapes::title(&words, TitleRank::Ai, thread.time.utc, line);
        out.push(Reading::Title(Arc::clone(&thread.episode), title));
    }
}

/// Reads blocks `{"Text": …}`. A call's answer is looked up in `results` by its id.
fn read_blocks(content: &Value, results: &Value, tool_bytes: usize, message: &mut Message, out: &mut Vec<Reading>) {
    if let Some(text) = content.as_str() {
        message.say(text);
    }
    for block in content.as_array().into_iter().flatten() {
        let Some((kind, body)) = block.as_object().and_then(|map| map.iter().next()) else {
            // This is `"RedactedThinking"` or similar.
            if block.as_str().is_none_or(|kind| !WORDLESS.contains(&kind)) {
                out.push(Reading::Skip("unknown-block", short(block.as_str().unwrap_or(""))));
            }
            continue;
        };
        match kind.as_str() {
            "Text" => message.say(body.as_str().unwrap_or("")),
            "Mention" => {
                if let Some(path) = mentioned(&body["uri"]) {
                    add_file(&mut message.files, path, FileAction::Read);
                }
                append(&mut message.tool_text, &excerpt(&flatten(&body["content"]), tool_bytes));
            }
            "ToolUse" => {
                let call_id = id_of(&body["id"]);
                let name = text_of(body, "name").unwrap_or("tool");
                let input = if body["input"].is_null() { &body["raw_input"] } else { &body["input"] };
                message.call(call_id.clone(), name, &shapes::arguments(input), tool_bytes);
                if let Some(result) = call_id.as_ref().and_then(|id| results.get(id)) {
                    message.answers.push(answer(call_id, name, result));
                }
            }
            kind if WORDLESS.contains(&kind) => {}
            kind => out.push(Reading::Skip("unknown-block", short(kind))),
        }
    }
}

/// Returns the file that a mention names: a URL, or `{"File": {"abs_path": …}}`.
fn mentioned(uri: &Value) -> Option<String> {
    if let Some(address) = uri.as_str() {
        return address.starts_with("file:").then(|| path_of_address(address)).flatten();
    }
    let (_, body) = uri.as_object()?.iter().next()?;
    shapes::first_text(body, &["abs_path", "path"]).map(str::to_owned)
}

fn answer(call_id: Option<String>, name: &str, result: &Value) -> Answer {
    let is_failed = result["is_error"].as_bool() == Some(true);
    let content = &result["content"];
    let mut text = match content.get("Image") {
        Some(_) => String::new(),
        None => flatten(content),
    };
    if text.trim().is_empty() {
        text = flatten(&result["output"]);
    }
    Answer {
        call_id,
        name: text_of(result, "tool_name").unwrap_or(name).to_owned(),
        text,
        outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
        files: Vec::new(),
    }
}

/// Reads a message of the previous format: role, segments, and calls and answers beside them.
fn read_old_message(native: &Value, tool_bytes: usize, message: &mut Message, out: &mut Vec<Reading>) {
    for segment in native["segments"].as_array().into_iter().flatten() {
        match text_of(segment, "type") {
            Some("text") | None => message.say(text_of(segment, "text").unwrap_or("")),
            Some(kind) if WORDLESS.contains(&kind) => {}
            Some(kind) => out.push(Reading::Skip("unknown-block", short(kind))),
        }
    }
    if native["segments"].is_null()
        && let Some(text) = text_of(native, "text")
    {
        message.say(text);
    }
    if let Some(context) = text_of(native, "context") {
        append(&mut message.tool_text, &excerpt(context, tool_bytes));
    }
    for call in native["tool_uses"].as_array().into_iter().flatten() {
        message.call(id_of(&call["id"]), text_of(call, "name").unwrap_or("tool"), &call["input"], tool_bytes);
    }
    for result in native["tool_results"].as_array().into_iter().flatten() {
        let call_id = id_of(&result["tool_use_id"]);
        let name = message.tools.iter().find(|call| call.call_id == call_id).map_or(String::new(), |call| call.name.clone());
        message.answers.push(answer(call_id, &name, result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_and_plain_threads_are_unpacked() {
        let plain = br#"{"messages":[]}"#.to_vec();
        assert_eq!(unpacked(plain.clone()).unwrap(), plain);
        assert_eq!(unpacked(zstd::encode_all(plain.as_slice(), 3).unwrap()).unwrap(), plain);
        assert!(unpacked([ZSTD_MAGIC.as_slice(), b"damaged"].concat()).is_err());
    }

    #[test]
    fn mentions_name_files_in_either_shape() {
        assert_eq!(mentioned(&json!("file:///home/ada/tide.rs#L3")).as_deref(), Some("/home/ada/tide.rs"));
        assert_eq!(mentioned(&json!({"File": {"abs_path": "/home/ada/tide.rs"}})).as_deref(), Some("/home/ada/tide.rs"));
        assert_eq!(mentioned(&json!("zed:///agent/thread/1")), None);
        assert_eq!(mentioned(&json!({"Fetch": {"url": "x"}})), None);
    }
}
