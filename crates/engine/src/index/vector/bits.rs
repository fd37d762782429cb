//! A bit set of row numbers.

use std::ops::Range;

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    bound: usize,
}

impl Bits {
    /// Makes the empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)], bound }
    }

    /// Makes the set of all numbers below `bound`.
    pub(super) fn full(bound: usize) -> Self {
        let mut bits = Self { words: vec![u64::MAX; bound.div_ceil(64)], bound };
        if let (Some(last), 1..) = (bits.words.last_mut(), bound % 64) {
            *last = (1 << (bound % 64)) - 1;
        }
        bits
    }

    /// Returns whether a number is in the set.
    pub(super) fn has(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number, and returns whether it was missing.
    pub(super) fn set(&mut self, number: usize) -> bool {
        let is_new = !self.has(number);
        self.words[number / 64] |= 1 << (number % 64);
        is_new
    }

    /// Adds a range of numbers.
    pub(super) fn set_range(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let until = (at / 64 * 64 + 64).min(range.end);
            let width = until - at;
            let ones = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            self.words[at / 64] |= ones << (at % 64);
            at = until;
        }
    }

    /// Removes the numbers of another set with the same bound.
    pub(super) fn remove(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    /// Keeps the numbers that pass.
    pub(super) fn retain(&mut self, mut passes: impl FnMut(usize) -> bool) {
        for (at, word) in self.words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let first = at * 64;
            let mask =
                (first..self.bound.min(first + 64)).fold(0, |mask, number| mask | u64::from(passes(number)) << (number % 64));
            *word &= mask;
        }
    }

    /// Returns 32 numbers as bits, from a multiple of 32.
    pub(super) fn half_word(&self, at: usize) -> u32 {
        self.words.get(at / 2).map_or(0, |word| (word >> (at % 2 * 32)) as u32)
    }

    /// Returns the number of groups of 32 numbers that are not empty.
    pub(super) fn half_words(&self) -> usize {
        self.words.iter().map(|word| usize::from(*word as u32 != 0) + usize::from(word >> 32 != 0)).sum()
    }

    /// Returns the runs of consecutive numbers, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next_that(at, false)?;
            at = self.next_that(start, true).unwrap_or(self.bound);
            Some(start..at)
        })
    }

    /// Returns the next number from here that is in the set, or that is not if `inverted`.
    fn next_that(&self, from: usize, inverted: bool) -> Option<usize> {
        let flip = if inverted { u64::MAX } else { 0 };
        let mut at = from / 64;
        let mut word = (self.words.get(at)? ^ flip) & (u64::MAX << (from % 64));
        while word == 0 {
            at += 1;
            word = self.words.get(at)? ^ flip;
        }
        let found = at * 64 + word.trailing_zeros() as usize;
        (found < self.bound).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bits_are_a_set(bound in 1usize..300, numbers in prop::collection::vec(0usize..300, 0..200), range in (0usize..300, 0usize..300)) {
            let mut bits = Bits::new(bound);
            let mut expected = BTreeSet::new();
            for number in numbers.into_iter().filter(|number| *number < bound) {
                prop_assert_eq!(bits.set(number), expected.insert(number));
            }
            let range = range.0.min(bound)..range.1.min(bound);
            bits.set_range(range.clone());
            expected.extend(range);
            let members = |bits: &Bits| -> Vec<usize> { bits.runs().flatten().collect() };
            prop_assert_eq!(members(&bits), expected.iter().copied().collect::<Vec<_>>());
            for (run, next) in bits.runs().zip(bits.runs().skip(1)) {
                prop_assert!(run.end < next.start && !run.is_empty());
            }
            for number in 0..bound + 70 {
                prop_assert_eq!(bits.has(number), expected.contains(&number));
                prop_assert_eq!(bits.half_word(number / 32) >> (number % 32) & 1 == 1, expected.contains(&number));
            }
            let half_words: BTreeSet<usize> = expected.iter().map(|number| number / 32).collect();
            prop_assert_eq!(bits.half_words(), half_words.len());
            let mut others = Bits::full(bound);
            prop_assert_eq!(members(&others), (0..bound).collect::<Vec<_>>());
            others.remove(&bits);
            others.retain(|number| number % 3 != 0);
            prop_assert_eq!(members(&others), (0..bound).filter(|number| !expected.contains(number) && number % 3 != 0).collect::<Vec<_>>());
        }
    }
}
