//! Computes strength, retention and tier of a memory from its record, its uses and a time: nothing of that is stored.
//!
//! - [`State`]: a record, its reinforcing uses and the verdict of the code check
//! - [`Dynamics`]: the constants; [`Dynamics::standing`] returns strength, retention and tier
//! - `views`: the designs' scores; `factor`: the weight in a rank
//!
//! A memory that is used and true stays near, and one that is neither steps back without being destroyed. Opening, citing and
//! confirming reinforce; being shown or given does not.

mod curve;
mod factor;
mod preset;
mod reinforcement;
mod settings;
#[cfg(test)]
mod tests;
mod tier;
mod views;

use serde::{Deserialize, Serialize};

pub use self::curve::Curve;
pub use self::factor::Signals;
pub use self::preset::Preset;
pub use self::reinforcement::{LEAST_TOGETHER, Reinforcement, used_together};
pub use self::settings::{Dynamics, ScoreView};
pub use self::tier::{Tier, TierLimit, TierLimits};
use super::{Confidence, Lane, Memory, Verdict};
use crate::time::UtcMillis;

const DAY_MS: f64 = 86_400_000.0;

/// Returns the days from one time to another; 0 if the other is earlier, as after a change of the clock.
fn days_between(from: UtcMillis, to: UtcMillis) -> f64 {
    (to.saturating_sub(from).max(0) as f64) / DAY_MS
}

/// The parameters from which the standing of a memory follows.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// The record, with its tags.
    pub memory: &'a Memory,
    /// Its reinforcing uses.
    pub uses: &'a Reinforcement,
    /// The verdict on the code that it speaks of; `None`: it speaks of none, or nothing was compared.
    pub code: Option<Verdict>,
}

impl<'a> State<'a> {
    /// Makes the state of a memory that was not used and speaks of no code.
    pub fn unused(memory: &'a Memory) -> Self {
        static NONE: Reinforcement = Reinforcement { times: Vec::new(), earlier: 0 };
        Self { memory, uses: &NONE, code: None }
    }

    /// Returns the days since the last reinforcing use, or since the memory was recorded.
    fn idle_days(&self, now: UtcMillis) -> f64 {
        let recorded = self.memory.recorded;
        days_between(self.uses.last().map_or(recorded, |last| last.max(recorded)), now)
    }
}

/// The standing of a memory at a time.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Standing {
    /// The share of its strength that is left, 0 to 1.
    pub strength: f32,
    /// How much speaks for keeping it near, 0 to 1: `(.25 F + .20 E + .15 strength) / .60`, with `F` and `E` of the persistence score.
    pub retention: f32,
    /// Its tier.
    pub tier: Tier,
    /// Its decay score, 0 to 1.
    pub decay: f32,
}

/// Returns the part of evidence, 0 to 1.
fn evidence(memory: &Memory) -> f64 {
    let of_confidence = match memory.confidence {
        Confidence::Verified => 0.9,
        Confidence::Inferred => 0.6,
        Confidence::Speculative => 0.3,
    };
    of_confidence * f64::from(memory.certainty)
}

impl Dynamics {
    /// Returns the standing of a memory.
    pub fn standing(&self, state: &State<'_>, now: UtcMillis) -> Standing {
        let decay = self.decay_score(state, now) as f32;
        if state.memory.is_pinned {
            return Standing { strength: 1.0, retention: 1.0, tier: Tier::Active, decay };
        }
        let strength = self.strength(state, now);
        // As the persistence score, without the parts of pinned memories and of relations, and with the recency on the memory's own curve.
        let retention = (0.25 * self.frequency(state) + 0.20 * evidence(state.memory) + 0.15 * strength) / 0.60;
        // A memory about code that is as it was is not idle.
        let idle = if state.code == Some(Verdict::Fresh) { 0.0 } else { state.idle_days(now) };
        let tier = self.tiers.tier(strength.min(retention), idle);
        Standing { strength: strength as f32, retention: retention as f32, tier, decay }
    }

    /// Returns the strength, 0 to 1: `curve(days since the last reinforcing use / half-life)`; of what speaks of code, by the verdict
    /// on the code, and not by time.
    pub fn strength(&self, state: &State<'_>, now: UtcMillis) -> f64 {
        match state.code {
            _ if state.memory.is_pinned => 1.0,
            Some(Verdict::Fresh) => 1.0,
            Some(Verdict::Drifted) => self.drifted,
            Some(Verdict::Orphaned) => self.orphaned,
            None => self.curve.left(state.idle_days(now) * self.fading(state, now)),
        }
    }

    /// Returns the half-lives that pass in a day.
    fn fading(&self, state: &State<'_>, now: UtcMillis) -> f64 {
        let person = if state.memory.lane == Lane::Curated { self.person_stretch } else { 1.0 };
        let importance = self.importance_stretch.powf(2.0 * self.importance(state, now) - 1.0);
        let used = 1.0 + self.use_stretch * self.frequency(state);
        self.rate(state.memory) / (self.half_life_days * person * importance * used)
    }

    /// Returns the importance, 0 to 1: as it was stated, and a little more for each day with uses, which fades again.
    pub fn importance(&self, state: &State<'_>, now: UtcMillis) -> f64 {
        let stated = f64::from(state.memory.importance);
        (stated + self.promotion * state.uses.recent_days(now, self.mean_days)).clamp(0.0, 1.0)
    }
}
