//! Finds the authors of shared memories: of each file the commit that added it first, as the history of the repository names it. Of a
//! text that a team's server has, the server names the member.
//!
//! A person who may push to a repository can write any name and address into a commit. An author is therefore no proof of who wrote a
//! memory; it is what a review of the repository lets pass. Signatures, which programs check, and `.mailmap` are not read.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use yore_core::time::UtcMillis;
use yore_sources::disk::is_missing;
use yore_sources::git::{Git, Stop};

use super::file::is_name;
use super::folder::FOLDER;
use crate::render::text::harmless;

/// Most bytes of the history of the folder: 10,000 files take some 2 MB.
const MOST_OUTPUT: usize = 64 * 1024 * 1024;
/// Most characters of a name and of an email address.
const MOST_CHARS: usize = 100;

/// How an author is known.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum Via {
    /// By a commit of the repository.
    #[default]
    Commit,
    /// As a member of a team, by its server.
    Team {
        /// The team.
        name: String,
        /// True if the member may retire what others share.
        may_retire: bool,
    },
}

/// Author of a file, as the commit that added it or the team's server names them.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Author {
    /// Name, without control characters and those that nobody sees.
    pub name: String,
    /// Email address in lower case: who the author is.
    pub email: String,
    /// Hash of the commit; empty for a member of a team.
    pub commit: String,
    /// When it was written, as it says itself, or when the server got it.
    pub at: UtcMillis,
    /// True if the commit is on the branch that everybody has: whoever may push to it vouches for the name. In a fork's branch, anybody
    /// can write any.
    pub is_proven: bool,
    /// How they are known.
    #[serde(default)]
    pub via: Via,
}

impl Author {
    /// Returns whether two files are of one author.
    pub fn is_same(&self, other: &Self) -> bool {
        // A member names their address themselves, so it is no proof that a commit is theirs. git takes commits without an address as well.
        self.team() == other.team() && self.email == other.email && (!self.email.is_empty() || self.name == other.name)
    }

    /// Returns the team as whose member they are known.
    pub fn team(&self) -> Option<&str> {
        match &self.via {
            Via::Commit => None,
            Via::Team { name, .. } => Some(name),
        }
    }

    /// Returns whether they may retire what others share, if the person accepted them.
    pub fn may_retire(&self) -> bool {
        matches!(self.via, Via::Commit | Via::Team { may_retire: true, .. })
    }
}

/// Returns the authors who added each file that the folder has or had, by names without `.md`, each in their earliest commit. Files that are not committed have none,
/// nor have those of a shallow clone's oldest commits, which have the files of all commits before them.
///
/// # Errors
/// git fails, is not installed, or does not end by `until`.
pub fn authors(root: &Path, until: Option<Instant>) -> io::Result<HashMap<String, Vec<Author>>> {
    if !root.ancestors().any(|above| above.join(".git").exists()) {
        return Ok(HashMap::new());
    }
    let git = match until {
        Some(until) => Git::until(root, until),
        None => Git::at(root),
    };
    let boundary = boundary(&git, root)?;
    if !has_commit(&git, "HEAD")? {
        return Ok(HashMap::new());
    }
    let everybodys = everybodys_branch(&git)?;
    let mut found = HashMap::new();
    if let Some(branch) = everybodys {
        added(&git, &[branch], &boundary, true, &mut found)?;
        added(&git, &["HEAD", "--not", branch], &boundary, false, &mut found)?;
    } else {
        added(&git, &["HEAD"], &boundary, false, &mut found)?;
    }
    Ok(found)
}

/// Returns the files of the folder on the branch that everybody has, by names without `.md`.
///
/// # Errors
/// As [`authors`].
pub fn files_of_everybody(root: &Path, until: Option<Instant>) -> io::Result<Vec<String>> {
    if !root.ancestors().any(|above| above.join(".git").exists()) {
        return Ok(Vec::new());
    }
    let git = match until {
        Some(until) => Git::until(root, until),
        None => Git::at(root),
    };
    let Some(branch) = everybodys_branch(&git)?.filter(|branch| *branch != "HEAD") else { return Ok(Vec::new()) };
    let (mut listed, folder) = (Vec::new(), format!("{FOLDER}/"));
    git.run(&["ls-tree", "--name-only", branch, "--", &folder], MOST_OUTPUT, &mut listed)?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let names = listed.lines().filter_map(|path| path.strip_prefix(&folder)?.strip_suffix(".md"));
    Ok(names.filter(|name| is_name(name)).map(str::to_owned).collect())
}

/// Returns whether a name leads to a commit.
fn has_commit(git: &Git<'_>, name: &str) -> io::Result<bool> {
    match git.run(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")], MOST_OUTPUT, &mut Vec::new()) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns the branch that everybody has: the main one of `origin`; without any remote, the person's own. `None`: it is not known.
fn everybodys_branch(git: &Git<'_>) -> io::Result<Option<&'static str>> {
    for name in ["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"] {
        if has_commit(git, name)? {
            return Ok(Some(name));
        }
    }
    let mut remotes = Vec::new();
    git.run(&["for-each-ref", "--count=1", "refs/remotes"], MOST_OUTPUT, &mut remotes)?;
    Ok(if remotes.is_empty() { Some("HEAD") } else { None })
}

/// Reads who added which files in some commits.
fn added(
    git: &Git<'_>,
    commits: &[&str],
    boundary: &HashSet<String>,
    is_proven: bool,
    found: &mut HashMap<String, Vec<Author>>,
) -> io::Result<()> {
    let mut log = Vec::new();
    let arguments = [
        "log",
        // All parents of a merge, the first commit, and what a merge itself adds, whatever the person's settings are.
        "--full-history",
        "--root",
        "-c",
        "--no-follow",
        "--no-renames",
        "--diff-filter=A",
        "--relative",
        "--name-only",
        "--no-color",
        "--encoding=UTF-8",
        "--format=%x01%H%n%at%n%an%n%ae",
    ];
    let arguments = [&arguments, commits, &["--", FOLDER]].concat();
    if git.run(&arguments, MOST_OUTPUT, &mut log)? == Stop::Full {
        // The oldest commits, which count, come last.
        return Err(io::Error::other(format!("the history of {FOLDER} is too long")));
    }
    authors_in(&String::from_utf8_lossy(&log), boundary, is_proven, found);
    Ok(())
}

/// Returns the oldest commits of a shallow clone; none of a whole one.
fn boundary(git: &Git<'_>, root: &Path) -> io::Result<HashSet<String>> {
    let mut path = Vec::new();
    git.run(&["rev-parse", "--git-path", "shallow"], MOST_OUTPUT, &mut path)?;
    match fs::read_to_string(root.join(String::from_utf8_lossy(&path).trim_end_matches(['\r', '\n']))) {
        Ok(commits) => Ok(commits.lines().map(|commit| commit.trim().to_owned()).collect()),
        Err(error) if is_missing(&error) => Ok(HashSet::new()),
        Err(error) => Err(error),
    }
}

/// Reads commits of four lines (hash, time, name, address) and the files that each adds.
fn authors_in(log: &str, boundary: &HashSet<String>, is_proven: bool, found: &mut HashMap<String, Vec<Author>>) {
    let mut author = None;
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        if let Some(commit) = line.strip_prefix('\u{1}') {
            let (at, name, email) = (lines.next(), lines.next(), lines.next());
            author = at.and_then(|at| at.parse::<i64>().ok()).zip(name).zip(email).map(|((at, name), email)| Author {
                name: shown(name),
                email: shown(email).to_lowercase(),
                commit: commit.to_owned(),
                at: at.saturating_mul(1_000),
                is_proven,
                via: Via::Commit,
            });
            continue;
        }
        let name = line.strip_prefix(FOLDER).and_then(|name| name.strip_prefix('/')?.strip_suffix(".md"));
        if let (Some(name), Some(author)) = (name.filter(|name| is_name(name)), &author)
            && !boundary.contains(&author.commit)
        {
            // Anybody can add the same file again, with an earlier date: each is kept.
            let known = found.entry(name.to_owned()).or_default();
            match known.iter_mut().find(|known| known.is_same(author)) {
                // Times and parents need not agree; this order is the same in every clone.
                Some(known) if known.is_proven && !is_proven => {}
                Some(known) if (author.at, &author.commit) < (known.at, &known.commit) => known.clone_from(author),
                Some(_) => {}
                None => known.push(author.clone()),
            }
        }
    }
}

/// Returns a name or an address of a commit, or of a member of a team, as it may be shown.
pub(super) fn shown(text: &str) -> String {
    harmless(&text.replace('\t', " ")).trim().chars().take(MOST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::shared::file::name_of;

    /// A repository, in which anybody commits at any time.
    struct Repository {
        root: PathBuf,
        _place: Option<tempfile::TempDir>,
    }

    const MIRA: &str = "Mira Osei <mira@tides.example>";
    const PIER: &str = "Pier <pier@tides.example>";

    impl Repository {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let repository = Self { root: place.path().join("tide"), _place: Some(place) };
            fs::create_dir(&repository.root).unwrap();
            repository.git(&["init", "-q", "-b", "main"]);
            repository
        }

        fn at(root: PathBuf) -> Self {
            Self { root, _place: None }
        }

        fn command(&self) -> Command {
            let mut git = Command::new("git");
            git.current_dir(&self.root).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
            git
        }

        fn git(&self, arguments: &[&str]) -> String {
            let output =
                self.command().args(["-c", "user.name=Com Mitter", "-c", "user.email=c@x.example"]).args(arguments).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }

        /// Writes the file of a content; returns its name.
        fn put(&self, content: &str) -> String {
            let name = name_of(content);
            fs::create_dir_all(self.root.join(FOLDER)).unwrap();
            fs::write(self.path(&name), content).unwrap();
            name
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.join(FOLDER).join(format!("{name}.md"))
        }

        fn commit(&self, author: &str, at: i64) -> String {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "--allow-empty", "-m", "x", "--author", author, "--date", &format!("@{at} +0100")]);
            self.git(&["rev-parse", "HEAD"])
        }

        /// The earliest author of each file.
        fn authors(&self) -> HashMap<String, Author> {
            let all = authors(&self.root, Some(Instant::now() + Duration::from_secs(60))).unwrap();
            let earliest = |authors: Vec<Author>| authors.into_iter().min_by_key(|author| (author.at, author.commit.clone()));
            all.into_iter().filter_map(|(name, authors)| Some((name, earliest(authors)?))).collect()
        }

        fn names(&self) -> HashMap<String, String> {
            self.authors().into_iter().map(|(name, author)| (name, author.name)).collect()
        }
    }

    fn expected(rows: &[(&String, &str)]) -> HashMap<String, String> {
        rows.iter().map(|(name, author)| ((*name).clone(), (*author).to_owned())).collect()
    }

    #[test]
    fn author_is_who_added_the_file_and_what_is_not_committed_has_none() {
        let repository = Repository::new();
        assert_eq!(repository.authors(), HashMap::new(), "nothing was committed");
        let lamp = repository.put("lamp");
        let first = repository.commit(MIRA, 1_772_352_000);
        // Other files of the folder and of the repository tell nothing.
        fs::write(repository.root.join(FOLDER).join("README.md"), "x").unwrap();
        fs::write(repository.root.join(format!("{}.md", name_of("elsewhere"))), "x").unwrap();
        let rope = repository.put("rope");
        repository.commit(PIER, 1_772_352_060);
        fs::write(repository.path(&lamp), "edited").unwrap();
        repository.commit(PIER, 1_772_352_120);
        repository.put("not committed");
        repository.put("staged");
        repository.git(&["add", "-A"]);
        assert_eq!(repository.names(), expected(&[(&lamp, "Mira Osei"), (&rope, "Pier")]));
        let author = Author {
            name: "Mira Osei".into(),
            email: "mira@tides.example".into(),
            commit: first,
            at: 1_772_352_000_000,
            is_proven: true,
            via: Via::Commit,
        };
        assert_eq!(repository.authors()[&lamp], author);
    }

    #[test]
    fn earliest_of_several_commits_counts_in_whatever_order_they_were_merged() {
        let repository = Repository::new();
        repository.commit(MIRA, 1);
        repository.git(&["checkout", "-q", "-b", "fix"]);
        let lamp = repository.put("lamp");
        repository.commit(PIER, 200);
        repository.git(&["checkout", "-q", "main"]);
        repository.put("lamp");
        let rope = repository.put("rope");
        repository.commit(MIRA, 300);
        repository.git(&["merge", "-q", "--no-ff", "--no-commit", "fix"]);
        // Somebody adds a file in the merge itself.
        let reef = repository.put("reef");
        repository.commit(MIRA, 400);
        let rows = [(&lamp, "Pier"), (&rope, "Mira Osei"), (&reef, "Mira Osei")];
        assert_eq!(repository.names(), expected(&rows));
        // Added again by another author: the first one wrote it.
        fs::remove_file(repository.path(&rope)).unwrap();
        repository.commit(MIRA, 500);
        repository.put("rope");
        repository.commit(PIER, 600);
        assert_eq!(repository.names(), expected(&rows));
    }

    #[test]
    fn settings_of_the_repository_change_nothing() {
        let repository = Repository::new();
        let lamp = repository.put("lamp");
        repository.commit(MIRA, 100);
        let before = repository.authors();
        fs::write(repository.root.join(".mailmap"), "Nobody <nobody@x.example> <mira@tides.example>\n").unwrap();
        for (key, value) in [
            ("log.showRoot", "false"),
            ("log.follow", "true"),
            ("log.mailmap", "true"),
            ("log.showSignature", "true"),
            ("log.date", "raw"),
            ("log.diffMerges", "off"),
            ("format.pretty", "oneline"),
            ("color.ui", "always"),
            ("core.quotePath", "true"),
            ("diff.renames", "copies"),
            ("diff.noprefix", "true"),
            ("i18n.logOutputEncoding", "UTF-16"),
            ("gpg.program", "/nowhere/gpg"),
        ] {
            repository.git(&["config", key, value]);
        }
        assert_eq!(repository.authors(), before);
        assert_eq!(before[&lamp].email, "mira@tides.example");
    }

    #[test]
    fn folder_below_the_root_of_the_repository_has_its_own_authors() {
        let repository = Repository::new();
        repository.put("outer");
        let below = Repository::at(repository.root.join("Küche"));
        fs::create_dir(&below.root).unwrap();
        let lamp = below.put("lamp");
        repository.commit(PIER, 100);
        assert_eq!(below.names(), expected(&[(&lamp, "Pier")]));
    }

    #[test]
    fn oldest_commit_of_a_shallow_clone_tells_no_author() {
        let repository = Repository::new();
        repository.put("lamp");
        repository.commit(MIRA, 100);
        let rope = repository.put("rope");
        repository.commit(PIER, 200);
        let clone = Repository::at(repository.root.with_file_name("clone"));
        let url = format!("file://{}", repository.root.display());
        repository.git(&["clone", "-q", "--depth=1", &url, clone.root.to_str().unwrap()]);
        assert_eq!(clone.names(), HashMap::new());
        let reef = clone.put("reef");
        clone.commit(MIRA, 300);
        assert_eq!(clone.names(), expected(&[(&reef, "Mira Osei")]));
        clone.git(&["fetch", "-q", "--unshallow"]);
        assert_eq!(clone.names().len(), 3, "the whole history tells all authors");
        let worktree = Repository::at(clone.root.with_file_name("worktree"));
        clone.git(&["worktree", "add", "-q", "-b", "other", worktree.root.to_str().unwrap()]);
        assert_eq!(worktree.names().get(&rope).map(String::as_str), Some("Pier"));
    }

    #[test]
    fn names_cannot_paint_a_terminal_nor_pretend_to_be_lines() {
        let repository = Repository::new();
        let lamp = repository.put("lamp");
        let name = format!("\u{1}Mi\u{1b}[2J\u{202e}ra\u{9b} {}", "x".repeat(200));
        repository.commit(&format!("{name} <MIRA@\u{7}Tides.example>"), 100);
        let author = &repository.authors()[&lamp];
        assert!(author.name.starts_with("Mi[2Jra xxx"), "{author:?}");
        assert_eq!((author.name.chars().count(), author.email.as_str()), (MOST_CHARS, "mira@tides.example"));
    }

    #[test]
    fn without_an_address_the_name_is_the_author() {
        let author = |name: &str, email: &str| Author {
            name: name.into(),
            email: email.into(),
            commit: "c".into(),
            at: 0,
            is_proven: true,
            via: Via::Commit,
        };
        assert!(author("Mira", "m@x").is_same(&author("M. Osei", "m@x")));
        assert!(!author("Mira", "m@x").is_same(&author("Mira", "p@x")));
        assert!(author("Mira", "").is_same(&author("Mira", "")) && !author("Mira", "").is_same(&author("Pier", "")));
    }

    #[test]
    fn without_a_repository_there_are_no_authors_and_a_broken_one_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(authors(place.path(), None).unwrap(), HashMap::new());
        fs::create_dir(place.path().join(".git")).unwrap();
        assert!(authors(place.path(), None).unwrap_err().to_string().contains("git failed"));
        let repository = Repository::new();
        repository.put("lamp");
        repository.commit(MIRA, 100);
        assert_eq!(authors(&repository.root, Some(Instant::now())).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
