//! Reads the two tables of keys and values of Cursor's editor.

use std::io;

use crate::foreign::ForeignDatabase;

/// Returns the number of bubbles of a conversation, and their bytes. Searches the index of keys and reads no
/// values.
pub(super) fn bubbles(database: &ForeignDatabase, id: &str) -> io::Result<(u64, u64)> {
    let (from, to) = (format!("bubbleId:{id}:"), format!("bubbleId:{id};"));
    let mut found = (0, 0);
    database.each(
        "SELECT count(value), coalesce(sum(octet_length(value)), 0) FROM cursorDiskKV WHERE key >= ?1 AND key < ?2",
        &[&from, &to],
        |row| {
            found = (row.integer(0).unwrap_or(0) as u64, row.integer(1).unwrap_or(0) as u64);
            Ok(false)
        },
    )?;
    Ok(found)
}

/// Returns the value of a key in the table of the editor's state, or `None` if it is missing or NULL.
pub(super) fn item(database: &ForeignDatabase, key: &str) -> io::Result<Option<String>> {
    database.text("SELECT value FROM ItemTable WHERE key = ?1", &[&key])
}

/// Returns the value of a key in the table of conversations: `None` if there is no such key, `Some(None)` if
/// it is NULL, which is how Cursor deletes.
pub(super) fn disk_value(database: &ForeignDatabase, key: &str) -> io::Result<Option<Option<String>>> {
    let mut found = None;
    database.each("SELECT value FROM cursorDiskKV WHERE key = ?1", &[&key], |row| {
        found = Some(row.text(0));
        Ok(false)
    })?;
    Ok(found)
}

pub(super) fn has_table(database: &ForeignDatabase, table: &str) -> io::Result<bool> {
    let columns = database.columns(table)?;
    Ok(["key", "value"].iter().all(|wanted| columns.iter().any(|column| column == wanted)))
}
