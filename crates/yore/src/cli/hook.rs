use clap::Args;

use super::Context;
use crate::error::{CliResult, Exit};

/// Told by an agent that a session moved on (reads the agent's JSON from standard input)
///
/// Tells the daemon, or leaves one small file for it, and returns at once: it never opens the
/// memory, prints nothing, and ends with 0 whatever it was given, so that no agent can fail
/// because of it. Unknown agents, events and fields are ignored.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The agent that calls, such as claude-code, cursor, codex, gemini
    #[arg(value_name = "AGENT")]
    _agent: Option<String>,
    /// The agent's event, such as Stop [default: the one that the JSON names]
    #[arg(value_name = "EVENT")]
    _event: Option<String>,
}

/// Never called: `crate::hook` takes the call before the settings are read. Only help comes here.
pub fn run(_arguments: &Arguments, _context: &mut Context) -> CliResult {
    Ok(Exit::Success)
}
