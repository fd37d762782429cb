//! Queries, filters, lists and search modes, and the parts of a score.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::episode::{EpisodeKind, Role};
use crate::id::{EpisodeId, MemoryId, TurnId};
use crate::memory::dynamics::Tier;
use crate::memory::{MemoryKind, Status};
use crate::scope::ScopeChoice;
use crate::time::UtcMillis;

/// The filter of the turns and memories that may answer; an empty list means no restriction. Applied before ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    /// The projects.
    pub scope: ScopeChoice,
    /// Branches as recorded, compared exactly.
    pub branches: Vec<String>,
    /// Sessions: native ids, yore's ids, or unambiguous prefixes of either.
    pub sessions: Vec<String>,
    /// Agents, such as `claude-code`.
    pub agents: Vec<String>,
    /// Roles of the turns.
    pub roles: Vec<Role>,
    /// Kinds of the episodes.
    pub kinds: Vec<EpisodeKind>,
    /// Earliest time (inclusive).
    pub since: Option<UtcMillis>,
    /// Latest time (exclusive).
    pub until: Option<UtcMillis>,
    /// Only turns older than this instant (exclusive), to answer as of that time. A turn without a time is
    /// left out.
    pub as_of: Option<UtcMillis>,
    /// Only turns in which a tool reports an error.
    pub only_errors: bool,
    /// Only turns with a code block.
    pub has_code: bool,
    /// Files that the turn touches or names: the end of a path in whole components, ignoring case.
    pub files: Vec<String>,
    /// Languages of the code blocks, under any of their names.
    pub languages: Vec<String>,
    /// Turns, memories, or both may answer.
    #[serde(default)]
    pub wanted: Wanted,
    /// The conditions that memories must meet.
    #[serde(default)]
    pub memories: MemoryConditions,
}

named_enum! {
    /// The kinds of items that may answer a question.
    #[derive(Default)]
    Wanted {
        /// Turns and memories.
        #[default]
        Both = "both",
        /// Turns.
        Turns = "turns",
        /// Memories.
        Memories = "memories",
    }
}

/// The conditions that memories must meet; an empty list means no restriction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryConditions {
    /// Kinds.
    pub kinds: Vec<MemoryKind>,
    /// Statuses; empty: all but archived ones.
    pub statuses: Vec<Status>,
    /// Only memories with one of these tags.
    pub tags: Vec<String>,
    /// Only memories about one of these entities, by name or alias.
    pub entities: Vec<String>,
    /// Only memories that were true at this time, as far as is known.
    pub valid_at: Option<UtcMillis>,
    /// Only memories of these tiers; empty: of all.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// Only memories with at least this decay score, 0 to 1.
    #[serde(default)]
    pub least_decay: Option<f32>,
}

impl MemoryConditions {
    /// Returns whether there is a condition besides status and validity.
    pub fn asks_for_content(&self) -> bool {
        !self.kinds.is_empty() || !self.tags.is_empty() || !self.entities.is_empty()
    }
}

impl Filter {
    /// Returns whether the filter depends on the content of a turn: code, files, errors.
    pub fn asks_for_content(&self) -> bool {
        self.only_errors || self.has_code || !self.files.is_empty() || !self.languages.is_empty()
    }

    /// Returns whether a view over what is recorded can meet the filter: it knows projects and times alone.
    pub fn is_open_to_views(&self) -> bool {
        let lists = [self.branches.is_empty(), self.sessions.is_empty(), self.agents.is_empty(), self.kinds.is_empty()];
        !lists.contains(&false)
            && self.roles.is_empty()
            && !self.asks_for_content()
            && self.wanted == Wanted::Both
            && self.memories == MemoryConditions::default()
            && self.as_of.is_none()
    }
}

open_named_enum! {
    /// A ranked list that proposes candidates.
    List {
        /// Full text, scored by BM25.
        Words = "words",
        /// Similarity of meaning by the static table, scored by cosine.
        Static = "static",
        /// Similarity of meaning by the local model, scored by cosine.
        Model = "model",
        /// Turns that were said in a period that the question names.
        Period = "period",
        /// Passages linked to the best ones by titles and names.
        Links = "links",
        /// Memories and turns near the entities that the question names, along relations.
        Graph = "graph",
    }
}

open_named_enum! {
    /// A named part of a score.
    Part {
        /// Words in the text.
        Text = "text",
        /// Words in the input and output of tools.
        Tool = "tool",
        /// Similarity of meaning.
        Meaning = "meaning",
        /// The best turn nearby in the same conversation.
        Neighbour = "neighbour",
        /// The best turns of the same conversation.
        Session = "session",
        /// It ends an exchange, and is not on the way to a tool; more of the question's words.
        Conclusive = "conclusive",
        /// Newer than another turn about the same subject.
        Newer = "newer",
        /// Said in a period that the question names.
        Period = "period",
        /// Links between passages.
        Links = "links",
        /// Other than the hits above it.
        Diversity = "diversity",
        /// Signs of people's talk: speaker, length, words nearby.
        Talk = "talk",
        /// How well the cross-encoder thinks that it answers.
        Rerank = "rerank",
        /// Relations with the entities that the question names.
        Graph = "graph",
        /// Kind, lane and status of a memory, and what it stands for.
        Memory = "memory",
    }
}

named_enum! {
    /// Conversations in which a newer turn about the same subject comes before the older.
    #[derive(Default)]
    NewerFirst {
        /// Nowhere.
        Never = "never",
        /// In sessions of coding agents, where a later statement replaces an earlier one.
        #[default]
        Agents = "agents",
        /// In all conversations.
        Everywhere = "everywhere",
    }
}

named_enum! {
    /// When a cross-encoder reads the best candidates together with the question.
    #[derive(Default)]
    Rerank {
        /// Never.
        #[default]
        Never = "never",
        /// If no other question or text occupies the models.
        Idle = "idle",
        /// Always.
        Always = "always",
    }
}

open_named_enum! {
    /// The kind of thing that a question asks for. It decides which passages an answer shows.
    AskedFor {
        /// Several things of one kind.
        List = "list",
        /// How things are.
        State = "state",
        /// How things were.
        History = "history",
        /// Why something is so.
        Reason = "reason",
        /// How something is done, or was mended.
        Method = "method",
        /// An error message: what mended it.
        Error = "error",
        /// A file, a command, a name in code.
        Place = "place",
        /// Nothing: words without a question.
        Words = "words",
    }
}

open_named_enum! {
    /// The kind of answer that a question wants: passages, or a view over what is recorded.
    AnswerKind {
        /// Turns and memories in the usual ranking.
        Passages = "passages",
        /// The cause of an error, and what mended it.
        Cause = "cause",
        /// Commands that passed for a purpose.
        Commands = "commands",
        /// Steps that wait.
        Todos = "todos",
        /// Open questions.
        Questions = "questions",
        /// Problems.
        Problems = "problems",
        /// Decisions.
        Decisions = "decisions",
        /// Plans, with what the person said to them.
        Plans = "plans",
        /// Calls and changes that the person refused.
        Refusals = "refusals",
        /// Standing orders, standards and preferences.
        Rules = "rules",
        /// Pull requests with their state.
        PullRequests = "pull_requests",
        /// Issues and tickets with their state.
        Issues = "issues",
        /// Releases and version tags.
        Releases = "releases",
        /// Commits.
        Commits = "commits",
        /// Errors that came back.
        Errors = "errors",
        /// Files that were changed most, or together with one.
        Files = "files",
        /// The work of a period, or on a subject, by session.
        Work = "work",
        /// An overview of a project or a subject.
        Overview = "overview",
    }
}

open_named_enum! {
    /// A resource that an answer had to do without.
    MissingCode {
        /// The local model.
        Model = "model",
        /// Vectors of some or all turns.
        Vectors = "vectors",
        /// The vector indexes, or turns that wait for them.
        VectorIndex = "vector-index",
        /// Turns that wait for the full-text index.
        TextIndex = "text-index",
        /// Code, files and errors of turns that were not examined yet.
        Shape = "shape",
        /// Parts that the deadline of the request left no time for.
        Late = "late",
        /// The cross-encoder.
        Reranker = "reranker",
    }
}

named_enum! {
    /// How much is read for an answer in sentences.
    AskDepth {
        /// The best passages, or what is recorded.
        Preview = "preview",
        /// More passages, and what the person said to them.
        Full = "full",
        /// Also what the names in the first evidence lead to.
        Deep = "deep",
    }
}

named_enum! {
    /// The ways in which a language model reads more than fits into a prompt.
    ReadingStrategy {
        /// All of it in one prompt.
        Direct = "direct",
        /// By a plan: readers look at each batch of pieces alone, and a program puts together what they find.
        Planned = "planned",
        /// The model looks around by itself, one action a turn.
        Iterative = "iterative",
        /// The model writes programs that look around and ask readers.
        Code = "code",
    }
}

named_enum! {
    /// The way in which the scores of several lists become one.
    #[derive(Default)]
    Fusion {
        /// Sum of the heights above each list's floor.
        #[default]
        Heights = "heights",
        /// Sum of the inverted ranks in each list (reciprocal rank fusion).
        Ranks = "ranks",
    }
}

/// One part of a score; the parts of a hit sum to its score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScorePart {
    /// Name of the part.
    pub part: Part,
    /// Value of the part.
    pub value: f32,
}

/// A candidate's place in one list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListPlace {
    /// The list.
    pub list: List,
    /// Rank, from 1.
    pub rank: usize,
    /// Score in the list's own unit.
    pub score: f32,
}

/// The lists that answer; every answer and figure names the mode that it was made with.
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
    /// Returns the name of the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Static => "static",
            Self::Full => "full",
        }
    }
}

/// The id of something that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemId {
    /// A turn of a conversation, or a passage of a document.
    Turn(TurnId),
    /// A memory.
    Memory(MemoryId),
}

impl ItemId {
    /// Returns the short form, by which a person names it.
    pub fn short(self) -> String {
        match self {
            Self::Turn(turn) => turn.short(),
            Self::Memory(memory) => memory.short(),
        }
    }

    /// Reads an id as it is written whole. The version of its UUID says what it is the id of.
    pub fn parse(text: &str) -> Option<Self> {
        match text.bytes().filter(|byte| *byte != b'-').nth(12) {
            Some(b'7') => text.parse().ok().map(Self::Memory),
            _ => text.parse().ok().map(Self::Turn),
        }
    }

    /// Returns the turn, if it is one.
    pub fn turn(self) -> Option<TurnId> {
        match self {
            Self::Turn(turn) => Some(turn),
            Self::Memory(_) => None,
        }
    }

    /// Returns the memory, if it is one.
    pub fn memory(self) -> Option<MemoryId> {
        match self {
            Self::Turn(_) => None,
            Self::Memory(memory) => Some(memory),
        }
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(turn) => turn.fmt(f),
            Self::Memory(memory) => memory.fmt(f),
        }
    }
}

/// The source of a passage.
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
    /// Path of the file that was read; the file may be gone by now.
    pub path: String,
    /// 1-based line in that file.
    pub line: u64,
}
