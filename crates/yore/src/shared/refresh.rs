//! Brings the memory to what the repository of a project shares, whenever that changed.
//!
//! Memories of accepted authors are taken into the memory; those of others are kept beside it, to be told with a mark. For each checkout
//! in which it was looked, a file in the data directory holds the stamp of what was taken. Checkouts of one project on different branches
//! share different files: what any of them has is shared.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use yore_core::memory::{Source, SourceKind};
use yore_engine::{SharedRecord, SharedRequest, SharedTaken};
use yore_sources::project_names::names_of;

use super::authors::{Author, authors, files_of_everybody};
use super::folder::{FOLDER, Folder, project_key};
use super::mirror::{self, Mirror, TeamProject};
use super::state::{Known, Standing, standings};
use super::stored::{self, write};

/// Folder of the data directory that holds what was taken from which checkout.
const CHECKOUTS: &str = "shared";
/// File of that folder with the entries of accepted authors.
const ACCEPTED: &str = "accepted.json";
/// Most characters of the reason of a retirement.
const REASON_CHARS: usize = 120;
/// Most memories of authors who are not accepted that are kept, and characters of each.
const MOST_UNACCEPTED: usize = 500;
const STATEMENT_CHARS: usize = 500;
/// Words of a question that a memory must have to be told beside its answer, and most that are told.
const LEAST_WORDS: usize = 2;
const MOST_TOLD: usize = 3;
/// Digits of a commit that are told.
pub const COMMIT_DIGITS: usize = 10;
/// Time that git has where nobody waits by the millisecond.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A memory that somebody shares whom the person has not accepted.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Unaccepted {
    /// Its file, relative to the repository.
    pub file: String,
    /// Kind.
    pub kind: String,
    /// Statement, cut.
    pub statement: String,
    /// Name and address of the author; `None`: not committed, or not known.
    pub author: Option<String>,
    /// First digits of the commit.
    pub commit: Option<String>,
}

/// A checkout whose shared memories were taken.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Checkout {
    root: PathBuf,
    /// The project that it belongs to.
    project: String,
    /// Digest of its folder and history when they were taken.
    stamp: String,
    unaccepted: Vec<Unaccepted>,
    /// The proven authors of files: they do not change, and a long history takes seconds to read.
    authors: HashMap<String, Vec<Author>>,
}

/// Returns the entry by which an author is accepted in a project.
pub fn acceptance(project: &str, email: &str) -> String {
    format!("{project} {email}")
}

/// Returns whether an author is accepted in a project, as far as the history or the team's server proves that it is them.
pub fn is_accepted(entries: &[String], project: &str, author: &Author) -> bool {
    // Who shares a project with a team accepts its members there; its server tells who they are.
    author.team().is_some()
        || (author.is_proven && !author.email.is_empty() && entries.contains(&acceptance(project, &author.email)))
}

/// Returns the entries of the authors that the person accepted.
///
/// # Errors
/// The file is there and cannot be read.
pub fn accepted(data: &Path) -> io::Result<Vec<String>> {
    stored::read(&data.join(CHECKOUTS).join(ACCEPTED))
}

/// Stores the entries of the authors that the person accepts.
///
/// # Errors
/// The file cannot be written.
pub fn accept(data: &Path, entries: &[String]) -> io::Result<()> {
    write(&data.join(CHECKOUTS).join(ACCEPTED), entries)
}

/// Shared memories that changed since they were taken.
pub struct Due {
    folder: Folder,
    /// The project that the person shares with a team.
    team: Option<TeamProject>,
    stamp: String,
    accepted: Vec<String>,
}

/// Returns what is to be taken for a directory; `None` if nothing changed.
pub fn due(data: &Path, directory: &Path) -> Option<Due> {
    let folder = Folder::of(directory)?;
    let known = read_checkout(&checkout_file(data, &folder.root));
    let team = mirror::project_of(data, || folder.root.to_str().map(names_of).unwrap_or_default());
    // Most projects share nothing: then little is looked at.
    if known.is_none() && team.is_none() && !folder.exists() {
        return None;
    }
    let accepted = accepted(data).unwrap_or_default();
    let stamp = stamp(&folder, &accepted, team.as_ref().map(|team| mirror::mirror_file(data, team)).as_deref());
    let is_taken = known.is_some_and(|known| {
        known.stamp == stamp && checkouts(data).all(|(_, other)| other.project != known.project || other.root.is_dir())
    });
    (!is_taken).then_some(Due { folder, team, stamp, accepted })
}

/// Takes what a repository shares. `until`: when git must have answered; `take`: gives the memories to the memory.
///
/// # Errors
/// The folder, the history or the memory could not be read. It stays due.
pub fn take<E: From<io::Error>>(
    due: Due,
    data: &Path,
    until: Instant,
    take: impl FnOnce(SharedRequest) -> Result<SharedTaken, E>,
) -> Result<SharedTaken, E> {
    let Due { folder, team, stamp, accepted } = due;
    let here = folder.root.to_str().map(names_of).unwrap_or_default();
    let Some(project) = project_key(&here) else { return Ok(SharedTaken::default()) };
    let path = checkout_file(data, &folder.root);
    let authors = read_checkout(&path).map(|checkout| checkout.authors).unwrap_or_default();
    let mut files = files_with(&folder, authors, Some(until))?;
    let mut authors: HashMap<String, Vec<Author>> = HashMap::new();
    for known in &files {
        let proven = known.author.iter().filter(|author| author.is_proven).cloned();
        authors.entry(known.name.clone()).or_default().extend(proven);
    }
    let of_project = || checkouts(data).filter(|(_, other)| other.project == project && other.root != folder.root);
    for (_, other) in of_project().filter(|(_, other)| other.root.is_dir()) {
        let Checkout { root, authors, .. } = other;
        files.extend(files_with(&Folder { path: root.join(FOLDER), root }, authors, Some(until))?);
    }
    let of_team = team.map(|team| mirror::mirror(data, &team)).transpose()?;
    files.extend(of_team.iter().flat_map(Mirror::known));
    let accepts = |author: &Author| is_accepted(&accepted, &project, author);
    let standings = standings(&files, &accepts);
    let records = standings.iter().map(record).collect();
    let elsewhere = files_of_everybody(&folder.root, Some(until))?;
    let is_here = |name: &String| files.iter().any(|known| known.name == *name);
    let elsewhere = elsewhere.into_iter().filter(|name| !is_here(name)).map(|name| file_of(&name)).collect();
    let taken = take(SharedRequest { here, records, elsewhere })?;
    let holds = |standing: &Standing<'_>| standing.is_accepted && standing.retired.is_none();
    // Somebody whom the person accepted may say the same, as a memory of another kind.
    let held: HashSet<&str> =
        standings.iter().filter(|standing| holds(standing)).map(|standing| standing.memory.statement.as_str()).collect();
    let is_told = |standing: &&Standing<'_>| {
        let is_known = held.contains(standing.memory.statement.as_str()) || taken.own.contains(&place_of(standing));
        !standing.is_accepted && standing.retired.is_none() && !is_known
    };
    let unaccepted = standings.iter().filter(is_told).take(MOST_UNACCEPTED).map(unaccepted_of).collect();
    for (gone, _) in of_project().filter(|(_, other)| !other.root.is_dir()) {
        fs::remove_file(gone)?;
    }
    write(&path, &Checkout { root: folder.root.clone(), project, stamp, unaccepted, authors })?;
    Ok(taken)
}

/// Returns what people share in a directory's repository whom the person has not accepted, as it was taken last.
pub fn unaccepted(data: &Path, directory: &Path) -> Vec<Unaccepted> {
    let checkout = Folder::of(directory).and_then(|folder| read_checkout(&checkout_file(data, &folder.root)));
    checkout.map(|checkout| checkout.unaccepted).unwrap_or_default()
}

/// Returns those of the memories that have most words of a question, at most a few.
pub fn about<'u>(unaccepted: &'u [Unaccepted], question: &str) -> Vec<&'u Unaccepted> {
    let asked = words(question);
    let mut found: Vec<(usize, &Unaccepted)> = unaccepted
        .iter()
        .map(|one| (words(&one.statement).iter().filter(|word| asked.contains(word)).count(), one))
        .filter(|(shared, _)| *shared >= LEAST_WORDS.min(asked.len().max(1)))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.file.cmp(&b.1.file)));
    found.into_iter().take(MOST_TOLD).map(|(_, one)| one).collect()
}

/// Returns the words of a text that are long enough to tell something, in lower case, each once and without its ending.
fn words(text: &str) -> Vec<String> {
    let long = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    let mut words: Vec<String> = long.map(|word| word.to_lowercase().chars().take(6).collect()).collect();
    words.sort();
    words.dedup();
    words
}

/// Returns the files of a folder, each once for each of its authors.
///
/// # Errors
/// The folder or the history could not be read.
pub fn known_files(folder: &Folder, until: Option<Instant>) -> io::Result<Vec<Known>> {
    files_with(folder, HashMap::new(), until)
}

/// Returns the files of a folder like [`known_files`]; git is asked only if one has none of these authors.
fn files_with(folder: &Folder, known: HashMap<String, Vec<Author>>, until: Option<Instant>) -> io::Result<Vec<Known>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let (files, _) = folder.read()?;
    let has_author = |name: &String| known.get(name).is_some_and(|authors| !authors.is_empty());
    let mut authors = if files.iter().all(|(name, _)| has_author(name)) { known } else { authors(&folder.root, until)? };
    let mut known = Vec::with_capacity(files.len());
    for (name, file) in files {
        match authors.remove(&name) {
            None => known.push(Known { name, file, author: None }),
            Some(authors) => {
                let of = |author| Known { name: name.clone(), file: file.clone(), author: Some(author) };
                known.extend(authors.into_iter().map(of));
            }
        }
    }
    Ok(known)
}

/// Returns the path of a file, relative to the repository.
pub fn file_of(name: &str) -> String {
    format!("{FOLDER}/{name}.md")
}

/// Returns where a standing comes from: the path of its file, or the team and its name there.
pub fn place_of(standing: &Standing<'_>) -> String {
    match standing.author.and_then(Author::team) {
        Some(team) => of_team(team, standing.name),
        None => file_of(standing.name),
    }
}

/// Returns the place of a text that a team shares.
pub fn of_team(team: &str, name: &str) -> String {
    format!("team {team}: {name}")
}

/// Returns the first digits of an author's commit; `None` for a member of a team.
pub fn short_commit(author: &Author) -> Option<String> {
    author.team().is_none().then(|| author.commit.chars().take(COMMIT_DIGITS).collect())
}

/// Returns the name and the address of an author, and their team: names alone can be anybody's.
pub fn signature(author: &Author) -> String {
    let team = author.team().map(|team| format!(" of {team}")).unwrap_or_default();
    format!("{} <{}>{team}", author.name, author.email)
}

fn unaccepted_of(standing: &Standing<'_>) -> Unaccepted {
    Unaccepted {
        file: place_of(standing),
        kind: standing.memory.kind.as_str().to_owned(),
        statement: standing.memory.statement.chars().take(STATEMENT_CHARS).collect(),
        author: standing.author.map(signature),
        commit: standing.author.and_then(short_commit),
    }
}

/// Returns what a standing is in the memory.
fn record(standing: &Standing<'_>) -> SharedRecord {
    let mut memory = standing.memory.as_new();
    memory.memory.source = Source {
        kind: SourceKind::Colleague,
        place: Some(place_of(standing)),
        author: standing.author.map(signature),
        commit: standing.author.and_then(short_commit),
        ..Source::default()
    };
    let retired = standing.retired.map(|known| {
        let by = known.author.as_ref().map_or("somebody", |author| author.name.as_str());
        let reason: String = known.reason().unwrap_or_default().chars().take(REASON_CHARS).collect();
        if reason.is_empty() { by.to_owned() } else { format!("{by}: {reason}") }
    });
    SharedRecord { memory, is_accepted: standing.is_accepted, retired }
}

/// Returns what shows that a folder, its history, the copy of what a team shares, or the accepted authors changed.
fn stamp(folder: &Folder, accepted: &[String], team: Option<&Path>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &[u8]| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    };
    let changed = |path: &Path| {
        let meta = fs::metadata(path).ok()?;
        let at = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(format!("{at} {}", meta.len()))
    };
    let entries = fs::read_dir(&folder.path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<String> = entries.map(|path| format!("{} {:?}", path.display(), changed(&path))).collect();
    files.sort();
    files.iter().for_each(|file| add(file.as_bytes()));
    if let Some(git) = git_directory(&folder.root) {
        let common = fs::read_to_string(git.join("commondir")).map_or_else(|_| git.clone(), |path| git.join(path.trim()));
        let head = fs::read_to_string(git.join("HEAD")).unwrap_or_default();
        add(head.as_bytes());
        let branch = head.strip_prefix("ref:").map(str::trim);
        for name in
            branch.into_iter().chain(["refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master"])
        {
            add(&fs::read(common.join(name)).unwrap_or_default());
        }
        for name in ["packed-refs", "shallow"] {
            add(changed(&common.join(name)).unwrap_or_default().as_bytes());
        }
    }
    if let Some(team) = team {
        add(format!("{} {:?}", team.display(), changed(team)).as_bytes());
    }
    accepted.iter().for_each(|entry| add(entry.as_bytes()));
    hasher.finalize().to_hex()[..32].to_owned()
}

/// Returns the git directory of a checkout, which a file names for a worktree.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let named = fs::read_to_string(&git).ok()?;
    Some(git.parent()?.join(named.strip_prefix("gitdir:")?.trim()))
}

fn checkout_file(data: &Path, root: &Path) -> PathBuf {
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    data.join(CHECKOUTS).join(format!("{}.json", &name[..16]))
}

fn read_checkout(path: &Path) -> Option<Checkout> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn checkouts(data: &Path) -> impl Iterator<Item = (PathBuf, Checkout)> {
    let files = fs::read_dir(data.join(CHECKOUTS)).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = files.filter(|path| path.extension().is_some_and(|end| end == "json") && !path.ends_with(ACCEPTED));
    ours.filter_map(|path| Some((path.clone(), read_checkout(&path)?)))
}
