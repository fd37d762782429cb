use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use yore_core::time::UtcMillis;
use yore_engine::{Engine, SessionsRequest};
use yore_sources::project_names::names_of;

use super::Context;
use super::ingest::{print, read};
use crate::ask;
use crate::error::{CliResult, Exit};
use crate::histories::{Chosen, Waiting, conversation_roots, narrow, request, waiting};
use crate::render::text;
use crate::results::{Conversation, ReadConversation, WaitingConversation};

/// List, read and watch conversations
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List conversations, last used first
    List {
        /// At most N
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        limit: usize,
        /// Only conversations that were read
        #[arg(long, conflicts_with = "unprocessed")]
        processed: bool,
        /// Only conversations that were not read, or continued since
        #[arg(long)]
        unprocessed: bool,
        /// Only conversations whose title or text contains this, ignoring case; unread ones are not searched
        #[arg(short, long, value_name = "TEXT", conflicts_with = "unprocessed")]
        text: Option<String>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Read conversations that were not read, or continued since
    Ingest {
        /// At most N, last used first
        #[arg(short = 'n', long, value_name = "N")]
        limit: Option<usize>,
        /// Only list what would be read
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// Read now and then again and again, until interrupted
    Watch {
        /// Minutes between two reads
        #[arg(short, long, value_name = "MINUTES", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1440))]
        interval: u64,
    },
}

/// Filter for conversations.
#[derive(Args, Debug)]
struct Filter {
    /// Last used not before this time (date or RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = ask::time)]
    since: Option<UtcMillis>,
    /// Only this project: name or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project)]
    project: Option<String>,
    /// Only conversations with code blocks
    #[arg(long)]
    has_code: bool,
}

impl Filter {
    fn chosen(&self) -> Chosen {
        Chosen { since: self.since, project: self.project.clone(), has_code: self.has_code }
    }
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::List { limit, processed, unprocessed, text, filter } => {
            list(*limit, *processed || text.is_some(), *unprocessed, text.as_deref(), filter, context)
        }
        Action::Ingest { limit, dry_run, filter } => ingest(*limit, *dry_run, filter, context),
        Action::Watch { interval } => watch(*interval, context),
    }
}

/// Opens the memory, if there is one.
fn memory(context: &Context) -> CliResult<Option<Engine>> {
    match context.settings.engine(false) {
        Ok(engine) => Ok(Some(engine)),
        Err(error) if error.code == "store/missing" => Ok(None),
        Err(error) => Err(error),
    }
}

fn list(
    limit: usize,
    only_processed: bool,
    only_unprocessed: bool,
    text: Option<&str>,
    filter: &Filter,
    context: &mut Context,
) -> CliResult {
    let engine = memory(context)?;
    let mut rows: Vec<(Option<UtcMillis>, Vec<String>, Conversation)> = Vec::new();
    if let Some(engine) = engine.as_ref().filter(|_| !only_unprocessed) {
        let sessions = engine.sessions(&SessionsRequest {
            limit,
            since: filter.since,
            has_code: filter.has_code,
            projects: filter.project.clone().into_iter().collect(),
            text: text.map(str::to_owned),
            without_documents: true,
            ..SessionsRequest::default()
        })?;
        for session in sessions {
            let found = engine.summary(session)?;
            let session = &found.session;
            let title = session.title.as_deref().unwrap_or_default();
            let row = vec![
                text::time(session.updated),
                "processed".to_owned(),
                session.agent.clone(),
                session.id.short(),
                session.project.as_deref().map(text::harmless).unwrap_or_default(),
                text::counted(found.message_count, "message"),
                text::harmless(title).replace('\n', " "),
            ];
            let value = Conversation::Read(Box::new(ReadConversation::from(&found)));
            rows.push((session.updated, row, value));
        }
    }
    if !only_processed {
        let roots = conversation_roots(&context.settings)?;
        let request = request(Vec::new(), &context.settings)?;
        for found in waiting(&roots, engine.as_ref(), &filter.chosen(), &request)?.into_iter().take(limit) {
            rows.push((found.updated, shown(&found), result(&found)));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    rows.truncate(limit);
    tell(rows.into_iter().map(|(_, row, value)| (row, value)).collect(), context)
}

/// Prints rows. The exit code tells if there are none.
fn tell(rows: Vec<(Vec<String>, Conversation)>, context: &mut Context) -> CliResult {
    let exit = if rows.is_empty() { Exit::Nothing } else { Exit::Success };
    let (rows, values): (Vec<Vec<String>>, Vec<Conversation>) = rows.into_iter().unzip();
    if context.printer.is_json() {
        context.printer.json(&values)?;
    } else {
        for line in text::table(&rows) {
            context.printer.line(line)?;
        }
    }
    Ok(exit)
}

fn shown(found: &Waiting) -> Vec<String> {
    vec![
        text::time(found.updated),
        state(found).to_owned(),
        found.source.kind().to_owned(),
        String::new(),
        found.facts.directory.as_deref().map(|directory| text::harmless(&names_of(directory).name)).unwrap_or_default(),
        text::bytes(found.unit.stamp.size),
        text::harmless(&found.name),
    ]
}

fn state(found: &Waiting) -> &'static str {
    if found.is_known { "went on" } else { "unprocessed" }
}

fn result(found: &Waiting) -> Conversation {
    Conversation::Waiting(WaitingConversation {
        state: if found.is_known { "went-on" } else { "unprocessed" }.to_owned(),
        source: found.source.kind().to_owned(),
        unit: found.name.clone(),
        directory: found.facts.directory.clone(),
        updated: found.updated,
        bytes: found.unit.stamp.size,
    })
}

fn ingest(limit: Option<usize>, is_dry_run: bool, filter: &Filter, context: &mut Context) -> CliResult {
    let roots = conversation_roots(&context.settings)?;
    let mut request = request(roots, &context.settings)?;
    if is_dry_run {
        let engine = memory(context)?;
        let found = waiting(&request.roots, engine.as_ref(), &filter.chosen(), &request)?;
        let found = found.into_iter().take(limit.unwrap_or(usize::MAX));
        return tell(found.map(|found| (shown(&found), result(&found))).collect(), context);
    }
    let engine = context.settings.engine(true)?;
    narrow(&mut request, &engine, limit, &filter.chosen())?;
    let (report, sync) = read(&engine, &request, context)?;
    print(&report, &sync, false, context)?;
    Ok(if report.unread().next().is_none() { Exit::Success } else { Exit::Nothing })
}

/// Runs until it is interrupted.
fn watch(minutes: u64, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(true)?;
    loop {
        // A source that appears later is watched too.
        let request = request(conversation_roots(&context.settings)?, &context.settings)?;
        let (report, sync) = read(&engine, &request, context)?;
        print(&report, &sync, false, context)?;
        thread::sleep(Duration::from_secs(minutes * 60));
    }
}
