//! Counts of the store, lists of projects, and the facts kept as key and value.

use rusqlite::params;
use yore_core::id::ProjectId;
use yore_core::scope::ProjectAlias;
use yore_core::time::UtcMillis;

use super::episodes::IS_REPLACED;
use super::upsert::Upserter;
use crate::store::keys::ProjectKey;
use crate::store::{Store, StoreResult};

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

/// Number of memories, and of what connects them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemoryCounts {
    /// Memories by kind, most first.
    pub kinds: Vec<(String, u64)>,
    /// Memories by status, most first.
    pub statuses: Vec<(String, u64)>,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Operations in the log.
    pub operations: u64,
}

impl MemoryCounts {
    /// Returns the number of memories of any status.
    pub fn total(&self) -> u64 {
        self.kinds.iter().map(|(_, count)| count).sum()
    }
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

/// Everything that `stats` shows.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StoreStats {
    /// Counts by agent.
    pub agents: Vec<AgentCount>,
    /// Counts by role.
    pub roles: Vec<EpisodeCount>,
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
}

/// A project in the list of projects.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProjectSummary {
    /// Row.
    pub(crate) row: ProjectKey,
    /// Id.
    pub id: ProjectId,
    /// Name.
    pub name: String,
    /// The aliases by which it is recognised: (kind, as recorded).
    pub aliases: Vec<(String, String)>,
    /// Sessions, without sub-agents.
    pub sessions: u64,
    /// Turns.
    pub turns: u64,
    /// Time of the last turn.
    pub updated: Option<UtcMillis>,
}

impl Store {
    /// Returns a fact about the data directory by its name.
    pub(crate) fn fact(&self, name: &str) -> StoreResult<Option<String>> {
        self.read(|view| view.first_value("SELECT value FROM fact WHERE name = ?1", [name]))
    }

    /// Stores a fact about the data directory.
    pub(crate) fn set_fact(&self, name: &str, value: &str) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                params![name, value],
            )
            .map(drop)
        })
    }

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

    /// Returns whether anything was written with the data directory's key: lines, or hashes of content that
    /// must not be read again.
    pub(crate) fn is_keyed(&self) -> StoreResult<bool> {
        self.read(|view| view.value("SELECT EXISTS (SELECT 1 FROM segment) OR EXISTS (SELECT 1 FROM tombstone)", []))
    }

    /// Returns the number of sessions and messages that were forgotten for good.
    pub(crate) fn tombstone_count(&self) -> StoreResult<u64> {
        self.read(|view| view.count("SELECT count(*) FROM tombstone", []))
    }

    /// Collects all statistics of the store.
    pub(crate) fn stats(&self) -> StoreResult<StoreStats> {
        self.read(|view| {
            let sum = |sql: &'static str| view.value::<Option<i64>>(sql, []).map(|sum| sum.unwrap_or(0) as u64);
            let by_name = |sql: &'static str| view.all(sql, [], |row| Ok((row.get(0)?, count(row, 1)?)));
            Ok(StoreStats {
                agents: view.all(
                    &format!(
                        "SELECT episode.agent, count(DISTINCT CASE WHEN kind = 'session' THEN episode.id END),
                            count(DISTINCT CASE WHEN kind = 'subagent' THEN episode.id END),
                            count(DISTINCT CASE WHEN kind = 'document' THEN episode.id END), count(turn.id)
                     FROM episode LEFT JOIN turn ON turn.episode_id = episode.id AND NOT {IS_REPLACED} WHERE forgotten_ms IS NULL
                     GROUP BY 1 ORDER BY 5 DESC"
                    ),
                    [],
                    |row| {
                        Ok(AgentCount {
                            agent: row.get(0)?,
                            sessions: count(row, 1)?,
                            subagents: count(row, 2)?,
                            documents: count(row, 3)?,
                            turns: count(row, 4)?,
                        })
                    },
                )?,
                roles: view.all(
                    &format!("SELECT role, count(*) FROM turn WHERE NOT {IS_REPLACED} GROUP BY 1 ORDER BY 2 DESC"),
                    [],
                    |row| Ok(EpisodeCount { role: row.get(0)?, turns: count(row, 1)? }),
                )?,
                projects: sum("SELECT count(*) FROM project")?,
                memories: MemoryCounts {
                    kinds: by_name("SELECT kind, count(*) FROM memory GROUP BY 1 ORDER BY 2 DESC, 1")?,
                    statuses: by_name("SELECT status, count(*) FROM memory GROUP BY 1 ORDER BY 2 DESC, 1")?,
                    entities: sum("SELECT count(*) FROM entity")?,
                    relations: sum("SELECT count(*) FROM relation")?,
                    operations: sum("SELECT count(*) FROM operation")?,
                },
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
            })
        })
    }

    /// Returns all projects, last used first.
    pub(crate) fn projects(&self) -> StoreResult<Vec<ProjectSummary>> {
        self.project_summaries(None)
    }

    /// Returns one project.
    pub(crate) fn project(&self, row: ProjectKey) -> StoreResult<Option<ProjectSummary>> {
        Ok(self.project_summaries(Some(row))?.pop())
    }

    /// Returns all projects, last used first, or the one with a row. Counting turns takes time, so one is not looked
    /// for among all.
    fn project_summaries(&self, only: Option<ProjectKey>) -> StoreResult<Vec<ProjectSummary>> {
        self.read(|view| {
            let mut projects = view.all(
                &format!(
                    "SELECT project.id, project.uid, project.name,
                        (SELECT count(*) FROM episode WHERE episode.project_id = project.id AND kind <> 'subagent'
                             AND forgotten_ms IS NULL),
                        (SELECT count(*) FROM turn WHERE turn.project_id = project.id AND NOT {IS_REPLACED}),
                        (SELECT max(at_ms) FROM turn WHERE turn.project_id = project.id)
                 FROM project WHERE ?1 IS NULL OR project.id = ?1 ORDER BY 6 DESC, project.id"
                ),
                [only],
                |row| {
                    Ok(ProjectSummary {
                        row: row.get(0)?,
                        id: ProjectId::from_bytes(row.get(1)?),
                        name: row.get(2)?,
                        aliases: Vec::new(),
                        sessions: count(row, 3)?,
                        turns: count(row, 4)?,
                        updated: row.get(5)?,
                    })
                },
            )?;
            let aliases: Vec<(ProjectKey, String, String)> =
                view.all("SELECT project_id, kind, recorded FROM project_alias ORDER BY kind, recorded", [], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
            for (project, kind, recorded) in aliases {
                if let Some(project) = projects.iter_mut().find(|candidate| candidate.row == project) {
                    project.aliases.push((kind, recorded));
                }
            }
            Ok(projects)
        })
    }

    /// Returns row, id and name of all projects, without counts.
    pub(crate) fn project_names(&self) -> StoreResult<Vec<(ProjectKey, ProjectId, String)>> {
        self.read(|view| {
            view.all("SELECT id, uid, name FROM project ORDER BY id", [], |row| {
                Ok((row.get(0)?, ProjectId::from_bytes(row.get(1)?), row.get(2)?))
            })
        })
    }

    /// Returns the projects that have this alias, in key form or in its original form.
    pub(crate) fn projects_by_alias(&self, recorded: &str, key: &str) -> StoreResult<Vec<ProjectKey>> {
        self.read(|view| {
            view.column("SELECT DISTINCT project_id FROM project_alias WHERE recorded = ?1 OR value = ?2", params![recorded, key])
        })
    }

    /// Returns the aliases of all projects, as recorded: project, kind, alias.
    pub(crate) fn project_places(&self) -> StoreResult<Vec<(ProjectKey, String, String)>> {
        self.read(|view| {
            view.all("SELECT project_id, kind, recorded FROM project_alias ORDER BY project_id, kind, recorded", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
        })
    }

    /// Returns the directories by which projects are recognised, as recorded.
    pub(crate) fn project_directories(&self) -> StoreResult<Vec<String>> {
        self.read(|view| {
            view.column("SELECT DISTINCT recorded FROM project_alias WHERE kind = 'directory' ORDER BY recorded", [])
        })
    }

    /// Returns the project with an alias.
    pub(crate) fn project_by_alias(&self, kind: &str, value: &str) -> StoreResult<Option<ProjectKey>> {
        self.read(|view| {
            view.first_value("SELECT project_id FROM project_alias WHERE kind = ?1 AND value = ?2", params![kind, value])
        })
    }

    /// Returns the project with any of these aliases, or creates it under a name.
    pub(crate) fn known_project(&self, aliases: &[(ProjectAlias, String)], name: &str, now: UtcMillis) -> StoreResult<ProjectId> {
        self.write(|tx| {
            let row = Upserter::new(tx).project(aliases, name, now)?;
            tx.one("SELECT uid FROM project WHERE id = ?1", [row], |row| row.get(0).map(ProjectId::from_bytes))
        })
    }
}

pub(in crate::store) fn count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|count| count as u64)
}
