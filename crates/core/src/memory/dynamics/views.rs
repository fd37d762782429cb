//! Views of the dynamics: the designs' decay score, persistence score and recency, with their formulas.

use super::{Dynamics, State, days_between, evidence};
use crate::time::UtcMillis;

/// Relations of a memory from which its part of connections is full.
const FULL_DEGREE: f64 = 50.0;
/// Days of the recency: half is left after them.
const RECENCY_DAYS: f64 = 7.0;

impl Dynamics {
    /// Returns the decay score, 0 to 1: `w1 * age + w2 * access + w3 * importance * max(age, access)`, with the weights .3, .3, .4.
    ///
    /// - `age = 1 / (1 + days / 60)`, since the memory was recorded
    /// - `access = min(1, uses / 5)`, where a use counts `e^(-days / 30)`, times 1.5 if the last one is at most 7 days ago; 1 for a
    ///   memory that is younger than 7 days, which nobody could use yet
    /// - the importance is multiplied by the larger of both: otherwise no memory would ever fall below its part
    pub fn decay_score(&self, state: &State<'_>, now: UtcMillis) -> f64 {
        let view = &self.score;
        let days = days_between(state.memory.recorded, now);
        let age = 1.0 / (1.0 + days / view.half_life_days);
        let used = (state.uses.recent(now, self.mean_days) / view.expected_uses).min(1.0);
        let is_recent = state.uses.last().is_some_and(|last| days_between(last, now) <= view.recent_days);
        let used = if is_recent { (used * view.recent_factor).min(1.0) } else { used };
        let access = if days <= view.recent_days { 1.0 } else { used };
        let [of_age, of_access, of_importance] = view.weights;
        let importance = self.importance(state, now) * age.max(access);
        (of_age * age + of_access * access + of_importance * importance).clamp(0.0, 1.0)
    }

    /// Returns the persistence score, 0 to 1: `.25 F + .20 E + .25 C + .15 R + .15 I`.
    ///
    /// - `F = 1 - e^(-.3 * uses)`
    /// - `E` = .9 if it is verified, .6 inferred, .3 speculative, times the certainty
    /// - `C = min(1, degree / 50)`; `degree`: the number of its relations
    /// - `R = e^(-days / 30)`, since the last reinforcing use, or since it was recorded
    /// - `I` = 1 if it is pinned
    pub fn persistence(&self, state: &State<'_>, degree: usize, now: UtcMillis) -> f64 {
        let frequency = self.frequency(state);
        let connections = (degree as f64 / FULL_DEGREE).min(1.0);
        let recency = (-state.idle_days(now) / self.mean_days).exp();
        let pinned = if state.memory.is_pinned { 1.0 } else { 0.0 };
        0.25 * frequency + 0.20 * evidence(state.memory) + 0.25 * connections + 0.15 * recency + 0.15 * pinned
    }

    /// Returns the recency, 0 to 1: `1 / (1 + days / 7)` since the last reinforcing use, or since it was recorded.
    pub fn recency(&self, state: &State<'_>, now: UtcMillis) -> f64 {
        1.0 / (1.0 + state.idle_days(now) / RECENCY_DAYS)
    }

    /// Returns the part of frequency, 0 to 1: 0 without a use.
    pub fn frequency(&self, state: &State<'_>) -> f64 {
        1.0 - (-self.use_rate * state.uses.count() as f64).exp()
    }
}
