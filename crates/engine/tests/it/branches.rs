//! Nothing that was said is lost or replaced by a lesser copy, and nothing is learned from what a person took back, whatever the
//! agent and however its file is read.

use serde_json::{Value, json};
use yore_core::episode::{Caveat, Role};
use yore_core::memory::{Status, StatusCause};
use yore_engine::{ExtractRequest, MemoryList};
use yore_testing::{Memory, SessionBuilder};

use crate::told::{skipped, told};

const CHAT: &str = "tmp/tide/chats/session-2026-02-03T10-00-f1a2b3c4.jsonl";
const THREAD: &str = "019e7da4-83bc-7dc1-93d3-a435cb5c9100";

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn gemini(id: &str, kind: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-02-03T10:00:05.000Z", "type": kind, "content": text})
}

/// A log in which the client compresses its context, masks a result and goes back.
fn gemini_log() -> Vec<Value> {
    let call = |result: &str| {
        let mut message = gemini("g1", "gemini", "The upper hinge is rusty.");
        message["toolCalls"] = json!([{"id": "run-1", "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
            "result": [{"functionResponse": {"id": "run-1", "response": {"output": result}}}]}]);
        message
    };
    vec![
        json!({"sessionId": "s-1", "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z", "kind": "main"}),
        gemini("u1", "user", "Why does the lock gate stick?"),
        call("forty lines about the hinge of the gate"),
        gemini("u2", "user", "Paint it black."),
        gemini("g2", "gemini", "Painted black."),
        json!({"$rewindTo": "u2"}),
        gemini("u3", "user", "Grease it."),
        gemini("g3", "gemini", "Greased with tallow."),
        json!({"$set": {"messages": [gemini("u4", "user", "<state_snapshot>short</state_snapshot>"), call("[masked]"), gemini("g4", "gemini", "Understood.")]}}),
        gemini("u5", "user", "Now the other gate."),
    ]
}

#[test]
fn gemini_chat_gives_the_same_memory_whenever_its_file_is_read() {
    let log = gemini_log();
    let whole = Memory::new();
    whole.write(CHAT, lines(&log));
    whole.read_as("gemini", &whole.sources());
    let expected = told(&whole, "s-1");
    for said in ["The upper hinge is rusty.", "forty lines about the hinge", "Greased with tallow.", "Now the other gate."] {
        assert!(expected.iter().any(|line| line.contains(said) && !line.contains("(taken back)")), "{said}: {expected:?}");
    }
    for left in ["Paint it black.", "Painted black."] {
        assert!(expected.iter().any(|line| line.contains(left) && line.contains("(taken back)")), "{left}: {expected:?}");
    }
    assert!(!expected.iter().any(|line| line.contains("[masked]")), "{expected:?}");
    for split in 1..log.len() {
        let memory = Memory::new();
        for end in [split, split.midpoint(log.len()), log.len()] {
            memory.write(CHAT, lines(&log[..end]));
            memory.read_as("gemini", &memory.sources());
        }
        assert_eq!(told(&memory, "s-1"), expected, "read after {split} lines");
    }
}

fn rollout(turn: &str, prompt: &str, answer: &str) -> String {
    let line = |second: u32, kind: &str, payload: Value| {
        format!("{}\n", json!({"timestamp": format!("2026-06-01T10:00:{second:02}.000Z"), "type": kind, "payload": payload}))
    };
    [
        line(0, "session_meta", json!({"id": THREAD, "timestamp": "2026-06-01T10:00:00.000Z", "cwd": "/home/dev/tide"})),
        line(1, "event_msg", json!({"type": "user_message", "message": "Why does the gate stick?", "kind": "plain"})),
        line(
            2,
            "response_item",
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rust."}]}),
        ),
        line(3, "turn_context", json!({"turn_id": turn})),
        line(4, "event_msg", json!({"type": "user_message", "message": prompt, "kind": "plain"})),
        line(
            5,
            "response_item",
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]}),
        ),
    ]
    .concat()
}

#[test]
fn files_of_one_codex_thread_that_went_different_ways_keep_both_and_double_nothing() {
    let memory = Memory::new();
    let copy = format!("sessions/2026/06/01/rollout-2026-06-01T10-00-00-{THREAD}.sync-conflict.jsonl");
    memory.write(
        &format!("sessions/2026/06/01/rollout-2026-06-01T10-00-00-{THREAD}.jsonl"),
        rollout("t2", "Grease it.", "Greased with tallow."),
    );
    memory.write(&copy, rollout("t3", "Replace it by brass.", "Ordered a hinge of brass."));
    memory.read_as("codex", &memory.sources());
    let spoken = || memory.turns(THREAD).into_iter().map(|turn| turn.text).collect::<Vec<_>>();
    let mut texts = spoken();
    texts.sort();
    let expected = [
        "Grease it.",
        "Greased with tallow.",
        "Ordered a hinge of brass.",
        "Replace it by brass.",
        "Rust.",
        "Why does the gate stick?",
    ];
    assert_eq!(texts, expected);
    // The copy grows and is read again, and then everything is read again from the archive.
    memory.append(&copy, b"\n");
    memory.read_as("codex", &memory.sources());
    assert_eq!(spoken().len(), expected.len());
    let before = memory.words();
    assert_eq!(crate::told::words_from_archive(&memory), before);
}

#[test]
fn codex_prompts_that_were_rolled_back_are_marked_with_all_that_followed() {
    let text = rollout("t2", "Paint it black.", "Painted.")
        + &format!(
            "{}\n",
            json!({"timestamp": "2026-06-01T10:00:06.000Z", "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}})
        )
        + &format!(
            "{}\n",
            json!({"timestamp": "2026-06-01T10:00:07.000Z", "type": "event_msg", "payload": {"type": "user_message", "message": "Grease it.", "kind": "plain"}})
        );
    let name = format!("sessions/rollout-2026-06-01T10-00-00-{THREAD}.jsonl");
    let (whole, steps) = (Memory::new(), Memory::new());
    whole.write(&name, &text);
    whole.read_as("codex", &whole.sources());
    for line in text.split_inclusive('\n') {
        steps.append(&name, line.as_bytes());
        steps.read_as("codex", &steps.sources());
    }
    for memory in [whole, steps] {
        let left: Vec<String> =
            memory.turns(THREAD).into_iter().filter(|turn| turn.caveat.is_some()).map(|turn| turn.text).collect();
        assert_eq!(left, ["Paint it black.", "Painted."]);
    }
}

/// A session in which the person goes back behind an order, with parallel tools before it.
fn rewound() -> SessionBuilder {
    let mut session = SessionBuilder::new(51).cwd("/home/dev/harbour");
    session.human("Where should the tide cache live?");
    session.tool("Bash", &json!({"command": "ls"}), "cache.rs", false);
    let fork = session.assistant("In Redis or in SQLite.");
    session.human("From now on always start redis-server before the tests.");
    session.assistant("Understood.");
    session.rewind_to(&fork);
    session.human("From now on always run `make lint` before you push.");
    session.assistant("Understood, too.");
    session
}

#[test]
fn what_led_to_an_approved_plan_was_not_left() {
    for (prompt, left) in [
        ("Implement the following plan:\n\n# Move the tide cache to SQLite", vec![]),
        ("Where should the lamp cache live?", vec!["Where should the tide cache live?", "In SQLite. Here is the plan."]),
    ] {
        let mut session = SessionBuilder::new(53).cwd("/home/dev/harbour");
        session.human("Where should the tide cache live?");
        session.assistant("In SQLite. Here is the plan.");
        let begun = session.human(prompt);
        session.assistant("The cache is in SQLite.");
        session.human("Run the tests of the cache.");
        session.assistant("They pass.");
        // The prompt begins in an empty context.
        let lines = session.lines().iter().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line["uuid"] == begun.as_str() {
                line["parentUuid"] = serde_json::Value::Null;
            }
            format!("{line}\n")
        });
        let memory = Memory::new();
        memory.write("projects/p/a.jsonl", lines.collect::<String>());
        memory.learn();
        let turns = memory.turns(session.id());
        let marked: Vec<&str> =
            turns.iter().filter(|turn| turn.caveat == Some(Caveat::TakenBack)).map(|turn| turn.text.as_str()).collect();
        assert_eq!(marked, left, "{prompt}");
    }
}

fn statements(memory: &Memory) -> Vec<(String, Status)> {
    let mut all = memory.engine().memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap();
    all.sort_by_key(|known| known.memory.valid_from);
    all.into_iter().map(|known| (known.memory.statement, known.memory.status)).collect()
}

fn extract(memory: &Memory) {
    memory.engine().extract(&ExtractRequest::default(), &mut |_, _| true).unwrap();
}

#[test]
fn branch_that_the_person_left_is_kept_marked_and_not_learned_from_however_the_file_is_read() {
    let session = rewound();
    let text = session.text();
    let (whole, steps) = (Memory::new(), Memory::new());
    whole.write("projects/p/a.jsonl", &text);
    whole.learn();
    for line in text.split_inclusive('\n') {
        steps.append("projects/p/a.jsonl", line.as_bytes());
        steps.learn();
    }
    for memory in [&whole, &steps] {
        let left: Vec<String> = memory
            .turns(session.id())
            .into_iter()
            .filter(|turn| turn.caveat == Some(Caveat::TakenBack))
            .map(|turn| turn.text)
            .collect();
        assert_eq!(left, ["From now on always start redis-server before the tests.", "Understood."]);
        extract(memory);
        assert_eq!(statements(memory), [("From now on always run `make lint` before you push.".to_owned(), Status::Holds)]);
    }
    assert_eq!(steps.words(), whole.words());
    let before = whole.words();
    assert_eq!(crate::told::words_from_archive(&whole), before);
}

const LEFT: &str = "From now on always start redis-server before the tests.";
const HELD: &str = "From now on always run `make lint` before you push.";

/// A minute of the third of February.
fn at(minute: u32) -> String {
    format!("2026-02-03T10:{minute:02}:00.000Z")
}

/// Agents with a way back, each with the path of a file and its lines: the person goes back behind an order and gives another.
fn ways_back() -> Vec<(&'static str, String, Vec<Value>)> {
    let gemini = |id: &str, kind: &str, text: &str| gemini(id, kind, text);
    let codex = |minute: u32, kind: &str, payload: Value| json!({"timestamp": at(minute), "type": kind, "payload": payload});
    let typed =
        |minute, text: &str| codex(minute, "event_msg", json!({"type": "user_message", "message": text, "kind": "plain"}));
    let said = |minute, text: &str| {
        let content = json!([{"type": "output_text", "text": text}]);
        codex(minute, "response_item", json!({"type": "message", "role": "assistant", "content": content}))
    };
    let qwen = |id: u32, parent: u32, kind: &str, more: Value| {
        let uuid = |id: u32| format!("b0000000-0000-4000-8000-{id:012}");
        let mut line = json!({"uuid": uuid(id), "parentUuid": if parent == 0 { Value::Null } else { uuid(parent).into() }, "sessionId": "q-1",
            "timestamp": at(id), "type": kind, "cwd": "/home/dev/tide", "version": "0.24.4"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let words = |text: &str| json!({"message": {"role": "user", "parts": [{"text": text}]}});
    let pi = |id: u32, parent: u32, role: &str, text: &str| {
        json!({"type": "message", "id": format!("e{id}"), "parentId": if parent == 0 { Value::Null } else { format!("e{parent}").into() },
            "timestamp": at(id), "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    };
    let pi = vec![
        json!({"type": "session", "version": 3, "id": "p-1", "timestamp": at(0), "cwd": "/home/dev/tide"}),
        pi(1, 0, "user", "Where should the tide cache live?"),
        pi(2, 1, "assistant", "In Redis or in SQLite."),
        pi(3, 2, "user", LEFT),
        pi(4, 3, "assistant", "Understood."),
        pi(5, 2, "user", HELD),
        pi(6, 5, "assistant", "Understood, too."),
    ];
    let kimi = |role: &str, text: &str| {
        json!({"type": "context.append_message", "time": 1_772_359_200_000_i64, "message": {"role": role, "content": [{"type": "text", "text": text}],
            "toolCalls": [], "origin": if role == "user" { json!({"kind": "user"}) } else { Value::Null }}})
    };
    let asked = |id: &str, minute: i64, prompt: &str, answer: &str| {
        json!({"requestId": id, "timestamp": 1_772_000_000_000_i64 + minute * 60_000, "message": {"text": prompt},
            "variableData": {"variables": []}, "response": [{"value": answer}]})
    };
    vec![
        (
            "gemini",
            CHAT.to_owned(),
            vec![
                json!({"sessionId": "s-1", "projectHash": "00", "startTime": at(0), "kind": "main"}),
                gemini("u1", "user", "Where should the tide cache live?"),
                gemini("g1", "gemini", "In Redis or in SQLite."),
                gemini("u2", "user", LEFT),
                gemini("g2", "gemini", "Understood."),
                json!({"$rewindTo": "u2"}),
                gemini("u3", "user", HELD),
                gemini("g3", "gemini", "Understood, too."),
            ],
        ),
        (
            "codex",
            format!("sessions/2026/02/03/rollout-2026-02-03T10-00-00-{THREAD}.jsonl"),
            vec![
                codex(0, "session_meta", json!({"id": THREAD, "timestamp": at(0), "cwd": "/home/dev/tide"})),
                typed(1, "Where should the tide cache live?"),
                said(2, "In Redis or in SQLite."),
                typed(3, LEFT),
                said(4, "Understood."),
                codex(5, "event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
                typed(6, HELD),
                said(7, "Understood, too."),
            ],
        ),
        (
            "qwen",
            "projects/p/chats/q-1.jsonl".to_owned(),
            vec![
                qwen(1, 0, "user", words("Where should the tide cache live?")),
                qwen(2, 1, "assistant", words("In Redis or in SQLite.")),
                qwen(3, 2, "system", json!({"subtype": "ui_telemetry"})),
                qwen(4, 3, "user", words(LEFT)),
                qwen(5, 4, "assistant", words("Understood.")),
                qwen(6, 3, "system", json!({"subtype": "rewind", "systemPayload": {"truncatedCount": 2}})),
                qwen(
                    7,
                    6,
                    "system",
                    json!({"subtype": "custom_title", "systemPayload": {"customTitle": "Caches", "titleSource": "auto"}}),
                ),
                qwen(8, 7, "user", words(HELD)),
                qwen(9, 8, "assistant", words("Understood, too.")),
            ],
        ),
        (
            "copilot-chat",
            "workspaceStorage/abc/chatSessions/c-1.jsonl".to_owned(),
            vec![
                json!({"kind": 0, "v": {"version": 3, "sessionId": "c-1", "creationDate": 1_772_000_000_000_i64, "requests": [
                    asked("r1", 1, "Where should the tide cache live?", "In Redis or in SQLite.")]}}),
                json!({"kind": 2, "k": ["requests"], "v": [asked("r2", 2, LEFT, "Understood.")]}),
                json!({"kind": 2, "k": ["requests"], "i": 1, "v": [asked("r3", 3, HELD, "Understood, too.")]}),
            ],
        ),
        ("pi", "agent/sessions/--tide--/2026-02-03T10-00-00-000Z_p-1.jsonl".to_owned(), pi.clone()),
        ("omp", "agent/sessions/-tide/2026-02-03T10-00-00-000Z_p-1.jsonl".to_owned(), pi.clone()),
        ("openclaw", "agents/main/sessions/p-1.jsonl".to_owned(), pi),
        (
            "kimi",
            "sessions/wd/k-1/agents/main/wire.jsonl".to_owned(),
            vec![
                json!({"type": "config.update", "cwd": "/home/dev/tide", "modelAlias": "tide-4", "time": 1_772_359_200_000_i64}),
                kimi("user", "Where should the tide cache live?"),
                kimi("assistant", "In Redis or in SQLite."),
                kimi("user", LEFT),
                kimi("assistant", "Understood."),
                json!({"type": "context.undo", "count": 1, "time": 1_772_359_200_000_i64}),
                kimi("user", HELD),
                kimi("assistant", "Understood, too."),
            ],
        ),
    ]
}

#[test]
fn order_that_a_person_took_back_is_kept_marked_and_not_learned_from_whatever_the_agent() {
    for (source, path, log) in ways_back() {
        let (whole, steps) = (Memory::new(), Memory::new());
        whole.write(&path, lines(&log));
        whole.read_as(source, &whole.sources());
        for line in lines(&log).split_inclusive('\n') {
            steps.append(&path, line.as_bytes());
            steps.read_as(source, &steps.sources());
        }
        for memory in [&whole, &steps] {
            memory.index();
            extract(memory);
            let turns: Vec<_> = memory.episodes().iter().flat_map(|episode| memory.turns(&episode.native_id)).collect();
            let left: Vec<&str> =
                turns.iter().filter(|turn| turn.caveat == Some(Caveat::TakenBack)).map(|turn| turn.text.as_str()).collect();
            assert_eq!(left, [LEFT, "Understood."], "{source}: {turns:?}");
            let known: Vec<String> =
                statements(memory).into_iter().filter(|(_, status)| *status == Status::Holds).map(|(words, _)| words).collect();
            assert_eq!(known, [HELD], "{source}");
        }
        let before = whole.words();
        assert_eq!(steps.words(), before, "{source}");
        assert_eq!(crate::told::words_from_archive(&whole), before, "{source}");
    }
}

#[test]
fn memory_of_an_order_is_put_away_when_the_order_is_taken_back_later() {
    let session = rewound();
    let memory = Memory::new();
    let cut = session.lines().iter().position(|line| line.contains("make lint")).unwrap();
    memory.write("projects/p/a.jsonl", session.lines()[..cut].join("\n") + "\n");
    memory.learn();
    extract(&memory);
    let order = "From now on always start redis-server before the tests.";
    assert_eq!(statements(&memory), [(order.to_owned(), Status::Holds)]);
    memory.write("projects/p/a.jsonl", session.text());
    memory.learn();
    extract(&memory);
    assert!(statements(&memory).contains(&(order.to_owned(), Status::Archived)), "{:?}", statements(&memory));
    let log = memory.engine().memories(&MemoryList { limit: 100, ..MemoryList::default() }).unwrap();
    let cause = log.into_iter().find(|known| known.memory.statement == order).unwrap().memory.cause;
    assert_eq!(cause, Some(StatusCause::TakenBack));
    // Going on in the old branch lets it hold again.
    let mut back = session;
    let last = back.lines()[cut - 1].clone();
    let last: Value = serde_json::from_str(&last).unwrap();
    back.rewind_to(last["uuid"].as_str().unwrap());
    back.human("Stop. Why is the lock gate slow?");
    memory.write("projects/p/a.jsonl", back.text());
    memory.learn();
    let left: Vec<String> =
        memory.turns(back.id()).into_iter().filter(|turn| turn.caveat.is_some()).map(|turn| turn.text).collect();
    assert_eq!(left, ["From now on always run `make lint` before you push.", "Understood, too."]);
}

#[test]
fn shorter_copy_of_a_message_replaces_no_words_and_a_longer_one_does() {
    let answer = |text: &str| {
        lines(&[
            json!({"sessionId": "s-1", "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z"}),
            gemini("g1", "gemini", text),
        ])
    };
    let memory = Memory::new();
    for (text, expected) in [
        ("The hinge is rusty and the pin is bent.", "The hinge is rusty and the pin is bent."),
        ("[removed]", "The hinge is rusty and the pin is bent."),
        ("The hinge is rusty and the pin is bent. Replace both.", "The hinge is rusty and the pin is bent. Replace both."),
    ] {
        memory.write(CHAT, answer(text));
        memory.read_as("gemini", &memory.sources());
        assert_eq!(memory.turns("s-1")[0].text, expected);
    }
}

#[test]
fn output_that_a_client_keeps_beside_its_transcript_is_read_with_its_call_and_errors() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(52).cwd("/home/dev/harbour");
    session.human("Run the tests.");
    let folder = format!("projects/p/{}/tool-results", session.id());
    let output = format!("{}error[E0499]: cannot borrow `sluicegate` as mutable\n", "test ok\n".repeat(3000));
    memory.write(&format!("{folder}/b77.txt"), output);
    session.tool(
        "Bash",
        &json!({"command": "cargo test"}),
        &format!("Output too large. Full output saved to: /x/{folder}/b77.txt"),
        false,
    );
    session.assistant("One test fails.");
    memory.write(&format!("projects/p/{}.jsonl", session.id()), session.text());
    #[cfg(unix)]
    {
        memory.write("secret.txt", "error: the words of another file");
        std::os::unix::fs::symlink(memory.sources().join("secret.txt"), memory.sources().join(&folder).join("link.txt")).unwrap();
    }
    memory.learn();
    let turns = memory.turns(session.id());
    let read = turns.iter().find(|turn| turn.tool_text.contains("sluicegate")).unwrap();
    assert_eq!(read.role, Role::ToolResult);
    assert!(turns.iter().position(|turn| turn.id == read.id) < turns.iter().position(|turn| turn.text == "One test fails."));
    let found = memory.ask_with("cannot borrow sluicegate", |request| request.filter.only_errors = true);
    assert_eq!(found.hits[0].id().turn(), Some(read.id));
    assert!(!memory.words().contains("another file"));
    let archive: String = memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect();
    assert!(archive.contains("sluicegate"), "it stays when the client deletes it");
}

/// The files of a conversation with a result, by their paths.
type WithResult = fn(&str) -> Vec<(&'static str, String)>;

#[test]
fn result_that_refers_to_a_file_of_the_agents_own_folder_has_the_text_of_that_file_alone() {
    let gemini: WithResult = |output| {
        let mut message = gemini("g1", "gemini", "I build.");
        message["toolCalls"] = json!([{"id": "run-1", "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
            "result": [{"functionResponse": {"id": "run-1", "response": {"output": output}}}]}]);
        let header = json!({"sessionId": "s-1", "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z"});
        vec![(CHAT, lines(&[header, message]))]
    };
    let kimi: WithResult = |output| {
        let event = |event: Value| json!({"type": "context.append_loop_event", "event": event, "time": 1_772_359_200_000_i64});
        let log = [
            event(json!({"type": "step.begin", "uuid": "step-1"})),
            event(json!({"type": "content.part", "part": {"type": "text", "text": "I build."}})),
            event(json!({"type": "tool.call", "toolCallId": "t1", "name": "Bash", "args": {"command": "make"}})),
            event(json!({"type": "tool.result", "toolCallId": "t1", "result": {"output": output, "truncated": true}})),
        ];
        vec![("sessions/wd/s-1/agents/main/wire.jsonl", lines(&log))]
    };
    let opencode: WithResult = |output| {
        let time = json!({"created": 1_772_000_000_000_i64, "updated": 1_772_000_000_000_i64});
        let part = json!({"id": "prt_1", "sessionID": "s-1", "messageID": "msg_1", "type": "tool", "tool": "bash", "callID": "t1",
            "state": {"status": "completed", "input": {"command": "make"}, "output": output}});
        vec![
            (
                "storage/session/p/s-1.json",
                json!({"id": "s-1", "projectID": "p", "directory": "/home/dev/tide", "time": time}).to_string(),
            ),
            (
                "storage/message/s-1/msg_1.json",
                json!({"id": "msg_1", "sessionID": "s-1", "role": "assistant", "time": time}).to_string(),
            ),
            ("storage/part/msg_1/prt_1.json", part.to_string()),
        ]
    };
    for (source, files, folder) in [
        ("gemini", gemini, "tmp/tide/tool-outputs"),
        ("kimi", kimi, "sessions/wd/s-1/agents/main/tool-results"),
        ("opencode", opencode, "tool-output"),
    ] {
        for (path, is_read) in [
            (format!("/home/ada/.agent/{folder}/session-s-1/run_1.txt"), true),
            (format!("/home/ada/.agent/{folder}/../../../elsewhere.txt"), false),
            ("/etc/elsewhere.txt".to_owned(), false),
        ] {
            let memory = Memory::new();
            let whole = format!("{}\nthe sluice is stuck", "line\n".repeat(400));
            memory.write(&format!("{folder}/session-s-1/run_1.txt"), &whole);
            memory.write("elsewhere.txt", &whole);
            for (name, content) in files(&format!("Output too large. Full output saved to: {path}")) {
                memory.write(name, content);
            }
            memory.read_as(source, &memory.sources());
            let turns = memory.turns("s-1");
            assert!(!turns.is_empty(), "{source}");
            assert_eq!(turns.iter().any(|turn| turn.tool_text.contains("the sluice is stuck")), is_read, "{source} {path}");
        }
    }
}

#[cfg(unix)]
#[test]
fn histories_behind_links_are_read_once_by_every_source() {
    use std::os::unix::fs::symlink;
    let mut session = SessionBuilder::new(53);
    session.human("Where is the lock gate?");
    for (source, place, content) in [
        ("claude-code", "projects/p/a.jsonl", session.text()),
        ("codex", "sessions/2026/06/01/rollout-2026-06-01T10-00-00-x.jsonl", rollout("t", "Grease it.", "Done.")),
        ("gemini", CHAT, lines(&gemini_log())),
        (
            "aider",
            "work/.aider.chat.history.md",
            "# aider chat started at 2026-02-03 10:00:00\n\n#### Where is the lock gate?\n\nThere.\n".to_owned(),
        ),
        (
            "cursor",
            "projects/p/agent-transcripts/1.txt",
            "user:\n<user_query>\nWhere is the lock gate?\n</user_query>\n\nassistant:\nThere.\n".to_owned(),
        ),
    ] {
        let memory = Memory::new();
        let (first, rest) = place.split_once('/').unwrap();
        memory.write(&format!("elsewhere/{rest}"), &content);
        let root = memory.sources().join("home").join(first);
        std::fs::create_dir_all(&root).unwrap();
        // Every entry of the folder is a link, twice, and one leads back.
        for entry in std::fs::read_dir(memory.sources().join("elsewhere")).unwrap().flatten() {
            symlink(entry.path(), root.join(entry.file_name())).unwrap();
        }
        symlink(memory.sources().join("home"), root.join("back")).unwrap();
        let report = memory.read_as(source, &memory.sources().join("home"));
        assert!(report.turns_added > 0, "{source}");
        assert_eq!(report.files, 1, "{source}");
    }
}

#[test]
fn results_from_the_server_recaps_and_letters_are_read_and_records_without_words_are_not_named() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(54);
    session.human("Why does the gate stick?");
    let id = session.id().to_owned();
    let answer = |number: u32, content: Value| {
        json!({"type": "assistant", "sessionId": id, "uuid": format!("c0000000-0000-4000-8000-00000000000{number}"), "timestamp": "2026-03-02T10:00:00.000Z",
            "message": {"id": format!("msg_{number}"), "role": "assistant", "model": "m", "content": [content]}})
    };
    for line in [
        answer(1, json!({"type": "mcp_tool_use", "id": "m1", "name": "find", "server_name": "wiki", "input": {"q": "hinges"}})),
        answer(
            2,
            json!({"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": false, "content": [{"type": "text", "text": "rust in the wiki"}]}),
        ),
        answer(
            3,
            json!({"type": "bash_code_execution_tool_result", "tool_use_id": "s1",
            "content": {"type": "bash_code_execution_result", "stdout": "", "stderr": "no such gauge", "return_code": 1}}),
        ),
        json!({"type": "system", "subtype": "away_summary", "content": "The hinge was found to be rusty.", "sessionId": id,
            "uuid": "c0000000-0000-4000-8000-000000000004", "timestamp": "2026-03-02T10:00:00.000Z"}),
        json!({"type": "attachment", "sessionId": id, "uuid": "c0000000-0000-4000-8000-000000000005", "timestamp": "2026-03-02T10:00:00.000Z",
            "attachment": {"type": "teammate_mailbox", "messages": [{"from": "reviewer", "text": "The pin is bent."}]}}),
        json!({"type": "brand-new-latch", "sessionId": id, "value": true}),
        json!({"type": "brand-new-letter", "sessionId": id, "text": "words that nobody reads yet"}),
        json!({"type": "attachment", "sessionId": id, "attachment": {"type": "brand_new_flag"}}),
    ] {
        session.raw(&line);
    }
    memory.write("projects/p/a.jsonl", session.text());
    let report = memory.learn();
    let told = told(&memory, &id);
    for (role, words) in [
        ("tool_call", "q: hinges"),
        ("tool_result", "rust in the wiki"),
        ("tool_result!", "no such gauge"),
        ("summary", "The hinge was found to be rusty."),
        ("tool_result", "The pin is bent."),
    ] {
        assert!(told.iter().any(|line| line.starts_with(&format!("{role} ")) && line.contains(words)), "{words}: {told:?}");
    }
    assert_eq!(
        skipped(&report),
        ["unknown-type brand-new-letter 1", "wordless-attachment brand_new_flag 1", "wordless-type brand-new-latch 1"]
    );
}

#[test]
fn ciphertext_between_agents_is_told_by_its_length_and_stays_in_the_archive() {
    let cipher = format!("gAAAA{}", "Bq7-_x".repeat(100));
    let call = json!({"timestamp": "2026-06-01T10:00:08.000Z", "type": "response_item", "payload": {"type": "function_call",
        "name": "spawn_agent", "call_id": "c1", "arguments": json!({"task_name": "pumps", "message": cipher}).to_string()}});
    let memory = Memory::new();
    memory.write(
        &format!("sessions/rollout-2026-06-01T10-00-00-{THREAD}.jsonl"),
        rollout("t2", "Grease it.", "Done.") + &format!("{call}\n"),
    );
    memory.read_as("codex", &memory.sources());
    let turns = memory.turns(THREAD);
    let last = &turns.last().unwrap().tool_text;
    assert!(last.contains("[encrypted, 605 letters]") && last.contains("pumps") && !last.contains("gAAAA"), "{last}");
}

#[test]
fn private_block_that_a_picture_divides_stays_out_whatever_the_agent() {
    let parts = |kind: &str| {
        json!([{"type": kind, "text": "<private>the client is Zanzibar One"}, {"type": "image", "source": {"type": "base64", "data": "aGVsbG8="}},
            {"type": kind, "text": "and Zanzibar Two</private> plan the launch"}])
    };
    let unclosed =
        json!([{"text": "plan the launch"}, {"text": "<private>the client is Zanzibar One"}, {"text": "and Zanzibar Two"}]);
    for (source, place, content) in [
        (
            "claude-code",
            "projects/p/a.jsonl",
            lines(&[json!({"type": "user", "sessionId": "s-1", "uuid": "c0000000-0000-4000-8000-000000000001",
            "timestamp": "2026-03-02T10:00:00.000Z", "message": {"role": "user", "content": parts("text")}})]),
        ),
        (
            "codex",
            "sessions/rollout-2026-06-01T10-00-00-x.jsonl",
            rollout("t", "Grease it.", "Done.")
                + &lines(&[
                    json!({"timestamp": "2026-06-01T10:00:08.000Z", "type": "response_item", "payload": {"type": "message", "role": "user", "content": parts("input_text")}}),
                    json!({"timestamp": "2026-06-01T10:00:09.000Z", "type": "response_item", "payload": {"type": "reasoning"}}),
                ]),
        ),
        (
            "gemini",
            CHAT,
            lines(&[
                json!({"sessionId": "s-1", "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z"}),
                json!({"id": "u1", "timestamp": "2026-02-03T10:00:05.000Z", "type": "user", "content": unclosed}),
            ]),
        ),
    ] {
        let memory = Memory::new();
        memory.write(place, content);
        memory.read_as(source, &memory.sources());
        let archive: String =
            memory.archive().iter().map(|(_, _, content)| String::from_utf8_lossy(content).into_owned()).collect();
        assert!(archive.contains("plan the launch"), "{source}: {archive}");
        assert!(!memory.words().contains("Zanzibar") && !archive.contains("Zanzibar"), "{source}");
    }
}
