//! Computes the chance that a later statement changes an earlier one, and grades it.

use super::features::{FEATURES, Likeness, change_features, is_of_other_environment, says_what_it_changes};
use super::read::Statement;
use super::repetition::Repetition;

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
const LIKELY: f32 = 0.8;
const POSSIBLE: f32 = 0.7;

/// Weights of the features, and the intercept, of the logistic function.
const INTERCEPT: f32 = -2.198;
const WEIGHTS: [f32; FEATURES.len()] = [
    1.260, -0.012, 1.936, 0.792, 1.116, -0.104, 0.373, -0.844, 0.244, 0.579, -0.037, 0.649, 0.236, 1.132, -1.372, -0.465, -2.538,
    -0.999, -2.829, -3.881, -3.044, -0.582, 0.052, -0.315, -1.790, -1.666, -0.845, 0.910, 1.378, 0.758, -3.314, 3.512, 0.440,
    -1.048, 0.139, 0.343, 1.273, -0.904, -1.058, -0.451,
];

impl Change {
    /// Returns the change that the later of two statements may make to the earlier; `None` if both say the same, or likely stand side by
    /// side.
    pub fn of(earlier: &Statement, later: &Statement, likeness: Likeness<'_>) -> Option<Self> {
        let is_long = earlier.is_long() || later.is_long();
        let says_nothing_new = || matches!(Repetition::of(earlier, later), Some(Repetition::Same | Repetition::FirstSaysMore));
        if is_long || is_of_other_environment(earlier, later) || says_nothing_new() {
            return None;
        }
        let chance = chance_of_change(earlier, later, likeness);
        let grade = match chance {
            LIKELY.. => ChangeGrade::Likely,
            POSSIBLE.. => ChangeGrade::Possible,
            _ => return None,
        };
        Some(Self { grade, chance })
    }
}

/// Returns the chance that the later of two statements changes the earlier, 0 to 1.
pub fn chance_of_change(earlier: &Statement, later: &Statement, likeness: Likeness<'_>) -> f32 {
    let features = change_features(earlier, later, likeness);
    let sum: f32 = features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    let chance = 1.0 / (1.0 + (-(INTERCEPT + sum)).exp());
    // Such pairs are rare where the weights were fitted.
    if says_what_it_changes(earlier, later, likeness) { chance.max(LIKELY) } else { chance }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Tokenizer;

    /// Words that begin alike are alike; that is enough to try the rules.
    fn likeness(first: &str, second: &str) -> f32 {
        let shared = first.chars().zip(second.chars()).take_while(|(a, b)| a == b).count();
        shared as f32 / first.chars().count().max(second.chars().count()).max(1) as f32
    }

    fn chance(first: &str, second: &str) -> f32 {
        let mut tokenizer = Tokenizer::default();
        let (first, second) = (Statement::of(first, &mut tokenizer), Statement::of(second, &mut tokenizer));
        chance_of_change(&first, &second, &likeness)
    }

    #[test]
    fn a_statement_that_says_what_it_changes_likely_does() {
        for (first, second) in [
            ("CI runs on Jenkins.", "CI moved from Jenkins to GitHub Actions."),
            ("we use pnpm now instead of npm", "we use bun instead of pnpm"),
            ("we use pnpm now instead of npm", "we use npm"),
            ("we indent with tabs", "we indent with spaces"),
        ] {
            assert!(chance(first, second) >= LIKELY, "{first} {second}");
        }
        for (first, second) in [
            ("we use pnpm now instead of npm", "we do not use npm"),
            ("we use pnpm now instead of npm", "we use pnpm"),
            ("node 1 runs the database", "node 2 runs the database"),
            ("node 3 needs a restart", "node 4 needs a restart"),
            ("the docs are written in Markdown", "the docs are written in English"),
            ("The exporter supports Prometheus.", "The exporter supports Datadog."),
            ("The cache was moved from Redis to moka.", "The cache was moved from Redis to moka because failover took minutes."),
        ] {
            assert!(chance(first, second) < LIKELY, "{first} {second}");
        }
    }

    #[test]
    fn a_change_has_a_higher_chance_than_what_only_looks_like_one() {
        for (first, changed, beside) in [
            (
                "CI runs on Jenkins.",
                "CI moved from Jenkins to GitHub Actions.",
                "CI runs on Jenkins, and the docs are built on Netlify too.",
            ),
            ("Shard 3 lives on host 12.", "Shard 3 lives on host 13 now.", "Shard 4 lives on host 13."),
            ("Node 18 is required.", "Node 20 is required.", "Worker 20 is required."),
            (
                "The API rate limit is 100 per minute.",
                "The API rate limit is 600 per minute.",
                "The API rate limit for partners is 600 per minute.",
            ),
            (
                "Every pull request needs a review.",
                "No pull request needs a review any longer.",
                "Pull requests of docs are exempt from the review.",
            ),
            ("The server listens on 9090.", "The server listens on 7070.", "The staging server listens on 7070."),
        ] {
            let (of_changed, of_beside) = (chance(first, changed), chance(first, beside));
            assert!(of_changed > of_beside, "{first}: {of_changed} {of_beside}");
        }
    }

    #[test]
    fn statements_of_several_claims_change_nothing() {
        let mut tokenizer = Tokenizer::default();
        let mut plan = |title: &str| {
            let goal =
                "The client knows two kinds of gauges and asks each for its readings once an hour. A third kind is to be added.";
            Statement::of(&format!("Approved plan: {title}. {goal} It writes them to the log."), &mut tokenizer)
        };
        assert_eq!(Change::of(&plan("Read gauges by radio"), &plan("Show tides on a map"), &likeness), None);
    }

    #[test]
    fn first_sentence_makes_the_claim_but_for_a_question() {
        let mut tokenizer = Tokenizer::default();
        let mut words = |text| Statement::claim_of(text, &mut tokenizer).texts().join(" ");
        assert_eq!(words("Leases live in SQLite now. Redis lost heartbeats."), "leases live in sqlite now");
        assert_eq!(words("Where should leases live? Chosen: SQLite."), "where should leases live chosen sqlite");
        assert_eq!(words("Leases moved. They live in SQLite."), "leases moved they live in sqlite");
    }

    #[test]
    fn what_says_a_part_again_changes_nothing() {
        let mut tokenizer = Tokenizer::default();
        let mut read = |text| Statement::of(text, &mut tokenizer);
        let known = read("Leases are read from SQLite by the scheduler.");
        assert_eq!(Change::of(&known, &read("Leases are read from SQLite."), &likeness), None);
    }

    #[test]
    fn what_says_the_same_again_changes_nothing() {
        let mut tokenizer = Tokenizer::default();
        let mut read = |text| Statement::of(text, &mut tokenizer);
        let known = read("The search cache is warmed at start.");
        for again in ["Search cache is warmed at start", "search cache is warmed at the start!"] {
            assert_eq!(Change::of(&known, &read(again), &likeness), None, "{again}");
        }
    }

    proptest! {
        #[test]
        fn any_two_texts_have_a_chance(first in "\\PC{0,60}", second in "([a-z]{1,6} |[0-9]{1,3} |İ|ẞ|\\.|-|/){0,20}") {
            let chance = chance(&first, &second);
            prop_assert!((0.0..=1.0).contains(&chance), "{chance}");
        }
    }
}
