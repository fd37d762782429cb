//! Interrupts long statements of SQLite when their caller is to stop: the check and the rewriting of the whole database.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::connection::Store;
use crate::store::StoreResult;

/// Interval between questions whether to go on.
const LOOK: Duration = Duration::from_millis(50);

/// Says whether to go on; asked by another thread.
pub(crate) type GoOn<'g> = &'g (dyn Fn() -> bool + Sync);

/// Runs statements, which end as soon as `go_on` says no; `None`: they were interrupted and changed nothing.
fn interruptible<T>(
    db: &Connection,
    go_on: GoOn<'_>,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let handle = db.get_interrupt_handle();
    let (running, ended) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            // Again and again: an interrupt between two statements ends none of them.
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                if !go_on() {
                    handle.interrupt();
                }
            }
        });
        let result = work(db);
        drop(running);
        match result {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(None),
            other => other.map(Some),
        }
    })
}

impl Store {
    /// Returns what SQLite's quick check finds; `None`: it was interrupted.
    pub(crate) fn quick_problems(&self, go_on: GoOn<'_>) -> StoreResult<Option<Vec<String>>> {
        self.with_reader(|db| {
            let found = interruptible(db, go_on, |db| {
                let mut statement = db.prepare("PRAGMA quick_check(20)")?;
                statement.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<String>>>()
            });
            let found = found.map_err(|error| self.fail(error))?;
            Ok(found.map(|lines| lines.into_iter().filter(|line| line != "ok").collect()))
        })
    }

    /// Rewrites the whole database as [`Self::rewrite`] does; false: it was interrupted, and the database is as it was.
    pub(crate) fn rewrite_while(&self, go_on: GoOn<'_>) -> StoreResult<bool> {
        self.with_writer(|db| {
            let done = interruptible(db, go_on, |db| db.execute_batch("VACUUM")).map_err(|error| self.fail(error))?;
            Ok(done.is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statement_ends_soon_after_it_is_to_stop_and_a_short_one_is_left_alone() {
        let db = Connection::open_in_memory().unwrap();
        let count = |limit: u32| {
            let sql =
                format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {limit}) SELECT max(i) FROM n");
            move |db: &Connection| db.query_row(&sql, [], |row| row.get::<_, u32>(0))
        };
        assert_eq!(interruptible(&db, &|| true, count(1_000)).unwrap(), Some(1_000));
        assert_eq!(interruptible(&db, &|| false, count(u32::MAX)).unwrap(), None);
        assert_eq!(interruptible(&db, &|| true, count(10)).unwrap(), Some(10), "the connection is usable afterwards");
        assert!(interruptible(&db, &|| true, |db| db.execute_batch("SELECT nothing")).is_err());
    }
}
