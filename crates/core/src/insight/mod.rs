//! Insights: things that happen again and again in the work of a project, each with the places where it happened.
//!
//! - [`errors`], [`first_tries`]: errors that came up in several sessions with what ended them, and commands whose first run fails
//! - [`read_before`]: files that are opened before each change of another
//! - [`repeated`]: instructions that the person gave in several sessions
//! - [`reversals`]: decisions that were replaced more than once, or soon
//!
//! Nothing here is stored, and nothing is guessed: an insight counts what sessions record. An offer is the memory that a person may make of it.

mod commands;
mod files;
mod instructions;
mod reversals;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::commands::{Tried, errors, first_tries, pattern, speaks_of};
pub use self::files::{Touch, read_before};
pub use self::instructions::{KnownStatements, Said, repeated};
pub use self::reversals::{Replacement, reversals};
use crate::memory::MemoryKind;
use crate::time::UtcMillis;

/// Fewest sessions in which something happened again and again.
pub const FEWEST_SESSIONS: usize = 3;
/// Most places of an insight.
const MOST_PLACES: usize = 5;
/// Longest error and instruction that is told, in characters.
const LONGEST: usize = 160;

named_enum! {
    /// The kind of an insight.
    InsightKind {
        /// An error came up in several sessions.
        Error = "error",
        /// A command fails at the first try.
        FirstTry = "first_try",
        /// A file is opened before each change of another.
        ReadBefore = "read_before",
        /// The person gave an instruction in several sessions.
        Instruction = "instruction",
        /// A decision was reversed.
        Reversal = "reversal",
    }
}

impl InsightKind {
    /// Returns the heading above insights of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Error => "Errors that come up again",
            Self::FirstTry => "Commands that fail at the first try",
            Self::ReadBefore => "Files that are opened before a change of another",
            Self::Instruction => "Instructions that you repeat",
            Self::Reversal => "Decisions that were reversed",
        }
    }
}

/// Something that happened again and again.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Insight<Place> {
    /// Its kind.
    pub kind: InsightKind,
    /// A name by which it is known again when more sessions are read.
    pub key: String,
    /// The statement, as a sentence.
    pub statement: String,
    /// Number of sessions in which it happened.
    pub sessions: usize,
    /// Number of sessions in which it could have happened; 0 if that is not counted.
    pub of: usize,
    /// Number of times that it happened.
    pub times: usize,
    /// When it first happened, as far as is known.
    pub first: Option<UtcMillis>,
    /// When it last happened, as far as is known.
    pub last: Option<UtcMillis>,
    /// Places where it happened, the latest first: at most five, each of another session.
    pub places: Vec<Place>,
    /// The memory that may be made of it; `None`: it is in memory already.
    pub offer: Option<Offer>,
}

/// A memory that a person may make of an insight.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Offer {
    /// Its kind.
    pub kind: MemoryKind,
    /// Its statement.
    pub statement: String,
}

impl Offer {
    fn new(kind: MemoryKind, statement: impl Into<String>) -> Option<Self> {
        Some(Self { kind, statement: statement.into() })
    }
}

/// Something that happened in a session.
struct Happened<Place> {
    session: i64,
    at: Option<UtcMillis>,
    place: Place,
}

impl<Place> Insight<Place> {
    /// Makes an insight of all that happened; without statement and offer.
    fn of(kind: InsightKind, key: String, mut happened: Vec<Happened<Place>>) -> Self {
        let times = happened.len();
        happened.sort_by_key(|one| std::cmp::Reverse((one.at, one.session)));
        let (first, last) = (happened.iter().filter_map(|one| one.at).min(), happened.iter().filter_map(|one| one.at).max());
        let mut seen = Vec::new();
        let mut places = Vec::new();
        for one in happened {
            if !seen.contains(&one.session) {
                seen.push(one.session);
                if places.len() < MOST_PLACES {
                    places.push(one.place);
                }
            }
        }
        Self { kind, key, statement: String::new(), sessions: seen.len(), of: 0, times, first, last, places, offer: None }
    }
}

impl<Place> Insight<Place> {
    /// Returns the insight with other names of its places.
    pub fn placed<Other>(self, name: impl Fn(&Place) -> Other) -> Insight<Other> {
        let Self { kind, key, statement, sessions, of, times, first, last, places, offer } = self;
        Insight { kind, key, statement, sessions, of, times, first, last, places: places.iter().map(name).collect(), offer }
    }
}

/// Sorts insights: those of most sessions first, then those that happened last.
fn sorted<Place>(mut found: Vec<Insight<Place>>) -> Vec<Insight<Place>> {
    found.sort_by(|a, b| {
        b.sessions.cmp(&a.sessions).then(b.times.cmp(&a.times)).then(b.last.cmp(&a.last)).then_with(|| a.key.cmp(&b.key))
    });
    found
}

/// Returns a number with its noun: `1 session`, `3 sessions`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
