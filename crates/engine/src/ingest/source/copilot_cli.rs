//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, a log of events that grows at its end. What a
//! sub-agent does stands in the log of the session that started it, under its own `agentId`.
//!
//! - [`CopilotCli`]: finds the logs
//! - `EventReader`: events to turns

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, EpisodeKind, Outcome, Role, ToolUse};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::shapes::{self, Message, append, arguments, flatten, id_of, short, text_of};
use super::{Computer, EpisodeReader, Known, LineMark, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit, files_below};

const KIND: &str = "copilot-cli";
const LOG: &str = "events.jsonl";

/// Events that hold no words, or words that stand elsewhere too.
const WORDLESS: [&str; 11] = [
    "session.",
    "assistant.turn",
    "assistant.usage",
    "assistant.reasoning",
    "hook.",
    "permission.",
    "abort",
    "tool.execution_progress",
    "assistant.message_delta",
    "subagent.",
    "system.message",
];

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct CopilotCli;

impl Source for CopilotCli {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "GitHub Copilot CLI"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        vec![computer.directory("COPILOT_HOME", ".copilot").join("session-state")]
    }

    fn discover(&self, root: &Path, _known: &dyn Known) -> Vec<Unit> {
        let files = if root.is_file() { vec![root.to_path_buf()] } else { files_below(root, "jsonl", 4) };
        files.into_iter().filter(|file| file.file_name().is_some_and(|name| name == LOG)).filter_map(Unit::lines).collect()
    }

    fn reader(&self, unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        let known: Value = serde_json::from_str(state).unwrap_or_default();
        let folder = unit.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
        let session = text_of(&known, "session").unwrap_or(folder).to_owned();
        Box::new(EventReader {
            options: options.clone(),
            cwd: text_of(&known, "cwd").map(str::to_owned),
            branch: text_of(&known, "branch").map(str::to_owned),
            model: text_of(&known, "model").map(str::to_owned),
            version: text_of(&known, "version").map(str::to_owned),
            session,
            calls: HashMap::new(),
        })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        let data = &value["data"];
        LineOwner {
            session: text_of(data, "sessionId").map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(&data["context"], "cwd").or_else(|| text_of(data, "cwd")),
        }
    }
}

struct EventReader {
    options: ReaderOptions,
    session: String,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// Names of the calls so far.
    calls: HashMap<String, String>,
}

impl EpisodeReader for EventReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let Some(kind) = text_of(value, "type") else {
                out.push(Reading::Skip("no-type", String::new()));
                continue;
            };
            self.event(kind, value, line.mark.line, out);
        }
    }

    fn finish(&mut self, _out: &mut Vec<Reading>) {}

    fn open_since(&self) -> Option<(LineMark, String)> {
        None
    }

    fn state(&self) -> String {
        serde_json::json!({"session": self.session, "cwd": self.cwd, "branch": self.branch, "model": self.model, "version": self.version})
            .to_string()
    }
}

impl EventReader {
    fn event(&mut self, kind: &str, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let data = &value["data"];
        let tool_bytes = self.options.tool_bytes;
        match kind {
            // A sub-agent has a model of its own.
            "session.model_change" if value["agentId"].is_string() => {}
            "session.start" | "session.resume" | "session.model_change" | "session.context_changed" => {
                if let Some(session) = text_of(data, "sessionId").filter(|_| kind == "session.start") {
                    session.clone_into(&mut self.session);
                }
                let context = if data["context"].is_object() { &data["context"] } else { data };
                for (field, found) in [
                    (&mut self.cwd, text_of(context, "cwd")),
                    (&mut self.branch, text_of(context, "branch")),
                    (&mut self.model, shapes::first_text(data, &["selectedModel", "newModel", "model"])),
                    (&mut self.version, shapes::first_text(data, &["copilotVersion", "version"])),
                ] {
                    if let Some(found) = found {
                        *field = Some(found.to_owned());
                    }
                }
            }
            "user.message" => {
                let episode = self.episode(value);
                let is_typed =
                    episode.kind == EpisodeKind::Session && text_of(data, "source").is_none_or(|source| source == "user");
                let mut message = self.message(value, line, if is_typed { Role::Human } else { Role::Injected });
                message.say(text_of(data, "content").unwrap_or(""));
                let from = out.len();
                message.turns(KIND, &episode, tool_bytes, line, out);
                for reading in &mut out[from..] {
                    if let Reading::Turn(read) = reading
                        && episode.kind == EpisodeKind::Subagent
                    {
                        read.turn.speaker = Some("parent agent".to_owned());
                    }
                }
            }
            "assistant.message" => {
                let mut message = self.message(value, line, Role::Assistant);
                message.model = text_of(data, "model").map(str::to_owned).or_else(|| self.model.clone());
                message.say(text_of(data, "content").unwrap_or(""));
                for call in data["toolRequests"].as_array().into_iter().flatten() {
                    let name = text_of(call, "name").unwrap_or("tool");
                    let call_id = id_of(&call["toolCallId"]);
                    if let Some(call_id) = &call_id {
                        self.calls.insert(call_id.clone(), name.to_owned());
                    }
                    message.call(call_id, name, &arguments(&call["arguments"]), tool_bytes);
                }
                message.turns(KIND, &self.episode(value), tool_bytes, line, out);
            }
            "tool.execution_complete" => {
                let call_id = id_of(&data["toolCallId"]);
                let name = call_id.as_ref().and_then(|id| self.calls.get(id)).cloned().unwrap_or_default();
                let exit_code = data["shellExecution"]["exitCode"].as_i64();
                let has_failed = data["success"].as_bool() == Some(false) || exit_code.is_some_and(|code| code != 0);
                let outcome = if has_failed { Outcome::Failed } else { Outcome::Done };
                // What was shown, and what servers gave as data, repeat what the model was given.
                let result = &data["result"];
                let mut words = if result["content"].is_null() { flatten(result) } else { flatten(&result["content"]) };
                append(&mut words, &flatten(&data["error"]));
                let mut message = self.message(value, line, Role::ToolResult);
                message.is_error = outcome == Outcome::Failed;
                message.tool_text = excerpt(&super::own::without_own_output(&words), tool_bytes).into_owned();
                message.tools = vec![ToolUse { call_id, name, outcome: Some(outcome) }];
                message.turns(KIND, &self.episode(value), tool_bytes, line, out);
            }
            // The call was told by the message that made it.
            "tool.execution_start" | "tool.user_requested" => {}
            kind if WORDLESS.iter().any(|beginning| kind.starts_with(beginning)) => {}
            unknown => out.push(Reading::Skip("unknown-type", short(unknown))),
        }
    }

    /// The session, or the sub-agent whose event it is.
    fn episode(&self, value: &Value) -> Arc<Episode> {
        let agent = text_of(value, "agentId").filter(|agent| *agent != self.session);
        Arc::new(Episode {
            kind: if agent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
            parent_native_id: agent.map(|_| self.session.clone()),
            cwd: self.cwd.clone(),
            client_version: self.version.clone(),
            ..shapes::episode(KIND, agent.unwrap_or(&self.session))
        })
    }

    fn message(&self, value: &Value, line: u64, role: Role) -> Message {
        let id = id_of(&value["id"]).unwrap_or_else(|| format!("#{line}"));
        let time = shapes::time_of(&value["timestamp"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        Message { cwd: self.cwd.clone(), branch: self.branch.clone(), ..Message::new(id, role, time) }
    }
}
