//! The MCP server on standard input and output; one file for each tool.
//!
//! - [`serve_stdio`]: runs until standard input closes, or the parent process ends
//! - [`Server`]: lists tools, prompts and resources, and passes each call to its tool
//! - [`Toolset`]: the tools that are served
//! - `tools`: the tools, and their parts: `access` (their context), `arguments`, `answer`, `place` (the agent's directory), `progress`, `chats` (reads conversations)
//! - `designs`: the tools under the names of the designs that yore grew from
//! - `resources`, `prompts`, `completions`: the rest of the protocol
//! - [`http`]: the same over HTTP, in the daemon
//!
//! Nothing is kept between calls but the opened engine, so the same code serves every protocol version.
//! Standard output is reserved for the protocol; nothing here prints.

mod access;
mod answer;
mod arguments;
mod chats;
mod completions;
mod deep;
mod designs;
pub mod http;
mod place;
mod progress;
mod prompts;
mod resources;
mod server;
mod tools;
mod toolset;

use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::{ServerHandler, ServiceExt};

pub use self::chats::chat_reader;
pub use self::deep::deep_reader;
#[cfg(test)]
pub use self::designs::SOLUTIONS;
pub use self::server::Server;
#[cfg(feature = "fuzz")]
pub use self::toolset::Caller;
pub use self::toolset::Toolset;
use crate::render::text::harmless;

/// Maximum number of calls at the same time; the rest wait.
const MAX_THREADS: usize = 8;
/// Time for which an abandoned call may delay the end of the program.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two looks at the parent process.
#[cfg(unix)]
const LOOK: Duration = Duration::from_secs(5);

/// Serves until standard input closes. The engine stays closed until a call needs it.
///
/// # Errors
/// If the server cannot start or stops serving; the message is for people.
pub fn serve_stdio(server: Server) -> Result<(), String> {
    run_stdio(server)
}

/// Serves any MCP handler on standard input and output until input closes.
///
/// # Errors
/// If the server cannot start or stops serving; the message is for people.
pub fn run_stdio(server: impl ServerHandler) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .build()
        .map_err(|error| format!("cannot start serving: {error}"))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            outcome = serve(server) => outcome,
            () = orphaned() => Ok(()),
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    outcome
}

/// Returns when the program that started this process has ended. Another program may hold the input open then, and it
/// would never close.
#[cfg(unix)]
async fn orphaned() {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(LOOK).await;
    }
}

/// Where processes have no parent to watch, the end of the input alone counts.
#[cfg(not(unix))]
async fn orphaned() {
    std::future::pending().await
}

async fn serve(server: impl ServerHandler) -> Result<(), String> {
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // The client closed the connection before its first message.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(format!("MCP initialization with the agent failed: {}", harmless(&error.to_string()))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(format!("stopped serving: {error}")),
        Ok(_) => Ok(()),
    }
}
