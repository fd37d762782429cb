//! Converts Cursor's common form of a conversation to turns.

use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, EpisodeKind, FileAction, Outcome, Role, TitleRank, ToolUse, Turn};
use yore_core::id::TurnId;
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::super::own::is_own_tool;
use super::super::shapes::{
    add_file, append, arguments, episode, files_of_input, flatten, from_millis, render_call, text_of, time_of, title,
};
use super::super::speaker::{Divided, PARENT_AGENT};
use super::super::{EpisodeReader, LineMark, ReadTurn, ReaderOptions, Reading, SourceLine};

pub(super) const KIND: &str = "cursor";

/// Possible problems with a conversation. The names never change, because skips are counted by them.
const PROBLEMS: [&str; 13] = [
    "torn-json",
    "deleted-bubble",
    "missing-bubble",
    "orphan-bubble",
    "unknown-bubble",
    "deleted-conversation",
    "prompt-without-conversation",
    "unknown-blob",
    "missing-blob",
    "too-many-blobs",
    "unknown-part",
    "unknown-role",
    "no-roles",
];
/// Maximum count of problems of one kind in one conversation.
const MAX_COUNT: u64 = 10_000;

/// Tags, besides those with an underscore, in which Cursor wraps its own text for the model.
const OWN_TAGS: [&str; 5] = ["rules", "timestamp", "environment", "context", "attachments"];

/// Reads the records of one unit.
pub(super) struct CursorReader {
    options: ReaderOptions,
    episode: Option<Arc<Episode>>,
    created: Option<UtcMillis>,
    updated: Option<UtcMillis>,
    title: Option<Reading>,
    /// Turns without a time, held until the next message with a time.
    waiting: Vec<ReadTurn>,
    /// The latest recorded time.
    latest: Option<UtcMillis>,
    has_turns: bool,
}

impl CursorReader {
    pub(super) fn new(options: ReaderOptions) -> Self {
        Self {
            options,
            episode: None,
            created: None,
            updated: None,
            title: None,
            waiting: Vec::new(),
            latest: None,
            has_turns: false,
        }
    }
}

impl EpisodeReader for CursorReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match text_of(value, "kind") {
                Some("conversation") => {
                    self.finish(out);
                    self.conversation(value, line.mark);
                }
                Some("message") => self.message(value, line.mark, out),
                Some("problem") => {
                    let reason = text_of(value, "reason").unwrap_or("");
                    let detail = text_of(value, "detail").unwrap_or("").to_owned();
                    let count = value["count"].as_u64().unwrap_or(1).min(MAX_COUNT);
                    let skip = match PROBLEMS.iter().find(|known| **known == reason) {
                        Some(known) => Reading::Skip(known, detail),
                        None => Reading::Skip("unknown-problem", detail),
                    };
                    out.extend(std::iter::repeat_n(skip, count as usize));
                }
                _ => out.push(Reading::Skip("unknown-type", String::new())),
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<Reading>) {
        let time = match self.latest {
            Some(latest) => RecordedTime::from_millis(latest, TimeQuality::Derived),
            None => match self.created.or(self.updated) {
                Some(session) => RecordedTime::from_millis(session, TimeQuality::Session),
                None => RecordedTime::UNKNOWN,
            },
        };
        for mut read in self.waiting.drain(..) {
            read.turn.time = time.clone();
            out.push(Reading::Turn(Box::new(read)));
        }
        // An episode without turns does not exist.
        if let Some(title) = self.title.take().filter(|_| self.has_turns) {
            out.push(title);
        }
    }
}

impl CursorReader {
    fn conversation(&mut self, value: &Value, mark: LineMark) {
        let Some(session) = text_of(value, "session") else { return };
        let is_subagent = value["subagent"].as_bool() == Some(true);
        let episode = Arc::new(Episode {
            kind: if is_subagent { EpisodeKind::Subagent } else { EpisodeKind::Session },
            parent_native_id: text_of(value, "parent").map(str::to_owned),
            cwd: text_of(value, "cwd").map(str::to_owned),
            ..episode(KIND, session)
        });
        let millis = |key: &str| value[key].as_f64().and_then(|number| from_millis(number, TimeQuality::Session)?.utc);
        (self.created, self.updated) = (millis("created_ms"), millis("updated_ms"));
        self.latest = None;
        self.has_turns = false;
        let named = text_of(value, "title").map(|text| title(text, TitleRank::Ai, self.updated.or(self.created), mark.line));
        self.title = named.filter(|title| !title.text.is_empty()).map(|title| Reading::Title(Arc::clone(&episode), title));
        self.episode = Some(episode);
    }

    fn message(&mut self, value: &Value, mark: LineMark, out: &mut Vec<Reading>) {
        let episode = match (&self.episode, text_of(value, "session")) {
            (Some(episode), _) => Arc::clone(episode),
            // The record of the conversation was forgotten.
            (None, Some(session)) => Arc::clone(self.episode.insert(Arc::new(episode(KIND, session)))),
            (None, None) => {
                out.push(Reading::Skip("no-conversation", String::new()));
                return;
            }
        };
        let time = time_of(&value["at"], TimeQuality::Exact).or_else(|| time_of(&value["typed_ms"], TimeQuality::Derived));
        let Some(mut turn) = self.turn(value, &episode, mark) else {
            // A thought still has a time, and the waiting turns come before it.
            if let Some(utc) = time.and_then(|time| time.utc) {
                self.release(utc, out);
            }
            return;
        };
        self.has_turns = true;
        match time {
            Some(time) => {
                if let Some(utc) = time.utc {
                    self.release(utc, out);
                }
                turn.time = time;
                out.push(Reading::Turn(Box::new(ReadTurn { episode, turn, line: mark.line })));
            }
            None => self.waiting.push(ReadTurn { episode, turn, line: mark.line }),
        }
    }

    /// Outputs the waiting turns, spread evenly between the previous time and this one.
    fn release(&mut self, next: UtcMillis, out: &mut Vec<Reading>) {
        let from = self.latest.or(self.created).filter(|from| *from <= next).unwrap_or(next);
        let steps = self.waiting.len() as i64 + 1;
        for (at, mut read) in self.waiting.drain(..).enumerate() {
            let utc = from + (next - from) / steps * (at as i64 + 1);
            read.turn.time = RecordedTime::from_millis(utc, TimeQuality::Derived);
            out.push(Reading::Turn(Box::new(read)));
        }
        self.latest = Some(self.latest.map_or(next, |latest| latest.max(next)));
    }

    fn turn(&self, value: &Value, episode: &Arc<Episode>, mark: LineMark) -> Option<Turn> {
        let native_id = text_of(value, "id").map_or_else(|| format!("#{}", mark.line), str::to_owned);
        let words = text_of(value, "text").unwrap_or("");
        let is_side = episode.kind == EpisodeKind::Subagent;
        let (mut beside, mut caveat) = (String::new(), None);
        let (role, text) = match text_of(value, "role").unwrap_or("") {
            "user" => {
                let (role, found) = words_of_user(words);
                let text;
                (text, beside, caveat) = found.settled();
                if value["by_anybody"].as_bool() == Some(true) {
                    caveat = Some(Caveat::UnknownAuthor);
                }
                // The "user" of a side conversation is the agent that started it.
                (if is_side { Role::Injected } else { role }, text)
            }
            "assistant" => (Role::Assistant, without_redacted(words)),
            "tool" => (Role::ToolResult, words.to_owned()),
            "summary" => (Role::Summary, words.to_owned()),
            _ => (Role::System, words.to_owned()),
        };
        let mut turn = Turn {
            id: TurnId::derive(KIND, &episode.native_id, &native_id, 0),
            native_id,
            role,
            speaker: (is_side && role == Role::Injected).then(|| PARENT_AGENT.to_owned()),
            caveat: caveat.filter(|_| role == Role::Human),
            text: text.trim().to_owned(),
            tool_text: excerpt(beside.trim(), self.options.tool_bytes).into_owned(),
            is_error: false,
            time: RecordedTime::UNKNOWN,
            cwd: None,
            branch: None,
            model: text_of(value, "model").map(str::to_owned),
            parts: 1,
            tools: Vec::new(),
            files: Vec::new(),
        };
        for tool in value["tools"].as_array().into_iter().flatten() {
            self.tool(tool, &mut turn);
        }
        for file in value["files"].as_array().into_iter().flatten() {
            let action = if text_of(file, "action") == Some("written") { FileAction::Written } else { FileAction::Read };
            if let Some(path) = text_of(file, "path") {
                add_file(&mut turn.files, path.to_owned(), action);
            }
        }
        if role == Role::ToolResult && !turn.text.is_empty() {
            let text = std::mem::take(&mut turn.text);
            append(&mut turn.tool_text, &excerpt(&text, self.options.tool_bytes));
        }
        if turn.text.is_empty() && turn.role == Role::Assistant {
            turn.role = Role::ToolCall;
        }
        (!turn.text.is_empty() || !turn.tool_text.is_empty() || !turn.tools.is_empty()).then_some(turn)
    }

    fn tool(&self, tool: &Value, turn: &mut Turn) {
        let name = text_of(tool, "name").unwrap_or("");
        // Calls of yore's own tools and their answers are not part of the conversation.
        if is_own_tool(name) {
            return;
        }
        let outcome = outcome(tool);
        let input = arguments(&tool["input"]);
        let bytes = self.options.tool_bytes;
        if turn.role != Role::ToolResult {
            append(&mut turn.tool_text, &excerpt(&render_call(if name.is_empty() { "tool" } else { name }, &input), bytes));
        }
        for key in ["error", "output"] {
            append(&mut turn.tool_text, &excerpt(&flatten(&tool[key]), bytes));
        }
        turn.is_error |= outcome == Some(Outcome::Failed);
        for file in files_of_input(name, &input).into_iter().chain(files_of_editor(name, &input)) {
            add_file(&mut turn.files, file.path, file.action);
        }
        turn.tools.push(ToolUse { call_id: text_of(tool, "call").map(str::to_owned), name: name.to_owned(), outcome });
    }
}

/// Returns the file of a call, under the names that the editor itself uses.
fn files_of_editor(name: &str, input: &Value) -> Vec<yore_core::episode::FileUse> {
    let path = ["relativeWorkspacePath", "targetFile", "effectiveUri"].iter().find_map(|key| text_of(input, key));
    let Some(path) = path else { return Vec::new() };
    files_of_input(name, &serde_json::json!({ "path": path }))
}

/// Returns how a call ended, or `None` if it is running or its status is unknown.
fn outcome(tool: &Value) -> Option<Outcome> {
    if text_of(tool, "userDecision").is_some_and(|decision| decision.starts_with("reject")) {
        return Some(Outcome::Cancelled);
    }
    let exit = ["exitCode", "exitCodeV2", "exit_code"].iter().find_map(|key| tool["output"].get(*key)?.as_i64());
    match text_of(tool, "status")? {
        "completed" if exit.is_some_and(|code| code != 0) => Some(Outcome::Failed),
        "completed" | "success" => Some(Outcome::Done),
        "error" | "failed" => Some(Outcome::Failed),
        "cancelled" | "canceled" | "aborted" | "rejected" => Some(Outcome::Cancelled),
        _ => None,
    }
}

/// Returns the role of a "user" message and its text, without the tags in which Cursor wraps it. Attached files stand before
/// or behind the prompt in tags of their own and may hold the prompt's tag, too.
fn words_of_user(text: &str) -> (Role, Divided) {
    const OPEN: &str = "<user_query>";
    const CLOSE: &str = "</user_query>";
    let text = text.trim();
    let said = |words: &str| Divided { said: words.trim().to_owned(), beside: String::new() };
    let Some(first) = text.find(OPEN) else {
        let is_own = tag_of(text).is_some_and(is_own_tag_of_cursor);
        return (if is_own && text.ends_with('>') { Role::Injected } else { Role::Human }, said(text));
    };
    let start = first + OPEN.len();
    let end = text.rfind(CLOSE).filter(|end| *end >= start).unwrap_or(text.len());
    let inner = &text[start..end];
    let is_at_end = text.ends_with(CLOSE);
    let is_first_own = is_outside(&text[..first], inner);
    if is_first_own && (is_at_end || !inner.contains(CLOSE)) {
        return (Role::Human, said(inner));
    }
    if is_at_end {
        // Its last part is sure to be the person's.
        let last = inner.rfind(OPEN).map_or(0, |at| at + OPEN.len());
        let beside = inner[..last].trim_end_matches(OPEN).trim().to_owned();
        return (Role::Human, Divided { beside, ..said(&inner[last..]) });
    }
    if is_first_own {
        let close = inner.find(CLOSE).unwrap_or(inner.len());
        return (
            Role::Human,
            Divided { beside: inner[close..].trim_start_matches(CLOSE).trim().to_owned(), ..said(&inner[..close]) },
        );
    }
    (Role::Human, Divided { said: String::new(), beside: inner.trim().to_owned() })
}

/// Returns the name in the tag that a text begins with.
fn tag_of(text: &str) -> Option<&str> {
    text.strip_prefix('<')?.split(['>', ' ', '\n']).next()
}

/// Returns whether Cursor writes this tag around its own text.
fn is_own_tag_of_cursor(tag: &str) -> bool {
    (tag.contains('_') || OWN_TAGS.contains(&tag)) && tag.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '-')
}

/// Returns whether every element of Cursor that a text opens ends in it, and no closing mark of one follows in `rest`.
fn is_outside(text: &str, rest: &str) -> bool {
    let mut opened = text.match_indices('<').filter_map(|(at, _)| tag_of(&text[at..])).filter(|tag| is_own_tag_of_cursor(tag));
    opened.all(|tag| {
        let close = format!("</{tag}>");
        text.rfind(&close) > text.rfind(&format!("<{tag}")) && !rest.contains(&close)
    })
}

/// Removes the marks that transcripts have in place of thoughts.
fn without_redacted(text: &str) -> String {
    const MARK: &str = "[REDACTED]";
    if !text.contains(MARK) {
        return text.to_owned();
    }
    text.lines()
        .map(|line| if line.trim() == MARK { "" } else { line.trim_end().trim_end_matches(MARK) })
        .collect::<Vec<_>>()
        .join("\n")
}
