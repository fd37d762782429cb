//! Weighs a memory among others that are as near to a question: by importance, confirmation, pinning and use.

use super::{Lane, Memory};

/// The most that each of the four signs changes the weight.
const SIGN: f32 = 0.03;

impl Memory {
    /// Returns the factor of its score: 1 for a memory of a person that has the usual importance and was not used. `uses`: how often
    /// somebody opened or cited it.
    pub fn weight(&self, uses: u64) -> f32 {
        let sign = |holds: bool| if holds { 1.0 } else { 0.0 };
        let importance = 2.0 * self.importance - 1.0;
        let used = 1.0 - 1.0 / (1.0 + uses as f32);
        1.0 + SIGN * (importance + sign(self.is_pinned) + used - sign(self.lane == Lane::Extracted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MemoryId;
    use crate::memory::MemoryKind;

    #[test]
    fn each_sign_raises_the_weight_and_all_of_them_stay_a_small_factor() {
        let usual = Memory::new(MemoryId::from_bytes([1; 16]), MemoryKind::Fact, "The gauge polls every minute.", 10);
        assert_eq!(usual.weight(0).to_bits(), 1.0f32.to_bits());
        let important = Memory { importance: 1.0, ..usual.clone() };
        let pinned = Memory { is_pinned: true, ..usual.clone() };
        for (more, less) in [
            (important.weight(0), usual.weight(0)),
            (pinned.weight(0), usual.weight(0)),
            (usual.weight(1), usual.weight(0)),
            (usual.weight(9), usual.weight(1)),
            (usual.weight(0), Memory { lane: Lane::Extracted, ..usual.clone() }.weight(0)),
            (usual.weight(0), Memory { importance: 0.0, ..usual.clone() }.weight(0)),
        ] {
            assert!(more > less, "{more} {less}");
        }
        let least = Memory { importance: 0.0, lane: Lane::Extracted, ..usual }.weight(0);
        let most = Memory { is_pinned: true, ..important }.weight(u64::MAX);
        assert!(least > 0.9 && most < 1.1, "{least} {most}");
    }
}
