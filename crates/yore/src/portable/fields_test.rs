//! Any fields of memories, for property tests of the files that hold them.

use proptest::prelude::*;
use yore_core::memory::{CodeChange, Fields, MemoryKind};

/// Returns fields of a kind with texts of a strategy, and now and then none.
pub fn fields(kind: MemoryKind, text: impl Fn() -> BoxedStrategy<String>) -> BoxedStrategy<Fields> {
    let maybe = || prop::option::of(text());
    let texts = || prop::collection::vec(text(), 0..5);
    let change = (maybe(), maybe(), maybe(), text(), maybe())
        .prop_map(|(file, language, before, after, explanation)| CodeChange { file, language, before, after, explanation });
    let of = match Fields::name_of(kind) {
        "solution" => (text(), maybe(), maybe(), texts(), prop::collection::vec(change, 0..3), texts())
            .prop_map(|(problem, error, cause, tried, changes, files)| Fields::Solution {
                problem,
                error,
                cause,
                tried,
                changes,
                files,
            })
            .boxed(),
        "pattern" => (maybe(), maybe(), texts())
            .prop_map(|(use_case, example, related)| Fields::Pattern { use_case, example, related })
            .boxed(),
        "decision" => (maybe(), texts(), texts())
            .prop_map(|(reason, alternatives, tradeoffs)| Fields::Decision { reason, alternatives, tradeoffs })
            .boxed(),
        "standard" => (maybe(), texts(), texts(), maybe())
            .prop_map(|(category, examples, counter_examples, reason)| Fields::Standard {
                category,
                examples,
                counter_examples,
                reason,
            })
            .boxed(),
        "preference" => (maybe(), maybe()).prop_map(|(aspect, corrected)| Fields::Preference { aspect, corrected }).boxed(),
        "open" => any::<bool>().prop_map(|is_closed| Fields::Open { is_closed }).boxed(),
        _ => Just(Fields::None).boxed(),
    };
    prop_oneof![1 => Just(Fields::None), 4 => of].boxed()
}
