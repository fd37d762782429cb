//! Codex: a server in `config.toml`, hooks in `hooks.json` beside it.
//!
//! Codex runs a hook only while the user trusts its definition, and records this in `config.toml` as
//! `[hooks.state."FILE:EVENT:GROUP:CALL"]` with a hash. Key and hash were observed in Codex 0.169, whose
//! `hooks/list` shows both.
//!
//! Codex's hooks: the events of Claude Code, with Codex's own tool names.

use std::path::Path;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toml::Table;

use super::EventKind::*;
use super::entry::{Hook, NEEDED, Unit, hook_names, hooks, json_file, scoped, skill};
use super::{AgentEvent, AgentProfile, EventKind, HookEvent, Output, Question};
use crate::install::command::{is_hook, words};
use crate::install::edit::Content;
use crate::install::edit::toml::Server;
use crate::install::machine::Machine;
use crate::install::{Agent, FileEdit, IdleHook, Scope, Wanted, file};

const NAME: &str = "codex";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "codex-cli"],
    events: &[
        HookEvent::installed("SessionStart", SessionStart, 10),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::matching("PreToolUse", BeforeTool, 5, "Bash|apply_patch"),
        HookEvent::matching("PostToolUse", AfterTool, 5, "Bash"),
        HookEvent::installed("SubagentStart", SubagentStart, 5),
        HookEvent::installed("Stop", End, 5),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("SessionEnd", End, 2),
        HookEvent::new("SubagentStop", End),
        HookEvent::new("PostCompact", AfterCompaction),
        HookEvent::new("PermissionRequest", Progress),
    ],
    file_tools: &["apply_patch"],
    shells: &["bash", "exec_command", "shell"],
    output: Some(Output::Specific),
    questions,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    match kind {
        SessionStart => event.start(),
        Prompt => event.prompt(),
        BeforeTool => event.files_or_command(),
        AfterTool => event.failure(),
        SubagentStart => event.sub_agent(errands),
        BeforeCompaction | AfterCompaction => event.compacted_before_start(),
        End => event.turn_ended(),
        ToolFailure | Progress => Vec::new(),
    }
}

/// Returns the tasks that a transcript item gives to sub-agents, and true if no earlier item can hold an open
/// task.
fn errands(line: &Value) -> (Vec<String>, bool) {
    let item = &line["payload"];
    let is_before = item["type"].as_str().is_some_and(|kind| kind.ends_with("_output") || kind == "user_message");
    let arguments = item["arguments"].as_str().filter(|_| item["name"].as_str() == Some("spawn_agent"));
    let arguments: Option<Value> = arguments.and_then(|arguments| serde_json::from_str(arguments).ok());
    (arguments.and_then(|arguments| arguments["message"].as_str().map(str::to_owned)).into_iter().collect(), is_before)
}

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["codex-cli"],
    title: "Codex",
    traces: |machine| vec![machine.directory("CODEX_HOME", ".codex")],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["Codex runs hooks only after you trust them: type /hooks in Codex"],
        Scope::Project => vec![
            "Codex runs hooks only after you trust them: type /hooks in Codex",
            "Codex reads a project's settings only where the project is trusted",
        ],
    },
    needless: NEEDED,
    idle_hooks,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let group = |hook: &Hook| {
        let (event, mut group) = hook.group(wanted, NAME, Unit::Seconds);
        if machine.is_windows() {
            let command = group["hooks"][0]["command"].clone();
            group["hooks"][0]["commandWindows"] = command;
        }
        (event, group)
    };
    let hooks = hooks(NAME, group);
    let mcp = Server { table: "mcp_servers", program: wanted.program.path.clone(), args: wanted.program.mcp() };
    let place = |name: &str| scoped(wanted, || machine.directory("CODEX_HOME", ".codex").join(name), &format!(".codex/{name}"));
    let mut edits = Vec::new();
    edits.extend(place("config.toml").map(|path| FileEdit { path, content: Content::Toml(mcp), is_own: false }));
    edits.extend(place("hooks.json").map(|path| json_file(path, vec![hooks])));
    edits.extend(scoped(wanted, || machine.directory("CODEX_HOME", ".codex"), ".codex").map(|home| skill(wanted, &home)));
    edits
}

/// Returns the hooks of `hooks.json` that the user has not trusted, has trusted in another form, or has
/// switched off.
fn idle_hooks(machine: &Machine<'_>, path: &Path) -> Vec<IdleHook> {
    let Ok(Some(text)) = file::read(path) else { return Vec::new() };
    let Ok(Value::Object(all)) = serde_json::from_str(&text) else { return Vec::new() };
    let settings = file::read(&machine.directory("CODEX_HOME", ".codex").join("config.toml")).ok().flatten();
    let settings = settings.and_then(|text| text.parse::<Table>().ok()).unwrap_or_default();
    let states = settings.get("hooks").and_then(|hooks| hooks.get("state"));
    // Codex may use the path of the file behind a link.
    let files = [Some(path.to_path_buf()), path.canonicalize().ok()];
    let mut idle = Vec::new();
    for (event, groups) in all.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for (at_group, group) in groups.as_array().into_iter().flatten().enumerate() {
            for (at_call, call) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                if !is_hook(&words(call["command"].as_str().unwrap_or_default()), hook_names(NAME)) {
                    continue;
                }
                let place = format!("{}:{at_group}:{at_call}", snake_case(event));
                let state = files.iter().flatten().find_map(|file| states?.get(format!("{}:{place}", file.display()).as_str()));
                let trusted = state.and_then(|state| state.get("trusted_hash")?.as_str());
                let (why, remedy) = match trusted {
                    _ if state.and_then(|state| state.get("enabled")?.as_bool()) == Some(false) => {
                        ("switched off in Codex", "type /hooks in Codex to switch them on")
                    }
                    None => ("not trusted yet", "type /hooks in Codex and trust them"),
                    // On Windows a hook has two command lines, and it is not known which one Codex hashes.
                    Some(hash) if !machine.is_windows() && hash != trust_hash(event, group, call) => {
                        ("changed since they were trusted", "type /hooks in Codex and trust them as they are now")
                    }
                    Some(_) => continue,
                };
                idle.push(IdleHook { event: event.clone(), why, remedy });
            }
        }
    }
    idle
}

/// Converts a name such as `SessionStart` to `session_start`.
fn snake_case(event: &str) -> String {
    let mut name = String::new();
    for letter in event.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Returns the hash by which Codex recognizes a hook: SHA-256 of its definition as JSON, with sorted names
/// and the defaults that Codex uses for missing keys.
fn trust_hash(event: &str, group: &Value, call: &Value) -> String {
    let usual = if event == "SessionEnd" { 1 } else { 600 };
    let timeout = call.get("timeout").and_then(Value::as_u64).unwrap_or(usual).max(1);
    let is_async = call.get("async").and_then(Value::as_bool).unwrap_or(false);
    let mut handler = Map::new();
    handler.insert("async".to_owned(), is_async.into());
    handler.insert("command".to_owned(), call["command"].clone());
    handler.extend(call.get("statusMessage").map(|message| ("statusMessage".to_owned(), message.clone())));
    handler.insert("timeout".to_owned(), timeout.into());
    handler.insert("type".to_owned(), "command".into());
    let mut definition = Map::new();
    definition.insert("event_name".to_owned(), snake_case(event).into());
    definition.insert("hooks".to_owned(), json!([handler]));
    // These two events have no matcher.
    let has_matcher = !matches!(event, "UserPromptSubmit" | "Stop");
    definition.extend(group.get("matcher").filter(|_| has_matcher).map(|matcher| ("matcher".to_owned(), matcher.clone())));
    let hash = Sha256::digest(Value::Object(definition).to_string());
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Platform;

    #[test]
    fn hash_is_the_one_that_codex_tells_of_the_same_hook() {
        let call = |event: &str| json!({"type": "command", "timeout": 5, "command": format!("[ ! -x \"/home/dev/bin/yore\" ] || \"/home/dev/bin/yore\" hook codex {event}")});
        let group = json!({"matcher": "Bash|apply_patch"});
        for (event, group, expected) in [
            ("Stop", json!({}), "sha256:aed8218c8a58d2f16d45e90248e2f612171d5b45b609df768485baab61b3ffdc"),
            ("PreToolUse", group, "sha256:b4ce7f2a8d421499c85011dead4f7db6f52518723932266348b3a7f5901eaeda"),
        ] {
            assert_eq!(trust_hash(event, &group, &call(event)), expected);
        }
    }
    #[test]
    fn hooks_that_are_trusted_as_they_are_run() {
        let home = tempfile::tempdir().unwrap();
        let machine = Machine { platform: Platform::Xdg, home: home.path().to_path_buf(), project: None, variable: &|_| None };
        let path = machine.at_home(".codex/hooks.json");
        let call = json!({"type": "command", "command": "/home/dev/bin/yore hook codex Stop", "statusMessage": "recalling"});
        let group = json!({"matcher": "any", "hooks": [call]});
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, json!({"hooks": {"Stop": [group]}}).to_string()).unwrap();
        let trust = |hash: &str| {
            let text = format!("[hooks.state.{:?}]\ntrusted_hash = {hash:?}\n", format!("{}:stop:0:0", path.display()));
            std::fs::write(machine.at_home(".codex/config.toml"), text).unwrap();
            idle_hooks(&machine, &path).into_iter().map(|hook| hook.why).collect::<Vec<_>>()
        };
        assert_eq!(trust(&trust_hash("Stop", &group, &call)), [""; 0]);
        assert_eq!(trust("sha256:00"), ["changed since they were trusted"]);
    }
}
