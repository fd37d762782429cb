//! Reads from the copies of projects, without a network, what this computer shares with teams.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::sessions::{self, SentSessions};
use crate::results::{ShareRefused, TeamAuthor, TeamProjectState, TeamState};
use crate::shared::mirror::{self, Mirror, TeamProject};

/// Returns the teams of this computer, with their projects.
///
/// # Errors
/// A file is there and cannot be read.
pub fn states(data: &Path) -> io::Result<Vec<TeamState>> {
    let projects = mirror::projects(data)?;
    let mut states = Vec::new();
    for membership in mirror::memberships(data)? {
        let of_team = projects.iter().filter(|project| project.team == membership.me.team);
        let of_project =
            |project: &TeamProject| Ok(project_state(project, &mirror::mirror(data, project)?, &sessions::sent(data, project)?));
        states.push(TeamState {
            team: membership.me.team_name.clone(),
            server: membership.server,
            email: membership.me.email,
            role: membership.me.role.as_str().to_owned(),
            projects: of_team.map(of_project).collect::<io::Result<_>>()?,
        });
    }
    Ok(states)
}

fn project_state(project: &TeamProject, mirror: &Mirror, sent: &SentSessions) -> TeamProjectState {
    let known = mirror.known();
    let mut authors: BTreeMap<&str, TeamAuthor> = BTreeMap::new();
    for author in known.iter().filter_map(|known| known.author.as_ref()) {
        let named = || TeamAuthor { email: author.email.clone(), name: author.name.clone(), texts: 0 };
        authors.entry(&author.email).or_insert_with(named).texts += 1;
    }
    TeamProjectState {
        project: project.name.clone(),
        directory: project.root.display().to_string(),
        level: project.level.as_str().to_owned(),
        is_stopped: project.is_stopped,
        sent: mirror.sent.len() as u64,
        sessions: sent.sessions.len() as u64,
        turns: sent.sessions.values().map(|session| u64::from(session.turns)).sum(),
        turns_held_back: sent.sessions.values().map(|session| u64::from(session.held_back)).sum(),
        received: known.len() as u64,
        waiting: mirror.waiting.len() as u64,
        refused: refused(mirror.refused.iter()),
        authors: authors.into_values().collect(),
    }
}

/// Returns texts that were refused, with the reasons.
pub fn refused<'a>(refused: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<ShareRefused> {
    refused.map(|(memory, reason)| ShareRefused { memory: memory.clone(), reason: reason.clone() }).collect()
}
