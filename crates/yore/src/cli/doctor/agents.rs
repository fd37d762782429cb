//! What agents have of yore: is it there, does it call this program, and may it be tried.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use yore_engine::Severity;

use super::super::Context;
use super::super::install::{this_program, with_machine};
use super::versions::{OWN, on_path, version};
use super::{Told, trial};
use crate::error::{CliError, CliResult};
use crate::install::command::{is_yore, words};
use crate::install::found::{Call, Installed, What};
use crate::install::{Agent, Installer, Machine, Outcome, Part, Scope, installed};

/// Whose plugin there is.
const CLAUDE_CODE: &str = "claude-code";
/// What it runs.
const PLUGIN_HOOKS: &str = include_str!("../../../../../plugin/hooks/hooks.json");

/// Everything that agents have of yore, tried.
pub(super) fn examine(context: &Context) -> Vec<Told> {
    let all = found(context);
    if all.is_empty() {
        return vec![
            Told::new("agents", Severity::Note, "no agent calls yore yet")
                .remedy("`yore install` lists what it would do for each agent of this computer"),
        ];
    }
    let directory = context.here.clone().or_else(|| context.paths.home.clone()).unwrap_or_default();
    let (ours, others): (Vec<&Installed>, Vec<&Installed>) = all.iter().partition(|one| may_run(one, context));
    let mut told = programs(&all, context);
    told.extend(trial::run(&ours, &directory));
    told.extend(untried(&others));
    told
}

/// Whether something may be run. A project's files may come from somebody else, and to look at them
/// is no reason to run what they name: of these, only this program.
fn may_run(one: &Installed, context: &Context) -> bool {
    let is_plain = |line: &str| line.chars().all(|letter| letter.is_alphanumeric() || "\" -_./:~\\".contains(letter));
    let says_nothing_else = match &one.what {
        What::Rules | What::Unreadable(_) => return true,
        What::Hook { call: Call::Line(line), .. } | What::StatusLine { call: Call::Line(line) } => is_plain(line),
        What::Hook { .. } | What::StatusLine { .. } | What::Plugin { .. } => true,
        What::Mcp { env, .. } => env.iter().all(|(name, _)| name.starts_with("YORE_")),
    };
    one.scope == Scope::User || says_nothing_else && program(&one.what).is_some_and(|program| is_this(&program, context))
}

/// What a project's files name and nobody ran.
fn untried(others: &[&Installed]) -> Vec<Told> {
    let named: BTreeSet<(&str, &Path)> = others.iter().map(|one| (one.agent, one.file.as_path())).collect();
    let told = named.into_iter().map(|(agent, file)| {
        let file = file.display().to_string();
        let text = format!("{agent}: {file}, of this project, calls something else than this program; it was not run");
        Told::new("agents", Severity::Note, text)
            .remedy("look at the file; `yore doctor --fix` enters this program in its place")
            .fact("agent", agent)
            .fact("file", file)
    });
    told.collect()
}

/// Whether a program, as it is called, is the one that runs here.
fn is_this(program: &str, context: &Context) -> bool {
    let this = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    this.is_some() && resolve(program, context).and_then(|path| path.canonicalize().ok()) == this
}

/// Everything of yore's in the agents' files, and in the plugin where that is enabled.
fn found(context: &Context) -> Vec<Installed> {
    let all = with_machine(context, Scope::User, |machine| {
        let mut all = installed(machine);
        all.extend(of_plugin(machine));
        Ok(all)
    });
    // Without a home directory there is nowhere to look.
    all.unwrap_or_default()
}

/// What the plugin brings to Claude Code, if it is enabled there.
fn of_plugin(machine: &Machine<'_>) -> Vec<Installed> {
    let is_enabled = Agent::named(CLAUDE_CODE).is_some_and(|agent| (agent.needless)(machine).is_some());
    let hooks: Value = serde_json::from_str(PLUGIN_HOOKS).unwrap_or_default();
    let Some(events) = hooks["hooks"].as_object().filter(|_| is_enabled) else { return Vec::new() };
    let installed = |what| Installed { agent: CLAUDE_CODE, file: PathBuf::from("the plugin yore"), scope: Scope::User, what };
    let mut all: Vec<Installed> = events
        .iter()
        .map(|(event, groups)| {
            let hook = &groups[0]["hooks"][0];
            installed(What::Hook {
                event: event.clone(),
                call: Call::Line(hook["command"].as_str().unwrap_or_default().to_owned()),
                matcher: groups[0]["matcher"].as_str().map(str::to_owned),
                timeout: hook["timeout"].as_u64().map(Duration::from_secs),
            })
        })
        .collect();
    all.push(installed(What::Mcp { program: "yore".to_owned(), args: vec!["mcp".to_owned()], env: Vec::new() }));
    all
}

/// Enters this program where agents call one that is missing or of another version. What the person
/// left out of an agent's files stays out.
pub(super) fn mend(context: &mut Context) -> CliResult<()> {
    let all = found(context);
    let stale: Vec<&Installed> = {
        let outdated = outdated(&all, context);
        let is_stale = |one: &&Installed| {
            let is_outdated = program(&one.what).is_some_and(|program| is_path(&program) && outdated.contains_key(&program));
            is_outdated || !may_run(one, context)
        };
        all.iter().filter(is_stale).collect()
    };
    if stale.is_empty() {
        return Ok(());
    }
    let this = this_program(context)?;
    let mut notes = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        let agents: BTreeSet<&str> = stale.iter().filter(|one| one.scope == scope).map(|one| one.agent).collect();
        if agents.is_empty() {
            continue;
        }
        with_machine(context, scope, |machine| {
            let mut installer = Installer::open(machine, &this, scope, &context.directory, false)
                .map_err(|error| CliError::io(&context.directory, &error))?;
            for agent in agents.into_iter().filter_map(Agent::named) {
                let of_it = all.iter().filter(|one| one.agent == agent.name && one.scope == scope);
                let parts: Vec<Part> = of_it.filter_map(|one| part(&one.what)).collect();
                for done in installer.install(agent, &|part| parts.contains(&part)) {
                    let file = done.path.display();
                    match done.outcome {
                        Outcome::Refused(why) => notes.push(format!("{file} was left as it is: {why}")),
                        outcome if outcome.is_change() => notes.push(format!("{}: {file} calls this program now", agent.title)),
                        _ => {}
                    }
                }
            }
            Ok(())
        })?;
    }
    for note in notes {
        context.printer.note(note)?;
    }
    Ok(())
}

/// The part that a thing belongs to.
fn part(what: &What) -> Option<Part> {
    match what {
        What::Hook { .. } | What::Plugin { .. } => Some(Part::Hooks),
        What::Mcp { .. } => Some(Part::Mcp),
        What::Rules => Some(Part::Rules),
        What::StatusLine { .. } => Some(Part::StatusLine),
        What::Unreadable(_) => None,
    }
}

/// The programs that agents call: are they there, and this version?
fn programs(all: &[Installed], context: &Context) -> Vec<Told> {
    let told = outdated(all, context).into_iter().map(|(program, called)| {
        let names = called.agents.iter().copied().collect::<Vec<_>>().join(", ");
        let remedy = if is_path(&program) {
            "`yore doctor --fix` enters this program in its place"
        } else {
            "put this version on the PATH"
        };
        let (severity, what) = match &called.state {
            State::Missing => (Severity::Broken, "is not there".to_owned()),
            State::Mute => (Severity::Broken, "does not tell its version".to_owned()),
            State::Version(version) => (Severity::Warning, format!("is {version}; this one is {OWN}")),
        };
        Told::new("version", severity, format!("{names}: calls {program}, which {what}"))
            .remedy(remedy)
            .fact("program", program)
            .fact("agents", called.agents.into_iter().collect::<Vec<_>>())
    });
    told.collect()
}

/// A program that agents call, and that is not as this one.
struct Called<'i> {
    agents: BTreeSet<&'i str>,
    state: State,
}

enum State {
    Missing,
    /// It is no yore, or a broken one.
    Mute,
    Version(String),
}

/// Programs that are missing or of another version. Only those that the person's own files name are
/// asked; one that a project's file names is missing, or none of our business.
fn outdated<'i>(all: &'i [Installed], context: &Context) -> BTreeMap<String, Called<'i>> {
    let mut agents: BTreeMap<String, (BTreeSet<&str>, bool)> = BTreeMap::new();
    for one in all {
        if let Some(program) = program(&one.what) {
            let (agents, may_be_asked) = agents.entry(program).or_default();
            agents.insert(one.agent);
            *may_be_asked |= one.scope == Scope::User;
        }
    }
    let called = agents.into_iter().filter(|(program, _)| !is_this(program, context));
    let called = called.filter_map(|(program, (agents, may_be_asked))| {
        let state = match resolve(&program, context) {
            None => State::Missing,
            Some(_) if !may_be_asked => return None,
            Some(path) => match version(&path) {
                None => State::Mute,
                Some(version) if version == OWN => return None,
                Some(version) => State::Version(version),
            },
        };
        Some((program, Called { agents, state }))
    });
    called.collect()
}

/// Whether a program is named by its place.
fn is_path(program: &str) -> bool {
    Path::new(program).components().count() > 1
}

/// The program that is called, as it is written.
fn program(what: &What) -> Option<String> {
    let program = match what {
        What::Hook { call: Call::Line(line), .. } | What::StatusLine { call: Call::Line(line) } => {
            words(line).into_iter().next()?
        }
        What::Hook { call: Call::Program { program, .. }, .. }
        | What::StatusLine { call: Call::Program { program, .. } }
        | What::Mcp { program, .. }
        | What::Plugin { program } => program.clone(),
        What::Rules | What::Unreadable(_) => return None,
    };
    // A hook that is a file of its own is tried, and told of there.
    is_yore(&program).then_some(program)
}

/// Where a program lies that a shell would start; `None` when it is not there.
fn resolve(program: &str, context: &Context) -> Option<PathBuf> {
    if is_path(program) {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    on_path(context)
}
