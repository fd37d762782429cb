//! The capture hook: for any input and any state of the memory it ends well, prints nothing, and leaves its
//! event for the next reader.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::crash::copy_directory;
use crate::environment::{PROGRAM, TestEnvironment};
use crate::transcript::Transcript;

/// Creates a computer where `up` has created a data directory; no daemon may start in these tests.
fn computer() -> TestEnvironment {
    let environment = TestEnvironment::new();
    fs::create_dir(environment.data()).unwrap();
    environment
}

fn said(session: &str) -> String {
    json!({
        "session_id": session, "transcript_path": format!("/home/dev/.claude/projects/x/{session}.jsonl"), "cwd": "/home/dev/tide",
        "hook_event_name": "Stop", "permission_mode": "default", "last_assistant_message": "the harbour words",
    })
    .to_string()
}

/// Runs a hook that must exit with 0 and print nothing.
#[track_caller]
fn hook(environment: &TestEnvironment, arguments: &[&str], stdin: impl AsRef<[u8]>) {
    let outcome = environment.yore(["hook"]).args(arguments).env("YORE_DAEMON__USE", "no").stdin(stdin).run().success();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
}

/// Returns the waiting events.
fn events(environment: &TestEnvironment) -> Vec<Value> {
    let Ok(folder) = fs::read_dir(environment.data().join("spool")) else { return Vec::new() };
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect()
}

#[test]
fn event_waits_with_ids_and_paths_and_without_words() {
    let environment = computer();
    hook(&environment, &["claude-code", "Stop"], said("5f0c"));
    let events = events(&environment);
    assert_eq!(events.len(), 1);
    let mut event = events[0].clone();
    assert!(event["at_ms"].as_i64().unwrap() > 1_700_000_000_000);
    event["at_ms"] = json!(0);
    assert_eq!(
        event,
        json!({
            "version": 1, "agent": "claude-code", "event": "Stop", "session_id": "5f0c",
            "transcript_path": "/home/dev/.claude/projects/x/5f0c.jsonl", "cwd": "/home/dev/tide", "at_ms": 0,
        })
    );
}

#[test]
fn whatever_is_said_it_ends_well_and_says_nothing() {
    let environment = computer();
    for stdin in ["", "   \n", "garbage", "{", "[]", "null", "7", "\u{0}\u{1}", "{\"session_id\": 5}", "{}"] {
        hook(&environment, &["claude-code", "Stop"], stdin);
    }
    hook(&environment, &["claude-code", "Stop"], b"\xff\xfe\xfd");
    hook(&environment, &["claude-code", "Stop"], "[".repeat(2 << 20));
    for arguments in
        [&[][..], &["claude-code"], &["somebody", "Stop"], &["claude-code", "Explode"], &["--what", "-x"], &["../..", "Stop"]]
    {
        hook(&environment, arguments, "{\"session_id\":\"s\"}");
    }
    assert_eq!(events(&environment), Vec::<Value>::new());
}

#[test]
fn with_consent_the_agent_is_asked_once_a_session_to_record_what_it_learned_and_never_in_a_loop() {
    let environment = computer();
    let transcript = environment.data().with_file_name("long.jsonl");
    fs::write(&transcript, "x".repeat(70_000)).unwrap();
    let ends = |session: &str, path: &std::path::Path, is_asked_for: bool, consent: &str| {
        let said = json!({"session_id": session, "transcript_path": path, "cwd": "/home/dev/tide", "hook_event_name": "Stop",
            "stop_hook_active": is_asked_for});
        let hook = environment.yore(["hook", "claude-code", "Stop"]).env("YORE_DAEMON__USE", "no");
        hook.env("YORE_LEARN__IN_SESSION", consent).stdin(said.to_string()).run().success().stdout
    };
    assert_eq!(ends("5f0c", &transcript, false, "false"), "", "nobody said yes");
    assert_eq!(ends("5f0c", &transcript, true, "true"), "", "the turn was asked for by a hook");
    let asked: Value = serde_json::from_str(&ends("5f0c", &transcript, false, "true")).unwrap();
    assert_eq!(asked["decision"], "block");
    let reason = asked["reason"].as_str().unwrap();
    assert!(reason.contains("`distil`") && reason.contains("\"5f0c\""), "{reason}");
    for is_asked_for in [true, false, false] {
        assert_eq!(ends("5f0c", &transcript, is_asked_for, "true"), "", "once");
    }
    let short = environment.data().with_file_name("short.jsonl");
    fs::write(&short, "{}").unwrap();
    assert_eq!(ends("77aa", &short, false, "true"), "", "no piece of work was done");
    let _ = environment.yore(["ingest", "--no-embed"]).run();
    assert!(environment.data().join("yore.db").exists());
    for at in 0..3 {
        let prompt = json!({"session_id": "77aa", "transcript_path": short, "cwd": "/home/dev/tide", "hook_event_name": "UserPromptSubmit",
            "prompt": format!("go on with part {at}")});
        environment
            .yore(["hook", "claude-code", "UserPromptSubmit"])
            .env("YORE_DAEMON__USE", "no")
            .stdin(prompt.to_string())
            .run()
            .success();
    }
    assert!(ends("77aa", &short, false, "true").contains("block"), "three prompts are a piece of work");
}

#[test]
fn where_it_cannot_be_noted_that_the_agent_was_asked_it_is_not_asked() {
    let environment = computer();
    let transcript = environment.data().with_file_name("long.jsonl");
    fs::write(&transcript, "x".repeat(70_000)).unwrap();
    fs::write(environment.data().join("given"), "a file where the folder should be").unwrap();
    let said = json!({"session_id": "5f0c", "transcript_path": transcript, "cwd": "/", "hook_event_name": "Stop"});
    let hook =
        environment.yore(["hook", "claude-code", "Stop"]).env("YORE_DAEMON__USE", "no").env("YORE_LEARN__IN_SESSION", "true");
    assert_eq!(hook.stdin(said.to_string()).run().success().stdout, "");
}

#[test]
fn more_than_is_looked_at_is_no_reason_to_miss_the_event() {
    let environment = computer();
    let mut words = said("5f0c");
    words.pop();
    hook(&environment, &["claude-code", "PostToolUse"], format!("{words},\"tool_response\":\"{}\"}}", "x".repeat(8 << 20)));
    assert_eq!(events(&environment)[0]["session_id"], "5f0c");
}

#[test]
fn claude_hook_inside_cursor_tells_of_cursor() {
    let environment = computer();
    let inside = json!({"conversation_id": "c-1", "cursor_version": "3.0", "workspace_roots": ["/home/dev/tide"]}).to_string();
    hook(&environment, &["claude-code", "Stop"], inside);
    let event = &events(&environment)[0];
    assert_eq!(
        (&event["agent"], &event["session_id"], &event["cwd"]),
        (&json!("cursor"), &json!("c-1"), &json!("/home/dev/tide"))
    );
}

#[test]
fn without_a_data_directory_nothing_is_made() {
    let environment = TestEnvironment::new();
    hook(&environment, &["claude-code", "Stop"], said("5f0c"));
    assert!(!environment.data().exists());
}

#[test]
fn data_directory_that_cannot_be_written_is_no_error() {
    let environment = computer();
    fs::write(environment.data().join("spool"), "a file where the folder should be").unwrap();
    hook(&environment, &["claude-code", "Stop"], said("5f0c"));
    let environment = computer();
    let mut permissions = fs::metadata(environment.data()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(environment.data(), permissions.clone()).unwrap();
    hook(&environment, &["claude-code", "Stop"], said("5f0c"));
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    fs::set_permissions(environment.data(), permissions).unwrap();
}

#[test]
fn database_is_neither_opened_nor_waited_for() {
    let environment = computer();
    // Opening this would fail.
    let garbage = "this is no database ".repeat(500);
    environment.write("data/yore.db", &garbage);
    environment.write("data/key", "no key");
    hook(&environment, &["claude-code", "Stop"], said("a"));
    assert_eq!(fs::read_to_string(environment.database()).unwrap(), garbage);
    let mut names: Vec<String> =
        fs::read_dir(environment.data()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["key", "spool", "yore.db"]);

    fs::remove_file(environment.database()).unwrap();
    let database = rusqlite::Connection::open(environment.database()).unwrap();
    database.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1)").unwrap();
    let began = Instant::now();
    hook(&environment, &["claude-code", "Stop"], said("b"));
    assert!(began.elapsed() < Duration::from_secs(4), "it waited for the lock");
    assert_eq!(events(&environment).len(), 2);
}

#[test]
fn two_hundred_hooks_at_once_are_all_in_the_queue() {
    let environment = computer();
    std::thread::scope(|scope| {
        for worker in 0..20 {
            let environment = &environment;
            scope.spawn(move || {
                for number in 0..10 {
                    hook(environment, &["claude-code", "Stop"], said(&format!("{worker}-{number}")));
                }
            });
        }
    });
    let mut sessions: Vec<String> =
        events(&environment).iter().map(|event| event["session_id"].as_str().unwrap().to_owned()).collect();
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 200);
}

#[test]
fn stream_that_stays_open_does_not_keep_it() {
    let environment = computer();
    for (words, is_quick) in
        [(said("open"), true), ("{\"session_id\":\"torn\",\"cwd\":\"/c\"".to_owned(), false), (String::new(), false)]
    {
        let mut child = Command::new(PROGRAM)
            .args(["hook", "claude-code", "Stop", "-c", "daemon.use=no", "--data-dir"])
            .arg(environment.data())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(words.as_bytes()).unwrap();
        let began = Instant::now();
        assert!(child.wait().unwrap().success());
        let limit = if is_quick { Duration::from_millis(900) } else { Duration::from_secs(10) };
        assert!(began.elapsed() < limit, "{words}: {:?}", began.elapsed());
        drop(stdin);
    }
    let sessions: Vec<Value> = events(&environment).iter().map(|event| event["session_id"].clone()).collect();
    assert_eq!(sessions, ["open", "torn"]);
}

#[test]
fn capture_that_is_turned_off_writes_nothing() {
    let environment = computer();
    let off = |setting: &[&str], cwd: &str| {
        let words = json!({"session_id": "s", "cwd": cwd}).to_string();
        hook(&environment, &[&["claude-code", "Stop"], setting].concat(), words);
        assert_eq!(events(&environment), Vec::<Value>::new());
    };
    off(&["-c", "capture.enabled=no"], "/home/dev/tide");
    let project = environment.path("work/tide");
    environment.write("work/tide/.yore.toml", "[capture]\nenabled = false\n");
    fs::create_dir_all(project.join("src")).unwrap();
    off(&[], project.join("src").to_str().unwrap());
    for rules in ["[capture]\nexclude_projects = [\"/home/dev/tide\"]\n", "[capture]\nmode = \"opt-in\"\nprojects = [\"/x\"]\n"] {
        let file = environment.write("own.toml", rules);
        let outcome = environment.yore(["hook", "claude-code", "Stop"]).env("YORE_CONFIG", file).stdin(said("s")).run().success();
        assert_eq!((outcome.stdout.as_str(), events(&environment).len()), ("", 0), "{rules}");
    }
    let file = environment.write("own.toml", "[capture]\nenabled = false\n");
    let outcome = environment.yore(["hook", "claude-code", "Stop"]).env("YORE_CONFIG", file).stdin(said("s")).run().success();
    assert_eq!((outcome.stdout.as_str(), events(&environment).len()), ("", 0));
}

/// Returns the text that a hook without a daemon gives a session that begins in `/home/dev/tide`.
fn brief(environment: &TestEnvironment, session: &str, own: &str) -> String {
    let file = environment.write("own.toml", own);
    let words = json!({"session_id": session, "cwd": "/home/dev/tide", "source": "startup"}).to_string();
    let hook = environment.yore(["hook", "claude-code", "SessionStart"]).env("YORE_DAEMON__USE", "no").env("YORE_CONFIG", file);
    hook.stdin(words).run().success().stdout
}

#[test]
fn project_that_is_left_out_is_not_given_to() {
    let environment = TestEnvironment::new();
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", "/home/dev/tide")
        .human("why does the harbour gauge lag behind?")
        .assistant("It is read once an hour.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    assert!(brief(&environment, "a", "").contains("harbour gauge"));
    assert_eq!(brief(&environment, "b", "[capture]\nexclude_projects = [\"/home/dev/tide\"]\n"), "");
    assert_eq!(brief(&environment, "c", "[capture]\nmode = \"opt-in\"\n"), "");
    assert!(!environment.data().join("given/b.jsonl").exists());
}

#[test]
fn what_is_given_is_redacted_by_the_patterns_of_the_person() {
    let environment = TestEnvironment::new();
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", "/home/dev/tide")
        .human("why does gauge EMP-4711 lag behind?")
        .assistant("It is read once an hour.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    assert!(brief(&environment, "a", "").contains("EMP-4711"));
    let told = brief(&environment, "b", "[redaction]\nextra_patterns = ['EMP-\\d+']\n");
    assert!(told.contains("lag behind") && !told.contains("4711"), "{told}");
    assert_eq!(brief(&environment, "c", "[redaction]\nextra_patterns = ['EMP-(']\n"), "");
}

#[test]
fn command_that_failed_before_or_that_a_rule_forbids_is_told_of_once_and_runs_all_the_same() {
    let environment = TestEnvironment::new();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", "/home/dev/tide")
        .at(now - 3_600_000)
        .human("show what the pull request of the harbour gauge changes")
        .tool("I look.", "gh pr diff 88 --stat", "Exit code 1\nunknown flag: --stat", true)
        .tool("Names then.", "gh pr diff 88 --name-only", "src/gauge.rs", false)
        .assistant("It changes the gauge.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    environment.yore(["extract", "--all"]).run().success();
    environment.yore(["remember", "--kind", "standard", "Use pnpm, not npm."]).run().success();
    let told = |agent: &str, event: &str, session: &str, command: &str, own: &str| {
        let file = environment.write("own.toml", own);
        let said = json!({
            "session_id": session, "cwd": "/home/dev/tide", "hook_event_name": event, "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        let hook = environment.yore(["hook", agent, event]).env("YORE_DAEMON__USE", "no").env("YORE_CONFIG", file);
        let outcome = hook.stdin(said.to_string()).run().success();
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap_or_default();
        assert!(answer["hookSpecificOutput"]["permissionDecision"].is_null() && answer["decision"].is_null(), "{answer}");
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    };
    for agent in ["claude-code", "codex"] {
        let before = |session: &str, command: &str| told(agent, "PreToolUse", session, command, "");
        let text = before(&format!("{agent}-a"), "gh pr diff 104 --stat");
        assert!(text.contains("unknown flag: --stat") && text.contains("worked: `gh pr diff 88 --name-only`"), "{text}");
        assert!(text.starts_with("<recalled-data") && text.chars().count() <= 200, "{text}");
        assert_eq!(before(&format!("{agent}-a"), "gh pr diff 105 --stat"), "", "the session was told");
        assert_ne!(before(&format!("{agent}-b"), "gh pr diff 105 --stat"), "", "another one was not");
        assert_eq!(before(&format!("{agent}-a"), "gh pr diff 104"), "");
        let rule = before(&format!("{agent}-a"), "npm install");
        assert!(rule.contains("Use pnpm, not npm.") && rule.chars().count() <= 200, "{rule}");
    }
    assert_eq!(told("claude-code", "PreToolUse", "c", "npm install", "[inject]\non_command = false\n"), "");
    // An agent that is told nothing before a tool runs hears of it with the failure.
    let after = told("qwen", "PostToolUse", "q", "gh pr diff 104 --stat", "");
    assert_eq!(after, "", "it did not fail");
    let failed = json!({
        "session_id": "q", "cwd": "/home/dev/tide", "tool_name": "run_shell_command", "error": "unknown flag: --stat",
        "tool_input": {"command": "gh pr diff 104 --stat"},
    });
    let hook = environment.yore(["hook", "qwen", "PostToolUseFailure"]).env("YORE_DAEMON__USE", "no");
    let outcome = hook.stdin(failed.to_string()).run().success();
    assert!(outcome.stdout.contains("worked: `gh pr diff 88 --name-only`"), "{}", outcome.stdout);
}

#[test]
fn settings_that_cannot_be_read_are_no_error_and_no_yes() {
    let environment = computer();
    let file = environment.write("own.toml", "[capture\n");
    let outcome = environment.yore(["hook", "claude-code", "Stop"]).env("YORE_CONFIG", file).stdin(said("s")).run().success();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert_eq!(events(&environment).len(), 0);
}

#[test]
fn help_is_still_given() {
    let outcome = TestEnvironment::new().yore(["hook", "--help"]).run().success();
    assert!(outcome.stdout.contains("AGENT"), "{}", outcome.stdout);
}

#[test]
fn what_is_held_out_is_not_given_and_is_noted_with_the_reason() {
    let environment = TestEnvironment::new();
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", "/home/dev/tide")
        .human("why does the gauge lag behind?")
        .assistant("It is read once an hour.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    assert!((0..6).all(|number| !brief(&environment, &format!("a{number}"), "").is_empty()));
    let own = "[inject]\nholdout = 0.5\n";
    let told = (0..24).filter(|number| !brief(&environment, &format!("b{number}"), own).is_empty()).count();
    assert!((3..=21).contains(&told), "{told} of 24");
    let ledgers = fs::read_dir(environment.data().join("given")).unwrap().map(|file| file.unwrap().path());
    let ledgers = ledgers.filter_map(|file| fs::read_to_string(file).ok());
    let held = ledgers.filter(|ledger| ledger.contains("\"silence\":\"held-out\"") && ledger.contains("\"held_out\":["));
    assert_eq!(held.count(), 24 - told, "each is noted");
}

#[test]
fn a_session_is_held_out_as_a_whole_or_not_at_all() {
    let environment = TestEnvironment::new();
    Transcript::new("4a5b0001-3f08-4714-9c34-5c452003a142", "/home/dev/tide")
        .human("why does the gauge lag behind?")
        .assistant("The gauge lags behind because it is read once an hour.")
        .write(&environment.projects());
    environment.ingest(&environment.projects());
    let own = "[inject]\nholdout_sessions = 0.5\n";
    let mut told = 0;
    for number in 0..24 {
        let session = format!("c{number}");
        let is_told = !brief(&environment, &session, own).is_empty();
        told += usize::from(is_told);
        let said = json!({
            "session_id": session, "cwd": "/home/dev/tide", "hook_event_name": "UserPromptSubmit", "prompt": "why does the gauge lag behind?",
        });
        let file = environment.write("own.toml", own);
        let hook = environment.yore(["hook", "claude-code", "UserPromptSubmit"]).env("YORE_CONFIG", file);
        let prompt = hook.env("YORE_DAEMON__USE", "no").stdin(said.to_string()).run().success();
        assert!(is_told || prompt.stdout.is_empty(), "{number}: {}", prompt.stdout);
    }
    assert!((3..=21).contains(&told), "{told} of 24");
}

#[test]
fn first_prompt_is_told_what_was_decided_and_one_that_only_goes_on_where_work_stands() {
    let environment = TestEnvironment::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/example/projects");
    copy_directory(example.as_ref(), &environment.projects());
    environment.yore(["ingest", "--no-embed"]).env("YORE_DAEMON__USE", "no").run().success();
    let told = |session: &str, prompt: &str| {
        let said =
            json!({"session_id": session, "cwd": "/home/dev/tidepool", "hook_event_name": "UserPromptSubmit", "prompt": prompt});
        let hook = environment.yore(["hook", "claude-code", "UserPromptSubmit"]).env("YORE_DAEMON__USE", "no");
        hook.stdin(said.to_string()).run().success().stdout
    };
    let decided = told("5f0c", "why did we move the cache out of redis?");
    assert!(decided.contains("Decision: the curve cache moves out of Redis into the process"), "{decided}");
    assert!(decided.contains("Why: Redis was shared with the cameras"), "with its reason: {decided}");
    let named = decided.split("More of it: ").nth(1).unwrap_or_else(|| panic!("what else there is: {decided}"));
    let id = named[1..].split(']').next().unwrap();
    assert_eq!(decided.matches(id).count(), 1, "named once, without words: {decided}");
    environment.yore(["show", id]).env("YORE_DAEMON__USE", "no").run().success();

    let stands = told("77aa", "what next?");
    assert!(stands.contains("Where work stands in tidepool") && stands.contains("Last worked on:"), "{stands}");
    assert_eq!(told("77aa", "run the tests"), "", "an everyday prompt");
}
