use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::{Context, learn};
use crate::agents::AGENTS;
use crate::error::{CliError, CliResult, Exit};
use crate::install::command::is_yore;
use crate::install::found::Installed;
use crate::install::what::What;
use crate::install::{Agent, Done, Installer, Machine, Outcome, Part, Program, Purpose, Scope, installed};
use crate::paths::{Paths, Platform};
use crate::render::text;
use crate::results::{self, Installation, InstalledAgent, InstalledFile};

/// Put yore into the settings of coding agents
///
/// It adds the MCP server, hooks, and instructions for the agent.
/// Without an agent it lists what it would do and changes nothing. Each file that it changes is first copied
/// to the data directory. It touches only yore's own entries, and leaves a file alone that it cannot read. A
/// second run changes nothing. `yore uninstall` undoes it.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Agents, or "all" for those on this computer
    #[arg(value_name = "AGENT")]
    agents: Vec<Choice>,
    /// Install for yourself everywhere, or for the project of this directory
    #[arg(long, value_enum, default_value = "user", value_name = "SCOPE")]
    scope: ScopeChoice,
    /// Show the changes and make none
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
    /// Leave out hooks: nothing is captured or given automatically
    #[arg(long)]
    no_hooks: bool,
    /// Leave out the MCP server and the instructions for it
    #[arg(long)]
    no_mcp: bool,
    /// Add a status line to Claude Code, if it has none
    #[arg(long)]
    status_line: bool,
}

/// An agent named on the command line, or all of them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    All,
    /// Index of the agent in the table.
    One(usize),
}

/// The values `all` and the table's agents, in its order.
const CHOICES: [Choice; AGENTS.len() + 1] = {
    let mut choices = [Choice::All; AGENTS.len() + 1];
    let mut index = 0;
    while index < AGENTS.len() {
        choices[index + 1] = Choice::One(index);
        index += 1;
    }
    choices
};

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        &CHOICES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::All => PossibleValue::new("all"),
            Self::One(index) => PossibleValue::new(AGENTS[*index].name).aliases(AGENTS[*index].aliases.iter().copied()),
        })
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ScopeChoice {
    User,
    Project,
}

impl From<ScopeChoice> for Scope {
    fn from(choice: ScopeChoice) -> Self {
        match choice {
            ScopeChoice::User => Self::User,
            ScopeChoice::Project => Self::Project,
        }
    }
}

/// The outcome for one agent.
pub(super) struct Report {
    pub agent: &'static Agent,
    pub is_here: bool,
    pub files: Vec<Done>,
    pub advice: Vec<&'static str>,
    pub needless: Option<String>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.no_hooks && arguments.no_mcp && !arguments.status_line {
        return Err(CliError::usage("without hooks and server there is nothing to install", None));
    }
    let is_list = arguments.agents.is_empty();
    let is_dry = arguments.dry_run || is_list;
    let scope = Scope::from(arguments.scope);
    let program = this_program(context)?;
    if !is_yore(&program.path) {
        return Err(nameless(&program));
    }
    if let Some(client) = cache_of(&program.path).filter(|_| !is_dry) {
        return Err(CliError::usage(
            format!("this program is in a cache of {client}, which removes it one day: agents could not find it then"),
            Some("install it to stay (`npm install -g`, `pip install`, `uv tool install`), and run `yore install` again"),
        ));
    }
    let mut reports = Vec::new();
    with_machine(context, scope, |machine| {
        let mut installer = Installer::open(machine, &program, scope, &context.settings.directory, Purpose::Put, is_dry)
            .map_err(|error| unreadable_record(context, &error))?;
        // An entry that the person has everywhere would run twice in a project that has it too.
        let there = if scope == Scope::Project { installed(&AGENTS, machine) } else { Vec::new() };
        for agent in chosen(&arguments.agents) {
            let is_here = agent.is_here(machine);
            // An agent that is not on this computer is installed only if it is named.
            let is_named = arguments.agents.iter().any(|choice| matches!(choice, Choice::One(_)));
            let mut report = Report { agent, is_here, files: Vec::new(), advice: Vec::new(), needless: None };
            if is_here || is_named && !is_list {
                let by_plugin = (agent.needless)(machine);
                let everywhere = parts_everywhere(agent, &there);
                let is_brought = |part: Part| {
                    by_plugin.is_some() && matches!(part, Part::Mcp | Part::Hooks | Part::Skill) || everywhere.contains(&part)
                };
                report.files = installer.install(agent, &|part| {
                    let is_asked = match part {
                        Part::Mcp => !arguments.no_mcp,
                        Part::Hooks => !arguments.no_hooks,
                        // Aider can have no other part.
                        Part::Skill => !arguments.no_mcp,
                        Part::Rules => !arguments.no_mcp || agent.name == "aider",
                        Part::StatusLine => arguments.status_line,
                    };
                    is_asked && !is_brought(part)
                });
                let names: Vec<&str> = everywhere.iter().map(|part| part.name()).collect();
                let is_everywhere =
                    (!names.is_empty()).then(|| format!("already installed for you in every project: {}", names.join(", ")));
                report.needless = by_plugin.or(is_everywhere);
                report.advice = (agent.advice)(&installer.wanted(Purpose::Put));
            }
            reports.push(report);
        }
        Ok(())
    })?;
    show(&reports, &program, scope, is_dry, arguments, context)
}

/// Returns the error for a program whose name differs from the one that its entries are recognised by.
pub(super) fn nameless(program: &Program) -> CliError {
    let message = format!("this program is called {}; in agents' settings it must be called yore", program.path);
    CliError::usage(message, Some("rename it to yore (yore.exe on Windows), or link to it by that name on the PATH"))
}

/// Returns the parts that an agent has in the person's settings, for every project.
fn parts_everywhere(agent: &Agent, there: &[Installed]) -> Vec<Part> {
    let has = |part: Part| {
        there.iter().filter(|one| one.agent == agent.name && one.scope == Scope::User).any(|one| match one.what {
            What::Mcp { .. } => part == Part::Mcp,
            What::Hook { .. } | What::Plugin { .. } => part == Part::Hooks,
            What::StatusLine { .. } => part == Part::StatusLine,
            What::Skill => part == Part::Skill,
            What::Rules | What::Unreadable(_) => false,
        })
    };
    [Part::Mcp, Part::Hooks, Part::StatusLine, Part::Skill].into_iter().filter(|part| has(*part)).collect()
}

/// Returns the error for an unusable record of changes.
pub(super) fn unreadable_record(context: &Context, error: &std::io::Error) -> CliError {
    CliError {
        hint: Some("move it away; without it, yore recognizes its entries by the command that they run".to_owned()),
        ..CliError::io(&context.settings.directory.join("install.json"), error)
    }
}

/// Calls `act` with a description of this computer.
pub(super) fn with_machine<T>(context: &Context, scope: Scope, act: impl FnOnce(&Machine<'_>) -> CliResult<T>) -> CliResult<T> {
    let Some(home) = context.settings.paths.home.clone() else {
        return Err(CliError::usage("no home directory, so the settings of agents cannot be found", None));
    };
    let project = context.settings.here.as_deref().map(project_root);
    if scope == Scope::Project && project.as_ref().is_none_or(|project| *project == home) {
        return Err(CliError::usage("this directory is not a project", Some("go to the project's directory first")));
    }
    let variable = |name: &str| context.settings.environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
    act(&Machine { platform: Platform::HERE, project: project.filter(|project| *project != home), home, variable: &variable })
}

/// Returns the repository that contains a directory, else the directory.
fn project_root(directory: &Path) -> PathBuf {
    directory.ancestors().find(|path| path.join(".git").exists()).unwrap_or(directory).to_path_buf()
}

/// Returns the package client in whose cache a program lies: it was run without being installed.
fn cache_of(program: &str) -> Option<&'static str> {
    let parts: Vec<&str> = program.split(['/', '\\']).collect();
    let has = |names: &[&str]| parts.windows(names.len()).any(|window| window == names);
    let is_of_uv = parts.iter().any(|part| part.starts_with("archive-v")) && parts.contains(&"uv");
    match () {
        () if has(&["_npx"]) => Some("npx"),
        () if parts.iter().any(|part| part.starts_with("dlx-")) => Some("pnpm"),
        () if is_of_uv => Some("uvx"),
        () => None,
    }
}

/// Returns this program as agents should call it: by its name if the search path leads to it, which stays
/// right after an update, else by its own path.
pub(super) fn this_program(context: &Context) -> CliResult<Program> {
    let own = std::env::current_exe().map_err(|error| CliError::io(Path::new("yore"), &error))?;
    let real = own.canonicalize().ok();
    let name = if cfg!(windows) { "yore.exe" } else { "yore" };
    let search = context.settings.environment.get("PATH").map(std::env::split_paths);
    let named = search
        .into_iter()
        .flatten()
        .map(|directory| directory.join(name))
        .find(|path| path.is_absolute() && real.is_some() && path.canonicalize().ok() == real);
    let path = named.unwrap_or(own);
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let unicode = |path: PathBuf| {
        path.into_os_string().into_string().map_err(|path| {
            CliError::usage(format!("{} cannot be written into settings: it is not Unicode", path.to_string_lossy()), None)
        })
    };
    // An agent may be started with this shell's variables, or without them.
    let variable = |name: &str| context.settings.environment.get(name).and_then(|value| value.to_str()).map(str::to_owned);
    let without = Paths::locate(Platform::HERE, &|name| if name == "YORE_HOME" { None } else { variable(name) });
    let is_usual = [&context.settings.paths.data, &without.data]
        .into_iter()
        .all(|usual| usual.as_ref() == Some(&context.settings.directory));
    let data_dir = if is_usual { None } else { Some(unicode(absolute(&context.settings.directory))?) };
    Ok(Program { path: unicode(path)?, data_dir })
}

/// Returns the chosen agents in the table's order; all if none is named.
pub(super) fn chosen(choices: &[Choice]) -> Vec<&'static Agent> {
    let is_all = choices.is_empty() || choices.iter().any(|choice| matches!(choice, Choice::All));
    let is_chosen = |index: usize| choices.iter().any(|choice| matches!(choice, Choice::One(one) if *one == index));
    AGENTS.iter().enumerate().filter(|(index, _)| is_all || is_chosen(*index)).map(|(_, agent)| agent).collect()
}

fn show(
    reports: &[Report],
    program: &Program,
    scope: Scope,
    is_dry: bool,
    arguments: &Arguments,
    context: &mut Context,
) -> CliResult {
    let is_list = arguments.agents.is_empty();
    let done: Vec<&Report> = reports.iter().filter(|report| !report.files.is_empty() || report.needless.is_some()).collect();
    let refused = done.iter().flat_map(|report| &report.files).any(|file| matches!(file.outcome, Outcome::Refused(_)));
    let exit = if refused || done.is_empty() && !is_list { Exit::Nothing } else { Exit::Success };
    let not_here: Vec<&str> = reports.iter().filter(|report| !report.is_here).map(|report| report.agent.name).collect();
    if context.printer.is_json() {
        context.printer.json(&Installation {
            program: Some(program.path.clone()),
            scope: scope.name().to_owned(),
            dry_run: is_dry,
            agents: done.iter().map(|report| result(report, arguments.dry_run)).collect(),
            not_found: Some(not_here.into_iter().map(str::to_owned).collect()),
        })?;
        return Ok(exit);
    }
    for report in &done {
        lines(report, is_dry, arguments.dry_run, context)?;
        let advice = report.advice.iter().filter(|_| !is_dry && report.files.iter().any(|file| file.outcome.is_change()));
        for advice in advice {
            context.printer.line(format!("  {}→{} {advice}", text::CYAN, text::RESET))?;
        }
    }
    if done.is_empty() {
        context.printer.line("no supported agent was found on this computer")?;
    }
    if !not_here.is_empty() && arguments.agents.iter().all(|choice| matches!(choice, Choice::All)) {
        context.printer.line(format!("{}not found: {}{}", text::DIM, not_here.join(", "), text::RESET))?;
    }
    let changes = done.iter().flat_map(|report| &report.files).any(|file| file.outcome.is_change());
    if is_list && changes {
        let flag = if scope == Scope::Project { " --scope project" } else { "" };
        context.printer.note(format!(
            "nothing was changed; `yore install {}{flag}` does this, `yore install all{flag}` does all of it, and --dry-run shows every change",
            done.first().map_or("AGENT", |report| report.agent.name)
        ))?;
    } else if is_dry {
        context.printer.note("nothing was changed")?;
    } else if changes && !context.settings.directory.join("yore.db").exists() {
        context.printer.note("`yore up` reads the conversations that are here already")?;
    } else if !is_dry && scope == Scope::User {
        learn::offer(context)?;
    }
    Ok(exit)
}

/// Prints an agent and the outcome for its files.
pub(super) fn lines(report: &Report, is_dry: bool, with_diff: bool, context: &mut Context) -> CliResult<()> {
    let home = context.settings.paths.home.clone();
    context.printer.line(format!("{}{}{}", text::BOLD, report.agent.title, text::RESET))?;
    if let Some(needless) = &report.needless {
        context.printer.line(format!("  {}·{} {}", text::CYAN, text::RESET, text::harmless(needless)))?;
    }
    for file in &report.files {
        let (mark, color) = match file.outcome {
            Outcome::Refused(_) => ("✗", text::RED),
            Outcome::Already | Outcome::Absent | Outcome::Kept(_) => ("·", text::CYAN),
            _ if is_dry => ("+", text::GREEN),
            _ => ("✓", text::GREEN),
        };
        let parts: Vec<&str> = file.parts.iter().map(|part| part.name()).collect();
        let path = text::harmless(&shortened(&file.path, home.as_deref()));
        let words = words(file, is_dry, home.as_deref());
        context.printer.line(format!(
            "  {color}{mark}{} {path}: {}, {}",
            text::RESET,
            parts.join(" and "),
            text::harmless(&words)
        ))?;
        for line in file.diff.iter().filter(|_| with_diff).flat_map(|diff| diff.lines()) {
            let color = match line.as_bytes().first() {
                Some(b'+') => text::GREEN,
                Some(b'-') => text::RED,
                _ => text::DIM,
            };
            context.printer.line(format!("    {color}{}{}", text::harmless(line), text::RESET))?;
        }
    }
    Ok(())
}

fn words(file: &Done, is_dry: bool, home: Option<&Path>) -> String {
    let tense = |done: &str, would: &str| if is_dry { format!("would be {would}") } else { done.to_owned() };
    match &file.outcome {
        Outcome::Created => tense("file created", "a new file"),
        Outcome::Changed => tense("added", "added"),
        Outcome::Already => "already installed".to_owned(),
        Outcome::Restored => tense("removed, the file is as before", "removed, the file as before"),
        Outcome::Removed => tense("removed with the file", "removed with the file"),
        Outcome::Cleaned => tense("removed, later changes are kept", "removed, later changes kept"),
        Outcome::RemovedWithCopy(copy) if copy.as_os_str().is_empty() => tense("removed", "removed, with a copy kept"),
        Outcome::RemovedWithCopy(copy) => {
            format!("removed; it had been changed, so a copy is kept: {}", shortened(copy, home))
        }
        Outcome::Kept(others) => format!("stays for {}", others.join(", ")),
        Outcome::Absent => "nothing to remove".to_owned(),
        Outcome::Refused(why) => format!("left as it is: {why}"),
    }
}

/// Formats a path, with `~` for the home directory.
fn shortened(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if !cfg!(windows) => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    }
}

/// Returns an agent and the outcome for its files.
pub(super) fn result(report: &Report, with_diff: bool) -> InstalledAgent {
    let file = |file: &Done| {
        let (mut reason, mut used_by, mut copy) = (None, None, None);
        match &file.outcome {
            Outcome::Refused(why) => reason = Some(why.clone()),
            Outcome::Kept(others) => used_by = Some(others.iter().map(ToString::to_string).collect()),
            Outcome::RemovedWithCopy(path) => copy = Some(results::path(path)),
            _ => {}
        }
        InstalledFile {
            path: results::path(&file.path),
            parts: file.parts.iter().map(|part| part.name().to_owned()).collect(),
            outcome: file.outcome.name().to_owned(),
            reason,
            used_by,
            copy,
            diff: file.diff.clone().filter(|_| with_diff),
        }
    };
    InstalledAgent {
        agent: report.agent.name.to_owned(),
        title: report.agent.title.to_owned(),
        found: report.is_here,
        files: report.files.iter().map(file).collect(),
        advice: report.advice.iter().map(ToString::to_string).collect(),
        needless: report.needless.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::cache_of;

    #[test]
    fn a_program_in_the_cache_of_a_package_client_is_recognised_and_an_installed_one_is_not() {
        for (path, client) in [
            ("/home/ann/.npm/_npx/5f3c/node_modules/yore-memory-linux-x64/bin/yore", Some("npx")),
            ("/home/ann/.cache/uv/archive-v0/Zx81/bin/yore", Some("uvx")),
            ("/home/ann/.cache/pnpm/dlx-4711/node_modules/.bin/yore", Some("pnpm")),
            ("/home/ann/.local/share/uv/tools/yore-memory/bin/yore", None),
            ("/usr/lib/node_modules/yore-memory/node_modules/yore-memory-linux-x64/bin/yore", None),
            ("/usr/bin/yore", None),
        ] {
            assert_eq!(cache_of(path), client, "{path}");
        }
    }
}
