//! The types of categories: the memories that they are computed from, their members, and the parts of a summary.

use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::memory::Memory;
use crate::time::UtcMillis;

/// A memory of a category has a relevance above this.
pub const LEAST_RELEVANCE: f32 = 0.5;
/// Name of the category of what belongs to no other.
pub const GENERAL: &str = "general";

/// A memory in effect, with what its categories and their summaries are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The record, with its tags.
    pub memory: &'a Memory,
    /// Names of the entities that it is about.
    pub entities: &'a [String],
    /// The share of its strength that is left, 0 to 1.
    pub strength: f32,
    /// The vector of its words, of length 1; `None`: nothing is known of its meaning.
    pub vector: Option<&'a [f32]>,
    /// The statement whose place it took, and until when that held.
    pub replaced: Option<(&'a str, Option<UtcMillis>)>,
    /// The memories that contradict it, and their statements.
    pub against: &'a [(MemoryId, String)],
}

/// A memory in a category.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Member {
    /// Its place among the items.
    pub item: usize,
    /// Its id.
    pub id: MemoryId,
    /// How much it belongs to the category, above .5 and at most 1; 0 in `general`.
    pub relevance: f32,
    /// When it was recorded.
    pub added: UtcMillis,
}

/// A category.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Category {
    /// Its name in lower case, by which it is asked for: unique in the tree.
    pub name: String,
    /// Its name as it is shown.
    pub title: String,
    /// A sentence that describes it; of a category that grew, empty.
    pub about: String,
    /// Further names.
    pub aliases: Vec<String>,
    /// True if it is one of the ten of the design.
    pub is_seed: bool,
    /// Its memories, most relevant first; those of its children are among them.
    pub members: Vec<Member>,
    /// Parts of it.
    pub children: Vec<Category>,
}

impl Category {
    /// Returns when its latest memory was recorded.
    pub fn last_added(&self) -> Option<UtcMillis> {
        self.members.iter().map(|member| member.added).max()
    }

    /// Returns it, and its parts.
    pub fn with_children(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.children)
    }
}

named_enum! {
    /// A part of a summary, in the order in which they are told.
    Section {
        /// Statements that are so.
        Holds = "holds",
        /// Decisions.
        Decisions = "decisions",
        /// Rules for the work.
        Rules = "rules",
        /// Solutions of problems.
        Solutions = "solutions",
        /// Open points.
        Open = "open",
        /// Events.
        Events = "events",
    }
}

impl Section {
    /// Returns its heading.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Holds => "What holds",
            Self::Decisions => "Decisions",
            Self::Rules => "Rules",
            Self::Solutions => "Solutions",
            Self::Open => "Open points",
            Self::Events => "What happened",
        }
    }

    /// Returns what a line of it is; `None`: a statement like any other.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::Holds => None,
            Self::Decisions => Some("decision"),
            Self::Rules => Some("rule"),
            Self::Solutions => Some("solution"),
            Self::Open => Some("open"),
            Self::Events => Some("happened"),
        }
    }

    /// Returns the most lines that it has.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Holds | Self::Decisions => 4,
            Self::Rules | Self::Open => 3,
            Self::Solutions => 3,
            Self::Events => 2,
        }
    }
}

/// Returns a category with these items and their relevances as its members.
pub(super) fn with_members(category: Category, items: &[Item<'_>], members: impl Iterator<Item = (usize, f32)>) -> Category {
    let member = |(item, relevance): (usize, f32)| {
        let memory = items[item].memory;
        Member { item, id: memory.id, relevance: relevance.min(1.0), added: memory.recorded }
    };
    let mut members: Vec<Member> = members.map(member).collect();
    members.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.id.cmp(&b.id)));
    Category { members, ..category }
}

/// Returns a name in the form in which it is shown: with a capital letter.
pub(super) fn shown(name: &str) -> String {
    if name == "api" {
        return "API".to_owned();
    }
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
