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
const INTERCEPT: f32 = -1.603;
const WEIGHTS: [f32; FEATURES.len()] = [
    1.056, -0.058, 1.504, 0.988, 0.900, -0.033, 0.319, -0.596, 0.201, 0.550, 0.758, 0.839, 0.186, 1.326, -1.665, -0.239, -3.153,
    -2.159, -2.207, -3.047, -2.665, -0.751, -0.024, -0.288, -1.991, -2.115, -1.485, 0.815, 1.088, 0.416, -2.869, 3.136, 0.441,
    -0.854, 0.396, -0.212, 1.981, -0.999, -1.052, -0.657,
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
