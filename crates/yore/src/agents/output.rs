//! Forms in which agents read a hook's answer. Some agents reject unknown fields, so an answer holds nothing else.

use serde_json::json;

/// The form of answer that an agent reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// `{"hookSpecificOutput": {"hookEventName", "additionalContext"}}`.
    Specific,
    /// `{"additional_context"}`.
    Snake,
    /// `{"additionalContext"}`.
    Camel,
    /// `{"cancel", "contextModification"}`, printed even if there is nothing to say.
    Cancel,
    /// The plain text.
    Plain,
}

impl Output {
    /// Returns the output that passes `text` to the agent at this event.
    pub fn text(self, event: &str, text: &str) -> String {
        match self {
            Self::Specific => json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}).to_string(),
            Self::Snake => json!({"additional_context": text}).to_string(),
            Self::Camel => json!({"additionalContext": text}).to_string(),
            Self::Cancel => json!({"cancel": false, "contextModification": text}).to_string(),
            Self::Plain => text.to_owned(),
        }
    }

    /// Returns the output that has the agent go on with `text` instead of ending its turn, in the form of the agents whose events ask
    /// for it (Claude Code, Codex, Qwen Code).
    pub fn one_more_turn(text: &str) -> String {
        json!({"decision": "block", "reason": text}).to_string()
    }

    /// Returns the output for an agent that waits for an answer although there is nothing to say.
    pub fn silence(self) -> Option<String> {
        (self == Self::Cancel).then(|| json!({"cancel": false}).to_string())
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::named;

    #[test]
    fn each_agent_is_told_in_its_own_form_and_in_no_other() {
        let told = |agent: &str, event: &str| named(agent).unwrap().output.unwrap().text(event, "words");
        assert_eq!(
            told("claude-code", "UserPromptSubmit"),
            r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"words"}}"#
        );
        assert_eq!(told("cursor", "sessionStart"), r#"{"additional_context":"words"}"#);
        assert_eq!(told("copilot-cli", "sessionStart"), r#"{"additionalContext":"words"}"#);
        assert_eq!(told("cline", "TaskStart"), r#"{"cancel":false,"contextModification":"words"}"#);
        assert_eq!(
            told("qwen", "PostToolUse"),
            r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"words"}}"#
        );
        for plugin in ["opencode", "kilo", "cline-plugin"] {
            assert_eq!(told(plugin, "chat.message"), "words");
        }
        assert_eq!(named("windsurf").unwrap().output, None);
    }
}
