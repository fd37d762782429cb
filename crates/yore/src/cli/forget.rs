use clap::Args;
use yore_engine::ForgetRequest;
use yore_engine::ingest::source::note::{KIND, note_episode, note_unit};

use super::Context;
use crate::error::{CliResult, Exit};
use crate::render::text;
use crate::results;

/// Forget a session, a note or a memory
///
/// Soft: no answer uses it any more, and --restore brings it back; a memory is archived. Hard: its words are removed
/// from the archive, the index and the backups, including copies in resumed or forked sessions, and cannot come back
/// from the source. Memories that rest on it alone go with it; those that rest on more lose their quotes of it.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Id of the session, with its side conversations, of the note, or of the memory
    #[arg(value_name = "ID", required_unless_present = "session")]
    id: Option<String>,
    /// Same as ID
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    session: Option<String>,
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
    let engine = context.settings.engine(false)?;
    let id = arguments.id.as_ref().or(arguments.session.as_ref()).cloned().unwrap_or_default();
    let outcome = engine.forget(&ForgetRequest {
        session: id.clone(),
        is_hard: arguments.hard,
        is_dry_run: arguments.dry_run,
        restore: arguments.restore,
        keep_tombstones: context.settings.config().forget.keep_tombstones,
    })?;
    if context.printer.is_json() {
        context.printer.json(&results::Forgotten {
            dry_run: Some(arguments.dry_run),
            hard: outcome.is_hard,
            restored: arguments.restore,
            episodes: outcome.episodes.clone(),
            turns: outcome.turns,
            memories: outcome.memories,
            memories_kept: outcome.memories_kept,
            archive_lines: outcome.archive_lines,
            backups: Some(outcome.backups.iter().map(|path| results::path(path)).collect()),
        })?;
        return Ok(Exit::Success);
    }
    let verb = match (arguments.dry_run, arguments.restore, arguments.hard) {
        (true, true, _) => "would restore",
        (true, _, true) => "would forget for good",
        (true, ..) => "would forget",
        (_, true, _) => "restored",
        (_, _, true) => "forgot for good",
        _ => "forgot",
    };
    // A note belongs to no agent and has no other copy.
    let is_note = |native: &String| engine.known_unit(KIND, &note_unit(native)).is_ok_and(|known| known.is_some());
    let is_memory = outcome.episodes.is_empty() && outcome.memories > 0;
    let is_agents = !is_memory && (outcome.episodes.is_empty() || !outcome.episodes.iter().all(is_note));
    if is_agents {
        context.printer.line(format!(
            "{verb} {} with {}",
            text::counted(outcome.episodes.len() as u64, "episode"),
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
    } else if !arguments.hard && !arguments.restore && !arguments.dry_run {
        context.printer.line(format!("`yore forget {id} --restore` brings it back"))?;
    }
    Ok(Exit::Success)
}

/// Returns how many memories rest on something.
fn resting(count: u64) -> String {
    let memories = text::counted(count, "memory");
    if count == 1 { format!("{memories} that rests") } else { format!("{memories} that rest") }
}
