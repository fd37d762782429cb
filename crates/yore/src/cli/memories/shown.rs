//! Shows a memory with its evidence, relations and history, or an entity with its relations.

use yore_engine::{OpenedEntity, OpenedMemory};

use crate::cli::Context;
use crate::error::{CliResult, Exit};
use crate::render::memories;
use crate::render::text::{DIM, RESET};
use crate::results::{EntityRecord, MemoryRecord};

/// Prints a memory.
pub fn show(opened: &OpenedMemory, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&MemoryRecord::opened(opened))?;
        return Ok(Exit::Success);
    }
    context.printer.line(format!("{DIM}{}{RESET}", memories::heading(&opened.stored)))?;
    for line in memories::body(opened) {
        context.printer.line(line)?;
    }
    for line in memories::history(opened) {
        context.printer.line(format!("{DIM}{line}{RESET}"))?;
    }
    Ok(Exit::Success)
}

/// Prints an entity.
pub fn show_entity(opened: &OpenedEntity, context: &mut Context) -> CliResult {
    if context.printer.is_json() {
        context.printer.json(&EntityRecord::from(&opened.entity))?;
        return Ok(Exit::Success);
    }
    for line in memories::entity(opened) {
        context.printer.line(line)?;
    }
    Ok(Exit::Success)
}
