//! Times of recall by part and day, as histograms of powers of two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;

/// Parts of recall whose time is measured, in their order: PLAN; LAND, ANCHOR, EXPAND and DISTILL; TRACE.
pub const PARTS: [&str; 3] = ["plan", "search", "text"];
/// Number of classes of a histogram; the last one has all longer times.
const CLASSES: usize = 32;
/// Days for which times are kept.
const KEPT_DAYS: i64 = 30;
const DAY_MS: i64 = 86_400_000;

/// Times of one part on one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTimes {
    /// Number of recalls.
    pub count: u64,
    /// Sum of their microseconds.
    pub micros: u64,
    /// Recalls by class: number `n` counts times below `2^n` microseconds that no class before counts.
    pub classes: Vec<u64>,
}

impl PartTimes {
    fn add(&mut self, micros: u64) {
        let class = ((u64::BITS - micros.leading_zeros()) as usize).min(CLASSES - 1);
        self.classes.resize(self.classes.len().max(class + 1), 0);
        self.classes[class] += 1;
        self.count += 1;
        self.micros = self.micros.saturating_add(micros);
    }

    fn merge(&mut self, other: &Self) {
        self.classes.resize(self.classes.len().max(other.classes.len()), 0);
        self.classes.iter_mut().zip(&other.classes).for_each(|(own, other)| *own += other);
        self.count += other.count;
        self.micros = self.micros.saturating_add(other.micros);
    }

    /// Returns a time in microseconds that this share (0 to 1) of the recalls did not pass: the upper end of its class, so up to twice
    /// the true value. 0 if nothing was measured.
    pub fn at(&self, share: f64) -> u64 {
        let rank = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let class = self.classes.iter().position(|number| {
            seen += number;
            seen >= rank
        });
        class.map_or(0, |class| (1_u64 << class) - 1)
    }
}

/// Times of recall by day, as days since 1970 in UTC; one entry for each of [`PARTS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecallTimes(pub BTreeMap<i64, [PartTimes; 3]>);

impl RecallTimes {
    /// Adds the microseconds of a recall.
    pub(crate) fn add(&mut self, now: UtcMillis, micros: [u64; 3]) {
        let day = self.0.entry(now.div_euclid(DAY_MS)).or_default();
        day.iter_mut().zip(micros).for_each(|(part, micros)| part.add(micros));
    }

    /// Adds other times.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (day, parts) in &other.0 {
            self.0.entry(*day).or_default().iter_mut().zip(parts).for_each(|(own, other)| own.merge(other));
        }
    }

    /// Removes the days that are not kept any more.
    pub(crate) fn forget_old(&mut self, now: UtcMillis) {
        let today = now.div_euclid(DAY_MS);
        self.0.retain(|day, _| (today - KEPT_DAYS + 1..=today).contains(day));
    }

    /// Returns whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sums of all days.
    pub fn sum(&self) -> [PartTimes; 3] {
        let mut sum: [PartTimes; 3] = Default::default();
        for parts in self.0.values() {
            sum.iter_mut().zip(parts).for_each(|(own, other)| own.merge(other));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_from_the_classes_within_a_factor_of_two() {
        let mut times = RecallTimes::default();
        for micros in [0, 900, 1_000, 1_100, 60_000] {
            times.add(5 * DAY_MS, [micros, u64::MAX, 1]);
        }
        let [plan, search, text] = times.sum();
        assert_eq!((plan.count, plan.micros), (5, 63_000));
        assert_eq!([plan.at(0.0), plan.at(0.5), plan.at(0.8), plan.at(1.0)], [0, 1_023, 2_047, 65_535]);
        assert_eq!((search.classes.len(), search.micros, text.at(0.95)), (CLASSES, u64::MAX, 1));
        assert_eq!(PartTimes::default().at(0.5), 0);
    }

    #[test]
    fn days_are_summed_and_old_ones_removed() {
        let (mut stored, mut new) = (RecallTimes::default(), RecallTimes::default());
        stored.add(0, [1, 1, 1]);
        stored.add(29 * DAY_MS, [1, 1, 1]);
        new.add(29 * DAY_MS, [5, 5, 5]);
        stored.merge(&new);
        assert_eq!(stored.sum()[0].count, 3);
        stored.forget_old(30 * DAY_MS);
        assert_eq!((stored.0.len(), stored.sum()[0].count, stored.sum()[0].micros), (1, 2, 6));
        // A clock that was set back leaves no day of the future.
        stored.forget_old(0);
        assert!(stored.is_empty());
    }
}
