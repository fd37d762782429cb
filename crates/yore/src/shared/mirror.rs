//! The copy of what a team shares about a project, and the changes that wait to be sent to its server: files of the data directory.
//!
//! - `team/memberships.json`: the teams, each with the secret of this computer
//! - `team/projects.json`: which project is shared with which team; only the person adds to it, never a repository
//! - `team/ID.json`: the copy of a project ([`Mirror`])
//!
//! A change is stored with its id before it is sent, so that a computer that dies or is offline for weeks loses none and makes none twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use yore_core::id::MemoryId;
use yore_core::time::UtcMillis;
use yore_engine::platform::{self, FileLock};
use yore_sources::project_names::ProjectNames;
use yore_team::wire::{self, Change, Me, Operation, Record, Role};

use super::authors::{Author, Via, shown};
use super::file::{self, SharedFile, SharedMemory};
use super::folder::project_key;
use super::state::Known;
use super::stored::{read, write};
use crate::config::SharedLevel;

/// Folder of the data directory.
const FOLDER: &str = "team";
const MEMBERSHIPS: &str = "memberships.json";
const PROJECTS: &str = "projects.json";
const LOCK: &str = "lock";

/// Access of this computer to a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// Address of the server, without a slash at its end.
    pub server: String,
    /// The secret.
    pub token: String,
    /// Who the person is there.
    pub me: Me,
}

/// A project that the person shares with a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TeamProject {
    /// Its key here, by [`project_key`].
    pub key: String,
    /// A checkout of it: whose paths are not to leave this computer.
    pub root: PathBuf,
    /// The team.
    pub team: Uuid,
    /// Its name on the server.
    pub name: String,
    /// The extent of what is shared.
    pub level: SharedLevel,
    /// True if it is shared no more: what went out from here is taken back, and then it is dropped.
    #[serde(default)]
    pub is_stopped: bool,
}

/// A member's copy of a project. Texts of members whose memories are withdrawn stay in it, and count for nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mirror {
    /// Name of the team.
    pub team: String,
    /// The person, as a member.
    pub member: Uuid,
    /// Identity of the server's data; `None`: nothing was received yet.
    pub epoch: Option<Uuid>,
    /// Number of the last change that was received.
    pub after: u64,
    /// Members who are or were.
    pub members: Vec<wire::Member>,
    /// Texts that are shared, by name and member.
    pub records: BTreeMap<String, BTreeMap<Uuid, Shared>>,
    /// Memories that the person named to be shared.
    pub named: BTreeSet<MemoryId>,
    /// Claims ([`claim_of`]), or names of texts, that the person took back or had forgotten, here or on another computer: they are not sent
    /// again by themselves.
    pub withheld: BTreeSet<String>,
    /// Names of texts that this computer took back. A server that was restored from a backup may have them again.
    pub taken_back: BTreeSet<String>,
    /// Names of texts that the team forgot for good.
    pub forgotten: BTreeSet<String>,
    /// Those of them that are to be forgotten here still.
    pub owed: BTreeSet<String>,
    /// Changes that wait to be sent, in their order.
    pub waiting: Vec<Waiting>,
    /// The memory's state when it was last compared with what is shared.
    pub planned: Option<String>,
    /// Texts that this computer shared: memories, and the names of their texts.
    pub sent: BTreeMap<MemoryId, String>,
    /// Names of earlier texts of memories that this computer shared.
    pub earlier: BTreeMap<MemoryId, BTreeSet<String>>,
    /// Changes that the server refused: names, and why.
    pub refused: BTreeMap<String, String>,
}

/// A text of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Since when, by the server's clock.
    pub at: UtcMillis,
    /// The text.
    pub text: String,
}

impl Shared {
    /// Returns what it claims, if it is a memory.
    fn claim(&self) -> Option<String> {
        match file::read(&self.text) {
            Ok(SharedFile::Memory(memory)) => Some(claim_of(&memory)),
            _ => None,
        }
    }
}

/// A change that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The change.
    pub operation: Operation,
    /// True if it was sent, perhaps in vain.
    pub is_tried: bool,
}

impl Waiting {
    fn shares(&self, text: &str) -> bool {
        matches!(&self.operation.change, Change::Add { name, .. } if name == text)
    }
}

/// Returns what a memory claims, whatever its kind, tags, quotes and certainty are: a hash of the statement, because the words may be
/// forgotten for good.
pub fn claim_of(memory: &SharedMemory) -> String {
    let words = memory.statement.split_whitespace().collect::<Vec<_>>().join(" ");
    wire::name_of(&words)
}

impl Mirror {
    /// Takes a change that the server tells.
    pub fn take(&mut self, record: Record) {
        let is_own = record.member == self.member;
        if record.is_forgotten && self.forgotten.insert(record.name.clone()) {
            self.owed.insert(record.name.clone());
        }
        match record.text {
            // A server that was restored from a backup has it again.
            Some(_) if self.forgotten.contains(&record.name) => {}
            Some(text) => {
                if is_own {
                    self.taken_back.remove(&record.name);
                }
                self.records.entry(record.name).or_default().insert(record.member, Shared { at: record.at, text });
            }
            None => {
                let by = self.records.get_mut(&record.name);
                let gone = by.and_then(|by| by.remove(&record.member));
                self.records.retain(|name, by| *name != record.name || !by.is_empty());
                if is_own && (record.is_withheld || record.is_forgotten) {
                    let claim = gone.and_then(|gone| gone.claim());
                    self.withheld.insert(claim.unwrap_or_else(|| record.name.clone()));
                    self.void_add(&record.name);
                    self.count_as_earlier(|name| *name == record.name);
                } else if is_own && !self.taken_back.contains(&record.name) && !self.is_to_be_shared(&record.name) {
                    // Another computer of the person says it no more; this one may.
                    self.count_as_earlier(|name| *name == record.name);
                }
            }
        }
    }

    /// Takes note that the server made a change. It may be restored from an earlier backup before it tells the change itself.
    pub fn acknowledge(&mut self, change: &Change) {
        match change {
            Change::Add { name, .. } => drop(self.taken_back.remove(name)),
            Change::TakeBack { name, .. } | Change::Forget { name } => drop(self.taken_back.insert(name.clone())),
        }
        if let Change::Forget { name } = change
            && self.forgotten.insert(name.clone())
        {
            self.owed.insert(name.clone());
        }
    }

    /// Has a change wait until it is sent. One that takes a text back makes a waiting change that shares it void, so that it does not leave.
    pub fn change(&mut self, change: Change) {
        if let Change::TakeBack { name, .. } | Change::Forget { name } = &change {
            self.void_add(name);
            self.taken_back.insert(name.clone());
        }
        self.waiting.push(Waiting { operation: Operation { id: Uuid::now_v7(), change }, is_tried: false });
    }

    /// Counts texts as shared by this computer no more, until it shares them again. Copies of them may be left, so that forgetting their
    /// memories for good reaches them.
    pub fn count_as_earlier(&mut self, is_gone: impl Fn(&String) -> bool) {
        let gone: Vec<(MemoryId, String)> = self.sent.extract_if(.., |_, name| is_gone(name)).collect();
        for (id, name) in gone {
            self.earlier.entry(id).or_default().insert(name);
            self.planned = None;
        }
    }

    /// Has no waiting change share a text.
    fn void_add(&mut self, name: &str) {
        self.waiting.retain(|waiting| waiting.is_tried || !waiting.shares(name));
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.shares(name)) {
            // It may still be on its way. The server knows its id from now on, and refuses it: the name is not that of this text.
            waiting.operation.change = Change::Add { name: name.to_owned(), text: String::new() };
        }
    }

    /// Takes back what this computer shared of a memory. `is_withheld`: the person wants it not to be shared again by itself.
    pub fn take_back(&mut self, id: MemoryId, is_withheld: bool) {
        let Some(name) = self.sent.remove(&id) else { return };
        self.earlier.entry(id).or_default().insert(name.clone());
        // Another memory may say the same.
        if is_withheld || self.sent.values().all(|other| *other != name) {
            self.sent.retain(|_, other| *other != name);
            self.change(Change::TakeBack { name, is_withheld });
        }
    }

    /// Has everything forgotten for good that this computer ever shared of a memory.
    pub fn forget(&mut self, id: MemoryId) {
        let names =
            self.earlier.remove(&id).unwrap_or_default().into_iter().chain(self.sent.remove(&id)).collect::<BTreeSet<_>>();
        for name in names {
            self.sent.retain(|_, other| *other != name);
            self.withheld.insert(name.clone());
            self.change(Change::Forget { name });
        }
    }

    /// Returns what is to be kept when this computer shares the project no more: what it shared, took back and had forgotten, so that it stays
    /// so if the project is shared again, and no texts.
    pub fn without_texts(mut self) -> Self {
        let (shares, withdraws): (Vec<Waiting>, Vec<Waiting>) =
            self.waiting.into_iter().partition(|waiting| matches!(waiting.operation.change, Change::Add { .. }));
        // One that was sent in vain may have arrived: the next time, it is known whether the server has it.
        for waiting in shares.into_iter().filter(|waiting| !waiting.is_tried) {
            if let Change::Add { name, .. } = waiting.operation.change {
                self.sent.retain(|_, sent| *sent != name);
                // A restored server may have it of an earlier time.
                self.taken_back.insert(name);
            }
        }
        Self {
            waiting: withdraws,
            after: 0,
            members: Vec::new(),
            records: BTreeMap::new(),
            planned: None,
            refused: BTreeMap::new(),
            ..self
        }
    }

    /// Returns whether the person wants an own text not to be shared again by itself.
    pub fn is_withheld(&self, name: &str) -> bool {
        let own = self.records.get(name).and_then(|by| by.get(&self.member));
        self.withheld.contains(name) || own.and_then(Shared::claim).is_some_and(|claim| self.withheld.contains(&claim))
    }

    /// Returns whether a change waits that shares a text.
    pub fn is_to_be_shared(&self, name: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.shares(name))
    }

    /// Returns the names of the person's own texts that the server has.
    pub fn own(&self) -> BTreeSet<String> {
        let own = self.records.iter().filter(|(_, by)| by.contains_key(&self.member));
        own.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the person's role, as the server told it last.
    pub fn role(&self) -> Option<Role> {
        self.members.iter().find(|member| member.id == self.member).map(|member| member.role)
    }

    /// Returns the texts of others, and of the person's other computers, with their authors.
    pub fn known(&self) -> Vec<Known> {
        let mut known = Vec::new();
        let sent: BTreeSet<&String> = self.sent.values().chain(&self.taken_back).collect();
        for member in self.members.iter().filter(|member| !member.is_withdrawn) {
            let texts = self.records.iter().filter_map(|(name, by)| Some((name, by.get(&member.id)?)));
            for (name, shared) in texts.filter(|(name, _)| member.id != self.member || !sent.contains(name)) {
                // The server reads nothing in texts, and a newer program may write what this one does not know.
                let Ok(file) = file::read(&shared.text) else { continue };
                let author = Author {
                    name: shown(&member.name),
                    email: shown(&member.email).to_lowercase(),
                    commit: String::new(),
                    at: shared.at,
                    is_proven: true,
                    via: Via::Team { name: self.team.clone(), may_retire: member.role == Role::Owner },
                };
                known.push(Known { name: name.clone(), file, author: Some(author) });
            }
        }
        known
    }
}

/// Returns the teams of the person.
///
/// # Errors
/// The file is there and cannot be read.
pub fn memberships(data: &Path) -> io::Result<Vec<Membership>> {
    read(&folder(data).join(MEMBERSHIPS))
}

/// Stores the teams of the person.
///
/// # Errors
/// The file cannot be written.
pub fn write_memberships(data: &Path, memberships: &[Membership]) -> io::Result<()> {
    write(&folder(data).join(MEMBERSHIPS), memberships)
}

/// Returns the projects that are shared with teams.
///
/// # Errors
/// The file is there and cannot be read.
pub fn projects(data: &Path) -> io::Result<Vec<TeamProject>> {
    read(&folder(data).join(PROJECTS))
}

/// Returns whether a project is still shared as it is known: with the same team, at the same level, and not stopped meanwhile.
///
/// # Errors
/// The file is there and cannot be read.
pub fn is_current(data: &Path, project: &TeamProject) -> io::Result<bool> {
    Ok(projects(data)?.contains(project))
}

/// Stores the projects that are shared with teams.
///
/// # Errors
/// The file cannot be written.
pub fn write_projects(data: &Path, projects: &[TeamProject]) -> io::Result<()> {
    write(&folder(data).join(PROJECTS), projects)
}

/// Returns the team's project of a directory; `None` if the person shares none.
pub fn project_of(data: &Path, here: impl FnOnce() -> ProjectNames) -> Option<TeamProject> {
    let projects = projects(data).ok().filter(|projects| !projects.is_empty())?;
    let key = project_key(&here())?;
    projects.into_iter().find(|project| project.key == key && !project.is_stopped)
}

/// Returns the copy of a project; an empty one if nothing was received or sent yet.
///
/// # Errors
/// The file is there and cannot be read.
pub fn mirror(data: &Path, project: &TeamProject) -> io::Result<Mirror> {
    read(&mirror_file(data, project))
}

/// Stores the copy of a project.
///
/// # Errors
/// The file cannot be written.
pub fn write_mirror(data: &Path, project: &TeamProject, mirror: &Mirror) -> io::Result<()> {
    write(&mirror_file(data, project), mirror)
}

/// Returns the copy of a project; one that is damaged is set aside, and everything is received again.
///
/// # Errors
/// The file is there, and cannot be read or set aside.
pub fn mirror_or_new(data: &Path, project: &TeamProject) -> io::Result<Mirror> {
    mirror(data, project).or_else(|error| {
        let path = mirror_file(data, project);
        let is_damaged = std::fs::read(&path).is_ok();
        if !is_damaged {
            return Err(error);
        }
        std::fs::rename(&path, path.with_extension("damaged")).map(|()| Mirror::default())
    })
}

/// Returns the path of a project's copy.
pub fn mirror_file(data: &Path, project: &TeamProject) -> PathBuf {
    let hash = blake3::hash(format!("{} {}", project.team, project.name).as_bytes()).to_hex();
    folder(data).join(format!("{}.json", &hash[..16]))
}

/// Keeps other processes from changing the lists of teams and projects; waits until they are done.
///
/// # Errors
/// The lock cannot be made.
pub fn lock(data: &Path) -> io::Result<FileLock> {
    locked(data, Path::new(LOCK))
}

/// Keeps other processes from changing the copy of a project, and from synchronizing it; waits until they are done.
///
/// # Errors
/// The lock cannot be made.
pub fn lock_of(data: &Path, project: &TeamProject) -> io::Result<FileLock> {
    locked(data, &mirror_file(data, project).with_extension("lock"))
}

fn locked(data: &Path, name: &Path) -> io::Result<FileLock> {
    platform::create_private_directory(&folder(data))?;
    let lock = FileLock::open(&folder(data).join(name))?;
    lock.wait()?;
    Ok(lock)
}

fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}
