//! Cursor's databases of every age, its stores and transcripts. Global and window databases follow real ones;
//! `composerHeaders` and `store.db` are made from their description.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::{Value, json};
use yore_core::episode::EpisodeKind;
use yore_sources::source::{Computer, Cursor, Platform, Source};
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

const T0: i64 = 1_759_300_000_000;
const C1: &str = "11111111-aaaa-4bbb-8ccc-000000000001";

/// A home directory with a Cursor in it.
struct Home {
    memory: Memory,
    global: Connection,
}

impl Home {
    fn new() -> Self {
        let memory = Memory::new();
        let global = database(&memory, "home/.config/Cursor/User/globalStorage/state.vscdb");
        global.execute_batch("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)").unwrap();
        Self { memory, global }
    }

    fn root(&self) -> PathBuf {
        self.memory.sources().join("home")
    }

    fn path(&self) -> PathBuf {
        self.root().join(".config/Cursor/User/globalStorage/state.vscdb")
    }

    fn read(&self) -> yore_engine::ingest::IngestReport {
        self.memory.read_as("cursor", &self.root())
    }

    fn window(&self, id: &str, folder: &str) -> Connection {
        let storage = format!("home/.config/Cursor/User/workspaceStorage/{id}");
        self.memory.write(&format!("{storage}/workspace.json"), json!({ "folder": folder }).to_string());
        database(&self.memory, &format!("{storage}/state.vscdb"))
    }

    fn put(&self, key: &str, value: &str) {
        self.global.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", params![key, value]).unwrap();
    }

    /// Writes a conversation with heads and bubbles.
    fn composer(&self, id: &str, extra: &Value, bubbles: &[Value]) {
        let heads: Vec<Value> =
            bubbles.iter().map(|bubble| json!({"bubbleId": bubble["bubbleId"], "type": bubble["type"]})).collect();
        let mut composer = json!({
            "_v": 10, "composerId": id, "name": "Tide tables", "createdAt": T0, "lastUpdatedAt": T0 + 900_000,
            "fullConversationHeadersOnly": heads, "conversationMap": {}, "unifiedMode": "agent",
        });
        composer.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap_or_default());
        self.put(&format!("composerData:{id}"), &composer.to_string());
        for bubble in bubbles {
            self.put(&format!("bubbleId:{id}:{}", bubble["bubbleId"].as_str().unwrap()), &bubble.to_string());
        }
    }
}

fn database(memory: &Memory, name: &str) -> Connection {
    let connection = Connection::open(memory.write(name, "")).unwrap();
    connection.execute_batch("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)").unwrap();
    connection
}

fn item(connection: &Connection, key: &str, value: &Value) {
    connection.execute("INSERT INTO ItemTable VALUES (?1, ?2)", params![key, value.to_string()]).unwrap();
}

fn iso(at: i64) -> String {
    yore_core::time::format_utc(T0 + at)
}

fn user(id: &str, text: &str, at: i64) -> Value {
    json!({"_v": 3, "type": 1, "bubbleId": id, "text": text, "createdAt": iso(at), "toolFormerData": {"additionalData": {}}})
}

fn assistant(id: &str, text: &str, at: i64) -> Value {
    json!({"_v": 3, "type": 2, "bubbleId": id, "text": text, "createdAt": iso(at), "toolFormerData": {"additionalData": {}}})
}

#[test]
fn places_are_the_platforms_and_a_variable_moves_the_databases() {
    let none = |_: &str| None;
    let on = |platform, variable: &dyn Fn(&str) -> Option<String>| {
        let computer = Computer { platform, home: Path::new("/h"), variable };
        Cursor.places(&computer).iter().map(|path| path.to_str().unwrap().replace('\\', "/")).collect::<Vec<_>>()
    };
    assert_eq!(
        on(Platform::Xdg, &none),
        [
            "/h/.config/Cursor/User/globalStorage",
            "/h/.config/Cursor/User/workspaceStorage",
            "/h/.cursor/chats",
            "/h/.cursor/acp-sessions",
            "/h/.cursor/projects"
        ]
    );
    assert_eq!(on(Platform::Mac, &none)[0], "/h/Library/Application Support/Cursor/User/globalStorage");
    assert_eq!(on(Platform::Windows, &none)[0], "/h/AppData/Roaming/Cursor/User/globalStorage");
    let named = |name: &str| (name == "CURSOR_DATA_PATH").then(|| "/elsewhere".to_owned());
    assert_eq!(on(Platform::Xdg, &named)[..2], ["/elsewhere", "/h/.cursor/chats"]);
}

#[test]
fn heads_give_the_order_and_what_they_do_not_name_is_no_part_of_the_conversation() {
    let home = Home::new();
    home.composer(
        C1,
        &json!({"workspaceIdentifier": {"uri": {"fsPath": "/home/mira/tides"}}}),
        &[
            user("b-z", "when is low tide", 60_000),
            json!({"type": 2, "bubbleId": "b-think", "text": "", "thinking": {"text": "let me see"}, "createdAt": iso(61_000)}),
            assistant("b-a", "at four", 120_000),
            json!({"type": 2, "bubbleId": "b-gone", "text": "lost"}),
            json!({"type": 2, "bubbleId": "b-null", "text": "deleted"}),
            json!({"type": 2, "bubbleId": "b-torn", "text": "torn"}),
            json!({"type": 9, "bubbleId": "b-odd", "text": "odd"}),
        ],
    );
    home.put(&format!("bubbleId:{C1}:orphan"), &user("orphan", "an edit took this away", 5).to_string());
    // Keys with the same prefix belong to other conversations.
    home.put(&format!("bubbleId:{C1}x:b-z"), &user("b-z", "of another", 5).to_string());
    home.put(&format!("bubbleId:{C1}:b-torn"), "{\"type\":2,\"text\":\"to");
    home.global
        .execute_batch(&format!(
            "UPDATE cursorDiskKV SET value = NULL WHERE key = 'bubbleId:{C1}:b-null';
             DELETE FROM cursorDiskKV WHERE key = 'bubbleId:{C1}:b-gone';
             INSERT INTO cursorDiskKV VALUES (NULL, 'no key'), (NULL, NULL), ('composerData:deleted', NULL);
             INSERT INTO cursorDiskKV VALUES ('composerData:empty-state-1', '{{\"conversation\":[{{\"type\":1,\"text\":\"x\"}}]}}');
             INSERT INTO cursorDiskKV VALUES ('composerData:draft', '{{\"fullConversationHeadersOnly\":[],\"conversationMap\":{{}}}}');
             INSERT INTO cursorDiskKV VALUES ('composerData:torn', '{{\"conversation\":[');
             INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'not ours to read'), (NULL, NULL);"
        ))
        .unwrap();
    let report = home.read();
    assert_eq!(told(&home.memory, C1), ["human exact: when is low tide", "assistant exact: at four"]);
    assert_eq!(
        skipped(&report),
        [
            "deleted-bubble  1",
            "deleted-conversation  1",
            "missing-bubble  1",
            "orphan-bubble  1",
            "torn-json bubble 1",
            "torn-json composerData 1",
            "unknown-bubble 9 1",
        ]
    );
    let episodes = home.memory.episodes();
    assert_eq!(episodes.len(), 1);
    assert_eq!(episodes[0].title.as_deref(), Some("Tide tables"));
    assert_eq!(episodes[0].cwd.as_deref(), Some("/home/mira/tides"));
    let archived = home.memory.archive();
    let all: Vec<u8> = archived.iter().flat_map(|(_, _, bytes)| bytes.clone()).collect();
    let all = String::from_utf8_lossy(&all);
    assert!(all.contains("let me see") && all.contains("\"cwd_rule\":\"header\""));
    assert!(!all.contains("not ours") && !all.contains("took this away"));
    let before = home.memory.words();
    assert_eq!(words_from_archive(&home.memory), before);
}

#[test]
fn row_under_another_key_is_found_by_the_id_that_it_holds() {
    let home = Home::new();
    home.composer(C1, &json!({}), &[user("b1", "one", 1), assistant("store:v1:x", "two", 2), user("b3", "three", 3)]);
    home.global
        .execute(
            "UPDATE cursorDiskKV SET key = ?1 WHERE key = ?2",
            [format!("bubbleId:{C1}:elsewhere"), format!("bubbleId:{C1}:store:v1:x")],
        )
        .unwrap();
    let report = home.read();
    assert_eq!(told(&home.memory, C1), ["human exact: one", "assistant exact: two", "human exact: three"]);
    assert_eq!(skipped(&report), [""; 0]);
}

#[test]
fn tools_files_and_rich_text_are_read() {
    let home = Home::new();
    let tool = |id: &str, name: &str, status: &str, raw: &Value, result: &Value| {
        json!({"type": 2, "bubbleId": id, "text": "", "createdAt": iso(9), "capabilityType": 15, "toolFormerData": {
            "tool": 7, "name": name, "toolCallId": format!("call-{id}"), "status": status,
            "params": json!({"relativeWorkspacePath": "src/params.rs"}).to_string(), "rawArgs": raw.to_string(), "result": result.to_string()}})
    };
    let rich = json!({"root": {"children": [{"type": "paragraph", "children": [
        {"type": "text", "text": "mend "}, {"type": "mention", "mentionName": "tide.rs"}]}]}});
    home.composer(
        C1,
        &json!({}),
        &[
            json!({"type": 1, "bubbleId": "u", "text": "", "richText": rich.to_string(), "createdAt": iso(1),
                "context": {"fileSelections": [{"uri": {"fsPath": "/t/tide.rs", "scheme": "file"}}]},
                "relevantFiles": ["file:///t/with%20space.rs"]}),
            tool("read", "read_file", "completed", &json!({"target_file": "src/a.rs"}), &json!({"contents": "fn low() {}"})),
            tool("edit", "edit_file", "error", &json!({"target_file": "src/b.rs"}), &json!({"diff": {"chunks": ["bulk"]}})),
            tool(
                "run",
                "run_terminal_cmd",
                "completed",
                &json!({"command": "cargo test"}),
                &json!({"output": "1 failed", "exitCodeV2": 101}),
            ),
            tool("no", "run_terminal_cmd", "cancelled", &json!({"command": "rm -r x"}), &json!({})),
            json!({"type": 2, "bubbleId": "raw", "text": "", "createdAt": iso(10),
                "toolFormerData": {"name": "edit_file", "params": {"relativeWorkspacePath": "src/c.rs"}, "status": "running"}}),
        ],
    );
    home.read();
    assert_eq!(
        told(&home.memory, C1),
        [
            "human exact: mend tide.rs",
            "tool_call exact: > read_file / target_file: src/a.rs /  / fn low() {}",
            "tool_call! exact: > edit_file / target_file: src/b.rs",
            "tool_call! exact: > run_terminal_cmd / command: cargo test /  / 1 failed 101",
            "tool_call exact: > run_terminal_cmd / command: rm -r x",
            "tool_call exact: > edit_file / relativeWorkspacePath: src/c.rs",
        ]
    );
}

#[test]
fn times_come_from_the_bubble_its_timing_or_its_neighbours() {
    let home = Home::new();
    home.composer(
        C1,
        &json!({}),
        &[
            json!({"type": 1, "bubbleId": "1", "text": "first"}),
            json!({"type": 2, "bubbleId": "2", "text": "second", "timingInfo": {"clientRpcSendTime": 91234.5, "clientEndTime": T0 + 100_000}}),
            json!({"type": 1, "bubbleId": "3", "text": "third"}),
            json!({"type": 2, "bubbleId": "4", "text": "fourth", "createdAt": iso(200_000)}),
            json!({"type": 1, "bubbleId": "5", "text": "last"}),
        ],
    );
    home.composer("old", &json!({"createdAt": T0}), &[json!({"type": 1, "bubbleId": "1", "text": "no time anywhere"})]);
    home.read();
    let times: Vec<_> = home
        .memory
        .turns(C1)
        .iter()
        .map(|turn| (turn.text.clone(), turn.time.utc.unwrap() - T0, turn.time.quality.as_str()))
        .collect();
    let expected = [
        ("first", 50_000, "derived"),
        ("second", 100_000, "exact"),
        ("third", 150_000, "derived"),
        ("fourth", 200_000, "exact"),
        ("last", 200_000, "derived"),
    ];
    assert_eq!(times, expected.map(|(text, at, quality)| (text.to_owned(), at, quality)));
    assert_eq!(told(&home.memory, "old"), ["human session: no time anywhere"]);
}

#[test]
fn inline_conversations_of_both_databases_are_read_and_the_global_copy_wins() {
    let home = Home::new();
    let inline = |id: &str, text: &str| {
        json!({"composerId": id, "name": "Inline", "createdAt": T0, "status": "completed",
            "conversation": [{"type": 1, "bubbleId": format!("{id}-1"), "text": text}, {"type": 2, "bubbleId": format!("{id}-2"), "text": "done"}]})
    };
    home.put("composerData:early", &inline("early", "in the global one").to_string());
    home.put("composerData:moved", &inline("moved", "moved and went on").to_string());
    let mut mapped = inline("mapped", "x");
    mapped["conversationMap"] = json!({"m1": {"type": 1, "bubbleId": "m1", "text": "in a map"}});
    mapped["conversation"] = json!([]);
    home.put("composerData:mapped", &mapped.to_string());
    let window = home.window("w1", "file:///home/mira/harbour");
    item(
        &window,
        "composer.composerData",
        &json!({"allComposers": [inline("moved", "moved"), inline("stayed", "in the window"), {"composerId": "draft"}]}),
    );
    home.read();
    assert_eq!(told(&home.memory, "early"), ["human session: in the global one", "assistant session: done"]);
    assert_eq!(told(&home.memory, "moved"), ["human session: moved and went on", "assistant session: done"]);
    assert_eq!(told(&home.memory, "mapped"), ["human session: in a map"]);
    assert_eq!(told(&home.memory, "stayed"), ["human session: in the window", "assistant session: done"]);
    let stayed = home.memory.episodes().into_iter().find(|episode| episode.native_id == "stayed").unwrap();
    assert_eq!(stayed.cwd.as_deref(), Some("/home/mira/harbour"));
}

#[test]
fn chat_panel_is_dated_by_what_was_typed_and_deleted_chats_leave_their_prompts() {
    let home = Home::new();
    let window = home.window("w1", "file:///c%3A/code/harbour");
    item(
        &window,
        "workbench.panel.aichat.view.aichat.chatdata",
        &json!({"tabs": [
            {"tabId": "tab-1", "chatTitle": "Sea walls", "lastSendTime": T0 + 50_000, "bubbles": [
                {"type": "user", "messageType": 2, "id": "u1", "text": "how high is the wall", "initText": "{}"},
                {"type": "ai", "messageType": 3, "id": "a1", "rawText": "three metres", "modelType": "gpt-4",
                    "codeBlocks": [{"uri": {"path": "/c:/code/harbour/wall.rs"}}]},
                {"type": "user", "id": "u2", "text": "continue"}]},
            {"tabId": "tab-2", "bubbles": []}], "chatDataVersion": 0}),
    );
    item(
        &window,
        "aiService.generations",
        &json!([
            {"unixMs": T0 + 10_000, "generationUUID": "g1", "type": "chat", "textDescription": "how high is the wall "},
            {"unixMs": T0 + 11_000, "generationUUID": "g2", "type": "chat", "textDescription": "continue"},
            {"unixMs": T0 + 12_000, "generationUUID": "g3", "type": "chat", "textDescription": "continue"},
            {"unixMs": T0 - 90_000, "generationUUID": "g4", "type": "chat", "textDescription": "of a deleted chat"}]),
    );
    item(
        &window,
        "aiService.prompts",
        &json!([{"text": "continue", "commandType": 2}, {"text": "older still", "commandType": 2}]),
    );
    let report = home.read();
    assert_eq!(
        told(&home.memory, "tab-1"),
        ["human derived: how high is the wall", "assistant derived: three metres", "human derived: continue"]
    );
    assert_eq!(home.memory.turns("tab-1")[0].time.utc, Some(T0 + 10_000));
    assert_eq!(told(&home.memory, "typed/w1"), ["human exact: of a deleted chat"]);
    assert_eq!(skipped(&report), ["prompt-without-conversation  1"]);
    let episode = home.memory.episodes().into_iter().find(|episode| episode.native_id == "tab-1").unwrap();
    assert_eq!((episode.title.as_deref(), episode.cwd.as_deref()), (Some("Sea walls"), Some("C:\\code\\harbour")));
}

#[test]
fn six_rules_find_the_folder_and_the_archive_says_which() {
    let home = Home::new();
    let one = |id: &str| [user(&format!("{id}-b"), "a question", 1)];
    home.global
        .execute_batch("CREATE TABLE composerHeaders (composerId TEXT, workspaceId TEXT, isSubagent INTEGER, value TEXT)")
        .unwrap();
    let head = |id: &str, window: Option<&str>, is_subagent: bool, value: &Value| {
        home.global
            .execute("INSERT INTO composerHeaders VALUES (?1, ?2, ?3, ?4)", params![id, window, is_subagent, value.to_string()])
            .unwrap();
    };
    item(
        &home.global,
        "composer.composerHeaders",
        &json!({"allComposers": [{"composerId": "by-item", "workspaceIdentifier": {"id": "x", "uri": {"fsPath": "/w/item"}}}]}),
    );
    head("by-row", Some("w1"), false, &json!({"name": "Named in the list"}));
    head("side", None, true, &json!({"workspaceIdentifier": {"configPath": {"fsPath": "/w/multi/all.code-workspace"}}}));
    let window = home.window("w1", "file:///w/first");
    item(&window, "composer.composerData", &json!({"selectedComposerIds": ["by-list"], "hasMigratedComposerData": true}));
    let pane = "22222222-aaaa-4bbb-8ccc-000000000002";
    item(
        &window,
        "workbench.panel.composerChatViewPane.33333333-aaaa-4bbb-8ccc-000000000003",
        &json!({
        format!("workbench.panel.aichat.view.{pane}"): {"collapsed": false}}),
    );
    home.window("w2", "file:///w/first/inner");
    for id in ["by-item", "by-row", "side", "by-list", pane, "by-layout", "nowhere", "task-toolu_01"] {
        home.composer(id, &json!({"name": ""}), &one(id));
    }
    home.put(
        "messageRequestContext:by-layout:b",
        &json!({"projectLayouts": [json!({"rootPath": "/w/layout"}).to_string()]}).to_string(),
    );
    let mut files = user("f-b", "look", 1);
    files["relevantFiles"] = json!(["/w/first/inner/a.rs", "/w/first/inner/b.rs", "/w/firstborn/c.rs"]);
    home.composer("by-files", &json!({}), &[files]);
    home.read();
    let of = |id: &str| {
        let archived = home.memory.archive();
        let (_, _, bytes) = archived.iter().find(|(path, ..)| path.ends_with(&format!("#composer/{id}"))).unwrap();
        let header: Value = serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
        (header["cwd"].as_str().map(str::to_owned), header["cwd_rule"].as_str().unwrap().to_owned())
    };
    for (id, folder, rule) in [
        ("by-item", Some("/w/item"), "header"),
        ("by-row", Some("/w/first"), "header"),
        ("side", Some("/w/multi"), "header"),
        ("by-list", Some("/w/first"), "window-list"),
        (pane, Some("/w/first"), "window-pane"),
        ("by-layout", Some("/w/layout"), "project-layout"),
        ("by-files", Some("/w/first/inner"), "files"),
        ("nowhere", None, "unknown"),
    ] {
        assert_eq!(of(id), (folder.map(str::to_owned), rule.to_owned()), "{id}");
    }
    let episodes = home.memory.episodes();
    let episode = |id: &str| episodes.iter().find(|episode| episode.native_id == id).unwrap();
    assert_eq!(episode("by-row").title.as_deref(), Some("Named in the list"));
    assert_eq!(episode("side").kind, EpisodeKind::Subagent);
    assert_eq!(episode("task-toolu_01").kind, EpisodeKind::Subagent);
    assert_eq!(told(&home.memory, "side"), ["injected exact: a question"]);
}

#[test]
fn growing_conversation_gives_the_new_turns_and_an_unchanged_database_is_left_alone() {
    let home = Home::new();
    home.composer(C1, &json!({}), &[user("b1", "one", 1), assistant("b2", "tw", 2)]);
    home.composer("other", &json!({}), &[user("o1", "stays", 1)]);
    let first = home.read();
    assert_eq!((first.turns_added, first.files_unchanged), (3, 0));
    let again = home.read();
    // The whole database is one unit: its conversations are not even listed.
    assert_eq!((again.files, again.files_unchanged, again.turns_added), (1, 1, 0));
    home.put(&format!("bubbleId:{C1}:b2"), &assistant("b2", "two, and more", 2).to_string());
    let grown = home.read();
    assert_eq!((grown.turns_added, grown.turns_updated, grown.files_unchanged), (0, 1, 1));
    home.composer(C1, &json!({}), &[user("b1", "one", 1), assistant("b2", "two, and more", 2), user("b3", "three", 3)]);
    let longer = home.read();
    assert_eq!((longer.turns_added, longer.turns_updated), (1, 0));
    assert_eq!(told(&home.memory, C1), ["human exact: one", "assistant exact: two, and more", "human exact: three"]);
    assert_eq!(home.memory.turns("other").len(), 1);
}

/// Returns the name and bytes of every file of a folder, without the log's index, which readers share.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
        .map(|(name, path)| {
            let bytes = if name.ends_with("-shm") { Vec::new() } else { fs::read(path).unwrap() };
            (name, bytes)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn editor_that_writes_meanwhile_is_not_disturbed() {
    let home = Home::new();
    let writer = &home.global;
    writer.busy_timeout(Duration::ZERO).unwrap();
    writer.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    home.composer(C1, &json!({}), &[user("b1", "committed in the log", 1)]);
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    home.composer("unfinished", &json!({}), &[user("u1", "not yet", 1)]);
    let path = home.path();
    let folder = path.parent().unwrap();
    let before = content(folder);
    assert_eq!(before.len(), 3);
    home.read();
    assert_eq!(content(folder), before);
    assert_eq!(told(&home.memory, C1), ["human exact: committed in the log"]);
    assert!(home.memory.turns("unfinished").is_empty());
    writer.execute_batch("COMMIT").unwrap();
    let busy: i64 = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
    home.read();
    assert_eq!(home.memory.turns("unfinished").len(), 1);
    drop(home.global);
    assert_eq!(content(folder).into_iter().map(|file| file.0).collect::<Vec<_>>(), ["state.vscdb"]);
}

#[test]
fn database_that_cannot_be_listed_is_reported_and_looked_at_again() {
    let home = Home::new();
    let path = home.memory.write("home/.config/Cursor/User/workspaceStorage/w9/state.vscdb", vec![0xa5_u8; 4096]);
    home.composer(C1, &json!({}), &[user("b1", "still read", 1)]);
    let report = try_read(&home.memory, "cursor", &home.root());
    assert_eq!(report.failures.len(), 1);
    assert!(report.failures[0].1.contains("not a SQLite database"), "{:?}", report.failures);
    assert_eq!(home.memory.turns(C1).len(), 1);
    // A journal means that a change is unfinished; all of it is read later.
    fs::remove_file(&path).unwrap();
    let window = home.window("w9", "file:///w");
    item(
        &window,
        "composer.composerData",
        &json!({"allComposers": [{"composerId": "late", "createdAt": T0,
        "conversation": [{"type": 1, "bubbleId": "l1", "text": "late"}]}]}),
    );
    drop(window);
    let journal = home.memory.write("home/.config/Cursor/User/workspaceStorage/w9/state.vscdb-journal", [7; 600]);
    let report = home.read();
    assert_eq!((report.files_busy, home.memory.turns("late").len()), (1, 0));
    fs::remove_file(journal).unwrap();
    home.read();
    assert_eq!(home.memory.turns("late").len(), 1);
}

/// Makes a store with these messages, the last of them in a second tree.
fn store(path: &Path, id: &str, messages: &[Value]) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
        )
        .unwrap();
    let put = |data: &[u8]| {
        let hash = blake3::hash(data);
        connection.execute("INSERT OR IGNORE INTO blobs VALUES (?1, ?2)", params![hash.to_hex().as_str(), data]).unwrap();
        *hash.as_bytes()
    };
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8][..], bytes].concat();
    let (last, others) = messages.split_last().unwrap();
    let leaf = |message: &Value| put(message.to_string().as_bytes());
    let wrapped = {
        let text = last.to_string();
        let mut inner = vec![0x22];
        let mut length = text.len();
        while length > 127 {
            inner.push(length as u8 | 0x80);
            length >>= 7;
        }
        inner.push(length as u8);
        put(&[&inner[..], text.as_bytes()].concat())
    };
    let inner = put(&field(1, &wrapped));
    let mut tree: Vec<u8> = others.iter().flat_map(|message| field(1, &leaf(message))).collect();
    tree.extend(field(2, &inner));
    tree.extend(field(1, &[9; 32]));
    let root: String = put(&tree).iter().map(|byte| format!("{byte:02x}")).collect();
    let meta = json!({"agentId": id, "latestRootBlobId": root, "name": "Buoys", "createdAt": T0, "mode": "default"}).to_string();
    let meta: String = meta.bytes().map(|byte| format!("{byte:02x}")).collect();
    connection.execute("INSERT INTO meta VALUES ('0', ?1)", [meta]).unwrap();
}

#[test]
fn store_of_the_command_line_is_read_through_its_tree() {
    let home = Home::new();
    let path = home.memory.write("home/.cursor/chats/0123abcd/agent-1/store.db", "");
    home.memory.write(
        "home/.cursor/chats/0123abcd/agent-1/meta.json",
        json!({"schemaVersion": 1, "createdAtMs": T0, "cwd": "/home/mira/buoys"}).to_string(),
    );
    store(
        &path,
        "agent-1",
        &[
            json!({"role": "system", "content": "be brief"}),
            json!({"role": "user", "content": [{"type": "text", "text": "<user_info>\nOS: linux\n</user_info>"}]}),
            json!({"role": "user", "content": [{"type": "text", "text": "<user_query>\nlist the buoys\n</user_query>"}]}),
            json!({"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."},
                {"type": "tool-call", "toolCallId": "t1", "toolName": "Read", "args": {"path": "buoys.csv"}}]}),
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t1", "toolName": "Read", "result": "red, green"}]}),
            json!({"role": "user", "content": "<user_query>again</user_query>"}),
            json!({"role": "user", "content": "<user_query>again</user_query>"}),
            json!({"role": "assistant", "content": [{"type": "hologram"}, {"type": "text", "text": format!("two: {}", "red, green ".repeat(20))}]}),
        ],
    );
    let report = home.read();
    let turns = told(&home.memory, "agent-1");
    assert_eq!(
        turns[..7],
        [
            "system session: be brief",
            "injected session: <user_info> / OS: linux / </user_info>",
            "human session: list the buoys",
            "assistant session: I look.> Read / path: buoys.csv",
            "tool_result session: > red, green",
            "human session: again",
            "human session: again",
        ]
    );
    assert!(turns[7].starts_with("assistant session: two: red"));
    assert_eq!(skipped(&report), ["missing-blob  1", "unknown-part hologram 1"]);
    let episode = &home.memory.episodes()[0];
    assert_eq!((episode.title.as_deref(), episode.cwd.as_deref()), (Some("Buoys"), Some("/home/mira/buoys")));
    assert_eq!(content(path.parent().unwrap()).len(), 2);
}

#[test]
fn transcript_fills_gaps_and_a_fuller_copy_wins() {
    let home = Home::new();
    let line = |role: &str, text: &str| {
        json!({"role": role, "message": {"content": [{"type": "text", "text": text}]}}).to_string() + "\n"
    };
    let transcripts = "home/.cursor/projects/home-mira-tides/agent-transcripts";
    home.window("w1", "file:///home/mira/tides");
    home.composer(C1, &json!({}), &[user("b1", "in the database", 1)]);
    home.memory.write(&format!("{transcripts}/{C1}/{C1}.jsonl"), line("user", "<user_query>in the database</user_query>"));
    let only = format!("{transcripts}/only/only.jsonl");
    home.memory.write(
        &only,
        [
            line(
                "user",
                "<git_status>clean</git_status>\n<user_query>\nask <user_query>nested</user_query> twice\n</user_query>",
            ),
            "not json\n".to_owned(),
            line("assistant", "[REDACTED]"),
            json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "Editing.\n[REDACTED]"},
                {"type": "tool_use", "name": "Write", "input": {"path": "tide.rs"}}]}})
            .to_string()
                + "\n",
            json!({"type": "error", "error": "out of tokens"}).to_string() + "\n",
            json!({"type": "lantern"}).to_string() + "\n",
            "{\"role\": \"user\", \"mess".to_owned(),
        ]
        .concat(),
    );
    home.memory.write(&format!("{transcripts}/only/subagents/side.jsonl"), line("user", "count the buoys"));
    home.memory.write(
        &format!("{transcripts}/older.txt"),
        "user:\n<user_query>\nwhat is it\n</user_query>\n\nassistant:\n[Thinking] let me see\n\nA lamp.\n\n[Tool call] Read\n  path: lamp.md\n\n[Tool result] Read\nbright\n",
    );
    let report = home.read();
    assert_eq!(told(&home.memory, C1), ["human exact: in the database"]);
    assert_eq!(
        told(&home.memory, "only"),
        [
            "human session: ask <user_query>nested</user_query> twice",
            "assistant session: Editing.> Write / path: tide.rs",
            "system session: out of tokens"
        ]
    );
    assert_eq!(told(&home.memory, "side"), ["injected session: count the buoys"]);
    assert_eq!(
        told(&home.memory, "older"),
        ["human session: what is it", "assistant session: A lamp.> Read /   path: lamp.md /  / bright"]
    );
    assert_eq!(skipped(&report), ["torn-json line 1", "unknown-role lantern 1"]);
    let episodes = home.memory.episodes();
    let episode = |id: &str| episodes.iter().find(|episode| episode.native_id == id).unwrap();
    assert_eq!(episode("only").cwd.as_deref(), Some("/home/mira/tides"));
    assert_eq!(episode("side").kind, EpisodeKind::Subagent);
    // The transcript grows by the rest of the torn line and one more line.
    home.memory.append(&only, b"age\": {\"content\": \"and now\"}}\n");
    let grown = home.read();
    assert_eq!((grown.turns_added, home.memory.turns("only").len()), (1, 4));
    // Named alone, the folder also leads to the database of its home.
    let alone = home.memory.read_as("cursor", &home.root().join(".cursor/projects"));
    assert_eq!((alone.files, alone.turns_added), (3, 0));
}

#[test]
fn forgotten_conversation_stays_away() {
    let home = Home::new();
    home.composer(C1, &json!({}), &[user("b1", "a private matter", 1), assistant("b2", "indeed", 2)]);
    home.composer("kept", &json!({}), &[user("k1", "a public matter", 1)]);
    home.read();
    home.memory.forget_hard(C1);
    home.composer(C1, &json!({"name": "Grown"}), &[user("b1", "a private matter", 1), user("b3", "still private", 3)]);
    home.read();
    assert!(home.memory.turns(C1).is_empty());
    assert_eq!(home.memory.turns("kept").len(), 1);
}

#[test]
fn prompts_of_a_window_that_names_no_conversations_stand_once() {
    let home = Home::new();
    home.composer(C1, &json!({}), &[user("b1", "when is low tide", 1000), assistant("b2", "at four", 2000)]);
    let window = database(&home.memory, "home/.config/Cursor/User/workspaceStorage/empty-window/state.vscdb");
    item(
        &window,
        "aiService.generations",
        &json!([
            {"unixMs": T0 + 1000, "generationUUID": "g1", "type": "composer", "textDescription": "when is low tide"},
            // Older than any conversation that the global database still has.
            {"unixMs": T0 - 90_000_000, "generationUUID": "g0", "type": "chat", "textDescription": "what is a neap tide"},
        ]),
    );
    home.read();
    assert_eq!(told(&home.memory, C1), ["human exact: when is low tide", "assistant exact: at four"]);
    assert_eq!(told(&home.memory, "typed/empty-window"), ["human exact: what is a neap tide"]);
}

#[test]
fn answers_without_a_model_have_the_one_that_was_chosen_for_the_prompt_or_the_conversation() {
    let home = Home::new();
    let chosen = |mut bubble: Value, model: &str| {
        bubble["modelInfo"] = json!({"modelName": model});
        bubble
    };
    home.composer(
        C1,
        &json!({"_v": 16, "modelConfig": {"modelName": "harbour-1"}}),
        &[
            user("b1", "when is low tide", 1000),
            assistant("b2", "at four", 2000),
            chosen(user("b3", "and high tide", 3000), "harbour-2"),
            assistant("b4", "at ten", 4000),
            chosen(user("b5", "thanks", 5000), "default"),
            assistant("b6", "gladly", 6000),
        ],
    );
    home.read();
    let models: Vec<Option<String>> = home.memory.turns(C1).into_iter().map(|turn| turn.model).collect();
    let model = |name: &str| Some(name.to_owned());
    assert_eq!(models, [None, model("harbour-1"), None, model("harbour-2"), None, model("harbour-2")]);
}

#[test]
fn transcript_since_version_three_tells_the_time_of_each_prompt() {
    let memory = Memory::new();
    let line = |role: &str, text: &str| {
        json!({"role": role, "message": {"content": [{"type": "text", "text": text}]}}).to_string() + "\n"
    };
    memory.write(
        "home/.cursor/projects/home-mira-tides/agent-transcripts/late/late.jsonl",
        [
            line(
                "user",
                "<timestamp>Tuesday, Jul 7, 2026, 9:43 AM (UTC+5:30)</timestamp>\n<user_query>\nwhen is low tide\n</user_query>",
            ),
            line("assistant", "at four"),
            json!({"type": "turn_ended"}).to_string() + "\n",
            line(
                "user",
                "<timestamp>Tuesday, Jul 7, 2026, 9:45 AM (UTC+5:30)</timestamp>\n<user_query>\nand high tide\n</user_query>",
            ),
        ]
        .concat(),
    );
    let report = memory.read_as("cursor", &memory.sources().join("home"));
    assert_eq!(skipped(&report), Vec::<String>::new());
    let times: Vec<_> =
        memory.turns("late").iter().map(|turn| (turn.text.clone(), turn.time.utc.map(yore_core::time::format_utc))).collect();
    let at = |text: &str, time: &str| (text.to_owned(), Some(time.to_owned()));
    assert_eq!(
        times,
        [
            at("when is low tide", "2026-07-07T04:13:00.000Z"),
            at("at four", "2026-07-07T04:14:00.000Z"),
            at("and high tide", "2026-07-07T04:15:00.000Z")
        ]
    );
}

#[test]
fn store_without_facts_beside_it_names_the_folder_that_the_model_was_told_of() {
    let home = Home::new();
    for (id, info) in [
        ("agent-2", "OS Version: linux 6.1\nShell: bash\nWorkspace Path: /home/mira/buoys\n"),
        (
            "agent-3",
            "The user's OS version is linux 6.1. The absolute path of the user's workspace is /home/mira/buoys. The user's shell is bash.",
        ),
    ] {
        let path = home.memory.write(&format!("home/.cursor/chats/0123abcd/{id}/store.db"), "");
        store(
            &path,
            id,
            &[
                json!({"role": "user", "content": [{"type": "text", "text": format!("<user_info>\n{info}\n</user_info>")}]}),
                json!({"role": "user", "content": "<user_query>list the buoys</user_query>"}),
            ],
        );
        home.read();
        assert_eq!(home.memory.turns(id).last().unwrap().project.as_deref(), Some("buoys"), "{id}");
    }
}

#[test]
fn conversations_have_their_code_with_its_languages() {
    let home = Home::new();
    let code = "Like so:\n```rust\nfn tide() -> u8 { 4 }\n```\nand\n```sql\nSELECT 1;\n```";
    home.composer(C1, &json!({}), &[user("b1", "compute the tide", 1000), assistant("b2", code, 2000)]);
    home.read();
    home.memory.index();
    let engine = home.memory.engine();
    let sessions = engine.sessions(&yore_engine::SessionsRequest { has_code: true, ..Default::default() }).unwrap();
    let languages: Vec<Vec<String>> = sessions.into_iter().map(|session| engine.summary(session).unwrap().languages).collect();
    assert_eq!(languages, [["rust", "sql"]]);
}
