//! Reads conversations in the databases of Cursor's editor. They are two tables of keys and values, of which only the keys of
//! conversations are read.

use std::io;
use std::path::Path;

use serde_json::Value;
use yore_core::time::format_utc;

use super::super::Stamp;
use super::record::{millis, parse};
use super::tables::{bubbles, disk_value, has_table};
use super::workspace::Attribution;
use super::{chat, forms, place};
use crate::foreign::ForeignDatabase;

/// Kinds of parts of a database: `composer/<id>`, `chat/<id>`.
pub(super) const COMPOSER_PART: &str = "composer";
pub(super) const CHAT_PART: &str = "chat";

/// A conversation in a database.
pub(super) struct Listed {
    pub part: String,
    pub stamp: Stamp,
    /// Start time in ISO 8601.
    pub began: Option<String>,
}

/// Returns every conversation that has messages, or cannot be read.
pub(super) fn list(path: &Path) -> io::Result<Vec<Listed>> {
    let database = ForeignDatabase::open(path)?;
    let mut listed = Vec::new();
    if has_table(&database, "cursorDiskKV")? {
        list_composers(&database, path, &mut listed)?;
    }
    if has_table(&database, "ItemTable")? {
        let global = place::global_database(path).and_then(|path| ForeignDatabase::open(&path).ok());
        for composer in forms::inline_composers(&database)? {
            let Some(id) = forms::id_of(&composer) else { continue };
            let is_known = listed.iter().any(|known| known.part.strip_prefix("composer/") == Some(id));
            // A conversation that was moved to the global database continues there.
            if !is_known && !global.as_ref().is_some_and(|global| tells(global, id).unwrap_or(false)) {
                listed.push(of_value(COMPOSER_PART, id, &composer, millis(&composer, "createdAt")));
            }
        }
        for tab in chat::tabs(&database)? {
            if let Some(id) = chat::id_of(&tab) {
                listed.push(of_value(CHAT_PART, id, &tab, millis(&tab, "lastSendTime")));
            }
        }
    }
    Ok(listed)
}

fn list_composers(database: &ForeignDatabase, path: &Path, listed: &mut Vec<Listed>) -> io::Result<()> {
    let attribution = Attribution::load(database, path)?;
    let mut found: Vec<(String, blake3::Hasher, u64, Option<i64>)> = Vec::new();
    database.each(
        "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' AND value IS NOT NULL",
        &[],
        |row| {
            let (Some(key), Some(text)) = (row.text(0), row.text(1)) else { return Ok(true) };
            let Some(id) = key.strip_prefix("composerData:").filter(|id| forms::is_conversation(id)) else { return Ok(true) };
            let value = parse(&text);
            // An unreadable conversation is a unit too: reading it reports the problem.
            if value.as_ref().is_none_or(|value| forms::shape_of(value).is_some()) {
                let mut hasher = blake3::Hasher::new();
                hasher.update(text.as_bytes());
                let created = value.as_ref().and_then(|value| millis(value, "createdAt"));
                found.push((id.to_owned(), hasher, text.len() as u64, created));
            }
            Ok(true)
        },
    )?;
    for (id, mut hasher, size, created) in found {
        let (count, bytes) = bubbles(database, &id)?;
        for number in [count, bytes] {
            hasher.update(&number.to_le_bytes());
        }
        // A folder that becomes known later also changes the stamp.
        hasher.update(attribution.folder_of(&id).unwrap_or_default().as_bytes());
        listed.push(Listed {
            part: format!("{COMPOSER_PART}/{id}"),
            stamp: stamp(&hasher, size.saturating_add(bytes)),
            began: created.map(format_utc),
        });
    }
    Ok(())
}

/// Returns whether a database has messages of a conversation.
pub(super) fn tells(database: &ForeignDatabase, id: &str) -> io::Result<bool> {
    if !has_table(database, "cursorDiskKV")? {
        return Ok(false);
    }
    let Some(Some(text)) = disk_value(database, &format!("composerData:{id}"))? else { return Ok(false) };
    match parse(&text).as_ref().and_then(forms::shape_of) {
        Some(forms::Shape::Heads(_)) => Ok(bubbles(database, id)?.0 > 0),
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

fn of_value(part: &str, id: &str, value: &Value, began: Option<i64>) -> Listed {
    let text = value.to_string();
    let mut hasher = blake3::Hasher::new();
    hasher.update(text.as_bytes());
    Listed { part: format!("{part}/{id}"), stamp: stamp(&hasher, text.len() as u64), began: began.map(format_utc) }
}

fn stamp(hasher: &blake3::Hasher, size: u64) -> Stamp {
    let mut version = [0; 8];
    hasher.finalize_xof().fill(&mut version);
    Stamp { size, version: i64::from_le_bytes(version) }
}
