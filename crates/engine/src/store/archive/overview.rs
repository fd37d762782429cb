//! Counts what the store holds, and renames what names a person.

use std::collections::HashMap;
use std::ops::ControlFlow;

use yore_core::episode::Role;
use yore_core::time::UtcMillis;

use crate::store::local::transaction::View;
use crate::store::statements::counts;
use crate::store::{EpisodeKey, GrowthWeek, MemoryCounts, ProjectKey, Store, StoreResult, Uses, WeeksWanted};

/// Number of sessions and turns of an agent.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AgentCount {
    /// Source kind.
    pub agent: String,
    /// Conversations with a person.
    pub sessions: u64,
    /// Conversations with sub-agents.
    pub subagents: u64,
    /// Documents.
    pub documents: u64,
    /// Turns of all of them.
    pub turns: u64,
}

/// Number of turns of a role.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EpisodeCount {
    /// Role of turns.
    pub role: String,
    /// Number of turns.
    pub turns: u64,
}

/// Redactions of one kind.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RedactionCount {
    /// Kind of the secret.
    pub kind: String,
    /// Number of redactions.
    pub count: u64,
}

/// Lines of one source that could not be read or are of no known type.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SkipCount {
    /// Source kind.
    pub source: String,
    /// Stable reason.
    pub reason: String,
    /// Detail of the reason, such as the unknown type.
    pub detail: String,
    /// Number of lines.
    pub count: u64,
    /// File of an example.
    pub path: String,
    /// 1-based line of the example.
    pub line: u64,
}

/// The numbers that a caller wants.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// The project whose sessions, turns and memories are counted; `None`: all. Files, bytes, redactions and skips are never divided.
    pub project: Option<ProjectKey>,
    /// Growth and uses, which take longer than the rest.
    pub history: Option<WeeksWanted>,
}

/// The sizes of the store, and the counts of what is in it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StoreStats {
    /// Counts by agent.
    pub agents: Vec<AgentCount>,
    /// Counts by role.
    pub roles: Vec<EpisodeCount>,
    /// Number of turns and memories of all projects that the full-text index should hold.
    #[serde(default)]
    pub indexable: u64,
    /// Number of projects.
    pub projects: u64,
    /// Memories.
    #[serde(default)]
    pub memories: MemoryCounts,
    /// Turns that several sessions share and that are stored once.
    pub shared_turns: u64,
    /// Soft-forgotten episodes.
    pub forgotten_episodes: u64,
    /// Source files read.
    pub files: u64,
    /// Those of the files that no longer exist; the archive has their content.
    pub gone_files: u64,
    /// Bytes of the source files that are archived.
    pub source_bytes: u64,
    /// Bytes of redacted lines after deduplication.
    pub archive_raw_bytes: u64,
    /// Compressed bytes of the archive.
    pub archive_bytes: u64,
    /// Compressed bytes of the turns' words.
    pub words_bytes: u64,
    /// Bytes of the database file.
    pub database_bytes: u64,
    /// Redactions by kind, most first.
    pub redactions: Vec<RedactionCount>,
    /// Skipped lines, most first.
    pub skips: Vec<SkipCount>,
    /// Growth by week, oldest first; empty unless it was asked for.
    #[serde(default)]
    pub growth: Vec<GrowthWeek>,
    /// Uses of the memories in effect; none unless they were asked for.
    #[serde(default)]
    pub uses: Option<Uses>,
}

impl Store {
    /// Returns the numbers of turns and of memories with a time after `at`. A time that a person gave to a memory does not count.
    pub(crate) fn counts_after(&self, at: UtcMillis) -> StoreResult<(u64, u64)> {
        self.read(|view| {
            let turns = view.count("SELECT count(*) FROM turn WHERE at_ms > ?1", [at])?;
            let memories = view.count(
                "SELECT count(*) FROM memory
                 WHERE recorded_ms > ?1 OR changed_ms > ?1 OR lane = 'extracted' AND coalesce(valid_from_ms, 0) > ?1",
                [at],
            )?;
            Ok((turns, memories))
        })
    }

    /// Replaces names (titles, directories, paths, labels and the like) by the result of `becomes`, unless it
    /// is a dry run; returns the number of changed names.
    pub(crate) fn rename(&self, is_dry_run: bool, mut becomes: impl FnMut(&str) -> Option<String>) -> StoreResult<u64> {
        /// Tables and columns with names; one that may hold each name once gives way to the row that has the new one.
        const NAMES: [(&str, &str); 14] = [
            ("episode", "title"),
            ("episode", "cwd"),
            ("project", "name"),
            ("project_merge", "from_name"),
            ("project_alias", "value"),
            ("project_alias", "recorded"),
            ("source_file", "path"),
            ("source_file", "reader_state"),
            ("source_file", "kept_out"),
            ("label", "text"),
            ("path", "text"),
            ("path", "name"),
            ("pending_title", "title"),
            ("skip", "detail"),
        ];
        self.write(|tx| {
            let mut changed = 0;
            for (table, column) in NAMES {
                let sql = format!("SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL");
                let names: Vec<String> = tx.column(&sql, [])?;
                for name in names {
                    let Some(new) = becomes(&name) else { continue };
                    changed += 1;
                    if !is_dry_run {
                        let sql = format!("UPDATE OR IGNORE {table} SET {column} = ?2 WHERE {column} = ?1");
                        tx.execute(&sql, [&name, &new])?;
                        let sql = format!("UPDATE {table} SET {column} = ?2 || '~' || abs(random()) WHERE {column} = ?1");
                        tx.execute(&sql, [&name, &new])?;
                    }
                }
            }
            Ok(changed)
        })
    }

    /// Collects the statistics of the store.
    pub(crate) fn stats(&self, wanted: &Wanted) -> StoreResult<StoreStats> {
        let project = wanted.project;
        self.read(|view| {
            let sum = |sql: &'static str| view.value::<Option<i64>>(sql, []).map(|sum| sum.unwrap_or(0) as u64);
            let turns = turns_by_episode(view, project)?;
            Ok(StoreStats {
                agents: agents(view, project, &turns)?,
                roles: roles(&turns),
                indexable: turns.iter().filter(|turns| turns.is_indexed).map(|turns| turns.stored).sum::<u64>()
                    + view.count("SELECT count(*) FROM memory", [])?,
                projects: view.count("SELECT count(*) FROM project WHERE ?1 IS NULL OR id = ?1", [project])?,
                memories: counts::memories(view, project)?,
                shared_turns: sum("SELECT count(*) FROM turn_share")?,
                forgotten_episodes: sum("SELECT count(*) FROM episode WHERE forgotten_ms IS NOT NULL")?,
                files: sum("SELECT count(*) FROM source_file")?,
                gone_files: sum("SELECT count(*) FROM source_file WHERE gone_ms IS NOT NULL")?,
                source_bytes: sum("SELECT sum(archived_bytes) FROM source_file")?,
                archive_raw_bytes: sum("SELECT sum(raw_bytes) FROM blob")?,
                archive_bytes: sum("SELECT sum(length(data)) FROM blob")?,
                words_bytes: sum("SELECT sum(length(words)) FROM turn_text")?,
                database_bytes: sum("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")?,
                redactions: view.all("SELECT kind, sum(count) FROM redaction GROUP BY 1 ORDER BY 2 DESC, 1", [], |row| {
                    Ok(RedactionCount { kind: row.get(0)?, count: count(row, 1)? })
                })?,
                skips: view.all(
                    "SELECT source, reason, detail, sum(count), min(path), min(first_line) FROM skip
                 JOIN source_file ON source_file.id = skip.file_id GROUP BY 1, 2, 3 ORDER BY 4 DESC, 2, 3",
                    [],
                    |row| {
                        Ok(SkipCount {
                            source: row.get(0)?,
                            reason: row.get(1)?,
                            detail: row.get(2)?,
                            count: count(row, 3)?,
                            path: row.get(4)?,
                            line: count(row, 5)?,
                        })
                    },
                )?,
                growth: wanted.history.map(|weeks| counts::growth(view, project, weeks)).transpose()?.unwrap_or_default(),
                uses: wanted.history.map(|weeks| counts::uses(view, project, weeks.most_used)).transpose()?,
            })
        })
    }
}

/// Turns of one role of an episode.
struct Turns {
    agent: String,
    role: Role,
    /// True if the episode is not forgotten and belongs to the project that is counted.
    is_of_episode: bool,
    /// True if the turns belong to the project that is counted.
    is_of_project: bool,
    /// True if the index should have them.
    is_indexed: bool,
    /// Number of them.
    stored: u64,
    /// Number of those of versions of notes that newer ones replaced.
    replaced: u64,
}

/// Counts all turns in one pass over them. SQLite would sort them by their groups, which takes twice as long.
fn turns_by_episode(view: &View<'_>, project: Option<ProjectKey>) -> StoreResult<Vec<Turns>> {
    let mut numbers: HashMap<(EpisodeKey, bool, Role), [u64; 2]> = HashMap::new();
    let stored = "SELECT episode_id, ?1 IS NULL OR project_id IS ?1, role FROM turn NOT INDEXED";
    let replaced = "SELECT turn.episode_id, ?1 IS NULL OR project_id IS ?1, role FROM note_version JOIN turn ON turn.id = turn_id
                    WHERE until_ms IS NOT NULL";
    for (place, sql) in [stored, replaced].into_iter().enumerate() {
        view.each(sql, [project], |row| {
            let role = Role::parse(row.get_ref(2)?.as_str()?).unwrap_or(Role::System);
            numbers.entry((row.get(0)?, row.get(1)?, role)).or_default()[place] += 1;
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let sql = "SELECT id, agent, forgotten_ms IS NULL, ?1 IS NULL OR project_id IS ?1 FROM episode";
    let of_episode = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)));
    let episodes: HashMap<EpisodeKey, (String, bool, bool)> = view.all(sql, [project], of_episode)?.into_iter().collect();
    let turns = |((episode, is_of_project, role), [stored, replaced]): ((EpisodeKey, bool, Role), [u64; 2])| {
        let (agent, is_told, is_of_project_too) = episodes.get(&episode)?.clone();
        let (is_of_episode, is_indexed) = (is_told && is_of_project_too, is_told && role.is_recalled());
        Some(Turns { agent, role, is_of_episode, is_of_project, is_indexed, stored, replaced })
    };
    Ok(numbers.into_iter().filter_map(turns).collect())
}

/// Returns the counts by agent, the agent of most turns first.
fn agents(view: &View<'_>, project: Option<ProjectKey>, turns: &[Turns]) -> StoreResult<Vec<AgentCount>> {
    let sql = "SELECT agent, sum(kind = 'session'), sum(kind = 'subagent'), sum(kind = 'document') FROM episode
               WHERE forgotten_ms IS NULL AND (?1 IS NULL OR project_id = ?1) GROUP BY 1";
    let mut agents = view.all(sql, [project], |row| {
        let agent: String = row.get(0)?;
        let of_agent = turns.iter().filter(|turns| turns.is_of_episode && turns.agent == agent);
        Ok(AgentCount {
            turns: of_agent.map(|turns| turns.stored - turns.replaced).sum(),
            agent,
            sessions: count(row, 1)?,
            subagents: count(row, 2)?,
            documents: count(row, 3)?,
        })
    })?;
    agents.sort_by(|a, b| b.turns.cmp(&a.turns).then_with(|| a.agent.cmp(&b.agent)));
    Ok(agents)
}

/// Returns the counts by role, the role of most turns first.
fn roles(turns: &[Turns]) -> Vec<EpisodeCount> {
    let number = |role: &Role| {
        let of_role = turns.iter().filter(|turns| turns.is_of_project && turns.role == *role);
        EpisodeCount { role: role.as_str().to_owned(), turns: of_role.map(|turns| turns.stored - turns.replaced).sum() }
    };
    let mut roles: Vec<EpisodeCount> = Role::ALL.iter().map(number).filter(|role| role.turns > 0).collect();
    // Among equals in the order in which they are defined.
    roles.sort_by_key(|role| std::cmp::Reverse(role.turns));
    roles
}

pub(in crate::store) fn count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|count| count as u64)
}
