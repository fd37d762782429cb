//! Windsurf's hooks: they report events, and Windsurf reads no answer.

use serde_json::{Value, json};

use super::EventKind::*;
use super::{AgentProfile, Field, Holds, HookEvent, Sample, sample};

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
