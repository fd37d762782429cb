//! Reorders hits for diversity (MMR), if the request asks for it.

use yore_core::query::{Part, ScorePart};
use yore_core::rank::{diverse_order, relevance_weight};

use super::QueryContext;
use super::boosts::Ranked;
use super::plan::Plan;

/// Number of the best candidates that are put in order.
const ORDERED: usize = 20;
/// Least and greatest weight of relevance.
const RELEVANCE: (f32, f32) = (0.5, 0.7);

/// Orders the best candidates by relevance and by how little they resemble those before them.
pub(super) fn diversify(context: &QueryContext<'_>, plan: &Plan<'_>, ranked: &mut [Ranked]) {
    let Some(semantic) = context.semantic.filter(|_| plan.request.tuning.is_diverse) else { return };
    let count = ranked.len().min(ORDERED);
    let best = ranked.first().map_or(1.0, |ranked| ranked.score).max(f32::MIN_POSITIVE);
    let scores: Vec<f32> = ranked[..count].iter().map(|ranked| ranked.score / best).collect();
    let vectors: Vec<Option<Vec<f32>>> =
        ranked[..count].iter().map(|ranked| semantic.mean_vector(ranked.key(), plan.mode)).collect();
    let similar = |a: usize, b: usize| {
        let (Some(a), Some(b)) = (&vectors[a], &vectors[b]) else { return 0.0 };
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    };
    let order = diverse_order(&scores, relevance_weight(&scores, RELEVANCE.0, RELEVANCE.1), &similar);
    let ladder: Vec<f32> = ranked[..count].iter().map(|ranked| ranked.score).collect();
    let mut places = vec![0; count];
    order.into_iter().enumerate().for_each(|(place, at)| places[at] = place);
    for (ranked, place) in ranked[..count].iter_mut().zip(places) {
        let change = ladder[place] - ranked.score;
        if change != 0.0 {
            ranked.add(ScorePart { part: Part::Diversity, value: change });
        }
    }
    ranked[..count].sort_by(|a, b| b.score.total_cmp(&a.score));
}
