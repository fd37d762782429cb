//! Shows a memory with its evidence, relations and history.

use yore_engine::OpenedMemory;

use crate::cli::Context;
use crate::error::{CliResult, Exit};
use crate::render::memories;
use crate::render::text::{DIM, RESET};
use crate::results::MemoryRecord;

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
