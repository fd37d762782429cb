use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use yore_engine::ingest::Observer;

use super::{Context, chat, ingest};
use crate::config::{Config, Environment, Resolved, UserFile, When};
use crate::daemon::http;
use crate::engine_handle::{EngineHandle, ingest_by_daemon};
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::card;
use crate::mcp::{ChatReader, ChatsToRead, Progress, Server, Stage, Toolset, ToolsetError, conformance};
use crate::paths::Paths;
use crate::render::Printer;

/// Names the session that an agent starts this process for.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Serve the memory to an agent over MCP on standard input and output
///
/// An agent that wants an address in place of a command is served by the daemon: see `yore mcp url`.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Which tools: `core`, `names` (those of the designs that yore grew from), `all`, or names of
    /// tools with commas between them [default: mcp.tools]
    #[arg(long, value_name = "TOOLS")]
    tools: Option<Toolset>,
    /// Serve what tests of the protocol ask for, and no memory
    #[arg(long, hide = true, value_enum, value_name = "TRANSPORT")]
    conformance: Option<Transport>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the address and the token for agents that speak MCP over HTTP
    ///
    /// The token opens the whole memory. It is this computer's own, and stays the same. An agent may
    /// name its project's directory in the header `Yore-Project`; without it every project is asked.
    Url,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Transport {
    Http,
    Stdio,
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    if let Some(Action::Url) = arguments.action {
        return url(context);
    }
    if let Some(transport) = arguments.conformance {
        return conformance(transport, context);
    }
    crate::mcp::serve_stdio(server(arguments.tools.clone(), context)?).map_err(|error| {
        CliError::usage(error, Some("this command is started by an agent, which speaks MCP on standard input"))
    })?;
    Ok(Exit::Success)
}

/// The server for whoever started this process.
fn server(tools: Option<Toolset>, context: &Context) -> CliResult<Server> {
    let toolset = match tools {
        Some(toolset) => toolset,
        None => configured(context.config())?,
    };
    let handle =
        EngineHandle::new(context.directory.clone(), context.config().clone(), context.model_folder(), context.may_be_full());
    let server = Server::new(handle, context.project_here(), &toolset).map_err(|error| CliError::usage(error, None))?;
    let server = server.reading_with(reader(context));
    Ok(match context.environment.get(SESSION).and_then(|id| id.to_str()).filter(|id| !id.is_empty()) {
        Some(id) => server.for_session(context.directory.clone(), id.to_owned()),
        None => server,
    })
}

/// The tools of the settings.
pub fn configured(config: &Config) -> CliResult<Toolset> {
    config.mcp.tools.parse().map_err(|error: ToolsetError| CliError {
        exit: Exit::Usage,
        code: "config/bad-value".to_owned(),
        message: format!("mcp.tools is {:?}: {error}", config.mcp.tools),
        hint: Some("correct it with `yore config set mcp.tools core`".to_owned()),
    })
}

/// Reads conversations that wait as `yore chat ingest` does: all of them by the daemon where one
/// runs, chosen ones here.
pub fn reader(context: &Context) -> ChatReader {
    let parts = Parts {
        environment: context.environment.clone(),
        resolved: context.resolved.clone(),
        paths: context.paths.clone(),
        user_file: context.user_file.clone(),
        project_file: context.project_file.clone(),
        flags: context.flags.clone(),
        directory: context.directory.clone(),
        here: context.here.clone(),
    };
    Arc::new(move |chats, progress| {
        let context = parts.context();
        let is_all = chats == ChatsToRead::default();
        if let Some(ingested) = is_all.then(|| ingest_by_daemon(&context.directory, context.config())).flatten() {
            let ingested = ingested?;
            return Ok((ingested.json, ingested.lines));
        }
        let (report, sync) = chat::read_waiting(chats.since, chats.has_code, &context, &mut Told::new(progress))?;
        Ok((ingest::as_json(&report, &sync, false), ingest::summary(&report, false)))
    })
}

/// What a context is made of, for calls that outlive the command's own.
struct Parts {
    environment: Environment,
    resolved: Resolved,
    paths: Paths,
    user_file: Option<UserFile>,
    project_file: Option<PathBuf>,
    flags: Vec<(String, String)>,
    directory: PathBuf,
    here: Option<PathBuf>,
}

impl Parts {
    fn context(&self) -> Context {
        let Self { environment, resolved, paths, user_file, project_file, flags, directory, here } = self;
        Context {
            environment: environment.clone(),
            resolved: resolved.clone(),
            paths: paths.clone(),
            user_file: user_file.clone(),
            project_file: project_file.clone(),
            flags: flags.clone(),
            directory: directory.clone(),
            here: here.clone(),
            // Standard output belongs to the protocol, and nothing is printed.
            printer: Printer::new(true, When::Never, When::Never),
        }
    }
}

/// Hears how far reading is, and says it on.
struct Told<'p> {
    progress: &'p Progress,
    stage: Stage,
}

impl<'p> Told<'p> {
    fn new(progress: &'p Progress) -> Self {
        Self { progress, stage: Stage { what: "reading conversations (bytes)", done: Some(0), total: None } }
    }
}

impl Observer for Told<'_> {
    fn found(&mut self, _files: usize, bytes: u64) {
        self.stage.total = Some(bytes);
        self.progress.say(self.stage);
    }

    fn advanced(&mut self, bytes: u64) {
        self.stage.done = self.stage.done.map(|done| done + bytes);
        self.progress.say(self.stage);
    }
}

/// Where the daemon serves MCP over HTTP, and the header that it asks for.
fn url(context: &mut Context) -> CliResult {
    let absent = |code: &str, message: &str, hint: &str| CliError {
        exit: Exit::Nothing,
        code: format!("mcp/{code}"),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if !card::is_running(&context.directory) {
        return Err(absent("no-daemon", "no daemon runs", "`yore daemon start` starts it"));
    }
    let url = card::Card::read(&context.directory).and_then(|card| card.url);
    let (Some(url), Some(token)) = (url, http::known_token(&context.directory)) else {
        let hint =
            "`yore config set mcp.http true` and `yore daemon stop`, then `yore daemon start`; `yore daemon logs` tells more";
        return Err(absent("no-port", "the daemon does not serve MCP over HTTP", hint));
    };
    let header = format!("Bearer {token}");
    if context.printer.is_json() {
        context.printer.json(&json!({"url": url, "headers": {"Authorization": header}}))?;
    } else {
        context.printer.line(url)?;
        context.printer.line(format!("Authorization: {header}"))?;
    }
    Ok(Exit::Success)
}

fn conformance(transport: Transport, context: &mut Context) -> CliResult {
    let served = match transport {
        Transport::Stdio => conformance::serve_stdio(),
        Transport::Http => conformance::serve_http(|url| {
            let _ = context.printer.json(&json!({"url": url}));
        }),
    };
    served.map_err(|error| CliError::usage(error, None))?;
    Ok(Exit::Success)
}
