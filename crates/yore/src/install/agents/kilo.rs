//! Kilo Code: a server and rules. There are two of it: the extension of VS Code that came from Roo Code,
//! and the newer one that shares its settings with a command line and has OpenCode's form.

use std::path::PathBuf;

use serde_json::json;

use super::{Agent, NEEDED, extension_settings, extension_traces, json_file, rules_file, scoped, server};
use crate::install::edit::entries::Entry;
use crate::install::machine::{Machine, below};
use crate::install::{FileEdit, Purpose, Scope, Wanted};

const EXTENSION: &str = "kilocode.kilo-code";

pub(super) const AGENT: Agent = Agent {
    name: "kilo",
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
    // Where the newer one was never used, its settings are not begun.
    let newer = newer.into_iter().map(|folder| folder.join("kilo.jsonc"));
    let is_used = |path: &PathBuf| {
        let is_folder_its_own = wanted.scope == Scope::User && path.parent().is_some_and(std::path::Path::is_dir);
        wanted.purpose == Purpose::Take || path.exists() || is_folder_its_own
    };
    let command: Vec<String> = std::iter::once(wanted.program.path.clone()).chain(wanted.program.mcp()).collect();
    let local = Entry::Server { at: &["mcp"], value: json!({"type": "local", "command": command, "enabled": true}) };
    let mut edits: Vec<FileEdit> = newer.filter(is_used).map(|path| json_file(path, vec![local.clone()])).collect();
    let settings = match wanted.scope {
        Scope::User => extension_settings(wanted, EXTENSION, "mcp_settings.json", shared(machine).is_dir()),
        Scope::Project => machine.in_project(".kilocode/mcp.json").into_iter().collect(),
    };
    edits.extend(settings.into_iter().map(|path| json_file(path, vec![server(wanted, &["mcpServers"], json!({}))])));
    let rules = scoped(wanted, || machine.at_home(".kilocode/rules/yore.md"), ".kilocode/rules/yore.md");
    edits.extend(rules.map(|path| rules_file(path, "")));
    edits
}
