//! Walks over folders of histories.
//!
//! Symbolic links are followed, because people keep histories on other disks and in repositories of settings. Each real folder
//! and file is visited once, and without a link if there is such a way, so that links neither double a history nor lead in
//! circles.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of folders of a walk. A folder with more is a disk.
const MAX_FOLDERS: usize = 100_000;

struct Folder {
    path: PathBuf,
    real: PathBuf,
    depth: usize,
}

/// Returns the files below `root` that are wanted. `enters` is told the path of a folder and its depth (1 for those in `root`),
/// and says whether to search it.
pub(super) fn walk(root: &Path, enters: &dyn Fn(&Path, usize) -> bool, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let Ok(real) = root.canonicalize() else { return Vec::new() };
    let (mut found, mut links): (Vec<PathBuf>, Vec<(PathBuf, usize)>) = (Vec::new(), Vec::new());
    let mut seen = HashSet::from([real.clone()]);
    let mut pending = vec![Folder { path: root.to_path_buf(), real, depth: 0 }];
    let mut folders = 0;
    loop {
        let Some(folder) = pending.pop() else {
            let Some((path, depth)) = links.pop() else { return found };
            let Ok(real) = path.canonicalize() else { continue };
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
        let Ok(entries) = fs::read_dir(&folder.path) else { continue };
        if folders > MAX_FOLDERS {
            return found;
        }
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let (path, depth) = (entry.path(), folder.depth + 1);
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

/// Returns the files with this extension below `root`, at most `max_depth` folders deep.
pub(super) fn files_below(root: &Path, extension: &str, max_depth: usize) -> Vec<PathBuf> {
    walk(root, &|_, depth| depth <= max_depth, &|path| path.extension().is_some_and(|found| found == extension))
}

/// Returns the folders in a folder, sorted, each real one once.
pub(super) fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<(bool, PathBuf)> = entries
        .flatten()
        .map(|entry| (entry.file_type().is_ok_and(|kind| kind.is_symlink()), entry.path()))
        .filter(|(_, path)| path.is_dir())
        .collect();
    folders.sort();
    let mut seen = HashSet::new();
    folders.retain(|(_, path)| path.canonicalize().is_ok_and(|real| seen.insert(real)));
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
}
