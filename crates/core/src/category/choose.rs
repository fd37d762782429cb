//! Chooses the category that a subject means, and computes how far its summary covers the subject.

use super::record::{Category, GENERAL};
use super::relevance::words;
use super::seeds::{SEEDS, Weight};
use super::summary::Summary;
use crate::text::is_stop_word;
use crate::vector::dot;

/// A summary that covers at least this share of a subject answers it.
pub const SUFFICIENT: f32 = 0.75;
/// Fewest memories that the lines of a summary rest on, if it answers something.
const FEWEST_MEMORIES: usize = 4;
/// Part of a subject's word that a word strongly of the category is, and one that its summary is about.
const OF_CATEGORY: f32 = 0.9;
const IN_SUMMARY: f32 = 0.7;
/// Least share of the lines with a word that the summary is about: one line of twelve is no overview.
const SHARE_OF_LINES: f32 = 0.25;
/// Cosine of a subject and a description from which they may mean the same.
const ALIKE: f32 = 0.55;

/// A category that a subject means.
#[derive(Clone, Debug)]
pub struct Choice<'c> {
    /// The category.
    pub category: &'c Category,
    /// Its summary.
    pub summary: Summary,
    /// Share of the subject's words that its names and its summary have, 0 to 1.
    pub covered: f32,
    /// True if the summary answers a question for all that is known of the subject.
    pub is_sufficient: bool,
}

/// Returns the category of a tree that a subject means, if there is one. `summary` makes the summary of a category.
///
/// The category must have a name, alias or word of the subject, or its description must be much alike (`vector`, of the subject; `embed` as for
/// [`super::tree`]).
///
/// # Errors
/// The error of `summary`.
pub fn chosen<'c, E>(
    tree: &'c [Category],
    subject: &str,
    embed: &dyn Fn(&str) -> Option<Vec<f32>>,
    summary: &dyn Fn(&Category) -> Result<Summary, E>,
) -> Result<Option<Choice<'c>>, E> {
    let asked: Vec<String> = words(subject).filter(|word| !is_stop_word(word)).collect();
    if asked.is_empty() {
        return Ok(None);
    }
    let all = || tree.iter().flat_map(Category::with_children).filter(|category| category.name != GENERAL);
    let known = all().map(|category| (named(category, &asked), category)).filter(|(score, _)| *score > 0.0);
    // Among those with as many words, the one with fewer memories is nearer to the subject.
    let best = known.max_by(|(a, one), (b, other)| {
        a.total_cmp(b).then(other.members.len().cmp(&one.members.len())).then(other.name.cmp(&one.name))
    });
    let alike = || {
        let vector = embed(subject)?;
        let alike = |category: &Category| embed(&category.about).map_or(0.0, |about| dot(&about, &vector));
        let seeds = all().filter(|category| category.is_seed).map(|category| (alike(category), category));
        seeds.filter(|(alike, _)| *alike >= ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b))
    };
    let Some((_, category)) = best.or_else(alike) else { return Ok(None) };
    let summary = summary(category)?;
    let lines: Vec<Vec<String>> = summary.lines.iter().map(|line| words(&line.text).collect()).collect();
    let is_about = |word: &String| {
        let having = lines.iter().filter(|line| line.iter().any(|known| is_same(known, word))).count();
        having as f32 >= SHARE_OF_LINES * lines.len() as f32 && having > 0
    };
    let covers = |word: &String| match () {
        () if is_name(category, word) => 1.0,
        () if is_word_of(category, word) => OF_CATEGORY,
        () if is_about(word) => IN_SUMMARY,
        () => 0.0,
    };
    let covered = asked.iter().map(covers).sum::<f32>() / asked.len() as f32;
    let told: usize = summary.lines.iter().map(|line| 1 + line.also.len()).sum();
    let is_sufficient = covered >= SUFFICIENT && told >= FEWEST_MEMORIES;
    Ok(Some(Choice { category, summary, covered, is_sufficient }))
}

/// Returns the share of the words that name a category or are strongly of it.
fn named(category: &Category, asked: &[String]) -> f32 {
    let score = |word: &String| match () {
        () if is_name(category, word) => 1.0,
        () if is_word_of(category, word) => OF_CATEGORY,
        () => 0.0,
    };
    asked.iter().map(score).sum::<f32>() / asked.len() as f32
}

/// Returns whether a word is one of the names of a category.
fn is_name(category: &Category, word: &str) -> bool {
    let names = std::iter::once(&category.name).chain(&category.aliases);
    names.into_iter().any(|name| words(name).any(|part| is_same(&part, word)))
}

fn is_word_of(category: &Category, word: &str) -> bool {
    let mut is_of = false;
    SEEDS.of_word(word, |seed, weight| {
        is_of |= category.is_seed && weight == Weight::Strong && SEEDS.all[seed].name == category.name;
    });
    is_of
}

/// Returns whether two words are one but for the ending of a plural.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.strip_suffix('s') == Some(other) || other.strip_suffix('s') == Some(one)
}
