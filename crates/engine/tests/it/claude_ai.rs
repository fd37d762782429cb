//! Exports of Claude.ai.

use serde_json::{Value, json};
use yore_testing::Memory;

use crate::told::{skipped, told, words_from_archive, zipped};

fn export() -> Value {
    json!([
        {"uuid": "c-empty", "name": "", "created_at": "2026-02-01T08:00:00.000000Z", "chat_messages": []},
        {
            "uuid": "c-reef",
            "name": "Charts of the reef",
            "summary": "",
            "created_at": "2026-02-01T09:00:00.000000Z",
            "updated_at": "2026-02-01T09:10:00.000000Z",
            "account": {"uuid": "acc-1"},
            "chat_messages": [
                {
                    "uuid": "m-1",
                    "sender": "human",
                    "text": "an older wording",
                    "content": [{"type": "text", "text": "Which chart shows the reef?"}],
                    "created_at": "2026-02-01T09:00:01.250000Z",
                    "attachments": [{"file_name": "notes.md", "file_type": "md", "file_size": 20, "extracted_content": "reef: chart 7"}],
                    "files": [{"file_name": "reef.png"}],
                },
                {
                    "uuid": "m-2",
                    "sender": "assistant",
                    "text": "",
                    "content": [
                        {"type": "thinking", "thinking": "seven it is"},
                        {"type": "tool_use", "id": "t-1", "name": "search", "input": {"query": "reef chart"}},
                        {"type": "tool_result", "tool_use_id": "t-1", "name": "search", "is_error": true, "content": [{"type": "text", "text": "no network"}]},
                        {"type": "text", "text": "Chart 7."},
                        {"type": "hologram"},
                        {"type": "token_budget"},
                    ],
                    "created_at": "2026-02-01T09:00:05Z",
                    "attachments": [],
                    "files": [],
                },
                {"uuid": "m-3", "sender": "human", "text": "Thanks.", "content": [], "attachments": [], "files": []},
                {
                    "uuid": "m-4",
                    "sender": "assistant",
                    "text": "```\nThis block is not supported on your current device yet.\n```",
                    "content": [{"type": "tool_use", "name": "artifacts", "input": {"command": "create"}}],
                    "created_at": "2026-02-01T09:01:00Z",
                },
            ],
        },
    ])
}

#[test]
fn content_counts_before_text_and_tools_are_told_apart() {
    let memory = Memory::new();
    memory.write(
        "data-1.zip",
        zipped(&[
            ("users.json", r#"[{"email_address":"ada@example.org"}]"#),
            ("projects.json", r#"[{"docs":[{"content":"a project's document"}]}]"#),
            ("conversations.json", &export().to_string()),
        ]),
    );
    let report = memory.read_as("claude-ai", &memory.sources());
    assert_eq!(
        told(&memory, "c-reef"),
        [
            "human exact: Which chart shows the reef?> notes.md / reef: chart 7",
            "assistant exact: Chart 7.> search / query: reef chart",
            "tool_result! exact: > no network",
            "human session: Thanks.",
            "tool_call exact: > artifacts / command: create",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-block hologram 1"]);
    assert_eq!(memory.episodes().len(), 1);
    assert_eq!(memory.turns("c-reef")[0].title.as_deref(), Some("Charts of the reef"));
    let archive =
        memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>();
    for absent in ["ada@example.org", "project's document", "older wording"] {
        assert!(!archive.contains(absent), "{absent}");
    }
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn folder_of_downloads_gives_each_source_its_own_exports() {
    let memory = Memory::new();
    memory.write("claude.dms", zipped(&[("conversations.json", &export().to_string())]));
    memory.write("chatgpt.zip", zipped(&[("conversations.json", r#"[{"id":"x","mapping":{}}]"#)]));
    memory.write("holiday.zip", zipped(&[("beach.txt", "sand")]));
    memory.write("report.json", "{}");
    assert_eq!(memory.read_as("claude-ai", &memory.sources()).files, 1);
    assert_eq!(memory.read_as("chatgpt", &memory.sources()).files, 1);
}

#[test]
fn export_that_grew_adds_its_new_messages() {
    let memory = Memory::new();
    let mut export = export();
    let path = memory.write("conversations.json", export.to_string());
    assert_eq!(memory.read_as("claude-ai", &path).turns_added, 5);
    let messages = export[1]["chat_messages"].as_array_mut().unwrap();
    messages.push(json!({"uuid": "m-5", "sender": "human", "text": "And chart 8?", "created_at": "2026-02-02T09:00:00Z"}));
    memory.write("conversations.json", export.to_string());
    let report = memory.read_as("claude-ai", &path);
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
}

#[test]
fn branch_that_was_left_behind_is_counted_and_ids_are_no_words() {
    let memory = Memory::new();
    let root = "00000000-0000-4000-8000-000000000000";
    let message = |id: &str, parent: &str, sender: &str, text: &str| json!({"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": text, "content": [{"type": "text", "text": text}]});
    let mut answer = message("m-4", "m-3", "assistant", "It is red.");
    answer["content"] = json!([
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "a red buoy", "uuid": "9f1b"}]},
        {"type": "text", "text": "It is red."},
    ]);
    let text = json!([{"uuid": "c-buoy", "name": "Buoys", "created_at": "2026-02-01T09:00:00Z", "chat_messages": [
        message("m-1", root, "human", "Which colour has the boy?"),
        message("m-2", "m-1", "assistant", "Which boy?"),
        message("m-3", root, "human", "Which colour has the buoy?"),
        answer,
        message("m-5", "nowhere", "human", "And the other?"),
    ]}]);
    let mut named = text.clone();
    named[0]["uuid"] = "c-named".into();
    named[0]["current_leaf_message_uuid"] = "m-2".into();
    memory.write("a/conversations.json", text.to_string());
    memory.write("b/conversations.json", named.to_string());
    // The last message has no place in the tree: every message that is not on a branch beside it is kept.
    memory.write("c/conversations.json", "[]");
    let report = memory.read_as("claude-ai", &memory.sources());
    let spoken = |id: &str| memory.turns(id).into_iter().map(|turn| turn.text + &turn.tool_text).collect::<Vec<_>>();
    assert_eq!(spoken("c-named"), ["Which colour has the boy?", "Which boy?", "And the other?"]);
    assert_eq!(skipped(&report), ["other-branch  2"]);
    assert!(!memory.words().contains("9f1b"));
    assert_eq!(words_from_archive(&memory), memory.words());
}
