//! Copilot CLI: a server and hooks; instructions, because not every version passes on the output of hooks.
//!
//! Copilot CLI's hooks. Which answers it reads depends on its version.

use serde_json::{Map, Value, json};

use super::EventKind::*;
use super::claude_code::errands;
use super::entry::{
    COPILOT, Hook, NEEDED, NONE_IDLE, Unit, hook_line, hooks, json_file, own_json_file, rules_block, rules_file, scoped,
};
use super::event::brief;
use super::{AgentEvent, AgentProfile, EventKind, Field, Holds, HookEvent, Moment, Output, Question, Sample, sample};
use crate::install::command::Shell;
use crate::install::edit::entries::Entry;
use crate::install::{Agent, FileEdit, Scope, Wanted};

const NAME: &str = "copilot-cli";
/// First version that passes a hook's answer to a prompt on to the model and keeps it with the prompt.
const HEARS_PROMPTS: [u32; 3] = [1, 0, 65];

pub(super) const PROFILE: AgentProfile = AgentProfile {
    source: NAME,
    names: &[NAME, "copilot"],
    events: &[
        HookEvent::installed("sessionStart", SessionStart, 10),
        HookEvent::installed("userPromptSubmitted", Prompt, 5),
        HookEvent::installed("preToolUse", BeforeTool, 5),
        HookEvent::installed("postToolUse", AfterTool, 5),
        HookEvent::installed("subagentStart", SubagentStart, 5),
        HookEvent::installed("preCompact", BeforeCompaction, 5),
        HookEvent::installed("agentStop", End, 5),
        HookEvent::installed("sessionEnd", End, 5),
        HookEvent::new("subagentStop", End),
        HookEvent::new("errorOccurred", Progress),
    ],
    fields: &[
        Field::new("sessionId", Holds::Session),
        Field::new("transcriptPath", Holds::Transcript),
        Field::new("cwd", Holds::Directory),
        Field::new("hookName", Holds::Event),
        Field::new("agentId", Holds::AgentId),
        Field::new("parentAgentId", Holds::ParentAgent),
    ],
    file_tools: &["apply_patch", "create", "edit", "str_replace", "str_replace_editor", "view"],
    shells: &["bash", "powershell"],
    output: Some(Output::Camel),
    version_variable: Some("COPILOT_CLI_BINARY_VERSION"),
    questions,
    sample,
    ..AgentProfile::UNKNOWN
};

fn questions(event: &AgentEvent<'_>, kind: EventKind) -> Vec<Question> {
    let hears_prompts = hears_prompts(event.version.unwrap_or_default());
    match kind {
        SessionStart if hears_prompts => Vec::new(),
        SessionStart => {
            let first = event.words()["initialPrompt"].as_str().filter(|prompt| !prompt.trim().is_empty());
            let first = first.filter(|_| event.source() != "resume").map(|prompt| Question::Prompt(prompt.to_owned()));
            std::iter::once(brief(Moment::EachStart)).chain(first).collect()
        }
        Prompt if !hears_prompts => Vec::new(),
        Prompt if event.agent_id.is_some() => event.sub_agent_with_prompt(),
        Prompt => event.prompt_with_brief(),
        SubagentStart if hears_prompts => Vec::new(),
        SubagentStart => event.sub_agent(errands),
        // Text injected before a tool runs is lost when a session is resumed; text injected after it is kept.
        BeforeTool if hears_prompts => Vec::new(),
        BeforeTool => event.files_or_command(),
        AfterTool if hears_prompts => event.files_or_failure(),
        AfterTool => event.failure(),
        BeforeCompaction | AfterCompaction => event.compacted(),
        ToolFailure | End | Progress => Vec::new(),
    }
}

fn hears_prompts(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version: [u32; 3] = std::array::from_fn(|_| numbers.next().unwrap_or_default());
    version >= HEARS_PROMPTS
}

fn sample(asked: &Sample<'_>) -> Value {
    let all = json!({"timestamp": asked.at_ms, "cwd": asked.directory, "sessionId": sample::DOCTOR});
    let own = match asked.event {
        "sessionStart" => json!({"source": "new", "initialPrompt": sample::PROMPT}),
        "userPromptSubmitted" => json!({"prompt": sample::PROMPT}),
        "postToolUse" => {
            json!({"toolName": "bash", "toolArgs": {}, "toolResult": {"resultType": "success", "textResultForLlm": ""}})
        }
        _ => json!({}),
    };
    sample::joined(all, own)
}

pub(super) const AGENT: Agent = Agent {
    name: NAME,
    aliases: &["copilot"],
    title: "Copilot CLI",
    // Other programs put hooks and instructions into the same folder.
    traces: |machine| {
        let home = machine.directory("COPILOT_HOME", ".copilot");
        ["session-state", "config.json", "mcp-config.json", "logs", "session-store.db"].map(|name| home.join(name)).into()
    },
    edits,
    advice: |wanted| match wanted.scope {
        Scope::User => vec!["running sessions continue without it"],
        Scope::Project => vec![
            "Copilot CLI supports servers per user only: `yore install copilot-cli` adds it",
            "these files name the program on this computer; others who share them need their own path",
        ],
    },
    needless: NEEDED,
    idle_hooks: NONE_IDLE,
};

fn edits(wanted: &Wanted<'_>) -> Vec<FileEdit> {
    let home = wanted.machine.directory("COPILOT_HOME", ".copilot");
    let hooks = hooks(NAME, |hook| call(hook, wanted));
    let mut edits = Vec::new();
    if wanted.scope == Scope::User {
        let value = json!({"type": "local", "command": wanted.program.path, "args": wanted.program.mcp(), "tools": ["*"]});
        edits.push(json_file(home.join("mcp-config.json"), vec![Entry::Server { at: &["mcpServers"], value }]));
    }
    let place = scoped(wanted, || home.join("hooks").join("yore.json"), ".github/hooks/yore.json");
    edits.extend(place.map(|path| own_json_file(path, vec![Entry::Version, hooks])));
    match wanted.scope {
        Scope::User => edits.push(rules_block(home.join("copilot-instructions.md"))),
        // The same file as VS Code's.
        Scope::Project => edits
            .extend(wanted.machine.in_project(".github/instructions/yore.instructions.md").map(|path| rules_file(path, COPILOT))),
    }
    edits
}

fn call(hook: &Hook, wanted: &Wanted<'_>) -> (&'static str, Value) {
    let (key, shell) = if wanted.machine.is_windows() { ("powershell", Shell::Pwsh) } else { ("bash", Shell::Posix) };
    let mut call = Map::new();
    call.insert("type".to_owned(), "command".into());
    call.insert(key.to_owned(), hook_line(wanted, shell, NAME, hook.event).into());
    call.insert("timeoutSec".to_owned(), hook.timeout(Unit::Seconds));
    (hook.event, Value::Object(call))
}
