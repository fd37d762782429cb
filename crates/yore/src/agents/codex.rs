//! Codex's hooks: the events of Claude Code, with Codex's own tool names.

use serde_json::Value;

use super::EventKind::*;
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question};

const NAME: &str = "codex";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "codex-cli"],
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::matching("PreToolUse", BeforeTool, 5, "Bash|apply_patch"),
        HookEvent::matching("PostToolUse", AfterTool, 5, "Bash"),
        HookEvent::installed("SubagentStart", SubagentStart, 5),
        HookEvent::installed("Stop", End, 5),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("SessionEnd", End, 2),
        HookEvent::new("SubagentStop", End),
        HookEvent::new("PostCompact", AfterCompaction),
        HookEvent::new("PermissionRequest", Progress),
    ],
    file_tools: &["apply_patch"],
    shells: &["bash", "exec_command", "shell"],
    output: Some(Output::Specific),
    questions,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        BeforeTool => event.files(),
        AfterTool => event.failure(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted_before_start(),
        ToolFailure | End | Progress => Vec::new(),
    }
}

/// Returns the tasks that a transcript item gives to sub-agents, and true if no earlier item can hold an open
/// task.
fn errands(line: &Value) -> (Vec<String>, bool) {
    let item = &line["payload"];
    let is_before = item["type"].as_str().is_some_and(|kind| kind.ends_with("_output") || kind == "user_message");
    let arguments = item["arguments"].as_str().filter(|_| item["name"].as_str() == Some("spawn_agent"));
    let arguments: Option<Value> = arguments.and_then(|arguments| serde_json::from_str(arguments).ok());
    (arguments.and_then(|arguments| arguments["message"].as_str().map(str::to_owned)).into_iter().collect(), is_before)
}
