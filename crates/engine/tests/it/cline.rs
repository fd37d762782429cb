//! Tasks of Cline, Roo Code and Kilo Code, and sessions of Copilot CLI.

use serde_json::{Value, json};
use yore_core::episode::Role;
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

fn shown(ts: i64, by: &str, what: &str, text: &str) -> Value {
    json!({"ts": ts, "type": by, by: what, "text": text})
}

fn task(memory: &Memory) -> std::path::PathBuf {
    let start = 1_780_000_000_000_i64;
    let messages = json!([
        shown(start, "say", "text", "mend the tide table in src/tide.rs"),
        shown(start + 1, "say", "api_req_started", "{\"tokensIn\": 10}"),
        shown(start + 2, "say", "reasoning", "hidden thoughts about kelp"),
        shown(start + 3, "say", "text", "I will read the table first."),
        shown(start + 4, "say", "tool", "{\"tool\": \"readFile\", \"path\": \"src/tide.rs\"}"),
        shown(start + 5, "ask", "command", "cargo test tide"),
        shown(start + 6, "say", "command_output", "test tide::noon ... FAILED"),
        {"ts": start + 7, "type": "say", "say": "text", "text": "half a sen", "partial": true},
        shown(start + 8, "ask", "followup", "{\"question\": \"Which harbour?\", \"options\": [\"north\"]}"),
        shown(start + 8, "say", "user_feedback", "the north harbour"),
        shown(start + 9, "say", "novelty", "x"),
        shown(start + 10, "say", "completion_result", "The table is right now."),
    ]);
    memory.write("storage/tasks/1780000000000/ui_messages.json", messages.to_string());
    memory.write(
        "storage/tasks/1780000000000/api_conversation_history.json",
        json!([{"role": "user", "content": [{"type": "text", "text": "<task>\nnever read\n</task>"}]}]).to_string(),
    );
    let list = json!([{"id": "1780000000000", "ts": start, "task": "Mend the tide table", "cwdOnTaskInitialization": "/home/dev/tidepool"}]);
    memory.write("storage/state/taskHistory.json", list.to_string());
    memory.sources().join("storage/tasks")
}

#[test]
fn task_is_read_from_what_the_person_saw() {
    let memory = Memory::new();
    let root = task(&memory);
    let report = memory.read_as("cline", &root);
    assert_eq!(
        report.skips.iter().map(|((reason, detail), count)| (reason.as_str(), detail.as_str(), *count)).collect::<Vec<_>>(),
        [("unknown-type", "novelty", 1)]
    );
    let episodes = memory.episodes();
    assert_eq!(episodes.len(), 1);
    assert_eq!(episodes[0].title.as_deref(), Some("Mend the tide table"));
    let turns: Vec<(Role, String)> =
        memory.turns("1780000000000").iter().map(|turn| (turn.role, format!("{}{}", turn.text, turn.tool_text))).collect();
    let expected = [
        (Role::Human, "mend the tide table in src/tide.rs"),
        (Role::Assistant, "I will read the table first."),
        (Role::ToolCall, "readFile\ntool: readFile\npath: src/tide.rs"),
        (Role::ToolCall, "command\ncargo test tide"),
        (Role::ToolResult, "test tide::noon ... FAILED"),
        (Role::Assistant, "Which harbour?\n- north"),
        (Role::Human, "the north harbour"),
        (Role::Assistant, "The table is right now."),
    ]
    .map(|(role, text)| (role, text.to_owned()));
    assert_eq!(turns, expected);
    // Reading the same files again adds nothing.
    let again = memory.read_as("cline", &root);
    assert_eq!((again.turns_added, again.files_unchanged), (0, 1));
}

#[test]
fn task_without_what_was_shown_is_read_from_what_was_sent() {
    let memory = Memory::new();
    let messages = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "<task>\ncount the gulls\n</task>"},
            {"type": "text", "text": "<environment_details>\n# Current Workspace Directory (/home/dev/gulls) Files\n</environment_details>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Counting."}, {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "gulls.txt"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "no such file"}], "is_error": true}]},
    ]);
    memory.write("roo/tasks/0a1b/api_conversation_history.json", messages.to_string());
    memory.read_as("roo", &memory.sources().join("roo"));
    let turns = memory.turns("0a1b");
    let said: Vec<(Role, &str, bool)> = turns.iter().map(|turn| (turn.role, turn.text.as_str(), turn.is_error)).collect();
    assert_eq!(
        said,
        [(Role::Human, "count the gulls", false), (Role::Assistant, "Counting.", false), (Role::ToolResult, "", true)]
    );
    assert_eq!(memory.episodes()[0].cwd.as_deref(), Some("/home/dev/gulls"));
}

#[test]
fn session_of_the_newer_program_has_its_title_directory_and_files() {
    let memory = Memory::new();
    let messages = json!({"version": 1, "sessionId": "178_x", "messages": [
        {"id": "m1", "role": "user", "ts": 1_780_000_000_000_i64, "content": [{"type": "text", "text": "paint the buoy"}, {"type": "file", "path": "/home/dev/buoy/paint.ts", "content": "export {}"}]},
        {"id": "m2", "role": "assistant", "ts": 1_780_000_001_000_i64, "modelInfo": {"id": "m"}, "content": [{"type": "text", "text": "Painted red."}]},
        {"role": "user", "content": [{"type": "text", "text": "Summary of before"}], "metadata": {"kind": "compaction"}},
    ]});
    memory.write("data/178_x/178_x.messages.json", messages.to_string());
    memory.write(
        "data/178_x/178_x.json",
        json!({"session_id": "178_x", "cwd": "/home/dev/buoy", "metadata": {"title": "Buoys"}}).to_string(),
    );
    memory.read_as("cline", &memory.sources().join("data"));
    let episode = &memory.episodes()[0];
    assert_eq!((episode.title.as_deref(), episode.cwd.as_deref()), (Some("Buoys"), Some("/home/dev/buoy")));
    let roles: Vec<Role> = memory.turns("178_x").iter().map(|turn| turn.role).collect();
    assert_eq!(roles, [Role::Human, Role::Assistant, Role::Summary]);
}

#[test]
fn damaged_task_is_counted_and_keeps_nobody_else_out() {
    let memory = Memory::new();
    let root = task(&memory);
    memory.write("storage/tasks/2/ui_messages.json", "[{\"ts\": 1, ");
    memory.write("storage/tasks/3/ui_messages.json", "PNG");
    memory.write("storage/tasks/4/ui_messages.json", "{}");
    let report = try_read(&memory, "cline", &root);
    assert_eq!((report.failures.len(), report.turns_added), (1, 8));
    let skipped = skipped(&report);
    assert!(skipped.contains(&"cut-off 9 of 10 bytes are lost 1".to_owned()), "{skipped:?}");
    assert!(skipped.contains(&"no-conversation  1".to_owned()), "{skipped:?}");
}

#[test]
fn events_of_copilot_cli_grow_and_survive_what_a_crash_leaves() {
    let memory = Memory::new();
    let event = |kind: &str, id: &str, data: Value| {
        format!("{}\n", json!({"type": kind, "id": id, "timestamp": "2026-03-01T10:00:00Z", "parentId": null, "data": data}))
    };
    let mut log = event(
        "session.start",
        "e1",
        json!({"sessionId": "c0ffee", "copilotVersion": "1.0", "context": {"cwd": "/home/dev/tidepool", "branch": "main"}}),
    );
    log += &event("user.message", "e2", json!({"content": "why is the pump loud"}));
    log += &event(
        "assistant.message",
        "e3",
        json!({"content": "Looking.", "toolRequests": [{"toolCallId": "t1", "name": "bash", "arguments": {"command": "pump --check"}}]}),
    );
    log += &event(
        "tool.execution_complete",
        "e4",
        json!({"toolCallId": "t1", "success": false, "error": {"message": "bearing worn"}}),
    );
    log += &event("brand.new", "e5", json!({}));
    let file = memory.write("state/c0ffee/events.jsonl", &log);
    memory.write("state/empty/events.jsonl", "");
    let report = memory.read_as("copilot-cli", &memory.sources().join("state"));
    assert_eq!((report.turns_added, report.skips.len()), (3, 1));
    let more = format!("{}\0\0\0\0", event("user.message", "e6", json!({"content": "replace the bearing"})));
    memory.append("state/c0ffee/events.jsonl", more.as_bytes());
    assert!(file.exists());
    let report = memory.read_as("copilot-cli", &memory.sources().join("state"));
    assert_eq!(report.turns_added, 1);
    let turns = memory.turns("c0ffee");
    assert_eq!(
        turns.iter().map(|turn| turn.role).collect::<Vec<_>>(),
        [Role::Human, Role::Assistant, Role::ToolResult, Role::Human]
    );
    assert!(turns[2].is_error);
    assert_eq!(memory.episodes()[0].cwd.as_deref(), Some("/home/dev/tidepool"));
}

#[test]
fn answers_and_notices_in_text_are_no_words_of_the_person() {
    let memory = Memory::new();
    let text = |text: &str| json!({"type": "text", "text": text});
    let messages = json!([
        {"role": "user", "content": [text("<task>\ncount the gulls\n</task>\n\n# task_progress RECOMMENDED\n\nkeep a list"),
            text("<environment_details>\n# Current Working Directory (/home/dev/gulls) Files\n</environment_details>")]},
        {"role": "assistant", "content": [text("Counting.\n<read_file><path>gulls.txt</path></read_file>")]},
        {"role": "user", "content": [text("[read_file for 'gulls.txt'] Result:"), text("seven gulls"), text("<environment_details>\nx\n</environment_details>")]},
        {"role": "assistant", "content": [text("I ask.")]},
        {"role": "user", "content": [text("[ask_followup_question for 'Which pier?'] Result:"), text("<answer>\nthe north pier\n</answer>")]},
        {"role": "user", "content": [text("[execute_command for 'gull --count'] Result:\nThe tool execution failed with the following error:\nno gulls")]},
        {"role": "user", "content": [text("[ERROR] You did not use a tool in your previous response!")]},
        {"role": "user", "content": [text("[TASK RESUMPTION] This task was interrupted."), text("New message:\n<user_message>\ngo on\n</user_message>")]},
        {"role": "user", "content": [text("and the terns")]},
    ]);
    memory.write("tasks/7/api_conversation_history.json", messages.to_string());
    memory.read_as("cline", &memory.sources().join("tasks"));
    assert_eq!(
        told(&memory, "7"),
        [
            "human session: count the gulls",
            "assistant session: Counting. / <read_file><path>gulls.txt</path></read_file>",
            "tool_result session: > seven gulls",
            "assistant session: I ask.",
            "human session: the north pier",
            "tool_result! session: > The tool execution failed with the following error: / no gulls",
            "injected session: [ERROR] You did not use a tool in your previous response!",
            "human session: go on",
            "human session: and the terns",
        ]
    );
    assert_eq!(words_from_archive(&memory), memory.words());
}

#[test]
fn message_that_names_its_model_has_it() {
    let memory = Memory::new();
    let messages = json!([
        shown(1_780_000_000_000, "say", "text", "mend the table"),
        {"ts": 1_780_000_000_001_i64, "type": "say", "say": "text", "text": "Done.", "modelInfo": {"providerId": "quay", "modelId": "harbour-4"}},
        shown(1_780_000_000_002, "say", "error_retry", "{}"),
    ]);
    memory.write("tasks/1780000000000/ui_messages.json", messages.to_string());
    let report = memory.read_as("cline", &memory.sources().join("tasks"));
    assert_eq!(skipped(&report), Vec::<String>::new());
    let models: Vec<Option<String>> = memory.turns("1780000000000").into_iter().map(|turn| turn.model).collect();
    assert_eq!(models, [None, Some("harbour-4".to_owned())]);
}

#[test]
fn copilots_flat_logs_titles_summaries_and_repositories_are_read() {
    let memory = Memory::new();
    let event = |kind: &str, id: &str, data: Value| {
        format!("{}\n", json!({"type": kind, "id": id, "timestamp": "2025-12-01T10:00:00Z", "parentId": null, "data": data}))
    };
    let flat = event(
        "session.start",
        "e1",
        json!({"sessionId": "5eaf00d", "context": {"cwd": "/home/dev/tide/src", "gitRoot": "/home/dev/tide", "branch": "moon"}}),
    ) + &event(
        "user.message",
        "e2",
        json!({"content": "<current_datetime>2025-12-01T10:00:00Z</current_datetime>\nwhy is the pump loud"}),
    ) + &event("session.compaction_complete", "e3", json!({"success": true, "summaryContent": "The pump was loud."}));
    memory.write("copilot/session-state/5eaf00d.jsonl", &flat);
    let foldered =
        event("session.start", "f1", json!({"sessionId": "c0ffee"})) + &event("user.message", "f2", json!({"content": "/init"}));
    memory.write("copilot/session-state/c0ffee/events.jsonl", &foldered);
    memory.write(
        "copilot/session-state/c0ffee/workspace.yaml",
        "id: c0ffee\ncwd: /home/dev/tide\nsummary: |-\n  Describe the\n  harbour\nupdated_at: 2026-04-01T13:24:42.022Z\n",
    );
    let root = memory.sources().join("copilot/session-state");
    let report = memory.read_as("copilot-cli", &root);
    assert_eq!(skipped(&report), Vec::<String>::new());
    assert_eq!(told(&memory, "5eaf00d"), ["human exact: why is the pump loud", "summary exact: The pump was loud."]);
    let turns = memory.turns("5eaf00d");
    assert_eq!((turns[0].project.as_deref(), turns[0].branch.as_deref()), (Some("tide"), Some("moon")));
    assert_eq!(memory.turns("c0ffee")[0].title.as_deref(), Some("Describe the harbour"));
    assert_eq!(words_from_archive(&memory), memory.words());
    // Only its title changes; a log that is named by itself is read.
    memory.write(
        "copilot/session-state/c0ffee/workspace.yaml",
        "id: c0ffee\nname: \"Piers: all of them\"\nupdated_at: 2026-04-02T13:24:42Z\n",
    );
    memory.read_as("copilot-cli", &root);
    assert_eq!(memory.turns("c0ffee")[0].title.as_deref(), Some("Piers: all of them"));
    let alone = Memory::new();
    alone.read_as("copilot-cli", &alone.write("5eaf00d.jsonl", &flat));
    assert_eq!(alone.turns("5eaf00d").len(), 2);
}
