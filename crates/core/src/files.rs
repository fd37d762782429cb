//! Ranks the files that were opened in earlier exchanges about the same question.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A file that an exchange opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its name, as [`relative`] gives it.
    pub path: String,
    /// True if it was changed, not only read.
    pub is_written: bool,
}

/// A file, ranked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedFile {
    /// Its name.
    pub path: String,
    /// Score: the votes of exchanges, and a little for a file that is often opened.
    pub score: f32,
    /// Number of the exchanges that changed it.
    pub written: usize,
    /// Number of the exchanges that only read it.
    pub read: usize,
}

/// Added to a hit's rank from 0, so that the first hits do not decide alone.
const RANK_OFFSET: f32 = 3.0;
/// How much an exchange's vote for each file shrinks with every file that it opened.
const SHARED: f32 = 0.15;
/// Weight of the share of all openings that a file has.
const POPULARITY: f32 = 0.5;
/// Folders in which agents keep the worktrees of a project.
const WORKTREES: [&str; 2] = ["/.worktrees/", "/.claude/worktrees/"];

/// Ranks files: each exchange votes for the files that it opened, less the later its rank and the more files it
/// opened; files that are often opened (`popular`: how often, of `total` openings of any file) come before equal ones.
pub fn rank_files(exchanges: &[Vec<Opened>], popular: &[(String, u64)], total: u64) -> Vec<RankedFile> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut files: Vec<RankedFile> = Vec::new();
    let mut add = |path, score, written, read| {
        let at = *places.entry(path).or_insert_with(|| {
            files.push(RankedFile { path: path.to_owned(), score: 0.0, written: 0, read: 0 });
            files.len() - 1
        });
        let file = &mut files[at];
        (file.score, file.written, file.read) = (file.score + score, file.written + written, file.read + read);
    };
    for (rank, opened) in exchanges.iter().enumerate() {
        let vote = 1.0 / (rank as f32 + RANK_OFFSET) / (1.0 + SHARED * opened.len() as f32);
        for Opened { path, is_written } in opened {
            add(path.as_str(), vote, usize::from(*is_written), usize::from(!*is_written));
        }
    }
    for (path, count) in popular {
        add(path.as_str(), POPULARITY * *count as f32 / total.max(1) as f32, 0, 0);
    }
    files.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    files
}

/// Returns a path relative to the directory in which the agent worked, the same for every worktree of a
/// project; a path elsewhere stays as it is.
///
/// ```
/// use yore_core::files::relative;
/// assert_eq!(relative("/home/me/app/src/a.rs", Some("/home/me/app")), "src/a.rs");
/// assert_eq!(relative("/home/me/app/.worktrees/fix/src/a.rs", Some("/home/me/app")), "src/a.rs");
/// assert_eq!(relative("/etc/hosts", Some("/home/me/app")), "/etc/hosts");
/// ```
pub fn relative(path: &str, directory: Option<&str>) -> String {
    let inside_worktree =
        WORKTREES.iter().find_map(|mark| path.split_once(mark)).and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest);
    let inside = || {
        let rest = path.strip_prefix(directory?.trim_end_matches(['/', '\\']))?;
        rest.strip_prefix(['/', '\\'])
    };
    inside_worktree.or_else(inside).unwrap_or(path).to_owned()
}

/// Returns whether a path is the named one, lies below it, or ends with it in whole parts.
pub fn is_path(path: &str, named: &str) -> bool {
    let named = named.trim_matches(['"', '\'']).trim_start_matches("./").trim_end_matches('/');
    if named.is_empty() || named == "." {
        return named == ".";
    }
    let is_end = |path: &str, end: &str| path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'));
    is_end(path, named) || is_end(named, path) || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_named_whole_by_its_end_or_by_a_folder_above_it() {
        for named in
            ["src/crane.rs", "./src/crane.rs", "crane.rs", "src", "src/", ".", "'src/crane.rs'", "/home/dev/quay/src/crane.rs"]
        {
            assert!(is_path("src/crane.rs", named), "{named}");
        }
        for other in ["rane.rs", "sr", "src/lamp.rs", "", "crane"] {
            assert!(!is_path("src/crane.rs", other), "{other}");
        }
    }

    fn opened(path: &str) -> Opened {
        Opened { path: path.to_owned(), is_written: path.ends_with(".rs") }
    }

    #[test]
    fn the_first_exchange_and_few_files_count_most_and_popularity_breaks_ties() {
        let exchanges =
            [vec![opened("a.rs")], vec![opened("b.rs"), opened("c.md"), opened("d.md")], vec![opened("a.rs"), opened("e.rs")]];
        let others = (0..97).map(|at| (format!("other{at}"), 1));
        let popular: Vec<(String, u64)> = others.chain([("d.md".to_owned(), 3)]).collect();
        let ranked = rank_files(&exchanges, &popular, 100);
        let order: Vec<&str> = ranked.iter().take(5).map(|file| file.path.as_str()).collect();
        assert_eq!(order, ["a.rs", "d.md", "b.rs", "c.md", "e.rs"]);
        assert_eq!((ranked[0].written, ranked[0].read), (2, 0));
    }

    #[test]
    fn nothing_opened_is_nothing_ranked() {
        assert!(rank_files(&[], &[], 0).is_empty());
    }
}
