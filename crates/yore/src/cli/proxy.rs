use clap::{Args, Subcommand};

use super::capture::user_file;
use super::{Context, daemon};
use crate::config::{self, FileKind};
use crate::error::{CliError, CliResult, Exit};
use crate::ipc::card::{self, Card};
use crate::ipc::client::{self, PATIENCE};
use crate::ipc::wire::Request;
use crate::proxy::{AddressOptions, ProxyError, address, upstreams};
use crate::render::text::{counted, harmless};
use crate::results::{DaemonStatus, ProxyLine, ProxyState};

/// Give memory to agents without hooks, by an address
///
/// The daemon passes requests to OpenAI, Anthropic, Gemini, Ollama and compatible servers on, byte for byte, on a port of this computer.
/// Conversations that go through are archived; with `proxy.inject`, or `--memory` in the address, prompts get memories. Your key passes
/// through and is kept nowhere. If memory is late or broken, requests go on unchanged.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Open the proxy, now and whenever the daemon runs
    On,
    /// Close the proxy
    Off,
    /// Print the lines by which an agent or a program uses the proxy
    Env {
        /// aider, claude, cline, codex, continue, copilot-cli, gemini, ollama, openai, anthropic or a name of proxy.upstreams
        agent: String,
        /// Add memories to prompts, whatever `proxy.inject` says
        #[arg(long, conflicts_with = "plain")]
        memory: bool,
        /// Add nothing, whatever `proxy.inject` says
        #[arg(long)]
        plain: bool,
        /// Name this directory in the address, for clients that do not say where they work [default with --memory, for aider and
        /// continue]
        #[arg(long)]
        here: bool,
    },
}

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        None => show(context),
        Some(Action::On) => switch(true, context),
        Some(Action::Off) => switch(false, context),
        Some(Action::Env { agent, memory, plain, here }) => {
            let memory = if *memory { Some(true) } else { plain.then_some(false) };
            env(agent, memory, *here, context)
        }
    }
}

fn problem(error: &ProxyError) -> CliError {
    CliError {
        code: "proxy/settings".to_owned(),
        ..CliError::usage(error.to_string(), Some("`yore config edit` opens the settings"))
    }
}

/// Turns the proxy on or off in the settings, and starts the daemon anew.
fn switch(is_on: bool, context: &mut Context) -> CliResult {
    upstreams(context.settings.config()).map_err(|error| problem(&error))?;
    let file = user_file(context)?;
    config::set(&file, FileKind::User, "proxy.enabled", if is_on { "true" } else { "false" })?;
    let was_running = daemon::stop_for(context)?;
    if is_on && !context.settings.directory.is_dir() {
        // A person who opens the proxy wants a memory, even where no history is.
        client::begin(&context.settings.directory);
    } else if is_on || was_running {
        daemon::start_again(context);
    }
    if !is_on {
        context.printer.note("the proxy is closed; `yore proxy on` opens it")?;
        return Ok(Exit::Success);
    }
    for _ in 0..100 {
        if let Some(origin) = origin(context) {
            context.printer.line(format!("the proxy is open at {origin}"))?;
            context.printer.note("`yore proxy env AGENT` prints the lines by which an agent uses it")?;
            return Ok(Exit::Success);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Err(closed())
}

/// Returns the address of the running daemon's proxy.
fn origin(context: &Context) -> Option<String> {
    let directory = &context.settings.directory;
    card::is_running(directory).then(|| Card::read(directory)?.proxy).flatten()
}

fn closed() -> CliError {
    CliError {
        exit: Exit::Nothing,
        code: "proxy/closed".to_owned(),
        message: "the proxy is not open".to_owned(),
        hint: Some("`yore proxy on` opens it; `yore daemon logs` tells why it could not be opened".to_owned()),
    }
}

fn show(context: &mut Context) -> CliResult {
    let asked = client::connect(&context.settings.directory)
        .and_then(|mut client| client.ask::<DaemonStatus>(&Request::Status, PATIENCE).ok());
    let Some(state) = asked.and_then(|status| status.proxy) else { return Err(closed()) };
    if context.printer.is_json() {
        context.printer.json(&state)?;
    } else {
        context.printer.line(told(&state))?;
    }
    Ok(Exit::Success)
}

/// Returns the state of the proxy as text.
fn told(state: &ProxyState) -> String {
    let ProxyState { address, counts, sessions, failure } = state;
    let mut lines = vec![format!("open at {address}")];
    lines.push(format!("{}, {} with memories, {} open now", counted(counts.requests, "request"), counts.added, counts.open));
    let went_wrong = [
        (counts.late, "went on unchanged because memory was late"),
        (counts.failed, "went on unchanged because memory failed"),
        (counts.unreadable, "could not be read, and went on unchanged"),
        (counts.dropped, "not archived because too many waited; the next request of the session has their words"),
        (counts.unreached, "reached no server, or broke off"),
    ];
    lines.extend(went_wrong.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("  {count} {what}")));
    if let Some(failure) = failure {
        lines.push(format!("  {} could not be archived: {}", counted(failure.times, "exchange"), harmless(&failure.last)));
    }
    if !sessions.is_empty() {
        lines.push("sessions (tokens of prompts, from the provider's cache, added, added again, cents):".to_owned());
    }
    for session in sessions.iter().take(20) {
        let cents = session.cents.map_or_else(|| "-".to_owned(), |cents| format!("{cents:.2}"));
        let name: String = harmless(&session.session).chars().take(12).collect();
        lines.push(format!(
            "  {name}  {}  {}  {}  {}  {}  {cents}",
            counted(session.requests, "request"),
            session.input_tokens,
            session.cached_tokens,
            session.added_tokens,
            session.repeated_tokens
        ));
    }
    lines.join("\n")
}

/// A variable of the environment or a setting, the server that it leads to, and the path behind that.
type Variable = (&'static str, &'static str, &'static str);

/// The agents, and the variables of each.
const VARIABLES: [(&str, &[Variable]); 10] = [
    (
        "aider",
        &[("OPENAI_API_BASE", "openai", "/v1"), ("ANTHROPIC_BASE_URL", "anthropic", ""), ("OLLAMA_API_BASE", "ollama", "")],
    ),
    ("claude", &[("ANTHROPIC_BASE_URL", "anthropic", "")]),
    ("cline", &[("OPENAI_BASE_URL", "openai", "/v1"), ("ANTHROPIC_BASE_URL", "anthropic", "")]),
    ("copilot-cli", &[("COPILOT_PROVIDER_BASE_URL", "openai", "/v1")]),
    ("codex", &[("OPENAI_BASE_URL", "openai", "/v1")]),
    ("continue", &[("apiBase", "openai", "/v1"), ("apiBase", "anthropic", "/v1"), ("apiBase", "ollama", "")]),
    ("gemini", &[("GOOGLE_GEMINI_BASE_URL", "gemini", "")]),
    ("ollama", &[("OLLAMA_HOST", "ollama", "")]),
    ("openai", &[("OPENAI_BASE_URL", "openai", "/v1")]),
    ("anthropic", &[("ANTHROPIC_BASE_URL", "anthropic", "")]),
];

fn env(agent: &str, memory: Option<bool>, is_here: bool, context: &mut Context) -> CliResult {
    let origin = origin(context).ok_or_else(closed)?;
    let known = upstreams(context.settings.config()).map_err(|error| problem(&error))?;
    let here = context.settings.here.as_ref().map(|here| here.display().to_string());
    // Requests of these tell neither who they are nor, as those of libraries, where they work. Memories are those of a project.
    let is_unnamed = matches!(agent, "aider" | "cline" | "continue" | "copilot-cli");
    let tells_where = matches!(agent, "claude" | "cline" | "codex" | "copilot-cli" | "gemini");
    let is_placed = is_here || !tells_where && (is_unnamed || memory == Some(true));
    let options = AddressOptions { directory: here.as_deref().filter(|_| is_placed), agent: is_unnamed.then_some(agent), memory };
    let own = [("", agent, "")];
    let variables: &[(&str, &str, &str)] = match VARIABLES.iter().find(|(name, _)| *name == agent) {
        Some((_, variables)) => variables,
        None if known.contains_key(agent) => &own,
        None => {
            let names: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).chain(known.keys().map(String::as_str)).collect();
            return Err(CliError::usage(format!("unknown agent {agent}"), Some(&format!("one of {}", names.join(", ")))));
        }
    };
    let mut lines = Vec::new();
    for (name, upstream, path) in variables {
        let address = address(&context.settings.directory, &origin, upstream, options).map_err(|error| problem(&error))?;
        lines.push(ProxyLine { name: (*name).to_owned(), server: (*upstream).to_owned(), value: format!("{address}{path}") });
    }
    if context.printer.is_json() {
        context.printer.json(&lines)?;
        return Ok(Exit::Success);
    }
    for line in &lines {
        context.printer.line(match line.name.as_str() {
            "" => line.value.clone(),
            "apiBase" => format!("apiBase: {}  # {}", line.value, line.server),
            name => format!("export {name}={}", line.value),
        })?;
    }
    context.printer.note("the address holds a token: keep it to yourself")?;
    Ok(Exit::Success)
}
