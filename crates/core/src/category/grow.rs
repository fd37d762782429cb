//! Grows further categories from the entities, tags and rare words that memories share.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::record::{Category, GENERAL, Item, shown, with_members};
use super::relevance::{Words, words};
use super::seeds::SEEDS;
use crate::text::{WordPiece, is_stop_word};

/// Fewest memories that share an entity or a tag, and that open with a word.
const FEWEST: usize = 4;
const FEWEST_OF_WORD: usize = 6;
/// Fewest conversations that it comes from; what a person recorded counts as one.
const FEWEST_SESSIONS: usize = 3;
/// Most categories that grow, and parts of one.
const MOST: usize = 24;
const MOST_PARTS: usize = 8;
/// A category of more memories has parts.
const UNDIVIDED: usize = 12;
/// A name that more than this share of the memories has tells none apart, from so many memories on.
const COMMON: f32 = 0.4;
const FEW: usize = 20;
/// Share of its memories that a part has in its category, and share of all that two names have in common if they mean one category.
const INSIDE: f32 = 0.8;
const SAME: f32 = 0.6;
/// Relevance by an entity or a tag, by the name among the first words, and by the name later.
const NAMED: f32 = 1.0;
const OPENING: f32 = 0.8;
const LATER: f32 = 0.6;
/// Most words of a name, and fewest letters of one that is looked for among words.
const LONGEST: usize = 3;
const SHORTEST: usize = 4;
/// Number from which a word of the vocabulary is rare: frequent ones come first there.
const RARE: u32 = 9_000;

/// A name that memories share.
#[derive(Default)]
struct Candidate {
    title: String,
    /// The memories, and their relevances.
    members: BTreeMap<usize, f32>,
    /// Number of memories that open with it.
    opening: usize,
    /// True if it is an entity or a tag.
    is_given: bool,
}

/// The place of a candidate among the categories.
enum Place {
    /// It means the same as this one.
    Same(usize),
    /// It is a part of this one.
    Part(usize),
    /// This category is too small to have parts.
    Inside,
    Own,
}

/// Adds the categories that grow from the memories, largest first, and the parts of large ones.
pub(super) fn grow(items: &[Item<'_>], texts: &[Words], categories: &mut Vec<Category>) {
    let seeds = categories.len();
    for (name, candidate) in candidates(items, texts) {
        let grown = |members: BTreeMap<usize, f32>| {
            let category = Category { name: name.clone(), title: candidate.title.clone(), ..Category::default() };
            with_members(category, items, members.into_iter())
        };
        match place_of(&candidate, categories, seeds) {
            Place::Same(at) => categories[at].aliases.push(name),
            Place::Part(at) => {
                let parent = &mut categories[at];
                let of_parent: HashSet<usize> = parent.members.iter().map(|member| member.item).collect();
                if let Some(same) = parent.children.iter_mut().find(|part| shares(&candidate, part).1 >= SAME) {
                    same.aliases.push(name);
                } else if parent.children.len() < MOST_PARTS {
                    let members = candidate.members.iter().map(|(item, relevance)| (*item, *relevance));
                    let part = grown(members.filter(|(item, _)| of_parent.contains(item)).collect());
                    parent.children.push(part);
                }
            }
            Place::Own if categories.len() < seeds + MOST => categories.push(grown(candidate.members.clone())),
            Place::Inside | Place::Own => {}
        }
    }
}

/// Returns the share of a candidate's memories that a category has, and the share of all memories of both that both have.
fn shares(candidate: &Candidate, category: &Category) -> (f32, f32) {
    let common = category.members.iter().filter(|member| candidate.members.contains_key(&member.item)).count();
    let all = category.members.len() + candidate.members.len() - common;
    (common as f32 / candidate.members.len().max(1) as f32, common as f32 / all.max(1) as f32)
}

fn place_of(candidate: &Candidate, categories: &[Category], seeds: usize) -> Place {
    let shares: Vec<(f32, f32)> = categories.iter().map(|category| shares(candidate, category)).collect();
    if let Some(same) = (seeds..categories.len()).find(|at| shares[*at].1 >= SAME) {
        return Place::Same(same);
    }
    let around = (0..categories.len()).filter(|at| shares[*at].0 >= INSIDE);
    match around.min_by_key(|at| (categories[*at].members.len(), *at)) {
        Some(at) if categories[at].members.len() > UNDIVIDED => Place::Part(at),
        Some(_) => Place::Inside,
        None => Place::Own,
    }
}

/// Returns the names that enough memories share, those of most memories first.
fn candidates(items: &[Item<'_>], texts: &[Words]) -> Vec<(String, Candidate)> {
    let mut known: HashMap<String, Candidate> = HashMap::new();
    // Names that were given, in the form of words.
    for (item, text) in texts.iter().enumerate() {
        for name in items[item].entities.iter().chain(&text.tags) {
            let name = name.trim();
            let parts: Vec<String> = words(name).collect();
            let key = parts.join(" ");
            if key.is_empty() || parts.iter().all(|part| SEEDS.has(part)) || key == GENERAL {
                continue;
            }
            let candidate = known.entry(key).or_default();
            candidate.is_given = true;
            candidate.members.insert(item, NAMED);
            if candidate.title.is_empty() || *name < *candidate.title {
                candidate.title = name.to_owned();
            }
        }
    }
    let mut is_rare: HashMap<&str, bool> = HashMap::new();
    for (item, text) in texts.iter().enumerate() {
        let mut seen: HashSet<String> = HashSet::new();
        for (run, relevance) in [(&text.opening, OPENING), (&text.rest, LATER)] {
            for at in 0..run.len() {
                let word = run[at].as_str();
                if *is_rare.entry(word).or_insert_with(|| may_grow(word)) {
                    add(known.entry(singular(word).to_owned()).or_default(), &mut seen, singular(word), item, relevance);
                }
                for length in 1..=LONGEST.min(run.len() - at) {
                    let name = run[at..at + length].join(" ");
                    if name.chars().count() >= SHORTEST
                        && let Some(candidate) = known.get_mut(&name).filter(|candidate| candidate.is_given)
                    {
                        add(candidate, &mut seen, &name, item, relevance);
                    }
                }
            }
        }
    }
    let is_telling = |candidate: &Candidate| {
        let count = candidate.members.len();
        let is_shared = if candidate.is_given { count >= FEWEST } else { candidate.opening >= FEWEST_OF_WORD };
        // Statements of one conversation are one topic, however many they are.
        let sessions: HashSet<&str> =
            candidate.members.keys().filter_map(|item| items[*item].memory.source.session.as_deref()).collect();
        let unknown = candidate.members.keys().filter(|item| items[**item].memory.source.session.is_none()).count();
        let is_common = texts.len() >= FEW && count as f32 > COMMON * texts.len() as f32;
        is_shared && !is_common && sessions.len() + unknown >= FEWEST_SESSIONS
    };
    let mut found: Vec<(String, Candidate)> = known.into_iter().filter(|(_, candidate)| is_telling(candidate)).collect();
    found.sort_by(|(a_name, a), (b_name, b)| b.members.len().cmp(&a.members.len()).then(a_name.cmp(b_name)));
    for (name, candidate) in &mut found {
        candidate.title = shown(if candidate.title.is_empty() { name } else { &candidate.title });
    }
    found
}

/// Notes that a memory has a name.
fn add(candidate: &mut Candidate, seen: &mut HashSet<String>, name: &str, item: usize, relevance: f32) {
    if seen.insert(name.to_owned()) {
        candidate.opening += usize::from(relevance >= OPENING);
        let known = candidate.members.entry(item).or_insert(relevance);
        *known = known.max(relevance);
    }
}

/// Returns a word without the ending of a plural.
fn singular(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(one) if one.len() >= SHORTEST && !one.ends_with(['s', 'u', 'i']) => one,
        _ => word,
    }
}

/// Returns whether a category may grow from a word: one that is rare in general, and of no category of the design.
fn may_grow(word: &str) -> bool {
    if word.chars().count() < SHORTEST || !word.chars().all(char::is_alphabetic) || is_stop_word(word) {
        return false;
    }
    let mut pieces = Vec::new();
    WordPiece::bert().encode(word, 2, &mut pieces);
    let is_rare = pieces.len() > 1 || pieces.first().is_some_and(|piece| *piece >= RARE);
    let mut is_of_seed = SEEDS.has(word);
    SEEDS.of_word(word, |_, _| is_of_seed = true);
    is_rare && !is_of_seed
}
