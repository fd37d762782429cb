use clap::Args;
use yore_core::operation::{Operation, Subject};
use yore_core::time::UtcMillis;

use super::Context;
use super::page::{PageArguments, more};
use crate::cursor::{self, Cursor};
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::render::changes;
use crate::render::plain::one_line;
use crate::render::text::{self, BOLD, DIM, RESET};
use crate::results::OperationRecord;

/// Characters of a memory that a row of the log shows.
const SHOWN_CHARS: usize = 60;

/// List the changes of memories, or show what one of them changed
#[derive(Args, Debug)]
pub struct Arguments {
    /// Number of an operation, to show what it changed; or id of a memory, to list the operations that changed it
    #[arg(value_name = "OPERATION|ID")]
    which: Option<String>,
    /// Only operations before this number
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,
    /// At most N
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
    limit: usize,
    #[command(flatten)]
    page: PageArguments,
}

/// Cursor letter of this list.
const LIST: char = 'l';

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let Arguments { which, before, limit, page } = arguments;
    let mut memory = context.settings.memory()?;
    // Numbers are shorter than ids are shown.
    if let Some(number) = which.as_ref().filter(|which| which.len() < 10).and_then(|which| which.parse().ok()) {
        return show(&mut memory, number, context);
    }
    let subject = which.clone().map(|id| memory.memory(id)).transpose()?;
    let subject = subject.map(|stored| Subject::Memory(stored.memory.id));
    let after = page.place(LIST)?.and_then(|cursor| cursor.id.parse().ok());
    let before = after.into_iter().chain(*before).min();
    // One more than fits shows whether there is a next page.
    let mut operations = memory.operations(before, subject, limit.saturating_add(1))?;
    let next = cursor::page(&mut operations, *limit, |operation| Cursor::of(LIST, None, operation.number));
    if context.printer.is_json() {
        page.json(operations.iter().map(|operation| OperationRecord::of(operation, &[])).collect(), next.as_ref(), context)?;
    } else {
        let rows = operations.iter().map(|operation| named_row(&mut memory, operation)).collect::<CliResult<Vec<_>>>()?;
        context.printer.table(&rows)?;
        more(next.as_ref(), context)?;
    }
    Ok(if operations.is_empty() { Exit::Nothing } else { Exit::Success })
}

/// Prints an operation with what it changed.
fn show(memory: &mut MemoryClient, number: u64, context: &mut Context) -> CliResult {
    let Some((operation, changes)) = memory.operation(number)? else {
        let unknown = CliError::usage(format!("there is no operation {number}"), Some("`yore log` lists them"));
        return Err(CliError { exit: Exit::Nothing, ..unknown });
    };
    let record = OperationRecord::of(&operation, &changes);
    if context.printer.is_json() {
        context.printer.json(&record)?;
        return Ok(Exit::Success);
    }
    context.printer.line(row(&operation, text::exact_time).join("  "))?;
    for change in &record.changes {
        let fate = Some(changes::fate(change)).filter(|fate| !fate.is_empty()).map(|fate| format!(" ({fate})"));
        context.printer.line(format!("{BOLD}{}{RESET} {}{}", change.kind, changes::named(change), fate.unwrap_or_default()))?;
        for member in changes::members(change) {
            for (mark, value) in [("-", &member.before), ("+", &member.after)] {
                if let Some(value) = value {
                    context.printer.line(format!("{DIM}{mark}{RESET} {}: {}", member.name, one_line(value)))?;
                }
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns the row of an operation, with the first memory that it changed, if that is still there.
fn named_row(memory: &mut MemoryClient, operation: &Operation) -> CliResult<Vec<String>> {
    let mut cells = row(operation, text::time);
    let Some((operation, changes)) = memory.operation(operation.number)? else { return Ok(cells) };
    let record = OperationRecord::of(&operation, &changes);
    let first =
        record.changes.iter().find(|change| change.kind == "memory").and_then(|change| memory.memory(change.id.clone()).ok());
    cells.extend(first.filter(|stored| !stored.memory.is_forgotten()).map(|stored| {
        let said = yore_core::text::cut(&stored.memory.statement, SHOWN_CHARS);
        format!("{} {}", stored.memory.id.short(), one_line(&said))
    }));
    Ok(cells)
}

fn row(operation: &Operation, time: fn(Option<UtcMillis>) -> String) -> Vec<String> {
    let undone = match (operation.is_forgotten, operation.undone_by) {
        (true, _) => " (forgotten)".to_owned(),
        (_, Some(by)) => format!(" (undone by {by})"),
        _ => String::new(),
    };
    vec![
        operation.number.to_string(),
        time(Some(operation.at)),
        operation.cause.actor.as_str().to_owned(),
        format!("{}{undone}", text::harmless(&operation.summary)),
    ]
}
