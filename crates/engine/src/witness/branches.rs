//! Finds out which branches were merged into the trunk.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use yore_core::time::UtcMillis;

use super::output;
use crate::memories::TRUNKS;
use yore_sources::git::Git;
use yore_sources::source::merged_branch;

/// Longest time for all branches of a repository.
const PATIENCE: Duration = Duration::from_secs(30);
/// Commits of the trunk whose messages are read.
const MOST_COMMITS: &str = "--max-count=20000";
const HEADS: &str = "refs/heads/";
const REMOTE: &str = "refs/remotes/origin/";

/// Returns of each branch whether it was merged after something was said on it: its newest commit is later, and the trunk has it and went
/// on; or a later commit of the trunk says that it merges it. A branch that was squashed is not found. Without a branch that is
/// known to be the trunk, none was merged.
///
/// # Errors
/// It is no repository, or git fails.
pub(super) fn are_merged(root: &Path, branches: &[(String, UtcMillis)]) -> io::Result<Vec<bool>> {
    let git = Git::until(root, Instant::now() + PATIENCE);
    let read = |arguments: &[&str]| output(&git, arguments).map(|found| String::from_utf8_lossy(&found).into_owned());
    let refs =
        read(&["for-each-ref", "--format=%(refname) %(objectname) %(committerdate:unix)", "refs/heads", "refs/remotes/origin"])?;
    let mut tips: HashMap<&str, (&str, i64)> = HashMap::new();
    for line in refs.lines() {
        let mut words = line.rsplitn(3, ' ');
        if let (Some(at), Some(id), Some(name)) = (words.next().and_then(|at| at.parse().ok()), words.next(), words.next()) {
            tips.insert(name, (id, at));
        }
    }
    let known = TRUNKS.iter().flat_map(|name| [format!("{REMOTE}{name}"), format!("{HEADS}{name}")]);
    let trunk = [format!("{REMOTE}HEAD")].into_iter().chain(known).find_map(|name| tips.get(name.as_str()).map(|(id, _)| *id));
    let Some(trunk) = trunk else { return Ok(vec![false; branches.len()]) };
    let contained = read(&["for-each-ref", "--format=%(refname)", "--merged", trunk, "refs/heads", "refs/remotes/origin"])?;
    let contained: HashSet<&str> = contained.lines().collect();
    let log = read(&["log", "--first-parent", "--merges", MOST_COMMITS, "--format=%ct %s", trunk])?;
    let mut merges: Vec<(i64, &str, bool)> = Vec::new();
    for (at, subject) in log.lines().filter_map(|line| line.split_once(' ')) {
        if let (Ok(at), Some(name)) = (at.parse(), merged_branch(subject)) {
            merges.push((at, name, subject.starts_with("Merge pull request ")));
        }
    }
    let is_merged = |(branch, said): &(String, UtcMillis)| {
        let said = said / 1_000;
        let names = [format!("{HEADS}{branch}"), format!("{REMOTE}{branch}")];
        // One that stands where the trunk stands may have nothing of its own yet.
        let is_contained = names.iter().any(|name| {
            let tip = tips.get(name.as_str()).filter(|(id, at)| *id != trunk && *at >= said);
            tip.is_some() && contained.contains(name.as_str())
        });
        let is_told = merges.iter().any(|(at, name, is_request)| {
            // A request names the owner before the branch.
            let name =
                if *is_request { name.split_once('/').map_or(*name, |(_, own)| own) } else { name.trim_start_matches("origin/") };
            *at >= said && name == branch
        });
        is_contained || is_told
    };
    Ok(branches.iter().map(is_merged).collect())
}
