//! Gemini CLI: server and hooks in one settings file.
//!
//! Gemini CLI's hooks. Text from a session's start is put before the first prompt in the same message, so the
//! brief comes with that prompt.

use serde_json::{Value, json};

use super::EventKind::*;
use super::entry::{Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, scoped, server, skill};
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question, Sample, sample};
use crate::install::machine::{Machine, below};
use crate::install::{Agent, FileEdit, Scope, Wanted};

const NAME: &str = "gemini";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "gemini-cli"],
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("BeforeAgent", Prompt, 5),
        HookEvent::matching("AfterTool", AfterTool, 5, "read_file|replace|write_file|run_shell_command"),
        HookEvent::installed("AfterAgent", End, 5),
        HookEvent::installed("SessionEnd", End, 5),
        // Gemini CLI runs this event before every request to its model.
        HookEvent::new("PreCompress", BeforeCompaction),
        HookEvent::new("BeforeTool", BeforeTool),
        HookEvent::new("AfterModel", Progress),
        HookEvent::new("Notification", Progress),
    ],
    file_tools: &["read_file", "replace", "write_file"],
    shells: &["run_shell_command"],
    output: Some(Output::Specific),
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.cleared(),
        Prompt => event.prompt_with_brief(),
        AfterTool => event.files_or_failure(),
        // The event is reported for each check of the context, not only for a compaction.
        BeforeCompaction | AfterCompaction => Vec::new(),
        // An answer that its event for the end of a turn refuses is discarded, and the prompt sent again: nothing is asked there.
        BeforeTool | ToolFailure | SubagentStart | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "session_id": sample::DOCTOR, "transcript_path": sample::transcript(asked), "cwd": asked.directory,
        "hook_event_name": asked.event, "timestamp": asked.at_ms.to_string(),
    });
    let own = match asked.event {
        "SessionStart" => json!({"source": "startup"}),
        "BeforeAgent" => json!({"prompt": sample::PROMPT}),
        "AfterAgent" => json!({"prompt": sample::PROMPT, "prompt_response": "done", "stop_hook_active": false}),
        "SessionEnd" => json!({"reason": "exit"}),
        _ => json!({}),
    };
    sample::joined(all, own)
}

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    traces: |machine| vec![home(machine)],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["running sessions continue without it; /hooks and /mcp list it in new ones"],
        Scope::Project => {
            vec!["Gemini CLI reads a project's settings only where the folder is trusted, and warns of its hooks once"]
        }
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

/// Returns Gemini's folder; the variable replaces the home directory.
fn home(machine: &Machine<'_>) -> std::path::PathBuf {
    below(&machine.named("GEMINI_CLI_HOME").unwrap_or_else(|| machine.home.clone()), ".gemini")
}

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let group = |hook: &Hook| {
        let (event, mut group) = hook.group(wanted, NAME, Unit::Milliseconds);
        group["hooks"][0]["name"] = "yore".into();
        (event, group)
    };
    let hooks = hooks(NAME, group);
    let mcp = server(wanted, &["mcpServers"], json!({}));
    let path = scoped(wanted, || home(wanted.machine).join("settings.json"), ".gemini/settings.json");
    let skill = scoped(wanted, || home(wanted.machine), ".gemini").map(|home| skill(wanted, &home));
    path.map(|path| json_file(path, vec![mcp, hooks])).into_iter().chain(skill).collect()
}
