//! Agents without hooks of their own; scripts may report for them. Continue runs the hooks in Claude Code's
//! settings.

use super::AgentProfile;

/// Continue's name in the store.
pub const CONTINUE: &str = "continue";

pub(super) const CONTINUE_PROFILE: AgentProfile = AgentProfile { source: CONTINUE, names: &[CONTINUE], ..AgentProfile::UNKNOWN };
pub(super) const ZED_PROFILE: AgentProfile = AgentProfile { source: "zed", names: &["zed"], ..AgentProfile::UNKNOWN };
pub(super) const AIDER_PROFILE: AgentProfile = AgentProfile { source: "aider", names: &["aider"], ..AgentProfile::UNKNOWN };
