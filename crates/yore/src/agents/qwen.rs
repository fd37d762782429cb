//! Qwen Code: server and hooks in one settings file in the form of Gemini CLI, with Claude Code's events.
//!
//! Qwen Code's hooks: Claude Code's events. Text from a session's start goes into a system prompt that is
//! rebuilt each time, so the brief comes with the first prompt.

use serde_json::json;

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, scoped, server, skill};
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question};
use crate::install::machine::Machine;
use crate::install::{Agent, FileEdit, Scope, Wanted};

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
        End => event.turn_ended(),
        BeforeTool | Progress => Vec::new(),
    }
}

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["qwen-code"],
    title: "Qwen Code",
    traces: |machine| vec![home(machine)],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["running sessions continue without it"],
        Scope::Project => vec!["Qwen Code reads a project's settings only where the folder is trusted"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn home(machine: &Machine<'_>) -> std::path::PathBuf {
    machine.directory("QWEN_HOME", ".qwen")
}

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let group = |hook: &Hook| {
        let (event, mut group) = hook.group(wanted, NAME, Unit::Milliseconds);
        group["hooks"][0]["name"] = "yore".into();
        (event, group)
    };
    let hooks = hooks(NAME, group);
    // Otherwise its model sees the tools by name only and needs another round for each.
    let mcp = server(wanted, &["mcpServers"], json!({"alwaysLoadTools": true}));
    let path = scoped(wanted, || home(wanted.machine).join("settings.json"), ".qwen/settings.json");
    let skill = scoped(wanted, || home(wanted.machine), ".qwen").map(|home| skill(wanted, &home));
    path.map(|path| json_file(path, vec![mcp, hooks])).into_iter().chain(skill).collect()
}
