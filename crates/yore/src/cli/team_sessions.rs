//! Sessions of a team: `yore recall --team`, `yore team read`, and what `yore share . --level sessions` would send.

use std::path::Path;
use std::time::Duration;

use yore_core::episode::Role;
use yore_core::strength::Strength;
use yore_core::time::format_utc;
use yore_engine::{EngineOptions, Passage, RecallRequest, exchanges};
use yore_sources::project_names::ProjectNames;
use yore_team::wire::{FoundSession, ReadSession, SharedTurn};

use super::Context;
use super::team_place::{checkout, failed, server};
use crate::config::SharedLevel;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::{bytes, counted, harmless, indent, one_line};
use crate::results::{SessionPreview, TeamFound, TeamSaid, TeamSession, TeamTurn};
use crate::shared::mirror::{self, Membership, TeamProject};
use crate::shared::publish::Publisher;
use crate::team::remote::RemoteError;
use crate::team::search::{SCRATCH, TeamAnswer, asked, rank, remove_old};
use crate::team::sessions::{With, candidates, lock, outgoing, remove_everywhere, sent};
use crate::team::sync::PATIENCE;

/// Time in which a server answers a search, unless the person says another one.
const WITHIN: Duration = Duration::from_secs(5);
/// Digits of a session's id that are shown.
const DIGITS: usize = 10;
/// Time after which nobody ranks any more.
const LONGEST: Duration = Duration::from_secs(600);

/// Searches the sessions that the team of this project shares.
///
/// # Errors
/// The project is shared with no team, or its server does not answer in time.
pub fn recall(request: &RecallRequest, context: &mut Context) -> CliResult {
    let found = search(request, context)?;
    if context.printer.is_json() {
        context.printer.json(&found)?;
    } else {
        for (at, said) in found.results.iter().enumerate() {
            let gap = if at > 0 && context.printer.window().is_some() { "\n" } else { "" };
            context.printer.line(format!("{gap}{}", result(said)))?;
        }
    }
    if found.results.is_empty() {
        let turns = counted(found.searched, "turn");
        context.printer.note(format!("no matches in the sessions of {}; looked through {turns}", one_line(&found.team)))?;
        return Ok(Exit::Nothing);
    }
    if found.strength == Strength::Weak.as_str() && !context.printer.is_json() {
        let unmet = if found.unmet.is_empty() { String::new() } else { format!("; never met: {}", found.unmet.join(", ")) };
        let hint = if request.wordings.is_empty() { "; other wordings of the question (-w) find more" } else { "" };
        context.printer.note(format!("weak evidence (confidence {:.2}){unmet}{hint}", found.confidence))?;
    }
    Ok(Exit::Success)
}

/// Returns what the sessions of this project's team answer.
///
/// # Errors
/// As [`recall`].
pub fn search(request: &RecallRequest, context: &Context) -> CliResult<TeamFound> {
    let (project, membership) = shared_here(context)?;
    let search = asked(request);
    let within = request.deadline.unwrap_or(WITHIN);
    let mut found = server(&membership)?.search(&project.name, &search, within).map_err(unreached)?;
    // The own memory finds the sessions that this computer shares.
    let own = sent(&context.settings.directory, &project).map_err(failed(context))?.sessions;
    let is_own = |found: &FoundSession| found.head.id.parse().is_ok_and(|id| own.contains_key(&id));
    let are_own: Vec<bool> = found.sessions.iter().map(is_own).collect();
    found.found.retain(|turn| are_own.get(turn.session) == Some(&false));
    let scratch = context.settings.directory.join(SCRATCH);
    yore_engine::platform::create_private_directory(&scratch).map_err(failed(context))?;
    remove_old(&scratch, LONGEST);
    let directory = tempfile::tempdir_in(&scratch).map_err(failed(context))?;
    let options = EngineOptions { directory: directory.path().to_owned(), ..context.settings.engine_options(true) };
    let answer = rank(&search, &found, request, options)?;
    let passages = exchanges(answer.answer.hits.iter()).into_iter().flat_map(|exchange| exchange.passages);
    Ok(TeamFound {
        team: membership.me.team_name,
        project: project.name,
        searched: found.turns,
        strength: Strength::of(answer.answer.confidence).as_str().to_owned(),
        confidence: answer.answer.confidence,
        unmet: answer.answer.unmet.iter().map(|word| harmless(word)).collect(),
        results: passages.filter_map(|passage| said(&answer, &passage)).collect(),
    })
}

/// Removes what a server found, of processes that were killed too.
pub fn remove_found(data: &Path) {
    let _ = std::fs::remove_dir_all(data.join(SCRATCH));
}

fn said(answer: &TeamAnswer, passage: &Passage<'_>) -> Option<TeamSaid> {
    let (turn, role, at, strength, text) = match passage {
        Passage::Hit(hit) => {
            let turn = hit.as_turn()?;
            (turn.id, turn.role, hit.time.utc, Some(Strength::of(hit.confidence).as_str().to_owned()), &hit.quote)
        }
        Passage::Beside(said) => (said.turn, said.role, said.at, None, &said.text),
    };
    let origin = answer.origin(turn).filter(|_| !text.is_empty())?;
    let head = &origin.session.head;
    Some(TeamSaid {
        id: format!("{}:{}", head.id.get(..DIGITS)?, origin.index + 1),
        member: harmless(&origin.session.name),
        agent: harmless(&head.agent),
        title: one_line(&head.title),
        role: if role == Role::Human { "user" } else { "assistant" }.to_owned(),
        at: at.map(format_utc),
        strength,
        text: harmless(text),
    })
}

fn result(said: &TeamSaid) -> String {
    let who = if said.role == "user" { said.member.clone() } else { format!("{} of {}", said.agent, said.member) };
    let day = said.at.as_deref().and_then(|at| at.get(..10)).unwrap_or("no date");
    let strength = said.strength.as_ref().filter(|strength| *strength != Strength::Strong.as_str());
    let strength = strength.map(|strength| format!(" {strength}")).unwrap_or_default();
    let title = if said.title.is_empty() { String::new() } else { format!(" · {}", said.title) };
    format!("[{}] {who} {day}{strength}{title}\n{}", said.id, indent(&said.text, "  "))
}

#[expect(clippy::needless_pass_by_value, reason = "an error is given away where it is told")]
fn unreached(error: RemoteError) -> CliError {
    let hint = matches!(error, RemoteError::Unreachable { .. });
    let told = error.told();
    if hint { CliError { hint: Some("sessions of a team are on its server alone".to_owned()), ..told } } else { told }
}

/// Returns the project of this directory as it is shared with a team, and the access to that team.
fn shared_here(context: &Context) -> CliResult<(TeamProject, Membership)> {
    let (_, here, _) = checkout(context)?;
    let data = &context.settings.directory;
    let memberships = mirror::memberships(data).map_err(failed(context))?;
    let remedy = match memberships.is_empty() {
        true => "`yore team join SERVER INVITATION`, then `yore share .`",
        false => "`yore share .` says that you work on it with the team",
    };
    let not_shared = || CliError::usage("this project is shared with no team", Some(remedy));
    let project = mirror::project_of(data, || here).ok_or_else(not_shared)?;
    let membership = memberships.into_iter().find(|membership| membership.me.team == project.team);
    let left = || CliError::usage("you left the team of this project", Some("`yore team join --help`"));
    Ok((project, membership.ok_or_else(left)?))
}

/// Removes all sessions of the person in this project from the server.
///
/// # Errors
/// The project is shared with no team, or its server does not answer.
pub fn take_back(context: &mut Context) -> CliResult {
    let (project, membership) = shared_here(context)?;
    let data = &context.settings.directory;
    // Another process that sends would write down what it sent after that.
    let busy = || CliError::usage("another process is sending sessions of this project", Some("say it again when it has ended"));
    let _lock = lock(data, &project, PATIENCE).map_err(failed(context))?.ok_or_else(busy)?;
    let epoch = mirror::mirror(data, &project).map_err(failed(context))?.epoch;
    let with = With { data, project: &project, member: membership.me.member, epoch };
    remove_everywhere(&with, &server(&membership)?).map_err(|error| error.told(data))?;
    context.printer.line("the server has none of your sessions of this project")?;
    if project.level == SharedLevel::Sessions {
        context.printer.note(
            "those of this computer are shared again at the next synchronization; `yore share . --level memories` ends that",
        )?;
    }
    Ok(Exit::Success)
}

/// Returns whether the project of this directory is shared with a team.
pub fn is_shared_here(context: &Context) -> bool {
    let here = || checkout(context).map(|(_, here, _)| here).unwrap_or_default();
    mirror::project_of(&context.settings.directory, here).is_some()
}

/// Reads a session that a member shares.
///
/// # Errors
/// The id is none, nobody shares such a session, or the server does not answer.
pub fn read(id: &str, limit: usize, context: &mut Context) -> CliResult {
    let (project, membership) = shared_here(context)?;
    let (session, number) = id.split_once(':').unwrap_or((id, "1"));
    let wrong =
        || CliError::usage("this is not the id of a session", Some("`yore recall --team` prints ids such as 3fa9b2c411:12"));
    let number: u32 = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let which = ReadSession { id: session.to_lowercase(), from: number - 1 };
    let part = server(&membership)?.read_session(&project.name, &which).map_err(unreached)?;
    let said = |(number, turn): (u64, &SharedTurn)| TeamTurn {
        number,
        role: turn.said.as_str().to_owned(),
        at: turn.at.map(format_utc),
        text: harmless(&turn.text),
    };
    let head = &part.session.head;
    let session = TeamSession {
        session: harmless(&head.id),
        member: harmless(&part.session.name),
        agent: harmless(&head.agent),
        title: one_line(&head.title),
        turns: u64::from(head.turns),
        said: (u64::from(number)..).zip(part.turns.iter().take(limit)).map(said).collect(),
    };
    if context.printer.is_json() {
        context.printer.json(&session)?;
        return Ok(Exit::Success);
    }
    let title = if session.title.is_empty() { String::new() } else { format!(" · {}", session.title) };
    context.printer.line(format!("{} · {} · {}{title}", session.member, session.agent, counted(session.turns, "turn")))?;
    for turn in &session.said {
        let who = if turn.role == "user" { &session.member } else { &session.agent };
        let at = turn.at.as_deref().unwrap_or("no date");
        context.printer.line(format!("{} {who} {at}\n{}", turn.number, indent(&turn.text, "  ")))?;
    }
    let next = session.said.last().map_or(u64::from(number), |turn| turn.number + 1);
    if session.said.is_empty() && limit > 0 {
        context.printer.note(format!("the session has no turn {number}"))?;
        return Ok(Exit::Nothing);
    }
    if next <= session.turns {
        let id = session.session.get(..DIGITS).unwrap_or_default();
        context.printer.note(format!("{} more: yore team read {id}:{next}", session.turns - next + 1))?;
    }
    Ok(Exit::Success)
}

/// Returns the sessions of this project that would be shared at a level.
///
/// # Errors
/// The memory cannot be read.
pub fn previews(
    level: SharedLevel,
    here: &ProjectNames,
    publisher: &Publisher,
    memory: &mut MemoryClient,
) -> CliResult<Vec<SessionPreview>> {
    if level != SharedLevel::Sessions {
        return Ok(Vec::new());
    }
    let mut previews = Vec::new();
    for session in candidates(memory, here)? {
        let going = outgoing(memory, &session, publisher)?;
        previews.push(SessionPreview {
            session: going.head.id,
            agent: going.head.agent,
            title: going.head.title,
            began: going.head.began.map(format_utc),
            turns: going.turns.len() as u64,
            bytes: going.turns.iter().map(|turn| turn.text.len() as u64).sum(),
            held_back: u64::from(going.held_back),
        });
    }
    Ok(previews)
}

/// Lists sessions that would be shared.
///
/// # Errors
/// The output cannot be written.
pub fn list(previews: &[SessionPreview], context: &mut Context) -> CliResult<()> {
    for preview in previews {
        let id = preview.session.get(..DIGITS).unwrap_or_default();
        let day = preview.began.as_deref().and_then(|began| began.get(..10)).unwrap_or("no date");
        let held = if preview.held_back > 0 { format!(", {} held back", preview.held_back) } else { String::new() };
        let size = format!("{}, {}{held}", counted(preview.turns, "turn"), bytes(preview.bytes));
        context.printer.line(format!("[{id}] {day} {} {size} · {}", harmless(&preview.agent), one_line(&preview.title)))?;
    }
    if !previews.is_empty() {
        context.printer.note("--session ID prints a session as it would go")?;
    }
    Ok(())
}

/// Prints a session exactly as it would be shared.
///
/// # Errors
/// The project has no such session.
pub fn print(
    id: &str,
    here: &ProjectNames,
    publisher: &Publisher,
    memory: &mut MemoryClient,
    context: &mut Context,
) -> CliResult {
    let unknown = || CliError::usage(format!("no session of this project begins with {}", harmless(id)), None);
    let session =
        candidates(memory, here)?.into_iter().find(|session| session.id.to_string().starts_with(id)).ok_or_else(unknown)?;
    let going = outgoing(memory, &session, publisher)?;
    if context.printer.is_json() {
        context.printer.json(&serde_json::json!({"session": going.head, "turns": going.turns}))?;
        return Ok(Exit::Success);
    }
    context.printer.line(format!("{} {}", going.head.agent, one_line(&going.head.title)))?;
    for turn in &going.turns {
        let at = turn.at.map_or_else(|| "no date".to_owned(), format_utc);
        let who = turn.speaker.as_deref().map_or_else(|| turn.said.as_str().to_owned(), harmless);
        context.printer.line(format!("{who} {at}\n{}", indent(&harmless(&turn.text), "  ")))?;
    }
    context.printer.note("with each turn go vectors of its words, by which it is found")?;
    Ok(Exit::Success)
}
