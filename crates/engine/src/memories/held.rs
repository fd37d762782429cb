//! Lists the memories that were held on a day, and those that began or ended near it.

use serde::{Deserialize, Serialize};
use yore_core::memory::Status;
use yore_core::time::UtcMillis;

use super::{MemoryList, StoredMemory};
use crate::Engine;
use crate::error::EngineError;
use crate::store::{Memories, MemoryKey, TimesHeld};

/// A question after what was held at a time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct HeldRequest {
    /// The memories among which it is looked; `limit` is the most that are returned. With projects, those that hold everywhere are
    /// among them.
    pub list: MemoryList,
    /// The time.
    pub at: UtcMillis,
    /// Milliseconds before and after that time within which a beginning or an end counts as near.
    pub around: i64,
    /// Number of held memories to leave out, from the one that was held last on.
    pub skip: usize,
}

/// A memory with the time in which it was held.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct HeldMemory {
    /// The memory as it is now.
    pub stored: StoredMemory,
    /// Since when it was held: the time since which it is true, else the one at which it was recorded.
    pub since: UtcMillis,
    /// Until when (exclusive): it was no longer true, or another took its place, or it was found wrong or put away. `None`: it is held.
    pub until: Option<UtcMillis>,
}

/// The memories that were held at a time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Held {
    /// Those that were held, the last that began first.
    pub held: Vec<HeldMemory>,
    /// Number of all that were held.
    pub total: u64,
    /// Those that were not, and that ended shortly before or began shortly after, nearest first.
    pub near: Vec<HeldMemory>,
    /// When the first of all began, and the last.
    pub range: Option<(UtcMillis, UtcMillis)>,
}

impl Engine {
    /// Returns what was held at a time, as far as the records say now. Memories that wait for a review were held at no time.
    ///
    /// # Errors
    /// [`EngineError::UnknownProject`]; those of the store.
    pub fn held(&self, request: &HeldRequest) -> Result<Held, EngineError> {
        let HeldRequest { list, at, around, skip } = request;
        let mut filter = self.filter_of(list)?;
        filter.with_global = filter.projects.is_some();
        if filter.statuses.is_empty() {
            filter.statuses = Status::ALL.iter().copied().filter(|status| *status != Status::Proposed).collect();
        }
        let mut times = self.store().times_held(&filter)?;
        times.retain(|held| held.until.is_none_or(|until| until > held.since));
        times.sort_by_key(|held| std::cmp::Reverse((held.since, held.memory)));
        let range = times.last().zip(times.first()).map(|(first, last)| (first.since, last.since));
        let is_held = |held: &&TimesHeld| held.since < *at && held.until.is_none_or(|until| until >= *at);
        let (held, others): (Vec<&TimesHeld>, Vec<&TimesHeld>) = times.iter().partition(|held| is_held(held));
        let total = held.len() as u64;
        let far = |held: &TimesHeld| if held.since >= *at { held.since - at } else { at - held.until.unwrap_or(*at) };
        let mut near: Vec<&TimesHeld> = others.into_iter().filter(|held| far(held) <= *around).collect();
        near.sort_by_key(|held| (far(held), held.memory));
        near.truncate(list.limit);
        let held: Vec<&TimesHeld> = held.into_iter().skip(*skip).take(list.limit).collect();
        Ok(Held { held: self.read_held(&held)?, total, near: self.read_held(&near)?, range })
    }

    fn read_held(&self, times: &[&TimesHeld]) -> Result<Vec<HeldMemory>, EngineError> {
        let names = self.project_names_by_id()?;
        let keys: Vec<MemoryKey> = times.iter().map(|held| held.memory).collect();
        let found = self.store().memories(Memories::Keys(&keys))?;
        let of = |(key, memory)| {
            let TimesHeld { since, until, .. } = times.iter().find(|held| held.memory == key).copied()?;
            Some(self.stored(memory, false, &names).map(|stored| HeldMemory { stored, since: *since, until: *until }))
        };
        found.into_iter().filter_map(of).collect()
    }
}
