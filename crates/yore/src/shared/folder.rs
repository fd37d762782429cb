//! The folder of a project in which its shared memories lie, one file each: read with every fault, written without overwriting.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use yore_core::scope::{ProjectAlias, normalize_directory};
use yore_sources::disk::is_missing;
use yore_sources::project_names::ProjectNames;

use super::file::{self, MOST_BYTES, SharedFile, is_name, name_of};
use crate::config::PROJECT_FILE;

/// The folder, below the project's root.
pub const FOLDER: &str = ".yore/memories";
/// Most files, and bytes of all files: a repository of a stranger must not fill the memory of this computer.
const MOST_FILES: usize = 10_000;
const MOST_BYTES_OF_ALL: usize = 64 * 1024 * 1024;
/// File that explains the folder.
const README: &str = "README.md";
const EXPLANATION: &str = "\
# Shared memories

Knowledge of this team about its project, for yore, a long-term memory for coding agents: one memory a file, named by its hash.
Review the files like code. None is ever edited: new words are a new file, and so is a retirement, so that merges never conflict.
`yore share --help` tells how to share a memory, retire it and take it back.
";

/// Names of files, without `.md`, and their contents.
pub type Files = Vec<(String, SharedFile)>;

/// A file of the folder that is not as yore writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the file, or the path of the folder.
    pub file: String,
    /// Its fault, in one line.
    pub reason: String,
}

/// The folder of a project's shared memories, whether or not it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Root of the repository, or the directory of `.yore.toml`.
    pub root: PathBuf,
    /// The folder.
    pub path: PathBuf,
}

impl Folder {
    /// Returns the folder of the nearest directory above that is a repository or has a `.yore.toml`; `None` if there is none
    /// below the home directory.
    pub fn of(directory: &Path) -> Option<Self> {
        let directory = std::path::absolute(directory).ok()?;
        let root = directory
            .ancestors()
            .take_while(|above| !is_home(above))
            .find(|above| above.join(".git").exists() || above.join(PROJECT_FILE).is_file())?;
        Some(Self { root: root.to_owned(), path: root.join(FOLDER) })
    }

    /// Returns whether there is something at its place, be it a link, which [`Self::read`] tells.
    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Reads all files: names and contents, sorted by name, and what is wrong with files. A file that has another name than its
    /// content gives is read under the latter: its author is not known then.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn read(&self) -> io::Result<(Files, Vec<Problem>)> {
        if let Some(link) = self.link()? {
            let reason = "it is not a real folder, so nothing in it is read".to_owned();
            return Ok((Vec::new(), vec![Problem { file: link.display().to_string(), reason }]));
        }
        let mut listed: Vec<OsString> = Vec::new();
        match fs::read_dir(&self.path) {
            Ok(entries) => {
                for entry in entries {
                    listed.push(entry?.file_name());
                }
            }
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
        listed.retain(|name| name != README && !name.as_encoded_bytes().starts_with(b"."));
        listed.sort();
        let (mut files, mut problems, mut left) = (BTreeMap::new(), Vec::new(), MOST_BYTES_OF_ALL);
        for (at, name) in listed.iter().enumerate() {
            if at == MOST_FILES || left == 0 {
                let reason = format!("it has too many files: {} are not read", listed.len() - at);
                problems.push(Problem { file: FOLDER.to_owned(), reason });
                break;
            }
            let shown = name.to_string_lossy().into_owned();
            match read_one(&self.path.join(name), &shown, &mut left) {
                Ok((name, file, problem)) => {
                    files.insert(name, file);
                    problems.extend(problem.map(|reason| Problem { file: shown, reason }));
                }
                Err(reason) => problems.push(Problem { file: shown, reason }),
            }
        }
        Ok((files.into_iter().collect(), problems))
    }

    /// Writes a file unless it is there; returns its name without `.md`, and whether it is new. Creates the folder if needed.
    ///
    /// # Errors
    /// The text is too long; the folder is not a real one; a file of this name has other content; it could not be written.
    pub fn write(&self, text: &str) -> io::Result<(String, bool)> {
        if text.len() > MOST_BYTES {
            let kib = MOST_BYTES / 1024;
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("a shared memory is longer than {kib} KiB")));
        }
        self.create()?;
        let name = name_of(text);
        let path = self.path.join(format!("{name}.md"));
        match write_new(&self.path, &path, text) {
            Ok(()) => Ok((name, true)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let known = text_of(&path).map_err(|reason| other_content(&path, &reason))?;
                if name_of(&known) == name { Ok((name, false)) } else { Err(other_content(&path, "it was edited")) }
            }
            Err(error) => Err(error),
        }
    }

    /// Removes a file; returns whether it was there.
    ///
    /// # Errors
    /// The name is not that of a file of yore; the folder is not a real one; the file could not be removed.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        if !is_name(name) {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("{name:?} is not the name of a shared memory")));
        }
        self.refuse_link()?;
        match fs::remove_file(self.path.join(format!("{name}.md"))) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the folder, or the one that holds it, if that is a link or a file: it could lead out of the repository.
    fn link(&self) -> io::Result<Option<&Path>> {
        let outer = self.path.parent().unwrap_or(&self.root);
        for path in [outer, &self.path] {
            match path.symlink_metadata() {
                Ok(meta) if !meta.is_dir() => return Ok(Some(path)),
                Err(error) if !is_missing(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(None)
    }

    fn refuse_link(&self) -> io::Result<()> {
        match self.link()? {
            Some(path) => Err(io::Error::other(format!("{} is not a real folder", path.display()))),
            None => Ok(()),
        }
    }

    /// Creates the folder with its explanation; an existing one stays as it is.
    fn create(&self) -> io::Result<()> {
        self.refuse_link()?;
        if self.path.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&self.path)?;
        match write_new(&self.path, &self.path.join(README), EXPLANATION) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the name by which a project is known in whatever directory: that of its remote, else of its directory.
pub fn project_key(here: &ProjectNames) -> Option<String> {
    here.aliases.first().map(|(alias, _)| match alias {
        ProjectAlias::Remote(value)
        | ProjectAlias::GitDir(value)
        | ProjectAlias::Directory(value)
        | ProjectAlias::Name(value) => value.clone(),
    })
}

/// Returns whether a directory is a home directory, by the rule of [`ProjectNames::directories_above`].
fn is_home(directory: &Path) -> bool {
    let below = normalize_directory(&directory.join("x").to_string_lossy());
    let names = ProjectNames { aliases: vec![(ProjectAlias::Directory(below), String::new())], name: String::new() };
    names.directories_above().next().is_none()
}

/// Reads a file that is listed as `listed`: its name by its content, the content, and a fault that keeps nothing from being read.
fn read_one(path: &Path, listed: &str, left: &mut usize) -> Result<(String, SharedFile, Option<String>), String> {
    let listed = listed.strip_suffix(".md").filter(|name| is_name(name)).ok_or("it is not a file of yore")?;
    let text = text_of(path)?;
    *left = left.saturating_sub(text.len());
    let name = name_of(&text);
    // A statement may speak of conflicts, but then the file is as it was written.
    if name != listed && has_conflict(&text) {
        return Err("it has the marks of a merge conflict: take one side as it was".to_owned());
    }
    let content = file::read(&text)?;
    let problem = (name != listed).then(|| format!("it was edited: its content has the name {name}.md"));
    Ok((name, content, problem))
}

/// Reads a regular file of at most [`MOST_BYTES`] as text; the error says why it is none.
fn text_of(path: &Path) -> Result<String, String> {
    let cannot = |error: io::Error| format!("it cannot be read: {error}");
    let meta = path.symlink_metadata().map_err(cannot)?;
    if meta.is_symlink() {
        return Err("it is a link".to_owned());
    }
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(cannot)?.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() > MOST_BYTES {
        return Err(format!("it is longer than {} KiB", MOST_BYTES / 1024));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Returns whether a text has the marks that git leaves of a conflict.
fn has_conflict(text: &str) -> bool {
    let begins = |mark: &str| text.lines().any(|line| line.starts_with(mark));
    begins("<<<<<<< ") && begins(">>>>>>> ")
}

/// Writes a file whole or not at all, and only if there is none.
fn write_new(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut draft = tempfile::Builder::new();
    draft.prefix(".yore-").suffix(".tmp");
    // It is as readable as the other files of the project.
    #[cfg(unix)]
    draft.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = draft.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

fn other_content(path: &Path, reason: &str) -> io::Error {
    io::Error::new(ErrorKind::AlreadyExists, format!("{} has other content: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::file::{Retirement, SharedMemory};

    fn folder(place: &tempfile::TempDir) -> Folder {
        fs::create_dir(place.path().join(".git")).unwrap();
        Folder::of(place.path()).unwrap()
    }

    fn text(statement: &str) -> String {
        let memory = SharedMemory { statement: statement.to_owned(), ..SharedMemory::default() };
        file::write(&SharedFile::Memory(Box::new(memory)))
    }

    #[test]
    fn folder_is_that_of_the_repository_or_of_the_projects_file() {
        let place = tempfile::tempdir().unwrap();
        let path = |below: &str| place.path().join(below);
        for directory in ["plain", "repository/.git", "repository/src/deep", "worktree", "project/src", "project/own/.git"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        fs::write(path("worktree/.git"), "gitdir: elsewhere\n").unwrap();
        fs::write(path("project/.yore.toml"), "").unwrap();
        let root = |below: &str| Folder::of(&path(below)).map(|folder| folder.root);
        assert_eq!(root("plain"), None);
        assert_eq!(root("repository/src/deep"), Some(path("repository")));
        assert_eq!(root("repository/src/gone"), Some(path("repository")));
        assert_eq!(root("worktree"), Some(path("worktree")));
        assert_eq!(root("project/src"), Some(path("project")));
        assert_eq!(root("project/own"), Some(path("project/own")));
        assert_eq!(Folder::of(&path("worktree")).unwrap().path, path("worktree/.yore/memories"));
        // The files of a person's home may be in a repository, but that is no project.
        fs::create_dir(path(".git")).unwrap();
        assert_eq!(root("plain"), Some(place.path().to_owned()));
        fs::write(path(".bashrc"), "").unwrap();
        assert_eq!(root("plain"), None);
        assert_eq!(root("."), None);
        assert_eq!(root("repository"), Some(path("repository")));
    }

    #[test]
    fn file_is_written_once_and_read_and_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        assert!(!folder.exists());
        assert_eq!(folder.read().unwrap(), (Vec::new(), Vec::new()));
        let (lamp, rope) = (text("The lamp is green."), text("The rope is new."));
        let (name, is_new) = folder.write(&lamp).unwrap();
        assert!(is_new && folder.exists());
        assert_eq!(folder.write(&lamp).unwrap(), (name.clone(), false));
        let readme = fs::read_to_string(folder.path.join(README)).unwrap();
        assert!(readme.contains("yore share --help") && readme.lines().count() <= 6, "{readme}");
        // What somebody removed stays removed.
        fs::remove_file(folder.path.join(README)).unwrap();
        let retirement = Retirement { memory: name.clone(), by: None, reason: None };
        folder.write(&rope).unwrap();
        folder.write(&file::write(&SharedFile::Retired(retirement))).unwrap();
        let (files, problems) = folder.read().unwrap();
        assert_eq!(problems, []);
        assert_eq!(files.len(), 3);
        assert!(files.is_sorted_by(|one, next| one.0 < next.0));
        assert!(files.iter().any(|(known, file)| *known == name && *file == file::read(&lamp).unwrap()));
        let entries: Vec<_> = fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(entries.len(), 3, "no draft is left: {entries:?}");
        assert!(folder.remove(&name).unwrap());
        assert!(!folder.remove(&name).unwrap());
        assert_eq!(folder.read().unwrap().0.len(), 2);
        assert_eq!(folder.remove("../../x").unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(folder.write(&"x".repeat(MOST_BYTES + 1)).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[cfg(unix)]
    #[test]
    fn file_is_as_readable_as_the_others_of_the_project() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        let (name, _) = folder.write(&text("The lamp is green.")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let plain = place.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&folder.path.join(format!("{name}.md"))), mode(&plain));
        assert_eq!(mode(&folder.path.join(README)), mode(&plain));
    }

    #[test]
    fn file_with_other_content_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        let lamp = text("The lamp is green.");
        let (name, _) = folder.write(&lamp).unwrap();
        let path = folder.path.join(format!("{name}.md"));
        fs::write(&path, lamp.replace('\n', "\r\n")).unwrap();
        assert_eq!(folder.write(&lamp).unwrap(), (name, false), "git on Windows may write other ends of lines");
        assert_eq!(folder.read().unwrap().1, []);
        fs::write(&path, lamp.replace("green", "red")).unwrap();
        let error = folder.write(&lamp).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("it was edited"), "{error}");
        assert!(fs::read_to_string(&path).unwrap().contains("red"));
    }

    #[test]
    fn every_fault_is_told_and_hides_no_other_file() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        let (lamp, rope, reef) = (text("The lamp is green."), text("The rope is new."), text("<<<<<<< ours\n>>>>>>> theirs"));
        folder.write(&lamp).unwrap();
        folder.write(&reef).unwrap();
        let hash = |digit: &str| format!("{}.md", digit.repeat(32));
        let put = |name: &str, bytes: &[u8]| fs::write(folder.path.join(name), bytes).unwrap();
        put("notes.md", b"");
        put(&"a".repeat(32), b"");
        put(&hash("A"), b"");
        put(".hidden", b"");
        put(&hash("0"), rope.as_bytes());
        put(&hash("1"), b"---\nyore: shared\nkind: rumour\n---\nx\n");
        put(&hash("2"), &[0xff, 0xfe]);
        put(&hash("3"), &vec![b' '; MOST_BYTES + 1]);
        put(&hash("4"), lamp.replace("green", "\n<<<<<<< ours\nred\n=======\nblue\n>>>>>>> theirs").as_bytes());
        // Twice the same content is one memory.
        put(&hash("5"), lamp.as_bytes());
        fs::create_dir(folder.path.join(hash("6"))).unwrap();
        let (files, problems) = folder.read().unwrap();
        let mut names: Vec<String> = [&lamp, &rope, &reef].iter().map(|text| name_of(text)).collect();
        names.sort();
        assert_eq!(files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        let reason = |file: &str| {
            let found: Vec<&str> = problems.iter().filter(|one| one.file == file).map(|one| one.reason.as_str()).collect();
            assert_eq!(found.len(), 1, "{file}: {problems:?}");
            found[0].to_owned()
        };
        for (file, told) in [
            ("notes.md", "not a file of yore"),
            (&"a".repeat(32), "not a file of yore"),
            (&hash("A"), "not a file of yore"),
            (&hash("0"), &format!("it was edited: its content has the name {}.md", name_of(&rope))),
            (&hash("1"), "kind is \"rumour\""),
            (&hash("2"), "not UTF-8"),
            (&hash("3"), "longer than 256 KiB"),
            (&hash("4"), "merge conflict"),
            (&hash("5"), "it was edited"),
            (&hash("6"), "it is not a file"),
        ] {
            assert!(reason(file).contains(told), "{file}: {}", reason(file));
        }
        assert_eq!(problems.len(), 10);
    }

    #[test]
    fn folder_of_a_stranger_is_read_up_to_a_limit() {
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        fs::create_dir_all(&folder.path).unwrap();
        for at in 0..=MOST_FILES {
            File::create(folder.path.join(format!("{at:032x}.md"))).unwrap();
        }
        let (files, problems) = folder.read().unwrap();
        assert!(files.is_empty());
        assert_eq!(problems.len(), MOST_FILES + 1);
        assert_eq!(
            problems[MOST_FILES],
            Problem { file: FOLDER.to_owned(), reason: "it has too many files: 1 are not read".to_owned() }
        );
    }

    #[cfg(unix)]
    #[test]
    fn link_is_followed_nowhere() {
        use std::os::unix::fs::symlink;
        for linked in [".yore", ".yore/memories"] {
            let (place, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let folder = folder(&place);
            fs::create_dir(away.path().join("memories")).unwrap();
            let lamp = text("The lamp is green.");
            let target = away.path().join("memories").join(format!("{}.md", name_of(&lamp)));
            fs::write(&target, &lamp).unwrap();
            let link = place.path().join(linked);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(if linked == ".yore" { away.path().to_owned() } else { away.path().join("memories") }, &link).unwrap();
            assert!(folder.exists());
            let (files, problems) = folder.read().unwrap();
            assert!(files.is_empty() && problems.len() == 1, "{linked}: {problems:?}");
            assert!(problems[0].file.ends_with(linked) && problems[0].reason.contains("not a real folder"), "{problems:?}");
            assert!(folder.write(&text("The rope is new.")).is_err());
            assert!(folder.remove(&name_of(&lamp)).is_err());
            assert_eq!(fs::read_dir(away.path().join("memories")).unwrap().count(), 1);
            assert!(target.exists());
        }
        let place = tempfile::tempdir().unwrap();
        let folder = folder(&place);
        let lamp = text("The lamp is green.");
        folder.write(&text("The rope is new.")).unwrap();
        let (elsewhere, path) = (place.path().join("elsewhere"), folder.path.join(format!("{}.md", name_of(&lamp))));
        fs::write(&elsewhere, &lamp).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let (files, problems) = folder.read().unwrap();
        assert_eq!((files.len(), problems[0].reason.as_str()), (1, "it is a link"));
        assert_eq!(folder.write(&lamp).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
