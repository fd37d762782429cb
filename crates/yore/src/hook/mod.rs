//! Runs a hook within its deadline: reports the event to the daemon or the spool, then answers the agent.
//!
//! - `call`: the command line, read without the parser of all other commands
//! - `input`: the input on standard input
//! - `settings`: the settings that a hook reads
//! - `answer`: the text for the agent, and its form
//! - this file: sends the event to the daemon, or leaves a file in the spool; then answers
//!
//! Capturing opens no database, no index and no model, and reads only the settings that it needs. Only an
//! event that may be answered goes further: it asks the daemon or, if none runs, the store as it is, with
//! full text and static table, by a deadline.
//!
//! A hook always exits with 0: an agent must never fail because of its memory, and every agent takes an empty
//! answer for "go on".

mod answer;
mod call;
mod input;
mod settings;

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
#[cfg(feature = "fuzz")]
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use yore_engine::llm::SILENT;

pub use call::Call;

use self::input::Input;
use self::settings::Place;
use crate::agents::{self, AgentProfile, DOCTOR};
use crate::config::{Config, Daemon, Environment, Layers, UserFile};
use crate::engine_handle::now;
use crate::ipc::client::{self, Client};
use crate::paths::{Paths, Platform};
use crate::render;
use crate::spool::{self, Event};

/// Longest time an agent waits for a hook.
const DEADLINE: Duration = Duration::from_millis(900);
/// The same when a session begins: the user is not typing yet.
const BRIEF_DEADLINE: Duration = Duration::from_millis(2_500);

/// Runs a hook; reports no errors.
pub fn run(call: &Call) -> ExitCode {
    // Not even a panic may reach the agent.
    panic::set_hook(Box::new(|_| {}));
    // An agent that yore runs as a model is not to be remembered, nor reminded.
    if std::env::var_os(SILENT).is_some() {
        return ExitCode::SUCCESS;
    }
    if let Ok(Some(wanted)) = panic::catch_unwind(|| capture(call)) {
        answer(wanted);
    }
    ExitCode::SUCCESS
}

/// Answers in time, or not at all. The thread ends with the process.
fn answer(wanted: answer::Wanted) {
    let deadline = if wanted.is_brief() { BRIEF_DEADLINE } else { DEADLINE };
    let silent = wanted.silent_output();
    let (send, receive) = sync_channel(1);
    let spawned = std::thread::Builder::new().spawn(move || {
        let output = panic::catch_unwind(AssertUnwindSafe(|| wanted.answer())).ok().flatten();
        drop(send.send(output));
    });
    let output = spawned.ok().and_then(|_| receive.recv_timeout(deadline).ok()).flatten();
    if let Some(output) = output.or(silent) {
        render::hook_output(&output);
    }
}

/// Passes an event on. Returns the questions to answer; `None` if there are none, or if the session must not
/// be captured.
fn capture(call: &Call) -> Option<answer::Wanted> {
    let profile = agents::named(call.agent.as_deref()?)?;
    let (input, said) = Input::read()?;
    let event = event(profile, call.event.as_deref(), &input)?;
    let paths = Paths::locate(Platform::HERE, &|name| std::env::var(name).ok());
    let directory = call.data_dir.clone().or_else(|| paths.data.clone())?;
    let is_doctor = event.session_id.as_deref() == Some(DOCTOR);
    let config = settings(call, &paths, event.cwd.as_deref())?;
    let place = settings::place(&config, event.cwd.as_deref(), &paths);
    if place == Place::Closed {
        return None;
    }
    if !directory.is_dir() {
        // A user who has put the hooks into an agent wants a memory, even without `up`.
        if config.daemon.is_used && config.daemon.autostart && place != Place::Unknown && !is_doctor {
            client::begin(&directory);
        }
        return None;
    }
    let client = if is_doctor {
        config.daemon.is_used.then(|| client::connect(&directory)).flatten()
    } else {
        hand_on(&directory, &event, &config.daemon)
    };
    // An event without a known directory is captured, and its reader decides what may be kept; it gets no
    // answer.
    if place == Place::Unknown {
        return None;
    }
    answer::Wanted::of(profile, event, input.agent_id, &said, &config, directory, client)
}

/// Sends the event to the daemon, or leaves a file; returns the connection to the daemon that took it.
fn hand_on(directory: &Path, event: &Event, daemon: &Daemon) -> Option<Client> {
    if daemon.is_used
        && let Some(mut client) = client::connect(directory)
        && client.tell(event)
    {
        return Some(client);
    }
    if spool::write(directory, event).is_ok() && daemon.is_used && daemon.autostart {
        client::ensure_started(directory);
    }
    None
}

/// Builds the event, with the agent that the input really comes from.
fn event(profile: &AgentProfile, name: Option<&str>, input: &Input) -> Option<Event> {
    let name = name.or(input.event.as_deref()).filter(|name| agents::kind_of(profile.source, name).is_some())?;
    // Other agents run the hooks that they find in Claude Code's settings. Their input identifies them;
    // Continue is recognized because it has no transcript to name.
    let agent = match (profile.source, input.speaker) {
        (agents::CLAUDE_CODE, Some(speaker)) => speaker,
        (agents::CLAUDE_CODE, None) if input.has_no_transcript => agents::CONTINUE,
        (source, _) => source,
    };
    let event = Event {
        version: spool::VERSION,
        agent: agent.to_owned(),
        event: name.to_owned(),
        session_id: input.session.clone(),
        transcript_path: input.transcript.clone(),
        cwd: input.directory.clone(),
        at_ms: now(),
        given: Vec::new(),
    };
    // Input without any of these does not come from a hook.
    (event.session_id.is_some() || event.transcript_path.is_some() || event.cwd.is_some()).then_some(event)
}

/// Parses an agent's input like a hook, and answers from a memory that does not exist. For the fuzzers.
#[cfg(feature = "fuzz")]
pub fn hear(agent: &str, name: Option<&str>, said: &[u8]) -> Option<String> {
    let profile = agents::named(agent)?;
    let input = Input::parse(said);
    let event = event(profile, name, &input)?;
    let nowhere = PathBuf::from("/nonexistent/yore");
    let wanted = answer::Wanted::of(profile, event, input.agent_id, said, &Config::default(), nowhere, None)?;
    let silent = wanted.silent_output();
    wanted.answer().or(silent)
}

/// Returns the agents and the events that a hook may be called with. For the fuzzers.
#[cfg(feature = "fuzz")]
pub fn callers() -> (Vec<&'static str>, Vec<&'static str>) {
    agents::callers()
}

fn settings(call: &Call, paths: &Paths, cwd: Option<&str>) -> Option<Config> {
    let environment: Environment = std::env::vars_os().collect();
    let user_file = UserFile::locate(&environment, paths.config.as_deref());
    let project_file = cwd.map(Path::new).filter(|cwd| cwd.is_absolute()).and_then(crate::settings::find_project_file);
    settings::read(&Layers {
        user_file: user_file.as_ref(),
        project_file: project_file.as_deref(),
        environment: &environment,
        flags: &call.settings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(agent_name: &str, event_name: Option<&str>, json: &str) -> Option<Event> {
        event(agents::named(agent_name)?, event_name, &Input::parse(json.as_bytes()))
    }

    #[test]
    fn what_each_agent_says_becomes_an_event() {
        let claude = r#"{"session_id":"5f0c","transcript_path":"/t/5f0c.jsonl","cwd":"/home/dev/tide","hook_event_name":"Stop","last_assistant_message":"done"}"#;
        let event = told("claude-code", Some("Stop"), claude).unwrap();
        assert_eq!((event.agent.as_str(), event.event.as_str()), ("claude-code", "Stop"));
        assert_eq!(event.session_id.as_deref(), Some("5f0c"));
        assert_eq!(event.transcript_path.as_deref(), Some("/t/5f0c.jsonl"));
        assert_eq!(event.cwd.as_deref(), Some("/home/dev/tide"));
        let cursor = r#"{"conversation_id":"c1","generation_id":"g","hook_event_name":"stop","workspace_roots":["/home/dev/tide","/x"],"user_email":"a@b.example"}"#;
        let event = told("cursor", None, cursor).unwrap();
        assert_eq!((event.agent.as_str(), event.event.as_str()), ("cursor", "stop"));
        assert_eq!((event.session_id.as_deref(), event.cwd.as_deref()), (Some("c1"), Some("/home/dev/tide")));
        let copilot = r#"{"timestamp":1,"cwd":"/home/dev/tide","sessionId":"s1"}"#;
        assert_eq!(told("copilot", Some("agentStop"), copilot).unwrap().agent, "copilot-cli");
    }

    #[test]
    fn claude_hook_inside_cursor_is_labelled_cursor() {
        for inside in [r#"{"session_id":"x","cursor_version":"3.1"}"#, r#"{"conversation_id":"x"}"#] {
            assert_eq!(told("claude-code", Some("Stop"), inside).unwrap().agent, "cursor");
        }
        assert_eq!(told("claude", Some("Stop"), r#"{"session_id":"x"}"#).unwrap().agent, "claude-code");
        assert_eq!(told("claude", Some("Stop"), r#"{"session_id":"x","transcript_path":""}"#).unwrap().agent, "continue");
        assert_eq!(told("claude", None, r#"{"sessionId":"x","hookEventName":"Stop"}"#).unwrap().agent, "copilot-chat");
    }

    #[test]
    fn unknown_agents_and_events_and_empty_words_are_no_event() {
        assert_eq!(told("somebody", Some("Stop"), r#"{"session_id":"x"}"#), None);
        assert_eq!(told("claude-code", Some("Frobnicate"), r#"{"session_id":"x"}"#), None);
        assert_eq!(told("claude-code", None, r#"{"session_id":"x"}"#), None);
        assert_eq!(told("claude-code", Some("Stop"), "{}"), None);
        assert_eq!(told("claude-code", Some("Stop"), "garbage"), None);
    }
}
