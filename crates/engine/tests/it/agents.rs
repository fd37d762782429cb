//! Small samples of the histories of real agents: shapes taken from Claude Code 2.1.330, Codex 0.169, Gemini
//! CLI 0.61, OpenCode 1.18, Copilot CLI 1.0.102, Cline CLI 3.0.65, Continue CLI 1.5 and Qwen Code 0.24. Each
//! test is named after the symptom that a user would see if it failed.

use serde_json::{Value, json};
use yore_core::episode::{EpisodeKind, Role};
use yore_engine::{ShowRequest, Surroundings};
use yore_testing::{Memory, SessionBuilder};

/// An answer of yore's `recall`.
const ANSWER: &str =
    "<recalled-data source=\"yore\">\n[1] 0123456789 human 2026-02-03\n  the kelp grows on the pier\n</recalled-data>";

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// Returns role, text and tool text of each turn; `!` marks a failure.
fn told(memory: &Memory, session: &str) -> Vec<String> {
    let line = |text: &str| text.replace('\n', " / ");
    memory
        .turns(session)
        .iter()
        .map(|turn| {
            let failed = if turn.is_error { "!" } else { "" };
            format!("{}{failed}: {}|{}", turn.role.as_str(), line(&turn.text), line(&turn.tool_text))
        })
        .collect()
}

fn gemini(session: &str, messages: &[Value]) -> String {
    let mut values =
        vec![json!({"sessionId": session, "projectHash": "00", "startTime": "2026-02-03T10:00:00.000Z", "kind": "main"})];
    values.extend_from_slice(messages);
    lines(&values)
}

fn gemini_message(id: &str, kind: &str, content: Value) -> Value {
    json!({"id": id, "timestamp": "2026-02-03T10:00:05.000Z", "type": kind, "content": content})
}

#[test]
fn gemini_prompt_that_a_hook_put_words_before_is_still_the_persons() {
    let memory = Memory::new();
    let given = ANSWER.replace('<', "&lt;").replace('>', "&gt;");
    let before = format!("<hook_context>{given}</hook_context>\n\nwhy is the pump loud?");
    let behind = format!("and the gauge?\n\n<hook_context>{given}</hook_context>");
    memory.write(
        "tmp/tide/chats/session-1.jsonl",
        gemini(
            "s-1",
            &[
                gemini_message("b0000000-0000-4000-8000-000000000001", "user", json!([{"text": before}])),
                gemini_message("b0000000-0000-4000-8000-000000000002", "user", json!([{"text": behind}])),
            ],
        ),
    );
    memory.read_as("gemini", &memory.sources());
    assert_eq!(told(&memory, "s-1"), ["human: why is the pump loud?|", "human: and the gauge?|"]);
    assert_eq!(memory.episodes()[0].title.as_deref(), Some("why is the pump loud?"));
}

#[test]
fn gemini_command_that_failed_is_told_once_and_as_a_failure() {
    let memory = Memory::new();
    let response = json!({"functionResponse": {"id": "run-1", "name": "run_shell_command",
        "response": {"output": "<untrusted_context>\nOutput: no gauge\nExit Code: 101\n</untrusted_context>"}}});
    let call = |with_result: bool| {
        let mut message = gemini_message("b0000000-0000-4000-8000-000000000003", "gemini", json!("I build."));
        if with_result {
            message["toolCalls"] = json!([{"id": "run-1", "name": "run_shell_command", "args": {"command": "make"},
                "result": [response], "status": "success", "resultDisplay": "no gauge"}]);
        }
        message
    };
    let answer = gemini_message("b0000000-0000-4000-8000-000000000004", "user", json!([response]));
    memory.write("tmp/tide/chats/session-1.jsonl", gemini("s-1", &[call(false), call(true), answer]));
    memory.read_as("gemini", &memory.sources());
    let told = told(&memory, "s-1");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], "assistant: I build.|run_shell_command / command: make");
    assert!(told[1].starts_with("tool_result!: |") && told[1].contains("no gauge"), "{told:?}");
}

#[test]
fn gemini_sessions_of_two_projects_keep_their_own_first_message() {
    let memory = Memory::new();
    let context =
        gemini_message("d04923d38bb0f6017037e74183378ef4", "user", json!([{"text": "<session_context>\nx\n</session_context>"}]));
    let prompt =
        |number: u32| gemini_message(&format!("b0000000-0000-4000-8000-00000000000{number}"), "user", json!([{"text": "go"}]));
    for (number, project) in [(1, "tide"), (2, "pier")] {
        memory.write(&format!("tmp/{project}/.project_root"), format!("/home/dev/{project}"));
        memory.write(
            &format!("tmp/{project}/chats/session-{number}.jsonl"),
            gemini(&format!("s-{number}"), &[context.clone(), prompt(number)]),
        );
    }
    memory.read_as("gemini", &memory.sources());
    for (session, project) in [("s-1", "tide"), ("s-2", "pier")] {
        let turns = memory.turns(session);
        assert_eq!(turns.len(), 2);
        assert!(turns.iter().all(|turn| turn.native_session == session && turn.project.as_deref() == Some(project)), "{turns:?}");
    }
}

const THREAD: &str = "01a20429-305e-7ff0-ab18-9f8b9540e71e";

fn rollout(items: &[Value]) -> String {
    let mut values = vec![json!({"timestamp": "2026-02-03T10:00:00.000Z", "type": "session_meta", "payload": {
        "id": THREAD, "timestamp": "2026-02-03T10:00:00.000Z", "cwd": "/home/dev/tide", "cli_version": "0.169.0", "source": "cli",
        "git": {"branch": "moon"}}})];
    values.extend(items.iter().map(|payload| {
        let kind = if payload["item"].is_object() { "event_msg" } else { "response_item" };
        json!({"timestamp": "2026-02-03T10:00:01.000Z", "type": kind, "payload": payload})
    }));
    lines(&values)
}

fn completed(item: Value) -> Value {
    json!({"type": "item_completed", "thread_id": THREAD, "turn_id": THREAD, "item": item})
}

fn script(id: &str, text: &str) -> Value {
    json!({"type": "custom_tool_call", "status": "completed", "call_id": id, "name": "exec", "input": text})
}

fn printed(id: &str, parts: &[&str]) -> Value {
    let head = "Script completed\nWall time 0.1 seconds\nOutput:\n";
    let parts: Vec<Value> = std::iter::once(&head).chain(parts).map(|text| json!({"type": "input_text", "text": text})).collect();
    json!({"type": "custom_tool_call_output", "call_id": id, "output": parts})
}

#[test]
fn codex_commands_that_a_script_ran_are_found_with_their_failures() {
    let memory = Memory::new();
    let build = "const result = await tools.exec_command({\"cmd\": \"sh build.sh\"});\ntext(result);";
    let result = json!({"chunk_id": "a", "exit_code": 101, "output": "error: no gauge\n"}).to_string();
    memory.write(
        "sessions/rollout-2026-02-03T10-00-00-01a20429-305e-7ff0-ab18-9f8b9540e71e.jsonl",
        rollout(&[
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "build it"}]}),
            completed(json!({"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": "build it"}]})),
            script("call_1", build),
            completed(json!({"type": "CommandExecution", "id": "exec-1", "command": ["/bin/bash", "-lc", "sh build.sh"],
                "status": "failed", "aggregated_output": "error: no gauge\n", "exit_code": 101})),
            printed("call_1", &[&result]),
            script("call_2", "await tools.apply_patch(\"*** Begin Patch\");\ntext(\"patched\");"),
            completed(json!({"type": "FileChange", "id": "exec-2", "status": "completed", "stdout": "Success.", "stderr": "",
                "changes": {"/home/dev/tide/gauge.rs": {"type": "update", "unified_diff": "+1"}}})),
            printed("call_2", &["patched"]),
            completed(json!({"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "Done."}]})),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
        ]),
    );
    let report = memory.read_as("codex", &memory.sources());
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    assert_eq!(
        told(&memory, THREAD),
        [
            "human: build it|",
            "tool_call: |exec / const result = await tools.exec_command({\"cmd\": \"sh build.sh\"}); / text(result);",
            "tool_call: |exec_command / command: sh build.sh",
            "tool_result!: |exit code 101 / error: no gauge / ",
            "tool_call: |exec / await tools.apply_patch(\"*** Begin Patch\"); / text(\"patched\");",
            "tool_call: |apply_patch / /home/dev/tide/gauge.rs / +1",
            "tool_result: |Success.",
            "tool_result: |patched",
            "assistant: Done.|",
        ]
    );
}

#[test]
fn codex_script_that_asked_this_memory_leaves_nothing_but_what_else_it_did() {
    let memory = Memory::new();
    let answer = json!({"content": [{"type": "text", "text": ANSWER}]}).to_string();
    let asked = json!({"type": "McpToolCall", "id": "exec-3", "server": "yore", "tool": "recall", "status": "completed",
        "arguments": {"question": "where does the kelp grow"}, "result": {"content": [{"type": "text", "text": ANSWER}]}});
    memory.write(
        "sessions/rollout-2026-02-03T10-00-00-01a20429-305e-7ff0-ab18-9f8b9540e71e.jsonl",
        rollout(&[
            script("call_1", "text(await tools.mcp__yore__recall({\"question\": \"where does the kelp grow\"}));"),
            completed(asked.clone()),
            printed("call_1", &[&answer]),
            script(
                "call_2",
                "text(await tools.mcp__yore__recall({question: \"kelp\"}));\ntext(await tools.exec_command({cmd: \"ls\"}));",
            ),
            completed(asked),
            // The closing mark, and text after it without a line break.
            printed("call_2", &[&format!("{ANSWER}{{\"exit_code\":1,\"output\":\"no such pier\"}}"), "seen all the same"]),
            json!({"type": "function_call", "name": "recall", "namespace": "mcp__yore", "call_id": "call_3",
                "arguments": "{\"question\":\"where does the kelp grow\"}"}),
            json!({"type": "function_call_output", "call_id": "call_3", "output": "bad arguments: unknown field [usage]"}),
        ]),
    );
    memory.read_as("codex", &memory.sources());
    let words = memory.words();
    assert!(!words.contains("kelp") && !words.contains("bad arguments"), "{words}");
    assert_eq!(
        told(&memory, THREAD),
        [
            "tool_call: |exec / text(await tools.exec_command({cmd: \"ls\"}));",
            "tool_result: |{\"exit_code\":1,\"output\":\"no such pier\"} / seen all the same"
        ]
    );
}

fn copilot_event(kind: &str, id: &str, agent: Option<&str>, data: Value) -> Value {
    let mut event = json!({"type": kind, "id": id, "timestamp": "2026-02-03T10:00:00Z", "data": data});
    if let Some(agent) = agent {
        event["agentId"] = agent.into();
    }
    event
}

#[test]
fn copilot_session_has_its_failures_its_branch_its_helpers_and_no_echo() {
    let memory = Memory::new();
    let call = |id: &str, name: &str, arguments: Value| json!({"content": "", "model": "m", "toolRequests": [{"toolCallId": id, "name": name, "arguments": arguments}]});
    let helper_id = "6d5048ff-4ae2-4851-a37a-b33d71a5e6f9";
    let helper = Some(helper_id);
    let session = "f35b3f6b-6415-4e47-9fe8-f9ccb7e8be62";
    memory.write(
        &format!("state/{session}/events.jsonl"),
        lines(&[
            copilot_event("session.start", "1", None, json!({"sessionId": session, "context": {"cwd": "/home/dev/tide", "branch": "moon"}})),
            copilot_event("user.message", "2", None, json!({"content": "build it"})),
            copilot_event("assistant.message", "3", None, call("t1", "bash", json!({"command": "make"}))),
            copilot_event("tool.execution_complete", "4", None, json!({"toolCallId": "t1", "success": true,
                "shellExecution": {"exitCode": 101}, "result": {"content": "no gauge", "detailedContent": "no gauge at all"}})),
            copilot_event("assistant.message", "5", None, call("t2", "yore-recall", json!({"question": "kelp"}))),
            copilot_event("tool.execution_complete", "6", None, json!({"toolCallId": "t2", "success": true,
                "result": {"content": format!("{ANSWER}\n\n{{\"recalled-data\":\"x\"}}"), "structuredContent": {"results": ["the kelp"]}}})),
            copilot_event("subagent.started", "7", helper, json!({})),
            copilot_event("user.message", "8", helper, json!({"content": "find the gauge", "source": format!("agent-{session}")})),
            copilot_event("assistant.message", "9", helper, json!({"content": "Found.", "toolRequests": []})),
        ]),
    );
    let report = memory.read_as("copilot-cli", &memory.sources().join("state"));
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    assert_eq!(told(&memory, session), ["human: build it|", "tool_call: |bash / command: make", "tool_result!: |no gauge"]);
    assert_eq!(told(&memory, helper_id), ["injected: find the gauge|", "assistant: Found.|"]);
    assert!(memory.turns(session).iter().all(|turn| turn.branch.as_deref() == Some("moon")));
    let inner = memory.episodes().into_iter().find(|episode| episode.native_id == helper_id).unwrap();
    assert_eq!(inner.kind, EpisodeKind::Subagent);
}

#[test]
fn cline_prompts_are_as_they_were_typed_and_failures_helpers_and_branches_are_known() {
    let memory = Memory::new();
    let result = |id: &str, content: Value| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]});
    let call = |id: &str, name: &str, input: Value| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]});
    let messages = json!({"sessionId": "1_a", "origin": {"mode": "user"}, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "<user_input mode=\"act\">build it</user_input>"}]},
        call("c1", "run_commands", json!({"commands": ["make"]})),
        result("c1", json!([{"query": "make", "result": "[Command exited with code 101]\nno gauge", "error": "Command exited with code 101", "success": false}])),
        call("c2", "yore__recall", json!({"question": "kelp"})),
        result("c2", json!([{"type": "text", "text": json!({"content": [{"type": "text", "text": ANSWER}]}).to_string()}])),
    ]});
    memory.write("sessions/1_a/1_a.messages.json", messages.to_string());
    memory.write(
        "sessions/1_a/1_a.json",
        json!({"session_id": "1_a", "cwd": "/home/dev/tide", "metadata": {"git": {"branch": "moon"}, "title": "Builds"}})
            .to_string(),
    );
    let inner = json!({"sessionId": "1_a__agent_2", "origin": {"mode": "subagent", "parentThreadId": "1_a"}, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "find the gauge"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Found."}]},
    ]});
    memory.write("sessions/1_a/agent_2.messages.json", inner.to_string());
    memory.read_as("cline", &memory.sources().join("sessions"));
    assert_eq!(
        told(&memory, "1_a"),
        [
            "human: build it|",
            "tool_call: |run_commands / commands: make",
            "tool_result!: |[Command exited with code 101] / no gauge"
        ]
    );
    assert!(memory.turns("1_a").iter().all(|turn| turn.branch.as_deref() == Some("moon")));
    assert_eq!(told(&memory, "1_a__agent_2"), ["injected: find the gauge|", "assistant: Found.|"]);
    let inner = memory.episodes().into_iter().find(|episode| episode.native_id == "1_a__agent_2").unwrap();
    assert_eq!(
        (inner.kind, inner.project.as_deref(), inner.title.as_deref()),
        (EpisodeKind::Subagent, Some("tide"), Some("find the gauge"))
    );
}

#[test]
fn continue_answers_of_tools_are_found_and_a_session_is_not_called_untitled() {
    let memory = Memory::new();
    let state = |id: &str, status: &str, text: &str| json!({"toolCallId": id, "status": status, "output": [{"content": text, "name": "Tool Result"}]});
    let session = json!({"sessionId": "s-1", "title": "Untitled Session", "workspaceDirectory": "/home/dev/tide", "history": [
        {"message": {"role": "user", "content": "build it"}},
        {"message": {"role": "assistant", "content": "", "usage": {"model": "m"}, "toolCalls": [
            {"id": "c1", "function": {"name": "Bash", "arguments": "{\"command\":\"make\"}"}}]},
         "toolCallStates": [state("c1", "errored", "Error (exit code 101): no gauge")]},
        {"message": {"role": "assistant", "content": "", "usage": {"model": "m"}, "toolCalls": [
            {"id": "c2", "function": {"name": "recall", "arguments": "{\"question\":\"gauge\"}"}}]},
         "toolCallStates": [state("c2", "done", ANSWER)]},
        {"message": {"role": "assistant", "content": "No gauge.", "usage": {"model": "m"}}},
    ]});
    memory.write("sessions/s-1.json", session.to_string());
    memory.read_as("continue", &memory.sources().join("sessions"));
    assert_eq!(
        told(&memory, "s-1"),
        [
            "human: build it|",
            "tool_call: |Bash / command: make",
            "tool_result!: |Error (exit code 101): no gauge",
            "assistant: No gauge.|"
        ]
    );
    assert_eq!(memory.episodes()[0].title.as_deref(), Some("build it"));
    assert_eq!(memory.turns("s-1")[3].model.as_deref(), Some("m"));
}

#[test]
fn gemini_tool_output_is_kept_without_what_a_hook_put_behind_it() {
    let memory = Memory::new();
    let given = ANSWER.replace('<', "&lt;").replace('>', "&gt;");
    let output = format!(
        "<untrusted_context>\nOutput: no gauge\nExit Code: 1\n</untrusted_context>\n\n<hook_context>{given}</hook_context>"
    );
    let mut call = gemini_message("b0000000-0000-4000-8000-000000000002", "gemini", json!(""));
    call["toolCalls"] = json!([{"id": "c1", "name": "run_shell_command", "args": {"command": "make"}, "status": "success",
        "result": [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": output}}}]}]);
    let prompt = gemini_message("b0000000-0000-4000-8000-000000000001", "user", json!([{"text": "build it"}]));
    memory.write("tmp/tide/chats/session-1.jsonl", gemini("s-1", &[prompt, call]));
    memory.read_as("gemini", &memory.sources());
    assert_eq!(told(&memory, "s-1")[2], "tool_result!: |Output: no gauge / Exit Code: 1");
}

#[test]
fn qwen_sessions_are_read_with_failures_branches_and_helpers() {
    let memory = Memory::new();
    let line = |uuid: u32, kind: &str, provenance: &str, parts: Value| {
        json!({"uuid": format!("b0000000-0000-4000-8000-{uuid:012}"), "sessionId": "q-1", "timestamp": "2026-02-03T10:00:05.000Z",
            "type": kind, "provenance": provenance, "cwd": "/home/dev/tide", "version": "0.24.4", "gitBranch": "main",
            "message": {"role": "user", "parts": parts}})
    };
    let mut answer = line(
        3,
        "assistant",
        "assistant_output",
        json!([{"text": "I try.", "thought": false},
        {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}}]),
    );
    answer["model"] = "tide-coder".into();
    let mut failed = line(
        4,
        "tool_result",
        "tool_result",
        json!([{"functionResponse": {"id": "c1", "name": "run_shell_command",
        "response": {"output": "no gauge"}}}]),
    );
    failed["toolCallResult"] = json!({"callId": "c1", "status": "success", "resultDisplay": {"exitCode": 101}});
    let given = format!("build it\n<qwen:user-prompt-submit-context>{ANSWER}</qwen:user-prompt-submit-context>");
    memory.write(
        "projects/-home-dev-tide/chats/q-1.jsonl",
        lines(&[
            line(1, "user", "real_user", json!([{"text": given}])),
            line(2, "system", "system", json!([])),
            answer,
            failed,
            line(5, "user", "hook", json!([{"text": "go on"}])),
        ]),
    );
    let mut errand = line(6, "user", "", json!([{"text": "find the gauge"}]));
    errand["isSidechain"] = true.into();
    errand["agentId"] = "helper-c2".into();
    memory.write("projects/-home-dev-tide/subagents/q-1/agent-helper-c2.jsonl", lines(&[errand]));
    memory.write("projects/-home-dev-tide/usage.jsonl", "{}\n");
    let report = memory.read_as("qwen", &memory.sources());
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    assert_eq!(
        told(&memory, "q-1"),
        [
            "human: build it|",
            "assistant: I try.|run_shell_command / command: make",
            "tool_result!: |no gauge",
            "injected: go on|"
        ]
    );
    let turns = memory.turns("q-1");
    assert_eq!((turns[0].branch.as_deref(), turns[1].model.as_deref()), (Some("main"), Some("tide-coder")));
    let helper = memory.episodes().into_iter().find(|episode| episode.native_id == "q-1/helper-c2").unwrap();
    assert_eq!(helper.kind, EpisodeKind::Subagent);
    assert_eq!(told(&memory, "q-1/helper-c2"), ["injected: find the gauge|"]);
}

#[test]
fn session_is_shown_by_the_beginning_of_its_id_although_its_helpers_begin_alike() {
    let memory = Memory::new();
    let line = |uuid: u32, words: &str| {
        json!({"uuid": format!("b0000000-0000-4000-8000-{uuid:012}"), "sessionId": "q-1", "timestamp": "2026-02-03T10:00:05.000Z",
            "type": "user", "cwd": "/home/dev/tide", "message": {"role": "user", "parts": [{"text": words}]}})
    };
    memory.write("projects/-home-dev-tide/chats/q-1.jsonl", lines(&[line(1, "build it")]));
    for helper in ["a", "b"] {
        let mut errand = line(if helper == "a" { 2 } else { 3 }, "find the gauge");
        errand["isSidechain"] = true.into();
        errand["agentId"] = helper.into();
        memory.write(&format!("projects/-home-dev-tide/subagents/q-1/{helper}.jsonl"), lines(&[errand]));
    }
    memory.read_as("qwen", &memory.sources());
    let engine = memory.engine();
    let shown = engine.show(&ShowRequest::new("q-".to_owned(), Surroundings::Turns(0))).unwrap();
    assert_eq!(shown.turns[0].text, "build it");
    assert!(engine.exchanges("q-").is_ok(), "the helper's session makes the id ambiguous");
}

#[test]
fn claude_code_keeps_neither_questions_to_this_memory_nor_its_errors() {
    let memory = Memory::new();
    let mut session = SessionBuilder::new(1);
    session.human("where does it grow?");
    let mut text = session.text();
    let first: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let line = |uuid: &str, kind: &str, content: Value| {
        let mut value = first.clone();
        value["uuid"] = format!("b0000000-0000-4000-8000-{uuid}").into();
        value["type"] = kind.into();
        value["message"] = json!({"id": uuid, "role": kind, "content": content});
        value
    };
    text += &lines(&[
        line(
            "000000000001",
            "assistant",
            json!([{"type": "tool_use", "id": "t1", "name": "mcp__yore__recall", "input": {"question": "kelp"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}]),
        ),
        line(
            "000000000002",
            "user",
            json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "bad arguments [usage]"}]),
        ),
        line("000000000003", "user", json!([{"type": "tool_result", "tool_use_id": "t2", "content": "pier"}])),
        json!({"type": "api-request-shape", "sessionId": first["sessionId"]}),
        json!({"type": "cost-state", "sessionId": first["sessionId"]}),
        json!({"type": "attachment", "sessionId": first["sessionId"], "attachment": {"type": "prompt_snapshot"}}),
    ]);
    memory.write("projects/p/1.jsonl", &text);
    let report = memory.read();
    assert!(report.skips.is_empty(), "{:?}", report.skips);
    let turns: Vec<(Role, String)> =
        memory.turns(first["sessionId"].as_str().unwrap()).into_iter().map(|turn| (turn.role, turn.tool_text)).collect();
    let expected = [(Role::Human, ""), (Role::ToolCall, "Bash\ncommand: ls"), (Role::ToolResult, "pier")];
    assert_eq!(turns, expected.map(|(role, text)| (role, text.to_owned())));
}
