//! Answers a query: PLAN, LAND, DISTILL, TRACE. (ANCHOR and EXPAND come with the graph.)
//!
//! [`recall`] calls the phases in order; the answer contains every number that led to a rank.
//!
//! - `request`, `answer`: input and output; `asked`: the store and indexes to search
//! - `plan`: all decisions made before a list is searched; `scope`: converts names to rows
//! - `land`: collects candidates (`candidate`) from the lists (`lists`) of the plan
//! - `distill`: ranks them
//! - `trace`: adds text, locations and reasons

mod answer;
mod asked;
mod candidate;
mod distill;
mod land;
mod lists;
mod plan;
mod request;
mod scope;
mod trace;

use std::time::{Duration, Instant};

use yore_core::query::MissingCode;
use yore_core::text::Tokenizer;

pub use self::answer::{Found, Hit, Missing, RecallAnswer, SessionHit};
pub(crate) use self::asked::Asked;
pub use self::request::RecallRequest;
pub(crate) use self::scope::{project_around, project_here, projects_named};
use crate::error::EngineError;
use crate::index::MOST_PENDING_VECTORS;

/// Maximum number of turns counted that are not analysed yet.
const COUNTED_UNSHAPED: usize = 100_000;
/// Maximum number of turns counted that wait for an index.
const COUNTED_PENDING: usize = 10_000;

/// Answers a query.
pub(crate) fn recall(asked: &Asked<'_>, tokenizer: &mut Tokenizer, request: &RecallRequest) -> Result<RecallAnswer, EngineError> {
    let began = Instant::now();
    let plan = plan::plan(asked, tokenizer, request)?;
    let planned = began.elapsed();
    let landed = land::land(asked, &plan)?;
    let found = began.elapsed();
    let landed_count = landed.len();
    let ranked = distill::distill(landed, &plan);
    let (hits, sessions) = trace::trace(asked, &plan, &ranked, tokenizer)?;
    let micros = |time: Duration| time.as_micros() as u64;
    let pending = asked.store.queue_length(COUNTED_PENDING)?;
    Ok(RecallAnswer {
        hits,
        sessions,
        missing: missing(asked, request, pending)?,
        projects: plan.projects,
        is_project_unknown: plan.is_project_unknown,
        mode: plan.mode,
        terms: plan.question.terms,
        pending,
        landed: landed_count,
        micros: [micros(planned), micros(found - planned), micros(began.elapsed() - found)],
    })
}

/// Returns the parts that the answer had to do without, because they wait for analysis or indexing.
fn missing(asked: &Asked<'_>, request: &RecallRequest, pending: usize) -> Result<Vec<Missing>, EngineError> {
    let mut missing = Vec::new();
    let unshaped = if request.filter.asks_for_content() { asked.store.shape_queue_length(COUNTED_UNSHAPED)? } else { 0 };
    if unshaped > 0 {
        missing.push(Missing::shape(unshaped));
    }
    if pending > asked.lexical.most_pending() {
        missing.push(Missing::behind(MissingCode::TextIndex, "the full-text index", pending));
    }
    if asked.semantic.is_some() {
        let waiting = asked.store.vector_queue_length(COUNTED_PENDING)?;
        if waiting > MOST_PENDING_VECTORS {
            missing.push(Missing::behind(MissingCode::VectorIndex, "the vector indexes", waiting));
        }
    }
    Ok(missing)
}
