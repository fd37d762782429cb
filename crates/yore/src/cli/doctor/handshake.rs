//! Sends the first MCP messages to a server as an agent does: `initialize`, `tools/list`, and the end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_engine::transport::TransportError;

use super::process::{self, Ending};
use crate::http::probe;

/// Protocol version that is requested. A server answers with one that it serves.
const PROTOCOL: &str = "2025-06-18";
/// Maximum length of a server's line.
const LONGEST_LINE: u64 = 4 << 20;
/// Number of characters of a line that are shown.
const SHOWN: usize = 60;
/// Time for a server to end after the session.
const FAREWELL: Duration = Duration::from_secs(2);

/// The answers of a server.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Served {
    /// Name and version of the server.
    pub server: String,
    /// Version of the protocol.
    pub protocol: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// Time until both answers had arrived.
    pub took: Duration,
}

/// The reason why no server answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// The file does not exist or is not a program.
    #[error("cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// The server ended. `last` is the last thing that it printed.
    #[error("exits instead of answering `{step}`{}{last}", if last.is_empty() { "" } else { ": " })]
    Ended { step: &'static str, last: String },
    /// The server did not answer in time.
    #[error("does not answer `{step}` within {} s", patience.as_secs())]
    Late { step: &'static str, patience: Duration },
    /// The answer is not JSON-RPC.
    #[error("answers `{step}` with {shown:?}, which is not a valid answer")]
    Nonsense { step: &'static str, shown: String },
    /// The server answered with an error.
    #[error("refuses `{step}`: {message}")]
    Refused { step: &'static str, message: String },
}

const INITIALIZE: &str = "initialize";
const TOOLS: &str = "tools/list";

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": INITIALIZE, "params": {
        "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "yore-doctor", "version": env!("CARGO_PKG_VERSION")},
    }})
}

fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": TOOLS, "params": {}})
}

/// Talks to a server over the pipes of its command.
pub(super) fn over_pipes(mut command: Command, patience: Duration) -> Result<Served, Trouble> {
    let began = Instant::now();
    let mut child = process::start(&mut command).map_err(Trouble::NotStarted)?;
    let lines = lines(child.stdout.take());
    let last_words = process::read(child.stderr.take());
    let mut stdin = child.stdin.take();
    let mut ask = |what: &[Value], id: u64, step: &'static str| {
        let said: String = what.iter().map(|value| format!("{value}\n")).collect();
        if let Some(stdin) = &mut stdin {
            // A server that does not read will not answer either, and that is reported.
            let _ = stdin.write_all(said.as_bytes()).and_then(|()| stdin.flush());
        }
        answer(&lines, id, step, began, patience)
    };
    let outcome = ask(&[initialize()], 1, INITIALIZE)
        .and_then(|hello| Ok((hello, ask(&[initialized(), tools()], 2, TOOLS)?)))
        .map(|(hello, tools)| served(&hello, &tools, began.elapsed()));
    drop(stdin);
    let grace = match &outcome {
        // A server that closed its output is about to end.
        Ok(_) | Err(Trouble::Ended { .. }) => FAREWELL,
        Err(_) => Duration::ZERO,
    };
    let ended = process::wait(&mut child, Instant::now() + grace);
    match outcome {
        Err(Trouble::Ended { step, .. }) => {
            let said = last_words.recv_timeout(Duration::from_millis(300)).unwrap_or_default();
            let code = match ended {
                Ending::Ended(Some(code)) => format!("exit code {code}"),
                _ => String::new(),
            };
            let last = said.lines().find(|line| !line.trim().is_empty()).map_or(code, shortened);
            Err(Trouble::Ended { step, last })
        }
        outcome => outcome,
    }
}

/// Talks to the daemon's port over HTTP.
pub(super) fn over_port(url: &str, token: &str, patience: Duration) -> Result<Served, Trouble> {
    let began = Instant::now();
    let ask = |what: &Value, id: u64, step: &'static str, session: Option<&str>| {
        let answer = probe::post(url, token, session, &what.to_string(), patience).map_err(|error| match error {
            TransportError::Timeout => Trouble::Late { step, patience },
            TransportError::Protocol(_) => Trouble::Nonsense { step, shown: String::new() },
            TransportError::Connection(error) => Trouble::NotStarted(error),
            other => Trouble::NotStarted(io::Error::other(other.to_string())),
        })?;
        if answer.status != 200 {
            return Err(Trouble::Refused { step, message: format!("status {} {}", answer.status, shortened(&answer.body)) });
        }
        // The body is one message, or events with a message each.
        let events = answer.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let messages = events.chain(Some(answer.body.trim())).filter(|text| text.starts_with('{'));
        for message in messages {
            if let Some(result) = result_of(message, id, step)? {
                return Ok((result, answer.session));
            }
        }
        Err(Trouble::Nonsense { step, shown: shortened(&answer.body) })
    };
    let (hello, session) = ask(&initialize(), 1, INITIALIZE, None)?;
    let session = session.as_deref();
    // The answer to this message is empty.
    let _ = probe::post(url, token, session, &initialized().to_string(), patience);
    let tools = ask(&tools(), 2, TOOLS, session);
    let took = began.elapsed();
    if let Some(session) = session {
        // If this fails, the session remains and is ended when others need its place.
        let _ = probe::leave(url, token, session, FAREWELL);
    }
    Ok(served(&hello, &tools?.0, took))
}

/// Combines the answers of a server.
fn served(hello: &Value, tools: &Value, took: Duration) -> Served {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let names = tools["tools"].as_array().into_iter().flatten();
    Served {
        server: format!("{} {}", text(&hello["serverInfo"]["name"]), text(&hello["serverInfo"]["version"])),
        protocol: text(&hello["protocolVersion"]),
        tools: names.map(|tool| text(&tool["name"])).collect(),
        took,
    }
}

/// Reads a server's lines in a separate thread.
fn lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!(pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                line.clear();
                if !text.is_empty() && send.send(text).is_err() {
                    break;
                }
            }
        });
    }
    receive
}

/// Waits for the answer to a request. Other messages of the server are skipped.
fn answer(lines: &Receiver<String>, id: u64, step: &'static str, began: Instant, patience: Duration) -> Result<Value, Trouble> {
    loop {
        let left = patience.saturating_sub(began.elapsed());
        let line = lines.recv_timeout(left).map_err(|error| match error {
            RecvTimeoutError::Timeout => Trouble::Late { step, patience },
            RecvTimeoutError::Disconnected => Trouble::Ended { step, last: String::new() },
        })?;
        if let Some(result) = result_of(&line, id, step)? {
            return Ok(result);
        }
    }
}

/// Returns the result in a message, or `None` if the message answers something else.
fn result_of(message: &str, id: u64, step: &'static str) -> Result<Option<Value>, Trouble> {
    let nonsense = || Trouble::Nonsense { step, shown: shortened(message) };
    let mut value: Value = serde_json::from_str(message).map_err(|_| nonsense())?;
    if value["jsonrpc"] != "2.0" {
        return Err(nonsense());
    }
    if value["id"] != id {
        return Ok(None);
    }
    if let Some(message) = value["error"]["message"].as_str() {
        return Err(Trouble::Refused { step, message: shortened(message) });
    }
    let result = value["result"].take();
    let is_result = match step {
        INITIALIZE => result["protocolVersion"].is_string(),
        _ => result["tools"].is_array(),
    };
    if is_result { Ok(Some(result)) } else { Err(nonsense()) }
}

fn shortened(text: &str) -> String {
    let line: String = text.trim().chars().take(SHOWN).collect();
    if line.len() < text.trim().len() { line + "…" } else { line }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Talks to a server that runs this shell script.
    fn talk(script: &str, patience_ms: u64) -> Result<Served, String> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        over_pipes(command, Duration::from_millis(patience_ms)).map_err(|trouble| trouble.to_string())
    }

    const HELLO: &str =
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"x","version":"1"}}}"#;

    #[test]
    fn server_that_answers_is_told_with_its_tools() {
        let script = format!(
            "read a; echo '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}'; echo '{HELLO}'; read b; read c; echo '{}'; cat >/dev/null",
            r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"recall"},{"name":"show"}]}}"#
        );
        let served = talk(&script, 60_000).unwrap();
        assert_eq!((served.server.as_str(), served.protocol.as_str()), ("x 1", "2025-06-18"));
        assert_eq!(served.tools, ["recall", "show"]);
    }

    #[test]
    fn every_other_server_is_told_apart() {
        let told = |script: &str| talk(script, 60_000).unwrap_err();
        assert_eq!(told("echo hello there; cat"), "answers `initialize` with \"hello there\", which is not a valid answer");
        assert_eq!(told("echo oh no >&2; exit 3"), "exits instead of answering `initialize`: oh no");
        assert_eq!(told("read a; exit 3"), "exits instead of answering `initialize`: exit code 3");
        assert_eq!(told(&format!("read a; echo '{HELLO}'; exit 0")), "exits instead of answering `tools/list`: exit code 0");
        assert_eq!(
            told(r#"read a; echo '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"go away"}}'; cat"#),
            "refuses `initialize`: go away"
        );
        assert_eq!(
            told(r#"echo '{"jsonrpc":"2.0","id":1,"result":{}}'; cat"#),
            "answers `initialize` with \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{}}\", which is not a valid answer"
        );
        assert_eq!(talk("exec sleep 60", 50).unwrap_err(), "does not answer `initialize` within 0 s");
        assert!(matches!(over_pipes(Command::new("/nowhere/at/all"), FAREWELL), Err(Trouble::NotStarted(_))));
    }
}
