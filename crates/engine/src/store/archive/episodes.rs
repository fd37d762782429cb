//! Reads episodes and turns by row, by id, or in order.

use std::collections::HashSet;
use std::ops::ControlFlow;

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use yore_core::episode::{Caveat, EpisodeKind, Role};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::query::Place;
use yore_core::time::{RecordedTime, TimeQuality};

use super::words;
use crate::store::keys::{EpisodeKey, FileKey, LabelKey, TurnKey, json_of};
use crate::store::{Store, StoreResult};

/// SQL condition for a turn that recall may return, in a statement that names the table `turn`. A test
/// compares it with `Role::is_recalled`.
pub(in crate::store) const IS_RECALLED: &str = "turn.role NOT IN ('system', 'injected')";
/// True for the turn of a version of a note that a newer one replaced.
pub(in crate::store) const IS_REPLACED: &str =
    "EXISTS (SELECT 1 FROM note_version WHERE note_version.turn_id = turn.id AND note_version.until_ms IS NOT NULL)";

/// A turn for display.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ShownTurn {
    /// Row in the store; it has no order, and no meaning outside.
    pub(crate) row: TurnKey,
    /// The turn's id.
    pub id: TurnId,
    /// The episode that owns it.
    pub episode: EpisodeId,
    /// Row of that episode.
    pub(crate) episode_row: EpisodeKey,
    /// Agent of that episode.
    pub agent: String,
    /// Kind of that episode.
    pub kind: EpisodeKind,
    /// The agent's own session id.
    pub native_session: String,
    /// The agent's own message id.
    pub native_message: String,
    /// Role of the speaker.
    pub role: Role,
    /// The speaker's name, where there is one.
    pub speaker: Option<String>,
    /// Why nothing is learned from it, if that is so.
    pub caveat: Option<Caveat>,
    /// True if a tool reported failure.
    pub is_error: bool,
    /// Spoken text.
    pub text: String,
    /// Tool inputs or output.
    pub tool_text: String,
    /// Time when it was said.
    pub time: RecordedTime,
    /// Name of the project.
    pub project: Option<String>,
    /// Branch at the time.
    pub branch: Option<String>,
    /// Directory at the time.
    pub cwd: Option<String>,
    /// Model that wrote it.
    pub model: Option<String>,
    /// Path of the file that it was read from.
    pub path: String,
    /// 1-based line in that file.
    pub line: u64,
    /// True if the source was found to be missing.
    pub source_gone: bool,
    /// Title of the episode, where one is recorded.
    pub title: Option<String>,
}

impl ShownTurn {
    /// Returns its content: the text, then the input and output of tools.
    pub fn words(&self) -> String {
        let parts = [self.text.trim(), self.tool_text.trim()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns the location of its text.
    pub(crate) fn place(&self) -> Place {
        Place {
            episode: self.episode,
            turn: self.id,
            native_session: self.native_session.clone(),
            native_message: self.native_message.clone(),
            path: self.path.clone(),
            line: self.line,
        }
    }
}

pub(in crate::store) const SHOWN_COLUMNS: &str = "turn.id, turn.uid, episode.uid, episode.id, episode.agent, episode.kind, episode.native_id, turn.native_id, turn.role,
    speaker.text, turn.is_error, turn_text.words, turn.at_ms, turn.at_original, turn.at_offset_min, turn.at_quality, project.name, branch.text,
    cwd.text, model.text, source_file.path, turn.line, source_file.gone_ms IS NOT NULL,
    CASE WHEN note_version.turn_id IS NULL THEN episode.title ELSE note_version.title END, turn.caveat";

pub(in crate::store) const SHOWN_JOINS: &str = "JOIN episode ON episode.id = turn.episode_id
    JOIN turn_text ON turn_text.turn_id = turn.id
    JOIN source_file ON source_file.id = turn.file_id
    LEFT JOIN project ON project.id = turn.project_id
    LEFT JOIN label AS branch ON branch.id = turn.branch_id
    LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
    LEFT JOIN label AS model ON model.id = turn.model_id
    LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id
    LEFT JOIN note_version ON note_version.turn_id = turn.id";

pub(in crate::store) fn shown_turn(row: &Row<'_>) -> rusqlite::Result<ShownTurn> {
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
        caveat: row.get::<_, Option<String>>(24)?.as_deref().and_then(Caveat::parse),
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
    /// Returns the turns of these rows that still exist and are not forgotten, in any order.
    pub(crate) fn shown_turns(&self, rows: &[TurnKey]) -> StoreResult<Vec<ShownTurn>> {
        self.read(|view| {
            let sql =
                format!("SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL");
            let mut turns = Vec::with_capacity(rows.len());
            for row in rows {
                turns.extend(view.first(&sql, [row], shown_turn)?);
            }
            Ok(turns)
        })
    }

    /// Returns the turns of an episode in order, including those it shares with other sessions; for a note,
    /// the newest version.
    pub(crate) fn episode_turns(&self, episode: EpisodeKey) -> StoreResult<Vec<ShownTurn>> {
        self.read(|view| {
            let sql = format!(
                "SELECT {SHOWN_COLUMNS} FROM (
                     SELECT id AS turn_id, position FROM turn WHERE episode_id = ?1
                     UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1
                 ) AS place JOIN turn ON turn.id = place.turn_id {SHOWN_JOINS}
                 WHERE episode.forgotten_ms IS NULL
                   AND NOT {IS_REPLACED}
                 ORDER BY place.position, turn.id"
            );
            view.all(&sql, [episode], shown_turn)
        })
    }

    /// Returns the last turns of an episode by a speaker of this role and without a caveat, last first, including those it
    /// shares with other sessions.
    pub(crate) fn last_spoken(&self, episode: EpisodeKey, role: Role, limit: usize) -> StoreResult<Vec<ShownTurn>> {
        self.read(|view| {
            let sql = format!(
                "SELECT {SHOWN_COLUMNS} FROM (
                     SELECT place.turn_id, place.position FROM (
                         SELECT id AS turn_id, position FROM turn WHERE episode_id = ?1
                         UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1
                     ) AS place JOIN turn ON turn.id = place.turn_id WHERE turn.role = ?2 AND turn.caveat IS NULL ORDER BY place.position DESC LIMIT ?3
                 ) AS place JOIN turn ON turn.id = place.turn_id {SHOWN_JOINS} WHERE episode.forgotten_ms IS NULL ORDER BY place.position DESC"
            );
            view.all(&sql, params![episode, role.as_str(), limit as i64], shown_turn)
        })
    }

    /// Returns whether a session called a tool, in its own turns or in turns that it shares.
    pub(crate) fn has_tool_calls(&self, episode: EpisodeKey) -> StoreResult<bool> {
        self.read(|view| {
            view.value(
                "SELECT EXISTS (SELECT 1 FROM turn WHERE episode_id = ?1 AND role IN ('tool_call', 'tool_result'))
                         OR EXISTS (SELECT 1 FROM turn_share JOIN turn ON turn.id = turn_id
                                    WHERE turn_share.episode_id = ?1 AND role IN ('tool_call', 'tool_result'))",
                [episode],
            )
        })
    }

    /// Returns those of these turns that the sessions with this native id repeat from others.
    pub(crate) fn shared_with(&self, native_session: &str, turns: &[TurnKey]) -> StoreResult<HashSet<TurnKey>> {
        self.read(|view| {
            let list = json_of(turns);
            let shared = view.column(
                "SELECT turn_id FROM turn_share JOIN episode ON episode.id = turn_share.episode_id
                 WHERE turn_id IN (SELECT value FROM json_each(?1)) AND episode.native_id = ?2",
                params![list, native_session],
            )?;
            Ok(shared.into_iter().collect())
        })
    }

    /// Returns whether an agent other than `agent` has a session with this native id, forgotten or not.
    pub(crate) fn is_told_by_another(&self, agent: &str, native_session: &str) -> StoreResult<bool> {
        self.read(|view| {
            view.exists("SELECT 1 FROM episode WHERE native_id = ?1 AND agent <> ?2", params![native_session, agent])
        })
    }

    /// Returns the turns whose id, short id or native id begins with `prefix` (at least 4 characters).
    pub(crate) fn turns_by_prefix(&self, prefix: &str, limit: usize) -> StoreResult<Vec<TurnKey>> {
        if prefix.trim().is_empty() {
            return Ok(Vec::new());
        }
        self.read(|view| {
            let mut found = Vec::new();
            if let Some((low, high)) = uuid_range(prefix) {
                found = view.column(
                    "SELECT id FROM turn WHERE uid BETWEEN ?1 AND ?2 UNION SELECT id FROM turn
                 WHERE native_id BETWEEN ?1 AND ?2 LIMIT ?3",
                    params![low, high, limit as i64],
                )?;
            }
            if found.is_empty() {
                found = view.column("SELECT id FROM turn WHERE native_id = ?1 LIMIT ?2", params![prefix, limit as i64])?;
            }
            Ok(found)
        })
    }

    /// Returns the episodes whose id, short id or native id begins with `prefix`; forgotten ones only on
    /// request. A blank prefix, such as that of an unset variable of a shell, is the beginning of none.
    pub(crate) fn episodes_by_prefix(
        &self,
        prefix: &str,
        with_forgotten: bool,
        limit: usize,
    ) -> StoreResult<Vec<(EpisodeKey, String, String)>> {
        if prefix.trim().is_empty() {
            return Ok(Vec::new());
        }
        self.read(|view| {
            let (low, high) = uuid_range(prefix).unwrap_or(([0xff; 16], [0; 16]));
            let mut found: Vec<(EpisodeKey, String, String)> = view.all(
                "SELECT id, agent, native_id FROM episode
                     WHERE (uid BETWEEN ?1 AND ?2 OR substr(native_id, 1, length(?3)) = ?3) AND (?4 OR forgotten_ms IS NULL)
                     ORDER BY native_id = ?3 DESC, length(native_id), id LIMIT ?5",
                params![low, high, prefix, with_forgotten, limit as i64],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
            // An exact native id takes precedence over sessions that merely begin with it (sub-agents do).
            if found.first().is_some_and(|(_, _, native)| native == prefix) {
                found.truncate(1);
            }
            Ok(found)
        })
    }

    /// Returns the sessions that the beginning of an id refers to. Side conversations of a matching session
    /// are left out; their ids begin like its own.
    pub(crate) fn sessions_named(&self, prefix: &str, limit: usize) -> StoreResult<Vec<(EpisodeKey, String, String)>> {
        let mut found = self.episodes_by_prefix(prefix, false, limit)?;
        if found.len() > 1 {
            let mut children = HashSet::new();
            for (row, ..) in &found {
                children.extend(self.descendants(*row)?.into_iter().map(|(child, _)| child));
            }
            found.retain(|(row, ..)| !children.contains(row));
        }
        Ok(found)
    }

    /// Returns the episode with a native id of an agent.
    pub(crate) fn episode_of(&self, agent: &str, native_id: &str) -> StoreResult<Option<EpisodeKey>> {
        self.read(|view| {
            view.first_value("SELECT id FROM episode WHERE agent = ?1 AND native_id = ?2", params![agent, native_id])
        })
    }

    /// Returns the last spoken text before a position in an episode, by any speaker; tool turns in between are
    /// skipped.
    pub(crate) fn said_before(&self, episode: EpisodeKey, position: i64) -> StoreResult<Option<String>> {
        self.read(|view| {
            let rows = view.column(
                "SELECT id FROM turn WHERE episode_id = ?1 AND position < ?2 AND role IN ('human', 'assistant')
                     ORDER BY position DESC LIMIT 4",
                params![episode, position],
            )?;
            for row in rows {
                let before = view.indexed_turn(row)?.map(|turn| turn.spoken());
                if before.as_ref().is_some_and(|words| !words.trim().is_empty()) {
                    return Ok(before);
                }
            }
            Ok(None)
        })
    }

    /// Returns the rows of the labels with these texts.
    pub(crate) fn label_rows(&self, texts: &[String]) -> StoreResult<Vec<LabelKey>> {
        self.read(|view| {
            let mut rows = Vec::new();
            for text in texts {
                rows.extend(view.first_value::<LabelKey>("SELECT id FROM label WHERE text = ?1", [text])?);
            }
            Ok(rows)
        })
    }

    /// Returns the rows of the episodes of these agents and kinds; an empty list matches any.
    pub(crate) fn episode_rows(&self, agents: &[String], kinds: &[EpisodeKind]) -> StoreResult<Vec<EpisodeKey>> {
        self.read(|view| {
            let all: Vec<(EpisodeKey, String, String)> =
                view.all("SELECT id, agent, kind FROM episode", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(all
                .into_iter()
                .filter(|(_, agent, _)| agents.is_empty() || agents.contains(agent))
                .filter(|(_, _, kind)| kinds.is_empty() || kinds.iter().any(|wanted| wanted.as_str() == kind))
                .map(|(id, ..)| id)
                .collect())
        })
    }

    /// Rows and native ids of the sub-agents' sessions below a session, at every depth, oldest first.
    pub(crate) fn descendants(&self, episode: EpisodeKey) -> StoreResult<Vec<(EpisodeKey, String)>> {
        self.read(|view| {
            view.all(
                "WITH RECURSIVE family (id) AS (
                     SELECT ?1
                     UNION
                     SELECT child.id FROM episode AS child
                     JOIN episode AS parent ON parent.native_id = child.parent_native_id AND parent.agent = child.agent
                     JOIN family ON family.id = parent.id)
                 SELECT id, native_id FROM episode WHERE id IN (SELECT id FROM family) AND id <> ?1 ORDER BY started_ms, id",
                [episode],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Calls `each` with the text of every turn, or with `None` if the text is missing or cannot be read.
    pub(crate) fn each_words(&self, mut each: impl FnMut([u8; 16], Option<(&str, &str)>)) -> StoreResult<()> {
        self.read(|view| {
            let sql = "SELECT turn.uid, turn_text.words FROM turn LEFT JOIN turn_text ON turn_text.turn_id = turn.id";
            view.each(sql, [], |row| {
                let words = row.get::<_, Option<Vec<u8>>>(1).ok().flatten().and_then(|words| super::words::decode(&words));
                each(row.get(0)?, words.as_ref().map(|(text, tool_text)| (text.as_str(), tool_text.as_str())));
                Ok(ControlFlow::Continue(()))
            })
        })
    }

    /// Marks the turns of a file as seen by a pass that could not read them.
    pub(crate) fn keep_turns_of(&self, file: FileKey, pass: i64) -> StoreResult<()> {
        self.write(|tx| tx.execute("UPDATE turn SET reading = ?2 WHERE file_id = ?1", params![file, pass]).map(drop))
    }

    /// Returns the row of the newest turn.
    pub(crate) fn newest_turn(&self) -> StoreResult<TurnKey> {
        self.read(|view| view.value("SELECT coalesce(max(id), 0) FROM turn", []))
    }

    /// Returns the number of the last pass over the whole archive.
    pub(crate) fn last_pass(&self) -> StoreResult<i64> {
        self.read(|view| view.value("SELECT coalesce(max(reading), 0) FROM turn", []))
    }
}

/// Returns the range of 16-byte ids whose hex form begins with `prefix`, ignoring hyphens; `None` if it is
/// not hex or shorter than 4 digits.
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

/// Returns the id of a message: UUIDs are stored as bytes.
pub(in crate::store) fn native_id(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Blob(bytes) => match uuid::Uuid::from_slice(bytes) {
            Ok(id) => id.hyphenated().to_string(),
            Err(_) => String::new(),
        },
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_and_core_agree_on_what_recall_may_return() {
        for role in Role::ALL {
            let is_listed = IS_RECALLED.contains(&format!("'{}'", role.as_str()));
            assert_eq!(role.is_recalled(), !is_listed, "{role:?}");
        }
    }
}
