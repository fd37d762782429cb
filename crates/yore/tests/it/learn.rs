//! Learning as a person uses it: one switch, consent, a limit, the background, and the end at once.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yore_testing::{listening_raw, write_answer};

use crate::daemon::{Daemon, found, quick, until};
use crate::environment::{Runner, TestEnvironment};
use crate::transcript::Transcript;

const ORDER: &str = "keep the berth leases in SQLite, Redis loses them when the harbour box restarts";
const LEARNED: &str = "Berth leases live in SQLite";

fn session(environment: &TestEnvironment, number: u32) {
    Transcript::new(&format!("5f0c{number}00-{number}01-4000-8001-0000000000{number}"), "/home/dev/harbour")
        .human(&format!("{ORDER} (part {number})"))
        .assistant("The leases live in SQLite now.")
        .write(&environment.projects());
}

/// A computer on which Claude Code is signed in: a script that notes how it was called and prints the content of `answer.json`.
fn computer() -> TestEnvironment {
    let environment = TestEnvironment::new();
    let (asked, answer) = (environment.path("asked"), environment.path("answer.json"));
    claude_does(&environment, &format!("cat > /dev/null; cat '{}'", answer.display()));
    environment.write("home/.claude/.credentials.json", "{\"claudeAiOauth\": {}}");
    let found = json!({
        "items": [{"ref": null, "kind": "decision", "statement": format!("{LEARNED}, because Redis loses them on a restart."),
            "line": 1, "quote": "Redis loses them when the harbour box restarts", "entities": ["SQLite"],
            "confidence": 0.9, "closed": null}],
        "relations": [], "topic": null
    });
    environment.write("answer.json", found.to_string());
    assert!(!asked.exists());
    session(&environment, 10);
    environment.ingest(&environment.projects());
    environment
}

/// Gives the program `claude` this behaviour, after a line about each call.
fn claude_does(environment: &TestEnvironment, script: &str) {
    let note =
        format!("echo \"$* dir=$PWD silent=$YORE_SILENT inside=$CLAUDECODE\" >> '{}'", environment.path("asked").display());
    let behaviour = environment.write("behaviour", format!("{note}\n{script}\n"));
    // A program that was just written may count as busy, so that it is written once.
    if !environment.path("bin/claude").exists() {
        let path = environment.write("bin/claude", format!("#!/bin/sh\n. '{}'\n", behaviour.display()));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }
}

fn with_claude(environment: &TestEnvironment, runner: Runner) -> Runner {
    let path = format!("{}:{}", environment.path("bin").display(), std::env::var("PATH").unwrap());
    runner.env("PATH", path).env("CLAUDECODE", "1")
}

fn yore(environment: &TestEnvironment, arguments: &[&str]) -> Runner {
    with_claude(environment, environment.yore(arguments.iter().copied()))
}

/// Returns the number of memories that were learned.
fn learned(environment: &TestEnvironment) -> usize {
    let told = environment.yore(["memories", "--all", "--json"]).run().json();
    let is_learned = |memory: &&Value| memory["statement"].as_str().is_some_and(|statement| statement.starts_with(LEARNED));
    told["memories"].as_array().or(told.as_array()).map_or(0, |memories| memories.iter().filter(is_learned).count())
}

fn asked(environment: &TestEnvironment) -> usize {
    std::fs::read_to_string(environment.path("asked")).map_or(0, |log| log.lines().count())
}

fn state(environment: &TestEnvironment) -> Value {
    yore(environment, &["learn", "status", "--json"]).run().success().json()
}

/// Starts a daemon that takes a session as quiet at once.
fn daemon(environment: &TestEnvironment) -> Daemon<'_> {
    let runner = quick(environment, &["daemon", "start", "--foreground"]).env("YORE_LEARN__QUIET_MINUTES", "0");
    Daemon::of(environment, with_claude(environment, runner))
}

/// Returns the number of jobs of the learning lane, and of those the failures of the first.
fn jobs(environment: &TestEnvironment) -> (u64, u64) {
    let database = rusqlite::Connection::open(environment.database()).unwrap();
    let sql = "SELECT count(*), coalesce(max(failures), 0) FROM job WHERE kind = 'learn'";
    database.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))).unwrap()
}

#[test]
fn bare_learn_reads_by_rules_and_tells_what_waits_for_whom() {
    let environment = computer();
    let told = yore(&environment, &["learn"]).run().success();
    assert!(told.stdout.contains("by rules: 1 session read"), "{}", told.stdout);
    assert!(told.stdout.contains("no language model is chosen"), "{}", told.stdout);
    assert!(told.stdout.contains("1 session for a model: about 1 call"), "{}", told.stdout);
    assert!(told.stdout.contains("ready: claude/haiku: Claude Code, on your plan"), "{}", told.stdout);
    assert!(told.stdout.contains("`yore learn --auto --with claude/haiku` in the background"), "{}", told.stdout);
    let data = yore(&environment, &["learn", "--json"]).run().success().json();
    assert_eq!((&data["rules"]["unchanged"], &data["model"]), (&1.into(), &Value::Null), "{data}");
    assert_eq!((&data["state"]["auto"], &data["state"]["with"]), (&false.into(), &Value::Null), "{data}");
    assert_eq!(data["state"]["ready"][0]["with"], "claude/haiku", "{data}");
    let estimate = yore(&environment, &["learn", "--estimate", "--json"]).run().success().json();
    assert_eq!(estimate["waiting"]["sessions"], 1, "{estimate}");
    assert!(estimate["waiting"]["input_tokens"].as_u64().unwrap() > 500, "{estimate}");
    assert_eq!(asked(&environment), 0, "nobody was asked");
}

#[test]
fn a_program_that_is_named_reads_now_within_the_usual_limit_without_tools_and_apart_from_the_persons_work() {
    let environment = computer();
    let told = yore(&environment, &["learn", "--with", "claude"]).run().success().stdout;
    assert!(told.contains("1 session read with 1 call") && told.contains("today 1 memory found by 1 call"), "{told}");
    let call = std::fs::read_to_string(environment.path("asked")).unwrap();
    for part in [
        "-p --tools  --setting-sources",
        "--strict-mcp-config --no-session-persistence --output-format json --model haiku",
        "silent=1 inside=\n",
    ] {
        assert!(call.contains(part), "{part}: {call}");
    }
    assert!(call.contains(&format!("dir={}", environment.data().join("llm-work").display())), "{call}");
    let state = state(&environment);
    assert_eq!((&state["with"], &state["auto"]), (&"claude/haiku".into(), &false.into()), "{state}");
    assert_eq!((&state["daily_tokens"], &state["today"]["calls"]), (&200_000.into(), &1.into()), "{state}");
    assert_eq!(
        (&state["waiting"]["sessions"], &state["sessions_read"], &state["found_today"]),
        (&0.into(), &1.into(), &1.into())
    );
    assert_eq!(learned(&environment), 1);
    // The tokens that the program reports are booked.
    let answer = std::fs::read_to_string(environment.path("answer.json")).unwrap();
    let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 4_000, "output_tokens": 90});
    environment.write("answer.json", json!({"type": "result", "is_error": false, "result": answer, "usage": usage}).to_string());
    session(&environment, 12);
    environment.ingest(&environment.projects());
    let _ = yore(&environment, &["learn", "--with", "claude"]).run().success();
    let rows = yore(&environment, &["budget", "history", "--json"]).run().success().json();
    let taken = |state: &Value, name: &str| state["today"][name].as_u64().unwrap();
    let after = self::state(&environment);
    assert_eq!(taken(&after, "input_tokens") - taken(&state, "input_tokens"), 4_005, "{rows}");
    assert_eq!(taken(&after, "output_tokens") - taken(&state, "output_tokens"), 90, "{rows}");
    // Nothing waits: nobody is asked again.
    let _ = yore(&environment, &["learn", "--with", "claude"]).run().success();
    assert_eq!(asked(&environment), 2);
    let status = yore(&environment, &["status"]).run().success().stdout;
    assert!(status.contains("learning") && status.contains("claude/haiku, when it is asked for"), "{status}");
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_remedy() {
    let environment = computer();
    let refused = |arguments: &[&str], told: &str| {
        let outcome = yore(&environment, arguments).run().ends_with(2);
        assert!(outcome.stderr.contains(told), "{arguments:?}: {}", outcome.stderr);
    };
    refused(&["learn", "--with", "tide"], "there is no provider \"tide\"");
    refused(&["learn", "--with", "codex"], "Codex is not on the search path");
    refused(&["learn", "--with", "ollama"], "ollama needs a model: --with ollama/MODEL");
    refused(&["learn", "--with", "anthropic"], "anthropic needs a model");
    refused(&["learn", "--limit", "much"], "expected tokens");
    refused(&["learn", "--auto", "--estimate"], "cannot be used with");
    let bare = environment.yore(["learn", "--auto"]).env("PATH", "/nowhere").run().ends_with(2);
    assert!(bare.stderr.contains("no language model is ready on this computer"), "{}", bare.stderr);
    assert_eq!(state(&environment)["with"], Value::Null, "nothing was chosen");
    assert_eq!(asked(&environment), 0);
}

#[test]
fn sessions_are_learned_in_the_background_after_consent_and_not_before() {
    let environment = computer();
    // A model and a limit are no consent.
    let _ = yore(&environment, &["config", "set", "llm.provider", "claude"]).run().success();
    let _ = yore(&environment, &["learn", "--limit", "100k"]).run().success();
    assert_eq!(jobs(&environment).0, 1);
    let daemon = daemon(&environment);
    until("the job is done without a call", || jobs(&environment).0 == 0);
    assert_eq!((asked(&environment), learned(&environment)), (0, 0));
    // A project's file is none either.
    environment.write("work/.yore.toml", "[learn]\nauto = true\n");
    assert_eq!(state(&environment)["auto"], false);
    std::fs::remove_file(environment.path("work/.yore.toml")).unwrap();
    let consent = yore(&environment, &["learn", "--auto", "--with", "claude"]).run().success();
    assert!(consent.stdout.contains("claude/haiku in the background, at most 100,000 tokens"), "{}", consent.stdout);
    until("what waits is learned", || learned(&environment) == 1);
    assert_eq!(asked(&environment), 1);
    // A session that goes on later is read without a command.
    session(&environment, 11);
    until("the next session is learned", || asked(&environment) == 2);
    until("it waits no longer", || state(&environment)["waiting"]["sessions"] == 0);
    let after = state(&environment);
    assert_eq!((&after["auto"], &after["failure"], &after["sessions_read"]), (&true.into(), &Value::Null, &2.into()));
    daemon.stop();
    environment.is_sound();
}

#[test]
fn off_ends_a_call_that_runs_and_nothing_is_called_until_learning_is_turned_on_again() {
    let environment = computer();
    let (process, ended) = (environment.path("process"), environment.path("ended"));
    claude_does(&environment, &format!("echo $$ > '{}'; sleep 300; touch '{}'", process.display(), ended.display()));
    let daemon = daemon(&environment);
    let _ = yore(&environment, &["learn", "--auto", "--with", "claude"]).run().success();
    until("it is asked", || process.exists() && asked(&environment) == 1);
    let number = std::fs::read_to_string(&process).unwrap().trim().to_owned();
    let is_running = || std::process::Command::new("kill").args(["-0", &number]).output().unwrap().status.success();
    assert!(is_running());
    let told = yore(&environment, &["learn", "off"]).run().success().stdout;
    let began = Instant::now();
    until("the call is ended", || !is_running());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(told.contains("no language model is called any more") && !ended.exists(), "{told}");
    let off = state(&environment);
    assert_eq!((&off["auto"], &off["off"]), (&false.into(), &true.into()), "{off}");
    until("the job is gone", || jobs(&environment).0 == 0);
    let answer = environment.path("answer.json");
    claude_does(&environment, &format!("cat '{}'", answer.display()));
    session(&environment, 11);
    until("it is read", || found(&environment, "part 11") > 0);
    assert_eq!(asked(&environment), 1);
    let _ = yore(&environment, &["learn", "--auto"]).run().success();
    until("both are learned", || state(&environment)["waiting"]["sessions"] == 0);
    drop(daemon);
}

#[test]
fn a_failure_is_told_and_waits_and_a_new_choice_begins_at_once() {
    let environment = computer();
    claude_does(&environment, "echo 'Invalid API key · Please run /login' >&2; exit 1");
    let daemon = daemon(&environment);
    let _ = yore(&environment, &["learn", "--auto", "--with", "claude"]).run().success();
    until("the failure is told", || state(&environment)["failure"].as_str().is_some_and(|told| told.contains("/login")));
    until("it waits", || jobs(&environment) == (1, 1));
    session(&environment, 11);
    until("it is read", || found(&environment, "part 11") > 0);
    assert_eq!(asked(&environment), 1, "a new session does not shorten the pause");
    let doctor = yore(&environment, &["doctor"]).run();
    assert!(doctor.stdout.contains("learning in the background failed"), "{}", doctor.stdout);
    claude_does(&environment, &format!("cat '{}'", environment.path("answer.json").display()));
    let _ = yore(&environment, &["learn", "--auto"]).run().success();
    until("all are learned", || state(&environment)["waiting"]["sessions"] == 0);
    until("the failure is over", || state(&environment)["failure"] == Value::Null);
    drop(daemon);
}

#[test]
fn a_limit_of_one_call_is_kept_by_processes_and_a_daemon_that_race() {
    let environment = computer();
    for number in 11..19 {
        session(&environment, number);
    }
    environment.ingest(&environment.projects());
    let _ = yore(&environment, &["learn", "--limit", "1call"]).run().success();
    let _ = yore(&environment, &["config", "set", "learn.auto", "true"]).run().success();
    let _ = yore(&environment, &["config", "set", "llm.provider", "claude"]).run().success();
    let daemon = daemon(&environment);
    // Only those that read sessions share a lock; all share the ledger.
    let calls = [["learn", "--with", "claude"].as_slice(), ["models", "test"].as_slice()];
    let children: Vec<_> = (0..8).map(|at| yore(&environment, calls[at % 2]).start()).collect();
    for child in children {
        let _ = child.wait_with_output().unwrap();
    }
    until("the daemon's turn is over", || state(&environment)["today"]["calls"] == 1);
    daemon.stop();
    let after = state(&environment);
    assert_eq!((asked(&environment), &after["today"]["calls"]), (1, &1.into()), "{after}");
    let refused = yore(&environment, &["learn", "--with", "claude"]).run().success().stdout;
    assert!(refused.contains("the calls of the day are made: 1 of 1"), "{refused}");
    assert_eq!(asked(&environment), 1);
}

#[test]
fn nothing_is_asked_without_a_terminal() {
    let environment = computer();
    let up = yore(&environment, &["up"]).run().success();
    assert!(up.stdout.contains("`yore learn` has a language model") && !up.stdout.contains("[y/N]"), "{}", up.stdout);
    let _ = yore(&environment, &["install", "claude-code"]).run();
    assert!(!environment.data().join("learn.asked").exists());
    assert_eq!((&state(&environment)["with"], asked(&environment)), (&Value::Null, 0));
}

/// Runs a command on a terminal, with these keys typed; `None` where the program `script` is missing or of another kind.
fn on_terminal(environment: &TestEnvironment, arguments: &[&str], keys: &str) -> Option<String> {
    if !Path::new("/usr/bin/script").exists() || cfg!(not(target_os = "linux")) {
        eprintln!("skipped: there is no /usr/bin/script, so nothing is tried on a terminal");
        return None;
    }
    let runner = yore(environment, arguments).env("TERM", "dumb").env("NO_COLOR", "1");
    let typed = format!("exec script -qec \"$0 $*\" /dev/null < '{}'", environment.write("keys", keys).display());
    Some(runner.through_shell(&typed).run().stdout)
}

#[test]
fn the_question_is_asked_once_on_a_terminal_and_a_key_accepts() {
    let environment = computer();
    let Some(first) = on_terminal(&environment, &["up", "--no-embed", "--yes"], "n\n") else { return };
    assert!(first.contains("Let Claude Code learn from your sessions in the background? [y/N]"), "{first}");
    assert!(first.contains("those that you recorded too"), "it says all that is sent: {first}");
    assert!(first.contains("at most 200,000 tokens a day") && first.contains("`yore learn off`"), "{first}");
    assert_eq!((&state(&environment)["with"], asked(&environment)), (&Value::Null, 0));
    let second = on_terminal(&environment, &["up", "--no-embed", "--yes"], "y\n").unwrap();
    assert!(!second.contains("[y/N]"), "{second}");
    std::fs::remove_file(environment.data().join("learn.asked")).unwrap();
    let third = on_terminal(&environment, &["up", "--no-embed", "--yes"], "y\n").unwrap();
    assert!(third.contains("Claude Code learns in the background"), "{third}");
    let state = state(&environment);
    assert_eq!((&state["auto"], &state["with"]), (&true.into(), &"claude/haiku".into()), "{state}");
    assert_eq!(asked(&environment), 0, "the background does it");
}

#[test]
fn a_server_on_this_computer_is_found_and_reads() {
    let environment = computer();
    let found_there = std::fs::read_to_string(environment.path("answer.json")).unwrap();
    let address = listening_raw(move |head, _, stream| {
        let answer = if head.starts_with("GET /api/tags") {
            json!({"models": [{"name": "nomic-embed-text", "size": 9_000_000_000_u64}, {"name": "qwen3:8b", "size": 5_000_000_000_u64},
                {"name": "tiny", "size": 1_000_000}]})
        } else {
            let items = serde_json::from_str::<Value>(&found_there).unwrap()["items"].clone();
            json!({"message": {"role": "assistant", "content": json!({"items": items}).to_string()}, "done": true,
                "prompt_eval_count": 90, "eval_count": 20})
        };
        write_answer(stream, "200 OK", "", &answer.to_string());
    });
    let run = |arguments: &[&str]| environment.yore(arguments.iter().copied()).env("OLLAMA_HOST", &address);
    let told = run(&["learn"]).run().success().stdout;
    assert!(told.contains("ready: ollama/qwen3:8b: Ollama with qwen3:8b; nothing leaves this computer"), "{told}");
    let learned = run(&["learn", "--with", "ollama"]).run();
    assert!(learned.stdout.contains("1 session read with 1 call"), "{}{}", learned.stdout, learned.stderr);
    let state = run(&["learn", "status", "--json"]).run().success().json();
    assert_eq!((&state["with"], &state["today"]["estimated"]), (&"ollama/qwen3:8b".into(), &false.into()), "{state}");
    let address_set = run(&["config", "get", "llm.address"]).run().success().stdout;
    assert!(address_set.contains(address.as_str()), "{address_set}");
}

#[test]
fn a_brief_offers_learning_once_when_ten_sessions_wait_and_is_silent_where_a_model_reads() {
    let environment = computer();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    for number in 20..31 {
        let id = format!("5f0c{number}00-{number}01-4000-8001-0000000000{number}");
        let mut session = Transcript::new(&id, "/home/dev/harbour").at(now - i64::from(number) * 3_600_000);
        for part in 0..5 {
            session =
                session.human(&format!("{ORDER} ({number}, part {part})")).assistant(&format!("Done, {number}: part {part}."));
        }
        session.write(&environment.projects());
    }
    environment.ingest(&environment.projects());
    let beginning = |id: &str| {
        let said = json!({"session_id": id, "hook_event_name": "SessionStart", "source": "startup", "cwd": "/home/dev/harbour"});
        let hook = environment.yore(["hook", "claude-code", "SessionStart"]).stdin(said.to_string().as_bytes());
        hook.run().success().stdout
    };
    assert!(environment.yore(["brief"]).current_dir("/").run().stdout.is_empty());
    let first = beginning("s1");
    assert!(
        first.contains("Ask the person once whether a model may read them: `yore learn`.") && !first.contains("distil"),
        "{first}"
    );
    let second = beginning("s2");
    assert!(second.contains("Not distilled yet: 11 sessions here") && !second.contains("Ask the person"), "{second}");
    let _ = environment.yore(["config", "set", "learn.auto", "true"]).run().success();
    let third = beginning("s3");
    assert!(third.contains("SQLite") && !third.contains("sessions here"), "{third}");
}

#[test]
fn with_consent_for_the_session_the_agent_gets_the_tool_and_off_takes_the_consent_back() {
    let environment = computer();
    let _ = environment.yore(["learn", "--in-session"]).run().success();
    let get = |key: &str| environment.yore(["config", "get", key]).run().success().stdout;
    assert!(get("mcp.tools").contains("core,distil"), "{}", get("mcp.tools"));
    assert!(get("learn.in_session").contains("true"));
    let told = environment.yore(["learn", "status"]).run().success().stdout;
    assert!(told.contains("the agent is asked once"), "{told}");
    let _ = environment.yore(["learn", "--in-session"]).run().success();
    assert_eq!(get("mcp.tools").matches("distil").count(), 1, "{}", get("mcp.tools"));
    let _ = environment.yore(["learn", "off"]).run().success();
    assert!(get("learn.in_session").contains("false"));
}

#[test]
fn the_background_sends_a_batch_where_the_server_takes_them_and_records_the_answers_that_came() {
    let environment = computer();
    let found_there = std::fs::read_to_string(environment.path("answer.json")).unwrap();
    let (is_ended, sent): (Arc<AtomicBool>, Arc<Mutex<Vec<String>>>) = Default::default();
    let (ended, noted) = (Arc::clone(&is_ended), Arc::clone(&sent));
    let address = listening_raw(move |head, body, stream| {
        let line = head.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let batch = |state: &str| json!({"id": "msgbatch_1", "processing_status": state});
        let answer = match line.as_str() {
            "POST /v1/messages/batches" => {
                noted.lock().unwrap().push(body.to_owned());
                batch("in_progress").to_string()
            }
            "GET /v1/messages/batches/msgbatch_1" => {
                batch(if ended.load(Ordering::Relaxed) { "ended" } else { "in_progress" }).to_string()
            }
            "GET /v1/messages/batches/msgbatch_1/results" => {
                let sent = noted.lock().unwrap();
                let id = sent[0].split("\"custom_id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
                let message = json!({"type": "message", "role": "assistant", "stop_reason": "end_turn",
                    "content": [{"type": "text", "text": found_there}], "usage": {"input_tokens": 1_000, "output_tokens": 100}});
                json!({"custom_id": id, "result": {"type": "succeeded", "message": message}}).to_string()
            }
            other => panic!("asked at once: {other}"),
        };
        write_answer(stream, "200 OK", "", &answer);
    });
    for (key, value) in [
        ("llm.provider", "anthropic"),
        ("llm.model", "some-model"),
        ("llm.address", address.as_str()),
        ("llm.prices", "[\"anthropic/some-model=1/5\"]"),
        ("llm.daily_tokens", "100000"),
        ("llm.daily_dollars", "1"),
        ("learn.batches", "always"),
        ("learn.auto", "true"),
    ] {
        environment.yore(["config", "set", key, value]).run().success();
    }
    let start = || {
        let runner = quick(&environment, &["daemon", "start", "--foreground"]);
        let runner = runner.env("YORE_LEARN__QUIET_MINUTES", "0").env("ANTHROPIC_API_KEY", "planted-for-a-test");
        Daemon::of(&environment, runner)
    };
    let daemon = start();
    until("the batch is sent", || sent.lock().unwrap().len() == 1);
    assert_eq!(learned(&environment), 0, "nobody has answered yet");
    drop(daemon);
    is_ended.store(true, Ordering::Relaxed);
    let _daemon = start();
    until("the answer is recorded", || learned(&environment) == 1);
    assert_eq!(sent.lock().unwrap().len(), 1, "asked once");
}
