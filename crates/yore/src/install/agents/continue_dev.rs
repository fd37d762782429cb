//! Continue: a server in a file of its own, and rules.

use serde_json::{Value, json};

use super::{Agent, NEEDED, rules_file, scoped, whole};
use crate::install::edit::whole::Role;
use crate::install::{FileEdit, Part, Wanted};

const FRONT_MATTER: &str = "---\nname: What was said in past sessions\nalwaysApply: true\n---\n\n";

pub(super) const AGENT: Agent = Agent {
    name: "continue",
    aliases: &[],
    title: "Continue",
    traces: |machine| vec![machine.directory("CONTINUE_GLOBAL_DIR", ".continue")],
    edits,
    advice: |_| vec!["Continue offers a server's tools in agent mode only"],
    needless: NEEDED,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let user = machine.directory("CONTINUE_GLOBAL_DIR", ".continue");
    // Texts and lists of JSON are texts and lists of YAML.
    let text = format!(
        "# Written by `yore install continue`; `yore uninstall continue` takes it away.\nname: yore\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: yore\n    command: {}\n    args: {}\n",
        Value::String(wanted.program.path.clone()),
        json!(wanted.program.mcp())
    );
    let server = scoped(wanted, || user.join("mcpServers").join("yore.yaml"), ".continue/mcpServers/yore.yaml");
    let rules = scoped(wanted, || user.join("rules").join("yore.md"), ".continue/rules/yore.md");
    let mut edits = Vec::new();
    edits.extend(server.map(|path| whole(path, Part::Mcp, text, Role::Server)));
    edits.extend(rules.map(|path| rules_file(path, FRONT_MATTER)));
    edits
}
