use std::path::Path;

use clap::{Args, Subcommand};
use yore_engine::ProjectMerged;
use yore_sources::project_names::names_of;

use super::Context;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results::Project;

/// List projects, rename one, merge two, or undo a merge
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
        /// Name, id or directory; a directory that is no known project becomes one
        into: String,
    },
    /// Undo the last merge, or the last one of PROJECT
    ///
    /// It is a project of its own again, with the sessions, notes and memories that it had. What was added since stays where it is.
    Undo {
        /// Former name of the project that was merged, or its id
        project: Option<String>,
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
        Some(Action::Merge { from, into }) => {
            let place = Path::new(into).is_dir().then(|| Path::new(into).canonicalize().ok()).flatten();
            let place = place.as_deref().and_then(Path::to_str).map(names_of);
            let merged = context.settings.memory()?.merge_projects(from.clone(), into.clone(), place)?;
            let (from, into) = (text::harmless(&merged.from), text::harmless(&merged.into));
            tell(format!("merged {from} into {into}: {}; `yore projects undo` takes it back", moved(&merged)), context)?;
        }
        Some(Action::Undo { project }) => {
            let undone = context.settings.memory()?.undo_merge(project.clone())?;
            let (from, into) = (text::harmless(&undone.from), text::harmless(&undone.into));
            tell(format!("{from} is a project of its own again, apart from {into}: {}", moved(&undone)), context)?;
        }
        Some(Action::Rename { project, name }) => {
            context.settings.memory()?.rename_project(project.clone(), name.clone())?;
            tell(format!("renamed {} to {}", text::harmless(project), text::harmless(name.trim())), context)?;
        }
        None => {}
    }
    let projects = context.settings.memory()?.projects()?;
    if context.printer.is_json() {
        context.printer.json(&projects.iter().map(Project::from).collect::<Vec<_>>())?;
    } else if arguments.action.is_none() {
        let rows: Vec<Vec<String>> = projects
            .iter()
            .map(|project| {
                vec![
                    text::time(project.updated),
                    project.id.short(),
                    text::harmless(&project.name),
                    text::counted(project.sessions, "session"),
                    text::counted(project.turns, "turn"),
                    text::project_place(project),
                ]
            })
            .collect();
        context.printer.table(&rows)?;
        for offer in context.settings.memory()?.merge_offers()? {
            context.printer.note(format!("note: {}", text::merge_offer(&offer)))?;
        }
    }
    Ok(if projects.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Returns how much changed its project.
fn moved(merged: &ProjectMerged) -> String {
    let moved = merged.moved;
    let parts = [(moved.sessions, "session"), (moved.turns, "turn"), (moved.memories, "memory")];
    parts.map(|(number, what)| text::counted(number, what)).join(", ")
}

/// Prints what was done, unless the result is printed as JSON.
fn tell(line: String, context: &mut Context) -> CliResult<()> {
    if !context.printer.is_json() {
        context.printer.line(line)?;
    }
    Ok(())
}
