//! The agents that call hooks, and their events, by the agents' own documentation.

/// Claude Code, as its source is called.
pub(super) const CLAUDE_CODE: &str = "claude-code";
/// Codex.
pub(super) const CODEX: &str = "codex";
/// Cursor.
pub(super) const CURSOR: &str = "cursor";

/// Who calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The agent's name in the store.
    pub agent: &'static str,
    /// Whether one of yore's own plugins calls, which takes plain text and hands it on.
    pub is_plugin: bool,
}

/// What a hook may be called with, the agent's name in the store, and whether a plugin of yore calls.
const AGENTS: [(&str, &str, bool); 20] = [
    ("claude-code", CLAUDE_CODE, false),
    ("claude", CLAUDE_CODE, false),
    ("cursor", CURSOR, false),
    ("codex", CODEX, false),
    ("codex-cli", CODEX, false),
    ("gemini", "gemini", false),
    ("gemini-cli", "gemini", false),
    ("opencode", "opencode", true),
    ("kilo", "kilo", true),
    ("qwen", "qwen", false),
    ("qwen-code", "qwen", false),
    ("copilot", "copilot-cli", false),
    ("copilot-cli", "copilot-cli", false),
    ("copilot-chat", "copilot-chat", false),
    ("windsurf", "windsurf", false),
    ("cline", "cline", false),
    ("cline-plugin", "cline", true),
    ("continue", "continue", false),
    ("zed", "zed", false),
    ("aider", "aider", false),
];

/// Events after which a session holds something new, or is about to end; lower case, without
/// separators.
const EVENTS: [&str; 54] = [
    "afteragent",
    "afteragentresponse",
    "afteragentthought",
    "afterfileedit",
    "aftermcpexecution",
    "aftermodel",
    "aftershellexecution",
    "aftertabfileedit",
    "aftertool",
    "agentstop",
    "beforeagent",
    "beforemcpexecution",
    "beforereadfile",
    "beforeshellexecution",
    "beforesubmitprompt",
    "beforetool",
    "chatmessage",
    "cwdchanged",
    "erroroccurred",
    "messageupdated",
    "notification",
    "permissionrequest",
    "postcascaderesponse",
    "postcompact",
    "postmcptooluse",
    "postreadcode",
    "postruncommand",
    "posttoolbatch",
    "posttooluse",
    "posttoolusefailure",
    "postwritecode",
    "precompact",
    "precompress",
    "pretooluse",
    "preuserprompt",
    "sessioncompacted",
    "sessionend",
    "sessionidle",
    "sessionstart",
    "stop",
    "stopfailure",
    "subagentstart",
    "subagentstop",
    "taskcancel",
    "taskcomplete",
    "taskcompleted",
    "taskcreated",
    "taskresume",
    "taskstart",
    "teammateidle",
    "toolexecuteafter",
    "userpromptexpansion",
    "userpromptsubmit",
    "userpromptsubmitted",
];

/// Who calls under this name; `None` for one that is not known.
pub(super) fn named(name: &str) -> Option<Named> {
    let (_, agent, is_plugin) = AGENTS.iter().find(|(given, ..)| given.eq_ignore_ascii_case(name))?;
    Some(Named { agent, is_plugin: *is_plugin })
}

/// Names of agents, and events in plain letters.
#[cfg(feature = "fuzz")]
pub(super) fn all() -> (Vec<&'static str>, Vec<&'static str>) {
    (AGENTS.iter().map(|(name, ..)| *name).collect(), EVENTS.to_vec())
}

/// Whether this is an event of any agent, however it is written: `PostToolUse`, `post_tool_use`,
/// `tool.execute.after`.
pub(super) fn is_event(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|character| !matches!(character, '_' | '-' | '.'))
        .map(|character| character.to_ascii_lowercase())
        .take(64)
        .collect();
    EVENTS.binary_search(&plain.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_known_however_they_are_written() {
        assert!(EVENTS.is_sorted());
        for name in ["Stop", "stop", "PostToolUse", "post_write_code", "session.idle", "session.compacted", "beforeSubmitPrompt"]
        {
            assert!(is_event(name), "{name}");
        }
        for name in ["", "nothing", "stop it", "Stop\u{0}", "/stop"] {
            assert!(!is_event(name), "{name}");
        }
    }
}
