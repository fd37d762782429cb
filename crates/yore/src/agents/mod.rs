//! The hooks of every agent: one file each, and one table.
//!
//! - [`PROFILES`]: the table
//! - [`AgentProfile`]: the names, events, fields, tools, answers and samples of one agent
//! - [`EventKind`]: what an event means, whatever the agent calls it
//! - [`AgentEvent`]: an event with the agent's words; [`Question`]: what it asks of the memory
//! - `output`: the forms of answers; `tool`: files and failures in a tool's words; `sample`: the words with
//!   which `yore doctor` tries a hook
//!
//! Hooks, installer, daemon and doctor read this table; none of them names an event. Everything here follows
//! the agents' own documentation, and was tried with the agents themselves (`scripts/agent-trial`) where they
//! can be had.

mod claude_code;
mod cline;
mod codex;
mod copilot_chat;
mod copilot_cli;
mod cursor;
mod event;
mod gemini;
mod opencode;
mod output;
mod question;
mod qwen;
mod sample;
mod silent;
mod tool;
mod windsurf;

use std::path::Path;

use serde_json::Value;

pub use self::claude_code::{NAME as CLAUDE_CODE, PROJECT_VARIABLE, SESSION_VARIABLE};
pub use self::event::AgentEvent;
pub use self::output::Output;
pub use self::question::{Beginning, Moment, Question};
pub use self::sample::DOCTOR;
pub use self::silent::CONTINUE;

/// The agents whose hooks are understood.
pub const PROFILES: [&AgentProfile; 15] = [
    &claude_code::PROFILE,
    &cursor::PROFILE,
    &codex::PROFILE,
    &gemini::PROFILE,
    &opencode::OPENCODE,
    &opencode::KILO,
    &qwen::PROFILE,
    &copilot_cli::PROFILE,
    &copilot_chat::PROFILE,
    &windsurf::PROFILE,
    &cline::PROFILE,
    &cline::PLUGIN,
    &silent::CONTINUE_PROFILE,
    &silent::ZED_PROFILE,
    &silent::AIDER_PROFILE,
];

/// Everything that is known of an agent's hooks.
#[derive(Debug)]
pub struct AgentProfile {
    /// The agent's name in the store.
    pub source: &'static str,
    /// The agent's names on a hook's command line; `yore install` writes the first.
    pub names: &'static [&'static str],
    /// Whether one of yore's own plugins runs the hook: it takes plain text and hands it on.
    pub is_plugin: bool,
    /// The agent's events, those that `yore install` enters in the order in which it does.
    pub events: &'static [HookEvent],
    /// The fields of the words that come with an event.
    pub fields: &'static [Field],
    /// Tools that read or change a file, in small letters.
    pub file_tools: &'static [&'static str],
    /// Tools that run commands, in small letters.
    pub shells: &'static [&'static str],
    /// How the agent wants to be told; `None` for one that takes no answer.
    pub output: Option<Output>,
    /// Events where the agent takes plain text as well.
    pub reads_text: &'static [EventKind],
    /// The variable that tells the agent's version.
    pub version_variable: Option<&'static str>,
    /// The questions that an event asks; none for most.
    pub questions: fn(&AgentEvent<'_>, EventKind) -> Vec<Question>,
    /// The words of an event, with which `yore doctor` tries a hook.
    pub sample: fn(&Sample<'_>) -> Value,
}

/// An event of an agent.
#[derive(Debug)]
pub struct HookEvent {
    /// The agent's name of it.
    pub name: &'static str,
    /// What it means.
    pub kind: EventKind,
    /// How `yore install` enters it; `None`: it does not, though a person may.
    pub setup: Option<Setup>,
}

/// How a hook is entered in an agent's settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Setup {
    /// How long the agent may wait for it.
    pub seconds: u64,
    /// The tools that it is run for; `None`: all.
    pub matcher: Option<&'static str>,
}

/// What an event means, whatever an agent calls it.
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
    /// A tool failed; for agents that say so apart.
    ToolFailure,
    /// A sub-agent begins.
    SubagentStart,
    /// The session is about to be compacted.
    BeforeCompaction,
    /// The session was compacted.
    AfterCompaction,
    /// An agent, a sub-agent or a session ended: it may write nothing more.
    End,
    /// The session holds something new.
    Progress,
}

/// A field of the words that come with an event.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
    /// Whether this agent alone names it so: the words are this agent's even where its hook stands in
    /// another's settings, as some agents run the hooks that they find in Claude Code's.
    pub identifies_agent: bool,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holds {
    /// The session's native id.
    Session,
    /// The same, of less weight: taken where no other field names a session.
    Conversation,
    /// An object that names the session that the others belong to.
    SessionContext,
    /// The file that the session is written to.
    Transcript,
    /// The file of a side conversation, which also names that of the session.
    OwnTranscript,
    /// The directory that the agent works in.
    Directory,
    /// A list of directories.
    Roots,
    /// The event's name.
    Event,
    /// The side conversation that speaks.
    AgentId,
    /// The conversation that began it.
    ParentAgent,
    /// The agent's version.
    Version,
}

/// What `yore doctor` wants to hear.
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
    /// An agent of which nothing is known: what the others are told apart from.
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

    /// The meaning of an event, however its name is written: `PostToolUse`, `post_tool_use`. `None` where
    /// this agent has no such event.
    pub fn kind_of(&self, event: &str) -> Option<EventKind> {
        self.events.iter().find(|known| is_same_name(known.name, event)).map(|known| known.kind)
    }

    /// The events that `yore install` enters, with how it does.
    pub fn installed(&self) -> impl Iterator<Item = (&'static str, Setup)> {
        self.events.iter().filter_map(|event| Some((event.name, event.setup?)))
    }
}

impl HookEvent {
    /// An event that `yore install` leaves out.
    const fn new(name: &'static str, kind: EventKind) -> Self {
        Self { name, kind, setup: None }
    }

    /// An event that `yore install` enters.
    const fn installed(name: &'static str, kind: EventKind, seconds: u64) -> Self {
        Self { name, kind, setup: Some(Setup { seconds, matcher: None }) }
    }

    /// The same, for these tools alone.
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
    /// Whether the transcript is read at once: the next session may begin in the same second, and one that
    /// begins asks for what was said.
    pub const fn is_read_at_once(self) -> bool {
        self.is_end() || matches!(self, Self::SessionStart)
    }

    /// Whether the agent may be gone after it, or begin anew: nothing more is to be waited for.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::End | Self::BeforeCompaction)
    }
}

/// The agent that a hook's command line names.
pub fn named(name: &str) -> Option<&'static AgentProfile> {
    PROFILES.into_iter().find(|profile| profile.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The agent whose plugin yore writes for this agent of the store.
pub fn plugin_of(source: &str) -> Option<&'static AgentProfile> {
    PROFILES.into_iter().find(|profile| profile.is_plugin && profile.source == source)
}

/// The meaning of an event of the agent of this name in the store; where it has none of this name, of any
/// agent: some run hooks that stand in the settings of another. `None` for what is no event.
pub fn kind_of(source: &str, event: &str) -> Option<EventKind> {
    let own = PROFILES.into_iter().filter(|profile| profile.source == source);
    own.chain(PROFILES).find_map(|profile| profile.kind_of(event))
}

/// A field by its name, with the agent that has it.
pub fn field(name: &str) -> Option<(&'static AgentProfile, &'static Field)> {
    let fields = PROFILES.into_iter().flat_map(|profile| profile.fields.iter().map(move |field| (profile, field)));
    fields.into_iter().find(|(_, field)| field.name == name)
}

/// Names of agents, and names of events. For the fuzzers.
#[cfg(feature = "fuzz")]
pub fn callers() -> (Vec<&'static str>, Vec<&'static str>) {
    let names = PROFILES.iter().flat_map(|profile| profile.names).copied().collect();
    let mut events: Vec<&str> = PROFILES.iter().flat_map(|profile| profile.events).map(|event| event.name).collect();
    events.sort_unstable();
    events.dedup();
    (names, events)
}

/// Whether two names of events differ in case and separators only.
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
