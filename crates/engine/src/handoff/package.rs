//! A handoff as data: its request, its sections and their items.

use serde::{Deserialize, Serialize};
use yore_core::handoff::HandoffPart;
use yore_core::id::TurnId;
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use crate::store::EpisodeSummary;

/// A request for a handoff.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct HandoffRequest {
    /// Id, short id or native id of the session, or an unambiguous beginning of one; `None`: the newest of the project.
    pub session: Option<String>,
    /// Only sessions of these source kinds, where no session is named.
    pub agents: Vec<String>,
    /// The project, where no session is named; `None`: any.
    pub here: Option<ProjectNames>,
    /// Native id of the session that asks; it is not handed over unless it is named.
    pub asking: Option<String>,
    /// The point as of which the state is told; `None`: the end.
    pub at: Option<HandoffPoint>,
    /// Budget in tokens.
    pub tokens: usize,
}

/// A point in a session.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum HandoffPoint {
    /// After so many turns.
    Place(usize),
    /// After the turn with this id, or the beginning of it.
    Turn(String),
    /// Before this time.
    Time(UtcMillis),
}

/// The state of a session that another agent needs to go on with it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Handoff {
    /// The session.
    pub session: EpisodeSummary,
    /// Branch at the point, as recorded.
    pub branch: Option<String>,
    /// Directory at the point, as recorded.
    pub directory: Option<String>,
    /// The last turn that is told of, and its time.
    pub last: TurnId,
    /// Time of that turn.
    pub until: Option<UtcMillis>,
    /// Number of turns up to the point.
    pub turns: usize,
    /// The sections that have something to tell.
    pub sections: Vec<HandoffSection>,
}

/// A section of a handoff.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct HandoffSection {
    /// Its subject.
    pub part: HandoffPart,
    /// Its items, in the order in which they are read.
    pub items: Vec<HandoffItem>,
    /// Number of items that did not fit.
    pub left_out: usize,
}

/// An item of a section.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct HandoffItem {
    /// Its text, on one line.
    pub text: String,
    /// Short id of the turn or memory that it is of.
    pub opens: Option<String>,
}
