//! Tests of bytes that no honest client or server sends, and of large ones.

use proptest::prelude::*;

use super::*;
use crate::wire::{add, protocol_of, read_answer, read_request};

/// Reads bytes in every way there is; the test is that it comes back.
fn read_all(body: &[u8]) {
    for fixture in ALL {
        let found = read_request(fixture.protocol, fixture.path, body);
        let count = found.map_or(1, |found| found.messages.len()).min(4);
        let additions: Vec<_> = (0..count).map(|index| to_message(index, "x")).chain([to_system("y")]).collect();
        for addition in &additions {
            if let Some(result) = add(fixture.protocol, body, std::slice::from_ref(addition)) {
                assert!(read_request(fixture.protocol, fixture.path, &result).is_some());
                assert!(result.len() > body.len());
            }
        }
        add(fixture.protocol, body, &additions);
        for content_type in ["text/event-stream", "application/json", ""] {
            read_answer(fixture.protocol, content_type, body);
        }
    }
}

/// Fragments of the protocols, so that random texts of them reach far into the readers.
fn fragments() -> impl Strategy<Value = String> {
    let fragments = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\ud800",
        "\\u0000",
        "null",
        "true",
        "1e999",
        "-0",
        " ",
        "\n",
        "\r",
        "data: ",
        "event: error\n",
        "\"messages\":",
        "\"role\":\"user\"",
        "\"content\":",
        "\"type\":\"text\"",
        "\"text\":",
        "\"input\":",
        "\"contents\":[",
        "\"parts\":",
        "\"system\":",
        "\"choices\":[{\"delta\":",
        "\"tool_calls\":[",
        "\"function\":{",
        "\"arguments\":",
        "\"index\":18446744073709551615",
        "\"candidates\":",
        "\"message\":",
        "\"done\":true",
        "\"usage\":",
        "\"a\"",
        "\u{feff}",
        "é",
        "[DONE]",
        "\"type\":\"content_block_delta\"",
    ]);
    proptest::collection::vec(fragments, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..300), path in ".{0,40}") {
        read_all(&body);
        protocol_of("POST", &path);
        for fixture in ALL {
            read_request(fixture.protocol, &path, fixture.request.as_bytes());
        }
    }

    #[test]
    fn any_fragments_never_panic(body in fragments()) {
        read_all(body.as_bytes());
    }

    #[test]
    fn requests_and_answers_with_broken_bytes_never_panic(
        which in 0..ALL.len(), is_request: bool, breaks in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), end: prop::sample::Index,
    ) {
        let fixture = &ALL[which];
        let mut body = if is_request { fixture.request } else { fixture.answer }.as_bytes().to_vec();
        for (at, byte) in breaks {
            let at = at.index(body.len());
            body[at] = byte;
        }
        read_all(&body);
        body.truncate(end.index(body.len()));
        read_all(&body);
    }

    #[test]
    fn values_of_wrong_types_never_panic(which in 0..ALL.len(), is_request: bool, at: prop::sample::Index, wrong in "null|true|-1|\"x\"|\\[\\]|\\{\\}|\\[\\[\\{\\}\\]\\]") {
        let fixture = &ALL[which];
        let body = if is_request { fixture.request } else { fixture.answer };
        let colons: Vec<usize> = body.match_indices("\":").map(|(at, _)| at + 2).collect();
        let at = *at.get(&colons);
        let raw: String = body[..at].to_owned() + &wrong + ",\"z\":" + &body[at..];
        read_all(raw.as_bytes());
    }
}

#[test]
fn bytes_that_are_no_text_are_no_request() {
    let body = b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}";
    assert!(read_request(Protocol::Anthropic, "", body).is_none());
    assert!(add(Protocol::Anthropic, body, &[to_message(0, "x")]).is_none());
}

#[test]
fn nesting_of_any_depth_never_overflows_the_stack() {
    for (open, close) in [("[", "]"), ("{\"content\":", "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        for (fixture, body) in [
            (ANTHROPIC, format!("{{\"messages\":{deep}}}")),
            (ANTHROPIC, format!("{{\"messages\":[{{\"role\":\"user\",\"content\":[{deep}]}}]}}")),
            (
                ANTHROPIC,
                format!("{{\"messages\":[{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"input\":{deep}}}]}}]}}"),
            ),
            (ANTHROPIC, format!("data: {{\"type\":\"message_start\",\"message\":{deep}}}\n\n")),
            (CHAT, format!("{{\"choices\":[{{\"delta\":{deep}}}]}}")),
            (CHAT, format!("{{\"messages\":[{{\"role\":\"tool\",\"content\":{deep}}}]}}")),
            (RESPONSES, format!("{{\"input\":[{deep}]}}")),
            (GEMINI, format!("{{\"contents\":[{{\"parts\":{deep}}}]}}")),
            (OLLAMA, deep.clone()),
        ] {
            for body in [body.as_bytes(), &body.as_bytes()[..body.len() / 2]] {
                read_request(fixture.protocol, fixture.path, body);
                add(fixture.protocol, body, &[to_message(0, "x"), to_system("y")]);
                read_answer(fixture.protocol, "", body);
            }
        }
    }
}

#[test]
fn a_body_of_20_megabytes_is_read_and_added_to() {
    let image = "iVBOR".repeat(4 << 20);
    let body = ANTHROPIC.request.replacen("iVBORw0KGgo=", &image, 1);
    assert!(body.len() > 20 << 20);
    let found = ANTHROPIC.read_of(body.as_bytes());
    let last = found.messages.len() - 1;
    let result = add(Protocol::Anthropic, body.as_bytes(), &[to_message(last, "x")]).unwrap();
    assert_eq!(ANTHROPIC.read_of(&result).messages[..last], found.messages[..last]);
}

#[test]
fn many_small_pieces_are_read_in_linear_time() {
    let calls: Vec<String> = (0..100_000).map(|index| format!("{{\"index\":{index}}}")).collect();
    let body = format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{}]}}}}]}}", calls.join(","));
    assert_eq!(read_answer(Protocol::OpenAiChat, "", body.as_bytes()).unwrap().parts.len(), 100_000);
    let messages = vec![r#"{"role":"user","content":"a"}"#; 100_000].join(",");
    let body = format!("{{\"messages\":[{messages}]}}");
    let additions: Vec<_> = (0..100_000).map(|index| to_message(index, "b")).collect();
    let result = add(Protocol::OpenAiChat, body.as_bytes(), &additions).unwrap();
    assert_eq!(result.len(), body.len() + 100_000 * r"\n\nb".len());
}
