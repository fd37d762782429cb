//! Maps a recorded directory to its project: by the repository's remote, its common git directory, or the directory itself.
//! Worktrees share the common directory; a directory that is gone or in no repository stands for itself.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use yore_core::scope::{ProjectAlias, directory_name, is_within, normalize_directory, normalize_remote, tidy_path};

/// Directories within a repository that hold worktrees made by an agent or a person.
const WORKTREES_WITHIN: [&str; 6] =
    ["/.claude/worktrees/", "/.worktrees/", "/.conductor/", "/.gemini/worktrees/", "/.qwen/worktrees/", "/.kilocode/worktrees/"];
/// Endings of a directory beside a repository that holds its worktrees. The first is taken as such on any
/// computer, the others only if the repository exists.
const WORKTREES_BESIDE: [&str; 3] = [".worktrees/", "-worktrees/", "_worktrees/"];
/// Folders in which a program keeps the worktrees of all repositories, and whether the name of the repository is
/// the first component below (`NAME/ID`) or the second (`ID/NAME`).
const WORKTREES_AWAY: [(&str, bool); 8] = [
    ("/.codex/worktrees/", false),
    ("/.cursor/worktrees/", true),
    ("/.claude-worktrees/", true),
    ("/conductor/workspaces/", true),
    ("/.windsurf/worktrees/", true),
    ("/.superset/worktrees/", true),
    ("/superpowers/worktrees/", true),
    ("/vibe-kanban/worktrees/", false),
];
/// Maximum number of directories checked beside one that is gone.
const MOST_SIBLINGS: usize = 500;

/// Names of a project, most reliable first, each with the form in which it was found, and the display name.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProjectNames {
    /// Aliases, most reliable first.
    pub aliases: Vec<(ProjectAlias, String)>,
    /// Display name.
    pub name: String,
}

impl ProjectNames {
    /// Returns the directory as it was recorded.
    pub fn directory(&self) -> Option<&str> {
        let directory = self.aliases.iter().find(|(alias, _)| matches!(alias, ProjectAlias::Directory(_)));
        directory.map(|(_, recorded)| recorded.as_str())
    }

    /// Returns these names with a remote that a record of the conversation gives. The repository on this computer
    /// decides where it names a remote itself.
    #[must_use]
    pub fn with_remote(mut self, recorded: &str) -> Self {
        let is_known = self.aliases.iter().any(|(alias, _)| matches!(alias, ProjectAlias::Remote(_)));
        if let Some(remote) = normalize_remote(recorded).filter(|_| !is_known) {
            directory_name(&remote).clone_into(&mut self.name);
            self.aliases.insert(0, (ProjectAlias::Remote(remote.clone()), remote));
        }
        self
    }

    /// Returns whether the directory is in a Git repository that is still there.
    pub fn is_in_repository(&self) -> bool {
        self.aliases.iter().any(|(alias, _)| matches!(alias, ProjectAlias::GitDir(_)))
    }

    /// Returns the directories above, nearest first, as a part of which the directory may be known. For a
    /// repository, only those inside it: an unknown repository is a project of its own, whatever directory it
    /// is in.
    pub fn directories_above(&self) -> impl Iterator<Item = &str> {
        let (mut directory, mut repository) = (None, None);
        for (alias, _) in &self.aliases {
            match alias {
                ProjectAlias::Directory(value) => directory = Some(value.as_str()),
                // The git directory of worktrees and submodules is elsewhere: nothing above them is certain.
                ProjectAlias::GitDir(value) => repository = Some(value.strip_suffix("/.git")),
                ProjectAlias::Remote(_) | ProjectAlias::Name(_) => {}
            }
        }
        let is_inside = move |directory: &&str| match repository {
            None => true,
            Some(root) => root.is_some_and(|root| is_within(directory, root)),
        };
        // A conversation in a home directory is not about everything below it.
        std::iter::successors(directory, |directory| above(directory))
            .skip(1)
            .take_while(is_inside)
            .take_while(|directory| !is_home(directory))
    }
}

/// Files of a shell or system, and folders of agents, that identify a home directory.
const HOME_MARKS: [&str; 17] = [
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".bash_history",
    ".zsh_history",
    "NTUSER.DAT",
    ".ssh",
    ".local/share",
    "AppData/Local",
    "Library/Application Support",
    ".claude.json",
    ".claude/projects",
    ".codex/sessions",
    ".gemini/tmp",
    ".copilot/session-state",
    ".qwen/projects",
];

/// Returns whether a directory in key form is a home directory, judged by its path or the files in it.
fn is_home(directory: &str) -> bool {
    let is_by_place = match directory.split('/').collect::<Vec<_>>().as_slice() {
        [_] | ["", ""] | ["", "root"] => true,
        [_, home, _] => home.eq_ignore_ascii_case("home") || home.eq_ignore_ascii_case("users"),
        _ => false,
    };
    is_by_place || HOME_MARKS.iter().any(|mark| Path::new(directory).join(mark).exists())
}

/// Returns the directory above, in key form, or `None` for the topmost.
fn above(directory: &str) -> Option<&str> {
    directory.rsplit_once('/').map(|(above, _)| above).filter(|above| above.len() > 1)
}

/// Looks directories up, each one once.
#[derive(Debug, Default)]
pub struct ProjectResolver {
    known: HashMap<String, ProjectNames>,
}

impl ProjectResolver {
    /// Returns the names of the project that a recorded directory belongs to.
    pub fn resolve(&mut self, cwd: &str) -> &ProjectNames {
        self.known.entry(cwd.to_owned()).or_insert_with(|| names_of(cwd))
    }
}

/// Looks up on disk the names of the project that a recorded directory belongs to.
pub fn names_of(cwd: &str) -> ProjectNames {
    let of_worktree = repository_of_worktree(cwd);
    let cwd = of_worktree.as_deref().unwrap_or(cwd);
    // A symbolic link counts as the directory that it leads to, not as a part of the directory that holds it.
    let real = resolved(cwd);
    let recorded = cwd;
    let cwd = real.as_deref().unwrap_or(cwd);
    let key = normalize_directory(cwd);
    let mut aliases = Vec::new();
    let mut name = directory_name(&tidy_path(cwd)).to_owned();
    if let Some(repository) = find_repository(Path::new(cwd)) {
        let remote = repository.is_whole.then(|| remote_url(&repository.common_directory)).flatten();
        if let Some(remote) = remote.as_deref().and_then(normalize_remote) {
            name = directory_name(&remote).to_owned();
            aliases.push((ProjectAlias::Remote(remote.clone()), remote));
        }
        let common = repository.common_directory.to_string_lossy().into_owned();
        if aliases.is_empty() {
            let root =
                if common.ends_with(".git") { repository.common_directory.parent() } else { Some(repository.root.as_path()) };
            if let Some(root) = root.and_then(Path::file_name).and_then(|name| name.to_str()) {
                name = root.to_owned();
            }
        }
        aliases.push((ProjectAlias::GitDir(normalize_directory(&common)), common));
    }
    let is_in_repository = !aliases.is_empty();
    aliases.push((ProjectAlias::Directory(key), recorded.to_owned()));
    if let Some((place, repository)) = place_of_worktree(recorded).filter(|_| !is_in_repository) {
        aliases.push((ProjectAlias::Directory(normalize_directory(&place)), place));
        name = repository;
    }
    ProjectNames { aliases, name }
}

/// Returns the folder that stands for all worktrees of one repository that a program keeps in its own folder, and
/// the name of the repository. A worktree that is gone tells no more.
fn place_of_worktree(cwd: &str) -> Option<(String, String)> {
    let slashed = tidy_path(cwd);
    let (at, mark, is_name_first) =
        WORKTREES_AWAY.iter().find_map(|(mark, is_name_first)| Some((slashed.find(mark)?, *mark, *is_name_first)))?;
    let below = at + mark.len();
    let mut parts = slashed[below..].split('/').filter(|part| !part.is_empty());
    let (first, second) = (parts.next()?, parts.next()?);
    let name = if is_name_first { first } else { second };
    Some((format!("{}{name}", &slashed[..below]), name.to_owned()))
}

/// Resolves links and `..` if the directory exists. Removes the prefix that Windows puts before such paths.
fn resolved(cwd: &str) -> Option<String> {
    let path = Path::new(cwd);
    let real = path.is_absolute().then(|| path.canonicalize().ok())??.into_os_string().into_string().ok()?;
    Some(match real.strip_prefix(r"\\?\UNC\") {
        Some(share) => format!(r"\\{share}"),
        None => real.strip_prefix(r"\\?\").map_or(real.clone(), str::to_owned),
    })
}

/// Returns the repository of a worktree, if its path or the repository shows it. Worktrees come and go, so
/// conversations in one belong to the repository. For an existing worktree, git decides.
fn repository_of_worktree(cwd: &str) -> Option<String> {
    let path = Path::new(cwd);
    if path.is_absolute() && path.exists() {
        // Git recognises it. For worktrees made by agents the outer repository counts, whatever they hold.
        let within = cwd.replace('\\', "/");
        return within.find(WORKTREES_WITHIN[0]).map(|at| cwd[..at].to_owned());
    }
    named_repository(cwd).or_else(|| recorded_repository(path))
}

/// Returns the repository that a worktree's path names. On this computer the repository must exist. For a
/// path of another computer the ending must be unambiguous, and a home directory is never taken for a
/// repository.
fn named_repository(cwd: &str) -> Option<String> {
    // It has the same length, so offsets in one are valid in the other.
    let slashed = cwd.replace('\\', "/");
    let marks = WORKTREES_WITHIN.iter().chain(&WORKTREES_BESIDE);
    let (at, mark) = marks.filter_map(|mark| Some((slashed.find(mark)?, *mark))).min()?;
    let root = &cwd[..at];
    let path = Path::new(root);
    if path.is_absolute() && path.parent().is_some_and(Path::exists) {
        return path.join(".git").exists().then(|| root.to_owned());
    }
    let is_plain = WORKTREES_WITHIN.contains(&mark) || mark == WORKTREES_BESIDE[0];
    (is_plain && !is_home(&slashed[..at]) && !slashed[..at].ends_with('/')).then(|| root.to_owned())
}

/// Returns the repository that is beside a deleted directory and still records it as its worktree.
fn recorded_repository(cwd: &Path) -> Option<String> {
    if !cwd.is_absolute() {
        return None;
    }
    let gone = cwd.ancestors().take_while(|path| !path.exists()).last()?;
    let recorded = gone.join(".git");
    let siblings = fs::read_dir(gone.parent()?).ok()?.flatten().take(MOST_SIBLINGS);
    let records = |sibling: &Path| {
        let worktrees = fs::read_dir(sibling.join(".git").join("worktrees")).into_iter().flatten().flatten();
        worktrees
            .filter_map(|worktree| read_small(&worktree.path().join("gitdir")))
            .any(|gitdir| Path::new(gitdir.trim()) == recorded)
    };
    siblings.map(|sibling| sibling.path()).find(|sibling| records(sibling))?.to_str().map(str::to_owned)
}

struct Repository {
    root: PathBuf,
    common_directory: PathBuf,
    /// True if git could work here. If not (for example where only a configuration file was unpacked), its
    /// remotes are not trusted.
    is_whole: bool,
}

/// Returns the repository that holds `path`, if both still exist.
fn find_repository(path: &Path) -> Option<Repository> {
    if !path.is_absolute() {
        return None;
    }
    path.ancestors().find_map(|root| {
        let dot_git = root.join(".git");
        let meta = fs::metadata(&dot_git).ok()?;
        let git_directory = if meta.is_dir() {
            dot_git
        } else {
            // In a worktree or submodule `.git` is a file that names the real directory.
            let text = read_small(&dot_git)?;
            let named = root.join(text.strip_prefix("gitdir:")?.trim());
            if knows_worktree(&named, root, &dot_git) { named } else { dot_git }
        };
        let common = match read_small(&git_directory.join("commondir")) {
            Some(relative) => git_directory.join(relative.trim()),
            None => git_directory,
        };
        let is_whole = common.join("HEAD").is_file() && common.join("objects").is_dir();
        let common_directory = common.canonicalize().unwrap_or(common);
        Some(Repository { root: root.to_path_buf(), common_directory, is_whole })
    })
}

/// Returns whether git's own directory confirms that `root` is one of its working trees. A `.git` file alone
/// would make any directory a part of any repository that it names.
fn knows_worktree(git_directory: &Path, root: &Path, dot_git: &Path) -> bool {
    let is_same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    // A worktree is recorded with its `.git` file.
    if let Some(back) = read_small(&git_directory.join("gitdir")) {
        return is_same(&git_directory.join(back.trim()), dot_git);
    }
    // A submodule names its directory. A repository whose git directory was moved elsewhere may not name it,
    // but then that directory is not named `.git`.
    let config = read_small(&git_directory.join("config")).unwrap_or_default();
    let named = config.lines().filter_map(|line| line.trim().split_once('=')).find(|(key, _)| key.trim() == "worktree");
    match named {
        Some((_, worktree)) => is_same(&git_directory.join(worktree.trim().trim_matches('"')), root),
        None => git_directory.join("objects").is_dir() && git_directory.file_name().is_none_or(|name| name != ".git"),
    }
}

/// Returns the URL of `origin`, or else of the first remote.
fn remote_url(git_directory: &Path) -> Option<String> {
    let config = read_small(&git_directory.join("config"))?;
    let mut section = String::new();
    let mut first = None;
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_owned();
        } else if let Some(remote) = section.strip_prefix("remote ") {
            let Some((key, url)) = line.split_once('=') else { continue };
            if key.trim().eq_ignore_ascii_case("url") {
                if remote.trim_matches('"') == "origin" {
                    return Some(url.trim().to_owned());
                }
                first.get_or_insert_with(|| url.trim().to_owned());
            }
        }
    }
    first
}

fn read_small(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() < 1 << 20).then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_share_the_remote_and_the_common_directory() {
        let home = tempfile::tempdir().unwrap();
        let main = home.path().join("tide");
        fs::create_dir_all(main.join(".git/worktrees/fix")).unwrap();
        fs::create_dir_all(main.join(".git/objects")).unwrap();
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(
            main.join(".git/config"),
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:acme/tidepool.git\n",
        )
        .unwrap();
        fs::write(main.join(".git/worktrees/fix/commondir"), "../..\n").unwrap();
        let worktree = home.path().join("tide-fix/src");
        fs::create_dir_all(&worktree).unwrap();
        fs::write(home.path().join("tide-fix/.git"), format!("gitdir: {}\n", main.join(".git/worktrees/fix").display())).unwrap();
        let own = names_of(worktree.to_str().unwrap());
        assert_eq!(own.name, "tide-fix", "the repository does not record it: {own:?}");
        assert!(own.aliases.iter().all(|(alias, _)| !matches!(alias, ProjectAlias::Remote(_))));
        fs::write(main.join(".git/worktrees/fix/gitdir"), format!("{}\n", home.path().join("tide-fix/.git").display())).unwrap();
        let (a, b) = (names_of(main.to_str().unwrap()), names_of(worktree.to_str().unwrap()));
        assert_eq!(a.name, "tidepool");
        assert_eq!(a.aliases[0].0, ProjectAlias::Remote("example.org/acme/tidepool".into()));
        assert_eq!(a.aliases[..2], b.aliases[..2]);
    }

    #[test]
    fn worktree_is_its_repository_where_only_the_path_tells_on_every_system() {
        for worktree in [
            "/nowhere/dev/tide/.claude/worktrees/agent-1/src",
            "/nowhere/dev/tide/.worktrees/fix",
            "/nowhere/dev/tide.worktrees/fix/src",
        ] {
            assert_eq!(names_of(worktree), names_of("/nowhere/dev/tide"), "{worktree}");
        }
        for worktree in
            [r"C:\work\tide\.claude\worktrees\eloquent-shtern", r"C:\work\tide\.worktrees\fix\src", r"C:\work\tide.worktrees\fix"]
        {
            assert_eq!(names_of(worktree), names_of(r"C:\work\tide"), "{worktree}");
        }
        let own = |directory: &str| assert_eq!(names_of(directory).aliases[0].1, directory);
        // A home directory is not a repository, and the directory that holds worktrees is not a worktree.
        for directory in [
            "/home/dev/.worktrees/tide/fix",
            "/Users/dev/.worktrees/fix",
            r"C:\Users\dev\.worktrees\fix",
            "/nowhere/tide-worktrees/fix",
            "/nowhere/tide.worktrees",
            "/nowhere/.worktrees",
            "/nowhere/tide-fix",
        ] {
            own(directory);
        }
    }

    #[test]
    fn worktree_that_is_gone_is_the_repository_beside_it_that_records_it() {
        let home = tempfile::tempdir().unwrap();
        let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
        fs::create_dir_all(path("tide/.git/worktrees/fix")).unwrap();
        fs::write(path("tide/.git/worktrees/fix/gitdir"), format!("{}\n", path("tide-fix/.git"))).unwrap();
        fs::create_dir_all(path("reef/.git")).unwrap();
        assert_eq!(names_of(&path("tide-fix/src")), names_of(&path("tide")));
        assert_eq!(names_of(&path("tide-other")).aliases.len(), 1, "nobody records it");
        assert_eq!(names_of(&path("tide-worktrees/fix")), names_of(&path("tide")));
        fs::create_dir_all(path("loose/.worktrees")).unwrap();
        for none in ["loose/.worktrees/fix", "agent-worktrees/fix", "agent.worktrees/fix"] {
            assert_eq!(names_of(&path(none)).aliases[0].1, path(none), "what is no repository here has no worktrees");
        }
    }

    #[test]
    fn what_is_above_a_repository_is_not_its_project() {
        let home = tempfile::tempdir().unwrap();
        let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
        for directory in ["dev/own/.git/worktrees/fix", "dev/own/src/deep", "dev/loose/src", "dev/fix/src"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        fs::write(path("dev/own/.git/worktrees/fix/commondir"), "../..\n").unwrap();
        fs::write(path("dev/fix/.git"), format!("gitdir: {}\n", path("dev/own/.git/worktrees/fix"))).unwrap();
        fs::write(path("dev/own/.git/worktrees/fix/gitdir"), format!("{}\n", path("dev/fix/.git"))).unwrap();
        let above = |below: &str| -> Vec<String> {
            names_of(&path(below))
                .directories_above()
                .map(str::to_owned)
                .filter(|above| above.starts_with(&path("dev")))
                .collect()
        };
        assert_eq!(above("dev/loose/src"), [path("dev/loose"), path("dev")]);
        assert_eq!(above("dev/own/src/deep"), [path("dev/own/src"), path("dev/own")]);
        assert_eq!(above("dev/own"), [""; 0]);
        assert_eq!(above("dev/fix/src"), [""; 0], "a worktree is known by its repository");
        assert_eq!(names_of("/nowhere/at/all").directories_above().collect::<Vec<_>>(), ["/nowhere/at", "/nowhere"]);
    }

    #[test]
    fn unpacked_files_of_git_make_no_directory_a_part_of_another_repository() {
        let home = tempfile::tempdir().unwrap();
        let path = |below: &str| home.path().join(below).to_str().unwrap().to_owned();
        let config = "[remote \"origin\"]\n\turl = https://git.example.org:8443/acme/alpha.git?private_token=x\n";
        for directory in [
            "alpha/.git/objects",
            "alpha/.git/modules/sub",
            "alpha/sub",
            "alpha/.git/worktrees/fix",
            "evil/one/.git",
            "evil/two",
            "evil/three",
            "evil/four",
        ] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        for (file, text) in [
            ("alpha/.git/HEAD", "ref: refs/heads/main\n"),
            ("alpha/.git/config", config),
            ("alpha/.git/modules/sub/HEAD", "ref: refs/heads/main\n"),
            ("alpha/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n"),
            ("alpha/sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("alpha/.git/worktrees/fix/commondir", "../..\n"),
            ("alpha/.git/worktrees/fix/gitdir", "/somewhere/else/.git\n"),
            ("evil/one/.git/config", config),
            ("evil/two/.git", "gitdir: ../../alpha/.git\n"),
            ("evil/three/.git", "gitdir: ../../alpha/.git/worktrees/fix\n"),
            ("evil/four/.git", "gitdir: ../../alpha/.git/modules/sub\n"),
        ] {
            fs::write(path(file), text).unwrap();
        }
        let alpha = names_of(&path("alpha"));
        assert_eq!(alpha.aliases[0].0, ProjectAlias::Remote("git.example.org:8443/acme/alpha".into()));
        for evil in ["evil/one", "evil/two", "evil/three", "evil/four"] {
            let names = names_of(&path(evil));
            for alias in &names.aliases {
                assert!(!alpha.aliases.contains(alias) && !alias.0.value().contains("alpha"), "{evil}: {names:?}");
            }
            assert_eq!(names.directories_above().count(), 0, "{evil}: it is no part of what holds it either");
        }
        let submodule = names_of(&path("alpha/sub"));
        assert!(submodule.aliases[0].0.value().ends_with("modules/sub"), "{submodule:?}");
    }

    #[cfg(unix)]
    #[test]
    fn link_and_dots_lead_to_the_directory_that_is_meant() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        let path = |below: &str| real.join(below).to_str().unwrap().to_owned();
        fs::create_dir_all(path("w/plain")).unwrap();
        fs::create_dir_all(path("z/other")).unwrap();
        std::os::unix::fs::symlink(path("z/other"), path("w/plain/out")).unwrap();
        let other = ProjectAlias::Directory(path("z/other"));
        for directory in ["w/plain/out", "w/plain/../../z/other", "z/./other/"] {
            let names = names_of(&path(directory));
            assert_eq!(names.aliases.last().unwrap().0, other, "{directory}");
            assert!(names.directories_above().all(|above| !above.ends_with("/w/plain")));
        }
        assert_eq!(names_of("/gone/plain/../../z/other").aliases[0].0, ProjectAlias::Directory("/z/other".into()));
    }

    #[test]
    fn what_is_below_a_home_directory_is_no_part_of_it() {
        let above = |directory: &str| names_of(directory).directories_above().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(above("/home/nobody-here/dev/tide"), ["/home/nobody-here/dev"]);
        assert_eq!(above("/Users/nobody-here/tide"), [""; 0]);
        assert_eq!(above(r"C:\Users\nobody-here\dev\tide"), ["c:/users/nobody-here/dev"]);
        for mark in HOME_MARKS {
            let home = tempfile::tempdir().unwrap();
            let real = home.path().canonicalize().unwrap();
            fs::create_dir_all(real.join("dev/tide")).unwrap();
            fs::create_dir_all(real.join(mark).parent().unwrap()).unwrap();
            fs::write(real.join(mark), "").unwrap();
            assert_eq!(above(real.join("dev/tide").to_str().unwrap()), [real.join("dev").to_str().unwrap()], "{mark}");
        }
    }

    #[test]
    fn worktrees_in_an_agents_own_folder_share_a_project_by_the_name_of_the_repository() {
        for (place, worktrees) in [
            ("/home/nobody-here/.codex/worktrees/pond", [".codex/worktrees/77fe/pond", ".codex/worktrees/12ab/pond/src"]),
            ("/home/nobody-here/.cursor/worktrees/pond", [".cursor/worktrees/pond/x1", ".cursor/worktrees/pond/x2/src"]),
            ("/home/nobody-here/.claude-worktrees/pond", [".claude-worktrees/pond/bold-fox", ".claude-worktrees/pond/shy-owl"]),
            (
                "/home/nobody-here/conductor/workspaces/pond",
                ["conductor/workspaces/pond/oslo", "conductor/workspaces/pond/rome/a"],
            ),
        ] {
            for worktree in worktrees {
                let windows = format!(r"C:\home\nobody-here\{}", worktree.replace('/', r"\"));
                for (directory, drive) in [(format!("/home/nobody-here/{worktree}"), ""), (windows, "c:")] {
                    let names = names_of(&directory);
                    assert_eq!(names.name, "pond", "{directory}");
                    let key = ProjectAlias::Directory(format!("{drive}{place}"));
                    assert_eq!(names.aliases.last().unwrap().0, key, "{directory}");
                    assert_eq!(names.directory(), Some(directory.as_str()), "the directory itself comes first");
                }
            }
        }
        for directory in ["/home/nobody-here/.codex/worktrees/77fe", "/home/nobody-here/conductor/workspaces", "/x/pond"] {
            assert_eq!(names_of(directory).aliases.len(), 1, "{directory}");
        }
        let home = tempfile::tempdir().unwrap();
        let worktree = home.path().join(".codex/worktrees/77fe/pond");
        fs::create_dir_all(worktree.join(".git/objects")).unwrap();
        let names = names_of(worktree.to_str().unwrap());
        assert!(
            matches!(names.aliases.as_slice(), [(ProjectAlias::GitDir(_), _), (ProjectAlias::Directory(_), _)]),
            "git decides: {names:?}"
        );
    }

    #[test]
    fn recorded_remote_is_a_name_unless_the_repository_tells_another() {
        let names = names_of("/nowhere/tide").with_remote("git@example.org:acme/pool.git");
        assert_eq!(names.aliases[0].0, ProjectAlias::Remote("example.org/acme/pool".into()));
        assert_eq!(names.name, "pool");
        assert_eq!(names.clone().with_remote("https://example.org/acme/fork"), names);
        assert_eq!(names_of("/nowhere/tide").with_remote("/srv/pool.git"), names_of("/nowhere/tide"), "a path is no remote");
    }

    #[test]
    fn directory_that_is_gone_is_its_own_project() {
        let names = names_of("/nowhere/at/all/tide/");
        assert_eq!(names.aliases, [(ProjectAlias::Directory("/nowhere/at/all/tide".into()), "/nowhere/at/all/tide/".into())]);
        assert_eq!(names.name, "tide");
    }
}
