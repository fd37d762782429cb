//! All agents that yore can be installed in: one file each, and one table.
//!
//! - [`AGENTS`]: the table
//! - [`Agent`]: how an agent is detected on a computer, and the content wanted in its files
//! - `Call`: a hook in an agent's form
//!
//! The settings follow the agents' own documentation. If an agent reads settings for one project, `project`
//! scope uses them. The program is named by its absolute path everywhere, so a project's files are useful on
//! this computer only; for agents that have a settings file for that, that file is used.

mod aider;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod copilot_cli;
mod cursor;
mod gemini;
mod kilo;
mod opencode;
mod plugin;
mod qwen;
mod roo;
mod vscode;
mod windsurf;
mod zed;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::command::Shell;
use super::edit::Content;
use super::edit::entries::Entry;
use super::edit::markdown::Block;
use super::edit::whole::{Role, Whole};
use super::machine::Machine;
use super::{FileEdit, Part, Purpose, Scope, Wanted};
use crate::agents::{self, AgentProfile, Setup};

/// The agents, in the order in which they are listed.
pub const AGENTS: [Agent; 15] = [
    claude_code::AGENT,
    cursor::AGENT,
    codex::AGENT,
    gemini::AGENT,
    qwen::AGENT,
    opencode::AGENT,
    vscode::AGENT,
    copilot_cli::AGENT,
    windsurf::AGENT,
    zed::AGENT,
    cline::AGENT,
    roo::AGENT,
    kilo::AGENT,
    continue_dev::AGENT,
    aider::AGENT,
];

/// An agent.
pub struct Agent {
    /// Name on the command line.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Name for people.
    pub title: &'static str,
    /// Returns the paths of which at least one exists if the agent is installed.
    pub traces: fn(&Machine<'_>) -> Vec<PathBuf>,
    /// Returns the edits of its files.
    pub edits: fn(&Wanted<'_>) -> Vec<FileEdit>,
    /// Returns advice: steps that the user must still take, or should know.
    pub advice: fn(&Wanted<'_>) -> Vec<&'static str>,
    /// Returns the reason if nothing needs to be done.
    pub needless: fn(&Machine<'_>) -> Option<String>,
    /// Returns the hooks in one of its files that its present settings keep it from running.
    pub idle_hooks: fn(&Machine<'_>, &Path) -> Vec<IdleHook>,
}

/// A hook that is in an agent's file and that the agent does not run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IdleHook {
    /// Name of the event.
    pub event: String,
    /// The reason, as the rest of "Codex does not run Stop: ".
    pub why: &'static str,
    /// The step that makes the agent run it, for the user.
    pub remedy: &'static str,
}

impl Agent {
    /// Returns the agent of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
    }

    /// Returns whether the agent is installed on this computer.
    pub fn is_here(&self, machine: &Machine<'_>) -> bool {
        (self.traces)(machine).iter().any(|trace| trace.exists())
    }
}

/// For agents that always need the installation.
const NEEDED: fn(&Machine<'_>) -> Option<String> = |_| None;
/// For agents that run every hook in their files.
const NONE_IDLE: fn(&Machine<'_>, &Path) -> Vec<IdleHook> = |_, _| Vec::new();

/// Names under which VS Code and editors that run its extensions keep their settings.
const EDITORS: [&str; 6] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf"];

const RULES: &str = include_str!("../assets/rules.md");
/// Front matter that Copilot needs for instructions that apply everywhere.
const COPILOT: &str = "---\ndescription: What was said in past sessions, and how to find it\napplyTo: \"**\"\n---\n\n";

/// The unit of an agent's timeouts.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
}

/// A hook that is entered in an agent's settings.
#[derive(Clone, Copy)]
struct Hook {
    event: &'static str,
    setup: Setup,
}

/// Returns the hooks that are entered for the agent of this name, each in the agent's form.
fn hooks(name: &str, entry: impl Fn(&Hook) -> (&'static str, Value)) -> Entry {
    let installed = agents::named(name).into_iter().flat_map(AgentProfile::installed);
    let events = installed.map(|(event, setup)| entry(&Hook { event, setup })).collect();
    Entry::Hooks { agents: hook_names(name), events }
}

/// Returns the names that an agent has on hooks' command lines.
fn hook_names(name: &str) -> &'static [&'static str] {
    agents::named(name).map_or(&[], |profile| profile.names)
}

impl Hook {
    /// Returns a group with one call, in the form of Claude Code, Codex and Gemini.
    fn group(&self, wanted: &Wanted<'_>, agent: &str, unit: Unit) -> (&'static str, Value) {
        let mut call = Map::new();
        call.insert("type".to_owned(), "command".into());
        call.insert("command".to_owned(), hook_line(wanted, Shell::of(wanted.machine.platform), agent, self.event).into());
        call.insert("timeout".to_owned(), self.timeout(unit));
        self.grouped(call)
    }

    fn grouped(&self, call: Map<String, Value>) -> (&'static str, Value) {
        let mut group = Map::new();
        if let Some(matcher) = self.setup.matcher {
            group.insert("matcher".to_owned(), matcher.into());
        }
        group.insert("hooks".to_owned(), json!([call]));
        (self.event, Value::Object(group))
    }

    fn timeout(&self, unit: Unit) -> Value {
        match unit {
            Unit::Seconds => self.setup.seconds.into(),
            Unit::Milliseconds => (self.setup.seconds * 1000).into(),
        }
    }
}

/// Returns the command line of a hook, for a shell.
fn hook_line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.hook_line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// Returns the command line of a hook where it is not certain that a shell reads it.
fn line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// Returns a server entry with program and arguments, after the agent's other fields in `value`.
fn server(wanted: &Wanted<'_>, at: &'static [&'static str], mut value: Value) -> Entry {
    value["command"] = wanted.program.path.clone().into();
    value["args"] = wanted.program.mcp().into();
    Entry::Server { at, value }
}

/// Returns an edit of a JSON file that others write too.
fn json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: false }
}

/// Returns an edit of a JSON file that is named after yore.
fn own_json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: true }
}

/// Returns the rules as a block of a file that others write too.
fn rules_block(path: PathBuf) -> FileEdit {
    FileEdit { path, content: Content::Markdown(Block { text: RULES }), is_own: false }
}

/// Returns the rules as a file of their own, after the agent's front matter.
fn rules_file(path: PathBuf, front_matter: &str) -> FileEdit {
    let text = format!("{front_matter}<!-- Written by `yore install`; `yore uninstall` takes it away. -->\n\n{RULES}");
    whole(path, Part::Rules, text, Role::Rules)
}

fn whole(path: PathBuf, part: Part, text: String, role: Role) -> FileEdit {
    FileEdit { path, content: Content::Whole(Whole { part, text, role }), is_own: true }
}

/// Returns the user's path, or the one below the project.
fn scoped(wanted: &Wanted<'_>, user: impl FnOnce() -> PathBuf, project: &str) -> Option<PathBuf> {
    match wanted.scope {
        Scope::User => Some(user()),
        Scope::Project => wanted.machine.in_project(project),
    }
}

/// Returns the paths where a VS Code extension keeps its settings, in every editor that has it. If no editor
/// has it and the agent is not installed elsewhere, returns the path in VS Code.
fn extension_settings(wanted: &Wanted<'_>, extension: &str, file: &str, is_elsewhere: bool) -> Vec<PathBuf> {
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
fn extension_traces(machine: &Machine<'_>, extension: &str) -> Vec<PathBuf> {
    machine.editors(&EDITORS).into_iter().map(|user| user.join("globalStorage").join(extension)).collect()
}
