//! Copilot Chat in VS Code and its variants: a server in the profile, hooks in files of their own, instructions. Hooks are a
//! preview there that a company may have switched off; so there are instructions.
//!
//! The hooks of Copilot Chat in VS Code: Claude Code's events under its own names.

use serde_json::{Map, Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{COPILOT, Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, line, own_json_file, rules_file, server};
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};
use crate::install::command::Shell;
use crate::install::machine::{Machine, below};
use crate::install::{Agent, FileEdit, Scope, Wanted};
use yore_sources::source::VSCODE_BUILDS;

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

pub(super) const AGENT: Agent = Agent {
    name: "vscode",
    aliases: &["copilot-chat", "code"],
    title: "VS Code (Copilot Chat)",
    // Files of extensions are no evidence: other programs may have put them there.
    traces: |machine| {
        let users = machine.editors(&VSCODE_BUILDS);
        let names = ["settings.json", "workspaceStorage", "globalStorage/state.vscdb"];
        users.iter().flat_map(|user| names.map(|name| below(user, name))).collect()
    },
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec![
            "VS Code asks once whether the server may be started",
            "hooks are a preview in VS Code: the setting chat.useHooks switches them on",
        ],
        Scope::Project => vec![
            "VS Code asks once whether the server may be started",
            "these files name the program on this computer; others who share them need their own path",
        ],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let mcp = || server(wanted, &["servers"], json!({"type": "stdio"}));
    let hooks = hooks(NAME, |hook| call(hook, wanted));
    match wanted.scope {
        Scope::User => {
            let mut edits = Vec::new();
            for user in users(machine) {
                edits.push(json_file(user.join("mcp.json"), vec![mcp()]));
                edits.push(rules_file(user.join("prompts").join("yore.instructions.md"), COPILOT));
            }
            edits.push(own_json_file(machine.at_home(".copilot/hooks/yore-vscode.json"), vec![hooks]));
            edits
        }
        Scope::Project => {
            let Some(root) = &machine.project else { return Vec::new() };
            vec![
                json_file(root.join(".vscode").join("mcp.json"), vec![mcp()]),
                own_json_file(root.join(".github").join("hooks").join("yore-vscode.json"), vec![hooks]),
                rules_file(root.join(".github").join("instructions").join("yore.instructions.md"), COPILOT),
            ]
        }
    }
}

/// Returns the profiles of all installed variants; of VS Code itself if there is none.
fn users(machine: &Machine<'_>) -> Vec<std::path::PathBuf> {
    let mut users = machine.editors(&VSCODE_BUILDS);
    if users.is_empty() {
        users.push(machine.configuration().join("Code").join("User"));
    }
    users
}

fn call(hook: &Hook, wanted: &Wanted<'_>) -> (&'static str, Value) {
    let mut call = Map::new();
    call.insert("type".to_owned(), "command".into());
    call.insert("command".to_owned(), line(wanted, Shell::of(wanted.machine.platform), NAME, hook.event).into());
    call.insert("timeout".to_owned(), hook.timeout(Unit::Seconds));
    (hook.event, Value::Object(call))
}
