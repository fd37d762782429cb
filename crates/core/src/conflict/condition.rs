//! Reads the condition under which a statement holds: "when the gauge is offline", "unless it is dry".

use std::collections::BTreeSet;

use super::clause::clauses;
use super::words::CONDITION_CUES;
use crate::text::is_stop_word;

/// Letters that the forms of a word share.
const STEM_CHARS: usize = 5;
/// Words after which "if" or "when" asks.
const ASKING: &[&str] = &[
    "ask",
    "asks",
    "asked",
    "check",
    "checks",
    "checked",
    "decide",
    "decides",
    "determine",
    "determines",
    "know",
    "knows",
    "see",
    "sees",
    "tell",
    "tells",
    "test",
    "tests",
    "verify",
    "verifies",
    "wonder",
    "wonders",
    "prüft",
    "prüfen",
    "fragt",
    "weiß",
];
/// Words that turn a condition round.
const NEGATIVE: &[&str] =
    &["unless", "not", "no", "never", "without", "isn't", "doesn't", "nicht", "kein", "keine", "nie", "ohne"];

/// The condition under which a statement holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// As it is said.
    pub text: String,
    words: BTreeSet<String>,
    /// True if it is one under which something is not so: "unless".
    is_negative: bool,
}

impl Condition {
    /// Reads the condition of a statement; `None` if it names none.
    ///
    /// ```
    /// use yore_core::conflict::Condition;
    /// let told = |text| Condition::of(text).map(|condition| condition.text);
    /// assert_eq!(told("When the gauge is offline, the timeout is 60 s."), Some("When the gauge is offline".into()));
    /// assert_eq!(told("The timeout is 60 s if the gauge is offline."), Some("if the gauge is offline".into()));
    /// assert_eq!(told("The timeout is 60 s."), None);
    /// ```
    pub fn of(statement: &str) -> Option<Self> {
        for range in clauses(statement) {
            let clause = statement[range].trim();
            let lower = clause.to_ascii_lowercase();
            let begins = |cue: &&&str| lower.starts_with(**cue) && lower[cue.len()..].starts_with(' ');
            // "It checks if the gauge is online" names no condition.
            let is_asked = |at: usize| lower[..at].split_whitespace().next_back().is_some_and(|word| ASKING.contains(&word));
            let inside = |cue: &&str| lower.find(&format!(" {cue} ")).map(|at| at + 1).filter(|at| !is_asked(*at));
            let at = if CONDITION_CUES.iter().any(|cue| begins(&cue)) {
                Some(0)
            } else {
                CONDITION_CUES.iter().filter_map(inside).min()
            };
            let Some(text) = at.map(|at| clause[at..].trim()) else { continue };
            let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
            let says = |word: &String| !word.is_empty() && !is_stop_word(word) && !CONDITION_CUES.contains(&word.as_str());
            let words: BTreeSet<String> = words.filter(says).map(|word| word.chars().take(STEM_CHARS).collect()).collect();
            if !words.is_empty() {
                let lower = text.to_lowercase();
                let is_negative = lower.split_whitespace().any(|word| NEGATIVE.contains(&word));
                return Some(Self { text: text.to_owned(), words, is_negative });
            }
        }
        None
    }

    /// Returns whether two conditions may be the same in other words: one says nothing that the other does not.
    pub fn may_be(&self, other: &Self) -> bool {
        self.is_negative == other.is_negative && (self.words.is_subset(&other.words) || other.words.is_subset(&self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn conditions_are_told_apart_by_their_words() {
        let may_be = |a: &str, b: &str| Condition::of(a).unwrap().may_be(&Condition::of(b).unwrap());
        assert!(may_be("The timeout is 60 s when the gauge is offline.", "If the gauge goes offline, the timeout is 30 s."));
        assert!(!may_be("The timeout is 60 s when the gauge is offline.", "The timeout is 30 s when the tide is high."));
        assert!(!may_be("It is 60 when the tide is high.", "It is 30 unless the tide is high."));
        assert!(!may_be("Wenn der Pegel fehlt, gilt 60.", "Falls die Flut hoch ist, gilt 30."));
    }

    #[test]
    fn a_cue_without_a_condition_is_none() {
        for text in ["Ask when.", "The probe checks if the gauge is online.", "It runs whenever", "", "when it is"] {
            assert_eq!(Condition::of(text), None, "{text}");
        }
    }
}
