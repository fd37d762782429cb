//! Codex: a server in `config.toml`, hooks in `hooks.json` beside it.

use super::{Agent, Hook, NEEDED, Unit, json_file, scoped};
use crate::install::edit::Content;
use crate::install::edit::entries::Entry;
use crate::install::edit::toml::Server;
use crate::install::{FileEdit, Scope, Wanted};

const NAME: &str = "codex";
const HOOKS: [Hook; 8] = [
    Hook::new("SessionStart", 10),
    Hook::new("UserPromptSubmit", 5),
    Hook::new("PreToolUse", 5).matching("Bash|apply_patch"),
    Hook::new("PostToolUse", 5).matching("Bash"),
    Hook::new("SubagentStart", 5),
    Hook::new("Stop", 5),
    Hook::new("PreCompact", 5),
    Hook::new("SessionEnd", 2),
];

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["codex-cli"],
    title: "Codex",
    traces: |machine| vec![machine.directory("CODEX_HOME", ".codex")],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["Codex runs no hook before you trusted it: type /hooks in Codex"],
        Scope::Project => vec![
            "Codex runs no hook before you trusted it: type /hooks in Codex",
            "Codex reads a project's settings only where the project is trusted",
        ],
    },
    needless: NEEDED,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let group = |hook: &Hook| {
        let (event, mut group) = hook.group(wanted, NAME, Unit::Seconds);
        if machine.is_windows() {
            let command = group["hooks"][0]["command"].clone();
            group["hooks"][0]["commandWindows"] = command;
        }
        (event, group)
    };
    let hooks = Entry::Hooks { agents: &[NAME, "codex-cli"], events: HOOKS.iter().map(group).collect() };
    let mcp = Server { table: "mcp_servers", program: wanted.program.path.clone(), args: wanted.program.mcp() };
    let place = |name: &str| scoped(wanted, || machine.directory("CODEX_HOME", ".codex").join(name), &format!(".codex/{name}"));
    let mut edits = Vec::new();
    edits.extend(place("config.toml").map(|path| FileEdit { path, content: Content::Toml(mcp), is_own: false }));
    edits.extend(place("hooks.json").map(|path| json_file(path, vec![hooks])));
    edits
}
