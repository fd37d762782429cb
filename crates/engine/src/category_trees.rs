//! [`KeptTrees`]: the trees of categories that a process computed last, for as long as nothing changes them.

use std::collections::HashSet;
use std::sync::Arc;

use yore_core::category::Category;
use yore_core::id::MemoryId;
use yore_core::time::UtcMillis;

use crate::store::{MemoryStamp, ProjectKey};

/// Most trees that are kept: of one project each, or of all.
const MOST: usize = 4;
/// Age of a tree from which on it is computed anew: what holds changes with time as well.
const OLD_MS: UtcMillis = 600_000;

/// Categories, and the memories that they were computed from.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The project, if they are of one.
    pub project: Option<ProjectKey>,
    /// The categories.
    pub categories: Vec<Category>,
    /// All memories that they were computed from.
    pub memories: HashSet<MemoryId>,
}

/// The last trees, the newest first.
#[derive(Debug, Default)]
pub(crate) struct KeptTrees(Vec<KeptTree>);

#[derive(Debug)]
struct KeptTree {
    /// The projects; `None`: all.
    projects: Option<Vec<ProjectKey>>,
    stamp: MemoryStamp,
    made: UtcMillis,
    tree: Arc<Tree>,
}

impl KeptTrees {
    /// Returns the tree of projects if no memory changed since it was computed, and forgets those that are no longer so.
    pub fn current(&mut self, projects: Option<&[ProjectKey]>, stamp: MemoryStamp, now: UtcMillis) -> Option<Arc<Tree>> {
        self.0.retain(|kept| kept.stamp == stamp && (0..OLD_MS).contains(&(now - kept.made)));
        self.0.iter().find(|kept| kept.projects.as_deref() == projects).map(|kept| Arc::clone(&kept.tree))
    }

    /// Keeps the tree of projects.
    pub fn keep(&mut self, projects: Option<&[ProjectKey]>, stamp: MemoryStamp, now: UtcMillis, tree: &Arc<Tree>) {
        self.0.truncate(MOST - 1);
        let projects = projects.map(<[ProjectKey]>::to_vec);
        self.0.insert(0, KeptTree { projects, stamp, made: now, tree: Arc::clone(tree) });
    }
}
