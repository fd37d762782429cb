use std::collections::HashSet;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use clap::builder::PossibleValuesParser;
use yore_core::time::UtcMillis;
use yore_engine::ingest::{IngestReport, IngestRequest, SourceRoot};
use yore_engine::{Engine, EngineError, FetchOptions, PageChange, PageReport, SyncReport};
use yore_sources::source::{Nature, NothingKnown, SOURCES, Source, Unit, UnreadAgent, source_named, unread_agents_at};

use super::{Context, embed};
use crate::config::Config;
use crate::detect;
use crate::engine_handle;
use crate::error::{CliError, CliResult, Exit, source_names};
use crate::histories::{Chosen, conversation_roots, default_roots, known_roots, narrow, request};
use crate::inject::ledger;
use crate::ipc::wire::Ingested;
use crate::recall_request;
use crate::render::ingest::{summary, unknown_histories, unread_agent};
use crate::render::progress::Progress;
use crate::render::text;
use crate::results::{FetchedPage, Ingestion};

/// The source kind of web pages.
const WEB: &str = "web";

/// Read histories, documents and pages into the memory
///
/// Without paths it reads the histories of the known agents. What was read before is not read again.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files, directories or addresses (https://...) to read
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The kind of source in the paths [default: detected]
    #[arg(long, value_name = "SOURCE", value_parser = PossibleValuesParser::new(SOURCES.iter().map(|source| source.kind())))]
    source: Option<String>,
    /// Only conversations last changed at or after this time: a date, RFC 3339, or words such as "last week"
    #[arg(long, value_name = "TIME", value_parser = recall_request::time, conflicts_with_all = ["paths", "source"])]
    since: Option<UtcMillis>,
    /// Only conversations of this project: name or directory; may be repeated
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project, conflicts_with_all = ["paths", "source"])]
    project: Vec<String>,
    /// Only conversations with code blocks
    #[arg(long, conflicts_with_all = ["paths", "source"])]
    has_code: bool,
    /// At most N conversations, last changed first
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all = ["paths", "source"])]
    limit: Option<usize>,
    /// Only show what would be read
    #[arg(long)]
    dry_run: bool,
    /// Print, for each conversation and file that is read, how many turns it brought
    #[arg(short, long)]
    verbose: bool,
    /// Do not run the local model; `yore embed` does it at any time
    #[arg(long)]
    no_embed: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let chosen =
        Chosen { since: arguments.since, projects: arguments.project.clone(), has_code: arguments.has_code, ..Chosen::default() };
    let is_narrowed = arguments.limit.is_some() || !chosen.is_everything();
    if arguments.paths.is_empty()
        && arguments.source.is_none()
        && !is_narrowed
        && !arguments.dry_run
        && !arguments.verbose
        && let Some(ingested) = engine_handle::ingest_by_daemon(&context.settings.directory, &context.settings.own_config()?)
    {
        return print_ingested(&ingested?, context);
    }
    let (addresses, roots) = (addresses(arguments)?, roots(arguments, context)?);
    if !arguments.paths.is_empty() {
        may_be_read(&roots, !addresses.is_empty(), &context.settings.own_config()?)?;
    }
    let engine = match context.settings.engine(!arguments.dry_run) {
        Ok(engine) => Some(engine),
        // A dry run must not create a memory.
        Err(error) if arguments.dry_run && error.code == "store/missing" => None,
        Err(error) => return Err(error),
    };
    let roots = match &engine {
        _ if is_narrowed => conversation_roots(&context.settings)?,
        Some(engine) if arguments.paths.is_empty() => {
            let mut known = known_roots(engine, &context.settings)?;
            known.retain(|root| arguments.source.as_ref().is_none_or(|source| *source == root.source));
            known
        }
        _ => roots,
    };
    let is_document = |root: &SourceRoot| source_named(&root.source).is_some_and(|source| source.nature() == Nature::Document);
    let has_documents_only = roots.iter().all(is_document);
    let pages = match &engine {
        Some(engine) if !arguments.dry_run => {
            addresses.iter().map(|address| fetch(engine, address, context)).collect::<CliResult<Vec<_>>>()?
        }
        _ => Vec::new(),
    };
    let mut request = IngestRequest { is_dry_run: arguments.dry_run, ..request(roots, &context.settings)? };
    narrow(&mut request, engine.as_ref(), arguments.limit, &chosen)?;
    let (mut report, sync) = match &engine {
        Some(engine) => read_told(engine, &request, arguments.verbose, context)?,
        None => (found(&request), SyncReport::default()),
    };
    let unread = unread_agents(arguments);
    // A dry run fetches nothing.
    let would_fetch = addresses.iter().filter(|_| arguments.dry_run);
    if context.printer.is_json() {
        let told: Vec<_> = pages.iter().flatten().map(FetchedPage::from).collect();
        report.failures.extend(pages.into_iter().filter_map(Result::err));
        let mut ingestion = Ingestion::of(&report, &sync, arguments.dry_run).without(&unread);
        if !addresses.is_empty() {
            ingestion.pages = Some(told);
            ingestion.would_fetch = Some(would_fetch.map(ToString::to_string).collect());
        }
        context.printer.json(&ingestion)?;
    } else {
        for address in would_fetch {
            context.printer.line(format!("would fetch {}", text::harmless(address)))?;
        }
        for page in pages.iter().flatten() {
            context.printer.line(told_page(page))?;
        }
        report.failures.extend(pages.into_iter().filter_map(Result::err));
        // If only pages were read, there is nothing more to print.
        if addresses.len() < arguments.paths.len() || arguments.paths.is_empty() || report.unread().next().is_some() {
            print(&report, &sync, arguments.dry_run, context)?;
        }
    }
    let mut without = without_histories(arguments, &report);
    let unknown = unknown_histories(&report);
    if unknown > 0 && !context.printer.is_json() {
        let line = match unknown {
            1 => "a file looks like the history of an agent that yore does not know; not read".to_owned(),
            _ => format!("{} look like histories of an agent that yore does not know; not read", text::counted(unknown, "file")),
        };
        context.printer.note(format!("{}warning:{} {line}", text::YELLOW, text::RESET))?;
    }
    let home = context.settings.paths.home.clone();
    without.extend(unread.iter().map(|agent| unread_agent(agent, home.as_deref())));
    if !context.printer.is_json() {
        for line in &without {
            context.printer.note(format!("{}warning:{} {line}", text::YELLOW, text::RESET))?;
        }
    }
    if let Some(engine) = engine.filter(|_| !arguments.dry_run) {
        embed::after_reading(&engine, arguments.no_embed, false, context)?;
    }
    // A second reading finds the refused files unchanged.
    let is_refused = unknown > 0 && report.files_unchanged == 0 || !unread.is_empty() && has_documents_only;
    let is_nothing = !arguments.dry_run && is_refused && report.turns_added + report.turns_updated + report.turns_shared == 0;
    let is_whole = report.unread().next().is_none() && without.len() == unread.len() && !is_nothing;
    Ok(if is_whole { Exit::Success } else { Exit::Nothing })
}

/// Returns the agents in the named paths whose histories are not read. A path whose source was named is read.
fn unread_agents(arguments: &Arguments) -> Vec<UnreadAgent> {
    let paths = arguments.paths.iter().filter(|_| arguments.source.is_none());
    paths.filter_map(|path| path.canonicalize().ok()).flat_map(|path| unread_agents_at(&path)).collect()
}

/// Returns why nothing was read from a named path, a line for each.
fn without_histories(arguments: &Arguments, report: &IngestReport) -> Vec<String> {
    let mut lines = Vec::new();
    // Histories deeper in the path, or of another kind, may have been read all the same.
    let is_read = report.by_source.values().any(|(files, _)| *files > 0);
    for path in arguments.paths.iter().filter(|_| !is_read || arguments.paths.len() > 1) {
        let names: Vec<&str> = report
            .empty_roots
            .iter()
            .filter(|root| root.path == *path)
            .filter_map(|root| source_named(&root.source))
            .map(Source::display_name)
            .collect();
        if names.is_empty() {
            continue;
        }
        let mut kinds = detect::kinds_of(path, &[]).into_iter().map(|(kind, _)| kind);
        let looks_like = kinds.find(|kind| Some(*kind) != arguments.source.as_deref());
        let hint = match (&arguments.source, looks_like) {
            (Some(_), Some(kind)) => format!("; it looks like {kind}"),
            (Some(_), None) => String::new(),
            (None, _) => "; name the kind with `--source`".to_owned(),
        };
        let shown = text::harmless(&path.display().to_string());
        lines.push(format!("{shown} contains nothing that yore reads as {}{hint}", names.join(" or ")));
    }
    lines
}

/// Prints the report of the daemon's reading.
fn print_ingested(ingested: &Ingested, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&ingested.json)?;
    } else {
        for line in &ingested.lines {
            context.printer.line(line)?;
        }
        for (path, reason) in &ingested.failures {
            context.printer.note(format!("{}warning:{} {}: {reason}", text::YELLOW, text::RESET, text::harmless(path)))?;
        }
    }
    Ok(if ingested.failures.is_empty() { Exit::Success } else { Exit::Nothing })
}

/// Returns the addresses of pages among the named paths.
fn addresses(arguments: &Arguments) -> CliResult<Vec<String>> {
    let addresses: Vec<String> = arguments
        .paths
        .iter()
        .filter_map(|path| path.to_str())
        .filter(|path| detect::is_address(path))
        .map(str::to_owned)
        .collect();
    match &arguments.source {
        Some(source) if source != WEB && !addresses.is_empty() => Err(CliError::usage(
            format!("{} is the address of a page, not of {source}", addresses[0]),
            Some("leave --source out"),
        )),
        _ => Ok(addresses),
    }
}

/// Fetches a page for the project of the current directory. A failure is reported with the others.
fn fetch(engine: &Engine, address: &str, context: &Context) -> CliResult<Result<PageReport, (PathBuf, String)>> {
    let options = FetchOptions {
        ingest: request(Vec::new(), &context.settings)?,
        directory: context.settings.project_here().map(|here| engine.directory_of_note(&here)).transpose()?.flatten(),
        ..FetchOptions::default()
    };
    match engine.fetch_page(address, &options) {
        Ok(page) => Ok(Ok(page)),
        Err(error @ EngineError::Fetch(_)) => {
            let error = CliError::from(error);
            let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Ok(Err((PathBuf::from(address), format!("{}{hint}", error.message))))
        }
        Err(error) => Err(error.into()),
    }
}

fn change(page: &PageReport) -> &'static str {
    match page.change {
        PageChange::New => "new",
        PageChange::Changed => "changed",
        PageChange::Unchanged => "unchanged",
    }
}

fn told_page(page: &PageReport) -> String {
    let title = page.title.as_deref().map(|title| format!(" \u{b7} {}", text::harmless(title))).unwrap_or_default();
    let sections =
        if page.sections > 0 { format!(", {}", text::counted(page.sections as u64, "section")) } else { String::new() };
    format!("{}{title}: {}{sections}", text::harmless(&page.address), change(page))
}

/// Returns the sources to read: the named ones, or all known ones.
fn roots(arguments: &Arguments, context: &Context) -> CliResult<Vec<SourceRoot>> {
    if arguments.paths.is_empty() {
        let mut roots = default_roots(&context.settings)?;
        roots.retain(|root| arguments.source.as_ref().is_none_or(|source| *source == root.source));
        return Ok(roots);
    }
    let places: Vec<(&str, PathBuf)> = SOURCES
        .iter()
        .flat_map(|source| context.settings.places(*source).into_iter().map(|place| (source.kind(), place)))
        .collect();
    let mut roots = Vec::new();
    for path in arguments.paths.iter().filter(|path| !path.to_str().is_some_and(detect::is_address)) {
        if !path.exists() {
            return Err(CliError::usage(format!("{} does not exist", path.display()), None));
        }
        // Reading a pipe would block, and a file that cannot be opened cannot be recognised.
        let opened = if path.is_dir() {
            path.read_dir().map(drop)
        } else if path.is_file() {
            std::fs::File::open(path).map(drop)
        } else {
            return Err(CliError::usage(format!("{} is neither a file nor a directory", path.display()), None));
        };
        opened.map_err(|error| CliError::io(path, &error))?;
        let mut guesses = match &arguments.source {
            // Histories of this kind deeper in the path are found as well. Documents are not histories.
            Some(kind) if path.is_dir() && source_named(kind).is_some_and(|source| source.nature() == Nature::Conversation) => {
                detect::sure_below(path).into_iter().filter(|(found, _)| found == kind).map(|(_, root)| root).collect()
            }
            _ => Vec::new(),
        };
        let kind = arguments.source.as_deref();
        let guessed = if kind.is_none() { detect::kinds_of(path, &places) } else { Vec::new() };
        if kind.is_none() && guessed.is_empty() && detect::is_unknown_history(path) {
            let message = format!("{} looks like the history of an agent that yore does not know; not read", path.display());
            let hint = Some(format!("if it is one of these, name it with --source: {}", source_names()));
            return Err(CliError { exit: Exit::Nothing, code: "unknown-agent".to_owned(), message, hint });
        }
        if kind.is_none() && guessed.is_empty() {
            let message = format!("{} has no format that yore can read", path.display());
            let hint = format!("name the kind with --source: {}", source_names());
            return Err(CliError::usage(message, Some(&hint)));
        }
        guesses.insert(0, path.clone());
        let named = kind.into_iter().flat_map(|kind| guesses.iter().map(move |root| (kind, root.clone())));
        for (kind, path) in named.chain(guessed) {
            roots.push(SourceRoot { source: kind.to_owned(), path });
        }
    }
    Ok(roots)
}

/// Refuses named paths and pages that the person's settings switch off: naming them, by hand or in a script,
/// does not switch them on.
fn may_be_read(roots: &[SourceRoot], has_pages: bool, config: &Config) -> CliResult<()> {
    let refused = |message: String, hint: &str| {
        Err(CliError { exit: Exit::Usage, code: "capture-off".to_owned(), message, hint: Some(hint.to_owned()) })
    };
    if !config.capture.enabled && (has_pages || !roots.is_empty()) {
        return refused("capture is off, so nothing is read".to_owned(), "`yore capture on` turns it on again");
    }
    let is_off = |root: &&SourceRoot| config.sources.of(&root.source).is_some_and(|settings| !settings.enabled);
    match roots.iter().find(is_off) {
        Some(SourceRoot { source, path }) => {
            let message = format!("{} contains {source}, and sources.{source}.enabled is false", path.display());
            refused(message, "enable the source (`yore config set`), or name another kind with --source")
        }
        None => Ok(()),
    }
}

/// Returns a report of the files that a first ingestion would read.
fn found(request: &IngestRequest) -> IngestReport {
    let mut report = IngestReport::default();
    let mut seen = HashSet::new();
    let is_chosen = |unit: &Unit| request.only.as_ref().is_none_or(|only| unit.name().is_some_and(|name| only.contains(&name)));
    for root in &request.roots {
        let path = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
        let Some(source) = source_named(&root.source) else { continue };
        for unit in report.discovered(source, &path, &NothingKnown) {
            if is_chosen(&unit) && seen.insert((&root.source, unit.path.clone(), unit.part.clone())) {
                report.files += 1;
                let (files, bytes) = report.by_source.entry(root.source.clone()).or_default();
                (*files, *bytes) = (*files + 1, *bytes + unit.stamp.size);
            }
        }
    }
    report
}

/// Archives and indexes, with a progress bar. `newest_bytes` as in [`IngestRequest`].
pub fn read_histories(
    engine: &Engine,
    roots: Vec<SourceRoot>,
    newest_bytes: Option<u64>,
    context: &Context,
) -> CliResult<(IngestReport, SyncReport)> {
    let request = IngestRequest { newest_bytes, ..request(roots, &context.settings)? };
    read_told(engine, &request, false, context)
}

/// Reads as the request says, with a progress bar, and with a line for each conversation and file if `is_verbose`.
fn read_told(
    engine: &Engine,
    request: &IngestRequest,
    is_verbose: bool,
    context: &Context,
) -> CliResult<(IngestReport, SyncReport)> {
    let mut bar = Progress::new("archiving", context.printer.shows_progress()).with_lines(is_verbose);
    let report = engine.ingest(request, &mut bar);
    bar.finish();
    let report = report?;
    if request.is_dry_run {
        return Ok((report, SyncReport::default()));
    }
    // Without a daemon, nothing else clears old ledgers.
    ledger::clear_old(&context.settings.directory, SystemTime::now());
    let bar = Progress::counting("indexing", engine.queued()? as u64, context.printer.shows_progress());
    let sync = engine.sync_index(30_000, &mut |turns| bar.inc(turns));
    bar.finish_and_clear();
    Ok((report, sync?))
}

fn print(report: &IngestReport, sync: &SyncReport, is_dry_run: bool, context: &mut Context) -> CliResult<()> {
    if context.printer.is_json() {
        return Ok(context.printer.json(&Ingestion::of(report, sync, is_dry_run))?);
    }
    for line in summary(report, is_dry_run) {
        context.printer.line(line)?;
    }
    tell_unread(report, context)?;
    if sync.is_busy {
        context.printer.note("another process is bringing the index up to date")?;
    }
    Ok(())
}

/// Names the files and folders that could not be read.
pub fn tell_unread(report: &IngestReport, context: &mut Context) -> CliResult<()> {
    for (path, reason) in report.unread() {
        let path = text::harmless(&path.display().to_string());
        context.printer.note(format!("{}warning:{} {path}: {reason}", text::YELLOW, text::RESET))?;
    }
    Ok(())
}
