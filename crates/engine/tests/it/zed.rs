//! Zed's threads, made from their description; no real ones were available yet.

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use yore_core::episode::EpisodeKind;
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

fn thread(more: &[Value]) -> Value {
    let mut messages = vec![
        json!({"User": {"id": "0b0f6f4e-2a55-4d57-8d0e-0c3a50c1a001", "content": [
            {"Text": "Rename the lock gate."},
            {"Mention": {"uri": {"File": {"abs_path": "/home/ada/canal/src/gate.rs"}}, "content": "struct Gate;"}},
            {"Image": {"source": "aGFyYm91cg=="}},
        ]}}),
        json!({"Agent": {
            "content": [
                {"Thinking": {"text": "a sluice", "signature": "x"}},
                {"Text": "I rename it."},
                {"ToolUse": {"id": "t1", "name": "edit_file", "raw_input": "{}", "input": {"path": "canal/src/gate.rs"}, "is_input_complete": true}},
                {"Fog": 1},
            ],
            "tool_results": {"t1": {"tool_use_id": "t1", "tool_name": "edit_file", "is_error": false, "content": {"Text": "Edited."}, "output": null}},
        }}),
        json!("Resume"),
        json!({"Compaction": {"summary": "The gate is a sluice now."}}),
    ];
    messages.extend(more.iter().cloned());
    json!({"version": "0.3.0", "title": "Rename the gate", "messages": messages, "updated_at": "2026-03-01T10:00:00Z",
        "model": {"provider": "quay", "model": "harbour-2"},
        "initial_project_snapshot": {"worktree_snapshots": [{"worktree_path": "/home/ada/canal", "git_state": {"current_branch": "sluice"}}]}})
}

fn compressed(thread: &Value) -> Vec<u8> {
    zstd::encode_all(thread.to_string().as_bytes(), 3).unwrap()
}

#[test]
fn threads_of_today_and_before_become_turns() {
    let memory = Memory::new();
    let path = memory.write("threads/threads.db", "");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB, parent_id TEXT, folder_paths TEXT, created_at TEXT)",
        )
        .unwrap();
    let insert = |id: &str, updated: &str, kind: &str, data: Vec<u8>, parent: Option<&str>, folders: Option<&str>| {
        connection
            .execute(
                "INSERT OR REPLACE INTO threads VALUES (?1, 'Rename the gate', ?2, ?3, ?4, ?5, ?6, NULL)",
                params![id, updated, kind, data, parent, folders],
            )
            .unwrap();
    };
    insert("t-1", "2026-03-01T10:00:00Z", "zstd", compressed(&thread(&[])), None, Some("/home/ada/canal\n/home/ada/quay"));
    let old = json!({"version": "0.1.0", "summary": "Old locks", "messages": [
        {"id": 0, "role": "user", "segments": [{"type": "text", "text": "How many locks?"}], "tool_uses": [], "tool_results": [], "context": "locks.md"},
        {"id": 1, "role": "assistant", "segments": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Five."}],
            "tool_uses": [{"id": "u", "name": "grep", "input": {"regex": "lock"}}],
            "tool_results": [{"tool_use_id": "u", "is_error": true, "content": "no such directory"}]},
        {"id": 2, "role": "lock-keeper", "segments": []},
    ]});
    insert("t-2", "2025-06-01T10:00:00Z", "json", old.to_string().into_bytes(), None, None);
    insert("t-3", "2026-03-01T10:00:01Z", "zstd", compressed(&thread(&[])), Some("t-1"), None);
    insert("t-4", "2026-03-01T10:00:02Z", "zstd", compressed(&json!({"messages": []})), None, None);
    drop(connection);
    let report = memory.read_as("zed", &memory.sources());
    assert_eq!(
        told(&memory, "t-1"),
        [
            "human session: Rename the lock gate.> struct Gate;",
            "assistant session: I rename it.> edit_file / path: canal/src/gate.rs",
            "tool_result session: > Edited.",
            "summary session: The gate is a sluice now.",
        ]
    );
    assert_eq!(
        told(&memory, "t-2"),
        [
            "human session: How many locks?> locks.md",
            "assistant session: Five.> grep / regex: lock",
            "tool_result! session: > no such directory",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-block Fog 2", "unknown-role lock-keeper 1"]);
    let turns = memory.turns("t-1");
    assert_eq!(turns[0].title.as_deref(), Some("Rename the gate"));
    assert_eq!((turns[1].model.as_deref(), turns[1].branch.as_deref()), (Some("harbour-2"), Some("sluice")));
    let episodes = memory.episodes();
    let episode = |id: &str| episodes.iter().find(|episode| episode.native_id == id);
    assert_eq!(episode("t-1").unwrap().cwd.as_deref(), Some("/home/ada/canal"));
    assert_eq!(episode("t-3").unwrap().kind, EpisodeKind::Subagent);
    assert!(episode("t-4").is_none());
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn thread_that_grew_is_read_alone() {
    let memory = Memory::new();
    let path = memory.write("threads.db", "");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)")
        .unwrap();
    let put = |id: &str, updated: &str, data: Vec<u8>| {
        connection
            .execute("INSERT OR REPLACE INTO threads VALUES (?1, 'x', ?2, 'zstd', ?3)", params![id, updated, data])
            .unwrap();
    };
    put("t-1", "2026-03-01T10:00:00Z", compressed(&thread(&[])));
    put("t-2", "2026-03-01T10:00:00Z", b"\x28\xB5\x2F\xFDdamaged".to_vec());
    let report = try_read(&memory, "zed", &memory.sources());
    assert_eq!((report.turns_added, report.failures.len()), (4, 1), "{:?}", report.failures);
    put("t-2", "2026-03-02T10:00:00Z", compressed(&json!({"messages": [{"User": {"id": "u", "content": "short"}}]})));
    put("t-1", "2026-03-02T10:00:00Z", compressed(&thread(&[json!({"User": {"content": [{"Text": "And the bridge?"}]}})])));
    let report = memory.read_as("zed", &memory.sources());
    assert_eq!((report.turns_added, report.turns_updated), (2, 0));
    assert_eq!(told(&memory, "t-1").last().unwrap(), "human session: And the bridge?");
    assert_eq!(memory.read_as("zed", &memory.sources()).files, 1);
}
