//! Collects candidates from all lists, and sums their weighted scores on one scale (phase LAND).

use std::collections::HashMap;

use yore_core::query::{Fusion, List};
use yore_core::rank;

use super::QueryContext;
use super::candidate::{Candidate, Contribution, Proposal};
use super::deadline::LatePart;
use super::lists::{ListRow, row_of};
use super::plan::Plan;
use super::weights::Weights;
use crate::error::EngineError;
use crate::store::ItemKey;

/// Searches the lists of the plan.
pub(super) fn collect(context: &QueryContext<'_>, plan: &Plan<'_>) -> Result<Vec<Candidate>, EngineError> {
    let mut candidates = Candidates { fusion: plan.request.tuning.fusion, ..Candidates::default() };
    for planned in &plan.lists {
        let Some(row) = row_of(planned.list) else { continue };
        // The words are searched in any case.
        let part = match planned.list {
            List::Words => None,
            List::Period => Some(LatePart::Periods),
            _ => Some(LatePart::Meaning),
        };
        if part.is_some_and(|part| !context.deadline.allows(part)) {
            continue;
        }
        candidates.add(row, planned.weights, (row.propose)(context, plan)?);
    }
    let mut all = candidates.all;
    if plan.question.are_phrases_required && !plan.question.phrases.is_empty() {
        // Quoted phrases must occur; only the full-text list can check that.
        all.retain(|candidate| candidate.by(List::Words).is_some());
    }
    Ok(all)
}

#[derive(Default)]
struct Candidates {
    fusion: Fusion,
    all: Vec<Candidate>,
    places: HashMap<ItemKey, usize>,
}

impl Candidates {
    fn add(&mut self, row: &ListRow, weights: Weights, proposals: Vec<Proposal>) {
        let scores: Vec<f32> = proposals.iter().map(|proposal| proposal.score).collect();
        let heights = match self.fusion {
            Fusion::Heights => rank::heights(&scores, row.absent, row.spread),
            Fusion::Ranks => rank::reciprocal_ranks(scores.len()),
        };
        for (at, (proposal, height)) in proposals.into_iter().zip(heights).enumerate() {
            let Proposal { key, position, score, address } = proposal;
            if score < row.floor {
                continue;
            }
            let place = *self.places.entry(key).or_insert_with(|| {
                self.all.push(Candidate { key, position, contributions: Vec::new() });
                self.all.len() - 1
            });
            let weight = if position.is_document { weights.document } else { weights.conversation };
            let (list, part, rank) = (row.list, row.part, at + 1);
            let contribution = Contribution { list, part, rank, own_score: score, value: weight * height, address };
            let contributions = &mut self.all[place].contributions;
            // Two lists of one part (a vector that waits is in both) measure the same: only the later one
            // counts.
            contributions.iter_mut().filter(|known| known.part == part).for_each(|known| known.value = 0.0);
            contributions.push(contribution);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieve::candidate::Position;
    use crate::store::{EpisodeKey, RowKey};

    #[test]
    fn what_two_lists_of_one_part_propose_counts_once() {
        let position = Position { episode: EpisodeKey::new(1), index: 0, at: 0, is_document: false };
        let proposal = |row, score| Proposal { key: ItemKey::new(row), position, score, address: None };
        let weights = Weights { conversation: 1.0, document: 1.0 };
        let mut candidates = Candidates::default();
        for (list, scores) in [(List::Words, [3.0, 1.0]), (List::Model, [0.9, 0.5]), (List::Static, [0.8, 0.4])] {
            let proposals = vec![proposal(1, scores[0]), proposal(2, scores[1])];
            candidates.add(row_of(list).unwrap(), weights, proposals);
        }
        let best = &candidates.all[0];
        let value = |list| best.by(list).unwrap().value;
        assert_eq!(best.contributions.len(), 3, "each list is told");
        assert_eq!(value(List::Model), 0.0);
        assert!(value(List::Words) > 0.0 && value(List::Static) > 0.0);
        assert_eq!(best.score(), value(List::Words) + value(List::Static));
    }
}
