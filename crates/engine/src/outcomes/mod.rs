//! Reads from transcripts how much work sessions took, for the account of what memory is worth.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use yore_core::account::{Outcome, outcome};
use yore_core::insight::pattern;
use yore_core::time::UtcMillis;

use crate::archive::SessionsRequest;
use crate::archive::sessions::ConversationTurns;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rules::lasting_changes;
use crate::store::{Attempts, EpisodeKey};

/// Most commands of a project that are read, the latest ones.
const MOST_COMMANDS: i64 = 50_000;
/// Most sessions that are read, the last used ones.
const MOST_SESSIONS: usize = 2_000;

/// The sessions whose outcomes are wanted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OutcomesRequest {
    /// Names, ids or directories of projects; none: all.
    pub projects: Vec<String>,
    /// Only sessions that were last used at or after this time.
    pub since: Option<UtcMillis>,
    /// The agents' own ids of the sessions.
    pub sessions: Vec<String>,
}

/// The work of a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct SessionOutcome {
    /// The agent's own id of the session.
    pub session: String,
    /// Source kind of the agent.
    pub agent: String,
    /// Name of its project.
    pub project: Option<String>,
    /// When it began.
    pub started: Option<UtcMillis>,
    /// The amounts of that work.
    pub outcome: Outcome,
    /// Errors of its commands that an earlier session of the project had met.
    pub known_errors: u64,
}

impl Engine {
    /// Returns what sessions took, the last used first.
    ///
    /// # Errors
    /// If a project is not known, or the store cannot be read.
    pub fn outcomes(&self, request: &OutcomesRequest) -> Result<Vec<SessionOutcome>, EngineError> {
        let wanted: HashSet<&str> = request.sessions.iter().map(String::as_str).collect();
        let mut sessions = self.sessions(&SessionsRequest {
            projects: request.projects.clone(),
            since: request.since,
            without_documents: true,
            limit: MOST_SESSIONS,
            ..SessionsRequest::default()
        })?;
        // The errors that were met before are those of all sessions, read up to now.
        self.divide_changed(&sessions.iter().map(|session| session.row).collect::<Vec<_>>(), &mut || true)?;
        sessions.retain(|session| wanted.contains(session.native_id.as_str()));
        let known_errors = self.known_errors()?;
        let mut outcomes = Vec::new();
        for session in sessions {
            let turns = ConversationTurns::read(self.store(), session.row)?;
            let shapes = turns.shapes();
            outcomes.push(SessionOutcome {
                outcome: outcome(&shapes, &lasting_changes(&shapes)),
                known_errors: known_errors.get(&session.row).copied().unwrap_or_default(),
                session: session.native_id,
                agent: session.agent,
                project: session.project,
                started: session.started,
            });
        }
        Ok(outcomes)
    }

    /// Counts in each session the errors of commands that an earlier session of its project had met.
    fn known_errors(&self) -> Result<HashMap<EpisodeKey, u64>, EngineError> {
        let mut counts: HashMap<EpisodeKey, u64> = HashMap::new();
        for project in self.store().projects()? {
            let mut stored = self.store().attempts(project.key, Attempts::Latest(MOST_COMMANDS), None)?;
            stored.sort_by_key(|stored| (stored.at, stored.attempt.turn));
            let mut first: HashMap<String, EpisodeKey> = HashMap::new();
            for stored in &stored {
                let Some(failed) = &stored.attempt.failed else { continue };
                let met = *first.entry(pattern(&failed.error)).or_insert(stored.episode);
                if met != stored.episode {
                    *counts.entry(stored.episode).or_default() += 1;
                }
            }
        }
        Ok(counts)
    }
}
