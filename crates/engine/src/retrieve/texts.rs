//! Turns that were read for an answer, each once.

use std::collections::HashMap;

use crate::store::{ShownTurn, Store, StoreResult, TurnKey};

/// Turns by row.
#[derive(Default)]
pub(super) struct Texts {
    turns: HashMap<TurnKey, ShownTurn>,
}

impl Texts {
    /// Reads those of these turns that were not read before. Turns that are gone are left out.
    pub(super) fn load(&mut self, store: &Store, rows: &[TurnKey]) -> StoreResult<()> {
        let wanted: Vec<TurnKey> = rows.iter().filter(|row| !self.turns.contains_key(row)).copied().collect();
        if !wanted.is_empty() {
            self.turns.extend(store.shown_turns(&wanted)?.into_iter().map(|turn| (turn.row, turn)));
        }
        Ok(())
    }

    /// Returns a turn that was read.
    pub(super) fn get(&self, row: TurnKey) -> Option<&ShownTurn> {
        self.turns.get(&row)
    }

    /// Gives a turn away.
    pub(super) fn take(&mut self, row: TurnKey) -> Option<ShownTurn> {
        self.turns.remove(&row)
    }
}
