//! `yore team`: a team over its server, its members, and what is shared with it.

use std::fs;
use std::io::BufRead;

use clap::{Args, Subcommand};
use yore_core::time::format_utc;
use yore_engine::ProjectQuery;
use yore_sources::git::Git;
use yore_team::secret::{NoSecret, Secret};
use yore_team::wire::{Change, Join, Member, NewInvite, Role, name_of};

use super::team_place::{checkout, failed, membership, publisher, report_sync, server, told};
use super::{Context, team_sessions};
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::{counted, harmless, one_line};
use crate::results::{TeamAudited, TeamInvite, TeamMember, TeamState};
use crate::shared::mirror::{self, Membership, TeamProject};
use crate::shared::refresh::of_team;
use crate::team::outgoing::Text;
use crate::team::remote::{Remote, RemoteError, Server};
use crate::team::state;

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
        /// Role: reader, member or owner
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
        #[arg(value_name = "MEMORY", required_unless_present = "sessions")]
        memories: Vec<String>,
        /// Remove all sessions that you share of this project from the server, also those of a computer that you lost
        #[arg(long, conflicts_with = "memories")]
        sessions: bool,
    },
    /// Delete a shared text for good from the server and from every copy
    Forget {
        /// Ids of memories that came from the team, or that are shared from here
        #[arg(value_name = "MEMORY", required = true)]
        memories: Vec<String>,
    },
    /// Send what waits, and receive what changed
    Sync,
    /// Read a session that a member shares, from a turn on: `yore recall --team` finds it
    Read {
        /// The session, or SESSION:NUMBER for a turn of it
        #[arg(value_name = "ID")]
        id: String,
        /// At most N turns
        #[arg(short = 'n', long, value_name = "N", default_value_t = 6)]
        limit: usize,
    },
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
            let membership = membership(team.team.as_deref(), context)?;
            let invite = server(&membership)?.invite(&new).map_err(told)?;
            if context.printer.is_json() {
                context.printer.json(&TeamInvite { invite: invite.invite, expires: format_utc(invite.expires) })?;
            } else {
                context.printer.line(harmless(&invite.invite))?;
                let until = format_utc(invite.expires);
                context
                    .printer
                    .note(format!("it lets one computer in until {until}: `yore team join {} INVITATION`", membership.server))?;
            }
            Ok(Exit::Success)
        }
        Some(Action::Members { team }) => members(team.team.as_deref(), context),
        Some(Action::Remove { email, team }) => change_member(team.team.as_deref(), email, "remove", context),
        Some(Action::Withdraw { email, undo, team }) => {
            change_member(team.team.as_deref(), email, if *undo { "restore" } else { "withdraw" }, context)
        }
        Some(Action::Share { memories }) => named(memories, Named::Share, context),
        Some(Action::TakeBack { sessions: true, .. }) => team_sessions::take_back(context),
        Some(Action::TakeBack { memories, .. }) => named(memories, Named::TakeBack, context),
        Some(Action::Forget { memories }) => named(memories, Named::Forget, context),
        Some(Action::Sync) => sync(context),
        Some(Action::Read { id, limit }) => team_sessions::read(id, *limit, context),
        Some(Action::Audit { team }) => audit(team.team.as_deref(), context),
        Some(Action::Leave { team }) => leave(team.team.as_deref(), context),
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
    let secret: Secret = invite.parse().map_err(|error: NoSecret| CliError::usage(error.to_string(), None))?;
    let data = context.settings.directory.clone();
    let _lock = mirror::lock(&data).map_err(failed(context))?;
    let mut known = mirror::memberships(&data).map_err(failed(context))?;
    let is_of_team = |team| team == secret.team;
    if let Some(membership) = known.iter().find(|membership| is_of_team(membership.me.team)) {
        let is_shut_out = matches!(self::server(membership)?.members(), Err(RemoteError::Refused { status: 401, .. }));
        if is_shut_out && membership.server == server.address() {
            known.retain(|membership| !is_of_team(membership.me.team));
        }
    }
    if let Some(membership) = known.iter().find(|membership| is_of_team(membership.me.team)) {
        let message = format!("this computer is in the team {} already", one_line(&membership.me.team_name));
        return Err(CliError::usage(message, Some("`yore team leave` gives up its access, to join again")));
    }
    // The invitation can be used once: what it gives must not be lost because nothing can be written.
    mirror::write_memberships(&data, &known).map_err(failed(context))?;
    let joined = server.join(&Join { invite, name, email, computer }).map_err(told)?;
    if !is_of_team(joined.me.team) || !joined.token.parse::<Secret>().is_ok_and(|token| is_of_team(token.team)) {
        return Err(told(server.foreign()));
    }
    let team = one_line(&joined.me.team_name);
    let role = joined.me.role.as_str();
    let is_named_alike = known.iter().any(|membership| membership.me.team_name == joined.me.team_name);
    let membership = Membership { server: server.address().to_owned(), token: joined.token, me: joined.me };
    if is_named_alike {
        // Memories are told apart by the names of their teams.
        self::server(&membership)?.leave().map_err(told)?;
        let message = format!("this computer is in another team that is named {team}");
        return Err(CliError::usage(message, Some("leave that one first: `yore team leave`")));
    }
    known.push(membership);
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
    state::states(&context.settings.directory).map_err(failed(context))
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
            let shares = match project.level.as_str() {
                _ if project.is_stopped => "shared no more, and taken back when the server answers",
                "named" => "named memories",
                "sessions" => "memories and sessions",
                _ => "memories",
            };
            context.printer.line(format!(
                "  {}: {shares}; {} shared from here, {} received{waiting}",
                one_line(&project.project),
                project.sent,
                project.received
            ))?;
            if project.sessions > 0 {
                let held =
                    if project.turns_held_back > 0 { format!(", {} held back", project.turns_held_back) } else { String::new() };
                let (sessions, turns) = (counted(project.sessions, "session"), counted(project.turns, "turn"));
                context.printer.line(format!("    {sessions} with {turns} shared from here{held}"))?;
            }
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
        Ok(()) | Err(RemoteError::Refused { status: 401, .. }) => {}
        Err(error @ RemoteError::Refused { .. }) => return Err(told(error)),
        Err(error) => context.printer.note(format!(
            "{}: its server keeps the access of this computer until an owner removes it",
            harmless(&error.to_string())
        ))?,
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
        let _lock = mirror::lock_of(&data, project).map_err(failed(context))?;
        let copy = mirror::mirror_or_new(&data, project).map_err(failed(context))?;
        if !copy.waiting.is_empty() {
            let waiting = counted(copy.waiting.len() as u64, "change");
            context.printer.note(format!("{}: {waiting} were not sent", one_line(&project.name)))?;
        }
        mirror::write_mirror(&data, project, &copy.without_texts()).map_err(failed(context))?;
    }
    team_sessions::remove_found(&data);
    context.printer.note(format!(
        "this computer has no access to {} any more, and what others shared there counts no more",
        one_line(&membership.me.team_name)
    ))?;
    Ok(Exit::Success)
}

/// The action on memories that the person names.
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
    let known = memory.find_project(ProjectQuery::Directory(here))?.map(|project| project.id);
    let mut found = Vec::new();
    for id in ids {
        let stored = memory.memory(id.clone())?;
        let refused = |reason: String| CliError {
            code: "share/refused".to_owned(),
            ..CliError::usage(format!("[{}]: {reason}", stored.memory.id.short()), None)
        };
        let prepared = publisher.memory(&stored, known, true);
        let text = match action {
            Named::Share => Some(Text::of(prepared.map_err(refused)?)),
            Named::TakeBack | Named::Forget => prepared.ok().map(Text::of),
        };
        let place = stored.memory.source.place.clone().filter(|_| stored.memory.is_shared());
        found.push((stored.memory.id, place, text));
    }
    {
        let _lock = mirror::lock_of(&data, &project).map_err(failed(context))?;
        let mut copy = mirror::mirror_or_new(&data, &project).map_err(failed(context))?;
        if matches!(action, Named::Share) && copy.role() == Some(Role::Reader) {
            return Err(CliError::usage("you are a reader in this team: readers share nothing", None));
        }
        for (id, place, text) in found {
            let claim = text.as_ref().map(|text| text.claim.clone());
            match (action, text) {
                (Named::Share, Some(text)) => {
                    let name = name_of(&text.text);
                    for withheld in [&name, &text.claim] {
                        copy.withheld.remove(withheld);
                    }
                    copy.refused.remove(&name);
                    copy.named.insert(id);
                    // The comparison with what is shared has it sent.
                    copy.planned = None;
                }
                (Named::TakeBack, _) => {
                    copy.named.remove(&id);
                    if !copy.sent.contains_key(&id) {
                        return Err(not_from_here(&id.short()));
                    }
                    copy.withheld.extend(claim);
                    copy.take_back(id, true);
                }
                _ => {
                    let prefix = of_team(&copy.team, "");
                    let of_others = place.and_then(|place| place.strip_prefix(&prefix).map(str::to_owned));
                    copy.named.remove(&id);
                    copy.withheld.extend(claim.filter(|_| of_others.is_none()));
                    match of_others {
                        Some(name) => copy.change(Change::Forget { name }),
                        None if copy.sent.contains_key(&id) || copy.earlier.contains_key(&id) => copy.forget(id),
                        None => return Err(not_from_here(&id.short())),
                    }
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
