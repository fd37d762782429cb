use clap::Args;
use yore_core::time::UtcMillis;

use super::Context;
use crate::engine_handle::now;
use crate::error::{CliResult, Exit};
use crate::render::plain::one_line;
use crate::render::text;
use crate::results::{CleanedMemory, CleanedUp};

const DAY_MS: UtcMillis = 24 * 3_600 * 1_000;

/// Forget memories that were put away long ago
///
/// Without --yes they are only listed and counted. What is forgotten is in no answer any more; `yore undo` brings it back.
/// `yore forget ID --hard` removes one for good.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Only those that were put away before so many days, such as 30d
    #[arg(long, value_name = "DAYS", default_value = "30d", value_parser = days)]
    older_than: u32,
    /// Forget them
    #[arg(short, long)]
    yes: bool,
}

fn days(text: &str) -> Result<u32, &'static str> {
    text.trim().trim_end_matches('d').parse().map_err(|_| "expected a number of days, such as 30d")
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let until = now() - UtcMillis::from(arguments.older_than) * DAY_MS;
    let done = context.settings.memory()?.clean_up(until, !arguments.yes)?;
    if context.printer.is_json() {
        context.printer.json(&CleanedUp {
            dry_run: !arguments.yes,
            memories: done.memories,
            listed: done.listed.iter().map(CleanedMemory::from).collect(),
            has_more: done.has_more,
            operation: done.operation,
        })?;
        return Ok(if done.memories > 0 { Exit::Success } else { Exit::Nothing });
    }
    let what = format!("{} put away more than {} days ago", text::counted(done.memories, "memory"), arguments.older_than);
    if done.memories == 0 {
        context.printer.line(what)?;
        return Ok(Exit::Nothing);
    }
    if let Some(operation) = done.operation {
        context.printer.line(format!("forgot {what} (operation {operation}); `yore undo {operation}` brings them back"))?;
    } else {
        let rows: Vec<Vec<String>> = done
            .listed
            .iter()
            .map(|memory| vec![memory.id.short(), text::day(Some(memory.changed)), one_line(&memory.statement)])
            .collect();
        context.printer.table_of_ids(&rows)?;
        let rest = done.memories - done.listed.len() as u64;
        if rest > 0 {
            context.printer.line(format!("and {} more", text::count(rest)))?;
        }
        context.printer.line(format!("{what}; nothing was forgotten: --yes does it"))?;
    }
    if done.has_more {
        context.printer.note("there are more: run it again")?;
    }
    Ok(Exit::Success)
}
