//! Checks the daemon: version, settings, answer, and that it is the only one. Also checks for processes of a yore that was
//! replaced since they started.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use yore_engine::{Severity, platform};

use super::super::Context;
use super::handshake;
use super::versions::OWN;
use crate::error::{CliError, CliResult};
use crate::health::Told;
use crate::http::token::{TOKEN, drop_open_token, known_token};
use crate::ipc::card::{self, Card};
use crate::ipc::client::{self, PATIENCE, Started, connect_any};
use crate::ipc::wire::{Hello, Request};
use crate::render::text;
use crate::results::DaemonStatus;

/// Maximum time to end: a transaction and an update of the index.
const ENDING: Duration = Duration::from_secs(30);
/// Sections of settings that the daemon does not use.
const OTHERS: [&str; 4] = ["inject", "output", "up", "forget"];
/// Keys of the daemon's own section that only its clients use.
const OF_CLIENTS: [&str; 2] = ["use", "autostart"];
const MEND: &str = "`yore doctor --fix` restarts it";

/// The state of the daemon of a data directory.
enum Daemon {
    /// No daemon runs. The card of an earlier one may remain.
    None(Option<Card>),
    /// It holds the lock and does not answer.
    Silent,
    /// It identifies itself, but speaks another protocol.
    Foreign(Hello),
    /// It answered, in this time.
    Answers(Box<DaemonStatus>, Duration),
}

impl Daemon {
    fn look(directory: &Path) -> Self {
        if !card::is_running(directory) {
            return Self::None(Card::read(directory));
        }
        let began = Instant::now();
        if let Some(Ok(status)) = connect_any(directory).map(|mut client| client.ask::<DaemonStatus>(&Request::Status, PATIENCE))
        {
            return Self::Answers(Box::new(status), began.elapsed());
        }
        match connect_any(directory).map(|mut client| client.hello()) {
            Some(Ok(hello)) => Self::Foreign(hello),
            _ => Self::Silent,
        }
    }

    /// Returns the differences from a daemon that would start now, in words.
    fn staleness(&self, settings: &Value) -> Vec<String> {
        match self {
            Self::None(_) | Self::Silent => Vec::new(),
            Self::Foreign(hello) => vec![format!("is of version {}, this is {OWN}", hello.version)],
            Self::Answers(status, _) => {
                let mut stale = Vec::new();
                if status.version != OWN {
                    stale.push(format!("is of version {}, this is {OWN}", status.version));
                }
                if program(status.pid).is_some_and(|program| program.is_replaced) {
                    stale.push("runs a program that has been replaced since".to_owned());
                }
                let sections = differing(&status.settings, settings);
                if !sections.is_empty() {
                    stale.push(format!("runs with settings that differ from those on disk ({})", sections.join(", ")));
                }
                stale
            }
        }
    }
}

/// Returns the settings that a daemon would start with now.
fn settings(context: &Context) -> CliResult<Value> {
    Ok(serde_json::to_value(context.settings.own_config()?).unwrap_or_default())
}

/// Reports everything about the daemon and other processes of yore.
pub(super) fn examine(context: &Context) -> CliResult<Vec<Told>> {
    let settings = settings(context)?;
    let daemon = Daemon::look(&context.settings.directory);
    let stale = daemon.staleness(&settings);
    let mut told = Vec::new();
    match &daemon {
        Daemon::None(Some(card)) => {
            let text = format!("no daemon is running; process {} ended without cleaning up", card.pid);
            told.push(
                Told::new("daemon", Severity::Note, text)
                    .remedy("no data is lost; the next daemon cleans up, and so does `yore doctor --fix`"),
            );
        }
        Daemon::None(None) if context.settings.config().daemon.is_used && context.settings.directory.is_dir() => {
            told.push(Told::new("daemon", Severity::Fine, "no daemon is running; every command works without it"));
        }
        Daemon::None(None) => {}
        Daemon::Silent => {
            let who = Card::read(&context.settings.directory).map(|card| format!(", process {},", card.pid)).unwrap_or_default();
            told.push(
                Told::new("daemon", Severity::Broken, format!("a daemon is running{who} and does not answer"))
                    .remedy("kill the process; no data is lost"),
            );
        }
        Daemon::Foreign(_) => {}
        Daemon::Answers(status, took) => told.extend(of_answering(status, *took, stale.is_empty())),
    }
    let pid = match &daemon {
        Daemon::Answers(status, _) => Some(status.pid),
        Daemon::Foreign(hello) => Some(hello.pid),
        _ => None,
    };
    if let Some(pid) = pid {
        told.extend(
            stale
                .iter()
                .map(|why| Told::new("daemon", Severity::Warning, format!("process {pid} {why}")).remedy(MEND).fact("pid", pid)),
        );
    }
    if let Daemon::Answers(status, _) = &daemon {
        told.extend(status.url.as_deref().map(|url| port(url, &context.settings.directory)));
    }
    told.extend(processes(&context.settings.directory));
    Ok(told)
}

fn of_answering(status: &DaemonStatus, took: Duration, is_current: bool) -> Vec<Told> {
    let mut told = Vec::new();
    if is_current {
        let text = format!("process {}, version {}, answers in {}", status.pid, status.version, milliseconds(took));
        told.push(
            Told::new("daemon", Severity::Fine, text)
                .fact("pid", status.pid)
                .fact("version", status.version.as_str())
                .fact("ms", took.as_secs_f64() * 1e3)
                .fact("last_capture_ms", status.last_batch_ms),
        );
    }
    if status.jobs.dead > 0 {
        let text = format!("{} given up", text::counted(status.jobs.dead, "job"));
        told.push(
            Told::new("daemon", Severity::Note, text).remedy("`yore status --sources` says why, `yore daemon retry` tries again"),
        );
    }
    if let Some(error) = &status.last_error {
        told.push(Told::new("daemon", Severity::Note, format!("its last error: {error}")).remedy("see `yore daemon logs`"));
    }
    // If its path is too long for a socket, it is outside the data directory.
    let socket = Path::new(&status.socket);
    if socket.is_absolute() && platform::is_open_to_others(socket).unwrap_or(false) {
        let text = format!("others can connect to {}", socket.display());
        told.push(Told::new("daemon", Severity::Warning, text).remedy(MEND));
    }
    told
}

/// Checks the port for MCP: requests its tools as an agent would.
fn port(url: &str, directory: &Path) -> Told {
    let Some(token) = known_token(directory) else {
        return Told::new("mcp", Severity::Broken, format!("{url}: its access token is missing, or others can read it"))
            .remedy("`yore daemon stop` and `yore daemon start` make a new one; `yore mcp url` shows it");
    };
    match handshake::over_port(url, &token, PATIENCE) {
        Ok(served) => {
            let tools = text::counted(served.tools.len() as u64, "tool");
            let text = format!("{url}: {} answers in {} with {tools}", served.server, milliseconds(served.took));
            Told::new("mcp", Severity::Fine, text).fact("ms", served.took.as_secs_f64() * 1e3).fact("tools", served.tools)
        }
        Err(trouble) => {
            Told::new("mcp", Severity::Broken, format!("{url}: the daemon {trouble}")).remedy("see `yore daemon logs`")
        }
    }
    .fact("url", url)
}

/// Formats a duration as `12 ms`, or `0.4 ms`.
pub(super) fn milliseconds(took: Duration) -> String {
    let milliseconds = took.as_secs_f64() * 1e3;
    if milliseconds < 10.0 { format!("{milliseconds:.1} ms") } else { format!("{milliseconds:.0} ms") }
}

/// Returns the sections in which two settings differ, as far as a daemon uses them. A daemon that does not
/// report its settings has no differences.
fn differing<'s>(running: &Value, now: &'s Value) -> Vec<&'s str> {
    let of_daemon = |value: &Value| {
        let keys = value.as_object().into_iter().flatten().filter(|(key, _)| !OF_CLIENTS.contains(&key.as_str()));
        keys.map(|(key, value)| (key.clone(), value.clone())).collect::<serde_json::Map<_, _>>()
    };
    let (Some(running), Some(now)) = (running.as_object(), now.as_object()) else { return Vec::new() };
    now.iter()
        .filter(|(section, _)| !OTHERS.contains(&section.as_str()))
        .filter(|(section, value)| match running.get(*section) {
            Some(running) if *section == "daemon" => of_daemon(running) != of_daemon(value),
            running => running != Some(value),
        })
        .map(|(section, _)| section.as_str())
        .collect()
}

/// A running process of yore.
#[derive(Debug)]
struct Process {
    pid: u32,
    words: Vec<String>,
    /// True if its program is no longer at the path from which it was started.
    is_replaced: bool,
}

/// Reports more than one daemon of this directory, and servers of agents whose program was replaced.
fn processes(directory: &Path) -> Vec<Told> {
    let all = all_processes();
    let mut told = Vec::new();
    let daemons: Vec<String> =
        all.iter().filter(|process| process.is_daemon_of(directory)).map(|process| process.pid.to_string()).collect();
    if daemons.len() > 1 {
        let text = format!("{} daemons run for this directory: processes {}", daemons.len(), daemons.join(", "));
        told.push(Told::new("processes", Severity::Warning, text).remedy("`yore daemon stop`, then kill those that remain"));
    }
    let is_server = |process: &&Process| process.is_replaced && process.words.iter().any(|word| word == "mcp");
    let servers: Vec<String> = all.iter().filter(is_server).map(|process| process.pid.to_string()).collect();
    if !servers.is_empty() {
        let text = format!(
            "{} of agents run a yore that has been replaced since: {}",
            text::counted(servers.len() as u64, "server"),
            servers.join(", ")
        );
        told.push(Told::new("processes", Severity::Note, text).remedy("restart these agents"));
    }
    told
}

impl Process {
    fn is_daemon_of(&self, directory: &Path) -> bool {
        let has = |word: &str| self.words.iter().any(|found| found == word);
        let named = self.words.iter().position(|word| word == "--data-dir").and_then(|at| self.words.get(at + 1));
        let is_same = |named: &String| {
            let (named, directory) = (Path::new(named), directory);
            named == directory || matches!((named.canonicalize(), directory.canonicalize()), (Ok(a), Ok(b)) if a == b)
        };
        has("daemon") && has("start") && has("--foreground") && named.is_some_and(is_same)
    }
}

/// Returns a process if it runs yore, as far as the system tells (`/proc`).
fn program(pid: u32) -> Option<Process> {
    let place = PathBuf::from("/proc").join(pid.to_string());
    let program = std::fs::read_link(place.join("exe")).ok()?;
    let program = program.to_str()?;
    // Linux appends this to a path that was deleted, even if another file has the path now.
    let is_replaced = program.ends_with(" (deleted)");
    let name = Path::new(program.trim_end_matches(" (deleted)")).file_name()?;
    if name != "yore" {
        return None;
    }
    let words = std::fs::read(place.join("cmdline")).ok()?;
    let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Some(Process { pid, words, is_replaced })
}

fn all_processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| program(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Removes what a killed daemon left, and restarts a daemon that differs from one that would start now or
/// whose token others may know.
pub(super) fn mend(context: &mut Context) -> CliResult<()> {
    let directory = context.settings.directory.clone();
    let daemon = Daemon::look(&directory);
    // This comes before the token's permissions are fixed.
    let had_open_token = drop_open_token(&directory).map_err(|error| CliError::io(&directory.join(TOKEN), &error))?;
    if had_open_token {
        context.printer.note(
            "others could read the token for MCP over HTTP, so it was revoked; agents that use it need the new one: `yore mcp url`",
        )?;
    }
    if let Daemon::None(Some(card)) = &daemon {
        card.remove(&directory);
        return Ok(());
    }
    let is_open =
        matches!(&daemon, Daemon::Answers(status, _) if platform::is_open_to_others(Path::new(&status.socket)).unwrap_or(false));
    let knows_token = had_open_token && !matches!(&daemon, Daemon::None(_));
    if daemon.staleness(&settings(context)?).is_empty() && !is_open && !knows_token {
        return Ok(());
    }
    if let Some(mut client) = connect_any(&directory) {
        // If it fails, the wait below notices that the daemon still runs.
        let _ = client.ask::<Value>(&Request::Stop, PATIENCE);
    }
    let until = Instant::now() + ENDING;
    while card::is_running(&directory) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let arguments: Vec<String> =
        context.settings.flags.iter().flat_map(|(key, value)| ["--config".to_owned(), format!("{key}={value}")]).collect();
    if !card::is_running(&directory)
        && let Ok(Started::Now(hello)) = client::start(&directory, &arguments)
    {
        context.printer.note(format!("restarted the daemon, process {}", hello.pid))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_differ_are_named() {
        let now = serde_json::to_value(crate::config::defaults().unwrap().config).unwrap();
        let with = |section: &str, key: &str| {
            let mut settings = now.clone();
            assert!(settings[section].get(key).is_some(), "{section}.{key}");
            settings[section][key] = Value::from("else");
            settings
        };
        assert_eq!(differing(&now, &now), [""; 0]);
        assert_eq!(differing(&with("capture", "mode"), &now), ["capture"]);
        assert_eq!(differing(&with("daemon", "batch_seconds"), &now), ["daemon"]);
        assert_eq!(differing(&with("daemon", "autostart"), &now), [""; 0]);
        assert_eq!(differing(&with("daemon", "use"), &now), [""; 0]);
        assert_eq!(differing(&with("output", "color"), &now), [""; 0]);
        assert_eq!(differing(&Value::Null, &now), [""; 0], "a daemon that does not tell");
    }

    #[test]
    fn daemon_is_known_by_its_command_line() {
        let process = |line: &str| Process { pid: 1, words: line.split(' ').map(str::to_owned).collect(), is_replaced: false };
        let directory = Path::new("/home/dev/data");
        let spawned = "/bin/yore daemon start --foreground --detached --data-dir /home/dev/data";
        assert!(process(spawned).is_daemon_of(directory));
        for other in ["yore daemon start", "yore daemon start --foreground --data-dir /home/dev/other", "yore mcp"] {
            assert!(!process(other).is_daemon_of(directory), "{other}");
        }
    }
}
