//! Cline's hooks. Its extension runs executables named after the events. Its newer programs run hooks
//! detached and ignore their output, so there yore's plugin delivers the text.

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::opencode::PLUGIN_FIELDS;
use super::{AgentProfile, Field, Holds, HookEvent, Output, Sample, sample};

const NAME: &str = "cline";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME],
    events: &[
        HookEvent::installed("TaskStart", SessionStart, 5),
        HookEvent::installed("TaskResume", SessionStart, 5),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("TaskComplete", End, 5),
        HookEvent::installed("TaskCancel", End, 5),
        HookEvent::new("PreToolUse", BeforeTool),
        HookEvent::new("PostToolUse", AfterTool),
    ],
    fields: &[
        Field::new("taskId", Holds::Session),
        Field::new("task_id", Holds::Session),
        Field::new("sessionContext", Holds::SessionContext),
        Field::new("hookName", Holds::Event),
        Field::new("workspaceRoots", Holds::Roots),
        Field::new("agent_id", Holds::AgentId),
        Field::new("parent_agent_id", Holds::ParentAgent),
    ],
    output: Some(Output::Cancel),
    questions: |event, kind| match kind {
        // Cline's newer programs write event names this way.
        _ if event.words()["hookName"].as_str().is_some_and(|name| name.contains('_')) => Vec::new(),
        SessionStart => event.start(),
        Prompt => event.prompt(),
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | AfterTool | ToolFailure | SubagentStart | End | Progress => Vec::new(),
    },
    sample,
    ..AgentProfile::UNKNOWN
};

/// Yore's plugin in Cline's newer programs.
pub(super) const PLUGIN: AgentProfile = AgentProfile {
    source: NAME,
    names: &["cline-plugin"],
    is_plugin: true,
    events: &[
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::installed("tool.execute.after", AfterTool, 5),
        HookEvent::installed("TaskComplete", End, 5),
        HookEvent::new("SubagentStart", SubagentStart),
    ],
    fields: PLUGIN_FIELDS,
    file_tools: &["apply_patch", "editor", "read_files"],
    shells: &["execute_command", "run_commands"],
    output: Some(Output::Plain),
    reads_text: &[Prompt, AfterTool, SubagentStart, End],
    questions: |event, kind| match kind {
        Prompt if event.agent_id.is_none() => event.prompt_with_brief(),
        Prompt => event.prompt(),
        AfterTool => event.files_or_failure(),
        SubagentStart => event.sub_agent(errands),
        SessionStart | BeforeTool | ToolFailure | BeforeCompaction | AfterCompaction | End | Progress => Vec::new(),
    },
    sample: |asked| {
        let all = json!({"session_id": sample::DOCTOR, "hook_event_name": asked.event, "cwd": asked.directory});
        sample::joined(all, if asked.event == "UserPromptSubmit" { json!({"prompt": sample::PROMPT}) } else { json!({}) })
    },
    ..AgentProfile::UNKNOWN
};

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "clineVersion": "3", "hookName": asked.event, "timestamp": asked.at_ms.to_string(), "taskId": sample::DOCTOR,
        "workspaceRoots": [asked.directory], "userId": "",
    });
    let own = match asked.event {
        "TaskStart" => {
            json!({"taskStart": {"taskMetadata": {"taskId": sample::DOCTOR, "ulid": "", "initialTask": sample::PROMPT}}})
        }
        "UserPromptSubmit" => json!({"userPromptSubmit": {"prompt": sample::PROMPT, "attachments": []}}),
        _ => json!({}),
    };
    sample::joined(all, own)
}
