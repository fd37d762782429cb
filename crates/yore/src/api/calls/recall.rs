//! Search: results with their reasons, answers in sentences, and things at a level.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::episode::{EpisodeKind, Role};
use yore_core::level::Level;
use yore_core::memory::{MemoryKind, Status};
use yore_core::query::{AnswerKind, AskDepth, Filter, MemoryConditions, Wanted};
use yore_core::scope::ScopeChoice;
use yore_engine::{AskRequest, DeepenRequest, RecallRequest};
use yore_sources::source::note;

use super::{all_named, named, time};
use crate::api::route::{Caller, Route};
use crate::error::{CliError, CliResult};
use crate::recall_request::{self, ROLES};
use crate::results::{AtLevel, Recalled, Spoken};

/// Most results.
const MOST: usize = 200;
/// Most other wordings of a question.
const MOST_WORDINGS: usize = 5;
/// Longest deadline.
const LONGEST_MS: u64 = 600_000;
/// Usual tokens of a thing at a level, and most of them.
const LEVEL_TOKENS: usize = 2_000;
const MOST_LEVEL_TOKENS: usize = 100_000;
/// Kinds that are none of episodes and memories: notes, what was said, memories of any kind.
const NOTE: &str = "note";
const TURN: &str = "turn";
const MEMORY: &str = "memory";

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route::ask("/recall", "Searches the memory; every result says why it was found", &["recall"], recall),
        Route::get("/search", "Searches the memory as /recall does, for short questions", &["recall"], recall),
        Route::ask("/ask", "Answers in sentences of the memory, each with its sources", &["ask_in_sentences"], ask),
        Route::get("/deepen", "Reads a thing at a level: line, passage, whole, related, synthesis", &["deepen"], deepen),
    ]
}

/// A question with its filters. A list that is left out lets everything through.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Recall {
    /// Words, an error or a path; "quoted words" are a phrase; `q` for short
    #[serde(alias = "q")]
    pub question: String,
    /// At most five other ways in which the answer may have been said
    pub wordings: Vec<String>,
    /// Only these projects: name, id or directory
    pub project: Vec<String>,
    /// session, subagent, document, note; turn (all that was said); memory, or kinds of memories such as decision
    pub kind: Vec<String>,
    /// Only memories with these statuses; without: all but archived ones
    pub status: Vec<String>,
    /// Who spoke: human, assistant, tool_call, tool_result, summary
    pub role: Vec<String>,
    /// Only these sessions, by id or the beginning of it
    pub session: Vec<String>,
    /// Only these agents, such as claude-code
    pub agent: Vec<String>,
    /// The kind of answer, such as todos or passages; without: the question decides
    #[serde(rename = "as")]
    pub answer_kind: Option<String>,
    /// Only these git branches
    pub branch: Vec<String>,
    /// Only what names or touches these files
    pub file: Vec<String>,
    /// Only failures of tools
    pub errors: Option<bool>,
    /// From this date or time on, or "last week"
    pub since: Option<String>,
    /// Before this date or time
    pub until: Option<String>,
    /// As it was known then
    pub as_of: Option<String>,
    /// Only memories that were true then
    pub valid_at: Option<String>,
    /// Most results, 1 to 200
    pub limit: Option<usize>,
    /// Least likelihood of a result, 0 to 1; 0 shows what is nearest even if nothing bears on the question
    pub min_confidence: Option<f32>,
    /// Most milliseconds; what there is no time for is left out and named
    pub deadline_ms: Option<u64>,
}

impl Recall {
    /// Returns the engine's request: of all projects, unless some are named.
    fn request(&self, caller: &Caller<'_>) -> CliResult<RecallRequest> {
        let question = self.question.trim();
        if question.is_empty() {
            return Err(CliError::usage("the question is empty", None));
        }
        let wordings: Vec<String> = self.wordings.iter().filter(|words| !words.trim().is_empty()).cloned().collect();
        if wordings.len() > MOST_WORDINGS {
            return Err(CliError::usage(format!("wordings: expected at most {MOST_WORDINGS}, not {}", wordings.len()), None));
        }
        let usual = recall_request::request(question, caller.config(), None);
        let limit = match self.limit {
            None => usual.limit,
            Some(limit) if (1..=MOST).contains(&limit) => limit,
            Some(limit) => return Err(CliError::usage(format!("limit: expected 1 to {MOST}, not {limit}"), None)),
        };
        let deadline = match self.deadline_ms {
            Some(0) => return Err(CliError::usage("deadline_ms: expected at least 1", None)),
            given => given.map(|millis| Duration::from_millis(millis.min(LONGEST_MS))),
        };
        let as_of = |words| recall_request::as_of(words).map_err(|expected| CliError::usage(format!("as_of: {expected}"), None));
        let kinds: Vec<&str> = AnswerKind::ALL.iter().map(|kind| kind.as_str()).collect();
        let answer_kind = |name: &str| AnswerKind::ALL.iter().copied().find(|kind| kind.as_str() == name);
        let wanted = Kinds::read(&self.kind)?;
        let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        let mut agents = self.agent.clone();
        agents.extend(wanted.is_note.then(|| note::KIND.to_owned()));
        Ok(RecallRequest {
            wordings,
            answer_kind: named("as", self.answer_kind.as_deref(), answer_kind, &kinds)?,
            filter: Filter {
                scope: if self.project.is_empty() { ScopeChoice::All } else { ScopeChoice::Projects(self.project.clone()) },
                branches: self.branch.clone(),
                sessions: self.session.clone(),
                agents,
                roles: all_named("role", &self.role, Role::parse, &ROLES)?,
                kinds: wanted.episodes,
                since: time("since", self.since.as_deref())?,
                until: time("until", self.until.as_deref())?,
                as_of: self.as_of.as_deref().map(as_of).transpose()?,
                only_errors: self.errors.unwrap_or(false),
                files: self.file.clone(),
                wanted: wanted.wanted,
                memories: MemoryConditions {
                    kinds: wanted.memories,
                    statuses: all_named("status", &self.status, Status::parse, &statuses)?,
                    valid_at: time("valid_at", self.valid_at.as_deref())?,
                    ..MemoryConditions::default()
                },
                ..Filter::default()
            },
            limit,
            with_titles: true,
            deadline,
            min_confidence: self.min_confidence.map(|least| least.clamp(0.0, 1.0)),
            ..usual
        })
    }
}

/// The kinds that a question names.
#[derive(Debug, Default, PartialEq)]
struct Kinds {
    episodes: Vec<EpisodeKind>,
    memories: Vec<MemoryKind>,
    is_note: bool,
    wanted: Wanted,
}

impl Kinds {
    fn read(names: &[String]) -> CliResult<Self> {
        let (mut kinds, mut is_of_memories, mut is_of_turns) = (Self::default(), false, false);
        for name in names {
            match (name.as_str(), EpisodeKind::parse(name), MemoryKind::named(name)) {
                (NOTE, ..) => {
                    kinds.is_note = true;
                    kinds.episodes.push(EpisodeKind::Document);
                }
                (TURN, ..) => is_of_turns = true,
                (MEMORY, ..) => is_of_memories = true,
                (_, Some(kind), _) => kinds.episodes.push(kind),
                (_, _, Some(kind)) => kinds.memories.push(kind),
                _ => {
                    let known = "session, subagent, document, note, turn, memory, or a kind of memory such as decision";
                    return Err(CliError::usage(format!("kind: expected {known}, not {name:?}"), None));
                }
            }
        }
        is_of_memories |= !kinds.memories.is_empty();
        is_of_turns |= !kinds.episodes.is_empty();
        kinds.wanted = match (is_of_turns, is_of_memories) {
            (true, false) => Wanted::Turns,
            (false, true) => Wanted::Memories,
            _ => Wanted::Both,
        };
        Ok(kinds)
    }
}

/// Searches the memory.
pub fn recall(caller: &mut Caller<'_>, recall: Recall) -> CliResult<Recalled> {
    let request = recall.request(caller)?;
    let answer = caller.memory.recall(&request, caller.may_be_full)?;
    let mut recalled = Recalled::exact(&request.question, &answer);
    if let (Some(limit), Some(view)) = (recall.limit, &mut recalled.view) {
        view.rows.truncate(limit);
    }
    Ok(recalled)
}

/// A question that is answered in sentences.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// The question
    pub question: String,
    /// How much is read: preview, full, deep; without: more until the answer is sure
    pub depth: Option<String>,
    /// Only these projects: name, id or directory
    pub project: Vec<String>,
    /// Only these sessions, by id or the beginning of it
    pub session: Vec<String>,
    /// Only these agents, such as claude-code
    pub agent: Vec<String>,
    /// From this date or time on, or "last week"
    pub since: Option<String>,
    /// Before this date or time
    pub until: Option<String>,
    /// As it was known then
    pub as_of: Option<String>,
}

/// Answers in sentences of the memory.
pub fn ask(caller: &mut Caller<'_>, ask: Ask) -> CliResult<Spoken> {
    let Ask { question, depth, project, session, agent, since, until, as_of } = ask;
    let depth = named("depth", depth.as_deref(), AskDepth::parse, &["preview", "full", "deep"])?;
    let recall = Recall { question, project, session, agent, since, until, as_of, ..Recall::default() };
    let recall = RecallRequest { with_titles: false, ..recall.request(caller)? };
    let question = recall.question.clone();
    Ok(Spoken::of(&question, &caller.memory.ask_in_sentences(AskRequest { recall, depth })?))
}

/// A thing that is read at a level.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deepen {
    /// Id of a memory, turn, session, note or entity, or its beginning; `topic:` with the id of a topic's first turn; a file's path
    pub id: String,
    /// line, passage, whole, related or synthesis
    pub level: String,
    /// The question on which passage and synthesis bear
    pub question: Option<String>,
    /// Most tokens
    pub budget: Option<usize>,
}

/// Reads a thing at a level.
pub fn deepen(caller: &mut Caller<'_>, deepen: Deepen) -> CliResult<AtLevel> {
    let levels: Vec<&str> = Level::ALL.iter().map(|level| level.as_str()).collect();
    let level = named("level", Some(deepen.level.as_str()), Level::parse, &levels)?.unwrap_or(Level::Line);
    let question = deepen.question.unwrap_or_default();
    let mut recall = recall_request::request(question.as_str(), caller.config(), None);
    recall.filter.scope = ScopeChoice::All;
    let budget = deepen.budget.unwrap_or(LEVEL_TOKENS).clamp(1, MOST_LEVEL_TOKENS);
    let found = caller.memory.deepen(DeepenRequest { id: deepen.id, level, recall, budget })?;
    Ok(AtLevel::of(&found, &question))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(names: &[&str]) -> Kinds {
        Kinds::read(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn kinds_of_memories_want_memories_and_kinds_of_sessions_turns() {
        assert_eq!(kinds(&[]).wanted, Wanted::Both);
        assert_eq!(kinds(&["decision", "fact"]).wanted, Wanted::Memories);
        assert_eq!(kinds(&["memory"]), Kinds { wanted: Wanted::Memories, ..Kinds::default() });
        assert_eq!(kinds(&["turn"]), Kinds { wanted: Wanted::Turns, ..Kinds::default() });
        assert_eq!(kinds(&["session", "decision"]).wanted, Wanted::Both);
        let note = kinds(&["note"]);
        assert!(note.is_note && note.episodes == [EpisodeKind::Document] && note.wanted == Wanted::Turns);
        assert!(Kinds::read(&["gull".to_owned()]).unwrap_err().message.contains("\"gull\""));
    }

    #[test]
    fn a_short_question_has_a_short_name() {
        let recall: Recall = serde_json::from_str(r#"{"q": "why", "limit": 3}"#).unwrap();
        assert_eq!((recall.question.as_str(), recall.limit), ("why", Some(3)));
    }
}
