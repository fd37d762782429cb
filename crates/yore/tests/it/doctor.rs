//! `yore doctor` runs the commands that agents run (hooks, servers, status lines) and checks the daemon.

use std::fs;

use serde_json::{Value, json};

use crate::environment::{Outcome, PROGRAM, TestEnvironment};
use crate::transcript::Transcript;

const SESSION: &str = "4a5b0001-3f08-4714-9c34-5c452003a142";

/// A computer with a memory of one session.
fn computer() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let directory = environment.path("work").to_str().unwrap().to_owned();
    Transcript::new(SESSION, &directory).human("when is high water").assistant("At noon.").write(&environment.projects());
    environment.ingest(&environment.projects());
    environment
}

/// Writes Claude Code's settings with these hooks: event, command, seconds.
fn enter(environment: &TestEnvironment, hooks: &[(&str, String, u64)]) {
    let hooks: serde_json::Map<String, Value> = hooks
        .iter()
        .map(|(event, command, timeout)| {
            ((*event).to_owned(), json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]))
        })
        .collect();
    environment.write("home/.claude/settings.json", json!({"hooks": hooks}).to_string());
}

/// Enters a server for Claude Code.
fn enter_server(environment: &TestEnvironment, program: &str) {
    let servers = json!({"mcpServers": {"yore": {"type": "stdio", "command": program, "args": ["mcp"]}}});
    environment.write("home/.claude.json", servers.to_string());
}

/// Makes a program called yore that reports this version and otherwise runs the shell script.
#[cfg(unix)]
fn pretender(environment: &TestEnvironment, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let version = env!("CARGO_PKG_VERSION");
    let text = format!("#!/bin/sh\ncase \"$1\" in --version) echo yore {version}; exit;; esac\n{script}\n");
    let path = environment.write("bin/yore", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn doctor(environment: &TestEnvironment, arguments: &[&str]) -> Outcome {
    environment.yore(["doctor", "--json"]).args(arguments).run()
}

/// Returns the findings with a code: severity and text.
fn of(outcome: &Outcome, code: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = outcome.json();
    let found = findings.as_array().unwrap().iter().filter(|finding| finding["code"] == code);
    found.map(|finding| (text(&finding["severity"]), text(&finding["text"]))).collect()
}

fn broken(text: &str) -> (String, String) {
    ("broken".to_owned(), text.to_owned())
}

#[test]
fn hooks_servers_and_status_lines_are_run_and_nothing_is_left_of_it() {
    let environment = computer();
    let hook = |event: &str| format!("\"{PROGRAM}\" hook claude-code {event}");
    let hooks = ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"].map(|event| (event, hook(event), 10));
    enter(&environment, &hooks);
    let path = environment.path("home/.claude/settings.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    settings["statusLine"] = json!({"type": "command", "command": format!("\"{PROGRAM}\" status-line")});
    fs::write(&path, settings.to_string()).unwrap();
    enter_server(&environment, PROGRAM);
    let outcome = doctor(&environment, &[]);
    let findings = outcome.json();
    let find = |code: &str| findings.as_array().unwrap().iter().find(|finding| finding["code"] == code).unwrap();
    assert_ne!(find("hook")["severity"], "broken", "{findings}");
    let ran: Vec<&Value> = find("hook")["hooks"].as_array().unwrap().iter().map(|hook| &hook["event"]).collect();
    assert_eq!(ran, ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"]);
    assert!(find("hook")["text"].as_str().unwrap().starts_with("claude-code: 5 hooks answer: SessionStart "), "{findings}");
    assert_eq!(find("mcp")["severity"], "fine", "{findings}");
    assert!(find("mcp")["tools"].as_array().unwrap().contains(&json!("recall")), "{findings}");
    assert!(find("status-line")["text"].as_str().unwrap().contains("yore · work · nothing given"), "{findings}");
    assert!(of(&outcome, "version").is_empty(), "{findings}");
    assert_eq!(find("capture")["agent"], "claude-code");
    let given = fs::read_dir(environment.data().join("given")).into_iter().flatten().filter_map(Result::ok);
    assert_eq!(given.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl")).count(), 0, "it was given nothing");
    assert!(!environment.data().join("spool").exists(), "nobody is told of it");
}

#[test]
fn all_is_well_after_an_install_in_every_agent() {
    let environment = computer();
    let agents = ["claude-code", "cursor", "codex", "gemini", "opencode", "vscode", "copilot-cli", "windsurf", "zed", "cline"];
    fs::create_dir_all(environment.path("home/.config/Code/User")).unwrap();
    environment.yore(["install", "--status-line"]).args(agents).run().success();
    let outcome = doctor(&environment, &[]);
    let findings = outcome.json();
    let told: Vec<&Value> = findings.as_array().unwrap().iter().collect();
    let is_of_agents =
        |finding: &&&Value| ["hook", "mcp", "status-line", "agents", "version"].contains(&finding["code"].as_str().unwrap());
    for finding in told.iter().filter(is_of_agents) {
        assert_ne!(finding["severity"], "broken", "{finding}");
    }
    let tried: Vec<&str> =
        told.iter().filter(|finding| finding["code"] == "hook").filter_map(|finding| finding["agent"].as_str()).collect();
    for agent in ["claude-code", "cursor", "codex", "gemini", "opencode", "copilot-cli", "windsurf"] {
        assert!(tried.contains(&agent), "{agent}: {tried:?}");
    }
    #[cfg(unix)]
    assert!(tried.contains(&"cline"), "{tried:?}");
    // The same command is the same server.
    let servers: Vec<&&Value> = told.iter().filter(|finding| finding["code"] == "mcp").collect();
    assert_eq!(servers.len(), 1, "{servers:?}");
    assert!(servers[0]["agents"].as_array().unwrap().len() >= 8, "{servers:?}");
    assert!(!environment.data().join("spool").exists() && !environment.data().join("given").exists(), "it left a trace");
    environment.yore(["uninstall", "all"]).run().success();
    assert_eq!(of(&doctor(&environment, &[]), "agents"), [("note".to_owned(), "no agent calls yore yet".to_owned())]);
}

#[test]
fn computer_without_yore_is_told_how_to_get_it_into_its_agents() {
    let outcome = doctor(&computer(), &[]);
    assert_eq!(of(&outcome, "agents"), [("note".to_owned(), "no agent calls yore yet".to_owned())]);
    assert_eq!(of(&outcome, "daemon"), [("fine".to_owned(), "no daemon is running; every command works without it".to_owned())]);
}

#[test]
fn program_that_is_missing_is_found_and_entered_anew() {
    let environment = computer();
    let missing = environment.path("gone/yore").to_str().unwrap().to_owned();
    enter(&environment, &[("Stop", format!("\"{missing}\" hook claude-code Stop"), 5)]);
    enter_server(&environment, &missing);
    let outcome = doctor(&environment, &[]).ends_with(1);
    assert_eq!(of(&outcome, "version"), [broken(&format!("claude-code: calls {missing}, which does not exist"))]);
    let hooks = of(&outcome, "hook");
    assert!(hooks.len() == 1 && hooks[0].1.starts_with("claude-code: Stop ends with exit code 127"), "{hooks:?}");
    let servers = of(&outcome, "mcp");
    assert!(servers[0].1.starts_with("claude-code: the server cannot be started"), "{servers:?}");
    let mended = doctor(&environment, &["--fix"]);
    assert!(mended.stderr.contains("calls this program now"), "{}", mended.stderr);
    for code in ["hook", "mcp"] {
        let found = of(&mended, code);
        assert!(!found.is_empty() && found.iter().all(|(severity, _)| severity != "broken"), "{found:?}");
    }
    assert!(of(&mended, "version").is_empty());
    let settings = fs::read_to_string(environment.path("home/.claude/settings.json")).unwrap();
    assert!(settings.contains(PROGRAM) && !settings.contains(&missing), "{settings}");
}

#[cfg(unix)]
#[test]
fn hook_that_does_not_answer_or_answers_nonsense_or_stops_the_agent_is_found() {
    for (script, found) in [
        ("exec sleep 60", "does not answer within 1 s"),
        ("cat >/dev/null; echo oh dear >&2; exit 3", "ends with exit code 3: oh dear"),
        ("echo words", "answers \"words\", which the agent does not understand"),
        ("echo '{\"decision\":\"block\"}'", "keeps the agent from going on"),
    ] {
        let environment = computer();
        let program = pretender(&environment, script);
        enter(&environment, &[("Stop", format!("{program} hook claude-code Stop"), 1)]);
        let outcome = doctor(&environment, &[]).ends_with(1);
        assert_eq!(of(&outcome, "hook"), [broken(&format!("claude-code: Stop {found}"))], "{script}");
    }
}

#[cfg(unix)]
#[test]
fn server_that_is_none_is_found() {
    for (script, found) in [
        ("echo good morning; exec sleep 60", "answers `initialize` with \"good morning\", which is not a valid answer"),
        ("echo no config >&2; exit 1", "exits instead of answering `initialize`: no config"),
    ] {
        let environment = computer();
        enter_server(&environment, &pretender(&environment, script));
        let outcome = doctor(&environment, &[]).ends_with(1);
        assert_eq!(of(&outcome, "mcp"), [broken(&format!("claude-code: the server {found}"))]);
    }
}

#[cfg(unix)]
#[test]
fn another_version_is_told_and_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let environment = computer();
    let old = environment.write("bin/yore", "#!/bin/sh\necho yore 0.0.9\n");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
    let old = old.to_str().unwrap();
    enter(&environment, &[("Stop", format!("{old} hook claude-code Stop"), 5)]);
    let found = of(&doctor(&environment, &[]).ends_with(1), "version");
    let own = env!("CARGO_PKG_VERSION");
    let expected = format!("claude-code: calls {old}, which is 0.0.9; this one is {own}");
    assert_eq!(found, [("warning".to_owned(), expected)]);
    let path = format!("{}:/usr/bin:/bin", environment.path("bin").display());
    let on_path = environment.yore(["doctor", "--json", "--fix"]).env("PATH", path).run();
    let expected = format!("the yore on the PATH, {old}, is 0.0.9; this one is {own}");
    assert_eq!(of(&on_path, "version"), [("warning".to_owned(), expected)], "the agent calls this one now");
}

/// A daemon started for a test; stopped when dropped.
struct Daemon<'e>(&'e TestEnvironment);

impl<'e> Daemon<'e> {
    fn start(environment: &'e TestEnvironment, arguments: &[&str]) -> Self {
        environment.yore(["daemon", "start"]).args(arguments).run().success();
        Self(environment)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.0.yore(["daemon", "stop"]).run();
    }
}

#[test]
fn daemon_with_other_settings_is_found_and_started_anew() {
    let environment = computer();
    let _daemon = Daemon::start(&environment, &["-c", "capture.mode=opt-in"]);
    let stale = of(&doctor(&environment, &[]).ends_with(1), "daemon");
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert!(stale[0].1.ends_with("runs with settings that differ from those on disk (capture)"), "{stale:?}");
    let mended = doctor(&environment, &["--fix"]);
    assert!(mended.stderr.contains("restarted the daemon"), "{}", mended.stderr);
    let found = of(&mended, "daemon");
    assert!(found[0].0 == "fine" && found[0].1.contains("answers in "), "{found:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn daemon_of_a_program_that_was_replaced_is_found() {
    let environment = computer();
    let program = environment.path("yore");
    if fs::hard_link(PROGRAM, &program).is_err() {
        fs::copy(PROGRAM, &program).unwrap();
    }
    environment.program(&program).args(["daemon", "start"]).run().success();
    let _daemon = Daemon(&environment);
    assert_eq!(of(&doctor(&environment, &[]), "daemon")[0].0, "fine");
    fs::remove_file(&program).unwrap();
    let found = of(&doctor(&environment, &[]).ends_with(1), "daemon");
    assert!(found[0].1.ends_with("runs a program that has been replaced since"), "{found:?}");
    let mended = of(&doctor(&environment, &["--fix"]), "daemon");
    assert_eq!(mended[0].0, "fine", "{mended:?}");
}

#[test]
fn card_of_a_daemon_that_was_killed_is_cleared_away() {
    let environment = computer();
    environment.write("data/daemon.json", json!({"pid": 4711, "socket": "/nowhere", "version": "0.0.1"}).to_string());
    let found = of(&doctor(&environment, &[]), "daemon");
    assert_eq!(found, [("note".to_owned(), "no daemon is running; process 4711 ended without cleaning up".to_owned())]);
    let _ = doctor(&environment, &["--fix"]);
    assert!(!environment.data().join("daemon.json").exists());
}

#[test]
fn settings_that_nobody_can_read_are_told() {
    let environment = computer();
    environment.write("home/.claude/settings.json", "{\"hooks\": [");
    let found = of(&doctor(&environment, &[]), "agents");
    assert!(found[0].0 == "warning" && found[0].1.contains("settings.json cannot be read"), "{found:?}");
}

#[test]
fn port_of_the_daemon_is_asked_as_an_agent_would() {
    let environment = computer();
    let _daemon = Daemon::start(&environment, &["-c", "http.enabled=true"]);
    let asked = || environment.yore(["doctor", "--json", "-c", "http.enabled=true"]).run();
    let found = of(&asked(), "mcp");
    assert!(found[0].0 == "fine" && found[0].1.starts_with("http://127.0.0.1:"), "{found:?}");
    environment.write("data/mcp-token", "0".repeat(64));
    let found = of(&asked(), "mcp");
    assert!(found[0].0 == "broken" && found[0].1.contains("refuses `initialize`: status 401"), "{found:?}");
}

#[cfg(unix)]
#[test]
fn what_a_project_names_is_run_only_if_it_is_this_program() {
    let environment = computer();
    fs::create_dir_all(environment.path("work/.git")).unwrap();
    let mark = environment.path("mark");
    let program = pretender(&environment, &format!("touch {}", mark.display()));
    let hooks = |command: String| {
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]}}).to_string()
    };
    let settings = "work/.claude/settings.json";
    for command in [
        format!("{program} hook claude-code Stop"),
        format!("\"{PROGRAM}\" hook claude-code Stop; touch {}", mark.display()),
        format!("\"{PROGRAM}\" hook claude-code $(touch {})", mark.display()),
    ] {
        environment.write(settings, hooks(command.clone()));
        let outcome = doctor(&environment, &[]);
        let found = of(&outcome, "agents");
        assert!(found.len() == 1 && found[0].1.ends_with("it was not run"), "{command}: {found:?}");
        assert!(of(&outcome, "hook").is_empty() && !mark.exists(), "{command}");
    }
    environment.write(
        "work/.mcp.json",
        json!({"mcpServers": {"yore": {"command": PROGRAM, "args": ["mcp"], "env": {"LD_PRELOAD": "/x"}}}}).to_string(),
    );
    assert!(of(&doctor(&environment, &[]), "mcp").is_empty());
    environment.write(settings, hooks(format!("\"{PROGRAM}\" hook claude-code Stop")));
    let found = of(&doctor(&environment, &[]), "hook");
    assert!(found.len() == 1 && found[0].1.contains("Stop"), "{found:?}");
}

/// Enters a server with these arguments for a project.
fn enter_in_project(environment: &TestEnvironment, args: &Value) {
    fs::create_dir_all(environment.path("work/.git")).unwrap();
    environment.write("work/.mcp.json", json!({"mcpServers": {"yore": {"command": PROGRAM, "args": args}}}).to_string());
}

#[test]
fn nothing_else_that_a_project_wants_of_this_program_is_done() {
    let environment = computer();
    let elsewhere = environment.path("elsewhere");
    for args in [
        json!(["forget", "4a5b0001", "--hard"]),
        json!(["capture", "off"]),
        json!(["doctor"]),
        json!(["mcp", "url"]),
        json!(["mcp", "-c", "mcp.tools=all"]),
        json!(["mcp", "--data-dir", elsewhere]),
        json!([]),
    ] {
        enter_in_project(&environment, &args);
        let outcome = doctor(&environment, &[]);
        let found = of(&outcome, "agents");
        assert!(found.len() == 1 && found[0].1.ends_with("it was not run"), "{args}: {found:?}");
        assert!(of(&outcome, "mcp").is_empty(), "{args}");
    }
    assert!(!elsewhere.exists() && !environment.path("home/.config").exists());
    assert_eq!(environment.yore(["sessions", "--json"]).run().success().stdout.matches("4a5b0001").count(), 1);
    for args in [json!(["mcp"]), json!(["mcp", "--tools", "core", "--data-dir", environment.data()])] {
        enter_in_project(&environment, &args);
        let found = of(&doctor(&environment, &[]), "mcp");
        assert!(found.len() == 1 && found[0].0 == "fine", "{args}: {found:?}");
    }
}

#[test]
fn what_is_no_affair_of_agents_is_told_and_mended() {
    let environment = computer();
    let servers = json!({"mcpServers": {"yore": {"command": PROGRAM, "args": ["capture", "off"]}}});
    environment.write("home/.claude.json", servers.to_string());
    let outcome = doctor(&environment, &[]).ends_with(1);
    let found = of(&outcome, "agents");
    assert!(found.len() == 1 && found[0].0 == "warning" && found[0].1.ends_with("it was not run"), "{found:?}");
    assert!(of(&outcome, "mcp").is_empty() && !environment.path("home/.config").exists());
    let mended = doctor(&environment, &["--fix"]);
    assert_eq!(of(&mended, "mcp")[0].0, "fine", "{}", mended.stdout);
}

#[test]
fn doctor_does_not_run_itself() {
    let outcome = computer().yore(["doctor"]).env("YORE_DOCTOR", "1").run().ends_with(2);
    assert_eq!(outcome.code(), "usage");
}

#[cfg(unix)]
#[test]
fn hook_file_of_a_project_is_run_as_long_as_it_is_ours() {
    let environment = computer();
    fs::create_dir_all(environment.path("work/.git")).unwrap();
    environment.yore(["install", "cline", "--scope", "project"]).run().success();
    let outcome = doctor(&environment, &[]);
    assert!(of(&outcome, "agents").is_empty(), "{}", outcome.stdout);
    let found = of(&outcome, "hook");
    assert!(found.len() == 1 && found[0].1.starts_with("cline: 6 hooks answer"), "{found:?}");
    let hook = environment.path("work/.clinerules/hooks/TaskStart");
    let mark = environment.path("mark");
    let text = fs::read_to_string(&hook).unwrap() + &format!("touch {}\n", mark.display());
    fs::write(&hook, text).unwrap();
    let outcome = doctor(&environment, &[]);
    assert!(
        of(&outcome, "agents")[0].1.ends_with(
            "TaskStart, of this project, calls something other than this program as it would be installed; it was not run"
        ),
        "{}",
        outcome.stdout
    );
    assert!(of(&outcome, "hook")[0].1.starts_with("cline: 5 hooks answer") && !mark.exists());
    assert!(of(&doctor(&environment, &["--fix"]), "agents").is_empty());
}

#[test]
fn hooks_that_fail_alike_are_told_in_one_line() {
    let environment = computer();
    let missing = environment.path("gone/yore").to_str().unwrap().to_owned();
    let hook = |event: &str| format!("\"{missing}\" hook claude-code {event}");
    enter(&environment, &["SessionStart", "PreToolUse", "Stop"].map(|event| (event, hook(event), 5)));
    let found = of(&doctor(&environment, &[]).ends_with(1), "hook");
    assert!(
        found.len() == 1 && found[0].1.starts_with("claude-code: each of SessionStart, PreToolUse, Stop ends with exit code"),
        "{found:?}"
    );
}

#[cfg(unix)]
#[test]
fn token_that_others_could_read_is_void() {
    use std::os::unix::fs::PermissionsExt;
    let environment = computer();
    let daemon = Daemon::start(&environment, &["-c", "http.enabled=true"]);
    let path = environment.path("data/mcp-token");
    let first = fs::read_to_string(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let mended = environment.yore(["doctor", "--json", "--fix", "-c", "http.enabled=true"]).run();
    assert!(mended.stderr.contains("`yore mcp url`"), "{}", mended.stderr);
    let second = fs::read_to_string(&path).unwrap();
    assert_ne!(first, second);
    assert_eq!(of(&mended, "mcp")[0].0, "fine", "the daemon knows the new one: {}", mended.stdout);
    drop(daemon);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let _ = doctor(&environment, &["--fix"]);
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn plugin_that_is_enabled_is_tried_like_what_was_installed() {
    let environment = computer();
    environment.write("home/.claude/settings.json", json!({"enabledPlugins": {"yore@yore-memory": true}}).to_string());
    fs::create_dir(environment.path("bin")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, environment.path("bin/yore")).unwrap();
    let path = |folder: &str| format!("{}:/usr/bin:/bin", environment.path(folder).display());
    let asked = |folder: &str| environment.yore(["doctor", "--json"]).env("PATH", path(folder)).run();
    let (hooks, servers) = (of(&asked("bin"), "hook"), of(&asked("bin"), "mcp"));
    assert!(hooks.len() == 1 && hooks[0].1.starts_with("claude-code: 10 hooks answer"), "{hooks:?}");
    assert!(servers.len() == 1 && servers[0].0 == "fine", "{servers:?}");
    let without = asked("work").ends_with(1);
    assert_eq!(of(&without, "version"), [broken("claude-code: calls yore, which does not exist")]);
}

/// Returns the severity and text of findings about an agent, with these codes.
fn of_agent(outcome: &Outcome, agent: &str, codes: &[&str]) -> Vec<(String, String)> {
    codes.iter().flat_map(|code| of(outcome, code)).filter(|(_, text)| text.starts_with(&format!("{agent}: "))).collect()
}

#[test]
fn hooks_that_codex_was_not_told_to_trust_are_not_well() {
    let environment = computer();
    environment.yore(["install", "codex"]).run().success();
    let untrusted = doctor(&environment, &[]).ends_with(1);
    let hooks = of_agent(&untrusted, "codex", &["hook"]);
    assert_eq!(hooks.len(), 2, "{hooks:?}");
    assert!(hooks[0].0 == "note" && hooks[0].1.starts_with("codex: 8 hooks answer: "), "{hooks:?}");
    assert_eq!(hooks[1].0, "warning");
    assert!(hooks[1].1.starts_with("codex: Codex does not run ") && hooks[1].1.ends_with(": not trusted yet"), "{hooks:?}");
    assert!(hooks[1].1.contains("SessionStart") && hooks[1].1.contains("SubagentStart"), "{hooks:?}");
}

#[test]
fn hooks_that_changed_after_codex_was_told_to_trust_them_are_told() {
    let environment = computer();
    environment.yore(["install", "codex"]).run().success();
    let file = environment.path("home/.codex/hooks.json");
    let config = environment.path("home/.codex/config.toml");
    let hooks: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let mut settings = fs::read_to_string(&config).unwrap();
    for event in hooks["hooks"].as_object().unwrap().keys() {
        let name: String = event
            .chars()
            .enumerate()
            .map(|(at, letter)| {
                let gap = if at > 0 && letter.is_uppercase() { "_" } else { "" };
                format!("{gap}{}", letter.to_lowercase())
            })
            .collect();
        settings += &format!("\n[hooks.state.{:?}]\ntrusted_hash = \"sha256:00\"\n", format!("{}:{name}:0:0", file.display()));
    }
    settings = settings.replace("stop:0:0\"]", "stop:0:0\"]\nenabled = false");
    fs::write(&config, settings).unwrap();
    let told = of_agent(&doctor(&environment, &[]).ends_with(1), "codex", &["hook"]);
    let ends = |end: &str| told.iter().filter(|(severity, text)| severity == "warning" && text.ends_with(end)).count();
    assert_eq!((ends(": changed since they were trusted"), ends("does not run Stop: switched off in Codex")), (1, 1), "{told:?}");
}

#[test]
fn hooks_and_servers_that_somebody_took_out_are_missed() {
    let environment = computer();
    environment.yore(["install", "claude-code", "gemini", "--no-mcp"]).run().success();
    environment.yore(["install", "codex"]).run().success();
    let change = |file: &str, change: &dyn Fn(&mut Value)| {
        let path = environment.path(file);
        let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, value.to_string()).unwrap();
    };
    change("home/.codex/hooks.json", &|value| {
        value["hooks"].as_object_mut().unwrap().remove("Stop");
        value["hooks"]["PreToolUse"][0]["matcher"] = json!("apply_patch");
    });
    change("home/.claude/settings.json", &|value| value["hooks"]["PreToolUse"][0]["matcher"] = json!("Edit"));
    let config = environment.path("home/.codex/config.toml");
    fs::write(&config, "model = \"any\"\n").unwrap();
    fs::remove_file(environment.path("home/.gemini/settings.json")).unwrap();
    let outcome = doctor(&environment, &[]).ends_with(1);
    let display = |path: &str| environment.path(path).display().to_string();
    let (hooks, gemini) = (display("home/.codex/hooks.json"), display("home/.gemini/settings.json"));
    assert_eq!(
        of_agent(&outcome, "codex", &["agents"]),
        [
            (
                "warning".to_owned(),
                format!("codex: the MCP server that `yore install` entered in {} was removed", config.display())
            ),
            (
                "warning".to_owned(),
                format!(
                    "codex: PreToolUse runs for apply_patch only, and is entered for Bash|apply_patch; \
                     the hook Stop that `yore install` enters is not in {hooks}"
                )
            ),
        ]
    );
    let claude = of_agent(&outcome, "claude-code", &["agents"]);
    assert!(
        claude.len() == 1 && claude[0].0 == "note" && claude[0].1.starts_with("claude-code: PreToolUse runs for Edit only"),
        "what was never entered is not missed: {claude:?}"
    );
    assert_eq!(
        of_agent(&outcome, "gemini", &["agents"]),
        [("warning".to_owned(), format!("gemini: {gemini}, which `yore install` created, no longer exists"))]
    );
    environment.yore(["install", "codex", "gemini", "--no-mcp"]).run().success();
    environment.yore(["uninstall", "codex"]).run().success();
    let outcome = doctor(&environment, &[]);
    assert!(of_agent(&outcome, "codex", &["agents"]).is_empty() && of_agent(&outcome, "gemini", &["agents"]).is_empty());
}

#[cfg(unix)]
#[test]
fn hooks_that_keep_silent_because_their_program_is_gone_are_not_well() {
    let environment = computer();
    fs::create_dir_all(environment.path("home/.config/Code/User/globalStorage/saoudrizwan.claude-dev")).unwrap();
    let program = environment.path("bin/yore");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::copy(PROGRAM, &program).unwrap();
    environment.program(&program).args(["install", "cline", "claude-code"]).run().success();
    fs::remove_file(&program).unwrap();
    let outcome = doctor(&environment, &[]).ends_with(1);
    assert!(of(&outcome, "hook").is_empty(), "{:?}", of(&outcome, "hook"));
    assert_eq!(
        of(&outcome, "version"),
        [broken(&format!("claude-code, cline: calls {}, which does not exist", program.display()))]
    );
}
