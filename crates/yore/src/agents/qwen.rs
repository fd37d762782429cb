//! Qwen Code's hooks: Claude Code's events. Text from a session's start goes into a system prompt that is
//! rebuilt each time, so the brief comes with the first prompt.

use super::EventKind::*;
use super::claude_code::errands;
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question};

const NAME: &str = "qwen";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "qwen-code"],
    // Text from hooks that run before a tool or when a sub-agent begins does not reach the model.
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::matching("PostToolUse", AfterTool, 5, "read_file|edit|write_file|run_shell_command"),
        HookEvent::matching("PostToolUseFailure", ToolFailure, 5, "run_shell_command"),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("Stop", End, 5),
        HookEvent::installed("SessionEnd", End, 5),
        HookEvent::new("PreToolUse", BeforeTool),
        HookEvent::new("SubagentStart", SubagentStart),
        HookEvent::new("SubagentStop", End),
        HookEvent::new("PermissionRequest", Progress),
        HookEvent::new("Notification", Progress),
    ],
    file_tools: &["edit", "notebook_edit", "read_file", "write_file"],
    shells: &["run_shell_command"],
    output: Some(Output::Specific),
    questions,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.cleared(),
        Prompt => event.prompt_with_brief(),
        AfterTool | ToolFailure => event.files_or_failure(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | End | Progress => Vec::new(),
    }
}
