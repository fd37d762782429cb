//! Qwen Code: `projects/<project>/chats/<session>.jsonl`, sub-agents in `projects/<project>/subagents/<session>/`. Its lines are
//! like those of Claude Code and contain messages as in Gemini's interface.
//!
//! - [`Qwen`]: finds the files
//! - `LineReader`: lines to turns; the tree of the lines tells which of them the person left

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, EpisodeKind, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::chain::{Chain, Kind, Parent};
use super::gemini::parts;
use super::shapes::{self, Message, short, text_of};
use super::speaker::{self, Marks, PARENT_AGENT, sender};
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit, files_below};

const KIND: &str = "qwen";
/// What the client inserts into a prompt.
const PUT_IN: Marks = Marks { elements: &["qwen:user-prompt-submit-context", "system-reminder"], tails: &[super::gemini::FILES] };

/// The source for Qwen Code; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Qwen;

impl Source for Qwen {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Qwen Code"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        vec![computer.directory("QWEN_HOME", ".qwen").join("projects")]
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        if root.is_file() {
            return Unit::lines(root.to_path_buf()).into_iter().collect();
        }
        // The root may be the settings folder, its `projects`, or any folder of conversations.
        let projects = root.join("projects");
        let root = if projects.is_dir() { projects } else { root.to_path_buf() };
        files_below(&root, "jsonl", 5).into_iter().filter(|file| is_conversation(file)).filter_map(Unit::lines).collect()
    }

    fn reader(&self, _unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(LineReader { options: options.clone(), chain: Chain::of_text(state) })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "sessionId").map(Into::into),
            message: text_of(value, "uuid"),
            about: None,
            directory: text_of(value, "cwd"),
        }
    }
}

/// Returns whether a file is where conversations are kept: in `chats`, or in a session's folder of
/// `subagents`.
fn is_conversation(file: &Path) -> bool {
    let is_named = |folder: Option<&Path>, name: &str| folder.and_then(Path::file_name).is_some_and(|found| found == name);
    let folder = file.parent();
    is_named(folder, "chats") || is_named(folder.and_then(Path::parent), "subagents")
}

struct LineReader {
    options: ReaderOptions,
    /// The lines of the session that are linked with each other.
    chain: Chain,
}

impl EpisodeReader for LineReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            self.line(value, line.mark.line, out);
        }
    }

    fn state(&self) -> String {
        self.chain.text(self.chain.len())
    }
}

impl LineReader {
    fn line(&mut self, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let Some(session) = text_of(value, "sessionId") else {
            out.push(Reading::Skip("no-session", String::new()));
            return;
        };
        let agent = text_of(value, "agentId").filter(|_| value["isSidechain"].as_bool() == Some(true));
        let role = match text_of(value, "type").unwrap_or("") {
            // The "user" of a side conversation is the agent that started it.
            "user" if agent.is_none() => Role::Human,
            "user" => Role::Injected,
            "assistant" => Role::Assistant,
            "tool_result" => Role::ToolResult,
            // Measurements, snapshots and settings.
            "system" => Role::System,
            unknown => {
                out.push(Reading::Skip("unknown-type", short(unknown)));
                return;
            }
        };
        let episode = Arc::new(Episode {
            kind: if agent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
            parent_native_id: agent.map(|_| session.to_owned()),
            cwd: text_of(value, "cwd").map(str::to_owned),
            client_version: text_of(value, "version").map(str::to_owned),
            ..shapes::episode(KIND, &agent.map_or_else(|| session.to_owned(), |agent| format!("{session}/{agent}")))
        });
        let time = shapes::time_of(&value["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        if role == Role::System {
            let payload = &value["systemPayload"];
            if let Some(title) = text_of(payload, "customTitle") {
                let is_given = text_of(payload, "titleSource") != Some("auto");
                let rank = if is_given { TitleRank::Custom } else { TitleRank::Ai };
                out.push(Reading::Title(Arc::clone(&episode), shapes::title(title, rank, time.utc, line)));
            }
            self.link(value, &episode, role, out);
            return;
        }
        let mut message = Message::new(text_of(value, "uuid").map_or_else(|| format!("#{line}"), str::to_owned), role, time);
        message.cwd.clone_from(&episode.cwd);
        message.branch = text_of(value, "gitBranch").map(str::to_owned);
        message.model = text_of(value, "model").map(str::to_owned);
        parts(&value["message"]["parts"], &HashSet::new(), self.options.tool_bytes, &mut message, out);
        let result = &value["toolCallResult"];
        let has_failed = text_of(result, "status") == Some("error")
            || result["resultDisplay"]["exitCode"].as_i64().is_some_and(|code| code != 0);
        for answer in &mut message.answers {
            if has_failed {
                answer.outcome = Some(Outcome::Failed);
            }
        }
        if role == Role::Human {
            message.sent_by(sender(speaker::QWEN, value));
        }
        if message.role == Role::Human {
            let text = std::mem::take(&mut message.text);
            message.hear(&text, &PUT_IN, self.options.tool_bytes);
        }
        if agent.is_some() && message.role == Role::Injected {
            message.speaker = Some(PARENT_AGENT);
        }
        let role = message.role;
        message.turns(KIND, &episode, self.options.tool_bytes, line, out);
        if agent.is_none() {
            self.link(value, &episode, role, out);
        }
    }

    /// Adds a line to the chain, and reports the turns of branches that it left or took up again. The client goes back with a
    /// record of its own, which hangs on the line before the prompt that was taken back.
    fn link(&mut self, value: &Value, episode: &Arc<Episode>, role: Role, out: &mut Vec<Reading>) {
        let Some(id) = text_of(value, "uuid") else { return };
        let parent = match value.get("parentUuid") {
            Some(Value::String(parent)) => Parent::Named(parent),
            Some(Value::Null) => Parent::None,
            _ => Parent::Unknown,
        };
        let kind = match role {
            Role::Human => Kind::Prompt,
            Role::System if text_of(value, "subtype") == Some("rewind") => Kind::Prompt,
            Role::Assistant | Role::ToolCall => Kind::Answer,
            Role::ToolResult => Kind::Result,
            _ => Kind::Other,
        };
        let change = self.chain.add(id, parent, kind);
        for (ids, caveat) in [(change.left, Some(Caveat::TakenBack)), (change.resumed, None)] {
            if !ids.is_empty() {
                out.push(Reading::Caveat(Arc::clone(episode), ids, caveat));
            }
        }
    }
}
