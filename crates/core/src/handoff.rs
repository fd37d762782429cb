//! The sections of a handoff, and what compactions left out of sessions, of which some bears on a file.

use serde::{Deserialize, Serialize};

use crate::files::is_path;
use crate::id::TurnId;

/// Most checks that are told before a file is touched.
const CHECKS: usize = 2;
/// Shortest name of a file by which a statement is about it.
const LEAST_NAME: usize = 5;

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

/// A thing that a session knew before a compaction and that the summary does not say.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Recollection {
    /// Its kind.
    pub part: HandoffPart,
    /// Its text, on one line.
    pub text: String,
    /// Id of the turn or memory that it is of.
    pub opens: Option<String>,
    /// The turn that last ran the command or changed the file.
    pub turn: Option<TurnId>,
}

/// All that a compaction left out.
#[derive(Debug)]
pub struct Dropped {
    /// The compaction.
    pub compaction: TurnId,
    /// The things that it left out.
    pub items: Vec<Item>,
}

/// A thing that a compaction left out.
#[derive(Debug)]
pub struct Item {
    /// The thing as it is told.
    pub told: Recollection,
    /// The file that it is about.
    pub path: Option<String>,
    /// True for a check that passed often enough to be the session's way.
    pub is_check: bool,
}

impl Dropped {
    /// Returns the items that bear on the work on a file.
    pub fn bearing_on(&self, file: Option<&str>) -> Vec<&Recollection> {
        let Some(file) = file else { return self.items.iter().map(|item| &item.told).collect() };
        let about = self.items.iter().filter(|item| item.is_about(file));
        let checks = self.items.iter().filter(|item| item.is_check).take(CHECKS);
        about.chain(checks).map(|item| &item.told).collect()
    }
}

impl Item {
    /// Returns whether it is about a file: it is the state of the file, or names it.
    fn is_about(&self, file: &str) -> bool {
        if let Some(own) = &self.path {
            return is_path(own, file);
        }
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        self.told.part != HandoffPart::Commands && name.len() >= LEAST_NAME && self.told.text.contains(name)
    }
}
