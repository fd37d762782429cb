//! Reinforcing uses of a memory with their times: opened, cited, confirmed, and together with others. Shows and gifts never count.

use super::days_between;
use crate::memory::Use;
use crate::time::UtcMillis;

/// Weight below which memories that were used together are not related any more.
pub const LEAST_TOGETHER: f32 = 0.05;

impl Use {
    /// Returns whether it is evidence that the memory was needed. What yore itself shows or gives is none: it would make strong what
    /// is strong already.
    pub const fn reinforces(self) -> bool {
        matches!(self, Self::Opened | Self::Cited)
    }
}

/// Returns the weight of the implicit relation between two memories that were used in the same sessions, 0 to 1; 0 below
/// [`LEAST_TOGETHER`]: it is not told then, and comes back with the next common use. `times`: one for each of these sessions; each
/// counts less the longer ago it was, as `w = 1 - e^(-sum of e^(-days / mean))`.
pub fn used_together(times: &[UtcMillis], now: UtcMillis, mean_days: f64) -> f32 {
    let sum: f64 = times.iter().map(|at| (-days_between(*at, now) / mean_days).exp()).sum();
    let weight = (1.0 - (-sum).exp()) as f32;
    if weight < LEAST_TOGETHER { 0.0 } else { weight }
}

/// The reinforcing uses of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reinforcement {
    /// Times that are known, in any order; confirmations are among them.
    pub times: Vec<UtcMillis>,
    /// Further ones, whose times are no longer known: they count, and are no reason to count as used lately.
    pub earlier: u64,
}

impl Reinforcement {
    /// Makes it from a log of uses and the times of confirmations.
    pub fn of(uses: impl IntoIterator<Item = (Use, UtcMillis)>, confirmed: impl IntoIterator<Item = UtcMillis>) -> Self {
        let used = uses.into_iter().filter(|(way, _)| way.reinforces()).map(|(_, at)| at);
        Self { times: used.chain(confirmed).collect(), earlier: 0 }
    }

    /// Returns the number of uses, ever.
    pub fn count(&self) -> u64 {
        self.earlier + self.times.len() as u64
    }

    /// Returns the time of the last one that is known.
    pub fn last(&self) -> Option<UtcMillis> {
        self.times.iter().copied().max()
    }

    /// Returns the number of uses, each counting less the longer ago it was: `e^(-days / mean)`.
    pub fn recent(&self, now: UtcMillis, mean_days: f64) -> f64 {
        self.times.iter().map(|at| (-days_between(*at, now) / mean_days).exp()).sum()
    }

    /// Returns the number of days with uses, each counting less the longer ago it was.
    pub fn recent_days(&self, now: UtcMillis, mean_days: f64) -> f64 {
        let mut days: Vec<i64> = self.times.iter().map(|at| days_between(*at, now) as i64).collect();
        days.sort_unstable();
        days.dedup();
        days.into_iter().map(|days| (-(days as f64) / mean_days).exp()).sum()
    }
}
