//! Ranks titled passages by the links between them, for questions whose answer is spread over several documents. The best
//! passages name others by their titles, are named by them, share rare names with them, or leave a part of the question open. The
//! first two places stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use yore_core::query::{List, Part, ScorePart};
use yore_core::rank::{DEPTH, heights, mean_and_spread, standard};
use yore_core::text::names_in_question;

use super::QueryContext;
use super::boosts::Ranked;
use super::candidate::{Candidate, Contribution, Position};
use super::deadline::LatePart;
use super::pack::MOST_TERMS;
use super::plan::Plan;
use crate::error::EngineError;
use crate::index::{Address, Evaluator, NameGraph};
use crate::store::ItemKey;

/// Number of the best passages whose links are followed.
const FOLLOWED: usize = 5;
/// Number of the best passages at which walks begin.
const SEEDS: usize = 10;
/// Number of the best candidates that are ranked anew, of passages that a walk reaches, and of those that share
/// rare names with a passage.
const CANDIDATES: usize = 100;
const WALKED: usize = 30;
const SHARING: usize = 20;
/// Number of passages above which a title leads nowhere in particular.
const MOST_LINKED: usize = 100;
/// Probability with which a walk goes on, and the mass below which it is not followed.
const DAMPING: f32 = 0.6;
const LEAST_MASS: f32 = 1e-5;
/// Places that stay as they are.
const KEPT: usize = 2;
/// Least number of words of a question, and of titled passages among the first.
const QUESTION_WORDS: usize = 7;
const TITLED: usize = 3;
/// Weight of the order so far.
const SO_FAR: f32 = 0.3;

/// Signs of a passage, and their number.
const TITLE_ASKED: usize = 0;
const NAMED_BY_BEST: usize = 1;
const NAMES_BEST: usize = 2;
const SHARES_RARE: usize = 3;
const NEW_TERMS: usize = 4;
const TITLE_NOT_ASKED: usize = 5;
const WALK: usize = 6;
const SIGNS: usize = 7;
/// Weights of the signs, fitted on three development sets; and those with a random walk, which is no better
/// (`docs/measurements.md`, "Order").
const WEIGHTS: [f32; SIGNS] = [6.76, -3.61, -3.23, 6.15, 8.0, 6.87, 0.0];
const WEIGHTS_WITH_WALK: [f32; SIGNS] = [3.92, -1.95, -4.15, 4.36, 3.92, 5.71, 0.58];

/// First words of questions.
const ASKING: [&str; 14] =
    ["who", "what", "when", "where", "which", "how", "why", "are", "is", "did", "does", "do", "was", "were"];

/// Ranks passages by their links, if the question asks something of several words and the best candidates are
/// titled passages. Passages that no list proposed are added. Returns whether they were ranked so.
pub(super) fn rank_by_links(context: &QueryContext<'_>, plan: &Plan<'_>, ranked: &mut Vec<Ranked>) -> Result<bool, EngineError> {
    let question = plan.request.question.trim();
    let lower = question.to_lowercase();
    let first_word = lower.split_whitespace().next().unwrap_or_default();
    let asks = question.ends_with('?') || ASKING.contains(&first_word);
    // A linked passage need not have the quoted words.
    let needs_phrases = plan.question.are_phrases_required && !plan.question.phrases.is_empty();
    if !plan.request.tuning.are_links_ranked || needs_phrases || !asks || question.split_whitespace().count() < QUESTION_WORDS {
        return Ok(false);
    }
    let first_are_documents = ranked.iter().take(FOLLOWED).filter(|ranked| ranked.candidate.position.is_document).count();
    if first_are_documents < FOLLOWED.min(ranked.len()) || ranked.len() < KEPT {
        return Ok(false);
    }
    if !context.deadline.allows(LatePart::Links) {
        return Ok(false);
    }
    let graph = context.lexical.name_graph()?;
    let is_titled =
        |ranked: &&Ranked| graph.passage_of(ranked.key()).is_some_and(|at| graph.passages[at as usize].title.is_some());
    if ranked.iter().take(FOLLOWED).filter(is_titled).count() < TITLED {
        return Ok(false);
    }
    let mut signs = Signs::of(context, plan, &graph, ranked, &lower)?;
    signs.retain_allowed(plan, &graph);
    let weights = if plan.request.tuning.has_walk { WEIGHTS_WITH_WALK } else { WEIGHTS };
    reorder(&graph, &signs, &weights, ranked);
    Ok(true)
}

/// Signs of each passage, by its index in the graph.
struct Signs {
    rows: BTreeMap<u32, [f32; SIGNS]>,
    /// Scores so far.
    scores: HashMap<u32, f32>,
}

impl Signs {
    fn of(
        context: &QueryContext<'_>,
        plan: &Plan<'_>,
        graph: &NameGraph,
        ranked: &[Ranked],
        question: &str,
    ) -> Result<Self, EngineError> {
        let known: Vec<(u32, &Ranked)> =
            ranked.iter().filter_map(|ranked| Some((graph.passage_of(ranked.key())?, ranked))).collect();
        let top = known.first().map_or(1.0, |(_, ranked)| ranked.score).max(f32::MIN_POSITIVE);
        let best: Vec<(u32, f32)> = known.iter().take(FOLLOWED).map(|(at, ranked)| (*at, ranked.score / top)).collect();
        let mut pool: BTreeSet<u32> = known.iter().take(CANDIDATES).map(|(at, _)| *at).collect();
        let is_titled_in_question = |at: u32| {
            graph.passages[at as usize]
                .title
                .is_some_and(|title| graph.text_of(title).len() > 3 && question.contains(graph.text_of(title)))
        };
        let mut columns: [HashMap<u32, f32>; SIGNS] = Default::default();
        let raise = |column: &mut HashMap<u32, f32>, at: u32, value: f32| {
            let known = column.entry(at).or_insert(value);
            *known = known.max(value);
        };
        if plan.request.tuning.has_walk {
            for (place, (at, height)) in walked(graph, &known, question).into_iter().enumerate() {
                columns[WALK].insert(at, height);
                if place < WALKED {
                    pool.insert(at);
                }
            }
        }
        for (at, share) in &best {
            let mut sharing: Vec<(u32, f32)> = graph.sharing_rare_names(*at).into_iter().collect();
            sharing.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            for (place, (other, shared)) in sharing.iter().enumerate() {
                raise(&mut columns[SHARES_RARE], *other, share * shared);
                if place < SHARING {
                    pool.insert(*other);
                }
            }
            for name in graph.names_in(*at) {
                let titled = graph.titled(name);
                for other in titled.iter().filter(|other| titled.len() <= MOST_LINKED && *other != at) {
                    raise(&mut columns[NAMED_BY_BEST], *other, *share);
                    pool.insert(*other);
                    if !is_titled_in_question(*other) {
                        raise(&mut columns[TITLE_NOT_ASKED], *other, *share);
                    }
                }
            }
            if let Some(title) = graph.passages[*at as usize].title {
                let naming: Vec<u32> = graph.holders_of(title).filter(|other| other != at).take(MOST_LINKED + 1).collect();
                if naming.len() > MOST_LINKED {
                    continue;
                }
                let share = share / (1.0 + (naming.len().max(1) as f32).ln());
                for other in naming {
                    raise(&mut columns[NAMES_BEST], other, share);
                    pool.insert(other);
                }
            }
        }
        let terms = &plan.question.terms[..plan.question.terms.len().min(MOST_TERMS)];
        let rarity = context.lexical.rarity(terms)?;
        let whole = rarity.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let order: Vec<u32> = pool.iter().copied().collect();
        let addresses: Vec<Address> = order.iter().map(|at| graph.passages[*at as usize].address).collect();
        let held: HashMap<u32, u128> = order.iter().copied().zip(context.lexical.terms_of(terms, &addresses)?).collect();
        for at in &order {
            let new = |best: u32| {
                let only = held[at] & !held.get(&best).copied().unwrap_or(0);
                rarity.iter().enumerate().filter(|(bit, _)| only >> bit & 1 == 1).map(|(_, rarity)| rarity).sum::<f32>() / whole
            };
            let added = best.iter().filter(|(best, _)| best != at).map(|(best, share)| share * new(*best)).fold(0.0, f32::max);
            columns[NEW_TERMS].insert(*at, added);
            if is_titled_in_question(*at) {
                columns[TITLE_ASKED].insert(*at, 1.0);
            }
        }
        let row = |at: u32| std::array::from_fn(|sign| columns[sign].get(&at).copied().unwrap_or(0.0));
        let scores = known.iter().map(|(at, ranked)| (*at, ranked.score)).collect();
        Ok(Self { rows: order.into_iter().map(|at| (at, row(at))).collect(), scores })
    }

    /// Leaves out passages that the filter does not let through.
    fn retain_allowed(&mut self, plan: &Plan<'_>, graph: &NameGraph) {
        let mut evaluator = Evaluator::new(&plan.filter);
        self.rows.retain(|at, _| evaluator.passes(&graph.passages[*at as usize]));
    }
}

/// Returns the passages that a random walk from the best candidates and the names in the question reaches, each
/// with its height above the others.
fn walked(graph: &NameGraph, known: &[(u32, &Ranked)], question: &str) -> Vec<(u32, f32)> {
    let share = |ranked: &Ranked| ranked.score.max(0.0).powi(2);
    let whole = known.iter().take(SEEDS).map(|(_, ranked)| share(ranked)).sum::<f32>().max(f32::MIN_POSITIVE);
    let seeds: Vec<(u32, f32)> = known.iter().take(SEEDS).map(|(at, ranked)| (*at, share(ranked) / whole)).collect();
    let names: Vec<u32> =
        names_in_question(question, &|name| graph.name(name).is_some()).iter().filter_map(|name| graph.name(name)).collect();
    let rarities: f32 = names.iter().map(|name| graph.rarity(*name)).sum();
    let named: Vec<(u32, f32)> = names.iter().map(|name| (*name, graph.rarity(*name) / rarities)).collect();
    let mut walked = graph.walk(&seeds, &named, DAMPING, LEAST_MASS);
    walked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    walked.truncate(DEPTH);
    let masses: Vec<f32> = walked.iter().map(|(_, mass)| *mass).collect();
    walked.into_iter().zip(heights(&masses, None, LEAST_MASS)).map(|((at, _), height)| (at, height)).collect()
}

/// Puts the candidates from the third place on in the order of their signs. Each gets the score of its new
/// place, so that the scores go on falling.
fn reorder(graph: &NameGraph, signs: &Signs, weights: &[f32; SIGNS], ranked: &mut Vec<Ranked>) {
    let order: Vec<u32> = signs.rows.keys().copied().collect();
    let linear: Vec<f32> =
        signs.rows.values().map(|row| row.iter().zip(weights).map(|(sign, weight)| sign * weight).sum()).collect();
    let so_far: Vec<f32> = order.iter().map(|at| signs.scores.get(at).copied().unwrap_or(0.0)).collect();
    let scores: HashMap<u32, f32> = order
        .iter()
        .zip(standard(&linear).into_iter().zip(standard(&so_far)))
        .map(|(at, (linear, so_far))| (*at, linear + SO_FAR * so_far))
        .collect();
    let mut places: Vec<u32> = order.clone();
    places.sort_by(|a, b| scores[b].total_cmp(&scores[a]).then(a.cmp(b)));
    let known: HashSet<ItemKey> = ranked.iter().map(Ranked::key).collect();
    for (place, at) in places.iter().enumerate() {
        let passage = &graph.passages[*at as usize];
        if !known.contains(&ItemKey::Turn(passage.row)) {
            let position = Position { episode: passage.episode, index: passage.position, at: passage.at, is_document: true };
            let contributions = vec![Contribution {
                list: List::Links,
                part: Part::Links,
                rank: place + 1,
                own_score: scores[at],
                value: 0.0,
                address: Some(passage.address),
            }];
            let candidate = Candidate { key: ItemKey::Turn(passage.row), position, contributions };
            ranked.push(Ranked { candidate, support: Vec::new(), score: 0.0 });
        }
    }
    let mut ladder: Vec<f32> = ranked.iter().map(|ranked| ranked.score).collect();
    ladder.sort_by(|a, b| b.total_cmp(a));
    let kept: Vec<Ranked> = ranked.drain(..KEPT).collect();
    let (mean, spread) = mean_and_spread(&so_far);
    let score = |ranked: &Ranked| match graph.passage_of(ranked.key()) {
        // The worst candidates stay below, in their order.
        Some(at) => scores.get(&at).copied().unwrap_or(f32::MIN),
        // It is no passage, or waits for the index, so its links are not known.
        None => SO_FAR * (ranked.score - mean) / spread.max(f32::MIN_POSITIVE),
    };
    ranked.sort_by(|a, b| score(b).total_cmp(&score(a)));
    ranked.splice(..0, kept);
    for (ranked, score) in ranked.iter_mut().zip(ladder) {
        let change = score - ranked.score;
        if change != 0.0 {
            ranked.add(ScorePart { part: Part::Links, value: change });
        }
    }
}
