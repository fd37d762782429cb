//! Finds the directory in which an agent works, and so its project.
//!
//! - [`Place`]: finds the directory for one session of an agent
//! - [`Work`]: the result
//!
//! Most agents start the server in the directory that they work in. Agents that keep one server for several
//! projects either report their directory when asked (the roots of MCP) or through their hooks. Another
//! project's words are never given instead of this one's.

#![expect(deprecated, reason = "agents of today offer roots; later protocols have nothing in their place yet")]

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::ListRootsResult;
use rmcp::{Peer, RoleServer};
use yore_core::scope::{is_within, normalize_directory};
use yore_sources::source::path_of_address;

use crate::inject::ledger;

/// Time for an agent to report its directory. After that it is not asked again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Age after which the directories of hooks no longer count.
const HEARD: Duration = Duration::from_secs(12 * 3600);
/// Programs that keep one server for all their sessions, started in the directory of the first one, without
/// roots: the beginning of the client's name, and the agent's name in hooks.
const SHARED: [(&str, &str); 1] = [("@cline/", "cline")];

/// The directory where an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The directory in which the server was started.
    AsStarted,
    /// This directory.
    In(String),
    /// One of these directories; it is not known which.
    Several(Vec<String>),
    /// The directory is unknown.
    Unknown,
}

/// The directory of one session's agent. A copy belongs to another session and starts empty.
#[derive(Debug, Default)]
pub struct Place {
    /// The directories that the agent reported; none before it was asked.
    roots: Mutex<Option<Vec<String>>>,
}

impl Clone for Place {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Place {
    /// Discards the directories that the agent reported, because it works elsewhere now.
    pub fn forget(&self) {
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns where the agent works, if its server was started in `started`. The ledgers of hooks are below
    /// the data directory.
    pub async fn of(&self, started: Option<&str>, data_directory: &Path, peer: &Peer<RoleServer>) -> Work {
        let Some(client) = peer.peer_info() else { return Work::AsStarted };
        if client.capabilities.roots.is_some() {
            return among_roots(self.roots(peer).await, started);
        }
        let shared = SHARED.iter().find(|(beginning, _)| client.client_info.name.starts_with(beginning));
        shared.map_or(Work::AsStarted, |(_, agent)| among_heard(ledger::directories(data_directory, agent, HEARD)))
    }

    async fn roots(&self, peer: &Peer<RoleServer>) -> Vec<String> {
        let known = self.roots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(roots) = known {
            return roots;
        }
        let asked = tokio::time::timeout(PATIENCE, peer.list_roots()).await;
        let roots = asked.ok().and_then(Result::ok).map(directories).unwrap_or_default();
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = Some(roots.clone());
        roots
    }
}

fn directories(listed: ListRootsResult) -> Vec<String> {
    listed.roots.iter().filter_map(|root| path_of_address(&root.uri)).filter(|path| Path::new(path).is_absolute()).collect()
}

/// Selects one of an agent's roots for a server that was started in `started`: the start directory if a root
/// contains it, else the only root.
fn among_roots(mut roots: Vec<String>, started: Option<&str>) -> Work {
    let started = started.map(normalize_directory);
    let holds_start = |root: &String| started.as_ref().is_some_and(|started| is_within(started, &normalize_directory(root)));
    match roots.len() {
        0 => Work::AsStarted,
        _ if roots.iter().any(holds_start) => Work::AsStarted,
        1 => Work::In(roots.remove(0)),
        _ => Work::Several(roots),
    }
}

/// Selects one of the directories that an agent's hooks reported. Its server may have been started in any of
/// them.
fn among_heard(mut heard: Vec<String>) -> Work {
    match heard.len() {
        0 => Work::Unknown,
        1 => Work::In(heard.remove(0)),
        _ => Work::Several(heard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(directories: &[&str]) -> Vec<String> {
        directories.iter().map(|&directory| directory.to_owned()).collect()
    }

    #[test]
    fn directory_that_the_agent_names_counts_for_more_than_where_the_server_was_started() {
        let of = |roots: &[&str], started| among_roots(owned(roots), started);
        assert_eq!(of(&[], Some("/dev/tide")), Work::AsStarted);
        assert_eq!(of(&["/dev/tide"], Some("/dev/tide/src")), Work::AsStarted);
        assert_eq!(of(&["/dev/otter", "/dev/tide"], Some("/dev/tide/src")), Work::AsStarted);
        assert_eq!(of(&["/dev/otter"], Some("/dev/tide")), Work::In("/dev/otter".to_owned()));
        assert_eq!(of(&["/dev/otter"], None), Work::In("/dev/otter".to_owned()));
        assert_eq!(of(&["/dev/otter", "/dev/tide"], Some("/me")), Work::Several(owned(&["/dev/otter", "/dev/tide"])));
    }

    #[test]
    fn server_for_all_sessions_of_a_program_works_where_its_hooks_were_heard() {
        assert_eq!(among_heard(Vec::new()), Work::Unknown);
        assert_eq!(among_heard(owned(&["/dev/otter"])), Work::In("/dev/otter".to_owned()));
        assert_eq!(among_heard(owned(&["/dev/otter", "/dev/tide"])), Work::Several(owned(&["/dev/otter", "/dev/tide"])));
    }
}
