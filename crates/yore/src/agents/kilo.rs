//! Kilo Code: a server and rules. It exists in two forms: the VS Code extension derived from Roo Code, and
//! the newer one derived from OpenCode, which runs OpenCode's plugins and shares its settings with a command
//! line.

use std::path::PathBuf;

use serde_json::json;

use super::AgentProfile;
use super::entry::{NEEDED, NONE_IDLE, extension_settings, extension_traces, json_file, rules_file, scoped, server};
use super::opencode::{BOTH, pick};
use super::plugin::{OPENCODE, Plugin};
use crate::install::edit::entries::Entry;
use crate::install::machine::{Machine, below};
use crate::install::{Agent, FileEdit, Purpose, Scope, Wanted};

const NAME: &str = "kilo";
const EXTENSION: &str = "kilocode.kilo-code";
const PLUGIN: Plugin = Plugin { title: "Kilo", install: "kilo", agent: "kilo", body: OPENCODE };

pub(super) const PROFILE: AgentProfile = AgentProfile { source: NAME, names: &[NAME], ..BOTH };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["kilo-code", "kilocode"],
    title: "Kilo Code",
    traces: |machine| {
        let mut traces = extension_traces(machine, EXTENSION);
        traces.push(shared(machine));
        traces
    },
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => Vec::new(),
        Scope::Project => vec!["these files name the program on this computer; others who share them need their own path"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn shared(machine: &Machine<'_>) -> PathBuf {
    machine.xdg_configuration().join("kilo")
}

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let newer: Vec<PathBuf> = match (wanted.scope, &machine.project) {
        (Scope::User, _) => vec![shared(machine)],
        (Scope::Project, Some(root)) => vec![below(root, ".kilo"), root.clone()],
        (Scope::Project, None) => return Vec::new(),
    };
    // If the newer form was never used, its settings are not created.
    let settings_of = |folder: &PathBuf| ["kilo.jsonc", "kilo.json"].map(|name| folder.join(name));
    let is_used = |folder: &PathBuf| match wanted.purpose {
        Purpose::Take => true,
        Purpose::Put if wanted.scope == Scope::User => folder.is_dir(),
        Purpose::Put => settings_of(folder).iter().any(|path| path.exists()),
    };
    let command: Vec<String> = std::iter::once(wanted.program.path.clone()).chain(wanted.program.mcp()).collect();
    let local = Entry::Server { at: &["mcp"], value: json!({"type": "local", "command": command, "enabled": true}) };
    let used: Vec<PathBuf> = newer.into_iter().filter(is_used).collect();
    let settings = used.iter().flat_map(|folder| pick(wanted, &settings_of(folder), 0));
    let mut edits: Vec<FileEdit> = settings.map(|path| json_file(path, vec![local.clone()])).collect();
    edits.extend(used.first().map(|folder| PLUGIN.file(folder.join("plugins").join("yore.js"), wanted)));
    let settings = match wanted.scope {
        Scope::User => extension_settings(wanted, EXTENSION, "mcp_settings.json", shared(machine).is_dir()),
        Scope::Project => machine.in_project(".kilocode/mcp.json").into_iter().collect(),
    };
    edits.extend(settings.into_iter().map(|path| json_file(path, vec![server(wanted, &["mcpServers"], json!({}))])));
    let rules = scoped(wanted, || machine.at_home(".kilocode/rules/yore.md"), ".kilocode/rules/yore.md");
    edits.extend(rules.map(|path| rules_file(path, "")));
    edits
}
