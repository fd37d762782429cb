//! The conversation of a request and its answer, whatever the protocol.

use serde_json::Value;

/// A protocol of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions, which most servers speak.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Google's Gemini.
    Gemini,
    /// Ollama's own.
    Ollama,
}

/// A request of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Name of the model.
    pub model: Option<String>,
    /// The system text; parts of it are joined by empty lines.
    pub system: Option<String>,
    /// The messages, one for each message of the request, in its order. Messages of the system among them are included.
    pub messages: Vec<Message>,
    /// Id of the answer that the server continues, if it holds the earlier messages itself.
    pub previous: Option<String>,
    /// Id of the conversation that the client puts into the body, if any.
    pub session: Option<String>,
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its content, in order.
    pub parts: Vec<Part>,
    /// Digest of its role and content.
    pub digest: Digest,
}

impl Message {
    /// Returns whether a person may have said this: a message of the user with words, not only results of tools.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User
            && self.parts.iter().any(|part| matches!(part, Part::Text(_)))
            && !self.parts.iter().any(|part| matches!(part, Part::Outcome { .. }))
    }
}

/// Digest of a message's role and content. Marks that a client moves from message to message (`cache_control`) and the choice
/// between a text and a list with one text do not change it.
pub type Digest = [u8; 16];

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Rules for the model (`system`, `developer`).
    System,
    /// The person, or the program that speaks for it.
    User,
    /// The model.
    Assistant,
    /// A result of a tool, in protocols in which that is a message.
    Tool,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// The model's reasoning, as far as it is readable.
    Reasoning(String),
    /// A call of a tool.
    Call {
        /// Id of the call.
        id: Option<String>,
        /// Name of the tool.
        name: String,
        /// Arguments.
        input: Value,
    },
    /// A result of a tool.
    Outcome {
        /// Id of the call.
        id: Option<String>,
        /// Name of the tool, where the protocol repeats it.
        name: Option<String>,
        /// Words of the result.
        text: String,
        /// True if the tool failed, as far as the protocol says so.
        is_error: bool,
    },
    /// Anything else (an image, a file, an unknown type), by the name of its type.
    Other(String),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The parts that the model said.
    pub parts: Vec<Part>,
    /// Name of the model, as the server tells it.
    pub model: Option<String>,
    /// Id of the answer.
    pub id: Option<String>,
    /// Tokens that it took, as the server tells it.
    pub usage: Usage,
    /// True if the answer came to its end. A stream that broke off did not.
    pub is_whole: bool,
}

/// Tokens of a request, as the server tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All tokens of the request, with those read from and written to a cache.
    pub input: u64,
    /// Those of them that were read from the provider's cache.
    pub cached: u64,
    /// Those of them that were written to the provider's cache and billed as such.
    pub written: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// A text to be added to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addition {
    /// Where it is added.
    pub place: Place,
    /// The text.
    pub text: String,
}

/// A place in a request at which text is added: always at the end of what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The system text.
    System,
    /// A message of the user, by its number in [`Conversation::messages`].
    Message(usize),
}
