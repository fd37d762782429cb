//! The plugin for Claude Code, and what is put into other agents' folders: well formed, calling
//! only what the program knows, and harmless when it is not there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::{PROGRAM, TestEnvironment};

/// What the front matter of a skill may hold, by Claude Code's documentation.
const FRONT_MATTER: [&str; 7] =
    ["name", "description", "argument-hint", "context", "agent", "allowed-tools", "disable-model-invocation"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json_of(name: &str) -> Value {
    serde_json::from_str(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &str) -> Vec<String> {
    let folder = repository().join(folder);
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn manifests_name_the_plugin_and_the_programs_version() {
    let manifest = json_of("plugin/.claude-plugin/plugin.json");
    assert_eq!((&manifest["name"], &manifest["version"]), (&json!("yore"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!(names("plugin/.claude-plugin"), ["plugin.json"], "only the manifest lies there");
    let marketplace = json_of(".claude-plugin/marketplace.json");
    assert!(marketplace["name"].is_string() && marketplace["owner"]["name"].is_string(), "{marketplace}");
    let plugins = marketplace["plugins"].as_array().unwrap();
    assert_eq!(plugins.len(), 1);
    assert_eq!(json!([plugins[0]["name"], plugins[0]["version"]]), json!(["yore", env!("CARGO_PKG_VERSION")]));
    let source = plugins[0]["source"].as_str().unwrap();
    assert!(source.starts_with("./") && repository().join(source).join(".claude-plugin/plugin.json").is_file(), "{source}");
    assert_eq!(json_of("plugin/.mcp.json"), json!({"mcpServers": {"yore": {"command": "yore", "args": ["mcp"]}}}));
}

/// What Claude Code says with an event.
fn said(event: &str, environment: &TestEnvironment) -> Value {
    let mut said = json!({
        "session_id": "3f0c", "transcript_path": environment.path("home/3f0c.jsonl"), "cwd": environment.path("work"),
        "permission_mode": "default", "hook_event_name": event,
    });
    let more = match event {
        "SessionStart" => json!({"source": "startup", "model": "m"}),
        "UserPromptSubmit" => json!({"prompt": "where is the tide table?"}),
        "PreToolUse" => {
            json!({"tool_name": "Edit", "tool_input": {"file_path": "/x/y.rs", "old_string": "a", "new_string": "b"}, "tool_use_id": "t"})
        }
        "PostToolUse" => {
            json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {"stdout": "", "stderr": "error: no rule"}, "tool_use_id": "t"})
        }
        "PostToolUseFailure" => {
            json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "error": "error: no rule", "tool_use_id": "t"})
        }
        "PreCompact" => json!({"trigger": "auto", "custom_instructions": ""}),
        "PostCompact" => json!({"trigger": "auto", "compact_summary": "words"}),
        "SubagentStop" => json!({"stop_hook_active": false, "agent_id": "a", "agent_transcript_path": "/x/agent-a.jsonl"}),
        "Stop" => json!({"stop_hook_active": false, "last_assistant_message": "done"}),
        "SessionEnd" => json!({"reason": "other"}),
        other => panic!("what is said with {other} is not known here"),
    };
    said.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    said
}

#[test]
fn hooks_call_the_program_with_events_that_it_knows() {
    let hooks = json_of("plugin/hooks/hooks.json");
    for (event, groups) in hooks["hooks"].as_object().unwrap() {
        let groups = groups.as_array().unwrap();
        assert_eq!(groups.len(), 1, "{event}");
        let handlers = groups[0]["hooks"].as_array().unwrap();
        assert_eq!(handlers.len(), 1, "{event}");
        let handler = &handlers[0];
        assert_eq!(handler["type"], "command");
        // In words, not as a list: what does not know the list would run `yore` alone, whose exit code
        // 2 would block the person's prompt.
        assert_eq!(handler["command"], json!(format!("yore hook claude-code {event}")));
        let timeout = handler["timeout"].as_u64().unwrap();
        assert!((1..=10).contains(&timeout), "{event}: {timeout}");
        let environment = TestEnvironment::new();
        fs::create_dir(environment.data()).unwrap();
        let said = said(event, &environment).to_string();
        let words: Vec<&str> = handler["command"].as_str().unwrap().split(' ').skip(1).collect();
        let outcome = environment.yore(words).env("YORE_DAEMON__USE", "no").stdin(said).run().success();
        assert_eq!(outcome.stderr, "", "{event}");
        let is_silent = outcome.stdout.trim().is_empty();
        assert!(is_silent || outcome.json().is_object(), "{event}: {}", outcome.stdout);
        let waiting = fs::read_dir(environment.data().join("spool")).map_or(0, Iterator::count);
        assert_eq!(waiting, 1, "{event} is not known");
    }
    let matcher = |event: &str| hooks["hooks"][event][0]["matcher"].as_str().map(str::to_owned);
    assert_eq!(matcher("PreToolUse").as_deref(), Some("Edit|Write|MultiEdit|NotebookEdit"));
    for event in ["UserPromptSubmit", "Stop", "SessionStart"] {
        assert_eq!(matcher(event), None, "{event} takes none, or all");
    }
}

/// The fields between the first two lines of dashes, and the rest.
fn skill(name: &str) -> (BTreeMap<String, String>, String) {
    let text = read(&format!("plugin/skills/{name}/SKILL.md"));
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let fields = head.lines().map(|line| {
        let (key, value) = line.split_once(": ").unwrap_or_else(|| panic!("{name}: {line}"));
        (key.to_owned(), value.trim_matches('"').to_owned())
    });
    (fields.collect(), body.to_owned())
}

#[test]
fn skills_keep_to_the_limits_and_name_commands_that_exist() {
    let skills = names("plugin/skills");
    assert_eq!(skills, ["memory-backfill", "memory-stats", "remember"]);
    let environment = TestEnvironment::new();
    for name in &skills {
        let (fields, body) = skill(name);
        assert_eq!(&fields["name"], name);
        assert!(fields.keys().all(|key| FRONT_MATTER.contains(&key.as_str())), "{name}: {fields:?}");
        assert!((20..=1024).contains(&fields["description"].len()), "{name}");
        assert!(body.lines().count() < 500, "{name}");
        let tools = &fields["allowed-tools"];
        let commands: Vec<&str> = tools.split("Bash(yore ").skip(1).filter_map(|rest| rest.split([' ', ')']).next()).collect();
        assert!(!commands.is_empty(), "{name}");
        for command in commands {
            environment.yore([command, "--help"]).run().success();
        }
        // What is told to run is allowed.
        for command in body.split("`yore ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()) {
            let is_told_of = *name == "memory-stats" && command == "up";
            assert!(is_told_of || tools.contains(&format!("Bash(yore {command}")), "{name}: {command}");
        }
    }
    let (remember, _) = skill("remember");
    assert_eq!(remember["context"], "fork");
    for name in ["memory-stats", "memory-backfill"] {
        assert_eq!(skill(name).0["disable-model-invocation"], "true", "{name} is for the person to call");
    }
}

/// What is put into OpenCode's folder, run by node with a `yore` that answers as told.
#[cfg(unix)]
mod opencode {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    const ASSET: &str = "crates/yore/src/install/assets/opencode-yore.js";

    /// Whether there is a node; it is told where there is none.
    fn has_node() -> bool {
        let has = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
        if !has {
            eprintln!("skipped: there is no node to run {ASSET} with");
        }
        has
    }

    /// Runs `script`, which has `hooks` and prints JSON, with a program that is this shell script.
    fn run(environment: &TestEnvironment, program: &str, script: &str) -> Value {
        let yore = environment.write("bin/yore", format!("#!/bin/sh\n{program}\n"));
        fs::set_permissions(&yore, fs::Permissions::from_mode(0o755)).unwrap();
        let asset = read(ASSET).replace("@YORE@", yore.to_str().unwrap()).replace("PATIENCE_MS = 3000", "PATIENCE_MS = 400");
        environment.write("work/yore.mjs", asset);
        let main = format!(
            "import * as module from \"./yore.mjs\"\n\
             if (Object.keys(module).length !== 1) throw new Error(\"every export is called as a plugin\")\n\
             const hooks = await Object.values(module)[0]({{ directory: \"/home/dev/tide\" }})\n\
             const message = (text, more = []) => ({{ message: {{ id: \"msg_1\" }}, parts: [{{ id: \"prt_1\", sessionID: \"s\", messageID: \"msg_1\", type: \"text\", text }}, ...more] }})\n\
             const tell = (value) => console.log(JSON.stringify(value))\n{script}\n"
        );
        environment.write("work/main.mjs", main);
        environment.program("node").arg("main.mjs").run().success().json()
    }

    /// Answers with its event, and writes down what it was told.
    const ECHO: &str = r#"said=$(cat); printf '%s %s\n' "$*" "$said" >>"$HOME/told"; printf '{"hookSpecificOutput":{"additionalContext":"of %s"}}' "$3""#;

    #[test]
    fn message_gets_the_brief_once_and_an_offer_each_time() {
        if !has_node() {
            return;
        }
        let environment = TestEnvironment::new();
        let parts = run(
            &environment,
            ECHO,
            r#"await hooks.event({ event: { type: "session.created", properties: { info: { id: "s" } } } })
            const first = message("why redis?", [{ id: "prt_2", type: "text", text: "by a machine", synthetic: true }])
            await hooks["chat.message"]({ sessionID: "s" }, first)
            const second = message("and now?")
            await hooks["chat.message"]({ sessionID: "s" }, second)
            await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
            const third = message("go on")
            await hooks["chat.message"]({ sessionID: "s" }, third)
            await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
            tell([first.parts, second.parts.at(-1).text, third.parts.at(-1).text])"#,
        );
        let added = json!({
            "id": "prt_2y", "sessionID": "s", "messageID": "msg_1", "type": "text",
            "text": "of SessionStart\n\nof chat.message", "synthetic": true,
        });
        assert_eq!(parts[0][0]["text"], "why redis?", "the person's words stay as they are");
        assert_eq!(parts[0][2], added);
        assert_eq!(json!([parts[1], parts[2]]), json!(["of chat.message", "of SessionStart\n\nof chat.message"]));
        let told = fs::read_to_string(environment.path("home/told")).unwrap();
        let told: Vec<(String, Value)> = told
            .lines()
            .map(|line| line.split_once(" {").unwrap())
            .map(|(words, said)| (words.to_owned(), serde_json::from_str(&format!("{{{said}")).unwrap()))
            .collect();
        let events: Vec<&str> = told.iter().map(|(words, _)| words.as_str()).collect();
        assert_eq!(
            events,
            [
                "hook opencode SessionStart",
                "hook opencode chat.message",
                "hook opencode chat.message",
                "hook opencode SessionStart",
                "hook opencode chat.message",
                "hook opencode session.idle"
            ]
        );
        assert_eq!(json!([told[0].1["source"], told[3].1["source"]]), json!(["startup", "compact"]));
        assert_eq!(
            told[1].1,
            json!({"hook_event_name": "chat.message", "session_id": "s", "cwd": "/home/dev/tide", "prompt": "why redis?"})
        );
    }

    #[test]
    fn whatever_yore_does_the_message_goes_through() {
        if !has_node() {
            return;
        }
        let script = r#"const output = message("hello")
            const began = Date.now()
            await hooks["chat.message"]({ sessionID: "s" }, output)
            await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
            await hooks.event({ event: {} })
            const odd = { parts: [] }
            await hooks["chat.message"]({}, odd)
            tell([output.parts.length, odd.parts.length])"#;
        for program in [
            "exit 1",
            "cat >/dev/null",
            "exec 0<&-; echo '{'",
            "echo '{\"hookSpecificOutput\":{\"additionalContext\":7}}'",
            "echo words; exit 3",
            "sleep 30",
            "kill -9 $$",
            "head -c 200000 /dev/zero",
        ] {
            assert_eq!(run(&TestEnvironment::new(), program, script), json!([1, 0]), "{program}");
        }
        let missing = script.replacen("const output", ";(await import(\"node:fs\")).rmSync(\"../bin/yore\")\nconst output", 1);
        assert_eq!(run(&TestEnvironment::new(), "", &missing), json!([1, 0]));
    }

    #[test]
    fn sessions_inside_sessions_are_given_nothing() {
        if !has_node() {
            return;
        }
        let parts = run(
            &TestEnvironment::new(),
            ECHO,
            r#"await hooks.event({ event: { type: "session.created", properties: { info: { id: "s", parentID: "p" } } } })
            const output = message("list all callers")
            await hooks["chat.message"]({ sessionID: "s" }, output)
            tell(output.parts.length)"#,
        );
        assert_eq!(parts, json!(1));
    }
}

#[cfg(unix)]
#[test]
fn hook_of_cline_is_named_after_its_event_and_always_answers_in_json() {
    use std::os::unix::fs::PermissionsExt;
    let asset = read("crates/yore/src/install/assets/cline-hook.sh");
    let environment = TestEnvironment::new();
    fs::create_dir(environment.data()).unwrap();
    let place = |name: &str, yore: &str| {
        let path = environment.write(name, asset.replace("@YORE@", yore));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let said = json!({"hookName": "TaskComplete", "taskId": "1772355600000", "workspaceRoots": ["/home/dev/tide"]}).to_string();
    let complete = place("hooks/TaskComplete", PROGRAM);
    let outcome = environment.program(&complete).env("YORE_DAEMON__USE", "no").stdin(&said).run().success();
    assert_eq!(outcome.json(), json!({"cancel": false}));
    let event = fs::read_dir(environment.data().join("spool")).unwrap().next().unwrap().unwrap().path();
    let event: Value = serde_json::from_slice(&fs::read(event).unwrap()).unwrap();
    assert_eq!(json!([event["agent"], event["event"], event["session_id"]]), json!(["cline", "TaskComplete", "1772355600000"]));
    let missing = place("hooks/TaskStart", "/nowhere/yore");
    assert_eq!(environment.program(&missing).stdin(&said).run().success().json(), json!({"cancel": false}));
    let speaking = environment.write("bin/yore", "#!/bin/sh\nprintf '{\"contextModification\":\"%s\"}' \"$3\"");
    fs::set_permissions(&speaking, fs::Permissions::from_mode(0o755)).unwrap();
    let start = place("hooks/TaskStart", speaking.to_str().unwrap());
    assert_eq!(environment.program(&start).stdin(&said).run().success().json(), json!({"contextModification": "TaskStart"}));
}
