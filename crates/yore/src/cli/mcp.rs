use clap::{Args, Subcommand};
use yore_engine::llm::SILENT;

use super::Context;
use crate::agents::SESSION_VARIABLE;
use crate::engine_handle::EngineHandle;
use crate::error::{CliError, CliResult, Exit};
use crate::http::token::known_token;
use crate::ipc::card;
use crate::mcp::{Server, Toolset, chat_reader, deep_reader};
use crate::results::{McpAddress, McpHeaders};

/// Serve the memory to an agent over MCP on standard streams
///
/// The daemon serves agents that need an address instead of a command: see `yore mcp url`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// The tools to serve: `core`, `names` (those of the designs that yore grew from), `all`, or names of
    /// tools, separated by commas [default: mcp.tools]
    #[arg(long, value_name = "TOOLS")]
    tools: Option<Toolset>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the address and the token for agents that speak MCP over HTTP
    ///
    /// The token opens the whole memory. It belongs to this computer and stays the same. An agent may name
    /// its project's directory in the header `Yore-Project`; without it every project is searched.
    Url,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if std::env::var_os(SILENT).is_some() {
        return Err(CliError::usage("a program that yore runs as a model is given no memory", None));
    }
    if let Some(Action::Url) = arguments.action {
        return url(context);
    }
    crate::mcp::serve_stdio(server(arguments.tools.clone(), context)?).map_err(|error| {
        CliError::usage(error, Some("this command is started by an agent, which speaks MCP on standard input"))
    })?;
    Ok(Exit::Success)
}

/// Creates the server for the agent that started this process.
fn server(tools: Option<Toolset>, context: &Context) -> CliResult<Server> {
    let toolset = match tools {
        Some(toolset) => toolset,
        None => Toolset::configured(context.settings.config())?,
    };
    let handle = EngineHandle::new(
        context.settings.directory.clone(),
        context.settings.config().clone(),
        context.settings.models(),
        context.settings.may_be_full(),
    );
    let server = Server::new(handle, context.settings.project_here(), &toolset).map_err(|error| CliError::usage(error, None))?;
    let server = server.reading_with(chat_reader(&context.settings)).deepening_with(deep_reader(&context.settings));
    Ok(match context.settings.environment.get(SESSION_VARIABLE).and_then(|id| id.to_str()).filter(|id| !id.is_empty()) {
        Some(id) => server.for_session(context.settings.directory.clone(), id.to_owned()),
        None => server,
    })
}

/// Prints the address of MCP over HTTP in the daemon, and the header that it requires.
fn url(context: &mut Context) -> CliResult {
    let absent = |code: &str, message: &str, hint: &str| CliError {
        exit: Exit::Nothing,
        code: format!("mcp/{code}"),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if !card::is_running(&context.settings.directory) {
        return Err(absent("no-daemon", "no daemon is running", "`yore daemon start` starts it"));
    }
    let url = card::Card::read(&context.settings.directory).and_then(|card| card.url);
    let (Some(url), Some(token)) = (url, known_token(&context.settings.directory)) else {
        let hint =
            "`yore config set http.enabled true` and `yore daemon stop`, then `yore daemon start`; `yore daemon logs` tells more";
        return Err(absent("no-port", "the daemon does not serve MCP over HTTP", hint));
    };
    let header = format!("Bearer {token}");
    if context.printer.is_json() {
        context.printer.json(&McpAddress { url, headers: McpHeaders { authorization: header } })?;
    } else {
        context.printer.line(url)?;
        context.printer.line(format!("Authorization: {header}"))?;
    }
    Ok(Exit::Success)
}
