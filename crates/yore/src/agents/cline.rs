//! Cline: a server in its settings, executables as hooks, a plugin for its newer programs, and rules. The extension reads the
//! output of its hooks, which are off until the user switches them on; so there are rules.
//!
//! Cline's hooks. Its extension runs executables named after the events. Its newer programs run hooks
//! detached and ignore their output, so there yore's plugin delivers the text.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{
    NEEDED, NONE_IDLE, extension_settings, extension_traces, json_file, rules_block, rules_file, scoped, server, whole,
};
use super::opencode::PLUGIN_FIELDS;
use super::plugin::{CLINE, Plugin};
use super::{AgentProfile, Field, Holds, HookEvent, Output, Sample, sample};
use crate::install::edit::whole::Role;
use crate::install::machine::Machine;
use crate::install::{Agent, FileEdit, Part, Purpose, Scope, Wanted};

const NAME: &str = "cline";

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME],
    events: &[
        HookEvent::installed("TaskStart", SessionStart, 5),
        HookEvent::installed("TaskResume", SessionStart, 5),
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::installed("PreCompact", BeforeCompaction, 5),
        HookEvent::installed("TaskComplete", End, 5),
        HookEvent::installed("TaskCancel", End, 5),
        HookEvent::new("PreToolUse", BeforeTool),
        HookEvent::new("PostToolUse", AfterTool),
    ],
    fields: &[
        Field::new("taskId", Holds::Session),
        Field::new("task_id", Holds::Session),
        Field::new("sessionContext", Holds::SessionContext),
        Field::new("hookName", Holds::Event),
        Field::new("workspaceRoots", Holds::Roots),
        Field::new("agent_id", Holds::AgentId),
        Field::new("parent_agent_id", Holds::ParentAgent),
    ],
    output: Some(Output::Cancel),
    questions: |event, kind| match kind {
        // Cline's newer programs write event names this way.
        _ if event.words()["hookName"].as_str().is_some_and(|name| name.contains('_')) => Vec::new(),
        SessionStart => event.start(),
        Prompt => event.prompt(),
        BeforeCompaction | AfterCompaction => event.compacted(),
        BeforeTool | AfterTool | ToolFailure | SubagentStart | End | Progress => Vec::new(),
    },
    sample,
    ..AgentProfile::UNKNOWN
};

/// Yore's plugin in Cline's newer programs.
pub(super) const PLUGIN: AgentProfile = AgentProfile {
    source: NAME,
    names: &["cline-plugin"],
    is_plugin: true,
    events: &[
        HookEvent::installed("UserPromptSubmit", Prompt, 5),
        HookEvent::installed("tool.execute.after", AfterTool, 5),
        HookEvent::installed("TaskComplete", End, 5),
        HookEvent::new("SubagentStart", SubagentStart),
    ],
    fields: PLUGIN_FIELDS,
    file_tools: &["apply_patch", "editor", "read_files"],
    shells: &["execute_command", "run_commands"],
    output: Some(Output::Plain),
    reads_text: &[Prompt, AfterTool, SubagentStart, End],
    questions: |event, kind| match kind {
        Prompt if event.agent_id.is_none() => event.prompt_with_brief(),
        Prompt => event.prompt(),
        AfterTool => event.files_or_failure(),
        SubagentStart => event.sub_agent(errands),
        SessionStart | BeforeTool | ToolFailure | BeforeCompaction | AfterCompaction | End | Progress => Vec::new(),
    },
    sample: |asked| {
        let all = json!({"session_id": sample::DOCTOR, "hook_event_name": asked.event, "cwd": asked.directory});
        sample::joined(all, if asked.event == "UserPromptSubmit" { json!({"prompt": sample::PROMPT}) } else { json!({}) })
    },
    ..AgentProfile::UNKNOWN
};

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({
        "clineVersion": "3", "hookName": asked.event, "timestamp": asked.at_ms.to_string(), "taskId": sample::DOCTOR,
        "workspaceRoots": [asked.directory], "userId": "",
    });
    let own = match asked.event {
        "TaskStart" => {
            json!({"taskStart": {"taskMetadata": {"taskId": sample::DOCTOR, "ulid": "", "initialTask": sample::PROMPT}}})
        }
        "UserPromptSubmit" => json!({"userPromptSubmit": {"prompt": sample::PROMPT, "attachments": []}}),
        _ => json!({}),
    };
    sample::joined(all, own)
}

const EXTENSION: &str = "saoudrizwan.claude-dev";
const HOOK: &str = include_str!("assets/cline-hook.sh");
const PROGRAM: &str = "yore='@YORE@'";
const CALL: &str = "\"$yore\" hook cline \"${0##*/}\"";
const PLUGIN_FILE: Plugin = Plugin { title: "Cline", install: "cline", agent: "cline-plugin", body: CLINE };

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &[],
    title: "Cline",
    traces: |machine| {
        let mut traces = extension_traces(machine, EXTENSION);
        traces.push(data(machine));
        traces
    },
    edits,
    advice: |wanted| {
        let mut advice = Vec::new();
        if runs_executables(wanted) {
            advice.push("Cline's extension runs hooks only where its setting for them is on");
        }
        if wanted.scope == Scope::Project {
            advice.push("Cline supports servers per user only: `yore install cline` adds it");
        }
        advice
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

/// Returns the directory where its command line keeps its data.
fn data(machine: &Machine<'_>) -> PathBuf {
    machine.named("CLINE_DATA_DIR").unwrap_or_else(|| machine.directory("CLINE_DIR", ".cline").join("data"))
}

/// Returns whether executable hooks are wanted. The newer programs have the plugin and ignore the output of
/// these hooks. On Windows Cline runs none.
fn runs_executables(wanted: &Wanted<'_>) -> bool {
    let machine = wanted.machine;
    let has_extension = extension_traces(machine, EXTENSION).iter().any(|trace| trace.exists());
    !machine.is_windows() && (wanted.purpose == Purpose::Take || has_extension || !data(machine).is_dir())
}

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let machine = wanted.machine;
    let mut edits = Vec::new();
    // If the newer programs were never used, their folder is not created.
    if data(machine).is_dir() || wanted.purpose == Purpose::Take {
        let place =
            scoped(wanted, || machine.directory("CLINE_DIR", ".cline").join("plugins").join("yore.js"), ".cline/plugins/yore.js");
        edits.extend(place.map(|path| PLUGIN_FILE.file(path, wanted)));
    }
    if wanted.scope == Scope::User {
        const FILE: &str = "cline_mcp_settings.json";
        let is_elsewhere = data(machine).is_dir();
        let mut settings = extension_settings(wanted, EXTENSION, FILE, is_elsewhere);
        if is_elsewhere {
            settings.push(data(machine).join("settings").join(FILE));
        }
        edits.extend(settings.into_iter().map(|path| json_file(path, vec![server(wanted, &["mcpServers"], json!({}))])));
    }
    let folder = machine.in_project(".clinerules");
    let is_file = wanted.scope == Scope::Project && folder.as_ref().is_some_and(|folder| folder.is_file());
    if runs_executables(wanted) && !is_file {
        for (event, _) in super::named(NAME).into_iter().flat_map(AgentProfile::installed) {
            let place =
                scoped(wanted, || machine.at_home("Documents/Cline/Hooks").join(event), &format!(".clinerules/hooks/{event}"));
            edits.extend(place.map(|path| whole(path, Part::Hooks, text(wanted), Role::Hook(event))));
        }
    }
    if is_file {
        edits.extend(folder.map(rules_block));
    } else {
        let place = scoped(wanted, || machine.at_home("Documents/Cline/Rules/yore.md"), ".clinerules/yore.md");
        edits.extend(place.map(|path| rules_file(path, "")));
    }
    edits
}

fn text(wanted: &Wanted<'_>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let extra: Vec<String> = wanted.program.mcp().iter().skip(1).map(|argument| format!(" {}", quoted(argument))).collect();
    HOOK.replacen(PROGRAM, &format!("yore={}", quoted(&wanted.program.path)), 1).replacen(
        CALL,
        &format!("{CALL}{}", extra.concat()),
        1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_has_the_places_that_are_filled_in() {
        assert_eq!(HOOK.matches(PROGRAM).count(), 1);
        assert_eq!(HOOK.matches(CALL).count(), 1);
        assert!(HOOK.contains("ritten by `yore install"));
    }
}
