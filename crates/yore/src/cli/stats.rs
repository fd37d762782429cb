use clap::Args;

use super::Context;
use crate::error::{CliResult, Exit};
use crate::statistics::Facts;

/// Weeks of growth in the text.
const WEEKS: u32 = 12;
/// Weeks of growth in the data.
const ALL_WEEKS: u32 = 53;
/// Memories in each list in the text, and in the data.
const LISTED: usize = 5;
/// See [`LISTED`].
const ALL_LISTED: usize = 50;

/// Show how the memory grows and is used
///
/// Tells kinds, statuses, tiers, growth by week, the most used, tokens given and spent, upkeep, and times of recall.
///
/// A memory counts as used when it was opened, when an agent's answer repeated it, or when you confirmed it. Growth counts memories in
/// the week in which they were recorded. `--json` has 53 weeks, and tokens and times by day.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Count one project: its name, id or directory, such as `.` [default: everything]
    #[arg(short, long, value_name = "NAME", value_parser = super::project)]
    project: Option<String>,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let (weeks, listed) = if context.printer.is_json() { (ALL_WEEKS, ALL_LISTED) } else { (WEEKS, LISTED) };
    let facts = Facts::with_life(&mut memory, arguments.project.clone(), weeks, listed)?;
    if context.printer.is_json() {
        context.printer.json(&facts.data())?;
        return Ok(Exit::Success);
    }
    for line in facts.life_lines() {
        context.printer.line(line)?;
    }
    Ok(Exit::Success)
}
