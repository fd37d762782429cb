//! Codex CLI: rollouts live, resumed, forked, archived and compressed, and the names of threads.

use serde_json::{Value, json};
use yore_core::episode::{Caveat, EpisodeKind, Role};
use yore_engine::ShownTurn;
use yore_engine::ingest::IngestReport;
use yore_testing::Memory;

const THREAD: &str = "019e7da4-0000-7000-8000-00000000000a";
const FORK: &str = "019e7db0-0000-7000-8000-00000000000b";
const TURN_OF_THREAD: &str = "019e7da4-0001-7000-8000-000000000001";
const TURN_OF_FORK: &str = "019e7db0-0001-7000-8000-000000000002";
const ROLLOUT: &str = "sessions/2026/05/31/rollout-2026-05-31T10-46-34-019e7da4-0000-7000-8000-00000000000a.jsonl";

fn line(second: u32, kind: &str, payload: &Value) -> String {
    format!("{}\n", json!({"timestamp": format!("2026-05-31T10:46:{second:02}.000Z"), "type": kind, "payload": payload}))
}

fn meta(id: &str, more: Value) -> String {
    let mut payload = json!({"id": id, "timestamp": "2026-05-31T10:46:00.000Z", "cwd": "/home/dev/tide", "cli_version": "0.140.0",
        "source": "cli", "git": {"branch": "moon"}});
    for (key, value) in more.as_object().unwrap() {
        payload[key] = value.clone();
    }
    line(0, "session_meta", &payload)
}

fn context(turn: &str) -> String {
    line(1, "turn_context", &json!({"turn_id": turn, "cwd": "/home/dev/tide", "model": "tide-5"}))
}

fn seen(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    line(2, "response_item", &json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn typed(text: &str) -> String {
    line(2, "event_msg", &json!({"type": "user_message", "message": text, "images": []}))
}

fn called(id: &str, command: &str) -> String {
    let arguments = json!({"cmd": command, "workdir": "/home/dev/tide", "yield_time_ms": 1000}).to_string();
    line(3, "response_item", &json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id}))
}

fn answered(id: &str, output: &Value) -> String {
    line(4, "response_item", &json!({"type": "function_call_output", "call_id": id, "output": output}))
}

/// Makes a session with everything that a usual one has.
fn session() -> String {
    [
        meta(THREAD, json!({})),
        line(1, "event_msg", &json!({"type": "task_started", "turn_id": TURN_OF_THREAD})),
        seen("developer", "<permissions instructions>all</permissions instructions>"),
        seen("user", "<environment_context>\n  <cwd>/home/dev/tide</cwd>\n</environment_context>"),
        context(TURN_OF_THREAD),
        seen("user", "Why do the harbour gauges drift?"),
        typed("Why do the harbour gauges drift?"),
        line(3, "response_item", &json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "pondering"}]})),
        line(3, "event_msg", &json!({"type": "agent_message", "message": "I look at the calibration first."})),
        seen("assistant", "I look at the calibration first."),
        called("call-1", "cat gauges.toml"),
        answered("call-1", &json!("Chunk ID: 1\nProcess exited with code 3\nOutput:\nno such file")),
        line(
            5,
            "response_item",
            &json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "call-2",
            "input": "*** Begin Patch\n*** Update File: src/gauge.rs\n@@\n-1\n+2\n*** End Patch"}),
        ),
        line(
            5,
            "response_item",
            &json!({"type": "custom_tool_call_output", "call_id": "call-2",
            "output": "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."}),
        ),
        seen("assistant", "The gauges were never calibrated against the datum."),
        line(6, "event_msg", &json!({"type": "token_count", "info": null})),
        line(6, "event_msg", &json!({"type": "task_complete", "last_agent_message": "The gauges"})),
    ]
    .concat()
}

fn read(memory: &Memory) -> IngestReport {
    let report = memory.read_as("codex", &memory.sources());
    memory.index();
    report
}

fn spoken(turns: &[ShownTurn]) -> Vec<(Role, String, String)> {
    turns.iter().map(|turn| (turn.role, turn.native_message.clone(), turn.text.clone())).collect()
}

#[test]
fn session_is_read_with_prompts_answers_tools_and_outcomes() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    let report = read(&memory);
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    let episode = memory.episodes().remove(0);
    assert_eq!((episode.native_id.as_str(), episode.cwd.as_deref()), (THREAD, Some("/home/dev/tide")));
    let turns = memory.turns(THREAD);
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    assert_eq!(
        roles,
        [Role::Human, Role::Assistant, Role::ToolCall, Role::ToolResult, Role::ToolCall, Role::ToolResult, Role::Assistant]
    );
    assert_eq!(turns[0].native_message, format!("{THREAD}:7"), "the line of the event");
    assert_eq!(turns[0].text, "Why do the harbour gauges drift?");
    assert_eq!(turns[1].native_message, format!("{THREAD}:10"));
    assert_eq!(turns[1].branch.as_deref(), Some("moon"));
    assert_eq!(turns[2].tool_text, "exec_command\ncmd: cat gauges.toml\nworkdir: /home/dev/tide");
    assert_eq!(turns[3].tool_text, "exit code 3\nno such file");
    assert!(turns[3].is_error && !turns[5].is_error);
    assert!(!memory.words().contains("pondering"), "thoughts are not remembered");
}

#[test]
fn every_division_of_a_rollout_gives_the_same_turns() {
    let whole = Memory::new();
    whole.write(ROLLOUT, session());
    read(&whole);
    let steps = Memory::new();
    for line in session().split_inclusive('\n') {
        steps.append(ROLLOUT, line.as_bytes());
        steps.read_as("codex", &steps.sources());
    }
    steps.index();
    assert_eq!(steps.words(), whole.words());
}

#[test]
fn prompts_are_found_where_a_client_writes_no_events() {
    let memory = Memory::new();
    let text = session().replace(&typed("Why do the harbour gauges drift?"), "");
    memory.write(ROLLOUT, &text);
    read(&memory);
    let turns = memory.turns(THREAD);
    assert_eq!(spoken(&turns)[0], (Role::Human, format!("{THREAD}:6"), "Why do the harbour gauges drift?".to_owned()));
    assert_eq!(turns.iter().filter(|turn| turn.role == Role::Human).count(), 1, "what surrounds it is nobody's");
}

#[test]
fn event_without_words_takes_the_place_of_no_prompt() {
    let memory = Memory::new();
    let wordless = line(3, "event_msg", &json!({"type": "user_message", "messag": "cut", "kind": "plain"}));
    let lines = [meta(THREAD, json!({})), seen("user", "Chart the shoals."), wordless, seen("assistant", "Charted.")];
    memory.write(ROLLOUT, lines.concat());
    read(&memory);
    let texts: Vec<String> = memory.turns(THREAD).into_iter().map(|turn| turn.text).collect();
    assert_eq!(texts, ["Chart the shoals.", "Charted."]);
}

#[test]
fn very_old_rollouts_have_bare_lines() {
    let memory = Memory::new();
    let bare = [
        json!({"id": THREAD, "timestamp": "2025-06-01T08:00:00.000Z", "instructions": "be kind"}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Count the buoys."}]}),
        json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"wc\",\"-l\",\"buoys.csv\"]}", "call_id": "c"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "{\"output\":\"41\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}),
    ];
    let text: String = bare.iter().map(|value| format!("{value}\n")).collect();
    memory.write(ROLLOUT, text);
    read(&memory);
    let turns = memory.turns(THREAD);
    assert_eq!(turns.len(), 3);
    assert_eq!((turns[0].role, turns[0].text.as_str()), (Role::Human, "Count the buoys."));
    assert_eq!(turns[1].tool_text, "shell\ncommand: wc -l buoys.csv");
    assert_eq!(turns[2].tool_text, "41");
}

fn compressed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

#[test]
fn compressed_rollout_gives_what_the_plain_one_gave() {
    // A line that is not JSON, an empty one and two joined ones do not shift the line numbers.
    let text = format!("{}not json\n\n{}", meta(THREAD, json!({})), &session()[meta(THREAD, json!({})).len()..]);
    let (plain, packed) = (Memory::new(), Memory::new());
    plain.write(ROLLOUT, &text);
    read(&plain);
    packed.write(&format!("{ROLLOUT}.zst"), compressed(&text));
    let report = read(&packed);
    assert_eq!(report.skips.get(&("invalid-json".to_owned(), String::new())), Some(&1));
    assert_eq!(spoken(&plain.turns(THREAD)), spoken(&packed.turns(THREAD)));
    // Compressed later, the file adds nothing.
    plain.write(&format!("{ROLLOUT}.zst"), compressed(&text));
    assert_eq!(read(&plain).files, 1, "the plain one wins");
    std::fs::remove_file(plain.sources().join(ROLLOUT)).unwrap();
    let report = read(&plain);
    assert_eq!((report.turns_added, report.turns_updated), (0, 0));
}

#[test]
fn damaged_compressed_rollout_is_reported_and_the_others_are_read() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    let mut bytes = compressed(&session().replace(THREAD, FORK));
    bytes.truncate(bytes.len() / 2);
    memory.write("sessions/2026/05/31/rollout-2026-05-31T11-00-00-damaged.jsonl.zst", bytes);
    let roots = vec![yore_engine::ingest::SourceRoot { source: "codex".to_owned(), path: memory.sources() }];
    let report =
        memory.engine().ingest(&yore_engine::ingest::IngestRequest::new(roots), &mut yore_engine::ingest::Silent).unwrap();
    assert_eq!(report.failures.len(), 1);
    assert_eq!(memory.turns(THREAD).len(), 7);
}

#[test]
fn archived_rollout_is_the_same_session() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    read(&memory);
    let archived = format!("archived_sessions/{}", ROLLOUT.rsplit('/').next().unwrap());
    memory.write(&archived, session());
    std::fs::remove_file(memory.sources().join(ROLLOUT)).unwrap();
    let report = read(&memory);
    assert_eq!((report.turns_added, report.files_gone), (0, 1));
    assert_eq!(memory.episodes().len(), 1);
}

/// Makes a fork: its own header, the copied lines of the parent, then its own lines.
fn fork() -> String {
    [
        meta(FORK, json!({"forked_from_id": THREAD})),
        session(),
        context(TURN_OF_FORK),
        seen("user", "And the tide tables?"),
        typed("And the tide tables?"),
        seen("assistant", "The tables are right."),
    ]
    .concat()
}

const FORKED: &str = "sessions/2026/05/31/rollout-2026-05-31T10-59-00-019e7db0-0000-7000-8000-00000000000b.jsonl";

#[test]
fn fork_does_not_say_again_what_was_copied_into_it() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    memory.write(FORKED, fork());
    let report = read(&memory);
    let copied = session().lines().count() as u64;
    assert_eq!(report.skips.get(&("copied-history".to_owned(), String::new())), Some(&copied));
    let texts: Vec<String> = memory.turns(FORK).into_iter().map(|turn| turn.text).collect();
    assert_eq!(texts, ["And the tide tables?", "The tables are right."]);
    let episode = memory.episodes().into_iter().find(|episode| episode.native_id == FORK).unwrap();
    assert_eq!(episode.kind, EpisodeKind::Session);
    assert_eq!(episode.links, [("forked-from".to_owned(), THREAD.to_owned())]);
    assert_eq!(memory.turns(THREAD).len(), 7);
}

#[test]
fn forgetting_a_thread_takes_its_lines_out_of_its_forks_and_leaves_theirs() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    memory.write(FORKED, fork());
    read(&memory);
    memory.forget_hard(THREAD);
    assert!(memory.turns(THREAD).is_empty());
    assert_eq!(memory.turns(FORK).len(), 2);
    let archive: Vec<u8> = memory.archive().into_iter().flat_map(|(_, _, content)| content).collect();
    let archive = String::from_utf8_lossy(&archive).into_owned();
    assert!(!archive.contains("harbour gauges") && archive.contains("tide tables"));
    // Reading either file does not bring it back.
    memory.write("sessions/copy.jsonl", session());
    read(&memory);
    assert!(memory.turns(THREAD).is_empty());
}

#[test]
fn resumed_rollout_repeats_its_header_and_stays_one_session() {
    let memory = Memory::new();
    memory.write(ROLLOUT, [session(), meta(THREAD, json!({})), typed("Once more."), seen("assistant", "Fine.")].concat());
    let report = read(&memory);
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    assert_eq!((memory.episodes().len(), memory.turns(THREAD).len()), (1, 9));
}

#[test]
fn sub_agent_names_its_parent_and_is_spoken_to_by_it() {
    let memory = Memory::new();
    let source = json!({"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}});
    memory.write(ROLLOUT, session());
    memory.write(
        "sessions/2026/05/31/rollout-sub.jsonl",
        [meta(FORK, json!({"source": source})), typed("Review the gauges."), seen("assistant", "Nothing found.")].concat(),
    );
    read(&memory);
    let episode = memory.episodes().into_iter().find(|episode| episode.native_id == FORK).unwrap();
    assert_eq!(episode.kind, EpisodeKind::Subagent);
    assert!(memory.words().contains(&format!("codex | {FORK} | {THREAD} |")));
    let turns = memory.turns(FORK);
    assert_eq!((turns[0].role, turns[1].role), (Role::Injected, Role::Assistant));
}

#[test]
fn rollback_abortion_and_compaction_leave_a_line_each() {
    let memory = Memory::new();
    memory.write(
        ROLLOUT,
        [
            session(),
            line(7, "event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1})),
            line(7, "event_msg", &json!({"type": "turn_aborted", "reason": "interrupted"})),
            line(8, "compacted", &json!({"message": "So far: gauges drift.", "replacement_history": [{"type": "message"}]})),
            line(9, "event_msg", &json!({"type": "brand_new"})),
            line(9, "brand_new", &json!({})),
        ]
        .concat(),
    );
    let report = read(&memory);
    let turns = memory.turns(THREAD);
    assert_eq!(turns[7].text, "the last 1 prompts and all that followed were taken back");
    assert!(turns[..7].iter().all(|turn| turn.caveat == Some(Caveat::TakenBack)) && turns[7].caveat.is_none());
    assert_eq!((turns[8].role, turns[8].text.as_str()), (Role::System, "turn aborted: interrupted"));
    assert_eq!((turns[9].role, turns[9].text.as_str()), (Role::Summary, "So far: gauges drift."));
    let reasons: Vec<&str> = report.skips.keys().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["unknown-event", "unknown-type"]);
}

#[test]
fn names_of_threads_become_titles_the_last_one_first() {
    let memory = Memory::new();
    memory.write(
        "session_index.jsonl",
        format!(
            "{}\nnonsense\n{}\n",
            json!({"id": THREAD, "thread_name": "gauges", "updated_at": "2026-05-31T10:47:00Z"}),
            json!({"id": THREAD, "thread_name": "Drifting gauges", "updated_at": "2026-05-31T10:48:00Z"})
        ),
    );
    read(&memory);
    // The thread is read after its name.
    memory.write(ROLLOUT, session());
    read(&memory);
    assert_eq!(memory.episodes()[0].title.as_deref(), Some("Drifting gauges"));
}

#[test]
fn listed_prompts_are_read_where_no_rollout_tells_of_their_session() {
    let memory = Memory::new();
    memory.write(ROLLOUT, session());
    let prompt = |session: &str, at: i64, text: &str| format!("{}\n", json!({"session_id": session, "ts": at, "text": text}));
    let now = Memory::now() / 1000;
    let gone = "019e0000-0000-7000-8000-00000000000c";
    let list = [
        prompt(THREAD, 1_780_000_000, "Why do the harbour gauges drift?"),
        prompt(gone, 1_770_000_000, "how deep is the lock"),
        prompt(gone, 1_770_000_060, "/compact"),
        "torn {\n".to_owned(),
        // Its rollout may be written a moment later.
        prompt("019e0000-0000-7000-8000-00000000000d", now, "and the basin?"),
    ]
    .concat();
    memory.write("history.jsonl", &list);
    memory.write("auth.json", "{}");
    read(&memory);
    assert_eq!(memory.turns(gone).iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["how deep is the lock"]);
    assert_eq!(
        memory.words().matches("Why do the harbour gauges drift?").count(),
        memory.turns(THREAD).iter().filter(|turn| turn.text.contains("gauges drift?")).count() + 1,
        "once as a turn, once as a title"
    );
    assert_eq!(memory.episodes().len(), 2);
    assert_eq!(crate::told::words_from_archive(&memory), memory.words());
    // An unchanged list is not opened again; if a rollout is removed, its prompts stay.
    std::fs::remove_file(memory.sources().join(ROLLOUT)).unwrap();
    memory.append("history.jsonl", prompt(gone, 1_770_000_120, "and how wide?").as_bytes());
    assert_eq!(read(&memory).turns_added, 1);
    assert_eq!(memory.episodes().len(), 2);
    let asked = memory.turns(THREAD).into_iter().filter(|turn| turn.text.contains("gauges drift?")).count();
    assert_eq!(asked, 1);
}

#[test]
fn sure_signs_tell_what_was_typed_from_what_the_client_put_in() {
    let memory = Memory::new();
    let signed = |kinds: &[&str], texts: &[&str]| {
        let content: Vec<Value> = texts.iter().map(|text| json!({"type": "input_text", "text": text})).collect();
        let passed = json!({"content_item_kinds": kinds});
        line(
            2,
            "response_item",
            &json!({"type": "message", "role": "user", "content": content, "internal_chat_message_metadata_passthrough": passed}),
        )
    };
    let text = [
        meta(THREAD, json!({})),
        context(TURN_OF_THREAD),
        signed(&["hooks.additional_context", "user.text"], &["Lights are dimmed at dusk.", "why do the lamps flicker"]),
        signed(&["environments.environment_context"], &["It is dusk."]),
        seen("assistant", "A loose wire."),
        seen("user", "<user_shell_command>\n<command>\nlamp --test\n</command>\n<result>\nExit code: 2\nDuration: 0.1 seconds\nOutput:\nno lamp\n</result>\n</user_shell_command>"),
        seen("user", "<skill>\n<name>lamps</name>\nMend lamps with care.\n</skill>"),
        seen("assistant", "Mended."),
        called("c1", "mcp"),
        answered("c1", &json!("[{\"type\":\"text\",\"text\":\"two\\nlines\"}]")),
    ]
    .concat();
    memory.write(ROLLOUT, text);
    read(&memory);
    assert_eq!(
        crate::told::told(&memory, THREAD),
        [
            "human exact: why do the lamps flicker",
            "injected exact: It is dusk.",
            "assistant exact: A loose wire.",
            "tool_call exact: > user_shell_command / command: lamp --test",
            "tool_result! exact: > exit code 2 / no lamp",
            "injected exact: <skill> / <name>lamps</name> / Mend lamps with care. / </skill>",
            "assistant exact: Mended.",
            "tool_call exact: > exec_command / cmd: mcp / workdir: /home/dev/tide",
            "tool_result exact: > two / lines",
        ]
    );
    assert_eq!(memory.episodes()[0].title.as_deref(), Some("why do the lamps flicker"));
}

#[test]
fn own_calls_of_the_memory_are_no_sessions() {
    let memory = Memory::new();
    let prompt = format!("{}\nSummarise.", yore_sources::source::own::OWN_CALL);
    memory.write(ROLLOUT, [meta(THREAD, json!({"source": "exec"})), typed(&prompt), seen("assistant", "Done.")].concat());
    read(&memory);
    assert!(memory.episodes().is_empty());
}
