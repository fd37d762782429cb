//! Reads Cursor's conversations since November 2024, in several versions:
//!
//! - inline, in the window's database: `composer.composerData` with every message
//! - inline, in the global one: `composerData:<id>` with `conversation`
//! - heads and bubbles: `composerData:<id>` lists bubbles in order, each bubble is a row
//!
//! A bubble that no list names is left from an edit or a rewind, and is not part of the conversation.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::super::shapes::{short, text_of};
use super::forms::{Shape, id_of, inline_composers, shape_of};
use super::record::{Conversation, Message, millis, parse, problem};
use super::tables::{bubbles, disk_value, has_table};
use super::typed::{Typed, typed};
use super::workspace::{self, Attribution};
use super::{bubble, place};
use crate::foreign::ForeignDatabase;

/// Maximum number of bubbles searched under other keys.
const MAX_STRAYS: usize = 1000;

/// Outputs the records of a conversation.
pub(super) fn records(path: &Path, id: &str, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    if has_table(&database, "cursorDiskKV")?
        && let Some(Some(text)) = disk_value(&database, &format!("composerData:{id}"))?
    {
        let Some(composer) = parse(&text) else {
            take(problem(id, "torn-json", "composerData", 1));
            return Ok(());
        };
        if shape_of(&composer).is_some() {
            return global(&database, path, id, &composer, take);
        }
    }
    if has_table(&database, "ItemTable")?
        && let Some(composer) = inline_composers(&database)?.iter().find(|composer| id_of(composer) == Some(id))
    {
        let mut read = Read::default();
        read.shape(&database, id, composer)?;
        let mut conversation = conversation(id, composer);
        conversation.stack = "window";
        (conversation.cwd, conversation.cwd_rule) = match path.parent().and_then(place::folder_of_workspace) {
            Some(folder) => (Some(folder), "window"),
            None => (None, "unknown"),
        };
        read.date(&typed(&database)?, &conversation);
        read.give(&conversation, take);
        return Ok(());
    }
    Err(io::ErrorKind::NotFound.into())
}

fn global(
    database: &ForeignDatabase,
    path: &Path,
    id: &str,
    composer: &Value,
    take: &mut dyn FnMut(Value) -> bool,
) -> io::Result<()> {
    let mut read = Read::default();
    read.shape(database, id, composer)?;
    let attribution = Attribution::latest(database, path)?;
    let mut conversation = conversation(id, composer);
    conversation.stack = "global";
    (conversation.cwd, conversation.cwd_rule) = attribution.decide(database, id, composer, &read.absolute_files())?;
    if let Some(header) = attribution.header(id) {
        conversation.title = conversation.title.or_else(|| header.title.clone());
        conversation.parent = conversation.parent.or_else(|| header.parent.clone());
        conversation.is_subagent |= header.is_subagent;
        conversation.is_archived |= header.is_archived;
    }
    if read.lacks_times() {
        let window = conversation.cwd.as_deref().and_then(|folder| attribution.window_of_folder(folder));
        // Missing times are no reason to delay the messages.
        if let Some(typed) = window.and_then(|path| typed(&ForeignDatabase::open(path).ok()?).ok()) {
            read.date(&typed, &conversation);
        }
    }
    read.give(&conversation, take);
    Ok(())
}

fn conversation(id: &str, composer: &Value) -> Conversation {
    let text = |value: &Value, key: &str| text_of(value, key).map(str::to_owned);
    Conversation {
        session: id.to_owned(),
        title: text(composer, "name"),
        created_ms: millis(composer, "createdAt"),
        updated_ms: millis(composer, "lastUpdatedAt"),
        mode: text(composer, "unifiedMode"),
        model: text(&composer["modelConfig"], "modelName"),
        version: composer["_v"].as_i64(),
        is_archived: composer["isArchived"].as_bool() == Some(true),
        is_subagent: id.starts_with("task-toolu_") || workspace::is_subagent(composer),
        parent: workspace::parent_of(composer),
        ..Conversation::default()
    }
}

/// Returns bubbles whose keys no list names, by the ids that they contain and that the list names.
fn strays(database: &ForeignDatabase, id: &str, heads: &[Value]) -> io::Result<HashMap<String, Value>> {
    let named: HashSet<&str> = heads.iter().filter_map(|head| text_of(head, "bubbleId")).collect();
    let prefix = format!("bubbleId:{id}:");
    let mut strays = HashMap::new();
    database.each(
        "SELECT key, value FROM cursorDiskKV WHERE key >= ?1 AND key < ?2 AND value IS NOT NULL AND octet_length(value) < 4194304",
        &[&prefix, &format!("bubbleId:{id};")],
        |row| {
            let key = row.text(0).unwrap_or_default();
            if !key.strip_prefix(&prefix).is_some_and(|suffix| named.contains(suffix))
                && let Some(bubble) = row.text(1).and_then(|text| parse(&text))
                && let Some(own) = text_of(&bubble, "bubbleId").filter(|own| named.contains(own)).map(str::to_owned)
            {
                strays.insert(own, bubble);
            }
            Ok(strays.len() < MAX_STRAYS)
        },
    )?;
    Ok(strays)
}

/// The messages of a conversation, and the problems with some of them.
#[derive(Default)]
struct Read {
    messages: Vec<Message>,
    /// Model that was chosen with the last prompt, or for the conversation.
    chosen: Option<String>,
    /// Reason, detail and number of each problem.
    problems: Vec<(&'static str, String, u64)>,
}

impl Read {
    fn shape(&mut self, database: &ForeignDatabase, id: &str, composer: &Value) -> io::Result<()> {
        self.chosen = text_of(&composer["modelConfig"], "modelName").filter(|model| bubble::is_model(model)).map(str::to_owned);
        match shape_of(composer) {
            Some(Shape::Heads(heads)) => self.heads(database, id, heads)?,
            Some(Shape::Inline(bubbles)) => {
                for (at, bubble) in bubbles.into_iter().enumerate() {
                    let native = text_of(bubble, "bubbleId").map_or_else(|| format!("#{at}"), str::to_owned);
                    self.bubble(&native, bubble, &Value::Null);
                }
            }
            None => {}
        }
        if let Some(summary) = text_of(&composer["latestConversationSummary"]["summary"], "summary") {
            let text = summary.to_owned();
            self.messages.push(Message { id: "summary".to_owned(), role: "summary", text, ..Message::default() });
        }
        Ok(())
    }

    fn heads(&mut self, database: &ForeignDatabase, id: &str, heads: &[Value]) -> io::Result<()> {
        let mut seen = HashSet::new();
        let mut found = 0;
        let mut strays = None;
        for head in heads {
            let Some(native) = text_of(head, "bubbleId") else {
                self.problem("missing-bubble", "head without id");
                continue;
            };
            if !seen.insert(native) {
                continue;
            }
            match disk_value(database, &format!("bubbleId:{id}:{native}"))? {
                Some(Some(text)) => {
                    found += 1;
                    match parse(&text) {
                        Some(bubble) => self.bubble(native, &bubble, &head["type"]),
                        None => self.problem("torn-json", "bubble"),
                    }
                }
                Some(None) => self.problem("deleted-bubble", ""),
                None => {
                    // Some rows have another key than the id that they and the list name.
                    let strays = match &mut strays {
                        Some(strays) => strays,
                        none => none.insert(self::strays(database, id, heads)?),
                    };
                    match strays.remove(native) {
                        Some(bubble) => {
                            found += 1;
                            self.bubble(native, &bubble, &head["type"]);
                        }
                        None => self.problem("missing-bubble", ""),
                    }
                }
            }
        }
        let orphans = bubbles(database, id)?.0.saturating_sub(found);
        if orphans > 0 {
            self.problems.push(("orphan-bubble", String::new(), orphans));
        }
        Ok(())
    }

    fn bubble(&mut self, native: &str, bubble: &Value, head_type: &Value) {
        match bubble::message(native, bubble, head_type) {
            Ok(mut message) => {
                match message.role {
                    "user" => self.chosen = super::bubble::model(bubble).or(self.chosen.take()),
                    // Since version 3 only the preceding prompt names the model.
                    "assistant" if message.model.is_none() => message.model.clone_from(&self.chosen),
                    _ => {}
                }
                // A message without text still gives a time.
                if !message.is_empty() || message.at.is_some() {
                    self.messages.push(message);
                }
            }
            Err(kind) => self.problem("unknown-bubble", &short(&kind)),
        }
    }

    fn problem(&mut self, reason: &'static str, detail: &str) {
        match self.problems.iter_mut().find(|known| known.0 == reason && known.1 == detail) {
            Some(known) => known.2 += 1,
            None => self.problems.push((reason, detail.to_owned(), 1)),
        }
    }

    fn lacks_times(&self) -> bool {
        self.messages.iter().any(|message| message.role == "user" && message.at.is_none())
    }

    /// Gives prompts the time at which the same text was sent, if exactly one such time is within the
    /// conversation's time range.
    fn date(&mut self, typed: &Typed, conversation: &Conversation) {
        for message in self.messages.iter_mut().filter(|message| message.role == "user" && message.at.is_none()) {
            message.typed_ms = typed.time_of(&message.text, conversation);
        }
    }

    fn absolute_files(&self) -> Vec<String> {
        let is_absolute = |path: &str| path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
        let files = self.messages.iter().flat_map(|message| &message.files).map(|(path, _)| path.clone());
        let tools = self.messages.iter().flat_map(|message| &message.tools).flat_map(|tool| {
            let name = text_of(tool, "name").unwrap_or("");
            super::super::shapes::files_of_input(name, &tool["input"]).into_iter().map(|file| file.path)
        });
        let mut all: Vec<String> = files.chain(tools).filter(|path| is_absolute(path)).collect();
        all.sort();
        all.dedup();
        all
    }

    fn give(self, conversation: &Conversation, take: &mut dyn FnMut(Value) -> bool) {
        let session = conversation.session.as_str();
        let header = std::iter::once(conversation.record());
        let messages = self.messages.into_iter().map(|message| message.record(session));
        let problems = self.problems.iter().map(|(reason, detail, count)| problem(session, reason, detail, *count));
        let _ = header.chain(messages).chain(problems).all(take);
    }
}
