//! Property tests of additions over conversations that grow, as clients of each protocol write them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::wire::{add, read_request};
use crate::{Message, Role};

/// A turn of a conversation.
#[derive(Clone, Debug)]
enum Turn {
    /// A prompt, as a string or as a list.
    Prompt(String, bool),
    /// An answer in words.
    Answer(String),
    /// A call of a tool and its result.
    Tool(String, String),
}

/// How a client writes JSON.
#[derive(Clone, Copy, Debug)]
enum Style {
    Compact,
    Pretty,
    Ascii,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let words = || proptest::string::string_regex("[a-z \"\\\\\n\u{e9}\u{1f600}/]{0,12}x").expect("a pattern");
    let turn = prop_oneof![
        (words(), any::<bool>()).prop_map(|(text, is_list)| Turn::Prompt(text, is_list)),
        words().prop_map(Turn::Answer),
        (words(), words()).prop_map(|(input, output)| Turn::Tool(input, output)),
    ];
    proptest::collection::vec(turn, 1..8)
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop_oneof![
        Just(Protocol::Anthropic),
        Just(Protocol::OpenAiChat),
        Just(Protocol::OpenAiResponses),
        Just(Protocol::Gemini),
        Just(Protocol::Ollama)
    ]
}

fn styles() -> impl Strategy<Value = Style> {
    prop_oneof![Just(Style::Compact), Just(Style::Pretty), Just(Style::Ascii)]
}

/// Returns the messages of turns; one turn of a tool is two.
fn messages(protocol: Protocol, turns: &[Turn]) -> Vec<Value> {
    let mut messages = Vec::new();
    for turn in turns {
        match (protocol, turn) {
            (Protocol::Gemini, Turn::Prompt(text, _)) => messages.push(json!({"role": "user", "parts": [{"text": text}]})),
            (Protocol::Gemini, Turn::Answer(text)) => messages.push(json!({"role": "model", "parts": [{"text": text}]})),
            (Protocol::Gemini, Turn::Tool(input, output)) => {
                messages.push(json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": input}}}]}));
                messages.push(
                    json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": output}}}]}),
                );
            }
            (Protocol::OpenAiResponses, Turn::Prompt(text, true)) => {
                messages.push(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}));
            }
            (Protocol::OpenAiResponses, Turn::Tool(input, output)) => {
                messages.push(json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": input}));
                messages.push(json!({"type": "function_call_output", "call_id": "c", "output": output}));
            }
            (Protocol::Anthropic, Turn::Tool(input, output)) => {
                let call = json!({"type": "tool_use", "id": "c", "name": "f", "input": {"x": input}});
                messages.push(json!({"role": "assistant", "content": [call]}));
                let result = json!({"type": "tool_result", "tool_use_id": "c", "content": output});
                messages.push(json!({"role": "user", "content": [result]}));
            }
            (_, Turn::Tool(input, output)) => {
                let call = json!({"function": {"name": "f", "arguments": input}});
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                messages.push(json!({"role": "tool", "content": output}));
            }
            (Protocol::Anthropic | Protocol::OpenAiChat, Turn::Prompt(text, true)) => {
                messages.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
            }
            (_, Turn::Prompt(text, _)) => messages.push(json!({"role": "user", "content": text})),
            (_, Turn::Answer(text)) => messages.push(json!({"role": "assistant", "content": text})),
        }
    }
    messages
}

fn body(protocol: Protocol, messages: &[Value], has_system: bool) -> Value {
    let mut body = match protocol {
        Protocol::OpenAiResponses => json!({"model": "m", "input": messages, "stream": true}),
        Protocol::Gemini => json!({"contents": messages, "generationConfig": {"temperature": 0}}),
        _ => json!({"model": "m", "messages": messages, "stream": true}),
    };
    match protocol {
        _ if !has_system => {}
        Protocol::Anthropic => body["system"] = json!([{"type": "text", "text": "rules"}]),
        Protocol::OpenAiResponses => body["instructions"] = json!("rules"),
        Protocol::Gemini => body["systemInstruction"] = json!({"parts": [{"text": "rules"}]}),
        Protocol::OpenAiChat | Protocol::Ollama => {
            let list = body["messages"].as_array_mut().expect("a list");
            list.insert(0, json!({"role": "system", "content": "rules"}));
        }
    }
    body
}

fn written(body: &Value, style: Style) -> String {
    match style {
        Style::Compact => body.to_string(),
        Style::Pretty => serde_json::to_string_pretty(body).expect("JSON"),
        Style::Ascii => {
            let mut text = String::new();
            for letter in body.to_string().chars() {
                if letter.is_ascii() {
                    text.push(letter);
                } else {
                    letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
                }
            }
            text
        }
    }
}

/// Returns what the message must be after an addition, but for its digest.
fn grown(message: &Message, added: &str, is_string: bool) -> Vec<Part> {
    let mut parts = message.parts.clone();
    match parts.last_mut() {
        Some(Part::Text(text)) if is_string => text.push_str(&format!("\n\n{added}")),
        _ => parts.push(text(added)),
    }
    parts
}

/// Puts marks of the cache on the last blocks of the last two messages, as Claude Code does.
fn mark(messages: &mut [Value]) {
    for message in messages.iter_mut().rev().take(2) {
        let content = &mut message["content"];
        if let Some(text) = content.as_str() {
            *content = json!([{"type": "text", "text": text}]);
        }
        if let Some(block) = content.as_array_mut().and_then(|blocks| blocks.last_mut()) {
            block["cache_control"] = json!({"type": "ephemeral"});
        }
    }
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            kept.map(|(key, value)| (key.clone(), without_marks(value))).collect()
        }
        _ => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn an_addition_makes_one_message_longer_and_changes_no_other_byte(
        protocol in protocols(), turns in turns(), style in styles(), has_system: bool, added in "[a-z\"\\\\\n\u{1f600}]{0,9}x", pick: prop::sample::Index,
    ) {
        let turns = [turns, vec![Turn::Prompt("last".to_owned(), has_system)]].concat();
        let value = body(protocol, &messages(protocol, &turns), has_system);
        let body = written(&value, style);
        let before = read_request(protocol, "/models/m:generateContent", body.as_bytes()).expect("a request");
        let users: Vec<usize> = (0..before.messages.len()).filter(|index| before.messages[*index].role == Role::User).collect();
        let index = *pick.get(&users);
        let result = add(protocol, body.as_bytes(), &[to_message(index, &added)]).expect("a place");

        prop_assert!(inserted(body.as_bytes(), &result).is_some());
        prop_assert!(serde_json::from_slice::<Value>(&result).is_ok());

        let after = read_request(protocol, "/models/m:generateContent", &result).expect("a request");
        let message = &before.messages[index];
        let list = value.get("messages").or(value.get("input")).or(value.get("contents")).expect("messages");
        let is_string = list[index]["content"].is_string() && protocol != Protocol::Anthropic;
        prop_assert_eq!(&after.messages[index].parts, &grown(message, &added, is_string));
        prop_assert_ne!(after.messages[index].digest, message.digest);
        let mut restored = after.clone();
        restored.messages[index] = message.clone();
        prop_assert_eq!(restored, before);
    }

    #[test]
    fn a_system_text_is_made_longer_and_all_messages_of_the_client_stay(
        protocol in protocols(), turns in turns(), style in styles(), has_system: bool, added in "[a-z\"\\\\\n\u{1f600}]{0,9}x",
    ) {
        let body = written(&body(protocol, &messages(protocol, &turns), has_system), style);
        let before = read_request(protocol, "", body.as_bytes()).expect("a request");
        let result = add(protocol, body.as_bytes(), &[to_system(&added)]).expect("a place");
        prop_assert!(inserted(body.as_bytes(), &result).is_some());

        let after = read_request(protocol, "", &result).expect("a request");
        let expected = if has_system { format!("rules\n\n{added}") } else { added };
        prop_assert_eq!(after.system.as_ref(), Some(&expected));
        let of_client = |conversation: &Conversation| {
            conversation.messages.iter().filter(|message| message.role != Role::System).cloned().collect::<Vec<_>>()
        };
        prop_assert_eq!(of_client(&after), of_client(&before));
    }

    #[test]
    fn a_growing_conversation_with_its_additions_replayed_keeps_its_prefix(
        protocol in protocols(), turns in turns(), style in styles(),
    ) {
        let mut replayed: Vec<Addition> = vec![to_system("frozen")];
        let mut previous: Option<(Vec<Value>, Vec<Message>)> = None;
        for end in 1..=turns.len() {
            let mut list = messages(protocol, &turns[..end]);
            if protocol == Protocol::Anthropic {
                mark(&mut list);
            }
            let body = written(&body(protocol, &list, true), style);
            let found = read_request(protocol, "", body.as_bytes()).expect("a request");
            if found.messages.last().is_some_and(|message| message.role == Role::User) {
                replayed.push(to_message(found.messages.len() - 1, &format!("told at {end}")));
            }
            let result = add(protocol, body.as_bytes(), &replayed).expect("places");
            let sent: Value = serde_json::from_slice(&result).expect("JSON");
            let sent = sent.get("messages").or(sent.get("input")).or(sent.get("contents")).cloned().expect("messages");
            let texts_as_lists = |message: &Value| {
                let mut message = without_marks(message);
                if protocol == Protocol::Anthropic && let Some(text) = message["content"].as_str() {
                    message["content"] = json!([{"type": "text", "text": text}]);
                }
                message
            };
            let sent: Vec<Value> = sent.as_array().expect("a list").iter().map(texts_as_lists).collect();
            if let Some((sent_before, found_before)) = &previous {
                prop_assert!(sent.starts_with(sent_before));
                prop_assert!(found.messages.starts_with(found_before));
            }
            previous = Some((sent, found.messages));
        }
    }

    #[test]
    fn bytes_before_the_first_mark_of_a_request_come_again_in_the_next(turns in turns()) {
        let mut replayed = Vec::new();
        let mut previous: Option<String> = None;
        for end in 1..=turns.len() {
            // All content as lists, as Claude Code writes it.
            let mut list: Vec<Value> = messages(Protocol::Anthropic, &turns[..end]);
            for message in &mut list {
                if let Some(text) = message["content"].as_str() {
                    message["content"] = json!([{"type": "text", "text": text}]);
                }
            }
            mark(&mut list);
            if list.last().is_some_and(|message| message["role"] == "user") {
                replayed.push(to_message(list.len() - 1, &format!("told at {end}")));
            }
            let body = json!({"messages": list}).to_string();
            let result = String::from_utf8(add(Protocol::Anthropic, body.as_bytes(), &replayed).expect("places")).expect("UTF-8");
            let before_mark = result.split(r#","cache_control""#).next().unwrap_or_default().to_owned();
            prop_assert!(previous.is_none_or(|previous| result.starts_with(&previous)), "{result}");
            previous = Some(before_mark);
        }
    }
}
