//! Counts memories by their properties, their growth by week, and their uses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use yore_core::id::MemoryId;
use yore_core::time::UtcMillis;

use crate::store::local::transaction::View;
use crate::store::{ProjectKey, StoreResult};

/// Number of memories, and of what connects them. Names come with their numbers, most first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCounts {
    /// Memories by kind.
    pub kinds: Vec<(String, u64)>,
    /// Memories by status.
    pub statuses: Vec<(String, u64)>,
    /// Memories by lane.
    #[serde(default)]
    pub lanes: Vec<(String, u64)>,
    /// Memories by the kind of their source, such as `user`, `rule` or `model`.
    #[serde(default)]
    pub sources: Vec<(String, u64)>,
    /// Memories by the name of their project; empty: they hold everywhere.
    #[serde(default)]
    pub projects: Vec<(String, u64)>,
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

/// The weeks and uses that a caller wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeeksWanted {
    /// The present.
    pub now: UtcMillis,
    /// Minutes by which the person's clock is ahead of UTC.
    pub offset_minutes: i32,
    /// Number of weeks, the present one included.
    pub weeks: u32,
    /// Maximum number of memories in each list of [`Uses`].
    pub most_used: usize,
}

/// The things that a week added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthWeek {
    /// Its Monday, as days since 1970 by the person's clock.
    pub monday: i64,
    /// Sessions that began in it.
    pub sessions: u64,
    /// Turns that were said in it.
    pub turns: u64,
    /// Memories that were recorded in it.
    pub memories: u64,
}

/// Uses that count: a memory that is only shown or given was not used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    /// Number of memories in effect: those that hold or are contested.
    pub in_effect: u64,
    /// Number of those that were never used.
    pub unused: u64,
    /// Those that were used most, most first.
    pub most_used: Vec<UsedMemory>,
    /// Those that were never used, oldest first.
    pub never_used: Vec<UsedMemory>,
}

/// A memory and its uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedMemory {
    /// Its id.
    pub id: MemoryId,
    /// Its statement.
    pub statement: String,
    /// Time at which it was recorded.
    pub recorded: UtcMillis,
    /// Times that it was opened.
    pub opened: u64,
    /// Times that an agent's answer or edit repeated it.
    pub cited: u64,
    /// Times that a person confirmed it.
    pub confirmed: u64,
}

fn count(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|count| count.max(0) as u64)
}

/// Counts memories, of a project or of all.
pub(in crate::store) fn memories(view: &View<'_>, project: Option<ProjectKey>) -> StoreResult<MemoryCounts> {
    let by_name = |sql: &'static str| view.all(sql, [project], |row| Ok((row.get(0)?, count(row, 1)?)));
    let number = |all: &'static str, of_project: &'static str| match project {
        Some(_) => view.count(of_project, [project]),
        None => view.count(all, []),
    };
    Ok(MemoryCounts {
        kinds: by_name("SELECT kind, count(*) FROM memory WHERE ?1 IS NULL OR project_id = ?1 GROUP BY 1 ORDER BY 2 DESC, 1")?,
        statuses: by_name(
            "SELECT status, count(*) FROM memory WHERE ?1 IS NULL OR project_id = ?1 GROUP BY 1 ORDER BY 2 DESC, 1",
        )?,
        lanes: by_name("SELECT lane, count(*) FROM memory WHERE ?1 IS NULL OR project_id = ?1 GROUP BY 1 ORDER BY 2 DESC, 1")?,
        sources: by_name(
            "SELECT coalesce(rest ->> '$.source.kind', 'user'), count(*) FROM memory WHERE ?1 IS NULL OR project_id = ?1
             GROUP BY 1 ORDER BY 2 DESC, 1",
        )?,
        projects: by_name(
            "SELECT coalesce(project.name, ''), sum(number) FROM (
                 SELECT project_id, count(*) AS number FROM memory WHERE ?1 IS NULL OR project_id = ?1 GROUP BY 1
             ) LEFT JOIN project ON project.id = project_id GROUP BY 1 ORDER BY 2 DESC, 1",
        )?,
        entities: number(
            "SELECT count(*) FROM entity",
            "SELECT count(DISTINCT to_key) FROM relation JOIN memory ON memory.uid = relation.from_key
             WHERE from_kind = 'memory' AND to_kind = 'entity' AND project_id = ?1",
        )?,
        relations: number(
            "SELECT count(*) FROM relation",
            "SELECT count(*) FROM relation JOIN memory ON memory.uid = relation.from_key
             WHERE from_kind = 'memory' AND project_id = ?1",
        )?,
        operations: number(
            "SELECT count(*) FROM operation",
            "SELECT count(DISTINCT operation) FROM operation_change JOIN memory ON memory.uid = operation_change.uid
             WHERE project_id = ?1",
        )?,
    })
}

/// Counts what the last weeks added; a week that added nothing is among them.
pub(in crate::store) fn growth(
    view: &View<'_>,
    project: Option<ProjectKey>,
    wanted: WeeksWanted,
) -> StoreResult<Vec<GrowthWeek>> {
    const DAY_MS: i64 = 86_400_000;
    let offset = i64::from(wanted.offset_minutes) * 60_000;
    // The first of January 1970 was a Thursday.
    let this = ((wanted.now + offset).div_euclid(DAY_MS) + 3).div_euclid(7);
    let first = this + 1 - i64::from(wanted.weeks);
    let since = (first * 7 - 3) * DAY_MS - offset;
    let weeks = (first..=this).map(|week| (week, GrowthWeek { monday: week * 7 - 3, ..GrowthWeek::default() }));
    let mut weeks: BTreeMap<i64, GrowthWeek> = weeks.collect();
    let mut add = |sql: &'static str, of: fn(&mut GrowthWeek) -> &mut u64| -> StoreResult<()> {
        let until = wanted.now;
        let found = view.all(sql, (project, since, until, offset), |row| Ok((row.get::<_, i64>(0)?, count(row, 1)?)))?;
        for (week, number) in found {
            if let Some(week) = weeks.get_mut(&week) {
                *of(week) += number;
            }
        }
        Ok(())
    };
    add(
        "SELECT ((started_ms + ?4) / 86400000 + 3) / 7, count(*) FROM episode
         WHERE kind = 'session' AND forgotten_ms IS NULL AND started_ms BETWEEN max(?2, -?4) AND ?3
             AND (?1 IS NULL OR project_id = ?1) GROUP BY 1",
        |week| &mut week.sessions,
    )?;
    add(
        "SELECT ((at_ms + ?4) / 86400000 + 3) / 7, count(*) FROM turn
         WHERE at_ms BETWEEN max(?2, -?4) AND ?3 AND (?1 IS NULL OR project_id = ?1) GROUP BY 1",
        |week| &mut week.turns,
    )?;
    add(
        "SELECT ((recorded_ms + ?4) / 86400000 + 3) / 7, count(*) FROM memory
         WHERE recorded_ms BETWEEN max(?2, -?4) AND ?3 AND (?1 IS NULL OR project_id = ?1) GROUP BY 1",
        |week| &mut week.memories,
    )?;
    Ok(weeks.into_values().collect())
}

/// Counts the uses of the memories in effect.
pub(in crate::store) fn uses(view: &View<'_>, project: Option<ProjectKey>, most: usize) -> StoreResult<Uses> {
    /// Memories in effect with their uses; they end with the columns `opened`, `cited` and `confirmed`.
    const USED: &str = "WITH confirmed AS MATERIALIZED (
             SELECT operation_change.uid, count(*) AS number FROM operation_change
             JOIN operation ON operation.number = operation_change.operation
             WHERE operation.kind = 'confirm' AND operation.undone_by IS NULL GROUP BY 1
         ), used AS (
             SELECT memory.id, memory.uid, memory.recorded_ms, coalesce(opened, 0) AS opened, coalesce(cited, 0) AS cited,
                 coalesce(confirmed.number, 0) AS confirmed, accessed_ms
             FROM memory LEFT JOIN memory_use ON memory_uid = memory.uid LEFT JOIN confirmed ON confirmed.uid = memory.uid
             WHERE status IN ('holds', 'contested') AND (?1 IS NULL OR project_id = ?1)
         )";
    let (in_effect, unused) = view.one(
        &format!("{USED} SELECT count(*), coalesce(sum(opened + cited + confirmed = 0), 0) FROM used"),
        [project],
        |row| Ok((count(row, 0)?, count(row, 1)?)),
    )?;
    let listed = |chosen: &str| {
        let sql = format!(
            "{USED} SELECT used.uid, memory.statement, used.recorded_ms, opened, cited, confirmed FROM used
             JOIN memory ON memory.id = used.id {chosen} LIMIT ?2"
        );
        view.all(&sql, (project, most as i64), |row| {
            Ok(UsedMemory {
                id: MemoryId::from_bytes(row.get(0)?),
                statement: row.get(1)?,
                recorded: row.get(2)?,
                opened: count(row, 3)?,
                cited: count(row, 4)?,
                confirmed: count(row, 5)?,
            })
        })
    };
    Ok(Uses {
        in_effect,
        unused,
        most_used: listed(
            "WHERE opened + cited + confirmed > 0 ORDER BY opened + cited + confirmed DESC, accessed_ms DESC, used.id",
        )?,
        never_used: listed("WHERE opened + cited + confirmed = 0 ORDER BY used.recorded_ms, used.id")?,
    })
}
