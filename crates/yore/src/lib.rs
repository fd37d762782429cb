//! `yore`: a long-term memory for AI coding agents. This is the table of contents; the program is [`run`], and
//! nothing else is meant for other crates, but for what the example `mcp_conformance` is made of.
//!
//! - `account`: what memory was worth, and what it cost
//! - `api`: the HTTP API, one file for each group of routes
//! - `agents`: the hooks of every agent, one file each
//! - `cli`: one file per command
//! - `mcp`: the server for agents, one file per tool
//! - `recall_request`: the configured question, for every front end
//! - `config`: layers of settings
//! - `cursor`: places in lists, where the next page begins
//! - `daemon`: the background process
//! - `engine_handle`: opens the engine for a front end; the one crossing from async to sync
//! - `fence`: marks recalled text as data, because an agent may obey what it reads
//! - `distil`: the lines of a conversation as an agent distils them
//! - `detect`: finds the source that can read a path
//! - `health`: what is wrong with the memory, and its remedy
//! - `histories`: which histories are read, and how
//! - `hook`: short-lived calls by an agent: captures an event and answers it
//! - `http`: the HTTP server on a local port
//! - `inbox`: what waits for a person
//! - `inject`: text that agents get without asking
//! - `instruction_files`: instruction files of agents in a project
//! - `install`: enters yore in the agents' settings, and removes it
//! - `ipc`: the connection to the daemon
//! - `proxy`: memory in the requests of agents to language models
//! - `page`: the web page, one file for each group of views
//! - `models`: where models are stored and how they are downloaded
//! - `render`: the only place that prints
//! - `retention`: when agents delete histories, and how to postpone that
//! - `results`: data that leaves the program
//! - `shared`: memories that a team shares
//! - `settings`: all settings of a command
//! - `spool`: events that hooks leave for the next reader
//! - `team`: sharing with a team over its server
//! - `upkeep`: the jobs of recurring maintenance
//! - `verbs`: everything that can be asked of the memory, one row each
//! - `paths`: directories on this platform
//! - `error`: errors, with messages for people and exit codes
//! - `example`: an invented project, for a computer without history
//! - `fuzz`: the parsers of foreign text; built for the fuzzers only

mod account;
mod agents;
mod api;
mod cli;
mod config;
mod cursor;
mod daemon;
mod detect;
mod distil;
mod engine_handle;
mod error;
mod example;
mod fence;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod handoff;
mod health;
mod histories;
mod hook;
mod http;
mod inbox;
mod inject;
mod install;
mod instruction_files;
mod ipc;
mod llm;
mod mcp;
mod models;
mod page;
mod paths;
mod portable;
mod proxy;
mod recall_request;
mod render;
mod results;
mod retention;
mod settings;
mod shared;
mod spool;
mod statistics;
mod team;
mod upkeep;
mod verbs;

use std::process::ExitCode;

#[doc(hidden)]
pub use mcp::http::run_http as serve_mcp_http;
#[doc(hidden)]
pub use mcp::run_stdio as serve_mcp_stdio;

/// Does what the command line says.
pub fn run() -> ExitCode {
    cli::run()
}
