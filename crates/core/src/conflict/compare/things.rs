//! Finds the kinds of things that a statement names, and the aspects that its words tell of, by two word lists.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::read::Statement;

/// Most words of a name.
const LONGEST_NAME: usize = 3;

/// Phrases, each with the groups that have it; beginnings of words likewise.
struct Groups {
    phrases: HashMap<&'static str, Vec<&'static str>>,
    beginnings: Vec<(&'static str, &'static str)>,
}

static KINDS: LazyLock<Groups> = LazyLock::new(|| Groups::parse(include_str!("kinds.txt")));
static ASPECTS: LazyLock<Groups> = LazyLock::new(|| Groups::parse(include_str!("aspects.txt")));

impl Groups {
    fn parse(text: &'static str) -> Self {
        let (mut phrases, mut beginnings): (HashMap<_, Vec<_>>, _) = (HashMap::new(), Vec::new());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((group, words)) = line.split_once(": ") else { continue };
            for word in words.split_whitespace() {
                match word.strip_suffix('*') {
                    Some(beginning) => beginnings.push((beginning, group)),
                    None => phrases.entry(word).or_default().push(group),
                }
            }
        }
        Self { phrases, beginnings }
    }

    /// Returns the groups of the phrases in a statement, each with the phrases of it.
    fn of(&self, statement: &Statement) -> BTreeMap<&'static str, BTreeSet<String>> {
        let mut found: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        let texts = statement.texts();
        for start in 0..texts.len() {
            for length in (1..=LONGEST_NAME.min(texts.len() - start)).rev() {
                let phrase = texts[start..start + length].join("_");
                for group in self.phrases.get(phrase.as_str()).into_iter().flatten() {
                    found.entry(group).or_default().insert(phrase.clone());
                }
            }
            for (_, group) in self.beginnings.iter().filter(|(beginning, _)| texts[start].starts_with(beginning)) {
                found.entry(group).or_default().insert(texts[start].to_owned());
            }
        }
        found
    }
}

/// Returns whether a word is the name of a tool or the like.
pub(super) fn is_tool(word: &str) -> bool {
    KINDS.phrases.contains_key(word)
}

/// How the things that two statements name, and the aspects that they tell of, relate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Things {
    /// Both name a thing of one kind, and not the same.
    pub(super) is_other_of_kind: bool,
    /// Each names a thing that the other does not, and they are of different kinds.
    pub(super) are_of_other_kinds: bool,
    /// Share of the aspects of the statement with fewer that the other tells of, too.
    pub(super) aspects_shared: f32,
    /// Both tell of aspects, and of none that is the same.
    pub(super) are_of_other_aspects: bool,
}

impl Things {
    pub(super) fn of(first: &Statement, second: &Statement) -> Self {
        let (of_first, of_second) = (KINDS.of(first), KINDS.of(second));
        let is_other_of_kind =
            of_first.iter().any(|(kind, names)| of_second.get(kind).is_some_and(|others| names.is_disjoint(others)));
        let names =
            |all: &BTreeMap<&'static str, BTreeSet<String>>| all.values().flatten().cloned().collect::<BTreeSet<String>>();
        let (named_first, named_second) = (names(&of_first), names(&of_second));
        let has_own = |own: &BTreeSet<String>, other: &BTreeSet<String>| own.difference(other).next().is_some();
        let are_of_other_kinds =
            !is_other_of_kind && has_own(&named_first, &named_second) && has_own(&named_second, &named_first);
        let aspects = |statement: &Statement| ASPECTS.of(statement).into_keys().collect::<BTreeSet<_>>();
        let (told_first, told_second) = (aspects(first), aspects(second));
        let shared = told_first.intersection(&told_second).count();
        let fewer = told_first.len().min(told_second.len());
        Self {
            is_other_of_kind,
            are_of_other_kinds,
            aspects_shared: if fewer == 0 { 0.0 } else { shared as f32 / fewer as f32 },
            are_of_other_aspects: fewer > 0 && shared == 0,
        }
    }
}
