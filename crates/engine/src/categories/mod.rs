//! Categories of memories and their summaries, computed from the memories in effect when somebody asks.
//!
//! [`yore_core::category`] has the formulas. Here the memories are read, with their standing and the vectors of the built-in table.
//! A process keeps the tree of categories until a memory changes; a summary is always made anew, from the members of its category and from
//! what a language model wrote about it, if one did (`written`).

mod written;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};
use yore_core::category::{Category, Choice, GENERAL, Item, Member, Summary, chosen, tree};
use yore_core::id::MemoryId;
use yore_core::memory::dynamics::Standing;
use yore_core::memory::{Memory, Status};
use yore_core::relation::Node;
use yore_core::time::UtcMillis;
use yore_sources::project_names::ProjectNames;

use crate::category_trees::Tree;
use crate::embed::StaticTable;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::retrieve::{project_here, projects_named};
use crate::store::{EntityNames, Outlines, ProjectKey, Relations};

pub(crate) use self::written::WritingRun;

/// Most memories that categories are computed from, the last recorded ones.
const MOST_MEMORIES: usize = 20_000;
/// The same for a brief, which a session waits for; the most categories that it names, and the fewest memories of one.
const BRIEF_MEMORIES: usize = 500;
const BRIEF_CATEGORIES: usize = 8;
const BRIEF_MEMBERS: usize = 5;

/// The memories whose categories are wanted. Without projects and `here`: all.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct CategoriesRequest {
    /// Names, ids or directories of projects.
    pub projects: Vec<String>,
    /// The directory whose project is wanted if no projects are named; all memories if it belongs to no known project.
    pub here: Option<ProjectNames>,
}

/// A category without its memories.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CategoryOutline {
    /// Its name, by which it is asked for.
    pub name: String,
    /// Its name as it is shown.
    pub title: String,
    /// A sentence that describes it; of a category that grew, empty.
    pub about: String,
    /// Further names.
    pub aliases: Vec<String>,
    /// Number of its memories.
    pub item_count: usize,
    /// When the last of them was recorded.
    pub last_added: Option<UtcMillis>,
    /// Parts of it.
    pub children: Vec<CategoryOutline>,
}

impl From<&Category> for CategoryOutline {
    fn from(category: &Category) -> Self {
        Self {
            name: category.name.clone(),
            title: category.title.clone(),
            about: category.about.clone(),
            aliases: category.aliases.clone(),
            item_count: category.members.len(),
            last_added: category.last_added(),
            children: category.children.iter().map(Self::from).collect(),
        }
    }
}

/// A category with its summary and its memories.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CategorySummary {
    /// The category.
    pub category: CategoryOutline,
    /// Its summary.
    pub summary: Summary,
    /// Its memories, most relevant first.
    pub members: Vec<Member>,
}

/// A summary that was chosen for a subject.
pub(crate) struct SubjectSummary {
    /// Name of the category.
    pub name: String,
    /// Its summary.
    pub summary: Summary,
    /// True if the summary answers a question for all that is known of the subject.
    pub is_sufficient: bool,
}

/// The memories that categories are computed from, with all that belongs to them.
pub(crate) struct Known {
    pub memories: Vec<Memory>,
    entities: HashMap<MemoryId, Vec<String>>,
    /// The statement whose place each took last, and until when that held.
    replaced: HashMap<MemoryId, (String, Option<UtcMillis>)>,
    standings: Vec<Standing>,
    vectors: Vec<Option<[f32; StaticTable::DIMENSIONS]>>,
    against: HashMap<MemoryId, Vec<(MemoryId, String)>>,
}

impl Known {
    pub fn items<'a>(&'a self) -> Vec<Item<'a>> {
        let memories = self.memories.iter().zip(&self.standings).zip(&self.vectors);
        let of = |((memory, standing), vector): ((&'a Memory, &Standing), &'a Option<[f32; StaticTable::DIMENSIONS]>)| Item {
            memory,
            entities: self.entities.get(&memory.id).map(Vec::as_slice).unwrap_or_default(),
            strength: standing.strength,
            vector: vector.as_ref().map(<[f32; StaticTable::DIMENSIONS]>::as_slice),
            replaced: self.replaced.get(&memory.id).map(|(statement, until)| (statement.as_str(), *until)),
            against: self.against.get(&memory.id).map(Vec::as_slice).unwrap_or_default(),
        };
        memories.map(of).collect()
    }
}

fn embed(text: &str) -> Option<Vec<f32>> {
    StaticTable::vector_of(text).map(|vector| vector.to_vec())
}

impl Engine {
    /// Returns the categories of the memories in effect: those of the design first, then those that grew, largest first.
    ///
    /// # Errors
    /// If a project is not known, or the store cannot be read.
    pub fn categories(&self, request: &CategoriesRequest) -> Result<Vec<CategoryOutline>, EngineError> {
        let tree = self.category_tree(self.scope_of_categories(request)?.as_deref())?;
        Ok(tree.categories.iter().map(CategoryOutline::from).collect())
    }

    /// Returns the category with a name or alias, whatever the case, with its summary; `None` if there is none.
    ///
    /// # Errors
    /// As [`Self::categories`].
    pub fn category_summary(&self, request: &CategoriesRequest, name: &str) -> Result<Option<CategorySummary>, EngineError> {
        let tree = self.category_tree(self.scope_of_categories(request)?.as_deref())?;
        let name = name.trim().to_lowercase();
        let all = || tree.categories.iter().flat_map(Category::with_children);
        let found = all().find(|category| category.name == name);
        let found = found.or_else(|| all().find(|category| category.aliases.contains(&name)));
        let summarised = |category: &Category| {
            Ok(CategorySummary {
                category: CategoryOutline::from(category),
                summary: self.summary_of_category(&tree, category)?,
                members: category.members.clone(),
            })
        };
        found.map(summarised).transpose()
    }

    /// Returns the summary of the category that a subject means, among the memories of projects (`None`: of all).
    pub(crate) fn summary_of_subject(
        &self,
        projects: Option<&[ProjectKey]>,
        subject: &str,
    ) -> Result<Option<SubjectSummary>, EngineError> {
        let tree = self.category_tree(projects)?;
        let chosen = chosen(&tree.categories, subject, &embed, &|category| self.summary_of_category(&tree, category))?;
        Ok(chosen.map(|Choice { category, summary, is_sufficient, .. }| SubjectSummary {
            name: category.name.clone(),
            summary,
            is_sufficient,
        }))
    }

    /// Returns names and sizes of the largest categories of a project's latest memories, largest first, for a brief.
    pub(crate) fn large_categories(&self, project: ProjectKey) -> Result<Vec<(String, usize)>, EngineError> {
        let known = self.known_for_categories(Some(&[project]), BRIEF_MEMORIES)?;
        let tree = tree(&known.items(), &embed);
        let large = tree.into_iter().filter(|category| category.members.len() >= BRIEF_MEMBERS && category.name != GENERAL);
        let mut large: Vec<(String, usize)> = large.map(|category| (category.name, category.members.len())).collect();
        large.sort_by_key(|(_, members)| std::cmp::Reverse(*members));
        large.truncate(BRIEF_CATEGORIES);
        Ok(large)
    }

    pub(crate) fn scope_of_categories(&self, request: &CategoriesRequest) -> Result<Option<Vec<ProjectKey>>, EngineError> {
        if !request.projects.is_empty() {
            return Ok(Some(projects_named(self.store(), &request.projects)?));
        }
        let here = request.here.as_ref().map(|here| project_here(self.store(), here)).transpose()?;
        Ok(here.flatten().map(|project| vec![project]))
    }

    /// Returns the categories of the memories of projects: the kept ones if no memory changed since they were computed.
    pub(crate) fn category_tree(&self, projects: Option<&[ProjectKey]>) -> Result<Arc<Tree>, EngineError> {
        let (stamp, now) = (self.store().memory_stamp()?, self.now());
        let mut kept = self.kept_trees().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.current(projects, stamp, now) {
            return Ok(known);
        }
        // Callers that ask meanwhile wait for this tree instead of computing it as well.
        let known = self.known_for_categories(projects, MOST_MEMORIES)?;
        let categories = tree(&known.items(), &embed);
        let project = projects.and_then(|projects| if let [only] = projects { Some(*only) } else { None });
        let tree = Arc::new(Tree { project, categories, memories: known.memories.iter().map(|memory| memory.id).collect() });
        kept.keep(projects, stamp, now, &tree);
        Ok(tree)
    }

    /// Reads the memories in effect of projects, and those that hold everywhere, that are so now.
    fn known_for_categories(&self, projects: Option<&[ProjectKey]>, limit: usize) -> Result<Known, EngineError> {
        self.known_of(Outlines::InEffect(projects, limit))
    }

    fn known_of(&self, wanted: Outlines<'_>) -> Result<Known, EngineError> {
        let now = self.now();
        let outlines = self.store().outlines(wanted)?;
        let mut memories: Vec<Memory> = outlines.iter().map(|outline| (**outline).clone()).collect();
        memories.retain(|memory| memory.is_valid_at(now) && !memory.is_closed());
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let mut vitals = self.store().vitals_of(&ids)?;
        let mut standings = Vec::with_capacity(memories.len());
        for memory in &mut memories {
            let known = vitals.remove(&memory.id).unwrap_or_default();
            memory.tags.clone_from(&known.tags);
            standings.push(self.standing_by(memory, &known, now));
        }
        let mut entities: HashMap<MemoryId, Vec<String>> = HashMap::new();
        for entity in self.store().entity_names(EntityNames::OfMemories(&ids), false)? {
            if let Ok(memory) = entity.looked_for.parse() {
                entities.entry(memory).or_default().push(entity.name);
            }
        }
        let vectors = memories.iter().map(|memory| StaticTable::vector_of(&memory.statement)).collect();
        Ok(Known { standings, vectors, entities, memories, against: HashMap::new(), replaced: HashMap::new() })
    }

    /// Computes the summary of a category from its members, with the statements that these replaced and that contradict them.
    fn summary_of_category(&self, tree: &Tree, category: &Category) -> Result<Summary, EngineError> {
        let (category, known) = self.members_of_category(tree, category)?;
        let written = tree.project.map(|project| self.written_summary(project, &category.name)).transpose()?.flatten();
        Ok(category.summary(&known.items(), written.as_ref()))
    }

    /// Reads the members of a category, with the statements that these replaced and that contradict them. Returns the category with its
    /// members placed among them, and without its parts.
    pub(crate) fn members_of_category(&self, tree: &Tree, category: &Category) -> Result<(Category, Known), EngineError> {
        let ids: Vec<MemoryId> = category.members.iter().map(|member| member.id).collect();
        let known = self.known_of(Outlines::Ids(&ids))?;
        let known = Known { against: self.against(tree, &known.memories)?, replaced: self.replaced(&known.memories)?, ..known };
        let places: HashMap<MemoryId, usize> = known.memories.iter().enumerate().map(|(at, memory)| (memory.id, at)).collect();
        let placed = |member: &Member| Some(Member { item: *places.get(&member.id)?, ..*member });
        let members = category.members.iter().filter_map(placed).collect();
        Ok((Category { members, children: Vec::new(), ..category.clone() }, known))
    }

    /// Returns the memories of a tree that contradict some, with their statements.
    fn against(&self, tree: &Tree, memories: &[Memory]) -> Result<HashMap<MemoryId, Vec<(MemoryId, String)>>, EngineError> {
        let mut statements: HashMap<MemoryId, String> =
            memories.iter().map(|memory| (memory.id, memory.statement.clone())).collect();
        let wanted: HashSet<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let mut against: HashMap<MemoryId, Vec<(MemoryId, String)>> = HashMap::new();
        for relation in self.store().relations(Relations::Contradicting)? {
            let (Node::Memory(one), Node::Memory(other)) = (&relation.from, &relation.to) else { continue };
            for (of, by) in [(one, other), (other, one)] {
                if !wanted.contains(of) || !tree.memories.contains(by) {
                    continue;
                }
                if !statements.contains_key(by)
                    && let Some(memory) = self.told_memory(*by)?
                {
                    statements.insert(*by, memory.statement);
                }
                let known = against.entry(*of).or_default();
                if let Some(statement) = statements.get(by)
                    && known.iter().all(|(id, _)| id != by)
                {
                    known.push((*by, statement.clone()));
                }
            }
        }
        Ok(against)
    }

    /// Returns the statement whose place each of some memories took last, and until when that held.
    fn replaced(&self, memories: &[Memory]) -> Result<HashMap<MemoryId, (String, Option<UtcMillis>)>, EngineError> {
        let places: HashMap<MemoryId, &Memory> = memories.iter().map(|memory| (memory.id, memory)).collect();
        let mut replaced = HashMap::new();
        for relation in self.store().relations(Relations::Superseding)? {
            let (Node::Memory(newer), Node::Memory(older)) = (&relation.from, &relation.to) else { continue };
            let Some(newer) = places.get(newer) else { continue };
            // Statements of another project are not told, nor forgotten ones. The last one stated is kept.
            let older = self.told_memory(*older)?.filter(|older| {
                older.status == Status::Superseded
                    && (older.project == newer.project && older.reach == newer.reach || older.is_global())
            });
            replaced.extend(older.map(|older| (newer.id, (older.statement, older.valid_until))));
        }
        Ok(replaced)
    }
}
