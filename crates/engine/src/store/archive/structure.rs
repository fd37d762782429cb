//! Stores the structure of turns: code blocks, files, tool calls with their outcome, errors. It is written in the transaction
//! that writes a turn's words, and again from the words alone for turns that are older than these tables.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{Row, params};
use yore_core::episode::{FileAction, FileUse, Outcome, Role, ToolUse, Turn};
use yore_core::exchange::is_prose;
use yore_core::files::{Opened, relative};
use yore_core::id::TurnId;
use yore_core::query::Filter;
use yore_core::text::{CodeBlock, code_blocks, error_lines, language_name, paths};
use yore_core::time::UtcMillis;

use super::upsert::Upserter;
use super::words;
use crate::store::keys::{EpisodeKey, LabelKey, ProjectKey, RowKey, TurnKey, json_of};
use crate::store::local::transaction::{View, WriteTx};
use crate::store::{Store, StoreResult};

/// A longer path is considered data.
const MAX_PATH_BYTES: usize = 1024;
/// Longer names of tools and languages are cut.
const MAX_NAME_BYTES: usize = 120;
/// Maximum number of files of one turn; a turn that names more is a listing.
const MAX_FILES: usize = 64;
/// Turns whose shape is written again in one transaction.
const RESHAPED_TURNS: usize = 500;
/// Maximum number of paths that a file name may match, and of turns read for each.
const MAX_NAMED_PATHS: usize = 100;
const MAX_PLACES: usize = 2_000;

/// A file that a tool opened in a session.
#[derive(Clone, Debug)]
pub(crate) struct FileEvent {
    pub episode: EpisodeKey,
    pub position: i64,
    pub at: UtcMillis,
    /// Name of the file, relative to the working directory.
    pub path: String,
    pub is_written: bool,
    pub project: Option<ProjectKey>,
    pub turn: TurnId,
}

/// A message by a person in a session.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub episode: EpisodeKey,
    pub position: i64,
    /// Native id of the session.
    pub session: String,
    pub at: UtcMillis,
    /// Time as the agent wrote it.
    pub recorded: String,
    pub project: Option<String>,
    pub project_row: Option<ProjectKey>,
    pub turn: TurnId,
    pub text: String,
    /// Text of the message before it, by a person or an agent.
    pub before: String,
}

/// Filter for the changes of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeFilter<'f> {
    /// The last components of its path.
    pub file: &'f str,
    /// Rows of projects.
    pub projects: &'f [ProjectKey],
    /// Native id of a session to leave out, together with its sub-agents.
    pub session: Option<&'f str>,
    /// Only changes from before this time.
    pub as_of: Option<i64>,
}

/// The last change of a file in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Row of the turn that changed it.
    pub turn: TurnKey,
    /// Row of the turn in which a person requested it.
    pub asked: Option<TurnKey>,
}

/// Tools and files of a turn as recorded by its source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RecordedShape {
    pub tools: Vec<ToolUse>,
    pub files: Vec<FileUse>,
}

/// Shape of a turn as found in its text.
struct WordsShape<'t> {
    code: Vec<CodeBlock>,
    mentioned: Vec<&'t str>,
    reports_error: bool,
}

impl<'t> WordsShape<'t> {
    fn of(role: Role, text: &'t str, tool_text: &str) -> Self {
        let (mut code, mut mentioned) = (Vec::new(), Vec::new());
        if is_prose(role) {
            code = code_blocks(text);
            mentioned = paths(text).into_iter().map(|mention| mention.path).collect();
        }
        Self { code, mentioned, reports_error: role == Role::ToolResult && error_lines(tool_text).next().is_some() }
    }
}

/// Returns the key that connects a tool call with its answer within an episode: agents' own ids may repeat
/// between sessions. The keys of an episode are adjacent, so that a batch touches few pages of the index.
fn call_key(episode: EpisodeKey, call_id: &str) -> i64 {
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&blake3::hash(call_id.as_bytes()).as_bytes()[..5]);
    episode.get().wrapping_shl(40) | i64::from_le_bytes(bytes)
}

/// Returns the last component of a path in lower case; empty for a directory.
fn name_of(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or("").to_lowercase()
}

/// Returns whether a path ends with these components, ignoring separators and case.
fn ends_with_components(path: &str, suffix: &str) -> bool {
    fn parts(path: &str) -> impl Iterator<Item = String> + '_ {
        path.rsplit(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase)
    }
    let mut of_path = parts(path);
    parts(suffix).all(|part| of_path.next() == Some(part))
}

impl Upserter<'_, '_> {
    /// Writes the shape of a turn; replaces an older one if `is_replaced`.
    pub(super) fn write_shape(&mut self, id: TurnKey, episode: EpisodeKey, turn: &Turn, is_replaced: bool) -> StoreResult<()> {
        if is_replaced {
            self.clear_shape(id)?;
        }
        if !turn.role.is_recalled() {
            return Ok(());
        }
        let shape = WordsShape::of(turn.role, &turn.text, &turn.tool_text);
        self.write_tools(id, episode, &turn.tools, is_replaced)?;
        let mut files: Vec<(&str, FileAction)> = turn.files.iter().map(|file| (file.path.as_str(), file.action)).collect();
        files.extend(shape.mentioned.iter().map(|path| (*path, FileAction::Mentioned)));
        self.write_files(id, &mut files)?;
        self.write_code(id, &shape.code)?;
        // A call that a person refused is not an error.
        let is_refused = turn.tools.iter().any(|tool| tool.outcome == Some(Outcome::Cancelled));
        if turn.is_error && !is_refused || shape.reports_error {
            self.run("INSERT OR IGNORE INTO turn_error (turn_id) VALUES (?1)", id)?;
        }
        Ok(())
    }

    /// Writes the shape found in a turn's text, in addition to what its source recorded.
    fn reshape(&mut self, id: TurnKey, role: Role, is_error: bool, text: &str, tool_text: &str) -> StoreResult<()> {
        let shape = WordsShape::of(role, text, tool_text);
        let mut files = shape.mentioned.iter().map(|path| (*path, FileAction::Mentioned)).collect();
        self.write_files(id, &mut files)?;
        self.run("DELETE FROM code_block WHERE turn_id = ?1", id)?;
        self.write_code(id, &shape.code)?;
        if is_error || shape.reports_error {
            self.run("INSERT OR IGNORE INTO turn_error (turn_id) VALUES (?1)", id)?;
        }
        Ok(())
    }

    fn run(&self, sql: &'static str, id: TurnKey) -> StoreResult<()> {
        self.tx.execute(sql, [id]).map(drop)
    }

    fn clear_shape(&self, id: TurnKey) -> StoreResult<()> {
        for sql in [
            "DELETE FROM code_block WHERE turn_id = ?1",
            "DELETE FROM turn_file WHERE turn_id = ?1",
            "DELETE FROM tool_use WHERE turn_id = ?1",
            "DELETE FROM turn_error WHERE turn_id = ?1",
            "DELETE FROM shape_queue WHERE turn_id = ?1",
        ] {
            self.run(sql, id)?;
        }
        Ok(())
    }

    /// Writes tool calls and answers; each side gets the data that only the other has. A new call has no
    /// answer yet: its answer comes later, and finds the call.
    fn write_tools(&mut self, id: TurnKey, episode: EpisodeKey, tools: &[ToolUse], is_replaced: bool) -> StoreResult<()> {
        for (seq, tool) in tools.iter().enumerate() {
            let key = tool.call_id.as_deref().filter(|call| !call.is_empty()).map(|call| call_key(episode, call));
            let mut name = self.label(Some(cut(&tool.name, MAX_NAME_BYTES)))?;
            let mut outcome = tool.outcome;
            if let Some(key) = key {
                match outcome {
                    Some(outcome) if name.is_none() => name = self.answer(key, id, outcome)?,
                    None if is_replaced => outcome = self.outcome_of(key, id)?,
                    _ => {}
                }
                if tool.outcome.is_none() {
                    self.calls.insert(key, (id, seq as i64, name));
                }
            }
            let outcome = outcome.map(Outcome::as_str);
            self.tx.execute(
                "INSERT INTO tool_use (turn_id, seq, call, name_id, outcome) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![id, seq as i64, key, name, outcome],
            )?;
        }
        Ok(())
    }

    /// Gives a call the outcome from its answer, turn `id`; returns the tool's name.
    fn answer(&mut self, key: i64, id: TurnKey, outcome: Outcome) -> StoreResult<Option<LabelKey>> {
        let call = match self.calls.get(&key) {
            Some(call) => Some(*call),
            None => self.tx.first(
                "SELECT turn_id, seq, name_id FROM tool_use WHERE call = ?1 AND turn_id <> ?2 AND name_id IS NOT NULL LIMIT 1",
                params![key, id],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?,
        };
        let Some((turn, seq, name)) = call else { return Ok(None) };
        self.tx
            .execute("UPDATE tool_use SET outcome = ?3 WHERE turn_id = ?1 AND seq = ?2", params![turn, seq, outcome.as_str()])?;
        Ok(name)
    }

    /// Returns the outcome from an earlier answer to a call of turn `id`.
    fn outcome_of(&self, key: i64, id: TurnKey) -> StoreResult<Option<Outcome>> {
        let found: Option<String> = self.tx.first_value(
            "SELECT outcome FROM tool_use WHERE call = ?1 AND turn_id <> ?2 AND outcome IS NOT NULL LIMIT 1",
            params![key, id],
        )?;
        Ok(found.as_deref().and_then(Outcome::parse))
    }

    fn write_files(&mut self, id: TurnKey, files: &mut Vec<(&str, FileAction)>) -> StoreResult<()> {
        // The strongest action on a file comes first; if there are too many files, those that are only
        // mentioned are dropped.
        files.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let mut seen: HashSet<&str> = HashSet::new();
        files.retain(|(path, _)| !path.is_empty() && path.len() <= MAX_PATH_BYTES && seen.insert(path));
        for (path, action) in files.iter().take(MAX_FILES) {
            let path = self.path(path)?;
            self.tx.execute(
                "INSERT OR IGNORE INTO turn_file (turn_id, path_id, action) VALUES (?1, ?2, ?3)",
                params![id, path, action.as_str()],
            )?;
        }
        Ok(())
    }

    fn write_code(&mut self, id: TurnKey, code: &[CodeBlock]) -> StoreResult<()> {
        for (seq, block) in code.iter().enumerate() {
            let language = self.label(block.language.as_deref().map(|language| cut(language, MAX_NAME_BYTES)))?;
            let path = match block.file.as_deref().filter(|path| path.len() <= MAX_PATH_BYTES) {
                Some(path) => Some(self.path(path)?),
                None => None,
            };
            self.tx.execute(
                "INSERT INTO code_block (turn_id, seq, language_id, path_id, first_line, line_count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![id, seq as i64, language, path, block.first_line, block.line_count],
            )?;
        }
        Ok(())
    }

    /// Returns the row of a path.
    fn path(&mut self, path: &str) -> StoreResult<i64> {
        if let Some(id) = self.paths.get(path) {
            return Ok(*id);
        }
        let found: Option<i64> = self.tx.first_value("SELECT id FROM path WHERE text = ?1", [path])?;
        let id = match found {
            Some(id) => id,
            None => self.tx.insert("INSERT INTO path (text, name) VALUES (?1, ?2)", [path, &name_of(path)])?,
        };
        self.paths.insert(path.to_owned(), id);
        Ok(id)
    }
}

pub(in crate::store) fn opened(row: &Row<'_>) -> rusqlite::Result<Opened> {
    let (path, directory, action): (String, Option<String>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    Ok(Opened { path: relative(&path, directory.as_deref()), is_written: action == FileAction::Written.as_str() })
}

/// Analyses some of the turns that are older than the tables of structure; returns whether some are left.
pub(in crate::store) fn reshape(tx: &WriteTx<'_>) -> StoreResult<bool> {
    type Queued = (TurnKey, Option<(String, bool, Vec<u8>)>);
    let queued: Vec<Queued> = tx.all(
        "SELECT shape_queue.turn_id, role, is_error, words FROM shape_queue JOIN turn ON turn.id = shape_queue.turn_id
                 LEFT JOIN turn_text ON turn_text.turn_id = turn.id ORDER BY shape_queue.turn_id DESC LIMIT ?1",
        [RESHAPED_TURNS as i64],
        |row| {
            let words: Option<Vec<u8>> = row.get(3)?;
            let facts = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, words.map(|words| (facts.0, facts.1, words))))
        },
    )?;
    let mut upserter = Upserter::new(tx);
    for (id, facts) in &queued {
        if let Some((role, is_error, stored)) = facts
            && let (Some(role), Some((text, tool_text))) = (Role::parse(role), words::decode(stored))
        {
            upserter.reshape(*id, role, *is_error, &text, &tool_text)?;
        }
        upserter.run("DELETE FROM shape_queue WHERE turn_id = ?1", *id)?;
    }
    Ok(queued.len() == RESHAPED_TURNS)
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

impl Store {
    /// Returns the last change of a file in each session, latest first. For a file that occurs very often,
    /// only the latest stored turns are read.
    pub(crate) fn last_changes(&self, filter: &ChangeFilter<'_>, limit: usize) -> StoreResult<Vec<Change>> {
        self.read(|view| {
            let mut written: Vec<TurnKey> = Vec::new();
            for path in view.paths_ending(filter.file)?.into_iter().take(MAX_NAMED_PATHS) {
                let found: Vec<(TurnKey, bool)> = view.all(
                    "SELECT turn_id, action = 'written' FROM turn_file WHERE path_id = ?1 ORDER BY turn_id DESC LIMIT ?2",
                    params![path, MAX_PLACES as i64],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )?;
                written.extend(found.into_iter().filter(|(_, is_written)| *is_written).map(|(turn, _)| turn));
            }
            written.sort_unstable_by(|a, b| b.cmp(a));
            written.dedup();
            written.truncate(MAX_PLACES);
            view.all(
                "SELECT id, (SELECT CASE WHEN asked.caveat IS NULL THEN asked.id END FROM turn AS asked
                                 WHERE asked.episode_id = last.episode_id AND asked.position < last.position AND asked.role = 'human'
                                 ORDER BY asked.position DESC LIMIT 1)
                     FROM (SELECT turn.id, turn.episode_id, turn.position, max(coalesce(turn.at_ms, 0)) AS at_ms
                           FROM json_each(?1) AS written JOIN turn ON turn.id = written.value JOIN episode ON episode.id = turn.episode_id
                           WHERE episode.forgotten_ms IS NULL AND turn.project_id IN (SELECT value FROM json_each(?2))
                             AND (?3 IS NULL OR episode.native_id <> ?3 AND substr(episode.native_id, 1, length(?3) + 1) <> ?3 || '/')
                             AND (?4 IS NULL OR turn.at_ms < ?4)
                           GROUP BY turn.episode_id ORDER BY 4 DESC, 1 DESC LIMIT ?5) AS last
                     ORDER BY at_ms DESC, id DESC",
                params![json_of(&written), json_of(filter.projects), filter.session, filter.as_of, limit as i64],
                |row| Ok(Change { turn: row.get(0)?, asked: row.get(1)? }),
            )
        })
    }

    /// Returns the files that tools opened in sessions, in the order of time: all, or those with these paths as they were recorded.
    pub(crate) fn file_events(&self, paths: Option<&[String]>) -> StoreResult<Vec<FileEvent>> {
        let paths = paths.map(|paths| serde_json::Value::from(paths).to_string());
        self.read(|view| {
            view.all(
                "SELECT path.text, cwd.text, turn_file.action, turn.episode_id, turn.position, turn.at_ms, turn.project_id, turn.uid
                 FROM path
                 JOIN turn_file ON turn_file.path_id = path.id JOIN turn ON turn.id = turn_file.turn_id
                 JOIN episode ON episode.id = turn.episode_id LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
                 WHERE turn_file.action <> 'mentioned' AND turn.at_ms IS NOT NULL AND episode.kind = 'session'
                   AND episode.forgotten_ms IS NULL AND (?1 IS NULL OR path.text IN (SELECT value FROM json_each(?1)))
                 ORDER BY turn.at_ms, turn.episode_id, turn.position, path.text",
                [&paths],
                |row| {
                    let Opened { path, is_written } = opened(row)?;
                    let (episode, position, at, project) = (row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?);
                    Ok(FileEvent { path, is_written, episode, position, at, project, turn: TurnId::from_bytes(row.get(7)?) })
                },
            )
        })
    }

    /// Returns all messages by people in sessions, by session and in order, each with the message before it.
    pub(crate) fn prompts(&self) -> StoreResult<Vec<Prompt>> {
        self.read(|view| {
            let text = |stored: Option<Vec<u8>>| stored.and_then(|stored| words::decode(&stored)).unwrap_or_default().0;
            view.all(
                "SELECT turn.episode_id, turn.position, episode.native_id, turn.at_ms, coalesce(turn.at_original, ''), project.name,
                     (SELECT words FROM turn_text WHERE turn_id = turn.id),
                     (SELECT words FROM turn_text WHERE turn_id = (
                         SELECT id FROM turn AS before WHERE before.episode_id = turn.episode_id AND before.position < turn.position
                             AND before.role IN ('human', 'assistant') ORDER BY before.position DESC LIMIT 1)), turn.project_id, turn.uid
                 FROM turn JOIN episode ON episode.id = turn.episode_id LEFT JOIN project ON project.id = turn.project_id
                 WHERE turn.role = 'human' AND turn.at_ms IS NOT NULL AND episode.kind = 'session'
                   AND episode.forgotten_ms IS NULL ORDER BY turn.episode_id, turn.position",
                [],
                |row| {
                    Ok(Prompt {
                        episode: row.get(0)?,
                        position: row.get(1)?,
                        session: row.get(2)?,
                        at: row.get(3)?,
                        recorded: row.get(4)?,
                        project: row.get(5)?,
                        text: text(row.get(6)?),
                        before: text(row.get(7)?),
                        project_row: row.get(8)?,
                        turn: TurnId::from_bytes(row.get(9)?),
                    })
                },
            )
        })
    }

    /// Returns how often tools opened these files in the projects of these turns before a time.
    pub(crate) fn popular_files(
        &self,
        turns: &[TurnKey],
        files: &HashSet<&str>,
        until: Option<UtcMillis>,
    ) -> StoreResult<Vec<(String, u64)>> {
        let names: BTreeSet<String> = files.iter().map(|path| name_of(path)).collect();
        let names = serde_json::Value::from(Vec::from_iter(names)).to_string();
        self.read(|view| {
            let found: Vec<(Opened, u64)> = view.all(
                "SELECT path.text, cwd.text, max(turn_file.action), count(*) FROM path
                 JOIN turn_file ON turn_file.path_id = path.id JOIN turn ON turn.id = turn_file.turn_id
                 LEFT JOIN label AS cwd ON cwd.id = turn.cwd_id
                 WHERE path.name IN (SELECT value FROM json_each(?3)) AND turn_file.action <> 'mentioned' AND (?2 IS NULL OR turn.at_ms < ?2) AND turn.project_id IN (
                     SELECT DISTINCT project_id FROM turn WHERE id IN (SELECT value FROM json_each(?1))
                 ) GROUP BY path.text, cwd.text",
                params![json_of(turns), until, names],
                |row| Ok((opened(row)?, row.get::<_, i64>(3)?.unsigned_abs())),
            )?;
            // One file has a path in each worktree.
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (file, count) in found {
                if files.contains(file.path.as_str()) {
                    *counts.entry(file.path).or_default() += count;
                }
            }
            Ok(counts.into_iter().collect())
        })
    }

    /// Returns the tools and files that the sources of these turns recorded, in the order of `rows`. The id
    /// of a call connects call and answer; it is not the agent's own.
    pub(crate) fn recorded_shapes(&self, rows: &[TurnKey]) -> StoreResult<Vec<RecordedShape>> {
        self.read(|view| {
            let mut shapes = Vec::with_capacity(rows.len());
            for row in rows {
                let tools = view.all(
                    "SELECT call, coalesce(label.text, ''), outcome FROM tool_use LEFT JOIN label ON label.id = name_id
                     WHERE turn_id = ?1 ORDER BY seq",
                    [row],
                    |row| {
                        Ok(ToolUse {
                            call_id: row.get::<_, Option<i64>>(0)?.map(|key| format!("{key:016x}")),
                            name: row.get(1)?,
                            outcome: row.get::<_, Option<String>>(2)?.and_then(|outcome| Outcome::parse(&outcome)),
                        })
                    },
                )?;
                let files = view.all(
                    "SELECT path.text, action FROM turn_file JOIN path ON path.id = path_id
                     WHERE turn_id = ?1 AND action <> 'mentioned' ORDER BY path.text",
                    [row],
                    |row| {
                        let action: String = row.get(1)?;
                        Ok(FileUse { path: row.get(0)?, action: FileAction::parse(&action).unwrap_or(FileAction::Mentioned) })
                    },
                )?;
                shapes.push(RecordedShape { tools, files });
            }
            Ok(shapes)
        })
    }
}

impl View<'_> {
    /// Returns the rows of the turns with the content that a filter requires ([`Filter::asks_for_content`]).
    pub(super) fn turns_holding(&self, filter: &Filter) -> StoreResult<HashSet<TurnKey>> {
        let mut passing: Option<HashSet<TurnKey>> = None;
        let mut narrow = |rows: HashSet<TurnKey>| {
            passing = Some(match passing.take() {
                Some(known) => known.intersection(&rows).copied().collect(),
                None => rows,
            });
        };
        if filter.only_errors {
            narrow(HashSet::from_iter(self.column("SELECT turn_id FROM turn_error", [])?));
        }
        if !filter.languages.is_empty() {
            let mut rows = HashSet::new();
            for language in &filter.languages {
                let sql = "SELECT turn_id FROM code_block JOIN label ON label.id = language_id WHERE label.text = ?1";
                rows.extend(self.column::<TurnKey>(sql, [language_name(language.trim())])?);
            }
            narrow(rows);
        } else if filter.has_code {
            narrow(HashSet::from_iter(self.column("SELECT turn_id FROM code_block WHERE seq = 0", [])?));
        }
        if !filter.files.is_empty() {
            let mut rows = HashSet::new();
            for file in &filter.files {
                for path in self.paths_ending(file)? {
                    for sql in
                        ["SELECT turn_id FROM turn_file WHERE path_id = ?1", "SELECT turn_id FROM code_block WHERE path_id = ?1"]
                    {
                        rows.extend(self.column::<TurnKey>(sql, [path])?);
                    }
                }
            }
            narrow(rows);
        }
        Ok(passing.unwrap_or_default())
    }

    /// Returns the rows of the paths that end with these components.
    fn paths_ending(&self, suffix: &str) -> StoreResult<Vec<i64>> {
        let suffix = suffix.trim().trim_end_matches(['/', '\\']);
        let found: Vec<(i64, String)> = self.all("SELECT id, text FROM path WHERE name = ?1", [name_of(suffix)], |row| {
            Ok((row.get(0)?, row.get::<_, String>(1)?))
        })?;
        let is_named = !suffix.is_empty();
        Ok(found.into_iter().filter(|(_, path)| is_named && ends_with_components(path, suffix)).map(|(row, _)| row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffix_of_a_path_is_whole_components() {
        for (path, suffix) in [
            ("/home/kim/otter/src/tide.rs", "tide.rs"),
            ("/home/kim/otter/src/tide.rs", "src/tide.rs"),
            ("C:\\otter\\src\\Tide.rs", "src/tide.rs"),
            ("src/tide.rs", "./src/tide.rs"),
            ("src/tide.rs", "SRC\\TIDE.RS"),
        ] {
            assert!(ends_with_components(path, suffix), "{path} {suffix}");
        }
        for (path, suffix) in [("src/riptide.rs", "tide.rs"), ("tide.rs", "src/tide.rs"), ("src/tide.rs", "src")] {
            assert!(!ends_with_components(path, suffix), "{path} {suffix}");
        }
    }

    #[test]
    fn calls_of_two_sessions_are_not_confused() {
        assert_eq!(call_key(EpisodeKey::new(1), "call_1"), call_key(EpisodeKey::new(1), "call_1"));
        assert_ne!(call_key(EpisodeKey::new(1), "call_1"), call_key(EpisodeKey::new(2), "call_1"));
        assert_ne!(call_key(EpisodeKey::new(1), "call_1"), call_key(EpisodeKey::new(1), "call_2"));
    }
}
