//! Word lists by which statements are compared, read once from `words.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// A word, or the beginning of one.
#[derive(Clone, Copy, Debug)]
struct Pattern(&'static str);

impl Pattern {
    fn is(self, word: &str) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == word, |beginning| word.starts_with(beginning))
    }
}

/// The lists.
#[derive(Default)]
pub(super) struct Lists {
    words: HashMap<&'static str, HashSet<&'static str>>,
    beginnings: HashMap<&'static str, Vec<&'static str>>,
    groups: HashMap<&'static str, Vec<Vec<Pattern>>>,
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::parse(include_str!("words.txt")));

/// Categories whose lines are groups of words.
const GROUPED: [&str; 3] = ["opposite", "contrast", "same"];

impl Lists {
    pub(super) fn get() -> &'static Self {
        &LISTS
    }

    fn parse(text: &'static str) -> Self {
        let mut lists = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((category, words)) = line.split_once(": ") else { continue };
            if GROUPED.contains(&category) {
                let group = words.split_whitespace().map(Pattern).collect();
                lists.groups.entry(category).or_default().push(group);
                continue;
            }
            for word in words.split_whitespace() {
                match word.strip_suffix('*') {
                    Some(beginning) => lists.beginnings.entry(category).or_default().push(beginning),
                    None => drop(lists.words.entry(category).or_default().insert(word)),
                }
            }
        }
        lists
    }

    /// Returns whether a lower-case word is one of a category.
    pub(super) fn has(&self, category: &str, word: &str) -> bool {
        self.words.get(category).is_some_and(|words| words.contains(word))
            || self.beginnings.get(category).is_some_and(|all| all.iter().any(|beginning| word.starts_with(beginning)))
    }

    /// Returns whether two words name one thing.
    pub(super) fn are_same(&self, first: &str, second: &str) -> bool {
        let has = |group: &[Pattern], word: &str| group.iter().any(|pattern| pattern.is(word));
        self.groups["same"].iter().any(|group| has(group, first) && has(group, second))
    }

    /// Returns the first of the words that name the same as a word, or the word itself.
    pub(super) fn name_of<'w>(&self, word: &'w str) -> &'w str {
        let group = self.groups["same"].iter().find(|group| group.iter().any(|pattern| pattern.is(word)));
        group.map_or(word, |group| group[0].0)
    }

    /// Returns the place of a word in the first group of a category that has it, for each group.
    fn places(&self, category: &str, words: &[&str]) -> Vec<Vec<usize>> {
        let place = |group: &Vec<Pattern>| {
            let is_there = |pattern: &Pattern| words.iter().any(|word| pattern.is(word));
            (0..group.len()).filter(|at| is_there(&group[*at])).collect()
        };
        self.groups[category].iter().map(place).collect()
    }

    /// Returns whether each of two statements has a word of a group of a category, and neither has that of the other.
    pub(super) fn are_apart(&self, category: &str, first: &[&str], second: &[&str]) -> bool {
        let (of_first, of_second) = (self.places(category, first), self.places(category, second));
        of_first.iter().zip(&of_second).any(|(a, b)| !a.is_empty() && !b.is_empty() && a.iter().all(|place| !b.contains(place)))
    }

    /// Returns whether a word is one of the first group of a category.
    pub(super) fn is_of_first(&self, category: &str, word: &str) -> bool {
        self.groups[category].first().is_some_and(|group| group.iter().any(|pattern| pattern.is(word)))
    }

    /// Returns whether exactly one of two statements has a word of the first group of a category.
    pub(super) fn has_one_alone(&self, category: &str, first: &[&str], second: &[&str]) -> bool {
        let (of_first, of_second) = (self.places(category, first), self.places(category, second));
        of_first.first().is_some_and(|a| !a.is_empty()) != of_second.first().is_some_and(|b| !b.is_empty())
    }
}
