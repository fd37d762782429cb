//! First commits of repositories without a remote, by which a renamed or copied folder is recognised.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::{Store, StoreResult};
use yore_sources::source::first_commit_of;

/// Maximum time that git may take for one repository, here and for a question. One that takes longer is not recognised.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the first commit of the repository with this git directory, if git finds one in time.
pub(crate) fn first_commit(git_directory: &str) -> Option<String> {
    let path = Path::new(git_directory);
    let root = if path.file_name().is_some_and(|name| name == ".git") { path.parent()? } else { path };
    first_commit_of(root, Instant::now() + PATIENCE)
}

/// Records the first commit of each project that has a repository here, but no remote to be recognised by.
pub(crate) fn note_first_commits(store: &Store) -> StoreResult<()> {
    let found: Vec<_> = store
        .projects_without_commit()?
        .into_iter()
        .filter_map(|(project, git_directory)| Some((project, first_commit(&git_directory)?)))
        .collect();
    if found.is_empty() { Ok(()) } else { store.note_first_commits(&found) }
}
