//! Reports the state of capture: last read of each agent, waiting and unreadable files.

use yore_core::time::UtcMillis;
use yore_engine::Severity;
use yore_engine::ingest::SourceRoot;
use yore_sources::source::{Nature, SOURCES, UnreadAgent};

use super::super::Context;
use crate::engine_handle::now;
use crate::health::Told;
use crate::histories::{default_roots, unreadable_of};
use crate::render::ingest::unread_agent;
use crate::render::text;
use crate::spool;

/// Reports everything about capture.
pub(super) fn examine(context: &Context) -> Vec<Told> {
    let roots = default_roots(&context.settings).unwrap_or_default();
    let mut told = last(&roots, context);
    told.extend(unreadable(&roots));
    told.extend(hooks(context));
    told.extend(unread_agents(context));
    told.extend(unverified(&roots));
    told
}

/// Reports the time of the last read for each agent.
fn last(roots: &[SourceRoot], context: &Context) -> Vec<Told> {
    let files = match context.settings.engine(false).and_then(|engine| Ok(engine.source_files()?)) {
        Ok(files) => files,
        // Another check reports this error.
        Err(_) => return Vec::new(),
    };
    let mut told = Vec::new();
    for source in SOURCES.iter().filter(|source| source.nature() == Nature::Conversation) {
        let of_it = || files.iter().filter(|file| file.source == source.kind());
        let count = of_it().count() as u64;
        let read: Option<UtcMillis> = of_it().filter_map(|file| file.last_read_ms).max();
        let name = source.display_name();
        let finding = match read {
            Some(read) => {
                let text = format!("{name}: last captured {}, {} in all", text::ago(now() - read), text::counted(count, "file"));
                Told::new("capture", Severity::Fine, text)
            }
            None if roots.iter().any(|root| root.source == source.kind()) => {
                Told::new("capture", Severity::Note, format!("{name}: nothing captured yet")).remedy("run `yore ingest`")
            }
            None => continue,
        };
        told.push(finding.fact("agent", source.kind()).fact("last_capture_ms", read).fact("files", count));
    }
    told
}

/// Maximum number of unreadable files and folders that are named for each source.
const NAMED_UNREADABLE: usize = 5;

/// Reports the files and folders of histories that cannot be read now.
fn unreadable(roots: &[SourceRoot]) -> Vec<Told> {
    let mut told = Vec::new();
    for source in SOURCES {
        let found = unreadable_of(*source, roots);
        let of_it = |text: String| Told::new("unreadable", Severity::Warning, text).fact("agent", source.kind());
        for (path, reason) in found.iter().take(NAMED_UNREADABLE) {
            let path = path.display().to_string();
            let text = format!("{}: {} cannot be read: {}", source.display_name(), text::harmless(&path), text::harmless(reason));
            let remedy = "give yourself the right to read it (a folder: to enter it, too), then run `yore ingest`";
            told.push(of_it(text).fact("path", path).remedy(remedy));
        }
        if found.len() > NAMED_UNREADABLE {
            let more = found.len() - NAMED_UNREADABLE;
            let text = format!("{}: {more} more files and folders cannot be read", source.display_name());
            told.push(of_it(text).remedy("`yore status --sources --json` lists all"));
        }
    }
    told
}

/// Reports the events of hooks that are not read yet, or that cannot be read.
fn hooks(context: &Context) -> Vec<Told> {
    let mut told = Vec::new();
    let waiting = spool::waiting(&context.settings.directory) as u64;
    if waiting > 0 {
        let text = format!("{} of hooks wait to be read", text::counted(waiting, "event"));
        let remedy = "`yore daemon start` reads them, as does every running daemon";
        told.push(Told::new("spool", Severity::Note, text).remedy(remedy));
    }
    let unreadable = spool::unreadable(&context.settings.directory) as u64;
    if unreadable > 0 {
        let text = format!("{} of hooks could not be parsed and were set aside", text::counted(unreadable, "event"));
        told.push(Told::new("spool", Severity::Note, text));
    }
    told
}

/// Reports agents of this computer whose histories are not read.
fn unread_agents(context: &Context) -> Vec<Told> {
    let paths = &context.settings.paths;
    let finding = |agent: &UnreadAgent| {
        let text = unread_agent(agent, paths.home.as_deref());
        let told = Told::new("unread-agent", Severity::Note, text)
            .fact("agent", agent.name)
            .fact("path", agent.path.display().to_string())
            .fact("files", agent.files);
        match agent.is_encrypted {
            true => told.remedy(format!("let {} export a conversation and give the file to `yore ingest`", agent.name)),
            false => told,
        }
    };
    paths.unread_agents().iter().map(finding).collect()
}

/// Reports sources in use whose format was never tested with real files.
fn unverified(roots: &[SourceRoot]) -> Vec<Told> {
    SOURCES
        .iter()
        .filter(|source| !source.is_verified() && roots.iter().any(|root| root.source == source.kind()))
        .map(|source| {
            let text = format!("{} is read as its format is documented: not tested with real files", source.display_name());
            Told::new("unverified", Severity::Note, text).remedy("`yore status --sources` counts what could not be parsed")
        })
        .collect()
}
