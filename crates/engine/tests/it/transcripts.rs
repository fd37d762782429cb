//! Agents that keep a file of JSON lines for each conversation: branches, forks, damage, and who wrote a prompt. That each
//! format is read whole is tested with all others.

use std::path::PathBuf;

use serde_json::{Value, json};
use yore_core::episode::{Caveat, EpisodeKind, Role};
use yore_testing::Memory;

use crate::told::{skipped, told, try_read, words_from_archive};

/// A time, which differs for each second.
fn time(second: u32) -> String {
    format!("2026-03-01T10:{:02}:{:02}.000Z", second / 60, second % 60)
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn header(session: &str, second: u32) -> Value {
    json!({"type": "session", "version": 3, "id": session, "timestamp": time(second), "cwd": "/home/ada/canal"})
}

/// A message of Pi. The id of entry 1 is `e1`; the parent of the first entry is 0.
fn entry(id: u32, parent: u32, role: &str, text: &str) -> Value {
    let parent = if parent == 0 { Value::Null } else { json!(format!("e{parent}")) };
    json!({"type": "message", "id": format!("e{id}"), "parentId": parent, "timestamp": time(id),
        "message": {"role": role, "content": [{"type": "text", "text": text}]}})
}

/// Returns the texts of a session, those that were taken back with a mark.
fn texts(memory: &Memory, session: &str) -> Vec<String> {
    let turns = memory.turns(session);
    turns.iter().map(|turn| format!("{}{}", if turn.caveat == Some(Caveat::TakenBack) { "~" } else { "" }, turn.text)).collect()
}

/// The agents that keep Pi's format, each with a path of a session.
const PI_FAMILY: [(&str, &str); 3] = [
    ("pi", "agent/sessions/--canal--/2026-03-01T10-00-00-000Z_s-1.jsonl"),
    ("omp", "agent/sessions/-canal/2026-03-01T10-00-00-000Z_s-1.jsonl"),
    ("openclaw", "agents/main/sessions/s-1.jsonl"),
];

#[test]
fn words_on_a_branch_that_was_left_are_kept_and_marked_and_the_mark_follows_the_last_entry() {
    for (source, path) in PI_FAMILY {
        let memory = Memory::new();
        let first = [
            header("s-1", 0),
            entry(1, 0, "user", "open the lock"),
            entry(2, 1, "assistant", "It is open."),
            entry(3, 2, "user", "drain the canal"),
            entry(4, 3, "assistant", "It is dry."),
        ];
        memory.write(path, lines(&first));
        memory.read_as(source, &memory.sources());
        assert_eq!(texts(&memory, "s-1"), ["open the lock", "It is open.", "drain the canal", "It is dry."], "{source}");
        // The person goes back to the second message, and says something else.
        let summary = json!({"type": "branch_summary", "id": "e5", "parentId": "e2", "timestamp": time(5), "fromId": "e4", "summary": "A dry canal."});
        memory.append(path, lines(&[summary, entry(6, 5, "user", "close the lock")]).as_bytes());
        let report = memory.read_as(source, &memory.sources());
        let expected = ["open the lock", "It is open.", "~drain the canal", "~It is dry.", "A dry canal.", "close the lock"];
        assert_eq!(texts(&memory, "s-1"), expected, "{source}");
        assert_eq!((report.turns_added, report.turns_updated), (2, 0), "{source}: a mark changes no words");
        // The left branch is taken up again.
        memory.append(path, lines(&[entry(7, 4, "user", "fill it again")]).as_bytes());
        memory.read_as(source, &memory.sources());
        let expected = [
            "open the lock",
            "It is open.",
            "drain the canal",
            "It is dry.",
            "~A dry canal.",
            "~close the lock",
            "fill it again",
        ];
        assert_eq!(texts(&memory, "s-1"), expected, "{source}");
        let before = memory.words();
        assert_eq!(words_from_archive(&memory), before, "{source}");
    }
}

#[test]
fn conversation_that_began_anew_leaves_all_before_and_a_damaged_line_leaves_nothing() {
    let memory = Memory::new();
    let begun_anew = [header("s-1", 0), entry(1, 0, "user", "open the lock"), entry(2, 0, "user", "close the lock")];
    memory.write("a.jsonl", lines(&begun_anew));
    let mut damaged = lines(&[header("s-2", 0), entry(1, 0, "user", "one")]);
    damaged.push_str("{\"type\":\"message\",\"id\":\"e2\",\"parentId\n");
    damaged.push_str(&lines(&[
        entry(3, 2, "user", "three"),
        json!({"type": "message", "timestamp": time(4), "message": {"role": "user", "content": "four"}}),
    ]));
    memory.write("b.jsonl", damaged);
    let report = memory.read_as("pi", &memory.sources());
    assert_eq!(texts(&memory, "s-1"), ["~open the lock", "close the lock"]);
    assert_eq!(texts(&memory, "s-2"), ["one", "three", "four"]);
    assert_eq!(skipped(&report), ["invalid-json  1"]);
}

#[test]
fn fork_repeats_no_words() {
    let memory = Memory::new();
    let shared = [entry(1, 0, "user", "open the lock"), entry(2, 1, "assistant", "It is open.")];
    memory.write("b/2026-03-01T10-00-00-000Z_s-1.jsonl", lines(&[&[header("s-1", 0)], &shared[..]].concat()));
    let mut forked = header("s-2", 9);
    forked["parentSession"] = "b/2026-03-01T10-00-00-000Z_s-1.jsonl".into();
    memory.write(
        "a/2026-03-01T10-00-09-000Z_s-2.jsonl",
        lines(&[&[forked], &shared[..], &[entry(10, 2, "user", "and the gate?")]].concat()),
    );
    let report = memory.read_as("pi", &memory.sources());
    assert_eq!((report.turns_added, report.turns_shared), (3, 2));
    assert_eq!(memory.turns("s-1").len(), 2, "the session that began first owns them");
    assert_eq!(memory.turns("s-1")[0].native_session, "s-1");
}

#[test]
fn copies_and_deleted_sessions_of_openclaw_are_passed_over_and_those_begun_anew_are_read() {
    let memory = Memory::new();
    let session = |name: &str, id: &str, text: &str| {
        memory.write(&format!("agents/main/sessions/{name}"), lines(&[header(id, 0), entry(1, 0, "user", text)]));
    };
    session("s-1.jsonl", "s-1", "open the lock");
    session("s-2.jsonl.reset.2026-03-01T10-00-00.000Z", "s-2", "close the lock");
    session("s-3.jsonl.deleted.2026-03-01T10-00-00.000Z", "s-3", "drain it");
    session("s-1.checkpoint.4a5b0001-3f08-4714-9c34-5c452003a142.jsonl", "s-4", "a copy");
    memory.write("agents/main/sessions/sessions.json", json!({"agent:main:main": {"sessionId": "s-1"}}).to_string());
    memory.read_as("openclaw", &memory.sources());
    let mut sessions: Vec<String> = memory.episodes().into_iter().map(|episode| episode.native_id).collect();
    sessions.sort();
    assert_eq!(sessions, ["s-1", "s-2"]);
}

#[test]
fn prompts_that_a_program_wrote_are_nobodys_words_by_the_fields_of_the_record() {
    /// Agent, path, other files, and the text.
    type Row<'t> = (&'t str, &'t str, &'t [(&'t str, Value)], &'t str);
    let rows: [Row<'_>; 8] = [
        (
            "openclaw",
            "a schedule",
            &[
                ("agents/main/sessions/s-1.jsonl", json!([header("s-1", 0), entry(1, 0, "user", "check the lock")])),
                ("agents/main/sessions/sessions.json", json!({"agent:main:cron:7": {"sessionId": "s-1"}})),
            ],
            "s-1",
        ),
        (
            "openclaw",
            "another session",
            &[(
                "agents/main/sessions/s-1.jsonl",
                json!([header("s-1", 0), {"type": "message", "id": "e1", "parentId": null, "timestamp": time(1),
                "message": {"role": "user", "content": "check the lock", "provenance": {"kind": "inter_session"}}}]),
            )],
            "s-1",
        ),
        (
            "omp",
            "the session above a sub-agent",
            &[
                ("agent/sessions/-canal/2026-03-01_s-0.jsonl", json!([header("s-0", 0)])),
                (
                    "agent/sessions/-canal/2026-03-01_s-0/task.jsonl",
                    json!([header("s-1", 0), entry(1, 0, "user", "check the lock")]),
                ),
            ],
            "s-1",
        ),
        (
            "kimi",
            "a hook",
            &[(
                "sessions/wd/s-1/agents/main/wire.jsonl",
                json!([{"type": "context.append_message", "time": 1, "message": {"role": "user",
                "content": "check the lock", "origin": {"kind": "hook_result"}}}]),
            )],
            "s-1",
        ),
        (
            "kimi",
            "the agent above",
            &[(
                "sessions/wd/s-1/agents/agent-0/wire.jsonl",
                json!([{"type": "turn.prompt", "input": "check the lock", "time": 1}]),
            )],
            "s-1/agent-0",
        ),
        (
            "vibe",
            "the program",
            &[
                ("s/messages.jsonl", json!([{"role": "user", "content": "check the lock", "injected": true}])),
                ("s/meta.json", json!({"session_id": "s-1"})),
            ],
            "s-1",
        ),
        (
            "grok",
            "the program",
            &[(
                "sessions/canal/s-1/chat_history.jsonl",
                json!([{"type": "user", "content": "check the lock", "synthetic_reason": "reminder"}]),
            )],
            "s-1",
        ),
        (
            "droid",
            "the program",
            &[(
                "sessions/-canal/s-1.jsonl",
                json!([{"type": "session_start", "id": "s-1"}, {"type": "message", "id": "m1", "timestamp": time(1),
                "message": {"role": "user", "visibility": "llm_only", "content": "check the lock"}}]),
            )],
            "s-1",
        ),
    ];
    for (source, by, files, session) in rows {
        let memory = Memory::new();
        for (name, content) in files {
            let content = content.as_array().map_or_else(|| content.to_string(), |values| lines(values));
            memory.write(name, content);
        }
        memory.read_as(source, &memory.sources());
        let turns = memory.turns(session);
        let found: Vec<(Role, &str)> = turns.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
        assert_eq!(found, [(Role::Injected, "check the lock")], "{source}: {by}");
    }
}

#[test]
fn what_a_person_says_while_the_model_works_is_the_persons() {
    let memory = Memory::new();
    let row = json!({"type": "user", "content": "wait", "synthetic_reason": "interjection"});
    memory.write("sessions/canal/s-1/chat_history.jsonl", lines(&[row]));
    memory.read_as("grok", &memory.sources());
    assert_eq!(told(&memory, "s-1"), ["human none: wait"]);
}

/// A file of each agent with one prompt, in the form that a person's prompt has.
fn smallest() -> [(&'static str, &'static str, Vec<Value>); 10] {
    let row = |role: &str| json!({role: "user", "content": "open the lock"});
    [
        ("pi", "s.jsonl", vec![header("s", 0), entry(1, 0, "user", "open the lock")]),
        (
            "omp",
            "s.jsonl",
            vec![json!({"type": "title", "v": 1, "title": "Locks"}), header("s", 0), entry(1, 0, "user", "open the lock")],
        ),
        ("openclaw", "agents/main/sessions/s.jsonl", vec![header("s", 0), entry(1, 0, "user", "open the lock")]),
        (
            "kimi",
            "s/agents/main/wire.jsonl",
            vec![json!({"type": "turn.prompt", "input": "open the lock", "time": 1_772_359_200_000_i64})],
        ),
        (
            "kimi",
            "s/wire.jsonl",
            vec![json!({"timestamp": 1.5, "message": {"type": "TurnBegin", "payload": {"user_input": "open the lock"}}})],
        ),
        ("vibe", "s/messages.jsonl", vec![row("role")]),
        ("grok", "s/chat_history.jsonl", vec![row("type")]),
        (
            "grok",
            "s/updates.jsonl",
            vec![json!({"params": {"update": {"sessionUpdate": "user_message_chunk", "content": "open the lock"}}})],
        ),
        ("droid", "s.jsonl", vec![json!({"type": "message", "message": {"role": "user", "content": "open the lock"}})]),
        ("kiro", "s.jsonl", vec![json!({"kind": "Prompt", "data": {"content": [{"kind": "text", "data": "open the lock"}]}})]),
    ]
}

#[test]
fn torn_last_line_is_read_when_it_is_finished_and_other_damage_is_counted() {
    for (source, path, values) in smallest() {
        let memory = Memory::new();
        let whole = lines(&values);
        let (torn, rest) = whole.split_at(whole.len() - 4);
        let file = memory.write(path, format!("not json\n[1]\n\u{0}\n{torn}"));
        // Named, so that a file without a header is read too.
        let report = try_read(&memory, source, &file);
        assert_eq!(report.turns_added, 0, "{source} {path}");
        memory.append(path, rest.as_bytes());
        let report = memory.read_as(source, &file);
        assert_eq!(report.turns_added, 1, "{source} {path}");
        assert!(skipped(&report).iter().any(|skip| skip.starts_with("invalid-json")), "{source} {path}: {:?}", report.skips);
        let episode = &memory.episodes()[0];
        assert_eq!((episode.native_id.as_str(), episode.kind), ("s", EpisodeKind::Session), "{source} {path}");
        assert_eq!(memory.turns("s")[0].text, "open the lock", "{source} {path}");
    }
}

#[test]
fn members_that_are_missing_or_of_another_kind_stop_nothing() {
    for (source, path, values) in smallest() {
        let memory = Memory::new();
        let mut odd = vec![json!(null), json!(7), json!("text"), json!({}), json!({"type": 7}), json!({"message": []})];
        for value in &values {
            for key in value.as_object().unwrap().keys() {
                for other in [Value::Null, json!(1), json!([[]]), json!({"type": "text"})] {
                    let mut changed = value.clone();
                    changed[key] = other;
                    odd.push(changed);
                }
            }
        }
        let file = memory.write(path, lines(&[&odd[..], &values[..]].concat()));
        let report = try_read(&memory, source, &file);
        assert!(report.failures.is_empty(), "{source} {path}: {:?}", report.failures);
        assert!(memory.words().contains("open the lock"), "{source} {path}");
    }
}

#[test]
fn other_files_of_json_lines_are_no_conversations() {
    for source in ["pi", "omp", "openclaw", "kimi", "vibe", "grok", "droid", "kiro"] {
        let memory = Memory::new();
        memory.write("data.jsonl", "{\"rows\":[1]}\n");
        memory.write("sessions/history.jsonl", "{\"display\":\"x\"}\n");
        let report = memory.read_as(source, &memory.sources());
        assert_eq!((report.files, report.turns_added), (0, 0), "{source}");
        let named: PathBuf = memory.sources().join("data.jsonl");
        let report = try_read(&memory, source, &named);
        assert_eq!((report.turns_added, skipped(&report)), (0, vec!["no-conversation  1".to_owned()]), "{source}");
    }
}

#[test]
fn entries_of_pi_become_turns() {
    let memory = Memory::new();
    let message = |id: u32, message: Value| json!({"type": "message", "id": format!("e{id}"), "parentId": format!("e{}", id - 1), "timestamp": time(id), "message": message});
    memory.write(
        "s.jsonl",
        lines(&[
            header("s", 0),
            entry(1, 0, "user", "open the lock"),
            message(2, json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded"})),
            message(3, json!({"role": "bashExecution", "command": "ls", "output": "gate.txt", "exitCode": 1})),
            message(4, json!({"role": "custom", "customType": "tide", "content": "high water", "display": true})),
            message(5, json!({"role": "assistant", "model": "harbour-2", "content": [
                {"type": "toolCall", "id": "t1", "name": "edit", "arguments": {"path": "gate.txt", "edits": []}},
                {"type": "toolCall", "id": "t2", "name": "mcp__yore__recall", "arguments": {"query": "gate"}}, {"type": "fog"}]})),
            message(6, json!({"role": "toolResult", "toolCallId": "t1", "toolName": "edit", "content": [{"type": "text", "text": "ok"}, {"type": "image", "data": "aGFy"}], "isError": false})),
            message(7, json!({"role": "toolResult", "toolCallId": "t2", "toolName": "mcp__yore__recall", "content": [{"type": "text", "text": "old words"}], "isError": false})),
            json!({"type": "compaction", "id": "e8", "parentId": "e7", "timestamp": time(8), "summary": "A gate.", "firstKeptEntryId": "e1"}),
            json!({"type": "custom_message", "id": "e9", "parentId": "e8", "timestamp": time(9), "customType": "x", "content": "put in"}),
            json!({"type": "custom", "id": "e10", "parentId": "e9", "timestamp": time(10), "customType": "x", "data": {}}),
            json!({"type": "session_info", "id": "e11", "parentId": "e10", "timestamp": time(11), "name": "Gates"}),
            json!({"type": "tide_table", "id": "e12", "parentId": "e11"}),
            message(13, json!({"role": "lock-keeper", "content": "x"})),
        ]),
    );
    let report = memory.read_as("pi", &memory.sources());
    assert_eq!(
        told(&memory, "s"),
        [
            "human exact: open the lock",
            "system! exact: overloaded",
            "human exact: ! ls",
            "tool_result! exact: > gate.txt",
            "injected exact: high water",
            "tool_call exact: > edit / path: gate.txt / edits: ",
            "tool_result exact: > ok",
            "summary exact: A gate.",
            "injected exact: put in",
        ]
    );
    assert_eq!(skipped(&report), ["unknown-block fog 1", "unknown-role lock-keeper 1", "unknown-type tide_table 1"]);
    let turns = memory.turns("s");
    assert_eq!(turns[0].title.as_deref(), Some("Gates"));
    assert_eq!(turns[5].model.as_deref(), Some("harbour-2"));
}

#[test]
fn step_of_kimi_grows_with_its_file() {
    let memory = Memory::new();
    let event = |event: Value| json!({"type": "context.append_loop_event", "event": event, "time": 1_772_359_200_000_i64});
    let path = "sessions/wd/s/agents/main/wire.jsonl";
    memory.write(
        path,
        lines(&[
            event(json!({"type": "step.begin", "uuid": "step-1"})),
            event(json!({"type": "content.part", "part": {"type": "text", "text": "The gate "}})),
        ]),
    );
    memory.read_as("kimi", &memory.sources());
    memory.append(
        path,
        lines(&[
            event(json!({"type": "content.part", "part": {"type": "text", "text": "is open."}})),
            event(json!({"type": "tool.call", "toolCallId": "t1", "name": "Shell", "args": "{\"command\":\"ls\"}"})),
            event(json!({"type": "step.end", "uuid": "step-1"})),
            event(json!({"type": "tool.result", "toolCallId": "t1", "result": {"output": "gate.txt"}})),
        ])
        .as_bytes(),
    );
    let report = memory.read_as("kimi", &memory.sources());
    assert_eq!((report.turns_added, report.turns_updated), (1, 1));
    assert_eq!(told(&memory, "s"), ["assistant exact: The gate is open.> Shell / command: ls", "tool_result exact: > gate.txt"]);
}
