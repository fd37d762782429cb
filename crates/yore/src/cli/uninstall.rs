use clap::Args;

use super::Context;
use super::install::{Choice, Report, ScopeChoice, chosen, lines, result, this_program, unreadable_record, with_machine};
use crate::error::{CliResult, Exit};
use crate::install::{Installer, Outcome, Purpose, Scope};
use crate::results::Installation;

/// Remove yore from the settings of coding agents
///
/// Without an agent it lists what it would do and changes nothing. A file that did not change since the
/// installation is restored byte for byte; in any other, only yore's entries are removed. The memory itself
/// is not touched.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Agents, or "all"
    #[arg(value_name = "AGENT")]
    agents: Vec<Choice>,
    /// Uninstall for yourself everywhere, or for the project of this directory
    #[arg(long, value_enum, default_value = "user", value_name = "SCOPE")]
    scope: ScopeChoice,
    /// Show the changes and make none
    #[arg(long, short_alias = 'n')]
    dry_run: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let is_list = arguments.agents.is_empty();
    let is_dry = arguments.dry_run || is_list;
    let scope = Scope::from(arguments.scope);
    let program = this_program(context)?;
    let (reports, projects_left) = with_machine(context, scope, |machine| {
        let mut installer = Installer::open(machine, &program, scope, &context.settings.directory, Purpose::Take, is_dry)
            .map_err(|error| unreadable_record(context, &error))?;
        let mut reports = Vec::new();
        for agent in chosen(&arguments.agents) {
            let files = installer.uninstall(agent);
            if !files.is_empty() {
                let is_here = agent.is_here(machine);
                reports.push(Report { agent, is_here, files, advice: Vec::new(), needless: None });
            }
        }
        Ok((reports, installer.projects_left()))
    })?;
    let is_refused = |report: &Report| report.files.iter().any(|file| matches!(file.outcome, Outcome::Refused(_)));
    let exit = if reports.iter().any(is_refused) { Exit::Nothing } else { Exit::Success };
    if context.printer.is_json() {
        context.printer.json(&Installation {
            program: None,
            scope: scope.name().to_owned(),
            dry_run: is_dry,
            agents: reports.iter().map(|report| result(report, arguments.dry_run)).collect(),
            not_found: None,
        })?;
        return Ok(exit);
    }
    for report in &reports {
        lines(report, is_dry, arguments.dry_run, context)?;
    }
    if reports.is_empty() {
        context.printer.line("no entry of yore was found in the agents' settings")?;
    } else if is_list {
        context.printer.note("nothing was changed; `yore uninstall all` does this")?;
    } else if is_dry {
        context.printer.note("nothing was changed")?;
    }
    if scope == Scope::User && projects_left > 0 && !is_list {
        context.printer.note("settings of projects name yore too; `yore uninstall all --scope project` there removes it")?;
    }
    Ok(exit)
}
