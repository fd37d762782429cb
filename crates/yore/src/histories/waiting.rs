//! Lists conversations that were not read yet or have changed, and reads chosen ones.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use serde_json::Value;
use yore_core::scope::{is_within, normalize_directory};
use yore_core::time::UtcMillis;
use yore_engine::ingest::{IngestReport, IngestRequest, Observer, Silent, SourceRoot};
use yore_engine::{Engine, SyncReport};
use yore_sources::project_names::names_of;
use yore_sources::source::{Framing, NothingKnown, Source, Unit, source_named};

use super::{conversation_roots, request};
use crate::error::CliResult;
use crate::settings::Settings;

/// Filter of conversations.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Only conversations last changed at or after this time.
    pub since: Option<UtcMillis>,
    /// Only conversations of these projects: names or directories.
    pub projects: Vec<String>,
    /// Only conversations with code blocks.
    pub has_code: bool,
    /// Only conversations whose unit's name contains this, such as a session's own id.
    pub named: Option<String>,
}

impl Chosen {
    /// Returns whether the filter accepts every conversation.
    pub fn is_everything(&self) -> bool {
        self.since.is_none() && self.projects.is_empty() && !self.has_code && self.named.is_none()
    }
}

/// A conversation whose present state was not read.
pub struct Waiting {
    /// The source that reads it.
    pub source: &'static dyn Source,
    /// The unit to read.
    pub unit: Unit,
    /// The unit's name.
    pub name: String,
    /// True if some of it was read before.
    pub is_known: bool,
    /// Time at which its file last changed.
    pub updated: Option<UtcMillis>,
    /// Facts found by a look into it.
    pub facts: Facts,
}

/// Facts found by a look into a conversation.
#[derive(Default)]
pub struct Facts {
    /// The directory that the conversation took place in.
    pub directory: Option<String>,
    /// True if it has a code block; computed only if the filter asks for it.
    pub has_code: bool,
}

/// Most bytes of a conversation that are read.
const MOST_BYTES: u64 = 256 << 20;
/// Longest line read at once; a longer one is read in pieces.
const LONGEST_LINE: u64 = 4 << 20;
/// Records that are searched for a directory.
const FIRST_RECORDS: usize = 200;

/// Returns the waiting conversations under the roots that pass the filter, last changed first.
pub fn waiting(
    roots: &[SourceRoot],
    engine: Option<&Engine>,
    chosen: &Chosen,
    request: &IngestRequest,
) -> CliResult<Vec<Waiting>> {
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
            // A unit that closes its file only shows whether the other units need a look.
            if unit.closes_file || unit.stamp.size == 0 || !is_allowed || !seen.insert((source.kind(), name.clone())) {
                continue;
            }
            if chosen.named.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
                continue;
            }
            let known = engine.map(|engine| engine.known_unit(source.kind(), &name)).transpose()?.flatten();
            if known.as_ref().is_some_and(|(stamp, _)| *stamp == unit.stamp) {
                continue;
            }
            let updated = changed(&unit.path);
            if chosen.since.is_some_and(|since| updated.is_some_and(|updated| updated < since)) {
                continue;
            }
            let facts = look(source, &unit, chosen.has_code);
            let is_kept = match &facts.directory {
                Some(directory) => request.policy.allows_directory(directory),
                None => request.policy.allows_unknown(),
            };
            let is_asked_for = (!chosen.has_code || facts.has_code)
                && (chosen.projects.is_empty()
                    || chosen.projects.iter().any(|project| belongs(facts.directory.as_deref(), project)));
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

/// Returns whether a recorded directory belongs to a project, given by name or directory.
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

/// Reads as much of a conversation as the facts need; unreadable parts are skipped.
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

/// Reads the waiting conversations for a front end that prints nothing.
pub fn read_waiting(
    since: Option<UtcMillis>,
    has_code: bool,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> CliResult<(IngestReport, SyncReport)> {
    let mut request = request(conversation_roots(settings)?, settings)?;
    let engine = settings.engine(true)?;
    narrow(&mut request, Some(&engine), None, &Chosen { since, has_code, ..Chosen::default() })?;
    let report = engine.ingest(&request, observer)?;
    let sync = engine.sync_index(30_000, &mut |_| {})?;
    Ok((report, sync))
}

/// Reads what waits of one session, by its own id or the beginning of it, or of this directory's project since yesterday, without
/// updating an index; returns the number of conversations that waited.
pub fn read_latest(session: Option<&str>, settings: &Settings) -> CliResult<usize> {
    const LATELY_MS: UtcMillis = 36 * 3_600_000;
    let chosen = match session {
        Some(session) => Chosen { named: Some(session.to_owned()), ..Chosen::default() },
        None => {
            let Some(here) = settings.project_here() else { return Ok(0) };
            Chosen { projects: vec![here.name], since: Some(Timestamp::now().as_millisecond() - LATELY_MS), ..Chosen::default() }
        }
    };
    let mut request = request(conversation_roots(settings)?, settings)?;
    let engine = match settings.engine(false) {
        Ok(engine) => Some(engine),
        Err(error) if error.code == "store/missing" => None,
        Err(error) => return Err(error),
    };
    let names: HashSet<String> =
        waiting(&request.roots, engine.as_ref(), &chosen, &request)?.into_iter().map(|found| found.name).collect();
    let count = names.len();
    if count > 0 {
        let engine = match engine {
            Some(engine) => engine,
            None => settings.engine(true)?,
        };
        request.only = Some(Arc::new(names));
        engine.ingest(&request, &mut Silent)?;
    }
    Ok(count)
}

/// Limits a request to the conversations that pass the filter, if the filter or the limit excludes any.
pub fn narrow(request: &mut IngestRequest, engine: Option<&Engine>, limit: Option<usize>, chosen: &Chosen) -> CliResult<()> {
    if limit.is_some() || !chosen.is_everything() {
        let waiting = waiting(&request.roots, engine, chosen, request)?;
        let names: HashSet<String> = waiting.into_iter().take(limit.unwrap_or(usize::MAX)).map(|found| found.name).collect();
        request.only = Some(Arc::new(names));
    }
    Ok(())
}
