//! Searches the memories that wait for the full-text index, by their words. So a new memory is compared with those that were
//! recorded a moment ago, too. They are kept from call to call, since each call reads only what was queued since the one before.

use std::collections::{BTreeSet, HashMap};

use yore_core::text::{Question, Tokenizer};

use crate::store::{MemoryKey, ProjectKey, QueuePlace, RowKey, Store, StoreResult};

/// Memories that are read at once, the latest: of a new index, all wait. Twice as many are kept before the older half is dropped.
const MOST: usize = 20_000;
/// A word that more of them have tells little.
const MOST_OF_WORD: usize = 2_000;

#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Number of the last place in the queue that was read.
    last: QueuePlace,
    /// Each with the place at which it was queued.
    memories: Vec<(QueuePlace, MemoryKey, Option<ProjectKey>)>,
    /// Places in `memories` of those that have a word.
    by_word: HashMap<String, Vec<u32>>,
    tokenizer: Tokenizer,
}

impl Waiting {
    /// Reads what was queued since the last call, and drops what the index has taken.
    pub(super) fn follow(&mut self, store: &Store) -> StoreResult<()> {
        let (first, last) = store.queue_ends()?.unwrap_or((QueuePlace::new(i64::MAX), QueuePlace::default()));
        let is_behind = self.memories.first().is_some_and(|(place, ..)| *place < first);
        if is_behind || last < self.last || self.memories.len() > 2 * MOST {
            *self = Self::default();
        }
        for (place, item) in store.queued_memories(self.last, last, MOST)? {
            let Some(key) = item.head.key.memory() else { continue };
            let at = self.memories.len() as u32;
            for word in Question::parse(&item.text, &mut self.tokenizer).terms {
                self.by_word.entry(word).or_default().push(at);
            }
            self.memories.push((place, key, item.head.project));
        }
        self.last = last;
        Ok(())
    }

    /// Returns the memories of a project that share most words with a text.
    pub(super) fn nearest(&self, terms: &[String], project: Option<ProjectKey>, limit: usize) -> Vec<MemoryKey> {
        let mut shared: HashMap<u32, u32> = HashMap::new();
        for term in terms {
            let having = self.by_word.get(term).filter(|having| having.len() <= MOST_OF_WORD);
            having.into_iter().flatten().for_each(|at| *shared.entry(*at).or_default() += 1);
        }
        let mut near: Vec<(u32, u32)> = shared
            .into_iter()
            .filter(|(at, _)| self.memories[*at as usize].2 == project)
            .map(|(at, count)| (count, at))
            .collect();
        near.sort_unstable_by(|a, b| b.cmp(a));
        let mut seen = BTreeSet::new();
        let keys = near.into_iter().map(|(_, at)| self.memories[at as usize].1);
        keys.filter(|key| seen.insert(*key)).take(limit).collect()
    }
}
