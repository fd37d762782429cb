//! Archives extracted memories that rest only on turns that the person took back.

use yore_core::memory::{Event, Lane, Memory, PutAway};
use yore_core::operation::{Actor, Cause, OperationKind};

use super::retire_or_contest::{change, revive_replaced};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{EpisodeKey, Memories};

/// Name of the cause of the operation.
const BY: &str = "taken back";

impl Engine {
    /// Puts away the extracted memories of a conversation that rest only on turns that were taken back, as one operation; what
    /// they had replaced holds again. Memories that a person confirmed or pinned stay. Returns the number that was put away.
    pub(crate) fn put_away_taken_back(&self, episode: EpisodeKey, session: &str) -> Result<u64, EngineError> {
        let due = self.store().memories(Memories::TakenBack(episode))?;
        let mut due: Vec<Memory> = due.into_iter().map(|(_, memory)| memory).collect();
        due.retain(|memory| memory.lane == Lane::Extracted && !memory.is_pinned && memory.is_in_effect());
        if due.is_empty() {
            return Ok(0);
        }
        let now = self.now();
        let cause = Cause { actor: Actor::Rule, by: BY.to_owned(), input: Some(session.to_owned()) };
        let summary = format!("put away {} memories of what was taken back", due.len());
        let ids: Vec<_> = due.iter().map(|memory| memory.id).collect();
        self.operate(OperationKind::Archive, &cause, summary, |tx| {
            for id in &ids {
                let Some(memory) = tx.memory(*id)?.filter(Memory::is_in_effect) else { continue };
                change(tx, &memory, &Event::PutAway(PutAway::TakenBack), Actor::Rule, now)?;
            }
            for id in &ids {
                revive_replaced(tx, *id, &ids, Actor::Rule, now)?;
            }
            Ok::<_, EngineError>(())
        })?;
        Ok(ids.len() as u64)
    }
}
