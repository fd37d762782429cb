//! Combines the scores of several lists into one order, with support from neighbours, sessions and newer turns.
//!
//! Each list has its own scale of scores: BM25 grows with the number of rare words, a cosine varies in a
//! narrow band. [`heights`] puts each list on a common scale, after which scores are weighted and added; a
//! turn that a list does not propose gets nothing from it.

use crate::time::UtcMillis;

/// Number of the best scores of each list that determine its scale.
pub const DEPTH: usize = 200;

/// Returns how far each score is above the list's floor, in standard deviations of the list: the z-score of
/// Fox and Shaw's CombSUM family (1994), shifted so that the worst has 0.
///
/// `scores` come best first, at most [`DEPTH`] of them count. `absent` is the score of turns that the list
/// does not propose, if it is known (0 for BM25: no word in common); a short list is then treated as if it
/// were filled up with it. For a list that proposes every turn (a cosine) it is `None`, and the floor is its
/// worst score. `spread` is the smallest standard deviation that is accepted, in the list's own unit:
/// differences far below it are noise.
///
/// Heights are finite and at least 0 for finite scores.
pub fn heights(scores: &[f32], absent: Option<f32>, spread: f32) -> Vec<f32> {
    let counted = &scores[..scores.len().min(DEPTH)];
    if counted.is_empty() {
        return Vec::new();
    }
    let missing = if absent.is_some() { DEPTH - counted.len() } else { 0 };
    let filler = absent.unwrap_or(0.0);
    let count = (counted.len() + missing) as f32;
    let mean = (counted.iter().sum::<f32>() + filler * missing as f32) / count;
    let variance =
        (counted.iter().map(|score| (score - mean).powi(2)).sum::<f32>() + (filler - mean).powi(2) * missing as f32) / count;
    let worst = counted.iter().copied().fold(f32::INFINITY, f32::min);
    let floor = if missing > 0 { worst.min(filler) } else { worst };
    let unit = variance.sqrt().max(spread).max(f32::MIN_POSITIVE);
    scores.iter().map(|score| ((score - floor) / unit).max(0.0)).collect()
}

/// Constant of reciprocal rank fusion.
const RECIPROCAL: f32 = 60.0;

/// Returns the score of each rank of a list by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), 1 for the
/// first.
pub fn reciprocal_ranks(count: usize) -> Vec<f32> {
    (1..=count).map(|rank| (RECIPROCAL + 1.0) / (RECIPROCAL + rank as f32)).collect()
}

/// Distances of the best score from the mean of the best [`GAP_OF`] between which relevance goes from its least to
/// its greatest weight.
const GAPS: (f32, f32) = (0.1, 0.3);
/// Number of the best scores whose mean is compared.
const GAP_OF: usize = 10;

/// Returns the weight of relevance beside diversity for scores of at most 1, best first: high where the best stands
/// out, low where all are alike.
///
/// ```
/// use yore_core::rank::relevance_weight;
/// assert_eq!(relevance_weight(&[0.95, 0.42, 0.38], 0.5, 0.7), 0.7);
/// assert_eq!(relevance_weight(&[0.78, 0.75, 0.73, 0.71], 0.5, 0.7), 0.5);
/// ```
pub fn relevance_weight(scores: &[f32], least: f32, most: f32) -> f32 {
    let first = &scores[..scores.len().min(GAP_OF)];
    let gap = first.first().map_or(0.0, |best| best - mean_and_spread(first).0);
    least + (most - least) * ((gap - GAPS.0) / (GAPS.1 - GAPS.0)).clamp(0.0, 1.0)
}

/// Returns an order of candidates in which each next one is relevant and unlike those before it: Maximal Marginal
/// Relevance (Carbonell and Goldstein, 1998). `scores` are at most 1, best first; `weight` is that of relevance.
pub fn diverse_order(scores: &[f32], weight: f32, similar: &dyn Fn(usize, usize) -> f32) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len()).collect();
    let mut nearest = vec![0.0f32; scores.len()];
    let mut order = Vec::with_capacity(scores.len());
    while !left.is_empty() {
        let value = |at: usize| weight * scores[at] - (1.0 - weight) * nearest[at];
        // The first of equal ones.
        let (place, _) = left
            .iter()
            .enumerate()
            .fold((0, f32::NEG_INFINITY), |best, (place, at)| if value(*at) > best.1 { (place, value(*at)) } else { best });
        let chosen = left.remove(place);
        left.iter().for_each(|at| nearest[*at] = nearest[*at].max(similar(chosen, *at)));
        order.push(chosen);
    }
    order
}

/// Returns how far each value is from the mean, in standard deviations; zeros if all are equal.
pub fn standard(values: &[f32]) -> Vec<f32> {
    let (mean, spread) = mean_and_spread(values);
    values.iter().map(|value| if spread > 0.0 { (value - mean) / spread } else { 0.0 }).collect()
}

/// Returns mean and standard deviation of some values; 0 if there are none.
pub fn mean_and_spread(values: &[f32]) -> (f32, f32) {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / count;
    (mean, variance.sqrt())
}

/// A candidate's place in a conversation, for [`neighbour_support`] and [`session_support`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Id of the conversation.
    pub episode: i64,
    /// Position in it; the distance between one turn and the next is 1.
    pub position: f64,
    /// Score so far, at least 0.
    pub score: f32,
}

/// Largest distance between two turns that may be about the same thing.
pub const NEIGHBOURHOOD: f64 = 2.5;
/// Factor by which each further step reduces a neighbour's support.
const NEIGHBOUR_DECAY: f32 = 0.6;

/// Returns for each candidate the score of its best neighbour in the same conversation, reduced by distance:
/// short turns ("yes, do that") have few words of their own, and a question's words are often divided between
/// the question and the answer.
pub fn neighbour_support(candidates: &[Placed]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&candidates[*a], &candidates[*b]);
        a.episode.cmp(&b.episode).then(a.position.total_cmp(&b.position))
    });
    let mut support = vec![0.0f32; candidates.len()];
    for (at, &left) in order.iter().enumerate() {
        for &right in &order[at + 1..] {
            let (a, b) = (&candidates[left], &candidates[right]);
            let distance = b.position - a.position;
            if a.episode != b.episode || distance > NEIGHBOURHOOD {
                break;
            }
            let share = NEIGHBOUR_DECAY.powf((distance as f32 - 1.0).max(0.0));
            support[left] = support[left].max(share * b.score);
            support[right] = support[right].max(share * a.score);
        }
    }
    support
}

/// Number of best turns that a session counts by; missing ones count as 0.
const SESSION_TURNS: usize = 3;

/// Returns for each candidate the mean of the best turns of its conversation: a session that answers with
/// several turns is more likely the right one.
pub fn session_support(candidates: &[Placed]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&candidates[*a], &candidates[*b]);
        a.episode.cmp(&b.episode).then(b.score.total_cmp(&a.score))
    });
    let mut support = vec![0.0; candidates.len()];
    for session in order.chunk_by(|a, b| candidates[*a].episode == candidates[*b].episode) {
        let best: f32 = session.iter().take(SESSION_TURNS).map(|at| candidates[*at].score).sum();
        for at in session {
            support[*at] = best / SESSION_TURNS as f32;
        }
    }
    support
}

/// Milliseconds by which one turn must be newer than another to count as newer.
const NEWER_MS: i64 = 60_000;
/// Added to the score of an older turn, so that a newer one comes above it.
const ABOVE: f32 = 1e-3;

/// A candidate for [`raise_newer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dated {
    /// Time when it was said; `None` if that is not known, or if it is not compared.
    pub at: Option<UtcMillis>,
    /// Score so far.
    pub score: f32,
    /// True if it says that something was changed, or may change what another says.
    pub may_change: bool,
}

/// A candidate that is raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Raised {
    /// Index of the candidate.
    pub newer: usize,
    /// Index of the older one about the same subject.
    pub older: usize,
    /// Its new score, above the older one's.
    pub score: f32,
}

/// Raises, for each candidate, the best newer one about the same subject that may change it to
/// just above it, if it is below. `candidates` come best first; `similar` is the cosine of two of them, of which
/// `least` makes them one subject. Nothing is lowered: a turn about the same subject is often not replaced.
pub fn raise_newer(candidates: &[Dated], least: f32, similar: &dyn Fn(usize, usize) -> f32) -> Vec<Raised> {
    let mut scores: Vec<f32> = candidates.iter().map(|candidate| candidate.score).collect();
    let mut raised: Vec<Raised> = Vec::new();
    for (older, candidate) in candidates.iter().enumerate() {
        let Some(at) = candidate.at else { continue };
        let is_newer = |other: &usize| {
            let other_candidate = &candidates[*other];
            other_candidate.may_change
                && other_candidate.at.is_some_and(|other_at| other_at > at.saturating_add(NEWER_MS))
                && similar(older, *other) >= least
        };
        // The first of those that follow is the best; if a better one is newer, it is above already.
        let best = (0..candidates.len()).filter(|other| *other != older).find(is_newer);
        let Some(newer) = best.filter(|newer| scores[*newer] < scores[older]) else { continue };
        scores[newer] = scores[older] + ABOVE;
        raised.retain(|known| known.newer != newer);
        raised.push(Raised { newer, older, score: scores[newer] });
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed(episode: i64, position: f64, score: f32) -> Placed {
        Placed { episode, position, score }
    }

    #[test]
    fn a_match_stands_out_more_the_fewer_match() {
        let one = heights(&[5.0], Some(0.0), 0.5);
        let many = heights(&[5.0; 150], Some(0.0), 0.5);
        assert!(one[0] > many[0] && many[0] > 0.0, "{one:?} {:?}", many[0]);
    }

    #[test]
    fn the_worst_of_a_list_that_proposes_anything_gains_nothing_by_being_proposed() {
        let heights = heights(&[0.8, 0.7, 0.6], None, 0.02);
        assert_eq!(heights[2], 0.0);
        assert!(heights[0] > heights[1] && heights[1] > 0.0);
    }

    #[test]
    fn differences_below_the_believed_spread_are_small() {
        let heights = heights(&[0.7001, 0.7], None, 0.02);
        assert!(heights[0] < 0.01, "{heights:?}");
    }

    #[test]
    fn a_neighbour_supports_only_within_its_conversation_and_reach() {
        let candidates =
            [placed(1, 0.0, 4.0), placed(1, 1.0, 1.0), placed(1, 2.0, 0.5), placed(1, 9.0, 3.0), placed(2, 1.0, 2.0)];
        let support = neighbour_support(&candidates);
        assert_eq!(support[1], 4.0);
        assert_eq!(support[0], 1.0);
        assert!((support[2] - 4.0 * 0.6).abs() < 1e-6, "two steps away counts less: {}", support[2]);
        assert_eq!((support[3], support[4]), (0.0, 0.0));
    }

    #[test]
    fn a_session_with_one_good_turn_has_a_third_of_it() {
        let candidates =
            [placed(1, 0.0, 3.0), placed(2, 0.0, 2.0), placed(2, 5.0, 2.0), placed(2, 9.0, 2.0), placed(2, 12.0, 1.0)];
        assert_eq!(session_support(&candidates), [1.0, 2.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn the_newer_of_two_about_one_subject_that_says_a_change_is_raised_just_above_the_older() {
        let dated = |at, score, may_change| Dated { at: Some(at * NEWER_MS), score, may_change };
        let candidates = [dated(1, 3.0, false), dated(2, 2.5, true), dated(9, 2.0, true), dated(5, 1.0, true)];
        let subject = |a: usize, b: usize| if a.is_multiple_of(2) == b.is_multiple_of(2) { 0.9 } else { 0.1 };
        let raised = raise_newer(&candidates, 0.8, &subject);
        assert_eq!(
            raised,
            [Raised { newer: 2, older: 0, score: 3.0 + ABOVE }, Raised { newer: 3, older: 1, score: 2.5 + ABOVE }]
        );
        assert!(raise_newer(&candidates, 0.95, &subject).is_empty());
        let unchanged = candidates.map(|candidate| Dated { may_change: false, ..candidate });
        assert!(raise_newer(&unchanged, 0.8, &subject).is_empty());
    }

    #[test]
    fn of_near_equal_candidates_one_comes_first_and_the_others_after_the_distinct_ones() {
        // 0 to 3 say the same.
        let same = |a: usize, b: usize| if a < 4 && b < 4 { 0.95 } else { 0.1 };
        let scores = [1.0, 0.98, 0.97, 0.96, 0.9, 0.88, 0.86];
        assert_eq!(diverse_order(&scores, 0.5, &same)[..4], [0, 4, 5, 6]);
        assert_eq!(diverse_order(&scores, 1.0, &same), [0, 1, 2, 3, 4, 5, 6]);
        assert!(diverse_order(&[], 0.5, &same).is_empty());
    }

    proptest! {
        #[test]
        fn raising_lowers_nothing_and_puts_each_raised_one_above_its_older_one(
            mut candidates in proptest::collection::vec(
                (proptest::option::of(0i64..900_000), 0f32..9.0, any::<bool>()).prop_map(|(at, score, may_change)| Dated { at, score, may_change }), 0..25)
        ) {
            candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
            let similar = |a: usize, b: usize| if (a + b).is_multiple_of(3) { 0.9 } else { 0.2 };
            let raised = raise_newer(&candidates, 0.8, &similar);
            for Raised { newer, older, score } in &raised {
                prop_assert!(*score > candidates[*newer].score && *score > candidates[*older].score);
                prop_assert!(candidates[*newer].at > candidates[*older].at);
            }
            let mut newer: Vec<usize> = raised.iter().map(|raised| raised.newer).collect();
            newer.sort_unstable();
            newer.dedup();
            prop_assert_eq!(newer.len(), raised.len());
        }

        #[test]
        fn heights_keep_the_order_and_are_finite(mut scores in proptest::collection::vec(-10f32..30.0, 0..300), absent in proptest::option::of(-1f32..0.0)) {
            scores.sort_by(|a, b| b.total_cmp(a));
            let found = heights(&scores, absent, 0.02);
            prop_assert_eq!(found.len(), scores.len());
            prop_assert!(found.iter().all(|height| height.is_finite() && *height >= 0.0));
            prop_assert!(found.is_sorted_by(|a, b| a >= b));
        }

        #[test]
        fn support_does_not_depend_on_the_order_of_candidates(
            mut candidates in proptest::collection::vec((0i64..4, 0u8..40, 0f32..5.0).prop_map(|(episode, position, score)| placed(episode, f64::from(position), score)), 0..40)
        ) {
            let forward = (neighbour_support(&candidates), session_support(&candidates));
            candidates.reverse();
            let (mut neighbours, mut sessions) = (neighbour_support(&candidates), session_support(&candidates));
            neighbours.reverse();
            sessions.reverse();
            prop_assert_eq!(forward.0, neighbours);
            for (a, b) in forward.1.iter().zip(&sessions) {
                prop_assert!((a - b).abs() < 1e-4);
            }
        }
    }
}
