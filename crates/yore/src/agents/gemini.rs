//! Gemini CLI's hooks. Text from a session's start is put before the first prompt in the same message, so the
//! brief comes with that prompt.

use serde_json::{Value, json};

use super::EventKind::*;
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question, Sample, sample};

const NAME: &str = "gemini";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "gemini-cli"],
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("BeforeAgent", Prompt, 5),
        HookEvent::matching("AfterTool", AfterTool, 5, "read_file|replace|write_file|run_shell_command"),
        HookEvent::installed("AfterAgent", End, 5),
        HookEvent::installed("SessionEnd", End, 5),
        // Gemini CLI runs this event before every request to its model.
        HookEvent::new("PreCompress", BeforeCompaction),
        HookEvent::new("BeforeTool", BeforeTool),
        HookEvent::new("AfterModel", Progress),
        HookEvent::new("Notification", Progress),
    ],
    file_tools: &["read_file", "replace", "write_file"],
    shells: &["run_shell_command"],
    output: Some(Output::Specific),
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.cleared(),
        Prompt => event.prompt_with_brief(),
        AfterTool => event.files_or_failure(),
        // The event is reported for each check of the context, not only for a compaction.
        BeforeCompaction | AfterCompaction => Vec::new(),
        BeforeTool | ToolFailure | SubagentStart | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "session_id": sample::DOCTOR, "transcript_path": sample::transcript(asked), "cwd": asked.directory,
        "hook_event_name": asked.event, "timestamp": asked.at_ms.to_string(),
    });
    let own = match asked.event {
        "SessionStart" => json!({"source": "startup"}),
        "BeforeAgent" => json!({"prompt": sample::PROMPT}),
        "AfterAgent" => json!({"prompt": sample::PROMPT, "prompt_response": "done", "stop_hook_active": false}),
        "SessionEnd" => json!({"reason": "exit"}),
        _ => json!({}),
    };
    sample::joined(all, own)
}
