//! Reads databases with a row for each session and a row for each message, as several agents keep them.
//!
//! - [`Layout`]: the columns of one agent; finds its sessions, and turns one into records
//! - [`owner`]: the owner of such a record
//!
//! ```json
//! {"type": "session", "session": "...", "directory": "...", "row": {"title": "..."}}
//! {"type": "message", "session": "...", "id": "...", "row": {"role": "user"}}
//! ```
//!
//! Later versions of the agents add columns: those that a database lacks are left out of the rows.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use serde_json::{Map, Number, Value, json};
use yore_core::time::TimeQuality;

use super::shapes::{self, drop_payloads, text_of};
use super::{Known, LineOwner, Stamp, Unit};
use crate::foreign::{ForeignDatabase, Row};

/// Beginning of a text that is JSON, where others in the same column are not. Hermes writes it.
const JSON_MARK: &str = "\0json:";

/// The columns that are read from one agent's databases.
pub(super) struct Layout {
    /// Columns of a session besides its `id`.
    pub session: &'static [&'static str],
    /// Columns of a message that every version has, besides its session. They distinguish the agent's
    /// databases from those of others.
    pub required: &'static [&'static str],
    /// Columns of a message with texts.
    pub texts: &'static [&'static str],
    /// Columns of a message with numbers.
    pub numbers: &'static [&'static str],
    /// Columns of either table that hold JSON.
    pub json: &'static [&'static str],
    /// Column of a message with the time when it began.
    pub time: &'static str,
    /// Column with the id of a message. Without one, messages are identified by [`Keys`].
    pub id: Option<&'static str>,
}

impl Layout {
    /// Returns whether the tables of a database have these columns.
    pub(super) fn is_of(&self, database: &ForeignDatabase) -> io::Result<bool> {
        let known = database.columns("messages")?;
        Ok(["session_id"].iter().chain(self.required).all(|column| known.iter().any(|name| name == column)))
    }

    /// Returns the sessions of a database, and the unit that closes it.
    pub(super) fn units(&self, path: &Path, known: &dyn Known) -> Vec<Unit> {
        shapes::units_of_database(path, known, |database| self.list(path, database))
    }

    /// Passes the records of a session to `take`; for the unit that closes a database, checks that its sessions
    /// can be listed. `directory` finds the directory that a session worked in, from its row.
    ///
    /// # Errors
    /// When the database is busy, or has another layout.
    pub(super) fn records(
        &self,
        unit: &Unit,
        directory: impl FnOnce(&Value) -> Option<String>,
        take: &mut dyn FnMut(Value) -> bool,
    ) -> io::Result<()> {
        let database = ForeignDatabase::open(&unit.path)?;
        let Some(id) = &unit.part else { return self.list(&unit.path, &database).map(drop) };
        let columns = self.message_columns(&unit.path, &database)?;
        let facts = self.sessions(&database, Some(id))?.remove(id).unwrap_or_else(|| json!({}));
        let mut rows = Vec::new();
        let query = format!("SELECT {} FROM messages WHERE session_id = ?1 ORDER BY rowid", columns.join(", "));
        database.each(&query, &[id], |row| {
            rows.push(self.row(&columns, row, 0));
            Ok(true)
        })?;
        drop(database);
        // The session was deleted meanwhile.
        if rows.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut header = json!({"type": "session", "session": id, "row": facts});
        if let Some(directory) = directory(&header["row"]) {
            header["directory"] = directory.into();
        }
        if !take(header) {
            return Ok(());
        }
        let mut keys = Keys::default();
        for row in rows {
            let named = self.id.and_then(|column| shapes::id_of(&row[column]));
            let native = named.unwrap_or_else(|| keys.next(&row[self.time], &row["role"]));
            if !take(json!({"type": "message", "session": id, "id": native, "row": row})) {
                break;
            }
        }
        Ok(())
    }

    fn list(&self, path: &Path, database: &ForeignDatabase) -> io::Result<Vec<Unit>> {
        let columns = self.message_columns(path, database)?;
        let sessions = self.sessions(database, None)?;
        // The sums change with every change of a message.
        let sums: String = columns
            .iter()
            .map(|column| match self.numbers.contains(column) {
                true => format!(", total({column})"),
                false => format!(", sum(octet_length({column}))"),
            })
            .collect();
        let query =
            format!("SELECT session_id, min({}), count(*), max(rowid){sums} FROM messages GROUP BY session_id", self.time);
        let mut units = Vec::new();
        database.each(&query, &[], |row| {
            let Some(id) = row.text(0) else { return Ok(true) };
            let facts = sessions.get(&id).map(Value::to_string).unwrap_or_default();
            let numbers: Vec<String> = (2..4 + columns.len()).map(|column| row.text(column).unwrap_or_default()).collect();
            let bytes = |(at, column): (usize, &&str)| match self.numbers.contains(column) {
                true => 0,
                false => row.integer(4 + at).unwrap_or(0).max(0) as u64,
            };
            let stamp = Stamp {
                size: columns.iter().enumerate().map(bytes).sum(),
                version: shapes::hash_of(numbers.iter().map(String::as_bytes).chain([facts.as_bytes()])),
            };
            let began = row.text(1).and_then(|time| shapes::time_of_seconds(&time.into(), TimeQuality::Exact));
            units.push(shapes::unit_of_database(path, id, stamp, began.and_then(|time| time.utc)));
            Ok(true)
        })?;
        Ok(units)
    }

    /// Returns the rows of all sessions, or of one, by id. Empty if the database has no such table.
    fn sessions(&self, database: &ForeignDatabase, id: Option<&String>) -> io::Result<HashMap<String, Value>> {
        let known = database.columns("sessions")?;
        let mut sessions = HashMap::new();
        if !known.iter().any(|column| column == "id") {
            return Ok(sessions);
        }
        let columns: Vec<&str> = self.session.iter().copied().filter(|column| known.iter().any(|name| name == column)).collect();
        let wanted: String = columns.iter().map(|column| format!(", {column}")).collect();
        let query = format!("SELECT id{wanted} FROM sessions WHERE ?1 IS NULL OR id = ?1");
        database.each(&query, &[&id], |row| {
            if let Some(id) = row.text(0) {
                sessions.insert(id, self.row(&columns, row, 1));
            }
            Ok(true)
        })?;
        Ok(sessions)
    }

    /// Returns those columns of messages that a database has.
    fn message_columns(&self, path: &Path, database: &ForeignDatabase) -> io::Result<Vec<&'static str>> {
        if !self.is_of(database)? {
            let why = format!("{}: the table \"messages\" has an unsupported layout", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let known = database.columns("messages")?;
        let wanted = self.texts.iter().chain(self.numbers).copied();
        Ok(wanted.filter(|column| known.iter().any(|name| name == column)).collect())
    }

    /// Returns a row as an object, from the column `first` on.
    fn row(&self, columns: &[&str], row: &Row<'_>, first: usize) -> Value {
        let mut object = Map::new();
        for (at, column) in columns.iter().enumerate() {
            let Some(text) = row.text(first + at) else { continue };
            let mut value = if self.numbers.contains(column) {
                text.parse::<Number>().map_or(Value::String(text), Value::Number)
            } else {
                let json = if self.json.contains(column) { Some(text.as_str()) } else { text.strip_prefix(JSON_MARK) };
                // A reader counts what is not JSON.
                json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::String(text))
            };
            drop_payloads(&mut value);
            object.insert((*column).to_owned(), value);
        }
        Value::Object(object)
    }
}

/// Ids of messages that have none of their own: time, role, and the number of earlier messages with the same.
///
/// An agent that copies messages to another store, or writes a conversation anew, keeps both.
#[derive(Default)]
pub(super) struct Keys {
    seen: HashMap<String, usize>,
    count: usize,
}

impl Keys {
    /// Returns the id of the next message.
    pub(super) fn next(&mut self, time: &Value, role: &Value) -> String {
        self.count += 1;
        let Some(time) = shapes::id_of(time) else { return format!("#{}", self.count) };
        let key = format!("{time}/{}", role.as_str().unwrap_or(""));
        let number = self.seen.entry(key.clone()).or_default();
        *number += 1;
        format!("{key}/{number}")
    }
}

/// Returns the owner of a record.
pub(super) fn owner(value: &Value) -> LineOwner<'_> {
    LineOwner {
        session: text_of(value, "session").map(Into::into),
        message: text_of(value, "id"),
        about: None,
        directory: text_of(value, "directory"),
    }
}
