//! Tests of reading answers, whole, streamed and broken off.

use serde_json::{Value, json};

use super::*;
use crate::wire::{error_body, read_answer};
use crate::{Answer, Usage};

const STREAM: &str = "text/event-stream; charset=utf-8";

impl Fixture {
    fn answer(&self) -> Answer {
        read_answer(self.protocol, STREAM, self.answer.as_bytes()).expect("an answer")
    }

    fn answer_to(&self, body: &str) -> Option<Answer> {
        read_answer(self.protocol, "application/json", body.as_bytes())
    }
}

#[test]
fn a_stream_of_anthropic_is_read() {
    let found = ANTHROPIC.answer();
    let expected = Answer {
        parts: vec![
            reasoning("Wait longer."),
            text("I raise the delay."),
            call(Some("toolu_01C"), "Edit", json!({"new": "250ms"})),
            call(Some("toolu_01D"), "Status", json!({})),
        ],
        model: Some("claude-sonnet-4-5-20250929".to_owned()),
        id: Some("msg_01".to_owned()),
        usage: Usage { input: 20_304, cached: 20_000, written: 300, output: 89 },
        is_whole: true,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_stream_of_chat_completions_is_read() {
    let found = CHAT.answer();
    let expected = Answer {
        parts: vec![
            reasoning("I search."),
            text("Port 8080."),
            call(Some("call_9"), "grep", json!({"a": 1})),
            call(Some("call_10"), "ls", json!({})),
        ],
        model: Some("gpt-4.1-2025-04-14".to_owned()),
        id: Some("chatcmpl-1".to_owned()),
        usage: Usage { input: 2_006, cached: 1_920, written: 40, output: 30 },
        is_whole: true,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_stream_of_responses_is_read() {
    let found = RESPONSES.answer();
    let expected = Answer {
        parts: vec![reasoning("**Sorting**"), text("I sort them."), call(Some("call_9"), "shell", json!({"command": ["sort"]}))],
        model: Some("gpt-5.1-codex".to_owned()),
        id: Some("resp_1".to_owned()),
        usage: Usage { input: 5_000, cached: 4_096, written: 0, output: 60 },
        is_whole: true,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_stream_of_gemini_is_read() {
    let found = GEMINI.answer();
    let expected = Answer {
        parts: vec![reasoning("I plan."), text("It says hello."), call(None, "ls", json!({"path": "."}))],
        model: Some("gemini-2.5-pro".to_owned()),
        id: Some("r1".to_owned()),
        usage: Usage { input: 900, cached: 512, written: 0, output: 29 },
        is_whole: true,
    };
    assert_eq!(found, expected);
}

#[test]
fn a_list_of_gemini_is_read_as_its_stream_is() {
    let frames: Vec<&str> = GEMINI.answer.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(GEMINI.answer_to(&format!("[{}]", frames.join("\n,\r\n"))), Some(GEMINI.answer()));
    let torn = GEMINI.answer_to(&format!("[{}", &frames.join(",")[..frames[0].len() + 40])).unwrap();
    assert_eq!(torn.parts, [reasoning("I plan.")]);
    assert!(!torn.is_whole);
    let wrapped: String = frames.iter().map(|frame| format!("data: {{\"response\": {frame}}}\n\n")).collect();
    assert_eq!(GEMINI.answer_to(&wrapped), Some(GEMINI.answer()));
}

#[test]
fn a_stream_of_ollama_is_read() {
    let found = OLLAMA.answer();
    let expected = Answer {
        parts: vec![reasoning("A cat."), text("It is black."), call(None, "look", json!({"at": "tail"}))],
        model: Some("qwen3:8b".to_owned()),
        id: None,
        usage: Usage { input: 120, cached: 0, written: 0, output: 14 },
        is_whole: true,
    };
    assert_eq!(found, expected);
}

#[test]
fn other_line_ends_change_nothing() {
    for fixture in ALL {
        let answer = fixture.answer.replace("\r\n", "\n");
        let found = |body: String| read_answer(fixture.protocol, STREAM, body.as_bytes());
        assert_eq!(found(answer.replace('\n', "\r\n")), Some(fixture.answer()));
        assert_eq!(found(answer.replace('\n', "\r")), Some(fixture.answer()));
    }
}

#[test]
fn a_stream_that_broke_off_is_read_up_to_there_and_is_not_whole() {
    for fixture in ALL {
        let whole = fixture.answer();
        let mut longest = 0;
        for end in 0..fixture.answer.trim_end().len() {
            let Some(found) = read_answer(fixture.protocol, STREAM, &fixture.answer.as_bytes()[..end]) else { continue };
            // OpenAI's finish reason comes before the count of tokens and the end mark.
            assert!(!found.is_whole || found.parts == whole.parts, "{:?} {end}", fixture.protocol);
            assert!(found.parts.len() >= longest, "{:?} {end}", fixture.protocol);
            longest = found.parts.len();
        }
        let half = &fixture.answer.as_bytes()[..fixture.answer.len() / 2];
        assert!(!read_answer(fixture.protocol, STREAM, half).unwrap().is_whole, "{:?}", fixture.protocol);
    }
}

#[test]
fn pieces_of_a_response_that_broke_off_are_read() {
    let end = RESPONSES.answer.find("event: response.completed").unwrap();
    let found = read_answer(Protocol::OpenAiResponses, STREAM, &RESPONSES.answer.as_bytes()[..end]).unwrap();
    assert_eq!(found.parts, RESPONSES.answer().parts);
    assert_eq!(found.id.as_deref(), Some("resp_1"));
    assert!(!found.is_whole);
    let end = RESPONSES.answer.find(r#""delta":"[\"sort"#).unwrap();
    let found = read_answer(Protocol::OpenAiResponses, STREAM, &RESPONSES.answer.as_bytes()[..end]).unwrap();
    assert_eq!(found.parts.last(), Some(&call(Some("call_9"), "shell", json!("{\"command\":"))));
}

#[test]
fn an_empty_output_of_a_completed_response_leaves_its_items() {
    let output = RESPONSES.answer.rfind(r#""output":["#).unwrap();
    let usage = RESPONSES.answer.rfind(r#","usage""#).unwrap();
    let body = format!("{}\"output\":[]{}", &RESPONSES.answer[..output], &RESPONSES.answer[usage..]);
    assert_eq!(RESPONSES.answer_to(&body), Some(RESPONSES.answer()));
}

#[test]
fn whole_answers_are_read() {
    let answers = [
        (
            ANTHROPIC,
            r#"{"id":"a","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}"#,
        ),
        (
            CHAT,
            r#"{"id":"a","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}}"#,
        ),
        (
            RESPONSES,
            r#"{"id":"a","object":"response","status":"completed","model":"m","error":null,"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":5,"output_tokens":1,"input_tokens_details":{"cached_tokens":2}}}"#,
        ),
        (
            GEMINI,
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"cachedContentTokenCount":2,"candidatesTokenCount":1},"modelVersion":"m","responseId":"a"}"#,
        ),
    ];
    for (fixture, body) in answers {
        let expected = Answer {
            parts: vec![text("hi")],
            model: Some("m".to_owned()),
            id: Some("a".to_owned()),
            usage: Usage { input: 5, cached: 2, written: 0, output: 1 },
            is_whole: true,
        };
        assert_eq!(fixture.answer_to(body), Some(expected.clone()), "{:?}", fixture.protocol);
        let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(body).unwrap()).unwrap();
        assert_eq!(fixture.answer_to(&pretty), Some(expected), "{:?}", fixture.protocol);
        assert_eq!(fixture.answer_to(&body[..body.len() - 1]), None, "{:?}", fixture.protocol);
    }
    let body = r#"{"model":"m","message":{"role":"assistant","content":"hi"},"done":true,"prompt_eval_count":5,"eval_count":1}"#;
    assert_eq!(OLLAMA.answer_to(body).unwrap().parts, [text("hi")]);
}

#[test]
fn calls_of_servers_that_number_them_otherwise_are_kept_apart() {
    let frame = |calls: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":{calls}}}}}]}}\n\n");
    let names = |body: String| {
        let parts = CHAT.answer_to(&body).unwrap().parts;
        parts
            .into_iter()
            .map(|part| if let Part::Call { name, input, .. } = part { format!("{name} {input}") } else { panic!() })
            .collect::<Vec<_>>()
    };
    let unnumbered =
        r#"[{"id":"1","function":{"name":"a","arguments":"{}"}},{"id":"2","function":{"name":"b","arguments":"{}"}}]"#;
    assert_eq!(names(frame(unnumbered)), ["a {}", "b {}"]);
    let all_first = [
        r#"[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]"#,
        r#"[{"index":0,"id":"2","function":{"name":"b","arguments":"["}}]"#,
        r#"[{"index":0,"function":{"arguments":"]"}}]"#,
    ];
    assert_eq!(names(all_first.iter().map(|calls| frame(calls)).collect()), ["a {}", "b []"]);
    let object = r#"[{"id":"1","function":{"name":"a","arguments":{"x":1}}}]"#;
    assert_eq!(names(frame(object)), ["a {\"x\":1}"]);
}

#[test]
fn errors_are_no_answers() {
    for fixture in ALL {
        for protocol in [Some(fixture.protocol), None] {
            assert_eq!(fixture.answer_to(&error_body(protocol, "no \"route\"")), None);
        }
        for body in
            ["", "{}", "[]", "null", "data: {}\n\n", "event: error\ndata: {\"type\":\"error\",\"error\":{}}\n\n", "Bad Gateway"]
        {
            assert_eq!(fixture.answer_to(body), None, "{:?} {body}", fixture.protocol);
        }
        assert_eq!(read_answer(fixture.protocol, "text/html", fixture.answer.as_bytes()), None);
    }
    assert_eq!(GEMINI.answer_to(r#"[{"error":{"code":429,"message":"quota"}}]"#), None);
    assert_eq!(RESPONSES.answer_to(r#"{"object":"response","status":"failed","error":{"code":"x"},"output":[]}"#), None);
}

#[test]
fn an_error_in_the_middle_keeps_what_came_before() {
    let ends = [
        (
            ANTHROPIC,
            "event: message_delta",
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
        ),
        (CHAT, "data: [DONE]", "data: {\"error\":{\"message\":\"x\"}}\n\ndata: [DONE]\n\n"),
        (RESPONSES, "event: response.completed", "event: error\ndata: {\"type\":\"error\",\"message\":\"x\"}\n\n"),
    ];
    for (fixture, end, error) in ends {
        let body = format!("{}{error}", &fixture.answer[..fixture.answer.find(end).unwrap()]);
        let found = fixture.answer_to(&body).unwrap();
        assert_eq!(found.parts, fixture.answer().parts);
        assert!(!found.is_whole, "{:?}", fixture.protocol);
    }
}

#[test]
fn an_error_of_the_proxy_has_the_form_of_each_protocol() {
    let pointers = [
        (Some(Protocol::Anthropic), "/error/message"),
        (Some(Protocol::OpenAiChat), "/error/message"),
        (Some(Protocol::OpenAiResponses), "/error/message"),
        (Some(Protocol::Gemini), "/error/message"),
        (Some(Protocol::Ollama), "/error"),
        (None, "/error/message"),
    ];
    for (protocol, pointer) in pointers {
        let body: Value = serde_json::from_str(&error_body(protocol, "a \"b\"\n")).unwrap();
        assert_eq!(body.pointer(pointer), Some(&json!("a \"b\"\n")));
    }
}
