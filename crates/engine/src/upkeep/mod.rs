//! Keeps a memory sound: checks, backups, repair, and the queue of background work.
//!
//! - `checks`: what `doctor` checks of the store and the files beside it
//! - `backups`: makes and restores backups, repairs a damaged database
//! - `jobs`: the durable queue of background work
//! - `upkeep_table`: the table of recurring jobs; `runs`: when they are due, and the records of their runs

mod backups;
mod checks;
mod jobs;
mod runs;
mod upkeep_table;

pub use self::backups::{RepairReport, Restored, backups, repair, restore};
pub use self::checks::{Finding, Severity, examine_disk};
pub use self::jobs::{Failure, Job, JobCounts, JobWorker, Lane, MOST_FAILURES, NewJob, Work};
pub use self::runs::{Counts, UpkeepRun, UpkeepState, UpkeepTurn};
pub use self::upkeep_table::Upkeep;
