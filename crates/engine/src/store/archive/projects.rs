//! Lists, renames and merges projects; stores the first commits by which a renamed folder is recognised.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::id::ProjectId;
use yore_core::scope::ProjectAlias;
use yore_core::time::UtcMillis;

use super::episodes::IS_REPLACED;
use super::merges::{Moved, give, merge};
use super::overview::count;
use super::upsert::Upserter;
use crate::store::keys::ProjectKey;
use crate::store::local::transaction::WriteTx;
use crate::store::{Store, StoreResult};

/// A merge of two projects that can be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectMerge {
    /// Number of the merge.
    pub number: i64,
    /// When it was made.
    pub at: UtcMillis,
    /// Id of the project that became part of the other.
    pub from: ProjectId,
    /// Name of that project.
    pub from_name: String,
    /// Id of the project that it became part of.
    pub into: ProjectId,
}

/// A project without its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredProject {
    pub key: ProjectKey,
    pub id: ProjectId,
    pub name: String,
    /// The aliases by which it is recognised, by kind and recorded form.
    pub aliases: Vec<StoredAlias>,
    /// First commits of its repositories that have no remote.
    pub first_commits: Vec<String>,
    pub has_memories: bool,
}

/// An alias of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredAlias {
    pub kind: String,
    /// The form that is compared.
    pub value: String,
    /// The form in which it occurred.
    pub recorded: String,
}

impl StoredProject {
    /// Returns the recorded forms of its aliases of a kind.
    pub(crate) fn recorded<'p>(&'p self, kind: &'p str) -> impl Iterator<Item = &'p String> {
        self.aliases.iter().filter(move |alias| alias.kind == kind).map(|alias| &alias.recorded)
    }
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

/// A change of a project.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProjectChange<'q> {
    /// It gets another name.
    Rename(ProjectKey, &'q str),
    /// A repository of it that has no remote begins with this commit.
    FirstCommit(ProjectKey, &'q str),
    /// Everything of `from` belongs to `into` afterwards.
    Merge { from: ProjectKey, into: ProjectKey },
    /// The merge with this number is undone: the project has what it had. What came since stays with the other.
    UndoMerge(i64),
}

impl Store {
    /// Returns all projects, in the order in which they became known.
    pub(crate) fn projects(&self) -> StoreResult<Vec<StoredProject>> {
        self.read(|view| {
            let mut projects = view.all(
                "SELECT id, uid, name, EXISTS (SELECT 1 FROM memory WHERE memory.project_id = project.id) FROM project ORDER BY id",
                [],
                |row| {
                    Ok(StoredProject {
                        key: row.get(0)?,
                        id: ProjectId::from_bytes(row.get(1)?),
                        name: row.get(2)?,
                        aliases: Vec::new(),
                        first_commits: Vec::new(),
                        has_memories: row.get(3)?,
                    })
                },
            )?;
            let mut by_key: HashMap<ProjectKey, &mut StoredProject> =
                projects.iter_mut().map(|project| (project.key, project)).collect();
            let aliases: Vec<(ProjectKey, StoredAlias)> = view.all(
                "SELECT project_id, kind, value, recorded FROM project_alias ORDER BY kind, recorded, value",
                [],
                |row| Ok((row.get(0)?, StoredAlias { kind: row.get(1)?, value: row.get(2)?, recorded: row.get(3)? })),
            )?;
            for (key, alias) in aliases {
                by_key.entry(key).and_modify(|project| project.aliases.push(alias));
            }
            let commits: Vec<(ProjectKey, String)> =
                view.all("SELECT project_id, first_commit FROM project_commit ORDER BY first_commit", [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            for (key, commit) in commits {
                by_key.entry(key).and_modify(|project| project.first_commits.push(commit));
            }
            Ok(projects)
        })
    }

    /// Returns all projects with their counts, last used first, or the one with a key. Counting turns takes time, so one is not looked
    /// for among all.
    pub(crate) fn project_summaries(&self, only: Option<ProjectKey>) -> StoreResult<Vec<ProjectSummary>> {
        self.read(|view| {
            let mut projects = view.all(
                &format!(
                    "WITH counted AS MATERIALIZED (
                         SELECT project_id, sum(NOT {IS_REPLACED}) AS turns, max(at_ms) AS last FROM turn
                         WHERE ?1 IS NULL OR project_id = ?1 GROUP BY project_id)
                     SELECT project.id, project.uid, project.name,
                         (SELECT count(*) FROM episode WHERE episode.project_id = project.id AND kind <> 'subagent'
                             AND forgotten_ms IS NULL),
                         coalesce(turns, 0), last
                     FROM project LEFT JOIN counted ON counted.project_id = project.id
                     WHERE ?1 IS NULL OR project.id = ?1 ORDER BY 6 DESC, project.id"
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

    /// Returns the project with an id or any of these aliases, or creates it under a name. With an id, a known project keeps its aliases as they
    /// are.
    pub(crate) fn known_project(
        &self,
        id: Option<ProjectId>,
        aliases: &[(ProjectAlias, String)],
        name: &str,
        now: UtcMillis,
    ) -> StoreResult<ProjectId> {
        self.write(|tx| {
            let row = match id {
                Some(id) => project_like(tx, id, aliases, name, now)?,
                None => Upserter::new(tx).project(aliases, name, now)?,
            };
            tx.one("SELECT uid FROM project WHERE id = ?1", [row], |row| row.get(0).map(ProjectId::from_bytes))
        })
    }

    /// Changes a project; returns what belongs to another project now. A merge that is not known is not undone: `None`.
    pub(crate) fn change_project(&self, change: ProjectChange<'_>, now: UtcMillis) -> StoreResult<Option<Moved>> {
        self.write(|tx| match change {
            ProjectChange::Rename(project, name) => {
                tx.execute("UPDATE project SET name = ?2 WHERE id = ?1", params![project, name])?;
                Ok(Some(Moved::default()))
            }
            ProjectChange::FirstCommit(project, commit) => {
                tx.execute(
                    "INSERT OR IGNORE INTO project_commit (project_id, first_commit)
                     SELECT id, ?2 FROM project WHERE id = ?1",
                    params![project, commit],
                )?;
                Ok(Some(Moved::default()))
            }
            ProjectChange::Merge { from, into } => merge(tx, from, into, now).map(Some),
            ProjectChange::UndoMerge(number) => undo_merge(tx, number),
        })
    }

    /// Returns the merges that can be undone, latest first.
    pub(crate) fn project_merges(&self) -> StoreResult<Vec<ProjectMerge>> {
        self.read(|view| {
            view.all("SELECT id, at_ms, from_uid, from_name, into_uid FROM project_merge ORDER BY id DESC", [], |row| {
                Ok(ProjectMerge {
                    number: row.get(0)?,
                    at: row.get(1)?,
                    from: ProjectId::from_bytes(row.get(2)?),
                    from_name: row.get(3)?,
                    into: ProjectId::from_bytes(row.get(4)?),
                })
            })
        })
    }
}

fn project_like(
    tx: &WriteTx<'_>,
    id: ProjectId,
    aliases: &[(ProjectAlias, String)],
    name: &str,
    now: UtcMillis,
) -> StoreResult<ProjectKey> {
    if let Some(known) = tx.first_value("SELECT id FROM project WHERE uid = ?1", [id.as_bytes()])? {
        return Ok(known);
    }
    for (alias, _) in aliases {
        let sql = "SELECT project_id FROM project_alias WHERE kind = ?1 AND value = ?2";
        if let Some(known) = tx.first_value(sql, params![alias.kind(), alias.value()])? {
            return Ok(known);
        }
    }
    let row: ProjectKey =
        tx.insert("INSERT INTO project (uid, name, created_ms) VALUES (?1, ?2, ?3)", params![id.as_bytes(), name, now])?;
    for (alias, recorded) in aliases {
        tx.execute(
            "INSERT OR IGNORE INTO project_alias (kind, value, recorded, project_id) VALUES (?1, ?2, ?3, ?4)",
            params![alias.kind(), alias.value(), recorded, row],
        )?;
    }
    Ok(row)
}

/// Undoes a merge: the project is there again with its id and name, and has what it had.
fn undo_merge(tx: &WriteTx<'_>, number: i64) -> StoreResult<Option<Moved>> {
    if !tx.exists("SELECT 1 FROM project_merge WHERE id = ?1", [number])? {
        return Ok(None);
    }
    let project: ProjectKey = tx.insert(
        "INSERT INTO project (uid, name, created_ms) SELECT from_uid, from_name, created_ms FROM project_merge WHERE id = ?1",
        [number],
    )?;
    tx.execute(
        "DELETE FROM project_commit
         WHERE first_commit IN (SELECT key FROM project_merge_row WHERE merge_id = ?1 AND what = 'commit')",
        [number],
    )?;
    let moved = give(tx, number, project)?;
    tx.execute("DELETE FROM project_merge WHERE id = ?1", [number])?;
    Ok(Some(moved))
}
