//! Tests with repositories made by the `git` program. Without git they are skipped with a message.

use std::process::Command;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::source::{LineMark, NothingKnown};

/// Runs git in a directory, independent of the user's configuration.
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", "2026-03-01T10:00:00+02:00")
        .env("GIT_COMMITTER_DATE", "2026-03-01T10:00:00+02:00")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns a repository with one commit, or `None` if git is not installed.
fn repository() -> Option<TempDir> {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no git program");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    git(home.path(), &["init", "--quiet", "--initial-branch=main"]);
    git(home.path(), &["config", "user.name", "Mira Osei"]);
    git(home.path(), &["config", "user.email", "mira@tides.example"]);
    commit(home.path(), "gauge.rs", "Read the gauge\n\nOnce a minute.");
    Some(home)
}

fn commit(directory: &Path, file: &str, message: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, message).unwrap();
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "--message", message]);
}

fn read(root: &Path) -> Vec<Value> {
    let units = Git.discover(root, &NothingKnown);
    assert_eq!(units.len(), 1, "{units:?}");
    let mut records = Vec::new();
    Git.records(&units[0], &mut |record| {
        records.push(record);
        true
    })
    .unwrap();
    records
}

fn turns(records: &[Value]) -> Vec<Turn> {
    let mut reader = Git.reader(Path::new("x"), "", &ReaderOptions::default());
    let mut out = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let mark = LineMark { line: at as u64 + 1, offset: 0 };
        reader.read(&SourceLine { values: std::slice::from_ref(record), mark }, &mut out);
    }
    out.into_iter()
        .filter_map(|reading| match reading {
            Reading::Turn(read) => Some(read.turn),
            _ => None,
        })
        .collect()
}

#[test]
fn commits_are_told_oldest_first_with_author_time_and_files() {
    let Some(home) = repository() else { return };
    commit(home.path(), "a b/\u{e9}t\u{e9}.rs", "Add summer");
    git(home.path(), &["mv", "gauge.rs", "float.rs"]);
    git(home.path(), &["commit", "--quiet", "--message", "Rename", "--author", "Ada L <ada@tides.example>"]);
    let records = read(home.path());
    let root = home.path().canonicalize().unwrap();
    assert_eq!(records[0]["repository"]["directory"].as_str(), root.to_str());
    assert_eq!(records[0]["repository"]["id"], records[1]["commit"]["hash"]);
    let turns = turns(&records);
    let texts: Vec<&str> = turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["Read the gauge\n\nOnce a minute.", "Add summer", "Rename"]);
    assert_eq!(turns[1].tool_text, "A a b/\u{e9}t\u{e9}.rs");
    assert_eq!(turns[2].tool_text, "R gauge.rs -> float.rs");
    let files: Vec<&str> = turns[2].files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["gauge.rs", "float.rs"]);
    assert_eq!(turns[2].speaker.as_deref(), Some("Ada L"));
    assert_eq!((turns[0].time.utc, turns[0].time.offset_minutes), (Some(1_772_352_000_000), Some(120)));
    assert!(turns.iter().all(|turn| turn.role == Role::Human && turn.cwd.as_deref() == root.to_str()));
    let text = format!("{records:?}");
    assert!(!text.contains("tides.example"), "an address of a person is in {text}");
}

#[test]
fn merges_and_reverts_are_understood() {
    let Some(home) = repository() else { return };
    git(home.path(), &["checkout", "--quiet", "-b", "tide/float"]);
    commit(home.path(), "float.rs", "Hang the float");
    git(home.path(), &["checkout", "--quiet", "main"]);
    commit(home.path(), "other.rs", "Something else");
    git(home.path(), &["merge", "--quiet", "--no-ff", "--message", "Merge branch 'tide/float' into main", "tide/float"]);
    let reverted = git(home.path(), &["rev-parse", "tide/float"]);
    git(home.path(), &["revert", "--no-edit", &reverted]);
    let turns = turns(&read(home.path()));
    let merge = turns.iter().find(|turn| turn.text.starts_with("Merge")).unwrap();
    assert_eq!(merge.tool_text, "merge of tide/float, 2 parents");
    assert_eq!(merge.branch.as_deref(), Some("main"));
    let revert = turns.last().unwrap();
    assert_eq!(revert.tool_text, format!("reverts {}: Hang the float\nD float.rs", &reverted[..12]));
}

#[test]
fn one_more_commit_leaves_all_records_as_they_are() {
    let Some(home) = repository() else { return };
    commit(home.path(), "b.rs", "Second");
    let before = read(home.path());
    let stamp = |root: &Path| Git.discover(root, &NothingKnown)[0].stamp;
    let stamp_before = stamp(home.path());
    assert_eq!(stamp(home.path()), stamp_before);
    commit(home.path(), "c.rs", "Third");
    assert_ne!(stamp(home.path()), stamp_before);
    let after = read(home.path());
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), before.len() + 1);
    let stamp_before = stamp(home.path());
    // Packed references give the same stamp.
    git(home.path(), &["pack-refs", "--all"]);
    assert_eq!(stamp(home.path()), stamp_before);
    commit(home.path(), "d.rs", "Fourth");
    assert_ne!(stamp(home.path()), stamp_before);
    assert_eq!(read(home.path()).len(), 5);
}

#[test]
fn clones_worktrees_and_bare_repositories_are_the_same_history() {
    let Some(home) = repository() else { return };
    let other = tempfile::tempdir().unwrap();
    let path = |name: &str| other.path().join(name);
    git(home.path(), &["worktree", "add", "--quiet", path("tree").to_str().unwrap(), "-b", "tree"]);
    commit(&path("tree"), "tree.rs", "In the tree");
    let unit = |root: &Path| Git.discover(root, &NothingKnown).remove(0);
    assert_eq!(unit(&path("tree")), unit(home.path()));
    assert_eq!(read(&path("tree")).len(), 3);
    for flags in [["--quiet", "--no-local"], ["--quiet", "--bare"]] {
        let name = flags[1];
        git(home.path(), &["clone", flags[0], name, home.path().to_str().unwrap(), path(name).to_str().unwrap()]);
        let (clone, original) = (read(&path(name)), read(home.path()));
        assert_eq!(clone[0]["repository"]["id"], original[0]["repository"]["id"], "{name}");
        assert_eq!(clone[1], original[1], "{name}");
        assert_eq!(clone[0]["repository"]["directory"].as_str(), path(name).canonicalize().unwrap().to_str(), "{name}");
    }
    git(
        home.path(),
        &["-c", "protocol.file.allow=always", "submodule", "add", "--quiet", path("--bare").to_str().unwrap(), "inner"],
    );
    let inner = unit(&home.path().join("inner"));
    assert_eq!(inner.root, home.path().join("inner").canonicalize().ok());
}

#[test]
fn detached_commits_are_read_and_places_without_history_are_none() {
    let Some(home) = repository() else { return };
    git(home.path(), &["checkout", "--quiet", "--detach"]);
    commit(home.path(), "b.rs", "On no branch");
    assert_eq!(turns(&read(home.path())).last().unwrap().text, "On no branch");
    git(home.path(), &["checkout", "--quiet", "--orphan", "fresh"]);
    assert_eq!(read(home.path()).len(), 2);
    let empty = tempfile::tempdir().unwrap();
    assert!(Git.discover(empty.path(), &NothingKnown).is_empty());
    git(empty.path(), &["init", "--quiet"]);
    assert!(Git.discover(empty.path(), &NothingKnown).is_empty());
    assert!(Git.discover(Path::new("/nowhere/at/all"), &NothingKnown).is_empty());
    fs::write(empty.path().join("HEAD"), "words").unwrap();
    fs::remove_dir_all(empty.path().join(".git")).unwrap();
    fs::write(empty.path().join(".git"), "gitdir: ../../nowhere").unwrap();
    assert!(Git.discover(empty.path(), &NothingKnown).is_empty());
}

#[test]
#[cfg(unix)]
fn nothing_that_a_repository_names_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let Some(home) = repository() else { return };
    let root = home.path();
    let marker = root.join("marker");
    let program = root.join("program");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = root.join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
        fs::copy(&program, hooks.join(hook)).unwrap();
    }
    fs::write(root.join(".gitattributes"), "*.rs diff=odd filter=odd\n").unwrap();
    commit(root, "b.rs", "Second");
    fs::write(root.join("b.rs"), "changed").unwrap();
    let program = program.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", program),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.pager", program),
        ("pager.log", program),
        ("core.sshCommand", program),
        ("core.askPass", program),
        ("core.gitProxy", program),
        ("core.alternateRefsCommand", program),
        ("credential.helper", program),
        ("diff.external", program),
        ("diff.odd.command", program),
        ("diff.odd.textconv", program),
        ("filter.odd.clean", program),
        ("filter.odd.smudge", program),
        ("gpg.program", program),
        ("log.showSignature", "true"),
        ("alias.log", &format!("!{program}")),
        ("alias.rev-list", &format!("!{program}")),
        ("diff.renames", "copies"),
        ("log.date", "relative"),
        ("log.decorate", "full"),
        ("log.follow", "true"),
        ("log.diffMerges", "separate"),
        ("format.pretty", "odd"),
        ("color.ui", "always"),
        ("i18n.logOutputEncoding", "latin1"),
        ("core.quotePath", "true"),
    ] {
        git(root, &["config", key, value]);
    }
    let records = read(root);
    assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap());
    let turns = turns(&records);
    assert_eq!(turns.last().unwrap().text, "Second");
    assert!(turns.last().unwrap().tool_text.contains("A b.rs"), "{:?}", turns.last());
    assert!(!root.join(".git/index.lock").exists());
}

#[test]
#[cfg(unix)]
fn program_that_is_missing_slow_or_failing_is_a_clear_failure() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let program = home.path().join("program");
    let run = |script: &str, limit: usize| {
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        loop {
            let mut out = Vec::new();
            let result = Program::with(&program, home.path(), Duration::from_millis(500)).run(&["log"], limit, &mut out);
            let result = result.map_err(|error| error.to_string());
            // Another test that starts a program at this moment has the file open for a while.
            if result.as_ref().is_err_and(|error| error.contains("Text file busy")) {
                continue;
            }
            return (result, out);
        }
    };
    let missing =
        Program::with(Path::new("/nowhere/git"), home.path(), Duration::from_secs(1)).run(&["log"], 10, &mut Vec::new());
    let missing = missing.unwrap_err();
    // The error is of the kind that is reported, not of the kind that means that the files were deleted.
    assert!(missing.kind() == io::ErrorKind::Other && missing.to_string().contains("not installed"), "{missing}");
    let began = Instant::now();
    assert_eq!(run("#!/bin/sh\nexec sleep 20\n", 10).0.unwrap_err(), "git took too long");
    assert!(began.elapsed() < Duration::from_secs(5));
    let refused = run("#!/bin/sh\necho 'fatal: detected dubious ownership' >&2\nexit 128\n", 10).0;
    assert_eq!(refused.unwrap_err(), "git failed: fatal: detected dubious ownership");
    let (endless, out) = run("#!/bin/sh\nyes\n", 100_000);
    assert_eq!((endless.unwrap(), out.len()), (Stop::Full, 100_000));
    let (ended, out) = run("#!/bin/sh\nprintf hello\nhead -c 3000000 /dev/zero >&2\n", 100);
    assert_eq!((ended.unwrap(), out.as_slice()), (Stop::Ended, b"hello".as_slice()));
}

#[test]
fn commit_with_very_many_files_tells_how_many() {
    let names: Vec<String> = (0..MAX_FILES + 3).map(|at| format!("f{at}")).collect();
    let mut log = b"\x01".to_vec();
    log.extend([b'a'; 40]);
    log.extend(b"\x01\x01Mira\x012026-03-01T10:00:00+02:00\x01Many\n\x01\0\n");
    for name in &names {
        log.extend(b"M\0");
        log.extend(name.as_bytes());
        log.push(0);
    }
    let entries: Vec<&[u8]> = log.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
    let commits = commits(&entries);
    assert_eq!(commits.len(), 1);
    let turns = turns(&[record(&commits[0], "r")]);
    assert!(turns[0].tool_text.ends_with("and 3 more files"));
    assert_eq!(turns[0].files.len(), MAX_FILE_USES);
}

proptest! {
    #[test]
    fn any_bytes_are_some_log(log in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(1), Just(b'R'), Just(b'\n')], 0..200)) {
        let entries: Vec<&[u8]> = log.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).collect();
        let records: Vec<Value> = commits(&entries).iter().map(|commit| record(commit, "r")).collect();
        turns(&records);
    }

    #[test]
    fn any_record_is_read(text in "\\PC{0,20}", number in any::<i64>()) {
        for value in [json!(text), json!(number), json!([text]), Value::Null, json!({"a": text})] {
            let records = [
                json!({"repository": value}),
                json!({"repository": {"id": value, "directory": value}}),
                json!({"commit": value}),
                json!({"commit": {"repository": value, "hash": value, "message": value}}),
                json!({"commit": {"repository": "r", "hash": "h", "message": value, "parents": value, "files": value, "time": value}}),
                json!({"commit": {"repository": "r", "hash": "h", "files": [value, [value], ["M", value], ["R", "a", value]], "more_files": value}}),
                value.clone(),
            ];
            turns(&records);
            for record in &records {
                Git.owner(record);
            }
        }
    }
}
