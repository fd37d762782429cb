//! Claude.ai: the archive from its data export, the extracted folder, or its list of conversations.
//!
//! - [`ClaudeAi`]: finds exports, and divides each conversation into a header and its messages
//! - `ClaudeAiReader`: messages to turns

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, FileAction, Outcome, Role, TitleRank};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::export::{self, Element};
use super::shapes::{self, Answer, Message, add_file, append, drop_payloads, flatten, short, text_of};
use super::{EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit};

const KIND: &str = "claude-ai";

/// Types of blocks without text of their own.
const WORDLESS: [&str; 6] = ["thinking", "redacted_thinking", "token_budget", "image", "document", "flag"];

/// Text in place of a block that the exporter could not write.
const PLACEHOLDER: &str = "This block is not supported on your current device yet.";

/// The source for exports of Claude.ai; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeAi;

impl Source for ClaudeAi {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_agent(&self) -> bool {
        false
    }

    fn display_name(&self) -> &'static str {
        "Claude.ai export"
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        export::discover(root, b"\"chat_messages\"")
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        export::conversations(&unit.path, &mut |element| match element {
            Element::Conversation(conversation) | Element::Cut(conversation) => records_of(conversation, take),
            Element::Damage(damage) => take(damage),
            Element::Unreadable(why) => take(json!({"type": "unreadable", "why": why})),
        })
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ClaudeAiReader { options: options.clone(), current: None })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner { session: text_of(value, "session").map(Into::into), message: text_of(value, "uuid"), ..LineOwner::default() }
    }
}

/// Divides a conversation into records: a header and its messages. A conversation without messages gives
/// none.
fn records_of(mut conversation: Value, take: &mut dyn FnMut(Value) -> bool) -> bool {
    let Some(session) = text_of(&conversation, "uuid").map(str::to_owned) else {
        return take(json!({"type": "unreadable", "why": "no-conversation-id"}));
    };
    let messages = match conversation.get_mut("chat_messages").map(Value::take) {
        Some(Value::Array(messages)) => messages,
        _ => return take(json!({"type": "unreadable", "why": "wrong-shape", "session": session})),
    };
    if messages.is_empty() {
        return true;
    }
    let mut header = Map::new();
    header.insert("type".to_owned(), "conversation".into());
    header.insert("session".to_owned(), session.as_str().into());
    for key in ["name", "created_at", "model"] {
        if let Some(text) = text_of(&conversation, key) {
            header.insert(key.to_owned(), text.into());
        }
    }
    let left = left_behind(&messages, text_of(&conversation, "current_leaf_message_uuid"));
    let told = messages.into_iter().enumerate().filter(|(at, _)| !left.contains(at));
    take(Value::Object(header))
        && told.into_iter().all(|(_, message)| take(record_of(&session, message)))
        && (left.is_empty() || take(json!({"type": "other-branches", "session": session, "messages": left.len()})))
}

/// Returns the positions of messages on abandoned branches: an edited question or a new answer begins another
/// branch. The current branch ends with the leaf that the conversation names, or else with the last message.
fn left_behind(messages: &[Value], leaf: Option<&str>) -> HashSet<usize> {
    let id = |at: usize| text_of(&messages[at], "uuid");
    let parent = |at: usize| text_of(&messages[at], "parent_message_uuid");
    let places: HashMap<&str, usize> = (0..messages.len()).filter_map(|at| Some((id(at)?, at))).collect();
    let last = leaf.and_then(|leaf| places.get(leaf).copied()).unwrap_or(messages.len() - 1);
    let mut branch = HashSet::new();
    let mut next = Some(last);
    while let Some(at) = next.filter(|at| branch.insert(*at)) {
        next = parent(at).and_then(|parent| places.get(parent).copied());
    }
    // A message is abandoned if the current branch has another message after the same parent. Everything
    // after it is abandoned too. A message whose parent does not exist is kept.
    let continued: HashSet<&str> = branch.iter().filter_map(|at| parent(*at)).collect();
    let mut left: HashSet<usize> = HashSet::new();
    loop {
        let more: Vec<usize> = (0..messages.len())
            .filter(|at| !branch.contains(at) && !left.contains(at))
            .filter(|at| {
                parent(*at).is_some_and(|parent| {
                    continued.contains(parent) || places.get(parent).is_some_and(|above| left.contains(above))
                })
            })
            .collect();
        if more.is_empty() {
            return left;
        }
        left.extend(more);
    }
}

fn record_of(session: &str, mut message: Value) -> Value {
    let mut record = Map::new();
    record.insert("type".to_owned(), "message".into());
    record.insert("session".to_owned(), session.into());
    let has_words = blocks(&message).any(|block| text_of(block, "text").is_some_and(|text| !text.trim().is_empty()));
    for key in ["uuid", "sender", "created_at", "parent_message_uuid", "text", "content", "attachments", "files"] {
        // The text repeats the content with gaps.
        if key == "text" && has_words {
            continue;
        }
        let value = message.get_mut(key).map(Value::take).filter(|value| match value {
            Value::Null => false,
            Value::Array(list) => !list.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        });
        if let Some(mut value) = value {
            drop_payloads(&mut value);
            record.insert(key.to_owned(), value);
        }
    }
    Value::Object(record)
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}

struct ClaudeAiReader {
    options: ReaderOptions,
    current: Option<Conversation>,
}

/// State shared by the messages of a conversation.
struct Conversation {
    episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    title: Option<String>,
    created: Option<RecordedTime>,
    model: Option<String>,
    /// Number of messages so far, used as an id for messages that have none.
    count: usize,
}

impl Conversation {
    fn begin(session: &str, header: &Value) -> Self {
        Self {
            episode: Arc::new(shapes::episode(KIND, session)),
            title: text_of(header, "name").map(str::to_owned),
            created: shapes::time_of(&header["created_at"], TimeQuality::Session),
            model: text_of(header, "model").map(str::to_owned),
            count: 0,
        }
    }
}

impl EpisodeReader for ClaudeAiReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match text_of(value, "type") {
                Some("conversation") => self.current = text_of(value, "session").map(|id| Conversation::begin(id, value)),
                Some("message") => self.message(value, line.mark.line, out),
                _ => export::read_other(value, out),
            }
        }
    }
}

impl ClaudeAiReader {
    fn message(&mut self, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let Some(session) = text_of(value, "session") else {
            out.push(Reading::Skip("wrong-shape", "message".to_owned()));
            return;
        };
        if self.current.as_ref().is_none_or(|current| current.episode.native_id != session) {
            self.current = Some(Conversation::begin(session, &Value::Null));
        }
        let Some(current) = &mut self.current else { return };
        current.count += 1;
        let id = text_of(value, "uuid").map_or_else(|| format!("#{}", current.count), str::to_owned);
        let role = match text_of(value, "sender") {
            Some("human") => Role::Human,
            Some("assistant") => Role::Assistant,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let time = shapes::time_of(&value["created_at"], TimeQuality::Exact).or_else(|| current.created.clone());
        let mut message = Message::new(id, role, time.unwrap_or(RecordedTime::UNKNOWN));
        if role == Role::Assistant {
            message.model.clone_from(&current.model);
        }
        for block in blocks(value) {
            read_block(block, self.options.tool_bytes, &mut message, out);
        }
        if message.text.is_empty()
            && let Some(text) = text_of(value, "text")
        {
            message.say(&without_placeholder(text));
        }
        for attachment in value["attachments"].as_array().into_iter().flatten() {
            let name = text_of(attachment, "file_name").unwrap_or("attachment");
            add_file(&mut message.files, name.to_owned(), FileAction::Read);
            if let Some(words) = text_of(attachment, "extracted_content") {
                append(&mut message.tool_text, &excerpt(&format!("{name}\n{words}"), self.options.tool_bytes));
            }
        }
        for file in value["files"].as_array().into_iter().flatten() {
            if let Some(name) = text_of(file, "file_name") {
                add_file(&mut message.files, name.to_owned(), FileAction::Read);
            }
        }
        let before = out.len();
        let at = message.time.utc;
        message.turns(KIND, &current.episode, self.options.tool_bytes, line, out);
        if out.len() > before
            && let Some(words) = current.title.take()
        {
            out.push(Reading::Title(Arc::clone(&current.episode), shapes::title(&words, TitleRank::Ai, at, line)));
        }
    }
}

/// Adds one block to a message.
fn read_block(block: &Value, tool_bytes: usize, message: &mut Message, out: &mut Vec<Reading>) {
    match text_of(block, "type") {
        Some("text" | "voice_note") => {
            if let Some(text) = text_of(block, "text") {
                message.say(text);
            }
        }
        Some("tool_use") => {
            let name = text_of(block, "name").unwrap_or("tool");
            message.call(text_of(block, "id").map(str::to_owned), name, &block["input"], tool_bytes);
        }
        Some("tool_result") => {
            let is_failed = block["is_error"].as_bool() == Some(true);
            message.answers.push(Answer {
                call_id: text_of(block, "tool_use_id").map(str::to_owned),
                name: text_of(block, "name").unwrap_or("").to_owned(),
                text: words_of_result(&block["content"]),
                outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
                files: Vec::new(),
            });
        }
        Some(kind) if WORDLESS.contains(&kind) => {}
        other => out.push(Reading::Skip("unknown-block", short(other.unwrap_or("")))),
    }
}

/// Returns the answer of a tool, without the ids of its parts.
fn words_of_result(content: &Value) -> String {
    let Some(parts) = content.as_array() else { return flatten(content) };
    let mut words = String::new();
    for part in parts {
        match (text_of(part, "text"), part) {
            (Some(text), _) => append(&mut words, text),
            (None, Value::Object(members)) => {
                let mut members = members.clone();
                members.retain(|key, _| key != "uuid" && key != "id");
                append(&mut words, &flatten(&Value::Object(members)));
            }
            (None, other) => append(&mut words, &flatten(other)),
        }
    }
    words
}

/// Returns the text without the placeholders of blocks that could not be written.
fn without_placeholder(text: &str) -> String {
    text.replace(&format!("```\n{PLACEHOLDER}\n```"), "").replace(PLACEHOLDER, "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_nobodys_words() {
        assert_eq!(without_placeholder(&format!("Here.\n```\n{PLACEHOLDER}\n```\n")), "Here.");
        assert_eq!(without_placeholder(PLACEHOLDER), "");
    }

    #[test]
    fn text_is_kept_only_where_the_content_has_none() {
        let with = record_of("s", json!({"uuid": "m", "text": "twice", "content": [{"type": "text", "text": "once"}]}));
        assert!(with.get("text").is_none());
        let without = record_of("s", json!({"uuid": "m", "text": "once", "content": []}));
        assert_eq!(without["text"], "once");
        assert!(without.get("content").is_none());
    }
}
