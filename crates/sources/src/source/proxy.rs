//! Conversations that went through yore's proxy: the daemon gives the messages of each exchange as they happen.
//!
//! No file is read. A record is the header of a session or a message of it, in the shape that [`header`] and [`message`] write. The
//! same session comes in many units, one for each exchange.

use std::path::Path;

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Episode, Outcome, Role};
use yore_core::time::{RecordedTime, TimeQuality, UtcMillis};

use super::conversation::{Conversation, ConversationReader, Shared};
use super::shapes::{self, Answer, Message, short, text_of};
use super::speaker::{Marks, divide};
use super::{EpisodeReader, Headless, Known, LineOwner, ReaderOptions, Reading, Source, SourceLine, Unit};

/// Kind of the source, and beginning of the names of its units.
pub const KIND: &str = "proxy";

/// The source for conversations through the proxy; see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Proxied;

/// Beginnings of messages that clients write in the person's name: what aider shows of the repository and of files, what Codex and Claude
/// Code put before a conversation or after a break.
const BY_CLIENT: [&str; 14] = [
    "I have *added these files to the chat*",
    "Here are summaries of some files present in my git repository",
    "Here are some READ ONLY files, provided for your reference",
    "I am not sharing any files that you can edit yet",
    "I switched to a new code base",
    "I am working with you on code in a git repository",
    "I am not sharing the full contents",
    "I committed the changes with git hash",
    "I didn't see any properly formatted edits",
    "I edited the files myself",
    "# AGENTS.md instructions",
    "This session is being continued from a previous conversation",
    "[Request interrupted by user",
    "Your task is to create a detailed summary of the conversation",
];

/// Elements that clients put into a prompt.
const PUT_IN: Marks = Marks {
    elements: &[
        "system-reminder",
        "environment_context",
        "user_instructions",
        "environment_details",
        "current_datetime",
        "hook_context",
    ],
    tails: &[],
};

/// Returns whether a client wrote a message in the person's name: files, or what it tells of the repository.
pub fn is_by_client(text: &str) -> bool {
    BY_CLIENT.iter().any(|beginning| text.trim_start().starts_with(beginning))
}

/// Returns the words of a text that the person typed, without the elements that clients put in.
pub fn typed(text: &str) -> String {
    divide(text, &PUT_IN).said
}

/// Replaces pictures and other payloads in a tool's input by their length.
pub fn drop_payloads(input: &mut Value) {
    shapes::drop_payloads(input);
}

/// The session that messages belong to.
#[derive(Clone, Copy, Debug)]
pub struct ProxiedSession<'s> {
    /// Its id.
    pub id: &'s str,
    /// The program that sent it, by its own name.
    pub client: Option<&'s str>,
    /// The directory that it works in, if it is known.
    pub directory: Option<&'s str>,
    /// True if the program is one in which a person types the prompts.
    pub is_typed: bool,
}

/// Returns the record that begins the messages of a session.
pub fn header(session: ProxiedSession<'_>) -> Value {
    let ProxiedSession { id, client, directory, is_typed } = session;
    json!({"type": "session", "session": id, "client": client, "cwd": directory, "is_typed": is_typed})
}

/// A message of a session, as it went through.
#[derive(Clone, Debug, Default)]
pub struct ProxiedMessage {
    /// Its id in the session.
    pub id: String,
    /// `user`, `assistant` or `tool`.
    pub role: &'static str,
    /// Its words.
    pub text: String,
    /// Calls of tools: id, name, arguments.
    pub calls: Vec<(Option<String>, String, Value)>,
    /// Results of tools: id of the call, name of the tool if it is told, words, whether it failed.
    pub results: Vec<(Option<String>, Option<String>, String, bool)>,
    /// Name of the model.
    pub model: Option<String>,
    /// When it went through.
    pub at: UtcMillis,
}

/// Returns the record of a message.
pub fn message(session: ProxiedSession<'_>, message: &ProxiedMessage) -> Value {
    let calls: Vec<Value> =
        message.calls.iter().map(|(id, name, input)| json!({"id": id, "name": name, "input": input})).collect();
    let result = |(id, name, text, is_error): &(Option<String>, Option<String>, String, bool)| json!({"id": id, "name": name, "text": text, "is_error": is_error});
    let results: Vec<Value> = message.results.iter().map(result).collect();
    json!({
        "type": "message", "session": session.id, "id": message.id, "cwd": session.directory, "role": message.role,
        "text": message.text, "calls": calls, "results": results, "model": message.model, "at": message.at,
    })
}

impl Source for Proxied {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn display_name(&self) -> &'static str {
        "Proxy"
    }

    fn discover(&self, _root: &Path, _known: &dyn Known) -> Vec<Unit> {
        Vec::new()
    }

    fn reader(&self, _unit: &Path, _state: &str, options: &ReaderOptions) -> Box<dyn EpisodeReader> {
        Box::new(Reader { inner: ConversationReader::<Session>::new(KIND, options), headless: options.headless })
    }

    fn owner<'v>(&self, value: &'v Value) -> LineOwner<'v> {
        LineOwner {
            session: text_of(value, "session").map(Into::into),
            message: text_of(value, "id"),
            about: None,
            directory: text_of(value, "cwd"),
        }
    }
}

/// Reads records; the author of prompts that a program may have written is as the person says.
struct Reader {
    inner: ConversationReader<Session>,
    headless: Headless,
}

impl EpisodeReader for Reader {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        let before = out.len();
        self.inner.read(line, out);
        for reading in &mut out[before..] {
            if let (Reading::Turn(read), Headless::Person) = (reading, self.headless)
                && read.turn.caveat == Some(Caveat::UnknownAuthor)
            {
                read.turn.caveat = None;
            }
        }
    }
}

/// State shared by the messages of a session.
struct Session(Shared);

impl Conversation for Session {
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self {
        let mut shared = Shared::new(
            kind,
            Episode {
                cwd: text_of(header, "cwd").map(str::to_owned),
                client_version: text_of(header, "client").map(str::to_owned),
                ..shapes::episode(kind, id)
            },
        );
        // A program on a provider's library sends prompts that nobody typed.
        shared.caveat = (header["is_typed"] != true).then_some(Caveat::UnknownAuthor);
        Self(shared)
    }

    fn id(&self) -> &str {
        &self.0.episode.native_id
    }

    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>) {
        let text = text_of(value, "text").unwrap_or_default();
        let role = match text_of(value, "role") {
            Some("user") if is_by_client(text) => Role::Injected,
            Some("user") => self.0.prompt,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::ToolResult,
            other => {
                out.push(Reading::Skip("unknown-role", short(other.unwrap_or(""))));
                return;
            }
        };
        let time = shapes::time_of(&value["at"], TimeQuality::Exact).unwrap_or(RecordedTime::UNKNOWN);
        let mut message = Message::new(text_of(value, "id").unwrap_or_default().to_owned(), role, time);
        message.model = text_of(value, "model").filter(|_| role == Role::Assistant).map(str::to_owned);
        match role {
            Role::Human => message.hear(text, &PUT_IN, tool_bytes),
            _ => message.say(text),
        }
        let caveat = message.caveat;
        for call in value["calls"].as_array().into_iter().flatten() {
            let id = text_of(call, "id").map(str::to_owned);
            self.0.call(&mut message, id, text_of(call, "name").unwrap_or("tool"), &call["input"], tool_bytes);
        }
        for result in value["results"].as_array().into_iter().flatten() {
            message.answers.push(Answer {
                call_id: text_of(result, "id").map(str::to_owned),
                name: text_of(result, "name").unwrap_or_default().to_owned(),
                text: text_of(result, "text").unwrap_or_default().to_owned(),
                outcome: (result["is_error"] == true).then_some(Outcome::Failed),
                ..Answer::default()
            });
        }
        self.0.tell(message, caveat, tool_bytes, line, out);
    }
}
