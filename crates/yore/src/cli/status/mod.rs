//! The state of everything on one page, the table of sources, and what a session was given.

mod session;
mod sources;

use clap::Args;
use yore_engine::{StatisticsRequest, UpkeepState};

use super::{Context, capture, daemon, learn, upkeep};
use crate::error::{CliResult, Exit};
use crate::render::memories::memory_lines;
use crate::render::text;
use crate::results;

/// Factor of the bytes of the sources up to which a share of them is told.
const MOST_SHARE: u64 = 10;

/// Show what is stored, what is read, and whether the daemon runs
#[derive(Args, Debug)]
pub struct Arguments {
    /// Show instead the sources of histories: what was found, what was read, what could not be read
    #[arg(long)]
    sources: bool,
    /// With --sources: also those that have nothing on this computer
    #[arg(short, long, requires = "sources")]
    all: bool,
    /// Show instead what a session was given: when, by which event, how many tokens, and why nothing [default
    /// ID: the calling session, else the latest]
    #[arg(long, value_name = "ID", num_args = 0..=1, conflicts_with = "sources")]
    session: Option<Option<String>>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if let Some(session) = &arguments.session {
        return session::run(session.as_deref(), context);
    }
    if arguments.sources {
        return sources::run(arguments.all, context);
    }
    let mut memory = context.settings.memory()?;
    let statistics = memory.statistics(StatisticsRequest::default())?;
    let failing: Vec<UpkeepState> = memory.upkeep()?.into_iter().filter(UpkeepState::is_failing).collect();
    drop(memory);
    let (store, index, vectors) = (&statistics.store, &statistics.index, &statistics.vectors);
    let daemon = daemon::state(context)?;
    let capture = capture::state(None, context)?;
    let learning = learn::State::read(false, context)?;
    if context.printer.is_json() {
        let learning = learning.result(None);
        let statistics = results::Statistics::of(results::path(&context.settings.directory), &statistics);
        context.printer.json(&results::Status {
            statistics,
            learning: Some(learning),
            daemon,
            capture,
            failing_upkeep: failing.iter().map(results::FailingUpkeep::from).collect(),
        })?;
        return Ok(Exit::Success);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for agent in &store.agents {
        let mut what = vec![
            (agent.sessions, "session"),
            (agent.subagents, "side conversation"),
            (agent.documents, "document"),
            (agent.turns, "turn"),
        ];
        what.retain(|(count, _)| *count > 0);
        rows.push(vec![
            agent.agent.clone(),
            what.into_iter().map(|(count, name)| text::counted(count, name)).collect::<Vec<_>>().join(", "),
        ]);
    }
    rows.push(vec!["projects".to_owned(), text::count(store.projects)]);
    rows.push(vec![
        "turns".to_owned(),
        store.roles.iter().map(|role| format!("{} {}", text::count(role.turns), role.role)).collect::<Vec<_>>().join(", "),
    ]);
    rows.extend(memory_lines(&store.memories).into_iter().map(|line| vec!["memories".to_owned(), line]));
    if store.shared_turns > 0 {
        rows.push(vec![
            "shared".to_owned(),
            format!("{} that resumed or forked sessions repeat, stored once", text::counted(store.shared_turns, "turn")),
        ]);
    }
    if store.forgotten_episodes > 0 {
        rows.push(vec![
            "forgotten".to_owned(),
            format!("{}, can be restored", text::counted(store.forgotten_episodes, "session")),
        ]);
    }
    rows.push(vec![
        "sources".to_owned(),
        format!(
            "{} of {}{}",
            text::counted(store.files, "file"),
            text::bytes(store.source_bytes),
            if store.gone_files > 0 { format!(", {} gone", text::count(store.gone_files)) } else { String::new() }
        ),
    ]);
    let share = |bytes: u64| {
        // Sources that are gone or were cut are no measure.
        if store.source_bytes == 0 || bytes > store.source_bytes.saturating_mul(MOST_SHARE) {
            String::new()
        } else {
            format!(" ({:.1} % of the sources)", 100.0 * bytes as f64 / store.source_bytes as f64)
        }
    };
    rows.push(vec!["archive".to_owned(), format!("{}{}", text::bytes(store.archive_bytes), share(store.archive_bytes))]);
    rows.push(vec![
        "index".to_owned(),
        format!(
            "{}, {} for {}",
            text::counted(index.indexed, "turn"),
            text::counted(index.queued, "waiting turn"),
            text::bytes(index.bytes)
        ),
    ]);
    let by_model = match &vectors.model {
        Some(model) => format!(
            "{} of {}, {} without",
            text::counted(vectors.embedded_turns, "turn"),
            model.split(' ').next().unwrap_or(model),
            text::count(vectors.waiting)
        ),
        None => "none of a local model".to_owned(),
    };
    rows.push(vec![
        "vectors".to_owned(),
        format!(
            "{} of the static table; {by_model}; {}",
            text::counted(vectors.static_turns, "turn"),
            text::bytes(vectors.bytes)
        ),
    ]);
    rows.push(vec![
        "on disk".to_owned(),
        format!(
            "{}{} in {}",
            text::bytes(statistics.directory_bytes),
            share(statistics.directory_bytes),
            context.settings.directory.display()
        ),
    ]);
    if !store.redactions.is_empty() {
        rows.push(vec![
            "redacted".to_owned(),
            store
                .redactions
                .iter()
                .map(|redaction| format!("{} {}", text::count(redaction.count), redaction.kind))
                .collect::<Vec<_>>()
                .join(", "),
        ]);
    }
    for skip in &store.skips {
        let detail = if skip.detail.is_empty() { String::new() } else { format!(" {:?}", text::harmless(&skip.detail)) };
        rows.push(vec![
            "skipped".to_owned(),
            format!("{} {}{detail}, first at {}:{}", text::count(skip.count), skip.reason, text::harmless(&skip.path), skip.line),
        ]);
    }
    rows.extend(learning.rows());
    rows.extend(daemon::rows(&daemon));
    // A daemon tells of each job.
    if daemon.status.is_none() {
        rows.extend(failing.iter().map(|state| vec![state.upkeep.as_str().to_owned(), upkeep::runs_of(state)]));
    }
    rows.extend(capture::rows(&capture));
    for line in text::table(&rows).into_iter().chain(daemon::given_up(&daemon)) {
        context.printer.line(line)?;
    }
    Ok(Exit::Success)
}
