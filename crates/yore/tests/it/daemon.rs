//! The background process: one for each data directory, killed at any time, with any client. No test waits
//! for a fixed time or asserts one; times are measured in `crates/bench`.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_testing::Random;

use crate::crash::{Content, home};
use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

/// Longest time to wait for anything.
const LONG: Duration = Duration::from_secs(60);

/// Default time for which new data waits for more.
const WINDOW: Duration = Duration::from_secs(5);

/// A daemon that runs as a child in the foreground; killed when dropped.
pub(crate) struct Daemon<'e> {
    environment: &'e TestEnvironment,
    child: Child,
}

impl<'e> Daemon<'e> {
    pub(crate) fn start(environment: &'e TestEnvironment) -> Self {
        Self::of(environment, quick(environment, &["daemon", "start", "--foreground"]))
    }

    /// Starts a daemon with the default window.
    pub(crate) fn start_patient(environment: &'e TestEnvironment) -> Self {
        Self::of(environment, environment.yore(["daemon", "start", "--foreground"]))
    }

    pub(crate) fn of(environment: &'e TestEnvironment, runner: Runner) -> Self {
        let daemon = Self { environment, child: runner.start() };
        until("it answers", || daemon.status()["answers"] == true);
        daemon
    }

    pub(crate) fn status(&self) -> Value {
        self.environment.yore(["daemon", "status", "--json"]).run().json()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn stop(mut self) {
        let _ = self.environment.yore(["daemon", "stop"]).run().success();
        until("it has ended", || self.child.try_wait().unwrap().is_some());
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a call with a window of 0 seconds, so that tests need not wait.
pub(crate) fn quick(environment: &TestEnvironment, arguments: &[&str]) -> Runner {
    environment.yore(arguments).env("YORE_DAEMON__BATCH_SECONDS", "0")
}

#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns whether something happens without waiting for the window: polled long enough for a busy computer,
/// and not long enough for a window to pass.
pub(crate) fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < WINDOW * 3 / 5 {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    is_so()
}

/// Creates a memory with one session. (Ids differ in every part: a transcript's messages derive theirs from
/// it, and equal messages are stored once.)
fn memory() -> TestEnvironment {
    let environment = home();
    let session = Transcript::new("5f0c0001-0001-4000-8001-000000000001", "/home/dev/tide");
    session.human("the harbour is called Skagen").assistant("Noted.").write(&environment.projects());
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    environment
}

/// Returns the number of turns that are found by a word and contain it.
pub(crate) fn found(environment: &TestEnvironment, word: &str) -> usize {
    let outcome = environment.yore(["recall", "--all", "--json", word]).run();
    let says = |hit: &&Value| hit["quote"].as_str().is_some_and(|quote| quote.contains(word));
    outcome.json()["results"].as_array().map_or(0, |results| results.iter().filter(says).count())
}

fn socket(environment: &TestEnvironment) -> PathBuf {
    let card: Value = serde_json::from_slice(&fs::read(environment.data().join("daemon.json")).unwrap()).unwrap();
    card["socket"].as_str().unwrap().into()
}

/// Sends bytes and reads one line.
fn say(environment: &TestEnvironment, bytes: &[u8]) -> Value {
    let mut stream = UnixStream::connect(socket(environment)).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    // A server that has received enough closes without reading the rest.
    let _ = stream.write_all(bytes);
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

fn append(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn daemon_starts_answers_refuses_a_second_and_ends() {
    let environment = memory();
    let status = environment.yore(["daemon", "status"]).run().ends_with(1);
    assert_eq!(status.stdout, "daemon  not running\n");
    let started = quick(&environment, &["daemon", "start", "--json"]).run().success().json();
    assert_eq!(started["started"], true);
    let again = environment.yore(["daemon", "start", "--json"]).run().success().json();
    assert_eq!((&again["started"], &again["pid"]), (&json!(false), &started["pid"]));
    let second = environment.yore(["daemon", "start", "--foreground"]).run().ends_with(4);
    assert_eq!(second.code(), "daemon/running");
    let status = environment.yore(["daemon", "status", "--json"]).run().success().json();
    assert_eq!((&status["pid"], &status["running"]), (&started["pid"], &json!(true)));
    for (file, mode) in [("daemon.sock", 0o600), ("daemon.json", 0o600), ("logs/daemon.log", 0o600), ("logs", 0o700)] {
        let permissions = fs::metadata(environment.data().join(file)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{file}");
    }
    let _ = environment.yore(["daemon", "stop"]).run().success();
    for file in ["daemon.sock", "daemon.json"] {
        assert!(!environment.data().join(file).exists(), "{file}");
    }
    let _ = environment.yore(["daemon", "stop"]).run().success();
    let log = environment.yore(["daemon", "logs"]).run().success().stdout;
    assert!(log.contains("started, version") && log.trim_end().ends_with("ended"), "{log}");
    assert!(!log.contains("Skagen"), "words are not for the log");
    environment.is_sound();
}

#[test]
fn signal_ends_it_after_what_is_being_done() {
    let environment = memory();
    let mut daemon = Daemon::start(&environment);
    let sent = std::process::Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    until("it has ended", || daemon.child.try_wait().unwrap().is_some());
    assert_eq!(daemon.child.try_wait().unwrap().and_then(|status| status.code()), Some(0));
    assert!(!environment.data().join("daemon.json").exists());
    let log = environment.yore(["daemon", "logs"]).run().success().stdout;
    assert!(log.contains("on signal 15") && log.trim_end().ends_with("ended"), "{log}");
}

#[test]
#[cfg(target_os = "linux")]
fn daemon_keeps_nothing_open_that_its_starter_was_handed() {
    let environment = memory();
    let held = environment.data().parent().unwrap().join("held");
    fs::write(&held, "").unwrap();
    // As under `flock`, or an agent that waits for the end of a pipe.
    let shell = environment.yore(["daemon", "start"]).through_shell(&format!("exec 9<'{}'; exec \"$0\" \"$@\"", held.display()));
    let _ = shell.env("YORE_DAEMON__BATCH_SECONDS", "0").run().success();
    let pid = environment.yore(["daemon", "status", "--json"]).run().json()["pid"].as_u64().unwrap();
    let open: Vec<PathBuf> =
        fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(|entry| fs::read_link(entry.unwrap().path()).ok()).collect();
    let _ = environment.yore(["daemon", "stop"]).run().success();
    assert!(!open.contains(&held), "{open:?}");
}

#[test]
fn without_a_memory_nothing_is_started() {
    let environment = TestEnvironment::new();
    assert_eq!(environment.yore(["daemon", "start"]).run().ends_with(3).code(), "store/missing");
    assert!(!environment.data().exists());
}

#[test]
fn listing_a_memory_into_which_nothing_was_read_starts_no_daemon_that_reads_the_home() {
    let environment = home();
    Transcript::new("5f0c0001-0001-4000-8001-000000000001", "/home/dev/tide")
        .human("paint the quay")
        .write(&environment.projects());
    let _ = environment.yore(["remember", "--note", "The lamps of the north quay are green."]).run().success();
    let eager = |arguments: &[&str]| environment.yore(arguments).env("YORE_DAEMON__AUTOSTART", "true").run();
    let has_started = || environment.data().join("locks/daemon.started").exists();
    for asked in [&["notes"] as &[&str], &["memories"], &["recall", "--all", "lamps"], &["sessions"]] {
        let _ = eager(asked);
        assert!(!has_started(), "{asked:?}");
    }
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    assert!(!has_started());
    let _ = eager(&["notes"]);
    assert!(has_started(), "once histories were read, the daemon goes on");
    until("it runs", || environment.yore(["daemon", "status"]).run().status.success());
    let _ = environment.yore(["daemon", "stop"]).run().success();
}

#[test]
fn what_a_killed_daemon_leaves_is_in_nobodys_way() {
    let environment = memory();
    Daemon::start(&environment).kill();
    assert!(environment.data().join("daemon.sock").exists() && environment.data().join("daemon.json").exists());
    assert_eq!(found(&environment, "harbour"), 1, "in process");
    let daemon = Daemon::start(&environment);
    assert_eq!(found(&environment, "harbour"), 1, "by the daemon");
    daemon.stop();
}

#[test]
fn same_answers_with_and_without_a_daemon() {
    let environment = memory();
    let remembered = ["remember", "--global", "--kind", "fact", "--entity", "tool:crane", "The crane lifts four tons."];
    let id = environment.yore(remembered).run().success().stdout.trim().to_owned();
    let commands: [&[&str]; 15] = [
        &["recall", "--all", "--json", "harbour"],
        &["recall", "--all", "--explain", "harbour"],
        &["show", "5f0c0001"],
        &["sessions", "--json"],
        &["projects", "--json"],
        &["recall", "--project", "nowhere", "harbour"],
        &["show", "5f0c0001", "--exchanges", "--json"],
        &["topics", "--json"],
        &["memories", "--json"],
        &["memories", "entities", "crane", "--json"],
        &["memories", "relate", &id, "about", "nothing"],
        &["log", "--json"],
        &["log", "1"],
        &["conflicts"],
        &["forget", "--query", "Skagen", "--json"],
    ];
    let alone: Vec<String> = commands.iter().map(|command| without_times(&environment.yore(*command).run().shown())).collect();
    let daemon = Daemon::start(&environment);
    for (command, alone) in commands.iter().zip(alone) {
        assert_eq!(without_times(&environment.yore(*command).run().shown()), alone, "{command:?}");
        assert_eq!(without_times(&environment.yore(*command).arg("--no-daemon").run().shown()), alone, "{command:?}");
    }
    let _ = environment.yore(["stats"]).run().success();
    daemon.stop();
}

/// Removes the lines with durations.
fn without_times(text: &str) -> String {
    text.lines().filter(|line| !line.contains(" µs")).collect::<Vec<_>>().join("\n")
}

#[test]
fn sessions_that_grow_while_the_daemon_is_killed_are_complete_and_single() {
    let environment = home();
    let _ = environment.yore(["ingest", "--no-embed"]).run().success();
    let mut random = Random::new(0x0dae_0dae);
    let sessions: Vec<(PathBuf, Vec<String>)> = (0..8)
        .map(|number| {
            let id = format!("5f0c{number:04x}-{number:04x}-4000-80{number:02x}-00000000000{number}");
            let mut session = Transcript::new(&id, &format!("/home/dev/project-{}", number % 3));
            for step in 0..8 {
                session = session
                    .human(&format!("step {step} of session {number}"))
                    .tool(&format!("Looking at {step}."), "ls", &format!("tidal ropes {number} {step}"), step % 5 == 3)
                    .assistant(&format!("Done with {step} in {number}."));
            }
            let session = session
                .human(&format!("the end is last{number}"))
                .raw("{\"type\": \"brand-new\"}")
                .title(&format!("session {number}"));
            let path = environment.projects().join(format!("-home-dev-project-{}", number % 3)).join(format!("{id}.jsonl"));
            (path, session.content().split_inclusive('\n').map(str::to_owned).collect())
        })
        .collect();
    let total: usize = sessions.iter().map(|(_, lines)| lines.len()).sum();
    let mut next = [0usize; 8];
    let mut daemon = Some(Daemon::start(&environment));
    for written in 0..total {
        let open: Vec<usize> = (0..8).filter(|at| next[*at] < sessions[*at].1.len()).collect();
        let at = open[random.below(open.len())];
        let (path, lines) = &sessions[at];
        let line = lines[next[at]].as_bytes();
        next[at] += 1;
        // Sometimes in two halves.
        let half = if random.below(6) == 0 { line.len() / 2 } else { line.len() };
        append(path, &line[..half]);
        std::thread::sleep(Duration::from_millis(5));
        append(path, &line[half..]);
        if (1..=5).any(|part| written == part * total / 6) {
            daemon.take().unwrap().kill();
            // Data written in the meantime is found by the next daemon.
            daemon = Some(Daemon::start(&environment));
        }
    }
    let daemon = daemon.unwrap();
    let fresh = home();
    let _ = fresh.yore(["ingest", "--no-embed"]).arg(environment.projects()).run().success();
    let wanted = Content::of(&fresh);
    let turns = |environment: &TestEnvironment| -> Value {
        environment.yore(["status", "--json", "--no-daemon"]).run().success().json()["turns_by_role"].clone()
    };
    let all = turns(&fresh);
    until("everything is read", || turns(&environment) == all && daemon.status()["jobs"]["queued"] == 0);
    until("the queue is empty", || daemon.status()["jobs"]["leased"] == 0);
    assert_eq!(found(&environment, "last7"), 1);
    daemon.stop();
    wanted.assert_same_store(&Content::of(&environment), "after five kills");
    environment.is_sound();
}

#[test]
fn new_file_and_new_directory_are_noticed() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    until("the start is over", || daemon.status()["jobs"]["queued"] == 0);
    let session = Transcript::new("5f0c0002-0002-4000-8002-000000000002", "/home/dev/new/deeper");
    session.human("the lighthouse keeper is Ann").write(&environment.projects());
    until("a new directory", || found(&environment, "lighthouse") == 1);
    daemon.stop();
}

#[test]
fn bad_file_is_given_up_seen_and_blocks_no_other() {
    let environment = memory();
    let bad = environment
        .path("home/.codex/sessions/2026/05/31/rollout-2026-05-31T10-46-34-019e7da4-83bc-7dc1-93d3-a435cb5c9100.jsonl.zst");
    append(&bad, b"this is no compressed file");
    let daemon = Daemon::start(&environment);
    until("it failed once", || daemon.status()["jobs"]["queued"] == 1);
    let session = Transcript::new("5f0c0003-0003-4000-8003-000000000003", "/home/dev/tide");
    session.human("the ferry leaves at nine").write(&environment.projects());
    until("the other is read", || found(&environment, "ferry") == 1);
    until("it is given up", || daemon.status()["jobs"]["dead"] == 1);
    let status = environment.yore(["daemon", "status"]).run().success().stdout;
    assert!(status.contains("given up: ingest") && status.contains("[source/unreadable]"), "{status}");
    let _ = environment.yore(["daemon", "retry"]).run().success();
    until("it is tried again", || daemon.status()["jobs"]["dead"] == 0);
    until("it is given up again", || daemon.status()["jobs"]["dead"] == 1);
    append(&bad, b", and another one by now");
    until("it has changed", || daemon.status()["jobs"]["dead"] == 0);
    daemon.stop();
}

#[test]
fn hooks_events_become_work() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let session = Transcript::new("5f0c0004-0004-4000-8004-000000000004", "/home/dev/tide");
    // Outside this agent's histories: its source accepts it all the same.
    let path = session.human("the anchor is made of bronze").write(&environment.path("elsewhere"));
    let event = json!({
        "op": "event", "protocol": 23,
        "event": {"version": 1, "agent": "claude-code", "event": "Stop", "transcript_path": path, "at_ms": 1},
    });
    let reply = say(&environment, format!("{event}\n").as_bytes());
    assert_eq!(reply, json!({"answer": {"jobs": 1}}));
    until("it is read", || found(&environment, "bronze") == 1);
    let spooled = json!({"version": 1, "agent": "claude-code", "event": "Stop", "transcript_path": "/nowhere", "at_ms": 2});
    append(&environment.data().join("spool/00000000000000000001-1-0-9.json"), spooled.to_string().as_bytes());
    until("the spool is empty", || fs::read_dir(environment.data().join("spool")).unwrap().count() == 0);
    daemon.stop();
}

#[test]
fn end_is_read_at_once_and_what_is_written_after_it_is_not_lost() {
    let environment = memory();
    let daemon = Daemon::start_patient(&environment);
    until("the start is over", || daemon.status()["jobs"]["queued"] == 0 && daemon.status()["jobs"]["leased"] == 0);
    let id = "5f0c0001-0001-4000-8001-000000000001";
    let path = environment.projects().join("-home-dev-tide").join(format!("{id}.jsonl"));
    assert!(path.is_file());
    let mut session = Transcript::new(id, "/home/dev/tide").human("the harbour is called Skagen").assistant("Noted.");
    let mut written = session.content().len();
    let mut add = |word: &str| {
        session = session.clone().human(&format!("the next word is {word}"));
        append(&path, &session.content().as_bytes()[written..]);
        written = session.content().len();
    };
    let (before, after) = ("bollard", "capstan");
    add(before);
    until("the change is noticed", || daemon.status()["jobs"]["queued"] == 1);
    let event = json!({
        "op": "event", "protocol": 23,
        "event": {"version": 1, "agent": "claude-code", "event": "SessionEnd", "transcript_path": path, "at_ms": 1},
    });
    assert_eq!(say(&environment, format!("{event}\n").as_bytes()), json!({"answer": {"jobs": 1}}));
    assert!(soon(|| found(&environment, before) == 1), "{before} waits for the window");
    // An agent writes its last words after it reported its end.
    add(after);
    until("what came later is read", || found(&environment, after) == 1);
    until("it rests", || daemon.status()["jobs"]["queued"] == 0 && daemon.status()["jobs"]["leased"] == 0);
    daemon.stop();
    let fresh = home();
    let _ = fresh.yore(["ingest", "--no-embed"]).arg(environment.projects()).run().success();
    Content::of(&fresh).assert_same_store(&Content::of(&environment), "after the end");
    environment.is_sound();
}

#[test]
fn nonsense_and_other_versions_are_answered_and_harm_nobody() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let code = |bytes: &[u8]| say(&environment, bytes)["error"]["code"].as_str().unwrap_or_default().to_owned();
    assert_eq!(code(b"{\"op\": \"status\", \"protocol\": 0}\n"), "daemon/protocol");
    assert_eq!(code(b"{\"op\": \"status\"}\n"), "daemon/protocol");
    assert_eq!(code(b"{\"op\": \"burn\", \"protocol\": 23}\n"), "daemon/request");
    assert_eq!(code(b"{\"op\": \"show\", \"protocol\": 23}\n"), "daemon/request");
    assert_eq!(code(b"\xff\xfe\x00\n"), "daemon/request");
    assert_eq!(code(b"[[[[[[\n"), "daemon/request");
    assert_eq!(code(b"null\n"), "daemon/protocol");
    assert_eq!(code(&[b'x'; 2 << 20]), "daemon/too-long");
    assert_eq!(say(&environment, b"{\"op\": \"hello\", \"protocol\": 99}\n")["answer"]["protocol"], 23);
    // Half a line, then silence.
    let mut silent = UnixStream::connect(socket(&environment)).unwrap();
    silent.write_all(b"{\"op\": ").unwrap();
    assert_eq!(found(&environment, "harbour"), 1);
    // A daemon of another version is not used, and the work is done in process.
    let card = environment.data().join("daemon.json");
    let newer = fs::read_to_string(&card).unwrap().replace("\"version\":\"0.", "\"version\":\"99.");
    fs::write(&card, newer).unwrap();
    assert_eq!(found(&environment, "harbour"), 1);
    assert_eq!(daemon.status()["running"], true);
    let older = fs::read_to_string(&card).unwrap().replace("\"version\":\"99.", "\"version\":\"0.0.");
    fs::write(&card, older).unwrap();
    assert_eq!(found(&environment, "harbour"), 1);
    let mut daemon = daemon;
    until("an older one is asked to end", || daemon.child.try_wait().unwrap().is_some());
}

#[test]
fn many_clients_at_once_are_heard_or_sent_away() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let path = socket(&environment);
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = UnixStream::connect(&path).unwrap();
                    stream.set_read_timeout(Some(LONG)).unwrap();
                    // The client may be sent away before its request is read; that is an answer too.
                    let _ = stream.write_all(b"{\"op\": \"projects\", \"protocol\": 23}\n");
                    let mut line = String::new();
                    let _ = BufReader::new(&mut stream).read_line(&mut line);
                    let _ = stream.read(&mut [0; 1]);
                    serde_json::from_str(&line).unwrap_or(Value::Null)
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let heard = answers.iter().filter(|answer| answer["answer"][0]["name"] == "tide").count();
    let sent_away = answers.iter().filter(|answer| answer["error"]["code"] == "daemon/busy" || answer.is_null()).count();
    assert!(heard > 0 && heard + sent_away == 200, "{heard} heard, {sent_away} sent away");
    assert_eq!(found(&environment, "harbour"), 1);
    daemon.stop();
}

#[test]
fn memories_are_changed_and_restored_by_the_daemon() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let run = |arguments: &[&str]| environment.yore(arguments).run().success().stdout;
    let id = run(&["remember", "--global", "--kind", "fact", "The crane lifts four tons."]);
    let edited = run(&["memories", "edit", id.trim(), "The crane lifts five tons."]);
    for arguments in [&["pin"][..], &["archive"], &["archive", "--off"]] {
        let _ = run(&[&["memories", arguments[0], edited.trim()], &arguments[1..]].concat());
    }
    let _ = run(&["memories", "relate", edited.trim(), "about", "src/crane.rs"]);
    let _ = run(&["undo"]);
    let log = environment.yore(["log", "--json"]).run().success().json();
    let kinds: Vec<&str> = log.as_array().unwrap().iter().map(|operation| operation["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["undo", "relate", "archive", "archive", "pin", "supersede", "create"]);
    let listed = |flags: &[&str]| environment.yore(["memories", "--all", "--json"]).args(flags).run().json();
    assert_eq!(listed(&[]), listed(&["--no-daemon"]));
    assert_eq!(listed(&[])[0]["statement"], "The crane lifts five tons.");
    daemon.stop();
}

#[test]
fn a_change_whose_answer_is_lost_is_not_repeated_and_a_question_is() {
    let environment = memory();
    let id = environment.yore(["remember", "--global", "--kind", "fact", "The crane lifts."]).run().success().stdout;
    let daemon = Daemon::start(&environment);
    let card = environment.data().join("daemon.json");
    let mut told: Value = serde_json::from_slice(&fs::read(&card).unwrap()).unwrap();
    daemon.stop();
    // It takes requests and ends without an answer.
    let path = environment.data().join("deaf");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = BufReader::new(stream.unwrap()).read_line(&mut String::new());
        }
    });
    told["socket"] = json!(path);
    fs::write(&card, told.to_string()).unwrap();
    assert_eq!(environment.yore(["memories", "--json"]).run().success().json()[0]["statement"], "The crane lifts.");
    assert_eq!(environment.yore(["memories", "pin", id.trim()]).run().ends_with(4).code(), "interrupted");
    let shown = environment.yore(["memories", "--json", "--no-daemon"]).run().success().json();
    assert_eq!(shown[0]["pinned"], false);
}

#[test]
fn directory_with_a_long_name_has_its_socket_elsewhere() {
    let environment = memory();
    let long = environment.path(&format!("{}/{}", "long".repeat(20), "name".repeat(20)));
    fs::create_dir_all(long.parent().unwrap()).unwrap();
    fs::rename(environment.data(), &long).unwrap();
    let runtime = environment.path("run");
    fs::create_dir(&runtime).unwrap();
    let call = |arguments: &[&str]| {
        environment.yore(arguments).env("YORE_HOME", &long).env("TMPDIR", &runtime).env("XDG_RUNTIME_DIR", &runtime)
    };
    let _ = call(&["daemon", "start"]).run().success();
    let status = call(&["daemon", "status", "--json"]).run().success().json();
    let socket = PathBuf::from(status["socket"].as_str().unwrap());
    assert!(socket.as_os_str().len() <= 100 && socket.exists(), "{socket:?}");
    assert_eq!(fs::metadata(socket.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let _ = call(&["recall", "--all", "harbour"]).run().success();
    let _ = call(&["daemon", "stop"]).run().success();
}

#[test]
fn daemon_ends_when_its_directory_is_gone() {
    let environment = memory();
    let mut daemon = Daemon::start(&environment);
    fs::rename(environment.data(), environment.path("moved")).unwrap();
    until("it has ended", || daemon.child.try_wait().unwrap().is_some());
}

#[test]
fn hook_of_an_agent_begins_the_memory_unless_no_daemon_may_start() {
    let environment = TestEnvironment::new();
    Transcript::new("5f0c0002-0001-4000-8001-000000000001", "/home/dev/harbour")
        .human("the crane leans")
        .write(&environment.projects());
    let said = json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": "/home/dev/harbour"})
        .to_string();
    let hook = |autostart: &str| {
        let call = environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_DAEMON__AUTOSTART", autostart);
        let _ = call.stdin(said.as_bytes()).run().success();
    };
    hook("false");
    assert!(!environment.data().exists());
    hook("true");
    until("its histories are read", || environment.yore(["recall", "--all", "crane"]).run().stdout.contains("the crane leans"));
    let _ = environment.yore(["daemon", "stop"]).run().success();
}

#[test]
fn copy_of_a_data_directory_is_not_the_daemons() {
    let environment = memory();
    let daemon = Daemon::start(&environment);
    let copy = environment.path("copy");
    copy_files(&environment.data(), &copy);
    assert!(copy.join("daemon.json").exists());
    let there = environment.yore(["remember", "--kind", "fact", "The copy has its own words."]).env("YORE_HOME", &copy);
    let _ = there.run().success();
    let all = |directory: &Path| {
        environment.yore(["memories", "--all", "--json"]).env("YORE_HOME", directory).run().json().as_array().unwrap().len()
    };
    assert_eq!((all(&copy), all(&environment.data())), (1, 0));
    drop(daemon);
}

/// Copies the files below a directory, without sockets and what a daemon removes meanwhile.
fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_files(&entry.path(), &to.join(entry.file_name()));
        } else if kind.is_file() {
            match std::fs::copy(entry.path(), to.join(entry.file_name())) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
    }
}

#[test]
fn clients_start_it_when_they_need_it() {
    let environment = memory();
    let eager = |arguments: &[&str]| environment.yore(arguments).env("YORE_DAEMON__AUTOSTART", "true");
    let _ = eager(&["recall", "--no-daemon", "--all", "harbour"]).run().success();
    assert!(!environment.data().join("daemon.json").exists());
    let _ = eager(&["recall", "--all", "harbour"]).run().success();
    until("it runs", || environment.yore(["daemon", "status", "--json"]).run().json()["answers"] == true);
    let _ = environment.yore(["daemon", "stop"]).run().success();
}

#[test]
fn what_was_settled_becomes_a_memory_by_itself_unless_that_is_switched_off() {
    let settled = "Always use SQLite for the berth leases, because Redis lost heartbeats twice.";
    for is_on in [true, false] {
        let environment = home();
        let file = |number: u64, words: &str| {
            Transcript::new(&format!("5f0c0003-0001-4000-8001-00000000000{number}"), "/home/dev/harbour")
                .human(words)
                .assistant("Done.")
                .write(&environment.projects());
        };
        file(1, settled);
        let daemon = Daemon::of(
            &environment,
            quick(&environment, &["daemon", "start", "--foreground"])
                .env("YORE_EXTRACT__AFTER_SECONDS", "0")
                .env("YORE_EXTRACT__ENABLED", is_on.to_string())
                .env("YORE_EXTRACT__SKIP_KINDS", "[\"todo\"]"),
        );
        let memories = || environment.yore(["memories", "--all", "--json"]).run().json();
        if is_on {
            until("it is a memory", || memories().as_array().is_some_and(|list| !list.is_empty()));
            assert_eq!(memories()[0]["statement"], settled);
            assert_eq!(memories()[0]["lane"], "extracted");
        } else {
            until("it is read", || daemon.status()["batches"].as_u64().is_some_and(|batches| batches > 0));
        }
        daemon.stop();
        if !is_on {
            assert_eq!(memories().as_array().map(Vec::len), Some(0));
        }
    }
}

#[test]
fn daemon_goes_on_after_a_restore_that_failed_and_after_one_that_did_not() {
    let environment = home();
    let daemon = Daemon::start(&environment);
    let _ = environment.yore(["backup"]).run().success();
    let junk = environment.write("junk.db", "no database");
    let answers = || environment.yore(["daemon", "status", "--json"]).run().json()["answers"] == true;
    assert_eq!(environment.yore(["restore"]).arg(&junk).run().ends_with(2).code(), "backup/damaged");
    until("it answers again", answers);
    let _ = environment.yore(["restore"]).run().success();
    until("it answers again", answers);
    let _ = environment.yore(["daemon", "stop"]).run().success();
    drop(daemon);
}

#[test]
fn a_memory_that_a_session_is_given_counts_as_given_with_and_without_a_daemon() {
    let environment = memory();
    let noted = environment.yore(["remember", "Answer in short sentences.", "--kind", "preference", "--global"]).run().success();
    let id = noted.stdout.lines().next().unwrap().trim().to_owned();
    let given = || environment.yore(["show", id.as_str(), "--json"]).run().json()["uses"]["given"].clone();
    let begin = |session: &str, is_used: &str| {
        let words = json!({"session_id": session, "cwd": "/home/dev/tide", "source": "startup"}).to_string();
        let hook = environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_DAEMON__USE", is_used).stdin(words);
        assert!(hook.run().success().stdout.contains("Answer in short sentences."));
    };
    begin("a", "no");
    assert_eq!(given(), 0, "no hook writes to the database");
    let daemon = Daemon::start(&environment);
    until("the daemon has counted it", || given() == 1);
    begin("b", "yes");
    until("the daemon has counted it again", || given() == 2);
    let _ = environment.yore(["brief"]).run().success();
    assert_eq!(given(), 3, "a person reads the brief");
    daemon.stop();
}
