//! A handoff as data: its request, its sections and their items.

use serde::{Deserialize, Serialize};
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

/// The sections of a handoff.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffPart {
    /// The aim of the person, in their words.
    Aim,
    /// Decisions in force, with reasons.
    Decided,
    /// Reports of the agent.
    Reported,
    /// Files with their state.
    Files,
    /// Commands that were tried and failed.
    Tried,
    /// Commands that work.
    Commands,
    /// Open points.
    Open,
    /// The next step, as it was last named.
    Next,
}

impl HandoffPart {
    /// Every section, in the order in which they are read.
    pub const ALL: [Self; 8] =
        [Self::Aim, Self::Decided, Self::Reported, Self::Files, Self::Tried, Self::Commands, Self::Open, Self::Next];

    /// Returns the name of the section in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aim => "aim",
            Self::Decided => "decided",
            Self::Reported => "reported",
            Self::Files => "files",
            Self::Tried => "tried",
            Self::Commands => "commands",
            Self::Open => "open",
            Self::Next => "next",
        }
    }

    /// Returns the heading of the section.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Aim => "Aim, in the person's words",
            Self::Decided => "Decisions in force",
            Self::Reported => "Reported by the agent",
            Self::Files => "Files",
            Self::Tried => "Tried and failed",
            Self::Commands => "Commands that work",
            Self::Open => "Open",
            Self::Next => "Next step, as last said",
        }
    }
}
