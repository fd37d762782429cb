use clap::Args;
use yore_core::operation::{Actor, Operation};
use yore_engine::TAKES_SHARED;

use super::Context;
use super::memories::by_person;
use crate::engine_handle::MemoryClient;
use crate::error::{CliError, CliResult, Exit};
use crate::render::plain::one_line;
use crate::results::Changed;

/// Undo a change of memories, completely or not at all
///
/// `yore log` lists the operations. Undoing an undoing does the operation again.
#[derive(Args, Debug)]
pub struct Undo {
    /// Number of the operation [default: the latest of a person, an agent or an import that is not undone]
    operation: Option<u64>,
}

/// Do a change of memories again that was undone
#[derive(Args, Debug)]
pub struct Redo {
    /// Number of the operation [default: the one that was undone last, if nothing was changed since]
    operation: Option<u64>,
}

pub fn undo(arguments: &Undo, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let chosen = chosen(
        arguments.operation,
        &mut memory,
        latest,
        "there is nothing to undo but what rules and models found: `yore log` has the numbers",
    )?;
    let done = memory.undo(chosen, by_person("undo"))?;
    let what = memory.operation(chosen)?.map(|(operation, _)| format!(", {}", one_line(&operation.summary)));
    finish(context, done, &format!("undid operation {chosen}{}", what.unwrap_or_default()))?;
    if !context.printer.is_json() {
        context
            .printer
            .note(format!("`yore redo {chosen}` does it again; its words stay in the log until they are forgotten"))?;
    }
    Ok(Exit::Success)
}

pub fn redo(arguments: &Redo, context: &mut Context) -> CliResult {
    let mut memory = context.settings.memory()?;
    let chosen = match arguments.operation {
        Some(named) => named,
        None => undone_just_now(&mut memory)?,
    };
    let done = memory.redo(chosen, by_person("redo"))?;
    finish(context, done, &format!("did operation {chosen} again"))
}

/// Returns the operation that was undone last, unless a change came after the undoing: what is done again would then change what is newer.
fn undone_just_now(memory: &mut MemoryClient) -> CliResult<u64> {
    let undone = chosen(None, memory, last_undone, "nothing is undone")?;
    let undoing = memory.operation(undone)?.and_then(|(operation, _)| operation.undone_by);
    match chosen(None, memory, latest, "").ok() {
        Some(newer) if Some(newer) > undoing => Err(CliError::usage(
            format!("operation {newer} came after operation {undone} was undone"),
            Some(&format!("`yore redo {undone}` does it again all the same")),
        )),
        _ => Ok(undone),
    }
}

/// Operations that are read at once.
const PAGE: usize = 1_000;

/// Returns the named operation, or what `choose` finds in the latest operations in which it finds something.
fn chosen(named: Option<u64>, memory: &mut MemoryClient, choose: fn(&[Operation]) -> Option<u64>, none: &str) -> CliResult<u64> {
    let (mut chosen, mut before) = (named, None);
    while chosen.is_none() {
        let operations = memory.operations(before, None, PAGE)?;
        chosen = choose(&operations);
        before = operations.last().map(|operation| operation.number);
        if before.is_none() {
            break;
        }
    }
    chosen.ok_or_else(|| CliError { exit: Exit::Nothing, ..CliError::usage(none, None) })
}

/// Returns the latest operation of a person, an agent or an import that is in effect: what rules and models find, they find by
/// themselves, and an operation of theirs may have come since.
fn latest(operations: &[Operation]) -> Option<u64> {
    // Shared memories are taken by themselves, and would be taken again.
    let can_be_undone = |operation: &&Operation| {
        let is_asked = !matches!(operation.cause.actor, Actor::Rule | Actor::Model);
        let is_in_effect = operation.of.is_none() && operation.undone_by.is_none() && !operation.is_forgotten;
        is_in_effect && is_asked && operation.cause.by != TAKES_SHARED
    };
    operations.iter().find(can_be_undone).map(|operation| operation.number)
}

/// Returns the operation that was undone last, and was not done again.
fn last_undone(operations: &[Operation]) -> Option<u64> {
    let undone = operations.iter().filter(|operation| operation.of.is_none() && !operation.is_forgotten);
    undone.filter_map(|operation| Some((operation.undone_by?, operation.number))).max().map(|(_, number)| number)
}

fn finish(context: &mut Context, operation: u64, words: &str) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&Changed { operation: Some(operation), ..Changed::default() })?;
    } else {
        context.printer.line(format!("{words} (operation {operation})"))?;
    }
    Ok(Exit::Success)
}
