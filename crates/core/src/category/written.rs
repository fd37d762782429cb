//! A summary that a language model wrote: which of its lines still stand, and which memories it does not know.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::lines::section_of;
use super::record::{Category, Item, Member, Section};
use crate::id::MemoryId;
use crate::memory::Status;
use crate::time::UtcMillis;

/// A line that a model wrote.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WrittenLine {
    /// The part in which it is told.
    pub section: Section,
    /// Its words.
    pub text: String,
    /// The memories that it rests on, one or more.
    pub sources: Vec<MemoryId>,
}

/// The summary of a category as a model wrote it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Written {
    /// Name of the model.
    pub by: String,
    /// Its lines.
    pub lines: Vec<WrittenLine>,
    /// The memories that it was written from, and when each of them was changed last.
    pub known: HashMap<MemoryId, UtcMillis>,
    /// Those of lines that their words do not support: they are told by their own words.
    #[serde(default)]
    pub unsupported: HashSet<MemoryId>,
}

impl Written {
    /// Returns the lines whose sources are members of the category, hold uncontested, and were not changed since, each with its sources.
    pub fn standing<'w, 'i>(&'w self, category: &Category, items: &'i [Item<'i>]) -> Vec<(&'w WrittenLine, Vec<&'i Item<'i>>)> {
        let places: HashMap<MemoryId, usize> = category.members.iter().map(|member| (member.id, member.item)).collect();
        let of = |source: &MemoryId| {
            let item = places.get(source).and_then(|at| items.get(*at));
            item.filter(|item| item.memory.status == Status::Holds && self.knows(item))
        };
        let stands = |line: &'w WrittenLine| {
            let sources: Option<Vec<&Item<'_>>> = line.sources.iter().map(of).collect();
            Some((line, sources.filter(|sources| !sources.is_empty())?))
        };
        self.lines.iter().filter_map(stands).collect()
    }

    /// Returns the members of the category that may be told and that no standing line can be about: those that the model does not know as
    /// they are now, and those of lines that fell. Most relevant first.
    pub fn unknown(&self, category: &Category, items: &[Item<'_>]) -> Vec<Member> {
        let standing = self.standing(category, items);
        let stands = |line: &&WrittenLine| standing.iter().any(|(known, _)| known == line);
        let fallen: HashSet<MemoryId> =
            self.lines.iter().filter(|line| !stands(line)).flat_map(|line| line.sources.iter().copied()).collect();
        let is_new = |item: &Item<'_>| {
            let is_told = item.memory.status == Status::Holds && section_of(item).is_some();
            is_told && (!self.knows(item) || fallen.contains(&item.memory.id))
        };
        category.members.iter().filter(|member| items.get(member.item).is_some_and(is_new)).copied().collect()
    }

    fn knows(&self, item: &Item<'_>) -> bool {
        self.known.get(&item.memory.id) == Some(&item.memory.changed)
    }
}
