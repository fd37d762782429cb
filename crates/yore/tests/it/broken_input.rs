//! Bad disks, bad databases, bad files: a clear error or a counted skip, never a panic; the store stays
//! intact and everything else is still read.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::environment::{Outcome, PROGRAM, TestEnvironment};
use crate::transcript::Transcript;

const GOOD: &str = "600d0001-3f08-4714-9c34-5c452003a142";
const BAD: &str = "0badf00d-db5a-49aa-8e84-47468670e630";

/// A home with one good transcript, not read yet.
fn home() -> TestEnvironment {
    let environment = TestEnvironment::new();
    good(GOOD).write(&environment.projects());
    environment
}

fn good(session: &str) -> Transcript {
    Transcript::new(session, "/home/dev/heron").human("where does the heron nest?").assistant("In the tallest poplar.")
}

/// Makes a transcript of some megabytes, whose last words are found by "poplar".
fn large(session: &str, exchanges: usize) -> Transcript {
    (0..exchanges)
        .fold(Transcript::new(session, "/home/dev/heron"), |transcript, at| {
            let output: String =
                (0..400).map(|line| format!("line {line} of {at}: {:x}\n", at * 7919 + line * 104_729)).collect();
            transcript.human(&format!("run it again, {at}")).tool("Running.", "make", &output, false)
        })
        .human("where does the heron nest?")
        .assistant("In the tallest poplar.")
}

fn finds(environment: &TestEnvironment, question: &str) -> usize {
    let outcome = environment.yore(["recall", "--all", "--json", question]).run();
    assert!(matches!(outcome.status.code(), Some(0 | 1)), "{outcome:?}");
    // Near duplicates are returned with the first of them.
    let count = |values: &Value| values.as_array().unwrap().len();
    outcome.json()["results"].as_array().unwrap().iter().map(|hit| 1 + count(&hit["near_duplicates"])).sum()
}

fn ingested(environment: &TestEnvironment) -> (Outcome, Value) {
    let outcome = environment.yore(["ingest", "--json"]).arg(environment.projects()).run();
    let report = outcome.json();
    (outcome, report)
}

fn skips(report: &Value) -> Vec<(String, u64)> {
    let list = report["skips"].as_array().unwrap();
    list.iter().map(|skip| (skip["reason"].as_str().unwrap().to_owned(), skip["count"].as_u64().unwrap())).collect()
}

/// Reads a file with this content beside a good one, twice: nothing fails, the good one is found.
#[track_caller]
fn reads_beside_others(content: &[u8]) -> (TestEnvironment, Value) {
    let environment = home();
    environment.write(&format!("home/.claude/projects/-home-dev-heron/{BAD}.jsonl"), content);
    let (outcome, report) = ingested(&environment);
    let _ = outcome.success();
    assert_eq!(finds(&environment, "tallest poplar"), 2);
    let (outcome, again) = ingested(&environment);
    let _ = outcome.success();
    assert_eq!(again["files_read"], 0, "{again}");
    environment.is_sound();
    (environment, report)
}

#[test]
fn bytes_that_are_no_text_are_kept_and_counted() {
    let line = good(BAD).content();
    let mut content = b"\xff\xfe\x80 no utf-8\n\0\0\0\0\n\n   \n{\"type\":\"user\",\xff}\n".to_vec();
    content.extend(line.replace("where does", "w\u{0}here d\\ud83does").into_bytes());
    content
        .extend(b"[1,2]\n\"text\"\n42\nnull\n{}\n{\"type\":7}\n{\"type\":\"user\"}\n{\"type\":\"assistant\",\"message\":[]}\n");
    let (before, after) = line.lines().next().unwrap().split_once("heron nest").unwrap();
    content.extend([before.as_bytes(), b"\x01otter\xff nest", after.as_bytes()].concat());
    let (environment, report) = reads_beside_others(&content);
    assert!(skips(&report).iter().any(|(reason, count)| reason == "invalid-json" && *count >= 2), "{report}");
    assert!(skips(&report).iter().any(|(reason, _)| reason == "not-an-object"), "{report}");
    assert_eq!(report["failures"], json!([]));
    let _ = environment.yore(["reindex"]).run().success();
    assert_eq!(finds(&environment, "tallest poplar"), 2);
}

#[test]
fn deep_nesting_is_skipped_not_followed() {
    let mut content = Vec::new();
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        content.extend(open.repeat(100_000).into_bytes());
        content.extend(b"1");
        content.extend(close.repeat(100_000).into_bytes());
        content.push(b'\n');
        content.extend(open.repeat(100_000).into_bytes());
        content.push(b'\n');
    }
    let nested = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let text = good(BAD).content();
    content.extend(text.replacen("\"isSidechain\"", &format!("\"toolUseResult\":{nested},\"isSidechain\""), 1).into_bytes());
    let (_, report) = reads_beside_others(&content);
    assert_eq!(skips(&report), [("invalid-json".to_owned(), 4)]);
    assert_eq!(report["turns_added"], 4);
}

#[test]
fn odd_names_and_kinds_of_files_are_passed_over() {
    let environment = home();
    let projects = environment.projects();
    fs::create_dir_all(projects.join("a-directory.jsonl/inside.jsonl")).unwrap();
    for at in 0..3 {
        environment.write(&format!("home/.claude/projects/empty/{at}.jsonl"), "");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&projects, projects.join("loop")).unwrap();
        symlink("self.jsonl", projects.join("self.jsonl")).unwrap();
        symlink("/nowhere/at/all.jsonl", projects.join("dangling.jsonl")).unwrap();
        let _ = environment.program("mkfifo").arg(projects.join("pipe.jsonl")).run();
    }
    let (outcome, report) = ingested(&environment);
    let _ = outcome.success();
    assert_eq!(json!([report["files_empty"], report["turns_added"], report["failures"]]), json!([3, 2, []]));
    environment.is_sound();
}

#[test]
fn thousands_of_tiny_files_are_read() {
    let environment = home();
    for at in 0..2_000 {
        let session = format!("{at:08x}-{at:04x}-4714-{at:04x}-5c452003a142");
        let line = json!({"type": "user", "uuid": format!("{at:08x}-0000-4000-8000-000000000001"), "sessionId": session, "cwd": "/home/dev/many",
            "timestamp": "2026-03-02T09:00:00Z", "message": {"role": "user", "content": format!("tiny question number {at}")}});
        environment.write(&format!("home/.claude/projects/-home-dev-many/{session}.jsonl"), format!("{line}\n"));
    }
    let (outcome, report) = ingested(&environment);
    let _ = outcome.success();
    assert_eq!(json!([report["files_read"], report["turns_added"]]), json!([2_001, 2_002]));
    assert_eq!(finds(&environment, "\"question number 1234\""), 1);
    let (_, again) = ingested(&environment);
    assert_eq!(json!([again["files_unchanged"], again["files_read"]]), json!([2_001, 0]));
}

/// Runs the program as a user who owns nothing here and to whom permissions apply.
#[cfg(unix)]
fn as_nobody(environment: &TestEnvironment) -> Option<crate::environment::Runner> {
    use std::os::unix::fs::MetadataExt;
    if fs::metadata(environment.path("work")).unwrap().uid() != 0 {
        // The user who runs the tests is subject to permissions already.
        return Some(environment.program(PROGRAM));
    }
    // All parent directories must be passable, the temporary directory too.
    open_to_all(&environment.path(""));
    let switched = |argument: &str| {
        environment.program("setpriv").args(["--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM, argument])
    };
    let can_switch =
        std::process::Command::new("setpriv").arg("--version").output().is_ok() && switched("--version").run().status.success();
    if !can_switch {
        eprintln!("SKIPPED: root is bound by no permissions, and setpriv cannot start {PROGRAM} as nobody");
        return None;
    }
    Some(environment.program("setpriv").args(["--reuid=65534", "--regid=65534", "--clear-groups", PROGRAM]))
}

#[cfg(unix)]
fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn unreadable_file_is_reported_and_the_others_are_read() {
    use std::os::unix::fs::PermissionsExt;
    let environment = home();
    let bad = good(BAD).write(&environment.projects());
    fs::set_permissions(&bad, fs::Permissions::from_mode(0o000)).unwrap();
    let data = environment.path("theirs");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let Some(runner) = as_nobody(&environment) else { return };
    let outcome = runner.args(["ingest", "--json"]).arg(environment.projects()).env("YORE_HOME", &data).run().ends_with(1);
    let report = outcome.json();
    assert_eq!(report["turns_added"], 2);
    let [failure] = report["failures"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert!(failure["path"].as_str().unwrap().ends_with(&format!("{BAD}.jsonl")), "{report}");
    assert!(failure["reason"].as_str().unwrap().contains("ermission"), "{report}");
}

#[cfg(unix)]
#[test]
fn up_does_not_claim_that_a_closed_folder_is_kept_and_names_it() {
    use std::os::unix::fs::PermissionsExt;
    let environment = home();
    // A link to a name that is too long cannot be read by anybody, not even by root.
    let closed = environment.projects().join("closed.jsonl");
    std::os::unix::fs::symlink("n".repeat(300), &closed).unwrap();
    let outcome = environment.yore(["up"]).run().success();
    let shown = outcome.shown();
    assert!(shown.contains("not all are kept here: 1 of its files and folders could not be read"), "{shown}");
    assert!(!shown.contains("all are kept here now") && shown.matches("closed.jsonl").count() == 1, "{shown}");
    let listed = environment.yore(["sources", "--json"]).run().success().json();
    let claude = listed.as_array().unwrap().iter().find(|source| source["source"] == "claude-code").unwrap();
    assert!(claude["unreadable"][0]["target"].as_str().unwrap().ends_with("closed.jsonl"), "{claude}");
    let listed = environment.yore(["sources"]).run().success().shown();
    assert!(listed.contains("cannot be read: ") && listed.contains("closed.jsonl"), "{listed}");
    let examined = environment.yore(["doctor"]).run().shown();
    assert!(examined.contains("closed.jsonl cannot be read") && examined.contains("give yourself the right"), "{examined}");
    let read = environment.yore(["ingest"]).run().ends_with(1).shown();
    assert!(read.contains("closed.jsonl"), "{read}");
    fs::remove_file(&closed).unwrap();
    assert!(environment.yore(["up"]).run().success().shown().contains("all are kept here now"));

    // The same with permissions: the sessions in the closed folder do not count as deleted.
    let projects = environment.projects();
    let closed = projects.read_dir().unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let data = environment.path("theirs");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    if let Some(runner) = as_nobody(&environment) {
        let report = runner.args(["ingest", "--json"]).arg(&projects).env("YORE_HOME", &data).run().ends_with(1).json();
        let [failure] = report["failures"].as_array().unwrap().as_slice() else { panic!("{report}") };
        assert_eq!(failure["path"].as_str().unwrap(), closed.canonicalize().unwrap().to_str().unwrap(), "{report}");
        assert_eq!(report["files_gone"], 0, "{report}");
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn read_only_data_directory_is_told_clearly() {
    let environment = home();
    let _ = environment.ingest(&environment.projects());
    let recalled = finds(&environment, "poplar");
    good(BAD).write(&environment.projects());
    let modes = lock(environment.data());
    if let Some(runner) = as_nobody(&environment) {
        let outcome = runner.args(["ingest"]).arg(environment.projects()).run().ends_with(3);
        assert!(matches!(outcome.code(), "store/read-only" | "data-directory"), "{outcome:?}");
        assert!(outcome.stderr.contains("\nhint: check that you own the data directory"), "{}", outcome.stderr);
        let elsewhere =
            as_nobody(&environment).unwrap().arg("up").env("YORE_HOME", environment.path("denied")).run().ends_with(3);
        assert!(elsewhere.stderr.contains("\nhint: "), "{}", elsewhere.stderr);
        // A directory that can only be read still answers.
        let outcome = as_nobody(&environment).unwrap().args(["recall", "--all", "--json", "poplar"]).run();
        assert_eq!(outcome.success().json()["results"].as_array().unwrap().len(), recalled);
    }
    unlock(modes);
    let (_, report) = ingested(&environment);
    assert_eq!(report["turns_added"], 2);
    environment.is_sound();
}

/// Makes a directory with all that is in it read-only; returns the modes that it had.
#[cfg(unix)]
fn lock(directory: PathBuf) -> Vec<(PathBuf, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let mut paths = vec![directory];
    let mut modes = Vec::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::set_permissions(&path, fs::Permissions::from_mode(if path.is_dir() { 0o555 } else { 0o444 })).unwrap();
        modes.push((path, mode));
    }
    modes
}

#[cfg(unix)]
fn unlock(modes: Vec<(PathBuf, u32)>) {
    use std::os::unix::fs::PermissionsExt;
    for (path, mode) in modes {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn every_command_that_reads_answers_from_a_read_only_medium() {
    let environment = home();
    let _ = environment.ingest(&environment.projects());
    let call = |arguments: &[&str]| environment.yore(arguments.iter().copied()).run().success();
    let id = |arguments: &[&str]| call(arguments).stdout.lines().next().unwrap().trim().to_owned();
    let port = id(&["remember", "-k", "fact", "--global", "The heron counter listens on port 7000."]);
    let other = id(&["remember", "-k", "fact", "--global", "The heron counter is painted green."]);
    let note = id(&["remember", "--note", "--global", "The heron counter is greased in spring."]);
    let _ = environment.yore(["memories", "entities", "add", "component", "heron counter"]).run().success();
    let _ = environment.yore(["memories", "relate", &other, "CONTRADICTS", &port]).run().success();
    let turn = call(&["recall", "--all", "--json", "poplar"]).json()["results"][0]["id"].as_str().unwrap().to_owned();
    let entity = call(&["memories", "entities", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let modes = lock(environment.data());
    let commands: &[&[&str]] = &[
        &["recall", "--all", "poplar"],
        &["recall", "--all", "--topics", "poplar"],
        &["recall", "--all", "--memories", "heron counter"],
        &["sessions"],
        &["show", GOOD],
        &["show", GOOD, "--exchanges"],
        &["show", GOOD, "--topics"],
        &["show", GOOD, "--original"],
        &["show", &turn],
        &["show", &port],
        &["show", &entity],
        &["show", &note],
        &["memories", "--all"],
        &["memories", "entities"],
        &["memories", "entities", "heron counter"],
        &["conflicts"],
        &["conflicts", "show", &port, &other],
        &["review", "--json"],
        &["topics"],
        &["topics", "heron nest"],
        &["notes"],
        &["projects"],
        &["sources"],
        &["stats"],
        &["brief"],
        &["op", "log"],
        &["op", "show", "1"],
        &["export", "-"],
    ];
    let mut failed = Vec::new();
    for command in commands {
        let Some(runner) = as_nobody(&environment) else { break };
        let outcome = runner.args(command.iter().copied()).run();
        // Nothing waits for a review, and none of it is of the project here.
        let may_be_nothing = ["review", "brief", "notes"].contains(&command[0]);
        if outcome.status.code() != Some(0) && !(may_be_nothing && outcome.status.code() == Some(1)) {
            failed.push(format!("{}: {}", command.join(" "), outcome.stderr));
        }
    }
    unlock(modes);
    assert!(failed.is_empty(), "{failed:#?}");
}

/// A small file system that is removed when dropped.
#[cfg(target_os = "linux")]
struct SmallDisk(PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "yore-test"])
            .arg(&at)
            .output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }

    fn resize(&self, size: &str) {
        let remounted = std::process::Command::new("mount").args(["-o", &format!("remount,size={size}")]).arg(&self.0).status();
        assert!(remounted.unwrap().success());
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_told_and_nothing_is_lost() {
    let environment = TestEnvironment::new();
    let transcript = large(BAD, 400);
    transcript.write(&environment.projects());
    let Some(disk) = SmallDisk::mount(environment.data(), "100k") else {
        eprintln!("SKIPPED: no small file system can be mounted here");
        return;
    };
    // Full from the first byte on, then in the middle of archiving, then of indexing.
    for size in ["100k", "300k", "700k", "1200k", "1800k", "2600k"] {
        disk.resize(size);
        let outcome = environment.yore(["ingest"]).arg(environment.projects()).run();
        if outcome.status.success() {
            assert!(size != "100k", "the disk was not full");
            break;
        }
        let outcome = outcome.ends_with(3);
        assert!(matches!(outcome.code(), "store/disk-full" | "index/disk-full"), "{size}: {outcome:?}");
        assert!(outcome.stderr.contains("\nhint: free some space"), "{size}: {}", outcome.stderr);
    }
    disk.resize("64m");
    let _ = environment.ingest(&environment.projects());
    environment.is_sound();
    assert_eq!(finds(&environment, "heron poplar"), 2);
    let shown = environment.yore(["show", BAD, "--original"]).run().success();
    assert!(shown.stdout == transcript.content(), "every line is in the archive, once");
}

/// The same on systems where nothing can be mounted: no file may grow beyond a limit.
#[cfg(unix)]
#[test]
fn file_size_limit_is_told_and_nothing_is_lost() {
    let environment = TestEnvironment::new();
    large(BAD, 400).write(&environment.projects());
    for blocks in [8, 400, 1200] {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{PROGRAM}' ingest \"$0\"");
        let outcome = environment.program("bash").args(["-c", &script]).arg(environment.projects()).run();
        if outcome.status.success() {
            assert!(blocks > 8, "the limit did not hold");
            continue;
        }
        let outcome = outcome.ends_with(3);
        assert!(outcome.stderr.contains(" ["), "{}", outcome.stderr);
    }
    let _ = environment.ingest(&environment.projects());
    environment.is_sound();
    assert_eq!(finds(&environment, "heron poplar"), 2);
}

/// Damages the database; returns what yore reports about it.
#[track_caller]
fn damaged(damage: impl Fn(&Path)) -> Vec<String> {
    let environment = TestEnvironment::new();
    large(GOOD, 60).write(&environment.projects());
    let _ = environment.ingest(&environment.projects());
    damage(&environment.database());
    good(BAD).write(&environment.projects());
    let mut told = Vec::new();
    for arguments in [&["stats"][..], &["recall", "--all", "poplar"], &["ingest"], &["reindex"], &["up"], &["doctor", "--deep"]] {
        let outcome = environment.yore(arguments).run();
        match outcome.status.code() {
            Some(0) => told.push(format!("{}: fine", arguments[0])),
            Some(1) if arguments[0] == "doctor" || arguments[0] == "recall" => told.push(format!("{}: 1", arguments[0])),
            Some(3) => {
                assert!(outcome.stderr.contains("\nhint: "), "{arguments:?}: {}", outcome.stderr);
                told.push(format!("{}: {}", arguments[0], outcome.code()));
            }
            other => panic!("{arguments:?} ended with {other:?}: {outcome:?}"),
        }
    }
    told
}

#[test]
fn database_that_is_none_is_told() {
    let zeroed = damaged(|path| {
        let mut bytes = fs::read(path).unwrap();
        bytes[..4096].fill(0);
        fs::write(path, bytes).unwrap();
    });
    let expected = ["stats", "recall", "ingest", "reindex", "up"].map(|command| format!("{command}: store/corrupt"));
    assert_eq!(zeroed[..5], expected);
    assert_eq!(zeroed[5], "doctor: 1");
}

#[test]
fn truncated_database_is_told() {
    for part in [3, 2] {
        let told = damaged(|path| {
            let length = fs::metadata(path).unwrap().len();
            OpenOptions::new().write(true).open(path).unwrap().set_len(length / 4 * (part - 1) / 512 * 512).unwrap();
        });
        assert_eq!(told[5], "doctor: 1", "{told:?}");
        assert!(told.iter().any(|line| line.ends_with("store/corrupt")), "{told:?}");
    }
}

#[test]
fn database_with_random_bytes_in_it_is_told() {
    for seed in [1_u64, 2, 3] {
        let told = damaged(|path| {
            let mut bytes = fs::read(path).unwrap();
            let mut random = yore_testing::Random::new(seed);
            let third = bytes.len() / 3;
            for byte in &mut bytes[third..2 * third] {
                *byte = random.below(256) as u8;
            }
            fs::write(path, bytes).unwrap();
        });
        assert_eq!(told[5], "doctor: 1", "{told:?}");
    }
}

#[test]
fn database_that_another_process_holds_is_busy() {
    let environment = home();
    let _ = environment.ingest(&environment.projects());
    good(BAD).write(&environment.projects());
    let mut other = rusqlite::Connection::open(environment.database()).unwrap();
    let held = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let ingest = || environment.yore(["-c", "store.busy_timeout_ms=200", "ingest"]).arg(environment.projects());
    let outcome = ingest().run().ends_with(4);
    assert_eq!(outcome.code(), "store/busy");
    assert!(outcome.stderr.contains("\nhint: try again in a moment"), "{}", outcome.stderr);
    assert_eq!(finds(&environment, "poplar"), 1, "readers do not wait");
    drop(held);
    let _ = ingest().run().success();
    assert_eq!(finds(&environment, "poplar"), 2);
}

/// Writes a transcript with one line of some hundred megabytes between good ones.
fn with_long_line(environment: &TestEnvironment, before: &str, filler: &[u8], bytes: usize, after: &str) -> PathBuf {
    let path = environment.write(&format!("home/.claude/projects/-home-dev-heron/{BAD}.jsonl"), good(BAD).content());
    let mut file = BufWriter::with_capacity(1 << 20, OpenOptions::new().append(true).open(&path).unwrap());
    file.write_all(before.as_bytes()).unwrap();
    let block: Vec<u8> = filler.iter().copied().cycle().take(filler.len() * (1 << 20) / filler.len() / 4 * 4).collect();
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len());
        file.write_all(&block[..now]).unwrap();
        left -= now;
    }
    file.write_all(after.as_bytes()).unwrap();
    file.flush().unwrap();
    path
}

/// The beginning of a line of the bad session that says `kind`, up to where its content begins.
fn line_head(uuid: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{uuid}","sessionId":"{BAD}","cwd":"/home/dev/heron","timestamp":"2026-03-02T10:00:00Z","message":{{"role":"user","content":"#
    )
}

/// Runs `ingest` and reports its peak of resident memory, if the system provides it.
fn measured(environment: &TestEnvironment, what: &str) -> Value {
    let time = Path::new("/usr/bin/time");
    let outcome = if time.exists() {
        environment
            .program(time)
            .args(["-f", "%M kB peak, %U s user, %e s wall", PROGRAM, "ingest", "--json"])
            .arg(environment.projects())
            .run()
    } else {
        environment.yore(["ingest", "--json"]).arg(environment.projects()).run()
    };
    let outcome = outcome.success();
    eprintln!("{what}: {}", outcome.stderr.trim());
    outcome.json()
}

const MEBI: usize = 1 << 20;

#[test]
fn line_with_a_huge_image_is_kept_without_it() {
    let environment = home();
    let head = line_head("0badf00d-1111-4000-8000-0000000000aa")
        + r#"[{"type":"text","text":"the pelican picture"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":""#;
    let tail = "\"}}]}}\n".to_owned() + &good("600d0002-3f08-4714-9d35-5c452003a142").content().replace("heron", "stork");
    with_long_line(&environment, &head, b"iVBORw0KGgoAAAANSUhEUgAB", 100 * MEBI, &tail);
    let report = measured(&environment, "100 MiB image line");
    assert_eq!(report["redactions"], json!({"base64-payload": 1}));
    assert_eq!(report["failures"], json!([]));
    assert_eq!(json!([finds(&environment, "pelican picture"), finds(&environment, "stork")]), json!([1, 1]));
    assert!(fs::metadata(environment.database()).unwrap().len() < MEBI as u64, "the payload must not be stored");
}

#[test]
fn line_of_huge_text_is_archived_and_found_by_its_beginning() {
    let environment = home();
    let head = line_head("0badf00d-1111-4000-8000-0000000000bb") + "\"the pelican log begins. ";
    let tail = "\"}}\n".to_owned() + &good("600d0002-3f08-4714-9d35-5c452003a142").content().replace("heron", "stork");
    with_long_line(&environment, &head, b"some words of a long log, then more of it. ", 100 * MEBI, &tail);
    let report = measured(&environment, "100 MiB text line");
    let cut = json!({"reason": "text-cut", "detail": "over 1 MiB; the archive has all of it", "count": 1});
    assert_eq!(json!([report["failures"], report["skips"]]), json!([[], [cut]]));
    assert_eq!(json!([finds(&environment, "pelican log"), finds(&environment, "stork")]), json!([1, 1]));
}

#[test]
fn line_beyond_the_limit_is_counted_and_the_rest_is_read() {
    let environment = home();
    let head = line_head("0badf00d-1111-4000-8000-0000000000cc") + "\"the pelican log begins. ";
    let tail = "\"}}\n".to_owned() + &good("600d0002-3f08-4714-9d35-5c452003a142").content().replace("heron", "stork");
    let path = with_long_line(&environment, &head, b"some words of a long log, then more of it. ", 130 * MEBI, &tail);
    let report = measured(&environment, "130 MiB text line");
    assert_eq!(skips(&report), [("too-long".to_owned(), 1)]);
    assert_eq!(json!([finds(&environment, "pelican log"), finds(&environment, "stork")]), json!([0, 1]));
    let stats = environment.yore(["status", "--json"]).run().success().json();
    assert_eq!(stats["skips"][0]["example"]["line"], 3);
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(good("600d0003-3f08-4714-9d36-5c452003a142").content().replace("heron", "ibis").as_bytes()).unwrap();
    let (_, again) = ingested(&environment);
    assert_eq!(json!([again["skips"], again["turns_added"]]), json!([[], 2]), "only what is new is read");
}

#[test]
fn file_that_shrinks_while_it_is_read_does_no_harm() {
    let environment = home();
    let path = large(BAD, 1500).write(&environment.projects());
    let content = fs::read(&path).unwrap();
    for wait in [30, 120, 400] {
        fs::write(&path, &content).unwrap();
        let child = environment.yore(["ingest"]).arg(environment.projects()).start();
        std::thread::sleep(Duration::from_millis(wait));
        OpenOptions::new().write(true).open(&path).unwrap().set_len(content.len() as u64 / 3).unwrap();
        let code = { child }.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
        environment.is_sound();
    }
    fs::write(&path, &content).unwrap();
    let _ = environment.ingest(&environment.projects());
    assert_eq!(finds(&environment, "tallest poplar"), 2);
    let shown = environment.yore(["show", BAD, "--original"]).run().success();
    assert!(shown.stdout.as_bytes() == content, "the last state of the file is archived whole");
    environment.is_sound();
}

#[test]
fn file_that_is_replaced_while_it_is_read_does_no_harm() {
    let environment = home();
    let path = large(BAD, 1500).write(&environment.projects());
    let other = good(BAD).human("and the stork?").assistant("On the chimney.");
    for wait in [50, 300] {
        large(BAD, 1500).write(&environment.projects());
        let child = environment.yore(["ingest"]).arg(environment.projects()).start();
        std::thread::sleep(Duration::from_millis(wait));
        let draft = environment.write("draft", other.content());
        fs::rename(draft, &path).unwrap();
        let code = { child }.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 1)), "{code:?}");
        let _ = environment.ingest(&environment.projects());
        let shown = environment.yore(["show", BAD, "--original"]).run().success();
        assert!(shown.stdout == other.content(), "the file as it is now");
        environment.is_sound();
    }
    assert!(finds(&environment, "stork chimney") > 0);
}

#[test]
fn file_that_vanishes_or_grows_while_it_is_read_does_no_harm() {
    let environment = home();
    let path = large(BAD, 1500).write(&environment.projects());
    let child = environment.yore(["ingest"]).arg(environment.projects()).start();
    let mut file = File::options().append(true).open(&path).unwrap();
    for at in 0..40 {
        let line = format!("{{\"type\":\"summary\",\"leafUuid\":\"x\",\"summary\":\"s{at}\"}}\n");
        let (first, second) = line.split_at(20);
        file.write_all(first.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        file.write_all(second.as_bytes()).unwrap();
    }
    assert_eq!({ child }.wait().unwrap().code(), Some(0));
    let _ = environment.ingest(&environment.projects());
    let shown = environment.yore(["show", BAD, "--original"]).run().success();
    assert!(shown.stdout.as_bytes() == fs::read(&path).unwrap());
    fs::remove_file(&path).unwrap();
    let (_, report) = ingested(&environment);
    assert_eq!(report["files_gone"], 1);
    assert_eq!(finds(&environment, "tallest poplar"), 2, "what is gone is still known");
    environment.is_sound();
}
