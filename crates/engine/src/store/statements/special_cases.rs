//! Stores special cases among memories: exceptions of projects, facts of branches that were not merged.

use rusqlite::{Row, params};
use yore_core::id::ProjectId;
use yore_core::relation::Basis;
use yore_core::time::UtcMillis;

use super::entities::basis_json;
use crate::store::keys::{MemoryKey, ProjectKey, json_of};
use crate::store::{Store, StoreResult};

/// The exceptions from what holds everywhere that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exceptions<'q> {
    /// Those among memories, of one of these projects.
    Among(&'q [MemoryKey], &'q [ProjectKey]),
    /// Those of a project by another standard or preference, without a condition, that is as certain as this.
    In(ProjectKey, f32),
}

impl Store {
    /// Returns the pairs of memories of which the first, that of a project, is an exception from the second, which holds everywhere; true at a
    /// time.
    pub(crate) fn exceptions(&self, wanted: Exceptions<'_>, at: UtcMillis) -> StoreResult<Vec<(MemoryKey, MemoryKey)>> {
        let pairs = "SELECT DISTINCT special.id, general.id FROM memory AS general
             JOIN relation ON relation.to_key = general.uid AND relation.to_kind = 'memory' AND relation.from_kind = 'memory'
                 AND relation.type = 'qualifies'
             JOIN memory AS special ON special.uid = relation.from_key
             WHERE general.project_id IS NULL
                 AND coalesce(special.valid_from_ms, ?1) <= ?1 AND coalesce(special.valid_until_ms, ?1 + 1) > ?1";
        let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.read(|view| match wanted {
            Exceptions::Among(memories, projects) => view.all(
                &format!(
                    "{pairs} AND general.id IN (SELECT value FROM json_each(?2)) AND special.id IN (SELECT value FROM json_each(?2))
                     AND special.project_id IN (SELECT value FROM json_each(?3))
                     AND general.status IN ('holds', 'contested') AND special.status IN ('holds', 'contested')
                     AND (general.lane = 'extracted' OR special.lane = 'curated')"
                ),
                params![at, json_of(memories), json_of(projects)],
                pair,
            ),
            Exceptions::In(project, certainty) => {
                let basis = basis_json(&Basis::Project).map_err(|error| view.failed(error.into()))?;
                view.all(
                    &format!(
                        "{pairs} AND special.status = 'holds' AND special.kind IN ('standard', 'preference')
                         AND special.project_id = ?2 AND relation.basis = ?3
                         AND (special.lane = 'curated'
                             OR general.lane = 'extracted' AND coalesce(json_extract(special.rest, '$.certainty'), 1.0) >= ?4)"
                    ),
                    params![at, project, basis, certainty],
                    pair,
                )
            }
        })
    }

    /// Returns the branches on which extracted facts in effect of a project were said and that were not merged since, each with the time
    /// when the last of that was said.
    pub(crate) fn branches_of_facts(&self, project: ProjectId) -> StoreResult<Vec<(String, UtcMillis)>> {
        self.read(|view| {
            view.all(
                "SELECT label.text, max(coalesce(turn.at_ms, 0)) AS said FROM memory
                 JOIN memory_evidence ON memory_evidence.memory_id = memory.id
                 JOIN turn ON turn.uid = turn_uid JOIN label ON label.id = turn.branch_id
                 LEFT JOIN merged_branch ON merged_branch.project_id = memory.project_id AND merged_branch.branch_id = turn.branch_id
                 WHERE memory.project_id = (SELECT id FROM project WHERE uid = ?1) AND memory.status IN ('holds', 'contested')
                     AND memory.kind = 'fact' AND memory.lane = 'extracted'
                     AND coalesce(merged_branch.at_ms, -1) < coalesce(turn.at_ms, 0)
                 GROUP BY label.text ORDER BY said DESC",
                [project.as_bytes()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Notes that a branch of a project was merged: what was said on it before holds everywhere.
    pub(crate) fn note_merged(&self, project: ProjectId, branch: &str, at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| {
            tx.execute(
                "INSERT OR REPLACE INTO merged_branch (project_id, branch_id, at_ms)
                 SELECT project.id, label.id, ?3 FROM project, label WHERE project.uid = ?1 AND label.text = ?2",
                params![project.as_bytes(), branch, at],
            )
            .map(drop)
        })
    }
}
