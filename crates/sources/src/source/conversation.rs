//! Reads formats in which a conversation has one header record and then a record for each message.
//!
//! - [`Conversation`]: the part that differs between sources
//! - [`ConversationReader`]: the part that does not
//! - [`Shared`]: the facts that the messages of a conversation share, where results of tools are messages of
//!   their own

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use yore_core::episode::{Caveat, Episode, Role, TitleRank};

use super::shapes::{self, Message, short, text_of};
use super::{EpisodeReader, ReaderOptions, Reading, SourceLine};

/// The facts that the messages of a conversation share, from its header; reads the messages.
pub(super) trait Conversation: Send + Sized {
    /// `type` of a header.
    const HEADER: &'static str = "session";
    /// `type` of a message.
    const MESSAGE: &'static str = "message";

    /// Begins a conversation of a source kind; `header` is null if messages come without one.
    fn begin(kind: &'static str, id: &str, header: &Value) -> Self;

    /// Native id.
    fn id(&self) -> &str;

    /// Reads one message; results of tools are cut to `tool_bytes`.
    fn read_message(&mut self, value: &Value, tool_bytes: usize, line: u64, out: &mut Vec<Reading>);

    /// Reads a record that is neither header nor message of a conversation.
    fn read_other(value: &Value, out: &mut Vec<Reading>) {
        out.push(Reading::Skip("unknown-type", short(text_of(value, "type").unwrap_or(""))));
    }
}

/// Reads the records of conversations of one source.
pub(super) struct ConversationReader<C> {
    kind: &'static str,
    tool_bytes: usize,
    current: Option<C>,
}

impl<C> ConversationReader<C> {
    pub(super) fn new(kind: &'static str, options: &ReaderOptions) -> Self {
        Self { kind, tool_bytes: options.tool_bytes, current: None }
    }
}

impl<C: Conversation> EpisodeReader for ConversationReader<C> {
    fn read(&mut self, line: &SourceLine<'_>, out: &mut Vec<Reading>) {
        for value in line.values {
            match (text_of(value, "type"), text_of(value, "session")) {
                (Some(header), Some(id)) if header == C::HEADER => self.current = Some(C::begin(self.kind, id, value)),
                (Some(message), Some(id)) if message == C::MESSAGE => {
                    let current = match self.current.take() {
                        Some(current) if current.id() == id => current,
                        _ => C::begin(self.kind, id, &Value::Null),
                    };
                    self.current.insert(current).read_message(value, self.tool_bytes, line.mark.line, out);
                }
                _ => C::read_other(value, out),
            }
        }
    }
}

/// Facts that the messages of a conversation share.
pub(super) struct Shared {
    pub kind: &'static str,
    pub episode: Arc<Episode>,
    /// Title, output after the first turn, because then the episode exists.
    pub title: Option<(String, TitleRank)>,
    pub model: Option<String>,
    pub branch: Option<String>,
    /// Role of a message that the agent files under "user".
    pub prompt: Role,
    /// Caveat of such messages.
    pub caveat: Option<Caveat>,
    /// Names of the tools that were called, by the id of the call.
    calls: HashMap<String, String>,
    has_turns: bool,
}

impl Shared {
    /// Creates the facts of a conversation whose prompts a person typed.
    pub(super) fn new(kind: &'static str, episode: Episode) -> Self {
        Self {
            kind,
            episode: Arc::new(episode),
            title: None,
            model: None,
            branch: None,
            prompt: Role::Human,
            caveat: None,
            calls: HashMap::new(),
            has_turns: false,
        }
    }

    /// Adds a call to a message.
    pub(super) fn call(&mut self, message: &mut Message, id: Option<String>, name: &str, input: &Value, tool_bytes: usize) {
        if let Some(id) = &id {
            self.calls.insert(id.clone(), name.to_owned());
        }
        message.call(id, name, input, tool_bytes);
    }

    /// Returns whether a call with this id was read.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Outputs the turns of a message. Adds the names of tools to their results, the model and the branch.
    pub(super) fn tell(
        &mut self,
        mut message: Message,
        caveat: Option<Caveat>,
        tool_bytes: usize,
        line: u64,
        out: &mut Vec<Reading>,
    ) {
        for answer in message.answers.iter_mut().filter(|answer| answer.name.is_empty()) {
            let name = answer.call_id.as_ref().and_then(|id| self.calls.get(id));
            answer.name = name.map_or("tool", String::as_str).to_owned();
        }
        if message.role == Role::Assistant && message.model.is_none() {
            message.model.clone_from(&self.model);
        }
        message.branch.clone_from(&self.branch);
        let caveat = caveat.or(self.caveat.filter(|_| message.role == Role::Human));
        let (at, before) = (message.time.utc, out.len());
        message.turns(self.kind, &self.episode, tool_bytes, line, out);
        for reading in &mut out[before..] {
            if let Reading::Turn(read) = reading {
                read.turn.caveat = caveat;
                self.has_turns = true;
            }
        }
        if self.has_turns
            && let Some((words, rank)) = self.title.take()
        {
            out.push(Reading::Title(Arc::clone(&self.episode), shapes::title(&words, rank, at, line)));
        }
    }

    /// Sets a title that comes among the messages.
    pub(super) fn entitle(&mut self, words: &str, rank: TitleRank, line: u64, out: &mut Vec<Reading>) {
        if self.has_turns {
            out.push(Reading::Title(Arc::clone(&self.episode), shapes::title(words, rank, None, line)));
        } else {
            self.title = Some((words.to_owned(), rank));
        }
    }
}
