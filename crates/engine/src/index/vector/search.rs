//! Searches a vector index: sketches preselect rows, int8 codes score them, exact vectors order the best.

use std::collections::HashMap;

use super::bits::Bits;
use super::metadata::TurnMetadata;
use super::quantise::Query;
use super::segment::Columns;
use super::select::{Selected, select};
use super::simd::Kernel;
use super::sketch::{BLOCK_ROWS, SketchQuery, block_bytes};
use super::state::State;
use super::tuning::Tuning;
use crate::index::CompiledFilter;

/// Rows scored at once.
const CHUNK: usize = 256;
/// Minimum number of turns that are scored exactly, for short lists.
const LEAST_RESCORED: usize = 64;
/// Maximum number of vectors of one turn that are scored exactly.
const ROWS_A_TURN: u8 = 8;
/// Cost of a row's codes relative to its sketch. Sketches come in blocks: if few rows of each block are
/// allowed, reading their codes is cheaper.
const ROW_COST: usize = 14;
/// Blocks that a search samples to learn which estimates are good.
const SAMPLED_BLOCKS: usize = 64;
/// Candidates that are scored first, to learn which others may matter.
const FIRST_SCORED: usize = 512;
/// Multiple of the usual error by which an estimate may be too low.
const SPREADS: f32 = 3.0;
/// Distance below the turn's best score by the codes at which another vector may still be the best one.
const NEAR: f32 = 0.03;

/// A function that returns the exact vectors for ids, in their order; `None` for one that no longer exists.
pub type Rescore<'r, E> = dyn FnMut(&[i64]) -> Result<Vec<Option<Vec<f32>>>, E> + 'r;

/// Parameters of a search.
#[derive(Clone, Copy, Debug)]
pub struct VectorSearch<'a> {
    /// The query vector, with the index's dimensions; only its direction counts.
    pub query: &'a [f32],
    /// Maximum number of turns.
    pub limit: usize,
    /// Filter for the turns.
    pub filter: &'a CompiledFilter,
    /// Subtracted from the score of every part of a turn but its first: a turn of many parts has many chances
    /// to be near anything. 0 for none.
    pub later_discount: f32,
}

/// A turn that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VectorHit {
    /// Row of the turn.
    pub turn: i64,
    /// Number of its nearest part.
    pub ordinal: u16,
    /// The caller's id of that part's vector; 0 if there is none.
    pub vector_id: i64,
    /// The cosine, less [`VectorSearch::later_discount`] for a later part.
    pub score: f32,
    /// Metadata of the turn.
    pub metadata: TurnMetadata,
}

/// A query over the segments of one moment.
pub(super) struct Searcher<'s> {
    segments: Vec<Columns<'s>>,
    state: &'s State,
    kernel: Kernel,
    tuning: Tuning,
    query: Query,
    dimensions: usize,
    later_discount: f32,
}

/// A row and its score.
#[derive(Clone, Copy, Debug)]
struct Found {
    score: f32,
    turn: i64,
    segment: usize,
    row: usize,
}

impl Found {
    /// Orders best first; among equals the greater turn.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.score.total_cmp(&self.score).then(other.turn.cmp(&self.turn)).then(self.row.cmp(&other.row))
    }
}

impl<'s> Searcher<'s> {
    pub(super) fn new(state: &'s State, kernel: Kernel, tuning: Tuning, query: Query, dimensions: usize) -> Self {
        let segments = state.members.iter().map(|member| member.segment.columns()).collect();
        Self { segments, state, kernel, tuning, query, dimensions, later_discount: 0.0 }
    }

    pub(super) fn discounting(self, later_discount: f32) -> Self {
        Self { later_discount, ..self }
    }

    fn discount(&self, segment: usize, row: usize) -> f32 {
        if self.later_discount > 0.0 && self.segments[segment].ordinals[row] > 0 { self.later_discount } else { 0.0 }
    }

    pub(super) fn search(&self, filter: &CompiledFilter, limit: usize) -> Vec<VectorHit> {
        let mut rows = self.best_rows(filter, limit);
        keep_first_of_each_turn(&mut rows, limit);
        rows.iter().map(|found| self.hit(found)).collect()
    }

    pub(super) fn search_rescored<E>(
        &self,
        filter: &CompiledFilter,
        limit: usize,
        rescore: &mut Rescore<'_, E>,
    ) -> Result<Vec<VectorHit>, E> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut rows = self.best_rows(filter, LEAST_RESCORED.max(limit.saturating_add(limit / 4)));
        // Best first, so that a turn's first row is its best.
        let mut best: HashMap<i64, f32> = HashMap::with_capacity(rows.len());
        rows.retain(|found| found.score >= *best.entry(found.turn).or_insert(found.score) - NEAR);
        let ids: Vec<i64> = rows.iter().map(|found| self.vector_id(found)).filter(|id| *id != 0).collect();
        if !ids.is_empty() {
            let vectors = rescore(&ids)?;
            let mut exact = vectors.iter().map(|vector| self.query.cosine(vector.as_deref()?, self.dimensions));
            rows.retain_mut(|found| {
                if self.vector_id(found) == 0 {
                    return true;
                }
                match exact.next().flatten() {
                    Some(score) => {
                        found.score = score - self.discount(found.segment, found.row);
                        true
                    }
                    None => false,
                }
            });
            rows.sort_unstable_by(Found::order);
        }
        keep_first_of_each_turn(&mut rows, limit);
        Ok(rows.iter().map(|found| self.hit(found)).collect())
    }

    /// Returns the cosine of a turn's best vector, by the codes.
    #[cfg(test)]
    pub(super) fn score_of(&self, turn: i64) -> Option<f32> {
        let (segment, at) = self.state.find(turn)?;
        let columns = &self.segments[segment];
        let rows: Vec<u32> = columns.rows(at..at + 1).map(|row| row as u32).collect();
        let mut products = vec![0; rows.len()];
        self.kernel.dots(&self.query.codes, columns.codes, &rows, &mut products);
        let score = |(row, product): (&u32, &i32)| *product as f32 * self.query.scale * columns.scales[*row as usize];
        rows.iter().zip(&products).map(score).max_by(f32::total_cmp)
    }

    /// Returns the best rows of the best `wanted` turns, best first.
    fn best_rows(&self, filter: &CompiledFilter, wanted: usize) -> Vec<Found> {
        let mut best = Best::new(wanted);
        if wanted == 0 {
            return Vec::new();
        }
        let selected: Vec<Selected> = self
            .state
            .members
            .iter()
            .zip(&self.segments)
            .map(|(member, columns)| select(filter, columns, member.dead.as_ref(), member.live_rows))
            .collect();
        let total: usize = selected.iter().map(|selected| selected.rows).sum();
        let bytes = total * self.query.codes.len();
        let use_sketches = bytes >= self.tuning.sketches_used_from && self.kernel.has_fast_sketches();
        let mut proposals = Vec::new();
        for (segment, selected) in selected.iter().enumerate().filter(|(_, selected)| selected.rows > 0) {
            let proposal = if use_sketches { self.proposal(segment, selected) } else { None };
            match proposal {
                Some(proposal) => proposals.push(proposal),
                None => self.scan(segment, selected.row_runs(&self.segments[segment]).flatten(), &mut best),
            }
        }
        if !proposals.is_empty() {
            let rows: usize = proposals.iter().map(|proposal| proposal.rows).sum();
            let count = self.tuning.least_candidates.max(rows / self.tuning.candidate_share).max(4 * wanted);
            let mut candidates = Candidates::new(count, self.sample(&proposals, rows, count));
            proposals.iter().for_each(|proposal| self.propose(proposal, &mut candidates));
            self.score_candidates(candidates.finish(), &mut best);
        }
        best.finish()
    }

    /// Scores rows by their codes.
    fn scan(&self, segment: usize, rows: impl Iterator<Item = usize>, best: &mut Best) {
        let mut chunk = [0u32; CHUNK];
        let mut filled = 0;
        for row in rows {
            chunk[filled] = row as u32;
            filled += 1;
            if filled == CHUNK {
                self.score(segment, &chunk, best);
                filled = 0;
            }
        }
        self.score(segment, &chunk[..filled], best);
    }

    fn score(&self, segment: usize, rows: &[u32], best: &mut Best) {
        let mut scores = [0.0; CHUNK];
        let scores = &mut scores[..rows.len()];
        self.scores(segment, rows, scores);
        for (row, score) in rows.iter().zip(scores) {
            if *score >= best.threshold {
                self.suggest(segment, *row as usize, *score, best);
            }
        }
    }

    /// Computes the cosines of at most [`CHUNK`] rows, by their codes; a row without direction gets the
    /// lowest score.
    fn scores(&self, segment: usize, rows: &[u32], scores: &mut [f32]) {
        let columns = &self.segments[segment];
        let mut products = [0i32; CHUNK];
        let products = &mut products[..rows.len()];
        self.kernel.dots(&self.query.codes, columns.codes, rows, products);
        for ((row, product), score) in rows.iter().zip(products).zip(scores) {
            let scale = columns.scales[*row as usize];
            *score = if scale > 0.0 { *product as f32 * self.query.scale * scale } else { f32::NEG_INFINITY };
        }
    }

    fn suggest(&self, segment: usize, row: usize, score: f32, best: &mut Best) {
        let columns = &self.segments[segment];
        let score = score - self.discount(segment, row);
        if score >= best.threshold {
            best.push(Found { score, turn: columns.turns[columns.owners[row] as usize], segment, row });
        }
    }

    /// Returns the data for a search by sketches in a segment, if it has sketches and they are worth it.
    fn proposal(&self, segment: usize, selected: &Selected) -> Option<Proposal<'s>> {
        let (mean, blocks) = self.state.members[segment].segment.sketches()?;
        let allowed = selected.row_bits(&self.segments[segment]);
        let is_worth_it = allowed.as_ref().is_none_or(|allowed| selected.rows * ROW_COST >= allowed.half_words() * BLOCK_ROWS);
        is_worth_it.then_some(Proposal { segment, rows: selected.rows, allowed, mean, blocks })
    }

    /// Returns an estimate that about twice as many rows reach as are wanted, from evenly spread blocks.
    fn sample(&self, proposals: &[Proposal<'s>], rows: usize, wanted: usize) -> f32 {
        let blocks: usize = proposals.iter().map(|proposal| proposal.allowed_blocks().count()).sum();
        let step = blocks / SAMPLED_BLOCKS;
        if step < 4 {
            return f32::MIN;
        }
        let mut sampled = Vec::with_capacity(blocks / step * BLOCK_ROWS + BLOCK_ROWS);
        for proposal in proposals {
            let tables = SketchQuery::new(&self.query, proposal.mean);
            let mut estimates = [0.0; BLOCK_ROWS];
            for (at, mask) in proposal.allowed_blocks().step_by(step) {
                self.kernel.estimate(&tables, proposal.block(at), f32::MAX, &mut estimates);
                sampled.extend((0..BLOCK_ROWS).filter(|place| mask >> place & 1 == 1).map(|place| estimates[place]));
            }
        }
        let rank = sampled.len() * wanted / rows * 2;
        if rank == 0 || rank >= sampled.len() {
            return f32::MIN;
        }
        *sampled.select_nth_unstable_by(rank, |a, b| b.total_cmp(a)).1
    }

    /// Collects the rows with the best estimates by their sketches.
    fn propose(&self, proposal: &Proposal<'s>, candidates: &mut Candidates) {
        let tables = SketchQuery::new(&self.query, proposal.mean);
        let mut estimates = [0.0; BLOCK_ROWS];
        for (at, mask) in proposal.allowed_blocks() {
            let mut reached = mask & self.kernel.estimate(&tables, proposal.block(at), candidates.threshold, &mut estimates);
            while reached != 0 {
                let place = reached.trailing_zeros() as usize;
                reached &= reached - 1;
                let row = (at * BLOCK_ROWS + place) as u32;
                candidates.push(Candidate { estimate: estimates[place], segment: proposal.segment as u32, row });
            }
        }
    }

    /// Scores candidates by their codes: first the best, which show the error of the estimates and the score
    /// to reach, then those that may still reach it.
    fn score_candidates(&self, mut candidates: Vec<Candidate>, best: &mut Best) {
        let first_count = FIRST_SCORED.max(4 * best.wanted);
        if candidates.len() > 2 * first_count {
            let least = nth_estimate(&candidates, first_count);
            let (mut square, mut count) = (0.0f32, 0.0f32);
            let mut scores = [0.0; CHUNK];
            let first: Vec<Candidate> = candidates.iter().filter(|candidate| candidate.estimate >= least).copied().collect();
            for of_segment in first.chunk_by(|a, b| a.segment == b.segment) {
                let segment = of_segment[0].segment as usize;
                for chunk in of_segment.chunks(CHUNK) {
                    let rows: Vec<u32> = chunk.iter().map(|candidate| candidate.row).collect();
                    let scores = &mut scores[..rows.len()];
                    self.scores(segment, &rows, scores);
                    for (candidate, score) in chunk.iter().zip(scores).filter(|(_, score)| score.is_finite()) {
                        square += (candidate.estimate - *score).powi(2);
                        count += 1.0;
                        self.suggest(segment, candidate.row as usize, *score, best);
                    }
                }
            }
            best.settle();
            let reach = best.threshold - SPREADS * (square / count.max(1.0)).sqrt();
            candidates.retain(|candidate| candidate.estimate < least && candidate.estimate >= reach);
        }
        for of_segment in candidates.chunk_by(|a, b| a.segment == b.segment) {
            self.scan(of_segment[0].segment as usize, of_segment.iter().map(|candidate| candidate.row as usize), best);
        }
    }

    fn vector_id(&self, found: &Found) -> i64 {
        self.segments[found.segment].vector_ids[found.row]
    }

    fn hit(&self, found: &Found) -> VectorHit {
        let columns = &self.segments[found.segment];
        let turn = columns.owners[found.row] as usize;
        VectorHit {
            turn: found.turn,
            ordinal: columns.ordinals[found.row],
            vector_id: columns.vector_ids[found.row],
            score: found.score,
            metadata: TurnMetadata {
                project: columns.projects[turn],
                branch: columns.branches[turn],
                role: columns.roles[turn],
                episode: columns.episodes[turn],
                at: columns.times[turn],
                position: columns.positions[turn],
                is_document: columns.documents[turn] == 1,
            },
        }
    }
}

fn keep_first_of_each_turn(rows: &mut Vec<Found>, limit: usize) {
    let mut seen = std::collections::HashSet::with_capacity(rows.len());
    rows.retain(|found| seen.insert(found.turn));
    rows.truncate(limit);
}

/// The best rows of the best turns. Rows are collected until there are many, and then reduced, which costs
/// little per row and needs no look-up of turns for each.
struct Best {
    wanted: usize,
    /// The least score that can still matter.
    threshold: f32,
    rows: Vec<Found>,
    /// Number of rows that are reduced: twice what the last time left, which is more than is wanted where turns have many rows.
    many: usize,
}

impl Best {
    fn new(wanted: usize) -> Self {
        Self { wanted, threshold: f32::MIN, rows: Vec::new(), many: wanted.saturating_mul(2).saturating_add(64) }
    }

    fn push(&mut self, found: Found) {
        self.rows.push(found);
        if self.rows.len() >= self.many {
            self.settle();
            self.many = self.rows.len().max(self.wanted).saturating_mul(2).saturating_add(64);
        }
    }

    /// Keeps the best turns, and of each the best rows that are not below the last turn's.
    fn settle(&mut self) {
        self.rows.sort_unstable_by(Found::order);
        let mut turns: HashMap<i64, u8> = HashMap::with_capacity(self.wanted.min(self.rows.len()));
        let mut kept = 0;
        for at in 0..self.rows.len() {
            let found = self.rows[at];
            let count = turns.entry(found.turn).or_insert(0);
            if *count < ROWS_A_TURN {
                *count += 1;
                self.rows[kept] = found;
                kept += 1;
            }
            if turns.len() == self.wanted {
                self.threshold = found.score;
                break;
            }
        }
        self.rows.truncate(kept);
    }

    fn finish(mut self) -> Vec<Found> {
        self.settle();
        self.rows
    }
}

/// The sketches of one segment, with the rows that are allowed.
struct Proposal<'s> {
    segment: usize,
    /// Number of allowed rows.
    rows: usize,
    /// The allowed rows; `None` for all.
    allowed: Option<Bits>,
    mean: &'s [f32],
    blocks: &'s [u8],
}

impl<'s> Proposal<'s> {
    fn block(&self, at: usize) -> &'s [u8] {
        let bytes = block_bytes(self.mean.len());
        &self.blocks[at * bytes..][..bytes]
    }

    /// Returns the blocks with allowed rows, and these rows as bits.
    fn allowed_blocks(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let count = self.blocks.len() / block_bytes(self.mean.len());
        (0..count).filter_map(move |at| {
            let mask = match &self.allowed {
                Some(allowed) => allowed.half_word(at),
                None => u32::MAX >> BLOCK_ROWS.saturating_sub(self.rows - at * BLOCK_ROWS),
            };
            (mask != 0).then_some((at, mask))
        })
    }
}

/// A row proposed by its sketch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    estimate: f32,
    segment: u32,
    row: u32,
}

/// The most promising rows, in the order in which they were read.
struct Candidates {
    wanted: usize,
    threshold: f32,
    rows: Vec<Candidate>,
}

impl Candidates {
    /// Makes a collection for the best `wanted` rows that reach `threshold`.
    fn new(wanted: usize, threshold: f32) -> Self {
        Self { wanted, threshold, rows: Vec::new() }
    }

    fn push(&mut self, candidate: Candidate) {
        self.rows.push(candidate);
        if self.rows.len() >= self.wanted.saturating_mul(3) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        if self.rows.len() <= self.wanted {
            return;
        }
        self.threshold = nth_estimate(&self.rows, self.wanted);
        self.rows.retain(|candidate| candidate.estimate >= self.threshold);
        // Only rows with equal estimates can be too many.
        self.rows.truncate(self.wanted + self.wanted / 2);
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.settle();
        self.rows
    }
}

/// Returns the estimate that `count` candidates reach; there must be at least as many.
fn nth_estimate(candidates: &[Candidate], count: usize) -> f32 {
    let mut estimates: Vec<f32> = candidates.iter().map(|candidate| candidate.estimate).collect();
    *estimates.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a)).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(score: f32, turn: i64, row: usize) -> Found {
        Found { score, turn, segment: 0, row }
    }

    #[test]
    fn best_turns_are_kept_with_their_best_rows() {
        for wanted in [1, 3, 50] {
            let mut best = Best::new(wanted);
            let mut all = Vec::new();
            for row in 0..3000usize {
                let found = found((row * 7919 % 1009) as f32, (row * 31 % 200) as i64, row);
                all.push(found);
                if found.score >= best.threshold {
                    best.push(found);
                }
            }
            let mut rows = best.finish();
            keep_first_of_each_turn(&mut rows, wanted);
            all.sort_by(Found::order);
            keep_first_of_each_turn(&mut all, wanted);
            assert_eq!(
                rows.iter().map(|found| found.row).collect::<Vec<_>>(),
                all.iter().map(|found| found.row).collect::<Vec<_>>()
            );
            assert_eq!(rows.len(), wanted);
        }
    }

    #[test]
    fn turn_with_many_parts_does_not_push_out_others() {
        let mut best = Best::new(3);
        for row in 0..5000 {
            best.push(found(0.9, 1, row));
        }
        best.push(found(0.5, 2, 5000));
        best.push(found(0.4, 3, 5001));
        let rows = best.finish();
        assert_eq!(rows.iter().map(|found| found.turn).collect::<Vec<_>>(), [vec![1; 8], vec![2, 3]].concat());
    }

    #[test]
    fn most_promising_rows_stay_in_order() {
        let mut candidates = Candidates::new(100, f32::MIN);
        for row in 0..10_000u32 {
            let estimate = (row * 7919 % 10_007) as f32;
            if estimate >= candidates.threshold {
                candidates.push(Candidate { estimate, segment: row / 6000, row });
            }
        }
        let rows = candidates.finish();
        assert_eq!(rows.len(), 100);
        assert!(rows.windows(2).all(|pair| pair[0].row < pair[1].row));
        let least = rows.iter().map(|candidate| candidate.estimate).fold(f32::MAX, f32::min);
        assert_eq!((0..10_000u32).filter(|row| (row * 7919 % 10_007) as f32 >= least).count(), 100);
    }

    #[test]
    fn equal_estimates_do_not_pile_up() {
        let mut candidates = Candidates::new(100, f32::MIN);
        for row in 0..10_000 {
            candidates.push(Candidate { estimate: 0.5, segment: 0, row });
        }
        assert!(candidates.finish().len() <= 150);
    }
}
