//! Claude Code: hooks and status line in its settings, the server in the file beside them.
//!
//! The server could also be added by `claude mcp add`. The file is edited instead, so that it works even if
//! `claude` is not on the search path, and only one member changes. For a project the local settings are
//! used: they are not shared, and neither is the path of this program.
//!
//! Claude Code's hooks. Cursor, VS Code and Continue also run the hooks they find in Claude Code's settings.

use serde_json::{Map, Value, json};

use super::EventKind::*;
use super::entry::{Hook, NONE_IDLE, Unit, hooks, json_file, server, skill};
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, sample};
use crate::install::command::Shell;
use crate::install::edit::entries::Entry;
use crate::install::edit::json::Document;
use crate::install::machine::Machine;
use crate::install::{Agent, FileEdit, Purpose, Scope, Wanted, file};

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
        HookEvent::matching("PreToolUse", BeforeTool, 5, "Bash|Read|Edit|Write|MultiEdit|NotebookEdit"),
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
        BeforeTool => event.files_or_command(),
        AfterTool => event.failure(),
        ToolFailure => event.failed(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted_before_start(),
        End => event.turn_ended(),
        Progress => Vec::new(),
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

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["claude"],
    title: "Claude Code",
    traces: |machine| vec![machine.directory("CLAUDE_CONFIG_DIR", ".claude"), machine.at_home(".claude.json")],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["running sessions continue without it; new ones have it"],
        Scope::Project => vec![
            "Claude Code asks once whether the server in .mcp.json may be used",
            ".mcp.json names the program on this computer; others who share it need their own path",
        ],
    },
    needless,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let hooks = hooks(NAME, |hook| group(hook, wanted));
    let status_line = Entry::StatusLine(
        json!({"type": "command", "command": Shell::of(machine.platform).line(&wanted.program.path, &wanted.program.status_line())}),
    );
    let mcp = server(wanted, &["mcpServers"], json!({"type": "stdio"}));
    let moved = machine.named("CLAUDE_CONFIG_DIR");
    let settings = machine.directory("CLAUDE_CONFIG_DIR", ".claude");
    // Installed one by one, so that the hooks are entered even if the status line is refused.
    let in_settings = |path: std::path::PathBuf| match wanted.purpose {
        Purpose::Put => vec![json_file(path.clone(), vec![hooks.clone()]), json_file(path, vec![status_line.clone()])],
        Purpose::Take => vec![json_file(path, vec![hooks.clone(), status_line.clone()])],
    };
    match wanted.scope {
        Scope::User => {
            let mut edits = in_settings(settings.join("settings.json"));
            edits.push(json_file(moved.unwrap_or_else(|| machine.home.clone()).join(".claude.json"), vec![mcp]));
            edits.push(skill(wanted, &settings));
            edits
        }
        Scope::Project => {
            let local = machine.in_project(".claude/settings.local.json");
            // The user may have put it there by hand.
            let shared = machine.in_project(".claude/settings.json").filter(|_| wanted.purpose == Purpose::Take);
            let mut edits: Vec<FileEdit> = [local, shared].into_iter().flatten().flat_map(in_settings).collect();
            edits.extend(machine.in_project(".mcp.json").map(|path| json_file(path, vec![mcp])));
            edits.extend(machine.in_project(".claude").map(|home| skill(wanted, &home)));
            edits
        }
    }
}

fn group(hook: &Hook, wanted: &Wanted<'_>) -> (&'static str, serde_json::Value) {
    if !wanted.machine.is_windows() {
        return hook.group(wanted, NAME, Unit::Seconds);
    }
    // Without a shell: on Windows it would be Git's, if there is one.
    let mut call = Map::new();
    call.insert("type".to_owned(), "command".into());
    call.insert("command".to_owned(), wanted.program.path.clone().into());
    call.insert("args".to_owned(), wanted.program.hook(NAME, hook.event).into());
    call.insert("timeout".to_owned(), hook.timeout(Unit::Seconds));
    hook.grouped(call)
}

/// The plugin installs the same, and everything would be there twice.
fn needless(machine: &Machine<'_>) -> Option<String> {
    let settings = machine.directory("CLAUDE_CONFIG_DIR", ".claude").join("settings.json");
    let text = file::read(&settings).ok()??;
    let document = Document::parse(&text).ok()?;
    let plugins = document.at(&["enabledPlugins"])?.value();
    let is_enabled = plugins
        .as_object()?
        .iter()
        .any(|(name, enabled)| name.split('@').next() == Some("yore") && enabled.as_bool() != Some(false));
    is_enabled.then(|| {
        "yore's plugin is enabled in Claude Code and brings hooks and server; disable it first to install them here".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Guards against two diverging lists of the same hooks.
    #[test]
    fn hooks_are_those_of_the_plugin() {
        let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugin/hooks/hooks.json");
        let plugin: Value = serde_json::from_str(&std::fs::read_to_string(plugin).unwrap()).unwrap();
        let profile = crate::agents::named(NAME).unwrap();
        let ours: Vec<(&str, Option<&str>, u64)> =
            profile.installed().map(|(event, setup)| (event, setup.matcher, setup.seconds)).collect();
        let theirs: Vec<(&str, Option<&str>, u64)> = plugin["hooks"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(event, groups)| {
                (event.as_str(), groups[0]["matcher"].as_str(), groups[0]["hooks"][0]["timeout"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(ours, theirs);
    }
}
