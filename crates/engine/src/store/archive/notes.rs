//! Reads and writes notes in all their versions, and other documents without a project. Titles and links from a document's old
//! text are deleted before its new text is stored.
//!
//! Who lists notes compares their columns first: the text and the number of a version are read only of those that are selected.

use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{Row, params};
use yore_core::episode::{Role, TitleRank, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::memory::Use;
use yore_core::note::{NoteFacts, NoteKind, Priority};
use yore_core::time::UtcMillis;

use super::upsert::{EpisodeRow, TurnFacts, UpsertOutcome, Upserter};
use super::words;
use crate::store::feed::items::SPOKEN_GAP;
use crate::store::keys::{EpisodeKey, FileKey, ProjectKey, RowKey, TurnKey, hex_of, json_of};
use crate::store::local::transaction::WriteTx;
use crate::store::statements::memories::prune_accesses;
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
    /// Number of the version, from 1; 0 until `notes` selects it.
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
    note_version.turn_id";
/// Column of the row of the version's turn.
const TURN: usize = 20;
const JOINS: &str = "JOIN note ON note.episode_id = note_version.episode_id JOIN episode ON episode.id = note_version.episode_id
    JOIN turn ON turn.id = note_version.turn_id LEFT JOIN project ON project.id = episode.project_id";
/// The packed text of a version, and its number.
const SELECTED: &str = "SELECT words, (SELECT count(*) FROM note_version AS known JOIN note_version AS own ON own.turn_id = ?1
    WHERE known.episode_id = own.episode_id AND known.at_ms <= own.at_ms) FROM turn_text WHERE turn_id = ?1";

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
        version: 0,
        until: row.get(17)?,
        accessed: row.get(18)?,
        access_count: row.get::<_, i64>(19)?.unsigned_abs(),
        is_forgotten: row.get(9)?,
        text: String::new(),
    })
}

/// The versions of notes that a list wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Versions<'q> {
    /// The newest version of every note, the latest first.
    Newest,
    /// The newest version of each of these notes, the latest first.
    NewestOf(&'q [EpisodeKey]),
    /// The newest version of the note with this id.
    Named(&'q EpisodeId),
    /// All of one note, the first one first.
    Of(EpisodeKey),
}

/// The columns of a context that a search compares: everything but its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContextHead {
    /// Row of the episode.
    pub row: EpisodeKey,
    pub episode: EpisodeId,
    /// Row of the turn with its newest text.
    pub turn: TurnKey,
    pub topic: String,
    pub tags: Vec<String>,
    pub priority: Priority,
    pub project: Option<ProjectKey>,
    /// Time when its newest version was given.
    pub at: UtcMillis,
    /// Time when the whole context was last loaded.
    pub accessed: Option<UtcMillis>,
    /// How often it was loaded with another one, if those used with that are wanted.
    pub together: u64,
}

/// The contexts that are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Contexts<'q> {
    /// All.
    All,
    /// Those with these ids.
    Named(&'q [EpisodeId]),
    /// Those that were loaded whole in the same span of time of this length as one, or in a span before or after it: as far as its
    /// latest 20 loads and the 1,000 rows of the log around each tell.
    UsedWith(&'q EpisodeId, UtcMillis),
}

impl Store {
    /// Returns the first versions of notes that `is_wanted` selects; `is_wanted` is called with forgotten notes too.
    pub(crate) fn notes(
        &self,
        wanted: Versions<'_>,
        limit: usize,
        mut is_wanted: impl FnMut(&StoredNote) -> bool,
    ) -> StoreResult<Vec<StoredNote>> {
        let (chosen, condition): (Value, &str) = match wanted {
            Versions::Newest => {
                (Value::Null, "?1 IS NULL AND note_version.until_ms IS NULL ORDER BY turn.at_ms DESC, turn.id DESC")
            }
            Versions::NewestOf(notes) => (
                Value::Text(json_of(notes)),
                "note_version.episode_id IN (SELECT value FROM json_each(?1)) AND note_version.until_ms IS NULL
                 ORDER BY turn.at_ms DESC, turn.id DESC",
            ),
            Versions::Named(id) => (Value::Blob(id.as_bytes().to_vec()), "episode.uid = ?1 AND note_version.until_ms IS NULL"),
            Versions::Of(note) => (Value::Integer(note.get()), "note_version.episode_id = ?1 ORDER BY note_version.at_ms"),
        };
        let sql = format!("SELECT {COLUMNS} FROM note_version {JOINS} WHERE {condition}");
        self.read(|view| {
            let mut found: Vec<(TurnKey, StoredNote)> = Vec::new();
            view.each(&sql, [chosen], |row| {
                if found.len() >= limit {
                    return Ok(ControlFlow::Break(()));
                }
                let note = stored_note(row)?;
                if is_wanted(&note) {
                    found.push((row.get(TURN)?, note));
                }
                Ok(ControlFlow::Continue(()))
            })?;
            let mut notes = Vec::with_capacity(found.len());
            for (turn, mut note) in found {
                let selected = view.first(SELECTED, [turn], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?)))?;
                if let Some((packed, number)) = selected {
                    note.text = words::decode(&packed).unwrap_or_default().0;
                    note.version = number.unsigned_abs();
                    notes.push(note);
                }
            }
            Ok(notes)
        })
    }

    /// Returns contexts that are not forgotten, the latest first, without their texts.
    pub(crate) fn context_heads(&self, wanted: Contexts<'_>) -> StoreResult<Vec<ContextHead>> {
        // `?1` and `?2` belong to those that are wanted.
        let used = "JOIN (
                 WITH own AS (SELECT id, at_ms / ?2 AS span FROM memory_access WHERE memory_uid = ?1 AND way = 'opened'
                              ORDER BY at_ms DESC LIMIT 20)
                 SELECT other.memory_uid AS uid, count(DISTINCT min(own.span, other.at_ms / ?2)) AS times FROM own
                 JOIN memory_access AS other ON other.id BETWEEN own.id - 1000 AND own.id + 1000
                 WHERE other.way = 'opened' AND other.memory_uid <> ?1 AND abs(other.at_ms / ?2 - own.span) <= 1
                 GROUP BY 1) AS used ON used.uid = episode.uid";
        let (first, span, times, more) = match wanted {
            Contexts::All => (Value::Null, 0, "0", "WHERE ?1 IS NULL AND ?2 = 0"),
            Contexts::Named([]) => return Ok(Vec::new()),
            Contexts::Named(ids) => {
                let ids = hex_of(ids.iter().map(|id| id.as_bytes().as_slice()));
                (Value::Text(ids), 0, "0", "WHERE episode.uid IN (SELECT unhex(value) FROM json_each(?1)) AND ?2 = 0")
            }
            Contexts::UsedWith(context, span) => (Value::Blob(context.as_bytes().to_vec()), span, "used.times", "WHERE true"),
        };
        let used = if matches!(wanted, Contexts::UsedWith(..)) { used } else { "" };
        let sql = format!(
            "SELECT episode.id, episode.uid, note_version.turn_id, note_version.title, note_version.tags, note_version.priority,
                 episode.project_id, note_version.at_ms, note.accessed_ms, {times}
             FROM note_version JOIN note ON note.episode_id = note_version.episode_id
                 JOIN episode ON episode.id = note_version.episode_id {used}
             {more} AND note_version.kind = 'context' AND note_version.until_ms IS NULL AND note_version.title IS NOT NULL
                 AND episode.forgotten_ms IS NULL
             ORDER BY note_version.at_ms DESC, note_version.turn_id DESC"
        );
        self.read(|view| {
            view.all(&sql, params![first, span], |row| {
                let tags = row.get_ref(4)?.as_str()?;
                let priority = row.get_ref(5)?.as_str_or_null()?;
                Ok(ContextHead {
                    row: row.get(0)?,
                    episode: EpisodeId::from_bytes(row.get(1)?),
                    turn: row.get(2)?,
                    topic: row.get(3)?,
                    tags: serde_json::from_str(tags).unwrap_or_default(),
                    priority: priority.and_then(Priority::parse).unwrap_or(Priority::Reference),
                    project: row.get(6)?,
                    at: row.get(7)?,
                    accessed: row.get(8)?,
                    together: row.get::<_, i64>(9)?.unsigned_abs(),
                })
            })
        })
    }

    /// Logs that notes were read: whole (`Opened`, which is also counted), as previews (`Shown`), or along a relation (`Given`). Only
    /// contexts have a log. Reading less than the whole is not logged while anybody else writes.
    pub(crate) fn log_reading(&self, notes: &[EpisodeKey], way: Use, now: UtcMillis, session: Option<&str>) -> StoreResult<()> {
        let added = notes.len();
        let notes = json_of(notes);
        let work = |tx: &WriteTx<'_>| {
            tx.execute(
                "INSERT INTO memory_access (memory_uid, at_ms, way, session)
                 SELECT uid, ?2, ?3, ?4 FROM episode JOIN note_version ON note_version.episode_id = episode.id
                 WHERE episode.id IN (SELECT value FROM json_each(?1)) AND until_ms IS NULL AND note_version.kind = 'context'",
                params![notes, now, way.as_str(), session],
            )?;
            if way == Use::Opened {
                tx.execute(
                    "UPDATE note SET accessed_ms = max(coalesce(accessed_ms, ?2), ?2), access_count = access_count + 1
                     WHERE episode_id IN (SELECT value FROM json_each(?1))",
                    params![notes, now],
                )?;
            }
            prune_accesses(tx, added)
        };
        if way == Use::Opened { self.write(work) } else { self.write_if_free(work).map(drop) }
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
