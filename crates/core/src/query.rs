//! A question, the filter that bounds it, and what an answer is made of.

use serde::{Deserialize, Serialize};

use crate::episode::{EpisodeKind, Role};
use crate::id::{EpisodeId, TurnId};
use crate::scope::ScopeChoice;
use crate::time::UtcMillis;

/// What may answer; an empty list means no restriction. Applied before ranking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Only turns in which a tool reports an error.
    pub only_errors: bool,
    /// Only turns with a code block.
    pub has_code: bool,
    /// Files that the turn touches or names: the end of a path in whole components, whatever the
    /// case of letters.
    pub files: Vec<String>,
    /// Languages of its code blocks, under any of their names.
    pub languages: Vec<String>,
}

impl Filter {
    /// Whether it goes by what a turn holds: code, files, errors.
    pub fn asks_for_content(&self) -> bool {
        self.only_errors || self.has_code || !self.files.is_empty() || !self.languages.is_empty()
    }
}

open_named_enum! {
    /// A ranked list that proposes what may answer.
    List {
        /// Full text, scored by BM25.
        Words = "words",
        /// Nearness of meaning by the static table, scored by cosine.
        Static = "static",
        /// Nearness of meaning by the local model, scored by cosine.
        Model = "model",
    }
}

open_named_enum! {
    /// A named part of a score.
    Part {
        /// Words in what was said.
        Text = "text",
        /// Words in what tools took and gave.
        Tool = "tool",
        /// Nearness of meaning.
        Meaning = "meaning",
        /// The best turn nearby in the same conversation.
        Neighbour = "neighbour",
        /// The best turns of the same conversation.
        Session = "session",
    }
}

open_named_enum! {
    /// Something that an answer had to do without.
    MissingCode {
        /// The local model.
        Model = "model",
        /// Vectors of some or all turns.
        Vectors = "vectors",
        /// The vector indexes, or what waits for them.
        VectorIndex = "vector-index",
        /// Turns that wait for the full-text index.
        TextIndex = "text-index",
        /// Code, files and errors of turns that wait to be looked through.
        Shape = "shape",
    }
}

/// One part of a score; the parts of a hit sum to its score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScorePart {
    /// What contributed.
    pub part: Part,
    /// By how much.
    pub value: f32,
}

/// Where one list had a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListPlace {
    /// The list.
    pub list: List,
    /// From 1.
    pub rank: usize,
    /// The list's own score.
    pub score: f32,
}

/// Which lists answer: what a figure or an answer was made with is always said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// Full text only.
    Lexical,
    /// Full text and the static table's vectors.
    #[default]
    Static,
    /// Full text and the local model's vectors.
    Full,
}

impl SearchMode {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
