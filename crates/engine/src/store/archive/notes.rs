//! Reads and writes notes in all their versions, and other documents without a project. Titles and links from a document's old
//! text are deleted before its new text is stored.

use std::ops::ControlFlow;

use rusqlite::{Row, params};
use yore_core::episode::{Role, TitleRank, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::time::UtcMillis;

use super::upsert::{EpisodeRow, TurnFacts, UpsertOutcome, Upserter};
use super::words;
use crate::store::feed::items::SPOKEN_GAP;
use crate::store::keys::{EpisodeKey, FileKey, ProjectKey, TurnKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// A stored version of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredNote {
    /// Row of the episode.
    pub row: EpisodeKey,
    pub episode: EpisodeId,
    /// Id of the turn with its text.
    pub turn: TurnId,
    pub native_id: String,
    pub facts: NoteFacts,
    /// Row and name of its project.
    pub project: Option<(ProjectKey, String)>,
    /// The directory that it was given for.
    pub directory: Option<String>,
    pub role: Role,
    pub at: Option<UtcMillis>,
    /// Number of the version, from 1.
    pub version: u64,
    /// Time when the next version replaced it.
    pub until: Option<UtcMillis>,
    /// Time when the whole note was last loaded.
    pub accessed: Option<UtcMillis>,
    /// Number of times that it was loaded.
    pub access_count: u64,
    pub is_forgotten: bool,
    /// Text of the note; empty until `notes` selects it.
    pub text: String,
}

impl StoredNote {
    /// Returns whether this is its id, or that of its text, or (from 4 digits on) the beginning of one.
    pub(crate) fn is_known_as(&self, id: &str) -> bool {
        let digits: String = id.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect();
        let begins = |whole: String| digits.len() >= 4 && whole.starts_with(&digits);
        self.native_id == id || begins(self.episode.to_string()) || begins(self.turn.to_string())
    }
}

const COLUMNS: &str = "episode.id, episode.uid, turn.uid, episode.native_id, project.id, project.name, episode.cwd, turn.role,
    turn.at_ms, episode.forgotten_ms IS NOT NULL, note_version.kind, note_version.title, note_version.tags, note_version.priority,
    note_version.is_confirmed, note_version.session, note_version.metadata, note_version.until_ms, note.accessed_ms, note.access_count,
    (SELECT count(*) FROM note_version AS known WHERE known.episode_id = note_version.episode_id AND known.at_ms <= note_version.at_ms),
    turn_text.words";
/// Column of the packed text in a row.
const WORDS: usize = 21;
const JOINS: &str = "JOIN note ON note.episode_id = note_version.episode_id JOIN episode ON episode.id = note_version.episode_id
    JOIN turn ON turn.id = note_version.turn_id JOIN turn_text ON turn_text.turn_id = turn.id
    LEFT JOIN project ON project.id = episode.project_id";

fn stored_note(row: &Row<'_>) -> rusqlite::Result<StoredNote> {
    let project: Option<ProjectKey> = row.get(4)?;
    let priority: Option<String> = row.get(13)?;
    Ok(StoredNote {
        row: row.get(0)?,
        episode: EpisodeId::from_bytes(row.get(1)?),
        turn: TurnId::from_bytes(row.get(2)?),
        native_id: row.get(3)?,
        facts: NoteFacts {
            kind: NoteKind::parse(&row.get::<_, String>(10)?).unwrap_or_default(),
            title: row.get(11)?,
            tags: serde_json::from_str(&row.get::<_, String>(12)?).unwrap_or_default(),
            priority: priority.as_deref().and_then(Priority::parse),
            is_confirmed: row.get(14)?,
            session: row.get(15)?,
            metadata: row.get(16)?,
        },
        project: project.zip(row.get(5)?),
        directory: row.get(6)?,
        role: Role::parse(&row.get::<_, String>(7)?).unwrap_or(Role::System),
        at: row.get(8)?,
        version: row.get::<_, i64>(20)?.unsigned_abs(),
        until: row.get(17)?,
        accessed: row.get(18)?,
        access_count: row.get::<_, i64>(19)?.unsigned_abs(),
        is_forgotten: row.get(9)?,
        text: String::new(),
    })
}

fn text_of(row: &Row<'_>) -> rusqlite::Result<String> {
    let packed: Vec<u8> = row.get(WORDS)?;
    Ok(words::decode(&packed).unwrap_or_default().0)
}

/// The versions of notes that a list wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Versions {
    /// The newest version of every note, the latest first.
    Newest,
    /// All of one note, the first one first.
    Of(EpisodeKey),
}

impl Store {
    /// Returns the first versions of notes that `is_wanted` selects; `is_wanted` is called with forgotten notes too.
    pub(crate) fn notes(
        &self,
        wanted: Versions,
        limit: usize,
        mut is_wanted: impl FnMut(&StoredNote) -> bool,
    ) -> StoreResult<Vec<StoredNote>> {
        let (note, condition) = match wanted {
            Versions::Newest => (None, "?1 IS NULL AND note_version.until_ms IS NULL ORDER BY turn.at_ms DESC, turn.id DESC"),
            Versions::Of(note) => (Some(note), "note_version.episode_id = ?1 ORDER BY note_version.at_ms"),
        };
        let sql = format!("SELECT {COLUMNS} FROM note_version {JOINS} WHERE {condition}");
        self.read(|view| {
            let mut found = Vec::new();
            view.each(&sql, [note], |row| {
                if found.len() >= limit {
                    return Ok(ControlFlow::Break(()));
                }
                let mut note = stored_note(row)?;
                if is_wanted(&note) {
                    note.text = text_of(row)?;
                    found.push(note);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(found)
        })
    }

    /// Records that a whole note was loaded; the log says when each context was.
    pub(crate) fn count_access(&self, note: EpisodeKey, now: UtcMillis) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO memory_access (memory_uid, at_ms, way)
                 SELECT uid, ?2, 'opened' FROM episode JOIN note_version ON note_version.episode_id = episode.id
                 WHERE episode.id = ?1 AND note_version.until_ms IS NULL AND note_version.kind = 'context'",
                params![note, now],
            )?;
            tx.execute(
                "UPDATE note SET accessed_ms = max(coalesce(accessed_ms, ?2), ?2), access_count = access_count + 1 WHERE episode_id = ?1",
                params![note, now],
            )
            .map(drop)
        })
    }

    /// Returns the pairs of contexts that were loaded in the same span of time of this length or in two that follow each
    /// other, and in how many spans.
    pub(crate) fn contexts_used_together(&self, span: UtcMillis) -> StoreResult<Vec<(EpisodeId, EpisodeId, u64)>> {
        self.read(|view| {
            view.all(
                "WITH loaded AS (
                     SELECT DISTINCT memory_uid AS uid, at_ms / ?1 AS span FROM memory_access WHERE memory_uid IN (
                         SELECT uid FROM episode JOIN note_version ON note_version.episode_id = episode.id
                         WHERE note_version.until_ms IS NULL AND note_version.kind = 'context' AND forgotten_ms IS NULL))
                 SELECT min(one.uid, other.uid), max(one.uid, other.uid), count(DISTINCT one.span) FROM loaded AS one
                 JOIN (SELECT uid, span FROM loaded UNION SELECT uid, span - 1 FROM loaded) AS other
                     ON other.span = one.span AND other.uid <> one.uid
                 GROUP BY 1, 2",
                [span],
                |row| {
                    let id = |column: usize| row.get(column).map(EpisodeId::from_bytes);
                    Ok((id(0)?, id(1)?, row.get::<_, i64>(2)?.unsigned_abs()))
                },
            )
        })
    }
}

impl Upserter<'_, '_> {
    /// Stores a version of a note. Versions come in any order; the time when a version was given decides
    /// which one is the newest. The note's turn always holds the newest text; older versions are turns of
    /// their own.
    pub(in crate::store) fn note(
        &mut self,
        agent: &str,
        episode: &EpisodeRow,
        turn: &Turn,
        note: &NoteFacts,
        facts: TurnFacts,
    ) -> StoreResult<UpsertOutcome> {
        let at = turn.time.utc.unwrap_or(0);
        self.tx.execute("INSERT OR IGNORE INTO note (episode_id) VALUES (?1)", [episode.id])?;
        let newest: Option<(TurnKey, UtcMillis)> = self.tx.first(
            "SELECT turn_id, at_ms FROM note_version WHERE episode_id = ?1 AND until_ms IS NULL",
            [episode.id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        match newest {
            Some((_, given)) if at < given => {
                let older = Turn { id: version_id(agent, turn, at), native_id: version_name(turn, at), ..turn.clone() };
                let outcome = self.turn(agent, episode, &older, facts)?;
                let until = self.tx.value::<UtcMillis>(
                    "SELECT min(at_ms) FROM note_version WHERE episode_id = ?1 AND at_ms > ?2",
                    params![episode.id, at],
                )?;
                self.tx.execute(
                    "UPDATE note_version SET until_ms = ?2 WHERE episode_id = ?1 AND at_ms < ?2 AND until_ms > ?2",
                    params![episode.id, at],
                )?;
                self.put_version(episode.id, &older.id, at, Some(until), note)?;
                Ok(outcome)
            }
            newest => {
                if let Some((row, given)) = newest.filter(|(_, given)| at > *given) {
                    self.part_with(row, version_id(agent, turn, given), &version_name(turn, given), at)?;
                }
                let outcome = self.turn(agent, episode, turn, facts)?;
                if outcome == UpsertOutcome::Unchanged {
                    // The same words, given anew.
                    self.stretch(episode.id, turn.time.utc)?;
                    self.tx.execute("UPDATE turn SET at_ms = ?2 WHERE uid = ?1", params![turn.id.as_bytes(), turn.time.utc])?;
                    self.tx.execute(
                        "INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE uid = ?1 AND at_ms IS NOT ?2",
                        params![turn.id.as_bytes(), newest.map(|(_, given)| given)],
                    )?;
                }
                self.put_version(episode.id, &turn.id, at, None, note)?;
                let rank = if note.title.is_some() { TitleRank::Custom } else { TitleRank::FirstWords };
                self.tx.execute(
                    "UPDATE episode SET title = ?2, title_rank = ?3, title_ms = NULL, title_line = 0 WHERE id = ?1",
                    params![episode.id, note.title, rank.as_str()],
                )?;
                Ok(outcome)
            }
        }
    }

    /// Copies the text of a note's turn, which is about to be replaced, to a new turn.
    fn part_with(&mut self, row: TurnKey, id: TurnId, name: &str, until: UtcMillis) -> StoreResult<()> {
        let copy: TurnKey = self.tx.insert(
            "INSERT INTO turn (uid, episode_id, native_id, position, role, is_error, parts, at_ms, at_original, at_offset_min, at_quality,
                               project_id, branch_id, cwd_id, model_id, speaker_id, file_id, line, reading)
             SELECT ?2, episode_id, ?3, position, role, is_error, parts, at_ms, at_original, at_offset_min, at_quality,
                    project_id, branch_id, cwd_id, model_id, speaker_id, file_id, line, reading FROM turn WHERE id = ?1",
            params![row, id.as_bytes(), name],
        )?;
        self.tx.execute("UPDATE turn SET position = position + ?2 WHERE id = ?1", params![row, SPOKEN_GAP])?;
        self.tx
            .execute("INSERT INTO turn_text (turn_id, words) SELECT ?2, words FROM turn_text WHERE turn_id = ?1", [row, copy])?;
        for table in ["lexical_queue", "embed_queue", "shape_queue"] {
            self.tx.execute(&format!("INSERT INTO {table} (turn_id) VALUES (?1)"), [copy])?;
        }
        self.tx
            .execute("UPDATE note_version SET turn_id = ?2, until_ms = ?3 WHERE turn_id = ?1", params![row, copy, until])
            .map(drop)
    }

    fn put_version(
        &mut self,
        episode: EpisodeKey,
        turn: &TurnId,
        at: UtcMillis,
        until: Option<UtcMillis>,
        note: &NoteFacts,
    ) -> StoreResult<()> {
        let NoteFacts { kind, title, tags, priority, is_confirmed, session, metadata } = note;
        let tags = serde_json::Value::from(tags.clone()).to_string();
        self.tx
            .execute(
                "INSERT INTO note_version (turn_id, episode_id, at_ms, until_ms, kind, title, tags, priority, is_confirmed, session,
                                           metadata)
                 SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 FROM turn WHERE uid = ?1
                 ON CONFLICT (turn_id) DO UPDATE SET at_ms = excluded.at_ms, until_ms = excluded.until_ms, kind = excluded.kind,
                     title = excluded.title, tags = excluded.tags, priority = excluded.priority,
                     is_confirmed = excluded.is_confirmed, session = excluded.session, metadata = excluded.metadata",
                params![
                    turn.as_bytes(),
                    episode,
                    at,
                    until,
                    kind.as_str(),
                    title,
                    tags,
                    priority.map(Priority::as_str),
                    is_confirmed,
                    session,
                    metadata
                ],
            )
            .map(drop)
    }
}

/// Returns the id of an older version, which has a turn of its own.
fn version_id(agent: &str, turn: &Turn, at: UtcMillis) -> TurnId {
    TurnId::derive(agent, &turn.id.to_string(), &version_name(turn, at), 0)
}

/// Returns its native id.
fn version_name(turn: &Turn, at: UtcMillis) -> String {
    format!("{}@{at}", turn.native_id)
}

impl WriteTx<'_> {
    /// Deletes the title and the links that came from a document's old text.
    pub(super) fn reset_document(&self, file: FileKey) -> StoreResult<()> {
        for sql in [
            "UPDATE episode SET title = NULL, title_rank = 'first_words', title_ms = NULL, title_line = 0
             WHERE id IN (SELECT episode_id FROM file_episode WHERE file_id = ?1)",
            "DELETE FROM episode_link WHERE episode_id IN (SELECT episode_id FROM file_episode WHERE file_id = ?1)",
        ] {
            self.execute(sql, [file])?;
        }
        Ok(())
    }
}
