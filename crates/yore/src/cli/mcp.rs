use clap::Args;

use super::Context;
use crate::engine_handle::EngineHandle;
use crate::error::{CliError, CliResult, Exit};

/// Serve the memory to an agent over MCP on standard input and output
#[derive(Args, Debug)]
pub struct Arguments {}

pub fn run(_arguments: &Arguments, context: &mut Context) -> CliResult {
    let handle =
        EngineHandle::new(context.directory.clone(), context.config().clone(), context.model_folder(), context.may_be_full());
    crate::mcp::serve_stdio(handle, context.project_here()).map_err(|error| {
        CliError::usage(error, Some("this command is started by an agent, which speaks MCP on standard input"))
    })?;
    Ok(Exit::Success)
}
