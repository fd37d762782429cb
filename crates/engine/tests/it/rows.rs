//! Databases with a row for each session and for each message: goose, Hermes, Crush. Made from their
//! descriptions and schemas.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use yore_core::episode::{Caveat, EpisodeKind};
use yore_sources::source::kind_of_database;
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

const GOOSE: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, working_dir TEXT, parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT)";
const HERMES: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, parent_session_id TEXT, model_config TEXT, started_at REAL, title TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, observed INTEGER DEFAULT 0, _compressed_summary INTEGER DEFAULT 0, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0, display_kind TEXT)";
const CRUSH: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, created_at INTEGER);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, updated_at INTEGER, is_summary_message INTEGER DEFAULT 0)";

fn database(memory: &Memory, name: &str, schema: &str) -> (PathBuf, Connection) {
    let path = memory.write(name, "");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(schema).unwrap();
    (path, connection)
}

fn goose_message(connection: &Connection, session: &str, role: &str, content: Value, at: i64, metadata: Option<Value>) {
    let metadata = metadata.map(|metadata| metadata.to_string());
    connection
        .execute(
            "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![session, role, content.to_string(), at, metadata],
        )
        .unwrap();
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn goose_tells_who_typed_and_what_tools_answered() {
    let memory = Memory::new();
    let (_, connection) = database(&memory, "sessions.db", GOOSE);
    for (id, kind, parent) in
        [("s", "user", None), ("child", "sub_agent", Some("s")), ("timer", "scheduled", None), ("new", "harbour_walk", None)]
    {
        connection
            .execute("INSERT INTO sessions VALUES (?1, 'Lock gates', ?2, '/home/ada/canal', ?3)", params![id, kind, parent])
            .unwrap();
        goose_message(&connection, id, "user", text("How many locks?"), 1_772_359_200, None);
    }
    let call = json!({"type": "toolRequest", "id": "t1", "toolCall": {"status": "success", "value": {"name": "text_editor", "arguments": {"path": "gate.rs"}}}});
    let wrong_call = json!({"type": "toolRequest", "id": "t2", "toolCall": {"status": "error", "error": "-32602: no such tool"}});
    goose_message(
        &connection,
        "s",
        "assistant",
        json!([{"type": "thinking", "thinking": "hm"}, call, wrong_call]),
        1_772_359_201,
        None,
    );
    let result = json!({"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": [{"type": "text", "text": "fn gate() {}"}]}});
    goose_message(&connection, "s", "user", json!([result]), 1_772_359_202, None);
    let failed = json!({"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "stuck"}], "structuredContent": {"exit_code": 2}}}});
    goose_message(&connection, "s", "user", json!([failed]), 1_772_359_203, None);
    let hidden = json!({"userVisible": false, "agentVisible": true});
    goose_message(&connection, "s", "user", text("A summary: five locks."), 1_772_359_204, Some(hidden));
    goose_message(&connection, "s", "pilot", text("?"), 1_772_359_205, None);
    goose_message(
        &connection,
        "s",
        "assistant",
        json!([{"type": "fog"}, {"type": "text", "text": "Five."}]),
        1_772_359_205,
        None,
    );
    connection
        .execute("INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s', 'user', 'torn [', 1)", [])
        .unwrap();
    drop(connection);
    let report = memory.read_as("goose", &memory.sources());
    assert_eq!(
        told(&memory, "s"),
        [
            "human exact: How many locks?",
            "tool_call exact: > text_editor / path: gate.rs",
            "tool_result! exact: > -32602: no such tool",
            "tool_result exact: > fn gate() {}",
            "tool_result! exact: > stuck",
            "injected exact: A summary: five locks.",
            "assistant exact: Five.",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-block fog 1", "unknown-role pilot 1", "wrong-shape content_json 1"]);
    for (id, role, caveat) in
        [("child", "injected", None), ("timer", "injected", None), ("new", "human", Some(Caveat::UnknownAuthor))]
    {
        let turn = &memory.turns(id)[0];
        assert_eq!((turn.role.as_str(), turn.caveat), (role, caveat), "{id}");
    }
    let episodes = memory.episodes();
    let child = episodes.iter().find(|episode| episode.native_id == "child").unwrap();
    assert_eq!((child.kind, child.cwd.as_deref()), (EpisodeKind::Subagent, Some("/home/ada/canal")));
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn goose_session_that_an_upgrade_moves_to_the_database_is_not_doubled() {
    let memory = Memory::new();
    let lines = [
        json!({"description": "Lock gates", "working_dir": "/home/ada/canal", "message_count": 2}),
        json!({"role": "user", "created": 1_772_359_200, "content": text("How many locks?")}),
        json!({"role": "user", "created": 1_772_359_200, "content": text("And bridges?")}),
        json!({"role": "assistant", "created": 1_772_359_200, "content": text("Five.")}),
    ];
    let written: String = lines.iter().map(|line| format!("{line}\n")).collect();
    memory.write("sessions/s.jsonl", written + "{\"role\": \"us");
    let report = memory.read_as("goose", &memory.sources());
    assert_eq!((report.turns_added, skipped(&report)), (3, vec!["cut-off last line 1".to_owned()]));
    let (_, connection) = database(&memory, "sessions/sessions.db", GOOSE);
    connection.execute("INSERT INTO sessions VALUES ('s', 'Lock gates', 'user', '/home/ada/canal', NULL)", []).unwrap();
    for line in &lines[1..] {
        goose_message(&connection, "s", line["role"].as_str().unwrap(), line["content"].clone(), 1_772_359_200, None);
    }
    goose_message(&connection, "s", "user", text("And weirs?"), 1_772_359_209, None);
    drop(connection);
    let report = memory.read_as("goose", &memory.sources());
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
    assert_eq!(memory.read_as("goose", &memory.sources()).turns_added, 0);
    assert_eq!(told(&memory, "s").len(), 4);
}

fn hermes_message(connection: &Connection, session: &str, role: &str, content: &str, at: f64, more: &[(&str, Value)]) {
    connection
        .execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, ?2, ?3, ?4)",
            params![session, role, content, at],
        )
        .unwrap();
    let row = connection.last_insert_rowid();
    for (column, value) in more {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        connection.execute(&format!("UPDATE messages SET {column} = ?1 WHERE id = ?2"), params![value, row]).unwrap();
    }
}

#[test]
fn hermes_keeps_summaries_other_peoples_words_and_what_was_taken_back_apart() {
    let memory = Memory::new();
    let (path, connection) = database(&memory, "state.db", HERMES);
    for (id, source, config) in [
        ("s", "cli", None),
        ("night", "cron", None),
        ("api", "api_server", None),
        ("helper", "cli", Some(r#"{"_delegate_from": "s"}"#)),
    ] {
        let parent = config.map(|_| "s");
        connection
            .execute("INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, 1772359200.0, NULL)", params![id, source, parent, config])
            .unwrap();
        hermes_message(&connection, id, "user", "Count the locks", 1_772_359_200.5, &[]);
    }
    let calls = json!([{"id": "t1", "function": {"name": "read_file", "arguments": "{\"path\":\"gate.rs\"}"}}, {"id": "t2", "function": {"name": "terminal", "arguments": "{}"}}]);
    hermes_message(&connection, "s", "assistant", "", 1_772_359_201.0, &[("tool_calls", calls)]);
    hermes_message(&connection, "s", "tool", "fn gate() {}", 1_772_359_202.0, &[("tool_call_id", json!("t1"))]);
    let answer = json!({"output": "", "error": "timed out"}).to_string();
    hermes_message(&connection, "s", "tool", &answer, 1_772_359_203.0, &[("tool_call_id", json!("t2"))]);
    hermes_message(&connection, "s", "user", "The tide is out", 1_772_359_204.0, &[("observed", json!(1))]);
    hermes_message(&connection, "s", "user", "Five locks were counted", 1_772_359_205.0, &[("_compressed_summary", json!(1))]);
    hermes_message(&connection, "s", "assistant", "[CONTEXT SUMMARY]: five locks", 1_772_359_206.0, &[]);
    hermes_message(&connection, "s", "user", "Paint it red", 1_772_359_207.0, &[("active", json!(0))]);
    hermes_message(&connection, "s", "user", "Paint it blue", 1_772_359_208.0, &[("active", json!(0)), ("compacted", json!(1))]);
    let picture = format!("data:image/png;base64,{}", "QUJD".repeat(2000));
    let parts = json!([{"type": "text", "text": "See this gate"}, {"type": "image_url", "image_url": {"url": picture}}]);
    hermes_message(&connection, "s", "user", &format!("\0json:{parts}"), 1_772_359_209.0, &[]);
    hermes_message(&connection, "s", "assistant", "I see", 1_772_359_210.0, &[("tool_calls", json!("torn {"))]);
    drop(connection);
    let report = memory.read_as("hermes", &memory.sources());
    assert_eq!(
        told(&memory, "s"),
        [
            "human exact: Count the locks",
            "tool_call exact: > read_file / path: gate.rs /  / terminal",
            "tool_result exact: > fn gate() {}",
            "tool_result! exact: > timed out",
            "injected exact: The tide is out",
            "summary exact: Five locks were counted",
            "summary exact: [CONTEXT SUMMARY]: five locks",
            "human exact: Paint it red (taken back)",
            "human exact: Paint it blue",
            "human exact: See this gate",
            "assistant exact: I see",
        ]
    );
    assert_eq!(skipped(&report), ["wrong-shape tool_calls 1"]);
    let turns = memory.turns("s");
    assert_eq!((turns[7].caveat, turns[8].caveat), (Some(Caveat::TakenBack), None));
    for (id, role, caveat) in
        [("night", "injected", None), ("api", "human", Some(Caveat::UnknownAuthor)), ("helper", "injected", None)]
    {
        let turn = &memory.turns(id)[0];
        assert_eq!((turn.role.as_str(), turn.caveat), (role, caveat), "{id}");
    }
    // A message that is taken back later is the same message.
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE messages SET active = 0 WHERE content = 'Paint it blue'", []).unwrap();
    connection.execute("UPDATE messages SET compacted = 0 WHERE content = 'Paint it blue'", []).unwrap();
    drop(connection);
    assert_eq!(memory.read_as("hermes", &memory.sources()).turns_added, 0);
    assert_eq!(memory.turns("s")[8].caveat, Some(Caveat::TakenBack));
}

#[test]
fn crush_session_has_its_project_its_side_conversations_and_its_failures() {
    let memory = Memory::new();
    let (_, connection) = database(&memory, "canal/.crush/crush.db", CRUSH);
    connection
        .execute("INSERT INTO sessions VALUES ('s', NULL, 'New Session', 1772359200), ('m2$$t1', 's', 'Look', 1772359200)", [])
        .unwrap();
    let part = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let put = |id: &str, session: &str, role: &str, parts: Value, is_summary: bool| {
        connection
            .execute(
                "INSERT INTO messages VALUES (?1, ?2, ?3, ?4, 'harbour-2', 1772359200, 1772359200, ?5)",
                params![id, session, role, parts.to_string(), is_summary],
            )
            .unwrap();
    };
    let said = |text: &str| part("text", json!({"text": text}));
    put(
        "m1",
        "s",
        "user",
        json!([said("How many locks?"), part("binary", json!({"Path": "map.txt", "MIMEType": "text/plain", "Data": "QUJD"}))]),
        false,
    );
    let call = json!({"id": "t1", "name": "edit", "input": "{\"file_path\":\"gate.rs\"}"});
    put("m2", "s", "assistant", json!([part("reasoning", json!({"thinking": "hm"})), part("tool_call", call)]), false);
    put(
        "m3",
        "s",
        "tool",
        json!([part("tool_result", json!({"tool_call_id": "t1", "content": "stuck\nExit code 2", "is_error": false}))]),
        false,
    );
    put("m4", "s", "user", json!([part("shell_command", json!({"command": "ls", "output": "gate.rs", "exit_code": 0}))]), false);
    put(
        "m5",
        "s",
        "assistant",
        json!([part("finish", json!({"reason": "error", "message": "overloaded", "details": "529"}))]),
        false,
    );
    put("m6", "s", "assistant", json!([said("Five locks so far")]), true);
    put("m7", "s", "user", json!([part("text", json!({"text": "Go on", "hidden": true})), part("sail", json!({}))]), false);
    put("m8", "m2$$t1", "user", json!([said("Look at the gates")]), false);
    connection
        .execute("INSERT INTO messages (id, session_id, role, parts, created_at) VALUES ('m9', 's', 'user', '{', 0)", [])
        .unwrap();
    drop(connection);
    let report = memory.read_as("crush", &memory.sources().join("canal"));
    assert_eq!(
        told(&memory, "s"),
        [
            "human exact: How many locks?",
            "tool_call exact: > edit / file_path: gate.rs",
            "tool_result! exact: > stuck / Exit code 2",
            "system exact: > $ ls / gate.rs",
            "system! exact: overloaded /  / 529",
            "summary exact: Five locks so far",
            "injected exact: Go on",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-part sail 1", "wrong-shape parts 1"]);
    assert_eq!(told(&memory, "m2$$t1"), ["injected exact: Look at the gates"]);
    let episodes = memory.episodes();
    let project = memory.sources().join("canal").canonicalize().unwrap();
    for episode in &episodes {
        assert_eq!(Path::new(episode.cwd.as_deref().unwrap()).canonicalize().unwrap(), project);
    }
}

/// Writes one message to each agent's database.
fn small_databases(memory: &Memory) -> [(&'static str, PathBuf); 3] {
    let (goose, connection) = database(memory, "goose/sessions.db", GOOSE);
    goose_message(&connection, "s", "user", text("Count"), 1_772_359_200, None);
    let (hermes, connection) = database(memory, "hermes/state.db", HERMES);
    hermes_message(&connection, "s", "user", "Count", 1_772_359_200.0, &[]);
    let (crush, connection) = database(memory, "crush/crush.db", CRUSH);
    let parts = json!([{"type": "text", "data": {"text": "Count"}}]).to_string();
    connection.execute("INSERT INTO messages VALUES ('m', 's', 'user', ?1, '', 1772359200, 1772359200, 0)", [parts]).unwrap();
    [("goose", goose), ("hermes", hermes), ("crush", crush)]
}

#[test]
fn databases_are_told_apart_by_their_columns() {
    let memory = Memory::new();
    for (kind, path) in small_databases(&memory) {
        assert_eq!(kind_of_database(&path), Some(kind));
        let copied = path.with_file_name("copied.backup");
        std::fs::copy(&path, &copied).unwrap();
        assert_eq!(kind_of_database(&copied), Some(kind));
    }
    let (other, _) = database(&memory, "other.db", "CREATE TABLE messages (id TEXT, session_id TEXT, body TEXT)");
    assert_eq!(kind_of_database(&other), None);
    assert_eq!(kind_of_database(&memory.write("text.db", "not a database")), None);
    for (name, key, kind) in [
        ("cursor.vscdb", "workbench.panel.aichat.view.aichat.chatdata", Some("cursor")),
        ("code.vscdb", "workbench.view.search", None),
    ] {
        let (path, connection) = database(&memory, name, "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)");
        connection.execute("INSERT INTO ItemTable VALUES (?1, '{}')", [key]).unwrap();
        assert_eq!(kind_of_database(&path), kind, "{name}");
    }
}

#[test]
fn missing_and_newer_columns_a_missing_session_and_a_busy_database_lose_nothing() {
    let memory = Memory::new();
    for (kind, path) in small_databases(&memory) {
        let connection = Connection::open(&path).unwrap();
        // None of these sessions has a row.
        connection.execute_batch("DROP TABLE sessions; ALTER TABLE messages ADD COLUMN tide TEXT DEFAULT 'low'").unwrap();
        connection.execute_batch("BEGIN EXCLUSIVE; UPDATE messages SET role = role").unwrap();
        let busy = try_read(&memory, kind, &path);
        assert_eq!((busy.turns_added, busy.failures.len()), (0, 0), "{kind}: {:?}", busy.failures);
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);
        let report = memory.read_as(kind, &path);
        assert_eq!((report.turns_added, skipped(&report)), (1, Vec::<String>::new()), "{kind}");
        assert_eq!(memory.read_as(kind, &path).files, 1, "{kind}: only the unit that closes the database");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("DROP TABLE messages; CREATE TABLE messages (id TEXT)").unwrap();
        drop(connection);
        let report = try_read(&memory, kind, &path);
        assert!(report.failures[0].1.contains("unsupported layout"), "{kind}: {:?}", report.failures);
    }
}
