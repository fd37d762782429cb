//! Prompts, replies and token usage of language models, and [`Accounts`], to which each call is announced.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{Denial, LlmError};

/// Bytes of prose that make a token, about, where a provider tells no number.
const BYTES_OF_TOKEN: f64 = 3.6;

/// A prompt to a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    /// Instructions that stand before the conversation.
    pub system: String,
    /// The exchanges before, oldest first; none in a single question.
    pub earlier: Vec<Exchange>,
    /// The message of the user. Recalled words in it are fenced data.
    pub user: String,
    /// Most tokens of the answer.
    pub max_tokens: u32,
    /// Name of the question, which stays the same when the circumstances change: by it, whoever answers in a folder is asked
    /// once. Empty: the whole prompt.
    pub key: String,
}

impl Prompt {
    /// Returns the number of tokens that it takes, estimated from its bytes.
    pub fn estimated_tokens(&self) -> u64 {
        estimated_tokens(&self.system) + self.messages().map(|(_, text)| estimated_tokens(text)).sum::<u64>()
    }

    /// Returns the messages of the conversation, each with whether it is the user's.
    pub fn messages(&self) -> impl Iterator<Item = (bool, &str)> {
        let earlier = self.earlier.iter().flat_map(|exchange| [(true, exchange.user.as_str()), (false, exchange.reply.as_str())]);
        earlier.chain([(true, self.user.as_str())])
    }

    /// Returns the conversation as one text, for a model that takes nothing else.
    pub fn conversation(&self) -> Cow<'_, str> {
        if self.earlier.is_empty() {
            return Cow::Borrowed(&self.user);
        }
        let told = self.messages().map(|(is_user, text)| format!("{}:\n{text}", if is_user { "User" } else { "You" }));
        Cow::Owned(told.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns the number of bytes of the whole prompt.
    pub(super) fn bytes(&self) -> usize {
        self.system.len() + self.messages().map(|(_, text)| text.len()).sum::<usize>()
    }
}

/// A message of the user and the answer to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// The message.
    pub user: String,
    /// The answer.
    pub reply: String,
}

/// Returns the number of tokens of a text, estimated from its bytes.
pub fn estimated_tokens(text: &str) -> u64 {
    (text.len() as f64 / BYTES_OF_TOKEN).ceil() as u64
}

/// The form in which a typed answer is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Name of the answer, for tools and schemas: letters, digits and underscores.
    pub name: &'static str,
    /// One sentence that says what it is.
    pub description: &'static str,
    /// Its JSON Schema.
    pub schema: Value,
}

/// The way in which a model is brought to answer in a form, the strictest first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The server holds the answer to the schema.
    Schema,
    /// The model must call a tool whose arguments are the answer.
    Tool,
    /// The server holds the answer to JSON.
    Json,
    /// The prompt asks for it.
    Prompt,
}

impl Tier {
    /// All of them, the strictest first.
    pub const ALL: [Self; 4] = [Self::Schema, Self::Tool, Self::Json, Self::Prompt];

    /// Returns the stored and displayed name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Tool => "tool",
            Self::Json => "json",
            Self::Prompt => "prompt",
        }
    }
}

/// The answer of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text, or the arguments of the tool that it called, as JSON.
    pub text: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// True if the answer was cut off at the most tokens.
    pub is_cut: bool,
}

/// Tokens of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer, with those of reasoning.
    pub output: u64,
    /// True if the provider told no numbers.
    pub is_estimated: bool,
}

impl Usage {
    /// Returns what a server reported, but never less than half of the estimate: a server that reports nothing, or too little, would
    /// not be limited.
    pub fn reported(prompt: &Prompt, answer: &str, input: u64, output: u64) -> Self {
        let least = Self::estimated(prompt, answer);
        let (input, output) = (input.max(least.input / 2), output.max(least.output / 2));
        Self { input, output, is_estimated: false }
    }

    /// Estimates the tokens of a prompt and its answer.
    pub fn estimated(prompt: &Prompt, answer: &str) -> Self {
        Self { input: prompt.estimated_tokens(), output: estimated_tokens(answer), is_estimated: true }
    }
}

/// A call, as [`Accounts`] are told it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'p> {
    /// Name of the model.
    pub model: &'p str,
    /// The prompt.
    pub prompt: &'p Prompt,
    /// The form of the answer, and the tier.
    pub wanted: Option<(&'p Form, Tier)>,
    /// Most tokens that it takes, of the prompt and of the answer.
    pub most: [u64; 2],
}

/// The accounts that each call asks before and tells after.
pub trait Accounts {
    /// Reserves the tokens that a call may take: those of its prompt, and most of its answer. Returns the number of the
    /// reservation.
    ///
    /// # Errors
    /// [`LlmError::Budget`]: the call is not allowed.
    fn reserve(&self, model: &str, input: u64, output: u64) -> Result<u64, LlmError>;

    /// Books what a call took, or that it failed, in the place of its reservation.
    fn settle(&self, reservation: u64, usage: Usage, failure: Option<&LlmError>);

    /// Returns why no model may be called any more, if that is so: a running call is given up.
    fn is_off(&self) -> Option<Denial>;

    /// Notes whether a model has a tier.
    fn learned(&self, model: &str, tier: Tier, works: bool);

    /// Returns whether a model has a tier, if that was learned.
    fn has(&self, model: &str, tier: Tier) -> Option<bool>;

    /// Returns the outcome that a call had in a run that is replayed, in the place of asking.
    fn replayed(&self, _call: &Asked<'_>) -> Option<Result<Reply, LlmError>> {
        None
    }

    /// Is told the outcome of a call.
    fn record(&self, _call: &Asked<'_>, _outcome: Result<&Reply, &LlmError>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_reports_counts_but_never_less_than_half_of_the_estimate() {
        let prompt = Prompt { user: "tide ".repeat(720), ..Prompt::default() };
        let answer = "ebb ".repeat(90);
        let told = |input, output| {
            let usage = Usage::reported(&prompt, &answer, input, output);
            (usage.input, usage.output, usage.is_estimated)
        };
        assert_eq!(told(0, 0), (500, 50, false));
        assert_eq!(told(499, 51), (500, 51, false));
        assert_eq!(told(720, 90), (720, 90, false));
    }
}
