//! Reads `store.db` of Cursor's command line: blobs by their hash, with a tree of them for each state.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;
use yore_core::time::format_utc;

use super::super::shapes::{first_text, flatten, short, text_of};
use super::super::{Stamp, Unit};
use super::place;
use super::record::{Conversation, Message, millis, parse, problem, stamped};
use crate::foreign::ForeignDatabase;

/// Maximum depth of a tree and number of blobs. A larger tree is damaged.
const MAX_DEPTH: usize = 64;
const MAX_BLOBS: usize = 200_000;
/// Number of messages in which the folder is searched.
const MAX_TOLD: usize = 8;

/// Returns the unit of a store.
pub(super) fn unit(path: &Path) -> Option<Unit> {
    let of_database = ForeignDatabase::stamp(path).ok()?;
    let of_meta = path.parent().and_then(|folder| Stamp::of_file(&folder.join("meta.json")).ok()).unwrap_or_default();
    let stamp = Stamp {
        size: of_database.size.saturating_add(of_meta.size),
        version: of_database.version ^ of_meta.version.rotate_left(1),
    };
    let began = place::meta_of_store(path).and_then(|meta| millis(&meta, "createdAtMs"));
    Some(Unit { stamp, began: began.map(format_utc), ..Unit::records(path.to_path_buf())? })
}

/// Outputs the records of a store.
pub(super) fn records(path: &Path, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    let meta = meta(&database)?;
    let beside = place::meta_of_store(path).unwrap_or_default();
    let id = place::store_id(path).or_else(|| text_of(&meta, "agentId").map(str::to_owned)).unwrap_or_else(|| "store".to_owned());
    let mut walk = Walk { database: &database, leaves: Vec::new(), seen: HashSet::new(), problems: HashMap::new(), blobs: 0 };
    if let Some(root) = text_of(&meta, "latestRootBlobId") {
        walk.tree(root, 0)?;
    }
    let told = || walk.leaves.iter().take(MAX_TOLD).find_map(|(_, value)| workspace_of(&value["content"]));
    let (cwd, cwd_rule) = match text_of(&beside, "cwd").map(str::to_owned) {
        Some(cwd) => (Some(cwd), "meta"),
        None => told().map_or((None, "unknown"), |cwd| (Some(cwd), "user-info")),
    };
    let conversation = Conversation {
        stack: "store",
        // This is the command line's placeholder for a missing title.
        title: first_text(&beside, &["title"])
            .or_else(|| text_of(&meta, "name"))
            .filter(|name| *name != "New Agent")
            .map(str::to_owned),
        cwd_rule,
        cwd,
        created_ms: millis(&beside, "createdAtMs").or_else(|| millis(&meta, "createdAt")),
        updated_ms: millis(&beside, "updatedAtMs"),
        mode: text_of(&meta, "mode").map(str::to_owned),
        model: text_of(&meta, "lastUsedModel").map(str::to_owned),
        version: beside["schemaVersion"].as_i64(),
        session: id.clone(),
        ..Conversation::default()
    };
    if !take(conversation.record()) {
        return Ok(());
    }
    let mut occurrences: HashMap<String, u32> = HashMap::new();
    let leaves = std::mem::take(&mut walk.leaves);
    for (leaf, value) in leaves {
        // Repeated identical messages share one blob.
        let nth = occurrences.entry(leaf.clone()).or_default();
        let native = if *nth == 0 { leaf } else { format!("{leaf}#{nth}") };
        *nth += 1;
        match message(native, &value) {
            Ok((message, unknown)) => {
                unknown.into_iter().for_each(|part| walk.problem("unknown-part", &part));
                if !message.is_empty() && !take(message.record(&id)) {
                    return Ok(());
                }
            }
            Err(role) => walk.problem("unknown-role", &role),
        }
    }
    let mut problems: Vec<_> = walk.problems.into_iter().collect();
    problems.sort();
    let _ = problems.into_iter().all(|((reason, detail), count)| take(problem(&id, reason, &detail, count)));
    Ok(())
}

/// Returns the folder that the model was given before the first prompt, as the program words it.
fn workspace_of(content: &Value) -> Option<String> {
    let text = flatten(content);
    let (_, info) = text.split_once("<user_info>")?;
    let info = info.split("</user_info>").next()?;
    let path = match info.split_once("Workspace Path:") {
        Some((_, rest)) => rest.lines().next()?,
        None => info
            .split_once("absolute path of the user's workspace is ")?
            .1
            .split(". ")
            .next()?
            .lines()
            .next()?
            .trim_end_matches('.'),
    };
    let path = path.trim();
    let is_absolute = path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':');
    (is_absolute && path.len() < 4096).then(|| path.to_owned())
}

/// Reads the store's own facts: JSON, written as hexadecimal digits.
fn meta(database: &ForeignDatabase) -> io::Result<Value> {
    if database.columns("meta")?.is_empty() {
        return Ok(Value::Null);
    }
    let text = database.text("SELECT value FROM meta WHERE key = '0'", &[])?.unwrap_or_default();
    let decoded = unhex(text.trim()).and_then(|bytes| parse(&String::from_utf8_lossy(&bytes)));
    Ok(decoded.or_else(|| parse(&text)).unwrap_or_default())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((char::from(*high).to_digit(16)? << 4 | char::from(*low).to_digit(16)?) as u8),
        _ => None,
    });
    digits.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Walk<'d> {
    database: &'d ForeignDatabase,
    /// Messages in order: hash and value.
    leaves: Vec<(String, Value)>,
    /// Trees that were visited.
    seen: HashSet<String>,
    problems: HashMap<(&'static str, String), u64>,
    blobs: usize,
}

impl Walk<'_> {
    fn tree(&mut self, id: &str, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH || !self.seen.insert(id.to_owned()) {
            return Ok(());
        }
        let Some(blob) = self.blob(id)? else { return Ok(()) };
        for (field, bytes) in fields(&blob) {
            match field {
                1 if bytes.len() == 32 => self.leaf(&hex(bytes))?,
                2 if bytes.len() == 32 => self.tree(&hex(bytes), depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn leaf(&mut self, id: &str) -> io::Result<()> {
        let Some(blob) = self.blob(id)? else { return Ok(()) };
        let json = parse(&String::from_utf8_lossy(&blob)).or_else(|| {
            let inner = fields(&blob).into_iter().find(|(field, _)| *field == 4)?.1;
            parse(&String::from_utf8_lossy(inner))
        });
        match json {
            Some(value) if value.is_object() => self.leaves.push((id.to_owned(), value)),
            _ => self.problem("unknown-blob", ""),
        }
        Ok(())
    }

    fn blob(&mut self, id: &str) -> io::Result<Option<Vec<u8>>> {
        self.blobs += 1;
        if self.blobs > MAX_BLOBS {
            self.problem("too-many-blobs", "");
            return Ok(None);
        }
        let mut found = None;
        self.database.each("SELECT data FROM blobs WHERE id = ?1", &[&id], |row| {
            found = row.bytes(0).map(<[u8]>::to_vec);
            Ok(false)
        })?;
        if found.is_none() {
            self.problem("missing-blob", "");
        }
        Ok(found)
    }

    fn problem(&mut self, reason: &'static str, detail: &str) {
        *self.problems.entry((reason, detail.to_owned())).or_default() += 1;
    }
}

/// Returns the fields of a protobuf message that hold bytes, in order, as far as it can be read.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while let Some(tag) = varint(&mut bytes) {
        let skipped = match tag & 7 {
            0 => varint(&mut bytes).map(|_| 0),
            1 => Some(8),
            5 => Some(4),
            2 => match varint(&mut bytes).and_then(|length| bytes.split_at_checked(usize::try_from(length).ok()?)) {
                Some((field, rest)) => {
                    found.push((tag >> 3, field));
                    bytes = rest;
                    Some(0)
                }
                None => None,
            },
            _ => None,
        };
        match skipped.and_then(|length| bytes.get(length..)) {
            Some(rest) => bytes = rest,
            None => break,
        }
    }
    found
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Converts a message of the store. Returns it with its unknown parts, or the unknown role as the error.
fn message(id: String, value: &Value) -> Result<(Message, Vec<String>), String> {
    let role = match text_of(value, "role") {
        Some("user") => "user",
        Some("assistant") => "assistant",
        Some("system") => "system",
        Some("tool") => "tool",
        other => return Err(short(other.unwrap_or("none"))),
    };
    let mut message = Message { id, role, ..Message::default() };
    let unknown = super::transcript::parts(&value["content"], &mut message);
    if role == "user" {
        message.at = stamped(&message.text).map(Into::into);
    }
    Ok((message, unknown))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_of_a_tree_are_found_between_others() {
        let mut blob = vec![0x08, 0x96, 0x01, 0x0a, 0x02, 7, 8, 0x1d, 1, 2, 3, 4, 0x12, 0x01, 9];
        assert_eq!(fields(&blob), [(1, &[7u8, 8][..]), (2, &[9][..])]);
        blob.extend([0x0a, 0x20, 1]);
        assert_eq!(fields(&blob).len(), 2);
        assert_eq!(unhex("7b7d").unwrap(), b"{}");
        assert!(unhex("7b7").is_none() && unhex("é1").is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..200)) { fields(&bytes); }
    }
}
