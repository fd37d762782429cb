//! `[dynamics]`: how memories fade, what keeps them near, and how much that weighs in their rank.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yore_core::memory::dynamics::{self, Curve, Preset, ScoreView, TierLimit, TierLimits};

use crate::config::key::{Key, ProjectMay, Shape};
use crate::config::names::{FadeRate, Names};

/// How memories fade and what keeps them near. Nothing is deleted by age; the doc comments of `core::memory::dynamics` have the formulas.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dynamics {
    /// How much the state of a memory weighs in its rank: "small", a few per cent; "decay", "hybrid" and "lazy", the
    /// weights of the designs that yore grew from; "off", not at all.
    #[schemars(extend("enum" = ["off", "small", "decay", "hybrid", "lazy"]))]
    pub preset: String,
    /// The shape in which strength fades: "exponential", "hyperbolic", "linear", "power", "plateau" or "none".
    #[schemars(extend("enum" = ["exponential", "hyperbolic", "linear", "power", "plateau", "none"]))]
    pub curve: String,
    /// Rates at which memories of a tag or kind fade, in place of the built-in ones: "NAME=RATE". A rate of 2 halves
    /// the half-life; one of 0 stops fading.
    pub rates: Vec<String>,
    /// Days after which half of the strength is left of a memory that nobody used, with the usual importance, found in
    /// a conversation, of a kind that fades at rate 1 (facts).
    pub half_life_days: f64,
    /// Factor of the half-life at importance 1; at importance 0 it divides.
    pub importance_stretch: f64,
    /// The most that uses add to the factor of the half-life, which is 1 without any use.
    pub use_stretch: f64,
    /// Factor of the half-life of what a person said or confirmed.
    pub person_stretch: f64,
    /// Strength of a memory about code that was changed since.
    pub drifted: f64,
    /// Strength of a memory about code that is gone.
    pub orphaned: f64,
    /// The importance that a day with uses adds; it fades again.
    pub promotion: f64,
    /// Mean number of days for which a use counts as recent.
    pub mean_days: f64,
    /// How fast uses approach their full effect: 1 - e^(-rate * uses).
    pub use_rate: f64,
    /// A memory may be warm if its strength or its retention is below this.
    pub warm_below: f64,
    /// A memory may be warm after this many days without a use.
    pub warm_after_days: f64,
    /// A memory may be cool if its strength or its retention is below this.
    pub cool_below: f64,
    /// A memory may be cool after this many days without a use.
    pub cool_after_days: f64,
    /// A memory may be cold if its strength or its retention is below this.
    pub cold_below: f64,
    /// A memory may be cold after this many days without a use.
    pub cold_after_days: f64,
    /// A memory may be frozen if its strength or its retention is below this.
    pub frozen_below: f64,
    /// A memory may be frozen after this many days without a use.
    pub frozen_after_days: f64,
    /// Days after which the part of age in the decay score is a half.
    pub score_half_life_days: f64,
    /// Uses in a month from which the part of access in the decay score is full.
    pub score_expected_uses: f64,
    /// A use within these days multiplies the part of access; younger memories count as used.
    pub score_recent_days: f64,
    /// That factor.
    pub score_recent_factor: f64,
    /// Weight of age in the decay score.
    pub score_age_weight: f64,
    /// Weight of access in the decay score.
    pub score_access_weight: f64,
    /// Weight of importance in the decay score.
    pub score_importance_weight: f64,
}

impl Default for Dynamics {
    fn default() -> Self {
        let dynamics::Dynamics {
            preset,
            curve,
            half_life_days,
            rates: _,
            importance_stretch,
            use_stretch,
            person_stretch,
            drifted,
            orphaned,
            promotion,
            mean_days,
            use_rate,
            tiers: TierLimits([warm, cool, cold, frozen]),
            score,
        } = dynamics::Dynamics::default();
        let [score_age_weight, score_access_weight, score_importance_weight] = score.weights;
        Self {
            preset: preset.as_str().to_owned(),
            curve: curve.as_str().to_owned(),
            rates: Vec::new(),
            half_life_days,
            importance_stretch,
            use_stretch,
            person_stretch,
            drifted,
            orphaned,
            promotion,
            mean_days,
            use_rate,
            warm_below: warm.below,
            warm_after_days: warm.after_days,
            cool_below: cool.below,
            cool_after_days: cool.after_days,
            cold_below: cold.below,
            cold_after_days: cold.after_days,
            frozen_below: frozen.below,
            frozen_after_days: frozen.after_days,
            score_half_life_days: score.half_life_days,
            score_expected_uses: score.expected_uses,
            score_recent_days: score.recent_days,
            score_recent_factor: score.recent_factor,
            score_age_weight,
            score_access_weight,
            score_importance_weight,
        }
    }
}

impl Dynamics {
    /// Returns the constants as the engine takes them.
    pub fn constants(&self) -> dynamics::Dynamics {
        let limit = |below, after_days| TierLimit { below, after_days };
        dynamics::Dynamics {
            preset: Preset::parse(&self.preset).unwrap_or_default(),
            curve: Curve::parse(&self.curve).unwrap_or_default(),
            half_life_days: self.half_life_days,
            rates: self.rates.iter().filter_map(|text| FadeRate::parse(text).ok()).map(|one| (one.name, one.rate)).collect(),
            importance_stretch: self.importance_stretch,
            use_stretch: self.use_stretch,
            person_stretch: self.person_stretch,
            drifted: self.drifted,
            orphaned: self.orphaned,
            promotion: self.promotion,
            mean_days: self.mean_days,
            use_rate: self.use_rate,
            tiers: TierLimits([
                limit(self.warm_below, self.warm_after_days),
                limit(self.cool_below, self.cool_after_days),
                limit(self.cold_below, self.cold_after_days),
                limit(self.frozen_below, self.frozen_after_days),
            ]),
            score: ScoreView {
                half_life_days: self.score_half_life_days,
                expected_uses: self.score_expected_uses,
                recent_days: self.score_recent_days,
                recent_factor: self.score_recent_factor,
                weights: [self.score_age_weight, self.score_access_weight, self.score_importance_weight],
            },
        }
    }
}

/// The keys of `[dynamics]`. A cloned repository may not decide what is remembered.
pub(super) const KEYS: &[Key] = &[
    Key::new("dynamics.preset", Shape::Choice(&["off", "small", "decay", "hybrid", "lazy"]), ProjectMay::Nothing),
    Key::new(
        "dynamics.curve",
        Shape::Choice(&["exponential", "hyperbolic", "linear", "power", "plateau", "none"]),
        ProjectMay::Nothing,
    ),
    Key::new("dynamics.rates", Shape::NamedList { longest: 200, names: Names::FadeRate }, ProjectMay::Nothing),
    Key::new("dynamics.half_life_days", Shape::Number { min: 0.1, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.importance_stretch", Shape::Number { min: 1.0, max: 100.0 }, ProjectMay::Nothing),
    Key::new("dynamics.use_stretch", Shape::Number { min: 0.0, max: 100.0 }, ProjectMay::Nothing),
    Key::new("dynamics.person_stretch", Shape::Number { min: 1.0, max: 100.0 }, ProjectMay::Nothing),
    Key::new("dynamics.drifted", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.orphaned", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.promotion", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.mean_days", Shape::Number { min: 0.1, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.use_rate", Shape::Number { min: 0.0, max: 100.0 }, ProjectMay::Nothing),
    Key::new("dynamics.warm_below", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.warm_after_days", Shape::Number { min: 0.0, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.cool_below", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.cool_after_days", Shape::Number { min: 0.0, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.cold_below", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.cold_after_days", Shape::Number { min: 0.0, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.frozen_below", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.frozen_after_days", Shape::Number { min: 0.0, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_half_life_days", Shape::Number { min: 0.1, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_expected_uses", Shape::Number { min: 0.01, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_recent_days", Shape::Number { min: 0.0, max: 100000.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_recent_factor", Shape::Number { min: 0.0, max: 100.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_age_weight", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_access_weight", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
    Key::new("dynamics.score_importance_weight", Shape::Number { min: 0.0, max: 1.0 }, ProjectMay::Nothing),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_changes_are_the_engines_constants_and_changes_reach_it() {
        assert_eq!(Dynamics::default().constants(), dynamics::Dynamics::default());
        let changed = Dynamics {
            preset: "lazy".to_owned(),
            curve: "power".to_owned(),
            rates: vec!["gauge=0".to_owned()],
            half_life_days: 13.9,
            frozen_below: 0.1,
            ..Dynamics::default()
        };
        let constants = changed.constants();
        assert_eq!((constants.preset, constants.curve), (Preset::Lazy, Curve::Power));
        assert_eq!(constants.rates, [("gauge".to_owned(), 0.0)]);
        assert!((constants.half_life_days - 13.9).abs() < 1e-9 && (constants.tiers.0[3].below - 0.1).abs() < 1e-9);
    }
}
