//! The names and contents that the files of a working tree had before, from the history of its branch.
//!
//! The history is read once, from the newest commit back, along first parents: a merge counts as one commit. Each commit is undone
//! in a table of the files, so that at any point the table has the files of that time, and the name that each has now.

use std::collections::HashMap;

/// Hash of a file's content, as git names it.
pub(super) type Blob = String;

/// A change of one file in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    /// It was added with this content.
    Added { path: String, blob: Blob },
    /// It was removed; this was its content.
    Removed { path: String, blob: Blob },
    /// It got other content.
    Edited { path: String, before: Blob },
    /// It was moved, perhaps with other content.
    Moved { from: String, to: String, before: Blob },
}

/// A commit: its id, the time in seconds when its change was made, and what it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub id: String,
    pub at: i64,
    pub changes: Vec<FileChange>,
}

/// A file at an earlier time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Past {
    /// Its path then.
    pub path: String,
    /// Its content then.
    pub blob: Blob,
    /// Its path now; `None`: it was removed.
    pub now: Option<String>,
}

/// Files as they were at the point to which commits were undone.
#[derive(Debug, Default)]
pub(super) struct Files {
    by_path: HashMap<String, (Blob, Option<String>)>,
    /// Paths by their last part.
    by_name: HashMap<String, Vec<String>>,
    /// Files that a later commit added: the first such state of each path.
    added_later: HashMap<String, (Blob, Option<String>)>,
}

impl Files {
    /// Begins with the files of the newest commit.
    pub(super) fn of(files: impl Iterator<Item = (String, Blob)>) -> Self {
        let mut table = Self::default();
        for (path, blob) in files {
            let now = Some(path.clone());
            table.put(path, blob, now);
        }
        table
    }

    /// Takes a commit back.
    pub(super) fn undo(&mut self, commit: &Commit) {
        for change in &commit.changes {
            match change {
                FileChange::Added { path, blob } => {
                    let now = self.remove(path).and_then(|(_, now)| now);
                    self.added_later.insert(path.clone(), (blob.clone(), now));
                }
                FileChange::Removed { path, blob } => {
                    // It may have been put there again later.
                    let now = self.added_later.get(path).and_then(|(_, now)| now.clone());
                    self.put(path.clone(), blob.clone(), now);
                }
                FileChange::Edited { path, before } => {
                    if let Some((blob, _)) = self.by_path.get_mut(path) {
                        blob.clone_from(before);
                    }
                }
                FileChange::Moved { from, to, before } => {
                    let now = self.remove(to).and_then(|(_, now)| now);
                    self.put(from.clone(), before.clone(), now);
                }
            }
        }
    }

    /// Returns the file with a path, or the only one whose path ends with it; if there was none at that time, the one that was added
    /// first after it.
    pub(super) fn find(&self, path: &str) -> Option<Past> {
        let known = self.by_path.get_key_value(path).or_else(|| self.by_path.get_key_value(self.ending(path)?));
        let later = || self.added_later.get_key_value(path);
        let (path, (blob, now)) = known.or_else(later)?;
        Some(Past { path: path.clone(), blob: blob.clone(), now: now.clone() })
    }

    /// Returns the file with exactly this path.
    pub(super) fn at(&self, path: &str) -> Option<Past> {
        let (path, (blob, now)) = self.by_path.get_key_value(path)?;
        Some(Past { path: path.clone(), blob: blob.clone(), now: now.clone() })
    }

    /// Returns the only path that ends with another.
    pub(super) fn ending(&self, path: &str) -> Option<&str> {
        let end = format!("/{path}");
        let name = path.rsplit('/').next().unwrap_or(path);
        let mut found = self.by_name.get(name)?.iter().filter(|known| known.ends_with(&end));
        found.next().filter(|_| found.next().is_none()).map(String::as_str)
    }

    fn put(&mut self, path: String, blob: Blob, now: Option<String>) {
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        if self.by_path.insert(path.clone(), (blob, now)).is_none() {
            self.by_name.entry(name).or_default().push(path);
        }
    }

    fn remove(&mut self, path: &str) -> Option<(Blob, Option<String>)> {
        let gone = self.by_path.remove(path)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(named) = self.by_name.get_mut(name) {
            named.retain(|known| known != path);
        }
        Some(gone)
    }
}

/// Reads the output of `git log --raw -z --no-abbrev --format=%x01%H %at %ct`.
pub(super) fn commits(output: &[u8]) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut fields = output.split(|byte| *byte == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    while let Some(field) = fields.next() {
        let field = field.trim_start_matches('\n');
        if let Some(head) = field.strip_prefix('\u{1}') {
            let mut words = head.split_whitespace();
            let Some(id) = words.next() else { continue };
            // A change that was rebased or merged later was made when its author made it.
            let Some(at) = words.filter_map(|at| at.parse().ok()).min() else { continue };
            commits.push(Commit { id: id.to_owned(), at, changes: Vec::new() });
            continue;
        }
        // ":100644 100644 before after M", then the path, or two of them.
        let Some(row) = field.strip_prefix(':') else { continue };
        let row: Vec<&str> = row.split(' ').collect();
        let [_, _, before, after, status] = row.as_slice() else { continue };
        let (before, after) = ((*before).to_owned(), (*after).to_owned());
        let Some(path) = fields.next() else { break };
        let change = match status.as_bytes().first() {
            Some(b'A') => FileChange::Added { path, blob: after },
            Some(b'D') => FileChange::Removed { path, blob: before },
            Some(b'R') => {
                let Some(to) = fields.next() else { break };
                FileChange::Moved { from: path, to, before }
            }
            Some(b'C') => {
                let Some(to) = fields.next() else { break };
                FileChange::Added { path: to, blob: after }
            }
            _ => FileChange::Edited { path, before },
        };
        if let Some(commit) = commits.last_mut() {
            commit.changes.push(change);
        }
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(at: i64, changes: Vec<FileChange>) -> Commit {
        Commit { id: at.to_string(), at, changes }
    }

    #[test]
    fn files_are_found_as_they_were_with_the_name_that_they_have_now() {
        let path = |path: &str| path.to_owned();
        let mut files = Files::of([(path("src/quay.rs"), path("b3")), (path("src/new.rs"), path("n1"))].into_iter());
        files.undo(&commit(4, vec![FileChange::Added { path: path("src/new.rs"), blob: path("n1") }]));
        files
            .undo(&commit(3, vec![FileChange::Moved { from: path("src/pier.rs"), to: path("src/quay.rs"), before: path("b2") }]));
        files.undo(&commit(2, vec![FileChange::Removed { path: path("old.rs"), blob: path("o1") }]));
        files.undo(&commit(2, vec![FileChange::Removed { path: path("src/new.rs"), blob: path("n0") }]));
        files.undo(&commit(1, vec![FileChange::Edited { path: path("src/pier.rs"), before: path("b1") }]));
        let past = |path: &str, blob: &str, now: Option<&str>| {
            Some(Past { path: path.to_owned(), blob: blob.to_owned(), now: now.map(str::to_owned) })
        };
        assert_eq!(files.find("pier.rs"), past("src/pier.rs", "b1", Some("src/quay.rs")), "by its end");
        assert_eq!(files.find("old.rs"), past("old.rs", "o1", None));
        assert_eq!(files.find("src/new.rs"), past("src/new.rs", "n0", Some("src/new.rs")), "removed, and added later");
        assert_eq!(files.find("src/never.rs"), None);
    }

    #[test]
    fn a_log_is_read_with_names_of_any_letters() {
        let log = b"\x01aa 20 25\0\0:100644 100644 b1 b2 M\0src/a b.rs\0:100644 100644 c1 c2 R090\0old\0new\0\x01bb 10 10\0\0:000000 100644 00 d1 A\0\xc3\xa4.rs\0";
        let edited = FileChange::Edited { path: "src/a b.rs".to_owned(), before: "b1".to_owned() };
        let moved = FileChange::Moved { from: "old".to_owned(), to: "new".to_owned(), before: "c1".to_owned() };
        let added = FileChange::Added { path: "ä.rs".to_owned(), blob: "d1".to_owned() };
        let commit = |id: &str, at, changes| Commit { id: id.to_owned(), at, changes };
        assert_eq!(commits(log), [commit("aa", 20, vec![edited, moved]), commit("bb", 10, vec![added])]);
    }
}
