//! Deletion. Soft: nothing answers from the session any more, and it can be restored. Hard: its
//! words are in no byte of the database afterwards; the archive is rewritten by
//! `ingest::forget`, which calls the steps here.

use std::path::PathBuf;

use rusqlite::{OptionalExtension, Transaction, params};
use yore_core::episode::EpisodeKind;
use yore_core::time::UtcMillis;

use super::upsert::NativeId;
use super::{LineRun, Store, StoreError, StoreResult, backup};

const UNUSED_LABELS: &str = "DELETE FROM label WHERE id NOT IN (
     SELECT branch_id FROM turn WHERE branch_id IS NOT NULL UNION SELECT cwd_id FROM turn WHERE cwd_id IS NOT NULL
     UNION SELECT model_id FROM turn WHERE model_id IS NOT NULL UNION SELECT speaker_id FROM turn WHERE speaker_id IS NOT NULL
     UNION SELECT language_id FROM code_block WHERE language_id IS NOT NULL UNION SELECT name_id FROM tool_use WHERE name_id IS NOT NULL)";

/// What was, or would be, forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Forgotten {
    /// Native ids of the session and its sub-agents.
    pub episodes: Vec<String>,
    /// Turns they hold.
    pub turns: u64,
    /// Lines removed from the archive (hard only).
    pub archive_lines: u64,
    /// Backups that hold the words too and were deleted (hard only).
    pub backups: Vec<PathBuf>,
    /// Whether nothing can bring it back.
    pub is_hard: bool,
}

impl Store {
    /// Kind of an episode and the native id of its parent.
    pub(crate) fn episode_kind(&self, episode: i64) -> StoreResult<Option<(EpisodeKind, Option<String>)>> {
        self.read(|db| {
            db.query_row("SELECT kind, parent_native_id FROM episode WHERE id = ?1", [episode], |row| {
                Ok((EpisodeKind::parse(&row.get::<_, String>(0)?).unwrap_or(EpisodeKind::Session), row.get(1)?))
            })
            .optional()
            .map_err(|error| self.fail(error))
        })
    }

    /// Number of turns of these episodes.
    pub(crate) fn count_turns(&self, episodes: &[i64]) -> StoreResult<u64> {
        self.read(|db| {
            let mut sum = 0;
            for episode in episodes {
                sum += db
                    .query_row("SELECT count(*) FROM turn WHERE episode_id = ?1", [episode], |row| row.get::<_, i64>(0))
                    .map_err(|error| self.fail(error))? as u64;
            }
            Ok(sum)
        })
    }

    /// Hides episodes from every answer, or shows them again.
    pub(crate) fn set_forgotten(&self, episodes: &[i64], at: Option<UtcMillis>) -> StoreResult<()> {
        self.write(|tx| {
            for episode in episodes {
                tx.execute("UPDATE episode SET forgotten_ms = ?2 WHERE id = ?1", params![episode, at])
                    .map_err(|error| self.fail(error))?;
                tx.execute("INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE episode_id = ?1", [episode])
                    .map_err(|error| self.fail(error))?;
            }
            Ok(())
        })
    }

    /// Deletes episodes with their turns, and every string that only they used.
    pub(crate) fn delete_episodes(&self, tx: &Transaction<'_>, episodes: &[i64]) -> StoreResult<()> {
        for episode in episodes {
            for sql in [
                "INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE episode_id = ?1",
                "DELETE FROM turn_text WHERE turn_id IN (SELECT id FROM turn WHERE episode_id = ?1)",
                "DELETE FROM episode WHERE id = ?1",
            ] {
                tx.execute(sql, [episode]).map_err(|error| self.fail(error))?;
            }
        }
        tx.execute_batch(UNUSED_LABELS).map_err(|error| self.fail(error))?;
        tx.execute_batch(
            "DELETE FROM path WHERE id NOT IN (SELECT path_id FROM turn_file UNION SELECT path_id FROM code_block WHERE path_id IS NOT NULL);
             UPDATE source_file SET reader_state = '' WHERE id NOT IN (SELECT file_id FROM file_episode);
             DELETE FROM skip WHERE file_id NOT IN (SELECT file_id FROM file_episode);
             INSERT OR REPLACE INTO index_state (name, value) VALUES ('purge', 'owed'), ('purge-vectors', 'owed');
             DELETE FROM project WHERE id NOT IN (SELECT project_id FROM episode WHERE project_id IS NOT NULL)
                 AND id NOT IN (SELECT project_id FROM turn WHERE project_id IS NOT NULL);",
        )
        .map_err(|error| self.fail(error))?;
        self.release_vectors(tx)
    }

    /// Episodes of an agent that hold or repeat one of these messages.
    pub(crate) fn episodes_with_messages<'m>(
        &self,
        agent: &str,
        messages: impl Iterator<Item = &'m String>,
    ) -> StoreResult<Vec<i64>> {
        self.read(|db| {
            let mut found = std::collections::BTreeSet::new();
            let mut statement = db
                .prepare_cached(
                    "SELECT episode.id FROM turn JOIN episode ON episode.id = turn.episode_id WHERE turn.native_id = ?1 AND agent = ?2
                     UNION SELECT episode.id FROM turn JOIN turn_share ON turn_share.turn_id = turn.id
                     JOIN episode ON episode.id = turn_share.episode_id WHERE turn.native_id = ?1 AND agent = ?2",
                )
                .map_err(|error| self.fail(error))?;
            for message in messages {
                let rows = statement
                    .query_map(params![NativeId(message), agent], |row| row.get::<_, i64>(0))
                    .map_err(|error| self.fail(error))?;
                for row in rows {
                    found.insert(row.map_err(|error| self.fail(error))?);
                }
            }
            Ok(found.into_iter().collect())
        })
    }

    /// Takes the titles of `episodes` and of all that `files` speak of away; gives the files that tell them.
    pub(crate) fn clear_titles(&self, files: &[i64], episodes: &[i64]) -> StoreResult<Vec<i64>> {
        self.write(|tx| {
            let mut cleared: std::collections::BTreeSet<i64> = episodes.iter().copied().collect();
            for file in files {
                let mut statement = tx
                    .prepare_cached("SELECT episode_id FROM file_episode WHERE file_id = ?1")
                    .map_err(|error| self.fail(error))?;
                let rows = statement.query_map([file], |row| row.get::<_, i64>(0)).map_err(|error| self.fail(error))?;
                for row in rows {
                    cleared.insert(row.map_err(|error| self.fail(error))?);
                }
            }
            let mut tell: std::collections::BTreeSet<i64> = files.iter().copied().collect();
            for episode in cleared {
                tx.prepare_cached(
                    "UPDATE episode SET title = NULL, title_rank = 'first_words', title_ms = NULL, title_line = 0 WHERE id = ?1",
                )
                .and_then(|mut statement| statement.execute([episode]))
                .map_err(|error| self.fail(error))?;
                let mut statement = tx
                    .prepare_cached("SELECT file_id FROM file_episode WHERE episode_id = ?1")
                    .map_err(|error| self.fail(error))?;
                let rows = statement.query_map([episode], |row| row.get::<_, i64>(0)).map_err(|error| self.fail(error))?;
                for row in rows {
                    tell.insert(row.map_err(|error| self.fail(error))?);
                }
            }
            Ok(tell.into_iter().collect())
        })
    }

    /// Deletes labels that no turn uses.
    pub(crate) fn release_labels(&self) -> StoreResult<()> {
        self.write(|tx| tx.execute_batch(UNUSED_LABELS).map_err(|error| self.fail(error)))
    }

    /// Deletes the turns of any session of an agent with one of these native ids: copies of what
    /// is forgotten.
    pub(crate) fn delete_copies<'m>(
        &self,
        tx: &Transaction<'_>,
        agent: &str,
        messages: impl Iterator<Item = &'m String>,
    ) -> StoreResult<()> {
        for message in messages {
            for sql in [
                "INSERT INTO lexical_queue (turn_id) SELECT turn.id FROM turn JOIN episode ON episode.id = episode_id WHERE turn.native_id = ?1 AND agent = ?2",
                "DELETE FROM turn_text WHERE turn_id IN (SELECT turn.id FROM turn JOIN episode ON episode.id = episode_id WHERE turn.native_id = ?1 AND agent = ?2)",
                "DELETE FROM turn WHERE id IN (SELECT turn.id FROM turn JOIN episode ON episode.id = episode_id WHERE turn.native_id = ?1 AND agent = ?2)",
            ] {
                tx.prepare_cached(sql)
                    .and_then(|mut statement| statement.execute(params![NativeId(message), agent]))
                    .map_err(|error| self.fail(error))?;
            }
            tx.prepare_cached("DELETE FROM pending_title WHERE message = ?1 AND agent = ?2")
                .and_then(|mut statement| statement.execute(params![message, agent]))
                .map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    /// Remembers, by keyed hash, what must not be read again.
    pub(crate) fn bury(&self, tx: &Transaction<'_>, hashes: &[[u8; 16]], now: UtcMillis) -> StoreResult<()> {
        let mut statement = tx
            .prepare_cached("INSERT OR IGNORE INTO tombstone (hash, created_ms) VALUES (?1, ?2)")
            .map_err(|error| self.fail(error))?;
        for hash in hashes {
            statement.execute(params![hash, now]).map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    /// Every (file, generation) with segments.
    pub(crate) fn generations(&self) -> StoreResult<Vec<(i64, i64)>> {
        self.read(|db| {
            self.collect(db, "SELECT DISTINCT file_id, generation FROM segment ORDER BY 1, 2", |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }

    /// Replaces all segments of one generation of a file.
    pub(crate) fn replace_segments(&self, tx: &Transaction<'_>, file: i64, generation: i64, runs: &[LineRun]) -> StoreResult<()> {
        tx.execute("DELETE FROM segment WHERE file_id = ?1 AND generation = ?2", [file, generation])
            .map_err(|error| self.fail(error))?;
        self.append_segments(tx, file, generation, runs)
    }

    /// Deletes blobs that no file refers to; returns how many.
    pub(crate) fn release_blobs(&self, tx: &Transaction<'_>) -> StoreResult<u64> {
        tx.execute(
            "DELETE FROM archive_line WHERE blob_id IN (SELECT id FROM blob WHERE id NOT IN (SELECT blob_id FROM segment))",
            [],
        )
        .map_err(|error| self.fail(error))?;
        let released =
            tx.execute("DELETE FROM blob WHERE id NOT IN (SELECT blob_id FROM segment)", []).map_err(|error| self.fail(error))?;
        Ok(released as u64)
    }

    /// Deletes every backup, what an upgrade, a restoring or a repair left included.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the first that could not be deleted.
    pub(crate) fn purge_backups(&self) -> StoreResult<Vec<PathBuf>> {
        let found = self.backups();
        for backup in &found {
            std::fs::remove_file(backup).map_err(|error| StoreError::from_io(backup, error))?;
        }
        Ok(found)
    }

    /// Every file that holds what the database held at some time.
    pub(crate) fn backups(&self) -> Vec<PathBuf> {
        self.path().parent().map(backup::files).unwrap_or_default()
    }
}
