//! Computes the chance that a later statement changes an earlier one, and grades it.

use super::features::{FEATURES, Likeness, features};
use super::read::Statement;

named_enum! {
    /// How sure it is that a later statement changes an earlier one, where neither says so in a form that leaves no doubt.
    ChangeGrade {
        /// The earlier one is likely out of date.
        Likely = "likely",
        /// It may be.
        Possible = "possible",
    }
}

named_enum! {
    /// How a recorded memory stands to a known one, as far as yore sees.
    Touch {
        /// It took the place of the known one.
        Replaced = "replaced",
        /// Both cannot hold, and nobody settled that.
        Contradicts = "contradicts",
        /// It likely changes the known one.
        LikelyChanges = "likely_changes",
        /// It may change the known one.
        MayChange = "may_change",
        /// It says the same, or one says more.
        Same = "same",
        /// Both stand side by side, about something alike.
        Beside = "beside",
    }
}

/// A statement that a later one may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// How sure it is.
    pub grade: ChangeGrade,
    /// The chance, 0 to 1.
    pub chance: f32,
}

/// Chance from which a change is likely, and from which it is possible.
const LIKELY: f32 = 0.85;
const POSSIBLE: f32 = 0.7;

/// Weights of the features, and the intercept, of the logistic function.
const INTERCEPT: f32 = -1.804;
const WEIGHTS: [f32; FEATURES.len()] = [
    0.893, 0.075, 2.308, 0.750, 0.934, -0.061, 0.400, -0.803, 0.013, 0.870, -0.137, 0.525, 0.229, 0.874, -1.736, -0.541, -3.775,
    -1.481, -2.655, -3.680, -2.937, -0.467, 0.019, -0.352, -1.933, -2.000, -0.887, 0.814, 1.031, 0.455, -3.145, 3.653, 0.496,
    -0.901, 0.107, 0.011, 1.686, -0.964, -0.980, -0.510,
];

impl Change {
    /// Returns the change that the later of two statements may make to the earlier; `None` if both likely stand side by side.
    pub fn of(earlier: &Statement, later: &Statement, likeness: Likeness<'_>) -> Option<Self> {
        let chance = chance(earlier, later, likeness);
        let grade = match chance {
            LIKELY.. => ChangeGrade::Likely,
            POSSIBLE.. => ChangeGrade::Possible,
            _ => return None,
        };
        Some(Self { grade, chance })
    }
}

/// Returns the chance that the later of two statements changes the earlier, 0 to 1.
pub fn chance(earlier: &Statement, later: &Statement, likeness: Likeness<'_>) -> f32 {
    let sum: f32 = features(earlier, later, likeness).iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    1.0 / (1.0 + (-(INTERCEPT + sum)).exp())
}
