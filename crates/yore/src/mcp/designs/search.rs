//! `search`, `search_hybrid`, `search_semantic` and others: recall under the names of the designs.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use yore_core::memory::{MemoryKind, Status};
use yore_core::query::{List, ListPlace, SearchMode, Wanted};
use yore_core::strength::refused_below;
use yore_core::time::format_utc;
use yore_engine::{Hit, RecallAnswer, RecallRequest};

use crate::error::CliResult;
use crate::mcp::access::{Access, asked_projects};
use crate::mcp::answer::Answer;
use crate::mcp::arguments::{given, needed, parse, within};
use crate::mcp::tools::recall::{Found, ask, quote_chars, rounded};
use crate::mcp::tools::{Call, Effect, described, recall};
use crate::recall_request;
use crate::results::{HybridAnswer, HybridHit, compact};

const MAX_LIMIT: usize = 50;
/// Number of results if the design gives none.
const USUAL_LIMIT: usize = 10;
/// Number of results of `search_past_solutions`, `find_similar_issues` and `recall_decision`.
pub const SOLUTIONS: usize = 5;
/// Kinds of memories that are issues.
const ISSUES: [MemoryKind; 3] = [MemoryKind::Problem, MemoryKind::Solution, MemoryKind::Attempt];
/// Maximum tokens of solutions with their exchange.
const SOLUTIONS_BUDGET: usize = 5_000;
/// Maximum number of characters of a question: only the beginning of a pasted context is used.
const QUESTION_CHARS: usize = 4_000;
/// Weights of meaning, words and relations, and the constant, of the design's fused score.
const FUSED: (f32, f32, f32, f32) = (0.4, 0.3, 0.3, 60.0);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Plain {
    /// Any words
    query: String,
    /// A project's name or "all"; default: the current one
    project: Option<String>,
    /// Most results
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

pub(super) fn plain_tool(name: &'static str) -> Result<Tool, String> {
    described::<Plain>(name, "Search", "Search everything that was said in earlier sessions.", Effect::Reads)
}

pub(super) async fn plain(call: Call) -> CliResult<Answer> {
    let Plain { query, project, limit } = parse(call.arguments)?;
    let request = asked(&call.access, &needed("query", &query)?, project, limit, USUAL_LIMIT)?;
    Ok(ask(&call.access, request, false).await?.tell(None))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Solutions {
    /// Description of the problem or error
    query: String,
    /// Specific error message if applicable
    #[serde(rename = "errorMessage")]
    error_message: Option<String>,
    /// Filter to a specific project
    project: Option<String>,
    /// Maximum results to return; default 5
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

pub(super) fn solutions_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Search for solutions from previous development sessions and chats: recorded solutions first, with what they rest \
         on, then what was only said about the problem.";
    described::<Solutions>(name, "Past solutions", description, Effect::Reads)
}

pub(super) async fn solutions(call: Call) -> CliResult<Answer> {
    let Solutions { query, error_message, project, limit } = parse(call.arguments)?;
    let question = with_error(&needed("query", &query)?, error_message);
    let request = asked(&call.access, &question, project, limit, SOLUTIONS)?;
    let limit = request.limit;
    let found = first(&call.access, request, &[MemoryKind::Solution]).await?;
    tell(&call.access, found, limit, ("solution", &[MemoryKind::Solution])).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfTopic {
    /// What the decision was about
    topic: String,
    /// Project context; default: the current one
    project: Option<String>,
}

pub(super) fn decision_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Recall why a technical decision was made: recorded decisions first, with what they replaced and rest on, then \
         what was only said about the topic.";
    described::<OfTopic>(name, "Past decisions", description, Effect::Reads)
}

pub(super) async fn decision(call: Call) -> CliResult<Answer> {
    let OfTopic { topic, project } = parse(call.arguments)?;
    let request = asked(&call.access, &needed("topic", &topic)?, project, None, SOLUTIONS)?;
    let found = first(&call.access, request, &[MemoryKind::Decision]).await?;
    tell(&call.access, found, SOLUTIONS, ("decision", &[MemoryKind::Decision])).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Issues {
    /// Current context or code snippet
    context: String,
    /// Error message if any
    #[serde(rename = "errorMessage")]
    error_message: Option<String>,
}

pub(super) fn issues_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Find past issues similar to the current problem: recorded problems, solutions and attempts first, then failures \
         like it that tools reported, then anything else like it, with what was said then.";
    described::<Issues>(name, "Similar issues", description, Effect::Reads)
}

/// Finds recorded issues first, then reported failures, then any other turns.
pub(super) async fn issues(call: Call) -> CliResult<Answer> {
    let Issues { context, error_message } = parse(call.arguments)?;
    let question = with_error(&needed("context", &context)?, error_message);
    let mut request = asked(&call.access, &question, None, None, SOLUTIONS)?;
    let mut found = first(&call.access, request.clone(), &ISSUES).await?;
    request.filter.only_errors = true;
    let failures = call.access.handle.recall(request).await?.hits;
    let others = found.answer.hits.split_off(found.recorded);
    for hit in failures.into_iter().chain(others) {
        if found.answer.hits.iter().all(|known| known.id() != hit.id()) {
            found.answer.hits.push(hit);
        }
    }
    tell(&call.access, found, SOLUTIONS, ("issue", &ISSUES)).await
}

/// An answer whose first results are memories of the wanted kinds.
struct First {
    answer: RecallAnswer,
    /// The number of these memories.
    recorded: usize,
}

/// Puts memories of these kinds that hold and bear on the question first.
async fn first(access: &Access, request: RecallRequest, kinds: &[MemoryKind]) -> CliResult<First> {
    let mut recorded = request.clone();
    (recorded.filter.wanted, recorded.filter.memories.kinds) = (Wanted::Memories, kinds.to_vec());
    recorded.min_confidence = Some(refused_below(recorded.mode));
    let mut hits = access.handle.recall(recorded).await?.hits;
    hits.retain(|hit| is_one_of(hit, kinds));
    let recorded = hits.len();
    let mut answer = access.handle.recall(request).await?;
    answer.hits.retain(|hit| hits.iter().all(|known| known.id() != hit.id()));
    answer.hits.splice(..0, hits);
    Ok(First { answer, recorded })
}

/// Returns whether a result is a memory of these kinds that holds.
fn is_one_of(hit: &Hit, kinds: &[MemoryKind]) -> bool {
    hit.as_memory().is_some_and(|found| {
        kinds.contains(&found.memory.kind) && matches!(found.memory.status, Status::Holds | Status::Contested)
    })
}

/// Formats the first results whole, with their exchange, and says which of them are recorded as what was asked for: its name and
/// kinds.
async fn tell(access: &Access, found: First, limit: usize, asked: (&str, &[MemoryKind])) -> CliResult<Answer> {
    let mut answer = found.answer;
    answer.hits.truncate(limit);
    for (at, hit) in answer.hits.iter_mut().enumerate() {
        hit.rank = at + 1;
    }
    let remark = remark(&answer.hits, asked);
    let found = Found { remark: Some(remark), ..recall::found(access, answer, true).await? };
    Ok(found.tell(Some(SOLUTIONS_BUDGET)))
}

/// Returns which of the results are recorded as what was asked for, which are recorded as something else, and which were only said.
fn remark(hits: &[Hit], (what, kinds): (&str, &[MemoryKind])) -> String {
    let ranks = |is_meant: &dyn Fn(&Hit) -> bool| -> Vec<String> {
        hits.iter().filter(|hit| is_meant(hit)).map(|hit| hit.rank.to_string()).collect()
    };
    let recorded = ranks(&|hit| is_one_of(hit, kinds));
    let otherwise = ranks(&|hit| hit.as_memory().is_some() && !is_one_of(hit, kinds));
    let said = ranks(&|hit| hit.as_memory().is_none());
    match (recorded.as_slice(), otherwise.as_slice(), said.as_slice()) {
        ([], [], _) => format!("No {what} is recorded for it: this was only said."),
        (_, [], []) => format!("Recorded as {what}."),
        _ => {
            let first = if recorded.is_empty() { format!("No {what} is recorded for it.") } else { String::new() };
            let listed = [
                (format!("Recorded as {what}"), recorded),
                ("Recorded otherwise".to_owned(), otherwise),
                ("Only said".to_owned(), said),
            ];
            let listed = listed.into_iter().filter(|(_, ranks)| !ranks.is_empty());
            let parts: Vec<String> = listed.map(|(class, ranks)| format!("{class}: {}.", ranks.join(", "))).collect();
            [vec![first], parts].concat().join(" ").trim().to_owned()
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfProject {
    /// Question or search words
    query: String,
    /// A project's name or id; default: the current one
    project_id: Option<String>,
    /// Most results
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<usize>,
}

pub(super) fn semantic_tool(name: &'static str) -> Result<Tool, String> {
    described::<OfProject>(
        name,
        "Search by meaning",
        "Search by meaning alone, by the local model or else the small table of word meanings: other words for the same are found.",
        Effect::Reads,
    )
}

pub(super) async fn semantic(call: Call) -> CliResult<Answer> {
    let OfProject { query, project_id, limit } = parse(call.arguments)?;
    let mut request = asked(&call.access, &needed("query", &query)?, project_id, limit, USUAL_LIMIT)?;
    request.is_worded = false;
    if request.mode == SearchMode::Lexical {
        // This tool searches by meaning, whatever the configured mode.
        request.mode = SearchMode::Static;
    }
    let mut answer = call.access.handle.recall(request).await?;
    // Words propose candidates too; only what is near in meaning is an answer here.
    answer.hits.retain(|hit| hit.lists.iter().any(|place| matches!(place.list, List::Model | List::Static)));
    for (at, hit) in answer.hits.iter_mut().enumerate() {
        hit.rank = at + 1;
    }
    Ok(recall::found(&call.access, answer, false).await?.tell(None))
}

pub(super) fn hybrid_tool(name: &'static str) -> Result<Tool, String> {
    let description = "Search by words and meaning together. Says of each result where each list had it.";
    described::<OfProject>(name, "Search by words and meaning", description, Effect::Reads)
}

pub(super) async fn hybrid(call: Call) -> CliResult<Answer> {
    let OfProject { query, project_id, limit } = parse(call.arguments)?;
    let request = asked(&call.access, &needed("query", &query)?, project_id, limit, USUAL_LIMIT)?;
    let found = ask(&call.access, request, false).await?;
    let Answer { mut text, turns, .. } = found.tell(None);
    for hit in &found.answer.hits {
        let of_list = |list: &ListPlace| format!("{} {}", list.list.as_str(), list.rank);
        text.push_str(&format!("\n[{}] {}", hit.rank, hit.lists.iter().map(of_list).collect::<Vec<_>>().join(", ")));
    }
    let data = HybridAnswer::of(&found.answer, found.answer.hits.iter().map(ranks).collect());
    Ok(Answer::recalled(text, compact(data), turns))
}

/// Returns a result in the form of the design: its rank and score in each list.
fn ranks(hit: &Hit) -> HybridHit {
    let of = |lists: &[List]| hit.lists.iter().find(|place| lists.contains(&place.list));
    let (meaning, words, graph) = (of(&[List::Model, List::Static]), of(&[List::Words]), of(&[List::Graph]));
    let (meaning_weight, word_weight, graph_weight, constant) = FUSED;
    let share = |list: Option<&ListPlace>, weight: f32| list.map_or(0.0, |list| weight / (constant + list.rank as f32));
    HybridHit {
        chunk_id: hit.id().to_string(),
        content: hit.quote.clone(),
        semantic_rank: meaning.map(|list| list.rank),
        semantic_score: meaning.map(|list| rounded(list.score)),
        keyword_rank: words.map(|list| list.rank),
        keyword_score: words.map(|list| rounded(list.score)),
        graph_rank: graph.map(|list| list.rank),
        graph_score: graph.map(|list| rounded(list.score)),
        rrf_score: f64::from(share(meaning, meaning_weight) + share(words, word_weight) + share(graph, graph_weight)),
        final_score: rounded(hit.score),
        session: hit.place.as_ref().map(|place| place.native_session.clone()).unwrap_or_default(),
        time: hit.time.utc.map(format_utc),
    }
}

/// Builds the engine's request.
pub(super) fn asked(
    access: &Access,
    question: &str,
    project: Option<String>,
    limit: Option<usize>,
    usual: usize,
) -> CliResult<RecallRequest> {
    let question: String = question.chars().take(QUESTION_CHARS).collect();
    let mut request = recall_request::request(question, access.handle.config(), None);
    (request.filter.scope, request.here) = asked_projects(project, request.filter.scope, access.here.clone());
    request.asking = access.asking();
    request.limit = within("limit", limit, 1, MAX_LIMIT)?.unwrap_or(usual);
    request.quote_chars = quote_chars(request.quote_chars, request.limit);
    // A person who names a tool wants its nearest results.
    request.min_confidence = Some(0.0);
    Ok(request)
}

/// Puts the error first: its own words find it best.
fn with_error(words: &str, error: Option<String>) -> String {
    given(error).map_or_else(|| words.to_owned(), |error| format!("{error}\n{words}"))
}
