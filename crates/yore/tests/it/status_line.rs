//! `yore status-line` as Claude Code runs it, and `yore status --session`.

use std::fs;

use serde_json::{Value, json};

use crate::environment::{Outcome, TestEnvironment};
use crate::transcript::Transcript;

const SESSION: &str = "4a5b0001-3f08-4714-9c34-5c452003a142";

fn entry(at_ms: i64, event: &str, turns: &[&str], tokens: u64, silence: Option<&str>) -> String {
    let mut entry = json!({"at_ms": at_ms, "agent": "claude-code", "event": event, "turns": turns, "tokens": tokens, "micros": 8400, "directory": "/home/dev/tide"});
    if let Some(reason) = silence {
        entry["silence"] = json!(reason);
    }
    format!("{entry}\n")
}

/// Creates a computer on which a session was given three memories, one of them twice.
fn computer() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let ledger = [
        entry(1_772_355_600_000, "SessionStart", &["a", "b"], 410, None),
        entry(1_772_355_660_000, "UserPromptSubmit", &[], 0, Some("floor")),
        entry(1_772_355_720_000, "UserPromptSubmit", &["b", "c"], 230, None),
    ];
    Transcript::new("4a5b0000-3f08-4714-9c34-5c452003a142", "/home/dev/reef").human("hello").write(&environment.path("else"));
    environment.ingest(&environment.path("else"));
    environment.write(&format!("data/given/{SESSION}.jsonl"), ledger.concat());
    environment
}

fn status_line(environment: &TestEnvironment, arguments: &[&str], stdin: impl AsRef<[u8]>) -> String {
    let outcome = environment.yore(["status-line"]).args(arguments).stdin(stdin).run().success();
    assert_eq!(outcome.stderr, "");
    assert_eq!(outcome.stdout.lines().count(), 1, "{:?}", outcome.stdout);
    outcome.stdout.trim_end().to_owned()
}

fn said(session: &str) -> String {
    json!({
        "hook_event_name": "Status", "session_id": session, "transcript_path": "/t.jsonl", "cwd": "/home/dev/tide/src",
        "model": {"id": "m", "display_name": "M"}, "workspace": {"current_dir": "/home/dev/tide", "project_dir": "/home/dev/tide"},
        "version": "2.1.200",
    })
    .to_string()
}

#[test]
fn status_line_counts_what_the_session_was_given() {
    let environment = computer();
    assert_eq!(status_line(&environment, &[], said(SESSION)), "yore · tide · 3 memories, 640 tokens");
    assert_eq!(status_line(&environment, &[], said("another")), "yore · tide · nothing given");
    let colored = status_line(&environment, &["--color", "always"], said(SESSION));
    assert!(colored.contains("\u{1b}["), "{colored:?}");
}

#[test]
fn status_line_ends_well_whatever_it_is_told() {
    let environment = computer();
    for stdin in ["", "garbage", "[]", "{\"session_id\": 7, \"workspace\": 3}", "\u{0}", "{}"] {
        assert_eq!(status_line(&environment, &[], stdin), "yore · work · nothing given", "{stdin:?}");
    }
    let torn = computer();
    torn.write(&format!("data/given/{SESSION}.jsonl"), b"\xff\xfe{\n[]\n");
    assert_eq!(status_line(&torn, &[], said(SESSION)), "yore · tide · nothing given");
    // An invalid setting that makes every other command fail.
    let outcome = environment.yore(["status-line"]).env("YORE_RECALL__LIMIT", "many").stdin(said(SESSION)).run().success();
    assert!(outcome.stdout.contains("640 tokens"), "{outcome:?}");
    let empty = TestEnvironment::new();
    assert_eq!(status_line(&empty, &[], said(SESSION)), "yore · tide · no memory yet, `yore up` makes it");
    assert!(!empty.data().exists(), "looking makes no memory");
    // Other programs put files there, too.
    empty.write("data/install.json", "{}");
    assert_eq!(status_line(&empty, &[], said(SESSION)), "yore · tide · no memory yet, `yore up` makes it");
}

#[test]
fn status_line_tells_of_what_nobody_captures() {
    let environment = computer();
    let stop = json!({"session_id": SESSION, "transcript_path": "/t.jsonl", "cwd": "/home/dev/tide"}).to_string();
    environment.yore(["hook", "claude-code", "Stop"]).stdin(stop).run().success();
    assert_eq!(
        status_line(&environment, &[], said(SESSION)),
        "yore · tide · 3 memories, 640 tokens · no daemon, 1 event to capture"
    );
}

#[test]
fn status_line_says_when_the_session_was_captured_last() {
    let environment = TestEnvironment::new();
    Transcript::new(SESSION, "/home/dev/tide").human("when is high water").assistant("At noon.").write(&environment.projects());
    environment.ingest(&environment.projects());
    let told = |session: &str, words: &str| {
        // A machine that is busy with other tests may take longer than a status line waits.
        (0..200).map(|_| status_line(&environment, &[], said(session))).find(|line| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            line.contains(words)
        })
    };
    let line = told(SESSION, "captured").expect("it was captured");
    assert!(line.starts_with("yore · tide · nothing given · captured "), "{line}");
    assert!(line.ends_with(" ago") || line.ends_with(" now"), "{line}");
    // Other sessions were read, but this one was not.
    let other = "4a5b0002-3f08-4714-9c34-5c452003a142";
    for _ in 0..10 {
        assert_eq!(status_line(&environment, &[], said(other)), "yore · tide · nothing given");
    }
}

fn stats(environment: &TestEnvironment, arguments: &[&str]) -> Outcome {
    environment.yore(["status", "--session"]).args(arguments).run()
}

#[test]
fn stats_of_a_session_tell_when_and_by_what_it_was_given_what() {
    let environment = computer();
    insta::assert_snapshot!(stats(&environment, &[]).success().shown(), @"
    session       4a5b0001-3f08-4714-9c34-5c452003a142 · claude-code · tide
    given         3 memories, 640 tokens in 2 answers
    silent        1 × no match is relevant enough
    last capture  not yet, as far as known

    2026-03-01 09:00  SessionStart      8.4 ms  2 memories, 410 tokens
    2026-03-01 09:01  UserPromptSubmit  8.4 ms  nothing: no match is relevant enough
    2026-03-01 09:02  UserPromptSubmit  8.4 ms  2 memories, 230 tokens
    ");
    let told = stats(&environment, &["4a5b", "--json"]).success().json();
    assert_eq!(json!([told["session"], told["project"], told["memories"], told["tokens"]]), json!([SESSION, "tide", 3, 640]));
    assert_eq!(told["silences"], json!({"floor": 1}));
    assert_eq!(told["answers"].as_array().unwrap().len(), 3);
    assert_eq!(told["last_capture_ms"], Value::Null);
}

#[test]
fn session_that_is_meant_is_the_callers_or_the_latest_or_the_named() {
    let environment = TestEnvironment::new();
    assert_eq!(stats(&environment, &[]).ends_with(1).stderr, "no session was given anything yet\n");
    let environment = computer();
    let later = "5e110004-a0b1-48f7-97ac-550c53cfdb11";
    environment.write(&format!("data/given/{later}.jsonl"), entry(1_772_355_900_000, "recall", &["d"], 90, None));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = fs::File::options().write(true).open(environment.data().join(format!("given/{SESSION}.jsonl"))).unwrap();
    file.set_modified(old).unwrap();
    assert_eq!(stats(&environment, &["--json"]).success().json()["session"], later);
    let calling =
        environment.yore(["status", "--session", "--json"]).env("CLAUDE_CODE_SESSION_ID", SESSION).run().success().json();
    assert_eq!(calling["session"], SESSION);
    assert_eq!(stats(&environment, &["5e11", "--json"]).success().json()["tokens"], 90);
    assert_eq!(stats(&environment, &["nonesuch"]).ends_with(1).code(), "unknown-session");
}

#[test]
fn stats_of_a_session_know_when_its_transcript_was_read() {
    let environment = computer();
    Transcript::new(SESSION, "/home/dev/tide").human("when is high water").assistant("At noon.").write(&environment.projects());
    environment.ingest(&environment.projects());
    let told = stats(&environment, &["--json"]).success().json();
    assert!(told["last_capture_ms"].as_i64().unwrap() > 1_700_000_000_000, "{told}");
}
