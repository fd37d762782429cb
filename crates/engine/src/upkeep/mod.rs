//! Keeps a memory sound: checks, backups, repair, and the queue of background work.
//!
//! - `checks`: what `doctor` checks of the store and the files beside it
//! - `backups`: makes and restores backups, repairs a damaged database
//! - `jobs`: the durable queue of background work

mod backups;
mod checks;
mod jobs;

pub use self::backups::{RepairReport, Restored, backups, repair, restore};
pub use self::checks::{Finding, Severity, examine_disk};
pub use self::jobs::{Failure, Job, JobCounts, JobWorker, Lane, MOST_FAILURES, NewJob, Upkeep, UpkeepState, Work};
