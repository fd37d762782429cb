//! Continue's sessions, made from their description; no real ones were available yet.

use serde_json::json;
use yore_testing::Memory;

use crate::told::{skipped, told, words_from_archive};

fn session() -> serde_json::Value {
    json!({
        "sessionId": "s-1",
        "title": "Paint the hull",
        "workspaceDirectory": "file:///home/ada/ship%20yard",
        "history": [
            {
                "message": {"role": "user", "content": [{"type": "text", "text": "Which paint?"}, {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}]},
                "contextItems": [{"name": "hull.rs", "content": "struct Hull;", "uri": {"type": "file", "value": "file:///home/ada/ship%20yard/hull.rs"}}],
                "editorState": {"type": "doc", "content": [{"type": "text", "text": "shown in the editor"}]},
            },
            {"message": {"role": "thinking", "content": "red lead is poison"}, "contextItems": []},
            {
                "message": {"role": "assistant", "content": "I look.", "toolCalls": [
                    {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"filepath\":\"paint.md\"}"}},
                    {"id": "c2", "type": "function", "function": {"name": "run", "arguments": "not json"}},
                ]},
                "contextItems": [],
                "toolCallStates": [{"toolCallId": "c1", "status": "errored", "output": [{"content": "twice"}]}, {"toolCallId": "c2", "status": "canceled"}],
                "promptLogs": [{"prompt": "the whole prompt"}],
            },
            {"message": {"role": "tool", "content": "no such file", "toolCallId": "c1"}, "contextItems": []},
            {"message": {"role": "assistant", "content": "Tar."}, "contextItems": []},
            {"message": {"role": "parrot", "content": "Tar!"}},
            "rubbish",
        ],
    })
}

#[test]
fn sessions_become_turns() {
    let memory = Memory::new();
    memory.write("continue/sessions/s-1.json", session().to_string());
    memory.write(
        "continue/sessions/sessions.json",
        json!([{"sessionId": "s-1", "title": "old", "dateCreated": "1772000000000", "workspaceDirectory": "/elsewhere"}])
            .to_string(),
    );
    memory.write("continue/config.json", "{}");
    let report = memory.read_as("continue", &memory.sources().join("continue"));
    assert_eq!(
        told(&memory, "s-1"),
        [
            "human session: Which paint?> hull.rs / struct Hull;",
            "assistant session: I look.> read_file / filepath: paint.md /  / run / not json",
            "tool_result! session: > no such file",
            "assistant session: Tar.",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-role  1", "unknown-role parrot 1"]);
    let turns = memory.turns("s-1");
    assert_eq!(turns[0].time.utc, Some(1_772_000_000_000));
    assert_eq!(turns[0].title.as_deref(), Some("Paint the hull"));
    assert_eq!(memory.episodes()[0].cwd.as_deref(), Some("/home/ada/ship yard"));
    let archive =
        memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>();
    for absent in ["the whole prompt", "shown in the editor", "twice"] {
        assert!(!archive.contains(absent), "{absent}");
    }
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn answer_of_a_call_stands_in_the_step_also_where_there_is_one_call_a_step() {
    let memory = Memory::new();
    let call = json!([{"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"make\"}"}}]);
    let state = json!({"toolCallId": "c1", "status": "done", "output": [{"name": "Terminal", "content": "the hull is dry"}]});
    let session = json!({"sessionId": "s-2", "title": "Dry", "workspaceDirectory": "/home/ada/ship", "history": [
        {"message": {"role": "user", "content": "Is it dry?"}},
        {"message": {"role": "assistant", "content": "I look.", "toolCalls": call}, "toolCallState": state},
    ]});
    memory.write("continue/sessions/s-2.json", session.to_string());
    memory.read_as("continue", &memory.sources().join("continue"));
    let turns = told(&memory, "s-2");
    assert!(turns.iter().any(|turn| turn.contains("the hull is dry")), "{turns:?}");
}

#[test]
fn file_that_is_half_written_gives_its_whole_messages_and_the_rest_later() {
    let memory = Memory::new();
    let text = session().to_string();
    let path = memory.write("s-1.json", &text[..text.len() / 2]);
    let report = memory.read_as("continue", &path);
    let first = report.turns_added;
    assert!((1..4).contains(&first) && skipped(&report)[0].starts_with("cut-off"), "{first} {:?}", report.skips);
    memory.write("s-1.json", &text);
    assert_eq!(memory.read_as("continue", &path).turns_added, 4 - first);
    memory.write("s-2.json", r#"{"sessionId":"s-2","history":[]}"#);
    memory.write("s-3.json", "[1]");
    assert_eq!(memory.read_as("continue", &memory.sources()).turns_added, 0);
}

#[test]
fn session_in_a_development_container_belongs_to_the_folder_that_is_mounted() {
    let memory = Memory::new();
    let mut session = session();
    let authority: String =
        json!({"hostPath": "/home/ada/tides"}).to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    session["workspaceDirectory"] = format!("vscode-remote://dev-container%2B{authority}/workspaces/tides").into();
    let path = memory.write("s-1.json", session.to_string());
    memory.read_as("continue", &path);
    assert_eq!(memory.episodes()[0].cwd.as_deref(), Some("/home/ada/tides"));
}
