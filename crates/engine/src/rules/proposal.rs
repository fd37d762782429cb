//! [`Proposal`]: a memory that a rule proposes, with the rule's name and the words it rests on.

use yore_core::exchange::TurnShape;
use yore_core::id::TurnId;
use yore_core::memory::{Fields, MemoryKind, SourceKind};
use yore_core::text::cut;
use yore_core::time::UtcMillis;

use super::words::Words;

/// Longest statement of a proposal, in characters.
pub const MOST_STATEMENT_CHARS: usize = 300;
/// Longest details of a proposal, in characters.
pub const MOST_DETAILS_CHARS: usize = 700;

/// Most files that a statement names.
const FILES_TOLD: usize = 3;

/// A memory that a rule proposes.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Name of the rule: the reason why it is proposed.
    pub rule: &'static str,
    /// Kind of the statement.
    pub kind: MemoryKind,
    /// One thing, understandable alone, at most [`MOST_STATEMENT_CHARS`].
    pub statement: String,
    /// More about it.
    pub details: Option<String>,
    /// Fields of its kind.
    pub fields: Fields,
    /// Probability that it is right and worth keeping, 0 to 1.
    pub certainty: f32,
    /// Importance, 0 to 1.
    pub importance: f32,
    /// Turns that say it, each with a quote that stands there.
    pub evidence: Vec<(TurnId, String)>,
    /// Files that it speaks of.
    pub files: Vec<String>,
    /// Whose words it rests on.
    pub said_by: SourceKind,
    /// Language of its words.
    pub language: &'static str,
    /// When it was said.
    pub at: Option<UtcMillis>,
    /// True if its rule saw the outcome.
    pub is_proven: bool,
    /// True if its words are not certainly the person's own: it waits until a person reviews it.
    pub waits: bool,
}

impl Proposal {
    /// Makes a proposal that rests on words of a turn; `said_by` says whose they are. Its statement is cut to
    /// [`MOST_STATEMENT_CHARS`], and its certainty and importance must be set.
    pub fn new(
        rule: &'static str,
        kind: MemoryKind,
        statement: &str,
        turn: &TurnShape<'_>,
        quote: &str,
        said_by: SourceKind,
        words: &Words,
    ) -> Self {
        Self {
            rule,
            kind,
            statement: cut(statement, MOST_STATEMENT_CHARS),
            details: None,
            fields: Fields::None,
            certainty: 0.0,
            importance: 0.0,
            evidence: vec![(turn.id, quote.to_owned())],
            files: Vec::new(),
            said_by,
            language: words.language,
            at: turn.at,
            is_proven: false,
            waits: false,
        }
    }

    /// Sets how certain and how important it is.
    #[must_use]
    pub fn weighing(self, certainty: f32, importance: f32) -> Self {
        Self { certainty, importance, ..self }
    }
}

/// Returns the fields of a solution.
pub fn solution(problem: String, error: Option<String>, files: Vec<String>) -> Fields {
    Fields::Solution { problem, error, cause: None, tried: Vec::new(), changes: Vec::new(), files }
}

/// Returns the names of the first files of some paths, after each other.
pub fn names_of(paths: &[String]) -> String {
    let names = paths.iter().filter_map(|path| path.rsplit(['/', '\\']).next()).take(FILES_TOLD);
    names.collect::<Vec<_>>().join(", ")
}
