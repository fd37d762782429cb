//! GitHub Copilot Chat's sessions, made from their description; no real logs were available yet.

use serde_json::{Value, json};
use yore_testing::Memory;

use crate::told::{skipped, told, words_from_archive};

fn request() -> Value {
    json!({
        "requestId": "request_1",
        "timestamp": 1_775_000_000_000_i64,
        "message": {"text": "Why does the ferry test fail?", "parts": [{"kind": "text", "text": "again"}]},
        "variableData": {"variables": [
            {"kind": "file", "name": "ferry.rs", "value": {"$mid": 1, "fsPath": "/home/ada/ferry/src/ferry.rs", "path": "/home/ada/ferry/src/ferry.rs", "scheme": "file"}},
            {"kind": "image", "name": "picture", "value": {"0": 137, "1": 80}},
        ]},
        "response": [
            {"kind": "mcpServersStarting"},
            {"kind": "thinking", "value": "the quay is too short"},
            {"value": "I look at "},
            {"kind": "inlineReference", "inlineReference": {"uri": {"path": "/home/ada/ferry/src/ferry.rs", "scheme": "file"}, "range": {}}},
            {"value": "."},
            {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile", "toolCallId": "call_a__vscode-17", "isComplete": true, "isConfirmed": {"type": 1},
                "invocationMessage": {"value": "Reading ferry.rs"}, "pastTenseMessage": {"value": "Read ferry.rs"}},
            {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "other", "isComplete": true, "isConfirmed": {"type": 0},
                "invocationMessage": "Running", "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "cargo test"}}},
            {"value": "The quay is too short."},
            {"kind": "textEditGroup", "uri": {"path": "/home/ada/ferry/src/quay.rs", "scheme": "file"}, "edits": [[{"text": "long"}]]},
            {"kind": "fireworks"},
        ],
        "modelId": "copilot/harbour-2",
        "result": {"metadata": {
            "renderedUserMessage": [{"text": "the whole prompt"}],
            "toolCallRounds": [{"response": "x", "toolCalls": [{"id": "call_a", "name": "read_file", "arguments": "{\"filePath\":\"/home/ada/ferry/src/ferry.rs\"}"}]}],
            "toolCallResults": {"call_a": {"$mid": 20, "content": [{"$mid": 21, "value": {"node": {"type": 1, "children": [{"text": "fn "}, {"text": "dock()"}]}}}]}},
        }},
    })
}

fn failed() -> Value {
    json!({"requestId": "request_2", "message": "And now?", "response": [], "result": {"errorDetails": {"message": "rate limited"}}})
}

fn hidden() -> Value {
    json!({"requestId": "request_3", "message": {"text": "undone words"}, "isHidden": true, "response": []})
}

fn session() -> Value {
    json!({"version": 3, "sessionId": "chat-1", "creationDate": 1_774_999_999_000_i64, "customTitle": "Ferry test",
        "requests": [request(), failed(), hidden()]})
}

const TOLD: [&str; 6] = [
    "human exact: Why does the ferry test fail?",
    "assistant derived: I look at `ferry.rs`. /  / The quay is too short.> read_file / filePath: /home/ada/ferry/src/ferry.rs /  / run_in_terminal / message: Running / command: cargo test",
    "tool_result derived: > fn dock()",
    "human session: And now?",
    "system! session: rate limited",
    "human session: undone words (taken back)",
];

fn workspace(memory: &Memory) {
    memory
        .write("User/workspaceStorage/abc/workspace.json", r#"{"folder":"vscode-remote://ssh-remote%2Bharbour/home/ada/ferry"}"#);
}

#[test]
fn value_and_log_tell_the_same() {
    let memory = Memory::new();
    workspace(&memory);
    memory.write("User/workspaceStorage/abc/chatSessions/chat-1.json", session().to_string());
    memory.write("User/workspaceStorage/abc/state.vscdb", "none of ours");
    let root = memory.sources().join("User");
    let report = memory.read_as("copilot-chat", &root);
    assert_eq!(told(&memory, "chat-1"), TOLD);
    assert_eq!(skipped(&report), ["unknown-part fireworks 1"]);
    let turns = memory.turns("chat-1");
    assert_eq!(turns[0].title.as_deref(), Some("Ferry test"));
    assert_eq!(turns[0].project.as_deref(), Some("ferry"));
    assert_eq!(turns[1].model.as_deref(), Some("copilot/harbour-2"));
    let archive =
        memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>();
    assert!(!archive.contains("the whole prompt"));
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
    // The program switches to logs and leaves the old value in place.
    let mut begun = session();
    begun["requests"] = json!([]);
    let mut first = request();
    let response = first["response"].take();
    let lines = [
        json!({"kind": 0, "v": begun}),
        json!({"kind": 2, "k": ["requests"], "v": [first]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "a draft"}]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": response, "i": 0}),
        json!({"kind": 1, "k": ["requests", 9, "x"], "v": 1}),
        json!({"kind": 2, "k": ["requests"], "v": [failed(), hidden(), {"requestId": "request_4", "message": "One more?"}]}),
    ];
    let mut log = lines.map(|line| format!("{line}\n")).concat();
    log.push_str("not json\n{\"kind\":1,\"k\":[\"half wri");
    memory.write("User/workspaceStorage/abc/chatSessions/chat-1.jsonl", &log);
    let report = memory.read_as("copilot-chat", &root);
    assert_eq!((report.files, report.turns_added, report.turns_updated), (1, 1, 0));
    assert_eq!(skipped(&report), ["lost-change  2", "unknown-part fireworks 1"]);
    assert_eq!(told(&memory, "chat-1")[..6], TOLD);
    assert_eq!(told(&memory, "chat-1")[6], "human session: One more?");
}

#[test]
fn sessions_of_windows_without_a_folder_are_found_and_empty_ones_are_none() {
    let memory = Memory::new();
    memory.write(
        "User/globalStorage/emptyWindowChatSessions/chat-2.json",
        json!({"sessionId": "chat-2", "requests": [failed()]}).to_string(),
    );
    memory.write(
        "User/globalStorage/emptyWindowChatSessions/chat-3.jsonl",
        json!({"kind": 0, "v": {"sessionId": "chat-3", "requests": []}}).to_string(),
    );
    memory.write("User/globalStorage/emptyWindowChatSessions/chat-4.json", "[]");
    assert_eq!(memory.read_as("copilot-chat", &memory.sources().join("User")).files, 3);
    assert_eq!(memory.episodes().len(), 1);
    assert_eq!(told(&memory, "chat-2"), ["human none: And now?", "system! none: rate limited"]);
    let path = memory.write("chat-5.json", "{");
    assert_eq!(skipped(&memory.read_as("copilot-chat", &path)), ["cut-off 0 of 1 bytes are lost 1"]);
}
