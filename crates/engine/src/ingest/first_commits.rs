//! First commits of repositories without a remote, by which a renamed or copied folder is recognised.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::store::{ProjectChange, Store, StoreResult};
use yore_core::time::UtcMillis;
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
pub(crate) fn note_first_commits(store: &Store, now: UtcMillis) -> StoreResult<()> {
    let found: Vec<_> = store
        .projects()?
        .iter()
        .filter(|known| known.first_commits.is_empty() && known.recorded("remote").next().is_none())
        .flat_map(|known| known.recorded("git_dir").map(|directory| (known.key, directory)))
        .filter_map(|(project, git_directory)| Some((project, first_commit(git_directory)?)))
        .collect();
    found
        .iter()
        .try_for_each(|(project, commit)| store.change_project(ProjectChange::FirstCommit(*project, commit), now).map(drop))
}
