//! Logs of DeepSeek Harness, made from descriptions and excerpts of real ones.

use serde_json::{Value, json};
use yore_core::episode::{Caveat, EpisodeKind};
use yore_testing::Memory;

use crate::told::{skipped, told, words_from_archive};

const FOLDER: &str = "sessions/--home-ada-canal--/s";

fn header(more: Value) -> Value {
    let mut header = json!({"type": "session", "version": 0, "id": "s", "createdAt": 1_772_359_200_000_i64, "cwd": "/home/ada/canal", "delegationDepth": 0});
    header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    header
}

fn event(seq: i64, kind: &str, data: Value) -> Value {
    json!({"type": kind, "seq": seq, "time": 1_772_359_200_000_i64 + seq * 1000, "data": data})
}

fn user(seq: i64, source: Value, text: &str) -> Value {
    event(seq, "user/message", json!({"id": format!("u{seq}"), "source": source, "content": [{"type": "text", "text": text}]}))
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn log() -> Vec<Value> {
    let assistant = |seq: i64, content: Value| {
        event(
            seq,
            "assistant/message",
            json!({"turn": 1, "message": {"id": format!("a{seq}"), "content": content, "source": {"kind": "model", "model": "harbour-2"}}, "usage": {"inputTokens": 3}, "stream": [{"chunk": "twice"}]}),
        )
    };
    let person = || json!({"kind": "user"});
    let mut shortened =
        event(12, "tool/result", json!({"message": {"toolCallId": "t1", "content": [{"type": "text", "text": "shortened"}]}}));
    shortened["surfaceOp"] = json!({"op": "replace", "startSeq": 7, "endSeq": 7});
    let mut summary = user(13, json!({"kind": "plugin"}), "So far: five locks");
    summary["surfaceOp"] = json!({"op": "replace", "startSeq": 0, "endSeq": 11});
    vec![
        header(json!({})),
        event(0, "permission/preset", json!({"preset": "workspace-write"})),
        user(1, person(), "How many locks?"),
        user(2, json!({"kind": "plugin"}), "The sandbox is the harbour."),
        event(3, "session/title", json!({"title": "How many locks?", "source": {"kind": "fallback"}})),
        event(4, "session/title", json!({"title": "Counting locks", "source": {"kind": "model"}})),
        assistant(
            5,
            json!([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "I look."}, {"type": "tool-call", "id": "t1", "name": "read", "arguments": "{\"file_path\":\"gate.rs\"}"}, {"type": "fog"}]),
        ),
        event(6, "tool/call", json!({"callId": "t1", "name": "read", "arguments": "{\"file_path\":\"gate.rs\"}"})),
        event(
            7,
            "tool/result",
            json!({"message": {"source": {"kind": "tool", "callId": "t1"}, "content": [{"type": "tool-result", "toolCallId": "t1", "content": [{"type": "text", "text": "five"}], "isError": false}]}}),
        ),
        event(8, "tool/call", json!({"callId": "t2", "name": "bash", "arguments": "{\"command\":\"tide\"}"})),
        event(
            9,
            "tool/result",
            json!({"message": {"source": {"kind": "tool", "callId": "t2"}, "content": []}, "error": {"code": "UNKNOWN_TOOL", "message": "no such tool"}}),
        ),
        event(10, "assistant/chunk", json!({"turn": 1, "chunk": {"type": "text-delta", "text": "There "}})),
        json!({"type": "text-chunks", "seq0": 11, "time0": 1_772_359_211_000_i64, "data": {"texts": ["are ", "fi"], "dt": [1]}}),
        event(11, "turn/end", json!({"turn": 1, "reason": {"kind": "error", "error": {"message": "overloaded"}}})),
        shortened,
        summary,
        user(14, Value::Null, "And bridges?"),
    ]
}

#[test]
fn events_become_turns_and_streamed_pieces_count_only_when_the_answer_was_interrupted() {
    let expected = [
        "human exact: How many locks?",
        "injected exact: The sandbox is the harbour.",
        "assistant exact: I look.> read / file_path: gate.rs",
        "tool_result exact: > five",
        "tool_call exact: > bash / command: tide",
        "tool_result! exact: > UNKNOWN_TOOL / no such tool",
        "assistant exact: There are fi",
        "system! exact: overloaded",
        "summary exact: So far: five locks",
        "human exact: And bridges? (author unknown)",
    ];
    for (name, is_packed) in [("session.jsonl", false), ("session.jsonl.zstd", true)] {
        let memory = Memory::new();
        let events = log();
        let frames: Vec<u8> = events.chunks(4).flat_map(|batch| zstd::encode_all(lines(batch).as_bytes(), 3).unwrap()).collect();
        memory.write(&format!("{FOLDER}/{name}"), if is_packed { frames } else { lines(&events).into_bytes() });
        let report = memory.read_as("deepseek", &memory.sources());
        assert_eq!(told(&memory, "s"), expected, "{name}");
        assert_eq!(skipped(&report), ["unknown-block fog 1"]);
        let turns = memory.turns("s");
        assert_eq!(turns[0].title.as_deref(), Some("Counting locks"));
        assert_eq!(turns[2].model.as_deref(), Some("harbour-2"));
        assert_eq!(turns[9].caveat, Some(Caveat::UnknownAuthor), "nothing says who wrote it");
        let before = memory.words();
        assert_eq!(words_from_archive(&memory), before);
    }
}

#[test]
fn inherited_events_older_generations_and_helpers_prompts_are_not_a_persons_words() {
    for (more, seeded) in [(json!({"seedLength": 2}), false), (json!({"isSeeded": true}), true)] {
        let memory = Memory::new();
        let person = || json!({"kind": "user"});
        let mut events = vec![header(more), user(0, person(), "Inherited"), user(1, person(), "Inherited too")];
        if seeded {
            events.push(event(2, "session/end-seed", json!({"inherited": true})));
        }
        events.push(user(3, person(), "My own"));
        memory.write(&format!("{FOLDER}/session.v3.jsonl"), lines(&events));
        memory.write(&format!("{FOLDER}/session.jsonl"), lines(&[header(json!({})), user(9, person(), "Before the migration")]));
        memory.read_as("deepseek", &memory.sources());
        assert_eq!(told(&memory, "s"), ["human exact: My own"]);
    }
    let memory = Memory::new();
    let child = header(json!({"id": "child", "origin": "subagent", "parentSession": "s", "delegationDepth": 1}));
    memory.write(&format!("{FOLDER}/session.jsonl"), lines(&[child, user(1, json!({"kind": "user"}), "Count the locks")]));
    memory.read_as("deepseek", &memory.sources());
    assert_eq!(told(&memory, "child"), ["injected exact: Count the locks"]);
    assert_eq!(memory.episodes()[0].kind, EpisodeKind::Subagent);
}

#[test]
fn torn_and_damaged_logs_keep_what_is_whole_and_count_the_rest() {
    let first = lines(&[header(json!({})), user(1, json!({"kind": "user"}), "How many locks?")]);
    let second = lines(&[user(2, json!({"kind": "user"}), "And bridges?")]);
    let pack = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let torn = [pack(&first), pack(&second)[..12].to_vec()].concat();
    let no_header = lines(&[user(1, json!({"kind": "user"}), "How many locks?")]).into_bytes();
    for (name, bytes, turns, skips) in [
        ("session.jsonl.zstd", torn, 1, vec!["cut-off compressed lines 1"]),
        (
            "session.jsonl.zstd",
            [pack(&first), b"\x28\xB5\x2F\xFDgarbage, garbage".to_vec()].concat(),
            1,
            vec!["damaged compressed lines 1"],
        ),
        (
            "session.jsonl",
            format!("{first}[1]\nnot json\n{second}{{\"type\":").into_bytes(),
            2,
            vec!["cut-off last line 1", "damaged line that is no JSON object 2"],
        ),
        ("session.jsonl", no_header, 0, vec!["no-conversation a log without the line that names its session 1"]),
    ] {
        let memory = Memory::new();
        memory.write(&format!("{FOLDER}/{name}"), bytes);
        let report = memory.read_as("deepseek", &memory.sources());
        assert_eq!((report.turns_added, skipped(&report)), (turns, skips.into_iter().map(str::to_owned).collect()), "{name}");
    }
}
