//! Decides which texts of a project are to be shared from this computer, and which are to be taken back.

use std::collections::{BTreeMap, BTreeSet};

use yore_core::id::MemoryId;
use yore_core::memory::Status;
use yore_engine::{MemoryFilter, MemoryList, ProjectQuery};
use yore_sources::project_names::ProjectNames;
use yore_team::wire::{Change, MOST_TEXT, name_of};

use crate::config::SharedLevel;
use crate::engine_handle::MemoryClient;
use crate::error::CliResult;
use crate::shared::file::{self, SharedFile};
use crate::shared::mirror::Mirror;
use crate::shared::publish::{FOR_EVERYBODY, Publisher};

/// Texts that may be shared, by memory.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The texts of memories in effect.
    pub texts: BTreeMap<MemoryId, String>,
    /// Memories that would be shared but for their words, and why not.
    pub held_back: Vec<(MemoryId, String)>,
}

impl Outgoing {
    /// Reads the memories of a project that hold for everybody who works on it, and those that the person `named`; `None`: the memory does
    /// not know the project.
    ///
    /// # Errors
    /// The memory cannot be read.
    pub fn of(
        memory: &mut MemoryClient,
        here: &ProjectNames,
        publisher: &Publisher,
        named: &BTreeSet<MemoryId>,
    ) -> CliResult<Option<Self>> {
        let project = memory.find_project(ProjectQuery::Directory(here.clone()))?.map(|project| project.id);
        if project.is_none() {
            return Ok(None);
        }
        let mut found = Self::default();
        let filter = MemoryFilter { kinds: FOR_EVERYBODY.to_vec(), statuses: vec![Status::Holds], ..MemoryFilter::default() };
        let list = MemoryList { filter, here: Some(here.clone()), limit: usize::MAX >> 1, ..MemoryList::default() };
        let mut candidates = memory.memories(list)?;
        // What holds everywhere is the person's.
        candidates.retain(|stored| stored.memory.project == project && !stored.memory.is_shared());
        let listed: BTreeSet<MemoryId> = candidates.iter().map(|stored| stored.memory.id).collect();
        for id in named.difference(&listed) {
            // One that is gone is shared no more.
            candidates.extend(memory.memory(id.to_string()).ok());
        }
        for stored in candidates {
            let id = stored.memory.id;
            match publisher.memory(&stored, project, true) {
                Ok(shared) => {
                    let text = file::write(&SharedFile::Memory(Box::new(shared)));
                    if text.len() <= MOST_TEXT {
                        found.texts.insert(id, text);
                    } else {
                        found.held_back.push((id, format!("it is longer than {} KiB", MOST_TEXT / 1024)));
                    }
                }
                Err(why) => found.held_back.push((id, why)),
            }
        }
        Ok(Some(found))
    }

    /// Has the changes wait that bring what is shared from here to these texts. `forgotten`: memories that were forgotten for good.
    pub fn plan(&self, mirror: &mut Mirror, level: SharedLevel, forgotten: &[MemoryId]) {
        let is_shared = |id: &MemoryId| level == SharedLevel::Memories || mirror.named.contains(id);
        let texts = self.texts.iter().filter(|(id, _)| is_shared(id));
        let names: BTreeMap<MemoryId, String> = texts.map(|(id, text)| (*id, name_of(text))).collect();
        // What another computer of the person shares is not this one's to take back.
        let from_here: BTreeSet<String> = mirror.sent.values().cloned().collect();
        let of_other: BTreeSet<String> = mirror.own().difference(&from_here).cloned().collect();
        for (id, name) in mirror.sent.clone() {
            if names.get(&id) == Some(&name) {
                continue;
            }
            mirror.sent.remove(&id);
            // Another memory says it, perhaps the same one under a new id.
            if names.values().chain(mirror.sent.values()).any(|other| *other == name) {
                continue;
            }
            mirror.outdated.insert(name.clone());
            mirror.change(if forgotten.contains(&id) { Change::Forget { name } } else { Change::TakeBack { name } });
        }
        let mut sent: BTreeSet<String> = mirror.sent.values().cloned().collect();
        for (id, name) in names {
            // What was taken back stays back.
            let is_kept = mirror.taken_back.contains(&name) || mirror.refused.contains_key(&name);
            if mirror.sent.contains_key(&id) || is_kept || of_other.contains(&name) {
                continue;
            }
            if sent.insert(name.clone()) {
                mirror.change(Change::Add { name: name.clone(), text: self.texts[&id].clone() });
            }
            mirror.sent.insert(id, name);
        }
    }
}
