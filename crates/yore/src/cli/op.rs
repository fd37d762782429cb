use clap::{Args, Subcommand};
use yore_core::operation::Operation;

use super::Context;
use super::memories::by_person;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::one_line;
use crate::render::text::{self, DIM, RESET};
use crate::results::{Changed, OperationRecord};

/// List the changes of memories, show one, undo one or do it again
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List operations, the latest first
    Log {
        /// Only operations that changed this memory
        #[arg(value_name = "ID")]
        memory: Option<String>,
        /// Only operations before this number
        #[arg(long, value_name = "NUMBER")]
        before: Option<u64>,
        /// At most N
        #[arg(short = 'n', long, value_name = "N", default_value_t = 30)]
        limit: usize,
    },
    /// Show an operation with what it changed
    Show {
        /// Number of the operation
        number: u64,
    },
    /// Undo an operation, completely or not at all; undoing an undoing does the operation again
    Undo {
        /// Number of the operation [default: the latest that is not undone]
        number: Option<u64>,
    },
    /// Do an operation again that was undone
    Redo {
        /// Number of the operation [default: the one that was undone last]
        number: Option<u64>,
    },
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    let engine = context.settings.engine(false)?;
    match &arguments.action {
        Action::Log { memory, before, limit } => {
            let subject = memory.as_deref().map(|id| engine.memory(id)).transpose()?;
            let subject = subject.map(|stored| yore_core::operation::Subject::Memory(stored.memory.id));
            let operations = engine.operations(*before, subject, *limit)?;
            if context.printer.is_json() {
                let records = operations.iter().map(|operation| OperationRecord::of(operation, &[])).collect::<Vec<_>>();
                context.printer.json(&records)?;
            } else {
                for line in text::table(&operations.iter().map(row).collect::<Vec<_>>()) {
                    context.printer.line(line)?;
                }
            }
            Ok(if operations.is_empty() { Exit::Nothing } else { Exit::Success })
        }
        Action::Show { number } => {
            let Some((operation, changes)) = engine.operation(*number)? else { return Err(unknown(*number)) };
            let record = OperationRecord::of(&operation, &changes);
            if context.printer.is_json() {
                context.printer.json(&record)?;
                return Ok(Exit::Success);
            }
            context.printer.line(row(&operation).join("  "))?;
            for change in &record.changes {
                context.printer.line(format!("{} {}", change.kind, change.id))?;
                for (mark, value) in [("-", &change.before), ("+", &change.after)] {
                    if let Some(value) = value {
                        let json = serde_json::to_string_pretty(value).unwrap_or_default();
                        for line in text::harmless(&json).lines() {
                            context.printer.line(format!("{DIM}{mark}{RESET} {line}"))?;
                        }
                    }
                }
            }
            Ok(Exit::Success)
        }
        Action::Undo { number } => {
            let chosen = match number {
                Some(number) => *number,
                None => latest(&engine.operations(None, None, 1_000)?)
                    .ok_or_else(|| CliError { exit: Exit::Nothing, ..CliError::usage("there is nothing to undo", None) })?,
            };
            let done = engine.undo(chosen, &by_person("op undo"))?;
            let what = engine.operation(chosen)?.map(|(operation, _)| format!(", {}", one_line(&operation.summary)));
            finish(context, done, &format!("undid operation {chosen}{}", what.unwrap_or_default()))?;
            if !context.printer.is_json() {
                context
                    .printer
                    .note(format!("`yore op redo {chosen}` does it again; its words stay in the log until they are forgotten"))?;
            }
            Ok(Exit::Success)
        }
        Action::Redo { number } => {
            let chosen = match number {
                Some(number) => *number,
                None => last_undone(&engine.operations(None, None, 1_000)?)
                    .ok_or_else(|| CliError { exit: Exit::Nothing, ..CliError::usage("nothing is undone", None) })?,
            };
            let done = engine.redo(chosen, &by_person("op redo"))?;
            finish(context, done, &format!("did operation {chosen} again"))
        }
    }
}

/// Returns the latest operation that is in effect.
fn latest(operations: &[Operation]) -> Option<u64> {
    let can_be_undone =
        |operation: &&Operation| operation.of.is_none() && operation.undone_by.is_none() && !operation.is_forgotten;
    operations.iter().find(can_be_undone).map(|operation| operation.number)
}

/// Returns the operation that was undone last, and was not done again.
fn last_undone(operations: &[Operation]) -> Option<u64> {
    let undone = operations.iter().filter(|operation| operation.of.is_none() && !operation.is_forgotten);
    undone.filter_map(|operation| Some((operation.undone_by?, operation.number))).max().map(|(_, number)| number)
}

fn unknown(number: u64) -> CliError {
    CliError {
        exit: Exit::Nothing,
        ..CliError::usage(format!("there is no operation {number}"), Some("`yore op log` lists them"))
    }
}

fn row(operation: &Operation) -> Vec<String> {
    let undone = match (operation.is_forgotten, operation.undone_by) {
        (true, _) => " (forgotten)".to_owned(),
        (_, Some(by)) => format!(" (undone by {by})"),
        _ => String::new(),
    };
    vec![
        operation.number.to_string(),
        text::time(Some(operation.at)),
        operation.cause.actor.as_str().to_owned(),
        format!("{}{undone}", text::harmless(&operation.summary)),
    ]
}

fn finish(context: &mut Context, operation: u64, words: &str) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Changed { operation: Some(operation), ..Changed::default() })?;
    } else {
        context.printer.line(format!("{words} (operation {operation})"))?;
    }
    Ok(Exit::Success)
}
