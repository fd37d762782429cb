//! The history of a project as a source: from a repository to recall.
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use yore_core::episode::Role;
use yore_testing::{Memory, TurnOf};

use crate::told::{told, words_from_archive};

/// Imports a history without a repository: this many commits, one file each.
fn import(directory: &Path, commits: usize) -> Option<()> {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no git program");
        return None;
    }
    std::fs::create_dir_all(directory).unwrap();
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(directory).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git
    };
    if !directory.join(".git").exists() {
        assert!(git().args(["init", "--quiet", "--initial-branch=main"]).status().unwrap().success());
    }
    let mut stream = String::new();
    for at in 0..commits {
        let message = format!("Gauge number {at}: cleaned the pipe\n\nBarnacles, mostly.");
        stream.push_str(&format!(
            "commit refs/heads/main\nmark :{mark}\nauthor Mira Osei <mira@tides.example> {time} +0100\n\
             committer Mira Osei <mira@tides.example> {time} +0100\ndata {length}\n{message}\n",
            mark = at + 1,
            time = 1_772_352_000 + at * 60,
            length = message.len(),
        ));
        if at > 0 {
            stream.push_str(&format!("from :{at}\n"));
        }
        stream.push_str(&format!("M 100644 inline log/{at}.txt\ndata 2\n{:02}\n\n", at % 100));
    }
    let mut child = git().args(["fast-import", "--quiet", "--force"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    Some(())
}

fn hash_of(directory: &Path, revision: &str) -> String {
    let output = Command::new("git").args(["rev-parse", revision]).current_dir(directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn commits_are_recalled_with_author_and_files_and_read_again_for_nothing() {
    let memory = Memory::new();
    let directory = memory.sources().join("tidepool");
    if import(&directory, 3).is_none() {
        return;
    }
    let report = memory.read_as("git", &directory);
    assert_eq!((report.turns_added, report.lines), (3, 4));
    assert!(report.redactions.is_empty(), "a hash was taken for a secret: {:?}", report.redactions);
    let first = hash_of(&directory, "main~2");
    assert_eq!(told(&memory, &first)[2], "human exact: Gauge number 2: cleaned the pipe /  / Barnacles, mostly.> A log/2.txt");
    memory.index();
    let hits = memory.ask("who cleaned the pipe of gauge number 1?");
    assert_eq!(hits[0].turn().role, Role::Human);
    assert!(hits[0].turn().text.contains("number 1"), "{:?}", hits[0]);
    assert_eq!(memory.read_as("git", &directory).files_unchanged, 1);
    let words = memory.words();
    assert_eq!(words_from_archive(&memory), words);
}

#[test]
fn one_more_commit_adds_one_turn_and_one_line() {
    let memory = Memory::new();
    let directory = memory.sources().join("tidepool");
    if import(&directory, 5).is_none() {
        return;
    }
    memory.read_as("git", &directory);
    let before = told(&memory, &hash_of(&directory, "main~4"));
    import(&directory, 6).unwrap();
    let report = memory.read_as("git", &directory);
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
    let after = told(&memory, &hash_of(&directory, "main~5"));
    assert_eq!(after[..5], before[..]);
    assert_eq!(after.len(), 6);
    // A clone has the same history.
    let clone = memory.sources().join("clone");
    let cloned = Command::new("git")
        .args(["clone", "--quiet", "--no-local", directory.to_str().unwrap(), clone.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(cloned.success());
    let report = memory.read_as("git", &clone);
    assert_eq!((report.turns_added, report.turns_updated), (0, 0));
}

#[test]
fn thousand_commits_are_read_in_their_order() {
    let memory = Memory::new();
    let directory = memory.sources().join("tidepool");
    if import(&directory, 1000).is_none() {
        return;
    }
    let began = std::time::Instant::now();
    let report = memory.read_as("git", &directory);
    eprintln!("1,000 commits in {:?}", began.elapsed());
    assert_eq!(report.turns_added, 1000);
    let told = told(&memory, &hash_of(&directory, "main~999"));
    assert!(told[0].contains("number 0:") && told[999].contains("number 999:"), "{:?}", told.last());
}
