//! Writes projects, episodes and turns, and replaces a turn only by a more complete copy.

use std::borrow::Cow;
use std::collections::HashMap;

use rusqlite::{Row, ToSql, params};
use yore_core::episode::{Caveat, Episode, Role, Title, TitleRank, Turn};
use yore_core::id::{EpisodeId, ProjectId, TurnId};
use yore_core::scope::{ProjectAlias, directory_name};
use yore_core::time::UtcMillis;

use super::merges::merge;
use super::native_id::NativeId;
use super::words;
use crate::store::feed::items::SPOKEN_GAP;
use crate::store::keys::{EpisodeKey, FileKey, LabelKey, ProjectKey, TurnKey};
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// Distance to a turn that is a tool's input or output only: tool turns do not separate the text before them
/// from the text after them.
const TOOL_GAP: i64 = 1 << 12;

/// Result of a turn's upsert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpsertOutcome {
    /// A new turn.
    Added,
    /// A more complete or better read copy replaced the stored one.
    Updated,
    /// The turn was known.
    Unchanged,
    /// The turn belongs to another session, which this one now refers to.
    Shared,
}

/// The data of an episode that writing needs.
#[derive(Clone, Debug)]
pub(super) struct EpisodeRow {
    /// Row id.
    pub id: EpisodeKey,
    /// Its project.
    pub project: Option<ProjectKey>,
    /// The directory in which it began, as recorded.
    pub cwd: Option<String>,
}

/// Place and reading of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnFacts {
    /// The file.
    pub file: FileKey,
    /// 1-based first line of its text.
    pub line: u64,
    /// Its project.
    pub project: Option<ProjectKey>,
    /// Number of the reading of the whole archive (`reindex`) that saw it.
    pub pass: i64,
    /// True if it is a part of a document, which a new reading replaces, together with its time.
    pub is_document: bool,
}

/// The data of a stored turn that a further copy of it is compared with.
struct StoredTurn {
    id: TurnKey,
    episode: EpisodeKey,
    parts: u32,
    role: String,
    is_error: bool,
    reading: i64,
    project: Option<ProjectKey>,
    caveat: Option<Caveat>,
    file: FileKey,
}

/// Maximum number of different turns with one derived id.
const MOST_OTHERS: u32 = 16;

/// Returns whether a native id is only the position of a message: `#3`, or the line of a session (`abc:12`).
fn is_position(native_id: &str) -> bool {
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    native_id.starts_with('#') || native_id.rsplit_once(':').is_some_and(|(_, line)| is_line(line))
}

/// Writes episodes and turns inside one transaction, with a cache of look-ups.
pub(super) struct Upserter<'tx, 'db> {
    pub(in crate::store) tx: &'tx WriteTx<'db>,
    labels: HashMap<String, LabelKey>,
    projects: HashMap<ProjectAlias, ProjectKey>,
    episodes: HashMap<EpisodeId, EpisodeRow>,
    /// Rows of paths.
    pub(in crate::store) paths: HashMap<String, i64>,
    /// Tool calls written in this transaction: turn, position in it, name.
    pub(in crate::store) calls: HashMap<i64, (TurnKey, i64, Option<LabelKey>)>,
    /// For each file and episode, the row of the last turn from the file.
    cursors: HashMap<(FileKey, EpisodeKey), Option<TurnKey>>,
}

fn gap_before(says_something: bool) -> i64 {
    if says_something { SPOKEN_GAP } else { TOOL_GAP }
}

impl<'tx, 'db> Upserter<'tx, 'db> {
    pub(in crate::store) fn new(tx: &'tx WriteTx<'db>) -> Self {
        Self {
            tx,
            labels: HashMap::new(),
            projects: HashMap::new(),
            episodes: HashMap::new(),
            paths: HashMap::new(),
            calls: HashMap::new(),
            cursors: HashMap::new(),
        }
    }

    /// Returns the project with any of `aliases` (the first match decides), or creates it under `name` (that
    /// of the directory, if it is empty). Afterwards the project has all the aliases.
    pub(in crate::store) fn project(
        &mut self,
        aliases: &[(ProjectAlias, String)],
        name: &str,
        now: UtcMillis,
    ) -> StoreResult<ProjectKey> {
        let mut found = None;
        for (alias, _) in aliases {
            if let Some(project) = self.projects.get(alias) {
                found = Some(*project);
                break;
            }
            found = self.tx.first_value(
                "SELECT project_id FROM project_alias WHERE kind = ?1 AND value = ?2",
                params![alias.kind(), alias.value()],
            )?;
            if found.is_some() {
                break;
            }
        }
        let project = match found {
            Some(project) => project,
            None => {
                let of_directory = aliases.first().map_or("", |(alias, _)| directory_name(alias.value()));
                let name = [name, of_directory, "unnamed"].into_iter().find(|name| !name.is_empty());
                let mut random = [0u8; 10];
                getrandom::fill(&mut random).map_err(|error| self.tx.failed(std::io::Error::other(error.to_string())))?;
                let fresh = ProjectId::new(now.max(0) as u64, random);
                self.tx.insert(
                    "INSERT INTO project (uid, name, created_ms) VALUES (?1, ?2, ?3)",
                    params![fresh.as_bytes(), name, now],
                )?
            }
        };
        if matches!(aliases.first(), Some((ProjectAlias::Remote(_), _))) {
            self.take_in_directories(aliases, project, now)?;
        }
        for (alias, recorded) in aliases {
            if self.projects.insert(alias.clone(), project).is_none() {
                self.tx.execute(
                    "INSERT OR IGNORE INTO project_alias (kind, value, recorded, project_id) VALUES (?1, ?2, ?3, ?4)",
                    params![alias.kind(), alias.value(), recorded, project],
                )?;
            }
        }
        Ok(project)
    }

    /// Merges projects that are known by nothing but these directories into the project whose remote was found there.
    fn take_in_directories(
        &mut self,
        aliases: &[(ProjectAlias, String)],
        project: ProjectKey,
        now: UtcMillis,
    ) -> StoreResult<()> {
        for (alias, _) in aliases.iter().filter(|(alias, _)| matches!(alias, ProjectAlias::Directory(_))) {
            let known: Option<ProjectKey> = self
                .tx
                .first_value("SELECT project_id FROM project_alias WHERE kind = 'directory' AND value = ?1", [alias.value()])?;
            let Some(known) = known.filter(|known| *known != project) else { continue };
            let names: Vec<(String, String)> =
                self.tx.all("SELECT kind, value FROM project_alias WHERE project_id = ?1", [known], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let is_one_of_these = |(kind, value): &(String, String)| {
                aliases.iter().any(|(alias, _)| alias.kind() == kind && alias.value() == value)
            };
            if names.iter().all(is_one_of_these) {
                merge(self.tx, known, project, now)?;
                for row in self.projects.values_mut().filter(|row| **row == known) {
                    *row = project;
                }
                for episode in self.episodes.values_mut().filter(|episode| episode.project == Some(known)) {
                    episode.project = Some(project);
                }
            }
        }
        Ok(())
    }

    /// Returns the stored episode, if any.
    pub(super) fn find_episode(&mut self, id: &EpisodeId) -> StoreResult<Option<EpisodeRow>> {
        if let Some(row) = self.episodes.get(id) {
            return Ok(Some(row.clone()));
        }
        let row = self.tx.first("SELECT id, project_id, cwd FROM episode WHERE uid = ?1", [id.as_bytes()], |row| {
            Ok(EpisodeRow { id: row.get(0)?, project: row.get(1)?, cwd: row.get(2)? })
        })?;
        if let Some(row) = &row {
            self.episodes.insert(*id, row.clone());
        }
        Ok(row)
    }

    /// Stores an episode, or adds values that an earlier reading lacked.
    pub(in crate::store) fn episode(&mut self, episode: &Episode, project: Option<ProjectKey>) -> StoreResult<EpisodeRow> {
        let known = self.find_episode(&episode.id)?;
        if let Some(row) = known {
            let lacks = row.cwd.is_none() && episode.cwd.is_some() || row.project.is_none() && project.is_some();
            if !lacks {
                return Ok(row);
            }
            self.tx.execute(
                "UPDATE episode SET cwd = coalesce(cwd, ?2), project_id = coalesce(project_id, ?3) WHERE id = ?1",
                params![row.id, episode.cwd, project],
            )?;
            let row = EpisodeRow { cwd: row.cwd.or_else(|| episode.cwd.clone()), project: row.project.or(project), ..row };
            self.episodes.insert(episode.id, row.clone());
            return Ok(row);
        }
        let id = self.tx.insert(
            "INSERT INTO episode (uid, agent, native_id, kind, parent_native_id, project_id, cwd, client_version)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                episode.id.as_bytes(),
                episode.agent,
                episode.native_id,
                episode.kind.as_str(),
                episode.parent_native_id,
                project,
                episode.cwd,
                episode.client_version
            ],
        )?;
        let row = EpisodeRow { id, project, cwd: episode.cwd.clone() };
        self.episodes.insert(episode.id, row.clone());
        Ok(row)
    }

    /// Sets the title of an episode, unless it has a more reliable one, or an equally reliable newer one.
    pub(in crate::store) fn title(&mut self, episode: EpisodeKey, title: &Title) -> StoreResult<()> {
        let known = self.tx.first(
            "SELECT title, title_rank, title_ms, title_line FROM episode WHERE id = ?1 AND title IS NOT NULL",
            [episode],
            title_of_row,
        )?;
        if known.is_some_and(|known| known == *title || !title.replaces(&known)) {
            return Ok(());
        }
        self.tx.execute(
                "UPDATE episode SET title = ?2, title_rank = ?3, title_ms = coalesce(?4, title_ms), title_line = ?5 WHERE id = ?1",
                params![episode, title.text, title.rank.as_str(), title.at, title.line as i64],
            ).map(drop)
    }

    /// Stores a title for the episode that will hold a message.
    pub(super) fn title_later(&self, agent: &str, message: &str, title: &Title) -> StoreResult<()> {
        self.tx
            .execute(
                "INSERT INTO pending_title (agent, message, title, title_rank, title_ms, title_line)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (agent, message) DO UPDATE
                 SET title = excluded.title, title_rank = excluded.title_rank, title_ms = excluded.title_ms,
                 title_line = excluded.title_line",
                params![agent, message, title.text, title.rank.as_str(), title.at, title.line as i64],
            )
            .map(drop)
    }

    /// Stores a link of an episode, such as a pull request.
    pub(super) fn link(&mut self, episode: EpisodeKey, kind: &str, value: &str) -> StoreResult<()> {
        self.tx
            .execute(
                "INSERT OR IGNORE INTO episode_link (episode_id, kind, value) VALUES (?1, ?2, ?3)",
                params![episode, kind, value],
            )
            .map(drop)
    }

    /// Returns the episode of an agent that holds the message with this native id. If one episode owns it and
    /// others repeat it, returns the one that occurs in `file`: titles in a session's own file are about that
    /// session.
    pub(super) fn episode_of_message(
        &mut self,
        agent: &str,
        native_message: &str,
        file: Option<FileKey>,
    ) -> StoreResult<Option<EpisodeKey>> {
        if let Some(file) = file {
            let repeating: Vec<EpisodeKey> = self.tx.column(
                "SELECT turn_share.episode_id FROM turn JOIN turn_share ON turn_share.turn_id = turn.id
                 JOIN episode ON episode.id = turn_share.episode_id WHERE turn.native_id = ?1 AND episode.agent = ?2",
                params![NativeId(native_message), agent],
            )?;
            for episode in repeating {
                let is_read_now = self.cursors.contains_key(&(file, episode));
                let is_of_file = is_read_now
                    || self
                        .tx
                        .exists("SELECT 1 FROM file_episode WHERE file_id = ?1 AND episode_id = ?2", params![file, episode])?;
                if is_of_file {
                    return Ok(Some(episode));
                }
            }
        }
        self.tx.first(
            "SELECT episode.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE turn.native_id = ?1 AND episode.agent = ?2 LIMIT 1",
            params![NativeId(native_message), agent],
            |row| row.get(0),
        )
    }

    /// Stores a turn of an episode. A copy of a known turn adds words and never takes any away.
    pub(in crate::store) fn turn(
        &mut self,
        agent: &str,
        episode: &EpisodeRow,
        turn: &Turn,
        facts: TurnFacts,
    ) -> StoreResult<UpsertOutcome> {
        let mut turn = Cow::Borrowed(turn);
        let first_id = turn.id;
        for other in 1..=MOST_OTHERS {
            let Some(stored) = self.stored(turn.id)? else { break };
            if stored.episode != episode.id {
                return self.share(episode, stored.id, &turn, facts.file);
            }
            if other == MOST_OTHERS || !self.is_other(&stored, &turn, facts)? {
                return self.known_turn(episode, stored, turn, facts);
            }
            turn.to_mut().id = TurnId::derive(agent, "", &first_id.to_string(), other);
        }
        let turn: &Turn = &turn;
        if let Some(owner) = self.owner_elsewhere(agent, episode.id, turn)? {
            return self.share(episode, owner, turn, facts.file);
        }
        let position = self.position_for(facts.file, episode.id, turn)?;
        let (branch, cwd, model, speaker) = (
            self.label(turn.branch.as_deref())?,
            self.label(turn.cwd.as_deref())?,
            self.label(turn.model.as_deref())?,
            self.label(turn.speaker.as_deref())?,
        );
        let id = self.tx.insert(
            "INSERT INTO turn (uid, episode_id, native_id, position, role, is_error, parts, at_ms, at_original,
                 at_offset_min, at_quality, project_id, branch_id, cwd_id, model_id, speaker_id, file_id, line,
                 reading, caveat) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20)",
            params![
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
                facts.pass,
                turn.caveat.map(Caveat::as_str)
            ],
        )?;
        self.write_words(id, episode.id, turn, false)?;
        self.cursors.insert((facts.file, episode.id), Some(id));
        self.stretch(episode.id, turn.time.utc)?;
        Ok(UpsertOutcome::Added)
    }

    /// Returns the stored turn with an id.
    fn stored(&self, id: TurnId) -> StoreResult<Option<StoredTurn>> {
        self.tx.first(
            "SELECT id, episode_id, parts, role, is_error, reading, project_id, caveat, file_id FROM turn WHERE uid = ?1",
            [id.as_bytes()],
            |row| {
                Ok(StoredTurn {
                    id: row.get(0)?,
                    episode: row.get(1)?,
                    parts: row.get(2)?,
                    role: row.get(3)?,
                    is_error: row.get(4)?,
                    reading: row.get(5)?,
                    project: row.get(6)?,
                    caveat: row.get::<_, Option<String>>(7)?.as_deref().and_then(Caveat::parse),
                    file: row.get(8)?,
                })
            },
        )
    }

    /// Returns whether a turn is another message than the stored one with its id: the id is only a position, at which two
    /// copies of a conversation went on in different words.
    fn is_other(&self, stored: &StoredTurn, turn: &Turn, facts: TurnFacts) -> StoreResult<bool> {
        let is_read_anew = stored.file == facts.file && stored.reading < facts.pass;
        if facts.is_document || is_read_anew || stored.parts != turn.parts || !is_position(&turn.native_id) {
            return Ok(false);
        }
        let (text, tool_text) = self.words(stored.id)?;
        let goes_on = |one: &str, other: &str| one.starts_with(other) || other.starts_with(one);
        Ok(!goes_on(&text, &turn.text) || text.is_empty() && turn.text.is_empty() && !goes_on(&tool_text, &turn.tool_text))
    }

    /// Stores what a copy of a known turn adds to it.
    fn known_turn(
        &mut self,
        episode: &EpisodeRow,
        stored: StoredTurn,
        mut turn: Cow<'_, Turn>,
        facts: TurnFacts,
    ) -> StoreResult<UpsertOutcome> {
        let id = stored.id;
        self.cursors.insert((facts.file, episode.id), Some(id));
        if stored.reading < facts.pass {
            self.tx.execute("UPDATE turn SET reading = ?2 WHERE id = ?1", params![id, facts.pass])?;
        }
        if stored.project.is_none() && facts.project.is_some() {
            self.learn_project(id, &turn, facts.project)?;
        }
        let words = self.words(id)?;
        // The first copy that a reading of the archive finds is what the current reader makes of it. Of all others, each
        // says at least what was stored.
        let is_first_copy = facts.is_document || stored.reading < facts.pass;
        let is_lesser = turn.parts < stored.parts && !facts.is_document;
        if !is_first_copy && !is_lesser && turn.parts == stored.parts {
            let (lacks_text, lacks_tool_text) = (turn.text.len() < words.0.len(), turn.tool_text.len() < words.1.len());
            if lacks_text || lacks_tool_text {
                let turn = turn.to_mut();
                turn.is_error |= stored.is_error;
                if lacks_text {
                    turn.text.clone_from(&words.0);
                    turn.role = Role::parse(&stored.role).unwrap_or(turn.role);
                }
                if lacks_tool_text {
                    turn.tool_text.clone_from(&words.1);
                }
            }
        }
        if turn.caveat.is_none() && stored.caveat.is_some() && !is_first_copy && stored.file != facts.file {
            // A copy in another file does not know what happened later.
            turn.to_mut().caveat = stored.caveat;
        }
        let same = stored.role == turn.role.as_str()
            && stored.is_error == turn.is_error
            && stored.parts == turn.parts
            && words == (turn.text.clone(), turn.tool_text.clone());
        if same && facts.is_document {
            // The text is the same, but its location may have changed.
            self.tx.execute(
                "UPDATE turn SET file_id = ?2, line = ?3 WHERE id = ?1 AND (file_id, line) IS NOT (?2, ?3)",
                params![id, facts.file, facts.line as i64],
            )?;
        }
        if is_lesser || same {
            if stored.caveat != turn.caveat {
                self.tx.execute("UPDATE turn SET caveat = ?2 WHERE id = ?1", params![id, turn.caveat.map(Caveat::as_str)])?;
            }
            // The current reader may find more of its tools and files.
            if same && stored.reading < facts.pass {
                self.write_shape(id, episode.id, &turn, true)?;
            }
            return Ok(UpsertOutcome::Unchanged);
        }
        self.replace(id, episode.id, &turn, facts)?;
        self.stretch(episode.id, turn.time.utc)?;
        Ok(UpsertOutcome::Updated)
    }

    /// Sets or removes the caveat of the turns of an episode with these native ids. An id that is only a position names
    /// the turn of this file.
    pub(in crate::store) fn caveat(
        &self,
        file: FileKey,
        episode: EpisodeKey,
        messages: &[String],
        caveat: Option<Caveat>,
    ) -> StoreResult<()> {
        for message in messages {
            self.tx.execute(
                "UPDATE turn SET caveat = ?4 WHERE native_id = ?1 AND episode_id = ?2 AND caveat IS NOT ?4
                     AND (?5 = 0 OR file_id = ?3)",
                params![NativeId(message), episode, file, caveat.map(Caveat::as_str), is_position(message)],
            )?;
        }
        Ok(())
    }

    /// Writes the data that the file's next reading needs. Call once, before the commit.
    pub(super) fn finish(self) -> StoreResult<()> {
        for ((file, episode), last) in &self.cursors {
            self.tx.execute(
                "INSERT INTO file_episode (file_id, episode_id, last_turn) VALUES (?1, ?2, ?3)
                     ON CONFLICT (file_id, episode_id) DO UPDATE SET last_turn = excluded.last_turn",
                params![file, episode, last],
            )?;
        }
        Ok(())
    }

    /// Stores the project of a turn, which an earlier reading did not know. The indexes store it beside the
    /// text.
    fn learn_project(&mut self, id: TurnKey, turn: &Turn, project: Option<ProjectKey>) -> StoreResult<()> {
        let cwd = self.label(turn.cwd.as_deref())?;
        self.tx
            .execute("UPDATE turn SET project_id = ?2, cwd_id = coalesce(cwd_id, ?3) WHERE id = ?1", params![id, project, cwd])?;
        self.queue(id, turn, true)
    }

    fn replace(&mut self, id: TurnKey, episode: EpisodeKey, turn: &Turn, facts: TurnFacts) -> StoreResult<()> {
        let model = self.label(turn.model.as_deref())?;
        self.tx.execute(
            "UPDATE turn SET native_id = ?2, role = ?3, is_error = ?4, parts = ?5, model_id = ?6, file_id = ?7,
                 line = ?8, caveat = ?9 WHERE id = ?1",
            params![
                id,
                NativeId(&turn.native_id),
                turn.role.as_str(),
                turn.is_error,
                turn.parts,
                model,
                facts.file,
                facts.line as i64,
                turn.caveat.map(Caveat::as_str)
            ],
        )?;
        if facts.is_document {
            let time = &turn.time;
            self.tx.execute(
                "UPDATE turn SET at_ms = ?2, at_original = ?3, at_offset_min = ?4, at_quality = ?5 WHERE id = ?1",
                params![id, time.utc, time.original, time.offset_minutes, time.quality.as_str()],
            )?;
        }
        self.write_words(id, episode, turn, true)
    }

    fn write_words(&mut self, id: TurnKey, episode: EpisodeKey, turn: &Turn, is_replaced: bool) -> StoreResult<()> {
        self.write_shape(id, episode, turn, is_replaced)?;
        self.tx.execute(
            "INSERT INTO turn_text (turn_id, words) VALUES (?1, ?2) ON CONFLICT (turn_id) DO UPDATE SET words = excluded.words",
            params![id, words::encode(&turn.text, &turn.tool_text)],
        )?;
        self.queue(id, turn, is_replaced)
    }

    /// Puts a turn into the queues of the indexes.
    fn queue(&self, id: TurnKey, turn: &Turn, is_replaced: bool) -> StoreResult<()> {
        if turn.role.is_recalled() {
            self.tx.execute("INSERT INTO lexical_queue (turn_id) VALUES (?1)", [id])?;
            // A turn without words has nothing to embed, but may have lost the words that its vectors were made of.
            let had_words = || self.tx.count("SELECT count(*) FROM chunk WHERE turn_id = ?1", [id]);
            if !turn.text.is_empty() || is_replaced && had_words()? > 0 {
                self.tx.execute("INSERT INTO embed_queue (turn_id) VALUES (?1)", [id])?;
            }
        }
        Ok(())
    }

    fn words(&self, id: TurnKey) -> StoreResult<(String, String)> {
        let stored: Option<Vec<u8>> = self.tx.first_value("SELECT words FROM turn_text WHERE turn_id = ?1", [id])?;
        Ok(stored.and_then(|stored| words::decode(&stored)).unwrap_or_default())
    }

    /// Notes that an episode repeats a turn of another one.
    fn share(&mut self, episode: &EpisodeRow, owner: TurnKey, turn: &Turn, file: FileKey) -> StoreResult<UpsertOutcome> {
        let position = self.position_for(file, episode.id, turn)?;
        self.tx.execute(
            "INSERT OR IGNORE INTO turn_share (episode_id, turn_id, position) VALUES (?1, ?2, ?3)",
            params![episode.id, owner, position],
        )?;
        self.cursors.insert((file, episode.id), Some(owner));
        self.stretch(episode.id, turn.time.utc)?;
        Ok(UpsertOutcome::Shared)
    }

    /// Returns the turn with the same UUID in another session of the same agent, from which this one was
    /// copied. Of several on one line, returns the one with the same text.
    fn owner_elsewhere(&self, agent: &str, episode: EpisodeKey, turn: &Turn) -> StoreResult<Option<TurnKey>> {
        if uuid::Uuid::try_parse(&turn.native_id).is_err() {
            return Ok(None);
        }
        let found: Vec<TurnKey> = self.tx.column(
            "SELECT turn.id FROM turn JOIN episode ON episode.id = turn.episode_id
             WHERE turn.native_id = ?1 AND turn.episode_id <> ?2 AND turn.role = ?3 AND episode.agent = ?4 ORDER BY turn.id",
            params![NativeId(&turn.native_id), episode, turn.role.as_str(), agent],
        )?;
        for owner in found.iter().filter(|_| found.len() > 1) {
            let (text, tool_text) = self.words(*owner)?;
            if text == turn.text && tool_text == turn.tool_text {
                return Ok(Some(*owner));
            }
        }
        Ok(found.first().copied())
    }

    /// Returns a position after the file's last turn in the episode, or the one that fits its time.
    fn position_for(&mut self, file: FileKey, episode: EpisodeKey, turn: &Turn) -> StoreResult<i64> {
        let (time, gap) = (turn.time.utc, gap_before(!turn.text.is_empty()));
        let last = match self.cursors.get(&(file, episode)) {
            Some(last) => *last,
            None => self
                .tx
                .first_value::<Option<TurnKey>>(
                    "SELECT last_turn FROM file_episode WHERE file_id = ?1 AND episode_id = ?2",
                    params![file, episode],
                )?
                .flatten(),
        };
        loop {
            let after = match last {
                Some(turn) => self.query_position(
                    "SELECT max(position) FROM (SELECT position FROM turn WHERE id = ?2 AND episode_id = ?1
                 UNION ALL SELECT position FROM turn_share WHERE turn_id = ?2 AND episode_id = ?1)",
                    episode,
                    turn,
                )?,
                None => None,
            };
            let (before, next) = match (after, time) {
                (Some(after), _) => (
                    Some(after),
                    self.query_position(
                        "SELECT min(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position > ?2
                 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position > ?2)",
                        episode,
                        after,
                    )?,
                ),
                (None, Some(time)) => {
                    let next = self.query_position(
                        "SELECT min(position) FROM turn WHERE episode_id = ?1 AND at_ms > ?2",
                        episode,
                        time,
                    )?;
                    let before = self.query_position(
                        "SELECT max(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position < ?2
                 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position < ?2)",
                        episode,
                        next.unwrap_or(i64::MAX),
                    )?;
                    (before, next)
                }
                (None, None) => (
                    self.query_position(
                        "SELECT max(position) FROM (SELECT position FROM turn WHERE episode_id = ?1 AND position < ?2
                 UNION ALL SELECT position FROM turn_share WHERE episode_id = ?1 AND position < ?2)",
                        episode,
                        i64::MAX,
                    )?,
                    None,
                ),
            };
            match (before, next) {
                (None, None) => return Ok(0),
                (Some(before), None) => return Ok(before + gap),
                (None, Some(next)) => return Ok(next - SPOKEN_GAP),
                (Some(before), Some(next)) if next - before > 1 => return Ok(before + (next - before) / 2),
                (Some(_), Some(_)) => self.renumber(episode)?,
            }
        }
    }

    fn query_position(&self, sql: &'static str, episode: EpisodeKey, bound: impl ToSql) -> StoreResult<Option<i64>> {
        self.tx.value(sql, params![episode, bound])
    }

    /// Spaces the turns of an episode evenly again, in their order.
    fn renumber(&self, episode: EpisodeKey) -> StoreResult<()> {
        let order: Vec<(TurnKey, bool, bool)> = self.tx.all(
            "SELECT id, 0, position, role IN ('tool_call', 'tool_result') FROM turn WHERE episode_id = ?1
             UNION ALL SELECT turn_id, 1, turn_share.position, role IN ('tool_call', 'tool_result')
                 FROM turn_share JOIN turn ON turn.id = turn_id WHERE turn_share.episode_id = ?1
             ORDER BY 3, 1",
            [episode],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(3)?)),
        )?;
        let mut position = 0;
        for (turn, is_share, is_tool) in order {
            position += gap_before(!is_tool);
            if is_share {
                self.tx.execute(
                    "UPDATE turn_share SET position = ?3 WHERE episode_id = ?1 AND turn_id = ?2",
                    params![episode, turn, position],
                )?;
            } else {
                self.tx.execute("UPDATE turn SET position = ?2 WHERE id = ?1", params![turn, position])?;
            }
        }
        // The indexes contain the positions.
        self.tx.execute("INSERT INTO lexical_queue (turn_id) SELECT id FROM turn WHERE episode_id = ?1", [episode])?;
        Ok(())
    }

    pub(super) fn stretch(&self, episode: EpisodeKey, time: Option<UtcMillis>) -> StoreResult<()> {
        let Some(time) = time else { return Ok(()) };
        self.tx
            .execute(
                "UPDATE episode SET started_ms = min(coalesce(started_ms, ?2), ?2), updated_ms =
                 max(coalesce(updated_ms, ?2), ?2) WHERE id = ?1
                 AND (started_ms IS NULL OR started_ms > ?2 OR updated_ms < ?2)",
                params![episode, time],
            )
            .map(drop)
    }

    pub(in crate::store) fn label(&mut self, text: Option<&str>) -> StoreResult<Option<LabelKey>> {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
        if let Some(id) = self.labels.get(text) {
            return Ok(Some(*id));
        }
        let found: Option<LabelKey> = self.tx.first_value("SELECT id FROM label WHERE text = ?1", [text])?;
        let id = match found {
            Some(id) => id,
            None => self.tx.insert("INSERT INTO label (text) VALUES (?1)", [text])?,
        };
        self.labels.insert(text.to_owned(), id);
        Ok(Some(id))
    }
}

fn title_of_row(row: &Row<'_>) -> rusqlite::Result<Title> {
    Ok(Title {
        text: row.get(0)?,
        rank: TitleRank::parse(&row.get::<_, String>(1)?).unwrap_or(TitleRank::FirstWords),
        at: row.get(2)?,
        line: row.get::<_, i64>(3)? as u64,
    })
}

impl Store {
    /// Gives stored titles to the episodes that were read since; returns their number.
    pub(crate) fn settle_titles(&self) -> StoreResult<u64> {
        let due: Vec<(String, String)> = self.read(|view| {
            view.all(
                "SELECT agent, message FROM pending_title WHERE EXISTS ( SELECT 1 FROM turn
                 JOIN episode ON episode.id = episode_id WHERE turn.native_id IN (message, unhex(replace(message,
                 '-', ''))) AND episode.agent = pending_title.agent)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })?;
        if due.is_empty() {
            return Ok(0);
        }
        self.write(|tx| {
            let mut upserter = Upserter::new(tx);
            for (agent, message) in &due {
                let title = tx.first(
                    "SELECT title, title_rank, title_ms, title_line FROM pending_title WHERE agent = ?1 AND message = ?2",
                    params![agent, message],
                    title_of_row,
                )?;
                if let (Some(title), Some(episode)) = (title, upserter.episode_of_message(agent, message, None)?) {
                    upserter.title(episode, &title)?;
                }
                tx.execute("DELETE FROM pending_title WHERE agent = ?1 AND message = ?2", params![agent, message])?;
            }
            Ok(due.len() as u64)
        })
    }
}
