//! Stores facts about the indexes and the data directory of this machine, as names with values.

use rusqlite::params;

use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Name of the insights that upkeep found last. They are dropped whenever anything is forgotten.
pub(crate) const INSIGHTS: &str = "insights";
/// Name of the run of upkeep that is finding them. It is dropped with them, so that the run keeps nothing of what was removed.
pub(crate) const INSIGHTS_BEGUN: &str = "insights-begun";

/// Beginning of the names of the summaries of categories that a model wrote; the id of a project follows. They are dropped whenever anything is
/// forgotten for good, and when words are redacted.
pub(crate) const WRITTEN_SUMMARIES: &str = "written-summaries ";
/// Name of the run that is writing them, dropped with them.
pub(crate) const WRITTEN_BEGUN: &str = "written-summaries-begun";

impl Store {
    /// Returns a fact about an index, such as the tokenizer version that built it.
    pub(crate) fn index_state(&self, name: &str) -> StoreResult<Option<String>> {
        self.read(|view| view.first_value("SELECT value FROM index_state WHERE name = ?1", [name]))
    }

    /// Returns the random name that ties an index to this store, the same for every caller.
    pub(crate) fn index_token(&self, name: &str) -> StoreResult<String> {
        if let Some(token) = self.index_state(name)? {
            return Ok(token);
        }
        let token = uuid::Uuid::now_v7().simple().to_string();
        self.write(|tx| {
            tx.execute("INSERT OR IGNORE INTO index_state (name, value) VALUES (?1, ?2)", params![name, token])?;
            tx.value("SELECT value FROM index_state WHERE name = ?1", [name])
        })
    }

    /// Sets a fact about an index.
    pub(crate) fn set_index_state(&self, name: &str, value: &str) -> StoreResult<()> {
        self.write(|tx| tx.set_state(name, value))
    }

    /// Removes a fact about an index.
    pub(crate) fn clear_index_state(&self, name: &str) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM index_state WHERE name = ?1", [name]).map(drop))
    }

    /// Returns a fact about the data directory by its name.
    pub(crate) fn fact(&self, name: &str) -> StoreResult<Option<String>> {
        self.read(|view| view.first_value("SELECT value FROM fact WHERE name = ?1", [name]))
    }

    /// Stores a fact about the data directory.
    pub(crate) fn set_fact(&self, name: &str, value: &str) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                params![name, value],
            )
            .map(drop)
        })
    }

    /// Returns whether anything was written with the data directory's key: lines, or hashes of content that
    /// must not be read again.
    pub(crate) fn is_keyed(&self) -> StoreResult<bool> {
        self.read(|view| view.value("SELECT EXISTS (SELECT 1 FROM segment) OR EXISTS (SELECT 1 FROM tombstone)", []))
    }
}

impl WriteTx<'_> {
    /// Removes the kept insights: they may repeat words of what is removed, and are found again.
    pub(in crate::store) fn drop_insights(&self) -> StoreResult<()> {
        self.execute("DELETE FROM index_state WHERE name IN (?1, ?2)", [INSIGHTS, INSIGHTS_BEGUN]).map(drop)
    }

    /// Removes the summaries that a model wrote, for the same reason.
    pub(in crate::store) fn drop_written_summaries(&self) -> StoreResult<()> {
        let sql = "DELETE FROM index_state WHERE name = ?1 OR substr(name, 1, length(?2)) = ?2";
        self.execute(sql, [WRITTEN_BEGUN, WRITTEN_SUMMARIES]).map(drop)
    }

    /// Sets a fact about an index.
    pub(in crate::store) fn set_state(&self, name: &str, value: &str) -> StoreResult<()> {
        self.execute(
            "INSERT INTO index_state (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            params![name, value],
        )
        .map(drop)
    }
}
