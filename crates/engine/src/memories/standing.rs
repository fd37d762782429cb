//! Computes the standing of memories (strength, retention, tier) when they are read: it is stored nowhere.

use std::ops::ControlFlow;

use yore_core::memory::Memory;
use yore_core::memory::dynamics::{Standing, State, Tier};
use yore_core::time::UtcMillis;

use super::shown::MemoryList;
use crate::Engine;
use crate::error::EngineError;
use crate::store::{Memories, MemoryFilter, MemoryKey, Vitals};

/// Number of memories that a list by standing reads at once.
const PAGE: usize = 500;

impl Engine {
    /// Returns the standing of memories now, in their order.
    pub fn standings(&self, memories: &[&Memory]) -> Result<Vec<Standing>, EngineError> {
        self.standings_at(memories, self.now())
    }

    /// Returns the standing that memories have at a time by the uses that are known now, in their order.
    pub fn standings_at(&self, memories: &[&Memory], at: UtcMillis) -> Result<Vec<Standing>, EngineError> {
        let ids: Vec<_> = memories.iter().map(|memory| memory.id).collect();
        let mut vitals = self.store().vitals_of(&ids)?;
        let mut known = |memory: &&Memory| vitals.remove(&memory.id).unwrap_or_default();
        Ok(memories.iter().map(|memory| self.standing_by(memory, &known(memory), at)).collect())
    }

    /// Returns the standing that a memory has at a time by its vitals.
    pub(crate) fn standing_by(&self, memory: &Memory, known: &Vitals, at: UtcMillis) -> Standing {
        // An outline has no tags.
        let whole = (memory.tags != known.tags).then(|| Memory { tags: known.tags.clone(), ..memory.clone() });
        let memory = whole.as_ref().unwrap_or(memory);
        self.dynamics().standing(&State { memory, uses: &known.uses, code: known.code }, at)
    }

    /// Returns the memories of a list that have one of its tiers and its least decay score, up to its limit; all if it names neither.
    pub(super) fn of_standing(&self, list: &MemoryList) -> Result<Vec<(MemoryKey, Memory)>, EngineError> {
        let filter = self.filter_of(list)?;
        if list.tiers.is_empty() && list.least_decay.is_none() {
            let wanted = if list.is_by_doubt { Memories::Doubtful } else { Memories::Meeting };
            return Ok(self.store().memories(wanted(&filter, list.limit))?);
        }
        let is_wanted = |standing: Standing| {
            (list.tiers.is_empty() || list.tiers.contains(&standing.tier))
                && list.least_decay.is_none_or(|least| standing.decay >= least)
        };
        let mut chosen = Vec::new();
        if list.limit > 0 {
            self.each_standing(filter, &mut |found, standing| {
                if is_wanted(standing) {
                    chosen.push(found);
                }
                if chosen.len() < list.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
        }
        Ok(chosen)
    }

    /// Calls `each` with the memories that a filter lets through and their standing now, changed last first, until it breaks.
    pub(crate) fn each_standing(
        &self,
        mut filter: MemoryFilter,
        each: &mut dyn FnMut((MemoryKey, Memory), Standing) -> ControlFlow<()>,
    ) -> Result<(), EngineError> {
        loop {
            let found = self.store().memories(Memories::Meeting(&filter, PAGE))?;
            let Some((_, last)) = found.last() else { return Ok(()) };
            filter.before = Some((last.changed, last.id.to_string()));
            let is_last = found.len() < PAGE;
            let standings = self.standings(&found.iter().map(|(_, memory)| memory).collect::<Vec<_>>())?;
            for (found, standing) in found.into_iter().zip(standings) {
                if each(found, standing).is_break() {
                    return Ok(());
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Keeps the memories that are told unasked: those of tiers above cold, and pinned ones. `at`: the time for which they age.
    pub(crate) fn keep_near(&self, memories: &mut Vec<Memory>, at: UtcMillis) -> Result<(), EngineError> {
        let tiers = self.tiers_at(memories, at)?;
        let mut tiers = tiers.into_iter();
        memories.retain(|_| tiers.next().is_some_and(Tier::is_told_unasked));
        Ok(())
    }

    /// Returns the tiers of memories at a time.
    pub(crate) fn tiers_at(&self, memories: &[Memory], at: UtcMillis) -> Result<Vec<Tier>, EngineError> {
        let standings = self.standings_at(&memories.iter().collect::<Vec<_>>(), at)?;
        Ok(standings.into_iter().map(|standing| standing.tier).collect())
    }
}
