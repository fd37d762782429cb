//! Copies of bytes that pass, within a budget that all of them share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Largest total of the copies that are kept at one time, in bytes.
const LARGEST_TOTAL: usize = 256 << 20;
/// Steps in which a copy takes from the budget, so that the counter they share is touched rarely.
const STEP: usize = 16 << 10;

/// The bytes that all copies take together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// Returns a share of the budget that holds nothing yet.
    pub fn share(&self) -> Share {
        Share { budget: self.clone(), taken: 0 }
    }

    #[cfg(test)]
    fn taken(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// A part of the budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    taken: usize,
}

impl Share {
    /// Makes the share large enough for `length` bytes; `false` if the budget is spent.
    pub fn cover(&mut self, length: usize) -> bool {
        let Some(lacking) = length.checked_sub(self.taken).filter(|lacking| *lacking > 0) else { return true };
        let step = lacking.max(STEP);
        if self.budget.0.fetch_add(step, Relaxed).saturating_add(step) > LARGEST_TOTAL {
            self.budget.0.fetch_sub(step, Relaxed);
            return false;
        }
        self.taken += step;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.taken, Relaxed);
    }
}

/// A copy of a body.
#[derive(Debug)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    longest: usize,
    share: Share,
    is_over: bool,
    /// True if the body came to its end.
    pub is_whole: bool,
}

impl Kept {
    /// Returns an empty copy that takes at most `longest` bytes.
    pub fn new(budget: &Budget, longest: usize) -> Self {
        Self { bytes: Vec::new(), longest, share: budget.share(), is_over: false, is_whole: false }
    }

    /// Copies bytes, or gives the copy up if they are too many.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        let length = self.bytes.len() + bytes.len();
        if length > self.longest || !self.share.cover(length) {
            self.is_over = true;
            self.bytes = Vec::new();
            self.share = self.share.budget.share();
            return;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the bytes; `None` if they were too many.
    pub fn bytes(&self) -> Option<&[u8]> {
        (!self.is_over).then_some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_too_long_is_given_up_and_its_budget_given_back() {
        let budget = Budget::default();
        let mut kept = Kept::new(&budget, 5);
        kept.push(b"hel");
        kept.push(b"lo");
        assert_eq!(kept.bytes(), Some(&b"hello"[..]));
        assert_eq!(budget.taken(), STEP);
        kept.push(b"!");
        kept.push(b"");
        assert_eq!((kept.bytes(), budget.taken()), (None, 0));
    }

    #[test]
    fn copies_share_one_budget() {
        let budget = Budget::default();
        let mut all = budget.share();
        assert!(all.cover(LARGEST_TOTAL) && all.cover(1));
        let mut kept = Kept::new(&budget, 5);
        kept.push(b"x");
        assert_eq!(kept.bytes(), None);
        drop(all);
        let mut kept = Kept::new(&budget, 5);
        kept.push(b"x");
        assert_eq!(kept.bytes(), Some(&b"x"[..]));
        drop(kept);
        assert_eq!(budget.taken(), 0);
    }
}
