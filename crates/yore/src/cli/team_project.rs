//! `yore share .`: shares a project with a team, after it showed what would go, and shares it no more.

use std::io::BufRead;
use std::path::Path;

use yore_core::id::MemoryId;
use yore_team::wire::{Change, MOST_NAME, Role};

use super::team_place::{checkout, failed, membership, publisher, report_sync};
use super::{Context, team_sessions};
use crate::config::{self, FileKind, PROJECT_FILE, SharedLevel};
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::{counted, harmless, one_line};
use crate::results::{SharePreview, ShareRefused};
use crate::shared::file::{self, SharedFile};
use crate::shared::mirror::{self, Membership, Mirror, TeamProject};
use crate::team::outgoing::Outgoing;
use crate::team::sessions;
use crate::team::sync::sync_project;

/// Most memories that a question before sharing shows.
const SHOWN: usize = 5;

/// Options of `yore share .`.
#[derive(Debug)]
pub struct ProjectShare<'a> {
    /// The team.
    pub team: Option<&'a str>,
    /// The level; `None`: that at which it is shared, or the configured one.
    pub level: Option<SharedLevel>,
    /// The session to print as it would go.
    pub session: Option<&'a str>,
    /// Shares no more.
    pub stop: bool,
    /// Only shows what would go.
    pub dry_run: bool,
    /// Asks nothing.
    pub yes: bool,
}

/// Returns the level with a name.
///
/// # Errors
/// None has it.
pub fn level(text: &str) -> Result<SharedLevel, String> {
    let known = SharedLevel::ALL.into_iter().find(|level| level.as_str() == text);
    known.ok_or_else(|| "expected named, memories or sessions".to_owned())
}

/// Shares a project with a team, or shares it no more.
pub fn share_project(options: &ProjectShare<'_>, context: &mut Context) -> CliResult {
    let (folder, here, key) = checkout(context)?;
    let data = context.settings.directory.clone();
    if options.stop {
        return stop(&key, context);
    }
    let configured = context.settings.config().team.clone();
    let named = options.team.or(Some(configured.name.as_str()).filter(|name| !name.is_empty()));
    let membership = membership(named, context)?;
    let is_path = key.starts_with('/') || key.contains(":/") || key.contains('\\');
    let of_remote = if is_path { here.name.clone() } else { key.clone() };
    let name = Some(configured.project).filter(|name| !name.is_empty()).unwrap_or(of_remote);
    if name.chars().count() > MOST_NAME {
        let message = format!("the project's name has more than {MOST_NAME} characters");
        return Err(CliError::usage(message, Some("`yore config set --shared team.project NAME` gives another one")));
    }
    let root = folder.root.clone();
    let known = mirror::projects(&data).map_err(failed(context))?;
    if let (Some(level), SharedLevel::Named) = (options.level.filter(|level| *level != SharedLevel::Named), configured.level) {
        let message = format!("the configuration says that only named memories are shared here: {} are more", level.as_str());
        return Err(CliError::usage(message, Some("`yore config show team.level` says where that stands")));
    }
    // A level that was chosen once stays until another one is, here or in the configuration.
    let is_now = known.iter().find(|known| known.key == key && !known.is_stopped).map(|known| known.level);
    let stays = is_now.filter(|level| *level == SharedLevel::Sessions && configured.level != SharedLevel::Named);
    let level = options.level.or(stays).unwrap_or(configured.level);
    let project = TeamProject { key, root, team: membership.me.team, name, level, is_stopped: false };
    refuse_confusion(&project, &known)?;
    let publisher = publisher(&folder.root, context)?;
    let mut memory = context.settings.memory()?;
    let known = mirror::mirror_or_new(&data, &project).map_err(failed(context))?;
    let outgoing = Outgoing::of(&mut memory, &here, &publisher, &known.named)?.unwrap_or_default();
    if let Some(session) = options.session {
        return team_sessions::print(session, &here, &publisher, &mut memory, context);
    }
    let mut preview = previewed(&membership, &project, &known, &outgoing);
    let is_shared = mirror::projects(&data).map_err(failed(context))?.contains(&project);
    if options.dry_run || !is_shared && !options.yes {
        preview.sessions = team_sessions::previews(project.level, &here, &publisher, &mut memory)?;
    }
    if project.level != SharedLevel::Sessions {
        preview.sessions_taken_back = sessions::sent(&data, &project).map_err(failed(context))?.sessions.len() as u64;
    }
    if options.dry_run {
        return show_preview(&preview, context);
    }
    if !is_shared && !options.yes && !agrees(&preview, project.level, context)? {
        context.printer.line("nothing was changed")?;
        return Ok(Exit::Nothing);
    }
    {
        let _lock = mirror::lock(&data).map_err(failed(context))?;
        let mut projects = mirror::projects(&data).map_err(failed(context))?;
        refuse_confusion(&project, &projects)?;
        projects.retain(|known| known.key != project.key);
        projects.push(project.clone());
        mirror::write_projects(&data, &projects).map_err(failed(context))?;
    }
    announce(&folder.root, &membership, &project, context)?;
    let shared = report_sync(vec![project], context);
    context.settings.wake_daemon();
    shared
}

/// Refuses a project that is shared in another way already, or whose name another one has.
fn refuse_confusion(project: &TeamProject, known: &[TeamProject]) -> CliResult<()> {
    let is_same = |other: &TeamProject| other.team == project.team && other.name == project.name;
    if let Some(other) = known.iter().find(|other| other.key == project.key && !is_same(other)) {
        let message = format!("this project is shared as {} with a team", one_line(&other.name));
        return Err(CliError::usage(message, Some("`yore share . --stop` takes that back first")));
    }
    if let Some(other) = known.iter().find(|other| other.key != project.key && is_same(other)) {
        let message = format!("{} is shared under this name already: {}", other.root.display(), one_line(&other.name));
        return Err(CliError::usage(message, Some("`yore config set --shared team.project NAME` gives this one its own")));
    }
    Ok(())
}

/// Returns what a synchronization would send now.
fn previewed(membership: &Membership, project: &TeamProject, known: &Mirror, outgoing: &Outgoing) -> SharePreview {
    let mut copy = Mirror { member: membership.me.member, ..known.clone() };
    if known.role().unwrap_or(membership.me.role) != Role::Reader {
        outgoing.plan(&mut copy, project.level, &[]);
    }
    let (mut texts, mut taken_back) = (Vec::new(), 0);
    for waiting in copy.waiting {
        match waiting.operation.change {
            Change::Add { text, .. } if !text.is_empty() => texts.push(text),
            Change::TakeBack { .. } | Change::Forget { .. } => taken_back += 1,
            Change::Add { .. } => {}
        }
    }
    let held_back =
        outgoing.held_back.iter().map(|(id, reason)| ShareRefused { memory: id.short(), reason: reason.clone() }).collect();
    let (team, project) = (membership.me.team_name.clone(), project.name.clone());
    SharePreview { team, project, texts, taken_back, held_back, sessions_taken_back: 0, sessions: Vec::new() }
}

/// Writes into the project's file with whom it is shared, unless that stands there.
fn announce(root: &Path, membership: &Membership, project: &TeamProject, context: &mut Context) -> CliResult<()> {
    let file = root.join(PROJECT_FILE);
    let told = &context.settings.config().team;
    if told.name == membership.me.team_name && told.project == project.name {
        return Ok(());
    }
    // A link of a repository could lead anywhere.
    let is_link = file.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let written = if is_link {
        Err("it is a link".to_owned())
    } else {
        config::set(&file, FileKind::Project, "team.name", &membership.me.team_name)
            .and_then(|()| config::set(&file, FileKind::Project, "team.project", &project.name))
            .map_err(|error| error.to_string())
    };
    context.printer.note(match written {
        Ok(()) => format!("{PROJECT_FILE} says so: commit it, so that colleagues see with whom the project is shared"),
        Err(error) => format!("{PROJECT_FILE} does not say so: {}", harmless(&error)),
    })?;
    Ok(())
}

/// Shares a project no more: stores that first, so that it holds whatever becomes of the server.
fn stop(key: &str, context: &mut Context) -> CliResult {
    let data = context.settings.directory.clone();
    let project = {
        let _lock = mirror::lock(&data).map_err(failed(context))?;
        let mut projects = mirror::projects(&data).map_err(failed(context))?;
        let Some(project) = projects.iter_mut().find(|project| project.key == key) else {
            context.printer.note("this project is shared with no team")?;
            return Ok(Exit::Nothing);
        };
        project.is_stopped = true;
        let project = project.clone();
        mirror::write_projects(&data, &projects).map_err(failed(context))?;
        project
    };
    {
        let _lock = mirror::lock_of(&data, &project).map_err(failed(context))?;
        let mut copy = mirror::mirror_or_new(&data, &project).map_err(failed(context))?;
        let ids: Vec<MemoryId> = copy.sent.keys().copied().collect();
        ids.into_iter().for_each(|id| copy.take_back(id, false));
        mirror::write_mirror(&data, &project, &copy).map_err(failed(context))?;
    }
    let home = context.settings.paths.home.clone();
    let mut memory = context.settings.memory()?;
    match sync_project(&mut memory, home.as_deref(), &project) {
        Ok(done) if done.waiting == 0 => {
            let sessions = match done.sessions.removed {
                0 => String::new(),
                count => format!(" and {}", counted(count, "session")),
            };
            context
                .printer
                .line(format!("{}{sessions} taken back; the project is shared no more", counted(done.sent, "text")))?;
        }
        Ok(_) => context.printer.line("the project is shared no more; the rest is taken back later")?,
        Err(error) if error.code == "team/token" => {
            context.printer.line("the project is shared no more")?;
            context.printer.note("this computer has no access to the team: what was shared stays on its server")?;
        }
        Err(error) => {
            context
                .printer
                .line("the project is shared no more; what went out from here is taken back when the server answers")?;
            return Err(error);
        }
    }
    Ok(Exit::Success)
}

fn show_preview(preview: &SharePreview, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(preview)?;
        return Ok(Exit::Success);
    }
    for text in &preview.texts {
        context.printer.line(harmless(text))?;
    }
    team_sessions::list(&preview.sessions, context)?;
    let (team, project) = (one_line(&preview.team), one_line(&preview.project));
    let texts = counted(preview.texts.len() as u64, "text");
    let sessions = match preview.sessions.len() as u64 {
        0 => String::new(),
        count => format!(", and {} be shared, with those that are", counted(count, "session")),
    };
    context.printer.note(format!("{texts} would go to {team}, as {project}{sessions}"))?;
    if preview.sessions_taken_back > 0 {
        context.printer.note(format!("{} would be taken back", counted(preview.sessions_taken_back, "session")))?;
    }
    if preview.taken_back > 0 {
        context.printer.note(format!("{} would be taken back", counted(preview.taken_back, "text")))?;
    }
    for held in &preview.held_back {
        context.printer.note(format!("[{}] is held back: {}", held.memory, one_line(&held.reason)))?;
    }
    Ok(Exit::Success)
}

/// Shows what would go, and asks.
fn agrees(preview: &SharePreview, level: SharedLevel, context: &mut Context) -> CliResult<bool> {
    for text in preview.texts.iter().take(SHOWN) {
        let statement = match file::read(text) {
            Ok(SharedFile::Memory(memory)) => memory.statement,
            _ => String::new(),
        };
        context.printer.line(format!("- {}", one_line(&statement)))?;
    }
    if preview.texts.len() > SHOWN {
        context.printer.line(format!("- and {} more; --dry-run shows each as it is sent", preview.texts.len() - SHOWN))?;
    }
    if !preview.held_back.is_empty() {
        context.printer.line(format!("{} held back: --dry-run says why", counted(preview.held_back.len() as u64, "memory")))?;
    }
    if preview.taken_back > 0 {
        context.printer.line(format!("{} taken back", counted(preview.taken_back, "text")))?;
    }
    let (team, name) = (one_line(&preview.team), one_line(&preview.project));
    if preview.sessions_taken_back > 0 {
        context.printer.line(format!("{} taken back", counted(preview.sessions_taken_back, "session")))?;
    }
    let memories = counted(preview.texts.len() as u64, "memory");
    let what = match level {
        SharedLevel::Named => "the memories that you name".to_owned(),
        SharedLevel::Memories => format!("{memories}, and those to come,"),
        SharedLevel::Sessions => {
            let sessions = counted(preview.sessions.len() as u64, "session");
            context
                .printer
                .line(format!("{sessions}: --dry-run lists them; what you and the agents said goes, and no output of tools"))?;
            format!("{memories} and what was said in {sessions}, and those to come,")
        }
    };
    context.printer.prompt(format!("share {what} with the team {team} as {name}? y: yes, enter: no "))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(CliError::from)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
