//! Reads Cursor's chat panel of 2023 and 2024: tabs with bubbles in a window's database. They have no times; the lists of typed
//! prompts provide some.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::super::shapes::{short, text_of};
use super::record::{Conversation, Message, millis, parse, problem};
use super::tables::{has_table, item};
use super::typed::{TOLERANCE_MS, generations, list_item, typed};
use super::{bubble, forms, place};
use crate::foreign::ForeignDatabase;

/// Keys of the panel's tabs, newest first.
pub(super) const TAB_KEYS: [&str; 2] = ["workbench.panel.aichat.view.aichat.chatdata", "workbench.panel.chat.view.chat.chatdata"];

/// Returns the tabs of a window's chat panel that have messages.
pub(super) fn tabs(database: &ForeignDatabase) -> io::Result<Vec<Value>> {
    let mut tabs: Vec<Value> = Vec::new();
    for key in TAB_KEYS {
        let value = item(database, key)?.and_then(|text| parse(&text));
        let Some(Value::Object(mut value)) = value else { continue };
        let Some(Value::Array(list)) = value.remove("tabs") else { continue };
        for tab in list {
            let has_messages = tab["bubbles"].as_array().is_some_and(|bubbles| !bubbles.is_empty());
            if has_messages && id_of(&tab).is_some_and(|id| tabs.iter().all(|known| id_of(known) != Some(id))) {
                tabs.push(tab);
            }
        }
    }
    Ok(tabs)
}

pub(super) fn id_of(tab: &Value) -> Option<&str> {
    text_of(tab, "tabId")
}

/// Outputs the records of a tab.
pub(super) fn records(path: &Path, id: &str, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    let tabs = tabs(&database)?;
    let Some(tab) = tabs.iter().find(|tab| id_of(tab) == Some(id)) else { return Err(io::ErrorKind::NotFound.into()) };
    let typed = typed(&database)?;
    let folder = path.parent().and_then(place::folder_of_workspace);
    let conversation = Conversation {
        session: id.to_owned(),
        stack: "chat",
        title: text_of(tab, "chatTitle").map(str::to_owned),
        cwd_rule: if folder.is_some() { "window" } else { "unknown" },
        cwd: folder,
        updated_ms: millis(tab, "lastSendTime"),
        ..Conversation::default()
    };
    if !take(conversation.record()) {
        return Ok(());
    }
    let mut unknown = Vec::new();
    for (at, value) in tab["bubbles"].as_array().into_iter().flatten().enumerate() {
        let native = text_of(value, "id").map_or_else(|| format!("#{at}"), str::to_owned);
        match bubble::message(&native, value, &Value::Null) {
            Ok(mut message) if !message.is_empty() => {
                if message.role == "user" && message.at.is_none() {
                    message.typed_ms = typed.time_of(&message.text, &conversation);
                }
                if !take(message.record(id)) {
                    return Ok(());
                }
            }
            Ok(_) => {}
            Err(kind) => unknown.push(short(&kind)),
        }
    }
    let _ = unknown.iter().all(|kind| take(problem(id, "unknown-bubble", kind, 1)));
    Ok(())
}

/// Outputs the prompts that were typed in a window and are in no conversation: those of deleted chats and of
/// edits in the text. This is done only if every conversation of the window is in its own database, since
/// otherwise it is unknown which prompts are covered. Prompts without id and time are counted.
pub(super) fn typed_records(path: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    let window = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("window");
    let session = format!("typed/{window}");
    if has_table(&database, "cursorDiskKV")? {
        let deleted = database.text(
            "SELECT count(*) FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NULL",
            &[],
        )?;
        let deleted = deleted.and_then(|count| count.parse().ok()).unwrap_or(0);
        if deleted > 0 && !take(problem(&session, "deleted-conversation", "", deleted)) {
            return Ok(());
        }
    }
    if !has_table(&database, "ItemTable")? || names_others(&database)? {
        return Ok(());
    }
    let mut covered: HashSet<String> = HashSet::new();
    let composers = forms::inline_composers(&database)?;
    let bubbles = composers.iter().filter_map(forms::shape_of).flat_map(|shape| match shape {
        forms::Shape::Inline(bubbles) => bubbles,
        forms::Shape::Heads(_) => Vec::new(),
    });
    let tabs = tabs(&database)?;
    let of_tabs = tabs.iter().filter_map(|tab| tab["bubbles"].as_array()).flatten();
    for value in bubbles.chain(of_tabs) {
        if let Ok(message) = bubble::message("", value, &Value::Null) {
            covered.insert(message.text.trim().to_owned());
        }
    }
    let mut messages = Vec::new();
    let generations = generations(&database)?;
    let names_none = !generations.is_empty() && item(&database, "composer.composerData")?.is_none();
    let moved = if names_none { first_moved(path) } else { None };
    for generation in generations {
        let Some(words) = text_of(&generation, "textDescription").map(str::trim).filter(|words| !words.is_empty()) else {
            continue;
        };
        let (Some(id), Some(time)) = (text_of(&generation, "generationUUID"), millis(&generation, "unixMs")) else { continue };
        if moved.is_some_and(|first| time >= first) {
            continue;
        }
        if covered.insert(words.to_owned()) {
            let (id, text, at) = (id.to_owned(), words.to_owned(), Some(time.into()));
            messages.push(Message { id, role: "user", text, at, ..Message::default() });
        }
    }
    let prompts = list_item(&database, "aiService.prompts")?;
    let lost =
        prompts.iter().filter_map(|prompt| text_of(prompt, "text")).filter(|text| covered.insert(text.trim().to_owned())).count();
    if !messages.is_empty() {
        let folder = path.parent().and_then(place::folder_of_workspace);
        let header = Conversation {
            session: session.clone(),
            stack: "typed",
            cwd_rule: if folder.is_some() { "window" } else { "unknown" },
            cwd: folder,
            ..Conversation::default()
        };
        let all = std::iter::once(header.record()).chain(messages.into_iter().map(|message| message.record(&session)));
        if !all.into_iter().all(&mut *take) {
            return Ok(());
        }
    }
    if lost > 0 {
        take(problem(&session, "prompt-without-conversation", "", lost as u64));
    }
    Ok(())
}

/// Returns the time from which prompts of a window may be in the editor's global database: the start of the
/// oldest conversation there. Since version 3 a window's database no longer lists its conversations.
fn first_moved(path: &Path) -> Option<i64> {
    let global = ForeignDatabase::open(&place::global_database(path)?).ok()?;
    if !has_table(&global, "cursorDiskKV").ok()? {
        return None;
    }
    // Heads are many and large, so SQLite extracts the times.
    let first = global.text(
        "SELECT min(json_extract(head, '$.createdAt')) FROM
             (SELECT CAST(value AS TEXT) AS head FROM cursorDiskKV
              WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL)
         WHERE json_valid(head)",
        &[],
    );
    match first {
        Ok(first) => first?.parse::<f64>().ok().map(|began| began as i64 - TOLERANCE_MS),
        // A busy database might hold all of them.
        Err(_) => Some(i64::MIN),
    }
}

/// Returns whether a window's database names conversations that it does not hold.
fn names_others(database: &ForeignDatabase) -> io::Result<bool> {
    let Some(value) = item(database, "composer.composerData")?.and_then(|text| parse(&text)) else { return Ok(false) };
    let all = || value["allComposers"].as_array().into_iter().flatten();
    let is_held = |id: &str| all().any(|composer| text_of(composer, "composerId") == Some(id));
    let lists = ["selectedComposerIds", "lastFocusedComposerIds"].iter().filter_map(|key| value[*key].as_array()).flatten();
    let names = lists.filter_map(Value::as_str).any(|id| !is_held(id));
    let heads = all().any(|composer| !composer["conversation"].is_array());
    Ok(names || heads || value["hasMigratedComposerData"].as_bool() == Some(true))
}
