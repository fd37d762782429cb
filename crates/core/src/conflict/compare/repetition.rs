//! Decides whether two statements say the same, or one says what the other says and more.

use super::align::Alignment;
use super::lists::Lists;
use super::read::Statement;

/// How much of one statement the other says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Each says all that the other says.
    Same,
    /// The first says all that the second says, and more.
    FirstSaysMore,
    /// The second says all that the first says, and more.
    SecondSaysMore,
}

impl Repetition {
    /// Compares two statements; `None` if each says something that the other does not, or if they may differ in what they say: in a value,
    /// a denial, an order of things, a condition. Only forms of one word count as one, so in doubt both statements stay.
    ///
    /// ```
    /// use yore_core::conflict::{Repetition, Statement};
    /// use yore_core::text::Tokenizer;
    /// let mut tokenizer = Tokenizer::default();
    /// let mut read = |text| Statement::of(text, &mut tokenizer);
    /// let logs = read("Always write the logs of the crane service to stdout.");
    /// assert_eq!(Repetition::of(&logs, &read("always write logs of the crane service to stdout")), Some(Repetition::Same));
    /// assert_eq!(Repetition::of(&logs, &read("Always write the logs of the crane service to journald.")), None);
    /// ```
    pub fn of(first: &Statement, second: &Statement) -> Option<Self> {
        let aligned = Alignment::of(first, second);
        let [of_first, of_second] = &aligned.left;
        let repetition = match (of_first.is_empty(), of_second.is_empty()) {
            (true, true) => Self::Same,
            (false, true) => Self::FirstSaysMore,
            (true, false) => Self::SecondSaysMore,
            (false, false) => return None,
        };
        let denials = |statement: &Statement| statement.words.iter().filter(|word| word.denies()).count();
        let relational = |statement: &Statement| -> Vec<String> {
            let words = statement.words.iter().filter(|word| word.is("relational"));
            words.map(|word| Lists::get().name_of(&word.text).to_owned()).collect()
        };
        let (texts, other_texts) = (first.texts(), second.texts());
        let is_in_order = aligned.matched.values().is_sorted();
        let is_alike = !aligned.matched.is_empty()
            && is_in_order
            && denials(first) == denials(second)
            && relational(first) == relational(second)
            && first.is_question() == second.is_question()
            && ["opposite", "contrast"].iter().all(|category| !Lists::get().are_apart(category, &texts, &other_texts))
            && ["exception", "hedge", "historic"].iter().all(|category| first.has(category) == second.has(category))
            && !Lists::get().has_one_alone("contrast", &texts, &other_texts)
            && aligned
                .left
                .iter()
                .zip([first, second])
                .all(|(left, of)| left.iter().all(|at| !of.words[*at].is_cue() && !of.words[*at].kind.is_value()));
        is_alike.then_some(repetition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Tokenizer;

    fn repetition(first: &str, second: &str) -> Option<Repetition> {
        let mut tokenizer = Tokenizer::default();
        let (first, second) = (Statement::of(first, &mut tokenizer), Statement::of(second, &mut tokenizer));
        let there = Repetition::of(&first, &second);
        let back = Repetition::of(&second, &first).map(|back| match back {
            Repetition::Same => Repetition::Same,
            Repetition::FirstSaysMore => Repetition::SecondSaysMore,
            Repetition::SecondSaysMore => Repetition::FirstSaysMore,
        });
        assert_eq!(there, back, "in either order: {first:?} | {second:?}");
        there
    }

    #[test]
    fn the_same_in_other_forms_is_a_repetition() {
        for (first, second) in [
            ("Always write the logs to stdout.", "always write logs to stdout"),
            ("Config lives in config/app.toml", "config lives in `config/app.toml`."),
            ("Run the databse migrations with goose", "Run the database migrations with goose."),
            ("We deploy to k8s", "we deploy to Kubernetes"),
            ("The gauge is read every morning.", "The gauge is read each morning."),
        ] {
            assert_eq!(repetition(first, second), Some(Repetition::Same), "{first} | {second}");
        }
        let more = repetition("Run the tests with nextest.", "Run the tests with nextest in the workspace root.");
        assert_eq!(more, Some(Repetition::SecondSaysMore));
    }

    #[test]
    fn another_value_subject_order_or_bound_is_no_repetition() {
        for (first, second) in [
            ("Always write the logs of the crane service to stdout.", "Always write the logs of the crane service to journald."),
            ("The crane service must be restarted.", "The gauge service must be restarted."),
            ("The maximum line width is 100.", "The maximum line width is 120."),
            ("Export the report as CSV.", "Export the report as Parquet."),
            ("Sessions moved from Redis to Postgres.", "Sessions moved from Postgres to Redis."),
            ("Run the linter before the tests.", "Run the linter after the tests."),
            ("Push to main.", "Never push to main."),
            ("Every change needs a review.", "Every change needs a review, except for docs."),
            ("The server listens on 9090.", "The staging server listens on 9090."),
            ("Shard 3 is full.", "Shard 4 is full."),
            ("Flag new_checkout is on.", "Flag new_checkout is off."),
            ("Use tabs.", "Maybe use tabs."),
            ("", ""),
            ("it is so", "we do that"),
        ] {
            assert_eq!(repetition(first, second), None, "{first} | {second}");
        }
    }
}
