//! Checks yore's entries in agents' settings: whether they exist and call this program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use yore_engine::Severity;

use super::super::Context;
use super::super::install::{nameless, this_program, with_machine};
use super::versions::{OWN, on_path, version};
use super::{entered, self_test};
use crate::agents::{AGENTS, CLAUDE_CODE, agent};
use crate::error::{CliError, CliResult};
use crate::health::Told;
use crate::install::command::{Use, called, is_yore, words};
use crate::install::found::Installed;
use crate::install::what::{Call, What};
use crate::install::{Installer, Machine, Outcome, Part, Purpose, Scope, installed, is_as_written};

/// Hooks of the Claude Code plugin.
const PLUGIN_HOOKS: &str = include_str!("../../../../../plugin/hooks/hooks.json");

/// Tries everything that agents have of yore.
pub(super) fn examine(context: &Context) -> Vec<Told> {
    let all = found(context);
    if all.is_empty() {
        let mut told = vec![
            Told::new("agents", Severity::Note, "no agent calls yore yet")
                .remedy("`yore install` lists what it would do for each agent of this computer"),
        ];
        told.extend(entered::missed(context));
        return told;
    }
    let directory = context.settings.here.clone().or_else(|| context.settings.paths.home.clone()).unwrap_or_default();
    let outdated = outdated(&all, context);
    let mut told = programs(&outdated);
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    let is_gone = |what: &What| {
        let called = program(what).and_then(|program| outdated.get(&program));
        called.is_some_and(|called| matches!(called.state, State::Missing))
    };
    for one in &all {
        match to_run(one, context) {
            // An empty answer proves nothing if the program is missing.
            Ok(run) if is_silent_without_program(&run.what) && is_gone(&run.what) => {}
            Ok(run) => ours.push(run),
            Err(reason) => others.push((one, reason)),
        }
    }
    let mut tried = self_test::run(&ours, &directory);
    let idle = entered::idle_hooks(&all, context, &mut tried);
    told.extend(tried);
    told.extend(idle);
    told.extend(entered::missed(context));
    told.extend(untried(&others));
    told
}

/// Returns true for hooks that end quietly if their program is missing: their empty answer proves nothing.
fn is_silent_without_program(what: &What) -> bool {
    match what {
        What::Hook { call: Call::File { .. }, .. } => true,
        What::Hook { call: Call::Line(line), .. } => line.trim_start().starts_with('['),
        _ => false,
    }
}

/// The reason why a call is not run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Reason {
    /// The call is not one that an agent makes.
    Other,
    /// A project's file contains the call, and not as this program would have written it.
    Foreign,
    /// A project's file contains the call and sets variables for it.
    Variables,
}

/// Returns the call as the doctor runs it, or the reason why it does not. A project's files may come from
/// another person, and a check must not execute them: from these, only calls that `yore install` would have
/// written are run, with this program and this memory. From the person's own files, calls that agents may
/// make are run.
fn to_run(one: &Installed, context: &Context) -> Result<Installed, Reason> {
    let is_project = one.scope == Scope::Project;
    let is_wanted = |call: &Call, is_right: &dyn Fn(Use<'_>) -> bool| -> Result<(), Reason> {
        let (line, is_plain) = match call {
            Call::Line(line) => (words(line), line.chars().all(is_harmless)),
            Call::Program { program, args } => ([std::slice::from_ref(program), args].concat(), true),
            Call::File { .. } => return Err(Reason::Other),
        };
        let [program, args @ ..] = line.as_slice() else { return Err(Reason::Other) };
        let called = called(args).filter(|called| is_yore(program) && is_right(called.what)).ok_or(Reason::Other)?;
        let is_own = is_plain && called.is_plain && is_this(program, context) && is_here(called.data_dir, context);
        if is_project && !is_own { Err(Reason::Foreign) } else { Ok(()) }
    };
    let whole = || {
        let is_own = !is_project || is_as_installed(one, context);
        if is_own { Ok(one.what.clone()) } else { Err(Reason::Foreign) }
    };
    let what = match &one.what {
        What::Rules | What::Skill | What::Unreadable(_) => one.what.clone(),
        What::Mcp { program, args, env } => {
            let call = Call::Program { program: program.clone(), args: args.clone() };
            is_wanted(&call, &|what| what == Use::Mcp)?;
            if is_project && !env.is_empty() {
                return Err(Reason::Variables);
            }
            let program = if is_project { own_path()? } else { program.clone() };
            What::Mcp { program, args: args.clone(), env: env.clone() }
        }
        // The agent runs the file itself.
        What::Plugin { .. } => whole()?,
        What::Hook { call: Call::File { .. }, .. } => whole()?,
        What::Hook { event, call, matcher, timeout } => {
            let is_right = |what: Use<'_>| match what {
                Use::Hook(_, named) => !is_project || named == Some(event.as_str()),
                _ => false,
            };
            is_wanted(call, &is_right)?;
            let call = if is_project { by_this(call)? } else { call.clone() };
            What::Hook { event: event.clone(), call, matcher: matcher.clone(), timeout: *timeout }
        }
        What::StatusLine { call } => {
            is_wanted(call, &|what| what == Use::StatusLine)?;
            What::StatusLine { call: if is_project { by_this(call)? } else { call.clone() } }
        }
    };
    Ok(Installed { what, ..one.clone() })
}

/// Returns whether a shell reads this letter only as part of a word.
fn is_harmless(letter: char) -> bool {
    let of_system = if cfg!(windows) { "~\\" } else { "" };
    letter.is_alphanumeric() || "\" -_./:".contains(letter) || of_system.contains(letter)
}

/// Returns whether a call uses the data directory that is examined here.
fn is_here(data_dir: Option<&str>, context: &Context) -> bool {
    data_dir.map(Path::new).is_none_or(|named| {
        named.is_absolute() && (*named == context.settings.directory || is_same_file(named, &context.settings.directory))
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Returns the same call with the path of this program.
fn by_this(call: &Call) -> Result<Call, Reason> {
    let args = match call {
        Call::Line(line) => words(line).split_off(1),
        Call::Program { args, .. } => args.clone(),
        Call::File { .. } => Vec::new(),
    };
    Ok(Call::Program { program: own_path()?, args })
}

fn own_path() -> Result<String, Reason> {
    let path = std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
    path.ok_or(Reason::Foreign)
}

/// Returns whether a file has the content that `yore install` would write there now.
fn is_as_installed(one: &Installed, context: &Context) -> bool {
    let Some(agent) = agent(one.agent) else { return false };
    let look = |machine: &Machine<'_>| Ok(is_as_written(agent, one, machine, &this_program(context)?));
    with_machine(context, Scope::User, look).unwrap_or(false)
}

/// Reports the calls that were found and not run.
fn untried(others: &[(&Installed, Reason)]) -> Vec<Told> {
    let named: BTreeSet<(&str, &Path, bool, Reason)> =
        others.iter().map(|(one, reason)| (one.agent, one.file.as_path(), one.scope == Scope::Project, *reason)).collect();
    let told = named.into_iter().map(|(agent, file, is_project, reason)| {
        let file = file.display().to_string();
        let place = if is_project { format!("{file}, of this project,") } else { file.clone() };
        let (what, remedy) = match reason {
            Reason::Other => ("runs a yore command that is not for agents", "replaces it"),
            Reason::Foreign => {
                ("calls something other than this program as it would be installed", "replaces it with this program")
            }
            Reason::Variables => ("sets variables for yore", "keeps them: remove them by hand"),
        };
        let severity = if is_project { Severity::Note } else { Severity::Warning };
        Told::new("agents", severity, format!("{agent}: {place} {what}; it was not run"))
            .remedy(format!("look at the file; `yore doctor --fix` {remedy}"))
            .fact("agent", agent)
            .fact("file", file)
    });
    told.collect()
}

/// Returns whether a program, as written in a call, is the running one.
fn is_this(program: &str, context: &Context) -> bool {
    let this = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    this.is_some() && resolve(program, context).and_then(|path| path.canonicalize().ok()) == this
}

/// Returns all entries of yore in the agents' files, and those of the plugin if it is enabled.
fn found(context: &Context) -> Vec<Installed> {
    let all = with_machine(context, Scope::User, |machine| {
        let mut all = installed(&AGENTS, machine);
        all.extend(of_plugin(machine));
        Ok(all)
    });
    // Without a home directory there are no files to read.
    all.unwrap_or_default()
}

/// Returns the entries that the plugin brings to Claude Code, if it is enabled there.
fn of_plugin(machine: &Machine<'_>) -> Vec<Installed> {
    let is_enabled = agent(CLAUDE_CODE).is_some_and(|agent| (agent.needless)(machine).is_some());
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

/// Enters this program where agents call one that is missing or of another version. Entries that the person
/// left out of an agent's files stay out.
pub(super) fn mend(context: &mut Context) -> CliResult<()> {
    let all = found(context);
    let stale: Vec<&Installed> = {
        let outdated = outdated(&all, context);
        let is_stale = |one: &&Installed| {
            let is_outdated = program(&one.what).is_some_and(|program| is_path(&program) && outdated.contains_key(&program));
            is_outdated || to_run(one, context).is_err()
        };
        all.iter().filter(is_stale).collect()
    };
    if stale.is_empty() {
        return Ok(());
    }
    let this = this_program(context)?;
    if !is_yore(&this.path) {
        return Ok(context.printer.note(nameless(&this).message)?);
    }
    let mut notes = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        let agents: BTreeSet<&str> = stale.iter().filter(|one| one.scope == scope).map(|one| one.agent).collect();
        if agents.is_empty() {
            continue;
        }
        with_machine(context, scope, |machine| {
            let mut installer = Installer::open(machine, &this, scope, &context.settings.directory, Purpose::Put, false)
                .map_err(|error| CliError::io(&context.settings.directory, &error))?;
            for agent in agents.into_iter().filter_map(agent) {
                let of_it = all.iter().filter(|one| one.agent == agent.name && one.scope == scope);
                let parts: Vec<Part> = of_it.filter_map(|one| one.what.part()).collect();
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

/// Reports the programs that agents call and that are missing or of another version.
fn programs(outdated: &BTreeMap<String, Called<'_>>) -> Vec<Told> {
    let told = outdated.iter().map(|(program, called)| {
        let names = called.agents.iter().copied().collect::<Vec<_>>().join(", ");
        let remedy =
            if is_path(program) { "`yore doctor --fix` replaces it with this program" } else { "put this version on the PATH" };
        let (severity, what) = match &called.state {
            State::Missing => (Severity::Broken, "does not exist".to_owned()),
            State::Mute => (Severity::Broken, "does not report its version".to_owned()),
            State::Version(version) => (Severity::Warning, format!("is {version}; this one is {OWN}")),
        };
        Told::new("version", severity, format!("{names}: calls {program}, which {what}"))
            .remedy(remedy)
            .fact("program", program.as_str())
            .fact("agents", called.agents.iter().copied().collect::<Vec<_>>())
    });
    told.collect()
}

/// A program that agents call and that differs from this one.
struct Called<'i> {
    agents: BTreeSet<&'i str>,
    state: State,
}

enum State {
    Missing,
    /// It is another program, or a broken yore.
    Mute,
    Version(String),
}

/// Returns programs that are missing or of another version. Only programs that the person's own files name
/// are run to ask their version. A program that only a project's file names is reported if it is missing,
/// else ignored.
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

/// Returns whether a program is given as a path.
fn is_path(program: &str) -> bool {
    Path::new(program).components().count() > 1
}

/// Returns the program of a call, as written.
fn program(what: &What) -> Option<String> {
    let program = match what {
        What::Hook { call: Call::Line(line), .. } | What::StatusLine { call: Call::Line(line) } => {
            words(line).into_iter().next()?
        }
        What::Hook { call: Call::Program { program, .. } | Call::File { program, .. }, .. }
        | What::StatusLine { call: Call::Program { program, .. } | Call::File { program, .. } }
        | What::Mcp { program, .. }
        | What::Plugin { program, .. } => program.clone(),
        What::Rules | What::Skill | What::Unreadable(_) => return None,
    };
    is_yore(&program).then_some(program)
}

/// Returns the path of the program that a shell would start, or `None` if there is none.
fn resolve(program: &str, context: &Context) -> Option<PathBuf> {
    if is_path(program) {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    on_path(context)
}
