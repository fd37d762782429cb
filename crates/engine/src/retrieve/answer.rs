//! The answer of recall: hits, score parts, warnings and missing parts.

use serde::{Deserialize, Serialize};
use yore_core::episode::{Caveat, Role};
use yore_core::files::RankedFile;
use yore_core::id::{EntityId, MemoryId, TurnId};
use yore_core::memory::dynamics::Standing;
use yore_core::memory::{AnchorVerdict, Memory, Status};
use yore_core::query::{AnswerKind, AskedFor, ItemId, ListPlace, MissingCode, Place, ScorePart, SearchMode};
use yore_core::strength::Evidence;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::View;
use crate::error::EngineError;
use crate::store::{ItemKey, MemoryKey, ShownTurn, TurnKey};

/// Result of a recall.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecallAnswer {
    /// Turns and memories, best first.
    pub hits: Vec<Hit>,
    /// The sessions that contain the hits, best first.
    pub sessions: Vec<SessionHit>,
    /// Names of the projects that were searched, empty if all were.
    pub projects: Vec<String>,
    /// True if nothing was searched: the search was limited to the current project, and the directory belongs
    /// to no known project.
    pub is_project_unknown: bool,
    /// Mode, that is the lists that were searched.
    pub mode: SearchMode,
    /// Parts that could not be searched, each with its remedy.
    pub missing: Vec<Missing>,
    /// Kind of thing that the question asks for.
    pub asked_for: AskedFor,
    /// Kind of answer that the question wants. [`crate::Engine::answer`] decides it.
    pub answer_kind: AnswerKind,
    /// The answer in kind, if one is recorded.
    pub view: Option<View>,
    /// Periods that the question names, at most three.
    #[serde(default)]
    pub periods: Vec<SearchedPeriod>,
    /// The entities from which relations were followed, the heaviest first.
    #[serde(default)]
    pub anchors: Vec<Anchor>,
    /// Signs that the memory bears on the question.
    pub evidence: Evidence,
    /// Probability that it does, 0 to 1.
    pub confidence: f32,
    /// True if there were hits, but none that is likely enough to bear on the question.
    pub is_refused: bool,
    /// Conditions of the filter that let nothing through, with what the question finds without each.
    #[serde(default)]
    pub withheld: Vec<Withheld>,
    /// Words of the question that no turn in the memory has; only looked for where the evidence is weak.
    pub unmet: Vec<String>,
    /// Number of turns in the full-text index.
    pub indexed: u64,
    /// Terms that were searched for.
    pub terms: Vec<String>,
    /// Files that agents opened in the exchanges of the hits, best first, if the request or the question asks
    /// for them.
    pub files: Vec<RankedFile>,
    /// Topics in which the hits lie, and those that are most similar to the question, if the request asks for topics
    /// ([`crate::Engine::tell_topics`] adds them).
    #[serde(default)]
    pub topics: Vec<AnswerTopic>,
    /// Number of turns that were not in the full-text index yet and were searched in memory.
    pub pending: usize,
    /// Lower bound for the number of turns that match at all.
    pub landed: usize,
    /// Wall time in microseconds: planning, searching the lists, reading the text.
    pub micros: [u64; 3],
}

/// A topic of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerTopic {
    /// Its first turn.
    pub turn: TurnId,
    /// Its name.
    pub name: String,
    /// The agent's own id of the session.
    pub session: String,
    /// Time of its first turn.
    pub started: Option<UtcMillis>,
    /// Number of its exchanges.
    pub exchanges: u32,
    /// Ranks of the hits that lie in it; empty: it is one of those that are most similar to the question.
    pub hits: Vec<usize>,
    /// Similarity to the question, 0 to 1, if it has no hit.
    pub similarity: Option<f32>,
}

/// An entity from which relations were followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Its id.
    pub id: EntityId,
    /// Its name.
    pub name: String,
    /// True if the question names it; otherwise the best memories are about it.
    pub is_named: bool,
    /// Its share of the weight of all anchors.
    pub weight: f32,
}

/// A period that a question names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedPeriod {
    /// Its first millisecond.
    pub start: UtcMillis,
    /// The first millisecond after it.
    pub end: UtcMillis,
    /// Number of candidates in it; 0: nothing was found there.
    pub found: usize,
}

/// A part that the answer had to do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Stable code.
    pub code: MissingCode,
    /// Description of the missing part.
    pub text: String,
    /// True if it may come back by itself.
    pub may_pass: bool,
}

impl Missing {
    /// The local model cannot be used.
    pub(crate) fn model(error: &EngineError) -> Self {
        Self { code: MissingCode::Model, text: error.to_string(), may_pass: false }
    }

    /// The cross-encoder cannot be used.
    pub(crate) fn reranker(error: &EngineError) -> Self {
        Self { code: MissingCode::Reranker, text: error.to_string(), may_pass: false }
    }

    /// Some or all turns have no vectors of the local model.
    pub(crate) fn vectors(text: String) -> Self {
        Self { code: MissingCode::Vectors, text, may_pass: false }
    }

    /// Some turns were not yet analysed for code, files and errors, which the filter needs.
    pub(crate) fn shape(count: usize) -> Self {
        let text = match count {
            1 => "1 turn was not yet searched for code, files and errors".to_owned(),
            count => format!("{count} turns were not yet searched for code, files and errors"),
        };
        Self { code: MissingCode::Shape, text, may_pass: false }
    }

    /// There was no time left for these parts.
    pub(super) fn late(parts: &[&str]) -> Self {
        let text = format!("no time was left for {}", parts.join(", "));
        Self { code: MissingCode::Late, text, may_pass: false }
    }

    /// More turns wait for an index than a query searches in memory.
    pub(super) fn behind(code: MissingCode, index: &str, waiting: usize) -> Self {
        let text = format!("{waiting} turns are not in {index} yet, and not all of them were searched");
        Self { code, text, may_pass: true }
    }

    /// The vector indexes cannot be used.
    pub(crate) fn index(error: &EngineError) -> Self {
        Self { code: MissingCode::VectorIndex, text: error.to_string(), may_pass: false }
    }
}

/// A hit: the item found, and the properties that all kinds of items share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// Sum of the parts.
    pub score: f32,
    /// Parts of the score.
    pub parts: Vec<ScorePart>,
    /// Places in the lists that proposed it.
    pub lists: Vec<ListPlace>,
    /// Probability that a memory with this hit bears on the question, 0 to 1.
    pub confidence: f32,
    /// The passages that answer, verbatim, with an ellipsis at each cut; empty if the budget has no room for it.
    pub quote: String,
    /// Rank of the first hit of the same exchange.
    pub exchange: usize,
    /// Passages of other turns of the exchange, such as the outcome of a prompt, if this is its first hit.
    pub beside: Vec<Said>,
    /// The person's decision right after it, if it is an agent's turn with a passage and the answer has a budget.
    #[serde(default)]
    pub reply: Option<Said>,
    /// The work that was done in its exchange, if that is asked for and this is its first hit.
    #[serde(default)]
    pub work: Option<Box<WorkDone>>,
    /// Location of the text; for a memory, that of its first evidence, if there is any.
    pub place: Option<Place>,
    /// Time when it was said or recorded.
    pub time: RecordedTime,
    /// Name of the project.
    pub project: Option<String>,
    /// The item found.
    pub found: Found,
    /// Lower ranked turns that say the same in nearly the same words, best first.
    pub also: Vec<Place>,
}

/// The work that was done in an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkDone {
    /// Files that were changed, relative to the directory of the agent.
    pub changed: Vec<String>,
    /// Files that were only read.
    pub read: Vec<String>,
    /// The command that worked: one that failed before, or the last that did more than look at something.
    pub command: Option<String>,
    /// The first sentence of the agent's last message.
    pub outcome: Option<String>,
}

impl WorkDone {
    /// Returns whether nothing is known to have been done.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.read.is_empty() && self.command.is_none()
    }
}

/// Kinds of items that can be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "an answer has few of them")]
pub enum Found {
    /// A turn of a conversation, or a passage of a document.
    Turn(ShownTurn),
    /// A memory.
    Memory(FoundMemory),
}

/// A memory that was found, with what stands behind it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FoundMemory {
    pub(crate) row: MemoryKey,
    /// The record; with `as_of`, as it stood then.
    pub memory: Memory,
    /// Its strength, retention and tier now; `None` if it is shown as it stood at another time.
    #[serde(default)]
    pub standing: Option<Standing>,
    /// Lower ranked memories that say the same, or a part of it, best first.
    #[serde(default)]
    pub same: Vec<MemoryId>,
    /// Names of the entities that it is about.
    pub entities: Vec<String>,
    /// Turns that it rests on, as far as they are still there, in the order of its evidence.
    pub sources: Vec<MemorySource>,
    /// The statements whose place it took, newest first.
    pub history: Vec<PastStatement>,
    /// The memory that closed it, if it is a question, a problem or a todo that was closed.
    #[serde(default)]
    pub closed_by: Option<PastStatement>,
    /// Memories that hold and that it contradicts: nobody settled that.
    #[serde(default)]
    pub contradicts: Vec<PastStatement>,
    /// Memories that hold, of which one is a special case of the other.
    #[serde(default)]
    pub qualified: Vec<Qualified>,
    /// Things that it speaks of and that are no longer as they were, when a working tree was last looked at.
    #[serde(default)]
    pub changed: Vec<AnchorVerdict>,
}

/// A memory that holds in a part of where another one holds, told with either of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Qualified {
    /// The other one.
    pub statement: PastStatement,
    /// The place or the condition of the special case.
    pub reason: Option<String>,
    /// True if the other one is the special case.
    pub is_special: bool,
}

/// A turn that a memory rests on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemorySource {
    pub(crate) row: TurnKey,
    /// Its place.
    pub place: Place,
    /// When it was said.
    pub at: Option<UtcMillis>,
}

/// A statement whose place a memory took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastStatement {
    /// Id of the memory that states it.
    pub id: MemoryId,
    /// The statement.
    pub statement: String,
    /// Its status.
    pub status: Status,
    /// When it was recorded.
    pub recorded: UtcMillis,
    /// Since when it has its status.
    pub until: Option<UtcMillis>,
    /// Why it has that status.
    pub cause: Option<String>,
    /// True if it holds, and the memory likely changes it: nobody settled that.
    #[serde(default)]
    pub is_likely: bool,
}

impl Hit {
    /// Returns its key.
    pub(crate) fn key(&self) -> ItemKey {
        match &self.found {
            Found::Turn(turn) => ItemKey::Turn(turn.row),
            Found::Memory(memory) => ItemKey::Memory(memory.row),
        }
    }

    /// Returns the row of its turn; of a memory, that of its first evidence.
    pub(crate) fn turn_key(&self) -> Option<TurnKey> {
        match &self.found {
            Found::Turn(turn) => Some(turn.row),
            Found::Memory(memory) => memory.sources.first().map(|source| source.row),
        }
    }

    /// Returns the id of what was found.
    pub fn id(&self) -> ItemId {
        match &self.found {
            Found::Turn(turn) => ItemId::Turn(turn.id),
            Found::Memory(memory) => ItemId::Memory(memory.memory.id),
        }
    }

    /// Returns the turn, if it is one.
    pub fn as_turn(&self) -> Option<&ShownTurn> {
        match &self.found {
            Found::Turn(turn) => Some(turn),
            Found::Memory(_) => None,
        }
    }

    /// Returns the memory, if it is one.
    pub fn as_memory(&self) -> Option<&FoundMemory> {
        match &self.found {
            Found::Turn(_) => None,
            Found::Memory(memory) => Some(memory),
        }
    }

    /// Makes a hit of a memory that was not ranked.
    pub(crate) fn of_memory(memory: FoundMemory, project: Option<String>) -> Self {
        let utc = Some(memory.memory.recorded);
        let time = RecordedTime { utc, original: None, offset_minutes: Some(0), quality: TimeQuality::Exact };
        let place = memory.sources.first().map(|source| source.place.clone());
        Self::unranked(Found::Memory(memory), place, time, project)
    }

    /// Makes a hit of a turn that was not ranked.
    pub(crate) fn of_turn(turn: ShownTurn, quote: String) -> Self {
        let (place, time, project) = (Some(turn.place()), turn.time.clone(), turn.project.clone());
        Self { quote, ..Self::unranked(Found::Turn(turn), place, time, project) }
    }

    fn unranked(found: Found, place: Option<Place>, time: RecordedTime, project: Option<String>) -> Self {
        Self {
            rank: 1,
            score: 0.0,
            parts: Vec::new(),
            lists: Vec::new(),
            confidence: 0.0,
            quote: String::new(),
            exchange: 1,
            beside: Vec::new(),
            reply: None,
            work: None,
            place,
            time,
            project,
            found,
            also: Vec::new(),
        }
    }
}

/// Text of a turn.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Said {
    /// Id of the turn.
    pub turn: TurnId,
    /// Role of the speaker.
    pub role: Role,
    /// Why nothing is learned from it, if that is so.
    #[serde(default)]
    pub caveat: Option<Caveat>,
    /// Time when it was said.
    pub at: Option<UtcMillis>,
    /// 1-based line in the file that it was read from.
    pub line: u64,
    /// Its text, or passages of it.
    pub text: String,
}

/// A passage of an exchange.
#[derive(Clone, Copy, Debug)]
pub enum Passage<'a> {
    /// Passages of a hit.
    Hit(&'a Hit),
    /// Passages of a turn beside a hit.
    Beside(&'a Said),
}

impl<'a> Passage<'a> {
    /// Returns the id of what it is from.
    pub fn id(self) -> ItemId {
        match self {
            Self::Hit(hit) => hit.id(),
            Self::Beside(said) => ItemId::Turn(said.turn),
        }
    }

    /// Returns the words.
    pub fn text(self) -> &'a str {
        match self {
            Self::Hit(hit) => &hit.quote,
            Self::Beside(said) => &said.text,
        }
    }

    /// Memories stand before what was said.
    fn order(self) -> (bool, Option<UtcMillis>, u64) {
        match self {
            Self::Hit(hit) => (hit.as_turn().is_some(), hit.time.utc, hit.place.as_ref().map_or(0, |place| place.line)),
            Self::Beside(said) => (true, said.at, said.line),
        }
    }
}

/// The passages of an exchange.
#[derive(Clone, Debug)]
pub struct ExchangeHits<'a> {
    /// Its best hit.
    pub head: &'a Hit,
    /// At least one passage, in the order in which they were said.
    pub passages: Vec<Passage<'a>>,
}

/// Returns the passages of hits by exchange, the exchange with the best hit first. Hits without a passage are
/// left out.
pub fn exchanges<'a>(hits: impl Iterator<Item = &'a Hit>) -> Vec<ExchangeHits<'a>> {
    let mut groups: Vec<ExchangeHits<'a>> = Vec::new();
    for hit in hits {
        let own = (!hit.quote.is_empty()).then_some(Passage::Hit(hit));
        let passages = own.into_iter().chain(hit.beside.iter().map(Passage::Beside));
        match groups.iter_mut().find(|group| group.head.exchange == hit.exchange) {
            Some(group) => group.passages.extend(passages),
            None => groups.push(ExchangeHits { head: hit, passages: passages.collect() }),
        }
    }
    groups.retain(|group| !group.passages.is_empty());
    for group in &mut groups {
        group.passages.sort_by_key(|passage| passage.order());
    }
    groups
}

impl Said {
    /// Returns a turn without its text.
    pub(crate) fn of(turn: &ShownTurn) -> Self {
        Self { turn: turn.id, role: turn.role, caveat: turn.caveat, at: turn.time.utc, line: turn.line, text: String::new() }
    }
}

/// Conditions of a filter that keep all results from an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Their names, such as `since`.
    pub filters: Vec<String>,
    /// Number of results without them, at most 100.
    pub count: usize,
}

/// A session with hits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionHit {
    /// Yore's id of the episode.
    pub episode: yore_core::id::EpisodeId,
    /// The agent's own id.
    pub native_id: String,
    /// Score of its best turn.
    pub score: f32,
    /// Its title, if the request asks for titles.
    #[serde(default)]
    pub title: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_lacked_is_the_same_behind_the_daemon() {
        let all = [
            Missing::model(&EngineError::NoModel),
            Missing::vectors("few".to_owned()),
            Missing::index(&EngineError::NoModel),
            Missing::behind(MissingCode::TextIndex, "the full-text index", 3),
            Missing::shape(2),
            Missing::late(&["ranking files"]),
            Missing::reranker(&EngineError::NoModel),
        ];
        for missing in &all {
            let told = serde_json::to_string(missing).unwrap();
            assert_eq!(serde_json::from_str::<Missing>(&told).unwrap(), *missing);
        }
        assert_eq!(all.map(|missing| missing.code).as_slice(), MissingCode::ALL);
    }
}
