//! SQLite and the state of this machine: connections, migrations, backups, salvage, jobs, ledger. No port.

pub(super) mod adapt;
pub(crate) mod backup;
pub(super) mod connection;
mod interrupt;
pub(super) mod job_rows;
pub(super) mod ledger;
pub(super) mod migrate;
pub(super) mod options;
pub(super) mod salvage;
pub(super) mod state;
pub(super) mod transaction;
pub(super) mod upkeep_rows;
