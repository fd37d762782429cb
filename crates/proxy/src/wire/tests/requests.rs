//! Tests of reading requests.

use serde_json::json;

use super::*;
use crate::Role;
use crate::wire::{protocol_of, read_request};

#[test]
fn requests_of_a_conversation_are_known_by_their_path() {
    let known = [
        ("/v1/messages", Protocol::Anthropic),
        ("/v1/messages?beta=true", Protocol::Anthropic),
        ("/api/anthropic/v1/messages", Protocol::Anthropic),
        ("/v1/chat/completions", Protocol::OpenAiChat),
        ("/chat/completions", Protocol::OpenAiChat),
        ("/openai/deployments/gpt/chat/completions?api-version=1", Protocol::OpenAiChat),
        ("/v1/responses", Protocol::OpenAiResponses),
        ("/backend-api/codex/responses", Protocol::OpenAiResponses),
        ("/v1beta/models/gemini-2.5-pro:generateContent?key=x", Protocol::Gemini),
        ("/v1beta/models/gemini-2.5-pro%3AstreamGenerateContent?alt=sse", Protocol::Gemini),
        ("/v1internal:streamGenerateContent", Protocol::Gemini),
        ("/api/chat", Protocol::Ollama),
    ];
    for (path, protocol) in known {
        assert_eq!(protocol_of("POST", path), Some(protocol), "{path}");
        assert_eq!(protocol_of("GET", path), None, "{path}");
    }
}

#[test]
fn other_requests_are_none_of_a_conversation() {
    let others = [
        "",
        "/",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/threads/t/messages",
        "/v1/responses/resp_1",
        "/v1/responses/input_tokens",
        "/v1/responses/compact",
        "/v1/completions",
        "/v1/embeddings?next=/v1/responses",
        "/v1beta/models/gemini-2.5-pro:countTokens",
        "/v1beta/models/m:batchGenerateContent",
        "/api/generate",
        "/api/chat/x",
    ];
    for path in others {
        assert_eq!(protocol_of("POST", path), None, "{path}");
    }
}

#[test]
fn a_request_of_claude_code_is_read() {
    let found = ANTHROPIC.read();
    assert_eq!(found.model.as_deref(), Some("claude-sonnet-4-5-20250929"));
    let system = "You are Claude Code, Anthropic's official CLI for Claude.\n\n# Environment\nWorking directory: /repo";
    assert_eq!(found.system.as_deref(), Some(system));
    assert_eq!(found.session.as_deref(), Some("7c9e6679-7425-40de-944b-e07fc1f90ae7"));
    let parts: Vec<_> = found.messages.iter().map(|message| message.parts.as_slice()).collect();
    assert_eq!(parts[0][1], text("Why does the \"retry\" test fail? C:\\tmp\\x \u{e9} \u{1f600}"));
    let read = call(Some("toolu_01A"), "Read", json!({"file_path": "/repo/tests/retry.rs", "limit": 200}));
    assert_eq!(parts[1], [reasoning("Look at the test first."), text("I read the test."), read]);
    assert_eq!(parts[2], [outcome(Some("toolu_01A"), None, "     1\tfn retries_twice() {", false)]);
    assert_eq!(parts[3][0], other("redacted_thinking"));
    assert_eq!(parts[4], [outcome(Some("toolu_01B"), None, "Exit code 101", true)]);
    assert_eq!(parts[5], [text("It waits too short.")]);
    let prompts: Vec<bool> = found.messages.iter().map(crate::Message::is_prompt).collect();
    assert_eq!(prompts, [true, false, false, false, false, false, true]);
}

#[test]
fn a_chat_is_read_with_its_calls_and_results() {
    let found = CHAT.read();
    assert_eq!(found.system.as_deref(), Some("Act as an expert software developer."));
    assert_eq!(found.session.as_deref(), Some("key-1"));
    let roles: Vec<Role> = found.messages.iter().map(|message| message.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(roles, [System, User, Assistant, User, Assistant, Tool, Tool, User]);
    assert_eq!(found.messages[3].parts, [text("Which port does the server use?"), other("image_url")]);
    let calls = [
        reasoning("I should search."),
        call(Some("call_1"), "grep", json!({"pattern": "PORT", "path": "."})),
        call(Some("call_2"), "shell", json!("ls -l")),
        call(Some("call_3"), "patch", json!("*** Begin Patch")),
    ];
    assert_eq!(found.messages[4].parts, calls);
    assert_eq!(found.messages[5].parts, [outcome(Some("call_1"), Some("grep"), "PORT = 8080", false)]);
    assert_eq!(found.messages[6].parts, [outcome(Some("call_2"), None, "a.py\nb.py", false)]);
}

#[test]
fn items_of_codex_are_one_message_each() {
    let found = RESPONSES.read();
    assert_eq!(found.messages.len(), 14);
    assert_eq!(found.system.as_deref(), Some("You are Codex, based on GPT-5.\n\n<permissions>read-only</permissions>"));
    assert_eq!(found.session.as_deref(), Some("019a2f6e-0000-7000-8000-000000000001"));
    let parts: Vec<_> = found.messages.iter().flat_map(|message| message.parts.clone()).skip(1).collect();
    let expected = [
        text("<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"),
        text("List the crates."),
        other("input_image"),
        reasoning("**Listing crates**"),
        other("reasoning"),
        call(Some("call_1"), "shell", json!({"command": ["ls", "crates"]})),
        outcome(Some("call_1"), None, "core\nengine", false),
        call(Some("call_2"), "apply_patch", json!("*** Begin Patch")),
        outcome(Some("call_2"), None, "Done", false),
        call(Some("call_3"), "local_shell", json!({"type": "exec", "command": ["pwd"]})),
        outcome(Some("call_3"), None, "/repo", false),
        other("web_search_call"),
        text("core and engine"),
        text("Thanks. Now sort them."),
    ];
    assert_eq!(parts, expected);
    assert_eq!(found.messages.iter().filter(|message| message.is_prompt()).count(), 3);
}

#[test]
fn responses_name_the_answer_and_the_conversation_that_they_continue() {
    let read = |body: &str| RESPONSES.read_of(body.as_bytes());
    let found = read(r#"{"input":"hi","previous_response_id":"resp_1","conversation":{"id":"conv_1"},"prompt_cache_key":"k"}"#);
    assert_eq!(found.previous.as_deref(), Some("resp_1"));
    assert_eq!(found.session.as_deref(), Some("conv_1"));
    assert_eq!(found.messages.len(), 1);
    assert!(found.messages[0].is_prompt());
    assert_eq!(read(r#"{"input":[],"conversation":"conv_2"}"#).session.as_deref(), Some("conv_2"));
    assert_eq!(read(r#"{"input":[],"metadata":{"session_id":"s"},"prompt_cache_key":"k"}"#).session.as_deref(), Some("s"));
}

#[test]
fn a_request_of_gemini_cli_is_read() {
    let found = GEMINI.read();
    assert_eq!(found.model.as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(found.system.as_deref(), Some("You are an interactive CLI agent."));
    let parts: Vec<_> = found.messages.iter().map(|message| message.parts.as_slice()).collect();
    assert_eq!(parts[1], [reasoning("I plan."), text("Got it.")]);
    assert_eq!(parts[2], [text("Read a.txt"), other("inlineData")]);
    assert_eq!(parts[3], [call(Some("read_file-1"), "read_file", json!({"path": "a.txt"}))]);
    let results =
        [outcome(Some("read_file-1"), Some("read_file"), "hello", false), outcome(None, Some("ls"), "no such folder", true)];
    assert_eq!(parts[4], results);
    let prompts: Vec<bool> = found.messages.iter().map(crate::Message::is_prompt).collect();
    assert_eq!(prompts, [true, false, true, false, false, true]);
}

#[test]
fn a_request_that_code_assist_wraps_is_read_and_added_to() {
    let body = format!(r#"{{"model":"gemini-2.5-flash","project":"p","request":{}}}"#, GEMINI.request.trim());
    let path = "/v1internal:streamGenerateContent";
    let found = read_request(Protocol::Gemini, path, body.as_bytes()).unwrap();
    assert_eq!(found.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(found.messages, GEMINI.read().messages);
    let added = crate::wire::add(Protocol::Gemini, body.as_bytes(), &[to_message(5, "more")]).unwrap();
    let found = read_request(Protocol::Gemini, path, &added).unwrap();
    assert_eq!(found.messages[5].parts, [text("And now?"), text("more")]);
    let bare = br#"{"model":"m","request":{"contents":[]}}"#;
    let added = crate::wire::add(Protocol::Gemini, bare, &[to_system("s")]).unwrap();
    let expected = r#"{"model":"m","request":{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[]}}"#;
    assert_eq!(String::from_utf8(added).unwrap(), expected);
}

#[test]
fn a_request_to_ollama_is_read() {
    let found = OLLAMA.read();
    assert_eq!(found.model.as_deref(), Some("qwen3:8b"));
    assert_eq!(found.system, None);
    let parts: Vec<_> = found.messages.iter().map(|message| message.parts.as_slice()).collect();
    assert_eq!(parts[0], [text("What is in the picture?"), other("image")]);
    assert_eq!(parts[1], [reasoning("I need a tool."), call(None, "look", json!({"at": "picture"}))]);
    assert_eq!(parts[2], [outcome(None, Some("look"), "a cat", false)]);
}

#[test]
fn a_session_in_json_is_read_and_other_ids_of_users_are_none() {
    let session = |user: &str| {
        let body = json!({"messages": [], "metadata": {"user_id": user}}).to_string();
        ANTHROPIC.read_of(body.as_bytes()).session
    };
    assert_eq!(session(r#"{"device_id":"d","account_uuid":"","session_id":"abc"}"#).as_deref(), Some("abc"));
    assert_eq!(session("user_1_account__session_abc").as_deref(), Some("abc"));
    assert_eq!(session("user-1"), None);
    assert_eq!(session("user_1_session_"), None);
}

#[test]
fn azure_names_the_model_in_the_path() {
    let path = "/openai/deployments/my-gpt/chat/completions?api-version=1";
    let found = read_request(Protocol::OpenAiChat, path, br#"{"messages":[]}"#).unwrap();
    assert_eq!(found.model.as_deref(), Some("my-gpt"));
}

#[test]
fn a_string_and_a_list_with_one_text_have_one_digest() {
    let forms = [
        (ANTHROPIC, r#"{"messages":[{"role":"user","content":"hi"},{"content":[{"text":"hi","type":"text"}],"role":"user"}]}"#),
        (CHAT, r#"{"messages":[{"role":"user","content":"hi"},{"content":[{"text":"hi","type":"text"}],"role":"user"}]}"#),
        (
            RESPONSES,
            r#"{"input":[{"role":"user","content":"hi"},{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
        ),
        (GEMINI, r#"{"contents":[{"parts":{"text":"hi"}},{"role":"user","parts":[{"text":"\u0068i"}]}]}"#),
    ];
    for (fixture, body) in forms {
        let found = fixture.read_of(body.as_bytes());
        assert_eq!(found.messages[0], found.messages[1], "{:?}", fixture.protocol);
    }
}

#[test]
fn marks_of_the_cache_change_no_digest() {
    let marked: Vec<_> = ANTHROPIC.read().messages;
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let bare = ANTHROPIC.request.replace(mark, "").replace(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#, "");
    assert!(!bare.contains("cache_control"));
    assert_eq!(ANTHROPIC.read_of(bare.as_bytes()).messages, marked);
    let image = r#""data":"iVBORw0KGgo="}"#;
    let elsewhere = bare.replace(image, &format!("{image}{mark}"));
    assert_eq!(ANTHROPIC.read_of(elsewhere.as_bytes()).messages, marked);
}

#[test]
fn each_part_counts_in_the_digest() {
    for fixture in ALL {
        let digests: Vec<_> = fixture.read().messages.iter().map(|message| message.digest).collect();
        for (from, to) in [("iVBORw0KGgo=", "iVBORw0KGgp="), ("a.txt", "b.txt"), ("toolu_01A", "toolu_01X"), ("call_1", "call_x")]
        {
            let changed = fixture.request.replace(from, to);
            let found = fixture.read_of(changed.as_bytes());
            let differ = found.messages.iter().zip(&digests).any(|(message, digest)| message.digest != *digest);
            assert_eq!(differ, fixture.request.contains(from), "{:?} {from}", fixture.protocol);
        }
    }
}

#[test]
fn the_last_of_repeated_keys_counts_and_unknown_fields_do_not() {
    let body = br#"{"x":{"messages":1},"messages":[],"messages":[{"role":"user","content":"a","content":"b","y":[]}]}"#;
    assert_eq!(ANTHROPIC.read_of(body).messages[0].parts, [text("b")]);
}

#[test]
fn a_message_of_an_unknown_role_is_no_prompt() {
    let found = CHAT.read_of(br#"{"messages":[{"role":"critic","content":"no"},{"content":"no"},{"role":7,"content":"no"}]}"#);
    assert!(found.messages.iter().all(|message| message.role == Role::Tool && !message.is_prompt()));
}
