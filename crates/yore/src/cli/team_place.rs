//! Holds what commands about teams have in common: checkout, access to a team, failures, a synchronization with its report.

use std::path::Path;

use yore_sources::project_names::{ProjectNames, names_of};

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::{counted, harmless, one_line};
use crate::results::TeamSynced;
use crate::shared::folder::{Folder, project_key};
use crate::shared::mirror::{self, Membership, TeamProject};
use crate::shared::publish::Publisher;
use crate::team::remote::{RemoteError, Server};
use crate::team::state;
use crate::team::sync::sync_project;

/// The checkout of this directory.
pub(super) fn checkout(context: &Context) -> CliResult<(Folder, ProjectNames, String)> {
    let outside = || CliError::usage("this directory is in no repository", Some("run it in the project that you share"));
    let folder = context.settings.here.as_deref().and_then(Folder::of).ok_or_else(outside)?;
    let here = folder.root.to_str().map(names_of).ok_or_else(outside)?;
    let key = project_key(&here).ok_or_else(outside)?;
    Ok((folder, here, key))
}

#[expect(clippy::needless_pass_by_value, reason = "an error is given away where it is told")]
pub(super) fn told(error: RemoteError) -> CliError {
    error.told()
}

pub(super) fn failed(context: &Context) -> impl Fn(std::io::Error) -> CliError {
    let data = context.settings.directory.clone();
    move |error| CliError::io(&data, &error)
}

pub(super) fn server(membership: &Membership) -> CliResult<Server> {
    Server::of(membership).map_err(told)
}

/// Returns the access to a team by its name, or to the only one. A repository has no say in it.
pub(super) fn membership(team: Option<&str>, context: &Context) -> CliResult<Membership> {
    let known = mirror::memberships(&context.settings.directory).map_err(failed(context))?;
    let mut found = known.iter().filter(|membership| team.is_none_or(|name| membership.me.team_name == name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (None, _) if known.is_empty() => {
            Err(CliError::usage("this computer is in no team", Some("`yore team join SERVER INVITATION`")))
        }
        (None, _) => {
            let message = format!("this computer is in no team that is named {}", harmless(team.unwrap_or_default()));
            Err(CliError::usage(message, Some("`yore team` lists the teams; --team names one")))
        }
        (Some(_), Some(_)) => Err(CliError::usage("this computer is in several teams", Some("name one with --team"))),
    }
}

pub(super) fn publisher(root: &Path, context: &Context) -> CliResult<Publisher> {
    let patterns = &context.settings.config().redaction.extra_patterns;
    Publisher::new(&context.settings.directory, patterns, root, context.settings.paths.home.as_deref()).map_err(failed(context))
}

/// Synchronizes projects, and reports what was done.
pub(super) fn report_sync(projects: Vec<TeamProject>, context: &mut Context) -> CliResult {
    let home = context.settings.paths.home.clone();
    let mut done = Vec::new();
    let mut problem = None;
    let mut memory = context.settings.memory()?;
    for project in projects {
        let outcome = sync_project(&mut memory, home.as_deref(), &project);
        done.push(match outcome {
            Ok(synced) => TeamSynced {
                project: project.name,
                sent: synced.sent,
                received: synced.received,
                turns: synced.sessions.turns,
                sessions_taken_back: synced.sessions.removed,
                has_more_turns: synced.sessions.is_cut,
                waiting: synced.waiting,
                refused: state::refused(synced.refused.iter().map(|(name, why)| (name, why))),
                problem: None,
            },
            Err(error) => {
                let waiting =
                    mirror::mirror(&context.settings.directory, &project).map_or(0, |mirror| mirror.waiting.len() as u64);
                let told = error.message.clone();
                problem.get_or_insert(error);
                TeamSynced { project: project.name, waiting, problem: Some(told), ..TeamSynced::default() }
            }
        });
    }
    if context.printer.is_json() {
        context.printer.json(&done)?;
    } else {
        for one in done.iter().filter(|one| one.problem.is_none()) {
            let project = one_line(&one.project);
            context.printer.line(format!(
                "{project}: {} sent, {} received",
                counted(one.sent, "change"),
                counted(one.received, "change")
            ))?;
            if one.turns > 0 {
                context.printer.line(format!("{project}: {} of sessions sent", counted(one.turns, "turn")))?;
            }
            if one.has_more_turns {
                context
                    .printer
                    .note(format!("{project}: there is more of sessions to send: the daemon does, or `yore team sync`"))?;
            }
            if one.sessions_taken_back > 0 {
                context.printer.line(format!("{project}: {} taken back", counted(one.sessions_taken_back, "session")))?;
            }
            for refused in &one.refused {
                context.printer.note(format!("refused: {}", one_line(&refused.reason)))?;
            }
        }
        for one in done.iter().filter(|one| one.problem.is_some() && one.waiting > 0) {
            context.printer.note(format!("{}: {} to be sent later", one_line(&one.project), counted(one.waiting, "change")))?;
        }
    }
    let is_refused = done.iter().any(|one| !one.refused.is_empty());
    problem.map_or(Ok(if is_refused { Exit::Nothing } else { Exit::Success }), Err)
}
