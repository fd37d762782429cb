//! The filter of every index: [`CompiledFilter`] holds the conditions as rows, [`Evaluator`] decides them row by row. Each index
//! provides the values from its own columns through [`FilterValues`], so that all of them find the same turns and memories. To
//! add a condition, add a field, a value, and a line in [`Evaluator::passes`].

use std::collections::HashSet;
use std::sync::Arc;

use yore_core::episode::Role;
use yore_core::memory::Status;
use yore_core::time::UtcMillis;

use crate::store::{ItemClass, ItemHead, LabelKey, ProjectKey, RowKey};

/// The conditions that a turn or a memory must meet. `None` matches anything, an empty set nothing.
#[derive(Clone, Debug, Default)]
pub struct CompiledFilter {
    /// Rows of projects.
    pub projects: Option<HashSet<i64>>,
    /// Rows of episodes without a project (0) that pass in addition to those of `projects`; 0 stands for memories.
    pub everywhere: HashSet<i64>,
    /// Rows of branches.
    pub branches: Option<HashSet<i64>>,
    /// Roles of the speakers of turns; memories pass all the same.
    pub roles: Option<Vec<Role>>,
    /// Statuses of memories; turns pass all the same.
    pub statuses: Option<Vec<Status>>,
    /// Keys of memories; turns pass all the same.
    pub memories: Option<Arc<HashSet<i64>>>,
    /// Rows of episodes.
    pub episodes: Option<HashSet<i64>>,
    /// Keys of items.
    pub turns: Option<Arc<HashSet<i64>>>,
    /// Rows of turns to leave out: older versions of notes.
    pub superseded: Option<Arc<HashSet<i64>>>,
    /// Earliest time, inclusive. A turn without time is not found when this or `until` is set.
    pub since: Option<UtcMillis>,
    /// Latest time, exclusive.
    pub until: Option<UtcMillis>,
}

/// Returns keys as the numbers that the columns of the indexes hold.
pub(crate) fn numbers<K: RowKey>(keys: impl IntoIterator<Item = K>) -> HashSet<i64> {
    keys.into_iter().map(RowKey::get).collect()
}

impl CompiledFilter {
    /// Returns the filter that memories of a project (`None`: of none) pass, of any status.
    pub(crate) fn of_memories(project: Option<ProjectKey>) -> Self {
        Self {
            projects: Some(HashSet::from([project.map_or(0, RowKey::get)])),
            roles: Some(Vec::new()),
            statuses: Some(Status::ALL.to_vec()),
            ..Self::default()
        }
    }

    /// Returns the projects, if it has a condition on them.
    pub(crate) fn project_keys(&self) -> Option<Vec<ProjectKey>> {
        Some(self.projects.as_ref()?.iter().copied().map(ProjectKey::new).collect())
    }

    /// Returns whether everything passes.
    pub fn is_open(&self) -> bool {
        // `everywhere` is ignored: without a condition on projects, turns without a project pass too.
        let Self { projects, everywhere: _, branches, roles, statuses, memories, episodes, turns, superseded, since, until } =
            self;
        let is_any_row = projects.is_none() && branches.is_none() && episodes.is_none() && turns.is_none();
        let is_any_class = roles.is_none() && statuses.is_none() && memories.is_none();
        is_any_row && superseded.is_none() && is_any_class && since.is_none() && until.is_none()
    }
}

/// Time of a turn whose time is not known.
pub(crate) const NO_TIME: UtcMillis = UtcMillis::MIN;

fn role_number(role: Role) -> u8 {
    Role::ALL.iter().position(|known| *known == role).unwrap_or(0) as u8
}

/// Numbers from this one on in the column of roles are statuses of memories.
pub(super) const FIRST_STATUS: u8 = 16;

/// Returns the number of a class in the indexes' column of roles.
pub(crate) fn class_number(class: ItemClass) -> u8 {
    match class {
        ItemClass::Turn(role) => role_number(role),
        ItemClass::Memory(status) => FIRST_STATUS + Status::ALL.iter().position(|known| *known == status).unwrap_or(0) as u8,
    }
}

/// The values of an item that a filter compares; row 0 means "none".
pub(crate) trait FilterValues {
    /// Its key as a number.
    fn key(&self) -> i64;
    /// Row of its episode.
    fn episode(&self) -> i64;
    /// Row of its project.
    fn project(&self) -> i64;
    /// Row of its branch.
    fn branch(&self) -> i64;
    /// Number of its class, see [`class_number`].
    fn class(&self) -> u8;
    /// Time when it was said, or [`NO_TIME`].
    fn at(&self) -> UtcMillis;
}

impl FilterValues for ItemHead {
    fn key(&self) -> i64 {
        self.key.get()
    }

    fn episode(&self) -> i64 {
        self.episode.get()
    }

    fn project(&self) -> i64 {
        self.project.map_or(0, ProjectKey::get)
    }

    fn branch(&self) -> i64 {
        self.branch.map_or(0, LabelKey::get)
    }

    fn class(&self) -> u8 {
        class_number(self.class)
    }

    fn at(&self) -> UtcMillis {
        self.at.unwrap_or(NO_TIME)
    }
}

/// Applies a filter to one item after another. Neighbouring turns mostly share project, branch and episode,
/// so the last decision about each is cached.
pub(crate) struct Evaluator<'f> {
    filter: &'f CompiledFilter,
    /// A bit for each class that passes.
    classes: u32,
    is_timed: bool,
    project: LastDecision<(i64, i64)>,
    branch: LastDecision<i64>,
    episode: LastDecision<i64>,
}

impl<'f> Evaluator<'f> {
    pub(crate) fn new(filter: &'f CompiledFilter) -> Self {
        let all_roles = (1 << FIRST_STATUS) - 1;
        let bit = |classes: u32, class: ItemClass| classes | 1 << class_number(class);
        let roles = filter.roles.as_ref().map(|roles| roles.iter().map(|role| ItemClass::Turn(*role)).fold(0, bit));
        let statuses =
            filter.statuses.as_ref().map(|statuses| statuses.iter().map(|status| ItemClass::Memory(*status)).fold(0, bit));
        Self {
            filter,
            classes: roles.unwrap_or(all_roles) | statuses.unwrap_or(!all_roles),
            is_timed: filter.since.is_some() || filter.until.is_some(),
            project: LastDecision::default(),
            branch: LastDecision::default(),
            episode: LastDecision::default(),
        }
    }

    /// Returns whether an item may be found.
    pub(crate) fn passes(&mut self, values: &impl FilterValues) -> bool {
        let filter = self.filter;
        if let Some(projects) = &filter.projects {
            // The episode matters only for turns without a project.
            let project = values.project();
            let is_of_none = project == 0 && !filter.everywhere.is_empty();
            let episode = if is_of_none { values.episode() } else { 0 };
            let passes = || projects.contains(&project) || is_of_none && filter.everywhere.contains(&episode);
            if !self.project.of((project, episode), passes) {
                return false;
            }
        }
        if let Some(branches) = &filter.branches {
            let branch = values.branch();
            if !self.branch.of(branch, || branches.contains(&branch)) {
                return false;
            }
        }
        if self.classes != u32::MAX && self.classes.checked_shr(u32::from(values.class())).unwrap_or(0) & 1 == 0 {
            return false;
        }
        if let Some(episodes) = &filter.episodes {
            let episode = values.episode();
            if !self.episode.of(episode, || episodes.contains(&episode)) {
                return false;
            }
        }
        if self.is_timed {
            let at = values.at();
            let is_in_time = filter.since.is_none_or(|since| at >= since) && filter.until.is_none_or(|until| at < until);
            if at == NO_TIME || !is_in_time {
                return false;
            }
        }
        filter.turns.as_ref().is_none_or(|turns| turns.contains(&values.key()))
            && filter.superseded.as_ref().is_none_or(|superseded| !superseded.contains(&values.key()))
            && filter.memories.as_ref().is_none_or(|memories| values.key() >= 0 || memories.contains(&values.key()))
    }
}

/// The last value and the decision about it.
struct LastDecision<T>(Option<(T, bool)>);

impl<T> Default for LastDecision<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Copy + PartialEq> LastDecision<T> {
    fn of(&mut self, value: T, decide: impl FnOnce() -> bool) -> bool {
        match self.0 {
            Some((last, passes)) if last == value => passes,
            _ => {
                let passes = decide();
                self.0 = Some((value, passes));
                passes
            }
        }
    }
}
