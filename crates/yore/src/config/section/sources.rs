//! `[sources.*]`: the agents and programs whose histories are read, and where.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::key::{Key, ProjectMay, Shape};

/// One source.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SourceSettings {
    /// Reads this source.
    pub enabled: bool,
    /// The directories and files to search. Empty means the agent's usual place on this computer.
    pub roots: Vec<PathBuf>,
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self { enabled: true, roots: Vec::new() }
    }
}

/// Generates the struct and the key table from one row for each kind: field, kind, description.
macro_rules! sources {
    ($($field:ident, $kind:literal, $about:literal;)+) => {
        /// The sources of conversations and documents.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Sources {
            $(
                #[doc = $about]
                #[serde(rename = $kind)]
                pub $field: SourceSettings,
            )+
        }

        impl Sources {
            /// Returns the settings of the source with this kind.
            pub fn of(&self, kind: &str) -> Option<&SourceSettings> {
                match kind {
                    $($kind => Some(&self.$field),)+
                    _ => None,
                }
            }
        }

        /// The keys of `[sources.*]`.
        pub(super) const KEYS: &[Key] = &[
            $(
                Key::new(concat!("sources.", $kind, ".enabled"), Shape::Switch, ProjectMay::Turn(false)),
                Key::new(concat!("sources.", $kind, ".roots"), Shape::List { longest: 4096 }, ProjectMay::Nothing),
            )+
        ];
    };
}

sources! {
    claude_code, "claude-code", "Claude Code's own transcripts.";
    codex, "codex", "The sessions of Codex CLI.";
    cursor, "cursor", "The chats and agents of Cursor.";
    gemini, "gemini", "The sessions of Gemini CLI.";
    antigravity, "antigravity", "The conversations of Antigravity.";
    opencode, "opencode", "The sessions of OpenCode.";
    kilo_cli, "kilo-cli", "The sessions of Kilo Code's command line.";
    qwen, "qwen", "The sessions of Qwen Code.";
    aider, "aider", "The chat histories of Aider.";
    copilot_chat, "copilot-chat", "GitHub Copilot Chat in Visual Studio Code.";
    copilot_cli, "copilot-cli", "GitHub Copilot CLI.";
    cline, "cline", "The tasks of Cline.";
    roo, "roo", "The tasks of Roo Code.";
    kilo, "kilo", "The tasks of Kilo Code.";
    continue_dev, "continue", "The sessions of Continue.";
    zed, "zed", "The agent threads of Zed.";
    pi, "pi", "The sessions of Pi.";
    omp, "omp", "The sessions of Oh My Pi.";
    openclaw, "openclaw", "The sessions of OpenClaw.";
    kimi, "kimi", "The sessions of Kimi Code and Kimi CLI.";
    vibe, "vibe", "The sessions of Mistral Vibe.";
    grok, "grok", "The sessions of Grok Build.";
    droid, "droid", "The sessions of Factory Droid.";
    kiro, "kiro", "The sessions of Kiro's command line.";
    specstory, "specstory", "The histories that SpecStory keeps in projects.";
    goose, "goose", "The sessions of goose.";
    hermes, "hermes", "The sessions of Hermes Agent.";
    deepseek, "deepseek", "The sessions of DeepSeek Harness.";
    crush, "crush", "The sessions of Crush, in the projects.";
    chatgpt, "chatgpt", "Exports of ChatGPT.";
    claude_ai, "claude-ai", "Exports of Claude.ai.";
    git, "git", "The history of git repositories.";
    file, "file", "Files: notes, documents, code.";
    jsonl, "jsonl", "Conversations in JSON Lines, as other programs export them.";
}

#[cfg(test)]
mod tests {
    use yore_sources::source::SOURCES;

    use super::*;

    /// Sources that are not searched for: they hold items that were given one by one.
    const GIVEN: [&str; 3] = ["note", "proxy", "web"];

    #[test]
    fn every_source_that_is_looked_for_has_settings() {
        for source in SOURCES {
            let has_settings = Sources::default().of(source.kind()).is_some();
            assert_eq!(has_settings, !GIVEN.contains(&source.kind()), "{} in {}", source.kind(), file!());
        }
    }
}
