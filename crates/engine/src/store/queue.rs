//! The queue of turns for the lexical index, and the index's state.

use rusqlite::params;

use super::episodes::IS_RECALLED;
use super::keys::TurnKey;
use super::{IndexedTurn, Store, StoreResult};

impl Store {
    /// Returns up to `limit` queued turns after `after`, oldest first, each with the queue number to drop
    /// once it is indexed. A turn that does not exist or is not for the index comes as `None`: it must be
    /// removed from the index.
    pub(crate) fn queued_turns(&self, after: i64, limit: usize) -> StoreResult<Vec<(i64, TurnKey, Option<IndexedTurn>)>> {
        self.read(|view| {
            let queued: Vec<(i64, TurnKey)> = view.all(
                "SELECT seq, turn_id FROM lexical_queue WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                params![after, limit as i64],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            queued.into_iter().map(|(seq, row)| Ok((seq, row, view.indexed_turn(row)?))).collect()
        })
    }

    /// Returns every turn that an index should hold, after a row, for an index in memory.
    pub(crate) fn indexable_after(&self, after: TurnKey, limit: usize) -> StoreResult<Vec<(TurnKey, Option<IndexedTurn>)>> {
        self.read(|view| {
            let rows: Vec<TurnKey> = view.column(
                &format!(
                    "SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                         WHERE turn.id > ?1 AND episode.forgotten_ms IS NULL AND {IS_RECALLED}
                         ORDER BY turn.id LIMIT ?2"
                ),
                params![after, limit as i64],
            )?;
            rows.into_iter().map(|row| Ok((row, view.indexed_turn(row)?))).collect()
        })
    }

    /// Returns the number of queued turns, counted up to `limit`.
    pub(crate) fn queue_length(&self, limit: usize) -> StoreResult<usize> {
        self.read(|view| {
            view.count("SELECT count(*) FROM (SELECT 1 FROM lexical_queue LIMIT ?1)", [limit as i64]).map(|count| count as usize)
        })
    }

    /// Removes turns from the queue that the index has committed.
    pub(crate) fn drop_queued(&self, up_to: i64) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM lexical_queue WHERE seq <= ?1", [up_to]).map(drop))
    }

    /// Queues every turn, for an index that starts from nothing.
    pub(crate) fn queue_all(&self) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM lexical_queue", [])?;
            tx.execute(
                &format!(
                    "INSERT INTO lexical_queue (turn_id) SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND {IS_RECALLED} ORDER BY turn.id"
                ),
                [],
            )
            .map(drop)
        })
    }

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

    /// Returns the number of turns that the index should hold.
    pub(crate) fn indexable_turns(&self) -> StoreResult<u64> {
        self.read(|view| {
            view.count(
                &format!(
                    "SELECT count(*) FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND {IS_RECALLED}"
                ),
                [],
            )
        })
    }
}
