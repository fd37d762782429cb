//! Results of `handoff` and `resume`: a package, a session that may be resumed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_engine::{HandoffItem, HandoffSection};

use super::{Session, time};

/// What another agent needs to go on with the work of a session.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Handoff {
    /// The session.
    pub session: Session,
    /// Branch at the end, as recorded.
    pub branch: Option<String>,
    /// Directory at the end, as recorded.
    pub directory: Option<String>,
    /// Number of turns that it tells of.
    pub turns: u64,
    /// Id of the last of them.
    pub last: String,
    /// The time of the last of them, RFC 3339.
    pub until: Option<String>,
    /// Sections with something to tell, in order.
    pub sections: Vec<HandoffPart>,
    /// Number of tokens of the text.
    pub tokens: u64,
    /// The whole as text.
    pub text: String,
}

/// A section of a handoff.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct HandoffPart {
    /// Name of the section: aim, decided, reported, files, tried, commands, open, next.
    pub part: String,
    /// Its items, in order.
    pub items: Vec<HandoffLine>,
    /// Number of items that did not fit.
    pub left_out: u64,
}

/// An item of a section.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct HandoffLine {
    /// Its text.
    pub text: String,
    /// Id that `show` opens.
    pub id: Option<String>,
}

/// A session with the command that resumes it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Resumable {
    /// Its number in the list, from 1.
    pub number: u64,
    /// The session.
    pub session: Session,
    /// The person's last request in it.
    pub asked_last: Option<String>,
    /// The command that resumes it. Null: its agent has none.
    pub command: Option<Vec<String>>,
}

impl Handoff {
    /// Makes the result of a handoff with its text and its cost in tokens.
    pub fn of(handoff: &yore_engine::Handoff, text: String, tokens: usize) -> Self {
        Self {
            session: Session::from(&handoff.session),
            branch: handoff.branch.clone(),
            directory: handoff.directory.clone(),
            turns: handoff.turns as u64,
            last: handoff.last.to_string(),
            until: time(handoff.until),
            sections: handoff.sections.iter().map(HandoffPart::from).collect(),
            tokens: tokens as u64,
            text,
        }
    }
}

impl From<&HandoffSection> for HandoffPart {
    fn from(section: &HandoffSection) -> Self {
        Self {
            part: section.part.name().to_owned(),
            items: section.items.iter().map(HandoffLine::from).collect(),
            left_out: section.left_out as u64,
        }
    }
}

impl From<&HandoffItem> for HandoffLine {
    fn from(item: &HandoffItem) -> Self {
        Self { text: item.text.clone(), id: item.opens.clone() }
    }
}
