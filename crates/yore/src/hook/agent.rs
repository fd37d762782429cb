//! The agents that call hooks, and their events, by the agents' own documentation.

/// Claude Code, as its source is called.
pub(super) const CLAUDE_CODE: &str = "claude-code";
/// Cursor.
pub(super) const CURSOR: &str = "cursor";

/// What a hook may be called with, and the agent's name in the store.
const AGENTS: [(&str, &str); 16] = [
    ("claude-code", CLAUDE_CODE),
    ("claude", CLAUDE_CODE),
    ("cursor", CURSOR),
    ("codex", "codex"),
    ("codex-cli", "codex"),
    ("gemini", "gemini"),
    ("gemini-cli", "gemini"),
    ("opencode", "opencode"),
    ("copilot", "copilot-cli"),
    ("copilot-cli", "copilot-cli"),
    ("copilot-chat", "copilot-chat"),
    ("windsurf", "windsurf"),
    ("cline", "cline"),
    ("continue", "continue"),
    ("zed", "zed"),
    ("aider", "aider"),
];

/// Events after which a session holds something new, or is about to end; lower case, without
/// separators.
const EVENTS: [&str; 53] = [
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

/// The agent's name in the store; `None` for one that is not known.
pub(super) fn named(name: &str) -> Option<&'static str> {
    AGENTS.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, agent)| *agent)
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
        for name in ["Stop", "stop", "PostToolUse", "post_write_code", "session.idle", "beforeSubmitPrompt"] {
            assert!(is_event(name), "{name}");
        }
        for name in ["", "nothing", "stop it", "Stop\u{0}", "/stop"] {
            assert!(!is_event(name), "{name}");
        }
    }
}
