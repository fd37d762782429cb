//! Names and contents of a working tree's files at an earlier time, from the history of its branch.
//!
//! The history is read from the newest commit back, along first parents: a merge counts as one commit. Each commit is undone
//! in a table of the files, so that at any point the table has the files of that time, and the name that each has now.

use std::collections::HashMap;
use std::ops::ControlFlow;

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
    pub(super) fn undo(&mut self, commit: Commit) {
        for change in commit.changes {
            match change {
                FileChange::Added { path, blob } => {
                    let now = self.remove(&path).and_then(|(_, now)| now);
                    self.added_later.insert(path, (blob, now));
                }
                FileChange::Removed { path, blob } => {
                    // It may have been put there again later.
                    let now = self.added_later.get(&path).and_then(|(_, now)| now.clone());
                    self.put(path, blob, now);
                }
                FileChange::Edited { path, before } => {
                    if let Some((blob, _)) = self.by_path.get_mut(&path) {
                        *blob = before;
                    }
                }
                FileChange::Moved { from, to, before } => {
                    let now = self.remove(&to).and_then(|(_, now)| now);
                    self.put(from, before, now);
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

/// Reads the output of `git log --raw -z --no-abbrev --format=%x01%H %at %ct`, piece by piece.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    /// Beginning of the field that the last piece cut.
    rest: Vec<u8>,
    /// The commit whose changes are read.
    open: Option<Commit>,
    /// The change whose paths are read.
    row: Option<Row>,
}

/// The first field of a change: ":100644 100644 before after M". The path follows, or two of them.
#[derive(Debug)]
struct Row {
    before: Blob,
    after: Blob,
    status: u8,
    from: Option<String>,
}

impl LogReader {
    /// Reads a piece and passes each commit that is complete to `take`, until it breaks.
    pub(super) fn read(&mut self, piece: &[u8], take: &mut dyn FnMut(Commit) -> ControlFlow<()>) -> ControlFlow<()> {
        self.rest.extend_from_slice(piece);
        let rest = std::mem::take(&mut self.rest);
        let mut begin = 0;
        for end in memchr::memchr_iter(0, &rest) {
            if let Some(commit) = self.field(&String::from_utf8_lossy(&rest[begin..end])) {
                take(commit)?;
            }
            begin = end + 1;
        }
        self.rest = rest[begin..].to_vec();
        ControlFlow::Continue(())
    }

    /// Returns the last commit.
    pub(super) fn finish(self) -> Option<Commit> {
        self.open
    }

    /// Reads a field. Returns the commit before it, if another begins.
    fn field(&mut self, field: &str) -> Option<Commit> {
        if let Some(row) = self.row.take() {
            let path = field.to_owned();
            let change = match (row.status, row.from) {
                (b'R' | b'C', None) => {
                    self.row = Some(Row { from: Some(path), ..row });
                    return None;
                }
                (b'R', Some(from)) => FileChange::Moved { from, to: path, before: row.before },
                (b'A' | b'C', _) => FileChange::Added { path, blob: row.after },
                (b'D', _) => FileChange::Removed { path, blob: row.before },
                _ => FileChange::Edited { path, before: row.before },
            };
            if let Some(commit) = &mut self.open {
                commit.changes.push(change);
            }
            return None;
        }
        let field = field.trim_start_matches('\n');
        if let Some(head) = field.strip_prefix('\u{1}') {
            let mut words = head.split_whitespace();
            let id = words.next()?.to_owned();
            // A change that was rebased or merged later was made when its author made it.
            let at = words.filter_map(|at| at.parse().ok()).min()?;
            return self.open.replace(Commit { id, at, changes: Vec::new() });
        }
        let row: Vec<&str> = field.strip_prefix(':')?.split(' ').collect();
        if let [_, _, before, after, status] = row.as_slice() {
            let status = status.bytes().next().unwrap_or(0);
            self.row = Some(Row { before: (*before).to_owned(), after: (*after).to_owned(), status, from: None });
        }
        None
    }
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
        files.undo(commit(4, vec![FileChange::Added { path: path("src/new.rs"), blob: path("n1") }]));
        files.undo(commit(3, vec![FileChange::Moved { from: path("src/pier.rs"), to: path("src/quay.rs"), before: path("b2") }]));
        files.undo(commit(2, vec![FileChange::Removed { path: path("old.rs"), blob: path("o1") }]));
        files.undo(commit(2, vec![FileChange::Removed { path: path("src/new.rs"), blob: path("n0") }]));
        files.undo(commit(1, vec![FileChange::Edited { path: path("src/pier.rs"), before: path("b1") }]));
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
        let expected = [commit("aa", 20, vec![edited, moved]), commit("bb", 10, vec![added])];
        // Pieces of any length divide the log anywhere.
        for length in 1..=log.len() {
            let (mut reader, mut found) = (LogReader::default(), Vec::new());
            for piece in log.chunks(length) {
                let flow = reader.read(piece, &mut |commit| {
                    found.push(commit);
                    ControlFlow::Continue(())
                });
                assert!(flow.is_continue());
            }
            found.extend(reader.finish());
            assert_eq!(found, expected, "pieces of {length}");
        }
        let mut first = Vec::new();
        let flow = LogReader::default().read(log, &mut |commit| {
            first.push(commit);
            ControlFlow::Break(())
        });
        assert!(flow.is_break() && first == expected[..1]);
    }
}
