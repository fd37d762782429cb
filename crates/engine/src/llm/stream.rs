//! Reads streamed answers of model servers: server-sent events, or a JSON document on each line.

use serde_json::Value;

use super::error::LlmError;
use super::wire::{Protocol, error_of_event};

/// Longest line of a stream in bytes.
const LONGEST_LINE: usize = 16 << 20;

/// A stream that is read: its events are put together to the answer that would have come whole.
pub(super) struct Stream<'s> {
    server: &'s str,
    protocol: Protocol,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Data of the event that has not ended yet.
    data: String,
    whole: Value,
    is_complete: bool,
}

impl<'s> Stream<'s> {
    /// Begins a stream of a server.
    pub(super) fn new(server: &'s str, protocol: Protocol) -> Self {
        Self { server, protocol, line: Vec::new(), data: String::new(), whole: Value::Null, is_complete: false }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`LlmError::Status`]: the server reports a failure; [`LlmError::NotUnderstood`].
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), LlmError> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > LONGEST_LINE {
                return Err(self.not_understood("a line of the stream is too long"));
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(&line)?;
            }
        }
        Ok(())
    }

    /// Ends the stream and returns the whole answer.
    ///
    /// # Errors
    /// Those of [`Stream::take`]; the stream ended before the answer did.
    pub(super) fn end(mut self) -> Result<Value, LlmError> {
        let line = std::mem::take(&mut self.line);
        self.line(&line)?;
        self.event()?;
        if self.is_complete { Ok(self.whole) } else { Err(self.not_understood("the stream ended before the answer")) }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), LlmError> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        match line.strip_prefix("data:") {
            Some(data) => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                Ok(())
            }
            None if line.is_empty() => self.event(),
            // A document a line.
            None if line.starts_with('{') => {
                self.data.push_str(line);
                self.event()
            }
            // Names of events, comments: what an event is stands in its data, too.
            None => Ok(()),
        }
    }

    fn event(&mut self) -> Result<(), LlmError> {
        let data = std::mem::take(&mut self.data);
        if data.trim() == "[DONE]" || data.trim().is_empty() {
            return Ok(());
        }
        let event: Value = serde_json::from_str(&data).map_err(|error| self.not_understood(&error.to_string()))?;
        if let Some(error) = error_of_event(self.server, &event) {
            return Err(error);
        }
        self.is_complete |= self.protocol.fold(&mut self.whole, &event);
        Ok(())
    }

    fn not_understood(&self, reason: &str) -> LlmError {
        LlmError::NotUnderstood { server: self.server.to_owned(), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::{Class, Prompt, Reply, Usage};

    fn read(protocol: Protocol, text: &str, part: usize) -> Result<Reply, LlmError> {
        let mut stream = Stream::new("server", protocol);
        for part in text.as_bytes().chunks(part) {
            stream.take(part)?;
        }
        protocol.read("server", &Prompt::default(), &stream.end()?)
    }

    fn events(events: &[Value], end: &str) -> String {
        let event = |event: &Value| match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\r\n\r\n"),
        };
        format!(": ping\n\n{}{end}", events.iter().map(event).collect::<String>())
    }

    /// The same answer as a stream of each protocol: a text, the arguments of a tool, and a text that was cut off.
    fn streams() -> Vec<(Protocol, [String; 3])> {
        let anthropic = |block: Value, deltas: [Value; 2], stop: &str| {
            events(
                &[
                    json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    json!({"type": "ping"}),
                    json!({"type": "content_block_delta", "index": 0, "delta": deltas[0]}),
                    json!({"type": "content_block_delta", "index": 0, "delta": deltas[1]}),
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 4}}),
                    json!({"type": "message_stop"}),
                ],
                "",
            )
        };
        let text = |text: &str| json!({"type": "text_delta", "text": text});
        let arguments = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
        let (text_block, tool_block) =
            (json!({"type": "text", "text": ""}), json!({"type": "tool_use", "name": "p", "input": {}}));
        let chat = |deltas: [Value; 2], reason: &str| {
            let choice =
                |delta: &Value, reason: Value| json!({"choices": [{"delta": delta, "finish_reason": reason}], "usage": null});
            events(
                &[
                    choice(&deltas[0], Value::Null),
                    choice(&deltas[1], Value::Null),
                    choice(&json!({}), json!(reason)),
                    json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
                ],
                "data: [DONE]\n\n",
            )
        };
        let call = |text: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]});
        let responses = |output: Value, name: &str, details: Value| {
            let whole =
                json!({"output": [output], "incomplete_details": details, "usage": {"input_tokens": 9, "output_tokens": 4}});
            let delta = json!({"type": "response.output_text.delta", "delta": "At"});
            events(&[json!({"type": "response.created"}), delta, json!({"type": name, "response": whole})], "")
        };
        let message = |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
        let gemini = |parts: [Value; 2], reason: &str| {
            let usage = json!({"promptTokenCount": 9, "candidatesTokenCount": 4});
            events(
                &[
                    json!({"candidates": [{"content": {"parts": [parts[0]]}}], "usageMetadata": {"promptTokenCount": 9}}),
                    json!({"candidates": [{"content": {"parts": [parts[1]]}, "finishReason": reason}], "usageMetadata": usage}),
                ],
                "",
            )
        };
        let ollama = |messages: [Value; 2], reason: &str| {
            let last =
                json!({"message": {"content": ""}, "done": true, "done_reason": reason, "prompt_eval_count": 9, "eval_count": 4});
            format!(
                "{}\n{}\n{last}",
                json!({"message": messages[0], "done": false}),
                json!({"message": messages[1], "done": false})
            )
        };
        let said = |text: &str| json!({"content": text});
        let (empty, ollama_call) =
            (json!({"content": ""}), json!({"content": "", "tool_calls": [{"function": {"arguments": {"at": "quay"}}}]}));
        vec![
            (
                Protocol::Anthropic,
                [
                    anthropic(text_block.clone(), [text("At the "), text("qüay.")], "end_turn"),
                    anthropic(tool_block, [arguments("{\"at\":"), arguments("\"quay\"}")], "tool_use"),
                    anthropic(text_block, [text("At"), text(" the")], "max_tokens"),
                ],
            ),
            (
                Protocol::OpenAiChat,
                [
                    chat([said("At the "), said("qüay.")], "stop"),
                    chat([call("{\"at\":"), call("\"quay\"}")], "tool_calls"),
                    chat([said("At"), said(" the")], "length"),
                ],
            ),
            (
                Protocol::OpenAiResponses,
                [
                    responses(message("At the qüay."), "response.completed", Value::Null),
                    responses(
                        json!({"type": "function_call", "arguments": "{\"at\":\"quay\"}"}),
                        "response.completed",
                        Value::Null,
                    ),
                    responses(message("At the"), "response.incomplete", json!({"reason": "max_output_tokens"})),
                ],
            ),
            (
                Protocol::Gemini,
                [
                    gemini([json!({"text": "At the "}), json!({"text": "qüay."})], "STOP"),
                    gemini([json!({"text": "hm", "thought": true}), json!({"functionCall": {"args": {"at": "quay"}}})], "STOP"),
                    gemini([json!({"text": "At"}), json!({"text": " the"})], "MAX_TOKENS"),
                ],
            ),
            (
                Protocol::Ollama,
                [
                    ollama([said("At the "), said("qüay.")], "stop"),
                    ollama([empty, ollama_call], "stop"),
                    ollama([said("At"), said(" the")], "length"),
                ],
            ),
        ]
    }

    #[test]
    fn a_stream_gives_what_a_whole_answer_gives_however_it_is_cut_into_parts() {
        let usage = Usage { input: 9, output: 4, is_estimated: false };
        for (protocol, [text, tool, cut]) in streams() {
            for part in [1, 7, 100_000] {
                let reply = |text: &str, is_cut| Reply { text: text.to_owned(), usage, is_cut };
                assert_eq!(read(protocol, &text, part).unwrap(), reply("At the qüay.", false), "{protocol:?} {part}");
                assert_eq!(read(protocol, &tool, part).unwrap(), reply("{\"at\":\"quay\"}", false), "{protocol:?} {part}");
                assert_eq!(read(protocol, &cut, part).unwrap(), reply("At the", true), "{protocol:?} {part}");
            }
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_no_answer() {
        for (protocol, [text, ..]) in streams() {
            let end = text.trim_end().trim_end_matches("data: [DONE]").trim_end().rfind('\n').unwrap();
            let end = if protocol == Protocol::OpenAiChat { text.find("qüay").unwrap() + 9 } else { end };
            for stop in [end, 20] {
                let broken: String = text.chars().take(stop).collect();
                let error = read(protocol, &broken, 64).unwrap_err();
                assert_eq!(
                    (error.class(), error.code()),
                    (Class::Transient, "llm/not-understood"),
                    "{protocol:?} {stop}: {error}"
                );
            }
        }
    }

    #[test]
    fn failures_that_a_stream_reports_have_their_class() {
        for (event, class, told) in [
            (json!({"type": "error", "error": {"type": "overloaded_error", "message": "full"}}), Class::Transient, "529: full"),
            (json!({"type": "error", "error": {"type": "authentication_error", "message": "key"}}), Class::Permanent, "401: key"),
            (json!({"error": {"message": "slow down", "code": 429}}), Class::Transient, "429: slow down"),
            (json!({"error": "out of memory"}), Class::Transient, "500: out of memory"),
            (json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}), Class::Transient, "429: slow"),
            (
                json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "x"}}}),
                Class::Transient,
                "500: x",
            ),
        ] {
            let error = read(Protocol::OpenAiResponses, &events(&[event], ""), 9).unwrap_err();
            assert_eq!(error.class(), class, "{error}");
            assert!(error.to_string().contains(told), "{error}");
        }
    }

    #[test]
    fn no_stream_makes_it_panic() {
        for protocol in [Protocol::Anthropic, Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::Gemini, Protocol::Ollama]
        {
            for event in [
                json!([]),
                json!(3),
                json!({"type": "content_block_delta", "index": 7, "delta": {"text": 3}}),
                json!({"type": "message_delta"}),
                json!({"choices": [{"delta": {"tool_calls": [{}]}}]}),
                json!({"candidates": [{"content": {"parts": 3}}]}),
                json!({"message": 3, "done": true}),
                json!({"type": "message_start", "message": 3}),
            ] {
                for before in ["", "data: {\"type\": \"message_start\", \"message\": {\"content\": []}}\n\n"] {
                    let _ = read(protocol, &format!("{before}data: {event}\n\n{event}\n"), 5);
                }
            }
        }
    }
}
