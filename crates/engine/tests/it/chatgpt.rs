//! Exports of ChatGPT: the final branch of a conversation, and messages inserted by software.

use serde_json::{Value, json};
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive, zipped};

fn message(id: &str, role: &str, seconds: f64, text: &str) -> Value {
    json!({
        "id": id,
        "author": {"role": role, "name": null, "metadata": {}},
        "create_time": if seconds > 0.0 { json!(seconds) } else { Value::Null },
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "weight": 1.0,
        "metadata": {"model_slug": "harbour-2"},
    })
}

/// Makes a node; `change` edits its message.
fn node(id: &str, parent: Option<&str>, mut message: Value, change: impl FnOnce(&mut Value)) -> (String, Value) {
    change(&mut message);
    (id.to_owned(), json!({"id": id, "parent": parent, "children": [], "message": message}))
}

fn unchanged(_message: &mut Value) {}

fn conversation(id: &str, current: &str, nodes: Vec<(String, Value)>) -> Value {
    json!({
        "id": id,
        "conversation_id": id,
        "title": "Tide tables",
        "create_time": 1_767_261_600.25,
        "update_time": 1_767_265_200.5,
        "current_node": current,
        "default_model_slug": "harbour-2",
        "mapping": nodes.into_iter().collect::<serde_json::Map<String, Value>>(),
    })
}

/// Makes a conversation with an edited question, custom instructions, a tool and its answer, thoughts and a
/// picture.
fn tides() -> Value {
    conversation(
        "conv-tides",
        "n8",
        vec![
            // Children may come before their parents.
            node("n8", Some("n7"), message("m8", "assistant", 1_767_261_660.0, "High water is at 04:12."), unchanged),
            node("root", None, Value::Null, unchanged),
            node("n0", Some("root"), message("m0", "system", 0.0, ""), |message| {
                message["metadata"]["is_visually_hidden_from_conversation"] = true.into();
            }),
            node("n1", Some("n0"), message("m1", "user", 0.0, ""), |message| {
                message["content"] =
                    json!({"content_type": "user_editable_context", "user_profile": "I sail.", "user_instructions": "Be brief."});
                message["metadata"]["is_visually_hidden_from_conversation"] = true.into();
            }),
            node("n2", Some("n1"), message("m2", "user", 1_767_261_601.5, "When is low water?"), unchanged),
            node("n3", Some("n2"), message("m3", "assistant", 1_767_261_602.0, "At ten."), unchanged),
            node("n4", Some("n1"), message("m4", "user", 1_767_261_610.123, "When is high water?"), |message| {
                message["content"] = json!({"content_type": "multimodal_text", "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
                    "When is high water?",
                    {"content_type": "smell", "strength": 3},
                ]});
                message["metadata"]["attachments"] = json!([{"id": "file-1", "name": "harbour.png"}]);
            }),
            node("n5", Some("n4"), message("m5", "assistant", 1_767_261_620.0, ""), |message| {
                message["content"] = json!({"content_type": "thoughts", "thoughts": [{"content": "the moon matters"}]});
            }),
            node("n6", Some("n5"), message("m6", "assistant", 1_767_261_630.0, ""), |message| {
                message["content"] = json!({"content_type": "code", "language": "python", "text": "print(tide('Brest'))"});
                message["recipient"] = "python".into();
            }),
            node("n7", Some("n6"), message("m7", "tool", 0.0, ""), |message| {
                message["author"]["name"] = "python".into();
                message["content"] = json!({"content_type": "execution_output", "text": "04:12"});
            }),
        ],
    )
}

fn forgotten() -> Value {
    let mut forgotten =
        conversation("conv-secret", "a", vec![node("a", None, message("ma", "user", 1.0, "our private reef"), unchanged)]);
    forgotten["is_do_not_remember"] = true.into();
    forgotten
}

fn export() -> String {
    json!([tides(), forgotten(), {"id": "conv-odd"}]).to_string()
}

#[test]
fn open_branch_is_read_and_the_rest_is_counted() {
    let memory = Memory::new();
    let path =
        memory.write("export.zip", zipped(&[("user.json", r#"{"email":"ada@example.org"}"#), ("conversations.json", &export())]));
    let report = memory.read_as("chatgpt", &path);
    assert_eq!(
        told(&memory, "conv-tides"),
        [
            "injected session: I sail. /  / Be brief.",
            "human exact: When is high water?",
            "tool_call exact: > python / print(tide('Brest'))",
            "tool_result derived: > 04:12",
            "assistant exact: High water is at 04:12.",
        ]
    );
    assert_eq!(
        skipped(&report),
        ["not-kept do-not-remember 1", "other-branch  2", "unknown-part smell 1", "wrong-shape conversation 1"]
    );
    let turns = memory.turns("conv-tides");
    assert_eq!(turns[1].time.utc, Some(1_767_261_610_123));
    assert_eq!(turns[4].model.as_deref(), Some("harbour-2"));
    assert_eq!(turns[4].title.as_deref(), Some("Tide tables"));
    let archive =
        memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>();
    for absent in ["private reef", "conv-secret", "ada@example.org", "low water"] {
        assert!(!archive.contains(absent), "{absent}");
    }
    let before = memory.words();
    assert_eq!(words_from_archive(&memory), before);
}

#[test]
fn archive_folder_and_list_are_the_same_export() {
    let memory = Memory::new();
    memory.write("zip/export.zip", zipped(&[("conversations.json", &export())]));
    memory.write("folder/export/conversations-001.json", json!({"conversations": [tides()]}).to_string());
    memory.write("folder/export/shared_conversations.json", "[]");
    memory.write("folder/export/users.json", "no list");
    let list = memory.write("list.json", export());
    assert_eq!(memory.read_as("chatgpt", &memory.sources().join("zip")).turns_added, 5);
    for path in [memory.sources().join("folder"), list] {
        let report = memory.read_as("chatgpt", &path);
        assert_eq!((report.files, report.turns_added), (1, 0), "{}", path.display());
    }
    // Another program's export is not accepted.
    memory.write("other/conversations.json", r#"[{"uuid":"u","chat_messages":[]}]"#);
    assert_eq!(memory.read_as("chatgpt", &memory.sources().join("other")).files, 0);
}

#[test]
fn longer_export_adds_what_is_new_and_stores_the_rest_once() {
    let memory = Memory::new();
    let path = memory.write("conversations.json", json!([tides()]).to_string());
    memory.read_as("chatgpt", &path);
    assert_eq!(memory.read_as("chatgpt", &path).files_unchanged, 1);
    let mut longer = tides();
    let (id, after) = node("n9", Some("n8"), message("m9", "user", 1_767_261_700.0, "And tomorrow?"), unchanged);
    longer["mapping"][id] = after;
    longer["current_node"] = "n9".into();
    longer["title"] = "High water at Brest".into();
    memory.write("conversations.json", json!([longer]).to_string());
    let report = memory.read_as("chatgpt", &path);
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
    assert_eq!(told(&memory, "conv-tides").last().unwrap(), "human exact: And tomorrow?");
    assert_eq!(memory.turns("conv-tides")[0].title.as_deref(), Some("High water at Brest"));
}

#[test]
fn archive_that_was_cut_off_fails_by_name_and_loses_nothing() {
    let memory = Memory::new();
    let whole = zipped(&[("conversations.json", &export())]);
    let path = memory.write("export.zip", &whole[..whole.len() / 2]);
    let report = try_read(&memory, "chatgpt", &memory.sources());
    assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
    assert!(report.failures[0].1.contains("damaged or was not downloaded"), "{}", report.failures[0].1);
    memory.write("export.zip", &whole);
    assert_eq!(memory.read_as("chatgpt", &path).turns_added, 5);
}

#[test]
fn list_that_was_cut_off_gives_its_whole_conversations_and_says_so() {
    let memory = Memory::new();
    let text =
        json!([tides(), conversation("conv-cut", "a", vec![node("a", None, message("ma", "user", 1.0, "cut"), unchanged)])])
            .to_string();
    let path = memory.write("conversations.json", &text[..text.len() - 9]);
    let report = memory.read_as("chatgpt", &path);
    assert_eq!(skipped(&report)[0], "cut-off the list of conversations ends too early; export it again 1");
    assert_eq!(told(&memory, "conv-tides").len(), 5);
    memory.write("conversations.json", &text);
    memory.read_as("chatgpt", &path);
    assert_eq!(told(&memory, "conv-tides").len(), 5);
    assert_eq!(told(&memory, "conv-cut").len(), 1);
}

#[test]
fn conversations_of_any_shape_are_counted_and_passed_over() {
    let memory = Memory::new();
    let path = memory.write(
        "conversations.json",
        json!([1, null, "x", [], {"id": 7}, {"id": "a", "mapping": []}, {"id": "b", "mapping": {}},
            {"id": "c", "current_node": "n", "mapping": {"n": 3, "m": {"parent": "m", "message": "x"}}},
            {"id": "d", "current_node": "n", "mapping": {"n": {"message": {"author": {"role": "moon"}, "content": 5}}}},
            {"id": "e", "current_node": "n", "mapping": {"n": {"message": {"author": {"role": "user"}, "content": {"content_type": "dance"}}}}}])
        .to_string(),
    );
    let report = memory.read_as("chatgpt", &path);
    assert_eq!(report.turns_added, 0);
    assert_eq!(
        skipped(&report),
        ["no-conversation-id conversation 5", "unknown-content dance 1", "unknown-role moon 1", "wrong-shape conversation 1"]
    );
}

/// A conversation that the user forgets is removed from the archive too, and does not come back.
#[test]
fn forgotten_conversation_leaves_the_others_in_the_same_file() {
    let memory = Memory::new();
    let path = memory.write("conversations.json", json!([tides(), other()]).to_string());
    memory.read_as("chatgpt", &path);
    memory.index();
    memory.forget_hard("conv-tides");
    let archive =
        memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect::<String>();
    assert!(!archive.contains("high water"), "{archive}");
    assert!(archive.contains("a green buoy"));
    memory.write("conversations.json", json!([other(), tides()]).to_string());
    assert_eq!(memory.read_as("chatgpt", &path).turns_added, 0);
    assert_eq!(told(&memory, "conv-other"), ["human exact: a green buoy"]);
}

fn other() -> Value {
    conversation("conv-other", "a", vec![node("a", None, message("ma", "user", 5.0, "a green buoy"), unchanged)])
}
