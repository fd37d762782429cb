//! The queues of turns and memories that an index has not read yet.

use rusqlite::params;

use crate::store::archive::episodes::IS_RECALLED;
use crate::store::keys::{ItemKey, MemoryKey, QueuePlace, RowKey, TurnKey};
use crate::store::{IndexedItem, Store, StoreResult};

/// Bit of the static table's index in an entry of the queue of vectors.
pub(crate) const STATIC_LIST: u8 = 1;
/// Bit of the local model's index in an entry of the queue of vectors.
pub(crate) const MODEL_LIST: u8 = 2;

/// A queue of items. Its entries are read, processed, and dropped once the result is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Items that the full-text index lacks.
    Text,
    /// Items that the vector indexes lack.
    Vectors,
    /// Items that lack vectors of the local model. They are dropped one by one as their vectors are stored.
    Embedding,
    /// Turns whose text was not analysed since they were stored by an older yore. They are dropped as they are analysed.
    Shapes,
}

/// An entry of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub place: QueuePlace,
    pub key: ItemKey,
    /// The sum of the lists that must process it; 0 in other queues than that of vectors.
    pub lists: u8,
    /// `None` if the item does not exist or is not for the index: it must be removed there.
    pub item: Option<IndexedItem>,
}

/// A reason to queue items again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Again {
    /// The full-text index starts from nothing.
    Text,
    /// The vector indexes with these lists start from nothing.
    Vectors(u8),
    /// The model failed on them, fewer than so many times.
    Failed(u32),
}

impl Store {
    /// Returns up to `limit` entries of a queue after a place, oldest first; of those that lack vectors, the newest first, from the newest
    /// on.
    pub(crate) fn queued(&self, queue: Queue, after: QueuePlace, limit: usize) -> StoreResult<Vec<Queued>> {
        let sql = match queue {
            Queue::Text => "SELECT seq, turn_id, 0 FROM lexical_queue WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            Queue::Vectors => "SELECT seq, turn_id, lists FROM vector_queue WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            Queue::Shapes => "SELECT turn_id, turn_id, 0 FROM shape_queue WHERE turn_id > ?1 ORDER BY turn_id LIMIT ?2",
            Queue::Embedding => "SELECT seq, turn_id, 0 FROM embed_queue WHERE ?1 IS NOT NULL ORDER BY seq DESC LIMIT ?2",
        };
        self.read(|view| {
            let queued: Vec<(QueuePlace, ItemKey, u8)> =
                view.all(sql, params![after, limit as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            queued
                .into_iter()
                .map(|(place, key, lists)| Ok(Queued { place, key, lists, item: view.indexed_item(key)? }))
                .collect()
        })
    }

    /// Returns the memories that were queued for the full-text index after one place and not after another, the latest `limit` of them, each
    /// with its place, oldest first. Those that are gone are left out.
    pub(crate) fn queued_memories(
        &self,
        after: QueuePlace,
        upto: QueuePlace,
        limit: usize,
    ) -> StoreResult<Vec<(QueuePlace, IndexedItem)>> {
        self.read(|view| {
            let mut queued: Vec<(QueuePlace, ItemKey)> = view.all(
                "SELECT seq, turn_id FROM lexical_queue WHERE seq > ?1 AND seq <= ?2 AND turn_id < 0 ORDER BY seq DESC LIMIT ?3",
                params![after, upto, limit as i64],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            queued.reverse();
            let items = queued.into_iter().map(|(place, key)| Ok(view.indexed_item(key)?.map(|item| (place, item))));
            items.filter_map(Result::transpose).collect()
        })
    }

    /// Returns the first and the last entry of the queue for the full-text index; `None`: it is empty.
    pub(crate) fn queue_ends(&self) -> StoreResult<Option<(QueuePlace, QueuePlace)>> {
        let ends: (Option<QueuePlace>, Option<QueuePlace>) = self.read(|view| {
            view.one("SELECT min(seq), (SELECT max(seq) FROM lexical_queue) FROM lexical_queue", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })?;
        Ok(ends.0.zip(ends.1))
    }

    /// Returns the last place that was dropped from the queue of vectors, and the newest that it ever had.
    pub(crate) fn vector_queue_bounds(&self) -> StoreResult<(QueuePlace, QueuePlace)> {
        let taken = self.index_state("vectors-taken")?.and_then(|place| place.parse().ok()).unwrap_or(0);
        let newest: Option<i64> =
            self.read(|view| view.first_value("SELECT seq FROM sqlite_sequence WHERE name = 'vector_queue'", []))?;
        Ok((QueuePlace::new(taken), QueuePlace::new(newest.unwrap_or(0))))
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

    /// Returns the number of entries that wait in a queue, counted up to `limit`; of vectors, that of different items.
    pub(crate) fn waiting(&self, queue: Queue, limit: usize) -> StoreResult<usize> {
        let sql = match queue {
            Queue::Text => "SELECT count(*) FROM (SELECT 1 FROM lexical_queue LIMIT ?1)",
            Queue::Vectors => "SELECT count(DISTINCT turn_id) FROM (SELECT turn_id FROM vector_queue LIMIT ?1)",
            Queue::Shapes => "SELECT count(*) FROM (SELECT 1 FROM shape_queue LIMIT ?1)",
            Queue::Embedding if self.embedder_key()?.is_none() => return self.embeddable_items(limit),
            Queue::Embedding => "SELECT count(DISTINCT turn_id) FROM (SELECT turn_id FROM embed_queue LIMIT ?1)",
        };
        self.read(|view| view.count(sql, [limit as i64]).map(|count| count as usize))
    }

    /// Returns the number of items that an embedder would get, counted up to `limit`: without one, nothing is queued for it.
    fn embeddable_items(&self, limit: usize) -> StoreResult<usize> {
        // Inputs and outputs of tools are not embedded.
        let turns = format!(
            "SELECT count(*) FROM (SELECT 1 FROM turn WHERE {IS_RECALLED} AND role NOT IN ('tool_call', 'tool_result') LIMIT ?1)"
        );
        self.read(|view| {
            let turns = view.count(&turns, [limit as i64])?;
            let memories = view.count("SELECT count(*) FROM (SELECT 1 FROM memory LIMIT ?1)", [limit as i64])?;
            Ok(((turns + memories) as usize).min(limit))
        })
    }

    /// Removes entries up to a place, whose result the index has stored, from a queue.
    pub(crate) fn drop_queued(&self, queue: Queue, up_to: QueuePlace) -> StoreResult<()> {
        self.write(|tx| match queue {
            Queue::Text => tx.execute("DELETE FROM lexical_queue WHERE seq <= ?1", [up_to]).map(drop),
            Queue::Vectors => {
                tx.execute("DELETE FROM vector_queue WHERE seq <= ?1", [up_to])?;
                tx.set_state("vectors-taken", &up_to.get().to_string())
            }
            Queue::Embedding => tx.execute("DELETE FROM embed_queue WHERE seq <= ?1", [up_to]).map(drop),
            Queue::Shapes => tx.execute("DELETE FROM shape_queue WHERE turn_id <= ?1", [up_to]).map(drop),
        })
    }

    /// Queues items again.
    pub(crate) fn queue_again(&self, why: Again) -> StoreResult<()> {
        let turns = |into: &str, lists: &str| {
            format!(
                "INSERT INTO {into} SELECT turn.id{lists} FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE episode.forgotten_ms IS NULL AND {IS_RECALLED} ORDER BY turn.id"
            )
        };
        self.write(|tx| match why {
            Again::Text => {
                tx.execute("DELETE FROM lexical_queue", [])?;
                tx.execute(&turns("lexical_queue (turn_id)", ""), [])?;
                tx.execute("INSERT INTO lexical_queue (turn_id) SELECT -id FROM memory ORDER BY id", []).map(drop)
            }
            Again::Vectors(lists) => {
                tx.execute(&turns("vector_queue (turn_id, lists)", ", ?1"), [lists])?;
                tx.execute("INSERT INTO vector_queue (turn_id, lists) SELECT -id, ?1 FROM memory ORDER BY id", [lists]).map(drop)
            }
            Again::Failed(most) => tx
                .execute(
                    "INSERT INTO embed_queue (turn_id) SELECT turn_id FROM embed_failure
                     WHERE failures < ?1 AND turn_id NOT IN (SELECT turn_id FROM embed_queue) ORDER BY turn_id",
                    [most],
                )
                .map(drop),
        })
    }
}
