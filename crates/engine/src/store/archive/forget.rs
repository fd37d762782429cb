//! Deletes sessions and memories from the database, softly or permanently; stores the plan of a deletion. Soft: the session is in
//! no answer any more, and can be restored. Hard: no byte of its text is left in the database; `ingest::forget` rewrites the
//! archive and calls the steps here.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use rusqlite::params;
use yore_core::id::{EpisodeId, TurnId};
use yore_core::relation::Node;
use yore_core::time::UtcMillis;

use super::native_id::{NativeId, native_id};
use super::words;
use crate::store::keys::{BlobKey, EpisodeKey, FileKey, TurnKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

pub(super) const UNUSED_PATHS: &str = "DELETE FROM path WHERE id NOT IN (SELECT path_id FROM turn_file UNION SELECT path_id FROM code_block WHERE path_id IS NOT NULL)";
pub(super) const UNUSED_LABELS: &str =
    "DELETE FROM label WHERE id NOT IN ( SELECT branch_id FROM turn WHERE branch_id IS NOT NULL
                 UNION SELECT cwd_id FROM turn WHERE cwd_id IS NOT NULL UNION SELECT model_id FROM turn
                 WHERE model_id IS NOT NULL UNION SELECT speaker_id FROM turn WHERE speaker_id IS NOT NULL
                 UNION SELECT language_id FROM code_block WHERE language_id IS NOT NULL UNION SELECT name_id
                 FROM tool_use WHERE name_id IS NOT NULL)";

/// Something that a selection is to forget.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SelectedItem {
    /// `session`, `document`, `note` or `memory`.
    pub kind: String,
    /// Id for people.
    pub id: String,
    /// Title, or the statement of a memory.
    pub title: Option<String>,
    /// Time of the last turn, or when the memory was recorded.
    pub at: Option<UtcMillis>,
}

/// Result of forgetting, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Forgotten {
    /// Native ids of the session and its sub-agents.
    pub episodes: Vec<String>,
    /// Number of their turns.
    pub turns: u64,
    /// Lines removed from the archive (hard only).
    pub archive_lines: u64,
    /// Backups with the text that were deleted (hard only).
    pub backups: Vec<PathBuf>,
    /// True if it cannot be restored.
    pub is_hard: bool,
    /// Memories that go with it: those that rest on it alone, or the one that was named.
    #[serde(default)]
    pub memories: u64,
    /// Memories that rest on more, and lose their quotes of it, or what the log says of them before a change (hard only).
    #[serde(default)]
    pub memories_kept: u64,
    /// The items that a selection has chosen; empty where an id was given.
    #[serde(default)]
    pub selected: Vec<SelectedItem>,
}

/// What a hard forgetting deletes. It is stored before the first step, because later steps need what earlier ones
/// destroy; whoever finds it afterwards does all steps that are left.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct ForgetPlan {
    /// The agent of the sessions.
    pub agent: String,
    /// Native ids of the sessions.
    pub sessions: HashSet<String>,
    /// The sessions and their sub-agents; empty once they are deleted.
    pub episodes: Vec<EpisodeKey>,
    /// Native ids of their messages; copies of them in other sessions are deleted too.
    pub messages: HashSet<String>,
    /// Blobs that hold lines of them.
    pub blobs: HashSet<BlobKey>,
    /// Files that hold lines of them.
    pub files: Vec<FileKey>,
    /// Sessions whose titles may be derived from them.
    pub titled: Vec<EpisodeKey>,
}

/// The content to delete permanently. Its lines have already been removed from the archive.
pub(crate) struct Forgetting<'a> {
    /// The agent of the session.
    pub agent: &'a str,
    /// Native ids of its messages; copies of them in other sessions are deleted too.
    pub messages: &'a HashSet<String>,
    /// The session and its sub-agents.
    pub episodes: &'a [EpisodeKey],
    /// Time of the deletion.
    pub now: UtcMillis,
    /// The stored plan, and what is left of it afterwards.
    pub plan: Option<(i64, &'a ForgetPlan)>,
}

impl Store {
    /// Returns whether any turn of an episode has these words, which are in lower case: what was said, what a tool got
    /// and gave, and versions that were replaced.
    pub(crate) fn has_words(&self, episode: EpisodeKey, text: &str) -> StoreResult<bool> {
        let mut is_found = false;
        self.read(|view| {
            view.each(
                "SELECT words FROM turn JOIN turn_text ON turn_text.turn_id = turn.id
                 WHERE episode_id = ?1 OR turn.id IN (SELECT turn_id FROM turn_share WHERE turn_share.episode_id = ?1)",
                [episode],
                |row| {
                    let stored: Vec<u8> = row.get(0)?;
                    is_found = words::decode(&stored).is_some_and(|(said, by_tools)| {
                        said.to_lowercase().contains(text) || by_tools.to_lowercase().contains(text)
                    });
                    Ok(if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                },
            )
        })?;
        Ok(is_found)
    }

    /// Hides episodes from every answer, or shows them again.
    pub(crate) fn set_forgotten(&self, episodes: &[EpisodeKey], at: Option<UtcMillis>) -> StoreResult<()> {
        self.write(|tx| {
            for episode in episodes {
                tx.execute("UPDATE episode SET forgotten_ms = ?2 WHERE id = ?1", params![episode, at])?;
                tx.execute("INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE episode_id = ?1", [episode])?;
                // Memories that rest on it alone are found no more.
                tx.execute(
                    "INSERT INTO lexical_queue (turn_id) SELECT DISTINCT -memory_id FROM memory_evidence
                     JOIN turn ON turn.uid = turn_uid WHERE turn.episode_id = ?1",
                    [episode],
                )?;
            }
            tx.drop_insights()
        })
    }

    /// Deletes episodes with their turns, the copies of their messages, and every string and blob that only
    /// they used.
    pub(crate) fn forget(&self, what: &Forgetting<'_>) -> StoreResult<()> {
        self.write(|tx| {
            let mut turns: Vec<TurnId> = Vec::new();
            let uid = |row: &rusqlite::Row<'_>| row.get(0).map(TurnId::from_bytes);
            for message in what.messages {
                turns.extend(tx.all(
                    "SELECT turn.uid FROM turn JOIN episode ON episode.id = episode_id WHERE turn.native_id = ?1 AND agent = ?2",
                    params![NativeId(message), what.agent],
                    uid,
                )?);
            }
            for episode in what.episodes {
                turns.extend(tx.all("SELECT uid FROM turn WHERE episode_id = ?1", [episode], uid)?);
            }
            tx.forget_evidence(&turns, what.now)?;
            let ends =
                "SELECT from_key FROM relation WHERE from_kind = 'turn' UNION SELECT to_key FROM relation WHERE to_kind = 'turn'";
            let related: HashSet<TurnId> = tx.all(ends, [], uid)?.into_iter().collect();
            for turn in turns.into_iter().filter(|turn| related.contains(turn)) {
                tx.forget_node(&Node::Turn(turn))?;
            }
            for episode in what.episodes {
                let id = |row: &rusqlite::Row<'_>| row.get(0).map(EpisodeId::from_bytes);
                for id in tx.all("SELECT uid FROM episode WHERE id = ?1", [episode], id)? {
                    tx.forget_node(&Node::Session(id))?;
                    tx.forget_node(&Node::Context(id))?;
                }
            }
            tx.forget_repetitions()?;
            for message in what.messages {
                tx.delete_copies(what.agent, message)?;
            }
            tx.delete_episodes(what.episodes)?;
            tx.release_blobs()?;
            if let Some((number, rest)) = what.plan {
                tx.execute("UPDATE forget_plan SET plan = ?2 WHERE id = ?1", params![number, tx.plan_text(rest)?])?;
            }
            Ok(())
        })
    }

    /// Stores plans of hard forgettings, together with the keyed hashes of what must not be read again; returns the numbers
    /// of the plans.
    pub(crate) fn begin_forgetting(
        &self,
        plans: &[&ForgetPlan],
        tombstones: &[[u8; 16]],
        now: UtcMillis,
    ) -> StoreResult<Vec<i64>> {
        self.write(|tx| {
            tx.bury(tombstones, now)?;
            let mut numbers = Vec::new();
            for plan in plans {
                tx.execute("INSERT INTO forget_plan (plan) VALUES (?1)", [tx.plan_text(plan)?])?;
                numbers.push(tx.value("SELECT max(id) FROM forget_plan", [])?);
            }
            Ok(numbers)
        })
    }

    /// Returns the plans that were not finished, oldest first.
    pub(crate) fn forget_plans(&self) -> StoreResult<Vec<(i64, ForgetPlan)>> {
        self.read(|view| {
            let rows = view.all("SELECT id, plan FROM forget_plan ORDER BY id", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            rows.into_iter()
                .map(|(number, plan)| Ok((number, serde_json::from_str(&plan).map_err(|error| view.failed(error.into()))?)))
                .collect()
        })
    }

    /// Removes a plan whose last step is done.
    pub(crate) fn end_forgetting(&self, number: i64) -> StoreResult<()> {
        self.write(|tx| tx.execute("DELETE FROM forget_plan WHERE id = ?1", [number]).map(drop))
    }

    /// Returns the native ids of the messages of these episodes, by the stored turns: those that no message of another session can
    /// have by chance, because they are UUIDs.
    pub(crate) fn messages_of(&self, episodes: &[EpisodeKey]) -> StoreResult<Vec<String>> {
        self.read(|view| {
            let mut found = Vec::new();
            for episode in episodes {
                found.extend(view.all(
                    "SELECT native_id FROM turn WHERE episode_id = ?1 AND typeof(native_id) = 'blob'",
                    [episode],
                    |row| Ok(native_id(row.get_ref(0)?)),
                )?);
            }
            found.retain(|message| !message.is_empty());
            Ok(found)
        })
    }

    /// Removes the turns up to row `up_to` that the pass `pass` over the whole archive did not see; returns
    /// their number.
    pub(crate) fn sweep_turns(&self, pass: i64, up_to: TurnKey) -> StoreResult<u64> {
        self.write(|tx| {
            let unseen = tx.column("SELECT id FROM turn WHERE reading <> ?1 AND id <= ?2", params![pass, up_to])?;
            tx.remove_turns(&unseen)?;
            Ok(unseen.len() as u64)
        })
    }

    /// Removes the titles of `episodes` and of all episodes in `files`; returns `files` and
    /// the other files with content of these episodes.
    pub(crate) fn clear_titles(&self, files: &[FileKey], episodes: &[EpisodeKey]) -> StoreResult<Vec<FileKey>> {
        self.write(|tx| {
            let mut cleared: BTreeSet<EpisodeKey> = episodes.iter().copied().collect();
            for file in files {
                cleared.extend(tx.column::<EpisodeKey>("SELECT episode_id FROM file_episode WHERE file_id = ?1", [file])?);
            }
            let mut tell: BTreeSet<FileKey> = files.iter().copied().collect();
            for episode in cleared {
                tx.execute(
                    "UPDATE episode SET title = NULL, title_rank = 'first_words', title_ms = NULL, title_line = 0 WHERE id = ?1",
                    [episode],
                )?;
                tell.extend(tx.column::<FileKey>("SELECT file_id FROM file_episode WHERE episode_id = ?1", [episode])?);
            }
            Ok(tell.into_iter().collect())
        })
    }
}

impl WriteTx<'_> {
    /// Deletes turns with everything that belongs to them, and queues them for the indexes: the only way in
    /// which a turn is removed.
    pub(super) fn remove_turns(&self, turns: &[TurnKey]) -> StoreResult<()> {
        for turn in turns {
            // Their conversations are divided into topics and summarised anew: a summary may hold words of the turn.
            const DERIVED: [&str; 5] =
                ["span WHERE", "event WHERE", "attempt WHERE", "session_summary WHERE", "extraction WHERE family = 'spans' AND"];
            for table in DERIVED {
                let sql = format!(
                    "DELETE FROM {table} episode_id IN (SELECT episode_id FROM turn WHERE id = ?1
                     UNION SELECT episode_id FROM turn_share WHERE turn_id = ?1)"
                );
                self.execute(&sql, [turn])?;
            }
            self.execute("INSERT INTO lexical_queue (turn_id) VALUES (?1)", [turn])?;
            self.execute("DELETE FROM turn_text WHERE turn_id = ?1", [turn])?;
            self.execute("DELETE FROM turn WHERE id = ?1", [turn])?;
        }
        Ok(())
    }

    /// Removes what may repeat words of anything that is forgotten for good: questions, insights, and summaries that a model wrote.
    pub(in crate::store) fn forget_repetitions(&self) -> StoreResult<()> {
        self.execute("UPDATE memory_access SET question = NULL WHERE question IS NOT NULL", [])?;
        self.drop_written_summaries()?;
        self.drop_insights()
    }

    /// Removes the turns of a document that its new reading does not return any more; the archive keeps the
    /// old text. Older versions of a note stay.
    pub(super) fn retire_turns(&self, file: FileKey, given: &HashSet<TurnId>) -> StoreResult<()> {
        let stored: Vec<(TurnKey, [u8; 16])> = self.all(
            "SELECT id, uid FROM turn WHERE file_id = ?1
                     AND id NOT IN (SELECT turn_id FROM note_version WHERE until_ms IS NOT NULL)",
            [file],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let retired: Vec<TurnKey> =
            stored.iter().filter(|(_, uid)| !given.contains(&TurnId::from_bytes(*uid))).map(|(turn, _)| *turn).collect();
        self.remove_turns(&retired)
    }

    /// Deletes episodes with their turns, and every string that only they used.
    fn delete_episodes(&self, episodes: &[EpisodeKey]) -> StoreResult<()> {
        for episode in episodes {
            self.remove_turns(&self.column("SELECT id FROM turn WHERE episode_id = ?1", [episode])?)?;
            self.execute("DELETE FROM episode WHERE id = ?1", [episode])?;
        }
        self.batch(UNUSED_LABELS)?;
        self.batch(UNUSED_PATHS)?;
        self.batch(
            "UPDATE source_file SET reader_state = ''
                 WHERE id NOT IN (SELECT file_id FROM file_episode); DELETE FROM skip
                 WHERE file_id NOT IN (SELECT file_id FROM file_episode); INSERT OR REPLACE INTO index_state (name,
                 value) VALUES ('purge', 'owed'), ('purge-vectors', 'owed'); DELETE FROM project
                 WHERE id NOT IN (SELECT project_id FROM episode WHERE project_id IS NOT NULL)
                 AND id NOT IN (SELECT project_id FROM turn WHERE project_id IS NOT NULL)
                 AND id NOT IN (SELECT project_id FROM memory WHERE project_id IS NOT NULL);",
        )?;
        self.release_vectors()
    }

    /// Deletes the turns of any session of an agent with this native id: copies of forgotten messages.
    fn delete_copies(&self, agent: &str, message: &str) -> StoreResult<()> {
        self.remove_turns(&self.column(
            "SELECT turn.id FROM turn JOIN episode ON episode.id = episode_id WHERE turn.native_id = ?1 AND agent = ?2",
            params![NativeId(message), agent],
        )?)?;
        self.execute("DELETE FROM pending_title WHERE message = ?1 AND agent = ?2", params![message, agent]).map(drop)
    }

    fn plan_text(&self, plan: &ForgetPlan) -> StoreResult<String> {
        serde_json::to_string(plan).map_err(|error| self.failed(error.into()))
    }

    /// Records, as keyed hashes, the content that must not be read again.
    pub(super) fn bury(&self, hashes: &[[u8; 16]], now: UtcMillis) -> StoreResult<()> {
        for hash in hashes {
            self.execute("INSERT OR IGNORE INTO tombstone (hash, created_ms) VALUES (?1, ?2)", params![hash, now])?;
        }
        Ok(())
    }
}
