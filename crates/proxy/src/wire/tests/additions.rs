//! Tests of adding texts to requests.

use serde_json::{Value, json};

use super::*;
use crate::wire::{add, read_request};

/// Adds to a body and returns it with the bytes that were put in, after checking that they are all that changed.
fn added(protocol: Protocol, body: &str, additions: &[Addition]) -> Option<(String, String)> {
    let result = String::from_utf8(add(protocol, body.as_bytes(), additions)?).expect("UTF-8");
    serde_json::from_str::<Value>(result.trim_start_matches('\u{feff}')).expect("JSON");
    let inserted = inserted(body.as_bytes(), result.as_bytes()).expect("the body");
    Some((result, String::from_utf8_lossy(&inserted).into_owned()))
}

fn result(protocol: Protocol, body: &str, additions: &[Addition]) -> Option<String> {
    added(protocol, body, additions).map(|(result, _)| result)
}

#[test]
fn each_client_is_added_to_at_its_last_prompt() {
    for fixture in ALL {
        let before = fixture.read();
        let index = before.messages.iter().rposition(crate::Message::is_prompt).unwrap();
        let (body, _) = added(fixture.protocol, fixture.request, &[to_message(index, "It is \"so\".\n\u{1f600}")]).unwrap();
        let after = fixture.read_of(body.as_bytes());
        assert_eq!(after.messages.len(), before.messages.len());
        for (at, (old, new)) in before.messages.iter().zip(&after.messages).enumerate() {
            assert_eq!(old == new, at != index, "{:?} {at}", fixture.protocol);
        }
        let Some(Part::Text(last)) = after.messages[index].parts.iter().rfind(|part| matches!(part, Part::Text(_))) else {
            panic!()
        };
        assert!(last.ends_with("It is \"so\".\n\u{1f600}"), "{:?}", fixture.protocol);
    }
}

#[test]
fn each_client_is_added_to_in_its_system_text() {
    for fixture in ALL {
        let before = fixture.read();
        let (body, _) = added(fixture.protocol, fixture.request, &[to_system("Remember.")]).unwrap();
        let after = fixture.read_of(body.as_bytes());
        let system = after.system.unwrap();
        match fixture.protocol {
            // Its developer message follows the instructions.
            Protocol::OpenAiResponses => assert!(system.contains("GPT-5.\n\nRemember.\n\n<permissions>")),
            _ => assert!(system.ends_with("Remember."), "{:?}", fixture.protocol),
        }
        let grown = after.messages.len() - before.messages.len();
        assert_eq!(grown, usize::from(fixture.protocol == Protocol::Ollama));
    }
}

#[test]
fn breakpoints_stay_where_they_are() {
    let index = ANTHROPIC.read().messages.len() - 1;
    let (body, inserted) = added(ANTHROPIC.protocol, ANTHROPIC.request, &[to_message(index, "more")]).unwrap();
    assert_eq!(inserted, r#",{"type":"text","text":"more"}"#);
    assert!(body.contains(r#""cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"more"}]}]"#));
}

#[test]
fn a_string_is_made_longer_after_an_empty_line() {
    for (old, new) in [
        (r#""a""#, r#""a\n\nb""#),
        (r#""a\\""#, r#""a\\\n\nb""#),
        (r#""a\"""#, r#""a\"\n\nb""#),
        (r#""\u005c""#, r#""\u005c\n\nb""#),
        (r#""\ud83d\ude00""#, r#""\ud83d\ude00\n\nb""#),
        (r#""""#, r#""b""#),
    ] {
        let body = |content: &str| format!(r#"{{"messages":[{{"role":"user","content":{content}}}]}}"#);
        assert_eq!(result(Protocol::OpenAiChat, &body(old), &[to_message(0, "b")]).unwrap(), body(new));
    }
}

#[test]
fn a_string_becomes_the_list_that_it_is_while_it_is_marked() {
    let body = r#"{"messages":[{"role":"user","content":"a"}]}"#;
    let expected = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#;
    assert_eq!(result(Protocol::Anthropic, body, &[to_message(0, "b")]).unwrap(), expected);
    assert_ne!(result(Protocol::OpenAiChat, body, &[to_message(0, "b")]).unwrap(), expected);
    let mark = |body: &str| body.replacen('{', r#"{"cache_control":{},"#, 1);
    assert_eq!(result(Protocol::OpenAiChat, &mark(body), &[to_message(0, "b")]).unwrap(), mark(expected));
    let told = |body: &str| body.replacen('{', r#"{"x":"the \"cache_control\" field","#, 1);
    assert_ne!(result(Protocol::OpenAiChat, &told(body), &[to_message(0, "b")]).unwrap(), told(expected));
    let body = r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{}}]},{"role":"user","content":"b"}]}"#;
    let result = result(Protocol::OpenAiResponses, body, &[to_message(1, "c")]).unwrap();
    assert!(result.ends_with(r#""content":[{"type":"input_text","text":"b"},{"type":"input_text","text":"c"}]}]}"#), "{result}");
}

#[test]
fn lists_get_a_last_block_of_their_protocol() {
    for (protocol, body, block) in [
        (Protocol::Anthropic, r#"{"messages":[{"role":"user","content":[ ]}]}"#, r#"{"type":"text","text":"b"}"#),
        (Protocol::OpenAiChat, r#"{"messages":[{"role":"user","content":[]}]}"#, r#"{"type":"text","text":"b"}"#),
        (Protocol::OpenAiResponses, r#"{"input":[{"role":"user","content":[]}]}"#, r#"{"type":"input_text","text":"b"}"#),
        (Protocol::Gemini, r#"{"contents":[{"parts":[]}]}"#, r#"{"text":"b"}"#),
    ] {
        let (_, inserted) = added(protocol, body, &[to_message(0, "b")]).unwrap();
        assert_eq!(inserted, block);
    }
}

#[test]
fn parts_of_gemini_without_a_list_are_made_longer() {
    let body = r#"{"contents":{"parts":{"text":"a"}},"system_instruction":{"parts":{"text":"s"}}}"#;
    let expected = r#"{"contents":{"parts":{"text":"a\n\nb"}},"system_instruction":{"parts":{"text":"s\n\nt"}}}"#;
    let result = add(Protocol::Gemini, body.as_bytes(), &[to_message(0, "b"), to_system("t")]).unwrap();
    assert_eq!(String::from_utf8(result).unwrap(), expected);
}

#[test]
fn a_missing_system_text_is_made_in_front() {
    for (protocol, body, expected) in [
        (Protocol::Anthropic, r#"{ "messages":[]}"#, r#"{"system":"s", "messages":[]}"#),
        (Protocol::OpenAiResponses, r#"{"input":"a"}"#, r#"{"instructions":"s","input":"a"}"#),
        (Protocol::Gemini, r#"{"contents":[]}"#, r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[]}"#),
        (
            Protocol::OpenAiChat,
            r#"{"messages":[{"role":"user","content":"a"}]}"#,
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#,
        ),
        (
            Protocol::Ollama,
            r#"{"messages":[{"role":"user","content":"a"}]}"#,
            r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#,
        ),
    ] {
        assert_eq!(result(protocol, body, &[to_system("s")]).unwrap(), expected);
    }
}

#[test]
fn the_system_text_of_a_chat_ends_before_its_first_other_message() {
    let body = r#"{"messages":[{"role":"developer","content":"a"},{"role":"system","content":[]},{"role":"user","content":"b"},{"role":"system","content":"c"}]}"#;
    let (body, inserted) = added(Protocol::OpenAiChat, body, &[to_system("s")]).unwrap();
    assert_eq!(inserted, r#"{"type":"text","text":"s"}"#);
    assert_eq!(CHAT.read_of(body.as_bytes()).system.unwrap(), "a\n\ns\n\nc");
}

#[test]
fn several_texts_keep_their_order() {
    let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[]}]}"#;
    let additions =
        [to_message(2, "1"), to_message(0, "2"), to_system("3"), to_message(2, "4"), to_message(0, "5"), to_system("6")];
    let result = add(Protocol::Anthropic, body.as_bytes(), &additions).unwrap();
    let expected = json!({
        "system": "3\n\n6",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "2"}, {"type": "text", "text": "5"}]},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "4"}]},
        ],
    });
    assert_eq!(serde_json::from_slice::<Value>(&result).unwrap(), expected);
}

#[test]
fn nothing_is_added_where_there_is_nothing_to_say() {
    for fixture in ALL {
        assert_eq!(add(fixture.protocol, fixture.request.as_bytes(), &[]).unwrap(), fixture.request.as_bytes());
        let blank = add(fixture.protocol, fixture.request.as_bytes(), &[to_message(0, " \n"), to_system("")]);
        assert_eq!(blank.is_some(), fixture.read().messages[0].role == crate::Role::User);
        assert!(blank.is_none_or(|body| body == fixture.request.as_bytes()));
    }
}

#[test]
fn only_messages_of_the_user_are_added_to() {
    for fixture in ALL {
        let messages = fixture.read().messages;
        for (index, message) in messages.iter().enumerate() {
            let has_place = add(fixture.protocol, fixture.request.as_bytes(), &[to_message(index, "b")]).is_some();
            assert_eq!(has_place, message.role == crate::Role::User, "{:?} {index}", fixture.protocol);
        }
        let beyond = [to_system("s"), to_message(messages.len(), "b")];
        assert!(add(fixture.protocol, fixture.request.as_bytes(), &beyond).is_none());
    }
}

#[test]
fn bodies_that_servers_may_read_differently_are_refused() {
    let refused = [
        (Protocol::Anthropic, r#"{"messages":[],"messages":[{"role":"user","content":"a"}]}"#),
        (Protocol::Anthropic, r#"{"messages":[{"role":"user","content":"a","content":"b"}]}"#),
        (Protocol::Anthropic, r#"{"messages":[{"role":"user","\u0072ole":"user","content":"a"}]}"#),
        (Protocol::Anthropic, r#"{"messages":[{"role":"user","content":null}]}"#),
        (Protocol::Anthropic, r#"{"messages":[{"role":"user"}]}"#),
        (Protocol::Anthropic, r#"{"messages":"a"}"#),
        (Protocol::OpenAiResponses, r#"{"input":["a"]}"#),
        (Protocol::Gemini, r#"{"contents":[{"parts":{"inlineData":{}}}]}"#),
        (Protocol::Ollama, r#"{"messages":[{"role":"user","content":["a"]}]}"#),
    ];
    for (protocol, body) in refused {
        assert!(add(protocol, body.as_bytes(), &[to_message(0, "b")]).is_none(), "{body}");
    }
    let refused = [
        (Protocol::Anthropic, r#"{"system":"a","system":"b","messages":[]}"#),
        (Protocol::Anthropic, r#"{"system":null,"messages":[]}"#),
        (Protocol::OpenAiResponses, r#"{"instructions":null,"input":"a"}"#),
        (Protocol::OpenAiResponses, r#"{"instructions":"s"}"#),
        (Protocol::OpenAiChat, r#"{"messages":[]}"#),
        (Protocol::OpenAiChat, r#"{"messages":{"role":"user","content":"a"}}"#),
        (Protocol::Ollama, r#"{"messages":[]}"#),
        (Protocol::Gemini, r#"{"systemInstruction":"a","system_instruction":"b","contents":[]}"#),
    ];
    for (protocol, body) in refused {
        assert!(add(protocol, body.as_bytes(), &[to_system("s")]).is_none(), "{body}");
    }
}

#[test]
fn a_byte_order_mark_and_space_around_a_body_stay() {
    let body = "\u{feff} \n{\"input\" : \"a\" }\n ";
    let (body, _) = added(Protocol::OpenAiResponses, body, &[to_message(0, "b")]).unwrap();
    assert_eq!(body, "\u{feff} \n{\"input\" : \"a\\n\\nb\" }\n ");
    assert_eq!(read_request(Protocol::OpenAiResponses, "", body.as_bytes()).unwrap().messages[0].parts, [text("a\n\nb")]);
}

#[test]
fn halves_of_surrogate_pairs_in_a_body_stay() {
    let body =
        r#"{"messages":[{"role":"user","content":"a\ud83d"},{"role":"user","content":[{"type":"text","text":"\ude00"}]}]}"#;
    let result = add(Protocol::Anthropic, body.as_bytes(), &[to_message(0, "b"), to_message(1, "c")]).unwrap();
    let expected = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a\ud83d"},{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"\ude00"},{"type":"text","text":"c"}]}]}"#;
    assert_eq!(String::from_utf8(result).unwrap(), expected);
}
