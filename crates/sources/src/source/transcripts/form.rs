//! The common form of a conversation of the transcript readers, and functions that they share.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use yore_core::episode::TitleRank;
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::shapes::{self, Message, drop_payloads, short, text_of};
use super::super::{Reading, files_below, open};

/// Maximum size in bytes of a file with facts of a conversation.
pub(super) const MAX_FACTS_BYTES: u64 = 4 << 20;
/// Number of bytes at the start of a file that are examined.
pub(super) const HEAD_BYTES: u64 = 64 << 10;
/// Maximum depth of a conversation below a root.
pub(super) const MAX_DEPTH: usize = 8;
/// Numbers below this are seconds since 1970, others milliseconds.
pub(super) const END_OF_SECONDS: f64 = 100_000_000_000.0;

/// A value on a line of a file.
pub(super) struct Line {
    /// 1-based number of the line.
    pub(super) number: u64,
    pub(super) value: Value,
}

/// A conversation.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) facts: Facts,
    pub(super) messages: Vec<Said>,
}

/// What the messages of a conversation share.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) session: String,
    /// Session that started this one as a sub-agent.
    pub(super) parent: Option<String>,
    /// True if programs write its prompts: schedules, hooks.
    pub(super) is_automated: bool,
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) version: Option<String>,
    pub(super) model: Option<String>,
    pub(super) title: Option<(String, TitleRank)>,
    /// Time of its start, for messages without one.
    pub(super) began: Value,
}

/// A message as the agent recorded it.
#[derive(Default)]
pub(super) struct Said {
    /// Number of its first line.
    pub(super) line: u64,
    /// Its id, unique among all sessions of the agent. `None`: no other file repeats it.
    pub(super) key: Option<String>,
    /// The session that said it first, if this one repeats it.
    pub(super) owner: Option<String>,
    /// True if the conversation went on from an earlier message instead.
    pub(super) is_taken_back: bool,
    pub(super) message: Value,
}

impl Facts {
    pub(super) fn record(&self) -> Value {
        let title = self.title.as_ref();
        let mut record = json!({
            "type": "session", "session": self.session, "parent": self.parent, "is_automated": self.is_automated, "cwd": self.cwd,
            "branch": self.branch, "version": self.version, "model": self.model, "title": title.map(|(text, _)| text),
            "title_rank": title.map(|(_, rank)| rank.as_str()), "began": self.began,
        });
        if let Value::Object(members) = &mut record {
            members.retain(|_, value| !value.is_null() && *value != false);
        }
        record
    }
}

impl Said {
    pub(super) fn record(mut self, session: &str) -> Value {
        drop_payloads(&mut self.message);
        let mut record = Map::new();
        record.insert("type".to_owned(), "message".into());
        record.insert("session".to_owned(), session.into());
        record.insert("line".to_owned(), self.line.into());
        for (name, id) in [("key", self.key), ("owner", self.owner)] {
            if let Some(id) = id {
                record.insert(name.to_owned(), id.into());
            }
        }
        if self.is_taken_back {
            record.insert("taken_back".to_owned(), true.into());
        }
        record.insert("message".to_owned(), self.message);
        Value::Object(record)
    }
}

/// Returns the values of the first lines of a file.
pub(super) fn first_values(path: &Path) -> Vec<Value> {
    let mut head = Vec::new();
    let is_read = open(path).is_some_and(|file| file.take(HEAD_BYTES).read_to_end(&mut head).is_ok());
    if !is_read {
        return Vec::new();
    }
    head.split(|byte| *byte == b'\n').take(8).filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Returns the files of JSON lines below a folder that pass a test.
pub(super) fn lines_below(root: &Path, is_conversation: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    files_below(root, "jsonl", MAX_DEPTH).into_iter().filter(|file| is_conversation(file)).collect()
}

/// Returns the object in a file with facts of a conversation; null if there is none.
pub(super) fn facts_in(path: &Path) -> Value {
    shapes::read_json(path, MAX_FACTS_BYTES).unwrap_or_default()
}

/// Returns the name of a path's last component.
pub(super) fn name_of(path: Option<&Path>) -> &str {
    path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("")
}

/// Returns a time from ISO 8601, or from a number of seconds or milliseconds.
pub(super) fn time_of(value: &Value, quality: TimeQuality) -> Option<RecordedTime> {
    match value.as_f64() {
        Some(number) if number < END_OF_SECONDS => shapes::from_millis(number * 1000.0, quality),
        _ => shapes::time_of(value, quality),
    }
}

/// Adds the words of a message's content to it: a text, or a list of blocks. `read_block` reads the blocks that hold no
/// plain text, and returns false for one that it does not know.
pub(super) fn read_content(
    content: &Value,
    message: &mut Message,
    out: &mut Vec<Reading>,
    mut read_block: impl FnMut(&str, &Value, &mut Message) -> bool,
) {
    if let Some(text) = content.as_str() {
        message.say(text);
    }
    for block in content.as_array().into_iter().flatten() {
        if let Some(text) = block.as_str() {
            message.say(text);
            continue;
        }
        match text_of(block, "type").unwrap_or("") {
            "text" | "input_text" | "output_text" => message.say(text_of(block, "text").unwrap_or("")),
            "thinking" | "think" | "redacted_thinking" | "reasoning" | "image" | "image_url" | "input_image" | "document" => {}
            kind => {
                if !read_block(kind, block, message) {
                    out.push(Reading::Skip("unknown-block", short(kind)));
                }
            }
        }
    }
}
