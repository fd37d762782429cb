//! Encodes requests and decodes answers of each model protocol, without a connection.
//!
//! Each module names the provider's reference by which its request was written.

mod anthropic;
mod batch;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod parts;
mod relevance;
mod vectors;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

pub(super) use self::batch::{BatchBody, BatchResults, BatchState};
use self::parts::Decoded;
pub use self::parts::{Encoded, Wanted};
pub use self::relevance::RelevanceProtocol;
pub use self::vectors::{Additions, Texts, VectorProtocol};
use super::ask::{Prompt, Reply, Usage};
use super::error::LlmError;
use crate::transport::Answer;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Protocol {
    /// Encodes a prompt for a model.
    pub fn encode(self, model: &str, prompt: &Prompt, wanted: Option<Wanted<'_>>) -> Encoded {
        match self {
            Self::Anthropic => anthropic::encode(model, prompt, wanted),
            Self::OpenAiChat => openai_chat::encode(model, prompt, wanted),
            Self::OpenAiResponses => openai_responses::encode(model, prompt, wanted),
            Self::Gemini => gemini::encode(model, prompt, wanted),
            Self::Ollama => ollama::encode(model, prompt, wanted),
        }
    }

    /// Returns the headers that every request has, without that of the key.
    pub(super) fn headers(self) -> Vec<(&'static str, &'static str)> {
        if self == Self::Anthropic { vec![("anthropic-version", anthropic::VERSION)] } else { Vec::new() }
    }

    /// Returns the path at which a server lists its models, which costs nothing.
    pub(super) fn listing(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/models",
            Self::OpenAiChat | Self::OpenAiResponses => "/models",
            Self::Gemini => "/v1beta/models",
            Self::Ollama => "/api/tags",
        }
    }

    /// Returns the header that carries a key.
    pub fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
            Self::OpenAiChat | Self::OpenAiResponses | Self::Ollama => ("authorization", format!("Bearer {key}")),
        }
    }

    /// Decodes an answer to a prompt. `server`: its name, for errors.
    ///
    /// # Errors
    /// [`LlmError::Status`], [`LlmError::NotUnderstood`], [`LlmError::Refused`].
    pub fn decode(self, server: &str, prompt: &Prompt, answer: &Answer) -> Result<Reply, LlmError> {
        self.read(server, prompt, &body_of(server, answer)?)
    }

    /// Reads the body of an answer to a prompt.
    ///
    /// # Errors
    /// [`LlmError::NotUnderstood`], [`LlmError::Refused`].
    pub(super) fn read(self, server: &str, prompt: &Prompt, body: &Value) -> Result<Reply, LlmError> {
        let not_understood = |reason: String| LlmError::NotUnderstood { server: server.to_owned(), reason };
        let decoded = match self {
            Self::Anthropic => anthropic::decode(body),
            Self::OpenAiChat => openai_chat::decode(body),
            Self::OpenAiResponses => openai_responses::decode(body),
            Self::Gemini => gemini::decode(body),
            Self::Ollama => ollama::decode(body),
        };
        let Decoded { text, input, output, is_cut, refusal } = decoded.map_err(|missing| not_understood(missing.to_owned()))?;
        if let Some(refusal) = refusal {
            return Err(LlmError::Refused(short(&refusal)));
        }
        let usage = match (input, output) {
            (Some(input), Some(output)) => Usage::reported(prompt, &text, input, output),
            _ => Usage::estimated(prompt, &text),
        };
        Ok(Reply { text, usage, is_cut })
    }
}

/// Most characters of a server's message that an error tells.
const MESSAGE_CHARS: usize = 300;
/// A longer time is no time to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// Returns the JSON of an answer.
///
/// # Errors
/// [`LlmError::Status`], [`LlmError::NotUnderstood`].
pub(super) fn body_of(server: &str, answer: &Answer) -> Result<Value, LlmError> {
    check(server, answer)?;
    serde_json::from_slice(&answer.body)
        .map_err(|error| LlmError::NotUnderstood { server: server.to_owned(), reason: error.to_string() })
}

/// Returns the failure that the status of an answer tells.
///
/// # Errors
/// [`LlmError::Status`].
pub(super) fn check(server: &str, answer: &Answer) -> Result<(), LlmError> {
    if (200..300).contains(&answer.status) { Ok(()) } else { Err(failed(server, answer)) }
}

/// Makes an error of an answer whose status tells one.
fn failed(server: &str, answer: &Answer) -> LlmError {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let told = ["/error/message", "/error", "/message", "/detail", "/0/error/message"];
    let message = told.iter().find_map(|place| body.pointer(place)?.as_str());
    let message = message.map_or_else(|| String::from_utf8_lossy(&answer.body).into_owned(), str::to_owned);
    LlmError::Status {
        server: server.to_owned(),
        status: answer.status,
        message: short(&message),
        retry_after: retry_after(answer),
    }
}

/// Returns the time that a server asks to wait: `retry-after-ms`, or `retry-after` in seconds.
fn retry_after(answer: &Answer) -> Option<Duration> {
    let millis = answer.header("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok()).map(|millis| millis / 1e3);
    let seconds = millis.or_else(|| answer.header("retry-after")?.trim().parse::<f64>().ok())?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(LONGEST_WAIT.as_secs_f64())))
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "no message".to_owned() } else { line.chars().take(MESSAGE_CHARS).collect() }
}
