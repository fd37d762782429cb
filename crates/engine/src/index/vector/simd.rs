//! The inner loops of a vector search for AVX2, NEON and any processor (`unsafe`). The portable versions define the result: the
//! others return the same numbers, bit by bit.
//!
//! - [`Kernel::dots`]: inner products of a query with rows of codes
//! - [`Kernel::estimate`]: estimated inner products from a block of 32 sketches (`sketch` explains the bytes)

#![allow(unsafe_code, reason = "vector instructions, which work on pointers; some processors have none here")]

use super::sketch::{BLOCK_ROWS, FACTOR_BYTES, SketchQuery};

/// Bytes of a block for four dimensions.
const GROUP_BYTES: usize = 16;

/// The instructions that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernel(Kind);

/// Only [`Kernel::detect`] makes a kind, so that a kind proves that the instructions exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Kernel {
    /// Returns the fastest kernel for this processor.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Self(Kind::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self(Kind::Neon);
        }
        Self(Kind::Portable)
    }

    /// Returns the kernel in plain Rust.
    #[cfg(test)]
    pub(super) fn portable() -> Self {
        Self(Kind::Portable)
    }

    /// Returns whether reading a sketch is cheaper than reading the codes; without byte shuffles it is not.
    pub(super) fn has_fast_sketches(self) -> bool {
        self.0 != Kind::Portable
    }

    /// Computes the inner product of the query with each of the rows. `codes` holds rows as long as the
    /// query, whose length is a multiple of 16.
    ///
    /// # Panics
    ///
    /// When a row is not in `codes`, or the lengths do not fit.
    pub(super) fn dots(self, query: &[i16], codes: &[i8], rows: &[u32], out: &mut [i32]) {
        assert!(query.len().is_multiple_of(16) && !query.is_empty() && out.len() == rows.len());
        let count = codes.len() / query.len();
        assert!(rows.iter().all(|row| (*row as usize) < count));
        match self.0 {
            Kind::Portable => dots_portable(query, codes, rows, out),
            // SAFETY: `detect` saw AVX2; every row is inside `codes`, `out` is as long as `rows`.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => unsafe { x86::dots(query, codes, rows, out) },
            // SAFETY: `detect` saw NEON; every row is inside `codes`, `out` is as long as `rows`.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => unsafe { neon::dots(query, codes, rows, out) },
        }
    }

    /// Computes the estimated inner product for each of a block's 32 rows, and returns a bit for each
    /// estimate that reaches the threshold.
    ///
    /// # Panics
    ///
    /// When block and query do not have the same number of dimensions.
    ///
    /// With table entries above `LARGEST_ENTRY` the versions need not agree.
    pub(super) fn estimate(self, query: &SketchQuery, block: &[u8], threshold: f32, out: &mut [f32; BLOCK_ROWS]) -> u32 {
        assert!(block.len() == FACTOR_BYTES + query.tables.len() && query.tables.len().is_multiple_of(2 * GROUP_BYTES));
        match self.0 {
            Kind::Portable => {}
            // SAFETY: `detect` saw AVX2; the block holds the factors and as many groups as there
            // are tables, an even number.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => return unsafe { x86::estimate(query, block, threshold, out) },
            // SAFETY: `detect` saw NEON; the block holds the factors and as many groups as there
            // are tables.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => {
                let mut sums = [0u16; BLOCK_ROWS];
                unsafe { neon::sums(&query.tables, &block[FACTOR_BYTES..], &mut sums) };
                return finish(query, block, &sums, threshold, out);
            }
        }
        finish(query, block, &sums_portable(&query.tables, &block[FACTOR_BYTES..]), threshold, out)
    }
}

fn dots_portable(query: &[i16], codes: &[i8], rows: &[u32], out: &mut [i32]) {
    for (row, out) in rows.iter().zip(out) {
        let row = &codes[*row as usize * query.len()..][..query.len()];
        *out = row.iter().zip(query).map(|(code, query)| i32::from(*code) * i32::from(*query)).sum();
    }
}

fn sums_portable(tables: &[u8], groups: &[u8]) -> [u16; BLOCK_ROWS] {
    let mut sums = [0u16; BLOCK_ROWS];
    let (low, high) = sums.split_at_mut(GROUP_BYTES);
    for (table, group) in tables.chunks_exact(GROUP_BYTES).zip(groups.chunks_exact(GROUP_BYTES)) {
        for ((byte, low), high) in group.iter().zip(&mut *low).zip(&mut *high) {
            *low += u16::from(table[usize::from(byte & 15)]);
            *high += u16::from(table[usize::from(byte >> 4)]);
        }
    }
    sums
}

/// Converts sums of table entries to estimates. Compilers must not fuse these additions and multiplications,
/// and do not: the versions have to agree.
fn finish(query: &SketchQuery, block: &[u8], sums: &[u16; BLOCK_ROWS], threshold: f32, out: &mut [f32; BLOCK_ROWS]) -> u32 {
    let mut reached = 0;
    for (at, (factors, sum)) in block[..FACTOR_BYTES].chunks_exact(4).zip(sums).enumerate() {
        let factors = factors.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        let (slope, offset) = (f32::from_bits(factors & 0xFFFF_0000), f32::from_bits(factors << 16));
        let estimate = slope * (f32::from(*sum) * query.step + query.base) + (offset + query.offset);
        out[at] = estimate;
        reached |= u32::from(estimate >= threshold) << at;
    }
    reached
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::sketch::LARGEST_ENTRY;
    use super::{BLOCK_ROWS, FACTOR_BYTES, GROUP_BYTES, SketchQuery};

    /// Rows that are multiplied side by side.
    const ABREAST: usize = 4;
    /// Rows that are prefetched: few rows are read, from anywhere in a large file.
    const AHEAD: usize = 8;
    /// Table entries that are added up before they need more than 8 bits.
    const SUMS_IN_A_BYTE: usize = 4;
    const _: () = assert!(SUMS_IN_A_BYTE * (LARGEST_ENTRY as usize) <= u8::MAX as usize);
    /// Bytes of a line of the cache.
    const LINE: usize = 64;

    /// # Safety
    ///
    /// AVX2; the query's length a multiple of 16; every row inside `codes`; `out` as long as `rows`.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn dots(query: &[i16], codes: &[i8], rows: &[u32], out: &mut [i32]) {
        let stride = query.len();
        for (at, (group, out)) in rows.chunks(ABREAST).zip(out.chunks_mut(ABREAST)).enumerate() {
            for row in rows.iter().skip(at * ABREAST + AHEAD).take(ABREAST) {
                for line in (0..stride).step_by(LINE) {
                    // A pointer into the slice, and only a hint.
                    _mm_prefetch::<_MM_HINT_T0>(codes.as_ptr().wrapping_add(*row as usize * stride + line));
                }
            }
            // With fewer than four rows at the end, the last one is repeated.
            let start = |at: usize| codes.as_ptr().wrapping_add(group[at.min(group.len() - 1)] as usize * stride);
            let starts = [start(0), start(1), start(2), start(3)];
            let mut sums = [_mm256_setzero_si256(); ABREAST];
            for lane in (0..stride).step_by(16) {
                // SAFETY: `lane + 16 <= stride`, the length of the query and of each row.
                let wide = unsafe { _mm256_loadu_si256(query.as_ptr().add(lane).cast()) };
                for (sum, start) in sums.iter_mut().zip(starts) {
                    let row = unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(start.add(lane).cast())) };
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(row, wide));
                }
            }
            let pairs = [_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3])];
            let halves = _mm256_hadd_epi32(pairs[0], pairs[1]);
            let total = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
            let mut four = [0i32; ABREAST];
            // SAFETY: four numbers of 32 bits.
            unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), total) };
            out.copy_from_slice(&four[..out.len()]);
        }
    }

    /// # Safety
    ///
    /// AVX2; the block holds the factors and as many groups as there are tables, an even number.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn estimate(query: &SketchQuery, block: &[u8], threshold: f32, out: &mut [f32; BLOCK_ROWS]) -> u32 {
        let (tables, groups) = (query.tables.as_ptr(), block[FACTOR_BYTES..].as_ptr());
        let nibble = _mm256_set1_epi8(15);
        // Each sum holds two groups: the even one in the lower lane, the odd one in the upper. Four table
        // entries fit into a byte. `both` adds pairs of bytes as one number of 16 bits, `odd` the upper byte
        // of each pair; the excess in `both` is subtracted at the end.
        let zero = _mm256_setzero_si256();
        let (mut low_both, mut low_odd, mut high_both, mut high_odd) = (zero, zero, zero, zero);
        let bytes = query.tables.len();
        for round in (0..bytes).step_by(SUMS_IN_A_BYTE * 2 * GROUP_BYTES) {
            let (mut low, mut high) = (zero, zero);
            for at in (round..bytes.min(round + SUMS_IN_A_BYTE * 2 * GROUP_BYTES)).step_by(2 * GROUP_BYTES) {
                // SAFETY: two groups of 16 bytes are left in both.
                let table = unsafe { _mm256_loadu_si256(tables.add(at).cast()) };
                // SAFETY: as above.
                let codes = unsafe { _mm256_loadu_si256(groups.add(at).cast()) };
                low = _mm256_add_epi8(low, _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble)));
                let codes = _mm256_srli_epi16::<4>(codes);
                high = _mm256_add_epi8(high, _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble)));
            }
            low_both = _mm256_add_epi16(low_both, low);
            low_odd = _mm256_add_epi16(low_odd, _mm256_srli_epi16::<8>(low));
            high_both = _mm256_add_epi16(high_both, high);
            high_odd = _mm256_add_epi16(high_odd, _mm256_srli_epi16::<8>(high));
        }
        let mut reached = 0;
        for (half, (both, odd)) in [(low_both, low_odd), (high_both, high_odd)].into_iter().enumerate() {
            let even = _mm256_sub_epi16(both, _mm256_slli_epi16::<8>(odd));
            let even = _mm_add_epi16(_mm256_castsi256_si128(even), _mm256_extracti128_si256::<1>(even));
            let odd = _mm_add_epi16(_mm256_castsi256_si128(odd), _mm256_extracti128_si256::<1>(odd));
            for (quarter, sums) in [_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd)].into_iter().enumerate() {
                let first = half * 16 + quarter * 8;
                // SAFETY: eight factors of four bytes, from one of 0, 8, 16 and 24.
                let factors = unsafe { _mm256_loadu_si256(block.as_ptr().add(first * 4).cast()) };
                let slope = _mm256_castsi256_ps(_mm256_and_si256(factors, _mm256_set1_epi32(0xFFFF_0000_u32 as i32)));
                let offset = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(factors));
                let sums = _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(sums));
                let inner = _mm256_add_ps(_mm256_mul_ps(sums, _mm256_set1_ps(query.step)), _mm256_set1_ps(query.base));
                let outer = _mm256_add_ps(offset, _mm256_set1_ps(query.offset));
                let estimates = _mm256_add_ps(_mm256_mul_ps(slope, inner), outer);
                // SAFETY: eight numbers, from one of 0, 8, 16 and 24.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr().add(first), estimates) };
                let mask = _mm256_cmp_ps::<_CMP_GE_OQ>(estimates, _mm256_set1_ps(threshold));
                reached |= (_mm256_movemask_ps(mask) as u32) << first;
            }
        }
        reached
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{BLOCK_ROWS, GROUP_BYTES};

    /// # Safety
    ///
    /// NEON; the query's length a multiple of 16; every row inside `codes`; `out` as long as `rows`.
    pub(super) unsafe fn dots(query: &[i16], codes: &[i8], rows: &[u32], out: &mut [i32]) {
        let stride = query.len();
        for (row, out) in rows.iter().zip(out) {
            // SAFETY: `lane + 16 <= stride`, the length of the query and of the row.
            *out = unsafe {
                let row = codes.as_ptr().add(*row as usize * stride);
                let (mut even, mut odd) = (vdupq_n_s32(0), vdupq_n_s32(0));
                for lane in (0..stride).step_by(16) {
                    let row = vld1q_s8(row.add(lane));
                    let (low, high) = (vmovl_s8(vget_low_s8(row)), vmovl_high_s8(row));
                    let (first, second) = (vld1q_s16(query.as_ptr().add(lane)), vld1q_s16(query.as_ptr().add(lane + 8)));
                    even = vmlal_s16(even, vget_low_s16(low), vget_low_s16(first));
                    odd = vmlal_high_s16(odd, low, first);
                    even = vmlal_s16(even, vget_low_s16(high), vget_low_s16(second));
                    odd = vmlal_high_s16(odd, high, second);
                }
                vaddvq_s32(vaddq_s32(even, odd))
            };
        }
    }

    /// # Safety
    ///
    /// NEON; as many groups as tables.
    pub(super) unsafe fn sums(tables: &[u8], groups: &[u8], out: &mut [u16; BLOCK_ROWS]) {
        // SAFETY: each step reads 16 bytes of both, of which that many are left; the output holds
        // four times eight numbers.
        unsafe {
            let nibble = vdupq_n_u8(15);
            let mut sums = [vdupq_n_u16(0); 4];
            for at in (0..tables.len()).step_by(GROUP_BYTES) {
                let (table, codes) = (vld1q_u8(tables.as_ptr().add(at)), vld1q_u8(groups.as_ptr().add(at)));
                let low = vqtbl1q_u8(table, vandq_u8(codes, nibble));
                let high = vqtbl1q_u8(table, vshrq_n_u8::<4>(codes));
                sums[0] = vaddw_u8(sums[0], vget_low_u8(low));
                sums[1] = vaddw_high_u8(sums[1], low);
                sums[2] = vaddw_u8(sums[2], vget_low_u8(high));
                sums[3] = vaddw_high_u8(sums[3], high);
            }
            for (at, sum) in sums.into_iter().enumerate() {
                vst1q_u16(out.as_mut_ptr().add(at * 8), sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sketch::LARGEST_ENTRY;
    use super::*;

    fn code() -> impl Strategy<Value = i8> {
        prop_oneof![4 => -127i8..=127, 1 => Just(127i8), 1 => Just(-127i8)]
    }

    proptest! {
        #[test]
        fn inner_products_are_the_same_in_every_version(
            groups in 1usize..40,
            codes in prop::collection::vec(code(), 300..900),
            query in prop::collection::vec(code(), 40 * 16),
            rows in prop::collection::vec(0u32..9, 0..30),
        ) {
            let stride = groups * 16;
            let query: Vec<i16> = query[..stride].iter().copied().map(i16::from).collect();
            // Repeated, out of step with the rows.
            let codes: Vec<i8> = codes.iter().copied().cycle().take(stride * 9).collect();
            let (mut expected, mut found) = (vec![0; rows.len()], vec![0; rows.len()]);
            Kernel::portable().dots(&query, &codes, &rows, &mut expected);
            Kernel::detect().dots(&query, &codes, &rows, &mut found);
            prop_assert_eq!(&expected, &found);
            for (row, found) in rows.iter().zip(found) {
                let row = &codes[*row as usize * stride..][..stride];
                let exact: i64 = row.iter().zip(&query).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
                prop_assert_eq!(i64::from(found), exact);
            }
        }

        #[test]
        fn estimates_are_the_same_in_every_version(
            pairs in 1usize..33,
            bytes in prop::collection::vec(any::<u8>(), 64 * 16),
            tables in prop::collection::vec(0..=LARGEST_ENTRY, 64 * 16),
            slopes in prop::collection::vec(-2.0f32..2.0, BLOCK_ROWS),
            step in 0.0f32..0.01,
            threshold in -3.0f32..3.0,
        ) {
            let length = pairs * 2 * GROUP_BYTES;
            let query = SketchQuery { tables: tables[..length].to_vec(), step, base: -7.5 * step, offset: 0.25 };
            let mut block: Vec<u8> = slopes.iter().flat_map(|slope| {
                (slope.to_bits() & 0xFFFF_0000 | (slope * 0.3).to_bits() >> 16).to_ne_bytes()
            }).collect();
            block.extend_from_slice(&bytes[..length]);
            let (mut expected, mut found) = ([0.0; BLOCK_ROWS], [0.0; BLOCK_ROWS]);
            let reached = Kernel::portable().estimate(&query, &block, threshold, &mut expected);
            prop_assert_eq!(Kernel::detect().estimate(&query, &block, threshold, &mut found), reached);
            prop_assert_eq!(expected.map(f32::to_bits), found.map(f32::to_bits));
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn row_outside_of_the_codes_is_not_read() {
        Kernel::detect().dots(&[1; 16], &[1; 47], &[2], &mut [0]);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn block_that_is_too_short_is_not_read() {
        let query = SketchQuery { tables: vec![0; 64], step: 1.0, base: 0.0, offset: 0.0 };
        Kernel::detect().estimate(&query, &[0; FACTOR_BYTES + 32], 0.0, &mut [0.0; BLOCK_ROWS]);
    }
}
