use clap::{Args, Subcommand};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::Project;

/// List projects, rename one, or merge two
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Merge two projects: FROM is known as INTO afterwards
    Merge {
        /// Name, id or directory
        from: String,
        /// Name, id or directory
        into: String,
    },
    /// Give a project another name
    Rename {
        /// Name, id or directory
        project: String,
        /// New name
        name: String,
    },
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Some(Action::Merge { from, into }) => context.settings.engine(false)?.merge_projects(from, into)?,
        Some(Action::Rename { project, name }) => context.settings.engine(false)?.rename_project(project, name)?,
        None => {}
    }
    let projects = context.settings.memory()?.projects()?;
    if context.printer.is_json() {
        context.printer.json(&projects.iter().map(Project::from).collect::<Vec<_>>())?;
    } else {
        let rows: Vec<Vec<String>> = projects
            .iter()
            .map(|project| {
                let place = project
                    .aliases
                    .iter()
                    .find(|(kind, _)| kind == "remote")
                    .or(project.aliases.first())
                    .map(|(_, value)| text::harmless(value))
                    .unwrap_or_default();
                vec![
                    text::time(project.updated),
                    project.id.short(),
                    text::harmless(&project.name),
                    text::counted(project.sessions, "session"),
                    text::counted(project.turns, "turn"),
                    place,
                ]
            })
            .collect();
        for line in text::table(&rows) {
            context.printer.line(line)?;
        }
    }
    Ok(if projects.is_empty() { Exit::Nothing } else { Exit::Success })
}
