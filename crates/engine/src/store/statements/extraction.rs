//! Stores the checkpoints of extraction: which extractor has read which turns of a conversation.

use std::collections::HashMap;

use rusqlite::{Row, params};
use yore_core::id::MemoryId;
use yore_core::time::UtcMillis;

use crate::store::keys::{EpisodeKey, TurnKey, json_of};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Numbers by which a conversation is told from itself after it has grown, was read anew, or was partly taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub turns: i64,
    pub parts: i64,
    pub newest: TurnKey,
}

impl Store {
    /// Returns the shapes of all conversations: as they are, or as an extractor has read them.
    pub(crate) fn shapes(&self, read_by: Option<&str>) -> StoreResult<HashMap<EpisodeKey, Shape>> {
        let shape = |row: &Row<'_>| Ok((row.get(0)?, Shape { turns: row.get(1)?, parts: row.get(2)?, newest: row.get(3)? }));
        self.read(|view| {
            let rows = match read_by {
                None => view.all(
                    "SELECT episode_id, count(*), sum(parts) + count(caveat), max(id) FROM turn GROUP BY episode_id",
                    [],
                    shape,
                ),
                Some(extractor) => view.all(
                    "SELECT episode_id, turns, parts, newest_turn FROM extraction WHERE extractor = ?1",
                    [extractor],
                    shape,
                ),
            };
            Ok(rows?.into_iter().collect())
        })
    }

    /// Records that an extractor has read a conversation in a shape, or, without one, that it is to be read again.
    pub(crate) fn note_extraction(
        &self,
        episode: EpisodeKey,
        extractor: &str,
        shape: Option<Shape>,
        at: UtcMillis,
    ) -> StoreResult<()> {
        self.write(|tx| match shape {
            Some(shape) => note(tx, episode, extractor, shape, at),
            None => {
                let sql = "DELETE FROM extraction WHERE episode_id = ?1 AND extractor = ?2";
                tx.execute(sql, params![episode, extractor]).map(drop)
            }
        })
    }

    /// Returns the memories that rest on these episodes alone, and those that rest on more.
    pub(crate) fn memories_resting_on(&self, episodes: &[EpisodeKey]) -> StoreResult<(Vec<MemoryId>, Vec<MemoryId>)> {
        let resting = self.read(|view| {
            view.all(
                "WITH own AS (SELECT uid FROM turn WHERE episode_id IN (SELECT value FROM json_each(?1)))
                 SELECT memory.uid, sum(turn_uid IN own) = count(*) FROM memory_evidence JOIN memory ON memory.id = memory_id
                 WHERE memory_id IN (SELECT memory_id FROM memory_evidence WHERE turn_uid IN own) GROUP BY memory_id",
                [json_of(episodes)],
                |row| Ok((MemoryId::from_bytes(row.get(0)?), row.get::<_, bool>(1)?)),
            )
        })?;
        let those = |wanted: bool| resting.iter().filter(|(_, is_alone)| *is_alone == wanted).map(|(id, _)| *id).collect();
        Ok((those(true), those(false)))
    }
}

/// Records that an extractor, given by name and version (`rules/1`), has read a conversation.
pub(in crate::store) fn note(
    tx: &WriteTx<'_>,
    episode: EpisodeKey,
    extractor: &str,
    shape: Shape,
    at: UtcMillis,
) -> StoreResult<()> {
    let family = extractor.split('/').next().unwrap_or(extractor);
    tx.execute(
        "INSERT INTO extraction (episode_id, family, extractor, turns, parts, newest_turn, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (episode_id, family) DO UPDATE SET extractor = excluded.extractor, turns = excluded.turns,
             parts = excluded.parts, newest_turn = excluded.newest_turn, at_ms = excluded.at_ms",
        params![episode, family, extractor, shape.turns, shape.parts, shape.newest, at],
    )
    .map(drop)
}
