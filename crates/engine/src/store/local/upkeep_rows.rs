//! Stores the runs of upkeep, and rewrites a database with much free space.

use rusqlite::{Row, params};
use yore_core::time::UtcMillis;

use crate::store::{Store, StoreResult};

/// A run of a job of upkeep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpkeepRow {
    pub job: String,
    /// When it began; of several tries that failed with one error, the first.
    pub began: UtcMillis,
    pub ended: UtcMillis,
    /// A JSON object.
    pub counts: String,
    /// Code and text; `None`: it was done.
    pub error: Option<(String, String)>,
    pub tries: u32,
}

/// The runs of a job that tell its state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpkeepRows {
    /// The last one that was done.
    pub done: Option<UpkeepRow>,
    /// The last one that failed.
    pub failed: Option<UpkeepRow>,
    /// When the first one failed since the last one was done.
    pub failing_since: Option<UtcMillis>,
}

const COLUMNS: &str = "job, began_ms, ended_ms, counts, error_code, error_text, tries";

fn run_of(row: &Row<'_>) -> rusqlite::Result<UpkeepRow> {
    let (code, text): (Option<String>, Option<String>) = (row.get(4)?, row.get(5)?);
    Ok(UpkeepRow {
        job: row.get(0)?,
        began: row.get(1)?,
        ended: row.get(2)?,
        counts: row.get(3)?,
        error: code.zip(text),
        tries: row.get(6)?,
    })
}

impl Store {
    /// Records a run, and removes those of its job that ended before a time, except for the newest of each outcome. Failures in a row with
    /// one error are counted in one row. A job that is done is no longer given up.
    pub(crate) fn record_upkeep(&self, run: &UpkeepRow, kept_since: UtcMillis) -> StoreResult<()> {
        self.write(|tx| {
            let (code, text) = run.error.as_ref().map(|(code, text)| (code.as_str(), text.as_str())).unzip();
            let is_again = tx.execute(
                "UPDATE upkeep_run SET ended_ms = ?2, tries = tries + 1
                 WHERE id = (SELECT max(id) FROM upkeep_run WHERE job = ?1) AND error_code = ?3 AND error_text = ?4",
                params![run.job, run.ended, code, text],
            )? > 0;
            if !is_again {
                tx.execute(
                    "INSERT INTO upkeep_run (job, began_ms, ended_ms, outcome, counts, error_code, error_text)
                     VALUES (?1, ?2, ?3, iif(?5 IS NULL, 'done', 'failed'), ?4, ?5, ?6)",
                    params![run.job, run.began, run.ended, run.counts, code, text],
                )?;
            }
            if run.error.is_none() {
                tx.execute("DELETE FROM job WHERE kind = 'upkeep' AND target = ?1 AND state = 'dead'", [&run.job])?;
            }
            tx.execute(
                "DELETE FROM upkeep_run WHERE job = ?1 AND ended_ms < ?2
                     AND id NOT IN (SELECT max(id) FROM upkeep_run WHERE job = ?1 GROUP BY outcome)",
                params![run.job, kept_since],
            )
            .map(drop)
        })
    }

    /// Returns the runs that tell the state of a job. Their order is that in which they were recorded: the clock may have been wrong.
    pub(crate) fn upkeep_rows(&self, job: &str) -> StoreResult<UpkeepRows> {
        self.read(|view| {
            let last = |outcome: &str| {
                let sql = format!("SELECT {COLUMNS} FROM upkeep_run WHERE job = ?1 AND outcome = ?2 ORDER BY id DESC LIMIT 1");
                view.first(&sql, [job, outcome], run_of)
            };
            Ok(UpkeepRows {
                done: last("done")?,
                failed: last("failed")?,
                failing_since: view.first_value(
                    "SELECT began_ms FROM upkeep_run WHERE job = ?1 AND outcome = 'failed'
                         AND id > (SELECT ifnull(max(id), 0) FROM upkeep_run WHERE job = ?1 AND outcome = 'done') ORDER BY id LIMIT 1",
                    [job],
                )?,
            })
        })
    }

    /// Lets SQLite renew what it knows of the distribution of values, where that has changed.
    pub(crate) fn optimise(&self) -> StoreResult<()> {
        self.with_writer(|db| db.execute_batch("PRAGMA analysis_limit = 1000; PRAGMA optimize").map_err(|error| self.fail(error)))
    }

    /// Returns the bytes of the database, and those of them that are free.
    pub(crate) fn room(&self) -> StoreResult<(u64, u64)> {
        self.read(|view| {
            let page: i64 = view.value("PRAGMA page_size", [])?;
            let pages: i64 = view.value("PRAGMA page_count", [])?;
            let free: i64 = view.value("PRAGMA freelist_count", [])?;
            Ok(((page * pages) as u64, (page * free) as u64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: UtcMillis, error: Option<&str>) -> UpkeepRow {
        let error = error.map(|text| ("code".to_owned(), text.to_owned()));
        UpkeepRow { job: "backup".to_owned(), began: at, ended: at + 1, counts: "{}".to_owned(), error, tries: 1 }
    }

    #[test]
    fn failures_with_one_error_are_one_run_until_the_job_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), true, Default::default()).unwrap();
        for (at, error) in [(10, None), (20, Some("full")), (30, Some("full")), (40, Some("gone"))] {
            store.record_upkeep(&run(at, error), 0).unwrap();
        }
        let rows = store.upkeep_rows("backup").unwrap();
        assert_eq!(rows.failing_since, Some(20));
        assert_eq!(rows.failed, Some(run(40, Some("gone"))));
        assert_eq!(rows.done, Some(run(10, None)));
        // Recorded with a clock that was set back.
        store.record_upkeep(&run(5, None), 0).unwrap();
        let rows = store.upkeep_rows("backup").unwrap();
        assert_eq!((rows.failing_since, rows.done), (None, Some(run(5, None))));
        assert_eq!(rows.failed.map(|failed| failed.began), Some(40), "the last failure stays known");
    }

    #[test]
    fn old_runs_go_and_the_newest_of_each_outcome_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), true, Default::default()).unwrap();
        for (at, error) in [(10, Some("one")), (20, Some("two")), (30, None), (40, None)] {
            store.record_upkeep(&run(at, error), 0).unwrap();
        }
        store.record_upkeep(&run(50, None), 1_000).unwrap();
        let kept: Vec<i64> = store.read(|view| view.column("SELECT began_ms FROM upkeep_run ORDER BY id", [])).unwrap();
        assert_eq!(kept, [20, 50]);
    }
}
