//! Git history as a source: one episode for each repository, one turn for each commit, with its author as the speaker.
//!
//! - [`Git`]: finds a repository, and detects new commits from its references
//! - `records`: the output of `git log`, one record for each commit, oldest first
//! - `GitReader`: commits to turns
//! - `message`: finds branches and other commits in a commit's message
//!
//! ```json
//! {"repository": {"id": "<first commit>", "directory": "..."}}
//! {"commit": {"repository": "<first commit>", "hash": "...", "parents": ["..."], "author": "...", "time": "...",
//!             "message": "...", "files": [["M", "src/a.rs"], ["R", "old.rs", "new.rs"]], "more_files": 0}}
//! ```
//!
//! The episode is named after the first commit, so that all clones of a project share it. A commit never
//! changes; a new one leaves the records of all others unchanged.

mod message;

pub use self::message::merged_branch;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use yore_core::episode::{Episode, EpisodeKind, FileAction, FileUse, Role, Title, TitleRank, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::text::excerpt;
use yore_core::time::RecordedTime;

use super::{EpisodeReader, Framing, Known, LineOwner, ReadTurn, ReaderOptions, Reading, Source, SourceLine, Stamp, Unit};
use crate::git::{Git as Program, Stop};

const KIND: &str = "git";

/// Maximum output of git for the newest 20,000 commits, in bytes. The oldest commits beyond it are left out.
const MAX_LOG_BYTES: usize = 64 << 20;
/// Maximum size of a message in bytes; longer ones are cut.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Maximum number of files listed for a commit; more are only counted.
const MAX_FILES: usize = 500;
/// Maximum size of a path in bytes; longer ones are cut.
const MAX_PATH_BYTES: usize = 1024;
/// Maximum number of files listed in a turn.
const MAX_FILE_USES: usize = 100;
/// Maximum number of entries read from a directory of references, and maximum size of a reference file in
/// bytes.
const MAX_REFERENCES: usize = 10_000;
const MAX_REFERENCE_BYTES: u64 = 8 << 20;
/// Separator of the fields of a commit. A message cannot contain it.
const FIELD: char = '\u{1}';

/// The source for git histories; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Git;

impl Source for Git {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Git history"
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let Some(repository) = Repository::at(root) else { return Vec::new() };
        let heads = repository.heads();
        // There are no commits yet.
        if heads.is_empty() {
            return Vec::new();
        }
        let stamp = stamp_of(&heads);
        vec![Unit {
            path: repository.common,
            part: None,
            framing: Framing::Records,
            stamp,
            began: None,
            closes_file: false,
            root: Some(repository.directory),
            worked_in: None,
        }]
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let directory = match &unit.root {
            Some(directory) => directory.clone(),
            None => Repository::at(&unit.path).ok_or(io::ErrorKind::NotFound)?.directory,
        };
        let repository = Repository { common: unit.path.clone(), directory };
        records(&Program::at(&repository.directory), &repository, take)
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(GitReader { options: options.clone(), episode: None, subjects: BTreeMap::new() })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        let repository = &value["repository"];
        let commit = &value["commit"];
        LineOwner {
            session: repository["id"].as_str().or_else(|| commit["repository"].as_str()).map(Into::into),
            message: commit["hash"].as_str(),
            about: None,
            directory: repository["directory"].as_str(),
        }
    }
}

/// A repository on disk.
#[derive(Debug, PartialEq, Eq)]
struct Repository {
    /// Directory that holds its references; worktrees share it.
    common: PathBuf,
    /// Directory that its paths are relative to: that of the main worktree, or the repository itself if it is
    /// bare.
    directory: PathBuf,
}

impl Repository {
    /// Returns the repository whose directory, worktree or git directory this is.
    fn at(root: &Path) -> Option<Self> {
        let dot_git = root.join(".git");
        let (folder, is_bare) = match fs::metadata(&dot_git) {
            Ok(meta) if meta.is_dir() => (dot_git, false),
            Ok(meta) if meta.is_file() => {
                let text = read_small(&dot_git)?;
                (root.join(text.strip_prefix("gitdir:")?.trim()), false)
            }
            _ => (root.to_path_buf(), true),
        };
        let common = match read_small(&folder.join("commondir")) {
            Some(relative) => folder.join(relative.trim()),
            None => folder.clone(),
        };
        let common = common.canonicalize().ok()?;
        let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
        if !is_repository {
            return None;
        }
        let is_worktree = folder.canonicalize().ok()? != common;
        let directory = if common.file_name().is_some_and(|name| name == ".git") {
            common.parent()?.to_path_buf()
        } else if is_bare || is_worktree {
            common.clone()
        } else {
            // For a submodule: its git directory is inside that of the other repository.
            root.canonicalize().ok()?
        };
        Some(Self { common, directory })
    }

    /// Returns local branches and a detached `HEAD`, with the commits that they point to. Where branches are
    /// kept in tables, returns the list of the tables instead.
    fn heads(&self) -> BTreeMap<String, String> {
        let mut heads = BTreeMap::new();
        if let Some(tables) = read_small(&self.common.join("reftable/tables.list")) {
            heads.insert("reftable".to_owned(), tables);
            return heads;
        }
        for line in read_small(&self.common.join("packed-refs")).unwrap_or_default().lines() {
            if let Some((hash, name)) = line.split_once(' ')
                && name.starts_with("refs/heads/")
                && is_hash(hash)
            {
                heads.insert(name.to_owned(), hash.to_owned());
            }
        }
        let mut pending = vec![("refs/heads".to_owned(), self.common.join("refs/heads"))];
        while let Some((name, path)) = pending.pop() {
            let Ok(entries) = fs::read_dir(path) else { continue };
            for entry in entries.flatten().take(MAX_REFERENCES) {
                let (Ok(kind), Ok(part)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
                let name = format!("{name}/{part}");
                if kind.is_dir() {
                    pending.push((name, entry.path()));
                } else if let Some(hash) =
                    read_small(&entry.path()).map(|text| text.trim().to_owned()).filter(|hash| is_hash(hash))
                {
                    // A loose reference is newer than a packed one.
                    heads.insert(name, hash);
                }
            }
        }
        if let Some(hash) = read_small(&self.common.join("HEAD")).map(|text| text.trim().to_owned()).filter(|hash| is_hash(hash))
        {
            heads.insert("HEAD".to_owned(), hash);
        }
        heads
    }
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn stamp_of(heads: &BTreeMap<String, String>) -> Stamp {
    let mut hasher = blake3::Hasher::new();
    for (name, hash) in heads {
        hasher.update(name.as_bytes()).update(&[0]).update(hash.as_bytes()).update(&[0]);
    }
    let mut version = [0; 8];
    hasher.finalize_xof().fill(&mut version);
    Stamp { size: heads.len() as u64, version: i64::from_le_bytes(version) }
}

fn read_small(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > MAX_REFERENCE_BYTES {
        return None;
    }
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the first commit of the repository in a directory, if git finds one by a time.
pub fn first_commit_of(root: &Path, until: Instant) -> Option<String> {
    let repository = Repository::at(root)?;
    let heads = repository.heads();
    if heads.is_empty() {
        return None;
    }
    let detached = if heads.contains_key("reftable") { Some("HEAD") } else { heads.get("HEAD").map(String::as_str) };
    first_commit(&Program::until(&repository.directory, until), detached).ok().flatten()
}

/// Passes the records of a repository to `take`: first the repository, then its commits, oldest first.
fn records(program: &Program<'_>, repository: &Repository, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
    let heads = repository.heads();
    // A checked-out branch is among the branches, and may have no commit yet.
    let detached = if heads.contains_key("reftable") { Some("HEAD") } else { heads.get("HEAD").map(String::as_str) };
    let Some(first) = first_commit(program, detached)? else { return Ok(()) };
    let directory = repository.directory.to_str().ok_or_else(|| io::Error::other("the repository's name is not UTF-8"))?;
    if !take(json!({"repository": {"id": first, "directory": directory}})) {
        return Ok(());
    }
    // The log lists the newest commits first, so that the oldest are dropped if there are too many. The
    // records are passed oldest first.
    let mut log = Vec::new();
    let arguments: Vec<&str> = LOG.into_iter().chain(detached).chain(["--"]).collect();
    let stop = program.run(&arguments, MAX_LOG_BYTES, &mut log).or_else(|_| {
        // Finding renames needs the contents of the files, which a partial clone does not have.
        let arguments: Vec<&str> =
            arguments.iter().map(|argument| if *argument == "--find-renames" { "--no-renames" } else { argument }).collect();
        log.clear();
        program.run(&arguments, MAX_LOG_BYTES, &mut log)
    })?;
    let mut entries: Vec<&[u8]> = log.split(|byte| *byte == b'\0').collect();
    entries.retain(|entry| !entry.is_empty());
    let mut commits = commits(&entries);
    if stop == Stop::Full {
        // The last commit may be incomplete.
        commits.pop();
    }
    for commit in commits.iter().rev() {
        if !take(record(commit, &first)) {
            break;
        }
    }
    Ok(())
}

/// Returns the oldest of the commits without parents. It is the same in all clones, whatever branch each has
/// checked out.
fn first_commit(program: &Program<'_>, detached: Option<&str>) -> io::Result<Option<String>> {
    let mut said = Vec::new();
    let arguments: Vec<&str> =
        ["rev-list", "--max-parents=0", "--timestamp", "--branches"].into_iter().chain(detached).chain(["--"]).collect();
    program.run(&arguments, MAX_LOG_BYTES, &mut said)?;
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().filter_map(|line| {
        let (time, hash) = line.split_once(' ')?;
        is_hash(hash).then_some((time.parse::<i64>().ok()?, hash))
    });
    Ok(first.min().map(|(_, hash)| hash.to_owned()))
}

/// Arguments for `git`, except for a detached `HEAD`.
const LOG: [&str; 17] = [
    "log",
    "--branches",
    "-z",
    "--date-order",
    "--max-count=20000",
    "--no-color",
    "--no-decorate",
    "--no-show-signature",
    "--no-notes",
    "--no-mailmap",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--name-status",
    "-O/dev/null",
    "--encoding=UTF-8",
    // A commit begins with a byte that no file status begins with: see `commits`.
    "--format=tformat:%x01%H%x01%P%x01%an%x01%aI%x01%B%x01",
];

/// A commit as git prints it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Commit<'l> {
    /// Hash, parents, author, time, message.
    fields: [&'l [u8]; 5],
    /// Status letter, and one or two paths.
    files: Vec<(&'l [u8], Vec<&'l [u8]>)>,
}

/// Groups the entries between zero bytes: a commit's fields, then a status and one or two paths for each of
/// its files.
fn commits<'l>(entries: &[&'l [u8]]) -> Vec<Commit<'l>> {
    let mut commits: Vec<Commit<'l>> = Vec::new();
    let mut at = 0;
    while at < entries.len() {
        // Some versions put a line break between a commit and its files.
        let entry = entries[at].trim_ascii_start();
        at += 1;
        if entry.first() == Some(&(FIELD as u8)) {
            let mut fields = entry[1..].splitn(5, |byte| *byte == FIELD as u8);
            let mut commit = Commit::default();
            for field in &mut commit.fields {
                *field = fields.next().unwrap_or_default();
            }
            // The message ends with the last separator. In older versions the files follow it.
            if let Some(end) = commit.fields[4].iter().rposition(|byte| *byte == FIELD as u8) {
                commit.fields[4] = &commit.fields[4][..end];
            }
            commits.push(commit);
        } else if let Some(commit) = commits.last_mut() {
            let paths = if matches!(entry.first(), Some(b'R' | b'C')) { 2 } else { 1 };
            let end = (at + paths).min(entries.len());
            if end - at == paths {
                commit.files.push((entry, entries[at..end].to_vec()));
            }
            at = end;
        }
    }
    commits
}

fn record(commit: &Commit<'_>, repository: &str) -> Value {
    let text = |bytes: &[u8], limit: usize| {
        let text = String::from_utf8_lossy(bytes);
        let end = text.floor_char_boundary(limit.min(text.len()));
        text[..end].trim().to_owned()
    };
    let [hash, parents, author, time, message] = commit.fields;
    let files: Vec<Vec<String>> = commit
        .files
        .iter()
        .take(MAX_FILES)
        .map(|(status, paths)| {
            // The similarity of a rename in per cent is not useful to a reader.
            let letter = status.first().map_or_else(String::new, |letter| char::from(*letter).to_string());
            std::iter::once(letter).chain(paths.iter().map(|path| text(path, MAX_PATH_BYTES))).collect()
        })
        .collect();
    let mut record = json!({
        "repository": repository,
        "hash": text(hash, 64),
        "parents": text(parents, 64 * 66).split(' ').filter(|parent| !parent.is_empty()).collect::<Vec<_>>(),
        "author": text(author, 200),
        "time": text(time, 64),
        "message": text(message, MAX_MESSAGE_BYTES),
        "files": files,
    });
    if commit.files.len() > MAX_FILES {
        record["more_files"] = json!(commit.files.len() - MAX_FILES);
    }
    json!({"commit": record})
}

/// Reads the records of one repository.
struct GitReader {
    options: ReaderOptions,
    episode: Option<Arc<Episode>>,
    /// First lines of the commits so far, by hash.
    subjects: BTreeMap<String, String>,
}

impl GitReader {
    /// Returns the repository's episode, with its directory if the header gave it.
    fn episode(&mut self, id: &str, directory: Option<&str>) -> Arc<Episode> {
        if let Some(known) = self.episode.as_ref().filter(|known| known.native_id == id && directory.is_none()) {
            return Arc::clone(known);
        }
        let episode = Arc::new(Episode {
            id: EpisodeId::derive(KIND, id),
            agent: KIND.to_owned(),
            native_id: id.to_owned(),
            kind: EpisodeKind::Document,
            parent_native_id: None,
            project: None,
            cwd: directory.map(str::to_owned),
            remote: None,
            client_version: None,
        });
        self.episode = Some(Arc::clone(&episode));
        episode
    }

    fn header(&mut self, header: &Value, out: &mut Vec<Reading>) {
        let Some(id) = header["id"].as_str().filter(|id| !id.is_empty()) else {
            out.push(Reading::Skip("repository-without-id", String::new()));
            return;
        };
        self.episode(id, header["directory"].as_str());
    }

    fn commit(&mut self, commit: &Value, line: u64, out: &mut Vec<Reading>) {
        let (Some(repository), Some(hash)) = (commit["repository"].as_str(), commit["hash"].as_str()) else {
            out.push(Reading::Skip("commit-without-hash", String::new()));
            return;
        };
        let is_first = self.subjects.is_empty();
        let episode = self.episode(repository, None);
        let message = commit["message"].as_str().unwrap_or_default();
        let subject = message.lines().next().unwrap_or_default().trim();
        let parents = commit["parents"].as_array().map_or(0, Vec::len);
        let files: Vec<File<'_>> = commit["files"].as_array().into_iter().flatten().filter_map(File::of).collect();
        let mut notes = Vec::new();
        if parents > 1 {
            let merged = message::merged_branch(subject);
            notes.push(match merged {
                Some(branch) => format!("merge of {branch}, {parents} parents"),
                None => format!("merge, {parents} parents"),
            });
        }
        for reverted in message::reverted(message) {
            let known = self.subjects.range(reverted.to_owned()..).next().filter(|(hash, _)| hash.starts_with(reverted));
            notes.push(match known {
                Some((hash, subject)) => format!("reverts {}: {subject}", &hash[..hash.len().min(12)]),
                None => format!("reverts {reverted}"),
            });
        }
        notes.extend(files.iter().map(File::to_line));
        if let Some(more) = commit["more_files"].as_u64() {
            notes.push(format!("and {more} more files"));
        }
        let turn = Turn {
            id: TurnId::derive(KIND, &episode.native_id, hash, 0),
            native_id: hash.to_owned(),
            role: Role::Human,
            speaker: commit["author"].as_str().filter(|author| !author.is_empty()).map(str::to_owned),
            caveat: None,
            text: message.to_owned(),
            tool_text: excerpt(&notes.join("\n"), self.options.tool_bytes).into_owned(),
            is_error: false,
            time: commit["time"].as_str().map_or(RecordedTime::UNKNOWN, RecordedTime::parse),
            cwd: episode.cwd.clone(),
            branch: message::target_branch(subject).filter(|_| parents > 1).map(str::to_owned),
            model: None,
            parts: 1,
            tools: Vec::new(),
            files: files.iter().flat_map(File::uses).take(MAX_FILE_USES).collect(),
        };
        self.subjects.insert(hash.to_owned(), subject.chars().take(200).collect());
        out.push(Reading::Turn(Box::new(ReadTurn { episode: Arc::clone(&episode), turn, line })));
        if is_first {
            let directory = episode.cwd.as_deref().unwrap_or_default().trim_end_matches(['/', '\\']);
            let name = directory.rsplit(['/', '\\']).next().unwrap_or_default().trim_end_matches(".git");
            let text = if name.is_empty() { "Git history".to_owned() } else { format!("Git history of {name}") };
            out.push(Reading::Title(episode, Title { text, rank: TitleRank::Custom, at: None, line: 1 }));
        }
    }
}

impl EpisodeReader for GitReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            if value["repository"].is_object() {
                self.header(&value["repository"], out);
            } else if value["commit"].is_object() {
                self.commit(&value["commit"], line.mark.line, out);
            } else {
                out.push(Reading::Skip("no-commit", String::new()));
            }
        }
    }
}

/// The change of a file in a commit.
struct File<'v> {
    status: &'v str,
    path: &'v str,
    /// Its new name, if it was renamed or copied.
    renamed: Option<&'v str>,
}

impl<'v> File<'v> {
    fn of(value: &'v Value) -> Option<Self> {
        Some(Self { status: value[0].as_str()?, path: value[1].as_str()?, renamed: value[2].as_str() })
    }

    fn to_line(&self) -> String {
        match self.renamed {
            Some(renamed) => format!("{} {} -> {renamed}", self.status, self.path),
            None => format!("{} {}", self.status, self.path),
        }
    }

    fn uses(&self) -> impl Iterator<Item = FileUse> {
        // A copy leaves its original unchanged.
        let original = Some(self.path).filter(|_| self.status != "C");
        original.into_iter().chain(self.renamed).map(|path| FileUse { path: path.to_owned(), action: FileAction::Written })
    }
}

#[cfg(test)]
mod tests;
