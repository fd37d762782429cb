//! Reads a repository once for an audit: its files and their words, and the files, words and reasons of its history.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use yore_core::text::Tokenizer;
use yore_core::time::{UtcMillis, format_day};
use yore_sources::git::{Git, Stop};

use super::statement::{Statement, sentences};
use super::words::{Vocabulary, words};

/// Commits that are read, the newest; bytes of their changes.
const MOST_COMMITS: usize = 5_000;
const MOST_CHANGES: usize = 96 << 20;
/// Bytes of other output of git.
const MOST_OUTPUT: usize = 16 << 20;
/// Largest file whose words are read, and bytes of all of them.
const LARGEST_FILE: u64 = 512 << 10;
const MOST_READ: u64 = 96 << 20;
/// Longest line that is read, in bytes; a longer one is data.
const LONGEST_LINE: usize = 1_000;
/// Files that name tools without using them.
const DOCUMENTS: [&str; 6] = ["md", "mdx", "mdc", "rst", "adoc", "txt"];
/// Files that pin what others ask for.
const LOCKS: [&str; 9] = [
    "Cargo.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "poetry.lock",
    "uv.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
];
/// Files whose keys are names of tools and libraries.
const MANIFESTS: [&str; 7] =
    ["Cargo.toml", "package.json", "pyproject.toml", "requirements.txt", "go.mod", "Gemfile", "composer.json"];

/// A commit with its message.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub id: String,
    pub at: UtcMillis,
    pub message: String,
}

impl Commit {
    /// Returns the commit as a proof: id, day, title.
    pub fn proof(&self) -> String {
        let title = self.message.lines().next().unwrap_or_default();
        format!("commit {} ({}): {title}", self.id.get(..10).unwrap_or(&self.id), format_day(self.at))
    }
}

/// The fate of a path that was in the history and is not in the working tree.
#[derive(Clone, Debug)]
pub(super) struct Fate {
    /// The number of the commit that removed or renamed it last.
    pub commit: usize,
    /// The name that it got then.
    pub renamed: Option<String>,
}

/// A repository as an audit needs it.
#[derive(Debug, Default)]
pub(super) struct Repository {
    root: PathBuf,
    /// Newest first.
    pub commits: Vec<Commit>,
    /// Paths of the files of the working tree that git tracks or does not ignore.
    pub files: BTreeSet<String>,
    /// Paths that are no more.
    pub gone: HashMap<String, Fate>,
    /// Words of the working tree: without documents, locks and the audited files.
    pub living: Vocabulary,
    /// All words of the working tree and its history, without those of the audited files.
    pub known: Vocabulary,
    /// Words that a commit removed from code, with the number of the newest such commit.
    pub removed: HashMap<String, usize>,
    /// Words that were once keys of a manifest.
    pub declared: HashSet<String>,
    /// True if all of the history and of the files was read, so that what is not there was never there.
    pub is_whole: bool,
}

impl Repository {
    /// Reads the repository around a directory; `None` if there is none, or nothing was committed. `audited`: the audited files.
    ///
    /// # Errors
    /// git fails, is not installed, or takes too long.
    pub fn read(root: &Path, audited: &[&str]) -> io::Result<Option<Self>> {
        Self::read_up_to(MOST_COMMITS, root, audited)
    }

    fn read_up_to(commits: usize, root: &Path, audited: &[&str]) -> io::Result<Option<Self>> {
        let git = Git::at(root);
        let mut out = Vec::new();
        if git.run(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"], MOST_OUTPUT, &mut out).is_err() {
            return Ok(None);
        }
        out.clear();
        let listed_all = git.run(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"], MOST_OUTPUT, &mut out)?;
        let listed = String::from_utf8_lossy(&out);
        let mut found = Self { root: root.to_owned(), ..Self::default() };
        found.files = listed.split('\0').filter(|path| root.join(path).is_file()).map(str::to_owned).collect();
        let mut tokenizer = Tokenizer::default();
        let has_room = found.read_files(audited, &mut tokenizer);
        let most = format!("--max-count={commits}");
        let format = "--format=%x01%H%x02%at%x02%B%x03";
        let arguments = ["log", &most, format, "-p", "-U0", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
        let mut log = Vec::new();
        let logged_all = git.run(&arguments, MOST_CHANGES, &mut log)?;
        found.read_log(&String::from_utf8_lossy(&log), audited, &mut tokenizer);
        found.is_whole = has_room && [listed_all, logged_all] == [Stop::Ended; 2] && found.commits.len() < commits;
        Ok(Some(found))
    }

    /// Reads the files of the working tree; returns false if there was more than is read.
    fn read_files(&mut self, audited: &[&str], tokenizer: &mut Tokenizer) -> bool {
        let mut left = MOST_READ;
        for path in &self.files.clone() {
            self.known.add(path, tokenizer);
            if audited.contains(&path.as_str()) || left == 0 {
                continue;
            }
            let Some(text) = text_of(&self.root, path) else { continue };
            left = left.saturating_sub(text.len() as u64);
            self.known.add(&text, tokenizer);
            if !is_document(path) && !LOCKS.contains(&file_name(path)) {
                self.living.add(&text, tokenizer);
                self.living.add(path, tokenizer);
                // Names with points and hyphens count as one word, too.
                for word in words(&text) {
                    if word.text.contains(['-', '.']) {
                        self.living.add_whole(word.text);
                    }
                }
            }
        }
        left > 0
    }

    /// Reads commits with their changes, newest first.
    fn read_log(&mut self, log: &str, audited: &[&str], tokenizer: &mut Tokenizer) {
        for part in log.split('\u{1}').skip(1) {
            let Some((head, changes)) = part.split_once('\u{3}') else { continue };
            let mut fields = head.splitn(3, '\u{2}');
            let (Some(id), Some(at), Some(message)) = (fields.next(), fields.next(), fields.next()) else { continue };
            let at = at.parse::<i64>().unwrap_or_default() * 1_000;
            self.known.add(message, tokenizer);
            let number = self.commits.len();
            self.commits.push(Commit { id: id.to_owned(), at, message: message.trim().to_owned() });
            self.read_changes(changes, number, audited, tokenizer);
        }
    }

    fn read_changes(&mut self, changes: &str, number: usize, audited: &[&str], tokenizer: &mut Tokenizer) {
        let (mut before, mut from): (Option<&str>, Option<&str>) = (None, None);
        for line in changes.lines().filter(|line| line.len() <= LONGEST_LINE) {
            if line.starts_with("diff --git ") {
                (before, from) = (None, None);
            } else if let Some(path) = line.strip_prefix("rename from ") {
                from = Some(path);
            } else if let Some(path) = line.strip_prefix("rename to ") {
                if let Some(from) = from.take() {
                    self.put_gone(from, number, Some(path));
                }
            } else if let Some(path) = line.strip_prefix("--- a/") {
                before = Some(path);
            } else if line == "+++ /dev/null" {
                if let Some(path) = before {
                    self.put_gone(path, number, None);
                }
            } else if let Some(old) = line.strip_prefix('-')
                && let Some(path) = before
                && !audited.contains(&path)
            {
                self.known.add(old, tokenizer);
                if is_document(path) && !MANIFESTS.contains(&file_name(path)) || LOCKS.contains(&file_name(path)) {
                    continue;
                }
                let is_manifest = MANIFESTS.contains(&file_name(path));
                for word in words(old) {
                    let lower = word.text.to_lowercase();
                    if is_manifest && old.trim_start_matches([' ', '\t', '"', '\'', '-', ',']).starts_with(word.text) {
                        self.declared.insert(lower.clone());
                    }
                    for part in lower.split(['.', '-']) {
                        self.removed.entry(part.to_owned()).or_insert(number);
                    }
                    self.removed.entry(lower).or_insert(number);
                }
            }
        }
    }

    fn put_gone(&mut self, path: &str, commit: usize, renamed: Option<&str>) {
        if !self.files.contains(path) {
            self.gone.entry(path.to_owned()).or_insert_with(|| Fate { commit, renamed: renamed.map(str::to_owned) });
        }
    }

    /// Returns whether a path is there, although git ignores it.
    pub fn is_on_disk(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Returns the text of a file of the working tree; `None` if it is too large or no text.
    pub fn text_of(&self, path: &str) -> Option<String> {
        text_of(&self.root, path)
    }

    /// Returns when each line of a file was written; empty if git does not know the file.
    pub fn times_of(&self, name: &str) -> Vec<UtcMillis> {
        let mut out = Vec::new();
        if Git::at(&self.root).run(&["blame", "--line-porcelain", "-w", "--", name], MOST_OUTPUT, &mut out).is_err() {
            return Vec::new();
        }
        let text = String::from_utf8_lossy(&out);
        let time = |line: &str| line.strip_prefix("author-time ")?.parse::<i64>().ok().map(|at| at * 1_000);
        text.lines().filter_map(time).collect()
    }

    /// Returns the sentences of the commits' messages.
    pub fn statements(&self) -> impl Iterator<Item = Statement> {
        self.commits.iter().flat_map(|commit| {
            let (title, body) = commit.message.split_once('\n').unwrap_or((&commit.message, ""));
            let body = body.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut found = vec![title.to_owned()];
            found.extend(sentences(&body).map(str::to_owned));
            found.into_iter().map(move |text| Statement {
                proof: format!(
                    "{}{}",
                    commit.proof(),
                    if text == title { String::new() } else { format!(": \u{201c}{text}\u{201d}") }
                ),
                title: title.to_owned(),
                text,
                at: commit.at,
            })
        })
    }
}

/// Returns the last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_document(path: &str) -> bool {
    file_name(path).rsplit_once('.').is_some_and(|(_, extension)| DOCUMENTS.contains(&extension))
}

fn text_of(root: &Path, path: &str) -> Option<String> {
    let place = root.join(path);
    place.symlink_metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST_FILE)?;
    std::fs::read_to_string(place).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_that_was_not_read_to_its_end_is_not_whole() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.current_dir(folder.path()).args(["-c", "user.name=Pier", "-c", "user.email=pier@example.org"]).args(arguments);
            assert!(git.output().unwrap().status.success(), "{arguments:?}");
        };
        run(&["init", "-q"]);
        for name in ["lamp", "rope"] {
            std::fs::write(folder.path().join(name), name).unwrap();
            run(&["add", "."]);
            run(&["commit", "-qm", name]);
        }
        let is_whole = |commits| Repository::read_up_to(commits, folder.path(), &[]).unwrap().unwrap().is_whole;
        assert!(is_whole(3));
        assert!(!is_whole(2), "an older commit may have what was not found");
    }
}
