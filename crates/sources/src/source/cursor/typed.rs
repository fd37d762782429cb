//! Reads the prompts that were typed in a Cursor window, and their times.

use std::collections::HashMap;
use std::io;

use serde_json::Value;

use super::super::shapes::text_of;
use super::record::{Conversation, millis, parse};
use super::tables::{has_table, item};
use crate::foreign::ForeignDatabase;

/// How much earlier than a conversation's recorded start its first prompt may have been sent.
pub(super) const TOLERANCE_MS: i64 = 60_000;

/// Prompts typed in a window, and their times.
#[derive(Default)]
pub(super) struct Typed {
    times: HashMap<String, Vec<i64>>,
}

impl Typed {
    /// Returns the time at which the same text was sent, if exactly one such time fits the conversation.
    pub(super) fn time_of(&self, words: &str, conversation: &Conversation) -> Option<i64> {
        let from = conversation.created_ms.map_or(i64::MIN, |created| created - TOLERANCE_MS);
        let to = conversation.updated_ms.map_or(i64::MAX, |updated| updated + TOLERANCE_MS);
        let mut fitting = self.times.get(words.trim())?.iter().filter(|time| (from..=to).contains(*time));
        let time = fitting.next()?;
        fitting.next().is_none().then_some(*time)
    }
}

/// Reads the list of prompts that were sent from a window.
pub(super) fn typed(database: &ForeignDatabase) -> io::Result<Typed> {
    let mut typed = Typed::default();
    for generation in generations(database)? {
        if let (Some(words), Some(time)) = (text_of(&generation, "textDescription"), millis(&generation, "unixMs")) {
            typed.times.entry(words.trim().to_owned()).or_default().push(time);
        }
    }
    Ok(typed)
}

pub(super) fn generations(database: &ForeignDatabase) -> io::Result<Vec<Value>> {
    list_item(database, "aiService.generations")
}

pub(super) fn list_item(database: &ForeignDatabase, key: &str) -> io::Result<Vec<Value>> {
    if !has_table(database, "ItemTable")? {
        return Ok(Vec::new());
    }
    let value = item(database, key)?.and_then(|text| parse(&text));
    Ok(match value {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    })
}
