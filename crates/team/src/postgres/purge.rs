//! Removes the bytes of forgotten texts from the files of the database, which keep rows that were changed or deleted for a while.

use super::Postgres;
use super::fault::Fault;
use crate::store::{StoreError, StoreResult};

/// Writes tables and their long texts anew, without what no row has. Other transactions wait meanwhile.
const REWRITE: [&str; 4] =
    ["vacuum (full) yore.record", "vacuum (full) yore.session", "vacuum (full) yore.turn", "vacuum (full) yore.turn_words"];
/// Ends the segment of the log that has the old rows, and lets the server remove it. Twice, because a checkpoint needs the segments since the
/// one before.
const CLEAN_LOG: [&str; 4] = ["select pg_switch_wal()", "checkpoint", "select pg_switch_wal()", "checkpoint"];

/// Outcome of [`Postgres::purge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Why the write-ahead log still has older rows; `None`: it was switched, and segments that no standby or archive needs are removed
    /// (with `wal_recycle` on, the server writes over them only later).
    pub log: Option<String>,
}

impl Postgres {
    /// Removes the bytes of texts that are forgotten or were taken back from the files of the tables, and from the write-ahead log as far
    /// as the login may: that needs the rights of `pg_checkpoint` and on `pg_switch_wal`. Copies by standbys, archives of the log and
    /// backups are not touched.
    ///
    /// # Errors
    /// The login does not own the tables, or the database does not answer.
    pub async fn purge(&self) -> StoreResult<Purged> {
        self.try_purge().await.map_err(StoreError::from)
    }

    async fn try_purge(&self) -> Result<Purged, Fault> {
        let login = self.connector.login().await?;
        login.batch_execute("set statement_timeout = 0; set lock_timeout = 0").await?;
        for statement in REWRITE {
            login.batch_execute(statement).await?;
        }
        if self.compares_vectors() {
            login.batch_execute("vacuum (full) yore.turn_vector").await?;
        }
        for statement in CLEAN_LOG {
            if let Err(error) = login.batch_execute(statement).await {
                let why = error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
                return Ok(Purged { log: Some(why) });
            }
        }
        Ok(Purged { log: None })
    }
}
