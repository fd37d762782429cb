//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, a log of events that grows at its end. Until December 2025 it was
//! `session-state/<id>.jsonl`.
//!
//! - [`CopilotCli`]: finds the logs and the titles
//! - `EventReader`: events to turns

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use yore_core::episode::{Episode, EpisodeKind, Outcome, Role, TitleRank, ToolUse};
use yore_core::scope::{is_within, normalize_directory};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::shapes::{self, Message, append, arguments, flatten, id_of, short, text_of};
use super::speaker::{self, Marks, PARENT_AGENT, sender};
use super::{Computer, EpisodeReader, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit, files_below};

const KIND: &str = "copilot-cli";
const LOG: &str = "events.jsonl";
/// Folder of all sessions.
const SESSIONS: &str = "session-state";
const WORKSPACE: &str = "workspace.yaml";
/// Maximum size in bytes of the file with a session's facts.
const MAX_WORKSPACE_BYTES: u64 = 1 << 20;
/// Start time that sorts after any session read for the first time, because a title needs an existing
/// episode.
const AFTER_ALL: &str = "9999";

/// Elements that the program inserts into a prompt.
const PUT_IN: Marks = Marks { elements: &["current_datetime", "system_reminder"], tails: &[] };

/// Events without text, or with text that occurs elsewhere too.
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

/// The source for GitHub Copilot CLI; see the module documentation.
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
        if root.is_file() {
            return if is_workspace(root) {
                workspace_unit(root).into_iter().collect()
            } else {
                Unit::lines(root.to_path_buf()).into_iter().collect()
            };
        }
        let logs = files_below(root, "jsonl", 4).into_iter().filter(|file| is_log(file));
        let mut units: Vec<Unit> = logs.filter_map(Unit::lines).collect();
        let titles =
            files_below(root, "yaml", 4).into_iter().filter(|file| is_workspace(file) && file.with_file_name(LOG).is_file());
        units.extend(titles.filter_map(|file| workspace_unit(&file)));
        units
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        let bytes = shapes::read_whole(&unit.path, MAX_WORKSPACE_BYTES)?;
        let facts = scalars(&String::from_utf8_lossy(&bytes));
        let fact = |key: &str| {
            facts.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let session = fact("id").map(str::to_owned).unwrap_or_else(|| session_of(&unit.path));
        if let Some(title) = fact("name").or_else(|| fact("summary")) {
            take(json!({"type": "workspace", "session": session, "title": title, "at": fact("updated_at")}));
        }
        Ok(())
    }

    fn reader(&self, unit: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        let known: Value = serde_json::from_str(state).unwrap_or_default();
        let session = text_of(&known, "session").map_or_else(|| session_of(unit), str::to_owned);
        Box::new(EventReader {
            options: options.clone(),
            cwd: text_of(&known, "cwd").map(str::to_owned),
            root: text_of(&known, "root").map(str::to_owned),
            remote: text_of(&known, "remote").map(str::to_owned),
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
            session: text_of(data, "sessionId").or_else(|| text_of(value, "session")).map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(&data["context"], "cwd").or_else(|| text_of(data, "cwd")),
        }
    }
}

/// Returns whether a file is a session's log, in a folder of its own or among the sessions.
fn is_log(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == LOG)
        || file.parent().and_then(Path::file_name).is_some_and(|name| name == SESSIONS)
}

fn is_workspace(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == WORKSPACE)
}

fn workspace_unit(file: &Path) -> Option<Unit> {
    Some(Unit { began: Some(AFTER_ALL.to_owned()), ..Unit::records(file.to_path_buf())? })
}

/// Returns the session that a file belongs to, from the name of its folder or its own.
fn session_of(file: &Path) -> String {
    let is_in_folder = file.file_name().is_some_and(|name| name == LOG || name == WORKSPACE);
    let name = if is_in_folder { file.parent().and_then(Path::file_name) } else { file.file_stem() };
    name.and_then(|name| name.to_str()).unwrap_or("").to_owned()
}

/// Parses the members of `workspace.yaml`, which the program writes itself: one scalar each, plain or quoted,
/// on one line or on the lines below.
fn scalars(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = found.last_mut() {
                append_word(value, line.trim());
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let value = match value.chars().next() {
            // The value is on the lines below.
            Some('|' | '>') if value.len() <= 2 => String::new(),
            Some('"') => serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches('"').to_owned()),
            Some('\'') => value.trim_matches('\'').replace("\'\'", "\'"),
            _ => value.to_owned(),
        };
        found.push((key.trim().to_owned(), value));
    }
    found
}

fn append_word(to: &mut String, word: &str) {
    if !to.is_empty() {
        to.push(' ');
    }
    to.push_str(word);
}

struct EventReader {
    options: ReaderOptions,
    session: String,
    cwd: Option<String>,
    /// The repository that the directory is in.
    root: Option<String>,
    /// The address of its remote.
    remote: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// Names of the calls so far, by call id.
    calls: HashMap<String, String>,
}

/// Returns the address of the remote that a session's context names: in full, or as `owner/name` on a host.
fn remote_of(context: &Value) -> Option<String> {
    let repository = text_of(context, "repository").filter(|repository| repository.contains('/'))?;
    if repository.contains(':') {
        return Some(repository.to_owned());
    }
    let host = text_of(context, "repositoryHost").unwrap_or("github.com");
    Some(format!("https://{host}/{repository}"))
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

    fn state(&self) -> String {
        json!({
            "session": self.session, "cwd": self.cwd, "root": self.root, "remote": self.remote, "branch": self.branch,
            "model": self.model, "version": self.version,
        })
        .to_string()
    }
}

impl EventReader {
    fn event(&mut self, kind: &str, value: &Value, line: u64, out: &mut Vec<Reading>) {
        let data = &value["data"];
        let tool_bytes = self.options.tool_bytes;
        match kind {
            // A sub-agent has its own model.
            "session.model_change" if value["agentId"].is_string() => {}
            "session.start" | "session.resume" | "session.model_change" | "session.context_changed" => {
                if let Some(session) = text_of(data, "sessionId").filter(|_| kind == "session.start") {
                    session.clone_into(&mut self.session);
                }
                let context = if data["context"].is_object() { &data["context"] } else { data };
                if context["cwd"].is_string() {
                    self.root = text_of(context, "gitRoot").map(str::to_owned);
                    self.remote = remote_of(context);
                }
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
                let mut message = self.message(value, line, Role::Human);
                message.hear(text_of(data, "content").unwrap_or(""), &PUT_IN, tool_bytes);
                message.sent_by(sender(speaker::COPILOT_CLI, data));
                if episode.kind == EpisodeKind::Subagent {
                    (message.role, message.speaker) = (Role::Injected, Some(PARENT_AGENT));
                }
                message.turns(KIND, &episode, tool_bytes, line, out);
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
                // The displayed result and structured data from servers repeat the text for the model.
                let result = &data["result"];
                let mut words = if result["content"].is_null() { flatten(result) } else { flatten(&result["content"]) };
                append(&mut words, &flatten(&data["error"]));
                let mut message = self.message(value, line, Role::ToolResult);
                message.is_error = outcome == Outcome::Failed;
                message.tool_text = excerpt(&super::own::without_own_output(&words), tool_bytes).into_owned();
                message.tools = vec![ToolUse { call_id, name, outcome: Some(outcome) }];
                message.turns(KIND, &self.episode(value), tool_bytes, line, out);
            }
            "session.compaction_complete" => {
                if let Some(summary) = text_of(data, "summaryContent") {
                    let mut message = self.message(value, line, Role::Summary);
                    message.say(summary);
                    message.turns(KIND, &self.episode(value), tool_bytes, line, out);
                }
            }
            "workspace" => {
                if let (Some(session), Some(words)) = (text_of(value, "session"), text_of(value, "title")) {
                    let at = shapes::time_of(&value["at"], TimeQuality::Exact).and_then(|time| time.utc);
                    let title = shapes::title(words, TitleRank::Ai, at, line);
                    out.push(Reading::Title(Arc::new(shapes::episode(KIND, session)), title));
                }
            }
            // The message that made the call already reported it.
            "tool.execution_start" | "tool.user_requested" => {}
            kind if WORDLESS.iter().any(|beginning| kind.starts_with(beginning)) => {}
            unknown => out.push(Reading::Skip("unknown-type", short(unknown))),
        }
    }

    /// Returns the session, or the sub-agent of the event.
    fn episode(&self, value: &Value) -> Arc<Episode> {
        let agent = text_of(value, "agentId").filter(|agent| *agent != self.session);
        Arc::new(Episode {
            kind: if agent.is_some() { EpisodeKind::Subagent } else { EpisodeKind::Session },
            parent_native_id: agent.map(|_| self.session.clone()),
            // The whole repository is one project, wherever in it the session began.
            cwd: self
                .root
                .clone()
                .filter(|root| {
                    self.cwd.as_ref().is_none_or(|cwd| is_within(&normalize_directory(cwd), &normalize_directory(root)))
                })
                .or_else(|| self.cwd.clone()),
            remote: self.remote.clone(),
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
