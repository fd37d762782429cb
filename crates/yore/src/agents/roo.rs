//! Roo Code: a server in the extension's settings or the project's, and rules.

use serde_json::json;

use super::entry::{NEEDED, NONE_IDLE, extension_settings, extension_traces, json_file, rules_file, scoped, server};
use crate::install::{Agent, FileEdit, Scope, Wanted};

const EXTENSION: &str = "rooveterinaryinc.roo-cline";

pub(super) const AGENT: Agent = Agent {
    name: "roo",
    aliases: &["roo-code"],
    title: "Roo Code",
    traces: |machine| extension_traces(machine, EXTENSION),
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => Vec::new(),
        Scope::Project => vec![".roo/mcp.json names the program on this computer; others who share it need their own path"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let settings = match wanted.scope {
        Scope::User => extension_settings(wanted, EXTENSION, "mcp_settings.json", false),
        Scope::Project => machine.in_project(".roo/mcp.json").into_iter().collect(),
    };
    let mut edits: Vec<FileEdit> =
        settings.into_iter().map(|path| json_file(path, vec![server(wanted, &["mcpServers"], json!({}))])).collect();
    let rules = scoped(wanted, || machine.at_home(".roo/rules/yore.md"), ".roo/rules/yore.md");
    edits.extend(rules.map(|path| rules_file(path, "")));
    edits
}
