//! `yore`: a long-term memory for AI coding agents. This is the table of contents; the program is [`run`], and
//! nothing else is meant for other crates, but for what the example `mcp_conformance` is made of.
//!
//! - `agents`: the hooks of every agent, one file each
//! - `cli`: one file per command
//! - `mcp`: the server for agents, one file per tool
//! - `ask`: the configured question, for every voice
//! - `config`: layers of settings
//! - `daemon`: the process in the background, and how it is reached
//! - `engine_handle`: opens the engine for a voice; the one crossing from async to sync
//! - `fence`: recalled words as data, for a reader that obeys words
//! - `detect`: which source a path holds
//! - `histories`: which histories are read, and how
//! - `hook`: told by an agent, and gone again
//! - `http`: what is served on a port of this computer
//! - `inject`: what agents are told unasked
//! - `install`: yore in the agents' settings, and out again
//! - `ipc`: how the daemon is reached
//! - `models`: where models lie and how they come there
//! - `render`: the only place that prints
//! - `retention`: what agents delete, and how to put that off
//! - `results`: what leaves the program as data
//! - `settings`: everything that was configured
//! - `spool`: what hooks leave for whoever reads next
//! - `paths`: where things lie on this platform
//! - `error`: what went wrong, for people and for exit codes
//! - `example`: an invented project, for a computer without history
//! - `fuzz`: the parsers of what others write, for the fuzzers; built for them only

mod agents;
mod ask;
mod cli;
mod config;
mod daemon;
mod detect;
mod engine_handle;
mod error;
mod example;
mod fence;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod histories;
mod hook;
mod http;
mod inject;
mod install;
mod ipc;
mod mcp;
mod models;
mod paths;
mod render;
mod results;
mod retention;
mod settings;
mod spool;

use std::process::ExitCode;

#[doc(hidden)]
pub use mcp::http::run_http as serve_mcp_http;
#[doc(hidden)]
pub use mcp::run_stdio as serve_mcp_stdio;

/// Does what the command line says.
pub fn run() -> ExitCode {
    cli::run()
}
