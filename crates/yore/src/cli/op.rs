use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use serde_json::Value;
use yore_core::operation::Operation;
use yore_core::time::UtcMillis;
use yore_engine::Engine;

use super::Context;
use super::memories::by_person;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::one_line;
use crate::render::text::{self, DIM, RESET};
use crate::results::{Changed, OperationRecord};

/// Characters of a memory that a row of the log shows.
const SHOWN_CHARS: usize = 60;

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
                let rows = operations.iter().map(|operation| named_row(&engine, operation)).collect::<CliResult<Vec<_>>>()?;
                for line in text::table(&rows) {
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
            context.printer.line(row(&operation, text::exact_time).join("  "))?;
            for change in &record.changes {
                context.printer.line(format!("{} {}", change.kind, change.id))?;
                // A record is a member named by its kind.
                let members = |value: &Option<Value>| {
                    value.as_ref().and_then(|record| record[&change.kind].as_object()).cloned().unwrap_or_default()
                };
                let (before, after) = (members(&change.before), members(&change.after));
                let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
                for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
                    for (mark, value) in [("-", before.get(name)), ("+", after.get(name))] {
                        if let Some(value) = value.filter(|value| !is_empty(value)) {
                            let words = one_line(&value_for_people(name, value));
                            context.printer.line(format!("{DIM}{mark}{RESET} {}: {words}", name.replace('_', " ")))?;
                        }
                    }
                }
            }
            Ok(Exit::Success)
        }
        Action::Undo { number } => {
            let chosen = match number {
                Some(number) => *number,
                None => newest(&engine, latest)?
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
                None => newest(&engine, last_undone)?
                    .ok_or_else(|| CliError { exit: Exit::Nothing, ..CliError::usage("nothing is undone", None) })?,
            };
            let done = engine.redo(chosen, &by_person("op redo"))?;
            finish(context, done, &format!("did operation {chosen} again"))
        }
    }
}

/// Members of a record that are times.
const TIMES: [&str; 6] = ["changed", "recorded", "status_since", "valid_from", "valid_until", "activated"];

/// Returns whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Formats a member of a record: a text without quotation marks, a time as a person reads it.
fn value_for_people(name: &str, value: &Value) -> String {
    match (value, value.as_i64()) {
        (_, Some(at)) if TIMES.contains(&name) => text::exact_time(Some(at)),
        (Value::String(words), _) => words.clone(),
        _ => value.to_string(),
    }
}

/// Operations that are read at once.
const PAGE: usize = 1_000;

/// Returns what `choose` finds in the latest operations in which it finds something.
fn newest(engine: &Engine, choose: fn(&[Operation]) -> Option<u64>) -> CliResult<Option<u64>> {
    let mut before = None;
    loop {
        let operations = engine.operations(before, None, PAGE)?;
        let chosen = choose(&operations);
        before = operations.last().map(|operation| operation.number);
        if chosen.is_some() || before.is_none() {
            return Ok(chosen);
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

/// Returns the row of an operation, with the first memory that it changed, if that is still there.
fn named_row(engine: &Engine, operation: &Operation) -> CliResult<Vec<String>> {
    let mut cells = row(operation, text::time);
    let Some((operation, changes)) = engine.operation(operation.number)? else { return Ok(cells) };
    let record = OperationRecord::of(&operation, &changes);
    let first = record.changes.iter().find(|change| change.kind == "memory").and_then(|change| engine.memory(&change.id).ok());
    cells.extend(first.filter(|stored| !stored.memory.is_forgotten()).map(|stored| {
        let said = yore_core::text::preview(&stored.memory.statement, SHOWN_CHARS);
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

fn finish(context: &mut Context, operation: u64, words: &str) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Changed { operation: Some(operation), ..Changed::default() })?;
    } else {
        context.printer.line(format!("{words} (operation {operation})"))?;
    }
    Ok(Exit::Success)
}
