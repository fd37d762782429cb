//! Stores the vectors of the local model, and which model made them.

use rusqlite::params;

use super::queue::Queue;
use crate::store::archive::episodes::IS_RECALLED;
use crate::store::keys::{EmbedderKey, ItemKey, QueuePlace, RowKey, VectorKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// A keyed hash of a chunk's text.
pub(crate) type TextHash = [u8; 16];

/// Statements that tell whether an item exists, list its vectors, remove and add them.
type ChunkSql = [&'static str; 4];

const TURN_CHUNKS: ChunkSql = [
    "SELECT 1 FROM turn WHERE id = ?1",
    "SELECT vector_id FROM chunk WHERE turn_id = ?1 AND embedder_id = ?2",
    "DELETE FROM chunk WHERE turn_id = ?1 AND embedder_id = ?2",
    "INSERT INTO chunk (turn_id, embedder_id, ordinal, vector_id)
     SELECT ?1, ?2, ?3, id FROM vector WHERE embedder_id = ?2 AND text_hash = ?4",
];
const MEMORY_CHUNKS: ChunkSql = [
    "SELECT 1 FROM memory WHERE id = ?1",
    "SELECT vector_id FROM memory_chunk WHERE memory_id = ?1 AND embedder_id = ?2",
    "DELETE FROM memory_chunk WHERE memory_id = ?1 AND embedder_id = ?2",
    "INSERT INTO memory_chunk (memory_id, embedder_id, ordinal, vector_id)
     SELECT ?1, ?2, ?3, id FROM vector WHERE embedder_id = ?2 AND text_hash = ?4",
];

/// A turn or memory that was just embedded, with its chunks.
#[derive(Clone, Debug)]
pub(crate) struct EmbeddedItem {
    /// Place in the queue up to which this result is valid.
    pub place: QueuePlace,
    /// The turn or memory.
    pub key: ItemKey,
    /// Hashes and vectors of the chunks, in order; the vector is `None` if the store has it already.
    pub chunks: Vec<(TextHash, Option<Vec<f32>>)>,
    /// Error of the model on one of its texts, if there was one.
    pub failure: Option<String>,
}

/// The embedder whose vectors are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenEmbedder {
    pub key: EmbedderKey,
    /// Name of the model and of the way in which it is used.
    pub identity: String,
    /// Width of its vectors.
    pub dimensions: usize,
}

/// Counts of vectors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorCounts {
    /// Turns with vectors of the embedder.
    pub turns: u64,
    /// Number of its vectors.
    pub vectors: u64,
    /// Vectors of other embedders.
    pub others: u64,
    /// Turns that wait.
    pub waiting: u64,
    /// Number of turns on which the model failed, and the error of the last of them.
    pub failures: Option<(u64, String)>,
}

impl Store {
    /// Makes the embedder with this identity, which is created if it is new, the current one; queues everything that lacks its vectors, unless
    /// it is current already.
    pub(crate) fn choose_embedder(&self, identity: &str, dimensions: usize) -> StoreResult<EmbedderKey> {
        let known: Option<EmbedderKey> =
            self.read(|view| view.first_value("SELECT id FROM embedder WHERE identity = ?1", [identity]))?;
        let current = self.embedder_key()?;
        if let Some(known) = known.filter(|known| current == Some(*known)) {
            return Ok(known);
        }
        self.write(|tx| {
            tx.execute(
                "INSERT OR IGNORE INTO embedder (identity, dimensions) VALUES (?1, ?2)",
                params![identity, dimensions as i64],
            )?;
            let embedder: EmbedderKey = tx.value("SELECT id FROM embedder WHERE identity = ?1", [identity])?;
            // Without one, nothing is queued.
            tx.set_state("embedder", &embedder.get().to_string())?;
            // The new model may succeed where the last one failed.
            tx.batch("DELETE FROM embed_queue; DELETE FROM embed_failure;")?;
            tx.execute(
                &format!(
                    "INSERT INTO embed_queue (turn_id)
                 SELECT turn.id FROM turn WHERE {IS_RECALLED}
                     AND turn.role NOT IN ('tool_call', 'tool_result')
                     AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.turn_id = turn.id AND chunk.embedder_id = ?1)
                 ORDER BY turn.id"
                ),
                [embedder],
            )?;
            tx.execute(
                "INSERT INTO embed_queue (turn_id) SELECT -id FROM memory
                 WHERE id NOT IN (SELECT memory_id FROM memory_chunk WHERE embedder_id = ?1) ORDER BY id",
                [embedder],
            )?;
            Ok(embedder)
        })
    }

    /// Returns the current embedder.
    pub(crate) fn chosen_embedder(&self) -> StoreResult<Option<ChosenEmbedder>> {
        let Some(key) = self.embedder_key()? else { return Ok(None) };
        self.read(|view| {
            view.first("SELECT identity, dimensions FROM embedder WHERE id = ?1", [key], |row| {
                Ok(ChosenEmbedder { key, identity: row.get(0)?, dimensions: row.get::<_, i64>(1)? as usize })
            })
        })
    }

    pub(super) fn embedder_key(&self) -> StoreResult<Option<EmbedderKey>> {
        Ok(self.index_state("embedder")?.and_then(|row| row.parse().ok()).map(EmbedderKey::new))
    }

    /// Returns whether an embedder has a vector for this text.
    pub(crate) fn has_vector(&self, embedder: EmbedderKey, hash: &TextHash) -> StoreResult<bool> {
        self.read(|view| view.exists("SELECT 1 FROM vector WHERE embedder_id = ?1 AND text_hash = ?2", params![embedder, hash]))
    }

    /// Stores the vectors of items and removes the items from the queue, unless they changed meanwhile.
    pub(crate) fn store_vectors(&self, embedder: EmbedderKey, items: &[EmbeddedItem]) -> StoreResult<()> {
        self.write(|tx| items.iter().try_for_each(|item| tx.store_item_vectors(embedder, item)))
    }

    /// Returns the chunks of an item: ordinal, row of the vector, vector.
    pub(crate) fn item_vectors(&self, embedder: EmbedderKey, item: ItemKey) -> StoreResult<Vec<(u16, VectorKey, Vec<f32>)>> {
        let sql = match item {
            ItemKey::Turn(_) => {
                "SELECT ordinal, vector.id, data FROM chunk JOIN vector ON vector.id = vector_id
                 WHERE turn_id = ?1 AND chunk.embedder_id = ?2 ORDER BY ordinal"
            }
            ItemKey::Memory(_) => {
                "SELECT ordinal, vector.id, data FROM memory_chunk JOIN vector ON vector.id = vector_id
                 WHERE memory_id = -?1 AND memory_chunk.embedder_id = ?2 ORDER BY ordinal"
            }
        };
        self.read(|view| {
            view.all(sql, params![item, embedder], |row| {
                let data: Vec<u8> = row.get(2)?;
                Ok((row.get::<_, i64>(0)? as u16, row.get(1)?, unpack(&data)))
            })
        })
    }

    /// Returns vectors by row; `None` for one that no longer exists.
    pub(crate) fn vectors(&self, rows: &[VectorKey]) -> StoreResult<Vec<Option<Vec<f32>>>> {
        self.read(|view| {
            rows.iter()
                .map(|row| {
                    view.first("SELECT data FROM vector WHERE id = ?1", [row], |found| {
                        Ok(found.get_ref(0)?.as_blob().map(unpack).unwrap_or_default())
                    })
                })
                .collect()
        })
    }

    /// Returns the counts of an embedder's vectors.
    pub(crate) fn vector_counts(&self, embedder: Option<EmbedderKey>) -> StoreResult<VectorCounts> {
        let embedder = embedder.unwrap_or(EmbedderKey::new(-1));
        let waiting = self.waiting(Queue::Embedding, 10_000_000)? as u64;
        self.read(|view| {
            Ok(VectorCounts {
                turns: view.count("SELECT count(DISTINCT turn_id) FROM chunk WHERE embedder_id = ?1", [embedder])?,
                vectors: view.count("SELECT count(*) FROM vector WHERE embedder_id = ?1", [embedder])?,
                others: view.count("SELECT count(*) FROM vector WHERE embedder_id <> ?1", [embedder])?,
                waiting,
                failures: view.first(
                    "SELECT count(*), error_text, max(turn_id) FROM embed_failure HAVING count(*) > 0",
                    [],
                    |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)),
                )?,
            })
        })
    }
}

impl WriteTx<'_> {
    /// Deletes the vectors of all embedders but one.
    pub(in crate::store) fn drop_other_vectors(&self, embedder: EmbedderKey) -> StoreResult<()> {
        self.execute("DELETE FROM chunk WHERE embedder_id <> ?1", [embedder])?;
        self.execute("DELETE FROM memory_chunk WHERE embedder_id <> ?1", [embedder])?;
        self.execute("DELETE FROM vector WHERE embedder_id <> ?1", [embedder])?;
        self.execute("DELETE FROM embedder WHERE id <> ?1", [embedder]).map(drop)
    }

    fn store_item_vectors(&self, embedder: EmbedderKey, item: &EmbeddedItem) -> StoreResult<()> {
        self.execute("DELETE FROM embed_queue WHERE turn_id = ?1 AND seq <= ?2", params![item.key, item.place])?;
        let (row, [exists, known, clear, insert]) = match item.key {
            ItemKey::Turn(turn) => (turn.get(), TURN_CHUNKS),
            ItemKey::Memory(memory) => (memory.get(), MEMORY_CHUNKS),
        };
        if !self.exists(exists, [row])? {
            return Ok(());
        }
        let before: Vec<VectorKey> = self.column(known, params![row, embedder])?;
        self.execute(clear, params![row, embedder])?;
        for (ordinal, (hash, vector)) in item.chunks.iter().enumerate() {
            if let Some(vector) = vector {
                self.execute(
                    "INSERT OR IGNORE INTO vector (embedder_id, text_hash, data) VALUES (?1, ?2, ?3)",
                    params![embedder, hash, pack(vector)],
                )?;
            }
            // A vector that another process dropped meanwhile leaves a gap that is not queued again: the item
            // is then found by its other chunks.
            self.execute(insert, params![row, embedder, ordinal as i64, hash])?;
        }
        match (&item.failure, item.key) {
            (None, ItemKey::Turn(turn)) => self.execute("DELETE FROM embed_failure WHERE turn_id = ?1", [turn])?,
            (Some(error), ItemKey::Turn(turn)) => self.execute(
                "INSERT INTO embed_failure (turn_id, failures, error_text) VALUES (?1, 1, ?2)
                     ON CONFLICT (turn_id) DO UPDATE SET failures = failures + 1, error_text = excluded.error_text",
                params![turn, error],
            )?,
            // A memory is found by its words and the static table, and embedded again when it changes.
            (_, ItemKey::Memory(_)) => 0,
        };
        for vector in before {
            self.execute(
                "DELETE FROM vector WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM chunk WHERE vector_id = ?1)
                 AND NOT EXISTS (SELECT 1 FROM memory_chunk WHERE vector_id = ?1)",
                [vector],
            )?;
        }
        self.execute("INSERT INTO vector_queue (turn_id, lists) VALUES (?1, 2)", [item.key])?;
        Ok(())
    }

    /// Deletes vectors that no chunk refers to, and queue rows of what no longer exists.
    pub(in crate::store) fn release_vectors(&self) -> StoreResult<()> {
        self.batch(
            "DELETE FROM vector WHERE id NOT IN (SELECT vector_id FROM chunk) AND id NOT IN (SELECT vector_id FROM memory_chunk);
             DELETE FROM embed_queue WHERE turn_id > 0 AND turn_id NOT IN (SELECT id FROM turn)
                 OR turn_id < 0 AND -turn_id NOT IN (SELECT id FROM memory);",
        )
    }
}

/// Packs a vector as f16, which keeps three decimal digits, more than the rounding of an int8 model leaves.
pub(in crate::store) fn pack(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| half::f16::from_f32(*value).to_le_bytes()).collect()
}

pub(in crate::store) fn unpack(data: &[u8]) -> Vec<f32> {
    data.chunks_exact(2).map(|pair| half::f16::from_le_bytes([pair[0], pair[1]]).to_f32()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_vector_keeps_its_direction(values in proptest::collection::vec(-1f32..1.0, 1..400)) {
            let back = unpack(&pack(&values));
            prop_assert_eq!(back.len(), values.len());
            for (before, after) in values.iter().zip(&back) {
                prop_assert!((before - after).abs() <= before.abs() / 1024.0 + 1e-6);
            }
        }
    }
}
