//! Qwen Code: server and hooks in one settings file in the form of Gemini CLI, with Claude Code's events.

use serde_json::json;

use super::{Agent, Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, scoped, server};
use crate::install::machine::Machine;
use crate::install::{FileEdit, Scope, Wanted};

const NAME: &str = "qwen";

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["qwen-code"],
    title: "Qwen Code",
    traces: |machine| vec![home(machine)],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["sessions that run already go on without it"],
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
    path.map(|path| json_file(path, vec![mcp, hooks])).into_iter().collect()
}
