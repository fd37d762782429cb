use clap::Args;
use serde::Serialize;
use yore_core::time::UtcMillis;
use yore_engine::{EpisodeSummary, ForgottenSessions, SessionOrder, SessionsRequest};
use yore_sources::project_names::names_of;

use super::Context;
use super::page::{PageArguments, more};
use super::scope::ScopeArguments;
use crate::cursor::{self, Cursor};
use crate::error::{CliResult, Exit};
use crate::histories::{Chosen, Waiting, conversation_roots, request, waiting};
use crate::recall_request;
use crate::render::text;
use crate::results::{Session, WaitingConversation};

/// List sessions, last used first
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    scope: ScopeArguments,
    /// Only sessions last used at or after this time: a date, RFC 3339, or words such as "last week"
    #[arg(long, value_name = "TIME", value_parser = recall_request::time)]
    since: Option<UtcMillis>,
    /// Only sessions begun before this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time, conflicts_with = "unread")]
    until: Option<UtcMillis>,
    /// At most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only sessions whose title or text contains this, ignoring case
    #[arg(short, long, value_name = "TEXT", conflicts_with = "unread")]
    text: Option<String>,
    /// Only sessions with code blocks
    #[arg(long)]
    has_code: bool,
    /// Also list side conversations with sub-agents
    #[arg(long)]
    subagents: bool,
    /// Also list sessions that only programs held
    #[arg(long)]
    programs: bool,
    /// Also list files, pages and notes
    #[arg(long)]
    documents: bool,
    /// List instead the forgotten sessions, which can be restored
    #[arg(long, conflicts_with = "unread")]
    forgotten: bool,
    /// List the oldest first
    #[arg(long)]
    oldest: bool,
    /// List instead what the agents' histories have that was not read yet, or went on since
    #[arg(long, alias = "unprocessed", conflicts_with = "after")]
    unread: bool,
    /// The default, as an option of `chat list`
    #[arg(long, hide = true, conflicts_with = "unread")]
    processed: bool,
    #[command(flatten)]
    page: PageArguments,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.unread {
        return unread(arguments, context);
    }
    let list = if arguments.oldest { 'o' } else { 's' };
    let after = arguments.page.place(list)?.as_ref().and_then(Cursor::episode);
    let projects = arguments.scope.projects(context)?;
    let mut sessions = context.settings.memory()?.sessions(SessionsRequest {
        projects: projects.clone(),
        since: arguments.since,
        until: arguments.until,
        has_code: arguments.has_code,
        with_subagents: arguments.subagents,
        with_programs: arguments.programs,
        forgotten: if arguments.forgotten { ForgottenSessions::Alone } else { ForgottenSessions::LeftOut },
        without_documents: !arguments.documents,
        text: arguments.text.clone(),
        order: if arguments.oldest { SessionOrder::Oldest } else { SessionOrder::Recent },
        after,
        // One more than fits shows whether there is a next page.
        limit: arguments.limit.saturating_add(1),
        ..SessionsRequest::default()
    })?;
    let place =
        |session: &EpisodeSummary| Cursor::of(list, if arguments.oldest { session.started } else { session.updated }, session.id);
    let next = cursor::page(&mut sessions, arguments.limit, place);
    let row = |session: &EpisodeSummary| {
        vec![
            text::time(session.updated),
            session.id.short(),
            session.project.as_deref().map(text::harmless).unwrap_or_default(),
            text::counted(session.turns, "turn"),
            text::harmless(session.title.as_deref().unwrap_or("")).replace('\n', " "),
        ]
    };
    let values = sessions.iter().map(Session::from).collect();
    tell(sessions.iter().map(row).collect(), values, next.as_ref(), &arguments.page, context)
}

/// Lists the sessions that wait to be read.
fn unread(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = match context.settings.engine(false) {
        Ok(engine) => Some(engine),
        Err(error) if error.code == "store/missing" => None,
        Err(error) => return Err(error),
    };
    let roots = conversation_roots(&context.settings)?;
    let chosen = Chosen {
        since: arguments.since,
        projects: arguments.scope.named.clone(),
        has_code: arguments.has_code,
        ..Chosen::default()
    };
    let mut found = waiting(&roots, engine.as_ref(), &chosen, &request(Vec::new(), &context.settings)?)?;
    if arguments.oldest {
        found.reverse();
    }
    found.truncate(arguments.limit);
    let row = |found: &Waiting| {
        let directory = found.facts.directory.as_deref();
        vec![
            text::time(found.updated),
            if found.is_known { "went on" } else { "unread" }.to_owned(),
            found.source.kind().to_owned(),
            directory.map(|directory| text::harmless(&names_of(directory).name)).unwrap_or_default(),
            text::bytes(found.unit.stamp.size),
            text::harmless(&found.name),
        ]
    };
    let result = |found: &Waiting| WaitingConversation {
        state: if found.is_known { "went-on" } else { "unprocessed" }.to_owned(),
        source: found.source.kind().to_owned(),
        unit: found.name.clone(),
        directory: found.facts.directory.clone(),
        updated: found.updated,
        bytes: found.unit.stamp.size,
    };
    tell(found.iter().map(row).collect(), found.iter().map(result).collect(), None, &arguments.page, context)
}

/// Prints a list. The exit code shows whether it is empty.
fn tell<T: Serialize>(
    rows: Vec<Vec<String>>,
    values: Vec<T>,
    next: Option<&Cursor>,
    page: &PageArguments,
    context: &mut Context,
) -> CliResult {
    if context.printer.is_json() {
        page.json(values, next, context)?;
    } else {
        context.printer.table(&rows)?;
        more(next, context)?;
        if rows.is_empty() {
            context.printer.note("no such session")?;
        }
    }
    Ok(if rows.is_empty() { Exit::Nothing } else { Exit::Success })
}
