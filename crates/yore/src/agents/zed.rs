//! Zed: a server in its settings; a project's rules in the rules file that Zed reads.

use serde_json::json;

use super::AgentProfile;
use super::entry::{NEEDED, NONE_IDLE, json_file, rules_block, scoped, server};
use super::opencode::pick;
use crate::install::machine::{Machine, below};
use crate::install::{Agent, FileEdit, Scope, Wanted};
use crate::paths::Platform;

/// Zed reads only the first of these that exists.
const RULES: [&str; 9] = [
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "AGENT.md",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
];
/// Index of the one that is created if none exists.
const USUAL: usize = 6;

const NAME: &str = "zed";

/// Zed has no hooks; scripts may report for it.
pub(super) const PROFILE: AgentProfile = AgentProfile { source: NAME, names: &[NAME], ..AgentProfile::UNKNOWN };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Zed",
    traces: |machine| vec![settings(machine)],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["`yore install zed --scope project` adds rules, which tell Zed's agent when to ask"],
        Scope::Project => vec!["Zed reads a project's settings only where the folder is trusted"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

/// Returns the settings folder: below `.config` on macOS, too.
fn settings(machine: &Machine<'_>) -> std::path::PathBuf {
    match machine.platform {
        Platform::Windows => machine.configuration().join("Zed"),
        Platform::Mac => machine.at_home(".config/zed"),
        Platform::Xdg => machine.xdg_configuration().join("zed"),
    }
}

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let mcp = server(wanted, &["context_servers"], json!({"source": "custom"}));
    let place = scoped(wanted, || settings(wanted.machine).join("settings.json"), ".zed/settings.json");
    let mut edits: Vec<FileEdit> = place.map(|path| json_file(path, vec![mcp])).into_iter().collect();
    if let (Scope::Project, Some(root)) = (wanted.scope, &wanted.machine.project) {
        // A folder of that name belongs to another agent.
        let known: Vec<_> = RULES.iter().map(|name| below(root, name)).collect();
        let chosen = if pick(wanted, &known, USUAL).iter().any(|path| path.is_dir()) {
            pick(wanted, &known.iter().filter(|path| !path.is_dir()).collect::<Vec<_>>(), USUAL - 1)
        } else {
            pick(wanted, &known, USUAL)
        };
        edits.extend(chosen.into_iter().map(rules_block));
    }
    edits
}
