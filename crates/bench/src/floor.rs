//! The baseline: the same texts in plain SQLite FTS5, the simplest solution. It has no archive, no redaction,
//! no filters, no quotes, no splitting of identifiers; its costs are those of SQLite.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Result};

/// Rows that one transaction inserts.
pub const BATCH: usize = 200;

/// A database with the texts in an ordinary table and their words in an FTS5 index over it.
#[derive(Debug)]
pub struct Floor(Connection);

impl Floor {
    /// Creates an empty database.
    pub fn create(path: &Path) -> Result<Self> {
        let db = Connection::open(path)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             CREATE TABLE turn (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
             CREATE VIRTUAL TABLE words USING fts5(text, content = 'turn', content_rowid = 'id',
                 tokenize = 'porter unicode61');",
        )?;
        Ok(Self(db))
    }

    /// Opens a database for questions.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self(Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?))
    }

    /// Inserts texts in one transaction.
    pub fn insert(&mut self, texts: &[String]) -> Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut into_table = transaction.prepare_cached("INSERT INTO turn (text) VALUES (?1)")?;
            let mut into_words = transaction.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
            for text in texts {
                let id = into_table.insert([text])?;
                into_words.execute((id, text))?;
            }
        }
        transaction.commit()
    }

    /// Writes the log back into the database.
    pub fn checkpoint(&self) -> Result<()> {
        self.0.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// Returns the texts with any of the words, best first.
    pub fn search(&self, question: &str, limit: usize) -> Result<Vec<String>> {
        let mut statement = self.0.prepare_cached(
            "SELECT turn.text FROM (SELECT rowid AS id, rank AS place FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2) \
             JOIN turn USING (id) ORDER BY place",
        )?;
        statement.query_map((any_word(question), limit as i64), |row| row.get(0))?.collect()
    }
}

/// Returns every word as a string of FTS5, OR-ed.
fn any_word(question: &str) -> String {
    let words = question.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let query = words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    if query.is_empty() { "\"\"".to_owned() } else { query }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_word_finds_a_text_and_more_words_find_it_first() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("floor.db");
        let mut floor = Floor::create(&path).unwrap();
        let texts = ["the parser fails", "the parser fails on an empty header", "something else"].map(str::to_owned);
        floor.insert(&texts).unwrap();
        floor.checkpoint().unwrap();
        drop(floor);
        let floor = Floor::open(&path).unwrap();
        assert_eq!(floor.search("failing headers?", 10).unwrap(), [texts[1].clone(), texts[0].clone()]);
        assert_eq!(floor.search("\"AND (*", 10).unwrap(), [""; 0]);
        assert_eq!(floor.search("?!", 10).unwrap(), [""; 0]);
    }
}
