//! Renames and merges projects; stores the first commits by which a renamed folder is recognised.

use rusqlite::params;
use yore_core::id::ProjectId;
use yore_core::time::UtcMillis;

use super::merges::{Moved, give, merge};
use crate::store::keys::ProjectKey;
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

impl Store {
    /// Renames a project.
    pub(crate) fn rename_project(&self, project: ProjectKey, name: &str) -> StoreResult<()> {
        self.write(|tx| tx.execute("UPDATE project SET name = ?2 WHERE id = ?1", params![project, name]).map(drop))
    }

    /// Merges two projects: everything of `from` belongs to `into` afterwards.
    pub(crate) fn merge_projects(&self, from: ProjectKey, into: ProjectKey, now: UtcMillis) -> StoreResult<Moved> {
        self.write(|tx| merge(tx, from, into, now))
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

    /// Undoes a merge: the project is there again with its id and name, and has what it had. What came since stays with
    /// the other. Returns `None` if the merge is unknown.
    pub(crate) fn undo_merge(&self, number: i64) -> StoreResult<Option<Moved>> {
        self.write(|tx| {
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
        })
    }

    /// Returns the projects of repositories without a remote whose first commit is not known, with the git directory as
    /// recorded.
    pub(crate) fn projects_without_commit(&self) -> StoreResult<Vec<(ProjectKey, String)>> {
        self.read(|view| {
            view.all(
                "SELECT project_id, recorded FROM project_alias AS place WHERE kind = 'git_dir'
                     AND NOT EXISTS (SELECT 1 FROM project_alias WHERE kind = 'remote' AND project_id = place.project_id)
                     AND NOT EXISTS (SELECT 1 FROM project_commit WHERE project_id = place.project_id)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Records the first commits of projects.
    pub(crate) fn note_first_commits(&self, found: &[(ProjectKey, String)]) -> StoreResult<()> {
        self.write(|tx| {
            for (project, commit) in found {
                tx.execute(
                    "INSERT OR IGNORE INTO project_commit (project_id, first_commit)
                     SELECT id, ?2 FROM project WHERE id = ?1",
                    params![project, commit],
                )?;
            }
            Ok(())
        })
    }

    /// Returns the first commits that are known, by project.
    pub(crate) fn first_commits(&self) -> StoreResult<Vec<(ProjectKey, String)>> {
        self.read(|view| {
            view.all("SELECT project_id, first_commit FROM project_commit ORDER BY 1, 2", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }
}
