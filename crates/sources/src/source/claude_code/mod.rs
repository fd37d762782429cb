//! Claude Code: transcripts in `projects/<slug>/<session>.jsonl`, sub-agents beside or below them.
//!
//! - [`ClaudeCode`]: finds the files
//! - `ClaudeReader`: groups the lines of one API message, distinguishes people from software
//! - `classify`: finds the real author of a "user" text
//! - `output`: reads the outputs of tools that were too large for a transcript
//!
//! Facts about the format were measured on 115,600 real lines of 24 client versions.

mod classify;
mod output;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};
use yore_core::episode::{Caveat, Episode, EpisodeKind, FileAction, FileUse, Outcome, Role, Title, TitleRank, ToolUse, Turn};
use yore_core::id::{EpisodeId, TurnId};
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

pub(super) use self::classify::classify_all;
use self::classify::{Classified, Refusal};
use super::chain::{Chain, Kind, Parent};
use super::own::is_own_tool;
use super::speaker::{self, Divided, Sender, role_by, sender};
use super::typed::{self, List, Prompt, TypedReader};
use super::{
    Computer, EpisodeReader, Known, LineMark, LineOwner, Platform, ReadTurn, ReaderOptions, Reading, Source, SourceLine, Unit,
    files_below,
};

const KIND: &str = "claude-code";

/// File name of the list of typed prompts.
const PROMPTS: &str = "history.jsonl";

/// Maximum number of lines without a further line of a message. After that the message is over, whatever else
/// is open.
const MAX_OPEN_LINES: u64 = 400;

/// Line types that carry no text of their own, or text that occurs elsewhere too.
const WORDLESS_TYPES: [&str; 30] = [
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "tools-used",
    "cost-state",
    "progress",
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "last-prompt",
    "permission-mode",
    "mode",
    "bridge-session",
    "agent-name",
    "agent-color",
    "agent-setting",
    "tag",
    "turn_end",
    "started",
    "result",
    "system",
    "worktree-state",
    "relocated",
    "isolation-latch",
    "ended",
    "attribution-snapshot",
    "content-replacement",
    "artifact-comment-monitor",
    "artifact-autoreact-ledger",
];

/// Number among the turns of a line, beyond those that a line gives itself, for an output that it refers to.
const OUTPUT_NUMBER: u32 = 1 << 16;

/// Minimum number of words of a text in a record of an unknown kind that is worth a report.
const MIN_WORDS: usize = 4;

/// Returns whether a record holds a text of several words, apart from the facts that every record may have.
fn holds_words(record: &Value) -> bool {
    let mut open = vec![record];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.split_whitespace().nth(MIN_WORDS - 1).is_some() => return true,
            Value::Array(list) => open.extend(list),
            Value::Object(members) => {
                open.extend(members.iter().filter(|(key, _)| !matches!(key.as_str(), "cwd" | "gitBranch")).map(|(_, item)| item));
            }
            _ => {}
        }
    }
    false
}

/// Returns whether an attachment was written by the client; only `queued_command` holds text by a person.
/// Hooks, reminders, lists and their changes have many names.
fn is_known_attachment(kind: &str) -> bool {
    matches!(
        kind,
        "edited_text_file"
            | "diagnostics"
            | "command_permissions"
            | "date_change"
            | "date"
            | "file"
            | "directory"
            | "nested_memory"
            | "prompt_snapshot"
            | "environment"
            | "model"
            | "session_context"
            | "remote_session_change"
            | "goal_status"
            | "agent_mention"
            | "instructions"
            | "relevant_memories"
            | "task_status"
            | "structured_output"
            | "async_hook_response"
            | "invoked_skills"
            | "output_style"
            | "auto_mode"
            | "fork_briefing"
            | "team_context"
            | "already_read_file"
            | "deferred_tools_record"
    ) || kind.starts_with("hook_")
        || kind.starts_with("plan_mode")
        || ["_reminder", "_listing", "_delta"].iter().any(|ending| kind.ends_with(ending))
}

/// The tool that asks the person; only its results hold a person's answers.
const ASKS_PERSON: &str = "AskUserQuestion";

/// Types of blocks without text, or with text that occurs elsewhere too.
const WORDLESS_BLOCKS: [&str; 4] = ["thinking", "redacted_thinking", "image", "document"];

/// The source for Claude Code; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl Source for ClaudeCode {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Claude Code"
    }

    fn places(&self, computer: &Computer<'_>) -> Vec<PathBuf> {
        let listed = (computer.variable)("CLAUDE_CONFIG_DIR").unwrap_or_default();
        let mut roots: Vec<PathBuf> =
            listed.split(',').map(str::trim).filter(|part| !part.is_empty()).map(PathBuf::from).collect();
        if roots.is_empty() {
            roots.push(computer.home.join(".claude"));
        }
        // Some versions keep their data here. A transcript found twice is stored once.
        if computer.platform == Platform::Xdg {
            roots.push(computer.configuration().join("claude"));
        }
        // A configuration directory holds more than transcripts and prompts; only those are read.
        roots.into_iter().flat_map(|root| ["projects", PROMPTS].map(|name| root.join(name))).collect()
    }

    fn discover(&self, root: &Path, known: &dyn Known) -> Vec<Unit> {
        if typed::is_list(root) {
            return prompts_without_transcript(root, known);
        }
        if root.is_file() {
            return Unit::lines(root.to_path_buf()).into_iter().collect();
        }
        // The root may be the configuration directory, its `projects`, or any folder of transcripts.
        let projects = root.join("projects");
        let prompts = prompts_without_transcript(&root.join(PROMPTS), known);
        let root = if projects.is_dir() { projects } else { root.to_path_buf() };
        let transcripts = transcripts_below(&root).into_iter().filter_map(Unit::lines);
        transcripts.chain(output::outputs_below(&root)).chain(prompts).collect()
    }

    fn records(&self, unit: &Unit, take: &mut dyn FnMut(Value) -> bool) -> io::Result<()> {
        if output::is_output(&unit.path) {
            output::record(&unit.path).map(take);
            return Ok(());
        }
        typed::records(unit, prompt_of, ("sessionId", "cwd"), take)
    }

    fn reader(&self, file: &Path, state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        if typed::is_list(file) {
            return Box::new(TypedReader { kind: KIND, options: options.clone() });
        }
        let (session, chain) = parsed_state(state);
        Box::new(ClaudeReader {
            session: if session.is_empty() { session_of_path(file) } else { session },
            chain,
            agent_of_file: agent_of_path(file),
            options: options.clone(),
            open: Vec::new(),
            episodes: Vec::new(),
            facts: Vec::new(),
            latest: None,
            own_calls: Vec::new(),
        })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "sessionId").or_else(|| text_of(value, "session_id")).map(Into::into),
            message: text_of(value, "uuid"),
            about: text_of(value, "leafUuid").or_else(|| text_of(value, "messageId")),
            directory: text_of(value, "cwd"),
        }
    }

    fn default_retention_days(&self) -> Option<u32> {
        Some(30)
    }
}

/// Returns the session from a file's name. It is used only until a line names the session.
fn session_of_path(file: &Path) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    if stem.starts_with("agent-") {
        // `<session>/subagents/agent-x.jsonl`
        let above = file.ancestors().skip(1).filter_map(|path| path.file_name()?.to_str());
        for name in above.take(4) {
            if uuid::Uuid::try_parse(name).is_ok() {
                return name.to_owned();
            }
        }
    }
    stem.to_owned()
}

/// Returns the transcripts below a folder, without journals of workflows, lists of typed prompts, and large
/// tool outputs, which are units of their own.
fn transcripts_below(root: &Path) -> Vec<PathBuf> {
    let mut files = files_below(root, "jsonl", 8);
    files.retain(|file| !matches!(file.file_name().and_then(|name| name.to_str()), Some("journal.jsonl" | PROMPTS)));
    files.retain(|file| {
        let folders = file.strip_prefix(root).ok().and_then(Path::parent);
        !folders.is_some_and(|folders| folders.iter().any(|folder| folder == "tool-results"))
    });
    files
}

/// Returns the sessions in the list of prompts that have no transcript. For older versions, which did not
/// name the session: the prompts typed in a directory before its oldest transcript began.
fn prompts_without_transcript(list: &Path, known: &dyn Known) -> Vec<Unit> {
    if let Some(units) = typed::unchanged(list, known) {
        return units;
    }
    let projects = list.with_file_name("projects");
    let here = transcripts_below(&projects);
    let names = known.names();
    let stem = |path: &Path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
    let mut told: HashSet<String> = here.iter().filter_map(|path| stem(path)).collect();
    told.extend(names.iter().filter(|name| !typed::is_list(Path::new(name))).filter_map(|name| stem(Path::new(name))));
    let told_since = |directory: &str| {
        let slug: String = directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let is_of = |path: &Path| path.parent().and_then(Path::file_name).is_some_and(|folder| folder.to_str() == Some(&slug));
        // The start time of a deleted transcript is unknown.
        if names.iter().map(Path::new).any(|name| is_of(name) && !name.exists()) {
            return None;
        }
        let first = |path: &PathBuf| {
            let time = crate::peek::first_string(path, "timestamp").and_then(|words| RecordedTime::parse(&words).utc);
            time.unwrap_or(UtcMillis::MIN)
        };
        Some(here.iter().filter(|path| is_of(path)).map(first).min().unwrap_or(UtcMillis::MAX))
    };
    typed::units(list, known, &List { prompt_of, told: &told, told_since: &told_since })
}

/// Parses a line of the list of prompts, including pasted text.
fn prompt_of(value: &Value) -> Option<Prompt> {
    let mut text = text_of(value, "display")?.to_owned();
    let pasted = value["pastedContents"].as_object().into_iter().flat_map(Map::values);
    for content in pasted.filter_map(|pasted| text_of(pasted, "content")) {
        append(&mut text, content);
    }
    Some(Prompt {
        session: text_of(value, "sessionId").map(str::to_owned),
        text,
        at: value["timestamp"].as_i64().filter(|at| *at > 0)?,
        directory: text_of(value, "project").map(str::to_owned),
    })
}

fn agent_of_path(file: &Path) -> Option<String> {
    file.file_stem()?.to_str()?.strip_prefix("agent-").map(str::to_owned)
}

/// Returns the session and the lines of a reader's state, which is the session alone if there were none.
fn parsed_state(state: &str) -> (String, Chain) {
    match serde_json::from_str::<Value>(state) {
        Ok(parsed @ Value::Object(_)) => {
            let text = |key: &str| text_of(&parsed, key).unwrap_or("").to_owned();
            (text("session"), Chain::of_text(&text("chain")))
        }
        _ => (state.to_owned(), Chain::default()),
    }
}

struct ClaudeReader {
    /// Session named in the last line that named one.
    session: String,
    /// The lines of the session that are linked with each other.
    chain: Chain,
    agent_of_file: Option<String>,
    options: ReaderOptions,
    /// Messages of the model that may continue, oldest first; at most one per episode. Results of the first
    /// tool may come between the calls, so only the next message ends one.
    open: Vec<Group>,
    episodes: Vec<Arc<Episode>>,
    /// Titles and links, output again at the end, when their episodes are sure to exist.
    facts: Vec<Reading>,
    /// Latest time in the lines so far.
    latest: Option<UtcMillis>,
    /// Ids of calls of yore's own tools, whose answers are to be left out.
    own_calls: Vec<String>,
}

/// State before a line.
#[derive(Clone, Debug)]
struct Before {
    session: String,
    /// Number of lines in the chain.
    lines: usize,
}

/// The lines of one API message.
struct Group {
    key: String,
    episode: Arc<Episode>,
    began: LineMark,
    /// State before the group's first line.
    before: Before,
    last_line: u64,
    native_id: String,
    line: u64,
    has_text: bool,
    uuids: Vec<String>,
    text: String,
    tool_text: String,
    role: Role,
    time: RecordedTime,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
    /// Plans that the message submits: native id of the line, line, tool call, text.
    plans: Vec<(String, u64, ToolUse, String)>,
    /// Calls of other tools, and the files that they name.
    tools: Vec<ToolUse>,
    files: Vec<FileUse>,
    /// Turns between or after the group's lines.
    behind: Vec<Reading>,
}

impl Group {
    /// Returns the submitted plans as turns of their own: a plan is prose, although it is sent as a tool's
    /// input.
    fn plan_turns(&self) -> impl Iterator<Item = Reading> + '_ {
        self.plans.iter().map(|(native_id, line, call, text)| {
            Reading::Turn(Box::new(ReadTurn {
                episode: Arc::clone(&self.episode),
                line: *line,
                turn: Turn {
                    id: TurnId::derive(KIND, &self.episode.native_id, call.call_id.as_deref().unwrap_or_default(), 0),
                    native_id: native_id.clone(),
                    role: self.role,
                    speaker: None,
                    caveat: None,
                    text: text.clone(),
                    tool_text: String::new(),
                    is_error: false,
                    time: self.time.clone(),
                    cwd: self.cwd.clone(),
                    branch: self.branch.clone(),
                    model: self.model.clone(),
                    parts: 1,
                    tools: vec![call.clone()],
                    files: Vec::new(),
                },
            }))
        })
    }

    fn turn(&self) -> Reading {
        let role = match self.role {
            Role::Assistant if !self.has_text && !self.tool_text.is_empty() => Role::ToolCall,
            role => role,
        };
        Reading::Turn(Box::new(ReadTurn {
            episode: Arc::clone(&self.episode),
            line: self.line,
            turn: Turn {
                id: TurnId::derive(KIND, &self.episode.native_id, &self.key, 0),
                native_id: self.native_id.clone(),
                role,
                speaker: None,
                caveat: None,
                text: self.text.clone(),
                tool_text: self.tool_text.clone(),
                is_error: false,
                time: self.time.clone(),
                cwd: self.cwd.clone(),
                branch: self.branch.clone(),
                model: self.model.clone(),
                parts: self.uuids.len().max(1) as u32,
                tools: self.tools.clone(),
                files: self.files.clone(),
            },
        }))
    }

    fn is_wordless(&self) -> bool {
        self.text.is_empty() && self.tool_text.is_empty()
    }
}

impl EpisodeReader for ClaudeReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            let Value::Object(record) = value else {
                out.push(Reading::Skip("not-an-object", String::new()));
                continue;
            };
            self.record(value, record, line.mark, out);
        }
        let limit = line.mark.line.saturating_sub(MAX_OPEN_LINES);
        while self.open.first().is_some_and(|group| group.last_line < limit) {
            emit(self.open.remove(0), out);
        }
    }

    fn finish(&mut self, out: &mut Vec<Reading>) {
        for group in self.open.drain(..) {
            emit(group, out);
        }
        out.append(&mut self.facts);
    }

    fn open_since(&self) -> Option<(LineMark, String)> {
        self.open
            .iter()
            .min_by_key(|group| group.began)
            .map(|group| (group.began, self.state_of(&group.before.session, group.before.lines)))
    }

    fn state(&self) -> String {
        self.state_of(&self.session, self.chain.len())
    }
}

fn emit(group: Group, out: &mut Vec<Reading>) {
    // A message that contains only thinking is not useful for recall.
    if !group.is_wordless() {
        out.push(group.turn());
    }
    out.extend(group.plan_turns());
    out.extend(group.behind);
}

impl ClaudeReader {
    fn record(&mut self, value: &Value, record: &Map<String, Value>, mark: LineMark, out: &mut Vec<Reading>) {
        let before = Before { session: self.session.clone(), lines: self.chain.len() };
        if let Some(session) = text_of(value, "sessionId").or_else(|| text_of(value, "session_id")) {
            session.clone_into(&mut self.session);
        }
        self.latest = self.latest.max(time_of(value).utc);
        let kind = record.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "assistant" => self.assistant(value, mark, before, out),
            "user" => self.user(value, mark, out),
            "attachment" => self.attachment(value, mark, out),
            "summary" => {
                if let (Some(text), Some(leaf)) = (text_of(value, "summary"), text_of(value, "leafUuid")) {
                    self.fact(
                        Reading::TitleOfMessage(leaf.to_owned(), title(text, TitleRank::Summary, self.latest, mark.line)),
                        out,
                    );
                }
            }
            "ai-title" | "custom-title" => {
                let (key, rank) =
                    if kind == "ai-title" { ("aiTitle", TitleRank::Ai) } else { ("customTitle", TitleRank::Custom) };
                if let Some(text) = text_of(value, key).or_else(|| text_of(value, "title")) {
                    let episode = self.episode(value);
                    self.fact(Reading::Title(episode, title(text, rank, self.latest, mark.line)), out);
                }
            }
            "pr-link" => {
                if let Some(url) = text_of(value, "prUrl") {
                    let episode = self.episode(value);
                    self.fact(Reading::Link(episode, "pull-request", url.to_owned()), out);
                }
            }
            output::RECORD => {
                let call_id = text_of(value, "call").map(str::to_owned);
                let is_error = value["is_error"].as_bool() == Some(true);
                let outcome = Some(if is_error { Outcome::Failed } else { Outcome::Done });
                let turn = SideTurn {
                    // The line that refers to it gives turns with its own id.
                    number: OUTPUT_NUMBER + value["number"].as_u64().unwrap_or(0).min(u64::from(u16::MAX)) as u32,
                    tool_text: text_of(value, "text").unwrap_or("").to_owned(),
                    is_error,
                    tool: call_id.map(|id| ToolUse { call_id: Some(id), name: String::new(), outcome }),
                    ..SideTurn::of(value, mark, Role::ToolResult)
                };
                self.side_turn(value, turn, out);
            }
            "system" | "away_summary" if kind == "away_summary" || text_of(value, "subtype") == Some("away_summary") => {
                let text = ["content", "summary", "text"].iter().find_map(|key| text_of(value, key)).unwrap_or("").to_owned();
                let turn = SideTurn { text, ..SideTurn::of(value, mark, Role::Summary) };
                self.side_turn(value, turn, out);
            }
            kind if WORDLESS_TYPES.contains(&kind) => {}
            unknown if !unknown.is_empty() && !holds_words(value) => {
                out.push(Reading::Skip("wordless-type", unknown.chars().take(48).collect()));
            }
            "" => out.push(Reading::Skip("no-type", String::new())),
            unknown => out.push(Reading::Skip("unknown-type", unknown.chars().take(48).collect())),
        }
        self.link(value, kind, out);
    }

    /// Adds a line to the chain, and reports the turns of branches that it left or took up again.
    fn link(&mut self, value: &Value, kind: &str, out: &mut Vec<Reading>) {
        let Some(id) = text_of(value, "uuid").filter(|_| self.agent_of_file.is_none()) else { return };
        if value["isSidechain"].as_bool() == Some(true) {
            return;
        }
        let parent = match (text_of(value, "parentUuid").or_else(|| text_of(value, "logicalParentUuid")), value.get("parentUuid"))
        {
            (Some(parent), _) => Parent::Named(parent),
            (None, Some(Value::Null)) => Parent::None,
            (None, _) => Parent::Unknown,
        };
        let change = self.chain.add(id, parent, kind_in_chain(value, kind));
        for (ids, caveat) in [(change.left, Some(Caveat::TakenBack)), (change.resumed, None)] {
            if !ids.is_empty() {
                let episode = self.episode(value);
                self.deliver(&episode, vec![Reading::Caveat(Arc::clone(&episode), ids, caveat)], out);
            }
        }
    }

    /// Returns the text of a state.
    fn state_of(&self, session: &str, lines: usize) -> String {
        if lines == 0 {
            return session.to_owned();
        }
        serde_json::json!({"session": session, "chain": self.chain.text(lines)}).to_string()
    }

    fn fact(&mut self, fact: Reading, out: &mut Vec<Reading>) {
        if !self.facts.contains(&fact) {
            self.facts.push(fact.clone());
        }
        out.push(fact);
    }

    /// Returns the episode that a line belongs to: the session, or a sub-agent's side conversation.
    fn episode(&mut self, value: &Value) -> Arc<Episode> {
        let is_side = value["isSidechain"].as_bool() == Some(true);
        let agent = text_of(value, "agentId").or(self.agent_of_file.as_deref());
        let (native_id, kind) = match (is_side || self.agent_of_file.is_some(), agent) {
            (true, Some(agent)) => (format!("{}/agent-{agent}", self.session), EpisodeKind::Subagent),
            (true, None) => (format!("{}/sidechain", self.session), EpisodeKind::Subagent),
            _ => (self.session.clone(), EpisodeKind::Session),
        };
        if let Some(known) = self
            .episodes
            .iter()
            .find(|episode| episode.native_id == native_id && (episode.cwd.is_some() || value["cwd"].is_null()))
        {
            return Arc::clone(known);
        }
        let episode = Arc::new(Episode {
            id: EpisodeId::derive(KIND, &native_id),
            agent: KIND.to_owned(),
            kind,
            parent_native_id: (kind == EpisodeKind::Subagent).then(|| self.session.clone()),
            project: None,
            cwd: text_of(value, "cwd").map(str::to_owned),
            remote: None,
            client_version: text_of(value, "version").map(str::to_owned),
            native_id,
        });
        self.episodes.retain(|known| known.id != episode.id);
        self.episodes.push(Arc::clone(&episode));
        episode
    }

    fn assistant(&mut self, value: &Value, mark: LineMark, before: Before, out: &mut Vec<Reading>) {
        let message = &value["message"];
        if !message.is_object() {
            out.push(Reading::Skip("wrong-shape", "assistant without message".to_owned()));
            return;
        }
        let episode = self.episode(value);
        let uuid = text_of(value, "uuid").map_or_else(|| format!("#{}", mark.line), str::to_owned);
        let key = match (text_of(message, "id"), text_of(value, "requestId")) {
            (Some(id), Some(request)) => format!("{id}/{request}"),
            (Some(id), None) => id.to_owned(),
            (None, _) => uuid.clone(),
        };
        let at = match self.open.iter().position(|group| group.episode.id == episode.id) {
            Some(at) if self.open[at].key == key => at,
            other => {
                if let Some(at) = other {
                    emit(self.open.remove(at), out);
                }
                let is_synthetic =
                    text_of(message, "model") == Some("<synthetic>") || value["isApiErrorMessage"].as_bool() == Some(true);
                self.open.push(Group {
                    key,
                    began: mark,
                    before,
                    last_line: mark.line,
                    native_id: uuid.clone(),
                    line: mark.line,
                    has_text: false,
                    uuids: Vec::new(),
                    text: String::new(),
                    tool_text: String::new(),
                    role: if is_synthetic { Role::System } else { Role::Assistant },
                    time: time_of(value),
                    cwd: text_of(value, "cwd").map(str::to_owned),
                    branch: text_of(value, "gitBranch").map(str::to_owned),
                    plans: Vec::new(),
                    tools: Vec::new(),
                    files: Vec::new(),
                    behind: Vec::new(),
                    model: text_of(message, "model").map(str::to_owned),
                    episode,
                });
                self.open.len() - 1
            }
        };
        let tool_bytes = self.options.tool_bytes;
        let mut results = Vec::new();
        let group = &mut self.open[at];
        group.last_line = mark.line;
        if group.uuids.contains(&uuid) {
            return;
        }
        for block in blocks(&message["content"]) {
            match block {
                Block::Text(text) => {
                    let text = text.trim();
                    if !text.is_empty() {
                        if !group.has_text {
                            group.has_text = true;
                            group.native_id.clone_from(&uuid);
                            group.line = mark.line;
                        }
                        append(&mut group.text, text);
                    }
                }
                Block::Other("tool_use", block)
                    if text_of(&block["input"], "plan").is_some() && text_of(block, "id").is_some() =>
                {
                    if let Some(plan) = text_of(&block["input"], "plan") {
                        group.plans.push((uuid.clone(), mark.line, call_of(block), plan.to_owned()));
                    }
                }
                // Calls of yore's own tools are not part of the conversation.
                Block::Other("tool_use", block) if text_of(block, "name").is_some_and(is_own_tool) => {
                    self.own_calls.extend(text_of(block, "id").map(str::to_owned));
                }
                Block::Other("tool_use" | "server_tool_use" | "mcp_tool_use", block) => {
                    let call = render_call(text_of(block, "name").unwrap_or("tool"), &block["input"]);
                    append(&mut group.tool_text, &excerpt(&call, tool_bytes));
                    group.files.extend(file_of(block));
                    group.tools.push(call_of(block));
                }
                Block::Other("web_search_tool_result", block) => {
                    append(&mut group.tool_text, &excerpt(&flatten(&block["content"]), tool_bytes));
                }
                Block::Other(kind, block) if kind.ends_with("_tool_result") => results.push(block),
                Block::Other(kind, _) => skip_unknown_block(kind, out),
            }
        }
        group.uuids.push(uuid);
        for (number, block) in (1..).zip(results) {
            let (tool_text, is_error) = server_output(&block["content"], block["is_error"].as_bool() == Some(true));
            let outcome = Some(if is_error { Outcome::Failed } else { Outcome::Done });
            let call_id = text_of(block, "tool_use_id").map(str::to_owned);
            let tool = Some(ToolUse { call_id, name: String::new(), outcome });
            let turn = SideTurn { tool_text, is_error, tool, number, ..SideTurn::of(value, mark, Role::ToolResult) };
            self.side_turn(value, turn, out);
        }
    }

    /// Outputs a turn that a line gives besides, or instead of, a message.
    fn side_turn(&mut self, value: &Value, side: SideTurn, out: &mut Vec<Reading>) {
        let SideTurn { native_id, number, line, role, speaker, text, tool_text, is_error, tool } = side;
        let (text, tool_text) = (text.trim().to_owned(), excerpt(tool_text.trim(), self.options.tool_bytes).into_owned());
        if text.is_empty() && tool_text.is_empty() && !is_error {
            return;
        }
        let episode = self.episode(value);
        let turn = Reading::Turn(Box::new(ReadTurn {
            line,
            turn: Turn {
                id: TurnId::derive(KIND, &episode.native_id, &native_id, number),
                native_id,
                role,
                speaker,
                caveat: None,
                text,
                tool_text,
                is_error,
                time: time_of(value),
                cwd: text_of(value, "cwd").map(str::to_owned),
                branch: text_of(value, "gitBranch").map(str::to_owned),
                model: None,
                parts: 1,
                tools: tool.into_iter().collect(),
                files: Vec::new(),
            },
            episode: Arc::clone(&episode),
        }));
        self.deliver(&episode, vec![turn], out);
    }

    fn user(&mut self, value: &Value, mark: LineMark, out: &mut Vec<Reading>) {
        let content = &value["message"]["content"];
        if !(content.is_string() || content.is_array()) {
            out.push(Reading::Skip("wrong-shape", "user without content".to_owned()));
            return;
        }
        let episode = self.episode(value);
        let uuid = text_of(value, "uuid").map_or_else(|| format!("#{}", mark.line), str::to_owned);
        let is_side = episode.kind == EpisodeKind::Subagent;
        let by = sender(speaker::CLAUDE_CODE, value).map(|by| by.with(self.options.headless));
        let mut turns = Vec::new();
        let mut push = |role: Role, text: String, tool_text: String, is_error: bool, tool: Option<ToolUse>, caveat| {
            let (role, speaker) = role_by(by, role);
            let speaker = if is_side && role == Role::Injected { Some("parent agent") } else { speaker };
            turns.push(Reading::Turn(Box::new(ReadTurn {
                line: mark.line,
                turn: Turn {
                    id: TurnId::derive(KIND, &episode.native_id, &uuid, turns.len() as u32),
                    native_id: uuid.clone(),
                    role,
                    speaker: speaker.map(str::to_owned),
                    caveat,
                    text,
                    tool_text,
                    is_error,
                    time: time_of(value),
                    cwd: text_of(value, "cwd").map(str::to_owned),
                    branch: text_of(value, "gitBranch").map(str::to_owned),
                    model: None,
                    parts: 1,
                    tools: tool.into_iter().collect(),
                    files: Vec::new(),
                },
                episode: Arc::clone(&episode),
            })));
        };
        let mut texts = Vec::new();
        let mut is_answered = false;
        for block in blocks(content) {
            match block {
                Block::Text(text) => texts.push(text),
                Block::Other("tool_result", block)
                    if text_of(block, "tool_use_id").is_some_and(|id| self.own_calls.iter().any(|own| own == id)) => {}
                Block::Other("tool_result", block) => {
                    let mut output = flatten(&block["content"]);
                    if output.trim().is_empty() {
                        output = twin_output(&value["toolUseResult"]);
                    }
                    let is_error = block["is_error"].as_bool() == Some(true);
                    let tool = self.called(text_of(block, "tool_use_id"));
                    is_answered |= tool == ASKS_PERSON;
                    let twin = &value["toolUseResult"];
                    let refusal = if is_error { classify::refusal(tool, &output, twin) } else { Refusal::None };
                    let answer = ToolUse {
                        call_id: text_of(block, "tool_use_id").map(str::to_owned),
                        name: String::new(),
                        outcome: Some(outcome_of(is_error, refusal, twin)),
                    };
                    let tool_text = excerpt(&output, self.options.tool_bytes).into_owned();
                    push(Role::ToolResult, String::new(), tool_text, is_error, Some(answer), None);
                    if let Refusal::Said(words) = refusal {
                        push(Role::Human, words.to_owned(), String::new(), false, None, None);
                    }
                }
                Block::Other(kind, _) => skip_unknown_block(kind, out),
            }
        }
        let answers = render_answers(&value["toolUseResult"]["answers"]);
        if is_answered && !answers.is_empty() {
            push(Role::Human, answers, String::new(), false, None, None);
        }
        if texts.iter().any(|text| !text.trim().is_empty()) {
            let (role, text, beside, caveat) = words_of_user(value, &texts, is_side);
            let (text, tool_text) = match role {
                Role::ToolResult => (String::new(), text),
                _ => (text, beside),
            };
            push(role, text, excerpt(&tool_text, self.options.tool_bytes).into_owned(), false, None, caveat);
        }
        self.deliver(&episode, turns, out);
    }

    /// Returns the name of the tool that was called under an id, which stands in a message that is still open.
    fn called(&self, id: Option<&str>) -> &str {
        let calls = self.open.iter().flat_map(|group| group.tools.iter().chain(group.plans.iter().map(|plan| &plan.2)));
        calls.rev().find(|call| id.is_some() && call.call_id.as_deref() == id).map_or("", |call| call.name.as_str())
    }

    /// Reads an attachment: text typed while the model works is delivered as one.
    fn attachment(&mut self, value: &Value, mark: LineMark, out: &mut Vec<Reading>) {
        let attachment = &value["attachment"];
        match text_of(attachment, "type") {
            Some("queued_command") => {}
            Some("teammate_mailbox") => {
                for (number, letter) in (0..).zip(attachment["messages"].as_array().into_iter().flatten()) {
                    let tool_text = ["text", "content", "message"].iter().find_map(|key| text_of(letter, key)).unwrap_or("");
                    let speaker = Some(text_of(letter, "from").unwrap_or("teammate").to_owned());
                    let turn = SideTurn {
                        tool_text: tool_text.to_owned(),
                        speaker,
                        number,
                        ..SideTurn::of(value, mark, Role::ToolResult)
                    };
                    self.side_turn(value, turn, out);
                }
                return;
            }
            Some(kind) if is_known_attachment(kind) => return,
            Some(kind) if !holds_words(attachment) => {
                out.push(Reading::Skip("wordless-attachment", kind.chars().take(48).collect()));
                return;
            }
            Some(kind) => {
                out.push(Reading::Skip("unknown-attachment", kind.chars().take(48).collect()));
                return;
            }
            None => {
                out.push(Reading::Skip("wrong-shape", "attachment without type".to_owned()));
                return;
            }
        }
        let mut texts = Vec::new();
        for block in blocks(&attachment["prompt"]) {
            if let Block::Text(words) = block {
                texts.push(words);
            }
        }
        if texts.iter().all(|text| text.trim().is_empty()) {
            return;
        }
        let episode = self.episode(value);
        let by = sender(speaker::CLAUDE_CODE, attachment).or_else(|| sender(speaker::CLAUDE_CODE, value));
        let by = by.map(|by| by.with(self.options.headless));
        let (role, text, beside, caveat) = match by {
            Some(Sender::Client) => (Role::Injected, texts.join("\n\n"), String::new(), None),
            _ => settled(classify_all(&texts)),
        };
        let (role, speaker) = role_by(by, role);
        let uuid = text_of(value, "uuid").map_or_else(|| format!("#{}", mark.line), str::to_owned);
        let turn = Reading::Turn(Box::new(ReadTurn {
            line: mark.line,
            turn: Turn {
                id: TurnId::derive(KIND, &episode.native_id, &uuid, 0),
                native_id: uuid,
                role,
                speaker: speaker.map(str::to_owned),
                caveat,
                text,
                tool_text: excerpt(&beside, self.options.tool_bytes).into_owned(),
                is_error: false,
                time: time_of(value),
                cwd: text_of(value, "cwd").map(str::to_owned),
                branch: text_of(value, "gitBranch").map(str::to_owned),
                model: None,
                parts: 1,
                tools: Vec::new(),
                files: Vec::new(),
            },
            episode: Arc::clone(&episode),
        }));
        self.deliver(&episode, vec![turn], out);
    }

    /// Outputs turns after the message that is still open in their episode.
    fn deliver(&mut self, episode: &Arc<Episode>, turns: Vec<Reading>, out: &mut Vec<Reading>) {
        match self.open.iter_mut().find(|group| group.episode.id == episode.id) {
            Some(group) => group.behind.extend(turns),
            None => out.extend(turns),
        }
    }
}

/// The words with which Claude Code begins the message that carries out an approved plan.
const PLAN: &str = "Implement the following plan:";

/// Returns the kind of a line in the chain.
fn kind_in_chain(value: &Value, kind: &str) -> Kind {
    let is_true = |key: &str| value[key].as_bool() == Some(true);
    match kind {
        "assistant" if !is_true("isApiErrorMessage") => Kind::Answer,
        "attachment" if text_of(&value["attachment"], "type") == Some("queued_command") => Kind::Result,
        "system" if text_of(value, "subtype") == Some("compact_boundary") => Kind::Compaction,
        "user" if is_true("isCompactSummary") => Kind::Compaction,
        "user" if sender(speaker::CLAUDE_CODE, value) != Some(Sender::Client) => {
            let (mut texts, mut has_picture) = (Vec::new(), false);
            for block in blocks(&value["message"]["content"]) {
                match block {
                    Block::Text(words) => texts.push(words),
                    Block::Other("tool_result", _) => return Kind::Result,
                    Block::Other(kind, _) => has_picture |= matches!(kind, "image" | "document"),
                }
            }
            let is_silent = texts.iter().all(|text| text.trim().is_empty());
            // An approved plan is carried out in an empty context: what led to it was not left.
            if texts.iter().any(|text| text.trim_start().starts_with(PLAN)) {
                return Kind::Compaction;
            }
            match classify_all(&texts).role {
                Role::Human | Role::System => Kind::Prompt,
                Role::Summary => Kind::Compaction,
                _ if has_picture && is_silent => Kind::Prompt,
                _ => Kind::Other,
            }
        }
        _ => Kind::Other,
    }
}

/// Returns the role of a "user" line, its text, words beside it that may be anybody's, and its caveat.
fn words_of_user(value: &Value, texts: &[&str], is_side: bool) -> (Role, String, String, Option<Caveat>) {
    let whole = |role: Role| (role, texts.join("\n\n"), String::new(), None);
    if value["isCompactSummary"].as_bool() == Some(true) {
        return whole(Role::Summary);
    }
    // The "user" of a side conversation is the agent that started it.
    if is_side || sender(speaker::CLAUDE_CODE, value) == Some(Sender::Client) {
        return whole(Role::Injected);
    }
    settled(classify_all(texts))
}

/// Returns the parts of a classified text; see [`Divided::settled`].
fn settled(found: Classified) -> (Role, String, String, Option<Caveat>) {
    let (text, beside, caveat) = Divided { said: found.text, beside: found.beside }.settled();
    (found.role, text, beside, caveat)
}

fn skip_unknown_block(kind: &str, out: &mut Vec<Reading>) {
    if !WORDLESS_BLOCKS.contains(&kind) {
        out.push(Reading::Skip("unknown-block", kind.chars().take(48).collect()));
    }
}

/// A turn that a line gives besides, or instead of, a message.
struct SideTurn {
    native_id: String,
    /// Distinguishes the turns of a line.
    number: u32,
    line: u64,
    role: Role,
    speaker: Option<String>,
    text: String,
    tool_text: String,
    is_error: bool,
    tool: Option<ToolUse>,
}

impl SideTurn {
    /// Returns an empty turn of a line.
    fn of(value: &Value, mark: LineMark, role: Role) -> Self {
        Self {
            native_id: text_of(value, "uuid").map_or_else(|| format!("#{}", mark.line), str::to_owned),
            number: 0,
            line: mark.line,
            role,
            speaker: None,
            text: String::new(),
            tool_text: String::new(),
            is_error: false,
            tool: None,
        }
    }
}

/// Returns the output of a tool that ran on the server, and whether it failed.
fn server_output(content: &Value, is_error: bool) -> (String, bool) {
    let has_failed = content["return_code"].as_i64().is_some_and(|code| code != 0)
        || text_of(content, "type").is_some_and(|kind| kind.ends_with("_error"));
    let output = match twin_output(content) {
        output if output.trim().is_empty() => flatten(content),
        output => output,
    };
    (output, is_error || has_failed)
}

/// One block of a message's content.
enum Block<'v> {
    Text(&'v str),
    Other(&'v str, &'v Value),
}

/// Returns the blocks of a content. A string is one text block; blocks of unknown form are skipped.
fn blocks(content: &Value) -> Vec<Block<'_>> {
    match content {
        Value::String(text) => vec![Block::Text(text)],
        Value::Array(list) => list
            .iter()
            .filter_map(|block| match (block, text_of(block, "type")) {
                (Value::String(text), _) => Some(Block::Text(text)),
                (_, Some("text")) => text_of(block, "text").map(Block::Text),
                (_, Some(kind)) => Some(Block::Other(kind, block)),
                (_, None) => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

fn time_of(value: &Value) -> RecordedTime {
    match &value["timestamp"] {
        Value::String(words) => RecordedTime::parse(words),
        Value::Number(number) => number
            .as_i64()
            .filter(|ms| *ms > 1_000_000_000_000)
            .map_or(RecordedTime::UNKNOWN, |ms| RecordedTime::from_millis(ms, TimeQuality::Exact)),
        _ => RecordedTime::UNKNOWN,
    }
}

fn title(text: &str, rank: TitleRank, at: Option<UtcMillis>, line: u64) -> Title {
    Title { text: text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect(), rank, at, line }
}

fn append(to: &mut String, text: &str) {
    if !to.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(text);
}

/// Renders a tool call as text: its name, then each input on a line.
fn render_call(name: &str, input: &Value) -> String {
    let mut call = name.to_owned();
    let Value::Object(inputs) = input else {
        append(&mut call, &flatten(input));
        return call;
    };
    for (key, value) in inputs {
        call.push('\n');
        call.push_str(key);
        call.push_str(": ");
        call.push_str(&flatten(value));
    }
    call
}

/// Returns a tool call's id and name.
fn call_of(block: &Value) -> ToolUse {
    ToolUse {
        call_id: text_of(block, "id").map(str::to_owned),
        name: text_of(block, "name").unwrap_or("tool").to_owned(),
        outcome: None,
    }
}

/// Returns the file that a tool call reads or changes. Searches name directories, not files.
fn file_of(block: &Value) -> Option<FileUse> {
    let name = text_of(block, "name").unwrap_or("");
    if matches!(name, "Glob" | "Grep" | "LS" | "Search") {
        return None;
    }
    let path = ["file_path", "notebook_path", "path"].iter().find_map(|key| text_of(&block["input"], key))?;
    let name = name.to_ascii_lowercase();
    let is_writing =
        ["write", "edit", "create", "replace", "patch", "delete", "move", "insert"].iter().any(|verb| name.contains(verb));
    let action = if is_writing { FileAction::Written } else { FileAction::Read };
    Some(FileUse { path: path.to_owned(), action })
}

/// Returns how a tool ended, from what its result says of the person and the structured copy of the result.
fn outcome_of(is_error: bool, refusal: Refusal<'_>, twin: &Value) -> Outcome {
    let is_stopped = twin["interrupted"].as_bool() == Some(true) || refusal != Refusal::None;
    match (is_stopped, is_error) {
        (true, _) => Outcome::Cancelled,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Done,
    }
}

/// Returns every string of a value, each on its own line, and its numbers. Keys and booleans are left out.
fn flatten(value: &Value) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(text);
            }
            Value::Array(list) => list.iter().for_each(|item| walk(item, out)),
            Value::Object(map) => {
                for (key, item) in map {
                    // The block's type and payloads are not text.
                    if !(key == "type" || key == "source" && item.is_object()) {
                        walk(item, out);
                    }
                }
            }
            Value::Number(number) => {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(&number.to_string());
            }
            Value::Bool(_) | Value::Null => {}
        }
    }
    let mut out = String::new();
    walk(value, &mut out);
    out
}

/// Returns the text of the structured copy of a result, used if the result itself is empty.
fn twin_output(twin: &Value) -> String {
    match twin {
        Value::String(text) => text.clone(),
        Value::Object(_) => ["stdout", "stderr", "result", "content", "output"]
            .iter()
            .map(|key| flatten(&twin[*key]))
            .filter(|text| !text.trim().is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// Renders the answers that a person chose or typed when the client asked.
fn render_answers(answers: &Value) -> String {
    let Value::Object(answers) = answers else { return String::new() };
    answers.iter().map(|(question, answer)| format!("{question}\n{}", flatten(answer))).collect::<Vec<_>>().join("\n\n")
}
