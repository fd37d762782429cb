//! Prints one line for an agent's status line. Agents request it several times a second and show any output,
//! so it branches off before the parser and the configuration, as hooks do, and opens no index: it reads the
//! session's ledger, counts the spool, checks whether a daemon listens, and sends the database one short
//! query without changing it. Facts that do not arrive in time are left out.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use yore_core::memory::dynamics::Dynamics;
use yore_core::time::UtcMillis;
use yore_engine::{Engine, EngineOptions, ModelServers, StoreOptions};
use yore_sources::project_names::names_of;

use super::Context;
use crate::agents::SESSION_VARIABLE;
use crate::config::When;
use crate::engine_handle::now;
use crate::error::{CliResult, Exit};
use crate::inject::ledger;
use crate::inject::receipts;
use crate::ipc::card::Card;
use crate::ipc::client::connect_any;
use crate::paths::{Paths, Platform};
use crate::render::{Printer, text};
use crate::spool;

/// Maximum wait for the agent's input.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum wait for the daemon and the database.
const MEMORY_PATIENCE: Duration = Duration::from_millis(40);
/// Maximum number of bytes that are read of the agent's input.
const LONGEST_INPUT: u64 = 256 << 10;
/// Maximum number of characters of a project's name.
const LONGEST_NAME: usize = 40;

/// Print one line about a session, for an agent's status line
///
/// It has the project, the memories given, the tokens added and the last capture.
/// For Claude Code's `statusLine` setting: reads the agent's JSON from standard input. Ends with 0 whatever
/// the input is. There are no colours unless `--color always` is given.
#[derive(Args, Debug)]
pub struct Arguments {}

/// Never called: [`Call`] is handled before the settings are read. This is only for the help.
pub fn run(_arguments: &Arguments, _context: &mut Context) -> CliResult {
    Ok(Exit::Success)
}

/// The arguments of the call.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Call {
    /// Value of `--data-dir`.
    data_dir: Option<PathBuf>,
    /// True if `--color always` was given.
    is_colored: bool,
}

impl Call {
    /// Returns the call if these arguments (without the program's name) call `yore status-line` and do not
    /// request help.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut call = Self::default();
        let mut is_ours = false;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.to_str().unwrap_or_default() {
                "-h" | "--help" | "-V" | "--version" => return None,
                "--data-dir" => call.data_dir = arguments.next().map(PathBuf::from),
                "--color" => call.is_colored = arguments.next().is_some_and(|when| when == "always"),
                "-c" | "--config" => drop(arguments.next()),
                "status-line" => is_ours = true,
                option if option.starts_with('-') => match option.split_once('=') {
                    Some(("--data-dir", directory)) => call.data_dir = Some(PathBuf::from(directory)),
                    Some(("--color", when)) => call.is_colored = when == "always",
                    // An option of a later version is ignored.
                    _ => {}
                },
                _ if !is_ours => return None,
                _ => {}
            }
        }
        is_ours.then_some(call)
    }
}

/// Prints the line. An agent shows an error as an empty line, so no error is reported.
pub fn print(call: &Call) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    let line = panic::catch_unwind(|| line(call)).unwrap_or_else(|_| "yore".to_owned());
    let color = if call.is_colored { When::Always } else { When::Never };
    // There is no reader to report an error to.
    let _ = Printer::new(false, color, When::Never).line(line);
    ExitCode::SUCCESS
}

fn line(call: &Call) -> String {
    let said = Said::read();
    let paths = Paths::locate(Platform::HERE, &|name| std::env::var(name).ok());
    let facts = Facts::gather(call.data_dir.clone().or(paths.data), &said);
    facts.line(now())
}

/// The agent's input about the session.
#[derive(Debug, Default, Eq, PartialEq)]
struct Said {
    session: Option<String>,
    directory: Option<String>,
}

impl Said {
    fn read() -> Self {
        let mut said = Self::parse(&input().unwrap_or_default());
        said.session = said.session.or_else(|| std::env::var(SESSION_VARIABLE).ok());
        said.directory = said.directory.or_else(|| Some(std::env::current_dir().ok()?.to_str()?.to_owned()));
        said
    }

    fn parse(input: &[u8]) -> Self {
        let said: Value = serde_json::from_slice(input).unwrap_or_default();
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            session: text(&said["session_id"]),
            directory: text(&said["workspace"]["current_dir"]).or_else(|| text(&said["cwd"])),
        }
    }
}

/// Reads standard input to its end, or none if it does not end in time.
fn input() -> Option<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return None;
    }
    let (send, receive) = channel();
    // A separate thread, because a read cannot be cancelled; it ends with the process.
    thread::spawn(move || {
        let mut input = Vec::new();
        let _ = stdin.lock().take(LONGEST_INPUT).read_to_end(&mut input);
        let _ = send.send(input);
    });
    receive.recv_timeout(PATIENCE).ok()
}

/// The facts for the line.
#[derive(Debug, Default)]
struct Facts {
    project: Option<String>,
    has_memory: bool,
    memories: usize,
    tokens: usize,
    /// Time when a part of the session was last read, if known.
    captured: Option<UtcMillis>,
    has_daemon: bool,
    waiting: usize,
}

impl Facts {
    fn gather(directory: Option<PathBuf>, said: &Said) -> Self {
        let project = said.directory.as_deref().map(|directory| names_of(directory).name).filter(|name| !name.is_empty());
        let Some(directory) = directory.filter(|directory| directory.join("yore.db").is_file()) else {
            return Self { project, ..Self::default() };
        };
        let given = said.session.as_deref().map(|session| ledger::read(&directory, session)).unwrap_or_default();
        let (memories, tokens) = receipts::totals(&given);
        // Both wait for other processes, so they run at the same time.
        let captured = said.session.as_deref().map(|session| when_captured(&directory, session));
        let daemon = has_daemon(&directory);
        let until = Instant::now() + MEMORY_PATIENCE;
        let left = || until.saturating_duration_since(Instant::now());
        Self {
            project,
            has_memory: true,
            memories,
            tokens,
            // A daemon that is slow to answer still runs.
            has_daemon: daemon.is_some_and(|daemon| daemon.recv_timeout(left()).unwrap_or(true)),
            captured: captured.and_then(|captured| captured.recv_timeout(left()).ok()).flatten(),
            waiting: spool::waiting(&directory),
        }
    }

    fn line(&self, now: UtcMillis) -> String {
        let mut parts = vec![format!("{}yore{}", text::BOLD, text::RESET)];
        if let Some(project) = &self.project {
            let name: String = text::harmless(project).chars().filter(|letter| *letter != '\n').take(LONGEST_NAME).collect();
            parts.push(format!("{}{name}{}", text::CYAN, text::RESET));
        }
        if !self.has_memory {
            parts.push(format!("{}no memory yet, `yore up` makes it{}", text::YELLOW, text::RESET));
            return parts.join(" · ");
        }
        parts.push(match self.memories {
            0 => "nothing given".to_owned(),
            count => {
                let noun = if count == 1 { "memory" } else { "memories" };
                format!("{} {noun}, {}", text::count(count as u64), text::counted(self.tokens as u64, "token"))
            }
        });
        if let Some(at) = self.captured {
            parts.push(format!("{}captured {}{}", text::DIM, text::ago(now - at), text::RESET));
        }
        if !self.has_daemon && self.waiting > 0 {
            let waiting = text::counted(self.waiting as u64, "event");
            parts.push(format!("{}no daemon, {waiting} to capture{}", text::YELLOW, text::RESET));
        }
        parts.join(" · ")
    }
}

/// Checks whether a daemon listens. `None` if it left no card.
fn has_daemon(directory: &Path) -> Option<Receiver<bool>> {
    Card::read(directory)?;
    let (send, receive) = channel();
    let directory = directory.to_path_buf();
    // Connecting can take longer than a status line may.
    thread::spawn(move || send.send(connect_any(&directory).is_some()));
    Some(receive)
}

/// Starts to look up when a part of a session was last read.
fn when_captured(directory: &Path, session: &str) -> Receiver<Option<UtcMillis>> {
    let (send, receive) = channel();
    let options = EngineOptions {
        directory: directory.to_path_buf(),
        create: false,
        store: StoreOptions { busy_timeout: MEMORY_PATIENCE, is_passive: true, ..StoreOptions::default() },
        redaction_patterns: Vec::new(),
        model: None,
        reranker: None,
        servers: ModelServers::default(),
        model_threads: 1,
        now,
        dynamics: Dynamics::default(),
    };
    let session = session.to_owned();
    // A database that is busy or on a slow disk must not delay the line.
    thread::spawn(move || send.send(Engine::open(options).ok().and_then(|engine| engine.last_read_of(&session).ok()?)));
    receive
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inject::ledger::Entry;

    fn call(arguments: &[&str]) -> Option<Call> {
        Call::of(arguments.iter().map(OsString::from))
    }

    #[test]
    fn call_is_told_from_other_commands() {
        assert_eq!(call(&["status-line"]), Some(Call::default()));
        let expected = Call { data_dir: Some("/d".into()), is_colored: true };
        assert_eq!(call(&["--data-dir", "/d", "status-line", "--color=always", "--later"]), Some(expected.clone()));
        assert_eq!(call(&["-c", "a=b", "status-line", "--color", "always", "--data-dir=/d", "more"]), Some(expected));
        for other in [&["recall", "status-line"][..], &["status-line", "--help"], &["-V"], &[]] {
            assert_eq!(call(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_claude_code_says_is_understood_and_nonsense_survived() {
        let said = Said::parse(
            br#"{"session_id":"s","cwd":"/a","workspace":{"current_dir":"/b","project_dir":"/c"},"model":{"id":"m"}}"#,
        );
        assert_eq!(said, Said { session: Some("s".into()), directory: Some("/b".into()) });
        let said = Said::parse(br#"{"session_id":7,"cwd":"/a","workspace":[]}"#);
        assert_eq!(said, Said { session: None, directory: Some("/a".into()) });
        assert_eq!(Said::parse(b"[1,"), Said::default());
    }

    #[test]
    fn line_says_project_memories_tokens_and_capture() {
        let shown = |facts: Facts| anstream::adapter::strip_str(&facts.line(100_000)).to_string();
        let given = Facts { project: Some("tide".into()), has_memory: true, memories: 5, tokens: 640, ..Facts::default() };
        assert_eq!(
            shown(Facts { captured: Some(88_000), has_daemon: true, ..given }),
            "yore · tide · 5 memories, 640 tokens · captured 12 s ago"
        );
        let silent = Facts { has_memory: true, waiting: 3, ..Facts::default() };
        assert_eq!(shown(silent), "yore · nothing given · no daemon, 3 events to capture");
        let one = Facts { has_memory: true, memories: 1, tokens: 1, has_daemon: true, waiting: 3, ..Facts::default() };
        assert_eq!(shown(one), "yore · 1 memory, 1 token");
        let none = Facts { project: Some("a\u{1b}[2J\nb".into()), ..Facts::default() };
        assert_eq!(shown(none), "yore · a[2Jb · no memory yet, `yore up` makes it");
    }

    #[test]
    fn memory_that_is_given_twice_counts_once_and_its_tokens_twice() {
        let entry =
            |turns: &[&str], tokens| Entry { turns: turns.iter().map(ToString::to_string).collect(), tokens, ..Entry::default() };
        assert_eq!(receipts::totals(&[entry(&["a", "b"], 10), entry(&[], 0), entry(&["b"], 5)]), (2, 15));
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        let told: Vec<String> = [-5, 0, 12_000, 90_000, 7_200_000, 400_000_000].into_iter().map(text::ago).collect();
        assert_eq!(told, ["now", "now", "12 s ago", "1 min ago", "2 h ago", "4 days ago"]);
    }
}
