//! Finds the entities of a question and follows their relations by a random walk (phases ANCHOR and EXPAND). Anchors are the
//! entities that the question names and those that the best memories are about, weighted by meaning, by those memories and by
//! their damped degree. A random walk from them reaches further memories and turns, which become candidates like those of any
//! other list; what several anchors lead to comes before what one leads to.

use std::collections::{HashMap, HashSet};

use yore_core::graph::WeightedGraph;
use yore_core::id::EntityId;
use yore_core::memory::Lane;
use yore_core::query::{List, Part, Wanted};
use yore_core::rank::heights;
use yore_core::relation::Node;
use yore_core::text::is_stop_word;

use super::QueryContext;
use super::answer::Anchor;
use super::candidate::{Candidate, Contribution, Proposal};
use super::deadline::LatePart;
use super::pack::Nearness;
use super::plan::Plan;
use crate::error::EngineError;
use crate::index::{Evaluator, ItemHit};
use crate::store::{EntityName, EntityNames, ItemKey, MemoryKey, Named};

/// Number of the best memories whose entities become anchors, and of anchors.
const SEED_MEMORIES: usize = 10;
const MOST_ANCHORS: usize = 20;
/// Weights of an anchor: its nearness to the question, the memories that led to it, its degree.
const BY_MEANING: f32 = 0.5;
const BY_MEMORIES: f32 = 0.3;
const BY_DEGREE: f32 = 0.2;
/// Degree at which the weight by degree is 1; relations are counted up to a tenth of it.
const GREAT_DEGREE: f32 = 10_000.0;
/// In a memory of more memories than this, an entity that the question does not name must be shared by two.
const SMALL_MEMORY: usize = 200;
/// Most words of a name, and of a question in which names are looked for.
const NAME_WORDS: usize = 4;
const MOST_WORDS: usize = 100;
/// Limits of the neighbourhood: steps, relations followed from a node, nodes whose relations are read.
const DEPTH: usize = 3;
const BREADTH: usize = 50;
const MOST_EXPANDED: usize = 64;
/// Probability with which the walk goes on, and the mass below which it is not followed.
const DAMPING: f32 = 0.6;
const LEAST_MASS: f32 = 1e-4;
/// Weight of the relation between a memory and a turn that it rests on.
const EVIDENCE: f32 = 0.5;
/// Number of nodes that are judged by the filter, of candidates that the walk proposes, and their weight.
const MOST_JUDGED: usize = 160;
const PROPOSED: usize = 40;
const WEIGHT: f32 = 0.3;

/// Adds what relations lead to from the entities of the question. Returns these entities, the heaviest first.
pub(super) fn follow_relations(
    context: &QueryContext<'_>,
    plan: &Plan<'_>,
    landed: &mut Vec<Candidate>,
) -> Result<Vec<Anchor>, EngineError> {
    // A memory that relations lead to need not have the quoted words.
    let needs_phrases = plan.question.are_phrases_required && !plan.question.phrases.is_empty();
    let is_wanted = plan.request.tuning.is_graph_followed && plan.request.filter.wanted != Wanted::Turns && !needs_phrases;
    if !is_wanted || !context.store.statement_facts(0)?.has_entities || !context.deadline.allows(LatePart::Graph) {
        return Ok(Vec::new());
    }
    let anchors = anchors(context, plan, landed)?;
    if anchors.is_empty() {
        return Ok(anchors);
    }
    let reached = walk(context, &anchors)?;
    if !context.deadline.allows(LatePart::Graph) {
        return Ok(anchors);
    }
    let mut evaluator = Evaluator::new(&plan.filter);
    let keys: Vec<ItemKey> = reached.iter().map(|(key, _)| *key).collect();
    let heads = context.store.item_heads(&keys)?;
    let passed =
        reached.iter().filter_map(|(key, mass)| Some((heads.get(key)?, *mass))).filter(|(head, _)| evaluator.passes(*head));
    let hits: Vec<ItemHit> = passed.map(|(head, mass)| ItemHit::of(head, mass)).take(PROPOSED).collect();
    let masses: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
    // Masses are small numbers; their heights are on the scale of the other lists.
    let heights = heights(&masses, Some(0.0), LEAST_MASS);
    for (at, (hit, height)) in hits.into_iter().zip(heights).enumerate() {
        let Proposal { key, position, score, address } = Proposal::from(hit);
        let part = Part::Graph;
        let contribution =
            Contribution { list: List::Graph, part, rank: at + 1, own_score: score, value: WEIGHT * height, address };
        match landed.iter_mut().find(|candidate| candidate.key == key) {
            Some(known) => known.contributions.push(contribution),
            None => landed.push(Candidate { key, position, contributions: vec![contribution] }),
        }
    }
    Ok(anchors)
}

/// Returns the entities of the question and of the best memories, with their weights.
fn anchors(context: &QueryContext<'_>, plan: &Plan<'_>, landed: &[Candidate]) -> Result<Vec<Anchor>, EngineError> {
    let store = context.store;
    let question = plan.request.question.as_str();
    let names = names_between_blanks(question);
    let mut known: HashMap<String, Vec<EntityName>> = HashMap::new();
    for entity in store.entity_names(EntityNames::Known(&names), true)? {
        known.entry(entity.looked_for.clone()).or_default().push(entity);
    }
    // The longest names first: a name within another is not meant.
    let mut named: Vec<&String> = Vec::new();
    for name in names.iter().filter(|name| known.contains_key(*name)) {
        let is_within = |longer: &&String| format!(" {longer} ").contains(&format!(" {name} "));
        if !named.iter().any(is_within) {
            named.push(name);
        }
    }
    let mut found: HashMap<EntityId, (EntityName, bool, Vec<f32>)> = HashMap::new();
    for entity in named.iter().filter_map(|name| known.get(*name)).flatten() {
        found.entry(entity.id).or_insert_with(|| (entity.clone(), true, Vec::new()));
    }
    let mut memories: Vec<(MemoryKey, f32)> =
        landed.iter().filter_map(|candidate| Some((candidate.key.memory()?, candidate.score()))).collect();
    memories.sort_by(|a, b| b.1.total_cmp(&a.1));
    memories.truncate(SEED_MEMORIES);
    let best = memories.first().map_or(1.0, |(_, score)| *score).max(f32::MIN_POSITIVE);
    let rows: Vec<MemoryKey> = memories.iter().map(|(row, _)| *row).collect();
    let records: HashMap<MemoryKey, _> = store.named_outlines(Named::Keys(&rows))?.into_iter().collect();
    for (row, score) in &memories {
        // The words of an extracted statement name its entities and find it; from there, the walk would lead to statements
        // that only name the same (docs/measurements.md, "Extraction").
        let Some((memory, _)) = records.get(row).filter(|(memory, _)| memory.lane == Lane::Curated) else { continue };
        for entity in store.entity_names(EntityNames::OfMemory(memory.id), true)? {
            found.entry(entity.id).or_insert_with(|| (entity, false, Vec::new())).2.push(score / best);
        }
    }
    let is_small = store.statement_facts(SMALL_MEMORY + 1)?.memories <= SMALL_MEMORY;
    let nearness = Nearness::of(Some(question));
    let mut anchors = Vec::new();
    for (id, (EntityName { name, degree, .. }, is_named, scores)) in found {
        if !is_named && !is_small && degree < 2 {
            continue;
        }
        let by_meaning = if is_named { 1.0 } else { nearness.to(&name).max(0.0) };
        let by_memories = scores.iter().sum::<f32>() / scores.len().max(1) as f32;
        let by_degree = (degree as f32).ln_1p() / GREAT_DEGREE.ln_1p();
        let weight = BY_MEANING * by_meaning + BY_MEMORIES * by_memories.max(0.0) + BY_DEGREE * by_degree.min(1.0);
        anchors.push(Anchor { id, name, is_named, weight });
    }
    anchors.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.id.cmp(&b.id)));
    anchors.truncate(MOST_ANCHORS);
    let whole = anchors.iter().map(|anchor| anchor.weight).sum::<f32>().max(f32::MIN_POSITIVE);
    anchors.iter_mut().for_each(|anchor| anchor.weight /= whole);
    Ok(anchors)
}

/// Returns the runs of up to [`NAME_WORDS`] words of a question in lower case, the longest first, without the marks
/// around a word: names of entities may hold any character inside.
fn names_between_blanks(question: &str) -> Vec<String> {
    let lower = question.to_lowercase();
    let around =
        |letter: char| matches!(letter, '?' | '!' | ',' | ';' | ':' | '"' | '\'' | '`' | '(' | ')' | '“' | '”' | '‘' | '’');
    let plain = |word: &str| {
        let word = word.trim_matches(around);
        let word = word.strip_suffix('.').unwrap_or(word);
        word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word).to_owned()
    };
    let words: Vec<String> = lower.split_whitespace().take(MOST_WORDS).map(plain).collect();
    let mut names = Vec::new();
    for count in (1..=NAME_WORDS.min(words.len())).rev() {
        names.extend(words.windows(count).map(|run| run.join(" ")).filter(|name| !name.is_empty() && !is_stop_word(name)));
    }
    names
}

/// Returns the memories and turns that a walk from the anchors most likely reaches, at most [`MOST_JUDGED`], with the probability of being
/// there, the most likely first.
fn walk(context: &QueryContext<'_>, anchors: &[Anchor]) -> Result<Vec<(ItemKey, f32)>, EngineError> {
    let store = context.store;
    let mut numbers: HashMap<Node, u32> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    let mut edges: HashMap<(u32, u32), f32> = HashMap::new();
    let mut number_of = |node: &Node, nodes: &mut Vec<Node>| {
        *numbers.entry(node.clone()).or_insert_with(|| {
            nodes.push(node.clone());
            nodes.len() as u32 - 1
        })
    };
    let mut frontier: Vec<Node> = anchors.iter().map(|anchor| Node::Entity(anchor.id)).collect();
    for node in &frontier {
        number_of(node, &mut nodes);
    }
    let mut expanded: HashSet<Node> = HashSet::new();
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for node in frontier {
            if expanded.len() == MOST_EXPANDED || !expanded.insert(node.clone()) {
                continue;
            }
            let from = number_of(&node, &mut nodes);
            let mut link = |other: Node, weight: f32, nodes: &mut Vec<Node>| {
                let to = number_of(&other, nodes);
                let weight_of = edges.entry((from.min(to), from.max(to))).or_insert(0.0);
                *weight_of = weight_of.max(weight);
                next.push(other);
            };
            for (other, weight) in store.neighbours(&node, BREADTH, EVIDENCE)? {
                if matches!(other, Node::Memory(_) | Node::Entity(_) | Node::Turn(_)) {
                    link(other, weight, &mut nodes);
                }
            }
        }
        frontier = next;
    }
    let mut edges: Vec<(u32, u32, f32)> = edges.into_iter().map(|((from, to), weight)| (from, to, weight)).collect();
    edges.sort_by_key(|(from, to, _)| (*from, *to));
    let graph = WeightedGraph::undirected(nodes.len(), &edges);
    let seeds: Vec<(u32, f32)> = anchors.iter().enumerate().map(|(at, anchor)| (at as u32, anchor.weight)).collect();
    let mut reached = graph.walk(&seeds, DAMPING, LEAST_MASS);
    reached.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let reached: Vec<(&Node, f32)> = reached.into_iter().map(|(at, mass)| (&nodes[at as usize], mass)).collect();
    Ok(store.item_keys(&reached, MOST_JUDGED)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_question_are_runs_of_its_words() {
        let names = names_between_blanks("Why is C++ in `src/a.rs`, the build's part?");
        for name in ["c++", "src/a.rs", "the build", "build", "c++ in src/a.rs"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name == "the" || name.is_empty()));
    }

    #[test]
    fn weights_of_an_anchor_are_shares() {
        assert!((BY_MEANING + BY_MEMORIES + BY_DEGREE - 1.0).abs() < f32::EPSILON);
        assert!(10f32.ln_1p() > 2.3 && GREAT_DEGREE.ln_1p() < 9.3, "S5-037");
    }
}
