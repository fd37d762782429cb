use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Map, Value};
use yore_core::operation::{Operation, Subject};
use yore_core::time::UtcMillis;

use super::Context;
use super::page::{PageArguments, more};
use crate::cursor::{self, Cursor};
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
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
        let what = match (&change.before, &change.after) {
            (None, Some(_)) => " (new)",
            (None, None) => " (new, and changed again since)",
            (Some(_), None) => " (removed, or changed again since)",
            (Some(_), Some(_)) => "",
        };
        // A record is a member named by its kind.
        let members = |value: &Option<Value>| {
            value.as_ref().and_then(|record| record[&change.kind].as_object()).cloned().unwrap_or_default()
        };
        let (before, after) = (members(&change.before), members(&change.after));
        let is_relation = change.kind == "relation";
        let whole = if after.is_empty() { &before } else { &after };
        let named = if is_relation && !whole.is_empty() { related(whole) } else { change.id.clone() };
        context.printer.line(format!("{BOLD}{}{RESET} {named}{what}", change.kind))?;
        let is_whole = before.is_empty() || after.is_empty();
        let is_told = |name: &&String| if is_whole { !is_relation && TOLD.contains(&name.as_str()) } else { *name != "changed" };
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).filter(is_told).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
            for (mark, value) in [("-", before.get(name)), ("+", after.get(name))] {
                if let Some(value) = value.filter(|value| !is_empty(value)) {
                    let words = one_line(&in_words(name, value));
                    context.printer.line(format!("{DIM}{mark}{RESET} {}: {words}", name.replace('_', " ")))?;
                }
            }
        }
    }
    Ok(Exit::Success)
}

/// Members that are shown of a record that is new or removed. Of a changed one, all that changed are shown.
const TOLD: [&str; 12] = [
    "aliases",
    "description",
    "details",
    "evidence",
    "kind",
    "name",
    "statement",
    "status",
    "tags",
    "title",
    "valid_from",
    "valid_until",
];

/// Describes a relation: what it leads from, its type, what it leads to, and why.
fn related(members: &Map<String, Value>) -> String {
    let words = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let node = |name: &str| match words(name).split_once(' ') {
        Some((kind, id)) if id.len() == 32 && id.is_ascii() => format!("{kind} {}", &id[22..]),
        _ => words(name).to_owned(),
    };
    let reason = Some(words("reason")).filter(|reason| !reason.is_empty()).map(|reason| format!(" ({reason})"));
    one_line(&format!("{} {} {}{}", node("from"), words("type").replace('_', " "), node("to"), reason.unwrap_or_default()))
}

/// Members of a record that are times.
const TIMES: [&str; 4] = ["status_since", "valid_from", "valid_until", "activated"];

/// Returns whether a value has no content.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(is_so) => !is_so,
        Value::Number(_) => false,
    }
}

/// Formats a member of a record: a text without quotation marks, a time as a person reads it, records as names and values.
fn in_words(name: &str, value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(values) => values.iter().map(|value| in_words(name, value)).collect::<Vec<_>>().join("; "),
        Value::Object(members) => {
            let full = members.iter().filter(|(_, value)| !is_empty(value));
            full.map(|(name, value)| format!("{} {}", name.replace('_', " "), in_words(name, value)))
                .collect::<Vec<_>>()
                .join(", ")
        }
        _ if TIMES.contains(&name) => text::exact_time(value.as_i64()),
        _ => value.to_string(),
    }
}

/// Returns the row of an operation, with the first memory that it changed, if that is still there.
fn named_row(memory: &mut MemoryClient, operation: &Operation) -> CliResult<Vec<String>> {
    let mut cells = row(operation, text::time);
    let Some((operation, changes)) = memory.operation(operation.number)? else { return Ok(cells) };
    let record = OperationRecord::of(&operation, &changes);
    let first =
        record.changes.iter().find(|change| change.kind == "memory").and_then(|change| memory.memory(change.id.clone()).ok());
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
