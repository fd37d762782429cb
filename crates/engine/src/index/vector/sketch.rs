//! Sketches of vectors, by which rows are preselected: one bit for each dimension (the side of the mean) and two factors. For a
//! row `x`, the mean `m`, `c = x - m` and the signs `s` of `c`, the best multiple of `s` for `c` is `f s` with `f = c.c / s.c`,
//! so for a query `q`
//!
//! ```text
//! q.x = q.m + m.c + (q - m).c,  about  q.m + m.c + f ((q - m).s)
//! ```
//!
//! (after RaBitQ, Gao and Long 2024, without the rotation). The query keeps all its digits; that finds about
//! as many of the true neighbours among 1 row in 100 as comparing signs with signs finds among 1 in 20, for
//! the same bytes. A sketch only proposes rows; their codes score them.
//!
//! Rows are stored in blocks of 32. A block is 32 pairs of factors (`f` in the upper and `m.c` in the lower
//! half of a number, each the upper half of an `f32`), then for every four dimensions 16 bytes: byte `i`
//! holds the four signs of row `i` in its lower half and those of row `i + 16` in its upper half. So one
//! shuffle of bytes looks up the part of the product that four dimensions contribute, for 16 rows at once
//! (after the fast scan of product quantisation, André, Kermarrec and Le Scouarnec 2015).

use super::quantise::{Query, dot};

/// Rows of a block.
pub(super) const BLOCK_ROWS: usize = 32;
/// Bytes of a block before the signs.
pub(super) const FACTOR_BYTES: usize = BLOCK_ROWS * 4;
/// Dimensions whose signs are looked up at once.
const GROUP: usize = 4;
/// Entries of a table, one for each combination of the signs of a group.
const ENTRIES: usize = 1 << GROUP;

/// Maximum value of a table entry: four fit into a byte, which saves a quarter of the work, and the rounding
/// error is small beside that of the signs.
pub(super) const LARGEST_ENTRY: u8 = 63;

/// Returns the bytes of a block whose rows have `stride` codes.
pub(super) fn block_bytes(stride: usize) -> usize {
    FACTOR_BYTES + stride / GROUP * ENTRIES
}

/// Makes blocks from rows.
pub(super) struct BlockBuilder<'m> {
    mean: &'m [f32],
    centred: Vec<f32>,
    block: Vec<u8>,
    filled: usize,
}

impl<'m> BlockBuilder<'m> {
    /// Makes a builder; the mean has as many numbers as a row has codes.
    pub(super) fn new(mean: &'m [f32]) -> Self {
        Self { mean, centred: vec![0.0; mean.len()], block: vec![0; block_bytes(mean.len())], filled: 0 }
    }

    /// Adds a row, and returns the block when it is full.
    pub(super) fn push(&mut self, codes: &[i8], scale: f32) -> Option<&[u8]> {
        if self.filled == BLOCK_ROWS {
            self.filled = 0;
            self.block.fill(0);
        }
        for ((centred, code), mean) in self.centred.iter_mut().zip(codes).zip(self.mean) {
            *centred = f32::from(*code) * scale - mean;
        }
        let square = dot(&self.centred, &self.centred);
        let absolute = sum_of_absolutes(&self.centred);
        let slope = if absolute > 0.0 { square / absolute } else { 0.0 };
        let factors = upper_half(slope) << 16 | upper_half(dot(self.mean, &self.centred));
        self.block[self.filled * 4..][..4].copy_from_slice(&factors.to_le_bytes());
        let (column, shift) = (self.filled % 16, self.filled / 16 * GROUP);
        let bytes = self.block[FACTOR_BYTES..].chunks_exact_mut(ENTRIES);
        for (bytes, group) in bytes.zip(self.centred.chunks_exact(GROUP)) {
            let signs = group.iter().rev().fold(0u8, |signs, value| signs << 1 | u8::from(*value > 0.0));
            bytes[column] |= signs << shift;
        }
        self.filled += 1;
        (self.filled == BLOCK_ROWS).then_some(&self.block)
    }

    /// Returns the last block, if it is not full.
    pub(super) fn finish(&self) -> Option<&[u8]> {
        (self.filled > 0 && self.filled < BLOCK_ROWS).then_some(&self.block)
    }
}

/// Sums absolute values in lanes, as vector instructions do.
fn sum_of_absolutes(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    let blocks = values.chunks_exact(8);
    let rest: f32 = blocks.remainder().iter().map(|value| value.abs()).sum();
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, value)| *lane += value.abs());
    }
    lanes.iter().sum::<f32>() + rest
}

/// Returns the upper half of a number's bits, rounded to the nearest.
fn upper_half(value: f32) -> u32 {
    let bits = value.to_bits();
    (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
}

/// A query as tables: the contribution of each of the 16 combinations of signs of four dimensions to the
/// product.
#[derive(Clone, Debug)]
pub(super) struct SketchQuery {
    /// 16 entries for each group, counted in steps from the group's least value.
    pub tables: Vec<u8>,
    /// Size of a step.
    pub step: f32,
    /// The least possible sum of all groups.
    pub base: f32,
    /// The part that all rows share: the product of query and mean.
    pub offset: f32,
}

impl SketchQuery {
    /// Makes the tables for sketches relative to this mean.
    pub(super) fn new(query: &Query, mean: &[f32]) -> Self {
        let centred: Vec<f32> = query.unit.iter().zip(mean).map(|(value, mean)| value - mean).collect();
        let spans: Vec<f32> = centred.chunks_exact(GROUP).map(|group| group.iter().map(|value| value.abs()).sum()).collect();
        let total: f32 = spans.iter().sum();
        let widest = spans.iter().fold(0.0f32, |widest, span| widest.max(*span));
        // The step is chosen so that a sum of entries fits into 16 bits, roundings included.
        let room = f32::from(u16::MAX) - spans.len() as f32;
        let step = (2.0 * widest / f32::from(LARGEST_ENTRY)).max(2.0 * total / room).max(f32::MIN_POSITIVE);
        let mut tables = Vec::with_capacity(spans.len() * ENTRIES);
        for (group, span) in centred.chunks_exact(GROUP).zip(&spans) {
            for signs in 0..ENTRIES {
                let signed = |(at, value): (usize, &f32)| if signs >> at & 1 == 1 { *value } else { -value };
                let product: f32 = group.iter().enumerate().map(signed).sum();
                tables.push(((product + span) / step + 0.5).min(f32::from(LARGEST_ENTRY)) as u8);
            }
        }
        Self { tables, step, base: -total, offset: dot(&query.unit, mean) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::quantise::{quantise, stride};
    use super::super::simd::Kernel;
    use super::*;

    proptest! {
        #[test]
        fn estimate_is_the_formula(
            dimensions in 1usize..400,
            seed in prop::collection::vec(-1.0f32..1.0, 400 * 3),
            row_count in 1usize..70,
        ) {
            let stride = stride(dimensions);
            let vector = |at: usize| -> Vec<f32> {
                (0..dimensions).map(|i| seed[(at * 131 + i * 7 + i * i * at) % seed.len()] + 0.2).collect()
            };
            let mut mean = vector(999);
            mean.resize(stride, 0.0);
            mean.iter_mut().for_each(|value| *value *= 0.02);
            let query = Query::new(&vector(500)).unwrap();
            let tables = SketchQuery::new(&query, &mean);
            let mut builder = BlockBuilder::new(&mean);
            let mut blocks: Vec<u8> = Vec::new();
            let mut expected = Vec::new();
            for at in 0..row_count {
                let mut codes = vec![0; stride];
                let scale = quantise(&vector(at), &mut codes);
                if let Some(block) = builder.push(&codes, scale) {
                    blocks.extend_from_slice(block);
                }
                let centred: Vec<f64> = codes.iter().zip(&mean).map(|(c, m)| f64::from(*c) * f64::from(scale) - f64::from(*m)).collect();
                let sum = |of: &dyn Fn(usize) -> f64| (0..stride).map(of).sum::<f64>();
                let (unit, mean) = (|i: usize| f64::from(query.unit[i]), |i: usize| f64::from(mean[i]));
                let slope = sum(&|i| centred[i] * centred[i]) / sum(&|i| centred[i].abs());
                let signs = sum(&|i| (unit(i) - mean(i)) * if centred[i] > 0.0 { 1.0 } else { -1.0 });
                expected.push(slope * signs + sum(&|i| mean(i) * centred[i]) + sum(&|i| unit(i) * mean(i)));
            }
            blocks.extend_from_slice(builder.finish().unwrap_or_default());
            prop_assert_eq!(blocks.len(), row_count.div_ceil(BLOCK_ROWS) * block_bytes(stride));
            let mut found = Vec::new();
            for block in blocks.chunks_exact(block_bytes(stride)) {
                let mut estimates = [0.0; BLOCK_ROWS];
                Kernel::detect().estimate(&tables, block, 0.0, &mut estimates);
                found.extend_from_slice(&estimates);
            }
            for (found, expected) in found.iter().zip(expected) {
                // A single dimension has the largest steps.
                prop_assert!((f64::from(*found) - expected).abs() < 0.05, "{} {}", found, expected);
            }
        }
    }

    #[test]
    fn query_at_the_mean_makes_no_table() {
        let query = Query::new(&[0.6, 0.8]).unwrap();
        let tables = SketchQuery::new(&query, &query.unit);
        assert!(tables.step > 0.0 && tables.tables.iter().all(|entry| *entry == 0));
    }

    #[test]
    fn halves_are_rounded() {
        let value = |half: u32| f32::from_bits(half << 16);
        assert_eq!(value(upper_half(0.0)), 0.0);
        assert_eq!(value(upper_half(-0.375)), -0.375);
        assert!((value(upper_half(0.123_456_7)) - 0.123_456_7).abs() < 0.0005);
    }
}
