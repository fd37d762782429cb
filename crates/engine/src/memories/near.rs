//! Finds the known memories that a new one may repeat, supersede or contradict, by their words and by vectors. Those that another process
//! recorded a moment ago are seen as well, so that nothing is recorded twice.

use std::collections::HashSet;

use yore_core::memory::{Fields, Memory, MemoryKind};

use super::comparable::{is_done, program};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{MemoryKey, MemoryOutline, OperationTx, Outlines};

/// Memories with the nearest words that a statement is compared with, of the index and of those that wait for it.
const MOST_NEAR: usize = 40;
/// Memories that are nearest in meaning beside these.
const MOST_BY_MEANING: usize = 12;
/// The same for a todo and what may be its end, and for commands of one program: these need not share most words.
const MOST_RELATED: usize = 100;
/// Memories that somebody else recorded between the search and the writing; more are not compared.
const MOST_MEANWHILE: usize = 200;

/// A position in the store before a search: what was recorded after it is looked at again when the findings are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorePosition(MemoryKey);

impl Engine {
    /// Returns the present position.
    pub(super) fn store_position(&self) -> Result<StorePosition, EngineError> {
        Ok(StorePosition(self.store().statement_facts(0)?.last))
    }

    /// Returns the memories of the same project, of any status, that are near a statement: without tags, evidence and anchors.
    pub(super) fn near(&self, memory: &Memory) -> Result<Vec<MemoryOutline>, EngineError> {
        let project = match memory.project {
            Some(project) => match self.store().projects()?.into_iter().find(|known| known.id == project) {
                Some(known) => Some(known.key),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let mut rows: Vec<MemoryKey> = Vec::new();
        let mut search = |text: &str, limit: usize| -> Result<(), EngineError> {
            rows.extend(self.nearest_memories(text, project, limit)?);
            Ok(())
        };
        let may_end = memory.kind == MemoryKind::Todo || is_done(memory);
        search(&memory.statement, if may_end { MOST_RELATED } else { MOST_NEAR })?;

        if let Some(told) = program(&memory.statement) {
            search(told, MOST_RELATED)?;
        }
        if let Fields::Solution { error: Some(error), .. } = &memory.fields {
            search(error, MOST_NEAR)?;
        }
        // A changed statement may share few words with the earlier one. Without the vectors, those with its words are compared.
        rows.extend(self.nearest_by_meaning(&memory.statement, project, MOST_BY_MEANING).unwrap_or_default());
        let mut seen: HashSet<MemoryKey> = HashSet::new();
        rows.retain(|row| seen.insert(*row));
        let mut near = self.store().outlines(Outlines::Keys(&rows))?;
        // Another project may have got the row of one that was merged.
        near.retain(|near| near.project == memory.project);
        Ok(near)
    }
}

impl StorePosition {
    /// Returns the memories that were recorded since, of all projects.
    pub(super) fn since(self, tx: &OperationTx<'_, '_>) -> Result<Vec<MemoryOutline>, EngineError> {
        Ok(tx.outlines(Outlines::After(self.0, MOST_MEANWHILE))?)
    }
}
