//! The hooks of Copilot Chat in VS Code: Claude Code's events under its own names.

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};

const NAME: &str = "copilot-chat";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME],
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("Stop", End, 5),
        HookEvent::new("SubagentStart", SubagentStart),
        HookEvent::new("SubagentStop", End),
        HookEvent::new("PreToolUse", BeforeTool),
        HookEvent::new("PostToolUse", AfterTool),
    ],
    fields: &[
        Field::new("sessionId", Holds::Session),
        Field::new("transcript_path", Holds::Transcript),
        Field::new("cwd", Holds::Directory),
        Field::identifying("hookEventName", Holds::Event),
    ],
    output: Some(Output::Specific),
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | AfterTool | ToolFailure | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "timestamp": asked.at_ms.to_string(), "cwd": asked.directory, "sessionId": sample::DOCTOR,
        "hookEventName": asked.event, "transcript_path": sample::transcript(asked),
    });
    let own = match asked.event {
        "SessionStart" => json!({"source": "new"}),
        "UserPromptSubmit" => json!({"prompt": sample::PROMPT}),
        "PreCompact" => json!({"trigger": "auto"}),
        "Stop" => json!({"stop_hook_active": false}),
        _ => json!({}),
    };
    sample::joined(all, own)
}
