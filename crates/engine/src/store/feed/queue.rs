//! The queue of turns and memories that the full-text index has not read yet, and the index's token.

use rusqlite::params;

use crate::store::archive::episodes::IS_RECALLED;
use crate::store::keys::{ItemKey, MemoryKey, RowKey, TurnKey};
use crate::store::{IndexedItem, Store, StoreResult};

impl Store {
    /// Returns up to `limit` queued items after `after`, oldest first, each with the queue number to drop
    /// once it is indexed. An item that does not exist or is not for the index comes as `None`: it must be
    /// removed from the index.
    pub(crate) fn queued_items(&self, after: i64, limit: usize) -> StoreResult<Vec<(i64, ItemKey, Option<IndexedItem>)>> {
        self.read(|view| {
            let queued: Vec<(i64, ItemKey)> = view.all(
                "SELECT seq, turn_id FROM lexical_queue WHERE seq > ?1 ORDER BY seq LIMIT ?2",
                params![after, limit as i64],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            queued.into_iter().map(|(seq, key)| Ok((seq, key, view.indexed_item(key)?))).collect()
        })
    }

    /// Returns the first and the last place in the queue; `None`: it is empty.
    pub(crate) fn queue_ends(&self) -> StoreResult<Option<(i64, i64)>> {
        let ends = self.read(|view| {
            view.one("SELECT min(seq), (SELECT max(seq) FROM lexical_queue) FROM lexical_queue", [], |row| {
                Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
            })
        })?;
        Ok(ends.0.zip(ends.1))
    }

    /// Returns the memories that were queued after one place and not after another, the latest `limit` of them, each with its
    /// place.
    pub(crate) fn queued_memories(&self, after: i64, upto: i64, limit: usize) -> StoreResult<Vec<(i64, MemoryKey)>> {
        let mut queued = self.read(|view| {
            view.all(
                "SELECT seq, -turn_id FROM lexical_queue WHERE seq > ?1 AND seq <= ?2 AND turn_id < 0 ORDER BY seq DESC LIMIT ?3",
                params![after, upto, limit as i64],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })?;
        queued.reverse();
        Ok(queued)
    }

    /// Returns every item that an index should hold, turns before memories, after one, for an index in memory.
    pub(crate) fn indexable_after(&self, after: ItemKey, limit: usize) -> StoreResult<Vec<(ItemKey, Option<IndexedItem>)>> {
        self.read(|view| {
            let mut keys: Vec<ItemKey> = match after {
                ItemKey::Turn(after) => view
                    .column::<TurnKey>(
                        &format!(
                            "SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                             WHERE turn.id > ?1 AND episode.forgotten_ms IS NULL AND {IS_RECALLED}
                             ORDER BY turn.id LIMIT ?2"
                        ),
                        params![after, limit as i64],
                    )?
                    .into_iter()
                    .map(ItemKey::Turn)
                    .collect(),
                ItemKey::Memory(_) => Vec::new(),
            };
            let after = after.memory().unwrap_or(MemoryKey::new(0));
            keys.extend(
                view.column::<MemoryKey>(
                    "SELECT id FROM memory WHERE id > ?1 ORDER BY id LIMIT ?2",
                    params![after, (limit - keys.len()) as i64],
                )?
                .into_iter()
                .map(ItemKey::Memory),
            );
            keys.into_iter().map(|key| Ok((key, view.indexed_item(key)?))).collect()
        })
    }

    /// Returns the number of queued items, counted up to `limit`.
    pub(crate) fn queue_length(&self, limit: usize) -> StoreResult<usize> {
        self.read(|view| {
            view.count("SELECT count(*) FROM (SELECT 1 FROM lexical_queue LIMIT ?1)", [limit as i64]).map(|count| count as usize)
        })
    }

    /// Removes items from the queue that the index has committed.
    pub(crate) fn drop_queued(&self, up_to: i64) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM lexical_queue WHERE seq <= ?1", [up_to]).map(drop))
    }

    /// Queues every item, for an index that starts from nothing.
    pub(crate) fn queue_all(&self) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute("DELETE FROM lexical_queue", [])?;
            tx.execute(
                &format!(
                    "INSERT INTO lexical_queue (turn_id) SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND {IS_RECALLED} ORDER BY turn.id"
                ),
                [],
            )?;
            tx.execute("INSERT INTO lexical_queue (turn_id) SELECT -id FROM memory ORDER BY id", []).map(drop)
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

    /// Returns the number of turns and memories that the index should hold.
    pub(crate) fn indexable_items(&self) -> StoreResult<u64> {
        self.read(|view| {
            view.count(
                &format!(
                    "SELECT (SELECT count(*) FROM memory) + count(*) FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND {IS_RECALLED}"
                ),
                [],
            )
        })
    }
}
