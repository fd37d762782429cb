//! Folds near-duplicate hits into the best of them.

use yore_core::conflict::{Repetition, Statement};
use yore_core::episode::EpisodeKind;
use yore_core::memory::Memory;
use yore_core::query::Place;
use yore_core::text::{NEAR_DUPLICATE, Shingles, Tokenizer};

use super::boosts::Ranked;
use super::newer::short_statements;
use super::plan::Plan;
use super::texts::Texts;
use super::{Found, FoundMemory, QueryContext, memories};
use crate::error::EngineError;
use crate::store::ItemKey;

/// Similarity from which two passages count as the same.
const SAME_PASSAGE: f32 = 0.97;

/// A hit in preparation.
pub(super) struct Kept<'r> {
    pub ranked: &'r Ranked,
    pub found: Found,
    /// Name of its project.
    pub project: Option<String>,
    words: Words,
    /// Places of its near duplicates.
    pub also: Vec<Place>,
}

/// The words of a hit, by which others are compared with it.
enum Words {
    Turn(Shingles),
    Memory(Statement),
    /// Nothing is folded into it.
    None,
}

impl Kept<'_> {
    /// Returns the memory of this hit, if it says all that another one says.
    fn saying(&mut self, other: &Memory, statement: &Statement) -> Option<&mut FoundMemory> {
        let (Found::Memory(found), Words::Memory(own)) = (&mut self.found, &self.words) else { return None };
        let memory = &found.memory;
        let is_alike = memory.is_in_effect()
            && memory.status == other.status
            && (memory.kind == other.kind || memory.kind.is_state() && other.kind.is_state())
            && memory.is_closed() == other.is_closed()
            && memory.is_of_same_place(other);
        let says_it = is_alike && matches!(Repetition::of(own, statement), Some(Repetition::Same | Repetition::FirstSaysMore));
        says_it.then_some(found)
    }
}

/// Returns whether two short texts state different things in nearly the same words, such as another value.
fn differ(one: &str, other: &str) -> bool {
    let mut tokenizer = Tokenizer::default();
    match [one, other].map(|text| short_statements(text, &mut tokenizer)).each_ref().map(Vec::as_slice) {
        [[one], [other]] => Repetition::of(one, other).is_none(),
        _ => false,
    }
}

/// Reads the text of the next candidates. A near duplicate is attached to the better turn, a memory to a better one that says all that it
/// says.
pub(super) fn read_and_fold<'r>(
    context: &QueryContext<'_>,
    batch: &'r [Ranked],
    plan: &Plan<'_>,
    texts: &mut Texts,
    tokenizer: &mut Tokenizer,
    kept: &mut Vec<Kept<'r>>,
) -> Result<(), EngineError> {
    let request = plan.request;
    let keys: Vec<ItemKey> = batch.iter().map(Ranked::key).collect();
    texts.load(context.store, &keys)?;
    for ranked in batch {
        if kept.len() == request.limit {
            break;
        }
        let turn = match ranked.key() {
            ItemKey::Turn(row) => texts.take_turn(row),
            ItemKey::Memory(row) => {
                let Some((memory, project)) = texts.take_memory(row) else { continue };
                let found = memories::found(context, plan, row, memory)?;
                let mut words = Words::None;
                if request.is_folded {
                    let statement = Statement::of(&found.memory.statement, tokenizer);
                    if let Some(better) = kept.iter_mut().find_map(|better| better.saying(&found.memory, &statement)) {
                        better.same.push(found.memory.id);
                        continue;
                    }
                    words = Words::Memory(statement);
                }
                kept.push(Kept { ranked, found: Found::Memory(found), project, words, also: Vec::new() });
                continue;
            }
        };
        // The turn was deleted after the index was searched.
        let Some(turn) = turn else { continue };
        let mut words = Words::None;
        if request.is_folded && !turn.text.is_empty() {
            let shingles = Shingles::of(&turn.text);
            // Passages of files and pages are often alike on purpose, and each has its own content.
            let least = if turn.kind == EpisodeKind::Document { SAME_PASSAGE } else { NEAR_DUPLICATE };
            let is_same = |better: &&mut Kept<'_>| {
                let (Found::Turn(known), Words::Turn(own)) = (&better.found, &better.words) else { return false };
                let is_near = known.kind == turn.kind && !known.text.is_empty() && own.is_near(&shingles, least);
                is_near && !differ(&known.text, &turn.text)
            };
            if let Some(better) = kept.iter_mut().find(is_same) {
                better.also.push(turn.place());
                continue;
            }
            words = Words::Turn(shingles);
        }
        let project = turn.project.clone();
        kept.push(Kept { ranked, found: Found::Turn(turn), project, words, also: Vec::new() });
    }
    Ok(())
}
