//! Recall: answers a query in phases (plan, collect, rank, present).
//!
//! [`recall`] calls the phases in order; the answer contains every number that led to a rank.
//!
//! - `request`, `answer`: input and output; `context`: the store and indexes to search
//! - `plan`: all decisions made before a list is searched; `weights`: of the lists; `project`: which project is meant
//! - `fuse`: collects candidates (`candidate`) from the lists (`lists`) of the plan; `graph`: follows relations from
//!   the entities of the question
//! - `boosts`: ranks them; `memories`: memories in the place of what they replaced and rest on; `period`: what was said
//!   in a named period; `talk`: people's talk; `links`: titled
//!   passages by their links; `conclusive`: raises what concludes an exchange; `newer`: raises the newer of
//!   two about one subject; `rerank`: reads the best with a cross-encoder; `texts`: the turns that were read
//! - `files`: ranks the files that were opened then; `work`: reads what was done
//! - `deadline`: leaves out what there is no time for
//! - `present`: adds text, locations and reasons; `duplicates`: folds near duplicates; `pack`: chooses passages; `reply`: the
//!   person's decisions right after a hit

mod answer;
mod boosts;
mod candidate;
mod conclusive;
mod context;
mod cross_encoder;
mod deadline;
mod diversity;
mod duplicates;
mod files;
mod fuse;
mod graph;
mod links;
mod lists;
mod memories;
mod newer;
mod pack;
mod period;
mod plan;
mod present;
mod project;
mod reply;
mod request;
mod rerank;
mod strength;
mod talk;
mod texts;
mod times;
mod view;
mod weights;
mod work;

use std::time::{Duration, Instant};

use yore_core::query::{AnswerKind, AskedFor, MissingCode, Rerank};
use yore_core::strength::Strength;
use yore_core::text::{Period, Side, Tokenizer, named_change, says_change};
use yore_core::time::UtcMillis;

pub use self::answer::{
    Anchor, AnswerTopic, ExchangeHits, Found, FoundMemory, Hit, MemorySource, Missing, Passage, PastStatement, Qualified,
    RecallAnswer, Said, SearchedPeriod, SessionHit, Withheld, WorkDone, exchanges,
};
pub(crate) use self::context::QueryContext;
pub(crate) use self::cross_encoder::Judge;
pub(crate) use self::deadline::Deadline;
use self::deadline::LatePart;
pub(crate) use self::files::opened_in_exchanges;
pub(crate) use self::pack::{Asking, keep_own_words, pack};
pub(crate) use self::project::{project_around, project_here, projects_named};
pub(crate) use self::reply::reply_to;
pub use self::request::{Packing, RecallRequest, Tuning};
use self::texts::Texts;
pub use self::times::{PARTS, PartTimes, RecallTimes};
pub use self::view::{View, ViewRow};
use crate::error::EngineError;
use crate::index::MOST_PENDING_VECTORS;
use crate::store::Queue;

/// Number of turns that are read to find when something was changed.
const CHANGES_READ: usize = 3;
/// Maximum number of turns counted that are not analysed yet.
const COUNTED_UNSHAPED: usize = 100_000;
/// Maximum number of turns counted that wait for an index.
const COUNTED_PENDING: usize = 10_000;

/// Fewest hits by which an answer is judged, so that one that is limited to fewer is judged the same.
const FEWEST_JUDGED: usize = 10;

/// Answers a query.
pub(crate) fn recall(
    context: &QueryContext<'_>,
    tokenizer: &mut Tokenizer,
    request: &RecallRequest,
) -> Result<RecallAnswer, EngineError> {
    let began = Instant::now();
    let limit = request.limit;
    let judged = (limit < FEWEST_JUDGED && !request.is_bare).then(|| RecallRequest { limit: FEWEST_JUDGED, ..request.clone() });
    let request = judged.as_ref().unwrap_or(request);
    let mut plan = plan::plan(context, tokenizer, request)?;
    if let Some(period) = period_of_change(context, tokenizer, request)? {
        plan.add_period(period);
    }
    let planned = began.elapsed();
    let mut landed = fuse::collect(context, &plan)?;
    let anchors = graph::follow_relations(context, &plan, &mut landed)?;
    let found = began.elapsed();
    let landed_count = landed.len();
    let mut ranked = boosts::rank(landed, &plan);
    let mut texts = Texts::default();
    talk::rank_talk(context, &plan, &mut ranked, &mut texts)?;
    let periods = period::rank_by_period(&plan, &mut ranked);
    let is_linked = links::rank_by_links(context, &plan, &mut ranked)?;
    diversity::diversify(context, &plan, &mut ranked);
    // After links, the cross-encoder gains nothing.
    if !is_linked {
        rerank::rerank(context, &plan, &mut ranked, &mut texts)?;
    }
    conclusive::conclusive_first(context, &plan, &mut ranked, &mut texts, tokenizer)?;
    newer::newer_first(context, &plan, &mut ranked, &mut texts)?;
    memories::rank_memories(context, &plan, &mut ranked, &mut texts)?;
    let (mut hits, mut sessions) = present::hits(context, &plan, &ranked, &mut texts, tokenizer)?;
    let addresses = ranked.iter().filter_map(|ranked| Some((ranked.key(), ranked.candidate.address()?))).collect();
    let (evidence, confidence) =
        if request.is_bare { Default::default() } else { strength::judge(context, &plan, &mut hits, &addresses, tokenizer)? };
    let is_refused = !request.is_bare && !hits.is_empty() && strength::refuse(context, &plan, confidence, &mut hits);
    hits.truncate(limit);
    sessions.retain(|session| hits.iter().any(|hit| hit.place.as_ref().is_some_and(|place| place.episode == session.episode)));
    let is_weak = hits.is_empty() || Strength::of(confidence) == Strength::Weak;
    let unmet = if is_weak && !request.is_bare { strength::unmet_words(context, request, tokenizer)? } else { Vec::new() };
    let asks_for_place = plan.asked_for == AskedFor::Place && !request.is_bare;
    let asks_for_files = request.with_files || asks_for_place;
    let files = if asks_for_files && context.deadline.allows(LatePart::Files) {
        files::worked_files(context, &hits, request.filter.as_of)?
    } else {
        Vec::new()
    };
    // A small memory has met few words, so that even a right answer looks weak.
    let is_doubtful = is_weak && !request.is_bare && request.min_confidence.is_none() && !strength::is_any_right(context, &plan);
    present::quote_hits(context, &plan, &mut hits, is_doubtful, tokenizer)?;
    // Work is read from whole exchanges, and may be later than what the request may see.
    let most = match (plan.filter.until, request.with_work) {
        (Some(_), _) => 0,
        (None, true) => hits.len(),
        (None, false) => usize::from(asks_for_place),
    };
    if most > 0 && context.deadline.allows(LatePart::Work) {
        work::add_work(context.store, &mut hits, most)?;
    }
    let micros = |time: Duration| time.as_micros() as u64;
    let pending = context.store.waiting(Queue::Text, COUNTED_PENDING)?;
    Ok(RecallAnswer {
        hits,
        sessions,
        missing: missing(context, request, pending)?,
        projects: plan.projects,
        is_project_unknown: plan.is_project_unknown,
        mode: plan.mode,
        asked_for: plan.asked_for,
        answer_kind: AnswerKind::Passages,
        view: None,
        periods,
        files,
        anchors,
        topics: Vec::new(),
        evidence,
        confidence,
        is_refused,
        withheld: Vec::new(),
        unmet,
        indexed: context.lexical.len(),
        terms: plan.question.terms,
        pending,
        landed: landed_count,
        micros: [micros(planned), micros(found - planned), micros(began.elapsed() - found)],
    })
}

/// Returns the time before or after the change that a question names ("before we switched to SQLite"), if the
/// memory knows when that was.
fn period_of_change(
    context: &QueryContext<'_>,
    tokenizer: &mut Tokenizer,
    request: &RecallRequest,
) -> Result<Option<Period>, EngineError> {
    let named = if request.is_period_searched { named_change(&request.question) } else { None };
    let Some((side, change)) = named.filter(|_| context.deadline.allows(LatePart::Periods)) else { return Ok(None) };
    let question = RecallRequest {
        question: change.to_owned(),
        wordings: Vec::new(),
        limit: CHANGES_READ,
        packing: None,
        quote_chars: 0,
        is_bare: true,
        is_period_searched: false,
        tuning: Tuning { is_graph_followed: false, ..request.tuning.clone() },
        rerank: Rerank::Never,
        with_files: false,
        with_work: false,
        ..request.clone()
    };
    // Its words are not those of the question, whose vector is of no use here.
    let context = QueryContext { lexical: context.lexical.clone(), periods: Vec::new(), model_vector: None, ..*context };
    let mut answer = recall(&context, tokenizer, &question)?;
    let hits = answer.hits.drain(..).filter(|hit| hit.as_turn().is_some_and(|turn| says_change(&turn.text)));
    // The first time that it was told.
    let at = hits.filter_map(|hit| hit.time.utc).min();
    Ok(at.map(|at| match side {
        Side::Before => Period { start: UtcMillis::MIN, end: at },
        Side::After => Period { start: at.saturating_add(1), end: UtcMillis::MAX },
    }))
}

/// Returns the parts that the answer had to do without, because they wait for analysis or indexing.
fn missing(context: &QueryContext<'_>, request: &RecallRequest, pending: usize) -> Result<Vec<Missing>, EngineError> {
    let mut missing = Vec::new();
    let unshaped = if request.filter.asks_for_content() { context.store.waiting(Queue::Shapes, COUNTED_UNSHAPED)? } else { 0 };
    if unshaped > 0 {
        missing.push(Missing::shape(unshaped));
    }
    if pending > context.lexical.most_pending() {
        missing.push(Missing::behind(MissingCode::TextIndex, "the full-text index", pending));
    }
    if context.semantic.is_some() {
        let waiting = context.store.waiting(Queue::Vectors, COUNTED_PENDING)?;
        if waiting > MOST_PENDING_VECTORS {
            missing.push(Missing::behind(MissingCode::VectorIndex, "the vector indexes", waiting));
        }
    }
    let late = context.deadline.late();
    if !late.is_empty() {
        missing.push(Missing::late(&late));
    }
    Ok(missing)
}
