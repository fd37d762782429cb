//! OpenCode's database and its older files.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use yore_core::episode::EpisodeKind;
use yore_engine::Severity;
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

fn database(memory: &Memory) -> (PathBuf, Connection) {
    database_at(memory, "opencode/opencode.db")
}

fn database_at(memory: &Memory, path: &str) -> (PathBuf, Connection) {
    let path = memory.write(path, "");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT);
             CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
                 version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
             CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);",
        )
        .unwrap();
    (path, connection)
}

fn session(connection: &Connection, id: &str, parent: Option<&str>, title: &str) {
    connection
        .execute(
            "INSERT INTO session (id, project_id, parent_id, directory, title, version, time_created, time_updated)
             VALUES (?1, 'p', ?2, '/home/ada/tides', ?3, '1.2.4', 1772000000000, 1772000000000)",
            params![id, parent, title],
        )
        .unwrap();
}

fn message(connection: &Connection, session: &str, id: &str, data: &Value, parts: &[Value]) {
    connection
        .execute("INSERT INTO message VALUES (?1, ?2, 1772000000000, 1772000000000, ?3)", params![id, session, data.to_string()])
        .unwrap();
    for (at, data) in parts.iter().enumerate() {
        connection
            .execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, 1772000000000, 1772000000000, ?4)",
                params![format!("prt_{id}_{at}"), id, session, data.to_string()],
            )
            .unwrap();
    }
}

fn user(at: i64) -> Value {
    json!({"role": "user", "time": {"created": 1_772_000_000_000_i64 + at}, "agent": "build"})
}

fn assistant(at: i64) -> Value {
    json!({
        "role": "assistant",
        "time": {"created": 1_772_000_000_000_i64 + at, "completed": 1_772_000_000_500_i64 + at},
        "modelID": "harbour-2",
        "providerID": "quay",
        "path": {"cwd": "/home/ada/tides", "root": "/home/ada/tides"},
        "tokens": {"input": 1, "output": 2},
    })
}

fn tool(status: &str, output: &str) -> Value {
    json!({"type": "tool", "tool": "read", "callID": "call_1", "state": {
        "status": status, "input": {"filePath": "src/tide.rs"}, "output": output, "title": "src/tide.rs",
        "metadata": {"preview": "whole files stand here"}, "time": {"start": 1, "end": 2},
    }})
}

fn harbour(connection: &Connection) {
    session(connection, "ses_1", None, "Fix the tide table");
    message(
        connection,
        "ses_1",
        "msg_1",
        &user(0),
        &[
            json!({"type": "text", "text": "The table is an hour late."}),
            json!({"type": "text", "text": "Called the read tool with the following input", "synthetic": true}),
            json!({"type": "file", "mime": "text/plain", "filename": "tide.rs", "url": "file:///home/ada/tides/src/tide.rs"}),
        ],
    );
    message(
        connection,
        "ses_1",
        "msg_2",
        &assistant(1000),
        &[
            json!({"type": "step-start"}),
            json!({"type": "reasoning", "text": "summer time"}),
            json!({"type": "text", "text": "I look at the table."}),
            tool("completed", "let offset = 1;"),
            json!({"type": "patch", "hash": "abc", "files": ["/home/ada/tides/src/tide.rs"]}),
            json!({"type": "sonar", "ping": 1}),
        ],
    );
    message(
        connection,
        "ses_1",
        "msg_3",
        &json!({"role": "assistant", "time": {"created": 1_772_000_002_000_i64}, "error": {"name": "APIError", "data": {"message": "overloaded"}}}),
        &[],
    );
    message(
        connection,
        "ses_1",
        "msg_4",
        &json!({"role": "assistant", "summary": true, "time": {"created": 1_772_000_003_000_i64}}),
        &[json!({"type": "text", "text": "An offset was wrong."})],
    );
    session(connection, "ses_2", Some("ses_1"), "Child session - 2026");
    message(connection, "ses_2", "msg_5", &user(1500), &[json!({"type": "text", "text": "Find every offset."})]);
    session(connection, "ses_3", None, "New session - 2026");
}

#[test]
fn parts_of_messages_become_turns() {
    let memory = Memory::new();
    let (_, connection) = database(&memory);
    harbour(&connection);
    drop(connection);
    let root = memory.sources().join("opencode");
    let report = memory.read_as("opencode", &root);
    assert_eq!(
        told(&memory, "ses_1"),
        [
            "human exact: The table is an hour late.",
            "injected exact: Called the read tool with the following input",
            "assistant exact: I look at the table.> read / filePath: src/tide.rs",
            "tool_result exact: > let offset = 1;",
            "system! exact: overloaded",
            "summary exact: An offset was wrong.",
        ]
    );
    // What an agent tells its helper is nobody's word.
    assert_eq!(told(&memory, "ses_2"), ["injected exact: Find every offset."]);
    assert_eq!(skipped(&report), ["unknown-part sonar 1"]);
    let episodes = memory.episodes();
    let kind = |id: &str| episodes.iter().find(|episode| episode.native_id == id).map(|episode| episode.kind);
    assert_eq!((kind("ses_1"), kind("ses_2"), kind("ses_3")), (Some(EpisodeKind::Session), Some(EpisodeKind::Subagent), None));
    assert!(memory.words().contains("opencode | ses_2 | ses_1 |"));
    let turns = memory.turns("ses_1");
    assert_eq!(turns[0].title.as_deref(), Some("Fix the tide table"));
    assert_eq!(turns[2].model.as_deref(), Some("harbour-2"));
    assert_eq!(turns[0].project.as_deref(), Some("tides"));
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn database_is_opened_again_only_when_it_changed() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    harbour(&connection);
    let root = memory.sources().join("opencode");
    assert_eq!(memory.read_as("opencode", &root).files_read, 3);
    let report = memory.read_as("opencode", &root);
    assert_eq!((report.files, report.files_unchanged), (1, 1), "only the database itself is looked at");
    message(&connection, "ses_1", "msg_6", &assistant(9000), &[tool("running", "")]);
    connection.execute("UPDATE session SET time_updated = 1772000009000 WHERE id = 'ses_1'", []).unwrap();
    touch(&path);
    let report = memory.read_as("opencode", &root);
    assert_eq!((report.files_unchanged, report.files_read, report.turns_added), (1, 2, 1));
    assert_eq!(told(&memory, "ses_1").last().unwrap(), "tool_call exact: > read / filePath: src/tide.rs");
    // The call ends: its answer is added, nothing is said twice.
    connection
        .execute(
            "UPDATE part SET data = ?1, time_updated = 1772000010000 WHERE message_id = 'msg_6'",
            [tool("error", "").to_string()],
        )
        .unwrap();
    touch(&path);
    let report = memory.read_as("opencode", &root);
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
    assert!(memory.turns("ses_1").last().unwrap().is_error);
}

/// File systems with coarse times must not hide a change from the test.
#[test]
fn kilos_command_line_keeps_its_sessions_in_a_database_of_the_same_kind() {
    let memory = Memory::new();
    let (_, connection) = database_at(&memory, "kilo/kilo.db");
    harbour(&connection);
    drop(connection);
    memory.read_as("kilo-cli", &memory.sources().join("kilo"));
    let turns = memory.turns("ses_1");
    assert_eq!((turns[0].agent.as_str(), turns[0].text.as_str()), ("kilo-cli", "The table is an hour late."));
    assert_eq!(words_from_archive(&memory), memory.words());
}

#[test]
fn database_whose_log_is_not_merged_yet_is_archived_in_full() {
    let memory = Memory::new();
    let (_, connection) = database(&memory);
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    harbour(&connection);
    memory.read_as("opencode", &memory.sources().join("opencode"));
    let findings = memory.engine().examine(false).unwrap();
    let sources = findings.iter().find(|finding| finding.code == "archive-sources").unwrap();
    assert_eq!(sources.severity, Severity::Fine, "{}", sources.text);
    drop(connection);
}

#[test]
fn prompt_of_the_command_line_stands_without_the_quotation_marks_that_it_gets() {
    let memory = Memory::new();
    let (_, connection) = database(&memory);
    session(&connection, "ses_1", None, "Fix the tide table");
    for (at, text) in ["\"why is the table late?\"", "\"tide\" or \"tides\"?", "\"late\""].into_iter().enumerate() {
        message(&connection, "ses_1", &format!("msg_{at}"), &user(at as i64), &[json!({"type": "text", "text": text})]);
    }
    drop(connection);
    memory.read_as("opencode", &memory.sources().join("opencode"));
    let said: Vec<String> = memory.turns("ses_1").into_iter().map(|turn| turn.text).collect();
    assert_eq!(said, ["why is the table late?", "\"tide\" or \"tides\"?", "\"late\""]);
}

fn touch(path: &Path) {
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(later).unwrap();
}

#[test]
fn undone_messages_are_counted_and_not_told() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    harbour(&connection);
    connection
        .execute(
            "UPDATE session SET revert = ?1 WHERE id = 'ses_1'",
            [json!({"messageID": "msg_2", "partID": "prt_msg_2_3"}).to_string()],
        )
        .unwrap();
    let report = memory.read_as("opencode", &path);
    assert_eq!(
        told(&memory, "ses_1"),
        [
            "human exact: The table is an hour late.",
            "injected exact: Called the read tool with the following input",
            "assistant exact: I look at the table.",
        ]
    );
    assert_eq!(skipped(&report), ["undone  2", "undone part 3"]);
}

fn tree(memory: &Memory, text: &str) {
    let write = |name: &str, value: Value| memory.write(&format!("opencode/storage/{name}"), value.to_string());
    write(
        "session/p/ses_1.json",
        json!({"id": "ses_1", "projectID": "p", "directory": "/home/ada/tides", "title": "Fix the tide table", "version": "0.9",
            "time": {"created": 1_772_000_000_000_i64, "updated": 1_772_000_000_000_i64}}),
    );
    let mut message = user(0);
    message["id"] = "msg_1".into();
    message["sessionID"] = "ses_1".into();
    write("message/ses_1/msg_1.json", message);
    write(
        "part/msg_1/prt_msg_1_0.json",
        json!({"id": "prt_msg_1_0", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": text}),
    );
    memory.write("opencode/storage/message/ses_1/msg_2.json", "{ damaged");
    memory.write("opencode/auth.json", "{}");
}

#[test]
fn older_files_are_read_until_the_database_holds_their_session() {
    let memory = Memory::new();
    tree(&memory, "The table is an hour late.");
    let root = memory.sources().join("opencode");
    assert_eq!(memory.read_as("opencode", &root).turns_added, 1);
    assert_eq!(told(&memory, "ses_1"), ["human exact: The table is an hour late."]);
    let (_, connection) = database(&memory);
    harbour(&connection);
    drop(connection);
    // The files are stale now, and would be read before the database by their age.
    tree(&memory, "A stale wording.");
    for _ in 0..2 {
        memory.read_as("opencode", &root);
        assert_eq!(told(&memory, "ses_1").len(), 6);
        assert_eq!(told(&memory, "ses_1")[0], "human exact: The table is an hour late.");
    }
}

#[test]
fn oldest_files_keep_parts_in_the_message() {
    let memory = Memory::new();
    let write = |name: &str, value: Value| {
        memory.write(&format!("opencode/project/home-ada-tides/storage/session/{name}"), value.to_string())
    };
    write("info/ses_9.json", json!({"id": "ses_9", "title": "Old buoys", "time": {"created": 1_750_000_000_000_i64}}));
    write(
        "message/ses_9/msg_1.json",
        json!({"id": "msg_1", "role": "assistant", "parts": [
                {"type": "text", "text": "Three buoys."},
                {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "c", "toolName": "grep", "args": {"pattern": "buoy"}, "result": "3 hits"}},
            ],
            "metadata": {"time": {"created": 1_750_000_001_000_i64}, "assistant": {"modelID": "quay-1", "path": {"cwd": "/home/ada/tides"}}}}),
    );
    memory.read_as("opencode", &memory.sources().join("opencode"));
    assert_eq!(told(&memory, "ses_9"), ["assistant exact: Three buoys.> grep / pattern: buoy", "tool_result exact: > 3 hits"]);
    assert_eq!(memory.turns("ses_9")[0].cwd.as_deref(), Some("/home/ada/tides"));
}

#[test]
fn databases_of_another_shape_are_reported_and_not_closed() {
    let memory = Memory::new();
    let path = memory.write("opencode/opencode.db", "");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE session (id TEXT); CREATE TABLE message (id TEXT);").unwrap();
    for _ in 0..2 {
        let report = try_read(&memory, "opencode", &memory.sources().join("opencode"));
        assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
        assert!(report.failures[0].1.contains("not as this yore knows it"), "{:?}", report.failures);
    }
}

#[test]
fn columns_that_a_version_lacks_are_done_without() {
    let memory = Memory::new();
    let path = memory.write("opencode/opencode-dev.db", "");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE session (id TEXT, directory TEXT);
             CREATE TABLE message (id TEXT, session_id TEXT, time_updated INTEGER, data BLOB);
             CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT);
             INSERT INTO session VALUES ('s', NULL);
             INSERT INTO message VALUES ('m', 's', 1, CAST('{\"role\":\"user\"}' AS BLOB)), ('n', 's', NULL, 'no json'), (NULL, 's', 1, NULL);
             INSERT INTO part VALUES ('a', 'm', 's', 1, '{\"type\":\"text\",\"text\":\"hello quay\"}'), ('b', 'm', 's', 1, '[]'), ('c', 'gone', 's', 1, '{}');",
        )
        .unwrap();
    drop(connection);
    let report = memory.read_as("opencode", &memory.sources().join("opencode"));
    assert_eq!(told(&memory, "s"), ["human none: hello quay"]);
    assert_eq!(skipped(&report), ["unknown-part  1", "unknown-role  1"]);
}
