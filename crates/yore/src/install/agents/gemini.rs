//! Gemini CLI: server and hooks in one settings file.

use serde_json::json;

use super::{Agent, Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, scoped, server};
use crate::install::machine::{Machine, below};
use crate::install::{FileEdit, Scope, Wanted};

const NAME: &str = "gemini";

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["gemini-cli"],
    title: "Gemini CLI",
    traces: |machine| vec![home(machine)],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["sessions that run already go on without it; /hooks and /mcp list it in new ones"],
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
    path.map(|path| json_file(path, vec![mcp, hooks])).into_iter().collect()
}
