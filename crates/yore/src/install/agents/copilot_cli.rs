//! Copilot CLI: a server and hooks; instructions, because not every version passes on the output of hooks.

use serde_json::{Map, Value, json};

use super::{
    Agent, COPILOT, Hook, NEEDED, NONE_IDLE, Unit, hook_line, hooks, json_file, own_json_file, rules_block, rules_file, scoped,
};
use crate::install::command::Shell;
use crate::install::edit::entries::Entry;
use crate::install::{FileEdit, Scope, Wanted};

const NAME: &str = "copilot-cli";

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["copilot"],
    title: "Copilot CLI",
    // Other programs put hooks and instructions into the same folder.
    traces: |machine| {
        let home = machine.directory("COPILOT_HOME", ".copilot");
        ["session-state", "config.json", "mcp-config.json", "logs", "session-store.db"].map(|name| home.join(name)).into()
    },
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["sessions that run already go on without it"],
        Scope::Project => vec![
            "Copilot CLI has servers for the person only: `yore install copilot-cli` adds it",
            "these files name the program on this computer; others who share them need their own path",
        ],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let home = wanted.machine.directory("COPILOT_HOME", ".copilot");
    let hooks = hooks(NAME, |hook| call(hook, wanted));
    let mut edits = Vec::new();
    if wanted.scope == Scope::User {
        let value = json!({"type": "local", "command": wanted.program.path, "args": wanted.program.mcp(), "tools": ["*"]});
        edits.push(json_file(home.join("mcp-config.json"), vec![Entry::Server { at: &["mcpServers"], value }]));
    }
    let place = scoped(wanted, || home.join("hooks").join("yore.json"), ".github/hooks/yore.json");
    edits.extend(place.map(|path| own_json_file(path, vec![Entry::Version, hooks])));
    match wanted.scope {
        Scope::User => edits.push(rules_block(home.join("copilot-instructions.md"))),
        // The same file as VS Code's.
        Scope::Project => edits
            .extend(wanted.machine.in_project(".github/instructions/yore.instructions.md").map(|path| rules_file(path, COPILOT))),
    }
    edits
}

fn call(hook: &Hook, wanted: &Wanted<'_>) -> (&'static str, Value) {
    let (key, shell) = if wanted.machine.is_windows() { ("powershell", Shell::Pwsh) } else { ("bash", Shell::Posix) };
    let mut call = Map::new();
    call.insert("type".to_owned(), "command".into());
    call.insert(key.to_owned(), hook_line(wanted, shell, NAME, hook.event).into());
    call.insert("timeoutSec".to_owned(), hook.timeout(Unit::Seconds));
    (hook.event, Value::Object(call))
}
