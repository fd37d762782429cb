//! What each agent says to its hooks, by its documentation, about a session that yore knows to be
//! nobody's.

use std::path::Path;

use serde_json::{Value, json};

use crate::engine_handle::now;
use crate::hook::DOCTOR;

/// The JSON of an event, told in this directory.
pub(super) fn said(agent: &str, event: &str, directory: &Path) -> Value {
    let transcript = directory.join(format!("{DOCTOR}.jsonl"));
    let (mut said, more) = match agent {
        "cursor" => (
            json!({
                "conversation_id": DOCTOR, "generation_id": DOCTOR, "hook_event_name": event, "cursor_version": "3",
                "workspace_roots": [directory],
            }),
            match event {
                "beforeSubmitPrompt" => json!({"prompt": PROMPT, "attachments": []}),
                "afterAgentResponse" => json!({"text": "done"}),
                "afterFileEdit" => json!({"file_path": directory.join("README.md"), "edits": []}),
                "stop" => json!({"status": "completed", "loop_count": 0}),
                _ => json!({}),
            },
        ),
        "copilot-cli" => (
            json!({"timestamp": now(), "cwd": directory, "sessionId": DOCTOR}),
            match event {
                "sessionStart" => json!({"source": "new", "initialPrompt": PROMPT}),
                "userPromptSubmitted" => json!({"prompt": PROMPT}),
                "postToolUse" => {
                    json!({"toolName": "bash", "toolArgs": {}, "toolResult": {"resultType": "success", "textResultForLlm": ""}})
                }
                _ => json!({}),
            },
        ),
        "windsurf" => (
            json!({"agent_action_name": event, "trajectory_id": DOCTOR, "execution_id": DOCTOR, "timestamp": now().to_string()}),
            match event {
                "pre_user_prompt" => json!({"tool_info": {"user_prompt": PROMPT}}),
                "post_cascade_response" => json!({"tool_info": {"response": "done"}}),
                _ => json!({"tool_info": {"cwd": directory}}),
            },
        ),
        "cline" => (
            json!({
                "clineVersion": "3", "hookName": event, "timestamp": now().to_string(), "taskId": DOCTOR,
                "workspaceRoots": [directory], "userId": "",
            }),
            match event {
                "TaskStart" => json!({"taskStart": {"taskMetadata": {"taskId": DOCTOR, "ulid": "", "initialTask": PROMPT}}}),
                "UserPromptSubmit" => json!({"userPromptSubmit": {"prompt": PROMPT, "attachments": []}}),
                _ => json!({}),
            },
        ),
        "opencode" | "kilo" => (
            json!({"session_id": DOCTOR, "hook_event_name": event, "cwd": directory}),
            if event == "chat.message" { json!({"prompt": PROMPT}) } else { json!({}) },
        ),
        "gemini" => (
            json!({"session_id": DOCTOR, "transcript_path": transcript, "cwd": directory, "hook_event_name": event, "timestamp": now().to_string()}),
            match event {
                "SessionStart" => json!({"source": "startup"}),
                "BeforeAgent" => json!({"prompt": PROMPT}),
                "AfterAgent" => json!({"prompt": PROMPT, "prompt_response": "done", "stop_hook_active": false}),
                "SessionEnd" => json!({"reason": "exit"}),
                _ => json!({}),
            },
        ),
        // Claude Code, and those that do as it does.
        _ => (
            json!({
                "session_id": DOCTOR, "transcript_path": transcript, "cwd": directory, "permission_mode": "default",
                "hook_event_name": event,
            }),
            as_claude_code(event, directory),
        ),
    };
    if let (Some(said), Value::Object(more)) = (said.as_object_mut(), more) {
        said.extend(more);
    }
    said
}

/// A prompt that any memory may know something of.
const PROMPT: &str = "what did we decide last, and why?";

fn as_claude_code(event: &str, directory: &Path) -> Value {
    let file = directory.join("README.md");
    match event {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_says_that_it_is_the_doctor() {
        for (agent, event) in [
            ("claude-code", "Stop"),
            ("codex", "SessionStart"),
            ("cursor", "stop"),
            ("gemini", "BeforeAgent"),
            ("copilot-cli", "sessionStart"),
            ("windsurf", "pre_user_prompt"),
            ("cline", "TaskStart"),
            ("opencode", "chat.message"),
        ] {
            let said = said(agent, event, Path::new("/home/dev/tide"));
            let session = ["session_id", "conversation_id", "sessionId", "trajectory_id", "taskId"].map(|name| &said[name]);
            assert_eq!(session.into_iter().filter(|value| *value == DOCTOR).count(), 1, "{said}");
        }
    }
}
