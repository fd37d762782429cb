//! `yore ingest` of places and documents that a person names.

use std::fs;

use serde_json::json;

use crate::environment::TestEnvironment;
use crate::small_memory::{HARBOR, QUARRY};
use crate::transcript::Transcript;

#[test]
fn uniform_documents_are_read_from_any_path() {
    let environment = TestEnvironment::new();
    let document = json!({"corpus_id": "tide", "doc_id": 7, "timestamp": "2026-01-22T14:53:11Z", "turns": [
        {"turn_id": "t1", "role": "user", "text": "Which port is shallow?"},
        {"turn_id": "t2", "role": "assistant", "text": "Port Ellen is shallow at low tide."},
    ]});
    let file = environment.write("export.txt", format!("{document}\n"));
    let report = environment.yore(["ingest", "--source", "jsonl", "--json"]).arg(&file).run().success().json();
    assert_eq!(json!([report["files_read"], report["turns_added"], report["indexed"]]), json!([1, 2, 2]));
    let answer = environment.yore(["recall", "--json", "-p", "tide", "shallow port"]).run().success().json();
    assert_eq!(answer["results"][0]["session"], "tide/7");
    let again = environment.yore(["ingest", "--source", "jsonl"]).arg(&file).run().success();
    insta::assert_snapshot!(again.shown(), @"
    1 file: 0 read, 1 unchanged
    0 lines archived; 0 turns new, 0 completed
    ");
}

#[test]
fn verbose_ingestion_has_a_line_for_each_conversation() {
    let environment = TestEnvironment::new();
    let harbor = Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.");
    harbor.write(&environment.projects());
    Transcript::new(QUARRY, "/home/dev/quarry").human("hello").write(&environment.projects());
    let told = |lines: &str| lines.lines().map(str::to_owned).collect::<Vec<_>>();
    let first = told(&environment.yore(["ingest", "--verbose"]).run().success().stderr);
    assert!(first[0].starts_with("2 files to read, "), "{first:?}");
    let ends_with = |end: &str| first.iter().filter(|line| line.starts_with("Claude Code: ") && line.ends_with(end)).count();
    assert_eq!((ends_with(&format!("{HARBOR}.jsonl: 2 new turns")), ends_with(&format!("{QUARRY}.jsonl: 1 new turn"))), (1, 1));
    harbor.human("and again").write(&environment.projects());
    let second = told(&environment.yore(["ingest", "-v"]).run().success().stderr);
    assert_eq!(second.len(), 2, "{second:?}");
    assert!(second[1].ends_with(": 1 new turn"), "{second:?}");
}

#[test]
fn dry_run_of_an_ingestion_writes_nothing() {
    let environment = TestEnvironment::new();
    Transcript::new(HARBOR, "/home/dev/harbor").human("hello").assistant("Hello.").write(&environment.projects());
    let outcome = environment.yore(["ingest", "--dry-run"]).run().success();
    insta::assert_snapshot!(outcome.shown(), @"would read 1 file of [size]");
    assert!(!environment.data().exists(), "not even the data directory");
    environment.yore(["ingest"]).run().success();
    let before = fs::read(environment.database()).unwrap();
    Transcript::new(QUARRY, "/home/dev/quarry").human("hello").assistant("Hello.").write(&environment.projects());
    let report = environment.yore(["ingest", "--dry-run", "--json"]).run().success().json();
    assert_eq!(json!([report["dry_run"], report["files"], report["lines"]]), json!([true, 2, 0]));
    assert!(before == fs::read(environment.database()).unwrap());
}

#[test]
fn ingestion_of_a_missing_path_is_a_mistake() {
    let environment = TestEnvironment::new();
    insta::assert_snapshot!(environment.yore(["ingest", "no/such/place"]).run().shown(), @"
    --- standard error
    error: no/such/place does not exist [usage]
    --- exit code Some(2)
    ");
    environment.yore(["ingest", "--source", "gopher", "."]).run().ends_with(2);
    assert!(!environment.data().exists());
}

#[test]
fn copied_home_directory_gives_each_agents_histories_and_no_settings() {
    let environment = TestEnvironment::new();
    let step = json!({"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "status": "DONE", "content": "how deep is the lock"});
    environment.write("backup/.gemini/antigravity/brain/c-1/.system_generated/logs/transcript.jsonl", format!("{step}\n"));
    let event = json!({"type": "user.message", "id": "e1", "data": {"content": "how wide is the basin"}});
    environment.write("backup/.copilot/session-state/c0ffee/events.jsonl", format!("{event}\n"));
    environment.write("backup/.copilot/config.json", "{\"secret plans\": 1}");
    environment.write("backup/notes/plan.md", "# Piers\n\nThe pier is two metres high.\n");
    let backup = environment.write("backup/README.md", "# A copy of my home\n").parent().unwrap().to_path_buf();
    let report = environment.yore(["ingest", "--json"]).arg(&backup).run().success().json();
    let kinds: Vec<&str> = report["sources"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(kinds, ["antigravity", "copilot-cli", "file"]);
    assert_eq!(report["turns_added"], 4);
}

#[test]
fn named_place_without_histories_is_told_with_its_reason() {
    let environment = TestEnvironment::new();
    let empty = environment.write("nothing/there.txt", "words").parent().unwrap().to_path_buf();
    let outcome = environment.yore(["ingest", "--source", "zed"]).arg(&empty).run().ends_with(1);
    assert!(outcome.stderr.contains("contains nothing that yore reads as Zed; it looks like file"), "{}", outcome.stderr);
    // A folder one level too high is found.
    let event = json!({"type": "user.message", "id": "e1", "data": {"content": "how wide is the basin"}});
    environment.write("copy/.copilot/session-state/c0ffee/events.jsonl", format!("{event}\n"));
    let copy = environment.write("copy/x.txt", "x").parent().unwrap().to_path_buf();
    let report = environment.yore(["ingest", "--json", "--source", "copilot-cli"]).arg(&copy).run().success().json();
    assert_eq!(report["turns_added"], 1);
}

#[test]
fn account_of_an_export_is_no_document() {
    let environment = TestEnvironment::new();
    environment.write(
        "export/conversations.json",
        r#"[{"uuid":"u","name":"Tides","chat_messages":[{"uuid":"m","sender":"human","text":"when is low tide"}]}]"#,
    );
    let users = environment.write("export/users.json", r#"[{"full_name":"Ada Harbour","email_address":"ada@example.org"}]"#);
    let report = environment.yore(["ingest", "--json"]).arg(users.parent().unwrap()).run().success().json();
    assert_eq!((&report["files_read"], &report["turns_added"]), (&json!(1), &json!(1)));
    environment.yore(["ingest"]).arg(&users).run().ends_with(1);
    environment.yore(["ingest", "--source", "file"]).arg(users.parent().unwrap()).run().success();
    let found = environment.yore(["recall", "--all", "--json", "Ada Harbour"]).run();
    assert!(!found.stdout.contains("example.org"), "{}", found.stdout);
}
