//! All agents that yore can be installed in: one file each, and one table.
//!
//! - [`AGENTS`]: the table
//! - [`Agent`]: how an agent is known on a computer, and what is wanted in which of its files
//! - `Call`: a hook on an agent's terms
//!
//! What is written follows the agents' own documentation. Where an agent reads settings for one
//! project, these are used as they are meant: `project` scope. The program is named by its absolute
//! path everywhere, so files of a project are of use on this computer only, and agents that know a
//! file for that are given it.

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
    /// Its name on the command line.
    pub name: &'static str,
    /// Other names that it is asked for by.
    pub aliases: &'static [&'static str],
    /// Its name among people.
    pub title: &'static str,
    /// What is there where the agent is.
    pub traces: fn(&Machine<'_>) -> Vec<PathBuf>,
    /// What is wanted in its files.
    pub edits: fn(&Wanted<'_>) -> Vec<FileEdit>,
    /// What the person must still do, or should know.
    pub advice: fn(&Wanted<'_>) -> Vec<&'static str>,
    /// Why nothing needs to be done, if so.
    pub needless: fn(&Machine<'_>) -> Option<String>,
    /// The hooks of one of its files that it does not run, as its settings stand.
    pub idle_hooks: fn(&Machine<'_>, &Path) -> Vec<IdleHook>,
}

/// A hook that stands in an agent's file, and that the agent does not run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct IdleHook {
    /// The event.
    pub event: String,
    /// Why not, as the rest of "Codex does not run Stop: ".
    pub why: &'static str,
    /// The step that makes the agent run it, for the person.
    pub remedy: &'static str,
}

impl Agent {
    /// The agent of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
    }

    /// Whether the agent is on this computer.
    pub fn is_here(&self, machine: &Machine<'_>) -> bool {
        (self.traces)(machine).iter().any(|trace| trace.exists())
    }
}

/// Of most agents.
const NEEDED: fn(&Machine<'_>) -> Option<String> = |_| None;
/// For agents that run every hook in their files.
const NONE_IDLE: fn(&Machine<'_>, &Path) -> Vec<IdleHook> = |_, _| Vec::new();

/// Programs that are VS Code under another name and may run its extensions.
const EDITORS: [&str; 6] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf"];

const RULES: &str = include_str!("../assets/rules.md");
/// What Copilot wants to know of instructions that hold everywhere.
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

/// The hooks that are entered for the agent of this name, each as the agent wants it.
fn hooks(name: &str, entry: impl Fn(&Hook) -> (&'static str, Value)) -> Entry {
    let installed = agents::named(name).into_iter().flat_map(AgentProfile::installed);
    let events = installed.map(|(event, setup)| entry(&Hook { event, setup })).collect();
    Entry::Hooks { agents: hook_names(name), events }
}

/// The names that an agent has on hooks' command lines.
fn hook_names(name: &str) -> &'static [&'static str] {
    agents::named(name).map_or(&[], |profile| profile.names)
}

impl Hook {
    /// A group of calls with one call, as Claude Code, Codex and Gemini have it.
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

/// The command line of a hook, in a shell.
fn hook_line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.hook_line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// The same where nobody knows that a shell reads it.
fn line(wanted: &Wanted<'_>, shell: Shell, agent: &str, event: &str) -> String {
    shell.line(&wanted.program.path, &wanted.program.hook(agent, event))
}

/// A server with program and arguments, behind what else an agent wants to know of it.
fn server(wanted: &Wanted<'_>, at: &'static [&'static str], mut value: Value) -> Entry {
    value["command"] = wanted.program.path.clone().into();
    value["args"] = wanted.program.mcp().into();
    Entry::Server { at, value }
}

/// Entries of a JSON file that others write too.
fn json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: false }
}

/// Entries of a JSON file that is named after yore.
fn own_json_file(path: PathBuf, entries: Vec<Entry>) -> FileEdit {
    FileEdit { path, content: Content::Json(entries), is_own: true }
}

/// The rules as a block of a file that others write too.
fn rules_block(path: PathBuf) -> FileEdit {
    FileEdit { path, content: Content::Markdown(Block { text: RULES }), is_own: false }
}

/// The rules as a file of their own, behind what the agent wants to know of them.
fn rules_file(path: PathBuf, front_matter: &str) -> FileEdit {
    let text = format!("{front_matter}<!-- Written by `yore install`; `yore uninstall` takes it away. -->\n\n{RULES}");
    whole(path, Part::Rules, text, Role::Rules)
}

fn whole(path: PathBuf, part: Part, text: String, role: Role) -> FileEdit {
    FileEdit { path, content: Content::Whole(Whole { part, text, role }), is_own: true }
}

/// For the person or below the project.
fn scoped(wanted: &Wanted<'_>, user: impl FnOnce() -> PathBuf, project: &str) -> Option<PathBuf> {
    match wanted.scope {
        Scope::User => Some(user()),
        Scope::Project => wanted.machine.in_project(project),
    }
}

/// Where an extension of VS Code keeps its settings, in every editor that has it; in VS Code where none
/// has and the agent is nowhere else either.
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

/// Traces of an extension of VS Code.
fn extension_traces(machine: &Machine<'_>, extension: &str) -> Vec<PathBuf> {
    machine.editors(&EDITORS).into_iter().map(|user| user.join("globalStorage").join(extension)).collect()
}
