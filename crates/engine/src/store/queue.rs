//! The queue of turns that the lexical index must take, and what the index says of itself.

use rusqlite::{OptionalExtension, params};

use super::{IndexedTurn, Store, StoreResult};

impl Store {
    /// Up to `limit` queued turns after `after`, oldest first, with the queue number that is done
    /// once they are indexed. A turn that is gone or not for the index comes as `None`: whatever
    /// the index holds of it must go.
    pub(crate) fn queued_turns(&self, after: i64, limit: usize) -> StoreResult<Vec<(i64, i64, Option<IndexedTurn>)>> {
        self.read(|db| {
            let queued: Vec<(i64, i64)> = {
                let mut statement = db
                    .prepare_cached("SELECT seq, turn_id FROM lexical_queue WHERE seq > ?1 ORDER BY seq LIMIT ?2")
                    .map_err(|error| self.fail(error))?;
                let rows = statement
                    .query_map([after, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
                    .map_err(|error| self.fail(error))?;
                rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))?
            };
            queued.into_iter().map(|(seq, row)| Ok((seq, row, self.indexed_turn(db, row)?))).collect()
        })
    }

    /// Every turn that an index should hold, from behind a row on, for one that is made in memory.
    pub(crate) fn indexable_after(&self, after: i64, limit: usize) -> StoreResult<Vec<(i64, Option<IndexedTurn>)>> {
        self.read(|db| {
            let rows: Vec<i64> = {
                let mut statement = db
                    .prepare_cached(
                        "SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                         WHERE turn.id > ?1 AND episode.forgotten_ms IS NULL AND turn.role NOT IN ('system', 'injected')
                         ORDER BY turn.id LIMIT ?2",
                    )
                    .map_err(|error| self.fail(error))?;
                let rows = statement.query_map([after, limit as i64], |row| row.get(0)).map_err(|error| self.fail(error))?;
                rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))?
            };
            rows.into_iter().map(|row| Ok((row, self.indexed_turn(db, row)?))).collect()
        })
    }

    /// Number of queued turns, counted up to `limit`.
    pub(crate) fn queue_length(&self, limit: usize) -> StoreResult<usize> {
        self.read(|db| {
            db.prepare_cached("SELECT count(*) FROM (SELECT 1 FROM lexical_queue LIMIT ?1)")
                .and_then(|mut statement| statement.query_row([limit as i64], |row| row.get::<_, i64>(0)))
                .map(|count| count as usize)
                .map_err(|error| self.fail(error))
        })
    }

    /// Takes turns off the queue that the index has committed.
    pub(crate) fn drop_queued(&self, up_to: i64) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM lexical_queue WHERE seq <= ?1", [up_to]).map(drop).map_err(|error| self.fail(error))
        })
    }

    /// Queues every turn, for an index that starts from nothing.
    pub(crate) fn queue_all(&self) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM lexical_queue", []).map_err(|error| self.fail(error))?;
            tx.execute(
                "INSERT INTO lexical_queue (turn_id) SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND turn.role NOT IN ('system', 'injected') ORDER BY turn.id",
                [],
            )
            .map(drop)
            .map_err(|error| self.fail(error))
        })
    }

    /// A fact about an index, such as the tokenizer version that built it.
    pub(crate) fn index_state(&self, name: &str) -> StoreResult<Option<String>> {
        self.read(|db| {
            db.prepare_cached("SELECT value FROM index_state WHERE name = ?1")
                .and_then(|mut statement| statement.query_row([name], |row| row.get(0)).optional())
                .map_err(|error| self.fail(error))
        })
    }

    /// A random name that ties an index to this store, the same for whoever asks.
    pub(crate) fn index_token(&self, name: &str) -> StoreResult<String> {
        if let Some(token) = self.index_state(name)? {
            return Ok(token);
        }
        let token = uuid::Uuid::now_v7().simple().to_string();
        self.write(|tx| {
            tx.execute("INSERT OR IGNORE INTO index_state (name, value) VALUES (?1, ?2)", params![name, token])
                .and_then(|_| tx.query_row("SELECT value FROM index_state WHERE name = ?1", [name], |row| row.get(0)))
                .map_err(|error| self.fail(error))
        })
    }

    /// Sets such a fact.
    pub(crate) fn set_index_state(&self, name: &str, value: &str) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO index_state (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                params![name, value],
            )
            .map(drop)
            .map_err(|error| self.fail(error))
        })
    }

    /// Removes such a fact.
    pub(crate) fn clear_index_state(&self, name: &str) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM index_state WHERE name = ?1", [name]).map(drop).map_err(|error| self.fail(error)))
    }

    /// Number of turns that the index should hold.
    pub(crate) fn indexable_turns(&self) -> StoreResult<u64> {
        self.read(|db| {
            db.query_row(
                "SELECT count(*) FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND turn.role NOT IN ('system', 'injected')",
                [],
                |row| row.get::<_, i64>(0),
            )
            .map(|count| count as u64)
            .map_err(|error| self.fail(error))
        })
    }
}
