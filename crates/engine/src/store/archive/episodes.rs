//! Reads episodes and turns by row, by id, or in order.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use rusqlite::{Row, params};
use yore_core::episode::{Caveat, EpisodeKind, Role};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::query::{Filter, Place};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::native_id::{NativeId, native_id};
use super::words;
use crate::store::keys::{EpisodeKey, FileKey, LabelKey, ProjectKey, TurnKey, json_of};
use crate::store::local::transaction::View;
use crate::store::{Store, StoreResult};

/// SQL condition for a turn that recall may return, in a statement that names the table `turn`. A test
/// compares it with `Role::is_recalled`.
pub(in crate::store) const IS_RECALLED: &str = "turn.role NOT IN ('system', 'injected')";
/// True for the turn of a version of a note that a newer one replaced.
pub(super) const IS_REPLACED: &str =
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
    /// Key of the project.
    #[serde(skip)]
    pub(crate) project_key: Option<ProjectKey>,
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

pub(super) const SHOWN_COLUMNS: &str = "turn.id, turn.uid, episode.uid, episode.id, episode.agent, episode.kind, episode.native_id, turn.native_id, turn.role,
    speaker.text, turn.is_error, turn_text.words, turn.at_ms, turn.at_original, turn.at_offset_min, turn.at_quality, project.name, branch.text,
    cwd.text, model.text, source_file.path, turn.line, source_file.gone_ms IS NOT NULL,
    CASE WHEN note_version.turn_id IS NULL THEN episode.title ELSE note_version.title END, turn.caveat, turn.project_id";

pub(super) const SHOWN_JOINS: &str = "JOIN episode ON episode.id = turn.episode_id
    JOIN turn_text ON turn_text.turn_id = turn.id
    JOIN source_file ON source_file.id = turn.file_id
    LEFT JOIN project ON project.id = turn.project_id
    LEFT JOIN label AS branch ON branch.id = turn.branch_id
    LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
    LEFT JOIN label AS model ON model.id = turn.model_id
    LEFT JOIN label AS speaker ON speaker.id = turn.speaker_id
    LEFT JOIN note_version ON note_version.turn_id = turn.id";

pub(super) fn shown_turn(row: &Row<'_>) -> rusqlite::Result<ShownTurn> {
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
        project_key: row.get(25)?,
        branch: row.get(17)?,
        cwd: row.get(18)?,
        model: row.get(19)?,
        path: row.get(20)?,
        line: row.get::<_, i64>(21)? as u64,
        source_gone: row.get(22)?,
        title: row.get(23)?,
    })
}

/// The turns that an answer shows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Turns<'q> {
    /// These, as far as they still exist, in their order.
    Keys(&'q [TurnKey]),
    /// Those of an episode in order, including those that it shares with other sessions; of a note, the newest version.
    OfEpisode(EpisodeKey),
    /// The last ones of an episode by a role and without a caveat, last first, including those that it shares: at most so many.
    LastOf(EpisodeKey, Role, usize),
    /// The last one of the agent after a turn and before the next human turn, which is the outcome of that turn.
    Conclusion(TurnKey),
    /// The first human turn after a turn, which is what the person said to it.
    Reply(TurnKey),
    /// Those of people and agents in the exchange of a turn that stand nearest to it, without the turn itself, at most so many; none before
    /// the first human turn.
    Around(TurnKey, usize),
}

/// A condition by which turns are chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TurnChoice<'q> {
    /// Their id, short id or native id begins with this (at least 4 characters): at most so many.
    Named(&'q str, usize),
    /// They are those of an episode, as [`Turns::OfEpisode`] has them, in order.
    OfEpisode(EpisodeKey),
    /// They are versions that were replaced: before a time (exclusive), or at any time.
    Superseded(Option<UtcMillis>),
    /// They have the content that a filter asks for.
    Holding(&'q Filter),
    /// They are among these, and sessions with this native id repeat them from others.
    SharedBy(&'q str, &'q [TurnKey]),
}

/// A session, document or note, as it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedEpisode {
    pub key: EpisodeKey,
    pub agent: String,
    pub native_id: String,
    pub kind: EpisodeKind,
    /// Native id of the session that it belongs to.
    pub parent: Option<String>,
    /// The directory in which it began, as recorded.
    pub cwd: Option<String>,
}

/// The episodes that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Episodes<'q> {
    /// The one with a key.
    Key(EpisodeKey),
    /// Those whose id, short id or native id begins with this, at most so many; forgotten ones too. A blank beginning, such as that of an
    /// unset variable of a shell, is that of none.
    Beginning(&'q str, usize),
    /// The sessions that the beginning of an id refers to, at most so many; none that is forgotten. Side conversations of one of them are
    /// left out; their ids begin like its own.
    Named(&'q str, usize),
    /// Those of an agent (`None`: of any) with a native id, forgotten or not.
    Native(Option<&'q str>, &'q str),
    /// The sessions of sub-agents below one, at every depth, oldest first.
    Below(EpisodeKey),
    /// Those of these agents and kinds; an empty list matches any.
    Of(&'q [String], &'q [EpisodeKind]),
    /// Those of an agent that belong to no project.
    WithoutProject(&'q str),
    /// Those of an agent that own or repeat one of these messages.
    WithMessages(&'q str, &'q HashSet<String>),
    /// Those with turns in a file, the one with the newest turn first.
    InFile(FileKey),
    /// The notes of which these turns are versions.
    WithVersions(&'q [TurnKey]),
}

/// A pass over the whole archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub number: i64,
    /// The newest turn that is stored now.
    pub newest: TurnKey,
}

/// The turns that are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnCount<'q> {
    pub episodes: &'q [EpisodeKey],
    /// Those that an episode shares with others, too.
    pub with_shared: bool,
    /// Roles; empty: any.
    pub roles: &'q [Role],
    pub since: Option<UtcMillis>,
    pub until: Option<UtcMillis>,
}

const EPISODE: &str = "SELECT id, agent, native_id, kind, parent_native_id, cwd FROM episode";

fn named_episode(row: &Row<'_>) -> rusqlite::Result<NamedEpisode> {
    Ok(NamedEpisode {
        key: row.get(0)?,
        agent: row.get(1)?,
        native_id: row.get(2)?,
        kind: EpisodeKind::parse(&row.get::<_, String>(3)?).unwrap_or(EpisodeKind::Session),
        parent: row.get(4)?,
        cwd: row.get(5)?,
    })
}

impl View<'_> {
    fn beginning(&self, prefix: &str, with_forgotten: bool, limit: usize) -> StoreResult<Vec<NamedEpisode>> {
        if prefix.trim().is_empty() {
            return Ok(Vec::new());
        }
        let (low, high) = uuid_range(prefix).unwrap_or(([0xff; 16], [0; 16]));
        let mut found = self.all(
            &format!(
                "{EPISODE} WHERE (uid BETWEEN ?1 AND ?2 OR substr(native_id, 1, length(?3)) = ?3) AND (?4 OR forgotten_ms IS NULL)
                 ORDER BY native_id = ?3 DESC, length(native_id), id LIMIT ?5"
            ),
            params![low, high, prefix, with_forgotten, limit as i64],
            named_episode,
        )?;
        // An exact native id takes precedence over sessions that merely begin with it (sub-agents do).
        if found.first().is_some_and(|first| first.native_id == prefix) {
            found.truncate(1);
        }
        Ok(found)
    }

    fn below(&self, episode: EpisodeKey) -> StoreResult<Vec<NamedEpisode>> {
        self.all(
            &format!(
                "WITH RECURSIVE family (id) AS (
                     SELECT ?1
                     UNION
                     SELECT child.id FROM episode AS child
                     JOIN episode AS parent ON parent.native_id = child.parent_native_id AND parent.agent = child.agent
                     JOIN family ON family.id = parent.id)
                 {EPISODE} WHERE id IN (SELECT id FROM family) AND id <> ?1 ORDER BY started_ms, id"
            ),
            [episode],
            named_episode,
        )
    }

    fn with_messages(&self, agent: &str, messages: &HashSet<String>) -> StoreResult<Vec<EpisodeKey>> {
        let mut found: BTreeSet<EpisodeKey> = BTreeSet::new();
        for message in messages {
            found.extend(self.column::<EpisodeKey>(
                "SELECT episode.id FROM turn JOIN episode ON episode.id = turn.episode_id
                 WHERE turn.native_id = ?1 AND agent = ?2 UNION SELECT episode.id FROM turn
                 JOIN turn_share ON turn_share.turn_id = turn.id
                 JOIN episode ON episode.id = turn_share.episode_id WHERE turn.native_id = ?1 AND agent = ?2",
                params![NativeId(message), agent],
            )?);
        }
        Ok(found.into_iter().collect())
    }
}

impl Store {
    /// Returns turns for display, without those of forgotten sessions.
    pub(crate) fn turns(&self, wanted: Turns<'_>) -> StoreResult<Vec<ShownTurn>> {
        self.read(|view| match wanted {
            Turns::Keys(keys) => {
                let sql = format!(
                    "SELECT {SHOWN_COLUMNS} FROM turn {SHOWN_JOINS} WHERE turn.id = ?1 AND episode.forgotten_ms IS NULL"
                );
                keys.iter().filter_map(|key| view.first(&sql, [key], shown_turn).transpose()).collect()
            }
            Turns::OfEpisode(episode) => {
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
            }
            Turns::LastOf(episode, role, limit) => {
                let sql = format!(
                    "SELECT {SHOWN_COLUMNS} FROM (
                         SELECT place.turn_id, place.position FROM (
                             SELECT id AS turn_id, position FROM turn WHERE episode_id = ?1
                             UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1
                         ) AS place JOIN turn ON turn.id = place.turn_id WHERE turn.role = ?2 AND turn.caveat IS NULL ORDER BY place.position DESC LIMIT ?3
                     ) AS place JOIN turn ON turn.id = place.turn_id {SHOWN_JOINS} WHERE episode.forgotten_ms IS NULL ORDER BY place.position DESC"
                );
                view.all(&sql, params![episode, role.as_str(), limit as i64], shown_turn)
            }
            Turns::Conclusion(turn) => view.conclusion(turn),
            Turns::Reply(turn) => view.reply(turn),
            Turns::Around(turn, limit) => view.exchange_around(turn, limit),
        })
    }

    /// Returns the turns that a condition chooses.
    pub(crate) fn turn_keys(&self, choice: TurnChoice<'_>) -> StoreResult<Vec<TurnKey>> {
        self.read(|view| match choice {
            TurnChoice::Named(prefix, _) if prefix.trim().is_empty() => Ok(Vec::new()),
            TurnChoice::Named(prefix, limit) => {
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
            }
            TurnChoice::OfEpisode(episode) => view.column(
                &format!(
                    "SELECT turn.id FROM (
                         SELECT id AS turn_id, position FROM turn WHERE episode_id = ?1
                         UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1
                     ) AS place JOIN turn ON turn.id = place.turn_id JOIN episode ON episode.id = turn.episode_id
                     WHERE episode.forgotten_ms IS NULL AND NOT {IS_REPLACED}
                     ORDER BY place.position, turn.id"
                ),
                [episode],
            ),
            TurnChoice::Superseded(as_of) => view
                .column("SELECT turn_id FROM note_version WHERE until_ms IS NOT NULL AND (?1 IS NULL OR until_ms < ?1)", [as_of]),
            TurnChoice::Holding(filter) => Ok(view.turns_holding(filter)?.into_iter().collect()),
            TurnChoice::SharedBy(native_session, turns) => view.column(
                "SELECT turn_id FROM turn_share JOIN episode ON episode.id = turn_share.episode_id
                 WHERE turn_id IN (SELECT value FROM json_each(?1)) AND episode.native_id = ?2",
                params![json_of(turns), native_session],
            ),
        })
    }

    /// Returns episodes, as they are named.
    pub(crate) fn episodes(&self, wanted: &Episodes<'_>) -> StoreResult<Vec<NamedEpisode>> {
        let among = "id IN (SELECT value FROM json_each(?1)) ORDER BY id";
        self.read(|view| match *wanted {
            Episodes::Key(key) => view.all(&format!("{EPISODE} WHERE id = ?1"), [key], named_episode),
            Episodes::Beginning(prefix, limit) => view.beginning(prefix, true, limit),
            Episodes::Named(prefix, limit) => {
                let mut found = view.beginning(prefix, false, limit)?;
                if found.len() > 1 {
                    let mut children = HashSet::new();
                    for episode in &found {
                        children.extend(view.below(episode.key)?.into_iter().map(|child| child.key));
                    }
                    found.retain(|episode| !children.contains(&episode.key));
                }
                Ok(found)
            }
            Episodes::Native(Some(agent), native_id) => {
                view.all(&format!("{EPISODE} WHERE agent = ?1 AND native_id = ?2"), [agent, native_id], named_episode)
            }
            Episodes::Native(None, native_id) => {
                view.all(&format!("{EPISODE} WHERE native_id = ?1"), [native_id], named_episode)
            }
            Episodes::Below(episode) => view.below(episode),
            Episodes::Of(agents, kinds) => {
                let mut all = view.all(EPISODE, [], named_episode)?;
                all.retain(|episode| agents.is_empty() || agents.contains(&episode.agent));
                all.retain(|episode| kinds.is_empty() || kinds.contains(&episode.kind));
                Ok(all)
            }
            Episodes::WithoutProject(agent) => {
                let sql = format!("{EPISODE} WHERE agent = ?1 AND project_id IS NULL AND forgotten_ms IS NULL");
                view.all(&sql, [agent], named_episode)
            }
            Episodes::WithMessages(agent, messages) => {
                let keys = view.with_messages(agent, messages)?;
                view.all(&format!("{EPISODE} WHERE {among}"), [json_of(&keys)], named_episode)
            }
            Episodes::InFile(file) => view.all(
                &format!("{EPISODE} JOIN file_episode ON file_episode.episode_id = episode.id WHERE file_id = ?1 ORDER BY last_turn DESC"),
                [file],
                named_episode,
            ),
            Episodes::WithVersions(turns) => {
                let keys: Vec<EpisodeKey> = view.column(
                    "SELECT DISTINCT episode_id FROM note_version WHERE turn_id IN (SELECT value FROM json_each(?1))",
                    [json_of(turns)],
                )?;
                view.all(&format!("{EPISODE} WHERE {among}"), [json_of(&keys)], named_episode)
            }
        })
    }

    /// Returns the number of turns of episodes; one that several of them share counts for each.
    pub(crate) fn count_turns(&self, count: &TurnCount<'_>) -> StoreResult<u64> {
        let roles = serde_json::Value::from(count.roles.iter().map(|role| role.as_str()).collect::<Vec<_>>()).to_string();
        self.read(|view| {
            let mut sum = 0;
            for episode in count.episodes {
                sum += view.count(
                    "SELECT count(*) FROM turn
                     WHERE (episode_id = ?1 OR ?2 AND id IN (SELECT turn_id FROM turn_share WHERE turn_share.episode_id = ?1))
                         AND (?3 = '[]' OR role IN (SELECT value FROM json_each(?3)))
                         AND (?4 IS NULL OR at_ms >= ?4) AND (?5 IS NULL OR at_ms < ?5)",
                    params![episode, count.with_shared, roles, count.since, count.until],
                )?;
            }
            Ok(sum)
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

    /// Returns the last pass over the whole archive.
    pub(crate) fn last_pass(&self) -> StoreResult<Pass> {
        self.read(|view| {
            view.one("SELECT coalesce(max(reading), 0), coalesce(max(id), 0) FROM turn", [], |row| {
                Ok(Pass { number: row.get(0)?, newest: row.get(1)? })
            })
        })
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
