//! Claude Code's hooks. Cursor, VS Code and Continue run those that they find in its settings, too.

use serde_json::Value;

use super::EventKind::*;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, sample};

/// Its name in the store.
pub const NAME: &str = "claude-code";
/// The variable that tells the programs that it starts which session they belong to.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";
/// The variable that tells its hooks the project's directory.
pub const PROJECT_VARIABLE: &str = "CLAUDE_PROJECT_DIR";

/// Most agents that came later name their fields as it does.
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
    // The same as in the plugin. A search in yore's own answers would only find what was just found. Of a
    // compaction only the event before it, when the last words are read: Claude Code tells the person of each
    // hook there.
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

/// The errands that a line of its transcripts gives, and whether all that came before is over.
pub(super) fn errands(line: &Value) -> (Vec<String>, bool) {
    let content = line["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = content.iter().filter(|block| matches!(block["name"].as_str(), Some("Agent" | "Task")));
    (
        calls.filter_map(|block| block["input"]["prompt"].as_str().map(str::to_owned)).collect(),
        line["type"].as_str() == Some("user"),
    )
}
