//! Brings a project's copy and the server of a team together: receives what changed, sends what waits, and forgets what is forgotten.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use yore_core::id::MemoryId;
use yore_engine::{ForgetRequest, MemoryFilter, MemoryList};
use yore_sources::project_names::{ProjectNames, names_of};
use yore_team::wire::{Change, MOST_OPERATIONS, Me, Operation, Outcome, Pulled, Push, Role, is_name, name_of};

use super::error::SyncError;
use super::outgoing::Outgoing;
use super::remote::{Remote, RemoteError, Server};
use super::sessions::{self, SessionsSynced, With};
use crate::config::SharedLevel;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::shared::folder::project_key;
use crate::shared::mirror::{self, Membership, Mirror, TeamProject, Waiting};
use crate::shared::publish::Publisher;
use crate::shared::refresh::of_team;

/// Most bytes of texts in a request.
const MOST_BYTES: usize = 4 << 20;
/// Most texts, and bytes of texts, of a project that are received: a server must not fill this computer.
const MOST_TEXTS_HELD: usize = 300_000;
const MOST_BYTES_HELD: usize = 512 << 20;
/// Most members that a server may tell.
const MOST_MEMBERS: usize = 10_000;
/// Characters of a reason, and most reasons that are kept.
const REASON_CHARS: usize = 200;
const MOST_REASONS: usize = 1_000;

/// Outcome of a synchronization.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Changes that were sent.
    pub sent: u64,
    /// Changes of others that were received.
    pub received: u64,
    /// Changes that the server refused now: names, and why.
    pub refused: Vec<(String, String)>,
    /// Changes that wait still.
    pub waiting: u64,
    /// Outcome for sessions.
    pub sessions: SessionsSynced,
}

/// Synchronizes a project with its team: sends the memories that are to be shared, takes what others share into the memory, and forgets
/// what the team forgot. One that is shared no more is dropped when everything is taken back.
///
/// # Errors
/// The memory, a file or the server failed. Changes that wait do so until the next time.
pub fn sync_project(memory: &mut MemoryClient, home: Option<&Path>, project: &TeamProject) -> CliResult<Synced> {
    let data = memory.directory().to_owned();
    let failed = |error| CliError::io(&data, &error);
    let memberships = mirror::memberships(&data).map_err(failed)?;
    let membership = memberships.into_iter().find(|membership| membership.me.team == project.team);
    if project.is_stopped {
        return take_back_all(memory, membership.as_ref(), project);
    }
    let membership = membership.ok_or_else(|| {
        CliError::usage("you left the team of this project", Some("`yore share . --stop` drops what it shares"))
    })?;
    let server = Server::of(&membership).map_err(|error| error.told())?;
    let here = project.root.to_str().map(names_of).unwrap_or_default();
    if project_key(&here).as_ref() != Some(&project.key) {
        let message = format!("{} is not a checkout of the shared project any more", project.root.display());
        return Err(CliError::usage(message, Some("`yore share .` in another checkout names that one")));
    }
    let done = sync(&data, project, &membership.me, &server, |mirror| plan(memory, home, project, &here, mirror));
    // Without a server, what it sent earlier is taken all the same.
    let taken = memory.refresh_shared(&project.root);
    forget_owed(project, &here, memory)?;
    let mut done = done.map_err(|error| error.told(&data))?;
    taken?;
    done.sessions = sync_sessions(memory, home, project, &here, &server, &membership.me)?;
    Ok(done)
}

/// Time that another process which shares sessions has to end.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Shares the sessions of a project, or takes back those that are shared no more.
fn sync_sessions(
    memory: &mut MemoryClient,
    home: Option<&Path>,
    project: &TeamProject,
    here: &ProjectNames,
    server: &Server,
    me: &Me,
) -> CliResult<SessionsSynced> {
    let data = memory.directory().to_owned();
    let failed = |error| CliError::io(&data, &error);
    let Some(_lock) = sessions::lock(&data, project, PATIENCE).map_err(failed)? else {
        return Ok(SessionsSynced { is_cut: true, ..SessionsSynced::default() });
    };
    // While this process waited, or did other work, another one may have stopped it.
    if !mirror::is_current(&data, project).map_err(failed)? {
        return Ok(SessionsSynced::default());
    }
    let mirror = mirror::mirror(&data, project).map_err(failed)?;
    let with = With { data: &data, project, member: me.member, epoch: mirror.epoch };
    let done = if project.level == SharedLevel::Sessions && mirror.role() != Some(Role::Reader) {
        let patterns = memory.config().redaction.extra_patterns.clone();
        let publisher = Publisher::new(&data, &patterns, &project.root, home).map_err(failed)?;
        let rules = format!("{} {}", env!("CARGO_PKG_VERSION"), patterns.join(" "));
        sessions::sync(memory, &with, here, &publisher, &rules, server)
    } else {
        let removed = sessions::take_back_all(&with, server);
        removed.map(|removed| SessionsSynced { removed, ..SessionsSynced::default() })
    };
    done.map_err(|error| error.told(&data))
}

/// Takes the sessions back that went out from here, once no other process sends any.
fn take_back_sessions(data: &Path, project: &TeamProject, server: &Server, me: &Me) -> CliResult<u64> {
    let failed = |error| CliError::io(data, &error);
    let busy = || CliError {
        exit: Exit::Busy,
        code: "team/busy".to_owned(),
        message: "another process is sending sessions of this project".to_owned(),
        hint: Some("`yore team sync` takes them back when it has ended".to_owned()),
    };
    // It ends before its next request, because the project is shared no more.
    let _lock = sessions::lock(data, project, PATIENCE).map_err(failed)?.ok_or_else(busy)?;
    let epoch = mirror::mirror(data, project).map_err(failed)?.epoch;
    let with = With { data, project, member: me.member, epoch };
    sessions::take_back_all(&with, server).map_err(|error| error.told(data))
}

/// Has the changes wait that are due.
fn plan(
    memory: &mut MemoryClient,
    home: Option<&Path>,
    project: &TeamProject,
    here: &ProjectNames,
    mirror: &mut Mirror,
) -> CliResult<()> {
    let patterns = memory.config().redaction.extra_patterns.clone();
    let last = memory.operations(None, None, 1)?.first().map_or(0, |operation| operation.number);
    let (role, version) = (mirror.role(), env!("CARGO_PKG_VERSION"));
    let state = format!("{last} {:?} {role:?} {version} {:?} {}", project.level, mirror.named, patterns.join(" "));
    // Reading and redacting all memories takes a second for thousands.
    if mirror.planned.as_ref() == Some(&state) {
        return Ok(());
    }
    let data = memory.directory().to_owned();
    let publisher = Publisher::new(&data, &patterns, &project.root, home).map_err(|error| CliError::io(&data, &error))?;
    let outgoing = Outgoing::of(memory, here, &publisher, &mirror.named)?;
    let shared: BTreeSet<MemoryId> = mirror.sent.keys().chain(mirror.earlier.keys()).copied().collect();
    let is_gone = |id: &MemoryId| outgoing.as_ref().is_none_or(|outgoing| !outgoing.texts.contains_key(id));
    let gone: Vec<MemoryId> = shared.into_iter().filter(is_gone).collect();
    let forgotten = if gone.is_empty() { Vec::new() } else { memory.forgotten_memories(gone)? };
    match outgoing {
        Some(outgoing) if role != Some(Role::Reader) => outgoing.plan(mirror, project.level, &forgotten),
        // A memory that does not know the project, or is not to share it, takes nothing back by itself.
        _ => forgotten.iter().for_each(|id| mirror.forget(*id)),
    }
    mirror.planned = Some(state);
    Ok(())
}

/// Sends what takes everything back that went out from here, and drops the project when nothing waits, or nobody can be asked.
fn take_back_all(memory: &mut MemoryClient, membership: Option<&Membership>, project: &TeamProject) -> CliResult<Synced> {
    let data = memory.directory().to_owned();
    let failed = |error| CliError::io(&data, &error);
    let done = match membership {
        None => Ok(Synced::default()),
        Some(membership) => {
            let server = Server::of(membership).map_err(|error| error.told())?;
            let take_back = |mirror: &mut Mirror| {
                let ids: Vec<MemoryId> = mirror.sent.keys().copied().collect();
                ids.into_iter().for_each(|id| mirror.take_back(id, false));
                Ok(())
            };
            match sync(&data, project, &membership.me, &server, take_back) {
                Err(error) if error.is_shut_out() => {
                    drop_project(&data, project).map_err(failed)?;
                    return Err(error.told(&data));
                }
                done => done,
            }
        }
    };
    let mut done = done.map_err(|error| error.told(&data))?;
    if let Some(membership) = membership {
        let server = Server::of(membership).map_err(|error| error.told())?;
        done.sessions.removed = take_back_sessions(&data, project, &server, &membership.me)?;
    }
    if done.waiting == 0 {
        drop_project(&data, project).map_err(failed)?;
    }
    memory.refresh_shared(&project.root)?;
    Ok(done)
}

fn drop_project(data: &Path, project: &TeamProject) -> io::Result<()> {
    let _lock = mirror::lock(data)?;
    let mut projects = mirror::projects(data)?;
    let before = projects.len();
    projects.retain(|known| known.key != project.key || !known.is_stopped);
    if projects.len() == before {
        // It is shared again meanwhile.
        return Ok(());
    }
    mirror::write_projects(data, &projects)?;
    // A text that was taken back or forgotten stays so if the project is shared again, or the server is restored from a backup.
    let _lock = mirror::lock_of(data, project)?;
    let mirror = mirror::mirror_or_new(data, project)?;
    mirror::write_mirror(data, project, &Mirror { named: BTreeSet::new(), ..mirror.without_texts() })
}

/// Synchronizes a project. `plan` has the changes wait that are due now.
///
/// # Errors
/// The fault that kept it from ending. Changes that wait do so until the next time.
pub fn sync(
    data: &Path,
    project: &TeamProject,
    me: &Me,
    remote: &impl Remote,
    plan: impl FnOnce(&mut Mirror) -> CliResult<()>,
) -> Result<Synced, SyncError> {
    let _lock = mirror::lock_of(data, project)?;
    // While this process waited, another one may have stopped it.
    if !mirror::is_current(data, project)? {
        return Ok(Synced::default());
    }
    let mut mirror = mirror::mirror_or_new(data, project)?;
    let before = mirror.clone();
    if mirror.member != me.member {
        // A former member's texts cannot be taken back with this member's token.
        let Mirror { named, withheld, .. } = mirror;
        mirror = Mirror { member: me.member, named, withheld, ..Mirror::default() };
    }
    mirror.team.clone_from(&me.team_name);
    let mut done = Synced::default();
    // The server's state decides what is to be sent.
    let received = receive(&mut mirror, &project.name, remote);
    let planned = plan(&mut mirror);
    // One that is written anew is taken into the memory anew.
    if mirror != before {
        mirror::write_mirror(data, project, &mirror)?;
    }
    done.received += received?;
    planned.map_err(SyncError::Memory)?;
    let sent = send(data, project, &mut mirror, remote, &mut done);
    if done.sent > 0 {
        done.received += receive(&mut mirror, &project.name, remote)?;
        mirror::write_mirror(data, project, &mirror)?;
    }
    done.waiting = mirror.waiting.len() as u64;
    sent.map(|()| done)
}

/// Sends the changes that wait. If those that share are refused as a whole, those that take back go alone.
fn send(
    data: &Path,
    project: &TeamProject,
    mirror: &mut Mirror,
    remote: &impl Remote,
    done: &mut Synced,
) -> Result<(), SyncError> {
    let mut refusal = None;
    loop {
        let operations = next(&mirror.waiting, refusal.is_some());
        if operations.is_empty() {
            break;
        }
        let ids: BTreeSet<_> = operations.iter().map(|operation| operation.id).collect();
        let mut is_new = false;
        for waiting in mirror.waiting.iter_mut().filter(|waiting| ids.contains(&waiting.operation.id)) {
            is_new |= !waiting.is_tried;
            waiting.is_tried = true;
        }
        if is_new {
            mirror::write_mirror(data, project, mirror)?;
        }
        let pushed = match remote.push(&project.name, &Push { operations: operations.clone() }) {
            Err(RemoteError::Refused { status: status @ (403 | 429), code, message }) if refusal.is_none() => {
                refusal = Some(RemoteError::Refused { status, code, message });
                continue;
            }
            pushed => pushed?,
        };
        if pushed.outcomes.len() != operations.len() {
            return Err(remote.foreign().into());
        }
        mirror.waiting.retain(|waiting| !ids.contains(&waiting.operation.id));
        for (outcome, operation) in pushed.outcomes.into_iter().zip(&operations) {
            match outcome {
                Outcome::Done => {
                    done.sent += 1;
                    mirror.acknowledge(&operation.change);
                }
                Outcome::Refused { why } => done.refused.extend(refused(mirror, operation, &why)),
            }
        }
        mirror::write_mirror(data, project, mirror)?;
    }
    refusal.map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// Names of texts that the server told when everything was received again.
#[derive(Default)]
struct Told {
    /// Those that are forgotten there.
    forgotten: BTreeSet<String>,
    /// The person's, as far as they are not forgotten.
    own: BTreeSet<String>,
    /// Those that others share.
    of_others: BTreeSet<String>,
}

impl Told {
    /// Returns whether a text that was forgotten is to be forgotten again, by this member.
    fn is_forgotten_no_more(&self, name: &String, role: Option<Role>) -> bool {
        let may_forget = match role {
            Some(Role::Owner) => true,
            Some(Role::Member) => !self.of_others.contains(name),
            Some(Role::Reader) | None => false,
        };
        !self.forgotten.contains(name) && (may_forget || self.own.contains(name))
    }
}

/// Receives all changes; returns the number of those of others.
fn receive(mirror: &mut Mirror, project: &str, remote: &impl Remote) -> Result<u64, RemoteError> {
    let first = remote.pull(project, mirror.after)?;
    // A server that was restored from a backup has another state of its data.
    let is_restored = mirror.epoch.is_some_and(|epoch| epoch != first.epoch);
    mirror.epoch.get_or_insert(first.epoch);
    if !is_restored && mirror.after > 0 {
        return pages(mirror, project, remote, Some(first), &mut Told::default());
    }
    // Everything is received again, and only then compared.
    let mut next = mirror.clone();
    (next.epoch, next.after) = (Some(first.epoch), 0);
    next.records.clear();
    let mut told = Told::default();
    let received = pages(&mut next, project, remote, (mirror.after == 0).then_some(first), &mut told)?;
    if is_restored {
        next.planned = None;
        // The server knows nothing that came after the backup, but copies of it may be left.
        let role = next.role();
        for name in mirror.forgotten.iter().filter(|name| told.is_forgotten_no_more(name, role)) {
            next.change(Change::Forget { name: name.clone() });
        }
        let own = next.own();
        let taken_back = mirror.taken_back.iter().filter(|name| own.contains(*name));
        for name in taken_back.filter(|name| mirror.sent.values().all(|sent| sent != *name)) {
            let is_withheld = next.is_withheld(name);
            next.change(Change::TakeBack { name: name.clone(), is_withheld });
        }
    }
    // Texts that are missing there are planned anew.
    let own = next.own();
    next.count_as_earlier(|name| !own.contains(name) && !mirror.is_to_be_shared(name));
    *mirror = next;
    Ok(received)
}

/// Receives pages until the last one; returns the number of changes of others.
fn pages(
    mirror: &mut Mirror,
    project: &str,
    remote: &impl Remote,
    mut first: Option<Pulled>,
    told: &mut Told,
) -> Result<u64, RemoteError> {
    let mut received = 0;
    let sizes = mirror.records.values().flat_map(|by| by.values()).map(|shared| shared.text.len());
    let (mut texts, mut bytes) = sizes.fold((0, 0), |(texts, bytes), size| (texts + 1, bytes + size));
    loop {
        let pulled = match first.take() {
            Some(first) => first,
            None => remote.pull(project, mirror.after)?,
        };
        // An endless or a changing answer is none of a working server.
        let is_endless = !pulled.is_complete && pulled.last <= mirror.after;
        if is_endless || mirror.epoch != Some(pulled.epoch) || pulled.members.len() > MOST_MEMBERS {
            return Err(remote.foreign());
        }
        mirror.members = pulled.members;
        for record in pulled.records {
            let is_right = record.text.as_ref().map_or(is_name(&record.name), |text| name_of(text) == record.name);
            if !is_right {
                return Err(remote.foreign());
            }
            (texts, bytes) = (texts + 1, bytes + record.text.as_ref().map_or(0, String::len));
            if texts > MOST_TEXTS_HELD || bytes > MOST_BYTES_HELD {
                return Err(remote.foreign());
            }
            received += u64::from(record.member != mirror.member);
            let is_own = record.member == mirror.member;
            if record.is_forgotten {
                told.forgotten.insert(record.name.clone());
            } else if is_own {
                told.own.insert(record.name.clone());
            } else if record.text.is_some() {
                told.of_others.insert(record.name.clone());
            }
            mirror.take(record);
        }
        mirror.after = mirror.after.max(pulled.last);
        if pulled.is_complete {
            return Ok(received);
        }
    }
}

/// Returns the next changes that one request may have. `withdraws_only`: only those that share nothing.
fn next(waiting: &[Waiting], withdraws_only: bool) -> Vec<Operation> {
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
    let operations = waiting.iter().map(|waiting| &waiting.operation);
    let due = operations.filter(|operation| !withdraws_only || !matches!(operation.change, Change::Add { .. }));
    due.take(MOST_OPERATIONS).take_while(fits).cloned().collect()
}

/// Notes that the server refused a change; returns its name and the reason, unless the change was void.
fn refused(mirror: &mut Mirror, operation: &Operation, why: &str) -> Option<(String, String)> {
    let name = name_in(&operation.change).to_owned();
    let why: String = why.chars().take(REASON_CHARS).collect();
    match &operation.change {
        Change::Add { text, .. } if text.is_empty() => return None,
        Change::Add { .. } => {
            mirror.sent.retain(|_, sent| *sent != name);
            if mirror.refused.len() < MOST_REASONS {
                mirror.refused.insert(name.clone(), why.clone());
            }
        }
        // Others share it as well: then the person's own is taken back at least. The copy does not tell whether it is there: it takes nothing
        // that is forgotten.
        Change::Forget { .. } => mirror.change(Change::TakeBack { name: name.clone(), is_withheld: true }),
        Change::TakeBack { .. } => {}
    }
    Some((name, why))
}

fn name_in(change: &Change) -> &str {
    match change {
        Change::Add { name, .. } | Change::TakeBack { name, .. } | Change::Forget { name } => name,
    }
}

/// Forgets for good what the team forgot, as far as it came from there: the person's own memories stay.
fn forget_owed(project: &TeamProject, here: &ProjectNames, memory: &mut MemoryClient) -> CliResult<()> {
    let data = memory.directory().to_owned();
    let failed = |error| CliError::io(&data, &error);
    let _lock = mirror::lock_of(&data, project).map_err(failed)?;
    let mut mirror = mirror::mirror(&data, project).map_err(failed)?;
    if mirror.owed.is_empty() {
        return Ok(());
    }
    let places: Vec<String> = mirror.owed.iter().map(|name| of_team(&mirror.team, name)).collect();
    // Those that were forgotten softly are told only if they are asked for.
    for is_forgotten in [false, true] {
        let filter = MemoryFilter { is_forgotten: Some(is_forgotten), ..MemoryFilter::default() };
        let list = MemoryList { filter, here: Some(here.clone()), limit: usize::MAX >> 1, ..MemoryList::default() };
        for stored in memory.memories(list)? {
            let is_owed = stored.memory.source.place.as_ref().is_some_and(|place| places.contains(place));
            if is_owed && stored.memory.is_shared() {
                let session = stored.memory.id.to_string();
                // The same words may be shared again in another text, and be the person's own: the copy knows what must not come back.
                memory.forget(ForgetRequest {
                    session,
                    is_hard: true,
                    is_dry_run: false,
                    restore: false,
                    keep_tombstones: false,
                })?;
            }
        }
    }
    mirror.owed.clear();
    mirror::write_mirror(&data, project, &mirror).map_err(failed)
}
