//! Cleans up: forgets memories that were put away long ago, in one operation that can be undone.

use serde::{Deserialize, Serialize};
use yore_core::id::MemoryId;
use yore_core::memory::{Memory, Status};
use yore_core::time::UtcMillis;

use super::forget::by_forget;
use crate::Engine;
use crate::error::EngineError;
use crate::store::{Memories, MemoryFilter};

/// Memories that one call forgets; the next one goes on.
const MOST: usize = 10_000;
/// Memories that are listed.
const LISTED: usize = 20;
/// Maximum wait for the index in milliseconds.
const INDEX_PATIENCE_MS: u64 = 2_000;

/// The memories that a cleanup forgot, or would forget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CleanedUp {
    /// Their number.
    pub memories: u64,
    /// The first of them, changed last first.
    pub listed: Vec<Memory>,
    /// True if more remain than one call forgets.
    pub has_more: bool,
    /// Number of the operation; `None` if nothing was changed.
    pub operation: Option<u64>,
}

impl Engine {
    /// Forgets memories softly that were put away and not changed since `until`: no answer has them, whatever it asks for, until the
    /// operation is undone. A dry run only lists them.
    pub fn clean_up(&self, until: UtcMillis, is_dry_run: bool) -> Result<CleanedUp, EngineError> {
        let filter = MemoryFilter {
            statuses: vec![Status::Archived],
            is_forgotten: Some(false),
            until: Some(until),
            ..MemoryFilter::default()
        };
        let mut found = self.store().memories(Memories::Meeting(&filter, MOST + 1))?;
        let has_more = found.len() > MOST;
        found.truncate(MOST);
        let ids: Vec<MemoryId> = found.iter().map(|(_, memory)| memory.id).collect();
        let operation = if is_dry_run || ids.is_empty() { None } else { self.archive_memories(&ids, true, &by_forget())? };
        if operation.is_some() {
            self.sync_index(INDEX_PATIENCE_MS, &mut |_| {})?;
        }
        let listed = found.into_iter().take(LISTED).map(|(_, memory)| memory).collect();
        Ok(CleanedUp { memories: ids.len() as u64, listed, has_more, operation })
    }
}
