//! Reads records of which each conversation has one header and then one for each message.
//!
//! - [`Conversation`]: the part that differs between sources
//! - [`ConversationReader`]: the part that does not

use serde_json::Value;

use super::shapes::{short, text_of};
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
