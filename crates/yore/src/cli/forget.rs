use clap::Args;
use yore_core::time::UtcMillis;
use yore_engine::{EngineError, ForgetRequest, ForgetSelection};
use yore_sources::source::note::{KIND, note_episode, note_unit};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::recall_request;
use crate::render::plain::one_line;
use crate::render::text;
use crate::results;

/// Things that a selection lists.
const LISTED: usize = 20;
/// Characters of a title in that list.
const TITLE_CHARS: usize = 80;

/// Forget a session, a note, a memory, or what meets conditions
///
/// Soft: no answer uses it any more, and --restore brings it back; a memory is archived. Hard: its words are removed
/// from the archive, the index and the backups, including copies in resumed or forked sessions, and cannot come back
/// from the source. Memories that rest on it alone go with it; those that rest on more lose their quotes of it.
///
/// Instead of an id, conditions choose sessions, documents, notes and memories that meet all of them. Without --yes they
/// are only listed and counted. A session belongs to a time if any of it was said then; it goes as a whole.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of the session, with its side conversations, of the note, or of the memory
    #[arg(value_name = "ID", required_unless_present_any = ["session", "query", "project", "agent", "since", "until"])]
    id: Option<String>,
    /// Same as ID
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    session: Option<String>,
    /// Everything with this text in its title or words, or in what a tool got or gave, ignoring case
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["id", "session"])]
    query: Option<String>,
    /// Everything of this project: name, id or directory
    #[arg(short, long, value_name = "PROJECT", value_parser = crate::cli::project, conflicts_with_all = ["id", "session"])]
    project: Vec<String>,
    /// Everything of this agent, such as claude-code, or of another source, such as note
    #[arg(long, alias = "source", value_name = "AGENT", conflicts_with_all = ["id", "session"])]
    agent: Vec<String>,
    /// Everything from this time on
    #[arg(long, value_name = "TIME", value_parser = recall_request::time, conflicts_with_all = ["id", "session"])]
    since: Option<UtcMillis>,
    /// Everything before this time
    #[arg(long, value_name = "TIME", value_parser = recall_request::time, conflicts_with_all = ["id", "session"])]
    until: Option<UtcMillis>,
    /// Forget what the conditions choose; an id needs no agreement
    #[arg(short, long)]
    yes: bool,
    /// Forget for good
    #[arg(long)]
    hard: bool,
    /// Undo a soft forgetting
    #[arg(long, conflicts_with = "hard")]
    restore: bool,
    /// Only show what would go
    #[arg(long)]
    dry_run: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if arguments.id.is_none() && arguments.session.is_none() {
        return selected(arguments, context);
    }
    let id = arguments.id.as_ref().or(arguments.session.as_ref()).cloned().unwrap_or_default();
    let mut memory = context.settings.memory()?;
    let outcome = memory.forget(ForgetRequest {
        session: id.clone(),
        is_hard: arguments.hard,
        is_dry_run: arguments.dry_run,
        restore: arguments.restore,
        keep_tombstones: context.settings.config().forget.keep_tombstones,
    });
    let outcome = outcome.map_err(|error| match error.code.as_str() {
        // An id may be that of a note or a memory as well.
        "unknown-session" if arguments.session.is_none() => EngineError::UnknownId(id.clone()).into(),
        _ => error,
    })?;
    if context.printer.is_json() {
        context.printer.json(&results::Forgotten::of(&outcome, arguments.dry_run, arguments.restore))?;
        return Ok(Exit::Success);
    }
    let verb = verb(arguments, arguments.dry_run);
    // A note belongs to no agent and has no other copy.
    let mut is_note = |native: &String| memory.knows_unit(KIND.to_owned(), note_unit(native)).unwrap_or(false);
    let is_memory = outcome.episodes.is_empty() && outcome.memories > 0;
    let is_agents = !is_memory && (outcome.episodes.is_empty() || !outcome.episodes.iter().all(&mut is_note));
    if is_agents {
        context.printer.line(format!(
            "{verb} {} with {}",
            text::counted(outcome.episodes.len() as u64, "session"),
            text::counted(outcome.turns, "turn")
        ))?;
        for episode in &outcome.episodes {
            context.printer.line(format!("  {}", text::harmless(episode)))?;
        }
    }
    for note in outcome.episodes.iter().filter(|_| !is_agents) {
        context.printer.line(format!("{verb} note {}", note_episode(note).short()))?;
    }
    if is_memory {
        context.printer.line(format!("{verb} memory {}", text::harmless(&id)))?;
    } else if outcome.memories + outcome.memories_kept > 0 {
        context.printer.line(format!(
            "  with {} on it alone{}",
            resting(outcome.memories),
            match outcome.memories_kept {
                0 => String::new(),
                kept if outcome.is_hard => format!("; the quotes of {} on more", resting(kept)),
                kept => format!("; {} on more and stay", resting(kept)),
            }
        ))?;
    }
    if outcome.archive_lines > 0 {
        context.printer.line(format!("{} removed from the archive", text::counted(outcome.archive_lines, "line")))?;
    }
    for backup in &outcome.backups {
        context.printer.line(format!(
            "{} backup {}",
            if arguments.dry_run { "would delete" } else { "deleted" },
            backup.display()
        ))?;
    }
    if arguments.hard && !arguments.dry_run && is_agents {
        context.printer.line("the agent's own transcript is not yore's and was not touched")?;
    } else if arguments.hard && !arguments.dry_run {
        context.printer.note("exports and copies by `data backup --to` are not touched")?;
    } else if !arguments.hard && !arguments.restore && !arguments.dry_run {
        context.printer.line(format!("`yore forget {id} --restore` brings it back"))?;
    }
    Ok(Exit::Success)
}

/// Forgets what conditions choose, or lists it.
fn selected(arguments: &Arguments, context: &mut Context) -> CliResult {
    let is_dry_run = arguments.dry_run || !arguments.yes;
    let outcome = context.settings.memory()?.forget_selected(ForgetSelection {
        projects: arguments.project.clone(),
        agents: arguments.agent.clone(),
        since: arguments.since,
        until: arguments.until,
        text: arguments.query.clone(),
        is_hard: arguments.hard,
        is_dry_run,
        restore: arguments.restore,
        keep_tombstones: context.settings.config().forget.keep_tombstones,
    })?;
    let is_empty = outcome.selected.is_empty() && outcome.memories == 0;
    if context.printer.is_json() {
        context.printer.json(&results::Forgotten::of(&outcome, is_dry_run, arguments.restore))?;
        return Ok(if is_empty { Exit::Nothing } else { Exit::Success });
    }
    if is_empty {
        let place = if arguments.hard || arguments.restore { "" } else { "; --hard also looks at what was replaced or put away" };
        context.printer.note(format!("nothing meets these conditions{place}"))?;
        return Ok(Exit::Nothing);
    }
    let mut counts = results::Forgotten::of(&outcome, arguments.dry_run, false).selected;
    counts.remove("memory");
    let mut what: Vec<String> = counts.iter().map(|(kind, count)| text::counted(*count, kind)).collect();
    what.extend((outcome.turns > 0).then(|| text::counted(outcome.turns, "turn")));
    what.extend((outcome.memories > 0).then(|| text::counted(outcome.memories, "memory")));
    context.printer.line(format!("{} {}", verb(arguments, is_dry_run), what.join(", ")))?;
    if outcome.memories_kept > 0 {
        let kept = resting(outcome.memories_kept);
        let lost = if outcome.is_hard { "lose their quotes of it" } else { "stay" };
        context.printer.line(format!("  {kept} on more as well {lost}"))?;
    }
    if is_dry_run && arguments.project.is_empty() && arguments.query.is_some() {
        context.printer.line("  in all projects; -p . looks only at this one")?;
    }
    let rows: Vec<Vec<String>> = outcome
        .selected
        .iter()
        .take(LISTED)
        .map(|item| {
            let title = item.title.as_deref().map(one_line).unwrap_or_default();
            vec![
                item.kind.clone(),
                item.id.clone(),
                item.at.map(|at| text::day(Some(at))).unwrap_or_default(),
                title.chars().take(TITLE_CHARS).collect(),
            ]
        })
        .collect();
    for line in text::table(&rows) {
        context.printer.line(format!("  {line}"))?;
    }
    if outcome.selected.len() > LISTED {
        context.printer.line(format!("  and {} more", text::count((outcome.selected.len() - LISTED) as u64)))?;
    }
    for backup in &outcome.backups {
        let verb = if is_dry_run { "would delete" } else { "deleted" };
        context.printer.line(format!("{verb} backup {}", backup.display()))?;
    }
    if is_dry_run && !arguments.dry_run {
        context.printer.note("nothing was changed; the same with --yes does it")?;
    } else if !is_dry_run && !arguments.hard && !arguments.restore {
        context.printer.line("the same with --restore --yes brings it back")?;
    }
    Ok(Exit::Success)
}

fn verb(arguments: &Arguments, is_dry_run: bool) -> &'static str {
    match (is_dry_run, arguments.restore, arguments.hard) {
        (true, true, _) => "would restore",
        (true, _, true) => "would forget for good",
        (true, ..) => "would forget",
        (_, true, _) => "restored",
        (_, _, true) => "forgot for good",
        _ => "forgot",
    }
}

/// Returns how many memories rest on something.
fn resting(count: u64) -> String {
    let memories = text::counted(count, "memory");
    if count == 1 { format!("{memories} that rests") } else { format!("{memories} that rest") }
}
