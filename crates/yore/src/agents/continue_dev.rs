//! Continue: rules, and a server in its settings, which its command line and its extension read. If it has no
//! settings, the server is put into a file of its own, which the extension reads.

use serde_json::{Value, json};

use super::AgentProfile;
use super::entry::{NEEDED, NONE_IDLE, rules_file, scoped, whole};
use crate::install::edit::Content;
use crate::install::edit::whole::Role;
use crate::install::edit::yaml_server::YamlServer;
use crate::install::{Agent, FileEdit, Part, Purpose, Scope, Wanted};

const FRONT_MATTER: &str = "---\nname: What was said in past sessions\nalwaysApply: true\n---\n\n";

/// The agent's name in the store and on the command line.
pub const NAME: &str = "continue";

/// Continue runs the hooks in Claude Code's settings; scripts may report for it.
pub(super) const PROFILE: AgentProfile = AgentProfile { source: NAME, names: &[NAME], ..AgentProfile::UNKNOWN };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Continue",
    traces: |machine| vec![machine.directory("CONTINUE_GLOBAL_DIR", ".continue")],
    edits,
    advice: |_| {
        vec![
            "Continue offers a server's tools in agent mode only",
            "`yore proxy on` and `yore proxy env continue --memory` give it memories without asking, in each mode",
        ]
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let user = machine.directory("CONTINUE_GLOBAL_DIR", ".continue");
    // JSON texts and lists are valid YAML.
    let text = format!(
        "# Written by `yore install continue`; `yore uninstall continue` takes it away.\nname: yore\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: yore\n    command: {}\n    args: {}\n",
        Value::String(wanted.program.path.clone()),
        json!(wanted.program.mcp())
    );
    let settings = user.join("config.yaml");
    let is_in_settings = wanted.scope == Scope::User && settings.is_file();
    let server = scoped(wanted, || user.join("mcpServers").join("yore.yaml"), ".continue/mcpServers/yore.yaml");
    let server = server.filter(|_| wanted.purpose == Purpose::Take || !is_in_settings);
    let rules = scoped(wanted, || user.join("rules").join("yore.md"), ".continue/rules/yore.md");
    let mut edits = Vec::new();
    if is_in_settings {
        let item = YamlServer { program: wanted.program.path.clone(), args: wanted.program.mcp() };
        edits.push(FileEdit { path: settings, content: Content::YamlServer(item), is_own: false });
    }
    edits.extend(server.map(|path| whole(path, Part::Mcp, text, Role::Server)));
    edits.extend(rules.map(|path| rules_file(path, FRONT_MATTER)));
    edits
}
