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
const LIKELY: f32 = 0.8;
const POSSIBLE: f32 = 0.5;

/// Weights of the features, and the intercept, of the logistic function.
const INTERCEPT: f32 = 0.0;
const WEIGHTS: [f32; FEATURES.len()] = [0.0; FEATURES.len()];

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
