//! `yore team`, and `yore share .`: sharing with a team over its server.

use std::fs;
use std::io::BufRead;
use std::path::Path;

use clap::{Args, Subcommand};
use yore_core::time::format_utc;
use yore_sources::git::Git;
use yore_sources::project_names::{ProjectNames, names_of};
use yore_team::wire::{Change, Join, Member, NewInvite, Role, name_of};

use super::Context;
use crate::config::{self, FileKind, PROJECT_FILE, SharedLevel};
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::{counted, harmless, one_line};
use crate::results::{SharePreview, ShareRefused, TeamAudited, TeamInvite, TeamMember, TeamProjectState, TeamState, TeamSynced};
use crate::shared::file::{self, SharedFile};
use crate::shared::folder::{Folder, project_key};
use crate::shared::mirror::{self, Membership, Mirror, TeamProject};
use crate::shared::publish::Publisher;
use crate::team::outgoing::Outgoing;
use crate::team::remote::{RemoteError, Server};
use crate::team::sync::sync_project;

/// Most memories that a question before sharing shows.
const SHOWN: usize = 5;
/// Entries of the audit that are listed.
const AUDITED: usize = 100;

/// Share with a team over its server
///
/// A team's server (`yore serve`) holds what members share. `yore team join` gives this computer access, `yore share .` in a project shares
/// it: memories that hold for everybody who works on it, redacted, without preferences and notes. What others share comes to this computer,
/// so that recall and hooks work offline. Without an action, says what is shared.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Join a team with an invitation, or add this computer
    Join {
        /// Address of the team's server, such as https://yore.example.org
        server: String,
        /// The invitation; without it, it is read from standard input
        invite: Option<String>,
        /// Your name [default: git's user.name]
        #[arg(long)]
        name: Option<String>,
        /// Your address, by which members are told apart [default: git's user.email]
        #[arg(long)]
        email: Option<String>,
        /// Name of this computer [default: its host name]
        #[arg(long)]
        computer: Option<String>,
    },
    /// Make an invitation, which lets one computer in, once
    Invite {
        /// Only somebody with this address; your own for a further computer of yours
        #[arg(long)]
        email: Option<String>,
        /// What they may do: reader, member or owner
        #[arg(long, default_value = "member", value_parser = role)]
        role: Role,
        /// Hours that it is valid
        #[arg(long, default_value_t = 48)]
        hours: u32,
        #[command(flatten)]
        team: OfTeam,
    },
    /// List the members
    Members {
        #[command(flatten)]
        team: OfTeam,
    },
    /// Take a member's access; what they shared stays
    Remove {
        /// Address of the member
        email: String,
        #[command(flatten)]
        team: OfTeam,
    },
    /// Have what a member shares count for nobody, as one operation
    Withdraw {
        /// Address of the member
        email: String,
        /// Have it count again
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        team: OfTeam,
    },
    /// Share memories of this project that you name
    Share {
        /// Ids of memories
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
    },
    /// Take memories back that are shared from here; they are not shared again by themselves
    TakeBack {
        /// Ids of memories
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
    },
    /// Delete a shared text for good from the server and from every copy
    Forget {
        /// Ids of memories that came from the team, or that are shared from here
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
    },
    /// Send what waits, and receive what changed
    Sync,
    /// List who did what, for owners
    Audit {
        #[command(flatten)]
        team: OfTeam,
    },
    /// Give up this computer's access; what is shared stays on the server
    Leave {
        #[command(flatten)]
        team: OfTeam,
    },
}

/// The team that is meant.
#[derive(Args, Debug)]
struct OfTeam {
    /// Name of the team, if there are several
    #[arg(long)]
    team: Option<String>,
}

/// Options of `yore share .`.
#[derive(Debug)]
pub struct ProjectShare<'a> {
    /// The team.
    pub team: Option<&'a str>,
    /// Shares no more.
    pub stop: bool,
    /// Only shows what would go.
    pub dry_run: bool,
    /// Asks nothing.
    pub yes: bool,
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| "expected reader, member or owner".to_owned())
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        None => show(context),
        Some(Action::Join { server, invite, name, email, computer }) => {
            join(server, invite.as_deref(), [name.as_deref(), email.as_deref(), computer.as_deref()], context)
        }
        Some(Action::Invite { email, role, hours, team }) => {
            let new = NewInvite { role: *role, email: email.as_ref().map(|email| email.to_lowercase()), hours: *hours };
            let invite = server(&membership(team.team.as_deref(), context)?)?.invite(&new).map_err(told)?;
            if context.printer.is_json() {
                context.printer.json(&TeamInvite { invite: invite.invite, expires: format_utc(invite.expires) })?;
            } else {
                context.printer.line(&invite.invite)?;
                context.printer.note(format!(
                    "it lets one computer in until {}: `yore team join {} INVITATION`",
                    format_utc(invite.expires),
                    membership(team.team.as_deref(), context)?.server
                ))?;
            }
            Ok(Exit::Success)
        }
        Some(Action::Members { team }) => members(team.team.as_deref(), context),
        Some(Action::Remove { email, team }) => change_member(team.team.as_deref(), email, "remove", context),
        Some(Action::Withdraw { email, undo, team }) => {
            change_member(team.team.as_deref(), email, if *undo { "restore" } else { "withdraw" }, context)
        }
        Some(Action::Share { memories }) => named(memories, Named::Share, context),
        Some(Action::TakeBack { memories }) => named(memories, Named::TakeBack, context),
        Some(Action::Forget { memories }) => named(memories, Named::Forget, context),
        Some(Action::Sync) => sync(context),
        Some(Action::Audit { team }) => audit(team.team.as_deref(), context),
        Some(Action::Leave { team }) => leave(team.team.as_deref(), context),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "an error is given away where it is told")]
fn told(error: RemoteError) -> CliError {
    error.told()
}

fn failed(context: &Context) -> impl Fn(std::io::Error) -> CliError {
    let data = context.settings.directory.clone();
    move |error| CliError::io(&data, &error)
}

fn server(membership: &Membership) -> CliResult<Server> {
    Server::of(membership).map_err(told)
}

/// Returns the access to a team by its name, or to the only one.
fn membership(team: Option<&str>, context: &Context) -> CliResult<Membership> {
    let known = mirror::memberships(&context.settings.directory).map_err(failed(context))?;
    let configured = Some(context.settings.config().team.name.as_str()).filter(|name| !name.is_empty());
    let wanted = team.or(configured);
    let mut found = known.iter().filter(|membership| wanted.is_none_or(|name| membership.me.team_name == name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (None, _) if known.is_empty() => Err(CliError::usage(
            "this computer is in no team",
            Some("`yore team join SERVER INVITATION`; `yore team` lists teams"),
        )),
        (None, _) => {
            let message = format!("this computer is in no team that is named {}", harmless(wanted.unwrap_or_default()));
            Err(CliError::usage(message, Some("`yore team` lists the teams")))
        }
        (Some(_), Some(_)) => Err(CliError::usage("this computer is in several teams", Some("name one with --team"))),
    }
}

/// Returns what git has as the person's `key`.
fn of_git(key: &str, context: &Context) -> Option<String> {
    let here = context.settings.here.clone()?;
    let mut value = Vec::new();
    Git::at(&here).run(&["config", key], 1_000, &mut value).ok()?;
    Some(String::from_utf8_lossy(&value).trim().to_owned()).filter(|value| !value.is_empty())
}

/// Returns the name of this computer, as far as it has one.
fn computer_name(context: &Context) -> String {
    let variable = |name: &str| context.settings.environment.get(name)?.to_str().map(str::to_owned);
    let file = || fs::read_to_string("/etc/hostname").ok();
    let name = variable("HOSTNAME").or_else(|| variable("COMPUTERNAME")).or_else(file).unwrap_or_default();
    let name = harmless(name.trim());
    if name.is_empty() { "computer".to_owned() } else { name }
}

fn join(address: &str, invite: Option<&str>, who: [Option<&str>; 3], context: &mut Context) -> CliResult {
    let [name, email, computer] = who.map(|given| given.map(str::to_owned));
    let missing = |what: &str, option: &str| CliError::usage(format!("your {what} is not known"), Some(option));
    let email = email.or_else(|| of_git("user.email", context)).ok_or_else(|| missing("address", "give --email"))?.to_lowercase();
    let name = name.or_else(|| of_git("user.name", context)).ok_or_else(|| missing("name", "give --name"))?;
    let invite = match invite {
        Some(invite) => invite.to_owned(),
        None => {
            context.printer.prompt("the invitation: ")?;
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map_err(CliError::from)?;
            line.trim().to_owned()
        }
    };
    let computer = computer.unwrap_or_else(|| computer_name(context));
    let server = Server::new(address).map_err(told)?;
    let joined = server.join(&Join { invite, name, email, computer }).map_err(told)?;
    let data = context.settings.directory.clone();
    let _lock = mirror::lock(&data).map_err(failed(context))?;
    let mut known = mirror::memberships(&data).map_err(failed(context))?;
    known.retain(|membership| membership.me.team != joined.me.team);
    let team = one_line(&joined.me.team_name);
    let role = joined.me.role.as_str();
    known.push(Membership { server: server.address().to_owned(), token: joined.token, me: joined.me });
    mirror::write_memberships(&data, &known).map_err(failed(context))?;
    if context.printer.is_json() {
        context.printer.json(&states(context)?)?;
    } else {
        context.printer.line(format!("this computer is in the team {team}, as {role}"))?;
        context.printer.note("`yore share .` in a project shares it with the team; nothing is shared before that")?;
    }
    Ok(Exit::Success)
}

/// Returns the teams of this computer, with their projects.
fn states(context: &Context) -> CliResult<Vec<TeamState>> {
    let data = &context.settings.directory;
    let projects = mirror::projects(data).map_err(failed(context))?;
    let mut states = Vec::new();
    for membership in mirror::memberships(data).map_err(failed(context))? {
        let mut state = TeamState {
            team: membership.me.team_name.clone(),
            server: membership.server,
            email: membership.me.email,
            role: membership.me.role.as_str().to_owned(),
            projects: Vec::new(),
        };
        for project in projects.iter().filter(|project| project.team == membership.me.team) {
            let mirror = mirror::mirror(data, project).map_err(failed(context))?;
            state.projects.push(project_state(project, &mirror));
        }
        states.push(state);
    }
    Ok(states)
}

fn project_state(project: &TeamProject, mirror: &Mirror) -> TeamProjectState {
    let level = match project.level {
        SharedLevel::Named => "named",
        SharedLevel::Memories => "memories",
    };
    TeamProjectState {
        project: project.name.clone(),
        directory: project.root.display().to_string(),
        level: level.to_owned(),
        sent: mirror.sent.len() as u64,
        received: mirror.known().len() as u64,
        waiting: mirror.waiting.len() as u64,
        refused: refused(mirror.refused.iter()),
    }
}

fn refused<'a>(refused: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<ShareRefused> {
    refused.map(|(memory, reason)| ShareRefused { memory: memory.clone(), reason: reason.clone() }).collect()
}

fn show(context: &mut Context) -> CliResult {
    let states = states(context)?;
    if context.printer.is_json() {
        context.printer.json(&states)?;
        return Ok(if states.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    for state in &states {
        let (team, email) = (one_line(&state.team), one_line(&state.email));
        context.printer.line(format!("{team}, {}: you are {email}, {}", harmless(&state.server), state.role))?;
        for project in &state.projects {
            let waiting =
                if project.waiting > 0 { format!(", {} to be sent", counted(project.waiting, "change")) } else { String::new() };
            let shares = if project.level == "named" { "named memories" } else { "memories" };
            context.printer.line(format!(
                "  {}: {shares}; {} shared from here, {} received{waiting}",
                one_line(&project.project),
                project.sent,
                project.received
            ))?;
            for refused in &project.refused {
                context.printer.line(format!("    refused: {}", one_line(&refused.reason)))?;
            }
        }
        if state.projects.is_empty() {
            context.printer.line("  no project is shared with it here; `yore share .` in a project shares it")?;
        }
    }
    if states.is_empty() {
        context.printer.note("this computer is in no team; `yore team join SERVER INVITATION`")?;
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Success)
}

fn member(member: &Member) -> TeamMember {
    TeamMember {
        email: member.email.clone(),
        name: member.name.clone(),
        role: member.role.as_str().to_owned(),
        joined: format_utc(member.joined),
        is_removed: member.is_removed,
        is_withdrawn: member.is_withdrawn,
        computers: member.computers.clone(),
    }
}

fn members(team: Option<&str>, context: &mut Context) -> CliResult {
    let members: Vec<TeamMember> = server(&membership(team, context)?)?.members().map_err(told)?.iter().map(member).collect();
    if context.printer.is_json() {
        context.printer.json(&members)?;
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<String>> = members
        .iter()
        .map(|member| {
            let mut marks = vec![member.role.clone()];
            marks.extend(member.is_removed.then(|| "removed".to_owned()));
            marks.extend(member.is_withdrawn.then(|| "withdrawn".to_owned()));
            let computers: Vec<String> = member.computers.iter().map(|name| one_line(name)).collect();
            vec![one_line(&member.email), one_line(&member.name), marks.join(", "), computers.join(", ")]
        })
        .collect();
    context.printer.table(&rows)?;
    Ok(Exit::Success)
}

fn change_member(team: Option<&str>, email: &str, action: &str, context: &mut Context) -> CliResult {
    let server = server(&membership(team, context)?)?;
    let email = email.to_lowercase();
    let members = server.members().map_err(told)?;
    let found = members.iter().find(|member| member.email == email).ok_or_else(|| {
        CliError::usage(format!("no member has the address {}", harmless(&email)), Some("`yore team members` lists them"))
    })?;
    let changed = server.change_member(found.id, action).map_err(told)?;
    if context.printer.is_json() {
        context.printer.json(&member(&changed))?;
    } else {
        let email = one_line(&email);
        context.printer.line(match action {
            "remove" => format!("{email} has no access any more; what they shared stays, unless you withdraw it"),
            "withdraw" => {
                format!("what {email} shares counts for nobody, as soon as each computer synchronizes; --undo reverts it")
            }
            _ => format!("what {email} shares counts again"),
        })?;
    }
    Ok(Exit::Success)
}

fn audit(team: Option<&str>, context: &mut Context) -> CliResult {
    let server = server(&membership(team, context)?)?;
    let members = server.members().map_err(told)?;
    let entries = server.audit(AUDITED).map_err(told)?;
    let email = |id| members.iter().find(|member| Some(member.id) == id).map(|member| member.email.clone());
    let entries: Vec<TeamAudited> = entries
        .into_iter()
        .map(|entry| TeamAudited {
            at: format_utc(entry.at),
            member: email(entry.member),
            action: entry.action,
            subject: entry.subject,
        })
        .collect();
    if context.printer.is_json() {
        context.printer.json(&entries)?;
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let member = entry.member.as_deref().map_or_else(|| "the operator".to_owned(), one_line);
            vec![entry.at.clone(), member, one_line(&entry.action), one_line(&entry.subject)]
        })
        .collect();
    context.printer.table(&rows)?;
    Ok(Exit::Success)
}

fn leave(team: Option<&str>, context: &mut Context) -> CliResult {
    let membership = membership(team, context)?;
    match server(&membership)?.leave() {
        // Without access already, there is nothing to give up.
        Err(RemoteError::Refused { status: 401, .. }) => {}
        left => left.map_err(told)?,
    }
    let data = context.settings.directory.clone();
    let _lock = mirror::lock(&data).map_err(failed(context))?;
    let mut known = mirror::memberships(&data).map_err(failed(context))?;
    known.retain(|known| known.me.team != membership.me.team);
    mirror::write_memberships(&data, &known).map_err(failed(context))?;
    let (gone, left): (Vec<TeamProject>, Vec<TeamProject>) =
        mirror::projects(&data).map_err(failed(context))?.into_iter().partition(|project| project.team == membership.me.team);
    mirror::write_projects(&data, &left).map_err(failed(context))?;
    for project in &gone {
        mirror::remove_mirror(&data, project).map_err(failed(context))?;
    }
    context.printer.note(format!(
        "this computer has no access to {} any more, and what others shared there counts no more",
        one_line(&membership.me.team_name)
    ))?;
    Ok(Exit::Success)
}

/// The checkout of this directory.
fn checkout(context: &Context) -> CliResult<(Folder, ProjectNames, String)> {
    let outside = || CliError::usage("this directory is in no repository", Some("run it in the project that you share"));
    let folder = context.settings.here.as_deref().and_then(Folder::of).ok_or_else(outside)?;
    let here = folder.root.to_str().map(names_of).ok_or_else(outside)?;
    let key = project_key(&here).ok_or_else(outside)?;
    Ok((folder, here, key))
}

fn publisher(root: &Path, context: &Context) -> CliResult<Publisher> {
    let patterns = &context.settings.config().redaction.extra_patterns;
    Publisher::new(&context.settings.directory, patterns, root, context.settings.paths.home.as_deref()).map_err(failed(context))
}

/// Shares a project with a team, or shares it no more.
pub fn share_project(options: &ProjectShare<'_>, context: &mut Context) -> CliResult {
    let (folder, here, key) = checkout(context)?;
    let data = context.settings.directory.clone();
    let projects = mirror::projects(&data).map_err(failed(context))?;
    if options.stop {
        return stop(projects, &key, context);
    }
    let membership = membership(options.team, context)?;
    let configured = context.settings.config().team.clone();
    let is_path = key.starts_with('/') || key.contains(":/") || key.contains('\\');
    let name =
        Some(configured.project).filter(|name| !name.is_empty()).unwrap_or(if is_path { here.name.clone() } else { key.clone() });
    let project =
        TeamProject { key: key.clone(), root: folder.root.clone(), team: membership.me.team, name, level: configured.level };
    let publisher = publisher(&folder.root, context)?;
    let mut memory = context.settings.memory()?;
    let known = mirror::mirror(&data, &project).map_err(failed(context))?;
    let outgoing = Outgoing::of(&mut memory, &here, &publisher, &known.named)?.unwrap_or_default();
    let is_shared = projects.contains(&project);
    let texts: Vec<String> =
        if project.level == SharedLevel::Memories { outgoing.texts.values().cloned().collect() } else { Vec::new() };
    let held_back: Vec<ShareRefused> =
        outgoing.held_back.iter().map(|(id, reason)| ShareRefused { memory: id.short(), reason: reason.clone() }).collect();
    if options.dry_run {
        return preview(SharePreview { team: membership.me.team_name, project: project.name, texts, held_back }, context);
    }
    if !is_shared && !options.yes && !agrees(&membership, &project, &texts, &held_back, context)? {
        context.printer.line("nothing was shared")?;
        return Ok(Exit::Nothing);
    }
    {
        let _lock = mirror::lock(&data).map_err(failed(context))?;
        let mut projects = mirror::projects(&data).map_err(failed(context))?;
        projects.retain(|known| known.key != key);
        projects.push(project.clone());
        mirror::write_projects(&data, &projects).map_err(failed(context))?;
        let mut copy = mirror::mirror(&data, &project).map_err(failed(context))?;
        copy.team.clone_from(&membership.me.team_name);
        copy.member = membership.me.member;
        mirror::write_mirror(&data, &project, &copy).map_err(failed(context))?;
    }
    announce(&folder.root, &membership, &project, context)?;
    report_sync(vec![project], context)
}

/// Writes into the project's file with whom it is shared, unless that stands there.
fn announce(root: &Path, membership: &Membership, project: &TeamProject, context: &mut Context) -> CliResult<()> {
    let file = root.join(PROJECT_FILE);
    let told = &context.settings.config().team;
    if told.name == membership.me.team_name && told.project == project.name {
        return Ok(());
    }
    let written = config::set(&file, FileKind::Project, "team.name", &membership.me.team_name)
        .and_then(|()| config::set(&file, FileKind::Project, "team.project", &project.name));
    context.printer.note(match written {
        Ok(()) => format!("{PROJECT_FILE} says so: commit it, so that colleagues see with whom the project is shared"),
        Err(error) => format!("{PROJECT_FILE} does not say so: {}", harmless(&error.to_string())),
    })?;
    Ok(())
}

fn stop(mut projects: Vec<TeamProject>, key: &str, context: &mut Context) -> CliResult {
    let data = context.settings.directory.clone();
    let Some(at) = projects.iter().position(|project| project.key == key) else {
        context.printer.note("this project is shared with no team")?;
        return Ok(Exit::Nothing);
    };
    let project = projects.remove(at);
    let membership =
        mirror::memberships(&data).map_err(failed(context))?.into_iter().find(|membership| membership.me.team == project.team);
    // What went out from here is taken back while there is access; else it stays, and that is told.
    let taken_back = match &membership {
        Some(membership) => {
            let remote = server(membership)?;
            let plan = |mirror: &mut Mirror| {
                mirror.waiting.clear();
                for name in std::mem::take(&mut mirror.sent).into_values().collect::<std::collections::BTreeSet<_>>() {
                    mirror.outdated.insert(name.clone());
                    mirror.change(Change::TakeBack { name });
                }
            };
            crate::team::sync::sync(&data, &project, &remote, plan).map_err(|error| error.told(&data))?.sent
        }
        None => 0,
    };
    let _lock = mirror::lock(&data).map_err(failed(context))?;
    mirror::write_projects(&data, &projects).map_err(failed(context))?;
    mirror::remove_mirror(&data, &project).map_err(failed(context))?;
    context.printer.line(format!("{} taken back; the project is shared no more", counted(taken_back, "memory")))?;
    if membership.is_none() {
        context.printer.note("this computer has no access to the team: what was shared stays on its server")?;
    }
    Ok(Exit::Success)
}

fn preview(preview: SharePreview, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&preview)?;
        return Ok(Exit::Success);
    }
    for text in &preview.texts {
        context.printer.line(harmless(text))?;
    }
    let (team, project) = (one_line(&preview.team), one_line(&preview.project));
    context.printer.note(format!("{} would go to {team}, as {project}", counted(preview.texts.len() as u64, "text")))?;
    for held in &preview.held_back {
        context.printer.note(format!("[{}] is held back: {}", held.memory, one_line(&held.reason)))?;
    }
    Ok(Exit::Success)
}

/// Shows what would go, and asks.
fn agrees(
    membership: &Membership,
    project: &TeamProject,
    texts: &[String],
    held_back: &[ShareRefused],
    context: &mut Context,
) -> CliResult<bool> {
    for text in texts.iter().take(SHOWN) {
        let statement = match file::read(text) {
            Ok(SharedFile::Memory(memory)) => memory.statement,
            _ => String::new(),
        };
        context.printer.line(format!("- {}", one_line(&statement)))?;
    }
    if texts.len() > SHOWN {
        context.printer.line(format!("- and {} more; --dry-run shows each as it is sent", texts.len() - SHOWN))?;
    }
    if !held_back.is_empty() {
        context.printer.line(format!("{} held back: --dry-run says why", counted(held_back.len() as u64, "memory")))?;
    }
    let (team, name) = (one_line(&membership.me.team_name), one_line(&project.name));
    context.printer.prompt(format!(
        "share {}, and those to come, with the team {team} as {name}? y: yes, enter: no ",
        counted(texts.len() as u64, "memory")
    ))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(CliError::from)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// What is to be done with memories that the person names.
#[derive(Clone, Copy)]
enum Named {
    Share,
    TakeBack,
    Forget,
}

fn named(ids: &[String], action: Named, context: &mut Context) -> CliResult {
    let (folder, here, _) = checkout(context)?;
    let data = context.settings.directory.clone();
    let not_shared = || {
        CliError::usage(
            "this project is shared with no team",
            Some("`yore share .` shares it; with team.level named, nothing by itself"),
        )
    };
    let project = mirror::project_of(&data, || here.clone()).ok_or_else(not_shared)?;
    let publisher = publisher(&folder.root, context)?;
    let mut memory = context.settings.memory()?;
    let known = memory.find_project(yore_engine::ProjectQuery::Directory(here))?.map(|project| project.id);
    let mut found = Vec::new();
    for id in ids {
        let stored = memory.memory(id.clone())?;
        let refused = |reason: String| CliError {
            code: "share/refused".to_owned(),
            ..CliError::usage(format!("[{}]: {reason}", stored.memory.id.short()), None)
        };
        let place = stored.memory.source.place.clone().filter(|_| stored.memory.is_shared());
        let text = match action {
            Named::Share => {
                let shared = publisher.memory(&stored, known, true).map_err(refused)?;
                Some(file::write(&SharedFile::Memory(Box::new(shared))))
            }
            Named::TakeBack | Named::Forget => None,
        };
        found.push((stored.memory.id, place, text));
    }
    {
        let _lock = mirror::lock(&data).map_err(failed(context))?;
        let mut copy = mirror::mirror(&data, &project).map_err(failed(context))?;
        for (id, place, text) in found {
            match (action, text) {
                (Named::Share, Some(text)) => {
                    let name = name_of(&text);
                    copy.taken_back.remove(&name);
                    copy.refused.remove(&name);
                    copy.named.insert(id);
                    copy.sent.insert(id, name.clone());
                    copy.change(Change::Add { name, text });
                }
                (Named::TakeBack, _) => {
                    copy.named.remove(&id);
                    let name = copy.sent.remove(&id).ok_or_else(|| not_from_here(&id.short()))?;
                    copy.taken_back.insert(name.clone());
                    copy.change(Change::TakeBack { name });
                }
                _ => {
                    let prefix = crate::shared::refresh::of_team(&copy.team, "");
                    let of_others = place.and_then(|place| place.strip_prefix(&prefix).map(str::to_owned));
                    copy.named.remove(&id);
                    let name = copy.sent.remove(&id).or(of_others).ok_or_else(|| not_from_here(&id.short()))?;
                    copy.taken_back.insert(name.clone());
                    copy.change(Change::Forget { name });
                }
            }
        }
        mirror::write_mirror(&data, &project, &copy).map_err(failed(context))?;
    }
    report_sync(vec![project], context)
}

fn not_from_here(id: &str) -> CliError {
    CliError::usage(format!("[{id}] is not shared from this computer with the team"), Some("`yore team` says what is shared"))
}

fn sync(context: &mut Context) -> CliResult {
    let projects = mirror::projects(&context.settings.directory).map_err(failed(context))?;
    if projects.is_empty() {
        context.printer.note("no project is shared with a team here; `yore share .` in a project shares it")?;
        return Ok(Exit::Nothing);
    }
    report_sync(projects, context)
}

/// Synchronizes projects, and reports what was done.
fn report_sync(projects: Vec<TeamProject>, context: &mut Context) -> CliResult {
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
                waiting: synced.waiting,
                refused: refused(synced.refused.iter().map(|(name, why)| (name, why))),
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
            for refused in &one.refused {
                context.printer.note(format!("refused: {}", one_line(&refused.reason)))?;
            }
        }
        for one in done.iter().filter(|one| one.problem.is_some() && one.waiting > 0) {
            context.printer.note(format!("{}: {} to be sent later", one_line(&one.project), counted(one.waiting, "change")))?;
        }
    }
    problem.map_or(Ok(Exit::Success), Err)
}
