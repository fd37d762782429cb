//! Computes how much a memory belongs to a category of the design: by tags, entities, words, kind, and meaning.

use std::collections::HashSet;

use super::record::{Category, Item, LEAST_RELEVANCE, shown, with_members};
use super::seeds::{SEEDS, Weight};
use crate::memory::{Fields, MemoryKind};
use crate::vector::{dot, unit_length};

/// Words with which a statement opens: they say what it is about.
const OPENING: usize = 16;
/// Most words of a statement that count.
const MOST_WORDS: usize = 80;
/// The relevance that a word gives: strong or weak, in the opening or later.
const STRONG: [f32; 2] = [0.6, 0.35];
const WEAK: [f32; 2] = [0.32, 0.15];
/// The relevance that an entity with the name of a tag gives.
const ENTITY: f32 = 0.55;
/// Cosines between which meaning counts from nothing to `MEANING`.
const UNLIKE: f32 = 0.30;
const ALIKE: f32 = 0.70;
const MEANING: f32 = 0.6;
/// Relevance by words of the members that are the centre of a category, and fewest of them.
const SURE: f32 = 0.7;
const FEWEST_SURE: usize = 3;

/// The words of a memory, in lower case.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Those of its title and of the beginning of its statement, in their order.
    pub opening: Vec<String>,
    /// The following ones.
    pub rest: Vec<String>,
    /// Its tags, and the category of a standard.
    pub tags: Vec<String>,
    /// Its entities.
    pub entities: Vec<String>,
}

impl Words {
    pub fn of(item: &Item<'_>) -> Self {
        let memory = item.memory;
        let mut opening: Vec<String> =
            memory.title.iter().flat_map(|title| words(title)).chain(words(&memory.statement)).take(MOST_WORDS).collect();
        let rest = opening.split_off(opening.len().min(OPENING));
        let own = match &memory.fields {
            Fields::Standard { category, .. } => category.as_deref(),
            Fields::Preference { aspect, .. } => aspect.as_deref(),
            _ => None,
        };
        let tags = memory.tags.iter().map(String::as_str).chain(own).map(|tag| tag.trim().to_lowercase()).collect();
        Self { opening, rest, tags, entities: item.entities.iter().map(|name| name.trim().to_lowercase()).collect() }
    }
}

/// Returns the words of a text in lower case: runs of letters and digits.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns the chance that one of two independent signs is right.
fn either(one: f32, other: f32) -> f32 {
    1.0 - (1.0 - one) * (1.0 - other)
}

/// Returns the categories of the design with their members.
pub(super) fn seeded(items: &[Item<'_>], texts: &[Words], embed: &dyn Fn(&str) -> Option<Vec<f32>>) -> Vec<Category> {
    let count = SEEDS.all.len();
    // Sums depend on the order of their terms.
    let mut by_id: Vec<usize> = (0..items.len()).collect();
    by_id.sort_by_key(|at| items[*at].memory.id);
    let known: Vec<Vec<f32>> = items.iter().zip(texts).map(|(item, words)| by_words(item, words)).collect();
    let mut categories = Vec::with_capacity(count);
    for (number, seed) in SEEDS.all.iter().enumerate() {
        let about = embed(seed.about);
        let sure = by_id.iter().filter(|at| known[**at][number] >= SURE).filter_map(|at| items[*at].vector);
        let sure: Vec<&[f32]> = sure.collect();
        let centre = if sure.len() < FEWEST_SURE { None } else { centre(&sure) };
        let relevance = |at: usize| {
            let by_words = known[at][number];
            let alike = items[at]
                .vector
                .map_or(0.0, |vector| about.iter().chain(&centre).map(|other| dot(vector, other)).fold(0.0, f32::max));
            let meaning = ((alike - UNLIKE) / (ALIKE - UNLIKE)).clamp(0.0, 1.0) * MEANING;
            either(by_words, meaning)
        };
        let members = (0..items.len()).map(|at| (at, relevance(at))).filter(|(_, relevance)| *relevance > LEAST_RELEVANCE);
        let category = Category {
            name: seed.name.to_owned(),
            title: shown(seed.name),
            about: format!("{}.", seed.about),
            aliases: seed.tags.iter().filter(|tag| **tag != seed.name).map(|tag| (*tag).to_owned()).collect(),
            is_seed: true,
            ..Category::default()
        };
        categories.push(with_members(category, items, members));
    }
    categories
}

/// Returns the direction of the sum of some vectors.
fn centre(vectors: &[&[f32]]) -> Option<Vec<f32>> {
    let mut sum = vectors.first()?.to_vec();
    for vector in &vectors[1..] {
        sum.iter_mut().zip(*vector).for_each(|(sum, part)| *sum += part);
    }
    unit_length(&sum)
}

/// Returns the relevance of a memory in each category by tags, entities, words and kind.
fn by_words(item: &Item<'_>, words: &Words) -> Vec<f32> {
    let mut relevance = vec![0.0f32; SEEDS.all.len()];
    let mut seen: HashSet<(&str, usize)> = HashSet::new();
    let opening = words.opening.iter().map(|word| (word.as_str(), 0));
    for (word, place) in opening.chain(words.rest.iter().map(|word| (word.as_str(), 1))) {
        SEEDS.of_word(word, |seed, weight| {
            if seen.insert((word, seed)) {
                let weight = if weight == Weight::Strong { STRONG } else { WEAK };
                relevance[seed] = either(relevance[seed], weight[place]);
            }
        });
    }
    // A kind is as a word; a rule is a standard, whatever its words.
    let by_kind = match item.memory.kind {
        MemoryKind::Solution | MemoryKind::Problem => Some(("debugging", WEAK[0])),
        MemoryKind::Standard | MemoryKind::Preference => Some(("standards", STRONG[0])),
        MemoryKind::UserInput => Some(("standards", WEAK[0])),
        _ => None,
    };
    for (seed, relevance) in SEEDS.all.iter().zip(&mut relevance) {
        let is_tag = |name: &String| seed.name == name || seed.tags.contains(&name.as_str());
        if let Some((_, weight)) = by_kind.filter(|(name, _)| *name == seed.name) {
            *relevance = either(*relevance, weight);
        }
        if words.entities.iter().any(is_tag) {
            *relevance = either(*relevance, ENTITY);
        }
        if words.tags.iter().any(is_tag) {
            *relevance = 1.0;
        }
    }
    relevance
}
