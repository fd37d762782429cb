//! The tables of all agents: profiles for hooks, and rows for the installer; one file for each agent.
//!
//! - [`PROFILES`], [`AGENTS`]: the tables
//! - [`AgentProfile`]: the names, events, fields, tools, answers and samples of one agent
//! - [`EventKind`]: the meaning of an event, independent of the agent's name for it
//! - [`AgentEvent`]: an event with the agent's input
//! - [`Question`]: a question that an event asks the memory
//! - `entry`: builds the edits of an agent's files
//! - `plugin`: program texts that run the hooks in agents that load plugins
//! - `output`: the forms of answers
//! - `tool`: files and failures in a tool's input and output
//! - [`Start`]: the commands that resume a session of an agent, or begin one with a prompt
//! - `sample`: the input with which `yore doctor` tries a hook
//!
//! Hooks, installer, daemon and doctor read this table; none of them names an event. Everything here follows
//! the agents' own documentation, and was tried with the agents themselves (`scripts/agent-trial`) where they
//! are available.

mod aider;
mod claude_code;
mod cline;
mod codex;
mod continue_dev;
mod copilot_cli;
mod cursor;
mod entry;
mod event;
mod gemini;
mod kilo;
mod opencode;
mod output;
mod plugin;
mod question;
mod qwen;
mod roo;
mod sample;
mod start;
mod tool;
mod vscode;
mod windsurf;
mod zed;

use std::path::Path;

use serde_json::Value;

use crate::install::Agent;

pub use self::claude_code::{NAME as CLAUDE_CODE, PROJECT_VARIABLE, SESSION_VARIABLE};
pub use self::continue_dev::NAME as CONTINUE;
pub use self::event::AgentEvent;
pub use self::output::Output;
pub use self::question::{Beginning, Moment, Question, Ran};
pub use self::sample::DOCTOR;
pub use self::start::{CommandLine, Start};

/// The agents whose hooks yore understands.
pub const PROFILES: [&AgentProfile; 15] = [
    &claude_code::PROFILE,
    &cursor::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &opencode::PROFILE,
    &kilo::PROFILE,
    &qwen::PROFILE,
    &copilot_cli::PROFILE,
    &vscode::PROFILE,
    &windsurf::PROFILE,
    &cline::PROFILE,
    &cline::PLUGIN,
    &continue_dev::PROFILE,
    &zed::PROFILE,
    &aider::PROFILE,
];

/// The agents that yore can be installed in, in the order in which they are listed.
pub const AGENTS: [Agent; 15] = [
    claude_code::AGENT,
    cursor::AGENT,
    codex::AGENT,
    gemini::AGENT,
    qwen::AGENT,
    opencode::AGENT,
    vscode::AGENT,
    copilot_cli::AGENT,
    windsurf::AGENT,
    zed::AGENT,
    cline::AGENT,
    roo::AGENT,
    kilo::AGENT,
    continue_dev::AGENT,
    aider::AGENT,
];

/// Returns the agent of this name, as `yore install` takes it.
pub fn agent(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
}

/// Description of an agent's hooks.
#[derive(Debug)]
pub struct AgentProfile {
    /// The agent's name in the store.
    pub source: &'static str,
    /// The agent's names on a hook's command line; `yore install` writes the first.
    pub names: &'static [&'static str],
    /// True if one of yore's own plugins runs the hook. The plugin takes plain text and passes it on.
    pub is_plugin: bool,
    /// The agent's events. Those that `yore install` enters are in the order in which it enters them.
    pub events: &'static [HookEvent],
    /// The fields of the input that comes with an event.
    pub fields: &'static [Field],
    /// Names of tools that read or change a file, in lower case.
    pub file_tools: &'static [&'static str],
    /// Names of tools that run commands, in lower case.
    pub shells: &'static [&'static str],
    /// The form of answer that the agent reads; `None` if it reads none.
    pub output: Option<Output>,
    /// Events at which the agent also reads plain text.
    pub reads_text: &'static [EventKind],
    /// Environment variable that holds the agent's version.
    pub version_variable: Option<&'static str>,
    /// Returns the questions that an event asks; most events ask none.
    pub questions: fn(&AgentEvent<'_>, EventKind) -> Vec<Question>,
    /// Returns a sample input of an event, with which `yore doctor` tries a hook.
    pub sample: fn(&Sample<'_>) -> Value,
}

/// An event of an agent.
#[derive(Debug)]
pub struct HookEvent {
    /// The agent's name for the event.
    pub name: &'static str,
    /// Meaning of the event.
    pub kind: EventKind,
    /// How `yore install` enters the event; `None` if it does not, though a user may.
    pub setup: Option<Setup>,
}

/// How a hook is entered in an agent's settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Setup {
    /// Seconds that the agent may wait for the hook.
    pub seconds: u64,
    /// Pattern of the tools that the hook runs for; `None`: all tools.
    pub matcher: Option<&'static str>,
}

/// The meaning of an event, independent of the agent's name for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventKind {
    /// A session begins or is resumed.
    SessionStart,
    /// A person typed a prompt that the model has not seen yet.
    Prompt,
    /// A tool is about to run.
    BeforeTool,
    /// A tool ran.
    AfterTool,
    /// A tool failed; for agents that report failures as a separate event.
    ToolFailure,
    /// A sub-agent begins.
    SubagentStart,
    /// The session is about to be compacted.
    BeforeCompaction,
    /// The session was compacted.
    AfterCompaction,
    /// An agent, a sub-agent or a session ended; it may write nothing more.
    End,
    /// The session holds something new.
    Progress,
}

/// A field of the input that comes with an event.
#[derive(Debug)]
pub struct Field {
    /// Name of the field.
    pub name: &'static str,
    /// Meaning of its value.
    pub holds: Holds,
    /// True if only this agent uses this name. The input then comes from this agent even if the hook is in
    /// another agent's settings: some agents run the hooks that they find in Claude Code's.
    pub identifies_agent: bool,
}

/// The meaning of a field's value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// The session's native id.
    Session,
    /// The session's native id, used only if no other field names a session.
    Conversation,
    /// An object that holds the id of the parent session.
    SessionContext,
    /// The file that the session is written to.
    Transcript,
    /// The file of a side conversation. Its path also names the session's file.
    OwnTranscript,
    /// The directory that the agent works in.
    Directory,
    /// A list of directories.
    Roots,
    /// The event's name.
    Event,
    /// Id of the side conversation that the event comes from.
    AgentId,
    /// Id of the conversation that started this one.
    ParentAgent,
    /// The agent's version.
    Version,
}

/// A request of `yore doctor` for a sample input.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'s> {
    /// The event's name.
    pub event: &'s str,
    /// The directory that the agent works in.
    pub directory: &'s Path,
    /// The time, milliseconds since 1970.
    pub at_ms: i64,
}

impl AgentProfile {
    /// An agent with no known hooks; the base of all other profiles.
    const UNKNOWN: Self = Self {
        source: "",
        names: &[],
        is_plugin: false,
        events: &[],
        fields: claude_code::FIELDS,
        file_tools: &[],
        shells: &[],
        output: None,
        reads_text: &[],
        version_variable: None,
        questions: |_, _| Vec::new(),
        sample: sample::as_claude_code,
    };

    /// Returns the meaning of an event, for any spelling of its name: `PostToolUse`, `post_tool_use`. `None`
    /// if this agent has no such event.
    pub fn kind_of(&self, event: &str) -> Option<EventKind> {
        self.events.iter().find(|known| is_same_name(known.name, event)).map(|known| known.kind)
    }

    /// Returns the events that `yore install` enters, each with its setup.
    pub fn installed(&self) -> impl Iterator<Item = (&'static str, Setup)> {
        self.events.iter().filter_map(|event| Some((event.name, event.setup?)))
    }
}

impl HookEvent {
    /// Creates an event that `yore install` leaves out.
    const fn new(name: &'static str, kind: EventKind) -> Self {
        Self { name, kind, setup: None }
    }

    /// Creates an event that `yore install` enters.
    const fn installed(name: &'static str, kind: EventKind, seconds: u64) -> Self {
        Self { name, kind, setup: Some(Setup { seconds, matcher: None }) }
    }

    /// Creates an event that `yore install` enters for tools that match `matcher`.
    const fn matching(name: &'static str, kind: EventKind, seconds: u64, matcher: &'static str) -> Self {
        Self { name, kind, setup: Some(Setup { seconds, matcher: Some(matcher) }) }
    }
}

impl Field {
    const fn new(name: &'static str, holds: Holds) -> Self {
        Self { name, holds, identifies_agent: false }
    }

    const fn identifying(name: &'static str, holds: Holds) -> Self {
        Self { name, holds, identifies_agent: true }
    }
}

impl EventKind {
    /// True if the transcript is read at once. The next session may begin in the same second, and a session
    /// that begins asks for what was said before.
    pub const fn is_read_at_once(self) -> bool {
        self.is_end() || matches!(self, Self::SessionStart)
    }

    /// True if the agent may exit or begin anew after this event, so that waiting for more is pointless.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::End | Self::BeforeCompaction)
    }
}

/// Returns the agent that a hook's command line names.
pub fn named(name: &str) -> Option<&'static AgentProfile> {
    PROFILES.into_iter().find(|profile| profile.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Returns the plugin that yore writes for the agent of this name in the store.
pub fn plugin_of(source: &str) -> Option<&'static AgentProfile> {
    PROFILES.into_iter().find(|profile| profile.is_plugin && profile.source == source)
}

/// Returns the meaning of an event of the agent with this name in the store. If that agent has no such event,
/// the events of all agents are tried: some agents run hooks from another's settings. `None` if no agent has
/// it.
pub fn kind_of(source: &str, event: &str) -> Option<EventKind> {
    let own = PROFILES.into_iter().filter(|profile| profile.source == source);
    own.chain(PROFILES).find_map(|profile| profile.kind_of(event))
}

/// Returns the field of this name, with the agent that has it.
pub fn field(name: &str) -> Option<(&'static AgentProfile, &'static Field)> {
    let fields = PROFILES.into_iter().flat_map(|profile| profile.fields.iter().map(move |field| (profile, field)));
    fields.into_iter().find(|(_, field)| field.name == name)
}

/// Returns the names of all agents and of all events. For the fuzzers.
#[cfg(feature = "fuzz")]
pub fn callers() -> (Vec<&'static str>, Vec<&'static str>) {
    let names = PROFILES.iter().flat_map(|profile| profile.names).copied().collect();
    let mut events: Vec<&str> = PROFILES.iter().flat_map(|profile| profile.events).map(|event| event.name).collect();
    events.sort_unstable();
    events.dedup();
    (names, events)
}

/// Returns whether two names of events differ only in case and separators.
fn is_same_name(known: &str, given: &str) -> bool {
    let letters = |name: &'_ str| -> Vec<u8> {
        let is_letter = |byte: &u8| !matches!(byte, b'_' | b'-' | b'.');
        name.bytes().filter(is_letter).map(|byte| byte.to_ascii_lowercase()).take(64).collect()
    };
    letters(known) == letters(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_however_they_are_written() {
        for name in ["Stop", "stop", "PostToolUse", "post_write_code", "session.idle", "session.compacted", "beforeSubmitPrompt"]
        {
            assert!(kind_of("claude-code", name).is_some(), "{name}");
        }
        for name in ["", "nothing", "stop it", "Stop\u{0}", "/stop"] {
            assert_eq!(kind_of("claude-code", name), None, "{name}");
        }
    }

    #[test]
    fn what_ends_is_read_at_once() {
        for event in
            ["Stop", "SessionEnd", "session_end", "PreCompact", "preCompress", "session.idle", "agentStop", "TaskComplete"]
        {
            assert!(kind_of("claude-code", event).unwrap().is_end(), "{event}");
        }
        for event in ["PostToolUse", "UserPromptSubmit", "SessionStart", "TaskCompleted", "post_write_code"] {
            assert!(!kind_of("claude-code", event).unwrap().is_end(), "{event}");
        }
        assert!(kind_of("cline", "TaskResume").unwrap().is_read_at_once());
    }

    #[test]
    fn no_two_agents_share_a_name_and_no_event_has_two_meanings() {
        let names: Vec<&str> = PROFILES.iter().flat_map(|profile| profile.names).copied().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
        }
        for profile in PROFILES {
            for (at, event) in profile.events.iter().enumerate() {
                let other = profile.events[..at].iter().find(|other| is_same_name(other.name, event.name));
                assert!(other.is_none(), "{}: {}", profile.source, event.name);
            }
        }
    }

    #[test]
    fn field_holds_the_same_wherever_it_is_found_and_tells_of_one_agent_alone() {
        let all: Vec<(&AgentProfile, &Field)> =
            PROFILES.iter().flat_map(|profile| profile.fields.iter().map(move |field| (*profile, field))).collect();
        for (profile, field) in &all {
            for (other, same) in all.iter().filter(|(_, same)| same.name == field.name) {
                assert_eq!((field.holds, field.identifies_agent), (same.holds, same.identifies_agent), "{}", field.name);
                assert!(!field.identifies_agent || other.source == profile.source, "{}", field.name);
            }
        }
    }

    #[test]
    fn agents_that_are_told_nothing_ask_nothing() {
        for profile in PROFILES.iter().filter(|profile| profile.output.is_none()) {
            for event in profile.events {
                let told = AgentEvent::new(profile, None, None, br#"{"prompt":"why?","source":"compact"}"#);
                assert_eq!((profile.questions)(&told, event.kind), [], "{} {}", profile.source, event.name);
            }
        }
    }
}
