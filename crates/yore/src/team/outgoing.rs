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
use crate::shared::file::{self, SharedFile, SharedMemory};
use crate::shared::mirror::{Mirror, claim_of};
use crate::shared::publish::{FOR_EVERYBODY, Publisher, is_personal};

/// Texts that may be shared, by memory.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The texts of memories in effect.
    pub texts: BTreeMap<MemoryId, Text>,
    /// Memories that would be shared but for their words, and why not.
    pub held_back: Vec<(MemoryId, String)>,
}

/// The text of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The text as it is sent.
    pub text: String,
    /// Its claim, by [`claim_of`].
    pub claim: String,
}

impl Text {
    /// Returns the text of a memory that is prepared to be shared.
    pub fn of(memory: SharedMemory) -> Self {
        Self { claim: claim_of(&memory), text: file::write(&SharedFile::Memory(Box::new(memory))) }
    }
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
        let statuses = vec![Status::Holds, Status::Contested];
        let filter = MemoryFilter { kinds: FOR_EVERYBODY.to_vec(), statuses, ..MemoryFilter::default() };
        let list = MemoryList { filter, here: Some(here.clone()), limit: usize::MAX >> 1, ..MemoryList::default() };
        let mut candidates = memory.memories(list)?;
        // Memories that hold everywhere are the person's.
        candidates.retain(|stored| stored.memory.project == project && !stored.memory.is_shared());
        let listed: BTreeSet<MemoryId> = candidates.iter().map(|stored| stored.memory.id).collect();
        for id in named.difference(&listed) {
            match memory.memory(id.to_string()) {
                Ok(stored) => candidates.push(stored),
                // One that is gone is shared no more.
                Err(error) if error.code == "memory/unknown" => {}
                Err(error) => return Err(error),
            }
        }
        for stored in candidates {
            let id = stored.memory.id;
            if is_personal(&stored.memory) && !named.contains(&id) {
                let why = format!("it is about yourself (`yore team share {}` shares it)", id.short());
                found.held_back.push((id, why));
                continue;
            }
            match publisher.memory(&stored, project, true).map(Text::of) {
                Ok(text) if text.text.len() <= MOST_TEXT => drop(found.texts.insert(id, text)),
                Ok(_) => found.held_back.push((id, format!("it is longer than {} KiB", MOST_TEXT / 1024))),
                Err(why) => found.held_back.push((id, why)),
            }
        }
        Ok(Some(found))
    }

    /// Has the changes wait that bring what is shared from here to these texts. `forgotten`: memories that were forgotten for good.
    pub fn plan(&self, mirror: &mut Mirror, level: SharedLevel, forgotten: &[MemoryId]) {
        for id in forgotten {
            mirror.forget(*id);
        }
        let is_shared = |id: &MemoryId| level != SharedLevel::Named || mirror.named.contains(id);
        let wanted: BTreeMap<MemoryId, (String, &Text)> =
            self.texts.iter().filter(|(id, _)| is_shared(id)).map(|(id, text)| (*id, (name_of(&text.text), text))).collect();
        let names: BTreeSet<&String> = wanted.values().map(|(name, _)| name).collect();
        for (id, name) in mirror.sent.clone() {
            if wanted.get(&id).is_some_and(|(wanted, _)| *wanted == name) {
                continue;
            }
            if names.contains(&name) {
                // Another memory says it, perhaps the same one under a new id.
                mirror.sent.remove(&id);
                mirror.earlier.entry(id).or_default().insert(name);
            } else {
                mirror.take_back(id, false);
            }
        }
        let leaving = |mirror: &Mirror| -> BTreeSet<String> {
            let gone = mirror.waiting.iter().filter_map(|waiting| match &waiting.operation.change {
                Change::TakeBack { name, .. } | Change::Forget { name } => Some(name.clone()),
                Change::Add { .. } => None,
            });
            gone.collect()
        };
        // Texts that another computer of the person shares, or this one before it left, need not be sent. If that one says it no more, this one
        // shares it again.
        let own: BTreeSet<String> = mirror.own().difference(&leaving(mirror)).cloned().collect();
        let mut sent: BTreeSet<String> = mirror.sent.values().chain(&own).cloned().collect();
        for (id, (name, text)) in wanted {
            let is_withheld = [&name, &text.claim].iter().any(|withheld| mirror.withheld.contains(*withheld));
            let is_refused = mirror.refused.contains_key(&name) || mirror.forgotten.contains(&name);
            if mirror.sent.contains_key(&id) || is_withheld || is_refused {
                continue;
            }
            mirror.taken_back.remove(&name);
            if sent.insert(name.clone()) {
                mirror.change(Change::Add { name: name.clone(), text: text.text.clone() });
            }
            mirror.sent.insert(id, name);
        }
    }
}
