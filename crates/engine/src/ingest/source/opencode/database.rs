//! Sessions of OpenCode's database, which grew columns from version to version: those that are not
//! there are NULL.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::super::super::foreign::ForeignDatabase;
use super::super::{Known, Stamp, Unit, shapes};
use super::Session;

/// What a session's row tells, in the order of the query.
const COLUMNS: [&str; 7] = ["directory", "title", "parent_id", "version", "time_created", "time_updated", "revert"];

/// The sessions of a database, and what closes it.
pub(super) fn units(path: &Path, known: &dyn Known) -> Vec<Unit> {
    shapes::units_of_database(path, known, |database| list(path, database))
}

/// Whether a database can be read.
pub(super) fn check(path: &Path) -> io::Result<()> {
    list(path, &ForeignDatabase::open(path)?).map(drop)
}

fn list(path: &Path, database: &ForeignDatabase) -> io::Result<Vec<Unit>> {
    let sessions = sessions_query(database)?;
    let mut grown: HashMap<String, (u64, Vec<u8>)> = HashMap::new();
    for table in ["message", "part"] {
        let known = database.columns(table)?;
        if !["session_id", "data", "time_updated"].iter().all(|column| known.iter().any(|name| name == column)) {
            return Err(unknown_shape(path, table));
        }
        let sums = match table {
            "message" => {
                "SELECT session_id, count(*), sum(octet_length(data)), max(time_updated) FROM message GROUP BY session_id"
            }
            _ => "SELECT session_id, count(*), sum(octet_length(data)), max(time_updated) FROM part GROUP BY session_id",
        };
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
    database.each(&sessions, &[], |row| {
        let Some(id) = row.text(0) else { return Ok(true) };
        // A session without a message says nothing yet.
        let Some((bytes, facts)) = grown.get(&id) else { return Ok(true) };
        let texts: Vec<String> = (1..=COLUMNS.len()).map(|column| row.text(column).unwrap_or_default()).collect();
        let version = shapes::hash_of(texts.iter().map(String::as_bytes).chain([facts.as_slice()]));
        units.push(shapes::unit_of_database(path, id, Stamp { size: *bytes, version }, row.integer(5)));
        Ok(true)
    })?;
    Ok(units)
}

/// A query for the sessions' rows: the id, then [`COLUMNS`].
fn sessions_query(database: &ForeignDatabase) -> io::Result<String> {
    let known = database.columns("session")?;
    let columns: Vec<&str> =
        COLUMNS.iter().map(|column| if known.iter().any(|name| name == column) { *column } else { "NULL" }).collect();
    Ok(format!("SELECT id, {} FROM session", columns.join(", ")))
}

/// Gives the records of one session.
pub(super) fn records(path: &Path, id: &str, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let database = ForeignDatabase::open(path)?;
    let mut session = None;
    let query = sessions_query(&database)? + " WHERE id = ?1";
    database.each(&query, &[&id], |row| {
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
    // It was deleted meanwhile.
    let Some(session) = session else { return Err(io::ErrorKind::NotFound.into()) };
    let mut messages = Vec::new();
    database.each("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY id", &[&id], |row| {
        messages.extend(row.text(0).map(|message| (message, parsed(row.bytes(1)))));
        Ok(true)
    })?;
    // Taken as a whole, so that the transaction is over before anything is done with them.
    let mut parts: HashMap<String, Vec<(String, Value)>> = HashMap::new();
    database.each("SELECT message_id, id, data FROM part WHERE session_id = ?1 ORDER BY message_id, id", &[&id], |row| {
        if let (Some(message), Some(part)) = (row.text(0), row.text(1)) {
            parts.entry(message).or_default().push((part, parsed(row.bytes(2))));
        }
        Ok(true)
    })?;
    drop(database);
    if !take(session.header()) {
        return Ok(());
    }
    for (message, data) in messages {
        let parts = parts.remove(&message).unwrap_or_default();
        if !take(session.record(&message, data, parts)) {
            break;
        }
    }
    Ok(())
}

fn parsed(bytes: Option<&[u8]>) -> Value {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

fn unknown_shape(path: &Path, table: &str) -> io::Error {
    let why = format!("{}: the table {table:?} is not as this yore knows it", path.display());
    io::Error::new(io::ErrorKind::InvalidData, why)
}
