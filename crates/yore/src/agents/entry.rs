//! Builds the edits of an agent's settings from its profile: hooks, server, rules.
//!
//! - [`Hook`]: a hook in an agent's form
//! - [`hooks`], [`server`]: entries of settings
//! - [`json_file`], [`rules_block`], [`rules_file`], [`skill`], [`whole`]: edits of files
//! - [`scoped`], [`extension_settings`]: their paths
//!
//! The settings follow the agents' own documentation. If an agent reads settings for one project, `project`
//! scope uses them. The program is named by its absolute path everywhere, so a project's files are useful on
//! this computer only; for agents that have a settings file for that, that file is used.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use yore_sources::source::EDITORS;

use super::{AgentProfile, Setup};
use crate::install::command::Shell;
use crate::install::edit::Content;
use crate::install::edit::entries::Entry;
use crate::install::edit::markdown::Block;
use crate::install::edit::whole::{Role, Whole};
use crate::install::machine::Machine;
use crate::install::{FileEdit, IdleHook, Part, Purpose, Scope, Wanted};

/// For agents that always need the installation.
pub(super) const NEEDED: fn(&Machine<'_>) -> Option<String> = |_| None;
/// For agents that run every hook in their files.
pub(super) const NONE_IDLE: fn(&Machine<'_>, &Path) -> Vec<IdleHook> = |_, _| Vec::new();

pub(super) const RULES: &str = include_str!("assets/rules.md");
/// The plugin's skill that distils a session.
const SKILL: &str = include_str!("../../../../plugin/skills/memory-distil/SKILL.md");
/// Front matter that Copilot needs for instructions that apply everywhere.
pub(super) const COPILOT: &str = "---\ndescription: What was said in past sessions, and how to find it\napplyTo: \"**\"\n---\n\n";

/// The unit of an agent's timeouts.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// A hook that is entered in an agent's settings.
#[derive(Clone, Copy)]
pub(super) struct Hook {
    pub(super) event: &'static str,
    pub(super) setup: Setup,
}

/// Returns the hooks that are entered for the agent of this name, each in the agent's form.
pub(super) fn hooks(name: &str, entry: impl Fn(&Hook) -> (&'static str, Value)) -> Entry {
    let installed = super::named(name).into_iter().flat_map(AgentProfile::installed);
    let events = installed.map(|(event, setup)| entry(&Hook { event, setup })).collect();
    Entry::Hooks { agents: hook_names(name), events }
}

/// Returns the names that an agent has on hooks' command lines.
pub(super) fn hook_names(name: &str) -> &'static [&'static str] {
    super::named(name).map_or(&[], |profile| profile.names)
}

impl Hook {
    /// Returns a group with one call, in the form of Claude Code, Codex and Gemini.
    pub(super) fn group(&self, wanted: &Wanted<'_>, agent: &str, unit: Unit) -> (&'static str, Value) {
        let mut call = Map::new();
        call.insert("type".to_owned(), "command".into());
        call.insert("command".to_owned(), hook_line(wanted, Shell::of(wanted.machine.platform), agent, self.event).into());
        call.insert("timeout".to_owned(), self.timeout(unit));
        self.grouped(call)
    }

    pub(super) fn grouped(&self, call: Map<String, Value>) -> (&'static str, Value) {
        let mut group = Map::new();
        if let Some(matcher) = self.setup.matcher {
            group.insert("matcher".to_owned(), matcher.into());
        }
        group.insert("hooks".to_owned(), json!([call]));
        (self.event, Value::Object(group))
    }

    pub(super) fn timeout(&self, unit: Unit) -> Value {
        match unit {
            Unit::Seconds => self.setup.seconds.into(),
            Unit::Milliseconds => (self.setup.seconds * 1000).into(),
        }
    }
}

/// Returns the command line of a hook, for a shell.
pub(super) fn hook_line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.hook_line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// Returns the command line of a hook where it is not certain that a shell reads it.
pub(super) fn line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// Returns a server entry with program and arguments, after the agent's other fields in `value`.
pub(super) fn server(wanted: &Wanted<'_>, at: &'static [&'static str], mut value: Value) -> Entry {
    value["command"] = wanted.program.path.clone().into();
    value["args"] = wanted.program.mcp().into();
    Entry::Server { at, value }
}

/// Returns an edit of a JSON file that others write too.
pub(super) fn json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: false }
}

/// Returns an edit of a JSON file that is named after yore.
pub(super) fn own_json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: true }
}

/// Returns the rules as a block of a file that others write too.
pub(super) fn rules_block(path: PathBuf) -> FileEdit {
    FileEdit { path, content: Content::Markdown(Block { text: RULES }), is_own: false }
}

/// Returns the rules as a file of their own, after the agent's front matter.
pub(super) fn rules_file(path: PathBuf, front_matter: &str) -> FileEdit {
    let text = format!("{front_matter}<!-- Written by `yore install`; `yore uninstall` takes it away. -->\n\n{RULES}");
    whole(path, Part::Rules, text, Role::Rules)
}

/// Returns the skill by which an agent distils a session when it is asked to; `home`: the directory of the agent's settings. The text is that
/// of the plugin, with the path of this program, which may not be on the search path.
pub(super) fn skill(wanted: &Wanted<'_>, home: &Path) -> FileEdit {
    let program = Shell::of(wanted.machine.platform).line(&wanted.program.path, &[]);
    let text = SKILL
        .replace("name: memory-distil", "name: yore-distil")
        .replace("yore distil", &format!("{} distil", program.trim_end()));
    let (front_matter, rest) = text.split_at(text.find("\n# ").unwrap_or_default());
    let text = format!("{front_matter}\n<!-- Written by `yore install`; `yore uninstall` takes it away. -->\n{rest}");
    whole(home.join("skills").join("yore-distil").join("SKILL.md"), Part::Skill, text, Role::Skill)
}

pub(super) fn whole(path: PathBuf, part: Part, text: String, role: Role) -> FileEdit {
    FileEdit { path, content: Content::Whole(Whole { part, text, role }), is_own: true }
}

/// Returns the user's path, or the one below the project.
pub(super) fn scoped(wanted: &Wanted<'_>, user: impl FnOnce() -> PathBuf, project: &str) -> Option<PathBuf> {
    match wanted.scope {
        Scope::User => Some(user()),
        Scope::Project => wanted.machine.in_project(project),
    }
}

/// Returns the paths where a VS Code extension keeps its settings, in every editor that has it. If no editor
/// has it and the agent is not installed elsewhere, returns the path in VS Code.
pub(super) fn extension_settings(wanted: &Wanted<'_>, extension: &str, file: &str, is_elsewhere: bool) -> Vec<PathBuf> {
    let machine = wanted.machine;
    let storage = |user: PathBuf| user.join("globalStorage").join(extension);
    let usual = storage(machine.configuration().join("Code").join("User"));
    let mut places: Vec<PathBuf> = machine.editors(&EDITORS).into_iter().map(storage).filter(|place| place.is_dir()).collect();
    let is_usual = places.is_empty() && !is_elsewhere || wanted.purpose == Purpose::Take;
    if is_usual && !places.contains(&usual) {
        places.push(usual);
    }
    places.into_iter().map(|place| place.join("settings").join(file)).collect()
}

/// Returns the paths that show that a VS Code extension is installed.
pub(super) fn extension_traces(machine: &Machine<'_>, extension: &str) -> Vec<PathBuf> {
    machine.editors(&EDITORS).into_iter().map(|user| user.join("globalStorage").join(extension)).collect()
}
