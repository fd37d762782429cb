//! Compares two statements: whether they say the same, one says more, the later one changes the earlier, or both stand side by side.
//!
//! The words of both are aligned (`align`): forms of one word, abbreviations and typing errors count as one. Statements of which no word
//! lacks its counterpart say the same. Otherwise the chance that the later one changes the earlier is a logistic function of features of
//! the two (`features`): what they share, what stands where in either, the kinds of values, and words of change, addition, exception.

mod align;
mod change;
mod features;
mod lists;
mod read;
mod repetition;
mod things;

pub use self::change::{Change, ChangeGrade, Touch, chance_of_change};
pub use self::features::{FEATURES, Likeness, change_features};
pub use self::read::Statement;
pub use self::repetition::Repetition;
