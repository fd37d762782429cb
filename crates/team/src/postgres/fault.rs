//! Failures of the database: which are tried again here, which the caller may try again, and which are bugs.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::time::Duration;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::SqlState;

use crate::store::{StoreError, StoreResult};

/// Tries of a transaction that conflicts with others.
const TRIES: u32 = 6;
/// Wait after the first conflict; each further one doubles it.
const WAIT: Duration = Duration::from_millis(10);

/// A failure of a transaction.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another transaction was in the way: the same succeeds when it is tried again.
    Conflict(String),
    /// Any other.
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else { return Self::Store(without_answer(&error)) };
        let words = format!("{} (SQLSTATE {})", refusal.message(), refusal.code().code());
        match *refusal.code() {
            SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Self::Conflict(words),
            // A server is read-only if it is a standby, or was the server of writes until a moment ago.
            SqlState::LOCK_NOT_AVAILABLE
            | SqlState::READ_ONLY_SQL_TRANSACTION
            | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => Self::Store(StoreError::Unavailable(words)),
            // 08: connection, 53: resources, 57: cancelled (timeouts too) or shut down, 58: the server's system.
            ref code if ["08", "53", "57", "58"].contains(&&code.code()[..2]) => Self::Store(StoreError::Unavailable(words)),
            _ => Self::Store(StoreError::Failed(words)),
        }
    }
}

/// Returns the failure of a statement or a connection that the server did not answer.
fn without_answer(error: &tokio_postgres::Error) -> StoreError {
    let mut words = error.to_string();
    let mut is_lost = error.is_closed();
    let mut source = error.source();
    while let Some(cause) = source {
        is_lost |= cause.is::<io::Error>();
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    if is_lost { StoreError::Unavailable(words) } else { StoreError::Failed(words) }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => error.into(),
            PoolError::Timeout(_) => Self::Store(StoreError::Unavailable("all connections are in use".to_owned())),
            PoolError::PostCreateHook(HookError::Message(words)) => Self::Store(StoreError::Failed(words.into_owned())),
            PoolError::Closed | PoolError::NoRuntimeSpecified => Self::Store(StoreError::Failed(error.to_string())),
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict(words) => Self::Unavailable(words),
            Fault::Store(error) => error,
        }
    }
}

/// Makes a transaction, again if it conflicts with another.
pub(super) async fn retry<T, F: Future<Output = Result<T, Fault>>>(mut transaction: impl FnMut() -> F) -> StoreResult<T> {
    for tried in 0..TRIES - 1 {
        match transaction().await {
            Err(Fault::Conflict(_)) => tokio::time::sleep(WAIT * 2_u32.pow(tried)).await,
            result => return result.map_err(StoreError::from),
        }
    }
    transaction().await.map_err(StoreError::from)
}
