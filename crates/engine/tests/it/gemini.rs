//! Gemini CLI: conversations as one object and as a log, sub-agents, and the assignment to directories.

use serde_json::{Value, json};
use yore_core::episode::{EpisodeKind, Role};
use yore_core::scope::ScopeChoice;
use yore_engine::RecallRequest;
use yore_testing::{Memory, SessionBuilder, TurnOf};

use crate::told::skipped;

const SESSION: &str = "f1a2b3c4-0000-4000-8000-000000000001";

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-02-03T10:00:00.000Z", "type": "user", "content": text})
}

fn gemini(id: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-02-03T10:00:05.000Z", "type": "gemini", "content": text, "model": "tide-flash",
        "thoughts": [{"subject": "Pondering", "description": "deep"}], "tokens": {"input": 1, "output": 2, "total": 3}})
}

fn messages() -> Vec<Value> {
    let mut call = gemini("m3", "");
    call["toolCalls"] = json!([
        {"id": "read-1", "name": "read_file", "args": {"file_path": "gauges.toml"}, "status": "success",
         "result": [{"functionResponse": {"id": "read-1", "name": "read_file", "response": {"output": "datum = 0"}}}],
         "resultDisplay": "shown twice"},
        {"id": "run-1", "name": "run_shell_command", "args": {"command": "make"}, "status": "error",
         "result": [{"functionResponse": {"id": "run-1", "name": "run_shell_command", "response": {"error": "no rule"}}}]},
    ]);
    let mut typed = user("m2", "Look at @gauges.toml\n--- Content ---\ndatum = 0");
    typed["displayContent"] = json!("Look at @gauges.toml");
    vec![
        user("m1", "<session_context>\nfolders\n</session_context>"),
        typed,
        call,
        gemini("m4", "The datum is zero."),
        json!({"id": "m5", "timestamp": "2026-02-03T10:00:09.000Z", "type": "error", "content": "quota exhausted"}),
    ]
}

fn facts() -> Value {
    json!({"sessionId": SESSION, "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z", "lastUpdated": "2026-02-03T10:00:09.000Z"})
}

fn object() -> String {
    let mut object = facts();
    object["messages"] = messages().into();
    serde_json::to_string_pretty(&object).unwrap()
}

fn log() -> String {
    let mut lines = vec![facts()];
    lines.extend(messages());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const OBJECT: &str = "tmp/tide/chats/session-2026-02-03T10-00-f1a2b3c4.json";
const LOG: &str = "tmp/tide/chats/session-2026-02-03T10-00-f1a2b3c4.jsonl";

fn read(memory: &Memory) -> yore_engine::ingest::IngestReport {
    let report = memory.read_as("gemini", &memory.sources());
    memory.index();
    report
}

#[test]
fn both_forms_give_the_same_turns() {
    let (old, new) = (Memory::new(), Memory::new());
    old.write(OBJECT, object());
    new.write(LOG, log());
    assert!(read(&old).skips.is_empty() && read(&new).skips.is_empty());
    assert_eq!(old.words(), new.words());
    let turns = old.turns(SESSION);
    let said: Vec<(Role, &str)> = turns.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
    assert_eq!(said[1], (Role::Human, "Look at @gauges.toml"), "what was typed, not what was put in");
    assert_eq!(said[0].0, Role::Injected);
    assert_eq!((said[2].0, said[3].0, said[4].0), (Role::ToolCall, Role::ToolResult, Role::ToolResult));
    assert_eq!((turns[3].tool_text.as_str(), turns[3].is_error), ("datum = 0", false));
    assert_eq!((turns[4].tool_text.as_str(), turns[4].is_error), ("no rule", true));
    assert_eq!(said[5], (Role::Assistant, "The datum is zero."));
    assert_eq!(said[6], (Role::System, "quota exhausted"));
    assert_eq!(turns[5].model.as_deref(), Some("tide-flash"));
    for unsaid in ["Pondering", "shown twice"] {
        let archive: Vec<u8> = old.archive().into_iter().flat_map(|(_, _, content)| content).collect();
        assert!(!String::from_utf8_lossy(&archive).contains(unsaid), "{unsaid}");
    }
}

#[test]
fn log_wins_over_the_object_of_the_same_session() {
    let memory = Memory::new();
    memory.write(OBJECT, object());
    read(&memory);
    let count = memory.turns(SESSION).len();
    memory.write(LOG, format!("{}{}\n", log(), gemini("m6", "One more.")));
    let report = read(&memory);
    assert_eq!((report.files, report.turns_added), (1, 1));
    assert_eq!(memory.turns(SESSION).len(), count + 1);
}

#[test]
fn session_that_was_resumed_in_another_file_is_one() {
    let memory = Memory::new();
    memory.write(LOG, log());
    let resumed = [facts(), user("m7", "And the tides?"), gemini("m8", "They turn.")];
    let resumed: String = resumed.iter().map(|line| format!("{line}\n")).collect();
    memory.write("tmp/tide/chats/session-2026-02-04T09-00-f1a2b3c4.jsonl", resumed);
    read(&memory);
    assert_eq!(memory.episodes().len(), 1);
    assert_eq!(memory.turns(SESSION).len(), 9);
}

#[test]
fn grown_conversation_adds_its_new_messages_only() {
    let memory = Memory::new();
    memory.write(LOG, log());
    read(&memory);
    let before = memory.words();
    let mut summary = json!({"$set": {"summary": "Zero datum"}}).to_string();
    summary.push('\n');
    memory.append(LOG, summary.as_bytes());
    memory.append(LOG, format!("{}\n", user("m6", "Thanks.")).as_bytes());
    let report = read(&memory);
    assert_eq!((report.turns_added, report.turns_updated), (1, 0));
    assert!(memory.words() != before);
    assert_eq!(memory.episodes()[0].title.as_deref(), Some("Zero datum"));
}

#[test]
fn directory_is_found_beside_the_conversation_or_in_the_settings() {
    for (name, file, content) in [
        ("tide", "tmp/tide/.project_root", "/home/dev/tide\n".to_owned()),
        ("tide", "projects.json", json!({"projects": {"/home/dev/tide": "tide"}}).to_string()),
        // The SHA-256 of the directory.
        (
            "4a85fcf8b9596adadf8bbf6addeada35c516c0ef6ab7b5189770c6c88b961c87",
            "projects.json",
            json!({"projects": {"/home/dev/tide": "something-else"}}).to_string(),
        ),
    ] {
        let memory = Memory::new();
        memory.write(file, content);
        memory.write(&OBJECT.replace("tide", name), object());
        read(&memory);
        assert_eq!(memory.episodes().remove(0).cwd.as_deref(), Some("/home/dev/tide"), "{file} {name}");
    }
}

#[test]
fn sub_agents_belong_to_the_session_whose_folder_they_stand_in() {
    let memory = Memory::new();
    memory.write(LOG, log());
    let lines = [json!({"sessionId": "sub-1", "kind": "subagent"}), user("s1", "Count the buoys."), gemini("s2", "41.")];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    memory.write(&format!("tmp/tide/chats/{SESSION}/sub-1.jsonl"), lines);
    read(&memory);
    let episode = memory.episodes().into_iter().find(|episode| episode.native_id == "sub-1").unwrap();
    assert_eq!(episode.kind, EpisodeKind::Subagent);
    assert!(memory.words().contains(&format!("gemini | sub-1 | {SESSION} |")));
    assert_eq!(memory.turns("sub-1")[0].role, Role::Injected);
}

#[test]
fn pictures_and_unknown_parts_cost_nothing_and_are_counted() {
    let memory = Memory::new();
    let picture = "iVBORw0KGgoAAAANSUhEUgAA".repeat(200);
    let mut message = user("p1", "");
    message["content"] = json!([
        {"text": "What is on this map?"},
        {"inlineData": {"mimeType": "image/png", "data": picture}},
        {"hologram": {}},
    ]);
    let lines: String = [facts(), message, json!({"type": "smell", "id": "x"})].iter().map(|line| format!("{line}\n")).collect();
    memory.write(LOG, lines);
    let report = read(&memory);
    assert_eq!(memory.turns(SESSION)[0].text, "What is on this map?");
    let reasons: Vec<(&str, &str)> = report.skips.keys().map(|(reason, detail)| (reason.as_str(), detail.as_str())).collect();
    assert_eq!(reasons, [("unknown-message", "smell"), ("unknown-part", "hologram")]);
    let archive: usize = memory.archive().into_iter().map(|(_, _, content)| content.len()).sum();
    assert!(archive < 2000, "{archive}");
}

#[test]
fn object_that_is_cut_off_gives_its_whole_messages_and_the_rest_later() {
    let memory = Memory::new();
    let text = object();
    memory.write(OBJECT, &text[..text.len() / 2]);
    let report = read(&memory);
    assert!(skipped(&report)[0].starts_with("cut-off"), "{:?}", report.skips);
    let first = memory.turns(SESSION).len();
    assert!((1..7).contains(&first), "{first}");
    memory.write(OBJECT, text);
    read(&memory);
    assert_eq!(memory.turns(SESSION).len(), 7);
}

#[test]
fn settings_and_lists_of_prompts_are_not_read() {
    let memory = Memory::new();
    for name in ["oauth_creds.json", "settings.json", "projects.json", "tmp/tide/logs.json", "tmp/tide/checkpoint-x.json"] {
        memory.write(name, "{}");
    }
    assert_eq!(read(&memory).files, 0);
}

#[test]
fn sessions_that_the_server_gives_one_name_are_told_apart_and_marks_and_foreign_bytes_cost_nothing() {
    let memory = Memory::new();
    let log = |words: &str| {
        format!(
            "\u{feff}{}\n{}\n",
            json!({"sessionId": "a2a-server", "projectHash": "h", "startTime": "2026-07-01T10:00:00Z"}),
            json!({"id": "m1", "type": "user", "content": words, "timestamp": "2026-07-01T10:00:00Z"})
        )
    };
    memory.write("tmp/tide/chats/session-1.jsonl", log("how high is the tide"));
    memory.write("tmp/pier/chats/session-1.jsonl", log("how long is the pier"));
    memory.write("tmp/pier/chats/session-2.jsonl", "\u{89}PNG\r\n not a conversation");
    let mut bytes = json!({"sessionId": "old", "messages": [{"id": "m9", "type": "user", "content": "caf? at the pier"}]})
        .to_string()
        .into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[at] = 0xE9;
    bytes.extend([0; 512]);
    memory.write("tmp/pier/chats/session-3.json", &bytes);
    let report = read(&memory);
    let texts = |id: &str| memory.turns(id).into_iter().map(|turn| turn.text).collect::<Vec<_>>();
    assert_eq!(texts("a2a-server/tide/session-1"), ["how high is the tide"]);
    assert_eq!(texts("a2a-server/pier/session-1"), ["how long is the pier"]);
    assert_eq!(texts("old"), ["caf\u{fffd} at the pier"]);
    assert_eq!((skipped(&report), report.failures.len()), (vec!["no-conversation  1".to_owned(), "not-utf8  1".to_owned()], 0));
}

#[test]
fn directories_that_folders_name_by_a_hash_are_those_that_other_agents_worked_in() {
    const DIRECTORY: &str = r"C:\Users\Ada\Tide";
    let memory = Memory::new();
    // Its SHA-256.
    let folder = "ab15a5e75558d39026df3b997d772d26e74d60448e7aa04dbd0071b11646bd5f";
    // The list has the path in lower case, so no hash matches.
    memory.write("projects.json", json!({"projects": {"c:\\users\\ada\\tide": "tide"}}).to_string());
    memory.write(&OBJECT.replace("tide", folder), object());
    read(&memory);
    assert_eq!(memory.episodes().remove(0).cwd, None, "no other agent was there yet");
    // In a subdirectory, and with the drive letter in the other case.
    let session = SessionBuilder::new(7).cwd(r"c:\Users\Ada\Tide\crates").turns(2).text();
    let transcripts = memory.write("claude/session.jsonl", session);
    memory.read_as("claude-code", &transcripts);
    let report = read(&memory);
    assert_eq!((report.files_read, report.turns_added), (1, 0));
    let episode = memory.episodes().into_iter().find(|episode| episode.native_id == SESSION).unwrap();
    assert_eq!(episode.cwd.as_deref(), Some(DIRECTORY));
    memory.index();
    let here = |request: &mut RecallRequest| request.filter.scope = ScopeChoice::Projects(vec![DIRECTORY.to_owned()]);
    let hits = memory.ask_with("what is the datum", here).hits;
    assert!(hits.iter().any(|hit| hit.turn().text.contains("datum is zero")), "{hits:?}");
    assert_eq!(read(&memory).files_read, 0, "it is known now");
}
