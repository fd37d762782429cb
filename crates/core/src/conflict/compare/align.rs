//! Aligns the words of two statements: which word of one is which of the other.

use std::collections::{BTreeMap, HashSet};

use super::lists::Lists;
use super::read::{Kind, Statement, Word};

/// The words of two statements, aligned.
#[derive(Debug)]
pub(super) struct Alignment {
    /// The place in the second statement of each matched word of the first.
    pub(super) matched: BTreeMap<usize, usize>,
    /// Places of the words with content of the first statement that have no counterpart, and of the second.
    pub(super) left: [Vec<usize>; 2],
    /// Number of words with content of each.
    pub(super) content: [Vec<usize>; 2],
}

/// Letters that the forms of a longer word share.
const STEM: usize = 5;
/// Fewest letters of a word that a longer one begins with, and of one that may have a typing error.
const LEAST_OF_BEGINNING: usize = 4;
const LEAST_OF_TYPO: usize = 5;
/// Fewest letters of a piece of a name by which two names are compared.
const LEAST_OF_PIECE: usize = 3;

impl Alignment {
    /// Aligns two statements by the forms of their words.
    pub(super) fn of(first: &Statement, second: &Statement) -> Self {
        let content = [first.content(), second.content()];
        let (mut matched, mut taken) = (BTreeMap::new(), HashSet::new());
        // Equal stems are matched before other forms.
        for is_match in [(|a, b| a.stem == b.stem) as fn(&Word, &Word) -> bool, is_form] {
            for &a in &content[0] {
                let is_free = |b: &&usize| !taken.contains(*b) && is_match(&first.words[a], &second.words[**b]);
                if matched.contains_key(&a) {
                    continue;
                }
                if let Some(&b) = content[1].iter().find(is_free) {
                    matched.insert(a, b);
                    taken.insert(b);
                }
            }
        }
        let left = [
            content[0].iter().copied().filter(|a| !matched.contains_key(a)).collect(),
            content[1].iter().copied().filter(|b| !taken.contains(b)).collect(),
        ];
        Self { matched, left, content }
    }

    /// Matches further words that are near in meaning, the nearest first.
    pub(super) fn match_near(&mut self, first: &Statement, second: &Statement, least: f32, likeness: &dyn Fn(&str, &str) -> f32) {
        let plain = |statement: &Statement, left: &[usize]| -> Vec<usize> {
            left.iter().copied().filter(|at| statement.words[*at].kind == Kind::Plain).collect()
        };
        let (of_first, of_second) = (plain(first, &self.left[0]), plain(second, &self.left[1]));
        let mut near: Vec<(f32, usize, usize)> = Vec::new();
        for &a in &of_first {
            for &b in &of_second {
                near.push((likeness(&first.words[a].text, &second.words[b].text), a, b));
            }
        }
        near.retain(|(score, ..)| *score >= least);
        near.sort_by(|x, y| y.0.total_cmp(&x.0));
        for (_, a, b) in near {
            if self.left[0].contains(&a) && self.left[1].contains(&b) {
                self.matched.insert(a, b);
                self.left[0].retain(|at| *at != a);
                self.left[1].retain(|at| *at != b);
            }
        }
    }
}

/// Returns the pieces of a name.
pub(super) fn pieces(name: &str) -> HashSet<&str> {
    name.split(['-', '_', '/', '.', ':']).filter(|piece| piece.len() >= LEAST_OF_PIECE).collect()
}

/// Returns whether two words are forms of one: an inflection, an abbreviation, a typing error, a name and a part of it.
fn is_form(a: &Word, b: &Word) -> bool {
    let is_worded = |word: &Word| matches!(word.kind, Kind::Plain | Kind::Name);
    if a.text == b.text || Lists::get().are_same(&a.text, &b.text) {
        return true;
    }
    if !is_worded(a) || !is_worded(b) || digits(&a.text) != digits(&b.text) {
        return false;
    }
    let (short, long) = if a.text.len() <= b.text.len() { (&a.text, &b.text) } else { (&b.text, &a.text) };
    let count = short.chars().count();
    let (of_short, of_long) = (pieces(short), pieces(long));
    let is_part = !of_short.is_empty() && !of_long.is_empty() && (of_short.is_subset(&of_long) || of_long.is_subset(&of_short));
    is_part
        || count >= LEAST_OF_BEGINNING
            && (long.starts_with(short.as_str()) || short.chars().take(STEM).eq(long.chars().take(STEM)))
        || count >= LEAST_OF_TYPO && is_one_typo(&a.text, &b.text)
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns whether one letter was added, left out, changed, or two were swapped.
fn is_one_typo(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(x, y)| x == y).count();
    let differ = |rest: &[char]| rest.len() - tail;
    match (differ(rest_a), differ(rest_b)) {
        (0 | 1, 0 | 1) => true,
        (2, 2) => rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0],
        _ => false,
    }
}
