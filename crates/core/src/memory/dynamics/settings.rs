//! Constants of the dynamics with the designs' values, and the rates at which kinds and tags fade.

use super::{Curve, Preset, TierLimits};
use crate::memory::{Memory, MemoryKind, Status};

/// All constants of the dynamics.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamics {
    /// The weights by which a memory's state changes its rank.
    pub preset: Preset,
    /// The shape in which strength fades.
    pub curve: Curve,
    /// Days after which half of the strength of an unused memory of the usual importance, given by no person, is left, at rate 1.
    pub half_life_days: f64,
    /// Rates of tags and kinds in place of the built-in ones, by name; a rate of 2 halves the half-life, 0 stops fading.
    pub rates: Vec<(String, f64)>,
    /// Factor of the half-life at importance 1; at importance 0 it divides.
    pub importance_stretch: f64,
    /// The most that uses add to the factor of the half-life, which is 1 without any.
    pub use_stretch: f64,
    /// Factor of the half-life of what a person gave or confirmed.
    pub person_stretch: f64,
    /// Strength of what speaks of code that was changed since.
    pub drifted: f64,
    /// Strength of what speaks of code that is gone.
    pub orphaned: f64,
    /// The importance that a day with uses adds; it fades with a mean of [`Self::mean_days`].
    pub promotion: f64,
    /// Mean days for which a use counts as recent.
    pub mean_days: f64,
    /// Rate at which uses approach their full effect: `F = 1 - e^(-rate * uses)`.
    pub use_rate: f64,
    /// Limits of the tiers.
    pub tiers: TierLimits,
    /// Parameters of the decay score.
    pub score: ScoreView,
}

/// Parameters of the decay score (the view of the first design).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreView {
    /// Days after which the part of age is a half.
    pub half_life_days: f64,
    /// Uses in a month from which the part of access is full.
    pub expected_uses: f64,
    /// A use within these days multiplies the part of access; younger memories count as used.
    pub recent_days: f64,
    /// That factor.
    pub recent_factor: f64,
    /// Weights of age, access and importance.
    pub weights: [f64; 3],
}

impl Default for ScoreView {
    fn default() -> Self {
        Self { half_life_days: 60.0, expected_uses: 5.0, recent_days: 7.0, recent_factor: 1.5, weights: [0.3, 0.3, 0.4] }
    }
}

impl Default for Dynamics {
    fn default() -> Self {
        Self {
            preset: Preset::Small,
            curve: Curve::Exponential,
            half_life_days: 60.0,
            rates: Vec::new(),
            importance_stretch: 4.0,
            use_stretch: 3.0,
            person_stretch: 2.0,
            drifted: 0.6,
            orphaned: 0.2,
            promotion: 0.05,
            mean_days: 30.0,
            use_rate: 0.3,
            tiers: TierLimits::default(),
            score: ScoreView::default(),
        }
    }
}

/// Rates of tags, and the tag whose rate always counts.
const TAGS: &[(&str, f64)] = &[
    ("user_identity", 0.05),
    ("user_preference", 0.1),
    ("error_correction", 0.3),
    ("goal_progress", 0.4),
    ("external_fact", 1.0),
    ("conversation_detail", 2.0),
    (SUPERSEDED, 3.0),
];
const SUPERSEDED: &str = "superseded_info";

impl Dynamics {
    /// Returns the rate at which a memory fades: the smallest of its tags' rates, else that of its kind. What was superseded fades at
    /// its own rate, whatever its tags say.
    pub fn rate(&self, memory: &Memory) -> f64 {
        let set = |name: &str| self.rates.iter().find(|(known, _)| known == name).map(|(_, rate)| *rate);
        let of_tag = |tag: &str| set(tag).or_else(|| TAGS.iter().find(|(known, _)| *known == tag).map(|(_, rate)| *rate));
        if memory.status == Status::Superseded || memory.tags.iter().any(|tag| tag == SUPERSEDED) {
            return of_tag(SUPERSEDED).unwrap_or(1.0);
        }
        let smallest = memory.tags.iter().filter_map(|tag| of_tag(tag)).min_by(f64::total_cmp);
        smallest.or_else(|| set(memory.kind.as_str())).unwrap_or_else(|| of_kind(memory.kind))
    }
}

/// Returns the rate of a kind: that of the tag to which it corresponds.
const fn of_kind(kind: MemoryKind) -> f64 {
    match kind {
        MemoryKind::Preference | MemoryKind::Standard => 0.1,
        MemoryKind::Decision | MemoryKind::Solution | MemoryKind::Pattern | MemoryKind::Insight | MemoryKind::Attempt => 0.3,
        MemoryKind::Question | MemoryKind::Problem | MemoryKind::Todo => 0.4,
        MemoryKind::UserInput | MemoryKind::Event | MemoryKind::Observation => 2.0,
        MemoryKind::Documentation
        | MemoryKind::Code
        | MemoryKind::Conclusion
        | MemoryKind::Context
        | MemoryKind::Research
        | MemoryKind::Resource
        | MemoryKind::Fact
        | MemoryKind::Reflection
        | MemoryKind::CategorySummary => 1.0,
    }
}
