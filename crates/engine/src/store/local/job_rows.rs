//! Stores the job queue: requests, leases, failures.

use rusqlite::{Row, params};
use yore_core::time::UtcMillis;

use super::transaction::{View, WriteTx};
use crate::store::{Store, StoreResult};

/// Maximum wait of a job in milliseconds, as SQL: a longer one was queued before the clock was set back. A language model waits for the
/// next day.
const MOST_WAIT: &str = "iif(kind = 'learn', 90000000, 600000)";

/// A row of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub id: i64,
    pub kind: String,
    pub target: String,
    pub payload: String,
    pub state: String,
    pub arrived: UtcMillis,
    pub not_before: UtcMillis,
    pub failures: u32,
    pub bad_failures: u32,
    pub error: Option<(String, String)>,
    pub stamp: Option<(u64, i64)>,
}

/// A job to put into the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewJob<'a> {
    pub kind: &'a str,
    pub target: &'a str,
    pub payload: &'a str,
    pub arrived: UtcMillis,
    pub not_before: UtcMillis,
    /// State of the target, if known: a job that was given up is retried if the state differs, or always if
    /// the state is not known.
    pub stamp: Option<(u64, i64)>,
}

/// Parameters for recording a job's failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed<'a> {
    pub failures: u32,
    pub bad_failures: u32,
    pub code: &'a str,
    pub text: &'a str,
    /// Time of the next attempt; `None` gives the job up.
    pub again: Option<UtcMillis>,
    pub stamp: Option<(u64, i64)>,
}

const COLUMNS: &str = "id, kind, target, payload, state, arrived_ms, not_before_ms, failures, bad_failures, error_code, error_text, stamp_size, stamp_version";

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let code: Option<String> = row.get(9)?;
    let text: Option<String> = row.get(10)?;
    let size: Option<i64> = row.get(11)?;
    let version: Option<i64> = row.get(12)?;
    Ok(JobRow {
        id: row.get(0)?,
        kind: row.get(1)?,
        target: row.get(2)?,
        payload: row.get(3)?,
        state: row.get(4)?,
        arrived: row.get(5)?,
        not_before: row.get(6)?,
        failures: row.get(7)?,
        bad_failures: row.get(8)?,
        error: code.map(|code| (code, text.unwrap_or_default())),
        stamp: size.zip(version).map(|(size, version)| (size as u64, version)),
    })
}

fn json_of(kinds: &[&str]) -> String {
    serde_json::Value::from(kinds.to_vec()).to_string()
}

impl Store {
    /// Puts jobs into the queue; returns for each whether it is new there. A job that already waits is not
    /// delayed by another request.
    pub(crate) fn queue_jobs(&self, jobs: &[NewJob<'_>]) -> StoreResult<Vec<bool>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|tx| {
            let mut added = Vec::with_capacity(jobs.len());
            for job in jobs {
                let dead: Option<(i64, Option<i64>, Option<i64>)> = tx.first(
                    "SELECT id, stamp_size, stamp_version FROM job WHERE kind = ?1 AND target = ?2 AND state = 'dead'",
                    [job.kind, job.target],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )?;
                if let Some((id, size, version)) = dead {
                    let known = size.zip(version).map(|(size, version)| (size as u64, version));
                    if job.stamp.is_some() && known == job.stamp {
                        added.push(false);
                        continue;
                    }
                    tx.execute("DELETE FROM job WHERE id = ?1", [id])?;
                }
                added.push(!tx.waits(job.kind, job.target)?);
                tx.execute(
                    "INSERT INTO job (kind, target, payload, arrived_ms, not_before_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                         ON CONFLICT (kind, target) WHERE state = 'queued' DO UPDATE SET not_before_ms = excluded.not_before_ms
                         WHERE failures = 0 AND excluded.not_before_ms < not_before_ms",
                    params![job.kind, job.target, job.payload, job.arrived, job.not_before],
                )?;
            }
            Ok(added)
        })
    }

    /// Takes up to `limit` jobs of these kinds that are due, longest waiting first.
    pub(crate) fn take_jobs(&self, owner: &str, kinds: &[&str], now: UtcMillis, limit: usize) -> StoreResult<Vec<JobRow>> {
        // Most calls find no job, and then write nothing.
        if self.next_job(kinds, now)?.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        self.write(|tx| {
            let sql = format!(
                "SELECT {COLUMNS} FROM job WHERE state = 'queued' AND kind IN (SELECT value FROM json_each(?3))
                     AND (not_before_ms <= ?1 OR not_before_ms > ?1 + {MOST_WAIT}) ORDER BY not_before_ms, id LIMIT ?2"
            );
            let jobs = tx.all(&sql, params![now, limit as i64, json_of(kinds)], job_row)?;
            for job in &jobs {
                tx.execute("UPDATE job SET state = 'leased', lease_owner = ?2 WHERE id = ?1", params![job.id, owner])?;
            }
            Ok(jobs)
        })
    }

    /// Returns when the next job of these kinds is due, if any waits.
    pub(crate) fn next_job(&self, kinds: &[&str], now: UtcMillis) -> StoreResult<Option<UtcMillis>> {
        self.read(|view| {
            let sql = format!(
                "SELECT min(iif(not_before_ms > ?1 + {MOST_WAIT}, ?1, not_before_ms)) FROM job
                 WHERE state = 'queued' AND kind IN (SELECT value FROM json_each(?2))"
            );
            view.value(&sql, params![now, json_of(kinds)])
        })
    }

    /// Makes jobs of a kind due that wait for more of the same; returns their number. Failed jobs keep their
    /// pause, unless `with_failed`: then they begin anew.
    pub(crate) fn hurry_jobs(&self, kind: &str, now: UtcMillis, with_failed: bool) -> StoreResult<usize> {
        // Mostly there is nothing to hurry, and then nothing is written.
        let waits: bool = self.read(|view| {
            view.value(
                "SELECT EXISTS (SELECT 1 FROM job WHERE state = 'queued' AND kind = ?1 AND (?3 OR failures = 0) AND not_before_ms > ?2)",
                params![kind, now, with_failed],
            )
        })?;
        if !waits {
            return Ok(0);
        }
        self.write(|tx| {
            tx.execute(
                "UPDATE job SET not_before_ms = ?2, failures = 0
                 WHERE state = 'queued' AND kind = ?1 AND (?3 OR failures = 0) AND not_before_ms > ?2",
                params![kind, now, with_failed],
            )
        })
    }

    /// Returns the number of jobs of these kinds that are due or being done.
    pub(crate) fn pressing_jobs(&self, kinds: &[&str], now: UtcMillis) -> StoreResult<u64> {
        self.read(|view| {
            let sql = format!(
                "SELECT count(*) FROM job WHERE kind IN (SELECT value FROM json_each(?2)) AND (state = 'leased'
                     OR state = 'queued' AND (not_before_ms <= ?1 OR not_before_ms > ?1 + {MOST_WAIT}))"
            );
            view.count(&sql, params![now, json_of(kinds)])
        })
    }

    /// Removes jobs that are done from the queue.
    pub(crate) fn finish_jobs(&self, owner: &str, jobs: &[i64]) -> StoreResult<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.write(|tx| {
            for job in jobs {
                tx.execute("DELETE FROM job WHERE id = ?1 AND lease_owner = ?2", params![job, owner])?;
            }
            Ok(())
        })
    }

    /// Returns a failed job to the queue, or gives it up.
    pub(crate) fn fail_job(&self, owner: &str, job: i64, failed: &Failed<'_>) -> StoreResult<()> {
        self.write(|tx| {
            let Some(row) = tx.leased_job(owner, job)? else { return Ok(()) };
            match failed.again {
                Some(again) => {
                    // A request that arrived meanwhile is for the same work: one row waits, with the data of
                    // both.
                    let is_waiting = tx.execute(
                        "UPDATE job SET failures = ?3, bad_failures = ?4, error_code = ?5, error_text = ?6,
                                    not_before_ms = max(not_before_ms, ?7), arrived_ms = min(arrived_ms, ?8)
                             WHERE kind = ?1 AND target = ?2 AND state = 'queued'",
                        params![
                            row.kind,
                            row.target,
                            failed.failures,
                            failed.bad_failures,
                            failed.code,
                            failed.text,
                            again,
                            row.arrived
                        ],
                    )? > 0;
                    if is_waiting {
                        tx.execute("DELETE FROM job WHERE id = ?1", [job]).map(drop)
                    } else {
                        tx.execute(
                            "UPDATE job SET state = 'queued', lease_owner = NULL, failures = ?2, bad_failures = ?3, error_code =
                 ?4, error_text = ?5, not_before_ms = ?6 WHERE id = ?1",
                            params![job, failed.failures, failed.bad_failures, failed.code, failed.text, again],
                        )
                        .map(drop)
                    }
                }
                None => {
                    tx.execute("DELETE FROM job WHERE kind = ?1 AND target = ?2 AND state = 'dead'", [&row.kind, &row.target])?;
                    tx.execute(
                        "UPDATE job SET state = 'dead', lease_owner = NULL, failures = ?2, bad_failures = ?3, error_code =
                 ?4, error_text = ?5, stamp_size = ?6, stamp_version = ?7 WHERE id = ?1",
                        params![
                            job,
                            failed.failures,
                            failed.bad_failures,
                            failed.code,
                            failed.text,
                            failed.stamp.map(|(size, _)| size as i64),
                            failed.stamp.map(|(_, version)| version)
                        ],
                    )
                    .map(drop)
                }
            }
        })
    }

    /// Returns jobs to the queue as they were: they are due at once, and no failure is counted.
    pub(crate) fn return_jobs(&self, owner: &str, jobs: &[i64]) -> StoreResult<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.write(|tx| jobs.iter().try_for_each(|job| tx.return_job(owner, *job)))
    }

    /// Returns the jobs of dead processes to the queue; returns their number.
    pub(crate) fn recover_jobs(&self, is_alive: impl Fn(&str) -> bool) -> StoreResult<usize> {
        let leased: Vec<(i64, String)> = self.read(|view| {
            view.all("SELECT id, lease_owner FROM job WHERE state = 'leased'", [], |row| {
                Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.unwrap_or_default()))
            })
        })?;
        let orphaned: Vec<(i64, String)> = leased.into_iter().filter(|(_, owner)| !is_alive(owner)).collect();
        if orphaned.is_empty() {
            return Ok(0);
        }
        self.write(|tx| orphaned.iter().try_for_each(|(job, owner)| tx.return_job(owner, *job)))?;
        Ok(orphaned.len())
    }

    /// Returns jobs that were given up to the queue, due now: those of a target, or all.
    pub(crate) fn revive_jobs(&self, target: Option<&str>, now: UtcMillis) -> StoreResult<usize> {
        self.write(|tx| {
            let dead: Vec<(i64, String, String)> = {
                tx.all(
                    "SELECT id, kind, target FROM job WHERE state = 'dead'
                 AND (?1 IS NULL OR target IN (?1, payload || ':' || ?1))",
                    [target],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
                )?
            };
            for (id, kind, target) in &dead {
                let is_waiting = tx.waits(kind, target)?;
                let sql = if is_waiting {
                    "DELETE FROM job WHERE id = ?1 AND ?2 IS NOT NULL"
                } else {
                    "UPDATE job SET state = 'queued', failures = 0, bad_failures = 0, not_before_ms = ?2, stamp_size = NULL,
                            stamp_version = NULL WHERE id = ?1"
                };
                tx.execute(sql, params![id, now])?;
            }
            Ok(dead.len())
        })
    }

    /// Returns the jobs in a state, longest waiting first.
    pub(crate) fn jobs(&self, state: &str, limit: usize) -> StoreResult<Vec<JobRow>> {
        self.read(|view| {
            let sql = format!("SELECT {COLUMNS} FROM job WHERE state = ?1 ORDER BY not_before_ms, id LIMIT ?2");
            view.all(&sql, params![state, limit as i64], job_row)
        })
    }

    /// Returns when work of this name was last done.
    pub(crate) fn last_run(&self, name: &str) -> StoreResult<Option<UtcMillis>> {
        self.read(|view| view.first_value("SELECT at_ms FROM last_run WHERE name = ?1", [name]))
    }

    /// Records when work of this name was done.
    pub(crate) fn note_run(&self, name: &str, at: UtcMillis) -> StoreResult<()> {
        self.write(|tx| tx.execute("INSERT OR REPLACE INTO last_run (name, at_ms) VALUES (?1, ?2)", params![name, at]).map(drop))
    }

    /// Returns when work of this name failed last: time, code, text.
    pub(crate) fn last_failure(&self, name: &str) -> StoreResult<Option<(UtcMillis, String, String)>> {
        self.read(|view| {
            view.first("SELECT at_ms, code, text FROM last_failure WHERE name = ?1", [name], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
        })
    }

    /// Records that work of this name failed.
    pub(crate) fn note_failure(&self, name: &str, at: UtcMillis, code: &str, text: &str) -> StoreResult<()> {
        self.write(|tx| {
            let sql = "INSERT OR REPLACE INTO last_failure (name, at_ms, code, text) VALUES (?1, ?2, ?3, ?4)";
            tx.execute(sql, params![name, at, code, text]).map(drop)
        })
    }

    /// Returns whether a job was given up.
    pub(crate) fn is_given_up(&self, kind: &str, target: &str) -> StoreResult<bool> {
        self.read(|view| view.exists("SELECT 1 FROM job WHERE kind = ?1 AND target = ?2 AND state = 'dead'", [kind, target]))
    }

    /// Returns how many jobs of these kinds wait, are being done, and were given up.
    pub(crate) fn job_counts(&self, kinds: &[&str]) -> StoreResult<(u64, u64, u64)> {
        self.read(|view| {
            view.one(
                "SELECT count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'leased'),
                        count(*) FILTER (WHERE state = 'dead') FROM job WHERE kind IN (SELECT value FROM json_each(?1))",
                [json_of(kinds)],
                |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64)),
            )
        })
    }
}

impl View<'_> {
    fn leased_job(&self, owner: &str, job: i64) -> StoreResult<Option<JobRow>> {
        let sql = format!("SELECT {COLUMNS} FROM job WHERE id = ?1 AND state = 'leased' AND lease_owner = ?2");
        self.first(&sql, params![job, owner], job_row)
    }

    fn waits(&self, kind: &str, target: &str) -> StoreResult<bool> {
        self.exists("SELECT 1 FROM job WHERE kind = ?1 AND target = ?2 AND state = 'queued'", [kind, target])
    }
}

impl WriteTx<'_> {
    fn return_job(&self, owner: &str, job: i64) -> StoreResult<()> {
        let Some(row) = self.leased_job(owner, job)? else { return Ok(()) };
        let sql = if self.waits(&row.kind, &row.target)? {
            "DELETE FROM job WHERE id = ?1"
        } else {
            "UPDATE job SET state = 'queued', lease_owner = NULL WHERE id = ?1"
        };
        self.execute(sql, [job]).map(drop)
    }
}
