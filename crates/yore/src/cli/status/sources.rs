//! Lists the sources of histories: what was found, what was read, what could not be read.

use std::collections::HashMap;

use yore_engine::{SkipCount, SourceFileSummary, Statistics, StatisticsRequest};
use yore_sources::source::{Nature, SOURCES, Source};

use crate::cli::Context;
use crate::error::{CliResult, Exit};
use crate::histories::{default_roots, unreadable_of};
use crate::render::text;
use crate::results::{SourceError, SourceSkip, SourceState};

/// Number of reasons that are shown for each source.
const SHOWN_SKIPS: usize = 5;
/// Maximum number of failures that are examined.
const MOST_DEAD: usize = 1_000;

/// The counts of one source.
#[derive(Default)]
struct Row {
    roots: Vec<String>,
    is_enabled: bool,
    units: u64,
    gone: u64,
    sessions: u64,
    subagents: u64,
    documents: u64,
    turns: u64,
    last_capture: Option<i64>,
    skips: Vec<SkipCount>,
    dead: Vec<(String, String)>,
    unreadable: Vec<(String, String)>,
}

impl Row {
    fn is_empty(&self) -> bool {
        self.roots.is_empty() && self.units == 0
    }
}

pub fn run(is_all: bool, context: &mut Context) -> CliResult {
    let config = context.settings.own_config()?;
    let roots = default_roots(&context.settings)?;
    let memory = match context.settings.memory() {
        Ok(memory) => Some(memory),
        Err(error) if error.code == "store/missing" => None,
        Err(error) => return Err(error),
    };
    let (statistics, files, dead) = match memory {
        Some(mut memory) => {
            (Some(memory.statistics(StatisticsRequest::default())?), memory.source_files()?, memory.dead_jobs(MOST_DEAD)?)
        }
        None => (None, Vec::new(), Vec::new()),
    };
    let mut rows: Vec<(&dyn Source, Row)> = Vec::new();
    for source in SOURCES {
        let kind = source.kind();
        let mut row = counts(kind, statistics.as_ref(), &files);
        row.is_enabled = config.capture.enabled && config.sources.of(kind).is_none_or(|settings| settings.enabled);
        row.roots = roots.iter().filter(|root| root.source == kind).map(|root| root.path.display().to_string()).collect();
        let is_of_it = |job: &&yore_engine::Job| job.work.root().is_some_and(|root| root.source == kind);
        row.dead = dead
            .iter()
            .filter(is_of_it)
            .map(|job| (job.work.target(), job.error.as_ref().map(|(_, words)| words.clone()).unwrap_or_default()))
            .collect();
        let unreadable = if row.is_enabled { unreadable_of(*source, &roots) } else { Vec::new() };
        row.unreadable = unreadable.into_iter().map(|(path, reason)| (path.display().to_string(), reason)).collect();
        // A file that was given up for this reason is named once.
        row.dead.retain(|(target, _)| row.unreadable.iter().all(|(path, _)| path != target));
        rows.push((*source, row));
    }
    if context.printer.is_json() {
        context.printer.json(&rows.iter().map(|(source, row)| result(*source, row)).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    let shown: Vec<&(&dyn Source, Row)> = rows.iter().filter(|(_, row)| is_all || !row.is_empty()).collect();
    for (source, row) in &shown {
        tell(*source, row, context)?;
    }
    if shown.len() < rows.len() {
        let others: Vec<&str> = rows.iter().filter(|(_, row)| row.is_empty()).map(|(source, _)| source.kind()).collect();
        context.printer.line(format!("nothing from {}", others.join(", ")))?;
    }
    Ok(if shown.is_empty() { Exit::Nothing } else { Exit::Success })
}

fn counts(kind: &str, statistics: Option<&Statistics>, files: &[SourceFileSummary]) -> Row {
    let mut row = Row::default();
    for file in files.iter().filter(|file| file.source == kind) {
        row.units += 1;
        row.gone += u64::from(file.gone_ms.is_some());
        row.last_capture = row.last_capture.max(file.last_read_ms);
    }
    let Some(statistics) = statistics else { return row };
    if let Some(agent) = statistics.store.agents.iter().find(|agent| agent.agent == kind) {
        (row.sessions, row.subagents, row.documents, row.turns) = (agent.sessions, agent.subagents, agent.documents, agent.turns);
    }
    row.skips = statistics.store.skips.iter().filter(|skip| skip.source == kind).cloned().collect();
    row
}

fn result(source: &dyn Source, row: &Row) -> SourceState {
    let nature = if source.nature() == Nature::Conversation { "conversation" } else { "document" };
    let error = |(target, error): &(String, String)| SourceError { target: target.clone(), error: error.clone() };
    SourceState {
        source: source.kind().to_owned(),
        name: source.display_name().to_owned(),
        nature: nature.to_owned(),
        verified: source.is_verified(),
        enabled: row.is_enabled,
        roots: row.roots.clone(),
        units: row.units,
        units_gone: row.gone,
        sessions: row.sessions,
        subagents: row.subagents,
        documents: row.documents,
        turns: row.turns,
        last_capture_ms: row.last_capture,
        skips: row.skips.iter().map(SourceSkip::from).collect(),
        errors: row.dead.iter().map(error).collect(),
        unreadable: row.unreadable.iter().map(error).collect(),
    }
}

fn tell(source: &dyn Source, row: &Row, context: &mut Context) -> CliResult<()> {
    let mut marks = Vec::new();
    if !row.is_enabled {
        marks.push("off");
    }
    if !source.is_verified() {
        marks.push("unverified");
    }
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    let mut held = Vec::new();
    for (count, singular) in
        [(row.sessions, "session"), (row.subagents, "side conversation"), (row.documents, "document"), (row.turns, "turn")]
    {
        if count > 0 {
            held.push(text::counted(count, singular));
        }
    }
    let held = if held.is_empty() { "nothing read yet".to_owned() } else { held.join(", ") };
    let last = row.last_capture.map(|at| format!(", last captured {}", text::time(Some(at)))).unwrap_or_default();
    context.printer.line(format!("{}{}{}{marks}: {held}{last}", text::BOLD, source.kind(), text::RESET))?;
    for root in &row.roots {
        context.printer.line(format!("  from {}", text::harmless(root)))?;
    }
    if row.gone > 0 {
        context.printer.line(format!("  {} deleted there, kept here", text::counted(row.gone, "file")))?;
    }
    // A detail (an unknown type) is shown with its reason.
    let mut reasons: HashMap<(&str, &str), u64> = HashMap::new();
    for skip in &row.skips {
        *reasons.entry((&skip.reason, &skip.detail)).or_default() += skip.count;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if !reasons.is_empty() {
        let listed: Vec<String> = reasons
            .iter()
            .take(SHOWN_SKIPS)
            .map(|((reason, detail), count)| {
                let detail = if detail.is_empty() { String::new() } else { format!(" {:?}", text::harmless(detail)) };
                format!("{} {reason}{detail}", text::count(*count))
            })
            .collect();
        let more = reasons.len().saturating_sub(SHOWN_SKIPS);
        let more = if more > 0 { format!(", and {more} more reasons (--json lists all)") } else { String::new() };
        context.printer.line(format!("  without turns: {}{more}", listed.join(", ")))?;
    }
    for (what, faults) in [("cannot be read", &row.unreadable), ("gave up", &row.dead)] {
        for (target, error) in faults.iter().take(SHOWN_SKIPS) {
            let (target, error) = (text::harmless(target), text::harmless(error));
            context.printer.line(format!("  {}{what}:{} {target}: {error}", text::YELLOW, text::RESET))?;
        }
        if faults.len() > SHOWN_SKIPS {
            context.printer.line(format!("  and {} more (--json lists all)", faults.len() - SHOWN_SKIPS))?;
        }
    }
    Ok(())
}
