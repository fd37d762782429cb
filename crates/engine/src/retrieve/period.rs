//! Ranks hits higher that were said in the period that the question names.

use yore_core::query::{Part, ScorePart};
use yore_core::text::{Period, is_stop_word};

use super::boosts::{Ranked, spread_of};
use super::candidate::Proposal;
use super::plan::Plan;
use super::{QueryContext, SearchedPeriod};
use crate::error::EngineError;
use crate::index::{CompiledFilter, NO_TIME, SearchOptions};

/// Number of candidates that a search within a period proposes.
const DEPTH: usize = 60;
/// Number of the best candidates whose scores give the unit of the bonus.
const SCALED: usize = 100;
/// Bonus in standard deviations of the best scores: tried on one development set (`docs/measurements.md`, "Order").
const INSIDE: f32 = 2.0;

/// Searches within the periods that the question names.
pub(super) fn propose(context: &QueryContext<'_>, plan: &Plan<'_>) -> Result<Vec<Proposal>, EngineError> {
    let mut proposals: Vec<Proposal> = Vec::new();
    // Without the words of the period nothing may be left to compare with.
    let text = if asks_for_period(plan) { plan.request.question.as_str() } else { &plan.text };
    for period in &plan.periods {
        let filter = CompiledFilter {
            since: Some(plan.filter.since.map_or(period.start, |since| since.max(period.start))),
            until: Some(plan.filter.until.map_or(period.end, |until| until.min(period.end))),
            ..plan.filter.clone()
        };
        let options = SearchOptions { limit: DEPTH, tool_weight: plan.tool_weight };
        let mut hits = context.lexical.search(context.store, &plan.question, &filter, &options)?;
        if let Some(semantic) = context.semantic {
            hits.extend(match &context.model_vector {
                Some(vector) => semantic.search_model(context.store, vector, &filter, DEPTH)?,
                None => semantic.search_static(context.store, text, &filter, DEPTH)?,
            });
        }
        for hit in hits {
            let proposal = Proposal::from(hit);
            match proposals.iter_mut().find(|known| known.key == proposal.key) {
                Some(known) => known.address = known.address.or(proposal.address),
                None => proposals.push(proposal),
            }
        }
    }
    // The other lists score them; being inside counts when all are ranked.
    proposals.iter_mut().for_each(|proposal| proposal.score = 0.0);
    Ok(proposals)
}

/// Words beside stop words that ask for whatever happened, as tokens.
const ASKING: [&str; 8] = ["accomplish", "chang", "done", "get", "go", "got", "happen", "work"];

/// Returns whether a question names a period and nothing that was said in it, as in "what did we do yesterday?".
pub(super) fn asks_for_period(plan: &Plan<'_>) -> bool {
    let asks = |term: &String| is_stop_word(term) || ASKING.contains(&term.as_str());
    !plan.periods.is_empty() && plan.request.wordings.is_empty() && plan.question.terms.iter().all(asks)
}

/// Ranks the candidates inside the periods above equal ones, and above all others if the question asks for no more. Returns the periods, with the number of candidates
/// in each.
pub(super) fn rank_by_period(plan: &Plan<'_>, ranked: &mut [Ranked]) -> Vec<SearchedPeriod> {
    if plan.periods.is_empty() {
        return Vec::new();
    }
    let unit = spread_of(&ranked[..ranked.len().min(SCALED)]);
    let scores = || ranked.iter().map(|ranked| ranked.score);
    let whole = scores().fold(f32::MIN, f32::max) - scores().fold(f32::MAX, f32::min);
    let bonus = if asks_for_period(plan) { whole + unit } else { INSIDE * unit };
    for ranked in ranked.iter_mut() {
        let at = ranked.candidate.position.at;
        if at != NO_TIME && plan.periods.iter().any(|period| period.contains(at)) {
            ranked.add(ScorePart { part: Part::Period, value: bonus });
        }
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let found = |period: &Period| ranked.iter().filter(|ranked| period.contains(ranked.candidate.position.at)).count();
    let searched = |period: &Period| SearchedPeriod { start: period.start, end: period.end, found: found(period) };
    plan.periods.iter().map(searched).collect()
}
