//! Cursor: a server, hooks, and a rule for a project. The text that its hook adds at a session's start does
//! not always reach the model in the window, so a project's rule says the same in short.

use serde_json::json;

use super::{Agent, Hook, NEEDED, NONE_IDLE, Unit, hooks, json_file, line, rules_file, scoped, server};
use crate::install::command::Shell;
use crate::install::edit::entries::Entry;
use crate::install::{FileEdit, Scope, Wanted};

const NAME: &str = "cursor";
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
