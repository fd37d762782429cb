//! Walks folders of histories: finds files, follows links.
//!
//! Symbolic links are followed, because people keep histories on other disks and in repositories of settings. Each real folder
//! and file is visited once, and without a link if there is such a way, so that links neither double a history nor lead in
//! circles.
//!
//! [`noticing`] collects the files and folders that could not be read meanwhile.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::is_missing;

/// Maximum number of folders of a walk. A folder with more is a disk.
const MAX_FOLDERS: usize = 100_000;

/// Maximum number of unreadable files and folders that are named. The others are counted.
const MAX_NOTICED: usize = 1_000;

/// Files and folders that could not be read.
#[derive(Debug, Default)]
pub struct Unread {
    /// Paths, and why each could not be read.
    pub paths: BTreeMap<PathBuf, io::Error>,
    /// Number of further ones.
    pub more: u64,
}

thread_local! {
    // Folders are listed and files are looked into in helpers of every source, which have no use for a list of failures.
    static NOTICED: RefCell<Unread> = RefCell::default();
}

/// Returns the result of a search, and what could not be read during it.
pub fn noticing<T>(search: impl FnOnce() -> T) -> (T, Unread) {
    NOTICED.take();
    let found = search();
    (found, NOTICED.take())
}

/// Notes that a file or folder could not be read, unless it is missing.
pub(super) fn notice(path: &Path, error: io::Error) {
    if is_missing(&error) {
        return;
    }
    NOTICED.with_borrow_mut(|noticed| {
        if noticed.paths.len() < MAX_NOTICED || noticed.paths.contains_key(path) {
            noticed.paths.insert(path.to_path_buf(), error);
        } else {
            noticed.more += 1;
        }
    });
}

/// Returns the entries of a folder; none if it is missing or cannot be listed.
pub(super) fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(folder).map_err(|error| notice(folder, error)).ok();
    let folder = folder.to_path_buf();
    entries.into_iter().flatten().filter_map(move |entry| entry.map_err(|error| notice(&folder, error)).ok())
}

/// Opens a file to look into it.
pub(super) fn open(file: &Path) -> Option<File> {
    File::open(file).map_err(|error| notice(file, error)).ok()
}

struct Folder {
    path: PathBuf,
    real: PathBuf,
    depth: usize,
}

/// Returns the files below `root` that are wanted. `enters` is told the path of a folder and its depth (1 for those in `root`),
/// and says whether to search it.
pub(super) fn walk(root: &Path, enters: &dyn Fn(&Path, usize) -> bool, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Some(real) = real_path(root) else { return Vec::new() };
    let (mut found, mut links): (Vec<PathBuf>, Vec<(PathBuf, usize)>) = (Vec::new(), Vec::new());
    let mut seen = HashSet::from([real.clone()]);
    let mut pending = vec![Folder { path: root.to_path_buf(), real, depth: 0 }];
    let mut folders = 0;
    loop {
        let Some(folder) = pending.pop() else {
            let Some((path, depth)) = links.pop() else { return found };
            let Some(real) = real_path(&path) else { continue };
            if real.is_dir() {
                if enters(&path, depth) && seen.insert(real.clone()) {
                    pending.push(Folder { path, real, depth });
                }
            } else if real.is_file() && is_wanted(&path) && seen.insert(real) {
                found.push(path);
            }
            continue;
        };
        folders += 1;
        if folders > MAX_FOLDERS {
            notice(root, io::Error::other(format!("only the first {MAX_FOLDERS} folders below it are searched")));
            return found;
        }
        for entry in entries(&folder.path) {
            let (path, depth) = (entry.path(), folder.depth + 1);
            let Some(kind) = entry.file_type().map_err(|error| notice(&path, error)).ok() else { continue };
            if kind.is_symlink() {
                links.push((path, depth));
            } else if kind.is_dir() {
                let real = folder.real.join(entry.file_name());
                if enters(&path, depth) && seen.insert(real.clone()) {
                    pending.push(Folder { path, real, depth });
                }
            } else if kind.is_file() && is_wanted(&path) && seen.insert(folder.real.join(entry.file_name())) {
                found.push(path);
            }
        }
    }
}

fn real_path(path: &Path) -> Option<PathBuf> {
    path.canonicalize().map_err(|error| notice(path, error)).ok()
}

/// Returns the files with this extension below `root`, at most `max_depth` folders deep.
pub(super) fn files_below(root: &Path, extension: &str, max_depth: usize) -> Vec<PathBuf> {
    walk(root, &|_, depth| depth <= max_depth, &|path| path.extension().is_some_and(|found| found == extension))
}

/// Returns the folders in a folder, sorted, each real one once.
pub(super) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<(bool, PathBuf)> = entries(folder)
        .map(|entry| (entry.file_type().is_ok_and(|kind| kind.is_symlink()), entry.path()))
        .filter(|(_, path)| path.is_dir())
        .collect();
    folders.sort();
    let mut seen = HashSet::new();
    folders.retain(|(_, path)| real_path(path).is_some_and(|real| seen.insert(real)));
    let mut folders: Vec<PathBuf> = folders.into_iter().map(|(_, path)| path).collect();
    folders.sort();
    folders
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_once_and_lead_in_no_circles() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = home.path().join("projects");
        for folder in [root.join("here"), elsewhere.path().join("pond/deep")] {
            fs::create_dir_all(folder).unwrap();
        }
        for file in [root.join("here/a.jsonl"), elsewhere.path().join("pond/deep/b.jsonl"), elsewhere.path().join("c.jsonl")] {
            fs::write(file, "{}").unwrap();
        }
        symlink(elsewhere.path().join("pond"), root.join("linked")).unwrap();
        symlink(elsewhere.path().join("pond"), root.join("twice")).unwrap();
        symlink(elsewhere.path().join("c.jsonl"), root.join("here/c.jsonl")).unwrap();
        symlink(root.join("here/a.jsonl"), root.join("0-first.jsonl")).unwrap();
        symlink(&root, elsewhere.path().join("pond/back")).unwrap();
        symlink("/nowhere/at/all", root.join("dangling.jsonl")).unwrap();
        let mut names: Vec<String> = files_below(&root, "jsonl", 8)
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace("linked", "L").replace("twice", "L"))
            .collect();
        names.sort();
        assert_eq!(names, ["L/deep/b.jsonl", "here/a.jsonl", "here/c.jsonl"]);
        assert_eq!(folders_in(&root).len(), 2, "a folder that two links lead to is one");
        let way_back = root.join("linked/back");
        assert!(files_below(&root, "jsonl", 1).iter().all(|path| !path.starts_with(&way_back)));
    }
    #[test]
    fn what_cannot_be_read_is_noticed_and_what_is_missing_is_not() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir(root.join("here")).unwrap();
        fs::write(root.join("here/a.jsonl"), "{}").unwrap();
        // A link to a name that is too long fails for every user, permissions only for some.
        ["here/odd.jsonl", "odd"].iter().for_each(|name| symlink("n".repeat(300), root.join(name)).unwrap());
        for (target, name) in [("nowhere", "dangling.jsonl"), ("self.jsonl", "self.jsonl")] {
            symlink(root.join(target), root.join(name)).unwrap();
        }
        let (files, unread) = noticing(|| {
            assert!(open(&root.join("odd")).is_none() && open(&root.join("missing")).is_none());
            assert_eq!(entries(&root.join("odd/deeper")).count() + entries(&root.join("here/a.jsonl")).count(), 0);
            files_below(&root, "jsonl", 8)
        });
        assert_eq!(files, [root.join("here/a.jsonl")]);
        let paths: Vec<&Path> = unread.paths.keys().map(|path| path.strip_prefix(&root).unwrap()).collect();
        assert_eq!(paths, ["here/odd.jsonl", "odd", "odd/deeper"].map(Path::new));
        let ((), none) = noticing(|| ());
        assert!(none.paths.is_empty() && none.more == 0);

        let ((), many) =
            noticing(|| (0..MAX_NOTICED + 7).for_each(|n| notice(&root.join(n.to_string()), io::Error::other("away"))));
        assert_eq!((many.paths.len(), many.more), (MAX_NOTICED, 7));
    }
}
