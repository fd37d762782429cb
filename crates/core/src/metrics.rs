//! Metrics of a ranking against gold evidence: success and recall at k, nDCG, reciprocal rank. The definitions are those of the
//! bench's judge, so that both print the same numbers; repeated ids are dropped before ids are compared.

use std::collections::HashSet;
use std::hash::Hash;

/// Scores of one ranking at one cut-off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankingScores {
    /// 1 if any gold id is among the first k.
    pub any: f64,
    /// 1 if every gold id is among the first k.
    pub all: f64,
    /// Share of the gold ids among the first k.
    pub recall: f64,
    /// Binary gains with 1/log2(rank + 1), over the ideal (Järvelin and Kekäläinen 2002).
    pub ndcg: f64,
    /// 1/rank of the first gold id within k, else 0.
    pub mrr: f64,
}

/// The ranking without repeats, first place kept.
pub fn first_distinct<T: Eq + Hash + Copy>(ranked: &[T]) -> Vec<T> {
    let mut seen = HashSet::new();
    ranked.iter().copied().filter(|id| seen.insert(*id)).collect()
}

/// Scores a ranking against a non-empty gold set; an empty gold set scores 0 throughout.
pub fn score<T: Eq + Hash + Copy>(ranked: &[T], gold: &HashSet<T>, k: usize) -> RankingScores {
    if gold.is_empty() {
        return RankingScores::default();
    }
    let hits: Vec<bool> = first_distinct(ranked).iter().take(k).map(|id| gold.contains(id)).collect();
    let found = hits.iter().filter(|hit| **hit).count();
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gained: f64 = hits.iter().enumerate().filter(|(_, hit)| **hit).map(|(rank, _)| discount(rank)).sum();
    let ideal: f64 = (0..k.min(gold.len())).map(discount).sum();
    RankingScores {
        any: f64::from(u8::from(found > 0)),
        all: f64::from(u8::from(found == gold.len())),
        recall: found as f64 / gold.len() as f64,
        ndcg: if ideal > 0.0 { gained / ideal } else { 0.0 },
        mrr: hits.iter().position(|hit| *hit).map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
    }
}

/// Share of the pieces of evidence (each a list of ids, any of which is enough) with a hit among
/// the first k distinct ids.
pub fn evidence_recall<T: Eq + Hash + Copy>(ranked: &[T], groups: &[Vec<T>], k: usize) -> f64 {
    if groups.is_empty() {
        return 0.0;
    }
    let first: HashSet<T> = first_distinct(ranked).into_iter().take(k).collect();
    let met = groups.iter().filter(|group| group.iter().any(|id| first.contains(id))).count();
    met as f64 / groups.len() as f64
}

/// Returns whether a stale id ranks above every gold id.
pub fn stale_first<T: Eq + Hash + Copy>(ranked: &[T], gold: &HashSet<T>, stale: &HashSet<T>) -> bool {
    let place = |ids: &HashSet<T>| first_distinct(ranked).iter().position(|id| ids.contains(id)).unwrap_or(usize::MAX);
    place(stale) < place(gold)
}

/// Returns whether a gold id is among the first k and above every stale id.
pub fn latest_first<T: Eq + Hash + Copy>(ranked: &[T], gold: &HashSet<T>, stale: &HashSet<T>, k: usize) -> bool {
    first_distinct(ranked).iter().take(k).any(|id| gold.contains(id)) && !stale_first(ranked, gold, stale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(ids: &[u32]) -> HashSet<u32> {
        ids.iter().copied().collect()
    }

    #[test]
    fn agrees_with_the_judge_on_its_own_example() {
        let gold = set(&[1, 2]);
        let ranked = [9, 1, 8, 2, 7];
        assert_eq!(score(&ranked, &gold, 1), RankingScores::default());
        let at5 = score(&ranked, &gold, 5);
        assert_eq!((at5.any, at5.all, at5.recall, at5.mrr), (1.0, 1.0, 1.0, 0.5));
        let ideal = 1.0 + 1.0 / 3f64.log2();
        assert!((at5.ndcg - (1.0 / 3f64.log2() + 1.0 / 5f64.log2()) / ideal).abs() < 1e-9);
        assert_eq!(score(&[1, 1, 2], &set(&[2]), 10).mrr, 0.5, "repeats must not push others down");
        assert_eq!(evidence_recall(&[9, 2, 3], &[vec![1, 2], vec![4]], 3), 0.5);
        assert!(stale_first(&[5, 1], &set(&[1]), &set(&[5])));
        assert!(!stale_first(&[], &set(&[1]), &set(&[5])));
        assert!(latest_first(&[1, 5], &set(&[1]), &set(&[5]), 10));
        let far: Vec<u32> = (100..111).chain([1]).collect();
        assert!(!latest_first(&far, &set(&[1]), &set(&[5]), 10));
    }

    proptest! {
        #[test]
        fn every_score_lies_between_0_and_1_and_grows_with_k(ranked in proptest::collection::vec(0u32..30, 0..40), gold in proptest::collection::hash_set(0u32..30, 1..6)) {
            let mut last = RankingScores::default();
            for k in [1, 3, 5, 10, 20] {
                let now = score(&ranked, &gold, k);
                for value in [now.any, now.all, now.recall, now.ndcg, now.mrr] {
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&value));
                }
                prop_assert!(now.recall >= last.recall && now.mrr >= last.mrr && now.any >= last.any);
                last = now;
            }
        }
    }
}
