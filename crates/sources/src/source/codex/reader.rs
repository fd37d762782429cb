//! Converts the lines of a rollout to turns.
//!
//! Lines of type `event_msg`, shown in the interface, show which prompts a person typed; lines of type
//! `response_item`, sent to or from the model, hold everything else. A prompt occurs in both, first as a
//! `response_item`. It is held back until the event confirms it, or until the model continues, which shows
//! that this client writes no such events.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yore_core::episode::{Caveat, Episode, EpisodeKind, FileUse, Outcome, Role, TitleRank, ToolUse, Turn};
use yore_core::id::TurnId;
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::own::{is_own_call, is_own_tool, without_own_calls, without_own_output, without_own_words};
use super::super::shapes::{self, append, short, text_of};
use super::super::speaker::{self, PARENT_AGENT, Sender, role_by, sender};
use super::super::{EpisodeReader, LineMark, ReadTurn, ReaderOptions, Reading, SourceLine};
use super::thread::{Step, Thread, is_header, payload};
use super::tool::{answer_of, answer_of_script, call_of, nested_call, shell_command_of_person};

pub(super) const KIND: &str = "codex";
/// Member that holds the values of a line with several.
pub(super) const GLUED: &str = "_glued";
/// Member that represents a line that is not JSON.
pub(super) const BAD: &str = "_bad";

/// Maximum number of lines for which a held-back prompt waits for its event.
const MAX_WAIT_LINES: u64 = 200;

/// Maximum number of calls of the model that are remembered.
const MAX_CALLS: usize = 64;
/// Maximum number of lines between two reports of the same prompt.
const MAX_ECHO_LINES: u64 = 3;
/// The tool that runs a script, which calls the others.
const SCRIPT: &str = "exec";

/// Line types without text, or with text that occurs elsewhere too.
const WORDLESS_LINES: [&str; 7] = [
    "token_usage_record",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "turn_input_metadata",
    "state",
    "rollout_reference",
];

/// Events without text, or with text that occurs in `response_item` too.
const WORDLESS_EVENTS: [&str; 39] = [
    "agent_message",
    "agent_message_delta",
    "agent_reasoning",
    "agent_reasoning_delta",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "token_count",
    "task_started",
    "turn_started",
    "task_complete",
    "turn_complete",
    "context_compacted",
    "entered_review_mode",
    "exited_review_mode",
    "sub_agent_activity",
    "thread_settings_applied",
    "patch_apply_begin",
    "patch_apply_end",
    "exec_command_begin",
    "exec_command_output_delta",
    "exec_command_end",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "web_search_begin",
    "web_search_end",
    "view_image_tool_call",
    "image_generation_begin",
    "image_generation_end",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "collab_agent_spawn_begin",
    "collab_agent_spawn_end",
    "collab_agent_interaction_begin",
    "collab_agent_interaction_end",
    "plan_update",
    "turn_diff",
    "item_started",
    "background_event",
    "session_configured",
];

/// Beginnings of texts that the client sends to the model in every session. A person did not write them.
const BOILERPLATE: [&str; 14] = [
    "<environment_context>",
    "<ENVIRONMENT_CONTEXT>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<recommended_plugins>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<apps_instructions>",
    "<skills_instructions>",
    "<personality_spec>",
    "<model_switch>",
    "<turn_aborted>",
    "<user_action>",
];

/// Heading at the end of the text that an editor puts before a prompt.
const REQUEST_HEADING: &str = "## My request for Codex:";

/// State from earlier lines that later lines need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct State {
    thread: Thread,
    first_cwd: Option<String>,
    remote: Option<String>,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    version: Option<String>,
    parent: Option<String>,
    is_subagent: bool,
    /// True while a program sends the prompts.
    is_program: bool,
    /// Start time of the session, for lines without a time of their own.
    began: Option<String>,
    /// True if this client writes an event for each prompt.
    has_prompt_events: bool,
    /// True if yore itself asked in this session.
    is_own_call: bool,
    /// The last prompt that an event reported: its hash and line.
    last_prompt: Option<(u64, u64)>,
    /// Ids of the latest calls of the model. A call that ends under another id was made by a script.
    calls: VecDeque<String>,
    /// Ids of calls of yore's own tools, whose answers are to be left out.
    own_calls: VecDeque<String>,
    /// First lines of the prompts that still count.
    prompts: Vec<u64>,
    /// The running script: the id of its call, and whether a tool that it called was reported separately.
    script: Option<(String, bool)>,
}

/// Reads rollouts.
pub(super) struct RolloutReader {
    state: State,
    options: ReaderOptions,
    episode: Option<Arc<Episode>>,
    /// Texts sent to the model as the user's that no event has confirmed yet.
    waiting: Vec<Waiting>,
    /// Titles and links, output again at the end, when their episode is sure to exist.
    facts: Vec<Reading>,
}

struct Waiting {
    mark: LineMark,
    /// The state before the line.
    before: String,
    text: String,
    time: RecordedTime,
    cwd: Option<String>,
    /// Role of the author, if the line gives it.
    sign: Option<Role>,
}

/// Content of a turn, apart from its position.
#[derive(Default)]
struct Said {
    text: String,
    tool_text: String,
    speaker: Option<String>,
    caveat: Option<Caveat>,
    outcome: Option<Outcome>,
    tools: Vec<ToolUse>,
    files: Vec<FileUse>,
}

impl RolloutReader {
    pub(super) fn new(unit: &Path, state: &str, options: ReaderOptions) -> Self {
        let state = serde_json::from_str(state).unwrap_or_else(|_| State { thread: Thread::new(unit), ..State::default() });
        Self { state, options, episode: None, waiting: Vec::new(), facts: Vec::new() }
    }

    fn state_text(&self) -> String {
        serde_json::to_string(&self.state).unwrap_or_default()
    }

    fn value(&mut self, value: &Value, mark: LineMark, ordinal: &mut u32, out: &mut Vec<Reading>) {
        if value.is_null() {
            return;
        }
        if let Some(values) = value[GLUED].as_array() {
            for value in values.iter().filter(|value| !value[GLUED].is_array()) {
                self.value(value, mark, ordinal, out);
            }
            return;
        }
        if value.get(BAD).is_some() {
            out.push(Reading::Skip("invalid-json", String::new()));
            return;
        }
        if !value.is_object() {
            out.push(Reading::Skip("not-an-object", String::new()));
            return;
        }
        let before = self.state_text_if_needed(value);
        match self.state.thread.step(value) {
            Step::Nameless => {
                out.push(Reading::Skip("no-thread", short(text_of(value, "type").unwrap_or(""))));
                return;
            }
            Step::Copied => {
                out.push(Reading::Skip("copied-history", String::new()));
                return;
            }
            Step::Header => {
                self.header(payload(value));
                if let (Some(parent), Some(episode)) = (text_of(payload(value), "forked_from_id"), self.episode()) {
                    self.fact(Reading::Link(episode, "forked-from", parent.to_owned()), out);
                }
                return;
            }
            Step::Own => {}
        }
        let facts = payload(value);
        let kind = if value["payload"].is_object() { text_of(value, "type").unwrap_or("") } else { "response_item" };
        match kind {
            "response_item" => self.item(value, facts, mark, before, ordinal, out),
            "event_msg" => self.event(value, facts, mark, ordinal, out),
            "turn_context" => {
                if let Some(cwd) = text_of(facts, "cwd") {
                    self.state.cwd = Some(cwd.to_owned());
                }
                if let Some(model) = text_of(facts, "model") {
                    self.state.model = Some(model.to_owned());
                }
            }
            "compacted" => {
                self.settle(out);
                // The history that replaces the old one repeats earlier messages.
                let text = text_of(facts, "message").unwrap_or("").to_owned();
                self.say(value, mark, ordinal, Role::Summary, Said { text, ..Said::default() }, out);
            }
            kind if WORDLESS_LINES.contains(&kind) => {}
            "" => out.push(Reading::Skip("no-type", String::new())),
            unknown => out.push(Reading::Skip("unknown-type", short(unknown))),
        }
    }

    /// Returns the state as text if the line may have to be read again from here.
    fn state_text_if_needed(&self, value: &Value) -> String {
        if text_of(payload(value), "role") == Some("user") { self.state_text() } else { String::new() }
    }

    fn header(&mut self, facts: &Value) {
        let state = &mut self.state;
        let owned = |key: &str| text_of(facts, key).map(str::to_owned);
        state.cwd = owned("cwd").or_else(|| state.cwd.take());
        state.branch = text_of(&facts["git"], "branch").map(str::to_owned).or_else(|| state.branch.take());
        // A person may go on with a thread that a program began.
        let by = sender(speaker::CODEX, facts).map(|by| by.with(self.options.headless));
        state.is_program = by == Some(Sender::Program);
        // The first header defines the episode.
        if state.began.is_some() {
            return;
        }
        state.began = Some(owned("timestamp").unwrap_or_default());
        state.first_cwd.clone_from(&state.cwd);
        state.remote = text_of(&facts["git"], "repository_url").map(str::to_owned);
        state.version = owned("cli_version");
        let source = &facts["source"];
        state.is_subagent = source.is_object() || text_of(facts, "thread_source") == Some("subagent");
        if state.is_subagent {
            let root = owned("session_id").filter(|root| Some(root) != state.thread.id.as_ref());
            state.parent =
                owned("parent_thread_id").or_else(|| parent_of(source, 0)).or(root).or_else(|| owned("forked_from_id"));
        }
        self.episode = None;
    }

    fn fact(&mut self, fact: Reading, out: &mut Vec<Reading>) {
        if !self.facts.contains(&fact) {
            self.facts.push(fact.clone());
        }
        out.push(fact);
    }

    fn episode(&mut self) -> Option<Arc<Episode>> {
        if self.episode.is_none() {
            let state = &self.state;
            let id = state.thread.id.as_deref()?;
            self.episode = Some(Arc::new(Episode {
                kind: if state.is_subagent { EpisodeKind::Subagent } else { EpisodeKind::Session },
                parent_native_id: state.parent.clone(),
                cwd: state.first_cwd.clone(),
                remote: state.remote.clone(),
                client_version: state.version.clone(),
                ..shapes::episode(KIND, id)
            }));
        }
        self.episode.clone()
    }

    fn item(&mut self, value: &Value, item: &Value, mark: LineMark, before: String, ordinal: &mut u32, out: &mut Vec<Reading>) {
        let kind = text_of(item, "type").unwrap_or("");
        match (kind, text_of(item, "role")) {
            ("message", Some("user")) => {
                let (text, sign) = match signed_words(item) {
                    Some((text, role)) => (text, Some(role)),
                    None => (words_without_boilerplate(&item["content"], out), None),
                };
                if text.trim().is_empty() || is_boilerplate(&text) {
                    return;
                }
                if let Some((command, words, outcome)) = shell_command_of_person(&text) {
                    self.settle(out);
                    self.command_of_person(value, &command, &words, outcome, mark, ordinal, out);
                    return;
                }
                // If the event came first, the prompt was already output.
                if self.state.last_prompt.is_some_and(|(known, line)| known == self.hash(&text) && mark.line <= line + 4) {
                    return;
                }
                let (time, cwd) = (self.time_of(value), self.state.cwd.clone());
                let sign = sign.or_else(|| text.trim_start().starts_with("<skill>").then_some(Role::Injected));
                self.waiting.push(Waiting { mark, before, text, time, cwd, sign });
            }
            ("message", Some("assistant")) => {
                self.settle(out);
                let text = words_of_content(&item["content"], out);
                self.say(value, mark, ordinal, Role::Assistant, Said { text, ..Said::default() }, out);
            }
            // Instructions of the client.
            ("message", Some("developer" | "system")) => {}
            ("reasoning", _) => self.settle(out),
            ("agent_message", _) => {
                let text = words_of_content(&item["content"], out);
                let author = text_of(item, "author").map(str::to_owned);
                if self.state.is_subagent {
                    self.say(value, mark, ordinal, Role::Injected, Said { text, speaker: author, ..Said::default() }, out);
                } else {
                    // A sub-agent's report is the answer to the call that started it.
                    self.say(
                        value,
                        mark,
                        ordinal,
                        Role::ToolResult,
                        Said { tool_text: text, speaker: author, ..Said::default() },
                        out,
                    );
                }
            }
            ("compaction" | "compaction_summary" | "context_compaction", _) => {
                let text = text_of(item, "summary").unwrap_or("").to_owned();
                self.say(value, mark, ordinal, Role::Summary, Said { text, ..Said::default() }, out);
            }
            ("ghost_snapshot" | "other" | "compaction_trigger" | "additional_tools", _) => {}
            (kind, _) if kind.ends_with("_call_output") || kind == "tool_search_output" => {
                let call_id = text_of(item, "call_id").map(str::to_owned);
                if call_id.as_ref().is_some_and(|id| self.state.own_calls.contains(id)) {
                    return;
                }
                let script = self.state.script.as_ref().filter(|(id, _)| Some(id) == call_id.as_ref());
                let (words, outcome) = match script {
                    Some((_, is_told)) => {
                        let (words, outcome) = answer_of_script(&item["output"], *is_told);
                        // The called tools were reported separately, so nothing remains.
                        if words.trim().is_empty() && outcome == Some(Outcome::Done) {
                            return;
                        }
                        (words, outcome)
                    }
                    None => answer_of(&item["output"]),
                };
                let tools = vec![ToolUse { call_id, name: String::new(), outcome }];
                let tool_text = excerpt(&words, self.options.tool_bytes).into_owned();
                self.say(value, mark, ordinal, Role::ToolResult, Said { tool_text, outcome, tools, ..Said::default() }, out);
            }
            (kind, _) if kind.ends_with("_call") => {
                self.settle(out);
                let (name, mut text, files) = call_of(item);
                let call_id = text_of(item, "call_id").or_else(|| text_of(item, "id")).map(str::to_owned);
                remember(&mut self.state.calls, call_id.clone());
                if is_own_tool(&name) {
                    remember(&mut self.state.own_calls, call_id);
                    return;
                }
                if name == SCRIPT {
                    self.state.script = call_id.clone().map(|id| (id, false));
                    let script = text_of(item, "input").unwrap_or("");
                    let kept = without_own_calls(script);
                    if kept.trim().is_empty() && !script.trim().is_empty() {
                        remember(&mut self.state.own_calls, call_id);
                        return;
                    }
                    if kept != script {
                        text = format!("{name}\n{kept}");
                    }
                }
                let tools = vec![ToolUse { call_id, name, outcome: None }];
                let tool_text = excerpt(&text, self.options.tool_bytes).into_owned();
                self.say(value, mark, ordinal, Role::ToolCall, Said { tool_text, tools, files, ..Said::default() }, out);
            }
            (unknown, _) => out.push(Reading::Skip("unknown-item", short(unknown))),
        }
    }

    fn event(&mut self, value: &Value, event: &Value, mark: LineMark, ordinal: &mut u32, out: &mut Vec<Reading>) {
        match text_of(event, "type").unwrap_or("") {
            "user_message" => self.prompt(value, event, mark, ordinal, out),
            "item_completed" => self.completed(value, &event["item"], mark, ordinal, out),
            "turn_aborted" => {
                self.settle(out);
                let text = format!("turn aborted: {}", text_of(event, "reason").unwrap_or("no reason given"));
                self.say(value, mark, ordinal, Role::System, Said { text, ..Said::default() }, out);
            }
            // The messages that were taken back are kept and marked, with a note that they were.
            "thread_rolled_back" => {
                self.settle(out);
                let count = event["num_turns"].as_u64().unwrap_or(1);
                self.take_back(count, mark, out);
                let text = format!("the last {count} prompts and all that followed were taken back");
                self.say(value, mark, ordinal, Role::System, Said { text, ..Said::default() }, out);
            }
            "error" | "stream_error" | "warning" => {
                let text = text_of(event, "message").unwrap_or("").to_owned();
                self.say(value, mark, ordinal, Role::System, Said { text, ..Said::default() }, out);
            }
            "thread_name_updated" => {
                if let (Some(name), Some(episode)) = (text_of(event, "thread_name"), self.episode()) {
                    let at = self.time_of(value).utc;
                    self.fact(Reading::Title(episode, shapes::title(name, TitleRank::Ai, at, mark.line)), out);
                }
            }
            kind if WORDLESS_EVENTS.contains(&kind) => {
                // The model has continued.
                if matches!(kind, "agent_message" | "agent_reasoning" | "task_complete" | "turn_complete") {
                    self.settle(out);
                }
            }
            unknown => out.push(Reading::Skip("unknown-event", short(unknown))),
        }
    }

    /// Marks the last prompts and everything after them as taken back.
    fn take_back(&mut self, count: u64, mark: LineMark, out: &mut Vec<Reading>) {
        let kept = self.state.prompts.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        let Some(first) = self.state.prompts.get(kept).copied() else { return };
        self.state.prompts.truncate(kept);
        if let Some(episode) = self.episode() {
            let lines = (first..mark.line).map(|line| format!("{}:{line}", episode.native_id)).collect();
            out.push(Reading::Caveat(episode, lines, Some(Caveat::TakenBack)));
        }
    }

    /// Reads a completed item of a turn. Newer clients report prompts and the tools called by a script this
    /// way.
    fn completed(&mut self, value: &Value, item: &Value, mark: LineMark, ordinal: &mut u32, out: &mut Vec<Reading>) {
        if text_of(item, "type") == Some("UserMessage") {
            let mut message = String::new();
            for part in item["content"].as_array().into_iter().flatten() {
                append(&mut message, text_of(part, "text").unwrap_or(""));
            }
            let is_told = |(known, line)| known == self.hash(&message) && mark.line <= line + MAX_ECHO_LINES;
            if !message.trim().is_empty() && !self.state.last_prompt.is_some_and(is_told) {
                self.prompt(value, &serde_json::json!({"message": message}), mark, ordinal, out);
            }
            return;
        }
        let id = text_of(item, "id").unwrap_or("");
        // A call that the model made itself is reported by its answer.
        if id.is_empty() || self.state.calls.iter().any(|call| call == id) {
            return;
        }
        let Some(nested) = nested_call(item) else {
            if let Some((_, is_told)) = self.state.script.as_mut().filter(|_| text_of(item, "type") == Some("McpToolCall")) {
                // The tool is yore's own: its answer is not part of the script's output either.
                *is_told = true;
            }
            return;
        };
        self.settle(out);
        if let Some((_, is_told)) = &mut self.state.script {
            *is_told = true;
        }
        let tool = |outcome| vec![ToolUse { call_id: Some(id.to_owned()), name: nested.name.clone(), outcome }];
        let call = excerpt(&nested.call, self.options.tool_bytes).into_owned();
        let said = Said { tool_text: call, tools: tool(None), files: nested.files, ..Said::default() };
        self.say(value, mark, ordinal, Role::ToolCall, said, out);
        let answer = excerpt(&nested.answer, self.options.tool_bytes).into_owned();
        let outcome = Some(nested.outcome);
        let said = Said { tool_text: answer, outcome, tools: tool(outcome), ..Said::default() };
        self.say(value, mark, ordinal, Role::ToolResult, said, out);
    }

    /// Reads a prompt by a person, or by the agent that leads a sub-agent.
    fn prompt(&mut self, value: &Value, event: &Value, mark: LineMark, ordinal: &mut u32, out: &mut Vec<Reading>) {
        let message = text_of(event, "message").unwrap_or("");
        // The prompt has only pictures, or the line is damaged. It would confirm any waiting prompt and
        // replace it with nothing.
        if message.trim().is_empty() {
            if event["images"].as_array().is_some_and(|images| !images.is_empty()) {
                self.state.prompts.push(mark.line);
            }
            return;
        }
        // Older clients also report text that they gave to the model themselves.
        if text_of(event, "kind").is_some_and(|kind| kind != "plain") || is_boilerplate(message) {
            return;
        }
        let this = self.hash(message);
        // Some commands write their prompt twice.
        if self.state.last_prompt.is_some_and(|(known, line)| known == this && mark.line <= line + 1) {
            self.state.last_prompt = Some((this, mark.line));
            return;
        }
        self.state.last_prompt = Some((this, mark.line));
        self.state.has_prompt_events = true;
        let confirmed = self.waiting.iter().rposition(|waiting| waiting.text.trim().contains(message.trim()));
        let confirmed = confirmed.map(|at| self.waiting.remove(at));
        self.settle(out);
        let (key, parts) = match &confirmed {
            Some(waiting) => (waiting.mark.line, 2),
            None => (mark.line, 1),
        };
        let said = Said { text: request_of(message).to_owned(), caveat: caveat_of(message), ..Said::default() };
        let (time, cwd) = (self.time_of(value), self.state.cwd.clone());
        // A prompt that was held back is the first turn of its line.
        let ordinal = if confirmed.is_some() { &mut 0 } else { ordinal };
        self.turn(Place { key, line: mark.line, parts, time, cwd }, ordinal, Role::Human, said, out);
    }

    /// Outputs the prompts that still wait for an event.
    fn settle(&mut self, out: &mut Vec<Reading>) {
        let role = if self.state.has_prompt_events { Role::Injected } else { Role::Human };
        for waiting in std::mem::take(&mut self.waiting) {
            let caveat = if waiting.sign.is_none() { caveat_of(&waiting.text) } else { None };
            let said = Said { text: request_of(&waiting.text).to_owned(), caveat, ..Said::default() };
            let line = waiting.mark.line;
            let role = waiting.sign.unwrap_or(role);
            self.turn(Place { key: line, line, parts: 1, time: waiting.time, cwd: waiting.cwd }, &mut 0, role, said, out);
        }
    }

    /// Outputs a command that a person ran without the model, as a call and its answer.
    #[expect(clippy::too_many_arguments, reason = "where a line stands, and what it says")]
    fn command_of_person(
        &mut self,
        value: &Value,
        command: &str,
        words: &str,
        outcome: Outcome,
        mark: LineMark,
        ordinal: &mut u32,
        out: &mut Vec<Reading>,
    ) {
        let name = "user_shell_command".to_owned();
        let call_id = Some(format!("line {}", mark.line));
        let tools = vec![ToolUse { call_id: call_id.clone(), name: name.clone(), outcome: None }];
        let tool_text = excerpt(&format!("{name}\ncommand: {command}"), self.options.tool_bytes).into_owned();
        self.say(value, mark, ordinal, Role::ToolCall, Said { tool_text, tools, ..Said::default() }, out);
        let tools = vec![ToolUse { call_id, name, outcome: Some(outcome) }];
        let tool_text = excerpt(words, self.options.tool_bytes).into_owned();
        let said = Said { tool_text, outcome: Some(outcome), tools, ..Said::default() };
        self.say(value, mark, ordinal, Role::ToolResult, said, out);
    }

    fn say(&mut self, value: &Value, mark: LineMark, ordinal: &mut u32, role: Role, said: Said, out: &mut Vec<Reading>) {
        let place = Place { key: mark.line, line: mark.line, parts: 1, time: self.time_of(value), cwd: self.state.cwd.clone() };
        self.turn(place, ordinal, role, said, out);
    }

    fn turn(&mut self, place: Place, ordinal: &mut u32, role: Role, said: Said, out: &mut Vec<Reading>) {
        if role == Role::Human {
            self.state.prompts.push(place.key);
            self.state.is_own_call |= is_own_call(&said.text);
        }
        let text = without_own_words(said.text.trim()).trim().to_owned();
        let tool_text = without_own_output(&said.tool_text).into_owned();
        let is_empty = text.is_empty() && tool_text.trim().is_empty() && said.tools.is_empty();
        let Some(episode) = self.episode().filter(|_| !is_empty && !self.state.is_own_call) else { return };
        // The user of a sub-agent is the agent that started it.
        let (role, speaker) = match role {
            Role::Human if self.state.is_subagent => (Role::Injected, Some(PARENT_AGENT.to_owned())),
            Role::Human if self.state.is_program => {
                let (role, speaker) = role_by(Some(Sender::Program), role);
                (role, speaker.map(str::to_owned))
            }
            role => (role, said.speaker),
        };
        let is_of_model = matches!(role, Role::Assistant | Role::ToolCall | Role::Summary);
        let turn = Turn {
            id: TurnId::derive(KIND, &episode.native_id, &place.key.to_string(), *ordinal),
            native_id: format!("{}:{}", episode.native_id, place.line),
            role,
            speaker,
            caveat: said.caveat.filter(|_| role == Role::Human),
            text,
            tool_text,
            is_error: said.outcome == Some(Outcome::Failed),
            time: place.time,
            cwd: place.cwd,
            branch: self.state.branch.clone(),
            model: if is_of_model { self.state.model.clone() } else { None },
            parts: place.parts,
            tools: said.tools,
            files: said.files,
        };
        *ordinal += 1;
        out.push(Reading::Turn(Box::new(ReadTurn { episode, turn, line: place.line })));
    }

    /// Returns a hash that distinguishes the prompts of a thread and is useless elsewhere.
    fn hash(&self, text: &str) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.state.thread.id.as_deref().unwrap_or("").as_bytes());
        hasher.update(text.trim().as_bytes());
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(bytes)
    }

    fn time_of(&self, value: &Value) -> RecordedTime {
        if let Some(words) = text_of(value, "timestamp") {
            return RecordedTime::parse(words);
        }
        match self.state.began.as_deref().map(RecordedTime::parse) {
            Some(time) if time.utc.is_some() => RecordedTime { quality: TimeQuality::Session, ..time },
            _ => RecordedTime::UNKNOWN,
        }
    }
}

/// Returns the text of a message sent as the user's, and its role, if each of its parts names its author
/// (since version 0.154): typed by a person, or inserted by the client.
fn signed_words(item: &Value) -> Option<(String, Role)> {
    const TYPED: &str = "user.text";
    let kinds = item["internal_chat_message_metadata_passthrough"]["content_item_kinds"].as_array()?;
    let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
    let parts = item["content"].as_array()?;
    if kinds.is_empty() || kinds.len() != parts.len() || kinds.contains(&"unknown") {
        return None;
    }
    let is_typed = kinds.contains(&TYPED);
    let mut words = String::new();
    for (part, kind) in parts.iter().zip(&kinds) {
        if (*kind == TYPED) == is_typed {
            append(&mut words, text_of(part, "text").unwrap_or(""));
        }
    }
    Some((words, if is_typed { Role::Human } else { Role::Injected }))
}

/// Adds a call's id and drops old ones.
fn remember(calls: &mut VecDeque<String>, id: Option<String>) {
    calls.extend(id);
    while calls.len() > MAX_CALLS {
        calls.pop_front();
    }
}

/// Position of a turn.
struct Place {
    /// The line that its id is derived from.
    key: u64,
    /// The line of its text.
    line: u64,
    parts: u32,
    time: RecordedTime,
    cwd: Option<String>,
}

impl EpisodeReader for RolloutReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        let mut ordinal = 0;
        for value in line.values {
            self.value(value, line.mark, &mut ordinal, out);
        }
        if self.waiting.first().is_some_and(|waiting| waiting.mark.line + MAX_WAIT_LINES < line.mark.line) {
            self.settle(out);
        }
    }

    fn finish(&mut self, out: &mut Vec<Reading>) {
        self.settle(out);
        out.append(&mut self.facts);
    }

    fn open_since(&self) -> Option<(LineMark, String)> {
        self.waiting.first().map(|waiting| (waiting.mark, waiting.before.clone()))
    }

    fn state(&self) -> String {
        self.state_text()
    }
}

/// Reads the names of threads.
pub(super) struct IndexReader;

impl EpisodeReader for IndexReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let (Some(id), Some(name)) = (text_of(value, "id"), text_of(value, "thread_name")) else {
                if !value.is_null() && !is_header(value) {
                    out.push(Reading::Skip("no-thread-name", String::new()));
                }
                continue;
            };
            let at = text_of(value, "updated_at").and_then(|words| RecordedTime::parse(words).utc);
            out.push(Reading::Title(Arc::new(shapes::episode(KIND, id)), shapes::title(name, TitleRank::Ai, at, line.mark.line)));
        }
    }
}

/// Returns the text parts of a message, without pictures.
fn words_of_content(content: &Value, out: &mut Vec<Reading>) -> String {
    let mut text = String::new();
    match content {
        Value::String(words) => text.clone_from(words),
        Value::Array(parts) => {
            for part in parts {
                match text_of(part, "type") {
                    Some("input_text" | "output_text" | "text" | "summary_text" | "refusal") => {
                        append(&mut text, text_of(part, "text").or_else(|| text_of(part, "refusal")).unwrap_or(""));
                    }
                    Some("input_image" | "image" | "input_audio" | "input_file" | "encrypted_content") => {}
                    Some(unknown) => out.push(Reading::Skip("unknown-part", short(unknown))),
                    None => {}
                }
            }
        }
        _ => {}
    }
    text
}

/// Returns the text parts of a message sent as the user's, without those that the client sends in every session.
fn words_without_boilerplate(content: &Value, out: &mut Vec<Reading>) -> String {
    let Value::Array(parts) = content else { return words_of_content(content, out) };
    let is_kept = |part: &&Value| !text_of(part, "text").is_some_and(is_boilerplate);
    words_of_content(&Value::Array(parts.iter().filter(is_kept).cloned().collect()), out)
}

/// Returns the caveat of a prompt that is one element as a whole. This may be a wrapper that the client was taught later.
fn caveat_of(text: &str) -> Option<Caveat> {
    let text = text.trim();
    let tag = text.strip_prefix('<')?.split(['>', ' ', '\n']).next()?;
    let is_name = !tag.is_empty() && tag.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':'));
    (is_name && text.ends_with(&format!("</{tag}>"))).then_some(Caveat::UnknownAuthor)
}

fn is_boilerplate(text: &str) -> bool {
    let text = text.trim_start();
    BOILERPLATE.iter().any(|beginning| text.starts_with(beginning))
}

/// Returns a prompt without the text that an editor put before it.
fn request_of(text: &str) -> &str {
    match text.rfind(REQUEST_HEADING) {
        Some(at) if text.trim_start().starts_with("# Context from my IDE setup") => text[at + REQUEST_HEADING.len()..].trim(),
        _ => text,
    }
}

/// Returns the thread named in a sub-agent's description, at a depth of at most 8.
fn parent_of(source: &Value, depth: usize) -> Option<String> {
    let members = source.as_object().filter(|_| depth < 8)?;
    text_of(source, "parent_thread_id")
        .map(str::to_owned)
        .or_else(|| members.values().find_map(|member| parent_of(member, depth + 1)))
}
