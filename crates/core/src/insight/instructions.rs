//! Finds instructions that the person gave in several sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{FEWEST_SESSIONS, Happened, Insight, InsightKind, LONGEST, Offer, counted, sorted};
use crate::memory::MemoryKind;
use crate::text::{cut, is_stop_word};
use crate::time::UtcMillis;

/// Least share of all words of two sentences that both have if they say the same.
const SAME: f64 = 0.7;
/// Fewest and most words of an instruction.
const FEWEST_WORDS: usize = 3;
const MOST_WORDS: usize = 40;

/// Fewest words that ask for something.
const FEWEST_TELLING: usize = 3;
/// Words by which somebody only agrees or goes on.
const NODS: [&str; 17] = [
    "again", "ahead", "continue", "do", "go", "good", "now", "ok", "okay", "please", "pls", "proceed", "sure", "thanks", "that",
    "yeah", "yes",
];

/// A sentence of the person.
#[derive(Clone, Debug)]
pub struct Said<'a, Turn> {
    /// The session.
    pub session: i64,
    /// Its time.
    pub at: Option<UtcMillis>,
    /// The turn.
    pub turn: Turn,
    /// Its words.
    pub text: &'a str,
}

/// Fewest sessions with the very same words: else nobody can say in which words it holds.
const VERBATIM: usize = 2;

/// A sentence and its repetitions.
struct Group<'a, Turn> {
    words: BTreeSet<String>,
    happened: Vec<Happened<Turn>>,
    /// The forms in which it was said: words, sessions, and the latest text.
    forms: BTreeMap<BTreeSet<String>, (BTreeSet<i64>, &'a str)>,
}

/// Returns the sentences that the person said in several sessions in nearly the same words.
pub fn repeated<Turn: Clone>(said: &[Said<'_, Turn>]) -> Vec<Insight<Turn>> {
    let mut groups: Vec<Group<'_, Turn>> = Vec::new();
    // Groups by their rarest words: two sentences that say the same share one of them (prefix filter; S. Chaudhuri and others, 2006).
    let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let split: Vec<BTreeSet<String>> = said.iter().map(|one| words(one.text)).collect();
    for word in split.iter().flatten() {
        *counts.entry(word.clone()).or_default() += 1;
    }
    for (one, words) in said.iter().zip(split) {
        let is_sentence =
            (FEWEST_WORDS..=MOST_WORDS).contains(&one.text.split_whitespace().count()) && words.len() >= FEWEST_WORDS;
        let telling = words.iter().filter(|word| !NODS.contains(&word.as_str()) && !is_stop_word(word)).count();
        // An address or a number belongs to one task.
        let is_of_task = one.text.contains("://")
            || one.text.split_whitespace().any(|word| word.bytes().filter(u8::is_ascii_digit).count() > 1);
        if !is_sentence || is_of_task || telling < FEWEST_TELLING {
            continue;
        }
        let happened = Happened { session: one.session, at: one.at, place: one.turn.clone() };
        let mut rarest: Vec<&String> = words.iter().collect();
        rarest.sort_by_key(|word| (counts[*word], (*word).clone()));
        rarest.truncate(words.len() - (words.len() as f64 * SAME).ceil() as usize + 1);
        let candidates: BTreeSet<usize> = rarest.iter().filter_map(|word| by_word.get(*word)).flatten().copied().collect();
        let same = candidates.into_iter().find(|at| is_same(&groups[*at].words, &words));
        match same {
            Some(at) => {
                let group = &mut groups[at];
                group.happened.push(happened);
                let form = group.forms.entry(words).or_insert((BTreeSet::new(), one.text));
                form.0.insert(one.session);
                form.1 = one.text;
            }
            None => {
                for word in rarest {
                    by_word.entry(word.clone()).or_default().push(groups.len());
                }
                let forms = BTreeMap::from([(words.clone(), (BTreeSet::from([one.session]), one.text))]);
                groups.push(Group { words, happened: vec![happened], forms });
            }
        }
    }
    let mut found = Vec::new();
    for group in groups {
        let key = group.words.into_iter().collect::<Vec<_>>().join(" ");
        let insight = Insight::of(InsightKind::Instruction, key, group.happened);
        let usual = group.forms.into_values().max_by_key(|(sessions, _)| sessions.len());
        if let Some((same, text)) = usual
            && same.len() >= VERBATIM
            && insight.sessions >= FEWEST_SESSIONS
        {
            let text = cut(text.trim(), LONGEST);
            found.push(Insight {
                statement: format!("You said in {}: “{text}”", counted(insight.sessions, "session")),
                offer: Offer::new(MemoryKind::Preference, text),
                ..insight
            });
        }
    }
    sorted(found)
}

/// Returns the different words of a sentence, without case and marks.
fn words(text: &str) -> BTreeSet<String> {
    let word = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(word).filter(|word| !word.is_empty()).collect()
}

fn is_same(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let common = one.intersection(other).count() as f64;
    common >= SAME * (one.len() + other.len()) as f64 / (1.0 + SAME)
}

/// Statements that are known, by their words.
#[derive(Debug, Default)]
pub struct KnownStatements {
    words: Vec<BTreeSet<String>>,
    by_word: HashMap<String, Vec<usize>>,
}

impl<'a> FromIterator<&'a str> for KnownStatements {
    fn from_iter<Statements: IntoIterator<Item = &'a str>>(statements: Statements) -> Self {
        let mut known = Self::default();
        for statement in statements {
            let words = words(statement);
            for word in &words {
                known.by_word.entry(word.clone()).or_default().push(known.words.len());
            }
            known.words.push(words);
        }
        known
    }
}

impl KnownStatements {
    /// Returns whether one of them says what an insight offers already.
    pub fn say<Turn>(&self, insight: &Insight<Turn>) -> bool {
        let Some(offer) = &insight.offer else { return false };
        let instruction = words(&offer.statement);
        let mut common: HashMap<usize, usize> = HashMap::new();
        for at in instruction.iter().filter_map(|word| self.by_word.get(word)).flatten() {
            *common.entry(*at).or_default() += 1;
        }
        // One that says the same, or more, has at least this share of the words.
        let fewest = SAME * instruction.len() as f64;
        common.into_iter().any(|(at, common)| {
            let statement = &self.words[at];
            common as f64 >= fewest && (is_same(statement, &instruction) || instruction.is_subset(statement))
        })
    }
}
