//! OpenCode: a server in its configuration, and a plugin in place of hooks.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::plugin::{OPENCODE, Plugin};
use super::{Agent, NEEDED, NONE_IDLE, json_file};
use crate::install::edit::entries::Entry;
use crate::install::{FileEdit, Purpose, Scope, Wanted};

const NAME: &str = "opencode";
const PLUGIN: Plugin = Plugin { title: "OpenCode", install: NAME, agent: NAME, body: OPENCODE };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "OpenCode",
    // The folder of the plugin is not evidence that OpenCode is installed.
    traces: |machine| vec![machine.xdg_configuration().join(NAME), machine.directory("XDG_DATA_HOME", ".local/share").join(NAME)],
    edits,
    advice: |_| vec!["sessions that run already go on without it"],
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let command: Vec<String> = std::iter::once(wanted.program.path.clone()).chain(wanted.program.mcp()).collect();
    let mcp = Entry::Server { at: &["mcp"], value: json!({"type": "local", "command": command, "enabled": true}) };
    let user = machine.xdg_configuration().join(NAME);
    let (configurations, plugin): (Vec<PathBuf>, PathBuf) = match wanted.scope {
        Scope::User => {
            let known = ["opencode.jsonc", "opencode.json", "config.json"].map(|name| user.join(name));
            (pick(wanted, &known, 1), user.join("plugins").join("yore.js"))
        }
        Scope::Project => {
            let Some(root) = &machine.project else { return Vec::new() };
            let known = ["opencode.jsonc", "opencode.json", ".opencode/opencode.jsonc", ".opencode/opencode.json"];
            let known = known.map(|name| crate::install::machine::below(root, name));
            (pick(wanted, &known, 1), crate::install::machine::below(root, ".opencode/plugins/yore.js"))
        }
    };
    let mut edits: Vec<FileEdit> = configurations.into_iter().map(|path| json_file(path, vec![mcp.clone()])).collect();
    edits.push(PLUGIN.file(plugin, wanted));
    edits
}

/// Returns the files to edit. To put something in: the first of the files that exists, or the usual one. To
/// take something out: all of them.
pub(super) fn pick(wanted: &Wanted<'_>, known: &[impl AsRef<Path>], usual: usize) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = known.iter().map(|path| path.as_ref().to_path_buf()).collect();
    if wanted.purpose == Purpose::Take {
        return paths;
    }
    let chosen = paths.iter().position(|path| path.exists()).unwrap_or(usual);
    vec![paths.swap_remove(chosen)]
}
