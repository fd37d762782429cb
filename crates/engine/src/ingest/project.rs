//! Which project a recorded directory belongs to: the repository's remote, its common directory
//! (which worktrees share), or, when the directory is gone or no repository, the directory itself.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use yore_core::scope::{ProjectAlias, directory_name, is_within, normalize_directory, normalize_remote};

/// Below a repository: worktrees that the client made for itself.
const CLIENT_WORKTREES: &str = "/.claude/worktrees/";

/// The names of a project, surest first, each with the form in which it was met, and the name to
/// give to it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProjectNames {
    /// Aliases, surest first.
    pub aliases: Vec<(ProjectAlias, String)>,
    /// A name for people.
    pub name: String,
}

impl ProjectNames {
    /// The directories above, nearest first, as a part of which the directory may be known. Of a
    /// repository only those inside of it: one that nobody knows is a project of its own, whatever it
    /// was put into.
    pub fn directories_above(&self) -> impl Iterator<Item = &str> {
        let mut directory = None;
        let mut repository = None;
        for (alias, _) in &self.aliases {
            match alias {
                ProjectAlias::Directory(value) => directory = Some(value.as_str()),
                // Worktrees and submodules have theirs elsewhere: nothing above them is sure.
                ProjectAlias::GitDir(value) => repository = Some(value.strip_suffix("/.git")),
                ProjectAlias::Remote(_) | ProjectAlias::Name(_) => {}
            }
        }
        let is_inside = move |directory: &&str| match repository {
            None => true,
            Some(root) => root.is_some_and(|root| is_within(directory, root)),
        };
        std::iter::successors(directory, |directory| above(directory)).skip(1).take_while(is_inside)
    }
}

/// The directory above, in key form; none above the first.
fn above(directory: &str) -> Option<&str> {
    directory.rsplit_once('/').map(|(above, _)| above).filter(|above| above.len() > 1)
}

/// Looks directories up, each once.
#[derive(Debug, Default)]
pub(crate) struct ProjectResolver {
    known: HashMap<String, ProjectNames>,
}

impl ProjectResolver {
    /// The names of the project that a recorded directory belongs to.
    pub(crate) fn resolve(&mut self, cwd: &str) -> &ProjectNames {
        self.known.entry(cwd.to_owned()).or_insert_with(|| names_of(cwd))
    }
}

/// The names of the project that a recorded directory belongs to, looked up on disk.
pub fn names_of(cwd: &str) -> ProjectNames {
    // Claude Code makes worktrees inside the repository and removes them again.
    let cwd = cwd.find(CLIENT_WORKTREES).map_or(cwd, |at| &cwd[..at]);
    let key = normalize_directory(cwd);
    let mut aliases = Vec::new();
    let mut name = directory_name(&key).to_owned();
    if let Some(repository) = find_repository(Path::new(cwd)) {
        if let Some(remote) = remote_url(&repository.common_directory).as_deref().and_then(normalize_remote) {
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
    aliases.push((ProjectAlias::Directory(key), cwd.to_owned()));
    ProjectNames { aliases, name }
}

struct Repository {
    root: PathBuf,
    common_directory: PathBuf,
}

/// The repository that holds `path`, if both still exist.
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
            // A worktree or submodule: a file that names the real directory.
            let text = read_small(&dot_git)?;
            root.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common = match read_small(&git_directory.join("commondir")) {
            Some(relative) => git_directory.join(relative.trim()),
            None => git_directory,
        };
        let common_directory = common.canonicalize().unwrap_or(common);
        Some(Repository { root: root.to_path_buf(), common_directory })
    })
}

/// The URL of `origin`, else of the first remote.
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
        fs::write(
            main.join(".git/config"),
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.org:acme/tidepool.git\n",
        )
        .unwrap();
        fs::write(main.join(".git/worktrees/fix/commondir"), "../..\n").unwrap();
        let worktree = home.path().join("tide-fix/src");
        fs::create_dir_all(&worktree).unwrap();
        fs::write(home.path().join("tide-fix/.git"), format!("gitdir: {}\n", main.join(".git/worktrees/fix").display())).unwrap();
        let (a, b) = (names_of(main.to_str().unwrap()), names_of(worktree.to_str().unwrap()));
        assert_eq!(a.name, "tidepool");
        assert_eq!(a.aliases[0].0, ProjectAlias::Remote("example.org/acme/tidepool".into()));
        assert_eq!(a.aliases[..2], b.aliases[..2]);
    }

    #[test]
    fn worktree_of_the_client_is_its_repository() {
        assert_eq!(names_of("/nowhere/tide/.claude/worktrees/agent-1/src"), names_of("/nowhere/tide"));
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
    fn directory_that_is_gone_is_its_own_project() {
        let names = names_of("/nowhere/at/all/tide/");
        assert_eq!(names.aliases, [(ProjectAlias::Directory("/nowhere/at/all/tide".into()), "/nowhere/at/all/tide/".into())]);
        assert_eq!(names.name, "tide");
    }
}
