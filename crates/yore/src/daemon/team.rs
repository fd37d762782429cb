//! The thread that synchronizes shared projects with the servers of teams.
//!
//! A server that does not answer changes nothing here: what it sent earlier is in the memory, and changes wait in a file.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::shared::Shared;
use crate::engine_handle::{MemoryClient, Uses};
use crate::shared::mirror;
use crate::team::sync::sync_project;

/// Delay before the first synchronization, so that histories are read first.
const BEFORE_FIRST: Duration = Duration::from_secs(5);
/// Longest interval after failures, as a multiple of the usual one.
const MOST_PATIENT: u32 = 16;

/// Synchronizes until the daemon ends.
pub fn run(shared: &Shared<'_>, ended: &Receiver<()>) {
    let interval = Duration::from_secs(u64::from(shared.config.team.sync_s));
    if interval.is_zero() {
        return;
    }
    let mut wait = BEFORE_FIRST.min(interval);
    let (mut failures, mut told) = (0, HashMap::new());
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        let is_done = catch_unwind(AssertUnwindSafe(|| turn(shared, &mut told))).unwrap_or(false);
        failures = if is_done { 0 } else { failures + 1 };
        wait = interval * (1 << u32::min(failures, MOST_PATIENT.ilog2()));
    }
}

/// Synchronizes every project; returns whether all could be. `told`: the problem of each that the log has.
fn turn(shared: &Shared<'_>, told: &mut HashMap<String, String>) -> bool {
    let data = &shared.settings.directory;
    let projects = match mirror::projects(data) {
        Ok(projects) => projects,
        Err(error) => {
            shared.log.error(format!("team: {error}"));
            return false;
        }
    };
    if projects.is_empty() {
        return true;
    }
    let config = Arc::new(shared.config.clone());
    // It is no use of the memory, which would keep the daemon from ending when it is idle.
    let uses = Arc::new(Uses::new());
    let mut memory = MemoryClient::within(data, &config, shared.settings.models(), &shared.engine, &uses);
    let mut is_done = true;
    for project in projects {
        if shared.is_stopping() {
            return true;
        }
        match sync_project(&mut memory, shared.settings.paths.home.as_deref(), &project) {
            Ok(synced) => {
                told.remove(&project.name);
                if synced.sent + synced.received > 0 {
                    shared.log.info(format!("team: {} changes sent, {} received", synced.sent, synced.received));
                }
            }
            Err(error) => {
                is_done = false;
                // A server that is away for weeks is told once.
                if told.get(&project.name) != Some(&error.message) {
                    shared.log.error(format!("team: {} [{}]", error.message, error.code));
                    told.insert(project.name, error.message);
                }
            }
        }
    }
    is_done
}
