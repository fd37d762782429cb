//! Tests of the index against an exact oracle and a plain model, and with files that are torn, exchanged, or
//! left by a killed writer.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use yore_core::episode::Role;
use yore_core::memory::Status;

use super::error::MAX_DIMENSIONS;
use super::quantise::Query;
use super::quantise::{dot, quantise, stride};
use super::segment::boundaries;
use super::state::load_by;
use super::tuning::Tuning;
use super::*;
use crate::index::CompiledFilter;
use crate::index::filter::FIRST_STATUS;

const DIMENSIONS: usize = 24;

/// With these values, few rows suffice for every step.
const SMALL: Tuning =
    Tuning { merge_floor: 4, sketched_from: 40, sketches_used_from: 2_000, least_candidates: 1_000, candidate_share: 100 };

fn options(directory: &Path) -> VectorOptions {
    VectorOptions {
        directory: directory.to_path_buf(),
        identity: "model 1".to_owned(),
        token: "store 1".to_owned(),
        dimensions: DIMENSIONS,
    }
}

fn open(directory: &Path) -> VectorIndex {
    VectorIndex::open_tuned(&options(directory), SMALL).unwrap()
}

fn writer(index: &VectorIndex) -> VectorWriter<'_> {
    index.writer().unwrap().unwrap()
}

/// Generator of numbers between -1 and 1, nearly normal, from a seed (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn value(&mut self) -> f32 {
        (0..4).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32 - 0.5).sum::<f32>() * 0.5
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.value()).collect()
    }

    fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        centre.iter().map(|value| value + spread * self.value()).collect()
    }
}

/// The expected content of the index: turns with metadata and vectors.
type Model = BTreeMap<i64, (TurnMetadata, Vec<Vec<f32>>)>;

/// Returns a row's id, made of its turn and its ordinal.
fn id(turn: i64, ordinal: usize) -> i64 {
    turn * 1000 + ordinal as i64 + 1
}

fn put(batch: &mut VectorBatch, turn: i64, metadata: TurnMetadata, vectors: &[Vec<f32>]) {
    let chunk = |(ordinal, vector)| VectorChunk { ordinal: ordinal as u16, vector_id: id(turn, ordinal), vector };
    batch.replace(turn, metadata, vectors.iter().map(Vec::as_slice).enumerate().map(chunk)).unwrap();
}

fn write_all(index: &VectorIndex, model: &Model, turns_a_batch: usize) {
    let mut writer = writer(index);
    let turns: Vec<_> = model.iter().collect();
    for turns in turns.chunks(turns_a_batch) {
        let mut batch = VectorBatch::new(index.dimensions());
        turns.iter().for_each(|(turn, (metadata, vectors))| put(&mut batch, **turn, *metadata, vectors));
        writer.apply(&batch, 1).unwrap();
    }
    writer.merge().unwrap();
}

fn metadata(noise: &mut Noise) -> TurnMetadata {
    let mut below = |bound: u64| noise.next() % bound;
    TurnMetadata {
        project: below(4) as u32,
        branch: below(3) as u32,
        role: below(5) as u8,
        episode: below(6) as i64,
        at: if below(5) == 0 { i64::MIN } else { below(1000) as i64 },
        position: below(50) as i64,
        is_document: below(2) == 0,
    }
}

/// Makes turns of one to three vectors, in clusters or not.
fn model(turns: i64, dimensions: usize, clusters: usize, noise: &mut Noise) -> Model {
    let centres: Vec<Vec<f32>> = (0..clusters).map(|_| noise.vector(dimensions)).collect();
    (1..=turns)
        .map(|turn| {
            let count = noise.next() % 3 + 1;
            let vectors = (0..count)
                .map(|_| match centres.get(noise.next() as usize % clusters.max(1)) {
                    Some(centre) => noise.near(centre, 0.5),
                    None => noise.vector(dimensions),
                })
                .collect();
            let metadata = metadata(noise);
            // Every fifth is a memory.
            match turn % 5 {
                0 => (-turn * 3, (TurnMetadata { role: FIRST_STATUS + metadata.role, ..metadata }, vectors)),
                _ => (turn * 3, (metadata, vectors)),
            }
        })
        .collect()
}

fn passes(filter: &CompiledFilter, turn: i64, metadata: &TurnMetadata) -> bool {
    let CompiledFilter { projects, everywhere, branches, roles, statuses, memories, episodes, turns, superseded, since, until } =
        filter;
    let is_memory = turn < 0;
    let is_dated = metadata.at != i64::MIN;
    let holds_everywhere = metadata.project == 0 && everywhere.contains(&metadata.episode);
    projects.as_ref().is_none_or(|projects| projects.contains(&i64::from(metadata.project)) || holds_everywhere)
        && branches.as_ref().is_none_or(|branches| branches.contains(&i64::from(metadata.branch)))
        && roles.as_ref().is_none_or(|roles| is_memory || roles.contains(&Role::ALL[usize::from(metadata.role)]))
        && statuses
            .as_ref()
            .is_none_or(|statuses| !is_memory || statuses.contains(&Status::ALL[usize::from(metadata.role - FIRST_STATUS)]))
        && memories.as_ref().is_none_or(|memories| !is_memory || memories.contains(&turn))
        && episodes.as_ref().is_none_or(|episodes| episodes.contains(&metadata.episode))
        && turns.as_ref().is_none_or(|turns| turns.contains(&turn))
        && superseded.as_ref().is_none_or(|superseded| !superseded.contains(&turn))
        && since.is_none_or(|since| is_dated && metadata.at >= since)
        && until.is_none_or(|until| is_dated && metadata.at < until)
}

/// Returns the best turns and scores, by a score of a turn's vectors and their ordinals.
fn oracle(model: &Model, filter: &CompiledFilter, limit: usize, score: impl Fn(usize, &[f32]) -> f32) -> Vec<(i64, f32)> {
    let mut found: Vec<(i64, f32)> = model
        .iter()
        .filter(|(turn, (metadata, _))| passes(filter, **turn, metadata))
        .map(|(turn, (_, vectors))| {
            (*turn, vectors.iter().enumerate().map(|(at, vector)| score(at, vector)).fold(f32::MIN, f32::max))
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    found.truncate(limit);
    found
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Returns the cosine according to the codes.
fn code_cosine(query: &[f32], vector: &[f32]) -> f32 {
    let query = Query::new(query).unwrap();
    let mut codes = vec![0; stride(vector.len())];
    let scale = quantise(vector, &mut codes);
    let product: i32 = codes.iter().zip(&query.codes).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    product as f32 * query.scale * scale
}

fn turns_and_scores(hits: &[VectorHit]) -> Vec<(i64, f32)> {
    hits.iter().map(|hit| (hit.turn, hit.score)).collect()
}

/// Searches as the store's owner would.
fn search_exactly(index: &VectorIndex, model: &Model, query: &[f32], limit: usize, filter: &CompiledFilter) -> Vec<VectorHit> {
    let mut vectors = |ids: &[i64]| -> Result<Vec<Option<Vec<f32>>>, VectorError> {
        let vector = |id: &i64| {
            model.get(&id.div_euclid(1000)).and_then(|(_, vectors)| vectors.get((id.rem_euclid(1000) - 1) as usize).cloned())
        };
        Ok(ids.iter().map(vector).collect())
    };
    index.search_rescored(&VectorSearch { query, limit, filter, later_discount: 0.0 }, &mut vectors).unwrap()
}

fn filters() -> Vec<CompiledFilter> {
    let any = CompiledFilter::default;
    vec![
        any(),
        CompiledFilter { projects: Some(HashSet::from([2])), ..any() },
        CompiledFilter { superseded: Some(Arc::new(HashSet::from([0, 3, 9, 12]))), ..any() },
        CompiledFilter { projects: Some(HashSet::from([2])), everywhere: HashSet::from([1, 2, 3]), ..any() },
        CompiledFilter { projects: Some(HashSet::from([0, 3])), branches: Some(HashSet::from([1])), ..any() },
        CompiledFilter { roles: Some(vec![Role::ALL[0], Role::ALL[4]]), ..any() },
        CompiledFilter { statuses: Some(vec![Status::Holds, Status::Archived]), ..any() },
        CompiledFilter { roles: Some(Vec::new()), memories: Some(Arc::new((-900..0).step_by(6).collect())), ..any() },
        CompiledFilter { episodes: Some(HashSet::from([1, 5])), ..any() },
        CompiledFilter { episodes: Some(HashSet::new()), ..any() },
        CompiledFilter { turns: Some(Arc::new((0..900).step_by(9).collect())), ..any() },
        CompiledFilter { since: Some(300), ..any() },
        CompiledFilter { until: Some(300), ..any() },
        CompiledFilter { since: Some(200), until: Some(700), roles: Some(vec![Role::ALL[1]]), ..any() },
        CompiledFilter { projects: Some(HashSet::from([77])), ..any() },
    ]
}

/// Returns the share of the oracle's turns that the index finds.
fn recall(index: &VectorIndex, model: &Model, queries: &[Vec<f32>], filter: &CompiledFilter) -> f64 {
    let (mut expected, mut found) = (0, 0);
    for query in queries {
        let best = oracle(model, filter, 10, |_, vector| cosine(query, vector));
        let hits: HashSet<i64> = search_exactly(index, model, query, 10, filter).iter().map(|hit| hit.turn).collect();
        expected += best.len();
        found += best.iter().filter(|(turn, _)| hits.contains(turn)).count();
    }
    if expected == 0 { 1.0 } else { found as f64 / expected as f64 }
}

#[test]
fn codes_and_exact_scores_find_what_the_exact_search_finds() {
    let mut noise = Noise(1);
    for (clusters, dimensions) in [(0, 100), (40, 64)] {
        let directory = tempfile::tempdir().unwrap();
        let model = model(3_000, dimensions, clusters, &mut noise);
        let index = VectorIndex::open(&VectorOptions { dimensions, ..options(directory.path()) }).unwrap();
        write_all(&index, &model, 700);
        let queries: Vec<Vec<f32>> = (0..20)
            .map(|at| match at % 2 {
                0 => noise.vector(dimensions),
                _ => noise.near(&model.values().nth(at * 31).unwrap().1[0], 0.3),
            })
            .collect();
        for filter in filters() {
            assert_eq!(recall(&index, &model, &queries, &filter), 1.0, "{clusters} clusters, {filter:?}");
        }
        let hits = search_exactly(&index, &model, &queries[0], 10, &CompiledFilter::default());
        let best = oracle(&model, &CompiledFilter::default(), 10, |_, vector| cosine(&queries[0], vector));
        for (hit, (turn, score)) in hits.iter().zip(best) {
            assert_eq!(hit.turn, turn);
            assert!((hit.score - score).abs() < 1e-5);
            let (metadata, vectors) = &model[&turn];
            assert_eq!(hit.metadata, *metadata);
            let nearest = vectors.iter().map(|vector| cosine(&queries[0], vector)).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            assert_eq!(usize::from(hit.ordinal), nearest.unwrap().0);
            assert_eq!(hit.vector_id, id(turn, hit.ordinal.into()));
        }
    }
}

#[test]
fn sketches_propose_what_the_exact_search_finds() {
    let mut noise = Noise(2);
    for clusters in [20, 1_000] {
        let dimensions = 128;
        let directory = tempfile::tempdir().unwrap();
        let tuning = Tuning { sketched_from: 2_000, sketches_used_from: 1_000, ..Tuning::DEFAULT };
        let options = VectorOptions { dimensions, ..options(directory.path()) };
        let model = model(7_000, dimensions, clusters, &mut noise);
        let index = VectorIndex::open_tuned(&options, tuning).unwrap();
        write_all(&index, &model, 3_000);
        assert!(index.state().members.iter().any(|member| member.segment.sketches().is_some()));
        let queries: Vec<Vec<f32>> = (0..20).map(|at| noise.near(&model.values().nth(at * 331).unwrap().1[0], 0.4)).collect();
        for filter in
            [CompiledFilter::default(), CompiledFilter { projects: Some(HashSet::from([1, 2])), ..CompiledFilter::default() }]
        {
            let recall = recall(&index, &model, &queries, &filter);
            assert!(recall >= 0.999, "{clusters} clusters: {recall}");
        }
    }
}

#[test]
fn turns_are_scored_and_read_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let mut noise = Noise(3);
    let model = model(200, DIMENSIONS, 5, &mut noise);
    let index = open(directory.path());
    write_all(&index, &model, 30);
    let query = noise.vector(DIMENSIONS);
    let turns: Vec<i64> = (-700..700).collect();
    for (turn, score) in turns.iter().zip(index.scores_of(&query, &turns).unwrap()) {
        let expected =
            model.get(turn).map(|(_, vectors)| vectors.iter().map(|vector| code_cosine(&query, vector)).fold(f32::MIN, f32::max));
        assert_eq!(score, expected);
        assert_eq!(index.contains(*turn), expected.is_some());
        let Some(vectors) = index.vectors_of_turn(*turn) else {
            assert!(expected.is_none());
            continue;
        };
        for (vector, original) in vectors.iter().zip(&model[turn].1) {
            assert!(cosine(vector, original) > 0.999 && (dot(vector, vector) - 1.0).abs() < 1e-4);
        }
        assert_eq!(vectors.len(), model[turn].1.len());
    }
    assert_eq!((index.turns(), index.len()), (200, model.values().map(|(_, vectors)| vectors.len() as u64).sum()));
}

#[test]
fn row_whose_vector_is_gone_is_dropped_and_one_without_id_keeps_its_score() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let mut noise = Noise(4);
    let query = noise.vector(DIMENSIONS);
    let vectors: Vec<Vec<f32>> = (0..4).map(|_| noise.near(&query, 0.1)).collect();
    let mut batch = VectorBatch::new(DIMENSIONS);
    let chunk = |ordinal: u16, vector_id| VectorChunk { ordinal, vector_id, vector: &vectors[usize::from(ordinal)] };
    batch.replace(1, TurnMetadata::default(), [chunk(0, 10), chunk(1, 11)]).unwrap();
    batch.replace(2, TurnMetadata::default(), [chunk(2, 12)]).unwrap();
    batch.replace(3, TurnMetadata::default(), [chunk(3, 0)]).unwrap();
    writer(&index).apply(&batch, 1).unwrap();
    let filter = CompiledFilter::default();
    let search = VectorSearch { query: &query, limit: 10, filter: &filter, later_discount: 0.0 };
    let mut asked = Vec::new();
    let hits = index
        .search_rescored(&search, &mut |ids: &[i64]| -> Result<_, VectorError> {
            asked.extend_from_slice(ids);
            // The vector of 10 is gone, that of 12 has changed.
            Ok(ids
                .iter()
                .map(|id| match id {
                    11 => Some(vectors[1].clone()),
                    12 => Some(query.clone()),
                    _ => None,
                })
                .collect())
        })
        .unwrap();
    asked.sort_unstable();
    assert_eq!(asked, [10, 11, 12]);
    let mut found = turns_and_scores(&hits);
    found.sort_by_key(|(turn, _)| *turn);
    assert_eq!(found.iter().map(|(turn, _)| *turn).collect::<Vec<_>>(), [1, 2, 3]);
    assert!((found[0].1 - cosine(&query, &vectors[1])).abs() < 1e-6);
    assert!((found[1].1 - 1.0).abs() < 1e-6);
    assert_eq!(found[2].1, code_cosine(&query, &vectors[3]));
    assert_eq!(hits[0].turn, 2);
    let failed = index.search_rescored(&search, &mut |_: &[i64]| Err(VectorError::BatchFull));
    assert!(matches!(failed, Err(VectorError::BatchFull)));
    // Too few answers, or vectors of another model.
    let short = index.search_rescored(&search, &mut |_: &[i64]| Ok::<_, VectorError>(vec![Some(vec![1.0])])).unwrap();
    assert_eq!(turns_and_scores(&short), [(3, found[2].1)]);
}

#[test]
fn what_has_no_direction_is_not_found_and_finds_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let mut batch = VectorBatch::new(DIMENSIONS);
    let metadata = TurnMetadata::default();
    put(&mut batch, 1, metadata, &[vec![0.0; DIMENSIONS]]);
    put(&mut batch, 2, metadata, &[vec![f32::NAN; DIMENSIONS]]);
    put(&mut batch, 3, metadata, &[vec![-1.0; DIMENSIONS]]);
    writer(&index).apply(&batch, 1).unwrap();
    let filter = CompiledFilter::default();
    let search = |query: &[f32]| index.search(&VectorSearch { query, limit: 10, filter: &filter, later_discount: 0.0 });
    assert_eq!(turns_and_scores(&search(&[1.0; DIMENSIONS]).unwrap()), [(3, -1.0)]);
    assert_eq!(search(&[0.0; DIMENSIONS]).unwrap(), []);
    assert_eq!(search(&[f32::INFINITY; DIMENSIONS]).unwrap(), []);
    assert_eq!(index.scores_of(&[0.0; DIMENSIONS], &[3]).unwrap(), [None]);
    assert!(matches!(search(&[1.0; 5]), Err(VectorError::Dimensions { expected: DIMENSIONS, found: 5 })));
    assert!(index.scores_of(&[1.0; 5], &[]).is_err());
    assert!(matches!(writer(&index).apply(&VectorBatch::new(5), 1), Err(VectorError::Dimensions { found: 5, .. })));
    assert_eq!(
        index.search(&VectorSearch { query: &[1.0; DIMENSIONS], limit: 0, filter: &filter, later_discount: 0.0 }).unwrap(),
        []
    );
    for dimensions in [0, MAX_DIMENSIONS + 1] {
        assert!(VectorIndex::open(&VectorOptions { dimensions, ..options(directory.path()) }).is_err());
    }
}

/// One step in the life of an index.
#[derive(Clone, Debug)]
enum Step {
    /// Turns, each with a number of new vectors (none: removed).
    Apply(Vec<(i64, usize)>),
    Merge,
    MergeAll,
    Reopen,
    Refresh,
    Purge,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => prop::collection::vec((0i64..60, 0usize..4), 0..40).prop_map(Step::Apply),
        4 => Just(Step::Merge),
        1 => Just(Step::MergeAll),
        2 => Just(Step::Reopen),
        2 => Just(Step::Refresh),
        1 => Just(Step::Purge),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_is_that_of_a_map(steps in prop::collection::vec(step(), 1..25), seed in any::<u64>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut noise = Noise(seed);
        let mut model = Model::new();
        let mut index = open(directory.path());
        let reader = open(directory.path());
        let mut position = 0;
        for step in steps {
            match step {
                Step::Apply(changes) => {
                    let mut batch = VectorBatch::new(DIMENSIONS);
                    let before = model.clone();
                    for (turn, count) in changes {
                        let vectors: Vec<Vec<f32>> = (0..count).map(|_| noise.vector(DIMENSIONS)).collect();
                        let metadata = metadata(&mut noise);
                        put(&mut batch, turn, metadata, &vectors);
                        match count {
                            0 => model.remove(&turn),
                            _ => model.insert(turn, (metadata, vectors)),
                        };
                    }
                    position += 1;
                    let written = writer(&index).apply(&batch, position).unwrap();
                    let is_new = |turn: &&i64| !before.contains_key(turn);
                    prop_assert_eq!(written.added, model.keys().filter(is_new).count() as u64);
                    prop_assert_eq!(written.removed, before.keys().filter(|turn| !model.contains_key(turn)).count() as u64);
                }
                Step::Merge => {
                    writer(&index).merge().unwrap();
                    prop_assert!(index.segments() <= 8);
                }
                Step::MergeAll => {
                    writer(&index).merge_all().unwrap();
                    prop_assert!(index.segments() <= 1);
                    prop_assert!(index.state().members.iter().all(|member| member.dead.is_none()));
                }
                Step::Reopen => {
                    drop(index);
                    index = open(directory.path());
                    prop_assert_eq!(index.was_reset(), position == 0);
                }
                Step::Refresh => {
                    reader.refresh().unwrap();
                    prop_assert_eq!((reader.len(), reader.position()), (index.len(), position));
                }
                Step::Purge => {
                    writer(&index).purge().unwrap();
                    model.clear();
                    position = 0;
                }
            }
            check(&index, &model, position, &mut noise)?;
        }
        reader.refresh().unwrap();
        check(&reader, &model, position, &mut noise)?;
        index.verify().unwrap();
    }
}

fn check(index: &VectorIndex, model: &Model, position: u64, noise: &mut Noise) -> Result<(), TestCaseError> {
    prop_assert_eq!(index.position(), position);
    prop_assert_eq!(index.turns(), model.len() as u64);
    prop_assert_eq!(index.len(), model.values().map(|(_, vectors)| vectors.len() as u64).sum::<u64>());
    prop_assert_eq!(index.is_empty(), model.is_empty());
    for turn in 0..60 {
        prop_assert_eq!(index.contains(turn), model.contains_key(&turn));
    }
    let query = noise.vector(DIMENSIONS);
    let filters = filters();
    for filter in [&filters[0], &filters[noise.next() as usize % filters.len()]] {
        for limit in [5, 100] {
            for later_discount in [0.0, 0.1] {
                let discount = |at| if at == 0 { 0.0 } else { later_discount };
                let expected = oracle(model, filter, limit, |at, vector| code_cosine(&query, vector) - discount(at));
                let hits = index.search(&VectorSearch { query: &query, limit, filter, later_discount }).unwrap();
                prop_assert_eq!(turns_and_scores(&hits), expected);
                prop_assert!(hits.iter().all(|hit| hit.metadata == model[&hit.turn].0));
            }
        }
    }
    Ok(())
}

/// Makes an index of several segments, among them one with sketches and one that hides turns.
fn fill(directory: &Path) -> Model {
    let mut noise = Noise(7);
    let model = model(120, DIMENSIONS, 4, &mut noise);
    let index = open(directory);
    write_all(&index, &model, 120);
    let mut batch = VectorBatch::new(DIMENSIONS);
    let changed: Model =
        model.iter().take(9).map(|(turn, (metadata, _))| (*turn, (*metadata, vec![noise.vector(DIMENSIONS)]))).collect();
    changed.iter().for_each(|(turn, (metadata, vectors))| put(&mut batch, *turn, *metadata, vectors));
    writer(&index).apply(&batch, 42).unwrap();
    assert_eq!(index.segments(), 2);
    model.into_iter().chain(changed).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn copy(from: &Path, to: &Path) {
    for name in names(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// Opens a directory that was tampered with, and fills it again.
fn expect_reset(directory: &Path, what: &str) -> ResetReason {
    let index = open(directory);
    assert!(index.was_reset() && index.is_empty() && index.position() == 0, "{what}");
    assert_eq!(names(directory), ["lock"], "{what}");
    let reason = index.reset_reason().unwrap();
    let mut batch = VectorBatch::new(DIMENSIONS);
    put(&mut batch, 5, TurnMetadata::default(), &[vec![1.0; DIMENSIONS]]);
    writer(&index).apply(&batch, 7).unwrap();
    assert!(!index.was_reset());
    let again = open(directory);
    assert!(!again.was_reset() && again.len() == 1 && again.position() == 7, "{what}");
    reason
}

#[test]
fn index_comes_back_as_it_was_left() {
    let directory = tempfile::tempdir().unwrap();
    let model = fill(directory.path());
    let index = open(directory.path());
    assert_eq!((index.was_reset(), index.position()), (false, 42));
    index.verify().unwrap();
    check(&index, &model, 42, &mut Noise(8)).unwrap_or(());
    assert_eq!(
        index.bytes(),
        names(directory.path()).iter().map(|name| fs::metadata(directory.path().join(name)).unwrap().len()).sum::<u64>()
    );
    assert!(!index.refresh().unwrap());
}

#[test]
fn torn_file_makes_the_index_start_anew() {
    let original = tempfile::tempdir().unwrap();
    fill(original.path());
    let records = open(original.path()).state().manifest.segments.clone();
    for record in &records {
        let lengths: HashSet<usize> =
            boundaries(DIMENSIONS, record).into_iter().flat_map(|at| [at.saturating_sub(1), at, at + 1]).collect();
        for length in lengths.into_iter().filter(|length| *length as u64 != record.bytes) {
            let directory = tempfile::tempdir().unwrap();
            copy(original.path(), directory.path());
            let file = fs::OpenOptions::new().write(true).open(directory.path().join(record.name())).unwrap();
            file.set_len(length as u64).unwrap();
            let index = open(directory.path());
            let Some(ResetReason::Damaged(detail)) = index.reset_reason() else { panic!("{} cut to {length}", record.name()) };
            assert!(detail.contains(&record.name()) && index.is_empty());
            assert_eq!(names(directory.path()), ["lock"]);
        }
    }
    for name in ["manifest".to_owned(), records[0].name(), records[1].name()] {
        let directory = tempfile::tempdir().unwrap();
        copy(original.path(), directory.path());
        fs::remove_file(directory.path().join(&name)).unwrap();
        let reason = expect_reset(directory.path(), &format!("{name} removed"));
        assert_eq!(reason == ResetReason::Missing, name == "manifest");
    }
}

#[test]
fn changed_column_makes_the_index_start_anew_and_changed_vector_is_found_by_verify() {
    let original = tempfile::tempdir().unwrap();
    fill(original.path());
    let records = open(original.path()).state().manifest.segments.clone();
    for record in &records {
        let bytes = fs::read(original.path().join(record.name())).unwrap();
        let places = boundaries(DIMENSIONS, record);
        // Codes and sketches are the last two sections.
        let content = places[places.len() - 4];
        let places: HashSet<usize> = places.into_iter().flat_map(|at| [at.saturating_sub(1), at]).collect();
        for at in places.into_iter().filter(|at| *at < bytes.len()) {
            let directory = tempfile::tempdir().unwrap();
            copy(original.path(), directory.path());
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            fs::write(directory.path().join(record.name()), changed).unwrap();
            if at < content {
                let index = open(directory.path());
                assert!(matches!(index.reset_reason(), Some(ResetReason::Damaged(_))), "byte {at} of {}", record.name());
                assert_eq!((index.len(), names(directory.path())), (0, vec!["lock".to_owned()]));
            } else {
                let index = open(directory.path());
                assert!(!index.was_reset());
                let Err(VectorError::Damaged { path, .. }) = index.verify() else { panic!("byte {at} of {}", record.name()) };
                assert_eq!(path, directory.path().join(record.name()));
            }
        }
    }
}

#[test]
fn exchanged_files_make_the_index_start_anew() {
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fill(first.path());
    let index = open(second.path());
    write_all(&index, &model(120, DIMENSIONS, 3, &mut Noise(9)), 120);
    drop(index);
    let (ours, theirs) = (names(first.path()), names(second.path()));
    assert_eq!((ours.len(), theirs.len()), (4, 3));
    let exchange = |change: &dyn Fn(&Path)| {
        let directory = tempfile::tempdir().unwrap();
        copy(first.path(), directory.path());
        change(directory.path());
        expect_reset(directory.path(), "exchanged");
    };
    // Two segments of one index, a segment of another index, the manifest of another index.
    exchange(&|directory| {
        fs::rename(directory.join(&ours[0]), directory.join("x")).unwrap();
        fs::rename(directory.join(&ours[1]), directory.join(&ours[0])).unwrap();
        fs::rename(directory.join("x"), directory.join(&ours[1])).unwrap();
    });
    exchange(&|directory| {
        fs::copy(second.path().join(&theirs[0]), directory.join(&ours[0])).unwrap();
    });
    exchange(&|directory| {
        fs::copy(second.path().join("manifest"), directory.join("manifest")).unwrap();
    });
}

#[test]
fn index_of_another_owner_is_cleared_away() {
    let change = |change: &dyn Fn(&mut VectorOptions), reason: ResetReason| {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path());
        let mut options = options(directory.path());
        change(&mut options);
        let index = VectorIndex::open_tuned(&options, SMALL).unwrap();
        assert_eq!(index.reset_reason(), Some(reason));
        assert_eq!(names(directory.path()), ["lock"]);
        // The reason stays until something is written.
        assert!(!index.refresh().unwrap() && index.was_reset());
        writer(&index).apply(&VectorBatch::new(options.dimensions), 3).unwrap();
        assert!(!VectorIndex::open_tuned(&options, SMALL).unwrap().was_reset());
    };
    change(&|options| options.identity = "model 2".to_owned(), ResetReason::OtherVectors);
    change(&|options| options.dimensions = 32, ResetReason::OtherVectors);
    change(&|options| options.token = "store 2".to_owned(), ResetReason::OtherStore);
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(open(directory.path()).reset_reason(), Some(ResetReason::Missing));
}

#[test]
fn what_a_killed_writer_left_is_cleared_away_unless_somebody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let model = fill(directory.path());
    let intact = names(directory.path());
    let leave = || {
        // A segment that is not in the manifest, half a segment under the next number, a draft.
        fs::copy(directory.path().join(&intact[0]), directory.path().join("00000009.rows")).unwrap();
        fs::write(directory.path().join("00000004.rows"), b"half").unwrap();
        fs::write(directory.path().join("manifest.draft"), b"{").unwrap();
    };
    leave();
    let index = open(directory.path());
    assert_eq!(names(directory.path()), intact);
    let busy = writer(&index);
    leave();
    let reader = open(directory.path());
    assert_eq!(names(directory.path()).len(), intact.len() + 3);
    assert_eq!(reader.len(), index.len());
    drop(busy);
    let mut batch = VectorBatch::new(DIMENSIONS);
    batch.remove(3);
    writer(&reader).apply(&batch, 43).unwrap();
    let model: Model = model.into_iter().filter(|(turn, _)| *turn != 3).collect();
    assert!(index.refresh().unwrap());
    assert_eq!((index.turns(), index.contains(3)), (model.len() as u64, false));
    let added: Vec<String> = names(directory.path()).into_iter().filter(|name| !intact.contains(name)).collect();
    assert_eq!(added, ["00000004.rows"]);
}

#[test]
fn killed_before_the_manifest_is_as_if_nothing_had_happened() {
    let directory = tempfile::tempdir().unwrap();
    let model = fill(directory.path());
    let manifest = fs::read(directory.path().join("manifest")).unwrap();
    let before = tempfile::tempdir().unwrap();
    copy(directory.path(), before.path());
    let index = open(directory.path());
    writer(&index).merge_all().unwrap();
    drop(index);
    // The segments of after the merge and the old ones not yet removed, with the manifest of before.
    copy(before.path(), directory.path());
    assert_eq!(fs::read(directory.path().join("manifest")).unwrap(), manifest);
    let index = open(directory.path());
    assert_eq!((index.was_reset(), index.turns()), (false, model.len() as u64));
    assert_eq!(names(directory.path()), names(before.path()));
    drop(index);
    // The manifest of before, with the old segments removed: a kill cannot do that, a bad backup may.
    let index = open(directory.path());
    writer(&index).merge_all().unwrap();
    drop(index);
    fs::write(directory.path().join("manifest"), manifest).unwrap();
    assert!(matches!(expect_reset(directory.path(), "old manifest"), ResetReason::Damaged(_)));
}

#[test]
fn one_writer_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (open(directory.path()), open(directory.path()));
    let writing = writer(&first);
    assert!(second.writer().unwrap().is_none());
    drop(writing);
    assert!(second.writer().unwrap().is_some());
}

#[test]
fn reader_keeps_its_segments_while_a_writer_merges_them_away() {
    let directory = tempfile::tempdir().unwrap();
    let model = fill(directory.path());
    let (reader, index) = (open(directory.path()), open(directory.path()));
    let filter = CompiledFilter::default();
    let query = Noise(11).vector(DIMENSIONS);
    let search = VectorSearch { query: &query, limit: 20, filter: &filter, later_discount: 0.0 };
    let before = reader.search(&search).unwrap();
    let before_names = names(directory.path());
    writer(&index).merge_all().unwrap();
    let mut batch = VectorBatch::new(DIMENSIONS);
    batch.remove(before[0].turn);
    writer(&index).apply(&batch, 50).unwrap();
    let left = names(directory.path());
    assert!(before_names.iter().filter(|name| name.ends_with(".rows")).all(|name| !left.contains(name)));
    assert_eq!((reader.search(&search).unwrap(), reader.position()), (before.clone(), 42));
    assert!(reader.refresh().unwrap());
    assert!(!reader.refresh().unwrap());
    assert_eq!((reader.turns(), reader.position()), (model.len() as u64 - 1, 50));
    assert_eq!(reader.search(&search).unwrap()[..19], before[1..]);
}

#[test]
fn reader_that_was_overtaken_by_a_merge_reads_again() {
    let directory = tempfile::tempdir().unwrap();
    let model = fill(directory.path());
    let old = fs::read(directory.path().join("manifest")).unwrap();
    let index = open(directory.path());
    writer(&index).merge_all().unwrap();
    let new = fs::read(directory.path().join("manifest")).unwrap();
    let owner = index.state().manifest.owner.clone();
    let load = |manifests: &[&Vec<u8>]| {
        let mut manifests = manifests.iter().copied().cloned();
        load_by(directory.path(), &owner, None, &mut || Ok(manifests.next())).unwrap().unwrap()
    };
    let overtaken = load(&[&old, &new]);
    assert_eq!((overtaken.reset, overtaken.members.len()), (None, 1));
    assert_eq!(overtaken.members[0].live_turns, model.len());
    // The same manifest again: its segments are really gone.
    let gone = load(&[&old, &old]);
    assert!(matches!(gone.reset, Some(ResetReason::Damaged(_))) && gone.members.is_empty());
}

#[test]
fn readers_see_whole_changes_while_a_writer_is_busy() {
    /// Signals the reader that the writer is done, also when it panics.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    writer(&index).apply(&VectorBatch::new(DIMENSIONS), 1).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let reader = open(directory.path());
            let filter = CompiledFilter::default();
            let query = Noise(12).vector(DIMENSIONS);
            let mut seen = HashSet::new();
            while !is_done.load(Ordering::Relaxed) {
                reader.refresh().unwrap();
                assert!(!reader.was_reset());
                let hits =
                    reader.search(&VectorSearch { query: &query, limit: 1000, filter: &filter, later_discount: 0.0 }).unwrap();
                // Every change gives all ten turns the same position as their time.
                let times: HashSet<i64> = hits.iter().map(|hit| hit.metadata.at).collect();
                assert!(times.len() <= 1, "{times:?}");
                assert!(hits.is_empty() || hits.len() == 10);
                seen.extend(times);
            }
            seen.len()
        });
        let done = Done(&is_done);
        let mut noise = Noise(13);
        for round in 2..150 {
            let mut batch = VectorBatch::new(DIMENSIONS);
            for turn in 0..10 {
                put(&mut batch, turn, TurnMetadata { at: round, ..TurnMetadata::default() }, &[noise.vector(DIMENSIONS)]);
            }
            let mut writer = writer(&index);
            writer.apply(&batch, round as u64).unwrap();
            writer.merge().unwrap();
        }
        drop(done);
        reading.join().unwrap();
    });
    assert_eq!(index.turns(), 10);
}

#[test]
fn purged_index_leaves_no_file_but_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let (reader, index) = (open(directory.path()), open(directory.path()));
    writer(&index).purge().unwrap();
    assert_eq!(names(directory.path()), ["lock"]);
    assert!(index.is_empty() && index.was_reset() && index.position() == 0);
    assert!(reader.refresh().unwrap() && reader.is_empty() && reader.was_reset());
}

#[test]
fn replaced_vector_is_gone_from_the_files_after_merging_everything() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let secret: Vec<f32> = Noise(14).vector(DIMENSIONS);
    let mut codes = vec![0; stride(DIMENSIONS)];
    quantise(&secret, &mut codes);
    let codes: Vec<u8> = codes.iter().map(|code| *code as u8).collect();
    let is_there = || {
        names(directory.path())
            .iter()
            .any(|name| fs::read(directory.path().join(name)).unwrap().windows(codes.len()).any(|window| window == codes))
    };
    let mut batch = VectorBatch::new(DIMENSIONS);
    put(&mut batch, 1, TurnMetadata::default(), &[secret]);
    put(&mut batch, 2, TurnMetadata::default(), &[vec![1.0; DIMENSIONS]]);
    writer(&index).apply(&batch, 1).unwrap();
    let mut batch = VectorBatch::new(DIMENSIONS);
    batch.remove(1);
    writer(&index).apply(&batch, 2).unwrap();
    assert!(is_there());
    writer(&index).merge_all().unwrap();
    assert!(!is_there());
    assert_eq!((index.turns(), index.position()), (1, 2));
}

#[test]
fn full_disk_is_told_from_other_failures() {
    let error = |kind: std::io::ErrorKind| VectorError::io(Path::new("index"), kind.into());
    assert!(matches!(error(std::io::ErrorKind::StorageFull), VectorError::DiskFull(path) if path == Path::new("index")));
    assert!(matches!(error(std::io::ErrorKind::QuotaExceeded), VectorError::DiskFull(_)));
    assert!(matches!(error(std::io::ErrorKind::PermissionDenied), VectorError::Io { .. }));
}
