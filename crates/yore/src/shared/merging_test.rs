//! Random work of several people in their clones and worktrees, merged in any order: nothing conflicts, nothing is lost, and in the
//! end all clones say the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use yore_core::memory::MemoryKind;

use super::authors::Author;
use super::file::{self, Retirement, SharedFile, SharedMemory};
use super::folder::Folder;
use super::refresh::known_files;
use super::state::{Known, standings};

/// Number of operations.
const OPERATIONS: usize = 1_000;

fn git(place: &Path, who: &str, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(place).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", &format!("user.name={who}"), "-c", &format!("user.email={who}@example.org"), "-c", "gc.auto=0"]);
    let outcome = git.args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&outcome.stderr).into_owned() + &String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success(), "{who}: git {arguments:?}: {told}");
    String::from_utf8(outcome.stdout).unwrap()
}

/// A checkout in which one person works.
struct Checkout {
    who: &'static str,
    folder: Folder,
    /// Files that this person shared alone.
    own: Vec<String>,
}

impl Checkout {
    fn new(who: &'static str, root: PathBuf) -> Self {
        Self { who, folder: Folder::of(&root).unwrap(), own: Vec::new() }
    }

    fn commit(&self) {
        git(&self.folder.root, self.who, &["add", "-A", "."]);
        git(&self.folder.root, self.who, &["commit", "-q", "--allow-empty", "-m", "Work"]);
    }

    fn merge(&self, other: &Path) {
        git(&self.folder.root, self.who, &["fetch", "-q", other.to_str().unwrap(), "HEAD"]);
        git(&self.folder.root, self.who, &["merge", "-q", "--no-edit", "-m", "Merge", "FETCH_HEAD"]);
    }

    fn memories(&self) -> Vec<String> {
        let (files, problems) = self.folder.read().unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        files.into_iter().filter(|(_, file)| matches!(file, SharedFile::Memory(_))).map(|(name, _)| name).collect()
    }
}

fn memory(statement: String) -> String {
    file::write(&SharedFile::Memory(Box::new(SharedMemory { kind: MemoryKind::Fact, statement, ..SharedMemory::default() })))
}

#[test]
fn clones_and_worktrees_that_are_merged_in_any_order_say_the_same_in_the_end_and_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let first = root.join("ann");
    std::fs::create_dir(&first).unwrap();
    git(&first, "ann", &["init", "-q", "-b", "main"]);
    git(&first, "ann", &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    for name in ["bob", "cem"] {
        git(&root, name, &["clone", "-q", "ann", name]);
    }
    git(&first, "ann", &["worktree", "add", "-q", "-b", "side", root.join("side").to_str().unwrap()]);
    let places = [("ann", "ann"), ("bob", "bob"), ("cem", "cem"), ("ann", "side")];
    let mut checkouts: Vec<Checkout> = places.iter().map(|(who, place)| Checkout::new(who, root.join(place))).collect();
    let mut random = 42u64;
    let mut pick = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut expected: BTreeSet<String> = BTreeSet::new();
    for number in 0..OPERATIONS {
        let at = pick(checkouts.len());
        match pick(100) {
            0..50 => {
                let (name, is_new) = checkouts[at].folder.write(&memory(format!("Fact {number} of the pier."))).unwrap();
                assert!(is_new && expected.insert(name.clone()));
                checkouts[at].own.push(name);
            }
            // Several people say the same.
            50..60 => {
                expected.insert(checkouts[at].folder.write(&memory(format!("Common fact {}.", pick(20)))).unwrap().0);
            }
            60..75 => {
                let known = checkouts[at].memories();
                if !known.is_empty() {
                    let (memory, reason) = (known[pick(known.len())].clone(), Some(format!("Reason {}.", pick(5))));
                    let text = file::write(&SharedFile::Retired(Retirement { memory, by: None, reason }));
                    expected.insert(checkouts[at].folder.write(&text).unwrap().0);
                }
            }
            75..85 => {
                if !checkouts[at].own.is_empty() {
                    let index = pick(checkouts[at].own.len());
                    let name = checkouts[at].own.swap_remove(index);
                    assert!(checkouts[at].folder.remove(&name).unwrap());
                    expected.remove(&name);
                }
            }
            _ => {
                let other = pick(checkouts.len());
                checkouts[at].commit();
                let place = checkouts[other].folder.root.clone();
                checkouts[at].merge(&place);
            }
        }
    }
    checkouts.iter().for_each(Checkout::commit);
    for _ in 0..2 {
        for at in 0..checkouts.len() {
            for other in 0..checkouts.len() {
                checkouts[at].merge(&checkouts[other].folder.root.clone());
            }
        }
    }
    let mut said: BTreeSet<String> = BTreeSet::new();
    for checkout in &checkouts {
        let files = known_files(&checkout.folder, None).unwrap();
        let names: BTreeSet<String> = files.iter().map(|known| known.name.clone()).collect();
        assert_eq!(names, expected, "{} lost or kept something", checkout.who);
        assert!(files.iter().all(|known| known.author.is_some()), "each file has an author");
        let is_ann = |author: &Author| author.name == "ann";
        // Each clone has its own origin, which proves other authors.
        let proven = |known: &Known| Known {
            author: known.author.clone().map(|author| Author { is_proven: true, ..author }),
            ..known.clone()
        };
        let files: Vec<Known> = files.iter().map(proven).collect();
        said.insert(format!("{:#?}", standings(&files, &is_ann)));
    }
    assert_eq!(said.len(), 1, "all say the same, with the same authors");
}
