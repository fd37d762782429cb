//! Lists sessions with their counts and times.

use std::ops::ControlFlow;

use rusqlite::params;
use yore_core::episode::EpisodeKind;
use yore_core::exchange::preview;
use yore_core::id::EpisodeId;
use yore_core::time::UtcMillis;

use super::episodes::IS_REPLACED;
use super::overview::count;
use super::words;
use crate::store::keys::{EpisodeKey, ProjectKey, json_of};
use crate::store::local::transaction::View;
use crate::store::{Store, StoreResult};

/// Most files that a summary names.
const SUMMARY_FILES: usize = 50;
/// Messages of a session that are looked at for its title.
const TITLE_OPENINGS: usize = 6;
/// Characters of a title that is made from a session's first words.
const TITLE_CHARS: usize = 100;

/// A session or document in a list.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EpisodeSummary {
    /// Row.
    pub(crate) row: EpisodeKey,
    /// Id.
    pub id: EpisodeId,
    /// Source kind, such as `claude-code`.
    pub agent: String,
    /// The agent's own session id.
    pub native_id: String,
    /// Session, sub-agent's session or document.
    pub kind: EpisodeKind,
    /// Recorded title, else that of its summary, else one made of the first human turn, at most 100 characters.
    pub title: Option<String>,
    /// Name of the project.
    pub project: Option<String>,
    /// The directory in which it began.
    pub cwd: Option<String>,
    /// Time of the first turn.
    pub started: Option<UtcMillis>,
    /// Time of the last turn.
    pub updated: Option<UtcMillis>,
    /// Number of turns, shared ones included.
    pub turns: u64,
    /// Time when it was soft-forgotten.
    pub forgotten: Option<UtcMillis>,
    /// Links to commits, pull requests and the like: (kind, value).
    pub links: Vec<(String, String)>,
}

/// A session with a summary of its messages.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationSummary {
    /// The session.
    pub session: EpisodeSummary,
    /// Number of messages by the person and the agent, tools not counted.
    pub message_count: u64,
    /// True if a message has a code block.
    pub has_code: bool,
    /// Languages of the code blocks, most used first.
    pub languages: Vec<String>,
    /// The beginning of the first human message on one line.
    pub preview: String,
    /// Files that the session touched: changed ones first, then the most frequent; at most 50.
    pub files: Vec<String>,
}

/// Order of a list of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SessionOrder {
    /// Last used first.
    #[default]
    Recent,
    /// First begun first.
    Oldest,
}

/// Listing of forgotten sessions, which can be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ForgottenSessions {
    /// It leaves them out.
    #[default]
    LeftOut,
    /// It has them beside the others.
    Included,
    /// It has no others.
    Alone,
}

impl ForgottenSessions {
    /// Returns whether a session of the list is forgotten, if that matters.
    fn state(self) -> Option<bool> {
        match self {
            Self::LeftOut => Some(false),
            Self::Included => None,
            Self::Alone => Some(true),
        }
    }
}

/// SQL condition on a row of `episode`: programs sent all of its prompts, no person sent any. Both kinds of turns may be shared
/// with other sessions.
pub(super) const IS_OF_PROGRAMS: &str =
    "(kind = 'session' AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.episode_id = episode.id AND role = 'human')
      AND NOT EXISTS (SELECT 1 FROM turn_share JOIN turn ON turn.id = turn_share.turn_id
                      WHERE turn_share.episode_id = episode.id AND role = 'human')
      AND (EXISTS (SELECT 1 FROM turn JOIN label ON label.id = turn.speaker_id
                   WHERE turn.episode_id = episode.id AND role = 'injected' AND label.text = 'program')
           OR EXISTS (SELECT 1 FROM turn_share JOIN turn ON turn.id = turn_share.turn_id JOIN label ON label.id = turn.speaker_id
                      WHERE turn_share.episode_id = episode.id AND role = 'injected' AND label.text = 'program')))";

/// Filter of a list of sessions; an empty list lets everything through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionFilter<'f> {
    pub projects: &'f [ProjectKey],
    /// Source kinds.
    pub agents: &'f [String],
    /// The agent's own id.
    pub native_id: Option<&'f str>,
    /// Only conversations last used at or after this time.
    pub since: Option<UtcMillis>,
    /// Only conversations begun before this time.
    pub until: Option<UtcMillis>,
    /// Only sessions with a code block.
    pub has_code: bool,
    /// Text in the title or the messages, in lower case.
    pub text: Option<&'f str>,
    pub with_subagents: bool,
    /// Sessions that only programs held, too.
    pub with_programs: bool,
    pub forgotten: ForgottenSessions,
    pub without_documents: bool,
    /// Only sessions with at least so many turns more than this extractor has read.
    pub has_more: Option<(&'f str, i64)>,
    /// Only sessions after this place in the list: the time by which it is ordered, and the id, of its last item.
    pub after: Option<(Option<UtcMillis>, EpisodeId)>,
    /// Makes titles for sessions without one; `None`: such sessions stay without.
    pub title: Option<Titles>,
}

/// The way in which sessions get their titles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Titles {
    /// Returns whether a recorded title says what a session is about; another one is replaced.
    pub is_one: fn(&str) -> bool,
    /// Makes a title of the first messages of a session.
    pub of: fn(&mut dyn Iterator<Item = String>) -> Option<String>,
}

impl Store {
    /// Lists the sessions that a filter lets through, at most `limit`.
    pub(crate) fn sessions(
        &self,
        filter: &SessionFilter<'_>,
        order: SessionOrder,
        limit: usize,
    ) -> StoreResult<Vec<EpisodeSummary>> {
        // NULL is the smallest of all values.
        let (direction, is_after) = match order {
            SessionOrder::Recent => {
                ("updated_ms DESC", "updated_ms < ?14 OR updated_ms IS NULL AND ?14 IS NOT NULL OR updated_ms IS ?14")
            }
            SessionOrder::Oldest => {
                ("started_ms ASC", "started_ms > ?14 OR started_ms IS NOT NULL AND ?14 IS NULL OR started_ms IS ?14")
            }
        };
        let sql = format!(
            "SELECT episode.id, episode.uid, agent, native_id, kind,
                    coalesce(title, (SELECT title FROM session_summary WHERE episode_id = episode.id)),
                    project.name, cwd, started_ms, updated_ms,
                    (SELECT count(*) FROM turn WHERE episode_id = episode.id)
                    - (SELECT count(*) FROM note_version WHERE episode_id = episode.id AND until_ms IS NOT NULL)
                    + (SELECT count(*) FROM turn_share WHERE episode_id = episode.id),
                    forgotten_ms
             FROM episode LEFT JOIN project ON project.id = episode.project_id
             WHERE (?1 = '[]' OR episode.project_id IN (SELECT value FROM json_each(?1)))
               AND (?2 = '[]' OR agent IN (SELECT value FROM json_each(?2)))
               AND (?3 IS NULL OR native_id = ?3)
               AND (?4 IS NULL OR updated_ms >= ?4) AND (?5 IS NULL OR started_ms < ?5)
               AND (NOT ?6 OR EXISTS (SELECT 1 FROM turn JOIN code_block ON turn_id = turn.id
                               WHERE turn.episode_id = episode.id AND NOT {IS_REPLACED})
                    OR EXISTS (SELECT 1 FROM turn_share JOIN code_block USING (turn_id) WHERE turn_share.episode_id = episode.id))
               AND (?7 OR kind <> 'subagent') AND (?8 IS NULL OR (forgotten_ms IS NOT NULL) = ?8) AND (NOT ?9 OR kind <> 'document')
               AND (?11 OR NOT {IS_OF_PROGRAMS})
               AND (?12 IS NULL OR (SELECT count(*) FROM turn WHERE turn.episode_id = episode.id)
                   + (SELECT count(*) FROM turn_share WHERE turn_share.episode_id = episode.id)
                   - coalesce((SELECT turns FROM extraction WHERE extraction.episode_id = episode.id AND extractor = ?12), 0) >= ?13)
               AND (?15 IS NULL OR {is_after} AND episode.id > coalesce((SELECT id FROM episode WHERE uid = ?15), 0))
             ORDER BY {direction}, episode.id LIMIT ?10"
        );
        // Words are compressed, so text is compared here, session by session.
        let sql_limit = if filter.text.is_some() { -1 } else { i64::try_from(limit).unwrap_or(i64::MAX) };
        let agents = serde_json::Value::from(filter.agents).to_string();
        self.read(|view| {
            let parameters = params![
                json_of(filter.projects),
                agents,
                filter.native_id,
                filter.since,
                filter.until,
                filter.has_code,
                filter.with_subagents,
                filter.forgotten.state(),
                filter.without_documents,
                sql_limit,
                filter.with_programs,
                filter.has_more.map(|(extractor, _)| extractor),
                filter.has_more.map(|(_, turns)| turns),
                filter.after.and_then(|(at, _)| at),
                filter.after.map(|(_, id)| *id.as_bytes()),
            ];
            let candidates: Vec<EpisodeSummary> = view.all(&sql, parameters, |row| {
                Ok(EpisodeSummary {
                    row: row.get(0)?,
                    id: EpisodeId::from_bytes(row.get(1)?),
                    agent: row.get(2)?,
                    native_id: row.get(3)?,
                    kind: EpisodeKind::parse(&row.get::<_, String>(4)?).unwrap_or(EpisodeKind::Session),
                    title: row.get(5)?,
                    project: row.get(6)?,
                    cwd: row.get(7)?,
                    started: row.get(8)?,
                    updated: row.get(9)?,
                    turns: count(row, 10)?,
                    forgotten: row.get(11)?,
                    links: Vec::new(),
                })
            })?;
            let mut sessions = Vec::new();
            for mut session in candidates {
                if sessions.len() >= limit {
                    break;
                }
                if let Some(text) = filter.text
                    && !view.contains_text(&session, text)?
                {
                    continue;
                }
                session.links = view.all(
                    "SELECT kind, value FROM episode_link WHERE episode_id = ?1 ORDER BY kind, value",
                    [session.row],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?;
                let is_one = |titles: &Titles| session.title.as_ref().is_some_and(|title| (titles.is_one)(title));
                if let Some(titles) = filter.title.filter(|titles| !is_one(titles)) {
                    let stored = view.openings(session.row, TITLE_OPENINGS)?;
                    let mut openings = stored.iter().filter_map(|stored| words::decode(stored)).map(|(text, _)| text);
                    let made = (titles.of)(&mut openings).map(|title| shortened(&title));
                    session.title = made.or(session.title.take());
                }
                sessions.push(session);
            }
            Ok(sessions)
        })
    }

    /// Adds a summary of its messages to a session.
    pub(crate) fn summary(&self, session: EpisodeSummary) -> StoreResult<ConversationSummary> {
        self.read(|view| {
            let episode = session.row;
            let message_count: i64 = view.value(
                &format!("SELECT (SELECT count(*) FROM turn WHERE episode_id = ?1 AND role IN ('human', 'assistant') AND NOT {IS_REPLACED})
                        + (SELECT count(*) FROM turn_share JOIN turn ON turn.id = turn_id
                           WHERE turn_share.episode_id = ?1 AND role IN ('human', 'assistant'))"),
                [episode],
            )?;
            let languages: Vec<Option<String>> = view.column(
                &format!("SELECT label.text, count(*) FROM (SELECT id FROM turn WHERE episode_id = ?1 AND NOT {IS_REPLACED}
                                                   UNION ALL SELECT turn_id FROM turn_share WHERE episode_id = ?1) AS place
                 JOIN code_block ON code_block.turn_id = place.id LEFT JOIN label ON label.id = language_id
                 GROUP BY 1 ORDER BY 2 DESC, 1"),
                [episode],
            )?;
            Ok(ConversationSummary {
                message_count: message_count as u64,
                has_code: !languages.is_empty(),
                languages: languages.into_iter().flatten().collect(),
                preview: view.opening(episode)?.map(|words| preview(&words)).unwrap_or_default(),
                files: view.files_of(episode, false)?,
                session,
            })
        })
    }

    /// Files that a session touched: changed ones first, then the most frequent; at most 50. Leaves out those that only a person's
    /// messages name, which may be pasted.
    pub(crate) fn session_files(&self, episode: EpisodeKey) -> StoreResult<Vec<String>> {
        self.read(|view| view.files_of(episode, true))
    }
}

/// Returns a title, cut between words if it is too long.
fn shortened(title: &str) -> String {
    let Some((end, _)) = title.char_indices().nth(TITLE_CHARS) else { return title.to_owned() };
    let end = title[..end].rfind(' ').filter(|space| *space > end / 2).unwrap_or(end);
    format!("{}…", title[..end].trim_end_matches([' ', ',', ';', ':']))
}

impl View<'_> {
    fn files_of(&self, episode: EpisodeKey, without_named: bool) -> StoreResult<Vec<String>> {
        self.column(
            &format!(
                "SELECT path.text, max(CASE action WHEN 'written' THEN 2 WHEN 'read' THEN 1 ELSE 0 END), count(*)
             FROM (SELECT id FROM turn WHERE episode_id = ?1 AND NOT {IS_REPLACED}
                   UNION ALL SELECT turn_id FROM turn_share WHERE episode_id = ?1) AS place
             JOIN turn ON turn.id = place.id JOIN turn_file ON turn_file.turn_id = place.id JOIN path ON path.id = path_id
             WHERE NOT ?3 OR role <> 'human' OR action IN ('written', 'read')
             GROUP BY 1 ORDER BY 2 DESC, 3 DESC, 1 LIMIT ?2"
            ),
            params![episode, SUMMARY_FILES as i64, without_named],
        )
    }

    /// Returns whether the title or a message contains `text`, which is in lower case.
    fn contains_text(&self, session: &EpisodeSummary, text: &str) -> StoreResult<bool> {
        if session.title.as_ref().is_some_and(|title| title.to_lowercase().contains(text)) {
            return Ok(true);
        }
        let mut is_found = false;
        self.each(
            &format!(
                "SELECT words FROM turn JOIN turn_text ON turn_text.turn_id = turn.id
             WHERE role IN ('human', 'assistant', 'summary') AND NOT {IS_REPLACED}
               AND (episode_id = ?1 OR turn.id IN (SELECT turn_id FROM turn_share WHERE turn_share.episode_id = ?1))"
            ),
            [session.row],
            |row| {
                let stored: Vec<u8> = row.get(0)?;
                is_found = words::decode(&stored).is_some_and(|(words, _)| words.to_lowercase().contains(text));
                Ok(if is_found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        Ok(is_found)
    }

    /// Returns the text of the first human turn without a caveat; without one, of the first turn that is no tool's.
    fn opening(&self, episode: EpisodeKey) -> StoreResult<Option<String>> {
        let stored = self.openings(episode, 1)?.pop();
        Ok(stored.and_then(|stored| words::decode(&stored)).map(|(text, _)| text))
    }

    /// Returns the stored words of the first human turns without a caveat, at most `limit`; without one, of the first turn that is no
    /// tool's.
    fn openings(&self, episode: EpisodeKey, limit: usize) -> StoreResult<Vec<Vec<u8>>> {
        let mut found: Vec<(Vec<u8>, bool)> = self.all(
            &format!(
                "SELECT words, role = 'human' AND caveat IS NULL FROM (
                     SELECT id, position FROM turn WHERE episode_id = ?1 AND NOT {IS_REPLACED}
                     UNION ALL SELECT turn_id, position FROM turn_share WHERE episode_id = ?1) AS place
             JOIN turn ON turn.id = place.id JOIN turn_text ON turn_text.turn_id = turn.id
             ORDER BY role <> 'human' OR caveat IS NOT NULL, role IN ('system', 'tool_result'), place.position LIMIT ?2"
            ),
            params![episode, limit as i64],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let humans = found.iter().take_while(|(_, is_human)| *is_human).count();
        found.truncate(humans.max(1));
        Ok(found.into_iter().map(|(words, _)| words).collect())
    }
}
