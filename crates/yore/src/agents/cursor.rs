//! Cursor's hooks. It reads an answer only at a session's start.

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};

const NAME: &str = "cursor";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME],
    events: &[
        HookEvent::installed("sessionStart", SessionStart, 10),
        HookEvent::installed("beforeSubmitPrompt", Prompt, 5),
        HookEvent::installed("stop", End, 5),
        HookEvent::installed("preCompact", BeforeCompaction, 5),
        HookEvent::installed("sessionEnd", End, 5),
        HookEvent::new("subagentStart", SubagentStart),
        HookEvent::new("subagentStop", End),
        HookEvent::new("preToolUse", BeforeTool),
        HookEvent::new("postToolUse", AfterTool),
        HookEvent::new("postToolUseFailure", ToolFailure),
        HookEvent::new("afterAgentResponse", Progress),
        HookEvent::new("afterAgentThought", Progress),
        HookEvent::new("afterFileEdit", Progress),
        HookEvent::new("afterMCPExecution", Progress),
        HookEvent::new("afterShellExecution", Progress),
        HookEvent::new("afterTabFileEdit", Progress),
        HookEvent::new("beforeMCPExecution", Progress),
        HookEvent::new("beforeReadFile", Progress),
        HookEvent::new("beforeShellExecution", Progress),
    ],
    fields: &[
        Field::identifying("conversation_id", Holds::Conversation),
        Field::identifying("cursor_version", Holds::Version),
        Field::new("hook_event_name", Holds::Event),
        Field::new("workspace_roots", Holds::Roots),
    ],
    output: Some(Output::Snake),
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted(),
        Prompt | BeforeTool | AfterTool | ToolFailure | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "conversation_id": sample::DOCTOR, "generation_id": sample::DOCTOR, "hook_event_name": asked.event,
        "cursor_version": "3", "workspace_roots": [asked.directory],
    });
    let own = match asked.event {
        "beforeSubmitPrompt" => json!({"prompt": sample::PROMPT, "attachments": []}),
        "afterAgentResponse" => json!({"text": "done"}),
        "afterFileEdit" => json!({"file_path": asked.directory.join("README.md"), "edits": []}),
        "stop" => json!({"status": "completed", "loop_count": 0}),
        _ => json!({}),
    };
    sample::joined(all, own)
}
