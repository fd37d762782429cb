//! ChatGPT: the archive from its data export, the extracted folder, or one of its lists of conversations.
//!
//! - [`ChatGpt`]: finds exports, and divides each conversation into a header and its messages
//! - `Tree`: finds the messages on the last branch of a conversation
//! - `ChatGptReader`: messages to turns
//!
//! A conversation is a tree: an edited question or a new answer begins a branch. Only the branch that was
//! open last is read; messages of the others are counted.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use yore_core::episode::{Episode, FileAction, Outcome, Role, TitleRank, ToolUse};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::export::{self, Element};
use super::shapes::{self, Message, add_file, append, drop_payloads, flatten, short, text_of};
use super::{EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit};

const KIND: &str = "chatgpt";

/// Members of a message's metadata that the reader uses.
const METADATA: [&str; 7] = [
    "model_slug",
    "is_visually_hidden_from_conversation",
    "is_visually_hidden",
    "is_user_system_message",
    "user_context_message_data",
    "aggregate_result",
    "attachments",
];

/// Types of content without text of their own.
const WORDLESS: [&str; 4] = ["thoughts", "reasoning_recap", "model_editable_context", "loading_message"];

/// Parts of a message that are pictures or sounds.
const WORDLESS_PARTS: [&str; 5] = [
    "image_asset_pointer",
    "audio_asset_pointer",
    "video_container_asset_pointer",
    "real_time_user_audio_video_asset_pointer",
    "file_asset_pointer",
];

/// The source for exports of ChatGPT; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct ChatGpt;

impl Source for ChatGpt {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_agent(&self) -> bool {
        false
    }

    fn display_name(&self) -> &'static str {
        "ChatGPT export"
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        export::discover(root, b"\"mapping\"")
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        export::conversations(&unit.path, &mut |element| match element {
            Element::Conversation(conversation) => records_of(conversation, take),
            Element::Unreadable(why) => take(json!({"type": "unreadable", "why": why})),
            // Its messages are not in a list, so it is unknown which of them are whole.
            Element::Cut(_) => true,
            Element::Damage(damage) => take(damage),
        })
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(ChatGptReader { options: options.clone(), current: None })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner { session: text_of(value, "session").map(Into::into), message: text_of(value, "id"), ..LineOwner::default() }
    }
}

/// Divides a conversation into records: a header, the messages of its last branch, and a count of the others.
fn records_of(mut conversation: Value, take: &mut dyn FnMut(Value) -> bool) -> bool {
    // The person asked not to remember it: nothing of it is kept.
    if conversation["is_do_not_remember"].as_bool() == Some(true) {
        return take(json!({"type": "left-out", "why": "do-not-remember"}));
    }
    let Some(session) = shapes::first_text(&conversation, &["conversation_id", "id"]).map(str::to_owned) else {
        return take(json!({"type": "unreadable", "why": "no-conversation-id"}));
    };
    let mut nodes = match conversation.get_mut("mapping").map(Value::take) {
        Some(Value::Object(nodes)) => nodes,
        _ => return take(json!({"type": "unreadable", "why": "wrong-shape", "session": session})),
    };
    let tree = Tree { nodes: &nodes };
    let branch = tree.branch(text_of(&conversation, "current_node"));
    let on_branch: HashSet<&str> = branch.iter().map(String::as_str).collect();
    let elsewhere = nodes.iter().filter(|(id, node)| !on_branch.contains(id.as_str()) && is_spoken(&node["message"])).count();
    let mut header = Map::new();
    header.insert("type".to_owned(), "conversation".into());
    header.insert("session".to_owned(), session.as_str().into());
    for key in ["title", "create_time", "default_model_slug", "gizmo_id"] {
        if let Some(value) = conversation.get_mut(key).map(Value::take).filter(|value| value.is_string() || value.is_number()) {
            header.insert(key.to_owned(), value);
        }
    }
    if !take(Value::Object(header)) {
        return false;
    }
    for node_id in &branch {
        let Some(Value::Object(message)) = nodes.get_mut(node_id).and_then(|node| node.get_mut("message")).map(Value::take)
        else {
            continue;
        };
        if !take(record_of(&session, node_id, message)) {
            return false;
        }
    }
    elsewhere == 0 || take(json!({"type": "other-branches", "session": session, "messages": elsewhere}))
}

fn record_of(session: &str, node: &str, mut message: Map<String, Value>) -> Value {
    let mut record = Map::new();
    record.insert("type".to_owned(), "message".into());
    record.insert("session".to_owned(), session.into());
    let id = message.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()).unwrap_or(node);
    record.insert("id".to_owned(), id.into());
    for key in ["author", "create_time", "recipient", "content"] {
        if let Some(mut value) = message.remove(key).filter(|value| !value.is_null()) {
            if key == "author"
                && let Some(author) = value.as_object_mut()
            {
                author.retain(|key, value| matches!(key.as_str(), "role" | "name") && !value.is_null());
            }
            drop_payloads(&mut value);
            record.insert(key.to_owned(), value);
        }
    }
    if let Some(Value::Object(mut metadata)) = message.remove("metadata") {
        metadata.retain(|key, value| METADATA.contains(&key.as_str()) && !value.is_null());
        if let Some(result) = metadata.get_mut("aggregate_result").and_then(Value::as_object_mut) {
            result.retain(|key, _| key == "status");
        }
        if !metadata.is_empty() {
            let mut metadata = Value::Object(metadata);
            drop_payloads(&mut metadata);
            record.insert("metadata".to_owned(), metadata);
        }
    }
    Value::Object(record)
}

/// Returns whether a message contains visible text by a person or the model. Only such messages of other
/// branches are counted.
fn is_spoken(message: &Value) -> bool {
    matches!(text_of(&message["author"], "role"), Some("user" | "assistant")) && !is_hidden(&message["metadata"])
}

fn is_hidden(metadata: &Value) -> bool {
    ["is_visually_hidden_from_conversation", "is_visually_hidden"].iter().any(|key| metadata[*key].as_bool() == Some(true))
}

/// The messages of a conversation.
struct Tree<'v> {
    nodes: &'v Map<String, Value>,
}

impl Tree<'_> {
    /// Returns the nodes from the root to the one that was open last, in order.
    fn branch(&self, current: Option<&str>) -> Vec<String> {
        let Some(last) = current.filter(|id| self.nodes.contains_key(*id)).or_else(|| self.last_leaf()) else {
            return Vec::new();
        };
        let mut branch = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some(last);
        while let Some((id, node)) = next.and_then(|id| self.nodes.get_key_value(id)) {
            if !seen.insert(id.as_str()) {
                break;
            }
            branch.push(id.clone());
            next = text_of(node, "parent");
        }
        branch.reverse();
        branch
    }

    /// Returns the newest of the nodes without a successor; of several equally new ones, the deepest.
    fn last_leaf(&self) -> Option<&str> {
        let parents: HashSet<&str> = self.nodes.values().filter_map(|node| text_of(node, "parent")).collect();
        let mut depths = HashMap::new();
        let leaves = self.nodes.iter().filter(|(id, _)| !parents.contains(id.as_str()));
        leaves
            .map(|(id, node)| {
                let seconds = node["message"]["create_time"].as_f64().filter(|time| time.is_finite()).unwrap_or(0.0);
                ((seconds * 1000.0) as i64, self.depth(id, &mut depths), id.as_str())
            })
            .max()
            .map(|(_, _, id)| id)
    }

    /// Returns the number of nodes on the path from the root to this one. Stores this number for all nodes on
    /// the path.
    fn depth<'t>(&'t self, id: &'t str, depths: &mut HashMap<&'t str, usize>) -> usize {
        let mut way = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| !depths.contains_key(id)) {
            // This also ends a loop of parents.
            depths.insert(id, 0);
            way.push(id);
            next = self.nodes.get(id).and_then(|node| text_of(node, "parent"));
        }
        let mut depth = next.and_then(|id| depths.get(id)).copied().unwrap_or(0);
        for id in way.into_iter().rev() {
            depth += 1;
            depths.insert(id, depth);
        }
        depth
    }
}

struct ChatGptReader {
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
    /// Time of the last message that had one.
    before: Option<RecordedTime>,
}

impl EpisodeReader for ChatGptReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match text_of(value, "type") {
                Some("conversation") => self.current = text_of(value, "session").map(|id| Conversation::begin(id, value)),
                Some("message") => self.message(value, line.mark.line, out),
                Some("left-out") => out.push(Reading::Skip("not-kept", short(text_of(value, "why").unwrap_or("")))),
                _ => export::read_other(value, out),
            }
        }
    }
}

impl Conversation {
    fn begin(session: &str, header: &Value) -> Self {
        Self {
            episode: Arc::new(shapes::episode(KIND, session)),
            title: text_of(header, "title").map(str::to_owned),
            created: seconds_of(&header["create_time"], TimeQuality::Session),
            model: text_of(header, "default_model_slug").map(str::to_owned),
            before: None,
        }
    }

    /// Returns a message's own time, or else that of the message before it, or else the conversation's.
    fn time_of(&mut self, message: &Value) -> RecordedTime {
        if let Some(time) = seconds_of(&message["create_time"], TimeQuality::Exact) {
            self.before = Some(time.clone());
            return time;
        }
        let before = self.before.clone().map(|time| RecordedTime { quality: TimeQuality::Derived, ..time });
        before.or_else(|| self.created.clone()).unwrap_or(RecordedTime::UNKNOWN)
    }
}

impl ChatGptReader {
    fn message(&mut self, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let (Some(session), Some(id)) = (text_of(value, "session"), text_of(value, "id")) else {
            out.push(Reading::Skip("wrong-shape", "message".to_owned()));
            return;
        };
        if self.current.as_ref().is_none_or(|current| current.episode.native_id != session) {
            self.current = Some(Conversation::begin(session, &Value::Null));
        }
        let Some(current) = &mut self.current else { return };
        let (content, metadata) = (&value["content"], &value["metadata"]);
        let mut message = Message::new(id.to_owned(), Role::Assistant, current.time_of(value));
        let words = match words_of(content, out) {
            Some(words) => words,
            None => return,
        };
        let is_hidden = is_hidden(metadata);
        let is_instruction =
            text_of(content, "content_type") == Some("user_editable_context") || metadata["is_user_system_message"] == true;
        let recipient = text_of(value, "recipient").filter(|recipient| *recipient != "all");
        match text_of(&value["author"], "role") {
            Some("user" | "system") if is_instruction => {
                message.role = Role::Injected;
                message.say(&instructions(content, metadata, words));
            }
            // Hidden messages were written by the client.
            Some("system") => return,
            Some("user" | "assistant") if is_hidden => return,
            Some("user") => {
                message.role = Role::Human;
                message.say(&words);
                for file in metadata["attachments"].as_array().into_iter().flatten() {
                    if let Some(name) = text_of(file, "name") {
                        add_file(&mut message.files, name.to_owned(), FileAction::Read);
                    }
                }
            }
            Some("assistant") => {
                message.model = text_of(metadata, "model_slug").map(str::to_owned).or_else(|| current.model.clone());
                match recipient {
                    Some(tool) if !words.trim().is_empty() => {
                        message.role = Role::ToolCall;
                        message.call(None, tool, &shapes::arguments(&Value::String(words)), self.options.tool_bytes);
                    }
                    Some(_) => return,
                    None => message.say(&words),
                }
            }
            Some("tool") => {
                let is_failed = text_of(content, "content_type") == Some("system_error")
                    || text_of(&metadata["aggregate_result"], "status").is_some_and(|status| status.contains("fail"));
                message.role = Role::ToolResult;
                message.is_error = is_failed;
                message.tool_text =
                    excerpt(super::own::without_own_output(words.trim()).as_ref(), self.options.tool_bytes).into_owned();
                message.tools = vec![ToolUse {
                    call_id: None,
                    name: text_of(&value["author"], "name").unwrap_or("").to_owned(),
                    outcome: Some(if is_failed { Outcome::Failed } else { Outcome::Done }),
                }];
            }
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        }
        let before = out.len();
        message.turns(KIND, &current.episode, self.options.tool_bytes, line, out);
        if out.len() > before
            && let Some(words) = current.title.take()
        {
            let at = current.before.as_ref().and_then(|time| time.utc);
            out.push(Reading::Title(Arc::clone(&current.episode), shapes::title(&words, TitleRank::Ai, at, line)));
        }
    }
}

/// Returns the text of a content, or `None` if its type has none or is unknown.
fn words_of(content: &Value, out: &mut Vec<Reading>) -> Option<String> {
    let kind = text_of(content, "content_type").unwrap_or("text");
    let mut words = String::new();
    match kind {
        _ if WORDLESS.contains(&kind) => return None,
        "text" | "multimodal_text" => {
            for part in content["parts"].as_array().into_iter().flatten() {
                match (part, text_of(part, "content_type")) {
                    (Value::String(text), _) => append(&mut words, text),
                    (_, Some(kind)) if WORDLESS_PARTS.contains(&kind) => {}
                    (Value::Object(_), kind) => match text_of(part, "text") {
                        Some(text) => append(&mut words, text),
                        None => out.push(Reading::Skip("unknown-part", short(kind.unwrap_or("")))),
                    },
                    _ => {}
                }
            }
            if let Some(text) = text_of(content, "text") {
                append(&mut words, text);
            }
        }
        "user_editable_context" => {}
        "code"
        | "execution_output"
        | "system_error"
        | "tether_quote"
        | "tether_browsing_display"
        | "sonic_webpage"
        | "citable_code_output"
        | "computer_output" => {
            for key in ["name", "title", "url", "text", "snippet", "result", "summary", "output_str"] {
                if let Some(text) = text_of(content, key) {
                    append(&mut words, text);
                }
            }
        }
        unknown => {
            out.push(Reading::Skip("unknown-content", short(unknown)));
            return None;
        }
    }
    Some(words)
}

/// Returns the instructions that a person gave ChatGPT for all conversations. They are repeated in every
/// conversation.
fn instructions(content: &Value, metadata: &Value, words: String) -> String {
    let mut told = words;
    for (of, key) in [
        (content, "user_profile"),
        (content, "user_instructions"),
        (&metadata["user_context_message_data"], "about_user_message"),
        (&metadata["user_context_message_data"], "about_model_message"),
    ] {
        let text = flatten(&of[key]);
        if !told.contains(text.trim()) {
            append(&mut told, &text);
        }
    }
    told
}

/// Returns a time from seconds since 1970 with a fraction; some exports write ISO 8601.
fn seconds_of(value: &Value, quality: TimeQuality) -> Option<RecordedTime> {
    match value.as_f64() {
        Some(seconds) => shapes::from_millis(seconds * 1000.0, quality),
        None => value.as_str().and_then(|_| shapes::time_of(value, quality)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<&str>, seconds: f64) -> Value {
        json!({"parent": parent, "message": {"author": {"role": "user"}, "create_time": seconds}})
    }

    fn branch(nodes: Value, current: Option<&str>) -> Vec<String> {
        let Value::Object(nodes) = nodes else { panic!() };
        Tree { nodes: &nodes }.branch(current)
    }

    #[test]
    fn branch_goes_from_the_root_to_the_current_node() {
        let nodes =
            json!({"c": node(Some("b"), 3.0), "a": node(None, 1.0), "x": node(Some("a"), 9.0), "b": node(Some("a"), 2.0)});
        assert_eq!(branch(nodes.clone(), Some("c")), ["a", "b", "c"]);
        // Without a current node the newest leaf counts.
        assert_eq!(branch(nodes.clone(), None), ["a", "x"]);
        assert_eq!(branch(nodes, Some("gone")), ["a", "x"]);
    }

    #[test]
    fn of_two_ends_without_times_the_deeper_one_counts() {
        let nodes =
            json!({"a": node(None, 0.0), "z": node(Some("a"), 0.0), "b": node(Some("a"), 0.0), "c": node(Some("b"), 0.0)});
        assert_eq!(branch(nodes, None), ["a", "b", "c"]);
    }

    #[test]
    fn loops_of_parents_end() {
        let nodes =
            json!({"a": node(Some("b"), 1.0), "b": node(Some("a"), 2.0), "c": node(Some("c"), 3.0), "d": node(Some("a"), 1.0)});
        assert_eq!(branch(nodes.clone(), Some("a")), ["b", "a"]);
        assert_eq!(branch(nodes, None).last().map(String::as_str), Some("d"));
        assert_eq!(branch(json!({}), None), [""; 0]);
    }

    #[test]
    fn conversations_that_must_not_be_remembered_leave_nothing() {
        let mut taken = Vec::new();
        records_of(json!({"id": "s", "title": "secret", "is_do_not_remember": true, "mapping": {}}), &mut |value| {
            taken.push(value);
            true
        });
        assert_eq!(taken, [json!({"type": "left-out", "why": "do-not-remember"})]);
    }
}
