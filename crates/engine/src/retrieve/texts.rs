//! Caches the turns and memories that a query has read.

use std::collections::HashMap;

use crate::store::{ItemKey, MemoryKey, Named, NamedMemory, ShownTurn, Store, StoreResult, TurnKey, Turns};

/// Turns and memories by row; memories without tags, evidence and anchors.
#[derive(Default)]
pub(super) struct Texts {
    turns: HashMap<TurnKey, ShownTurn>,
    memories: HashMap<MemoryKey, NamedMemory>,
}

impl Texts {
    /// Reads those of these items that were not read before. Items that are gone are left out.
    pub(super) fn load(&mut self, store: &Store, keys: &[ItemKey]) -> StoreResult<()> {
        let turns: Vec<TurnKey> = keys.iter().filter_map(|key| key.turn()).filter(|row| !self.turns.contains_key(row)).collect();
        if !turns.is_empty() {
            self.turns.extend(store.turns(Turns::Keys(&turns))?.into_iter().map(|turn| (turn.row, turn)));
        }
        let memories: Vec<MemoryKey> =
            keys.iter().filter_map(|key| key.memory()).filter(|row| !self.memories.contains_key(row)).collect();
        if !memories.is_empty() {
            self.memories.extend(store.named_outlines(Named::Keys(&memories))?);
        }
        Ok(())
    }

    /// Returns a turn that was read.
    pub(super) fn turn(&self, key: ItemKey) -> Option<&ShownTurn> {
        self.turns.get(&key.turn()?)
    }

    /// Returns a memory that was read.
    pub(super) fn memory(&self, key: ItemKey) -> Option<&NamedMemory> {
        self.memories.get(&key.memory()?)
    }

    /// Gives a turn away.
    pub(super) fn take_turn(&mut self, row: TurnKey) -> Option<ShownTurn> {
        self.turns.remove(&row)
    }

    /// Gives a memory away.
    pub(super) fn take_memory(&mut self, row: MemoryKey) -> Option<NamedMemory> {
        self.memories.remove(&row)
    }
}
