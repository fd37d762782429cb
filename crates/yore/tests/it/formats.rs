//! Every format of every agent, from fixtures modelled on real histories of other people: the same little
//! conversation in each, read with and without its source named, and compared as a whole. Nothing may be
//! unread, lost, wrong or doubled.
//!
//! A fact that a format cannot express is left blank in its row. Details of a format are tested beside its
//! reader.
#![allow(clippy::print_stdout, reason = "the figures of `docs/measurements.md` are read there")]

use std::fs;

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

const PROMPT: &str = "Which port is shallow?";
const LOOKS: &str = "I look at the chart.";
const FAILURE: &str = "no such chart";
const ANSWER: &str = "Port Ellen is shallow.";
const THANKS: &str = "Then chart it.";
const HERE: &str = "/home/ada/tides";
const TITLE: &str = "Shallow ports";
const MODEL: &str = "harbour-2";
const ID: &str = "4a5b0001-3f08-4714-9c34-5c452003a142";
/// 2026-03-01T10:00:00Z
const AT: i64 = 1_772_359_200_000;

/// How a tool's failure appears in the format.
#[derive(Clone, Copy, PartialEq)]
enum Tool {
    /// Its output, and that it failed.
    Failed,
    /// Its output only.
    Told,
    /// Nothing: the format does not keep results of tools.
    Absent,
}

struct Row {
    /// Name in the report's table.
    name: &'static str,
    source: &'static str,
    files: Vec<(String, Vec<u8>)>,
    /// Path given on the command line, below the home directory.
    named: &'static str,
    session: &'static str,
    tool: Tool,
    title: bool,
    directory: bool,
    model: bool,
    /// True if each message has a time of its own.
    times: bool,
}

impl Row {
    fn new(name: &'static str, source: &'static str, named: &'static str, session: &'static str) -> Self {
        Self {
            name,
            source,
            files: Vec::new(),
            named,
            session,
            tool: Tool::Failed,
            title: true,
            directory: true,
            model: true,
            times: true,
        }
    }

    fn file(mut self, name: &str, content: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.to_owned(), content.into()));
        self
    }
}

fn time(second: i64) -> String {
    format!("2026-03-01T10:00:{second:02}.000Z")
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

fn database(fill: impl FnOnce(&Connection)) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made.db");
    let connection = Connection::open(&path).unwrap();
    fill(&connection);
    connection.close().unwrap();
    fs::read(path).unwrap()
}

fn claude_code(cwd: &str) -> String {
    let line = |second: i64, kind: &str, message: Value| {
        json!({"type": kind, "uuid": format!("00000000-0000-4000-8000-0000000000{second:02}"), "sessionId": ID, "cwd": cwd,
               "version": "2.1.14", "gitBranch": "main", "timestamp": time(second), "message": message})
    };
    let assistant = |content: Value| json!({"id": "msg_1", "role": "assistant", "model": MODEL, "content": content});
    lines(&[
        json!({"type": "summary", "summary": TITLE, "leafUuid": "00000000-0000-4000-8000-000000000001"}),
        line(1, "user", json!({"role": "user", "content": PROMPT})),
        line(
            2,
            "assistant",
            assistant(
                json!([{"type": "text", "text": LOOKS}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat chart"}}]),
            ),
        ),
        line(
            3,
            "user",
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": FAILURE}]}),
        ),
        line(
            4,
            "assistant",
            json!({"id": "msg_2", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": ANSWER}]}),
        ),
        line(5, "user", json!({"role": "user", "content": THANKS})),
    ])
}

fn codex(tool: &[Value], typed: impl Fn(&str) -> Vec<Value>) -> String {
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let mut payloads = vec![("turn_context", json!({"cwd": HERE, "model": MODEL}))];
    let response = |value: Value| {
        let kind = if value["type"] == "user_message" { "event_msg" } else { "response_item" };
        (kind, value)
    };
    payloads.extend(typed(PROMPT).into_iter().map(response));
    payloads.push(response(said(LOOKS)));
    payloads.extend(tool.iter().cloned().map(response));
    payloads.push(response(said(ANSWER)));
    payloads.extend(typed(THANKS).into_iter().map(response));
    let mut values =
        vec![json!({"timestamp": time(0), "type": "session_meta", "payload": {"id": ID, "timestamp": time(0), "cwd": HERE,
        "cli_version": "0.150.0", "source": "cli", "git": {"branch": "main"}}})];
    values.extend(
        payloads
            .into_iter()
            .enumerate()
            .map(|(at, (kind, payload))| json!({"timestamp": time(at as i64 + 1), "type": kind, "payload": payload})),
    );
    lines(&values)
}

fn codex_rows() -> Vec<Row> {
    let rollout = format!("home/.codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-{ID}.jsonl");
    let index = lines(&[json!({"id": ID, "thread_name": TITLE, "updated_at": time(9)})]);
    let user = |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let older = codex(
        &[
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"cat\",\"chart\"]}", "call_id": "c1"}),
            json!({"type": "function_call_output", "call_id": "c1", "output": json!({"output": FAILURE, "metadata": {"exit_code": 1}}).to_string()}),
        ],
        |text| vec![user(text), json!({"type": "user_message", "message": text})],
    );
    let chunk = json!({"chunk_id": "a", "exit_code": 1, "output": FAILURE}).to_string();
    let newer = codex(
        &[
            json!({"type": "custom_tool_call", "status": "completed", "call_id": "c1", "name": "exec", "input": "text(await tools.exec_command({cmd: 'cat chart'}));"}),
            json!({"type": "custom_tool_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "Script completed\nOutput:\n"}, {"type": "input_text", "text": chunk}]}),
            // None of these was written by a person.
            user(
                "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nDuration: 0.1 seconds\nOutput:\nchart.txt\n</result>\n</user_shell_command>",
            ),
            user("<skill>\nname: tides\n</skill>"),
        ],
        |text| {
            let mut typed = user(text);
            typed["content_item_kinds"] = json!(["user.text"]);
            vec![typed]
        },
    );
    let row =
        |name: &'static str| Row::new(name, "codex", "home/.codex", ID).file("home/.codex/session_index.jsonl", index.clone());
    vec![row("Codex 0.116-0.121").file(&rollout, older), row("Codex 0.14x-0.154 (`exec`)").file(&rollout, newer)]
}

fn cursor_rows() -> Vec<Row> {
    let bubble = |id: &str, kind: u8, text: &str, second: i64| json!({"_v": 3, "type": kind, "bubbleId": id, "text": text, "createdAt": time(second), "requestId": "r1"});
    let mut user = bubble("b1", 1, PROMPT, 1);
    user["modelInfo"] = json!({"modelName": MODEL});
    let mut looked = bubble("b5", 2, "", 2);
    looked["toolFormerData"] = json!({"tool": 15, "name": "run_terminal_cmd", "toolCallId": "t1", "status": "error",
        "params": "{\"command\":\"cat chart\"}", "result": json!({"output": FAILURE, "exitCode": 1}).to_string()});
    let bubbles = [user, bubble("b2", 2, LOOKS, 2), looked, bubble("b3", 2, ANSWER, 3), bubble("b4", 1, THANKS, 4)];
    let heads: Vec<Value> =
        bubbles.iter().map(|bubble| json!({"bubbleId": bubble["bubbleId"], "type": bubble["type"]})).collect();
    let composer = json!({"_v": 16, "composerId": ID, "name": TITLE, "createdAt": AT, "lastUpdatedAt": AT + 9000, "unifiedMode": "agent",
        "fullConversationHeadersOnly": heads, "conversationMap": {}, "modelConfig": {"modelName": MODEL}});
    let global = database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB); CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)",
            )
            .unwrap();
        let put = |key: String, value: &Value| {
            connection.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", params![key, value.to_string()]).unwrap();
        };
        put(format!("composerData:{ID}"), &composer);
        for bubble in &bubbles {
            put(format!("bubbleId:{ID}:{}", bubble["bubbleId"].as_str().unwrap()), bubble);
        }
        let headers =
            json!({"allComposers": [{"composerId": ID, "workspaceIdentifier": {"uri": {"fsPath": HERE, "scheme": "file"}}}]});
        connection.execute("INSERT INTO ItemTable VALUES ('composer.composerHeaders', ?1)", [headers.to_string()]).unwrap();
    });
    // The window's list repeats the prompts.
    let window = database(|connection| {
        connection.execute_batch("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)").unwrap();
        let typed = json!([{"unixMs": AT + 1000, "generationUUID": "r1", "type": "composer", "textDescription": PROMPT},
                           {"unixMs": AT + 4000, "generationUUID": "r1", "type": "composer", "textDescription": THANKS}]);
        connection.execute("INSERT INTO ItemTable VALUES ('aiService.generations', ?1)", [typed.to_string()]).unwrap();
    });
    let line = |role: &str, content: Value| json!({"role": role, "message": {"content": content}});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let query = |minute: u8, text: &str| {
        format!("<timestamp>Sunday, Mar 1, 2026, 10:{minute:02} AM (UTC+0)</timestamp>\n<user_query>\n{text}\n</user_query>")
    };
    let transcript = lines(&[
        line("user", text(&query(0, PROMPT))),
        line(
            "assistant",
            json!([{"type": "text", "text": LOOKS}, {"type": "tool_use", "name": "Shell", "input": {"command": "cat chart"}}]),
        ),
        line("assistant", text(ANSWER)),
        json!({"type": "turn_ended"}),
        line("user", text(&query(1, THANKS))),
    ]);
    let store = database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)",
            )
            .unwrap();
        let put = |data: &[u8]| {
            let hash = blake3::hash(data);
            connection.execute("INSERT INTO blobs VALUES (?1, ?2)", params![hash.to_hex().as_str(), data]).unwrap();
            *hash.as_bytes()
        };
        let info = format!("<user_info>\nOS Version: linux\nWorkspace Path: {HERE}\n</user_info>");
        let messages = [
            json!({"role": "user", "content": [{"type": "text", "text": info}]}),
            json!({"role": "user", "content": format!("<user_query>{PROMPT}</user_query>")}),
            json!({"role": "assistant", "content": [{"type": "text", "text": LOOKS}, {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"command": "cat chart"}}]}),
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": FAILURE}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}),
            json!({"role": "user", "content": format!("<user_query>{THANKS}</user_query>")}),
        ];
        let tree: Vec<u8> =
            messages.iter().flat_map(|message| [&[0x0a, 32][..], &put(message.to_string().as_bytes())].concat()).collect();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let meta =
            json!({"agentId": ID, "latestRootBlobId": hex(&put(&tree)), "name": TITLE, "createdAt": AT, "mode": "default"});
        connection.execute("INSERT INTO meta VALUES ('0', ?1)", [hex(meta.to_string().as_bytes())]).unwrap();
    });
    let panel = database(|connection| {
        connection.execute_batch("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)").unwrap();
        let said = |id: &str, kind: &str, text: &str| json!({"type": kind, "id": id, "text": text, "modelType": MODEL});
        let tabs = json!({"tabs": [{"tabId": ID, "chatTitle": TITLE, "lastSendTime": AT, "bubbles": [said("b1", "user", PROMPT),
            said("b2", "ai", LOOKS), said("b3", "ai", ANSWER), said("b4", "user", THANKS)]}]});
        let key = "workbench.panel.aichat.view.aichat.chatdata";
        connection.execute("INSERT INTO ItemTable VALUES (?1, ?2)", params![key, tabs.to_string()]).unwrap();
    });
    let copied = |name: &'static str, file: &str| {
        Row { tool: Tool::Absent, directory: false, times: false, ..Row::new(name, "cursor", "home/saved", ID) }
            .file(&format!("home/saved/{file}"), panel.clone())
            .file("home/saved/tides.md", "# Tides\n\nLow at noon.\n")
            .file("home/saved/chart.bin", b"\x7fELF\0\0\0".as_slice())
    };
    vec![
        copied("Cursor 2024 `state.vscdb`, copied among other files", "state.vscdb"),
        copied("Cursor 2024, copied under another name", "old/window-7.backup"),
        Row::new("Cursor 3.x `state.vscdb`", "cursor", "home/.config/Cursor", ID)
            .file("home/.config/Cursor/User/globalStorage/state.vscdb", global)
            .file("home/.config/Cursor/User/workspaceStorage/empty-window/state.vscdb", window),
        Row {
            tool: Tool::Told,
            model: false,
            times: false,
            ..Row::new("Cursor `store.db` without `meta.json`", "cursor", "home/.cursor", ID)
        }
        .file(&format!("home/.cursor/chats/0123abcd/{ID}/store.db"), store),
        Row {
            tool: Tool::Absent,
            title: false,
            model: false,
            directory: false,
            ..Row::new("Cursor `agent-transcripts`", "cursor", "home/.cursor", ID)
        }
        .file(&format!("home/.cursor/projects/home-ada-tides/agent-transcripts/{ID}/{ID}.jsonl"), transcript),
    ]
}

fn gemini_rows() -> Vec<Row> {
    let message = |second: i64, kind: &str, text: &str| json!({"id": format!("m{second}"), "timestamp": time(second), "type": kind, "content": text, "model": MODEL});
    let mut looks = message(2, "gemini", LOOKS);
    looks["toolCalls"] = json!([{"id": "t1", "name": "run_shell_command", "args": {"command": "cat chart"}, "status": "error",
        "result": [{"functionResponse": {"id": "t1", "name": "run_shell_command", "response": {"error": FAILURE}}}]}]);
    let messages = [message(1, "user", PROMPT), looks, message(4, "gemini", ANSWER), message(5, "user", THANKS)];
    let facts = |session: &str| json!({"sessionId": session, "projectHash": "00", "startTime": time(0), "lastUpdated": time(9), "summary": TITLE});
    let mut object = facts(ID);
    object["messages"] = messages.to_vec().into();
    let log = |session: &str| lines(&[&[facts(session)][..], &messages].concat());
    let row = |name: &'static str, session: &'static str| {
        Row::new(name, "gemini", "home/.gemini", session).file("home/.gemini/tmp/tides/.project_root", HERE)
    };
    vec![
        row("Gemini CLI `.json`", ID)
            .file("home/.gemini/tmp/tides/chats/session-2026-03-01T10-00-4a5b0001.json", object.to_string()),
        row("Gemini CLI `.jsonl`", ID).file("home/.gemini/tmp/tides/chats/session-2026-03-01T10-00-4a5b0001.jsonl", log(ID)),
        row("Gemini CLI's a2a server", "a2a-server/tides/session-1")
            .file("home/.gemini/tmp/tides/chats/session-1.jsonl", log("a2a-server")),
    ]
}

fn opencode_database(newer: bool) -> Vec<u8> {
    database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT);
                 CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
                     version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);
                 CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
                 CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);",
            )
            .unwrap();
        let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| connection.execute(sql, values).map(drop).unwrap();
        if newer {
            connection
                .execute_batch(
                    "CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
                         revert TEXT, model TEXT, time_created INTEGER, time_updated INTEGER);
                     CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,
                         time_updated INTEGER, data TEXT);",
                )
                .unwrap();
            run(
                "INSERT INTO session_v2 (id, project_id, directory, title, version, time_created, time_updated) VALUES (?1, 'p', ?2, ?3, '2.0.12', ?4, ?4)",
                &[&"ses_1", &HERE, &TITLE, &AT],
            );
            let model = json!({"id": MODEL, "providerID": "quay"});
            let tool = json!({"type": "tool", "id": "t1", "name": "shell", "state": {"status": "error", "input": {"command": "cat chart"},
                "error": {"type": "unknown", "message": FAILURE}}});
            let messages = [
                ("user", json!({"text": PROMPT})),
                ("assistant", json!({"agent": "build", "model": model, "content": [{"type": "text", "text": LOOKS}, tool]})),
                ("assistant", json!({"agent": "build", "model": model, "content": [{"type": "text", "text": ANSWER}]})),
                ("user", json!({"text": THANKS})),
            ];
            for (seq, (kind, mut data)) in messages.into_iter().enumerate() {
                let at = AT + seq as i64 * 1000;
                data["time"] = json!({"created": at});
                run(
                    "INSERT INTO session_message VALUES (?1, 'ses_1', ?2, ?3, ?4, ?4, ?5)",
                    &[&format!("msg_{seq}"), &kind, &(seq as i64), &at, &data.to_string()],
                );
            }
            return;
        }
        run(
            "INSERT INTO session (id, project_id, directory, title, version, time_created, time_updated) VALUES ('ses_1', 'p', ?1, ?2, '1.18.0', ?3, ?3)",
            &[&HERE, &TITLE, &AT],
        );
        // The ids restarted on a day in between, so their order is not that of time.
        for (seq, (id, data, parts)) in
            opencode_messages(["msg_fff1", "msg_fff2", "msg_0001", "msg_0002"]).into_iter().enumerate()
        {
            let at = AT + seq as i64 * 1000;
            run("INSERT INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)", &[&id, &at, &data.to_string()]);
            for (number, part) in parts.into_iter().enumerate() {
                run(
                    "INSERT INTO part VALUES (?1, ?2, 'ses_1', ?3, ?3, ?4)",
                    &[&format!("prt_{id}_{number}"), &id, &at, &part.to_string()],
                );
            }
        }
    })
}

/// Returns messages of OpenCode 1.x: id, data, parts.
fn opencode_messages(ids: [&str; 4]) -> Vec<(String, Value, Vec<Value>)> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let tool = json!({"type": "tool", "tool": "bash", "callID": "t1", "state": {"status": "error", "input": {"command": "cat chart"}, "error": FAILURE}});
    let said = [
        ("user", vec![text(PROMPT)]),
        ("assistant", vec![text(LOOKS), tool]),
        ("assistant", vec![text(ANSWER)]),
        ("user", vec![text(THANKS)]),
    ];
    let said = said.into_iter().zip(ids).enumerate();
    said.map(|(at, ((role, parts), id))| {
        let data = json!({"role": role, "time": {"created": AT + at as i64 * 1000}, "modelID": MODEL, "providerID": "quay"});
        (id.to_owned(), data, parts)
    })
    .collect()
}

fn opencode_rows() -> Vec<Row> {
    let row = |name: &'static str, named: &'static str| Row::new(name, "opencode", named, "ses_1");
    let at_home = "home/.local/share/opencode";
    let session = json!({"id": "ses_1", "projectID": "p", "directory": HERE, "title": TITLE, "version": "1.1.51", "time": {"created": AT, "updated": AT}});
    let mut tree = row("OpenCode JSON tree (1.1.51)", at_home)
        .file("home/.local/share/opencode/storage/session/p/ses_1.json", session.to_string());
    let mut exported = Vec::new();
    for (id, mut data, parts) in opencode_messages(["msg_1", "msg_2", "msg_3", "msg_4"]) {
        data["id"] = id.as_str().into();
        data["sessionID"] = "ses_1".into();
        tree = tree.file(&format!("home/.local/share/opencode/storage/message/ses_1/{id}.json"), data.to_string());
        let parts: Vec<Value> = parts
            .into_iter()
            .enumerate()
            .map(|(number, mut part)| {
                part["id"] = format!("prt_{id}_{number}").into();
                part["sessionID"] = "ses_1".into();
                part["messageID"] = id.as_str().into();
                part
            })
            .collect();
        for part in &parts {
            let name = part["id"].as_str().unwrap();
            tree = tree.file(&format!("home/.local/share/opencode/storage/part/{id}/{name}.json"), part.to_string());
        }
        exported.push(json!({"info": data, "parts": parts}));
    }
    vec![
        row("OpenCode 1.x database", at_home).file("home/.local/share/opencode/opencode.db", opencode_database(false)),
        tree,
        row("OpenCode 2.x database", at_home).file("home/.local/share/opencode/opencode.db", opencode_database(true)),
        row("OpenCode `export` file (1.18)", "home/saved/export.json")
            .file("home/saved/export.json", json!({"info": session, "messages": exported}).to_string()),
        Row::new("Kilo 7.x `kilo.db`", "kilo-cli", "home/.local/share/kilo", "ses_1")
            .file("home/.local/share/kilo/kilo.db", opencode_database(false)),
    ]
}

fn task_rows() -> Vec<Row> {
    let said = |second: i64, by: &str, what: &str, text: &str| json!({"ts": AT + second * 1000, "type": by, by: what, "text": text, "modelInfo": {"providerId": "quay", "modelId": MODEL}});
    let shown = json!([
        said(1, "say", "task", PROMPT),
        said(2, "say", "text", LOOKS),
        said(3, "ask", "command", "cat chart"),
        said(4, "say", "command_output", FAILURE),
        said(5, "say", "text", ANSWER),
        said(6, "say", "user_feedback", THANKS),
        said(7, "say", "error_retry", "{}"),
    ]);
    let text = |text: &str| json!({"type": "text", "text": text});
    let details = text(&format!("<environment_details>\n# Current Working Directory ({HERE}) Files\n</environment_details>"));
    let sent = json!([
        {"role": "user", "content": [text(&format!("<task>\n{PROMPT}\n</task>")), details]},
        {"role": "assistant", "content": [text(LOOKS)]},
        {"role": "user", "content": [text("[execute_command for 'cat chart'] Result:"), text(&format!("The tool execution failed with the following error:\n{FAILURE}"))]},
        {"role": "assistant", "content": [text(ANSWER)]},
        {"role": "user", "content": [text(&format!("<feedback>\n{THANKS}\n</feedback>"))]},
    ]);
    let list = |id: &str| json!([{"id": id, "ts": AT, "task": TITLE, "cwdOnTaskInitialization": HERE}]).to_string();
    let vscode = "home/.config/Code/User/globalStorage";
    let task = |name: &'static str, source: &'static str, named: &'static str, folder: &str| {
        Row { tool: Tool::Told, ..Row::new(name, source, named, "1772359200000") }
            .file(&format!("{folder}/state/taskHistory.json"), list("1772359200000"))
    };
    vec![
        task("Cline tasks", "cline", "home/.config/Code", &format!("{vscode}/saoudrizwan.claude-dev"))
            .file(&format!("{vscode}/saoudrizwan.claude-dev/tasks/1772359200000/ui_messages.json"), shown.to_string()),
        Row {
            model: false,
            times: false,
            tool: Tool::Failed,
            ..task("Cline tasks, the API's file only", "cline", "home/.config/Code", &format!("{vscode}/saoudrizwan.claude-dev"))
        }
        .file(&format!("{vscode}/saoudrizwan.claude-dev/tasks/1772359200000/api_conversation_history.json"), sent.to_string()),
        task("Cline's second place", "cline", "home/.cline/data", "home/.cline/data")
            .file("home/.cline/data/tasks/1772359200000/ui_messages.json", shown.to_string()),
        task("Roo tasks", "roo", "home/.config/Code", &format!("{vscode}/rooveterinaryinc.roo-cline"))
            .file(&format!("{vscode}/rooveterinaryinc.roo-cline/tasks/1772359200000/ui_messages.json"), shown.to_string()),
        task("Kilo legacy task folder", "kilo", "home/.config/Code", &format!("{vscode}/kilocode.kilo-code"))
            .file(&format!("{vscode}/kilocode.kilo-code/tasks/1772359200000/ui_messages.json"), shown.to_string()),
    ]
}

fn editor_rows() -> Vec<Row> {
    let call = json!([{"id": "t1", "type": "function", "function": {"name": "run", "arguments": "{\"command\":\"cat chart\"}"}}]);
    let state = json!([{"toolCallId": "t1", "status": "errored", "output": [{"name": "Terminal", "content": FAILURE}]}]);
    let authority: String = json!({"hostPath": HERE}).to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    let continued = json!({"sessionId": ID, "title": TITLE, "workspaceDirectory": format!("vscode-remote://dev-container%2B{authority}/workspaces/tides"),
    "history": [
        {"message": {"role": "user", "content": PROMPT}},
        {"message": {"role": "assistant", "content": LOOKS, "toolCalls": call}, "toolCallStates": state},
        {"message": {"role": "assistant", "content": ANSWER}},
        {"message": {"role": "user", "content": THANKS}},
    ]});
    let request = |id: &str, second: i64, text: &str, response: Value| {
        json!({"requestId": id, "timestamp": AT + second * 1000, "message": {"text": text}, "variableData": {"variables": []}, "modelId": MODEL,
               "response": response})
    };
    let chat = json!({"version": 3, "sessionId": ID, "customTitle": TITLE, "creationDate": AT, "lastMessageDate": AT + 9000, "requests": [
        request("r1", 1, PROMPT, json!([{"value": LOOKS}, {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "t1", "isComplete": true,
            "isConfirmed": {"type": 1}, "invocationMessage": "Running", "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "cat chart"},
            "terminalCommandOutput": {"text": FAILURE}, "terminalCommandState": {"exitCode": 1}}}, {"value": ANSWER}])),
        request("r2", 5, THANKS, json!([])),
    ]});
    let storage = "home/.config/Code/User/workspaceStorage/abc";
    let copilot = |name: &'static str| {
        Row::new(name, "copilot-chat", "home/.config/Code/User", ID)
            .file(&format!("{storage}/workspace.json"), json!({"folder": format!("file://{HERE}")}).to_string())
    };
    let thread = json!({"version": "0.3.0", "title": TITLE, "updated_at": time(9), "model": {"provider": "quay", "model": MODEL},
    "initial_project_snapshot": {"worktree_snapshots": [{"worktree_path": HERE, "git_state": {"current_branch": "main"}}]},
    "messages": [
        {"User": {"id": "u1", "content": [{"Text": PROMPT}]}},
        {"Agent": {"content": [{"Text": LOOKS}, {"ToolUse": {"id": "t1", "name": "terminal", "raw_input": "{}", "input": {"command": "cat chart"}, "is_input_complete": true}}],
                   "tool_results": {"t1": {"tool_use_id": "t1", "tool_name": "terminal", "is_error": true, "content": {"Text": FAILURE}, "output": null}}}},
        {"Agent": {"content": [{"Text": ANSWER}], "tool_results": {}}},
        {"User": {"id": "u2", "content": [{"Text": THANKS}]}},
    ]});
    let zed = database(|connection| {
        connection
            .execute_batch("CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB)")
            .unwrap();
        let data = zstd::encode_all(thread.to_string().as_bytes(), 3).unwrap();
        connection.execute("INSERT INTO threads VALUES (?1, ?2, ?3, 'zstd', ?4)", params![ID, TITLE, time(9), data]).unwrap();
    });
    vec![
        Row { model: false, times: false, ..Row::new("Continue (2024-2026)", "continue", "home/.continue", ID) }
            .file(&format!("home/.continue/sessions/{ID}.json"), continued.to_string()),
        copilot("Copilot Chat `.json` v3").file(&format!("{storage}/chatSessions/{ID}.json"), chat.to_string()),
        copilot("Copilot Chat `.jsonl`")
            .file(&format!("{storage}/chatSessions/{ID}.jsonl"), lines(&[json!({"kind": 0, "v": chat})])),
        Row { times: false, ..Row::new("Zed `threads.db` v0.3.0", "zed", "home/.local/share/zed", ID) }
            .file("home/.local/share/zed/threads/threads.db", zed),
    ]
}

fn copilot_cli_rows() -> Vec<Row> {
    let event = |second: i64, kind: &str, data: Value| json!({"type": kind, "id": format!("e{second}"), "timestamp": time(second), "parentId": null, "data": data});
    let events = lines(&[
        event(
            0,
            "session.start",
            json!({"sessionId": ID, "context": {"cwd": HERE, "gitRoot": HERE, "branch": "main"}, "selectedModel": MODEL}),
        ),
        event(1, "user.message", json!({"content": format!("<current_datetime>{}</current_datetime>\n{PROMPT}", time(1))})),
        event(
            2,
            "assistant.message",
            json!({"content": LOOKS, "model": MODEL, "toolRequests": [{"toolCallId": "t1", "name": "bash", "arguments": {"command": "cat chart"}}]}),
        ),
        event(3, "tool.execution_complete", json!({"toolCallId": "t1", "success": false, "error": {"message": FAILURE}})),
        event(4, "assistant.message", json!({"content": ANSWER, "model": MODEL})),
        event(5, "user.message", json!({"content": THANKS})),
    ]);
    let yaml = format!("id: {ID}\ncwd: {HERE}\nname: \"{TITLE}\"\n");
    vec![
        Row::new("Copilot CLI `session-state/<id>/events.jsonl`", "copilot-cli", "home/.copilot", ID)
            .file(&format!("home/.copilot/session-state/{ID}/events.jsonl"), events.clone())
            .file(&format!("home/.copilot/session-state/{ID}/workspace.yaml"), yaml),
        Row { title: false, ..Row::new("Copilot CLI `session-state/<id>.jsonl`", "copilot-cli", "home/.copilot", ID) }
            .file(&format!("home/.copilot/session-state/{ID}.jsonl"), events),
    ]
}

/// Pi and the agents that keep its format.
fn pi_rows() -> Vec<Row> {
    let entries = |header: &Value, more: &[Value]| {
        let entry = |second: i64, kind: &str| {
            json!({"type": kind, "id": format!("e{second}"), "timestamp": time(second),
            "parentId": if second > 1 { json!(format!("e{}", second - 1)) } else { Value::Null }})
        };
        let message = |second: i64, message: Value| {
            let mut entry = entry(second, "message");
            entry["message"] = message;
            entry
        };
        let text = |text: &str| json!({"type": "text", "text": text});
        let said = |content: Value| json!({"role": "assistant", "content": content, "model": MODEL, "provider": "quay", "usage": {"input": 1}});
        let mut model = entry(1, "model_change");
        model["modelId"] = MODEL.into();
        let mut values = vec![header.clone(), model];
        values.extend(more.iter().cloned());
        values.extend([
            message(2, json!({"role": "user", "content": [text(PROMPT)]})),
            message(
                3,
                said(json!([{"type": "thinking", "thinking": "a chart"}, text(LOOKS),
                    {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "cat chart"}}])),
            ),
            message(4, json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [text(FAILURE)], "isError": true})),
            message(5, said(json!([text(ANSWER)]))),
            message(6, json!({"role": "user", "content": THANKS})),
        ]);
        lines(&values)
    };
    let header = json!({"type": "session", "version": 3, "id": ID, "timestamp": time(0), "cwd": HERE});
    let mut titled = header.clone();
    titled["title"] = TITLE.into();
    let name = json!({"type": "session_info", "id": "n1", "parentId": "e1", "timestamp": time(1), "name": TITLE});
    let file = format!("2026-03-01T10-00-00-000Z_{ID}.jsonl");
    vec![
        Row::new("Pi v3", "pi", "home/.pi", ID)
            .file(&format!("home/.pi/agent/sessions/--home-ada-tides--/{file}"), entries(&header, &[name])),
        Row::new("Oh My Pi v3", "omp", "home/.omp", ID)
            .file(&format!("home/.omp/agent/sessions/-tides/{file}"), entries(&titled, &[])),
        Row { title: false, ..Row::new("OpenClaw", "openclaw", "home/.openclaw", ID) }
            .file(&format!("home/.openclaw/agents/main/sessions/{ID}.jsonl"), entries(&header, &[]))
            .file("home/.openclaw/agents/main/sessions/sessions.json", json!({"agent:main:main": {"sessionId": ID}}).to_string()),
    ]
}

/// Agents with a folder of events for each session.
fn event_rows() -> Vec<Row> {
    let kimi = lines(&[
        json!({"type": "metadata", "protocol_version": "1.4", "created_at": AT}),
        json!({"type": "config.update", "modelAlias": MODEL, "time": AT}),
        json!({"type": "turn.prompt", "input": [{"type": "text", "text": PROMPT}], "origin": {"kind": "user"}, "time": AT + 1000}),
        json!({"type": "context.append_message", "message": {"role": "user", "content": [{"type": "text", "text": PROMPT}], "origin": {"kind": "user"}}, "time": AT + 1000}),
        json!({"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": "s1"}, "time": AT + 2000}),
        json!({"type": "context.append_loop_event", "event": {"type": "content.part", "part": {"type": "think", "think": "a chart"}}, "time": AT + 2000}),
        json!({"type": "context.append_loop_event", "event": {"type": "content.part", "part": {"type": "text", "text": LOOKS}}, "time": AT + 2000}),
        json!({"type": "context.append_loop_event", "event": {"type": "tool.call", "toolCallId": "t1", "name": "Shell", "args": {"command": "cat chart"}}, "time": AT + 2000}),
        json!({"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": "t1", "result": {"output": FAILURE, "isError": true}}, "time": AT + 3000}),
        json!({"type": "context.append_loop_event", "event": {"type": "step.end", "uuid": "s1"}, "time": AT + 3000}),
        json!({"type": "context.append_loop_event", "event": {"type": "step.begin", "uuid": "s2"}, "time": AT + 4000}),
        json!({"type": "context.append_loop_event", "event": {"type": "content.part", "part": {"type": "text", "text": ANSWER}}, "time": AT + 4000}),
        json!({"type": "context.append_message", "message": {"role": "user", "content": THANKS, "origin": {"kind": "user"}}, "time": AT + 5000}),
    ]);
    let state = json!({"title": TITLE, "isCustomTitle": false, "workDir": HERE, "createdAt": time(0)});
    let older = |second: i64, kind: &str, payload: Value| json!({"timestamp": (AT + second * 1000) as f64 / 1000.0, "message": {"type": kind, "payload": payload}});
    let older = lines(&[
        json!({"type": "metadata", "protocol_version": "1.1"}),
        older(1, "TurnBegin", json!({"user_input": PROMPT})),
        older(2, "StepBegin", json!({"n": 1})),
        older(2, "ContentPart", json!({"type": "text", "text": LOOKS})),
        older(
            2,
            "ToolCall",
            json!({"type": "function", "id": "t1", "function": {"name": "Shell", "arguments": "{\"command\": \"cat"}}),
        ),
        older(2, "ToolCallPart", json!({"arguments_part": " chart\"}"})),
        older(2, "StatusUpdate", json!({"context_usage": 0.1})),
        older(
            3,
            "ToolResult",
            json!({"tool_call_id": "t1", "return_value": {"is_error": true, "output": FAILURE, "message": "failed"}}),
        ),
        older(4, "StepBegin", json!({"n": 2})),
        older(4, "ContentPart", json!({"type": "text", "text": ANSWER})),
        older(4, "TurnEnd", json!({})),
        older(5, "TurnBegin", json!({"user_input": [{"type": "text", "text": THANKS}]})),
    ]);
    let listed = json!({"work_dirs": [{"path": HERE, "last_session_id": ID}]});
    let call =
        json!([{"id": "t1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"cat chart\"}"}}]);
    let vibe = lines(&[
        json!({"role": "user", "content": PROMPT, "message_id": "m1"}),
        json!({"role": "assistant", "content": LOOKS, "message_id": "m2", "tool_calls": call}),
        json!({"role": "tool", "content": FAILURE, "name": "bash", "tool_call_id": "t1", "message_id": "m3"}),
        json!({"role": "assistant", "content": ANSWER, "message_id": "m4", "reasoning_content": "a chart"}),
        json!({"role": "user", "content": THANKS, "message_id": "m5"}),
        json!({"role": "user", "content": "Remember the rules.", "message_id": "m6", "injected": true}),
    ]);
    let meta = json!({"session_id": ID, "start_time": time(0), "git_branch": "main", "environment": {"working_directory": HERE},
        "config": {"active_model": MODEL}, "title": TITLE, "title_source": "auto"});
    let update = |second: i64, update: Value| json!({"timestamp": AT / 1000 + second, "method": "session/update", "params": {"sessionId": ID, "update": update}});
    let chunk = |second: i64, by: &str, text: &str| {
        update(second, json!({"sessionUpdate": format!("{by}_message_chunk"), "content": {"type": "text", "text": text}}))
    };
    let stream = lines(&[
        chunk(1, "user", PROMPT),
        update(2, json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "a chart"}})),
        chunk(2, "agent", &LOOKS[..6]),
        chunk(2, "agent", &LOOKS[6..]),
        update(
            2,
            json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "cat chart", "kind": "execute", "status": "pending", "rawInput": {"command": "cat chart"}}),
        ),
        update(
            3,
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "failed", "content": [{"type": "content", "content": {"type": "text", "text": FAILURE}}]}),
        ),
        chunk(4, "agent", ANSWER),
        chunk(5, "user", THANKS),
    ]);
    let context = lines(&[
        json!({"type": "system", "content": "You are a pilot."}),
        json!({"type": "user", "content": [{"type": "text", "text": "The rules."}], "synthetic_reason": "project_instructions"}),
        json!({"type": "user", "content": [{"type": "text", "text": PROMPT}], "prompt_index": 0}),
        json!({"type": "reasoning", "id": "r1", "summary": []}),
        json!({"type": "assistant", "content": LOOKS, "tool_calls": [{"id": "t1", "name": "read_file", "arguments": "{\"target_file\":\"chart\"}"}], "model_id": MODEL}),
        json!({"type": "tool_result", "tool_call_id": "t1", "content": FAILURE}),
        json!({"type": "assistant", "content": ANSWER, "model_id": MODEL}),
        json!({"type": "user", "content": [{"type": "text", "text": THANKS}], "prompt_index": 1}),
    ]);
    let summary = json!({"info": {"id": ID, "cwd": HERE}, "generated_title": TITLE, "created_at": time(0), "current_model_id": MODEL, "head_branch": "main"});
    let grok = |name: &'static str| {
        Row::new(name, "grok", "home/.grok", ID)
            .file(&format!("home/.grok/sessions/%2Fhome%2Fada%2Ftides/{ID}/summary.json"), summary.to_string())
    };
    let session = format!("home/.kimi-code/sessions/wd_tides_0123456789ab/{ID}");
    vec![
        Row::new("Kimi Code `wire.jsonl` 1.4", "kimi", "home/.kimi-code", ID)
            .file(&format!("{session}/agents/main/wire.jsonl"), kimi)
            .file(&format!("{session}/state.json"), state.to_string()),
        Row { title: false, model: false, ..Row::new("Kimi CLI `wire.jsonl`", "kimi", "home/.kimi", ID) }
            .file(&format!("home/.kimi/sessions/0123abcd/{ID}/wire.jsonl"), older)
            .file("home/.kimi/kimi.json", listed.to_string()),
        Row { tool: Tool::Told, times: false, ..Row::new("Mistral Vibe", "vibe", "home/.vibe", ID) }
            .file("home/.vibe/logs/session/session_1/messages.jsonl", vibe)
            .file("home/.vibe/logs/session/session_1/meta.json", meta.to_string()),
        grok("Grok Build `updates.jsonl`").file(&format!("home/.grok/sessions/%2Fhome%2Fada%2Ftides/{ID}/updates.jsonl"), stream),
        Row { tool: Tool::Told, times: false, ..grok("Grok Build `chat_history.jsonl`") }
            .file(&format!("home/.grok/sessions/%2Fhome%2Fada%2Ftides/{ID}/chat_history.jsonl"), context),
    ]
}

fn block_rows() -> Vec<Row> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let said = |second: i64, role: &str, content: Value| json!({"type": "message", "id": format!("m{second}"), "timestamp": time(second), "message": {"role": role, "content": content}});
    let droid = lines(&[
        json!({"type": "session_start", "id": ID, "title": "new", "sessionTitle": TITLE, "cwd": HERE, "version": 2}),
        said(1, "user", json!([text("<system-reminder>rules</system-reminder>"), text(PROMPT)])),
        said(
            2,
            "assistant",
            json!([{"type": "thinking", "thinking": "a chart"}, text(LOOKS), {"type": "tool_use", "id": "t1", "name": "Execute", "input": {"command": "cat chart"}}]),
        ),
        said(3, "user", json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": FAILURE}])),
        said(4, "assistant", json!([text(ANSWER)])),
        said(5, "user", json!([text(THANKS)])),
    ]);
    let kiro = |kind: &str, id: &str, content: Value| json!({"version": "v1", "kind": kind, "data": {"message_id": id, "content": content}});
    let words = |text: &str| json!({"kind": "text", "data": text});
    let mut prompt = kiro("Prompt", "m1", json!([words(PROMPT)]));
    prompt["data"]["meta"] = json!({"timestamp": AT / 1000 + 1});
    let mut thanks = kiro("Prompt", "m5", json!([words(THANKS)]));
    thanks["data"]["meta"] = json!({"timestamp": AT / 1000 + 5});
    let result = json!({"toolUseId": "t1", "status": "success", "content": [{"kind": "json", "data": {"exit_status": "exit status: 1", "stdout": "", "stderr": FAILURE}}]});
    let older = lines(&[
        prompt,
        kiro(
            "AssistantMessage",
            "m2",
            json!([words(LOOKS), {"kind": "toolUse", "data": {"toolUseId": "t1", "name": "shell", "input": {"command": "cat chart"}}}]),
        ),
        kiro("ToolResults", "m3", json!([{"kind": "toolResult", "data": result}])),
        kiro("AssistantMessage", "m4", json!([words(ANSWER)])),
        thanks,
    ]);
    let newer = |second: i64, payload: Value| json!({"id": format!("m{second}"), "timestamp": time(second), "payload": payload});
    let newer = lines(&[
        newer(1, json!({"type": "user", "content": PROMPT})),
        newer(2, json!({"type": "assistant", "content": LOOKS, "reasoningModelId": MODEL})),
        newer(3, json!({"type": "tool_call", "toolCallId": "t1", "toolName": "shell", "args": {"command": "cat chart"}})),
        newer(4, json!({"type": "tool_result", "toolCallId": "t1", "content": FAILURE, "isError": true})),
        newer(5, json!({"type": "assistant", "content": ANSWER, "reasoningModelId": MODEL})),
        newer(6, json!({"type": "user", "content": THANKS})),
    ]);
    let facts = json!({"session_id": ID, "cwd": HERE, "title": TITLE, "created_at": time(0)});
    let specstory = format!(
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# {TITLE} (2026-03-01 10:00Z)\n\n\
         <!-- Claude Code Session {ID} (2026-03-01 10:00:00Z) -->\n\n\
         _**User (2026-03-01 10:00:01Z)**_\n\n{PROMPT}\n\n---\n\n\
         _**Agent ({MODEL} 2026-03-01 10:00:02Z)**_\n\n<think><details><summary>Thought Process</summary>\na chart</details></think>\n\n\
         _**Agent ({MODEL} 2026-03-01 10:00:02Z)**_\n\n{LOOKS}\n\n\
         _**Agent ({MODEL} 2026-03-01 10:00:03Z)**_\n\n<tool-use data-tool-type=\"shell\" data-tool-name=\"Bash\"><details>\n\
         <summary>Tool use: **Bash**</summary>\n`cat chart`\n\n```text\n_**User**_\n<tool_use_error>{FAILURE}</tool_use_error>\n```\n\
         </details></tool-use>\n\n\
         _**Agent ({MODEL} 2026-03-01 10:00:04Z)**_\n\n{ANSWER}\n\n---\n\n\
         _**User (2026-03-01 10:00:05Z)**_\n\n{THANKS}\n\n---\n"
    );
    vec![
        Row::new("Factory Droid", "droid", "home/.factory", ID)
            .file(&format!("home/.factory/sessions/-home-ada-tides/{ID}.jsonl"), droid)
            .file(&format!("home/.factory/sessions/-home-ada-tides/{ID}.settings.json"), json!({"model": MODEL}).to_string()),
        Row { model: false, ..Row::new("Kiro `sessions/cli`", "kiro", "home/.kiro", ID) }
            .file(&format!("home/.kiro/sessions/cli/{ID}.jsonl"), older)
            .file(&format!("home/.kiro/sessions/cli/{ID}.json"), facts.to_string()),
        Row { title: false, directory: false, ..Row::new("Kiro v3", "kiro", "home/.kiro", ID) }
            .file(&format!("home/.kiro/sessions/0123abcd/sess_{ID}/messages.jsonl"), newer),
        Row::new("SpecStory 2.1", "specstory", "home/tides", "specstory/4a5b0001-3f08-4714-9c34-5c452003a142")
            .file("home/tides/.specstory/history/2026-03-01_10-00-00Z-which-port.md", specstory),
    ]
}

fn goose_rows() -> Vec<Row> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"type": "toolRequest", "id": "t1", "toolCall": {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "cat chart"}}}});
    let result = json!({"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": {"isError": true, "content": [
        {"type": "text", "text": FAILURE, "annotations": {"audience": ["assistant"]}},
        {"type": "text", "text": FAILURE, "annotations": {"audience": ["user"]}}]}}});
    let messages = [
        ("user", json!([text(PROMPT)])),
        ("assistant", json!([text(LOOKS), call])),
        ("user", json!([result])),
        ("assistant", json!([text(ANSWER)])),
        ("user", json!([text(THANKS)])),
    ];
    let seconds = AT / 1000;
    let stored = database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, user_set_name BOOLEAN, session_type TEXT, working_dir TEXT, created_at TIMESTAMP, model_config_json TEXT);
                 CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT)",
            )
            .unwrap();
        let model = json!({"model_name": MODEL}).to_string();
        connection
            .execute(
                "INSERT INTO sessions VALUES ('20260301_1', ?1, '', 0, 'user', ?2, '2026-03-01 10:00:00', ?3)",
                params![TITLE, HERE, model],
            )
            .unwrap();
        for (second, (role, content)) in messages.iter().enumerate() {
            connection
                .execute(
                    "INSERT INTO messages VALUES (NULL, NULL, '20260301_1', ?1, ?2, ?3, NULL)",
                    params![role, content.to_string(), seconds + second as i64],
                )
                .unwrap();
        }
    });
    let header = json!({"description": TITLE, "working_dir": HERE, "message_count": 5, "total_tokens": null});
    let told = messages.iter().enumerate().map(
        |(second, (role, content))| json!({"id": null, "role": role, "created": seconds + second as i64, "content": content}),
    );
    let written = lines(&[header].into_iter().chain(told).collect::<Vec<_>>());
    let at_home = "home/.local/share/goose/sessions";
    vec![
        Row::new("goose `sessions.db` (1.10 and later)", "goose", at_home, "20260301_1")
            .file(&format!("{at_home}/sessions.db"), stored.clone()),
        Row { model: false, ..Row::new("goose `sessions/*.jsonl`", "goose", at_home, "20260301_1") }
            .file(&format!("{at_home}/20260301_1.jsonl"), written.clone()),
        // The upgrade leaves the files that it copied.
        Row::new("goose, both", "goose", at_home, "20260301_1")
            .file(&format!("{at_home}/sessions.db"), stored)
            .file(&format!("{at_home}/20260301_1.jsonl"), written),
    ]
}

fn row_database_rows() -> Vec<Row> {
    let at = |second: i64| AT / 1000 + second;
    let calls =
        json!([{"id": "t1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"cat chart\"}"}}]);
    let hermes = database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, started_at REAL, title TEXT, cwd TEXT, git_branch TEXT);
                 CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1, compacted INTEGER DEFAULT 0)",
            )
            .unwrap();
        connection
            .execute("INSERT INTO sessions VALUES (?1, 'cli', ?2, ?3, ?4, ?5, 'main')", params![ID, MODEL, at(0), TITLE, HERE])
            .unwrap();
        let put = |second: i64, role: &str, content: &str, call: Option<&str>, calls: Option<String>| {
            connection
                .execute(
                    "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![ID, role, content, call, calls, call.map(|_| "terminal"), at(second) as f64 + 0.25],
                )
                .unwrap();
        };
        put(1, "user", PROMPT, None, None);
        put(2, "assistant", LOOKS, None, Some(calls.to_string()));
        put(3, "tool", &json!({"output": FAILURE, "exit_code": 1}).to_string(), Some("t1"), None);
        put(4, "assistant", ANSWER, None, None);
        put(5, "user", THANKS, None, None);
    });
    let part = |kind: &str, data: Value| json!({"type": kind, "data": data});
    let text = |text: &str| part("text", json!({"text": text}));
    let crush = database(|connection| {
        connection
            .execute_batch(
                "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
                 CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL, model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER NOT NULL DEFAULT 0)",
            )
            .unwrap();
        connection.execute("INSERT INTO sessions VALUES (?1, NULL, ?2, ?3, ?3)", params![ID, TITLE, at(0)]).unwrap();
        let put = |second: i64, role: &str, mut parts: Vec<Value>| {
            parts.push(part("finish", json!({"reason": "stop", "time": 0})));
            connection
                .execute(
                    "INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                    params![format!("m{second}"), ID, role, Value::Array(parts).to_string(), MODEL, at(second)],
                )
                .unwrap();
        };
        put(1, "user", vec![text(PROMPT)]);
        let call = json!({"id": "t1", "name": "bash", "input": "{\"command\":\"cat chart\"}", "finished": true});
        put(2, "assistant", vec![part("reasoning", json!({"thinking": "hm"})), text(LOOKS), part("tool_call", call)]);
        put(
            3,
            "tool",
            vec![part("tool_result", json!({"tool_call_id": "t1", "name": "bash", "content": FAILURE, "is_error": true}))],
        );
        put(4, "assistant", vec![text(ANSWER)]);
        put(5, "user", vec![text(THANKS)]);
    });
    vec![
        Row::new("Hermes `state.db`", "hermes", "home/.hermes", ID).file("home/.hermes/state.db", hermes.clone()),
        Row::new("Hermes `profiles/*/state.db`", "hermes", "home/.hermes", ID)
            .file("home/.hermes/profiles/pilot/state.db", hermes),
        Row::new("Crush `.crush/crush.db`", "crush", "home/tides", ID).file("home/tides/.crush/crush.db", crush),
    ]
}

fn deepseek_rows() -> Vec<Row> {
    let event =
        |second: i64, kind: &str, data: Value| json!({"type": kind, "seq": second, "time": AT + second * 1000, "data": data});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let by = |kind: &str, words: &str| json!({"role": "user", "source": {"kind": kind}, "content": text(words)});
    let model = json!({"kind": "model", "provider": "quay", "model": MODEL});
    let said = |words: &str| json!({"turn": 1, "message": {"role": "assistant", "source": model, "content": text(words)}});
    let result = json!({"turn": 1, "message": {"role": "tool", "source": {"kind": "tool", "callId": "t1"}, "toolCallId": "t1", "content": text(FAILURE), "isError": true}});
    let events = [
        json!({"type": "session", "version": 3, "id": format!("session-{ID}"), "createdAt": AT, "cwd": HERE, "delegationDepth": 0}),
        event(1, "session/title", json!({"title": TITLE, "source": {"kind": "model"}})),
        event(2, "user/message", by("user", PROMPT)),
        event(3, "user/message", by("plugin", "The sandbox is the harbour.")),
        event(4, "assistant/chunk", json!({"turn": 1, "chunk": {"type": "text-delta", "text": LOOKS}})),
        event(5, "assistant/message", said(LOOKS)),
        event(6, "tool/call", json!({"turn": 1, "callId": "t1", "name": "bash", "arguments": "{\"command\":\"cat chart\"}"})),
        event(7, "tool/result", result),
        event(8, "assistant/message", said(ANSWER)),
        event(9, "turn/end", json!({"turn": 1, "reason": {"kind": "completed"}})),
        event(10, "user/message", by("user", THANKS)),
    ];
    // The program writes each batch of lines as a frame.
    let frames: Vec<u8> = events.chunks(3).flat_map(|batch| zstd::encode_all(lines(batch).as_bytes(), 3).unwrap()).collect();
    let session: &'static str = "session-4a5b0001-3f08-4714-9c34-5c452003a142";
    let folder = format!("home/.dsh/sessions/--home-ada-tides--/{session}");
    let row = |name: &'static str| Row::new(name, "deepseek", "home/.dsh", session);
    vec![
        row("DeepSeek Harness `session.jsonl.zstd`").file(&format!("{folder}/session.v3.jsonl.zstd"), frames.clone()),
        row("DeepSeek Harness `session.jsonl`").file(&format!("{folder}/session.jsonl"), lines(&events)),
        row("DeepSeek Harness, migrated")
            .file(&format!("{folder}/session.jsonl.zstd"), zstd::encode_all(&b"{}\n"[..], 3).unwrap())
            .file(&format!("{folder}/session.v3.jsonl.zstd"), frames),
    ]
}

fn other_rows() -> Vec<Row> {
    let message = |id: &str, sender: &str, second: i64, content: Value| json!({"uuid": id, "sender": sender, "text": "", "content": content, "created_at": time(second), "attachments": [], "files": []});
    let text = |text: &str| json!({"type": "text", "text": text});
    let conversations = json!([{"uuid": ID, "name": TITLE, "summary": "", "created_at": time(0), "updated_at": time(9), "account": {"uuid": "a"}, "chat_messages": [
        message("m1", "human", 1, json!([text(PROMPT)])),
        message("m2", "assistant", 2, json!([text(LOOKS), {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "chart"}},
            {"type": "tool_result", "tool_use_id": "t1", "name": "search", "is_error": true, "content": [{"type": "text", "text": FAILURE, "uuid": "5eed"}]}])),
        message("m3", "assistant", 4, json!([text(ANSWER)])),
        message("m4", "human", 5, json!([text(THANKS)])),
    ]}]);
    let step = |at: i64, source: &str, kind: &str, content: &str| json!({"step_index": at, "source": source, "type": kind, "status": "DONE", "created_at": time(at), "content": content});
    let mut looks = step(2, "MODEL", "PLANNER_RESPONSE", LOOKS);
    looks["tool_calls"] =
        json!([{"name": "run_command", "args": {"CommandLine": "\"cat chart\"", "Cwd": format!("\"{HERE}\"")}}]);
    let antigravity = lines(&[
        step(1, "USER_EXPLICIT", "USER_INPUT", &format!("<USER_REQUEST>\n{PROMPT}\n</USER_REQUEST>")),
        looks,
        step(3, "MODEL", "RUN_COMMAND", &format!("Created At: x\nCompleted At: y\n{FAILURE}\nExit code: 1")),
        step(4, "MODEL", "PLANNER_RESPONSE", ANSWER),
        step(5, "USER_EXPLICIT", "USER_INPUT", &format!("<USER_REQUEST>\n{THANKS}\n</USER_REQUEST>")),
    ]);
    vec![
        Row::new("Claude Code 2.1.x", "claude-code", "home/.claude", ID)
            .file(&format!("home/.claude/projects/-home-ada-tides/{ID}.jsonl"), claude_code(HERE)),
        Row::new("Claude Code 2.1.x, a worktree on Windows", "claude-code", "home/.claude", ID).file(
            &format!("home/.claude/projects/C--Users-ada-tides--claude-worktrees-eloquent-shtern/{ID}.jsonl"),
            claude_code(r"C:\Users\ada\tides\.claude\worktrees\eloquent-shtern"),
        ),
        Row { directory: false, model: false, ..Row::new("Claude.ai export", "claude-ai", "home/export", ID) }
            .file("home/export/conversations.json", conversations.to_string())
            .file(
                "home/export/users.json",
                json!([{"uuid": "a", "full_name": "Ada", "email_address": "ada@example.org"}]).to_string(),
            ),
        Row {
            title: false,
            model: false,
            ..Row::new("Antigravity `transcript.jsonl`", "antigravity", "home/.gemini/antigravity", ID)
        }
        .file(&format!("home/.gemini/antigravity/brain/{ID}/.system_generated/logs/transcript.jsonl"), antigravity),
    ]
}

/// Returns the differences from the conversation, in words.
fn faults(row: &Row, environment: &TestEnvironment) -> Vec<String> {
    let shown = environment.yore(["show", row.session, "--json"]).run();
    if !shown.status.success() {
        let sessions = environment.yore(["sessions", "--json"]).run().stdout;
        return vec![format!("not read; there is {}", sessions.trim())];
    }
    let shown = shown.json();
    let turns = shown["turns"].as_array().unwrap();
    let mut faults = Vec::new();
    let mut expect = |what: &str, found: Value, expected: Value| {
        if found != expected {
            faults.push(format!("{what}: {found} instead of {expected}"));
        }
    };
    let of =
        |roles: &[&str]| -> Vec<&Value> { turns.iter().filter(|turn| roles.contains(&turn["role"].as_str().unwrap())).collect() };
    let texts =
        |turns: &[&Value]| json!(turns.iter().map(|turn| turn["text"].clone()).filter(|text| text != "").collect::<Vec<_>>());
    expect("prompts", texts(&of(&["human"])), json!([PROMPT, THANKS]));
    let answers = of(&["assistant"]);
    let said = answers.iter().map(|turn| turn["text"].as_str().unwrap()).filter(|text| !text.is_empty()).collect::<Vec<_>>();
    // An answer may be one turn even if it called tools in between.
    expect(
        "answers",
        said.join("\n").split_whitespace().collect::<Vec<_>>().join(" ").into(),
        format!("{LOOKS} {ANSWER}").into(),
    );
    // Some formats keep a call and its result together.
    let results = of(&["tool_result", "tool_call", "assistant"]);
    let told: Vec<bool> = results
        .iter()
        .filter(|turn| turn["tool_text"].as_str().unwrap().contains(FAILURE))
        .map(|turn| turn["is_error"] == true)
        .collect();
    let expected = match row.tool {
        Tool::Failed => json!([true]),
        Tool::Told => json!([false]),
        Tool::Absent => json!([]),
    };
    expect("results of tools", json!(told), expected);
    if row.title {
        expect("title", turns[0]["title"].clone(), TITLE.into());
    }
    if row.directory {
        expect("project", turns[0]["project"].clone(), "tides".into());
    }
    if row.model {
        expect("model", answers.last().map_or(Value::Null, |turn| turn["model"].clone()), MODEL.into());
    }
    if row.times {
        let times: Vec<&str> = turns.iter().filter_map(|turn| turn["time"].as_str()).collect();
        expect(
            "times",
            json!([times.len() == turns.len(), times.is_sorted(), times.first() < times.last()]),
            json!([true, true, true]),
        );
    }
    let sessions = environment.yore(["sessions", "--subagents", "--json"]).run().json();
    expect("sessions", json!(sessions.as_array().unwrap().len()), 1.into());
    faults
}

fn all_rows() -> Vec<Row> {
    [
        other_rows(),
        codex_rows(),
        cursor_rows(),
        gemini_rows(),
        opencode_rows(),
        task_rows(),
        editor_rows(),
        copilot_cli_rows(),
        pi_rows(),
        event_rows(),
        block_rows(),
        goose_rows(),
        row_database_rows(),
        deepseek_rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn every_format_is_read_whole_once_and_rightly_with_its_source_named_and_without() {
    let mut wrong = Vec::new();
    for row in &all_rows() {
        for is_named in [true, false] {
            let environment = TestEnvironment::new();
            for (name, content) in &row.files {
                environment.write(name, content);
            }
            let path = environment.path(row.named);
            let ingest = || {
                let runner = environment.yore(["ingest", "--json"]).arg(&path);
                let outcome = if is_named { runner.args(["--source", row.source]) } else { runner }.run();
                if outcome.stdout.is_empty() { json!({"error": outcome.stderr}) } else { outcome.json() }
            };
            let report = ingest();
            let mut found = faults(row, &environment);
            if report["skips"].as_array().is_none_or(|skips| !skips.is_empty())
                || report["failures"].as_array().is_none_or(|list| !list.is_empty())
            {
                found.push(format!("passed over: {} {} {}", report["skips"], report["failures"], report["error"]));
            }
            let again = ingest();
            if again["turns_added"] != 0 {
                found.push(format!("doubled: {} turns more at the second reading", again["turns_added"]));
            }
            let how = if is_named { "named" } else { "guessed" };
            println!("{}, {how}: {}", row.name, if found.is_empty() { "whole".to_owned() } else { found.join("; ") });
            if !found.is_empty() {
                wrong.push(format!("{}, {how}: {}", row.name, found.join("\n    ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Ingests a path with the source of a row, whether or not it fails.
fn ingest(environment: &TestEnvironment, row: &Row, path: &str) -> Value {
    let outcome = environment.yore(["ingest", "--json", "--source", row.source]).arg(environment.path(path)).run();
    if outcome.stdout.is_empty() { json!({"error": outcome.stderr}) } else { outcome.json() }
}

#[cfg(unix)]
#[test]
fn histories_that_people_keep_behind_links_are_read_once_in_every_format() {
    use std::os::unix::fs::symlink;
    let mut wrong = Vec::new();
    // A folder in which files are looked for by their content is a person's own: links in it are not followed.
    for row in all_rows().iter().filter(|row| row.named != "home/saved" && row.files.iter().all(|(name, _)| name != row.named)) {
        for is_folder_linked in [true, false] {
            let environment = TestEnvironment::new();
            let (root, disk) = (environment.path(row.named), row.named.replacen("home/", "disk/", 1));
            for (name, content) in &row.files {
                let below = name.strip_prefix(row.named).unwrap().trim_start_matches('/');
                let real = environment.write(&format!("{disk}/{below}"), content);
                if !is_folder_linked {
                    let link = root.join(below);
                    fs::create_dir_all(link.parent().unwrap()).unwrap();
                    symlink(real, link).unwrap();
                }
            }
            if is_folder_linked {
                // Every entry of the folder is a link, and one leads in a circle.
                fs::create_dir_all(&root).unwrap();
                for entry in fs::read_dir(environment.path(&disk)).unwrap().flatten() {
                    symlink(entry.path(), root.join(entry.file_name())).unwrap();
                }
                symlink(&root, environment.path(&disk).join("back")).unwrap();
            }
            symlink(&root, root.join("circle")).unwrap();
            symlink("/nowhere/at/all.jsonl", root.join("dangling.jsonl")).unwrap();
            let report = ingest(&environment, row, row.named);
            let mut found = faults(row, &environment);
            if report["skips"] != json!([]) || report["failures"] != json!([]) {
                found.push(format!("passed over: {report}"));
            }
            if !found.is_empty() {
                let how = if is_folder_linked { "folders" } else { "files" };
                wrong.push(format!("{}, linked {how}: {}", row.name, found.join("\n    ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns a lesser copy of a file: its first lines, or the beginning of a file that is no text of lines. A database and a file of
/// facts beside a history have none.
fn shorter(content: &[u8]) -> Option<Vec<u8>> {
    if content.starts_with(b"SQLite") || content.len() < 400 {
        return None;
    }
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    Some(if lines.len() > 2 { lines[..lines.len() / 2 + 1].concat() } else { content[..content.len() * 2 / 3].to_vec() })
}

#[test]
fn shorter_copy_empty_file_or_emptied_database_takes_back_nothing_that_was_said_in_any_format() {
    let mut wrong = Vec::new();
    for row in &all_rows() {
        for is_shorter_first in [false, true] {
            let environment = TestEnvironment::new();
            let lesser = || {
                for (name, content) in row.files.iter().filter(|(_, content)| !content.starts_with(b"SQLite")) {
                    let content = shorter(content).unwrap_or_else(|| content.clone());
                    environment.write(&name.replacen("home/", "copy/", 1), content);
                }
                fs::create_dir_all(environment.path("copy")).unwrap();
                ingest(&environment, row, &row.named.replacen("home/", "copy/", 1));
            };
            let whole = || {
                for (name, content) in &row.files {
                    environment.write(name, content);
                }
                ingest(&environment, row, row.named);
            };
            let mut steps: Vec<(&str, Vec<String>)> = Vec::new();
            if is_shorter_first {
                lesser();
                whole();
                steps.push(("a shorter copy before", faults(row, &environment)));
            } else {
                whole();
                lesser();
                steps.push(("a shorter copy after", faults(row, &environment)));
                for (name, content) in &row.files {
                    match shorter(content) {
                        Some(content) => drop(environment.write(name, content)),
                        None if content.starts_with(b"SQLite") => empty_database(&environment.path(name)),
                        None => {}
                    }
                }
                ingest(&environment, row, row.named);
                steps.push(("the file was shortened", faults(row, &environment)));
                for (name, _) in &row.files {
                    environment.write(name, "");
                }
                ingest(&environment, row, row.named);
                steps.push(("the file was emptied", faults(row, &environment)));
                whole();
                steps.push(("the file came back", faults(row, &environment)));
            }
            for (how, found) in steps {
                if !found.is_empty() {
                    wrong.push(format!("{}, {how}: {}", row.name, found.join("\n    ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Removes all rows of a database.
fn empty_database(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    for table in tables(&connection) {
        connection.execute(&format!("DELETE FROM \"{table}\""), []).unwrap();
    }
}

fn tables(connection: &Connection) -> Vec<String> {
    let mut query = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Returns a file with each JSON value in it changed: a file of JSON or JSON lines, or the cells of a database that hold JSON.
/// Other files stay as they are.
fn changed(content: &[u8], change: &dyn Fn(&mut Value)) -> Vec<u8> {
    let of_text = |text: &str| -> Option<String> {
        let values: Option<Vec<Value>> = serde_json::Deserializer::from_str(text).into_iter().map(Result::ok).collect();
        let mut values =
            values.filter(|values| !values.is_empty() && values.iter().all(|value| value.is_object() || value.is_array()))?;
        values.iter_mut().for_each(change);
        Some(if values.len() == 1 { values[0].to_string() } else { lines(&values) })
    };
    if let Ok(text) = std::str::from_utf8(content)
        && !text.starts_with("SQLite")
    {
        return of_text(text).map_or_else(|| content.to_vec(), String::into_bytes);
    }
    if !content.starts_with(b"SQLite") {
        return content.to_vec();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made.db");
    fs::write(&path, content).unwrap();
    let connection = Connection::open(&path).unwrap();
    for table in tables(&connection) {
        let mut query = connection.prepare(&format!("SELECT rowid, * FROM \"{table}\"")).unwrap();
        let columns: Vec<String> = query.column_names().skip(1).map(str::to_owned).collect();
        let mut cells: Vec<(i64, String, String)> = Vec::new();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for (at, column) in columns.iter().enumerate() {
                if let Some(text) = row.get_ref(at + 1).unwrap().as_str().ok().and_then(of_text) {
                    cells.push((row.get(0).unwrap(), column.clone(), text));
                }
            }
        }
        for (id, column, text) in cells {
            connection.execute(&format!("UPDATE \"{table}\" SET \"{column}\" = ?1 WHERE rowid = ?2"), params![text, id]).unwrap();
        }
    }
    connection.close().unwrap();
    fs::read(path).unwrap()
}

/// Changes every text in a value.
fn change_texts(value: &mut Value, change: &dyn Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|item| change_texts(item, change)),
        Value::Object(members) => members.values_mut().for_each(|item| change_texts(item, change)),
        _ => {}
    }
}

/// Divides the block of a prompt so that a private passage begins in one block, goes on behind a picture, and ends in another.
fn divide_prompt(value: &mut Value) {
    if let Value::Array(list) = value {
        // A message has more members than a block of one.
        let is_prompt =
            |item: &Value| item.as_object().is_some_and(|block| block.len() < 4 && block.values().any(|text| text == PROMPT));
        if let Some(at) = list.iter().position(is_prompt) {
            let part = |words: &str| {
                let mut block = list[at].clone();
                change_texts(&mut block, &|text| {
                    if text == PROMPT {
                        words.clone_into(text);
                    }
                });
                block
            };
            let parts = [
                part("<private>the client is Zanzibar One"),
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}),
                part(&format!("and Zanzibar Two</private> {PROMPT}")),
            ];
            list.splice(at..=at, parts);
        }
    }
    match value {
        Value::Array(list) => list.iter_mut().for_each(divide_prompt),
        Value::Object(members) => members.values_mut().for_each(divide_prompt),
        _ => {}
    }
}

#[test]
fn private_passage_stays_out_in_every_format_whether_in_one_text_or_divided_by_a_picture() {
    let whole = format!("<private>the client is Zanzibar One\nand Zanzibar Two</private> {PROMPT}");
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for row in &all_rows() {
        for is_divided in [false, true] {
            let environment = TestEnvironment::new();
            let mut has_words = false;
            for (name, content) in &row.files {
                let content = changed(content, &|value| {
                    if is_divided {
                        divide_prompt(value);
                    } else {
                        change_texts(value, &|text| *text = text.replace(PROMPT, &whole));
                    }
                });
                has_words |= content.windows(8).any(|bytes| bytes == b"Zanzibar");
                environment.write(name, content);
            }
            if !has_words {
                continue;
            }
            tried += 1;
            ingest(&environment, row, row.named);
            let shown = environment.yore(["show", row.session, "--json"]).run();
            let original = environment.yore(["show", row.session, "--original"]).run().stdout;
            let how = if is_divided { "divided" } else { "in one text" };
            if shown.stdout.contains("Zanzibar") || original.contains("Zanzibar") {
                wrong.push(format!("{}, {how}: told: {original}", row.name));
            }
            if !shown.stdout.contains(PROMPT) {
                wrong.push(format!("{}, {how}: the words behind it are lost: {} {}", row.name, shown.stdout, shown.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= 55, "{tried} readings held it");
}

#[test]
fn ciphertext_in_a_call_is_told_by_its_length_in_every_format() {
    let cipher = format!("gAAAA{}", "Bq7-_x".repeat(100));
    let (mut wrong, mut tried) = (Vec::new(), 0);
    // Heads of answers, which repeat the call, are not told.
    for row in all_rows().iter().filter(|row| row.name != "Cline tasks, the API's file only") {
        let environment = TestEnvironment::new();
        let mut has_cipher = false;
        for (name, content) in &row.files {
            let content = changed(content, &|value| change_texts(value, &|text| *text = text.replace("cat chart", &cipher)));
            has_cipher |= content.windows(cipher.len()).any(|bytes| bytes == cipher.as_bytes());
            environment.write(name, content);
        }
        if !has_cipher {
            continue;
        }
        tried += 1;
        ingest(&environment, row, row.named);
        let shown = environment.yore(["show", row.session, "--json"]).run().stdout;
        if shown.contains("gAAAA") || !shown.contains("[encrypted, 605 letters]") {
            wrong.push(format!("{}: {shown}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {tried} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= 30, "{tried} formats held it");
}
