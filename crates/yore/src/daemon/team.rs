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
/// Most turns that are left out after failures.
const MOST_LEFT_OUT: u32 = 15;

/// The thread's knowledge of a project that could not be synchronized.
struct Failing {
    /// The problem that the log has.
    told: String,
    /// Turns that are left out before the next try, and how many it will be after that.
    left_out: u32,
    next: u32,
}

/// Synchronizes until the daemon ends.
pub fn run(shared: &Shared<'_>, ended: &Receiver<()>) {
    let interval = Duration::from_secs(u64::from(shared.config.team.sync_s));
    if interval.is_zero() {
        return;
    }
    let mut wait = BEFORE_FIRST.min(interval);
    let mut failing = HashMap::new();
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(wait) {
        wait = interval;
        if catch_unwind(AssertUnwindSafe(|| turn(shared, &mut failing))).is_err() {
            shared.log.error("team: internal error, please report it");
        }
    }
}

/// Synchronizes every project, those that fail ever more seldom.
fn turn(shared: &Shared<'_>, failing: &mut HashMap<String, Failing>) {
    let data = &shared.settings.directory;
    let projects = match mirror::projects(data) {
        Ok(projects) => projects,
        Err(error) => return shared.log.error(format!("team: {error}")),
    };
    if projects.is_empty() {
        return;
    }
    let config = Arc::new(shared.config.clone());
    // It is no use of the memory, which would keep the daemon from ending when it is idle.
    let uses = Arc::new(Uses::new());
    let mut memory = MemoryClient::within(data, &config, shared.settings.models(), &shared.engine, &uses);
    for project in projects {
        if shared.is_stopping() {
            return;
        }
        if let Some(failing) = failing.get_mut(&project.key).filter(|failing| failing.left_out > 0) {
            failing.left_out -= 1;
            continue;
        }
        match sync_project(&mut memory, shared.settings.paths.home.as_deref(), &project) {
            Ok(synced) => {
                failing.remove(&project.key);
                if synced.sent + synced.received > 0 {
                    shared.log.info(format!("team: {} changes sent, {} received", synced.sent, synced.received));
                }
            }
            Err(error) => {
                let before = failing.get(&project.key);
                // A server that is away for weeks is told once.
                if before.is_none_or(|before| before.told != error.message) {
                    shared.log.error(format!("team: {} [{}]", error.message, error.code));
                }
                let left_out = before.map_or(0, |before| before.next);
                let next = (2 * left_out + 1).min(MOST_LEFT_OUT);
                failing.insert(project.key, Failing { told: error.message, left_out, next });
            }
        }
    }
}
