//! Requests and answers of each protocol, encoded and decoded without a connection.
//!
//! Each module names the provider's reference by which its request was written.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod parts;

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;

use self::parts::Decoded;
pub use self::parts::{Encoded, Wanted};
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
        if !(200..300).contains(&answer.status) {
            return Err(failed(server, answer));
        }
        let not_understood = |reason: String| LlmError::NotUnderstood { server: server.to_owned(), reason };
        let body: Value = serde_json::from_slice(&answer.body).map_err(|error| not_understood(error.to_string()))?;
        let decoded = match self {
            Self::Anthropic => anthropic::decode(&body),
            Self::OpenAiChat => openai_chat::decode(&body),
            Self::OpenAiResponses => openai_responses::decode(&body),
            Self::Gemini => gemini::decode(&body),
            Self::Ollama => ollama::decode(&body),
        };
        let Decoded { text, input, output, is_cut, refusal } = decoded.map_err(|missing| not_understood(missing.to_owned()))?;
        if let Some(refusal) = refusal {
            return Err(LlmError::Refused(short(&refusal)));
        }
        let usage = match (input, output) {
            (Some(input), Some(output)) => Usage { input, output, is_estimated: false },
            _ => Usage::estimated(prompt, &text),
        };
        Ok(Reply { text, usage, is_cut })
    }
}

/// Most characters of a server's message that an error tells.
const MESSAGE_CHARS: usize = 300;
/// A longer time is no time to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

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
