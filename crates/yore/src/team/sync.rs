//! Brings a project's copy and the server of a team together: receives what changed, sends what waits, and forgets what is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use yore_core::id::MemoryId;
use yore_engine::{ForgetRequest, MemoryFilter, MemoryList};
use yore_sources::project_names::{ProjectNames, names_of};
use yore_team::wire::{Change, MOST_OPERATIONS, Operation, Outcome, Push, Role, name_of};

use super::outgoing::Outgoing;
use super::remote::{Remote, RemoteError, Server};
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult};
use crate::shared::folder::project_key;
use crate::shared::mirror::{self, Mirror, TeamProject};
use crate::shared::publish::Publisher;
use crate::shared::refresh::of_team;

/// Most bytes of texts in a request.
const MOST_BYTES: usize = 4 << 20;

/// Outcome of a synchronization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Changes that were sent.
    pub sent: u64,
    /// Changes that were received.
    pub received: u64,
    /// Changes that the server refused now: names, and why.
    pub refused: Vec<(String, String)>,
    /// Changes that wait still.
    pub waiting: u64,
}

/// Reason why a synchronization ended early. What was done stays done.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A file of the data directory.
    #[error(transparent)]
    File(#[from] io::Error),
    /// The server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

impl SyncError {
    /// Returns the error as a person sees it. `data`: the data directory.
    pub fn told(&self, data: &Path) -> CliError {
        match self {
            Self::File(error) => CliError::io(data, error),
            Self::Remote(error) => error.told(),
        }
    }
}

/// Synchronizes a project with its team: sends the memories that are to be shared, takes what others share into the memory, and forgets
/// what the team forgot.
///
/// # Errors
/// The memory, a file or the server failed. Changes that wait do so until the next time.
pub fn sync_project(memory: &mut MemoryClient, home: Option<&Path>, project: &TeamProject) -> CliResult<Synced> {
    let data = memory.directory().to_owned();
    let failed = |error| CliError::io(&data, &error);
    let memberships = mirror::memberships(&data).map_err(failed)?;
    let membership = memberships.into_iter().find(|membership| membership.me.team == project.team).ok_or_else(|| {
        CliError::usage("you left the team of this project", Some("`yore share . --stop` removes what it shared from here"))
    })?;
    let server = Server::of(&membership).map_err(|error| error.told())?;
    let here = project.root.to_str().map(names_of).unwrap_or_default();
    if project_key(&here).as_ref() != Some(&project.key) {
        let message = format!("{} is not a checkout of the shared project any more", project.root.display());
        return Err(CliError::usage(message, Some("`yore share .` in another checkout names that one")));
    }
    let patterns = memory.config().redaction.extra_patterns.clone();
    let publisher = Publisher::new(&data, &patterns, &project.root, home).map_err(failed)?;
    let known = mirror::mirror(&data, project).map_err(failed)?;
    let last = memory.operations(None, None, 1)?.first().map_or(0, |operation| operation.number);
    let (role, version) = (known.role(), env!("CARGO_PKG_VERSION"));
    let state = format!("{last} {:?} {role:?} {version} {:?} {}", project.level, known.named, patterns.join(" "));
    // Reading and redacting all memories takes a second for thousands.
    let is_due = known.planned.as_ref() != Some(&state);
    let outgoing = if is_due { Outgoing::of(memory, &here, &publisher, &known.named)? } else { None };
    let is_gone = |id: &&MemoryId| outgoing.as_ref().is_some_and(|outgoing| !outgoing.texts.contains_key(id));
    let gone: Vec<MemoryId> = known.sent.keys().filter(is_gone).copied().collect();
    let forgotten = if gone.is_empty() { Vec::new() } else { memory.forgotten_memories(gone)? };
    let done = sync(&data, project, &server, |mirror| {
        let Some(outgoing) = outgoing else { return };
        if mirror.role() != Some(Role::Reader) {
            outgoing.plan(mirror, project.level, &forgotten);
        }
        mirror.planned = Some(state);
    });
    // Without a server, what it sent earlier is taken all the same.
    memory.refresh_shared(&project.root)?;
    forget_owed(&data, project, &here, memory)?;
    done.map_err(|error| error.told(&data))
}

/// Synchronizes a project. `plan` has the changes wait that are due now.
///
/// # Errors
/// What kept it from ending. Changes that wait do so until the next time.
pub fn sync(
    data: &Path,
    project: &TeamProject,
    remote: &impl Remote,
    plan: impl FnOnce(&mut Mirror),
) -> Result<Synced, SyncError> {
    let _lock = mirror::lock(data)?;
    let mut mirror = mirror::mirror(data, project)?;
    let before = mirror.clone();
    let mut done = Synced::default();
    // What the server has decides what is to be sent.
    let received = receive(&mut mirror, &project.name, remote);
    plan(&mut mirror);
    // One that is written anew is taken into the memory anew.
    if mirror != before {
        mirror::write_mirror(data, project, &mirror)?;
    }
    done.received += received?;
    while !mirror.waiting.is_empty() {
        let operations = next(&mirror.waiting);
        let pushed = remote.push(&project.name, &Push { operations: operations.clone() })?;
        let outcomes = pushed.outcomes.into_iter().zip(&operations);
        let count = outcomes.len();
        if count == 0 {
            break;
        }
        for (outcome, operation) in outcomes {
            match outcome {
                Outcome::Done => done.sent += 1,
                Outcome::Refused { why } => done.refused.extend(refused(&mut mirror, operation, why)),
            }
        }
        mirror.waiting.drain(..count);
        mirror::write_mirror(data, project, &mirror)?;
    }
    if done.sent > 0 {
        done.received += receive(&mut mirror, &project.name, remote)?;
        mirror::write_mirror(data, project, &mirror)?;
    }
    done.waiting = mirror.waiting.len() as u64;
    Ok(done)
}

/// Receives all changes; returns their number.
fn receive(mirror: &mut Mirror, project: &str, remote: &impl Remote) -> Result<u64, RemoteError> {
    let mut received = 0;
    // The person's own texts, if the server has an older state of its data than this copy, and what it has again.
    let mut before: Option<BTreeMap<String, String>> = None;
    let mut again = BTreeSet::new();
    loop {
        let pulled = remote.pull(project, mirror.after)?;
        let is_other = mirror.epoch.is_some_and(|epoch| epoch != pulled.epoch);
        if is_other || pulled.last < mirror.after {
            if before.is_none() {
                let own =
                    mirror.records.iter().filter_map(|(name, by)| Some((name.clone(), by.get(&mirror.member)?.text.clone())));
                before = Some(own.collect());
            }
            mirror.records.clear();
            mirror.after = 0;
            mirror.epoch = Some(pulled.epoch);
            continue;
        }
        mirror.epoch = Some(pulled.epoch);
        mirror.members = pulled.members;
        for record in pulled.records {
            // A text under another name is none of a working server.
            if record.text.as_ref().is_none_or(|text| name_of(text) == record.name) {
                received += 1;
                if record.text.is_some() && mirror.forgotten.contains(&record.name) {
                    again.insert(record.name.clone());
                }
                mirror.take(record);
            }
        }
        mirror.after = mirror.after.max(pulled.last);
        if pulled.is_complete {
            break;
        }
    }
    for name in again {
        mirror.change(Change::Forget { name });
    }
    let own = mirror.own();
    for (name, text) in before.into_iter().flatten().filter(|(name, _)| !own.contains(name)) {
        let is_changing = mirror.waiting.iter().any(|operation| name_in(&operation.change) == name);
        if !mirror.taken_back.contains(&name) && !mirror.forgotten.contains(&name) && !is_changing {
            mirror.change(Change::Add { name, text });
        }
    }
    Ok(received)
}

/// Returns the next changes that one request may have.
fn next(waiting: &[Operation]) -> Vec<Operation> {
    let mut left = MOST_BYTES;
    let fits = |operation: &&Operation| {
        let size = match &operation.change {
            Change::Add { text, .. } => text.len(),
            Change::TakeBack { .. } | Change::Forget { .. } => 0,
        };
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    waiting.iter().take(MOST_OPERATIONS).take_while(fits).cloned().collect()
}

/// Notes that the server refused a change; returns its name and the reason.
fn refused(mirror: &mut Mirror, operation: &Operation, why: String) -> Option<(String, String)> {
    let name = name_in(&operation.change).to_owned();
    if matches!(operation.change, Change::Forget { .. }) {
        // Others share it as well: then the person's own is taken back at least.
        if mirror.own().contains(&name) {
            mirror.change(Change::TakeBack { name: name.clone() });
        }
    } else {
        mirror.refused.insert(name.clone(), why.clone());
    }
    Some((name, why))
}

fn name_in(change: &Change) -> &str {
    match change {
        Change::Add { name, .. } | Change::TakeBack { name } | Change::Forget { name } => name,
    }
}

/// Forgets for good what the team forgot, after it was taken into the memory; returns the number of memories.
///
/// # Errors
/// The memory or a file failed. It is owed until it succeeds.
pub fn forget_owed(data: &Path, project: &TeamProject, here: &ProjectNames, memory: &mut MemoryClient) -> CliResult<u64> {
    let failed = |error| CliError::io(data, &error);
    let _lock = mirror::lock(data).map_err(failed)?;
    let mut mirror = mirror::mirror(data, project).map_err(failed)?;
    if mirror.owed.is_empty() {
        return Ok(0);
    }
    let places: Vec<String> = mirror.owed.iter().map(|name| of_team(&mirror.team, name)).collect();
    let list =
        MemoryList { filter: MemoryFilter::default(), here: Some(here.clone()), limit: usize::MAX >> 1, ..MemoryList::default() };
    let mut forgotten = 0;
    for stored in memory.memories(list)? {
        let is_owed = stored.memory.source.place.as_ref().is_some_and(|place| places.contains(place));
        if is_owed && stored.memory.is_shared() {
            let session = stored.memory.id.to_string();
            memory.forget(ForgetRequest { session, is_hard: true, is_dry_run: false, restore: false, keep_tombstones: true })?;
            forgotten += 1;
        }
    }
    mirror.owed.clear();
    mirror::write_mirror(data, project, &mirror).map_err(failed)?;
    Ok(forgotten)
}
