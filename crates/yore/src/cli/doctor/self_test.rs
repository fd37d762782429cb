//! Runs every hook, server and status line as its agent does.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use yore_engine::Severity;

use super::daemon::milliseconds;
use super::handshake::{self, Served, Trouble};
use super::process::{self, Ending, Ran};
use crate::agents::{self, AgentProfile, DOCTOR, PROJECT_VARIABLE, SESSION_VARIABLE, Sample};
use crate::engine_handle::now;
use crate::health::Told;
use crate::install::command::words;
use crate::install::found::Installed;
use crate::install::what::{Call, What};
use crate::render::text;

/// Maximum wait for a hook, even if its agent would wait longer.
const MOST_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait for a server.
const SERVER_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait for a status line.
const LINE_PATIENCE: Duration = Duration::from_secs(2);
/// Time after which a hook counts as slow.
const SLOW: Duration = Duration::from_secs(3);
/// Number of characters of a program's output that are shown.
const SHOWN: usize = 80;

/// Runs everything in this directory.
pub(super) fn run(all: &[Installed], directory: &Path) -> Vec<Told> {
    let mut told = hooks(all, directory);
    told.extend(servers(all, directory));
    told.extend(all.iter().filter_map(|one| rest(one, directory)));
    told
}

/// A hook that answered.
struct Answered<'i> {
    event: &'i str,
    took: Duration,
    gave: usize,
}

/// Hooks of a file with the same failure.
struct Failed<'i> {
    agent: &'i str,
    file: &'i Path,
    events: Vec<&'i str>,
    severity: Severity,
    what: String,
}

/// Returns the place of an agent's hooks: a file, or a folder with a file for each.
fn place(one: &Installed) -> &Path {
    match &one.what {
        What::Hook { call: Call::File { .. }, .. } => one.file.parent().unwrap_or(&one.file),
        _ => &one.file,
    }
}

/// Runs every hook. Successes are reported in one line for each place, failures in one for each cause.
fn hooks(all: &[Installed], directory: &Path) -> Vec<Told> {
    let mut failures: Vec<Failed<'_>> = Vec::new();
    let mut files: Vec<(&str, &Path, Vec<Answered<'_>>)> = Vec::new();
    for one in all {
        let runs: Vec<(&str, Call, Option<Duration>)> = match &one.what {
            What::Hook { event, call, timeout, .. } => vec![(event, call.clone(), *timeout)],
            What::Plugin { program, args } => {
                let events = agents::plugin_of(one.agent)
                    .into_iter()
                    .flat_map(|plugin| plugin.installed().map(|(event, _)| (plugin.names[0], event)));
                events.map(|(agent, event)| (event, plugin_call(program, agent, event, args), None)).collect()
            }
            _ => continue,
        };
        let place = place(one);
        let at = files.iter().position(|(agent, file, _)| *agent == one.agent && *file == place).unwrap_or_else(|| {
            files.push((one.agent, place, Vec::new()));
            files.len() - 1
        });
        for (event, call, timeout) in runs {
            match run_hook(one.agent, event, &call, timeout, directory) {
                Ok(answered) => files[at].2.push(answered),
                Err((severity, what)) => {
                    let is_like = |failed: &&mut Failed<'_>| {
                        (failed.agent, failed.file, failed.severity) == (one.agent, place, severity) && failed.what == what
                    };
                    match failures.iter_mut().find(is_like) {
                        Some(failed) => failed.events.push(event),
                        None => failures.push(Failed { agent: one.agent, file: place, events: vec![event], severity, what }),
                    }
                }
            }
        }
    }
    let mut told: Vec<Told> = failures.into_iter().map(of_failed).collect();
    for (agent, file, answered) in files.into_iter().filter(|(_, _, answered)| !answered.is_empty()) {
        told.push(all_well(agent, file, &answered));
    }
    told
}

fn of_failed(failed: Failed<'_>) -> Told {
    let Failed { agent, file, events, severity, what } = failed;
    let each = if events.len() == 1 { events[0].to_owned() } else { format!("each of {}", events.join(", ")) };
    Told::new("hook", severity, format!("{agent}: {each} {what}"))
        .remedy(format!("see {}; `yore install {agent}` enters it anew", file.display()))
        .fact("agent", agent)
        .fact("events", events)
        .fact("file", file.display().to_string())
}

fn all_well(agent: &str, file: &Path, answered: &[Answered<'_>]) -> Told {
    let count = text::counted(answered.len() as u64, "hook");
    let verb = if answered.len() == 1 { "answers" } else { "answer" };
    let each: Vec<String> = answered
        .iter()
        .map(|hook| {
            let gave =
                if hook.gave > 0 { format!(" with {}", text::counted(hook.gave as u64, "character")) } else { String::new() };
            format!("{} {}{gave}", hook.event, milliseconds(hook.took))
        })
        .collect();
    let hooks: Vec<Value> = answered
        .iter()
        .map(|hook| json!({"event": hook.event, "ms": hook.took.as_secs_f64() * 1e3, "gave_characters": hook.gave}))
        .collect();
    Told::new("hook", Severity::Fine, format!("{agent}: {count} {verb}: {}", each.join(", ")))
        .fact("agent", agent)
        .fact("file", file.display().to_string())
        .fact("hooks", hooks)
}

/// Returns the call of a hook by yore's plugin.
fn plugin_call(program: &str, agent: &str, event: &str, more: &[String]) -> Call {
    let args = [&["hook", agent, event].map(str::to_owned), more].concat();
    Call::Program { program: program.to_owned(), args }
}

/// Runs a hook as its agent would, and checks its answer.
fn run_hook<'i>(
    agent: &str,
    event: &'i str,
    call: &Call,
    timeout: Option<Duration>,
    directory: &Path,
) -> Result<Answered<'i>, (Severity, String)> {
    let patience = timeout.unwrap_or(MOST_PATIENCE).min(MOST_PATIENCE);
    let profile = agents::named(&spoken(call).unwrap_or_else(|| agent.to_owned()));
    let said =
        profile.map(|profile| (profile.sample)(&Sample { event, directory, at_ms: now() }).to_string()).unwrap_or_default();
    let ran = process::run(command(call, directory), said.as_bytes(), patience);
    let broken = |what: String| Err((Severity::Broken, what));
    if let Err(what) = ended_well(&ran, patience) {
        return broken(what);
    }
    let answer = ran.stdout.trim();
    let gave = match understood(profile, event, answer) {
        Ok(gave) => gave,
        Err(what) => return broken(what),
    };
    if ran.took > SLOW {
        return Err((Severity::Warning, format!("takes {}", milliseconds(ran.took))));
    }
    Ok(Answered { event, took: ran.took, gave })
}

/// Returns the agent that a call names: some have another name in their hooks.
fn spoken(call: &Call) -> Option<String> {
    let words = match call {
        Call::Line(line) => words(line),
        Call::Program { args, .. } => args.clone(),
        Call::File { .. } => return None,
    };
    let mut words = words.into_iter().skip_while(|word| word != "hook");
    words.next();
    words.next()
}

fn ended_well(ran: &Ran, patience: Duration) -> Result<(), String> {
    let last =
        ran.stderr.lines().find(|line| !line.trim().is_empty()).map(|line| format!(": {}", shortened(line))).unwrap_or_default();
    match &ran.ending {
        Ending::Ended(Some(0)) => Ok(()),
        Ending::Ended(Some(code)) => Err(format!("ends with exit code {code}{last}")),
        Ending::Ended(None) => Err(format!("was ended by a signal{last}")),
        Ending::Late => Err(format!("does not answer within {}", seconds(patience))),
        Ending::NotStarted(error) => Err(format!("cannot be started: {error}")),
    }
}

/// Returns how many characters an answer gives to the agent, or why the agent cannot read it.
fn understood(profile: Option<&AgentProfile>, event: &str, answer: &str) -> Result<usize, String> {
    if answer.is_empty() {
        return Ok(0);
    }
    let kind = profile.and_then(|profile| profile.kind_of(event));
    let may_be_text = profile.zip(kind).is_some_and(|(profile, kind)| profile.reads_text.contains(&kind));
    let value: Value = match serde_json::from_str(answer) {
        Ok(value @ Value::Object(_)) => value,
        _ if may_be_text && !answer.starts_with('{') => return Ok(answer.chars().count()),
        _ => return Err(format!("answers {:?}, which the agent does not understand", shortened(answer))),
    };
    let is_no = |value: &Value| value == &json!(false) || matches!(value.as_str(), Some("block" | "deny"));
    let inner = &value["hookSpecificOutput"];
    let decisions = [&value["continue"], &value["decision"], &value["permission"], &inner["permissionDecision"]];
    if decisions.into_iter().any(is_no) || value["cancel"] == true {
        return Err("keeps the agent from going on".to_owned());
    }
    let texts =
        [&inner["additionalContext"], &value["additionalContext"], &value["additional_context"], &value["contextModification"]];
    Ok(texts.into_iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum())
}

/// Returns the command that an agent would start.
fn command(call: &Call, directory: &Path) -> Command {
    let mut command = match call {
        Call::Program { program, args } => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        Call::Line(line) => shell(line),
        Call::File { file, .. } => Command::new(file),
    };
    if directory.is_dir() {
        command.current_dir(directory);
    }
    command.env(PROJECT_VARIABLE, directory).env(SESSION_VARIABLE, DOCTOR);
    command
}

#[cfg(not(windows))]
fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

#[cfg(windows)]
fn shell(line: &str) -> Command {
    use std::os::windows::process::CommandExt;
    if line.starts_with('&') {
        let mut command = Command::new("powershell");
        command.args(["-NoProfile", "-Command", line]);
        return command;
    }
    let mut command = Command::new("cmd");
    // The line is passed unchanged: its reader supports no other quotes.
    command.arg("/C").raw_arg(line);
    command
}

/// A server as entered: program, arguments, variables.
type Server<'i> = (&'i str, &'i [String], &'i [(String, String)]);

/// Requests the tools of every server. A server that several agents start is asked once.
fn servers(all: &[Installed], directory: &Path) -> Vec<Told> {
    let mut servers: Vec<(Server<'_>, BTreeSet<&str>, &Path)> = Vec::new();
    for one in all {
        let What::Mcp { program, args, env } = &one.what else { continue };
        let server: Server<'_> = (program, args, env);
        match servers.iter_mut().find(|(known, ..)| *known == server) {
            Some((_, agents, _)) => {
                agents.insert(one.agent);
            }
            None => servers.push((server, BTreeSet::from([one.agent]), &one.file)),
        }
    }
    servers
        .into_iter()
        .map(|((program, args, env), agents, file)| {
            let mut command = Command::new(program);
            command.args(args).envs(env.iter().map(|(name, value)| (name, value)));
            if directory.is_dir() {
                command.current_dir(directory);
            }
            let agents: Vec<&str> = agents.into_iter().collect();
            of_server(&agents, file, handshake::over_pipes(command, SERVER_PATIENCE))
        })
        .collect()
}

fn of_server(agents: &[&str], file: &Path, outcome: Result<Served, Trouble>) -> Told {
    let names = agents.join(", ");
    let told = match outcome {
        Ok(served) if served.tools.is_empty() => {
            Told::new("mcp", Severity::Broken, format!("{names}: {} has no tools", served.server))
        }
        Ok(served) => {
            let tools = text::counted(served.tools.len() as u64, "tool");
            let text = format!("{names}: {} answers in {} with {tools}", served.server, milliseconds(served.took));
            Told::new("mcp", Severity::Fine, text)
                .fact("ms", served.took.as_secs_f64() * 1e3)
                .fact("protocol", served.protocol)
                .fact("tools", served.tools)
        }
        Err(trouble) => Told::new("mcp", Severity::Broken, format!("{names}: the server {trouble}")).remedy(format!(
            "see {}; `yore install {}` enters it anew",
            file.display(),
            agents[0]
        )),
    };
    told.fact("agents", agents).fact("file", file.display().to_string())
}

/// Checks a status line, or reports a file that cannot be read.
fn rest(one: &Installed, directory: &Path) -> Option<Told> {
    let file = one.file.display();
    match &one.what {
        What::StatusLine { call } => {
            let said = json!({
                "hook_event_name": "Status", "session_id": DOCTOR, "cwd": directory,
                "workspace": {"current_dir": directory, "project_dir": directory}, "model": {"id": "", "display_name": ""},
            });
            let ran = process::run(command(call, directory), said.to_string().as_bytes(), LINE_PATIENCE);
            let told = match ended_well(&ran, LINE_PATIENCE) {
                Ok(()) if ran.stdout.trim().is_empty() => {
                    Told::new("status-line", Severity::Broken, format!("{}: the status line is empty", one.agent))
                }
                Ok(()) => {
                    let line = shortened(ran.stdout.lines().next().unwrap_or_default());
                    Told::new("status-line", Severity::Fine, format!("{}: {line:?} in {}", one.agent, milliseconds(ran.took)))
                }
                Err(what) => Told::new("status-line", Severity::Broken, format!("{}: the status line {what}", one.agent))
                    .remedy(format!("see {file}; `yore install {}` enters it anew", one.agent)),
            };
            Some(told.fact("agent", one.agent).fact("ms", ran.took.as_secs_f64() * 1e3))
        }
        What::Unreadable(problem) => Some(
            Told::new("agents", Severity::Warning, format!("{}: {file} cannot be read: {problem}", one.agent))
                .remedy("if the agent cannot read it either, mend it by hand")
                .fact("agent", one.agent),
        ),
        What::Rules | What::Skill | What::Hook { .. } | What::Mcp { .. } | What::Plugin { .. } => None,
    }
}

/// Formats a duration as `5 s`, or `0.5 s`.
fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{:.1} s", time.as_secs_f64()) }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    let line: String = text.chars().take(SHOWN).collect();
    if line.len() < text.len() { line + "…" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_as_each_agent_would() {
        let understood = |agent: &str, event: &str, answer: &str| understood(agents::named(agent), event, answer);
        assert_eq!(understood("claude-code", "Stop", ""), Ok(0));
        assert_eq!(understood("claude-code", "SessionStart", "words"), Ok(5));
        assert_eq!(understood("opencode", "chat.message", "words"), Ok(5));
        assert_eq!(understood("kilo", "chat.message", "words"), Ok(5));
        let given = r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"four"}}"#;
        assert_eq!(understood("codex", "SessionStart", given), Ok(4));
        assert_eq!(understood("cursor", "sessionStart", r#"{"additional_context":"four"}"#), Ok(4));
        assert_eq!(understood("cline", "TaskStart", r#"{"cancel":false,"contextModification":"four"}"#), Ok(4));
        assert_eq!(understood("cursor", "beforeSubmitPrompt", r#"{"continue":true}"#), Ok(0));
        assert!(understood("codex", "SessionStart", "words").is_err(), "only JSON is understood");
        assert!(understood("claude-code", "UserPromptSubmit", "{words").is_err());
        for no in [
            r#"{"decision":"block"}"#,
            r#"{"continue":false}"#,
            r#"{"cancel":true}"#,
            r#"{"permission":"deny"}"#,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#,
        ] {
            assert_eq!(understood("claude-code", "PreToolUse", no).unwrap_err(), "keeps the agent from going on");
        }
    }

    #[test]
    fn times_are_told_as_they_were_asked_for() {
        assert_eq!(seconds(Duration::from_secs(5)), "5 s");
        assert_eq!(seconds(Duration::from_millis(1_500)), "1.5 s");
    }
}
