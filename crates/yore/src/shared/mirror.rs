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
use yore_engine::platform::{self, FileLock};
use yore_sources::disk::is_missing;
use yore_sources::project_names::ProjectNames;
use yore_team::wire::{self, Change, Me, Operation, Record, Role};

use super::authors::{Author, Via};
use super::file;
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
    /// What is shared.
    pub level: SharedLevel,
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
    /// Names of the person's own texts that they took back, here or on another computer: they are not sent again by themselves.
    pub taken_back: BTreeSet<String>,
    /// Names of texts that this computer took back because no memory says them any more: they may be sent again.
    pub outdated: BTreeSet<String>,
    /// Changes that wait to be sent, in their order.
    pub waiting: Vec<Operation>,
    /// What the memory had when it was last compared with what is shared: the number of its last operation, the level, and the program.
    pub planned: Option<String>,
    /// What this computer shared: memories, and the names of their texts.
    pub sent: BTreeMap<MemoryId, String>,
    /// Names of texts that the team forgot for good.
    pub forgotten: BTreeSet<String>,
    /// Those of them that are to be forgotten here still.
    pub owed: BTreeSet<String>,
    /// Changes that the server refused: names, and why.
    pub refused: BTreeMap<String, String>,
}

/// A text of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Since when, by the server's clock.
    pub at: i64,
    /// The text.
    pub text: String,
}

impl Mirror {
    /// Takes a change that the server tells.
    pub fn take(&mut self, record: Record) {
        self.after = self.after.max(record.seq);
        let is_own = record.member == self.member;
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
                if let Some(by) = self.records.get_mut(&record.name) {
                    by.remove(&record.member);
                    if by.is_empty() {
                        self.records.remove(&record.name);
                    }
                }
                if record.is_forgotten && self.forgotten.insert(record.name.clone()) {
                    self.owed.insert(record.name.clone());
                }
                if is_own && !self.outdated.contains(&record.name) {
                    self.taken_back.insert(record.name);
                }
            }
        }
    }

    /// Has a change wait until it is sent.
    pub fn change(&mut self, change: Change) {
        self.waiting.push(Operation { id: Uuid::now_v7(), change });
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
        let sent: BTreeSet<&String> = self.sent.values().collect();
        for member in self.members.iter().filter(|member| !member.is_withdrawn) {
            let texts = self.records.iter().filter_map(|(name, by)| Some((name, by.get(&member.id)?)));
            for (name, shared) in texts.filter(|(name, _)| member.id != self.member || !sent.contains(name)) {
                // The server reads nothing in texts, and a newer program may write what this one does not know.
                let Ok(file) = file::read(&shared.text) else { continue };
                let author = Author {
                    name: member.name.clone(),
                    email: member.email.clone(),
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
    projects.into_iter().find(|project| project.key == key)
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

/// Removes the copy of a project.
///
/// # Errors
/// The file is there and cannot be removed.
pub fn remove_mirror(data: &Path, project: &TeamProject) -> io::Result<()> {
    match std::fs::remove_file(mirror_file(data, project)) {
        Err(error) if !is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Returns the path of a project's copy.
pub fn mirror_file(data: &Path, project: &TeamProject) -> PathBuf {
    let hash = blake3::hash(format!("{} {}", project.team, project.name).as_bytes()).to_hex();
    folder(data).join(format!("{}.json", &hash[..16]))
}

/// Keeps other processes from changing any of these files; waits until they are done.
///
/// # Errors
/// The lock cannot be made.
pub fn lock(data: &Path) -> io::Result<FileLock> {
    platform::create_private_directory(&folder(data))?;
    let lock = FileLock::open(&folder(data).join(LOCK))?;
    lock.wait()?;
    Ok(lock)
}

fn folder(data: &Path) -> PathBuf {
    data.join(FOLDER)
}
