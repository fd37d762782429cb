//! The table of MCP tools, one file for each.
//!
//! - [`Row`], [`CORE`]: yore's own tools, which every agent gets; [`MORE`]: those that settings name
//! - [`Call`]: the input of a tool
//! - `recall`, `ask`, `show`, `sessions`, `notes`, `brief`, `remember`, `distil`, `forget`, `status`, `handoff`
//!
//! Errors are part of the result, where the agent reads them and can call again.

pub mod ask;
pub mod brief;
mod distil;
mod forget;
mod handoff;
pub mod notes;
pub mod recall;
pub mod remember;
pub mod sessions;
pub mod show;
pub mod status;

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;

use super::access::Access;
use super::answer::Answer;
use super::arguments::schema;
use super::progress::Progress;
use crate::error::CliResult;

/// Kinds of memories that agents name.
const MEMORY_KINDS: [&str; 9] =
    ["decision", "solution", "pattern", "standard", "preference", "question", "problem", "todo", "fact"];

/// A tool: its description for agents, and its function.
pub struct Row {
    /// Name of the tool.
    pub name: &'static str,
    /// Returns the description for agents.
    pub tool: fn(&'static str) -> Result<Tool, String>,
    /// Runs the tool.
    pub call: fn(Call) -> Pending,
}

/// The input of a tool.
pub struct Call {
    /// The memory, the current project and the session.
    pub access: Arc<Access>,
    /// The arguments from the agent.
    pub arguments: JsonObject,
    /// Receives the progress of the call.
    pub progress: Progress,
}

/// An answer to come.
pub type Pending = Pin<Box<dyn Future<Output = CliResult<Answer>> + Send>>;

/// yore's own tools, the most used first.
pub const CORE: [Row; 8] = [
    Row { name: "recall", tool: recall::tool, call: |call| Box::pin(recall::call(call)) },
    Row { name: "show", tool: show::tool, call: |call| Box::pin(show::call(call)) },
    Row { name: "brief", tool: brief::tool, call: |call| Box::pin(brief::call(call)) },
    Row { name: "sessions", tool: sessions::tool, call: |call| Box::pin(sessions::call(call)) },
    Row { name: "notes", tool: notes::tool, call: |call| Box::pin(notes::call(call)) },
    Row { name: "remember", tool: remember::tool, call: |call| Box::pin(remember::call(call)) },
    Row { name: "forget", tool: forget::tool, call: |call| Box::pin(forget::call(call)) },
    Row { name: "status", tool: status::tool, call: |call| Box::pin(status::call(call)) },
];

/// Further tools, which are served where the settings name them: every session pays for a tool's description.
pub const MORE: [Row; 3] = [
    Row { name: "ask", tool: ask::tool, call: |call| Box::pin(ask::call(call)) },
    Row { name: "distil", tool: distil::tool, call: |call| Box::pin(distil::call(call)) },
    Row { name: "handoff", tool: handoff::tool, call: |call| Box::pin(handoff::call(call)) },
];

/// The effect of a tool on the memory.
#[derive(Clone, Copy)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It adds something; a repeated call adds nothing.
    Adds,
    /// It adds something, and may replace something else.
    Replaces,
    /// It removes something.
    Removes,
}

/// Returns the description of a tool with these arguments.
pub fn described<A: JsonSchema + 'static>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effect: Effect,
) -> Result<Tool, String> {
    let annotations = ToolAnnotations::with_title(title)
        .read_only(matches!(effect, Effect::Reads))
        .destructive(matches!(effect, Effect::Replaces | Effect::Removes))
        .idempotent(true)
        .open_world(false);
    Ok(Tool::new(name, description, schema::<A>()?).with_annotations(annotations))
}
