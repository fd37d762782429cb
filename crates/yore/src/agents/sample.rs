//! Sample inputs with which `yore doctor` tries the hooks.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Sample;

/// The session id that `yore doctor` calls hooks with. Hooks answer it, and nothing is recorded for it.
pub const DOCTOR: &str = "yore-doctor";
/// A prompt that any memory may have an answer to.
pub(super) const PROMPT: &str = "what did we decide last, and why?";

/// Merges two objects; the fields of `own` replace those of `all`.
pub(super) fn joined(mut all: Value, own: Value) -> Value {
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
        all.extend(own);
    }
    all
}

/// Returns the path of a transcript that does not exist.
pub(super) fn transcript(asked: &Sample<'_>) -> PathBuf {
    asked.directory.join(format!("{DOCTOR}.jsonl"))
}

/// Returns the sample input of Claude Code, and of agents that use its form.
pub(super) fn as_claude_code(asked: &Sample<'_>) -> Value {
    let all = json!({
        "session_id": DOCTOR, "transcript_path": transcript(asked), "cwd": asked.directory, "permission_mode": "default",
        "hook_event_name": asked.event,
    });
    let file = asked.directory.join("README.md");
    let own = match asked.event {
        "SessionStart" => json!({"source": "startup"}),
        "UserPromptSubmit" => json!({"prompt": PROMPT}),
        "PreToolUse" => json!({
            "tool_name": "Edit", "tool_use_id": DOCTOR, "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"},
        }),
        "PostToolUse" => json!({
            "tool_name": "Bash", "tool_use_id": DOCTOR, "tool_input": {"command": "true"},
            "tool_response": {"stdout": "", "stderr": "", "interrupted": false}, "duration_ms": 1,
        }),
        "PostToolUseFailure" => json!({
            "tool_name": "Bash", "tool_use_id": DOCTOR, "tool_input": {"command": "false"}, "error": "Exit code 1",
        }),
        "PreCompact" => json!({"trigger": "manual", "custom_instructions": ""}),
        "PostCompact" => json!({"trigger": "manual", "compact_summary": ""}),
        "Stop" => json!({"stop_hook_active": false, "last_assistant_message": "done"}),
        "SubagentStop" => json!({"stop_hook_active": false, "agent_id": DOCTOR, "agent_type": "general-purpose"}),
        "SessionEnd" => json!({"reason": "other"}),
        _ => json!({}),
    };
    joined(all, own)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::agents::{Holds, PROFILES};

    #[test]
    fn every_agent_says_in_its_own_field_that_it_is_the_doctor() {
        for profile in PROFILES {
            for (event, _) in profile.installed() {
                let words = (profile.sample)(&Sample { event, directory: Path::new("/home/dev/tide"), at_ms: 7 });
                let sessions = profile.fields.iter().filter(|field| matches!(field.holds, Holds::Session | Holds::Conversation));
                let named: Vec<&str> = sessions.filter_map(|field| words[field.name].as_str()).collect();
                assert!(named.iter().all(|session| *session == DOCTOR), "{words}");
                assert_eq!(named.len(), 1, "{} {words}", profile.source);
            }
        }
    }
}
