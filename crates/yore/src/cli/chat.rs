use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use yore_core::scope::{is_within, normalize_directory};
use yore_core::time::UtcMillis;
use yore_engine::ingest::source::{Framing, Nature, NothingKnown, Source, Unit, source_named};
use yore_engine::ingest::{IngestReport, IngestRequest, Observer, SourceRoot, names_of};
use yore_engine::{ConversationsRequest, Engine, SyncReport};

use super::Context;
use super::ingest::{default_roots, print, read, request};
use crate::ask;
use crate::error::{CliResult, Exit};
use crate::render::text;

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
        /// Only those that were read
        #[arg(long, conflicts_with = "unprocessed")]
        processed: bool,
        /// Only those that were not read, or went on since
        #[arg(long)]
        unprocessed: bool,
        /// Only those whose title or words hold this, in whatever case; those that were not read are not looked through
        #[arg(short, long, value_name = "TEXT", conflicts_with = "unprocessed")]
        text: Option<String>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Read conversations that were not read, or went on since
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
        /// Minutes between two readings
        #[arg(short, long, value_name = "MINUTES", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1440))]
        interval: u64,
    },
}

/// Which conversations.
#[derive(Args, Debug)]
struct Filter {
    /// Last used not before this time (date or RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = ask::time)]
    since: Option<UtcMillis>,
    /// Only this project: name or directory
    #[arg(short, long, value_name = "PROJECT")]
    project: Option<String>,
    /// Only those with code blocks
    #[arg(long)]
    has_code: bool,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.since.is_none() && self.project.is_none() && !self.has_code
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

/// A conversation that was not read as it is now.
struct Waiting {
    source: &'static dyn Source,
    unit: Unit,
    name: String,
    /// Whether some of it was read before.
    is_known: bool,
    updated: Option<UtcMillis>,
    facts: Facts,
}

/// What a look into a conversation tells.
#[derive(Default)]
struct Facts {
    directory: Option<String>,
    has_code: bool,
}

/// Bytes of a conversation that are looked at.
const MOST_BYTES: u64 = 256 << 20;
/// A longer line is looked at in pieces.
const LONGEST_LINE: u64 = 4 << 20;
/// Records that are looked at for a directory.
const FIRST_RECORDS: usize = 200;

/// What waits under the roots and passes the filter, last used first.
fn waiting(roots: &[SourceRoot], engine: Option<&Engine>, filter: &Filter, request: &IngestRequest) -> CliResult<Vec<Waiting>> {
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut seen = HashSet::new();
    for root in roots {
        let Some(source) = source_named(&root.source) else { continue };
        let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
        for mut unit in source.discover(&path, &NothingKnown) {
            if let Ok(canonical) = unit.path.canonicalize() {
                unit.path = canonical;
            }
            let Some(name) = unit.name() else { continue };
            let is_allowed = unit.path.to_str().is_some_and(|path| request.policy.allows_file(path));
            // One that closes its file only says whether the others need be looked at.
            if unit.closes_file || unit.stamp.size == 0 || !is_allowed || !seen.insert((source.kind(), name.clone())) {
                continue;
            }
            let known = engine.map(|engine| engine.known_unit(source.kind(), &name)).transpose()?.flatten();
            if known.as_ref().is_some_and(|(stamp, _)| *stamp == unit.stamp) {
                continue;
            }
            let updated = changed(&unit.path);
            if filter.since.is_some_and(|since| updated.is_some_and(|updated| updated < since)) {
                continue;
            }
            let facts = look(source, &unit, filter.has_code);
            let is_kept = match &facts.directory {
                Some(directory) => request.policy.allows_directory(directory),
                None => request.policy.allows_unknown(),
            };
            let is_asked_for = (!filter.has_code || facts.has_code)
                && filter.project.as_deref().is_none_or(|project| belongs(facts.directory.as_deref(), project));
            if is_kept && is_asked_for {
                waiting.push(Waiting { source, unit, name, is_known: known.is_some(), updated, facts });
            }
        }
    }
    waiting.sort_by(|a, b| b.updated.cmp(&a.updated).then_with(|| a.name.cmp(&b.name)));
    Ok(waiting)
}

fn changed(path: &Path) -> Option<UtcMillis> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    UtcMillis::try_from(since.as_millis()).ok()
}

/// Whether a recorded directory is of a project, by name or directory.
fn belongs(directory: Option<&str>, project: &str) -> bool {
    let Some(directory) = directory else { return false };
    let wanted = Path::new(project);
    let is_path = wanted.is_absolute() || project.contains(['/', '\\']);
    if is_path {
        let wanted = wanted.canonicalize().unwrap_or_else(|_| wanted.to_path_buf());
        return is_within(&normalize_directory(directory), &normalize_directory(&wanted.to_string_lossy()));
    }
    names_of(directory).name.eq_ignore_ascii_case(project)
}

/// Reads as much of a conversation as the question needs; what cannot be read tells nothing.
fn look(source: &dyn Source, unit: &Unit, with_code: bool) -> Facts {
    let mut facts = Facts::default();
    let mut seen = 0;
    let mut look_at = |value: &Value, facts: &mut Facts| {
        seen += 1;
        if facts.directory.is_none() {
            facts.directory = source.owner(value).directory.map(str::to_owned);
        }
        facts.has_code |= with_code && holds_code(value);
        let is_done = (facts.directory.is_some() || seen >= FIRST_RECORDS) && (!with_code || facts.has_code);
        !is_done
    };
    match unit.framing {
        Framing::Records => {
            let _ = source.records(unit, &mut |value| look_at(&value, &mut facts));
        }
        Framing::Lines => {
            let Ok(file) = File::open(&unit.path) else { return facts };
            let mut lines = BufReader::new(file.take(MOST_BYTES));
            let mut line = Vec::new();
            loop {
                line.clear();
                match lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => break,
                }
                let value =
                    serde_json::from_slice(&line).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&line).into_owned()));
                if !look_at(&value, &mut facts) {
                    break;
                }
            }
        }
    }
    facts
}

fn holds_code(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("```"),
        Value::Array(items) => items.iter().any(holds_code),
        Value::Object(members) => members.values().any(holds_code),
        _ => false,
    }
}

/// Where conversations lie, not documents.
fn conversation_roots(context: &Context) -> CliResult<Vec<SourceRoot>> {
    let mut roots = default_roots(context)?;
    roots.retain(|root| source_named(&root.source).is_some_and(|source| source.nature() == Nature::Conversation));
    Ok(roots)
}

/// The memory, if there is one.
fn memory(context: &Context) -> CliResult<Option<Engine>> {
    match context.engine(false) {
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
    let mut rows: Vec<(Option<UtcMillis>, Vec<String>, Value)> = Vec::new();
    if let Some(engine) = engine.as_ref().filter(|_| !only_unprocessed) {
        let conversations = engine.conversations(&ConversationsRequest {
            limit,
            since: filter.since,
            has_code: filter.has_code,
            projects: filter.project.clone().into_iter().collect(),
            text: text.map(str::to_owned),
            ..ConversationsRequest::default()
        })?;
        for found in conversations {
            let title = found.title.as_deref().unwrap_or(&found.preview);
            let row = vec![
                text::time(found.updated),
                "processed".to_owned(),
                found.agent.clone(),
                found.id.short(),
                found.project.as_deref().map(text::harmless).unwrap_or_default(),
                text::counted(found.message_count, "message"),
                text::harmless(title).replace('\n', " "),
            ];
            let value = json!({
                "state": "processed", "source": found.agent, "session": found.native_id, "id": found.id.to_string(),
                "title": found.title, "project": found.project, "created": found.created, "updated": found.updated,
                "messages": found.message_count, "has_code": found.has_code, "languages": found.languages,
                "preview": found.preview, "files": found.files,
            });
            rows.push((found.updated, row, value));
        }
    }
    if !only_processed {
        let roots = conversation_roots(context)?;
        let request = request(Vec::new(), context)?;
        for found in waiting(&roots, engine.as_ref(), filter, &request)?.into_iter().take(limit) {
            rows.push((found.updated, shown(&found), as_json(&found)));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.0));
    rows.truncate(limit);
    tell(rows.into_iter().map(|(_, row, value)| (row, value)).collect(), context)
}

/// Prints rows, or says by the exit code that there are none.
fn tell(rows: Vec<(Vec<String>, Value)>, context: &mut Context) -> CliResult {
    let exit = if rows.is_empty() { Exit::Nothing } else { Exit::Success };
    let (rows, values): (Vec<Vec<String>>, Vec<Value>) = rows.into_iter().unzip();
    if context.printer.is_json() {
        context.printer.json(&Value::Array(values))?;
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

fn as_json(found: &Waiting) -> Value {
    json!({
        "state": if found.is_known { "went-on" } else { "unprocessed" },
        "source": found.source.kind(),
        "unit": found.name,
        "directory": found.facts.directory,
        "updated": found.updated,
        "bytes": found.unit.stamp.size,
    })
}

fn ingest(limit: Option<usize>, is_dry_run: bool, filter: &Filter, context: &mut Context) -> CliResult {
    let roots = conversation_roots(context)?;
    let mut request = request(roots, context)?;
    if is_dry_run {
        let engine = memory(context)?;
        let found = waiting(&request.roots, engine.as_ref(), filter, &request)?;
        let found = found.into_iter().take(limit.unwrap_or(usize::MAX));
        return tell(found.map(|found| (shown(&found), as_json(&found))).collect(), context);
    }
    let engine = context.engine(true)?;
    narrow(&mut request, &engine, limit, filter)?;
    let (report, sync) = read(&engine, &request, context)?;
    print(&report, &sync, false, context)?;
    Ok(if report.unread().next().is_none() { Exit::Success } else { Exit::Nothing })
}

/// Reads what waits for a voice that prints nothing.
pub fn read_waiting(
    since: Option<UtcMillis>,
    has_code: bool,
    context: &Context,
    observer: &mut dyn Observer,
) -> CliResult<(IngestReport, SyncReport)> {
    let mut request = request(conversation_roots(context)?, context)?;
    let engine = context.engine(true)?;
    narrow(&mut request, &engine, None, &Filter { since, project: None, has_code })?;
    let report = engine.ingest(&request, observer)?;
    let sync = engine.sync_index(30_000, &mut |_| {})?;
    Ok((report, sync))
}

/// Keeps to the conversations that pass the filter, if it is one.
fn narrow(request: &mut IngestRequest, engine: &Engine, limit: Option<usize>, filter: &Filter) -> CliResult<()> {
    if limit.is_some() || !filter.is_empty() {
        let chosen = waiting(&request.roots, Some(engine), filter, request)?;
        let chosen: HashSet<String> = chosen.into_iter().take(limit.unwrap_or(usize::MAX)).map(|found| found.name).collect();
        request.only = Some(Arc::new(chosen));
    }
    Ok(())
}

/// Ends when somebody ends it.
fn watch(minutes: u64, context: &mut Context) -> CliResult {
    let engine = context.engine(true)?;
    loop {
        // A source that appears later is watched, too.
        let request = request(conversation_roots(context)?, context)?;
        let (report, sync) = read(&engine, &request, context)?;
        print(&report, &sync, false, context)?;
        thread::sleep(Duration::from_secs(minutes * 60));
    }
}
