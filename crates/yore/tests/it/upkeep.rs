//! Commands that keep a small memory sound: `doctor` and `data`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::small_memory::{Memory, text};

#[test]
fn reindex_keeps_ids_and_answers_without_the_sources() {
    let memory = Memory::new();
    let before = (memory.recalled(&["--all", "tide tables"]), memory.turn("tide tables"));
    fs::remove_dir_all(memory.environment.claude()).unwrap();
    insta::assert_snapshot!(memory.call(&["reindex"]).success().shown(), @"15 lines of 4 files read again: 0 turns added, 0 changed, 0 removed; 11 indexed");
    assert_eq!((memory.recalled(&["--all", "tide tables"]), memory.turn("tide tables")), before);
    memory.environment.is_sound();
}

#[test]
fn doctor_finds_nothing_wrong_with_a_fresh_memory() {
    let memory = Memory::new();
    let shown = memory.call(&["doctor"]).success().shown();
    // The time since the last capture differs each time, and so does the free space.
    let varies = |line: &&str| line.contains("Claude Code: last captured ") || line.contains(" free for the data directory");
    let (varying, same): (Vec<&str>, Vec<&str>) = shown.lines().partition(varies);
    assert_eq!(varying.len(), 2, "{varying:?}");
    insta::assert_snapshot!(same.join("\n"), @"
    ✓ program          yore 0.1.0, schema 24
    ✓ data-directory   [root]/data
    · store            [root]/data/yore.db opens; its content was not checked
                       `yore doctor --deep` checks all of it
    ✓ archive-sources  every recorded source was read to its end
    ✓ index            the full-text index holds all 11 turns
    ✓ vectors          the static table's index holds the 10 turns that have words
    ✓ permissions      only you can read the data directory
    · retention        Claude Code deletes transcripts after 30 days; the oldest of 4 transcripts has 30 days left, 0 due within a week
                       `yore doctor --fix` offers to keep them longer
    ✓ daemon           no daemon is running; every command works without it
    · agents           no agent calls yore yet
                       `yore install` lists what it would do for each agent of this computer
    ");
    memory.call(&["doctor", "--deep"]).success();
    let codes: Vec<String> = memory
        .call(&["doctor", "--deep", "--json"])
        .success()
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| text(&finding["code"]).to_owned())
        .collect();
    assert!(codes.contains(&"archive".to_owned()), "{codes:?}");
}

#[test]
fn doctor_before_any_memory_says_what_is_missing() {
    let outcome = TestEnvironment::new().yore(["doctor"]).run().success();
    assert!(outcome.stdout.contains("no memory at"), "{}", outcome.stdout);
}

#[cfg(unix)]
#[test]
fn doctor_reports_open_permissions_and_mends_them() {
    use std::os::unix::fs::PermissionsExt;
    let memory = Memory::new();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(memory.environment.data(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(memory.environment.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let outcome = memory.call(&["doctor"]).ends_with(1);
    let told = outcome.stdout.lines().find(|line| line.contains("permissions")).unwrap();
    assert!(told.contains("others can read") && told.contains("yore.db"), "{told}");
    assert!(outcome.stdout.contains("run `yore doctor --fix`"), "{}", outcome.stdout);
    memory.call(&["doctor", "--fix"]).success();
    assert_eq!((mode(memory.environment.data()), mode(memory.environment.database())), (0o700, 0o600));
    memory.call(&["doctor"]).success();
}

#[cfg(unix)]
#[test]
fn data_directory_that_others_may_write_to_is_closed_by_the_next_command() {
    use std::os::unix::fs::PermissionsExt;
    let memory = Memory::new();
    let data = memory.environment.data();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    memory.call(&["sessions"]).success();
    assert_eq!(fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
    memory.call(&["doctor"]).success();
}

#[test]
fn deleted_index_is_made_anew_and_answers_the_same() {
    let memory = Memory::new();
    let before = memory.recalled(&["--all", "crane lease at boot"]);
    fs::remove_dir_all(memory.environment.data().join("index")).unwrap();
    memory.call(&["doctor"]).success();
    assert_eq!(memory.recalled(&["--all", "crane lease at boot"]), before);
    memory.call(&["doctor", "--fix"]).success();
    let stats = memory.call(&["status", "--json"]).success().json();
    assert_eq!(json!([stats["index"]["turns"], stats["index"]["queued"]]), json!([stats["index"]["expected"], 0]));
    memory.environment.is_sound();
}

#[test]
fn damaged_index_is_found_and_made_anew() {
    let memory = Memory::new();
    let before = memory.recalled(&["--all", "crane lease at boot"]);
    let mut folders = vec![memory.environment.data().join("index")];
    let mut damaged = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry
                .path()
                .extension()
                .is_some_and(|kind| matches!(kind.to_str(), Some("term" | "idx" | "store" | "fast")))
            {
                let mut bytes = fs::read(entry.path()).unwrap();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0xff;
                fs::write(entry.path(), bytes).unwrap();
                damaged += 1;
            }
        }
    }
    assert!(damaged >= 3);
    let outcome = memory.call(&["doctor", "--deep"]).ends_with(1);
    assert!(outcome.stdout.contains("run `yore data rebuild`"), "{}", outcome.stdout);
    memory.call(&["reindex"]).success();
    assert_eq!(memory.recalled(&["--all", "crane lease at boot"]), before);
    memory.environment.is_sound();
}

#[test]
fn doctor_sees_that_a_source_has_grown() {
    let memory = Memory::new();
    let mut content = fs::read_to_string(&memory.harbor).unwrap();
    content.push_str(&content.lines().next().unwrap().replace("why is", "what was").replace("000000000001", "0000000000ff"));
    content.push('\n');
    fs::write(&memory.harbor, content).unwrap();
    // The daemon would read it in a moment; only a file that stays unread is reported.
    memory.call(&["doctor"]).success();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    fs::File::options().append(true).open(&memory.harbor).unwrap().set_modified(earlier).unwrap();
    let outcome = memory.call(&["doctor"]).ends_with(1);
    assert!(outcome.stdout.contains("1 source files have"), "{}", outcome.stdout);
    memory.environment.ingest(&memory.environment.projects());
    memory.call(&["doctor"]).success();
    fs::remove_file(&memory.harbor).unwrap();
    let outcome = memory.call(&["doctor"]).success();
    assert!(outcome.stdout.contains("deleted; the archive has them"), "{}", outcome.stdout);
}

#[test]
fn memory_is_backed_up_restored_and_repaired_by_one_command_each() {
    let memory = Memory::new();
    let environment = &memory.environment;
    let listed = memory.call(&["backup", "--list"]).ends_with(1);
    assert!(listed.stdout.contains("no backup yet"), "{}", listed.stdout);
    memory.call(&["backup"]).success();
    let copy = environment.path("elsewhere.db");
    memory.call(&["backup", "--to", copy.to_str().unwrap()]).success();
    assert!(copy.is_file() && copy.with_extension("key").is_file());
    let sessions = memory.call(&["sessions"]).success().stdout;
    let database = environment.path("data/yore.db");
    let whole = fs::read(&database).unwrap();

    // Overwrites the middle of the file with noise.
    let damage = |database: &Path| {
        let mut bytes = fs::read(database).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 3000].fill(0xa5);
        fs::write(database, bytes).unwrap();
    };
    for log in ["data/yore.db-wal", "data/yore.db-shm"] {
        let _ = fs::remove_file(environment.path(log));
    }
    damage(&database);
    memory.call(&["doctor", "--deep"]).ends_with(1);
    let restored = memory.call(&["restore"]).success().stdout;
    assert!(restored.contains("restored the backup of ") && restored.contains("the previous data is kept in "), "{restored}");
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
    memory.call(&["doctor", "--deep"]).success();

    fs::write(&database, &whole).unwrap();
    for log in ["data/yore.db-wal", "data/yore.db-shm"] {
        let _ = fs::remove_file(environment.path(log));
    }
    damage(&database);
    let repaired = memory.call(&["repair"]).success().stdout;
    assert!(repaired.contains("saved ") && repaired.contains("the damaged database is kept in "), "{repaired}");
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
    memory.call(&["doctor", "--deep"]).success();

    fs::remove_file(environment.path("data/key")).unwrap();
    let refused = memory.call(&["remember", "--note", "the tide comes at nine"]).ends_with(3);
    assert!(refused.stderr.contains("is missing") && refused.stderr.contains("yore data repair --new-key"), "{}", refused.stderr);
    memory.call(&["repair", "--new-key"]).success();
    memory.call(&["remember", "the tide comes at nine"]).success();
}

#[test]
fn backup_replaces_a_file_only_if_forced_and_is_restored_from_it() {
    let memory = Memory::new();
    let copy = memory.environment.path("copy.db");
    let to = copy.to_str().unwrap();
    fs::write(&copy, "something else").unwrap();
    let refused = memory.call(&["backup", "--to", to]).ends_with(2);
    assert_eq!(refused.code(), "backup/exists");
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(fs::read(&copy).unwrap(), b"something else");
    memory.call(&["backup", "--to", to, "--force"]).success();
    let sessions = memory.call(&["sessions"]).success().stdout;
    memory.call(&["remember", "--note", "said after the backup", "--global"]).success();
    memory.call(&["restore", to]).success();
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
    memory.call(&["notes", "--all"]).ends_with(1);
    memory.environment.is_sound();

    let missing = memory.environment.path("nowhere");
    let refused = memory.call(&["backup", "--to", missing.join("copy.db").to_str().unwrap()]).ends_with(2);
    assert_eq!(refused.code(), "backup/no-folder");
    assert!(refused.stderr.contains(missing.to_str().unwrap()), "{}", refused.stderr);
}

#[test]
fn file_that_is_no_backup_is_named_and_changes_nothing() {
    let memory = Memory::new();
    let sessions = memory.call(&["sessions"]).success().stdout;
    let junk = memory.environment.write("junk.db", "no database ".repeat(1_000));
    let empty = memory.environment.write("empty.db", "");
    let missing = memory.environment.path("missing.db");
    for (file, why) in [(&junk, "not a database"), (&empty, "it is empty"), (&missing, "o such file")] {
        let refused = memory.call(&["restore", file.to_str().unwrap()]).ends_with(2);
        assert_eq!(refused.code(), "backup/damaged");
        assert!(refused.stderr.contains(file.to_str().unwrap()) && refused.stderr.contains(why), "{}", refused.stderr);
        assert!(!refused.stderr.contains("yore data repair"), "{}", refused.stderr);
    }
    assert_eq!(memory.call(&["sessions"]).success().stdout, sessions);
}
