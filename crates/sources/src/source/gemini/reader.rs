//! Converts Gemini's messages to turns.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Episode, EpisodeKind, Outcome, Role, TitleRank};
use yore_core::time::{RecordedTime, TimeQuality};

use super::super::own::is_own_call;
use super::super::shapes::{self, Answer, Message, append, flatten, short, text_of};
use super::super::speaker::{Marks, PARENT_AGENT};
use super::super::{EpisodeReader, ReaderOptions, Reading, SourceLine};
use super::log::{OUTPUT, TAKEN_BACK};

pub(super) const KIND: &str = "gemini";

/// Beginning of the contents of the files that a prompt names. They follow the prompt.
pub(in super::super) const FILES: &str = "--- Content from referenced files ---";
/// What the client inserts before or after a prompt.
const PUT_IN: Marks = Marks { elements: &["hook_context", "session_context", "loaded_context"], tails: &[FILES] };

/// Beginnings of texts that the client writes as the user's.
const INJECTED: [&str; 4] = [
    "<system-reminder>",
    "<state_snapshot>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: Please continue.",
];

/// Reads conversations.
pub(super) struct GeminiReader {
    options: ReaderOptions,
    episode: Option<Arc<Episode>>,
    began: RecordedTime,
    title: Option<String>,
    /// Number of messages so far.
    count: u64,
    is_own_call: bool,
    /// Ids of calls whose answers were stored with them; those answers occur in a message of their own too.
    answered: HashSet<String>,
}

impl GeminiReader {
    pub(super) fn new(options: ReaderOptions) -> Self {
        Self {
            options,
            episode: None,
            began: RecordedTime::UNKNOWN,
            title: None,
            count: 0,
            is_own_call: false,
            answered: HashSet::new(),
        }
    }

    fn begin(&mut self, record: &Value) {
        let Some(session) = text_of(record, "session") else { return };
        let mut episode = shapes::episode(KIND, session);
        episode.cwd = text_of(record, "cwd").map(str::to_owned);
        episode.parent_native_id = text_of(record, "parent").map(str::to_owned);
        if record["is_subagent"].as_bool() == Some(true) {
            episode.kind = EpisodeKind::Subagent;
        }
        self.began = match text_of(record, "began").map(RecordedTime::parse) {
            Some(time) if time.utc.is_some() => RecordedTime { quality: TimeQuality::Session, ..time },
            _ => RecordedTime::UNKNOWN,
        };
        self.title = text_of(record, "title").map(str::to_owned);
        self.episode = Some(Arc::new(episode));
        self.count = 0;
        self.is_own_call = false;
        self.answered.clear();
    }

    fn message(&mut self, record: &Value, line: u64, out: &mut Vec<Reading>) {
        let message = &record["message"];
        self.count += 1;
        let Some(episode) = self.episode.clone() else {
            out.push(Reading::Skip("no-session", String::new()));
            return;
        };
        let kind = text_of(message, "type").unwrap_or("");
        let role = match kind {
            "user" => Role::Human,
            "gemini" | "model" | "assistant" => Role::Assistant,
            "info" | "error" | "warning" => Role::System,
            unknown => {
                out.push(Reading::Skip("unknown-message", short(unknown)));
                return;
            }
        };
        let native_id = match text_of(message, "id") {
            // This id is a hash of the message's text, so other sessions have the same one.
            Some(id) if id.len() == 32 && !id.contains('-') => format!("{}/{id}", episode.native_id),
            Some(id) => id.to_owned(),
            None => format!("#{}", self.count),
        };
        let time = match text_of(message, "timestamp").map(RecordedTime::parse) {
            Some(time) if time.utc.is_some() => time,
            _ => self.began.clone(),
        };
        let mut turn = Message::new(native_id, role, time);
        turn.cwd.clone_from(&episode.cwd);
        turn.is_error = kind == "error";
        parts(&message["content"], &self.answered, self.options.tool_bytes, &mut turn, out);
        match role {
            Role::Human => {
                let mut typed = String::new();
                for part in texts(&message["displayContent"]) {
                    append(&mut typed, part);
                }
                self.is_own_call |= is_own_call(&turn.text);
                let whole = std::mem::take(&mut turn.text);
                let answers = turn.tool_text.clone();
                turn.hear(&whole, &PUT_IN, self.options.tool_bytes);
                turn.role = role_of(&turn.text, &episode);
                if turn.text.is_empty() {
                    turn.text = whole;
                }
                // The typed text, before the files that it names were inserted.
                if !typed.trim().is_empty() && turn.role == Role::Human {
                    (turn.text, turn.tool_text, turn.caveat) = (typed, answers, None);
                }
            }
            Role::Assistant => {
                turn.model = text_of(message, "model").map(str::to_owned);
                for call in message["toolCalls"].as_array().into_iter().flatten() {
                    self.tool(call, &mut turn);
                }
            }
            _ => {}
        }
        if episode.kind == EpisodeKind::Subagent && turn.role == Role::Injected {
            turn.speaker = Some(PARENT_AGENT);
        }
        if !self.is_own_call {
            let from = out.len();
            turn.turns(KIND, &episode, self.options.tool_bytes, line, out);
            if message[TAKEN_BACK].as_bool() == Some(true) {
                shapes::take_back(&mut out[from..]);
            }
        }
    }

    fn tool(&mut self, call: &Value, turn: &mut Message) {
        let id = text_of(call, "id").map(str::to_owned);
        let name = text_of(call, "name").unwrap_or("tool");
        turn.call(id.clone(), name, &call["args"], self.options.tool_bytes);
        let mut words = String::new();
        let mut outcome = None;
        for part in call["result"].as_array().into_iter().flatten() {
            let response = &part["functionResponse"];
            if response.is_object() {
                append(&mut words, &words_of_response(response));
                outcome = Some(outcome_of_response(response));
            } else {
                append(&mut words, text_of(part, "text").unwrap_or(""));
            }
        }
        if words.is_empty() {
            append(&mut words, &flatten(&call["resultDisplay"]));
        }
        // The result has a piece of an output that was too large.
        if let Some(output) = text_of(call, OUTPUT).filter(|output| output.len() > words.len()) {
            output.clone_into(&mut words);
        }
        // If the command failed, the call itself still succeeded.
        let has_failed = name == "run_shell_command" && shapes::exit_code(&words).is_some_and(|code| code != 0);
        let outcome = match text_of(call, "status") {
            Some("success") if has_failed => Some(Outcome::Failed),
            Some("success") => outcome.or(Some(Outcome::Done)),
            Some("error") => Some(Outcome::Failed),
            Some("cancelled" | "canceled") => Some(Outcome::Cancelled),
            _ => outcome,
        };
        if outcome.is_some() || !words.is_empty() {
            self.answered.extend(id.clone());
            turn.answers.push(Answer { call_id: id, name: name.to_owned(), text: words, outcome, files: Vec::new() });
        }
    }
}

/// Reads the parts of a content as in Gemini's interface: text, pictures, calls and their answers, except for
/// those already reported.
pub(in super::super) fn parts(
    content: &Value,
    answered: &HashSet<String>,
    tool_bytes: usize,
    turn: &mut Message,
    out: &mut Vec<Reading>,
) {
    let parts = match content {
        Value::Array(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    for part in parts {
        match part {
            Value::String(text) => turn.say(text),
            Value::Object(members) => {
                if part["thought"].as_bool() == Some(true) {
                    continue;
                }
                if let Some(text) = text_of(part, "text") {
                    turn.say(text);
                } else if let Some(call) = members.get("functionCall") {
                    let id = text_of(call, "id").map(str::to_owned);
                    turn.call(id, text_of(call, "name").unwrap_or("tool"), &call["args"], tool_bytes);
                } else if let Some(response) = members.get("functionResponse") {
                    if text_of(response, "id").is_some_and(|id| answered.contains(id)) {
                        continue;
                    }
                    turn.answers.push(Answer {
                        call_id: text_of(response, "id").map(str::to_owned),
                        name: text_of(response, "name").unwrap_or("").to_owned(),
                        text: words_of_response(response),
                        outcome: Some(outcome_of_response(response)),
                        files: Vec::new(),
                    });
                } else if let Some(name) = members.keys().next() {
                    const WORDLESS: [&str; 7] = [
                        "inlineData",
                        "fileData",
                        "text",
                        "executableCode",
                        "codeExecutionResult",
                        "thoughtSignature",
                        "videoMetadata",
                    ];
                    if !WORDLESS.contains(&name.as_str()) {
                        out.push(Reading::Skip("unknown-part", short(name)));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the role of a "user" message, given its text without the parts that the client inserted.
fn role_of(text: &str, episode: &Episode) -> Role {
    let is_injected = text.is_empty() || INJECTED.iter().any(|beginning| text.starts_with(beginning));
    if is_injected || episode.kind == EpisodeKind::Subagent {
        Role::Injected
    } else if text.starts_with('/') && !text.contains(char::is_whitespace) {
        Role::System
    } else {
        Role::Human
    }
}

fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part.as_str().or_else(|| text_of(part, "text"))).collect(),
        Value::Object(_) => text_of(content, "text").into_iter().collect(),
        _ => Vec::new(),
    }
}

fn words_of_response(response: &Value) -> String {
    let inner = &response["response"];
    let words =
        ["output", "error", "content"].iter().find_map(|key| text_of(inner, key)).map_or_else(|| flatten(inner), str::to_owned);
    // Untrusted content is marked as such for the model.
    match words.strip_prefix("<untrusted_context>\n") {
        Some(rest) => rest.replacen("\n</untrusted_context>", "", 1),
        None => words,
    }
}

fn outcome_of_response(response: &Value) -> Outcome {
    let error = &response["response"]["error"];
    if error.is_null() || error.as_str() == Some("(none)") { Outcome::Done } else { Outcome::Failed }
}

impl EpisodeReader for GeminiReader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match text_of(value, "type") {
                Some("session") => self.begin(value),
                Some("message") => self.message(value, line.mark.line, out),
                Some("skipped") => {
                    // Only reasons from a fixed list are used.
                    let detail = short(value["what"][1].as_str().unwrap_or(""));
                    let reason = match value["what"][0].as_str() {
                        Some("invalid-json") => "invalid-json",
                        Some("not-an-object") => "not-an-object",
                        _ => "unknown-record",
                    };
                    out.push(Reading::Skip(reason, detail));
                }
                Some(unknown) => out.push(Reading::Skip("unknown-type", short(unknown))),
                None => out.push(Reading::Skip("no-type", String::new())),
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<Reading>) {
        // Titles follow at the end, when the episode is sure to exist.
        if let (Some(episode), Some(title)) = (&self.episode, &self.title) {
            out.push(Reading::Title(Arc::clone(episode), shapes::title(title, TitleRank::Summary, None, 1)));
        }
    }
}
