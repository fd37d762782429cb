//! Windsurf: a server, hooks whose output it does not read, and rules.
//!
//! Windsurf's hooks: they report events, and Windsurf reads no answer.

use serde_json::{Map, Value, json};

use super::EventKind::*;
use super::entry::{Hook, NEEDED, NONE_IDLE, hooks, json_file, line, rules_block, rules_file, scoped, server};
use super::{AgentProfile, Field, Holds, HookEvent, Sample, sample};
use crate::install::command::Shell;
use crate::install::{Agent, FileEdit, Scope, Wanted};

const NAME: &str = "windsurf";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME],
    events: &[
        HookEvent::installed("pre_user_prompt", Prompt, 5),
        HookEvent::installed("post_cascade_response", End, 5),
        HookEvent::new("post_read_code", Progress),
        HookEvent::new("post_write_code", Progress),
        HookEvent::new("post_run_command", Progress),
        HookEvent::new("post_mcp_tool_use", Progress),
    ],
    fields: &[Field::new("trajectory_id", Holds::Session), Field::new("agent_action_name", Holds::Event)],
    sample,
    ..AgentProfile::UNKNOWN
};

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "agent_action_name": asked.event, "trajectory_id": sample::DOCTOR, "execution_id": sample::DOCTOR,
        "timestamp": asked.at_ms.to_string(),
    });
    let own = match asked.event {
        "pre_user_prompt" => json!({"tool_info": {"user_prompt": sample::PROMPT}}),
        "post_cascade_response" => json!({"tool_info": {"response": "done"}}),
        _ => json!({"tool_info": {"cwd": asked.directory}}),
    };
    sample::joined(all, own)
}

const FRONT_MATTER: &str = "---\ntrigger: always_on\n---\n\n";

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Windsurf",
    traces: |machine| vec![machine.at_home(".codeium/windsurf"), machine.configuration().join("Windsurf")],
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["refresh the servers in Windsurf's MCP panel"],
        Scope::Project => vec!["Windsurf supports servers per user only: `yore install windsurf` adds it"],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let user = machine.at_home(".codeium/windsurf");
    let hooks = hooks(NAME, |hook| call(hook, wanted));
    let mut edits = Vec::new();
    if wanted.scope == Scope::User {
        edits.push(json_file(user.join("mcp_config.json"), vec![server(wanted, &["mcpServers"], json!({}))]));
    }
    let place = scoped(wanted, || user.join("hooks.json"), ".windsurf/hooks.json");
    edits.extend(place.map(|path| json_file(path, vec![hooks])));
    match wanted.scope {
        Scope::User => edits.push(rules_block(user.join("memories").join("global_rules.md"))),
        Scope::Project => {
            edits.extend(machine.in_project(".windsurf/rules/yore.md").map(|path| rules_file(path, FRONT_MATTER)));
        }
    }
    edits
}

fn call(hook: &Hook, wanted: &Wanted<'_>) -> (&'static str, Value) {
    let mut call = Map::new();
    if wanted.machine.is_windows() {
        call.insert("powershell".to_owned(), line(wanted, Shell::Pwsh, NAME, hook.event).into());
    }
    call.insert("command".to_owned(), line(wanted, Shell::of(wanted.machine.platform), NAME, hook.event).into());
    call.insert("show_output".to_owned(), false.into());
    (hook.event, Value::Object(call))
}
