//! Merges two projects and undoes a merge, inside a transaction.

use std::collections::HashMap;

use rusqlite::params;
use yore_core::scope::normalize_directory;
use yore_core::time::UtcMillis;

use crate::store::StoreResult;
use crate::store::keys::ProjectKey;
use crate::store::local::transaction::WriteTx;

/// Number of sessions, turns and memories that changed their project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Moved {
    /// Sessions and documents.
    pub sessions: u64,
    /// Turns.
    pub turns: u64,
    /// Memories.
    pub memories: u64,
}

/// What belongs to a project: its name in the record of a merge, the query for its keys, and the statement that gives
/// those of a merge to another project.
const BELONGINGS: [(&str, &str, &str); 6] = [
    (
        "alias",
        "SELECT kind || ':' || value FROM project_alias WHERE project_id = ?1",
        "UPDATE project_alias SET project_id = ?1
         WHERE kind || ':' || value IN (SELECT key FROM project_merge_row WHERE merge_id = ?2 AND what = 'alias')",
    ),
    (
        "commit",
        "SELECT first_commit FROM project_commit WHERE project_id = ?1",
        "INSERT OR IGNORE INTO project_commit (project_id, first_commit)
         SELECT ?1, key FROM project_merge_row WHERE merge_id = ?2 AND what = 'commit'",
    ),
    (
        "episode",
        "SELECT id FROM episode WHERE project_id = ?1",
        "UPDATE episode SET project_id = ?1
         WHERE id IN (SELECT key FROM project_merge_row WHERE merge_id = ?2 AND what = 'episode')",
    ),
    (
        "turn",
        "SELECT id FROM turn WHERE project_id = ?1",
        "UPDATE turn SET project_id = ?1 WHERE id IN (SELECT key FROM project_merge_row WHERE merge_id = ?2 AND what = 'turn')",
    ),
    (
        "memory",
        "SELECT id FROM memory WHERE project_id = ?1",
        "UPDATE memory SET project_id = ?1, rev = -abs(rev) - 1
         WHERE id IN (SELECT key FROM project_merge_row WHERE merge_id = ?2 AND what = 'memory')",
    ),
    (
        "branch",
        "SELECT branch_id FROM merged_branch WHERE project_id = ?1",
        "UPDATE OR IGNORE merged_branch SET project_id = ?1
         WHERE branch_id IN (SELECT key FROM project_merge_row WHERE merge_id = ?2 AND what = 'branch')
             AND project_id = (SELECT project.id FROM project_merge JOIN project ON project.uid IN (from_uid, into_uid)
                               WHERE project_merge.id = ?2 AND project.id <> ?1)",
    ),
];

/// Gives what belongs to `from` to `into`, removes `from`, and records both. Turns are put on the queue of the index.
pub(in crate::store) fn merge(tx: &WriteTx<'_>, from: ProjectKey, into: ProjectKey, now: UtcMillis) -> StoreResult<Moved> {
    if from == into {
        return Ok(Moved::default());
    }
    let number: i64 = tx.insert(
        "INSERT INTO project_merge (at_ms, from_uid, from_name, created_ms, into_uid)
         SELECT ?3, old.uid, old.name, old.created_ms, new.uid FROM project AS old, project AS new
         WHERE old.id = ?1 AND new.id = ?2",
        params![from, into, now],
    )?;
    for (what, keys, _) in BELONGINGS {
        let sql = format!("INSERT INTO project_merge_row (merge_id, what, key) SELECT ?2, '{what}', * FROM ({keys})");
        tx.execute(&sql, params![from, number])?;
    }
    let moved = give(tx, number, into)?;
    tx.execute("DELETE FROM project WHERE id = ?1", [from])?;
    Ok(moved)
}

/// Gives what a merge moved to a project.
pub(in crate::store) fn give(tx: &WriteTx<'_>, number: i64, to: ProjectKey) -> StoreResult<Moved> {
    for (.., sql) in BELONGINGS {
        tx.execute(sql, params![to, number])?;
    }
    tx.execute(
        "INSERT INTO lexical_queue (turn_id) SELECT key FROM project_merge_row
         WHERE merge_id = ?1 AND what = 'turn' AND key IN (SELECT id FROM turn)",
        [number],
    )?;
    let count =
        |what: &str| tx.count("SELECT count(*) FROM project_merge_row WHERE merge_id = ?1 AND what = ?2", params![number, what]);
    Ok(Moved { sessions: count("episode")?, turns: count("turn")?, memories: count("memory")? })
}

/// Computes the keys of recorded directories again, in today's form. Projects whose directories turn out to be one
/// folder become one, unless both have a remote.
pub(in crate::store) fn renew_directories(tx: &WriteTx<'_>) -> StoreResult<()> {
    let now: UtcMillis = tx.value("SELECT coalesce(max(last_read_ms), 0) FROM source_file", [])?;
    let known: Vec<(String, ProjectKey)> = tx.all(
        "SELECT value, project_id FROM project_alias WHERE kind IN ('directory', 'git_dir') ORDER BY project_id, value",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut became: HashMap<ProjectKey, ProjectKey> = HashMap::new();
    for (value, project) in known {
        let key = normalize_directory(&value);
        if key == value {
            continue;
        }
        let project = became.get(&project).copied().unwrap_or(project);
        let other: Option<ProjectKey> =
            tx.first_value("SELECT project_id FROM project_alias WHERE kind IN ('directory', 'git_dir') AND value = ?1", [&key])?;
        if let Some(other) = other.filter(|other| *other != project) {
            let has_remote =
                |row: ProjectKey| tx.exists("SELECT 1 FROM project_alias WHERE kind = 'remote' AND project_id = ?1", [row]);
            if !(has_remote(project)? && has_remote(other)?) {
                merge(tx, project, other, now)?;
                became.values_mut().filter(|row| **row == project).for_each(|row| *row = other);
                became.insert(project, other);
            }
        }
        tx.execute(
            "UPDATE OR IGNORE project_alias SET value = ?2 WHERE kind IN ('directory', 'git_dir') AND value = ?1",
            [&value, &key],
        )?;
        tx.execute("DELETE FROM project_alias WHERE kind IN ('directory', 'git_dir') AND value = ?1", [&value])?;
    }
    Ok(())
}
