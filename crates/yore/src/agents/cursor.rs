//! Cursor: a server, hooks, and a rule for a project. The text that its hook adds at a session's start does
//! not always reach the model in the window, so a project's rule says the same in short.
//!
//! Cursor's hooks. It reads an answer only at a session's start.

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, line, rules_file, scoped, server};
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};
use crate::install::command::Shell;
use crate::install::edit::entries::Entry;
use crate::install::{Agent, FileEdit, Scope, Wanted};

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

const FRONT_MATTER: &str = "---\ndescription: What was said in past sessions, and how to find it\nalwaysApply: true\n---\n\n";

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Cursor",
    traces: |machine| vec![machine.at_home(".cursor"), machine.configuration().join("Cursor")],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec![
            "Cursor's settings list the server under Tools & MCP; switch it on there if it is off",
            "`yore install cursor --scope project` adds a rule, which Cursor reads more reliably than what hooks say",
        ],
        Scope::Project => vec!["Cursor's settings list the server under Tools & MCP; switch it on there if it is off"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let shell = Shell::of(machine.platform);
    let call = |hook: &Hook| {
        (hook.event, json!({"command": line(wanted, shell, NAME, hook.event), "timeout": hook.timeout(Unit::Seconds)}))
    };
    let hooks = hooks(NAME, call);
    let mcp = server(wanted, &["mcpServers"], json!({}));
    let place = |name: &str| scoped(wanted, || machine.at_home(".cursor").join(name), &format!(".cursor/{name}"));
    let mut edits = Vec::new();
    edits.extend(place("mcp.json").map(|path| json_file(path, vec![mcp])));
    edits.extend(place("hooks.json").map(|path| json_file(path, vec![Entry::Version, hooks])));
    if wanted.scope == Scope::Project {
        edits.extend(machine.in_project(".cursor/rules/yore.mdc").map(|path| rules_file(path, FRONT_MATTER)));
    }
    edits
}
