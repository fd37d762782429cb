//! Stores the checkpoints of extraction: which extractor has read which turns of a conversation.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::id::ProjectId;
use yore_core::memory::Memory;
use yore_core::time::UtcMillis;

use crate::store::archive::sessions::IS_OF_PROGRAMS;
use crate::store::keys::{EpisodeKey, MemoryKey, ProjectKey, TurnKey, json_of};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Numbers by which a conversation is told from itself after it has grown, was read anew, or was partly taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    pub turns: i64,
    pub parts: i64,
    pub newest: i64,
}

impl Store {
    /// Returns the shapes of all conversations.
    pub(crate) fn shapes(&self) -> StoreResult<HashMap<EpisodeKey, Shape>> {
        self.read(|view| {
            let rows = view.all(
                "SELECT episode_id, count(*), sum(parts) + count(caveat), max(id) FROM turn GROUP BY episode_id",
                [],
                |row| Ok((row.get(0)?, Shape { turns: row.get(1)?, parts: row.get(2)?, newest: row.get(3)? })),
            )?;
            Ok(rows.into_iter().collect())
        })
    }

    /// Returns the shapes in which an extractor has read conversations.
    pub(crate) fn extracted(&self, extractor: &str) -> StoreResult<HashMap<EpisodeKey, Shape>> {
        self.read(|view| {
            let sql = "SELECT episode_id, turns, parts, newest_turn FROM extraction WHERE extractor = ?1";
            let rows = view.all(sql, [extractor], |row| {
                Ok((row.get(0)?, Shape { turns: row.get(1)?, parts: row.get(2)?, newest: row.get(3)? }))
            })?;
            Ok(rows.into_iter().collect())
        })
    }

    /// Returns the part of a conversation that an extractor has read; `None` if it has read nothing of it.
    pub(crate) fn extracted_of(&self, episode: EpisodeKey, extractor: &str) -> StoreResult<Option<Shape>> {
        self.read(|view| {
            let sql = "SELECT turns, parts, newest_turn FROM extraction WHERE episode_id = ?1 AND extractor = ?2";
            view.first(sql, params![episode, extractor], |row| {
                Ok(Shape { turns: row.get(0)?, parts: row.get(1)?, newest: row.get(2)? })
            })
        })
    }

    /// Returns the rows and native ids of sessions that were last used at or after a time and have at least `turns` turns
    /// more than an extractor has read, the latest first; of a project, or of all. Without those that only programs held.
    pub(crate) fn sessions_with_more(
        &self,
        extractor: &str,
        project: Option<ProjectKey>,
        since: UtcMillis,
        turns: i64,
    ) -> StoreResult<Vec<(EpisodeKey, String)>> {
        let sql = format!(
            "SELECT episode.id, native_id FROM episode
             LEFT JOIN extraction ON extraction.episode_id = episode.id AND extractor = ?1
             WHERE kind = 'session' AND forgotten_ms IS NULL AND updated_ms >= ?2 AND (?3 IS NULL OR project_id = ?3)
               AND (SELECT count(*) FROM turn WHERE turn.episode_id = episode.id)
                   + (SELECT count(*) FROM turn_share WHERE turn_share.episode_id = episode.id)
                   - coalesce(extraction.turns, 0) >= ?4
               AND NOT {IS_OF_PROGRAMS}
             ORDER BY updated_ms DESC, episode.id"
        );
        self.read(|view| view.all(&sql, params![extractor, since, project, turns], |row| Ok((row.get(0)?, row.get(1)?))))
    }

    /// Records that an extractor has read a conversation.
    pub(crate) fn note_extraction(&self, episode: EpisodeKey, extractor: &str, shape: Shape, at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| note(tx, episode, extractor, shape, at))
    }

    /// Forgets that extractors have read a conversation.
    pub(crate) fn forget_extraction(&self, episode: EpisodeKey, extractors: &[&str]) -> StoreResult<()> {
        self.write(|tx| {
            for extractor in extractors {
                tx.execute("DELETE FROM extraction WHERE episode_id = ?1 AND extractor = ?2", params![episode, extractor])?;
            }
            Ok(())
        })
    }

    /// Returns the memories with evidence in a conversation, whatever their status.
    pub(crate) fn memories_with_evidence_in(&self, episode: EpisodeKey) -> StoreResult<Vec<Memory>> {
        self.read(|view| {
            let rows: Vec<MemoryKey> = view.column(
                "SELECT DISTINCT memory_id FROM turn JOIN memory_evidence ON turn_uid = turn.uid WHERE episode_id = ?1",
                [episode],
            )?;
            rows.into_iter().filter_map(|row| view.memory_of_row(row).transpose()).collect()
        })
    }

    /// Returns the memories with evidence in a conversation whose evidence was all taken back.
    pub(crate) fn memories_of_taken_back(&self, episode: EpisodeKey) -> StoreResult<Vec<Memory>> {
        self.read(|view| {
            let rows: Vec<MemoryKey> = view.column(
                "SELECT memory_id FROM memory_evidence LEFT JOIN turn ON turn.uid = turn_uid
                 WHERE memory_id IN (SELECT memory_id FROM turn JOIN memory_evidence ON turn_uid = turn.uid
                     WHERE episode_id = ?1 AND caveat = 'taken_back')
                 GROUP BY memory_id HAVING count(*) = sum(turn.caveat IS 'taken_back')",
                [episode],
            )?;
            rows.into_iter().filter_map(|row| view.memory_of_row(row).transpose()).collect()
        })
    }

    /// Returns the projects of turns, as far as they have one.
    pub(crate) fn projects_of(&self, turns: &[TurnKey]) -> StoreResult<HashMap<TurnKey, ProjectId>> {
        self.read(|view| {
            let rows = view.all(
                "SELECT turn.id, project.uid FROM turn JOIN project ON project.id = turn.project_id
                 WHERE turn.id IN (SELECT value FROM json_each(?1))",
                [json_of(turns)],
                |row| Ok((row.get(0)?, ProjectId::from_bytes(row.get(1)?))),
            )?;
            Ok(rows.into_iter().collect())
        })
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
