//! Antigravity's logs of steps.

use serde_json::{Value, json};
use yore_testing::Memory;

use crate::told::{skipped, told, words_from_archive};

fn step(at: u64, source: &str, kind: &str, content: &str) -> Value {
    json!({"step_index": at, "source": source, "type": kind, "status": "DONE", "created_at": format!("2026-06-20T06:35:{at:02}Z"), "content": content})
}

fn log() -> String {
    let mut call = step(2, "MODEL", "PLANNER_RESPONSE", "I look.");
    call["thinking"] = "a hidden thought".into();
    call["tool_calls"] = json!([
        {"name": "view_file", "args": {"AbsolutePath": "\"/home/ada/locks/gate.rs\"", "toolSummary": "\"look\""}},
        {"name": "run_command", "args": {"CommandLine": "\"gate --test\"", "Cwd": "\"/home/ada/locks\""}},
        {"name": "replace_file_content", "args": {"TargetFile": "\"/home/ada/locks/gate.rs\"", "ReplacementContent": "\"open();\\nclose();\""}},
    ]);
    let mut failed = step(4, "MODEL", "RUN_COMMAND", "Created At: x\nCompleted At: y\nThe gate stuck.\nExit code: 3");
    failed["truncated_fields"] = json!(["content"]);
    let steps = [
        step(
            0,
            "USER_EXPLICIT",
            "USER_INPUT",
            "<USER_REQUEST>\nwhy does the gate stick\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Harbour 3.5. No need.\n</USER_SETTINGS_CHANGE>",
        ),
        json!({"step_index": 1, "source": "SYSTEM", "type": "CONVERSATION_HISTORY", "status": "DONE", "created_at": "2026-06-20T06:35:01Z"}),
        call,
        step(3, "MODEL", "VIEW_FILE", "Created At: x\nCompleted At: y\n1: fn gate() {}"),
        failed,
        step(5, "SYSTEM", "EPHEMERAL_MESSAGE", "Mind the gap."),
        step(6, "SYSTEM", "CHECKPOINT", "The gate stuck."),
        step(7, "MODEL", "PLANNER_RESPONSE", "It rusts."),
    ];
    steps.iter().map(|step| format!("{step}\n")).collect()
}

#[test]
fn steps_become_turns_and_the_whole_log_counts() {
    let memory = Memory::new();
    let folder = "antigravity/brain/c-1/.system_generated/logs";
    memory.write(
        &format!("{folder}/transcript.jsonl"),
        "{\"step_index\":0,\"source\":\"USER_EXPLICIT\",\"type\":\"USER_INPUT\",\"content\":\"cut\"}\n",
    );
    memory.write(&format!("{folder}/transcript_full.jsonl"), log() + "{\"torn\n");
    memory.write("antigravity/brain/c-1/task.md", "# a list of the program's own");
    let report = memory.read_as("antigravity", &memory.sources().join("antigravity/brain"));
    assert_eq!((report.files, skipped(&report)), (1, vec!["damaged 1 lines are no JSON 1".to_owned()]));
    assert_eq!(
        told(&memory, "c-1"),
        [
            "human exact: why does the gate stick",
            "assistant exact: I look.> view_file / AbsolutePath: /home/ada/locks/gate.rs /  / run_command / CommandLine: gate --test / Cwd: /home/ada/locks /  / replace_file_content / TargetFile: /home/ada/locks/gate.rs / ReplacementContent: open(); / close();",
            "tool_result exact: > 1: fn gate() {}",
            "tool_result! exact: > The gate stuck. / Exit code: 3",
            "injected exact: Mind the gap.",
            "summary exact: The gate stuck.",
            "assistant exact: It rusts.",
        ]
    );
    let turns = memory.turns("c-1");
    assert_eq!((turns[1].model.as_deref(), turns[1].project.as_deref()), (Some("Harbour 3.5"), Some("locks")));
    assert!(!memory.words().contains("hidden thought"));
    assert_eq!(words_from_archive(&memory), memory.words());
    memory.forget_hard("c-1");
    memory.read_as("antigravity", &memory.sources().join("antigravity/brain"));
    assert!(memory.turns("c-1").is_empty());
}
