//! Reads sessions in OpenCode's database. Later versions added columns; missing ones are NULL.
//!
//! - `session`, `message`, `part`: versions 1.x
//! - `session_v2`, `session_message`: versions 2.x, beside the older tables. An upgrade copies existing
//!   messages with their ids, so a message is taken from the newer table, and from the older one only if it
//!   is missing there.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde_json::Value;

use super::super::{Known, Stamp, Unit, shapes};
use super::newer;
use super::session::{Part, Session, Told};
use crate::foreign::ForeignDatabase;

/// Columns of a session's row, in the order of the query.
const COLUMNS: [&str; 7] = ["directory", "title", "parent_id", "version", "time_created", "time_updated", "revert"];

/// Tables of messages, each with a query that detects growth of the messages of each session.
const GROWTH: [(&str, &str); 3] = [
    ("message", "SELECT session_id, count(*), sum(octet_length(data)), max(time_updated) FROM message GROUP BY session_id"),
    ("part", "SELECT session_id, count(*), sum(octet_length(data)), max(time_updated) FROM part GROUP BY session_id"),
    (
        "session_message",
        "SELECT session_id, count(*), sum(octet_length(data)), max(time_updated) FROM session_message GROUP BY session_id",
    ),
];

/// Returns the sessions of a database, and the unit that closes it.
pub(super) fn units(path: &Path, known: &dyn Known) -> Vec<Unit> {
    shapes::units_of_database(path, known, |database| list(path, database))
}

/// Checks that all of a database can be read.
pub(super) fn check(path: &Path) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    list(path, &database)?;
    // Tables of newer versions are found by name, because their columns are unknown.
    let unknown = database.text(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'session_v[0-9]*' AND name <> 'session_v2' LIMIT 1",
        &[],
    )?;
    match unknown {
        Some(table) => {
            let why =
                format!("{}: has sessions of a newer version ({table:?}), which this yore does not support", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        }
        None => Ok(()),
    }
}

/// Returns the tables of [`GROWTH`] that a database has.
///
/// # Errors
/// When one lacks a column, or there is none.
fn tables(path: &Path, database: &ForeignDatabase) -> io::Result<Vec<&'static str>> {
    let mut tables = Vec::new();
    for (table, _) in GROWTH {
        let known = database.columns(table)?;
        if known.is_empty() {
            continue;
        }
        if !["session_id", "data", "time_updated"].iter().all(|column| known.iter().any(|name| name == column)) {
            return Err(unknown_shape(path, table));
        }
        tables.push(table);
    }
    match (tables.contains(&"message"), tables.contains(&"part"), tables.contains(&"session_message")) {
        (true, false, _) => Err(unknown_shape(path, "part")),
        (false, _, false) => Err(unknown_shape(path, "message")),
        _ => Ok(tables),
    }
}

fn list(path: &Path, database: &ForeignDatabase) -> io::Result<Vec<Unit>> {
    let tables = tables(path, database)?;
    let mut grown: HashMap<String, (u64, Vec<u8>)> = HashMap::new();
    for (_, sums) in GROWTH.iter().filter(|(table, _)| tables.contains(table)) {
        database.each(sums, &[], |row| {
            if let Some(session) = row.text(0) {
                let entry = grown.entry(session).or_default();
                entry.0 += row.integer(2).unwrap_or(0).max(0) as u64;
                for column in 1..4 {
                    entry.1.extend_from_slice(&row.integer(column).unwrap_or(0).to_le_bytes());
                }
            }
            Ok(true)
        })?;
    }
    let mut units = Vec::new();
    let mut seen = HashSet::new();
    for sessions in sessions_queries(path, database)? {
        database.each(&sessions, &[], |row| {
            let Some(id) = row.text(0) else { return Ok(true) };
            // A session without messages is skipped.
            let Some((bytes, facts)) = grown.get(&id) else { return Ok(true) };
            if seen.insert(id.clone()) {
                let texts: Vec<String> = (1..=COLUMNS.len()).map(|column| row.text(column).unwrap_or_default()).collect();
                let version = shapes::hash_of(texts.iter().map(String::as_bytes).chain([facts.as_slice()]));
                units.push(shapes::unit_of_database(path, id, Stamp { size: *bytes, version }, row.integer(5)));
            }
            Ok(true)
        })?;
    }
    Ok(units)
}

/// Returns queries for the sessions' rows, the newest table first: the id, then [`COLUMNS`].
fn sessions_queries(path: &Path, database: &ForeignDatabase) -> io::Result<Vec<String>> {
    let mut queries = Vec::new();
    for table in ["session_v2", "session"] {
        let known = database.columns(table)?;
        if known.is_empty() {
            continue;
        }
        if !known.iter().any(|column| column == "id") {
            return Err(unknown_shape(path, table));
        }
        let columns: Vec<&str> =
            COLUMNS.iter().map(|column| if known.iter().any(|name| name == column) { *column } else { "NULL" }).collect();
        queries.push(format!("SELECT id, {} FROM {table}", columns.join(", ")));
    }
    if queries.is_empty() { Err(unknown_shape(path, "session")) } else { Ok(queries) }
}

/// Outputs the records of one session.
pub(super) fn records(path: &Path, id: &str, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    let tables = tables(path, &database)?;
    let mut session = None;
    for query in sessions_queries(path, &database)? {
        database.each(&(query + " WHERE id = ?1"), &[&id], |row| {
            session = Some(Session {
                id: id.to_owned(),
                directory: row.text(1),
                title: row.text(2),
                parent: row.text(3),
                version: row.text(4),
                created: row.integer(5),
                revert: row.text(7).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
            });
            Ok(false)
        })?;
        if session.is_some() {
            break;
        }
    }
    // The session was deleted meanwhile.
    let Some(session) = session else { return Err(io::ErrorKind::NotFound.into()) };
    // All messages are read first, so that the transaction is over before they are processed.
    let mut messages: Vec<Told> = Vec::new();
    let mut newer = newer::Messages::default();
    if tables.contains(&"session_message") {
        let order = if database.columns("session_message")?.iter().any(|column| column == "seq") { "seq" } else { "id" };
        let query = format!("SELECT id, type, data FROM session_message WHERE session_id = ?1 ORDER BY {order}");
        database.each(&query, &[&id], |row| {
            if let (Some(message), Some(kind)) = (row.text(0), row.text(1)) {
                messages.extend(newer.message(&message, &kind, parsed(row.bytes(2))).map(|(data, parts)| (message, data, parts)));
            }
            Ok(true)
        })?;
    }
    if tables.contains(&"message") {
        let known: HashSet<String> = messages.iter().map(|(id, ..)| id.clone()).collect();
        let mut parts: HashMap<String, Vec<Part>> = HashMap::new();
        let query = "SELECT message_id, id, data FROM part WHERE session_id = ?1 ORDER BY message_id, id";
        database.each(query, &[&id], |row| {
            if let (Some(message), Some(part)) = (row.text(0), row.text(1)) {
                parts.entry(message).or_default().push((part, parsed(row.bytes(2))));
            }
            Ok(true)
        })?;
        database.each("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY id", &[&id], |row| {
            if let Some(message) = row.text(0).filter(|message| !known.contains(message)) {
                let parts = parts.remove(&message).unwrap_or_default();
                messages.push((message, parsed(row.bytes(1)), parts));
            }
            Ok(true)
        })?;
    }
    in_order_of_time(&mut messages);
    drop(database);
    if !take(session.header()) {
        return Ok(());
    }
    for (message, data, parts) in messages {
        if !take(session.record(&message, data, parts)) {
            break;
        }
    }
    Ok(())
}

/// Sorts messages by time. Their ids increase with time, but start again when the time no longer fits into 48
/// bits, as in August 2026. A message without a time stays after the one before it.
fn in_order_of_time(messages: &mut Vec<Told>) {
    let mut last = i64::MIN;
    let mut timed = Vec::with_capacity(messages.len());
    for message in messages.drain(..) {
        last = message.1["time"]["created"].as_i64().unwrap_or(last);
        timed.push((last, message));
    }
    timed.sort_by_key(|(time, _)| *time);
    messages.extend(timed.into_iter().map(|(_, message)| message));
}

fn parsed(bytes: Option<&[u8]>) -> Value {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

fn unknown_shape(path: &Path, table: &str) -> io::Error {
    let why = format!("{}: the table {table:?} has an unsupported layout", path.display());
    io::Error::new(io::ErrorKind::InvalidData, why)
}
