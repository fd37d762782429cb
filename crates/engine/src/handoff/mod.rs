//! Makes a handoff: what another agent needs to go on with the work of a session, within a budget of tokens, without a model.
//!
//! - [`Engine::handoff`]: the package of a session as it was at a point
//! - `package`: its parts as data; `trace`: the commands that ran; `files`, `commands`, `decisions`, `words`: the
//!   sections; `fit`: what fits into the budget; `dropped`: what a compaction left out

mod commands;
mod decisions;
mod dropped;
mod files;
mod fit;
mod package;
mod trace;
mod words;

use yore_core::episode::Role;
use yore_core::handoff::HandoffPart;
use yore_core::id::{EpisodeId, TurnId};
use yore_core::memory::{Memory, Status};

pub use self::dropped::RecollectRequest;
use self::fit::{Draft, fitted};
pub use self::package::{Handoff, HandoffItem, HandoffPoint, HandoffRequest, HandoffSection};
use self::trace::Trace;
use crate::archive::sessions::{ConversationTurns, TITLES};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::project_here;
use crate::rules::events;
use crate::store::{EpisodeKey, EpisodeSummary, Episodes, Memories, SessionFilter, SessionOrder, Turns};

impl Engine {
    /// Returns the handoff of a session; `None` if no session is named and there is none, or if nothing was said up to the point.
    ///
    /// # Errors
    /// [`EngineError::UnknownSession`], [`EngineError::AmbiguousId`]: the named session; [`EngineError::UnknownId`]: the point.
    pub fn handoff(&self, request: &HandoffRequest) -> Result<Option<Handoff>, EngineError> {
        let session = match &request.session {
            Some(id) => self.session_of(id)?,
            None => match self.newest_session(request)? {
                Some(session) => session,
                None => return Ok(None),
            },
        };
        let read = ConversationTurns::read(self.store(), session.row)?;
        let shapes = read.shapes();
        let end = match &request.at {
            None => shapes.len(),
            Some(HandoffPoint::Place(place)) => (*place).min(shapes.len()),
            Some(HandoffPoint::Time(time)) => {
                shapes.iter().rposition(|turn| turn.at.is_some_and(|at| at < *time)).map_or(0, |last| last + 1)
            }
            Some(HandoffPoint::Turn(id)) => {
                let is_named = |turn: &TurnId| turn.to_string().starts_with(id.as_str()) || turn.short().starts_with(id.as_str());
                let named = shapes.iter().position(|turn| is_named(&turn.id)).filter(|_| !id.is_empty());
                named.ok_or_else(|| EngineError::UnknownId(id.clone()))? + 1
            }
        };
        let Some(last) = end.checked_sub(1).map(|last| &read.turns[last]) else { return Ok(None) };
        let (branch, directory) = (last.branch.clone(), last.cwd.clone().or_else(|| session.cwd.clone()));
        let trace = Trace::of(&shapes[..end], session.cwd.as_deref());
        let mut handoff = Handoff {
            branch,
            directory,
            last: last.id,
            until: last.time.utc,
            turns: end,
            sections: fitted(self.drafts(&trace, session.row)?, request.tokens),
            session,
        };
        let items = handoff.sections.iter_mut().flat_map(|section| &mut section.items).map(|item| &mut item.text);
        self.redact_again(items.chain(&mut handoff.session.title))?;
        Ok(Some(handoff))
    }

    /// Returns the session with an id, or the beginning of one; `None` if there is none.
    ///
    /// # Errors
    /// [`EngineError::AmbiguousId`] if several have it.
    pub fn session_if_known(&self, id: &str) -> Result<Option<EpisodeSummary>, EngineError> {
        match self.session_of(id) {
            Ok(session) => Ok(Some(session)),
            Err(EngineError::UnknownSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the person's last request in each of these sessions, in their own words.
    pub fn asked_last(&self, sessions: &[EpisodeId]) -> Result<Vec<Option<String>>, EngineError> {
        const LOOKED_AT: usize = 8;
        let asked = |id: &EpisodeId| {
            let Some(named) = self.store().episodes(&Episodes::Named(&id.to_string(), 1))?.pop() else { return Ok(None) };
            let turns = self.store().turns(Turns::LastOf(named.key, Role::Human, LOOKED_AT))?;
            Ok(turns.iter().find_map(|turn| words::order_of(&turn.text)))
        };
        let mut asked = sessions.iter().map(asked).collect::<Result<Vec<Option<String>>, EngineError>>()?;
        self.redact_again(asked.iter_mut().flatten())?;
        Ok(asked)
    }

    /// Returns the newest session of the project in which a person said something.
    fn newest_session(&self, request: &HandoffRequest) -> Result<Option<EpisodeSummary>, EngineError> {
        const LOOKED_AT: usize = 2;
        let project = match &request.here {
            Some(here) => match project_here(self.store(), here)? {
                Some(project) => Some(project),
                None => return Ok(None),
            },
            None => None,
        };
        let filter = SessionFilter {
            projects: project.as_slice(),
            agents: &request.agents,
            without_documents: true,
            title: Some(TITLES),
            ..SessionFilter::default()
        };
        let sessions = self.store().sessions(&filter, SessionOrder::Recent, LOOKED_AT)?;
        Ok(sessions.into_iter().find(|session| request.asking.as_deref() != Some(session.native_id.as_str())))
    }

    /// Returns the proposed items of all sections, those of each sorted by their worth.
    fn drafts(&self, trace: &Trace<'_>, session: EpisodeKey) -> Result<Vec<(HandoffPart, Vec<Draft>)>, EngineError> {
        let events = events(trace.turns);
        let mut memories: Vec<Memory> =
            self.store().memories(Memories::RestingOn(session))?.into_iter().map(|(_, memory)| memory).collect();
        memories.retain(|memory| memory.status == Status::Holds);
        Ok(vec![
            (HandoffPart::Aim, words::aim(trace)),
            (HandoffPart::Decided, decisions::decided(trace, &events, &memories)),
            (HandoffPart::Reported, words::reported(trace)),
            (HandoffPart::Files, files::drafts(trace)),
            (HandoffPart::Tried, commands::tried(trace)),
            (HandoffPart::Commands, commands::working(trace)),
            (HandoffPart::Open, words::open(trace, &events)),
            (HandoffPart::Next, words::next(trace)),
        ])
    }
}
