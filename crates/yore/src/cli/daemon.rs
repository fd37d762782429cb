use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::Value;
use yore_engine::Job;

use super::Context;
use crate::daemon::{self, log};
use crate::error::{CliError, CliResult, Exit};
use crate::health;
use crate::ipc::card;
use crate::ipc::client::{self, PATIENCE, Started};
use crate::ipc::wire::Request;
use crate::render::text;
use crate::results::{Daemon, DaemonStarted, DaemonStopped, Retried};

/// Read what agents write, while they write it, in the background
///
/// One daemon runs for each data directory. It watches the histories of the known agents, reads new text
/// within seconds, and answers for every other command. Everything still works without it.
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Start the daemon
    Start {
        /// Stay in the foreground until it ends
        #[arg(long)]
        foreground: bool,
        /// Detach from the terminal that started it
        #[arg(long, hide = true, requires = "foreground")]
        detached: bool,
        /// Ignored: the option of `chat watch`, which read every so many minutes, while the daemon watches
        #[arg(short, long, hide = true, requires = "foreground", value_parser = clap::value_parser!(u64).range(1..=1440))]
        interval: Option<u64>,
    },
    /// End the daemon after its current work
    Stop,
    /// Show whether the daemon runs, which jobs wait and which were given up, as `yore status` does
    #[command(hide = true)]
    Status,
    /// Show the daemon's log
    Logs {
        /// Keep printing new lines
        #[arg(short, long)]
        follow: bool,
        /// The last N lines
        #[arg(short = 'n', long, alias = "lines", value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Try jobs again that were given up
    Retry {
        /// Only this file or address
        target: Option<String>,
    },
}

/// Maximum time to end: a transaction and an update of the index.
const ENDING: Duration = Duration::from_secs(30);

pub fn run(arguments: &Arguments, context: &mut Context) -> CliResult {
    match &arguments.action {
        Action::Start { foreground: true, detached, .. } => {
            if *detached {
                yore_engine::platform::leave_terminal();
            }
            daemon::run(&context.settings)?;
            Ok(Exit::Success)
        }
        Action::Start { .. } => start(context),
        Action::Stop => stop(context),
        Action::Status => status(context),
        Action::Logs { follow, limit } => logs(*follow, *limit, context),
        Action::Retry { target } => retry(target.as_deref(), context),
    }
}

fn start(context: &mut Context) -> CliResult {
    // An error that keeps it from starting is better reported here than in its log.
    drop(context.settings.engine(false)?);
    let mut arguments = Vec::new();
    for (key, value) in &context.settings.flags {
        arguments.extend(["--config".to_owned(), format!("{key}={value}")]);
    }
    let started = client::start(&context.settings.directory, &arguments)
        .map_err(|error| CliError::io(&context.settings.directory, &error))?;
    let (hello, is_new) = match started {
        Started::Now(hello) => (hello, true),
        Started::Already(hello) => (hello, false),
        Started::NoAnswer => {
            return Err(CliError {
                exit: Exit::Data,
                code: "daemon/no-answer".to_owned(),
                message: "the daemon does not answer".to_owned(),
                hint: Some(format!("see {}", log::path(&context.settings.directory).display())),
            });
        }
    };
    if context.printer.is_json() {
        context.printer.json(&DaemonStarted { started: is_new, pid: hello.pid, version: hello.version.clone() })?;
    } else if is_new {
        context.printer.line(format!("started, process {}", hello.pid))?;
    } else {
        context.printer.line(format!("already running, process {}", hello.pid))?;
    }
    Ok(Exit::Success)
}

/// Ends a running daemon, for work that needs the data directory for itself. Returns whether one ran.
pub fn stop_for(context: &Context) -> CliResult<bool> {
    let was_running = card::is_running(&context.settings.directory);
    if was_running {
        let until = Instant::now() + ENDING;
        let mut is_asked = false;
        while card::is_running(&context.settings.directory) && Instant::now() < until {
            // One that is only starting does not listen yet.
            is_asked = is_asked
                || client::connect_any(&context.settings.directory)
                    .is_some_and(|mut client| client.ask::<Value>(&Request::Stop, PATIENCE).is_ok());
            std::thread::sleep(Duration::from_millis(20));
        }
        if card::is_running(&context.settings.directory) {
            let who = card::Card::read(&context.settings.directory).map_or(0, |card| card.pid);
            return Err(CliError {
                exit: Exit::Busy,
                code: "daemon/no-answer".to_owned(),
                message: format!("the daemon (process {who}) does not stop"),
                hint: Some("kill the process; no data is lost".to_owned()),
            });
        }
    }
    Ok(was_running)
}

/// Starts the daemon that [`stop_for`] ended: it was asked for, also where none starts by itself.
pub fn start_again(context: &Context) {
    client::start_again(&context.settings.directory);
}

fn stop(context: &mut Context) -> CliResult {
    let was_running = stop_for(context)?;
    if context.printer.is_json() {
        context.printer.json(&DaemonStopped { stopped: was_running })?;
    } else {
        context.printer.line(if was_running { "stopped" } else { "no daemon is running" })?;
    }
    Ok(Exit::Success)
}

/// Asks the daemon for its state.
pub fn state(context: &Context) -> CliResult<Daemon> {
    health::daemon(&context.settings.directory)
}

fn status(context: &mut Context) -> CliResult {
    let daemon = state(context)?;
    if context.printer.is_json() {
        context.printer.json(&daemon)?;
    } else {
        for line in text::table(&rows(&daemon)).into_iter().chain(given_up(&daemon)) {
            context.printer.line(line)?;
        }
    }
    Ok(if daemon.answers { Exit::Success } else { Exit::Nothing })
}

/// Returns the rows of a table of the daemon's state.
pub fn rows(daemon: &Daemon) -> Vec<Vec<String>> {
    let row = |name: &str, words: String| vec![name.to_owned(), words];
    let Some(status) = &daemon.status else {
        let what = if daemon.running { "runs and does not answer; it may be of another version" } else { "not running" };
        return vec![row("daemon", what.to_owned())];
    };
    let mut rows = vec![
        row("daemon", format!("process {}, since {}", status.pid, text::time(Some(status.started_ms)))),
        row(
            "read",
            format!(
                "{} in {}, last {}",
                text::counted(status.turns, "turn"),
                text::counted(status.batches, "reading"),
                text::time(status.last_batch_ms)
            ),
        ),
        row("queue", format!("{} wait, {} being done, {} given up", status.jobs.queued, status.jobs.leased, status.jobs.dead)),
        row(
            "places",
            format!("{} watched, {} polled", text::count(status.watched.len() as u64), text::count(status.polled.len() as u64)),
        ),
    ];
    rows.extend(status.upkeep.iter().map(|state| row(state.upkeep.as_str(), super::upkeep::runs_of(state))));
    if let Some(url) = &status.url {
        rows.push(row("MCP", format!("{url}; `yore mcp url` shows the token")));
    }
    if let Some(proxy) = &status.proxy {
        rows.push(row(
            "proxy",
            format!("{}, {}; `yore proxy` tells more", proxy.address, text::counted(proxy.counts.requests, "request")),
        ));
    }
    if status.unembedded > 0 {
        let what = if status.is_embedding { "are being embedded" } else { "lack vectors of the local model" };
        rows.push(row("embedding", format!("{} {what}", text::counted(status.unembedded, "turn"))));
    }
    if let Some(bytes) = status.memory_bytes {
        let model = if status.has_model { " with the local model" } else { "" };
        rows.push(row("RAM", format!("{}{model}", text::bytes(bytes))));
    }
    rows.extend(status.last_error.iter().map(|error| row("error", text::harmless(error))));
    rows
}

/// Returns a line for each job that the daemon gave up, and the remedy.
pub fn given_up(daemon: &Daemon) -> Vec<String> {
    let line = |job: &Job| {
        let (code, words) = job.error.clone().unwrap_or_default();
        format!("given up: {} {}: {} [{code}]", job.work.kind(), text::harmless(&job.work.target()), text::harmless(&words))
    };
    let mut lines: Vec<String> = daemon.status.iter().flat_map(|status| &status.dead).map(line).collect();
    if !lines.is_empty() {
        lines.push("they are tried again when they change, or with `yore daemon retry`".to_owned());
    }
    lines
}

fn retry(target: Option<&str>, context: &mut Context) -> CliResult {
    // Without a daemon, the next one finds them in the queue.
    let revived = context.settings.memory()?.revive_jobs(target.map(str::to_owned))? as u64;
    if context.printer.is_json() {
        context.printer.json(&Retried { revived })?;
    } else {
        context.printer.line(format!("{} will be tried again", text::counted(revived, "job")))?;
    }
    Ok(if revived > 0 { Exit::Success } else { Exit::Nothing })
}

fn logs(follow: bool, lines: usize, context: &mut Context) -> CliResult {
    let path = log::path(&context.settings.directory);
    let fail = |error: std::io::Error| CliError::io(&path, &error);
    let content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !follow => return Ok(Exit::Nothing),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(fail(error)),
    };
    let all = String::from_utf8_lossy(&content);
    let shown: Vec<&str> = all.lines().collect();
    let shown = &shown[shown.len().saturating_sub(lines)..];
    if context.printer.is_json() && !follow {
        context.printer.json(&shown)?;
        return Ok(Exit::Success);
    }
    for line in shown {
        tell_line(line, context)?;
    }
    let mut at = content.len() as u64;
    if !follow {
        return Ok(Exit::Success);
    }
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let Ok(mut file) = std::fs::File::open(&path) else { continue };
        let size = file.metadata().map_err(fail)?.len();
        if size < at {
            // The log was replaced by a new file.
            at = 0;
        }
        let mut new = Vec::new();
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read_to_end(&mut new)).map_err(fail)?;
        // A line that is still being written is printed when it is whole.
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        at += whole as u64;
        for line in String::from_utf8_lossy(&new[..whole]).lines() {
            tell_line(line, context)?;
        }
    }
}

/// Prints a line of the log, as a JSON string where the output is JSON.
fn tell_line(line: &str, context: &mut Context) -> CliResult<()> {
    if context.printer.is_json() {
        context.printer.line(Value::from(line).to_string())?;
    } else {
        context.printer.line(line)?;
    }
    Ok(())
}
