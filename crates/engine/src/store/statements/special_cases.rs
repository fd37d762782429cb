//! Stores special cases among memories: exceptions of projects, facts of branches that were not merged.

use rusqlite::params;
use yore_core::id::{MemoryId, ProjectId, RelationId};
use yore_core::relation::Basis;
use yore_core::time::UtcMillis;

use super::entities::basis_json;
use crate::store::keys::{MemoryKey, ProjectKey, json_of};
use crate::store::{Store, StoreResult};

impl Store {
    /// Returns the pairs among memories of which the first, of one of these projects, qualifies the second, which holds everywhere; both in
    /// effect at a time.
    pub(crate) fn exceptions_among(
        &self,
        memories: &[MemoryKey],
        projects: &[i64],
        at: UtcMillis,
    ) -> StoreResult<Vec<(MemoryKey, MemoryKey)>> {
        self.read(|view| {
            view.all(
                "SELECT special.id, general.id FROM memory AS general
                 JOIN relation ON relation.to_key = general.uid AND relation.to_kind = 'memory' AND relation.from_kind = 'memory'
                     AND relation.type = 'qualifies'
                 JOIN memory AS special ON special.uid = relation.from_key
                 WHERE general.id IN (SELECT value FROM json_each(?1)) AND general.project_id IS NULL
                     AND special.id IN (SELECT value FROM json_each(?1)) AND special.project_id IN (SELECT value FROM json_each(?2))
                     AND general.status IN ('holds', 'contested') AND special.status IN ('holds', 'contested')
                     AND (general.lane = 'extracted' OR special.lane = 'curated')
                     AND coalesce(special.valid_from_ms, ?3) <= ?3 AND coalesce(special.valid_until_ms, ?3 + 1) > ?3",
                params![json_of(memories), serde_json::Value::from(projects).to_string(), at],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        })
    }

    /// Returns the memories that hold everywhere but in a project, which has another standard or preference, without a condition, that is
    /// as certain as `certainty` and true at a time.
    pub(crate) fn excepted_in(&self, project: ProjectKey, certainty: f32, at: UtcMillis) -> StoreResult<Vec<MemoryId>> {
        self.read(|view| {
            let basis = basis_json(&Basis::Project).map_err(|error| view.failed(error.into()))?;
            view.all(
                "SELECT DISTINCT general.uid FROM memory AS general
                 JOIN relation ON relation.to_key = general.uid AND relation.to_kind = 'memory' AND relation.from_kind = 'memory'
                     AND relation.type = 'qualifies'
                 JOIN memory AS special ON special.uid = relation.from_key
                 WHERE general.project_id IS NULL AND special.status = 'holds' AND special.kind IN ('standard', 'preference')
                     AND special.project_id = ?1 AND relation.basis = ?2
                     AND (special.lane = 'curated' OR general.lane = 'extracted' AND coalesce(json_extract(special.rest, '$.certainty'), 1.0) >= ?3)
                     AND coalesce(special.valid_from_ms, ?4) <= ?4 AND coalesce(special.valid_until_ms, ?4 + 1) > ?4",
                params![project, basis, certainty, at],
                |row| row.get(0).map(MemoryId::from_bytes),
            )
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

    /// Returns the special cases of a branch of a project that are in effect: the relation, the special one, the general one.
    pub(crate) fn cases_of_branch(&self, project: ProjectId, branch: &str) -> StoreResult<Vec<(RelationId, MemoryId, MemoryId)>> {
        self.read(|view| {
            let basis = basis_json(&Basis::Branch(branch.to_owned())).map_err(|error| view.failed(error.into()))?;
            view.all(
                "SELECT relation.uid, special.uid, relation.to_key FROM memory AS special
                 JOIN relation ON relation.from_key = special.uid AND relation.from_kind = 'memory' AND relation.to_kind = 'memory'
                     AND relation.type = 'qualifies' AND relation.basis = ?2
                 WHERE special.project_id = (SELECT id FROM project WHERE uid = ?1) AND special.status IN ('holds', 'contested')",
                params![project.as_bytes(), basis],
                |row| {
                    let [special, general] = [row.get(1)?, row.get(2)?].map(MemoryId::from_bytes);
                    Ok((RelationId::from_bytes(row.get(0)?), special, general))
                },
            )
        })
    }
}
