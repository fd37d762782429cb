//! Chooses the segments of a vector index to merge, and the order of their rows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::bits::Bits;
use super::segment::{Columns, Run};

/// The weight of a segment in the choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// Live rows, and turns that it hides in older segments.
    pub live: u64,
    /// Rows that were replaced or removed.
    pub dead: u64,
    /// True if it is large enough for sketches and has none.
    pub lacks_sketches: bool,
}

/// Returns the segments, oldest first, that should be merged now; `None` if there are none.
///
/// As soon as the later segments together weigh as much as a segment, it is merged with all of them. So each
/// segment weighs more than all later ones together: a million rows have at most about twenty segments, and a
/// row is written about that often in its life, or once for many if they came in large batches. Segments
/// below the floor are merged with any later one. A segment whose rows are mostly dead, or that came as one
/// large batch and has no sketches yet, is rewritten alone.
pub(super) fn due(weights: &[Weight], floor: u64) -> Option<Range<usize>> {
    let mut after: u64 = weights.iter().map(|weight| weight.live).sum();
    for (at, weight) in weights.iter().enumerate() {
        after -= weight.live;
        if at + 1 < weights.len() && weight.live <= after.max(floor) {
            return Some(at..weights.len());
        }
    }
    weights.iter().position(|weight| weight.dead > weight.live || weight.lacks_sketches).map(|at| at..at + 1)
}

/// Returns the live turns of all inputs in order, as runs. A turn is live in one input at most.
pub(super) fn live_runs(inputs: &[(Columns<'_>, Option<&Bits>)]) -> Vec<Run> {
    let next_alive = |input: usize, from: usize| {
        let (columns, dead) = &inputs[input];
        (from..columns.turns.len()).find(|turn| dead.is_none_or(|dead| !dead.has(*turn)))
    };
    let mut heads: BinaryHeap<Reverse<(i64, usize, usize)>> = (0..inputs.len())
        .filter_map(|input| next_alive(input, 0).map(|at| Reverse((inputs[input].0.turns[at], input, at))))
        .collect();
    let mut runs = Vec::new();
    while let Some(Reverse((_, input, from))) = heads.pop() {
        let (columns, dead) = &inputs[input];
        let limit = heads.peek().map(|Reverse((turn, ..))| *turn);
        let is_ours = |at: usize| limit.is_none_or(|limit| columns.turns[at] < limit) && dead.is_none_or(|dead| !dead.has(at));
        let to = (from + 1..columns.turns.len()).find(|at| !is_ours(*at)).unwrap_or(columns.turns.len());
        runs.push(Run { input, turns: from..to });
        if let Some(at) = next_alive(input, to) {
            heads.push(Reverse((columns.turns[at], input, at)));
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FLOOR: u64 = 256;
    const NONE: Weight = Weight { live: 0, dead: 0, lacks_sketches: false };

    fn weights(live: &[u64]) -> Vec<Weight> {
        live.iter().map(|live| Weight { live: *live, ..NONE }).collect()
    }

    #[test]
    fn equal_segments_are_merged_at_once() {
        assert_eq!(due(&weights(&[1000; 16]), FLOOR), Some(0..16));
        assert_eq!(due(&weights(&[5000, 1000, 999]), FLOOR), None);
        assert_eq!(due(&weights(&[5000, 1000, 1000]), FLOOR), Some(1..3));
        assert_eq!(due(&weights(&[5000, 200, 1]), FLOOR), Some(1..3));
        assert_eq!(due(&weights(&[5000]), FLOOR), None);
        assert_eq!(due(&[], FLOOR), None);
    }

    #[test]
    fn segment_that_is_mostly_dead_or_lacks_sketches_is_written_anew() {
        let dead = |live, dead| Weight { live, dead, ..NONE };
        assert_eq!(due(&[dead(5000, 4999), dead(1000, 1001), dead(400, 0)], FLOOR), Some(1..2));
        assert_eq!(due(&[dead(0, 1)], FLOOR), Some(0..1));
        assert_eq!(due(&[dead(5000, 0), Weight { lacks_sketches: true, ..dead(1000, 0) }], FLOOR), Some(1..2));
    }

    #[test]
    fn few_segments_and_few_copies_remain_of_many_small_changes() {
        let (mut segments, mut written) = (Vec::new(), 0);
        for _ in 0..20_000u64 {
            segments.push(Weight { live: 3, ..NONE });
            while let Some(range) = due(&segments, FLOOR) {
                let live = segments[range.clone()].iter().map(|weight| weight.live).sum();
                written += live;
                segments.splice(range, [Weight { live, ..NONE }]);
            }
            assert!(segments.len() <= 12, "{} segments", segments.len());
        }
        // Below the floor, each of a hundred additions copies the existing rows.
        assert!(written / 60_000 < 60, "each row written {} times", written / 60_000);
    }

    proptest! {
        #[test]
        fn runs_hold_every_living_turn_in_order(owners in prop::collection::vec((0usize..5, any::<bool>()), 0..200)) {
            let mut turns: Vec<Vec<i64>> = vec![Vec::new(); 5];
            let mut dead: Vec<Bits> = vec![Bits::new(200); 5];
            for (turn, (owner, is_alive)) in owners.iter().enumerate() {
                for (input, turns) in turns.iter_mut().enumerate() {
                    // Some inputs hold dead copies.
                    if input == *owner || (turn + input) % 3 == 0 {
                        if input != *owner || !is_alive {
                            dead[input].set(turns.len());
                        }
                        turns.push(turn as i64);
                    }
                }
            }
            let inputs: Vec<(Columns<'_>, Option<&Bits>)> = turns.iter().zip(&dead)
                .map(|(turns, dead)| (Columns { turns, ..Columns::default() }, Some(dead))).collect();
            let runs = live_runs(&inputs);
            let found: Vec<(i64, usize)> =
                runs.iter().flat_map(|run| turns[run.input][run.turns.clone()].iter().map(|turn| (*turn, run.input))).collect();
            let expected: Vec<(i64, usize)> = owners.iter().enumerate()
                .filter(|(_, (_, is_alive))| *is_alive).map(|(turn, (owner, _))| (turn as i64, *owner)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
