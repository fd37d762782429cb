//! Projects, episodes and turns: written once, replaced only by a fuller copy, read in order.

use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};
use yore_core::episode::{Episode, EpisodeKind, Role, Title, TitleRank, Turn};
use yore_core::id::{EpisodeId, ProjectId, TurnId};
use yore_core::scope::ProjectAlias;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::{Store, StoreError, StoreResult, words};

/// Distance between neighbouring turns of an episode, so that a turn from another snapshot finds
/// room between two.
const GAP: i64 = 1 << 20;

/// What a turn's upsert did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpsertOutcome {
    /// A new turn.
    Added,
    /// A fuller or better read copy replaced the stored one.
    Updated,
    /// The turn was known.
    Unchanged,
    /// The turn belongs to another session, to which this one now refers.
    Shared,
}

/// An episode as a writer needs it.
#[derive(Clone, Debug)]
pub(crate) struct EpisodeRow {
    /// Row id.
    pub id: i64,
    /// Its project.
    pub project: Option<i64>,
    /// The directory it began in, as recorded.
    pub cwd: Option<String>,
}

/// Where a turn was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnFacts {
    /// The file.
    pub file: i64,
    /// 1-based line of its first words.
    pub line: u64,
    /// Its project.
    pub project: Option<i64>,
    /// Number of the reading of the whole archive (`reindex`) that saw it.
    pub reading: i64,
}

/// Writes episodes and turns inside one transaction, remembering what it looked up there.
pub(crate) struct Upserter<'tx, 'db> {
    tx: &'tx Transaction<'db>,
    store: &'tx Store,
    labels: HashMap<String, i64>,
    projects: HashMap<ProjectAlias, i64>,
    episodes: HashMap<EpisodeId, EpisodeRow>,
    /// Per file and episode: row of the last turn that the file gave.
    cursors: HashMap<(i64, i64), Option<i64>>,
}

impl<'tx, 'db> Upserter<'tx, 'db> {
    pub(crate) fn new(store: &'tx Store, tx: &'tx Transaction<'db>) -> Self {
        Self { tx, store, labels: HashMap::new(), projects: HashMap::new(), episodes: HashMap::new(), cursors: HashMap::new() }
    }

    fn fail(&self, error: rusqlite::Error) -> StoreError {
        self.store.fail(error)
    }

    /// The project that is known by any of `aliases` (the first that matches decides), created
    /// under `name` if none is; it is known by all of them afterwards.
    pub(crate) fn project(
        &mut self,
        aliases: &[(ProjectAlias, String)],
        name: &str,
        fresh: ProjectId,
        now: UtcMillis,
    ) -> StoreResult<i64> {
        let mut found = None;
        for (alias, _) in aliases {
            if let Some(project) = self.projects.get(alias) {
                found = Some(*project);
                break;
            }
            found = self
                .tx
                .prepare_cached("SELECT project_id FROM project_alias WHERE kind = ?1 AND value = ?2")
                .and_then(|mut statement| statement.query_row(params![alias.kind(), alias.value()], |row| row.get(0)).optional())
                .map_err(|error| self.fail(error))?;
            if found.is_some() {
                break;
            }
        }
        let project = match found {
            Some(project) => project,
            None => {
                let name = if name.is_empty() { "unnamed" } else { name };
                self.tx
                    .execute(
                        "INSERT INTO project (uid, name, created_ms) VALUES (?1, ?2, ?3)",
                        params![fresh.as_bytes(), name, now],
                    )
                    .map_err(|error| self.fail(error))?;
                self.tx.last_insert_rowid()
            }
        };
        for (alias, recorded) in aliases {
            if self.projects.insert(alias.clone(), project).is_none() {
                self.tx
                    .prepare_cached(
                        "INSERT OR IGNORE INTO project_alias (kind, value, recorded, project_id) VALUES (?1, ?2, ?3, ?4)",
                    )
                    .and_then(|mut statement| statement.execute(params![alias.kind(), alias.value(), recorded, project]))
                    .map_err(|error| self.fail(error))?;
            }
        }
        Ok(project)
    }

    /// The stored episode, if any.
    pub(crate) fn find_episode(&mut self, id: &EpisodeId) -> StoreResult<Option<EpisodeRow>> {
        if let Some(row) = self.episodes.get(id) {
            return Ok(Some(row.clone()));
        }
        let row = self
            .tx
            .prepare_cached("SELECT id, project_id, cwd FROM episode WHERE uid = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([id.as_bytes()], |row| Ok(EpisodeRow { id: row.get(0)?, project: row.get(1)?, cwd: row.get(2)? }))
                    .optional()
            })
            .map_err(|error| self.fail(error))?;
        if let Some(row) = &row {
            self.episodes.insert(*id, row.clone());
        }
        Ok(row)
    }

    /// Stores an episode, or fills in what an earlier reading did not know.
    pub(crate) fn episode(&mut self, episode: &Episode, project: Option<i64>) -> StoreResult<EpisodeRow> {
        let known = self.find_episode(&episode.id)?;
        if let Some(row) = known {
            let lacks = row.cwd.is_none() && episode.cwd.is_some() || row.project.is_none() && project.is_some();
            if !lacks {
                return Ok(row);
            }
            self.tx
                .execute(
                    "UPDATE episode SET cwd = coalesce(cwd, ?2), project_id = coalesce(project_id, ?3) WHERE id = ?1",
                    params![row.id, episode.cwd, project],
                )
                .map_err(|error| self.fail(error))?;
            let row = EpisodeRow { cwd: row.cwd.or_else(|| episode.cwd.clone()), project: row.project.or(project), ..row };
            self.episodes.insert(episode.id, row.clone());
            return Ok(row);
        }
        self.tx
            .prepare_cached(
                "INSERT INTO episode (uid, agent, native_id, kind, parent_native_id, project_id, cwd, client_version)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    episode.id.as_bytes(),
                    episode.agent,
                    episode.native_id,
                    episode.kind.as_str(),
                    episode.parent_native_id,
                    project,
                    episode.cwd,
                    episode.client_version
                ])
            })
            .map_err(|error| self.fail(error))?;
        let row = EpisodeRow { id: self.tx.last_insert_rowid(), project, cwd: episode.cwd.clone() };
        self.episodes.insert(episode.id, row.clone());
        Ok(row)
    }

    /// Gives an episode a title unless it has a surer one.
    pub(crate) fn title(&mut self, episode: i64, title: &Title) -> StoreResult<()> {
        let rank = |name: &str| TitleRank::ALL.iter().position(|rank| rank.as_str() == name).unwrap_or(0);
        let stored: (Option<String>, String) = self
            .tx
            .prepare_cached("SELECT title, title_rank FROM episode WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([episode], |row| Ok((row.get(0)?, row.get(1)?))))
            .map_err(|error| self.fail(error))?;
        if rank(title.rank.as_str()) < rank(&stored.1)
            || stored.0.as_deref() == Some(&title.text) && stored.1 == title.rank.as_str()
        {
            return Ok(());
        }
        self.tx
            .execute(
                "UPDATE episode SET title = ?2, title_rank = ?3 WHERE id = ?1",
                params![episode, title.text, title.rank.as_str()],
            )
            .map(drop)
            .map_err(|error| self.fail(error))
    }

    /// Remembers something that an episode points to, such as a pull request.
    pub(crate) fn link(&mut self, episode: i64, kind: &str, value: &str) -> StoreResult<()> {
        self.tx
            .prepare_cached("INSERT OR IGNORE INTO episode_link (episode_id, kind, value) VALUES (?1, ?2, ?3)")
            .and_then(|mut statement| statement.execute(params![episode, kind, value]))
            .map(drop)
            .map_err(|error| self.fail(error))
    }

    /// The episode of an agent that holds the message with this native id.
    pub(crate) fn episode_of_message(&mut self, agent: &str, native_message: &str) -> StoreResult<Option<i64>> {
        self.tx
            .prepare_cached("SELECT episode.id FROM turn JOIN episode ON episode.id = turn.episode_id WHERE turn.native_id = ?1 AND episode.agent = ?2 LIMIT 1")
            .and_then(|mut statement| statement.query_row(params![NativeId(native_message), agent], |row| row.get(0)).optional())
            .map_err(|error| self.fail(error))
    }

    /// Stores a turn of an episode.
    pub(crate) fn turn(
        &mut self,
        agent: &str,
        episode: &EpisodeRow,
        turn: &Turn,
        facts: TurnFacts,
    ) -> StoreResult<UpsertOutcome> {
        let stored = self
            .tx
            .prepare_cached("SELECT id, episode_id, parts, role, is_error, reading FROM turn WHERE uid = ?1")
            .and_then(|mut statement| {
                statement
                    .query_row([turn.id.as_bytes()], |row| {
                        Ok((
                            row.get::<_, i64>(0)?,
                            row.get::<_, i64>(1)?,
                            row.get::<_, u32>(2)?,
                            row.get::<_, String>(3)?,
                            row.get::<_, bool>(4)?,
                            row.get::<_, i64>(5)?,
                        ))
                    })
                    .optional()
            })
            .map_err(|error| self.fail(error))?;
        if let Some((id, _, parts, role, is_error, reading)) = stored {
            self.cursors.insert((facts.file, episode.id), Some(id));
            if reading < facts.reading {
                self.tx
                    .prepare_cached("UPDATE turn SET reading = ?2 WHERE id = ?1")
                    .and_then(|mut statement| statement.execute(params![id, facts.reading]))
                    .map_err(|error| self.fail(error))?;
            }
            let same = role == turn.role.as_str()
                && is_error == turn.is_error
                && parts == turn.parts
                && self.words(id)? == (turn.text.clone(), turn.tool_text.clone());
            if turn.parts < parts || same {
                return Ok(UpsertOutcome::Unchanged);
            }
            self.replace(id, turn, facts)?;
            self.stretch(episode.id, turn.time.utc)?;
            return Ok(UpsertOutcome::Updated);
        }
        if let Some(owner) = self.owner_elsewhere(agent, episode.id, turn)? {
            let position = self.position_for(facts.file, episode.id, turn.time.utc)?;
            self.tx
                .prepare_cached("INSERT OR IGNORE INTO turn_share (episode_id, turn_id, position) VALUES (?1, ?2, ?3)")
                .and_then(|mut statement| statement.execute(params![episode.id, owner, position]))
                .map_err(|error| self.fail(error))?;
            self.cursors.insert((facts.file, episode.id), Some(owner));
            self.stretch(episode.id, turn.time.utc)?;
            return Ok(UpsertOutcome::Shared);
        }
        let position = self.position_for(facts.file, episode.id, turn.time.utc)?;
        let (branch, cwd, model, speaker) = (
            self.label(turn.branch.as_deref())?,
            self.label(turn.cwd.as_deref())?,
            self.label(turn.model.as_deref())?,
            self.label(turn.speaker.as_deref())?,
        );
        self.tx
            .prepare_cached(
                "INSERT INTO turn (uid, episode_id, native_id, position, role, is_error, parts, at_ms, at_original, at_offset_min, at_quality,
                                   project_id, branch_id, cwd_id, model_id, speaker_id, file_id, line, reading)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    turn.id.as_bytes(),
                    episode.id,
                    NativeId(&turn.native_id),
                    position,
                    turn.role.as_str(),
                    turn.is_error,
                    turn.parts,
                    turn.time.utc,
                    turn.time.original,
                    turn.time.offset_minutes,
                    turn.time.quality.as_str(),
                    facts.project,
                    branch,
                    cwd,
                    model,
                    speaker,
                    facts.file,
                    facts.line as i64,
                    facts.reading
                ])
            })
            .map_err(|error| self.fail(error))?;
        let id = self.tx.last_insert_rowid();
        self.write_words(id, turn)?;
        self.cursors.insert((facts.file, episode.id), Some(id));
        self.stretch(episode.id, turn.time.utc)?;
        Ok(UpsertOutcome::Added)
    }

    /// Writes what the file's next reading must know. Call once, before the commit.
    pub(crate) fn finish(self) -> StoreResult<()> {
        for ((file, episode), last) in &self.cursors {
            self.tx
                .prepare_cached(
                    "INSERT INTO file_episode (file_id, episode_id, last_turn) VALUES (?1, ?2, ?3)
                     ON CONFLICT (file_id, episode_id) DO UPDATE SET last_turn = excluded.last_turn",
                )
                .and_then(|mut statement| statement.execute(params![file, episode, last]))
                .map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    fn replace(&mut self, id: i64, turn: &Turn, facts: TurnFacts) -> StoreResult<()> {
        let model = self.label(turn.model.as_deref())?;
        self.tx
            .prepare_cached("UPDATE turn SET native_id = ?2, role = ?3, is_error = ?4, parts = ?5, model_id = ?6, file_id = ?7, line = ?8 WHERE id = ?1")
            .and_then(|mut statement| {
                statement.execute(params![id, NativeId(&turn.native_id), turn.role.as_str(), turn.is_error, turn.parts, model, facts.file, facts.line as i64])
            })
            .map_err(|error| self.fail(error))?;
        self.write_words(id, turn)
    }

    fn write_words(&mut self, id: i64, turn: &Turn) -> StoreResult<()> {
        self.tx
            .prepare_cached("INSERT INTO turn_text (turn_id, words) VALUES (?1, ?2) ON CONFLICT (turn_id) DO UPDATE SET words = excluded.words")
            .and_then(|mut statement| statement.execute(params![id, words::encode(&turn.text, &turn.tool_text)]))
            .map_err(|error| self.fail(error))?;
        if turn.role.is_recalled() {
            self.tx
                .prepare_cached("INSERT INTO lexical_queue (turn_id) VALUES (?1)")
                .and_then(|mut statement| statement.execute([id]))
                .map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    fn words(&self, id: i64) -> StoreResult<(String, String)> {
        let stored: Option<Vec<u8>> = self
            .tx
            .prepare_cached("SELECT words FROM turn_text WHERE turn_id = ?1")
            .and_then(|mut statement| statement.query_row([id], |row| row.get(0)).optional())
            .map_err(|error| self.fail(error))?;
        Ok(stored.and_then(|stored| words::decode(&stored)).unwrap_or_default())
    }

    /// A turn of another session of the same agent with the same UUID: this one was copied.
    fn owner_elsewhere(&self, agent: &str, episode: i64, turn: &Turn) -> StoreResult<Option<i64>> {
        if uuid::Uuid::try_parse(&turn.native_id).is_err() {
            return Ok(None);
        }
        self.tx
            .prepare_cached(
                "SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE turn.native_id = ?1 AND turn.episode_id <> ?2 AND turn.role = ?3 AND episode.agent = ?4 LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![NativeId(&turn.native_id), episode, turn.role.as_str(), agent], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.fail(error))
    }

    /// A place after the file's last turn in the episode, or where its time puts it.
    fn position_for(&mut self, file: i64, episode: i64, time: Option<UtcMillis>) -> StoreResult<i64> {
        let last = match self.cursors.get(&(file, episode)) {
            Some(last) => *last,
            None => self
                .tx
                .prepare_cached("SELECT last_turn FROM file_episode WHERE file_id = ?1 AND episode_id = ?2")
                .and_then(|mut statement| statement.query_row([file, episode], |row| row.get::<_, Option<i64>>(0)).optional())
                .map_err(|error| self.fail(error))?
                .flatten(),
        };
        loop {
            let after = match last {
                Some(turn) => self.query_position("SELECT max(position) FROM (SELECT position FROM turn WHERE id = ?2 AND episode_id = ?1 UNION ALL SELECT position FROM turn_share WHERE turn_id = ?2 AND episode_id = ?1)", episode, turn)?,
                None => None,
            };
            let (before, next) = match (after, time) {
                (Some(after), _) => (Some(after), self.query_position("SELECT min(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position > ?2 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position > ?2)", episode, after)?),
                (None, Some(time)) => {
                    let next = self.query_position("SELECT min(position) FROM turn WHERE episode_id = ?1 AND at_ms > ?2", episode, time)?;
                    let before = self.query_position("SELECT max(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position < ?2 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position < ?2)", episode, next.unwrap_or(i64::MAX))?;
                    (before, next)
                }
                (None, None) => (self.query_position("SELECT max(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position < ?2 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position < ?2)", episode, i64::MAX)?, None),
            };
            match (before, next) {
                (None, None) => return Ok(0),
                (Some(before), None) => return Ok(before + GAP),
                (None, Some(next)) => return Ok(next - GAP),
                (Some(before), Some(next)) if next - before > 1 => return Ok(before + (next - before) / 2),
                (Some(_), Some(_)) => self.renumber(episode)?,
            }
        }
    }

    fn query_position(&self, sql: &'static str, episode: i64, bound: i64) -> StoreResult<Option<i64>> {
        self.tx
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row([episode, bound], |row| row.get(0)))
            .map_err(|error| self.fail(error))
    }

    /// Spreads the turns of an episode out again, in their order.
    fn renumber(&self, episode: i64) -> StoreResult<()> {
        let order: Vec<(i64, bool)> = {
            let mut statement = self
                .tx
                .prepare_cached(
                    "SELECT id, 0, position FROM turn WHERE episode_id = ?1 UNION ALL SELECT turn_id, 1, position FROM turn_share WHERE episode_id = ?1 ORDER BY 3, 1",
                )
                .map_err(|error| self.fail(error))?;
            let rows = statement.query_map([episode], |row| Ok((row.get(0)?, row.get(1)?))).map_err(|error| self.fail(error))?;
            rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))?
        };
        for (at, (turn, is_share)) in order.into_iter().enumerate() {
            let position = at as i64 * GAP;
            if is_share {
                self.tx.execute(
                    "UPDATE turn_share SET position = ?3 WHERE episode_id = ?1 AND turn_id = ?2",
                    [episode, turn, position],
                )
            } else {
                self.tx.execute("UPDATE turn SET position = ?2 WHERE id = ?1", [turn, position])
            }
            .map_err(|error| self.fail(error))?;
        }
        Ok(())
    }

    fn stretch(&self, episode: i64, time: Option<UtcMillis>) -> StoreResult<()> {
        let Some(time) = time else { return Ok(()) };
        self.tx
            .prepare_cached(
                "UPDATE episode SET started_ms = min(coalesce(started_ms, ?2), ?2), updated_ms = max(coalesce(updated_ms, ?2), ?2)
                 WHERE id = ?1 AND (started_ms IS NULL OR started_ms > ?2 OR updated_ms < ?2)",
            )
            .and_then(|mut statement| statement.execute(params![episode, time]))
            .map(drop)
            .map_err(|error| self.fail(error))
    }

    fn label(&mut self, text: Option<&str>) -> StoreResult<Option<i64>> {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
        if let Some(id) = self.labels.get(text) {
            return Ok(Some(*id));
        }
        let found: Option<i64> = self
            .tx
            .prepare_cached("SELECT id FROM label WHERE text = ?1")
            .and_then(|mut statement| statement.query_row([text], |row| row.get(0)).optional())
            .map_err(|error| self.fail(error))?;
        let id = match found {
            Some(id) => id,
            None => {
                self.tx.execute("INSERT INTO label (text) VALUES (?1)", [text]).map_err(|error| self.fail(error))?;
                self.tx.last_insert_rowid()
            }
        };
        self.labels.insert(text.to_owned(), id);
        Ok(Some(id))
    }
}

/// Canonical UUIDs are stored as 16 bytes, any other native id as its text.
struct NativeId<'a>(&'a str);

impl ToSql for NativeId<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match uuid::Uuid::try_parse(self.0) {
            Ok(id) if id.hyphenated().to_string() == self.0 => ToSqlOutput::Owned(Value::Blob(id.as_bytes().to_vec())),
            _ => ToSqlOutput::Borrowed(ValueRef::Text(self.0.as_bytes())),
        })
    }
}

fn native_id(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Blob(bytes) => match uuid::Uuid::from_slice(bytes) {
            Ok(id) => id.hyphenated().to_string(),
            Err(_) => String::new(),
        },
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// What the lexical index takes of a turn.
#[derive(Clone, Debug)]
pub(crate) struct IndexedTurn {
    pub row: i64,
    pub episode: i64,
    pub project: i64,
    pub branch: i64,
    pub role: Role,
    pub at: Option<UtcMillis>,
    pub speaker: Option<String>,
    pub text: String,
    pub tool_text: String,
}

/// A turn as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownTurn {
    /// Row in the store; orders nothing, means nothing outside.
    pub(crate) row: i64,
    /// The turn's id.
    pub id: TurnId,
    /// The episode that owns it.
    pub episode: EpisodeId,
    /// Row of that episode.
    pub(crate) episode_row: i64,
    /// Agent of that episode.
    pub agent: String,
    /// Kind of that episode.
    pub kind: EpisodeKind,
    /// The agent's own session id.
    pub native_session: String,
    /// The agent's own message id.
    pub native_message: String,
    /// Who spoke.
    pub role: Role,
    /// The speaker's name, where there is one.
    pub speaker: Option<String>,
    /// Whether a tool reported failure.
    pub is_error: bool,
    /// What was said.
    pub text: String,
    /// Tool inputs or output.
    pub tool_text: String,
    /// When.
    pub time: RecordedTime,
    /// Name of the project.
    pub project: Option<String>,
    /// Branch at the time.
    pub branch: Option<String>,
    /// Directory at the time.
    pub cwd: Option<String>,
    /// Model that spoke.
    pub model: Option<String>,
    /// The file that was read.
    pub path: String,
    /// 1-based line there.
    pub line: u64,
    /// When the source was found gone, if it was.
    pub source_gone: bool,
    /// Title of the episode, where one is recorded.
    pub title: Option<String>,
}

const SHOWN_COLUMNS: &str = "turn.id, turn.uid, episode.uid, episode.id, episode.agent, episode.kind, episode.native_id, turn.native_id, turn.role,
    speaker.text, turn.is_error, turn_text.words, turn.at_ms, turn.at_original, turn.at_offset_min, turn.at_quality, project.name, branch.text,
    cwd.text, model.text, source_file.path, turn.line, source_file.gone_ms IS NOT NULL, episode.title";

const SHOWN_JOINS: &str = "JOIN episode ON episode.id = turn.episode_id
    JOIN turn_text ON turn_text.turn_id = turn.id
    JOIN source_file ON source_file.id = turn.file_id
    LEFT JOIN project ON project.id = turn.project_id
    LEFT JOIN label AS branch ON branch.id = turn.branch_id
    LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
    LEFT JOIN label AS model ON model.id = turn.model_id
    LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id";

fn shown_turn(row: &Row<'_>) -> rusqlite::Result<ShownTurn> {
    let words: Vec<u8> = row.get(11)?;
    let (text, tool_text) = words::decode(&words).unwrap_or_default();
    Ok(ShownTurn {
        row: row.get(0)?,
        id: TurnId::from_bytes(row.get(1)?),
        episode: EpisodeId::from_bytes(row.get(2)?),
        episode_row: row.get(3)?,
        agent: row.get(4)?,
        kind: EpisodeKind::parse(&row.get::<_, String>(5)?).unwrap_or(EpisodeKind::Session),
        native_session: row.get(6)?,
        native_message: native_id(row.get_ref(7)?),
        role: Role::parse(&row.get::<_, String>(8)?).unwrap_or(Role::System),
        speaker: row.get(9)?,
        is_error: row.get(10)?,
        text,
        tool_text,
        time: RecordedTime {
            utc: row.get(12)?,
            original: row.get(13)?,
            offset_minutes: row.get(14)?,
            quality: TimeQuality::parse(&row.get::<_, String>(15)?).unwrap_or(TimeQuality::None),
        },
        project: row.get(16)?,
        branch: row.get(17)?,
        cwd: row.get(18)?,
        model: row.get(19)?,
        path: row.get(20)?,
        line: row.get::<_, i64>(21)? as u64,
        source_gone: row.get(22)?,
        title: row.get(23)?,
    })
}

impl Store {
    /// The turns of these rows that still exist and are not forgotten, in no order.
    pub(crate) fn shown_turns(&self, rows: &[i64]) -> StoreResult<Vec<ShownTurn>> {
        self.read(|db| {
            let sql =
                format!("SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL");
            let mut statement = db.prepare_cached(&sql).map_err(|error| self.fail(error))?;
            let mut turns = Vec::with_capacity(rows.len());
            for row in rows {
                turns.extend(statement.query_row([row], shown_turn).optional().map_err(|error| self.fail(error))?);
            }
            Ok(turns)
        })
    }

    /// The turns of an episode in order, those it shares with other sessions included.
    pub(crate) fn episode_turns(&self, episode: i64) -> StoreResult<Vec<ShownTurn>> {
        self.read(|db| {
            let sql = format!(
                "SELECT {SHOWN_COLUMNS} FROM (
                     SELECT id AS turn_id, position FROM turn WHERE episode_id = ?1
                     UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1
                 ) AS place JOIN turn ON turn.id = place.turn_id {SHOWN_JOINS} WHERE episode.forgotten_ms IS NULL ORDER BY place.position, turn.id"
            );
            let mut statement = db.prepare_cached(&sql).map_err(|error| self.fail(error))?;
            let rows = statement.query_map([episode], shown_turn).map_err(|error| self.fail(error))?;
            rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))
        })
    }

    /// Turns whose id, short id or native id begins with `prefix` (at least 4 characters).
    pub(crate) fn turns_by_prefix(&self, prefix: &str, limit: usize) -> StoreResult<Vec<i64>> {
        self.read(|db| {
            let mut found = Vec::new();
            if let Some((low, high)) = uuid_range(prefix) {
                let mut statement = db
                    .prepare_cached(
                        "SELECT id FROM turn WHERE uid BETWEEN ?1 AND ?2 UNION SELECT id FROM turn WHERE native_id BETWEEN ?1 AND ?2 LIMIT ?3",
                    )
                    .map_err(|error| self.fail(error))?;
                let rows = statement.query_map(params![low, high, limit as i64], |row| row.get(0)).map_err(|error| self.fail(error))?;
                found = rows.collect::<rusqlite::Result<Vec<i64>>>().map_err(|error| self.fail(error))?;
            }
            if found.is_empty() {
                let mut statement = db.prepare_cached("SELECT id FROM turn WHERE native_id = ?1 LIMIT ?2").map_err(|error| self.fail(error))?;
                let rows = statement.query_map(params![prefix, limit as i64], |row| row.get(0)).map_err(|error| self.fail(error))?;
                found = rows.collect::<rusqlite::Result<Vec<i64>>>().map_err(|error| self.fail(error))?;
            }
            Ok(found)
        })
    }

    /// Episodes whose id, short id or native id begins with `prefix`; forgotten ones only where
    /// asked for.
    pub(crate) fn episodes_by_prefix(
        &self,
        prefix: &str,
        with_forgotten: bool,
        limit: usize,
    ) -> StoreResult<Vec<(i64, String, String)>> {
        self.read(|db| {
            let (low, high) = uuid_range(prefix).unwrap_or(([0xff; 16], [0; 16]));
            let mut statement = db
                .prepare_cached(
                    "SELECT id, agent, native_id FROM episode
                     WHERE (uid BETWEEN ?1 AND ?2 OR substr(native_id, 1, length(?3)) = ?3) AND (?4 OR forgotten_ms IS NULL)
                     ORDER BY native_id = ?3 DESC, length(native_id), id LIMIT ?5",
                )
                .map_err(|error| self.fail(error))?;
            let rows = statement
                .query_map(params![low, high, prefix, with_forgotten, limit as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .map_err(|error| self.fail(error))?;
            let mut found: Vec<(i64, String, String)> =
                rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))?;
            // An exact native id beats the sessions that merely begin with it (sub-agents do).
            if found.first().is_some_and(|(_, _, native)| native == prefix) {
                found.truncate(1);
            }
            Ok(found)
        })
    }

    /// What the lexical index needs of a turn; `None` when the turn is gone, forgotten, or of a
    /// role that recall never looks at.
    pub(crate) fn indexed_turn(&self, db: &Connection, row: i64) -> StoreResult<Option<IndexedTurn>> {
        let found = db
            .prepare_cached(
                "SELECT turn.episode_id, turn.project_id, turn.branch_id, turn.role, turn.at_ms, speaker.text, turn_text.words
                 FROM turn JOIN episode ON episode.id = turn.episode_id JOIN turn_text ON turn_text.turn_id = turn.id
                 LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id
                 WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL AND turn.role NOT IN ('system', 'injected')",
            )
            .and_then(|mut statement| {
                statement
                    .query_row([row], |found| {
                        let words: Vec<u8> = found.get(6)?;
                        let (text, tool_text) = words::decode(&words).unwrap_or_default();
                        Ok(IndexedTurn {
                            row,
                            episode: found.get(0)?,
                            project: found.get::<_, Option<i64>>(1)?.unwrap_or(0),
                            branch: found.get::<_, Option<i64>>(2)?.unwrap_or(0),
                            role: Role::parse(&found.get::<_, String>(3)?).unwrap_or(Role::System),
                            at: found.get(4)?,
                            speaker: found.get(5)?,
                            text,
                            tool_text,
                        })
                    })
                    .optional()
            })
            .map_err(|error| self.fail(error))?;
        Ok(found)
    }

    /// Rows of the labels with these texts.
    pub(crate) fn label_rows(&self, texts: &[String]) -> StoreResult<Vec<i64>> {
        self.read(|db| {
            let mut rows = Vec::new();
            for text in texts {
                rows.extend(
                    db.prepare_cached("SELECT id FROM label WHERE text = ?1")
                        .and_then(|mut statement| statement.query_row([text], |row| row.get::<_, i64>(0)).optional())
                        .map_err(|error| self.fail(error))?,
                );
            }
            Ok(rows)
        })
    }

    /// Rows of the episodes of these agents and kinds; an empty list means any.
    pub(crate) fn episode_rows(&self, agents: &[String], kinds: &[EpisodeKind]) -> StoreResult<Vec<i64>> {
        self.read(|db| {
            let all: Vec<(i64, String, String)> =
                self.collect(db, "SELECT id, agent, kind FROM episode", |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(all
                .into_iter()
                .filter(|(_, agent, _)| agents.is_empty() || agents.contains(agent))
                .filter(|(_, _, kind)| kinds.is_empty() || kinds.iter().any(|wanted| wanted.as_str() == kind))
                .map(|(id, ..)| id)
                .collect())
        })
    }

    /// Rows of the sub-agent episodes that a session started, however deep.
    pub(crate) fn descendants(&self, episode: i64) -> StoreResult<Vec<i64>> {
        self.read(|db| {
            let mut statement = db
                .prepare_cached(
                    "WITH RECURSIVE family (id) AS (
                         SELECT ?1 UNION
                         SELECT child.id FROM episode AS child JOIN episode AS parent ON parent.native_id = child.parent_native_id AND parent.agent = child.agent
                         JOIN family ON family.id = parent.id
                     ) SELECT id FROM family WHERE id <> ?1",
                )
                .map_err(|error| self.fail(error))?;
            let rows = statement.query_map([episode], |row| row.get(0)).map_err(|error| self.fail(error))?;
            rows.collect::<rusqlite::Result<_>>().map_err(|error| self.fail(error))
        })
    }

    /// Removes the turns up to row `up_to` that the reading `reading` of the whole archive did not
    /// see; returns how many.
    pub(crate) fn sweep_turns(&self, reading: i64, up_to: i64) -> StoreResult<u64> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE reading <> ?1 AND id <= ?2",
                [reading, up_to],
            )
            .map_err(|error| self.fail(error))?;
            tx.execute(
                "DELETE FROM turn_text WHERE turn_id IN (SELECT id FROM turn WHERE reading <> ?1 AND id <= ?2)",
                [reading, up_to],
            )
            .map_err(|error| self.fail(error))?;
            let swept = tx
                .execute("DELETE FROM turn WHERE reading <> ?1 AND id <= ?2", [reading, up_to])
                .map_err(|error| self.fail(error))?;
            Ok(swept as u64)
        })
    }

    /// The row of the newest turn.
    pub(crate) fn newest_turn(&self) -> StoreResult<i64> {
        self.read(|db| {
            db.query_row("SELECT coalesce(max(id), 0) FROM turn", [], |row| row.get(0)).map_err(|error| self.fail(error))
        })
    }

    /// The number of the last reading of the whole archive.
    pub(crate) fn last_reading(&self) -> StoreResult<i64> {
        self.read(|db| {
            db.query_row("SELECT coalesce(max(reading), 0) FROM turn", [], |row| row.get(0)).map_err(|error| self.fail(error))
        })
    }
}

/// The range of 16-byte ids whose hex form begins with `prefix`, hyphens ignored; `None` when it
/// is no hex or shorter than 4 digits.
fn uuid_range(prefix: &str) -> Option<([u8; 16], [u8; 16])> {
    let digits: Vec<u8> = prefix
        .chars()
        .filter(|letter| *letter != '-')
        .map(|letter| letter.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    if !(4..=32).contains(&digits.len()) {
        return None;
    }
    let fill = |rest: u8| {
        let mut bytes = [0u8; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digit = |at: usize| digits.get(at).copied().unwrap_or(rest);
            *byte = digit(2 * at) << 4 | digit(2 * at + 1);
        }
        bytes
    };
    Some((fill(0), fill(15)))
}
