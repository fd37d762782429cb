//! Claude Code's hooks. Cursor, VS Code and Continue also run the hooks they find in Claude Code's settings.

use serde_json::Value;

use super::EventKind::*;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, sample};

/// Claude Code's name in the store.
pub const NAME: &str = "claude-code";
/// Environment variable that gives the programs it starts the id of their session.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";
/// Environment variable that gives its hooks the project's directory.
pub const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Fields of its hook input. Most agents that came later use the same names.
pub(super) const FIELDS: &[Field] = &[
    Field::new("session_id", Holds::Session),
    Field::new("transcript_path", Holds::Transcript),
    Field::new("agent_transcript_path", Holds::OwnTranscript),
    Field::new("cwd", Holds::Directory),
    Field::new("hook_event_name", Holds::Event),
    Field::new("agent_id", Holds::AgentId),
];

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "claude"],
    // The same events as in the plugin. Failures of yore's own tools are left out: a search would only return
    // what was just found. Of the two compaction events only the one before is installed, where the last
    // turns are read: Claude Code shows the user every hook that runs there.
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::matching("PreToolUse", BeforeTool, 5, "Read|Edit|Write|MultiEdit|NotebookEdit"),
        HookEvent::matching("PostToolUse", AfterTool, 5, "Bash"),
        HookEvent::matching("PostToolUseFailure", ToolFailure, 5, "^(?!mcp__(plugin_yore_)?yore__)"),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("SubagentStart", SubagentStart, 5),
        HookEvent::installed("SubagentStop", End, 5),
        HookEvent::installed("Stop", End, 5),
        HookEvent::installed("SessionEnd", End, 2),
        HookEvent::new("PostCompact", AfterCompaction),
        HookEvent::new("StopFailure", End),
        HookEvent::new("CwdChanged", Progress),
        HookEvent::new("Notification", Progress),
        HookEvent::new("PermissionRequest", Progress),
        HookEvent::new("PostToolBatch", Progress),
        HookEvent::new("TaskCompleted", Progress),
        HookEvent::new("TaskCreated", Progress),
        HookEvent::new("TeammateIdle", Progress),
        HookEvent::new("UserPromptExpansion", Progress),
    ],
    fields: FIELDS,
    file_tools: &["edit", "multiedit", "notebookedit", "read", "write"],
    shells: &["bash"],
    output: Some(Output::Specific),
    reads_text: &[SessionStart, Prompt],
    questions,
    sample: sample::as_claude_code,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        BeforeTool => event.files(),
        AfterTool => event.failure(),
        ToolFailure => event.failed(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted_before_start(),
        End | Progress => Vec::new(),
    }
}

/// Returns the tasks that a transcript line gives to sub-agents, and true if no earlier line can hold an open
/// task.
pub(super) fn errands(line: &Value) -> (Vec<String>, bool) {
    let content = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = content.iter().filter(|block| matches!(block["name"].as_str(), Some("Agent" | "Task")));
    (
        calls.filter_map(|block| block["input"]["prompt"].as_str().map(str::to_owned)).collect(),
        line["type"].as_str() == Some("user"),
    )
}
