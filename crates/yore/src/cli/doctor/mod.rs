//! `yore doctor`: checks everything, and runs what agents run, in the same way.
//!
//! - `memory`: store, archive, indexes, permissions
//! - `models`: the configured language models
//! - `team`: what is shared with teams
//! - `proxy`: whether the proxy is open and reaches its servers
//! - `retention`: how soon agents delete transcripts that are not archived
//! - `capture`: the last read of each agent, what waits, what cannot be read
//! - `agents`: the entries of yore in agents' settings, and whether they call this program
//! - `entered`: whether agents run what `install` entered, and which entries are gone
//! - `self_test`: runs each hook, server and status line
//! - `process`: runs another program with a deadline
//! - `handshake`: the first MCP messages, over a command's pipes or the daemon's port
//! - `daemon`: whether it is this program's, with these settings, and the only one
//! - `versions`: the programs called yore, and their versions

mod agents;
mod capture;
mod daemon;
mod entered;
mod handshake;
mod memory;
mod models;
pub(super) mod process;
mod proxy;
mod retention;
mod self_test;
mod team;
mod versions;

use clap::Args;
use yore_engine::Severity;

use super::Context;
use crate::error::{CliError, CliResult, Exit};
use crate::health::Told;

pub(in crate::cli) use self::models::faults;
pub use self::retention::{fuse, offer_longer_retention, retention_days};

/// Check everything, and run each hook and server of the agents
///
/// Hooks are run as the agent would run them, with the same input, and each server is asked for its tools;
/// nothing of it is remembered.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Read every blob and index file, not only their counts
    #[arg(long)]
    deep: bool,
    /// Fix what can be fixed: permissions, the index, a daemon of another version or other settings, outdated
    /// entries of agents; offer to keep transcripts longer
    #[arg(long)]
    fix: bool,
    /// Connect to the servers of the configured language models; nothing is asked of them that costs anything
    #[arg(long)]
    models: bool,
    /// With --fix: answer yes to every question
    #[arg(short, long, requires = "fix")]
    yes: bool,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if context.settings.environment.get(process::GUARD).is_some() {
        return Err(CliError::usage("`yore doctor` is already running and cannot be started from itself", None));
    }
    if arguments.fix {
        daemon::mend(context)?;
        agents::mend(context)?;
        offer_longer_retention(arguments.yes, context)?;
    }
    let mut told = versions::of_this(context);
    told.extend(memory::examine(arguments.deep, arguments.fix, context)?);
    told.extend(retention::examine(context));
    told.extend(capture::examine(context));
    told.extend(daemon::examine(context)?);
    told.extend(models::examine(arguments.models, context)?);
    told.extend(proxy::examine(arguments.models, context)?);
    told.extend(team::examine(context));
    told.extend(agents::examine(context));
    let worst = told.iter().map(|told| told.severity).max().unwrap_or(Severity::Fine);
    if context.printer.is_json() {
        context.printer.json(&told.iter().map(Told::result).collect::<Vec<_>>())?;
    } else {
        for line in told.iter().flat_map(Told::lines) {
            context.printer.line(line)?;
        }
    }
    Ok(if worst >= Severity::Warning { Exit::Nothing } else { Exit::Success })
}
