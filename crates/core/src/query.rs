//! A question, the filter that bounds it, and what an answer is made of.

use crate::episode::{EpisodeKind, Role};
use crate::id::{EpisodeId, TurnId};
use crate::scope::ScopeChoice;
use crate::time::UtcMillis;

/// What may answer; an empty list means no restriction. Applied before ranking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Which projects.
    pub scope: ScopeChoice,
    /// Branches as recorded, compared exactly.
    pub branches: Vec<String>,
    /// Sessions: native ids, yore's ids, or unambiguous prefixes of either.
    pub sessions: Vec<String>,
    /// Agents, such as `claude-code`.
    pub agents: Vec<String>,
    /// Who spoke.
    pub roles: Vec<Role>,
    /// What kind of episode.
    pub kinds: Vec<EpisodeKind>,
    /// Not before (inclusive).
    pub since: Option<UtcMillis>,
    /// Before (exclusive).
    pub until: Option<UtcMillis>,
    /// Only what was known then: turns older than this instant (exclusive). A turn without a
    /// time is older than nothing and stays out.
    pub as_of: Option<UtcMillis>,
}

/// A turn that a ranked list proposes, with that list's score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The store's row of the turn.
    pub row: i64,
    /// The list's own score; higher is better.
    pub score: f32,
}

/// One named part of a score; the parts of an answer sum to its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorePart {
    /// What contributed, such as `text` or `tool`.
    pub name: &'static str,
    /// By how much.
    pub value: f32,
}

/// Where one list had a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListPlace {
    /// The list: `words` (BM25), `static` or `model` (cosine).
    pub name: &'static str,
    /// From 1.
    pub rank: usize,
    /// The list's own score.
    pub score: f32,
}

/// Which lists answer: what a figure or an answer was made with is always said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Program {
    /// Full text only.
    Lexical,
    /// Full text and the static table's vectors.
    #[default]
    Static,
    /// Full text and the local model's vectors.
    Full,
}

impl Program {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Static => "static",
            Self::Full => "full",
        }
    }
}

/// Where the words stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The episode.
    pub episode: EpisodeId,
    /// The turn.
    pub turn: TurnId,
    /// The agent's own id of the session.
    pub native_session: String,
    /// The agent's own id of the message.
    pub native_message: String,
    /// The file that was read, which may be gone by now.
    pub path: String,
    /// 1-based line in that file.
    pub line: u64,
}
