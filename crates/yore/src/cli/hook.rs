use clap::Args;

use super::Context;
use crate::error::{CliResult, Exit};

/// Take an event of an agent's session from standard input
///
/// Reports the event to the daemon, or leaves one small file for it. For an event that memories may concern,
/// it prints them as the agent expects, within a deadline. It ends with 0 whatever its input is, so that no
/// agent can fail because of it. Unknown agents, events and fields are ignored.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The agent that calls, such as claude-code, cursor, codex, gemini
    #[arg(value_name = "AGENT")]
    _agent: Option<String>,
    /// The agent's event, such as Stop [default: the event in the JSON]
    #[arg(value_name = "EVENT")]
    _event: Option<String>,
}

/// Never called: `crate::hook` handles the call before the settings are read. This is only for the help.
pub fn run(_arguments: &Arguments, _context: &mut Context) -> CliResult {
    Ok(Exit::Success)
}
