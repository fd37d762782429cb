use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use yore_core::episode::EpisodeKind;
use yore_core::id::EpisodeId;
use yore_engine::{EpisodeSummary, HandoffRequest, SessionsRequest};

use super::{Context, handoff as hand_over};
use crate::agents::Start;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::handoff;
use crate::recall_request;
use crate::render::text;
use crate::results::{Resumable, Session};

/// Resume a session in its own agent, or hand it over to another
///
/// Sessions of all agents can be chosen. Without an id it lists sessions, the last used first; on a terminal a number chooses one. The agent is started by its documented
/// command in the session's directory.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of the session, its first characters, or words that the session has
    #[arg(value_name = "ID|WORDS")]
    wanted: Vec<String>,
    /// Only this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Vec<String>,
    /// Only sessions of this agent, such as codex
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only sessions last used in this period: "yesterday", "last week", a date
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// Hand it over to this agent in place of resuming it
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Print the command instead of running it
    #[arg(long)]
    print: bool,
    /// List at most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 15)]
    limit: usize,
}

/// Sessions that are searched for words.
const SEARCHED: usize = 2_000;
/// Characters of a title and of the last request in a list.
const TITLE_CHARS: usize = 60;
const ASKED_CHARS: usize = 70;

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if let Some(name) = &arguments.to {
        Start::named(name)?;
    }
    hand_over::refresh(None, context)?;
    let mut memory = context.settings.memory()?;
    if let [id] = arguments.wanted.as_slice()
        && let Some(session) = memory.session(id.clone())?
    {
        return resume(&session, arguments, context);
    }
    let found = sessions(arguments, &mut memory)?;
    let asked = memory.asked_last(found.iter().map(|session| session.id).collect())?;
    if context.printer.is_json() {
        let row = |(at, (session, asked_last)): (usize, (&EpisodeSummary, Option<String>))| Resumable {
            number: at as u64 + 1,
            session: Session::from(session),
            asked_last,
            command: own_command(session).map(|line| std::iter::once(line.program.to_owned()).chain(line.arguments).collect()),
        };
        let rows: Vec<Resumable> = found.iter().zip(asked).enumerate().map(row).collect();
        context.printer.json(&rows)?;
        return Ok(if found.is_empty() { Exit::Nothing } else { Exit::Success });
    }
    if found.is_empty() {
        context.printer.note("no such session; `yore sessions --unread` lists what was not read yet")?;
        return Ok(Exit::Nothing);
    }
    let rows: Vec<Vec<String>> =
        found.iter().zip(&asked).enumerate().map(|(at, (session, asked))| row(at, session, asked)).collect();
    context.printer.table(&rows)?;
    if !context.printer.is_terminal() || !std::io::stdin().is_terminal() {
        context.printer.note("yore resume ID resumes one; --to AGENT hands it over")?;
        return Ok(Exit::Success);
    }
    context.printer.prompt(format!("Resume which? [1-{}, Enter: none] ", found.len()))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(CliError::from)?;
    match answer.trim() {
        "" => Ok(Exit::Success),
        number => {
            let chosen = number.parse::<usize>().ok().and_then(|number| found.get(number.checked_sub(1)?));
            let session = chosen.ok_or_else(|| CliError::usage(format!("no session has number {number:?}"), None))?;
            resume(session, arguments, context)
        }
    }
}

/// Returns the sessions that the arguments let through, the last used first.
fn sessions(arguments: &Arguments, memory: &mut MemoryClient) -> CliResult<Vec<EpisodeSummary>> {
    let period = |read: fn(&str) -> Result<i64, &'static str>| {
        let read = |day: &String| read(day).map_err(|error| CliError::usage(format!("{day:?}: {error}"), None));
        arguments.day.as_ref().map(read).transpose()
    };
    let (since, until) = (period(recall_request::time)?, period(recall_request::as_of)?);
    let agent = arguments.agent.as_ref().map(|name| Start::named(name).map_or(name.clone(), |start| start.source.to_owned()));
    let request = SessionsRequest {
        projects: arguments.project.clone(),
        agents: agent.into_iter().collect(),
        since,
        until,
        without_documents: true,
        limit: SEARCHED,
        ..SessionsRequest::default()
    };
    let mut found = memory.sessions(request.clone())?;
    found.retain(|session| session.updated.is_none_or(|updated| until.is_none_or(|until| updated < until)));
    for word in arguments.wanted.iter().flat_map(|words| words.split_whitespace()) {
        let with_word = memory.sessions(SessionsRequest { text: Some(word.to_owned()), ..request.clone() })?;
        let known: HashSet<EpisodeId> = with_word.into_iter().map(|session| session.id).collect();
        found.retain(|session| known.contains(&session.id));
    }
    found.truncate(arguments.limit);
    Ok(found)
}

/// Returns the line of a session: number, day, agent, project, title, last request, id.
fn row(at: usize, session: &EpisodeSummary, asked: &Option<String>) -> Vec<String> {
    let short = |words: &str, most: usize| {
        let line = text::harmless(words).split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    };
    let title = short(session.title.as_deref().unwrap_or_default(), TITLE_CHARS);
    let last =
        asked.as_deref().map(|asked| short(asked, ASKED_CHARS)).filter(|asked| !title.starts_with(asked.trim_end_matches('…')));
    vec![
        (at + 1).to_string(),
        text::time(session.updated),
        session.agent.clone(),
        session.project.as_deref().map(text::harmless).unwrap_or_default(),
        session.id.short(),
        last.map_or_else(|| title.clone(), |last| format!("{title} · last: {last}")),
    ]
}

fn own_command(session: &EpisodeSummary) -> Option<crate::agents::CommandLine> {
    Start::of_source(&session.agent).filter(|_| session.kind == EpisodeKind::Session)?.resuming(&session.native_id)
}

/// Resumes a session in its own agent, or hands it over.
fn resume(session: &EpisodeSummary, arguments: &Arguments, context: &mut Context) -> CliResult {
    let directory = session.cwd.as_deref().map(Path::new);
    if let Some(gone) = directory.filter(|directory| !directory.is_dir() && !arguments.print) {
        return Err(CliError {
            exit: Exit::Usage,
            code: "session/directory".to_owned(),
            message: format!("the session's directory is gone: {}", gone.display()),
            hint: Some(format!("run `yore handoff {} --to AGENT` in the directory where the work goes on", session.id.short())),
        });
    }
    let command = match &arguments.to {
        Some(name) => {
            let start = Start::named(name)?;
            let request = HandoffRequest {
                session: Some(session.id.to_string()),
                tokens: handoff::room(handoff::USUAL_TOKENS),
                ..HandoffRequest::default()
            };
            let made = hand_over::make(&request, context)?;
            let prompt = made.as_ref().map(handoff::prompt).unwrap_or_default();
            start.prompting(&prompt).ok_or_else(|| {
                CliError::usage(
                    format!("{} takes no prompt on its command line", start.title),
                    Some("`yore handoff` prints the package"),
                )
            })?
        }
        None => own_command(session).ok_or_else(|| {
            let id = session.id.short();
            let message = match session.kind {
                EpisodeKind::Subagent => "a sub-agent's session cannot be resumed by itself".to_owned(),
                _ => format!("{} has no command that resumes a session", text::harmless(&session.agent)),
            };
            CliError::usage(message, Some(&format!("`yore handoff {id} --to AGENT` goes on in another agent")))
        })?,
    };
    if arguments.print {
        context.printer.line(command.typed(directory))?;
        return Ok(Exit::Success);
    }
    command.run(directory)
}
