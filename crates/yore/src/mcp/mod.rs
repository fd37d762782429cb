//! The server for agents: MCP on standard input and output, one file per tool.
//!
//! - [`serve_stdio`]: runs until standard input closes
//! - [`Server`]: says what there is, hands each call to its tool
//! - [`Toolset`]: which tools are served
//! - `tools`: the tools, and what they are made of: `access` (what they reach), `arguments`, `answer`,
//!   `cursor` (where a list goes on), `place` (where the agent works), `progress`, `chats` (reads conversations)
//! - `resources`, `prompts`, `completions`: what else there is
//! - [`http`]: the same over HTTP, in the daemon
//!
//! Nothing is kept between calls but the opened engine, so every protocol version is served by
//! the same code. Standard output belongs to the protocol; nothing here prints.

mod access;
mod answer;
mod arguments;
mod chats;
mod completions;
mod cursor;
pub mod http;
mod place;
mod progress;
mod prompts;
mod resources;
mod server;
mod tools;

use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::{ServerHandler, ServiceExt};

pub use self::chats::chat_reader;
pub use self::server::Server;
#[cfg(feature = "fuzz")]
pub use self::tools::Caller;
pub use self::tools::Toolset;
#[cfg(test)]
pub use self::tools::compat::SOLUTIONS;
use crate::render::text::harmless;

/// How many calls may work at once; the rest wait.
const MAX_THREADS: usize = 8;
/// How long a call that nobody waits for any more may keep the program from ending.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves until standard input closes. The engine stays closed until a call needs it.
///
/// # Errors
/// What kept the server from starting or going on, for people.
pub fn serve_stdio(server: Server) -> Result<(), String> {
    run_stdio(server)
}

/// Serves any MCP handler on standard input and output until input closes.
///
/// # Errors
/// What kept the server from starting or going on, for people.
pub fn run_stdio(server: impl ServerHandler) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build()
        .map_err(|error| format!("cannot start serving: {error}"))?;
    let outcome = runtime.block_on(serve(server));
    runtime.shutdown_timeout(PATIENCE);
    outcome
}

async fn serve(server: impl ServerHandler) -> Result<(), String> {
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // Closed before the first word: nothing was asked.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(format!("cannot agree on MCP with the agent: {}", harmless(&error.to_string()))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(format!("stopped serving: {error}")),
        Ok(_) => Ok(()),
    }
}
