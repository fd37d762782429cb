//! Each protocol: the request that is sent, and every kind of answer.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::llm::{Class, Form, Tier};

fn prompt() -> Prompt {
    Prompt { system: "Be brief.".to_owned(), user: "Where is the gauge?".to_owned(), max_tokens: 200, ..Prompt::default() }
}

fn form() -> Form {
    Form { name: "place", description: "A place.", schema: json!({"type": "object", "properties": {"at": {"type": "string"}}}) }
}

fn answer(status: u16, body: &Value) -> Answer {
    Answer { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

fn decode(protocol: Protocol, body: &Value) -> Result<Reply, LlmError> {
    protocol.decode("server", &prompt(), &answer(200, body))
}

fn reply(text: &str, input: u64, output: u64) -> Reply {
    Reply { text: text.to_owned(), usage: Usage { input, output, is_estimated: false }, is_cut: false }
}

/// The same in every protocol: a text, the arguments of a tool, an answer that was cut off, a refusal.
fn answers() -> [(Protocol, Value, Value, Value, Option<Value>); 5] {
    [
        (
            Protocol::Anthropic,
            json!({"content": [{"type": "text", "text": "At the quay."}], "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 4}}),
            json!({"content": [{"type": "text", "text": "I call it."}, {"type": "tool_use", "name": "place", "input": {"at": "quay"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 9, "output_tokens": 4}}),
            json!({"content": [{"type": "text", "text": "At the"}], "stop_reason": "max_tokens", "usage": {"input_tokens": 9, "output_tokens": 4}}),
            Some(
                json!({"content": [{"type": "text", "text": "No."}], "stop_reason": "refusal", "usage": {"input_tokens": 9, "output_tokens": 4}}),
            ),
        ),
        (
            Protocol::OpenAiChat,
            json!({"choices": [{"message": {"content": "At the quay."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            json!({"choices": [{"message": {"content": null, "tool_calls": [{"function": {"name": "place", "arguments": "{\"at\":\"quay\"}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            json!({"choices": [{"message": {"content": "At the"}, "finish_reason": "length"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            Some(
                json!({"choices": [{"message": {"content": null, "refusal": "No."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
            ),
        ),
        (
            Protocol::OpenAiResponses,
            json!({"output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "At the quay."}]}], "usage": {"input_tokens": 9, "output_tokens": 4}}),
            json!({"output": [{"type": "function_call", "name": "place", "arguments": "{\"at\":\"quay\"}"}], "usage": {"input_tokens": 9, "output_tokens": 4}}),
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [{"type": "message", "content": [{"type": "output_text", "text": "At the"}]}], "usage": {"input_tokens": 9, "output_tokens": 4}}),
            Some(
                json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}], "usage": {"input_tokens": 9, "output_tokens": 4}}),
            ),
        ),
        (
            Protocol::Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}, {"text": "At the quay."}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 1}}),
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "place", "args": {"at": "quay"}}}]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}}),
            json!({"candidates": [{"content": {"parts": [{"text": "At the"}]}, "finishReason": "MAX_TOKENS"}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}}),
            Some(json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}})),
        ),
        (
            Protocol::Ollama,
            json!({"message": {"content": "At the quay."}, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}),
            json!({"message": {"content": "", "tool_calls": [{"function": {"name": "place", "arguments": {"at": "quay"}}}]}, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 4}),
            json!({"message": {"content": "At the"}, "done_reason": "length", "prompt_eval_count": 9, "eval_count": 4}),
            None,
        ),
    ]
}

#[test]
fn texts_tool_calls_cuts_and_refusals_are_the_same_in_every_protocol() {
    for (protocol, text, tool, cut, refusal) in answers() {
        assert_eq!(decode(protocol, &text).unwrap(), reply("At the quay.", 9, 4), "{protocol:?}");
        assert_eq!(decode(protocol, &tool).unwrap(), reply("{\"at\":\"quay\"}", 9, 4), "{protocol:?}");
        assert_eq!(decode(protocol, &cut).unwrap(), Reply { is_cut: true, ..reply("At the", 9, 4) }, "{protocol:?}");
        if let Some(refusal) = refusal {
            assert!(matches!(decode(protocol, &refusal), Err(LlmError::Refused(_))), "{protocol:?}");
        }
    }
}

#[test]
fn an_answer_without_its_parts_is_not_understood_and_one_without_numbers_is_estimated() {
    for (protocol, mut text, ..) in answers() {
        for body in [json!({}), json!([]), json!("x"), json!(null)] {
            assert!(matches!(decode(protocol, &body), Err(LlmError::NotUnderstood { .. })), "{protocol:?} {body}");
        }
        let html = Answer { status: 200, headers: Vec::new(), body: b"<html>".to_vec() };
        assert!(matches!(protocol.decode("server", &prompt(), &html), Err(LlmError::NotUnderstood { .. })));
        for name in ["usage", "usageMetadata", "eval_count"] {
            text.as_object_mut().unwrap().remove(name);
        }
        let usage = decode(protocol, &text).unwrap().usage;
        assert!(usage.is_estimated && usage.input > 0 && usage.output > 0, "{protocol:?}");
    }
}

#[test]
fn failures_have_their_class_their_message_and_the_time_to_wait() {
    for (status, class) in [
        (400, Class::Permanent),
        (401, Class::Permanent),
        (403, Class::Permanent),
        (404, Class::Permanent),
        (408, Class::Transient),
        (429, Class::Transient),
        (500, Class::Transient),
        (503, Class::Transient),
        (529, Class::Transient),
    ] {
        for body in
            [json!({"error": {"message": "no tide"}}), json!({"error": "no tide"}), json!([{"error": {"message": "no tide"}}])]
        {
            let mut answer = answer(status, &body);
            answer.headers = vec![("retry-after".to_owned(), "7".to_owned())];
            let error = Protocol::OpenAiChat.decode("server", &prompt(), &answer).unwrap_err();
            assert_eq!((error.class(), error.retry_after()), (class, Some(Duration::from_secs(7))), "{status}");
            assert_eq!(error.to_string(), format!("server answered {status}: no tide"));
        }
    }
    let mut late = answer(429, &json!({}));
    for (value, seconds) in [("-1", None), ("soon", None), ("99999999", Some(3_600)), ("NaN", None)] {
        late.headers = vec![("retry-after".to_owned(), value.to_owned())];
        let error = Protocol::Gemini.decode("server", &prompt(), &late).unwrap_err();
        assert_eq!(error.retry_after(), seconds.map(Duration::from_secs), "{value}");
    }
}

#[test]
fn requests_are_those_of_each_providers_reference() {
    let protocols = [Protocol::Anthropic, Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::Gemini, Protocol::Ollama];
    let form = form();
    let mut told = String::new();
    for protocol in protocols {
        for tier in [None, Some(Tier::Schema), Some(Tier::Tool), Some(Tier::Json)] {
            let wanted = tier.map(|tier| Wanted { form: &form, tier });
            let Encoded { path, headers, body } = protocol.encode("m-1", &prompt(), wanted);
            let tier = tier.map_or("text", Tier::as_str);
            told.push_str(&format!("{protocol:?} {tier}: {path} {headers:?}\n  {body}\n"));
        }
        if protocol.most_batch_bytes().is_some() {
            let request = protocol.encode("m-1", &prompt(), Some(Wanted { form: &form, tier: Tier::Schema })).body;
            match protocol.batch_of(&[("k-1".to_owned(), request)]) {
                BatchBody::Inline(body) => {
                    told.push_str(&format!("{protocol:?} batch: {}\n  {body}\n", protocol.new_batch_path("m-1")));
                }
                BatchBody::File(lines) => told.push_str(&format!("{protocol:?} lines of a batch\n  {lines}")),
            }
        }
    }
    insta::assert_snapshot!(told);
}
