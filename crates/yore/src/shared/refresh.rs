//! Brings the memory to what the repository of a project shares, whenever that changed.
//!
//! For each checkout in which it was looked, a file in the data directory holds the stamp of what was taken. Checkouts of one project on
//! different branches share different files: what any of them has is shared.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use yore_core::memory::{Source, SourceKind};
use yore_core::scope::ProjectAlias;
use yore_engine::{SHARED_CHECKOUTS as CHECKOUTS, SharedRecord, SharedRequest, SharedTaken, platform};
use yore_sources::project_names::{ProjectNames, names_of};

use super::authors::{Author, authors};
use super::folder::{FOLDER, Folder};
use super::state::{Known, Standing, standings};

/// File of that folder with the entries of accepted authors.
const ACCEPTED: &str = "accepted.json";
/// Most characters of the reason of a retirement.
const REASON_CHARS: usize = 120;
/// Digits of a commit that are told.
pub const COMMIT_DIGITS: usize = 10;

/// A checkout whose shared memories were taken.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Checkout {
    root: PathBuf,
    /// The project that it belongs to.
    project: String,
    /// What its folder and history were when they were taken.
    stamp: String,
}

/// Returns the name of a project by which authors are accepted: that of its remote, else of its directory.
pub fn project_key(here: &ProjectNames) -> Option<String> {
    here.aliases.first().map(|(alias, _)| match alias {
        ProjectAlias::Remote(value)
        | ProjectAlias::GitDir(value)
        | ProjectAlias::Directory(value)
        | ProjectAlias::Name(value) => value.clone(),
    })
}

/// Returns the entry by which an author is accepted in a project.
pub fn acceptance(project: &str, email: &str) -> String {
    format!("{project} {email}")
}

/// Returns the entries of the authors that the person accepted.
pub fn accepted(data: &Path) -> Vec<String> {
    let read = fs::read(data.join(CHECKOUTS).join(ACCEPTED)).ok();
    read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
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
    stamp: String,
    accepted: Vec<String>,
}

/// Returns what is to be taken for a directory; `None` if nothing changed.
pub fn due(data: &Path, directory: &Path) -> Option<Due> {
    let folder = Folder::of(directory)?;
    let known = read_checkout(&checkout_file(data, &folder.root));
    // Most projects share nothing: that costs two looks.
    if known.is_none() && !folder.exists() {
        return None;
    }
    let accepted = accepted(data);
    let stamp = stamp(&folder, &accepted);
    known.is_none_or(|known| known.stamp != stamp).then_some(Due { folder, stamp, accepted })
}

/// Takes what a repository shares. `until`: when git must have answered; `take`: hands the memories to the memory.
///
/// # Errors
/// The folder, the history or the memory could not be read. It stays due.
pub fn take<E: From<io::Error>>(
    due: Due,
    data: &Path,
    until: Option<Instant>,
    take: impl FnOnce(SharedRequest) -> Result<SharedTaken, E>,
) -> Result<SharedTaken, E> {
    let Due { folder, stamp, accepted } = due;
    let here = folder.root.to_str().map(names_of).unwrap_or_default();
    let Some(project) = project_key(&here) else { return Ok(SharedTaken::default()) };
    let mut files = known_files(&folder, until)?;
    for other in checkouts(data).filter(|other| other.project == project && other.root != folder.root && other.root.is_dir()) {
        let other = Folder { path: other.root.join(FOLDER), root: other.root };
        // One that cannot be read now is read when it is worked in.
        files.extend(known_files(&other, until).unwrap_or_default());
    }
    let is_accepted = |author: &Author| accepted.contains(&acceptance(&project, &author.email));
    let records = standings(&files, &is_accepted).iter().map(record).collect();
    let taken = take(SharedRequest { here, records })?;
    write(&checkout_file(data, &folder.root), &Checkout { root: folder.root, project, stamp })?;
    Ok(taken)
}

/// Writes a file of the folder in the data directory.
fn write<T: Serialize + ?Sized>(path: &Path, content: &T) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        platform::create_private_directory(folder)?;
    }
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&draft);
    platform::write_new_private_file(&draft, &serde_json::to_vec(content).map_err(io::Error::other)?)?;
    fs::rename(&draft, path)
}

/// Returns the files of a folder, each once for each of its authors.
///
/// # Errors
/// The folder or the history could not be read.
pub fn known_files(folder: &Folder, until: Option<Instant>) -> io::Result<Vec<Known>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let (files, _) = folder.read()?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut authors = authors(&folder.root, until)?;
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

/// Returns what a standing is in the memory.
fn record(standing: &Standing<'_>) -> SharedRecord {
    let mut memory = standing.memory.as_new();
    memory.memory.source = Source {
        kind: SourceKind::Colleague,
        place: Some(format!("{FOLDER}/{}.md", standing.name)),
        author: standing.author.map(|author| author.name.clone()),
        commit: standing.author.map(|author| author.commit.chars().take(COMMIT_DIGITS).collect()),
        ..Source::default()
    };
    let retired = standing.retired.map(|known| {
        let by = known.author.as_ref().map_or("somebody", |author| author.name.as_str());
        let reason: String = known.reason().unwrap_or_default().chars().take(REASON_CHARS).collect();
        if reason.is_empty() { by.to_owned() } else { format!("{by}: {reason}") }
    });
    SharedRecord { memory, is_accepted: standing.is_accepted, retired }
}

/// Returns what shows that a folder, its history or the accepted authors changed.
fn stamp(folder: &Folder, accepted: &[String]) -> String {
    let at = |path: &Path| {
        let modified = fs::metadata(path).and_then(|meta| meta.modified()).ok()?;
        modified.duration_since(UNIX_EPOCH).ok().map(|since| since.as_nanos())
    };
    let git = git_directory(&folder.root);
    let log = git.and_then(|git| at(&git.join("logs/HEAD")).or_else(|| at(&git.join("HEAD"))));
    let accepted = blake3::hash(accepted.join("\n").as_bytes()).to_hex();
    format!("{:?} {log:?} {}", at(&folder.path), &accepted[..16])
}

/// Returns the git directory of a checkout, which a file names for a worktree.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let named = fs::read_to_string(&git).ok()?;
    Some(root.join(named.strip_prefix("gitdir:")?.trim()))
}

fn checkout_file(data: &Path, root: &Path) -> PathBuf {
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    data.join(CHECKOUTS).join(format!("{}.json", &name[..16]))
}

fn read_checkout(path: &Path) -> Option<Checkout> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn checkouts(data: &Path) -> impl Iterator<Item = Checkout> {
    let files = fs::read_dir(data.join(CHECKOUTS)).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).filter_map(|path| read_checkout(&path))
}
