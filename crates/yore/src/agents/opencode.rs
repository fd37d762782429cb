//! The hooks of OpenCode and of its fork Kilo, which yore's plugin runs.

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};

pub(super) const OPENCODE: AgentProfile = AgentProfile { source: "opencode", names: &["opencode"], ..BOTH };
pub(super) const KILO: AgentProfile = AgentProfile { source: "kilo", names: &["kilo"], ..BOTH };

/// The fields of the input that yore's plugins send.
pub(super) const PLUGIN_FIELDS: &[Field] = &[
    Field::new("session_id", Holds::Session),
    Field::new("hook_event_name", Holds::Event),
    Field::new("cwd", Holds::Directory),
    Field::new("agent_id", Holds::AgentId),
    // The name in OpenCode's own events.
    Field::new("sessionID", Holds::Session),
];

const BOTH: AgentProfile = AgentProfile {
    is_plugin: true,
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("chat.message", Prompt, 5),
        HookEvent::installed("session.idle", End, 5),
        HookEvent::new("tool.execute.after", AfterTool),
        HookEvent::new("SubagentStart", SubagentStart),
        HookEvent::new("session.compacted", AfterCompaction),
        HookEvent::new("message.updated", Progress),
    ],
    fields: PLUGIN_FIELDS,
    file_tools: &["apply_patch", "edit", "multiedit", "patch", "read", "write"],
    shells: &["bash"],
    output: Some(Output::Plain),
    reads_text: &[SessionStart, Prompt, AfterTool, SubagentStart, End],
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        AfterTool => event.files_or_failure(),
        SubagentStart => event.sub_agent(errands),
        // The next prompt may reach a process that has not seen the compaction.
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | ToolFailure | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({"session_id": sample::DOCTOR, "hook_event_name": asked.event, "cwd": asked.directory});
    sample::joined(all, if asked.event == "chat.message" { json!({"prompt": sample::PROMPT}) } else { json!({}) })
}
