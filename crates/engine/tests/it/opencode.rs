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
    // The task that an agent gives its helper was not written by a person.
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
    // The call ends: its result is added, nothing is stored twice.
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
    let findings = memory.engine().examine(None).unwrap();
    let sources = findings.iter().find(|finding| finding.code() == "archive-sources").unwrap();
    assert_eq!(sources.severity(), Severity::Fine, "{sources:?}");
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
fn undone_messages_are_kept_and_marked() {
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
            "assistant exact: I look at the table.> read / filePath: src/tide.rs (taken back)",
            "tool_result exact: > let offset = 1; (taken back)",
            "system! exact: overloaded (taken back)",
            "summary exact: An offset was wrong. (taken back)",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-part sonar 1"]);
    // What was undone by mistake is done again.
    connection.execute("UPDATE session SET revert = NULL, time_updated = time_updated + 1 WHERE id = 'ses_1'", []).unwrap();
    memory.read_as("opencode", &path);
    assert!(!told(&memory, "ses_1").iter().any(|line| line.contains("taken back")));
}

#[test]
fn session_across_the_day_when_ids_began_anew_is_told_in_order_and_undone_from_the_right_place() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    session(&connection, "ses_1", None, "Long evening");
    let said = |text: &str| [json!({"type": "text", "text": text})];
    message(&connection, "ses_1", "msg_fff1", &user(0), &said("first"));
    message(&connection, "ses_1", "msg_fff2", &assistant(1_000), &said("second"));
    message(&connection, "ses_1", "msg_0001", &user(2_000), &said("third"));
    message(&connection, "ses_1", "msg_0002", &assistant(3_000), &said("fourth"));
    memory.read_as("opencode", &path);
    let words = || memory.turns("ses_1").into_iter().map(|turn| turn.text).collect::<Vec<_>>();
    assert_eq!(words(), ["first", "second", "third", "fourth"]);
    connection
        .execute("UPDATE session SET revert = ?1, time_updated = 1772000009000", [json!({"messageID": "msg_0001"}).to_string()])
        .unwrap();
    memory.read_as("opencode", &path);
    let left: Vec<String> =
        memory.turns("ses_1").into_iter().filter(|turn| turn.caveat.is_some()).map(|turn| turn.text).collect();
    assert_eq!(left, ["third", "fourth"]);
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
    // The files are stale now. By their age they would be read before the database.
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
        assert!(report.failures[0].1.contains("has an unsupported layout"), "{:?}", report.failures);
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

/// Adds the tables of versions 2.x.
fn add_newer_tables(connection: &Connection) {
    connection
        .execute_batch(
            "CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, fork_session_id TEXT, slug TEXT,
                 directory TEXT, title TEXT, version TEXT, revert TEXT, model TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
                 time_updated INTEGER, data TEXT);",
        )
        .unwrap();
}

fn newer_session(connection: &Connection, id: &str, title: Option<&str>) {
    connection
        .execute(
            "INSERT INTO session_v2 (id, project_id, directory, title, version, time_created, time_updated)
             VALUES (?1, 'p', '/home/ada/tides', ?2, '2.0.12', 1787000000000, 1787000000000)",
            params![id, title],
        )
        .unwrap();
}

fn newer_message(connection: &Connection, session: &str, seq: i64, id: &str, kind: &str, mut data: Value) {
    let time = 1_787_000_000_000_i64 + seq * 1000;
    data["time"] = json!({"created": time});
    connection
        .execute(
            "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
            params![id, session, kind, seq, time, data.to_string()],
        )
        .unwrap();
}

fn newer_assistant(words: &str) -> Value {
    json!({"agent": "build", "model": {"id": "harbour-3", "providerID": "quay"}, "content": [{"type": "text", "text": words}]})
}

#[test]
fn messages_of_version_two_become_turns() {
    let memory = Memory::new();
    let path = memory.write("opencode/opencode.db", "");
    let connection = Connection::open(&path).unwrap();
    add_newer_tables(&connection);
    newer_session(&connection, "ses_9", Some("Raise the pier"));
    let mut seq = 0;
    let mut say = |kind: &str, data: Value| {
        seq += 1;
        newer_message(&connection, "ses_9", seq, &format!("msg_{seq}"), kind, data);
    };
    say("agent-switched", json!({"agent": "build"}));
    say("model-switched", json!({"model": {"id": "harbour-3", "providerID": "quay"}}));
    say("system", json!({"text": "Today is Monday."}));
    say(
        "user",
        json!({"text": "Is the pier high enough?", "files": [{"uri": "file:///home/ada/tides/pier.md", "mime": "text/plain", "name": "pier.md"}]}),
    );
    say(
        "assistant",
        json!({
            "agent": "build", "model": {"id": "harbour-3", "providerID": "quay"}, "snapshot": {"start": "a", "end": "b", "files": ["pier.md"]},
            "content": [
                {"type": "reasoning", "text": "springs are higher"},
                {"type": "text", "text": "I measure it."},
                {"type": "tool", "id": "call_1", "name": "shell", "state": {
                    "status": "completed", "input": {"command": "gauge --pier"},
                    "content": [{"type": "text", "text": "no such gauge"}], "metadata": {"exit": 3}}},
                {"type": "tool", "id": "call_2", "name": "read", "state": {
                    "status": "error", "input": {"filePath": "dock.md"}, "error": {"type": "unknown", "message": "File not found"}}},
                {"type": "tool", "id": "call_3", "name": "read", "state": {
                    "status": "completed", "input": {"filePath": "pier.md"}, "content": [{"type": "text", "text": "two metres"}]}},
            ],
        }),
    );
    say(
        "shell",
        json!({"shellID": "sh_1", "command": "tide now", "status": "exited", "exit": 0, "output": {"output": "1.9 m", "cursor": 5, "size": 5, "truncated": false}}),
    );
    say("location-switched", json!({"location": {"directory": "/home/ada/piers"}}));
    say(
        "compaction",
        json!({"status": "completed", "reason": "auto", "summary": "The pier stands two metres high.", "recent": "..."}),
    );
    say("compaction", json!({"status": "running", "reason": "auto", "summary": "The pi", "recent": ""}));
    say("sonar", json!({"ping": 1}));
    say("idle", json!({"outcome": "succeeded"}));
    drop(connection);
    let report = memory.read_as("opencode", &memory.sources().join("opencode"));
    assert_eq!(report.failures, []);
    assert_eq!(
        told(&memory, "ses_9"),
        [
            "injected exact: Today is Monday.",
            "human exact: Is the pier high enough?",
            "assistant exact: I measure it.> shell / command: gauge --pier /  / read / filePath: dock.md /  / read / filePath: pier.md",
            "tool_result! exact: > no such gauge",
            "tool_result! exact: > File not found",
            "tool_result exact: > two metres",
            "tool_call exact: > shell / command: tide now",
            "tool_result exact: > 1.9 m",
            "summary exact: The pier stands two metres high.",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-role sonar 1"]);
    let turns = memory.turns("ses_9");
    assert_eq!(turns[1].title.as_deref(), Some("Raise the pier"));
    assert_eq!(turns[2].model.as_deref(), Some("harbour-3"));
    assert_eq!(turns[1].project.as_deref(), Some("tides"));
    assert_eq!(words_from_archive(&memory), memory.words());
}

#[test]
fn upgraded_database_gives_each_message_once_wherever_it_stands() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    harbour(&connection);
    memory.read_as("opencode", &path);
    let before = memory.words();
    add_newer_tables(&connection);
    // Version 1.x records the choice of a model there, and no conversation.
    newer_message(&connection, "ses_2", 1, "msg_0", "model-switched", json!({"model": {"id": "harbour-3"}}));
    touch(&path);
    memory.read_as("opencode", &path);
    assert_eq!(memory.words(), before);
    // The upgrade copied the first prompt; then the user continued, first with version 2, then with version
    // 1.
    newer_session(&connection, "ses_1", Some("Fix the tide table"));
    let mut copied = json!({"text": "The table is an hour late."});
    copied["files"] = json!([]);
    newer_message(&connection, "ses_1", 1, "msg_1", "user", copied);
    connection
        .execute("UPDATE session_message SET data = json_set(data, '$.time.created', 1772000000000) WHERE id = 'msg_1'", [])
        .unwrap();
    newer_message(&connection, "ses_1", 2, "msg_7", "user", json!({"text": "And at spring tide?"}));
    newer_message(&connection, "ses_1", 3, "msg_8", "assistant", newer_assistant("Half an hour."));
    message(
        &connection,
        "ses_1",
        "msg_9",
        &json!({"role": "user", "time": {"created": 1_787_000_009_000_i64}}),
        &[json!({"type": "text", "text": "Then round it."})],
    );
    touch(&path);
    let report = memory.read_as("opencode", &path);
    assert_eq!((report.turns_added, report.failures.len()), (3, 0));
    let said = told(&memory, "ses_1");
    assert_eq!(said.iter().filter(|line| line.contains("an hour late")).count(), 1);
    assert_eq!(
        said[said.len() - 3..],
        ["human exact: And at spring tide?", "assistant exact: Half an hour.", "human exact: Then round it."]
    );
}

#[test]
fn database_of_a_newer_schema_is_named_and_the_known_part_is_read() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    harbour(&connection);
    connection.execute_batch("CREATE TABLE session_v3 (id TEXT PRIMARY KEY, body BLOB)").unwrap();
    let report = try_read(&memory, "opencode", &path);
    assert_eq!(memory.turns("ses_1").len(), 6);
    assert_eq!(report.failures.len(), 1);
    assert!(report.failures[0].1.contains("session_v3"), "{:?}", report.failures);
}

#[test]
fn exported_session_is_read_in_both_shapes_and_once_with_the_database() {
    let memory = Memory::new();
    let (path, connection) = database(&memory);
    harbour(&connection);
    memory.read_as("opencode", &path);
    let count = memory.turns("ses_1").len();
    let older = json!({
        "info": {"id": "ses_1", "directory": "/home/ada/tides", "title": "Fix the tide table", "version": "1.18.0", "time": {"created": 1_772_000_000_000_i64}},
        "messages": [
            {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1_772_000_000_000_i64}},
             "parts": [{"id": "prt_msg_1_0", "type": "text", "text": "The table is an hour late."}]},
            {"info": {"id": "msg_6", "sessionID": "ses_1", "role": "assistant", "modelID": "harbour-2", "time": {"created": 1_772_000_009_000_i64}},
             "parts": [{"id": "prt_msg_6_0", "type": "text", "text": "It is mended."}]},
        ],
    });
    let folder = memory.sources().join("saved");
    // Messages that older versions wrote to standard output are included.
    memory.write("saved/one.json", format!("Exporting session: ses_1{older}"));
    let newer = json!({
        "info": {"id": "ses_8", "location": {"directory": "/home/ada/piers"}, "title": "Piers", "time": {"created": 1_787_000_000_000_i64}},
        "messages": [
            {"id": "msg_a", "type": "user", "text": "How high is the pier?", "time": {"created": 1_787_000_000_000_i64}},
            {"id": "msg_b", "type": "assistant", "agent": "build", "model": {"id": "harbour-3", "providerID": "quay"},
             "content": [{"type": "text", "text": "Two metres."}], "time": {"created": 1_787_000_001_000_i64}},
        ],
    });
    memory.write("saved/two.json", newer.to_string());
    memory.write("saved/auth.json", r#"{"info": {"id": "ses_x"}, "messages": [], "key": "secret"}"#);
    let report = memory.read_as("opencode", &folder);
    assert_eq!((report.files, report.failures.len()), (2, 0));
    assert_eq!(memory.turns("ses_1").len(), count + 1);
    assert_eq!(told(&memory, "ses_8"), ["human exact: How high is the pier?", "assistant exact: Two metres."]);
    assert_eq!(memory.turns("ses_8")[0].project.as_deref(), Some("piers"));
}
