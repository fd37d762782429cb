//! Merges memories that say the same, though they were not compared when they were recorded, such as those of two imports.
//!
//! Each merge is an operation of its own, which can be undone; a checkpoint lets a run that was cut short go on, and keeps what a person
//! undid from being merged again. What may be merged is what a model may say is known twice (`model_decisions`): never a person's memory.

use yore_core::consolidation::Decision;
use yore_core::memory::{Lane, Memory};
use yore_core::operation::{Actor, Cause, OperationKind};
use yore_core::text::Tokenizer;

use super::comparable::Comparable;
use super::model_decisions::{Judgement, carry_out};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{MemoryKey, Named};

/// Name of the checkpoint: the memory that was compared last.
const CHECKPOINT: &str = "merged-duplicates";
/// Memories between two checkpoints.
const PAGE: usize = 100;
/// Memories that one run compares; the next one goes on from there.
const MOST_A_RUN: u64 = 5_000;

/// The outcome of a comparison of memories with those near them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergedDuplicates {
    /// Memories that were compared with those near them.
    pub compared: u64,
    /// Memories that were merged into another.
    pub merged: u64,
    /// True if others wait for the next run.
    pub is_cut_short: bool,
}

impl Engine {
    /// Compares the memories that hold and were not compared by an earlier run with those near them, and merges each that says the same as
    /// another. `go_on` is asked between pages.
    ///
    /// # Errors
    /// When the store or an index fails. What was merged stays, and the next run goes on from the last page.
    pub fn merge_duplicates(&self, go_on: &mut dyn FnMut() -> bool) -> Result<MergedDuplicates, EngineError> {
        let mut done = MergedDuplicates::default();
        let checkpoint = self.store().index_state(CHECKPOINT)?;
        let mut after: MemoryKey = checkpoint.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let mut tokenizer = Tokenizer::default();
        loop {
            let page = self.store().named_outlines(Named::HoldingAfter(after, PAGE))?;
            let Some((last, _)) = page.last() else { return Ok(done) };
            if done.compared >= MOST_A_RUN || !go_on() {
                done.is_cut_short = true;
                return Ok(done);
            }
            let last = *last;
            for (_, (memory, _)) in &page {
                done.compared += 1;
                done.merged += u64::from(self.merge_with_near(memory, &mut tokenizer)?);
            }
            after = last;
            self.store().set_index_state(CHECKPOINT, &last.to_string())?;
        }
    }

    /// Merges a memory with the first near it that says the same; returns whether it did.
    fn merge_with_near(&self, memory: &Memory, tokenizer: &mut Tokenizer) -> Result<bool, EngineError> {
        let is_given = |memory: &Memory| memory.lane == Lane::Curated || memory.is_pinned;
        let one = Comparable::of(memory, tokenizer);
        for other in self.near(memory)? {
            let may_merge = other.id != memory.id
                && other.is_shared() == memory.is_shared()
                && other.is_in_effect()
                && other.kind == memory.kind
                && !(is_given(memory) && is_given(&other));
            if !may_merge || Comparable::of(&other, tokenizer).repetition(&one).is_none() {
                continue;
            }
            let reason = "they say the same".to_owned();
            let judgement = Judgement { memory: memory.id, decision: Decision::Skip, other: other.id, reason };
            let cause = Cause { actor: Actor::Rule, by: "merge-duplicates".to_owned(), input: None };
            let summary = format!("merged {} and {}, which say the same", memory.id.short(), other.id.short());
            let now = self.now();
            let (outcome, _) =
                self.operate(OperationKind::Merge, &cause, summary, |tx| carry_out(tx, &judgement, cause.actor, now))?;
            if matches!(outcome, Ok(Some(_))) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
