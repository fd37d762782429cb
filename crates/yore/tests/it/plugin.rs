//! The plugin for Claude Code, and the files that are put into other agents' folders: well formed, calling
//! only known commands, and harmless if the program is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::environment::{PROGRAM, TestEnvironment};

/// Keys that the front matter of a skill may have, by Claude Code's documentation.
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

#[test]
fn the_folder_is_also_a_bundle_of_agent_plugins_that_says_the_same() {
    const FIELDS: [&str; 10] =
        ["$schema", "name", "version", "description", "author", "homepage", "repository", "license", "keywords", "extensions"];
    let (bundle, claude) = (json_of("plugin/plugin.json"), json_of("plugin/.claude-plugin/plugin.json"));
    assert_eq!(bundle["$schema"], "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json");
    for (field, value) in bundle.as_object().unwrap() {
        assert!(FIELDS.contains(&field.as_str()), "{field} is none of the form");
        assert!(field == "$schema" || *value == claude[field], "{field}");
    }
    let servers = json_of("plugin/mcp.json");
    assert_eq!(servers["$schema"], "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json");
    let mut server = servers["mcpServers"]["yore"].clone();
    assert_eq!(server.as_object_mut().unwrap().remove("type"), Some(json!("stdio")));
    assert_eq!(server, json_of("plugin/.mcp.json")["mcpServers"]["yore"]);
    for skill in names("plugin/skills") {
        assert!(read(&format!("plugin/skills/{skill}/SKILL.md")).contains(&format!("\nname: {skill}\n")), "{skill}");
    }
}

/// Returns Claude Code's input for an event.
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
        "SubagentStart" => json!({"agent_id": "a", "agent_type": "Explore"}),
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
        // As one command line, not as a list: an agent that does not support the list would run `yore` alone,
        // whose exit code 2 would block the user's prompt.
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
    assert_eq!(matcher("PreToolUse").as_deref(), Some("Bash|Read|Edit|Write|MultiEdit|NotebookEdit"));
    for event in ["UserPromptSubmit", "Stop", "SessionStart"] {
        assert_eq!(matcher(event), None, "{event} takes none, or all");
    }
}

/// Returns the fields between the first two lines of dashes, and the rest.
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
    assert_eq!(skills, ["memory-backfill", "memory-distil", "memory-stats", "memory-topics", "remember", "search"]);
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
        // The commands that the skill names are allowed.
        for command in body.split("`yore ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()) {
            let is_told_of = *name == "memory-stats" && command == "up";
            assert!(is_told_of || tools.contains(&format!("Bash(yore {command}")), "{name}: {command}");
        }
    }
    let ((search, told), (_, told_by_former_name)) = (skill("search"), skill("remember"));
    assert_eq!(search["context"], "fork");
    assert_eq!(told, told_by_former_name);
    // A model that is to store something must not search instead.
    assert!(!search.contains_key("disable-model-invocation"));
    for name in ["memory-stats", "memory-backfill", "remember"] {
        assert_eq!(skill(name).0["disable-model-invocation"], "true", "{name} is for the person to call");
    }
}

/// The plugins for agents' folders, run by node with a fake `yore`.
#[cfg(unix)]
mod plugins {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// A plugin: its body, the agent's name, and how node gets `hooks` and its arguments.
    struct Plugin {
        body: &'static str,
        agent: &'static str,
        opening: &'static str,
    }

    const OPENCODE: Plugin = Plugin {
        body: "plugin-opencode.js",
        agent: "opencode",
        opening: r#"if (Object.keys(module).length !== 1) throw new Error("every export is called as a plugin")
            const hooks = await Object.values(module)[0]({ directory: "/home/dev/tide" })
            const begin = (id, more) => hooks.event({ event: { type: "session.created", properties: { info: { id, ...more } } } })
            const message = (text, more = []) => ({ message: { id: "msg_1" }, parts: [{ id: "prt_1", sessionID: "s", messageID: "msg_1", type: "text", text }, ...more] })"#,
    };
    const CLINE: Plugin = Plugin {
        body: "plugin-cline.js",
        agent: "cline-plugin",
        opening: r#"const { hooks, setup } = module.default
            setup({}, { session: { sessionId: "s" }, workspaceInfo: { rootPath: "/home/dev/tide" } })
            const snapshot = (text) => ({ agentId: "a", messages: [{ role: "user", content: [{ type: "text", text }] }] })"#,
    };

    impl Plugin {
        /// Runs `script`, which has `hooks` and prints JSON with `tell`, with this shell script as the
        /// program. If node is missing, says so and returns `None`.
        fn run(&self, environment: &TestEnvironment, program: &str, script: &str) -> Option<Value> {
            if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
                eprintln!("skipped: there is no node to run {} with", self.body);
                return None;
            }
            let yore = environment.write("bin/yore", format!("#!/bin/sh\n{program}\n"));
            fs::set_permissions(&yore, fs::Permissions::from_mode(0o755)).unwrap();
            let text: String = ["plugin-head.js", self.body]
                .map(|name| read(&format!("crates/yore/src/agents/assets/{name}")))
                .concat()
                .replace("@YORE@", yore.to_str().unwrap())
                .replace("@AGENT@", self.agent)
                .replace("PATIENCE_MS = 3000", "PATIENCE_MS = 400");
            environment.write("work/yore.mjs", text);
            let opening = self.opening;
            let main = format!(
                "import * as module from \"./yore.mjs\"\n\
                 const tell = (value) => console.log(JSON.stringify(value))\n{opening}\n{script}\n"
            );
            environment.write("work/main.mjs", main);
            Some(environment.program("node").arg("main.mjs").run().success().json())
        }
    }

    /// Answers with its event, and records its input.
    const ECHO: &str = r#"said=$(cat); printf '%s %s\n' "$*" "$said" >>"$HOME/told"; printf 'of %s' "$3""#;
    /// Programs with every fault that a program can have.
    const FAULTY: [&str; 7] = [
        "exit 1",
        "cat >/dev/null",
        "exec 0<&-; exit 0",
        "echo words; exit 3",
        "sleep 30",
        "kill -9 $$",
        "head -c 200000 /dev/zero",
    ];

    /// Returns the commands that the program was called with, and the input of each.
    fn told(environment: &TestEnvironment) -> Vec<(String, Value)> {
        let told = fs::read_to_string(environment.path("home/told")).unwrap();
        told.lines()
            .map(|line| line.split_once(" {").unwrap())
            .map(|(words, said)| (words.to_owned(), serde_json::from_str(&format!("{{{said}")).unwrap()))
            .collect()
    }

    fn events(told: &[(String, Value)]) -> Vec<&str> {
        told.iter().map(|(words, _)| words.rsplit(' ').next().unwrap()).collect()
    }

    #[test]
    fn opencode_is_given_the_brief_once_and_an_offer_with_each_message() {
        let environment = TestEnvironment::new();
        let script = r#"await begin("s")
            const first = message("why redis?", [{ id: "prt_2", type: "text", text: "by a machine", synthetic: true }])
            await hooks["chat.message"]({ sessionID: "s" }, first)
            const second = message("\"and now?\"")
            await hooks["chat.message"]({ sessionID: "s" }, second)
            await hooks.event({ event: { type: "session.compacted", properties: { sessionID: "s" } } })
            const third = message("go on")
            await hooks["chat.message"]({ sessionID: "s" }, third)
            await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
            tell([first.parts, second.parts.at(-1).text, third.parts.at(-1).text])"#;
        let Some(parts) = OPENCODE.run(&environment, ECHO, script) else { return };
        let added = json!({
            "id": "prt_2y", "sessionID": "s", "messageID": "msg_1", "type": "text",
            "text": "of SessionStart\n\nof chat.message", "synthetic": true,
        });
        assert_eq!(parts[0][0]["text"], "why redis?", "the person's words stay as they are");
        assert_eq!(parts[0][2], added);
        assert_eq!(json!([parts[1], parts[2]]), json!(["of chat.message", "of SessionStart\n\nof chat.message"]));
        let told = told(&environment);
        assert_eq!(
            events(&told),
            ["SessionStart", "chat.message", "chat.message", "session.compacted", "SessionStart", "chat.message", "session.idle"]
        );
        assert!(told.iter().all(|(words, _)| words.starts_with("hook opencode ")), "{told:?}");
        assert_eq!(json!([told[0].1["source"], told[4].1["source"]]), json!(["startup", "compact"]));
        assert_eq!(
            told[1].1,
            json!({"hook_event_name": "chat.message", "session_id": "s", "cwd": "/home/dev/tide", "prompt": "why redis?"})
        );
        assert_eq!(told[2].1["prompt"], "and now?", "without the quotes that the command line puts there");
    }

    #[test]
    fn title_of_an_opencode_session_is_not_made_of_what_yore_gave() {
        let script = r#"await begin("s", { version: "1.18.33" })
            const first = message("why redis?")
            await hooks["chat.message"]({ sessionID: "s" }, first)
            const before = structuredClone(first.parts[1])
            await hooks["experimental.chat.messages.transform"]({}, { messages: [{ parts: first.parts }] })
            tell([before.ignored, first.parts[1].ignored])"#;
        let program = r#"printf '<recalled-data source="yore">of %s</recalled-data>' "$3""#;
        let Some(parts) = OPENCODE.run(&TestEnvironment::new(), program, script) else { return };
        assert_eq!(parts, json!([true, false]), "left out, until a request is made of the messages");
    }

    #[test]
    fn sub_agent_of_opencode_is_told_what_concerns_its_errand() {
        let environment = TestEnvironment::new();
        let script = r#"await begin("s")
            await begin("c", { parentID: "s" })
            const output = message("list all callers")
            await hooks["chat.message"]({ sessionID: "c" }, output)
            tell(output.parts.at(-1).text)"#;
        let Some(text) = OPENCODE.run(&environment, ECHO, script) else { return };
        assert_eq!(text, "of SubagentStart");
        let (_, said) = &told(&environment)[0];
        assert_eq!(json!([said["session_id"], said["agent_id"], said["prompt"]]), json!(["s", "c", "list all callers"]));
    }

    #[test]
    fn output_of_an_opencode_tool_carries_what_yore_knows_of_it() {
        let environment = TestEnvironment::new();
        let script = r#"const output = { title: "", output: "error: no gauge", metadata: { exit: 3 } }
            await hooks["tool.execute.after"]({ tool: "bash", sessionID: "s", args: { command: "make" } }, output)
            const other = { output: "fine", metadata: {} }
            await hooks["tool.execute.after"]({ tool: "glob", sessionID: "s", args: {} }, other)
            tell([output.output, other.output])"#;
        let Some(outputs) = OPENCODE.run(&environment, ECHO, script) else { return };
        assert_eq!(outputs, json!(["error: no gauge\n\nof tool.execute.after", "fine"]));
        let (_, said) = &told(&environment)[0];
        assert_eq!(json!([said["tool_name"], said["tool_response"], said["exit_code"]]), json!(["bash", "error: no gauge", 3]));
    }

    #[test]
    fn whatever_yore_does_the_message_goes_through() {
        let of_opencode = r#"const output = message("hello")
            await hooks["chat.message"]({ sessionID: "s" }, output)
            await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
            await hooks.event({ event: {} })
            const odd = { parts: [] }
            await hooks["chat.message"]({}, odd)
            const tool = { output: "no such file" }
            await hooks["tool.execute.after"]({ tool: "read", sessionID: "s" }, tool)
            await hooks["tool.execute.after"]({ tool: "read" }, {})
            await hooks["experimental.chat.messages.transform"]({}, {})
            tell([output.parts.length, odd.parts.length, tool.output])"#;
        let of_cline = r#"const given = [await hooks.beforeRun({ snapshot: snapshot("hello") }), await hooks.beforeRun({})]
            given.push(await hooks.afterTool({ snapshot: {}, tool: { name: "run_commands" }, result: { output: 7 } }))
            given.push(await hooks.afterTool({}))
            await hooks.afterRun({})
            tell(given.filter((one) => one !== undefined))"#;
        let missing = ";(await import(\"node:fs\")).rmSync(\"../bin/yore\")\n";
        for (plugin, script, expected) in [(OPENCODE, of_opencode, json!([1, 0, "no such file"])), (CLINE, of_cline, json!([]))] {
            for program in FAULTY {
                let Some(got) = plugin.run(&TestEnvironment::new(), program, script) else { return };
                assert_eq!(got, expected, "{} {program}", plugin.body);
            }
            assert_eq!(plugin.run(&TestEnvironment::new(), "", &format!("{missing}{script}")), Some(expected));
        }
    }

    #[test]
    fn cline_is_given_what_concerns_a_prompt_before_its_run_and_an_error_after_it() {
        let environment = TestEnvironment::new();
        let script = r#"const first = await hooks.beforeRun({ snapshot: snapshot("<user_input mode=\"act\">why redis?</user_input>") })
            const helper = await hooks.beforeRun({ snapshot: { ...snapshot("list all callers"), agentId: "b", parentAgentId: "a" } })
            const result = { output: [{ query: "make", result: "error: no gauge", success: false }] }
            const tool = await hooks.afterTool({ snapshot: snapshot("x"), tool: { name: "run_commands" }, input: { commands: ["make"] }, result })
            const other = await hooks.afterTool({ snapshot: snapshot("x"), tool: { name: "search" }, input: {}, result })
            tell([first, helper, tool, other ?? null])"#;
        let Some(given) = CLINE.run(&environment, ECHO, script) else { return };
        let context = |event: &str| json!({"appendContext": format!("of {event}")});
        assert_eq!(given, json!([context("UserPromptSubmit"), context("SubagentStart"), context("tool.execute.after"), null]));
        let told = told(&environment);
        assert_eq!(
            told[0].1,
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/home/dev/tide", "prompt": "why redis?"})
        );
        assert_eq!(json!([told[1].1["agent_id"], told[1].1["parent_agent_id"]]), json!(["b", "a"]));
        assert_eq!(json!([told[2].1["tool_response"], told[2].1["error"]]), json!(["error: no gauge", "error: no gauge"]));
    }

    #[test]
    fn server_that_cline_shares_is_asked_in_the_sessions_directory() {
        let script = r#"const input = (name, input) => hooks.beforeTool({ tool: { name }, input })?.input ?? null
            tell([input("yore__recall", { question: "why?" }), input("yore__recall", { project: "other" }), input("run_commands", {})])"#;
        let Some(inputs) = CLINE.run(&TestEnvironment::new(), "", script) else { return };
        assert_eq!(inputs, json!([{"question": "why?", "project": "/home/dev/tide"}, null, null]));
    }
}

#[cfg(unix)]
#[test]
fn hook_of_cline_is_named_after_its_event_and_always_answers_in_json() {
    use std::os::unix::fs::PermissionsExt;
    let asset = read("crates/yore/src/agents/assets/cline-hook.sh");
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
