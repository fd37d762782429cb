//! Decides whether two statements contradict each other: by a denial, an opposite, or another value, date or version.
//!
//! Statements are compared clause by clause, since a message says many things. Two clauses conflict if they speak of the same,
//! by the words that they share, and one of them is negated or says the opposite ([`ConflictKind::Direct`]), or both give a value of
//! the same thing and the values differ. A value that the other text has, too, has not changed. Words are English and German.
//! Measured on labelled pairs in `docs/measurements.md`, "Conflicts".

mod aspect;
mod assertion;
mod clause;
mod compare;
mod condition;
mod words;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use self::aspect::Aspect;
pub use self::assertion::{ASSERTION_RULES, Assertion, StatedValue, assertion_in};
use self::clause::{Clause, Negation, Of, Value, clause, clauses};
pub use self::compare::{
    Change, ChangeGrade, FEATURES, Likeness, Repetition, Statement, Touch, chance_of_change, change_features,
};
pub use self::condition::Condition;
use self::words::{CHANGING, CONTRASTS, GIVING, OPPOSITES, VERBS};
use crate::text::{Tokenizer, Tokens, code_blocks};

named_enum! {
    /// The way in which two statements conflict.
    ConflictKind {
        /// One denies what the other says.
        Direct = "direct",
        /// They give different values of one thing: a number, an amount, a version.
        Value = "value",
        /// They give different dates or times of one thing.
        Temporal = "temporal",
        /// One is only more exact than the other.
        Granularity = "granularity",
    }
}

named_enum! {
    /// The weight of a conflict.
    ConflictSeverity {
        /// Both may stand.
        Minor = "minor",
        /// One of them is likely out of date.
        Major = "major",
        /// One of them is wrong.
        Critical = "critical",
    }
}

named_enum! {
    /// The way in which a conflict should be settled.
    Resolution {
        /// The newer one takes the place of the older.
        Recency = "recency",
        /// The one that counts more holds: a person's word.
        Authority = "authority",
        /// Both hold, each under its own condition.
        Conditional = "conditional",
        /// Somebody who knows has to say.
        Escalate = "escalate",
    }
}

/// One of two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// The first.
    First,
    /// The second.
    Second,
}

/// A conflict of two statements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    /// Its kind.
    pub kind: ConflictKind,
    /// The clause of the first statement, in bytes.
    pub first: Range<usize>,
    /// The clause of the second statement, in bytes.
    pub second: Range<usize>,
    /// The thing that both speak of: words that they share, stemmed.
    pub about: Vec<String>,
    /// The values that differ, if values do.
    pub values: Option<[String; 2]>,
    /// The statement that says that what the other says is no longer so.
    #[serde(default)]
    pub ended_by: Option<Which>,
    /// Share of the words of the denial that the other clause has; of values, of the shorter clause. 0 to 1.
    pub overlap: f32,
}

impl Conflict {
    /// Returns how much it weighs.
    pub fn severity(&self) -> ConflictSeverity {
        match self.kind {
            ConflictKind::Granularity => ConflictSeverity::Minor,
            ConflictKind::Direct if self.overlap >= SURE => ConflictSeverity::Critical,
            ConflictKind::Direct | ConflictKind::Value | ConflictKind::Temporal => ConflictSeverity::Major,
        }
    }
}

/// Bytes at the beginning of a statement that are read.
const READ: usize = 6_000;
/// Share of the words of a denial ("never", "no longer") that the other clause must have, and of one with a plain "not".
const STRONG_SHARE: f32 = 0.5;
const WEAK_SHARE: f32 = 0.67;
/// From this share on, a denial is sure.
pub const SURE: f32 = 0.8;
/// Words that both clauses must share: with a denial, beside a value, and beside a date.
const LEAST_SHARED: usize = 2;
const LEAST_BESIDE_VALUE: usize = 1;
const LEAST_BESIDE_DATE: usize = 2;
/// Share of the shorter clause's words that both must share beside a value.
const VALUE_SHARE: f32 = 0.25;

/// A statement that is compared with others, read once.
#[derive(Clone, Debug)]
pub struct Claims(Vec<Clause>);

impl Claims {
    /// Reads a statement.
    pub fn of(text: &str, tokenizer: &mut Tokenizer) -> Self {
        let read = &text[..text.floor_char_boundary(READ)];
        let code: Vec<Range<usize>> = code_blocks(read).into_iter().map(|block| block.code).collect();
        let is_code = |at: usize| code.iter().any(|block| block.contains(&at));
        let clauses = clauses(read).into_iter().filter(|range| !is_code(range.start));
        Self(clauses.map(|range| clause(read, range, tokenizer)).filter(|clause| !clause.words.is_empty()).collect())
    }

    /// Returns the strongest conflict with another statement; `None` if both may hold.
    pub fn conflict(&self, other: &Self) -> Option<Conflict> {
        let mut best: Option<(f32, Conflict)> = None;
        for first in &self.0 {
            for second in &other.0 {
                let found = denied(first, second).into_iter().chain(differing(first, second, self, other));
                for (score, mut conflict) in found {
                    // One of several things that are said may still be so.
                    if self.0.len() > 1 || other.0.len() > 1 {
                        conflict.ended_by = None;
                    }
                    if best.as_ref().is_none_or(|(known, _)| score > *known) {
                        best = Some((score, conflict));
                    }
                }
            }
        }
        best.map(|(_, conflict)| conflict)
    }

    /// Returns the words of which it speaks, stemmed.
    pub fn words(&self) -> BTreeSet<&str> {
        self.0.iter().flat_map(|clause| clause.words.iter().map(String::as_str)).collect()
    }

    fn has(&self, value: &Value) -> bool {
        self.0.iter().flat_map(|clause| &clause.values).any(|known| known.of.is_same(&value.of) && known.text == value.text)
    }
}

/// Returns the strongest conflict of two statements; `None` if both may hold.
///
/// ```
/// use yore_core::conflict::{ConflictKind, conflict};
/// let kind = |a, b| conflict(a, b).map(|conflict| conflict.kind);
/// assert_eq!(kind("The gallery has 8 cards.", "There are 10 cards in the gallery now."), Some(ConflictKind::Value));
/// assert_eq!(kind("The berth leases live in Redis.", "The berth leases never live in Redis."), Some(ConflictKind::Direct));
/// assert_eq!(kind("The berth leases live in Redis.", "The gauge polls Redis."), None);
/// ```
pub fn conflict(first: &str, second: &str) -> Option<Conflict> {
    let mut tokenizer = Tokenizer::default();
    Claims::of(first, &mut tokenizer).conflict(&Claims::of(second, &mut tokenizer))
}

/// Returns the conflict of a clause that denies what another says, with its score.
fn denied(first: &Clause, second: &Clause) -> Option<(f32, Conflict)> {
    if [first.negation, second.negation].contains(&Negation::Bound) || are_of_two_things(first, second) {
        return None;
    }
    let opposite = OPPOSITES.iter().find(|pair| {
        let has = |clause: &Clause, at: usize| clause.words.contains(pair[at]);
        has(first, 0) && has(second, 1) && !has(first, 1) && !has(second, 0)
            || has(first, 1) && has(second, 0) && !has(first, 0) && !has(second, 1)
    });
    let (denying, other) = match (first.negation, second.negation, opposite) {
        // "Not enabled" and "disabled" say the same.
        (a, b, Some(_)) if (a == Negation::None) != (b == Negation::None) => return None,
        (Negation::None, Negation::None, Some(_)) => (first, second),
        (a, b, None) if (a == Negation::None) != (b == Negation::None) => {
            if a == Negation::None {
                (second, first)
            } else {
                (first, second)
            }
        }
        _ => return None,
    };
    let is_opposite = |word: &String| opposite.is_some_and(|pair| pair.contains(&word.as_str()));
    let own: Vec<&String> = denying.words.iter().filter(|word| !is_opposite(word)).collect();
    let shared: Vec<String> = own.iter().filter(|word| other.words.contains(**word)).map(|word| (*word).clone()).collect();
    // Where neither is a denial, the longer clause counts, so that the order of the two does not.
    let of_other = other.words.iter().filter(|word| opposite.is_some() && !is_opposite(word)).count();
    let overlap = shared.len() as f32 / own.len().max(of_other).max(1) as f32;
    let least = if denying.negation == Negation::Strong { STRONG_SHARE } else { WEAK_SHARE };
    if shared.len() < LEAST_SHARED || overlap < least {
        return None;
    }
    let score = overlap + shared.len() as f32 / 10.0;
    let conflict = Conflict {
        kind: ConflictKind::Direct,
        first: first.range.clone(),
        second: second.range.clone(),
        about: shared,
        values: None,
        // Only what is said word for word is no longer so: a qualified statement may still be.
        ended_by: (denying.is_end && denying.words == other.words).then_some(if std::ptr::eq(denying, first) {
            Which::First
        } else {
            Which::Second
        }),
        overlap,
    };
    Some((score, conflict))
}

/// Returns the conflicts of values that two clauses give of the same thing, with their scores.
fn differing(first: &Clause, second: &Clause, of_first: &Claims, of_second: &Claims) -> Vec<(f32, Conflict)> {
    let shared: Vec<String> = first.words.intersection(&second.words).cloned().collect();
    let overlap = shared.len() as f32 / first.words.len().min(second.words.len()).max(1) as f32;
    let mut found = Vec::new();
    if overlap < VALUE_SHARE || are_qualified_apart(first, second) || are_of_two_things(first, second) {
        return found;
    }
    for a in &first.values {
        for b in second.values.iter().filter(|b| a.of.is_same(&b.of) && a.text != b.text) {
            let least = match a.of {
                Of::Count(_) | Of::Version(_) => LEAST_BESIDE_VALUE,
                _ => LEAST_BESIDE_DATE,
            };
            // A value that stands in both texts has not changed.
            if shared.len() < least || of_second.has(a) || of_first.has(b) {
                continue;
            }
            let kind = match () {
                () if is_more_exact(a, b) => ConflictKind::Granularity,
                () if a.of.is_date() => ConflictKind::Temporal,
                () => ConflictKind::Value,
            };
            let conflict = Conflict {
                kind,
                first: first.range.clone(),
                second: second.range.clone(),
                about: shared.clone(),
                values: Some([a.text.clone(), b.text.clone()]),
                ended_by: None,
                overlap,
            };
            found.push((0.5 + shared.len() as f32 / 10.0, conflict));
        }
    }
    found
}

/// Stems of the words that tell that a thing changed.
static CHANGING_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(&[CHANGING]));
/// Stems of the words that give a thing its value, or tell that it changed: no part of what the thing is.
static GIVING_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(&[GIVING, VERBS, CHANGING]));

fn stems(lists: &[&[&str]]) -> BTreeSet<String> {
    let (mut tokenizer, mut tokens, mut stems) = (Tokenizer::default(), Tokens::default(), BTreeSet::new());
    for word in lists.iter().copied().flatten() {
        tokenizer.tokenize(word, &mut tokens);
        stems.extend(tokens.iter().map(|token| token.text.to_owned()));
    }
    stems
}

/// Most words of a clause of which each may make another thing of its value. A longer one is talk, and names much beside its thing.
const MOST_QUALIFIED: usize = 7;

/// Returns whether a word that only one of two clauses has makes another thing of it: the port of metrics is not that of the service.
/// Where one says that something changed, both are of the same thing.
fn are_qualified_apart(first: &Clause, second: &Clause) -> bool {
    let says_change = |clause: &Clause| !clause.words.is_disjoint(&CHANGING_STEMS);
    let is_talk = first.words.len().max(second.words.len()) > MOST_QUALIFIED;
    if is_talk || says_change(first) || says_change(second) {
        return false;
    }
    let own = |clause: &Clause, other: &Clause| -> Vec<String> {
        let is_own = |word: &&String| !GIVING_STEMS.contains(*word) && !clause.conditional.contains(*word);
        clause.words.difference(&other.words).filter(is_own).cloned().collect()
    };
    let (of_first, of_second) = (own(first, second), own(second, first));
    let binds = |clause: &Clause, own: &[String]| own.iter().any(|word| !clause.loose.contains(word));
    !of_first.is_empty() && !of_second.is_empty() || binds(first, &of_first) || binds(second, &of_second)
}

/// Returns whether each of two clauses names one of several things that are told apart by a word, or by a number or letter.
fn are_of_two_things(first: &Clause, second: &Clause) -> bool {
    let ids = |clause: &Clause, noun: &String| -> BTreeSet<String> {
        clause.numbered.iter().filter(|(thing, _)| thing == noun).map(|(_, id)| id.clone()).collect()
    };
    let is_numbered_apart = first.numbered.iter().any(|(noun, _)| {
        let (one, other) = (ids(first, noun), ids(second, noun));
        !other.is_empty() && one.is_disjoint(&other)
    });
    is_numbered_apart
        || CONTRASTS.iter().any(|group| {
            let named = |clause: &Clause| group.iter().filter(|word| clause.words.contains(**word)).copied().collect::<Vec<_>>();
            let (a, b) = (named(first), named(second));
            !a.is_empty() && !b.is_empty() && a.iter().all(|word| !b.contains(word))
        })
}

/// Returns whether one value is only more exact than the other.
fn is_more_exact(a: &Value, b: &Value) -> bool {
    let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'));
    let near = || {
        let number = |value: &Value| value.text.parse::<f64>().ok();
        let (Some(x), Some(y)) = (number(a), number(b)) else { return false };
        (a.is_about || b.is_about) && (x - y).abs() <= 0.1 * x.abs().max(y.abs())
    };
    begins(&a.text, &b.text) || begins(&b.text, &a.text) || near()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(first: &str, second: &str) -> Option<ConflictKind> {
        let (there, back) = (conflict(first, second), conflict(second, first));
        assert_eq!(there.as_ref().map(|one| one.kind), back.map(|one| one.kind), "in either direction: {first} | {second}");
        there.map(|one| one.kind)
    }

    #[test]
    fn values_dates_and_versions_of_one_thing_conflict_and_those_of_others_do_not() {
        for (first, second, expected) in [
            ("The cache expires after 30 minutes.", "The cache expires after 45 minutes now.", Some(ConflictKind::Value)),
            ("The review is on March 22 at 3 PM.", "The review was moved to March 22 at 4:30 PM.", Some(ConflictKind::Temporal)),
            (
                "The deadline of the first sprint is April 1.",
                "The first sprint's deadline is April 5.",
                Some(ConflictKind::Temporal),
            ),
            (
                "The service runs Flask 2.3.1 in production.",
                "In production the service runs Flask 2.4.0.",
                Some(ConflictKind::Value),
            ),
            ("The service runs Flask 2.3.1 in production.", "The service runs SQLAlchemy 2.0.4 in production.", None),
            ("The Stuttgart office has 12 desks.", "The Munich team has 14 laptops.", None),
            ("The cache expires after 30 minutes.", "The cache holds 45 entries.", None),
            ("Phase 1 adds the parser to the engine.", "Phase 2 adds the planner to the engine.", None),
            ("Bumped serde to v1.0.200 in the engine crate.", "Bumped tokio to v1.38.0 in the engine crate.", None),
            ("The staging server timeout is 30 seconds.", "The production server timeout is 60 seconds.", None),
            ("The frontend dev server runs on port 3000.", "The backend dev server runs on port 8000.", None),
            ("The basic plan costs $5 per month.", "The pro plan costs $20 per month.", None),
            ("The harbour server listens on port 8080.", "The harbour server listens on port 9090.", Some(ConflictKind::Value)),
            (
                "Die Sitzung dauert 30 Minuten im Hafenbüro.",
                "Die Sitzung im Hafenbüro dauert 45 Minuten.",
                Some(ConflictKind::Value),
            ),
        ] {
            assert_eq!(kind(first, second), expected, "{first} | {second}");
        }
    }

    #[test]
    fn things_that_a_word_a_number_or_a_letter_tells_apart_contradict_nothing() {
        let service = [
            "The gauge service listens on port 7010.",
            "The gauge service exposes metrics on port 9090.",
            "The admin page of the gauge service is on port 7011.",
            "The staging gauge service listens on port 7020.",
        ];
        let pairs = service.iter().flat_map(|first| service.iter().map(move |second| (*first, *second)));
        for (first, second) in pairs.filter(|(first, second)| first != second).chain([
            ("Shard 3 lives on host 12.", "Shard 4 lives on host 13."),
            ("Step 2 takes 5 minutes.", "Step 3 takes 9 minutes."),
            ("Worker A handles 7 queues.", "Worker B handles 9 queues."),
            ("The API rate limit is 100.", "The API rate limit for partners is 1000."),
            ("The harbour server listens on 9090.", "The staging harbour server listens on 7070."),
            ("The gauge keeps logs for 30 days.", "The gauge keeps backups for 90 days."),
            ("The timeout of shard 3 is 30 seconds.", "The timeout of shard 4 is 60 seconds."),
            ("Worker 1 is enabled in the pool.", "Worker 2 is disabled in the pool."),
            ("The login page takes 3 seconds.", "The search page takes 5 seconds."),
            ("The nightly build takes 40 minutes.", "The build takes 12 minutes."),
            ("The harbour server listens on port 9090 in staging.", "The harbour server listens on port 7070."),
        ]) {
            assert_eq!(kind(first, second), None, "{first} | {second}");
        }
        for (first, second) in [
            ("Shard 3 lives on host 12.", "Shard 3 lives on host 13."),
            ("Worker A handles 7 queues.", "Worker A handles 9 queues."),
            ("The timeout of shard 3 is 30 seconds.", "The timeout of shard 3 is 60 seconds."),
            ("The gallery has 8 cards.", "The gallery now holds 10 cards."),
            ("The nightly build takes 40 minutes.", "The nightly build needs 12 minutes."),
            ("The gallery has 8 cards on the first page.", "There are 10 cards in the gallery."),
        ] {
            assert_eq!(kind(first, second), Some(ConflictKind::Value), "{first} | {second}");
        }
    }

    #[test]
    fn in_talk_and_beside_a_word_of_change_other_words_tell_nothing_apart() {
        for (first, second, expected) in [
            (
                "I've set it to 100 requests per minute for the harbour API.",
                "I'm trying to update my API to handle the new limit of 120 requests per minute.",
                Some(ConflictKind::Value),
            ),
            (
                "I'm planning the survey of the quay and have a deadline of April 1.",
                "I need to change my plan to reflect the new deadline of April 5 for the survey.",
                Some(ConflictKind::Temporal),
            ),
            ("The gauge keeps logs for 30 days.", "The gauge keeps backups for 90 days.", None),
        ] {
            assert_eq!(kind(first, second), expected, "{first} | {second}");
        }
    }

    #[test]
    fn a_value_that_the_other_text_has_too_has_not_changed() {
        assert_eq!(kind("The gallery grew from 8 cards to 10 cards.", "The gallery has 8 cards."), None);
    }

    #[test]
    fn a_denial_conflicts_with_what_it_denies_and_a_double_one_says_the_same() {
        for (first, second, expected) in [
            (
                "The daemon logs tokens of the session.",
                "The daemon never logs tokens of the session.",
                Some(ConflictKind::Direct),
            ),
            ("We use Redis for the berth leases.", "We no longer use Redis for the berth leases.", Some(ConflictKind::Direct)),
            (
                "Telemetry is enabled in the release build.",
                "Telemetry is disabled in the release build.",
                Some(ConflictKind::Direct),
            ),
            ("Telemetry is disabled in the release build.", "Telemetry is not enabled in the release build.", None),
            ("The daemon never logs tokens.", "The daemon does not log tokens.", None),
            ("The review was never applied by the agent.", "The agent applies the review.", None),
            (
                "Die Leihen liegen im Hafen bei Redis.",
                "Die Leihen liegen nicht mehr im Hafen bei Redis.",
                Some(ConflictKind::Direct),
            ),
            ("The daemon logs tokens of the session.", "The gauge does not poll the harbour.", None),
            ("Never push to main without review.", "Push to main only after review.", None),
            ("Don't forget to run cargo fmt before every commit.", "Run cargo fmt before every commit.", None),
            ("Do not deploy until the tests pass.", "Deploy after the tests pass.", None),
            ("Run migrations in staging before merging.", "Never run migrations in production before merging.", None),
        ] {
            assert_eq!(kind(first, second), expected, "{first} | {second}");
        }
    }

    #[test]
    fn one_that_is_only_more_exact_is_no_conflict_that_weighs() {
        let found =
            conflict("The service runs Flask v2.3 in production.", "The service runs Flask v2.3.1 in production.").unwrap();
        assert_eq!((found.kind, found.severity()), (ConflictKind::Granularity, ConflictSeverity::Minor));
    }

    proptest! {
        #[test]
        fn any_texts_are_compared_alike_in_both_directions(first in ".{0,120}", second in ".{0,120}") {
            let (there, back) = (conflict(&first, &second), conflict(&second, &first));
            prop_assert_eq!(there.is_some(), back.is_some());
            if let Some(found) = there {
                prop_assert!(first.get(found.first).is_some() && second.get(found.second).is_some());
            }
        }

        #[test]
        fn no_text_conflicts_with_itself(text in "[a-z0-9 .,]{0,200}") {
            prop_assert!(conflict(&text, &text).is_none_or(|found| found.kind == ConflictKind::Direct));
        }
    }
}
