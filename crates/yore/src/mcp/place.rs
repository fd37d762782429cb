//! Where an agent works: the project that is asked unless a call names another.
//!
//! - [`Place`]: of one session of an agent
//! - [`Work`]: what is known about it
//!
//! Most agents start the server in the directory that they work in. Those that keep one server for
//! several projects either say where they work when they are asked (the roots of MCP) or have told by
//! their hooks. Another project's words are never told in place of this one's.

#![expect(deprecated, reason = "agents of today offer roots; later protocols have nothing in their place yet")]

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::ListRootsResult;
use rmcp::{Peer, RoleServer};
use yore_core::scope::{is_within, normalize_directory};
use yore_engine::ingest::source::path_of_address;

use crate::inject::ledger;

/// An agent that does not say within this time where it works is not asked again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Hooks that ran longer ago tell nothing about the session at hand.
const HEARD: Duration = Duration::from_secs(12 * 3600);
/// Programs that keep one server for all their sessions, started wherever the first of them was and
/// without roots: how their client's name begins, and the name that their hooks go by.
const SHARED: [(&str, &str); 1] = [("@cline/", "cline")];

/// Where an agent works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Where the server was started.
    AsStarted,
    /// In this directory.
    In(String),
    /// In one of these; which one is not known.
    Several(Vec<String>),
    /// Nobody knows where.
    Unknown,
}

/// Where the agent of one session works. A copy is of another session and knows nothing yet.
#[derive(Debug, Default)]
pub struct Place {
    /// The directories that the agent named; none before it was asked.
    roots: Mutex<Option<Vec<String>>>,
}

impl Clone for Place {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Place {
    /// Forgets what the agent said: it works elsewhere now.
    pub fn forget(&self) {
        *self.roots.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Where the agent works whose server was started in `started`; the ledgers of hooks lie below
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

/// The one of an agent's roots that a server is asked from which was started in `started`: that which
/// holds it, else the only one.
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

/// The same of the directories that an agent's hooks have told, whose server may have been started in
/// any of them.
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
