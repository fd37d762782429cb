use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::json;
use yore_engine::ingest::source::source_named;
use yore_engine::ingest::{CapturePolicy, IngestReport, IngestRequest, SourceRoot};
use yore_engine::{Engine, SyncReport};

use super::{Context, embed, find_project_file};
use crate::config::{CaptureMode, Config, Layers, load};
use crate::error::{CliResult, Exit};
use crate::render::progress::Progress;
use crate::render::text;

/// Read histories into the memory
///
/// Without paths: wherever the known agents keep theirs. What was read before is not read again.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Files or directories to read
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What the paths hold
    #[arg(long, value_name = "SOURCE", default_value = "claude-code", value_parser = ["claude-code", "jsonl"])]
    source: String,
    /// Only say what would be read
    #[arg(long)]
    dry_run: bool,
    /// Do not run the local model; `yore embed` does it at any time
    #[arg(long)]
    no_embed: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let roots = if arguments.paths.is_empty() {
        default_roots(context)?
    } else {
        for path in &arguments.paths {
            if !path.exists() {
                return Err(crate::error::CliError::usage(format!("{} does not exist", path.display()), None));
            }
        }
        arguments.paths.iter().map(|path| SourceRoot { source: arguments.source.clone(), path: path.clone() }).collect()
    };
    let engine = match context.engine(!arguments.dry_run) {
        Ok(engine) => Some(engine),
        // Looking must not make a memory.
        Err(error) if arguments.dry_run && error.code == "store/missing" => None,
        Err(error) => return Err(error),
    };
    let (report, sync) = match &engine {
        Some(engine) => read_histories(engine, roots, arguments.dry_run, context)?,
        None => (found(&roots), SyncReport::default()),
    };
    print(&report, &sync, arguments.dry_run, context)?;
    if let Some(engine) = engine.filter(|_| !arguments.dry_run) {
        embed::after_reading(&engine, arguments.no_embed, false, context)?;
    }
    Ok(if report.failures.is_empty() { Exit::Success } else { Exit::Nothing })
}

/// What a first ingestion would look at.
fn found(roots: &[SourceRoot]) -> IngestReport {
    let mut report = IngestReport::default();
    let mut seen = HashSet::new();
    for root in roots {
        for path in source_named(&root.source).into_iter().flat_map(|source| source.discover(&root.path)) {
            let path = path.canonicalize().unwrap_or(path);
            let Ok(meta) = path.metadata() else { continue };
            if seen.insert((&root.source, path)) {
                report.files += 1;
                let (files, bytes) = report.by_source.entry(root.source.clone()).or_default();
                (*files, *bytes) = (*files + 1, *bytes + meta.len());
            }
        }
    }
    report
}

/// The settings that hold for every project: a project's own file speaks for that project only.
fn own_config(context: &Context) -> CliResult<Config> {
    let layers = Layers {
        user_file: context.user_file.as_ref(),
        project_file: None,
        environment: &context.environment,
        flags: &context.flags,
    };
    Ok(load(&layers)?.config)
}

/// Where the known agents keep their histories, as configured.
pub fn default_roots(context: &Context) -> CliResult<Vec<SourceRoot>> {
    let config = own_config(context)?;
    let claude = &config.sources.claude_code;
    if !config.capture.enabled || !claude.enabled {
        return Ok(Vec::new());
    }
    let roots = if claude.roots.is_empty() { &context.paths.claude } else { &claude.roots };
    Ok(roots
        .iter()
        .map(|root| expand_home(root, context))
        // A configuration directory holds more than transcripts; only those are looked at.
        .map(|root| if claude.roots.is_empty() { root.join("projects") } else { root })
        .filter(|path| path.exists())
        .map(|path| SourceRoot { source: "claude-code".to_owned(), path })
        .collect())
}

fn expand_home(path: &std::path::Path, context: &Context) -> PathBuf {
    match (path.strip_prefix("~"), &context.paths.home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_path_buf(),
    }
}

/// Archives and indexes, with a bar.
pub fn read_histories(
    engine: &Engine,
    roots: Vec<SourceRoot>,
    is_dry_run: bool,
    context: &Context,
) -> CliResult<(IngestReport, SyncReport)> {
    let config = context.config();
    let mut request = IngestRequest::new(roots);
    request.compression_level = config.archive.compression_level;
    request.reader.tool_bytes = if config.index.tool_output { config.index.tool_result_bytes } else { 0 };
    request.is_dry_run = is_dry_run;
    request.policy = Arc::new(policy(context)?);
    let mut bar = Progress::new("archiving", context.printer.shows_progress());
    let report = engine.ingest(&request, &mut bar);
    bar.finish();
    let report = report?;
    if is_dry_run {
        return Ok((report, SyncReport::default()));
    }
    let bar = Progress::counting("indexing", engine.queued()? as u64, context.printer.shows_progress());
    let sync = engine.sync_index(30_000, &mut |turns| bar.inc(turns));
    bar.finish_and_clear();
    Ok((report, sync?))
}

/// What may be kept: the person's settings, and each project's own.
pub fn policy(context: &Context) -> CliResult<CapturePolicy> {
    let capture = &own_config(context)?.capture;
    let home = |entries: &[String]| -> Vec<String> {
        entries
            .iter()
            .map(|entry| match (entry.strip_prefix("~/"), &context.paths.home) {
                (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
                _ => entry.clone(),
            })
            .collect()
    };
    let only = (capture.mode == CaptureMode::OptIn).then(|| home(&capture.projects));
    let policy = CapturePolicy::new(&home(&capture.exclude_paths), &home(&capture.exclude_projects), only.as_deref())?;
    // A project's file may switch capture off for that project; each directory is asked once.
    let known: Mutex<HashMap<PathBuf, bool>> = Mutex::default();
    let (user_file, environment) = (context.user_file.clone(), context.environment.clone());
    Ok(policy.with_project_switch(move |directory| {
        let Some(file) = find_project_file(std::path::Path::new(directory)) else { return false };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(file.clone()).or_insert_with(|| {
            let layers =
                Layers { user_file: user_file.as_ref(), project_file: Some(&file), environment: &environment, flags: &[] };
            // A file that cannot be understood may have meant to forbid.
            load(&layers).map_or(true, |resolved| !resolved.config.capture.enabled)
        })
    }))
}

fn print(report: &IngestReport, sync: &SyncReport, is_dry_run: bool, context: &mut Context) -> CliResult<()> {
    if context.printer.is_json() {
        return Ok(context.printer.json(&as_json(report, sync, is_dry_run))?);
    }
    for line in summary(report, is_dry_run) {
        context.printer.line(line)?;
    }
    for (path, reason) in &report.failures {
        context.printer.note(format!(
            "{}warning:{} {}: {reason}",
            text::YELLOW,
            text::RESET,
            text::harmless(&path.display().to_string())
        ))?;
    }
    if sync.is_busy {
        context.printer.note("another process is bringing the index up to date")?;
    }
    Ok(())
}

/// An ingestion in a few lines.
pub fn summary(report: &IngestReport, is_dry_run: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if is_dry_run {
        let bytes: u64 = report.by_source.values().map(|(_, bytes)| bytes).sum();
        lines.push(format!("would look at {} of {}", text::counted(report.files, "file"), text::bytes(bytes)));
        return lines;
    }
    lines.push(format!(
        "{}: {} read, {} unchanged{}",
        text::counted(report.files, "file"),
        text::count(report.files_read),
        text::count(report.files_unchanged),
        [
            (report.files_empty, "empty"),
            (report.files_rewritten, "rewritten"),
            (report.files_busy, "being read by another process"),
            (report.files_gone, "gone (kept in the archive)"),
            (report.files_excluded, "excluded")
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {} {what}", text::count(*count)))
        .collect::<String>()
    ));
    lines.push(format!(
        "{} archived; {} new, {} completed",
        text::counted(report.lines, "line"),
        text::counted(report.turns_added, "turn"),
        text::count(report.turns_updated)
    ));
    if report.redactions.secrets_total() > 0 {
        let kinds: Vec<String> = report
            .redactions
            .iter()
            .filter(|(kind, count)| *count > 0 && *kind != "base64-payload")
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        lines.push(format!("redacted before storing: {}", kinds.join(", ")));
    }
    let payloads = report.redactions.total() - report.redactions.secrets_total();
    if payloads > 0 {
        lines.push(format!("{} replaced by type, length and digest", text::counted(payloads, "base64 payload")));
    }
    let skipped: u64 = report.skips.values().sum();
    if skipped > 0 {
        let reasons: Vec<String> = report
            .skips
            .iter()
            .map(
                |((reason, detail), count)| {
                    if detail.is_empty() { format!("{count} {reason}") } else { format!("{count} {reason} {detail:?}") }
                },
            )
            .collect();
        lines.push(format!("lines without turns: {}", reasons.join(", ")));
    }
    if report.lines_excluded > 0 {
        lines.push(format!("{} kept out by the configuration", text::counted(report.lines_excluded, "line")));
    }
    if report.torn_bytes > 0 {
        lines.push(format!("{} of unfinished last lines left for the next time", text::bytes(report.torn_bytes)));
    }
    lines
}

/// An ingestion as JSON.
pub fn as_json(report: &IngestReport, sync: &SyncReport, is_dry_run: bool) -> serde_json::Value {
    json!({
        "dry_run": is_dry_run,
        "files": report.files,
        "files_read": report.files_read,
        "files_unchanged": report.files_unchanged,
        "files_empty": report.files_empty,
        "files_rewritten": report.files_rewritten,
        "files_busy": report.files_busy,
        "files_gone": report.files_gone,
        "files_excluded": report.files_excluded,
        "bytes_read": report.bytes_read,
        "lines": report.lines,
        "lines_excluded": report.lines_excluded,
        "turns_added": report.turns_added,
        "turns_updated": report.turns_updated,
        "turns_shared": report.turns_shared,
        "torn_bytes": report.torn_bytes,
        "redactions": report.redactions.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        "skips": report.skips.iter().map(|((reason, detail), count)| json!({"reason": reason, "detail": detail, "count": count})).collect::<Vec<_>>(),
        "failures": report.failures.iter().map(|(path, reason)| json!({"path": path, "reason": reason})).collect::<Vec<_>>(),
        "sources": report.by_source.iter().map(|(source, (files, bytes))| (source.clone(), json!({"files": files, "bytes": bytes}))).collect::<serde_json::Map<_, _>>(),
        "indexed": sync.indexed,
        "index_busy": sync.is_busy,
    })
}
