//! Converts the blocks of an Aider history to turns.

use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, FileAction, FileUse, Outcome, Role, ToolUse, Turn};
use yore_core::id::TurnId;
use yore_core::text::excerpt;
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::own::{is_own_call, without_own_output, without_own_words};
use super::super::shapes::{self, add_file, short, text_of};
use super::super::{EpisodeReader, ReadTurn, ReaderOptions, Reading, SourceLine};

pub(super) const KIND: &str = "aider";

/// Beginnings of messages that report a failure.
const FAILURES: [&str; 13] = [
    "Error",
    "ERROR",
    "Unexpected error",
    "Traceback (most recent call last)",
    "The LLM did not conform to the edit format",
    "SearchReplaceNoExactMatch",
    "litellm.",
    "The API provider",
    "Unable to",
    "Command exited with",
    "Only 3 reflections allowed",
    "FAILED ",
    "Failed to",
];

/// Commands whose arguments are sent to the model. Aider writes those arguments a second time.
const SPEAKING_COMMANDS: [&str; 5] = ["/ask ", "/code ", "/architect ", "/help ", "/context "];
/// Commands that add files to the chat.
const GIVING_COMMANDS: [&str; 2] = ["/add ", "/read-only "];

/// Reads histories.
pub(super) struct AiderReader {
    options: ReaderOptions,
    session: Option<Session>,
}

/// The session that blocks belong to.
struct Session {
    episode: Arc<Episode>,
    time: RecordedTime,
    /// Readable prefix of the ids of its messages: start and line.
    label: String,
    /// Number of blocks so far.
    count: u64,
    model: Option<String>,
    /// The last input.
    last_prompt: String,
    is_own_call: bool,
}

impl AiderReader {
    pub(super) fn new(options: ReaderOptions) -> Self {
        Self { options, session: None }
    }

    fn begin(&mut self, record: &Value) {
        let Some(native_id) = text_of(record, "session") else {
            self.session = None;
            return;
        };
        let mut episode = shapes::episode(KIND, native_id);
        episode.cwd = text_of(record, "cwd").map(str::to_owned);
        let start = text_of(record, "start").unwrap_or("");
        let time = RecordedTime::parse(start);
        let time =
            if time.utc.is_some() { RecordedTime { quality: TimeQuality::Session, ..time } } else { RecordedTime::UNKNOWN };
        let label = format!("aider-{}-{}", start.replace(' ', "T"), record["line"].as_u64().unwrap_or(0));
        self.session = Some(Session {
            episode: Arc::new(episode),
            time,
            label,
            count: 0,
            model: None,
            last_prompt: String::new(),
            is_own_call: false,
        });
    }

    fn block(&mut self, kind: &str, record: &Value, line: u64, out: &mut Vec<Reading>) {
        let Some(session) = &mut self.session else {
            out.push(Reading::Skip("no-session", String::new()));
            return;
        };
        let text = text_of(record, "text").unwrap_or("");
        session.count += 1;
        let mut turn = Turn {
            id: TurnId::derive(KIND, &session.episode.native_id, &format!("#{}", session.count), 0),
            native_id: format!("{}:{}", session.label, record["line"].as_u64().unwrap_or(0)),
            role: Role::Assistant,
            speaker: None,
            caveat: None,
            text: String::new(),
            tool_text: String::new(),
            is_error: false,
            time: session.time.clone(),
            cwd: session.episode.cwd.clone(),
            branch: None,
            model: None,
            parts: 1,
            tools: Vec::new(),
            files: Vec::new(),
        };
        match kind {
            "person" => {
                session.prompt(text, &mut turn);
                let is_by_anybody = record["by_anybody"].as_bool() == Some(true) && turn.role == Role::Human;
                turn.caveat = is_by_anybody.then_some(Caveat::UnknownAuthor);
            }
            "model" => {
                turn.model.clone_from(&session.model);
                turn.text = without_own_words(text).trim().to_owned();
            }
            _ => {
                session.message(text, &mut turn);
                turn.tool_text = excerpt(&turn.tool_text, self.options.tool_bytes).into_owned();
            }
        }
        let is_empty = turn.text.is_empty() && turn.tool_text.is_empty();
        if !is_empty && !session.is_own_call {
            out.push(Reading::Turn(Box::new(ReadTurn {
                episode: Arc::clone(&session.episode),
                turn,
                line: record["line"].as_u64().unwrap_or(line),
            })));
        }
        if kind == "program" && !session.is_own_call {
            // Links follow the turn, so that their episode exists.
            for commit in text.lines().filter_map(commit_of) {
                out.push(Reading::Link(Arc::clone(&session.episode), "commit", commit.to_owned()));
            }
        }
    }
}

impl Session {
    fn prompt(&mut self, text: &str, turn: &mut Turn) {
        let text = text.trim();
        let repeats = SPEAKING_COMMANDS
            .iter()
            .any(|command| self.last_prompt.strip_prefix(command).is_some_and(|asked| asked.trim() == text));
        self.last_prompt = text.to_owned();
        if repeats {
            return;
        }
        self.is_own_call |= is_own_call(text);
        let is_bare_command = text.starts_with('/') && !text.contains(char::is_whitespace);
        turn.role = if is_bare_command { Role::System } else { Role::Human };
        for command in GIVING_COMMANDS {
            for path in text.lines().filter_map(|line| line.strip_prefix(command)).flat_map(str::split_whitespace) {
                add_file(&mut turn.files, path.to_owned(), FileAction::Read);
            }
        }
        turn.text = without_own_words(text).trim().to_owned();
    }

    /// Reads a message of the program: its actions, the output of commands, the cost.
    fn message(&mut self, text: &str, turn: &mut Turn) {
        let mut is_start = false;
        let mut is_failure = false;
        let mut said = Vec::new();
        for line in text.lines().map(str::trim_end) {
            for banner in ["Model: ", "Main model: ", "Models: "] {
                if let Some(model) = line.strip_prefix(banner) {
                    self.model = model.split_whitespace().next().map(|model| model.trim_end_matches(',').to_owned());
                }
            }
            is_start |= line.starts_with("Aider v");
            is_failure |= FAILURES.iter().any(|failure| line.starts_with(failure));
            if let Some(path) = line.strip_prefix("Applied edit to ") {
                add_file(&mut turn.files, path.to_owned(), FileAction::Written);
                turn.tools.push(ToolUse { call_id: None, name: "edit".to_owned(), outcome: Some(Outcome::Done) });
            }
            if let Some(path) = line.strip_prefix("Added ").and_then(|rest| rest.strip_suffix(" to the chat.")) {
                turn.files.push(FileUse { path: path.to_owned(), action: FileAction::Read });
            }
            if !line.is_empty() && !line.starts_with("Tokens: ") && !line.starts_with("Cost: ") {
                said.push(line);
            }
        }
        let text = said.join("\n");
        let words = without_own_output(&text);
        if is_start {
            turn.role = Role::System;
            turn.text = words.trim().to_owned();
        } else {
            turn.role = Role::ToolResult;
            turn.is_error = is_failure;
            turn.tool_text = words.trim().to_owned();
        }
    }
}

/// Returns the hash in `Commit 1a2b3c4 message`.
fn commit_of(line: &str) -> Option<&str> {
    let hash = line.strip_prefix("Commit ")?.split_whitespace().next()?;
    ((7..=40).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hash)
}

impl EpisodeReader for AiderReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match text_of(value, "kind") {
                Some("session") => self.begin(value),
                Some(kind @ ("person" | "program" | "model")) => {
                    // A session's first line may have been forgotten or excluded.
                    let is_known = self
                        .session
                        .as_ref()
                        .is_some_and(|session| text_of(value, "session") == Some(&session.episode.native_id));
                    if !is_known {
                        self.session = None;
                    }
                    self.block(kind, value, line.mark.line, out);
                }
                Some(unknown) => out.push(Reading::Skip("unknown-type", short(unknown))),
                None => out.push(Reading::Skip("no-type", String::new())),
            }
        }
    }
}
