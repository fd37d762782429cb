//! Measured parameters of the vector index, such as when to merge and when to sketch.

/// Parameters chosen by measuring; other values are for tests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    /// Weight below which segments are merged with any later one.
    pub(super) merge_floor: u64,
    /// Rows from which a segment gets sketches.
    pub(super) sketched_from: usize,
    /// Bytes of codes from which a search uses sketches.
    pub(super) sketches_used_from: usize,
    /// The least number of rows that sketches propose.
    pub(super) least_candidates: usize,
    /// The share of all rows that sketches propose, one in this many.
    pub(super) candidate_share: usize,
}

impl Tuning {
    /// Measured on 45,811 chunks of real texts with 742 questions: the best 1,000 estimates contain every one
    /// of the ten true neighbours by the vectors of bge-small; with those of the static table they miss one
    /// in 2,500, and the best 2,000 one in 10,000. While the codes stay in the processor's cache, sketches
    /// would save no time.
    pub(super) const DEFAULT: Self = Self {
        merge_floor: 256,
        sketched_from: 16_384,
        sketches_used_from: 12 << 20,
        least_candidates: 2_000,
        candidate_share: 50,
    };
}
