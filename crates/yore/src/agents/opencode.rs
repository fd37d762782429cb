//! OpenCode: a server in its configuration, and a plugin in place of hooks.
//!
//! The hooks of OpenCode and of its fork Kilo, which yore's plugin runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{NEEDED, NONE_IDLE, json_file};
use super::plugin::{self, Plugin};
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Output, Question, Sample, sample};
use crate::install::edit::entries::Entry;
use crate::install::{Agent, FileEdit, Purpose, Scope, Wanted};

pub(super) const PROFILE: AgentProfile = AgentProfile { source: "opencode", names: &["opencode"], ..BOTH };

/// The fields of the input that yore's plugins send.
pub(super) const PLUGIN_FIELDS: &[Field] = &[
    Field::new("session_id", Holds::Session),
    Field::new("hook_event_name", Holds::Event),
    Field::new("cwd", Holds::Directory),
    Field::new("agent_id", Holds::AgentId),
    // The name in OpenCode's own events.
    Field::new("sessionID", Holds::Session),
];

pub(super) const BOTH: AgentProfile = AgentProfile {
    is_plugin: true,
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("chat.message", Prompt, 5),
        HookEvent::installed("session.idle", End, 5),
        HookEvent::new("tool.execute.after", AfterTool),
        HookEvent::new("SubagentStart", SubagentStart),
        HookEvent::new("session.compacted", AfterCompaction),
        HookEvent::new("message.updated", Progress),
    ],
    fields: PLUGIN_FIELDS,
    file_tools: &["apply_patch", "edit", "multiedit", "patch", "read", "write"],
    shells: &["bash"],
    output: Some(Output::Plain),
    reads_text: &[SessionStart, Prompt, AfterTool, SubagentStart, End],
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        AfterTool => event.files_or_failure(),
        SubagentStart => event.sub_agent(errands),
        // The next prompt may reach a process that has not seen the compaction.
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | ToolFailure | End | Progress => Vec::new(),
    }
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({"session_id": sample::DOCTOR, "hook_event_name": asked.event, "cwd": asked.directory});
    sample::joined(all, if asked.event == "chat.message" { json!({"prompt": sample::PROMPT}) } else { json!({}) })
}

const NAME: &str = "opencode";
const PLUGIN: Plugin = Plugin { title: "OpenCode", install: NAME, agent: NAME, body: plugin::OPENCODE };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "OpenCode",
    // The folder of the plugin is not evidence that OpenCode is installed.
    traces: |machine| vec![machine.xdg_configuration().join(NAME), machine.directory("XDG_DATA_HOME", ".local/share").join(NAME)],
    edits,
    advice: |_| vec!["running sessions continue without it"],
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
