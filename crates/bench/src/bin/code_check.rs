//! Replays the history of a real repository commit by commit, and compares the verdicts of `memories check` with what happened.
//!
//!     cargo run --release -p yore-bench --bin code_check -- REPOSITORY [ANCHORS] [STEPS]
//!
//! REPOSITORY is copied. ANCHORS (200) files of commits spread over its history become memories, each with its commit; then STEPS (40)
//! later states are checked out, and after them a branch that forks off in the middle. What happened to each file is followed forward,
//! one commit after the other, from `git diff-tree`; yore goes backward. Then the time of a check of 1,000 such memories is taken.

#![expect(clippy::print_stdout, reason = "a program for maintainers whose result is its output")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use yore_bench::open_engine;
use yore_core::memory::{Anchor, AnchorKind, MemoryKind, Verdict};
use yore_core::operation::{Actor, Cause};
use yore_engine::{CodeReport, Engine, NewMemory};
use yore_sources::project_names::names_of;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(directory).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A file of a commit, and what has become of it at a later one.
struct Followed {
    commit: usize,
    path: String,
    /// Its path now, and the number of the last commit that changed it; `None`: it was removed.
    now: Option<String>,
    is_changed: bool,
}

impl Followed {
    fn verdict(&self) -> Verdict {
        match &self.now {
            None => Verdict::Orphaned,
            Some(now) if *now != self.path || self.is_changed => Verdict::Drifted,
            Some(_) => Verdict::Fresh,
        }
    }

    /// Follows one commit: its entries of `git diff-tree --name-status`.
    fn follow(&mut self, changes: &[(char, String, String, bool)]) {
        let path = self.now.clone().unwrap_or_else(|| self.path.clone());
        for (status, from, to, is_same) in changes {
            match status {
                // A file that is there again is the same file.
                'A' if *to == path && self.now.is_none() => (self.now, self.is_changed) = (Some(to.clone()), true),
                'D' if *from == path && self.now.is_some() => self.now = None,
                'R' if *from == path && self.now.is_some() => {
                    self.now = Some(to.clone());
                    self.is_changed |= !is_same;
                }
                'M' | 'T' if *from == path && self.now.is_some() => self.is_changed = true,
                _ => {}
            }
        }
    }
}

fn changes(directory: &Path, before: &str, after: &str) -> Result<Vec<(char, String, String, bool)>> {
    let told = git(directory, &["diff-tree", "-r", "-M", "-z", "--name-status", before, after])?;
    let mut fields = told.split('\0');
    let mut found = Vec::new();
    while let Some(status) = fields.next().filter(|status| !status.is_empty()) {
        let kind = status.chars().next().unwrap_or_default();
        let from = fields.next().unwrap_or_default().to_owned();
        let to = if matches!(kind, 'R' | 'C') { fields.next().unwrap_or_default().to_owned() } else { from.clone() };
        found.push((kind, from, to, status == "R100"));
    }
    Ok(found)
}

fn add(engine: &Engine, directory: &Path, number: usize, path: &str, commit: &str, at: i64) -> Result<String> {
    let mut new = NewMemory::new(MemoryKind::Fact, format!("Memory {number} speaks of a file."));
    new.memory.valid_from = Some(at * 1_000);
    new.memory.anchors = vec![
        Anchor { kind: AnchorKind::SourceFile, text: path.to_owned() },
        Anchor { kind: AnchorKind::Commit, text: commit.to_owned() },
    ];
    new.here = Some(names_of(directory.to_str().unwrap_or_default()));
    let cause = Cause { actor: Actor::Agent, by: "bench".to_owned(), input: None };
    Ok(engine.add_memory(&new, &cause)?.memory.to_string())
}

/// Returns the verdicts on files by memory; those that are not told are fresh.
fn verdicts(report: &CodeReport) -> HashMap<String, Verdict> {
    let of_file = |checked: &yore_engine::CheckedMemory| {
        let file = checked.found.iter().find(|one| one.anchor.kind == AnchorKind::SourceFile);
        file.map(|file| (checked.memory.id.to_string(), file.verdict))
    };
    report.changed.iter().filter_map(of_file).collect()
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (count, steps) = (number(1, 200), number(2, 40));
    let place = tempfile::tempdir()?;
    let engine = open_engine(&place.path().join("data"))?;
    let directory = place.path().join("repository");
    let given = arguments.first().ok_or("name a repository")?;
    git(Path::new("."), &["clone", "--quiet", "--no-hardlinks", given, directory.to_str().unwrap_or_default()])?;
    let directory = directory.canonicalize()?;
    let log = git(&directory, &["log", "--first-parent", "--reverse", "--format=%H %ct", "HEAD"])?;
    let commits: Vec<(String, i64)> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(id, at)| Some((id.to_owned(), at.parse().ok()?)))
        .collect();
    let mut followed: Vec<Followed> = Vec::new();
    let mut ids = Vec::new();
    for anchor in 0..count {
        // Spread over the first four fifths of the history, and over the files of each commit.
        let commit = anchor * commits.len() * 4 / 5 / count;
        let files = git(&directory, &["ls-tree", "-r", "--name-only", &commits[commit].0])?;
        let files: Vec<&str> = files.lines().filter(|line| !line.starts_with('"')).collect();
        let path = files[(anchor * 7919) % files.len()].to_owned();
        ids.push(add(&engine, &directory, anchor, &path, &commits[commit].0, commits[commit].1)?);
        followed.push(Followed { commit, now: Some(path.clone()), path, is_changed: false });
    }
    let (mut right, mut all, mut wrong) = (0, 0, BTreeMap::<String, u32>::new());
    let mut kinds = BTreeMap::<&str, u32>::new();
    let every = (commits.len() / steps).max(1);
    let mut judge = |followed: &[Followed], at: usize, what: &str| -> Result<()> {
        let report = engine.check_code(&[], &mut || true)?;
        let told = verdicts(&report);
        for (one, id) in followed.iter().zip(&ids).filter(|(one, _)| one.commit <= at) {
            let (expected, found) = (one.verdict(), told.get(id).copied().unwrap_or(Verdict::Fresh));
            all += 1;
            *kinds.entry(expected.as_str()).or_default() += 1;
            if expected == found {
                right += 1;
            } else {
                *wrong.entry(format!("{what} {}: told {}, is {}", one.path, found.as_str(), expected.as_str())).or_default() += 1;
            }
        }
        Ok(())
    };
    // The number of the commit in the middle, and what had become of each file.
    let mut fork = None;
    for at in 1..commits.len() {
        let changed = changes(&directory, &commits[at - 1].0, &commits[at].0)?;
        for one in followed.iter_mut().filter(|one| one.commit < at) {
            one.follow(&changed);
        }
        if at % every == 0 {
            git(&directory, &["checkout", "--quiet", "--detach", &commits[at].0])?;
            judge(&followed, at, "main")?;
        }
        if at == commits.len() / 2 {
            fork = Some((at, followed.iter().map(|one| (one.now.clone(), one.is_changed)).collect::<Vec<_>>()));
        }
    }
    // Back to the middle: a branch that edits and removes a file is not the main one.
    if let Some((at, states)) = fork {
        for (one, (now, is_changed)) in followed.iter_mut().zip(states) {
            (one.now, one.is_changed) = (now, is_changed);
        }
        git(&directory, &["checkout", "--quiet", "-b", "crane", &commits[at].0])?;
        judge(&followed, at, "branch")?;
    }
    println!("{right} of {all} verdicts right ({:.1} %), by what happened: {kinds:?}", 100.0 * right as f64 / all.max(1) as f64);
    for (what, times) in &wrong {
        println!("wrong {times} times: {what}");
    }
    git(&directory, &["checkout", "--quiet", "--detach", &commits[commits.len() - 1].0])?;
    for extra in count..1_000 {
        let of = &followed[extra % count];
        add(&engine, &directory, extra, &of.path, &commits[of.commit].0, commits[of.commit].1)?;
    }
    for _ in 0..3 {
        let began = Instant::now();
        let report = engine.check_code(&[], &mut || true)?;
        let judged = report.fresh + report.unknown + report.changed.len() as u64;
        println!("{judged} memories with 2 anchors each in {} ms, {} commits", began.elapsed().as_millis(), commits.len());
    }
    Ok(())
}
