//! Tests of [`super`] against databases in every state in which a program may leave one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::{ForeignDatabase, uri};

/// Returns the name and bytes of every file of a folder, except the bytes of the log's index, which readers
/// share.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .map(|(name, path)| {
            let bytes = if name.ends_with("-shm") { Vec::new() } else { fs::read(path).unwrap() };
            (name, bytes)
        })
        .collect()
}

fn database(path: &Path, journal: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(())).unwrap();
    connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    connection.execute_batch("CREATE TABLE words (key TEXT UNIQUE, value BLOB); INSERT INTO words VALUES ('a', 'one')").unwrap();
    connection
}

fn words(path: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    ForeignDatabase::open(path)?.each("SELECT value FROM words ORDER BY key", &[], |row| {
        found.push(row.text(0).unwrap_or_else(|| "null".to_owned()));
        Ok(true)
    })?;
    Ok(found)
}

#[test]
fn closed_database_is_read_without_a_trace_whatever_its_name_holds() {
    let folder = tempfile::tempdir().unwrap();
    for (name, journal) in [("a b#c%20?d&e=f.vscdb", "wal"), ("ü.db", "delete")] {
        let path = folder.path().join(name);
        drop(database(&path, journal));
        let before = content(folder.path());
        assert_eq!(words(&path).unwrap(), ["one"]);
        assert_eq!(content(folder.path()), before);
    }
}

#[test]
fn writer_in_the_middle_of_a_transaction_notices_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.db");
    let writer = database(&path, "wal");
    writer.busy_timeout(Duration::ZERO).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO words VALUES ('b', 'two')").unwrap();
    let before = content(folder.path());
    let reader = ForeignDatabase::open(&path).unwrap();
    assert_eq!(reader.text("SELECT count(*) FROM words", &[]).unwrap().as_deref(), Some("1"));
    assert_eq!(content(folder.path()), before);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(words(&path).unwrap(), ["one", "two"]);
    // No part of the log is in use, though one reader is still open.
    let (busy, left): (i64, i64) =
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!((busy, left), (0, 0));
    drop(reader);
    drop(writer);
    assert_eq!(content(folder.path()).into_keys().collect::<Vec<_>>(), ["live.db"]);
}

#[test]
fn log_without_its_index_is_read_in_place_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.db");
    let writer = database(&path, "wal");
    writer.execute_batch("INSERT INTO words VALUES ('b', 'in the log')").unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for name in ["live.db", "live.db-wal"] {
        fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let before = content(crashed.path());
    assert_eq!(words(&crashed.path().join("live.db")).unwrap(), ["one", "in the log"]);
    assert_eq!(content(crashed.path()), before);
}

#[test]
fn database_that_changes_while_it_is_read_without_a_lock_is_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(database(&path, "wal"));
    let reader = ForeignDatabase::open(&path).unwrap();
    let _writer = Connection::open(&path).unwrap().execute_batch("INSERT INTO words VALUES ('b', 'two')");
    fs::write(folder.path().join("a.db-wal"), b"a log has come").unwrap();
    let error = reader.text("SELECT count(*) FROM words", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
}

#[test]
fn half_done_transaction_of_a_rollback_journal_is_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(database(&path, "delete"));
    fs::write(folder.path().join("a.db-journal"), [7; 600]).unwrap();
    assert_eq!(words(&path).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn locked_damaged_and_missing_databases_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = database(&path, "wal");
    writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(writer);
    let mut bytes = fs::read(&path).unwrap();
    let noise = folder.path().join("noise.db");
    fs::write(&noise, vec![0xa5; 8192]).unwrap();
    assert_eq!(words(&noise).unwrap_err().kind(), ErrorKind::InvalidData);
    bytes[100..].fill(0xff);
    fs::write(&noise, bytes).unwrap();
    assert_eq!(words(&noise).unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(words(&folder.path().join("none.db")).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!folder.path().join("none.db").exists());
}

#[test]
fn values_of_any_type_are_taken_leniently_and_a_missing_table_has_no_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = database(&path, "delete");
    connection
        .execute_batch("INSERT INTO words VALUES (NULL, x'6fff6b'), (NULL, NULL), ('b', 12), ('c', 2.5), ('d', ' 77 ')")
        .unwrap();
    drop(connection);
    let database = ForeignDatabase::open(&path).unwrap();
    let mut seen = Vec::new();
    database
        .each("SELECT value, key FROM words ORDER BY rowid", &[], |row| {
            seen.push((row.text(0), row.integer(0), row.text(1), row.text(9)));
            Ok(true)
        })
        .unwrap();
    let texts: Vec<Option<&str>> = seen.iter().map(|row| row.0.as_deref()).collect();
    assert_eq!(texts, [Some("one"), Some("o\u{fffd}k"), None, Some("12"), Some("2.5"), Some(" 77 ")]);
    assert_eq!(seen.iter().map(|row| row.1).collect::<Vec<_>>(), [None, None, None, Some(12), Some(2), Some(77)]);
    assert_eq!((seen[1].2.as_deref(), seen[0].3.as_deref()), (None, None));
    assert_eq!(database.columns("words").unwrap(), ["key", "value"]);
    assert!(database.columns("nothing").unwrap().is_empty());
}

#[test]
fn stamp_tells_a_growing_log_from_a_standing_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    assert!(ForeignDatabase::stamp(&path).is_err());
    let writer = database(&path, "wal");
    let first = ForeignDatabase::stamp(&path).unwrap();
    assert_eq!(ForeignDatabase::stamp(&path).unwrap(), first);
    writer.execute_batch("INSERT INTO words VALUES ('b', 'two')").unwrap();
    assert_ne!(ForeignDatabase::stamp(&path).unwrap(), first);
}

#[cfg(not(windows))]
#[test]
fn whatever_means_something_in_an_address_is_escaped() {
    assert_eq!(uri(Path::new("/a b/c?d#e%f&g"), "mode=ro"), "file:///a%20b/c%3Fd%23e%25f%26g?mode=ro");
}
